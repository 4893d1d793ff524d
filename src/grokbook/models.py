"""Networks of the four papers, each written for one network, without any training.

``MLP``          2 x 200 ReLU on concatenated one-hots [Prieto et al., section 3.1]
``Transformer``  one or more blocks; its options give
    the no-norm network of Nanda et al. with two hidden MLP matrices [Prieto, Fig. 5c],
    PyTorch's post-norm encoder layer with dropout [Prieto, official code, Fig. 6a],
    and layer norm or RMSNorm at any of five positions, with the start of Singh et al.

Every forward takes an optional ``capture`` dictionary and leaves named activations in
it. ``plain=True`` switches the exact shortcuts off (one-hot products written out, every
position computed); both forms agree to rounding, which a test checks in float64.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook import kernels

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "identity": lambda x: x}
NORM_POSITIONS = ("query_key", "value", "mlp", "post_attention", "post_mlp")
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
INITIALISATIONS = ("normal", "torch", "lecun")
UNIT_INPUTS = ("norms kept", "no norms")


class Linear(nn.Linear):
    """torch.nn.Linear whose product goes through ``kernels.linear``."""

    def forward(self, x: Tensor) -> Tensor:
        """x (..., in_features) -> (..., out_features)."""
        return kernels.linear(x, self.weight, self.bias)

    def activated(self, x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
        """activation(self(x)), in one pass where it is a ReLU."""
        if activation is F.relu:
            return kernels.linear(x, self.weight, self.bias, relu=True)
        return activation(self(x))


class OneHotLinear(nn.Linear):
    """A linear layer on concatenated one-hots, computed as a sum of weight columns.

    Weights are those of nn.Linear(positions * vocabulary, width), so a checkpoint fits
    either form.
    """

    def __init__(self, positions: int, vocabulary: int, width: int, *, bias: bool):
        super().__init__(positions * vocabulary, width, bias=bias)
        self.positions, self.vocabulary = positions, vocabulary
        self.plain = False

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (batch, positions) int64 -> (batch, width)."""
        if self.plain:
            one_hot = F.one_hot(tokens, self.vocabulary).flatten(-2)
            return kernels.linear(one_hot.to(self.weight.dtype), self.weight, self.bias)
        offsets = self.vocabulary * torch.arange(self.positions, device=tokens.device)
        out = kernels.gather_sum(self.weight.T.contiguous(), tokens + offsets)
        return out if self.bias is None else out + self.bias


class MLP(nn.Module):
    """Fully connected network with any depth and width.

    Input: tokens (batch, positions) if ``vocabulary`` is given, else floats (batch,
    features). Output: logits (batch, classes). PyTorch's default initialisation.
    """

    def __init__(
        self,
        classes: int,
        widths: tuple[int, ...] = (200, 200),
        *,
        vocabulary: int | None = None,
        positions: int = 2,
        features: int | None = None,
        bias: bool = True,
        activation: str = "relu",
        plain: bool = False,
    ):
        super().__init__()
        if (vocabulary is None) == (features is None):
            raise ValueError("an MLP takes either vocabulary= (tokens) or features=")
        sizes = [*widths, classes]
        if vocabulary is not None:
            first = OneHotLinear(positions, vocabulary, sizes[0], bias=bias)
            first.plain = plain
        else:
            first = Linear(features, sizes[0], bias=bias)
        rest = [Linear(a, b, bias=bias) for a, b in zip(sizes, sizes[1:], strict=False)]
        self.layers = nn.ModuleList([first, *rest])
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor, capture: dict | None = None) -> Tensor:
        for index, layer in enumerate(self.layers[:-1]):
            if capture is None and isinstance(layer, Linear):
                x = layer.activated(x, self.activation)
                continue
            pre = layer(x)
            x = self.activation(pre)
            if capture is not None:
                capture[f"pre.{index}"], capture[f"hidden.{index}"] = pre, x
        return self.layers[-1](x)


class Attention(nn.Module):
    """Multi-head attention on sequences of a few positions."""

    def __init__(
        self, width: int, heads: int, *, bias: bool, dropout: float, causal: bool
    ):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.scale = 1 / math.sqrt(width // heads)
        self.query, self.key, self.value, self.output = (
            Linear(width, width, bias=bias) for _ in range(4)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x_qk: Tensor, x_v: Tensor, first_query: int, capture: dict | None = None
    ) -> Tensor:
        """x_* (batch, positions, width) -> (batch, positions - first_query, width)."""
        query = self._split(self.query(x_qk[:, first_query:]))
        key, value = self._split(self.key(x_qk)), self._split(self.value(x_v))
        scores = query @ key.transpose(-1, -2)  # (batch, heads, queries, positions)
        return self._mix(scores, value, first_query, capture)

    def on_table(
        self, rows_qk: Tensor, rows_v: Tensor, tokens: Tensor, first_query: int
    ) -> Tensor:
        """The same from the distinct (position, token) rows of the first layer.

        rows_* (positions, vocabulary, width), tokens (batch, positions). A score
        depends on two tokens only, so it is looked up among vocabulary^2 of them.
        """
        positions, vocabulary, width = rows_qk.shape
        query = self.query(rows_qk[first_query:]).unflatten(-1, (self.heads, -1))
        key = self.key(rows_qk).unflatten(-1, (self.heads, -1))
        values = [
            kernels.gather(rows, column).unflatten(-1, (self.heads, -1))
            for rows, column in zip(self.value(rows_v), tokens.unbind(1), strict=True)
        ]
        mixed = []
        for q in range(first_query, positions):
            scores = []
            for k in range(q + 1 if self.causal else positions):
                table = torch.einsum("ahd,bhd->abh", query[q - first_query], key[k])
                pair = tokens[:, q] * vocabulary + tokens[:, k]
                scores.append(kernels.gather(table.flatten(0, 1), pair))
            # (positions, batch, heads): long rows for the softmax, no tiny products
            weights = self.dropout((torch.stack(scores) * self.scale).softmax(0))
            parts = [w[..., None] * v for w, v in zip(weights, values, strict=False)]
            mixed.append(sum(parts[1:], parts[0]).flatten(-2))
        return self.output(torch.stack(mixed, 1))

    def _split(self, x: Tensor) -> Tensor:
        """(batch, positions, width) -> (batch, heads, positions, head width)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _mix(
        self, scores: Tensor, value: Tensor, first_query: int, capture: dict | None
    ) -> Tensor:
        scores = scores * self.scale
        if self.causal:
            queries, positions = scores.shape[-2:]
            later = torch.ones(
                queries, positions, dtype=torch.bool, device=scores.device
            ).triu(first_query + 1)
            scores = scores.masked_fill(later, -math.inf)
        weights = scores.softmax(-1)
        if capture is not None:
            capture.setdefault("attention", []).append(weights)
        mixed = self.dropout(weights) @ value
        return self.output(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention and MLP with residual connections and norms where asked for."""

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: tuple[int, ...],
        *,
        norms: tuple[str, ...],
        norm: str,
        norm_eps: float,
        bias: bool,
        mlp_bias: bool,
        dropout: float,
        causal: bool,
        activation: str,
    ):
        super().__init__()
        self.attention = Attention(
            width, heads, bias=bias, dropout=dropout, causal=causal
        )
        sizes = [width, *hidden, width]
        self.mlp = nn.ModuleList(
            Linear(a, b, bias=mlp_bias) for a, b in zip(sizes, sizes[1:], strict=False)
        )
        # query, key and value share one norm, as in every paper here
        self.norms = nn.ModuleDict(
            {
                name: NORMS[norm](width, eps=norm_eps)
                for name in dict.fromkeys(_norm_owner(n) for n in norms)
            }
        )
        self.positions = norms
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def norm(self, position: str, x: Tensor) -> Tensor:
        """x with the norm of that position applied, or x if there is none."""
        return self.norms[_norm_owner(position)](x) if position in self.positions else x

    def forward(
        self,
        x: Tensor,
        first_query: int = 0,
        capture: dict | None = None,
        unit_input: str | None = None,
    ) -> Tensor:
        """x (batch, positions, width) -> (batch, positions - first_query, width)."""
        inputs = (x, x)
        if unit_input != "no norms":
            inputs = self.norm("query_key", x), self.norm("value", x)
        attended = self.attention(*inputs, first_query, capture)
        return self._finish(x[:, first_query:], attended, unit_input)

    def on_table(
        self,
        rows: Tensor,
        tokens: Tensor,
        first_query: int,
        unit_input: str | None = None,
    ) -> Tensor:
        """The same for a first layer: rows (positions, vocabulary, width)."""
        inputs = (rows, rows)
        if unit_input != "no norms":
            inputs = self.norm("query_key", rows), self.norm("value", rows)
        attended = self.attention.on_table(*inputs, tokens, first_query)
        residual = [
            kernels.gather(rows[k], tokens[:, k])
            for k in range(first_query, tokens.shape[1])
        ]
        return self._finish(torch.stack(residual, 1), attended, unit_input)

    def _finish(self, x: Tensor, attended: Tensor, unit_input: str | None) -> Tensor:
        x = self.norm("post_attention", x + self.dropout(attended))
        hidden = x if unit_input == "no norms" else self.norm("mlp", x)
        if unit_input is not None:
            hidden = F.normalize(hidden, dim=-1)
        for layer in self.mlp[:-1]:
            hidden = self.dropout(layer.activated(hidden, self.activation))
        return self.norm("post_mlp", x + self.dropout(self.mlp[-1](hidden)))


def _norm_owner(position: str) -> str:
    return "attention" if position in ("query_key", "value") else position


class Transformer(nn.Module):
    """Transformer read at its last position.

    Input: tokens (batch, positions); output: logits (batch, classes).
    ``initialisation``: "torch" (nn.TransformerEncoderLayer and nn.Embedding defaults),
    "normal" (every matrix N(0, 1/width), unembedding N(0, 1/vocabulary), as in the code
    of Nanda et al. 2023) or "lecun" (that of Singh et al. 2026, see the method).
    ``norms``: any of NORM_POSITIONS, each a ``norm`` of NORMS. ``mlp_bias`` is ``bias``
    unless given.
    """

    def __init__(
        self,
        classes: int,
        *,
        vocabulary: int,
        positions: int = 2,
        depth: int = 1,
        width: int = 128,
        heads: int = 4,
        hidden: tuple[int, ...] = (512,),
        norms: tuple[str, ...] = (),
        norm: str = "layer",
        norm_eps: float = 1e-5,
        learned_positions: bool = True,
        causal: bool = False,
        bias: bool = False,
        mlp_bias: bool | None = None,
        dropout: float = 0.0,
        activation: str = "relu",
        initialisation: str = "normal",
        plain: bool = False,
    ):
        super().__init__()
        for position in norms:
            _require("norm position", position, NORM_POSITIONS)
        _require("norm", norm, NORMS)
        _require("initialisation", initialisation, INITIALISATIONS)
        self.plain = plain
        self.embedding = nn.Parameter(torch.randn(vocabulary, width))
        self.position = (
            nn.Parameter(torch.randn(positions, width)) if learned_positions else None
        )
        self.blocks = nn.ModuleList(
            Block(
                width,
                heads,
                tuple(hidden),
                norms=tuple(norms),
                norm=norm,
                norm_eps=norm_eps,
                bias=bias,
                mlp_bias=bias if mlp_bias is None else mlp_bias,
                dropout=dropout,
                causal=causal,
                activation=activation,
            )
            for _ in range(depth)
        )
        self.unembedding = Linear(width, classes, bias=bias)
        with torch.no_grad():
            if initialisation == "normal":
                self._initialise_normal(width, vocabulary)
            elif initialisation == "torch":
                self._initialise_as_torch(width)
            else:
                self._initialise_lecun(width)

    def _initialise_normal(self, width: int, vocabulary: int) -> None:
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                columns = vocabulary if name.startswith("unembedding") else width
                parameter.normal_(std=1 / math.sqrt(columns))

    def _initialise_as_torch(self, width: int) -> None:
        for block in self.blocks:
            attention = block.attention
            self._draw_query_key_value(attention, width)
            for layer in (attention.query, attention.key, attention.value):
                if layer.bias is not None:
                    layer.bias.zero_()
            if attention.output.bias is not None:
                attention.output.bias.zero_()

    @staticmethod
    def _draw_query_key_value(attention: Attention, width: int) -> None:
        # nn.MultiheadAttention draws query, key and value as one (3d, d) matrix
        bound = math.sqrt(6 / (4 * width))
        for layer in (attention.query, attention.key, attention.value):
            layer.weight.uniform_(-bound, bound)

    def _initialise_lecun(self, width: int) -> None:
        """The start of Singh et al.'s code; the paper says "truncated normal".

        Embedding and unembedding N(0, 1/width), positions N(0, 0.02^2); query, key and
        value as torch draws them; other matrices N(0, 1/columns) cut at two standard
        deviations; biases 0.
        """
        self.embedding.normal_(std=1 / math.sqrt(width))
        if self.position is not None:
            self.position.normal_(std=0.02)
        for block in self.blocks:
            self._draw_query_key_value(block.attention, width)
            for layer in (block.attention.output, *block.mlp):
                std = 1 / math.sqrt(layer.in_features)
                nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
                if layer.bias is not None:
                    layer.bias.zero_()
        self.unembedding.weight.normal_(std=1 / math.sqrt(width))

    def forward(
        self,
        tokens: Tensor,
        capture: dict | None = None,
        unit_input: str | None = None,
    ) -> Tensor:
        """tokens (batch, positions) -> logits (batch, classes).

        ``capture`` receives "features" (batch, width), the input of the unembedding,
        and "attention", a list over blocks of (batch, heads, queries, positions); to
        have all queries, capturing computes every position. ``unit_input`` divides the
        input of every MLP by its length (SR-train, [Singh, section 4.1]): "norms kept"
        after the block's own norms, "no norms" with those before attention and MLP
        left out, as the official code does.
        """
        if unit_input is not None:
            _require("unit_input", unit_input, UNIT_INPUTS)
        *early, last = self.blocks
        positions = tokens.shape[1]
        is_plain = self.plain or capture is not None
        if is_plain:
            x = self.embedding[tokens]
            if self.position is not None:
                x = x + self.position
            for block in self.blocks:
                x = block(x, 0, capture, unit_input)
        else:
            end = positions - 1
            rows = self.embedding.expand(positions, -1, -1)
            if self.position is not None:
                rows = rows + self.position[:, None]
            if not early:
                x = last.on_table(rows, tokens, end, unit_input)
            else:
                x = early[0].on_table(rows, tokens, 0, unit_input)
                for block in early[1:]:
                    x = block(x, 0, None, unit_input)
                x = last(x, end, None, unit_input)
        features = x[:, -1]
        if capture is not None:
            capture["features"] = features
        return self.unembedding(features)


def _require(what: str, value: str, known) -> None:
    if value not in known:
        raise ValueError(f"unknown {what} {value!r}: use one of {', '.join(known)}")
