"""Arms of a record as curves: what we measured, the paper's own points, and names.

Solid is the test set and dashed the training set; colour says which arm. Where a reader
trained an arm with other settings, the book's own curve lies pale behind it.
"""

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from claimbook import change
from claimbook.errors import RecordError
from claimbook.evidence import Run
from claimbook.plots.style import BLACK, GREY

Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
Point: TypeAlias = tuple[float, float]
DASHED: Dashes = (0, (2, 1.5))
PALE: dict[str, Any] = {"lw": 3.2, "alpha": 0.3, "zorder": 1.5}  # the book's curves


def curve(
    axes: Axes,
    run: Run,
    column: str,
    *,
    percent: bool = False,
    linestyle: Dashes = "-",
    each_seed: bool = True,
    label: str | None = None,
    color: str | None = None,
) -> None:
    """Draw a column of one arm: every seed thin, the median thick, the range shaded.

    With ``percent`` the values, which are fractions, are drawn in %. Label and colour
    are those of the run unless given; a label of "" is left out of legends. One seed or
    two are drawn thick, since two have no middle; without any, nothing is drawn. With
    ``each_seed=False`` only the thick lines are drawn. Epochs at which no seed has a
    value are left out, so that lines go on across them; range and median are those of
    the seeds that have one. Raises RecordError if the run lacks the column.

    If a reader trained the arm with other settings, the book's median lies behind it,
    wide and pale. `tell_apart` recognises that line by its gid, which is its name in
    the legend.
    """
    if not run.seeds:
        return
    factor = 100 if percent else 1
    style: dict[str, Any] = {"color": color or run.color, "ls": linestyle}
    if book := run.of_book:
        with suppress(RecordError):  # the book may not have this column
            middle = book.series(column).median(axis=1).dropna()
            pale = style | PALE | {"gid": _book_name(run)}
            axes.plot(factor * middle, **pale)
    series = (factor * run.series(column)).dropna(how="all")
    seed_count = series.shape[1]
    if each_seed and seed_count > 1:
        axes.plot(series.index, series, **style, lw=0.7, alpha=0.45)
        low, high = series.min(axis=1), series.max(axis=1)
        axes.fill_between(low.index, low, high, color=style["color"], alpha=0.12, lw=0)
    # the thick lines, a column each: both seeds of two, else the median
    middle = series if seed_count == 2 else series.median(axis=1).to_frame()
    # Of two the first alone is labelled. For None matplotlib makes a label that no
    # legend shows.
    line_label = (run.label if label is None else label) or None
    for seed in middle:
        axes.plot(middle[seed], **style, label=line_label)
        line_label = None


def _book_name(run: Run) -> str:
    """Return the legend's name of the book's curve behind a reader's run.

    It says the scale of the book's record if that differs: "book, paper scale".
    """
    book = run.of_book
    if not book or book.record.scale == run.record.scale:
        return "book"
    return f"book, {book.record.scale} scale"


def tell_apart(figure: Figure) -> bool:
    """Add a legend to a figure with curves of the book behind those of a reader.

    Returns whether the figure has such curves; without them it stays as it is. The
    legend gets the gid "lower", as it lies below the figure, where `replace_legend`
    puts another in its place.
    """
    lines = [line for axes in figure.axes for line in axes.lines]
    # a curve of the book has its name in the legend as gid, any other line has none
    names = [str(line.get_gid()) for line in lines if line.get_gid()]
    if not names:
        return False
    book, yours = Line2D([], [], color=GREY, **PALE), Line2D([], [], color=BLACK)
    labels = [names[0], f"yours: {change.in_use}"]
    legend = figure.legend([book, yours], labels, loc="outside lower center", ncols=2)
    legend.set_gid("lower")
    return True


def accuracy(axes: Axes, run: Run, **options: Any) -> None:
    """Draw test and training accuracy of an arm, in %, on axes from 0 to 100.

    Test is solid: median thick, seeds thin, range shaded; of training the median alone
    is drawn, dashed. ``options`` are those of `curve`: ``label``, ``linestyle`` and
    ``each_seed`` are for test alone.
    """
    _test_and_train(axes, run, "accuracy", percent=True, **options)
    axes.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(-3, 103))


def loss(axes: Axes, run: Run, **options: Any) -> None:
    """Draw test and training loss of an arm.

    Test is solid: median thick, seeds thin, range shaded; of training the median alone
    is drawn, dashed. ``options`` are those of `curve`: ``label``, ``linestyle`` and
    ``each_seed`` are for test alone.
    """
    _test_and_train(axes, run, "loss", **options)
    axes.set(xlabel="epoch", ylabel="loss")


def _test_and_train(axes: Axes, run: Run, quantity: str, **options: Any) -> None:
    """Draw test_<quantity> with ``options`` of `curve`, and train_<quantity> dashed.

    Of the latter the thick line alone is drawn, and no legend names it.
    """
    curve(axes, run, f"test_{quantity}", **options)
    options |= {"each_seed": False, "label": "", "linestyle": DASHED}
    curve(axes, run, f"train_{quantity}", **options)


def trace(
    axes: Axes, run: Run, *, seed: int | None = None, floor: float = 1e-9, **line: Any
) -> None:
    """Draw the training loss after every step of one seed, on a logarithmic axis.

    The seed is the run's first unless given; without any, nothing is drawn. The steps
    are cut into some 800 groups, each narrower than a pixel, and the smallest and the
    largest loss of each are drawn, so that no spike is lost. NaN is left out. Losses
    below ``floor`` are drawn at it, as the axis has no zero. ``line`` has further
    options of `Axes.plot`. Raises RecordError if the run has no trace, and KeyError for
    a seed that it does not have.

    If a reader trained the arm with other settings, the book's trace lies behind, pale:
    of the same seed, or of the book's first if it does not have that one.
    """
    if not run.seeds:
        return
    if seed is None:
        seed = run.seeds[0]
    if book := run.of_book:
        pale = line | {"label": "", "alpha": PALE["alpha"], "gid": _book_name(run)}
        with suppress(RecordError):  # the book may have no trace
            same_seed = seed if seed in book.seeds else None
            trace(axes, book, seed=same_seed, floor=floor, **pale)
    losses = run.trace()[seed].dropna()
    group_size = max(1, math.ceil(len(losses) / 800))
    group_starts = losses.index // group_size * group_size
    groups = losses.clip(lower=floor).groupby(group_starts)
    extremes = groups.agg(["min", "max"])  # a row per group
    style: dict[str, Any] = {"lw": 1.0, "color": run.color, "label": run.label} | line
    style["label"] = style["label"] or None  # without one, no legend shows the line
    axes.plot(np.repeat(extremes.index, 2), extremes.to_numpy().ravel(), **style)
    axes.set(yscale="log", xlabel="epoch", ylabel="training loss")


def paper(
    axes: Axes, x: ArrayLike, y: ArrayLike, *, label: str = "paper", color: str = BLACK
) -> None:
    """Draw the paper's own points as hollow diamonds, which mark nothing else.

    ``x`` and ``y`` are in data coordinates. ``color`` is that of the curve to which
    they belong, where a figure has several; a ``label`` of "" is left out of legends.
    """
    axes.plot(
        x,
        y,
        "D",
        color=color,
        label=label or None,
        markersize=5.5,
        markeredgecolor=color,
        markeredgewidth=1.4,
        markerfacecolor="white",
        zorder=5,
    )


def mark(axes: Axes, epochs: Iterable[float], *, color: str) -> None:
    """Draw a dotted vertical line at each of some epochs: those of an event, by seed.

    Infinity and NaN, the epochs of an event that never happened, are left out.
    """
    for epoch in filter(np.isfinite, epochs):
        axes.axvline(epoch, color=color, ls=":", lw=1.1, alpha=0.8)


def note(axes: Axes, text: str, xy: Point, xytext: Point) -> None:
    """Write a text at ``xytext`` with a grey arrow to ``xy``, in data coordinates."""
    arrow = {"arrowstyle": "->", "color": GREY, "lw": 1.0, "shrinkB": 3}
    axes.annotate(text, xy, xytext, color=BLACK, ha="center", arrowprops=arrow)


def end_labels(axes: Axes) -> None:
    """Write the label of each line at its right end, in its colour, with no legend.

    Lines without a label or without points are left out. The limits of the axes have to
    be set before: labels that would overlap are moved up or down. Raises IndexError for
    a labelled line that has points and none within the limits.
    """
    lines = (line for line in axes.lines if np.size(line.get_xdata()))
    # A label of matplotlib's own, as a line without one gets, begins with "_". The ends
    # are points in data coordinates, by line.
    ends = {x: _end(axes, x) for x in lines if not str(x.get_label()).startswith("_")}
    figure: Any = axes.figure
    figure.draw_without_rendering()  # the layout has to be known
    pixels_per_point = figure.dpi / 72
    gap = 1.2 * plt.rcParams["font.size"] * pixels_per_point  # a line of text
    # the heights of ends and labels, and the bounds of the axes, are in pixels
    points = np.reshape([*ends.values()], (-1, 2))
    heights = axes.transData.transform(points)[:, 1]  # (labels,)
    order = heights.argsort()  # from the lowest to the highest
    steps = gap * np.arange(len(heights))
    # A level is a height minus its step: labels one gap apart have equal levels, so
    # that a running maximum keeps every label at least a gap above the one before it.
    # ``low`` is the least level of the lowest label, ``high`` the greatest of the
    # topmost.
    low, high = axes.bbox.y0 + gap / 2, axes.bbox.y1 + gap / 2 - gap * len(heights)
    placed = np.empty_like(heights)
    levels = np.maximum.accumulate(heights[order] - steps).clip(low, high)
    placed[order] = levels + steps
    shifts = (placed - heights) / pixels_per_point  # from ends to labels
    for (line, end), shift in zip(ends.items(), shifts, strict=True):
        axes.annotate(
            str(line.get_label()),
            end,
            (4, shift),
            textcoords="offset points",
            annotation_clip=False,
            va="center",
            color=line.get_color(),
        )


def _end(axes: Axes, line: Line2D) -> Point:
    """Return the last finite point of a line within the x limits, in data coordinates.

    Its y is clipped to the y limits. Raises IndexError if there is no such point.
    """
    # (points,) each
    x, y = np.asarray(line.get_xydata(), dtype=float).T
    left, right = sorted(axes.get_xlim())
    is_visible = np.isfinite(y) & (x >= left) & (x <= right)
    y_end = y[is_visible][-1].clip(*sorted(axes.get_ylim()))
    return float(x[is_visible][-1]), float(y_end)
