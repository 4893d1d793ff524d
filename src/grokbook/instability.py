"""Slingshots and feature inflation: the two outcomes of Liu et al. (2026), by seed.

The definitions and their thresholds were fixed before the runs, as the paper gives
none. An epoch is one optimizer step here, as in all of the book.
"""

import math
from collections.abc import Callable
from typing import Any

from claimbook.errors import needing_extra

with needing_extra():
    import numpy as np
    from pandas import DataFrame, Series

    from claimbook.evidence.events import paired
    from claimbook.evidence.run import Run

Events = dict[int, list[int]]  # epochs by seed, ascending


def spikes(
    loss: Series, *, quiet: float = 1e-3, loud: float = 0.1, apart: int = 60
) -> list[int]:
    """Return the steps at which bursts of spikes begin in the loss of every step.

    ``loss`` has the steps as its index. A spike is the first step at or above ``loud``
    after one at or below ``quiet``, so that a noisy rise counts once and an untrained
    network not at all. A spike fewer than ``apart`` steps after the spike before it
    belongs to the same burst. The loss counts up to its first NaN. Without a spike the
    list is empty. Most slingshots climb from 1e-8 to above 1 in a few steps, so that
    factors of ten in the thresholds do not matter; most of those of a small ViT stay
    below 1.
    """
    loss = loss[loss.notna().cummin()]  # true up to the first NaN
    # (steps,): 0 quiet, 1 loud, -1 between the two thresholds, which says nothing
    level = np.select([loss <= quiet, loss >= loud], [0, 1], default=-1)
    clear = np.flatnonzero(level >= 0)  # places of the quiet and the loud steps
    is_spike = np.diff(level[clear]) == 1  # from quiet to loud, of clear[1:]
    spike_steps = loss.index[clear[1:][is_spike]].tolist()
    # each with the spike before it; before the first there is none
    pairs = zip([-math.inf, *spike_steps], spike_steps, strict=False)
    return [step for previous, step in pairs if step - previous >= apart]


def bursts(
    run: Run, *, late: bool | None = None, within: int = 100, **levels: Any
) -> Events:
    """Return by seed the epochs at which bursts of spikes of a run's loss begin.

    ``levels`` are the options of `spikes`. With ``late=True`` only slingshots count. A
    slingshot is a burst with a share of collapsed samples of at least 0.4 at a
    measurement at its onset or in the ``within`` epochs before it, or at the last
    measurement if that lies farther back. With ``late=False`` only the other bursts
    count, which Liu et al. (2026) take for oscillations at the edge of stability. With
    None all count. Raises RecordError if the run has seeds, but none a trace.
    """
    onsets_by_seed = {
        int(seed): spikes(loss, **levels) for seed, loss in run.trace().items()
    }
    if late is None:
        return onsets_by_seed
    shares = run.series("collapsed")  # a row per epoch, a column per seed

    def is_late(seed: int, onset: int) -> bool:
        """Return whether the burst at ``onset`` is a slingshot of a seed.

        False if no share was measured before it: the largest is NaN then.
        """
        earlier = shares[seed].loc[:onset].dropna()
        recent = earlier.loc[onset - within :]
        return (recent if len(recent) else earlier.tail(1)).max() >= 0.4

    return {
        seed: [onset for onset in onsets if is_late(seed, onset) == late]
        for seed, onsets in onsets_by_seed.items()
    }


def counted(events: Events) -> Series:
    """Return the number of events of each seed, 0 for an empty list."""
    counts = {seed: len(epochs) for seed, epochs in events.items()}
    return Series(counts, dtype=float)


def earliest(events: Events) -> Series:
    """Return the epoch of each seed's first event, or infinity if it has none."""
    first = {seed: min(epochs, default=math.inf) for seed, epochs in events.items()}
    return Series(first, dtype=float)


def before(
    run: Run, column: str, events: Events, *, pick: Callable[..., float] = min
) -> Series:
    """Return by seed the value of a column that was measured last before an event.

    The measurement at the event itself does not count. ``pick`` chooses among the
    values of a seed with several events, by default the smallest. Seeds without an
    event, or without a measurement before any of them, are left out.
    """
    table = run.series(column)
    picked = {}
    for seed, onsets in events.items():
        measured = table[seed].dropna()
        # the last value up to the epoch before each event, NaN without one
        last_values = [measured.asof(onset - 1) for onset in onsets]
        if values := [value for value in last_values if not math.isnan(value)]:
            picked[seed] = pick(values)
    return Series(picked, dtype=float)


def heights(run: Run, events: Events, *, within: int = 60) -> dict[int, list[float]]:
    """Return by seed the largest loss from each event to ``within`` steps after it.

    Both ends are included. Steps without a loss are skipped; the height is NaN if all
    are.
    """
    loss = run.trace()  # a row per step, a column per seed
    return {
        seed: [float(loss[seed].loc[step : step + within].max()) for step in onsets]
        for seed, onsets in events.items()
    }


def waits(events: Events) -> Series:
    """Return each seed's median of the epochs between successive events.

    It is infinity for a seed with fewer than two events.
    """
    # NaN for fewer than two
    medians = {
        seed: Series(epochs, dtype=float).diff().median()
        for seed, epochs in events.items()
    }
    return Series(medians, dtype=float).fillna(math.inf)


def windows(run: Run, column: str, *, loss: str = "train_loss") -> dict[int, DataFrame]:
    """Return by seed the rows of the record where ``column`` is measured at every step.

    Rows between which steps were not measured are left out. The index of a table counts
    steps from the first one whose column ``loss`` is at least 0.1; its column "epoch"
    is the epoch of the training. Seeds without such a loss, or with no more than ten
    steps before it, are left out. Raises KeyError for a column that the record lacks.
    """
    frame = run.record.frame
    windows_by_seed = {}
    for seed in run.seeds:
        is_run = (frame["arm"] == run.arm) & (frame["seed"] == seed)
        rows = frame[is_run & frame[column].notna()].sort_values("epoch")
        # epochs to the row before; shifted, to the row after. A neighbour is one apart
        gap = rows["epoch"].diff()
        rows = rows[(gap == 1) | (gap.shift(-1) == 1)]
        onset = rows["epoch"][rows[loss] >= 0.1].min()
        if rows["epoch"].min() < onset - 10:  # false where there is no onset, a NaN
            windows_by_seed[seed] = rows.set_index(rows["epoch"] - int(onset))
    return windows_by_seed


def slingshots(run: Run) -> Series:
    """Return how many slingshots each seed has: its `bursts` with ``late=True``."""
    return counted(bursts(run, late=True))


def tested(values: Series, control: Series) -> Series:
    """Return the values of those seeds in which the control's value is above 0.

    In other seeds, those with a NaN included, an intervention has nothing to remove, so
    that they test nothing. Seeds that only one of the two has are left out.
    """
    values, control = paired(values, control)
    return values[control > 0]


def outcomes(base: Run, exact: Run, projection: Run) -> dict[str, tuple[Run, Series]]:
    """Return a run and its values by seed for each claim tested on every network.

    The keys are short names of the claims. ``base`` computes its loss in float32 and
    ``exact`` in float64; ``projection`` projects the logit gradients of every sample to
    sum zero. The values of ``exact`` and ``projection`` are restricted to the seeds in
    which ``base`` shows the effect, see `tested`.
    """
    base_slingshots, base_inflated = slingshots(base), inflated(base)
    return {
        "again": (base, base_slingshots),
        "float64 loss": (exact, tested(slingshots(exact), base_slingshots)),
        "projection": (projection, tested(slingshots(projection), base_slingshots)),
        "inflation": (base, base_inflated),
        "no inflation": (exact, tested(inflated(exact), base_inflated)),
    }


def settled(run: Run) -> Series:
    """Return by seed the first logged epoch with half or more of the samples collapsed.

    A sample is collapsed if its loss in float32 is exactly 0. The epoch is infinity for
    a seed that never gets there.
    """
    return run.first("collapsed", at_least=0.5)


def inflation(run: Run) -> DataFrame:
    """Return what numerical feature inflation changes from `settled` on, by seed.

    The table has a row per seed and three columns: ``cosine`` is the lowest cos(W_G,
    mu_G) minus its value at `settled`, ``growth`` the largest norm of W_G over its
    value there, and ``logit`` the lowest mean correct logit. W_G is the mean of the
    head's rows and mu_G that of the training features. All are NaN for a seed that
    never settles. ``cosine`` and ``growth`` are also NaN if the norm of W_G is at
    `settled` at most 1e-6 of the head's norm, so that W_G is rounding noise.
    """
    since = settled(run)
    cosine = run.smallest("mean_cosine", since=since) - run.at("mean_cosine", since)
    norm = run.at("head_mean_norm", since)  # by seed, as all that follow
    growth = run.largest("head_mean_norm", since=since) / norm
    has_mean = norm > 1e-6 * run.at("head_norm", since)
    columns = {"cosine": cosine.where(has_mean), "growth": growth.where(has_mean)}
    return DataFrame(columns | {"logit": run.smallest("correct_logit", since=since)})


def inflated(run: Run) -> Series:
    """Return 1 for each seed that shows feature inflation, and 0 for the others.

    At least two of three signs must appear after half of the samples have collapsed:
    the cosine falls by 0.3, the norm of W_G doubles, the mean correct logit becomes
    negative. A seed that never collapses that far shows none.
    """
    changes = inflation(run)
    # by seed; a NaN, as of a seed that never settles, is no sign
    signs = (changes["cosine"] <= -0.3, changes["growth"] >= 2, changes["logit"] < 0)
    sign_count = sum(sign.astype(int) for sign in signs)
    return (sign_count >= 2).astype(float)
