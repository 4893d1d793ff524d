# %% [markdown]
# # [Prieto et al. 2025 · Figure 5]{.kicker} After the fit the output layer's gradient points along its weights, and in MLPs long before

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import pandas as pd
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook import losses, metrics, models

plots.use_style()
page = evidence.Page("prieto2025/fig05", scale, retrain, device)
record = page.record()
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
SELECTED = {"unembedding": "unembedding.weight", "embedding": "embedding"}
SELECTED |= {
    f"MLP {n}": f"blocks.0.mlp.{k}.weight"
    for n, k in (("out", 2), ("in", 0), ("hidden", 1))
}
shown = {biased: MATRICES, plain: MATRICES, block: SELECTED}
LAST, UNEMBEDDING = (
    f"cos_grad.{MATRICES['output']}",
    f"cos_grad.{SELECTED['unembedding']}",
)
output = {biased: LAST, plain: LAST, block: UNEMBEDDING, single: LAST, descent: LAST}
fit = {run: run.fitted(accuracy=1.0) for run in output}


def lowest(run, tensors, wait=0):
    """The smallest cosine of any of these tensors at each log, from some epochs after the fit."""
    since = fit[run] + wait
    every = [run.series(f"cos_grad.{name}", since=since) for name in tensors.values()]
    return pd.concat(every).groupby(level=0).min()


def smallest(run, wait=0):
    """The smallest of the output layer and of all, -1 for a run that never fits."""
    of_last = run.smallest(output[run], since=fit[run] + wait, otherwise=-1)
    return of_last, lowest(run, shown[run], wait).min().fillna(-1)


def middle(run, column):
    """The median over the logs after the fit."""
    return run.series(column, since=fit[run]).median()


def early(run):
    """The output layer's largest cosine until half of the training set is right."""
    return run.largest(output[run], until=run.fitted(accuracy=0.5))


nine = {
    run: (run, run.largest(output[run], since=fit[run], otherwise=-1)) for run in shown
}
medians = {
    name: middle(block, f"cos_grad.{tensor}") for name, tensor in SELECTED.items()
}
ends = medians["embedding"].clip(upper=medians["unembedding"])
mlp = sum(medians[name] for name in ("MLP in", "MLP hidden", "MLP out")) / 3
above = evidence.crossing(lowest(block, SELECTED), above=0.3)
found = {"stronger": (block, ends - mlp)}
for run, wait, first, second, third in (
    (plain, 0, "aligned", "nine", "every"),
    (biased, 0, "similar", "similar-nine", "similar-every"),
    (
        block,
        100,
        "quickly",
        "transformer-nine",
        "substantial",
    ),  # epochs, that "quickly" allows
):
    of_last, of_all = smallest(run, wait)
    found |= {first: (run, of_last), second: nine[run], third: (run, of_all)}
found["early"] = {run.label: (run, early(run)) for run in output}
sheet = claims.read(page.name, found)


def cosine(values):
    """That of the median network, in words."""
    return words(claims.median(values), "{:.2f}")


peaks = {run: cosine(nine[run][1]) for run in shown}
lows = {run: cosine(smallest(run)[0]) for run in shown}
before = {run: cosine(early(run)) for run in shown}
wholes = {run: cosine(middle(run, "cos_grad")) for run in shown}
sheet.box(f"""\
A step along the weights makes a network surer of its answers and teaches it nothing. The paper calls this naive loss
minimisation (NLM) and says that updates are aligned with it beyond the point of overfitting. We measure the cosine
between weights and negative gradient, where 1 is the same direction. In the output layer of an MLP without biases it is
{lows[plain]} or more once the training set is right (the fit), up to {peaks[plain]}. We ask for 0.8, so the sentence holds.

But it is
{before[plain]} already while half of the training set is wrong: in the MLP this direction does not begin with the fit. In a
transformer the cosine falls again before the fit, and comes back about then. For all
weights as one vector it is lower, {wholes[plain]} in the MLP and {wholes[block]} in a transformer. The loss is in float64: with
a float32 loss, where samples round to zero, the MLP loses the alignment near the end (not drawn).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-05
#| caption: >
#|   In MLPs the gradients turn along the weights long before the fit, the epoch at
#|   which the whole training set is right (dotted, for each network). In a transformer
#|   most of them turn away again and come back about then. Each solid line is the
#|   cosine between the weights and the negative gradient of one matrix, each network
#|   thin and their median thick. The dash-dotted line takes all weights as one vector;
#|   the number beside it is its median after the fit. The left dot is the largest
#|   cosine of the output layer while half of the training set or more is wrong, the right dot
#|   its largest after the fit. The range above the right dot is that of the output
#|   layer from the fit on, for the median network. In the transformer this layer is
#|   called unembedding.
#| alt: >
#|   Three panels of cosine against epoch. In the MLPs the cosines of all matrices rise
#|   steeply within 200 epochs, long before the fit at 500, and stay high. The output layer
#|   has 0.9. In the transformer embedding and unembedding reach 0.9, the three MLP
#|   matrices 0.5 to 0.75, most of it just after the fit at epoch 100.
#| fold: "Code: draw the figure"
drawn = {run: tensors for run, tensors in shown.items() if run.seeds}
figure, axes = plots.panels(len(drawn), height=3.7, sharey=True)
for panel, (run, tensors) in zip(axes, drawn.items(), strict=True):
    for (name, tensor), color in zip(tensors.items(), plots.COLOURS, strict=False):
        plots.curve(panel, run, f"cos_grad.{tensor}", color=color, label=name)
    whole = {"color": plots.BLACK, "linestyle": "-.", "each_seed": False}
    plots.curve(panel, run, "cos_grad", label=f"all: {wholes[run]}", **whole)
    for bounds, side in (
        ({"until": run.fitted(accuracy=0.5)}, "center"),
        ({"since": fit[run]}, "right"),
    ):
        x = claims.median(run.peak(output[run], **bounds))
        y = claims.median(run.largest(output[run], **bounds))
        panel.plot(x, y, "o", color=plots.COLOURS[0], ms=6, zorder=6)
        place, text = y + 0.04, f"{y:.2f}"
        if "since" in bounds:
            place, text = 1.0, f"{lows[run]} to {peaks[run]}"
        blank = {"fc": "white", "ec": "none", "pad": 0.5}
        panel.text(x, place, text, color=plots.COLOURS[0], ha=side, bbox=blank)
    plots.mark(panel, fit[run], color=plots.BLACK)
    panel.axhline(0, color=plots.GREY, lw=0.8)
    panel.set(xlabel="epoch", xscale="log", ylim=(-0.05, 1.08))
    panel.set_xlim(10, run.settings.epochs)
    panel.set_xticks([10, 100, 1000], ["10", "100", "1,000"])
    panel.text(1.12 * fit[run].median(), 0.02, "fitted")
    plots.end_labels(panel)
axes[0].set_ylabel(r"cosine of weights and $-\nabla$ loss")
plots.letter(axes, [run.label for run in drawn])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
keys = [f"cos_grad.blocks.0.attention.{name}.weight" for name in ("query", "key")]
query, key = (told(middle(block, name), "{:.2f}") for name in keys)
tables.prose(f"""
* **After the fit** the negative gradient of the output layer points along its weights, in all three
  networks. For all weights as one vector this is less true.
* **In MLPs the alignment precedes the fit.** When half of the training set is still wrong, the output
  layer is nearly as aligned as it ever gets.
* **The transformer** is nearer to the paper's account. Every matrix drawn is above 0.3 from
  {told(evidence.difference(above, fit[block]))} epochs after the fit on.
* **Queries and keys**, which the paper does not draw, stay low. Their medians after the fit are {query} and {key}.
""")

# %% tags=["hide-input"]
#| fold: "Code: the table of cosines"
rows = []
for run in drawn:
    columns = (output[run], "cos_grad", output[run].replace("grad", "update"))
    values = (early(run), *(middle(run, column) for column in columns))
    rows.append(
        [run.label, told(fit[run]), *(told(value, "{:.2f}") for value in values)]
    )
head = [
    "Network",
    "Fit (epoch)",
    "Output layer, half wrong",
    "After the fit",
    "All weights",
    "Step of AdamW",
]
tables.grid(
    head,
    rows,
    caption="Cosine with the negative gradient; after the fit, the median over logs",
)

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
    numbers = (inner[-1], weight.norm(), slope.norm(), cosine(weight, slope))
    rows.append([name, *(f"{float(value):.4g}" for value in numbers)])
head = ["Layer", "⟨weights, −gradient⟩", "‖weights‖", "‖gradient‖", "cosine"]
tables.grid(
    head, rows, caption="An untrained MLP without biases: one numerator for all layers"
)

# %% [markdown]
# ## The claims
#
# "Fit" is the first logged epoch with 100 % training accuracy; logs are 10 epochs apart up
# to 200, then 50. The bounds are ours, chosen after a pilot of the MLP without biases.
# The paper gives 0.9, and for the transformer no number.
#
# Two of the tests were changed after the runs. The plan asked the transformer, too, for every log from the
# fit on, and it failed. The paper says "quickly", so both tests now begin 100 epochs after the fit.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# No program of this figure was released. "First public code" is commit `740778c` of the
# [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability),
# whose `grokking_experiments_transformers.py` logs the same cosine of its transformer.
#
# 1. *Learning rate, betas, loss precision, epochs and seeds* are not stated. For the MLPs we
#    take [Figure 2](fig02_softmax_collapse.ipynb)'s, with the loss in
#    float64 so that {term}`softmax collapse` does not interfere.
# 2. *Transformer.* That of the first public code, without normalisation and biases, on
#    pairs of 1 to 112. It has the matrices that the paper's panel names.
# 3. *Gradient or step.* The paper speaks of parameter updates, the first public code
#    measures raw gradients. Both were recorded; the claims are about gradients.
# 4. *Panels.* The paper's caption and text disagree on which MLP has biases. Here they
#    are named.
# 5. *Further trainings.* The MLP without biases ran with a float32 loss too. It also ran with
#    plain gradient descent at learning rate 10, whose step is its gradient.
#
# ## Reading the result
#
# We agree that the gradient of the output layer after the fit is largely a rescaling of its weights, and with
# the paper's 0.9.
# The rest qualifies the picture.
#
# **The alignment does not mark the end of fitting.** The paper reads it as something that sets in beyond
# overfitting. In the MLPs most of it is there while the network gets most of its training samples wrong, as
# panel (a) below shows. Nothing forbids that. Let $p$ be the {term}`softmax`. Scaling the logits lowers the
# loss as soon as $z_y - \sum_k p_k z_k$ is positive on average, whether or not $z_y$ is the largest.
#
# **The step of AdamW points there too,** by the last column of the table. It could point elsewhere: AdamW
# divides each entry by a scale of its own and remembers past gradients.
#
# **In the transformer the alignment sets in with the fit, as the paper says.** Its matrices, the embedding
# apart, dip while it learns most of the training set, and recover right after the fit. Queries and keys stay
# far lower, so the picture does not cover every weight.

# %% tags=["remove-input"]
share = [
    told(value, "{:.1%}")
    for value in (single.at("collapse_float32", 2500), single.last("collapse_float32"))
]
tables.prose(f"""
**Rounding ends the alignment.** With a float32 loss the cosine falls from {told(single.at(LAST, 2500), "{:.2f}")} at
epoch 2,500 to {told(single.last(LAST), "{:.2f}")} at the end, as panel (b) below shows. In the same time the share of
collapsed samples rises from {share[0]} to {share[1]}. This agrees with the paper: collapse stops naive loss
minimisation too. The cosine is the earlier sign.

**Without AdamW** the alignment does follow the fit. Plain gradient descent at learning rate 10 first aligns as
AdamW does. Then its cosine jumps about, down to {told(descent.smallest(LAST), "{:.2f}")}, and ends at
{told(descent.last(LAST), "{:.2f}")}.
""")

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
    aligned, style = (
        run.series(output[run], until=fit[run]),
        {"lw": 1.1, "marker": ".", "ms": 4},
    )
    for seed in run.seeds:
        done = 100 * run.series("train_accuracy")[seed].reindex(aligned.index)
        before.plot(done, aligned[seed], color=run.color, **style)
    before.plot([], [], color=run.color, label=run.label, **style)
step = {"linestyle": plots.DASHED, "each_seed": False, "label": "AdamW's step"}
plots.curve(over, plain, LAST, label="float64 loss")
plots.curve(over, plain, LAST.replace("grad", "update"), **step)
plots.curve(over, single, LAST)
plots.curve(over, descent, LAST)
before.set(
    xlabel="training accuracy (%)", ylabel="cosine, output layer", ylim=(-0.1, 1)
)
over.set(xlabel="epoch", xlim=(0, plain.settings.epochs), ylim=(-0.1, 1))
plots.thousands(over)
plots.end_labels(over)
figure.legend(*before.get_legend_handles_labels(), loc="outside upper center", ncols=4)
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
#
# ## Run it yourself
#
# The four MLPs with one seed, without the transformer, in about five minutes on one core.
#
# ```bash
# make page PAGE=prieto2025/fig05 SCALE=laptop
# ```
