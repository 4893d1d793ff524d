"""What a training costs before it runs: operations over measured rates.

The operations of a step stand in ``operations.json``, so that ``grokbook list`` needs
no torch; those of a network that is not there are counted (``counted``). The rates are
those at which whole runs went, looks and elementwise work included. A prediction is
right within a factor of two, but for trainings that spend most of their time looking.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grokbook.experiment import Arm, Member

# FLOP per second of one CPU core (AMD EPYC, oneDNN) and of an H100 with five members.
RATES = {"cpu": 9e10, "cuda": 1.2e13}
# Seconds that a step takes at least, however small: launches, hooks, the optimizer.
FLOORS = {"cpu": 6e-4, "cuda": 2.5e-4}
TABLE = Path(__file__).with_name("operations.json")


def training_flop(arm: Arm) -> float:
    """Operations of all steps of an arm: three forward passes over every row."""
    step = known().get(key(arm))
    if step is None:
        from grokbook.engine import counted

        step = counted.step_flop(arm)
    return step * arm.epochs


def seconds(members: Sequence[Member], device: str) -> float:
    """Rough training time of members of one kind, on one GPU or one CPU core.

    A network with float64 weights counts double; on a GPU members share the steps.
    """
    arm = members[0][0]
    factor = 2 if arm.dtype == "float64" else 1
    steps = arm.epochs * (1 if device == "cuda" else len(members))
    work = sum(training_flop(one) for one, _ in members) * factor / RATES[device]
    return max(work, steps * FLOORS[device])


@cache
def known() -> dict[str, float]:
    """Operations of a step by `key`; benchmarks/count_operations.py renews the file."""
    return json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}


def key(arm: Arm) -> str:
    """What the operations of a step depend on, as a short digest."""
    words = f"{arm.model} {arm.dataset} {arm.augment} {arm.batch_size}"
    return hashlib.sha256(words.encode()).hexdigest()[:12]
