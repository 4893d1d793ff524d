# %% [markdown]
# # [Liu et al. 2026 · Figure 2]{.kicker} At the first loss spike of a wide MLP most weights of the last layer move by the same length

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, theory

plots.use_style()
page = evidence.Page("liu2026/fig02", scale, retrain, device)
SHADE, KIND, MASS = plots.shades([0.9, 0.95, 0.999]), plots.COLOUR, "residual_mass"


def arm(name, of, label, color):
    return Run(page.record(name, arms=(of,), reads=(of,)), of, label, color)


mlp = arm("fig01", "float32", "MLP", KIND["MLP"])
betas = {
    b: mlp if b == 0.95 else arm("fig02a", f"β2 {b:g}", f"β2 = {b:g}", SHADE[b])
    for b in SHADE
}
named = {"fig10": "VGG-11", "fig12": "ViT", "fig13": "ResNet-18"}
vgg, vit, resnet = networks = [
    arm(name, "float32", of, KIND[of]) for name, of in named.items()
]
division = arm("fig08", "float32", "MLP, division", KIND["float32"])
greatest = arm("amsgrad", "AMSGrad", "AMSGrad", KIND["float32"])
EDGES, SIZES = (
    10 ** (np.arange(-180, -19) / 20),
    [f"update_bin.{k}" for k in range(160)],
)
late = {
    run: instability.bursts(run, late=True)
    for run in (*betas.values(), *networks, division)
}
first = {run: instability.earliest(found) for run, found in late.items()}
half = {run: instability.settled(run) for run in (mlp, resnet)}
chosen = mlp.settings.optimizer.options
lr, beta1, eps = chosen["lr"], chosen["betas"][0], chosen["eps"]
LAW = {b: theory.jump(lr, (beta1, b)) for b in betas}
around = {
    run: instability.windows(run, "update_below", loss="step_loss")
    if "update_below" in run.record.frame
    else {}
    for run in betas.values()
}


def measured(measure, run=mlp):
    """A measure of each seed's steps around its first loss of 0.1, which step 0 is taken on."""
    return Series(
        {seed: measure(rows) for seed, rows in around[run].items()}, dtype=float
    )


def at_spike(column, later=0):
    """A column at the spike, or so many steps later."""
    return measured(lambda rows: rows.loc[later, column])


def near(size, later=0):
    """Share of weights in the two bins around a size, at the spike."""
    there = np.array(SIZES)[(EDGES[1:] > size / 1.12) & (EDGES[:-1] < size * 1.12)]
    return lambda rows: rows.loc[later, there].sum()


def jumped(rows):
    """The median step of the spike over those 50 and more steps before it."""
    of = rows["head_update_median"]
    return of.loc[0] / of.loc[: max(-50, rows.index[0])].median()


def mode(rows):
    """The size that most weights have at the spike: the middle of the fullest bin."""
    fullest = rows.loc[0, SIZES].to_numpy(float).argmax()
    return math.sqrt(EDGES[fullest] * EDGES[fullest + 1])


def slope(run, length=200, *, sustained=False):
    """d ln eps / d ln t in the ``length`` epochs before the first slingshot.

    Without one, in the last 30 %; ``sustained``: since half of the samples collapsed.
    """
    end = (first[run] - 1).clip(upper=run.settings.epochs)
    since = (end - length).where(first[run] < math.inf, 0.7 * end)
    since = half[run].where(half[run] < math.inf, since) if sustained else since
    return evidence.power(run.series(MASS, since=since, until=end))


def rises(run, found):
    """Per seed, the share of events with a positive gain of test accuracy that few looks without one have.

    Gain: the mean 200 to 2,000 steps after, minus that of as many before. Few: 10 %, of ten looks or more.
    A seed without an event has no value.
    """
    shares = {}
    for seed, on in found.items():
        if not on:
            continue
        accuracy = run.series("test_accuracy")[seed].dropna()

        def gain(at, of=accuracy):
            return (
                of.loc[at + 200 : at + 2000].mean() - of.loc[at - 1800 : at - 1].mean()
            )

        looks = accuracy.loc[1800 : accuracy.index[-1] - 2000].index
        usual = [
            gain(t)
            for t in looks
            if not any(t - 1800 < event < t + 2000 for event in on)
        ]
        bar = max(0.0, np.quantile(usual, 0.9)) if len(usual) >= 10 else 0.0
        shares[seed] = np.mean([gain(t) > bar for t in on])
    return Series(shares, dtype=float)


def adam(*gradients, beta2=0.95):
    """Adam's last step on one weight with the runs' settings."""
    return theory.adam_update(gradients, lr, (beta1, beta2), eps)


def around_spike(panel, column, factor=1):
    """A column step by step around the first spike, a line per seed."""
    for rows in around[mlp].values():
        panel.plot(factor * rows[column], color=mlp.color, lw=1.2)
    panel.axvline(0, color=plots.GREY, ls=":", lw=1.1)
    panel.set(xlabel="steps from the spike", xlim=(-60, 30))


spike, quiet = (
    adam((3e-9, 10**6), (2**-23, 1)),
    adam((3e-9, 10**6)),
)  # the paper's estimate
until = first[mlp] - 1  # from half of the samples collapsed to the first slingshot
size = evidence.area(mlp.series(MASS, since=half[mlp], until=until)) / math.sqrt(10)
grown = np.log(mlp.at("head_mean_norm", until) / mlp.at("head_mean_norm", half[mlp]))
found = {
    "modes": (mlp, measured(near(LAW[0.95]))),
    "jump": (mlp, measured(jumped)),
    "toy-0.9": (betas[0.9], measured(mode, betas[0.9])),
    "toy-0.999": (betas[0.999], measured(mode, betas[0.999])),
    "slowly-mlp": ([mlp], slope(mlp)),
    "slowly-others": (
        [vgg, vit],
        evidence.joined({run.label: slope(run) for run in (vgg, vit)}).min(axis=1),
    ),
    "resnet": (resnet, slope(resnet, sustained=True)),
    "accuracy-steps": (division, rises(division, late[division])),
    "accuracy-end": (
        division,
        evidence.testable(division.last("test_accuracy"), first[division] < math.inf),
    ),
    "toy": claims.exactly(f"{spike:.2e}", [abs(spike - 4e-4) < 0.5e-4]),
    "step-early": (mlp, measured(lambda rows: rows.loc[:-50, "head_update"].median())),
    **{f"law-{b}": (run, measured(near(LAW[b]), run)) for b, run in betas.items()},
    "before-modes": (mlp, measured(near(LAW[0.95], -1))),
    "step-jump": (mlp, at_spike("head_update") / at_spike("head_update", -1)),
    "grown": (mlp, grown),
    "pace": {f"{rate:g}": (mlp, rate * size) for rate in (lr, lr / eps)},
    "amsgrad": (greatest, instability.slingshots(greatest)),
}
sheet = claims.read(page.name, found)
typical = {
    name: evidence.words(claims.median(found[name][1]), show)
    for name, show in (("modes", "{:.1%}"), ("before-modes", "{:.1%}"))
}
sheet.box(
    "The paper explains why the loss jumps so far at a loss spike. Adam divides each gradient "
    "by its recent size, and forgets this size while gradients are tiny. When large ones "
    "return, most weights of the last layer move by about the same length, 4e-4, in a single "
    f"training step.\n\nWe see this in a wide MLP: at its first loss spike {typical['modes']} of "
    "these weights move by 4e-4 to 5e-4 in the median run. Fifty training steps before, a typical "
    "weight moves by about 1e-5. We ask for a quarter of the weights at the spike, so "
    "the sentence holds.\n\nBut in "
    f"{(found['before-modes'][1] < 0.05).sum()} of {len(found['before-modes'][1])} runs these equal "
    "moves do not begin the spike. The training step before them already makes the loss jump, and in "
    f"that one only {typical['before-modes']} of the weights move by this length (median)."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-02
#| caption: >
#|   At the spike most weights of the last layer move by the same length, and one training
#|   step before they do not. (a) Share of these weights by the length that they move in one
#|   training step, in one run; the percentages are medians over all runs. Nearly all other
#|   weights do not move at all at the spike, and are not drawn there. "At the spike" is
#|   the first training step that begins with a loss of 0.1 or more. Dotted: the length that
#|   Adam's betas alone predict when gradients return. (b) Mean length that these weights
#|   move. Each line is one run, and the dotted line is the training step at the spike.
#| alt: >
#|   Two panels. Left: at the spike more than half of the weights move by 4.5e-4. One step
#|   before, their steps are spread between 1e-5 and 1e-4, and fifty steps before around 1e-5. Right: the mean step
#|   grows slowly for fifty steps and jumps up to tenfold within the last two.
#| fold: "Code: draw the figure"
figure, (steps, chain) = plots.panels(2, height=3.8)
shown = {
    run: next(iter(of.values())) for run, of in around.items() if of
}  # first seed with a spike
moments = ((-50, plots.GREY, "--"), (-1, plots.ORANGE, "-"), (0, mlp.color, "-"))
for when, color, ls in moments if mlp in shown else ():
    steps.stairs(
        100 * shown[mlp].loc[when, SIZES].to_numpy(float),
        EDGES,
        color=color,
        ls=ls,
        lw=1.8,
    )
labels = (
    (3.4e-4, 45, f"at the spike: {typical['modes']}\nmove by 4e-4 to 5e-4", mlp.color),
    (3.4e-4, 24, f"one step before:\n{typical['before-modes']} do", plots.ORANGE),
    (2e-5, 14.5, "fifty steps before:\nabout 1e-5", plots.GREY),
)
for x, y, text, color in labels:
    steps.text(x, y, text, color=color, ha="right", va="center")
steps.axvline(LAW[0.95], color=plots.BLACK, ls=":", lw=1)
steps.set(
    xscale="log",
    xlim=(3e-7, 3e-3),
    xlabel="length that a weight moves",
    ylabel="weights (%)",
)
around_spike(chain, "head_update")
chain.set(yscale="log", ylabel="mean length")
plots.letter((steps, chain), ["moves of single weights", "mean move, every run"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **At the spike** most weights of the {{term}}`head` make equal steps (a). Nearly all others,
  {told(at_spike("update_below"), "{:.0%}")}, do not move: the features that they read are zero for every sample.
* **One step earlier** the loss begins to jump, and the equal steps are not yet there. So they follow the jump
  and do not begin it.
* **Before the spike** steps grow slowly, for fifty steps or more (b). Then they grow up to tenfold within two.
* **Adam's betas explain the size** with no estimate of the gradient. The dotted line in (a) is
  $\\eta (1 - \\beta_1) / \\sqrt{{1 - \\beta_2}}$ = {LAW[0.95]:.1e}.
""")

# %% [markdown]
# ## The idea
#
# Adam divides a running mean of gradients, $m$, by the root of a running mean of their
# squares, $v$. Let gradients be tiny for a while. Then let one be $g$, large compared with
# $\sqrt v$ and $\varepsilon$. From this step alone
#
# $$
# \eta\, \frac{m}{\sqrt v + \varepsilon}
# = \eta\, \frac{(1 - \beta_1)\, g}{\sqrt{(1 - \beta_2)\, g^2}}
# = \eta\, \frac{1 - \beta_1}{\sqrt{1 - \beta_2}}\, \mathrm{sign}(g) .
# $$
#
# The size of $g$ cancels. A sample that returns from a {term}`softmax collapse` moves
# every weight with a gradient by the same distance, whether $g$ is $10^{-5}$ or 10.


# %%
def after_silence(gradient, beta1=0.9, beta2=0.95, lr=1e-3, eps=1e-8, silence=1e-12):
    """Adam's step on one weight when a gradient follows a long time of tiny ones."""
    m = beta1 * silence + (1 - beta1) * gradient
    v = beta2 * silence**2 + (1 - beta2) * gradient**2
    return lr * m / (math.sqrt(v) + eps)


assert math.isclose(after_silence(1.0), theory.jump(1e-3, (0.9, 0.95)), rel_tol=1e-6)
for gradient in (1e-7, 1e-5, 1e-3, 1e-1):
    print(f"gradient {gradient:.0e}: step {after_silence(gradient):.2e}")

# %% [markdown]
# The paper's estimate takes 1.2e-7 for $g$, the smallest gradient that can return, and
# finds 4.0e-4. With this number its other betas would give other steps than the formula. A run
# with another $\beta_2$ tells which of the two applies.

# %% tags=["hide-input"]
#| name: fig-liu2026-02-betas
#| caption: >
#|   The step at a spike is the one that the betas predict, and the residual mass falls fast
#|   before it. (a) Share of the last layer's weights by the size of their step at the first spike, for three values of Adam's
#|   β2, one run each. Dotted: η(1 - β1)/√(1 - β2). (b) Residual mass, one run of each network, each at
#|   the largest size that was trained.
#| alt: >
#|   Left: three narrow peaks at 3.2e-4, 4.5e-4 and 3.2e-3, each on its dotted line. Right: the
#|   residual mass falls by many powers of ten before each spike. That of ResNet-18 falls on.
#| fold: "Code: draw the steps by β2 and the residual mass"
figure, (others, mass) = plots.panels(2, height=3.3)
for b, run in ((b, run) for b, run in betas.items() if run in shown):
    others.axvline(LAW[b], color=SHADE[b], ls=":", lw=1)
    others.stairs(
        100 * shown[run].loc[0, SIZES].to_numpy(float),
        EDGES,
        color=SHADE[b],
        label=f"β2 = {b:g}",
        lw=1.6,
    )
others.set(
    xscale="log",
    xlim=(1e-7, 1e-2),
    xlabel="length that a weight moves",
    ylabel="weights (%)",
)
others.legend(loc="upper left", handlelength=1.3)
for run in (mlp, *networks):
    values = run.series(MASS)[run.seeds[0]].dropna().clip(lower=1e-12).loc[1:]
    mass.plot(values, color=run.color, label=run.label, lw=1.2)
mass.set(
    xscale="log",
    yscale="log",
    xlabel="epoch",
    ylabel="residual mass",
    xlim=(50, None),
    ylim=(1e-13, 5),
)
mass.legend(loc="lower left", ncols=2, fontsize=9.5)
plots.letter((others, mass), ["at the spike, by β2", "residual mass"])
plots.show(figure)

# %% [markdown]
# The gradient itself, step by step, shows when it returns.

# %% tags=["hide-input"]
#| name: fig-liu2026-02-steps
#| caption: >
#|   The gradient returns within two steps, and with it samples leave the collapse. Mean size of
#|   the gradient of the last layer's weights (a) and share of collapsed samples (b) around the
#|   first spike of each run. Dashed, the 1.2e-7 of the paper's estimate.
#| alt: >
#|   Left: the mean gradient is flat near 1e-8 and rises by millions within two steps. Right:
#|   the collapsed share stays near 90 percent and is down to less than half at the spike.
#| fold: "Code: draw the steps around the spike"
figure, (gradient, collapsed) = plots.panels(2, height=2.7)
around_spike(gradient, "head_gradient")
gradient.axhline(2**-23, color=plots.BLACK, ls="--", lw=1)
gradient.set(yscale="log", ylabel="mean gradient")
around_spike(collapsed, "collapsed", factor=100)
collapsed.set(ylabel="samples (%)", ylim=(-3, 103))
plots.letter((gradient, collapsed), ["gradient", "collapsed samples"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# The paper prints numbers for (a) alone. The other bounds are ours, fixed before the runs. A
# slingshot is a jump of the loss from 0.001 or less to 0.1 or more. It counts if at least
# 40 % of the samples had collapsed shortly before. We count steps in bins, 20 to a factor of ten.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(
    mlp.record, betas[0.9].record, *(run.record for run in networks), division.record
)

# %% [markdown]
# ## What was run
#
# There is no official code. Settings of the other networks are on the pages of
# [Figures 7](fig07_modular_transformer.ipynb) and following. We had to infer:
#
# 1. *Panel (a)* is the MLP of [Figure 1](fig01_precision.ipynb), in float32. The paper does
#    not say which network it shows; its betas are those of Table 3.
# 2. *The spike's step* is the step on the first loss of at least 0.1. Steps are sizes
#    without sign, so the two modes are one here.
# 3. *Residual mass* is computed from the logits in float64, never as $1 - p_r$.
# 4. *Slope*: a straight line through $\ln \epsilon$ over $\ln t$ in the 200 epochs before the
#    first slingshot. In a run that has none it is in the last 30 %.
# 5. *Division.* The paper does not say which network its panel (c) shows. The two rows about test
#    accuracy are those of the MLP of [Figure 8](fig08_modular_mlp.ipynb), after 40,000 of 100,000 steps.
#    The small transformer of [Figure 7](fig07_modular_transformer.ipynb) has no slingshot.
# 6. *Sizes of single weights' steps*, in panel (a) of the first two figures, were recorded by code that was deleted
#    after commit 1230870. A rerun has no such columns, and the rows that name this commit stay
#    without a verdict in it.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
early, apart, toy = (
    found["before-modes"][1],
    first[betas[0.999]],
    adam((3e-9, 10**7), (2**-23, 1), beta2=0.999),
)
tables.prose(f"""
**The modes exist where the paper has them on its axis, but one step late.** One step takes the loss from
{told(at_spike("step_loss", -1), "{:.1e}")} to {told(at_spike("step_loss"), "{:.1f}")}. Its mean gradient is
{told(at_spike("head_gradient", -1), "{:.1e}")}, near the paper's 1.2e-7. By its estimate that gradient makes steps of 4e-4. The mean step
is {told(at_spike("head_update", -1), "{:.1e}")}, the last of a chain that grows slowly (b of the first figure). The next step has the modes, and its mean
gradient is {told(at_spike("head_gradient"), "{:.1e}")}: only the betas count there. So the paper's law drives the loss
further up. The chain starts the rise, in {(early < 0.05).sum()} of {len(early)} seeds.

**Which number sets the size?** For $\\beta_2$ = 0.95 the betas and the paper's estimate give nearly the same step. For
0.999 they differ by a factor of three: {LAW[0.999]:.1e} and {toy:.1e}. The fullest bin is at
{sheet.told("toy-0.999", "{:.1e}")}, in the {len(around[betas[0.999]])} of {len(apart)} runs with a slingshot. So the betas
decide. With this longer memory of Adam the first slingshot comes at epoch {told(apart[apart < math.inf])}, and with 0.95 at
{told(first[mlp])}.

**With a divisor that never falls there is no slingshot.** AMSGrad divides by the largest mean of squared gradients so far. With it
{len(greatest.seeds)} runs of {greatest.settings.epochs:,} epochs have {sheet.told("amsgrad")} slingshots. The training loss then ends at
{told(greatest.last("train_loss"), "{:.0e}")}, with {told(greatest.last("collapsed"), "{:.0%}")} of the samples collapsed. With Adam
{told(mlp.largest("collapsed"), "{:.0%}")} had collapsed at some time. So a falling divisor may be what is needed, or that more samples collapse.

**The step does not jump 40-fold in one epoch.** In the paper it is about $10^2$ times as long as the step before. Here the
mean step is {sheet.told("step-jump")} times as long. It grows over some tens of epochs, more than 40-fold in
{(found["jump"][1] > 40).sum()} of {len(found["jump"][1])} seeds. The paper's estimate gives a jump by {spike / quiet:.1f}: its
gradient before the spike, 3e-9, makes steps of {quiet:.1e}, far longer than those measured.

**The {{term}}`residual mass` is not nearly constant before the first {{term}}`slingshot`.** Over 200 epochs it falls as $t$
to the power {sheet.told("slowly-mlp", "{:.1f}")}, far faster than the $1/t$ that the paper calls too fast for inflation. In
the last 50 epochs, with most samples collapsed, the power is {told(slope(mlp, 50), "{:+.1f}")}. The collapse itself makes this
plateau, since the correct class no longer pulls.

**Spikes bring the MLP on division hardly any test accuracy.** By the rule of the row it goes up at
{sheet.told("accuracy-steps")} of a seed's slingshots, but by little. In {len(division.seeds)} runs of
{division.settings.epochs:,} steps it is never above {told(division.largest("test_accuracy"), "{:.1%}")}, and ends at
{sheet.told("accuracy-end")}. The paper's panel (c) shows steps up to 100 %, on a network that it does not name.
""")

# %% [markdown]
# **Theorem 7 needs an effective learning rate near $\eta / \varepsilon$.** From half of the samples collapsed to the first
# slingshot, $\ln |W_G|$ grows about as far as the theorem's pace gives with $\eta / \varepsilon$. With $\eta$ the theorem
# gives some hundred million times less. The comparison takes Adam's bound for the rate, and the loss of one sample
# instead of the mean of 200. So the direction of the drift is the theorem's; its speed is not derived.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-02-betas
# How far does a weight move in the spike's step for $\beta_2$ of 0.9, 0.95 and 0.999, by the
# law, and by the paper's toy?
# ```
#
# ````{solution} ex-liu2026-02-betas
# :class: dropdown
# ```python
# from grokbook import theory
# for beta2 in (0.9, 0.95, 0.999):
#     law = theory.jump(1e-3, (0.9, beta2))
#     gradients = [(3e-9, 10**7), (2**-23, 1)]
#     toy = theory.adam_update(gradients, 1e-3, (0.9, beta2), 1e-8)
#     print(f"β2 {beta2}: law {law:.2e}, toy {toy:.2e}")
# ```
#
# They nearly agree for 0.9 and 0.95. Only 0.999 distinguishes them, with 3.2e-3 and 9.9e-4.
# ````
#
# ```{exercise}
# :label: ex-liu2026-02-eps
# What becomes of the toy's step with an $\varepsilon$ of $10^{-5}$? And of a step after a
# gradient of 0.01?
# ```
#
# ````{solution} ex-liu2026-02-eps
# :class: dropdown
# ```python
# from grokbook import theory
# for gradient in (2**-23, 0.01):
#     for eps in (1e-8, 1e-5):
#         found = theory.adam_update(
#             [(3e-9, 10**6), (gradient, 1)], 1e-3, (0.9, 0.95), eps
#         )
#         print(f"gradient {gradient:.1e}, ε {eps:g}: {found:.2e}")
# ```
#
# The toy's step shrinks some 270-fold, the other step hardly. So $\varepsilon$ cannot work by taming
# the spike's own step. It keeps the earlier steps short ([Figure 3](fig03_mitigations.ipynb)).
# ````
#
# ```{exercise}
# :label: ex-liu2026-02-reduction
# Theorem 7 couples a drift of $W_G$ by a loss averaged over the batch with one of $h$ by the
# loss of a single sample. What is the rate if both take the mean over $B$ samples?
# ```
#
# ```{solution} ex-liu2026-02-reduction
# :class: dropdown
# The feature of a sample then gets $\beta = \eta \epsilon / B$, so the rate is
# $\sqrt{\alpha \beta} = \eta \epsilon / \sqrt{K B}$. With 200 samples it is 14 times smaller.
# ```

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs, smaller networks and fewer seeds, for all six records, in a few hours on one
# core. The record of [Figure 1](fig01_precision.ipynb) alone takes about 20 minutes. The panels of single
# weights' steps stay empty: the code of today does not record their sizes.
#
# ```bash
# make page PAGE=liu2026/fig02 SCALE=laptop
# ```
