# %% [markdown]
# # [Tiwari et al. 2026 · Table 5]{.kicker} In small networks decay leaves the rank, the penalty enlarges a radius

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
from itertools import product

import pandas as pd
import torch

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
WORDS = {  # Table 5: radial suppression, rank effect
    "Weight Decay": ("Indirect", "Collapse"),
    "Spectral Norm": ("Indirect", "Preserved"),
    "LayerNorm": ("Direct", "Preserved"),
    "MAN ()": ("Direct", "Preserved"),
    "Grad": ("Direct", "Preserved"),
    "Spherical Projection": ("Complete", "Collapse"),
    "Ours": ("Direct", "Preserved"),
}
ARMS = {  # ours: record and arm of each, the record and arm without it, its colour
    "Weight Decay": ("fig01", "strong decay", "fig01", "baseline", "strong decay"),
    "LayerNorm": ("tab02", "layer norm", "fig01", "baseline", "layer norm"),
    "MAN ()": ("tab02", "MAN 0.05", "fig01", "baseline", "MAN"),
    "Grad": ("remedies", "⊥Grad", "remedies", "softmax", "⊥Grad"),
    "Ours": ("fig01", "penalty", "fig01", "baseline", "penalty"),
}
TABLE2 = {"baseline": 135, "strong decay": 402, "MAN": 400, "penalty": 443}
READINGS = [
    f"{rank}{rows}{kind}.hidden.{layer}"
    for rank, rows, kind, layer in product(
        ("stable_rank", "effective_rank"), ("", "_256"), ("", "_centred"), (0, 1)
    )
]
LAYERS, TWO = ("radius.pre.0", "radius.pre.1"), "{:.2f}"
page = evidence.Page("tiwari2026/tab05", scale, retrain, device)
records = {"fig01": page.record("fig01", arms=("penalty",))}
records |= {name: page.record(name) for name in ("tab02", "remedies")}
runs, plain = {}, {}  # by method: with it and without
for method, (name, arm, home, without, color) in ARMS.items():
    runs[method] = Run(records[name], arm, arm, plots.COLOUR[color])
    plain[method] = Run(records[home], without, without, plots.COLOUR[color])
push, free = (
    Run(records["fig01"], arm, arm, plots.COLOUR[arm]) for arm in ("penalty", "baseline")
)
target = push.settings.model.options["widths"][0] ** 0.5


def kept(run):
    """Rank at the end over that at the start: a row for each reading, seeds across.

    Without a seed where ranks were not logged, as for ⊥Grad.
    """
    there = [c for c in READINGS if c in run.record.frame]
    ratios = {c: run.last(c) / run.at(c, 0) for c in there}
    return pd.DataFrame(ratios, index=run.seeds if there else []).T.dropna(axis=1, how="any")


def effect(run):
    """The median over 16 readings of the rank at the end over that at the start."""
    return kept(run).median().astype(float)


def beside(method):
    """Radius at the end over that without the method, for both layers."""
    pairs = [evidence.paired(runs[method].last(c), plain[method].last(c)) for c in LAYERS]
    return [one / other for one, other in pairs]


def larger(method):
    """Both runs and the same ratio, for the layer in which it is larger."""
    one, two = beside(method)
    return [runs[method], plain[method]], one.combine(two, max)


def second_moment(p=97):
    """Eigenvalues of the mean of x xᵀ over all pairs of one-hot vectors, times p."""
    a, b = torch.cartesian_prod(torch.arange(p), torch.arange(p)).T
    x = torch.cat([torch.eye(p)[a], torch.eye(p)[b]], dim=1).double()
    return torch.linalg.eigvalsh(x.T @ x / p)


spectrum = second_moment()
alike = int(((spectrum - 1).abs() < 1e-6).sum())
collapsed = TABLE2["strong decay"] / TABLE2["baseline"]
said = f"{TABLE2['strong decay']} / {TABLE2['baseline']} = {collapsed:.1f}"
found = {
    "decay-rank": (runs["Weight Decay"], effect(runs["Weight Decay"])),
    "penalty-rank": (runs["Ours"], evidence.finished(effect(runs["Ours"]), push)),
    "man-rank": (runs["MAN ()"], effect(runs["MAN ()"])),
    "norm-rank": (runs["LayerNorm"], effect(runs["LayerNorm"])),
    "decay-radius": larger("Weight Decay"),
    "penalty-radius": (larger("Ours")[0], evidence.finished(larger("Ours")[1], push)),
    "orthogonal-radius": larger("Grad"),
    "anisotropic": claims.exactly(
        f"the mean has 2 / p, {alike} of {len(spectrum)} directions have 1 / p, the last 0",
        [alike < len(spectrum) - 2],
    ),
    "table2": claims.exactly(said, [collapsed < 1]),
    "baseline-rank": (free, effect(free)),
    "radius": {
        f"{runs[method].label}, layer {layer}": ([runs[method], plain[method]], ratios)
        for method in ARMS
        if method != "LayerNorm"  # its radius is √d by construction
        for layer, ratios in enumerate(beside(method), start=1)
    },
}
sheet = claims.read(page.name, found)
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
    run = runs.get(method, free)
    if method in WORDS:
        beside_it = {"transform": ranks.get_yaxis_transform(), "va": "center", "fontsize": 9}
        ranks.text(1.01, place, WORDS[method][1], **beside_it)
    points = kept(run).median(axis=1)
    if points.empty:
        grey = {"ha": "center", "va": "bottom", "fontsize": 9, "color": plots.GREY}
        ranks.text(1, place, "not measured", **grey)
    else:
        ranks.plot(points, [place] * len(points), "o", ms=5, alpha=0.5, color=run.color)
        middle = [effect(run).median()] * 2
        ranks.plot(middle, [place - 0.32, place + 0.32], color=run.color)
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
  rank ends at {sheet.told("decay-rank")} times its start.
* **The penalty**, "Preserved": {told(effect(runs["Ours"]), TWO)} times. The single readings of
  each method lie far apart, as panel (a) shows.
* **The {{term}}`radius`** with the penalty, in layer 1: {told(start[0], "{:.1f}")} at the
  start, {told(with_it[0], "{:.1f}")} at the end. In layer 2: {told(start[1], "{:.1f}")} at the
  start, {told(with_it[1], "{:.1f}")} at the end. The target is {target:.1f}. At the end of the
  baseline: {told(bare[0], "{:.1f}")} in layer 1; {told(bare[1], "{:.1f}")} in layer 2.
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
    run = runs[method]
    if column not in run.record.frame:
        return "not measured"
    return f"{told(run.at(column, 0), '{:.1f}')} → {told(run.last(column), '{:.1f}')}"


head = ["Method", "Suppression", "Radius, layers 1 and 2, over that without it",
        "Rank effect", "Median of 16", "Stable rank, 256 rows, layer 2",
        "Entropy rank, all rows, layer 1"]  # fmt: skip
lines = []
for method, (suppression, rank_effect) in WORDS.items():
    if method not in runs:
        lines.append([method.lower(), suppression, "not run", rank_effect, "—", "—", "—"])
        continue
    ratios = "; ".join(told(ratio, TWO) for ratio in beside(method))
    size = {"LayerNorm": "√d by construction"}.get(method, ratios)
    middle = told(effect(runs[method]), TWO, nothing="—")
    both = [two(method, c) for c in ("stable_rank_256.hidden.1", "effective_rank.hidden.0")]
    lines.append([runs[method].label, suppression, size, rank_effect, middle, *both])
tables.grid(head, lines)

# %% [markdown]
# ## The claims
#
# "Collapse" is read as half of the rank at the start or less, "preserved" as 80 % or more, in
# the median of 16 readings. "Direct" and "indirect" suppression are read as a radius below
# that of the same network without the method. The bounds are ours; the table has words only.
# A seed of the penalty without an {term}`onset` is no test of what it does to a finished network.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*records.values())

# %% [markdown]
# ## What was run
#
# There is no official code, and the paper ran nothing for this table. Ours:
#
# 1. *Records* are those of [Figure 1](fig01_accuracy_curves.ipynb),
#    [Table 2](tab02_regularisers.ipynb) and [Beyond the paper](remedies.ipynb), at width 128
#    and with 60 % of the pairs: at the paper's width the runs of Figure 1 end after 8,000
#    epochs, before strong decay generalises.
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
    return f"{table.min():.2f} to {table.max():.2f}"


halved = (kept(runs["Weight Decay"]) <= 0.5).sum().astype(float)
layers, tall = beside("Ours"), free.last(LAYERS[0])
tables.prose(f"""
**"Collapse" contradicts the paper's own table.** Table 2 gives strong
{{term}}`weight decay` a rank of {TABLE2["strong decay"]}, the baseline {TABLE2["baseline"]},
{{term}}`MAN` {TABLE2["MAN"]} and the penalty {TABLE2["penalty"]}. By these numbers decay
raises the rank three times. Yet Section 4.3 speaks of "isotropic regularizers, which reduce
sharpness by collapsing the spectrum". Both cannot be.

**Nor is it in our runs,** as a whole. Readings that fall to half or less with strong decay:
{told(halved, "{:.0f}")} of {len(READINGS)}. All readings run from
{spread(runs["Weight Decay"])} times the start with
strong decay, and from {spread(push)} with the penalty. "Rank effect" without a definition
says little about either.

**"Direct suppression" of what?** The radius with the penalty ends, over that of the baseline,
at {told(layers[0], TWO)} in layer 1; at {told(layers[1], TWO)} in layer 2. A target suppresses a layer
above it and inflates a layer below it. Layer 1, which reads
{{term}}`one-hot <one-hot encoding>` inputs, ends at {told(tall, "{:.1f}")} in the baseline,
and the target is {target:.1f}.

**Anisotropic?** Proposition 4.2 has the penalty weigh each direction of the weights by the
variance of what they read. Layer 1 reads two one-hot vectors. Of its {len(spectrum)} directions
{alike} have the same variance; the common vector has twice as much, the difference of the two halves none. So
there the term shrinks all directions alike, as weight decay does, and the mean twice as
fast. The proposition also needs a radius far above $\\sqrt d$, which layer 1 never has
([Figure 1](fig01_accuracy_curves.ipynb)).

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
