"""Hooks on any torch optimizer: what is done to gradients or weights around a step.

    g_perp = g - (w . g) / (w . w) w            [Prieto et al. 2025, eq. 12]

``orthogonal``, ``unit_steps``, ``clip``, ``centre_rows``, ``hold_norm`` and
``descend_from`` go through torch's public step hooks, on any optimizer but LBFGS, which
evaluates its closure more than once, and return it; they act in the order in which they
were added. On a stack norms, projections and means are per member. Gradients and
learning rates are afterwards as they were; a deep copy has no hooks.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.optim import Optimizer

from grokbook.errors import choose
from grokbook.optimizers.rules import Number, evaluated, fitted, gradients

TINY = 1e-30  # guards the divisions of ``orthogonal``, as in the official code
Change = Callable[[Optimizer, list[Tensor]], None]
AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)


class _Around:
    """What happens around every step of one optimizer, through torch's step hooks.

    Before it ``changes`` act, in the order in which they were added, on gradients and
    learning rates, which get back their own tensors and numbers after it, or before the
    next one where it raised; then ``repairs`` act on the weights.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.changes: list[Change] = []
        self.repairs: list[Callable[[], None]] = []
        self.raw: list[tuple[Tensor, Tensor]] = []
        self.rates: list[Number] = []
        self.loss: Any = None  # of the closure of the step that is being made
        optimizer.register_step_pre_hook(self.enter)
        optimizer.register_step_post_hook(self.leave)

    @torch.no_grad()
    def enter(self, optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
        """Evaluate a closure here, once: torch would do it after the changes."""
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        self.loss = loss = evaluated(closure)
        self._give_back(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        held = [p for p in params if p.grad is not None]
        self.raw = [(p, p.grad) for p in held]
        self.rates = [group["lr"] for group in optimizer.param_groups]
        for change in self.changes if held else ():
            change(optimizer, held)
        return args[:1], {"closure": (lambda: loss) if closure else None}

    @torch.no_grad()
    def leave(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        self._give_back(optimizer)
        for repair in self.repairs:
            repair()

    def _give_back(self, optimizer: Optimizer) -> None:
        for parameter, grad in self.raw:
            parameter.grad = grad
        for group, rate in zip(optimizer.param_groups, self.rates, strict=False):
            group["lr"] = rate
        self.raw, self.rates = [], []


_AROUND: WeakKeyDictionary[Optimizer, _Around] = WeakKeyDictionary()


def _around(optimizer: Optimizer) -> _Around:
    if optimizer not in _AROUND:
        _AROUND[optimizer] = _Around(optimizer)
    return _AROUND[optimizer]


def _is_stacked(optimizer: Optimizer) -> bool:
    return bool(optimizer.defaults.get("stacked", False))


def _rows(optimizer: Optimizer, tensors: Iterable[Tensor]) -> list[Tensor]:
    """Each (members or 1, entries), in float32 or wider: 1e-30 is 0 in float16."""
    wide = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in tensors)
    stacked = _is_stacked(optimizer)
    return [t.detach().reshape(t.shape[0] if stacked else 1, -1) for t in wide]


def _inner(left: list[Tensor], right: list[Tensor], *, joint: bool) -> Tensor:
    """Inner products per row, of each tensor or of all together: (parts, rows)."""
    products = [x.sum(dim=-1) for x in torch._foreach_mul(left, right)]
    return sum(products[1:], products[0])[None] if joint else torch.stack(products)


def _norm(rows: Iterable[Tensor], *, joint: bool, **options: Any) -> Tensor:
    """L2 norms per row, of each tensor or of all together: (parts, rows)."""
    norms = [torch.linalg.vector_norm(x, dim=1, **options) for x in rows]
    if joint and len(norms) > 1:
        return torch.linalg.vector_norm(torch.stack(norms), dim=0)[None]
    return torch.stack(norms)


def _gradient_norm(optimizer: Optimizer, parameters: list[Tensor]) -> Tensor:
    """Norm of the whole gradient, () or [members], in float64."""
    rows = _rows(optimizer, gradients(parameters))
    (norm,) = _norm(rows, joint=True, dtype=torch.float64)
    return norm if _is_stacked(optimizer) else norm[0]


def orthogonal(
    optimizer: AnyOptimizer, *, rescale: bool = True, scope: str = "tensor"
) -> AnyOptimizer:
    """Remove from each gradient its part along the weights, in every step (⊥Grad).

    ``rescale=True, scope="tensor"`` is the official code: every tensor is projected
    against itself and gets back the norm of its raw gradient. ``rescale=False,
    scope="global"`` is eq. 11-12 of the paper: one projection of the whole parameter
    vector. A zero tensor is not projected; a gradient parallel to the weights becomes
    rounding noise, which the rescaling amplifies. Used in figures 6 and 15 of Prieto et
    al. UnknownName for an unknown scope.
    """
    joint = choose("scope", scope, ("tensor", "global")) == "global"

    def project(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        weights, grads = (
            _rows(optimizer, t) for t in (parameters, gradients(parameters))
        )
        squares = _inner(weights, weights, joint=joint)
        along = _inner(weights, grads, joint=joint) / (squares + TINY)
        every = zip(weights, grads, along.expand(len(grads), -1), strict=True)
        kept = [
            torch.addcmul(g, w, a.to(w.dtype)[:, None], value=-1) for w, g, a in every
        ]
        if rescale:
            ratio = _norm(grads, joint=joint) / (_norm(kept, joint=joint) + TINY)
            for g, r in zip(kept, ratio.expand(len(kept), -1), strict=True):
                g.mul_(r.to(g.dtype)[:, None])
        for parameter, g in zip(parameters, kept, strict=True):
            parameter.grad = g.reshape(parameter.shape).to(parameter.dtype)

    _around(optimizer).changes.append(project)
    return optimizer


def unit_steps(optimizer: AnyOptimizer) -> AnyOptimizer:
    """Divide the learning rate of each step by the norm of the full gradient.

    With plain gradient descent every step then has length lr (figure 9 of Prieto et
    al., after Lyu & Li). The norm is taken in float64, over all groups; where it is 0
    the step is 0. A float is divided on the host, which waits for the device; a tensor,
    as in a stack, is not.
    """

    def normalise(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        norm = _gradient_norm(optimizer, parameters)
        scale = torch.where(norm > 0, 1 / norm, 0.0)
        for group in optimizer.param_groups:
            stays = isinstance(group["lr"], Tensor)
            group["lr"] = group["lr"] * (scale if stays else float(scale))

    _around(optimizer).changes.append(normalise)
    return optimizer


def clip(optimizer: AnyOptimizer, *, norm: float) -> AnyOptimizer:
    """Scale the gradients of a step by one factor, to a norm of at most ``norm``.

    The joint L2 norm of all groups, in float64, by member of a stack. A gradient with a
    NaN or an infinity stays without meaning. ValueError unless ``norm`` is positive.
    """
    _require_positive("norm", norm)

    def shorten(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        factor = (norm / _gradient_norm(optimizer, parameters)).clamp(max=1)
        grads = gradients(parameters)
        scaled = torch._foreach_mul(grads, fitted(factor, grads))
        for parameter, grad in zip(parameters, scaled, strict=True):
            parameter.grad = grad

    _around(optimizer).changes.append(shorten)
    return optimizer


def _require_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} is {value}, but it must be positive.")


def centre_rows(optimizer: AnyOptimizer, *, names: Iterable[str]) -> AnyOptimizer:
    """After each step subtract from every named matrix the mean of its rows.

    For a head (classes, width) this takes away W_G, the mean classifier of Liu et al.
    (2026), section B.3; the moments keep it. The optimizer must have been built from
    ``model.named_parameters()``. UnknownName lists the names it has; ValueError for a
    parameter that is no matrix.
    """
    matrices = _matrices(optimizer, "centre_rows", names)

    def centre() -> None:
        for matrix in matrices:
            matrix.sub_(matrix.mean(dim=-2, keepdim=True))

    _around(optimizer).repairs.append(centre)
    return optimizer


def hold_norm(
    optimizer: AnyOptimizer, *, names: Iterable[str], norm: float
) -> AnyOptimizer:
    """After each step scale every named matrix to the Frobenius norm ``norm``.

    The start is left as it is; the moments of the optimizer are not scaled. Errors are
    those of ``centre_rows``; ValueError unless ``norm`` is positive. A matrix of zeros
    stays one.
    """
    _require_positive("norm", norm)
    matrices = _matrices(optimizer, "hold_norm", names)

    def hold() -> None:
        for matrix in matrices:
            length = torch.linalg.vector_norm(matrix, dim=(-2, -1), keepdim=True)
            matrix.mul_(norm / length.clamp(min=TINY))

    _around(optimizer).repairs.append(hold)
    return optimizer


def _matrices(optimizer: Optimizer, hook: str, names: Iterable[str]) -> list[Tensor]:
    """The parameters of these names, matrices all, in a stack one per member."""
    known: dict[str, Tensor] = {}
    for group in optimizer.param_groups:
        known |= zip(group.get("param_names", ()), group["params"], strict=False)
    if not known:
        raise ValueError(
            f"{hook} finds parameters by name, but this optimizer has no names: "
            "build it from model.named_parameters()."
        )
    matrices = {name: choose("parameter", name, known) for name in names}
    for name, matrix in matrices.items():
        shape = tuple(matrix.shape)[int(_is_stacked(optimizer)) :]
        if len(shape) != 2:
            raise ValueError(f"{name} has shape {shape}, but only a matrix has rows.")
    return list(matrices.values())


def descend_from(optimizer: AnyOptimizer, *, loss: float, lr: float) -> AnyOptimizer:
    """From the first step whose loss is at most ``loss`` on, plain gradient descent.

        w <- w - lr g

    takes the place of the rule, for good, and for each member of a stack from its own
    step on (Liu et al. 2026, section B.2.2: from a loss of 0 at lr 1e5). ``g`` is what
    hooks added before made of the gradient. ``state["descend_from"]`` keeps whether it
    ``descends`` (0 or 1); ``step`` is to be given a closure that returns the loss, ()
    or [members], else it raises ValueError. So does a negative ``loss`` or ``lr``.
    """
    for name, value in (("loss", loss), ("lr", lr)):
        if not value >= 0:
            raise ValueError(f"{name} is {value}, but it must be 0 or more.")
    around, first = _around(optimizer), optimizer.param_groups[0]["params"][0]
    shape = first.shape[:1] if _is_stacked(optimizer) else ()
    _kept(optimizer)["descends"] = first.detach().new_zeros(shape)
    # what follows does not hold the optimizer, which would never be freed
    found: list[tuple[Tensor, Tensor, Tensor]] = []  # parameter, before, gradient
    descends = [torch.zeros(())]

    def note(optimizer: Optimizer, parameters: list[Tensor]) -> None:
        if around.loss is None:
            raise ValueError(
                "descend_from waits for a loss: give step() a closure that returns it."
            )
        began = descends[0] = _kept(optimizer)["descends"]
        reached = torch.as_tensor(around.loss, device=began.device) <= loss
        began.copy_(torch.maximum(began, reached.to(began.dtype)))
        found[:] = [
            (p, p.detach().clone(), grad)
            for p, grad in zip(parameters, gradients(parameters), strict=True)
        ]

    def replace() -> None:
        for parameter, before, grad in found:
            began = descends[0]
            wide = began.reshape(began.shape + (1,) * (before.dim() - began.dim()))
            parameter.copy_(torch.where(wide > 0, before - lr * grad, parameter))
        found.clear()

    around.changes.append(note)
    around.repairs.append(replace)
    return optimizer


def _kept(optimizer: Optimizer) -> dict[str, Tensor]:
    """The state of ``descend_from``, which goes into a checkpoint with the moments."""
    state: dict[Any, Any] = optimizer.state
    return state["descend_from"]
