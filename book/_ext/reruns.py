"""A rerun beside the book: claim | book | your run | agrees, in the terminal.

Two verdicts differ where one claim holds and the other fails, or holds in part, at any
scale and with any seeds. Nothing is compared with a smoke test.

With other settings the table is claim | book | yours | changed. It stands in the
notebook too, and there the book's picture is below each one without the book's curves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

from book._ext import notebooks, pages
from claimbook import tables
from claimbook.claims.verdict import WORDS, outcome
from claimbook.project import FIGURE_MIME

SMOKE = (
    "It runs. At smoke scale nothing is judged, and most axes begin after the end of "
    "such runs: SCALE=laptop draws them."
)
BESIDE = "The book's figure:"


@dataclass(frozen=True)
class Pair:
    """One claim as the book and as the rerun have it; either may lack it.

    Both are dicts with the keys of `Claim.as_plain`.
    """

    book: dict[str, Any] | None
    rerun: dict[str, Any] | None

    @property
    def outcomes(self) -> tuple[str, str]:
        """The class of both verdicts, "idle" for a claim that is not there."""
        book, rerun = (
            outcome(claim["verdict"]) if claim else "idle"
            for claim in (self.book, self.rerun)
        )
        return book, rerun

    @property
    def is_judged(self) -> bool:
        """Whether both verdicts say that the claim holds, is mixed, or fails."""
        return {*self.outcomes} <= {*WORDS}

    @property
    def cells(self) -> tuple[str, str, str]:
        """The statement of the claim, then its value in the book and in the rerun.

        If the rerun tests another statement, it stands with its value.
        """
        claims = [claim for claim in (self.book, self.rerun) if claim]
        statement, *other = dict.fromkeys(claim["statement"] for claim in claims)
        words = [_result(self.rerun), *(f"of: {text}" for text in other)]
        return statement, _result(self.book), ", ".join(words)

    @property
    def mark(self) -> str:
        """ "agrees" or "differs", "" if the verdicts cannot be compared."""
        if not self.is_judged:
            return ""
        book, rerun = self.outcomes
        return "agrees" if book == rerun else "differs"

    @property
    def change(self) -> str:
        """What another setting changed: the outcome, the value alone, or nothing."""
        if self.book is None or self.rerun is None or not self.is_judged:
            return "cannot be compared"
        book, rerun = self.outcomes
        if book != rerun:
            return f"{book} → {rerun}"
        is_same = self.book["ours"] == self.rerun["ours"]
        return "nothing" if is_same else "the value alone"


def _result(claim: dict[str, Any] | None) -> str:
    """Return "4,450 (n = 3), holds" of a claim, without the value if none was run."""
    if claim is None:
        return "no such claim"
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    return value + claim["verdict"]


def compare(path: Path) -> Iterator[str]:
    """Yield how the rerun in a notebook came out, then a line for each claim.

    If it changed settings, the table is written into the notebook too.
    """
    rerun = nbformat.read(path, as_version=4)
    book = notebooks.read_twin(pages.find(rerun.metadata["grokbook"]["page"]))
    closing_of_book, closing = notebooks.closing(book), notebooks.closing(rerun)
    pairs = _pairs(closing_of_book, closing)
    change = change_in(rerun)
    if change:
        scales = (
            f" ({stored['scale']})" if "scale" in stored else ""
            for stored in (closing_of_book, closing)
        )
        of_book, of_rerun = map("".join, zip(("book", "yours"), scales, strict=True))
        head = ("claim", of_book, of_rerun, "changed")
        rows = [(*pair.cells, pair.change) for pair in pairs]
        yield f"With {change}:"
        yield from map(" | ".join, [head, *rows])
        _add_figures(rerun, book)
        rerun.cells.insert(1, v4.new_markdown_cell(tables.grid(head, rows).html))
        nbformat.write(rerun, path)
    is_smoke = any(read["scale"] == "smoke" for read in closing.get("read", []))
    if is_smoke:
        yield SMOKE
    elif not change:
        counts = Counter(pair.mark for pair in pairs)
        yield (
            f"Of {len(pairs)} claims {counts['agrees']} come out as in the book, "
            f"{counts['differs']} otherwise; {counts['']} cannot be compared."
        )
        yield from (" | ".join([*pair.cells, pair.mark]) for pair in pairs)


def change_in(rerun: NotebookNode) -> str:
    """Return the settings that a rerun changed, in words; "" without any."""
    parameters = rerun.metadata["grokbook"].get("parameters", {})
    return str(pages.change_of(parameters)) if parameters.get("set") else ""


def _pairs(*closings: dict[str, Any]) -> list[Pair]:
    """Return the claims of the paper in the closing cells of book and rerun."""
    book, rerun = (
        {claim["id"]: claim for claim in closing["claims"] if not claim["extra"]}
        for closing in closings
    )
    return [Pair(book.get(row), rerun.get(row)) for row in book | rerun]


def _add_figures(rerun: NotebookNode, book: NotebookNode) -> None:
    """Append the book's figure to each cell whose own does not show it, in place.

    A figure shows it if it has the book's curves, or is the same.
    """
    figure_of_book = {_figure_name(cell): data for cell, data in _figures(book)}
    for cell, data in _figures(rerun):
        other = figure_of_book.get(_figure_name(cell))
        if other is None:
            continue
        shown, shown_in_book = data[FIGURE_MIME], other[FIGURE_MIME]
        if shown.get("has_book") or shown["sha256"] == shown_in_book["sha256"]:
            continue
        figure = {"image/png": other["image/png"], "text/plain": BESIDE}
        cell.outputs.append(v4.new_output("stream", text=f"{BESIDE}\n"))
        cell.outputs.append(v4.new_output("display_data", figure))


def _figures(notebook: NotebookNode) -> Iterable[tuple[NotebookNode, dict[str, Any]]]:
    """Return each cell that draws, with the data of its figure by MIME type."""
    return [
        (cell, output["data"])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if FIGURE_MIME in output.get("data", {})
    ]


def _figure_name(cell: NotebookNode) -> str:
    return str(notebooks.display_options(cell).get("figure", {}).get("name", ""))
