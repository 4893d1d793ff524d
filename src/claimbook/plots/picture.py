"""The picture that a page keeps of a figure, and a digest of what it shows.

Fonts and versions change pixels from machine to machine, not the data and the words.
"""

import base64
import io
import json
import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from PIL import Image

from claimbook import project
from claimbook.plots.curves import tell_apart
from claimbook.project import FIGURE_MIME

# numbers in words, such as "-1,234.5" and "2e-5", not those in names, such as "x2"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
MARKS = 60  # a line of more points is a curve, of which its end alone is a mark
_SHARP = 2  # pixels per CSS pixel, as screens have them
_NUDGE = 1 + 3.7e-6  # moves round numbers off from between two roundings


class Picture:
    """A figure for a notebook: a PNG, one for phones, and what it shows.

    ``png`` is the PNG, as bytes, and ``size`` its (width, height) in CSS pixels;
    ``narrow`` is the PNG for phones, with panels stacked; ``shown`` is the
    `shown_content` of the figure. In a page that trains anew ``narrow`` is empty, as
    such a page is not part of the website. In any other one the figure itself is
    changed: `one_column` rearranges it for ``narrow``, after all else is taken from it.
    """

    narrow = b""

    def __init__(self, figure: Figure):
        self.shown = shown_content(figure)
        self.png, self.size = png_and_size(figure)
        if not project.is_retrained:
            one_column(figure)
            self.narrow, _ = png_and_size(figure, sharp=1.25)

    def __repr__(self) -> str:
        panels, lines = self.shown["axes"], self.shown["lines"]
        panel_noun = "panel" if panels == 1 else "panels"
        line_noun = "line" if lines == 1 else "lines"
        return f"figure: {panels} {panel_noun}, {lines} {line_noun}"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (data by MIME type, metadata of the PNG), as IPython asks for them.

        The metadata are its size in CSS pixels and, if there is a PNG for phones, the
        base64 of that.
        """
        png = base64.b64encode(self.png).decode()
        data = {"text/plain": repr(self), "image/png": png, FIGURE_MIME: self.shown}
        width, height = self.size
        metadata: dict[str, Any] = {"width": width, "height": height}
        if self.narrow:
            metadata["narrow"] = base64.b64encode(self.narrow).decode()
        return data, {"image/png": metadata}


def show(figure: Figure) -> Picture:
    """Return a figure as a `Picture` and close it: the last line of a cell of a page.

    If GROKBOOK_FIGURES names a folder, the PNG is also written there, under the first
    twelve digits of the "sha256" in ``Picture.shown``. A figure with curves of the book
    behind those of a reader gets a legend that says so, and "has_book" in ``shown``.
    """
    if project.is_retrained:
        _say_where_empty(figure)
    has_book = tell_apart(figure)
    _outline_words(figure)
    picture = Picture(figure)
    if has_book:
        picture.shown["has_book"] = True
    plt.close(figure)
    if folder := os.environ.get("GROKBOOK_FIGURES"):  # for pages run as scripts
        Path(folder, picture.shown["sha256"][:12] + ".png").write_bytes(picture.png)
    return picture


def _outline_words(figure: Figure) -> None:
    """Give the words in panels a white outline, which parts them from lines below.

    White words, as on dark bars, and those in a box or on an image stay as they are.
    """
    for axes in figure.axes:
        for text in axes.texts:
            is_white = to_hex(text.get_color()) == "#ffffff"
            if not (is_white or text.get_bbox_patch() or axes.images):
                text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def _say_where_empty(figure: Figure) -> None:
    """Write the reason into each panel of lines in which no point of a line lies.

    In a short rerun the runs may end before an axis begins, or stay beyond its limits.
    Panels with bars or images are left as they are, and so are all that show a point.
    """
    for axes in figure.axes:
        if axes.images or axes.patches:
            continue
        # not those across the whole panel, as `axhline` draws them
        lines = [line for line in axes.lines if line.get_transform() == axes.transData]
        # (N, 2) each; the empty one is for a panel without lines
        points = [np.asarray(line.get_xydata(), dtype=float) for line in lines]
        x, y = np.concatenate([*points, np.empty((0, 2))]).T  # (points,) each
        left, right = sorted(axes.get_xlim())
        low, high = sorted(axes.get_ylim())
        # NaN is not inside
        is_inside = (left <= x) & (x <= right) & (low <= y) & (y <= high)
        if is_inside.any():
            continue
        ends_before = np.isfinite(y).any() and x[np.isfinite(y)].max() < left
        words = (
            "runs end before\nthis axis begins" if ends_before else "no run comes here"
        )
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center")


def one_column(figure: Figure) -> None:
    """Put the panels of a figure below each other, 4 inches wide, as for a phone.

    The panels stay in their order, unless one has no title: then they go column by
    column, so that such a panel follows the one above it. Panels with a second y axis
    stay one. Long titles and labels are broken or turned, and legends of the figure
    have two columns, or one if two of their longest words do not fit side by side.
    """
    spec_of = write_own_labels(figure)
    # the places of the panels in the old grid: two axes in the same place share one
    specs = list(dict.fromkeys(spec_of.values()))
    if not all(axes.get_title("left") for axes in spec_of):
        specs.sort(key=lambda spec: (spec.colspan.start, spec.rowspan.start))
    # of the old grid, in inches
    row_height = figure.get_figheight() / max(spec.rowspan.stop for spec in specs)
    grid = GridSpec(len(specs), 1, figure)
    for axes, spec in spec_of.items():
        axes.set_xlabel(fill(axes.get_xlabel(), 38))
        lines = axes.get_title("left").splitlines()
        if any(len(line) > 38 for line in lines):
            title = "\n".join(fill(line, 38) for line in lines)
            axes.set_title(title, loc="left")
        if any(len(name) > 5 for name in _ticks(axes.xaxis)):
            axes.tick_params(axis="x", labelrotation=30)
        axes.set_subplotspec(grid[specs.index(spec)])
    for legend in list(figure.legends):
        labels = legend_texts(legend)
        entries = zip(legend.legend_handles, labels, strict=True)
        do_two_fit = sum(sorted(map(len, labels))[-2:]) <= 36  # letters
        replace_legend(figure, legend, list(entries), columns=2 if do_two_fit else 1)
    figure.set_size_inches(4.0, max(2.4, 0.85 * row_height) * len(specs))


def replace_legend(
    figure: Figure, old: Legend, entries: list[tuple[Any, str]], columns: int
) -> None:
    """Remove a legend of a figure, and add one of ``entries`` (handle, label) instead.

    Without entries none is added. The new one is above the figure, or below it if the
    old one's gid is "lower", which `tell_apart` sets.
    """
    old.remove()
    if entries:
        handles, labels = zip(*entries, strict=True)
        place: Any = f"outside {old.get_gid() or 'upper'} center"
        figure.legend(handles, labels, loc=place, ncols=columns)


def write_own_labels(figure: Figure) -> dict[Axes, SubplotSpec]:
    """Write labels and ticks that only the outer panels had at each panel.

    A panel without a label gets the y label of the first panel in its row, or the x
    label of the last in its column. Returns the place of every panel in the grid, in
    the order of the panels; a colour bar has no place and is left out.
    """
    spec_of = {}
    for axes in figure.axes:
        if spec := axes.get_subplotspec():
            spec_of[axes] = spec
    ylabel_of_row: dict[int, str] = {}
    xlabel_of_column: dict[int, str] = {}
    for axes, spec in spec_of.items():
        ylabel_of_row.setdefault(spec.rowspan.start, axes.get_ylabel())  # the first
        xlabel_of_column[spec.colspan.start] = axes.get_xlabel()  # the last
    for axes, spec in spec_of.items():
        axes.set_xlabel(axes.get_xlabel() or xlabel_of_column[spec.colspan.start])
        axes.set_ylabel(axes.get_ylabel() or ylabel_of_row[spec.rowspan.start])
        axes.tick_params(labelleft=True, labelbottom=True)
    return spec_of


def png_and_size(
    figure: Figure, sharp: float = _SHARP
) -> tuple[bytes, tuple[int, int]]:
    """Return a PNG of a figure, in 256 colours, and its (width, height) in CSS pixels.

    The PNG has ``sharp`` pixels per CSS pixel, in either direction.
    """
    original, compressed = io.BytesIO(), io.BytesIO()
    figure.savefig(original, format="png", dpi=sharp * figure.dpi)
    # with 256 colours a third of the size, chosen such that thin curves have theirs
    image = Image.open(original).convert("RGB")
    palette_image = image.quantize(
        256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    palette_image.save(compressed, "PNG", optimize=True)
    return compressed.getvalue(), (
        round(image.width / sharp),
        round(image.height / sharp),
    )


def shown_content(figure: Figure) -> dict[str, Any]:
    """Return a digest of what a figure shows, with counts of its parts and its numbers.

    The entries are "sha256", the digest; "axes", "lines", "collections" and "patches",
    how many there are; and "numbers", see `_numbers`. The digest covers panels, limits,
    scales, words and data, these to five significant digits; it does not cover size,
    fonts and colours.
    """
    panels = figure.axes
    words = [text for legend in figure.legends for text in legend_texts(legend)]
    contents = [_content(axes) for axes in panels]
    # the words of legends alone: those of the panels are in the contents
    text = json.dumps([words, *contents], ensure_ascii=False)
    digest = sha256(text.encode()).hexdigest()
    kinds = ("lines", "collections", "patches")
    counts = {kind: sum(len(getattr(axes, kind)) for axes in panels) for kind in kinds}
    for content in contents:
        words += [*content["legend"], *content["titles"], *content["axes"]]
        words += [name for names in content["ticks"] for name in names]
        words += [text for text, *_ in content["texts"]]
    numbers = _numbers(words, panels)
    return {"sha256": digest, "axes": len(panels), **counts, "numbers": numbers}


def _numbers(words: Iterable[str], panels: Iterable[Axes]) -> list[str]:
    """Return the numbers that a reader can read off, ascending, each once, as text.

    They have four digits. They are the numbers in all ``words`` of a figure, and the
    coordinates of the marks in its panels (see `_marks`): of lines, clouds of at most
    ``MARKS`` points and bars. The first ``MARKS`` pixels of each image count too. NaN
    and infinity are left out.
    """
    coordinates: list[float] = []
    for axes in panels:
        for line in axes.lines:
            coordinates += _marks(np.asarray(line.get_xydata(), dtype=float))
        for collection in axes.collections:
            points = np.reshape(collection.get_offsets(), (-1, 2)).astype(float)
            if len(points) <= MARKS:  # a larger cloud has no end, as a curve has
                coordinates += _marks(points)
        for patch in axes.patches:
            coordinates += _marks(np.asarray(_corners(patch), dtype=float))
        for image in axes.images:
            pixels = np.asarray(image.get_array(), dtype=float).ravel()
            coordinates += pixels[:MARKS].tolist()
    written = [n.replace(",", "") for text in words for n in NUMBER.findall(text)]
    numbers = [*map(float, written), *(x for x in coordinates if np.isfinite(x))]
    # nudged, as in `_digits`, so that another processor prints the same
    return sorted({f"{x * _NUDGE:.4g}" for x in numbers}, key=float)


def _marks(points: np.ndarray) -> list[float]:
    """Return the coordinates of those points (N, 2) that a reader can read off.

    Of the finite points these are all if there are at most ``MARKS``; of more, which
    are a curve, the last one.
    """
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) > MARKS:
        points = points[-1:]
    return points.ravel().tolist()  # flat: x1, y1, x2, y2, ...


def _content(axes: Axes) -> dict[str, Any]:
    """Return all that a panel shows, without its style, as plain data for a digest."""
    # (2, 2): the lower left corner, the upper right one
    limits = np.column_stack([axes.get_xlim(), axes.get_ylim()])
    return {
        "titles": [axes.get_title(loc=side) for side in ("left", "center", "right")],
        "axes": [axes.get_xlabel(), axes.get_ylabel()],
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "limits": _points(axes, limits),
        "ticks": [_ticks(axes.xaxis), _ticks(axes.yaxis)],
        "lines": [(_name(x), _points(axes, x.get_xydata())) for x in axes.lines],
        "collections": [_collection_content(axes, x) for x in axes.collections],
        "patches": [(_name(x), _points(axes, _corners(x))) for x in axes.patches],
        "images": [
            (_digits(x.get_array()), _digits(x.get_extent())) for x in axes.images
        ],
        "texts": [_words(text) for text in axes.texts],
        "legend": legend_texts(axes.get_legend()),
    }


def _collection_content(axes: Axes, collection: Collection) -> list[Any]:
    """Return [label, offsets, outlines, values] of a collection, such as a scatter.

    It is plain data for a digest. The offsets are its points, the outlines the vertices
    of its shapes. The values are those that the colour map turns into colours, [] if
    there are none.
    """
    values = collection.get_array()
    return [
        _name(collection),
        _points(axes, collection.get_offsets()),
        [_points(axes, path.vertices) for path in collection.get_paths()],
        [] if values is None else _digits(values),
    ]


def legend_texts(legend: Legend | None) -> list[str]:
    """Return the labels that a legend shows; none if there is no legend."""
    return [text.get_text() for text in legend.get_texts()] if legend else []


def _corners(patch: Patch) -> Any:
    """Return the vertices (N, 2) of a patch in data coordinates."""
    return patch.get_patch_transform().transform_path(patch.get_path()).vertices


def _ticks(axis: Axis) -> list[str]:
    """Return the tick labels that a page set itself, [] if matplotlib chooses them."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return []
    return [label.get_text() for label in axis.get_ticklabels()]


def _name(artist: Any) -> str:
    """Return the label that a page gave an artist, or "" without one."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label  # "_child0" is matplotlib's own


def _words(text: Text) -> list[Any]:
    """Return [text, position], or for an annotation [text, arrow's tip, position].

    Of an annotation a position that is not in data coordinates is [], since it is
    layout and not data.
    """
    if not isinstance(text, Annotation):
        return [text.get_text(), _digits(text.get_position())]
    position = text.get_position() if text.anncoords == "data" else ()
    return [text.get_text(), _digits(text.xy), _digits(position)]


def _points(axes: Axes, points: Any) -> list[list[str]]:
    """Return [x, y] of points (N, 2), each a list of N strings as `_digits` writes it.

    On a linear axis values below 1e-9 of the largest become 0, on others none does: a
    logarithmic axis shows them.
    """
    scales = axes.get_xscale(), axes.get_yscale()
    pairs = zip(np.reshape(points, (-1, 2)).T, scales, strict=True)
    return [_digits(values, tiny=scale != "linear") for values, scale in pairs]


def _digits(values: Any, *, tiny: bool = False) -> list[str]:
    """Return values as strings of five significant digits, flat; "nan" and "inf" stay.

    Unless ``tiny`` values count, those below 1e-9 of the largest finite one are noise
    about zero and become 0. All values are nudged, so that noise about the border of
    two roundings (0.123455) changes no digit.
    """
    flat = np.asarray(values, dtype=float).ravel()
    if not tiny:
        largest = np.abs(flat[np.isfinite(flat)]).max(initial=0)
        flat = np.where(np.abs(flat) < 1e-9 * largest, 0.0, flat)
    # adding 0.0 turns -0.0 into 0.0
    return [f"{value:.4e}" for value in (flat * _NUDGE + 0.0).tolist()]
