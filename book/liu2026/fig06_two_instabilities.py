# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 6]{.kicker} A narrow network spikes early and late, and before both kinds of spike Adam's own sharpness climbs to its edge

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
from pandas import DataFrame

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
record = evidence.record("liu2026/fig06", arms=("float32", "float64 loss"), **page)
names = ("float32", "float64 loss", "float64")
runs = [Run(record, name, name, plots.COLOUR[name]) for name in names]
single, loss64, double = runs
RAW, ADAM = "sharpness", "preconditioned_sharpness"
chosen = single.settings.optimizer.options
eta, beta1 = chosen["lr"], chosen["betas"][0]
EDGE = (2 + 2 * beta1) / ((1 - beta1) * eta)  # 38 / eta
early, late = (
    {run: evidence.bursts(run, late=kind) if run.seeds else {} for run in runs}
    for kind in (False, True)
)


def before(run, column, found):
    """The last look before each spike: its seed, epochs ahead, value, rise in 100."""
    rows = []
    for seed, onsets in found.items():
        looks = run.series(column)[seed].dropna()
        for onset in onsets:
            seen = looks.loc[: onset - 1]
            if len(seen) > 1:
                rise = (seen.iloc[-1] / seen.iloc[-2]) ** (100 / np.diff(seen.index)[-1])
                rows.append((seed, onset - seen.index[-1], seen.iloc[-1], rise))
    return DataFrame(rows, columns=["seed", "ahead", "value", "rise"])


def largest(table):
    return table.groupby("seed", sort=False)["value"].max()


def tell(values, show="{:,.0f}"):
    """As `told`; a run that is too short has no spikes to look before."""
    return told(values, show) if len(values) else "no value"


def both(run):
    """The smaller of the numbers of early and of late spikes."""
    counts = [evidence.counted(kind[run]) for kind in (early, late)]
    return np.minimum(*evidence.paired(*counts))


kinds = (("late", late), ("early", early))
near = {kind: before(single, ADAM, found[single]) for kind, found in kinds}
flat = before(single, RAW, late[single])
top = single.largest(RAW, until=1000)
vanished, top_late = evidence.paired(largest(flat), top)
HERE, CURVED = "Appendix B.4.3", "Appendix B.4.1"
sheet = claims.Sheet("liu2026/fig06")
sheet.claim(
    double,
    "all in float64: no late spike in 10,000 epochs (spikes)",
    "when trained in float64, the late-stage spikes (Slingshots) disappear",
    evidence.counted(late[double]),
    where=HERE,
    at_most=0,
    main=True,
)
sheet.claim(
    loss64,
    "loss in float64: no late spike in 10,000 epochs (spikes)",
    "casting the output logits to float64 solely during the loss computation is sufficient "
    "to eliminate the Slingshot effect",
    evidence.counted(late[loss64]),
    where="Section 2",
    at_most=0,
)
sheet.claim(
    single,
    "float32: at least one early and one late spike in the same run (the smaller number)",
    "the model trained in float32 exhibits loss spikes in both the early and late stages "
    "of training",
    both(single),
    where=HERE,
    at_least=1,
)
sheet.claim(
    double,
    "all in float64: at least one early spike (spikes)",
    "the early-stage oscillations—occurring while λmax is still finite and large—persist",
    evidence.counted(early[double]),
    where=HERE,
    at_least=1,
)
sheet.claim(
    single,
    "float32: the sharpness before each late spike is at most a thousandth of its largest "
    "in the first 1,000 epochs (largest share)",
    "progressive sharpening required for EOS does not occur in the late stages of "
    "training. Instead, λmax tends toward zero.",
    vanished / top_late,
    where=CURVED,
    at_most=1e-3,
    show="{:.1e}",
)
sheet.claim(
    single,
    f"float32: Adam's sharpness stays below 38/η = {EDGE:,.0f} at the last look before each "
    "late spike (largest)",
    "implying that the instability does not arise from the curvature of the loss landscape",
    largest(near["late"]),
    where=CURVED,
    at_most=EDGE,
)
sheet.claim(
    single,
    "float32: Adam's sharpness is within a factor 2 of 38/η at a last look before an early "
    "spike (largest)",
    "the early instability is genuine EOS",
    largest(near["early"]),
    where=HERE,
    at_least=EDGE / 2,
)
for run in runs:
    for kind, found in (("early", early), ("late", late)):
        sheet.extra(run, f"{run.label}: {kind} spikes", evidence.counted(found[run]))
for run in (single, loss64):
    words = f"{run.label}: Adam's sharpness at the end over 38/η"
    sheet.extra(run, words, run.last(ADAM) / EDGE, show="{:.4f}")
rises = near["late"].groupby("seed", sort=False)["rise"].median()
sheet.extra(
    single,
    "float32: Adam's sharpness grows in the 100 epochs to the last look before a late "
    "spike (times, median)",
    rises,
    show="{:.1f}",
)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-06
#| caption: >
#|   Two seeds. Left: in float32 an early spike (dotted) and then late ones; a loss in
#|   float64 keeps the early kind alone. Right: the first seed oscillates until late, in
#|   float64 too. Bottom: the sharpness falls by many orders of magnitude between spikes.
#|   Losses below 1e-9 are drawn there.
#| alt: >
#|   Six panels against epoch. Left: the float32 loss spikes every 600 epochs to the end,
#|   the float64 one does not after the start. Right: both spike all the time. Below, the
#|   sharpness falls from thousands to less than one, with peaks at the spikes.
#| fold: "Code: draw the figure"
def as_in_the_paper(seed):
    """Early and late spikes in float32, and none late in float64."""
    return early[single][seed] and late[single][seed] and not late[loss64][seed]


shared = [seed for seed in single.seeds if seed in loss64.seeds]
picked = next(filter(as_in_the_paper, shared), shared[-1])
figure, axes = plots.panels(2, rows=3, height=1.9, sharex=True, sharey="row")
for column, seed in enumerate((picked, shared[0])):
    for row, run in enumerate((single, loss64)):
        panel = axes[2 * row + column]
        plots.trace(panel, run, seed=seed)
        plots.mark(panel, early[run][seed], color=plots.BLACK)
        panel.set(xlabel="", ylim=(5e-10, 3e3), yticks=[1e-8, 1e-4, 1])
        panel.set_ylabel("" if column else "training loss")
        looks = run.series(RAW)[seed].dropna()
        axes[4 + column].plot(looks, color=run.color, label=run.label, lw=1.3)
    axes[4 + column].set(yscale="log", xlabel="epoch")
    plots.thousands(axes[4 + column])
axes[4].set_ylabel("sharpness")
axes[5].legend(loc="lower left")
titles = [f"{run.label}, seed {s}" for run in (single, loss64) for s in (picked, shared[0])]
plots.letter(axes, [*titles, f"sharpness, seed {picked}", f"sharpness, seed {shared[0]}"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
still = [seed for seed in shared if late[loss64][seed]]
which = f" ({', '.join(map(str, still))})" if still else ""
tables.prose(f"""
* **Float32** has {told(evidence.counted(early[single]))} early and
  {told(evidence.counted(late[single]))} late spikes in 10,000 epochs (median and range,
  n = {len(single.seeds)}). *Late* are those within 100 epochs of a look at which 40 % of the
  samples are {{term}}`collapsed <softmax collapse>`, as float32 has it.
* **A loss in float64** has no late spikes in {len(shared) - len(still)} of {len(shared)}
  seeds. Where it has{which}, the run still oscillates at the {{term}}`edge of stability`
  when 40 % of its samples have a {{term}}`margin` that float32 would absorb. Such spikes
  need no collapse.
* **The {{term}}`sharpness`** before the late spikes is at most
  {tell(largest(flat), "{:.2g}")}, against {told(top, "{:,.0f}")} early on. So far this is
  the paper's picture.
* **Adam's sharpness**, the {{term}}`preconditioned sharpness` drawn further down, is not:
  before the late spikes it reaches up to {tell(largest(near["late"]))}, and its edge lies
  at {EDGE:,.0f}.
""")

# %% [markdown]
# ## The idea
#
# Gradient descent is stable along a direction while the curvature there is below $2/\eta$.
# Adam divides each gradient by $\sqrt{\hat v} + \varepsilon$, so what counts is the
# {term}`preconditioned sharpness`, here *Adam's sharpness*, and its momentum widens the
# range. With frozen $\hat v$, and $\lambda$ the curvature in Adam's units, a step reads
#
# $$
# m \leftarrow \beta_1 m + (1 - \beta_1)\, \lambda x, \qquad x \leftarrow x - \eta\, m .
# $$
#
# Eliminating $m$, $x_{t+1} = (1 + \beta_1 - \eta (1 - \beta_1) \lambda)\, x_t - \beta_1 x_{t-1}$.
# It becomes unstable when a root of its polynomial passes $-1$:
# $1 + (1 + \beta_1 - \eta (1 - \beta_1) \lambda) + \beta_1 = 0$, or
#
# $$
# \lambda = \frac{2 + 2 \beta_1}{(1 - \beta_1)\, \eta} = \frac{38}{\eta} = 38{,}000
# \quad \text{for } \beta_1 = 0.9,\ \eta = 10^{-3}.
# $$

# %%
def after(curvature, steps=2000):
    """How far off x is after so many steps of Adam with a frozen denominator."""
    x, m = 1.0, 0.0
    for _ in range(steps):
        m = beta1 * m + (1 - beta1) * curvature * x
        x = x - eta * m
    return abs(x)


assert after(0.99 * EDGE) < 1e-3 < 1e3 < after(1.01 * EDGE)
print(f"edge {EDGE:,.0f}: 1 % below {after(0.99 * EDGE):.0e}, above {after(1.01 * EDGE):.0e}")

# %% [markdown]
# Now let a {term}`softmax collapse` take the gradients away. Then $v$ shrinks by $\beta_2 =
# 0.95$ in every step. In 100 steps without gradients $\sqrt v$ falls 13-fold, and Adam's
# sharpness may rise as much while the sharpness itself stays tiny.

# %% tags=["hide-input"]
#| name: fig-liu2026-06-edge
#| caption: >
#|   Adam's sharpness reaches 38/η (dashed) before late spikes as before early ones. (a) One
#|   seed in float32 and with the loss in float64; dotted, late spikes of float32. (b) All
#|   seeds in float32: the last look before each spike, by how many epochs it is ahead.
#| alt: >
#|   Left: in float32 Adam's sharpness falls to about 20 after each spike and climbs to
#|   tens of thousands before the next; with a float64 loss it falls for good. Right: early
#|   and late spikes lie on one rising band that meets the dashed line at zero epochs.
#| fold: "Code: draw Adam's sharpness"
figure, (path, approach) = plots.panels(2, height=3.4, sharey=True)
for run in (single, loss64):
    looks = run.series(ADAM)[picked].dropna()
    path.plot(looks, color=run.color, lw=1.2, label=run.label)
plots.mark(path, late[single][picked], color=plots.GREY)
for name, marker, color in (("late", "o", plots.RED), ("early", "s", plots.BLACK)):
    found = near[name]
    style = {"ls": "", "marker": marker, "ms": 5, "color": color}
    if name == "early":
        style |= {"mfc": "white"}
    approach.plot(-found["ahead"], found["value"], label=f"{name} spikes", **style)
for panel in (path, approach):
    panel.axhline(EDGE, color=plots.BLACK, ls="--", lw=1.2)
path.set(yscale="log", xlabel="epoch", ylabel="Adam's sharpness", ylim=(1, 2e7))
approach.set(xlabel="epochs to the spike", xlim=(-104, 3))
approach.text(-102, 1.25 * EDGE, "38/η")
plots.thousands(path)
path.legend(loc="upper right", ncols=2, frameon=True, framealpha=1, edgecolor="white")
approach.legend(loc="lower right")
plots.letter([path, approach], [f"seed {picked}", "before the spikes, float32"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001; those
# fewer than 60 steps apart are one. The paper gives no numbers. The bounds are ours, fixed
# before the runs; curvature is looked at every 100 epochs, in float64.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
said = liu2026.TABLE3 | {"dataset.train_samples": "not stated", "model.widths": "d = 20"}
tables.settings(record, paper=said)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# There is no official code. What had to be inferred:
#
# 1. *Task and depth.* The paper says "narrow network (hidden dimension $d = 20$)". Ours is
#    the MLP of its Table 3 with that width: five hidden layers, biases everywhere.
# 2. *Training set.* 200 images, as in Thilak et al. 2022; the paper does not say.
# 3. *Float64.* "Trained in float64" is taken as all in float64; an arm has the loss alone.
# 4. *Curvature.* The paper plots the sharpness. Adam's is ours, as are the definitions of
#    early and late.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
def above(table):
    """How many last looks within 20 epochs of a spike lie above half the edge."""
    close = table[table["ahead"] <= 20]["value"]
    return f"{(close > EDGE / 2).sum()} of {len(close)}"


lenient = evidence.bursts(single, late=False, quiet=0.1, loud=0.3)
calm = [seed for seed in single.seeds if not early[single][seed]]
counts = [len(lenient[seed]) for seed in calm] or [0]
coarse = f"{min(counts)} to {max(counts)}" if max(counts) else "none"
tables.prose(f"""
**Coexistence** is there, though not in every seed: some have no early spike, and some
oscillate so long that early and late cannot be told apart by the state of the samples. A
single seed can show either. With the levels 0.1 and 0.3 instead of 0.001 and 0.1, the seeds
without an early spike have {coarse}. What the paper concludes from float64
needs the oscillating seeds left out; the [causal table](causes.ipynb) does that.

**"Not the edge of stability" is the weakest link of the paper's argument.** It compares
the sharpness with $2/\\eta$, which is the edge of gradient descent. The paper names the
right quantity, the preconditioned Hessian, and does not measure it. Within 20 epochs of a
late spike, {above(near["late"])} looks are above half of 38/η. Before early spikes it is
{above(near["early"])}. In the last 100 epochs before the look Adam's sharpness grew
{tell(rises, "{:.1f}")} times; the decay of $\\sqrt v$ allows 13 times by itself. A seed
whose looks all fell well ahead of its spikes counts for the paper in our table.

**Both can be true.** Precision decides whether gradients vanish: with an exact loss Adam's
sharpness ends at {told(loss64.last(ADAM))} (n = {len(loss64.seeds)}). Once they vanish,
the step that fails is an ordinary crossing of Adam's edge, as Bai et al. describe it for
other losses. So the late spike is a numerical artefact in its cause and an edge of
stability in its last hundred steps. These looks are every 100 epochs: that the crossing
comes first is seen where a look happened to fall close, not in every spike.
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
# 294 steps for 0.95 is the shortest possible. The measured spikes are about 600 apart,
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
# [Figure 3](fig03_mitigations.ipynb) varies $\varepsilon$: with $10^{-5}$ no spikes are left.
# ```

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000) and three seeds, in about five minutes on one core:
#
# ```bash
# make page PAGE=liu2026/fig06 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
