"""The scoreboard: the claims of the papers on one page, what is beyond on another.

A table in plain HTML, readable as it is. browse.js adds filters and sorting in the
browser, and keeps them in the address: `#paper=liu2026&verdict=fails`.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from book._ext.entries import SECTION, Entry, anchor, counts, named
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
SEEDS = {"enough": "three or more", "few": "fewer than three"}
Cell = tuple[str, str, int | None]  # column, HTML, rank where the column sorts


def scoreboard(entries: Sequence[Entry]) -> str:
    """The claims of the papers."""
    found = [(entry, claim) for entry in entries for claim in entry.claims]
    claims = [claim for _, claim in found]
    verdicts = [v for v in VERDICTS if any(c["verdict"] == v for c in claims)]
    choices = {
        "paper": ("Paper", PAPERS),
        "verdict": ("Verdict", OUTCOMES | {kind(v): v for v in verdicts}),
        "n": ("Seeds", SEEDS),
    }
    head = ["# Scoreboard", "", INTRO, f"**{len(claims)} claims:** {counts(claims)}"]
    rows = [_row(*one, at, _judged) for at, one in enumerate(found)]
    return "\n".join([*head, "", _board("Claims of the papers", choices, rows)])


def beyond(entries: Sequence[Entry]) -> str:
    """What the pages measure beyond their papers."""
    found = [(entry, claim) for entry in entries for claim in entry.beyond]
    rows = [_row(*one, at, _measured) for at, one in enumerate(found)]
    board = _board("Beyond the papers", {"paper": ("Paper", PAPERS)}, rows)
    return "\n".join(["# Beyond the papers", "", BEYOND, board])


Row = tuple[str, list[Cell]]  # the attributes of a row, its cells


def _row(entry: Entry, claim: dict[str, Any], at: int, cells: Any) -> Row:
    words = escape(f"{named(entry.paper)}, {entry.label}")
    place = f'<a href="../{entry.document}.html#{SECTION}">{words}</a>'
    verdict = claim["verdict"]
    return (
        f'id="{anchor(entry, claim)}" data-paper="{entry.paper}" '
        f'data-verdict="{kind(verdict)} {outcome(verdict)}" '
        f'data-n="{"few" if is_few(verdict) else "enough"}"',
        [("Page", place, at), *cells(claim)],
    )


def _judged(claim: dict[str, Any]) -> list[Cell]:
    said = f"<q>{escape(claim['quote'])}</q> <small>{escape(claim['where'])}</small>"
    if claim["main"]:
        said = f"<b>Main claim</b> {said}"
    verdict = claim["verdict"]
    return [
        ("The paper says", said, None),
        ("Tested as", escape(claim["statement"]), None),
        *_found(claim),
        ("Verdict", badge(verdict), list(VERDICTS).index(verdict)),
    ]


def _measured(claim: dict[str, Any]) -> list[Cell]:
    return [("Measured", escape(claim["statement"]), None), *_found(claim)]


def _found(claim: dict[str, Any]) -> list[Cell]:
    ours = escape(claim["ours"])
    if claim["interval"] not in ("", "—"):
        ours += f" <small>({escape(claim['interval'])})</small>"
    return [("Here", ours, None), ("n", f"{claim['n']:,}", claim["n"])]


def _board(
    caption: str, choices: dict[str, tuple[str, dict[str, str]]], rows: list[Row]
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
    head = "".join(
        f'<th scope="col"{"" if rank is None else " data-sorts"}>{name}</th>'
        for name, _, rank in (rows[0][1] if rows else [])
    )
    body = [
        f"<tr {about}>"
        + "".join(
            f'<td data-name="{name}"{"" if rank is None else f" data-key={rank}"}>'
            f"{html}</td>"
            for name, html, rank in cells
        )
        + "</tr>"
        for about, cells in rows
    ]
    return "\n".join(
        [
            f'<form class="board-filters" hidden>{"".join(fields)}</output></form>',
            f'<table class="board"><caption class="visually-hidden">{caption}',
            f"</caption><thead><tr>{head}</tr></thead><tbody>",
            *body,
            "</tbody></table>",
            "",
            f"<script>\n{SCRIPT.read_text(encoding='utf-8')}</script>",
            "",
        ]
    )
