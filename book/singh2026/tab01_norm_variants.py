# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 1: Each placement of the layer norm removes one scale and no other (reproduced)
#
# **Claim.** Four transformers differ only in where a layer norm (LN) stands: before the
# attention (A\*), before the MLP (M), before both, or nowhere; section 2.4 of the paper
# adds one on queries and keys alone (A^qk) and one on values alone (A^v)
# {cite:p}`singh2026`. **Here.** Nothing is trained. The table is read off the network that
# all pages of this chapter train, and what each placement should do is checked in float64.
# **What came out.** Every norm sits where the paper puts it and takes away the scale
# behind it, to rounding; no variant is free of scale as a whole. The untrained losses fit
# the authors' logs.

# %% [markdown]
# ## The idea in code
#
# For tokens $t_1, t_2, t_3$ = (a, b, "="), of which the last one is read:
#
# $$
# x_i = W_E t_i + \rho_i, \qquad
# y = x + \operatorname{MHSA}(x^Q, x^K, x^V), \qquad
# z = y_3 + W_2\, \sigma(W_1 u + b_1) + b_2, \qquad
# o = W_U z .
# $$
#
# In the network without norms $x^Q = x^K = x^V = x$ and $u = y_3$. A variant replaces some
# of these four inputs by their normalised form
#
# $$
# \operatorname{LN}(v) = \gamma \odot
#   \frac{v - \bar v}{\sqrt{\operatorname{Var}(v) + \varepsilon}} + \beta .
# $$
#
# With $\varepsilon = 0$, as in the released code, $\operatorname{LN}(cv) =
# \operatorname{LN}(v)$ for every $c > 0$, whatever the learned $\gamma$ and $\beta$ are:
# what comes after it cannot know how long $v$ was. Both formulas again, as code that this
# page uses to check the book's faster network:

# %% tags=["parameters"]
starts = 30  # random initial states for the initial loss
rows = 128  # samples of each exact check

# %% tags=["hide-input"]
import math

import torch
import torch.nn.functional as F

from grokbook import claims, datasets, models, plots, tables
from grokbook.names import options, resolve
from grokbook.papers import singh2026

plots.use_style()


# %%
def layer_norm(v, gamma, beta, eps=0.0):
    centred = v - v.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return gamma * centred / (variance + eps).sqrt() + beta


def forward(model, tokens, positions):
    """The logits o, with a norm at every one of the named positions."""
    block = model.blocks[0]

    def LN(position, v):
        if position not in positions:
            return v
        norm = block.norms["mlp" if position == "mlp" else "attention"]
        return layer_norm(v, norm.weight, norm.bias)

    def heads(v):  # (samples, 3, d) -> (samples, heads, 3, d / heads)
        return v.unflatten(-1, (block.attention.heads, -1)).transpose(1, 2)

    x = model.embedding[tokens] + model.position
    q = heads(block.attention.query(LN("query_key", x)))
    k = heads(block.attention.key(LN("query_key", x)))
    v = heads(block.attention.value(LN("value", x)))
    mixed = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v
    y = x + block.attention.output(mixed.transpose(1, 2).flatten(-2))
    first, second = block.mlp
    z = y + second(F.gelu(first(LN("mlp", y))))
    return model.unembedding(z[:, -1])


# %% [markdown]
# ## The table
#
# The inputs of the four matrices are caught while the network runs and compared with $x$,
# $y$ and their normalised forms, with random $\gamma$ and $\beta$; the parameters are
# counted. "Initial loss" is the mean training loss before any step; a network that knows
# nothing has $\ln 114$.


# %% tags=["hide-input"]
def build(name, seed=0, learned=False, dtype=torch.float64, **changes):
    """A variant at its start, with random weights in its norms if `learned`."""
    spec = singh2026.network("paper", singh2026.NORMS[name], **changes)
    torch.manual_seed(seed)
    model = resolve("model", spec)(**options(spec)).to(dtype)
    if learned:
        for norm in model.blocks.modules():
            if isinstance(norm, torch.nn.LayerNorm | torch.nn.RMSNorm):
                for weight in norm.parameters():
                    weight.data += 0.2 * torch.randn_like(weight)
    return model


def inputs_of(model):
    """What each matrix of the first block reads, and x and y themselves."""
    block, seen, hooks = model.blocks[0], {}, []
    matrices = {
        "x^Q": block.attention.query,
        "x^K": block.attention.key,
        "x^V": block.attention.value,
        "u": block.mlp[0],
    }
    for name, matrix in matrices.items():
        hook = matrix.register_forward_pre_hook(
            lambda _, given, name=name: seen.update({name: given[0]})
        )
        hooks.append(hook)
    hooks.append(
        block.attention.register_forward_hook(
            lambda *told: seen.update(attended=told[-1])
        )
    )
    with torch.no_grad():
        model(tokens, models.Recorder())  # every position, nothing skipped
    for hook in hooks:
        hook.remove()
    seen["x"] = model.embedding[tokens] + model.position
    seen["y"] = seen["x"] + seen.pop("attended")
    return seen


def kind(model, given, source, letter):
    """ "x", "LN(x)" or "?" for one input of a matrix."""
    if torch.equal(given, source):
        return letter
    for norm in model.blocks[0].norms.values():
        expected = layer_norm(source, norm.weight, norm.bias)
        if (given - expected).abs().max() < 1e-12:
            return f"LN({letter})"
    return "?"


def size(model):
    return sum(weight.numel() for weight in model.parameters())


torch.manual_seed(0)
data = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
tokens, labels = data.x_train[:rows], data.y_train[:rows]
NAMES = tuple(singh2026.NORMS)
READS = ("x^Q", "x^K", "x^V", "u")
with torch.no_grad():
    read = {}
    for name in NAMES:
        model = build(name, learned=True)
        seen = inputs_of(model)
        read[name] = {
            r: kind(
                model, seen[r], *((seen["y"], "y") if r == "u" else (seen["x"], "x"))
            )
            for r in READS
        }

initial = {name: [] for name in NAMES}
for seed in range(starts):
    torch.manual_seed(seed)
    split = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
    for name in NAMES:
        model = build(name, seed, dtype=torch.float32).requires_grad_(False)
        logits = model(split.x_train).double()
        initial[name].append(float(F.cross_entropy(logits, split.y_train)))
mean = {name: sum(values) / starts for name, values in initial.items()}
deviation = {
    name: math.sqrt(sum((v - mean[name]) ** 2 for v in values) / (starts - 1))
    for name, values in initial.items()
}

# %% tags=["hide-input"]
plain = size(build("No LN"))
HEAD = ["Name", *READS, "Norms", "Extra parameters", "All parameters", "Initial loss"]
lines = []
for name in NAMES:
    model = build(name)
    norms = model.blocks[0].norms
    lines.append(
        [
            name + ("" if name != "M+A^v" else " (logged, not in the paper)"),
            *read[name].values(),
            str(len(norms)),
            ", ".join(f"γ, β of {key}" for key in norms) or "none",
            f"{size(model):,} ({size(model) - plain:+,})",
            f"{mean[name]:.3f} ± {deviation[name]:.3f}",
        ]
    )
tables.grid(HEAD, lines)

# %% [markdown]
# ## What each placement forgets
#
# Every row of $x$ is multiplied by its own random factor between 1/4 and 4, and apart from
# that every row of $y$. How much does what follows change?


# %% tags=["hide-input"]
def relative(before, after):
    return float((after - before).norm() / before.norm())


def responses(model, x, y, factors):
    """Relative change of five quantities when rows of x, then of y, are rescaled."""
    block = model.blocks[0]

    def attention(x):
        seen = models.Recorder()
        inputs = block.norm("query_key", x), block.norm("value", x)
        out = block.attention(*inputs, 0, seen)
        return seen.found["attention.0"], block.attention.value(inputs[1]), out

    def mlp(y):
        first, second = block.mlp
        added = second(F.gelu(first(block.norm("mlp", y))))
        return added, model.unembedding(y + added)

    pairs = [
        *zip(attention(x), attention(factors * x), strict=True),
        *zip(mlp(y), mlp(factors * y), strict=True),
    ]
    return dict(zip(QUANTITIES, (relative(*pair) for pair in pairs), strict=True))


QUANTITIES = {
    "weights": "attention\nweights\n(x → cx)",
    "values": "values\n(x → cx)",
    "attended": "output of\nattention\n(x → cx)",
    "mlp": "output of\nMLP\n(y → cy)",
    "logits": "logits\n(y → cy)",
}
torch.manual_seed(1)
factors = 4 ** (2 * torch.rand(rows, 3, 1, dtype=torch.float64) - 1)
with torch.no_grad():
    change = {}
    for name in NAMES:
        model = build(name, learned=True)
        seen = inputs_of(model)
        change[name] = responses(model, seen["x"], seen["y"], factors)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Left: relative change of five quantities under random factors on the rows of x or of y; 0 means that nothing beyond rounding changes. Right: training loss at the start, one dot per random state, beside the mean of five seeds in the authors' logs and the loss of a guess.", "name": "fig-singh2026-tab01"}, "image": {"alt": "Left: grid of seven variants by five quantities. Attention weights do not change in M+A*, A* and A^qk, values not in M+A*, A*, A^v and M+A^v, the output of attention only in M+A* and A*, the output of the MLP only in M, M+A* and M+A^v, and the logits change everywhere. Right: No LN and A^qk start at 4.74, the loss of a guess, the other variants between 4.8 and 5.0; the authors' means lie among the dots."}}
LOGS = {
    "No LN": 4.741763,
    "A*": 4.831367,
    "M+A*": 4.943989,
    "M": 4.874397,
    "A^v": 4.821039,
}
figure, (grid, losses) = plots.panels(2, height=4.0, width_ratios=(1.45, 1))
values = [[change[name][q] for q in QUANTITIES] for name in NAMES]
shown = [[min(value, 2.0) for value in line] for line in values]
grid.imshow(shown, cmap="Blues", vmin=0, vmax=2.4, aspect="auto")
for i, line in enumerate(values):
    for j, value in enumerate(line):
        word = "0" if value < 1e-12 else f"{value:.2f}"
        dark = "white" if shown[i][j] > 1.3 else plots.BLACK
        grid.text(j, i, word, ha="center", va="center", color=dark)
grid.set_xticks(range(len(QUANTITIES)), QUANTITIES.values(), fontsize=8)
grid.set_yticks(range(len(NAMES)), NAMES)
grid.grid(False)
for i, name in enumerate(NAMES):
    losses.plot(initial[name], [i] * starts, ".", color=plots.BLUE, alpha=0.6)
    if name in LOGS:
        losses.plot(LOGS[name], i, "D", ms=7, mfc="none", mew=1.6, color=plots.RED)
losses.plot([], [], ".", color=plots.BLUE, label=f"here, {starts} random states")
losses.plot(
    [], [], "D", ms=7, mfc="none", color=plots.RED, label="authors' logs, 5 seeds"
)
losses.axvline(math.log(114), color=plots.BLACK, ls=":", label="ln 114")
losses.set(xlabel="initial training loss", ylim=(len(NAMES) - 0.5, -0.5))
losses.set_yticks(range(len(NAMES)), [""] * len(NAMES))
losses.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
plots.letter([grid, losses], ["what a rescaling changes", "initial loss"])
figure.show()

# %% [markdown]
# ## Check
#
# Each line evaluates one statement in float64 at every point of a set. "Where the paper puts
# it" is typed from the paper's Table 1 and its section 2.4, apart from the experiments of the
# book. What the paper does not say is reported and not judged.

# %% tags=["hide-input"]
TABLE_1 = {  # which of x^Q, x^K, x^V and u are normalised
    "No LN": (False, False, False, False),
    "A*": (True, True, True, False),
    "M+A*": (True, True, True, True),
    "M": (False, False, False, True),
    "A^qk": (True, True, False, False),
    "A^v": (False, False, True, False),
}
EXTRA = {"No LN": 0, "A*": 256, "M+A*": 512, "M": 256, "A^qk": 256, "A^v": 256}
placed = [
    read[name][r] == (f"LN({letter})" if normed else letter)
    for name, wanted in TABLE_1.items()
    for r, normed, letter in zip(READS, wanted, "xxxy", strict=True)
]


def blind(quantity, names):
    """How many of these variants do not see the factors, and the largest change."""
    found = [change[name][quantity] for name in names]
    return sum(value < 1e-12 for value in found), max(found)


def words(largest):
    return "no change beyond 1e-12" if largest < 1e-12 else f"changes by {largest:.1e}"


FORGETS = (
    ("attended", ("A*", "M+A*"), "the output of attention", "each row of x"),
    ("mlp", ("M", "M+A*"), "the output of the MLP", "each row of y"),
    ("weights", ("A*", "M+A*", "A^qk"), "the attention weights", "each row of x"),
    ("values", ("A*", "M+A*", "A^v"), "the values", "each row of x"),
)
found = [
    claims.exact(
        "a norm stands before exactly those of x^Q, x^K, x^V and u where the paper puts "
        "one (four inputs of six variants)",
        "Table 1, section 2.4",
        f"{sum(placed)} of {len(placed)} inputs",
        held=sum(placed),
        n=len(placed),
        source="Table 1",
    )
]
for quantity, names, what, scaled in FORGETS:
    held, largest = blind(quantity, names)
    found.append(
        claims.exact(
            f"{', '.join(names)}: the length of {scaled} does not matter to {what}",
            "the scale is removed",
            words(largest),
            held=held,
            n=len(names),
            source="Table 1",
        )
    )
seeing = {
    "No LN": ("weights", "values", "attended", "mlp"),
    "A^qk": ("values", "attended", "mlp"),
    "A^v": ("weights", "attended", "mlp"),
    "A*": ("mlp",),
    "M": ("weights", "values", "attended"),
}
kept = [change[name][q] for name, quantities in seeing.items() for q in quantities]
found.append(
    claims.exact(
        "where a variant has no norm, the length does matter (change above 1e-6)",
        "the scale stays",
        f"smallest change {min(kept):.1%}",
        held=sum(value > 1e-6 for value in kept),
        n=len(kept),
        source="2.4",
    )
)

# %% tags=["hide-input"]
shared = []
for name in ("A*", "M+A*"):
    seen = inputs_of(build(name, learned=True))
    same = torch.equal(seen["x^Q"], seen["x^K"]) and torch.equal(
        seen["x^Q"], seen["x^V"]
    )
    norms = [key for key in build(name).blocks[0].norms if key != "mlp"]
    shared.append(same and len(norms) == 1)
counted = {name: size(build(name)) - plain for name in EXTRA}
found += [
    claims.exact(
        "queries, keys and values share one norm, with one γ and β",
        "one symbol, LN(x)",
        "one norm before attention",
        held=sum(shared),
        n=len(shared),
        source="Table 1; official code",
    ),
    claims.exact(
        "a norm adds γ and β of 128 entries each: 256 parameters, or 512 for two norms",
        "γ and β are learnable",
        ", ".join(f"{name} {n:+d}" for name, n in counted.items() if n),
        held=sum(counted[name] == n for name, n in EXTRA.items()),
        n=len(EXTRA),
        source="2.2",
    ),
]


def after_a_step(name, decay):
    """γ of every norm after one step from the same start, and γ before it."""
    model = build(name, learned=True)
    gammas = [norm.weight for norm in model.blocks[0].norms.values()]
    before = torch.cat([gamma.detach().clone() for gamma in gammas])
    spec = singh2026.adamw(weight_decay=decay)
    optimizer = resolve("optimizer", spec)(model.parameters(), **options(spec))
    F.cross_entropy(model(tokens), labels).backward()
    optimizer.step()
    return torch.cat([gamma.detach() for gamma in gammas]), before


rate = singh2026.adamw().options["lr"]
decayed, entries = 0, 0
for name in NAMES:
    if build(name).blocks[0].norms:
        (with_decay, before), (without, _) = (after_a_step(name, d) for d in (1.0, 0.0))
        lost = without - with_decay
        decayed += int(((lost - rate * before).abs() < 1e-12).sum())
        entries += lost.numel()
found.append(
    claims.exact(
        "γ is decayed like every other weight: a step with decay 1 takes ηγ more off it "
        "than one without",
        "not stated; official code: yes",
        f"η = {rate:g}, {decayed:,} of {entries:,} entries",
        held=decayed,
        n=entries,
        source="official code",
        extra=True,
    )
)

# %% [markdown]
# The network that is trained computes less than its formula says: only the last position is
# read, and the rows of $x$ depend on a token and its position alone, so there are 342 of
# them instead of three for each sample. That is exact, also in its gradients, and for all
# variants.

# %% tags=["hide-input"]
SMALL = {"depth": 3, "width": 64, "hidden": (256,)}


def gradients(model, run):
    model.zero_grad()
    loss = F.cross_entropy(run(model), labels)
    loss.backward()
    return loss.item(), [weight.grad.clone() for weight in model.parameters()]


def plainly(model):
    with models.fast.off():
        return model(tokens)


def distance(name, other=plainly, **changes):
    """Largest difference in loss and in any gradient, from the plain form or `other`."""
    fast = gradients(build(name, learned=True, **changes), lambda m: m(tokens))
    slow = gradients(build(name, learned=True, **changes), other)
    return abs(fast[0] - slow[0]), max(
        float((a - b).abs().max()) for a, b in zip(fast[1], slow[1], strict=True)
    )


same = [
    distance(name, lambda m, name=name: forward(m, tokens, singh2026.NORMS[name]))
    for name in NAMES
]
same += [distance(name) for name in NAMES]
same += [distance(name, norm="rms") for name in singh2026.HEADLINE[:3]]
same += [distance(name, **SMALL) for name in singh2026.HEADLINE]
held = sum(max(pair) < 1e-12 for pair in same)
found.append(
    claims.exact(
        "the network as trained has the losses and gradients of the formula: one layer "
        "against this page's own code and against the plain form, RMSNorm, three layers",
        "not in the paper",
        "all within 1e-12" if held == len(same) else f"{held} of {len(same)} agree",
        held=held,
        n=len(same),
        source="ours",
        extra=True,
    )
)
apart = {
    name: abs(mean[name] - value) / (deviation[name] * math.sqrt(1 / starts + 1 / 5))
    for name, value in LOGS.items()
}
found.append(
    claims.exact(
        "the mean initial loss of the authors' five seeds is within three standard "
        "errors of ours, for each variant that they logged",
        ", ".join(f"{name} {value:.3f}" for name, value in LOGS.items()) + " (logs)",
        ", ".join(f"{name} {mean[name]:.3f}" for name in LOGS),
        held=sum(value < 3 for value in apart.values()),
        n=len(apart),
        source="logs",
        extra=True,
    )
)


def seeing_at(eps):
    """Relative change of A*'s attention when its norm has an ε."""
    model = build("A*")
    model.blocks[0].norms["attention"].eps = eps
    seen = inputs_of(model)
    return responses(model, seen["x"], seen["y"], factors)["attended"]


with torch.no_grad():
    leak = seeing_at(1e-5)
found.append(
    claims.exact(
        "A* with ε = 1e-5, PyTorch's default, instead of 0: change of the output of "
        "attention under the same factors",
        "ε > 0, no value",
        f"{leak:.1%}",
        held=1,
        n=1,
        extra=True,
    )
)

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/tab01")

# %% [markdown]
# ## Reading the result
#
# **What a name means.** The superscript star of A\* stands for all three of query, key and
# value. The grid shows why the paper takes them apart: a norm on queries and keys fixes the
# attention *weights*, one on values fixes what is *mixed*, and neither alone makes the
# output of attention free of scale. The weights hardly react at the start in any variant:
# rows of length 1 give scores near zero, and attention is close to uniform until the
# embedding has grown.
#
# **What no variant does.** The last column of the grid has no zero. Each norm stands on a
# branch beside a residual stream that keeps its length, and the logits are read from that
# stream without a norm at the end. M takes the scale away from the MLP, not from the
# network: the network can still lower its loss by growing.
#
# **The norms are not neutral at the start.** Without a norm the embedding has rows of
# length about 1, and a norm brings them to $\sqrt{128} \approx 11$. The branch behind it
# begins about eleven times louder. That is why the initial loss exceeds $\ln 114$, and more
# so with two norms; A^qk, whose norm reaches nothing but the weights, starts like No LN.
# "M is faster than No LN" therefore compares networks that differ in the
# size of the MLP's first input as well as in whether that size can be learned;
# the page on Figure 3 is about that difference.
#
# Where paper, official code and this book differ:
#
# 1. *ε.* The paper says $\varepsilon > 0$ without a value; the code and this book have 0.
#    With PyTorch's default a little of the scale leaks through, as the last row of the
#    table says, because the entries of $x$ begin with a variance of about 1/128.
# 2. *Unused norms.* The official network holds two norms in every variant that has one. An
#    unused one has no gradient and is never touched, so it changes nothing but the count.
#    Here it does not exist.
# 3. *γ and β are decayed.* With decay 1 they are pulled to zero like every weight. Many
#    code bases exempt them, which would be another experiment.
# 4. *Starts.* The distributions are those of the official code, the numbers drawn are not;
#    so initial losses agree in the mean and not digit by digit. The logs lie a little above
#    our mean for every variant at once: variants of one seed share their random numbers.
# 5. *M+A^v* is in the authors' logs and not in the paper.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-tab01-gradient
# If the output of attention does not change when a row of $x$ is multiplied by $c$, what is
# the inner product of that row with the gradient that reaches it through attention?
# ```
#
# ```{solution} ex-singh2026-tab01-gradient
# :class: dropdown
# Zero: the derivative with respect to $c$ at $c = 1$ is that inner product, and it is the
# derivative of a constant. So behind a norm a row is only turned by its gradient. Gradient
# descent in small steps would keep its length; Adam's steps do not keep the inner product,
# and the residual path adds a gradient of its own.
# ```
#
# ```{exercise}
# :label: ex-singh2026-tab01-final
# Which norm would have to be added to M to make the logits ignore the length of $y$ too?
# ```
#
# ```{solution} ex-singh2026-tab01-final
# :class: dropdown
# None on the final $z = y_3 + \tilde y_3$ is enough, since the MLP's part does not grow
# with $y$ and the direction of the sum changes. One on the residual stream itself would be,
# as in `norms=("post_attention",)` of `models.Transformer`: then $y$ is normalised before
# both branches.
# ```
#
# ```{exercise}
# :label: ex-singh2026-tab01-eps
# Give the norm $\varepsilon = 10^{-5}$ and let the embedding shrink by a factor of 100, as
# weight decay would like to. What does A\* do to its attention?
# ```
#
# ```{solution} ex-singh2026-tab01-eps
# :class: dropdown
# The variance of a row falls from 1/128 to below 1e-6, far below ε. The norm then divides
# by $\sqrt{\varepsilon}$, a constant, and passes the scale on: attention behaves as without
# a norm, apart from a fixed factor.
# ```

# %% [markdown]
# ## Provenance
#
# No record: every number above is computed when the page is executed.
# `grokbook execute singh2026/tab01` makes the page again in under a minute.
