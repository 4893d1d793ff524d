"""The update rules: torch's own for one network, and the same rules for a stack.

    AdamW: w <- (1 - lr wd) w - lr m_hat / (sqrt(v_hat) + eps)
    SGD:   buf <- momentum buf + g + wd w;  w <- w - lr buf

The classes have torch's names, but not all of its defaults: weight decay is 0 unless
given. ``params`` are parameters, pairs (name, parameter) or groups of them, as torch's
optimizers take them.

In a stack of networks every parameter is (members, ...), and any hyperparameter but the
betas may be a float64 tensor (members,). All that changes from step to step,
``group["lr"]`` included, is in tensors that are updated in place, and a step never
waits for the device. So a step can be captured as a CUDA graph and replayed.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT
from torch.utils._pytree import tree_map

from claimbook.errors import choose

Number = float | Tensor


class AdamW(torch.optim.AdamW):
    """torch's AdamW, one tensor after the other; weight decay is 0 unless given.

    ``options`` are others of torch's, ``lr`` among them. Raises ValueError for a decay
    that lengthens weights. It looks at the arguments alone: a rate or decay of a group
    in ``params`` and torch's default rate are not checked.
    """

    def __init__(self, params: ParamsT, *, weight_decay: float = 0.0, **options: Any):
        # a step multiplies weights by 1 - lr weight_decay
        if options.get("lr", 0.0) * weight_decay > 2:
            raise ValueError("lr * weight_decay is above 2, so weights grow: lower one")
        super().__init__(params, weight_decay=weight_decay, foreach=False, **options)


class SGD(torch.optim.SGD):
    """torch's SGD, one tensor after the other, with a learning rate that must be given.

    ``options`` are others of torch's: ``momentum`` (heavy-ball) and ``weight_decay``
    (coupled: added to the gradient), both 0 by default, and more.
    """

    def __init__(self, params: ParamsT, lr: float, **options: Any):
        super().__init__(params, lr, foreach=False, **options)


class Muon(Optimizer):
    """torch's Muon for every matrix and this module's ``AdamW`` for the rest.

    Both have the same learning rate and no weight decay. The step of a matrix is its
    averaged gradient with all singular values made about 1, scaled so that learning
    rates of AdamW suit it (``match_rms_adamw``). ``params`` are pairs (name,
    parameter); the rest are those that have not just two dimensions. ``rules`` are the
    two optimizers, or the one that has parameters. Raises ValueError without any. It is
    for one network on a CPU. Used in the chapter Remedies.
    """

    def __init__(
        self,
        params: Iterable[tuple[str, Tensor]],
        lr: float,
        *,
        momentum: float = 0.95,
    ):
        named = list(params)
        matrices = [(name, p) for name, p in named if p.dim() == 2]
        rest = [(name, p) for name, p in named if p.dim() != 2]
        muon = partial(
            torch.optim.Muon,
            momentum=momentum,
            weight_decay=0.0,
            adjust_lr_fn="match_rms_adamw",
        )
        self.rules: list[Optimizer] = []
        groups = []
        for rule_class, pairs in ((muon, matrices), (AdamW, rest)):
            if pairs:
                rule = rule_class(pairs, lr=lr)
                self.rules.append(rule)
                # one group a rule, in the order of ``rules``, as ``step`` pairs them
                groups.append(rule.defaults | {"params": pairs})
        super().__init__(groups, {})

    def __getstate__(self) -> dict[str, Any]:
        # torch's has defaults, state and groups alone, of which copies are made
        return super().__getstate__() | {"rules": self.rules}

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step of both rules; return the closure's loss, or None."""
        with torch.enable_grad():
            loss = closure() if closure else None
        for rule, group in zip(self.rules, self.param_groups, strict=True):
            # loading a checkpoint replaces both state and groups of this optimizer
            rule.state, rule.param_groups = self.state, [group]
            rule.step()
        return loss


def foreach_operand(value: Number, tensors: list[Tensor]) -> Any:
    """Return a number in the form that ``torch._foreach_*`` needs for some tensors.

    A float stays one, also without tensors. A tensor is cast to the dtype of the first
    of ``tensors``. If it is (members,), it becomes a list with a tensor (members, 1,
    ...) for each of ``tensors``, which are (members, ...).
    """
    if not isinstance(value, Tensor):
        return value
    value = value.to(tensors[0].dtype)
    if value.dim() == 0:
        return value
    return [value.reshape(value.shape + (1,) * (t.dim() - 1)) for t in tensors]


def gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Return the gradients of those parameters that have one, in their order."""
    return [p.grad for p in parameters if p.grad is not None]


def _copy_state(own: Tensor, saved: Tensor) -> None:
    """Copy ``saved`` into ``own``; raises ValueError if it has another shape."""
    if saved.shape != own.shape:  # copy_ would repeat one member's for all
        raise ValueError(f"a state has shape {(*saved.shape,)}, not {(*own.shape,)}")
    own.copy_(saved)


class Stack(Optimizer):
    """Base of the stacked rules, whose state lies in tensors updated in place.

    ``stacked=False`` is for a single network whose step is to be captured; its tensors
    have no axis of members. ``hyperparameters`` are ``lr``, which must be given where
    ``numbers`` has none, and those of ``numbers``. Raises UnknownName for others of
    torch's, such as ``nesterov``.
    """

    numbers: dict[str, Any]  # the rule's hyperparameters with their defaults

    def __init__(
        self, params: ParamsT, *, stacked: bool = True, **hyperparameters: Any
    ):
        for name in hyperparameters:
            choose("option of a stack", name, self.numbers | {"lr": None})
        super().__init__(params, self.numbers | hyperparameters | {"stacked": stacked})
        for group in self.param_groups:
            rate = torch.as_tensor(group["lr"], dtype=torch.float64)
            # a copy, since a schedule fills it in place
            group["lr"] = rate.to(group["params"][0].device, copy=True)
            self._start(group)

    # Makes the state of a parameter group at once: a captured first step would make it
    # anew in each replay.
    _start: Callable[[Any], None]
    # Makes one step of a group's parameters with a gradient, its second argument, of
    # which there is one at least.
    _update: Callable[[Any, list[Tensor]], None]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters with a gradient; return the closure's loss, or None."""
        with torch.enable_grad():
            loss = closure() if closure else None
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(group, parameters)
        return loss

    @torch.no_grad()
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copy a saved state into the present tensors, which a captured step reads.

        The hyperparameters of ``state_dict`` are not loaded. An entry that a
        parameter has only here stays as it is; a parameter that is only here raises
        KeyError, and a tensor of another shape ValueError.
        """
        # these dicts are the optimizer's own, so what is put into them stays
        for key, own_state in self.state_dict()["state"].items():
            for name, saved in state_dict["state"][key].items():
                if name in own_state:
                    tree_map(_copy_state, own_state[name], saved)
                else:  # what a hook on the optimizer makes in its first step
                    own_state[name] = tree_map(torch.clone, saved)


class StackedAdamW(Stack):
    """This module's ``AdamW`` for a stack: the same up to rounding, in fewer passes.

    All parameters of a group share a count of steps, so they need gradients in the same
    steps. With ``amsgrad`` it divides by the largest second moment so far.
    """

    numbers = {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "amsgrad": False,
    }

    def _start(self, group: dict[str, Any]) -> None:
        """Make the moments of a group's parameters, and their count of steps."""
        # one tensor () for all parameters of the group, so that a step counts it once;
        # lr may be (members,), its sum has the dtype and device
        count = torch.zeros_like(group["lr"].sum())
        for p in group["params"]:
            names = ["exp_avg", "exp_avg_sq"]
            if group["amsgrad"]:
                names += ["max_exp_avg_sq"]
            moments = {name: torch.zeros_like(p) for name in names}
            self.state[p] = {"step": count} | moments

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        """Make one step of ``parameters``, those of the group with a gradient.

        There is at least one.
        """
        grads = gradients(parameters)
        m = [self.state[p]["exp_avg"] for p in parameters]
        v = [self.state[p]["exp_avg_sq"] for p in parameters]
        step = self.state[parameters[0]]["step"]  # one tensor () for the whole group
        beta1, beta2 = group["betas"]
        lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
        torch._foreach_lerp_(m, grads, 1 - beta1)
        torch._foreach_mul_(v, beta2)
        torch._foreach_addcmul_(v, grads, grads, value=1 - beta2)
        step.add_(1)
        correction1 = 1 - beta1**step  # m_hat = m / correction1
        correction2 = (1 - beta2**step).sqrt()  # sqrt(v_hat) = sqrt(v) / correction2
        # a tensor is not compared with 0: that would wait for the device
        if isinstance(decay, Tensor) or decay != 0:
            torch._foreach_mul_(parameters, foreach_operand(1 - lr * decay, parameters))
        # with c = correction2, m / (sqrt(v) / c + eps) is c m / (sqrt(v) + c eps), one
        # pass less
        if group["amsgrad"]:
            largest = [self.state[p]["max_exp_avg_sq"] for p in parameters]
            torch._foreach_maximum_(largest, v)
            v = largest
        roots = list(torch._foreach_sqrt(v))
        # without alpha torch waits for a 0-dim tensor to read it as a float
        torch._foreach_add_(roots, foreach_operand(eps * correction2, roots), alpha=1)
        moves = torch._foreach_mul(
            m, foreach_operand(lr * correction2 / correction1, m)
        )
        torch._foreach_addcdiv_(parameters, moves, roots, value=-1)


class StackedSGD(Stack):
    """This module's ``SGD`` for a stack: the same rule up to rounding."""

    numbers = {"momentum": 0.0, "weight_decay": 0.0}

    def _start(self, group: dict[str, Any]) -> None:
        """Make the momentum buffers, zeros, of a group's parameters."""
        for p in group["params"]:
            self.state[p] = {"momentum_buffer": torch.zeros_like(p)}

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        """Make one step of the parameters of a group that have a gradient."""
        momentum, decay = group["momentum"], group["weight_decay"]
        direction = gradients(parameters)
        # tensors are not compared with 0: that would wait for the device
        if isinstance(decay, Tensor):
            decays = foreach_operand(decay, parameters)
            direction = list(torch._foreach_addcmul(direction, parameters, decays))
        elif decay != 0:
            direction = list(torch._foreach_add(direction, parameters, alpha=decay))
        if isinstance(momentum, Tensor) or momentum != 0:
            buffers = [self.state[p]["momentum_buffer"] for p in parameters]
            torch._foreach_mul_(buffers, foreach_operand(momentum, buffers))
            torch._foreach_add_(buffers, direction)
            direction = buffers
        moves = torch._foreach_mul(direction, foreach_operand(group["lr"], direction))
        torch._foreach_sub_(parameters, moves)


# the rule for a stack, by the rule for one network
STACKED: dict[type[Optimizer], type[Stack]] = {AdamW: StackedAdamW, SGD: StackedSGD}


@torch.no_grad()
def adam_divisors(optimizer: Optimizer) -> list[Tensor]:
    """Return AdamW's divisor sqrt(v_hat) + eps of every parameter, in float64.

    ``optimizer`` is an ``AdamW`` or ``StackedAdamW``; the divisors are those of its
    last step, in the order and the shapes of its parameters. Raises KeyError if a
    parameter has no second moment, as before the first step of an ``AdamW``; before
    that of a ``StackedAdamW`` all are NaN.
    """
    divisors: list[Tensor] = []
    for group in optimizer.param_groups:
        _, beta2 = group["betas"]
        for p in group["params"]:
            state = optimizer.state[p]
            correction = (1 - beta2 ** float(state["step"])) ** 0.5
            # v, or its maximum so far, which exists with ``amsgrad`` only
            second = state.get("max_exp_avg_sq", state["exp_avg_sq"])
            root = second.double().sqrt() / correction
            # a list of one tensor; eps may be (members,)
            eps = foreach_operand(group["eps"], [root])
            divisors += torch._foreach_add([root], eps)
    return divisors
