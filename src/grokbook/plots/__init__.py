"""One look for all figures of the book.

    colours  `COLOUR`, one colour per thing in the whole book; `shades` for sweeps
    style    `use_style`, `panels` and what is set on axes: letters, thousands
    curves   arms as curves with their seeds; the paper's own points
    labels   names at the ends of curves, and notes with an arrow
    picture  `show`: the picture that a page keeps, and a digest of what it shows

The ground is opaque white, legible in dark mode too. Which arms a figure shows, and
what its caption says, is for the pages.
"""

from grokbook.plots.colours import *
from grokbook.plots.curves import *
from grokbook.plots.labels import *
from grokbook.plots.picture import *
from grokbook.plots.style import *
