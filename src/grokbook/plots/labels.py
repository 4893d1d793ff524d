"""Words inside a figure: names at the ends of curves, and notes with an arrow.

Where labels end up depends on the finished layout, so `end_labels` only writes them and
`show` moves them apart.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from grokbook.plots.colours import BLACK, GREY

_OURS = "end label"  # the gid by which `spread` finds them


def end_labels(axes: Axes, *, pad: float = 4.0) -> None:
    """Write the name of each line at its right end, in its colour, with no legend.

    ``pad`` is the distance in points. Call it last, when the limits of the axes are
    set. Marks without a line, such as the paper's points, keep a small legend.
    """
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    for line in named:
        if line.get_linestyle() != "None" and (end := _end(axes, line)):
            axes.annotate(
                str(line.get_label()),
                end,
                (pad, 0),
                textcoords="offset points",
                color=line.get_color(),
                va="center",
                annotation_clip=False,
                gid=_OURS,
            )
    marks = {str(m.get_label()): m for m in named if m.get_linestyle() == "None"}
    if marks:
        axes.legend(handles=list(marks.values()), handlelength=1, handletextpad=0.4)


def note(
    axes: Axes, text: str, xy: tuple[float, float], xytext: tuple[float, float]
) -> None:
    """A short text at ``xytext`` and a grey arrow to ``xy``, both as data."""
    arrow = {"arrowstyle": "->", "color": GREY, "lw": 1.0, "shrinkB": 3}
    axes.annotate(text, xy, xytext, color=BLACK, ha="center", arrowprops=arrow)


def spread(figure: Figure) -> None:
    """Move the labels of `end_labels` up or down until none lies on another."""
    for axes in figure.axes:
        every = [text for text in axes.texts if isinstance(text, Annotation)]
        labels = [text for text in every if text.get_gid() == _OURS]
        if labels:
            figure.draw_without_rendering()  # the layout has to be final
            _stack(axes, labels, pixel=72 / figure.dpi)


def _end(axes: Axes, line: Line2D) -> tuple[float, float] | None:
    """The last point of a line that lies within the limits; None where none does."""
    x, y = np.asarray(line.get_xydata(), dtype=float).T
    left, right = sorted(axes.get_xlim())
    seen = np.flatnonzero(np.isfinite(y) & (x >= left) & (x <= right))
    if not len(seen):
        return None
    low, high = sorted(axes.get_ylim())
    return float(x[seen[-1]]), float(np.clip(y[seen[-1]], low, high))


def _stack(axes: Axes, labels: list[Annotation], *, pixel: float) -> None:
    """From the lowest up, each above those in its way, then down from the top.

    ``pixel`` is its size in points, in which labels are moved.
    """
    boxes = {label: label.get_window_extent() for label in labels}
    before = {label: box.y0 for label, box in boxes.items()}
    rising = sorted(labels, key=before.__getitem__)
    for order, up in ((rising, True), (rising[::-1], False)):
        for place, label in enumerate(order):
            box, done = boxes[label], [boxes[one] for one in order[:place]]
            beside = [b for b in done if b.x0 < box.x1 and box.x0 < b.x1]
            if up:
                shift = max(
                    [0, axes.bbox.y0 - box.y0, *(b.y1 - box.y0 for b in beside)]
                )
            else:
                shift = min(
                    [0, axes.bbox.y1 - box.y1, *(b.y0 - box.y1 for b in beside)]
                )
            boxes[label] = box.translated(0, shift)
    for label in labels:
        right, above = label.xyann
        label.xyann = (right, above + (boxes[label].y0 - before[label]) * pixel)
