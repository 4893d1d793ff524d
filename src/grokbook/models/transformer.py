"""One transformer for the four papers; its ``Layout`` selects among their variants.

    x_0 = embedding[token] + position
    y   = x + attention(norm x),   x' = y + mlp(norm y)             in every block
    logits = unembedding(norm x')

The defaults are the network without norms of Nanda et al. (2023), which Prieto et al.
(2025) use in Fig. 5c. Options give PyTorch's post-norm encoder layer with dropout (the
official code of Prieto et al. 2025, Fig. 6a), norms where Singh et al. (2026) put them,
GPT-2 (Prieto et al. 2025, Table 1) and the decoder of Liu et al. (2026, Table 4).
"""

from __future__ import annotations

import copy
import inspect
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from claimbook.errors import choose, refuse_text
from claimbook.protocol import Tap, untouched
from grokbook.losses import stablemax
from grokbook.models import fast
from grokbook.models.fast import Linear
from grokbook.models.mlp import ACTIVATIONS

# Functions from scores to attention weights. A masked score is -inf: s(-inf) is 0 too.
WEIGHTS = {
    "softmax": lambda scores: scores.softmax(-1),
    "stablemax": lambda scores: stablemax(scores, dtype=scores.dtype),
}
# The module with the norm of each position in a block. Query, key and value share
# one in every paper here.
NORM_AT = {
    "query_key": "attention",
    "value": "attention",
    "mlp": "mlp",
    "post_attention": "post_attention",
    "post_mlp": "post_mlp",
}
SITES = ("embedding", "attention", "attention_out", "hidden", "mlp_out")  # of dropout


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The options of a transformer, keyword arguments of ``Transformer``.

    Raises UnknownName for an unknown site of dropout or value of ``read``, and for a
    text as ``norms`` or ``dropout_at``; ValueError without a hidden layer, for gated
    ones of several widths, and if ``heads`` do not divide ``width``. Other names are
    looked up by the network.
    """

    vocabulary: int
    positions: int = 2
    depth: int = 1  # blocks, one at least
    width: int = 128
    heads: int = 4
    hidden: tuple[int, ...] = (512,)  # widths of a block's hidden layers, one at least
    norms: tuple[str, ...] = ()  # norm positions in a block: keys of NORM_AT
    norm: str = "layer"  # kind of all norms: "layer" or "rms"
    norm_eps: float = 1e-5
    affine: bool = True  # whether norms have weights
    norm_bias: bool = True  # whether affine layer norms have biases
    final_norm: bool = False  # whether a norm precedes the unembedding
    query_key_norm: bool = False  # whether every head's queries and keys are normed
    learned_positions: bool = True
    rotary: float = 0.0  # share of every head's width with rotary positions
    causal: bool = False
    attention: str = "softmax"  # or "stablemax": s(x) in place of exp(x)
    joint: bool = False  # whether one matrix and norm give query, key and value
    bias: bool = False
    mlp_bias: bool | None = None  # ``bias`` unless given
    dropout: float = 0.0
    dropout_at: tuple[str, ...] = SITES[1:]
    activation: str = "relu"
    gated: bool = False  # whether a second layer multiplies (SwiGLU with "silu")
    tied: bool = False  # whether the unembedding is the embedding
    read: str | int = "last"  # positions with logits: "last", "all" or the last n
    initialisation: str = "normal"  # key of INITIALISATIONS

    def __post_init__(self) -> None:
        """Refuse values that a first pass would fail at, or read as something else."""
        refuse_text("norms", self.norms)
        refuse_text("dropout_at", self.dropout_at)
        if not self.hidden:
            raise ValueError("hidden=(): give at least one hidden layer")
        if self.gated and len({*self.hidden}) > 1:
            raise ValueError(f"hidden={self.hidden}: gated layers are of one width")
        if self.width % self.heads:
            raise ValueError(
                f"width={self.width} is not a multiple of heads={self.heads}"
            )
        for site in self.dropout_at:
            choose("site of dropout", site, SITES)
        if not isinstance(self.read, int) or self.read < 1:
            # raises for a number below 1 too
            choose("value of read", self.read, ("last", "all"))

    def dropout_for(self, site: str) -> nn.Dropout:
        """Return the dropout of one of ``SITES``; its rate is 0 if not in use."""
        return nn.Dropout(self.dropout if site in self.dropout_at else 0.0)

    def new_norm(self, width: int) -> nn.Module:
        """Return a new norm of the chosen kind over ``width`` units.

        Raises UnknownName for an unknown kind.
        """
        if choose("norm", self.norm, ("layer", "rms")) == "rms":
            return nn.RMSNorm(width, self.norm_eps, self.affine)
        return nn.LayerNorm(width, self.norm_eps, self.affine, self.norm_bias)


class Attention(nn.Module):
    """Multi-head attention: a mean of the values with weights softmax(q k / sqrt d).

    d is the width of a head, which is the network's width over ``heads``. ``index`` is
    that of the block, for the name of the tap. With ``attention="stablemax"`` StableMax
    takes the place of softmax.
    """

    def __init__(self, layout: Layout, index: int):
        super().__init__()
        width, bias = layout.width, layout.bias
        self.layout = layout
        self.tap_name = f"attention.{index}"
        self.heads, self.causal, self.joint = layout.heads, layout.causal, layout.joint
        head_width = width // self.heads
        # even, since entries turn in pairs
        self.rotary_width = 2 * int(head_width * layout.rotary / 2)
        self.root_width = math.sqrt(head_width)
        self.scale = 1 / self.root_width
        self.weights_of = choose("attention", layout.attention, WEIGHTS)
        if self.joint:
            self.inputs = Linear(width, 3 * width, bias=bias)
        else:
            self.query = Linear(width, width, bias=bias)
            self.key = Linear(width, width, bias=bias)
            self.value = Linear(width, width, bias=bias)
        self.output = Linear(width, width, bias=bias)
        # a norm over each head's width, or the identity, which takes any argument
        new_norm = layout.new_norm if layout.query_key_norm else nn.Identity
        norms = {name: new_norm(head_width) for name in ("query", "key")}
        self.head_norms = nn.ModuleDict(norms)
        self.dropout = layout.dropout_for("attention")

    def projections(self) -> tuple[Linear, ...]:
        """Return the layers of queries, keys and values, one if joint, else three."""
        return (self.inputs,) if self.joint else (self.query, self.key, self.value)

    def draw_projections(self) -> None:
        """Draw the weights of query, key and value as nn.MultiheadAttention does.

        Biases stay. It is to be called under ``torch.no_grad``.
        """
        # it draws them as one (3d, d) matrix, Xavier uniform: 6 / (rows + columns)
        for layer in self.projections():
            bound = math.sqrt(6 / (4 * layer.in_features))
            layer.weight.uniform_(-bound, bound)

    def forward(
        self, x_qk: Tensor, x_v: Tensor, first_position: int = 0, tap: Tap = untouched
    ) -> Tensor:
        """Return the output of attention at ``first_position`` and later ones.

        Queries and keys are made of x_qk and values of x_v, both (batch, positions,
        width); a joint layer makes all of x_qk. The result is (batch, positions -
        first_position, width). The tap sees the weights before dropout.
        """
        if self.joint:
            query, key, value = self.inputs(x_qk).chunk(3, -1)  # one layer gives all
            query = query[:, first_position:]
        else:
            query = self.query(x_qk[:, first_position:])
            key, value = self.key(x_qk), self.value(x_v)
        query, key, value = (  # each (batch, heads, positions, head width)
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (query, key, value)
        )
        query, key = self.head_norms["query"](query), self.head_norms["key"](key)
        if self.rotary_width:
            query = rotate(query, first_position, self.rotary_width)
            key = rotate(key, 0, self.rotary_width)
        scores = query @ key.transpose(-1, -2)  # (batch, heads, queries, positions)
        # division and multiplication round differently, and records exist of both
        scores = scores / self.root_width if self.joint else scores * self.scale
        if self.causal:
            ones = scores.new_ones(scores.shape[-2:], dtype=torch.bool)
            # (queries, positions): row i is the query at first_position + i, which sees
            # no later key
            is_later = ones.triu(first_position + 1)
            scores = scores.masked_fill(is_later, -math.inf)
        weights = self.dropout(tap(self.tap_name, self.weights_of(scores)))
        # (batch, queries, heads, head width), whose last two become the width
        means = (weights @ value).transpose(1, 2)
        return self.output(means.flatten(-2))


def rotate(x: Tensor, first_position: int, rotary_width: int) -> Tensor:
    """Return x (*batch, positions, width) with rotary position embedding.

    [Su et al. 2021, eq. 34] Entries j and j + n/2 of the first n = ``rotary_width``
    turn by the angle t / 10000^(2j/n) at position t; the other entries stay. n is even,
    and may be 0. ``first_position`` is the position of the first row. Positions s of a
    query and t of a key then change their product by s - t alone.
    """
    # bfloat16 has no number between 256 and 258: angles are never narrower than float32
    dtype = torch.promote_types(x.dtype, torch.float32)
    exponents = torch.arange(0, rotary_width, 2, dtype=dtype, device=x.device)
    frequencies = 10_000.0 ** -(exponents / rotary_width)
    end = first_position + x.shape[-2]
    positions = torch.arange(first_position, end, dtype=dtype, device=x.device)
    angle = positions[:, None] * frequencies  # (positions, rotary_width / 2)
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :rotary_width].chunk(2, -1)
    parts = [a * cos - b * sin, a * sin + b * cos, x[..., rotary_width:]]
    return torch.cat(parts, -1).to(x.dtype)


class Block(nn.Module):
    """Attention and MLP with residual connections and the norms of ``layout.norms``.

    ``index`` is that of the block in its network, for the names of its taps. Raises
    UnknownName for an unknown norm, norm position, activation or kind of attention.
    """

    def __init__(self, layout: Layout, index: int):
        super().__init__()
        self.index = index
        self.norm_positions = layout.norms
        self.attention = Attention(layout, index)
        widths = [layout.width, *layout.hidden, layout.width]
        bias = layout.bias if layout.mlp_bias is None else layout.mlp_bias
        self.mlp = nn.ModuleList(
            Linear(inputs, outputs, bias=bias) for inputs, outputs in pairwise(widths)
        )
        # its output multiplies that of every hidden layer, which are of one width
        self.up = Linear(widths[0], widths[1], bias=bias) if layout.gated else None
        self.norms = nn.ModuleDict()
        for position in layout.norms:
            module_name = choose("norm position", position, NORM_AT)
            # query_key and value share one: the second makes the same new norm again
            self.norms[module_name] = layout.new_norm(layout.width)
        self.activation = choose("activation", layout.activation, ACTIVATIONS)
        self.dropout_attention_out = layout.dropout_for("attention_out")
        self.dropout_hidden = layout.dropout_for("hidden")
        self.dropout_mlp_out = layout.dropout_for("mlp_out")
        k = index
        further = (f"pre.{k}.{layer}" for layer in range(1, len(layout.hidden)))
        self.pre_taps = (f"pre.{k}", *further)
        before_mlp = (f"attention.{k}", f"attention_out.{k}", f"mlp_in.{k}")
        self.places = (*before_mlp, *self.pre_taps, f"mlp_out.{k}", f"residual.{k}")

    def norm(self, position: str, x: Tensor) -> Tensor:
        """Return x after the norm at a position of the block, a key of ``NORM_AT``.

        x is (..., width). If the block has no norm there, or its ``norm_positions`` no
        longer name it (`without_norms`), x is returned as it is.
        """
        if position not in self.norm_positions:
            return x
        return self.norms[NORM_AT[position]](x)

    def forward(
        self, x: Tensor, first_position: int = 0, tap: Tap = untouched
    ) -> Tensor:
        """Return the output of the block at ``first_position`` and later ones.

        x is (batch, positions, width), and the result (batch, positions -
        first_position, width). ``tap(name, x)`` is called at each of ``places`` and may
        return another x.
        """
        x_qk = self.norm("query_key", x)
        x_v = x_qk if self.attention.joint else self.norm("value", x)
        attended = self.attention(x_qk, x_v, first_position, tap)
        return self.finish(x[:, first_position:], attended, tap)

    def finish(self, x: Tensor, attended: Tensor, tap: Tap = untouched) -> Tensor:
        """Return the output of the block after attention: residual connections and MLP.

        x, the input of the block, and ``attended``, the output of attention, have the
        same shape (batch, positions, width), and so has the result.
        """
        k = self.index
        attended = tap(f"attention_out.{k}", attended)
        x = self.norm("post_attention", x + self.dropout_attention_out(attended))
        mlp_input = tap(f"mlp_in.{k}", self.norm("mlp", x))
        hidden = mlp_input
        # all layers but the last have a tap before their activation; the zip ends there
        for tap_name, layer in zip(self.pre_taps, self.mlp, strict=False):
            hidden = self.activation(tap(tap_name, layer(hidden)))
            if self.up is not None:
                hidden = hidden * self.up(mlp_input)
            hidden = self.dropout_hidden(hidden)
        mlp_output = tap(f"mlp_out.{k}", self.mlp[-1](hidden))
        x = self.norm("post_mlp", x + self.dropout_mlp_out(mlp_output))
        return tap(f"residual.{k}", x)


class Transformer(nn.Module):
    """Maps tokens (batch, positions) to logits (batch, classes) at the last position.

    The logits are (batch, n, classes) with ``read=n``, and those of all positions with
    ``read="all"``. There may be fewer tokens than ``positions``. With ``tied`` the
    logits are as many as the vocabulary, whatever ``classes`` is. ``options`` are the
    fields of ``Layout``. Raises ValueError for an unknown name of a start, an
    activation or a norm that is used, and TypeError for an unknown option.

    Taps of block k are ``attention.k``, the attention weights (batch, heads, queries,
    positions); ``attention_out.k`` and ``mlp_out.k``, outputs before dropout;
    ``mlp_in.k``, the input of the MLP after its norm; ``pre.k``, before the activation
    (``pre.k.j`` in further hidden layers); and ``residual.k``, the output of the block.
    All but the first are (batch, positions, width or hidden). The last tap,
    ``features``, is the input of the unembedding.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type
    position: Any  # a parameter or None
    unembedding: Any  # a Linear or None

    def __init__(self, classes: int, **options: Any):
        super().__init__()
        self.layout = layout = Layout(**options)
        initialise = choose("initialisation", layout.initialisation, INITIALISATIONS)
        width = layout.width
        self.embedding = nn.Parameter(torch.randn(layout.vocabulary, width))
        self.position = None
        if layout.learned_positions:
            self.position = nn.Parameter(torch.randn(layout.positions, width))
        self.dropout = layout.dropout_for("embedding")
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(layout.depth))
        taps = (name for block in self.blocks for name in block.places)
        self.places = (*taps, "features")
        self.norm = layout.new_norm(width) if layout.final_norm else nn.Identity()
        self.unembedding = None
        if not layout.tied:
            self.unembedding = Linear(width, classes, bias=layout.bias)
        with torch.no_grad():
            initialise(self)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return the input of the first block (batch, positions, width), after dropout.

        ``tokens`` are (batch, positions), as many as the learned positions at most.
        """
        x = fast.embedding(self.embedding, tokens)
        if self.position is not None:
            x = x + self.position[: tokens.shape[-1]]
        return self.dropout(x)

    def forward(self, tokens: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits of the positions that ``layout.read`` names.

        ``tokens`` are (batch, positions). The logits are (batch, classes) of the last
        position, or (batch, positions, classes) of all or the last few; if there are
        no more tokens than that, of all. ``tap(name, x)`` is called at each of
        ``places`` and may return another x.
        """
        read = self.layout.read
        if tap is None and read == "last" and fast.now.shortcuts:
            x = fast.last_position(self, tokens)
        else:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x, 0, tap or untouched)  # from position 0 on: all
            if read == "last":
                x = x[:, -1]
            elif isinstance(read, int):  # the last few positions
                x = x[:, -read:]
        features = (tap or untouched)("features", self.norm(x))
        if self.unembedding is None:  # tied
            return fast.linear(features, self.embedding)
        return self.unembedding(features)


def _signature() -> inspect.Signature:
    """Return the signature of Transformer, with the fields of Layout as options."""
    # the second is **options
    classes, _ = inspect.signature(Transformer).parameters.values()
    options = inspect.signature(Layout).parameters.values()
    return inspect.Signature([classes, *options])


# what help(), an editor and a changed experiment see in place of **options
Transformer.__signature__ = _signature()  # type: ignore[attr-defined]


def _start_normal(model: Transformer) -> None:
    """Draw matrices as N(0, 1/width), an unembedding of its own as N(0, 1/vocabulary).

    [Code of Nanda et al. 2023] Embedding and positions are matrices too; biases and
    norms stay as torch makes them. Called without autograd.
    """
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            is_last = name.startswith("unembedding")
            # as in that code, in which the unembedding is (width, vocabulary)
            columns = model.layout.vocabulary if is_last else model.layout.width
            parameter.normal_(std=1 / math.sqrt(columns))


def _start_torch(model: Transformer) -> None:
    """Draw weights as nn.TransformerEncoderLayer and nn.Embedding do by default.

    The Linear layers and embeddings of ``model`` are drawn so already, but not query,
    key, value and the biases of attention. Raises ValueError without biases, which that
    layer has.
    """
    if not model.layout.bias:
        raise ValueError("initialisation 'torch' is that of a network with bias=True")
    for block in model.blocks:
        block.attention.draw_projections()
        for layer in (*block.attention.projections(), block.attention.output):
            layer.bias.zero_()


def _start_lecun(model: Transformer) -> None:
    """Draw weights as the code of Singh et al. (2026) does.

    Embedding and unembedding are N(0, 1/width), positions N(0, 0.02^2), and query, key
    and value as nn.MultiheadAttention draws them. Other matrices are N(0, 1/columns),
    truncated at two standard deviations, with biases 0. Raises ValueError for a network
    without learned positions or without an unembedding of its own.
    """
    if model.position is None or model.unembedding is None:
        raise ValueError("initialisation 'lecun' takes learned positions, tied=False")
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
    """Draw matrices as N(0, 0.02^2) and set biases to 0 [Radford et al. 2019].

    Matrices that write into the residual stream, the last of attention and of the MLP,
    are smaller by sqrt(2 depth) [section 2.3].
    """
    writers = ("attention.output.weight", f"mlp.{len(model.layout.hidden)}.weight")
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            divisor = math.sqrt(2 * len(model.blocks)) if name.endswith(writers) else 1
            parameter.normal_(std=0.02 / divisor)
        elif name.endswith("bias"):
            parameter.zero_()


def _start_xavier(model: Transformer) -> None:
    """Draw the embedding as N(0, 1/width), matrices as N(0, 2 / (rows + columns)).

    [Liu et al. 2026, Table 4] The output matrices of attention are drawn as in GPT-2
    [code of Stollenwerk et al. 2026]. Biases stay as torch draws them.
    """
    model.embedding.normal_(std=1 / math.sqrt(model.layout.width))
    for module in model.modules():
        if isinstance(module, Linear):
            nn.init.xavier_normal_(module.weight)
    std = 0.02 / math.sqrt(2 * len(model.blocks))
    for block in model.blocks:
        block.attention.output.weight.normal_(std=std)


INITIALISATIONS = {
    "normal": _start_normal,
    "torch": _start_torch,
    "lecun": _start_lecun,
    "gpt2": _start_gpt2,
    "xavier": _start_xavier,
}
# Options of both language models, `gpt2` and `decoder`: norms before attention, the MLP
# and the unembedding, and logits of the next token at every position.
LANGUAGE: dict[str, Any] = {
    "norms": ("query_key", "value", "mlp"),
    "final_norm": True,
    "causal": True,
    "joint": True,
    "read": "all",
}


def gpt2(vocabulary: int = 50_257, **options: Any) -> Transformer:
    """Return GPT-2 [Radford et al. 2019], as Prieto et al. (2025, Table 1) train it.

    It maps tokens (batch, length) int64 to logits of the next token (batch, length,
    vocabulary). ``options`` are fields of ``Layout``, such as sizes, dropout and
    ``attention``, but not ``hidden`` (4 times the width), ``dropout_at`` and
    ``initialisation``, which are fixed. Without any it is GPT-2 small, with 124 million
    weights. Raises TypeError for an option that is fixed or unknown.
    """
    defaults = {
        "positions": 1024,
        "depth": 12,
        "width": 768,
        "heads": 12,
        "bias": True,
        "tied": True,
        "dropout": 0.1,
        "activation": "gelu_tanh",
    }
    settings = LANGUAGE | defaults | options
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        **settings,
        hidden=(4 * settings["width"],),
        dropout_at=("embedding", "attention", "attention_out", "mlp_out"),
        initialisation="gpt2",
    )


def decoder(
    vocabulary: int = 50_304, *, hidden: int = 1792, **sizes: int
) -> Transformer:
    """Return the language model of Liu et al. (2026), Table 4, Figure 5.

    It maps tokens (batch, length) int64 to logits of the next token (batch, length,
    vocabulary), for any length. ``sizes`` are ``depth``, ``width`` and ``heads``, and
    ``hidden`` is the width of the MLPs; all else is fixed. Where the table is silent,
    the network is that of the code that the paper follows [Stollenwerk et al. 2026].
    The default sizes are its "109M", 140.6 million weights with both embeddings. Its
    "16M", 26.8 million, has depth 6, width 224 and hidden 768. Raises UnknownName for
    another option.
    """
    for name in sizes:
        choose("size of a decoder", name, ("depth", "width", "heads"))
    settings = LANGUAGE | {"depth": 15, "width": 640} | sizes
    return Transformer(
        vocabulary,
        vocabulary=vocabulary,
        **settings,
        hidden=(hidden,),
        norm_bias=False,
        query_key_norm=True,
        learned_positions=False,
        rotary=0.5,
        activation="silu",
        gated=True,
        initialisation="xavier",
    )


def without_norms(model: Transformer) -> Transformer:
    """Return a copy of a network that skips the norms before attention and MLP.

    The network is made of blocks: a `Transformer` or a `ViT`. The copy keeps the
    weights of those norms, so ``torch.func.functional_call`` takes the parameters of
    the original. Norms of queries and keys, those after attention or MLP and the final
    norm stay. The official code of Singh et al. (2026) calls such a copy with
    F.normalize at the taps ``mlp_in.k``, so that each MLP sees inputs of length 1
    (SR-train).
    """
    plain = copy.deepcopy(model)
    for block in plain.blocks:
        positions = block.norm_positions
        block.norm_positions = [p for p in positions if p.startswith("post_")]
    return plain
