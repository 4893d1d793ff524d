"""A rerun beside the book: claim | book | your run | agrees, in the terminal.

The book's side is its page at the scale of the rerun, from the records of the book, or
as it stands in the book if there are none. Two verdicts differ where one claim holds
and the other fails, or holds in part. Nothing is compared with a smoke test.

With other settings the table is claim | book | yours | changed. It stands in the
notebook too, and there the book's picture is below each one without the book's curves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

from book._ext import notebooks, pages
from claimbook import records, tables
from claimbook.change import Change
from claimbook.claims.verdict import WORDS, outcome
from claimbook.errors import PageError
from claimbook.experiment import Experiment
from claimbook.project import FIGURE_MIME

SMOKE = (
    "It runs. At smoke scale nothing is judged, and most axes begin after the end of "
    "such runs: SCALE=laptop draws them."
)


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
    def is_comparable(self) -> bool:
        """Whether both verdicts say that the claim holds, is mixed, or fails.

        With "mixed" one seed cannot be compared, as it is never mixed by itself.
        """
        if self.book is None or self.rerun is None:
            return False
        counts = self.rerun["n"], self.book["n"]  # of seeds, each of the other side
        is_alone = ("mixed", 1) in zip(self.outcomes, counts, strict=True)
        return {*self.outcomes} <= {*WORDS} and not is_alone

    @property
    def cells(self) -> tuple[str, str, str]:
        """The statement of the claim, then its value in the book and in the rerun.

        If the rerun tests another statement, it stands with its value.
        """
        claims = [claim for claim in (self.book, self.rerun) if claim]
        statement, *other = dict.fromkeys(claim["statement"] for claim in claims)
        words = [_result(self.rerun), *(f"tested there: {text}" for text in other)]
        return statement, _result(self.book), "; ".join(words)

    @property
    def mark(self) -> str:
        """ "agrees" or "differs", "" if the verdicts cannot be compared."""
        if not self.is_comparable:
            return ""
        book, rerun = self.outcomes
        return "agrees" if book == rerun else "differs"

    @property
    def change(self) -> str:
        """What another setting changed: the outcome, the value alone, or nothing."""
        if self.book is None or self.rerun is None or not self.is_comparable:
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
    page_id = rerun.metadata["grokbook"]["page"]
    parameters = rerun.metadata["grokbook"].get("parameters", {})
    book = _book_at(page_id, parameters.get("scale", "best"))
    scale_of_book, scale = _scale(book), _scale(rerun)
    closing = notebooks.closing(rerun)
    place = "the book"
    if {scale_of_book, scale} != {"paper"}:
        place = f"the book at {scale_of_book} scale"
    pairs = _pairs(notebooks.closing(book), closing)
    change = pages.change_of(parameters) if parameters.get("set") else None
    if change:
        effect = "changed" if scale == scale_of_book else "changed (scale too)"
        head = ("claim", f"book ({scale_of_book})", f"yours ({scale})", effect)
        rows = [(*pair.cells, pair.change) for pair in pairs]
        levelled = change.levelled(_trained(closing, change, page_id, scale))
        yield f"With {change}:"
        yield from levelled
        yield from map(" | ".join, [head, *rows])
        _add_figures(rerun, book, f"The figure of {place}:")
        table = "\n\n".join([*levelled, tables.grid(head, rows).html])
        rerun.cells.insert(1, v4.new_markdown_cell(table))
        nbformat.write(rerun, path)
    is_smoke = any(read["scale"] == "smoke" for read in closing.get("read", []))
    if is_smoke:
        yield SMOKE
    elif not change:
        counts = Counter(pair.mark for pair in pairs)
        yield (
            f"Of {len(pairs)} claims {counts['agrees']} come out as in {place}, "
            f"{counts['differs']} otherwise; {counts['']} cannot be compared."
        )
        yield from (" | ".join([*pair.cells, pair.mark]) for pair in pairs)


def _book_at(page_id: str, scale: str) -> NotebookNode:
    """Return the page of the book that a rerun at a scale is compared with.

    It is executed at that scale, unless it stands there in the book, or the book has no
    record of it. A page that cannot be executed from what there is, as it lacks an arm,
    is returned as it stands in the book, too.
    """
    twin = notebooks.read_twin(pages.find(page_id))
    scales = {read["scale"] for read in notebooks.closing(twin).get("read", [])}
    if scale in ("best", "smoke") or scales == {scale}:
        return twin
    if any(map(records.recorded_arms, pages.experiments(page_id, scale))):
        with TemporaryDirectory() as folder, suppress(PageError):
            (path,) = pages.execute([page_id], {"scale": scale}, Path(folder))
            return nbformat.read(path, as_version=4)
    return twin


def _trained(
    closing: dict[str, Any], change: Change, page_id: str, scale: str
) -> list[Experiment]:
    """Return what a rerun trained, as it is without the change.

    Of each experiment of the page these are the arms that are among the members in the
    closing cell of the rerun, which have the change.
    """
    keys = {key for read in closing["read"] for key in read["members"].values()}
    trained = []
    for experiment in pages.experiments(page_id, scale):
        pairs = zip(experiment.arms, change.of(experiment).arms, strict=True)
        arms = tuple(old for old, new in pairs if new.training_key in keys)
        trained.append(replace(experiment, arms=arms))
    return trained


def _scale(notebook: NotebookNode) -> str:
    """Return the scale that a notebook was executed at, of "best" that of its box."""
    scale = notebook.metadata["grokbook"].get("parameters", {}).get("scale", "best")
    if scale == "best":
        return str(notebooks.closing(notebook).get("scale", "paper"))
    return str(scale)


def _pairs(*closings: dict[str, Any]) -> list[Pair]:
    """Return the claims of the paper in the closing cells of book and rerun."""
    book, rerun = (
        {claim["id"]: claim for claim in closing["claims"] if not claim["extra"]}
        for closing in closings
    )
    return [Pair(book.get(row), rerun.get(row)) for row in book | rerun]


def _add_figures(rerun: NotebookNode, book: NotebookNode, label: str) -> None:
    """Append the book's figure to each cell whose own does not show it, in place.

    ``label`` stands above it. A figure shows it if it has the book's curves, or is the
    same.
    """
    figure_of_book = {_figure_name(cell): data for cell, data in _figures(book)}
    for cell, data in _figures(rerun):
        other = figure_of_book.get(_figure_name(cell))
        if other is None:
            continue
        shown, shown_in_book = data[FIGURE_MIME], other[FIGURE_MIME]
        if shown.get("has_book") or shown["sha256"] == shown_in_book["sha256"]:
            continue
        figure = {"image/png": other["image/png"], "text/plain": label}
        cell.outputs.append(v4.new_output("stream", text=f"{label}\n"))
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
