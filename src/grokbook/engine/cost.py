"""What a training costs before it runs: counted operations over measured rates.

Operations are counted on one row without data or memory (``meta``). The rates are
those at which whole runs went, looks and elementwise work included, so that a
prediction is right within a factor of two; ``grokbook list`` prints it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import torch

from grokbook import datasets
from grokbook.experiment import Arm, Member, Spec
from grokbook.models import fast
from grokbook.names import options, resolve

# FLOP per second of one CPU core (AMD EPYC, oneDNN) and of an H100 with five members.
RATES = {"cpu": 9e10, "cuda": 1.2e13}
# Seconds that a step takes at least, however small: launches, hooks, the optimizer.
FLOORS = {"cpu": 6e-4, "cuda": 2.5e-4}


def training_flop(arm: Arm) -> float:
    """Operations of all steps of an arm: three forward passes over every row."""
    rows = arm.batch_size or datasets.rows(arm.dataset.name, arm.dataset.options) or 1
    return 3.0 * forward_flop(arm) * rows * arm.epochs


def seconds(members: Sequence[Member], device: str) -> float:
    """Rough training time of members of one kind, on one GPU or one CPU core.

    A network with float64 weights counts double; on a GPU members share the steps.
    """
    arm = members[0][0]
    factor = 2 if arm.dtype == "float64" else 1
    steps = arm.epochs * (1 if device == "cuda" else len(members))
    work = sum(training_flop(one) for one, _ in members) * factor / RATES[device]
    return max(work, steps * FLOORS[device])


def forward_flop(arm: Arm) -> float:
    """Operations of a forward pass over one row."""
    return _counted(_Network(arm.model, arm.dataset, arm.augment))


@dataclass(frozen=True)
class _Network:
    """A network and what decides the shape of a row; equal where their words are."""

    model: Spec = field(compare=False)
    dataset: Spec = field(compare=False)
    augment: Spec | None = field(compare=False)
    words: str = field(init=False)

    def __post_init__(self) -> None:
        words = f"{self.model} {self.dataset} {self.augment}"
        object.__setattr__(self, "words", words)


@cache
def _counted(one: _Network) -> float:
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        network = resolve("model", one.model)(**options(one.model)).eval()
        row = _row(one.model, one.dataset, one.augment)
        # plain: a look-up among all pairs of tokens is paid once, not by the row
        with fast.off(), FlopCounterMode(display=False) as counter:
            network(row)
    return float(counter.get_total_flops())


def _row(model: Spec, dataset: Spec, augment: Spec | None) -> torch.Tensor:
    """One row of a task, of the right shape, on the device of the context."""
    if dataset.name == "wikitext":
        return torch.zeros(1, dataset.options.get("block", 512), dtype=torch.int64)
    if dataset.name == "balanced_rows":
        return torch.zeros(1, 1, dtype=torch.int64)
    if dataset.name in ("cifar10", "cifar100", "image_folder"):
        size = augment.options["size"] if augment else 32
        return torch.zeros(1, 3, size, size)
    if features := model.options.get("features"):
        return torch.zeros(1, features)
    positions = model.options.get("positions", 2)
    return torch.zeros(1, positions, dtype=torch.int64)
