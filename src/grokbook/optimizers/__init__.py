"""AdamW and SGD with a member axis, and hooks on any torch optimizer.

rules   the update rules, whose step can be captured and replayed
hooks   what is done to gradients or weights around a step
"""

from grokbook.optimizers.hooks import (
    centre_rows,
    clip,
    descend_from,
    hold_norm,
    orthogonal,
    unit_steps,
)
from grokbook.optimizers.rules import SGD, AdamW

__all__ = [
    "SGD",
    "AdamW",
    "centre_rows",
    "clip",
    "descend_from",
    "hold_norm",
    "orthogonal",
    "unit_steps",
]
