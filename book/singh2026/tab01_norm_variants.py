# %% [markdown]
# # [Singh et al. 2026 · Table 1]{.kicker} Only a norm before the MLP keeps the MLP from seeing how long its input is

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the variants, what a seven-fold input changes, and the claims"

import torch

from claimbook import claims, papers, plots, tables
from claimbook.names import options, resolve
from grokbook import datasets, models

plots.use_style()
arms = {
    a.name: a
    for k in ("fig02", "fig03")
    for a in papers.get(f"singh2026/{k}", "paper").arms
}
NAMES = tuple(arms)
PATHS = ("queries", "keys", "values", "MLP")
EFFECTS = ("attention weights", "output of attention", "output of MLP", "logits")
NORMED = {"No LN": (), "A*": PATHS[:3], "M+A*": PATHS, "M": PATHS[3:]}  # by Table 1
NORMED |= {"A^qk": PATHS[:2], "A^v": PATHS[2:3]}
ZERO = 1e-12  # relative; float64 rounds at 2e-16
WORDS = {
    "A^qk": "LN on queries and keys",
    "A^v": "LN on values",
    "M+A^v": "M, LN on values",
}
torch.manual_seed(0)
tokens = datasets.modular(113, train_fraction=0.3, equals=True).x_train[:128]


def build(name, spread=0.2):
    """A variant at its start in float64, with γ = 1 and β = 0 spread a little."""
    spec = arms[name].model
    torch.manual_seed(0)
    model = resolve("model", spec)(**options(spec)).double().requires_grad_(False)
    for weight in model.blocks[0].norms.parameters():
        weight += spread * torch.randn_like(weight)
    return model


def run(model, x):
    """What the block makes of x, at each of its taps."""
    seen = models.Recorder()
    model.blocks[0](x, 0, seen)
    return seen.found


def after(model, y):
    """Output of the MLP, and logits, when the MLP's side of the block is given y."""
    seen = models.Recorder()
    z = model.blocks[0].finish(y, torch.zeros_like(y), seen)
    return seen.found["mlp_out.0"], model.unembedding(z)


def inputs(model):
    """x and y of the sample, each (samples, 3, width)."""
    x = model.embed(tokens)
    return x, x + run(model, x)["attention_out.0"]


def everything(model, x, y):
    """What the matrices of the four paths read of x and y, and what comes of it."""
    block, read = model.blocks[0], []
    attention = block.attention
    for matrix in (attention.query, attention.key, attention.value, block.mlp[0]):
        matrix.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    found, made = run(model, x), after(model, y)
    *first, _, last = read  # the MLP's of `run` is neither of x nor of this y
    return *first, last, found["attention.0"], found["attention_out.0"], *made


def moved(changed, before):
    """Length of a change over the length before, of all rows together."""
    return float((changed - before).norm() / before.norm())


def times(name, factor, tap):
    """What x gives at a tap, and what a multiple of x gives, with γ = 1 and β = 0."""
    model = build(name, spread=0)
    x = inputs(model)[0]
    return run(model, x)[tap], run(model, factor * x)[tap]


def entropy(weights):
    """Of every query of every head, in nats."""
    return -torch.special.xlogy(weights, weights).sum(-1)


def grows(tap, *names):
    """Mean growth at a tap from x to 7x; in which rows the first grows less than the second."""
    pairs = {name: times(name, 7, tap) for name in names}
    found = {
        n: seven.norm(dim=-1) / one.norm(dim=-1) for n, (one, seven) in pairs.items()
    }
    told = ", ".join(
        f"{WORDS.get(n, n)} {float(x.mean()):.2f}" for n, x in found.items()
    )
    return claims.exactly(
        f"mean factor: {told}", (found[names[0]] < found[names[1]]).flatten()
    )


change, kept = {}, []
for name in NAMES:
    model = build(name)
    x, y = inputs(model)
    told = map(moved, everything(model, 7 * x, 7 * y), everything(model, x, y))
    change[name] = dict(zip(PATHS + EFFECTS, told, strict=True))
    if name in ("M", "M+A*"):
        made = after(model, y)[0]
        rows = [after(model, c * y)[0] - made for c in (1e-3, 1 / 7, 7, 1e3)]
        kept += [one.norm(dim=-1) / made.norm(dim=-1) for one in rows]
kept = (torch.stack(kept) <= ZERO).flatten()


def blind(name, expected):
    """For which paths the inputs read the same times 7, and whether as expected."""
    same = [path for path in PATHS if change[name][path] <= ZERO]
    agree = [(path in same) == (path in expected) for path in PATHS]
    return claims.exactly(f"the same for {', '.join(same) or 'none'}", agree)


same = [change[name]["attention weights"] <= ZERO for name in ("A*", "M+A*", "A^qk")]
free = change["No LN"]["attention weights"]
sharp = [entropy(times("No LN", c, "attention.0")[1]) for c in (1, 7, 49)]
falls = (sharp[1] < sharp[0]) & (sharp[2] < sharp[1])
means = ", ".join(f"{float(one.mean()):.3f}" for one in sharp)
loud, leaky = build("A^qk"), build("M")
x, y = inputs(loud)[0], inputs(leaky)[1]
before = run(loud, x)["attention.0"]
loud.blocks[0].norms["attention"].weight.mul_(7)
gain = moved(run(loud, x)["attention.0"], before)
leaky.blocks[0].norms["mlp"].eps = 1e-5
leak = moved(after(leaky, y / 7)[0], after(leaky, y)[0])
found = {
    "mlp-output": claims.exactly(f"{int(kept.sum()):,} of {len(kept):,} rows", kept),
    "weights": claims.exactly(
        f"{sum(same)} of 3; No LN: they move by {free:.2f}", same
    ),
    "sharpness": claims.exactly(f"mean {means}", falls.flatten()),
    "attention-grows": grows("attention_out.0", "A^v", "No LN"),
    "mlp-grows": grows("mlp_in.0", "M", "A^v", "No LN"),
    "paths": {WORDS.get(n, n): blind(n, paths) for n, paths in NORMED.items()},
    "gain": (f"{gain:.2f}", 1, 1),
    "leak": (f"{leak:.3f}", 1, 1),
}
sheet = claims.read("singh2026/tab01", found)
growth = {}  # of what the MLP reads, from x to 7x
for name in NAMES:
    one, seven = times(name, 7, "mlp_in.0")
    growth[name] = float((seven.norm(dim=-1) / one.norm(dim=-1)).mean())
sheet.box(
    "Table 1 lists where the variants of the paper's transformer have a layer norm, which rescales a "
    "vector to a fixed length. The paper says that a norm on the values of attention "
    "(A^v, in the figure LN on values) limits how much of an input's length reaches the MLP, but less than a norm "
    "before the MLP (M).\n\nNothing is trained here: in transformers of the paper's size, "
    "each at one random start, we made the embeddings of all tokens of a sum seven times as long. "
    f"Without a norm the vector that the MLP reads is then {growth['No LN']:.1f} times "
    f"as long, and with a norm on the values {growth['A^v']:.1f} times, since the skip "
    "connection carries the length past attention. With a norm before the MLP it does "
    "not change. So the sentence holds."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-tab01
#| caption: >
#|   Each norm hides length from the path behind it; only a norm before the MLP hides
#|   it from the MLP. LN is layer norm: M has it before the MLP, A* on queries, keys
#|   and values, M+A* at all four, No LN nowhere. (a) Each of the four paths is given
#|   an input seven times as long. Where the variant has a norm, the path reads the
#|   same as before, elsewhere a vector seven times as long (× 7). (b) Only the
#|   embeddings of the tokens are made seven times as long. A bar is how many times as
#|   long the vector is that the MLP then reads, as a mean over 384 cases, the three
#|   tokens of 128 sums; it is less than 7
#|   where attention, a part of it, has a norm on the values.
#| alt: >
#|   Left a grid of seven variants: M has a norm at the MLP, A* at queries, keys and values,
#|   M+A* at all four, No LN nowhere. Right, bars: the input of the MLP does not grow in the
#|   three variants with M, about twofold in A* and with a norm on the values, and sevenfold
#|   in No LN and with a norm on queries and keys.
#| fold: "Code: draw the grid"
figure, (grid, bars) = plots.panels(2, height=3.9, sharey=True)
hidden = [[change[name][path] <= ZERO for path in PATHS] for name in NAMES]
grid.imshow(hidden, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
for i, line in enumerate(hidden):
    for j, same_length in enumerate(line):
        word, ink = ("same", "white") if same_length else ("× 7", plots.BLACK)
        grid.text(j, i, word, ha="center", va="center", color=ink)
grid.set_xticks(range(4), PATHS)
grid.set_yticks(range(len(NAMES)), [WORDS.get(name, name) for name in NAMES])
grid.grid(False)
bars.barh(range(len(NAMES)), growth.values(), color=plots.BLUE, height=0.6)
for i, factor in enumerate(growth.values()):
    bars.text(factor + 0.15, i, f"× {factor:.1f}", va="center")
bars.set(xlim=(0, 8.4), xticks=(0, 2, 4, 6), xlabel="times as long")
bars.grid(axis="y", visible=False)
plots.letter((grid, bars), ["what a path reads", "what the MLP reads"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
weights, logits = (
    [c[key] for c in change.values()] for key in ("attention weights", "logits")
)
tables.prose(rf"""
* **The names** (a). A {{term}}`layer norm` is wherever a path reads the same. The star of A\*
  means queries, keys and values, and M the input of the MLP.
* **A norm on attention is not enough** (b). The skip connection carries the length of the
  input past it to the MLP.
* **Half of a norm is less.** Queries and keys make the attention weights, values are what is
  mixed with them. Only A\* and M+A\* make the output of attention independent of length
  (table).
* **Attention weights hardly react at the start,** by {max(weights):.2f} where they do. Rows of
  $x$ have length 1 then, and attention is nearly even without a norm.
* **No variant is blind as a whole.** The {{term}}`logits <logit>` change by {min(logits):.2f}
  of their length at least. The norm is on a branch; the residual stream keeps its length.
""")

# %% tags=["hide-input"]
#| fold: "Code: what the paths make of it, in a table"
rows = [
    [WORDS.get(name, name)]
    + [f"{0 if change[name][e] <= ZERO else change[name][e]:.2f}" for e in EFFECTS]
    for name in NAMES
]
caption = "Relative change when x (for the MLP and the logits y) is multiplied by 7"
tables.grid(["Variant", *EFFECTS], rows, caption=caption)

# %% [markdown]
# ## The idea
#
# The network makes $x_i = W_E t_i + \rho_i$ of the three tokens (a, b, "="). Attention and an MLP
# each add to it: $y = x + \operatorname{MHSA}(x^Q, x^K, x^V)$ and $z = y +
# \operatorname{MLP}(u)$. The logits are read from the last row of $z$. Without norms
# $x^Q = x^K = x^V = x$ and $u = y$. A variant replaces some of these four by their norm:
#
# $$
# \operatorname{LN}(v) = \gamma \odot
#   \frac{v - \bar v}{\sqrt{\operatorname{Var}(v) + \varepsilon}} + \beta .
# $$
#
# With $\varepsilon = 0$, as in the official code, a factor $c > 0$ on $v$ cancels, whatever
# $\gamma$ and $\beta$ have been learned:


# %%
def layer_norm(v, gamma, beta):
    """Without an epsilon: what comes out does not know how long v was."""
    centred = v - v.mean(dim=-1, keepdim=True)
    return gamma * centred / centred.square().mean(dim=-1, keepdim=True).sqrt() + beta


norm, v = build("M").blocks[0].norms["mlp"], torch.randn(3, 128, dtype=torch.float64)
torch.testing.assert_close(norm(v), layer_norm(v, norm.weight, norm.bias))
torch.testing.assert_close(norm(7 * v), norm(v))

# %% [markdown]
# A norm does not remove length so much as set it, to $\sqrt{128} = 11.3$ while $\gamma = 1$ and
# $\beta = 0$. Without a norm on queries and keys, short inputs are attended to evenly
# ($\ln 3 = 1.10$ nats) and long ones sharply. With one, attention does not depend on length:


# %% tags=["hide-input"]
#| fold: "Code: multiply x by factors from 0.1 to 100"
def averages(measure, name, tap):
    return [
        f"{float(measure(times(name, c, tap)[1]).mean()):.2f}"
        for c in (0.1, 1, 10, 100)
    ]


rows = [
    [
        f"entropy of attention (nats): {WORDS.get(name, name)}",
        *averages(entropy, name, "attention.0"),
    ]
    for name in ("No LN", "A^qk")
]
for name in ("No LN", "A^v", "M"):
    lengths = averages(lambda found: found.norm(dim=-1), name, "mlp_in.0")
    rows.append([f"length of what the MLP reads: {WORDS.get(name, name)}", *lengths])
tables.grid(["At the start of training, means", "0.1 x", "x", "10 x", "100 x"], rows)

# %% [markdown]
# ## The claims
#
# Nothing is trained here, so there are no seeds: *n* counts paths, variants, or rows of the
# sample. All is computed in float64 on 128 sums. Where nothing else is said, $\gamma$ and
# $\beta$ are random, so that a row does not hold only at their start. With the $\varepsilon > 0$
# of the paper "fully" is not exact. A folded row says how much it lets through. What is true of
# any weights says so and is not counted.

# %% tags=["hide-input"]
#| fold: "Code: the claims"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The network of all pages of this chapter, at its start. "Official code" is
# `src/models/transformer.py` in commit `2199213` of the
# [official repository](https://github.com/jaisidhsingh/layernorm-grok/tree/2199213). Its
# names for M, M+A\*, A\* and No LN are `mlp-pre`, `pre`, `attn-pre` and `off`. LN on values
# ($A^v$) and LN on queries and keys ($A^{qk}$) are `attn-pre-v` and `attn-pre-qk`.
#
# Where paper, official code and this book differ:
#
# 1. *ε.* The paper says $\varepsilon > 0$ and gives no value; the code and this book have 0.
# 2. *Unused norms.* The official network holds two norms in every variant that has one. The
#    unused one gets no gradient and changes nothing but the count. Here it does not exist,
#    and a norm adds 256 parameters.
# 3. *Decay.* $\gamma$ and $\beta$ are decayed like every weight, in the code and here. Many
#    code bases exempt them, and the paper does not say.
# 4. M with LN on values is in the authors' logs and not in the paper. It is drawn here, and
#    not judged.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(rf"""
The norms do what the paper says of them. Three things are easily overread.

**The scale moves on, it does not vanish.** $\gamma$ follows the norm and is learned. Seven
times $\gamma$ changes the attention weights behind LN on queries and keys by {gain:.2f} of their
length. Seven times $x$ changes those of No LN by {free:.2f}. A norm takes away the scale of the
*embedding*, which serves all branches at once.

**Only $\varepsilon = 0$ removes all of it.** PyTorch's default is 1e-5. With it, the output of the
MLP changes by {leak:.3f} of its length if $y$ shrinks to a seventh. Entries of $x$ begin
with a variance of 1/128, and {{term}}`weight decay` pulls on them.

**The variants differ in more than blindness.** At the start a norm makes the input of its
branch about eleven times longer. So "M is faster than No LN" compares networks that differ
in the size of that input too. [Figure 3](fig03_mechanism.ipynb) asks what the MLP reads.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-tab01-gradient
# The output of the MLP does not change when a row $y$ is multiplied by $c$. What is the
# inner product of $y$ with the gradient that reaches it through the MLP? What does that mean
# for the length of $y$ in training?
# ```
#
# ````{solution} ex-singh2026-tab01-gradient
# :class: dropdown
# Zero: the derivative by $c$ at $c = 1$ is that inner product, and it is the derivative of
# a constant.
#
# ```python
# import torch
# from torch.nn.functional import layer_norm
# y = torch.randn(128, dtype=torch.float64, requires_grad=True)
# matrix = torch.randn(512, 128, dtype=torch.float64)
# (matrix @ layer_norm(y, (128,), eps=0.0)).relu().sum().backward()
# print(f"inner product {abs(float(y.detach() @ y.grad)):.1e}")
# ```
#
# Behind a norm a row is only turned. Gradient descent in small steps would keep its length.
# Adam's steps do not keep the inner product, and the residual path adds its own gradient.
# ````
#
# ```{exercise}
# :label: ex-singh2026-tab01-final
# Which norm would have to be added to M to make the logits ignore the length of $y$ too?
# ```
#
# ```{solution} ex-singh2026-tab01-final
# :class: dropdown
# One before the unembedding is not enough: the MLP's part does not grow with $y$, so the
# sum changes its direction. One on the residual stream itself is, as `post_attention` among
# the norms of `models.Transformer`. Then $y$ is normalised before it branches.
# ```
#
# ```{exercise}
# :label: ex-singh2026-tab01-eps
# Give the norm $\varepsilon = 10^{-5}$ and let the embedding shrink to a hundredth, as weight
# decay would like to. What does the norm do then?
# ```
#
# ````{solution} ex-singh2026-tab01-eps
# :class: dropdown
# Little: the variance of a row falls from 1/128 to 8e-7, far below $\varepsilon$. The root is
# nearly constant, and the norm passes the length on:
#
# ```python
# import torch
# from torch.nn.functional import layer_norm
# torch.manual_seed(0)
# x = torch.randn(128, dtype=torch.float64) / 128**0.5
# for c in (1, 0.1, 0.01, 0.001):
#     print(f"{c:5} x: length {float(layer_norm(c * x, (128,)).norm()):.2f}")
# ```
# ````

# %% [markdown]
# ## Run it yourself
#
# Less than a minute. There is nothing to reduce, whatever the scale.
#
# ```bash
# make page PAGE=singh2026/tab01 SCALE=laptop
# ```
#
# There is no record behind this page: every number is computed when it is executed.
