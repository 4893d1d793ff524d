"""Slingshots and feature inflation: the two outcomes of Liu et al. 2026, by seed.

The definitions, with their bounds, were fixed before the runs; the paper gives none.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from claimbook.evidence.events import paired
from claimbook.evidence.run import Run

Events = dict[int, list[int]]  # epochs by seed


def spikes(
    loss: Series, *, quiet: float = 1e-3, loud: float = 0.1, apart: int = 60
) -> list[int]:
    """Onsets of the bursts of a loss of every step, as labels of its index.

    A spike is the first step at or above ``loud`` after one at or below ``quiet``, so
    that a noisy rise counts once and an untrained network not at all. Fewer than
    ``apart`` steps after the one before, it belongs to the same burst. A loss ends
    where it is no number. Most slingshots climb from 1e-8 to above 1 in a few steps, so
    that factors of ten in the levels do not matter; those of a small ViT do not.
    """
    loss = loss[loss.notna().cummin()]
    state = np.select([loss <= quiet, loss >= loud], [0, 1], default=-1)
    told = np.flatnonzero(state >= 0)  # steps in between leave things as they are
    fired = loss.index[told[1:][np.diff(state[told]) == 1]].tolist()
    pairs = zip([-math.inf, *fired], fired, strict=False)
    return [step for before, step in pairs if step - before >= apart]


def bursts(
    run: Run, *, late: bool | None = None, within: int = 100, **levels: Any
) -> Events:
    """Onsets of the `spikes` of every seed's loss.

    ``late``: only slingshots, with a share of collapsed samples of at least 0.4 at a
    look of the ``within`` epochs before, or at the last look if that lies farther back;
    False: only the others, by Liu et al. 2026 oscillations at the edge of stability.
    """
    found = {int(s): spikes(loss, **levels) for s, loss in run.trace().items()}
    if late is None:
        return found
    shares = run.series("collapsed")

    def collapsed(seed: int, onset: int) -> bool:
        looks = shares[seed].loc[:onset].dropna()
        near = looks.loc[onset - within :]
        return (near if len(near) else looks.tail(1)).max() >= 0.4

    return {s: [on for on in of if collapsed(s, on) == late] for s, of in found.items()}


def counted(found: Events) -> Series:
    """How many events every seed has."""
    return Series({seed: len(of) for seed, of in found.items()}, dtype=float)


def earliest(found: Events) -> Series:
    """The first event of every seed, or infinity."""
    first = {seed: min(of, default=math.inf) for seed, of in found.items()}
    return Series(first, dtype=float)


def before(
    run: Run, column: str, found: Events, *, pick: Callable[..., float] = min
) -> Series:
    """What was measured at the last look before an event: of several the smallest.

    ``pick``: of each seed's values the one that counts. Only seeds that have an event,
    and a look before it, have a value.
    """
    table, picked = run.series(column), {}
    for seed, onsets in found.items():
        looks = table[seed].dropna()
        ahead = [looks.asof(onset - 1) for onset in onsets]
        if values := [value for value in ahead if value == value]:
            picked[seed] = pick(values)
    return Series(picked, dtype=float)


def heights(run: Run, found: Events, *, within: int = 60) -> dict[int, list[float]]:
    """The largest loss of the steps from each event on, by seed."""
    loss = run.trace()
    return {
        seed: [float(loss[seed].loc[on : on + within].max()) for on in onsets]
        for seed, onsets in found.items()
    }


def waits(found: Events) -> Series:
    """Median epochs from one event of a seed to the next, or infinity."""
    gaps = {s: Series(on, dtype=float).diff().median() for s, on in found.items()}
    return Series(gaps, dtype=float).fillna(math.inf)


def windows(run: Run, column: str, *, loss: str = "train_loss") -> dict[int, DataFrame]:
    """By seed, the rows of the record in which a column was measured at every step.

    Their index counts steps from the first with a ``loss`` of at least 0.1, their
    "epoch" is that of the training. Seeds without such a loss, or with no more than
    ten steps before it, have none.
    """
    frame, found = run.record.frame, {}
    for seed in run.seeds:
        mine = (frame["arm"] == run.arm) & (frame["seed"] == seed)
        rows = frame[mine & frame[column].notna()].sort_values("epoch")
        gap = rows["epoch"].diff()
        rows = rows[(gap == 1) | (gap.shift(-1) == 1)]
        onset = rows["epoch"][rows[loss] >= 0.1].min()
        if onset == onset and rows["epoch"].min() < onset - 10:
            found[seed] = rows.set_index(rows["epoch"] - int(onset))
    return found


def slingshots(run: Run) -> Series:
    """How many `bursts` of every seed come late, after a collapse."""
    return counted(bursts(run, late=True))


def tested(values: Series, control: Series) -> Series:
    """The values of those seeds in which the control is positive.

    Where it is not, an intervention has nothing to remove, and the seed is no test.
    """
    values, control = paired(values, control)
    return values[control > 0]


def outcomes(base: Run, exact: Run, projection: Run) -> dict[str, tuple[Run, Series]]:
    """What decides the claims that every network has: a run and its value by seed.

    ``base`` has its loss in float32, ``exact`` in float64, ``projection`` the gradients
    of every sample projected to sum zero; the last two are `tested` by the first.
    """
    count, grown = slingshots(base), inflated(base)
    return {
        "again": (base, count),
        "float64 loss": (exact, tested(slingshots(exact), count)),
        "projection": (projection, tested(slingshots(projection), count)),
        "inflation": (base, grown),
        "no inflation": (exact, tested(inflated(exact), grown)),
    }


def settled(run: Run) -> Series:
    """First logged epoch with half of the samples collapsed in float32, or infinity."""
    return run.first("collapsed", at_least=0.5)


def inflation(run: Run) -> DataFrame:
    """What numerical feature inflation changes from `settled` on, seeds down.

    ``cosine``: the lowest cos(W_G, mu_G) minus that at the start; ``growth``: the
    largest norm of W_G over that at the start; ``logit``: the lowest mean correct
    logit. NaN for a seed that never settles, and for cosine and growth of a W_G that is
    rounding, less than 1e-6 of the head's norm.
    """
    since = settled(run)
    cosine = run.smallest("mean_cosine", since=since) - run.at("mean_cosine", since)
    norm = run.at("head_mean_norm", since)
    growth = run.largest("head_mean_norm", since=since) / norm
    is_there = norm > 1e-6 * run.at("head_norm", since)
    found = {"cosine": cosine.where(is_there), "growth": growth.where(is_there)}
    return DataFrame(found | {"logit": run.smallest("correct_logit", since=since)})


def inflated(run: Run) -> Series:
    """Whether each seed shows feature inflation, 1 or 0.

    At least two of three: the cosine falls by 0.3, the norm of W_G doubles, the mean
    correct logit becomes negative, each after half of the samples have collapsed. A
    seed that never collapses so far shows none.
    """
    seen = inflation(run)
    signs = (seen["cosine"] <= -0.3, seen["growth"] >= 2, seen["logit"] < 0)
    return (sum(sign.astype(int) for sign in signs) >= 2).astype(float)
