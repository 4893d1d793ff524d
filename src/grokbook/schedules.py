"""Learning-rate schedules: the factor of the rate at a step, 0 <= step < steps.

``steps`` is the number of steps of the whole training. All have the same first two
arguments, also those that do not read ``steps``. Options are numbers of steps, from 1
on; ``every`` and ``over`` of 0 raise ZeroDivisionError.
"""

import math


def staircase(step: int, _steps: int, *, every: int) -> float:
    """Return 0.1^k from step k * ``every`` on: 1 at first, then a tenth each time."""
    return 0.1 ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Return a factor that rises from 1/``warmup`` to 1, then falls towards 0.

    It rises linearly over ``warmup`` steps, of which there may be none, and falls as
    half a cosine, which would be 0 one step after the last. If ``warmup`` is not below
    ``steps``, it does not fall.
    """
    if step < warmup:
        return (step + 1) / warmup  # + 1, as a first step of rate 0 would be lost
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, _steps: int, *, over: int) -> float:
    """Return a factor that rises linearly from 1/``over`` to 1 in ``over`` steps.

    From then on it is 1. Liu et al. (2026) do not say where their warm-up starts; here
    it is not at 0, so that the first step moves.
    """
    return min(1.0, (step + 1) / over)
