# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 4]{.kicker} At a learning rate of 0.01 slingshots end since the network never fits again, and label smoothing brings bursts in both precisions (one seed)

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch
from IPython.display import display
from pandas import Series

from grokbook import claims, evidence, optimizers, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
RATES = (1e-2, 1e-3, 1e-4, 1e-5)
ALPHA, CLASSES = 0.1, 10
FLOOR = -(1 - ALPHA) * math.log(1 - ALPHA) - ALPHA * math.log(ALPHA / (CLASSES - 1))
colors = plots.shades(RATES)
NAMES = {eta: np.format_float_positional(eta) for eta in RATES}  # 0.00001, not 1e-05
PLANNED = {  # what is compared: its record, arm, label and colour
    eta: ("fig04a", f"learning rate {eta:g}", f"η = {NAMES[eta]}", colors[eta])
    for eta in RATES
}
PLANNED[1e-3] = ("fig01", "float32", *PLANNED[1e-3][2:])
SOFT32, SOFT64 = ("smoothed, float32 loss", "smoothed, float64 loss")
PLANNED[SOFT32] = ("fig04b", SOFT32, "smoothed, float32", plots.COLOUR["float32"])
PLANNED[SOFT64] = ("fig04b", SOFT64, "smoothed, float64", plots.COLOUR["float64"])


runs = {}
for key, (name, arm, label, color) in PLANNED.items():
    record = evidence.stored(f"liu2026/{name}", arms=(arm,), **page)
    if record and record.seeds(arm):
        runs[key] = Run(record, arm, label, color)
rates = [eta for eta in RATES if eta in runs]
late = {
    eta: evidence.bursts(runs[eta], late=True, within=max(100, runs[eta].settings.log))
    for eta in rates
}


def looks(key, column):
    """Values at the regular looks: the run of 0.001 has more around its first spike."""
    table = runs[key].series(column)
    return table[table.index % runs[key].settings.log == 0]


def proneness(eta):
    """Slingshots per 1,000 epochs from the first look with 90 % collapsed; else 0."""
    since = evidence.crossing(looks(eta, "collapsed"), at_least=0.9)
    on = {
        seed: sum(onset >= since[seed] for onset in found)
        for seed, found in late[eta].items()
    }
    left = runs[eta].settings.epochs - since
    return (1000 * Series(on, dtype=float) / left).where(left > 0, 0.0)


def excess(key):
    """Smoothed loss of every step above its smallest possible value."""
    return runs[key].trace() - FLOOR


def jumps(key):
    """Onsets by seed at which the excess goes from 0.001 to ten times that."""
    return {
        seed: evidence.spikes(loss.dropna(), quiet=1e-3, loud=1e-2)
        for seed, loss in excess(key).items()
    } if key in runs else {}


spiked = {key: evidence.counted(jumps(key)) for key in (SOFT32, SOFT64)}
sheet = claims.Sheet("liu2026/fig04")


def claim(keys, statement, quote, value, *, where, **options):
    """A claim on runs that may not be trained yet."""
    if all(key in runs for key in keys):
        sheet.claim([runs[k] for k in keys], statement, quote, value(), where=where, **options)
    else:
        sheet.not_run(statement, quote, where=where)


def order(statement, quote, etas, **options):
    """The same of a sequence of learning rates."""
    if all(eta in runs for eta in etas):
        values = {runs[eta]: proneness(eta) for eta in etas}
        sheet.order(statement, quote, values, show="{:.2f}", **options)
    else:
        sheet.not_run(statement, quote, **options)


RATE, SMOOTH, PROOF = "Appendix B.2.8", "Appendix B.2.6", "Appendix D.4.3"
PRONE = (
    "smaller learning rates are significantly more prone to triggering Slingshot "
    "instabilities"
)
order(
    "slingshots per 1,000 epochs of collapse: more the smaller η is, 0.01, 0.001, 0.0001",
    PRONE,
    RATES[:3],
    where=RATE,
    main=True,
)
order(
    "the same of 0.0001 and 0.00001, which has five times the epochs",
    PRONE,
    RATES[2:],
    where=RATE,
)
sheet.not_run(
    "the smaller η is, the larger the sharpness at zero loss",
    "these “nearest” solutions are frequently “bad” local minima characterized by extreme "
    "sharpness",
    where=RATE,
)
claim(
    [SOFT32],
    "smoothing, float32 loss: no sample collapses (largest share)",
    "successfully eliminates the precision-induced NFI spikes",
    lambda: runs[SOFT32].largest("collapsed"),
    where=SMOOTH,
    at_most=0,
    show="{:.1%}",
)
claim(
    [SOFT32],
    "smoothing, float32 loss: at least one jump of the excess loss from 0.001 to 0.01",
    "LS introduces a new class of instabilities",
    lambda: spiked[SOFT32],
    where=SMOOTH,
    at_least=1,
)
claim(
    [SOFT64],
    "smoothing, float64 loss: at least one as well",
    "independent of numerical precision",
    lambda: spiked[SOFT64],
    where=SMOOTH,
    at_least=1,
)
sheet.not_run(
    "smoothing: the sharpness at the end is at least 1 % of its early maximum, and the "
    "preconditioned one within a factor of 2 of 38/η at spikes",
    "the maximum Hessian eigenvalue remains finite. This pushes the optimization into the "
    "EOS regime",
    where=SMOOTH,
)


def gap(alpha, classes):
    """Lead of the correct logit at the optimum of a smoothed loss."""
    return math.log((1 - alpha) * (classes - 1) / alpha)


def trace_of(alpha, classes):
    """The trace as eq. 72 has it."""
    return alpha * (2 - alpha * (1 + 1 / (classes - 1)))


def optimum(alpha, classes):
    """Softmax of logits that lead by the gap."""
    logits = torch.zeros(classes, dtype=torch.float64)
    logits[0] = gap(alpha, classes)
    return logits.softmax(dim=0)


SIZES, SHARES = (10, 97, 1000), (0.01, 0.1, 0.5)
grid = [(alpha, classes) for alpha in SHARES for classes in SIZES]
finite = [
    torch.allclose(optimum(*at), theory.smoothed_target(*at), rtol=1e-9) for at in grid
]
curves = {at: theory.logit_hessian(theory.smoothed_target(*at)) for at in grid}
traces = [math.isclose(float(h.trace()), trace_of(*at)) for at, h in curves.items()]
sheet.exact(
    "logits that lead by ln((1 − α)(K − 1)/α) have the smoothed target as their softmax",
    "the global minimum is achieved at finite logit values where the predicted distribution "
    "matches the soft target exactly",
    f"gap {gap(0.1, 10):.2f} at K = 10, {gap(0.1, 97):.2f} at K = 97 (α = 0.1)",
    where=PROOF,
    held=sum(finite),
    n=len(finite),
)
sheet.exact(
    "eq. 72: the trace of H_z at the target is α(2 − α(1 + 1/(K − 1)))",
    "the trace of H_z converges to a positive constant",
    f"{trace_of(0.1, 10):.4f} at K = 10, {trace_of(0.1, 97):.4f} at K = 97 (α = 0.1)",
    where=PROOF,
    held=sum(traces),
    n=len(traces),
)
hessian = curves[ALPHA, CLASSES]
common = torch.ones(CLASSES, dtype=torch.float64)  # all logits alike
wrong = torch.eye(CLASSES, dtype=torch.float64)[1] - torch.eye(CLASSES)[2]
bound = float(hessian.trace()) / CLASSES
counter = [float(j @ hessian @ j / (j @ j)) for j in (common, wrong)]
sheet.exact(
    "eq. 75: ‖JᵀH_zJ‖ ≥ ‖J‖² tr(H_z)/K also if J is along (1, …, 1), or along the "
    "difference of two wrong classes",
    "the Gauss-Newton term satisfies: ∥G(θ)∥₂ = ∥JᵀH_zJ∥₂ ≥ ∥J∥₂² · C_LS/K > 0",
    f"{abs(counter[0]):.4f} and {counter[1]:.4f}, bound {bound:.4f}",
    where=f"{PROOF}, eq. 75",
    held=sum(value >= bound for value in counter),
    n=len(counter),
)


def pushed_weight(decay, lr=0.1):
    """Size of a weight under AdamW after a long time with gradients of one sign."""
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    adam = optimizers.AdamW([weight], lr=lr, betas=(0.9, 0.95), weight_decay=decay)
    weight.grad = torch.full_like(weight, -1.0)
    for _ in range(round(8 / (lr * decay))):
        adam.step()
    return float(weight.detach())


DECAYS = (0.1, 1.0, 10.0)
weights = [pushed_weight(decay) for decay in DECAYS]
sheet.exact(
    "AdamW, a gradient of one sign: the weight stays below 1.001/λ, λ = 0.1, 1, 10",
    "the parameter magnitude is bounded by ∥w∥_∞ ≲ 1/λ",
    ", ".join(f"{value:.3g}" for value in weights),
    where="Appendix B.5.1",
    held=sum(w * d <= 1.001 for w, d in zip(weights, DECAYS, strict=True)),
    n=len(DECAYS),
)
sheet.not_run(
    "with weight decay the mean margin stays below 16",
    "the logit margin z_m − max_{k≠m} z_k rarely exceeds the critical threshold required to "
    "trigger floating-point absorption errors",
    where="Appendix B.5.1",
)
for eta in rates:
    run = runs[eta]
    words = f"{run.label}: slingshots in {run.settings.epochs:,} epochs"
    sheet.extra(run, words, evidence.counted(late[eta]))
    first = evidence.earliest(late[eta])
    sheet.extra(run, f"{run.label}: first slingshot (epoch)", first)
for key in (SOFT32, SOFT64):
    if key in runs:
        run = runs[key]
        margin = looks(key, "mean_margin").tail(len(looks(key, "mean_margin")) // 2).median()
        words = f"{run.label}: mean margin, median of the second half"
        sheet.extra(run, words, margin, show="{:.2f}")
if SOFT32 in runs:
    sheet.extra(runs[SOFT32], "smoothed, float32: shows inflation (1) or not (0)",
                evidence.inflated(runs[SOFT32]))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-04
#| caption: >
#|   (a to d) The training loss of every step at four learning rates, first seed; losses below
#|   1e-9 lie on the lower edge. The smallest rate has five times the epochs. (e, f) Training
#|   loss with label smoothing above its smallest possible value, computed in float32 and in
#|   float64. Dashed, the levels between which a jump is counted. Empty panels were not run.
#| alt: >
#|   Six panels against epoch. At a learning rate of 0.001 the loss jumps from 1e-8 to above 1
#|   about every 550 epochs. The others show the same at other rates, and the loss with label
#|   smoothing. Panels of settings that were not trained are empty and say so.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=3, height=1.9)
for panel, key in zip(axes, PLANNED, strict=False):
    plots.thousands(panel)
    if key not in runs:
        panel.text(0.5, 0.5, "not run yet", ha="center", transform=panel.transAxes)
        panel.set(xticks=[], yticks=[])
    elif key in RATES:
        plots.trace(panel, runs[key], lw=0.8)
        panel.set(ylim=(5e-10, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="", ylabel="loss")
    else:
        first = excess(key)[runs[key].seeds[0]].clip(lower=1e-4)
        panel.plot(first, color=runs[key].color, lw=0.6)
        for level in (1e-3, 1e-2):
            panel.axhline(level, color=plots.GREY, ls="--", lw=0.9)
        panel.set(yscale="log", ylim=(7e-5, 1e2), ylabel="excess loss")
for panel in axes[4:]:
    panel.set_xlabel("epoch")
plots.letter(axes, [label for _, _, label, _ in PLANNED.values()])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def seen(eta):
    """The slingshots at one learning rate in words."""
    if eta not in runs:
        return "not run yet"
    run, many = runs[eta], evidence.counted(late[eta])
    start = told(evidence.earliest(late[eta]))
    rate = told(proneness(eta), "{:.2f}")
    words = f"{told(many)} in {run.settings.epochs:,} epochs, the first at {start}; "
    return f"{words}{rate} per 1,000 epochs of collapse (n = {len(run.seeds)})"


def smoothed(key):
    """What a smoothed loss did, in words."""
    if key not in runs:
        return "not run yet"
    share = told(runs[key].largest("collapsed"), "{:.1%}")
    return (
        f"at most {share} of the samples collapsed, {told(spiked[key])} jumps "
        f"(n = {len(runs[key].seeds)})"
    )


lines = "\n".join(f"  * η = {NAMES[eta]}: {seen(eta)}." for eta in RATES)
tables.prose(f"""
* **Learning rate.** {{term}}`Slingshots <slingshot>` by learning rate:

{lines}

* **{{term}}`Label smoothing`**, loss in float32: {smoothed(SOFT32)}. Loss in float64:
  {smoothed(SOFT64)}.
* **Where smoothing ends.** The smoothed loss is smallest when the correct
  {{term}}`logit` leads by {gap(ALPHA, CLASSES):.2f} with ten classes. Float32 absorbs from
  {theory.absorption_margin(torch.float32, CLASSES, competitors=1):.1f} on, so at that optimum no
  sample is near {{term}}`softmax collapse`.
""")

# %% [markdown]
# ## The idea
#
# A smoothed target has $1 - \alpha$ at the correct class and $\alpha / (K - 1)$ at each of
# the others. The loss is smallest where the {term}`softmax` equals it, at finite logits. There
# the curvature of the loss in the logits is
#
# $$
# H_z = \operatorname{diag}(p) - p\, p^\top, \qquad
# \operatorname{tr} H_z = \alpha \left(2 - \alpha\, \tfrac{K}{K - 1}\right) > 0 ,
# $$
#
# while without smoothing $p$ becomes one-hot and $H_z$ vanishes. The paper concludes that
# the curvature in the *weights* stays positive too. One step of that proof does not hold:

# %%
def curvature(alpha, classes, direction):
    """Curvature of a smoothed loss at its optimum along a direction of the logits."""
    p = torch.full((classes,), alpha / (classes - 1), dtype=torch.float64)
    p[0] = 1 - alpha
    hessian = p.diag() - torch.outer(p, p)
    assert torch.allclose(hessian, theory.logit_hessian(p))
    return float(direction @ hessian @ direction / (direction @ direction))


right = torch.eye(10, dtype=torch.float64)[0]
for name, direction in (("right class", right), ("all alike", common), ("two wrong", wrong)):
    found = abs(curvature(0.1, 10, direction))
    print(f"{name:12} {found:.4f}   bound of eq. 75: {bound:.4f}")

# %% [markdown]
# All logits may rise together without changing the softmax, so $H_z$ has an eigenvalue of
# zero. A network whose weights only moved its logits that way would have no curvature at
# all. Networks do better, and the conclusion may well be true; it does not follow from the
# proof.

# %% tags=["hide-input"]
#| name: fig-liu2026-04-why
#| caption: >
#|   (a) Slingshots per 1,000 epochs of collapse by learning rate, a dot per seed; a rate
#|   without dots was not run. (b) The lead of the correct logit at which a smoothed loss is
#|   smallest, by α and the number of classes. Dashed, where float32 begins to absorb.
#| alt: >
#|   Left: dots by learning rate on a logarithmic axis. Right: three falling curves of the gap
#|   against alpha. That of ten classes lies below the dashed line at 16.6 unless alpha is
#|   smaller than 1e-6; with 50,304 classes it crosses at 3e-3.
#| fold: "Code: draw the rates and the gaps"
figure, (dots, leads) = plots.panels(2, height=3.3)
for eta in rates:
    values = proneness(eta)
    dots.plot([eta] * len(values), values, "o", color=colors[eta], ms=8, alpha=0.8)
dots.set(xscale="log", xlim=(4e-6, 2.5e-2), xlabel="learning rate η")
dots.set_xticks(RATES, [NAMES[eta] for eta in RATES])
dots.set_ylabel("slingshots per 1,000 epochs\nof collapse")
dots.set_ylim(-0.05, max(1, 1.15 * dots.dataLim.ymax))
alphas = np.geomspace(1e-8, 0.5, 200)
names = (10, plots.BLUE), (97, plots.ORANGE), (50_304, plots.PURPLE)
for classes, color in names:
    values = [gap(alpha, classes) for alpha in alphas]
    leads.plot(alphas, values, color=color, label=f"K = {classes:,}")
leads.axhline(24 * math.log(2), color=plots.GREY, ls="--", lw=1)
leads.set(xscale="log", xlabel="smoothing α", ylabel="gap at the optimum", ylim=(0, 32))
leads.legend(loc="upper right")
plots.letter([dots, leads], ["learning rates", "label smoothing"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot goes from a loss of at most 0.001 to one of at least 0.1, with at least 40 % of
# the samples collapsed at the look before. Proneness is their number per 1,000 epochs from
# the first look with 90 % collapsed; without such a look it is 0. A jump under smoothing is
# ten times the quiet level, above the smallest possible loss. The paper gives no numbers:
# these bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's, and the arms"
records = {run.record.path: run.record for run in runs.values()}
said = {
    "dataset.train_samples": "not stated",
    "model": "not stated",
    "optimizer.lr": "0.01, 0.001, 0.0001, 0.00001 (a); 0.001 (b)",
    "loss.smoothing": "not stated",
}
for found in records.values():
    display(tables.settings(found, paper=liu2026.TABLE3 | said))
    display(tables.arms(found))

# %% [markdown]
# There is no official code. What had to be inferred:
#
# 1. *Network and data*: the MLP of Table 3 on 200 images, as in
#    [Figure 1](fig01_precision.ipynb). The paper does not say which it used.
# 2. *α* is not stated. Ours is 0.1 in the paper's convention, all of it on wrong classes.
#    PyTorch spreads its argument over all classes, so it is given $0.1 \cdot 10 / 9$.
# 3. *Epochs.* The smallest learning rate has 50,000 instead of 10,000, as it needs longer to
#    get to zero loss. Rates per 1,000 epochs make it comparable.
# 4. *Excess loss.* The traces keep four digits. Near the smallest loss they resolve an
#    excess of about 0.0001, below the 0.001 that counts as quiet.
# 5. *Curvature* was not measured with smoothing, nor at other learning rates, so two claims
#    about it are not run. Without smoothing it is in [Figure 6](fig06_two_instabilities.ipynb).
# 6. *Weight decay* is in no run of this chapter, as in the paper. Its bound is tested on one
#    weight.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
base = runs[1e-3]
norm = base.largest("head_norm")
entries = CLASSES * base.settings.model.options["widths"][-1]
def pause(eta):
    """Median epochs from one slingshot to the next."""
    waits = {s: Series(on, dtype=float).diff().median() for s, on in late[eta].items()}
    return Series(waits, dtype=float)


fast, lost = runs.get(1e-2), ""
if fast:
    final = Series({s: max(on, default=0) for s, on in late[1e-2].items()}, dtype=float)
    ends = fast.last("train_loss")
    lost = f"""
**Fewer, or over?** At η = 0.01 the last slingshot comes at epoch {told(final)}. After it the
network never fits again: its loss ends at {told(ends, "{:.2f}")}, and guessing has
{math.log(CLASSES):.2f}. Until then one came every {told(pause(1e-2))} epochs, at 0.001 every
{told(pause(1e-3))}. So the row above, whose definition was fixed before the runs, counts epochs of a
network that can have no slingshot. Between 0.001 and 0.0001 there is hardly a difference
(n = {len(final)}).
"""
tables.prose(f"""{lost}
**No noise in a full batch.** The paper explains the order of learning rates by noise: "Large
step sizes introduce stochastic noise". Its runs, and ours, take all samples in every step,
so there is none. What a smaller η does change is the step at a gradient that comes back. It
is proportional to η, and so are all steps by which the network recovers.

**What would be equal?** A tenth of the learning rate needs up to ten times the epochs for
the same path. Counted per epoch, spikes would be ten times rarer if only the clock changed.
More spikes per epoch at a smaller rate would be a strong effect; equally many is still a
puzzle for an explanation by step size.

**Weight decay.** A bound of 1/λ on every weight is true, and loose. With λ = 0.1 it allows
each of the {entries:,} weights of the {{term}}`head` a size of 10, a norm of
{10 * math.sqrt(entries):,.0f} in all. Without any decay ours grows to {told(norm, "{:.1f}")}
while samples collapse. So the bound is no reason why {{term}}`margins <margin>` should stay
below 16. {{term}}`Weight decay` may keep them small, but by its pull against the gradient.

**The counter-example** concerns the proof, not what networks do. Whether smoothed runs spike
at the {{term}}`edge of stability` would need their {{term}}`preconditioned sharpness`.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-04-alpha
# How small must $\alpha$ be for the optimum of the smoothed loss to lie where float32
# absorbs, with 10, 97 and 50,304 classes?
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
# The first competitor alone would be absorbed there. All wrong classes together sum to more,
# so the collapse of a language model's samples takes a smaller $\alpha$ still.
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
# H = theory.logit_hessian(theory.smoothed_target(0.1, 10))
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
# How large is Adam's first step at a gradient that comes back after a long silence, at each
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

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(*records.values())
