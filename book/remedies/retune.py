"""The rule of the second tuning as code: what it asks for next, and what it chose.

    python book/remedies/retune.py a

writes what the records decide to ``points2.yaml``, and prints the commands of the runs
that a task still needs; without output nothing is due. Each remedy goes on by itself:

1. Ten points with the first tuning seed: six rates at one strength, and at two of the
   rates the strengths a factor of three above and below.
2. The best point's four neighbours, until all of them are there (the edge rule).
3. The best three with two more seeds. The best of these by the mean over three seeds;
   should a neighbour of it be untried, back to 2.
4. The chosen point with five other seeds, none of which has tuned.

Value of a point: the mean step of generalising, to the end of a run that goes on 500
steps beyond 99 %; never counts as the largest cap of the task. Ties go to the largest
test accuracy. Where no point of the grid generalises, the best one's neighbours are
tried once; then the remedy is listed under ``never`` and none of its points is chosen.
"""

import math
import runpy
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from claimbook import papers, records
from claimbook.errors import NoRecord
from claimbook.evidence import Run

HERE = Path(__file__).parent
DESIGN: dict[str, Any] = runpy.run_path(str(HERE / "experiments.py"))
Point = tuple[float, float]  # rate, strength


class Trial(NamedTuple):
    """What came of a point with a seed: the step for good, the largest accuracy."""

    onset: float  # infinite if it did not come within the cap
    accuracy: float


Trials = Mapping[tuple[Point, int], Trial]


class Decision(NamedTuple):
    """``asked`` beyond the grid; ``chosen`` or None; ``due``: (point, seed) to train."""

    asked: list[Point]
    chosen: Point | None
    due: list[tuple[Point, int]]


def decide(remedy: str, task: str, trials: Trials) -> Decision:
    """What the rule makes of the trials of one remedy on one task."""
    first, *others = DESIGN["SECOND_TUNING"]
    worst = DESIGN["CAPS"][task][2]
    grid: list[Point] = DESIGN["second_grid"](remedy)
    points = list(grid)

    def worth(point: Point, seeds: Iterable[int]) -> tuple[float, float]:
        seen = [trials[point, seed] for seed in seeds]
        onset = sum(min(trial.onset, worst) for trial in seen) / len(seen)
        return onset, -sum(trial.accuracy for trial in seen) / len(seen)

    def lacking(some: Iterable[Point], *seeds: int) -> list[tuple[Point, int]]:
        return [pair for pair in product(some, seeds) if pair not in trials]

    def decision(chosen: Point | None, due: list[tuple[Point, int]]) -> Decision:
        return Decision(points[len(grid) :], chosen, due)

    center: Point | None = None  # whose neighbours have to be there
    while True:
        if center:
            around = DESIGN["neighbours"](remedy, center)
            points += [point for point in around if point not in points]
        if due := lacking(points, first):
            return decision(None, due)
        order = sorted(points, key=lambda point: worth(point, [first]))
        if all(math.isinf(trials[point, first].onset) for point in points):
            if center:
                return decision(None, [])
            center = order[0]
            continue
        if center != order[0] and untried(remedy, order[0], points):
            center = order[0]
            continue
        three = order[:3]
        if due := lacking(three, *others):
            return decision(None, due)
        best = min(three, key=lambda point: worth(point, [first, *others]))
        if not untried(remedy, best, points):
            return decision(best, [])
        center = best


def untried(remedy: str, point: Point, points: list[Point]) -> list[Point]:
    """The neighbours of a point that are not among some points."""
    return [one for one in DESIGN["neighbours"](remedy, point) if one not in points]


def trials_of(task: str, folder: Path | None = None) -> dict[str, dict]:
    """The recorded trials of a task, by remedy."""
    found: dict[str, dict] = {remedy: {} for remedy in DESIGN["START"]}
    with suppress(NoRecord):
        record = papers.record(f"remedies/tune2-{task}", folder=folder)
        for arm in record.experiment.arms:
            remedy, rate, strength = arm.name.split(", ")
            point = (float(rate.split()[1]), float(strength.split()[1]))
            run = Run(record, arm.name)
            onsets = run.onset(above=DESIGN["LEVEL"][task])
            largest = run.largest("test_accuracy")
            for seed in run.seeds:
                onset = onsets[seed]
                if onset > DESIGN["cap"](task, point[0]):
                    onset = math.inf
                found[remedy][point, seed] = Trial(onset, largest[seed])
    return found


def advance(task: str, folder: Path | None = None) -> dict[str, set[str]]:
    """Write what is decided of a task; (experiment|seeds: arms) that are due now."""
    path, due = HERE / "points2.yaml", dict[str, set[str]]()
    points = yaml.safe_load(path.read_text("utf-8"))
    trials = trials_of(task, folder)
    asked, chosen, never = {}, {}, []
    for remedy in DESIGN["OF_TASK"][task]:
        decision = decide(remedy, task, trials[remedy])
        if decision.asked:
            asked[remedy] = [list(point) for point in decision.asked]
        if decision.chosen:
            chosen[remedy] = list(decision.chosen)
        elif not decision.due:
            never.append(remedy)
        for point, seed in decision.due:
            name = DESIGN["second_name"](remedy, *point)
            due.setdefault(f"remedies/tune2-{task}|{seed}", set()).add(name)
    for part, of_task in (("asked", asked), ("chosen", chosen), ("never", never)):
        points[part][task] = of_task
    text = yaml.safe_dump(
        points, allow_unicode=True, sort_keys=False, default_flow_style=None
    )
    path.write_text(text)
    papers.registries.cache_clear()
    if chosen:
        test = papers.get(f"remedies/test2-{task}", "laptop")
        for arm, seed in records.missing(test, folder):
            due.setdefault(f"{test.name}|{seed}", set()).add(arm.name)
    return due


if __name__ == "__main__":
    for name, arms in advance(sys.argv[1]).items():
        experiment, _, seed = name.partition("|")
        chosen = " ".join(f"--arms {shlex.quote(arm)}" for arm in sorted(arms))
        print(
            f"grokbook run {experiment} --scale paper --record --seeds {seed} {chosen}"
        )
