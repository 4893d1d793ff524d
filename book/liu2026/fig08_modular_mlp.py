# %% [markdown]
# # [Liu et al. 2026 · Figure 8]{.kicker} A small MLP on modular division has one slingshot in 40,000 steps

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

plots.use_style()
page = evidence.Page("liu2026/fig08", scale, retrain, device)
record = page.record(arms=["float32"])
names = ("float32", "float64 loss", "projection", "W_G subtracted", "repair", "simulated collapse")
base, exact, *causes = (Run(record, name, name, plots.COLOUR[name]) for name in names)
projection, _, repair, _ = causes
end, MEAN = base.settings.epochs, "feature_mean_norm"
count = {run: evidence.slingshots(run) for run in (base, exact, *causes)}
bursts = {run: evidence.bursts(run) for run in (base, exact)}
found = evidence.outcomes(base, exact, projection) | {
    "spikes": (base, count[base]),
    "slingshots": {run.label: (run, count[run]) for run in (exact, *causes)},
    "other-bursts": (base, evidence.counted(evidence.bursts(base, late=False))),
    "first": (base, evidence.earliest(evidence.bursts(base, late=True))),
    "shows-inflation": {run.label: (run, evidence.inflated(run)) for run in (projection, repair)},
    "margin": (base, base.last("mean_margin")),
    "test-accuracy": {run.label: (run, run.last("test_accuracy")) for run in (base, exact)},
}
sheet = claims.read(page.name, found)
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
    plots.curve(size, run, MEAN)
    plots.curve(angle, run, "mean_cosine")
    plots.mark(size, bursts[run].get(base.seeds[0], []), color=run.color)
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
seed = base.seeds[0]
each = [
    f"{t:,} ({evidence.words(base.at('collapsed', t)[seed], '{:.0%}')} collapsed before)"
    for t in bursts[base][seed]
]
tables.prose(f"""
* **Bursts** of the loss in {end:,} steps of float32, seed {seed}: {", ".join(each)}.
* **Slingshots** are those with at least 40 % of the samples in {{term}}`softmax collapse` at
  the log before. Their number is {sheet.told("spikes")}, that of other bursts
  {sheet.told("other-bursts")} (n = {len(base.seeds)}).
* **Long quiet.** All training rows are right by step {told(base.fitted(accuracy=1.0))}. The first log with half
  of the samples collapsed is that of step {told(evidence.settled(base))}.
* **With the loss in float64** there are {told(count[exact])} slingshots. The {{term}}`mean feature`
  ends at {told(exact.last(MEAN))} there and at {told(base.last(MEAN))} in float32.
* **Most of the mean feature is early.** By step 1,000 its norm is
  {told(base.at(MEAN, 1000) / base.last(MEAN), "{:.0%}")} of that at the end. The cosine with the {{term}}`mean classifier`
  ends at {told(base.last("mean_cosine"), "{:.2f}")}.
* **Interventions**, and their slingshots: {"; ".join(f"{run.label}: {told(count[run])}" for run in causes)}.
* **Test accuracy** ends at {sheet.told("test-accuracy float32")}.
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
steps = np.geomspace(1, end, 200)
for beta2, color in ((0.95, plots.ORANGE), (0.999, plots.PURPLE)):
    root.plot(steps, 1e-3 * beta2 ** (steps / 2), color=color, label=f"β2 = {beta2:g}")
root.axhline(1e-8, color=plots.GREY, ls="--", lw=1)
root.set(xscale="log", yscale="log", ylim=(1e-11, 3e-3), xlabel="steps of silence")
root.set_ylabel("Adam's root")
root.legend(loc="lower left")
for run in (base, exact, repair):
    plots.curve(update, run, "head_update")
adam_options = base.settings.optimizer.options
update.axhline(theory.jump(adam_options["lr"], adam_options["betas"]), color=plots.GREY, ls="--", lw=1)
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
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
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
tables.prose(f"""
**The waiting time fits Adam's memory.** From the first burst to the next, {told(evidence.waits(bursts[base]))} steps pass
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
17,500. The table compares.

**A large mean feature is no sign of inflation.** Theirs is seven to eight times larger in float32
than with a loss in float64; ours is large with either. It has most of its size long before
anything collapses, from the unrest of the first steps. What tells {{term}}`inflation` is
change *after* a collapse, and so this book defines it.
""")

# %% tags=["hide-input"]
#| fold: "Code: our values beside those of the other replication"
quantities = {  # their numbers in float32 and with a float64 loss; ours
    "first burst (step)": ("17,500", "never", lambda run: evidence.earliest(bursts[run]), "{:,.0f}"),
    "norm of the mean feature": ("564 to 660", "83", lambda run: run.last(MEAN), "{:,.0f}"),
    "norm of the mean classifier": ("1.9", "0.14", lambda run: run.last("head_mean_norm"), "{:.2f}"),
    "cosine of the two": ("−0.92 to −0.96", "+0.03", lambda run: run.last("mean_cosine"), "{:+.2f}"),
}
tables.grid(
    ["Quantity", "Theirs, float32", "Ours", "Theirs, float64 loss", "Ours"],
    [
        [name, low, told(ours(base), show), high, told(ours(exact), show)]
        for name, (low, high, ours, show) in quantities.items()
    ],
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
