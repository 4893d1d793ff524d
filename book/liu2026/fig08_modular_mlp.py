# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 8]{.kicker} A small MLP on modular division spikes twice in 40,000 steps, about as far apart as Adam's memory reaches

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch

from grokbook import claims, evidence, optimizers, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
record = evidence.record(
    "liu2026/fig08", scale=scale, retrain=retrain, device=device, arms=["float32"]
)
base = Run(record, "float32", "float32", plots.COLOUR["float32"])
exact = Run(record, "float64 loss", "float64 loss", plots.COLOUR["float64 loss"])
causes = [
    Run(record, name, name, plots.COLOUR[name])
    for name in ("projection", "W_G subtracted", "repair", "simulated collapse")
]
projection, subtracted, repair, simulated = causes
whole = Run(record, "full batch", "full batch", plots.BLUE)  # at paper scale alone
settings = base.settings
in_batches = settings.batch_size is not None
classes = settings.model.options["classes"]
THEIRS = {  # another replication's numbers: in float32, with a float64 loss
    "first burst (step)": ("17,500", "never"),
    "norm of the mean feature": ("564 to 660", "83"),
    "norm of the mean classifier": ("1.9", "0.14"),
    "cosine of the two": ("−0.92 to −0.96", "+0.03"),
}


counts = {run: evidence.slingshots(run) for run in (base, exact, *causes, whole)}
others = evidence.counted(evidence.bursts(base, late=False))
first = evidence.earliest(evidence.bursts(base, late=True))


def seen(run, value=evidence.slingshots):
    return told(value(run)) if run.seeds else "not run"


sheet = claims.Sheet("liu2026/fig08")
sheet.claim(
    base,
    "float32: at least one slingshot",
    "Slingshot in MLP on modular division.",
    counts[base],
    where="Figure 8, caption",
    at_least=1,
    main=True,
)
for name, (run, value) in evidence.outcomes(base, exact, projection).items():
    sheet.claim(run, value=value, **liu2026.CLAIMS[name])
BATCHES = (
    "Mini-batch stochasticity makes it unlikely that all samples fall below the Softmax "
    "Collapse threshold at the same time, except in highly structured and nearly "
    "noiseless tasks such as modular arithmetic."
)
if in_batches:
    sheet.claim(
        base,
        "float32, in batches of 512: at some log at least 90 % of the samples are "
        "collapsed (largest)",
        BATCHES,
        base.largest("collapsed"),
        where="Appendix B.3",
        at_least=0.9,
        show="{:.1%}",
    )
    sheet.claim(
        whole,
        "float32, in full batches: at least one slingshot",
        "So far, we have mainly studied the full-batch setting.",
        counts[whole],
        where="Appendix B.3",
        at_least=1,
    )
else:
    words = (
        "in batches of 512, as Table 2 has it: at least 90 % of the samples collapse"
    )
    sheet.not_run(words, BATCHES, where="Appendix B.3")
for run in (exact, *causes):
    sheet.extra(run, f"{run.label}: slingshots", counts[run])
words = "float32: other bursts, with less than 40 % collapsed before"
sheet.extra(base, words, others)
sheet.extra(base, "float32: first slingshot (step)", first)
for run in (projection, repair):
    words = f"{run.label}: shows inflation (1) or not (0)"
    sheet.extra(run, words, evidence.inflated(run))
margin = base.last("mean_margin")
sheet.extra(base, "float32: mean margin at the end", margin, show="{:.1f}")
for run in (base, exact):
    words = f"{run.label}: test accuracy at the end"
    sheet.extra(run, words, run.last("test_accuracy"), show="{:.1%}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-08
#| caption: >
#|   An MLP that divides modulo a prime, with the loss in float32 and in float64. (a) Training
#|   loss of the first seed, every step. (b) Norm of the mean feature; dotted lines are
#|   bursts of that seed. (c) Its cosine with the mean classifier. In (b, c) seeds are
#|   thin, their median thick.
#| alt: >
#|   Three panels against step: training losses on a logarithmic axis from 1e-12 to 1,000, the
#|   norm of the mean feature, which grows to hundreds in the first thousand steps, and the
#|   cosine between mean classifier and mean feature.
#| fold: "Code: draw the figure"
figure, (loss, size, angle) = plots.panels(3, height=3.5)
for run in (base, exact):
    plots.trace(loss, run, lw=0.8, floor=1e-12)
    plots.curve(size, run, "feature_mean_norm")
    plots.curve(angle, run, "mean_cosine")
    if run.seeds:
        plots.mark(size, evidence.bursts(run)[run.seeds[0]], color=run.color)
loss.set(xlabel="step", ylim=(5e-13, 3e3))
size.set(xlabel="step", ylabel="norm of the mean feature", yscale="log")
angle.set(xlabel="step", ylabel="cos(W_G, μ_G)", ylim=(-1.03, 1.03))
figure.legend(*size.get_legend_handles_labels(), loc="outside lower center", ncols=2)
for panel in (loss, size, angle):
    plots.thousands(panel)
plots.letter([loss, size, angle], ["training loss", "mean feature", "cosine"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
fitted, end = evidence.fitted(base, accuracy=1.0), settings.epochs
early = base.at("feature_mean_norm", 1000) / base.last("feature_mean_norm")
tried = "; ".join(f"{run.label}: {seen(run)}" for run in causes)
seed = base.seeds[0]
all_of = evidence.bursts(base)[seed]
each = [f"{t:,} ({base.at('collapsed', t)[seed]:.0%} collapsed before)" for t in all_of]
listed = ", ".join(each).replace("%", "\N{NO-BREAK SPACE}%") or "none"
control = ""
if exact.seeds:
    control = f"""
* **With the loss in float64** there are {seen(exact)} slingshots. The {{term}}`mean feature`
  ends at {told(exact.last("feature_mean_norm"))} there and at
  {told(base.last("feature_mean_norm"))} in float32."""
tables.prose(f"""
* **Bursts** of the loss in {end:,} steps of float32, seed {seed}: {listed}.
* **Slingshots** are those with at least 40 % of the samples in {{term}}`softmax collapse` at
  the log before. Their number is {seen(base)}, that of other bursts
  {told(others)} (n = {len(base.seeds)}).
* **Long quiet.** All training rows are right by step {told(fitted)}. The first log with half
  of the samples collapsed is that of step {told(evidence.settled(base))}.{control}
* **Most of the mean feature is early.** By step 1,000 its norm is
  {told(early, "{:.0%}")} of that at the end. The cosine with the {{term}}`mean classifier`
  ends at {told(base.last("mean_cosine"), "{:.2f}")}.
* **Interventions**, and their slingshots: {tried}.
* **Test accuracy** ends at {told(base.last("test_accuracy"), "{:.1%}")}.
""")

# %% [markdown]
# ## The idea
#
# Adam divides by $\sqrt{v}$, the root of a running mean of squared gradients. After a spike
# with gradients of size $G$ the root falls by itself, however quiet training is:
#
# $$
# \sqrt{v_t} = \beta_2^{t/2}\, \sqrt{v_0}
# \quad\Longrightarrow\quad
# t(G \to \varepsilon) = \frac{2 \ln (G / \varepsilon)}{-\ln \beta_2} .
# $$
#
# Steps become dangerously long only when $\sqrt{v}$ has come down to Adam's $\varepsilon$ or
# to the gradients that are left. With $\beta_2 = 0.95$, as on CIFAR-10, that takes hundreds
# of steps; with Table 2's 0.999 it takes tens of thousands. This remark is ours:


# %%
def forgetting(before, after, beta2):
    """Steps without gradients in which Adam's root falls from before to after."""
    return 2 * math.log(before / after) / -math.log(beta2)


weight = torch.zeros(1, requires_grad=True)
adam = optimizers.AdamW([weight], betas=(0.9, 0.95))
for gradient in [1e-3] + [0.0] * round(forgetting(1e-3, 1e-8, 0.95)):
    weight.grad = torch.full_like(weight, gradient)
    adam.step()
root = float(adam.state[weight]["exp_avg_sq"].sqrt()) / math.sqrt(1 - 0.95)
assert abs(root / 1e-8 - 1) < 0.03
for beta2 in (0.95, 0.999):
    print(f"β2 = {beta2}: {forgetting(1e-3, 1e-8, beta2):,.0f} steps")

# %% tags=["hide-input"]
#| name: fig-liu2026-08-memory
#| caption: >
#|   How long Adam remembers a gradient, and how far it goes at each step. (a) Adam's root after one
#|   gradient of 0.001 and then silence, by β2; dashed, Adam's ε. (b) Mean update of the last
#|   layer's weights at every log; dashed, the update of a gradient that comes back after
#|   silence.
#| alt: >
#|   Left: on a logarithmic axis of steps, the root falls to 1e-8 after some hundred steps
#|   with a beta2 of 0.95 and after some ten thousand with 0.999. Right: mean updates of
#|   float32, of the float64 loss and, where it was run, of the repair, all below the dashed
#|   line.
#| fold: "Code: draw the memory and the updates"
figure, (root, update) = plots.panels(2, height=3.4)
steps = np.geomspace(1, settings.epochs, 200)
for beta2, color in ((0.95, plots.ORANGE), (0.999, plots.PURPLE)):
    root.plot(steps, 1e-3 * beta2 ** (steps / 2), color=color, label=f"β2 = {beta2:g}")
root.axhline(1e-8, color=plots.GREY, ls="--", lw=1)
root.set(xscale="log", yscale="log", ylim=(1e-11, 3e-3), xlabel="steps of silence")
root.set_ylabel("Adam's root")
root.legend(loc="lower left")
for run in (base, exact, repair):
    plots.curve(update, run, "head_update")
adam_options = settings.optimizer.options
jump = theory.jump(adam_options["lr"], adam_options["betas"])
update.axhline(jump, color=plots.GREY, ls="--", lw=1)
update.set(xlabel="step", ylabel="mean update, last layer", yscale="log")
update.set_ylim(1e-8, 1e-2)
update.legend(loc="upper right", bbox_to_anchor=(1, 0.86), handlelength=1.2)
plots.thousands(update)
plots.letter([root, update], ["memory", "updates"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a burst of the loss from below 0.001 to above 0.1, with at least 40 % of the
# samples collapsed at the log before it. The paper gives no numbers for this figure: these
# bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(record, paper=liu2026.STATED["fig08"])

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# There is no official code, and [Table 2](tab02_modular_settings.ipynb) lists what the
# paper leaves open. For this figure:
#
# 1. *Network.* One output for each token, 99 at the paper's scale and 33 on a laptop; initial
#    weights of PyTorch.
# 2. *Panels.* The paper's figure has two, whose content its text does not say. Ours are the
#    loss and the two means.
# 3. *Batches.* At the paper's scale they have 512 rows, and the loss of a step is that of its
#    batch. At laptop scale all rows are one batch.
# 4. *Seeds.* 42, as in the paper, and others as far as they have been trained.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
gap = all_of[1] - all_of[0] if len(all_of) > 1 else None
apart = f"{gap:,}" if gap else "more than we have trained"
tables.prose(f"""
**The waiting time fits Adam's memory.** From the first burst to the next, {apart} steps pass
(seed {seed}). That is one gap. From gradients of 0.001, a size that we chose, the formula above gives
{forgetting(1e-3, 1e-8, 0.999):,.0f} with Table 2's β2 and {forgetting(1e-3, 1e-8, 0.95):,.0f}
with that of CIFAR-10, where [Figure 1](fig01_precision.ipynb) has bursts every few hundred.

**The rule is a threshold.** {{term}}`Inflation <inflation>` takes samples out of the collapse
again, before the loss bursts. At most {told(base.largest("collapsed"), "{:.0%}")} are
collapsed at any log. A burst below 40 % counts as an oscillation, however much the mean
classifier has grown. The rule was fixed before the runs and stays.

**Someone else has seen one.** A public repository has run this task modulo 97, in full
batches and with two hidden layers ([`gongyisheng/pretrain`](https://github.com/gongyisheng/pretrain),
a folder that was removed later). Its one spike, of float32, comes at about step
{THEIRS["first burst (step)"][0]}. The table compares.

**A large mean feature is no sign of inflation.** Theirs is seven to eight times larger in float32
than with a loss in float64; ours is large with either. It has most of its size long before
anything collapses, from the unrest of the first steps. What tells {{term}}`inflation` is
change *after* a collapse, and so this book defines it.
""")

# %% tags=["hide-input"]
#| fold: "Code: our values beside those of the other replication"
COLUMNS = {
    "norm of the mean feature": ("feature_mean_norm", "{:,.0f}"),
    "norm of the mean classifier": ("head_mean_norm", "{:.2f}"),
    "cosine of the two": ("mean_cosine", "{:+.2f}"),
}
lines = []
for name, theirs in THEIRS.items():
    if name in COLUMNS:
        column, show = COLUMNS[name]
        ours = [
            told(r.last(column), show) if r.seeds else "not run" for r in (base, exact)
        ]
    else:
        ours = [
            seen(r, lambda run: evidence.earliest(evidence.bursts(run)))
            for r in (base, exact)
        ]
    lines.append([name, theirs[0], ours[0], theirs[1], ours[1]])
tables.grid(
    ["Quantity", "Theirs, float32", "Ours", "Theirs, float64 loss", "Ours"],
    lines,
    caption="At the end of training, theirs after 20,000 steps",
)

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-08-inputs
# The MLP reads four tokens, two of which are the same in every row. How many of its first
# weights ever get a gradient that depends on the row? What do the others amount to?
# ```
#
# ````{solution} ex-liu2026-08-inputs
# :class: dropdown
# The operator and the equals sign are one fixed input each, so their weights act as two
# more biases. Of 4 × 99 columns, 97 of $a$ and 96 of $b$ are ever used otherwise:
#
# ```python
# from grokbook import datasets
# data = datasets.modular(97, "divide", 0.5, equals=True, operator=True)
# print([len(column.unique()) for column in data.x_train.T])
# ```
#
# All other columns, more than half of them, keep their initial values for good.
# ````
#
# ```{exercise}
# :label: ex-liu2026-08-memory
# How many slingshots could there be in 100,000 steps at most, by the formula above, with
# gradients of 0.001 at each? And if $\beta_2$ were 0.98, as in {cite:t}`power2022`?
# ```
#
# ````{solution} ex-liu2026-08-memory
# :class: dropdown
# ```python
# import math
# for beta2 in (0.95, 0.98, 0.999):
#     wait = 2 * math.log(1e-3 / 1e-8) / -math.log(beta2)
#     print(f"β2 = {beta2}: every {wait:,.0f} steps, {100_000 / wait:.0f} at most")
# ```
#
# It is an estimate: a step can be too long before $\sqrt v$ is down to $\varepsilon$, and
# {term}`softmax collapse` has to be reached anew each time.
# ````
#
# ```{exercise}
# :label: ex-liu2026-08-sum
# The mean of all {term}`logits <logit>` of a sample is $W_G \cdot h$, plus the mean bias.
# What does it become once $\cos(W_G, \mu_G)$ is near $-1$, and does it change the loss?
# ```
#
# ````{solution} ex-liu2026-08-sum
# :class: dropdown
# It falls without bound, for all classes of a sample alike. The softmax does not see it:
#
# ```python
# import torch
# z = torch.randn(5, 10, dtype=torch.float64)
# assert torch.allclose(z.softmax(dim=1), (z - 300).softmax(dim=1))
# ```
#
# In float32 logits near $-300$ are 32 times coarser than logits near 10, which is
# still no more than 3e-5.
# ````

# %% [markdown]
# ## Run it yourself
#
# Division modulo 31 in full batches, width 128 and 10,000 steps, one seed:
#
# ```bash
# make page PAGE=liu2026/fig08 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
