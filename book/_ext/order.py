"""In which order to train what lacks seeds: `python -m book order`.

A judged row is complete when each run that it rests on has three seeds at the paper's
scale. A step trains the runs of one row, and completes every other row that rests on
nothing else; the next step is the one that completes most rows per core-hour. Time is
that of the seeds that were recorded on a CPU. Rows whose runs a page does not name, and
those that the paper's scale has no three seeds of, are left out.
"""

import glob
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from book._ext.entries import Entry
from grokbook import papers, records
from grokbook.claims.verdict import ENOUGH
from grokbook.experiment import Arm


@dataclass(frozen=True)
class Lack:
    """The seeds that a run "<experiment>|<arm>" lacks, and the core-hours they take."""

    seeds: tuple[int, ...]
    hours: float  # infinite where nothing like it was recorded


def steps(
    rows: Iterable[frozenset[str]], hours: Mapping[str, float]
) -> Iterator[tuple[frozenset[str], int, float]]:
    """(runs, rows completed, core-hours) of each step, the most rows an hour first.

    ``rows`` are the incomplete runs of each row, ``hours`` those of each run. Steps of
    unknown length are the last.
    """
    left = list(rows)
    while left:
        each = [(row, sum(other <= row for other in left)) for row in {*left}]
        took = {row: sum(hours[run] for run in row) for row, _ in each}
        each.sort(key=lambda one: (-one[1] / took[one[0]], -one[1], sorted(one[0])))
        best, completed = each[0]
        yield best, completed, took[best]
        left = [row - best for row in left if not row <= best]


def lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The commands in their order, each step under a comment."""
    named = [claim.get("runs") for entry in entries for claim in entry.claims]
    found = {run: lack(run) for runs in named for run in runs or ()}
    lacks = {run: one for run, one in found.items() if one}
    whole = [runs for runs in named if runs and lacks.keys() >= {*runs}]
    rows = [frozenset(run for run in runs if lacks[run].seeds) for runs in whole]
    total, hours = 0.0, {run: one.hours for run, one in lacks.items()}
    for runs, completed, took in steps(filter(None, rows), hours):
        total += took
        time = f"{took:,.2f} core-hours, {total:,.1f} so far"
        time = time if math.isfinite(took) else "no estimate"
        yield f"# {completed} row{'s' * (completed > 1)}: {time}"
        for name, some in groupby(sorted(runs), lambda run: run.partition("|")[0]):
            arms = [run.partition("|")[2] for run in some]
            mine = {seed for arm in arms for seed in lacks[f"{name}|{arm}"].seeds}
            seeds = [s for s in papers.get(name, "paper").seeds if s in mine]
            told = f"grokbook run {name} --scale paper --record "
            told += f"--seeds {','.join(map(str, seeds))}"
            yield told + "".join(f" --arms {shlex.quote(glob.escape(a))}" for a in arms)


def lack(run: str) -> Lack | None:
    """What a run lacks; None where the paper's scale has no three seeds of it."""
    name, _, arm = run.partition("|")
    plan = papers.get(name, "paper")
    if len(plan.seeds) < ENOUGH or arm not in [one.name for one in plan.arms]:
        return None
    there = records.recorded(plan)
    new = [seed for seed in plan.seeds if f"{arm}|{seed}" not in there]
    new = new[: max(0, len(new) + ENOUGH - len(plan.seeds))]
    return Lack(tuple(new), len(new) * _seconds(plan.arm(arm), there) / 3600)


def _seconds(arm: Arm, recorded: Mapping[str, Mapping[str, Any]]) -> float:
    """Those of one more seed: as its others took by epochs, else as the other arms."""
    here = {k: one for k, one in recorded.items() if one["device"] == "cpu"}
    mine = [one for key, one in here.items() if key.rpartition("|")[0] == arm.name]
    taken = mine or [*here.values()]
    epochs = sum(one["epochs"] for one in taken)
    spent = sum(one["seconds"] for one in taken)
    return arm.epochs * spent / epochs if epochs else math.inf
