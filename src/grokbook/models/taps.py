"""Named places inside a network, where a caller may look, change or charge.

A model is called as ``model(x, tap)``. At every named place it says ``x = tap(name,
x)`` and goes on with what comes back, so one mechanism records an activation
(``Recorder``), replaces it (``Recorder(replace=...)``, as SR-train of Singh et al. 2026
does) or hands it to a penalty. Without a tap the model may take the shortcuts of
``models.fast``; with one it passes every place, all positions included.
``model.places()`` lists the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float

Tap = Callable[[str, Tensor], Tensor]


def untouched(_name: str, x: Tensor) -> Tensor:
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
    """Zeroes a share p of the entries in training and divides the rest by 1 - p."""

    def __init__(self, p: float = 0.0):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout is {p}, but it must lie in [0, 1)")
        self.p = p

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return F.dropout(x, self.p, self.training)


def drops(model: nn.Module) -> bool:
    """Whether a pass of a network in training draws masks."""
    return any(isinstance(one, Dropout) and one.p > 0 for one in model.modules())
