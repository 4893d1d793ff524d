"""One colour per thing in the whole book.

The eight colours have a contrast of at least 3 on white (WCAG 2.1, 1.4.11), and any two
stay apart where red and green are not told apart: they differ in lightness, not in hue
alone. A test computes both.
"""

from collections.abc import Hashable, Sequence

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = COLOURS = (
    "#0D74D9",
    "#CD7B1A",
    "#32A285",
    "#D92C56",
    "#4800AD",
    "#2895BD",
    "#594800",
    "#212121",
)
GREY = "#6B6B6B"  # what is no curve: arrows, and lines that mark a level

_THINGS = {
    BLUE: "⊥Grad; M; sum broken, W_G subtracted; batch norm",
    ORANGE: "softmax; A*; sum broken; layer norm; VGG-11",
    GREEN: "StableMax; M+A*; repair; ViT; penalty",
    RED: "temperature; float16; product; A^qk; projection; ResNet-18; MAN",
    PURPLE: "weight decay; sparse parity; M+A^v; W_G subtracted; transformer;"
    " strong decay",
    SKY: "logit norm; float32; addition; A^v; MLP; dropout",
    YELLOW: "label smoothing; Taylor; float64; float64 loss; RMS norm",
    BLACK: "collapse-free; No LN; simulated collapse; baseline",
}
COLOUR = {name: ink for ink, names in _THINGS.items() for name in names.split("; ")}
"""The colour of every thing that figures compare; pages take it and never change it.

In Prieto et al. softmax, StableMax, the collapse-free control and ⊥Grad have colours of
their own; the other four serve three groups that never meet in one figure: remedies,
precisions and tasks. The variants of Singh et al., the interventions and the networks
of Liu et al., and the regularisers of Tiwari et al. are groups of their own.
"""

_FAINTEST = 0.42  # of viridis from its light end: there the contrast on white reaches 3


def shades(values: Sequence[Hashable]) -> dict[Hashable, str]:
    """A colour for each value of a sweep, darker from the first to the last."""
    scale, last = plt.get_cmap("viridis_r"), max(1, len(values) - 1)
    return {
        value: to_hex(scale(_FAINTEST + (1 - _FAINTEST) * i / last))
        for i, value in enumerate(values)
    }
