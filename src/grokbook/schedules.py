"""Learning-rate schedules: the factor on the learning rate at one step of training.

``step`` counts from 0; ``steps`` is their number, so 0 <= step < steps. Used in figure
17 and table 1 of Prieto et al.; ``warmup`` in Liu et al. Each raises ValueError for a
number out of range. Not covered: schedules that look at the loss.
"""

import math


def _check(step: int, steps: int) -> None:
    if not 0 <= step < steps:
        raise ValueError(f"step is {step}, but it must lie in [0, {steps}).")


def staircase(step: int, steps: int, *, every: int, factor: float = 0.1) -> float:
    """factor^k after k times ``every`` steps; ``every`` >= 1, ``factor`` > 0."""
    _check(step, steps)
    if every < 1:
        raise ValueError(f"every is {every}, but a stair has at least one step.")
    if not 0 < factor < math.inf:
        raise ValueError(f"factor is {factor}, but it must be positive and finite.")
    return factor ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Linear from 0 to 1 in ``warmup`` steps, then half a cosine back to 0."""
    _check(step, steps)
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup is {warmup}, but it must lie in [0, {steps}].")
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, steps: int, *, over: int) -> float:
    """Linear from 1/over to 1 in ``over`` >= 1 steps, then 1.

    Liu et al. (2026), table 2, warm up over 10 steps and do not say from where: this
    is the simplest reading, which no step of length 0 begins.
    """
    _check(step, steps)
    if over < 1:
        raise ValueError(f"over is {over}, but a warm-up has at least one step.")
    return min(1.0, (step + 1) / over)
