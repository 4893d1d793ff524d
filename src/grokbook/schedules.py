"""Learning-rate schedules: the factor on the learning rate at a step 0 <= t < steps."""

import math


def staircase(step: int, _steps: int, *, every: int) -> float:
    """0.1^k after k times ``every`` steps."""
    return 0.1 ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Linear from 0 to 1 in ``warmup`` steps, then half a cosine back to 0."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, _steps: int, *, over: int) -> float:
    """Linear from 1/over to 1, then 1: Liu et al. (2026) do not say from where."""
    return min(1.0, (step + 1) / over)
