# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Singh et al. 2026 · Table 1]{.kicker} A layer norm hides the length of its input from the path behind it, and from no other path

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the variants, what a seven-fold input moves, and the claims"
import math

import torch

from grokbook import claims, datasets, metrics, models, plots, tables
from grokbook.names import options, resolve
from grokbook.papers import singh2026

plots.use_style()
NAMES = tuple(singh2026.NORMS)
PATHS = ("queries", "keys", "values", "MLP")
EFFECTS = ("attention weights", "output of attention", "output of MLP", "logits")
ZERO = 1e-12  # relative; float64 rounds at 2e-16
torch.manual_seed(0)
tokens = datasets.modular(113, train_fraction=0.3, equals=True).x_train[:128]


def build(name, spread=0.2):
    """A variant at its start in float64, with γ = 1 and β = 0 spread a little."""
    spec = singh2026.network("paper", singh2026.NORMS[name])
    torch.manual_seed(0)
    model = resolve("model", spec)(**options(spec)).double().requires_grad_(False)
    for weight in model.blocks[0].norms.parameters():
        weight += spread * torch.randn_like(weight)
    return model


def run(model, x):
    """What the first block makes of x at each of its taps."""
    seen = models.Recorder()
    model.blocks[0](x, 0, seen)
    return seen.found


def after(model, y):
    """Output of the MLP, and logits, when the MLP's side of the block is given y."""
    seen = models.Recorder()
    z = model.blocks[0].finish(y, torch.zeros_like(y), seen)
    return seen.found["mlp_out.0"], model.unembedding(z)


def inputs(model):
    """x and y of the sample, both (samples, 3, width)."""
    x = model.embed(tokens)
    return x, x + run(model, x)["attention_out.0"]


def everything(model, x, y):
    """What each path reads of x or y, then what they make of it."""
    block, seen, found = model.blocks[0], [], run(model, x)
    read = block.attention
    matrices = (read.query, read.key, read.value, block.mlp[0])
    hooks = [
        matrix.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        for matrix in matrices
    ]
    read(block.norm("query_key", x), block.norm("value", x))
    made = after(model, y)
    for hook in hooks:
        hook.remove()
    return *seen, found["attention.0"], found["attention_out.0"], *made


def moved(changed, before):
    """Length of a change over the length before, of all rows together."""
    return float((changed - before).norm() / before.norm())


def stretch(name, tap, factor=7):
    """By what the length of each row at a tap grows when x is, with γ = 1 and β = 0."""
    model = build(name, spread=0)
    x = inputs(model)[0]
    return run(model, factor * x)[tap].norm(dim=-1) / run(model, x)[tap].norm(dim=-1)


def entropy(weights):
    """Of every query of every head, in nats."""
    return -torch.special.xlogy(weights, weights).sum(-1)


change = {}
for name in NAMES:
    model = build(name)
    x, y = inputs(model)
    pairs = zip(everything(model, 7 * x, 7 * y), everything(model, x, y), strict=True)
    told = (moved(*pair) for pair in pairs)
    change[name] = dict(zip(PATHS + EFFECTS, told, strict=True))

sheet = claims.Sheet("singh2026/tab01")
LOOSE = (1e-3, 1 / 7, 7, 1e3)
kept = []
for name in ("M", "M+A*"):
    model = build(name)
    y = inputs(model)[1]
    made = after(model, y)[0]
    rows = [(after(model, c * y)[0] - made).norm(dim=-1) for c in LOOSE]
    kept.append(torch.stack(rows) / made.norm(dim=-1))
kept = torch.cat(kept).flatten()
sheet.exact(
    "M and M+A*: a row of y times 1/1,000, 1/7, 7 or 1,000 does not change the output of "
    "the MLP (rows, relative change up to 1e-12)",
    "fully removes scale from the MLP input",
    f"{int((kept <= ZERO).sum()):,} of {len(kept):,} rows unchanged",
    where="Section 2.4",
    held=int((kept <= ZERO).sum()),
    n=len(kept),
    main=True,
)
TABLE, ATTENTION = "Table 1", ("queries", "keys", "values")
for name, quote, where, blind in (
    ("No LN", "default architecture without any LN", TABLE, ()),
    ("A*", "LN only on inputs to the attention", TABLE, ATTENTION),
    ("M+A*", "LN on inputs to both attention and MLP", TABLE, PATHS),
    ("M", "LN only on inputs to the MLP", TABLE, ("MLP",)),
    (
        "A^qk",
        "LN is applied only on inputs to query and key channels",
        "Section 2.4, footnote 2",
        ("queries", "keys"),
    ),
    ("A^v", "only applies LN to the value inputs", "Section 2.4", ("values",)),
):
    still = [path for path in PATHS if change[name][path] <= ZERO]
    sheet.exact(
        f"{name}: seven times the input leaves {' and '.join(blind) or 'no path'} "
        "unmoved and moves the others (paths)",
        quote,
        f"unmoved: {', '.join(still) or 'none'}",
        where=where,
        held=sum((path in still) == (path in blind) for path in PATHS),
        n=len(PATHS),
    )

PINNED = ("A*", "M+A*", "A^qk")
still = [name for name in PINNED if change[name]["attention weights"] <= ZERO]
sheet.exact(
    "a norm on queries and keys (A*, M+A*, A^qk): 7x gives the attention weights of x",
    "removing embedding scale that acts as a degree of freedom for the network",
    f"the same in {', '.join(still)}; without, they move by "
    f"{change['No LN']['attention weights']:.0%}",
    where="Figure 3, caption",
    held=len(still),
    n=len(PINNED),
)
free = build("No LN")
x, y = inputs(free)
sharp = [entropy(run(free, c * x)["attention.0"]).flatten() for c in (1, 7, 49)]
falls = (sharp[1] < sharp[0]) & (sharp[2] < sharp[1])
sheet.exact(
    "No LN: the attention of every query is sharper at 7x than at x, and at 49x than at "
    "7x (entropy, nats)",
    "the scale of these embeddings affects the sharpness",
    "mean " + ", ".join(f"{float(one.mean()):.3f}" for one in sharp),
    where="Section 2.4",
    held=int(falls.sum()),
    n=len(falls),
)
read, other = free.blocks[0].attention, torch.randn_like(x)
linear = [
    moved(read(x, 7 * x), 7 * read(x, x)),
    moved(read(x, x + other), read(x, x) + read(x, other)),
]
sheet.exact(
    "with queries and keys fixed, seven times the values give seven times the output, "
    "and a sum of two values the sum",
    "is linear in terms of the embeddings given as input to the value channel",
    f"{sum(one <= ZERO for one in linear)} of {len(linear)} equalities",
    where="Section 2.4",
    held=sum(one <= ZERO for one in linear),
    n=len(linear),
)
out = {name: stretch(name, "attention_out.0") for name in ("No LN", "A^v")}
below = (out["A^v"] < out["No LN"]).flatten()
sheet.exact(
    "at 7x the output of attention is longer than at x, by less in A^v than in No LN "
    "(mean factor)",
    "can limit radial variation contributed by the attention output",
    f"A^v {float(out['A^v'].mean()):.2f}, No LN {float(out['No LN'].mean()):.2f}",
    where="Section 2.4",
    held=int(below.sum()),
    n=len(below),
)
given = {name: stretch(name, "mlp_in.0") for name in ("M", "A^v", "No LN")}
between = (given["M"] - 1).abs().flatten() <= ZERO
between &= (given["A^v"] > 1 + ZERO).flatten()
sheet.exact(
    "at 7x the input of the MLP is as long as at x in M, and longer in A^v (mean factor)",
    "it does not do so to the extent as configuration",
    ", ".join(f"{name} {float(one.mean()):.2f}" for name, one in given.items()),
    where="Section 2.4",
    held=int(between.sum()),
    n=len(between),
)
sheet.box()
