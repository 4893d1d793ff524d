"""The update rules: AdamW and SGD for one model or a stack of members.

    AdamW: w <- (1 - lr wd) w - lr m_hat / (sqrt(v_hat) + eps)
    SGD:   buf <- momentum buf + g + wd w;  w <- w - lr buf

With ``stacked=True`` every parameter is [members, ...] and any hyper-parameter may be a
tensor of shape [members].

A step is ``prepare()``, what the host does, and tensor work that never waits for the
device. With ``host_driven=True`` the caller calls ``prepare()`` before every ``step()``
and all that changes from step to step is in tensors: the bias corrections, which
``prepare`` fills, and ``group["lr"]``, which the caller may fill. Two steps are then
the same operations with the same numbers, so that one can be captured and replayed.
Not covered: sparse or complex parameters.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Hyper = float | Tensor


def _require(name: str, value: Hyper, low: float, high: float = float("inf")) -> None:
    values = torch.as_tensor(value, dtype=torch.float64)
    if not bool(((values >= low) & (values < high)).all()):
        raise ValueError(f"{name} is {value}, but it must lie in [{low}, {high}).")


def evaluated(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def fitted(value: Hyper, parameters: list[Tensor]) -> Any:
    """A number as torch's foreach operations take it with these parameters.

    A float stays; a 0-dim tensor becomes one of their dtype; a tensor [members] becomes
    a list, one for each parameter, shaped to broadcast over its other dimensions.
    """
    if not isinstance(value, Tensor):
        return value
    cast = {dtype: value.to(dtype) for dtype in {p.dtype for p in parameters}}
    if value.dim() == 0 and len(cast) == 1:
        return cast[parameters[0].dtype]
    ones = [(1,) * (p.dim() - value.dim()) for p in parameters]
    return [
        cast[p.dtype].reshape(value.shape + one)
        for p, one in zip(parameters, ones, strict=True)
    ]


def gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]


def _multiply(tensors: list[Tensor], factor: Hyper) -> None:
    """In place; foreach on a CPU would round a float to float16 parameters first."""
    if isinstance(factor, Tensor) or tensors[0].is_cuda:
        torch._foreach_mul_(tensors, fitted(factor, tensors))
        return
    for tensor in tensors:
        tensor.mul_(factor)


def _add(tensors: list[Tensor], number: Hyper) -> None:
    """In place; without alpha torch waits for a 0-dim tensor to read it as a float."""
    if isinstance(number, Tensor):
        torch._foreach_add_(tensors, fitted(number, tensors), alpha=1)
    else:
        torch._foreach_add_(tensors, number)


def _refilled(held: Any, loaded: Any) -> Any:
    """The loaded value, in the tensor that was held where they are alike."""
    if isinstance(loaded, tuple):
        return tuple(_refilled(h, new) for h, new in zip(held, loaded, strict=True))
    if isinstance(held, Tensor) and isinstance(loaded, Tensor):
        return held.copy_(loaded) if held.shape == loaded.shape else loaded
    return loaded


class _Base(Optimizer):
    """Hyper-parameter checks, state and the loop over groups, for AdamW and SGD."""

    ranges: dict[str, tuple[float, float]] = {}

    @property
    def host_driven(self) -> bool:
        """Whether the caller calls ``prepare()`` before every ``step()``."""
        return bool(self.defaults["host_driven"])

    def prepare(self) -> None:
        """What the host does for the next step; ``step()`` calls it if not driven."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient."""
        loss = evaluated(closure)
        if not self.host_driven:
            self.prepare()
        for index, group in enumerate(self.param_groups):
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(index, parameters)
        return loss

    def _update(self, index: int, parameters: list[Tensor]) -> None:
        raise NotImplementedError

    def _start(self, parameter: Tensor, group: Mapping[str, Any]) -> dict[str, Any]:
        """The state of a parameter before the first step."""
        raise NotImplementedError

    def _fill(self) -> None:
        """Bring what depends on the counts of steps to the device, if driven."""

    def _of(self, parameters: list[Tensor], name: str) -> list[Tensor]:
        return [self.state[p][name] for p in parameters]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        self._settle(group)
        for parameter in group["params"]:
            # not at the first step: a captured one would begin at zero every time
            self.state[parameter] = self._start(parameter.detach(), group)

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As in torch, but into the tensors there are, which a captured step reads."""
        held = {p: dict(self.state[p]) for g in self.param_groups for p in g["params"]}
        groups = [dict(group) for group in self.param_groups]
        super().load_state_dict(state_dict)
        for group, before in zip(self.param_groups, groups, strict=True):
            self._settle(group)
            for name in self.ranges:
                group[name] = _refilled(before[name], group[name])
            for p in group["params"]:
                loaded = self._start(p.detach(), group) | self.state[p]
                self.state[p] = {
                    name: _refilled(held[p].get(name), value)
                    for name, value in loaded.items()
                }
        self._fill()

    def _settle(self, group: dict[str, Any]) -> None:
        """Check the hyper-parameters of a group and bring them to its device."""
        sizes = {p.shape[0] if p.dim() else None for p in group["params"]}
        members = sizes.pop() if self.defaults["stacked"] else None
        if self.defaults["stacked"] and (sizes or members is None):
            raise ValueError(
                "stacked=True needs parameters of shape [members, ...] with one number "
                "of members, but their first dimensions differ or are missing."
            )
        device = group["params"][0].device
        for name, (low, high) in self.ranges.items():
            value = group[name]
            values = value if isinstance(value, tuple | list) else (value,)
            for one in values:
                _require(name, one, low, high)
            held = tuple(_hyper(name, one, members, device) for one in values)
            group[name] = held if isinstance(value, tuple | list) else held[0]
        if self.host_driven and not isinstance(group["lr"], Tensor):
            lr = torch.tensor(group["lr"], dtype=torch.float64, device=device)
            group["lr"] = lr


def _hyper(name: str, value: Hyper, members: int | None, device: torch.device) -> Hyper:
    """A float where members agree, which saves passes, else a copy [members]."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() == 0:
        return float(value)
    if value.shape != (members,):
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}; give a float, or with "
            "stacked=True a tensor with one value per member."
        )
    if bool((value == value[0]).all()):
        return float(value[0])
    # float64, so that 1 - beta and the bias corrections round as Python floats do
    return value.detach().to(device=device, dtype=torch.float64, copy=True)


def _corrections(betas: tuple[Hyper, Hyper], step: int) -> tuple[Hyper, Hyper]:
    """1 - beta1^t and sqrt(1 - beta2^t), floats or [members]."""
    return 1 - betas[0] ** step, (1 - betas[1] ** step) ** 0.5


class AdamW(_Base):
    """Adam with decoupled weight decay, operation for operation as in torch.

    Float32 results equal ``torch.optim.AdamW(foreach=False, fused=False)`` bit for bit
    as long as all numbers are floats; with tensors (members that differ, or
    ``host_driven``) they equal it to rounding, in fewer passes. The default weight
    decay is 0. A squared gradient below the smallest number of the dtype
    (|g| < 3.7e-23 in float32) leaves v at 0: the step is then m / eps. ``state[p]``
    holds ``step``, ``exp_avg`` and ``exp_avg_sq``; when driven by the host every
    parameter counts every step. Raises ValueError for a hyper-parameter out of range.
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
        host_driven: bool = False,
    ) -> None:
        if len(betas) != 2:
            raise ValueError(f"betas has {len(betas)} entries, but AdamW needs two.")
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps}
        defaults |= {"weight_decay": weight_decay, "stacked": stacked}
        self._held: dict[int, list[Tensor]] = {}  # corrections by group, where driven
        super().__init__(params, defaults | {"host_driven": host_driven})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("_held", {})  # a copy has the state only

    def _start(self, parameter: Tensor, group: Mapping[str, Any]) -> dict[str, Any]:
        del group
        moments = ("exp_avg", "exp_avg_sq")
        return {"step": 0} | {name: torch.zeros_like(parameter) for name in moments}

    @torch.no_grad()
    def prepare(self) -> None:
        """Count the next step; when driven by the host, fill its bias corrections."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if self.host_driven or parameter.grad is not None:
                    self.state[parameter]["step"] += 1
        self._fill()

    def _fill(self) -> None:
        # into tensors that stay where they are, since a captured step reads them
        if not self.host_driven:
            return
        for index, group in enumerate(self.param_groups):
            first = group["params"][0]
            values = _corrections(group["betas"], self.state[first]["step"])
            if index not in self._held:
                like = torch.zeros((), dtype=torch.float64, device=first.device)
                self._held[index] = [like + v for v in values]
            for tensor, value in zip(self._held[index], values, strict=True):
                if isinstance(value, Tensor):
                    tensor.copy_(value)
                else:
                    tensor.fill_(value)  # copy_ of a number would wait for the device

    def _parts(self, index: int, parameters: list[Tensor]) -> Iterable[Any]:
        """Parameters of a group that have taken equally many steps, corrections."""
        if self.host_driven:
            if not self._held:
                raise RuntimeError(
                    "step() of a host-driven AdamW needs the bias corrections of this "
                    "step: call prepare() before it."
                )
            return [(parameters, self._held[index])]
        counted: dict[int, list[Tensor]] = {}
        for parameter in parameters:
            counted.setdefault(self.state[parameter]["step"], []).append(parameter)
        betas = self.param_groups[index]["betas"]
        return [(part, _corrections(betas, step)) for step, part in counted.items()]

    def _update(self, index: int, parameters: list[Tensor]) -> None:
        group = self.param_groups[index]
        for part, corrections in self._parts(index, parameters):
            self._move(part, self._average(part, group), group, *corrections)

    def _average(self, parameters: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """Update both moments; returns sqrt(v)."""
        grads = gradients(parameters)
        m, v = (self._of(parameters, name) for name in ("exp_avg", "exp_avg_sq"))
        beta1, beta2 = group["betas"]
        torch._foreach_lerp_(m, grads, fitted(1 - beta1, m))
        if isinstance(beta2, Tensor):
            torch._foreach_lerp_(
                v, torch._foreach_mul(grads, grads), fitted(1 - beta2, v)
            )
        else:
            _multiply(v, beta2)
            torch._foreach_addcmul_(v, grads, grads, value=1 - beta2)
        return list(torch._foreach_sqrt(v))

    def _move(
        self,
        parameters: list[Tensor],
        spread: list[Tensor],
        group: dict[str, Any],
        correction1: Hyper,
        correction2: Hyper,
    ) -> None:
        lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
        m = self._of(parameters, "exp_avg")
        if isinstance(decay, Tensor) or decay != 0:
            _multiply(parameters, 1 - lr * decay)
        if any(isinstance(x, Tensor) for x in (lr, eps, correction1, correction2)):
            # m / (sqrt(v) / c + eps) is c m / (sqrt(v) + c eps), one pass less
            _add(spread, eps * correction2)
            length = fitted(lr * correction2 / correction1, m)
            step = torch._foreach_mul(m, length)
            torch._foreach_addcdiv_(parameters, step, spread, value=-1)
            return
        if correction2 != 1:  # exactly 1 after a few thousand steps
            torch._foreach_div_(spread, correction2)
        _add(spread, eps)
        torch._foreach_addcdiv_(parameters, m, spread, value=-(lr / correction1))

    @torch.no_grad()
    def spread(self) -> list[Tensor]:
        """sqrt(v_hat) + eps of every parameter after its last step, in float64.

        In the order of the parameters; NaN before the first step.
        """
        found: dict[Tensor, Tensor] = {}
        for index, group in enumerate(self.param_groups):
            for part, (_, correction) in self._parts(index, group["params"]):
                v = [x.double() for x in self._of(part, "exp_avg_sq")]
                roots = torch._foreach_div(
                    torch._foreach_sqrt(v), fitted(correction, v)
                )
                roots = torch._foreach_add(roots, fitted(group["eps"], v))
                found |= dict(zip(part, roots, strict=True))
        return [found[p] for group in self.param_groups for p in group["params"]]


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
        host_driven: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        defaults |= {"stacked": stacked, "host_driven": host_driven}
        super().__init__(params, defaults)

    def _start(self, parameter: Tensor, group: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(group["momentum"], Tensor) and group["momentum"] == 0:
            return {}
        return {"momentum_buffer": torch.zeros_like(parameter)}

    def _update(self, index: int, parameters: list[Tensor]) -> None:
        group = self.param_groups[index]
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        direction = gradients(parameters)
        if isinstance(decay, Tensor):
            shares = fitted(decay, parameters)
            direction = list(torch._foreach_addcmul(direction, parameters, shares))
        elif decay != 0:
            direction = list(torch._foreach_add(direction, parameters, alpha=decay))
        if isinstance(momentum, Tensor) or momentum != 0:
            buffers = self._of(parameters, "momentum_buffer")
            _multiply(buffers, momentum)
            torch._foreach_add_(buffers, direction)
            direction = buffers
        if isinstance(lr, Tensor):
            step = torch._foreach_mul(direction, fitted(lr, direction))
            torch._foreach_sub_(parameters, step)
        else:
            torch._foreach_add_(parameters, direction, alpha=-lr)
