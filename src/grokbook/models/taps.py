"""Named places inside a network, where a caller may look, change or charge.

A model is called as ``model(x, tap)``. At every named place it says ``x = tap(name,
x)`` and goes on with what comes back, so one mechanism records an activation
(``Recorder``), replaces it (``Recorder(replace=...)``, as SR-train of Singh et al. 2026
does) or hands it to a penalty. Without a tap the model may take the shortcuts of
``models.fast``; with one it passes every place, all positions included.
``model.places()`` lists the names.

``Dropout`` has one module per place too: a stack of members trained together is given
the mask of each of them as a buffer, so that no member's draws depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped

Tap = Callable[[str, Tensor], Tensor]


def untouched(_name: str, x: Tensor) -> Tensor:
    """The tap that looks at nothing and changes nothing."""
    return x


class Recorder:
    """A tap that keeps what it sees in ``found``, by name and in order of calls.

    ``replace`` maps names to functions of the activation, whose results the network
    goes on with and ``found`` holds. Under ``torch.func.vmap`` make one inside the
    mapped function and return its ``found``.
    """

    def __init__(self, replace: Mapping[str, Callable[[Tensor], Tensor]] | None = None):
        self.replace = dict(replace or {})
        self.found: dict[str, Tensor] = {}

    def __call__(self, name: str, x: Tensor) -> Tensor:
        if name in self.replace:
            x = self.replace[name](x)
        self.found[name] = x
        return x


class Dropout(nn.Module):
    """Zeroes a share p of the entries in training and divides the rest by 1 - p.

    The mask is drawn by ``torch.nn.functional.dropout``, or is ``noise`` where that
    buffer is set (by ``torch.func.functional_call``): 0 or 1 / (1 - p), in the shape of
    the input. The buffer is never part of a state_dict.
    """

    noise: Tensor | None

    def __init__(self, p: float = 0.0):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout is {p}, but it must lie in [0, 1)")
        self.p = p
        self.register_buffer("noise", None, persistent=False)

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if self.noise is None or not self.training:
            return F.dropout(x, self.p, self.training)
        return x * self.noise


def noise_shapes(
    model: nn.Module, x: Shaped[Tensor, " batch *shape"], tap: Tap | None = None
) -> dict[str, tuple[int, ...]]:
    """Shapes of the masks of one pass, by buffer name, in the order of their draws.

    ``x`` and ``tap`` as the model will be called; dropout with p = 0 needs no mask. The
    pass is in evaluation mode: it draws nothing and moves no running mean.
    """
    shapes: dict[str, tuple[int, ...]] = {}

    def note(name: str, _module: nn.Module, given: tuple[Tensor]) -> None:
        shapes[name] = tuple(given[0].shape)

    modes = {module: module.training for module in model.modules()}
    hooks = [
        module.register_forward_pre_hook(partial(note, f"{name}.noise"))
        for name, module in model.named_modules()
        if isinstance(module, Dropout) and module.p > 0
    ]
    with torch.no_grad():
        model.eval()(x, tap)
    for hook in hooks:
        hook.remove()
    for module, training in modes.items():
        module.training = training
    return shapes
