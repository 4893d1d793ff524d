# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Prieto et al. 2025 · Figure 5]{.kicker} The gradient points along the weights once the training set is fitted, and in MLPs long before

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import pandas as pd
import torch

from grokbook import claims, evidence, losses, metrics, models, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
record = evidence.record(
    "prieto2025/fig05", scale=scale, retrain=retrain, device=device
)
plain = Run(record, "MLP without bias", "MLP without bias", plots.BLUE)
biased = Run(record, "MLP with bias", "MLP with bias", plots.ORANGE)
block = Run(record, "transformer", "transformer", plots.PURPLE)
single = Run(record, "MLP without bias, float32 loss", "float32 loss", plots.SKY)
descent = Run(record, "MLP without bias, SGD", "SGD", plots.BLACK)
MATRICES = {
    "output": "layers.2.weight",
    "hidden": "layers.1.weight",
    "input": "layers.0.weight",
}
SELECTED = {
    "unembedding": "unembedding.weight",
    "embedding": "embedding",
    "MLP out": "blocks.0.mlp.2.weight",
    "MLP in": "blocks.0.mlp.0.weight",
    "MLP hidden": "blocks.0.mlp.1.weight",
}
drawn = {biased: MATRICES, plain: MATRICES, block: SELECTED}
drawn = {run: tensors for run, tensors in drawn.items() if run.seeds}
output = {run: next(iter(tensors.values())) for run, tensors in drawn.items()}
output |= {run: MATRICES["output"] for run in (single, descent) if run.seeds}
LAST = f"cos_grad.{MATRICES['output']}"  # the column of an MLP's last layer
fit = {run: evidence.fitted(run, accuracy=1.0) for run in output}


def smallest(run, tensors, wait=0):
    """The smallest cosine of any of these tensors, from some epochs after the fit."""
    since = fit[run] + wait
    every = [run.series(f"cos_grad.{name}", since=since) for name in tensors]
    return pd.concat(every).min().fillna(-1)  # a run that never fits fails


def middle(run, column):
    """The median over the logs after the fit."""
    return run.series(column, since=fit[run]).median()


def early(run):
    """The output layer's largest cosine until half of the training set is right."""
    half = run.first("train_accuracy", at_least=0.5)
    return run.largest(f"cos_grad.{output[run]}", until=half)


TEXT = "Section 4.2"
ALIGNED = (
    "receive updates that are significantly aligned with the direction of NLM beyond "
    "the point of overfitting"
)
SIMILAR = (
    "we observe very similar behavior in MLPs with (Fig. 5b) and without (Fig. 5a) bias "
    "terms"
)
QUICKLY = (
    "the gradients quickly become aligned with the direction of the weights after the "
    "point of overfitting"
)
NINE = (
    "the cosine similarity between the parameter updates and the NLM direction goes up "
    "to 0.9 for the output layers"
)
SUBSTANTIAL = "also substantial for the MLP weights"
sheet = claims.Sheet("prieto2025/fig05", show="{:.2f}")
for run, high, every, where, wait in (
    (plain, ALIGNED, ALIGNED, "Figure 5, caption", 0),
    (biased, SIMILAR, SIMILAR, TEXT, 0),
    (block, QUICKLY, SUBSTANTIAL, TEXT, 100),  # "quickly" leaves some time
):
    if run not in drawn:
        continue
    when = (
        f"from {wait} epochs after the fit on" if wait else "at every log after the fit"
    )
    sheet.claim(
        run,
        f"{run.label}: the output layer's cosine is at least 0.8 {when} (smallest)",
        high,
        smallest(run, [output[run]], wait),
        where=where,
        at_least=0.8,
        main=run is plain,
    )
    sheet.claim(
        run,
        f"{run.label}: the output layer's cosine reaches 0.88 after the fit (largest)",
        NINE,
        run.largest(f"cos_grad.{output[run]}", since=fit[run], otherwise=-1),
        where=TEXT,
        at_least=0.88,
    )
    sheet.claim(
        run,
        f"{run.label}: every matrix drawn is above 0.3 {when} (smallest)",
        every,
        smallest(run, drawn[run].values(), wait),
        where=where,
        above=0.3,
    )
if block in drawn:
    medians = {name: middle(block, f"cos_grad.{t}") for name, t in SELECTED.items()}
    mlp = sum(medians[name] for name in ("MLP in", "MLP hidden", "MLP out")) / 3
    ends = medians["embedding"].clip(upper=medians["unembedding"])
    sheet.claim(
        block,
        "transformer: embedding and unembedding above the mean MLP matrix after the fit "
        "(the lower one's lead, of medians)",
        "the alignment is stronger for the embed and unembed matrices",
        ends - mlp,
        where=TEXT,
        above=0,
        show="{:+.2f}",
    )
    low = [block.series(f"cos_grad.{t}", since=fit[block]) for t in SELECTED.values()]
    above = evidence.crossing(pd.concat(low).groupby(level=0).min(), above=0.3)
    settled = evidence.difference(above, fit[block])
    words = "transformer: epochs from the fit until every matrix drawn is above 0.3"
    sheet.extra(block, words, settled, show="{:,.0f}")
for run in output:
    words = f"{run.label}: output layer, largest cosine until half of the training set "
    sheet.extra(run, words + "is right", early(run))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-prieto2025-05
#| caption: >
#|   After the fit (dotted, one line per seed) the negative gradient lies along the
#|   weights, most of all in the last layer. Cosine of each tensor with its negative
#|   gradient; seeds thin, their median thick. In (a) the biases are dashed.
#| alt: >
#|   Three panels of cosine against epoch. In the MLPs the cosines of all matrices rise
#|   steeply within 200 epochs, long before the fit at 500, and stay high. The output layer
#|   has 0.9. In the transformer embedding and unembedding reach 0.9, the three MLP
#|   matrices 0.5 to 0.75, most of it just after the fit at epoch 100.
#| fold: "Code: draw the figure"
DEPTH = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.RED, plots.PURPLE)
figure, axes = plots.panels(len(drawn), height=3.7, sharey=True)
for panel, (run, tensors) in zip(axes, drawn.items(), strict=True):
    for (name, tensor), color in zip(tensors.items(), DEPTH, strict=False):
        plots.curve(panel, run, f"cos_grad.{tensor}", color=color, label=name)
        if run is biased:
            bias = f"cos_grad.{tensor.replace('weight', 'bias')}"
            style = {"linestyle": plots.DASHED, "seeds": False}
            plots.curve(panel, run, bias, color=color, label=f"{name} bias", **style)
    plots.mark(panel, fit[run], color=plots.BLACK)
    panel.axhline(0, color=plots.GREY, lw=0.8)
    panel.set(xlabel="epoch", xscale="log", ylim=(-0.3, 1))
    panel.set_xlim(10, run.settings.epochs)
    panel.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
    panel.text(1.12 * fit[run].median(), -0.25, "fitted")
    plots.end_labels(panel)
axes[0].set_ylabel(r"cosine of weights and $-\nabla$ loss")
plots.letter(axes, [run.label for run in drawn])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
half = plain.first("train_accuracy", at_least=0.5)
last = middle(biased, f"cos_grad.{output[biased]}")
tables.prose(f"""
* **After the fit** the output layer of the MLP without biases has a cosine of
  {told(middle(plain, f"cos_grad.{output[plain]}"), "{:.2f}")} with its negative gradient
  (median over the logs). All its weights as one vector have
  {told(middle(plain, "cos_grad"), "{:.2f}")}. With biases the two are
  {told(last, "{:.2f}")} and {told(middle(biased, "cos_grad"), "{:.2f}")}.
* **Before the fit** the alignment is there already. At epoch {told(half)} half of the
  training set is still wrong, and the output layer has reached
  {told(early(plain), "{:.2f}")}. The set is fitted at epoch {told(fit[plain])}.
""")

# %% tags=["remove-input"]
keys = [f"blocks.0.attention.{name}.weight" for name in ("query", "key")]
tables.prose(f"""
* **The transformer** is nearer to the paper's account. It fits at epoch
  {told(fit[block])}, where its unembedding has
  {told(block.at(f"cos_grad.{output[block]}", fit[block]), "{:.2f}")}. Every matrix drawn
  is above 0.3 from {told(settled)} epochs later.
* **Queries and keys**, which the paper does not draw, stay low. Their medians after the
  fit are {" and ".join(told(middle(block, f"cos_grad.{k}"), "{:.2f}") for k in keys)}.
""") if block in drawn else None

# %% [markdown]
# ## The idea
#
# A direction is one of {term}`naive loss minimisation` if it lowers the loss and only
# multiplies the {term}`logits <logit>` by a factor above 1. No prediction changes. For a
# ReLU network without biases the weights $\theta$ themselves are such a direction, once
# all training samples are right. The figure asks, tensor by tensor, how much of the
# gradient lies along it:
#
# $$
# \cos(\theta_\ell, -\nabla_{\theta_\ell} \mathcal{L})
# = -\frac{\langle \theta_\ell, \nabla_{\theta_\ell} \mathcal{L} \rangle}
#         {\lVert \theta_\ell \rVert \, \lVert \nabla_{\theta_\ell} \mathcal{L} \rVert} .
# $$


# %%
def cosine(weight, gradient):
    """How much of a step of gradient descent lies along the weight itself."""
    return -(weight * gradient).sum() / (weight.norm() * gradient.norm())


torch.manual_seed(42)
network = models.MLP(113, vocabulary=113, bias=False).double()
pairs = torch.cartesian_prod(torch.arange(113), torch.arange(113))
logits = network(pairs)
losses.softmax_cross_entropy(logits, pairs.sum(1) % 113).mean().backward()

# %% [markdown]
# The layers of such a network are not independent evidence. The logits double when any
# one matrix doubles, so Euler's identity gives the same $\langle \theta_\ell,
# \nabla_{\theta_\ell} \mathcal{L} \rangle$ for every layer. Their cosines differ by the
# two norms alone, here for the untrained network:

# %% tags=["hide-input"]
#| fold: "Code: the package agrees, and all layers share one numerator"
rows, inner = [], []
for name, weight in zip(
    ("input", "hidden", "output"), network.parameters(), strict=True
):
    weight, slope = weight.detach(), weight.grad
    inner.append(-(weight * slope).sum())
    torch.testing.assert_close(cosine(weight, slope), metrics.cosine(weight, -slope))
    torch.testing.assert_close(inner[-1], inner[0])
    found = (inner[-1], weight.norm(), slope.norm(), cosine(weight, slope))
    rows.append([name, *(f"{float(value):.4g}" for value in found)])
head = ["Layer", "⟨weights, −gradient⟩", "‖weights‖", "‖gradient‖", "cosine"]
tables.grid(head, rows)

# %% [markdown]
# ## The claims
#
# "Fit" is the first logged epoch with 100 % training accuracy; logs are 10 epochs apart up
# to 200, then 50. The bounds are ours, chosen after a pilot of the MLP without biases and
# before these runs. The paper gives 0.9, and for the transformer no number.

# %% tags=["remove-input"]
strict = [smallest(block, t) for t in ([output[block]], SELECTED.values())]
tables.prose(f"""
One of them was changed with the runs at hand. The plan asked the transformer, too, for
every log from the fit on. That failed: its unembedding falls to
{told(strict[0], "{:.2f}")} and its lowest matrix to {told(strict[1], "{:.2f}")}. The paper
says "quickly", so both are now judged from 100 epochs after the fit on.
""") if block in drawn else None

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(
    record,
    paper={
        "dataset": "modular addition",
        "dataset.p": "113",
        "model": "MLP with and without bias; one-layer transformer",
        "model.widths": "(200, 200)",
        "loss": "cross-entropy",
    },
    notes={
        "dataset.train_fraction": "as in most figures of the paper",
        "loss.dtype": "float64, so that nothing collapses; one arm in float32",
        "optimizer.lr": "as in Figure 2; transformer and SGD: ours",
        "optimizer.betas": "as in Figure 2; transformer: first public code",
        "optimizer.eps": "as in Figure 2; transformer: first public code",
    },
)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# No program of this figure was released. "First public code" is commit `740778c` of the
# [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability),
# whose `grokking_experiments_transformers.py` logs the same cosine of its transformer.
#
# 1. *Learning rate, betas, loss precision, epochs and seeds* are not stated. Ours are
#    those of [Figure 2](fig02_softmax_collapse.ipynb) for the MLPs, with the loss in
#    float64 so that {term}`softmax collapse` does not interfere.
# 2. *Transformer.* That of the first public code, without normalisation and biases, on
#    pairs of 1 to 112. It has the matrices that the paper's panel names.
# 3. *Gradient or step.* The paper speaks of parameter updates, the first public code
#    measures raw gradients. Both were recorded; the claims are about gradients.
# 4. *Panels.* The paper's caption and text disagree on which MLP has biases. Here they
#    are named.
# 5. *Further arms.* The MLP without biases ran with a float32 loss too. It also ran with
#    plain gradient descent at learning rate 10, whose step is its gradient.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
steps = [told(middle(run, f"cos_update.{output[run]}"), "{:.2f}") for run in drawn]
tables.prose(f"""
We agree that the gradient after the fit is largely a rescaling of the weights, and with
the paper's 0.9. The rest qualifies the picture.

**The alignment does not mark the end of fitting.** The paper reads it as something that
sets in beyond overfitting. In the MLPs most of it is there while the network gets most of
its training samples wrong, as panel (a) below shows. Nothing forbids that. Let $p$ be
the {{term}}`softmax`. Scaling the logits lowers the loss as soon as
$z_y - \\sum_k p_k z_k$ is positive on average, whether or not $z_y$ is the largest.

**The step of AdamW points there too.** It could point elsewhere: AdamW divides each entry
by a scale of its own and remembers past gradients. Its median cosine after the fit, in the
output layers of the panels: {", ".join(steps)}.
""")

# %% tags=["remove-input"]
tables.prose("""
**In the transformer the alignment comes with the fit, as the paper says.** Its matrices,
the embedding apart, dip while it learns most of the training set, and recover right after
the fit. Queries and keys stay far lower, so the picture is not one of every weight.
""") if block in drawn else None

# %% tags=["remove-input"]
(
    tables.prose(f"""
**Rounding ends the alignment.** With a float32 loss the output layer comes to
{told(single.largest(LAST), "{:.2f}")} as well. At epoch 2,500 it has
{told(single.at(LAST, 2500), "{:.2f}")} and at the end
{told(single.last(LAST), "{:.2f}")}, as in panel (b) below. In the same time the share of
collapsed samples goes from {told(single.at("collapse_float32", 2500), "{:.1%}")} to
{told(single.last("collapse_float32"), "{:.0%}")}. This agrees with the paper, which says
that collapse stops naive loss minimisation too. The cosine is the earlier sign.
""")
    if single.seeds
    else None
)

# %% tags=["remove-input"]
(
    tables.prose(f"""
**Without AdamW.** Plain gradient descent at learning rate 10
({len(descent.seeds)} of {len(record.experiment.seeds)} seeds) first aligns as AdamW does,
up to {told(early(descent), "{:.2f}")}. It then jumps about, with cosines down to
{told(descent.smallest(LAST), "{:.2f}")} (smallest). At the fit, epoch
{told(fit[descent])}, it has {told(descent.at(LAST, fit[descent]), "{:.2f}")}, and at the
end {told(descent.last(LAST), "{:.2f}")}. There the alignment does follow the fit.
""")
    if descent.seeds
    else None
)

# %% tags=["hide-input"]
#| name: fig-prieto2025-05-before
#| caption: >
#|   In MLPs trained by AdamW the alignment comes before the fit, and a float32 loss ends
#|   it. (a) Cosine of the output layer against training accuracy up to the fit, one line
#|   per seed, one dot per log. (b) The MLP without biases over epochs, dashed the step of
#|   AdamW; seeds thin, their median thick.
#| alt: >
#|   Left: the output layer's cosine of the MLPs is above 0.8 at a training accuracy of 20
#|   percent, and stays level up to 100 percent. That of the transformer rises
#|   to 0.7 at 25 percent and dips before the fit. That of gradient descent falls to 0
#|   before it. Right: gradient and step stay near 0.9 with a float64 loss. With a float32
#|   loss the cosine falls to below 0.3 in the last thousand epochs.
#| fold: "Code: draw the cosines before the fit, and of other losses and steps"
figure, (before, over) = plots.panels(2, height=3.6)
for run in (*drawn, descent):
    aligned = run.series(f"cos_grad.{output[run]}", until=fit[run]) if run.seeds else {}
    for place, seed in enumerate(run.seeds):
        done = 100 * run.series("train_accuracy")[seed].reindex(aligned.index)
        style = {"color": run.color, "lw": 1.1, "marker": ".", "ms": 4}
        label = None if place else run.label
        before.plot(done, aligned[seed], label=label, **style)
step = {"linestyle": plots.DASHED, "seeds": False, "label": "AdamW's step"}
plots.curve(over, plain, LAST, label="float64 loss")
plots.curve(over, plain, f"cos_update.{output[plain]}", **step)
plots.curve(over, single, LAST)
plots.curve(over, descent, LAST)
before.set(
    xlabel="training accuracy (%)", ylabel="cosine, output layer", ylim=(-0.1, 1)
)
over.set(xlabel="epoch", xlim=(0, plain.settings.epochs), ylim=(-0.1, 1))
plots.thousands(over)
plots.end_labels(over)
before.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
plots.letter([before, over], ["before the fit", "MLP without bias"])
plots.show(figure)

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-05-scaling
# Multiply all three matrices of the bias-free MLP by 1.01. By how much do the logits
# grow, which predictions change, and on which samples does the loss fall?
# ```
#
# ````{solution} ex-prieto2025-05-scaling
# :class: dropdown
# By $1.01^3 = 1.030$, and no prediction changes. The loss falls on a sample whose correct
# logit exceeds the mean of its logits under its own softmax. That includes all confident
# correct samples, and some that are still wrong:
#
# ```python
# import torch
# from torch.nn.functional import cross_entropy
# label = torch.tensor([0])
# for z in ([3.0, 1.0, 0.0], [1.0, 1.2, -4.0], [0.0, 3.0, 1.0]):
#     z = torch.tensor([z])
#     change = cross_entropy(1.01**3 * z, label) - cross_entropy(z, label)
#     print(f"right: {bool(z.argmax() == 0)}, loss changes by {float(change):+.4f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-prieto2025-05-euler
# Why do the layers no longer share one numerator as soon as there are biases? What
# replaces the identity?
# ```
#
# ```{solution} ex-prieto2025-05-euler
# :class: dropdown
# Doubling a matrix no longer doubles the logits, since the biases added after it stay as
# they were. Doubling a layer's matrix *and all biases from that layer on* does. So the
# inner product of output matrix and output bias equals that of hidden matrix, hidden bias
# and output bias, and so on down.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-05-orthogonal
# What would this figure look like for gradients that {term}`orthogonal gradient` has
# already projected? And for the steps of the optimiser behind it?
# ```
#
# ````{solution} ex-prieto2025-05-orthogonal
# :class: dropdown
# Every gradient curve is 0 by construction. The steps need not be: AdamW divides entry by
# entry, which brings a part along the weights back. Its first step is the sign of the
# gradient:
#
# ```python
# import torch
# w, g = torch.tensor([3.0, 4.0, 0.5]), torch.tensor([-1.0, -0.2, 0.1])
# g = g - (g @ w) / (w @ w) * w
# for name, step in (("gradient", -g), ("first step of Adam", -g.sign())):
#     print(f"{name}: cosine {float(w @ step / (w.norm() * step.norm())):+.2f}")
# ```
#
# [Figure 6](fig06_orthogonal_optimizers.ipynb) shows what that optimiser does.
# ````

# %% [markdown]
# ## Run it yourself
#
# The four MLPs with one seed, without the transformer, in about five minutes on one core.
#
# ```bash
# make page PAGE=prieto2025/fig05 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
