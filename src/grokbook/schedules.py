"""Learning-rate schedules: the factor of the rate at a step, 0 <= step < steps."""

import math


def staircase(step: int, _steps: int, *, every: int) -> float:
    """0.1^k from step k * ``every`` on."""
    return 0.1 ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """A factor linear from 0 to 1 over ``warmup`` steps, then half a cosine to 0."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, _steps: int, *, over: int) -> float:
    """A factor linear from 1/``over`` to 1 in the first ``over`` steps, then 1.

    Liu et al. (2026) do not say where their warm-up starts.
    """
    return min(1.0, (step + 1) / over)
