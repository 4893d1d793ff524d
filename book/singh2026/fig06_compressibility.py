# %% [markdown]
# # [Singh et al. 2026 · Figure 6]{.kicker} Across places of layer norm, the power-law exponent mostly follows the order in which test losses fall, the effective rank does not

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook import metrics

plots.use_style()
page = evidence.Page("singh2026/fig06", scale, retrain, device)
NAMES = ("M", "M+A*", "A*", "No LN")
record = page.record("fig02", arms=NAMES)
runs = [Run(record, name, name, plots.COLOUR[name]) for name in NAMES]
m, both, attention, none = runs
end = none.settings.epochs
RANK, ALPHA = "effective_rank_test", "power_law_test"
reached = {run: run.reaches(loss=0.01) for run in runs}
accurate = {run: run.reaches(accuracy=0.995) for run in runs}


def settled(column):
    """First measured epoch from 200 on at most 10 % above the smallest value there."""
    found = {run: run.series(column, since=200) for run in runs}
    return {
        r: evidence.crossing(t / (1.1 * t.min()), at_most=1) for r, t in found.items()
    }


def lowest(run):
    return run.smallest(RANK, since=200)


alpha, rank = settled(ALPHA), settled(RANK)
found = {
    "pairs-rank": (runs, evidence.agreeing(rank, reached)),
    "pairs": (runs, evidence.agreeing(alpha, reached)),
    "order-rank": rank,
    "lowest": ([attention, none], lowest(attention) / lowest(none)),
    "rises": (none, none.at(RANK, 1600) / none.at(RANK, 200) - 1),
    "falls": (none, none.at(RANK, 8000) / none.at(RANK, 2000) - 1),
    "pairs-accuracy": (runs, evidence.agreeing(alpha, accurate)),
    "pairs-float32": (runs, evidence.agreeing(settled(f"{ALPHA}_float32"), reached)),
    "pairs-training": (runs, evidence.agreeing(settled("power_law_train"), reached)),
    "order": alpha,
    "late": {r.label: (r, evidence.difference(alpha[r], reached[r])) for r in runs},
}
sheet = claims.read(page.name, found)
agree = {n: claims.median(sheet.values[n][1]) for n in ("pairs", "pairs-rank")}
whole = {n: (sheet.values[n][1] == 6).sum() for n in agree}
wait = claims.median(evidence.difference(alpha[m], reached[m]))
sheet.box(
    "Features are the numbers that the last layer reads. Two measures say how "
    "compressed they are: the effective rank counts the directions in use, and the "
    "power-law exponent says how unequal their sizes are. The paper says that such "
    "measures largely follow the order in which transformers with layer norm at "
    "different places grok.\n\nWe compare four places two by two: the first to a test "
    "loss of 0.01 should also be the first to come within 10 % of the smallest value of the measure. By "
    f"the effective rank, which the verdict judges, {words(agree['pairs-rank'])} of the "
    f"six pairs agree in the median run, and all six in {whole['pairs-rank']} of "
    f"{len(m.seeds)} runs: the sentence fails.\n\nBy the exponent {words(agree['pairs'])} "
    f"of the six agree in the median run, and all six in {whole['pairs']} of {len(m.seeds)} "
    "runs. But with a norm before the MLP (M) the exponent comes near its smallest value "
    f"{words(wait)} epochs after the test loss has fallen."
)

# %% tags=["hide-input"]
#| name: fig-singh2026-06
#| caption: >
#|   The exponent mostly nears its smallest value in the order in which the test losses fall;
#|   the effective rank does so late and in another order. Each mark is one run. Across
#|   is the first epoch at which (a) the exponent or (b) the effective rank is within
#|   10 % of its smallest value. Up is the first epoch with a test loss of 0.01. On the
#|   dotted line both come together; to the right of it the test loss is first. A run
#|   in the grey margin never gets to 0.01. M has a norm before the MLP, A* before
#|   attention, M+A* before both, No LN nowhere. Diamonds are the mean of the authors'
#|   runs, in float32.
#| alt: >
#|   (a) The marks of the exponent lie along the diagonal, those of M to the right of it.
#|   (b) The marks of effective rank lie far right of the diagonal for M and M+A*, near it
#|   for A* and No LN. Words count the pairs in order: six of six, and three of six.
#| fold: "Code: draw the figure"
logs = evidence.reference("singh2026/fig06").set_index(["series", "quantity", "epoch"])
logs = logs.sort_index()
losses = evidence.reference("singh2026/fig02_events").query(
    "stat == 'mean' and value == 0.01"
)
losses = losses[losses.quantity == "test_loss at most"].set_index("series").epoch
rests = evidence.reference("singh2026/fig06_events").query("stat == 'mean'")
rests = rests.set_index(["series", "quantity"]).epoch
REST = " within 10 % of its minimum"


NEAR = "first epoch within 10 % of smallest value"


def against(panel, column, name):
    """When a measure settles against when the test loss falls, run by run."""
    panel.axhspan(1.01 * end, 1.12 * end, color="#EEEEEE", lw=0)
    panel.plot([0, end], [0, end], color=plots.GREY, lw=1, ls=":")
    settles = settled(column)
    for run, marker in zip(runs, "os^P", strict=True):
        fell = reached[run].clip(upper=1.06 * end)
        style = {"color": run.color, "mec": "white", "ls": "", "ms": 7}
        panel.plot(settles[run], fell, marker, label=run.label, **style)
        if record.scale == "paper":
            there = rests[run.arm, column.removesuffix("_test") + REST]
            plots.paper(panel, [there], [losses[run.arm]], label="", color=run.color)
    panel.set(xlim=(0, 1.03 * end), ylim=(0, 1.12 * end), xlabel=NEAR)
    panel.yaxis.set_major_formatter(lambda v, _: f"{v / 1000:g}k" if v else "0")
    pairs = f"{words(agree[name])} of 6 pairs in order (median)"
    panel.text(0.04 * end, 0.9 * end, pairs)
    full = f"all 6 in {whole[name]} of {len(m.seeds)} runs"
    panel.text(0.04 * end, 0.81 * end, full)
    plots.thousands(panel)


figure, axes = plots.panels(2, height=3.7, sharey=True)
against(axes[0], ALPHA, "pairs")
against(axes[1], RANK, "pairs-rank")
axes[0].set_ylabel("epoch: test loss 0.01")
if math.isfinite(wait):
    place = claims.median(alpha[m]), claims.median(reached[m])
    later = f"M: exponent {words(wait)} epochs later"
    plots.note(axes[0], later, place, (0.65 * end, 0.06 * end))
plots.paper(axes[0], [], [])
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
plots.letter(axes, ["power-law exponent", "effective rank"])
plots.show(figure)

# %% [markdown]
# ## What to see
#
# Variants differ in the place of {term}`layer norm`: before the MLP (M), before attention
# (A\*), before both (M+A\*) or nowhere (No LN). The [front page](index.md) has a diagram.

# %% tags=["remove-input"]
tables.prose(f"""
* **The {{term}}`power-law exponent`** (a). The marks keep the order of the variants. Those of
  M lie to the right of the dotted line: its exponent needs
  {told(evidence.ratio(alpha[m], reached[m]), "{:.1f}")} times the epochs of its test loss.
* **{{term}}`Effective rank`** (b). The marks of M and M+A\\* are scattered far to the right. In
  these two the rank falls early, then wanders with every {{term}}`slingshot`, so its smallest
  value can be anywhere.
* **[Figure 9](fig09_decay_compressibility.ipynb)** has the same two measures for weight
  decays, where both are in order.
""")


# %% tags=["hide-input"]
#| fold: "Code: the epochs and the values afterwards in a table"
def afterwards(run, column, show="{:.2f}"):
    """Median over the measurements from the first test loss of 0.01 on, in words."""
    found = run.series(column, since=reached[run]).median().dropna()
    return told(found, show, nothing="—")


rows = [
    [
        r.label,
        told(reached[r]),
        told(alpha[r]),
        told(rank[r]),
        afterwards(r, RANK, "{:.1f}"),
    ]
    + [afterwards(r, ALPHA), afterwards(r, f"{ALPHA}_float32")]
    for r in runs
]
head = ["", "Test loss 0.01", "α settles", "Rank settles", "Rank afterwards"]
head += ["α afterwards", "α by the float32 recipe"]
caption = "First epochs, and medians from a test loss of 0.01 on. A measure settles "
caption += "where it first is within 10 % of its smallest value"
tables.grid(head, rows, caption=caption)

# %% tags=["hide-input"]
#| name: fig-singh2026-06-curves
#| caption: >
#|   Both measures fall in every variant. (a) Effective rank and (b) exponent of the test
#|   features in float64: median of the runs, their range shaded; triangles, the median run
#|   first has a test loss of 0.01. Diamonds: the mean of the authors' runs, in float32; in
#|   (b) the smallest of them, as the paper plots it.
#| alt: >
#|   (a) Effective rank falls from 30 to 60 down to 5 to 20, latest for A*. (b) The
#|   exponent falls from between 3 and 6 to below 1.3, M first, at about the triangles.
#| fold: "Code: draw the two measures"
some = [200, *range(1000, end, 1000)]  # the names stand at the end


def draw(panel, run, column, drawn):
    """One variant, and the authors' mean or smallest."""
    table = run.series(column, since=200).dropna(how="all")
    low, high, middle = table.min(axis=1), table.max(axis=1), table.median(axis=1)
    panel.fill_between(table.index, low, high, color=run.color, alpha=0.15, lw=0)
    panel.plot(middle, color=run.color, label=run.label)
    when = int(claims.median(reached[run].clip(upper=end)))
    style = {"color": run.color, "mec": "white", "ls": "", "ms": 10}
    panel.plot(middle.loc[:when].tail(1), "v", **style)
    if record.scale == "paper":
        theirs = logs[drawn][run.arm, column.removesuffix("_test")][some]
        plots.paper(panel, some, theirs, label="", color=run.color)


figure, axes = plots.panels(2, height=3.2)
for run in runs:
    draw(axes[0], run, RANK, "value")
    draw(axes[1], run, ALPHA, "low")
axes[0].set(ylabel="effective rank", ylim=(0, 65))
to, back = lambda a: np.log(np.maximum(a, 1.001) - 1), lambda x: 1 + np.exp(x)
axes[1].set_yscale("function", functions=(to, back))  # logarithmic in α - 1
axes[1].set(ylabel="exponent α", ylim=(1.08, 8))
axes[1].set_yticks((1.1, 1.2, 1.5, 2, 3, 6), ("1.1", "1.2", "1.5", "2", "3", "6"))
for panel in axes:
    panel.set_xlabel("epoch")
    plots.thousands(panel)
    plots.end_labels(panel)
plots.letter(axes, ["effective rank", "exponent"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# $F$ holds what the output layer reads, one row of 128 numbers per sample, and $s_i$ are the
# eigenvalues of $F^\top F$. The effective rank is that of
# [Figure 9](fig09_decay_compressibility.ipynb). The exponent $\alpha$ is that of a density
# $s^{-\alpha}$, fitted to the $m$ eigenvalues above a cut {cite:p}`clauset2009`:
#
# $$
# \alpha = 1 + \frac{m}{\sum_i \ln (s_i / s_{\mathrm{cut}})} .
# $$
#
# So $\alpha - 1$ is one over the mean logarithm of an eigenvalue above the cut. The cut
# is the one at which fit and data differ least:


# %%
def exponent(s):
    """α of positive values without ties, at the best of all cuts."""
    best = (math.inf, math.nan)
    for cut in sorted(s.tolist())[:-1]:
        tail = s[s >= cut].sort().values
        alpha = 1 + len(tail) / (tail / cut).log().sum()
        below = torch.arange(len(tail)) / len(tail)
        distance = (1 - (tail / cut) ** (1 - alpha) - below).abs().max()
        best = min(best, (float(distance), float(alpha)))
    return best[1]


# %% tags=["hide-input"]
#| fold: "Code: spectra whose answer is known, and the same by the package"
draws = torch.rand(500, generator=torch.manual_seed(0), dtype=torch.float64)
spectra = {"drawn from the density s^-2.5": (draws ** (-1 / 1.5), "2.5")}
for decades in (2, 4, 8):
    even = torch.logspace(0, -decades, 128, dtype=torch.float64)
    rule = 1 + 2 / (decades * math.log(10))
    spectra[f"even over {decades} decades"] = (even, f"about {rule:.2f}")
rows = []
for name, (values, known) in spectra.items():
    mine, count = exponent(values), float(metrics.effective_rank(values))
    assert math.isclose(mine, float(metrics.power_law_exponent(values)), rel_tol=1e-9)
    rows.append([name, known, f"{mine:.2f}", f"{count:.1f}"])
tables.grid(["Eigenvalues", "α should be", "α fitted", "Effective rank"], rows)

# %% [markdown]
# Eigenvalues spread evenly over $k$ decades are no power law, and give about
# $1 + 2 / (k \ln 10)$. A low α therefore says that the spectrum is long, and no more.
#
# ## The claims
#
# Measured every 200 epochs, from epoch 200 on as in the paper; a tie is no order.
# What comes first is told by the first test loss of at most 0.01. Judged are test features in
# float64. The
# bounds 15 % and 60 % were fixed before the runs, from the authors' logs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# The authors' points are from the logs in commit `2199213` of
# [`jaisidhsingh/layernorm-grok`](https://github.com/jaisidhsingh/layernorm-grok). The
# runs are those of [Figure 2](fig02_norm_positions.ipynb), with the deviations listed
# there.
#
# 1. *Features.* Those of the training set in the paper's text, of the test set in its
#    plotting notebook. Both were measured; they agree on the row on α.
# 2. *Precision.* Eigenvalues in float64. A folded row has the official recipe in float32.
# 3. *Statistic.* Every seed by itself. The paper takes the mean over five seeds, for α in
#    its panel (b) the smallest of five.
# 4. *The matrix* is called a correlation matrix, and is neither centred nor normalised.
# 5. *"Generalises"* in the paper's panel (c) is a mean accuracy of 99.5 %. Here it is
#    the loss of its text; a folded row has the other rule.
# 6. *Which exponent.* This α is that of a density. For ordered eigenvalues that fall as
#    $i^{-\beta}$, as in the literature that the paper cites, $\alpha = 1 + 1/\beta$.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
theirs = logs.value["M", "effective_rank"].loc[losses["M"] :]
tables.prose(f"""
**Where we agree.** The exponent settles in the order in which the test losses fall, if not at
that moment. Where A\\* and No LN change places in a seed, their exponents change places too. The row on α
fails in {len(m.seeds) - whole["pairs"]} seeds: where M and M+A\\* tie, and where the test loss of M+A\\*
stops at {both.smallest("test_loss").max():.4f}. The features of No LN change throughout, without a
jump.

**Where not.** Effective rank does not follow. In the authors' logs, too, the mean rank of M
settles long after its test loss, at epoch {rests["M", "effective_rank" + REST]:,.0f}. From
a test loss of 0.01 on, M keeps more rank here: {afterwards(m, RANK, "{:.1f}")} against
{theirs.median():.1f} for the authors' mean.
""")

# %% [markdown]
# **What is left.** "Heavy tail" says more than the number shows. Any spectrum that is
# spread evenly over enough decades has such an α (last table). Do unused directions shrink
# because a network generalises, or because {term}`weight decay` is at work? An order in time
# cannot tell.
#
# **The floor of the exponent is float32's.** The official code takes
# $\sqrt{\lvert \mathrm{eig}(Z Z^\top) \rvert}$ of $Z = F^\top F$ in float32. There every
# eigenvalue below $\sqrt{2^{-24}} = 2.4 \cdot 10^{-4}$ of the largest is rounding noise. That
# leaves 3.6 decades, and by the rule above no α much below 1.24. In float64 the exponent goes
# on down (first table).

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-06-rank
# A network has learnt addition by $K$ frequencies. For each it has one feature
# $\cos(w(a + b))$ and one $\sin(w(a + b))$ of the same size, all orthogonal over the
# table. What is its effective rank? Read the final values of the figure in this light.
# ```
#
# ```{solution} ex-singh2026-06-rank
# :class: dropdown
# $2K$ equal eigenvalues: $\mathrm{ER} = 2K$. Values of 8 to 10 fit four or five
# frequencies, if nothing else has size. A constant feature would add one more direction,
# since $F$ is not centred.
# ```
#
# ```{exercise}
# :label: ex-singh2026-06-decades
# Spread 128 eigenvalues evenly over $k = 1, \dots, 6$ decades. From which $k$ on is α at
# most 1.4?
# ```
#
# ````{solution} ex-singh2026-06-decades
# :class: dropdown
# ```python
# import math
# import torch
# from grokbook import metrics
# for k in range(1, 7):
#     s = torch.logspace(0, -k, 128, dtype=torch.float64)
#     alpha = float(metrics.power_law_exponent(s))
#     print(k, f"{alpha:.2f}", f"{1 + 2 / (k * math.log(10)):.2f}")
# ```
#
# The rule gives 1.4 at $2 / (0.4 \ln 10) = 2.2$ decades. The fit may choose a higher cut
# than the smallest value, so α can lie above the rule.
# ````
#
# ```{exercise}
# :label: ex-singh2026-06-centre
# $F$ is not centred. What are the effective ranks of an untrained network (epoch 0 of the
# record) without norm and with A\*? Why does the paper start its axis at epoch 200?
# ```
#
# ````{solution} ex-singh2026-06-centre
# :class: dropdown
# ```python
# from claimbook import evidence
# record = evidence.record("singh2026/fig02")
# for arm in ("No LN", "A*"):
#     found = evidence.Run(record, arm).at("effective_rank_test", 0)
#     print(arm, evidence.told(found, "{:.1f}"))
# ```
#
# Without norm all samples share the embedding of the equals sign, so their mean is one
# dominant direction. Behind an attention with normalised values the samples differ more.
# Both say more about the position that is read than about compressibility.
# ````

# %% [markdown]
# ## Run it yourself
#
# A smaller task (addition modulo 37, 5,000 epochs) with three seeds, in about three
# quarters of an hour on two cores. It shows the floor as well, and none of the orders.
#
# ```bash
# make page PAGE=singh2026/fig06 SCALE=laptop
# ```
