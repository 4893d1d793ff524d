# %% [markdown]
# # [Liu et al. 2026 · Figure 8]{.kicker} In 40,000 steps an MLP on division has loss spikes in float32, and none with a float64 loss

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
from grokbook import instability, optimizers, theory

plots.use_style()
page = evidence.Page("liu2026/fig08", scale, retrain, device)
record = page.record(arms=["float32"])
names = (
    "float32",
    "float64 loss",
    "projection",
    "W_G subtracted",
    "repair",
    "simulated collapse",
)
base, exact, projection, *_ = every = [
    Run(record, name, name, plots.COLOUR[name]) for name in names
]
batched = Run(page.record(page.name, scale="paper"), "float32")
end, MEAN = base.settings.epochs, "feature_mean_norm"
count = {run: instability.slingshots(run) for run in every}
bursts = {run: instability.bursts(run) for run in (base, exact)}
found = instability.outcomes(base, exact, projection) | {
    "spikes": (base, count[base]),
    "in-batches": (batched, batched.largest("collapsed")),
    "slingshots": {run.label: (run, count[run]) for run in every[1:]},
    "test-accuracy": {
        run.label: (run, run.last("test_accuracy")) for run in (base, exact)
    },
}
sheet = claims.read(page.name, found, steps=f"{end:,} steps")
steps_run = f"{end:,} steps"
accuracy = evidence.words(claims.median(base.last("test_accuracy")), "{:.0%}")
usual = evidence.words(claims.median(count[base]))
sheet.box(
    "The paper's caption says that this MLP, which learns division, has slingshots, or loss "
    "spikes: its loss jumps back long after the training set was fitted. It has: with the loss in "
    f"float32 the median run has {usual} loss spikes in {steps_run}, with the loss in float64 it "
    f"has {told(count[exact])}. So this sentence holds; others of the paper do not.\n\n"
    "The paper's cure, a projection that makes the gradients of all classes add up to zero again, leaves "
    f"at least {count[projection].min():.0f} loss spike in every run. And the paper says of a "
    "network on division, which it does not name, that each spike raises the test accuracy, until "
    f"all of the test set is right. This one has {accuracy} of it right at the end of its shorter training."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-08
#| caption: >
#|   An MLP on division has loss spikes in float32, and none with a float64 loss. (a)
#|   Training loss of every step, one run with each loss. Dotted: the jumps of the float32
#|   run that count as loss spikes. They begin at a loss of 0.001 or less, with 40 % or more
#|   of the samples collapsed: float32 rounds their loss to zero. The other jumps do not
#|   count. (b) Number of loss spikes. Each dot is one run, with the loss in float32, in
#|   float64, and with the projection. (c) Test accuracy in float32. Thin lines are single
#|   runs, and the thick line is their median.
#| alt: >
#|   Three panels. In float32 the training loss jumps above 100 near steps 15,000 and 31,000; in
#|   float64 it falls smoothly to 1e-11. The dots are at 2 and 3 in float32, at 0 with the
#|   float64 loss, at 1 and 2 with the projection. Test accuracy stays near 2 percent.
#| fold: "Code: draw the figure"
figure, (loss, dots, right) = plots.panels(3, height=3.4)
for run in (base, exact):
    plots.trace(loss, run, lw=0.9, floor=1e-12)
counted = instability.bursts(base, late=True).get(base.seeds[0], [])
plots.mark(loss, counted, color=plots.GREY)
loss.set(ylim=(5e-13, 3e4), xlabel="step", yticks=[1e-12, 1e-8, 1e-4, 1])
loss.text(17_500, 3e-3, "float32", color=base.color)
loss.text(500, 1e-11, "float64", color=exact.color)
for place, run in enumerate((base, exact, projection)):
    counts = count[run].sort_values().to_numpy()
    across = place + np.linspace(-0.2, 0.2, len(counts))
    dots.plot(across, counts, "o", color=run.color, ms=7)
dots.set_xticks(range(3), ["float32", "float64\nloss", "projec-\ntion"])
dots.set(xlim=(-0.5, 2.5), ylim=(-0.3, 4.3), ylabel="loss spikes in a run")
plots.curve(right, base, "test_accuracy", percent=True)
right.text(end, 8, f"{accuracy} at the end", color=base.color, ha="right")
right.set(ylim=(-3, 103), ylabel="test accuracy (%)", xlabel="step")
for panel in (loss, right):
    plots.thousands(panel)
plots.letter([loss, dots, right], ["training loss", "every run", "test accuracy"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Few bursts, fewer slingshots.** The table has every burst of every seed. A burst counts as a
  {{term}}`slingshot` if at least 40 % of the samples were in {{term}}`softmax collapse` at the log before.
* **Long quiet.** The network learns all training rows by step
  {told(base.fitted(accuracy=1.0))}. Half of the samples have collapsed by step {told(instability.settled(base))}.
* **With the loss in float64** nothing bursts. Most jumps of float32 remain with the {{term}}`zero-sum projection`.
* **Memorisation.** With either loss the network knows its training rows and no others.
""")

# %% tags=["hide-input"]
#| fold: "Code: the bursts"
before = [
    (seed, on, base.at("collapsed", on)[seed])
    for seed, onsets in bursts[base].items()
    for on in onsets
]
tables.grid(
    ["Seed", "Burst at step", "Collapsed at the log before", "Counts as"],
    [
        [
            str(seed),
            f"{on:,}",
            evidence.words(share, "{:.0%}"),
            "slingshot" if share >= 0.4 else "other burst",
        ]
        for seed, on, share in before
    ],
    caption="Bursts of the loss in float32",
)

# %% [markdown]
# ## The two means

# %% tags=["hide-input"]
#| name: fig-liu2026-08-means
#| caption: >
#|   The two means of the last layer are large and opposed from early on, with either loss, so
#|   they show no inflation after a collapse. (a) Norm of the mean feature; dotted lines mark the
#|   bursts of the loss in one run. (b) Cosine of mean classifier and mean feature. Every run is thin, the
#|   median thick.
#| alt: >
#|   Two panels against step. The norm of the mean feature reaches hundreds within some thousand
#|   steps with both losses. The cosine is near −0.8 early with both, and rises in jumps in
#|   float32.
#| fold: "Code: draw the two means"
figure, (size, angle) = plots.panels(2, height=3.0)
for run in (base, exact):
    plots.curve(size, run, MEAN)
    plots.curve(angle, run, "mean_cosine")
plots.mark(size, bursts[base].get(base.seeds[0], []), color=base.color)
size.set(ylabel="norm of the mean feature", yscale="log")
angle.set(ylabel="cosine of the two means", ylim=(-1.03, 1.03))
angle.legend(loc="upper right")
for panel in (size, angle):
    panel.set(xlabel="step")
    plots.thousands(panel)
plots.letter([size, angle], ["mean feature", "cosine"])
plots.show(figure)

# %% [markdown]
# ## The idea
#
# Adam divides by $\sqrt{v}$, the root of a running mean of squared gradients. A spike leaves
# gradients of size $G$ in it. Then the root falls by itself, even if no gradient follows:
#
# $$
# \sqrt{v_t} = \beta_2^{t/2}\, \sqrt{v_0}
# \quad\Longrightarrow\quad
# t(G \to \varepsilon) = \frac{2 \ln (G / \varepsilon)}{-\ln \beta_2} .
# $$
#
# Steps become dangerously long only when $\sqrt{v}$ has fallen to Adam's $\varepsilon$ or
# to the gradients that are left. With $\beta_2 = 0.95$, as on CIFAR-10, this takes hundreds
# of steps. With the 0.999 of Table 2 it takes tens of thousands. This remark is ours.


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
#|   With the β2 of this task Adam remembers a gradient for 23,000 steps. (a) Adam's root after
#|   one gradient of 0.001 and then silence; the dashed line is Adam's ε. (b) Mean update of
#|   the last layer's weights at every log. The dashed line is the update of a gradient that
#|   returns after silence.
#| alt: >
#|   Left: the root falls to 1e-8 after some hundred steps with a beta2 of 0.95, and after some
#|   twenty thousand with 0.999. Right: the mean updates
#|   in float32 and with a float64 loss stay below the dashed line.
#| fold: "Code: draw the memory and the updates"
figure, (root, update) = plots.panels(2, height=3.4)
steps = np.geomspace(1, end, 200)
for beta2, color in ((0.95, plots.ORANGE), (0.999, plots.PURPLE)):
    root.plot(steps, 1e-3 * beta2 ** (steps / 2), color=color, label=f"β2 = {beta2:g}")
root.axhline(1e-8, color=plots.GREY, ls="--", lw=1)
root.set(xscale="log", yscale="log", ylim=(1e-11, 3e-3), xlabel="steps of silence")
root.set_ylabel("Adam's root")
root.legend(loc="lower left")
for run in (base, exact):
    plots.curve(update, run, "head_update")
adam_options = base.settings.optimizer.options
update.axhline(
    theory.jump(adam_options["lr"], adam_options["betas"]),
    color=plots.GREY,
    ls="--",
    lw=1,
)
update.set(xlabel="step", ylabel="mean update, last layer", yscale="log")
update.set_ylim(1e-8, 1)
update.legend(loc="upper right")
plots.thousands(update)
plots.letter([root, update], ["memory", "updates"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot is a burst of the loss from below 0.001 to above 0.1. At the log before it, at
# least 40 % of the samples are collapsed. The paper gives no numbers for this figure: these
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
# 1. *Network.* It has one output for each token, 99 at the paper's scale and 33 on a laptop.
#    Initial weights are those of PyTorch.
# 2. *Panels.* The paper's figure has two panels, and its text does not say what they show. We
#    draw the loss and the two means.
# 3. *Batches.* The paper's batches have 512 rows, and a step's loss is that of its batch. On
#    a laptop all rows form one batch.
# 4. *Length.* 40,000 steps, and the paper has 100,000. "No slingshot" may mean "not yet".
# 5. *Seeds.* We ran 42, which the paper uses, and two others.
# 6. *Interventions.* Of the four we trained the projection alone. The [causal table](causes.ipynb)
#    has them for other networks.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**The waiting time is of the order of Adam's memory.** From the first burst to the second,
{told(instability.waits(bursts[base]))} steps pass. For gradients of 0.001, a size that we chose, the formula gives
{forgetting(1e-3, 1e-8, 0.999):,.0f} steps. With the $\\beta_2$ of CIFAR-10 it gives
{forgetting(1e-3, 1e-8, 0.95):,.0f}, and [Figure 1](fig01_precision.ipynb) shows bursts every few hundred
epochs. A few gaps are weak evidence.

**The means are opposed from the start.** {int(instability.inflated(base).sum())} of {len(base.seeds)} float32 runs show
{{term}}`inflation`: two of its three signs once half of the samples have collapsed. The cosine of the two means is
{told(base.at("mean_cosine", 1000), "{:+.2f}")} at step 1,000 already, and {told(exact.at("mean_cosine", 1000), "{:+.2f}")} with the loss in float64.

**Spikes bring hardly any test accuracy here**, though the paper says that it goes up with each spike on division
([Figure 2](fig02_mechanism.ipynb) judges this).

**The rule is a threshold.** At most {told(base.largest("collapsed"), "{:.0%}")} of the samples are
collapsed at any log. A burst below 40 % counts as an oscillation, even if the mean
classifier has grown. We fixed this rule before the runs and keep it.

**A large mean feature is no sign of inflation.** In float32 its norm has
{told(base.at(MEAN, 1000) / base.last(MEAN), "{:.0%}")} of its final value by step 1,000, long before anything
collapses. The unrest of the first steps makes it large, and it is large with the loss in float64
too. So this book takes change *after* a collapse as the sign of {{term}}`inflation`.

**Another replication has one spike.** A public repository ran this task modulo 97 in full
batches, with two hidden layers ([`gongyisheng/pretrain`](https://github.com/gongyisheng/pretrain);
the folder was removed later). Its mean feature is seven to eight times larger in float32 than
with a loss in float64, unlike ours.
""")

# %% tags=["hide-input"]
#| fold: "Code: our values beside those of the other replication"
quantities = {  # their numbers in float32 and with a float64 loss; ours
    "first burst (step)": (
        "17,500",
        "never",
        lambda run: instability.earliest(bursts[run]),
        "{:,.0f}",
    ),
    "norm of the mean feature": (
        "564 to 660",
        "83",
        lambda run: run.last(MEAN),
        "{:,.0f}",
    ),
    "norm of the mean classifier": (
        "1.9",
        "0.14",
        lambda run: run.last("head_mean_norm"),
        "{:.2f}",
    ),
    "cosine of the two": (
        "−0.92 to −0.96",
        "+0.03",
        lambda run: run.last("mean_cosine"),
        "{:+.2f}",
    ),
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
# The MLP reads four tokens, two of which are the same in every row. How many columns of its
# first weights ever get a gradient that depends on the row? What do the other columns do?
# ```
#
# ````{solution} ex-liu2026-08-inputs
# :class: dropdown
# The operator and the equals sign are one fixed input each, so their weights act as two
# more biases. Of 4 × 99 columns, the rows use 97 for $a$ and 96 for $b$:
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
# Each slingshot leaves gradients of 0.001. How many can the formula above fit into 100,000
# steps at most? How many with a $\beta_2$ of 0.98, as in {cite:t}`power2022`?
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
# This is an estimate. A step can be too long before $\sqrt v$ has fallen to $\varepsilon$, and
# the network has to reach {term}`softmax collapse` anew each time.
# ````
#
# ```{exercise}
# :label: ex-liu2026-08-sum
# The mean of all {term}`logits <logit>` of a sample is $W_G \cdot h$, plus the mean bias.
# How does it change once $\cos(W_G, \mu_G)$ is near $-1$? Does this change the loss?
# ```
#
# ````{solution} ex-liu2026-08-sum
# :class: dropdown
# It falls without bound, by the same amount for all classes of a sample. The softmax does not
# see it:
#
# ```python
# import torch
# z = torch.randn(5, 10, dtype=torch.float64)
# assert torch.allclose(z.softmax(dim=1), (z - 300).softmax(dim=1))
# ```
#
# In float32, logits near $-300$ are 32 times coarser than logits near 10. They are still
# only 3e-5 apart.
# ````

# %% [markdown]
# ## Run it yourself
#
# Division modulo 31 in full batches, width 128 and 40,000 steps, three seeds. At the paper's size (`SCALE=paper`) a
# run takes some 20 minutes on one core.
#
# ```bash
# make page PAGE=liu2026/fig08 SCALE=laptop
# ```
