"""What the rendered book carries and links besides its text: a Sphinx extension.

On every page: its two handouts in the download menu, and in Provenance the files of its
records. Where the environment says where the book is published (`sources`): buttons for
its repository, for its issues, and to open the handout in Colab or on Binder. Colab and
Binder read them from the branch `handouts`, which the publishing workflow writes.
"""

import posixpath
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from book._ext import downloads
from book._ext.sources import Published, published

BRANCH = "handouts"
MADE = re.compile(
    r"(?P<run>grokbook run (?P<paper>\w+)/\w+ --scale \w+</td>\s*<td>)"
    r"(?P<file>[\w.]+\.parquet)"
)
ICON = "fas fa-chalkboard-user"


def theme_options(where: Published) -> dict[str, Any]:
    """Options of the theme for a book that is published; none for one that is not."""
    if not where.repository:
        return {}
    return {
        "repository_url": where.repository,
        "repository_branch": where.branch,
        "repository_provider": "github" if where.github else "gitlab",
        "path_to_docs": "book",
        "use_repository_button": True,
        "use_issues_button": True,
    }


def launchers(where: Published, handout: str) -> list[dict[str, str]]:
    """Buttons that open a handout, "<paper>/<page>-class.ipynb", online."""
    if not where.github or not where.site:
        return []
    path = quote(handout)
    colab = (
        f"https://colab.research.google.com/github/{where.github}/blob/{BRANCH}/{path}"
    )
    binder = f"https://mybinder.org/v2/gh/{where.github}/{BRANCH}?labpath={path}"
    return [
        _button("Open in Colab", "_static/images/logo_colab.png", colab, "colab"),
        _button("Open on Binder", "_static/images/logo_binder.svg", binder, "binder"),
    ]


def linked(html: str, docname: str, kept: set[str]) -> str:
    """The table of a page's records with its files linked, those that are ``kept``."""

    def link(found: re.Match[str]) -> str:
        name = f"records/{found['paper']}/{found['file']}"
        if name not in kept:
            return found[0]
        address = _from(docname, name)
        return f'{found["run"]}<a href="{address}" download>{found["file"]}</a>'

    return MADE.sub(link, html)


def _from(docname: str, name: str) -> str:
    """The address of a download as a page of the book has it."""
    return posixpath.relpath(f"downloads/{name}", posixpath.dirname(docname) or ".")


def _button(text: str, icon: str, url: str, label: str) -> dict[str, str]:
    button = {"type": "link", "text": text, "tooltip": text, "icon": icon, "url": url}
    return button | {"label": f"{label}-button"}


def _handouts(docname: str) -> dict[str, str]:
    """Kind -> name among the downloads, of the handouts that a page has."""
    paths = {k: f"handouts/{docname}-{k}.ipynb" for k in ("class", "teacher")}
    return {k: n for k, n in paths.items() if (downloads.folder() / n).is_file()}


def configure(app: Sphinx, config: Config) -> None:
    where = published()
    app.config.html_theme_options.update(theme_options(where))
    if where.site:
        config.html_baseurl = f"{where.site}/"


def add_buttons(_: Sphinx, docname: str, *of_page: Any) -> None:
    """The handouts first in the download menu, and where they open online."""
    _, context, _ = of_page
    found = _handouts(docname)
    bar = context.get("header_buttons", [])
    menu = next((b for b in bar if b.get("label") == "download-buttons"), None)
    if not found or menu is None:
        return
    menu["buttons"][:0] = [
        _button(f".ipynb for the {kind}", ICON, _from(docname, name), f"handout-{kind}")
        for kind, name in found.items()
    ]
    online = launchers(published(), found["class"].removeprefix("handouts/"))
    if online:
        bar.insert(
            0,
            {
                "type": "group",
                "tooltip": "Open this page as a notebook online",
                "icon": "fas fa-rocket",
                "label": "launch-buttons",
                "buttons": online,
            },
        )


def add_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.name != "html":
        return
    kept = set(downloads.carried())
    for node in doctree.findall(nodes.raw):
        text = node.astext()
        if node.get("format") == "html" and MADE.search(text):
            node.children = [nodes.Text(linked(text, docname, kept))]
            node.rawsource = ""


def copy(app: Sphinx, error: Exception | None) -> None:
    """Everything that can be downloaded goes into downloads/ of the rendered book."""
    if error is not None or app.builder.name != "html":
        return
    target = Path(app.outdir) / "downloads"
    shutil.rmtree(target, ignore_errors=True)
    for name, path in downloads.carried().items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", configure)
    app.connect("html-page-context", add_buttons, priority=502)  # the theme's are 501
    app.connect("doctree-resolved", add_links)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
