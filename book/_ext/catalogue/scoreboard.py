"""The scoreboard: the claims of the papers on one page, what is beyond on another.

A table in plain HTML, readable as it is. The script beside this file adds filters and
sorting in the browser, and keeps them in the address: `#paper=liu2026&verdict=fails`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from book._ext.catalogue.entries import SECTION, Claims, Entry, anchor, counts, named
from grokbook.claims.verdict import VERDICTS, badge, is_few, kind, outcome
from grokbook.project import PAPERS

SCRIPT = Path(__file__).with_name("browse.js")
INTRO = """\
A claim is a sentence of a paper turned into a test. *n* counts independent members
(seeds), and the interval is over them. A verdict takes three seeds at least; with
fewer, a claim is *seen once* or not. What we measured in addition is on
[a page of its own](/generated/beyond.md).
"""
BEYOND = """\
What we measured in addition to the [claims of the papers](/generated/scoreboard.md). No
paper is judged by it.
"""
OUTCOMES = {
    "holds": "holds, however often seen",
    "partly": "holds in some seeds",
    "fails": "fails, however often seen",
    "idle": "not run",
}


def scoreboard(entries: Sequence[Entry]) -> str:
    """The claims of the papers."""
    claims = [claim for entry in entries for claim in entry.claims]
    if not claims:
        return f"# Scoreboard\n\n{INTRO}\nNo claim is tested yet.\n"
    verdicts = [v for v in VERDICTS if any(c["verdict"] == v for c in claims)]
    choices = {
        "paper": ("Paper", _papers(entries)),
        "verdict": ("Verdict", OUTCOMES | {kind(v): v for v in verdicts}),
        "n": ("Seeds", {"enough": "three or more", "few": "fewer than three"}),
    }
    head = [("Page", True), ("The paper says", False), ("Tested as", False)]
    head += [("Here", False), ("n", True), ("Verdict", True)]
    rows = _rows(entries, "claims", _judged)
    total = f"**{len(claims)} claim{'s' * (len(claims) > 1)}:** {counts(claims)}"
    board = _board("Claims of the papers", choices, head, rows)
    return "\n".join(["# Scoreboard", "", INTRO, total, "", board])


def beyond(entries: Sequence[Entry]) -> str:
    """What the pages measure beyond their papers."""
    claims = [claim for entry in entries for claim in entry.beyond]
    if not claims:
        return f"# Beyond the papers\n\n{BEYOND}\nNothing is measured yet.\n"
    head = [("Page", True), ("Measured", False), ("Here", False), ("n", True)]
    rows = _rows(entries, "beyond", _measured)
    choices = {"paper": ("Paper", _papers(entries))}
    board = _board("Beyond the papers", choices, head, rows)
    return "\n".join(["# Beyond the papers", "", BEYOND, board])


def _papers(entries: Iterable[Entry]) -> dict[str, str]:
    found = {entry.paper for entry in entries}
    return {paper: name for paper, name in PAPERS.items() if paper in found}


def _rows(entries: Iterable[Entry], part: str, cells: Any) -> list[str]:
    """The rows of a table in the order of the book; the first cell names the page."""
    rows: list[str] = []
    for entry in entries:
        claims: Claims = getattr(entry, part)
        for claim in claims:
            words = f"{named(entry.paper)}, {entry.label}"
            place = f'<a href="{entry.address("../")}#{SECTION}">{escape(words)}</a>'
            shown = [("Page", place, len(rows)), *cells(claim)]
            rows.append(
                f'<tr id="{anchor(entry, claim)}" data-paper="{entry.paper}" '
                f'data-verdict="{kind(claim["verdict"])} {outcome(claim["verdict"])}" '
                f'data-n="{"few" if is_few(claim["verdict"]) else "enough"}">'
                f"{''.join(_cell(*one) for one in shown)}</tr>"
            )
    return rows


def _judged(claim: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    said = f"<q>{escape(claim['quote'])}</q> <small>{escape(claim['where'])}</small>"
    if claim["main"]:
        said = f"<b>Main claim</b> {said}"
    rank = VERDICTS.index(claim["verdict"])
    return [
        ("The paper says", said, None),
        ("Tested as", escape(claim["statement"]), None),
        *_found(claim),
        ("Verdict", badge(claim["verdict"]), rank),
    ]


def _measured(claim: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    return [("Measured", escape(claim["statement"]), None), *_found(claim)]


def _found(claim: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    ours = escape(claim["ours"])
    if claim["interval"] not in ("", "—"):
        ours += f" <small>({escape(claim['interval'])})</small>"
    return [("Here", ours, None), ("n", f"{claim['n']:,}", claim["n"])]


def _cell(name: str, html: str, key: int | None) -> str:
    rank = "" if key is None else f' data-key="{key}"'
    return f'<td data-name="{name}"{rank}>{html}</td>'


def _board(
    caption: str,
    choices: dict[str, tuple[str, dict[str, str]]],
    head: Sequence[tuple[str, bool]],
    rows: Sequence[str],
) -> str:
    """The filters, hidden without the script, the table and the script, as raw HTML."""
    fields = [
        f'<label>{label} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{v}">{escape(w)}</option>' for v, w in of.items())
        + "</select></label>"
        for name, (label, of) in choices.items()
    ]
    fields += ['<label>Words <input type="search" name="words"></label>']
    fields += ['<button type="reset">Show all</button>', '<output role="status">']
    columns = "".join(
        f'<th scope="col"{" data-sorts" * sorts}>{escape(name)}</th>'
        for name, sorts in head
    )
    return "\n".join(
        [
            f'<form class="board-filters" hidden>{"".join(fields)}</output></form>',
            f'<table class="board"><caption class="visually-hidden">{caption}',
            "</caption>",
            f"<thead><tr>{columns}</tr></thead><tbody>",
            *rows,
            "</tbody></table>",
            "",
            f"<script>\n{SCRIPT.read_text(encoding='utf-8')}</script>",
            "",
        ]
    )
