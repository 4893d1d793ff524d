"""Hooks on torch's optimizers: what is done to gradients or weights around a step.

    g_perp = g - (w . g) / (w . w) w            [Prieto et al. 2025, eq. 12]

They act in the order in which they were added and return the optimizer. On a stack
norms, projections and means are per member. Gradients and learning rates are afterwards
as they were; a deep copy has no hooks. A closure is called once, before the hooks.
"""

import math
from collections.abc import Iterable
from functools import wraps
from types import MethodType, SimpleNamespace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from claimbook.errors import UnknownName, choose
from grokbook.optimizers.rules import fitted, gradients

TINY = 1e-30  # guards the divisions of ``orthogonal``, as in the official code
Opt = TypeVar("Opt", bound=Optimizer)


def _around(optimizer: Any) -> Any:
    """What is done around every step of one optimizer.

    Before it ``changes`` act on gradients and learning rates, which are given back even
    if it raises; ``repairs`` act on the weights after it. ``loss`` is the closure's.
    """
    if hasattr(optimizer, "around"):
        return optimizer.around
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError("LBFGS makes gradients in its step, where no hook can act")
    around = optimizer.around = SimpleNamespace(changes=[], repairs=[], loss=None)
    inner = optimizer.step

    @torch.no_grad()
    @wraps(inner)
    def step(optimizer: Any, closure: Any = None, **how: Any) -> Any:
        with torch.enable_grad():
            around.loss = closure() if closure else None
        params = [p for group in optimizer.param_groups for p in group["params"]]
        held = [p for p in params if p.grad is not None]
        raw, scale = gradients(held), getattr(optimizer, "grad_scale", None)
        if any(grad.is_sparse or grad.is_complex() for grad in raw):
            raise TypeError("hooks need gradients that are dense and real")
        rates = [(g, g["lr"]) for g in optimizer.param_groups if "lr" in g]
        try:
            if scale is not None:  # a GradScaler lets a fused optimizer divide by it
                optimizer.grad_scale = None
                for parameter in held:
                    parameter.grad = parameter.grad / scale
            is_skipped = not held or getattr(optimizer, "found_inf", False)
            if not is_skipped:
                for change in around.changes:
                    change(optimizer, held)
            # a closure was called above: a rule that asks for the loss gets that one
            arguments = [lambda: around.loss] if closure else []
            result = inner(*arguments, **how)
            for repair in around.repairs:
                repair(optimizer)
            return result
        finally:
            for parameter, grad in zip(held, raw, strict=True):
                parameter.grad = None if parameter.grad is None else grad
            for group, rate in rates:
                group["lr"] = rate
            if scale is not None:
                optimizer.grad_scale = scale

    optimizer.step = MethodType(step, optimizer)  # as torch's schedulers ask for
    return around


def _is_stacked(optimizer: Optimizer) -> bool:
    return bool(optimizer.defaults.get("stacked"))


def _rows(optimizer: Optimizer, tensors: Iterable[Tensor]) -> list[Tensor]:
    """Each tensor as (members or 1, entries)."""
    stacked = _is_stacked(optimizer)
    return [t.detach().reshape(t.shape[0] if stacked else 1, -1) for t in tensors]


def _inner(left: list[Tensor], right: list[Tensor], joint: bool) -> list[Tensor]:
    """Inner products (rows, 1) of each pair, or that of all in the place of each."""
    each = [x.sum(dim=-1, keepdim=True) for x in torch._foreach_mul(left, right)]
    return [sum(each[1:], each[0])] * len(each) if joint else each


def _norm(tensors: list[Tensor], joint: bool, **how: Any) -> list[Tensor]:
    """L2 norms (rows, 1) of each tensor, or that of all in the place of each."""
    norm = torch.linalg.vector_norm
    each = [norm(x, dim=1, keepdim=True, **how) for x in tensors]
    return [norm(torch.stack(each), dim=0)] * len(each) if joint else each


def _gradient_norm(optimizer: Optimizer, parameters: list[Tensor]) -> Tensor:
    """Norm of the whole gradient, () or [members], in float64."""
    rows = _rows(optimizer, gradients(parameters))
    norm = _norm(rows, joint=True, dtype=torch.float64)[0].squeeze(1)
    return norm if _is_stacked(optimizer) else norm[0]


def orthogonal(optimizer: Opt, *, rescale: bool = True, scope: str = "tensor") -> Opt:
    """Remove from each gradient its part along the weights, in every step (⊥Grad).

    ``rescale=True, scope="tensor"`` is the official code: every tensor is projected
    against itself and gets back the norm of its raw gradient. ``rescale=False,
    scope="global"`` is eq. 11-12 of the paper: one projection of the whole parameter
    vector. A tensor of zeros, or of one number, is not projected; a gradient parallel
    to the weights becomes rounding noise, which the rescaling amplifies.
    """
    joint = choose("scope", scope, ("tensor", "global")) == "global"

    def project(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        weights = _rows(optimizer, parameters)
        grads = _rows(optimizer, gradients(parameters))
        products, squares = (_inner(weights, x, joint) for x in (grads, weights))
        shares = []
        for product, square, weight in zip(products, squares, weights, strict=True):
            share = product / (square + TINY)
            is_one_number = weight.shape[1] == 1
            shares.append(share * 0.0 if is_one_number and not joint else share)
        kept = list(torch._foreach_addcmul(grads, weights, shares, value=-1))
        if rescale:
            norms = zip(_norm(grads, joint), _norm(kept, joint), strict=True)
            torch._foreach_mul_(kept, [was / (now + TINY) for was, now in norms])
        for parameter, g in zip(parameters, kept, strict=True):
            parameter.grad = g.reshape(parameter.shape)

    _around(optimizer).changes.append(project)
    return optimizer


def unit_steps(optimizer: Opt) -> Opt:
    """Divide the learning rate of each step by the norm of the full gradient.

    Every step of gradient descent then has length lr (figure 9 of Prieto et al., after
    Lyu & Li). The norm is that of all groups, in float64; where it is 0 so is the step,
    and no rate is beyond the largest number of the weights' dtype.
    """
    if "lr" not in optimizer.param_groups[0]:
        name = type(optimizer).__name__
        raise UnknownName(f"{name} has no learning rate that could be divided")

    def normalise(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        norm = _gradient_norm(optimizer, parameters)
        scale = torch.where(norm > 0, 1 / norm, 0.0)
        largest = torch.finfo(parameters[0].dtype).max
        for group in optimizer.param_groups:  # a float waits for the device
            rate = (group["lr"] * scale).clamp(max=largest)
            group["lr"] = rate if isinstance(group["lr"], Tensor) else float(rate)

    _around(optimizer).changes.append(normalise)
    return optimizer


def clip(optimizer: Opt, *, norm: float) -> Opt:
    """Scale the gradients of a step by one factor, to a joint norm up to ``norm``."""

    def shorten(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        factor = (norm / _gradient_norm(optimizer, parameters)).clamp(max=1)
        grads = gradients(parameters)
        scaled = torch._foreach_mul(grads, fitted(factor, grads))
        for parameter, grad in zip(parameters, scaled, strict=True):
            parameter.grad = grad

    _around(optimizer).changes.append(shorten)
    return optimizer


def grokfast(optimizer: Opt, *, alpha: float = 0.98, lamb: float = 2.0) -> Opt:
    """Amplify the slow part of each gradient, its moving average.

        mu <- alpha mu + (1 - alpha) g,   g <- g + lamb mu     [Lee et al. 2024, EMA]

    As in the official code mu begins as the first gradient. ``state["grokfast"]`` has
    it, a tensor per parameter, and goes into a checkpoint with the moments.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    kept: dict[Any, Any] = optimizer.state
    slow = {str(k): torch.zeros_like(p) for k, p in enumerate(params)}
    kept["grokfast"] = slow | {"share": torch.ones_like(params[0].sum())}

    def amplify(optimizer: Optimizer, _parameters: list[Tensor]) -> None:
        state = optimizer.state["grokfast"]  # type: ignore[index]
        for k, parameter in enumerate(params):
            if parameter.grad is not None:
                mu, grad = state[str(k)], parameter.grad
                mu.add_(state["share"] * (grad - mu))
                parameter.grad = grad + lamb * mu
        state["share"].fill_(1 - alpha)

    _around(optimizer).changes.append(amplify)
    return optimizer


def centre_rows(optimizer: Opt, *, names: Iterable[str]) -> Opt:
    """After each step subtract from every named matrix the mean of its rows.

    For a head (classes, width) this takes away W_G, the mean classifier of Liu et al.
    (2026), section B.3; the moments keep it. UnknownName lists the names there are.
    """
    matrices = _named(optimizer, names)

    def centre(_optimizer: Optimizer) -> None:
        for matrix in matrices:
            matrix.sub_(matrix.mean(dim=-2, keepdim=True))

    _around(optimizer).repairs.append(centre)
    return optimizer


def hold_norm(
    optimizer: Opt, *, names: Iterable[str], norm: float, total: bool = False
) -> Opt:
    """After each step scale every named matrix to the Frobenius norm ``norm``.

    With ``total`` it is the norm of all of them together, by one factor. The start is
    left as it is; the moments of the optimizer are not scaled.
    """
    matrices = _named(optimizer, names)

    def hold(_optimizer: Optimizer) -> None:
        lengths = [matrix.norm(dim=(-2, -1), keepdim=True) for matrix in matrices]
        if total:
            lengths = [torch.stack(lengths).square().sum(0).sqrt()] * len(lengths)
        for matrix, length in zip(matrices, lengths, strict=True):
            matrix.mul_(norm / length.clamp(min=TINY))

    _around(optimizer).repairs.append(hold)
    return optimizer


def clip_rows(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """After each step shorten every row of a named matrix to the norm ``norm`` at most.

    A row holds the weights into one unit. Used in the chapter Remedies.
    """
    matrices = _named(optimizer, names)

    def shorten(_optimizer: Optimizer) -> None:
        for matrix in matrices:
            length = matrix.norm(dim=-1, keepdim=True)
            matrix.mul_((norm / length.clamp(min=TINY)).clamp(max=1))

    _around(optimizer).repairs.append(shorten)
    return optimizer


def replay_norm(
    optimizer: Opt,
    *,
    names: Iterable[str],
    norms: Iterable[Iterable[float]],
    every: int,
) -> Opt:
    """After each step scale every named matrix to a norm that was recorded before.

    ``norms`` has for each name its Frobenius norms at step 0, ``every``, 2 ``every``
    and so on; between them they are linear, and after the last one they stay.
    ``state`` has the ``steps`` made, for a checkpoint. Used in remedies/elsewhere.
    """
    matrices = _named(optimizer, names)
    curves = [
        torch.tensor(list(curve), dtype=matrix.dtype, device=matrix.device)
        for matrix, curve in zip(matrices, norms, strict=True)
    ]
    kept: dict[Any, Any] = optimizer.state
    kept["replay_norm"] = {"steps": torch.zeros_like(matrices[0].detach().sum())}

    def replay(optimizer: Optimizer) -> None:
        steps = optimizer.state["replay_norm"]["steps"]  # type: ignore[index]
        steps.add_(1)
        for matrix, curve in zip(matrices, curves, strict=True):
            place = (steps / every).clamp(max=len(curve) - 1).reshape(1)
            below = place.floor()
            above = (below + 1).clamp(max=len(curve) - 1)
            # index_select, as ``curve[below]`` would wait for the device
            start, end = (curve.index_select(0, at.long()) for at in (below, above))
            length = matrix.norm(dim=(-2, -1), keepdim=True)
            wanted = torch.lerp(start, end, place - below)
            matrix.mul_(wanted / length.clamp(min=TINY))

    _around(optimizer).repairs.append(replay)
    return optimizer


def steps_by_norm(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """Multiply each step of every named matrix by its own norm over ``norm``.

    A matrix whose length is free then turns by about the angle by which it would if
    ``hold_norm`` held it at ``norm``: the control for what a held norm does to a step.
    The norm is that before the step. Used in remedies/elsewhere.
    """
    matrices = _named(optimizer, names)
    found: list[tuple[Tensor, Tensor]] = []  # a matrix and what it was before the step

    def note(_optimizer: Optimizer, _parameters: list[Tensor]) -> None:
        found[:] = [(matrix, matrix.detach().clone()) for matrix in matrices]

    def lengthen(_optimizer: Optimizer) -> None:
        for matrix, before in found:
            share = before.norm(dim=(-2, -1), keepdim=True) / norm
            matrix.copy_(before + share * (matrix - before))
        found.clear()

    around = _around(optimizer)
    around.changes.append(note)
    around.repairs.append(lengthen)
    return optimizer


def _named(optimizer: Optimizer, names: Iterable[str]) -> list[Tensor]:
    known: dict[str, Tensor] = {}
    for group in optimizer.param_groups:
        known |= zip(group["param_names"], group["params"], strict=True)
    return [choose("parameter", name, known) for name in names]


def descend_from(
    optimizer: Opt, *, lr: float, loss: float = math.inf, after: int = 0
) -> Opt:
    """From the first step whose loss is at most ``loss`` on, plain gradient descent.

    w <- w - lr g takes the place of the rule, for good, and for each member of a stack
    from its own step on, but not before ``after`` steps (Liu et al. 2026, section
    B.2.2: from a loss of 0 at lr 1e5). ``g`` is what hooks added before made of the
    gradient; a closure has to tell ``step`` the loss, () or [members]. ``state`` has
    whether a member ``descends`` (0 or 1) and the ``steps`` made, for a checkpoint.
    """
    around, first = _around(optimizer), optimizer.param_groups[0]["params"][0]
    kept: dict[Any, Any] = optimizer.state
    members = first.shape[:1] if _is_stacked(optimizer) else ()
    zero = first.detach().new_zeros(members)
    kept["descend_from"] = {"descends": zero, "steps": zero.clone()}
    found: list[tuple[Tensor, Tensor, Tensor]] = []  # parameter, before, gradient

    def note(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        state = optimizer.state["descend_from"]  # type: ignore[index]
        began, steps = state["descends"], state["steps"]
        reached = torch.as_tensor(around.loss, device=began.device) <= loss
        began.copy_(torch.maximum(began, (reached & (steps >= after)).to(began.dtype)))
        steps.add_(1)
        before = [p.detach().clone() for p in parameters]
        found[:] = zip(parameters, before, gradients(parameters), strict=True)

    def replace(optimizer: Optimizer) -> None:
        began = optimizer.state["descend_from"]["descends"]  # type: ignore[index]
        for parameter, before, grad in found:
            wide = began.reshape(began.shape + (1,) * (before.dim() - began.dim()))
            parameter.copy_(torch.where(wide > 0, before - lr * grad, parameter))
        found.clear()

    around.changes.append(note)
    around.repairs.append(replace)
    return optimizer
