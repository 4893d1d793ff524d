"""How many operations a step takes, counted on one row without data or memory."""

from dataclasses import dataclass, field
from functools import cache

import torch
from torch.utils.flop_counter import FlopCounterMode

from grokbook import datasets
from grokbook.experiment import Arm, Spec
from grokbook.models import fast
from grokbook.names import options, resolve


def step_flop(arm: Arm) -> float:
    """Operations of one step: three forward passes over every row of it."""
    rows = arm.batch_size or datasets.rows(arm.dataset.name, arm.dataset.options) or 1
    return 3.0 * forward_flop(arm) * rows


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
