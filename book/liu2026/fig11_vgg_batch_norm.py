# %% [markdown]
# # [Liu et al. 2026 · Figure 11]{.kicker} A narrow VGG-11 with batch norm shows inflation and no spike

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch
from torch import nn
from torch.nn.functional import max_pool2d, relu

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig11", scale, retrain, device)
record, plain_record = page.record(arms=("float32",)), page.record("fig10", arms=("float32",))
base = Run(record, "float32", "batch norm", plots.COLOUR["batch norm"])
exact = Run(record, "float64 loss", "float64 loss", plots.COLOUR["float64 loss"])
plain = Run(plain_record, "float32", "without norm", plots.COLOUR["VGG-11"])
NAMES = {base: "batch norm", exact: "same, float64 loss", plain: "without norm"}
late, early = ({run: evidence.bursts(run, late=kind) for run in NAMES} for kind in (True, False))
count = {run: evidence.counted(late[run]) for run in NAMES}
first, settled = evidence.earliest(late[base]), evidence.settled(base)
MEAN, NORM, COSINE = "feature_mean_norm", "feature_norm", "mean_cosine"
share = {run: run.last(MEAN) / run.last(NORM) for run in (base, plain)}
given = base.settings.optimizer.options
limit = theory.jump(given["lr"], given["betas"])  # of an update after silence


def fading(norm):
    """Growth of a logarithm in the second half over the first: 1 if exponential."""
    start, middle, end = (math.log(norm.dropna().iloc[k]) for k in (0, norm.count() // 2, -1))
    return (end - middle) / (middle - start)


before = base.series("residual_mass", since=0.7 * first, until=first - 1)
both = {run.label: run for run in (base, plain)}
found = {
    "spikes": (base, count[base]),
    "again": (base, count[base]),
    "float64 loss": (exact, evidence.tested(count[exact], count[base])),
    "inflation": (base, evidence.inflated(base)),
    "anti-parallel": (base, base.last(COSINE)),
    "falling": (base, evidence.power(before).dropna()),
    "mean-feature": (base, share[base]),
    "fading": (base, base.series("head_mean_norm", since=settled).dropna(axis=1, how="all").apply(fading)),
    "update": (base, base.series("head_update", since=settled).median()),
    "zeros": (base, (base.trace() == 0).sum().astype(float)),
    "float64-inflation": (exact, evidence.inflated(exact)),
    "early": {name: (run, evidence.counted(early[run])) for name, run in both.items()},
    "settled": {name: (run, evidence.settled(run)) for name, run in both.items()},
    "test-accuracy": {name: (run, run.last("test_accuracy")) for name, run in both.items()},
    "slingshots": (plain, count[plain]),
    "cosine": (plain, plain.last(COSINE)),
}
sheet = claims.read(page.name, found, limit=f"{limit:.1e}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-11
#| caption: >
#|   VGG-11 with and without batch norm after its convolutions, first seed. (a, b) Training
#|   loss of every step in float32; losses below 1e-11 lie on the lower edge. (c) Share of the
#|   samples whose loss is zero in float32, at the looks. (d) Cosine of mean classifier and
#|   mean feature. Both also for batch norm with the loss in float64. Dotted: slingshots.
#| alt: >
#|   Four panels against epoch. With batch norm the loss falls to 1e-8 and stays there, noisy;
#|   without it jumps above 1 three times. With batch norm the collapsed share stays between
#|   50 and 90 percent, and the cosine falls to almost minus 1.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=2, height=2.4, sharex=True)
for panel, run in zip(axes, (base, plain), strict=False):
    plots.trace(panel, run, floor=1e-11)
    panel.set(ylim=(5e-12, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="", ylabel="")
for run in NAMES:
    seed = run.seeds[0]
    values = 100 * run.series("collapsed")[seed].dropna(), run.series(COSINE)[seed].dropna()
    for lower, value in zip(axes[2:], values, strict=True):
        lower.plot(value, color=run.color, lw=1.4, label=NAMES[run])
        plots.mark(lower, late[run][seed], color=run.color)
axes[0].set_ylabel("training loss")
axes[2].set(ylabel="samples (%)", xlabel="epoch", ylim=(-3, 103))
axes[3].set(ylabel="cosine", xlabel="epoch", ylim=(-1.05, 0.55))
axes[3].legend(loc="upper right", frameon=True, framealpha=1, edgecolor="none")
for panel in axes[2:]:
    plots.thousands(panel)
plots.letter(axes, ["batch norm", "without norm", "collapsed", "cos(W_G, μ_G)"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Spikes.** With batch norm (a) float32 has {sheet.told("spikes")} {{term}}`slingshots <slingshot>` in
  {base.settings.epochs:,} epochs (n = {len(base.seeds)}). Without (b), from the same images, it
  has {sheet.told("slingshots")} (n = {len(plain.seeds)}).
* **Collapse** (c). Most samples come into {{term}}`softmax collapse` with batch norm too.
  Not all: the loss is exactly zero in {sheet.told("zeros")} steps.
* **{{term}}`Inflation <inflation>`** (d). The cosine of {{term}}`mean classifier` and
  {{term}}`mean feature` ends at {sheet.told("anti-parallel")}, and at
  {sheet.told("cosine")} without batch norm. The mean correct
  {{term}}`logit` is {told(base.last("correct_logit"))} by then. With batch norm and
  the loss in float64 the cosine ends at {told(exact.last(COSINE), "{:+.2f}")}.
* **Batch norm does not remove the mean feature.** Its norm ends at
  {told(share[base], "{:.0%}")} of the mean norm of the features, and at
  {told(share[plain], "{:.0%}")} without.
""")

# %% [markdown]
# ## The idea
#
# {term}`Batch norm <batch norm>` subtracts the mean over the batch. Here it does so before
# the ReLU and the pooling, and the {term}`head` reads what comes after. Let $z$ be a
# standard normal. Then
#
# $$
# \operatorname{E} \operatorname{relu}(z) = \tfrac{1}{\sqrt{2\pi}}, \qquad
# \operatorname{E} \operatorname{relu}(z)^2 = \tfrac12, \qquad
# \frac{|\mu_G|^2}{\operatorname{E} |h|^2} = \tfrac1\pi = 32\,\% .
# $$
#
# So a third of the squared length of a feature is the mean feature again. The largest of
# four places, which max-pooling takes, has more of it:


# %%
def share_of_mean(h):
    """|mean h|^2 over the mean of |h|^2: 0 if the features are centred."""
    return float(h.mean(dim=0).square().sum() / h.square().sum(dim=1).mean())


torch.manual_seed(0)
maps = 3 + 5 * torch.randn(2000, 64, 2, 2)  # (images, channels, height, width)
normed = nn.BatchNorm2d(64)(maps)
kinds = {
    "batch norm": normed[:, :, 0, 0],
    "then ReLU": relu(normed)[:, :, 0, 0],
    "then max-pooling": max_pool2d(relu(normed), 2).flatten(1),
}
parts = {name: share_of_mean(h.detach()) for name, h in kinds.items()}
assert abs(parts["then ReLU"] - 1 / math.pi) < 0.01
for name, part in parts.items():
    print(f"{name}: {part:.0%}")

# %% tags=["hide-input"]
#| name: fig-liu2026-11-mean
#| caption: >
#|   The mean feature comes back after batch norm. (a) Share of the squared length of random
#|   features that is their mean. (b) Norm of the mean feature over the mean norm of the
#|   features in training, first seed; dashed, a rectified standard normal. (c) Norm of the
#|   mean classifier.
#| alt: >
#|   Left: three bars, near 0 after batch norm, a third after ReLU and about 70 percent after
#|   max-pooling. Middle: two curves against epoch, with and without batch norm, above 0.55.
#|   Right: with batch norm the norm of the mean classifier grows along a straight line.
#| fold: "Code: draw the shares, the mean features and the mean classifiers"
figure, (bars, curves, head) = plots.panels(3, height=3.4)
bars.bar(list(parts), [100 * part for part in parts.values()], color=base.color, width=0.6)
bars.set(ylabel="share of the mean (%)", ylim=(0, 100))
bars.set_xticks(range(3), ["norm", "ReLU", "pool"])
for run in NAMES:
    seed = run.seeds[0]
    ratio = (run.series(MEAN)[seed] / run.series(NORM)[seed]).dropna()
    curves.plot(ratio, color=run.color, label=NAMES[run], lw=1.6)
    head.plot(run.series("head_mean_norm")[seed].dropna(), color=run.color, lw=1.6)
curves.axhline(math.sqrt(1 / math.pi), color=plots.GREY, ls="--", lw=1)  # rectified normals
curves.set(xlabel="epoch", ylabel="mean feature / features", ylim=(0, 1.03))
curves.legend(loc="lower right")
head.set(xlabel="epoch", ylabel="norm of W_G", ylim=(0, None))
for panel in (curves, head):
    plots.thousands(panel)
plots.letter([bars, curves, head], ["random features", "training", "mean classifier"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a burst of the loss from below 0.001 to above 0.1. At a look within 100 epochs
# before it, at least 40 % of the samples are collapsed. The paper gives no numbers for this
# figure: the bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, plain_record)

# %% [markdown]
# ## What was run
#
# There is no official code. Where the runs differ from the paper, or had to be guessed:
#
# 1. *Scale.* On a laptop all layers have an eighth of their channels, and there are 100
#    images and 2,000 epochs. "No slingshot" there may mean "not yet".
# 2. *Place of the norm.* After each of the eight convolutions and before its ReLU, as in
#    the usual VGG-11 with batch norm. Gain and shift are learned.
# 3. *Batches are whole*, so that batch norm in training uses the statistics of the training
#    set. The loss of every step, and so every spike, is of that network.
# 4. *Looks* between the steps are at the network of the steps: on the training images batch
#    norm takes their own statistics. Test accuracy is that of its running averages.
# 5. *Batch norm before the head* is another arm, on the page of
#    [Figure 3](fig03_mitigations.ipynb).

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
grown = {run: told(evidence.inflation(run)["growth"], "{:.1f}") for run in (base, exact)}
tables.prose(f"""
**At {record.scale} scale**: {sheet.told("spikes")} slingshots with batch norm and {sheet.told("slingshots")} without
(n = {len(base.seeds)}).  The paper's curve is longer and its network wider, so ours
does not refute it.

**Inflation without a spike.** The paper's story is there up to its last step: collapse,
inflation, samples that keep a gradient. The spike is not.
A reason can be read off the updates. Their mean is {sheet.told("update")}, and the
learning rate is {given["lr"]:g}. What drives inflation presumably has the same sign in every
step, so that Adam follows it at nearly full speed. An update after silence would be {limit:.1e}, which is
no jump from there.

**The inflation is one of float32.** With the loss in float64 all else is the same network.
From half collapsed on, the mean classifier grows {grown[exact]}-fold there (n =
{len(exact.seeds)}), and {grown[base]}-fold in float32. There is no slingshot that it could end.

**The paper's argument on batch norm holds.** What is centred is rectified again, and the mean
feature comes back, against the reading of {{cite:t}}`thilak2022`. Batch norm
inside a network does not take inflation away.

**Growth is not exponential.** The theory says so for a {{term}}`residual mass` that stays as it
is, as here. The logarithm of $|W_G|$ grows in the second half
{sheet.told("fading")} times as much as in the first; exponential growth has
1. The theory is one of gradient descent, and Adam's steps do not grow with the gradient.

**What it means for ResNet-18.** The paper's one network without spikes has batch norm too.
[Figure 13](fig13_resnet.ipynb) takes that apart.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-11-pool
# Average pooling in place of max-pooling: which share of the squared length does the mean
# feature have then, if the four places are independent? And if they are equal?
# ```
#
# ````{solution} ex-liu2026-11-pool
# :class: dropdown
# A mean over four places keeps the mean and divides the variance by four. With $\mu^2 = 1/2\pi$
# and variance $1/2 - 1/2\pi$ the share is $\mu^2 / (\mu^2 + \sigma^2 / 4)$, 65 %. Equal
# places change nothing: 32 %.
#
# ```python
# import torch
# torch.manual_seed(0)
# h = torch.randn(200_000, 4).relu().mean(dim=1)
# print(f"{float(h.mean() ** 2 / h.square().mean()):.0%}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-11-last
# Batch norm directly before the head, with gain and shift: what is the mean feature then?
# Can {term}`inflation` still happen?
# ```
#
# ````{solution} ex-liu2026-11-last
# :class: dropdown
# It is the shift, a weight like any other, which begins at zero:
#
# ```python
# import torch
# norm = torch.nn.BatchNorm1d(4)
# with torch.no_grad():
#     norm.bias.copy_(torch.tensor([0.0, 1.0, -2.0, 3.0]))
# h = norm(torch.randn(100, 4).relu())
# print([round(x, 3) for x in h.mean(dim=0).tolist()])
# ```
#
# The loop of mean classifier and mean feature is still there, through the shift. It is slower,
# since one vector of weights has to carry it, and not the features of all layers.
# ````
#
# ```{exercise}
# :label: ex-liu2026-11-scale
# A convolution with batch norm behind it does not notice when its weights are doubled. What
# does that do to the gradients of those weights, if Adam lets them grow?
# ```
#
# ```{solution} ex-liu2026-11-scale
# :class: dropdown
# The output stays the same, so the gradient is halved when the weights are doubled, and it is
# orthogonal to them. Every step makes them longer, and so the network learns ever more slowly
# inside. Only gains, shifts and the head can still scale the logits.
# ```

# %% [markdown]
# ## Run it yourself
#
# An eighth of the width, 100 images and 2,000 epochs, one seed, in about ten minutes on one
# core:
#
# ```bash
# make page PAGE=liu2026/fig11 SCALE=laptop
# ```
