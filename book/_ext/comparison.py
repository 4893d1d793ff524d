"""A rerun beside the book: claim | book | your run, marked where they differ.

Claims are matched by their statement, else by the paper's words and their place, since
a statement may name what the runs decided. Two verdicts differ where one says that the
claim holds and the other that it does not, or holds in part: at another scale or with
fewer seeds the words are others. Nothing is compared with a smoke test.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book._ext import notebooks, pages
from grokbook.claims.verdict import outcome
from grokbook.errors import PageError


@dataclass(frozen=True)
class Row:
    """A claim of the paper as the book and as a rerun have it; None where one lacks."""

    statement: str
    book: dict[str, Any] | None
    mine: dict[str, Any] | None

    @property
    def mark(self) -> str:
        """`differs`, or `agrees`, or nothing where one of them says nothing."""
        verdicts = [
            one["verdict"] if one else "not run" for one in (self.book, self.mine)
        ]
        outcomes = [outcome(verdict) for verdict in verdicts]
        if "idle" in outcomes:
            return ""
        return "agrees" if outcomes[0] == outcomes[1] else "differs"


@dataclass(frozen=True)
class Comparison:
    """All claims of a page, and the scales of both runs; no rows for a smoke test.

    ``trained``: the records that the rerun read; none where the page trains nothing.
    """

    page_id: str
    rows: list[Row]
    scales: tuple[str, str]
    trained: list[str]

    @property
    def is_smoke(self) -> bool:
        """Whether the rerun shows that the page runs, and no more."""
        return self.scales[1] == "smoke"

    @property
    def summary(self) -> str:
        """How many claims came out as in the book, in one sentence."""
        if self.is_smoke:
            return "It runs. At smoke scale nothing is judged."
        marks = [row.mark for row in self.rows]
        count = (
            f"{marks.count('agrees')} of {len(marks)} claims come out as in the book"
        )
        if differing := marks.count("differs"):
            count += f", {differing} do{'es' * (differing == 1)} not"
        if idle := marks.count(""):
            count += f", {idle} cannot be compared"
        return count + "."


def compare(rerun: Path) -> Comparison:
    """A rerun beside the executed page; PageError where one of them has no claims."""
    import nbformat

    ran = nbformat.read(rerun, as_version=4)
    page_id = ran.metadata["grokbook"]["page"]
    twin = notebooks.read_twin(pages.find(page_id))
    book, mine = (_told(page_id, one) for one in (twin, ran))
    read = mine.get("read", [])
    asked = ran.metadata["grokbook"].get("parameters", {})
    scale = _scale(asked, [one["scale"] for one in read]) or mine["scale"]
    rows = [] if scale == "smoke" else list(_rows(book["claims"], mine["claims"]))
    trained = list(dict.fromkeys(one["record"] for one in read))
    return Comparison(page_id, rows, (book["scale"], scale), trained)


def _scale(asked: dict[str, Any], read: list[str]) -> str:
    """The scale of a rerun, "" where it trained nothing; one smoke test decides."""
    if "smoke" in read:
        return "smoke"
    if not read or not asked.get("retrain"):
        return ""
    scale = asked.get("scale", "best")
    return "laptop" if scale == "best" else scale  # as `evidence.record` trains


def lines(found: Comparison) -> Iterator[str]:
    """The comparison as a terminal shows it."""
    yield f"{found.page_id}: {found.summary}"
    if found.rows:
        yield "claim | book | your run"
    for row in found.rows:
        mark = f"  <- {row.mark}" if row.mark == "differs" else ""
        yield f"  {row.statement} | {told(row.book)} | {told(row.mine)}{mark}"


def told(claim: dict[str, Any] | None) -> str:
    """The value, how many seeds it has, and the verdict."""
    if claim is None:
        return "no such claim"
    if not claim["n"]:
        return claim["verdict"]
    return f"{claim['ours']} (n = {claim['n']}), {claim['verdict']}"


def _told(page_id: str, notebook: Any) -> dict[str, Any]:
    found = notebook and notebooks.claims_of(notebook)
    if not found:
        raise PageError(f"Page {page_id} has no claims to compare: execute it first.")
    return found


def _rows(book: list[dict[str, Any]], mine: list[dict[str, Any]]) -> Iterator[Row]:
    left = [claim for claim in mine if not claim["extra"]]
    for claim in (one for one in book if not one["extra"]):
        other = _match(claim, left)
        if other is not None:
            left.remove(other)
        yield Row((other or claim)["statement"], claim, other)
    for claim in left:
        yield Row(claim["statement"], None, claim)


def _match(claim: dict[str, Any], among: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The same claim of the other run: its statement, else the only one so quoted."""
    for keys in (("statement",), ("quote", "where")):
        same = [one for one in among if all(one[k] == claim[k] for k in keys)]
        if len(same) == 1:
            return same[0]
    return None
