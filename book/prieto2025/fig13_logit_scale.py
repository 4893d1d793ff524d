# %% [markdown]
# # [Prieto et al. 2025 · Figure 13]{.kicker} A larger output factor lengthens the delay of a one-layer MLP, except from 1 to 2

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch
from pandas import DataFrame
from torch.autograd import grad
from torch.nn.functional import one_hot

from claimbook import claims, evidence, plots, tables
from claimbook.engine.build import start
from claimbook.evidence import Run, told
from grokbook import losses, optimizers

plots.use_style()
page = evidence.Page("prieto2025/fig13", scale, retrain, device)
record = page.record()
TRAIN, TEST = "train_accuracy", "test_accuracy"
SHALLOW, KEPT, PLAIN = "MSE, 1 layer", "MSE, 1 layer, lr kept", "MSE, 1 layer, SGD"
DEEP, ENTROPY = "MSE, 2 layers", "CE, 2 layers"
TITLES = {SHALLOW: "1 layer, squared error", DEEP: "2 layers, squared error"}
TITLES |= {
    ENTROPY: "2 layers, cross-entropy",
    KEPT: "AdamW, learning rate kept",
    PLAIN: "SGD",
}
alphas = sorted({arm.name.split()[-1] for arm in record.experiment.arms}, key=float)
shade, runs = plots.shades(alphas), {kind: {} for kind in TITLES}
for arm in record.experiment.arms:
    kind, alpha = arm.name.rsplit(", alpha ", 1)
    runs[kind][float(alpha)] = Run(record, arm.name, f"α = {alpha}", shade[alpha])
runs[KEPT][1] = runs[SHALLOW][1]  # where the learning rate is the same
runs = {kind: dict(sorted(one.items())) for kind, one in runs.items()}
fitted = {
    run: run.fitted(accuracy=0.99) for one in runs.values() for run in one.values()
}
grokked = {run: run.reaches(accuracy=0.9) for run in fitted}
delay = {run: evidence.difference(grokked[run], fitted[run]) for run in fitted}
fits = {  # the runs of a panel that learn their training set, in the order of alpha
    kind: [run for run in one.values() if np.isfinite(fitted[run]).all()]
    for kind, one in runs.items()
}


def tested(kind):
    """The runs that a row over all α rests on: those that fit, or else all."""
    return fits[kind] or [*runs[kind].values()]


def over_alpha(kind, measure, least=1):
    """A measure by α, of seeds that have every α that fits; none below so many α."""
    if len(fits[kind]) < least:
        return DataFrame(dtype=float)
    return evidence.joined({run: measure(run) for run in fits[kind]})


def moved(kind):
    """The latest over the earliest fit, by seed."""
    times = over_alpha(kind, fitted.get, least=2)
    return tested(kind), times.max(axis=1) / times.min(axis=1)


def steps(kind):
    """The smallest step of the delay from one α to the next, by seed."""
    return tested(kind), over_alpha(kind, delay.get, least=3).diff(axis=1).min(axis=1)


def highest(kind):
    """The largest test accuracy at any epoch and any α that fits, by seed."""
    return tested(kind), over_alpha(kind, lambda run: run.largest(TEST)).max(axis=1)


found = {
    "grows": steps(SHALLOW),
    "shallow": (runs[SHALLOW][1], runs[SHALLOW][1].largest(TEST)),
    "deeper": highest(DEEP),
    "deeper-control": moved(DEEP),
    "entropy": highest(ENTROPY),
    "entropy-control": moved(ENTROPY),
    "delay": {
        f"{TITLES[kind]}, {run.label}": (run, delay[run])
        for kind in (KEPT, PLAIN)
        for run in fits[kind]
    },
    "no-fit": {
        f"{kind}, {run.label}": (run, run.largest(TRAIN))
        for kind, one in runs.items()
        for run in one.values()
        if run not in fits[kind]
    },
}
last = int(record.frame["epoch"].max())


sheet = claims.read(
    page.name, found, every=len(alphas), deep=len(fits[DEEP]), cross=len(fits[ENTROPY])
)
waited = {run: evidence.words(claims.median(delay[run])) for run in fits[SHALLOW]}
one, two = (waited.get(runs[SHALLOW].get(alpha), "not run") for alpha in (1, 2))
ten = waited.get(runs[SHALLOW].get(10), "not run")
two_layers = (*runs[DEEP].values(), *runs[ENTROPY].values())
fewest = min(len(run.seeds) for run in two_layers)
sheet.box(f"""\
The paper multiplies the outputs of a network, the logits, by a factor α. It says that α
controls generalisation where that happens anyway, as in a shallow network with squared error.
We trained an MLP with one hidden layer and squared error, and asked that each larger α
lengthens the delay, the epochs from the fit of the training set to 90\u00a0% of the test set.
This fails: from α = 1 to α = 2 the median delay falls from {one} to {two} epochs, and it
falls in each seed that has both. From there on it
grows, to {ten} at α = 10. With an α below 1 the network does not fit.

The learning rate is divided by α², as in the authors' code, so that α is not all that changes. This
division belongs to gradient descent without Adam. There the delay does grow with each α at which the network
fits (not drawn, a single network for each).

The paper also says that with two hidden layers no α brings generalisation about. That holds
here: within {last:,} epochs they never generalise ({fewest} or more networks for each α; at two α they do not even
fit with squared error).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-13
#| caption: >
#|   From α = 2 on the delay of the network of one layer grows with α (a), and networks of two layers
#|   generalise at no α, with squared error (b) or with cross-entropy (c). (a) The delay, the epochs from 99 % of
#|   the training set right (the fit) to 90 % of the test set. Small dots are single networks, large
#|   ones with a number their median, of two networks the smaller value. (b) and (c) A hollow circle is the median epoch of
#|   the fit. A cross at the end says that no network had generalised. A grey cross, in each panel, is an α at which the
#|   training set is not fitted. The learning rate is divided by α².
#| alt: >
#|   Three panels over alpha. One layer: the delay falls from alpha 1 to 2, then rises to above 300 at 10; nothing is
#|   fitted at 0.25 and 0.5. Two layers: the fit comes later the larger alpha is, and crosses at 10,000 epochs
#|   say that no network generalises.
#| fold: "Code: draw the epochs"
CROSS = {"marker": "x", "ms": 8, "mew": 2, "ls": ""}
figure, panels = plots.panels(3, height=3.5)
shown = fits[SHALLOW]
medians = [claims.median(delay[run]) for run in shown]
panels[0].plot(
    [run.settings.alpha for run in shown], medians, "o-", color=plots.BLUE, ms=8
)
for run, middle in zip(shown, medians, strict=True):
    places = [run.settings.alpha] * len(delay[run])
    panels[0].plot(places, delay[run], "o", color=plots.BLUE, ms=4)
    side = (7, -15) if run.settings.alpha == 2 else (-24, 8)  # clear of the line
    place = {"textcoords": "offset points", "fontsize": 10}
    panels[0].annotate(waited[run], (places[0], middle), side, **place)
for run in runs[SHALLOW].values():
    if run not in shown:
        panels[0].plot(run.settings.alpha, 0, color=plots.GREY, **CROSS)
panels[0].set(xscale="log", xlabel="α", ylabel="delay in epochs", ylim=(-20, 420))
for axes, kind in zip(panels[1:], (DEEP, ENTROPY), strict=True):
    for run in runs[kind].values():
        is_fitted = run in fits[kind]
        color = plots.BLUE if is_fitted else plots.GREY
        if is_fitted:
            fit = claims.median(fitted[run])
            axes.plot(run.settings.alpha, fit, "o", color=color, mfc="white", ms=7)
        if not np.isfinite(grokked[run]).any():
            axes.plot(run.settings.alpha, run.settings.epochs, color=color, **CROSS)
    axes.set(xscale="log", yscale="log", xlabel="α", ylim=(9, 20_000))
    axes.set_yticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
panels[1].set_ylabel("epoch")
panels[2].tick_params(labelleft=False)  # as in (b)
for axes in panels:
    axes.set(xlim=(0.18, 14))
    axes.set_xticks([float(alpha) for alpha in alphas], alphas, fontsize=9)
    axes.minorticks_off()
how = {"color": plots.BLUE, "ms": 7}
panels[1].plot([], [], "o", mfc="white", label="training set fitted", **how)
panels[1].plot([], [], color=plots.BLUE, label="not generalised by the end", **CROSS)
panels[1].plot([], [], color=plots.GREY, label="not fitted", **CROSS)
figure.legend(loc="outside upper center", ncols=3)
plots.letter(panels, ["one layer", "two layers", "two, cross-entropy"])
plots.show(figure)


# %% tags=["hide-input"]
#| name: fig-prieto2025-13-curves
#| caption: >
#|   The curves behind the epochs. Test accuracy solid, training accuracy dashed, a colour
#|   for each α. A curve ends at 99 % test accuracy or with its training.
#| alt: >
#|   Three panels of accuracy against epoch. One layer with squared error: training
#|   accuracy rises to 100 percent and test accuracy follows, later at α 4 than at 1.
#|   Nothing is learned at the α below 1. Two layers: training accuracy rises, with
#|   cross-entropy at each α, and test accuracy stays near zero.
#| fold: "Code: draw the curves"
def draw(shown):
    """Accuracies of some panels, a colour for each α."""
    figure, panels = plots.panels(len(shown), height=3.3, sharey=True)
    for axes, kind in zip(panels, shown, strict=True):
        for run in runs[kind].values():
            plots.accuracy(axes, run)
        axes.set(xscale="log", xlim=(min(10, last / 4), last), ylabel="")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("accuracy (%)")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(alphas),
    )
    plots.letter(panels, [TITLES[kind] for kind in shown])
    return plots.show(figure)


draw([SHALLOW, DEEP, ENTROPY])

# %% [markdown]
# ## What to see


# %% tags=["remove-input"]
tables.prose(f"""
* **(a) One layer, squared error.** The delay does not rise with every step of α, see the table.
  With the smallest α the network learns {told(runs[SHALLOW][0.25].largest(TRAIN), "{:.0%}")} of its training set at best.
* **(b) Two layers, squared error.** Test accuracy stays at or below {sheet.told("deeper")}.
* **(c) Two layers, cross-entropy.** The network fits at every α, from epoch {told(fitted[fits[ENTROPY][0]])} on.
  Test accuracy stays at or below {sheet.told("entropy")}.
""")

# %% tags=["remove-input"]
told_of = (("(a) 90 % of the test set, epoch", grokked, SHALLOW), ("(a) delay, epochs", delay, SHALLOW),
           ("(b) fit, epoch", fitted, DEEP), ("(a) with SGD, delay, epochs", delay, PLAIN))  # fmt: skip
tables.grid(["", *(f"α = {alpha}" for alpha in alphas)], [
    [name, *(told(values[run]) if (run := runs[kind].get(float(alpha))) in fits[kind] else "no fit" for alpha in alphas)]
    for name, values, kind in told_of
])  # fmt: skip

# %% [markdown]
# ## The idea
#
# With outputs $z = \alpha f(x)$ a step $-\eta\, \nabla_\theta \mathcal L$ changes them by
#
# $$
# \Delta z = \alpha\, J \Delta\theta
#   = -\eta\, \alpha^2\, J J^\top\, \frac{\partial \mathcal L}{\partial z},
# \qquad J = \frac{\partial f}{\partial \theta} .
# $$
#
# The {term}`readout scale` α multiplies all outputs. With the learning rate $\eta / \alpha^2$ the
# outputs learn at the same speed for any α. The weights move only $1/\alpha$ as far. A large α makes the
# network *lazy*: it fits with the features it has {cite:p}`kumar2024`. The table says how far all
# outputs move in the first step, for three values of α:


# %%
def first_step(alpha, rate):
    """The outputs after one step of gradient descent, counted from the start."""
    data, network = start(arm, seed)
    untrained, targets = network(data.x_train).detach(), one_hot(data.y_train, classes)
    outputs = alpha * (network(data.x_train) - untrained)
    slopes = grad((outputs - targets).square().mean(), list(network.parameters()))
    for weight, slope in zip(network.parameters(), slopes, strict=True):
        weight.data -= rate / alpha**2 * slope
    return alpha * (network(data.x_train) - untrained).detach()


arm, seed = record.experiment.arms[0], record.experiment.seeds[0]
classes = arm.model.options["classes"]


# %% tags=["hide-input"]
#| fold: "Code: the same by the package, and the step of AdamW"
def by_package(alpha, optimizer, **options):
    data, network = start(arm, seed)
    untrained = network(data.x_train).detach()
    outputs = alpha * (network(data.x_train) - untrained)
    losses.mean_squared_error(outputs, data.y_train).backward()
    optimizer(network.parameters(), **options).step()
    return alpha * (network(data.x_train) - untrained).detach()


rows = []
for alpha in (0.25, 1, 4):
    step = by_package(alpha, optimizers.SGD, lr=100 / alpha**2)
    torch.testing.assert_close(first_step(alpha, 100), step)
    adaptive = by_package(alpha, optimizers.AdamW, lr=0.01 / alpha**2).norm()
    rows.append([f"{alpha:g}", f"{step.norm():.3g}", f"{adaptive:.3g}"])
tables.grid(["α", "SGD, 100 / α²", "AdamW, 0.01 / α²"], rows)

# %% [markdown]
# The first column is gradient descent. AdamW divides the gradient by its own size, which
# removes one factor of α already. With the learning rate over α² its outputs then move four times
# less at α = 4 than at 1. At 0.25 its step is too long for the formula, which assumes short steps.

# %% tags=["hide-input"]
#| name: fig-prieto2025-13-rates
#| caption: >
#|   The network of one layer with two other rules: again it learns later with a larger α. (a) AdamW
#|   with one learning rate for every α. (b) SGD with momentum, its learning rate divided by α².
#| alt: >
#|   Two panels of accuracy against epoch. AdamW with the learning rate kept: the α below 1 are
#|   earlier than α 1, and those above do not fit. SGD: α 0.25 generalises first, the others follow in
#|   their order, and α 10 does not fit.
#| fold: "Code: draw the other two ways"
draw([KEPT, PLAIN])

# %% [markdown]
# ## The claims
#
# A network fits at the first logged epoch with 99 % training accuracy. The {term}`delay` runs from
# there to 90 % test accuracy. Only those α count at which the network fits, since a network
# that has not learned its training set cannot be expected to generalise.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# 1. *Runs.* Six values of α for 10,000 epochs, trained on a GPU. With AdamW some α have more seeds than others; the
#    fold above has the seeds of each. A row over several α counts the seeds that have every α at which
#    the network fits.
#    "Does not generalise" means in these epochs.
# 2. *Scales, learning rates, epochs and width* are not given by the paper. We chose learning rates
#    at which the network fits with α = 1. With two layers and squared error it does not fit at 0.01.
# 3. *Optimiser.* Dividing by α² is the rule of gradient descent. We keep the rule for AdamW, like
#    the [official code](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability)
#    (`grokking_experiments.py`, commit `0cc9e8d`).
# 4. *Measurements with α.* We measure loss and collapse on $\alpha f(x)$, which
#    is what is trained. The official log leaves α out. Accuracies do not depend on it.
#
# ## Reading the result

# %% tags=["remove-input"]
quick = runs[PLAIN][0.25]
tables.prose(f"""
**The direction agrees, the steps do not.** Over a decade a larger α makes the shallow network later under all
three rules. In (a), α = 2 has a shorter delay than α = 1, so the row of every step fails.

**Much of what α does here is the learning rate.** The smallest α gets sixteen times the
rate of α = 1. AdamW removes one factor of α itself, so it is at least four times too fast. With one rate for
every α, the smallest α fits at epoch {told(fitted[runs[KEPT][0.25]])}, and those above 1
fail. The paper does not name its optimiser.

**SGD, to which the rule belongs, has the paper's order,** as the table says.
With the smallest α the learning rate is 1,600: test accuracy reaches
{told(quick.largest(TEST), "{:.0%}")} at most.
""")

# %% [markdown]
# **The paper speaks of all values of α and of any time**; this page tests six of them for 10,000 epochs.
# [Figure 1](fig01_headline.ipynb) and [Figure 2](fig02_softmax_collapse.ipynb) have longer
# runs with cross-entropy and α = 1.
#
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-13-kernel
# The outputs of gradient descent with $\eta / \alpha^2$ are to change by a given amount,
# while $J$ hardly changes. How far do the weights move, compared with $\alpha = 1$?
# ```
#
# ```{solution} ex-prieto2025-13-kernel
# :class: dropdown
# $\Delta z = \alpha J \Delta \theta$, so $1/\alpha$ as far. As the distance goes to zero, so
# does the change of $J$. In the limit the network is a linear model with fixed features.
# Whether it generalises depends on their kernel, the neural tangent kernel, alone.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-13-adam
# Which power of α would give AdamW the same property?
# ```
#
# ````{solution} ex-prieto2025-13-adam
# :class: dropdown
# The first. A step of AdamW has length η per weight whatever the gradient is. The outputs
# move by about $\eta\alpha$, and $\eta/\alpha$ keeps that:
#
# ```python
# import torch
# from torch.nn.functional import mse_loss
# torch.manual_seed(0)
# x, y, w = torch.randn(50, 20), torch.randn(50), torch.randn(20)
# for power in (2, 1):
#     for alpha in (0.25, 1.0, 4.0):
#         weight = w.clone().requires_grad_()
#         outputs = lambda: alpha * x @ (weight - w)
#         mse_loss(outputs(), y).backward()
#         torch.optim.AdamW([weight], lr=0.01 / alpha**power, weight_decay=0).step()
#         print(f"rate over alpha^{power}, alpha {alpha}: {outputs().norm():.3f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-prieto2025-13-ce
# Why can α not stop {term}`naive loss minimisation` with cross-entropy, even a tiny one?
# ```
#
# ```{solution} ex-prieto2025-13-ce
# :class: dropdown
# In a network without biases, larger weights give larger logits. Once all samples are right,
# larger logits lower the loss at any α. With a small α the weights only have to grow
# further first. Squared error has a target for the logits, so growing does not lower it.
# ```
#
# ## Run it yourself
#
# A part of this page, in about eight minutes on one core: three of six α, 1,000 of 10,000 epochs, one
# seed.
#
# ```bash
# make page PAGE=prieto2025/fig13 SCALE=laptop
# ```
