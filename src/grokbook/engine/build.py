"""From an arm and seeds to a learner: data, starts, terms, optimizer, rows of a step.

Every member's data and start come from its own seed alone, whoever else is in the
stack, and so do its batches, crops and masks, from (seed, step).
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from grokbook import penalties
from grokbook.datasets import Data
from grokbook.engine.learner import Learner, Phase, Term
from grokbook.experiment import Arm, Member, Spec
from grokbook.models import taps
from grokbook.names import options, resolve
from grokbook.optimizers import STACKED

Rows = tuple[Tensor, Tensor]  # inputs and labels


def start(arm: Arm, seed: int) -> tuple[Data, torch.nn.Module]:
    """Data and initial network of one member, from its seed and nothing else.

    Both come from torch's CPU generator in this order, as in the official code, so
    that seed 42 gives the official split. The caller's generator is left as it was.
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


def kind(arm: Arm) -> str:
    """What members must share to be stacked: all but numbers that can be a tensor.

    How an arm is looked at is shared too, since a stack is looked at as a whole.
    """
    plain = arm.to_json() | {"name": None, "alpha": None}
    for field in {"loss", "optimizer", "penalties", "later_loss"} & plain.keys():
        plain[field] = _without_numbers(plain[field])
    return json.dumps(plain, sort_keys=True)


def alone(arm: Arm) -> bool:
    """Whether its members share no steps: they draw, or are looked at in batches."""
    with torch.device("meta"):
        network = resolve("model", arm.model)(**options(arm.model))
    return bool(arm.augment or arm.eval_batch) or taps.drops(network)


def _without_numbers(plain: Any) -> Any:
    if isinstance(plain, dict):
        # a step with several betas rounds otherwise than one with one
        return {k: v if k == "betas" else _without_numbers(v) for k, v in plain.items()}
    if isinstance(plain, list):
        return [_without_numbers(part) for part in plain]
    return "a number" if isinstance(plain, float) else plain


def learner(
    members: Sequence[Member], device: str = "cpu", *, stacked: bool = False
) -> Learner:
    """The learner of members of one kind; ValueError if several are not stacked."""
    if not stacked and len(members) != 1:
        raise ValueError("several members need stacked=True")
    arm = members[0][0]
    starts = [start(*member) for member in members]
    model = starts[0][1]

    def together(tensors: list[Tensor]) -> Tensor:
        joined = torch.stack(tensors) if stacked else tensors[0]
        return joined.to(device, copy=True)

    def of_all(every: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {name: together([one[name] for one in every]) for name in every[0]}

    params = of_all([dict(m.named_parameters()) for _, m in starts])
    params = {name: p.detach().requires_grad_() for name, p in params.items()}
    buffers = of_all([dict(m.named_buffers()) for _, m in starts])
    model.to(device)  # only now: it moves the first member's own tensors
    alphas = [float(arm.alpha) for arm, _ in members]
    return Learner(
        model,
        params,
        buffers,
        Feed(arm, members, [data for data, _ in starts], device, stacked),
        _phases(members, device, stacked),
        _optimizer(members, params, device, stacked),
        seeds=[seed for _, seed in members],
        alpha=_shared(alphas, device),
        schedule=_schedule(arm),
        sites=[s for p in arm.penalties for s in penalties.sites(p.name, p.options)],
        stacked=stacked,
        device=device,
        autocast=getattr(torch, arm.autocast) if arm.autocast else None,
        batch_statistics=arm.batch_statistics,
    )


def _phases(
    members: Sequence[Member], device: str, stacked: bool
) -> list[tuple[int, Phase]]:
    arm = members[0][0]
    terms = [
        Term(*_term("penalty", [a.penalties[k] for a, _ in members], device, stacked))
        for k in range(len(arm.penalties))
    ]
    losses = _term("loss", [a.loss for a, _ in members], device, stacked)
    phases = [(0, Phase(*losses, terms))]
    if arm.later_loss:
        specs = [a.later_loss[1] for a, _ in members if a.later_loss]
        later = _term("loss", specs, device, stacked)
        phases.append((arm.later_loss[0], Phase(*later, terms)))
    return phases


def _term(
    what: str, specs: list[Spec], device: str, stacked: bool
) -> tuple[Callable[..., Tensor], dict[str, Any]]:
    """A loss or penalty with what members share, and the numbers they may not."""
    every = [options(spec) for spec in specs]
    numeric = [k for k, v in every[0].items() if isinstance(v, float)]
    fixed = {k: v for k, v in every[0].items() if k not in numeric}
    numbers = {
        k: _stack([one[k] for one in every], device) if stacked else every[0][k]
        for k in numeric
    }
    return partial(resolve(what, specs[0]), **fixed), numbers


def _stack(values: list[float], device: str) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, device=device)


def _shared(values: list[Any], device: str) -> Any:
    """One value if all members agree, else a tensor over members."""
    same = all(value == values[0] for value in values)
    return values[0] if same else _stack(values, device)


def _optimizer(
    members: Sequence[Member], params: dict[str, Tensor], device: str, stacked: bool
) -> torch.optim.Optimizer:
    """torch's own for one member on a CPU, else one whose step can be captured."""
    arm = members[0][0]
    every = [options(arm.optimizer) for arm, _ in members]
    chosen = {key: _shared([one[key] for one in every], device) for key in every[0]}
    rule, named = resolve("optimizer", arm.optimizer), list(params.items())
    if stacked or device == "cuda":
        optimizer = STACKED[rule](named, **chosen, stacked=stacked)
    else:
        optimizer = rule(named, **chosen)
    for wrapper in arm.wrappers:
        optimizer = resolve("wrapper", wrapper)(optimizer, **options(wrapper))
    return optimizer


def _schedule(arm: Arm) -> Callable[[int], float] | None:
    if arm.schedule is None:
        return None
    function, chosen = resolve("schedule", arm.schedule), options(arm.schedule)
    return lambda step: function(step, arm.epochs, **chosen)


def operations(arm: Arm) -> float:
    """Floating-point operations of a run in batches of images or of text.

    Three forward passes over every row that is seen; multiplying and adding are two.
    """
    size = arm.augment.options["size"] if arm.augment else 32
    with torch.device("meta"):
        row = torch.zeros(1, 3, size, size)
        if arm.dataset.name == "wikitext":
            row = torch.zeros(1, arm.dataset.options.get("block", 512)).long()
        network = resolve("model", arm.model)(**options(arm.model)).eval()
        with FlopCounterMode(display=False) as counter:
            network(row)
    return 3.0 * counter.get_total_flops() * (arm.batch_size or 1) * arm.epochs


class Feed:
    """The rows of every step and look: all of them, or batches from (seed, step).

    ``train`` and ``test`` are whole splits on the device, (members, rows, ...) of a
    stack; ``batch`` is what the next step trains on and stays in place on a GPU. What
    is augmented stays on the host until its turn comes.
    """

    def __init__(
        self,
        arm: Arm,
        members: Sequence[Member],
        data: list[Data],
        device: str,
        stacked: bool,
    ):
        self.data, self.device, self.stacked = data, device, stacked
        self.stays = device == "cuda"  # where a captured step reads its rows
        self.seeds = [seed for _, seed in members]
        self.floats = getattr(torch, arm.dtype)
        self.chunk = arm.eval_batch
        self.augment = arm.augment and partial(
            resolve("augment", arm.augment), **options(arm.augment)
        )
        self.is_random = self.augment is not None
        rows = len(data[0].y_train)
        self.size = min(arm.batch_size or rows, rows)
        self.is_whole = not arm.batch_size or arm.batch_size > rows
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        self._splits: dict[str, Rows] = {}
        self.batch: Rows = ()  # type: ignore[assignment]

    @property
    def train(self) -> Rows:
        return self.rows("train")

    @property
    def test(self) -> Rows:
        return self.rows("test")

    def rows(self, which: str, rows: Tensor | None = None) -> Rows:
        """Some or all rows of a split, of every member, without random crops."""
        if rows is None:
            if which not in self._splits:
                every = torch.arange(len(getattr(self.data[0], f"y_{which}")))
                self._splits[which] = self.rows(which, every)
            return self._splits[which]
        taken = [self._take(data, which, rows) for data in self.data]
        both = [
            torch.stack(p) if self.stacked else p[0] for p in zip(*taken, strict=True)
        ]
        return both[0].to(self.device), both[1].to(self.device)

    def _take(self, data: Data, which: str, rows: Tensor, random: bool = False) -> Rows:
        x, y = (getattr(data, f"{axis}_{which}")[rows] for axis in "xy")
        if self.augment:
            x = self.augment(x, random=random)
        return (x.to(self.floats) if x.is_floating_point() else x), y

    def fill(self, step: int) -> None:
        """Put the rows of a step into ``batch``; augmented ones are those of a member.

        The last batch of a pass is dropped when it is not full.
        """
        if self.augment is None:
            x, y = self.train
            new = (x, y) if self.is_whole else self._chosen(x, y, self._pass(step))
        else:
            rows = torch.arange(self.size) if self.is_whole else self._pass(step)[0]
            new = self._take(self.data[0], "train", rows, random=True)
        if not self.batch or not self.stays:
            self.batch = new[0].to(self.device), new[1].to(self.device)
        elif new[0] is not self.batch[0]:
            for place, tensor in zip(self.batch, new, strict=True):
                place.copy_(tensor)  # where a captured step reads it

    def _chosen(self, x: Tensor, y: Tensor, rows: Tensor) -> Rows:
        if not self.stacked:
            return x[rows[0]], y[rows[0]]
        each = torch.arange(len(rows), device=rows.device)[:, None]
        return x[each, rows], y[each, rows]

    def _pass(self, step: int) -> Tensor:
        """Numbers (members, size) of the rows of a step; a pass is drawn at once."""
        count = len(self.data[0].y_train)
        number, place = divmod(step, count // self.size)
        if self._order[0] != number:
            seeds = (seed * 1_000_003 + number for seed in self.seeds)
            drawn = [
                torch.randperm(count, generator=torch.Generator().manual_seed(seed))
                for seed in seeds
            ]
            home = "cpu" if self.augment else self.device
            self._order = number, torch.stack(drawn).to(home)
        return self._order[1][:, place * self.size : (place + 1) * self.size]

    def chunks(self) -> Iterator[tuple[dict[str, Tensor], dict[str, float]]]:
        """Rows of both splits, at most ``chunk`` of the test split, and their shares.

        As many rows of the training as of the test set are looked at.
        """
        test = len(self.data[0].y_test)
        many = {"train": min(len(self.data[0].y_train), test), "test": test}
        batches = min(math.ceil(test / (self.chunk or test)), many["train"])
        parts = [torch.arange(n).tensor_split(batches) for n in many.values()]
        for each in zip(*parts, strict=True):
            rows = dict(zip(many, each, strict=True))
            yield rows, {split: len(rows[split]) / many[split] for split in many}
