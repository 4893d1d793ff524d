"""A fully connected network on tokens, features or images.

    x_0 = input,   x_k = activation(norm(W_k x_{k-1} + b_k)),   logits = W x_K + b

Prieto et al. 2025 (section 3.1) have two layers of 200 ReLU units on concatenated
one-hots and no norm. Norms and dropout are among the regularisers that Tiwari et al.
2026 compare (Table 4), the norm before the last layer is a control of Liu et al. 2026.
The start is PyTorch's unless told otherwise. Residual connections are not covered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.errors import choose
from grokbook.models import fast
from grokbook.models.taps import Dropout, Tap, untouched

if TYPE_CHECKING:
    from jaxtyping import Float, Int, Shaped

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
_NORMS = {
    "layer": lambda width, affine: nn.LayerNorm(width, elementwise_affine=affine),
    "rms": lambda width, affine: nn.RMSNorm(width, elementwise_affine=affine),
    "batch": lambda width, affine: nn.BatchNorm1d(width, affine=affine),
}
HEAD_NORMS = {name: _NORMS[name] for name in ("batch", "layer")}


class OneHotLinear(nn.Linear):
    """A linear layer on concatenated one-hots, given as tokens (batch, positions).

    Its weights are those of nn.Linear(positions * vocabulary, width).
    """

    def __init__(self, positions: int, vocabulary: int, width: int, *, bias: bool):
        super().__init__(positions * vocabulary, width, bias=bias)
        self.positions, self.vocabulary = positions, vocabulary

    def forward(
        self, tokens: Int[Tensor, "batch positions"]
    ) -> Float[Tensor, "batch width"]:
        if fast.enabled():
            offsets = torch.arange(self.positions, device=tokens.device)
            columns = tokens + self.vocabulary * offsets
            out = fast.gather_sum(self.weight.T.contiguous(), columns)
            return out if self.bias is None else out + self.bias
        classes = torch.arange(self.vocabulary, device=tokens.device)
        one_hot = (tokens[..., None] == classes).flatten(-2)
        return F.linear(one_hot.to(self.weight.dtype), self.weight, self.bias)


class MLP(nn.Module):
    """Fully connected network of any depth and width.

    Tokens (batch, positions) if ``vocabulary`` is given, else floats (batch, features)
    or (batch, ...) with as many entries -> logits (batch, classes).
    ``norm``, one of None, "layer", "rms" and "batch", acts on every hidden
    pre-activation and ``head_norm``, one of None, "batch" and "layer", before the last
    layer; without ``affine`` they have no weights. ``head_bias``, of the last layer, is
    ``bias`` unless given. ``dropout`` follows each activation. ``embedding``: tokens
    become rows, that wide, of one learned table N(0, 1) for all positions.
    ``initialisation``: a name of STARTS, see the functions. ValueError for other names.

    Taps: ``pre.k``, what the activation of layer k reads, and ``hidden.k``, what it
    makes of it, both (batch, width); ``features``, what the last layer reads.
    """

    layers: Any  # an nn.ModuleList of linear layers, whose elements have no type

    def __init__(
        self,
        classes: int,
        widths: tuple[int, ...] = (200, 200),
        *,
        vocabulary: int | None = None,
        positions: int = 2,
        features: int | None = None,
        bias: bool = True,
        head_bias: bool | None = None,
        activation: str = "relu",
        norm: str | None = None,
        head_norm: str | None = None,
        affine: bool = True,
        dropout: float = 0.0,
        embedding: int | None = None,
        initialisation: str = "torch",
    ):
        super().__init__()
        start = choose("initialisation", initialisation, STARTS)
        self.activation = choose("activation", activation, ACTIVATIONS)
        self.reads_tokens, self.embedding = vocabulary is not None, None
        sizes = [*widths, classes]
        first: nn.Module
        if features is not None and vocabulary is None:
            first = fast.Linear(features, sizes[0], bias=bias)
        elif features is not None or vocabulary is None:
            raise ValueError("an MLP takes either vocabulary= (tokens) or features=")
        elif embedding is None:
            first = OneHotLinear(positions, vocabulary, sizes[0], bias=bias)
        else:
            self.embedding = nn.Parameter(torch.randn(vocabulary, embedding))
            first = fast.Linear(positions * embedding, sizes[0], bias=bias)
        biases = [bias] * len(widths)
        biases[-1] = bias if head_bias is None else head_bias
        pairs = zip(sizes, sizes[1:], biases, strict=False)
        rest = [fast.Linear(a, b, bias=has_bias) for a, b, has_bias in pairs]
        self.layers = nn.ModuleList([first, *rest])
        self.norms = self.head_norm = None
        if norm is not None:
            of_width = choose("norm", norm, _NORMS)
            self.norms = nn.ModuleList(of_width(width, affine) for width in widths)
        if head_norm is not None:
            of_width = choose("head norm", head_norm, HEAD_NORMS)
            self.head_norm = of_width(sizes[-2], affine)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in widths)
        with torch.no_grad():
            start(self, positions)

    def places(self) -> tuple[str, ...]:
        depth = range(len(self.layers) - 1)
        layers = [f"{name}.{k}" for k in depth for name in ("pre", "hidden")]
        return (*layers, "features")

    def forward(
        self, x: Shaped[Tensor, " batch *features"], tap: Tap | None = None
    ) -> Float[Tensor, "batch classes"]:
        tap = tap or untouched
        if self.embedding is not None:
            x = F.embedding(x, self.embedding)
        if self.embedding is not None or not self.reads_tokens:
            x = x.flatten(1)
        *hidden, head = self.layers
        for k, layer in enumerate(hidden):
            pre = layer(x)
            pre = pre if self.norms is None else self.norms[k](pre)
            x = tap(f"hidden.{k}", self.activation(tap(f"pre.{k}", pre)))
            x = self.dropouts[k](x)
        x = x if self.head_norm is None else self.head_norm(x)
        return head(tap("features", x))


def _start_torch(_model: MLP, _positions: int) -> None:
    """U(-1/sqrt n, 1/sqrt n) for n inputs, weights and biases alike."""


def _start_he(model: MLP, _positions: int) -> None:
    """Weights N(0, 2 / n) for n inputs, biases 0 [He et al. 2015]."""
    for layer in model.layers:
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if layer.bias is not None:
            layer.bias.zero_()


def _start_unit(model: MLP, positions: int) -> None:
    """As "he", but pre-activations of one-hots start with variance 1.

    Of the entries that the first layer reads only one for every position is not 0.
    """
    _start_he(model, positions)
    if model.reads_tokens and model.embedding is None:
        nn.init.normal_(model.layers[0].weight, std=positions**-0.5)


STARTS = {"torch": _start_torch, "he": _start_he, "unit": _start_unit}
