"""AdamW, SGD and two gradient wrappers, for one model or a stack of members.

    g_perp = g - (w . g) / (w . w) w            [Prieto et al. 2025, eq. 12]
    AdamW: w <- (1 - lr wd) w - lr m_hat / (sqrt(v_hat) + eps)

With ``stacked=True`` every parameter is [members, ...], any hyper-parameter may be a
tensor of shape [members], and norms, projections and schedules are per member. Step
counts are Python integers, so a step never waits for the device. Learning-rate
schedulers of torch need a float lr. Not covered: sparse or complex parameters.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Hyper = float | Tensor

TINY = 1e-30  # guards the divisions of OrthogonalGradient, as in the official code


def _require(name: str, value: Hyper, low: float, high: float = float("inf")) -> None:
    values = torch.as_tensor(value, dtype=torch.float64)
    if not bool(((values >= low) & (values < high)).all()):
        raise ValueError(f"{name} is {value}, but it must lie in [{low}, {high}).")


def _aligned(value: Hyper, parameter: Tensor) -> Hyper:
    """A per-member value shaped to broadcast over a [members, ...] parameter."""
    if not isinstance(value, Tensor):
        return value
    value = value.to(device=parameter.device, dtype=parameter.dtype)
    return value.reshape(value.shape + (1,) * (parameter.dim() - value.dim()))


def _evaluated(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


class _Base(Optimizer):
    """Hyper-parameter checks and the loop over parameters shared by AdamW and SGD."""

    ranges: dict[str, tuple[float, float]] = {}

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient."""
        loss = _evaluated(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        sizes = {p.shape[0] if p.dim() else None for p in group["params"]}
        members = sizes.pop() if self.defaults["stacked"] else None
        if self.defaults["stacked"] and (sizes or members is None):
            raise ValueError(
                "stacked=True needs parameters of shape [members, ...] with one number "
                "of members, but their first dimensions differ or are missing."
            )
        device = group["params"][0].device
        for name, (low, high) in self.ranges.items():
            values = group[name] if isinstance(group[name], tuple | list) else None
            held = [
                self._hyper(name, value, low, high, members, device)
                for value in (values or [group[name]])
            ]
            group[name] = tuple(held) if values else held[0]

    @staticmethod
    def _hyper(
        name: str,
        value: Hyper,
        low: float,
        high: float,
        members: int | None,
        device: torch.device,
    ) -> Hyper:
        _require(name, value, low, high)
        if not isinstance(value, Tensor):
            return value
        if value.dim() == 0:
            return float(value)
        if value.shape == (members,) and bool((value == value[0]).all()):
            return float(value[0])  # a scalar saves a pass over the parameter
        if value.shape != (members,):
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; give a float, or with "
                "stacked=True a tensor with one value per member."
            )
        # float64, so that 1 - beta and the bias corrections round as Python floats do
        return value.detach().to(device=device, dtype=torch.float64, copy=True)


class AdamW(_Base):
    """Adam with decoupled weight decay, operation for operation as in torch.

    Float32 results equal ``torch.optim.AdamW(foreach=False, fused=False)`` bit for
    bit. The default weight decay is 0. A squared gradient below the smallest number
    of the dtype (|g| < 3.7e-23 in float32) leaves v at 0: the step is then m / eps.
    Raises ValueError for a hyper-parameter out of range.
    """

    ranges = {
        "lr": (0.0, float("inf")),
        "betas": (0.0, 1.0),
        "eps": (0.0, float("inf")),
        "weight_decay": (0.0, float("inf")),
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: Hyper = 1e-3,
        betas: tuple[Hyper, Hyper] = (0.9, 0.999),
        eps: Hyper = 1e-8,
        weight_decay: Hyper = 0.0,
        *,
        stacked: bool = False,
    ) -> None:
        if len(betas) != 2:
            raise ValueError(f"betas has {len(betas)} entries, but AdamW needs two.")
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps}
        defaults |= {"weight_decay": weight_decay, "stacked": stacked}
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        grad, state = parameter.grad, self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]

        if isinstance(decay, Tensor) or decay != 0:
            parameter.mul_(_aligned(1 - lr * decay, parameter))
        m.lerp_(grad, _aligned(1 - beta1, parameter))
        v.mul_(_aligned(beta2, parameter))
        share = _aligned(1 - beta2, parameter)
        if isinstance(share, Tensor):
            v.addcmul_(grad * share, grad)
        else:
            v.addcmul_(grad, grad, value=share)
        correction = _aligned((1 - beta2**step) ** 0.5, parameter)
        spread = v.sqrt()
        if isinstance(correction, Tensor) or correction != 1:
            # exactly 1 after a few thousand steps, which saves one pass of seven
            spread.div_(correction)
        spread.add_(_aligned(group["eps"], parameter))
        length = _aligned(-(lr / (1 - beta1**step)), parameter)
        if isinstance(length, Tensor):
            parameter.addcdiv_(m * length, spread)
        else:
            parameter.addcdiv_(m, spread, value=length)


class SGD(_Base):
    """Gradient descent with heavy-ball momentum and coupled weight decay, as in torch.

    buf <- momentum buf + g + wd w;  w <- w - lr buf. No dampening; the first buffer is
    the gradient itself. Raises ValueError for a hyper-parameter out of range.
    """

    ranges = {
        "lr": (0.0, float("inf")),
        "momentum": (0.0, float("inf")),
        "weight_decay": (0.0, float("inf")),
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: Hyper,
        momentum: Hyper = 0.0,
        weight_decay: Hyper = 0.0,
        *,
        stacked: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum}
        defaults |= {"weight_decay": weight_decay, "stacked": stacked}
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        direction, state = parameter.grad, self.state[parameter]
        decay = _aligned(group["weight_decay"], parameter)
        momentum = _aligned(group["momentum"], parameter)
        if isinstance(decay, Tensor):
            direction = direction.addcmul(parameter, decay)
        elif decay != 0:
            direction = direction.add(parameter, alpha=decay)
        if isinstance(momentum, Tensor) or momentum != 0:
            if "momentum_buffer" in state:
                state["momentum_buffer"].mul_(momentum).add_(direction)
            else:
                state["momentum_buffer"] = direction.clone()
            direction = state["momentum_buffer"]
        lr = _aligned(group["lr"], parameter)
        if isinstance(lr, Tensor):
            parameter.addcmul_(direction, lr, value=-1)
        else:
            parameter.add_(direction, alpha=-lr)


class _Wrapper(Optimizer):
    """An optimiser around another one, whose parameter groups and state it shows."""

    def __init__(self, base: Optimizer) -> None:
        if not isinstance(base, Optimizer):
            raise ValueError(
                f"base is a {type(base).__name__}, but a wrapper needs an optimiser."
            )
        self.__setstate__({"base": base})

    param_groups = property(lambda self: self.base.param_groups)
    state = property(lambda self: self.base.state)
    defaults = property(lambda self: self.base.defaults)

    @property
    def stacked(self) -> bool:
        """Whether the base optimiser holds [members, ...] parameters."""
        return bool(self.defaults.get("stacked", False))

    def __getstate__(self) -> dict[str, Any]:
        # hooks and a scheduler's patched step stay behind, as in torch
        private = {"step"} | {name for name in self.__dict__ if name.startswith("_")}
        return {k: v for k, v in self.__dict__.items() if k not in private}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.base.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """The state of the base optimiser; a wrapper adds none of its own."""
        return self.base.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.base.load_state_dict(state_dict)

    def _with_gradient(self) -> list[Tensor]:
        groups = self.param_groups
        return [p for group in groups for p in group["params"] if p.grad is not None]

    def _rows(self, tensor: Tensor) -> Tensor:
        """(members or 1, entries), in float32 or wider: 1e-30 is 0 in float16."""
        tensor = tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))
        return tensor.reshape(tensor.shape[0] if self.stacked else 1, -1)


class OrthogonalGradient(_Wrapper):
    """Removes from each gradient its component along the weights, then steps ``base``.

    ``rescale=True, scope="tensor"`` is the official code: every tensor is projected
    against itself and gets back the norm of its raw gradient. ``rescale=False,
    scope="global"`` is eq. 11-12 of the paper: one projection of the whole parameter
    vector. A zero tensor is not projected; a gradient parallel to the weights becomes
    rounding noise, which the rescaling amplifies. ``p.grad`` is left as it was.
    Closures are evaluated once, so bases that re-evaluate them (LBFGS) do not fit.
    Used in figures 6 and 15. Raises ValueError for an unknown scope.
    """

    def __init__(
        self, base: Optimizer, *, rescale: bool = True, scope: str = "tensor"
    ) -> None:
        super().__init__(base)
        if scope not in ("tensor", "global"):
            raise ValueError(f"scope is {scope!r}, choose 'tensor' or 'global'.")
        self.rescale, self.scope = rescale, scope

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of the base optimiser on the projected gradients."""
        loss = _evaluated(closure)
        parameters = self._with_gradient()
        raw = [p.grad for p in parameters]
        try:
            together = self.scope == "global" and parameters
            for part in [parameters] if together else [[p] for p in parameters]:
                self._project(part)
            self.base.step()
        finally:
            for parameter, grad in zip(parameters, raw, strict=True):
                parameter.grad = grad
        return loss

    def _project(self, parameters: list[Tensor]) -> None:
        """Replace the gradients of tensors that are projected as one vector."""
        weights = [self._rows(p) for p in parameters]
        grads = [self._rows(p.grad) for p in parameters]
        along = _inner(weights, grads) / (_inner(weights, weights) + TINY)
        kept = [
            torch.addcmul(g, w, along.to(w.dtype)[:, None], value=-1)
            for w, g in zip(weights, grads, strict=True)
        ]
        if self.rescale:
            ratio = _norm(grads) / (_norm(kept) + TINY)
            for g in kept:
                g.mul_(ratio.to(g.dtype)[:, None])
        for parameter, g in zip(parameters, kept, strict=True):
            parameter.grad = g.reshape(parameter.shape).to(parameter.grad.dtype)


def _inner(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Inner product per row, summed over the tensors: (rows,)."""
    products = [torch.linalg.vecdot(a, b) for a, b in zip(left, right, strict=True)]
    return sum(products[1:], products[0])


def _norm(rows: list[Tensor], *, dtype: torch.dtype | None = None) -> Tensor:
    """L2 norm per row over all tensors: (rows,)."""
    norms = [torch.linalg.vector_norm(x, dim=1, dtype=dtype) for x in rows]
    if len(norms) == 1:
        return norms[0]
    return torch.linalg.vector_norm(torch.stack(norms), dim=0)


class GradientNormSchedule(_Wrapper):
    """Divides the learning rate of each step by the norm of the full gradient.

    With plain gradient descent every step then has length lr (figure 9, after Lyu &
    Li). The norm is taken in float64, over all groups; where it is 0 the step is 0.
    ``p.grad`` and the groups' lr are left as they were.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of the base optimiser with the normalised learning rate."""
        loss = _evaluated(closure)
        rates = [group["lr"] for group in self.param_groups]
        rows = [self._rows(p.grad) for p in self._with_gradient()]
        if rows:
            # squares of entries below 1e-22 are 0 in float32
            norm = _norm(rows, dtype=torch.float64)
            scale = torch.where(norm > 0, 1 / norm, 0.0)
            factor = scale if self.stacked else float(scale)
            for group, rate in zip(self.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        try:
            self.base.step()
        finally:
            for group, rate in zip(self.param_groups, rates, strict=True):
                group["lr"] = rate
        return loss
