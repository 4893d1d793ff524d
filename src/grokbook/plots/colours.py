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

COLOUR: dict[str, str] = {
    "softmax": ORANGE,
    "StableMax": GREEN,
    "collapse-free": BLACK,
    "⊥Grad": BLUE,
    "weight decay": PURPLE,
    "label smoothing": YELLOW,
    "temperature": RED,
    "Taylor": YELLOW,
    "logit norm": SKY,
    "float16": RED,
    "float32": SKY,
    "float64": YELLOW,
    "addition": SKY,
    "product": RED,
    "sparse parity": PURPLE,
    "M": BLUE,
    "M+A*": GREEN,
    "A*": ORANGE,
    "No LN": BLACK,
    "A^v": SKY,
    "A^qk": RED,
    "M+A^v": PURPLE,
    "float64 loss": YELLOW,
    "projection": RED,
    "W_G subtracted": PURPLE,
    "repair": GREEN,
    "simulated collapse": BLACK,
    "sum broken": ORANGE,
    "sum broken, W_G subtracted": BLUE,
    "batch norm": BLUE,
    "layer norm": ORANGE,
    "MLP": SKY,
    "transformer": PURPLE,
    "VGG-11": ORANGE,
    "ViT": GREEN,
    "ResNet-18": RED,
    "penalty": GREEN,
    "strong decay": PURPLE,
    "baseline": BLACK,
    "MAN": RED,
    "dropout": SKY,
    "RMS norm": YELLOW,
}
"""The colour of every thing that figures compare; pages take it and never change it.

In Prieto et al. softmax, StableMax, the collapse-free control and ⊥Grad have colours of
their own. The other four colours serve three groups that never meet in one figure:
remedies (weight decay, label smoothing, temperature, Taylor, logit norm), precisions
and tasks. Taylor and label smoothing, of different figures, share one. The variants of
Singh et al. have seven colours among themselves, in a chapter of their own. In Liu et
al. the interventions share the page with the precisions, and the networks are a group
of their own. The regularisers of Tiwari et al. are another, with layer norm.
"""

_FAINTEST = 0.42  # of viridis from its light end: there the contrast on white reaches 3


def shades(values: Sequence[Hashable]) -> dict[Hashable, str]:
    """A colour for each value of a sweep, darker from the first to the last."""
    scale, last = plt.get_cmap("viridis_r"), max(1, len(values) - 1)
    return {
        value: to_hex(scale(_FAINTEST + (1 - _FAINTEST) * i / last))
        for i, value in enumerate(values)
    }
