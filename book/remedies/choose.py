"""The rule of the tuning as code: which runs it asks for next, and what it chose.

    python book/remedies/choose.py b

writes what the records decide to ``points.yaml``, and prints the commands of the runs
that a task still needs. Each remedy goes on by itself: the grid with the first tuning
seed, the four best with the second, the points beyond an edge, the test.
"""

import runpy
import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from claimbook import papers, records
from claimbook.errors import NoRecord
from claimbook.evidence import Run

HERE = Path(__file__).parent
DESIGN: dict[str, Any] = runpy.run_path(str(HERE / "experiments.py"))
Point = tuple[float, float]


def grid(remedy: str) -> list[Point]:
    """The twelve points of a remedy, (rate, strength)."""
    return [*product(DESIGN["RATES"][1:-1], DESIGN["STRENGTHS"][remedy][1:-1])]


def best(
    runs: dict[Point, Run], points: Iterable[Point], seeds: Iterable[int], level: float
) -> list[Point]:
    """Points in the order of the rule: mean onset, then mean last test accuracy."""
    mine = list(seeds)

    def worth(point: Point) -> tuple[float, float]:
        run = runs[point]
        onset = run.onset(above=level).clip(upper=run.settings.epochs)
        # as the rule was registered: the last number, of a run that diverged too
        accuracy = run.series("test_accuracy").ffill().iloc[-1]
        return onset[mine].mean(), -accuracy[mine].mean()

    return sorted(points, key=worth)


def tuned(task: str, folder: Path | None = None) -> dict[str, Run]:
    """What is recorded of the tuning of a task, by the name of the arm."""
    with suppress(NoRecord):
        record = papers.record(f"remedies/tune-{task}", folder=folder)
        return {arm.name: Run(record, arm.name) for arm in record.experiment.arms}
    return {}


def decided(
    task: str, remedy: str, found: dict[str, Run]
) -> tuple[list[Point], Point | None, list[tuple[Point, int]]]:
    """(points beyond an edge, chosen point, (point, seed) that is due) of a remedy.

    ``found`` is what ``tuned`` gives.
    """
    (first, second), level = DESIGN["TUNING"], DESIGN["LEVEL"][task]
    every = product(DESIGN["RATES"], DESIGN["STRENGTHS"][remedy])
    told = {point: DESIGN["named"](remedy, *point) for point in every}
    runs = {point: found[name] for point, name in told.items() if name in found}

    def lack(points: list[Point], *seeds: int) -> list[tuple[Point, int]]:
        pairs = product(points, seeds)
        return [(p, s) for p, s in pairs if p not in runs or s not in runs[p].seeds]

    if due := lack(grid(remedy), first):
        return [], None, due
    four = best(runs, grid(remedy), [first], level)[:4]
    if due := lack(four, second):
        return [], None, due
    (inner, *_) = best(runs, four, [first, second], level)
    beyond = DESIGN["outside"](remedy, *inner)
    if due := lack(beyond, first, second):
        return beyond, None, due
    return beyond, best(runs, [*four, *beyond], [first, second], level)[0], []


def advance(task: str, folder: Path | None = None) -> dict[str, set[int]]:
    """Write what is decided of a task; (experiment|arm: seeds) that are due now."""
    path, asked = HERE / "points.yaml", dict[str, set[int]]()
    points = yaml.safe_load(path.read_text("utf-8"))
    further, chosen, found = [], {}, tuned(task, folder)
    for remedy in DESIGN["STRENGTHS"]:
        beyond, point, due = decided(task, remedy, found)
        further += [[remedy, *one] for one in beyond]
        chosen |= {remedy: [*point]} if point else {}
        for one, seed in due:
            name = f"remedies/tune-{task}|{DESIGN['named'](remedy, *one)}"
            asked.setdefault(name, set()).add(seed)
    points["further"][task], points["chosen"][task] = further, chosen
    path.write_text(
        yaml.safe_dump(
            points, allow_unicode=True, sort_keys=False, default_flow_style=None
        )
    )
    papers.registries.cache_clear()
    if chosen:
        test = papers.get(f"remedies/test-{task}", "laptop")
        for arm, seed in records.missing(test, folder):
            asked.setdefault(f"{test.name}|{arm.name}", set()).add(seed)
    return asked


if __name__ == "__main__":
    for name, seeds in advance(sys.argv[1]).items():
        experiment, _, arm = name.partition("|")
        told = f"grokbook run {experiment} --record --seeds {','.join(map(str, seeds))}"
        print(told, "--arms", shlex.quote(arm))
