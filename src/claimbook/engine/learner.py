"""The learner: members that can be stacked, the step they share, what is measured.

A network is written for one member and mapped over members. A step has two parts:
``prepare_step`` is all that the host decides (rows, the seed of masks, the learning
rate), and ``run_step`` only reads and writes tensors, so that a GPU can replay it.
Masks are drawn there.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_map

from claimbook import names, observing, protocol
from claimbook.engine import build
from claimbook.engine.build import Params, Term
from claimbook.engine.device import Captured
from claimbook.errors import choose
from claimbook.experiment import Member
from claimbook.names import options, resolve
from claimbook.observing import Snapshot, SplitOutputs
from claimbook.protocol import Forward, Recorder

# After a collapse a fifth of the float32 gradients at the logits are subnormal: each
# product takes a CPU a hundred cycles. A power of two on the way back, after the loss
# has rounded its gradient, changes no bit but keeps them normal.
GRADIENT_SCALE = 2.0**64


class Learner:
    """Members of one kind, ``stacked`` along a first axis, or one without that axis."""

    def __init__(
        self, members: Sequence[Member], device: str = "cpu", *, stacked: bool = False
    ):
        arms, self.seeds = zip(*members, strict=True)
        self.arm, self.device, self.stacked = arms[0], device, stacked
        data, models = zip(*(build.start(*member) for member in members), strict=True)
        self.model = models[0]
        if stacked:
            params, buffers = stack_module_state([*models])
        else:
            params = dict(self.model.named_parameters())
            buffers = dict(self.model.named_buffers())
        self.params, self.buffers = (
            {name: t.detach().to(device, copy=True) for name, t in held.items()}
            for held in (params, buffers)
        )
        for parameter in self.params.values():
            parameter.requires_grad_()
        self.model.to(device)
        self.eval_model = copy.deepcopy(self.model).eval()
        self.step_model = copy.deepcopy(self.model)  # but for dropout
        for module in self.step_model.modules():
            module.training = not isinstance(module, torch.nn.Dropout)
        self.feed = build.Feed(self.arm, self.seeds, data, device, stacked)
        self.phases = build.phases(arms, device)
        self.alpha = build.one_or_tensor([float(arm.alpha) for arm in arms], device)
        self.optimizer = build.optimizer(arms, self.params, device, stacked)
        self.rate = copy.deepcopy(self.optimizer.param_groups[0]["lr"])
        self.step_count = 0
        penalties = [resolve("penalty", spec) for spec in self.arm.penalties]
        self.is_tapped = any(getattr(one, "reads_taps", False) for one in penalties)
        self.is_random = bool(self.arm.augment) or build.drops(self.model)
        schedule = self.arm.schedule
        self.schedule = schedule and resolve("schedule", schedule)
        is_scaled = device == "cpu" and not stacked and self.arm.dtype == "float32"
        self.gradient_scale = GRADIENT_SCALE if is_scaled else 1.0
        self.captured: dict[int, Captured] = {}  # the step, by the start of its phase

    def forward(self, params, buffers, x, y, alpha, *, tap=None, model=None) -> Forward:
        """One pass of one member, with what the tap recorded."""
        with ExitStack() as rounded:
            if self.arm.autocast:
                # in its plain form, as the shortcuts are products of another kind, and
                # without a memory of weights, which would outlive a captured step
                rounded.enter_context(protocol.switched(shortcuts=False))
                dtype = getattr(torch, self.arm.autocast)
                low = torch.autocast(self.device, dtype, cache_enabled=False)
                rounded.enter_context(low)
            logits = functional_call(model or self.model, (params, buffers), (x, tap))
        if not (isinstance(alpha, float) and alpha == 1):
            logits = logits * alpha
        return Forward(logits, y, params, tap.found if tap else {})

    def map(self, function: Callable, *arguments: Any) -> Any:
        """A function over members; what is no tensor is shared by all."""
        if not self.stacked:
            return function(*arguments)
        axes = tree_map(lambda a: 0 if isinstance(a, Tensor) else None, arguments)
        return vmap(function, axes)(*arguments)

    def step(self) -> Tensor:
        """One step; the objective before it, () or (members,), until the next step."""
        start, terms = self.phase()
        self.prepare_step()
        if start not in self.captured:
            self.captured = {
                start: Captured(partial(self.run_step, terms), self.device)
            }
        value = self.captured[start]()
        self.step_count += 1
        return value

    def phase(self) -> tuple[int, list[Term]]:
        """First step and terms of the stretch that the next step is in."""
        return [p for p in self.phases if p[0] <= self.step_count][-1]

    def prepare_step(self) -> None:
        """All that the host decides about the next step, in tensors that stay."""
        if self.is_random:  # masks and crops are drawn from (seed, step) alone
            torch.manual_seed(self.seeds[0] * 1_000_003 + self.step_count)
        self.feed.load_batch(self.step_count)
        if spec := self.arm.schedule:
            at = self.step_count, self.arm.epochs
            rate = self.rate * self.schedule(*at, **options(spec))
            (group,) = self.optimizer.param_groups
            # what a captured step reads stays in place
            group["lr"] = group["lr"].copy_(rate) if isinstance(rate, Tensor) else rate

    def run_step(self, terms: Sequence[Term]) -> Tensor:
        """One step on the rows and rates that are there; waits for nothing."""

        def objective(params, buffers, x, y, alpha, terms) -> Tensor:
            tap = Recorder() if self.is_tapped else None
            seen = self.forward(params, buffers, x, y, alpha, tap=tap)
            return objective_value(terms, seen, self.gradient_scale)

        self.optimizer.zero_grad(set_to_none=True)
        state = (self.params, self.buffers)
        values = self.map(objective, *state, *self.feed.batch, self.alpha, terms)
        values.sum().backward()
        if self.gradient_scale != 1:
            for grad in (p.grad for p in self.params.values() if p.grad is not None):
                grad.mul_(1 / self.gradient_scale)
        self.optimizer.step(values.detach)
        return values.detach()

    def observe(self, wanted: Iterable[str], before: Params | None = None) -> Params:
        """Observables now, by column; ``before``: the weights before the last step."""
        known = names.observables()
        asked = {name: choose("observable", name, known) for name in wanted}
        chosen = {n for n, one in asked.items() if before or "step" not in one.needs}
        averaged = {n for n in chosen if self.arm.eval_batch and known[n].averaged}
        values: Params = {}
        for rows, shares in self.feed.chunks() if averaged else ():
            seen = self.snapshot(observing.needs(averaged), rows=rows)
            for name, value in observing.observe(seen, averaged).items():
                share = shares["test" if name.startswith("test_") else "train"]
                values[name] = values.get(name, 0.0) + value * share
        if whole := chosen - averaged:
            seen = self.snapshot(observing.needs(whole), before)
            values |= observing.observe(seen, whole, stacked=self.stacked)
        return values

    @torch.no_grad()
    def snapshot(
        self, needs: set[str], before: Params | None = None, rows: Params | None = None
    ) -> Snapshot:
        """What some observables read, of these or all rows; nothing is copied."""
        seen: dict[str, Any] = {"params": self._detached()}
        places = observing.places(needs, self.model.places)
        for split in needs & {"train", "test"}:
            chosen = rows and self.feed.rows(split, rows[split])
            x, y = chosen or getattr(self.feed, split)
            is_as_stepped = self.arm.batch_statistics and split == "train"
            model = self.step_model if is_as_stepped else self.eval_model
            seen[split] = self._split_outputs(x, y, model, places)
        for need in needs & observing.VARIANTS.keys():
            seen.setdefault("variant_losses", {}).update(self._variant_losses(need))
        if before is not None:  # a gradient is zero where the terms ignore a parameter
            grads = {
                name: torch.zeros_like(p) if p.grad is None else p.grad
                for name, p in self.params.items()
            }
            seen |= {"before": before, "grads": grads}
        if "moments" in needs:
            spread = names.room("optimizer").spread(self.optimizer)
            seen["moments"] = dict(zip(self.params, spread, strict=True))
        return Snapshot(**seen, objective=self.objective, tap_grads=self.tap_grads)

    @torch.no_grad()
    def _split_outputs(self, x, y, model, places=(), tap=None) -> SplitOutputs:
        """Logits and per-sample losses of every member on some rows, and some taps."""

        def outputs(params, buffers, x, y, alpha, terms) -> SplitOutputs:
            buffers = {name: b.clone() for name, b in buffers.items()}
            state = (params, buffers, x, y, alpha)
            logits = self.forward(*state, tap=tap, model=model).logits
            loss, how = terms[0]
            losses = loss(logits, y, **how, reduction="none")
            found: dict[str, Tensor] = {}
            if places:  # in a pass of its own: a tap keeps a network from shortcuts
                every = self.forward(*state, tap=Recorder(), model=model).taps
                found = {place: every[place] for place in places}
            return SplitOutputs(x, logits, y, losses, found)

        state = (self._detached(), self.buffers)
        return self.map(outputs, *state, x, y, self.alpha, self.phase()[1])

    def _variant_losses(self, need: str) -> Params:
        """Training losses (rows,) of every changed network that an observable needs."""
        losses = {}
        for name, variant in observing.VARIANTS[need](self.eval_model).items():
            tap = Recorder(replace=variant.replace)
            seen = self._split_outputs(*self.feed.train, variant.network, tap=tap)
            losses[name] = seen.losses
        return losses

    def objective(self, member: int = 0) -> tuple[Params, Callable]:
        """(weights, function of weights): the objective of one member in float64.

        It can be differentiated twice: no shortcut, batch statistics, no dropout.
        """
        params, (loss, *charges), forward = self._of_member(member, wide=True)
        terms = [(loss[0], loss[1] | {"dtype": torch.float64}), *charges]

        def function(weights: Mapping[str, Tensor]) -> Tensor:
            with protocol.switched(shortcuts=False):
                return objective_value(terms, forward(weights))

        return params, function

    def tap_grads(self, member: int = 0, *, total: bool = False) -> dict[str, Any]:
        """(activation, gradient) at every tap of a member, of the loss or all terms."""
        params, terms, forward = self._of_member(member)
        with torch.enable_grad():
            seen = forward({n: p.requires_grad_() for n, p in params.items()}, True)
            found = {n: t for n, t in seen.taps.items() if t.requires_grad}
            value, at = (
                objective_value(terms if total else terms[:1], seen),
                [*found.values()],
            )
            grads = torch.autograd.grad(value, at, materialize_grads=True)
        pairs = zip(found.items(), grads, strict=True)
        return {name: (tensor.detach(), grad) for (name, tensor), grad in pairs}

    def _of_member(
        self, member: int, wide: bool = False
    ) -> tuple[Params, Any, Callable]:
        """Weights and terms of one member, and its pass of all training rows."""

        def mine(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            one = leaf.detach()[member] if self.stacked else leaf.detach()
            return one.double() if wide and leaf.is_floating_point() else one

        state = (self.phase()[1], self.params, self.buffers, *self.feed.train)
        terms, params, buffers, *rest = tree_map(mine, (*state, self.alpha))

        def forward(weights: Mapping[str, Tensor], is_tapped: bool = False) -> Forward:
            own = {n: b.clone() for n, b in buffers.items()}
            tap = Recorder() if is_tapped or self.is_tapped else None
            return self.forward(weights, own, *rest, tap=tap, model=self.step_model)

        return params, terms, forward

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


def objective_value(terms: Sequence[Term], seen: Forward, scale: float = 1.0) -> Tensor:
    """The objective of one member; its gradients, once rounded, times ``scale``."""
    (loss, how), *charges = terms
    logits = seen.logits if scale == 1 else scaled(seen.logits, scale)
    value = loss(logits, seen.labels, **how)
    for penalty, how in charges:
        charged = penalty(seen, **how)
        value = value + (charged if scale == 1 else scaled(charged, scale))
    return value


def scaled(x: Tensor, factor: float) -> Tensor:
    """x itself, whose gradient is multiplied by ``factor``; not to be taken further.

    Loss scaling [Micikevicius et al. 2018, section 3.2] after the loss has rounded its
    gradient: a power of two changes no bit, but that of sums below the smallest normal
    number, 1.2e-38 in float32. The caller divides the gradients again.
    """
    view = x.view_as(x)
    if view.requires_grad:
        view.register_hook(lambda grad: grad * factor)
    return view
