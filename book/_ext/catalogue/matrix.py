"""The claim matrix: one square per claim of the papers, a row per page.

Colour and symbol say what came out, a hollow square that fewer than three seeds did it,
a dashed one that it was at reduced scale. Every square is a link with its words as its
title. With a keyboard one goes from page to page, not through every square.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from book._ext.catalogue.entries import SECTION, Entry, evidence, named
from grokbook.claims.verdict import is_few, outcome

ORDER = ("holds", "partly", "fails", "idle")
LEGEND = (
    ("holds", "holds in every seed"),
    ("partly", "holds in some"),
    ("fails", "fails in every seed"),
    ("holds few", "hollow: fewer than three seeds"),
    ("holds reduced", "dashed: in a smaller version"),
    ("idle", "not run"),
)


def matrix(entries: Iterable[Entry], up: str = "") -> str:
    """The squares of these pages as HTML, a table per paper, in one line.

    ``up`` leads from the page that shows it to the root of the book: "" or "../".
    """
    of: dict[str, list[str]] = {}
    for entry in entries:
        of.setdefault(entry.paper, []).append(_row(entry, up))
    tables = (
        f'<table class="matrix"><caption>{escape(named(paper))}</caption>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        for paper, rows in of.items()
    )
    return f'<div class="matrices">{"".join(tables)}</div>'


def legend() -> str:
    """What the squares mean, as HTML in one line."""
    items = (
        f'<li><span class="square {look}"></span> {words}</li>'
        for look, words in LEGEND
    )
    return f'<ul class="matrix-legend">{"".join(items)}</ul>'


def look(claim: dict[str, Any]) -> str:
    """The classes of a square: what came out, then how surely."""
    found = [outcome(claim["verdict"])]
    if is_few(claim["verdict"]):
        found.append("few")
    if "reduced scale" in claim["verdict"]:
        found.append("reduced")
    return " ".join(found)


def _row(entry: Entry, up: str) -> str:
    address, name = entry.address(up), escape(entry.label)
    shown = sorted(
        entry.claims,
        key=lambda c: (ORDER.index(outcome(c["verdict"])), is_few(c["verdict"])),
    )
    squares = "".join(
        f'<a class="square {look(claim)}" tabindex="-1" '
        f'href="{address}#{SECTION}" title="{_told(claim)}"></a>'
        for claim in shown
    )
    title = escape(entry.title, quote=True)
    head = f'<a href="{address}" title="{title}">{name}</a>'
    return f'<tr><th scope="row">{head}</th><td>{squares}</td></tr>'


def _told(claim: dict[str, Any]) -> str:
    """A claim, its verdict and its seeds in words, as an attribute holds them."""
    parts = [claim["verdict"], evidence(claim)]
    return escape(f"{claim['statement']}: {', '.join(filter(None, parts))}", quote=True)
