"""A rerun beside the book: claim | book | your run | agrees, in the terminal.

Claims are matched by their statement, else by the paper's words and their place, since
a statement may name what the runs decided. Two verdicts differ where one says that the
claim holds and the other that it does not, or holds in part: at another scale or with
fewer seeds the words are others. Nothing is compared with a smoke test.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from book._ext import notebooks, pages
from grokbook.claims.verdict import outcome

Claim = dict[str, Any]


def compare(rerun: Path) -> Iterator[str]:
    """How a rerun came out in one sentence, then a line for each claim."""
    ran = nbformat.read(rerun, as_version=4)
    twin = notebooks.read_twin(pages.find(ran.metadata["grokbook"]["page"]))
    book, mine = (notebooks.claims_of(one) or {"claims": []} for one in (twin, ran))
    if any(one["scale"] == "smoke" for one in mine.get("read", [])):
        yield "It runs. At smoke scale nothing is judged."
        return
    papers = ([c for c in one["claims"] if not c["extra"]] for one in (book, mine))
    rows = [_row(*pair) for pair in _pairs(*papers)]
    marks = Counter(mark for *_, mark in rows)
    told = f"Of {len(rows)} claims {marks['agrees']} come out as in the book, "
    yield f"{told}{marks['differs']} otherwise; {marks['']} cannot be compared."
    yield from map(" | ".join, rows)


def _pairs(
    book: list[Claim], mine: list[Claim]
) -> Iterator[tuple[Claim | None, Claim | None]]:
    left = {claim["statement"]: claim for claim in mine}
    known = {claim["statement"] for claim in book}
    for claim in book:
        words = (claim["quote"], claim["where"])
        alike = [s for s, c in left.items() if (c["quote"], c["where"]) == words]
        others = [statement for statement in alike if statement not in known]
        same = [claim["statement"], *others[:1]]
        yield claim, next((left.pop(s) for s in same if s in left), None)
    yield from ((None, claim) for claim in left.values())


def _row(book: Claim | None, mine: Claim | None) -> tuple[str, str, str, str]:
    """Statement, the book's value, the rerun's, and agrees, differs or nothing."""
    came = [outcome(one["verdict"]) if one else "idle" for one in (book, mine)]
    mark = "agrees" if came[0] == came[1] else "differs"
    statement = (mine or book or {})["statement"]
    return statement, _cell(book), _cell(mine), "" if "idle" in came else mark


def _cell(claim: Claim | None) -> str:
    if claim is None:
        return "no such claim"
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    return value + claim["verdict"]
