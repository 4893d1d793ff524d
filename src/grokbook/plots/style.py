"""The style of all figures, and what is set on their axes.

Sizes are for a figure of `WIDTH` inches shown some 760 CSS pixels wide, where a letter
of 10.5 points is as high as one of the text.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grokbook.plots.colours import COLOURS

WIDTH = 8.0  # inches at book width
DPI = 110  # CSS pixels per inch of a figure


def use_style() -> None:
    """Set the book's style; call once, before the first figure of a page."""
    sns.set_theme(context="notebook", style="ticks", palette=COLOURS)
    plt.rcParams.update(
        {
            "figure.dpi": DPI,
            "figure.facecolor": "white",
            "axes.facecolor": "white",
            "savefig.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#E6E6E6",
            "axes.titlesize": 12,
            "axes.labelsize": 11.5,
            "xtick.labelsize": 10.5,
            "ytick.labelsize": 10.5,
            "legend.fontsize": 10.5,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "font.size": 10.5,
        }
    )


def panels(
    columns: int, *, rows: int = 1, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of book width, ``height`` inches a row; returns it and its flat axes."""
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, height * rows),
        layout="constrained",
        squeeze=False,
        **options,
    )
    return figure, axes.ravel()


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Titles with panel letters: (a) ..., (b) ..."""
    for one, mark, title in zip(axes, "abcdefgh", titles, strict=False):
        one.set_title(f"({mark}) {title}", loc="left")


def thousands(axes: Axes) -> None:
    """Epoch axis in thousands with a k."""
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value / 1000:g}k" if value else "0"
    )
