"""The picture that a page keeps of a figure, and a digest of what it shows.

A page executed anew on another machine may have other pixels, as fonts and versions do,
but the same curves. The digest is of the data and the words: it can be compared.
"""

import base64
import io
import json
from hashlib import sha256
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryLocator
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from PIL import Image

from grokbook.plots.labels import spread
from grokbook.plots.style import DPI
from grokbook.project import FIGURE_MIME

_SHARP = 2  # pixels per CSS pixel, as screens have them
# Round numbers lie between two roundings (0.123455); moved by this they never do, so
# that noise in the last bit changes no digit.
_OFF_TIES = 1 + 3.7e-6
_NOUGHT = 1e-9  # of the largest value beside it; less is rounding noise about zero


class Picture:
    """A PNG for a notebook, with what it shows as JSON and as one line of text."""

    def __init__(self, png: bytes, size: tuple[int, int], shown: dict[str, Any]):
        self.png, self.size, self.shown = png, size, shown

    def __repr__(self) -> str:
        panels, lines = self.shown["axes"], self.shown["lines"]
        told = f"{panels} panel{'s' * (panels != 1)}, {lines} line{'s' * (lines != 1)}"
        return f"figure: {told}"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and metadata; the size is in CSS pixels, half of those there are."""
        width, height = self.size
        data = {
            "text/plain": repr(self),
            "image/png": base64.b64encode(self.png).decode(),
            FIGURE_MIME: self.shown,
        }
        return data, {"image/png": {"width": width, "height": height}}


def show(figure: Figure) -> Picture:
    """Draw a figure and close it; the last line of a cell of a page.

    Closed, it is not drawn a second time at the end of the cell.
    """
    spread(figure)
    shown = described(figure)
    png, size = drawn(figure)
    plt.close(figure)
    return Picture(png, size, shown)


def drawn(figure: Figure) -> tuple[bytes, tuple[int, int]]:
    """A sharp PNG of a figure, and its size in CSS pixels."""
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=_SHARP * DPI)
    # with 256 colours a third of the size; k-means gives thin curves theirs back
    colours = Image.open(full).convert("RGB")
    image = colours.quantize(256, kmeans=1, dither=Image.Dither.NONE)
    image.save(small, "PNG", optimize=True)
    return small.getvalue(), (image.width // _SHARP, image.height // _SHARP)


def described(figure: Figure) -> dict[str, Any]:
    """The digest of what is drawn, and how much of it there is.

    Panels, limits, scales, words and data count; size, fonts and colours do not.
    Numbers count to five significant digits.
    """
    words = [text.get_text() for text in figure.texts]  # where is the layout's choice
    words += [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    every: list[Any] = [*figure.axes, *(c for a in figure.axes for c in a.child_axes)]
    text = json.dumps([words, *map(_content, every)], ensure_ascii=False)
    kinds = ("lines", "collections", "patches")
    counts = {kind: sum(len(getattr(axes, kind)) for axes in every) for kind in kinds}
    return {"sha256": sha256(text.encode()).hexdigest(), "axes": len(every)} | counts


def _content(axes: Axes) -> dict[str, Any]:
    legend = axes.get_legend()
    return {
        "titles": [axes.get_title(loc=where) for where in ("left", "center", "right")],
        "axes": [axes.get_xlabel(), axes.get_ylabel()],
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "limits": _points(axes, np.column_stack([axes.get_xlim(), axes.get_ylim()])),
        "ticks": [_ticks(axes.xaxis), _ticks(axes.yaxis)],
        "lines": [(_name(one), _points(axes, one.get_xydata())) for one in axes.lines],
        "collections": [
            [
                _name(one),
                _points(axes, one.get_offsets()),
                [_points(axes, path.vertices) for path in one.get_paths()],
                [] if one.get_array() is None else _digits(one.get_array()),
            ]
            for one in axes.collections
        ],
        "patches": [(_name(one), _corners(axes, one)) for one in axes.patches],
        "images": [
            (_digits(i.get_array()), _digits(i.get_extent())) for i in axes.images
        ],
        "texts": [_words(text) for text in axes.texts],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
    }


def _ticks(axis: Axis) -> list[str]:
    """The names at ticks that a page set; others follow from the limits."""
    if not isinstance(axis.get_major_locator(), FixedLocator | StrCategoryLocator):
        return []
    return [label.get_text() for label in axis.get_ticklabels()]


def _name(artist: Any) -> str:
    """Its label; matplotlib's own begin with an underscore and say nothing."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _corners(axes: Axes, one: Patch) -> list[list[str]]:
    """Those of a patch; the outline of an arrow is in pixels, and is left out."""
    if isinstance(one, FancyArrowPatch):
        return []
    return _points(
        axes, one.get_patch_transform().transform_path(one.get_path()).vertices
    )


def _words(text: Text) -> list[Any]:
    """What it says and where, as far as that is no matter of points or pixels."""
    if not isinstance(text, Annotation):
        return [text.get_text(), _digits(text.get_position())]
    placed = text.get_position() if text.anncoords == "data" else ()
    return [text.get_text(), _digits(text.xy), _digits(placed)]


def _points(axes: Axes, points: Any) -> list[list[str]]:
    """The x and the y of points; small values count on a logarithmic axis."""
    scales = axes.get_xscale(), axes.get_yscale()
    pairs = zip(_numbers(points).reshape(-1, 2).T, scales, strict=True)
    return [_digits(values, tiny=scale != "linear") for values, scale in pairs]


def _digits(values: Any, *, tiny: bool = False) -> list[str]:
    """Values to five significant digits; NaN stays, and noise about zero is zero."""
    found = _numbers(values).ravel()
    finite = np.abs(found[np.isfinite(found)])
    if len(finite) and not tiny:
        found = np.where(np.abs(found) < _NOUGHT * finite.max(), 0.0, found)
    return [f"{value:.4e}" for value in (found * _OFF_TIES + 0.0).tolist()]


def _numbers(values: Any) -> np.ndarray:
    """Values as floats, NaN where they are masked."""
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
