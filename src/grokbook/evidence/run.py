"""One arm of a record: its values by seed.

A value is a pandas Series over the seeds that were trained, in the order of the
experiment. Those of several arms are joined by the functions of `events`.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from pandas import DataFrame, Series

from grokbook.evidence import events
from grokbook.experiment import Arm
from grokbook.records import Record

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
        """Epochs down, one column per seed; NaN where it was not measured.

        Epochs outside of the bounds of a seed are NaN too.
        """
        if not self.seeds:
            return DataFrame(dtype=float)
        table = self.record.series(self.arm, column).reindex(columns=self.seeds)
        epochs = table.index.to_numpy(dtype=float)[:, None]
        lower, upper = (_by_seed(bound, self.seeds) for bound in (since, until))
        return table.astype(float).where((epochs >= lower) & (epochs <= upper))

    def looks(self, column: str, *, since: Bound = 0) -> DataFrame:
        """The same at the regular looks: some arms are looked at more closely at times.

        ``log`` of the arm has to be one distance.
        """
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
        return self._learned("train", **measure)

    def generalised(self, **measure: float) -> Series:
        """The same of the test set: the grokking epoch."""
        return self._learned("test", **measure)

    def delay(self, **measure: float) -> Series:
        """Epochs from `fitted` to `generalised`; infinite without both."""
        late, early = self.generalised(**measure), self.fitted(**measure)
        return events.difference(late, early)

    def onset(self, column: str = "test_accuracy", *, above: float = 0.9) -> Series:
        """First logged epoch from which on a column stays above a level, or infinity.

        The onset of Tiwari et al. 2026, see `events.lasting`.
        """
        return events.lasting(self.series(column), above=above)

    def _learned(self, part: str, **measure: float) -> Series:
        sides = {"accuracy": "at_least", "loss": "at_most"}
        if len(measure) != 1 or not measure.keys() <= sides.keys():
            raise ValueError("learning is told by one of accuracy and loss")
        ((name, level),) = measure.items()
        return self.first(f"{part}_{name}", **{sides[name]: level})

    def last(self, column: str, *, otherwise: float = math.nan) -> Series:
        """The last value measured; that of a seed that ended early is its own last."""
        return _last(self.series(column), otherwise)

    def at(self, column: str, epoch: Bound, *, otherwise: float = math.nan) -> Series:
        """Value at the last logged epoch not after ``epoch``, if that ever comes."""
        held = _last(self.series(column, until=epoch), math.nan)
        comes = np.isfinite(_by_seed(epoch, self.seeds))
        return held.where(comes).fillna(otherwise)

    def largest(
        self, column: str, *, otherwise: float = math.nan, **bounds: Bound
    ) -> Series:
        """Largest value between two epochs."""
        return self.series(column, **bounds).max().fillna(otherwise)

    def smallest(
        self, column: str, *, otherwise: float = math.nan, **bounds: Bound
    ) -> Series:
        """Smallest value between two epochs."""
        return self.series(column, **bounds).min().fillna(otherwise)

    def rise(self, column: str, *, since: Bound) -> Series:
        """How far a column rises at most after an epoch; infinite without that epoch.

        What is said to stop there (Prieto et al. 2025, figures 2 and 9) rises by
        little; where it never comes, nothing is known to stop.
        """
        risen = self.largest(column, since=since) - self.at(column, since)
        return risen.fillna(math.inf)

    def peak(self, column: str, **bounds: Bound) -> Series:
        """First epoch of the largest value, see `events.peak`."""
        return events.peak(self.series(column, **bounds))


def finished(values: Series, *runs: Run) -> Series:
    """The values of those seeds in which every run has an `Run.onset`.

    What a paper says of networks that generalised is tested by such networks alone: a
    diagnostic of one that has not is a number, and no evidence against it.
    """
    ends = [run.onset() for run in runs]
    done = [s for s in values.index if all(e.get(s, math.inf) < math.inf for e in ends)]
    return values[done]


def _by_seed(bound: Bound, seeds: list[int]) -> np.ndarray:
    """One bound per seed, (seeds,); ValueError where a seed has none."""
    if not isinstance(bound, Series):
        return np.full(len(seeds), float(bound))
    found = bound.reindex(seeds).to_numpy(dtype=float)
    if np.isnan(found).any():
        lacking = [s for s, epoch in zip(seeds, found, strict=True) if epoch != epoch]
        raise ValueError(f"the epochs given as a bound have none for seeds {lacking}")
    return found


def _last(table: DataFrame, otherwise: float) -> Series:
    """The last value of every column that is not NaN."""
    if table.empty:
        return Series(otherwise, index=table.columns, dtype=float)
    return table.ffill().iloc[-1].fillna(otherwise)
