"""One transformer for the four papers; its ``Layout`` says which.

    x_0 = embedding[token] + position
    y   = x + attention(norm x),   x' = y + mlp(norm y)             in every block
    logits = unembedding(norm x')

As it stands it is the network without norms of Nanda et al. 2023 [Prieto et al. 2025,
Fig. 5c]. Options give PyTorch's post-norm encoder layer with dropout [Prieto's code,
Fig. 6a], norms where Singh et al. 2026 put them, GPT-2 [Prieto, Table 1] and the
decoder of Liu et al. 2026 [Table 4].
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.errors import choose
from claimbook.protocol import Tap, untouched
from grokbook.losses import stablemax
from grokbook.models import fast
from grokbook.models.fast import Linear
from grokbook.models.mlp import ACTIVATIONS

WEIGHTS = {  # of scores; s(-inf) is 0 too
    "softmax": lambda scores: scores.softmax(-1),
    "stablemax": lambda scores: stablemax(scores, dtype=scores.dtype),
}
# The norm that serves each place: query, key and value share one in every paper here.
PLACES = {"query_key": "attention", "value": "attention", "mlp": "mlp"}
PLACES |= {"post_attention": "post_attention", "post_mlp": "post_mlp"}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The options of a transformer, which ``Transformer`` takes as keywords."""

    vocabulary: int
    positions: int = 2
    depth: int = 1
    width: int = 128
    heads: int = 4
    hidden: tuple[int, ...] = (512,)  # layers of a block's MLP
    norms: tuple[str, ...] = ()  # any of PLACES
    norm: str = "layer"  # the kind of all norms, or "rms"
    norm_eps: float = 1e-5
    affine: bool = True  # whether norms have weights
    norm_bias: bool = True  # and layer norms shifts
    final_norm: bool = False  # before the unembedding
    query_key_norm: bool = False  # on every head's queries and keys
    learned_positions: bool = True
    rotary: float = 0.0  # share of every head that turns by its position
    causal: bool = False
    attention: str = "softmax"  # or "stablemax": s(x) in place of exp(x)
    joint: bool = False  # queries, keys and values from one matrix and one norm
    bias: bool = False
    mlp_bias: bool | None = None  # ``bias`` unless given
    dropout: float = 0.0
    dropout_at: tuple[str, ...] = ("attention", "attention_out", "hidden", "mlp_out")
    activation: str = "relu"
    gated: bool = False  # hidden layer times a second one: SwiGLU where "silu"
    tied: bool = False  # the unembedding is the embedding
    read: str | int = "last"  # or "all", or the last so many positions
    initialisation: str = "normal"  # of INITIALISATIONS, see the functions

    def dropout_for(self, site: str) -> nn.Dropout:
        return nn.Dropout(self.dropout if site in self.dropout_at else 0.0)

    def new_norm(self, width: int) -> nn.Module:
        if choose("norm", self.norm, ("layer", "rms")) == "rms":
            return nn.RMSNorm(width, self.norm_eps, self.affine)
        return nn.LayerNorm(width, self.norm_eps, self.affine, self.norm_bias)


class Attention(nn.Module):
    """Multi-head attention: a mean of the values with weights softmax(q k / sqrt d)."""

    def __init__(self, layout: Layout, number: int = 0):
        super().__init__()
        width, bias = layout.width, layout.bias
        self.layout, self.place = layout, f"attention.{number}"
        self.heads, self.causal, self.joint = layout.heads, layout.causal, layout.joint
        self.turned = int(width // self.heads * layout.rotary)
        self.root = math.sqrt(width // self.heads)
        self.scale = 1 / self.root
        self.weights = choose("attention", layout.attention, WEIGHTS)
        if self.joint:
            self.inputs = Linear(width, 3 * width, bias=bias)
        else:
            self.query = Linear(width, width, bias=bias)
            self.key = Linear(width, width, bias=bias)
            self.value = Linear(width, width, bias=bias)
        self.output = Linear(width, width, bias=bias)
        self.head_norms = None
        if layout.query_key_norm:
            norms = {n: layout.new_norm(width // self.heads) for n in ("query", "key")}
            self.head_norms = nn.ModuleDict(norms)
        self.dropout = layout.dropout_for("attention")

    def projections(self) -> tuple[Linear, ...]:
        return (self.inputs,) if self.joint else (self.query, self.key, self.value)

    def draw_projections(self) -> None:
        # nn.MultiheadAttention draws query, key and value as one (3d, d) matrix
        for layer in self.projections():
            bound = math.sqrt(6 / (4 * layer.in_features))
            layer.weight.uniform_(-bound, bound)

    def forward(self, x_qk: Tensor, x_v: Tensor, first=0, tap=untouched) -> Tensor:
        """(batch, positions, width) -> what attention adds from ``first`` on."""
        if self.joint:
            query, key, value = self.inputs(x_qk).chunk(3, -1)
            query = query[:, first:] if first else query
        else:
            query = self.query(x_qk[:, first:] if first else x_qk)
            key, value = self.key(x_qk), self.value(x_v)
        query, key, value = (  # each (batch, heads, positions, head width)
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (query, key, value)
        )
        if self.head_norms is not None:
            query, key = self.head_norms["query"](query), self.head_norms["key"](key)
        if self.turned:
            query, key = rotate(query, first, self.turned), rotate(key, 0, self.turned)
        scores = query @ key.transpose(-1, -2)  # (batch, heads, queries, positions)
        # the two round apart, and there are records of both
        scores = scores / self.root if self.joint else scores * self.scale
        if self.causal:
            ones = scores.new_ones(scores.shape[-2:], dtype=torch.bool)
            scores = scores.masked_fill(ones.triu(first + 1), -math.inf)
        weights = self.dropout(tap(self.place, self.weights(scores)))
        return self.output((weights @ value).transpose(1, 2).flatten(-2))


def rotate(x: Tensor, first: int, turned: int) -> Tensor:
    """Entries j and j + n/2, of n = ``turned``, turn by t / 10000^(2j/n).

    x is (*batch, positions, width), t the position, ``first`` that of the first row: a
    product of a query at s and a key at t depends on s - t alone [Su et al. 2021, eq.
    34].
    """
    # bfloat16 has no number between 256 and 258: angles are never narrower than float32
    exact = torch.promote_types(x.dtype, torch.float32)
    pair = torch.arange(0, turned, 2, dtype=exact, device=x.device) / turned
    place = torch.arange(first, first + x.shape[-2], dtype=exact, device=x.device)
    angle = place[:, None] * 10_000.0**-pair
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :turned].chunk(2, -1)
    parts = [a * cos - b * sin, a * sin + b * cos, x[..., turned:]]
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
        owners = [choose("norm position", place, PLACES) for place in layout.norms]
        norms = {owner: layout.new_norm(layout.width) for owner in owners}
        self.norms = nn.ModuleDict(norms)
        self.activation = choose("activation", layout.activation, ACTIVATIONS)
        self.dropout_attention_out = layout.dropout_for("attention_out")
        self.dropout_hidden = layout.dropout_for("hidden")
        self.dropout_mlp_out = layout.dropout_for("mlp_out")
        k = number
        self.pre = (f"pre.{k}", *(f"pre.{k}.{j}" for j in range(1, len(layout.hidden))))
        before = (f"attention.{k}", f"attention_out.{k}", f"mlp_in.{k}")
        self.places = (*before, *self.pre, f"mlp_out.{k}", f"residual.{k}")

    def norm(self, position: str, x: Tensor) -> Tensor:
        return self.norms[PLACES[position]](x) if position in self.positions else x

    def forward(self, x: Tensor, first: int = 0, tap: Tap = untouched) -> Tensor:
        x_qk = self.norm("query_key", x)
        x_v = x_qk if self.attention.joint else self.norm("value", x)
        attended = self.attention(x_qk, x_v, first, tap)
        return self.finish(x[:, first:] if first else x, attended, tap)

    def finish(self, x: Tensor, attended: Tensor, tap: Tap = untouched) -> Tensor:
        k = self.number
        attended = tap(f"attention_out.{k}", attended)
        x = self.norm("post_attention", x + self.dropout_attention_out(attended))
        read = hidden = tap(f"mlp_in.{k}", self.norm("mlp", x))
        for place, layer in zip(self.pre, self.mlp, strict=False):  # but the last
            hidden = self.activation(tap(place, layer(hidden)))
            hidden = hidden if self.up is None else hidden * self.up(read)
            hidden = self.dropout_hidden(hidden)
        written = tap(f"mlp_out.{k}", self.mlp[-1](hidden))
        x = self.norm("post_mlp", x + self.dropout_mlp_out(written))
        return tap(f"residual.{k}", x)


class Transformer(nn.Module):
    """Tokens (batch, positions) -> logits (batch, classes) at the last position.

    With ``read=n`` (batch, n, classes), with "all" of all positions. ``options`` are
    those of ``Layout``. Taps, for block k: ``attention.k`` (batch, heads, queries,
    positions), ``attention_out.k`` and ``mlp_out.k`` before dropout, ``mlp_in.k`` after
    its norm, ``pre.k`` before the activation (``pre.k.j`` in further hidden layers) and
    ``residual.k`` after the block, all (batch, positions, width or hidden); and
    ``features``, what the unembedding reads.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type
    position: Any  # a parameter or None
    unembedding: Any  # a Linear or None

    def __init__(self, classes: int, **options: Any):
        super().__init__()
        self.layout = layout = Layout(**options)
        start = choose("initialisation", layout.initialisation, INITIALISATIONS)
        width = layout.width
        self.embedding = nn.Parameter(torch.randn(layout.vocabulary, width))
        self.position = None
        if layout.learned_positions:
            self.position = nn.Parameter(torch.randn(layout.positions, width))
        self.dropout = layout.dropout_for("embedding")
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(layout.depth))
        self.places = (*(p for block in self.blocks for p in block.places), "features")
        self.norm = layout.new_norm(width) if layout.final_norm else nn.Identity()
        self.unembedding = None
        if not layout.tied:
            self.unembedding = Linear(width, classes, bias=layout.bias)
        with torch.no_grad():
            start(self)

    def embed(self, tokens: Tensor) -> Tensor:
        x = F.embedding(tokens, self.embedding)
        if self.position is not None:
            x = x + self.position[: tokens.shape[-1]]
        return self.dropout(x)

    def forward(self, tokens: Tensor, tap: Tap | None = None) -> Tensor:
        read = self.layout.read
        if tap is None and read == "last" and fast.now.shortcuts:
            x = fast.last_position(self, tokens)
        else:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x, 0, tap or untouched)
            if read != "all":
                x = x[:, -1] if read == "last" else x[:, -int(read) :]
        features = (tap or untouched)("features", self.norm(x))
        head = self.unembedding or partial(fast.linear, weight=self.embedding)
        return head(features)


def _start_normal(model: Transformer) -> None:
    """Matrices N(0, 1/width), unembedding N(0, 1/vocabulary) [code of Nanda et al.]."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            is_last = name.startswith("unembedding")
            columns = model.layout.vocabulary if is_last else model.layout.width
            parameter.normal_(std=1 / math.sqrt(columns))


def _start_torch(model: Transformer) -> None:
    """Defaults of nn.TransformerEncoderLayer and nn.Embedding."""
    for block in model.blocks:
        block.attention.draw_projections()
        for layer in (*block.attention.projections(), block.attention.output):
            layer.bias.zero_()


def _start_lecun(model: Transformer) -> None:
    """Singh et al.'s code: embedding and unembedding N(0, 1/width), positions N(0,
    0.02^2), query, key and value as torch draws them, other matrices N(0, 1/columns)
    cut at two standard deviations, their biases 0."""
    width = model.layout.width
    model.embedding.normal_(std=1 / math.sqrt(width))
    model.position.normal_(std=0.02)
    for block in model.blocks:
        block.attention.draw_projections()
        for layer in (block.attention.output, *block.mlp):
            std = 1 / math.sqrt(layer.in_features)
            nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
            if layer.bias is not None:
                layer.bias.zero_()
    model.unembedding.weight.normal_(std=1 / math.sqrt(width))


def _start_gpt2(model: Transformer) -> None:
    """Matrices N(0, 0.02^2), those that write into the residual stream smaller by
    sqrt(2 depth), biases 0 [Radford et al. 2019, section 2.3]."""
    writers = ("attention.output.weight", f"mlp.{len(model.layout.hidden)}.weight")
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            shrink = math.sqrt(2 * len(model.blocks)) if name.endswith(writers) else 1
            parameter.normal_(std=0.02 / shrink)
        elif name.endswith("bias"):
            parameter.zero_()


def _start_xavier(model: Transformer) -> None:
    """Embedding N(0, 1/width), matrices N(0, 2 / (rows + columns)) [Liu et al. 2026,
    Table 4], but what attention writes as in GPT-2 [code of Stollenwerk et al. 2026].
    """
    model.embedding.normal_(std=1 / math.sqrt(model.layout.width))
    for module in model.modules():
        if isinstance(module, Linear):
            nn.init.xavier_normal_(module.weight)
    for block in model.blocks:
        std = 0.02 / math.sqrt(2 * len(model.blocks))
        block.attention.output.weight.normal_(std=std)


STARTS = (_start_normal, _start_torch, _start_lecun, _start_gpt2, _start_xavier)
INITIALISATIONS = {f.__name__.removeprefix("_start_"): f for f in STARTS}
# Of language models: norms before attention and MLP and a last one.
LANGUAGE: dict[str, Any] = {"norms": ("query_key", "value", "mlp"), "final_norm": True}
LANGUAGE |= {"causal": True, "joint": True, "read": "all"}


def gpt2(vocabulary: int = 50_257, **options: Any) -> Transformer:
    """GPT-2 [Radford et al. 2019], the language model of Prieto et al., Table 1.

    Tokens (batch, length) int64 -> logits of the next (batch, length, vocabulary).
    ``options``: sizes, if not those of GPT-2 small with 124 million weights, dropout
    and ``attention`` of ``Layout``.
    """
    how = LANGUAGE | {"positions": 1024, "depth": 12, "width": 768, "heads": 12}
    how |= {"bias": True, "tied": True, "dropout": 0.1, "activation": "gelu_tanh"}
    how |= options | {"initialisation": "gpt2"}
    sites = ("embedding", "attention", "attention_out", "mlp_out")
    how |= {"dropout_at": sites, "hidden": (4 * how["width"],)}
    return Transformer(vocabulary, vocabulary=vocabulary, **how)


def decoder(vocabulary: int = 50_304, *, hidden: int = 1792, **sizes: int):
    """The language model of Liu et al. 2026, Table 4, Figure 5.

    Tokens (batch, length) int64 -> logits of the next (batch, length, vocabulary), of
    any length. What the table leaves open is as in the code that the paper follows, of
    Stollenwerk et al. 2026: the default sizes are its "109M", 140.6 million with both
    embeddings, and its "16M", 26.8 million, is depth 6, width 224, hidden 768.
    """
    how = LANGUAGE | {"depth": 15, "width": 640} | sizes
    how |= {"norm_bias": False, "query_key_norm": True, "learned_positions": False}
    how |= {"rotary": 0.5, "activation": "silu", "gated": True}
    how |= {"hidden": (hidden,), "initialisation": "xavier"}
    return Transformer(vocabulary, vocabulary=vocabulary, **how)


def without_norms(model: Transformer) -> Transformer:
    """A copy without the norms before attention and MLP, whose weights it keeps.

    For SR-train as in the code of Singh et al.: call the copy with the
    weights of the original (``torch.func.functional_call``) and with F.normalize at the
    taps ``mlp_in.k``. Norms after attention or MLP and the last one stay.
    """
    plain = copy.deepcopy(model)
    for block in plain.blocks:
        block.positions = [p for p in block.positions if p.startswith("post_")]
    return plain
