"""One look for all figures of the book.

    colours  `COLOUR`, one colour per thing in the whole book; `shades` for sweeps
    style    `use_style`, `panels` and what is set on axes: letters, thousands
    curves   arms as curves with their seeds; the paper's own points
    labels   names at the ends of curves, and notes with an arrow
    picture  `show`: the picture that a page keeps, and a digest of what it shows

The ground is opaque white, legible in dark mode too.

Not covered: which arms a figure shows, and what its caption says (pages).
"""

from grokbook.plots.colours import (
    BLACK,
    BLUE,
    COLOUR,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    shades,
)
from grokbook.plots.curves import DASHED, accuracy, curve, loss, mark, paper, trace
from grokbook.plots.labels import end_labels, note
from grokbook.plots.picture import Picture, show
from grokbook.plots.style import WIDTH, letter, panels, thousands, use_style

__all__ = [
    "BLACK",
    "BLUE",
    "COLOUR",
    "COLOURS",
    "DASHED",
    "GREEN",
    "GREY",
    "ORANGE",
    "PURPLE",
    "Picture",
    "RED",
    "SKY",
    "WIDTH",
    "YELLOW",
    "accuracy",
    "curve",
    "end_labels",
    "letter",
    "loss",
    "mark",
    "note",
    "panels",
    "paper",
    "shades",
    "show",
    "thousands",
    "trace",
    "use_style",
]
