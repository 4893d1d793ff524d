"""A fully connected network on tokens, features or images; and one of free features.

    x_0 = input,   x_k = relu(norm(W_k x_{k-1} + b_k)),   logits = W x_K + b

Prieto et al. (2025, section 3.1) have two layers of 200 units on concatenated one-hots
and no norm. Norms and dropout are among the regularisers that Tiwari et al. (2026)
compare (Table 4). The norm before the last layer is a control of Liu et al. (2026).
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
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
# How weights are drawn. "torch": PyTorch's default. "he": N(0, 2 / n) for n inputs [He
# et al. 2015]. "unit": as "he", but one-hots give pre-activations of variance 1.
STARTS = ("torch", "he", "unit")
NORMS: dict[str, Callable[..., nn.Module]] = {
    "layer": lambda width, affine: nn.LayerNorm(width, elementwise_affine=affine),
    "rms": lambda width, affine: nn.RMSNorm(width, elementwise_affine=affine),
    "batch": lambda width, affine: nn.BatchNorm1d(width, affine=affine),
}


def optional_norm(
    what: str, name: str | None, known: Mapping[str, Callable], *arguments: Any
) -> nn.Module:
    """Return a new norm, the module ``known[name](*arguments)``; the identity for None.

    An empty name counts as None. Raises UnknownName for one that is not in ``known``:
    "unknown norm 'x'", where "norm" is ``what``.
    """
    if not name:
        return nn.Identity()
    return choose(what, name, known)(*arguments)


class OneHotLinear(nn.Linear):
    """nn.Linear(positions * vocabulary, width) on concatenated one-hots of tokens.

    It maps tokens (batch, positions) to (batch, width). Neither tokens nor their number
    is checked: with shortcuts a token from ``vocabulary`` on takes the weight of a
    later position, if there is one, and a single token stands at every position.
    """

    def __init__(self, positions: int, vocabulary: int, width: int, *, bias: bool):
        super().__init__(positions * vocabulary, width, bias=bias)
        self.positions, self.vocabulary = positions, vocabulary

    def forward(self, tokens: Tensor) -> Tensor:
        """Return W onehots + b (batch, width) of tokens (batch, positions)."""
        if fast.now.shortcuts:
            positions = torch.arange(self.positions, device=tokens.device)
            # columns (batch, positions) of the weight, whose sum is the output
            columns = tokens + self.vocabulary * positions
            output = fast.gather_sum(self.weight.T.contiguous(), columns)
            return output if self.bias is None else output + self.bias
        vocabulary = torch.arange(self.vocabulary, device=tokens.device)
        # (batch, positions * vocabulary)
        one_hot = (tokens[..., None] == vocabulary).flatten(-2)
        return F.linear(one_hot.to(self.weight.dtype), self.weight, self.bias)


class MLP(nn.Module):
    """A fully connected network of any depth and width, with ReLU.

    With ``vocabulary`` it maps tokens (batch, positions) to logits (batch, classes);
    with ``features`` its input is floats (batch, features), or (batch, ...) with as
    many entries. ``widths`` are those of the hidden layers, of which there may be none.
    ``embedding`` is the width of a learned table N(0, 1) that replaces the one-hots of
    tokens. ``head_bias`` says whether the last layer has a bias, if that differs from
    ``bias``. ``norm`` is the kind of norm before every activation and
    ``head_norm`` of that before the last layer, both keys of ``NORMS``; they have
    weights if ``affine``. ``dropout`` is the rate of dropout after each activation.
    ``initialisation`` is one of ``STARTS``. Raises ValueError for unknown names (but
    ``norm`` is not looked at without hidden layers), for both or none of ``vocabulary``
    and ``features``, and for an ``embedding`` of features.

    Taps of layer k are ``pre.k`` before and ``hidden.k`` after its activation, both
    (batch, width). The last tap, ``features``, is the input of the last layer.
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
        if bool(vocabulary) == bool(features):
            raise ValueError("an MLP takes either vocabulary= (tokens) or features=")
        if embedding and features:
            raise ValueError("embedding= is that of tokens, and takes vocabulary=")
        self.embedding = None
        if embedding:
            self.embedding = nn.Parameter(torch.randn(vocabulary, embedding))
            features = positions * embedding
        sizes = [*widths, classes]  # numbers of outputs, layer by layer
        # of the first layer too, if it is the last
        head_bias = bias if head_bias is None else head_bias
        biases = [bias] * len(widths) + [head_bias]
        if features:  # given, or of an embedding
            first: nn.Module = fast.Linear(features, sizes[0], bias=biases[0])
        else:
            first = OneHotLinear(positions, vocabulary, sizes[0], bias=biases[0])
        self.layers = nn.ModuleList([first])
        for (inputs, outputs), has_bias in zip(
            pairwise(sizes), biases[1:], strict=True
        ):
            self.layers.append(fast.Linear(inputs, outputs, bias=has_bias))
        self.norms = nn.ModuleList(
            optional_norm("norm", norm, NORMS, width, affine) for width in widths
        )
        self.head_norm = optional_norm(
            "head norm", head_norm, NORMS, self.layers[-1].in_features, affine
        )
        self.dropout = nn.Dropout(dropout)
        taps = [f"{site}.{k}" for k in range(len(widths)) for site in ("pre", "hidden")]
        self.places = (*taps, "features")
        with torch.no_grad():
            self._start(choose("initialisation", initialisation, STARTS), positions)

    def _start(self, name: str, positions: int) -> None:
        """Draw the weights anew as ``name``, one of ``STARTS``, says.

        "torch" keeps PyTorch's. An ``embedding`` stays as it is drawn. Biases become 0.
        """
        if name == "torch":
            return
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                layer.bias.zero_()
        # each position has a single 1, so a pre-activation sums ``positions`` weights
        if name == "unit" and isinstance(self.layers[0], OneHotLinear):
            nn.init.normal_(self.layers[0].weight, std=positions**-0.5)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits (batch, classes) of tokens or features x, as the class says.

        ``tap(name, x)`` is called at each of ``places`` and may return another x.
        """
        is_tapped = tap is not None
        tap = tap or untouched
        *hidden, head = self.layers
        if self.embedding is not None:
            x = fast.embedding(self.embedding, x)
        if not isinstance(self.layers[0], OneHotLinear):
            x = x.flatten(1)  # (batch, features)
        for k, layer in enumerate(hidden):
            pre = tap(f"pre.{k}", self.norms[k](layer(x)))
            # not in place if a tap may have kept what is before the activation
            activation = F.relu(pre, inplace=not is_tapped)
            x = self.dropout(tap(f"hidden.{k}", activation))
        return head(tap("features", self.head_norm(x)))


class FreeFeatures(nn.Module):
    """A model in which every training row i has free features: logits_i = W relu(A_i).

    It maps row indices (batch,) or (batch, 1) int64 to logits (batch, classes). Its
    parameters are A (rows, width) ~ N(0, 1) and W (classes, width) ~ N(0, 1/width). The
    only tap is ``features`` (batch, width), the input of W. Theorem 7 of Liu et al.
    2026 is about this model, which they do not train.
    """

    def __init__(self, classes: int, *, rows: int, width: int):
        super().__init__()
        self.places = ("features",)
        self.A = nn.Parameter(torch.randn(rows, width))
        self.W = nn.Parameter(torch.randn(classes, width) / math.sqrt(width))

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits (batch, classes) of row indices x, (batch,) or (batch, 1)."""
        features = F.relu(fast.gather(self.A, x.flatten()))
        return fast.linear((tap or untouched)("features", features), self.W)
