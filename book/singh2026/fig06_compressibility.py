# %% [markdown]
# # [Singh et al. 2026 · Figure 6]{.kicker} The feature spectrum becomes heavy-tailed around generalisation, in one variant well after

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch
from matplotlib.lines import Line2D

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("singh2026/fig06", scale, retrain, device)
NAMES = ("M", "M+A*", "A*", "No LN")
record = page.record("fig02", arms=NAMES)
runs = [Run(record, name, name, plots.COLOUR[name]) for name in NAMES]
m, both, attention, none = runs
end = none.settings.epochs
RANK, ALPHA = "effective_rank_test", "power_law_test"
groks = {run: run.generalised(loss=0.01) for run in runs}
accurate = {run: run.generalised(accuracy=0.995) for run in runs}


def settled(column):
    """First measured epoch from 200 on at most 10 % above the smallest value there."""
    tables = {run: run.series(column, since=200) for run in runs}
    return {r: evidence.crossing(t / (1.1 * t.min()), at_most=1) for r, t in tables.items()}


def afterwards(run, column):
    """Median over the measurements from generalisation on, for seeds that get there."""
    return run.series(column, since=groks[run]).median().dropna()


def lowest(run):
    return run.smallest(RANK, since=200)


alpha, rank = settled(ALPHA), settled(RANK)
found = {
    "pairs-rank": (runs, evidence.agreeing(rank, groks)),
    "pairs": (runs, evidence.agreeing(alpha, groks)),
    "order-rank": rank,
    "lowest": ([attention, none], lowest(attention) / lowest(none)),
    "rises": (none, none.at(RANK, 1600) / none.at(RANK, 200) - 1),
    "falls": (none, none.at(RANK, 8000) / none.at(RANK, 2000) - 1),
    "pairs-accuracy": (runs, evidence.agreeing(alpha, accurate)),
    "pairs-float32": (runs, evidence.agreeing(settled(f"{ALPHA}_float32"), groks)),
    "pairs-training": (runs, evidence.agreeing(settled("power_law_train"), groks)),
    "order": alpha,
    "late": {r.label: (r, evidence.difference(alpha[r], groks[r])) for r in runs},
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-singh2026-06
#| caption: >
#|   The exponent α comes to rest about when a run generalises, that of M later; effective
#|   rank comes to rest late. (a, b) Both measures of the test features in float64, seeds
#|   thin, median thick; triangles: a seed generalises. (c, d) Epoch within 10 % of the
#|   smallest value, against generalisation; one mark per seed, in the grey margin never.
#|   Diamonds: the authors' five seeds in float32, their mean, in (b) the smallest of them,
#|   as the paper plots it.
#| alt: >
#|   (a) Effective rank falls from 30 to 60 down to 5 to 20, latest for A*. (b) The
#|   exponent falls from between 3 and 6 to below 1.3, M first, at about the triangles.
#|   (c) The marks of effective rank lie far right of the diagonal for M and M+A*, near it
#|   for A* and No LN. (d) Those of the exponent lie along the diagonal.
#| fold: "Code: draw the figure"
logs = evidence.reference("singh2026/fig06").set_index(["series", "quantity", "epoch"])
logs = logs.sort_index()
losses = evidence.reference("singh2026/fig02_events").query("stat == 'mean' and value == 0.01")
losses = losses[losses.quantity == "test_loss at most"].set_index("series").epoch
rests = evidence.reference("singh2026/fig06_events").query("stat == 'mean'")
rests = rests.set_index(["series", "quantity"]).epoch
REST = " within 10 % of its minimum"


def beyond_one(axes):
    """An axis logarithmic in α - 1, which goes as one over the decades covered."""
    to, back = lambda a: np.log(np.maximum(a, 1.001) - 1), lambda x: 1 + np.exp(x)
    axes.set_yscale("function", functions=(to, back))
    axes.set_ylim(1.08, 8)
    axes.set_yticks((1.1, 1.2, 1.5, 2, 3, 6), ("1.1", "1.2", "1.5", "2", "3", "6"))


figure, axes = plots.panels(2, rows=2, height=3.3)
some, margin = [200, 1000, *range(2000, end + 1, 1000)], 1.06 * end
for column, found, curve, scatter, drawn in (
    (RANK, rank, axes[0], axes[2], "value"),
    (ALPHA, alpha, axes[1], axes[3], "low"),
):
    quantity = column.removesuffix("_test")
    scatter.axhspan(1.01 * end, 1.12 * end, color="#EEEEEE", lw=0)
    scatter.plot([0, end], [0, end], color=plots.GREY, lw=1, ls=":")
    for run, marker in zip(runs, "os^P", strict=True):
        style = {"color": run.color, "mec": "white", "ls": ""}
        table = run.series(column, since=200).dropna(how="all")
        curve.plot(table, color=run.color, lw=0.7, alpha=0.45)
        curve.plot(table.median(axis=1), color=run.color)
        there = run.at(column, groks[run]).dropna()
        curve.plot(groks[run][there.index], there, "v", ms=9, **style)
        scatter.plot(found[run], groks[run].clip(upper=margin), marker, ms=7, **style)
        if record.scale == "paper":
            mine = {"label": "", "color": run.color}
            plots.paper(curve, some, logs[drawn][run.arm, quantity][some], **mine)
            plots.paper(scatter, [rests[run.arm, quantity + REST]], [losses[run.arm]], **mine)
    scatter.set(xlim=(0, 1.03 * end), ylim=(0, 1.12 * end), xlabel="within 10 % at epoch")
    scatter.yaxis.set_major_formatter(lambda v, _: f"{v / 1000:g}k" if v else "0")
axes[0].set(xlabel="epoch", ylabel="effective rank", ylim=(0, 65))
axes[1].set(xlabel="epoch", ylabel="exponent α")
beyond_one(axes[1])
axes[2].set_ylabel("generalisation epoch")
for panel in axes:
    plots.thousands(panel)
handles = [Line2D([], [], color=run.color, label=run.label) for run in runs]
grey = {"ls": "", "color": plots.GREY}
handles += [Line2D([], [], marker="v", ms=8, label="generalises", **grey)]
handles += [Line2D([], [], marker="D", mfc="white", mew=1.4, label="paper", **grey)]
figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.2)
plots.letter(axes, ["effective rank", "exponent", "rank comes to rest", "exponent comes to rest"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
whole = {n: (sheet.values[n][1] == 6).sum() for n in ("pairs", "pairs-rank")}
tables.prose(f"""
The exponent puts all variants in the order of generalisation in
{whole["pairs"]} of {len(m.seeds)} seeds, effective rank in {whole["pairs-rank"]}.

Variants differ in the place of {{term}}`layer norm`: before the MLP (M), before attention
(A\\*), before both (M+A\\*) or nowhere; [Figure 1](fig01_overview.ipynb) has a diagram.

* **The {{term}}`power-law exponent`** α of No LN comes within 10 % of its smallest value
  at epoch {told(alpha[none])}. Its generalisation is at {told(groks[none])}.
* **The other exponents** settle at {told(alpha[m])} (M, which generalises at
  {told(groks[m])}), {told(alpha[both])} (M+A\\*, {told(groks[both])}) and
  {told(alpha[attention])} (A\\*, {told(groks[attention])}).
* **{{term}}`Effective rank`** falls in every run. But M comes to rest at epoch
  {told(rank[m])} only, thousands of epochs after it has generalised.
* **A\\*** keeps the largest rank longest. Its smallest is
  {told(lowest(attention), "{:.1f}")}, that of No LN
  {told(lowest(none), "{:.1f}")}.
""")

# %% [markdown]
# ## The idea
#
# $F$ holds what the output layer reads, one row of 128 numbers per sample, and $s_i$ are the
# eigenvalues of $F^\top F$. The effective rank counts directions that carry size. The
# exponent $\alpha$ is that of a density $s^{-\alpha}$, fitted to the $m$ eigenvalues
# above a cut {cite:p}`clauset2009`:
#
# $$
# \mathrm{ER} = \exp\Bigl(-\sum_i q_i \ln q_i\Bigr), \quad q_i = \frac{s_i}{\sum_j s_j},
# \qquad \alpha = 1 + \frac{m}{\sum_i \ln (s_i / s_{\mathrm{cut}})} .
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
    mine, q = exponent(values), values / values.sum()
    assert math.isclose(mine, float(metrics.power_law_exponent(values)), rel_tol=1e-9)
    count = float((-(q * q.log()).sum()).exp())
    assert math.isclose(count, float(metrics.effective_rank(values)), rel_tol=1e-9)
    rows.append([name, known, f"{mine:.2f}", f"{count:.1f}"])
tables.grid(["Eigenvalues", "α should be", "α fitted", "Effective rank"], rows)

# %% [markdown]
# Eigenvalues spread evenly over $k$ decades are no power law, and give about
# $1 + 2 / (k \ln 10)$. A low α therefore says that the spectrum is long, and no more.
#
# ## The claims
#
# Measured every 200 epochs, from epoch 200 on as in the paper; a tie is no order.
# "Generalises" is a test loss of at most 0.01. Judged are test features in float64. The
# bounds 15 % and 60 % were fixed before the runs, from the authors' logs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run

# %% [markdown]
# The authors' points are from the logs in commit `2199213` of
# [`jaisidhsingh/layernorm-grok`](https://github.com/jaisidhsingh/layernorm-grok). The
# runs are those of [Figure 2](fig02_norm_positions.ipynb), with the deviations listed
# there.
#
# 1. *Features.* Those of the training set in the paper's text, of the test set in its
#    plotting notebook. Both were measured; they agree on the row on α.
# 2. *Precision.* Eigenvalues in float64. The official recipe in float32 is beside it.
# 3. *Statistic.* Every seed by itself. The paper takes the mean over five seeds, for α in
#    its panel (b) the smallest of five.
# 4. *The matrix* is called a correlation matrix, and is neither centred nor normalised.
# 5. *Generalisation* in the paper's panel (c) is a mean accuracy of 99.5 %. Here it is
#    the loss of its text; a folded row has the other rule.
# 6. *Which exponent.* This α is that of a density. For ordered eigenvalues that fall as
#    $i^{-\beta}$, as in the literature that the paper cites, $\alpha = 1 + 1/\beta$.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
theirs = logs.value["M", "effective_rank"].loc[losses["M"] :]
means = {run.label: run.series(RANK, since=200).mean(axis=1).to_frame() for run in runs}
late = ", ".join(
    f"{told(evidence.crossing(mean / (1.1 * mean.min()), at_most=1))} ({label})"
    for label, mean in means.items()
).replace("*", "\\*")
tables.prose(f"""
**Where we agree.** The exponent settles in the order of generalisation, if not at its
moment: that of M takes {told(evidence.ratio(alpha[m], groks[m]), "{:.1f}")} times the epochs. Where A\\* and No LN
change places in a seed, their exponents change places with them. The row on α fails in
two seeds. In one M and M+A\\* tie, in the other the test loss of M+A\\* stops at
{both.smallest("test_loss").max():.4f}. The features of No LN change throughout, without a
jump.

**Where not.** Effective rank is no such companion. M loses most of its rank early and
then wanders with every {{term}}`slingshot`, so that its smallest value may come anywhere.
In the authors' logs, too, the mean rank of M settles long after generalisation, at epoch
{rests["M", "effective_rank" + REST]:,.0f}. The mean over
our seeds does so at {late}, again in another order.

**M keeps more rank here:** {told(afterwards(m, RANK), "{:.1f}")} in the median from
generalisation on, beside {theirs.median():.1f} for the authors' mean.

**What is left.** "Heavy tail" says more than the number shows. Any spectrum that is
spread evenly over enough decades has such an α (last table). Whether unused directions
shrink because a network generalises, or because {{term}}`weight decay` is at work, an
order in time cannot tell.
""")

# %% [markdown]
# ### The floor of the exponent is float32's
#
# The official code takes $\sqrt{\lvert \mathrm{eig}(Z Z^\top) \rvert}$ of $Z = F^\top F$
# in float32. There every eigenvalue below $\sqrt{2^{-24}} = 2.4 \cdot 10^{-4}$ of the
# largest is rounding noise. That leaves 3.6 decades, and by the rule above no α much
# below 1.24.

# %% tags=["hide-input"]
#| name: fig-singh2026-06-precision
#| caption: >
#|   The float32 recipe stops at the α of its 3.6 decades (dash-dotted), where float64
#|   goes on down. Test features of two variants, seeds thin, median thick; dotted: a seed
#|   generalises. The axis is logarithmic in α - 1.
#| alt: >
#|   Two panels of the exponent against epoch on a logarithmic axis of its distance from
#|   1. Both precisions fall together. After generalisation the float64 curve settles
#|   below the line at 1.24, and the float32 curve stays above it, with jumps upwards.
#| fold: "Code: draw both precisions"
figure, axes = plots.panels(2, height=3.2, sharey=True)
for panel, run in zip(axes, (m, none), strict=True):
    for suffix, name in (("", "float64"), ("_float32", "float32")):
        line = "-" if name == "float64" else plots.DASHED
        table = run.series(ALPHA + suffix, since=200).dropna(how="all")
        style = {"color": plots.COLOUR[name], "ls": line}
        panel.plot(table, lw=0.6, alpha=0.35, **style)
        panel.plot(table.median(axis=1), label=name, **style)
    plots.mark(panel, groks[run], color=plots.GREY)
    panel.axhline(1 + 2 / math.log(2**12), color=plots.BLACK, ls="-.", lw=1)
    panel.set(xlabel="epoch")
    beyond_one(panel)
    plots.thousands(panel)
axes[0].set_ylabel("exponent α")
axes[1].legend(loc="upper right")
plots.letter(axes, ["M", "No LN"])
plots.show(figure)

# %% tags=["hide-input"]
#| fold: "Code: the floor in a table"
both_ways = {r: (afterwards(r, ALPHA), afterwards(r, f"{ALPHA}_float32")) for r in runs}
rows = [[r.label, *(told(x, "{:.2f}", nothing="—") for x in v)] for r, v in both_ways.items()]
tables.grid(["", "α, float64", "α, float32"], rows, caption="Medians from generalisation on")

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
# from grokbook import evidence
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
