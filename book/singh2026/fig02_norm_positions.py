# %% [markdown]
# # [Singh et al. 2026 · Figure 2]{.kicker} A norm before the MLP alone brings grokking before a periodic embedding

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
from itertools import pairwise

import torch
from matplotlib.lines import Line2D
from pandas import Series

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("singh2026/fig02", scale, retrain, device)
NAMES = ("M", "M+A*", "A*", "No LN")
record = page.record(arms=NAMES)
runs = [Run(record, name, name, plots.COLOUR[name]) for name in NAMES]
m, both, attention, none = runs
end = none.settings.epochs
LOSS, MODES = "test_loss", "fourier"
groks = {run: run.generalised(loss=0.01) for run in runs}
accurate = {run: run.generalised(accuracy=0.995) for run in runs}
periodic = {run: run.first(MODES, at_least=1) for run in runs}
late = {run: evidence.difference(periodic[run], groks[run]) for run in runs}
height = {run: run.largest(LOSS, until=groks[run]) for run in runs}
before = {run: run.at(MODES, groks[run]).dropna() for run in runs}


def least(values):
    """The smallest of several values by seed."""
    return evidence.joined(dict(enumerate(values))).min(axis=1)


def bursts(run):
    """How often the training loss, once small, jumps up again after epoch 500."""
    table = run.series("train_loss", since=500)
    return Series({s: len(evidence.spikes(loss.dropna())) for s, loss in table.items()})


def changed(run):
    """The largest relative change by leaving out the constant mode."""
    return (1 - run.series("fourier_no_constant", since=200) / run.series(MODES)).abs().max()


constant = evidence.joined({run: changed(run) for run in runs}).max(axis=1)
found = {
    "pairs": (runs, evidence.agreeing(periodic, groks)),
    "order": periodic,
    "somewhere": (runs, least(run.largest(MODES) for run in runs)),
    "at-the-end": (runs, least(run.last(MODES) for run in runs)),
    "heights": (runs, least(height[b] / height[a] for a, b in pairwise(runs))),
    "slingshots": ([m, both], least([bursts(m), bursts(both)])),
    "pairs-accuracy": (runs, evidence.agreeing(periodic, accurate)),
    "before": {run.label: (run, before[run]) for run in runs},
    "late": {run.label: (run, late[run]) for run in runs},
    "bursts": (attention, bursts(attention)),
    "constant": (runs, constant),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% [markdown]
# {term}`Layer norm <layer norm>` (LN) stands before the MLP (M), attention (A\*), both
# (M+A\*) or nowhere (No LN).

# %% tags=["hide-input"]
#| name: fig-singh2026-02
#| caption: >
#|   Generalisation and periodicity come in nearly the same order, but M does not wait for
#|   it. (a) Test loss until it is 0.01, seeds thin, their median thick. (b) Fourier mode concentration, seeds thin, median thick, range shaded;
#|   triangles: a seed generalises. (c) The two epochs, one mark per seed; in the grey
#|   margin, never. (d) M, one seed. Diamonds: the mean of the authors' five seeds.
#| alt: >
#|   (a) Test losses rise to 7 for M and to nearly 30 for No LN. They fall, M first, A*
#|   and No LN last and overlapping. (b) Concentrations rise from 0.01 past 1; the
#|   triangles of M lie near 0.2, those of No LN above 1. (c) M lies below the diagonal,
#|   A* on it, No LN above it. (d) Training loss of M jumps from 1e-4 to 1 and more about
#|   every 700 epochs.
#| fold: "Code: draw the figure"
logs = evidence.reference("singh2026/fig02").set_index(["series", "quantity", "epoch"])
logs = logs.sort_index().value
reached = evidence.reference("singh2026/fig02_events").query("stat == 'mean'")
reached = reached.set_index(["series", "quantity", "value"]).epoch
SMALL, CLEAR = ("test_loss at most", 0.01), ("fourier at least", 1)


def authors(run, shown=record.scale == "paper"):
    """The mean of the authors' five seeds: losses, concentrations, the two epochs."""
    if shown:
        arm, first = run.arm, reached[run.arm, *SMALL]
        some = [e for e in (500, *range(1000, 8001, 1000)) if e < first]
        mine = {"label": "", "color": run.color}
        plots.paper(losses, some, logs[arm, LOSS][some], **mine)
        some = [200, 1000, *range(2000, end + 1, 2000)]
        plots.paper(modes, some, logs[arm, MODES][some], **mine)
        plots.paper(scatter, [reached[arm, *CLEAR]], [first], **mine)


figure, axes = plots.panels(2, rows=2, height=3.2)
losses, modes, scatter, single = axes
margin = 1.06 * end
scatter.axhspan(1.01 * end, 1.12 * end, color="#EEEEEE", lw=0)
scatter.axvspan(1.01 * end, 1.12 * end, color="#EEEEEE", lw=0)
scatter.plot([0, end], [0, end], color=plots.GREY, lw=1, ls=":")
scatter.text(0.05 * end, 0.9 * end, "periodic first", color=plots.GREY)
scatter.text(0.55 * end, 0.2 * end, "generalises first", color=plots.GREY)
for run, marker in zip(runs, "os^P", strict=True):
    table = run.series(LOSS)
    for seed, values in table.items():
        losses.plot(values.loc[: groks[run][seed]], alpha=0.5, color=run.color, lw=0.8)
    middle = table.median(axis=1).loc[: claims.median(groks[run].clip(upper=end))]
    losses.plot(middle, color=run.color, label=run.label)
    plots.curve(modes, run, MODES)
    style = {"color": run.color, "mec": "white", "ls": ""}
    modes.plot(groks[run][before[run].index], before[run], "v", ms=9, **style)
    place = periodic[run].clip(upper=margin), groks[run].clip(upper=margin)
    scatter.plot(*place, marker, ms=7, **style)
    authors(run)
for column, color, name in (
    ("train_loss", plots.GREY, "training loss"),
    ("test_loss", m.color, "test loss"),
):
    single.plot(m.series(column).iloc[:, 0].dropna(), color=color, lw=1, label=name)
single.axhline(0.01, color=plots.BLACK, ls=":", lw=1)
modes.axhline(1, color=plots.BLACK, ls=":", lw=1)
losses.set(xlabel="epoch", ylabel="test loss", ylim=(-1, 32))
modes.set(xlabel="epoch", ylabel="Fourier mode concentration", yscale="log")
single.set(xlabel="epoch", ylabel="loss", yscale="log", ylim=(1e-5, 2e2))
single.legend(loc="upper right", ncols=2)
scatter.set(xlim=(0, 1.12 * end), ylim=(0, 1.12 * end))
scatter.set(xlabel="epoch of a concentration of 1", ylabel="generalisation epoch")
scatter.yaxis.set_major_formatter(lambda v, _: f"{v / 1000:g}k" if v else "0")
for panel in axes:
    plots.thousands(panel)
handles = [Line2D([], [], color=run.color, label=run.label) for run in runs]
grey = {"ls": "", "color": plots.GREY}
handles += [Line2D([], [], marker="v", ms=8, label="generalises", **grey)]
handles += [Line2D([], [], marker="D", mfc="white", mew=1.4, label="paper", **grey)]
figure.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.2)
plots.letter(axes, ["test loss", "periodicity", "which comes first", "M, one seed"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
ahead = (periodic[both] < groks[both]).sum()
tables.prose(f"""
Embeddings become periodic in nearly the order in which the variants generalise, but M
does not wait for it.

* **M** generalises at epoch {told(groks[m])} (triangles in b), when the
  {{term}}`Fourier mode concentration` of its embedding is {sheet.told("before M")}. A
  value of 1, the paper's sign of "clear" periodic structure, comes
  {told(late[m])} epochs later.
* **M+A\\***, with a norm before the MLP too, is periodic first in {ahead} of the
  {len(late[both])} seeds.
* **No LN** generalises at {told(groks[none])}, at a concentration of
  {sheet.told("before No LN")}; 1 came before, by {told(-late[none])} epochs.
* **A\\*** has about 1 when it generalises, and ends at
  {told(attention.last(MODES), "{:.2f}")}.
* **{{term}}`Slingshots <slingshot>`** (d) throw M back {told(bursts(m))} times after
  epoch 500. M+A\\* has {told(bursts(both))} of them, A\\* {told(bursts(attention))} and
  No LN {told(bursts(none))}.
""")

# %% [markdown]
# ## The idea
#
# Let $W_E$ hold one row for each of the $p$ numbers. With $A_{kj}$ the amplitude of mode
# $k$ in column $j$, and $\mu_k$ its mean over the columns,
#
# $$
# A_{kj} = \Bigl| \sum_{v=0}^{p-1} W_E[v, j]\, e^{-2 \pi i k v / p} \Bigr|, \qquad
# \mathcal C_{\mathrm{Fourier}} =
#   \frac{\operatorname{Var}_k \mu_k}{\operatorname{mean}_{k,j} (A_{kj} - \mu_k)^2} .
# $$
#
# If a few modes are large in all columns, the ratio is large; noise has all modes alike.

# %%
def concentration(embedding):
    """Variance between modes over variance within them; embedding (numbers, width)."""
    amplitude = torch.fft.rfft(embedding, dim=0).abs()
    mean = amplitude.mean(dim=1, keepdim=True)
    within = (amplitude - mean).square().mean()
    return mean.var(correction=0) / (within + 1e-8)

# %% tags=["hide-input"]
#| fold: "Code: five embeddings made by hand, and the same by the package"
p, width = 113, 128
torch.manual_seed(0)
noise = torch.randn(p, width, dtype=torch.float64) / math.sqrt(width)


def circles(*frequencies):
    """Every number as a point on one circle per frequency, turned at random."""
    turns = torch.outer(torch.arange(p).double(), torch.tensor(frequencies).double())
    rows = torch.cat([(2 * math.pi * turns / p).cos(), (2 * math.pi * turns / p).sin()], 1)
    return rows @ torch.randn(rows.shape[1], width).double() / math.sqrt(width)


rows = []
for name, embedding in {
    "random, as at the start": noise,
    "5 circles, as much noise": circles(4, 15, 23, 38, 51) + noise,
    "5 circles, little noise": circles(4, 15, 23, 38, 51) + 0.1 * noise,
    "1 circle, little noise": circles(15) + 0.1 * noise,
    "random, one vector added to all rows": noise + torch.randn(width).double() / 4,
}.items():
    mine, package = concentration(embedding), metrics.fourier_concentration
    torch.testing.assert_close(mine, package(embedding, p=p))
    without = package(embedding, p=p, skip_constant=True)
    rows.append([name, f"{float(mine):.2f}", f"{float(without):.2f}"])
tables.grid(["Embedding", "Concentration", "without its constant mode"], rows)

# %% [markdown]
# The last row carries no information about the numbers, yet fills mode $k = 0$ and raises
# the published measure. And nothing in the task makes 1 the value from which an embedding
# is periodic: it is a convention.
#
# ## The claims
#
# "Generalises" is a test loss of at most 0.01. The concentration is measured every 200
# epochs, and a tie is no order. A burst is a training loss of 0.1 or more after one of
# 0.001 or less, in losses logged every 10 or 20 epochs. The bound 1.2 was fixed before
# the runs. The order of generalisation itself is judged on [Figure
# 1](fig01_overview.ipynb).

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run

# %% [markdown]
# The authors' points are from the logs in commit `2199213` of
# [`jaisidhsingh/layernorm-grok`](https://github.com/jaisidhsingh/layernorm-grok), their
# drawing from its notebook `plots_1.ipynb`.
#
# 1. *Activation* GELU, with which the published logs were made; the paper's Table 2 says
#    ReLU. *Start*: the authors' distributions, not their draws.
# 2. *"Generalises"* is a test loss of 0.01 in the paper's text and caption. The marks of
#    its panels (b) and (c) stand at a mean accuracy of 99.5 %. Here it is the loss; a
#    folded row has the other rule.
# 3. *Drawing.* The paper draws the mean of five seeds, flat at 0.01 once it has been
#    there. Its raw curves have an opacity of 0.15, its bands half the width of the range.
#    Between epochs 1,701 and 3,600 (M+A\*) and 801 and 1,200 (M) it draws the running
#    minimum. Here every seed is drawn as it is, until it has generalised.
# 4. *Captions.* The paper's text calls its panels (b) and (c) by each other's letters.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
arrived = reached["M", *SMALL]
held = logs["M", MODES].loc[:arrived].iloc[-1]
close = logs["A*", MODES]
tables.prose(f"""
**Where we agree.** A variant that generalises much sooner becomes periodic much sooner,
and all four embeddings reach a concentration of 1. The pairs that fail are close ones:
A\\* and No LN, and M and M+A\\* where they reach 1 at the same measurement. Besides, the
test loss of M+A\\* stops at {both.smallest(LOSS).max():.4f} in one seed, which then never
generalises.

**Where not.** A concentration of 1 is no condition for generalising. M is far below it,
and its concentration goes on rising while there is nothing left to learn. So it does in
the authors' logs: their mean of M has a test loss of 0.01 at epoch {arrived:,.0f}. Its
concentration is {held:.2f} at the last measurement until then, and 1 some
{reached["M", *CLEAR] - arrived:,.0f} epochs later. And A\\* hardly stays periodic by that measure, here or there: the authors'
mean peaks at {close.max():.2f} and ends at {close.iloc[-1]:.2f}.

**Slingshots** are the caption's own remark, for M and M+A\\*. A\\* has them too, and its
test loss falls in steps, as it does in the paper's panel (a). Bursts of different seeds
do not coincide. The mean of five seeds has a high loss in many more epochs than most of
them.

**The constant mode** could fake a large value, as the table above shows. Leaving it out
changes no curve by more than {100 * constant.max():.0f} % after epoch 200.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-02-onehot
# What is the concentration of the identity matrix, one-hot embeddings of 113 numbers? Can
# a network with that embedding generalise?
# ```
#
# ````{solution} ex-singh2026-02-onehot
# :class: dropdown
# Zero, since every amplitude is 1:
#
# ```python
# import torch
# from grokbook import metrics
# value = metrics.fourier_concentration(torch.eye(113, dtype=torch.float64), p=113)
# print(f"{float(value):.6f}")
# ```
#
# It can, since the next matrix can do what the embedding does not. The MLPs of [Prieto et
# al.](../prieto2025/fig12_fourier.ipynb) have {term}`one-hot <one-hot encoding>` inputs.
# The measure sees one matrix, not the function.
# ````
#
# ```{exercise}
# :label: ex-singh2026-02-scale
# Multiply an embedding by 10. What becomes of its concentration, and why is there a
# $10^{-8}$ in the code?
# ```
#
# ```{solution} ex-singh2026-02-scale
# :class: dropdown
# Nothing: both variances grow a hundredfold. The small number guards against columns that
# are all alike in amplitude, and matters only for embeddings shrunk to about $10^{-4}$.
# ```
#
# ```{exercise}
# :label: ex-singh2026-02-burst
# Find the bursts of the training loss of M in the record. How long are the pauses between
# them? What does the mean over five seeds make of such bursts?
# ```
#
# ````{solution} ex-singh2026-02-burst
# :class: dropdown
# ```python
# from grokbook import evidence
# run = evidence.Run(evidence.record("singh2026/fig02"), "M")
# for seed, loss in run.series("train_loss", since=500).items():
#     onsets = evidence.spikes(loss.dropna())
#     print(seed, [late - early for early, late in zip(onsets, onsets[1:])])
# ```
#
# Mostly 600 to 750 epochs, in every seed. The seeds are out of step, so the mean has
# about five times as many bursts, each a fifth as high. It hardly ever returns to 0.01,
# while each seed does so between its bursts.
# ````

# %% [markdown]
# ## Run it yourself
#
# A smaller task (addition modulo 37, 5,000 epochs) with three seeds, in about three
# quarters of an hour on two cores. It has 19 modes in place of 57, and A\* does not get
# to a test loss of 0.01 there.
#
# ```bash
# make page PAGE=singh2026/fig02 SCALE=laptop
# ```
