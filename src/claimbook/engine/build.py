"""What a learner is made of: data, starts, terms, optimizer, rows of a step.

All of it comes from a member's own seed (and step), whoever else is in the stack.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from claimbook.errors import TrainingError
from claimbook.experiment import Arm, Spec
from claimbook.names import options, resolve, room
from claimbook.protocol import Data

Params = dict[str, Tensor]
Rows = tuple[Tensor, Tensor]  # inputs and labels
# A loss or penalty and its options, tensors (members,) where those of a stack differ.
# The first term of an objective is the loss, a function of (logits, labels, *,
# reduction, **options); the others are penalties, functions of (forward, **options).
Term = tuple[Callable[..., Tensor], dict[str, Any]]


def start(arm: Arm, seed: int) -> tuple[Data, torch.nn.Module]:
    """Data and initial network of one member; the caller's generator stays as it was.

    Both are drawn in this order, as in the official code: 42 gives the official split.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        data = resolve("dataset", arm.dataset)(**options(arm.dataset))
        model = resolve("model", arm.model)(**options(arm.model))
        if arm.init_scale != 1.0:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(arm.init_scale)
    return data, model.to(getattr(torch, arm.dtype))


def stack_key(arm: Arm) -> str:
    """What members must share to be stacked: all but numbers that can be a tensor."""
    plain = arm.to_json() | {"name": None, "alpha": None}
    for field in {"loss", "optimizer", "penalties", "later_loss"} & plain.keys():
        plain[field] = _without_numbers(plain[field])
    return json.dumps(plain, sort_keys=True)


def trains_alone(arm: Arm) -> bool:
    """Whether its members share no steps: they draw, or are looked at in batches, or
    their optimizer has no form for a stack, as Muon has none."""
    with torch.device("meta"):
        network = resolve("model", arm.model)(**options(arm.model))
    has_stack = resolve("optimizer", arm.optimizer) in stacked_forms()
    draws = bool(arm.augment) or drops(network)
    return draws or bool(arm.eval_batch) or not has_stack


def drops(network: torch.nn.Module) -> bool:
    """Whether a pass of a network in training draws masks."""
    layers = network.modules()
    return any(isinstance(one, torch.nn.Dropout) and one.p > 0 for one in layers)


def stacked_forms() -> dict[Any, Any]:
    """Optimizers that can train a stack, and the form that does: ``STACKED`` of the
    optimizers' module. Without it every member trains alone."""
    return getattr(room("optimizer"), "STACKED", {})


def _without_numbers(plain: Any) -> Any:
    if isinstance(plain, dict):
        # a step with several betas rounds otherwise than one with one
        return {k: v if k == "betas" else _without_numbers(v) for k, v in plain.items()}
    if isinstance(plain, list):
        return [_without_numbers(part) for part in plain]
    return "a number" if isinstance(plain, float) else plain


def phases(arms: Sequence[Arm], device: str) -> list[tuple[int, list[Term]]]:
    """(first step, terms of the objective) of every stretch of training, ascending."""

    def terms(losses: Sequence[Spec]) -> list[Term]:
        charged = zip(*(arm.penalties for arm in arms), strict=True)
        every = [("loss", losses), *(("penalty", specs) for specs in charged)]
        return [(resolve(kind, s[0]), _stack_options(s, device)) for kind, s in every]

    found = [(0, terms([arm.loss for arm in arms]))]
    if later := [arm.later_loss for arm in arms if arm.later_loss]:
        found.append((later[0][0], terms([loss for _, loss in later])))
    return found


def _stack_options(specs: Sequence[Spec], device: str) -> dict[str, Any]:
    every = [options(spec) for spec in specs]
    return {key: one_or_tensor([one[key] for one in every], device) for key in every[0]}


def one_or_tensor(values: list[Any], device: str) -> Any:
    """One value if all members agree, else a tensor over members, in float64."""
    if all(value == values[0] for value in values):
        return values[0]
    return torch.tensor(values, dtype=torch.float64, device=device)


def optimizer(
    arms: Sequence[Arm], params: Params, device: str, stacked: bool
) -> torch.optim.Optimizer:
    """torch's own for one member on a CPU, else one whose step can be captured."""
    chosen = _stack_options([arm.optimizer for arm in arms], device)
    rule, named = resolve("optimizer", arms[0].optimizer), list(params.items())
    if stacked or device == "cuda":
        if rule not in stacked_forms():
            name = arms[0].optimizer.name
            raise TrainingError(f"{name} trains on a CPU alone: give `--device cpu`")
        made = stacked_forms()[rule](named, **chosen, stacked=stacked)
    else:
        made = rule(named, **chosen)
    for wrapper in arms[0].wrappers:
        made = resolve("wrapper", wrapper)(made, **options(wrapper))
    return made


@dataclass(eq=False)
class Feed:
    """The rows of every step and look: all of them, or batches from (seed, step).

    ``train`` and ``test`` are whole splits, (members, rows, ...) of a stack; ``batch``
    stays in place, where a captured step reads it. What is augmented stays on the host.
    """

    arm: Arm
    seeds: Sequence[int]
    data: Sequence[Data]
    device: str
    stacked: bool

    def __post_init__(self) -> None:
        self.count = len(self.data[0].y_train)
        wanted = self.arm.batch_size or self.count + 1
        self.size, self.is_whole = min(wanted, self.count), wanted > self.count
        self.order: tuple[int, Tensor] = (-1, torch.empty(0))
        self.batch: Rows = ()  # type: ignore[assignment]
        if self.arm.augment:
            self.augment = resolve("augment", self.arm.augment)

    @cached_property
    def train(self) -> Rows:
        return self.rows("train", torch.arange(self.count))

    @cached_property
    def test(self) -> Rows:
        return self.rows("test", torch.arange(len(self.data[0].y_test)))

    def rows(self, which: str, rows: Tensor, random: bool = False) -> Rows:
        """Some rows of a split on the device; ``random``: with random crops."""
        arm, taken = self.arm, []
        for data in self.data:
            x, y = (getattr(data, f"{axis}_{which}")[rows] for axis in "xy")
            if spec := arm.augment:
                x = self.augment(x, random=random, **options(spec))
            x = x.to(getattr(torch, arm.dtype)) if x.is_floating_point() else x
            taken.append((x, y))
        parts = zip(*taken, strict=True)
        x, y = (torch.stack(part) if self.stacked else part[0] for part in parts)
        return x.to(self.device), y.to(self.device)

    def load_batch(self, step: int) -> None:
        """Put the rows of a step into ``batch``; of a pass only full ones are."""
        if self.is_whole and not self.arm.augment:
            self.batch = self.train
            return
        rows = self._pass(step)
        if self.arm.augment:
            new = self.rows("train", rows[0], random=True)
        elif self.stacked:
            each = torch.arange(len(rows), device=rows.device)[:, None]
            new = self.train[0][each, rows], self.train[1][each, rows]
        else:
            new = self.train[0][rows[0]], self.train[1][rows[0]]
        self.batch = self.batch or new
        for place, tensor in zip(self.batch, new, strict=True):
            place.copy_(tensor)

    def _pass(self, step: int) -> Tensor:
        """Numbers (members, size) of the rows of a step; a pass is drawn at once."""
        number, place = divmod(step, self.count // self.size)
        if self.order[0] != number:
            new, drawn = torch.Generator, []
            for seed in self.seeds:
                generator = new().manual_seed(seed * 1_000_003 + number)
                drawn.append(torch.randperm(self.count, generator=generator))
            home = "cpu" if self.arm.augment else self.device
            self.order = number, torch.stack(drawn).to(home)
        return self.order[1][:, place * self.size : (place + 1) * self.size]

    def chunks(self) -> Iterator[tuple[dict[str, Tensor], dict[str, float]]]:
        """As many rows of both splits, ``eval_batch`` at most at a time, and shares."""
        test = len(self.data[0].y_test)
        many = {"train": min(self.count, test), "test": test}
        batches = min(math.ceil(test / (self.arm.eval_batch or test)), many["train"])
        parts = [torch.arange(n).tensor_split(batches) for n in many.values()]
        for each in zip(*parts, strict=True):
            rows = dict(zip(many, each, strict=True))
            yield rows, {split: len(rows[split]) / many[split] for split in many}
