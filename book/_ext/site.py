"""The Sphinx extension of the book: what its pages have beyond what the theme writes.

made       generated pages, pictures and downloads, before anything is read
numbers    plots begin with 1 on every page; titles name their paper in one line
commands   one number to change, below the command of each page
exercises  have their title, minutes and level in their heading
pictures   keep their place, lead to themselves at full size, are stacked on a phone
recipes    end in a link to the settings of paper, official code and book
terms      carry their definitions, which book/_static/terms.js shows
foot       what book/_templates/apparatus.html says below a page

Functions that `setup` connects to an event have the arguments of that event.
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
from book._ext.entries import Entry, entries, yaml_of
from book._ext.handouts import references
from claimbook.project import commit, home


def generate(app: Sphinx) -> None:
    """Write book/generated, _build/downloads and _build/narrow, before pages are read.

    The settings page returns its links, which `add_settings_link` needs.
    """
    every_page = entries()
    catalogue.write(every_page)
    catalogue.write_for_teachers(every_page)
    app.config.html_context["settings_links"] = settings.write(every_page)
    ideas.draw(home() / "book" / "generated" / "ideas", every_page)
    explore.write(home() / "book" / "generated" / "explore")
    if app.builder.name == "html":
        downloads.write(every_page)
        write_narrow(every_page)
        lectures.write(every_page, Path(app.outdir, "lectures"))
        lectures.write_worksheets(Path(app.outdir, "worksheets"))
    # An extension of ours knows its nodes for one builder alone, and hides all others.
    app.registry.translation_handlers.pop("singlehtml", None)


def configure(_: Sphinx, config: Config) -> None:
    """Set the addresses of site and repository, the footer, and the papers."""
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
        paper: facts | {"url": references()[paper].fields["url"]}
        for paper, facts in yaml_of("book/landing.yml").items()
    }


# Once all pages are read --------------------------------------------------------------


def number_by_page(_: Sphinx, builder: StandaloneHTMLBuilder) -> None:
    """Number figures, tables and exercises from 1 on every page, in place."""
    for numbers_by_kind in builder.env.toc_fignumbers.values():
        for numbers in numbers_by_kind.values():
            names = sorted(numbers, key=numbers.__getitem__)
            for position, name in enumerate(names, 1):
                numbers[name] = (position,)


def name_papers(_: Sphinx, env: BuildEnvironment) -> None:
    """Replace titles that have a kicker by "Kicker: Finding", as text, in place.

    They are the titles in the contents, in links and in the browser's tab.
    """
    for titles in (env.titles, env.longtitles):
        for document, title in titles.items():
            parts = list(title.findall(nodes.inline))
            for kicker in [part for part in parts if "kicker" in part["classes"]]:
                words = title.astext().removeprefix(kicker.astext()).split()
                text = f"{kicker.astext()}: {' '.join(words)}"
                titles[document] = nodes.title("", text)


def write_narrow(every_page: Iterable[Entry]) -> None:
    """Write the plots for a phone, which the outputs of the twins have in metadata.

    MyST-NB names a plot by the digest of its PNG.
    """
    cells = (cell for page in every_page for cell in page.twin.cells)
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        narrow = output.get("metadata", {}).get("image/png", {}).get("narrow")
        if narrow:
            digest = sha256(b64decode(output.data["image/png"])).hexdigest()
            path = narrow_path(f"{digest}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b64decode(narrow))


def narrow_path(name: str) -> Path:
    """Return where the version for a phone of a picture with this name is kept."""
    return home() / "_build" / "narrow" / f"narrow-{name}"


# As a page is written -----------------------------------------------------------------


def visit_image(self: HTML5Translator, node: nodes.image) -> None:
    """Write an image; a PNG of a figure with its size, as a link to itself alone.

    The size keeps its place before it is loaded. On a phone its narrow version is shown
    if there is one.
    """
    path = Path(self.builder.srcdir, node["uri"])
    HTML5Translator.visit_image(self, node)  # "uri" is an address from here on
    if path.suffix == ".png" and isinstance(node.parent, nodes.figure):
        with Image.open(path) as image:
            size = f'<img width="{image.width}" height="{image.height}"'
        tag = self.body[-1].replace("<img", size, 1)
        if narrow_path(path.name).is_file():
            address = node["uri"].replace(path.name, f"narrow-{path.name}")
            source = f'<source media="(max-width: 600px)" srcset="{address}">'
            tag = f"<picture>{source}{tag}</picture>"
        attributes = f'href="{node["uri"]}" title="The picture alone"'
        self.body[-1] = f'<a class="enlarge" {attributes}>{tag}</a>'


def add_minutes(
    _: Any, _page: str, _name: str, context: dict[str, Any], tree: Any
) -> None:
    """Give book/_templates/reading.html the minutes that a page takes to read."""
    prose = (part.astext() for part in (tree and tree.findall(nodes.paragraph)) or ())
    context["minutes"] = math.ceil(sum(len(text.split()) for text in prose) / 200)


def add_settings_link(
    _: Any, page: str, _name: str, context: dict[str, Any], _tree: Any
) -> None:
    """Append to the recipe of a page a link to the settings of paper, code and book."""
    if page in context["settings_links"]:
        address, words = context["settings_links"][page]
        end = rf'\1 · <a href="{address}">{words}</a>\2'
        pattern = r"(<p class='recipe'>.*?)(</p>)"
        context["body"] = re.sub(pattern, end, context["body"], count=1, flags=re.S)


def add_definitions(
    app: Any, page: str, _: str, context: dict[str, Any], tree: Any
) -> None:
    """Append to a page, hidden, the definitions of the glossary terms that it links."""
    if app.builder.name != "html" or not tree or page == "glossary":
        return
    links = [str(node.get("refuri", "")) for node in tree.findall(nodes.reference)]
    terms = {link.partition("glossary.html#term-")[2] for link in links} - {""}
    html = definitions(app.builder)
    blocks = (f'<div id="define-term-{t}">{html[f"term-{t}"]}</div>' for t in terms)
    hidden = f'<div class="definitions" hidden>{"".join(sorted(blocks))}</div>'
    context["body"] += hidden


@cache
def definitions(builder: StandaloneHTMLBuilder) -> dict[str, str]:
    """Return by HTML id of a term the first paragraph of its definition.

    It is HTML without links.
    """
    html_of_id = {}
    tree = builder.env.get_and_resolve_doctree("glossary", builder)
    for item in tree.findall(nodes.definition_list_item):
        first = next(item.findall(nodes.paragraph))
        for reference in list(first.findall(nodes.reference)):
            reference.replace_self(reference.children)
        text = builder.render_partial(first)["fragment"]
        for term in item.findall(nodes.term):
            html_of_id.update(dict.fromkeys(term["ids"], text))
    return html_of_id


def version() -> str:
    """Return version and day of the code, version of the data, and commit if known."""
    about, data = yaml_of("CITATION.cff"), runs.version(runs.table())
    text = f"Version {about['version']} · {about['date-released']} · data {data} · "
    return (text + commit()).removesuffix(" · unknown")


def copy_downloads(app: Sphinx, error: Exception | None) -> None:
    """Copy narrow plots and downloads into the built site, which needs no network."""
    if error is not None or app.builder.format != "html":
        return
    # The icons are letters of the theme's font: no script of 1.5 MB draws them.
    Path(app.outdir, "_static", "scripts", "fontawesome.js").write_text("")
    if app.builder.name == "html":
        sources = {"_images": narrow_path("").parent, "downloads": downloads.folder()}
        for name, source in sources.items():
            shutil.copytree(source, Path(app.outdir, name), dirs_exist_ok=True)


class Prose(search.WordCollector):
    """Collects the words that a search finds: no code, and nothing that it printed."""

    def dispatch_visit(self, node: nodes.Node) -> None:
        """Visit a node of a page, and skip it with all inside if it is a block."""
        if isinstance(node, nodes.literal_block):
            raise nodes.SkipNode
        super().dispatch_visit(node)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; called by Sphinx."""
    # "jupyter-book build ." begins in the repository, and pages lie in its book/
    app.srcdir = app.confdir = next(app.srcdir.glob("book"), app.srcdir)
    # Jupyter Book always loads sphinx-thebe, and this book never uses it.
    for listeners in app.events.listeners.values():
        listeners[:] = [o for o in listeners if o.handler.__module__ != "sphinx_thebe"]
    search.WordCollector = Prose  # type: ignore[misc]
    files = app.registry.css_files
    files[:] = [file for file in files if file[0] != "sphinx-thebe.css"]
    visitors = (visit_image, HTML5Translator.depart_image)
    app.add_node(nodes.image, override=True, html=visitors)
    app.connect("config-inited", configure)
    app.connect("builder-inited", generate)
    app.connect("doctree-read", suggestions.write)
    app.connect("doctree-read", teaching.name_exercises)
    app.connect("env-updated", name_papers)
    app.connect("write-started", number_by_page)
    # before the theme looks, whose priority is 500
    app.connect("html-page-context", add_minutes, priority=100)
    app.connect("html-page-context", add_settings_link)
    app.connect("html-page-context", add_definitions, priority=900)
    app.connect("build-finished", copy_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
