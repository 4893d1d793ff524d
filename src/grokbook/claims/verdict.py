"""The verdict of a claim, in one place, and how it is drawn.

    verdict   the words, of the seeds that support a claim, its size and its kind
    outcome   the same in one of four: holds, partly, fails, idle
    badge     the words as the style sheet of the book draws them

The box, the table, the chapter's front page, the scoreboard and the matrix ask here.
"""

import re
from html import escape

from grokbook.errors import PageError

VERDICTS = (
    "reproduced",
    "partly reproduced",
    "not reproduced",
    "seen once",
    "not seen, once",
    "seen at reduced scale",
    "partly seen at reduced scale",
    "not seen at reduced scale",
    "seen once, at reduced scale",
    "not seen, once, at reduced scale",
    "not run",
    "not judged",
    "beyond the paper",
)
ENOUGH = 3  # seeds of a verdict


def verdict(
    held: int, n: int, scale: str, *, exact: bool = False, extra: bool = False
) -> str:
    """What is said of a claim that ``held`` of ``n`` seeds (or points) support.

    With fewer than three seeds it is *seen once* or not, which is no verdict; what is
    exact needs no seeds. A smoke test judges nothing.
    """
    if extra:
        return "beyond the paper"
    if scale == "smoke":
        return "not judged"
    if n == 0:
        return "not run"
    if n < ENOUGH and not exact:
        seen = "seen once" if held else "not seen, once"
        return seen if scale == "paper" else f"{seen}, at reduced scale"
    share = "partly " if 0 < held < n else "" if held else "not "
    return share + ("reproduced" if scale == "paper" else "seen at reduced scale")


def outcome(verdict: str) -> str:
    """A verdict in one of four words; PageError for one that is none."""
    if verdict not in VERDICTS:
        raise PageError(
            f"'{verdict}' is no verdict of the book: execute its page again."
        )
    if verdict in VERDICTS[-3:]:
        return "idle"
    first = verdict.partition(" ")[0]
    return {"not": "fails", "partly": "partly"}.get(first, "holds")


def is_few(verdict: str) -> bool:
    """Whether fewer than three seeds judge it, so that it is no verdict yet."""
    return "once" in verdict


def kind(verdict: str) -> str:
    """A verdict as a word of the style sheet and of an address."""
    return re.sub(r"[^a-z]+", "-", verdict.lower())


def badge(verdict: str, title: str = "") -> str:
    """A verdict as HTML with colour and symbol; ``title`` shows under the pointer."""
    told = f' title="{escape(title)}"' if title else ""
    return (
        f'<span class="verdict verdict-{kind(verdict)}"{told}>{escape(verdict)}</span>'
    )
