# %% [markdown]
# # [Tiwari et al. 2026 · Table 5]{.kicker} By most ways to take it, strong weight decay does not collapse the rank of activations

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # most methods were run on at a small width alone
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
from itertools import product

import pandas as pd
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import metrics

plots.use_style()
METHODS = {  # Table 5: radial suppression, rank effect; ours: record and arm
    "Weight decay": ("Indirect", "Collapse", "fig01", "strong decay"),
    "Spectral norm": ("Indirect", "Preserved"),
    "Layer norm": ("Direct", "Preserved", "tab02", "layer norm"),
    "MAN": ("Direct", "Preserved", "tab02", "MAN 0.05"),
    "⊥Grad": ("Direct", "Preserved", "remedies", "⊥Grad"),
    "Spherical projection": ("Complete", "Collapse", "tab02", "RMS norm"),
    "Penalty": ("Direct", "Preserved", "fig01", "penalty"),
}
KINDS = product(
    ("stable_rank", "effective_rank"), ("", "_256"), ("", "_centred"), (0, 1)
)
READINGS = [
    f"{rank}{rows}{centred}.hidden.{layer}" for rank, rows, centred, layer in KINDS
]
LAYERS, TWO = ("radius.pre.0", "radius.pre.1"), "{:.2f}"
page = evidence.Page("tiwari2026/tab05", scale, retrain, device)
records = {"fig01": page.record("fig01", arms=("penalty",))}
records |= {name: page.record(name) for name in ("tab02", "remedies", "suppression")}
large = page.record("tab02", scale="paper" if scale == "laptop" else scale)
wide = Run(large, "MAN 0.05", "MAN, width 512", plots.COLOUR["MAN"])
wide_norm = Run(large, "layer norm", "layer norm, width 512")
wide_sphere = Run(large, "RMS norm", "RMS norm, width 512")
of_paper = "paper" if scale == "laptop" else scale  # width 512
longer, first = (page.record(name, scale=of_paper) for name in ("decay512", "fig01"))
grown = Run(longer, "strong decay", "strong decay", plots.COLOUR["strong decay"])
wide_free = Run(first, "baseline", "baseline", plots.COLOUR["baseline"])
free = Run(records["fig01"], "baseline", "baseline", plots.COLOUR["baseline"])
runs = {}
for method, (_, _, name, arm) in (
    (m, row) for m, row in METHODS.items() if len(row) > 2
):
    runs[method] = Run(records[name], arm, arm, plots.COLOUR[arm.removesuffix(" 0.05")])
push, decay = runs["Penalty"], runs["Weight decay"]
plain = dict.fromkeys(runs, free)  # the same network without the method
plain["⊥Grad"] = Run(records["remedies"], "softmax", "softmax")
target = push.settings.model.options["widths"][0] ** 0.5


def kept(run):
    """Rank at the end over that at the start: readings down, seeds with ranks across."""
    there = [c for c in READINGS if c in run.record.frame]
    ratios = {c: run.last(c) / run.at(c, 0) for c in there}
    return pd.DataFrame(ratios, index=run.seeds if there else []).T.dropna(
        axis=1, how="any"
    )


def effect(run):
    """The median over 16 readings of the rank at the end over that at the start."""
    return kept(run).median().astype(float)


def radii(run, without):
    """Radius at the end of a run over that of one without the method, for both layers."""
    pairs = [evidence.paired(run.last(c), without.last(c)) for c in LAYERS]
    return [one / other for one, other in pairs]


def beside(method):
    """The same for a method and the network without it."""
    return radii(runs[method], plain[method])


def larger(run, without):
    """Both runs and the same ratio, for the layer in which it is larger."""
    one, two = radii(run, without)
    return [run, without], one.combine(two, max)


def pushed(strength):
    """A run with the penalty at another strength."""
    return Run(records["suppression"], f"radius 1 √d, strength {strength:g}", "")


def distance(run):
    """Mean distance of test accuracy from that of the projected network, by seed.

    To epoch 4,000, where the runs with a penalty end; one that stopped earlier keeps its
    last accuracy.
    """
    epochs = range(0, 4001, 100)
    curves = [
        one.series("test_accuracy").ffill().reindex(epochs, method="ffill")
        for one in (run, runs["Spherical projection"])
    ]
    return (curves[0] - curves[1]).abs().mean().dropna()


def nearer():
    """The larger ratio of two neighbouring strengths' distances, by seed."""
    strong = [pushed(strength) for strength in (0.5, 5, 50)]
    weak, middle, large = (distance(run) for run in strong)
    ratios = evidence.joined({"middle": middle / weak, "large": large / middle})
    return [*strong, runs["Spherical projection"]], ratios.max(axis=1)


a, b = torch.cartesian_prod(torch.arange(97), torch.arange(97)).T  # all pairs, one-hot
x = torch.cat([torch.eye(97)[a], torch.eye(97)[b]], dim=1).double()
spectrum = torch.linalg.eigvalsh(x.T @ x / 97)  # of the mean of x xᵀ, times p
alike = int(((spectrum - 1).abs() < 1e-6).sum())
words = (
    f"the mean has 2 / p, {alike} of {len(spectrum)} directions have 1 / p, the last 0"
)
found = {
    "decay-rank": (grown, evidence.finished(effect(grown), grown)),
    "penalty-rank": (push, evidence.finished(effect(push), push)),
    "man-rank": (wide, effect(wide)),
    "norm-rank": (wide_norm, effect(wide_norm)),
    "spherical-projection": (wide_sphere, effect(wide_sphere)),
    "riemann": nearer(),
    "decay-radius": larger(grown, wide_free),
    "penalty-radius": (
        [push, free],
        evidence.finished(larger(push, free)[1], push),
    ),
    "orthogonal-radius": larger(runs["⊥Grad"], plain["⊥Grad"]),
    "anisotropic": claims.exactly(words, [alike < len(spectrum) - 2]),
    "table2": claims.exactly(f"402 / 135 = {402 / 135:.1f}", [402 < 135]),
    "baseline-rank": (free, effect(free)),
}
sizes = [r.settings.model.options["widths"][0] for r in (push, wide)]
sheet = claims.read(page.name, found, width=sizes[0], wide=sizes[1])
shown = grown if grown.seeds else decay  # in a rerun there may be small runs alone
middle, spread = claims.median(effect(shown)), kept(shown).median(axis=1)
sheet.box(f"""The paper sorts seven methods by what they do to the rank of a network's activations, the number of directions
that these use. It says that weight decay, which it calls “isotropic” (alike in all directions), makes this
rank small, “collapsing the spectrum”, and that its penalty preserves it.

It does not define the rank, so we took it in {len(READINGS)} ways. With strong weight decay, in MLPs of the paper's width, the rank
ends at {middle:.2f} times its start, by the median of these ways; single ways give {spread.min():.2f} to {spread.max():.2f} times.
We ask for half of the start or less by the median way, so the sentence fails as we test it; by
{(spread <= 0.5).sum()} of the {len(READINGS)} ways alone it would hold, and the run that falls most ends just above a half.

In small MLPs with strong decay the rank stays about where it began. With the
penalty, in small MLPs, it stays as well, but these had not generalised when their runs ended.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab05
#| caption: >
#|   By the median of the ways to take it, the rank of activations does not collapse with weight decay, nor with
#|   any other method that we measured. Each small mark is one of 16 ways to take the rank, as
#|   the median of the runs. The ways differ in the formula (stable or entropy rank),
#|   the pairs (all or 256), whether the mean is subtracted, and the layer (first or
#|   second, after the ReLU). The bar is the median of the 16 ways, with its value. The
#|   grey region is what we call a collapse: half of the start or less. Words on the
#|   right are the paper's. Of its seven methods, spectral norm was not run. MAN is a penalty
#|   that pulls the lengths of activations to zero. The spherical projection is RMS norm without weights. Width 128, but for the second row.
#| alt: >
#|   A row for each method on a logarithmic axis from 0.008 to 5. The medians of most methods lie near 1, within
#|   marks from below one half to above two. That of weight decay at width 512 lies between one half and 1, and
#|   some of its marks near one tenth.
#| fold: "Code: draw the figure"
rows = {"Baseline": free, "Weight decay (512)": grown} | runs
figure, (panel,) = plots.panels(1, height=3.6)
edge = {"transform": panel.get_yaxis_transform(), "va": "center", "fontsize": 9}
for place, (name, run) in enumerate(rows.items()):
    said = METHODS.get(name.removesuffix(" (512)"), ("", ""))[1]
    points = kept(run).median(axis=1)
    look = {"ms": 5, "alpha": 0.5, "color": run.color}
    panel.plot(points, [place] * len(points), "d", **look)
    panel.text(1.01, place, said.lower(), **edge)
    if not len(points):
        continue
    at = effect(run).median()
    panel.plot([at] * 2, [place - 0.32, place + 0.32], color=run.color)
    panel.text(at, place - 0.36, f"{at:.2f}", color=run.color, ha="center", fontsize=9)
for end, place in ((spread.min(), "right"), (spread.max(), "left")):
    away = -6 if place == "right" else 6
    look = {"color": decay.color, "ha": place, "va": "center", "fontsize": 9}
    at = end, list(rows.values()).index(shown)
    look["textcoords"] = "offset points"
    panel.annotate(f"{end:.2f}", at, (away, 0), **look)
at = list(rows).index("⊥Grad")
panel.text(0.98, at - 0.28, "not measured", ha="right", color=plots.GREY, **edge)
panel.axvspan(0.008, 0.5, color="#E6E6E6", zorder=0)
panel.text(0.06, -0.5, "collapse", color=plots.GREY, ha="center", fontsize=9)
panel.set(xscale="log", xlim=(0.008, 5))
panel.set_xlabel(
    f"rank at the end over rank at the start, taken in {len(READINGS)} ways"
)
panel.text(1.01, -0.5, "paper:", **edge)
panel.set_xticks([0.05, 0.5, 1, 5], ["0.05", "0.5", "1", "5"])
panel.minorticks_off()
panel.set_yticks(range(len(rows)), rows)
panel.set_ylim(len(rows) - 0.5, -0.9)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
SECOND, FIRST = "effective_rank.hidden.1", "effective_rank.hidden.0"
begun = grown.at(SECOND, 0)
ended, before = grown.last(SECOND) / begun, grown.at(SECOND, 16_000) / begun
after = grown.at(SECOND, 17_000) / begun
ended_one = grown.last(FIRST) / grown.at(FIRST, 0)
jump = evidence.crossing(grown.series("train_loss", since=1000), at_least=1)
inflated = evidence.ratio(grown.at(LAYERS[1], jump - 1), wide_free.last(LAYERS[1]))
unspiked = evidence.ratio(grown.at(LAYERS[1], 15_000), wide_free.last(LAYERS[1]))
tables.prose(f"""
* **The way to take the rank decides more than the method.** In each row the small marks lie further apart than
  the bars of any two rows.
* **At the paper's width strong decay narrows the second layer.** By the entropy rank of all pairs, layer 2 ends at
  {told(ended, TWO)} times its start and layer 1 at {told(ended_one, TWO)} times. In 16,000 epochs it falls to
  {told(before, TWO)} times, and in the next thousand to {told(after, TWO)} times, before a loss spike, while the training loss is still
  below a millionth.
* **Its activations end longer than the baseline's, not shorter,** in layer 2. They grow before the same spike: the {{term}}`radius` is
  {told(unspiked, TWO)} times the baseline's at epoch 15,000, {told(inflated, TWO)} times in the last log before the loss jumps, and
  {told(radii(grown, wide_free)[1], TWO)} times at the end. So the row that fails would hold if it were read at epoch 15,000.
* **The penalty lengthens the activations of layer 1.** Their {{term}}`radius` ends at
  {told(beside("Penalty")[0], TWO)} times the baseline's. In layer 2 it ends at
  {told(beside("Penalty")[1], TWO)} times, see the table.
* **A projection on the sphere** gives every activation before the ReLU the length √d. It is what RMS norm does without
  trainable weights. The rank ends at {told(effect(runs["Spherical projection"]), TWO)} times its start at width 128, and at
  {told(effect(wide_sphere), TWO)} times at the paper's width, where no network with it has generalised by then.
* **The stronger the penalty, the closer to the projected network?** The mean distance of the curves of test accuracy is
  {told(distance(pushed(0.5)), TWO)}, {told(distance(pushed(5)), TWO)} and {told(distance(pushed(50)), TWO)} with strengths of 0.5, 5 and 50. The
  paper's limit is one of gradient flow. Adam takes steps of the same size whatever the strength, so a strong penalty crowds out
  the loss.
""")

# %% [markdown]
# ## The idea
#
# Table 5 is a classification: seven methods, what each of them constrains, and two columns of
# consequences. It has no numbers and no experiment. To measure "rank effect", one has to fix three
# things that the paper leaves open: which rank, of which rows, of which layer. Two ranks are in
# question. For a matrix with singular values $\sigma_i$ and $q_i = \sigma_i / \sum_j \sigma_j$,
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
    return (sigma**2).sum() / sigma[0] ** 2, (-(q * q.log()).sum()).exp()


noise = torch.randn(
    256, 128, generator=torch.Generator().manual_seed(0), dtype=torch.float64
)
for name, matrix in (("noise", noise), ("noise with a mean", noise + 3)):
    eigenvalues, (stable, entropy) = metrics.gram_eigenvalues(matrix), two_ranks(matrix)
    assert abs(metrics.stable_rank(eigenvalues) - stable) < 1e-6
    assert abs(metrics.effective_rank(eigenvalues.sqrt()) - entropy) < 1e-6
    print(f"{name}: stable {stable:.1f}, entropy {entropy:.1f}")

# %% [markdown]
# Let all rows share a large mean. Then their {term}`stable rank` is close to 1, whatever else they
# do, and it cannot collapse further. Activations after a ReLU always have a mean. The entropy rank,
# this book's {term}`effective rank`, loses only a part. So a method that moves the mean alone changes
# the rank, and the definition decides by how much.
#
# The paper's words beside our numbers, all at width 128, with the radius over that of the same network
# without the method:


# %% tags=["hide-input"]
#| fold: "Code: the paper's words beside our numbers"
def line(method, suppression, rank_effect, *ours):
    if not ours:
        return [method, suppression, "not run", "not run", rank_effect, "not run"]
    radii = [told(ratio, TWO) for ratio in beside(method)]
    if method in ("Layer norm", "Spherical projection"):
        radii = ["√d by construction"] * 2
    return [
        method,
        suppression,
        *radii,
        rank_effect,
        told(effect(runs[method]), TWO, nothing="—"),
    ]


head = [
    "Method",
    "Suppression, paper",
    "Radius, layer 1",
    "Radius, layer 2",
    "Rank effect, paper",
    "Rank, end over start",
]
tables.grid(head, [line(method, *words) for method, words in METHODS.items()])

# %% [markdown]
# ## The claims
#
# The table has words only, so the bounds are ours. "Collapse" means half of the rank at the start or
# less, "preserved" 80 % or more, in the median of 16 readings. "Direct" and "indirect" suppression
# mean a radius below that of the same network without the method. A seed in which the penalty has no
# {term}`onset` does not test what the penalty does to a finished network.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*records.values(), large, longer, first)

# %% [markdown]
# ## What was run
#
# There is no official code, and the paper ran nothing for this table. Ours:
#
# 1. *Records* are those of [Figure 1](fig01_accuracy_curves.ipynb),
#    [Table 2](tab02_regularisers.ipynb) and [Beyond the paper](remedies.ipynb), at width 128
#    and with 60 % of the pairs. The rank and the radius with strong decay are judged at the paper's width, with half
#    of the pairs, after 20,000 epochs; the baseline beside its radius ended after 8,000. The ranks with MAN, layer norm and the projection are
#    judged at that width, with half of the pairs and 8,000 epochs; of these, networks with MAN alone generalise.
# 2. *Without the method* means the baseline with weight decay 0.001. For
#    {term}`⊥Grad <orthogonal gradient>` it means the network without any decay of the same record.
#    That record has no ranks.
# 3. *Start and end.* Ranks are taken at initialisation and at a run's own end. Runs that generalise
#    end earlier.
# 4. *Layer norm's radius* is that after the norm, which the ReLU reads. It is $\sqrt d$ from
#    the first epoch on by construction. So we do not compare it with the baseline's.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
halved = [(kept(run) <= 0.5).sum().astype(float) for run in (grown, decay)]
ends = [kept(run).median(axis=1).agg(["min", "max"]) for run in (shown, decay, push)]
spans = [f"{low:.2f} to {high:.2f}" for low, high in ends]
tables.prose(f"""
**"Collapse" depends on the layer, the definition and the width.** With strong decay {told(halved[0])} of {len(READINGS)} readings fall to half or
less at the paper's width, and {told(halved[1])} at width 128. They run from {spans[0]} and from {spans[1]} times the start, and from
{spans[2]} with the penalty. So "rank effect" without a definition says little about either.

**"Direct suppression" of what?** A target suppresses a layer above it and inflates a layer below it.
Layer 1 reads {{term}}`one-hot <one-hot encoding>` inputs. In the baseline its radius ends at
{told(free.last(LAYERS[0]), "{:.1f}")}; the target is {target:.1f}. So the penalty inflates it.

**Anisotropic?** By Proposition 4.2 the penalty weighs each direction of the weights by the variance
of what they read. Layer 1 reads two one-hot vectors. Of its {len(spectrum)} directions {alike} have
the same variance. The common vector has twice as much, the difference of the halves none. So the penalty shrinks nearly all directions alike, as weight decay does. The proposition also needs a
radius far above $\\sqrt d$, which layer 1 never has ([Figure 1](fig01_accuracy_curves.ipynb)).
""")

# %% [markdown]
# **"Collapse" contradicts the paper's own table.** Table 2 gives strong {term}`weight decay` a rank
# of 402, the baseline 135, {term}`MAN` 400 and the penalty 443. By these numbers decay triples the
# rank. Yet Section 4.3 speaks of "isotropic regularizers, which reduce sharpness by collapsing the
# spectrum". Both cannot be right.
#
# **⊥Grad works on weights.** It removes the part of a gradient along the weights. This is not the
# part of a gradient along activations. "Direct" fits the first, and the column is about the second.

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
# So decay changes a rank only together with the gradient.
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
