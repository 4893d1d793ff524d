"""A rerun beside the book: claim | book | your run | agrees, in the terminal.

Two verdicts differ where one claim holds and the other fails, or holds in part, at any
scale and with any seeds. Nothing is compared with a smoke test.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from book._ext import notebooks, pages
from claimbook.claims.verdict import WORDS, outcome


def compare(rerun: Path) -> Iterator[str]:
    """How a rerun came out in one sentence, then a line for each claim."""
    ran = nbformat.read(rerun, as_version=4)
    twin = notebooks.read_twin(pages.find(ran.metadata["grokbook"]["page"]))
    both = [notebooks.claims_of(one) or {"claims": []} for one in (twin, ran)]
    if any(one["scale"] == "smoke" for one in both[1].get("read", [])):
        yield "It runs. At smoke scale nothing is judged."
        return
    book, mine = ({c["id"]: c for c in one["claims"] if not c["extra"]} for one in both)
    rows = [_row(book.get(key), mine.get(key)) for key in book | mine]
    marks = Counter(mark for *_, mark in rows)
    told = f"Of {len(rows)} claims {marks['agrees']} come out as in the book, "
    yield f"{told}{marks['differs']} otherwise; {marks['']} cannot be compared."
    yield from map(" | ".join, rows)


def _row(*pair: dict[str, Any] | None) -> tuple[str, ...]:
    """Statement, the book's value, the rerun's, and agrees, differs or nothing."""
    came = [outcome(one["verdict"]) if one else "idle" for one in pair]
    is_judged = {*came} <= {*WORDS}
    mark = "agrees" if came[0] == came[1] else "differs"
    statement = next(one["statement"] for one in pair[::-1] if one)
    return statement, *map(_cell, pair), mark if is_judged else ""


def _cell(claim: dict[str, Any] | None) -> str:
    if claim is None:
        return "no such claim"
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    return value + claim["verdict"]
