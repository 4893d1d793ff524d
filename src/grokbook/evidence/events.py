"""Definitions of what happened when, on tables (epochs down, seeds across) and by seed.

    crossing      first logged epoch at which a value gets to a level
    lasting       first logged epoch from which on a value stays above a level
    peak          epoch of the largest value
    paired, joined                       values of arms that share seeds
    agreeing      pairs of arms that two events have in one order
    difference, lead, ratio, times       of what is known by seed
    area, average over the time of training
    power         of the epoch with which a value goes
    spikes        where a loss that was small jumps up

An epoch that never comes is infinite, and each function says what comes of it. NaN is a
value that does not exist: nothing here turns it into a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from pandas import DataFrame, Series

_COMPARE = {"at_least": "ge", "at_most": "le", "above": "gt", "below": "lt"}


def crossing(table: DataFrame, **level: float) -> Series:
    """First epoch of a table at which each column gets to a level, or infinity.

    The level is one of ``at_least``, ``at_most``, ``above`` and ``below``, of which the
    last two are strict. No interpolation: it is a logged epoch, late by less than a log
    interval. NaN is never there.
    """
    if len(level) != 1 or not level.keys() <= _COMPARE.keys():
        raise ValueError(f"a crossing takes exactly one of {', '.join(_COMPARE)}")
    ((name, value),) = level.items()
    return _first_true(getattr(table, _COMPARE[name])(value))


def _first_true(there: DataFrame) -> Series:
    """Index label of the first true entry of every column, or infinity."""
    if there.empty:
        return Series(math.inf, index=there.columns, dtype=float)
    return there.idxmax().astype(float).where(there.any(), math.inf)


def lasting(table: DataFrame, *, above: float) -> Series:
    """First epoch of a table from which on each column is above a level, or infinity.

    Up to the last value that a column has; NaN in between is passed over. It is what
    "consistently exceeds" means in Tiwari et al. 2026.
    """
    found = {}
    for seed, column in table.items():
        values = column.dropna()
        low = np.flatnonzero(values <= above)
        place = low[-1] + 1 if len(low) else 0
        found[seed] = float(values.index[place]) if place < len(values) else math.inf
    return Series(found, dtype=float)


def peak(table: DataFrame) -> Series:
    """First epoch at which each column has its largest value, or infinity for none.

    NaN is passed over: a column without any value has no peak.
    """
    return _first_true(table == table.max())


def paired(*values: Series) -> list[Series]:
    """The same values for the seeds that all of them have, in the order of the first.

    Plain arithmetic of two arms leaves NaN at a seed that only one of them has.
    """
    shared = [s for s in values[0].index if all(s in other.index for other in values)]
    return [one.loc[shared] for one in values]


def joined(values: Mapping[Any, Series]) -> DataFrame:
    """One column for each value, one row for each seed that all of them have."""
    return DataFrame(
        dict(zip(values, paired(*values.values()), strict=True)), dtype=float
    )


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
    return (late - early).mask(np.isinf(late) | np.isinf(early), math.inf)


def lead(first: Series, second: Series, *, until: float = math.inf) -> Series:
    """Epochs by which one event is ahead of another, at least.

    A second event that never comes counts as one at ``until``, the end of its training.
    Minus infinity where the first never comes: nothing leads by not arriving.
    """
    first, second = paired(first, second)
    return (second.clip(upper=until) - first).mask(np.isinf(first), -math.inf)


def ratio(upper: Series, lower: Series) -> Series:
    """Ratio of two epochs, for claims of "at most so many times".

    Infinite where the upper one never comes, or the lower one comes in epoch 0 alone; 0
    where only the lower one never comes. Two events in epoch 0 come together, ratio 1.
    """
    upper, lower = paired(upper, lower)
    both = (upper == 0) & (lower == 0)
    return (upper / lower.mask(both, 1)).mask(both, 1).mask(np.isinf(upper), math.inf)


def times(slow: Series, quick: Series) -> Series:
    """How many times as late one event comes as one that is said to come sooner.

    0 where the one said to come sooner never comes and the other one does. A seed in
    which neither comes is no test, and has no value. Else as `ratio`.
    """
    slow, quick = paired(slow, quick)
    came = np.isfinite(slow) | np.isfinite(quick)
    return ratio(slow, quick).mask(np.isinf(quick), 0.0)[came]


def area(table: DataFrame) -> Series:
    """Integral over the epochs of each column (trapezoids).

    Epochs without a value are bridged; a column of fewer than two values has none, 0.
    """
    found = {}
    for seed, column in table.items():
        values = column.dropna()
        found[seed] = float(np.trapezoid(values, values.index.to_numpy(dtype=float)))
    return Series(found, dtype=float)


def average(table: DataFrame) -> Series:
    """Mean over the time between first and last epoch of each column, see `area`.

    A log that thins out would give its dense start too much weight in a plain mean.
    A column of fewer than two values is NaN.
    """
    ends = [column.dropna().index for _, column in table.items()]
    spans = [float(epochs[-1] - epochs[0]) if len(epochs) else 0.0 for epochs in ends]
    span = Series(spans, index=table.columns, dtype=float)
    return area(table) / span.where(span > 0)


def power(table: DataFrame) -> Series:
    """d ln value / d ln epoch of each column, the slope of a straight line through it.

    Epoch 0 is left out, and a value of 0 counts as 1e-300. A column with fewer than two
    values is NaN.
    """
    found = {}
    for seed, column in table.loc[1:].items():
        values = column.dropna().clip(lower=1e-300)
        logs = np.log(values.index.to_numpy(dtype=float)), np.log(values)
        enough = len(values) > 1
        found[seed] = float(np.polyfit(*logs, 1)[0]) if enough else math.nan
    return Series(found, dtype=float)


def spikes(
    loss: Series, *, quiet: float = 1e-3, loud: float = 0.1, apart: int = 60
) -> list[int]:
    """Onsets of the bursts of a loss of every step, as labels of its index.

    A spike is the first step at or above ``loud`` after one at or below ``quiet``: the
    loss has to be small in between, so a noisy rise counts once and an untrained
    network not at all. Spikes fewer than ``apart`` steps after the one before belong to
    the same burst, whose onset is its first. The levels are those planned for the
    figures of Liu et al. 2026. Most slingshots climb from 1e-8 to above 1 in a few
    steps, so that factors of ten in them do not matter; those of a small ViT do not.

    ValueError for a NaN: a loss that is not a number is neither quiet nor loud.
    """
    if not 0 <= quiet < loud:
        raise ValueError(f"quiet ({quiet}) must lie below loud ({loud})")
    if loss.isna().any():
        raise ValueError(f"the loss is NaN at step {loss.index[loss.isna()][0]}")
    state = np.select([loss <= quiet, loss >= loud], [0, 1], default=-1)
    told = np.flatnonzero(state >= 0)  # steps in between leave things as they are
    fired = told[1:][np.diff(state[told]) == 1]
    steps = [int(loss.index[place]) for place in fired]
    return [s for k, s in enumerate(steps) if k == 0 or s - steps[k - 1] >= apart]
