"""What happened when, on tables (epochs down, seeds across) and by seed.

An epoch that never comes is infinite, and each function says what comes of it. NaN is a
value that does not exist: nothing here turns it into a number.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np
from pandas import DataFrame, Series

_COMPARE = {"at_least": "ge", "at_most": "le", "above": "gt", "below": "lt"}


def crossing(table: DataFrame, **level: float) -> Series:
    """First epoch of a table at which each column gets to a level, or infinity.

    The level is one of ``at_least``, ``at_most``, ``above`` and ``below``. It is a
    logged epoch, late by less than a log interval. NaN is never there.
    """
    ((name, value),) = level.items()
    return _first_true(getattr(table, _COMPARE[name])(value))


def lasting(table: DataFrame, **level: float) -> Series:
    """First epoch from which on each column is at a level to its end, or infinity.

    The level is as in `crossing`. The end is the last value that a column has; NaN in
    between is passed over. It is what "consistently exceeds" means in Tiwari et al.
    2026.
    """
    misses_later = _misses(table, **level)[::-1].cummax()[::-1]
    return _first_true(table.notna() & ~misses_later)


def missing_later(table: DataFrame, **level: float) -> Series:
    """Share of the values after the first at a level that are not there any more.

    NaN for a column that never gets there, or does so with its last value.
    """
    first = crossing(table, **level)
    is_later = table.notna() & (table.index.to_numpy()[:, None] > first.to_numpy())
    misses = (_misses(table, **level) & is_later).sum()
    return misses / is_later.sum().where(is_later.any())


def _misses(table: DataFrame, **level: float) -> DataFrame:
    ((name, value),) = level.items()
    return table.notna() & ~getattr(table, _COMPARE[name])(value)


def testable(values: Series, can_test: Series | list[bool]) -> Series:
    """The values of those seeds that can test a claim.

    A claim of which no seed is left reads "cannot tell".
    """
    return values[np.asarray(can_test, dtype=bool)]


def peak(table: DataFrame) -> Series:
    """First epoch at which each column has its largest value, or infinity for none."""
    return _first_true(table == table.max())


def _first_true(there: DataFrame) -> Series:
    if there.empty:
        return Series(inf, index=there.columns, dtype=float)
    return there.idxmax().astype(float).where(there.any(), inf)


def paired(*values: Series) -> list[Series]:
    """The values of the seeds that all of them have, in the order of the first."""
    shared = [s for s in values[0].index if all(s in other.index for other in values)]
    return [one.loc[shared] for one in values]


def joined(values: Mapping[Any, Series]) -> DataFrame:
    """One column for each value, one row for each seed that all of them have."""
    columns = zip(values, paired(*values.values()), strict=True)
    return DataFrame(dict(columns), dtype=float)


def agreeing(one: Mapping[Any, Series], other: Mapping[Any, Series]) -> Series:
    """How many pairs of arms come in the same order by two events, by seed.

    A tie in either is no order; that neither arm ever gets there is one too.
    """
    first, second = joined(one), joined(other)
    found = [
        np.sign(first[a] - first[b]) * np.sign(second[a] - second[b]) > 0
        for a, b in combinations(first.columns, 2)
    ]
    return DataFrame(found, columns=first.index).sum().astype(float)


def difference(late: Series, early: Series) -> Series:
    """Epochs from one event to another; infinite where either never comes.

    Negative where the late one came first.
    """
    late, early = paired(late, early)
    return (late - early).mask(np.isinf(late) | np.isinf(early), inf)


def lead(first: Series, second: Series, *, until: float = inf) -> Series:
    """Epochs by which one event is ahead of another, at least.

    A second event that never comes counts as one at ``until``, the end of its training.
    Minus infinity where the first never comes: nothing leads by not arriving.
    """
    first, second = paired(first, second)
    return (second.clip(upper=until) - first).mask(np.isinf(first), -inf)


def ratio(upper: Series, lower: Series) -> Series:
    """Ratio of two epochs, for claims of "at most so many times".

    Infinite where the upper one never comes, or the lower one comes in epoch 0 alone; 0
    where only the lower one never comes. Two events in epoch 0 come together, ratio 1.
    """
    upper, lower = paired(upper, lower)
    both = (upper == 0) & (lower == 0)
    return (upper / lower.mask(both, 1)).mask(both, 1).mask(np.isinf(upper), inf)


def times(slow: Series, quick: Series) -> Series:
    """How many times as late one event comes as one that is said to come sooner.

    0 where only the one said to come sooner never comes. A seed in which neither comes
    is no test, and has no value. Else as `ratio`.
    """
    slow, quick = paired(slow, quick)
    came = np.isfinite(slow) | np.isfinite(quick)
    return ratio(slow, quick).mask(np.isinf(quick), 0.0)[came]


def area(table: DataFrame) -> Series:
    """Integral over the epochs of each column; epochs without a value are bridged."""
    return _each(table, lambda values: np.trapezoid(values, _epochs(values)))


def average(table: DataFrame) -> Series:
    """`area` over the time between first and last epoch; NaN for fewer than two values.

    A log that thins out would give its dense start too much weight in a plain mean.
    """
    ends = _each(table, lambda v: np.ptp(_epochs(v)) if len(v) > 1 else nan)
    return area(table) / ends


def power(table: DataFrame) -> Series:
    """d ln value / d ln epoch of each column, the slope of a straight line through it.

    Epoch 0 is left out, and a value of 0 counts as 1e-300. A column with fewer than two
    values is NaN.
    """

    def slope(values: Series) -> float:
        logs = np.log(_epochs(values)), np.log(values.clip(lower=1e-300))
        return np.polyfit(*logs, 1)[0] if len(values) > 1 else nan

    return _each(table.loc[1:], slope)


def _each(table: DataFrame, measure: Callable[[Series], float]) -> Series:
    found = {seed: measure(column.dropna()) for seed, column in table.items()}
    return Series(found, dtype=float)


def _epochs(values: Series) -> np.ndarray:
    return values.index.to_numpy(dtype=float)
