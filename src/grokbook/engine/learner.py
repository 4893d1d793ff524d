"""The learner: members of one kind, the step they share, and what a look sees.

    state     parameters, buffers, moments, step; with a member axis when stacked
    step()    batch, forward pass, terms, backward pass, optimizer; returns the loss
    observe() a Snapshot of now, and the observables of it

A network is written for one member; the learner maps it over members. A step is made
of ``_fill``, everything that the host decides (rows, masks, learning rate), and
``_body``, which only reads and writes tensors, so that a GPU can replay it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from grokbook.engine.device import Captured
from grokbook.engine.look import Look
from grokbook.models import fast, taps
from grokbook.optimizers import SGD, AdamW
from grokbook.penalties import Forward

# After a collapse a fifth of the float32 gradients at the logits are subnormal, and a
# CPU takes a hundred cycles for each product with one. A power of two on the way back,
# applied after the loss has rounded its gradient, changes no bit but keeps them normal.
GRADIENT_SCALE = 2.0**64

Numbers = dict[str, Any]  # of a term: floats, or tensors (members,) of a stack
Params = dict[str, Tensor]


@dataclass
class Term:
    """One summand of the objective, and the numbers in which members differ."""

    function: Callable[..., Tensor]  # (forward, **numbers) -> scalar
    numbers: Numbers


@dataclass
class Phase:
    """The terms of a stretch of training; the first of them is the loss."""

    loss: Callable[..., Tensor]  # (logits, labels, *, reduction, **numbers)
    numbers: Numbers
    penalties: list[Term] = field(default_factory=list)

    @property
    def all_numbers(self) -> list[Numbers]:
        return [self.numbers, *(term.numbers for term in self.penalties)]

    def value(self, seen: Forward, every: list[Numbers], scale: float = 1.0) -> Tensor:
        """The objective of one member; its gradients are multiplied by ``scale``.

        That of the loss after it was rounded to the precision of the logits.
        """
        logits = seen.logits if scale == 1 else fast.scaled(seen.logits, scale)
        value = self.loss(logits, seen.labels, **every[0])
        for term, numbers in zip(self.penalties, every[1:], strict=True):
            charged = term.function(seen, **numbers)
            value = value + (charged if scale == 1 else fast.scaled(charged, scale))
        return value


class Learner:
    """Members of one kind: state, data, and the step; without a member axis for one.

    ``feed`` gives the rows of a step and of a look. ``phases``: (first step, terms),
    ascending. ``schedule``: factor on the learning rate at a step. ``seeds`` of the
    members, from which batches and masks are drawn, with the step and nothing else.
    ``sites``: beginnings of the names of taps that the penalties charge. ``autocast``:
    dtype of matrix products and logits, where it is not that of the weights.
    ``batch_statistics``: a look at the training split reads those of its rows.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        params: Params,
        buffers: Params,
        feed: Any,
        phases: Sequence[tuple[int, Phase]],
        optimizer: AdamW | SGD,
        *,
        seeds: Sequence[int],
        alpha: float | Tensor = 1.0,
        schedule: Callable[[int], float] | None = None,
        sites: Iterable[str] = (),
        stacked: bool = False,
        device: str = "cpu",
        autocast: torch.dtype | None = None,
        batch_statistics: bool = False,
    ):
        self.model, self.params, self.buffers, self.feed = model, params, buffers, feed
        self.phases, self.optimizer, self.seeds = phases, optimizer, list(seeds)
        self.alpha, self.schedule, self.stacked = alpha, schedule, stacked
        self.sites, self.device, self.autocast = tuple(sites), device, autocast
        rates = [group["lr"] for group in optimizer.param_groups]
        self.rates = [r.clone() if isinstance(r, Tensor) else r for r in rates]
        self.batch_statistics = batch_statistics
        self.step_count = 0
        floats = next(iter(params.values())).dtype
        is_plain_cpu = device == "cpu" and not stacked and floats == torch.float32
        self.scale = GRADIENT_SCALE if is_plain_cpu else 1.0
        self.masks: Params = {}
        self._dropped: dict[str, float] = {}
        self.has_dropout = any(
            isinstance(m, taps.Dropout) and m.p > 0 for m in model.modules()
        )
        self._steps: dict[int, Captured] = {}
        self.look = Look(self)

    # One pass of one member ---------------------------------------------------------

    def forward(self, params, buffers, x, y, alpha, *, tap=None, model=None) -> Forward:
        """One pass of one member, with what the tap recorded."""
        with self._rounded():
            logits = functional_call(model or self.model, (params, buffers), (x, tap))
        if not (isinstance(alpha, float) and alpha == 1):
            logits = logits * alpha
        return Forward(logits, y, params, tap.found if tap else {})

    @contextmanager
    def _rounded(self) -> Iterator[None]:
        """A forward pass whose products are those of ``autocast``; float64 stays so.

        In its plain form, since the shortcuts are products of another kind, and without
        autocast's memory of weights, which would outlive a captured step.
        """
        if self.autocast is None:
            yield
            return
        rounded = torch.autocast(self.device, self.autocast, cache_enabled=False)
        with fast.off(), rounded:
            yield

    def _objective(self, phase, params, buffers, x, y, alpha, numbers) -> Tensor:
        tap = taps.Recorder() if self.sites else None
        seen = self.forward(params, buffers, x, y, alpha, tap=tap)
        return phase.value(seen, numbers, self.scale)

    def map(self, function: Callable, *arguments: Any) -> Any:
        """A function over members; a number that all share is not mapped."""
        if not self.stacked:
            return function(*arguments)
        axes = tuple(None if isinstance(a, float) else 0 for a in arguments)
        return vmap(function, axes, randomness="different")(*arguments)

    # Training -----------------------------------------------------------------------

    def step(self) -> Tensor:
        """One optimizer step; the objective before it, () or (members,), on the device.

        Gradients stay in ``.grad``. On a GPU the next step overwrites the tensor.
        """
        start, phase = self.phase()
        self._fill()
        if start not in self._steps:
            self._steps = {start: Captured(lambda: self._body(phase), self.device)}
        value = self._steps[start]()
        self.step_count += 1
        return value

    def phase(self) -> tuple[int, Phase]:
        """First step and terms of the stretch that the next step belongs to."""
        return [p for p in self.phases if p[0] <= self.step_count][-1]

    def _fill(self) -> None:
        """All that the host decides about the next step, in tensors that stay."""
        is_random = self.has_dropout or self.feed.is_random
        if self.stacked and is_random:
            self._fill_by_member()
        else:
            if is_random:
                torch.manual_seed(_seed(self.seeds[0], self.step_count))
            self.feed.fill(self.step_count, None)
        if self.schedule is not None:
            self._set_rates(self.schedule(self.step_count))
        if self.optimizer.host_driven:
            self.optimizer.prepare()

    def _set_rates(self, factor: float) -> None:
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            if isinstance(rate, Tensor):
                group["lr"].copy_(rate * factor)
            else:
                group["lr"] = rate * factor

    def _fill_by_member(self) -> None:
        """Rows and masks of a stack, each member's from its own seed, as if alone."""
        if self.has_dropout and not self.masks:
            for k in range(len(self.seeds)):
                self.feed.fill(self.step_count, k)
            self._make_masks(self.feed.batch[0][0])
        for k, seed in enumerate(self.seeds):
            torch.manual_seed(_seed(seed, self.step_count))
            self.feed.fill(self.step_count, k)
            for name, mask in self.masks.items():
                kept = 1 - self._dropped[name]
                mask[k].bernoulli_(kept).div_(kept)

    def _make_masks(self, x: Tensor) -> None:
        """Room for the masks of a stack, of the shapes that rows ``x`` lead to."""
        tap = taps.Recorder() if self.sites else None
        some = next(iter(self.params.values()))
        for name, shape in taps.noise_shapes(self.model, x, tap).items():
            self.masks[name] = some.new_ones((len(self.seeds), *shape))
            module = self.model.get_submodule(name.rpartition(".")[0])
            self._dropped[name] = float(module.p)  # type: ignore[arg-type]

    def _body(self, phase: Phase) -> Tensor:
        """One step on the rows, masks and rates that are there; waits for nothing."""
        self.optimizer.zero_grad(set_to_none=True)
        values = self.map(
            lambda *arguments: self._objective(phase, *arguments),
            self.params,
            {**self.buffers, **self.masks},
            *self.feed.batch,
            self.alpha,
            phase.all_numbers,
        )
        values.sum().backward()
        if self.scale != 1:
            for parameter in self.params.values():
                if parameter.grad is not None:
                    parameter.grad.mul_(1 / self.scale)
        self.optimizer.step(values.detach)
        return values.detach()

    def raw_grads(self) -> Params:
        """Gradients of the last step, zeros of a parameter that the terms ignore."""
        return {
            name: torch.zeros_like(p) if p.grad is None else p.grad
            for name, p in self.params.items()
        }

    def observe(self, names: Iterable[str], before: Params | None = None) -> Params:
        """Observables now, by column; ``before``: the weights before the last step."""
        return self.look.observe(names, before)

    # State --------------------------------------------------------------------------

    def weights(self) -> Params:
        """A copy of the parameters as they are now."""
        return {name: p.detach().clone() for name, p in self.params.items()}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""
        return {
            "step": self.step_count,
            "params": self.weights(),
            "buffers": {name: b.clone() for name, b in self.buffers.items()},
            "moments": copy.deepcopy(self.optimizer.state_dict()["state"]),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of members of this kind, bit for bit."""
        self.step_count = state["step"]
        with torch.no_grad():
            for mine, theirs in (
                (self.params, state["params"]),
                (self.buffers, state["buffers"]),
            ):
                for name, tensor in mine.items():
                    tensor.copy_(theirs[name])
        groups = self.optimizer.state_dict()["param_groups"]  # settings, not state
        held = {"state": state["moments"], "param_groups": groups}
        self.optimizer.load_state_dict(held)

    def graphs(self) -> list[Captured]:
        """The step and looks that a GPU replays."""
        return [*self._steps.values(), *self.look.graphs.values()]


def _seed(seed: int, step: int) -> int:
    """Seed of what is drawn in one step of one member."""
    return seed * 1_000_003 + step
