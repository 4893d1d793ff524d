"""What stands around every page: its sources, how to cite it, what a shared link says.

A Sphinx extension, named in _config.yml. All of it is made when a page is written, from
CITATION.cff, book/references.bib, data/references/sources.csv and the page itself.
"""

import hashlib
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from book._ext import citing, terms
from grokbook.errors import GrokbookError
from grokbook.project import PAPERS, home

LONGEST = 300  # characters of a description
VERDICT = re.compile(r"class=.verdict-box.*?<span class=.verdict [^>]*>([^<]+)<", re.S)


def end_block(page: str, title: str, kicker: str, address: str, highlight: Any) -> str:
    """HTML for the foot of a page: the sources of its paper, then what to cite."""
    paper, entries = page.partition("/")[0], {}
    entries["This page"] = citing.bibtex(page_id(page), title, kicker, address)
    said = ""
    if paper in PAPERS:
        said = f'<p class="sources">{sources(paper, page_id(page))}</p>\n'
        entries["The paper"] = citing.entry(paper)
    shown = "".join(
        f'<p>{name}</p>\n<div class="highlight-bibtex notranslate">'
        f"{highlight(text)}</div>\n"
        for name, text in entries.items()
    )
    return (
        f'<div class="apparatus">\n{said}<details class="cite">'
        f"<summary>Cite this page</summary>\n{shown}</details>\n</div>\n"
    )


def sources(paper: str, page: str) -> str:
    """One line of links: the paper, and its official code at the commits used."""
    found = citing.sources(paper, page)
    text = f"Sources: {link(citing.ARXIV + found.arxiv, 'arXiv:' + found.arxiv)}"
    if not found.repository:
        return f"{text} · the paper has no official code"
    at = [
        link(f"https://{found.repository}/tree/{commit}", f"<code>{commit[:7]}</code>")
        for commit in found.commits
    ]
    code = link(f"https://{found.repository}", found.repository)
    return f"{text} · official code {code} at {' and '.join(at)}"


def link(address: str, text: str) -> str:
    return f'<a class="reference external" href="{address}">{text}</a>'


def page_id(page: str) -> str:
    """`prieto2025/fig02_softmax_collapse` -> `prieto2025/fig02`."""
    return re.sub(r"(/(?:fig|tab)\d+)_.*", r"\1", page)


def parts(title: nodes.Node) -> tuple[str, str]:
    """(kicker, finding) of a title, as `[Prieto et al. 2025 · Figure 4]{.kicker}`."""
    small = [n for n in title.findall(nodes.inline) if "kicker" in n["classes"]]
    kicker = small[0].astext() if small else ""
    return kicker, " ".join(title.astext().removeprefix(kicker).split())


def describe(kicker: str, finding: str, doctree: nodes.Node, body: str) -> str:
    """A page in a sentence or two: finding and verdict, or how it begins."""
    if kicker:
        verdict = VERDICT.search(body)
        judged = f" Main claim: {verdict[1].strip()}." if verdict else ""
        text = f"{kicker}: {finding}.{judged}"
    else:
        first = next(
            (n for n in doctree.findall(nodes.paragraph) if n.astext().strip()), None
        )
        text = first.astext() if first else ""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"


def meta(title: str, description: str, address: str, image: str) -> str:
    """The tags that a search engine or a shared link shows."""
    tags = {
        "og:type": "article",
        "og:site_name": citing.book()["title"],
        "og:title": title,
        "og:description": description,
        "og:url": address,
        "og:image": image,
    }
    lines = [f'<meta name="description" content="{escape(description)}" />']
    lines += [
        f'<meta property="{name}" content="{escape(value)}" />'
        for name, value in tags.items()
        if value
    ]
    return "\n" + "\n".join(lines) + "\n"


def thumbnail(app: Sphinx, page: str) -> str:
    """The public address of a page's picture in the gallery; "" where unknown."""
    stem = "generated/thumbnails/" + page_id(page).replace("/", "-") + "."
    names = [name for path, (_, name) in app.env.images.items() if path == stem + "png"]
    base = app.config.html_baseurl.rstrip("/")
    return f"{base}/_images/{names[0]}" if names and base else ""


def add(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    """Everything above, for one page that is about to be written."""
    builder = app.builder
    if builder.name != "html" or not isinstance(builder, StandaloneHTMLBuilder):
        return
    date, commit = citing.built_from()
    version = [f"Version {citing.book()['version']}", citing.day(date), commit]
    changes = f'<a href="{context["pathto"]("changelog")}">What changed</a>'
    context["theme_extra_footer"] = (
        f"<p>{app.config.html_theme_options.get('extra_footer', '')}</p>"
        f'<p class="version">{" · ".join(filter(None, [*version, changes]))}</p>'
    )
    if doctree is None:  # the search page and the index
        return
    kicker, finding = parts(next(doctree.findall(nodes.title)))
    base = app.config.html_baseurl.rstrip("/")
    address = f"{base}/{page}.html" if base else ""
    description = describe(kicker, finding, doctree, context["body"])
    if not description:
        raise GrokbookError(f"book/{page} says nothing to describe it: begin with text")
    title = f"{kicker}: {finding}" if kicker else finding
    image = thumbnail(app, page)
    context["metatags"] += meta(title, description, address, image)
    context["body"] = terms.define(builder, page, context["body"]) + end_block(
        page,
        finding,
        kicker,
        address,
        lambda text: builder.highlighter.highlight_block(text, "bibtex"),
    )


def without_thebe(app: Sphinx) -> None:
    """Undo sphinx-thebe, which Jupyter Book always loads and this book never uses.

    Its scripts stand twice on every page, the second of which is an error.
    """
    for listeners in list(app.events.listeners.values()):
        for one in list(listeners):
            if one.handler.__module__ == "sphinx_thebe":
                app.disconnect(one.id)
    files = app.registry.css_files
    files[:] = [one for one in files if one[0] != "sphinx-thebe.css"]


def fingerprint() -> str:
    """Changes with what is written on pages beside their text, so that all are again.

    Sphinx writes a page again where its source changed, or a setting of this kind.
    """
    root = home()
    paths = [root / "CITATION.cff", root / "book" / "references.bib"]
    paths += [root / "book" / "glossary.md", root / "data/references/sources.csv"]
    paths += sorted(Path(__file__).parent.glob("*.py"))
    read = (
        b"".join(path.read_bytes() for path in paths) + citing.built_from()[1].encode()
    )
    return hashlib.sha256(read).hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    without_thebe(app)
    app.add_config_value("grokbook_apparatus", fingerprint(), "html", str)
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
