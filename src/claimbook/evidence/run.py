"""One arm of a record: its values by seed, a pandas Series, and in a sentence."""

import math
import re
from dataclasses import dataclass
from statistics import median_low
from typing import TypeAlias

import numpy as np
from pandas import DataFrame, Series

from claimbook.errors import PageError
from claimbook.evidence import events
from claimbook.experiment import Arm
from claimbook.records import Record

Bound: TypeAlias = float | Series  # an epoch, the same for all seeds or one for each


@dataclass(frozen=True, eq=False)
class Run:
    """One arm of a record, with the name and the colour that a page gives it.

    Every method that takes ``since`` and ``until`` looks at the logged epochs between
    them, both included; either may be a Series, one epoch for each seed. Where nothing
    was measured there, the value is ``otherwise``.
    """

    record: Record
    arm: str
    label: str = ""
    color: str = "black"

    @property
    def seeds(self) -> list[int]:
        """The seeds that were trained, in the order of the experiment."""
        return self.record.seeds(self.arm)

    @property
    def settings(self) -> Arm:
        """What was trained, for how many epochs at most, on what."""
        return self.record.experiment.arm(self.arm)

    def series(
        self, column: str, *, since: Bound = 0, until: Bound = math.inf
    ) -> DataFrame:
        """Epochs down, seeds across; NaN where not measured or out of bounds."""
        if not self.seeds:
            return DataFrame(dtype=float)
        table = self.record.series(self.arm, column).reindex(columns=self.seeds)
        epochs = table.index.to_numpy(dtype=float)[:, None]
        lower, upper = (_by_seed(bound, self.seeds) for bound in (since, until))
        return table.astype(float).where((epochs >= lower) & (epochs <= upper))

    def looks(self, column: str, *, since: Bound = 0) -> DataFrame:
        """The same at the regular looks, where ``log`` of the arm is one distance."""
        table = self.series(column, since=since)
        return table[table.index % self.settings.log == 0]

    def trace(self) -> DataFrame:
        """The loss of every step, where it was kept: steps down, seeds across."""
        if not self.seeds:
            return DataFrame(dtype=float)
        return self.record.trace(self.arm).reindex(columns=self.seeds)

    def first(
        self, column: str, *, since: Bound = 0, until: Bound = math.inf, **level: float
    ) -> Series:
        """First logged epoch at which a column gets there, see `events.crossing`."""
        return events.crossing(self.series(column, since=since, until=until), **level)

    def fitted(self, **measure: float) -> Series:
        """First logged epoch at which the training set is learned, or infinity.

        Learned is a ``train_accuracy`` of at least ``accuracy``, or a ``train_loss`` of
        at most ``loss``: papers use either, so one of them is given.
        """
        table, level = self._learned("train", measure)
        return events.crossing(table, **level)

    def reaches(self, **measure: float) -> Series:
        """First logged epoch at which the test set is learned, or infinity.

        As in `fitted`, by ``accuracy`` or ``loss``. It may fall back later, see
        `falls_back`; if it does not, it `generalises`.
        """
        table, level = self._learned("test", measure)
        return events.crossing(table, **level)

    def generalises(self, **measure: float) -> Series:
        """First logged epoch from which on the test set is learned to the end of the
        run, or infinity: what this book calls generalising, or grokking."""
        table, level = self._learned("test", measure)
        return events.lasting(table, **level)

    def falls_back(self, **measure: float) -> Series:
        """Share of the logs after `reaches` at which the test set is not learned."""
        table, level = self._learned("test", measure)
        return events.missing_later(table, **level)

    def _learned(
        self, part: str, measure: dict[str, float]
    ) -> tuple[DataFrame, dict[str, float]]:
        """The series of a split by which learning is told, and its level."""
        ((name, level),) = measure.items()
        side = {"accuracy": "at_least", "loss": "at_most"}[name]
        return self.series(f"{part}_{name}"), {side: level}

    def delay(self, **measure: float) -> Series:
        """Epochs from `fitted` to `reaches`; infinite without both."""
        return events.difference(self.reaches(**measure), self.fitted(**measure))

    def onset(self, column: str = "test_accuracy", *, above: float = 0.9) -> Series:
        """First epoch of a level exceeded for good, which Tiwari et al. (2026) call
        the onset: `lasting`."""
        return events.lasting(self.series(column), above=above)

    def last(self, column: str, *, otherwise: float = math.nan) -> Series:
        """The last value measured; that of a seed that ended early is its own last."""
        return _last(self.series(column)).fillna(otherwise)

    def at(self, column: str, epoch: Bound, *, otherwise: float = math.nan) -> Series:
        """Value at the last logged epoch not after ``epoch``, if that ever comes.

        PageError for an epoch after the end of a run: what it had then is not known.
        """
        self._refuse_beyond(epoch)
        comes = np.isfinite(_by_seed(epoch, self.seeds))
        held = _last(self.series(column, until=epoch))
        return held.where(comes).fillna(otherwise)

    def _refuse_beyond(self, epoch: Bound) -> None:
        ends = self.ends()
        asked = Series(_by_seed(epoch, self.seeds), index=self.seeds, dtype=float)
        late = asked[np.isfinite(asked) & (asked > ends)]
        if len(late):
            seed, wanted = late.index[0], late.iloc[0]
            raise PageError(
                f"epoch {wanted:,.0f} of {self.arm!r} in {self.record.name} is after "
                f"the end of seed {seed}, {ends[seed]:,.0f}: ask for its `last` value, "
                "or for an epoch that every seed has"
            )

    def ends(self) -> Series:
        """The last logged epoch of each seed."""
        frame = self.record.frame
        mine = frame[frame["arm"] == self.arm]
        return mine.groupby("seed")["epoch"].max().reindex(self.seeds).astype(float)

    def largest(self, column: str, otherwise: float = math.nan, **of: Bound) -> Series:
        """Largest value between two epochs."""
        return self.series(column, **of).max().fillna(otherwise)

    def smallest(self, column: str, otherwise: float = math.nan, **of: Bound) -> Series:
        """Smallest value between two epochs."""
        return self.series(column, **of).min().fillna(otherwise)

    def peak(self, column: str, **bounds: Bound) -> Series:
        """First epoch of the largest value, see `events.peak`."""
        return events.peak(self.series(column, **bounds))

    def rise(self, column: str, *, since: Bound) -> Series:
        """How far a column rises at most after an epoch; infinite without that epoch.

        What is said to stop there rises by little [Prieto et al. 2025, Fig. 2, 9].
        """
        risen = self.largest(column, since=since) - self.at(column, since)
        return risen.fillna(math.inf)


def _by_seed(bound: Bound, seeds: list[int]) -> np.ndarray:
    """One bound per seed, (seeds,); KeyError where a seed has none."""
    if isinstance(bound, Series):
        return bound.loc[seeds].to_numpy(dtype=float)
    return np.full(len(seeds), float(bound))


def _last(table: DataFrame) -> Series:
    return table.ffill().tail(1).max()


def finished(values: Series, *runs: Run) -> Series:
    """The values of those seeds in which every run has an `Run.onset`."""
    onsets = [run.onset() for run in runs]
    done = [all(o.get(s, math.inf) < math.inf for o in onsets) for s in values.index]
    return events.testable(values, done)


def told(values: Series, show: str = "{:,.0f}", *, nothing: str = "not run") -> str:
    """Median and range over seeds in words: "4,450 (4,100 to 5,000)".

    The median is the lower of two middle ones, as in a claim, so that it is a seed's
    value. Two seeds have no middle: both are told. Where all values print alike, as
    that of one seed does, there is no range. A value that does not exist reads
    "no value", of the seeds that lack it; ``nothing`` is said where there is no seed.
    """
    if values.empty:
        return nothing
    lacking = [str(seed) for seed in values.index[values.isna()]]
    if lacking:  # as in a smoke test: of the others alone it would tell another story
        return f"no value (seed {', '.join(lacking)})"
    found = sorted(map(float, values))
    ends = found[0], median_low(found), found[-1]
    low, middle, high = (words(value, show) for value in ends)
    if low == high:
        return middle
    return f"{low} and {high}" if len(found) == 2 else f"{middle} ({low} to {high})"


def words(value: float, show: str = "{:,.0f}") -> str:
    """A value in words: "95 %" with a space that does not break; infinity "never"."""
    if math.isinf(value):
        return "never"
    return re.sub(r"(?<=\d)%", "\N{NO-BREAK SPACE}%", show.format(value))
