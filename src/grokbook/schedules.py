"""Learning-rate schedules: the factor on the learning rate at one step of training.

``step`` counts from 0; ``steps`` is their number. Used in figure 17 and table 1 of
Prieto et al.
"""

import math


def staircase(step: int, steps: int, *, every: int, factor: float = 0.1) -> float:
    """factor^k after k times ``every`` steps."""
    return factor ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Linear from 0 to 1 in ``warmup`` steps, then half a cosine back to 0."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))
