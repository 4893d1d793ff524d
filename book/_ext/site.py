"""The Sphinx extension of the book: what its pages have beyond what the theme writes.

    made       generated pages, pictures and downloads, before anything is read
    numbers    plots begin with 1 on every page; titles name their paper in one line
    pictures   keep their place, lead to themselves at full size, are stacked on a phone
    terms      carry their definitions, which book/_static/terms.js shows
    sources    the paper and its official code, at the foot of a page
    buttons    the handouts; online and at the repository where the book is published

Where it is published, GROKBOOK_SITE and GROKBOOK_REPOSITORY say so, which the
publishing workflow gives: https://name.github.io/book/, https://github.com/name/book.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from base64 import b64decode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
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
from book._ext.entries import Entry, entries
from book._ext.handouts import references
from grokbook.project import FOLDERS, PAPERS, home

# As the package has it, whose name with hyphens cannot be imported.
MATHJAX = Path(sysconfig.get_path("purelib"), "sphinx-mathjax-offline", "static")
MATHJAX /= "mathjax/tex-svg-full.js"
BRANCH = "handouts"  # where Colab and Binder read, written by the publishing workflow


def made(app: Sphinx) -> None:
    """Everything in book/generated and _build/downloads."""
    found = entries()
    catalogue.write(found)
    ideas.draw(home() / "book" / "generated" / "ideas")
    explore.write(home() / "book" / "generated" / "explore")
    if app.builder.name == "html":
        downloads.write(found)
        write_narrow(found)
    # An extension of ours knows its nodes for one builder alone, and hides all others.
    app.registry.translation_handlers.pop("singlehtml", None)


def configure(_: Sphinx, config: Config) -> None:
    site, repository = downloads.published()
    config.html_baseurl = config.ogp_site_url = f"{site}/" if site else ""
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
    """Put `Kicker: Finding` in place of the titles that have a kicker.

    Every page of a chapter loads MathJax: the definitions of terms have formulas.
    """
    pages = {name: True for name in env.titles if name.partition("/")[0] in FOLDERS}
    env.get_domain("math").data["has_equations"].update(pages)
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


def add(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    """What stands around one page that is about to be written."""
    if app.builder.name != "html" or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    changes = f'<a href="{context["pathto"]("changelog")}">What changed</a>'
    context["theme_extra_footer"] = (
        f"<p>{app.config.html_theme_options.get('extra_footer', '')}</p>"
        f'<p class="version">{" · ".join([*version(), changes])}</p>'
    )
    if doctree is None:  # the search page and the index
        return
    if (paper := page.partition("/")[0]) in PAPERS:
        context["body"] += f'<p class="apparatus">{sources(paper)}</p>'
    if page != "glossary":
        context["body"] += defined(app.builder, doctree)
    add_buttons(page, context)


def defined(builder: StandaloneHTMLBuilder, doctree: nodes.document) -> str:
    """The definitions of the terms that a page links, hidden at its end."""
    links = [str(node.get("refuri", "")) for node in doctree.findall(nodes.reference)]
    used = dict.fromkeys(
        link.partition("#")[2] for link in links if "glossary.html#term-" in link
    )
    known = definitions(builder)
    hidden = "".join(f'<div id="define-{t}">{known[t]}</div>\n' for t in used)
    return f'<div class="definitions" hidden>\n{hidden}</div>\n'


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


def sources(paper: str) -> str:
    """One line of links: the paper, and its official code at the commit that was read.

    book/landing.yml has the code as `https://github.com/<owner>/<name>/tree/<commit>`.
    """
    arxiv = references()[paper].fields["url"]
    text = f"Sources: {_link(arxiv, f'arXiv:{Path(arxiv).name}')} · "
    code = catalogue.landing()[paper].get("code", "")
    if not code:
        return f"{text}the paper has no official code"
    name, _, commit = code.removeprefix("https://").partition("/tree/")
    at = _link(code, f"<code>{commit[:7]}</code>")
    return f"{text}official code {_link(f'https://{name}', name)} at {at}"


def _link(address: str, text: str) -> str:
    return f'<a class="reference external" href="{address}">{text}</a>'


@cache
def version() -> list[str]:
    """What is built: version, day, and commit where git knows it."""
    command = ["git", "-C", str(home()), "log", "-1", "--format=%cd|%h"]
    command += ["--date=format:%-d %B %Y"]
    run = subprocess.run(command, capture_output=True, text=True)
    about = yaml.safe_load((home() / "CITATION.cff").read_text(encoding="utf-8"))
    told = run.stdout.strip() or f"{about['date-released']:%-d %B %Y}"
    return [f"Version {about['version']}", *told.split("|")]


def add_buttons(page: str, context: dict[str, Any]) -> None:
    """The handouts first in the download menu, and where they open online."""
    names = {kind: downloads.name_of(page, kind) for kind in downloads.KINDS}
    bar = context.get("header_buttons", [])
    menu = next((b for b in bar if b.get("label") == "download-buttons"), None)
    if menu is None or not (downloads.folder() / names["class"]).is_file():
        return
    up = "../" * page.count("/")
    menu["buttons"][:0] = [
        _button(f".ipynb for the {k}", "fas fa-file-arrow-down", f"{up}downloads/{n}")
        for k, n in names.items()
    ]
    site, repository = downloads.published()
    name = repository.removeprefix("https://github.com/")
    if not site or name == repository:
        return
    path = quote(names["class"].removeprefix("handouts/"))
    colab = f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{path}"
    binder = f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={path}"
    group: dict[str, Any] = {
        "type": "group",
        "icon": "fas fa-rocket",
        "label": "launch-buttons",
    }
    group |= {"tooltip": "Open this page as a notebook online"}
    group["buttons"] = [
        _button("Open in Colab", "_static/images/logo_colab.png", colab),
        _button("Open on Binder", "_static/images/logo_binder.svg", binder),
    ]
    bar.insert(0, group)


def _button(text: str, icon: str, url: str) -> dict[str, str]:
    told = {"type": "link", "text": text, "tooltip": text, "icon": icon, "url": url}
    return told | {"label": re.sub(r"\W+", "-", text.lower()).strip("-")}


def carry(app: Sphinx, error: Exception | None) -> None:
    """MathJax and what can be downloaded go with the book, which needs no network."""
    if error is not None or app.builder.format != "html":
        return
    # The icons are letters of the theme's font: no script of 1.5 MB draws them.
    Path(app.outdir, "_static", "scripts", "fontawesome.js").write_text("")
    shutil.copy2(MATHJAX, Path(app.outdir, "_static"))
    if app.builder.name == "html":
        images = Path(app.outdir, "_images")
        shutil.copytree(narrow_of("").parent, images, dirs_exist_ok=True)
        target = Path(app.outdir) / "downloads"
        shutil.copytree(downloads.folder(), target, dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    # Jupyter Book always loads sphinx-thebe, and this book never uses it.
    for every in app.events.listeners.values():
        every[:] = [o for o in every if o.handler.__module__ != "sphinx_thebe"]
    files = app.registry.css_files
    files[:] = [one for one in files if one[0] != "sphinx-thebe.css"]
    both = (visit_image, HTML5Translator.depart_image)
    app.add_node(nodes.image, override=True, html=both)
    app.connect("config-inited", configure)
    app.connect("builder-inited", made)
    app.connect("env-updated", name_papers)
    app.connect("write-started", number_by_page)
    app.connect("html-page-context", add, priority=900)
    app.connect("build-finished", carry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
