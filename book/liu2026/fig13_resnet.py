# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 13]{.kicker} A narrow ResNet-18 fits its images, collapses in float32, and has no slingshot in 2,000 epochs

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
from pandas import Series

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
record = evidence.record("liu2026/fig13", arms=("float32",), **page)
other = evidence.record("liu2026/fig01", arms=("float32",), **page)
single = Run(record, "float32", "ResNet-18", plots.COLOUR["ResNet-18"])
exact = Run(record, "float64 loss", "float64 loss", plots.COLOUR["float64 loss"])
plain = Run(record, "no batch norm", "no batch norm", plots.BLUE)
slow = Run(record, "learning rate 1e-4", "learning rate 1e-4", plots.PURPLE)
mlp = Run(other, "float32", "MLP", plots.COLOUR["MLP"])
variants = (exact, plain, slow)
there = [single, *(run for run in variants if run.seeds)]
missing = [run.label for run in variants if not run.seeds]
epochs = single.settings.epochs
MASS, COLLAPSED, LEAST = "residual_mass", "collapsed", "smallest_margin"
MEAN = "head_mean_norm"
late, early = (
    {run: evidence.bursts(run, late=kind) for run in (*there, mlp)}
    for kind in (True, False)
)


def end(run, seed):
    """The first slingshot of a seed, or the end of its training."""
    return min([*late[run][seed], run.settings.epochs])


def before(run, column):
    """A value at the last look before `end`, by seed."""
    looks = run.series(column)
    return Series({s: looks[s].dropna().loc[: end(run, s) - 1].iloc[-1] for s in looks})


drifted = {run: run.at(MEAN, epochs) / run.at(MEAN, 0) for run in (single, mlp)}


def falling(run, length=200):
    """d ln ε / d ln t, a fitted line: in the ``length`` epochs before a first slingshot.

    Without one, since half of the samples have collapsed; then the last 30 % if none did.
    """
    found, half = {}, evidence.settled(run)
    for seed, mass in run.series(MASS).items():
        last = end(run, seed)
        since = min(half[seed], 0.7 * last) if not late[run][seed] else last - length
        part = mass.dropna().loc[max(1, since) : last]
        part = part.drop(index=late[run][seed], errors="ignore").clip(lower=1e-300)
        enough = len(part) > 1
        line = np.polyfit(np.log(part.index), np.log(part), 1) if enough else [math.nan]
        found[seed] = float(line[0])
    return Series(found, dtype=float)


def paced(run, classes=10):
    """ln of the growth at the pace of Theorem 7 from half collapsed to `end`, at Adam's largest step."""
    adam = run.settings.optimizer.options
    eta, since, found = adam["lr"] / adam["eps"], evidence.settled(run), {}
    for seed, mass in run.series(MASS).items():
        part = mass.dropna().loc[since[seed] : end(run, seed)]
        pace = np.log1p(eta * part / math.sqrt(classes))
        found[seed] = float(np.trapezoid(pace, part.index)) if len(part) else 0.0
    return Series(found, dtype=float)


SECTION = "Section 3"
sheet = claims.Sheet("liu2026/fig13", show="{:.2f}")
sheet.claim(
    single,
    f"ResNet-18, float32: no slingshot in {epochs:,} epochs",
    "No Slingshot in ResNet18 on CIFAR-10.",
    evidence.counted(late[single]),
    where="Figure 13, caption",
    at_most=0,
    show="{:.0f}",
    main=True,
)
sheet.claim(
    single,
    "ResNet-18: at some look all samples have collapsed, so that one could come (share)",
    "for each training sample, the correct-class logit becomes much larger than the other "
    "logits",
    single.largest(COLLAPSED),
    where="Section 1",
    at_least=1,
    show="{:.1%}",
)
sheet.claim(
    single,
    "ResNet-18: from half collapsed on, ε falls at least as 1/t (d ln ε / d ln t at most -1)",
    "ResNet18 appears to learn fast enough to escape this unstable region before the NFI "
    "feedback loop becomes dominant.",
    falling(single),
    where=SECTION,
    at_most=-1,
)
sheet.claim(
    single,
    "ResNet-18: no inflation (1 if there is)",
    "NFI cannot develop into the exponential-growth regime, and Slingshot does not occur",
    evidence.inflated(single),
    where=SECTION,
    at_most=0,
    show="{:.0f}",
)
for run in there[1:]:
    words = f"{run.label}: slingshots"
    sheet.extra(run, words, evidence.counted(late[run]), show="{:.0f}")
words = "ResNet-18: bursts before a collapse"
sheet.extra(single, words, evidence.counted(early[single]), show="{:.0f}")
words = "ResNet-18: training accuracy is 100 % (epoch)"
sheet.extra(single, words, evidence.fitted(single, accuracy=1.0), show="{:,.0f}")
for run in (single, mlp):
    words = f"{run.label}: half of the samples have collapsed (epoch)"
    sheet.extra(run, words, evidence.settled(run), show="{:,.0f}")
words = "MLP: d ln ε / d ln t in the 200 epochs before its first slingshot"
sheet.extra(mlp, words, falling(mlp))
words = "MLP: the same in the last 50 of them"
sheet.extra(mlp, words, falling(mlp, 50))
for run, words in ((single, "ResNet-18, the end"), (mlp, "MLP, its first slingshot")):
    words += ": smallest margin at the last look before"
    sheet.extra(run, words, before(run, LEAST), show="{:.1f}")
    words = f"{run.label}: norm of W_G at epoch {epochs:,} over the start"
    sheet.extra(run, words, drifted[run])
for run in (single, mlp):
    words = f"{run.label}: ln of the growth at the pace of Theorem 7, at Adam's largest step"
    sheet.extra(run, words, paced(run))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-13
#| caption: >
#|   Two networks, two ends. (a, b) Training loss of every step for one seed, the first, of
#|   ResNet-18 and of the MLP of Figure 1 over as many epochs; losses below 1e-9 lie on
#|   the lower edge. (c) Residual mass of both at the looks; dotted, the slope of 1 / t.
#| alt: >
#|   Left: the loss of ResNet-18 falls below 1e-9 and stays there. Middle: that of the MLP
#|   falls and spikes again and again. Right: the residual mass of both networks against
#|   the epoch on two log axes, with a dotted line of slope minus one.
#| fold: "Code: draw the figure"
figure, (left, right, mass) = plots.panels(3, height=3.3)
for panel, run in ((left, single), (right, mlp)):
    plots.trace(panel, run, label="")
    panel.set(xlim=(0, epochs), ylim=(5e-10, 1e4))
    plots.thousands(panel)
right.set(ylabel="")
for run in (single, mlp):
    plots.curve(mass, run, MASS)
times = np.array([epochs / 4, epochs])
mass.plot(times, 1e-10 * epochs / times, color=plots.BLACK, ls=":")
mass.text(times[0], 4e-10, "1 / t ", ha="right", va="center")
mass.set(xscale="log", yscale="log", xlabel="epoch", ylabel="residual mass ε")
mass.set(xlim=(min(40, epochs / 10), epochs), ylim=(1e-15, 3))
mass.legend(loc="lower left")
plots.letter([left, right, mass], ["ResNet-18", "MLP", "residual mass"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
Of ResNet-18 we have n = {len(single.seeds)} at {record.scale} scale; several seeds are given
as median and range.

* **ResNet-18** (a) has fitted its images by epoch
  {told(evidence.fitted(single, accuracy=1.0))}, and half of them have
  {{term}}`collapsed <softmax collapse>` by epoch {told(evidence.settled(single))}. At most
  {told(single.largest(COLLAPSED), "{:.0%}")} are collapsed at one look. Number of
  {{term}}`slingshots <slingshot>` in {epochs:,} epochs:
  {told(evidence.counted(late[single]))}.
* **The MLP** (b) of [Figure 1](fig01_precision.ipynb) collapses by epoch
  {told(evidence.settled(mlp))}. Its first slingshot comes at epoch
  {told(evidence.earliest(late[mlp]))}.
* **Residual mass** (c). From half collapsed on, the {{term}}`residual mass` of ResNet-18
  goes with $t$ to the power {told(falling(single), "{:.1f}")}. That of the MLP goes with
  {told(falling(mlp), "{:.1f}")} in the 200 epochs before its first slingshot, and with
  {told(falling(mlp, 50), "{:.1f}")} in the last 50 of them. The paper needs a value below
  -1 for the first network and one near 0 for the second.
* **Not run yet:** {", ".join(missing) or "nothing"}.
""")

# %% [markdown]
# ## The idea
#
# {term}`Inflation <inflation>` multiplies the two means by $1 + \eta\epsilon/\sqrt K$ a step.
# If $\epsilon$ falls while it acts, the factors add up as
#
# $$
# \ln \frac{|W_G(t)|}{|W_G(0)|} = \sum_{s \le t} \ln\Bigl(1 + \frac{\eta\, \epsilon(s)}{\sqrt K}\Bigr)
# \approx \frac{\eta}{\sqrt K} \sum_{s \le t} \epsilon(s) .
# $$
#
# So what counts is the sum of the residual mass. A constant one has a sum that grows with
# $t$; one that falls as $1/t$ has a logarithm, hence a power of $t$ for the norm. One that
# falls faster has a finite sum, and growth ends. As $\eta$ we take Adam's largest step,
# its learning rate over its $\varepsilon$, which gives growth its best chance.

# %%
def log_growth(mass, steps, eta=1e-3 / 1e-8, classes=10):
    """ln of the growth of the two means, for a residual mass given by step."""
    return sum(math.log1p(eta * mass(t) / math.sqrt(classes)) for t in range(1, steps + 1))


decays = {
    "constant": lambda t: 1e-8 * t**0,
    "1 / t": lambda t: 1e-5 / t,
    "1 / t²": lambda t: 1e-2 / t**2,
}
for name, decay in decays.items():
    factor = sum(math.log(theory.coupled_growth(1e5, decay(t), 10)[0]) for t in range(1, 101))
    assert math.isclose(factor, log_growth(decay, 100), rel_tol=1e-6)
    late_part = log_growth(decay, 10_000) - log_growth(decay, 1000)
    print(f"{name:9} from step 1,000 to 10,000 ln |W_G| grows by {late_part:.2f}")

# %% [markdown]
# The same condition holds for every network: what protects one is a residual mass that falls
# fast once its samples have collapsed. Whether {term}`batch norm` is the reason, or
# the average over all places before the {term}`head`, the paper does not ask. Both are in
# ResNet-18, and neither is in the MLP.

# %% tags=["hide-input"]
#| name: fig-liu2026-13-why
#| caption: >
#|   What inflation would look like. (a) Share of training samples collapsed in float32.
#|   (b) Norm of the mean classifier, over that at the start of training. (c) Cosine of
#|   the mean classifier and the mean feature. Marks below the curves of (a): slingshots.
#| alt: >
#|   Left: nearly all samples collapse in both networks, and leave the collapse again at
#|   the slingshots of the MLP. Middle and right: in ResNet-18 the norm of the mean
#|   classifier grows more than in the MLP, and the cosine comes nearer to minus one.
#| fold: "Code: draw collapse and inflation"
figure, (share, norm, turn) = plots.panels(3, height=3.3)
for place, run in enumerate((*there, mlp)):
    plots.curve(share, run, COLLAPSED, percent=True)
    plots.curve(turn, run, "mean_cosine")
    if run.seeds:
        size = run.series("head_mean_norm")
        norm.plot((size / size.iloc[0]).median(axis=1), color=run.color)
        onsets = late[run][run.seeds[0]]
        level = np.full(len(onsets), -4.0 - 4 * place)
        share.plot(onsets, level, "|", color=run.color, ms=7, mew=1.6)
share.set(xlabel="epoch", ylabel="collapsed samples (%)", ylim=(-25, 104))
share.set_yticks(range(0, 101, 25))
norm.set(xlabel="epoch", ylabel="norm of $W_G$ / start", ylim=(0, None))
turn.set(xlabel="epoch", ylabel="cos($W_G$, $\\mu_G$)", ylim=(-1.05, 0.6))
for panel in (share, norm, turn):
    panel.set_xlim(0, epochs)
    plots.thousands(panel)
figure.legend(*turn.get_legend_handles_labels(), loc="outside lower center", ncols=5)
plots.letter([share, norm, turn], ["collapse", "mean classifier", "cosine"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a step with a loss of 0.1 or more after one of at most 0.001, with at least
# 40 % of the samples collapsed at a look within 100 epochs before. Bounds are ours, fixed
# before the runs; the paper gives no numbers for this figure.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
paper = {"model": "ResNet-18", "model.stem": "3 x 3, stride 1, no max-pooling"}
paper |= {"model.width": "64", "model.norm": "batch"}
tables.settings(record, paper=liu2026.TABLE3 | paper)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# There is no official code. What was inferred, and where the runs differ:
#
# 1. *Training images.* Their number is not stated: 200 at paper scale, as in
#    {cite:t}`thilak2022`, drawn by the seed. The small scale has 100, a width of 8 and 2,000
#    epochs.
# 2. *Start.* That of PyTorch's layers. Batch norm is as in the original network, after every
#    convolution, and never directly before the head.
# 3. *Looks* between the steps are at the network of the steps: on the training images batch
#    norm takes their own statistics. Test accuracy is that of its running averages.
# 4. *Other arms* are ours: the loss in float64, convolutions with biases in place of batch
#    norm, and a tenth of the learning rate. Those that are not trained yet have no row.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
signs = evidence.inflation(single)
inflates = "inflation" if evidence.inflated(single).all() else "no inflation"
planned = f"Arms that are not run yet: {', '.join(missing)}." if missing else ""
tables.prose(f"""
**ResNet-18 stays quiet, as the paper says**, and not for want of collapse. From epoch
{told(single.first(COLLAPSED, at_least=1.0))} on no sample has a gradient of its correct
class, and the loss is exactly zero. [Elsewhere](causes.ipynb) spikes go with this missing
gradient. Here it is missing for most of the run, and nothing follows (n =
{len(single.seeds)}). So it is not sufficient for spikes by itself.

**The residual mass does fall faster than $1/t$.** That is the paper's explanation, but the
exponent alone does not tell the two networks apart: before its first slingshot the MLP's
falls faster still. What differs comes after the collapse. In the MLP it then
stays level for some tens of epochs, and a slingshot ends that.

**Margins show what differs.** The smallest {{term}}`margin` of ResNet-18 ends at
{told(single.last(LEAST), "{:.1f}")}, far beyond the 16.6 at which float32 loses the correct
class. The wrong classes alone go on pushing all samples apart, so that none comes
back. In the MLP it is {told(before(mlp, LEAST), "{:.1f}")} at the last look before the first
slingshot: some samples never get across.

**Of the two networks the quiet one drifts more.** By epoch {epochs:,} the mean classifier of
ResNet-18 is {told(drifted[single], "{:.1f}")} times as long as at the start, that of the MLP
{told(drifted[mlp], "{:.1f}")} times. From half collapsed on, its cosine with the mean feature
falls by {told(-signs["cosine"], "{:.2f}")}, to {told(single.last("mean_cosine"), "{:.2f}")},
and the mean classifier grows {told(signs["growth"], "{:.1f}")}-fold. Our rule asks for a fall
of 0.3 and a factor of 2, so it reads "{inflates}". A look earlier or later can change that.
What the paper rules out is exponential growth, and the curve of the mean classifier flattens.
At the pace of Theorem 7 the logarithm of the growth would be {told(paced(single), "{:.2f}")}; it
is {told(np.log(signs["growth"]), "{:.2f}")}, for $W_G$ is driven by a mean feature that is much
longer than itself (Theorem 4). If drift of that kind made the spikes, this ResNet-18 should have
them. It is one small network, beside an MLP of full size.

**What protects it** is not settled. {planned}
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-13-power
# The residual mass falls as $c/t$. With which power of $t$ does the mean classifier grow at
# Adam's largest step, for $c = 10^{-5}$ and $10^{-3}$?
# ```
#
# ````{solution} ex-liu2026-13-power
# :class: dropdown
# The sum of $c/s$ up to $t$ is about $c \ln t$, so $|W_G| \propto t^{\eta c/\sqrt K}$:
#
# ```python
# import math
# for c in (1e-5, 1e-3):
#     print(f"c = {c:g}: power {1e5 * c / math.sqrt(10):.2f}")
# ```
#
# "Polynomial" is no protection by itself: a power of 32 is faster than most exponentials
# within a run. The size of $\epsilon$ counts as well as its decay.
# ````
#
# ```{exercise}
# :label: ex-liu2026-13-log
# The paper names $\epsilon \propto \log t / t$ as a second example of polynomial or
# logarithmic growth. Is it?
# ```
#
# ````{solution} ex-liu2026-13-log
# :class: dropdown
# The sum is $\frac12 \ln^2 t$, so the norm grows as $t^{(\eta c / 2 \sqrt K) \ln t}$: its power
# of $t$ keeps rising.
#
# ```python
# import math
# total, last = 0.0, {}
# for t in range(1, 100_001):
#     total += 1e5 * 1e-5 * math.log(t) / t / math.sqrt(10)
#     last[t] = total
# for early in (100, 1000, 10_000):
#     power = (last[10 * early] - last[early]) / math.log(10)
#     print(f"from step {early:,} on: power {power:.2f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-13-arm
# Which arm tells whether batch norm is what keeps ResNet-18 quiet, and which outcome would
# say that it is not?
# ```
#
# ```{solution} ex-liu2026-13-arm
# :class: dropdown
# The arm without batch norm. If it reaches full collapse and stays quiet as well, the
# reason lies elsewhere, in the average over places or in the shortcuts. If it does not
# collapse within the run, it tells nothing.
# ```

# %% [markdown]
# ## Run it yourself
#
# At small scale: 100 images, an eighth of the width, 2,000 epochs, one seed, in about half an
# hour on one core for all arms. The images are fetched, or found in the folder that
# `GROKBOOK_DATA` names.
#
# ```bash
# make page PAGE=liu2026/fig13 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record, other)
