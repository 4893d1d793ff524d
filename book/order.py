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
from itertools import groupby

from book._ext.entries import Entry
from claimbook import papers, records
from claimbook.claims.verdict import ENOUGH


def steps(
    rows: Iterable[frozenset[str]], hours: Mapping[str, float]
) -> Iterator[tuple[frozenset[str], int, float]]:
    """(runs, rows completed, core-hours) of each step, the most rows an hour first.

    ``rows`` are the incomplete runs of each row, ``hours`` those of each run. Steps of
    unknown length are the last.
    """
    left = list(rows)
    while left:
        each = [
            (row, sum(other <= row for other in left), sum(hours[run] for run in row))
            for row in {*left}
        ]
        best = min(each, key=lambda one: (-one[1] / one[2], -one[1], sorted(one[0])))
        yield best
        left = [row - best[0] for row in left if not row <= best[0]]


def lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The commands in their order, each step under a comment."""
    named = [claim.get("runs") for entry in entries for claim in entry.claims]
    found = {run: lack(run) for runs in named for run in runs or ()}
    seeds = {run: one[0] for run, one in found.items() if one}
    hours = {run: one[1] for run, one in found.items() if one}
    whole = [runs for runs in named if runs and seeds.keys() >= {*runs}]
    rows = [frozenset(run for run in runs if seeds[run]) for runs in whole]
    total = 0.0
    for runs, completed, took in steps(filter(None, rows), hours):
        total += took
        told = f"{took:,.2f} core-hours, {total:,.1f} so far"
        told = told if math.isfinite(took) else "no estimate"
        yield f"# {completed} row{'s' * (completed > 1)}: {told}"
        for name, some in groupby(sorted(runs), lambda run: run.partition("|")[0]):
            mine = list(some)
            arms = (shlex.quote(glob.escape(run.partition("|")[2])) for run in mine)
            new = ",".join(dict.fromkeys(str(s) for run in mine for s in seeds[run]))
            told = f"grokbook run {name} --scale paper --record --seeds {new}"
            yield told + "".join(f" --arms {arm}" for arm in arms)


def lack(run: str) -> tuple[list[int], float] | None:
    """The seeds that a run "<experiment>|<arm>" lacks, and the core-hours they take.

    Infinite where nothing like it was recorded; None where the paper's scale has no
    three seeds of it.
    """
    name, _, arm = run.partition("|")
    plan = papers.get(name, "paper")
    if len(plan.seeds) < ENOUGH or arm not in [one.name for one in plan.arms]:
        return None
    there = records.recorded(plan)
    new = [seed for seed in plan.seeds if f"{arm}|{seed}" not in there]
    new = new[: max(0, len(new) + ENOUGH - len(plan.seeds))]
    # As its other seeds took by epochs, else as the other arms.
    here = {key: one for key, one in there.items() if one["device"] == "cpu"}
    mine = [one for key, one in here.items() if key.rpartition("|")[0] == arm]
    taken = mine or [*here.values()]
    if not taken:
        return new, math.inf
    spent = sum(one["seconds"] for one in taken) / sum(one["epochs"] for one in taken)
    return new, len(new) * plan.arm(arm).epochs * spent / 3600
