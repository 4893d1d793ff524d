"""The Sphinx extension of the book: what its pages have beyond what the theme writes.

made       generated pages, pictures and downloads, before anything is read
numbers    plots begin with 1 on every page; titles name their paper in one line
commands   one number to change, below the command of each page
exercises  have their title, minutes and level in their heading
pictures   keep their place, lead to themselves at full size, are stacked on a phone
recipes    end in a link to the settings of paper, official code and book
terms      carry their definitions, which book/_static/terms.js shows
foot       what book/_templates/apparatus.html says below a page
"""

import math
import re
import shutil
from base64 import b64decode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx import search
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

from book import explore, ideas
from book._ext import (
    catalogue,
    downloads,
    lectures,
    runs,
    settings,
    suggestions,
    teaching,
)
from book._ext.entries import Entry, entries, stated
from book._ext.handouts import references
from claimbook.project import commit, home


def made(app: Sphinx) -> None:
    """Everything in book/generated and _build/downloads."""
    found = entries()
    catalogue.write(found)
    catalogue.write_for_teachers(found)
    app.config.html_context["compared"] = settings.write(found)
    ideas.draw(home() / "book" / "generated" / "ideas", found)
    explore.write(home() / "book" / "generated" / "explore")
    if app.builder.name == "html":
        downloads.write(found)
        write_narrow(found)
        lectures.write(found, Path(app.outdir, "lectures"))
        lectures.write_worksheets(Path(app.outdir, "worksheets"))
    # An extension of ours knows its nodes for one builder alone, and hides all others.
    app.registry.translation_handlers.pop("singlehtml", None)


def configure(_: Sphinx, config: Config) -> None:
    """What the theme and the foot of a page are told."""
    site, repository = downloads.published()
    config.html_baseurl = config.ogp_site_url = f"{site}/" if site else ""
    theme = config.html_theme_options
    theme["extra_footer"] = f"{theme['extra_footer']} · {version()}"
    if repository:
        theme |= {"repository_url": repository, "use_repository_button": True}
        theme["use_issues_button"] = True
    github = repository.partition("https://github.com/")[2]
    config.html_context["online"] = github if site else ""
    config.html_context["papers"] = {
        paper: told | {"url": references()[paper].fields["url"]}
        for paper, told in stated("book/landing.yml").items()
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
            inline = title.findall(nodes.inline)
            for small in [one for one in inline if "kicker" in one["classes"]]:
                kicker = small.astext()
                finding = " ".join(title.astext().removeprefix(kicker).split())
                titles[document] = nodes.title("", f"{kicker}: {finding}")


def write_narrow(found: Iterable[Entry]) -> None:
    """The plots for a phone; MyST-NB calls a plot by the digest of its PNG."""
    every = (cell for entry in found for cell in entry.twin.cells)
    for output in (one for cell in every for one in cell.get("outputs", [])):
        narrow = output.get("metadata", {}).get("image/png", {}).get("narrow")
        if narrow:
            name = sha256(b64decode(output.data["image/png"])).hexdigest()
            narrow_of(f"{name}.png").parent.mkdir(parents=True, exist_ok=True)
            narrow_of(f"{name}.png").write_bytes(b64decode(narrow))


def narrow_of(name: str) -> Path:
    return home() / "_build" / "narrow" / f"narrow-{name}"


# As a page is written -----------------------------------------------------------------


def visit_image(self: HTML5Translator, node: nodes.image) -> None:
    """A plot with its size, so that its place is kept; it leads to itself alone."""
    path = Path(self.builder.srcdir, node["uri"])
    HTML5Translator.visit_image(self, node)  # "uri" is an address from here on
    if path.suffix == ".png" and isinstance(node.parent, nodes.figure):
        with Image.open(path) as image:
            size = f'<img width="{image.width}" height="{image.height}"'
        tag = self.body[-1].replace("<img", size, 1)
        if narrow_of(path.name).is_file():
            there = node["uri"].replace(path.name, f"narrow-{path.name}")
            source = f'<source media="(max-width: 600px)" srcset="{there}">'
            tag = f"<picture>{source}{tag}</picture>"
        told = f'href="{node["uri"]}" title="The picture alone"'
        self.body[-1] = f'<a class="enlarge" {told}>{tag}</a>'


def read(_: Any, _page: str, _name: str, context: dict[str, Any], tree: Any) -> None:
    """The minutes that a page takes, for book/_templates/reading.html."""
    prose = (part.astext() for part in (tree and tree.findall(nodes.paragraph)) or ())
    context["minutes"] = math.ceil(sum(len(text.split()) for text in prose) / 200)


def compare(_: Any, page: str, _name: str, context: dict[str, Any], _tree: Any) -> None:
    """A link at the end of a recipe to the settings of paper, code and book."""
    if page in context["compared"]:
        address, words = context["compared"][page]
        end = rf'\1 · <a href="{address}">{words}</a>\2'
        pattern = r"(<p class='recipe'>.*?)(</p>)"
        context["body"] = re.sub(pattern, end, context["body"], count=1, flags=re.S)


def define(app: Any, page: str, _: str, context: dict[str, Any], tree: Any) -> None:
    """The definitions of the terms that a page links, hidden at its end."""
    if app.builder.name != "html" or not tree or page == "glossary":
        return
    links = [str(node.get("refuri", "")) for node in tree.findall(nodes.reference)]
    used = {link.partition("glossary.html#term-")[2] for link in links} - {""}
    known = definitions(app.builder)
    every = (f'<div id="define-term-{t}">{known[f"term-{t}"]}</div>' for t in used)
    hidden = f'<div class="definitions" hidden>{"".join(sorted(every))}</div>'
    context["body"] += hidden


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


def version() -> str:
    """What is built: version, its day, that of the data, the commit if git knows it."""
    about, data = stated("CITATION.cff"), runs.version(runs.table())
    told = f"Version {about['version']} · {about['date-released']} · data {data} · "
    told += commit()
    return told.removesuffix(" · unknown")


def carry(app: Sphinx, error: Exception | None) -> None:
    """What can be downloaded goes with the book, which needs no network."""
    if error is not None or app.builder.format != "html":
        return
    # The icons are letters of the theme's font: no script of 1.5 MB draws them.
    Path(app.outdir, "_static", "scripts", "fontawesome.js").write_text("")
    if app.builder.name == "html":
        both = {"_images": narrow_of("").parent, "downloads": downloads.folder()}
        for name, source in both.items():
            shutil.copytree(source, Path(app.outdir, name), dirs_exist_ok=True)


class Prose(search.WordCollector):
    """The words of a page that a search finds: without code and what it printed."""

    def dispatch_visit(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.literal_block):
            raise nodes.SkipNode
        super().dispatch_visit(node)


def setup(app: Sphinx) -> dict[str, bool]:
    app.srcdir = app.confdir = next(app.srcdir.glob("book"), app.srcdir)  # build .
    # Jupyter Book always loads sphinx-thebe, and this book never uses it.
    for every in app.events.listeners.values():
        every[:] = [o for o in every if o.handler.__module__ != "sphinx_thebe"]
    search.WordCollector = Prose  # type: ignore[misc]
    files = app.registry.css_files
    files[:] = [one for one in files if one[0] != "sphinx-thebe.css"]
    both = (visit_image, HTML5Translator.depart_image)
    app.add_node(nodes.image, override=True, html=both)
    app.connect("config-inited", configure)
    app.connect("builder-inited", made)
    app.connect("doctree-read", suggestions.write)
    app.connect("doctree-read", teaching.name_exercises)
    app.connect("env-updated", name_papers)
    app.connect("write-started", number_by_page)
    app.connect("html-page-context", read, priority=100)  # before the theme looks
    app.connect("html-page-context", compare)
    app.connect("html-page-context", define, priority=900)
    app.connect("build-finished", carry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
