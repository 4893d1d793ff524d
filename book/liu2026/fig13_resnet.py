# %% [markdown]
# # [Liu et al. 2026 · Figure 13]{.kicker} In 2,000 epochs a narrow ResNet-18 has no loss spike, though all its samples collapse

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, theory

plots.use_style()
page = evidence.Page("liu2026/fig13", scale, retrain, device)
record, other = page.record(arms=("float32",)), page.record("fig01", arms=("float32",))
single = Run(record, "float32", "ResNet-18", plots.COLOUR["ResNet-18"])
mlp, epochs = Run(other, "float32", "MLP", plots.COLOUR["MLP"]), single.settings.epochs
both = (single, mlp)
MASS, COLLAPSED, LEAST, COSINE = (
    "residual_mass",
    "collapsed",
    "smallest_margin",
    "mean_cosine",
)
MEAN = "head_mean_norm"
late = {run: instability.bursts(run, late=True) for run in both}
first = {run: instability.earliest(late[run]) for run in both}
end = {
    run: first[run].clip(upper=run.settings.epochs) for run in both
}  # of what is quiet
half = {run: instability.settled(run) for run in both}
drifted = {run: run.at(MEAN, epochs) / run.at(MEAN, 0) for run in both}


def falling(run, length=200):
    """d ln ε / d ln t in the ``length`` epochs before a first slingshot.

    Without one, since half of the samples have collapsed; then the last 30 % if none did.
    """
    long = half[run].clip(upper=0.7 * end[run])
    since = (end[run] - length).where(first[run] < math.inf, long)
    return evidence.power(
        run.series(MASS, since=since, until=end[run] - (first[run] < math.inf))
    )


def paced(run, classes=10):
    """ln of the growth at the pace of Theorem 7 from half collapsed to the last look before `end`.

    At Adam's largest step. The epoch of a spike is no part of what leads to it.
    """
    adam = run.settings.optimizer.options
    mass = run.series(MASS, since=half[run], until=end[run] - (first[run] < math.inf))
    return evidence.area(np.log1p(adam["lr"] / adam["eps"] * mass / math.sqrt(classes)))


found = {
    "quiet": (single, instability.counted(late[single])),
    "collapsed": (single, single.largest(COLLAPSED)),
    "falling": (single, falling(single)),
    "no-inflation": (single, instability.inflated(single)),
    "falling-mlp": (mlp, falling(mlp)),
    "margin": {
        "ResNet-18, the end": (single, single.at(LEAST, end[single] - 1)),
        "MLP, its first slingshot": (mlp, mlp.at(LEAST, end[mlp] - 1)),
    },
    "drifted": {run.label: (run, drifted[run]) for run in both},
    "paced": {run.label: (run, paced(run)) for run in both},
}
sheet = claims.read(page.name, found, epochs=epochs)
jumps = {
    run: instability.counted(
        {s: [e for e in on if e <= epochs] for s, on in late[run].items()}
    )
    for run in both
}
many = {run: evidence.words(claims.median(jumps[run]), "{:.0f}") for run in both}
most = evidence.words(claims.median(single.largest(COLLAPSED)), "{:.0%}")
runs = f"{len(single.seeds)} run{'s' * (len(single.seeds) > 1)}"
sheet.box(
    "Of all networks that the paper tests, only ResNet-18, a convolutional network, has no late "
    "loss spike. Ours, with an eighth of the channels and "
    f"{single.settings.dataset.options['train_samples']} training images, has none either: "
    f"{many[single]} loss spikes in {epochs:,} epochs, in {runs}. The MLP of Figure 1, at the "
    f"paper's width and with twice as many images, has {many[mlp]} in this time (median). So the sentence holds, as far as so small a "
    "network shows it.\n\nA spike could have come: the paper's spikes begin from a collapse, in "
    f"which float32 rounds losses to zero, and {most} of the samples are collapsed for most of "
    "the training."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-13
#| caption: >
#|   A narrow ResNet-18 stays collapsed to the end and does not spike; an MLP collapses and spikes. (a, b)
#|   Training loss at every step of one run of ResNet-18 and of one of the MLP of Figure 1. Losses
#|   below 1e-9 lie on the lower edge. The title counts the spikes, for the MLP as the median over runs; the first
#|   small jump in (b) comes before the MLP fits its images, and is not counted. (c) Share of
#|   the samples that are collapsed. It falls at each spike of the MLP, of which every run is thin
#|   and the median thick.
#| alt: >
#|   Left: the loss of ResNet-18 falls below 1e-9 and stays there. Middle: the loss of the MLP
#|   falls and spikes three times. Right: all samples of ResNet-18 collapse and stay so; those of
#|   the MLP leave the collapse again at each spike.
#| fold: "Code: draw the figure"
figure, (left, right, share) = plots.panels(3, height=3.3)
for panel, run in ((left, single), (right, mlp)):
    plots.trace(panel, run, label="")
    panel.set(xlim=(0, epochs), ylim=(5e-10, 1e4))
    plots.curve(share, run, COLLAPSED, percent=True)
right.set(ylabel="")
share.set(xlabel="epoch", ylabel="collapsed samples (%)", ylim=(-3, 118))
share.set(xlim=(0, epochs))
share.text(epochs, 107, f"ResNet-18, {most}", color=single.color, ha="right")
share.text(60, 50, "MLP", color=mlp.color)
for panel in (left, right, share):
    plots.thousands(panel)
titles = [f"ResNet-18: {many[single]} spikes", f"MLP: {many[mlp]} spikes", "collapse"]
plots.letter([left, right, share], titles)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Collapse without a slingshot** (a). ResNet-18 fits its images by epoch {told(single.fitted(accuracy=1.0))}. From
  epoch {told(single.first(COLLAPSED, at_least=1.0))} on all of them have
  {{term}}`collapsed <softmax collapse>`, and no {{term}}`slingshot` follows.
* **The MLP** (b) of [Figure 1](fig01_precision.ipynb) spikes soon. Half of its samples collapse by epoch
  {told(half[mlp])}. Its first slingshot begins at epoch {told(first[mlp])}.
* **{{term}}`Residual mass`** (next figure). From half collapsed on, it falls in ResNet-18 as $t$ to the power
  {sheet.told("falling", "{:.1f}")}. The paper needs a power below -1.
* **Margins.** The smallest {{term}}`margin` of ResNet-18 ends at
  {told(single.last(LEAST), "{:.1f}")}. In the MLP it is
  {sheet.told("margin MLP, its first slingshot")} just before the first slingshot.
""")

# %% [markdown]
# ## The idea
#
# {term}`Inflation <inflation>` multiplies the two means by $1 + \eta\epsilon/\sqrt K$ a step.
# If the {term}`residual mass` $\epsilon$ falls meanwhile, the factors add up as
#
# $$
# \ln \frac{|W_G(t)|}{|W_G(0)|} = \sum_{s \le t} \ln\Bigl(1 + \frac{\eta\, \epsilon(s)}{\sqrt K}\Bigr)
# \approx \frac{\eta}{\sqrt K} \sum_{s \le t} \epsilon(s) .
# $$
#
# So the sum of the residual mass decides. If the mass is constant, the sum grows with $t$. If it
# falls as $1/t$, the sum grows as a logarithm, and the norm as a power of $t$. If it falls
# faster, the sum is finite, and growth ends. For $\eta$ we take Adam's largest step, its learning
# rate over its $\varepsilon$. This gives growth its best chance.


# %%
def log_growth(mass, steps, eta=1e-3 / 1e-8, classes=10):
    """ln of the growth of the two means, for a residual mass given by step."""
    return sum(
        math.log1p(eta * mass(t) / math.sqrt(classes)) for t in range(1, steps + 1)
    )


decays = {
    "constant": lambda t: 1e-8 * t**0,
    "1 / t": lambda t: 1e-5 / t,
    "1 / t²": lambda t: 1e-2 / t**2,
}
for name, decay in decays.items():
    factor = sum(
        math.log(theory.coupled_growth(1e5, decay(t), 10)[0]) for t in range(1, 101)
    )
    assert math.isclose(factor, log_growth(decay, 100), rel_tol=1e-6)
    late_part = log_growth(decay, 10_000) - log_growth(decay, 1000)
    print(f"{name:9} from step 1,000 to 10,000 ln |W_G| grows by {late_part:.2f}")

# %% [markdown]
# This condition is the same for every network: a residual mass that falls fast after a collapse
# protects it. Why does it fall fast in ResNet-18? The reason may be {term}`batch norm`, or the
# average over all places before the {term}`head`. The MLP has neither, and the paper does not
# ask.

# %% tags=["hide-input"]
#| name: fig-liu2026-13-why
#| caption: >
#|   The quiet network has the larger inflation. (a) Residual mass; the slope of 1/t is dotted.
#|   (b) Norm of the mean classifier, over its start. (c) Cosine of the mean classifier and the
#|   mean feature. Runs of the MLP are thin, their median is thick.
#| alt: >
#|   Left: the residual mass of both networks against the epoch on two log axes, with a dotted
#|   line of slope minus one. Middle and right: in ResNet-18 the norm of the mean
#|   classifier grows more than in the MLP, and the cosine falls nearer to minus one.
#| fold: "Code: draw residual mass and inflation"
figure, (mass, norm, turn) = plots.panels(3, height=3.3)
for run in both:
    plots.curve(mass, run, MASS)
    plots.curve(turn, run, COSINE)
    size = run.series(MEAN)
    norm.plot((size / size.iloc[0]).median(axis=1), color=run.color)
times = np.array([epochs / 4, epochs])
mass.plot(times, 1e-10 * epochs / times, color=plots.BLACK, ls=":")
mass.text(times[0], 4e-10, "1 / t ", ha="right", va="center")
mass.set(xscale="log", yscale="log", xlabel="epoch", ylabel="residual mass ε")
mass.set(xlim=(min(40, epochs / 10), epochs), ylim=(1e-11, 3))
norm.set(ylabel="norm / start", ylim=(0, None))
turn.set(ylabel="cosine", ylim=(-1.05, 0.6))
for panel in (norm, turn):
    panel.set(xlabel="epoch", xlim=(0, epochs))
    plots.thousands(panel)
figure.legend(*turn.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plots.letter(
    [mass, norm, turn], ["residual mass", "mean classifier", "cosine of the means"]
)
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a step with a loss of 0.1 or more after a loss of at most 0.001. At a measurement within
# 100 epochs before it, at least 40 % of the samples are collapsed. The paper gives no numbers
# for this figure: the bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, other)

# %% [markdown]
# ## What was run
#
# There is no official code. We had to guess, and our runs differ:
#
# 1. *Training images.* The paper gives no number. At its scale we have 200, as
#    {cite:t}`thilak2022`, drawn by the seed. The small scale has 100 images, a width of 8 and
#    2,000 epochs.
# 2. *Start.* Initial weights are those of PyTorch's layers. Batch norm follows every convolution,
#    as in the original network, and never directly precedes the head.
# 3. *Measurements* use the network of the step: on training images batch norm takes their own
#    statistics. Test accuracy uses its running averages.
# 4. *Other settings* of ours have the loss in float64, no batch norm, or a tenth of the learning
#    rate. None of them is trained yet.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
signs = instability.inflation(single)
tables.prose(f"""
**ResNet-18 stays quiet, as the paper says**, although it collapses. For most of the run no sample has a
gradient of its correct class, and the loss is exactly zero. [Elsewhere](causes.ipynb) spikes go with this
missing gradient. In this small network nothing follows in {epochs:,} epochs. So the missing gradient alone was not enough here.

**The residual mass does fall faster than $1/t$.** The paper explains the quiet by this. But the power
alone does not separate the two networks. In the MLP it is {sheet.told("falling-mlp", "{:.1f}")} in the 200
epochs before the first slingshot, so its mass falls faster still. Only in the last 50 of them is it
{told(falling(mlp, 50), "{:.1f}")}: after the collapse the mass stays level for a while, and then
the slingshot begins.

**Margins show the difference.** Float32 loses the correct class at a margin of 16.6. In ResNet-18 all
samples get far beyond. The wrong classes alone go on pushing them apart, so that none returns. In the
MLP some samples never get across.

**The quiet network inflates more.** The newest version of the paper says itself that inflation need not lead to a
visible spike. By epoch {epochs:,} the mean classifier of ResNet-18 is
{sheet.told("drifted ResNet-18", "{:.1f}")} times as long as at the start, and that of the MLP
{sheet.told("drifted MLP", "{:.1f}")} times. If such a drift made the spikes, this ResNet-18 should spike. It
is one small network, compared with an MLP of full size, though.

**Our rule sees {{term}}`inflation`**, but narrowly. It asks for a cosine that falls by 0.3 from half
collapsed on, and for a mean classifier that doubles. Here the cosine falls by
{told(-signs["cosine"], "{:.2f}")}, and the mean classifier grows {told(signs["growth"], "{:.1f}")}-fold. A measurement
earlier or later can change the answer. The paper rules out exponential growth, and the curve of the mean
classifier does flatten. At the pace of Theorem 7 the logarithm of the growth would be
{sheet.told("paced ResNet-18")}. It is {told(np.log(signs["growth"]), "{:.2f}")}, since a much longer mean
feature drives the mean classifier (Theorem 4).

**What protects ResNet-18** remains open.
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
# "Polynomial" growth alone does not protect: within a run, a power of 32 grows faster than most
# exponentials. The size of $\epsilon$ counts as well as its decay.
# ````
#
# ```{exercise}
# :label: ex-liu2026-13-log
# The paper names $\epsilon \propto \log t / t$ as a second example of polynomial or
# logarithmic growth. Is this true?
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
# Does batch norm keep ResNet-18 quiet? Which run answers this, and which outcome means no?
# ```
#
# ```{solution} ex-liu2026-13-arm
# :class: dropdown
# The run without batch norm. If it reaches full collapse and stays quiet as well, the
# reason lies elsewhere, in the average over places or in the shortcuts. If it does not
# collapse within the run, it answers nothing.
# ```

# %% [markdown]
# ## Run it yourself
#
# At small scale: 100 images, an eighth of the width, 2,000 epochs, one seed, in about half an
# hour on one core for all settings. The images are fetched, or found in the folder that
# `GROKBOOK_DATA` names.
#
# ```bash
# make page PAGE=liu2026/fig13 SCALE=laptop
# ```
