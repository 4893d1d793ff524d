"""The scoreboard: the claims of the papers on one page, what is beyond on another.

A table in plain HTML, readable as it is. browse.js adds filters and sorting in the
browser, and keeps them in the address: `#paper=liu2026&verdict=fails`.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from book._ext.entries import SECTION, Entry, anchor, counts, named, rank
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
OUTCOMES = {
    "holds": "holds",
    "mixed": "mixed: holds in some seeds",
    "fails": "fails",
    "idle": "not run",
}
EVIDENCE = {"full": "three seeds, the paper's size"}
EVIDENCE |= {"few": "fewer than three seeds", "small": "a smaller size"}
Claim = Mapping[str, Any]
Choices = Mapping[str, tuple[str, Mapping[str, str]]]  # name -> label, value -> words


def scoreboard(entries: Sequence[Entry]) -> str:
    """The claims of the papers."""
    claims = [claim for entry in entries for claim in entry.claims]
    choices = {"verdict": ("Verdict", OUTCOMES), "evidence": ("Evidence", EVIDENCE)}
    head = f"**{len(claims)} claims:** {counts(claims)}\n"
    return SCOREBOARD + head + _board("Claims of the papers", choices, entries)


def beyond(entries: Sequence[Entry]) -> str:
    """What the pages measure beyond their papers."""
    return BEYOND + _board("Beyond the papers", {}, entries)


def _board(caption: str, choices: Choices, entries: Iterable[Entry]) -> str:
    """The filters, hidden without the script, the table and the script, as raw HTML."""
    extra = not choices
    fields = [
        f'<label>{label} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{v}">{escape(w)}</option>' for v, w in of.items())
        + "</select></label>"
        for name, (label, of) in {"paper": ("Paper", PAPERS), **choices}.items()
    ]
    found = [
        (entry, claim)
        for entry in entries
        for claim in entry.carried["claims"]
        if (claim["extra"] if extra else claim in entry.claims)
    ]
    rows, columns = [], {}
    for at, (entry, claim) in enumerate(found):
        columns = {"Page": (_place(entry), at)} | _cells(claim)
        cells = "".join(
            f'<td data-name="{name}" data-key="{key}">{html}</td>'
            for name, (html, key) in columns.items()
        )
        came, *less = look(claim["verdict"]).split()
        rows.append(
            f'<tr id="{anchor(entry, claim)}" data-paper="{entry.paper}" '
            f'data-verdict="{came}" data-evidence="{" ".join(less) or "full"}">'
            f"{cells}</tr>"
        )
    head = "".join(
        f'<th scope="col"{"" if key == "" else " data-sorts"}>{name}</th>'
        for name, (_, key) in columns.items()
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


def _place(entry: Entry) -> str:
    words = escape(f"{named(entry.paper)}, {entry.label}")
    return f'<a href="../{entry.document}.html#{SECTION}">{words}</a>'


def _cells(claim: Claim) -> dict[str, tuple[str, object]]:
    """Column -> HTML, and the number that it sorts by, "" where it does not."""
    ours, statement = escape(claim["ours"]), (escape(claim["statement"]), "")
    if claim["interval"] not in ("", "—"):
        ours += f" <small>({escape(claim['interval'])})</small>"
    found: dict[str, tuple[str, object]] = {"Here": (ours, "")}
    found["n"] = (f"{claim['n']:,}", claim["n"])
    if claim["extra"]:
        return {"Measured": statement} | found
    said = f"<q>{escape(claim['quote'])}</q> <small>{escape(claim['where'])}</small>"
    said = "<b>Main claim</b> " * claim["main"] + said
    verdict = badge(claim["verdict"]), rank(claim["verdict"])[0]
    said_and_tested = {"The paper says": (said, ""), "Tested as": statement}
    return said_and_tested | found | {"Verdict": verdict}
