"""What every page of the site owes its readers, beyond what the theme writes.

A Sphinx extension, named in _config.yml. Plots are numbered page by page, so that
"Plot 2" is the second on the page. Then each written page is finished:

    lighter   no script that the page does not use: 1.5 MB of icons, for which the theme
              has a font too, the search index outside of the search page, and a client
              for notebook servers
    named     folds, tables and lists say to a screen reader what they are
    sharper   a figure leads to its picture alone, at full size, and waits until it
              comes into view; its place is kept meanwhile

The pages of the builder "html" alone: what is printed needs none of it. Finishing a
page a second time changes nothing, since an unchanged page is not written again.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx
from sphinx.builders import Builder

_UNUSED = [
    r'<script\b[^>]*\bsrc="[^"]*(?:fontawesome|sphinx-thebe)\.js[^"]*"></script>\s*',
    r'<link\b[^>]*\bhref="[^"]*sphinx-thebe\.css[^"]*"\s*/?>\s*',
    r'<script type="text/x-thebe-config">(?:(?!</script>).)*</script>\s*',
    r"<script>\s*(?:const THEBE_JS_URL|kernelName)\b(?:(?!</script>).)*</script>\s*",
]
_SEARCH = (
    r'<script\b[^>]*\bsrc="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*">'
    r"</script>\s*"
)
_MATHS = (
    r"<script\b[^>]*>window\.MathJax\b(?:(?!</script>).)*</script>\s*"
    r'|<script\b[^>]*\bsrc="[^"]*tex-svg[^"]*"></script>\s*'
)
# The theme leaves both empty and calls that an error a moment later.
_MODE = re.compile(
    r'document\.documentElement\.dataset\.mode = localStorage[^;]*\|\| "";\s*'
    r'document\.documentElement\.dataset\.theme = localStorage[^;]*\|\| "";'
)
_START = """\
const shown = document.documentElement.dataset;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    shown.mode = localStorage.getItem("mode") || "auto";
    shown.theme = shown.mode === "auto" ? (dark ? "dark" : "light") : shown.mode;"""

_BRANCH = re.compile(r">([^<>]+)(</a><details\b[^>]*>)<summary>")
_FOLD = '<summary aria-label="Toggle hidden content">'
_UNTITLED = re.compile(
    r"(<summary>([^<>]+)</summary>\s*<table\b[^>]*>)(?!\s*<caption)", re.DOTALL
)
_PRINTED = re.compile(
    r'(?P<cell><div class="cell )'
    r'|<p class="collapsed admonition-title">(?:Code: )?(?P<title>[^<]*)</p>'
    r'|(?P<table><div class="output text_html">\s*<table\b[^>]*>)(?!\s*<caption)'
)
_ENTRIES = (
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),
    (' role="doc-biblioentry"', ""),
)

_PICTURE = re.compile(  # of pixels; a drawing has its size in itself
    r'<img\b[^>]*\bsrc="([^"]*_images/[^"]+\.(?:png|jpe?g|webp|gif))"[^>]*>'
)
_FIGURE = re.compile(r"(<figure\b[^>]*>\s*)(<img\b[^>]*>)")


def number_by_page(_: Sphinx, builder: Builder) -> None:
    """Numbers of figures and tables that begin with 1 on every page."""
    for kinds in builder.env.toc_fignumbers.values():
        for numbers in kinds.values():
            for place, name in enumerate(sorted(numbers, key=numbers.__getitem__), 1):
                numbers[name] = (place,)


def lighter(html: str, *, searches: bool = False) -> str:
    """A page without the scripts that it loads for nothing.

    One that ``searches`` keeps the index of words, one with formulas MathJax.
    """
    idle = [*_UNUSED]
    idle += [] if searches else [_SEARCH]
    idle += [] if 'class="math' in html else [_MATHS]
    for unused in idle:
        html = re.sub(unused, "", html, flags=re.DOTALL)
    return _MODE.sub(_START, html)


def named(html: str) -> str:
    """A page whose folds, tables and lists have names of their own.

    A branch of the contents is named after its page, a fold of code by its own words,
    a table in a fold after the fold, and another table after the code that printed it.
    """
    html = _BRANCH.sub(r'>\1\2<summary aria-label="Pages of \1">', html)
    html = html.replace(_FOLD, "<summary>")
    html = _UNTITLED.sub(r'\1<caption class="visually-hidden">\2</caption>', html)
    for theirs, ours in _ENTRIES:
        html = html.replace(theirs, ours)
    title = ""

    def caption(match: re.Match[str]) -> str:
        nonlocal title
        if match["table"] and title:
            return f'{match[0]}<caption class="visually-hidden">{title}</caption>'
        title = "" if match["cell"] else match["title"] or title
        return match[0]

    return _PRINTED.sub(caption, html)


def sharper(html: str, size: Callable[[str], tuple[int, int]]) -> str:
    """A page whose pictures keep their place, come when looked at, and open alone.

    ``size`` gives the pixels of an image by its address on the page. The first picture
    is on the first screen, and does not wait.
    """
    first = True

    def placed(match: re.Match[str]) -> str:
        nonlocal first
        tag, lazy = match[0], "" if first else ' loading="lazy"'
        first = False
        if " width=" in tag or " loading=" in tag:
            return tag
        width, height = size(match[1])
        return f'<img width="{width}" height="{height}"{lazy}{tag[4:]}'

    def linked(match: re.Match[str]) -> str:
        address = re.search(r'\bsrc="([^"]*)"', match[2])
        if address is None:
            return match[0]
        link = f'<a class="enlarge" href="{address[1]}" title="The picture alone">'
        return f"{match[1]}{link}{match[2]}</a>"

    return _FIGURE.sub(linked, _PICTURE.sub(placed, html))


@cache
def _pixels(folder: Path, address: str) -> tuple[int, int]:
    with Image.open(folder / address) as image:
        return image.size


def finish(app: Sphinx, error: Exception | None) -> None:
    """Every page that was written, after the last; unchanged pages stay as they are."""
    if error is not None or app.builder.name != "html":
        return
    root = Path(app.outdir)
    for path in sorted(root.rglob("*.html")):
        if "_static" in path.relative_to(root).parts:
            continue
        found = path.read_text(encoding="utf-8")
        html = lighter(found, searches=path.name == "search.html")
        html = sharper(named(html), partial(_pixels, path.parent))
        if html != found:
            path.write_text(html, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("write-started", number_by_page)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
