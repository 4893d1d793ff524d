"""In which order to train what lacks seeds: `python -m book order`.

A judged row is complete when each run that it rests on has three seeds at the paper's
scale. A step trains the runs of one row, and completes every other row that rests on
nothing else; the next step is the one that completes most rows per core-hour. Time is
that of the seeds that were recorded on a CPU. Rows whose runs a page does not name, and
those that the paper's scale has no three seeds of, are left out.

A run is named "<experiment>|<arm>".
"""

import glob
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from book._ext.entries import Entry
from claimbook import papers, records
from claimbook.claims.verdict import ENOUGH


class Step(NamedTuple):
    """Runs to train together, how many rows that completes, and the core-hours."""

    runs: frozenset[str]
    row_count: int
    hours: float


class Lack(NamedTuple):
    """The seeds that a run lacks, and the core-hours they take, infinite if unknown."""

    seeds: list[int]
    hours: float


def steps(rows: Iterable[frozenset[str]], hours: Mapping[str, float]) -> Iterator[Step]:
    """Yield the steps, that with the most rows per hour first.

    ``rows`` are the incomplete runs of each row, ``hours`` those of each run. Steps of
    unknown length are the last.
    """
    left = list(rows)
    while left:
        candidates = [
            Step(
                row,
                row_count=sum(other <= row for other in left),
                hours=sum(hours[run] for run in row),
            )
            for row in {*left}
        ]
        best = min(
            candidates,
            # the same on every machine also where two are equally good
            key=lambda s: (-s.row_count / s.hours, -s.row_count, sorted(s.runs)),
        )
        yield best
        left = [row - best.runs for row in left if not row <= best.runs]


def lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the commands in their order, each step under a comment."""
    runs_of_rows = [
        claim.get("runs", ()) for entry in entries for claim in entry.claims
    ]
    lack_of = {run: lack(run) for runs in runs_of_rows for run in runs}
    known = {run: found for run, found in lack_of.items() if found}
    rows = [
        frozenset(run for run in runs if known[run].seeds)
        for runs in runs_of_rows
        if known.keys() >= {*runs}
    ]
    total = 0.0
    hours_of = {run: found.hours for run, found in known.items()}
    for runs, row_count, hours in steps(filter(None, rows), hours_of):
        total += hours
        duration = f"{hours:,.2f} core-hours, {total:,.1f} so far"
        if not math.isfinite(hours):
            duration = "no estimate"
        yield f"# {row_count} row{'s' * (row_count > 1)}: {duration}"
        for name, group in groupby(sorted(runs), lambda run: run.partition("|")[0]):
            own = list(group)
            seeds = ",".join(dict.fromkeys(str(s) for r in own for s in known[r].seeds))
            command = f"grokbook run {name} --scale paper --record --seeds {seeds}"
            for run in own:
                pattern = glob.escape(run.partition("|")[2])  # "A*" is a name
                command += f" --arms {shlex.quote(pattern)}"
            yield command


def lack(run: str) -> Lack | None:
    """Return what a run lacks to have three seeds.

    The result is None if the paper's scale has no three seeds of the run.
    """
    name, _, arm = run.partition("|")
    plan = papers.get(name, "paper")
    if len(plan.seeds) < ENOUGH or arm not in [known.name for known in plan.arms]:
        return None
    recorded = records.recorded(plan)
    missing = [seed for seed in plan.seeds if f"{arm}|{seed}" not in recorded]
    recorded_count = len(plan.seeds) - len(missing)
    seeds = missing[: max(0, ENOUGH - recorded_count)]
    # by epochs, as its other seeds took on a CPU, else as the other arms
    on_cpu = {key: meta for key, meta in recorded.items() if meta["device"] == "cpu"}
    own = [meta for key, meta in on_cpu.items() if key.rpartition("|")[0] == arm]
    timed = own or [*on_cpu.values()]
    if not timed:
        return Lack(seeds, math.inf)
    seconds = sum(meta["seconds"] for meta in timed)
    seconds_per_epoch = seconds / sum(meta["epochs"] for meta in timed)
    hours = len(seeds) * plan.arm(arm).epochs * seconds_per_epoch / 3600
    return Lack(seeds, hours)
