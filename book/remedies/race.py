"""What the pages of the tasks share: the runs of one task, its figures and its table."""

import math
import runpy
from collections.abc import Iterator
from contextlib import suppress
from statistics import median_low

import numpy as np
from pandas import Series

from claimbook import evidence, plots, project, tables
from claimbook.errors import NoRecord, UnknownName
from claimbook.evidence import Run, told
from claimbook.records import Record

PAIRS = {  # a row of the claims: the remedy that should be ahead, and the other
    "man-slower": ("radius to √d", "activations"),
    "radius-decay": ("radius to √d", "decay"),
    "stablemax": ("StableMax", "none"),
    "perp": ("⊥Grad", "none"),
    "grokfast": ("Grokfast", "none"),
    "activations-decay": ("activations", "decay"),
    "held-decay": ("first matrix held short", "decay"),
    "collapse": ("collapse-free loss", "none"),
    "grokfast-decay": ("Grokfast", "decay"),
    "perp-decay": ("⊥Grad", "decay"),
}
SECOND_PAIRS = {  # the same of the second tuning
    "perp-decay": ("⊥Grad", "decay"),
    "perp-none": ("⊥Grad", "none"),
    "perp-l2": ("⊥Grad", "coupled L2"),
    "perp-muon": ("⊥Grad", "Muon"),
    "perp-rows": ("⊥Grad", "row norms clipped"),
    "muon-none": ("Muon", "none"),
    "rows-decay": ("row norms clipped", "decay"),
    "grokfast-none": ("Grokfast as published", "none"),
    "grokfast-decay": ("Grokfast as published", "decay"),
    "stablemax-none": ("StableMax", "none"),
    "collapse-none": ("collapse-free loss", "none"),
    "radius-decay": ("radius to √d", "decay"),
    "short-decay": ("radius with tuned target", "decay"),
    "activations-decay": ("activations", "decay"),
}
EARLIEST_PAIRS = {  # of the four remedies that a transformer and a wider MLP took
    "perp-decay": ("⊥Grad", "decay"),
    "perp-none": ("⊥Grad", "none"),
    "perp-rows": ("⊥Grad", "row norms clipped"),
    "rows-decay": ("row norms clipped", "decay"),
    "grokfast-none": ("Grokfast as published", "none"),
    "grokfast-decay": ("Grokfast as published", "decay"),
    "decay-none": ("decay", "none"),
}
NAMES = {  # what pages call a remedy where the name of its runs is too short
    "none": "no remedy",
    "decay": "weight decay",
    "coupled L2": "L2 in the loss",
    "collapse-free loss": "softmax without rounding",
    "radius to √d": "Tiwari's penalty",
    "radius with tuned target": "activations of short length",
    "activations": "activations to zero",
    "first matrix held short": "short first matrix",
}
TASKS = {
    "a": "addition modulo 59",
    "b": "addition modulo 97",
    "c": "addition modulo 97, width 512",
    "d": "addition modulo 113, a transformer",
    "e": "sparse parity",
    "f": "MNIST",
}
SHOWN = {
    "test_accuracy": "{:.0%}",
    "collapse_float32": "{:.0%}",
    "norm.layers.0.weight": "{:,.0f}",
}
HEAD = (
    "Remedy",
    "Rate",
    "Strength",
    "Fits at step",
    "Runs that generalise",
    "at step",
    "Mean step, at most the last",
)
HEAD += ("Test accuracy", "Would collapse under softmax", "Norm of the first matrix")
ORDER = ["median", "mean"]  # of the steps, at most the last one
RATES = ("0.0003", "0.001", "0.003", "0.01", "0.03")


def called(name: str) -> str:
    """A remedy in words."""
    return NAMES.get(name, name)


def moment(onset: Series, steps: int) -> str:
    """What the median run does, in words: "generalises at step 60"."""
    if onset.empty:
        return "was not run"
    middle = median_low(sorted(map(float, onset)))
    if math.isinf(middle):
        return f"does not generalise within {steps:,} steps"
    return f"generalises at step {middle:,.0f}"


def short(onset: Series) -> str:
    """The median step; "none", or how many runs where not all generalise."""
    steps = sorted(map(float, onset))
    came = sum(map(math.isfinite, steps))
    if not came:
        return "none"
    words = f"{came} of {len(steps)}"
    middle = f"{median_low(steps):,.0f}"
    if came == len(steps):
        return middle
    return words if middle == "inf" else f"{middle} ({words})"


def by_remedy(onsets: dict[str, Series], steps: int) -> plots.Picture:
    """The step at which each run generalises, a row for each remedy, a cross for never."""
    figure, (axes,) = plots.panels(1, height=0.9 + 0.33 * len(onsets))
    for row, onset in enumerate(onsets.values()):
        places = Series([row + 0.1 * (k - 2) for k in range(len(onset))], onset.index)
        came = np.isfinite(onset)
        axes.plot(onset[came], places[came], "o", color=plots.BLUE, ms=6, alpha=0.8)
        ended = [steps] * int((~came).sum())
        axes.plot(ended, places[~came], "x", color=plots.GREY, ms=6)
        at = (1.15 * steps, row)
        axes.annotate(short(onset), at, va="center", annotation_clip=False)
    axes.annotate("median step", (1.15 * steps, -1), annotation_clip=False)
    axes.set_yticks(range(len(onsets)), map(called, onsets))
    axes.set(xscale="log", xlim=(40, 1.1 * steps), ylim=(len(onsets) - 0.5, -0.6))
    axes.set_xlabel(f"step (runs end at {steps:,})")
    axes.set_xticks([100, 1000], ["100", "1,000"])
    axes.minorticks_off()
    return plots.show(figure)


class Race:
    """One task: ``runs`` by remedy at the point that its tuning chose, five seeds each.

    ``grids`` has the runs of the tuning, ``onset`` the step for good above ``level``, by
    seed, and ``came`` the same up to the cap. A remedy that is not tested is not in it.
    """

    def __init__(self, page: evidence.Page, task: str, level: float):
        self.level, self.task = level, TASKS[task]
        self.runs, self.grids = dict[str, Run](), dict[str, list[Run]]()
        self.record, self.tuned = (
            page.record(f"{what}-{task}") for what in ("test", "tune")
        )
        for arm in self.tuned.experiment.arms:
            name = arm.name.split(", ")[0]
            self.grids.setdefault(name, []).append(Run(self.tuned, arm.name))
        for arm in self.record.experiment.arms:
            # one that must not be tested says why behind its strength
            name, *point = arm.name.split(", ")
            if len(point) == 2 and len(self.record.seeds(arm.name)) > 4:
                self.runs[name] = Run(self.record, arm.name, name)
        first = self.tuned.experiment.arms[0]
        self.steps, self.look = first.epochs, first.log
        self.onset = {name: run.onset(above=level) for name, run in self.runs.items()}
        self.came = {
            name: found.clip(upper=self.steps) for name, found in self.onset.items()
        }
        self.order = sorted(
            self.came, key=lambda name: self.came[name].agg(ORDER).tolist()
        )

    def told(self, name: str) -> str:
        """The steps at which a remedy generalises, in words."""
        return told(self.onset.get(name, Series(dtype=float)))

    def fits(self, name: str) -> str:
        return told(self.runs[name].fitted(accuracy=0.99))

    def moments(self) -> dict[str, str]:
        """By remedy, what its median run does, for the sentences of the claims."""
        onsets = {
            name: self.onset.get(name, Series(dtype=float)) for name in self.grids
        }
        return {name: moment(onset, self.steps) for name, onset in onsets.items()}

    def lead(self, name: str, other: str) -> tuple[list[Run], Series]:
        """By how many looks one remedy is ahead, by pair; none without all five pairs."""
        if not {name, other} <= self.runs.keys():
            return [], Series(dtype=float)
        first, second = evidence.paired(self.came[name], self.came[other])
        return [self.runs[name], self.runs[other]], (second - first) / self.look

    def rows(self) -> dict[str, tuple[list[Run], Series]]:
        """What the claims of a task's page are read from."""
        return {row: self.lead(*pair) for row, pair in PAIRS.items()}

    def by_remedy(self) -> plots.Picture:
        """The step at which each run generalises; a row for each remedy."""
        onsets = {name: self.onset[name] for name in self.order}
        return by_remedy(onsets, self.steps)

    def short(self, name: str) -> str:
        """The median step; "none", or how many runs where not all generalise."""
        return short(self.onset[name]) if name in self.runs else "not run"

    def table(self) -> object:
        """The remedies at their best points, at the end."""
        how = "Each remedy at the rate and strength that its tuning chose"
        return tables.grid(HEAD, self._lines(), caption=how)

    def _lines(self) -> Iterator[tuple[str, ...]]:
        """A strength is 1 - beta2 where a remedy has none of its own."""
        for name in self.order:
            run, many = self.runs[name], np.isfinite(self.onset[name]).sum()
            point = [word.rpartition(" ")[2] for word in run.arm.split(", ")[1:3]]
            last = [told(run.last(column), show) for column, show in SHOWN.items()]
            if run.last("train_loss").isna().all():
                last = ["diverged"] * len(SHOWN)
            ends = (self.told(name), f"{self.came[name].mean():,.0f}", *last)
            yield (
                called(name),
                *point,
                self.fits(name),
                f"{many} of {len(run.seeds)}",
                *ends,
            )

    def dots(self) -> plots.Picture:
        """The step at which each point of the tuning generalises, in its first seed."""
        figure, (axes,) = plots.panels(1, height=5.0)
        ink = plots.shades([*RATES])
        for row, points in enumerate(self.grids.values()):
            for place, run in enumerate(points):
                for step in run.onset(above=self.level).clip(upper=self.steps)[:1]:
                    color = ink[run.arm.split(", ")[1].rpartition(" ")[2]]
                    how = {"mfc": color if step < self.steps else "white", "mec": color}
                    axes.plot(step, row + 0.06 * (place % 12 - 5.5), "o", ms=5, **how)
        for rate in RATES:
            axes.plot([], [], "o", color=ink[rate], label=f"rate {rate}")
        axes.set_yticks(range(len(self.grids)), map(called, self.grids))
        axes.set(
            xlabel="step",
            xlim=(0, 1.02 * self.steps),
            ylim=(len(self.grids) - 0.5, -0.5),
        )
        plots.thousands(axes)
        figure.legend(loc="outside upper center", ncols=5)
        return plots.show(figure)


def difference(yours: Series, theirs: Series, largest: float) -> tuple[float, ...]:
    """By how many steps the median of one is later, and its 95 % interval.

    The interval is a percentile bootstrap over the runs of each. A run that does not
    generalise counts as the ``steps`` step.
    """
    both = [onsets.clip(upper=largest).to_numpy() for onsets in (yours, theirs)]
    generator = np.random.default_rng(0)
    drawn = [generator.choice(values, (10_000, len(values))) for values in both]
    medians = [np.median(rows, axis=1) for rows in drawn]
    low, high = np.quantile(medians[0] - medians[1], [0.025, 0.975])
    return float(np.median(both[0]) - np.median(both[1])), float(low), float(high)


SECOND_HEAD = (
    "Remedy",
    "Rate",
    "Strength",
    "Runs that generalise",
    "at step",
    "Steps later than weight decay (95 % interval)",
)


class SecondRace:
    """The second tuning of one task: five fresh seeds at the point chosen for each remedy.

    ``onset`` has by remedy and seed the step for good above 90 % of the test set, to the
    end of a run that goes on 500 steps beyond 99 %. A remedy that generalises at no
    point of its tuning was not tested and never comes. ``came`` is the same, where never
    counts as the largest cap of the task, ``steps``. Both are empty, and ``record`` is
    None, as long as nothing is recorded.
    """

    def __init__(self, page: evidence.Page, task: str, tests: str = "test2"):
        self.design = runpy.run_path(f"{project.home()}/book/remedies/experiments.py")
        self.task, self.level = TASKS[task], self.design["LEVEL"][task]
        cap = (0, 0, self.design["CARRIED_STEPS"])  # of a task that was not tuned
        self.steps = self.design["CAPS"].get(task, cap)[2]
        self.record: Record | None = None
        self.runs = dict[str, Run]()
        with suppress(NoRecord, UnknownName):  # nothing is chosen yet
            self.record = page.record(f"{tests}-{task}")
            for arm in self.record.experiment.arms:
                self.runs[arm.name.split(", ")[0]] = Run(self.record, arm.name)
        self.onset = {
            name: run.onset(above=self.level) for name, run in self.runs.items()
        }
        if self.runs:
            for name in self.design["SECOND"]["never"].get(task, ()):
                self.onset[name] = Series(math.inf, index=self.design["SECOND_TESTS"])
        self.came = {
            name: onset.clip(upper=self.steps) for name, onset in self.onset.items()
        }
        self.order = sorted(
            self.came, key=lambda name: self.came[name].agg(ORDER).tolist()
        )

    def lead(self, name: str, other: str) -> tuple[list[Run], Series]:
        """By how many steps one remedy is ahead of another, by seed.

        There is no run to compare where neither was tested.
        """
        if not {name, other} <= self.came.keys():
            return [], Series(dtype=float)
        first, second = evidence.paired(self.came[name], self.came[other])
        runs = [self.runs[one] for one in (name, other) if one in self.runs]
        return runs, second - first

    def stays(self, name: str) -> tuple[list[Run], Series]:
        """The smallest test accuracy after the first log with the level, by seed.

        A run that never has the level cannot test it.
        """
        if name not in self.runs:
            return [], Series(dtype=float)
        run = self.runs[name]
        reached = run.reaches(accuracy=self.level)
        smallest = run.series("test_accuracy", since=reached).min()
        return [run], evidence.testable(smallest, np.isfinite(reached))

    def moments(self) -> dict[str, str]:
        """By remedy, what its median run does, for the sentences of the claims."""
        untested = "generalised at no point of its tuning"
        return {
            name: moment(onset, self.steps) if name in self.runs else untested
            for name, onset in self.onset.items()
        }

    def table(self) -> object:
        """The remedies at the points of the second tuning, the earliest first."""
        rows = []
        for name in self.order:
            onset = self.onset[name]
            point = ["", ""]
            if name in self.runs:
                words = self.runs[name].arm.split(", ")[1:]
                point = [word.rpartition(" ")[2] for word in words]
            later = ""
            if name != "decay":
                middle, low, high = difference(onset, self.onset["decay"], self.steps)
                later = f"{middle:+,.0f} ({low:+,.0f} to {high:+,.0f})"
            came = f"{np.isfinite(onset).sum()} of {len(onset)}"
            rows.append((called(name), *point, came, told(onset), later))
        return tables.grid(SECOND_HEAD, rows, caption=f"Second tuning, {self.task}")
