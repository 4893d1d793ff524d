"""Titles that name the paper wherever they are read without their page around them.

A Sphinx extension, named in _config.yml. The title of a page is a kicker and a finding,
`[Prieto et al. 2025 · Figure 4]{.kicker} It is`. On the page they are two lines; in a
browser's tab, in search results and in lists of pages a colon comes between them.
The pictures of the gallery load when they are scrolled to.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

EAGER, LAZY = '<img alt="', '<img loading="lazy" alt="'


def one_line(_: Sphinx, env: BuildEnvironment) -> None:
    """Put `Kicker: Finding` in place of the titles that have a kicker."""
    for titles in (env.titles, env.longtitles):
        for document, title in titles.items():
            if kickers := list(title.findall(_is_kicker)):
                kicker = kickers[0].astext()
                finding = title.astext().removeprefix(kicker).strip()
                titles[document] = nodes.title("", f"{kicker}: {finding}")


def _is_kicker(node: nodes.Node) -> bool:
    return isinstance(node, nodes.inline) and "kicker" in node["classes"]


def load_late(
    _: Sphinx, page: str, __: str, context: dict[str, Any], ___: object
) -> None:
    if page == "generated/gallery":
        context["body"] = context["body"].replace(EAGER, LAZY)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", one_line)
    app.connect("html-page-context", load_late)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
