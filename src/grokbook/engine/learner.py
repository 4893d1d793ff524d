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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap

from grokbook.engine import observe
from grokbook.engine.device import Captured
from grokbook.engine.observe import Seen, Snapshot
from grokbook.models import Transformer, fast, taps, without_norms
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

    def value(self, seen: Forward, every: list[Numbers]) -> Tensor:
        """The objective of one member."""
        value = self.loss(seen.logits, seen.labels, **every[0])
        for term, numbers in zip(self.penalties, every[1:], strict=True):
            value = value + term.function(seen, **numbers)
        return value


class Learner:
    """Members of one kind: state, data, and the step; without a member axis for one.

    ``feed`` gives the rows of a step and of a look. ``phases``: (first step, terms),
    ascending. ``schedule``: factor on the learning rate at a step. ``seeds`` of the
    members, from which batches and masks are drawn, with the step and nothing else.
    ``sites``: beginnings of the names of taps that the penalties charge.
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
    ):
        self.model, self.params, self.buffers, self.feed = model, params, buffers, feed
        self.phases, self.optimizer, self.seeds = phases, optimizer, list(seeds)
        self.alpha, self.schedule, self.stacked = alpha, schedule, stacked
        self.sites, self.device = tuple(sites), device
        rates = [group["lr"] for group in optimizer.param_groups]
        self.rates = [r.clone() if isinstance(r, Tensor) else r for r in rates]
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
        self._looks: dict[tuple, Captured] = {}
        self._before: Params = {}  # what a look reads of the last step,
        self._grads: Params = {}  # on a GPU in tensors that stay in place

    # One pass of one member ---------------------------------------------------------

    def _forward(
        self, params, buffers, x, y, alpha, *, tap=None, model=None
    ) -> Forward:
        logits = functional_call(model or self.model, (params, buffers), (x, tap))
        if not (isinstance(alpha, float) and alpha == 1):
            logits = logits * alpha
        return Forward(logits, y, params, tap.found if tap else {})

    def _objective(self, phase, params, buffers, x, y, alpha, numbers) -> Tensor:
        tap = taps.Recorder() if self.sites else None
        seen = self._forward(params, buffers, x, y, alpha, tap=tap)
        if self.scale != 1:
            seen = self._scaled(seen, needs_params=bool(phase.penalties))
        return phase.value(seen, numbers)

    def _scaled(self, seen: Forward, *, needs_params: bool) -> Forward:
        """The same with larger gradients at everything that a term may charge."""

        def scaled(tensors: Mapping[str, Tensor]) -> Params:
            return {n: fast.scaled(t, self.scale) for n, t in tensors.items()}

        return Forward(
            fast.scaled(seen.logits, self.scale),
            seen.labels,
            scaled(seen.params) if needs_params else seen.params,
            scaled(seen.taps),
        )

    def _map(self, function: Callable, *arguments: Any) -> Any:
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
        start, phase = self._phase()
        self._fill()
        if start not in self._steps:
            self._steps = {start: Captured(lambda: self._body(phase), self.device)}
        value = self._steps[start]()
        self.step_count += 1
        return value

    def _phase(self) -> tuple[int, Phase]:
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
        values = self._map(
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
        self.optimizer.step()
        return values.detach()

    def _raw_grads(self) -> Params:
        """Gradients of the last step, zeros of a parameter that the terms ignore."""
        return {
            name: torch.zeros_like(p) if p.grad is None else p.grad
            for name, p in self.params.items()
        }

    # Looking ------------------------------------------------------------------------

    def observe(self, names: Iterable[str], before: Params | None = None) -> dict:
        """Observables now, by column; ``before``: the weights before the last step."""
        chosen = {
            n
            for n in names
            if before is not None or "step" not in observe.OBSERVABLES[n].needs
        }
        whole = {n for n in chosen if self._whole(n)}
        values = self._averages(chosen - whole)
        if whole:
            values |= self._observe_whole(sorted(whole), before)
        return values

    def _whole(self, name: str) -> bool:
        """Whether an observable is taken of all rows at once."""
        return not (self.feed.chunk and observe.OBSERVABLES[name].averaged)

    def _observe_whole(self, names: list[str], before: Params | None) -> dict:
        if before is not None:
            self._before = self._in_place(self._before, before)
            self._grads = self._in_place(self._grads, self._raw_grads())
        alike = [n for n in names if observe.OBSERVABLES[n].mapped]
        key = (self._phase()[0], before is None, *alike)
        if key not in self._looks:

            def look() -> dict:
                snapshot = self.snapshot(observe.needs(alike), before is not None)
                return observe.observe(snapshot, alike, stacked=self.stacked)

            self._looks[key] = Captured(look, self.device)
        values = {k: v.clone() for k, v in self._looks[key]().items()} if alike else {}
        if rest := [n for n in names if n not in alike]:
            snapshot = self.snapshot(observe.needs(rest), before is not None)
            values |= observe.observe(snapshot, rest, stacked=self.stacked)
        return values

    def _in_place(self, old: Params, new: Params) -> Params:
        """New values where a captured look reads them."""
        if self.device == "cpu":
            return new
        if not old:
            return {name: tensor.clone() for name, tensor in new.items()}
        for name, tensor in new.items():
            old[name].copy_(tensor)
        return old

    def _averages(self, names: set[str]) -> dict[str, Tensor]:
        """Observables averaged over batches of both splits, to bound the memory."""
        totals: dict[str, Tensor] = {}
        if not names:
            return totals
        train, test = self.feed.looked_at()
        for train_rows, test_rows in self.feed.chunks():
            snapshot = Snapshot(
                params=self.weights(),
                train=self._see(*self.feed.rows("train", train_rows)),
                test=self._see(*self.feed.rows("test", test_rows)),
            )
            found = observe.observe(snapshot, names, stacked=self.stacked)
            for name, value in found.items():
                is_test = name.startswith("test_")
                rows, of = (test_rows, test) if is_test else (train_rows, train)
                totals[name] = totals.get(name, 0.0) + value * (len(rows) / of)
        return totals

    @torch.no_grad()
    def snapshot(self, needs: set[str], has_step: bool) -> Snapshot:
        """What some observables read, of all rows; parameters are not copied."""
        params = {name: p.detach() for name, p in self.params.items()}
        seen: dict[str, Any] = {"params": params}
        places = needs & observe.PLACES
        if "train" in needs:
            seen["train"] = self._see(*self.feed.train, places=places)
        if "test" in needs:
            seen["test"] = self._see(*self.feed.test, places=places)
        if "scale_free" in needs:
            seen["unit_losses"] = self._unit_losses()
        if has_step:
            seen |= {"before": self._before, "grads": self._grads}
        if "moments" in needs and isinstance(self.optimizer, AdamW):
            spread = self.optimizer.spread()
            seen["moments"] = dict(zip(self.params, spread, strict=True))
        return Snapshot(**seen, objective=self.objective, tap_grads=self.tap_grads)

    @torch.no_grad()
    def _see(self, x, y, *, places: Iterable[str] = (), **how) -> Seen:
        """Logits and per-sample losses of every member on some rows, and some taps."""
        _, phase = self._phase()

        def look(params, buffers, x, y, alpha, numbers):
            seen = self._forward(params, buffers, x, y, alpha, **how)
            losses = phase.loss(seen.logits, y, **numbers, reduction="none")
            found = {}
            if places:
                tap = taps.Recorder()
                self._forward(params, buffers, x, y, alpha, tap=tap)
                found = {place: tap.found[place] for place in places}
            return {"logits": seen.logits, "labels": y, "losses": losses, "taps": found}

        params = {name: p.detach() for name, p in self.params.items()}
        self.model.eval()
        try:
            state = (params, self.buffers)
            return Seen(**self._map(look, *state, x, y, self.alpha, phase.numbers))
        finally:
            self.model.train()

    def _unit_losses(self) -> Params:
        """Training losses with the input of every MLP divided by its length.

        SR-train of Singh et al. 2026, section 4.1: "norms kept" after the block's own
        norms, "no norms" with those before attention and MLP left out, as the official
        code does.
        """
        if not isinstance(self.model, Transformer):
            raise ValueError("SR-train is that of a transformer, and this is none")
        places = [p for p in self.model.places() if p.startswith("mlp_in.")]
        forms = {"norms kept": self.model, "no norms": without_norms(self.model).eval()}

        def unit(x: Tensor) -> Tensor:
            return torch.nn.functional.normalize(x, dim=-1)

        return {
            form: self._see(
                *self.feed.train,
                tap=taps.Recorder(replace=dict.fromkeys(places, unit)),
                model=model,
            ).losses
            for form, model in forms.items()
        }

    # Derivatives for observables ----------------------------------------------------

    def objective(self, member: int | None = None) -> tuple[Params, Callable]:
        """(weights, function of weights): the objective of one member in float64.

        The plain form throughout, which can be differentiated twice: no shortcut, the
        loss in float64 whatever its precision, batch statistics, no dropout.
        """
        _, phase = self._phase()
        params, buffers, x, y, alpha, every = self._member(member, phase)
        model = copy.deepcopy(self.model).double()
        for module in model.modules():
            module.train(not isinstance(module, taps.Dropout))
        wide = Phase(_in_float64(phase.loss), phase.numbers, phase.penalties)

        def function(weights: Mapping[str, Tensor]) -> Tensor:
            tap = taps.Recorder() if self.sites else None
            state = {n: b.clone() for n, b in _double(buffers).items()}
            with fast.off():
                seen = self._forward(
                    weights, state, _double(x), y, alpha, tap=tap, model=model
                )
                return wide.value(seen, every)

        return _double(params), function

    def tap_grads(
        self, member: int | None = None, *, total: bool = False
    ) -> dict[str, Tensor]:
        """Gradients at every tap of one member: of the loss, or of all terms."""
        _, phase = self._phase()
        params, buffers, x, y, alpha, every = self._member(member, phase)
        tap = taps.Recorder()
        state = {n: b.clone() for n, b in buffers.items()}
        weights = {n: p.detach().requires_grad_() for n, p in params.items()}
        with torch.enable_grad():
            seen = self._forward(weights, state, x, y, alpha, tap=tap)
            value = (
                phase.value(seen, every)
                if total
                else phase.loss(seen.logits, y, **every[0])
            )
            found = {n: t for n, t in tap.found.items() if t.requires_grad}
            grads = torch.autograd.grad(value, [*found.values()], allow_unused=True)
        return {
            n: torch.zeros_like(t) if g is None else g
            for (n, t), g in zip(found.items(), grads, strict=True)
        }

    def _member(self, member: int | None, phase: Phase) -> tuple:
        """Weights, buffers, rows, alpha and numbers of one member."""
        everything = (
            {n: p.detach() for n, p in self.params.items()},
            self.buffers,
            *self.feed.train,
            self.alpha,
            phase.all_numbers,
        )
        if not self.stacked:
            return everything

        def mine(leaf: Any) -> Any:
            return leaf[member or 0] if isinstance(leaf, Tensor) else leaf

        return tuple(torch.utils._pytree.tree_map(mine, part) for part in everything)

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
        return [*self._steps.values(), *self._looks.values()]


def _seed(seed: int, step: int) -> int:
    """Seed of what is drawn in one step of one member."""
    return seed * 1_000_003 + step


def _double(tensors: Any) -> Any:
    """Floating tensors in float64, in whatever they are held."""
    return torch.utils._pytree.tree_map(
        lambda t: t.double() if isinstance(t, Tensor) and t.is_floating_point() else t,
        tensors,
    )


def _in_float64(loss: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def wide(logits: Tensor, labels: Tensor, **numbers: Any) -> Tensor:
        return loss(logits, labels, **numbers | {"dtype": torch.float64})

    return wide
