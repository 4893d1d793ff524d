# %% [markdown]
# # [Liu et al. 2026 · Figure 7]{.kicker} A small transformer on modular division does not spike in 10,000 steps

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from grokbook import claims, evidence, losses, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig07", scale, retrain, device)
record = page.record(arms=["float32"])
names = ("float32", "float64 loss", "projection", "W_G subtracted", "repair", "simulated collapse")
base, exact, *causes = (Run(record, name, name, plots.COLOUR[name]) for name in names)
projection, _, repair, _ = causes
softer = [Run(record, f"ε {eps}", f"Adam's ε {eps.replace('0', '')}") for eps in ("1e-06", "1e-05")]
steps, every = base.settings.epochs, (base, exact, *causes, *softer)
late = {run: evidence.bursts(run, late=True) for run in every}
count = {run: evidence.counted(late[run]) for run in every}
share = base.largest("collapsed")  # below 40 % no burst counts as a slingshot
able = evidence.tested(count[base], (share >= 0.4).astype(float))
found = evidence.outcomes(base, exact, projection) | {
    "spikes": (base, able),
    "again": (base, able),
    "inflation": (base, evidence.tested(evidence.inflated(base), (share >= 0.5).astype(float))),
    "slingshots": {run.label: (run, count[run]) for run in every[1:]},
    "other-bursts": (base, evidence.counted(evidence.bursts(base, late=False))),
    "first": (base, evidence.earliest(late[base])),
    "shows-inflation": {run.label: (run, evidence.inflated(run)) for run in (projection, repair)},
    "test-accuracy": (base, base.last("test_accuracy")),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-07
#| caption: >
#|   A transformer that divides modulo a prime, with the loss in float32 and in float64. (a)
#|   Training loss of the first seed, every step. (b) Norm of the last layer; dotted lines
#|   are slingshots of that seed. (c) Test accuracy, training accuracy dashed. In (b, c)
#|   seeds are thin, their median thick.
#| alt: >
#|   Three panels against step: training losses on a logarithmic axis from 1e-12 to 1,000,
#|   norms of the last layer, and accuracies in per cent. In float32 the loss falls smoothly to
#|   1e-7 while test accuracy stays near chance. A loss in float64 is drawn where it was run.
#| fold: "Code: draw the figure"
figure, (loss, norm, accuracy) = plots.panels(3, height=3.5)
for run in (base, exact):
    plots.trace(loss, run, lw=0.8, floor=1e-12)
    plots.curve(norm, run, "head_norm")
    plots.accuracy(accuracy, run)
plots.mark(norm, late[base][base.seeds[0]], color=base.color)
loss.set(xlabel="step", ylim=(5e-13, 3e3))
norm.set(xlabel="step", ylabel="norm of the last layer")
accuracy.set(xlabel="step")
figure.legend(*norm.get_legend_handles_labels(), loc="outside lower center", ncols=2)
for panel in (loss, norm, accuracy):
    plots.thousands(panel)
plots.letter([loss, norm, accuracy], ["training loss", "last layer", "accuracy"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Slingshots.** Their number in {steps:,} steps of float32 is {told(count[base])}
  (n = {len(base.seeds)}). Other bursts: {sheet.told("other-bursts")}.
* **Collapse.** At the logged step with the most of it, {told(share, "{:.1%}")} of the
  training samples are in {{term}}`softmax collapse`. A {{term}}`slingshot`, as counted here,
  needs 40 %.
* **Test accuracy** is {told(base.largest("test_accuracy"), "{:.1%}")} at its best and
  {sheet.told("test-accuracy")} at the end. Whether it rises at slingshots is
  a question of Figure 2.
""")

# %% [markdown]
# ## The idea
#
# A sample collapses when float32 cannot see its wrong classes any more. With $K$ classes
# and all $K - 1$ wrong ones at the same distance $m$ below the correct one, their sum is
# $(K-1)\, e^{-m}$. It vanishes beside 1 by {term}`absorption` if
#
# $$
# (K - 1)\, e^{-m} < 2^{-24}
# \quad\Longleftrightarrow\quad
# m > 24 \ln 2 + \ln (K - 1) .
# $$
#
# CIFAR-10 has 10 classes, this task one for each token. So its {term}`margin` has to become
# larger before a {term}`softmax collapse`, and a network needs longer to get there:


# %%
def collapse_margin(classes):
    """Margin from which on float32 loses classes - 1 equal wrong logits."""
    return 24 * math.log(2) + math.log(classes - 1)


for classes in (2, 10, 33, 99):
    margin = collapse_margin(classes)
    logits = torch.zeros(1, classes)
    logits[0, 0] = margin + 0.01
    loss = losses.softmax_cross_entropy(logits, torch.tensor([0]), dtype=torch.float32)
    assert loss == 0
    alone = theory.absorption_margin(torch.float32, classes, competitors=1)
    assert alone - 0.01 < theory.absorption_margin(torch.float32, classes) < margin + 0.01
    print(f"{classes} classes: from {alone:.1f} to {margin:.1f}")

# %% [markdown]
# The formula is the upper end, where all wrong terms are added first. At the lower end each
# meets the 1 alone and is lost alone. Where in between a network is, the order of the sum
# decides: the place of the correct class, and how many terms a processor adds at once. The
# rest of the mechanism does not know how many classes there are. Four interventions take it apart: the {term}`zero-sum projection`, a head without its
# {term}`mean classifier`, a *repair* that gives the correct class its gradient back, and a
# loss in float64 from which that gradient is *taken away*.

# %% tags=["hide-input"]
#| name: fig-liu2026-07-causes
#| caption: >
#|   Four ways to change the gradient of a collapsed sample. Training loss of the first seed,
#|   every step; triangles are slingshots. Only the repair gives the correct class its
#|   gradient back; only the last has a loss in float64.
#| alt: >
#|   Four panels of training loss against step, for projection, subtracted mean classifier,
#|   repair and simulated collapse, with triangles at slingshots. Panels of arms that were not
#|   run are empty and say so.
#| fold: "Code: draw the interventions"
figure, axes = plots.panels(2, rows=2, height=2.3, sharex=True, sharey=True)
for panel, run in zip(axes, causes, strict=True):
    plots.trace(panel, run, lw=0.8, floor=1e-12)
    panel.set(ylim=(5e-13, 1e4), xlim=(0, steps), ylabel="", xlabel="")
    if run.seeds:
        at = late[run][run.seeds[0]]
        panel.plot(at, [1e3] * len(at), "v", color=plots.GREY, ms=5)
    else:
        panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center")
        panel.set(yscale="log", yticks=[1e-12, 1e-8, 1e-4, 1])
    plots.thousands(panel)
for panel in axes[2:]:
    panel.set_xlabel("step")
for panel in axes[::2]:
    panel.set_ylabel("training loss")
plots.letter(axes, [run.label for run in causes])
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
# 1. *Network.* ReLU, learned positions, biases in every layer, embeddings that are not
#    shared, outputs for all tokens, the last of which is read. Initial matrices are
#    N(0, 1/width), that of the head N(0, 1/tokens), as in the code of Nanda et al. 2023.
# 2. *Panels.* The paper's figure has two, whose content its text does not say. Loss and norm
#    of the last layer are those of {cite:t}`thilak2022`.
# 3. *Batches.* At the paper's scale they have 512 rows, and the loss of a step is that of its
#    batch. At laptop scale all rows are one batch.
# 4. *Seeds.* 42, as in the paper, and others as far as they have been trained.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
seen = [f"{run.label}: {told(count[run])}" for run in every]
tables.prose(f"""
**Which part of a collapse matters?** If the sum over classes does, the
{{term}}`zero-sum projection` ends the slingshots, and so may a head without its
{{term}}`mean classifier`. If the lost gradient of the correct class does, only the repair
ends them, and a loss in float64 without that gradient has them. The counts here: {"; ".join(seen[:-2])}.
The [causal table](causes.ipynb) has the same for other networks, with more seeds.

**Adam's ε.** Larger values bound the step. Slingshots here: {"; ".join(seen[-2:])}. The paper claims it
for its Figure 3, where it is judged.

**What these counts cannot tell.** They are of {steps:,} steps at
{record.scale} scale. A network that has not collapsed by then has not been tested.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-07-classes
# At which margin does a language model with 50,304 tokens collapse, in float32 and in
# float64? Why do its real samples collapse earlier?
# ```
#
# ````{solution} ex-liu2026-07-classes
# :class: dropdown
# ```python
# import math
# for bits in (24, 53):
#     print(f"{bits} bits: {bits * math.log(2) + math.log(50_304 - 1):.1f}")
# ```
#
# About 27.5 and 47.6, if all wrong logits are equal. Real ones are spread out: only the
# few largest count, and with a single competitor it is $24 \ln 2 = 16.6$ for any $K$.
# ````
#
# ```{exercise}
# :label: ex-liu2026-07-projection
# A sample of $K$ classes has collapsed. Its correct class has no gradient, the wrong ones
# have $\epsilon$ together. What does the zero-sum projection make of the correct one, and
# what would it be in exact arithmetic?
# ```
#
# ````{solution} ex-liu2026-07-projection
# :class: dropdown
# The projection subtracts the mean, $\epsilon / K$, from every class. So the correct class
# gets $-\epsilon / K$, where exact arithmetic has $-\epsilon$: a share of one in $K$.
#
# ```python
# import torch
# from torch.nn.functional import cross_entropy
# logits = torch.zeros(1, 99)
# logits[0, 0] = 25.0
# for dtype in (torch.float32, torch.float64):
#     z = logits.to(dtype, copy=True).requires_grad_()
#     cross_entropy(z, torch.tensor([0])).backward()
#     projected = z.grad - z.grad.mean()
#     print(dtype, f"plain {z.grad[0, 0]:.1e}, projected {projected[0, 0]:.1e}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-07-batches
# Why could batches keep a network from a slingshot, and why is modular arithmetic an
# exception?
# ```
#
# ```{solution} ex-liu2026-07-batches
# :class: dropdown
# As long as one sample of a batch is not collapsed, it has a gradient, which keeps Adam's
# running mean of squares up and its steps short. On images some sample always lags. A
# modular table has a rule, and once the rule is found, all rows have similar margins.
# ```

# %% [markdown]
# ## Run it yourself
#
# Division modulo 31 in full batches, width 32 and 10,000 steps, one seed:
#
# ```bash
# make page PAGE=liu2026/fig07 SCALE=laptop
# ```
