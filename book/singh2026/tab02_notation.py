# %% [markdown]
# # [Singh et al. 2026 · Table 2]{.kicker} The paper's table says ReLU, but its published curves used GELU

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: logged and rebuilt losses, the tensors in the paper's form, the claims"
import math

import torch
import torch.nn.functional as F

from claimbook import claims, evidence, papers, plots, tables
from claimbook.names import options, resolve
from grokbook import datasets, models

plots.use_style()
P, d, h, D = 113, 128, 4, 512  # the paper's numbers
CLOSE = 1e-6  # relative; the logs are of float32 and have nine digits
STARTS = 20  # random starts of our own
ACTIVATIONS = {"gelu": "GELU", "relu": "ReLU"}
table = evidence.reference("singh2026/gelu").set_index(["stat", "series"])
table = table[["value", "low", "high"]]  # mean, smallest and largest of five seeds
logged, VARIANTS = table.loc["log"], list(table.loc["log"].index)
apart = {act: (table.loc[act] / logged - 1).abs() for act in ACTIVATIONS}
close = {act: (apart[act] <= CLOSE).to_numpy().flatten() for act in ACTIVATIONS}
arms = {
    a.name: a
    for k in ("fig02", "fig03")
    for a in papers.get(f"singh2026/{k}", "paper").arms
}


def build(name="No LN", seed=0, **changes):
    """A variant at its start, as an arm of this chapter has it."""
    spec = arms[name].model
    torch.manual_seed(seed)
    return resolve("model", spec)(**options(spec) | changes).requires_grad_(False)


def per_head(matrix):
    """Stored (d, d) of a projection -> (d, d / h, h), as the paper writes it."""
    return matrix.weight.T.unflatten(1, (h, d // h)).transpose(1, 2)


def symbols(model):
    """The tensors of the network in the paper's form, by the paper's letters."""
    (block,) = model.blocks
    return {
        "W_E": model.embedding.T,
        "ρ": model.position,
        "W^Q": per_head(block.attention.query),
        "W^K": per_head(block.attention.key),
        "W^V": per_head(block.attention.value),
        "W^O": block.attention.output.weight.T,
        "W_1": block.mlp[0].weight,
        "W_2": block.mlp[1].weight,
        "W_U": model.unembedding.weight,
    }


def loss(network, data):
    """Training loss of a network."""
    return F.cross_entropy(network(data.x_train).double(), data.y_train)


def start_losses(name, activation):
    """Training loss at each of our own starts, as one tensor."""
    found = []
    for seed in range(STARTS):
        torch.manual_seed(seed)
        split = datasets.modular(P, train_fraction=0.3, equals=True, shuffle="python")
        found.append(loss(build(name, seed, activation=activation), split))
    return torch.stack(found)


def nudged(position):
    """Whether the logits of each sum change when one row of y does."""

    def nudge(written):
        written[:, position] += 1
        return written

    plain = model(tokens, models.Recorder())
    changed = model(tokens, models.Recorder({"attention_out.0": nudge}))
    return (changed - plain).abs().amax(dim=-1) > 0


def short(value):
    return f"{value:.0e}".replace("e-0", "e-")


def near(act):
    """Variants whose logged mean is within three standard errors of our starts'."""
    error = math.sqrt(1 / STARTS + 1 / 5)
    far = [
        abs(logged.value[n] - float(ours[n, act].mean()))
        / (float(ours[n, act].std()) * error)
        for n in VARIANTS
    ]
    return f"{sum(x < 3 for x in far)} of {len(far)}"


torch.manual_seed(0)
data = datasets.modular(P, train_fraction=0.3, equals=True)
tokens = data.x_train[:128]
model = build().double()
W_E, rho, W_Q, W_K, W_V, W_O, W_1, W_2, W_U = symbols(model).values()
ours = {(name, a): start_losses(name, a) for name in VARIANTS for a in ACTIVATIONS}
last = torch.stack([~nudged(0), ~nudged(1), nudged(2)]).flatten()
reach = {
    n: float(w.abs().max() / w.square().mean().sqrt())
    for n, w in symbols(model).items()
}
CUT = 2 / math.sqrt(1 - 4 * math.exp(-2) / (math.sqrt(math.tau) * math.erf(2**0.5)))
cut = [name for name, ratio in reach.items() if abs(ratio / CUT - 1) < 0.02]
read = {
    k: [float(loss(build(n, heads=k).double(), data)) for n in VARIANTS] for k in (4, 8)
}
eight = {n: abs(b / a - 1) for n, a, b in zip(VARIANTS, *read.values(), strict=True)}
biases = sum(w.numel() for n, w in model.named_parameters() if n.endswith("bias"))
size = sum(w.numel() for w in model.parameters())
agree = "; ".join(
    f"{ACTIVATIONS[a]}: {sum(close[a])} of {len(close[a])}" for a in ("relu", "gelu")
)
named = ", ".join(f"{name} {short(value)}" for name, value in eight.items())
span = {
    a: f"{short(x.min().min())} to {short(x.max().max())}" for a, x in apart.items()
}
found = {
    "activation": claims.exactly(agree, close["relu"]),
    "last-token": claims.exactly(f"{int(last.sum())} of {last.numel()}", last),
    "cut": (f"{', '.join(cut)}: {len(cut)} of {len(reach)}", len(cut), len(reach)),
    "distance": {word: (span[a], 1, 1) for a, word in ACTIVATIONS.items()},
    "starts": {word: (near(a), 1, 1) for a, word in ACTIVATIONS.items()},
    "heads": (named, 1, 1),
    "parameters": (f"{size:,}, {biases}", 1, 1),
}
sheet = claims.read("singh2026/tab02", found, variants=len(VARIANTS), starts=STARTS)
logs_agree = {act: f"{sum(close[act])} of {len(close[act])}" for act in ACTIVATIONS}
sheet.box(
    "The paper's Table 2 says that its transformer has the activation ReLU. The "
    "authors published the losses of their networks before the first update. Such a "
    "loss follows from the random numbers of the start alone, without any training, so "
    "we rebuilt the networks of five variants from those numbers, with either "
    f"activation.\n\nWith ReLU {logs_agree['relu']} logged losses come out the same to "
    f"six digits, with GELU {logs_agree['gelu']}. So the table's word ReLU is wrong "
    "for the published curves of these variants, which were made with GELU. The later "
    "code of the authors has ReLU."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-tab02
#| caption: >
#|   Networks rebuilt from the authors' random numbers have the logged losses with
#|   GELU, not with ReLU. The axis is the relative distance of a rebuilt training loss
#|   from the logged one, before the first update, on a logarithmic axis. Left of the
#|   dashed line six digits agree. Each row is a variant: layer norm (LN) is before the
#|   MLP (M), before attention (A*), before both (M+A*), nowhere, or on the values.
#|   Each has three marks, for the mean, the smallest and the largest loss of the
#|   authors' runs; some coincide.
#| alt: >
#|   For five variants, three round marks of GELU lie between 1e-9 and 1e-7, three crosses of
#|   ReLU between 1e-4 and 1e-2.
#| fold: "Code: draw the figure"
figure, (axes,) = plots.panels(1, height=3.2)
for act, marker, color in (("gelu", "o", plots.PURPLE), ("relu", "x", plots.YELLOW)):
    for place, name in enumerate(VARIANTS):
        label = f"{ACTIVATIONS[act]}: {logs_agree[act]}" if place == 0 else None
        axes.plot(
            apart[act].loc[name], [place] * 3, marker, color=color, ms=7, label=label
        )
axes.axvline(CLOSE, color=plots.GREY, ls="--", lw=1)
six = {"color": plots.GREY, "ha": "right", "va": "center"}
axes.text(0.8 * CLOSE, 2.5, "six digits agree", **six)
axes.set(xscale="log", xlim=(1e-9, 3e-2))
axes.set_xlabel("relative distance from logged loss")
axes.set_yticks(range(len(VARIANTS)), [*VARIANTS[:-1], "LN on values"])
axes.set_ylim(4.5, -0.5)
figure.legend(loc="outside upper center", ncols=2)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
M = {stat: float(table.loc[stat, "M"].value) for stat in ("log", *ACTIVATIONS)}
tables.prose(rf"""
* **The logs say GELU.** For variant M, the log has a mean loss of {M["log"]:.7f} before the
  first update. GELU gives {M["gelu"]:.7f}, ReLU {M["relu"]:.7f}.
* **All {len(VARIANTS)} variants agree.** The largest distance with GELU is
  {short(apart["gelu"].max().max())}, the rounding of float32. The smallest with ReLU is
  {short(apart["relu"].min().min())}.
* **The sizes of the network are confirmed too.** Read as 8 heads, not 4, the same weights
  would move the loss of A\* by {short(eight["A*"])}.
* **Statistics would not have told.** From {STARTS} random starts of our own, the logged means
  agree with either activation (folded rows).
""")

# %% [markdown]
# ## The idea
#
# A network's first loss follows from its weights, its data and its equations, without any
# training. So whoever has the authors' random numbers can test the equations. With width
# $d = 128$, $h = 4$ heads, $D = 512$ hidden units and $p = 113$ they are, for tokens $t_i$:
#
# $$
# x_i = W_E t_i + \rho_i, \quad
# y = x + \operatorname{qkv\_prod}(xW^Q, xW^K, xW^V)\, W^O, \quad
# o = W_U \bigl(y_3 + W_2\, \sigma(W_1 y_3)\bigr) .
# $$
#
# As code, with every tensor in the dimensions of Table 2:


# %%
def outputs(t, sigma):
    x = t @ W_E.T + rho  # (sums, 3, d)
    q, k, v = (torch.einsum("sid,deh->shie", x, W) for W in (W_Q, W_K, W_V))
    weights = (q @ k.mT / math.sqrt(d / h)).softmax(dim=-1)
    y = x + (weights @ v).transpose(1, 2).flatten(2) @ W_O
    z = y + sigma(y @ W_1.T) @ W_2.T
    return z[:, 2] @ W_U.T  # only the last token is read


one_hot = F.one_hot(tokens, P + 1).double()
torch.testing.assert_close(outputs(one_hot, sigma=F.gelu), model(tokens))

# %% [markdown]
# The official code draws part of its start on a GPU, whose random numbers a CPU does not
# have. A test of this book (`tests/test_gelu.py`) makes them again, seed by seed, puts them
# into our network and compares. It also takes one training step and compares the test loss.
# There too GELU agrees to six digits.
#
# Every symbol, with its distribution at the start in the official code:

# %% tags=["hide-input"]
#| fold: "Code: the table of symbols"
NORMAL, UNIFORM = "N(0, 1/128)", "U(±√(6/512)), as PyTorch's"
START = {
    "W_E": ("embedding, one column per token", NORMAL),
    "ρ": ("one vector per position", "N(0, 0.02²)"),
    "W^Q": ("queries", UNIFORM),
    "W^K": ("keys", UNIFORM),
    "W^V": ("values", UNIFORM),
    "W^O": ("output of attention", f"{NORMAL}, cut"),
    "W_1": ("into the MLP", f"{NORMAL}, cut"),
    "W_2": ("out of the MLP", "N(0, 1/512), cut"),
    "W_U": ("unembedding, one row per class", NORMAL),
}


def row(name, tensor):
    meaning, start = START[name]
    dimensions = " × ".join(map(str, tensor.shape))
    return [
        name,
        meaning,
        dimensions,
        f"{tensor.numel():,}",
        start,
        f"{reach[name]:.2f}",
    ]


head = ["Symbol", "Meaning", "Dimensions", "Entries", "Start", "Largest / deviation"]
tables.grid(head, [row(*one) for one in symbols(model).items()])

# %% [markdown]
# ## The claims
#
# Nothing is trained here, so there are no seeds: *n* counts logged values, sums or tensors.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and where the numbers come from"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The network of all pages of this chapter, at its start. "Official code" is
# `src/models/transformer.py` of the
# [official repository](https://github.com/jaisidhsingh/layernorm-grok/tree/2199213).
# Where the paper, the code and this book differ:
#
# 1. *Activation.* In commit `2199213`, which has the logs, the default is GELU, and none of
#    the scripts changes it. Commit `7ea0e10`, eight hours later, makes it ReLU. This book
#    trains with GELU, to meet the curves, and repeats runs of Figure 1 with ReLU.
# 2. *Biases.* Equation 5 and Table 2 have none. The MLP of the code has two, which start at
#    zero, are trained and are decayed; the book follows the code.
# 3. *Start.* Queries, keys and values keep PyTorch's uniform start, embeddings are plain
#    normals. Cutting at two deviations, without scaling back, leaves 88 % of a deviation.
# 4. *114 outputs.* Table 2 has $p + 1$ rows in $W_U$, and so has the code. The class "=" is
#    never a label; training only pushes its {term}`logit` down.
# 5. *Slips.* Tokens are declared as rows of $t \in \mathbb{R}^{3 \times (p+1)}$ and used as
#    columns. Section 2.4 takes attention scores from $W^Q$ and $W^V$; keys are meant.

# %% [markdown]
# ## Reading the result
#
# **The word ReLU is wrong for the published curves**, at least for the variants of Figures 2
# and 3 that are tested here. Nothing else in Table 2 is. Logs of the sweeps were not tested.
#
# **Does it matter?** Not for which of M and M+A\* is first: [Figure 1](fig01_overview.ipynb)
# has trained both with either activation. The other pages of this chapter draw the authors'
# points, so they train with the activation of those.
#
# **The MLP has more than half of all parameters.** Its input is what the variant M
# normalises ([Table 1](tab01_norm_variants.ipynb)).

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-tab02-count
# Write the number of parameters as a formula in $p$, $d$ and $D = 4d$. At which width do
# embedding and unembedding hold half of them?
# ```
#
# ````{solution} ex-singh2026-tab02-count
# :class: dropdown
# $2(p+1)d + 3d + 4d^2 + 2dD + D + d$, about $2(p+1)d + 12 d^2$. Both parts are equal at
# $d = (p+1)/6 = 19$. The paper's width is almost seven times that.
#
# ```python
# p = 113
# for d in (19, 128):
#     outer, inner = 2 * (p + 1) * d, 3 * d + 12 * d**2 + 5 * d
#     print(f"d = {d}: {outer:,} of {outer + inner:,} in the two embeddings")
# ```
# ````
#
# ```{exercise}
# :label: ex-singh2026-tab02-cut
# A normal variable is cut at two standard deviations. By which factor does its deviation
# shrink? How large is its largest value then, in units of the new deviation?
# ```
#
# ````{solution} ex-singh2026-tab02-cut
# :class: dropdown
# With the density $\phi$ and the share $\operatorname{erf}(\sqrt 2)$ that is kept, the
# variance becomes $1 - 4\phi(2) / \operatorname{erf}(\sqrt 2) = 0.774$. The factor is 0.88,
# and the largest value 2.27 deviations:
#
# ```python
# import torch
# torch.manual_seed(0)
# w = torch.nn.init.trunc_normal_(torch.empty(1_000_000), std=1.0, a=-2.0, b=2.0)
# print(f"{float(w.std()):.3f}, {float(w.abs().max() / w.std()):.2f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-singh2026-tab02-equals
# The class "=" has no training sample. What does the gradient do to its logit, and what does
# {term}`weight decay` do to its row of $W_U$?
# ```
#
# ```{solution} ex-singh2026-tab02-equals
# :class: dropdown
# The gradient of the loss with respect to that logit is its probability, which is positive.
# So it is always pushed down, less and less as its probability falls. Decay pulls its row
# of $W_U$ to zero, and the two end in balance.
# ```

# %% [markdown]
# ## Run it yourself
#
# About a minute. There is nothing to reduce, whatever the scale. This page has no record. The
# logged and rebuilt losses are a table of the repository, made from the authors' logs and
# their start. All else is computed when the page is executed.
#
# ```bash
# make page PAGE=singh2026/tab02 SCALE=laptop
# ```
