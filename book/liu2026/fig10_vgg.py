# %% [markdown]
# # [Liu et al. 2026 · Figure 10]{.kicker} A narrow VGG-11 has loss spikes, once even with a float64 loss

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

plots.use_style()
page = evidence.Page("liu2026/fig10", scale, retrain, device)
record, in_batches = page.record(arms=("float32",)), page.record("batches")
arms = [arm.name for arm in record.experiment.arms]
base, exact, *causes = (Run(record, arm, arm, plots.COLOUR[arm]) for arm in arms)
batched = Run(in_batches, "float32", "batches", plots.COLOUR["float32"])
NO_MEAN = "W_G subtracted"
centred = Run(in_batches, NO_MEAN, f"batches, {NO_MEAN}", plots.COLOUR[NO_MEAN])
normed = Run(
    in_batches, "before the head", "batches, batch norm", plots.COLOUR["batch norm"]
)
every = (base, exact, *causes, batched, centred, normed)
late = {run: instability.bursts(run, late=True) for run in every}
count = {run: instability.counted(late[run]) for run in every}
MEAN = "feature_mean_norm"
growth = {run: run.last(MEAN) - run.at(MEAN, run.settings.epochs // 2) for run in every}


def slowed(run):
    """Its growth over that of plain batches, in seeds in which those grow."""
    mine, plain = evidence.paired(growth[run], growth[batched])
    return evidence.testable(mine / plain, plain > 0)


far, near = evidence.paired(exact.last("mean_logit"), base.last("mean_logit"))
found = instability.outcomes(base, exact, causes[0]) | {
    "spikes": (base, count[base]),
    "mean-logit": ([exact, base], far.abs() / near.abs()),
    "half-collapsed": (batched, batched.last("collapsed")),
    "in-batches": (batched, count[batched]),
    "slowed-by-subtraction": ([centred, batched], slowed(centred)),
    "slowed-by-norm": ([normed, batched], slowed(normed)),
    "slingshots": {
        run.label: (run, count[run]) for run in (exact, *causes, centred, normed)
    },
}
sheet = claims.read(page.name, found)
spiking = f"{(count[exact] > 0).sum()} of {len(exact.seeds)} runs"
alone = (count[exact] > 0).sum() == 1
sheet.box(
    "The paper shows late loss spikes of VGG-11, a convolutional network. Elsewhere it says "
    "that spikes end if the loss is computed in float64. Our VGG-11 has an eighth of the "
    f"channels and {base.settings.dataset.options['train_samples']} training images. With the "
    f"loss in float32 each run has {sheet.told('spikes')} loss spikes in "
    f"{base.settings.epochs:,} epochs. So this network spikes, as the paper says. But with the "
    f"loss in float64 {spiking} still {'spikes' if alone else 'spike'}, once. There the "
    "rounding of the loss cannot be the cause."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-10
#| caption: >
#|   A narrow VGG-11 has loss spikes in every run with the loss in float32, and in one run with the
#|   loss in float64. (a, b) Training loss at every step of one run of each, from the same starting
#|   weights; (b) is the run with the spike, the other float64 runs have none.
#|   The first small jump comes before the network fits its images, and is not counted. (c) Number
#|   of loss spikes; each dot is a run.
#| alt: >
#|   Three panels. In float32 the loss falls to 1e-8 and jumps above 1 three times. With the loss
#|   in float64 it falls to 1e-10, jumps once, and falls again. The dots are at 3 in float32;
#|   with the float64 loss two are at 0 and one is at 1.
#| fold: "Code: draw the figure"
figure, (*traces, dots) = plots.panels(3, height=3.4)
seed = base.seeds[0]
for panel, run in zip(traces, (base, exact), strict=True):
    plots.trace(panel, run, floor=1e-11)
    panel.set(ylim=(5e-12, 1e3), yticks=[1e-8, 1e-4, 1])
    plots.thousands(panel)
traces[1].set(ylabel="")
for place, run in enumerate((base, exact)):
    counts = count[run].sort_values().to_numpy()
    across = place + np.linspace(-0.2, 0.2, len(counts))
    dots.plot(across, counts, "o", color=run.color, ms=7)
dots.text(1, 1.4, f"spikes in\n{spiking}", color=exact.color, ha="center")
dots.set_xticks(range(2), ["loss in\nfloat32", "loss in\nfloat64"])
dots.set(xlim=(-0.5, 1.5), ylim=(-0.2, 4), ylabel="loss spikes in a run")
dots.set_yticks(range(5))
plots.letter([*traces, dots], ["loss in float32", "loss in float64", "every run"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **With the loss in float32** (a) the first {{term}}`slingshot` begins at epoch {told(instability.earliest(late[base]))}.
* **With the loss in float64** (b) the paper expects no spike, since no gradient of a correct class is rounded
  away. The one that there is looks different: the loss rises smoothly to it.
* **Not all samples have {{term}}`collapsed <softmax collapse>` before a spike** (next figure). The smallest
  share before one is {told(instability.before(base, "collapsed", late[base]), "{:.0%}")}.
* **{{term}}`Inflation <inflation>`** turns {{term}}`mean classifier` and {{term}}`mean feature`
  against each other, in float32 alone.
""")

# %% [markdown]
# ## Collapse and the two means

# %% tags=["hide-input"]
#| name: fig-liu2026-10-means
#| caption: >
#|   Spikes begin before all samples have collapsed, and the two means turn apart in float32. One
#|   run of each. (a) Share of the samples whose loss float32 would round to zero, whatever the
#|   loss is computed in. (b) Cosine of mean classifier and mean feature. Dotted lines mark spikes.
#| alt: >
#|   Two panels against epoch. Two thirds of the samples or more collapse before each jump. The
#|   cosine falls below minus 0.5 in float32 and stays near minus 0.16 otherwise.
#| fold: "Code: draw collapse and cosine"
figure, lower = plots.panels(2, height=2.8)
for run, label in ((base, "loss in float32"), (exact, "loss in float64")):
    for panel, column, factor in zip(
        lower, ("collapsed", "mean_cosine"), (100, 1), strict=True
    ):
        values = factor * run.series(column)[seed].dropna()
        panel.plot(values, color=run.color, lw=1.4, label=label)
        plots.mark(panel, late[run][seed], color=run.color)
lower[0].set(ylabel="samples (%)", xlabel="epoch", ylim=(-3, 103))
lower[1].set(ylabel="cosine", xlabel="epoch", ylim=(-1.02, 0.1))
for panel in lower:
    plots.thousands(panel)
figure.legend(
    *lower[0].get_legend_handles_labels(), loc="outside upper center", ncols=2
)
plots.letter(lower, ["collapsed samples", "cosine of the two means"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# The paper also trains VGG-11 in batches of 256, and sees no spikes. Its explanation: samples
# that have not collapsed keep Adam's memory of gradients alive. Let a share $q$ of all samples
# be collapsed. All $B$ samples of a batch are collapsed with probability
#
# $$
# P = q^{B} .
# $$
#
# The paper reports $q$ of about one half. Then this never happens for $B = 256$.


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
# A full batch contains every sample, so it is silent only once *all* samples have collapsed.
# The spikes of this page begin earlier, as the figure above shows.

# %% tags=["hide-input"]
#| name: fig-liu2026-10-onset
#| caption: >
#|   A spike begins within a few steps, and large batches are almost never silent. (a) Training
#|   loss in the steps around each spike of one run. (b) Probability that all samples
#|   of a batch are collapsed, by the share of collapsed samples. (c) Norm of the mean feature
#|   when we train in batches: plain, with the mean classifier subtracted, and with batch norm
#|   before the last layer. Seeds are thin, their median is thick.
#| alt: >
#|   Left: in float32 the loss is near 1e-8 and noisy up to the step before the jump. With the
#|   loss in float64 it is smooth near 1e-10, bends upwards over four steps and jumps as high.
#|   Middle: curves for batches of 16, 256 and 4,096 that rise from 0 only close to 100 percent.
#|   Right: the norm of the mean feature is largest in plain batches and stays lower with the
#|   mean classifier subtracted. With batch norm before the head it stays near 1.
#| fold: "Code: draw the onsets and the probabilities"
figure, (onset, chance, grown) = plots.panels(3, height=3.4)
for run in (base, exact):
    for on in late[run][seed]:
        loss = run.trace()[seed].loc[on - 20 : on + 8].clip(lower=1e-11)
        onset.plot(
            loss.index - on, loss, "o-", color=run.color, label=run.label, ms=3, lw=1.2
        )
onset.set(
    yscale="log",
    xlabel="steps since the onset",
    ylabel="training loss",
    ylim=(1e-11, 1e6),
)
shares, sizes = np.linspace(0.8, 1, 400), plots.shades((16, 256, 4096))
for size, color in sizes.items():
    chance.plot(100 * shares, silent(shares, size), color=color, label=f"{size:,}")
chance.set(xlabel="samples collapsed (%)", ylabel="probability")
chance.legend(title="batch of", loc="upper left")
for run, label in ((batched, "plain"), (centred, "subtracted"), (normed, "batch norm")):
    plots.curve(grown, run, MEAN, label=label)
grown.set(
    yscale="log", xlabel="step", ylabel="norm of the mean feature", ylim=(0.1, 3e4)
)
plots.thousands(grown)
for panel in (onset, grown):
    names = dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    panel.legend(names.values(), names, loc="upper left", fontsize=9, handlelength=1.2)
plots.letter([onset, chance, grown], ["onset", "a silent batch", "in batches"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a burst of the loss from below 0.001 to above 0.1. At a measurement within 100 epochs
# before it, at least 40 % of the samples are collapsed. A sample counts as collapsed if
# float32 would round its loss to zero, whatever the loss is computed in. The paper gives no
# numbers for this figure: the bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, in_batches)

# %% [markdown]
# ## What was run
#
# There is no official code. Our runs differ from the paper, or we had to guess:
#
# 1. *Scale.* On a laptop all layers have an eighth of their channels, and there are 100
#    images and 2,000 epochs. Full width with 200 images takes hours on two cores.
# 2. *Network.* The head is one linear layer, as in the paper. We infer that there is no dropout,
#    that convolutions have biases, and that initial weights are those of PyTorch.
# 3. *Training set.* 200 images at the paper's scale, as for the MLP. The paper gives no number.
# 4. *Batches.* The paper's have 256 of all 50,000 images, an inferred number, for
#    1,000,000 steps. This is $2 \times 10^{17}$ operations a run, an hour or two on a fast GPU.
#    Ours are quarters of 100 images, for 8,000 steps, so more samples collapse. We count the
#    spikes of the batch at hand, not of all samples.

# %% [markdown]
# ## Reading the result

# %% [markdown]
# **A spike without rounding in the loss.** With the loss in float64 all gradients at the logits
# are right. Still one run spikes. Its onset looks different (figure above, a). In
# float32 the loss is noisy up to the jump. In float64 it is smooth, has a minimum, and then grows
# by a larger factor at every step. This fits a step that has become too long, the
# {term}`edge of stability`: Adam divides by gradients that have almost vanished. We have not
# measured the curvature here. Weights and logits are still in float32, so rounding may play a
# part. An exact loss takes away one cause of spikes, and perhaps not every cause.
#
# **Silence is not needed.** The paper explains quiet training in batches by samples that have not
# collapsed and keep Adam's memory alive. Our full batches contain such samples at every step, up
# to the slingshot. So batches differ in something else too. Perhaps gradients from other images at
# each step do not vanish together. We have not tested this.
#
# **The projection does not end the spikes.** [Another page](causes.ipynb) explains these changes
# of the gradient. Only three of them reduce the spikes of this network:

# %% tags=["hide-input"]
#| fold: "Code: slingshots under each intervention"
tables.grid(
    ["Change of the gradient", "Slingshots"],
    [[run.label.replace("W_G", "mean classifier"), told(count[run])] for run in causes],
    caption=f"Loss in float32 with one change each; {len(base.seeds)} seeds",
)

# %% tags=["remove-input"]
tables.prose(f"""
**In batches** our network spikes {sheet.told("in-batches")} times, where the paper sees no spike. At the
end {sheet.told("half-collapsed")} of its samples are collapsed, and the paper has about half. In the last
half of the training the norm of the mean feature grows by {told(growth[batched], "{:.0f}")}. With the
{{term}}`mean classifier` subtracted it does not grow, as the paper claims. With batch norm before the
head it hardly grows either: there the mean feature is the learned shift, so this is nearly true by
construction.

**Logits.** The paper says that higher precision reduces their growth here. The mean {{term}}`logit` ends
at {told(base.last("mean_logit"), "{:+.0f}")} in float32 and at
{told(exact.last("mean_logit"), "{:+.0f}")} in float64. The mean *correct* logit ends at
{told(base.last("correct_logit"), "{:+.0f}")} and at {told(exact.last("correct_logit"), "{:+.0f}")}: it
grows in float64.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-10-width
# How many weights has VGG-11 at full width, and how many at an eighth of it? Does each suffice
# to fit 100 images?
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
# Both have more than a thousand weights for each image.
# ````
#
# ```{exercise}
# :label: ex-liu2026-10-half
# Which share of the samples must be collapsed for every second batch of 256 to be silent?
# How many of 50,000 samples have not collapsed then?
# ```
#
# ````{solution} ex-liu2026-10-half
# :class: dropdown
# ```python
# share = 0.5 ** (1 / 256)
# print(f"{share:.2%}, {50_000 * (1 - share):,.0f} left")
# ```
#
# The paper reports about half of the samples, which is far below this share.
# ````
#
# ```{exercise}
# :label: ex-liu2026-10-stable
# Adam multiplies gradients far below its $\varepsilon$ by $\eta / \varepsilon = 10^5$.
# Above which {term}`sharpness` is this unstable with $\beta_1 = 0.9$?
# ```
#
# ```{solution} ex-liu2026-10-stable
# :class: dropdown
# Above $38 / 10^5 = 3.8 \times 10^{-4}$, since Adam's limit is $38 / \eta$ for the
# {term}`preconditioned sharpness`, here the sharpness over $\varepsilon$. The curvature at
# the logits falls with the residual mass, but features with norms of hundreds multiply it
# by their squares. [Figure 6](fig06_two_instabilities.ipynb) measures in a smaller network
# which of the two wins.
# ```

# %% [markdown]
# ## Run it yourself
#
# An eighth of the width, 100 images and 2,000 epochs, eight settings with three seeds, in about
# an hour on one core:
#
# ```bash
# make page PAGE=liu2026/fig10 SCALE=laptop
# ```
