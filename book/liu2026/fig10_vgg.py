# %% [markdown]
# # [Liu et al. 2026 · Figure 10]{.kicker} A narrow VGG-11 spikes three times in float32, seldom with float64 loss

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig10", scale, retrain, device)
record, in_batches = page.record(arms=("float32",)), page.record("batches")
arms = [arm.name for arm in record.experiment.arms]
base, exact, *causes = (Run(record, arm, arm, plots.COLOUR[arm]) for arm in arms)
batched = Run(in_batches, "float32", "batches", plots.COLOUR["float32"])
NO_MEAN = "W_G subtracted"
centred = Run(in_batches, NO_MEAN, f"batches, {NO_MEAN}", plots.COLOUR[NO_MEAN])
normed = Run(in_batches, "before the head", "batches, batch norm", plots.COLOUR["batch norm"])
every = (base, exact, *causes, batched, centred, normed)
late = {run: evidence.bursts(run, late=True) for run in every}
first = {run: evidence.earliest(late[run]) for run in every}
count = {run: evidence.counted(late[run]) for run in every}
MEAN, images = "feature_mean_norm", base.settings.dataset.options["train_samples"]
half = {run: run.at(MEAN, run.settings.epochs // 2) for run in every}
growth = {run: run.last(MEAN) - half[run] for run in every}


def slowed(run):
    """Its growth over that of plain batches; inf where those do not grow."""
    mine, plain = evidence.paired(growth[run], growth[batched])
    return (mine / plain).where(plain > 0, np.inf)


far, near = evidence.paired(exact.last("mean_logit"), base.last("mean_logit"))
both = {run.label: run for run in (base, exact)}
found = evidence.outcomes(base, exact, causes[0]) | {
    "spikes": (base, count[base]),
    "mean-logit": ([exact, base], far.abs() / near.abs()),
    "half-collapsed": (batched, batched.last("collapsed")),
    "in-batches": (batched, count[batched]),
    "slowed-by-subtraction": ([centred, batched], slowed(centred)),
    "slowed-by-norm": ([normed, batched], slowed(normed)),
    "slingshots": {run.label: (run, count[run]) for run in (exact, *causes, centred, normed)},
    "first": {name: (run, first[run]) for name, run in both.items()},
    "share-before": {n: (run, evidence.before(run, "collapsed", late[run])) for n, run in both.items()},
    "cosine": {name: (run, run.last("mean_cosine")) for name, run in both.items()},
    "test-accuracy": (base, base.last("test_accuracy")),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-10
#| caption: >
#|   VGG-11 with the loss in float32 and in float64, first seed. (a, b) Training loss of every
#|   step; losses below 1e-11 lie on the lower edge. (c) Share of samples that float32 counts
#|   as collapsed, also where the loss is computed in float64. (d) Cosine of mean classifier
#|   and mean feature. Dotted: slingshots.
#| alt: >
#|   Four panels against epoch. In float32 the loss falls to 1e-8 and jumps above 1 three
#|   times. With the loss in float64 it falls to 1e-10, jumps once, and falls again. Two
#|   thirds of the samples or more collapse before each jump. The cosine falls below minus 0.5 in float32 and
#|   stays near minus 0.16 otherwise.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=2, height=2.4, sharex=True)
for panel, run in zip(axes, (base, exact), strict=False):
    plots.trace(panel, run, floor=1e-11)
    panel.set(ylim=(5e-12, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="", ylabel="")
    values = run.series("collapsed"), run.series("mean_cosine")
    for lower, series in zip(axes[2:], (100 * values[0], values[1]), strict=True):
        for seed in run.seeds[:1]:
            lower.plot(series[seed].dropna(), color=run.color, lw=1.4, label=run.label)
            plots.mark(lower, late[run][seed], color=run.color)
axes[0].set_ylabel("training loss")
axes[2].set(ylabel="samples (%)", xlabel="epoch", ylim=(-3, 103))
axes[3].set(ylabel="cosine", xlabel="epoch", ylim=(-1.02, 0.1))
axes[3].legend(loc="lower left", frameon=True, framealpha=1, edgecolor="none")
for panel in axes[2:]:
    plots.thousands(panel)
plots.letter(axes, ["float32", "the loss in float64", "collapsed", "cos(W_G, μ_G)"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
others = "; ".join(f"{run.label}: {told(count[run])} (n = {len(run.seeds)})" for run in causes)
tables.prose(f"""
* **Float32** (a) has {sheet.told("spikes")} {{term}}`slingshots <slingshot>` in
  {base.settings.epochs:,} epochs on {images} images (n = {len(base.seeds)}). The first comes at
  epoch {sheet.told("first float32")}.
* **With the loss in float64** (b) their number is {told(count[exact])}
  (n = {len(exact.seeds)}). No gradient of a correct class is rounded
  away there, and the paper expects no spike.
* **Interventions** on the gradient, explained on [their page](causes.ipynb), change the
  number of slingshots. {others}.
* **Not all samples are {{term}}`collapsed <softmax collapse>` before a jump** (c). The
  smallest share at the last look before one is {sheet.told("share-before float32")}. A loss of
  exactly zero would tell that all are; steps with one: {told((base.trace() == 0).sum().astype(float))}.
* **{{term}}`Inflation <inflation>`** (d) turns {{term}}`mean classifier` and {{term}}`mean
  feature` against each other. Their cosine ends at {sheet.told("cosine float32")} in float32, and
  at {sheet.told("cosine float64 loss")} with the loss in float64.
""")

# %% [markdown]
# ## The idea
#
# The paper also trains VGG-11 in batches of 256, and sees no spikes: samples that have not
# collapsed keep Adam's memory of gradients alive. Let a share $q$ of all samples be
# collapsed. A batch of $B$ has none but collapsed ones with probability
#
# $$
# P = q^{B} .
# $$
#
# With half of the samples collapsed, as the paper reports, that never happens for $B = 256$.


# %%
def silent(share, size):
    """Probability that no sample of a random batch has the gradient of its class."""
    return share**size


torch.manual_seed(0)
for share, size in ((0.5, 256), (0.99, 256), (0.999, 256)):
    drawn = (torch.rand(20_000, size) < share).all(dim=1).double().mean()
    assert abs(drawn - silent(share, size)) < 0.02
    print(f"{share:.1%} of the samples collapsed: {silent(share, size):.1e}")

# %% [markdown]
# In full batches the same argument is stricter still: one sample that is not collapsed is in
# every batch. So a full batch is silent only once *all* samples have collapsed. That is not
# what precedes the spikes of this page, as the share in the table says.

# %% tags=["hide-input"]
#| name: fig-liu2026-10-onset
#| caption: >
#|   How a spike begins, how rarely a batch is silent, and what batches do. (a) Training loss
#|   in the steps around each slingshot of the first seed. (b) Probability that all samples of
#|   a batch are collapsed, by the share of collapsed samples. (c) Norm of the mean feature in
#|   a training in batches; thin: seeds, thick: their median.
#| alt: >
#|   Left: in float32 the loss is near 1e-8 and noisy up to the step before the jump; with the
#|   loss in float64 it is smooth near 1e-10, bends upwards over four steps and jumps as high.
#|   Middle: curves for batches of 16, 256 and 4,096 that rise from 0 only close to 100 percent.
#|   Right: the norm of the mean feature is largest in plain batches and stays lower with the
#|   mean classifier subtracted; with batch norm before the head it stays near 1.
#| fold: "Code: draw the onsets and the probabilities"
figure, (onset, chance, grown) = plots.panels(3, height=3.0)
for run in (base, exact):
    for place, on in enumerate(late[run].get(next(iter(run.seeds), None), [])):
        loss = run.trace()[run.seeds[0]].loc[on - 20 : on + 8].clip(lower=1e-11)
        style = {"color": run.color, "label": None if place else run.label, "ms": 3, "lw": 1.2}
        onset.plot(loss.index - on, loss, "o-", **style)
onset.set(yscale="log", xlabel="steps since the onset", ylabel="training loss")
onset.legend(loc="upper left", fontsize=9, handlelength=1.2)
shares, sizes = np.linspace(0.8, 1, 400), (16, 256, 4096)
shade = plots.shades(sizes)
for size in sizes:
    chance.plot(100 * shares, silent(shares, size), color=shade[size], label=f"{size:,}")
chance.set(xlabel="samples collapsed (%)", ylabel="probability")
chance.legend(title="batch of", loc="upper left")
for run in (batched, centred, normed):
    plots.curve(grown, run, MEAN, label=run.label.removeprefix("batches, "))
grown.set(yscale="log", xlabel="step", ylabel="norm of the mean feature")
grown.set_ylim(0.1, 3e4)
plots.thousands(grown)
grown.legend(loc="upper left", fontsize=9, handlelength=1.2)
plots.letter([onset, chance, grown], ["onset", "a silent batch", "in batches"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a burst of the loss from below 0.001 to above 0.1. At a look within 100 epochs
# before it, at least 40 % of the samples are collapsed. Collapsed is what float32 would round to
# a loss of zero, whatever the loss was computed in. The paper gives no numbers for this
# figure: the bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, in_batches)

# %% [markdown]
# ## What was run
#
# There is no official code. Where the runs differ from the paper, or had to be guessed:
#
# 1. *Scale.* On a laptop all layers have an eighth of their channels, and there are 100
#    images and 2,000 epochs. Full width with 200 images takes hours on two cores.
# 2. *Network.* One linear layer as the head, as the paper says. No dropout, biases in the
#    convolutions, and initial weights of PyTorch are inferred.
# 3. *Training set.* 200 images at the paper's scale, as for the MLP. The paper does not say.
# 4. *Mini-batches.* The paper's have 256 of all 50,000 images, an inferred number, for
#    1,000,000 steps: $2 \times 10^{17}$ operations an arm, an hour or two on a fast GPU. On a
#    laptop they are quarters of 100 images, for 8,000 steps. There more samples collapse.
#    A slingshot is then one of the loss of the batch at hand, not of all samples.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Figure 10, at {record.scale} scale**: the number of slingshots in
float32 is {sheet.told("spikes")} (n = {len(base.seeds)}). What the [MLP](fig09_cifar_mlp.ipynb) does, this
convolutional network does as well.

**A spike without collapse.** With the loss in float64 all gradients at the logits are right.
All the same {(count[exact] > 0).sum()} of {len(exact.seeds)} seeds has a slingshot.
Its onset looks different in the figure above. In float32 the loss is noise up to the jump. In float64 it is
smooth and has a minimum, and from there its rise multiplies with every step.
""")

# %% [markdown]
# That fits a step that has become too long, the {term}`edge of stability`: with the gradients
# what Adam divides by has died down too. We have not measured the curvature here. Weights and
# logits are still float32, so rounding is not ruled out either. An exact loss takes away one
# cause of spikes, and perhaps not every one.
#
# **Silence is not needed.** The paper explains quiet mini-batch training by samples that are
# not collapsed and keep Adam's memory alive. In our full batches such samples are there in
# every step, up to the slingshot. So something else differs in mini-batches too. It may be that
# gradients from other images each time do not die down together; that is not tested.

# %% tags=["remove-input"]
tables.prose(f"""
**In batches** the number of slingshots is {sheet.told("in-batches")} (n = {len(batched.seeds)}), and
{sheet.told("half-collapsed")} of the samples are collapsed at the end. In the
last half the norm of the mean feature grows by {told(growth[batched], "{:+.0f}")}, from
{told(half[batched], "{:.0f}")}. With the
{{term}}`mean classifier` subtracted it is {told(growth[centred], "{:+.0f}")}, with batch norm
before the head {told(growth[normed], "{:+.2f}")}. There the mean feature is what batch norm has
learned as its shift, so that the last row is nearly true by construction.

**Logits.** Higher precision is said to reduce their growth here. The mean {{term}}`logit` ends
at {told(base.last("mean_logit"), "{:+.0f}")} in float32 and at
{told(exact.last("mean_logit"), "{:+.0f}")} with the loss in float64. The mean *correct* logit is
{told(base.last("correct_logit"), "{:+.0f}")} and {told(exact.last("correct_logit"), "{:+.0f}")}.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-10-width
# How many weights has VGG-11, and how many at an eighth of its width? Is either enough to
# fit 100 images?
# ```
#
# ````{solution} ex-liu2026-10-width
# :class: dropdown
# Nearly all weights are between hidden channels, so they fall with the square of the width:
#
# ```python
# from grokbook import models
# for width in (64, 8):
#     network = models.VGG11(10, width=width)
#     print(f"width {width}: {sum(w.numel() for w in network.parameters()):,}")
# ```
#
# Either has more than a thousand weights for each image.
# ````
#
# ```{exercise}
# :label: ex-liu2026-10-half
# Which share of the samples must be collapsed for every second batch of 256 to be silent?
# How many of 50,000 are then left?
# ```
#
# ````{solution} ex-liu2026-10-half
# :class: dropdown
# ```python
# share = 0.5 ** (1 / 256)
# print(f"{share:.2%}, {50_000 * (1 - share):,.0f} left")
# ```
#
# The paper reports about half of the samples, which is far from it.
# ````
#
# ```{exercise}
# :label: ex-liu2026-10-stable
# Adam with gradients far below its $\varepsilon$ multiplies them by $\eta / \varepsilon = 10^5$.
# Above which {term}`sharpness` is that unstable with $\beta_1 = 0.9$?
# ```
#
# ```{solution} ex-liu2026-10-stable
# :class: dropdown
# Above $38 / 10^5 = 3.8 \times 10^{-4}$, since Adam's limit is $38 / \eta$ for the
# {term}`preconditioned sharpness`, here the sharpness over $\varepsilon$. The curvature at
# the logits falls with the residual mass, but features with norms of hundreds multiply it
# by their squares. Which of the two wins is what [Figure 6](fig06_two_instabilities.ipynb)
# measures in a smaller network.
# ```

# %% [markdown]
# ## Run it yourself
#
# An eighth of the width, 100 images and 2,000 epochs, eight arms with three seeds, in about
# an hour on one core:
#
# ```bash
# make page PAGE=liu2026/fig10 SCALE=laptop
# ```
