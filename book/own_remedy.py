"""Your own remedy beside the book's: ``python -m book race mine.py``.

A file has one function, called by what it is, and the strength that tuning begins with,
1 or 3 times a power of ten:

    STRENGTH = 3.0

    def wrapper(optimizer, *, strength): ...            # as grokbook.optimizers.hooks
    def penalty(forward, *, strength): ...              # as grokbook.penalties
    def loss(logits, labels, *, reduction="mean", strength): ...  # as grokbook.losses
    def optimizer(params, lr, *, strength): ...         # as grokbook.optimizers.rules
    def model(*, strength, **sizes): ...                # as grokbook.models

Without an option ``strength`` a function is tuned over 1 - beta2 of AdamW, as remedies
of the book are that have no strength. ``LARGEST`` may say how large a strength can be.

It is tuned and tested by the rule of ``remedies/retune.py``, from its ten points on, so
that its seeds, caps and rates are those of the second tuning of the book. Its runs lie
in data/reruns, and the book's records are only read. The digest of the file is a part
of its runs: a file that was changed is trained anew.
"""

import inspect
import math
import os
import runpy
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from pandas import Series

from claimbook import errors, names, papers, project, records, tables
from claimbook.engine import device, loop, pool
from claimbook.errors import BookError
from claimbook.evidence import Run, told
from claimbook.experiment import Arm, Experiment, Spec

KINDS = ("loss", "penalty", "wrapper", "optimizer", "model")
TASKS = ("a", "e")  # of the remedies' experiments.py
PROBE = 40  # steps of a first run, which shows that the remedy works, and its speed
# Points beyond the first ten. A move to the next strength asks for three, so twelve
# find one that is a hundred times as large; who is further off had better say so.
MOST_ASKED = 12
TOGETHER = 4  # runs that a round of the rule has at least, for as many cores
YOURS = "yours"  # what the rule calls the remedy
# Remedies of the book with which it is compared in a sentence, and their names there.
RIVALS = {"⊥Grad": "⊥Grad", "decay": "weight decay"}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em }}
th, td {{ text-align: left; padding: 0.2em 1em 0.2em 0 }}
</style>
<h1>{title}</h1>
{sentences}
{matrix}
<h2>The file</h2>
<pre>{code}</pre>
</html>
"""
Point = tuple[float, float]  # rate, strength


@dataclass(frozen=True)
class Remedy:
    """What a file says: a function by its kind, and the strengths of its grid.

    * ``kind``: one of ``KINDS``.
    * ``spec``: the function as an arm names it, with the digest of its file.
    * ``has_strength``: whether its strength is tuned, else 1 - beta2 of AdamW is.
    * ``strength``, ``largest``: where tuning begins, and what it never exceeds.
    """

    path: Path
    kind: str
    spec: str
    has_strength: bool
    strength: float
    largest: float


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    * ``chosen``: the best point, or None if none generalises.
    * ``onsets``: by seed the step of generalising in its tests; empty without a point.
    * ``trial_count``: how many runs chose it.
    """

    task: str
    chosen: Point | None
    onsets: Series
    trial_count: int


def read(path: Path) -> Remedy:
    """Return the remedy of a file; raises BookError where it has none, or two."""
    if not path.exists():
        raise BookError(f"{path} is missing: there is no such file")
    if path.suffix != ".py" or not path.is_file() or not path.stem.isidentifier():
        raise BookError(
            f"{path} is no Python file whose name can be imported, as in mine.py"
        )
    _check_syntax(path)
    folder = str(path.parent.resolve())
    if folder not in sys.path:  # workers are given the same list
        sys.path.append(folder)
    module = _imported(path)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise BookError(
            f"{path.stem} is a module of Python or another file: give {path} another "
            "name"
        )
    kinds = [kind for kind in KINDS if callable(vars(module).get(kind))]
    if len(kinds) != 1:
        names_found = " and ".join(kinds) or "none of these"
        raise BookError(
            f"{path} has to have one function called loss, penalty, wrapper, optimizer "
            f"or model, and has {names_found}"
        )
    (kind,) = kinds
    options = inspect.signature(getattr(module, kind)).parameters
    has_strength = "strength" in options
    default = None if has_strength else 1e-3
    strength: Any = getattr(module, "STRENGTH", default)
    largest = getattr(module, "LARGEST", math.inf if has_strength else 1.0)
    _check_strengths(path, strength, largest)
    spec = f"{path.stem}:{kind}@{names.code_digest(path.stem)}"
    return Remedy(path, kind, spec, has_strength, strength, largest)


def _check_syntax(path: Path) -> None:
    """Raise BookError, with the line, for a file that is no Python."""
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError as error:
        raise BookError(
            f"{path}, line {error.lineno}: {error.msg} ({(error.text or '').strip()})"
        ) from error
    except ValueError as error:  # as for a NUL
        raise BookError(f"{path} is no Python file: {error}") from error


def _imported(path: Path) -> ModuleType:
    """Import the module of a file; raises BookError, with the reason, if it fails."""
    try:
        return names.import_outside(path.stem)
    except BookError as error:
        cause = error.__cause__
        if cause is None:
            raise
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())
        raise BookError(f"{path} fails as soon as it is imported ({reason})") from error


def _check_strengths(path: Path, strength: Any, largest: Any) -> None:
    """Raise BookError if no grid can be made around a strength."""
    numbers = (strength, largest)
    if all(isinstance(number, int | float) and number > 0 for number in numbers):
        half_decades = 2 * math.log10(strength) if math.isfinite(strength) else 0.5
        nearest = float(f"{10 ** (round(half_decades) / 2):.1g}")
        if strength == nearest <= largest:
            return
    raise BookError(
        f"{path} has STRENGTH = {strength!r} and LARGEST = {largest!r}: STRENGTH has "
        "to be 1 or 3 times a power of ten, as in 0.3, and LARGEST at least as large"
    )


class Race:
    """One remedy on one task by the rule of the second tuning.

    ``is_smoke`` shrinks every run to some steps, and counts each as generalising at
    once, so that all of the way is walked and nothing is judged. ``folder`` has the
    runs, which a second call finds there.
    """

    def __init__(
        self,
        remedy: Remedy,
        task: str,
        folder: Path,
        *,
        is_smoke: bool = False,
        processes: int | None = None,
    ):
        self.remedy, self.task, self.folder = remedy, task, folder
        self.is_smoke, self.processes = is_smoke, processes
        home = project.home() / "book" / "remedies"
        self.rule = runpy.run_path(str(home / "retune.py"))
        self.design = self.rule["DESIGN"]  # a copy, in which the remedy is entered
        self.design["START"][YOURS] = remedy.strength

        def allowed(points: Iterable[Point]) -> list[Point]:
            return [point for point in points if point[1] <= remedy.largest]

        neighbours = self.design["neighbours"]
        self.design["neighbours"] = lambda name, point: allowed(neighbours(name, point))
        self.grid = allowed(self.design["second_grid"](YOURS))
        self.design["second_grid"] = lambda _: self.grid
        self.level = -1.0 if is_smoke else self.design["LEVEL"][task]

    def arm(self, point: Point, *, is_test: bool = False) -> Arm:
        """Return the arm of the remedy at a point; a test is logged more often."""
        rate, strength = point
        remedy, spec = self.remedy, Spec(self.remedy.spec)
        one_minus_beta2 = 1e-3
        if remedy.has_strength:
            spec = Spec(remedy.spec, strength=strength)
        else:
            one_minus_beta2 = strength
        row = self.design["second_arm"]("none", rate, one_minus_beta2, self.task)
        match remedy.kind:
            case "loss":
                row["loss"] = spec
            case "penalty":
                row["penalties"] = (spec,)
            case "wrapper":
                row["wrappers"] = (spec,)
            case "optimizer":
                row["optimizer"] = Spec(spec.name, lr=rate, **spec.options)
            case "model":
                row["model"] = Spec(spec.name, **row["model"].options, **spec.options)
        row["name"] = self.design["second_name"](remedy.path.stem, rate, strength)
        if is_test:
            row["log"] = ((200, 2), (600, 5), (papers.END, 20))
        settings = {
            name: papers.at_scale("paper", value, row["epochs"])
            for name, value in row.items()
        }
        arm = Arm(
            **settings,
            stop=0.99,
            after_stop=self.design["AFTER"],
            observables=("core",),
            through_nan=True,
        )
        return papers.shrink(arm) if self.is_smoke else arm

    def probe(self) -> float:
        """Return the seconds that a step takes a core that does nothing else.

        It trains some steps at the start of the grid, and records nothing. Raises
        BookError if the remedy does not train.
        """
        point = (self.design["SIDES"][0], self.remedy.strength)
        arm = replace(self.arm(point), through_nan=False)
        steps = min(PROBE, arm.epochs)
        seed = self.design["SECOND_TUNING"][0]
        device.prepare_cpu()
        try:
            self.check_loss()
            # what torch loads with its first steps is not measured
            loop.train([(replace(arm, epochs=2, log=2), seed)])
            began = time.process_time()
            loop.train([(replace(arm, epochs=steps, log=steps), seed)])
        except errors.Diverged:
            raise BookError(
                f"{self.remedy.path}: within {steps} steps the loss is NaN, on task "
                f"{self.task} at a rate of {point[0]} and a strength of {point[1]}"
            ) from None
        except BookError:
            raise
        except (Exception, SystemExit) as error:  # the remedy is anybody's code
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise BookError(
                f"{self.remedy.path}: its {self.remedy.kind} fails within {steps} "
                f"steps ({reason})"
            ) from error
        return (time.process_time() - began) / steps

    def check_loss(self) -> None:
        """Raise BookError if a loss does not return one value a row where asked to.

        What a run logs would be wrong then, and nothing would fail.
        """
        if self.remedy.kind != "loss":
            return
        spec = self.arm(self.grid[0]).loss
        logits, labels = torch.zeros(3, 2), torch.tensor([0, 1, 1])
        loss = names.resolve("loss", spec)
        values = loss(logits, labels, **names.options(spec), reduction="none")
        if values.shape != (3,):
            raise BookError(
                f"{self.remedy.path}: its loss has to return one value a row with "
                f"reduction='none', and returns the shape {tuple(values.shape)}"
            )

    def cost(self) -> str:
        """Return in a sentence how many steps are left, and how long they take."""
        cores = self.processes or os.cpu_count() or 1
        seconds = self.probe() / min(cores, TOGETHER)
        recorded, due = self.recorded()
        if not due:
            return f"task {self.task}: all of its runs are recorded, none is trained"
        usual, most = (max(steps - recorded, due) for steps in self.steps())
        times = [_duration(steps * seconds) for steps in (usual, most)]
        resumed = f", beside {recorded:,} that are recorded" if recorded else ""
        return (
            f"task {self.task}: {len(self.grid)} points, then those around the best, "
            f"then {len(self.design['SECOND_TESTS'])} tests: about {usual:,.0f} steps "
            f"in {times[0]} of {cores} free cores, at most {most:,.0f} in {times[1]}"
            f"{resumed}"
        )

    def recorded(self) -> tuple[int, int]:
        """Return how many steps are recorded, and how many of the next round are not.

        A race that was stopped goes on from what it recorded. Both count runs as if
        they went on to their last step.
        """
        trials: dict[tuple[Point, int], Any] = {}
        count = 0
        while True:
            decision = self.rule["decide"](YOURS, self.task, trials)
            due, is_test = decision.due, not decision.due
            if is_test:
                due = self.tests(decision.chosen)
            _, experiments = self.planned(due, is_test=is_test)
            todo = pool.tasks([*experiments.values()], self.folder)
            left = sum(task.arm.epochs for task in todo)
            count += sum(self.arm(point).epochs for point, _ in due) - left
            if is_test or left:
                return count, left
            trials |= self.trials(due)

    def steps(self) -> tuple[float, int]:
        """Return (usual, most): the steps that a race has, usually and at most."""
        of_grid = [self.arm(point).epochs for point in self.grid]
        rates, strength = self.design["LADDER"], self.remedy.strength
        longest = max(self.arm((rate, strength)).epochs for rate in rates)
        tests = len(self.design["SECOND_TESTS"])
        # the best three get two more seeds, and each new point may come among them
        usual = sum(of_grid) + (8 + 2 * 3 + tests) * sum(of_grid) / len(of_grid)
        runs = MOST_ASKED + 2 * (3 + MOST_ASKED) + tests
        return usual, sum(of_grid) + runs * longest

    def run(self) -> Outcome:
        """Tune, then test on seeds that did not tune; return what came of it.

        Raises BookError if the best point is still at the edge of what was tried after
        ``MOST_ASKED`` points beyond the grid, or if a run fails.
        """
        trials: dict[tuple[Point, int], Any] = {}
        while (decision := self.rule["decide"](YOURS, self.task, trials)).due:
            if len(decision.asked) > MOST_ASKED:
                (rate, strength), _ = min(trials, key=lambda key: trials[key].onset)
                raise BookError(
                    f"task {self.task}: after {len(trials)} runs the best point, a "
                    f"rate of {rate} and a strength of {strength}, still stands at the "
                    "edge of what was tried: set STRENGTH to its strength"
                )
            trials |= self.trials(decision.due)
        onsets = Series(dtype=float)
        if decision.chosen:
            due = self.tests(decision.chosen)
            tests = self.trained(due, is_test=True).items()
            onsets = Series(
                {seed: self.onset(run, at)[seed] for (at, seed), run in tests}
            )
        return Outcome(self.task, decision.chosen, onsets, len(trials))

    def trials(self, due: Iterable[tuple[Point, int]]) -> dict[tuple[Point, int], Any]:
        """Return what the rule asks: a Trial for each (point, seed), trained if new."""
        trials = {}
        for (point, seed), run in self.trained(due).items():
            onset = self.onset(run, point)[seed]
            accuracy = run.largest("test_accuracy")[seed]
            trials[point, seed] = self.rule["Trial"](onset, accuracy)
        return trials

    def tests(self, chosen: Point | None) -> list[tuple[Point, int]]:
        """Return the point and the seed of each test; none if no point was chosen."""
        if chosen is None:
            return []
        return [(chosen, seed) for seed in self.design["SECOND_TESTS"]]

    def onset(self, run: Run, point: Point) -> Series:
        """Return by seed the step of generalising, infinite beyond the cap."""
        onset = run.onset(above=self.level)
        cap = self.design["cap"](self.task, point[0])
        return onset.where(onset <= cap, math.inf)

    def planned(
        self, due: Iterable[tuple[Point, int]], *, is_test: bool = False
    ) -> tuple[dict[Point, Arm], dict[int, Experiment]]:
        """Return the arms of some (point, seed) by point, experiments by seed."""
        points_of_seed: dict[int, list[Point]] = {}
        for point, seed in due:
            points_of_seed.setdefault(seed, []).append(point)
        arms = {
            point: self.arm(point, is_test=is_test)
            for points in points_of_seed.values()
            for point in points
        }
        experiments = {
            seed: Experiment(
                f"remedies/race-{self.task}",
                "smoke" if self.is_smoke else "paper",
                tuple(arms[point] for point in points),
                (seed,),
            )
            for seed, points in points_of_seed.items()
        }
        return arms, experiments

    def trained(
        self, due: Iterable[tuple[Point, int]], *, is_test: bool = False
    ) -> dict[tuple[Point, int], Run]:
        """Train those (point, seed) that are not recorded; return the runs of all.

        Raises BookError if the remedy ends the program in which it is trained.
        """
        due = [*due]
        arms, experiments = self.planned(due, is_test=is_test)
        todo = pool.tasks([*experiments.values()], self.folder)
        try:
            pool.train(todo, device="cpu", processes=self.processes)
        except SystemExit as error:
            raise BookError(
                f"{self.remedy.path}: its {self.remedy.kind} ends the program "
                f"(SystemExit: {error}), where it has to return or raise an error"
            ) from error
        loaded = {
            seed: records.load(experiment, self.folder)
            for seed, experiment in experiments.items()
        }
        return {
            (point, seed): Run(loaded[seed], arms[point].name) for point, seed in due
        }


def of_the_book(task: str, design: Mapping[str, Any]) -> tuple[str, dict[str, Series]]:
    """Return the name of the book's test of a task, and its onsets by remedy.

    It is that of the second tuning if it is recorded, else that of the first.
    ``design`` has the names of the remedies' experiments.py.
    """
    for tuning in ("test2", "test"):
        name = f"remedies/{tuning}-{task}"
        try:
            record = papers.record(name)
        except (errors.NoRecord, errors.UnknownName):
            continue
        onsets = {}
        for arm in record.experiment.arms:
            if record.seeds(arm.name):
                run = Run(record, arm.name)
                onsets[arm.name.split(", ")[0]] = run.onset(above=design["LEVEL"][task])
        if tuning == "test2":  # one that never generalised in its tuning was not tested
            for remedy in design["SECOND"]["never"][task]:
                onsets[remedy] = Series([math.inf])
        return name, onsets
    return "", {}


def shared() -> dict[str, Any]:
    """Return the names that the pages of the remedies share."""
    return runpy.run_path(f"{project.home()}/book/remedies/race.py")


def matrix(name: str, columns: Mapping[str, Mapping[str, Series]]) -> tables.Html:
    """Return the table of the steps of generalising, a row for each remedy.

    ``columns`` has by task the test runs of each remedy of the book and of ``YOURS``,
    which is called ``name``. Rows are in the order of the sum of medians.
    """
    none = Series(dtype=float)
    display_name = shared()["called"]
    medians: dict[str, float] = {}
    for remedies in columns.values():
        for remedy, onsets in remedies.items():
            medians[remedy] = medians.get(remedy, 0.0) + onsets.median()
    rows = []
    for remedy in sorted(medians, key=lambda name: medians[name]):
        words = display_name(remedy)
        if remedy == YOURS:
            words = tables.Html(f"<b>{escape(name)} (yours)</b>", f"{name} (yours)")
        cells = [told(column.get(remedy, none)) for column in columns.values()]
        rows.append([words, *cells])
    caption = "Step of generalising: median of the test runs (smallest to largest)"
    return tables.grid(("Remedy", *columns), rows, caption=caption)


def written(
    races: Mapping[str, Race], outcomes: Iterable[Outcome], path: Path
) -> list[str]:
    """Write the page of a race of one remedy on some tasks; return its sentences.

    It has the matrix of the remedies with one row more, that of the file, unless the
    race is a smoke test, which judges nothing.
    """
    titles = shared()["TASKS"]
    columns, sentences, sources = {}, [], []
    for outcome in outcomes:
        task_race, title = races[outcome.task], titles[outcome.task]
        source, theirs = of_the_book(outcome.task, task_race.design)
        sources.append(source)
        columns[title] = theirs
        if task_race.is_smoke:
            continue
        columns[title] = theirs | {YOURS: outcome.onsets}
        if outcome.chosen is None:  # one that was not tested never generalised
            columns[title][YOURS] = Series([math.inf])
        sentences += _sentences(title, outcome, theirs, task_race)
    remedy = task_race.remedy
    name = remedy.path.stem
    about = (
        "Your remedy was tuned and tested by the rule of book/remedies/retune.py; the "
        f"book's rows are those of {' and '.join(sources)}. A remedy of the first "
        "tuning (test-…) had a coarser grid and runs that end at a test accuracy of "
        "99 %. A remedy that is not beaten is not the best one."
    )
    if task_race.is_smoke:
        sentences = ["A smoke test: it runs; nothing is judged."]
        about = "The rows are those of the book."
    content = PAGE.format(
        title=f"{escape(name)} beside the remedies of the book",
        sentences="\n".join(f"<p>{escape(text)}</p>" for text in (*sentences, about)),
        matrix=matrix(name, columns).html,
        code=escape(remedy.path.read_text(encoding="utf-8")),
    )
    with project.written_whole(path) as part:
        part.write_text(content, encoding="utf-8")
    return sentences


def _sentences(
    title: str, outcome: Outcome, theirs: Mapping[str, Series], task_race: Race
) -> list[str]:
    """Return what came of a task, in sentences.

    ``title`` is that of the task, and ``theirs`` has the onsets of the book's remedies.
    """
    name = task_race.remedy.path.stem
    if outcome.chosen is None:
        return [
            f"On {title} no point of {name} generalises in its first seed, of "
            f"{outcome.trial_count} that were tried: none is chosen, and nothing was "
            "tested."
        ]
    rate, strength = outcome.chosen
    success_count = int(np.isfinite(outcome.onsets).sum())
    run_count = len(outcome.onsets)
    sentences = [
        f"On {title} {name} generalises in {success_count} of {run_count} runs, at "
        f"step {told(outcome.onsets)}, at a rate of {rate:g} and a strength of "
        f"{strength:g}, chosen in {outcome.trial_count} runs with other seeds."
    ]
    ladder = task_race.design["LADDER"]
    if rate in (ladder[0], ladder[-1]):
        sentences.append(
            f"{rate:g} is the last rate that the rule tries: one beyond may do better."
        )
    largest = task_race.design["CAPS"][outcome.task][2]
    for rival, words in RIVALS.items():
        if rival in theirs:
            later, low, high = shared()["difference"](
                outcome.onsets, theirs[rival], largest
            )
            runs = f"{run_count} and {len(theirs[rival])} runs"
            sentences.append(
                f"Its median is {_later(later)} than that of {words} (95 % interval: "
                f"{_later(low)} to {_later(high)}, bootstrap over {runs})."
            )
    return sentences


def _duration(seconds: float) -> str:
    """Return a time in words, rounded: "less than a minute", "12 minutes"."""
    if seconds < 60:
        return "less than a minute"
    minutes = round(seconds / 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def _later(steps: float) -> str:
    """Return a difference of steps in words: "940 steps later"."""
    return f"{abs(steps):,.0f} steps {'earlier' if steps < 0 else 'later'}"


def race(
    path: Path,
    tasks: Iterable[str],
    *,
    is_smoke: bool = False,
    is_dry_run: bool = False,
    processes: int | None = None,
) -> None:
    """Race the remedy of a file, and print its cost first and its page last."""
    tasks = [errors.choose("task", task, TASKS) for task in dict.fromkeys(tasks)]
    remedy = read(path)
    folder = project.home() / "data" / "reruns"
    races = {
        task: Race(remedy, task, folder, is_smoke=is_smoke, processes=processes)
        for task in tasks
    }
    for task_race in races.values():
        print(task_race.cost(), flush=True)
    if is_dry_run:
        return
    outcomes = [task_race.run() for task_race in races.values()]
    # beside the page of a real race
    name = f"{path.stem}.smoke.html" if is_smoke else f"{path.stem}.html"
    page = project.home() / "_build" / "race" / name
    print(*written(races, outcomes, page), page, sep="\n")
