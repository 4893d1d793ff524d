"""A fully connected network on tokens, features or images; and features alone.

    x_0 = input,   x_k = relu(norm(W_k x_{k-1} + b_k)),   logits = W x_K + b

Prieto et al. 2025 (section 3.1) have two layers of 200 units on concatenated one-hots
and no norm. Norms and dropout are among the regularisers that Tiwari et al. 2026
compare (Table 4), the norm before the last layer is a control of Liu et al. 2026.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.errors import choose
from claimbook.protocol import Tap, untouched
from grokbook.models import fast

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
# PyTorch's; N(0, 2 / n) for n inputs [He et al. 2015]; the same, but one-hots give
# pre-activations of variance 1
STARTS = ("torch", "he", "unit")
NORMS = {
    "layer": lambda width, affine: nn.LayerNorm(width, elementwise_affine=affine),
    "rms": lambda width, affine: nn.RMSNorm(width, elementwise_affine=affine),
    "batch": lambda width, affine: nn.BatchNorm1d(width, affine=affine),
}


class OneHotLinear(nn.Linear):
    """nn.Linear(positions * vocabulary, width) on concatenated one-hots of tokens."""

    def __init__(self, positions: int, vocabulary: int, width: int, *, bias: bool):
        super().__init__(positions * vocabulary, width, bias=bias)
        self.positions, self.vocabulary = positions, vocabulary

    def forward(self, tokens: Tensor) -> Tensor:
        if fast.now.shortcuts:
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
    or (batch, ...) with as many entries -> logits (batch, classes). ``norm``, of NORMS,
    acts on every hidden pre-activation and ``head_norm`` before the last layer; without
    ``affine`` they have no weights. ``head_bias``, of the last layer, is ``bias``
    unless given. ``dropout`` follows each activation. ``embedding``: tokens become
    rows, that wide, of one learned table N(0, 1). ValueError for unknown names.

    Taps: ``pre.k``, what the activation of layer k reads, and ``hidden.k``, what it
    makes of it, both (batch, width); ``features``, what the last layer reads.
    """

    layers: Any  # an nn.ModuleList of linear layers, whose elements have no type

    def __init__(
        self,
        classes: int,
        widths: tuple[int, ...] = (200, 200),
        *,
        vocabulary: int = 0,
        positions: int = 2,
        features: int = 0,
        bias: bool = True,
        head_bias: bool | None = None,
        norm: str | None = None,
        head_norm: str | None = None,
        affine: bool = True,
        dropout: float = 0.0,
        embedding: int | None = None,
        initialisation: str = "torch",
    ):
        super().__init__()
        if not vocabulary and not features:
            raise ValueError("an MLP takes either vocabulary= (tokens) or features=")
        self.embedding = None
        if embedding:
            self.embedding = nn.Parameter(torch.randn(vocabulary, embedding))
            features = positions * embedding
        sizes = [*widths, classes]
        if features:
            first: nn.Module = fast.Linear(features, sizes[0], bias=bias)
        else:
            first = OneHotLinear(positions, vocabulary, sizes[0], bias=bias)
        biases = [*(bias for _ in widths[1:]), bias if head_bias is None else head_bias]
        pairs = zip(sizes, sizes[1:], biases, strict=False)
        rest = [fast.Linear(a, b, bias=has_bias) for a, b, has_bias in pairs]
        self.layers = nn.ModuleList([first, *rest])
        self.norms = self.head_norm = None
        if norm:
            of_width = choose("norm", norm, NORMS)
            self.norms = nn.ModuleList(of_width(width, affine) for width in widths)
        if head_norm:
            self.head_norm = choose("head norm", head_norm, NORMS)(widths[-1], affine)
        self.dropout = nn.Dropout(dropout)
        places = [f"{of}.{k}" for k in range(len(widths)) for of in ("pre", "hidden")]
        self.places = (*places, "features")
        with torch.no_grad():
            self._start(choose("initialisation", initialisation, STARTS), positions)

    def _start(self, name: str, positions: int) -> None:
        for layer in () if name == "torch" else self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                layer.bias.zero_()
        # of the one-hots that the first layer reads one for every position is not 0
        if name == "unit" and isinstance(self.layers[0], OneHotLinear):
            nn.init.normal_(self.layers[0].weight, std=positions**-0.5)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        tap = tap or untouched
        *hidden, head = self.layers
        if self.embedding is not None:
            x = F.embedding(x, self.embedding)
        if not isinstance(self.layers[0], OneHotLinear):
            x = x.flatten(1)
        for k, layer in enumerate(hidden):
            pre = layer(x)
            pre = pre if self.norms is None else self.norms[k](pre)
            x = self.dropout(tap(f"hidden.{k}", F.relu(tap(f"pre.{k}", pre))))
        x = x if self.head_norm is None else self.head_norm(x)
        return head(tap("features", x))


class FreeFeatures(nn.Module):
    """Every training row has features of its own: logits_i = W relu(A_i).

    The theory of Liu et al. 2026 (Theorem 7) is about it; they do not train one.
    Numbers of rows (batch,) or (batch, 1) int64 -> logits (batch, classes), parameters
    A (rows, width) ~ N(0, 1) and W (classes, width) ~ N(0, 1/width). Tap: ``features``
    (batch, width), the input of W.
    """

    def __init__(self, classes: int, *, rows: int, width: int):
        super().__init__()
        self.places = ("features",)
        self.A = nn.Parameter(torch.randn(rows, width))
        self.W = nn.Parameter(torch.randn(classes, width) / math.sqrt(width))

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        features = F.relu(fast.gather(self.A, x.flatten()))
        return fast.linear((tap or untouched)("features", features), self.W)
