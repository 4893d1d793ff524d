# %% [markdown]
# # [Liu et al. 2026 · Figure 2]{.kicker} When a loss spikes, most classifier weights step by the same amount

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

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.observables import UPDATE_BINS

plots.use_style()
page = evidence.Page("liu2026/fig02", scale, retrain, device)
SHADE, KIND, MASS = plots.shades([0.9, 0.95, 0.999]), plots.COLOUR, "residual_mass"


def arm(name, of, label, color):
    return Run(page.record(name, arms=(of,)), of, label, color)


mlp = arm("fig01", "float32", "MLP", KIND["MLP"])
betas = {b: mlp if b == 0.95 else arm("fig02a", f"β2 {b:g}", f"β2 = {b:g}", SHADE[b]) for b in SHADE}
names = {"fig10": "VGG-11", "fig12": "ViT", "fig13": "ResNet-18"}
vgg, vit, resnet = networks = [arm(name, "float32", of, KIND[of]) for name, of in names.items()]
division, exact = (arm("fig07", of, of, KIND[of]) for of in ("float32", "float64 loss"))
EDGES, SIZES = np.array(UPDATE_BINS), [f"update_bin.{k}" for k in range(160)]
late = {run: evidence.bursts(run, late=True) for run in (*betas.values(), *networks, division)}
first = {run: evidence.earliest(found) for run, found in late.items()}
half = {run: evidence.settled(run) for run in (mlp, resnet)}
chosen = mlp.settings.optimizer.options
lr, beta1, eps = chosen["lr"], chosen["betas"][0], chosen["eps"]
LAW = {b: theory.jump(lr, (beta1, b)) for b in betas}


around = {run: evidence.windows(run, "update_below", loss="step_loss") for run in betas.values()}


def measured(measure, run=mlp):
    """A measure of each seed's steps around its first loss of 0.1, which step 0 is taken on."""
    return Series({seed: measure(rows) for seed, rows in around[run].items()}, dtype=float)


def at_spike(column, later=0):
    """A column at the spike, or so many steps later."""
    return measured(lambda rows: rows.loc[later, column])


def near(size, later=0):
    """Share of weights in the two bins around a size, at the spike."""
    there = np.array(SIZES)[(EDGES[1:] > size / 1.12) & (EDGES[:-1] < size * 1.12)]
    return lambda rows: rows.loc[later, there].sum()


def jumped(rows, column="head_update_median"):
    """The step of the spike over the steps 50 and more before it."""
    return rows.loc[0, column] / rows.loc[: max(-50, rows.index[0]), column].median()


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


def gain(accuracy, at):
    """Mean test accuracy of 200 to 2,000 steps after, minus that of as many before."""
    return accuracy.loc[at + 200 : at + 2000].mean() - accuracy.loc[at - 1800 : at - 1].mean()


def rises(run, found):
    """Per seed, the share of events whose gain is positive and rare.

    Rare is more than 90 % of those at looks without an event near, if there are ten.
    """
    shares = {}
    for seed, onsets in found.items():
        accuracy, on = run.series("test_accuracy")[seed].dropna(), np.array(onsets)
        looks = accuracy.loc[1800 : accuracy.index[-1] - 2000].index
        usual = [gain(accuracy, t) for t in looks if not ((on > t - 1800) & (on < t + 2000)).any()]
        bar = max(0.0, np.quantile(usual, 0.9)) if len(usual) >= 10 else 0.0
        if onsets:
            shares[seed] = np.mean([gain(accuracy, t) > bar for t in onsets])
    return Series(shares, dtype=float)


def grows(eta, epsilon, classes):
    """Whether the largest eigenvalue of the coupled step is that of the theorem."""
    step = torch.tensor([[1, -eta * epsilon / classes], [-eta * epsilon, 1]]).double()
    return math.isclose(torch.linalg.eigvals(step).real.max(), theory.coupled_growth(eta, epsilon, classes)[0])


def adam(*gradients, beta2=0.95):
    """Adam's last step on one weight with the runs' settings."""
    return theory.adam_update(gradients, lr, (beta1, beta2), eps)


spike, quiet = adam((3e-9, 10**6), (2**-23, 1)), adam((3e-9, 10**6))  # the paper's toy
rates = [(1e5, 1e-7, 10), (1e-3, 1e-7, 10), (1e5, 1e-6, 97), (1.0, 1e-2, 10)]
states = [theory.collapse_state(margin) for margin in (20, 22, 25)]
drifts = [theory.drift(state, torch.float32) for state in states]
pulls = [theory.feature_drift(theory.with_mean(state), torch.float32) for state in states]
until = first[mlp] - 1  # from half of the samples collapsed to the first slingshot
size = evidence.area(mlp.series(MASS, since=half[mlp], until=until)) / math.sqrt(10)
grown = np.log(mlp.at("head_mean_norm", until) / mlp.at("head_mean_norm", half[mlp]))
before = measured(lambda rows: rows.loc[:-50, "head_update"].median())
found = {
    "modes": (mlp, measured(near(LAW[0.95]))),
    "jump": (mlp, measured(jumped)),
    "broad": (mlp, measured(near(LAW[0.95], later=10))),
    "toy-0.9": (betas[0.9], measured(mode, betas[0.9])),
    "toy-0.999": (betas[0.999], measured(mode, betas[0.999])),
    "slowly-mlp": ([mlp], slope(mlp)),
    "slowly-others": ([vgg, vit], evidence.joined({run.label: slope(run) for run in (vgg, vit)}).min(axis=1)),
    "resnet": (resnet, slope(resnet, sustained=True)),
    "accuracy-steps": (division, rises(division, late[division])),
    "accuracy-end": (division, evidence.tested(division.last("test_accuracy"), evidence.counted(late[division]))),
    "theorem-4": claims.exactly(
        ", ".join(f"{ratio:.4f}" for ratio, _ in drifts),
        [abs(ratio - 1) < 1e-3 and cosine < -0.999 for ratio, cosine in drifts],
    ),
    "proposition-6": claims.exactly(
        ", ".join(f"{pull:.4f}" for pull in pulls), [abs(pull - 1) < 1e-3 for pull in pulls]
    ),
    "theorem-7": claims.exactly("equal", [grows(*rate) for rate in rates]),
    "toy": claims.exactly(f"{spike:.2e}", [abs(spike - 4e-4) < 0.5e-4]),
    "toy-growth": (f"{spike / quiet:.2f}", 1, 1),
    "step-early": (mlp, before),
    **{f"law-{b}": (run, measured(near(LAW[b]), run)) for b, run in betas.items()},
    "before-gradient": (mlp, at_spike("head_gradient", -1)),
    "before-modes": (mlp, measured(near(LAW[0.95], -1))),
    "before-step": (mlp, at_spike("head_update", -1)),
    "gradient-jump": (mlp, at_spike("head_gradient") / at_spike("head_gradient", -1)),
    "step-jump": (mlp, at_spike("head_update") / at_spike("head_update", -1)),
    "step-jump-median": (mlp, at_spike("head_update_median") / at_spike("head_update_median", -1)),
    "plateau": (mlp, slope(mlp, 50)),
    "grown": (mlp, grown),
    "pace": {f"{rate:g}": (mlp, rate * size) for rate in (lr, lr / eps)},
    "float64-accuracy": (exact, exact.last("test_accuracy")),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-02
#| caption: >
#|   One step at the spike differs from all others. (a) Share of the head's weights by the
#|   size of a step, 50 steps before the first slingshot, on its first loss of 0.1 or more,
#|   and 10 steps later, first seed; dotted, η(1 - β1)/√(1 - β2). (b) The same step by β2;
#|   a dotted line without a histogram is a β2 that was not run. (c) Residual mass of the
#|   networks, first seed, each at the best scale that was trained. (d) Division: training
#|   loss, and test accuracy in black.
#| alt: >
#|   Four panels. At the spike more than half of the weights move by 4.5e-4, where they moved
#|   by 1e-5 before. The residual mass falls by many powers of ten, with a short plateau
#|   before each spike. The last panel has loss and test accuracy of modular division.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=2, height=2.75)
steps, others, mass, grok = axes
shown = {run: next(iter(around[run].values())) for run in betas.values()}  # first seed
for when, name, style in (
    (-50, "50 steps before", {"color": plots.GREY, "ls": "--"}),
    (10, "10 steps after", {"color": plots.BLACK, "lw": 1}),
    (0, "at the spike", {"color": plots.RED, "lw": 1.8}),
):
    shares = 100 * shown[mlp].loc[when, SIZES].to_numpy(float)
    steps.stairs(shares, EDGES, label=name, **style)
dots = {"ls": (0, (1, 1.5)), "lw": 1}
steps.axvline(LAW[0.95], color=plots.BLACK, **dots)
for b, run in betas.items():
    others.axvline(LAW[b], color=SHADE[b], **dots)
    shares = 100 * shown[run].loc[0, SIZES].to_numpy(float)
    others.stairs(shares, EDGES, color=SHADE[b], label=f"β2 = {b:g}", lw=1.6)
for panel in (steps, others):
    panel.set(xscale="log", xlim=(1e-7, 1e-2), xlabel="|ΔW|", ylabel="weights (%)")
    panel.legend(loc="upper left", handlelength=1.3)
for run in (mlp, *networks):
    values = run.series(MASS)[run.seeds[0]].dropna().clip(lower=1e-12).loc[1:]
    mass.plot(values, color=run.color, label=run.label, lw=1.2)
mass.set(xscale="log", yscale="log", xlabel="epoch", ylabel="residual mass")
mass.set(xlim=(50, None), ylim=(1e-13, 5))
mass.legend(loc="lower left", ncols=2, fontsize=9.5)
plots.trace(grok, division, lw=0.8)
reached = grok.twinx()
plots.curve(reached, division, "test_accuracy", percent=True, label="", color=plots.BLACK)
reached.set(ylim=(-3, 103), ylabel="test accuracy (%)")
reached.grid(False)
reached.spines["right"].set_visible(True)
plots.thousands(grok)
grok.set(xlabel="step", ylabel="training loss")
plots.letter(axes, ["β2 = 0.95", "at the spike, by β2", "residual mass", "division"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **At the spike,** in the first step on a loss of 0.1 or more, {sheet.told("modes")} of the
  weights of the {{term}}`head` move by 4.0 to 5.0e-4 (n = {len(around[mlp])}). Nearly all others,
  {told(at_spike("update_below"), "{:.1%}")}, move by less than 1e-9, as weights of features do that are off for
  every sample.
* **Before it** the mean step is {told(before, "{:.1e}")}.
  The median step grows {sheet.told("jump")}-fold to the spike.
* **One step earlier,** in the step that takes the loss there,
  {sheet.told("before-modes")} do. So the equal steps
  follow a jump and do not begin it.
* **The size has an explanation** that needs no estimate of the gradient. It is
  $\\eta (1 - \\beta_1) / \\sqrt{{1 - \\beta_2}}$ = {LAW[0.95]:.3e}, the dotted line.
* **The {{term}}`residual mass`** of the MLP does not stay constant before its first
  {{term}}`slingshot`: over 200 epochs it falls as $t$ to the power
  {sheet.told("slowly-mlp", "{:.1f}")}, and has a plateau in the last 50.
""")

# %% [markdown]
# ## The idea
#
# Adam divides a running mean of gradients, $m$, by the root of a running mean of their
# squares, $v$. Let gradients be tiny for a while, and then one be $g$, large against
# $\sqrt v$ and $\varepsilon$. From that step alone
#
# $$
# \eta\, \frac{m}{\sqrt v + \varepsilon}
# = \eta\, \frac{(1 - \beta_1)\, g}{\sqrt{(1 - \beta_2)\, g^2}}
# = \eta\, \frac{1 - \beta_1}{\sqrt{1 - \beta_2}}\, \mathrm{sign}(g) .
# $$
#
# The size of $g$ cancels. A sample that comes back from a {term}`softmax collapse` moves
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
# The paper's estimate puts in 1.2e-7 for $g$, the smallest gradient that can come back, and
# finds 4.0e-4. With that number its other betas would give other steps than this law. The
# gradient itself, step by step, says which one applies.

# %% tags=["hide-input"]
#| name: fig-liu2026-02-steps
#| caption: >
#|   Mean size of gradient and step of the head's weights, and samples collapsed, step by
#|   step around the first slingshot; all seeds. Dashed, the 1.2e-7 of the paper's estimate.
#| alt: >
#|   Left: the mean gradient is flat near 1e-8 and rises by millions within two steps. Middle:
#|   the mean step grows slowly before, and up to tenfold at the spike. Right: the collapsed
#|   share stays near 90 percent and is down to less than half at the spike.
#| fold: "Code: draw the steps around the spike"
figure, axes = plots.panels(3, height=2.7)
columns = ("head_gradient", "head_update", "collapsed")
for panel, column in zip(axes, columns, strict=True):
    for rows in around[mlp].values():
        size = 100 if column == "collapsed" else 1
        values = size * rows[column]
        panel.plot(values, color=mlp.color, lw=1.2)
    panel.axvline(0, color=plots.GREY, ls=":", lw=1.1)
    panel.set(xlabel="steps from the spike", xlim=(-60, 30))
axes[0].axhline(2**-23, color=plots.BLACK, ls="--", lw=1)
axes[0].set(yscale="log", ylabel="mean |gradient|")
axes[1].set(yscale="log", ylabel="mean |ΔW|")
axes[2].set(ylabel="samples (%)", ylim=(-3, 103))
plots.letter(axes, ["gradient", "step", "collapsed"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# The paper prints numbers for (a) alone; other bounds are ours, fixed before the runs. A
# slingshot is a jump of the loss from 0.001 or less to 0.1 or more with at least 40 % of the
# samples collapsed shortly before. Steps are counted in bins, 20 to a factor of ten.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(mlp.record, betas[0.9].record, *(run.record for run in networks), division.record)

# %% [markdown]
# ## What was run
#
# There is no official code. Settings of the other networks are on the pages of
# [Figures 7](fig07_modular_transformer.ipynb) and following. What had to be inferred:
#
# 1. *Panel (a)* is the MLP of [Figure 1](fig01_precision.ipynb), in float32. The paper does
#    not say which network it shows; its betas are those of Table 3.
# 2. *The spike's step* is the one taken on the first loss of at least 0.1. Steps are sizes
#    without sign, so that the two modes are one here.
# 3. *Residual mass* is computed from the logits in float64, never as $1 - p_r$.
# 4. *Slope*: a straight line through $\ln \epsilon$ over $\ln t$ in the 200 epochs before the
#    first slingshot, or in the last 30 % of a run that has none.
# 5. *Panel (c)* has each network at the best scale that was trained; the box says which.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
early, apart = found["before-modes"][1], first[betas[0.999]]
toy = adam((3e-9, 10**7), (2**-23, 1), beta2=0.999)
peak = told(measured(lambda rows: rows.loc[0:, "step_loss"].max()), "{:.0f}")
tables.prose(f"""
**The modes are there**, where the paper has them on its axis, and one step late. The step that
takes the loss from {told(at_spike("step_loss", -1), "{:.1e}")} to {told(at_spike("step_loss"), "{:.1f}")} has a mean gradient of {sheet.told("before-gradient")} in the head, near the
paper's 1.2e-7. By its estimate that makes steps of 4e-4; the mean step is {sheet.told("before-step")}, one of a
chain that grows slowly. The step after it has the modes, and there the mean gradient is
{told(at_spike("head_gradient"), "{:.1e}")}. In that limit only the betas count. So the paper's law drives the loss from there to
{peak}. What first takes it up is the chain, in {(early < 0.05).sum()} of {len(early)} seeds.

**Which number sets the size?** For $\\beta_2$ = 0.95 both readings give nearly the same
step; for 0.999 they differ by a factor of three, {LAW[0.999]:.1e} by the betas and {toy:.1e} by the toy.
The fullest bin is at {sheet.told("toy-0.999", "{:.1e}")}, in the {len(around[betas[0.999]])} of {len(apart)} seeds
with a slingshot. With that longer memory of Adam's the first
comes at epoch {told(apart[apart < math.inf])}, where 0.95 has {told(first[mlp])}.

**The toy does not give the 40-fold jump.** Its own gradient before the spike, 3e-9, makes
steps of {quiet:.1e}, so that it jumps {spike / quiet:.1f}-fold. The measured steps before the
spike are far shorter. They need gradients that largely cancel over time: then $m$ is much
smaller than $\\sqrt v$.

**Nor does the step jump in one epoch.** The paper has it about $10^2$ times as long as the one
before. In the mean over the head it is {sheet.told("step-jump")} times as long, and in the median
{sheet.told("step-jump-median")} times. It grows over some tens of epochs, and more than 40-fold in
{(found["jump"][1] > 40).sum()} of {len(around[mlp])} seeds.

**Slowly or nearly constant** depends on where one looks. Over the 200 epochs before the first
slingshot of the MLP the residual mass falls far faster than the $1/t$ that the paper gives as
too fast for inflation. In the last 50 of them, with most samples collapsed, the slope is
{sheet.told("plateau")}: there it is a plateau. The collapse itself makes
it, since the correct class no longer pulls.

**Theorem 7 needs an effective learning rate** of the size of $\\eta / \\varepsilon$. From half
of the samples collapsed to the first slingshot $\\ln |W_G|$ grows by
{sheet.told("grown")}. The theorem's pace gives {sheet.told("pace 0.001", "{:.0e}")} with
$\\eta$ = {lr:g}, and {sheet.told("pace 100000")} with $\\eta / \\varepsilon$.
The latter takes Adam's bound for the rate, and a loss of one sample where the runs have the
mean of 200. So the direction of the drift is that of the theorem; its speed is not derived.
""")

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
# They nearly agree for 0.9 and 0.95. Only 0.999 tells them apart, 3.2e-3 against 9.9e-4.
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
# The toy's step shrinks some 270-fold, the other hardly. So $\varepsilon$ cannot work by taming
# the spike's own step. It keeps the steps before it short ([Figure 3](fig03_mitigations.ipynb)).
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
# core. The record of [Figure 1](fig01_precision.ipynb) alone takes about 20 minutes.
#
# ```bash
# make page PAGE=liu2026/fig02 SCALE=laptop
# ```
