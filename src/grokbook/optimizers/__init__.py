"""AdamW and SGD, for one network and for stacks, and hooks on any torch optimizer.

rules   the update rules: torch's own, and those of a stack, whose step can be captured
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
from grokbook.optimizers.rules import SGD, STACKED, AdamW, spread
