# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Singh et al. 2026 · Figure 6]{.kicker} The features get their heavy-tailed spectrum when a variant generalises; effective rank keeps another order

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
from pandas import Series

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers.singh2026 import CODE, HEADLINE, PAPER

plots.use_style()
record = evidence.record(
    "singh2026/fig02", arms=HEADLINE, scale=scale, retrain=retrain, device=device
)
runs = [Run(record, arm, arm, plots.COLOUR[arm]) for arm in HEADLINE]
m, both, attention, none = runs
end = none.settings.epochs
RANK, ALPHA = "effective_rank_test", "power_law_test"
groks = {run: evidence.generalised(run, loss=0.01) for run in runs}


def settled(column):
    """First measured epoch from 200 on at most 10 % above the smallest value there."""
    found = {}
    for run in runs:
        table = run.series(column, since=200)
        found[run] = evidence.crossing(table / (1.1 * table.min()), at_most=1)
    return found


def agreeing(one, other):
    """Of the six pairs of variants, how many have one strict order by both, by seed."""
    ordered = [
        np.sign(one[a] - one[b]) * np.sign(other[a] - other[b]) > 0
        for k, a in enumerate(runs)
        for b in runs[:k]
    ]
    return Series(np.sum(ordered, axis=0), index=m.seeds)


def change(start, stop):
    """Effective rank of No LN at one epoch over that at another, less 1."""
    return none.at(RANK, stop) / none.at(RANK, start) - 1


def afterwards(run, column):
    """Median over the measurements from generalisation on, for seeds that get there."""
    return run.series(column, since=groks[run]).median().dropna()


def shown(values, show):
    """A value over seeds in words, or a dash where there is none."""
    return told(values, show) if len(values) else "—"


alpha, rank = settled(ALPHA), settled(RANK)
SECTION = "Section 4.1"
sheet = claims.Sheet("singh2026/fig06", show="{:.0f} of 6")
sheet.claim(
    runs,
    "of the six pairs of variants, those in which the one that generalises first also "
    "comes first within 10 % of its smallest effective rank",
    "Compressibility metrics largely follow the trend of grokking across LN positions",
    agreeing(rank, groks),
    where=SECTION,
    at_least=6,
    main=True,
)
sheet.claim(
    runs,
    "the same pairs by the exponent α in place of effective rank",
    "When observing powerlaw fit α in Figure 6b, we plot a min aggregation … and find that "
    "the order of grokking is aligned here",
    agreeing(alpha, groks),
    where=SECTION,
    at_least=6,
)
sheet.order(
    "effective rank gets within 10 % of its smallest in the order M, M+A*, A*, No LN",
    "M shows the earliest onset of compressibility in the features",
    rank,
    where=SECTION,
    show="{:,.0f}",
)
sheet.claim(
    [attention, none],
    "the smallest effective rank of A* is not below that of No LN (ratio)",
    "A* does not exhibit lower minimum effective rank than No LN",
    attention.smallest(RANK, since=200) / none.smallest(RANK, since=200),
    where=SECTION,
    at_least=1,
    show="{:.2f}",
)
sheet.claim(
    none,
    "No LN: effective rank rises by at least 15 % from epoch 200 to 1,600",
    "exhibits continuously changing effective rank as well as a variable eigenspectrum",
    change(200, 1600),
    where=SECTION,
    at_least=0.15,
    show="{:+.0%}",
)
sheet.claim(
    none,
    "No LN: it falls by at least 60 % from epoch 2,000 to 8,000",
    "This demonstrates significant changes to the features",
    change(2000, 8000),
    where=SECTION,
    at_most=-0.6,
    show="{:+.0%}",
)
accurate = {run: evidence.generalised(run, accuracy=0.995) for run in runs}
words = "the row on α, with generalisation at a test accuracy of 99.5 %"
sheet.extra(runs, words, agreeing(alpha, accurate))
words = "the row on α, by the float32 recipe of the official code"
sheet.extra(runs, words, agreeing(settled(f"{ALPHA}_float32"), groks))
words = "the row on α, on training features"
sheet.extra(runs, words, agreeing(settled("power_law_train"), groks))
sheet.order(
    "α comes within 10 % of its smallest value in the order M, M+A*, A*, No LN",
    "",
    alpha,
    where="",
    show="{:,.0f}",
    extra=True,
)
for run in runs:
    words = f"{run.label}: epochs from generalisation to α within 10 % of its smallest"
    sheet.extra(run, words, evidence.difference(alpha[run], groks[run]), show="{:+,.0f}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-singh2026-06
#| caption: >
#|   The exponent α comes to rest when a run generalises; effective rank comes to rest
#|   late. (a, b) Both measures of the test features in float64, seeds thin, median thick;
#|   triangles: a seed generalises. (c, d) Epoch within 10 % of the smallest value,
#|   against generalisation; one mark per seed, in the grey margin never. Diamonds: the
#|   authors' five seeds in float32, their mean, in (b) the smallest of them, as the paper
#|   plots it.
#| alt: >
#|   (a) Effective rank falls from 30 to 60 down to 5 to 20, latest for A*. (b) The
#|   exponent falls from between 3 and 6 to below 1.3, M first, at about the triangles.
#|   (c) The marks of effective rank lie far right of the diagonal for M and M+A*, near it
#|   for A* and No LN. (d) Those of the exponent lie along the diagonal.
#| fold: "Code: draw the figure"
curves = evidence.reference("singh2026/fig06")
events = {
    name: evidence.reference(f"singh2026/{name}_events") for name in ("fig02", "fig06")
}


def logged(arm, quantity, column="value"):
    """A measure of the authors' five seeds by epoch: their mean, or the lowest of them."""
    mine = (curves["series"] == arm) & (curves["quantity"] == quantity)
    return curves[mine].set_index("epoch")[column]


def reached(name, arm, quantity, level=None):
    """Epoch of an event of the mean of the authors' seeds."""
    table = events[name]
    mine = (table["quantity"] == quantity) & (table["stat"] == "mean")
    mine &= table["series"] == arm
    mine &= (table["value"] == level) | (level is None)
    return float(table[mine]["epoch"].iloc[0])


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
            theirs = logged(run.arm, quantity, drawn).loc[some]
            plots.paper(curve, some, theirs, label="", color=run.color)
            x = reached("fig06", run.arm, f"{quantity} within 10 % of its minimum")
            y = reached("fig02", run.arm, "test_loss at most", 0.01)
            plots.paper(scatter, [x], [y], label="", color=run.color)
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
titles = ["effective rank", "exponent", "rank comes to rest", "exponent comes to rest"]
plots.letter(axes, titles)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
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
  {told(attention.smallest(RANK, since=200), "{:.1f}")}, that of No LN
  {told(none.smallest(RANK, since=200), "{:.1f}")}.
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
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(record, paper=PAPER, code=CODE)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

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
start = reached("fig02", "M", "test_loss at most", 0.01)
theirs = logged("M", "effective_rank").loc[start:]
means = []
for run in runs:
    mean = run.series(RANK, since=200).mean(axis=1).to_frame()
    late = told(evidence.crossing(mean / (1.1 * mean.min()), at_most=1))
    means.append(f"{late} ({run.label})".replace("*", "\\*"))
tables.prose(f"""
**Where we agree.** The exponent falls in step with generalisation. Where A\\* and No LN
change places in a seed, their exponents change places with them. The row on α fails in
two seeds. In one M and M+A\\* tie, in the other the test loss of M+A\\* stops at
{both.smallest("test_loss").max():.4f}. The features of No LN change throughout, without a
jump.

**Where not.** Effective rank is no such companion. M loses most of its rank early and
then wanders with every {{term}}`slingshot`, so that its smallest value may come anywhere.
In the authors' logs, too, the mean rank of M settles long after generalisation, at epoch
{reached("fig06", "M", "effective_rank within 10 % of its minimum"):,.0f}. The mean over
our seeds does so at {", ".join(means)}, again in another order.

**M keeps more rank here:** {shown(afterwards(m, RANK), "{:.1f}")} in the median from
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
rows = [
    [
        run.label,
        shown(afterwards(run, ALPHA), "{:.2f}"),
        shown(afterwards(run, f"{ALPHA}_float32"), "{:.2f}"),
        shown(2 / (afterwards(run, ALPHA) - 1) / math.log(10), "{:.1f}"),
        shown(afterwards(run, RANK), "{:.1f}"),
    ]
    for run in runs
]
head = ["", "α, float64", "α, float32", "Decades (float64)", "Effective rank"]
caption = "Medians from generalisation on; decades as if the spectrum were even"
tables.grid(head, rows, caption=caption)

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

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record, references=evidence.cited())
