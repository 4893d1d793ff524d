# %% [markdown]
# # [Liu et al. 2026 · Figure 7]{.kicker} A small transformer on division has no loss spike, but too few of its samples collapse for a test

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run
from grokbook import instability, losses, theory

plots.use_style()
page = evidence.Page("liu2026/fig07", scale, retrain, device)
record = page.record(arms=["float32"])
names = (
    "float32",
    "float64 loss",
    "projection",
    "W_G subtracted",
    "repair",
    "simulated collapse",
)
base, exact, projection, *causes = (
    Run(record, name, name, plots.COLOUR[name]) for name in names
)
softer = [
    Run(record, f"ε {eps}", f"Adam's ε {eps.replace('0', '')}")
    for eps in ("1e-06", "1e-05")
]
every = (base, exact, projection, *causes, *softer)
late = {run: instability.bursts(run, late=True) for run in every}
count = {run: instability.counted(late[run]) for run in every}
share = base.largest("collapsed")  # below 40 % no burst counts as a slingshot
able = evidence.testable(count[base], share >= 0.4)
found = instability.outcomes(base, exact, projection) | {
    "spikes": (base, able),
    "again": (base, able),
    "inflation": (base, evidence.testable(instability.inflated(base), share >= 0.5)),
    "slingshots": {run.label: (run, count[run]) for run in every[1:]},
}
sheet = claims.read(page.name, found)
most = evidence.words(share.max(), "{:.0%}")
sheet.box(
    "The paper shows loss spikes of a transformer that learns division. Ours is a quarter as "
    "wide, learns a smaller table (modulo 31) in a tenth of the steps, and has no loss spike.\n\nBut this cannot tell "
    "whether the paper's sentence holds. By the paper, a loss spike follows a collapse, in "
    "which float32 rounds the loss of most samples to zero. In our "
    f"{len(base.seeds)} runs at most {most} of the samples collapse at once. We count a jump "
    "of the loss as such a spike only if 40 % were collapsed shortly before, so that no run "
    "here could have one."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-07
#| caption: >
#|   The loss falls without a spike, and too few samples collapse for one. (a) Training loss
#|   of every step, in one run. (b) Share of the training samples whose float32 loss is
#|   exactly zero. Thin lines are single runs, and the thick line is their median. Dashed:
#|   the share that must be collapsed before a jump counts as a loss spike.
#| alt: >
#|   Two panels against step. The training loss falls smoothly to 1e-7. The share of collapsed
#|   samples rises slowly to about a fifth, below a dashed line at 40 percent.
#| fold: "Code: draw the figure"
figure, (loss, shares) = plots.panels(2, height=3.2)
plots.trace(loss, base, lw=1.0, floor=1e-12, label="")
plots.curve(shares, base, "collapsed", percent=True)
shares.axhline(40, color=plots.GREY, ls="--", lw=1)
shares.text(0, 41.5, "40 %, needed for a loss spike", color=plots.GREY)
end = base.settings.epochs
shares.text(end, 27, f"at most {most}", color=base.color, ha="right")
shares.set(ylabel="collapsed samples (%)", ylim=(-2, 52))
for panel in (loss, shares):
    panel.set(xlabel="step")
    plots.thousands(panel)
plots.letter([loss, shares], ["training loss", "collapsed samples"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **No spike.** The training loss falls smoothly to the last step (a). With the loss in float64 it does the same.
* **Too little collapse.** The share of samples in {{term}}`softmax collapse` still grows when training ends (b). A
  longer run may have {{term}}`slingshots <slingshot>`.
* **Memorisation.** The network learns every training row. Its test accuracy never exceeds
  {evidence.words(base.largest("test_accuracy").max(), "{:.1%}")}.
""")

# %% [markdown]
# ## The idea
#
# A sample collapses when float32 loses its wrong classes. Let all $K - 1$ wrong
# {term}`logits <logit>` lie at the same distance $m$ below the correct one. Their sum is then
# $(K-1)\, e^{-m}$. It vanishes beside 1 by {term}`absorption` if
#
# $$
# (K - 1)\, e^{-m} < 2^{-24}
# \quad\Longleftrightarrow\quad
# m > 24 \ln 2 + \ln (K - 1) .
# $$
#
# CIFAR-10 has 10 classes, and this task has one for each token. So the {term}`margin` $m$ has to
# grow larger here before a sample collapses, and a network needs longer to get there.


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
    assert (
        alone - 0.01 < theory.absorption_margin(torch.float32, classes) < margin + 0.01
    )
    print(f"{classes} classes: from {alone:.1f} to {margin:.1f}")

# %% [markdown]
# The formula is the upper end: here a processor adds all wrong terms first, and then the 1. At
# the lower end each wrong term meets the 1 alone and is lost alone. Which of the two happens
# depends on the order of the sum: on the place of the correct class, and on how many terms a
# processor adds at once.

# %% tags=["hide-input"]
#| name: fig-liu2026-07-margin
#| caption: >
#|   The mean margin has only just arrived where samples collapse. Mean margin of the training
#|   samples and the smallest of them, medians thick. Grey band: from the lower to the upper end
#|   of the formula, for the classes of this network.
#| alt: >
#|   Two curves of margin against step rise steeply and then slowly. At the end the mean has
#|   just reached the grey band, which begins at 16.6, and the smallest margin is two units
#|   below.
#| fold: "Code: draw the margins"
figure, (margins,) = plots.panels(1, height=2.8)
classes = base.settings.model.options["classes"]
margins.axhspan(
    collapse_margin(2), collapse_margin(classes), color=plots.GREY, alpha=0.25, lw=0
)
for column, label, line in (
    ("mean_margin", "mean", "-"),
    ("smallest_margin", "smallest", plots.DASHED),
):
    plots.curve(margins, base, column, label=label, linestyle=line)
margins.set(xlabel="step", ylabel="margin", ylim=(-8, 24))
plots.end_labels(margins)
plots.thousands(margins)
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
# 1. *Network.* It has ReLU, learned positions and biases in every layer. Input and output
#    embeddings are separate. It predicts at every token, and we read the last prediction.
#    Initial matrices are N(0, 1/width), that of the head N(0, 1/tokens), as in the code of
#    Nanda et al. 2023.
# 2. *Panels.* The paper's figure has two panels, and its text does not say what they show. We
#    draw the loss and the share of collapsed samples.
# 3. *Batches.* The paper's batches have 512 rows, and a step's loss is that of its batch. On
#    a laptop all rows form one batch.
# 4. *Seeds.* We ran 42, which the paper uses, and two others.
#
# Seven more settings are planned. None of them is trained yet.

# %% [markdown]
# ## Reading the result
#
# **What this page cannot tell.** It shows 10,000 steps of a small network. A network that has
# not collapsed by then is no test of the paper's claim.
#
# **Which part of a collapse matters?** Four interventions would take it apart. The
# {term}`zero-sum projection` restores the sum over classes, and a head without its
# {term}`mean classifier` removes what the broken sum feeds. If slingshots end there, the sum
# matters. A *repair* gives the correct class its lost gradient back. A *simulated collapse*
# keeps the loss in float64 and takes that gradient away. If slingshots end with the first and
# appear with the second, the lost gradient matters. The [causal table](causes.ipynb) has both
# answers for other networks, with more seeds.
#
# **Adam's ε.** A larger $\varepsilon$ bounds the step. The paper claims for its Figure 3 that
# this removes slingshots, and [that page](fig03_mitigations.ipynb) judges it.

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
# About 27.5 and 47.6, if all wrong logits are equal. Real wrong logits differ, and only the
# few largest count. With a single competitor the margin is $24 \ln 2 = 16.6$ for any $K$.
# ````
#
# ```{exercise}
# :label: ex-liu2026-07-projection
# A sample of $K$ classes has collapsed. Its correct class has no gradient, and its wrong
# classes have $\epsilon$ together. Which gradient does the {term}`zero-sum projection` give to
# the correct class, and which gradient does exact arithmetic give?
# ```
#
# ````{solution} ex-liu2026-07-projection
# :class: dropdown
# The projection subtracts the mean, $\epsilon / K$, from every class. So the correct class
# gets $-\epsilon / K$. Exact arithmetic gives it $-\epsilon$, which is $K$ times as much.
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
# Why could batches keep a network from a {term}`slingshot`? Why is modular arithmetic an
# exception?
# ```
#
# ```{solution} ex-liu2026-07-batches
# :class: dropdown
# As long as one sample of a batch has not collapsed, it has a gradient. This gradient keeps
# Adam's running mean of squares large and its steps short. On images some sample always lags.
# A modular table has a rule: once a network finds it, all rows have similar margins.
# ```

# %% [markdown]
# ## Run it yourself
#
# Division modulo 31 in full batches, width 32 and 10,000 steps, three seeds, in about three quarters of an hour on one core:
#
# ```bash
# make page PAGE=liu2026/fig07 SCALE=laptop
# ```
