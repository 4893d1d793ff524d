"""Pictures of the ideas, drawn for the front pages of the chapters and the glossary.

Every number in them is computed here: which floats there are, what a softmax leaves to
the runner-up, what a projection keeps. Drawn narrow, so that their words can be read on
a phone, as SVG without a date, so that the same code gives the same file.

`draw` writes them; `book/generated/ideas/` is where pages look for them.
"""

from __future__ import annotations

import io
import math
from base64 import b64decode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle
from nbformat import NotebookNode
from PIL import Image

from claimbook import papers, plots
from claimbook.plots import BLACK, BLUE, COLOUR, GREEN, GREY, ORANGE, RED
from grokbook import losses

if TYPE_CHECKING:
    from book._ext.entries import Entry

WIDTH = 4.5  # inches; on a phone 330 of its 432 pixels, so letters of 12 have 12 pixels
SIZE = 12
Vector = np.ndarray  # (2,)


def draw(folder: Path, pages: Iterable[Entry] = ()) -> list[Path]:
    """Write the pictures of ``IDEAS`` as SVG into a folder; return them in that order.

    Beside them are written the miniatures of ``pages`` that ask a question, and in the
    folder "thumbnails" next to it small plots of all others that have one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plots.use_style()
    files = []
    for name, picture in IDEAS.items():
        files.append(folder / f"{name}.svg")
        save_svg(files[-1], picture)
    moving = files[0].read_text(encoding="utf-8").replace("</svg>", f"{MOVES}</svg>")
    files[0].write_text(moving, encoding="utf-8")
    for page in pages:
        if page.paper == "questions":
            name = Path(page.document).name
            miniature(page.twin).save(folder / f"{name}.png", optimize=True)
        elif page.picture:
            small = folder.parent / "thumbnails" / f"{page.id}.png"
            small.parent.mkdir(parents=True, exist_ok=True)
            thumbnail(page.picture).save(small, optimize=True)
    return files


def save_svg(path: Path, picture: Callable[[], Figure]) -> None:
    """Draw a picture and write it as SVG; the same code gives the same file."""
    with plt.rc_context({"svg.hashsalt": path.stem, "font.size": SIZE}):
        figure = picture()
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)


def thumbnail(png: bytes) -> Image.Image:
    """Return a plot 480 pixels wide and high at most, of 32 colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.thumbnail((480, 480))
    return image.quantize(32)


def miniature(notebook: NotebookNode) -> Image.Image:
    """Return the first panel of an executed page's first plot, without its axes' words.

    It is cut out of the plot for a phone, where that panel stands on top. Raises
    StopIteration for a page without such a plot.
    """
    outputs = (o for cell in notebook.cells for o in cell.get("outputs", []))
    metadata = (o.get("metadata", {}).get("image/png", {}) for o in outputs)
    narrow = next(png["narrow"] for png in metadata if "narrow" in png)
    image = Image.open(io.BytesIO(b64decode(narrow))).convert("RGB")
    is_dark = np.asarray(image.convert("L")) < 90  # (rows, columns)
    left, low = corner(is_dark)
    # up along the left spine to its first pixel that is not dark
    top = low - int((~is_dark[:low, left][::-1]).argmax())
    image = image.crop((left, top, image.width, low + 1))
    image.thumbnail((256, 256))
    return image.quantize(32, kmeans=1)


def corner(is_dark: np.ndarray) -> tuple[int, int]:
    """Return (column, row) where left and lower spine of the uppermost panel meet.

    ``is_dark`` (rows, columns) says it of each pixel. The left spine is the first
    column that is dark for 60 pixels above a row, the lower one the first row that is
    dark from there to the end. A line that is drawn across a panel is shorter. Raises
    ValueError if there is no such place.
    """
    for low in np.flatnonzero(is_dark.mean(axis=1) > 0.4):
        above = np.asarray(is_dark[max(low - 60, 0) : low].all(axis=0))  # (columns,)
        left = int(above.argmax())
        if low >= 60 and above[left] and is_dark[low, left:].mean() > 0.9:
            return left, int(low)
    raise ValueError("the plot has no panel with a left and a lower spine")


# Grokking ----------------------------------------------------------------------------

# Every frame has the whole curve, the first one and print as it is. Then what the
# network has not lived yet is veiled, once; who wants no motion sees no veil.
MOVES = """<style>
#cover { transform: scaleX(0); transform-box: fill-box; transform-origin: right; }
#cover { animation: live 14s linear 4s; }
@keyframes live { from { transform: none } 75% { transform: scaleX(0) } }
@media (prefers-reduced-motion: reduce) { #cover { animation: none } }
@media print { #cover { animation: none } }
</style>"""


def grokking() -> Figure:
    """Draw what a recorded network gets right: its examples soon, all else late."""
    record, end = papers.record("singh2026/fig05"), 9000
    figure, (axes,) = panels(1, 2.2)
    for subset, color, words, place in (
        ("train", BLUE, "its examples", (400, 86)),
        ("test", ORANGE, "everything else", (400, 9)),
    ):
        table = record.series("No LN", f"{subset}_accuracy")  # (epochs, seeds)
        axes.plot(100 * table.iloc[:, 0].dropna().loc[:end], color=color, lw=2.5)
        axes.text(*place, words, color=color, fontweight="bold")
    veil = Rectangle((0, -4), end, 108, color="white", alpha=0.65, lw=0, zorder=2.4)
    veil.set_gid("cover")
    axes.add_patch(veil)
    axes.set(xlim=(0, end), ylim=(-4, 104), xlabel="epoch", ylabel="right answers (%)")
    return figure


# Absorption --------------------------------------------------------------------------


def sum_in_float32(gap: float) -> tuple[float, float]:
    """Return exp(-gap), and what float32 makes of 1 + exp(-gap), minus 1."""
    term = math.exp(-gap)
    return term, float(np.float32(1) + np.float32(term)) - 1


def absorption() -> Figure:
    """Draw two sums on the number line above 1: one term survives, one is lost."""
    figure, rows = panels(2, 1.6)
    for axes, gap in zip(rows, (15.5, 17.0), strict=True):
        term, kept = sum_in_float32(gap)
        scale = 1e7  # the axis counts ten-millionths above 1
        # 1 and the next float32 numbers above it
        ticks = scale * np.arange(4) * float(np.finfo(np.float32).eps)
        axes.plot(ticks, 0 * ticks, "|", color=BLACK, ms=22, mew=2)
        axes.axhline(0, color=GREY, lw=1, zorder=0)
        color = GREEN if kept else RED
        axes.plot(scale * term, 0, "o", color=color, ms=8, zorder=3)
        arrow = {"arrowstyle": "-|>", "color": color, "lw": 2}
        arrow["connectionstyle"] = "arc3,rad=0.5" if kept < term else "arc3,rad=-0.5"
        place = {"xy": (scale * kept, 0.02), "xytext": (scale * term, 0.02)}
        axes.annotate("", **place, arrowprops=arrow)
        words = "survives, rounded" if kept else "is absorbed"
        sentence = f"lead {gap:g}: 1 + {_in_powers_of_ten(term)} {words}"
        axes.text(-0.35, 0.75, sentence, color=color, va="center", fontweight="bold")
        axes.set(xlim=(-0.4, 3.9), ylim=(-0.35, 1), yticks=[])
        axes.set_xticks(ticks, ["1", *(f"+{t:.1f}" for t in ticks[1:])])
        axes.grid(False)
        axes.spines[["left", "bottom"]].set_visible(False)
    rows[0].tick_params(labelbottom=False)
    rows[1].set_xlabel("float32 numbers above 1, in units of 10⁻⁷")
    return figure


def _in_powers_of_ten(value: float) -> str:
    """Return "3.2 · 10⁻⁷" for 3.2e-07."""
    digits, exponent = f"{value:.1e}".split("e")
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"{digits} · 10{str(int(exponent)).translate(raised)}"


# Softmax and StableMax ---------------------------------------------------------------


def runner_up(gaps: np.ndarray, transform: Callable) -> np.ndarray:
    """Return the weight of the lower of two logits relative to the higher, (gaps,).

    They are gap/2 and -gap/2, and ``transform`` makes weights of logits: `torch.exp` in
    a softmax.
    """
    import torch

    half = torch.from_numpy(gaps) / 2
    return (transform(-half) / transform(half)).numpy()


def tails() -> Figure:
    """Draw the weight of the runner-up over the gap, and where a type absorbs it."""
    import torch

    figure, (axes,) = panels(1, 3.3)
    gaps = np.linspace(0, 45, 400)
    softmax = runner_up(gaps, torch.exp)
    stable = runner_up(gaps, losses.stablemax_transform)
    axes.plot(gaps, softmax, color=COLOUR["softmax"], lw=2.5)
    axes.plot(gaps, stable, color=COLOUR["StableMax"], lw=2.5)
    axes.text(45, stable[-1] * 9, "StableMax", color=COLOUR["StableMax"], ha="right")
    axes.text(11, 1e-9, "softmax", color=COLOUR["softmax"], ha="right")
    for dtype, x, side in ((np.float32, 45, "right"), (np.float64, 1, "left")):
        least = np.finfo(dtype).eps / 2  # half of the step from 1 to its neighbour
        axes.axhline(least, color=GREY, ls="--", lw=1.2)
        words = f"lost below, in {dtype.__name__}"
        axes.text(x, least * 2, words, color=GREY, ha=side)
    axes.set(yscale="log", xlabel="lead of the correct logit", xlim=(0, 46))
    axes.set(ylabel="weight of the runner-up", ylim=(1e-20, 10))
    return figure


# ⊥Grad -------------------------------------------------------------------------------


def split(weight: Vector, step: Vector) -> tuple[Vector, Vector]:
    """Return the part of a step along the weights, which ⊥Grad removes; the rest."""
    along = (weight @ step) / (weight @ weight) * weight
    return along, step - along


def projection() -> Figure:
    """Draw a step, the part of it along the weights, and what is left."""
    figure, (axes,) = panels(1, 3.2)
    weight, step = np.array([2.6, 1.3]), np.array([1.5, 1.7])
    along, kept = split(weight, step)
    _arrow(axes, weight, color=BLACK)
    tip = weight
    _arrow(axes, step, start=tip, color=GREY)
    _arrow(axes, along, start=tip, color=RED)
    _arrow(axes, kept, start=tip, color=BLUE)
    axes.plot(*zip(tip + kept, tip + step, strict=True), color=GREY, ls=":")
    axes.plot(*zip(tip + along, tip + step, strict=True), color=GREY, ls=":")
    axes.text(*(weight / 2 + [0.1, -0.28]), "weights", rotation=_degrees(weight))
    axes.text(*(tip + step + [0.1, 0]), "the step", color=GREY)
    words = "removed:\nscales the logits"
    axes.text(*(tip + along + [0.05, -0.3]), words, color=RED, va="top")
    axes.text(*(tip + kept + [-0.1, 0.1]), "kept by ⊥Grad", color=BLUE, ha="right")
    length, angle = float(np.linalg.norm(weight)), _degrees(weight)
    axes.add_patch(_arc(length, angle - 32, angle + 32, color=GREY))
    axes.set(xlim=(-0.2, 6.4), ylim=(-0.3, 3.9), aspect="equal")
    axes.axis("off")
    return figure


# From collapse to spike --------------------------------------------------------------


def spike() -> Figure:
    """Draw the two ways from a rounded gradient to a jump of the loss, as boxes."""
    figure, (axes,) = panels(1, 4.6)
    boxes = {
        "top": (
            5,
            9.2,
            "float32 rounds the gradient\nof the correct class to 0",
            BLACK,
        ),
        "sum": (2.2, 6.4, "the gradients no\nlonger sum to 0", RED),
        "lost": (7.8, 6.4, "one gradient\nis missing", GREEN),
        "drift": (2.2, 3.6, "mean classifier and\nmean feature grow", RED),
        "forget": (7.8, 3.6, "Adam forgets how\nlarge gradients were", GREEN),
        "spike": (
            5,
            0.8,
            "a lead is lost, its gradient\nreturns, the step is too long",
            BLACK,
        ),
    }
    for x, y, words, color in boxes.values():
        around = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": color, "lw": 2}
        axes.text(x, y, words, ha="center", va="center", bbox=around, fontsize=11)
    for start, end in (
        ("top", "sum"),
        ("top", "lost"),
        ("sum", "drift"),
        ("lost", "forget"),
        ("drift", "spike"),
        ("forget", "spike"),
    ):
        x, y, _, start_color = boxes[start]
        to_x, to_y, _, end_color = boxes[end]
        color = start_color if end == "spike" else end_color
        arrow = {"arrowstyle": "-|>", "color": color, "lw": 2}
        axes.annotate("", (to_x, to_y + 0.85), (x, y - 0.85), arrowprops=arrow)
    axes.set(xlim=(-0.6, 10.6), ylim=(-0.2, 10.2))
    axes.axis("off")
    return figure


# Places of a norm --------------------------------------------------------------------


def norms() -> Figure:
    """Draw one transformer block from bottom to top, with three places of a norm."""
    figure, (axes,) = panels(1, 4.6)
    black = {"arrowstyle": "-|>", "color": BLACK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    for x, y, words in ((4.2, 4.1, "attention"), (4.2, 8.3, "MLP")):
        box = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": BLACK, "lw": 2}
        axes.text(x, y, words, ha="center", va="center", bbox=box, zorder=3)
    for path in (
        [(4.2, 0.1), (4.2, 1.0)],  # the input, then queries and keys, then values
        [(3.6, 1.0), (3.6, 3.4)],
        [(4.8, 1.0), (4.8, 3.4)],
        [(4.2, 4.8), (4.2, 7.6)],
        [(4.2, 9.0), (4.2, 10.6)],
    ):
        axes.annotate("", path[1], path[0], arrowprops=black)
    axes.plot([3.6, 4.8], [1.0, 1.0], color=BLACK, lw=1.6)
    for low, high in ((0.6, 5.6), (6.1, 9.8)):  # past attention, past the MLP
        axes.plot([4.2, 1.2, 1.2, 4.0], [low, low, high, high], color=GREY, lw=1.4)
        axes.text(4.2, high, "+", ha="center", va="center", fontsize=15, zorder=4)
    for x, y, name, words, text_x, side in (
        (4.2, 6.9, "M", "M: before the MLP", 5.0, "left"),
        (3.6, 2.2, "A^qk", "A$^{qk}$\nqueries,\nkeys", 2.3, "center"),
        (4.8, 2.2, "A^v", "A$^v$: before the values", 5.6, "left"),
    ):
        axes.plot(x, y, "o", color=COLOUR[name], ms=13, zorder=4)
        axes.text(text_x, y, words, color=COLOUR[name], ha=side, va="center")
    axes.set(xlim=(0.8, 10.2), ylim=(-0.1, 10.8))
    axes.axis("off")
    return figure


# Radial and tangential ---------------------------------------------------------------


def radial() -> Figure:
    """Draw a gradient at an activation, split along its radius, and the penalty."""
    figure, (axes,) = panels(1, 3.4)
    activation, target, push = np.array([1.6, 1.0]), 2.6, np.array([-0.05, 1.0])
    outward, sideways = split(activation, push)
    axes.add_patch(_arc(target, -12, 92, color=COLOUR["penalty"]))
    size = np.linalg.norm(activation)
    pull = (target / size - 1) * activation
    beside = 0.13 / size * np.array([activation[1], -activation[0]])
    _arrow(axes, activation, color=BLACK)
    _arrow(axes, pull, start=activation + beside, color=COLOUR["penalty"])
    _arrow(axes, push, start=activation, color=GREY)
    _arrow(axes, outward, start=activation, color=RED)
    _arrow(axes, sideways, start=activation, color=BLUE)
    tip = activation
    axes.text(*(activation / 2 + [0.05, -0.35]), "activation", rotation=_degrees(tip))
    axes.text(2.66, 0.15, "target\nradius √d", color=COLOUR["penalty"], ha="left")
    axes.text(*(tip + pull + [0.1, -0.22]), "penalty", color=COLOUR["penalty"])
    axes.text(*(tip + push + [0.05, 0.08]), "the step", color=GREY)
    axes.text(*(tip + outward + [0.02, 0.2]), "radial: size", color=RED)
    words = "tangential:\ndirection"
    axes.text(*(tip + sideways + [-0.1, 0.0]), words, color=BLUE, ha="right")
    axes.set(xlim=(-0.7, 3.9), ylim=(-0.35, 2.9), aspect="equal")
    axes.axis("off")
    return figure


# Drawing -----------------------------------------------------------------------------


def panels(rows: int, height: float) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels (rows,), each of a height in inches."""
    figure, axes = plt.subplots(
        rows, 1, figsize=(WIDTH, height * rows), layout="constrained", squeeze=False
    )
    return figure, axes.ravel()


def _arrow(
    axes: Axes, vector: Vector, *, color: str, start: Vector | None = None
) -> None:
    """Draw an arrow from ``start``, the origin unless given, along a vector."""
    x, y = (0.0, 0.0) if start is None else start
    style = {"arrowstyle": "-|>", "color": color, "lw": 2.4, "mutation_scale": 16}
    style |= {"shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x + vector[0], y + vector[1]), (x, y), arrowprops=style)


def _arc(radius: float, low: float, high: float, *, color: str) -> Arc:
    """Return a dashed arc about the origin, between two angles in degrees."""
    size = 2 * radius
    return Arc((0, 0), size, size, theta1=low, theta2=high, color=color, ls="--", lw=2)


def _degrees(vector: Vector) -> float:
    """Return the angle of a vector to the x axis."""
    return math.degrees(math.atan2(vector[1], vector[0]))


IDEAS: dict[str, Callable[[], Figure]] = {
    "grokking": grokking,
    "absorption": absorption,
    "tails": tails,
    "projection": projection,
    "norms": norms,
    "spike": spike,
    "radial": radial,
}
