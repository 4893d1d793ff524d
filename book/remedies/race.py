"""What the pages of the tasks share: the runs of one task, its figures and its table."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from pandas import Series
from scipy.stats import CensoredData, ecdf

from grokbook import evidence, plots, tables
from grokbook.evidence import Run, told

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
SHOWN = {
    "test_accuracy": "{:.0%}",
    "collapse_float32": "{:.0%}",
    "norm.layers.0.weight": "{:,.0f}",
}
HEAD = (
    "Remedy",
    "Rate",
    "Strength",
    "Fits at",
    "Seeds that generalise",
    "at",
    "Mean to the cap",
)
HEAD += ("Test accuracy", "Would collapse under softmax", "Norm of the first matrix")
RATES = ("0.0003", "0.001", "0.003", "0.01", "0.03")


class Race:
    """One task: ``runs`` by remedy at the point that its tuning chose, five seeds each.

    ``grids`` has the runs of the tuning, ``onset`` the step for good above ``level``, by
    seed, and ``came`` the same up to the cap. A remedy that is not tested is not in it.
    """

    def __init__(self, page: evidence.Page, task: str, level: float):
        self.level, self.runs, self.grids = (
            level,
            dict[str, Run](),
            dict[str, list[Run]](),
        )
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
        self.order = sorted(self.came, key=lambda name: self.came[name].mean())

    def told(self, name: str) -> str:
        """The steps at which a remedy generalises, in words."""
        return told(self.onset.get(name, Series(dtype=float)))

    def fits(self, name: str) -> str:
        return told(self.runs[name].fitted(accuracy=0.99))

    def lead(self, name: str, other: str) -> tuple[list[Run], Series]:
        """By how many looks one remedy is ahead, by pair; none without all five pairs."""
        if not {name, other} <= self.runs.keys():
            return [], Series(dtype=float)
        first, second = evidence.paired(self.came[name], self.came[other])
        return [self.runs[name], self.runs[other]], (second - first) / self.look

    def rows(self) -> dict[str, tuple[list[Run], Series]]:
        """What the claims of a task's page are read from."""
        return {row: self.lead(*pair) for row, pair in PAIRS.items()}

    def bars(self) -> plots.Picture:
        """How many seeds have generalised, by step, a bar for each remedy."""
        figure, (axes,) = plots.panels(1, height=0.6 + 0.4 * len(self.order))
        self.draw(axes, self.order)
        axes.set_xlabel("step")
        plots.thousands(axes)
        return plots.show(figure)

    def draw(self, axes: Axes, names: list[str]) -> None:
        """The bars of some remedies, from the top; "not run" where one is not tested."""
        grid = np.arange(0, self.steps + 1, self.look)
        for row, name in enumerate(names):
            axes.axhline(row, color=plots.GREY, lw=0.6)
            if name not in self.runs:
                axes.text(0.02 * self.steps, row - 0.1, "not run", color=plots.GREY)
                continue
            seen = CensoredData.right_censored(
                self.came[name], np.isinf(self.onset[name])
            )
            share = ecdf(seen).cdf.evaluate(grid)
            axes.fill_between(
                grid, row, row - 0.8 * share, step="post", color=plots.BLUE, lw=0
            )
        axes.set_yticks(range(len(names)), names)
        axes.set(xlim=(0, self.steps), ylim=(len(names) - 0.8, -1))

    def table(self) -> object:
        """The remedies at their best points, at the end."""
        how = "The remedies at their best points, at the end"
        return tables.grid(HEAD, self._lines(), caption=how)

    def _lines(self) -> Iterator[tuple[str, ...]]:
        """A strength is 1 - beta2 where a remedy has none of its own."""
        for name in self.order:
            run, many = self.runs[name], np.isfinite(self.onset[name]).sum()
            point = [word.rpartition(" ")[2] for word in run.arm.split(", ")[1:3]]
            last = [told(run.last(column), show) for column, show in SHOWN.items()]
            # the last norm before the weights are no numbers
            if (run.last("norm.layers.0.weight") > 1000).all():
                last[1:] = ["diverged", "diverged"]
            ends = (self.told(name), f"{self.came[name].mean():,.0f}", *last)
            yield (name, *point, self.fits(name), f"{many} of {len(run.seeds)}", *ends)

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
        axes.set_yticks(range(len(self.grids)), self.grids)
        axes.set(
            xlabel="step",
            xlim=(0, 1.02 * self.steps),
            ylim=(len(self.grids) - 0.5, -0.5),
        )
        plots.thousands(axes)
        figure.legend(loc="outside upper center", ncols=5)
        return plots.show(figure)
