"""The scoreboard: the claims of the papers on one page, what is beyond on another.

A table in plain HTML, readable as it is. browse.js adds filters and sorting in the
browser, and keeps them in the address: `#paper=liu2026&verdict=fails`.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from book._ext.entries import Entry, anchor, named, rank
from grokbook.claims.verdict import badge, look
from grokbook.project import PAPERS

SCRIPT = Path(__file__).with_name("browse.js")
SCOREBOARD = """\
# Scoreboard

A claim is a sentence of a paper turned into a test. *n* counts independent members
(seeds), and the interval is over them. A verdict takes three seeds at least; where a
claim has fewer, or a smaller network, its badge says so. What we measured in addition
is on [a page of its own](/generated/beyond.md).

"""
BEYOND = """\
# Beyond the papers

What we measured in addition to the [claims of the papers](/generated/scoreboard.md). No
paper is judged by it.

"""
Claim = dict[str, Any]
Choices = Mapping[str, Mapping[str, str]]  # of a filter: value -> words
OUTCOMES = {w: w for w in ("holds", "mixed", "fails")} | {"idle": "not run"}
EVIDENCE = {"full": "three seeds, the paper's size"}
EVIDENCE |= {"few": "fewer than three seeds", "small": "a smaller size"}
FILTERS = {"verdict": OUTCOMES, "evidence": EVIDENCE}
SORTED = ("Page", "n", "Verdict")


def scoreboard(entries: Sequence[Entry]) -> str:
    """The claims of the papers."""
    found = [(entry, claim) for entry in entries for claim in entry.claims]
    return SCOREBOARD + _board("Claims of the papers", FILTERS, found)


def beyond(entries: Sequence[Entry]) -> str:
    """What the pages measure beyond their papers."""
    every = [(entry, claim) for entry in entries for claim in entry.carried["claims"]]
    found = [(entry, claim) for entry, claim in every if claim["extra"]]
    return BEYOND + _board("Beyond the papers", {}, found)


def _board(caption: str, filters: Choices, found: Sequence[tuple[Entry, Claim]]) -> str:
    """The filters, hidden without the script, the table and the script, as raw HTML."""
    fields = [
        f'<label>{name.capitalize()} <select name="{name}">'
        + '<option value="">all</option>'
        + "".join(f'<option value="{v}">{escape(w)}</option>' for v, w in of.items())
        + "</select></label>"
        for name, of in {"paper": PAPERS, **filters}.items()
    ]
    rows, cells = [], {}
    for at, (entry, claim) in enumerate(found):
        cells = _cells(entry, claim)
        keys = dict(
            zip(SORTED, (at, claim["n"], rank(claim["verdict"])[0]), strict=True)
        )
        inner = "".join(
            f'<td data-name="{name}" data-key="{keys.get(name, "")}">{html}</td>'
            for name, html in cells.items()
        )
        came, *less = look(claim["verdict"]).split()
        rows.append(
            f'<tr id="{anchor(entry, claim)}" data-paper="{entry.paper}" '
            f'data-verdict="{came}" data-evidence="{" ".join(less) or "full"}">'
            f"{inner}</tr>"
        )
    head = "".join(
        f'<th scope="col"{" data-sorts" * (name in SORTED)}>{name}</th>'
        for name in cells
    )
    body = "\n".join(rows)
    return f"""
<form class="board-filters" hidden>{"".join(fields)}
<label>Words <input type="search" name="words"></label>
<button type="reset">Show all</button><output role="status"></output></form>
<table class="board"><caption class="visually-hidden">{caption}</caption>
<thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table>

<script>
{SCRIPT.read_text(encoding="utf-8")}</script>
"""


def _cells(entry: Entry, claim: Claim) -> dict[str, str]:
    """Column -> HTML."""
    place = escape(f"{named(entry.paper)}, {entry.label}")
    page = f'<a href="../{entry.address(claim)}">{place}</a>'
    statement, ours = escape(claim["statement"]), escape(claim["ours"])
    if claim["interval"] not in ("", "—"):
        ours += f" <small>({escape(claim['interval'])})</small>"
    found = {"Here": ours, "n": f"{claim['n']:,}"}
    if claim["extra"]:
        return {"Page": page, "Measured": statement, **found}
    said = f"<q>{escape(claim['quote'])}</q> <small>{escape(claim['where'])}</small>"
    said = "<b>Main claim</b> " * claim["main"] + said
    said_and_tested = {"The paper says": said, "Tested as": statement}
    return {
        "Page": page,
        **said_and_tested,
        **found,
        "Verdict": badge(claim["verdict"]),
    }
