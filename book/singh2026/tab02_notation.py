# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 2: Every shape is as stated, the activation is not (partly reproduced)
#
# **Claim.** Table 2 of the paper lists the symbols of its transformer with their
# dimensions, and a ReLU for $\sigma$ {cite:p}`singh2026`. **Here.** The table is generated
# from the network that this chapter trains, tensor by tensor, with the shapes, counts and
# starts that it really has. **What came out.** All shapes and mappings agree. The
# activation does not: the published curves were made with GELU, and so are ours. Biases in
# the MLP, 640 numbers, are in the code and not in the table.

# %% [markdown]
# ## The idea in code
#
# With width $d = 128$, $h = 4$ heads, $D = 512$ hidden units and $p = 113$, the network maps
# three tokens to one row of logits,
#
# $$
# x_i = W_E t_i + \rho_i, \quad
# y = x + \operatorname{MHSA}(x, x, x), \quad
# o = W_U \bigl(y_3 + W_2\, \sigma(W_1 y_3)\bigr),
# $$
#
# and everything learned is in the matrices below. The paper writes tokens as columns;
# PyTorch stores a linear layer as (outputs, inputs) and an embedding as one row per token.
# Shapes are therefore compared after turning each stored tensor into the paper's form.

# %% tags=["parameters"]
starts = 30  # random initial states for standard deviations and initial losses

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F

from grokbook import claims, datasets, models, plots, tables
from grokbook.names import options, resolve
from grokbook.papers import singh2026

plots.use_style()
P = 113


def build(name="No LN", seed=0, **changes):
    """A variant at its start, as an arm of this chapter has it."""
    spec = singh2026.network("paper", singh2026.NORMS[name], **changes)
    torch.manual_seed(seed)
    return resolve("model", spec)(**options(spec)).requires_grad_(False)


def size(model):
    return sum(weight.numel() for weight in model.parameters())


model = build()
(block,) = model.blocks
d, h, D = 128, 4, 512  # the paper's numbers, not the network's


# %%
def per_head(matrix):
    """Stored (d, d) of a projection -> d x (d / h) x h, as the paper writes it."""
    return matrix.weight.T.unflatten(1, (h, d // h)).transpose(1, 2)


attention = block.attention
stored = {  # symbol: the tensor in the paper's form
    "W_E": model.embedding.T,
    "ρ": model.position,
    "W^Q": per_head(attention.query),
    "W^K": per_head(attention.key),
    "W^V": per_head(attention.value),
    "W^O": attention.output.weight,
    "W_1": block.mlp[0].weight,
    "W_2": block.mlp[1].weight,
    "W_U": model.unembedding.weight,
}
stated = {  # Table 2
    "W_E": (d, P + 1),
    "ρ": (3, d),
    "W^Q": (d, d // h, h),
    "W^K": (d, d // h, h),
    "W^V": (d, d // h, h),
    "W^O": (d, d),
    "W_1": (D, d),
    "W_2": (d, D),
    "W_U": (P + 1, d),
}

# %% [markdown]
# ## The table
#
# "Start" is the distribution that the official code draws from, where the paper says
# "truncated normal similar to HookedTransformer"; the last two columns compare its standard
# deviation with that of the tensor, over several random starts.

# %% tags=["hide-input"]
cut = math.sqrt(1 - 4 * math.exp(-2) / (math.sqrt(2 * math.pi) * math.erf(2**0.5)))
NORMAL = "N(0, 1/{})"
CUT = "N(0, 1/{}), cut at two deviations"
UNIFORM = f"U(±√(6/{4 * d}))"
START = {  # law, standard deviation of one entry, largest possible entry
    "W_E": (NORMAL.format(d), d**-0.5, math.inf),
    "ρ": ("N(0, 0.02²)", 0.02, math.inf),
    "W^Q": (UNIFORM, (2 / (4 * d)) ** 0.5, (6 / (4 * d)) ** 0.5),
    "W^K": (UNIFORM, (2 / (4 * d)) ** 0.5, (6 / (4 * d)) ** 0.5),
    "W^V": (UNIFORM, (2 / (4 * d)) ** 0.5, (6 / (4 * d)) ** 0.5),
    "W^O": (CUT.format(d), cut * d**-0.5, 2 * d**-0.5),
    "W_1": (CUT.format(d), cut * d**-0.5, 2 * d**-0.5),
    "W_2": (CUT.format(D), cut * D**-0.5, 2 * D**-0.5),
    "W_U": (NORMAL.format(d), d**-0.5, math.inf),
}
NAMES = {
    "W_E": "embedding",
    "ρ": "position",
    "W^Q": "blocks.0.attention.query.weight",
    "W^K": "blocks.0.attention.key.weight",
    "W^V": "blocks.0.attention.value.weight",
    "W^O": "blocks.0.attention.output.weight",
    "W_1": "blocks.0.mlp.0.weight",
    "W_2": "blocks.0.mlp.1.weight",
    "W_U": "unembedding.weight",
}
MEANING = {
    "W_E": "embedding, one column per token",
    "ρ": "one vector per position",
    "W^Q": "queries",
    "W^K": "keys",
    "W^V": "values",
    "W^O": "output of attention",
    "W_1": "into the MLP",
    "W_2": "out of the MLP",
    "W_U": "unembedding, one row per class",
}
PATHS = {name: symbol for symbol, name in NAMES.items()}
squares, furthest, lengths = dict.fromkeys(NAMES, 0.0), dict.fromkeys(NAMES, 0.0), []
for seed in range(starts):
    weights = dict(build(seed=seed).named_parameters())
    lengths.append(math.sqrt(sum(float(w.square().sum()) for w in weights.values())))
    for name, weight in weights.items():
        if name in PATHS:
            symbol = PATHS[name]
            squares[symbol] += float(weight.double().square().mean()) / starts
            furthest[symbol] = max(furthest[symbol], float(weight.abs().max()))
measured = {symbol: math.sqrt(square) for symbol, square in squares.items()}


def times(shape):
    return " × ".join(map(str, shape))


HEAD = ["Symbol", "Meaning", "Paper", "Here", "Stored as", "Entries", "Start"]
HEAD += ["Deviation, theory", "Deviation, here"]
lines = [
    [
        symbol,
        MEANING[symbol],
        times(stated[symbol]),
        times(tensor.shape),
        times(dict(model.named_parameters())[NAMES[symbol]].shape),
        f"{tensor.numel():,}",
        START[symbol][0],
        f"{START[symbol][1]:.4f}",
        f"{measured[symbol]:.4f}",
    ]
    for symbol, tensor in stored.items()
]
biases = {n: w for n, w in model.named_parameters() if n.endswith("bias")}
for number, bias in enumerate(biases.values(), 1):
    shape = times(bias.shape)
    row = [f"b_{number}", "bias of the MLP", "not listed", shape, shape]
    lines.append([*row, f"{bias.numel():,}", "0", "0", f"{float(bias.std()):g}"])
tables.grid(HEAD, lines)

# %% [markdown]
# ## Where the parameters are, and what the activation changes
#
# If Table 2 described the published runs, their initial losses should be those of a ReLU
# network. The right panel compares both activations over the same random starts.

# %% tags=["hide-input"]
LOGS = {  # mean training loss before the first step, seeds 456, 789, 111, 222, 333
    "No LN": 4.741763,
    "A*": 4.831367,
    "M+A*": 4.943989,
    "M": 4.874397,
    "A^v": 4.821039,
}
ACTIVATIONS = ("gelu", "relu")
initial = {(name, act): [] for name in LOGS for act in ACTIVATIONS}
for seed in range(starts):
    torch.manual_seed(seed)
    split = datasets.modular(P, train_fraction=0.3, equals=True, shuffle="python")
    for (name, act), values in initial.items():
        logits = build(name, seed, activation=act)(split.x_train).double()
        values.append(float(F.cross_entropy(logits, split.y_train)))


def standard_errors(name, act):
    """How far the logged mean of five seeds is from ours, in standard errors."""
    values = torch.tensor(initial[name, act], dtype=torch.float64)
    error = float(values.std()) * math.sqrt(1 / starts + 1 / 5)
    return (LOGS[name] - float(values.mean())) / error


# %% tags=["hide-input"] mystnb={"figure": {"caption": "Left: number of parameters by tensor, the two biases of the MLP at the bottom. Right: training loss before the first step over the same random starts with GELU and with ReLU, beside the mean of five seeds in the authors' logs. The clouds overlap: initial losses of other seeds cannot tell the activations apart.", "name": "fig-singh2026-tab02"}, "image": {"alt": "Left: horizontal bars; W_1 and W_2 have 65,536 entries each, more than half of all together, the matrices of attention 16,384 each, embedding and unembedding 14,592 each, positions and biases a few hundred. Right: for five variants two overlapping rows of dots, GELU a little lower than ReLU except without norms; the authors' means lie among both."}}
figure, (bars, losses) = plots.panels(2, height=3.9)
counts = {symbol: tensor.numel() for symbol, tensor in stored.items()}
counts |= {f"b_{i}": bias.numel() for i, bias in enumerate(biases.values(), 1)}
label = [f"${s}$" if "_" in s or "^" in s else s for s in counts]
bars.barh(label, list(counts.values()), color=plots.SKY)
for place, count in enumerate(counts.values()):
    bars.text(count + 1000, place, f"{count:,}", va="center", fontsize=8.5)
bars.set(xlabel="parameters", xlim=(0, 80_000))
bars.invert_yaxis()
bars.grid(False)
plots.thousands(bars)
for place, name in enumerate(LOGS):
    for act, shift, color in (
        ("gelu", -0.16, plots.BLUE),
        ("relu", 0.16, plots.ORANGE),
    ):
        values = initial[name, act]
        losses.plot(values, [place + shift] * starts, ".", color=color, alpha=0.6)
    losses.plot(LOGS[name], place, "D", ms=7, mfc="none", mew=1.6, color=plots.RED)
losses.plot([], [], ".", color=plots.BLUE, label=f"GELU, {starts} random starts")
losses.plot([], [], ".", color=plots.ORANGE, label="ReLU, the same starts")
losses.plot(
    [], [], "D", ms=7, mfc="none", color=plots.RED, label="authors' logs, 5 seeds"
)
losses.set_yticks(range(len(LOGS)), LOGS)
losses.invert_yaxis()
losses.set_xlabel("initial training loss")
losses.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17))
plots.letter([bars, losses], ["parameters", "activation at the start"])
figure.show()

# %% [markdown]
# ## Check
#
# Shapes and mappings are judged against the paper's table; starts, counts and what the
# table leaves out are ours to report.

# %% tags=["hide-input"]
shapes = [tuple(stored[symbol].shape) == stated[symbol] for symbol in stated]
seen = {}


def watch(name):
    def hook(_, given, out):
        seen[name] = (given[0].shape[-1], out.shape[-1])

    return hook


hooks = [
    attention.register_forward_hook(watch("MHSA")),
    attention.output.register_forward_hook(watch("qkv_prod")),
    block.mlp[0].register_forward_hook(watch("W_1")),
    block.mlp[1].register_forward_hook(watch("W_2")),
]
logits = model(split.x_train[:5], models.Recorder())
for hook in hooks:
    hook.remove()
hidden = torch.randn(7, D)
curved = models.ACTIVATIONS[singh2026.network("paper", ()).options["activation"]]
order = torch.randperm(D, generator=torch.Generator().manual_seed(0))
mappings = {
    "MHSA: d → d": seen["MHSA"] == (d, d),
    "qkv_prod: d → d": seen["qkv_prod"][0] == d,
    "MLP: d → d": (seen["W_1"][0], seen["W_2"][1]) == (d, d),
    "σ: D → D, entry by entry": seen["W_1"][1] == seen["W_2"][0] == D
    and torch.equal(curved(hidden)[:, order], curved(hidden[:, order])),
    "o has p + 1 entries": logits.shape == (5, P + 1),
}
is_relu = torch.equal(curved(hidden), hidden.relu())
matrices = sum(tensor.numel() for tensor in stored.values())
numbers = sum(bias.numel() for bias in biases.values())
deep = build(depth=3, width=64, hidden=(256,))


def beyond(statement, paper, ours, held, n):
    """A line that the paper's table does not state, reported and not judged."""
    return claims.exact(statement, paper, ours, held=held, n=n, extra=True)


def drawn_right(symbol):
    """Deviation within four standard errors of theory, no entry beyond the bound."""
    _, theory, bound = START[symbol]
    error = 4 / math.sqrt(2 * stored[symbol].numel() * starts)
    near = abs(measured[symbol] / theory - 1) < error
    return near and furthest[symbol] <= bound * (1 + 1e-6)


drawn = [drawn_right(symbol) for symbol in START]
expected = sum(START[s][1] ** 2 * stored[s].numel() for s in START) ** 0.5
found = [
    claims.exact(
        "the nine tensors have the dimensions of Table 2",
        "W_E 128 × 114, …, W_U 114 × 128",
        f"{sum(shapes)} of {len(shapes)}",
        held=sum(shapes),
        n=len(shapes),
        source="Table 2",
    ),
    claims.exact(
        "the mappings have the dimensions of Table 2: MHSA, qkv_prod, MLP, σ, and p + 1 "
        "logits",
        "d → d, d → d, d → d, D → D, p + 1",
        f"{sum(mappings.values())} of {len(mappings)}",
        held=sum(mappings.values()),
        n=len(mappings),
        source="Table 2",
    ),
    claims.exact(
        "σ is a ReLU",
        "ReLU; GELU in the code that made the curves",
        "ReLU" if is_relu else curved.__name__.upper(),
        held=int(is_relu),
        n=1,
        source="Table 2",
    ),
    claims.exact(
        "the table is complete: its tensors are all parameters of the network",
        "nine tensors",
        f"{matrices:,} of {size(model):,}; the MLP's biases add {numbers}",
        held=int(matrices == size(model)),
        n=1,
        source="Table 2; official code",
    ),
    beyond(
        "parameters of the network without norms",
        "226,816 (official code)",
        f"{size(model):,}",
        int(size(model) == 226_816),
        1,
    ),
    beyond(
        "parameters of three layers of width 64 without norms (Figure 8)",
        "163,200 (official code)",
        f"{size(deep):,}",
        int(size(deep) == 163_200),
        1,
    ),
    beyond(
        "tensors drawn as the official code draws them (deviation within four standard "
        "errors, no entry beyond the cut)",
        "truncated normal",
        f"{sum(drawn)} of {len(drawn)}",
        sum(drawn),
        len(drawn),
    ),
    beyond(
        "length of all weights at the start",
        "31.84 (official start)",
        f"{sum(lengths) / starts:.2f}; {expected:.2f} from the distributions",
        int(abs(sum(lengths) / starts - 31.84) < 0.1),
        1,
    ),
]
for act in ACTIVATIONS:
    apart = [standard_errors(name, act) for name in LOGS]
    found.append(
        beyond(
            f"logged initial losses within three standard errors of a {act.upper()} "
            "network, other seeds (variants)",
            ", ".join(f"{name} {value:.3f}" for name, value in LOGS.items()),
            f"{sum(abs(a) < 3 for a in apart)} of {len(apart)}, furthest "
            f"{max(map(abs, apart)):.1f}",
            sum(abs(a) < 3 for a in apart),
            len(apart),
        )
    )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/tab02")

# %% [markdown]
# ## Reading the result
#
# **Shapes.** They agree to the last one. More than half of all parameters are in the two
# matrices of the MLP, the part whose input the paper's variant M normalises.
#
# **The activation.** The first public commit of the official code has GELU as its default
# and no script that changes it; its logs are those behind the figures. A later commit of the
# same day turned the default to ReLU, as the paper has it. The initial losses of *other*
# seeds do not settle which it was, as the right panel shows, since one random start differs
# from the next by more than ReLU does from GELU. The runs of this chapter use GELU, to
# meet the published curves, and the central ones were repeated with ReLU on the smaller task.
#
# Where paper, official code and this book differ:
#
# 1. *Activation.* See above; the paper's word is not what its figures show.
# 2. *Biases.* The paper's equation (5) and Table 2 have none. The code's MLP has two, which
#    start at zero and are trained and decayed; this book follows the code.
# 3. *114 outputs.* Table 2 has $p + 1$ rows in $W_U$, and so has the network. One of
#    them, the class "=", is never a label; training only pushes its logit down. The network
#    of Nanda et al. {cite:p}`nanda2023`, which the paper follows, is usually given 113.
# 4. *Start.* "Truncated normal" holds for three tensors. Queries, keys and values keep
#    PyTorch's uniform start, embeddings are plain normals, and cutting at two deviations
#    without scaling back leaves 88 % of the deviation that is asked for.
# 5. *Tokens.* The paper declares $t \in \mathbb{R}^{3 \times (p+1)}$ with tokens as rows
#    and multiplies $W_E t_i$ as if they were columns; nothing depends on it.
# 6. *A slip in the text.* Section 2.4 says that the attention scores come from $W^Q$ and
#    $W^V$; queries and keys are meant.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-tab02-count
# Write the number of parameters as a formula in $p$, $d$ and $D$, and find the width at
# which embedding and unembedding hold half of them ($D = 4d$).
# ```
#
# ```{solution} ex-singh2026-tab02-count
# :class: dropdown
# $2(p+1)d + 3d + 4d^2 + 2dD + D + d$, which is about $2(p+1)d + 12 d^2$. Both parts are
# equal at $d = (p+1)/6 = 19$. The paper's width is almost seven times that.
# ```
#
# ```{exercise}
# :label: ex-singh2026-tab02-cut
# A normal variable is cut at two standard deviations. By which factor does its deviation
# shrink?
# ```
#
# ```{solution} ex-singh2026-tab02-cut
# :class: dropdown
# With the density $\phi$ and the share $\operatorname{erf}(\sqrt 2)$ that is kept, the
# variance becomes $1 - 4\phi(2) / \operatorname{erf}(\sqrt 2) = 0.774$, so the factor is
# 0.88. The line `cut = …` above has it.
# ```
#
# ```{exercise}
# :label: ex-singh2026-tab02-equals
# The logit of the class "=" has no training sample. What does the gradient do to it, and
# what does weight decay do?
# ```
#
# ```{solution} ex-singh2026-tab02-equals
# :class: dropdown
# The gradient of the loss with respect to that logit is its probability, which is positive:
# it is always pushed down, less and less as its probability falls. Decay pulls its row of
# $W_U$ to zero, so the two end in balance.
# ```

# %% [markdown]
# ## Provenance
#
# No record: every number above is computed when the page is executed.
# `grokbook execute singh2026/tab02` makes the page again in under a minute.
