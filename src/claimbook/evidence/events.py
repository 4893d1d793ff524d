"""Epochs of events, and summaries of a quantity over training, seed by seed.

A table is a DataFrame with one row per logged epoch, ascending, and one column per
seed. The epoch of an event that never happens is infinite, and each function says how
it treats that. NaN is a value that does not exist: no function here turns it into a
number.
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
    level. Raises KeyError for another keyword, and ValueError unless there is one.
    """
    ((comparison, bound),) = level.items()
    return _first_true(getattr(table, _COMPARE[comparison])(bound))


def lasting(table: DataFrame, **level: float) -> Series:
    """Return the first epoch from which each column stays at a level, or infinity.

    The level is given as in `crossing`. A column ends with its last value, and NaN
    before that is skipped. Tiwari et al. (2026) call this "consistently exceeds".
    """
    # The cumulative maximum runs from the last epoch back to the first.
    misses_later = _misses(table, **level)[::-1].cummax()[::-1]
    return _first_true(table.notna() & ~misses_later)


def missing_later(table: DataFrame, **level: float) -> Series:
    """Return by seed which share of the values after `crossing` is not at the level.

    The level is given as in `crossing`. The share is NaN for a column that never gets
    to the level, or only with its last value.
    """
    first = crossing(table, **level)
    # (epochs, seeds), by broadcasting
    is_later = table.notna() & (table.index.to_numpy()[:, None] > first.to_numpy())
    misses = (_misses(table, **level) & is_later).sum()
    return misses / is_later.sum().where(is_later.any())


def _misses(table: DataFrame, **level: float) -> DataFrame:
    """Return a boolean table, true where there is a value that is not at the level."""
    ((comparison, bound),) = level.items()
    return table.notna() & ~getattr(table, _COMPARE[comparison])(bound)


def testable(values: Series, can_test: Series | list[bool]) -> Series:
    """Return the values of those seeds that can test a claim.

    ``can_test`` has one boolean for each of the values, in their order. A claim for
    which no seed is left has the verdict "cannot tell".
    """
    return values[np.asarray(can_test, dtype=bool)]


def peak(table: DataFrame) -> Series:
    """Return the first epoch of each column's maximum, or infinity without a value."""
    return _first_true(table == table.max())


def _first_true(mask: DataFrame) -> Series:
    """Return the first epoch at which each boolean column is true, or infinity."""
    if mask.empty:
        return Series(inf, index=mask.columns, dtype=float)
    return mask.idxmax().astype(float).where(mask.any(), inf)


def paired(*values: Series) -> list[Series]:
    """Return each Series cut to the seeds that all have, in the order of the first.

    Raises IndexError without a Series.
    """
    shared_seeds = [
        seed for seed in values[0].index if all(seed in s.index for s in values)
    ]
    return [series.loc[shared_seeds] for series in values]


def joined(values: Mapping[Any, Series]) -> DataFrame:
    """Return a table of a mapping: a column per entry, a row per seed that all have."""
    columns = zip(values, paired(*values.values()), strict=True)
    return DataFrame(dict(columns), dtype=float)


def agreeing(
    first_event: Mapping[Any, Series], second_event: Mapping[Any, Series]
) -> Series:
    """Return by seed how many pairs of arms come in the same order in two events.

    Each event maps every arm to its epochs by seed; both have the same arms and seeds.
    A pair that ties in either event has no order, also where both arms never get there,
    and is not counted.
    """
    # a row per seed, a column per arm
    first, second = joined(first_event), joined(second_event)
    # One row per pair, one column per seed; a difference of two infinities is NaN,
    # which compares false.
    is_same_order = [
        np.sign(first[a] - first[b]) * np.sign(second[a] - second[b]) > 0
        for a, b in combinations(first.columns, 2)
    ]
    return DataFrame(is_same_order, columns=first.index).sum().astype(float)


def difference(late: Series, early: Series) -> Series:
    """Return by seed the epochs from one event to another, ``late - early``.

    The difference is negative where ``late`` came first, and infinite where either
    event never comes.
    """
    late, early = paired(late, early)
    return (late - early).mask(np.isinf(late) | np.isinf(early), inf)


def lead(first: Series, second: Series, *, until: float = inf) -> Series:
    """Return by seed the least number of epochs by which one event leads another.

    A second event that never comes counts as one at ``until``, the end of its training.
    The lead is minus infinity where the first event never comes.
    """
    first, second = paired(first, second)
    return (second.clip(upper=until) - first).mask(np.isinf(first), -inf)


def ratio(upper: Series, lower: Series) -> Series:
    """Return by seed the ratio of two epochs, for claims of "at most so many times".

    The ratio is infinite where ``upper`` never comes, or where ``lower`` alone is epoch
    0. It is 0 where ``lower`` alone never comes, and 1 where both are epoch 0.
    """
    upper, lower = paired(upper, lower)
    are_zero = (upper == 0) & (lower == 0)
    quotient = upper / lower.mask(are_zero, 1)
    return quotient.mask(are_zero, 1).mask(np.isinf(upper), inf)


def times(slow: Series, quick: Series) -> Series:
    """Return by seed how many times as late ``slow`` comes as ``quick``.

    The claim behind it says that ``quick`` comes sooner. The value is 0 where only
    ``quick`` never comes, else that of `ratio`. A seed in which neither comes tests
    nothing and is left out.
    """
    slow, quick = paired(slow, quick)
    has_event = np.isfinite(slow) | np.isfinite(quick)
    return ratio(slow, quick).mask(np.isinf(quick), 0.0)[has_event]


def area(table: DataFrame) -> Series:
    """Return the integral of each column over the epochs by the trapezoidal rule.

    Epochs without a value are skipped: a straight line bridges them. It is NaN without
    a value, and 0 for one.
    """

    def integral(values: Series) -> float:
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
    0 is left out, and a value of 0 counts as 1e-300. It is NaN for fewer than two
    values, or if one is negative.
    """

    def slope(values: Series) -> float:
        if len(values) < 2 or (values < 0).any():
            return nan
        log_values = np.log(values.clip(lower=1e-300))
        return np.polyfit(np.log(_epochs(values)), log_values, deg=1)[0]

    return _each(table.loc[1:], slope)


def _each(table: DataFrame, measure: Callable[[Series], float]) -> Series:
    """Return by seed the measure of each column, which is given without its NaN."""
    results = {seed: measure(column.dropna()) for seed, column in table.items()}
    return Series(results, dtype=float)


def _epochs(values: Series) -> np.ndarray:
    """Return the epochs of some values, which are their index, as floats."""
    return values.index.to_numpy(dtype=float)
