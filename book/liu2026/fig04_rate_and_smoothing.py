# %% [markdown]
# # [Liu et al. 2026 · Figure 4]{.kicker} A learning rate of 0.01 brings fewer loss spikes, because the network stops fitting its images

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

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, optimizers, theory

plots.use_style()
page = evidence.Page("liu2026/fig04", scale, retrain, device)
colors, SOFT = plots.shades((1e-2, 1e-3, 1e-4, 1e-5)), ("float32", "float64")
ALPHA, CLASSES = 0.1, 10
FLOOR = -(1 - ALPHA) * math.log(1 - ALPHA) - ALPHA * math.log(ALPHA / (CLASSES - 1))


def arm(name, of, label, color):
    return Run(page.record(name, arms=(of,)), of, label, color)


NAMES = {eta: np.format_float_positional(eta) for eta in colors}  # 0.00001, not 1e-05
arms = {eta: ("fig04a", f"learning rate {eta:g}") for eta in colors} | {
    1e-3: ("fig01", "float32")
}
rates = {eta: arm(*of, f"η = {NAMES[eta]}", colors[eta]) for eta, of in arms.items()}
base = rates[1e-3]
soft = {
    of: arm("fig04b", f"smoothed, {of} loss", f"smoothed, {of}", plots.COLOUR[of])
    for of in SOFT
}
late = {
    eta: instability.bursts(run, late=True, within=max(100, run.settings.log))
    for eta, run in rates.items()
}
count = {eta: instability.counted(found) for eta, found in late.items()}


def proneness(eta):
    """Slingshots per 1,000 epochs from the first look with 90 % collapsed; else 0."""
    since = evidence.crossing(rates[eta].looks("collapsed"), at_least=0.9)
    on = {
        seed: [e for e in found if e >= since[seed]]
        for seed, found in late[eta].items()
    }
    left = rates[eta].settings.epochs - since
    return (1000 * instability.counted(on) / left).where(left > 0, 0.0)


def jump_onsets(run):
    """Where the loss above its smallest value goes from 0.001 to ten times that."""
    excess = run.trace() - FLOOR
    return {
        s: instability.spikes(excess[s].dropna(), quiet=1e-3, loud=1e-2) for s in excess
    }


def jumps(run):
    """How often the loss jumps, by seed."""
    return instability.counted(jump_onsets(run))


# The curvature was measured in the network of width 20 of Figure 6.
NARROW = {eta: ("curvature20", f"learning rate {eta:g}") for eta in (1e-2, 1e-4)}
NARROW[1e-3] = ("fig06", "float32")
narrow = {
    eta: arm(*NARROW[eta], f"width 20, η = {NAMES[eta]}", colors[eta])
    for eta in (1e-2, 1e-3, 1e-4)
}
narrow_soft = arm("curvature20", "smoothed, float32 loss", "width 20, smoothed", "")
SHARPNESS, ADAM_SHARPNESS = "sharpness", "preconditioned_sharpness"


def sharpness_at_zero_loss(run):
    """Sharpness at its first look with half of the samples at a loss of 0, by seed."""
    since = instability.settled(run)
    looks = run.series(SHARPNESS)
    values = {seed: looks[seed].loc[since[seed] :].dropna() for seed in looks}
    first = {seed: found.iloc[0] for seed, found in values.items() if len(found)}
    return Series(first, dtype=float)


def sharper():
    """The smaller of two ratios of sharpness, of a rate to ten times that, by seed."""
    at = {eta: sharpness_at_zero_loss(run) for eta, run in narrow.items()}
    both = {
        eta: evidence.ratio(at[eta], at[larger])
        for eta, larger in ((1e-3, 1e-2), (1e-4, 1e-3))
    }
    return [*narrow.values()], evidence.joined(both).min(axis=1)


decayed = [
    arm("decay", f"weight decay {strength:g}", f"decay {strength:g}", "")
    for strength in (0.1, 1.0)
]


def largest_margin():
    """The largest mean margin with either weight decay, by seed."""
    margins = {run.label: run.largest("mean_margin") for run in decayed}
    return decayed, evidence.joined(margins).max(axis=1)


def before_jumps():
    """Adam's sharpness over 38/η at the last look before a jump, the largest by seed."""
    chosen = narrow_soft.settings.optimizer.options
    beta1 = chosen["betas"][0]
    edge = (2 + 2 * beta1) / ((1 - beta1) * chosen["lr"])
    onsets = jump_onsets(narrow_soft)
    return instability.before(narrow_soft, ADAM_SHARPNESS, onsets, pick=max) / edge


def gap(alpha, classes):
    """Lead of the correct logit at the optimum of a smoothed loss."""
    return math.log((1 - alpha) * (classes - 1) / alpha)


def leading(lead, classes):
    """Softmax of logits of which the correct one leads all others alike."""
    return (lead * torch.eye(classes, dtype=torch.float64)[0]).softmax(dim=0)


def pushed_weight(decay, lr=0.1):
    """Size of a weight under AdamW after a long time with gradients of one sign."""
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    adam = optimizers.AdamW([weight], lr=lr, betas=(0.9, 0.95), weight_decay=decay)
    weight.grad = torch.full_like(weight, -1.0)
    for _ in range(round(8 / (lr * decay))):
        adam.step()
    return float(weight.detach())


def smoothed(alpha, classes):
    """The target of equation 66: 1 - α, then α / (K - 1)."""
    return torch.tensor(
        [1 - alpha] + [alpha / (classes - 1)] * (classes - 1), dtype=torch.float64
    )


grid = [(alpha, classes) for alpha in (0.01, 0.1, 0.5) for classes in (10, 97, 1000)]
curves = {at: theory.logit_hessian(smoothed(*at)) for at in grid}
hessian = curves[ALPHA, CLASSES]
common = torch.ones(CLASSES, dtype=torch.float64)  # all logits alike
wrong = torch.eye(CLASSES, dtype=torch.float64)[1] - torch.eye(CLASSES)[2]
bound = float(hessian.trace()) / CLASSES
counter = [float(j @ hessian @ j / (j @ j)) for j in (common, wrong)]
MARGINS = range(5, 31, 5)
tops = {
    k: [
        float(torch.linalg.eigvalsh(theory.logit_hessian(leading(m, k)))[-1])
        for m in MARGINS
    ]
    for k in (10, 97)
}
fall = [
    top <= 2 * (k - 1) * math.exp(-m) and top < last
    for k, of in tops.items()
    for m, top, last in zip(MARGINS, of, [1, *of], strict=False)
]
weights = {decay: pushed_weight(decay) for decay in (0.1, 1.0, 10.0)}
traces = {
    at: at[0] * (2 - at[0] * (1 + 1 / (at[1] - 1))) for at in grid
}  # as eq. 72 has them
prone, jumped = (
    {eta: proneness(eta) for eta in rates},
    {of: jumps(run) for of, run in soft.items()},
)
found = {
    "order": {rates[eta]: prone[eta] for eta in (1e-2, 1e-3, 1e-4)},
    "order-slow": {rates[eta]: prone[eta] for eta in (1e-4, 1e-5)},
    "sharpness": sharper(),
    "edge": (
        narrow_soft,
        evidence.ratio(
            narrow_soft.last(SHARPNESS), narrow_soft.largest(SHARPNESS, until=1000)
        ),
    ),
    "decay-margin": largest_margin(),
    "edge-jumps": (narrow_soft, before_jumps()),
    "no-collapse": ([soft["float32"]], soft["float32"].largest("collapsed")),
    "jumps": ([soft["float32"]], jumped["float32"]),
    "jumps-float64": ([soft["float64"]], jumped["float64"]),
    "optimum": claims.exactly(
        f"gap {gap(0.1, 10):.2f} at K = 10, {gap(0.1, 97):.2f} at K = 97 (α = 0.1)",
        [
            torch.allclose(leading(gap(*at), at[1]), smoothed(*at), rtol=1e-9)
            for at in grid
        ],
    ),
    "eq-72": claims.exactly(
        f"{traces[0.1, 10]:.4f} at K = 10, {traces[0.1, 97]:.4f} at K = 97 (α = 0.1)",
        [math.isclose(float(h.trace()), traces[at]) for at, h in curves.items()],
    ),
    "eq-75": claims.exactly(
        f"{abs(counter[0]):.4f} and {counter[1]:.4f}, bound {bound:.4f}",
        [c >= bound for c in counter],
    ),
    "theorem-8": claims.exactly(
        f"{tops[10][0]:.0e} at margin 5, {tops[10][-1]:.0e} at margin 30 (K = 10)", fall
    ),
    "decay": claims.exactly(
        ", ".join(f"{w:.3g}" for w in weights.values()),
        [w * decay <= 1.001 for decay, w in weights.items()],
    ),
    "slingshots": {
        f"{run.label}: slingshots in {run.settings.epochs:,}": (run, count[eta])
        for eta, run in rates.items()
    },
}
sheet = claims.read(page.name, found)
spikes = {
    eta: evidence.words(claims.median(count[eta]), "{:,.0f}")
    for eta, run in rates.items()
    if run.seeds
}
usual = {  # of the same runs as the main row
    eta: evidence.words(claims.median(of), "{:.2f}")
    for eta, of in evidence.joined(
        {eta: prone[eta] for eta in (1e-2, 1e-3, 1e-4)}
    ).items()
    if len(of)
}
sheet.box(
    "Long after a network has fitted its images, its loss jumps back up, again and again: these "
    "are loss spikes. The paper says that smaller learning rates bring more of them. We count "
    "them from the collapse on, that is, once float32 rounds nine in ten losses to "
    f"zero.\n\nFrom there on there are {usual.get(1e-2)} spikes per 1,000 epochs at a rate of 0.01, "
    f"{usual.get(1e-3)} at 0.001, and {usual.get(1e-4)} at 0.0001 (medians). We test the order of these "
    "three numbers alone, so the sentence holds, but that says little. "
    "At 0.01 the network stops fitting its images in the course of the "
    "training, and then it has no low loss to jump from; while it fits, spikes come about as often as at "
    "0.001 (not drawn). Between 0.001 and 0.0001 there is hardly a difference."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-04
#| caption: >
#|   At a learning rate of 0.01 the loss spikes end because the network stops fitting its
#|   images; at the two smaller rates they are about equally frequent. Each panel shows the
#|   training loss of every step of one run. The numbers are medians over runs, so a
#|   single run can have more spikes or fewer. In the titles: loss spikes in the whole
#|   training. Below them: loss spikes per 1,000 epochs, counted from the collapse on, the
#|   first measurement at which float32 rounds the loss of 90 % of the samples to zero.
#|   Losses below 1e-9 lie on the lower edge.
#| alt: >
#|   Three panels of the training loss against epoch. At a rate of 0.01 it jumps three times
#|   and then stays at that of guessing. At 0.001 it jumps from 1e-8 to above 1
#|   about every 550 epochs, and at 0.0001 as often.
#| fold: "Code: draw the figure"
trained = {eta: run for eta, run in rates.items() if run.seeds}
figure, axes = plots.panels(len(trained), height=3.3, sharey=True)
for panel, eta in zip(axes, trained, strict=True):
    plots.trace(panel, rates[eta], lw=0.9)
    panel.set(ylim=(5e-10, 1e4), yticks=[1e-8, 1e-4, 1])
    if eta in usual:
        often = f"{usual[eta]} per 1,000 epochs"
        panel.text(
            0.5, 0.95, often, transform=panel.transAxes, ha="center", va="center"
        )
    plots.thousands(panel)
    panel.label_outer()
plots.letter(axes, [f"rate {NAMES[eta]}: {spikes[eta]} spikes" for eta in trained])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
final = Series(
    {seed: max(on, default=0) for seed, on in late[1e-2].items()}, dtype=float
)
tables.prose(f"""
* **Learning rates of 0.001 and 0.0001** are equally prone to {{term}}`slingshots <slingshot>`:
  {told(prone[1e-3], "{:.2f}")} and {told(prone[1e-4], "{:.2f}")} per 1,000 epochs of {{term}}`collapse <softmax collapse>`,
  over all runs of each; the box has the seeds that every rate has.
* **At 0.01** the network never fits again after its last slingshot, at epoch {told(final)}. It ends at a loss of
  {told(rates[1e-2].last("train_loss"), "{:.2f}")}; guessing has {math.log(CLASSES):.2f}.
* **{{term}}`Label smoothing`** ends the collapse and brings jumps of its own: {told(jumped["float32"])} with the loss in float32, and
  {told(jumped["float64"])} in float64 (n = {len(soft["float64"].seeds)}).
* **The smoothed loss is smallest** when the correct {{term}}`logit` leads by {gap(ALPHA, CLASSES):.2f}. Float32 collapses only from
  {theory.absorption_margin(torch.float32, CLASSES, competitors=1):.1f} on.
""")

# %% [markdown]
# ## Label smoothing

# %% tags=["hide-input"]
#| name: fig-liu2026-04-smoothing
#| caption: >
#|   With label smoothing the loss jumps in either precision. Training loss above its smallest
#|   possible value, with the loss computed in float32 (a) and in float64 (b), one run each.
#|   Dashed, the levels between which a jump is counted.
#| alt: >
#|   Two panels of the excess loss against epoch. In both it falls to 1e-4 and jumps to above
#|   0.01 some thirty times.
#| fold: "Code: draw the smoothed losses"
figure, axes = plots.panels(2, height=2.8, sharey=True)
for panel, run in zip(axes, soft.values(), strict=True):
    panel.plot(
        (run.trace() - FLOOR)[run.seeds[0]].clip(lower=1e-4), color=run.color, lw=0.6
    )
    for level in (1e-3, 1e-2):
        panel.axhline(level, color=plots.GREY, ls="--", lw=0.9)
    panel.set(yscale="log", ylim=(7e-5, 1e2), ylabel="excess loss", xlabel="epoch")
    plots.thousands(panel)
    panel.label_outer()
plots.letter(axes, ["loss in float32", "loss in float64"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# A smoothed target has $1 - \alpha$ at the correct class and $\alpha / (K - 1)$ at each
# other class. The loss is smallest if the {term}`softmax` equals it, at finite logits. There
# the curvature of the loss in the logits is
#
# $$
# H_z = \operatorname{diag}(p) - p\, p^\top, \qquad
# \operatorname{tr} H_z = \alpha \left(2 - \alpha\, \tfrac{K}{K - 1}\right) > 0 ,
# $$
#
# while without smoothing $p$ becomes one-hot and $H_z$ vanishes. The paper concludes that
# the curvature in the *weights* stays positive too. One step of this proof does not hold:


# %%
def curvature(alpha, classes, direction):
    """Curvature of a smoothed loss at its optimum along a direction of the logits."""
    p = torch.full((classes,), alpha / (classes - 1), dtype=torch.float64)
    p[0] = 1 - alpha
    hessian = p.diag() - torch.outer(p, p)
    assert torch.allclose(hessian, theory.logit_hessian(p))
    return float(direction @ hessian @ direction / (direction @ direction))


right = torch.eye(10, dtype=torch.float64)[0]
for name, direction in (
    ("right class", right),
    ("all alike", common),
    ("two wrong", wrong),
):
    found = abs(curvature(0.1, 10, direction))
    print(f"{name:12} {found:.4f}   bound of eq. 75: {bound:.4f}")

# %% [markdown]
# All logits may rise together without changing the softmax, so $H_z$ has an eigenvalue of
# zero. A network whose weights moved its logits only in this way would have no curvature at
# all. Networks do better, and the conclusion may well be true. But it does not follow from the
# proof.

# %% tags=["hide-input"]
#| name: fig-liu2026-04-why
#| caption: >
#|   A smoothed loss is smallest at a lead that float32 can still resolve. The lead of the correct
#|   logit at the smallest loss, by the smoothing α and the number of classes K. Dashed, where
#|   float32 begins to lose the wrong classes.
#| alt: >
#|   Three falling curves of the lead against alpha. That of ten classes lies below the dashed
#|   line at 16.6 unless alpha is smaller than 1e-6; with 50,304 classes it crosses at 3e-3.
#| fold: "Code: draw the leads"
figure, (leads,) = plots.panels(1, height=3.2)
alphas = np.geomspace(1e-8, 0.5, 200)
for classes, ls in ((10, "-"), (97, "--"), (50_304, ":")):
    leads.plot(
        alphas,
        [gap(alpha, classes) for alpha in alphas],
        color=plots.BLACK,
        ls=ls,
        label=f"K = {classes:,}",
    )
leads.axhline(24 * math.log(2), color=plots.GREY, ls="--", lw=1)
leads.set(
    xscale="log", xlabel="smoothing α", ylabel="lead at the optimum", ylim=(0, 32)
)
leads.legend(loc="upper right")
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot goes from a loss of at most 0.001 to one of at least 0.1. At least 40 % of the
# samples are collapsed at the measurement before. Proneness is their number per 1,000 epochs from
# the first measurement with 90 % collapsed; without one it is 0. A jump under smoothing is
# ten times the quiet level, above the smallest possible loss. The paper gives no numbers.
# The bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*(run.record for run in (*trained.values(), *soft.values())))

# %% [markdown]
# ## What was run
#
# There is no official code. We had to infer:
#
# 1. *Network and data*: the MLP of Table 3 on 200 images, as in
#    [Figure 1](fig01_precision.ipynb). The paper does not say which network it used.
# 2. *α* is not stated. Ours is 0.1 in the paper's convention, all of it on wrong classes.
#    PyTorch spreads its argument over all classes, so we pass $0.1 \cdot 10 / 9$.
# 3. *Epochs.* The smallest learning rate, 0.00001, needs longer to get to zero loss. Its planned
#    run has 50,000 epochs instead of 10,000, and is not trained yet.
# 4. *Excess loss.* The traces keep four digits. Near the smallest loss they resolve an
#    excess of about 0.0001, below the 0.001 that counts as quiet.
# 5. *Curvature* was measured in the MLP of width 20 of [Figure 6](fig06_two_instabilities.ipynb), every
#    100 epochs. In the wide network it is too dear.
# 6. *Weight decay* is in no other run of this chapter, as in the paper. We test its bound on one weight, and
#    its effect on the margins at two strengths.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
entries = CLASSES * base.settings.model.options["widths"][-1]
tables.prose(f"""
**Sharper minima at smaller rates?** Not in the MLP of width 20. When half of its losses are zero, runs of one rate differ in their
sharpness by more than rates do. It is {told(sharpness_at_zero_loss(narrow[1e-2]), "{:,.2g}")} at a rate of 0.01,
{told(sharpness_at_zero_loss(narrow[1e-3]), "{:,.2g}")} at 0.001 and {told(sharpness_at_zero_loss(narrow[1e-4]), "{:,.2g}")} at 0.0001.

**Fewer slingshots, or the end of them?** At η = 0.01 a slingshot follows every {told(instability.waits(late[1e-2]))} epochs until the network
stops fitting, and at 0.001 every {told(instability.waits(late[1e-3]))}. So the main row, whose definition we fixed before the runs, counts epochs of a
network that can have no slingshot. Between 0.001 and 0.0001 there is hardly a difference (n = {len(final)}).

**Weight decay.** A bound of 1/λ on every weight is true, and loose. With λ = 0.1 it allows each of the {entries:,} weights
of the {{term}}`head` a size of 10, a norm of {10 * math.sqrt(entries):,.0f} in all. Without any decay ours grows to
{told(base.largest("head_norm"), "{:.1f}")} while samples collapse. So the bound is no reason why {{term}}`margins <margin>` should stay
below 16. {{term}}`Weight decay` may keep them small, but by its pull against the gradient. In our runs it does not: with a decay of 0.1
the mean margin gets to {told(decayed[0].largest("mean_margin"), "{:.1f}")}, and at some measurement {told(decayed[0].largest("collapsed"), "{:.0%}")} of the samples have
collapsed. With a decay of 1 it gets to {told(decayed[1].largest("mean_margin"), "{:.1f}")}, and the network ends with {told(decayed[1].last("train_accuracy"), "{:.0%}")} of its
training images right.
""")

# %% [markdown]
# **A full batch has no noise.** The paper explains the order of learning rates by noise: "Large
# step sizes introduce stochastic noise". Its runs, and ours, take all samples in every step,
# so there is none. A smaller η does shorten the step at a gradient that returns. This step
# is proportional to η, and so are all steps by which the network recovers.
#
# **What would be equal?** A tenth of the learning rate needs up to ten times the epochs for
# the same path. If only the clock changed, spikes would be ten times rarer per epoch.
# Equally many are still a puzzle for an explanation by step size.
#
# **Theorem 8** is about hard targets, and its first half is exact: the curvature in the logits falls with the margin,
# and at 30 it is below 1e-11. The second half requires that derivatives of the network stay bounded. But under
# {term}`inflation` features grow, and derivatives with them.
#
# **Smoothing.** No sample collapses with either precision, and both have jumps. So these jumps are another thing than
# slingshots, as the paper says.
#
# **The counter-example** concerns the proof, not what networks do. In the MLP of width 20 the sharpness stays, as the
# paper says. Whether smoothed runs spike at the {term}`edge of stability`, this network can hardly show, as jumps of its
# loss are rare.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-04-alpha
# How small must $\alpha$ be for float32 to absorb at the optimum of the smoothed loss,
# with 10, 97 and 50,304 classes?
# ```
#
# ````{solution} ex-liu2026-04-alpha
# :class: dropdown
# Solve $\ln((1 - \alpha)(K - 1)/\alpha) = 24 \ln 2$ for $\alpha$:
#
# ```python
# for classes in (10, 97, 50_304):
#     print(f"K = {classes:,}: α = {(classes - 1) / (classes - 1 + 2**24):.1e}")
# ```
#
# A single competitor would be absorbed there. All wrong classes together sum to more,
# so the samples of a language model collapse only at a still smaller $\alpha$.
# ````
#
# ```{exercise}
# :label: ex-liu2026-04-eigen
# What are the eigenvalues of $H_z$ at the smoothed target with $K = 10$, $\alpha = 0.1$? How
# many lie below $\operatorname{tr} H_z / K$?
# ```
#
# ````{solution} ex-liu2026-04-eigen
# :class: dropdown
# ```python
# import torch
# from grokbook import theory
# target = torch.tensor([0.9] + [0.1 / 9] * 9, dtype=torch.float64)
# H = theory.logit_hessian(target)
# values = torch.linalg.eigvalsh(H)
# print([f"{abs(float(value)):.4f}" for value in values])
# print(int((values < H.trace() / 10).sum()))
# ```
#
# One is zero, eight are $\alpha / (K - 1) = 0.0111$, and one is 0.1. Nine of ten lie below
# the bound, so a $J$ along any of those nine refutes equation 75.
# ````
#
# ```{exercise}
# :label: ex-liu2026-04-step
# How large is Adam's first step at a gradient that returns after a long silence, at each
# of the four learning rates? Compare it with weights of about 0.04.
# ```
#
# ````{solution} ex-liu2026-04-step
# :class: dropdown
# ```python
# from grokbook import theory
# for eta in (1e-2, 1e-3, 1e-4, 1e-5):
#     step = theory.jump(eta, (0.9, 0.95))
#     print(f"η = {eta:g}: {step:.1e}, {step / 0.04:.2%} of a weight")
# ```
#
# At $10^{-5}$ a single step changes no weight by more than 0.02 %. A slingshot there needs
# many steps in one direction, or a network that has become very sensitive.
# ````

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000, 15,000 at the smallest rate) and three seeds, in about two
# hours on one core:
#
# ```bash
# make page PAGE=liu2026/fig04 SCALE=laptop
# ```
