"""Hooks on torch's optimizers: changes of gradients or weights around each step.

    g_perp = g - (w . g) / (w . w) w            [Prieto et al. 2025, eq. 12]

Each public function adds one hook to an optimizer and returns the same optimizer. Hooks
act in the order in which they were added. On a stack of networks, whose parameters are
(members, ...), norms, projections and means are taken per member. After a step,
gradients and learning rates are what they were before it. A closure is called once,
before the hooks. A matrix without a gradient is left alone. No hook acts in a step that
moves nothing: without any gradient, with an infinite one that a GradScaler found, or
with rates and gradients of 0, as torch's distributed checkpoint makes one to fill the
state of an optimizer. ``names`` of a hook are exact names of matrices, of an optimizer
that was made of ``named_parameters()``; the hook raises UnknownName for any other name.

A hook is a generator function of the optimizer and its parameters with a gradient. The
lines before its only ``yield`` are run before the step, those after it afterwards.

The first hook replaces the ``step`` of that one optimizer. It also makes the
optimizer's class one that names the hooks in ``repr`` and ``state_dict()["hooks"]`` and
gives them to copies and pickles; the decorator ``_hook`` notes their names and options
for that. What a hook has to remember lies in ``state[parameter]``, under the hook's
name, in tensors that are updated in place, as a captured step needs. A second hook of
that name on the same parameter would share it. Parameters may be added later. The
norm of the whole gradient, in ``unit_steps`` and ``clip``, is computed in float64 where
the device has it. Other norms and products of float16 and bfloat16 are computed in
float32, and else in the dtype of the tensors, in which a float32 tensor that is shorter
than 1e-19 or longer than 1e19 has no norm.
"""

import inspect
import math
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, reduce, wraps
from types import MethodType, SimpleNamespace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.linalg import vector_norm
from torch.optim import Optimizer

from claimbook.errors import UnknownName, choose, refuse_text
from grokbook.losses import widest_dtype
from grokbook.optimizers.rules import foreach_operand, gradients

# Guards divisions by norms; in ``orthogonal`` as in the code of Prieto et al. (2025).
TINY = 1e-30
Opt = TypeVar("Opt", bound=Optimizer)
Hook = Callable[[Any, list[Tensor]], Iterator[None]]
AddHook = TypeVar("AddHook", bound=Callable[..., Any])


def _hook(function: AddHook) -> AddHook:
    """Return a function that adds a hook, and notes the hook's name and options.

    ``function`` adds the hook without a note. What is returned takes options by name
    alone and raises TypeError for whatever is not an optimizer. The notes, ``added`` of
    the optimizer's ``step_hooks``, are what its ``repr``, copies and pickles read.
    """

    @wraps(function)
    def add(optimizer: Any, **options: Any) -> Any:
        """Add ``function``'s hook to an optimizer, note it, return the optimizer."""
        if not isinstance(optimizer, Optimizer):
            name = getattr(optimizer, "__name__", type(optimizer).__name__)
            raise TypeError(
                f"{function.__name__} needs an optimizer that has parameters, such as "
                f"torch.optim.SGD(model.parameters(), lr=0.1), not {name}"
            )
        # plain, as an iterator can be read but once, and checkpoints save the note
        options = {name: _plain(value) for name, value in options.items()}
        bound = inspect.signature(function).bind(optimizer, **options)
        bound.apply_defaults()  # the note has options that were not given too
        with_hook = function(optimizer, **options)
        # all options of a hook are keyword-only
        with_hook.step_hooks.added.append([function.__name__, bound.kwargs])
        return with_hook

    return add  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    """Return an option of a hook as numbers, text and nested lists.

    Tensors, arrays and other iterables become lists, a 0-dim tensor a number; all else
    is returned as it is.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [_plain(part) for part in value]


def _as_calls(added: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """Return hooks as they are called: "clip(norm=0.5), grokfast(alpha=0.98, ...)".

    ``added`` has the name and the options of each hook; without any the text is "no
    hooks". Long values are shortened.
    """
    calls = []
    for name, options in added:
        shown = [f"{key}={reprlib.repr(value)}" for key, value in options.items()]
        calls.append(f"{name}({', '.join(shown)})")
    return ", ".join(calls) or "no hooks"


class _WithHooks(Optimizer):
    """The base class that an optimizer with hooks has in addition to its own.

    ``plain_class`` is the optimizer's class without hooks. ``step_hooks`` is made by
    `_wrap_step`; its list ``added`` has the name and the options of each hook.
    """

    plain_class: type[Optimizer]
    step_hooks: Any

    def __repr__(self) -> str:
        return f"{super().__repr__()} with {_as_calls(self.step_hooks.added)}"

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        # a pickle can have neither a class made at run time nor this ``step``
        return _made_again, (
            self.plain_class,
            self.__getstate__(),
            self.step_hooks.added,
        )

    def state_dict(self) -> dict[str, Any]:
        # a copy of the list, as hooks may be added later
        return super().state_dict() | {"hooks": [*self.step_hooks.added]}

    def load_state_dict(self, state_dict: Any) -> None:
        """Load a state, with a warning if it was saved with other hooks.

        The hooks stay those of this optimizer. The state of a plain optimizer, which
        has no "hooks", is loaded without a warning.
        """
        own = self.step_hooks.added
        saved = state_dict.get("hooks", own)
        if saved != own:
            warnings.warn(
                f"the state was saved with {_as_calls(saved)}, and this optimizer "
                f"goes on with {_as_calls(own)}",
                stacklevel=2,
            )
        super().load_state_dict(state_dict)


@cache
def _class_with_hooks(plain_class: type[Optimizer]) -> type[_WithHooks]:
    """Return the subclass of ``plain_class``, of its name, for optimizers with hooks.

    Optimizers of one class share it, as it is made once.
    """
    bases = (_WithHooks, plain_class)
    return type(plain_class.__name__, bases, {"plain_class": plain_class})


def _made_again(
    plain_class: type[Optimizer],
    state: dict[str, Any],
    added: Iterable[tuple[str, dict[str, Any]]],
) -> Optimizer:
    """Return an optimizer made of what torch pickles of it, with its hooks.

    ``state`` is its ``__getstate__()``, and ``added`` has the name and the options of
    each hook. Pickles name this function, so a new name would make them unreadable.
    """
    optimizer = plain_class.__new__(plain_class)
    optimizer.__setstate__(state)
    for name, options in added:
        globals()[name](optimizer, **options)  # a hook is a function of this module
    return optimizer


def _attach(optimizer: Opt, hook: Hook) -> Opt:
    """Let every step of an optimizer run a hook, and return the optimizer.

    Before the step a hook may replace gradients and learning rates, which are restored
    afterwards, even if the step raises; after the step it may change the weights.
    Raises TypeError for LBFGS.
    """
    # those of earlier hooks; the first hook of an optimizer wraps its step
    step_hooks = getattr(optimizer, "step_hooks", None) or _wrap_step(optimizer)
    step_hooks.functions.append(hook)
    return optimizer


def _wrap_step(optimizer: Any) -> SimpleNamespace:
    """Give an optimizer a ``step`` that runs its hooks; return its new ``step_hooks``.

    Of these ``functions`` are the hooks themselves and ``added`` their [name, options],
    both empty yet, and ``loss`` is what the closure of the current step returned, None
    without one. Raises TypeError for LBFGS.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError("LBFGS makes gradients in its step, where no hook can act")
    hooks = SimpleNamespace(functions=[], loss=None, added=[])
    inner_step = optimizer.step
    plain_class: Any = type(optimizer)
    optimizer.__class__ = _class_with_hooks(plain_class)
    optimizer.step_hooks = hooks

    @torch.no_grad()
    @wraps(inner_step)
    def step(optimizer: Any, closure: Any = None, **options: Any) -> Any:
        """Make a step of the optimizer's own, with the hooks before and after it.

        ``hooks`` and ``inner_step`` are those of `_wrap_step`. Returns what
        ``inner_step`` does: torch's rules return the closure's loss, or None.
        """
        with torch.enable_grad():  # the decorator has turned gradients off
            hooks.loss = closure() if closure else None
        params = [p for group in optimizer.param_groups for p in group["params"]]
        with_grad = _with_gradient(params)
        raw_grads = gradients(with_grad)
        # a GradScaler sets it, and ``found_inf``, of a fused optimizer
        loss_scale = getattr(optimizer, "grad_scale", None)
        if any(grad.is_sparse or grad.is_complex() for grad in raw_grads):
            raise TypeError("hooks need gradients that are dense and real")
        rates = [(g, g["lr"]) for g in optimizer.param_groups if "lr" in g]
        try:
            if loss_scale is not None:
                # hooks need true gradients, so the division by it is done here
                optimizer.grad_scale = None
                for parameter in with_grad:
                    parameter.grad = parameter.grad / loss_scale
            is_skipped = (
                not with_grad
                or getattr(optimizer, "found_inf", False)
                or _moves_nothing(optimizer, with_grad)
            )
            functions = [] if is_skipped else hooks.functions
            started = [function(optimizer, with_grad) for function in functions]
            for hook in started:
                next(hook)  # up to its yield
            # the closure was called above: a rule that asks for the loss gets that one
            arguments = [lambda: hooks.loss] if closure else []
            with _without_hook_states(optimizer, params):
                result = inner_step(*arguments, **options)
            for hook in started:
                next(hook, None)  # from its yield to its end
            return result
        finally:
            for parameter, grad in zip(with_grad, raw_grads, strict=True):
                # a closure or the rule may have set it to None, as zero_grad does
                parameter.grad = None if parameter.grad is None else grad
            for group, rate in rates:
                group["lr"] = rate
            if loss_scale is not None:
                optimizer.grad_scale = loss_scale

    optimizer.step = MethodType(step, optimizer)  # torch's schedulers need a method
    return hooks


def _moves_nothing(optimizer: Optimizer, parameters: list[Tensor]) -> bool:
    """Return whether the rates of all groups are 0 and all gradients are zeros.

    NaN is not 0. For the book's own stacks and for rates on a GPU the answer is False:
    to look at the numbers, a step would have to wait for the device.
    """
    if "stacked" in optimizer.defaults:  # a `Stack`, whose rates are tensors
        return False
    # a group without a rate counts as one that moves
    rates = [group.get("lr", 1.0) for group in optimizer.param_groups]
    if any(getattr(rate, "is_cuda", False) or rate for rate in rates):
        return False
    return not any(grad.any() for grad in gradients(parameters))


@contextmanager
def _without_hook_states(optimizer: Any, parameters: list[Tensor]) -> Iterator[None]:
    """Take what hooks remember out of the optimizer's state, inside a with block.

    A rule of torch makes its own entries in the state of a parameter only if that state
    is empty, so an entry of a hook would keep it from that.
    """
    removed = []  # (parameter, name of a hook, what the hook remembers)
    for parameter in parameters:
        state = optimizer.state.get(parameter, {})
        for name, _ in optimizer.step_hooks.added:
            if name in state:
                removed.append((parameter, name, state.pop(name)))
    try:
        yield
    finally:
        for parameter, name, value in removed:
            optimizer.state[parameter][name] = value


def _state_of(optimizer: Optimizer, parameter: Tensor) -> dict[str, Any]:
    """Return the state of a parameter, in which a hook keeps what it has to remember.

    First it makes an empty state for every parameter without one: torch's distributed
    checkpoint does not load a state in which some parameters are missing.
    """
    for group in optimizer.param_groups:
        for each in group["params"]:
            optimizer.state[each]  # a defaultdict, which makes an empty state
    return optimizer.state[parameter]


def _sum_dtype(tensor: Tensor) -> torch.dtype:
    """Return the dtype for sums over a tensor: its own, or float32 for 16-bit ones."""
    return torch.promote_types(tensor.dtype, torch.float32)


def _is_stacked(optimizer: Optimizer) -> bool:
    """Return whether the parameters of an optimizer are (members, ...)."""
    return bool(optimizer.defaults.get("stacked"))


def _by_member(optimizer: Optimizer, tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return each tensor as a matrix (members, entries), in its `_sum_dtype`.

    Without a stack the matrix has one row.
    """
    is_stacked = _is_stacked(optimizer)
    return [
        t.detach().reshape(t.shape[0] if is_stacked else 1, -1).to(_sum_dtype(t))
        for t in tensors
    ]


def _inner_products(
    left: list[Tensor], right: list[Tensor], joint: bool
) -> list[Tensor]:
    """Return the inner product (members, 1) of each pair of tensors (members, entries).

    With ``joint`` each item is the sum over all pairs instead, once for each pair.
    There is one pair or more.
    """
    products = [x.sum(dim=-1, keepdim=True) for x in torch._foreach_mul(left, right)]
    if not joint:
        return products
    return [reduce(torch.add, products)] * len(products)


def _frobenius_norm(matrix: Tensor) -> Tensor:
    """Return the Frobenius norm of a matrix: (1, 1), in a stack (members, 1, 1).

    A float16 or bfloat16 matrix has it in float32.
    """
    return matrix.norm(dim=(-2, -1), keepdim=True, dtype=_sum_dtype(matrix))


def _norms(tensors: list[Tensor], joint: bool) -> list[Tensor]:
    """Return the L2 norm (members, 1) of each tensor (members, entries).

    With ``joint`` every item is the norm of all tensors together instead: there are as
    many.
    """
    norms = [vector_norm(x, dim=1, keepdim=True) for x in tensors]
    if not joint:
        return norms
    # (tensors, members, 1), whose norm over tensors is that of all their entries
    return [vector_norm(torch.stack(norms), dim=0)] * len(norms)


def _gradient_norm(optimizer: Optimizer, parameters: list[Tensor]) -> Tensor:
    """Return the norm of the whole gradient in float64: (), or (members,) of a stack.

    It is in float32 on a device that has no float64. NaN among the gradients makes it
    NaN, also beside an infinite one. At least one parameter has a gradient.
    """
    grads = _by_member(optimizer, gradients(parameters))
    dtype = widest_dtype(grads[0])
    norms = [vector_norm(grad, dim=1, dtype=dtype) for grad in grads]
    norm = vector_norm(torch.stack(norms), dim=0)  # (members,)
    return norm if _is_stacked(optimizer) else norm[0]


def _check_norm(norm: float) -> None:
    """Raise ValueError for a norm that is no number above 0, is infinite or NaN."""
    if not (isinstance(norm, float | int) and 0 < norm < math.inf):
        raise ValueError(f"norm is a number above 0, not {norm!r}")


@_hook
def orthogonal(optimizer: Opt, *, rescale: bool = True, scope: str = "tensor") -> Opt:
    """Remove from each gradient its part along the weights, in every step (⊥Grad).

    ``rescale=True, scope="tensor"`` is the official code of Prieto et al. (2025): every
    tensor is projected against itself and gets back the norm of its raw gradient.
    ``rescale=False, scope="global"`` is eq. 11-12 of the paper: one projection of the
    whole parameter vector. With "tensor" a tensor of one number is not projected. Nor
    is, with either, a vector of weights that is zero or, in any dtype, shorter than
    about 1e-15, as the square of its norm is below the guard of the official code. A
    gradient parallel to the weights becomes rounding noise, which the rescaling
    amplifies. A gradient of zeros stays so; one with NaN becomes NaN in all entries.
    Raises UnknownName for another scope.
    """
    joint = choose("scope", scope, ("tensor", "global")) == "global"

    def project(optimizer: Optimizer, parameters: list[Tensor]) -> Iterator[None]:
        """Replace each gradient by its part orthogonal to its weights.

        With ``scope`` "global" of `orthogonal` (``joint``), all gradients together are
        one vector, and all weights another. With its ``rescale``, what is left of each
        vector gets back the vector's raw norm.
        """
        # weights and grads are (members, entries), products and squares (members, 1)
        weights = _by_member(optimizer, parameters)
        grads = _by_member(optimizer, gradients(parameters))
        products = _inner_products(weights, grads, joint)
        squares = _inner_products(weights, weights, joint)
        coefficients = []
        for product, square, weight in zip(products, squares, weights, strict=True):
            coefficient = product / (square + TINY)
            if weight.shape[1] == 1 and not joint:
                # of one number nothing would be left, so it is not projected
                coefficient = torch.zeros_like(coefficient)
            coefficients.append(coefficient)
        projected = list(torch._foreach_addcmul(grads, weights, coefficients, value=-1))
        if rescale:
            norms = zip(_norms(grads, joint), _norms(projected, joint), strict=True)
            factors = [raw / (norm + TINY) for raw, norm in norms]
            torch._foreach_mul_(projected, factors)
        for parameter, grad in zip(parameters, projected, strict=True):
            parameter.grad = grad.reshape(parameter.shape).to(parameter.dtype)
        yield

    return _attach(optimizer, project)


@_hook
def unit_steps(optimizer: Opt) -> Opt:
    """Divide the learning rate of each step by the norm of the full gradient.

    Every step of gradient descent then has length lr (Prieto et al. 2025, figure 9,
    after Lyu and Li 2020). The norm is taken over all parameter groups, in float64.
    Where it is 0, NaN or infinite, the rate is 0; no rate exceeds the largest number of
    the weights' dtype. Rules of torch round a rate to float16 where the weights are
    float16, a small one coarsely. Raises UnknownName for an optimizer without a
    learning rate.
    """
    if "lr" not in optimizer.param_groups[0]:
        name = type(optimizer).__name__
        raise UnknownName(f"{name} has no learning rate that could be divided")

    def normalise(optimizer: Optimizer, parameters: list[Tensor]) -> Iterator[None]:
        """Divide the rate of each group by the norm of the gradient."""
        norm = _gradient_norm(optimizer, parameters)  # (), or (members,) of a stack
        scale = torch.where(norm > 0, 1 / norm, 0.0)
        # a rate beyond it is infinite there, and times a gradient's entry of 0 NaN
        largest = min(torch.finfo(p.dtype).max for p in parameters)
        for group in optimizer.param_groups:
            rate = (group["lr"] * scale).clamp(max=largest)
            # a rate that is a tensor stays one: float() would wait for the device
            group["lr"] = rate if isinstance(group["lr"], Tensor) else float(rate)
        yield

    return _attach(optimizer, normalise)


@_hook
def clip(optimizer: Opt, *, norm: float) -> Opt:
    """Scale the gradients of a step by one factor, to a joint norm up to ``norm``.

    With a NaN among them all become NaN, and with an infinite one the finite become 0.
    Raises ValueError for a norm that is not a number above 0.
    """
    _check_norm(norm)

    def shorten(optimizer: Optimizer, parameters: list[Tensor]) -> Iterator[None]:
        """Scale each member's gradients to a joint norm up to ``norm`` of `clip`."""
        # (), or (members,) of a stack, which foreach_operand shapes for each gradient;
        # where it would lengthen, or the norm is 0, it becomes 1
        factor = (norm / _gradient_norm(optimizer, parameters)).clamp(max=1)
        # in float32 at least: a factor may be too small for float16
        grads = [grad.to(_sum_dtype(grad)) for grad in gradients(parameters)]
        scaled = torch._foreach_mul(grads, foreach_operand(factor, grads))
        for parameter, grad in zip(parameters, scaled, strict=True):
            parameter.grad = grad.to(parameter.dtype)
        yield

    return _attach(optimizer, shorten)


@_hook
def grokfast(optimizer: Opt, *, alpha: float = 0.98, lamb: float = 2.0) -> Opt:
    """Amplify the slow part of each gradient, its moving average mu.

        mu <- alpha mu + (1 - alpha) g,   g <- g + lamb mu     [Lee et al. 2024, EMA]

    As in the official code of Lee et al. (2024), mu begins as the first gradient of a
    parameter. ``state[parameter]["grokfast"]`` is mu, so that a checkpoint saves it
    with the moments. Raises ValueError for an alpha that is no number in [0, 1).
    """
    if not (isinstance(alpha, float | int) and 0 <= alpha < 1):
        raise ValueError(f"alpha is in [0, 1), not {alpha!r}")

    def amplify(optimizer: Optimizer, parameters: list[Tensor]) -> Iterator[None]:
        """Update each moving average mu; add ``lamb`` of `grokfast` times it to g."""
        for parameter, grad in zip(parameters, gradients(parameters), strict=True):
            state = optimizer.state[parameter]
            if "grokfast" not in state:  # the first gradient of this parameter
                state["grokfast"] = grad.clone()
            mu = state["grokfast"]
            mu.add_((1 - alpha) * (grad - mu))
            parameter.grad = grad + lamb * mu
        yield

    return _attach(optimizer, amplify)


@_hook
def centre_rows(optimizer: Opt, *, names: Iterable[str]) -> Opt:
    """Subtract from every named matrix the mean of its rows, after each step.

    For a head (classes, width) this removes W_G, the mean classifier of Liu et al.
    (2026), section B.3. The moments of the optimizer are not centred. Raises
    UnknownName for a name that no matrix of the optimizer has.
    """
    matrices = _named_matrices(optimizer, names)

    def centre(_optimizer: Optimizer, _parameters: list[Tensor]) -> Iterator[None]:
        """Subtract from each of the ``matrices`` of `centre_rows` its mean row."""
        yield
        for matrix in _with_gradient(matrices):
            # a mean is (1, columns), in a stack (members, 1, columns)
            matrix.sub_(matrix.mean(dim=-2, keepdim=True, dtype=_sum_dtype(matrix)))

    return _attach(optimizer, centre)


@_hook
def hold_norm(
    optimizer: Opt, *, names: Iterable[str], norm: float, total: bool = False
) -> Opt:
    """Scale every named matrix to the Frobenius norm ``norm``, after each step.

    ``names`` are exact names of parameters. With ``total``, one factor scales all of
    them that have a gradient, so that their joint norm is ``norm``. A matrix of zeros
    stays so. The initial weights and the moments of the optimizer are not scaled.
    Raises UnknownName for a name that no matrix of the optimizer has, and ValueError
    for a norm that is not above 0.
    """
    _check_norm(norm)
    matrices = _named_matrices(optimizer, names)

    def hold(_optimizer: Optimizer, _parameters: list[Tensor]) -> Iterator[None]:
        """Scale the ``matrices`` of `hold_norm` that have a gradient to its norm."""
        yield
        trained = _with_gradient(matrices)
        # (1, 1) each, in a stack (members, 1, 1)
        lengths = [_frobenius_norm(matrix) for matrix in trained]
        if total and lengths:  # for each matrix the joint norm in place of its own
            lengths = [torch.stack(lengths).square().sum(0).sqrt()] * len(lengths)
        for matrix, length in zip(trained, lengths, strict=True):
            matrix.mul_(norm / length.clamp(min=TINY))

    return _attach(optimizer, hold)


@_hook
def clip_rows(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """Shorten every row of the named matrices to an L2 norm of at most ``norm``.

    This is done after each step. A row holds the weights into one unit. A shorter row
    stays as it is. ``names`` and errors are those of ``hold_norm``. Used in the chapter
    Remedies.
    """
    _check_norm(norm)
    matrices = _named_matrices(optimizer, names)

    def shorten_rows(_optimizer: Any, _parameters: list[Tensor]) -> Iterator[None]:
        """Shorten the rows of the ``matrices`` of `clip_rows` that have a gradient."""
        yield
        for matrix in _with_gradient(matrices):
            # (rows, 1), in a stack (members, rows, 1); rows of zeros stay so
            length = matrix.norm(dim=-1, keepdim=True, dtype=_sum_dtype(matrix))
            matrix.mul_((norm / length.clamp(min=TINY)).clamp(max=1))

    return _attach(optimizer, shorten_rows)


@_hook
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
    it stays. ``state[matrix]["replay_norm"]`` counts the steps made, so that a
    checkpoint saves them. A matrix of zeros stays so. Raises ValueError if ``norms``
    has not one list for each name, and UnknownName as ``hold_norm`` does. Used in
    remedies/elsewhere.
    """
    matrices = _named_matrices(optimizer, names)
    curves = [
        torch.tensor(list(curve), dtype=_sum_dtype(matrix), device=matrix.device)
        for matrix, curve in zip(matrices, norms, strict=True)
    ]

    def replay(optimizer: Optimizer, _parameters: list[Tensor]) -> Iterator[None]:
        """Scale each matrix of `replay_norm` to its recorded norm at this step.

        ``curves`` are its ``norms``, one tensor (recorded steps,) for each matrix.
        """
        yield
        for matrix, curve in zip(matrices, curves, strict=True):
            if not _with_gradient([matrix]):
                continue  # nor is this step counted for it
            state = _state_of(optimizer, matrix)
            if "replay_norm" not in state:
                state["replay_norm"] = {"step": curve.new_zeros(())}
            # a loaded count may lie on another device
            step_count = state["replay_norm"]["step"].add_(1).to(curve.device)
            # (1,), a fractional index into the recorded norms
            position = (step_count / every).clamp(max=len(curve) - 1).reshape(1)
            below = position.floor()
            # index_select, as ``curve[below]`` would wait for the device
            start = curve.index_select(0, below.long())
            end = curve.index_select(0, position.ceil().long())
            recorded = torch.lerp(start, end, position - below)  # (1,)
            matrix.mul_(recorded / _frobenius_norm(matrix).clamp(min=TINY))

    return _attach(optimizer, replay)


@_hook
def steps_by_norm(optimizer: Opt, *, names: Iterable[str], norm: float) -> Opt:
    """Multiply each step of every named matrix by the matrix's own norm over ``norm``.

    A matrix whose norm is free then turns by about the angle by which it would turn if
    ``hold_norm`` held it at ``norm``. This is the control for what a held norm does to
    a step. The matrix's norm is taken before the step, so a matrix of zeros stays so.
    The step is all that the rule changes, weight decay included. Names and errors are
    those of ``hold_norm``. Used in remedies/elsewhere.
    """
    _check_norm(norm)
    matrices = _named_matrices(optimizer, names)

    def lengthen(_optimizer: Optimizer, _parameters: list[Tensor]) -> Iterator[None]:
        """Multiply the step of each of the ``matrices`` of `steps_by_norm`."""
        values = [matrix.detach().clone() for matrix in matrices]
        yield
        for matrix, value in zip(matrices, values, strict=True):
            factor = _frobenius_norm(value) / norm  # (1, 1) or (members, 1, 1)
            matrix.copy_(value + factor * (matrix - value))

    return _attach(optimizer, lengthen)


def _with_gradient(parameters: list[Tensor]) -> list[Tensor]:
    """Return those parameters that have a gradient; a step leaves the others alone."""
    return [p for p in parameters if p.grad is not None]


def _named_matrices(optimizer: Optimizer, names: Iterable[str]) -> list[Tensor]:
    """Return the optimizer's parameters called ``names``, in the order of ``names``.

    Raises UnknownName for a name that no matrix of the optimizer has (a kernel of a
    convolution is none), for a text in place of a list, and if the optimizer does not
    know the names of its parameters.
    """
    refuse_text("names", names)
    params_by_name: dict[str, Tensor] = {}
    for group in optimizer.param_groups:
        if "param_names" not in group:
            raise UnknownName(
                "this hook finds matrices by name: make the optimizer of "
                "model.named_parameters() in place of model.parameters()"
            )
        params_by_name |= zip(group["param_names"], group["params"], strict=True)
    matrices = []
    for name in names:
        matrix = choose("parameter", name, params_by_name)
        if matrix.dim() != (3 if _is_stacked(optimizer) else 2):
            raise UnknownName(
                f"parameter {name!r} is not a matrix: {tuple(matrix.shape)}"
            )
        matrices.append(matrix)
    return matrices


@_hook
def descend_from(
    optimizer: Opt, *, lr: float, loss: float = math.inf, after: int = 0
) -> Opt:
    """Switch to plain gradient descent once the loss is at most ``loss``.

    From that step on, but not before ``after`` steps, w <- w - lr g replaces the
    optimizer's rule for good; each member of a stack switches at its own step (Liu et
    al. 2026, section B.2.2: from a loss of 0 at lr 1e5). ``g`` is the gradient as the
    hooks that were added before leave it; there is no weight decay. Hooks that change
    weights after the step are to be added after this one, which undoes those added
    before. With a ``loss`` below infinity, ``step`` needs a closure that returns the
    loss, (), or (members,) of a stack, else it raises TypeError. A member whose closure
    returns NaN does not switch in that step.

    ``state[parameter]["descend_from"]`` of the first parameter keeps whether a member
    ``descends`` (0 or 1) and the ``step``, the number of steps made, so that a
    checkpoint saves them.
    """
    first = optimizer.param_groups[0]["params"][0]

    def descend(optimizer: Any, parameters: list[Tensor]) -> Iterator[None]:
        """Decide which members descend, and replace their step by one of descent.

        ``first`` is the first parameter of the optimizer, and ``after``, ``loss`` and
        ``lr`` are the arguments of `descend_from`.
        """
        state = _state_of(optimizer, first)
        if "descend_from" not in state:
            # one flag for each member
            shape = first.shape[:1] if _is_stacked(optimizer) else ()
            zeros = first.detach().new_zeros(shape)
            # torch loads what is called "step" without a cast to half precision
            count = torch.zeros((), dtype=_sum_dtype(first), device=first.device)
            state["descend_from"] = {"descends": zeros, "step": count}
        remembered = state["descend_from"]
        descends, step_count = remembered["descends"], remembered["step"]
        begins = (step_count >= after).to(descends.device)
        last_loss = optimizer.step_hooks.loss  # of this step's closure, or None
        if last_loss is not None:
            is_low = torch.as_tensor(last_loss, device=descends.device) <= loss
            begins = begins & is_low
        elif loss < math.inf:
            raise TypeError(
                f"descend_from(loss={loss}) has to know the loss: call step(closure) "
                "with a closure that returns it"
            )
        # a member that descends goes on doing so
        descends.copy_(torch.maximum(descends, begins.to(descends.dtype)))
        step_count.add_(1)
        values = [parameter.detach().clone() for parameter in parameters]
        grads = gradients(parameters)
        yield
        for parameter, value, grad in zip(parameters, values, grads, strict=True):
            # (1, ...), in a stack (members, 1, ...), so that it broadcasts over value
            ones = (1,) * (value.dim() - descends.dim())
            is_replaced = descends.reshape(descends.shape + ones) > 0
            parameter.copy_(torch.where(is_replaced, value - lr * grad, parameter))

    return _attach(optimizer, descend)
