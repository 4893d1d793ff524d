"""What the pages of the tasks share: the runs of one task, its figures and its table."""

import math
from collections.abc import Iterator
from statistics import median_low

import numpy as np
from pandas import Series

from claimbook import evidence, plots, tables
from claimbook.evidence import Run, told

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
        figure, (axes,) = plots.panels(1, height=0.9 + 0.33 * len(self.order))
        for row, name in enumerate(self.order):
            onset = self.onset[name]
            places = Series(
                [row + 0.1 * (k - 2) for k in range(len(onset))], onset.index
            )
            came = np.isfinite(onset)
            axes.plot(onset[came], places[came], "o", color=plots.BLUE, ms=6, alpha=0.8)
            ended = [self.steps] * int((~came).sum())
            axes.plot(ended, places[~came], "x", color=plots.GREY, ms=6)
            at = (1.15 * self.steps, row)
            axes.annotate(self.short(name), at, va="center", annotation_clip=False)
        axes.annotate("median step", (1.15 * self.steps, -1), annotation_clip=False)
        axes.set_yticks(range(len(self.order)), map(called, self.order))
        axes.set(
            xscale="log",
            xlim=(40, 1.1 * self.steps),
            ylim=(len(self.order) - 0.5, -0.6),
        )
        axes.set_xlabel(f"step (runs end at {self.steps:,})")
        axes.set_xticks([100, 1000], ["100", "1,000"])
        axes.minorticks_off()
        return plots.show(figure)

    def short(self, name: str) -> str:
        """The median step; "none", or how many runs where not all generalise."""
        if name not in self.runs:
            return "not run"
        onset = sorted(map(float, self.onset[name]))
        came = sum(map(math.isfinite, onset))
        if not came:
            return "none"
        words = f"{came} of {len(onset)}"
        middle = f"{median_low(onset):,.0f}"
        if came == len(onset):
            return middle
        return words if middle == "inf" else f"{middle} ({words})"

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
