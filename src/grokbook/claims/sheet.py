"""The claims of a page as it fills them in: a statement, a value by seed, a bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from grokbook.claims.claim import (
    ENOUGH,
    BySeed,
    Claim,
    checked,
    held,
    in_order,
    median,
    summary,
)
from grokbook.claims.display import Box, ClaimsTable
from grokbook.evidence import Run
from grokbook.records import Record

Runs: TypeAlias = Run | Sequence[Run]
SCALES = ("smoke", "laptop", "paper")


class Sheet(list[Claim]):
    """The claims of one page, in its order.

    A claim of the paper takes the paper's words (``quote``) and the place where it has
    them (``where``: "Section 4.1", "Figure 4, caption"). The ``run`` of a claim, or the
    runs if it rests on several, says at which scale and with how many seeds it was
    tested: a claim is no stronger than its weakest record. ``show`` is how a value is
    printed ("{:.1%}"), that of the page unless given.
    """

    def __init__(self, page: str, *, show: str = "{:,.0f}"):
        super().__init__()
        self.page, self.show = page, show
        self.runs: list[Run] = []

    def claim(
        self,
        run: Runs,
        statement: str,
        quote: str,
        value: BySeed,
        *,
        where: str,
        at_least: float | None = None,
        at_most: float | None = None,
        above: float | None = None,
        below: float | None = None,
        show: str | None = None,
        main: bool = False,
    ) -> None:
        """A claim of the paper on one value per seed: that it lies within bounds.

        ``at_least`` and ``at_most`` include the bound, ``above`` and ``below`` do not;
        at least one is given. No seed at all reads "not run", and says so where the
        arms were run and none of their seeds has a value. ValueError for a NaN.
        """
        bounds = (at_least, at_most, above, below)
        if all(bound is None for bound in bounds):
            raise ValueError(f"claim {statement!r} could not fail: give it a bound")
        runs = self._note(run)
        if not len(value):
            ran = runs and all(run.seeds for run in runs)
            ours = "no seed is a test" if ran else "—"
            self.not_run(statement, quote, where=where, main=main, ours=ours)
            return
        scale = _scale(runs)
        found = checked(statement, value, scale)
        ours, interval = summary(found, show or self.show)
        fits = held(found, _within(*bounds))
        told = (statement, quote, where, ours, len(found), interval, fits)
        self.append(Claim(*told, scale, main=main, why=_why(runs, len(found))))

    def order(
        self,
        statement: str,
        quote: str,
        values: Mapping[Run, BySeed],
        *,
        where: str,
        open_end: bool = False,
        show: str | None = None,
        main: bool = False,
        extra: bool = False,
    ) -> None:
        """A claim that several arms come one after the other, see `claim.in_order`.

        The arms are named by their labels. An arm without a seed reads "not run". With
        ``extra`` it is beyond the paper: reported, not judged.
        """
        runs = self._note(list(values))
        if any(not len(value) for value in values.values()):
            self.not_run(statement, quote, where=where, main=main)
            return
        scale = _scale(runs)
        named = {
            run.label: checked(f"{statement} ({run.label})", value, scale)
            for run, value in values.items()
        }
        ours, fits, n = in_order(named, open_end=open_end, show=show or self.show)
        if open_end and "never" in ours:
            statement += "; those that never get there may share the last places"
        interval = f"in order for {fits} of {n}"
        told = (statement, quote, where, ours, n, interval, fits)
        why = _why(runs, n)
        self.append(Claim(*told, scale, main=main, extra=extra, why=why))

    def extra(
        self, run: Runs, statement: str, value: BySeed, *, show: str | None = None
    ) -> None:
        """A measurement of ours beyond the paper; nothing where there is no seed."""
        runs = self._note(run)
        if len(value):
            scale = _scale(runs)
            found = checked(statement, value, scale)
            ours, interval = summary(found, show or self.show)
            n = len(found)
            told = (statement, "", "", ours, n, interval, n)
            self.append(Claim(*told, scale, extra=True))

    def exact(
        self,
        statement: str,
        quote: str,
        ours: str,
        *,
        where: str,
        held: int,
        n: int,
        main: bool = False,
        extra: bool = False,
    ) -> None:
        """A claim of mathematics, checked at ``n`` points of which ``held`` agree."""
        told = (statement, quote, where, ours, n, "exact", held, "paper")
        self.append(Claim(*told, main=main, extra=extra, exact=True))

    def not_run(
        self,
        statement: str,
        quote: str,
        *,
        where: str,
        main: bool = False,
        ours: str = "—",
    ) -> None:
        """A claim of the paper that nothing here tests yet: listed, not judged."""
        told = (statement, quote, where, ours, 0, "—", 0, "paper")
        self.append(Claim(*told, main=main))

    def box(self) -> Box:
        """The verdict box at the head of the page."""
        return Box(self._told(), self.runs)

    def table(self) -> ClaimsTable:
        """The table of claims: the paper's, and folded what is beyond it."""
        return ClaimsTable(self._told(), self.page)

    def _told(self) -> list[Claim]:
        """The claims; where one record is a smoke test, none of them is judged."""
        if any(run.record.scale == "smoke" for run in self.runs):
            return [replace(claim, scale="smoke", why="") for claim in self]
        return list(self)

    def _note(self, run: Runs) -> list[Run]:
        runs = [run] if isinstance(run, Run) else list(run)
        self.runs += [one for one in runs if one not in self.runs]
        return runs


def _scale(runs: Sequence[Run]) -> str:
    """The smallest scale of the records that a claim rests on."""
    return min((run.record.scale for run in runs), key=SCALES.index)


def _why(runs: Sequence[Run], n: int) -> str:
    """For a claim with too few seeds for a verdict: what one more would cost."""
    if n >= ENOUGH:
        return ""
    few = [run for run in runs if len(run.seeds) < ENOUGH]
    return "; ".join(dict.fromkeys(map(_few, few)))


def _few(run: Run) -> str:
    """How many of the planned seeds a run has, and what one costs."""
    record, seeds = run.record, run.seeds
    planned = len(record.experiment.seeds)
    told = f"{run.label or run.arm} ({len(seeds)} of {planned} seeds"
    if not seeds:
        return told + ")"
    minutes = median({seed: _seconds(record, run.arm, seed) for seed in seeds}) / 60
    return f"{told}, {minutes:,.1f} min each)"


def _seconds(record: Record, arm: str, seed: int) -> float:
    return record.members[f"{arm}|{seed}"]["seconds"]


def _within(
    at_least: float | None,
    at_most: float | None,
    above: float | None,
    below: float | None,
) -> Callable[[float], bool]:
    return lambda value: (
        (at_least is None or value >= at_least)
        and (at_most is None or value <= at_most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
