"""Arms of a record as curves: what we measured, and the paper's own points.

Solid is the test set and dashed the training set; colour says which arm.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from grokbook.evidence import Run
from grokbook.plots.colours import BLACK

Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
DASHED: Dashes = (0, (2, 1.5))
STRETCHES = 800  # of steps that a trace is drawn in, about its pixels in a page


def curve(
    axes: Axes,
    run: Run,
    column: str,
    *,
    percent: bool = False,
    linestyle: Dashes = "-",
    seeds: bool = True,
    label: str | None = None,
    color: str | None = None,
) -> None:
    """One arm: every seed thin, their median thick, their range shaded.

    Name and colour are those of the run unless given; a name of "" is not written
    anywhere. One seed is the curve itself, and so is each of two, which have no middle;
    without any nothing is drawn.
    """
    if not run.seeds:
        return
    color = run.color if color is None else color
    series = (run.series(column) * (100 if percent else 1)).dropna(how="all")
    if seeds and series.shape[1] > 1:
        axes.plot(series.index, series, color=color, ls=linestyle, lw=0.7, alpha=0.45)
        low, high = series.min(axis=1), series.max(axis=1)
        axes.fill_between(series.index, low, high, color=color, alpha=0.12, lw=0)
    name = run.label if label is None else label
    middle = series if series.shape[1] == 2 else series.median(axis=1).to_frame()
    for place, column in enumerate(middle):
        first = (name or None) if place == 0 else None
        axes.plot(middle[column], color=color, ls=linestyle, label=first)


def accuracy(axes: Axes, run: Run, **options: Any) -> None:
    """Test accuracy solid with its seeds, the median train accuracy dashed, in %."""
    _both(axes, run, "accuracy", percent=True, **options)
    axes.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(-3, 103))


def loss(axes: Axes, run: Run, **options: Any) -> None:
    """Test loss solid with its seeds, the median train loss dashed."""
    _both(axes, run, "loss", **options)
    axes.set(xlabel="epoch", ylabel="loss")


def _both(axes: Axes, run: Run, what: str, **options: Any) -> None:
    curve(axes, run, f"test_{what}", **options)
    trained: dict[str, Any] = {"seeds": False, "label": "", "linestyle": DASHED}
    curve(axes, run, f"train_{what}", **options | trained)


def paper(
    axes: Axes, x: ArrayLike, y: ArrayLike, *, label: str = "paper", color: str = BLACK
) -> None:
    """The paper's own points: hollow diamonds, in the whole book and for nothing else.

    ``color`` is that of the curve they belong to, where a figure has several.
    """
    style: dict[str, Any] = {
        "ls": "",
        "marker": "D",
        "ms": 5.5,
        "mew": 1.4,
        "mfc": "white",
    }
    axes.plot(x, y, **style, mec=color, color=color, zorder=5, label=label or None)


def trace(
    axes: Axes,
    run: Run,
    *,
    seed: int | None = None,
    floor: float = 1e-9,
    label: str | None = None,
    color: str | None = None,
    **line: Any,
) -> None:
    """The loss of every step of one seed, the first unless given, on a log axis.

    No spike is lost: of every stretch of steps that is narrower than a pixel the
    smallest and the largest loss are drawn. Losses below ``floor`` lie on it.
    """
    if not run.seeds:
        return
    losses = run.trace()[run.seeds[0] if seed is None else seed].dropna()
    width = max(1, math.ceil(len(losses) / STRETCHES))
    groups = losses.clip(lower=floor).groupby(losses.index // width * width)
    extremes = groups.agg(["min", "max"])
    style: dict[str, Any] = {
        "lw": 1.0,
        "color": run.color if color is None else color,
    } | line
    style["label"] = (run.label if label is None else label) or None
    axes.plot(np.repeat(extremes.index, 2), extremes.to_numpy().ravel(), **style)
    axes.set(yscale="log", xlabel="epoch", ylabel="training loss")


def mark(axes: Axes, epochs: Sequence[float], *, color: str) -> None:
    """Dotted vertical lines, one per seed, at events that happened."""
    for epoch in epochs:
        if np.isfinite(epoch):
            axes.axvline(epoch, color=color, ls=":", lw=1.1, alpha=0.8)
