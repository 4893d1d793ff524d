"""Panels of a page's figure for a slide: large letters, shown step by step."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from PIL import Image

from claimbook.plots import style
from claimbook.plots.picture import legend_texts, replace_legend, write_own_labels

_DPI = 150  # a slide is 12.8 inches wide, and a projector has 1920 pixels across
_LEAST = 18  # points of the smallest letter
_THICKER = 1.6  # as much as a slide is wider than a page


def slide(
    figure: Figure,
    panels: str,
    steps: Sequence[str],
    words: dict[str, str],
    height: float,
) -> list[bytes]:
    """Return PNGs of a figure that was drawn in the style of slides.

    ``panels`` are the letters of those to keep, such as "bc"; with "" all are kept.
    Each PNG shows one of the ``steps`` more than the one before it. A step is a label
    that has a colour of its own in the book, or the name of an ink, and stands for all
    that is drawn in this colour; what has the colour of no step is in every PNG.
    Without steps one panel comes after the other. ``words`` maps words in the figure to
    those that replace them, such as names that only its page explains. ``height`` is in
    inches, of which a slide has 7.2. The figure is changed. Raises KeyError for an
    unknown letter or step.
    """
    # {letter: panel}; `write_own_labels` returns a dict whose keys are the panels
    axes_of = dict(zip("abcdefgh", write_own_labels(figure), strict=False))
    kept = [axes_of[letter] for letter in panels or axes_of]
    removed = [axes for axes in axes_of.values() if axes not in kept]
    _forget(figure, removed, kept)
    for axes in removed:
        axes.remove()
    if panels:
        grid = GridSpec(1, len(kept), figure)
        for place, axes in enumerate(kept):
            axes.set_subplotspec(grid[place])
    _enlarge(figure, kept, words, height)
    inks = style.INKS | style.colours()
    # what each step adds, by default a panel
    parts: list[list[Artist]] = [[axes] for axes in kept]
    if steps:
        inside = [artist for axes in kept for artist in axes.get_children()]
        parts = [
            [x for x in inside if _colour(x) == inks[name].lower()] for name in steps
        ]
    pictures = []
    for shown_count in range(1, len(parts) + 1):
        for index, artists in enumerate(parts):
            for artist in artists:
                artist.set_visible(index < shown_count)
        pictures.append(_png(figure))
    return pictures


def _enlarge(
    figure: Figure, kept: Sequence[Axes], words: dict[str, str], height: float
) -> None:
    """Set size, letters, lines and words of a figure for a slide, and fix its layout.

    ``kept`` are its panels; ``words`` and ``height`` are as in `slide`.
    """
    for line in figure.findobj(Line2D):
        line.set(
            lw=_THICKER * line.get_linewidth(), ms=_THICKER * line.get_markersize()
        )
    figure.set_size_inches(plt.rcParams["figure.figsize"][0], height)
    figure.draw_without_rendering()  # only now have ticks and legends their words
    for text in figure.findobj(Text):
        text.set_fontsize(max(_LEAST, text.get_fontsize()))
        text.set_text(_slide_text(text, words))
    for axes in kept:
        for axis in (axes.xaxis, axes.yaxis):
            # tick labels that the page set: a drawing writes them anew as they were
            if isinstance(axis.get_major_locator(), FixedLocator):
                labels = [_slide_text(name, words) for name in axis.get_ticklabels()]
                axis.set_ticklabels(labels)
    figure.draw_without_rendering()  # lays out the larger letters
    figure.set_layout_engine("none")  # nothing moves from step to step


def _forget(figure: Figure, removed: Sequence[Axes], kept: Sequence[Axes]) -> None:
    """Take out of the figure's legends what only ``removed`` panels show.

    That is an entry that is labelled in a removed panel and in no kept one. It stays if
    a kept panel draws it without a label: in its colour, or with its marker, as the
    paper's own points.
    """
    gone = _labels(removed) - _labels(kept)
    looks = {
        look
        for axes in kept
        for artist in (*axes.lines, *axes.collections, *axes.patches)
        for look in _looks(artist)
    }
    for legend in list(figure.legends):
        names = legend_texts(legend)
        remaining = [
            (handle, name)
            for handle, name in zip(legend.legend_handles, names, strict=True)
            if handle and (name not in gone or looks & _looks(handle))
        ]
        if len(remaining) < len(names):
            columns = min(4, len(remaining))
            replace_legend(figure, legend, remaining, columns=columns)


def _labels(panels: Sequence[Axes]) -> set[str]:
    """Return the labels that a legend of some panels would have."""
    labels = set[str]()
    for axes in panels:
        _, names = axes.get_legend_handles_labels()
        labels.update(names)
    return labels


def _looks(artist: Any) -> set[str]:
    """Return the colour and the marker, if any, of an artist of a panel or a legend.

    `_forget` compares them: the colour is "#rrggbb", the marker "D" for diamonds.
    """
    marker = artist.get_marker() if isinstance(artist, Line2D) else "None"
    return {_colour(artist), str(marker)} - {"None", "none", ""}


def _png(figure: Figure) -> bytes:
    """Return a PNG of a figure as it is now, in 256 colours.

    They are chosen many times faster than `picture.png_and_size` chooses them.
    """
    original, small = io.BytesIO(), io.BytesIO()
    figure.savefig(original, format="png", dpi=_DPI)
    image = Image.open(original).convert("RGB")
    image.quantize(256, Image.Quantize.FASTOCTREE).save(small, "PNG")
    return small.getvalue()


def _slide_text(text: Text, words: dict[str, str]) -> str:
    """Return what a text says on a slide: without the letter of a panel, "(a) ".

    ``words`` are as in `slide`: each is replaced wherever it stands.
    """
    shown = re.sub(r"^\([a-h]\) ", "", text.get_text())
    for old, new in words.items():
        shown = shown.replace(old, new)
    return shown


def _colour(artist: Any) -> str:
    """Return the colour of a line, a text, a bar or a cloud of points as "#rrggbb".

    What has no colour, such as an axis, counts as black.
    """
    read = getattr(artist, "get_color", None) or getattr(artist, "get_facecolor", None)
    colour = read() if read else "none"  # which `to_hex` turns into black
    # a cloud has a row (red, green, blue, opacity) for each colour of its points
    if getattr(colour, "ndim", 1) == 2 and len(colour):
        colour = colour[0]
    return to_hex(colour)
