"""One transformer for the four papers; its options say which.

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.errors import choose
from grokbook.models import fast
from grokbook.models.fast import Linear
from grokbook.models.mlp import ACTIVATIONS
from grokbook.models.taps import Dropout, Tap, untouched

if TYPE_CHECKING:
    from jaxtyping import Float, Int

ATTENTIONS = ("softmax", "stablemax")
DROPOUT_SITES = ("embedding", "attention", "attention_out", "hidden", "mlp_out")
NORM_POSITIONS = ("query_key", "value", "mlp", "post_attention", "post_mlp")
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
READS = ("last", "all")


@dataclass(frozen=True)
class Layout:
    """What the blocks of a transformer have in common, as ``Transformer`` names it."""

    vocabulary: int
    positions: int
    width: int
    heads: int
    hidden: tuple[int, ...]
    norms: tuple[str, ...]
    norm: str
    norm_eps: float
    affine: bool
    norm_bias: bool
    causal: bool
    bias: bool
    mlp_bias: bool
    dropout: float
    dropout_at: tuple[str, ...]
    activation: str
    attention: str
    joint: bool
    rotary: bool | float
    gated: bool
    query_key_norm: bool

    def __post_init__(self) -> None:
        for position in self.norms:
            choose("norm position", position, NORM_POSITIONS)
        for site in self.dropout_at:
            choose("dropout site", site, DROPOUT_SITES)
        choose("norm", self.norm, NORMS)
        choose("attention", self.attention, ATTENTIONS)
        choose("activation", self.activation, ACTIVATIONS)
        if self.joint and ("query_key" in self.norms) != ("value" in self.norms):
            raise ValueError(
                f"norms={self.norms} treat values apart from queries and keys, which "
                "one joint matrix cannot: name both of query_key and value, or neither"
            )
        if not 0 <= self.rotary <= 1:
            raise ValueError(
                f"rotary is {self.rotary}, but it is the share of a head that turns: "
                "choose one between 0 and 1"
            )
        if self.head_width * self.rotary % 2:
            raise ValueError(
                f"rotary positions turn pairs, but a head is {self.head_width} wide "
                f"and a share of {self.rotary} turns: choose an even product"
            )
        if self.gated and len(self.hidden) != 1:
            raise ValueError(
                f"hidden={self.hidden}, but a gated MLP has one hidden layer"
            )

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def turned(self) -> int:
        """Entries of every query and key that rotary positions turn."""
        return int(self.head_width * self.rotary)

    def dropout_for(self, site: str) -> Dropout:
        """A module for this site."""
        return Dropout(self.dropout if site in self.dropout_at else 0.0)

    def new_norm(self, width: int | None = None) -> nn.Module:
        """A norm of the kind that all norms of this transformer are."""
        # an RMS norm has no bias and no option for one
        bias = {"bias": self.norm_bias} if self.norm == "layer" else {}
        return NORMS[self.norm](
            width or self.width,
            eps=self.norm_eps,
            elementwise_affine=self.affine,
            **bias,
        )


class Attention(nn.Module):
    """Multi-head attention: every query takes a weighted mean of the values.

    The weights are softmax(q k / sqrt d) over positions, or the same with s(x) of
    StableMax in place of exp(x); a causal one leaves later positions out.
    """

    def __init__(self, layout: Layout, number: int = 0):
        super().__init__()
        width, bias = layout.width, layout.bias
        self.number, self.heads, self.joint = number, layout.heads, layout.joint
        self.causal, self.turned = layout.causal, layout.turned
        self.stable = layout.attention == "stablemax"
        self.root = math.sqrt(layout.head_width)
        self.scale = 1 / self.root
        if self.joint:
            self.inputs = Linear(width, 3 * width, bias=bias)
        else:
            self.query, self.key, self.value = (
                Linear(width, width, bias=bias) for _ in range(3)
            )
        self.output = Linear(width, width, bias=bias)
        self.head_norms = None
        if layout.query_key_norm:
            size = layout.head_width
            norms = {"query": layout.new_norm(size), "key": layout.new_norm(size)}
            self.head_norms = nn.ModuleDict(norms)
        self.dropout = layout.dropout_for("attention")

    def projections(self) -> tuple[Linear, ...]:
        """The layers that make queries, keys and values."""
        return (self.inputs,) if self.joint else (self.query, self.key, self.value)

    def forward(
        self,
        x_qk: Float[Tensor, "batch positions width"],
        x_v: Float[Tensor, "batch positions width"],
        first_query: int = 0,
        tap: Tap = untouched,
    ) -> Float[Tensor, "batch queries width"]:
        """x_* (batch, positions, width) -> (batch, positions - first_query, width)."""
        query, key, value = self._read(x_qk, x_v, first_query)
        if self.head_norms is not None:
            query, key = self.head_norms["query"](query), self.head_norms["key"](key)
        if self.turned:
            query = rotate(query, first_query, turned=self.turned)
            key = rotate(key, turned=self.turned)
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
        later = None
        if self.causal:
            later = torch.ones(
                scores.shape[-2:], dtype=torch.bool, device=scores.device
            ).triu(first_query + 1)
        if self.stable:
            weights = fast.stablemax_transform(scores)
            if later is not None:
                weights = weights.masked_fill(later, 0)
            return weights / weights.sum(-1, keepdim=True)
        if later is not None:
            scores = scores.masked_fill(later, -math.inf)
        return scores.softmax(-1)


def rotate(
    x: Float[Tensor, "*batch positions width"],
    first: int = 0,
    *,
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
        pairs = zip(sizes, sizes[1:], strict=False)
        self.mlp = nn.ModuleList(Linear(a, b, bias=layout.mlp_bias) for a, b in pairs)
        self.up = None
        if layout.gated:
            self.up = Linear(sizes[0], sizes[1], bias=layout.mlp_bias)
        # query, key and value share one norm, as in every paper here
        owners = dict.fromkeys(_norm_owner(position) for position in layout.norms)
        self.norms = nn.ModuleDict({owner: layout.new_norm() for owner in owners})
        self.activation = ACTIVATIONS[layout.activation]
        self.dropout_attention_out = layout.dropout_for("attention_out")
        self.dropout_hidden = nn.ModuleList(
            layout.dropout_for("hidden") for _ in layout.hidden
        )
        self.dropout_mlp_out = layout.dropout_for("mlp_out")

    def norm(self, position: str, x: Tensor) -> Tensor:
        """x with the norm of that position applied, or x if there is none."""
        return self.norms[_norm_owner(position)](x) if position in self.positions else x

    def forward(
        self,
        x: Float[Tensor, "batch positions width"],
        first_query: int = 0,
        tap: Tap = untouched,
    ) -> Float[Tensor, "batch queries width"]:
        """x (batch, positions, width) -> (batch, positions - first_query, width)."""
        x_qk = self.norm("query_key", x)
        x_v = x_qk if self.attention.joint else self.norm("value", x)
        attended = self.attention(x_qk, x_v, first_query, tap)
        return self.finish(x[:, first_query:] if first_query else x, attended, tap)

    def finish(
        self,
        x: Float[Tensor, "batch queries width"],
        attended: Float[Tensor, "batch queries width"],
        tap: Tap = untouched,
    ) -> Float[Tensor, "batch queries width"]:
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
        for place, layer, dropout in zip(
            _pre(self.number, len(layers)), layers, self.dropout_hidden, strict=True
        ):
            hidden = self.activation(tap(place, layer(x)))
            if self.up is not None:
                hidden = hidden * self.up(x)
            x = dropout(hidden)
        return last(x)

    def places(self) -> tuple[str, ...]:
        """Names of the taps of this block."""
        names = ("attention", "attention_out", "mlp_in", "mlp_out", "residual")
        first, rest = [f"{name}.{self.number}" for name in names[:3]], names[3:]
        hidden = _pre(self.number, len(self.mlp) - 1)
        return (*first, *hidden, *(f"{name}.{self.number}" for name in rest))


def _pre(number: int, layers: int) -> list[str]:
    return [f"pre.{number}", *(f"pre.{number}.{j}" for j in range(1, layers))][:layers]


def _norm_owner(position: str) -> str:
    return "attention" if position in ("query_key", "value") else position


class Transformer(nn.Module):
    """Transformer read at its last position, at the last n or at all of them.

    Input: tokens (batch, positions); output: logits (batch, classes), (batch, n,
    classes) with ``read=n``, or (batch, positions, classes) with ``read="all"``. Blocks
    have ``hidden`` layers in their MLP, with ``gated`` one, multiplied by a second
    matrix' output (SwiGLU where the ``activation`` is "silu"). ``norms``: any of
    NORM_POSITIONS, each a ``norm`` of NORMS, without weights unless ``affine``, without
    shifts unless ``norm_bias``; ``final_norm`` before the unembedding;
    ``query_key_norm`` on every head's queries and keys. ``mlp_bias`` is ``bias`` unless
    given. ``joint``: queries, keys and values from one matrix. ``rotary`` positions
    turn that share of every head, all of it where it is True, and stand beside the
    learned ones unless those are switched off. ``tied``: the unembedding is the
    embedding. ``dropout`` acts at the ``dropout_at`` of DROPOUT_SITES.
    ``initialisation``: a name of INITIALISATIONS, see the functions.
    ValueError for unknown names and for options that contradict each other.

    Taps, for block k: ``attention.k`` (batch, heads, queries, positions),
    ``attention_out.k`` and ``mlp_out.k`` before dropout, ``mlp_in.k`` after its norm,
    ``pre.k`` before the activation (``pre.k.j`` in further hidden layers) and
    ``residual.k`` after the block, all (batch, positions, width or hidden); and
    ``features``, what the unembedding reads.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type

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
        affine: bool = True,
        norm_bias: bool = True,
        final_norm: bool = False,
        query_key_norm: bool = False,
        learned_positions: bool = True,
        rotary: bool | float = False,
        causal: bool = False,
        attention: str = "softmax",
        joint: bool = False,
        bias: bool = False,
        mlp_bias: bool | None = None,
        dropout: float = 0.0,
        dropout_at: tuple[str, ...] = DROPOUT_SITES[1:],
        activation: str = "relu",
        gated: bool = False,
        tied: bool = False,
        read: str | int = "last",
        initialisation: str = "normal",
    ):
        super().__init__()
        initialise = choose("initialisation", initialisation, INITIALISATIONS)
        if isinstance(read, int) and read < 1:
            raise ValueError(f"read is {read}, but at least 1 position must be read")
        self.read = read if isinstance(read, int) else choose("read", read, READS)
        if tied and classes != vocabulary:
            raise ValueError(
                f"{classes} classes and a vocabulary of {vocabulary}, but a tied "
                "unembedding has one row for every token: make them equal"
            )
        self.layout = layout = Layout(
            vocabulary=vocabulary,
            positions=positions,
            width=width,
            heads=heads,
            hidden=tuple(hidden),
            norms=tuple(norms),
            norm=norm,
            norm_eps=norm_eps,
            affine=affine,
            norm_bias=norm_bias,
            causal=causal,
            bias=bias,
            mlp_bias=bias if mlp_bias is None else mlp_bias,
            dropout=dropout,
            dropout_at=tuple(dropout_at),
            activation=activation,
            attention=attention,
            joint=joint,
            rotary=rotary,
            gated=gated,
            query_key_norm=query_key_norm,
        )
        self.embedding = nn.Parameter(torch.randn(vocabulary, width))
        self.position = (
            nn.Parameter(torch.randn(positions, width)) if learned_positions else None
        )
        self.dropout = layout.dropout_for("embedding")
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(depth))
        self.norm = layout.new_norm() if final_norm else None
        self.unembedding = None if tied else Linear(width, classes, bias=bias)
        with torch.no_grad():
            initialise(self)

    def places(self) -> tuple[str, ...]:
        """Names of the taps."""
        return (*(p for block in self.blocks for p in block.places()), "features")

    def embed(
        self, tokens: Int[Tensor, "batch positions"]
    ) -> Float[Tensor, "batch positions width"]:
        """What the first block reads."""
        x = F.embedding(tokens, self.embedding)
        if self.position is not None:
            x = x + self.position[: tokens.shape[-1]]
        return self.dropout(x)

    def forward(
        self, tokens: Int[Tensor, "batch positions"], tap: Tap | None = None
    ) -> Float[Tensor, "batch *positions classes"]:
        """tokens (batch, positions) int64 -> logits; with a tap every position."""
        if tap is None and self.read == "last" and fast.enabled():
            x = fast.last_position(self, tokens)
        else:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x, 0, tap or untouched)
            x = self._at_read(x)
        x = x if self.norm is None else self.norm(x)
        features = (tap or untouched)("features", x)
        if self.unembedding is None:
            return fast.linear(features, self.embedding)
        return self.unembedding(features)

    def _at_read(self, x: Tensor) -> Tensor:
        """x (batch, positions, width) where the unembedding reads it."""
        if isinstance(self.read, int):
            return x[:, -self.read :]
        return x[:, -1] if self.read == "last" else x


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
        attention = block.attention
        _draw_projections(attention, model.layout.width)
        for layer in (*attention.projections(), attention.output):
            if layer.bias is not None:
                layer.bias.zero_()


def _draw_projections(attention: Attention, width: int) -> None:
    # nn.MultiheadAttention draws query, key and value as one (3d, d) matrix
    bound = math.sqrt(6 / (4 * width))
    for layer in attention.projections():
        layer.weight.uniform_(-bound, bound)


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
        _draw_projections(block.attention, width)
        gate = () if block.up is None else (block.up,)
        for layer in (block.attention.output, *block.mlp, *gate):
            std = 1 / math.sqrt(layer.in_features)
            nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
            if layer.bias is not None:
                layer.bias.zero_()
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
            if module.bias is not None:
                module.bias.zero_()
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
    Pre-norm blocks and a last norm, learned positions, GELU in its tanh form, and an
    unembedding that is the embedding. The default sizes are GPT-2 small, 124 million.
    ``attention="stablemax"`` puts s(x) of StableMax in place of exp(x).
    """
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        positions=positions,
        depth=depth,
        width=width,
        heads=heads,
        hidden=(4 * width,),
        norms=("query_key", "value", "mlp"),
        final_norm=True,
        causal=True,
        attention=attention,
        joint=True,
        bias=True,
        dropout=dropout,
        dropout_at=("embedding", "attention", "attention_out", "mlp_out"),
        activation="gelu_tanh",
        tied=True,
        read="all",
        initialisation="gpt2",
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
    any length. Pre-norm blocks and a last norm, all without shifts; a norm on every
    head's queries and keys, half of whose entries turn; SwiGLU; an unembedding of its
    own; no bias. What the table leaves open is as in the code that the paper follows,
    of Stollenwerk et al. 2026: the default sizes are its "109M", 140.6 million with
    both embeddings, and its "16M", 26.8 million, is depth 6, width 224, hidden 768.
    """
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        depth=depth,
        width=width,
        heads=heads,
        hidden=(hidden,),
        norms=("query_key", "value", "mlp"),
        norm_bias=False,
        final_norm=True,
        query_key_norm=True,
        learned_positions=False,
        rotary=0.5,
        causal=True,
        joint=True,
        activation="silu",
        gated=True,
        read="all",
        initialisation="xavier",
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
