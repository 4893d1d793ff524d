# %% [markdown]
# # [Liu et al. 2026 · Figure 6]{.kicker} Float64 ends the late loss spikes of a narrow MLP in nearly every run

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
from pandas import DataFrame, Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

plots.use_style()
page = evidence.Page("liu2026/fig06", scale, retrain, device)
record, dense = (
    page.record(arms=("float32", "float64 loss")),
    page.record("fig06near", arms=("float32",)),
)
runs = single, loss64, double = [
    Run(record, name, name, plots.COLOUR[name])
    for name in ("float32", "float64 loss", "float64")
]
near = Run(dense, "float32", "float32, every step", plots.COLOUR["float32"])
intact = page.record("exact20")
broken, broken_subtracted = [
    Run(intact, name, name, plots.GREY)
    for name in (
        "sum broken, correct exact",
        "sum broken, correct exact, W_G subtracted",
    )
]
measured = page.record("curvature20")
projection, unbalanced = [
    Run(measured, name, name, plots.GREY) for name in ("projection", "sum broken")
]
LOSS, RAW, ADAM = "train_loss", "sharpness", "preconditioned_sharpness"
chosen = single.settings.optimizer.options
eta, beta1 = chosen["lr"], chosen["betas"][0]
EDGE = (2 + 2 * beta1) / ((1 - beta1) * eta)  # 38 / eta
STEPS = 50  # of the windows, ahead of the spike
early, late = (
    {run: instability.bursts(run, late=kind) for run in runs} for kind in (False, True)
)
few, many = (
    {run: instability.counted(found[run]) for run in runs} for found in (early, late)
)


def in_second_half(run):
    """Late spikes in the second half of training, by seed."""
    half = run.settings.epochs / 2
    every = instability.bursts(run, late=True)
    return instability.counted(
        {s: [e for e in on if e >= half] for s, on in every.items()}
    )


def near_edge(run, position):
    """Adam's sharpness over its edge before one late spike of every seed.

    The largest of the last three measurements before it; ``position``: 0 for the first
    late spike, -1 for the last one.
    """
    sharpness = run.series(ADAM)
    onsets = instability.bursts(run, late=True)
    found = {
        seed: sharpness[seed].dropna().loc[: on[position] - 1].tail(3).max() / EDGE
        for seed, on in onsets.items()
        if on
    }
    return Series(found, dtype=float)


def approach(rows):
    """What is ``MEASURED`` in the steps around one spike; row 0 has the first loss of 0.1 or more.

    ``lead``: steps from the crossing to the onset; ``calm`` and ``raw``: Adam's and the plain sharpness at
    the last step whose loss is at most twice its median of rows -50 to -11; ``loss``: that of the crossing
    over this median; ``above``: steps up to then with Adam's sharpness above its edge.
    """
    ahead = rows.loc[:-1]
    typical = ahead.loc[-STEPS:-11, LOSS].median()
    calm = ahead[ahead[LOSS] <= 2 * typical].iloc[-1]
    under = ahead[ahead[ADAM] <= EDGE].index.max()
    so_far, crossing = ahead.loc[:under, ADAM] / EDGE, rows.at[under + 1, LOSS]
    return -1 - under, calm[ADAM], calm[RAW], crossing / typical, (so_far > 1).sum()


stretch = {
    s: rows.loc[-110:70]
    for s, rows in instability.windows(near, ADAM).items()
    if len(rows.loc[-110:-STEPS])
}
MEASURED = ("lead", "calm", "raw", "loss", "above")
every = DataFrame.from_dict(
    {s: approach(rows) for s, rows in stretch.items()}, orient="index", columns=MEASURED
).astype(float)
slingshots = instability.bursts(near, late=True)
is_late = [seed for seed in stretch if stretch[seed].at[0, "epoch"] in slingshots[seed]]
steps, others = every.loc[is_late], every.drop(is_late)
flat = instability.before(single, RAW, late[single], pick=max)
top = single.largest(RAW, until=1000)
settled = (loss64.largest(ADAM, since=instability.settled(loss64)) / EDGE).dropna()
found = {
    "float64": (double, many[double]),
    "float64-loss": (loss64, many[loss64]),
    "coexist": (
        single,
        evidence.joined({"early": few[single], "late": many[single]}).min(axis=1),
    ),
    "float64-early": (double, few[double]),
    "sharpness": (single, np.divide(*evidence.paired(flat, top))),
    "adam-below-edge": (near, steps["calm"]),
    "early-at-edge": (
        single,
        instability.before(single, ADAM, early[single], pick=max),
    ),
    "early": {run.label: (run, few[run]) for run in (single, loss64)},
    "late": (single, many[single]),
    "lead": (near, steps["lead"]),
    "exact-narrow": (broken, in_second_half(broken)),
    "curvature-projection": (projection, near_edge(projection, -1)),
    "curvature-broken": (unbalanced, near_edge(unbalanced, 0)),
}
sheet = claims.read(page.name, found, edge=EDGE)
usual = evidence.words(claims.median(many[single]))
sheet.box(
    "The paper says that a network can have two kinds of loss spikes. Early ones come when "
    "steps are too long for the curvature of the loss. Late ones come from rounding, and "
    "disappear in float64.\n\nWe test this on the late ones, in an MLP of width 20. In float32 "
    f"it has a median of {usual} late spikes. Trained wholly in float64, "
    f"{(many[double] == 0).sum()} of {len(double.seeds)} runs have 0, so that the sentence "
    f"holds in nearly every run. The remaining one has {many[double].max():.0f}: its loss "
    "oscillates until late in training, with any precision (not drawn). With the loss alone in float64 "
    f"{(many[loss64] == 0).sum()} of {len(loss64.seeds)} runs have 0."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-06
#| caption: >
#|   Float64 ends the late spikes of a narrow network in nearly every run. (a, b) Training loss
#|   of every step, one run each, with the same starting weights. Dotted: early spikes, which
#|   come with float64 too. A jump counts as a spike if it begins at a loss of 0.001 or less. It
#|   is a late one if, shortly before it, at least 40 % of the samples were collapsed, their loss
#|   rounded to zero in float32. Losses below 1e-9 lie on the lower edge. (c) Number of late
#|   spikes. Each dot is one run: all in float32, with the loss alone in float64, and all in
#|   float64.
#| alt: >
#|   Three panels. The float32 loss spikes every 600 epochs to the end. In float64 it spikes
#|   once or twice early and then only falls. The dots are at 6 to 15 in float32; with a float64 loss and in
#|   float64 nearly all are at 0.
#| fold: "Code: draw the figure"
shared = [seed for seed in single.seeds if seed in loss64.seeds]
still = [seed for seed in shared if late[loss64][seed]]
calm = [
    s
    for s in shared
    if early[single][s] and late[single][s] and s in double.seeds and s not in still
]
picked = [*calm, shared[-1]][0]
figure, (*panels, dots) = plots.panels(3, height=3.4)
for panel, run in zip(panels, (single, double), strict=True):
    plots.trace(panel, run, seed=picked, lw=0.9)
    plots.mark(panel, early[run].get(picked, []), color=plots.BLACK)
    panel.set(ylim=(5e-10, 3e3), yticks=[1e-8, 1e-4, 1])
    plots.thousands(panel)
panels[1].set(ylabel="")
for place, run in enumerate(runs):
    counts = many[run].sort_values().to_numpy()
    across = place + np.linspace(-0.3, 0.3, len(counts))
    dots.plot(across, counts, "o", color=run.color, ms=6)
    told_of = f"{(counts == 0).sum()} of {len(counts)}\nwith 0" if run != single else ""
    dots.text(place, 17.3, told_of, ha="center", va="center", fontsize=9.5)
dots.set_xticks(range(3), ["all in\nfloat32", "float64\nloss", "all in\nfloat64"])
dots.set(ylabel="late spikes in a run", xlim=(-0.6, 2.6), ylim=(-0.7, 19))
dots.set_yticks([0, 5, 10, 15])
plots.letter([*panels, dots], ["all in float32", "all in float64", "every run"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **In float32** spikes come back to the end of training. A spike is *late* if at least 40 % of the samples were
  {{term}}`collapsed <softmax collapse>` within the 100 epochs before it. Only some runs have early ones.
* **With the loss in float64** {len(shared) - len(still)} of {len(shared)} runs have no late spike. The others (seeds
  {" and ".join(map(str, still))}) keep oscillating at the {{term}}`edge of stability`, for which no collapse is needed.
* **The curvature of the loss**, its {{term}}`sharpness`, is thousands of times smaller before late spikes than early on, as
  the paper says. But the curvature that Adam feels, the {{term}}`preconditioned sharpness`, rises instead. It crosses
  Adam's limit {sheet.told("lead")} steps before a late spike, while the loss is still small (next figure).
""")

# %% [markdown]
# ## The idea
#
# Gradient descent is stable along a direction while the curvature there is below $2/\eta$.
# Adam divides each gradient by $\sqrt{\hat v} + \varepsilon$. So what matters is the
# {term}`preconditioned sharpness`, here *Adam's sharpness*. Momentum widens the stable range.
# With $\hat v$ frozen, and $\lambda$ the curvature in Adam's units, a step reads
#
# $$
# m \leftarrow \beta_1 m + (1 - \beta_1)\, \lambda x, \qquad x \leftarrow x - \eta\, m .
# $$
#
# Without $m$ this is $x_{t+1} = (1 + \beta_1 - \eta (1 - \beta_1) \lambda)\, x_t - \beta_1 x_{t-1}$.
# It becomes unstable when a root of its polynomial passes $-1$:
# $1 + (1 + \beta_1 - \eta (1 - \beta_1) \lambda) + \beta_1 = 0$, or
#
# $$
# \lambda = \frac{2 + 2 \beta_1}{(1 - \beta_1)\, \eta} = \frac{38}{\eta} = 38{,}000
# \quad \text{for } \beta_1 = 0.9,\ \eta = 10^{-3}.
# $$


# %%
def after(curvature, steps=2000):
    """Distance of x from the minimum after so many steps of Adam with a frozen denominator."""
    x, m = 1.0, 0.0
    for _ in range(steps):
        m = beta1 * m + (1 - beta1) * curvature * x
        x = x - eta * m
    return abs(x)


assert after(0.99 * EDGE) < 1e-3 < 1e3 < after(1.01 * EDGE)
print(
    f"edge {EDGE:,.0f}: 1 % below {after(0.99 * EDGE):.0e}, above {after(1.01 * EDGE):.0e}"
)

# %% [markdown]
# Now let a {term}`softmax collapse` take the gradients away. Then $v$ shrinks by $\beta_2 =
# 0.95$ in every step. In 100 steps without gradients $\sqrt v$ falls 13-fold. Adam's
# sharpness may rise as much, however small the sharpness itself is.

# %% tags=["hide-input"]
#| name: fig-liu2026-06-edge
#| caption: >
#|   Just before a late spike, the curvature that Adam feels crosses its limit. (a) to (c) Every
#|   step around one spike of three float32 runs. Adam's sharpness crosses 38/η (dashed) a few steps before the loss rises. The sharpness is then far below
#|   2/η (dashed). (c) is cut at both ends. (d) The whole run of one seed, every 100 epochs:
#|   with a loss in float64 Adam's sharpness falls for good. Dotted: late spikes of float32.
#| alt: >
#|   Losses near 1e-7 and sharpnesses near 0.1 to 1 stay flat until a few steps before the
#|   spike. Adam's sharpness runs along at about 30,000 for two seeds and climbs there for
#|   the third. All three leave through 38,000 some steps before. Over the run it falls with a float64
#|   loss; in float32 it comes back, and is near the edge at some measurements before a spike.
#| fold: "Code: draw Adam's sharpness"
figure, axes = plots.panels(2, rows=2, height=2.8)
names, inks = (
    {LOSS: "training loss", RAW: "sharpness", ADAM: "Adam's sharpness"},
    plots.shades(list(stretch)[:3]),
)
for panel, (column, name) in zip(axes, names.items(), strict=False):
    for (seed, color), ls in zip(inks.items(), ("--", "-", ":"), strict=False):
        panel.plot(
            stretch[seed].loc[-STEPS:10, column],
            color=color,
            ls=ls,
            lw=1.5,
            label=f"seed {seed}",
        )
    panel.set(yscale="log", xlabel="steps after the onset", ylabel=name)
axes[2].set_ylim(5e3, 2e6)
for run in (single, loss64):
    axes[3].plot(
        run.series(ADAM)[picked].dropna(),
        color=run.color,
        lw=1.2,
        label=f"{run.label} (d)",
    )
plots.mark(axes[3], late[single][picked], color=plots.GREY)
axes[3].set(yscale="log", xlabel="epoch", ylabel="Adam's sharpness")
plots.thousands(axes[3])
for panel, edge, name in (
    (axes[1], 2 / eta, "2/η"),
    (axes[2], EDGE, "38/η"),
    (axes[3], EDGE, "38/η"),
):
    panel.axhline(edge, color=plots.BLACK, ls="--", lw=1)
    panel.text(0.02, 1.25 * edge, name, transform=panel.get_yaxis_transform())
legend = [
    h + k
    for h, k in zip(
        *(axes[at].get_legend_handles_labels() for at in (0, 3)), strict=True
    )
]
figure.legend(
    *legend, loc="outside upper center", ncols=5, handlelength=1.6, columnspacing=1.2
)
plots.letter(
    axes,
    ("the loss", "its sharpness", "what Adam feels", f"the whole run, seed {picked}"),
)
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001. Spikes less
# than 60 steps apart count once. That step is the onset. The *crossing* is the first
# step from which Adam's sharpness stays above 38/η until the onset.
#
# A loss that already rises has a larger curvature for that reason alone. So we judge Adam's
# sharpness at the last quiet step: the loss is at most twice its median of the steps 50 to
# 11 before the onset. The paper gives no numbers. The bounds are ours, fixed before the runs.
# We chose that step with the measurements at hand; it favours the paper more than the last
# step before the onset would.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, dense)

# %% [markdown]
# ## What was run
#
# There is no official code. We had to infer:
#
# 1. *Task and depth.* The paper says "narrow network (hidden dimension $d = 20$)". Ours is
#    the MLP of its Table 3 with that width: five hidden layers, biases everywhere.
# 2. *Training set.* 200 images, as in Thilak et al. 2022; the paper does not say.
# 3. *Float64.* We read "trained in float64" as everything in float64. Other runs have the
#    loss alone in float64.
# 4. *Curvature.* The paper plots the sharpness. We add Adam's, and define early and
#    late. The Hessian is that of the float64 loss, at the weights and with the $v$
#    of the float32 training. We measure every 100 epochs, and at every step around one spike
#    of each seed (`fig06near`: the same training, observed more closely).
# 5. *Edge.* The paper's $\kappa(\beta_1, \beta_2)$ has no formula. We use the edge of a frozen
#    $v$ {cite:p}`cohen2022`, which does not depend on $\beta_2$.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
lenient = instability.bursts(single, late=False, quiet=0.1, loud=0.3)
coarse = [len(lenient[seed]) for seed in single.seeds if not early[single][seed]]
curvature, loss = single.series(ADAM), single.series(LOSS)
warned = (curvature > EDGE) & (loss.reindex(curvature.index) <= 1e-5)
# steps to the next spike from each look above the edge with a loss below 1e-5
looks = [
    (at, on)
    for seed, on in instability.bursts(single).items()
    for at in warned.index[warned[seed]]
]
signs = [min((s - at for s in on if s >= at), default=np.inf) for at, on in looks]
tables.prose(f"""
**Both kinds of spike exist, but not in every run.** Some runs have no early spike; with the lenient levels 0.1
and 0.3 those have {min(coarse)} to {max(coarse)}. Some oscillate so long that the state of the samples does not
separate early from late. So a single curve can show either. Our [interventions](causes.ipynb) leave the seeds out
that oscillate until late with a float64 loss.

**"Not the edge of stability" looks at the wrong curvature.** The paper writes that training runs "far below the
stability threshold $2/\\eta$". It does: the sharpness is {told(every["raw"], "{:.2f}")} just before the loss doubles, and the
threshold is {2 / eta:,.0f}. But this is the edge of gradient descent. For Adam, the paper says itself, "the stability
condition extends to the maximum eigenvalue of the *Preconditioned Hessian*". It does not show this value.

**We measured it at every step.** Just before the loss doubles, Adam's sharpness is {sheet.told("adam-below-edge")}. Where it
crosses its edge, the loss is {told(every["loss"], "{:.2f}")} times its usual value, so it has hardly begun to rise. In seed
{", ".join(map(str, others.index))} the spike counts as early, since too few samples have collapsed; there the crossing is
{told(others["lead"])} steps ahead.

**Without any loss of the correct gradient spikes go on as well.** When float32 rounds a loss to zero, the gradient of
the correct class is lost, and the gradients of all classes no longer add up to zero. In {len(broken.seeds)} runs of this
network we left the first whole and broke the sum alone. They have {sheet.told("exact-narrow")} late spikes in the
second half of training. With the mean classifier subtracted after each step, so that it cannot grow, they have
{told(in_second_half(broken_subtracted))}. So here a broken sum is enough, without a growing mean classifier. Its form matters: the broken sum of
[our interventions](causes.ipynb) leaves nine tenths of the correct gradient, and hardly spikes once the mean classifier is
subtracted.

**Do the other late spikes come at the edge as well?** We measured Adam's sharpness every 100 epochs in two more kinds of run.
With the {{term}}`zero-sum projection`, its largest value in the last three measurements before the last late spike is
{sheet.told("curvature-projection")} times the edge; at least half of it was registered, which {(near_edge(projection, -1) >= 0.5).sum()} of
{len(projection.seeds)} runs have. With the sum broken, before the first late spike, it is
{sheet.told("curvature-broken")} times the edge. We had registered that the second kind would stay below half of the edge, and
that fails in every run. A crossing within the last hundred epochs would not be seen, so these runs do not show
spikes far from the edge, and do not show that the edge is their cause.

**How sure is this?** A moment above the edge is not enough: earlier in the windows Adam's sharpness was above for
{told(every["above"])} steps of a run. In the whole runs, {len(signs)} measurements found it above the edge with a loss below
1e-5. The next spike came {told(Series(signs, dtype=float))} steps later. Such timing fits an edge, and timing alone proves no
cause. The float64 Hessian also counts samples whose gradients float32 loses, and the edge of a frozen $v$
need not be exact.

**Both explanations can be true.** Precision decides whether the gradients vanish, and $v$ with them. With a loss in
float64, Adam's sharpness stays at {told(settled, "{:.2f}")} times its edge or less after the collapse. We see no
late crossing there, but measurements 100 epochs apart can miss short ones. In float32 each of the {len(steps)} late spikes that
we measured follows a crossing of Adam's edge, as Bai et al. describe it for other losses. So its origin is numerical, and its last
steps look like any instability of Adam.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-06-edge
# Where is Adam's edge for $\beta_1 = 0$, and for $\beta_1 = 0.99$ with $\eta = 10^{-4}$?
# ```
#
# ````{solution} ex-liu2026-06-edge
# :class: dropdown
# ```python
# for beta1, eta in ((0.0, 1e-3), (0.9, 1e-3), (0.99, 1e-4)):
#     print(f"β1 {beta1}, η {eta:g}: {(2 + 2 * beta1) / ((1 - beta1) * eta):,.0f}")
# ```
#
# Without momentum it is $2/\eta$ again, but of the *preconditioned* Hessian.
# ````
#
# ```{exercise}
# :label: ex-liu2026-06-decay
# After a spike Adam's sharpness is about 20. If only $\sqrt v$ changes, how many steps
# without gradients take it to 38,000, for $\beta_2$ = 0.9, 0.95 and 0.999?
# ```
#
# ````{solution} ex-liu2026-06-decay
# :class: dropdown
# $\sqrt v$ falls by $\sqrt{\beta_2}$ a step:
#
# ```python
# import math
# for beta2 in (0.9, 0.95, 0.999):
#     steps = math.log(38_000 / 20) / (-0.5 * math.log(beta2))
#     print(f"β2 {beta2}: {steps:,.0f} steps")
# ```
#
# For 0.95, 294 steps are the shortest possible. The measured spikes are about 600 apart,
# since gradients do not vanish at once.
# ````
#
# ```{exercise}
# :label: ex-liu2026-06-eps
# Adam's $\varepsilon$ bounds its denominator from below. How large may the sharpness be
# without a spike if $\varepsilon = 10^{-5}$, and which figure tests that?
# ```
#
# ```{solution} ex-liu2026-06-eps
# :class: dropdown
# Adam's sharpness is at most the sharpness over $\varepsilon$. So it stays below 38,000
# while the sharpness is below 0.38. With $10^{-8}$ that bound is 0.00038.
# [Figure 3](fig03_mitigations.ipynb) varies $\varepsilon$, on the MLP of width 512.
# ```

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000) and three seeds, and the float32 runs once more for their
# windows, in about ten minutes on one core:
#
# ```bash
# make page PAGE=liu2026/fig06 SCALE=laptop
# ```
