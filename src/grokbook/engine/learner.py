"""The learner: members of one kind, the step they share, and what a look sees.

    state     parameters, buffers, moments, step; with a member axis when stacked
    step()    batch, forward pass, terms, backward pass, optimizer; returns the loss
    observe() observables of now, of whole splits or batch by batch

A network is written for one member; the learner maps it over members. A step is made
of ``_fill``, everything that the host decides (rows, masks, learning rate), and
``_body``, which only reads and writes tensors, so that a GPU can replay it. A look
passes the splits in evaluation mode; second derivatives read the objective as a
function of the weights, in float64 and by the plain form.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap
from torch.utils._pytree import tree_map

from grokbook import observables, optimizers
from grokbook.engine.device import Captured
from grokbook.models import Transformer, fast, taps, without_norms
from grokbook.observables import Seen, Snapshot
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


@dataclass(eq=False)
class Learner:
    """Members of one kind: state, data, and the step; without a member axis for one."""

    model: torch.nn.Module
    params: Params
    buffers: Params
    feed: Any  # gives the rows of a step and of a look
    phases: Sequence[tuple[int, Phase]]  # (first step, terms), ascending
    optimizer: torch.optim.Optimizer
    seeds: Sequence[int]
    alpha: float | Tensor = 1.0
    schedule: Callable[[int], float] | None = None  # factor on the rate at a step
    sites: Sequence[str] = ()  # beginnings of the names of taps that penalties charge
    stacked: bool = False
    device: str = "cpu"
    autocast: torch.dtype | None = None  # of products and logits, if not the weights'
    batch_statistics: bool = False  # of the rows, in a look at the training split

    def __post_init__(self) -> None:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        self.rates = [r.clone() if isinstance(r, Tensor) else r for r in rates]
        self.step_count = 0
        floats = next(iter(self.params.values())).dtype
        is_alone = self.device == "cpu" and not self.stacked
        self.scale = GRADIENT_SCALE if is_alone and floats == torch.float32 else 1.0
        self.is_random = self.feed.is_random or taps.drops(self.model)
        if self.is_random and self.stacked:
            raise ValueError("members that draw masks or crops are trained alone")
        self.captured: dict[int, Captured] = {}  # the step, by the start of its phase

    # One pass of one member ---------------------------------------------------------

    def forward(self, params, buffers, x, y, alpha, *, tap=None, model=None) -> Forward:
        """One pass of one member, with what the tap recorded."""
        with ExitStack() as rounded:
            if self.autocast:
                # in its plain form, as the shortcuts are products of another kind, and
                # without a memory of weights, which would outlive a captured step
                rounded.enter_context(fast.off())
                rounded.enter_context(
                    torch.autocast(self.device, self.autocast, cache_enabled=False)
                )
            logits = functional_call(model or self.model, (params, buffers), (x, tap))
        if not (isinstance(alpha, float) and alpha == 1):
            logits = logits * alpha
        return Forward(logits, y, params, tap.found if tap else {})

    def map(self, function: Callable, *arguments: Any) -> Any:
        """A function over members; a number that all share is not mapped."""
        if not self.stacked:
            return function(*arguments)
        axes = tuple(None if isinstance(a, float) else 0 for a in arguments)
        return vmap(function, axes)(*arguments)

    # Training -----------------------------------------------------------------------

    def step(self) -> Tensor:
        """One optimizer step; the objective before it, () or (members,), on the device.

        Gradients stay in ``.grad``. On a GPU the next step overwrites the tensor.
        """
        start, phase = self.phase()
        self._fill()
        if start not in self.captured:
            self.captured = {start: Captured(lambda: self._body(phase), self.device)}
        value = self.captured[start]()
        self.step_count += 1
        return value

    def phase(self) -> tuple[int, Phase]:
        """First step and terms of the stretch that the next step belongs to."""
        return [p for p in self.phases if p[0] <= self.step_count][-1]

    def _fill(self) -> None:
        """All that the host decides about the next step, in tensors that stay."""
        if self.is_random:  # masks and crops are drawn from (seed, step) alone
            torch.manual_seed(self.seeds[0] * 1_000_003 + self.step_count)
        self.feed.fill(self.step_count)
        if self.schedule is not None:
            factor = self.schedule(self.step_count)
            for group, rate in zip(
                self.optimizer.param_groups, self.rates, strict=True
            ):
                if isinstance(rate, Tensor):
                    group["lr"].copy_(rate * factor)
                else:
                    group["lr"] = rate * factor

    def _body(self, phase: Phase) -> Tensor:
        """One step on the rows, masks and rates that are there; waits for nothing."""

        def objective(params, buffers, x, y, alpha, numbers) -> Tensor:
            tap = taps.Recorder() if self.sites else None
            seen = self.forward(params, buffers, x, y, alpha, tap=tap)
            return phase.value(seen, numbers, self.scale)

        self.optimizer.zero_grad(set_to_none=True)
        state = (self.params, self.buffers)
        values = self.map(
            objective, *state, *self.feed.batch, self.alpha, phase.all_numbers
        )
        values.sum().backward()
        if self.scale != 1:
            for parameter in self.params.values():
                if parameter.grad is not None:
                    parameter.grad.mul_(1 / self.scale)
        self.optimizer.step(values.detach)
        return values.detach()

    # Looking ------------------------------------------------------------------------

    def observe(self, names: Iterable[str], before: Params | None = None) -> Params:
        """Observables now, by column; ``before``: the weights before the last step."""
        known = observables.OBSERVABLES
        chosen = {n for n in names if before or "step" not in known[n].needs}
        averaged = {n for n in chosen if self.feed.chunk and known[n].averaged}
        values: Params = {}
        for rows, shares in self.feed.chunks() if averaged else ():
            seen = self.snapshot(observables.needs(averaged), rows=rows)
            found = observables.observe(seen, averaged, stacked=self.stacked)
            for name, value in found.items():
                share = shares["test" if name.startswith("test_") else "train"]
                values[name] = values.get(name, 0.0) + value * share
        if whole := chosen - averaged:
            seen = self.snapshot(observables.needs(whole), before)
            values |= observables.observe(seen, whole, stacked=self.stacked)
        return values

    @torch.no_grad()
    def snapshot(
        self,
        needs: set[str],
        before: Params | None = None,
        rows: Mapping[str, Tensor] | None = None,
    ) -> Snapshot:
        """What some observables read, of these or all rows; nothing is copied."""
        seen: dict[str, Any] = {"params": self._detached()}
        places = observables.places(needs, self.model.places)  # type: ignore
        for split in needs & {"train", "test"}:
            x, y = self.feed.rows(split, rows[split] if rows else None)
            as_stepped = self.batch_statistics and split == "train"
            seen[split] = self._see(x, y, places=places, batch_statistics=as_stepped)
        if "scale_free" in needs:
            seen["unit_losses"] = self._unit_losses()
        if before is not None:  # a gradient is zero where the terms ignore a parameter
            grads = {
                name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in self.params.items()
            }
            seen |= {"before": before, "grads": grads}
        if "moments" in needs:
            spread = optimizers.spread(self.optimizer)
            seen["moments"] = dict(zip(self.params, spread, strict=True))
        return Snapshot(**seen, objective=self.objective, tap_grads=self.tap_grads)

    @torch.no_grad()
    def _see(self, x, y, *, places=(), batch_statistics=False, **how) -> Seen:
        """Logits and per-sample losses of every member on some rows, and some taps.

        With ``batch_statistics`` batch norm reads those of the rows, as a step does,
        and dropout is off. Running means are left as they are.
        """
        _, phase = self.phase()

        def look(params, buffers, x, y, alpha, numbers) -> dict[str, Any]:
            if batch_statistics:
                buffers = {name: b.clone() for name, b in buffers.items()}
            logits = self.forward(params, buffers, x, y, alpha, **how).logits
            losses = phase.loss(logits, y, **numbers, reduction="none")
            seen = {"inputs": x, "logits": logits, "labels": y, "losses": losses}
            if places:  # in a pass of its own: a tap keeps a network from shortcuts
                tap = taps.Recorder()
                self.forward(params, buffers, x, y, alpha, tap=tap)
                seen["taps"] = {place: tap.found[place] for place in places}
            return seen

        self._set_mode(self.model, batch_statistics)
        try:
            state = (self._detached(), self.buffers)
            return Seen(**self.map(look, *state, x, y, self.alpha, phase.numbers))
        finally:
            self.model.train()

    @staticmethod
    def _set_mode(model: torch.nn.Module, batch_statistics: bool) -> torch.nn.Module:
        """Evaluation, or batch norm as a step has it; dropout is off in both."""
        for module in model.modules():
            is_dropout = isinstance(module, torch.nn.Dropout)
            module.training = batch_statistics and not is_dropout
        return model

    def _unit_losses(self) -> Params:
        """Training losses with the input of every MLP divided by its length.

        SR-train of Singh et al. 2026, section 4.1: "norms kept" after the block's own
        norms, "no norms" with those before attention and MLP left out, as the official
        code does.
        """
        if not isinstance(self.model, Transformer):
            raise ValueError("SR-train is that of a transformer, and this is none")
        places = [p for p in self.model.places if p.startswith("mlp_in.")]
        forms = {"norms kept": self.model, "no norms": without_norms(self.model).eval()}
        unit = partial(torch.nn.functional.normalize, dim=-1)
        return {
            form: self._see(
                *self.feed.train,
                tap=taps.Recorder(replace=dict.fromkeys(places, unit)),
                model=model,
            ).losses
            for form, model in forms.items()
        }

    def objective(self, member: int | None = None) -> tuple[Params, Callable]:
        """(weights, function of weights): the objective of one member in float64.

        The plain form throughout, which can be differentiated twice: no shortcut, the
        loss in float64 whatever its precision, batch statistics, no dropout.
        """
        phase, params, numbers, forward = self._apart(member, wide=True)

        def loss(logits: Tensor, labels: Tensor, **numbers: Any) -> Tensor:
            return phase.loss(logits, labels, **numbers | {"dtype": torch.float64})

        def function(weights: Mapping[str, Tensor]) -> Tensor:
            with fast.off():
                seen = forward(weights, taps.Recorder() if self.sites else None)
                return replace(phase, loss=loss).value(seen, numbers)

        return params, function

    def tap_grads(
        self, member: int | None = None, *, total: bool = False
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """(activation, gradient) at every tap of one member, of the loss or all terms.

        Batch statistics, no dropout, as in ``objective``.
        """
        phase, params, numbers, forward = self._apart(member)
        tap, terms = taps.Recorder(), phase if total else replace(phase, penalties=[])
        weights = {n: p.detach().requires_grad_() for n, p in params.items()}
        with torch.enable_grad():
            value = terms.value(
                forward(weights, tap), numbers[: 1 + len(terms.penalties)]
            )
            found = {n: t for n, t in tap.found.items() if t.requires_grad}
            grads = torch.autograd.grad(value, [*found.values()], allow_unused=True)
        return {
            n: (t.detach(), torch.zeros_like(t) if g is None else g)
            for (n, t), g in zip(found.items(), grads, strict=True)
        }

    def _apart(self, member: int | None, wide: bool = False) -> Any:
        """Terms, weights and numbers of one member, and its pass of all training rows.

        With batch statistics and no dropout; what it reads is in float64 if ``wide``.
        """
        _, phase = self.phase()
        state = (self._detached(), self.buffers)
        mine: Any = (*state, *self.feed.train, self.alpha, phase.all_numbers)
        if self.stacked:
            mine = tree_map(
                lambda leaf: leaf[member or 0] if isinstance(leaf, Tensor) else leaf,
                mine,
            )
        model = self._set_mode(copy.deepcopy(self.model), True)
        if wide:
            mine, model = _double(mine), model.double()
        params, buffers, x, y, alpha, numbers = mine

        def forward(weights: Mapping[str, Tensor], tap: Any) -> Forward:
            state = {n: b.clone() for n, b in buffers.items()}
            return self.forward(weights, state, x, y, alpha, tap=tap, model=model)

        return phase, params, numbers, forward

    # State --------------------------------------------------------------------------

    def _detached(self) -> Params:
        return {name: p.detach() for name, p in self.params.items()}

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

    @torch.no_grad()
    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of these members, bit for bit."""
        self.step_count = state["step"]
        for mine, part in ((self.params, "params"), (self.buffers, "buffers")):
            for name, tensor in mine.items():
                tensor.copy_(state[part][name])
        groups = self.optimizer.state_dict()["param_groups"]  # settings, not state
        held = {"state": state["moments"], "param_groups": groups}
        self.optimizer.load_state_dict(held)


def _double(tensors: Any) -> Any:
    """Floating tensors in float64, in whatever they are held."""
    return tree_map(
        lambda t: t.double() if isinstance(t, Tensor) and t.is_floating_point() else t,
        tensors,
    )
