"""Arms of a record as curves: what we measured, the paper's own points, and names.

Solid is the test set and dashed the training set; colour says which arm.
"""

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from claimbook.evidence import Run
from claimbook.plots.style import BLACK, GREY

Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
Point: TypeAlias = tuple[float, float]
DASHED: Dashes = (0, (2, 1.5))


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
    style: dict[str, Any] = {"color": color or run.color, "ls": linestyle}
    series = (run.series(column) * (100 if percent else 1)).dropna(how="all")
    if seeds and series.shape[1] > 1:
        axes.plot(series.index, series, **style, lw=0.7, alpha=0.45)
        low, high = series.min(axis=1), series.max(axis=1)
        axes.fill_between(low.index, low, high, color=style["color"], alpha=0.12, lw=0)
    middle = series if series.shape[1] == 2 else series.median(axis=1).to_frame()
    names = [(run.label if label is None else label) or None, None]
    for name, seed in zip(names, middle, strict=False):
        axes.plot(middle[seed], **style, label=name)


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
    options |= {"seeds": False, "label": "", "linestyle": DASHED}
    curve(axes, run, f"train_{what}", **options)


def trace(
    axes: Axes, run: Run, *, seed: int | None = None, floor: float = 1e-9, **line: Any
) -> None:
    """The loss of every step of one seed, the first unless given, on a log axis.

    No spike is lost: of every stretch of steps that is narrower than a pixel, of which
    there are 800, the smallest and the largest loss are drawn, ``floor`` at least.
    """
    if not run.seeds:
        return
    losses = run.trace()[run.seeds[0] if seed is None else seed].dropna()
    width = max(1, math.ceil(len(losses) / 800))
    groups = losses.clip(lower=floor).groupby(losses.index // width * width)
    extremes = groups.agg(["min", "max"])
    style: dict[str, Any] = {"lw": 1.0, "color": run.color, "label": run.label} | line
    style["label"] = style["label"] or None
    axes.plot(np.repeat(extremes.index, 2), extremes.to_numpy().ravel(), **style)
    axes.set(yscale="log", xlabel="epoch", ylabel="training loss")


def paper(
    axes: Axes, x: ArrayLike, y: ArrayLike, *, label: str = "paper", color: str = BLACK
) -> None:
    """The paper's own points: hollow diamonds, in the whole book and for nothing else.

    ``color`` is that of the curve they belong to, where a figure has several.
    """
    style: dict[str, Any] = {"ms": 5.5, "mew": 1.4, "mfc": "white", "zorder": 5}
    axes.plot(x, y, "D", color=color, mec=color, label=label or None, **style)


def mark(axes: Axes, epochs: Iterable[float], *, color: str) -> None:
    """Dotted vertical lines, one per seed, at events that happened."""
    for epoch in filter(np.isfinite, epochs):
        axes.axvline(epoch, color=color, ls=":", lw=1.1, alpha=0.8)


def note(axes: Axes, text: str, xy: Point, xytext: Point) -> None:
    """A short text at ``xytext`` and a grey arrow to ``xy``, both as data."""
    arrow = {"arrowstyle": "->", "color": GREY, "lw": 1.0, "shrinkB": 3}
    axes.annotate(text, xy, xytext, color=BLACK, ha="center", arrowprops=arrow)


def end_labels(axes: Axes) -> None:
    """Write the name of each line at its right end, in its colour, with no legend.

    Call it last, when the limits of the axes are set: names are moved apart.
    """
    drawn = (line for line in axes.lines if np.size(line.get_xdata()))
    ends = {x: _end(axes, x) for x in drawn if not str(x.get_label()).startswith("_")}
    figure: Any = axes.figure
    figure.draw_without_rendering()  # the layout has to be known
    point = figure.dpi / 72
    gap = 1.2 * plt.rcParams["font.size"] * point
    level = axes.transData.transform(np.reshape([*ends.values()], (-1, 2)))[:, 1]
    order, steps = level.argsort(), gap * np.arange(len(level))
    low, high = axes.bbox.y0 + gap / 2, axes.bbox.y1 + gap / 2 - gap * len(level)
    rise = np.empty_like(level)
    rise[order] = np.maximum.accumulate(level[order] - steps).clip(low, high) + steps
    for (line, end), up in zip(ends.items(), (rise - level) / point, strict=True):
        style: dict[str, Any] = {"va": "center", "annotation_clip": False}
        style |= {"color": line.get_color(), "textcoords": "offset points"}
        axes.annotate(str(line.get_label()), end, (4, up), **style)


def _end(axes: Axes, line: Line2D) -> Point:
    x, y = np.asarray(line.get_xydata(), dtype=float).T
    left, right = sorted(axes.get_xlim())
    seen = np.isfinite(y) & (x >= left) & (x <= right)
    return float(x[seen][-1]), float(y[seen][-1].clip(*sorted(axes.get_ylim())))
