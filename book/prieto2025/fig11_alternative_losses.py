# %% [markdown]
# # [Prieto et al. 2025 · Figure 11]{.kicker} With a weak penalty on its logits an MLP groks ten times sooner than with StableMax, and may fall back

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("prieto2025/fig11", scale, retrain, device)
record = page.record(arms=("Taylor",))
tasks = page.record("fig04left", arms=("addition",), scale=record.scale)
both = record, tasks  # those of the smaller task are the laptop's
stored = (evidence.record(one.name, scale="laptop") for one in both)
small, small_tasks = both if record.scale == "laptop" else stored
TRAIN, TEST, LOSS, NORM = (
    "train_accuracy",
    "test_accuracy",
    "test_loss",
    "mean_logit_norm",
)
GREEN, BROWN = plots.COLOUR["StableMax"], plots.COLOUR["Taylor"]
stable = Run(tasks, "addition", "StableMax", GREEN)
taylor = Run(record, "Taylor", "Taylor", BROWN)
penalised = [arm for arm in record.experiment.arms if arm.name.startswith("logit norm")]
strengths = {arm.penalties[0].options["strength"]: arm.name for arm in penalised}
shade = plots.shades(list(strengths))
charged = {s: Run(record, a, f"{s:g}", shade[s]) for s, a in sorted(strengths.items())}
end = taylor.settings.epochs  # where every arm of this figure ends
reached = {
    r: r.first(TEST, at_least=0.95, until=end)
    for r in (*charged.values(), stable, taylor)
}
best = min(charged, key=lambda strength: reached[charged[strength]].median())
chosen = Run(record, strengths[best], f"penalty {best:g}", plots.COLOUR["logit norm"])
reached[chosen] = reached[charged[best]]
first = evidence.joined({run: reached[run] for run in (chosen, stable)}).min(axis=1)
fitted = {run: run.fitted(accuracy=0.99) for run in (taylor, chosen)}
classes = taylor.settings.model.options["classes"]


def balance(strength):
    """Logit norm at which penalty and loss of a fitted sample pull equally hard."""
    unit = math.sqrt(1 - 1 / classes)  # norm of the logits at a gap of 1
    return unit * math.log((classes - 1) * (1 - strength * unit) / (strength * unit))


def left(run):
    """Test loss at the end, or where a run stopped, as a share of its largest value."""
    return run.at(LOSS, run.ends().clip(upper=end)) / run.largest(LOSS, until=end)


def grown(run):
    """Largest logit norm from the fit on, over that at the fit; never without a fit."""
    begin = fitted[run]
    norm = run.largest(NORM, since=begin, until=end) / run.at(NORM, begin)
    return norm.fillna(math.inf)


tiny = (
    Run(small, "Taylor", "Taylor", BROWN),
    Run(small, "logit norm 0.01", "penalty 0.01", plots.COLOUR["logit norm"]),
    Run(small_tasks, "addition", "StableMax", GREEN),
    Run(small, "squared logit norm 0.001", "squared norm 0.001", plots.PURPLE),
    Run(small, "Taylor, minimum detached", "Taylor, detached", plots.RED),
)
found = {
    "penalty": (chosen, reached[chosen]),
    "loss-penalty": (chosen, left(chosen)),
    "loss-stablemax": (stable, left(stable)),
    "scaling": (chosen, grown(chosen)),
    "faster": (
        [taylor, chosen, stable],
        evidence.lead(reached[taylor], first, until=end),
    ),
    "small": {run.label: (run, run.reaches(accuracy=0.95)) for run in tiny},
}
sheet = claims.read(page.name, found, best=best, end=end)
stays, below = chosen.generalises(accuracy=0.95), chosen.falls_back(accuracy=0.95)
epochs = {run: evidence.words(claims.median(reached[run])) for run in (chosen, stable)}
worst = evidence.words(chosen.last(TEST).min(), "{:.0%}")
slow = evidence.words(claims.median(taylor.at(TEST, end)), "{:.0%}")
sheet.box(f"""\
A penalty on the logits, the outputs of a network, adds their length (norm) to the loss. The
paper says that it leads to grokking without weight decay. It does here: at the best of the
strengths that we tried, {best:g}, an MLP first has 95\u00a0% of the test set right at epoch
{epochs[chosen]}, while StableMax, the paper's own remedy, needs {epochs[stable]} (the median run; not all get there in {end:,} epochs). So the
sentence holds as we test it.

But the strength matters. With a penalty ten times as strong a network takes nearly as long as with StableMax, and with
one a hundred times as strong it learns next to nothing (one network each, not drawn). And a network may fall back: the worst of
{len(chosen.seeds)} networks ends at {worst}. The paper calls a third loss, Taylor softmax,
the fastest. It is the slowest here, with {slow} of the test set right after {end:,} epochs
(n = {len(taylor.seeds)}).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-11
#| caption: >
#|   The test loss falls ten times sooner with a weak penalty (b) than with StableMax (a),
#|   and hardly at all with Taylor softmax (c). Solid is the loss on the test set, dashed that
#|   on the training set, in (b) without the penalty. Every panel has a loss of its own, so
#|   heights cannot be compared between panels. Dotted lines mark when each network first has
#|   95 % of the test set right, and the median epoch is written in the panel. Thin lines are
#|   single networks, thick lines their median. A network that gets to 99.5 % is trained no
#|   further, so that the thick line of (b) jumps at the end.
#| alt: >
#|   Three panels of loss against epoch. With StableMax the test loss falls steeply after
#|   epoch 30,000, with the penalty between epochs 2,000 and 9,000. With Taylor softmax it
#|   sinks a little, is lowest near epoch 15,000 and rises again.
#| fold: "Code: draw the losses"
figure, panels = plots.panels(3, height=3.3, sharey=True)
for axes, run in zip(panels, (stable, chosen, taylor), strict=True):
    plots.loss(axes, run)
    plots.mark(axes, reached[run], color=run.color)
    axes.set(xscale="log", yscale="log", xlim=(20, end), ylim=(5e-4, 40), ylabel="")
panels[0].set_ylabel("loss (nats)")
for axes, run, accuracy in (
    (panels[0], stable, ""),
    (panels[1], chosen, f"\nworst network:\n{worst} at the end"),
):
    note = f"95 % at\nepoch {epochs[run]}{accuracy}"
    axes.text(*((75, 0.03) if accuracy else (25, 0.0007)), note, color=run.color)
note = f"{slow} of the test set\nat epoch {end:,}"
panels[2].text(25, 0.0007, note, color=taylor.color)
plots.letter(panels, ["StableMax", chosen.label, "Taylor softmax"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **{{term}}`StableMax`** (a) first reaches 95 % of the test set ten times later than the penalty.
  {np.isfinite(reached[stable]).sum()} of its {len(stable.seeds)} networks get there by epoch {end:,}.
* **The penalty** (b) of strength {best:g} works without other regularisation. Its network fits the
  training set at epoch {told(fitted[chosen])} and first reaches 95 % of the test set at {told(reached[chosen])}.
* **It does not always stay.** {np.isfinite(stays).sum()} of {len(stays)} networks keep 95 % to the end. The worst is
  below it at {told(below.nlargest(1), "{:.0%}")} of its later logs, down to
  {told(chosen.smallest(TEST, since=reached[chosen]).nsmallest(1), "{:.0%}")}, and ends at {told(chosen.last(TEST).nsmallest(1), "{:.0%}")}.
* **Taylor softmax** (c) is slow, and has not finished. In the second half of its training it gains
  {told(100 * (taylor.at(TEST, end) - taylor.at(TEST, end // 2)), "{:.1f}")} points of test accuracy. Its test loss rises meanwhile: wrong answers
  become surer faster than their number falls.
""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-11-tasks
#| caption: >
#|   Which method is the fastest depends on the task. Test accuracy (a) on the task of this page,
#|   addition modulo 113 with 40 % of the pairs, (b) modulo 59 with 70 %. Lines end at
#|   99.5 % accuracy or with the run.
#| alt: >
#|   Left: the penalty is first, StableMax ten times later, Taylor softmax rises slowly to
#|   56 percent. Right: Taylor softmax is first, before epoch 500, the penalty second,
#|   StableMax last, and Taylor softmax with its minimum detached stays near zero.
#| fold: "Code: draw both tasks"
figure, both = plots.panels(2, height=3.5, sharey=True)
for axes, runs in zip(both, ((taylor, chosen, stable), tiny), strict=True):
    for run in runs:
        plots.curve(axes, run, TEST, percent=True)
    last = max(run.settings.epochs for run in runs)
    axes.set(xscale="log", xlabel="epoch", xlim=(20, min(end, last)), ylim=(-3, 103))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1), ncols=2)
both[0].set_ylabel("test accuracy (%)")
plots.letter(
    both, [f"modulus {run.settings.dataset.options['p']}" for run in (taylor, tiny[0])]
)
plots.show(figure)

# %% [markdown]
# ## The idea
#
# **A penalty** adds $\lambda \lVert z \rVert$ to the loss, the norm of the
# {term}`logits <logit>`. Once a sample is fitted, longer logits lower the loss and raise the
# penalty. If all $C - 1$ wrong logits are equal, the two balance at the {term}`gap`
#
# $$
# \Delta^* = \log \frac{(C - 1)(1 - \mu)}{\mu},
# \qquad \mu = \lambda \sqrt{1 - 1/C} .
# $$
#
# The gap grows only with the logarithm of $1/\lambda$. A float32 softmax starts to
# {term}`absorb <absorption>` at a gap of 16.6, and only penalties weaker than about $10^{-5}$ allow
# that. The code prints the norm of the logits at the balance, where the gradient is zero:

# %%
for strength in (1e-4, 1e-3, 1e-2, 1e-1):
    z = torch.full((classes,), -1 / classes, dtype=torch.float64)
    z[0] += 1  # the correct class ahead, the others alike
    z = (balance(strength) * z / z.norm()).requires_grad_()
    loss = z.logsumexp(0) - z[0] + strength * z.norm()
    loss.backward()
    torch.testing.assert_close(z.grad, torch.zeros_like(z))
    print(f"strength {strength:g}: norm {balance(strength):.1f}")

# %% [markdown]
# **Taylor softmax** puts the parabola $t(x) = 1 + x + x^2/2$ in place of $e^x$. The parabola falls
# for $x < -1$, so the smallest logit of the sample is subtracted first. The paper lets
# the gradient flow through that minimum, where it pulls the smallest logit *up*. The
# paper regards this as a regulariser of the same kind.

# %% tags=["hide-input"]
#| name: fig-prieto2025-11-strength
#| caption: >
#|   Weak penalties get to 95 %; 0.01 starts first and takes longest, and with 0.1 the network
#|   learns nothing. (a) Test accuracy. (b) Mean logit norm of the training set; dotted,
#|   the norm at which penalty and loss balance. Seeds thin, their median thick.
#| alt: >
#|   Left: test accuracy passes 95 percent near epoch 5,500 at strength 0.001 and near 9,000
#|   at 0.0001. At 0.01 it rises first and waits near 85 percent, at 0.1 it stays at zero.
#|   Right: logit norms overshoot and settle on dotted lines between 9 and 14.
#| fold: "Code: draw the strengths"
figure, (left_axes, right_axes) = plots.panels(2, height=3.5)
for strength, run in charged.items():
    plots.curve(left_axes, run, TEST, percent=True)
    plots.curve(right_axes, run, NORM)
    right_axes.axhline(balance(strength), color=run.color, ls=":", lw=1.2)
left_axes.set(xscale="log", ylabel="test accuracy (%)", ylim=(-3, 103))
right_axes.set(xscale="log", yscale="log", ylabel="mean logit norm", ylim=(0.3, 120))
for axes in (left_axes, right_axes):
    axes.set(xlabel="epoch", xlim=(20, end))
names = left_axes.get_legend_handles_labels()
figure.legend(*names, loc="outside upper center", ncols=4)
plots.letter([left_axes, right_axes], ["accuracy by strength", "logits by strength"])
plots.show(figure)


# %% [markdown]
# ## The claims
#
# Runs are read at epoch 80,000, or where they stopped at 99.5 % test accuracy.
# [Figure 1](fig01_headline.ipynb) judges whether StableMax leads to grokking. The paper does not
# give the strength of its penalty, so (b) is judged at the best of ours, chosen by these same
# runs. "Reaches" is the first log with 95 %; the network may fall back later. A network fits
# at the first logged epoch with 99 % training accuracy.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, tasks, small, small_tasks)

# %% [markdown]
# ## What was run
#
# 1. *Settings.* Task, optimiser, precision and epochs are not stated, and no code of this
#    figure was released. We take those of the released StableMax run, so that only the losses
#    differ.
# 2. *Strengths* were fixed before the runs, 0.0001 to 0.1.
# 3. *Form of the penalty.* We read "the norm of the logits" as the L2 norm, averaged over
#    samples. We also tried its square.
# 4. *Minimum or mean.* The construction subtracts the smallest logit; a later sentence of
#    the paper speaks of the mean. We use the minimum.
# 5. *Panel (a)* is the addition of [Figure 4](fig04_stablemax_grokking.ipynb), whose runs go
#    on to epoch 100,000 and are cut here.
# 6. *The end.* Other runs stop early at 99.5 % test accuracy.
# 7. *The smaller task* and the detached minimum are ours, and decide no claim.
#
# ## Reading the result

# %% tags=["remove-input"]
times = {s: told(run.reaches(accuracy=0.95)) for s, run in charged.items()}
tables.prose(f"""
**The penalty does what the paper says,** though not in every run to the end. It keeps the logits from growing, and
test accuracy gets to 95 % without {{term}}`weight decay`. No sample {{term}}`collapses <softmax collapse>` at any of our
strengths, yet the speed differs. It first has 95 % of the test set at epoch
{times[0.001]} with a strength of 0.001. A tenth of that strength needs
{times[0.0001]} epochs, and ten times as much {times[0.01]}, and does not keep it to the end. So something else sets the speed here.

**Too strong is possible.** At 0.1 the network learns at most
{told(charged[max(charged)].largest(TRAIN), "{:.0%}")} of its training set. A norm, unlike its square, pulls
on a short vector as hard as on a long one. So the logits stay near zero from the start.

**Taylor softmax is fastest on a smaller task.** With 70 % of a smaller table it reaches 95 % at epoch
{sheet.told("small Taylor")}, the penalty at {sheet.told("small penalty 0.01")}. The paper states neither
task nor strength. Here, with {len(tiny[0].seeds)} run of each on that task, the order depends on both.

**The gradient through the minimum matters there.** With the minimum taken as a constant, the
network learned at most {told(tiny[-1].largest(TRAIN), "{:.0%}")} of its training set. The paper suspects that
this gradient is what works. On the larger task its pull is weak: the logit norm still
grows {told(grown(taylor))}-fold after the fit.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-11-collapse
# How weak may the penalty be before a softmax of 113 classes can collapse in float32? And
# in float64?
# ```
#
# ````{solution} ex-prieto2025-11-collapse
# :class: dropdown
# One competitor is absorbed from a gap of $24 \ln 2$ on, in float64 $53 \ln 2$. The balance
# is there when $\mu \approx (C - 1)\, e^{-\Delta}$:
#
# ```python
# import math
# for bits in (24, 53):
#     print(f"{bits} bits: strength {112 * math.exp(-bits * math.log(2)):.0e}")
# ```
#
# Between the two lie penalties that let float32 collapse and float64 not. Our four strengths
# are all above both, so they cannot tell a regulariser from a cure for collapse.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-11-squared
# Where do loss and penalty balance if the *square* of the norm is charged?
# ```
#
# ````{solution} ex-prieto2025-11-squared
# :class: dropdown
# The slope of $\lambda \Delta^2 (1 - 1/C)$ is $2 \lambda \Delta (1 - 1/C)$. It has to equal
# that of the loss, one minus the probability of the correct class:
#
# ```python
# import math
# def pull(gap, strength, classes=113):
#     wrong = (classes - 1) * math.exp(-gap)
#     return wrong / (1 + wrong) - 2 * strength * gap * (1 - 1 / classes)
# for strength in (1e-3, 1e-2):
#     low, high = 0.0, 40.0
#     for _ in range(50):
#         middle = (low + high) / 2
#         low, high = (middle, high) if pull(middle, strength) > 0 else (low, middle)
#     print(f"strength {strength}: gap {low:.1f}")
# ```
#
# At 0.001 the gap is 8.8 and at 0.01 it is 6.6, against 11.6 and 9.3 with the plain norm.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-11-sum
# If they flow through the minimum, the gradients of Taylor softmax add to zero over the
# classes. Why, and why do those of StableMax not?
# ```
#
# ````{solution} ex-prieto2025-11-sum
# :class: dropdown
# Adding one number to all logits changes neither $z - \min z$ nor the loss. The derivative
# of the loss in that direction is the sum of the gradients. StableMax changes
# under such a shift. With the minimum detached, what is passed back is no longer the
# gradient of the loss:
#
# ```python
# import torch
# from grokbook.losses import taylor_cross_entropy
# for detach in (False, True):
#     z = torch.tensor([[8.0, 0.5, 0.0, -1.0]], requires_grad=True)
#     taylor_cross_entropy(z, torch.tensor([0]), detach_min=detach).backward()
#     print(f"detached {detach}: {[round(g, 3) for g in z.grad[0].tolist()]}")
# ```
# ````
#
# ## Run it yourself
#
# The smaller task with one strength, one seed and 40,000 of the 80,000 epochs. It trains
# the StableMax runs of Figure 4 as well, and takes about forty minutes on one core.
#
# ```bash
# make page PAGE=prieto2025/fig11 SCALE=laptop
# ```
