"""The Sphinx extension of the book: what its pages have beyond what the theme writes.

    made       generated pages, pictures and downloads, before anything is read
    numbers    plots begin with 1 on every page; titles name their paper in one line
    pictures   lead to themselves at full size, keep their place, come when looked at
    terms      carry their definitions, which book/_static/terms.js shows
    sources    the paper, its official code, and what to cite, at the foot of a page
    buttons    the handouts; online and at the repository where the book is published

Where it is published, GROKBOOK_SITE and GROKBOOK_REPOSITORY say so, which the
publishing workflow gives: https://name.github.io/book/, https://github.com/name/book.
"""

import csv
import os
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

from book import explore, ideas
from book._ext import catalogue, downloads
from book._ext.entries import entries
from book._ext.handouts import references
from grokbook.project import PAPERS, home

MATHJAX = "tex-svg-full.js"  # one file with its glyphs is all that a page loads
BRANCH = "handouts"  # where Colab and Binder read, written by the publishing workflow


# Before anything is read --------------------------------------------------------------


def made(app: Sphinx) -> None:
    """Everything in book/generated and _build/downloads."""
    found = entries()
    catalogue.write(found)
    ideas.draw(home() / "book" / "generated" / "ideas")
    explore.write(home() / "book" / "generated" / "explore")
    if app.builder.name == "html":
        downloads.write(found)
    # An extension of ours knows its nodes for one builder alone, and hides all others.
    app.registry.translation_handlers.pop("singlehtml", None)


def configure(_: Sphinx, config: Config) -> None:
    site, repository = downloads.published()
    config.html_baseurl = f"{site}/" if site else ""
    config.mathjax_path = MATHJAX
    config.ogp_site_url = config.html_baseurl
    if repository:
        config.html_theme_options |= {
            "repository_url": repository,
            "repository_branch": os.environ.get("GROKBOOK_BRANCH") or "main",
            "path_to_docs": "book",
            "use_repository_button": True,
            "use_issues_button": True,
        }


# Once all pages are read --------------------------------------------------------------


def number_by_page(_: Sphinx, builder: StandaloneHTMLBuilder) -> None:
    """Numbers of figures and tables that begin with 1 on every page."""
    for kinds in builder.env.toc_fignumbers.values():
        for numbers in kinds.values():
            for at, name in enumerate(sorted(numbers, key=numbers.__getitem__), 1):
                numbers[name] = (at,)


def name_papers(_: Sphinx, env: BuildEnvironment) -> None:
    """Put `Kicker: Finding` in place of the titles that have a kicker."""
    for titles in (env.titles, env.longtitles):
        for document, title in titles.items():
            kicker, finding = parts(title)
            if kicker:
                titles[document] = nodes.title("", f"{kicker}: {finding}")


def parts(title: nodes.Node) -> tuple[str, str]:
    """(kicker, finding) of a title, as `[Prieto et al. 2025 · Figure 4]{.kicker}`."""
    small = [n for n in title.findall(nodes.inline) if "kicker" in n["classes"]]
    kicker = small[0].astext() if small else ""
    return kicker, " ".join(title.astext().removeprefix(kicker).split())


# As a page is written -----------------------------------------------------------------


def visit_image(self: HTML5Translator, node: nodes.image) -> None:
    """An image with its size, so that its place is kept; lazy after the first one."""
    path = Path(self.builder.srcdir, node["uri"])
    HTML5Translator.visit_image(self, node)  # node["uri"] is the address from here on
    if path.suffix != ".png" or not isinstance(self.builder, StandaloneHTMLBuilder):
        return
    with Image.open(path) as image:
        size = f'width="{image.width}" height="{image.height}"'
    first = node is next(node.document.findall(nodes.image), None)
    wait = "" if first or self.builder.name != "html" else ' loading="lazy"'
    tag = self.body[-1].replace("<img", f"<img {size}{wait}", 1)
    if isinstance(node.parent, nodes.figure):
        told = f'href="{node["uri"]}" title="The picture alone"'
        tag = f'<a class="enlarge" {told}>{tag}</a>'
    self.body[-1] = tag


def depart_image(self: HTML5Translator, node: nodes.image) -> None:
    HTML5Translator.depart_image(self, node)


def add(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    """What stands around one page that is about to be written."""
    builder = app.builder
    if builder.name != "html" or not isinstance(builder, StandaloneHTMLBuilder):
        return
    changes = f'<a href="{context["pathto"]("changelog")}">What changed</a>'
    context["theme_extra_footer"] = (
        f"<p>{app.config.html_theme_options.get('extra_footer', '')}</p>"
        f'<p class="version">{" · ".join([*version(), changes])}</p>'
    )
    if doctree is None:  # the search page and the index
        return
    _, finding = parts(next(doctree.findall(nodes.title)))
    context["body"] += end_block(builder, page, finding)
    add_buttons(page, context)


def define(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any
) -> None:
    """The definitions of the terms that a page links, hidden at its end."""
    builder = app.builder
    if doctree is None or page == "glossary" or builder.name != "html":
        return
    links = [str(node.get("refuri", "")) for node in doctree.findall(nodes.reference)]
    used = dict.fromkeys(
        link.partition("#")[2] for link in links if "glossary.html#term-" in link
    )
    if not used:
        return
    known = definitions(builder)
    hidden = "".join(f'<div id="define-{t}">{known[t]}</div>\n' for t in used)
    context["body"] += f'<div class="definitions" hidden>\n{hidden}</div>\n'
    if 'class="math' in hidden:  # so that the page, too, loads what draws it
        builder.env.get_domain("math").data["has_equations"][page] = True


@cache
def definitions(builder: StandaloneHTMLBuilder) -> dict[str, str]:
    """Anchor of a term -> the first paragraph of its definition as HTML, unlinked."""
    found = {}
    tree = builder.env.get_and_resolve_doctree("glossary", builder)
    for item in tree.findall(nodes.definition_list_item):
        first = next(item.findall(nodes.paragraph))
        for reference in list(first.findall(nodes.reference)):
            reference.replace_self(reference.children)
        text = builder.render_partial(first)["fragment"]
        for term in item.findall(nodes.term):
            found.update(dict.fromkeys(term["ids"], text))
    return found


def end_block(builder: StandaloneHTMLBuilder, page: str, finding: str) -> str:
    """HTML for the foot of a page: the sources of its paper, then what to cite."""
    paper = page.partition("/")[0]
    site, _ = downloads.published()
    address = f"{site}/{page}.html" if site else ""
    cited = {"This page": bibtex(page, finding, address)}
    said = ""
    if paper in PAPERS:
        said = f'<p class="sources">{sources(paper)}</p>\n'
        cited["The paper"] = references()[paper].to_string("bibtex")
    shown = "".join(
        f'<p>{name}</p>\n<div class="highlight-bibtex notranslate">'
        f"{builder.highlighter.highlight_block(text, 'bibtex')}</div>\n"
        for name, text in cited.items()
    )
    return (
        f'<div class="apparatus">\n{said}<details class="cite">'
        f"<summary>Cite this page</summary>\n{shown}</details>\n</div>\n"
    )


def sources(paper: str) -> str:
    """One line of links: the paper, and its official code at the commits read."""
    arxiv = references()[paper].fields["url"]
    text = f"Sources: {_link(arxiv, f'arXiv:{Path(arxiv).name}')}"
    path = home() / "data" / "references" / "sources.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        read = Counter(
            (row["repository"], commit)
            for row in csv.DictReader(lines)
            for commit in row["commit"].split("; ")
            if row["file"].startswith(f"{paper}/")
            and row["repository"].startswith("github.com/")
        )
    if not read:
        return f"{text} · the paper has no official code"
    ((code, commit),) = (one for one, _ in read.most_common(1))
    at = _link(f"https://{code}/tree/{commit}", f"<code>{commit[:7]}</code>")
    return f"{text} · official code {_link(f'https://{code}', code)} at {at}"


def _link(address: str, text: str) -> str:
    return f'<a class="reference external" href="{address}">{text}</a>'


def bibtex(page: str, title: str, address: str) -> str:
    """An entry for one page; ``page`` is its path in the book."""
    about = yaml.safe_load((home() / "CITATION.cff").read_text(encoding="utf-8"))
    told = version()
    fields = {
        "author": f"{{{' and '.join(one['name'] for one in about['authors'])}}}",
        "title": re.sub(r"([&%#_$])", r"\\\1", title),
        "booktitle": about["title"],
        "year": told[1].rpartition(" ")[2],
        "note": ", ".join(told),
        "url": address,
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    key = "grokbook-" + page.replace("/", "-")
    return f"@incollection{{{key},\n" + ",\n".join(lines) + "\n}"


@cache
def version() -> list[str]:
    """What is built: version, day, and commit where git knows it."""
    about = yaml.safe_load((home() / "CITATION.cff").read_text(encoding="utf-8"))
    command = ["git", "-C", str(home()), "log", "-1", "--format=%cd %h"]
    run = subprocess.run(
        [*command, "--date=format:%-d %B %Y"], capture_output=True, text=True
    )
    day, _, commit = run.stdout.strip().rpartition(" ")
    released = about["date-released"]
    told = [day or f"{released.day} {released:%B %Y}", commit]
    return [f"Version {about['version']}", *filter(None, told)]


def add_buttons(page: str, context: dict[str, Any]) -> None:
    """The handouts first in the download menu, and where they open online."""
    names = {kind: f"handouts/{page}-{kind}.ipynb" for kind in downloads.KINDS}
    bar = context.get("header_buttons", [])
    menu = next((b for b in bar if b.get("label") == "download-buttons"), None)
    if menu is None or not (downloads.folder() / names["class"]).is_file():
        return
    up = "../" * page.count("/")
    menu["buttons"][:0] = [
        _button(
            f".ipynb for the {kind}", "fas fa-file-arrow-down", f"{up}downloads/{n}"
        )
        for kind, n in names.items()
    ]
    site, repository = downloads.published()
    name = repository.removeprefix("https://github.com/")
    if site and name != repository:
        notebook = quote(names["class"].removeprefix("handouts/"))
        colab = (
            f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{notebook}"
        )
        binder = f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={notebook}"
        group: dict[str, Any] = {
            "type": "group",
            "icon": "fas fa-rocket",
            "label": "launch-buttons",
        }
        group["tooltip"] = "Open this page as a notebook online"
        group["buttons"] = [
            _button("Open in Colab", "_static/images/logo_colab.png", colab),
            _button("Open on Binder", "_static/images/logo_binder.svg", binder),
        ]
        bar.insert(0, group)


def _button(text: str, icon: str, url: str) -> dict[str, str]:
    label = re.sub(r"\W+", "-", text.lower()).strip("-")
    told = {"type": "link", "text": text, "tooltip": text, "icon": icon, "url": url}
    return told | {"label": escape(label)}


# When all is written ------------------------------------------------------------------


def carry(app: Sphinx, error: Exception | None) -> None:
    """MathJax and what can be downloaded go with the book, which needs no network."""
    if error is not None or app.builder.format != "html":
        return
    found = find_spec("sphinx-mathjax-offline")
    assert found is not None and found.origin, "pip install sphinx-mathjax-offline"
    static = Path(app.outdir) / "_static"
    # The icons are letters of the theme's font: no script of 1.5 MB draws them.
    (static / "scripts" / "fontawesome.js").write_text("")
    bundle = Path(found.origin).parent / "static" / "mathjax" / MATHJAX
    shutil.copy2(bundle, static)
    if app.builder.name == "html":
        target = Path(app.outdir) / "downloads"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(downloads.folder(), target)


def without_thebe(app: Sphinx) -> None:
    """Undo sphinx-thebe, which Jupyter Book always loads and this book never uses."""
    for listeners in list(app.events.listeners.values()):
        for one in list(listeners):
            if one.handler.__module__ == "sphinx_thebe":
                app.disconnect(one.id)
    files = app.registry.css_files
    files[:] = [one for one in files if one[0] != "sphinx-thebe.css"]


def setup(app: Sphinx) -> dict[str, bool]:
    without_thebe(app)
    app.add_node(nodes.image, override=True, html=(visit_image, depart_image))
    app.connect("config-inited", configure)
    app.connect("builder-inited", made)
    app.connect("env-updated", name_papers)
    app.connect("write-started", number_by_page)
    app.connect("html-page-context", define, priority=400)  # before MathJax is asked
    app.connect("html-page-context", add, priority=900)
    app.connect("build-finished", carry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
