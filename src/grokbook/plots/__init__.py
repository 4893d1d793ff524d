"""One look for all figures of the book.

    style    one colour per thing (`COLOUR`), `use_style`, `panels`, `letter`
    curves   arms as curves with their seeds, the paper's own points, `end_labels`
    picture  `show`: the picture that a page keeps, and a digest of what it shows

The ground is opaque white, legible in dark mode too. Which arms a figure shows, and
what its caption says, is for the pages.
"""

from grokbook.plots.curves import *
from grokbook.plots.picture import *
from grokbook.plots.style import *
