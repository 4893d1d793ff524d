# %% [markdown]
# # [Liu et al. 2026 · Figure 1]{.kicker} Computing the loss in float64 ends the loss spikes of a wide MLP

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

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, metrics, theory

plots.use_style()
page = evidence.Page("liu2026/fig01", scale, retrain, device)
record = page.record(arms=("float32", "float64 loss"))
runs = single, loss64, double = [
    Run(record, name, name, plots.COLOUR[name])
    for name in ("float32", "float64 loss", "float64")
]
EPOCHS = f"{single.settings.epochs:,} epochs"
late = {run: instability.bursts(run, late=True) for run in runs}
count = {run: instability.counted(late[run]) for run in runs}
MEAN, LOGIT, COSINE = "feature_mean_norm", "correct_logit", "mean_cosine"


def quickening(run, seed, onset, since=0):
    """How many times faster ln |mu_G| grows once most samples have collapsed.

    From 90 % (else 50 %) collapsed to the look before the onset, against as many epochs
    up to the last look with less than 50 %. NaN without either.
    """
    share = run.series("collapsed")[seed].dropna().loc[since : onset - 1]
    level = 0.9 if (share >= 0.9).any() else 0.5
    many = share[share >= level].index
    few = share[share < 0.5].loc[: many[0]].index if len(many) else many
    if not len(few) or many[0] == share.index[-1]:
        return math.nan
    size = np.log(run.series(MEAN)[seed].dropna())
    ends = np.array(
        [few[-1] - share.index[-1] + many[0], few[-1], many[0], share.index[-1]]
    )
    before, _, after = np.diff(np.interp(ends, size.index, size))
    return after / before if before > 0 else math.inf


def measurable(values):
    """The values of those seeds that have one."""
    return evidence.testable(values, values.notna())


def middle(found):
    """Median over the values of each seed, of those seeds that have any."""
    return measurable(
        Series(
            {seed: Series(of, dtype=float).median() for seed, of in found.items()},
            dtype=float,
        )
    )


def calm(run, column):
    """Looks at which half of the samples have collapsed, those during spikes left out."""
    return run.series(column, since=instability.settled(run)).where(
        run.series("train_loss") <= 1e-3
    )


faster = {
    seed: [quickening(single, seed, *pair) for pair in zip(on, [0, *on], strict=False)]
    for seed, on in late[single].items()
}
begun = instability.earliest(late[single])
control = measurable(
    Series(
        {s: quickening(loss64, s, at) for s, at in begun.items() if s in loss64.seeds},
        dtype=float,
    )
)
low = {
    name: theory.absorption_margin(getattr(torch, name), 10)
    for name in ("bfloat16", "float16")
}
coarse = Run(evidence.record("liu2026/low"), "bfloat16 loss")
slung = instability.earliest(instability.bursts(coarse, late=True))
most = 0.6 * theory.absorption_margin(torch.float32, 10)
cosine = calm(loss64, COSINE).bfill()
found = {
    "float64-loss": (loss64, count[loss64]),
    "float64": (double, count[double]),
    "float32": (single, count[single]),
    "peak": (single, middle(instability.heights(single, late[single]))),
    "rapid-growth": (single, middle(faster)),
    "anti-parallel": (single, measurable(instability.inflation(single)["cosine"])),
    "unchanged": (loss64, (cosine - cosine.iloc[0]).abs().max()),
    "correct-logit": (single, measurable(calm(single, LOGIT).min())),
    "rapid-growth-float64": (loss64, control),
    "correct-logit-float64": (
        loss64,
        (loss64.series(LOGIT).cummax() - loss64.series(LOGIT)).max(),
    ),
    "low-precision-spikes": ([coarse, single], evidence.lead(slung, begun)),
    "low-precision": claims.exactly(
        ", ".join(f"{name} {m:.2f}" for name, m in low.items()),
        [m <= most for m in low.values()],
    ),
    "margin": (loss64, loss64.largest("mean_margin")),
    "first": (single, begun),
    "test-accuracy": {
        run.label: (run, run.last("test_accuracy")) for run in (single, loss64)
    },
}
sheet = claims.read(page.name, found, epochs=EPOCHS)
spikes = evidence.words(claims.median(count[single]))
none = f"{(count[loss64] == 0).sum()} of {len(loss64.seeds)} runs"
sheet.box(
    "Long after this wide MLP has fitted its 200 training images, its loss jumps back to the "
    "level of guessing, again and again. Such jumps are called loss spikes, or slingshots. "
    "The paper says that they vanish when the loss is computed in float64, and here they do.\n\n"
    f"In {EPOCHS} the network has a median of {spikes} loss spikes with the loss in float32, "
    f"and with the loss in float64 it has 0, in {none}. The network itself is in float32 "
    "in both. In narrower networks a float64 loss leaves some spikes in some runs "
    "(Figure 6)."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-01
#| caption: >
#|   With the loss in float32 the network forgets its images again and again (a), and with the
#|   loss in float64 it never does (b). Both panels show the training loss of every step of
#|   one run; the number in each title is the median over all runs. Losses that are exactly
#|   zero lie on the lower edge. (c) The first loss spike of (a), step by step, and the loss
#|   of (b) at the same steps. The float32 loss rises above that of guessing (dashed) within
#|   a few steps.
#| alt: >
#|   Three panels of the training loss against epoch. In float32 the loss falls to 1e-8 and
#|   jumps above 1 about every 600 epochs. With the loss in float64 it falls and does not
#|   jump. A close view of the first jump: the float32 loss rises from 1e-7 to above 10,
#|   where the float64 loss stays flat.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(1, rows=3, height=1.5, sharey=True)
for panel, run in zip(axes, (single, loss64), strict=False):
    plots.trace(panel, run, floor=1e-12)
    plots.thousands(panel)
    panel.set(xlabel="", ylabel="")
close, onset = axes[2], int(min(begun.iloc[0], single.settings.epochs))
for run in (loss64, single):
    close.plot(
        run.trace()[single.seeds[0]].loc[onset - 60 : onset + 90].clip(lower=1e-12),
        color=run.color,
        label="float32 loss" if run is single else run.label,
    )
close.axhline(math.log(10), color=plots.GREY, ls="--", lw=1)
close.text(max(onset - 60, 0), 20, f"guess, {math.log(10):.1f}", color=plots.GREY)
close.set(xlabel="epoch", ylim=(5e-13, 1e5), yticks=[1e-12, 1e-8, 1e-4, 1])
axes[1].set_ylabel("training loss")
plots.end_labels(close)
plots.letter(
    axes,
    [
        f"loss in float32: {spikes} loss spikes",
        f"loss in float64: {told(count[loss64])} loss spikes",
        "the first spike of (a), both losses",
    ],
)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
before = instability.before(single, "collapsed", late[single], pick=np.median)
tables.prose(f"""
* **In float32** a {{term}}`slingshot` follows about every {told(instability.waits(late[single]))} epochs.
  Each takes the loss above that of guessing, and the network then learns its images again.
* **With the loss in float64** the curve only falls. One cast before the loss is the only difference.
* **Most samples are {{term}}`collapsed <softmax collapse>` before a jump**: float32 rounds the loss of
  {told(before, "{:.0%}")} of them to zero. The others still have a gradient.
* **{{term}}`Inflation <inflation>`** appears in float32. Once half of the samples have
  collapsed, the cosine of {{term}}`mean classifier` and {{term}}`mean feature` falls by
  {told(-found["anti-parallel"][1], "{:.2f}")}. The mean correct {{term}}`logit` sinks to {sheet.told("correct-logit")}.
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
    logits = (
        (margin * torch.eye(10)[3:4]).to(dtype).requires_grad_()
    )  # only this line sets the precision
    loss = cross_entropy(logits, torch.tensor([3]))
    loss.backward()
    return loss.item(), logits.grad[0, 3].item(), logits.grad.double().sum().item()


assert slopes(20, torch.float32)[2] == float(
    metrics.class_sum(20 * torch.eye(10)[3:4], torch.tensor([3]))
)
for dtype in (torch.float32, torch.float64):
    loss, right, total = slopes(20, dtype)
    total = abs(round(total, 15))  # float64 leaves some 1e-16, of either sign
    print(
        f"{dtype}: loss {loss:.1e}, slope at the right class {right:.1e}, sum {total:.1e}"
    )

# %% [markdown]
# [Figure 2](fig02_mechanism.ipynb) says what this sum does to the last layer. The effect can
# be measured here: two means turn against each other and grow.

# %% tags=["hide-input"]
#| name: fig-liu2026-01-inflation
#| caption: >
#|   In float32 the two means of the last layer turn against each other and grow; with a float64
#|   loss they do not. One run of each, every 50 epochs. (a) Share of samples
#|   whose loss float32 rounds to zero, also where it is computed in float64. (b) Norm
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
        values = run.series(column)[run.seeds[0]].dropna() * (
            100 if column == "collapsed" else 1
        )
        panel.plot(values, color=run.color, lw=1.3, label=run.label)
axes[0].set(ylabel="samples (%)", ylim=(-3, 103))
axes[1].set(ylabel="norm", yscale="log", ylim=(3, 2e3))
axes[2].set(ylabel="cosine", xlabel="epoch", ylim=(-1.02, 0.2))
axes[3].set(ylabel="mean logit", xlabel="epoch")
axes[3].axhline(0, color=plots.GREY, lw=0.8, ls="--")
plots.thousands(axes[2])
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plots.letter(
    axes, ["collapsed samples", "mean feature", "the two means", "correct logit"]
)
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001. Spikes less
# than 60 steps apart count once. A slingshot is a spike within 100 epochs after a measurement at
# which 40 % of the samples are collapsed. The paper gives no numbers for this figure. The
# bounds are ours, fixed before the runs except where a row says otherwise.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, coarse.record)

# %% [markdown]
# ## What was run
#
# There is no official code. We had to infer:
#
# 1. *Network.* The paper does not say which network Figure 1 shows. Ours is the MLP of its
#    Table 3 on CIFAR-10: five hidden layers of 512, ReLU, biases everywhere.
# 2. *Training set.* We draw 200 of the first 10,000 images, by seed. {cite:t}`thilak2022`
#    use this number, and Table 3 has their learning rate and betas. The paper gives none.
# 3. *Collapse.* A sample counts if its float32 loss is exactly zero. The paper's criterion,
#    a margin above $23 \ln 2 = 15.9$, is met slightly earlier.
# 4. *Mean feature.* We average over all 200 images, in float64.
# 5. *Epochs and seeds.* 10,000 epochs and seed 42 as in Table 3; the other seeds are ours.
# 6. *All in float64*, the paper's second float64 setting, has fewer seeds than the loss in float64.

# %% [markdown]
# ## Reading the result
#
# **Precision decides**, as the paper says. One cast to float64 before the loss is the only
# difference between (a) and (b).
#
# **The cause is still open.** A float64 loss gives the correct class its gradient back. So it
# removes inflation and spikes together, and this figure cannot tell whether inflation causes
# the spikes. [Interventions](causes.ipynb) separate the two.

# %% tags=["remove-input"]
alone = measurable(
    Series({seed: of[0] for seed, of in faster.items() if of}, dtype=float)
)
tables.prose(f"""
**The mean feature grows rapidly before later slingshots, not before the first.** Before the
first one $\\ln |\\mu_G|$ grows {told(alone, "{:.1f}")} times as fast as before most samples
collapsed. The median over a run's slingshots is {sheet.told("rapid-growth")}, and the test asks for 5. Only
slingshots that begin with less than half of the samples collapsed allow this comparison.

With the loss in float64 the same ratio is {sheet.told("rapid-growth-float64")}
(n = {len(control)}). So up to the first slingshot, growth of the mean
feature does not distinguish the two precisions.

**The two means need thousands of epochs to turn.** Their cosine ends at {told(single.last(COSINE), "{:+.2f}")}, after
many slingshots.

**A bfloat16 loss brings spikes sooner, but slingshots later.** With the loss in bfloat16 the first spike of any kind is
at epoch {told(instability.earliest(instability.bursts(coarse)))}, and with a float32 loss at {told(instability.earliest(instability.bursts(single)))}.
But a slingshot, as this book counts it, needs many samples whose loss is zero in float32 too, and then the first is at
epoch {told(slung)} (n = {len(coarse.seeds)}). The row on bfloat16 was registered with slingshots, so it fails; collapse in bfloat16 itself was not recorded.
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
# No. The sum of exponentials absorbs the small terms, and every later operation sees a 1:
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
# The collapse should, sample by sample. But the loss falls about as $1/t$, so margins grow as
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
