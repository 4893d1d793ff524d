# %% [markdown]
# # [Liu et al. 2026 · Figure 13]{.kicker} A narrow ResNet-18 collapses in float32 without a slingshot

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig13", scale, retrain, device)
record, other = page.record(arms=("float32",)), page.record("fig01", arms=("float32",))
single = Run(record, "float32", "ResNet-18", plots.COLOUR["ResNet-18"])
variants = [
    Run(record, "float64 loss", "float64 loss", plots.COLOUR["float64 loss"]),
    Run(record, "no batch norm", "no batch norm", plots.BLUE),
    Run(record, "learning rate 1e-4", "learning rate 1e-4", plots.PURPLE),
]
mlp, epochs = Run(other, "float32", "MLP", plots.COLOUR["MLP"]), single.settings.epochs
both, every = (single, mlp), (single, *variants, mlp)
MASS, COLLAPSED, LEAST, COSINE = "residual_mass", "collapsed", "smallest_margin", "mean_cosine"
MEAN = "head_mean_norm"
late = {run: evidence.bursts(run, late=True) for run in every}
count = {run: evidence.counted(late[run]) for run in every}
first = {run: evidence.earliest(late[run]) for run in both}
end = {run: first[run].clip(upper=run.settings.epochs) for run in both}  # of what is quiet
half = {run: evidence.settled(run) for run in both}
drifted = {run: run.at(MEAN, epochs) / run.at(MEAN, 0) for run in both}


def falling(run, length=200):
    """d ln ε / d ln t in the ``length`` epochs before a first slingshot.

    Without one, since half of the samples have collapsed; then the last 30 % if none did.
    """
    long = half[run].clip(upper=0.7 * end[run])
    since = (end[run] - length).where(first[run] < math.inf, long)
    until = (first[run] - 1).clip(upper=run.settings.epochs)
    return evidence.power(run.series(MASS, since=since, until=until))


def paced(run, classes=10):
    """ln of the growth at the pace of Theorem 7 from half collapsed to the last look before `end`.

    At Adam's largest step. The epoch of a spike is no part of what leads to it.
    """
    adam = run.settings.optimizer.options
    mass = run.series(MASS, since=half[run], until=(first[run] - 1).clip(upper=run.settings.epochs))
    return evidence.area(np.log1p(adam["lr"] / adam["eps"] * mass / math.sqrt(classes)))


found = {
    "quiet": (single, count[single]),
    "collapsed": (single, single.largest(COLLAPSED)),
    "falling": (single, falling(single)),
    "no-inflation": (single, evidence.inflated(single)),
    "slingshots": {run.label: (run, count[run]) for run in variants},
    "early": (single, evidence.counted(evidence.bursts(single, late=False))),
    "fitted": (single, single.fitted(accuracy=1.0)),
    "settled": {run.label: (run, half[run]) for run in both},
    "falling-mlp": (mlp, falling(mlp)),
    "falling-mlp-last": (mlp, falling(mlp, 50)),
    "margin": {
        "ResNet-18, the end": (single, single.at(LEAST, end[single] - 1)),
        "MLP, its first slingshot": (mlp, mlp.at(LEAST, end[mlp] - 1)),
    },
    "drifted": {run.label: (run, drifted[run]) for run in both},
    "paced": {run.label: (run, paced(run)) for run in both},
}
sheet = claims.read(page.name, found, epochs=epochs)
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
missing = ", ".join(run.label for run in variants if not run.seeds)
tables.prose(f"""
Of ResNet-18 we have n = {len(single.seeds)} at {record.scale} scale; several seeds are given
as median and range.

* **ResNet-18** (a) has fitted its images by epoch
  {sheet.told("fitted")}, and half of them have
  {{term}}`collapsed <softmax collapse>` by epoch {sheet.told("settled ResNet-18")}. At most
  {sheet.told("collapsed", "{:.0%}")} are collapsed at one look. Number of
  {{term}}`slingshots <slingshot>` in {epochs:,} epochs: {sheet.told("quiet")}.
* **The MLP** (b) of [Figure 1](fig01_precision.ipynb) collapses by epoch
  {sheet.told("settled MLP")}. Its first slingshot comes at epoch {told(first[mlp])}.
* **Residual mass** (c). From half collapsed on, the {{term}}`residual mass` of ResNet-18
  goes with $t$ to the power {sheet.told("falling", "{:.1f}")}. That of the MLP goes with
  {sheet.told("falling-mlp", "{:.1f}")} in the 200 epochs before its first slingshot, and with
  {sheet.told("falling-mlp-last", "{:.1f}")} in the last 50 of them. The paper needs a value below
  -1 for the first network and one near 0 for the second.
* **Not run yet:** {missing}.
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
for place, run in enumerate(run for run in every if run.seeds):
    plots.curve(share, run, COLLAPSED, percent=True)
    plots.curve(turn, run, COSINE)
    size = run.series(MEAN)
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
#| fold: "Code: the claims, and what was run"
sheet.closing(record, other)

# %% [markdown]
# ## What was run
#
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
tables.prose(f"""
**ResNet-18 stays quiet, as the paper says**, and not for want of collapse. From epoch
{told(single.first(COLLAPSED, at_least=1.0))} on no sample has a gradient of its correct
class, and the loss is exactly zero. [Elsewhere](causes.ipynb) spikes go with this missing
gradient. Here it is missing for most of the run, and nothing follows (n =
{len(single.seeds)}). So in this small network it is not sufficient for spikes by itself.

**The residual mass does fall faster than $1/t$.** That is the paper's explanation, but the
exponent alone does not tell the two networks apart: before its first slingshot the MLP's
falls faster still. What differs comes after the collapse. In the MLP it then
stays level for some tens of epochs, and a slingshot ends that.

**Margins show what differs.** The smallest {{term}}`margin` of ResNet-18 ends at
{told(single.last(LEAST), "{:.1f}")}, far beyond the 16.6 at which float32 loses the correct
class. The wrong classes alone go on pushing all samples apart, so that none comes
back. In the MLP it is {sheet.told("margin MLP, its first slingshot")} at the last look before the first
slingshot: some samples never get across.

**Of the two networks the quiet one drifts more.** By epoch {epochs:,} the mean classifier of
ResNet-18 is {sheet.told("drifted ResNet-18", "{:.1f}")} times as long as at the start, that of the MLP
{sheet.told("drifted MLP", "{:.1f}")} times. From half collapsed on, its cosine with the mean feature
falls by {told(-signs["cosine"], "{:.2f}")}, to {told(single.last(COSINE), "{:.2f}")},
and the mean classifier grows {told(signs["growth"], "{:.1f}")}-fold. Our rule asks for a fall
of 0.3 and a factor of 2, so it reads "inflation". A look earlier or later can change that.
What the paper rules out is exponential growth, and the curve of the mean classifier flattens.
At the pace of Theorem 7 the logarithm of the growth would be {sheet.told("paced ResNet-18")}; it
is {told(np.log(signs["growth"]), "{:.2f}")}, for $W_G$ is driven by a mean feature that is much
longer than itself (Theorem 4). In the MLP, which spikes, that pace gives only {sheet.told("paced MLP")}
before the first slingshot (n = {len(mlp.seeds)}). If drift of that kind made the spikes, this ResNet-18 should have
them. It is one small network, beside an MLP of full size.

**What protects it** is not settled. Arms that are not run yet: {missing}.
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
