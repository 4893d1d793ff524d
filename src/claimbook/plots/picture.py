"""The picture that a page keeps of a figure, and a digest of what it shows.

Fonts and versions change pixels from machine to machine, not the data and the words.
"""

import base64
import io
import json
import os
import re
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from PIL import Image

from claimbook.project import FIGURE_MIME

_SHARP = 2  # pixels per CSS pixel, as screens have them


class Picture:
    """A figure for a notebook: a PNG, and what it shows, as JSON and as a line."""

    def __init__(self, figure: Figure):
        self.shown = described(figure)
        self.png, self.size = drawn(figure)
        stack(figure)
        self.narrow, _ = drawn(figure, sharp=1.25)

    def __repr__(self) -> str:
        panels, lines = self.shown["axes"], self.shown["lines"]
        told = f"{panels} panel{'s' * (panels != 1)}, {lines} line{'s' * (lines != 1)}"
        return f"figure: {told}"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and metadata: the size in CSS pixels, and the PNG for a phone."""
        png = base64.b64encode(self.png).decode()
        data = {"text/plain": repr(self), "image/png": png, FIGURE_MIME: self.shown}
        about: dict[str, Any] = dict(zip(("width", "height"), self.size, strict=True))
        about["narrow"] = base64.b64encode(self.narrow).decode()
        return data, {"image/png": about}


def show(figure: Figure) -> Picture:
    """Draw a figure and close it: the last line of a cell of a page."""
    picture = Picture(figure)
    plt.close(figure)
    if folder := os.environ.get("GROKBOOK_FIGURES"):  # of a page that is a script
        Path(folder, picture.shown["sha256"][:12] + ".png").write_bytes(picture.png)
    return picture


def stack(figure: Figure) -> None:
    """Put the panels of a figure below each other, as wide as a phone.

    Each gets the words at its axes that only the outer ones had. Panels without a title
    follow the one above them, else all stay in their order.
    """
    every = ((axes, axes.get_subplotspec()) for axes in figure.axes)
    placed = {axes: spec for axes, spec in every if spec}
    words: dict[tuple[str, int], str] = {}
    for axes, spec in placed.items():
        words.setdefault(("y", spec.rowspan.start), axes.get_ylabel())
        words["x", spec.colspan.start] = axes.get_xlabel()
    specs = list(dict.fromkeys(placed.values()))
    if not all(axes.get_title("left") for axes in placed):
        specs.sort(key=lambda spec: (spec.colspan.start, spec.rowspan.start))
    high = figure.get_figheight() / max(spec.rowspan.stop for spec in specs)
    grid = GridSpec(len(specs), 1, figure)
    for axes, spec in placed.items():
        named = axes.get_xlabel() or words["x", spec.colspan.start]
        axes.set_xlabel(fill(named, 38))
        if any(len(name) > 5 for name in _ticks(axes.xaxis)):
            axes.tick_params(axis="x", labelrotation=30)
        axes.set_ylabel(axes.get_ylabel() or words["y", spec.rowspan.start])
        axes.tick_params(labelleft=True, labelbottom=True)
        axes.set_subplotspec(grid[specs.index(spec)])
    for legend in list(figure.legends):
        names = [text.get_text() for text in legend.get_texts()]
        handles: Any = legend.legend_handles
        figure.legend(handles, names, loc="outside upper center", ncols=2)
        legend.remove()
    figure.set_size_inches(4.0, max(2.4, 0.85 * high) * len(specs))


def drawn(figure: Figure, sharp: float = _SHARP) -> tuple[bytes, tuple[int, int]]:
    """A sharp PNG of a figure, and its size in CSS pixels."""
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=sharp * figure.dpi)
    # with 256 colours a third of the size; k-means gives thin curves theirs back
    whole = Image.open(full).convert("RGB")
    image = whole.quantize(256, kmeans=1, dither=Image.Dither.NONE)
    image.save(small, "PNG", optimize=True)
    return small.getvalue(), (image.width // _SHARP, image.height // _SHARP)


def described(figure: Figure) -> dict[str, Any]:
    """The digest of what is drawn, and how much of it there is.

    Panels, limits, scales, words and data count; size, fonts and colours do not.
    Numbers count to five significant digits.
    """
    every = figure.axes
    words = [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    text = json.dumps([words, *map(_content, every)], ensure_ascii=False)
    kinds = ("lines", "collections", "patches")
    counts = {kind: sum(len(getattr(axes, kind)) for axes in every) for kind in kinds}
    about: dict[str, Any] = {"sha256": sha256(text.encode()).hexdigest()}
    about |= {"axes": len(every)} | counts
    return about | {"numbers": _numbers(figure)}


NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
MARKS = 60  # a line of more points is a curve, of which its end alone is a mark


def _numbers(figure: Figure) -> list[str]:
    """What a reader can read off: the numbers in its words, and where its marks are.

    Marks are points with a marker, bars, lines across a panel, and ends of curves.
    """
    legends = [legend for legend in (figure.legends) if legend]
    words = [text.get_text() for legend in legends for text in legend.get_texts()]
    found: list[float] = []
    for axes in figure.axes:
        if legend := axes.get_legend():
            words += [text.get_text() for text in legend.get_texts()]
        words += [axes.get_title(loc=where) for where in ("left", "center", "right")]
        words += [axes.get_xlabel(), axes.get_ylabel()]
        words += [*_ticks(axes.xaxis), *_ticks(axes.yaxis)]
        words += [text.get_text() for text in axes.texts]
        for line in axes.lines:
            found += _marks(np.asarray(line.get_xydata(), dtype=float))
        for many in axes.collections:
            points = np.reshape(many.get_offsets(), (-1, 2)).astype(float)
            found += _marks(points) if len(points) <= MARKS else []
        for patch in axes.patches:
            found += _marks(np.asarray(_corners(patch), dtype=float))
        for image in axes.images:
            found += np.asarray(image.get_array(), dtype=float).ravel()[:MARKS].tolist()
    said = [one.replace(",", "") for text in words for one in NUMBER.findall(text)]
    every = [*map(float, said), *(one for one in found if np.isfinite(one))]
    # moved as in `_digits`, so that another processor prints the same
    return sorted({f"{one * (1 + 3.7e-6):.4g}" for one in every}, key=float)


def _marks(points: np.ndarray) -> list[float]:
    """The coordinates of a few points; of a curve those of its last one."""
    points = points[np.isfinite(points).all(axis=1)]
    kept = points if len(points) <= MARKS else points[-1:]
    return kept.ravel().tolist()


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
        "patches": [(_name(one), _points(axes, _corners(one))) for one in axes.patches],
        "images": [
            (_digits(i.get_array()), _digits(i.get_extent())) for i in axes.images
        ],
        "texts": [_words(text) for text in axes.texts],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
    }


def _corners(patch: Patch) -> Any:
    return patch.get_patch_transform().transform_path(patch.get_path()).vertices


def _ticks(axis: Axis) -> list[str]:
    """The names at ticks that a page set; others follow from the limits."""
    named = isinstance(axis.get_major_locator(), FixedLocator)
    return [label.get_text() for label in axis.get_ticklabels()] if named else []


def _name(artist: Any) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") else label  # one of matplotlib's own


def _words(text: Text) -> list[Any]:
    """What it says and where, as far as that is no matter of points or pixels."""
    if not isinstance(text, Annotation):
        return [text.get_text(), _digits(text.get_position())]
    placed = text.get_position() if text.anncoords == "data" else ()
    return [text.get_text(), _digits(text.xy), _digits(placed)]


def _points(axes: Axes, points: Any) -> list[list[str]]:
    """The x and the y of points; small values count on a logarithmic axis."""
    scales = axes.get_xscale(), axes.get_yscale()
    pairs = zip(np.reshape(points, (-1, 2)).T, scales, strict=True)
    return [_digits(values, tiny=scale != "linear") for values, scale in pairs]


def _digits(values: Any, *, tiny: bool = False) -> list[str]:
    """Values to five significant digits; NaN stays.

    Less than 1e-9 of the largest is noise about zero. Round numbers are moved off from
    between two roundings (0.123455), so that noise changes no digit.
    """
    found = np.asarray(values, dtype=float).ravel()
    if not tiny:
        largest = np.abs(found[np.isfinite(found)]).max(initial=0)
        found = np.where(np.abs(found) < 1e-9 * largest, 0.0, found)
    return [f"{value:.4e}" for value in (found * (1 + 3.7e-6) + 0.0).tolist()]
