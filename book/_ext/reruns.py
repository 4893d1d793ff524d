"""A rerun beside the book: claim | book | your run | agrees, in the terminal.

Two verdicts differ where one claim holds and the other fails, or holds in part, at any
scale and with any seeds. Nothing is compared with a smoke test.

With other settings the table is claim | book | yours | changed. It stands in the
notebook too, and there the book's picture is below each one without the book's curves.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

from book._ext import notebooks, pages
from claimbook import tables
from claimbook.claims.verdict import WORDS, outcome
from claimbook.project import FIGURE_MIME

Claim = dict[str, Any] | None
SMOKE = (
    "It runs. At smoke scale nothing is judged, and most axes begin after the end of "
    "such runs: SCALE=laptop draws them."
)
BESIDE = "The book's figure:"


def compare(rerun: Path) -> Iterator[str]:
    """How a rerun came out in one sentence, then a line for each claim."""
    ran = nbformat.read(rerun, as_version=4)
    book, mine = (_carried(one) for one in (_twin(ran), ran))
    is_smoke = any(one["scale"] == "smoke" for one in mine.get("read", []))
    pairs = _pairs(book, mine)
    if words := change_in(ran):
        head, *rows = _changes(book, mine, pairs)
        yield f"With {words}:"
        yield from map(" | ".join, [head, *rows])
        _complete(rerun, ran, head, rows)
    if is_smoke:
        yield SMOKE
    if words or is_smoke:
        return
    rows = [_row(*pair) for pair in pairs]
    marks = Counter(mark for *_, mark in rows)
    told = f"Of {len(rows)} claims {marks['agrees']} come out as in the book, "
    yield f"{told}{marks['differs']} otherwise; {marks['']} cannot be compared."
    yield from map(" | ".join, rows)


def change_in(ran: NotebookNode) -> str:
    """The settings that a rerun changed, in words; "" if it has those of the book."""
    parameters = ran.metadata["grokbook"].get("parameters", {})
    return str(pages.change_of(parameters)) if parameters.get("set") else ""


def _twin(ran: NotebookNode) -> NotebookNode:
    """The page in the book of which this is a rerun."""
    return notebooks.read_twin(pages.find(ran.metadata["grokbook"]["page"]))


def _carried(page: NotebookNode) -> dict[str, Any]:
    return notebooks.claims_of(page) or {"claims": []}


def _pairs(*pages_claims: dict[str, Any]) -> list[tuple[Claim, Claim]]:
    """Each claim as the book and as the rerun has it; one of them may be None."""
    book, mine = (
        {claim["id"]: claim for claim in one["claims"] if not claim["extra"]}
        for one in pages_claims
    )
    return [(book.get(key), mine.get(key)) for key in book | mine]


def _row(book: Claim, mine: Claim) -> tuple[str, ...]:
    """Statement, the book's value, the rerun's, and agrees, differs or nothing."""
    came = _outcomes(book, mine)
    mark = "agrees" if came[0] == came[1] else "differs"
    return *_cells(book, mine), mark if {*came} <= {*WORDS} else ""


def _changes(book: dict, mine: dict, pairs: list) -> Iterator[tuple[str, ...]]:
    """The head of the table of a change, then its rows."""
    scales = (f" ({one['scale']})" if "scale" in one else "" for one in (book, mine))
    yield "claim", *map("".join, zip(("book", "yours"), scales, strict=True)), "changed"
    for pair in pairs:
        came = _outcomes(*pair)
        if not {*came} <= {*WORDS}:
            changed = "cannot be compared"
        elif came[0] != came[1]:
            changed = f"{came[0]} → {came[1]}"
        else:
            values = {claim["ours"] for claim in pair if claim}
            changed = "the value alone" if len(values) > 1 else "nothing"
        yield *_cells(*pair), changed


def _outcomes(*pair: Claim) -> list[str]:
    return [outcome(claim["verdict"]) if claim else "idle" for claim in pair]


def _cells(book: Claim, mine: Claim) -> tuple[str, str, str]:
    """The statement of a claim, then its value in the book and in the rerun.

    Where the rerun chose otherwise, its statement stands with its value.
    """
    statement, *other = dict.fromkeys(
        claim["statement"] for claim in (book, mine) if claim
    )
    words = [_cell(mine), *(f"of: {one}" for one in other)]
    return statement, _cell(book), ", ".join(words)


def _cell(claim: Claim) -> str:
    if claim is None:
        return "no such claim"
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    return value + claim["verdict"]


def _complete(
    rerun: Path, ran: NotebookNode, head: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    """Write the table, and pictures of the book, into the notebook of a rerun."""
    book = {_name(cell): shown for cell, shown in _figures(_twin(ran))}
    for cell, shown in _figures(ran):
        other = book.get(_name(cell))
        mine = shown[FIGURE_MIME]
        if other and not (
            mine.get("has_book") or mine["sha256"] == other[FIGURE_MIME]["sha256"]
        ):
            data = {"image/png": other["image/png"], "text/plain": BESIDE}
            cell.outputs.append(v4.new_output("stream", text=f"{BESIDE}\n"))
            cell.outputs.append(v4.new_output("display_data", data))
    table = v4.new_markdown_cell(tables.grid(head, rows).html)
    ran.cells.insert(1, table)
    nbformat.write(ran, rerun)


def _figures(page: NotebookNode) -> list[tuple[NotebookNode, dict[str, Any]]]:
    """Each cell that draws, with the data of its picture by MIME type."""
    return [
        (cell, output["data"])
        for cell in page.cells
        for output in cell.get("outputs", [])
        if FIGURE_MIME in output.get("data", {})
    ]


def _name(cell: NotebookNode) -> str:
    return str(notebooks.shown_as(cell).get("figure", {}).get("name", ""))
