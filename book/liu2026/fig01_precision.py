# %% [markdown]
# # [Liu et al. 2026 · Figure 1]{.kicker} A wide MLP spikes in float32, and not with a float64 loss

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch
from pandas import Series
from torch.nn.functional import cross_entropy

from grokbook import claims, evidence, metrics, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig01", scale, retrain, device)
record = page.record(arms=("float32", "float64 loss"))
names = ("float32", "float64 loss", "float64")
runs = [Run(record, name, name, plots.COLOUR[name]) for name in names]
single, loss64, double = runs
EPOCHS = f"{single.settings.epochs:,} epochs"
late, early = ({run: evidence.bursts(run, late=kind) for run in runs} for kind in (True, False))
count = {run: evidence.counted(late[run]) for run in runs}
MEAN, LOGIT, COSINE = "feature_mean_norm", "correct_logit", "mean_cosine"


def quickening(run, seed, onset, since=0):
    """How many times faster ln |mu_G| grows once most samples have collapsed.

    From 90 % (else 50 %) collapsed to the look before the onset, against a stretch of
    the same length that ends at the last look with less than 50 %. NaN without either.
    """
    share = run.series("collapsed")[seed].dropna().loc[since : onset - 1]
    level = 0.9 if (share >= 0.9).any() else 0.5
    many = share[share >= level].index
    few = share[share < 0.5].loc[: many[0]].index if len(many) else many
    if not len(few) or many[0] == share.index[-1]:
        return math.nan
    size = np.log(run.series(MEAN)[seed].dropna())
    length = share.index[-1] - many[0]
    ends = np.array([few[-1] - length, few[-1], many[0], share.index[-1]])
    before, _, after = np.diff(np.interp(ends, size.index, size))
    return after / before if before > 0 else math.inf


def middle(found, otherwise=0.0):
    """Median of those that there are, by seed."""
    medians = {seed: Series(of, dtype=float).median() for seed, of in found.items()}
    return Series(medians, dtype=float).fillna(otherwise)


def calm(run, column):
    """Looks at which half of the samples have collapsed, those during spikes left out."""
    since = evidence.settled(run)
    return run.series(column, since=since).where(run.series("train_loss") <= 1e-3)


faster = {
    seed: [quickening(single, seed, *pair) for pair in zip(on, [0, *on], strict=False)]
    for seed, on in late[single].items()
}
begun = evidence.earliest(late[single])
control = Series({seed: quickening(loss64, seed, begun[seed]) for seed in loss64.seeds if seed in begun}, dtype=float)
absorbed = {name: theory.absorption_margin(getattr(torch, name), 10) for name in ("bfloat16", "float16", "float32")}
cosine = calm(loss64, COSINE).bfill()
both = {run.label: run for run in (single, loss64)}
found = {
    "float64-loss": (loss64, count[loss64]),
    "float64": (double, count[double]),
    "float32": (single, count[single]),
    "peak": (single, middle(evidence.heights(single, late[single]))),
    "rapid-growth": (single, middle(faster)),
    "anti-parallel": (single, evidence.inflation(single)["cosine"].fillna(0)),
    "unchanged": (loss64, (cosine - cosine.iloc[0]).abs().max()),
    "correct-logit": (single, calm(single, LOGIT).min().fillna(math.inf)),
    "rapid-growth-float64": (loss64, control.dropna()),
    "correct-logit-float64": (loss64, (loss64.series(LOGIT).cummax() - loss64.series(LOGIT)).max()),
    "low-precision": claims.exactly(
        ", ".join(f"{name} {absorbed[name]:.2f}" for name in ("bfloat16", "float16")),
        [absorbed[name] <= 0.6 * absorbed["float32"] for name in ("bfloat16", "float16")],
    ),
    "margin": (loss64, loss64.largest("mean_margin")),
    "before-collapse": {run.label: (run, evidence.counted(early[run])) for run in runs},
    "first": (single, begun),
    "first-alone": (single, Series({s: of[0] for s, of in faster.items() if of}, dtype=float).dropna()),
    "cosine": {name: (run, run.last(COSINE)) for name, run in both.items()},
    "logit": {name: (run, run.last(LOGIT)) for name, run in both.items()},
    "test-accuracy": {name: (run, run.last("test_accuracy")) for name, run in both.items()},
    "share-before": (single, evidence.before(single, "collapsed", late[single], pick=np.median)),
}
sheet = claims.read(page.name, found, epochs=EPOCHS)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-01
#| caption: >
#|   Only the precision of the loss differs between (a) and (b). The training loss of every
#|   step, of the first seed; losses that are exactly zero lie on the lower edge. In (c)
#|   weights, data and steps are in float64 too, where that was run.
#| alt: >
#|   Three panels of the training loss against epoch. In float32 the loss falls to 1e-8 and
#|   jumps above 1 about every 600 epochs. With the loss in float64 it falls and does not
#|   jump. The panel of all in float64 says "not run" where it was not.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(1, rows=3, height=1.45, sharex=True, sharey=True)
for panel, run in zip(axes, runs, strict=True):
    plots.trace(panel, run, floor=1e-12)
    panel.set(xlabel="", ylim=(5e-13, 1e3), yticks=[1e-12, 1e-8, 1e-4, 1])
    if not run.seeds:
        panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center")
axes[1].set_ylabel("training loss")
axes[0].set_ylabel("")
axes[2].set(xlabel="epoch", ylabel="")
plots.thousands(axes[2])
plots.letter(axes, ["all in float32", "the loss in float64", "all in float64"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Float32** (n = {len(single.seeds)}) has {sheet.told("float32")} {{term}}`slingshots <slingshot>` in {EPOCHS}. The first
  comes at epoch {sheet.told("first")}; then one follows every {told(evidence.waits(late[single]))} epochs.
* **The loss in float64**, with weights, gradients and updates in float32 as before, has:
  {told(count[loss64])} (n = {len(loss64.seeds)}). **All in float64**: {told(count[double], nothing="not run yet")}
  (n = {len(double.seeds)}).
* **Nearly all samples are {{term}}`collapsed <softmax collapse>` before a jump**:
  {sheet.told("share-before")} at the last look before it, in the median. The
  others keep a gradient: a loss of exactly zero is not needed.
* **{{term}}`Inflation <inflation>`** is there in float32: once half of the samples have
  collapsed, the cosine of {{term}}`mean classifier` and {{term}}`mean feature` falls by
  {told(-found["anti-parallel"][1], "{:.2f}")}. The mean correct {{term}}`logit` goes down to {sheet.told("correct-logit")}.
""")

# %% [markdown]
# ## The idea
#
# Let a sample of class $r$ have the {term}`softmax` probabilities $p_k$. The gradient of
# its loss at the logits is $p_k$ for wrong classes and $p_r - 1$ for the right one. It adds
# up to zero. In float32 the sum $1 + \sum_{k \ne r} e^{z_k - z_r}$ is rounded to 1 from a
# {term}`margin` of about $24 \ln 2 = 16.6$ on. Then
#
# $$
# p_r - 1 = 0, \qquad \sum_k \frac{\partial L}{\partial z_k} = \sum_{k \ne r} p_k = \epsilon > 0 .
# $$
#
# The right class is no longer pulled up, while all wrong ones are still pushed down.

# %%
def slopes(margin, dtype):
    """Loss, its slope at the right class, and the sum of its slopes: one sample."""
    logits = torch.zeros(1, 10)
    logits[0, 3] = margin
    seen = logits.to(dtype).requires_grad_()  # here alone the precision comes in
    loss = cross_entropy(seen, torch.tensor([3]))
    loss.backward()
    return loss.item(), seen.grad[0, 3].item(), seen.grad.double().sum().item()


certain = torch.zeros(1, 10).index_fill_(1, torch.tensor(3), 20)
assert slopes(20, torch.float32)[:2] == (0, 0)
assert slopes(20, torch.float32)[2] == float(metrics.class_sum(certain, torch.tensor([3])))
for dtype in (torch.float32, torch.float64):
    loss, right, total = slopes(20, dtype)
    total = abs(round(total, 15))  # float64 leaves some 1e-16, of either sign
    print(f"{dtype}: loss {loss:.1e}, slope at the right class {right:.1e}, sum {total:.1e}")

# %% [markdown]
# What the sum does to the last layer is the paper's theory, in
# [Figure 2](fig02_mechanism.ipynb). Its traces are visible here: two means that turn against
# each other and grow.

# %% tags=["hide-input"]
#| name: fig-liu2026-01-inflation
#| caption: >
#|   What changes beside the loss, first seed, looks every 50 epochs. (a) Share of samples
#|   that float32 counts as collapsed, also where the loss is computed in float64. (b) Norm
#|   of the mean feature. (c) Cosine of mean classifier and mean feature. (d) Mean logit of
#|   the correct class.
#| alt: >
#|   Four panels against epoch. In float32 the collapsed share rises and drops at each spike,
#|   the mean feature grows before spikes, the cosine falls towards minus 0.8 and the correct
#|   logit below zero. With the loss in float64 all four settle and stay.
#| fold: "Code: draw the four quantities"
figure, axes = plots.panels(2, rows=2, height=2.3, sharex=True)
for panel, column in zip(axes, ("collapsed", MEAN, COSINE, LOGIT), strict=True):
    for run in (single, loss64):
        values = run.series(column)[run.seeds[0]].dropna() * (100 if column == "collapsed" else 1)
        panel.plot(values, color=run.color, lw=1.3, label=run.label)
axes[0].set(ylabel="samples (%)", ylim=(-3, 103))
axes[1].set(ylabel="norm", yscale="log", ylim=(3, 2e3))
axes[2].set(ylabel="cosine", xlabel="epoch", ylim=(-1.02, 0.2))
axes[3].set(ylabel="mean logit", xlabel="epoch")
axes[3].axhline(0, color=plots.GREY, lw=0.8, ls="--")
plots.thousands(axes[2])
axes[2].legend(loc="upper right", ncols=2, fontsize=9.5)
plots.letter(axes, ["collapsed", "mean feature", "cos(W_G, μ_G)", "correct logit"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001; those
# fewer than 60 steps apart are one. A slingshot is a spike within 100 epochs after a look at
# which 40 % of the samples are collapsed. The paper gives no numbers for this figure: the
# bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# There is no official code. What had to be inferred:
#
# 1. *Network.* The paper does not say which one Figure 1 shows. Ours is the MLP of its
#    Table 3 on CIFAR-10: five hidden layers of 512, ReLU, biases everywhere.
# 2. *Training set.* 200 of the first 10,000 images, drawn with the seed. The number is that
#    of {cite:t}`thilak2022`, whose learning rate and betas Table 3 has. The paper does not say.
# 3. *Collapse* is asked of the loss itself: a sample counts if its float32 loss is exactly
#    zero. The paper's criterion, a margin above $23 \ln 2 = 15.9$, comes slightly earlier.
# 4. *The mean feature* is that over all 200 images, in float64.
# 5. *Epochs and seeds.* 10,000 and seed 42 as in Table 3, with further seeds of ours.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Precision decides**, in the paper's sense. One cast to float64 before the loss separates
{told(count[single])} slingshots from {told(count[loss64])}. Nothing else is changed.

**That inflation is the cause does not follow from it.** A loss in float64 gives the correct
class its gradient back, and so removes inflation and spikes together. The [causal
table](causes.ipynb) takes the two apart.

**The rapid growth of the mean feature comes with later slingshots, not with the first.**
Growth before the first one is {sheet.told("first-alone")} times that before most samples had
collapsed: 1 would be no change. The median over slingshots is
{sheet.told("rapid-growth")}, where the test asks for 5. Only slingshots that begin with
less than half of the samples collapsed can be compared so. Later ones do not.
With the loss in float64 the same quotient is {sheet.told("rapid-growth-float64")}. So before the first slingshot
the two precisions do not differ by the growth of the mean feature.

**Anti-parallel** takes thousands of epochs: the cosine ends at
{sheet.told("cosine float32")}, after many slingshots.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-01-margin
# At which margin does a sample of two classes collapse in float32, bfloat16 and float64?
# ```
#
# ````{solution} ex-liu2026-01-margin
# :class: dropdown
# `absorption_margin` scans the margins for the first loss that is exactly zero:
#
# ```python
# import math
# import torch
# from grokbook import theory
# for dtype, bits in ((torch.bfloat16, 8), (torch.float32, 24), (torch.float64, 53)):
#     found = theory.absorption_margin(dtype, 2)
#     print(f"{dtype}: {found:.2f}, {bits} ln 2 = {bits * math.log(2):.2f}")
# ```
#
# With $p$ bits it is $p \ln 2$, not the paper's $(p - 1) \ln 2$: half a unit in the last
# place beside 1 already rounds to nothing.
# ````
#
# ```{exercise}
# :label: ex-liu2026-01-late
# Would it help to compute the softmax in float32 and only the logarithm in float64?
# ```
#
# ````{solution} ex-liu2026-01-late
# :class: dropdown
# No. The absorption happens in the sum of exponentials; what comes later sees a 1:
#
# ```python
# import torch
# logits = torch.tensor([[20.0, 0.0]])
# late = -logits.softmax(dim=1).double().log()[0, 0]
# early = -logits.double().softmax(dim=1).log()[0, 0]
# print(f"cast after the softmax {abs(late):.1e}, before {early:.1e}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-01-float64
# Float64 absorbs as well, from a margin of 36.7 on. Should slingshots come back if the run
# with the float64 loss is long enough?
# ```
#
# ```{solution} ex-liu2026-01-float64
# :class: dropdown
# The collapse would, sample by sample. But the loss falls about as $1/t$, so margins grow as
# $\ln t$: seven more need a thousand times as many epochs. Gradients are then about
# $10^{-16}$. Adam divides by $\sqrt{\hat v} + \varepsilon$ with $\varepsilon = 10^{-8}$, so
# its steps are about $10^{-8} \eta$: too small to move anything.
# ```

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000) and three seeds, in about 20 minutes on one core:
#
# ```bash
# make page PAGE=liu2026/fig01 SCALE=laptop
# ```
