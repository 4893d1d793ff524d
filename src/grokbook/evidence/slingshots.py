"""Slingshots and feature inflation: the two outcomes of Liu et al. 2026, by seed.

    bursts     onsets of the spikes of a loss, before or after a collapse
    counted, earliest    how many there are, and the first
    before     a value at the last look before them
    heights    the largest loss after each of them
    waits      epochs from one to the next
    windows    what was measured at every step around the first of them
    rises      after how many of them test accuracy has gone up
    slingshots    how many bursts come after a collapse
    shown      all of it: inflation, late and early spikes, the last
    tested     what an intervention does where its control has something to remove
    outcomes   what the paper says of every network, by the name of the claim
    settled    the epoch from which on inflation is looked for
    inflated   whether the mean classifier and the mean feature have run away

The definitions, with their bounds, were fixed before the runs; the paper gives none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pandas import DataFrame, Series

from grokbook.evidence.events import paired, spikes

if TYPE_CHECKING:
    from grokbook.evidence.run import Run

Events = dict[int, list[int]]  # epochs by seed


def bursts(
    run: Run,
    *,
    late: bool | None = None,
    share: float = 0.4,
    within: int = 100,
    column: str = "collapsed",
    quiet: float = 1e-3,
    loud: float = 0.1,
    apart: int = 60,
) -> Events:
    """Onsets of the `spikes` of every seed's loss, up to a loss that is no number.

    ``late``: only slingshots, those with a share of collapsed samples of at least
    ``share`` at one of the looks of the ``within`` epochs before, or at the last look
    if that lies farther back; False: only the others, which Liu et al. 2026 call
    oscillations at the edge of stability. An arm that nobody trained has none.
    """
    if not run.seeds:
        return {}
    shares = None if late is None else run.series(column)
    found = {}
    for seed, loss in run.trace().items():
        onsets = spikes(_numbers(loss), quiet=quiet, loud=loud, apart=apart)
        if shares is not None:
            looks = shares[seed].dropna()
            onsets = [
                onset
                for onset in onsets
                if (_before(looks, onset, within).max() >= share) == late
            ]
        found[int(seed)] = onsets
    return found


def _before(looks: Series, onset: int, within: int) -> Series:
    """The looks of so many epochs before an onset, or the last one."""
    near = looks.loc[onset - within : onset]
    return near if len(near) else looks.loc[:onset].iloc[-1:]


def _numbers(loss: Series) -> Series:
    """A loss up to its end, or to the first that is no number."""
    lost = np.flatnonzero(loss.isna())
    return loss.iloc[: lost[0]] if len(lost) else loss


def counted(found: Events) -> Series:
    """How many events every seed has."""
    return Series({seed: float(len(of)) for seed, of in found.items()}, dtype=float)


def earliest(found: Events) -> Series:
    """The first event of every seed, or infinity."""
    first = {seed: float(min(of, default=math.inf)) for seed, of in found.items()}
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
            picked[seed] = float(pick(values))
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


def windows(
    run: Run, column: str, *, loss: str = "train_loss", loud: float = 0.1
) -> dict[int, DataFrame]:
    """By seed, the rows of the record in which a column was measured at every step.

    Their index counts steps from the first with a ``loss`` of at least ``loud``, their
    "epoch" is that of the training. Seeds without such a loss, or with no more than
    ten steps before it, have none.
    """
    frame, found = run.record.frame, {}
    for seed in run.seeds:
        rows = frame[(frame["arm"] == run.arm) & (frame["seed"] == seed)]
        rows = rows[rows[column].notna()].sort_values("epoch")
        gap = rows["epoch"].diff()
        rows = rows[(gap == 1) | (gap.shift(-1) == 1)]
        onset = rows["epoch"][rows[loss] >= loud].min()
        rows = rows.set_index(rows["epoch"] - onset)
        if onset == onset and rows.index[0] < -10:
            found[seed] = rows.set_index(rows.index.astype(int))
    return found


def rises(run: Run, found: Events) -> Series:
    """Per seed, the share of events after which test accuracy has gone up.

    That is its mean over 200 to 2,000 steps after, minus that over as many before: more
    than 0, and than 90 % of the stretches without an event if there are ten.
    """
    shares = {}
    for seed, onsets in found.items():
        accuracy, on = run.series("test_accuracy")[seed].dropna(), np.array(onsets)
        looks = accuracy.loc[1800 : accuracy.index[-1] - 2000].index
        free = [t for t in looks if not ((on > t - 1800) & (on < t + 2000)).any()]
        usual = [_gain(accuracy, t) for t in free]
        bar = max(0.0, np.quantile(usual, 0.9)) if len(usual) >= 10 else 0.0
        if onsets:
            shares[seed] = np.mean([_gain(accuracy, t) > bar for t in onsets])
    return Series(shares, dtype=float)


def _gain(accuracy: Series, at: int) -> float:
    after, before = accuracy.loc[at + 200 : at + 2000], accuracy.loc[at - 1800 : at - 1]
    return float(after.mean() - before.mean())


def slingshots(run: Run) -> Series:
    """How many `bursts` of every seed come late, after a collapse."""
    return counted(bursts(run, late=True))


def shown(run: Run) -> DataFrame:
    """What a network does, seeds down: the two outcomes, and when spikes end.

    ``inflated`` (1 or 0), ``late`` and ``early`` spikes, and the epoch of the ``last``
    late one, NaN without any.
    """
    late, early = (bursts(run, late=kind) for kind in (True, False))
    last = {seed: max(of, default=math.nan) for seed, of in late.items()}
    found = {"inflated": inflated(run), "late": counted(late), "early": counted(early)}
    return DataFrame(found | {"last": Series(last, dtype=float)}, dtype=float)


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


def settled(run: Run, *, share: float = 0.5) -> Series:
    """First logged epoch with at least that share of samples collapsed, or infinity.

    Collapsed as float32 has it, whatever the loss was computed in: there the same
    question can be asked of every intervention.
    """
    return run.first("collapsed", at_least=share)


def inflation(run: Run) -> DataFrame:
    """What numerical feature inflation changes from `settled` on, seeds down.

    ``cosine``: the lowest cos(W_G, mu_G) minus that at the start; ``growth``: the
    largest norm of W_G over that at the start; ``logit``: the lowest mean correct
    logit. NaN for a seed that never settles, and for cosine and growth of a W_G that is
    rounding, less than 1e-6 of the head's norm.
    """
    start = settled(run)
    ever = np.isfinite(start)
    since = start.where(ever, 0)
    cosine = run.smallest("mean_cosine", since=since) - run.at("mean_cosine", since)
    norm = run.at("head_mean_norm", since)
    growth = run.largest("head_mean_norm", since=since) / norm
    is_there = norm > 1e-6 * run.at("head_norm", since)
    found = {
        "cosine": cosine.where(is_there),
        "growth": growth.where(is_there),
        "logit": run.smallest("correct_logit", since=since),
    }
    return DataFrame(found).where(ever, axis=0)


def inflated(run: Run) -> Series:
    """Whether each seed shows feature inflation, 1 or 0.

    At least two of three: the cosine falls by 0.3, the norm of W_G doubles, the mean
    correct logit becomes negative, each after half of the samples have collapsed. A
    seed that never collapses so far shows none.
    """
    seen = inflation(run)
    signs = [seen["cosine"] <= -0.3, seen["growth"] >= 2, seen["logit"] < 0]
    return (sum(sign.astype(int) for sign in signs) >= 2).astype(float)
