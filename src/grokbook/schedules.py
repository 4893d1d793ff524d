"""Learning-rate schedules: the factor on the learning rate at one step of training.

``step`` counts from 0, and 0 <= step < ``steps``. Used in figure 17 and table 1 of
Prieto et al.; ``warmup`` in Liu et al. ValueError for a number out of range.
"""

import math


def _require(name: str, value: float, is_in_range: bool) -> None:
    if not is_in_range:
        raise ValueError(f"{name} is {value}, which is out of range for a schedule.")


def staircase(step: int, steps: int, *, every: int) -> float:
    """0.1^k after k times ``every`` >= 1 steps."""
    _require("step", step, 0 <= step < steps)
    _require("every", every, every >= 1)
    return 0.1 ** (step // every)


def cosine(step: int, steps: int, *, warmup: int = 0) -> float:
    """Linear from 0 to 1 in ``warmup`` steps, then half a cosine back to 0."""
    _require("step", step, 0 <= step < steps)
    _require("warmup", warmup, 0 <= warmup <= steps)
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def warmup(step: int, steps: int, *, over: int) -> float:
    """Linear from 1/over to 1 in ``over`` >= 1 steps, then 1.

    Liu et al. (2026), table 2, warm up over 10 steps and do not say from where: this
    is the simplest reading, which no step of length 0 begins.
    """
    _require("step", step, 0 <= step < steps)
    _require("over", over, over >= 1)
    return min(1.0, (step + 1) / over)
