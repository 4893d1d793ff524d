"""The style of all figures: one colour per thing in the whole book, panels, letters.

The eight colours have a contrast of at least 3 on white (WCAG 2.1, 1.4.11), and any two
stay apart where red and green are not told apart: they differ in lightness, not in hue
alone. A test computes both. Sizes of letters and lines are in book.mplstyle.
"""

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from claimbook import project

BLUE, ORANGE, GREEN, RED = "#0D74D9", "#CD7B1A", "#32A285", "#D92C56"
PURPLE, SKY, YELLOW, BLACK = "#4800AD", "#2895BD", "#594800", "#212121"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK)
NAMES = ("blue", "orange", "green", "red", "purple", "sky", "yellow", "black")
INKS = dict(zip(NAMES, COLOURS, strict=True))
GREY = "#6B6B6B"  # what is not a curve: arrows, and lines that mark a level


@cache
def colours() -> dict[str, str]:
    """Return the hex colour of each label that "colours" of book/project.yaml has.

    There the labels are listed under the name of an ink, such as "blue". Without such a
    file the dict is empty; an ink that is not in ``INKS`` raises KeyError. Pages read
    the cached dict as ``plots.COLOUR`` and never change it.
    """
    labels_by_ink = project.part("colours").items()
    return {label: INKS[ink] for ink, labels in labels_by_ink for label in labels}


def use_style() -> None:
    """Set the book's style; call once, before the first figure of a page."""
    sns.set_theme(style="ticks", palette=COLOURS)
    plt.style.use("claimbook.plots.book")


def shades(values: Sequence[Hashable]) -> dict[Hashable, str]:
    """Return a hex colour for each value of a sweep, darker from first to last.

    The lightest, which a single value gets, has a contrast of 3 on white.
    """
    # (values, 4): red, green, blue and opacity
    scale = plt.get_cmap("viridis_r")(np.linspace(0.42, 1, len(values)))
    return dict(zip(values, map(to_hex, scale), strict=True))


def panels(
    columns: int, *, rows: int = 1, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure as wide as the style says, and a flat array of its axes.

    ``columns`` and ``rows`` are numbers of panels. ``height`` is that of a row in
    inches where the style is 8 inches wide, and grows with its width; ``options`` go to
    `plt.subplots`.
    """
    width = plt.rcParams["figure.figsize"][0]
    figure, axes = plt.subplots(
        rows,
        columns,
        squeeze=False,
        figsize=(width, height * rows * width / 8),
        layout="constrained",
        **options,
    )
    return figure, axes.ravel()


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Set the titles of panels, each after its letter: "(a) ...", "(b) ...".

    Panels beyond the titles, and beyond (h), get none.
    """
    for panel, mark, title in zip(axes, "abcdefgh", titles, strict=False):
        panel.set_title(f"({mark}) {title}", loc="left")


def thousands(axes: Axes) -> None:
    """Write the ticks of the x axis in thousands, "20k" for 20,000.

    Ticks below 100, as those of a smoke test, and negative ones are written as they
    are.
    """
    axes.xaxis.set_major_formatter(
        lambda x, _: f"{x / 1000:g}k" if x >= 100 else f"{x:g}"
    )
