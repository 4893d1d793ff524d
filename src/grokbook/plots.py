"""One look for all figures, and the few curves they share.

Colours are Okabe and Ito's, told apart by colour-blind readers; arms also differ in
line style where they cross. The ground is opaque white, legible in dark mode too.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from grokbook.records import Record

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#B8A800",
    "#333333",
)
WIDTH = 8.0  # inches at book width
Dashes: TypeAlias = str | tuple[float, tuple[float, ...]]
DASHED: Dashes = (0, (2, 1.5))


def use_style() -> None:
    """Set the book's style; call once, before the first figure of a page."""
    sns.set_theme(context="notebook", style="ticks", palette=COLOURS)
    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "figure.facecolor": "white",
            "axes.facecolor": "white",
            "savefig.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#E6E6E6",
            "axes.titlesize": 11,
            "axes.labelsize": 10.5,
            "xtick.labelsize": 9.5,
            "ytick.labelsize": 9.5,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "font.size": 10,
        }
    )


def panels(
    columns: int, *, rows: int = 1, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of book width with lettered panels; returns it and its flat axes."""
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, height * rows),
        layout="constrained",
        squeeze=False,
        **options,
    )
    return figure, axes.ravel()


def curve(
    axes: Axes,
    record: Record,
    arm: str,
    column: str,
    *,
    color: str,
    label: str | None = None,
    percent: bool = False,
    linestyle: Dashes = "-",
    seeds: bool = True,
) -> None:
    """One arm: every seed thin, their median thick, their range shaded."""
    series = record.series(arm, column) * (100 if percent else 1)
    series = series.dropna(how="all")
    middle = series.median(axis=1)
    if seeds and series.shape[1] > 1:
        axes.plot(series.index, series, color=color, lw=0.7, alpha=0.45, ls=linestyle)
        axes.fill_between(
            series.index,
            series.min(axis=1),
            series.max(axis=1),
            color=color,
            alpha=0.12,
            lw=0,
        )
    axes.plot(series.index, middle, color=color, ls=linestyle, label=label)


def accuracy(
    axes: Axes, record: Record, arm: str, *, color: str, label: str, seeds: bool = True
) -> None:
    """Test accuracy solid with its seeds, the median train accuracy dashed, in %."""
    curve(
        axes,
        record,
        arm,
        "test_accuracy",
        color=color,
        label=label,
        percent=True,
        seeds=seeds,
    )
    curve(
        axes,
        record,
        arm,
        "train_accuracy",
        color=color,
        percent=True,
        linestyle=DASHED,
        seeds=False,
    )
    axes.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(-3, 103))


def loss(
    axes: Axes,
    record: Record,
    arm: str,
    *,
    color: str,
    label: str | None = None,
) -> None:
    """Test loss solid with its seeds, the median train loss dashed."""
    curve(axes, record, arm, "test_loss", color=color, label=label)
    curve(axes, record, arm, "train_loss", color=color, linestyle=DASHED, seeds=False)
    axes.set(xlabel="epoch", ylabel="loss")


def shades(values: Sequence[Hashable]) -> dict[Hashable, str]:
    """A colour for each value of a sweep, darker from the first to the last."""
    scale, last = plt.get_cmap("viridis_r"), max(1, len(values) - 1)
    return {v: to_hex(scale(0.08 + 0.92 * i / last)) for i, v in enumerate(values)}


def mark(axes: Axes, epochs: Sequence[float], *, color: str) -> None:
    """Dotted vertical lines, one per seed, at events that happened."""
    for epoch in epochs:
        if np.isfinite(epoch):
            axes.axvline(epoch, color=color, ls=":", lw=1.1, alpha=0.8)


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Titles with panel letters: (a) ..., (b) ..."""
    for one, mark_, title in zip(axes, "abcdefgh", titles, strict=False):
        one.set_title(f"({mark_}) {title}", loc="left")


def thousands(axes: Axes) -> None:
    """Epoch axis in thousands with a k."""
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value / 1000:g}k" if value else "0"
    )
