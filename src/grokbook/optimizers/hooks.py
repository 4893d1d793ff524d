"""Hooks on torch's optimizers: changes of gradients or weights around each step.

    g_perp = g - (w . g) / (w . w) w            [Prieto et al. 2025, eq. 12]

Each public function adds one hook to an optimizer and returns the same optimizer. Hooks
act in the order in which they were added. On a stack of networks, norms, projections
and means are taken per member. After a step, gradients and learning rates are what they
were before it. A deep copy of an optimizer has no hooks. A closure is called once,
before the hooks.
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


def _step_hooks(optimizer: Any) -> Any:
    """Return the hooks of an optimizer; the first call wraps its ``step``.

    The result has three attributes. ``changes`` are functions of the optimizer and its
    parameters that have a gradient; they are called before every step and may replace
    gradients and learning rates, which are restored afterwards, even if the step
    raises. ``repairs`` are functions of the optimizer that change the weights after the
    step. ``loss`` is what the closure of the current step returned, or None. Raises
    TypeError for LBFGS.
    """
    if hasattr(optimizer, "step_hooks"):
        return optimizer.step_hooks
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError("LBFGS makes gradients in its step, where no hook can act")
    hooks = optimizer.step_hooks = SimpleNamespace(changes=[], repairs=[], loss=None)
    inner_step = optimizer.step

    @torch.no_grad()
    @wraps(inner_step)
    def step(optimizer: Any, closure: Any = None, **options: Any) -> Any:
        with torch.enable_grad():
            hooks.loss = closure() if closure else None
        params = [p for group in optimizer.param_groups for p in group["params"]]
        with_grad = [p for p in params if p.grad is not None]
        raw_grads = gradients(with_grad)
        loss_scale = getattr(optimizer, "grad_scale", None)
        if any(grad.is_sparse or grad.is_complex() for grad in raw_grads):
            raise TypeError("hooks need gradients that are dense and real")
        rates = [(g, g["lr"]) for g in optimizer.param_groups if "lr" in g]
        try:
            if loss_scale is not None:
                # a GradScaler leaves it to a fused optimizer to divide by its scale
                optimizer.grad_scale = None
                for parameter in with_grad:
                    parameter.grad = parameter.grad / loss_scale
            is_skipped = not with_grad or getattr(optimizer, "found_inf", False)
            if not is_skipped:
                for change in hooks.changes:
                    change(optimizer, with_grad)
            # the closure was called above: a rule that asks for the loss gets that one
            arguments = [lambda: hooks.loss] if closure else []
            result = inner_step(*arguments, **options)
            for repair in hooks.repairs:
                repair(optimizer)
            return result
        finally:
            for parameter, grad in zip(with_grad, raw_grads, strict=True):
                parameter.grad = None if parameter.grad is None else grad
            for group, rate in rates:
                group["lr"] = rate
            if loss_scale is not None:
                optimizer.grad_scale = loss_scale

    optimizer.step = MethodType(step, optimizer)  # torch's schedulers need a method
    return hooks


def _is_stacked(optimizer: Optimizer) -> bool:
    return bool(optimizer.defaults.get("stacked"))


def _rows(optimizer: Optimizer, tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return each tensor reshaped to (members, entries), with 1 row without a stack."""
    stacked = _is_stacked(optimizer)
    return [t.detach().reshape(t.shape[0] if stacked else 1, -1) for t in tensors]


def _inner(left: list[Tensor], right: list[Tensor], joint: bool) -> list[Tensor]:
    """Return the inner product (rows, 1) of each pair of tensors (rows, entries).

    If ``joint``, every item is the sum over all pairs instead.
    """
    products = [x.sum(dim=-1, keepdim=True) for x in torch._foreach_mul(left, right)]
    return [sum(products[1:], products[0])] * len(products) if joint else products


def _norm(
    tensors: list[Tensor], joint: bool, dtype: torch.dtype | None = None
) -> list[Tensor]:
    """Return the L2 norm (rows, 1) of each tensor (rows, entries).

    If ``joint``, every item is the norm of all tensors together instead.
    """
    norm = torch.linalg.vector_norm
    norms = [norm(x, dim=1, keepdim=True, dtype=dtype) for x in tensors]
    return [norm(torch.stack(norms), dim=0)] * len(norms) if joint else norms


def _gradient_norm(optimizer: Optimizer, parameters: list[Tensor]) -> Tensor:
    """Return the norm of the whole gradient in float64, () or [members]."""
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
        products = _inner(weights, grads, joint)
        squares = _inner(weights, weights, joint)
        coefficients = []
        for product, square, weight in zip(products, squares, weights, strict=True):
            coefficient = product / (square + TINY)
            if weight.shape[1] == 1 and not joint:  # one number has no other direction
                coefficient = coefficient * 0.0
            coefficients.append(coefficient)
        projected = list(torch._foreach_addcmul(grads, weights, coefficients, value=-1))
        if rescale:
            norms = zip(_norm(grads, joint), _norm(projected, joint), strict=True)
            factors = [before / (after + TINY) for before, after in norms]
            torch._foreach_mul_(projected, factors)
        for parameter, grad in zip(parameters, projected, strict=True):
            parameter.grad = grad.reshape(parameter.shape)

    _step_hooks(optimizer).changes.append(project)
    return optimizer


def unit_steps(optimizer: Opt) -> Opt:
    """Divide the learning rate of each step by the norm of the full gradient.

    Every step of gradient descent then has length lr (figure 9 of Prieto et al., after
    Lyu & Li). The norm is taken over all parameter groups, in float64. Where it is 0,
    the rate is 0; no rate exceeds the largest number of the weights' dtype. Raises
    UnknownName for an optimizer without a learning rate.
    """
    if "lr" not in optimizer.param_groups[0]:
        name = type(optimizer).__name__
        raise UnknownName(f"{name} has no learning rate that could be divided")

    def normalise(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        norm = _gradient_norm(optimizer, parameters)
        scale = torch.where(norm > 0, 1 / norm, 0.0)
        largest = torch.finfo(parameters[0].dtype).max
        for group in optimizer.param_groups:
            rate = (group["lr"] * scale).clamp(max=largest)
            # a rate that is a tensor stays one: float() would wait for the device
            group["lr"] = rate if isinstance(group["lr"], Tensor) else float(rate)

    _step_hooks(optimizer).changes.append(normalise)
    return optimizer


def clip(optimizer: Opt, *, norm: float) -> Opt:
    """Scale all gradients of a step by one factor, to a joint norm up to ``norm``."""

    def shorten(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        factor = (norm / _gradient_norm(optimizer, parameters)).clamp(max=1)
        grads = gradients(parameters)
        scaled = torch._foreach_mul(grads, fitted(factor, grads))
        for parameter, grad in zip(parameters, scaled, strict=True):
            parameter.grad = grad

    _step_hooks(optimizer).changes.append(shorten)
    return optimizer


def grokfast(optimizer: Opt, *, alpha: float = 0.98, lamb: float = 2.0) -> Opt:
    """Amplify the slow part of each gradient, its moving average mu.

        mu <- alpha mu + (1 - alpha) g,   g <- g + lamb mu     [Lee et al. 2024, EMA]

    As in the official code mu begins as the first gradient. ``state["grokfast"]`` keeps
    mu, one tensor per parameter under the parameter's index, so that a checkpoint saves
    it with the moments. Its ``share`` is the weight of the next gradient in mu.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[Any, Any] = optimizer.state
    averages = {str(index): torch.zeros_like(p) for index, p in enumerate(params)}
    # a share of 1 makes mu the first gradient
    state["grokfast"] = averages | {"share": torch.ones_like(params[0].sum())}

    def amplify(optimizer: Optimizer, _parameters: list[Tensor]) -> None:
        state = optimizer.state["grokfast"]  # type: ignore[index]
        for index, parameter in enumerate(params):
            if parameter.grad is not None:
                mu, grad = state[str(index)], parameter.grad
                mu.add_(state["share"] * (grad - mu))
                parameter.grad = grad + lamb * mu
        state["share"].fill_(1 - alpha)

    _step_hooks(optimizer).changes.append(amplify)
    return optimizer


def centre_rows(optimizer: Opt, *, names: Iterable[str]) -> Opt:
    """Subtract from every named matrix the mean of its rows, after each step.

    For a head (classes, width) this removes W_G, the mean classifier of Liu et al.
    (2026), section B.3. The moments of the optimizer are not centred. Raises
    UnknownName for a name that is no parameter's.
    """
    matrices = _named(optimizer, names)

    def centre(_optimizer: Optimizer) -> None:
        for matrix in matrices:
            matrix.sub_(matrix.mean(dim=-2, keepdim=True))

    _step_hooks(optimizer).repairs.append(centre)
    return optimizer


def hold_norm(
    optimizer: Opt, *, names: Iterable[str], norm: float, total: bool = False
) -> Opt:
    """Scale every named matrix to the Frobenius norm ``norm``, after each step.

    With ``total``, one factor scales all of them so that their joint norm is ``norm``.
    The initial weights and the moments of the optimizer are not scaled.
    """
    matrices = _named(optimizer, names)

    def hold(_optimizer: Optimizer) -> None:
        lengths = [matrix.norm(dim=(-2, -1), keepdim=True) for matrix in matrices]
        if total:
            lengths = [torch.stack(lengths).square().sum(0).sqrt()] * len(lengths)
        for matrix, length in zip(matrices, lengths, strict=True):
            matrix.mul_(norm / length.clamp(min=TINY))

    _step_hooks(optimizer).repairs.append(hold)
    return optimizer


def clip_rows(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """Shorten every row of the named matrices to at most ``norm``, after each step.

    A row holds the weights into one unit. Used in the chapter Remedies.
    """
    matrices = _named(optimizer, names)

    def shorten(_optimizer: Optimizer) -> None:
        for matrix in matrices:
            length = matrix.norm(dim=-1, keepdim=True)
            matrix.mul_((norm / length.clamp(min=TINY)).clamp(max=1))

    _step_hooks(optimizer).repairs.append(shorten)
    return optimizer


def replay_norm(
    optimizer: Opt,
    *,
    names: Iterable[str],
    norms: Iterable[Iterable[float]],
    every: int,
) -> Opt:
    """Scale every named matrix to a norm that was recorded before, after each step.

    ``norms`` gives for each name its Frobenius norms at steps 0, ``every``, 2 ``every``
    and so on. Between these steps the norm is interpolated linearly; after the last one
    it stays. ``state["replay_norm"]`` counts the ``steps`` made, so that a checkpoint
    saves them. Used in remedies/elsewhere.
    """
    matrices = _named(optimizer, names)
    curves = [
        torch.tensor(list(curve), dtype=matrix.dtype, device=matrix.device)
        for matrix, curve in zip(matrices, norms, strict=True)
    ]
    state: dict[Any, Any] = optimizer.state
    state["replay_norm"] = {"steps": torch.zeros_like(matrices[0].detach().sum())}

    def replay(optimizer: Optimizer) -> None:
        steps = optimizer.state["replay_norm"]["steps"]  # type: ignore[index]
        steps.add_(1)
        for matrix, curve in zip(matrices, curves, strict=True):
            position = (steps / every).clamp(max=len(curve) - 1).reshape(1)
            below = position.floor()
            above = (below + 1).clamp(max=len(curve) - 1)
            # index_select, as ``curve[below]`` would wait for the device
            start = curve.index_select(0, below.long())
            end = curve.index_select(0, above.long())
            length = matrix.norm(dim=(-2, -1), keepdim=True)
            recorded = torch.lerp(start, end, position - below)
            matrix.mul_(recorded / length.clamp(min=TINY))

    _step_hooks(optimizer).repairs.append(replay)
    return optimizer


def steps_by_norm(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """Multiply each step of every named matrix by the matrix's own norm over ``norm``.

    A matrix whose norm is free then turns by about the angle by which it would turn if
    ``hold_norm`` held it at ``norm``. This is the control for what a held norm does to
    a step. The matrix's norm is taken before the step. Used in remedies/elsewhere.
    """
    matrices = _named(optimizer, names)
    copies: list[
        tuple[Tensor, Tensor]
    ] = []  # each matrix with its value before the step

    def save(_optimizer: Optimizer, _parameters: list[Tensor]) -> None:
        copies[:] = [(matrix, matrix.detach().clone()) for matrix in matrices]

    def lengthen(_optimizer: Optimizer) -> None:
        for matrix, before in copies:
            factor = before.norm(dim=(-2, -1), keepdim=True) / norm
            matrix.copy_(before + factor * (matrix - before))
        copies.clear()

    hooks = _step_hooks(optimizer)
    hooks.changes.append(save)
    hooks.repairs.append(lengthen)
    return optimizer


def _named(optimizer: Optimizer, names: Iterable[str]) -> list[Tensor]:
    """Return the optimizer's parameters of these names.

    Raises UnknownName for a name that is no parameter's.
    """
    params_by_name: dict[str, Tensor] = {}
    for group in optimizer.param_groups:
        params_by_name |= zip(group["param_names"], group["params"], strict=True)
    return [choose("parameter", name, params_by_name) for name in names]


def descend_from(
    optimizer: Opt, *, lr: float, loss: float = math.inf, after: int = 0
) -> Opt:
    """Switch to plain gradient descent once the loss is at most ``loss``.

    From that step on, but not before ``after`` steps, w <- w - lr g replaces the
    optimizer's rule for good; each member of a stack switches at its own step (Liu et
    al. 2026, section B.2.2: from a loss of 0 at lr 1e5). ``g`` is the gradient as the
    hooks that were added before leave it. ``step`` needs a closure that returns the
    loss, () or [members]. ``state["descend_from"]`` keeps whether a member ``descends``
    (0 or 1) and the number of ``steps`` made, so that a checkpoint saves them.
    """
    hooks = _step_hooks(optimizer)
    first_parameter = optimizer.param_groups[0]["params"][0]
    state: dict[Any, Any] = optimizer.state
    members = first_parameter.shape[:1] if _is_stacked(optimizer) else ()
    zero = first_parameter.detach().new_zeros(members)
    state["descend_from"] = {"descends": zero, "steps": zero.clone()}
    # each parameter with its value and its gradient before the step
    copies: list[tuple[Tensor, Tensor, Tensor]] = []

    def save(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        state = optimizer.state["descend_from"]  # type: ignore[index]
        descends, steps = state["descends"], state["steps"]
        is_low = torch.as_tensor(hooks.loss, device=descends.device) <= loss
        begins = (is_low & (steps >= after)).to(descends.dtype)
        descends.copy_(torch.maximum(descends, begins))
        steps.add_(1)
        before = [p.detach().clone() for p in parameters]
        copies[:] = zip(parameters, before, gradients(parameters), strict=True)

    def replace(optimizer: Optimizer) -> None:
        descends = optimizer.state["descend_from"]["descends"]  # type: ignore[index]
        for parameter, before, grad in copies:
            ones = (1,) * (before.dim() - descends.dim())
            is_replaced = descends.reshape(descends.shape + ones) > 0
            parameter.copy_(torch.where(is_replaced, before - lr * grad, parameter))
        copies.clear()

    hooks.changes.append(save)
    hooks.repairs.append(replace)
    return optimizer
