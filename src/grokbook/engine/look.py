"""What a look sees: a Snapshot of a learner as it is now, and its observables.

Splits are passed in evaluation mode, whole or in batches; where an arm asks for it the
training split with the statistics of the batch. The objective is also given as a
function of the weights, in float64 and by the plain form, for second derivatives.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grokbook import observables
from grokbook.engine.device import Captured
from grokbook.models import Transformer, fast, taps, without_norms
from grokbook.observables import Seen, Snapshot
from grokbook.optimizers import AdamW

if TYPE_CHECKING:
    from grokbook.engine.learner import Learner, Phase

Params = dict[str, Tensor]


class Look:
    """Looks at one learner; on a GPU those of one kind are captured and replayed."""

    def __init__(self, learner: Learner):
        self.learner = learner
        self.graphs: dict[tuple, Captured] = {}
        self.before: Params = {}  # what a look reads of the last step,
        self.grads: Params = {}  # on a GPU in tensors that stay in place

    def observe(self, names: Iterable[str], before: Params | None = None) -> dict:
        """Observables now, by column; ``before``: the weights before the last step."""
        chosen = {
            n
            for n in names
            if before is not None or "step" not in observables.OBSERVABLES[n].needs
        }
        whole = {n for n in chosen if self._whole(n)}
        values = self._averages(chosen - whole)
        if whole:
            values |= self._observe_whole(sorted(whole), before)
        return values

    def _whole(self, name: str) -> bool:
        """Whether an observable is taken of all rows at once."""
        return not (self.learner.feed.chunk and observables.OBSERVABLES[name].averaged)

    def _observe_whole(self, names: list[str], before: Params | None) -> dict:
        if before is not None:
            self.before = self._in_place(self.before, before)
            self.grads = self._in_place(self.grads, self.learner.raw_grads())
        alike = [n for n in names if observables.OBSERVABLES[n].mapped]
        key = (self.learner.phase()[0], before is None, *alike)
        if key not in self.graphs:

            def look() -> dict:
                snapshot = self.snapshot(observables.needs(alike), before is not None)
                return observables.observe(
                    snapshot, alike, stacked=self.learner.stacked
                )

            self.graphs[key] = Captured(look, self.learner.device)
        values = {k: v.clone() for k, v in self.graphs[key]().items()} if alike else {}
        if rest := [n for n in names if n not in alike]:
            snapshot = self.snapshot(observables.needs(rest), before is not None)
            values |= observables.observe(snapshot, rest, stacked=self.learner.stacked)
        return values

    def _in_place(self, old: Params, new: Params) -> Params:
        """New values where a captured look reads them."""
        if self.learner.device == "cpu":
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
        train, test = self.learner.feed.looked_at()
        for train_rows, test_rows in self.learner.feed.chunks():
            snapshot = Snapshot(
                params=self.learner.weights(),
                train=self._see(
                    *self.learner.feed.rows("train", train_rows),
                    batch_statistics=self.learner.batch_statistics,
                ),
                test=self._see(*self.learner.feed.rows("test", test_rows)),
            )
            found = observables.observe(snapshot, names, stacked=self.learner.stacked)
            for name, value in found.items():
                is_test = name.startswith("test_")
                rows, of = (test_rows, test) if is_test else (train_rows, train)
                totals[name] = totals.get(name, 0.0) + value * (len(rows) / of)
        return totals

    @torch.no_grad()
    def snapshot(self, needs: set[str], has_step: bool) -> Snapshot:
        """What some observables read, of all rows; parameters are not copied."""
        params = {name: p.detach() for name, p in self.learner.params.items()}
        seen: dict[str, Any] = {"params": params}
        network: Any = self.learner.model
        places = observables.places(needs, network.places())
        if "train" in needs:
            seen["train"] = self._see(
                *self.learner.feed.train,
                places=places,
                batch_statistics=self.learner.batch_statistics,
            )
        if "test" in needs:
            seen["test"] = self._see(*self.learner.feed.test, places=places)
        if "scale_free" in needs:
            seen["unit_losses"] = self._unit_losses()
        if has_step:
            seen |= {"before": self.before, "grads": self.grads}
        if "moments" in needs and isinstance(self.learner.optimizer, AdamW):
            spread = self.learner.optimizer.spread()
            seen["moments"] = dict(zip(self.learner.params, spread, strict=True))
        return Snapshot(**seen, objective=self.objective, tap_grads=self.tap_grads)

    @torch.no_grad()
    def _see(
        self,
        x,
        y,
        *,
        places: Iterable[str] = (),
        batch_statistics: bool = False,
        **how,
    ) -> Seen:
        """Logits and per-sample losses of every member on some rows, and some taps.

        With ``batch_statistics`` batch norm reads those of the rows, as a step does,
        and dropout is off. Running means are left as they are.
        """
        _, phase = self.learner.phase()

        def look(params, buffers, x, y, alpha, numbers):
            if batch_statistics:
                buffers = {name: b.clone() for name, b in buffers.items()}
            seen = self.learner.forward(params, buffers, x, y, alpha, **how)
            losses = phase.loss(seen.logits, y, **numbers, reduction="none")
            found = {}
            if places:
                tap = taps.Recorder()
                self.learner.forward(params, buffers, x, y, alpha, tap=tap)
                found = {place: tap.found[place] for place in places}
            return {
                "inputs": x,
                "logits": seen.logits,
                "labels": y,
                "losses": losses,
                "taps": found,
            }

        params = {name: p.detach() for name, p in self.learner.params.items()}
        for module in self.learner.model.modules():
            is_dropout = isinstance(module, taps.Dropout)
            module.training = batch_statistics and not is_dropout
        try:
            state = (params, self.learner.buffers)
            return Seen(
                **self.learner.map(
                    look, *state, x, y, self.learner.alpha, phase.numbers
                )
            )
        finally:
            self.learner.model.train()

    def _unit_losses(self) -> Params:
        """Training losses with the input of every MLP divided by its length.

        SR-train of Singh et al. 2026, section 4.1: "norms kept" after the block's own
        norms, "no norms" with those before attention and MLP left out, as the official
        code does.
        """
        if not isinstance(self.learner.model, Transformer):
            raise ValueError("SR-train is that of a transformer, and this is none")
        places = [p for p in self.learner.model.places() if p.startswith("mlp_in.")]
        forms = {
            "norms kept": self.learner.model,
            "no norms": without_norms(self.learner.model).eval(),
        }

        def unit(x: Tensor) -> Tensor:
            return torch.nn.functional.normalize(x, dim=-1)

        return {
            form: self._see(
                *self.learner.feed.train,
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
        _, phase = self.learner.phase()
        params, buffers, x, y, alpha, every = self._member(member, phase)
        model = copy.deepcopy(self.learner.model).double()
        for module in model.modules():
            module.train(not isinstance(module, taps.Dropout))
        wide = replace(phase, loss=_in_float64(phase.loss))

        def function(weights: Mapping[str, Tensor]) -> Tensor:
            tap = taps.Recorder() if self.learner.sites else None
            state = {n: b.clone() for n, b in _double(buffers).items()}
            with fast.off():
                seen = self.learner.forward(
                    weights, state, _double(x), y, alpha, tap=tap, model=model
                )
                return wide.value(seen, every)

        return _double(params), function

    def tap_grads(
        self, member: int | None = None, *, total: bool = False
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """(activation, gradient) at every tap of one member, of the loss or all terms.

        Batch statistics, no dropout, as in ``objective``.
        """
        _, phase = self.learner.phase()
        params, buffers, x, y, alpha, every = self._member(member, phase)
        tap, model = taps.Recorder(), copy.deepcopy(self.learner.model)
        for module in model.modules():
            module.train(not isinstance(module, taps.Dropout))
        state = {n: b.clone() for n, b in buffers.items()}
        weights = {n: p.detach().requires_grad_() for n, p in params.items()}
        with torch.enable_grad():
            seen = self.learner.forward(
                weights, state, x, y, alpha, tap=tap, model=model
            )
            value = (
                phase.value(seen, every)
                if total
                else phase.loss(seen.logits, y, **every[0])
            )
            found = {n: t for n, t in tap.found.items() if t.requires_grad}
            grads = torch.autograd.grad(value, [*found.values()], allow_unused=True)
        return {
            n: (t.detach(), torch.zeros_like(t) if g is None else g)
            for (n, t), g in zip(found.items(), grads, strict=True)
        }

    def _member(self, member: int | None, phase: Phase) -> tuple:
        """Weights, buffers, rows, alpha and numbers of one member."""
        everything = (
            {n: p.detach() for n, p in self.learner.params.items()},
            self.learner.buffers,
            *self.learner.feed.train,
            self.learner.alpha,
            phase.all_numbers,
        )
        if not self.learner.stacked:
            return everything

        def mine(leaf: Any) -> Any:
            return leaf[member or 0] if isinstance(leaf, Tensor) else leaf

        return tuple(torch.utils._pytree.tree_map(mine, part) for part in everything)


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
