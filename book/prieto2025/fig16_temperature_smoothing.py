# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 16: Smoothing generalises fully; a temperature slows training and leaves a part unfitted (partly seen at reduced scale)
#
# **Claim.** Any remedy against {term}`softmax collapse` should let a network
# {term}`grok <grokking>`, but not every remedy is one: dividing the {term}`logits <logit>`
# by a {term}`temperature` of $10^5$ only delays the collapse; {term}`label smoothing`
# prevents it and generalises in part, never fully; {term}`StableMax` prevents it and groks
# {cite:p}`prieto2025`. **Here.** The same losses under one optimiser, one seed each, on a
# smaller table than the paper's: addition modulo 59, 20,000 epochs. **What came out.**
# Smoothing does not collapse, since its loss is smallest at a gap far below that, and it
# does not stop half way either: it generalises fully, long before StableMax. A temperature
# amounts to smaller initial weights and a smaller learning rate. Collapse does come later,
# beyond the end of the run; but so does the fit, and a tenth of the training set is stuck at
# logits that are all equal. Plain softmax collapses and then breaks down.

# %% [markdown]
# ## What was run
#
# The paper gives the temperature and says what is compared; task and network are presumed
# to be those of its other figures. No program of this figure was released. The strength
# of the smoothing is that of the first public code, the optimiser that of the released
# StableMax run, with its tiny eps: a temperature of $10^5$ divides the gradients too, and
# a usual eps would then slow AdamW down.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import inspect
import math

import torch

from grokbook import (
    claims,
    datasets,
    evidence,
    losses,
    models,
    optimizers,
    plots,
    tables,
)
from grokbook.evidence import Run

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
remedies = evidence.record(
    "prieto2025/fig16",
    arms=("temperature 1", "temperature 1e5", "label smoothing 0.2"),
    **page,
)
# StableMax at the same scale: its record of another scale has another task
same = page | {"scale": remedies.scale}
tasks = evidence.record("prieto2025/fig04left", **same)
plain = evidence.record("prieto2025/fig01c", arms=("exact CE float64",), **page)

# %% tags=["hide-input"]
tables.settings(
    remedies,
    paper={
        "dataset": "modular",
        "dataset.p": "113",
        "dataset.operation": "add",
        "model": "mlp",
        "model.widths": "(200, 200)",
        "loss": "softmax cross-entropy",
        "optimizer.weight_decay": "0",
    },
    code={
        "loss.smoothing": "0.2 (first public code)",
    },
    notes={
        "dataset.train_fraction": "as in the paper's other figures",
        "optimizer.lr": "as in the released StableMax run",
        "optimizer.betas": "as in the released StableMax run",
        "optimizer.eps": "as in the released StableMax run",
        "epochs (full batch)": "as Figure 1; the paper's is not stated",
    },
)

# %% tags=["hide-input"]
tables.arms(remedies)

# %% [markdown]
# The StableMax run is the addition of [Figure 4](fig04_stablemax_grokking.ipynb), the
# control the {term}`collapse-free cross-entropy` of [Figure 1](fig01_headline.ipynb),
# which has another $\beta_2$. The control is drawn only if the {term}`scale` of its record
# gives it the task of the other runs.

# %% tags=["hide-input"]
cold = Run(remedies, "temperature 1", "T = 1", plots.BLUE)
hot = Run(remedies, "temperature 1e5", "T = 1e5", plots.RED)
smooth = Run(remedies, "label smoothing 0.2", "smoothing 0.2", plots.ORANGE)
stable = Run(tasks, "addition", "StableMax", plots.GREEN)
control = Run(plain, "exact CE float64", "collapse-free", plots.BLACK)
TRAIN, TEST, COLLAPSE = "train_accuracy", "test_accuracy", "collapse_float32"
until = cold.settings.epochs


def task(run):
    arm = run.settings
    share = arm.dataset.options["train_fraction"]
    beta2 = arm.optimizer.options["betas"][1]
    return (
        f"addition mod {arm.dataset.options['p']}, {share:.0%} of the table, "
        f"β2 {beta2:g}, {arm.epochs:,} epochs"
    )


one, other = cold.settings, control.settings
comparable = (one.dataset, one.model) == (other.dataset, other.model)
print(f"remedies   {task(cold)}")
print(f"StableMax  {task(stable)}")
print(f"control    {task(control)}")

# %% [markdown]
# ## The idea in code
#
# A temperature $T$ changes the scale of the logits and nothing else,
# $\operatorname{softmax}(z / T)$. A float32 softmax begins to absorb when the gap
# $\Delta / T$ reaches 16.6, whatever $T$ is. Without biases the logits of this network go
# with the third power of its weights, so a network whose weights are $s = T^{1/3}$ times
# smaller computes the same without temperature:
#
# $$
# \frac{1}{T}\, f(\theta) = f\Bigl(\frac{\theta}{s}\Bigr),
# \qquad s = T^{1/3} \approx 46 \quad\text{for}\quad T = 10^5 .
# $$
#
# Adam does not see the scale of a gradient, so its steps of $\theta$ are as long as before
# and those of $\theta / s$ are $s$ times shorter. Training at temperature $T$ with learning
# rate $\eta$ is therefore the same as training without temperature, from initial weights
# and with a learning rate that are both $s$ times smaller. That can be tried:

# %%
data = datasets.modular(11)


def trained_logits(
    temperature: float, shrink: float, steps: int = 1000
) -> torch.Tensor:
    """Logits of a small network in float64, its weights and learning rate shrunk."""
    torch.manual_seed(42)
    network = models.MLP(11, (32, 32), vocabulary=11, bias=False).double()
    with torch.no_grad():
        for weight in network.parameters():
            weight /= shrink
    optimizer = optimizers.AdamW(network.parameters(), lr=0.01 / shrink, eps=1e-25)
    for _ in range(steps):
        optimizer.zero_grad()
        z = network(data.x_train) / temperature
        losses.softmax_cross_entropy(z, data.y_train, dtype=torch.float64).backward()
        optimizer.step()
    return network(data.x_train).detach() / temperature


with torch.random.fork_rng():
    heated, shrunk = trained_logits(1e5, 1.0), trained_logits(1.0, 1e5 ** (1 / 3))
print(f"largest logit after 1,000 steps  {float(heated.max()):.6f}")
print(f"largest difference of the two   {float((heated - shrunk).abs().max()):.1e}")

# %% [markdown]
# Smoothing changes the target: the correct class is to have the probability
# $1 - \varepsilon + \varepsilon / C$ and each of the others $\varepsilon / C$. The loss
# is then smallest at the finite gap
#
# $$
# \Delta^* = \log \frac{1 - \varepsilon + \varepsilon / C}{\varepsilon / C}
# $$
#
# and rises beyond it. A sample can only collapse where its loss is far from the minimum.

# %% tags=["hide-input"]
print(inspect.getsource(losses.softmax_cross_entropy))

# %%
classes, smoothing = cold.settings.model.options["classes"], 0.2
high, low = 1 - smoothing + smoothing / classes, smoothing / classes
best_gap = math.log(high / low)
floor = -high * math.log(high) - (classes - 1) * low * math.log(low)
fitted = torch.zeros(1, classes, dtype=torch.float64)
for gap in (best_gap / 2, best_gap, 2 * best_gap, 24 * math.log(2)):
    fitted[0, 0] = gap
    loss = losses.softmax_cross_entropy(
        fitted, torch.tensor([0]), dtype=torch.float64, smoothing=smoothing
    )
    print(f"gap {gap:5.2f}   smoothed loss {float(loss):.4f}")
print(f"smallest possible: {floor:.4f}")


# %% tags=["hide-input"]
curves = [run for run in (cold, hot, smooth) if run.seeds]
if comparable and control.seeds:
    curves.append(control)

# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 16. (a) Test accuracy solid, training accuracy dashed. (b) Share of training samples whose float32 softmax has collapsed, of the logits that the loss sees, z/T. (c) StableMax, on the task printed above. Thick lines are medians over seeds, thin lines single seeds; the axis of epochs is logarithmic.", "name": "fig-prieto2025-16"}, "image": {"alt": "Three panels against epoch. Left: with smoothing test accuracy rises to 100 percent within the first thousand epochs. At temperature 1 training accuracy is at 100 percent until it falls steeply after epoch 10,000, to come half way back, with test accuracy near 15 percent. At temperature 1e5 training accuracy rises after epoch 600 to 91 percent and stays there, test accuracy stays below 10. Middle: temperature 1 rises to two thirds collapsed and falls back to none, temperature 1e5 has just begun to rise at the end, smoothing stays at zero. Right: with StableMax test accuracy rises to 100 percent by epoch 20,000."}}
figure, (left, middle, right) = plots.panels(3, height=3.7)
for run in curves:
    style = {"color": run.color, "label": run.label}
    plots.accuracy(left, run.record, run.arm, **style)
    if run is not control:
        plots.curve(middle, run.record, run.arm, COLLAPSE, percent=True, **style)
if stable.seeds:
    plots.accuracy(right, tasks, stable.arm, color=stable.color, label=stable.label)
middle.set(xlabel="epoch", ylabel="collapsed samples (%)", ylim=(-3, 103))
right.set(xlabel="epoch", ylabel="", ylim=(-3, 103))
for axes in (left, middle, right):
    if axes.lines:
        axes.set_xscale("log")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24))
plots.letter([left, middle, right], ["accuracy", "collapse", "StableMax"])
figure.show()

# %% [markdown]
# What the remedies do to logits and weights. The dotted red curve is the hot run as the
# cold run with smaller start and steps that it amounts to.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "(a) Mean gap between the two largest logits that the loss sees, z/T, on the training set; dashed, the gap from which a float32 softmax absorbs one competitor; dotted, the gap at which the smoothed loss is smallest. (b) Norm of all weights; dotted, that of the hot run divided by 46. Logarithmic axes.", "name": "fig-prieto2025-16-gap"}, "image": {"alt": "Left: mean gap of the logits after division by the temperature against epoch on logarithmic axes, with a dashed line at 16.6 and a dotted line below it. Smoothing settles on the dotted line; temperature 1 reaches the dashed one and drops to a hundredth; temperature 1e5 comes from below and is still rising at the end. Right: weight norm against epoch on logarithmic axes for the same runs."}}
figure, (left, right) = plots.panels(2, height=3.7)
for run in curves:
    style = {"color": run.color, "label": run.label}
    plots.curve(left, run.record, run.arm, "mean_gap", **style)
    plots.curve(right, run.record, run.arm, "weight_norm", **style)
edge, place = 24 * math.log(2), left.get_yaxis_transform()
left.axhline(edge, color=plots.BLACK, ls="--", lw=1)
left.text(0.99, 1.1 * edge, "float32", transform=place, fontsize=9, ha="right")
left.axhline(best_gap, color=plots.ORANGE, ls=":", lw=1.4)
if hot.seeds:
    norm = hot.series("weight_norm").median(axis=1) / 1e5 ** (1 / 3)
    right.plot(norm.index, norm, color=plots.RED, ls=":", label="T = 1e5, over 46")
left.set(ylabel="mean gap of the logits / T")
left.set_ylim(bottom=0.01)
right.set(ylabel="weight norm")
for axes in (left, right):
    axes.set(xscale="log", yscale="log", xlabel="epoch")
right.set_ylim(bottom=1)
handles, labels = right.get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=5)
plots.letter([left, right], ["gap", "weights"])
figure.show()

# %% [markdown]
# In numbers, as medians over seeds. Collapse is measured twice: as the paper does, by a
# float32 softmax of the logits, and by the share of samples whose *own* loss is exactly
# zero, both at the log where they are largest. For StableMax the two have nothing to do with
# each other.

# %% tags=["hide-input"]
rows = []
for run in [*curves, *([stable] if stable.seeds else [])]:
    shares = (run.last(TRAIN), run.largest(TEST), run.last(TEST))
    shares += (run.largest(COLLAPSE), run.largest("zero_loss"))
    shown = [f"{claims.median(share):.1%}" for share in shares]
    rows.append([run.label, *shown, f"{claims.median(run.last('mean_gap')):,.1f}"])
head = ["", "train, end", "test, best", "test, end", "collapsed, most"]
tables.grid([*head, "loss zero, most", "gap, end"], rows)

# %% [markdown]
# ## Check
#
# The epoch of collapse is the first logged one with more than half of the training
# samples collapsed in float32. The thresholds on accuracy and collapse are those of the
# replication's plan, fixed before the runs.

# %% tags=["hide-input"]
collapsed = {run: run.first(COLLAPSE, above=0.5) for run in (cold, hot)}
sheet = claims.Sheet("prieto2025/fig16", source="4.16", show="{:.1%}")
sheet.claim(
    hot,
    "T = 1e5: collapses later than T = 1 (epochs later, at least)",
    "later",
    evidence.lead(collapsed[cold], collapsed[hot], until=until),
    above=0,
    show="{:+,.0f}",
)
sheet.claim(
    hot,
    f"T = 1e5: but it does collapse by epoch {until:,} (epoch)",
    "gradually",
    collapsed[hot],
    at_most=until,
    show="{:,.0f}",
)
sheet.claim(
    hot,
    f"T = 1e5: no grokking, test accuracy at most 5 % to epoch {until:,} (largest)",
    "not enough",
    hot.largest(TEST),
    at_most=0.05,
)
sheet.claim(
    smooth,
    "smoothing: at most 1 % of the training samples collapsed at any log",
    "prevents collapse",
    smooth.largest(COLLAPSE),
    at_most=0.01,
)
sheet.claim(
    smooth,
    f"smoothing: generalises in part, test accuracy at epoch {until:,} above 5 %",
    "some generalisation",
    smooth.last(TEST),
    above=0.05,
)
sheet.claim(
    smooth,
    f"smoothing: but not fully, test accuracy at epoch {until:,} below 99 %",
    "not fully",
    smooth.last(TEST),
    below=0.99,
)
sheet.claim(
    stable,
    "StableMax: groks, test accuracy at least 95 % (largest)",
    "groks",
    stable.largest(TEST),
    at_least=0.95,
)

# %% tags=["hide-input"]
for run in (cold, hot, smooth):
    fit = evidence.fitted(run, accuracy=0.99)
    sheet.extra(
        run, f"{run.label}: train accuracy reaches 99 % (epoch)", fit, show="{:,.0f}"
    )
for run, name in ((smooth, "smoothing"), (stable, "StableMax")):
    groks = evidence.generalised(run, accuracy=0.95)
    sheet.extra(
        run, f"{name}: test accuracy reaches 95 % (epoch)", groks, show="{:,.0f}"
    )
sheet.extra(
    cold,
    "T = 1: more than half of the training samples collapsed (epoch)",
    collapsed[cold],
    show="{:,.0f}",
)
sheet.extra(
    cold, f"T = 1: largest test accuracy to epoch {until:,}", cold.largest(TEST)
)
sheet.extra(
    cold,
    "T = 1: smallest mean of the largest logit",
    cold.smallest("mean_top_logit"),
    show="{:,.0f}",
)
sheet.extra(
    cold,
    "T = 1: smallest train accuracy after the collapse",
    cold.smallest(TRAIN, since=collapsed[cold], otherwise=math.inf),
)
sheet.extra(
    hot, "T = 1e5: largest share of training samples collapsed", hot.largest(COLLAPSE)
)
sheet.extra(hot, f"T = 1e5: train accuracy at epoch {until:,}", hot.last(TRAIN))
sheet.extra(
    hot,
    "T = 1e5: training loss at the end over that of a network with all logits "
    "equal on what it misclassifies and no loss on the rest",
    hot.last("train_loss") / ((1 - hot.last(TRAIN)) * math.log(classes)),
    show="{:.3f}",
)
sheet.extra(
    smooth,
    f"smoothing: largest test accuracy to epoch {until:,}",
    smooth.largest(TEST),
)
sheet.extra(
    smooth,
    "smoothing: change of test accuracy over the last quarter",
    100 * (smooth.last(TEST) - smooth.at(TEST, 3 * until // 4)),
    show="{:+.1f} points",
)
sheet.extra(
    smooth,
    "smoothing: training loss at the end over the smallest possible",
    smooth.last("train_loss") / floor,
    show="{:.3f}",
)
sheet.extra(
    stable,
    "StableMax: largest share of training samples whose own loss is zero",
    stable.largest("zero_loss"),
)
sheet.extra(
    stable,
    "StableMax: largest share collapsed by the paper's measure, a float32 "
    "softmax of its logits",
    stable.largest(COLLAPSE),
)
if comparable:
    sheet.extra(
        control,
        "control, no collapse and nothing else: largest test accuracy to epoch "
        f"{control.settings.epochs:,}",
        control.largest(TEST),
    )

# %% tags=["hide-input", "nbval-check-output"]
sheet.table()

# %% [markdown]
# ## Reading the result
#
# **Temperature.** That it delays collapse is no surprise: under Adam a temperature of
# $10^5$ *is* a learning rate and initial weights 46 times smaller, as the comparison above
# shows to many digits. What the experiment adds is by how much, and what else such a start
# does. A collapse that is not seen within the epochs run is a matter of their number, since
# nothing bounds the gap; {ref}`the second figure <fig-prieto2025-16-gap>` shows whether it
# still grows at the end. The few per cent of test accuracy come while the training set is
# slowly fitted. Then the fit itself stops short. If the row on the training loss says 1.000,
# all that is left of it are samples with equal logits, which is what a network without
# biases gives where all its ReLUs are off; there they have no gradient either, and stay.
#
# **Without a remedy** (T = 1) collapse is not the end of the run. The correct class of a
# collapsed sample has no gradient, the wrong ones still have, and they push all logits
# down, as the row on the largest logit says; then training accuracy breaks down and begins
# anew. [Figure 8](fig08_induced_collapse.ipynb) does the same to a network on purpose. The
# test accuracy after that is not what the paper's "no grokking" speaks of.
#
# **Smoothing.** The dotted line of the same figure is where the smoothed loss is smallest.
# The gap has no reason to pass it, so the absence of collapse is built in, at any strength
# above about $10^{-5}$. How far such a network generalises is another question. The row on
# the last quarter says whether a test accuracy below 100 % is a plateau, as claimed, or a
# matter of patience; "generalises in part" and "not fully" are therefore two rows.
#
# **Is it collapse that the remedies differ in?** The paper holds that any intervention
# that prevents collapse should lead to grokking or generalisation. A control would prevent
# it and nothing else: the collapse-free cross-entropy. On the page of
# [Figure 1](fig01_headline.ipynb) it stays where plain softmax stays, as far as it was run.
# Smoothing prevents collapse *and* changes the target, so its success cannot be put down to
# the first alone. The rows on StableMax make the same point from the other side: by the
# paper's own measure it is fully collapsed while it groks.
#
# Deviations and ambiguities:
#
# 1. *Optimiser, learning rate, epochs, seeds* are not stated, and no program of this
#    figure was released. The optimiser is that of the released StableMax run.
# 2. *Smoothing 0.2* comes from the first public code. The paper gives no number.
# 3. *Temperature.* The paper quotes one fixed temperature. The first public code has a
#    schedule that starts at 1 and doubles every 10,000 epochs; it was not run.
# 4. *Measure of collapse.* That of the official code, applied to the logits divided by the
#    temperature. On undivided logits the hot run would count as collapsed far earlier.
# 5. *StableMax* is read from the record of Figure 4 at the scale of the other runs.
# 6. *The control*, where it is drawn, has $\beta_2 = 0.99$, the others 0.999, and a float64
#    loss, the others one in float32.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-16-eps
# The gradients at temperature $10^5$ are smaller by that factor. What becomes of the steps
# of AdamW with its usual eps of $10^{-8}$ once a gradient entry is $10^{-9}$?
# ```
#
# ```{solution} ex-prieto2025-16-eps
# :class: dropdown
# The step is $\hat m / (\sqrt{\hat v} + \epsilon)$, here about
# $10^{-9} / (10^{-9} + 10^{-8})$, a tenth of what it would be. Entries below eps train
# with steps proportional to their gradient, as under gradient descent. With the $10^{-25}$
# used here, Adam divides the temperature out again.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-16-smoothing
# How weak may the smoothing be before a float32 softmax can collapse at the minimum of the
# loss?
# ```
#
# ```{solution} ex-prieto2025-16-smoothing
# :class: dropdown
# The minimum lies at a gap of about $\log (C / \varepsilon)$. It reaches 16.6 at
# $\varepsilon = 113\, e^{-16.6}$, about $7 \cdot 10^{-6}$. A smoothing of, say, $10^{-3}$
# prevents collapse as well as 0.2 and changes the target two hundred times less: set it in
# `fig16` to see whether it generalises as well.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-16-measure
# Why does the paper's measure call StableMax collapsed?
# ```
#
# ```{solution} ex-prieto2025-16-measure
# :class: dropdown
# It takes a *softmax* of the logits, whatever the loss of the run. StableMax lets logits
# grow to thousands, where $e^{-\Delta}$ is zero, but its own sum is one of numbers of like
# size. The share of samples whose own loss is zero asks the right question.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(remedies, tasks, *([plain] if control in curves else []))

# %% [markdown]
# The page again from its records: `grokbook execute prieto2025/fig16`. Trained anew with
# fewer epochs and one seed: `make page PAGE=prieto2025/fig16 SCALE=laptop`.
