"""Epochs of events, and summaries of a quantity over training, seed by seed.

A table is a DataFrame with one row per logged epoch, ascending, and one column per
seed; NaN in it is what was not measured, and is skipped. An event is a Series with one
epoch per seed. The epoch of one that never happens is infinite, and each function says
how it treats that. An epoch that is NaN does not exist, and neither does what is
computed of it: that is NaN too.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np
from pandas import DataFrame, Series

# Methods of a DataFrame that compare it with a level; with NaN the result is False.
_COMPARE = {"at_least": "ge", "at_most": "le", "above": "gt", "below": "lt"}


def crossing(table: DataFrame, **level: float) -> Series:
    """Return the first logged epoch at which each column is at a level, or infinity.

    The level is one keyword argument: ``at_least``, ``at_most``, ``above`` or
    ``below``. The true epoch is earlier by less than a log interval. NaN is never at a
    level. Raises KeyError for another keyword, and ValueError unless there is exactly
    one.
    """
    ((comparison, bound),) = level.items()
    return _first_true(getattr(table, _COMPARE[comparison])(bound))


def lasting(table: DataFrame, **level: float) -> Series:
    """Return the first epoch from which each column stays at a level, or infinity.

    The level is given as in `crossing`. A column ends with its last value, which may be
    the only one at the level; NaN before that is skipped. Tiwari et al. (2026) call
    this "consistently exceeds".
    """
    # True up to a column's last miss: the maximum runs from the last epoch back.
    misses_later = _misses(table, **level)[::-1].cummax()[::-1]
    return _first_true(table.notna() & ~misses_later)


def missing_later(table: DataFrame, **level: float) -> Series:
    """Return by seed the share of values that are not at a level after `crossing` it.

    The level is given as in `crossing`. The share is NaN for a column that never gets
    to the level, or only with its last value.
    """
    first = crossing(table, **level)
    # (epochs, seeds), by broadcasting
    is_later = table.notna() & (table.index.to_numpy()[:, None] > first.to_numpy())
    misses = (_misses(table, **level) & is_later).sum()  # (seeds,)
    return misses / is_later.sum().where(is_later.any())


def _misses(table: DataFrame, **level: float) -> DataFrame:
    """Return a boolean table, true where there is a value that is not at a level.

    The level is given as in `crossing`.
    """
    ((comparison, bound),) = level.items()
    return table.notna() & ~getattr(table, _COMPARE[comparison])(bound)


def testable(values: Series, can_test: Series | list[bool]) -> Series:
    """Return the values of those seeds that can test a claim.

    ``can_test`` has one boolean for each of the values, in their order: an index that
    it may have is ignored. A claim for which no seed is left has the verdict "cannot
    tell".
    """
    return values[np.asarray(can_test, dtype=bool)]


def peak(table: DataFrame) -> Series:
    """Return the first epoch of each column's maximum, or infinity if all is NaN."""
    return _first_true(table == table.max())


def _first_true(mask: DataFrame) -> Series:
    """Return the first epoch at which each boolean column is true, or infinity."""
    if mask.empty:  # `idxmax` raises for no rows
        return Series(inf, index=mask.columns, dtype=float)
    # `idxmax` gives the first epoch of a column that is never true
    return mask.idxmax().astype(float).where(mask.any(), inf)


def paired(*values: Series) -> list[Series]:
    """Return each Series cut to the seeds that all have, in the order of the first.

    Seeds that one of them lacks are left out. Raises IndexError without a Series.
    """
    shared_seeds = [
        seed for seed in values[0].index if all(seed in s.index for s in values)
    ]
    return [series.loc[shared_seeds] for series in values]


def joined(values: Mapping[Any, Series]) -> DataFrame:
    """Return a DataFrame with a column per entry and a row per seed that all have.

    Seeds are in the order of the first entry. Raises IndexError for an empty mapping.
    """
    columns = zip(values, paired(*values.values()), strict=True)
    return DataFrame(dict(columns), dtype=float)


def agreeing(
    first_event: Mapping[Any, Series], second_event: Mapping[Any, Series]
) -> Series:
    """Return by seed how many pairs of arms come in the same order in two events.

    Each event maps every arm to its epochs by seed; both have the same arms and seeds.
    A pair that ties in either event has no order, also where both arms never get there,
    and is not counted. A seed with a NaN has NaN.
    """
    # a row per seed, a column per arm
    first, second = joined(first_event), joined(second_event)
    # One row per pair, one column per seed; a difference of two infinities is NaN,
    # which compares false.
    is_same_order = [
        np.sign(first[a] - first[b]) * np.sign(second[a] - second[b]) > 0
        for a, b in combinations(first.columns, 2)
    ]
    counts = DataFrame(is_same_order, columns=first.index).sum().astype(float)
    # epochs are 0 or more, so that a sum is NaN only if one of the two is
    return counts.mask((first + second).isna().any(axis=1))


def difference(late: Series, early: Series) -> Series:
    """Return by seed the epochs from one event to another, ``late - early``.

    The difference is negative where ``late`` came first, and infinite where either
    event never comes. Seeds that one of the two lacks are left out.
    """
    late, early = paired(late, early)
    # late - -inf is infinite, also for a late that is
    return late - early.mask(np.isinf(early), -inf)


def lead(first: Series, second: Series, *, until: float = inf) -> Series:
    """Return by seed the least number of epochs by which one event leads another.

    This is ``second - first``, where a second event after ``until``, the end of its
    training, counts as one at ``until``: at least so long it did not come. The lead is
    minus infinity where the first event never comes. Seeds that one of the two lacks
    are left out.
    """
    first, second = paired(first, second)
    lead_by_seed = second.clip(upper=until) - first
    # two infinities have no difference
    return lead_by_seed.mask(np.isinf(first) & second.notna(), -inf)


def ratio(upper: Series, lower: Series) -> Series:
    """Return by seed the ratio of two epochs, for claims of "at most so many times".

    The ratio is infinite where ``upper`` never comes, whatever ``lower`` does, or where
    ``lower`` alone is epoch 0. It is 0 where ``lower`` alone never comes, and 1 where
    both are epoch 0. Seeds that one of the two lacks are left out.
    """
    upper, lower = paired(upper, lower)
    # pandas gives NaN for 0 / 0 and for a quotient of two infinities
    quotient = (upper / lower).mask((upper == 0) & (lower == 0), 1)
    return quotient.mask(np.isinf(upper) & np.isinf(lower), inf)


def times(slow: Series, quick: Series) -> Series:
    """Return by seed how many times as late ``slow`` comes as ``quick``.

    The claim behind it says that ``quick`` comes sooner. The value is that of `ratio`,
    so 0 where only ``quick`` never comes. A seed in which neither comes tests nothing
    and is left out, and so is one that either of the two lacks.
    """
    slow, quick = paired(slow, quick)
    return ratio(slow, quick)[~(np.isinf(slow) & np.isinf(quick))]


def area(table: DataFrame) -> Series:
    """Return the integral of each column over the epochs by the trapezoidal rule.

    Epochs without a value are skipped: a straight line bridges them. The integral goes
    from the first value to the last; it is NaN without a value, and 0 for one.
    """

    def integral(values: Series) -> float:
        """Return the integral of the values of one seed, none of which is NaN."""
        return np.trapezoid(values, _epochs(values)) if len(values) else nan

    return _each(table, integral)


def average(table: DataFrame) -> Series:
    """Return the mean of each column over time, or NaN for fewer than two values.

    The mean is `area` over the epochs between first and last value. A plain mean would
    give the dense start of a log that thins out too much weight.
    """
    durations = _each(table, lambda v: np.ptp(_epochs(v)) if len(v) > 1 else nan)
    return area(table) / durations


def power(table: DataFrame) -> Series:
    """Return the exponent of the power law in the epoch that fits each column best.

    The exponent is the slope of the least-squares line of ln value over ln epoch. Epoch
    0 is left out, as it has no logarithm, and a value of 0 counts as 1e-300 for that
    reason. The exponent is NaN for fewer than two values, or if one is negative.
    """

    def slope(values: Series) -> float:
        """Return the slope for one seed's values by epoch, without NaN and epoch 0."""
        if len(values) < 2 or (values < 0).any():
            return nan
        log_values = np.log(values.clip(lower=1e-300))
        return np.polyfit(np.log(_epochs(values)), log_values, deg=1)[0]

    return _each(table.loc[1:], slope)  # from epoch 1 on


def _each(table: DataFrame, measure: Callable[[Series], float]) -> Series:
    """Return by seed the measure of each column, which is given without its NaN."""
    results = {seed: measure(column.dropna()) for seed, column in table.items()}
    return Series(results, dtype=float)


def _epochs(values: Series) -> np.ndarray:
    """Return the epochs of some values, which are their index, as floats."""
    return values.index.to_numpy(dtype=float)
