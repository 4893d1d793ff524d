"""Learning-rate schedules: the factor of the rate at a step, 0 <= step < steps.

``steps`` is the number of steps of the whole training.
"""

import math


def staircase(step: int, _steps: int, *, every: int) -> float:
    """Return 0.1^k from step k * ``every`` on."""
    return 0.1 ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Return a factor that rises from 1/``warmup`` to 1, then falls towards 0.

    It rises linearly over ``warmup`` steps and falls as half a cosine, which would be 0
    one step after the last.
    """
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, _steps: int, *, over: int) -> float:
    """Return a factor that rises linearly from 1/``over`` to 1 in ``over`` steps.

    From then on it is 1. Liu et al. (2026) do not say where their warm-up starts.
    """
    return min(1.0, (step + 1) / over)
