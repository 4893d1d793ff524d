# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 7]{.kicker} A small transformer on modular division has no slingshot in 10,000 steps, in which too few of its samples collapse

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
from grokbook.papers import liu2026

plots.use_style()
record = evidence.record(
    "liu2026/fig07", scale=scale, retrain=retrain, device=device, arms=["float32"]
)
base = Run(record, "float32", "float32", plots.COLOUR["float32"])
exact = Run(record, "float64 loss", "float64 loss", plots.COLOUR["float64 loss"])
causes = [
    Run(record, name, name, plots.COLOUR[name])
    for name in ("projection", "W_G subtracted", "repair", "simulated collapse")
]
projection, subtracted, repair, simulated = causes
softer = [
    Run(record, "ε 1e-06", "Adam's ε 1e-6"),
    Run(record, "ε 1e-05", "Adam's ε 1e-5"),
]
whole = Run(record, "full batch", "full batch", plots.BLUE)  # at paper scale alone
settings = base.settings
in_batches = settings.batch_size is not None


counts = {run: evidence.slingshots(run) for run in (base, exact, *causes, *softer, whole)}
others = evidence.counted(evidence.bursts(base, late=False))
first = evidence.earliest(evidence.bursts(base, late=True))


def seen(run, value=evidence.slingshots):
    return told(value(run)) if run.seeds else "not run"


sheet = claims.Sheet("liu2026/fig07")
sheet.claim(
    base,
    "float32: at least one slingshot",
    "Slingshot in Transformer on modular division.",
    counts[base],
    where="Figure 7, caption",
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
for run in (exact, *causes, *softer):
    sheet.extra(run, f"{run.label}: slingshots", counts[run])
words = "float32: other bursts, with less than 40 % collapsed before"
sheet.extra(base, words, others)
sheet.extra(base, "float32: first slingshot (step)", first)
for run in (projection, repair):
    words = f"{run.label}: shows inflation (1) or not (0)"
    sheet.extra(run, words, evidence.inflated(run))
words = "float32: test accuracy at the end"
sheet.extra(base, words, base.last("test_accuracy"), show="{:.1%}")
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
if base.seeds:
    plots.mark(norm, evidence.bursts(base, late=True)[base.seeds[0]], color=base.color)
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
collapsed = base.largest("collapsed")
when = f" The first comes at step {told(first)}." if (first < math.inf).any() else ""
control = ""
if exact.seeds:
    control = f"""
* **With the loss in float64** there are {seen(exact)} slingshots. Its last layer ends at
  a norm of {told(exact.last("head_norm"), "{:.1f}")}, that of float32 at
  {told(base.last("head_norm"), "{:.1f}")}."""
tables.prose(f"""
* **Slingshots.** Their number in {settings.epochs:,} steps of float32 is {seen(base)}
  (n = {len(base.seeds)}).{when} Other bursts:
  {told(others)}.
* **Collapse.** At the logged step with the most of it, {told(collapsed, "{:.1%}")} of the
  training samples are in {{term}}`softmax collapse`. A {{term}}`slingshot`, as counted here,
  needs 40 %.{control}
* **Test accuracy** is {told(base.largest("test_accuracy"), "{:.1%}")} at its best and
  {told(base.last("test_accuracy"), "{:.1%}")} at the end. Whether it rises at slingshots is
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
    panel.set(ylim=(5e-13, 1e4), xlim=(0, settings.epochs), ylabel="", xlabel="")
    if run.seeds:
        at = evidence.bursts(run, late=True)[run.seeds[0]]
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
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(record, paper=liu2026.STATED["fig07"])

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
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
counted = "; ".join(f"{run.label}: {seen(run)}" for run in (base, exact, *causes))
milder = "; ".join(f"{run.label}: {seen(run)}" for run in softer)
tables.prose(f"""
**Which part of a collapse matters?** If the sum over classes does, the
{{term}}`zero-sum projection` ends the slingshots, and so may a head without its
{{term}}`mean classifier`. If the lost gradient of the correct class does, only the repair
ends them, and a loss in float64 without that gradient has them. The counts here: {counted}.
The [causal table](causes.ipynb) has the same for other networks, with more seeds.

**Adam's ε.** Larger values bound the step. Slingshots here: {milder}. The paper claims it
for its Figure 3, where it is judged.

**What these counts cannot tell.** They are of {settings.epochs:,} steps at
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

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
