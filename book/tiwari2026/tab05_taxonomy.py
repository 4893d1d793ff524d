# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Tiwari et al. 2026 · Table 5]{.kicker} A taxonomy without an experiment, measured in small networks with two seeds: weight decay does not collapse the rank, and the penalty enlarges one radius

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
from itertools import product

import pandas as pd
import torch
from IPython.display import display

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers import tiwari2026

plots.use_style()
WORDS = {  # Table 5, row by row: space, constraint, radial suppression, rank effect
    "Weight Decay": ("Weight", "Isotropic", "Indirect", "Collapse"),
    "Spectral Norm": ("Weight", "bound", "Indirect", "Preserved"),
    "LayerNorm": ("Activation", "Hard (per-token)", "Direct", "Preserved"),
    "MAN ()": ("Activation", "Soft (toward zero)", "Direct", "Preserved"),
    "Grad": ("Parameter", "Gradient projection", "Direct", "Preserved"),
    "Spherical Projection": ("Activation", "Hard (global)", "Complete", "Collapse"),
    "Ours": ("Activation", "Soft ( target)", "Direct", "Preserved"),
}
ARMS = {  # ours: record and arm of each, and the arm without it
    "Weight Decay": ("fig01", "strong decay", "baseline"),
    "LayerNorm": ("tab02", "layer norm", "baseline"),
    "MAN ()": ("tab02", "MAN 0.05", "baseline"),
    "Grad": ("remedies", "⊥Grad", "softmax"),
    "Ours": ("fig01", "penalty", "baseline"),
}
COLORS = {"Grad": "⊥Grad", "MAN ()": "MAN", "LayerNorm": "layer norm"}
COLORS |= {"Weight Decay": "strong decay", "Ours": "penalty"}
TABLE2 = {"baseline": 135, "strong decay": 402, "MAN": 400, "penalty": 443}
READINGS = [
    f"{rank}{rows}{kind}.hidden.{layer}"
    for rank, rows, kind, layer in product(
        ("stable_rank", "effective_rank"), ("", "_256"), ("", "_centred"), (0, 1)
    )
]
LAYERS = ("radius.pre.0", "radius.pre.1")
none = pd.Series(dtype=float)


page = {"scale": scale, "retrain": retrain, "device": device}
records = {
    name: evidence.stored(f"tiwari2026/{name}", arms=arms, **page)
    for name, arms in (("fig01", ("penalty",)), ("tab02", ()), ("remedies", ()))
}


def run_of(method, *, without=False):
    """The run of a method, or of the same network without it; None if not run."""
    name, *arms = ARMS[method]
    home = "fig01" if arms[without] == "baseline" else name
    if records[home] is None:
        return None
    run = Run(records[home], arms[without], arms[without], plots.COLOUR[COLORS[method]])
    return run if run.seeds else None


runs = {method: run for method in ARMS if (run := run_of(method))}
base = records["fig01"]
push = Run(base, "penalty", "penalty", plots.COLOUR["penalty"])
free = Run(base, "baseline", "baseline", plots.COLOUR["baseline"])
target = push.settings.model.options["widths"][0] ** 0.5


def kept(run):
    """Rank at the end over that at the start: a row for each reading, seeds across."""
    if not (run and run.seeds) or run.arm == "⊥Grad":  # its record has no ranks
        return pd.DataFrame()
    ratios = {c: run.last(c) / run.at(c, 0) for c in READINGS}
    return pd.DataFrame(ratios).T.dropna(axis=1, how="any")


def effect(method):
    """The median over 16 readings of the rank at the end over that at the start."""
    table = kept(runs.get(method))
    return table.median().astype(float) if len(table.columns) else none


def beside(method):
    """Radius at the end over that without the method, for both layers."""
    with_it, without = runs.get(method), run_of(method, without=True)
    if not (with_it and without):
        return [none, none]
    pairs = [evidence.paired(with_it.last(c), without.last(c)) for c in LAYERS]
    return [(one / other).astype(float) for one, other in pairs]


def larger(method):
    """The same for the layer in which it is larger."""
    one, two = beside(method)
    return one.combine(two, max)


def tell(values, show="{:.2f}"):
    """As `told`; an arm without a seed has nothing to tell yet."""
    return told(values, show) if len(values) else "not run yet"


def quoted(method):
    """The paper's row, without the reference that MAN has after its name."""
    words = " | ".join(WORDS[method])
    return words if method in ("MAN ()", "Grad") else f"| {method} | {words} |"


def listed(*methods):
    """The runs that a claim rests on, of those that there are."""
    pairs = [(runs.get(m), run_of(m, without=True)) for m in methods]
    return [run for pair in pairs for run in pair if run] or [push]


D1 = "Table 5"
sheet = claims.Sheet("tiwari2026/tab05", show="{:.2f}")
sheet.claim(
    runs.get("Weight Decay", push),
    "strong weight decay: the rank at the end is at most half of that at the start (median "
    "of 16 readings)",
    quoted("Weight Decay"),
    effect("Weight Decay"),
    where=D1,
    at_most=0.5,
    main=True,
)
for method in ("Ours", "MAN ()", "LayerNorm"):
    name = ARMS[method][1]
    sheet.claim(
        runs.get(method, push),
        f"{name}: the rank at the end is at least 80 % of that at the start (median of 16 "
        "readings)",
        quoted(method),
        effect(method),
        where=D1,
        at_least=0.8,
    )
for method in ("Weight Decay", "Ours"):
    sheet.claim(
        listed(method),
        f"{ARMS[method][1]}: both radii end below those without it (larger ratio)",
        quoted(method),
        larger(method),
        where=D1,
        below=1,
    )
words = "⊥Grad: both radii end below those without it (larger ratio)"
claim = (listed("Grad"), words, quoted("Grad"), larger("Grad"))
sheet.claim(*claim, where=D1, below=1)
for method in ("Spectral Norm", "Spherical Projection"):
    said = WORDS[method]
    words = f"{method.lower()}: suppression {said[2].lower()}, rank {said[3].lower()}"
    sheet.not_run(words, " | ".join(said), where=D1)
collapsed = TABLE2["strong decay"] / TABLE2["baseline"]
sheet.exact(
    "by Table 2 strong decay has a lower rank than the baseline",
    "| Baseline (WD) | DNG | 1.7% | 135 | 42.5 |",
    f"{TABLE2['strong decay']} / {TABLE2['baseline']} = {collapsed:.1f}",
    where="Table 2",
    held=int(collapsed < 1),
    n=1,
)
if free.seeds:
    words = "baseline: rank at the end over that at the start (median of 16 readings)"
    sheet.extra(free, words, kept(free).median().astype(float))
for method in [m for m in runs if m != "LayerNorm"]:  # whose radius is √d by construction
    for layer, ratios in enumerate(beside(method), start=1):
        words = f"{ARMS[method][1]}, layer {layer}: radius at the end over that without it"
        sheet.extra(listed(method), words, ratios)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab05
#| caption: >
#|   (a) Rank at the end over that at the start, each dot one of 16 readings: stable or
#|   entropy rank, all pairs or 256, centred or not, both layers after the ReLU; the bar is
#|   their median. Grey: at most one half, "collapse". At the right, the word of Table 5.
#|   (b) Mean radius at the end, over √d: layer 1 dots, layer 2 rings; layer norm has 1 by
#|   construction. Medians of seeds.
#| alt: >
#|   Two panels with a row for each method. The medians of weight decay and of the penalty
#|   both lie near 1. Right: the penalty has both radii at 1, and so has layer norm by
#|   construction. The baseline's lie on either side, those of MAN and ⊥Grad far below.
#| fold: "Code: draw the figure"
rows = ["baseline", *ARMS]
figure, (ranks, radii) = plots.panels(2, height=3.8, sharey=True)
for place, method in enumerate(rows):
    run = free if method == "baseline" else runs.get(method)
    if method in WORDS:
        ranks.text(1.01, place, WORDS[method][3], transform=ranks.get_yaxis_transform(),
                   va="center", fontsize=9)  # fmt: skip
    if not (run and run.seeds):
        for panel in (ranks, radii):
            panel.text(0.5, place, "not run", transform=panel.get_yaxis_transform(),
                       ha="center", va="bottom", fontsize=9, color=plots.GREY)  # fmt: skip
        continue
    table = kept(run)
    if len(table.columns):
        points = table.median(axis=1)
        ranks.plot(points, [place] * len(points), "o", ms=5, alpha=0.5, color=run.color)
        ranks.plot([table.median().median()] * 2, [place - 0.32, place + 0.32],
                   color=run.color)  # fmt: skip
    else:
        ranks.text(1, place, "not measured", ha="center", va="bottom", fontsize=9,
                   color=plots.GREY)  # fmt: skip
    for column, fill, size in zip(LAYERS, (run.color, "none"), (5, 10), strict=True):
        x = run.last(column).median() / target
        radii.plot(x, place, "o", ms=size, color=run.color, mfc=fill)
ranks.axvspan(0.2, 0.5, color="#E6E6E6", zorder=0)
ranks.set(xscale="log", xlim=(0.2, 5), xlabel="rank at the end / at the start")
ranks.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
ranks.minorticks_off()
radii.axvline(1, color=plots.GREY, ls="--", lw=1)
radii.set(xlabel="radius at the end / √d", xlim=(0, None))
ranks.set(ylim=(len(rows) - 0.5, -0.5))
names = ["baseline"] + [ARMS[method][1] for method in ARMS]
ranks.set_yticks(range(len(rows)), names)
plots.letter([ranks, radii], ["rank effect", "radius"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
with_it = [push.last(column) for column in LAYERS]
start = [push.at(column, 0) for column in LAYERS]
bare = [free.last(column) for column in LAYERS]
tables.prose(f"""
* **Strong {{term}}`weight decay`**, "Collapse" in the paper: the median of 16 readings of the
  rank ends at {tell(effect("Weight Decay"))} times its start.
* **The penalty**, "Preserved": {tell(effect("Ours"))} times. The single readings of
  each method lie far apart, as panel (a) shows.
* **The {{term}}`radius`** with the penalty, in layer 1: {tell(start[0], "{:.1f}")} at the
  start, {tell(with_it[0], "{:.1f}")} at the end. In layer 2: {tell(start[1], "{:.1f}")} at the
  start, {tell(with_it[1], "{:.1f}")} at the end. The target is {target:.1f}. At the end of the
  baseline: {tell(bare[0], "{:.1f}")} in layer 1; {tell(bare[1], "{:.1f}")} in layer 2.
* **Two rows** of the table, spectral norm and spherical projection, have no run of ours.
""")

# %% [markdown]
# ## The idea
#
# Table 5 is a classification: seven methods, what each of them constrains, and two columns
# of consequences. It has no numbers and no experiment. "Rank effect" can be measured, once
# three things are fixed that the paper leaves open: which rank, of which rows, of which layer.
# Here are the two ranks that are in question, of a matrix with singular values $\sigma_i$ and
# $q_i = \sigma_i / \sum_j \sigma_j$:
#
# $$
# \text{stable} = \frac{\sum_i \sigma_i^2}{\sigma_1^2} , \qquad
# \text{entropy} = \exp \Bigl( - \sum_i q_i \ln q_i \Bigr) .
# $$

# %%
def two_ranks(matrix):
    """Stable and entropy rank of the rows of a matrix."""
    sigma = torch.linalg.svdvals(matrix)
    q = sigma / sigma.sum()
    stable = (sigma**2).sum() / sigma[0] ** 2
    return stable.item(), (-(q * q.log()).sum()).exp().item()


draw = torch.Generator().manual_seed(0)
rows_of_noise = torch.randn(256, 128, generator=draw, dtype=torch.float64)
shifted = rows_of_noise + 3  # every unit has the same mean over rows
for name, matrix in (("noise", rows_of_noise), ("noise with a mean", shifted)):
    stable, entropy = two_ranks(matrix)
    eigenvalues = metrics.gram_eigenvalues(matrix)
    assert abs(metrics.stable_rank(eigenvalues).item() - stable) < 1e-6
    assert abs(metrics.effective_rank(eigenvalues.sqrt()).item() - entropy) < 1e-6
    print(f"{name}: stable {stable:.1f}, entropy {entropy:.1f}")

# %% [markdown]
# The {term}`stable rank` of rows with a large common mean is close to 1, whatever else they
# do, and activations after a ReLU always have a mean. From there it cannot collapse, there is
# nowhere to go. The entropy rank, this book's {term}`effective rank`, loses a part. So a method
# that only moves the mean changes the rank, by how much depends on the definition. The table
# below has one reading of each.

# %% tags=["hide-input"]
#| fold: "Code: the paper's words beside our numbers"
def two(method, column):
    """One reading of the rank, start and end."""
    run = runs.get(method)
    if not len(kept(run).columns):
        return "not measured"
    return f"{tell(run.at(column, 0), '{:.1f}')} → {tell(run.last(column), '{:.1f}')}"


head = ["Method", "Suppression", "Radius, layers 1 and 2, over that without it",
        "Rank effect", "Median of 16", "Stable rank, 256 rows, layer 2",
        "Entropy rank, all rows, layer 1"]  # fmt: skip
lines = []
for method, (_, _, suppression, rank_effect) in WORDS.items():
    name = ARMS[method][1] if method in ARMS else method.lower()
    line = [name, suppression]
    if method in runs:
        ratios = "; ".join(tell(ratio) for ratio in beside(method))
        line.append("√d by construction" if method == "LayerNorm" else ratios)
        line += [rank_effect, tell(effect(method)) if len(effect(method)) else "—"]
        line.append(two(method, "stable_rank_256.hidden.1"))
        line.append(two(method, "effective_rank.hidden.0"))
    else:
        line += ["not run", rank_effect, "—", "—", "—"]
    lines.append(line)
tables.grid(head, lines)

# %% [markdown]
# ## The claims
#
# "Collapse" is read as half of the rank at the start or less, "preserved" as 80 % or more, in
# the median of 16 readings. "Direct" and "indirect" suppression are read as a radius below
# that of the same network without the method. The bounds are ours; the table has words only.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(base, paper=tiwari2026.PAPER)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
for record in filter(None, records.values()):
    display(tables.arms(record))

# %% [markdown]
# There is no official code, and the paper ran nothing for this table. Ours:
#
# 1. *Records* are those of [Figure 1](fig01_accuracy_curves.ipynb),
#    [Table 2](tab02_regularisers.ipynb) and [Beyond the paper](remedies.ipynb), at width 128
#    and with 60 % of the pairs on a laptop.
# 2. *Without it* means the baseline with weight decay 0.001. For
#    {term}`⊥Grad <orthogonal gradient>` it is the arm without any decay, of the same record,
#    where ranks are not logged.
# 3. *Start and end.* Ranks at initialisation and at a run's own end, which is earlier for
#    runs that generalise.
# 4. *Layer norm's radius* is that after the norm, which the ReLU reads. It is $\sqrt d$ from
#    the first epoch on by construction, so it is not compared with the baseline's.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
def spread(run):
    """From the lowest to the highest of the 16 readings, median of seeds."""
    table = kept(run).median(axis=1)
    return f"{table.min():.2f} to {table.max():.2f}" if len(table) else "not run yet"


lowest = kept(runs.get("Weight Decay"))
halved = (lowest <= 0.5).sum().astype(float) if len(lowest.columns) else none
layers, tall = beside("Ours"), free.last(LAYERS[0])
tables.prose(f"""
**"Collapse" contradicts the paper's own table.** Table 2 gives strong
{{term}}`weight decay` a rank of {TABLE2["strong decay"]}, the baseline {TABLE2["baseline"]},
{{term}}`MAN` {TABLE2["MAN"]} and the penalty {TABLE2["penalty"]}. By these numbers decay
raises the rank three times. Yet Section 4.3 speaks of "isotropic regularizers, which reduce
sharpness by collapsing the spectrum". Both cannot be.

**Nor is it in our runs,** as a whole. Readings that fall to half or less with strong decay:
{tell(halved, "{:.0f}")} of {len(READINGS)}. All readings run from
{spread(runs.get("Weight Decay"))} times the start with
strong decay, and from {spread(push)} with the penalty. "Rank effect" without a definition
says little about either.

**"Direct suppression" of what?** The radius with the penalty ends, over that of the baseline,
at {tell(layers[0])} in layer 1; at {tell(layers[1])} in layer 2. A target suppresses a layer
above it and inflates a layer below it. Layer 1, which reads
{{term}}`one-hot <one-hot encoding>` inputs, ends at {tell(tall, "{:.1f}")} in the baseline,
and the target is {target:.1f}.

**⊥Grad works on weights.** It removes the part of a gradient along the weights, which is not
the part of a gradient along activations. "Direct" fits the first, and the column is about the
second.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab05-centred
# In the cell above, what are both ranks of the noise with a mean after centring?
# ```
#
# ````{solution} ex-tiwari2026-tab05-centred
# :class: dropdown
# ```python
# import torch
# from grokbook.metrics import effective_rank, gram_eigenvalues, stable_rank
# draw = torch.Generator().manual_seed(0)
# noise = torch.randn(256, 128, generator=draw, dtype=torch.float64)
# for shift in (0, 3):
#     rows = noise + shift
#     rows = rows - rows.mean(0)
#     found = gram_eigenvalues(rows)
#     stable, entropy = stable_rank(found).item(), effective_rank(found.sqrt()).item()
#     print(shift, f"stable {stable:.1f}, entropy {entropy:.1f}")
# ```
#
# Those of the noise: centring removes what all rows share.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab05-decay
# Weight decay multiplies all weights of a layer without biases by the same factor below 1.
# What does that alone do to the radius, and to both ranks, of the layer's pre-activations?
# ```
#
# ````{solution} ex-tiwari2026-tab05-decay
# :class: dropdown
# The radius takes the factor, the ranks stay: they do not depend on a common scale.
#
# ```python
# import torch
# sigma = torch.tensor([5.0, 2.0, 1.0])
# for factor in (1.0, 0.3):
#     s = factor * sigma
#     q = s / s.sum()
#     entropy = (-(q * q.log()).sum()).exp()
#     print(factor, f"{(s**2).sum() / s[0]**2:.2f} {entropy:.2f}")
# ```
#
# What decay does to a rank, it does together with the gradient.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab05-sphere
# "Spherical Projection: Collapse." Does dividing every row by its length lower its rank?
# ```
#
# ````{solution} ex-tiwari2026-tab05-sphere
# :class: dropdown
# Not by itself: it multiplies the matrix by an invertible diagonal one from the left, and
# the number of independent rows stays.
#
# ```python
# import torch
# rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
# unit = rows / rows.norm(dim=1, keepdim=True)
# print(torch.linalg.matrix_rank(rows).item(), torch.linalg.matrix_rank(unit).item())
# ```
#
# In training it may do either, which would need a run.
# ````

# %% [markdown]
# ## Run it yourself
#
# The records of Figure 1 and Table 2, some two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab05 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(*filter(None, records.values()))
