"""One transformer for the four papers; its ``Layout`` says which.

    x_0 = embedding[token] + position
    y   = x + attention(norm x),   x' = y + mlp(norm y)             in every block
    logits = unembedding(norm x')

``Transformer`` as it stands is the network without norms of Nanda et al. 2023 [Prieto
et al. 2025, Fig. 5c]. Options give PyTorch's post-norm encoder layer with dropout
[Prieto's code, Fig. 6a], norms at any of five positions with the start of Singh et al.
2026, ``gpt2`` of Radford et al. 2019 [Prieto, Table 1], the ``decoder`` of Liu et al.
2026 [Table 4], and what Tiwari et al. 2026 use: rotary positions [Su et al. 2021],
gated layers [Shazeer 2020], norms on queries and keys. Caches for generation and
cross-attention are not covered.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.errors import choose
from grokbook.losses import stablemax_transform
from grokbook.models import fast
from grokbook.models.fast import Linear
from grokbook.models.mlp import ACTIVATIONS
from grokbook.models.taps import Dropout, Tap, untouched

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from grokbook.shapes import Activations, Queries

ATTENTIONS = ("softmax", "stablemax")
DROPOUT_SITES = ("embedding", "attention", "attention_out", "hidden", "mlp_out")
NORM_POSITIONS = ("query_key", "value", "mlp", "post_attention", "post_mlp")
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
READS = ("last", "all")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The options of a transformer; ValueError for those that contradict each other."""

    vocabulary: int
    positions: int = 2
    depth: int = 1
    width: int = 128
    heads: int = 4
    hidden: tuple[int, ...] = (512,)  # layers of a block's MLP
    norms: tuple[str, ...] = ()  # any of NORM_POSITIONS
    norm: str = "layer"  # the kind of all norms, of NORMS
    norm_eps: float = 1e-5
    affine: bool = True  # whether norms have weights
    norm_bias: bool = True  # and layer norms shifts
    final_norm: bool = False  # before the unembedding
    query_key_norm: bool = False  # on every head's queries and keys
    learned_positions: bool = True
    rotary: float = 0.0  # share of every head that turns by its position
    causal: bool = False
    attention: str = "softmax"  # or s(x) of StableMax in place of exp(x)
    joint: bool = False  # queries, keys and values from one matrix
    bias: bool = False
    mlp_bias: bool | None = None  # ``bias`` unless given
    dropout: float = 0.0
    dropout_at: tuple[str, ...] = DROPOUT_SITES[1:]
    activation: str = "relu"
    gated: bool = False  # hidden layer times a second one: SwiGLU where "silu"
    tied: bool = False  # the unembedding is the embedding
    read: str | int = "last"  # READS, or the last so many positions
    initialisation: str = "normal"  # of INITIALISATIONS, see the functions

    def __post_init__(self) -> None:
        for position in self.norms:
            choose("norm position", position, NORM_POSITIONS)
        for site in self.dropout_at:
            choose("dropout site", site, DROPOUT_SITES)
        choose("norm", self.norm, NORMS)
        choose("attention", self.attention, ATTENTIONS)
        choose("activation", self.activation, ACTIVATIONS)
        if not isinstance(self.read, int):
            choose("read", self.read, READS)
        elif self.read < 1:
            raise ValueError(f"read is {self.read}: read at least 1 position")
        if self.width % self.heads:
            raise ValueError(
                f"{self.heads} heads cannot share a width of {self.width}: choose a "
                "number of heads that divides it"
            )
        if self.joint and ("query_key" in self.norms) != ("value" in self.norms):
            raise ValueError(
                f"norms={self.norms} treat values apart from queries and keys, which "
                "one joint matrix cannot: name both of query_key and value, or neither"
            )
        if not 0 <= self.rotary <= 1 or self.head_width * self.rotary % 2:
            raise ValueError(
                f"rotary is {self.rotary}, but it is the share of a head, here "
                f"{self.head_width} wide, that turns, and pairs turn: choose a share "
                "between 0 and 1 with an even product"
            )
        if self.gated and len(self.hidden) != 1:
            raise ValueError(
                f"hidden={self.hidden}, but a gated MLP has one hidden layer"
            )

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def dropout_for(self, site: str) -> Dropout:
        return Dropout(self.dropout if site in self.dropout_at else 0.0)

    def new_norm(self, width: int | None = None) -> nn.Module:
        # an RMS norm has no bias and no option for one
        bias = {"bias": self.norm_bias} if self.norm == "layer" else {}
        size = width or self.width
        norm, affine = NORMS[self.norm], self.affine
        return norm(size, eps=self.norm_eps, elementwise_affine=affine, **bias)


class Attention(nn.Module):
    """Multi-head attention: every query takes a weighted mean of the values.

    The weights are softmax(q k / sqrt d) over positions, or the same with s(x) of
    StableMax in place of exp(x); a causal one leaves later positions out.
    """

    def __init__(self, layout: Layout, number: int = 0):
        super().__init__()
        width, bias = layout.width, layout.bias
        self.number, self.heads, self.joint = number, layout.heads, layout.joint
        self.causal, self.stable = layout.causal, layout.attention == "stablemax"
        self.turned = int(layout.head_width * layout.rotary)  # entries of a head
        self.root = math.sqrt(layout.head_width)
        self.scale = 1 / self.root
        if self.joint:
            self.inputs = Linear(width, 3 * width, bias=bias)
        else:
            self.query = Linear(width, width, bias=bias)
            self.key = Linear(width, width, bias=bias)
            self.value = Linear(width, width, bias=bias)
        self.output = Linear(width, width, bias=bias)
        self.head_norms = None
        if layout.query_key_norm:
            norms = {n: layout.new_norm(layout.head_width) for n in ("query", "key")}
            self.head_norms = nn.ModuleDict(norms)
        self.dropout = layout.dropout_for("attention")

    def projections(self) -> tuple[Linear, ...]:
        return (self.inputs,) if self.joint else (self.query, self.key, self.value)

    def forward(
        self, x_qk: Activations, x_v: Activations, first_query: int = 0, tap=untouched
    ) -> Queries:
        """What attention adds at the positions from ``first_query`` on."""
        query, key, value = self._read(x_qk, x_v, first_query)
        if self.head_norms is not None:
            query, key = self.head_norms["query"](query), self.head_norms["key"](key)
        if self.turned:
            query = rotate(query, first_query, self.turned)
            key = rotate(key, 0, self.turned)
        scores = query @ key.transpose(-1, -2)  # (batch, heads, queries, positions)
        # the two round apart, and there are records of both
        scores = scores / self.root if self.joint else scores * self.scale
        weights = tap(f"attention.{self.number}", self._weights(scores, first_query))
        mixed = self.dropout(weights) @ value
        return self.output(mixed.transpose(1, 2).flatten(-2))

    def _read(
        self, x_qk: Tensor, x_v: Tensor, first_query: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, each (batch, heads, positions, head width)."""
        if self.joint:
            query, key, value = self.inputs(x_qk).chunk(3, -1)
            query = query[:, first_query:] if first_query else query
        else:
            query = self.query(x_qk[:, first_query:] if first_query else x_qk)
            key, value = self.key(x_qk), self.value(x_v)
        return tuple(
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (query, key, value)
        )

    def _weights(self, scores: Tensor, first_query: int) -> Tensor:
        if self.causal:
            ones = scores.new_ones(scores.shape[-2:], dtype=torch.bool)
            later = ones.triu(first_query + 1)
        if self.stable:
            weights = stablemax_transform(scores)
            weights = weights.masked_fill(later, 0) if self.causal else weights
            return weights / weights.sum(-1, keepdim=True)
        scores = scores.masked_fill(later, -math.inf) if self.causal else scores
        return scores.softmax(-1)


def rotate(
    x: Float[Tensor, "*batch positions width"],
    first: int = 0,
    turned: int | None = None,
) -> Float[Tensor, "*batch positions width"]:
    """Rotary positions: entries j and j + n/2 turn by t / 10000^(2j/n).

    t is the position, ``first`` that of the first row; n the number of leading entries
    that turn, all unless ``turned`` is given. A product of a query at s and a key at t
    then depends on s - t alone [Su et al. 2021, eq. 34].
    """
    positions, width = x.shape[-2:]
    size = width if turned is None else turned
    # bfloat16 has no number between 256 and 258: angles are never narrower than float32
    exact = torch.promote_types(x.dtype, torch.float32)
    pair = torch.arange(0, size, 2, dtype=exact, device=x.device) / size
    place = torch.arange(first, first + positions, dtype=exact, device=x.device)
    angle = place[:, None] * 10_000.0**-pair
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :size].chunk(2, -1)
    parts = [a * cos - b * sin, a * sin + b * cos, x[..., size:]]
    return torch.cat(parts, -1).to(x.dtype)


class Block(nn.Module):
    """Attention and MLP with residual connections and norms where asked for."""

    def __init__(self, layout: Layout, number: int = 0):
        super().__init__()
        self.number, self.positions = number, layout.norms
        self.attention = Attention(layout, number)
        sizes = [layout.width, *layout.hidden, layout.width]
        bias = layout.bias if layout.mlp_bias is None else layout.mlp_bias
        pairs = zip(sizes, sizes[1:], strict=False)
        self.mlp = nn.ModuleList(Linear(a, b, bias=bias) for a, b in pairs)
        self.up = Linear(sizes[0], sizes[1], bias=bias) if layout.gated else None
        # query, key and value share one norm, as in every paper here
        owners = dict.fromkeys(_norm_owner(position) for position in layout.norms)
        self.norms = nn.ModuleDict({owner: layout.new_norm() for owner in owners})
        self.activation = ACTIVATIONS[layout.activation]
        self.dropout_attention_out = layout.dropout_for("attention_out")
        hidden = [layout.dropout_for("hidden") for _ in layout.hidden]
        self.dropout_hidden = nn.ModuleList(hidden)
        self.dropout_mlp_out = layout.dropout_for("mlp_out")

    def norm(self, position: str, x: Tensor) -> Tensor:
        return self.norms[_norm_owner(position)](x) if position in self.positions else x

    def forward(
        self, x: Activations, first_query: int = 0, tap: Tap = untouched
    ) -> Queries:
        x_qk = self.norm("query_key", x)
        x_v = x_qk if self.attention.joint else self.norm("value", x)
        attended = self.attention(x_qk, x_v, first_query, tap)
        return self.finish(x[:, first_query:] if first_query else x, attended, tap)

    def finish(self, x: Queries, attended: Queries, tap: Tap = untouched) -> Queries:
        """What the block makes of x once its attention has been computed."""
        k = self.number
        attended = tap(f"attention_out.{k}", attended)
        x = self.norm("post_attention", x + self.dropout_attention_out(attended))
        hidden = tap(f"mlp_in.{k}", self.norm("mlp", x))
        written = tap(f"mlp_out.{k}", self._mlp(hidden, tap))
        x = self.norm("post_mlp", x + self.dropout_mlp_out(written))
        return tap(f"residual.{k}", x)

    def _mlp(self, x: Tensor, tap: Tap) -> Tensor:
        *layers, last = self.mlp
        dropouts = [*self.dropout_hidden]
        for place, layer, dropout in zip(self._pre(), layers, dropouts, strict=True):
            hidden = self.activation(tap(place, layer(x)))
            x = dropout(hidden if self.up is None else hidden * self.up(x))
        return last(x)

    def _pre(self) -> list[str]:
        further = range(1, len(self.mlp) - 1)
        every = [f"pre.{self.number}", *(f"pre.{self.number}.{j}" for j in further)]
        return every[: len(self.mlp) - 1]

    def places(self) -> tuple[str, ...]:
        k = self.number
        before = (f"attention.{k}", f"attention_out.{k}", f"mlp_in.{k}")
        return (*before, *self._pre(), f"mlp_out.{k}", f"residual.{k}")


def _norm_owner(position: str) -> str:
    return "attention" if position in ("query_key", "value") else position


class Transformer(nn.Module):
    """Transformer read at its last position, at the last n or at all of them.

    ``options`` are those of ``Layout``. Input: tokens (batch, positions); output:
    logits (batch, classes), (batch, n, classes) with ``read=n``, or (batch, positions,
    classes) with ``read="all"``.

    Taps, for block k: ``attention.k`` (batch, heads, queries, positions),
    ``attention_out.k`` and ``mlp_out.k`` before dropout, ``mlp_in.k`` after its norm,
    ``pre.k`` before the activation (``pre.k.j`` in further hidden layers) and
    ``residual.k`` after the block, all (batch, positions, width or hidden); and
    ``features``, what the unembedding reads.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type

    def __init__(self, classes: int, **options: Any):
        super().__init__()
        self.layout = layout = Layout(**options)
        start = choose("initialisation", layout.initialisation, INITIALISATIONS)
        if layout.tied and classes != layout.vocabulary:
            raise ValueError(
                f"{classes} classes and a vocabulary of {layout.vocabulary}, but a "
                "tied unembedding has one row for every token: make them equal"
            )
        width, self.read = layout.width, layout.read
        self.embedding = nn.Parameter(torch.randn(layout.vocabulary, width))
        self.position = None
        if layout.learned_positions:
            self.position = nn.Parameter(torch.randn(layout.positions, width))
        self.dropout = layout.dropout_for("embedding")
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(layout.depth))
        self.norm = layout.new_norm() if layout.final_norm else None
        self.unembedding = None
        if not layout.tied:
            self.unembedding = Linear(width, classes, bias=layout.bias)
        with torch.no_grad():
            start(self)

    def places(self) -> tuple[str, ...]:
        return (*(p for block in self.blocks for p in block.places()), "features")

    def embed(self, tokens: Int[Tensor, "batch positions"]) -> Activations:
        x = F.embedding(tokens, self.embedding)
        if self.position is not None:
            x = x + self.position[: tokens.shape[-1]]
        return self.dropout(x)

    def forward(
        self, tokens: Int[Tensor, "batch positions"], tap: Tap | None = None
    ) -> Float[Tensor, "batch *positions classes"]:
        """Logits of tokens; with a tap every position is computed."""
        if tap is None and self.read == "last" and fast.enabled():
            x = fast.last_position(self, tokens)
        else:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x, 0, tap or untouched)
            if isinstance(self.read, int):
                x = x[:, -self.read :]
            elif self.read == "last":
                x = x[:, -1]
        x = x if self.norm is None else self.norm(x)
        features = (tap or untouched)("features", x)
        if self.unembedding is None:
            return fast.linear(features, self.embedding)
        return self.unembedding(features)


def _start_normal(model: Transformer) -> None:
    """Matrices N(0, 1/width), unembedding N(0, 1/vocabulary) [code of Nanda et al.]."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            is_last = name.startswith("unembedding")
            columns = model.layout.vocabulary if is_last else model.layout.width
            parameter.normal_(std=1 / math.sqrt(columns))


def _start_as_torch(model: Transformer) -> None:
    """Defaults of nn.TransformerEncoderLayer and nn.Embedding."""
    for block in model.blocks:
        _draw_projections(block.attention)
        _zero_biases([*block.attention.projections(), block.attention.output])


def _draw_projections(attention: Attention) -> None:
    # nn.MultiheadAttention draws query, key and value as one (3d, d) matrix
    for layer in attention.projections():
        bound = math.sqrt(6 / (4 * layer.in_features))
        layer.weight.uniform_(-bound, bound)


def _zero_biases(modules: Iterable[nn.Module]) -> None:
    for module in modules:
        if isinstance(module, Linear) and module.bias is not None:
            module.bias.zero_()


def _start_lecun(model: Transformer) -> None:
    """The start of Singh et al.'s code; the paper says "truncated normal".

    Embedding and unembedding N(0, 1/width), positions N(0, 0.02^2); query, key and
    value as torch draws them; other matrices N(0, 1/columns) cut at two standard
    deviations; their biases 0.
    """
    width = model.layout.width
    model.embedding.normal_(std=1 / math.sqrt(width))
    if model.position is not None:
        model.position.normal_(std=0.02)
    for block in model.blocks:
        _draw_projections(block.attention)
        gate = () if block.up is None else (block.up,)
        others = (block.attention.output, *block.mlp, *gate)
        for layer in others:
            std = 1 / math.sqrt(layer.in_features)
            nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
        _zero_biases(others)
    if model.unembedding is not None:
        model.unembedding.weight.normal_(std=1 / math.sqrt(width))


def _start_gpt2(model: Transformer) -> None:
    """Matrices N(0, 0.02^2), those that write into the residual stream smaller by
    sqrt(2 depth), biases 0 [Radford et al. 2019, section 2.3]."""
    last = len(model.layout.hidden)
    writers = ("attention.output.weight", f"mlp.{last}.weight")
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            shrink = math.sqrt(2 * len(model.blocks)) if name.endswith(writers) else 1
            parameter.normal_(std=0.02 / shrink)
        elif name.endswith("bias"):
            parameter.zero_()


def _start_xavier(model: Transformer) -> None:
    """Embedding N(0, 1/width), matrices N(0, 2 / (rows + columns)), biases 0.

    [Liu et al. 2026, Table 4]. In the code that they follow, of Stollenwerk et al.
    2026, what attention writes starts as in GPT-2, N(0, 0.02^2 / (2 depth)); so here.
    """
    model.embedding.normal_(std=1 / math.sqrt(model.layout.width))
    if model.position is not None:
        model.position.normal_(std=1 / math.sqrt(model.layout.width))
    for module in model.modules():
        if isinstance(module, Linear):
            nn.init.xavier_normal_(module.weight)
    _zero_biases(model.modules())
    for block in model.blocks:
        std = 0.02 / math.sqrt(2 * len(model.blocks))
        block.attention.output.weight.normal_(std=std)


INITIALISATIONS = {
    "normal": _start_normal,
    "torch": _start_as_torch,
    "lecun": _start_lecun,
    "gpt2": _start_gpt2,
    "xavier": _start_xavier,
}
# Of language models: norms before attention and MLP and a last one.
LANGUAGE = {
    "norms": ("query_key", "value", "mlp"),
    "final_norm": True,
    "causal": True,
    "joint": True,
    "read": "all",
}


def gpt2(
    vocabulary: int = 50_257,
    *,
    positions: int = 1024,
    width: int = 768,
    heads: int = 12,
    depth: int = 12,
    dropout: float = 0.1,
    attention: str = "softmax",
) -> Transformer:
    """GPT-2 [Radford et al. 2019], the language model of Prieto et al., Table 1.

    Tokens (batch, length) int64 -> logits of the next (batch, length, vocabulary).
    Learned positions, GELU in its tanh form, and an unembedding that is the embedding.
    The default sizes are GPT-2 small, 124 million weights.
    """
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        positions=positions,
        depth=depth,
        width=width,
        heads=heads,
        hidden=(4 * width,),
        attention=attention,
        bias=True,
        dropout=dropout,
        dropout_at=("embedding", "attention", "attention_out", "mlp_out"),
        activation="gelu_tanh",
        tied=True,
        initialisation="gpt2",
        **LANGUAGE,
    )


def decoder(
    vocabulary: int = 50_304,
    *,
    depth: int = 15,
    width: int = 640,
    heads: int = 4,
    hidden: int = 1792,
) -> Transformer:
    """The language model of Liu et al. 2026, Table 4, Figure 5.

    Tokens (batch, length) int64 -> logits of the next (batch, length, vocabulary), of
    any length. Norms without shifts, also on every head's queries and keys, half of
    whose entries turn; SwiGLU; an unembedding of its own; no bias. What the table
    leaves open is as in the code that the paper follows, of Stollenwerk et al. 2026:
    the default sizes are its "109M", 140.6 million with both embeddings, and its "16M",
    26.8 million, is depth 6, width 224, hidden 768.
    """
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        depth=depth,
        width=width,
        heads=heads,
        hidden=(hidden,),
        norm_bias=False,
        query_key_norm=True,
        learned_positions=False,
        rotary=0.5,
        activation="silu",
        gated=True,
        initialisation="xavier",
        **LANGUAGE,
    )


def without_norms(model: Transformer) -> Transformer:
    """A copy without the norms before attention and MLP, whose weights it keeps.

    For SR-train "no norms" as in the code of Singh et al.: call the copy with the
    weights of the original (``torch.func.functional_call``) and with F.normalize at the
    taps ``mlp_in.k``. Norms after attention or MLP and the last one stay.
    """
    plain = copy.deepcopy(model)
    left = tuple(p for p in model.layout.norms if p.startswith("post_"))
    plain.layout = replace(plain.layout, norms=left)
    for block in plain.blocks:
        block.positions = left
    return plain
