"""One arm of a record: its measurements by seed, and their values in words."""

import math
import re
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TypeAlias

import numpy as np
from pandas import DataFrame, Series

from claimbook import change
from claimbook.errors import PageError, RecordError, TrainingError
from claimbook.evidence import events
from claimbook.experiment import Arm
from claimbook.records import Record

Bound: TypeAlias = float | Series  # an epoch for all seeds, or one epoch per seed


@dataclass(frozen=True, eq=False)
class Run:
    """One arm of a record, with the label and the colour that a page gives it.

    A column is the name of an observable in the record, such as "test_accuracy". Every
    method that takes ``since`` and ``until`` uses the logged epochs from the one to the
    other, both included. Either is an epoch for all seeds, or a Series with one epoch
    per seed. ``otherwise`` is the value of a seed for which nothing was measured there.
    """

    record: Record
    arm: str
    label: str = ""
    color: str = "black"

    @property
    def seeds(self) -> list[int]:
        """The seeds of the arm in the record, in the order of the experiment."""
        return self.record.seeds(self.arm)

    @property
    def settings(self) -> Arm:
        """The arm's settings: data set, model, optimizer, epochs and so on.

        Raises KeyError for an arm that the experiment does not have.
        """
        return self.record.experiment.arm(self.arm)

    @property
    def of_book(self) -> "Run | None":
        """The book's run of an arm trained here with other settings, else None."""
        book = self.record.book
        return replace(self, record=book) if book and book.seeds(self.arm) else None

    def series(
        self, column: str, *, since: Bound = 0, until: Bound = math.inf
    ) -> DataFrame:
        """Return the values of a column as a table: a row per epoch, a column per seed.

        Values that were not measured, or at epochs outside ``since`` to ``until`` (both
        included), are NaN. A run without seeds has an empty table.
        """
        if not self.seeds:
            return DataFrame(dtype=float)
        table = self._column(column).reindex(columns=self.seeds)
        epochs = table.index.to_numpy(dtype=float)[:, None]  # (epochs, 1)
        # (seeds,) each
        lower, upper = _by_seed(since, self.seeds), _by_seed(until, self.seeds)
        return table.astype(float).where((epochs >= lower) & (epochs <= upper))

    def _column(self, column: str) -> DataFrame:
        """Return `Record.series` of a column for the arm.

        Raises RecordError if the record lacks it, and TrainingError if that is because
        the training loss of the arm became NaN.
        """
        try:
            return self.record.series(self.arm, column)
        except RecordError as error:
            frame = self.record.frame
            # rows of the arm after which it can have been measured no more
            is_lost = (frame["arm"] == self.arm) & frame["train_loss"].isna()
            if not is_lost.any():
                raise
            settings = f" with {change.in_use}" if change.in_use else ""
            first_epoch = frame["epoch"][is_lost].min()
            raise TrainingError(
                f"arm {self.arm!r} of {self.record.name} diverged{settings}: its "
                f"training loss is NaN from epoch {first_epoch:,} on, and so it has no "
                f"{column}: choose another value, such as a lower rate"
            ) from error

    def looks(self, column: str, *, since: Bound = 0) -> DataFrame:
        """Return `series` at the epochs of the regular log.

        These are the multiples of ``settings.log``; other epochs may be logged too, as
        the last one. Raises TypeError for an arm that logs at several intervals.
        """
        table = self.series(column, since=since)
        return table[table.index % self.settings.log == 0]

    def trace(self) -> DataFrame:
        """Return the training loss of every step: a row per step, a column per seed.

        A seed without a trace has NaN, and a run without seeds an empty table. Raises
        RecordError if the arm has seeds and none of them has a trace.
        """
        if not self.seeds:
            return DataFrame(dtype=float)
        return self.record.trace(self.arm).reindex(columns=self.seeds)

    def first(
        self, column: str, *, since: Bound = 0, until: Bound = math.inf, **level: float
    ) -> Series:
        """Return by seed the first logged epoch at which a column is at a level.

        The level is one keyword, such as ``at_least=0.5``, see `events.crossing`. The
        epoch is infinity for a seed that does not get there within the bounds.
        """
        return events.crossing(self.series(column, since=since, until=until), **level)

    def fitted(self, **measure: float) -> Series:
        """Return by seed the first epoch at which the training set is learned.

        Learned is a ``train_accuracy`` of at least ``accuracy``, or a ``train_loss`` of
        at most ``loss``: papers use either, so exactly one of the two is given. The
        epoch is a logged one, or infinity. Raises KeyError for another keyword.
        """
        table, level = self._learned("train", measure)
        return events.crossing(table, **level)

    def reaches(self, **measure: float) -> Series:
        """Return by seed the first logged epoch at which the test set is learned.

        ``accuracy`` or ``loss`` is given as in `fitted`. The epoch is infinity if it
        never is. The test set may be lost later, see `falls_back`; if it is not, the
        run `generalises`.
        """
        table, level = self._learned("test", measure)
        return events.crossing(table, **level)

    def generalises(self, **measure: float) -> Series:
        """Return by seed the first epoch from which the test set stays learned.

        It stays so to the end of the run, which this book calls generalising, or
        grokking. Where it never does, the epoch is infinity. ``accuracy`` or ``loss``
        is given as in `fitted`.
        """
        table, level = self._learned("test", measure)
        return events.lasting(table, **level)

    def falls_back(self, **measure: float) -> Series:
        """Return by seed the share of logs after `reaches` that are not at the level.

        The share is NaN for a seed that never gets to the level, or only with its last
        log. ``accuracy`` or ``loss`` is given as in `fitted`.
        """
        table, level = self._learned("test", measure)
        return events.missing_later(table, **level)

    def _learned(
        self, split: str, measure: dict[str, float]
    ) -> tuple[DataFrame, dict[str, float]]:
        """Return the table and the level that decide whether a split is learned.

        Both are what the functions of `events` take. ``split`` is "train" or "test";
        ``measure`` has one entry, "accuracy" or "loss". Raises KeyError for another
        one, and ValueError for none or two.
        """
        ((name, bound),) = measure.items()
        comparison, worst = {
            "accuracy": ("at_least", -math.inf),
            "loss": ("at_most", math.inf),
        }[name]
        return self._judged(f"{split}_{name}", worst), {comparison: bound}

    def _judged(self, column: str, worst: float) -> DataFrame:
        """Return `series` of a column, with ``worst`` from a seed's first NaN loss on.

        A network whose training loss is NaN has learned nothing, whereas the functions
        of `events` skip a NaN in the table as not measured.
        """
        table = self.series(column)
        if table.empty:  # a record without members has no training loss either
            return table
        epochs = table.index.to_numpy(dtype=float)[:, None]  # (epochs, 1)
        failures = self._failures().to_numpy()  # (seeds,)
        return table.mask(epochs >= failures, worst)

    def _failures(self) -> Series:
        """Return by seed the first epoch at which the training loss is NaN.

        The epoch is infinity for a seed whose loss never is.
        """
        if not self.seeds:
            return Series(dtype=float)
        frame = self.record.frame
        failed = frame[(frame["arm"] == self.arm) & frame["train_loss"].isna()]
        first_epochs = failed.groupby("seed")["epoch"].min()
        return first_epochs.reindex(self.seeds).astype(float).fillna(math.inf)

    def delay(self, **measure: float) -> Series:
        """Return by seed how long after the training set the test set is learned.

        This is the epochs from `fitted` to `reaches`, negative where the test set comes
        first, and infinity if either never comes. The level of both is one keyword,
        ``accuracy`` or ``loss``, as in `fitted`; it has no default.
        """
        return events.difference(self.reaches(**measure), self.fitted(**measure))

    def onset(self, column: str = "test_accuracy", *, above: float = 0.9) -> Series:
        """Return by seed the first epoch from which a column stays above a level.

        The epoch is infinity if the column is not above the level at its end, or the
        training loss became NaN. Tiwari et al. (2026) call this the onset; see
        `events.lasting`.
        """
        # -inf, which is below every level, from a seed's first NaN loss on
        return events.lasting(self._judged(column, -math.inf), above=above)

    def last(self, column: str, *, otherwise: float = math.nan) -> Series:
        """Return the last measured value of each seed, also of one that ended early.

        A seed without any value, or whose training loss became NaN, gets ``otherwise``.
        """
        has_failed = self._failures() < math.inf  # by seed
        return _last(self.series(column)).mask(has_failed).fillna(otherwise)

    def at(self, column: str, epoch: Bound, *, otherwise: float = math.nan) -> Series:
        """Return by seed the last value that was measured up to an epoch.

        The epoch itself counts. The value is ``otherwise`` if the epoch is infinite, as
        of an event that never comes, or NaN; if the training loss was NaN by then; or
        if nothing was measured. Raises PageError for an epoch after the end of a run,
        when the value is unknown.
        """
        self._refuse_beyond(epoch)
        epochs = _by_seed(epoch, self.seeds)
        is_known = np.isfinite(epochs) & (epochs < self._failures())
        latest = _last(self.series(column, until=epoch))
        return latest.where(is_known).fillna(otherwise)

    def _refuse_beyond(self, epoch: Bound) -> None:
        """Raise PageError if a finite epoch is after the last logged one of a seed.

        A smoke test is not refused: it is too short for any epoch of a page, and judges
        nothing.
        """
        if self.record.scale == "smoke":
            return
        ends = self.ends()
        epochs = Series(_by_seed(epoch, self.seeds), index=self.seeds, dtype=float)
        late = epochs[np.isfinite(epochs) & (epochs > ends)]
        if len(late):
            seed, late_epoch = late.index[0], late.iloc[0]
            raise PageError(
                f"epoch {late_epoch:,.0f} of {self.arm!r} in {self.record.name} is "
                f"after the end of seed {seed}, {ends[seed]:,.0f}: ask for its `last` "
                "value, or for an epoch that every seed has"
            )

    def ends(self) -> Series:
        """Return the last logged epoch of each seed."""
        frame = self.record.frame
        rows = frame[frame["arm"] == self.arm]
        return rows.groupby("seed")["epoch"].max().reindex(self.seeds).astype(float)

    def largest(
        self, column: str, otherwise: float = math.nan, **bounds: Bound
    ) -> Series:
        """Return each seed's largest value; ``bounds`` are ``since`` and ``until``."""
        return self.series(column, **bounds).max().fillna(otherwise)

    def smallest(
        self, column: str, otherwise: float = math.nan, **bounds: Bound
    ) -> Series:
        """Return each seed's smallest value; ``bounds`` are ``since`` and ``until``."""
        return self.series(column, **bounds).min().fillna(otherwise)

    def peak(self, column: str, **bounds: Bound) -> Series:
        """Return the first epoch of each seed's largest value, see `events.peak`.

        ``bounds`` are ``since`` and ``until``. The epoch is infinity without a value.
        """
        return events.peak(self.series(column, **bounds))

    def rise(self, column: str, *, since: Bound) -> Series:
        """Return by seed the largest rise of a column above its value at an epoch.

        The rise is infinite where the epoch never comes, where the column has no value
        from there on, or where the training loss is NaN by then, so that no upper bound
        holds. A claim that a column stops rising there bounds it [Prieto et al. 2025,
        Fig. 2, 9].
        """
        rises = self.largest(column, since=since) - self.at(column, since)
        return rises.fillna(math.inf)


def _by_seed(bound: Bound, seeds: list[int]) -> np.ndarray:
    """Return the epochs (seeds,) that a bound has for some seeds, in their order.

    One epoch is that of all seeds. Raises KeyError for a seed that a Series lacks.
    """
    if isinstance(bound, Series):
        return bound.loc[seeds].to_numpy(dtype=float)
    return np.full(len(seeds), float(bound))


def _last(table: DataFrame) -> Series:
    """Return the last value of each column that is not NaN, or NaN if it has none."""
    # `max` makes a Series of the one row, and works on a table without rows.
    return table.ffill().tail(1).max()


def finished(values: Series, *runs: Run) -> Series:
    """Return the values of those seeds in which the `Run.onset` of every run comes.

    Without runs these are all values.
    """
    onsets = [run.onset() for run in runs]
    # by seed; a seed that a run does not have counts as one without an onset
    have_onset = [
        all(onset.get(seed, math.inf) < math.inf for onset in onsets)
        for seed in values.index
    ]
    return events.testable(values, have_onset)


def told(values: Series, show: str = "{:,.0f}", *, nothing: str = "not run") -> str:
    """Return the median and the range over seeds as text: "4,450 (4,100 to 5,000)".

    ``show`` is the format of a value. The median is the lower of the two middle values,
    as in a claim, so that it is the value of a seed. For two seeds the text is both
    values, without a median. If smallest and largest print alike, as for one seed, the
    text is the median alone. If any value is NaN, the text is "no value" with the seeds
    that lack one. Without any seed it is ``nothing``.
    """
    if values.empty:
        return nothing
    lacking = [str(seed) for seed in values.index[values.isna()]]
    if lacking:  # as in a smoke test; a median of the other seeds would mislead
        return f"no value (seed {', '.join(lacking)})"
    ordered = sorted(map(float, values))
    low = words(ordered[0], show)
    middle = words(median_low(ordered), show)
    high = words(ordered[-1], show)
    if low == high:
        return middle
    if len(ordered) == 2:
        return f"{low} and {high}"
    return f"{middle} ({low} to {high})"


def words(value: float, show: str = "{:,.0f}") -> str:
    """Return a value as text in the format ``show``: "95 %" with a no-break space.

    The text of infinity, of either sign, is "never", and that of NaN is "no value".
    """
    if math.isnan(value):
        return "no value"
    if math.isinf(value):
        return "never"
    return re.sub(r"(?<=\d)%", "\N{NO-BREAK SPACE}%", show.format(value))
