# %% [markdown]
# # [Prieto et al. 2025 · Figure 13]{.kicker} In small networks larger logits delay one layer, and two keep memorising

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import pandas as pd
import torch
from matplotlib.ticker import NullFormatter
from torch.autograd import grad
from torch.nn.functional import one_hot

from grokbook import claims, evidence, losses, optimizers, plots, tables
from grokbook.engine.build import start
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("prieto2025/fig13", scale, retrain, device)
record = page.record()
TRAIN, TEST = "train_accuracy", "test_accuracy"
SHALLOW, KEPT, PLAIN = "MSE, 1 layer", "MSE, 1 layer, lr kept", "MSE, 1 layer, SGD"
DEEP, ENTROPY = "MSE, 2 layers", "CE, 2 layers"
kinds = {arm.name: arm.name.rsplit(", alpha ", 1) for arm in record.experiment.arms}
alphas = sorted({float(alpha) for _, alpha in kinds.values()})
shade = plots.shades(alphas)
runs = {kind: {} for kind in (SHALLOW, DEEP, ENTROPY, KEPT, PLAIN)}
for arm, (kind, alpha) in kinds.items():
    runs[kind][float(alpha)] = Run(record, arm, f"α = {alpha}", shade[float(alpha)])
runs[KEPT][1] = runs[SHALLOW][1]  # where the learning rate is the same
runs = {kind: dict(sorted(one.items())) for kind, one in runs.items()}
every = [run for one in runs.values() for run in one.values()]
fitted = {run: run.fitted(accuracy=0.99) for run in every}
grokked = {run: run.generalised(accuracy=0.9) for run in every}
delay = {run: evidence.difference(grokked[run], fitted[run]) for run in every}
fits = {  # the runs of a panel that learn their training set, in the order of alpha
    kind: [run for run in one.values() if np.isfinite(fitted[run]).all()]
    for kind, one in runs.items()
}


def table(series):
    """Values by seed of several runs side by side; empty without a run."""
    found = list(series)
    return pd.concat(found, axis=1) if found else pd.DataFrame()


def moved(kind):
    """The latest over the earliest fit, by seed; nothing where only one α fits."""
    times = table(fitted[run] for run in fits[kind] if len(fits[kind]) > 1)
    return fits[kind], times.max(axis=1) / times.min(axis=1)


def steps(kind):
    """The smallest step of the delay from one α to the next; nothing below three that fit."""
    delays = table(delay[run] for run in fits[kind] if len(fits[kind]) > 2)
    return fits[kind] or [*runs[kind].values()], delays.diff(axis=1).min(axis=1)


highest = {  # test accuracy at any epoch and any α that fits, by seed
    kind: table(run.largest(TEST) for run in fits[kind]).max(axis=1) for kind in (DEEP, ENTROPY)
}
later = {KEPT: "AdamW, learning rate kept", PLAIN: "SGD"}
found = {
    "grows": steps(SHALLOW),
    "shallow": (runs[SHALLOW][1], runs[SHALLOW][1].largest(TEST)),
    "deeper": (fits[DEEP], highest[DEEP]),
    "deeper-control": moved(DEEP),
    "entropy": (fits[ENTROPY], highest[ENTROPY]),
    "entropy-control": moved(ENTROPY),
    "delay": {
        f"{words}, {run.label}": (run, delay[run])
        for kind, words in later.items()
        for run in fits[kind]
    },
    "no-fit": {
        f"{kind}, {run.label}": (run, run.largest(TRAIN))
        for kind, one in runs.items()
        for run in one.values()
        if run not in fits[kind]
    },
}
many = {"deep": len(fits[DEEP]), "cross": len(fits[ENTROPY]), "every": len(alphas)}
sheet = claims.read(page.name, found, **many)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-prieto2025-13
#| caption: >
#|   A larger α puts off (a), which generalises anyway; (b) and (c) do so at none. Test
#|   accuracy solid, training accuracy dashed; MSE is squared error, CE cross-entropy. The
#|   learning rate is divided by α². A curve ends at 99 % test accuracy; one seed.
#| alt: >
#|   Three panels of accuracy against epoch. One layer with squared error: training
#|   accuracy rises to 100 percent and test accuracy follows, later at α 4 than at 1.
#|   Nothing is learned at α 0.25. Two layers: training accuracy rises, with cross-entropy
#|   at each α, and test accuracy stays near zero.
#| fold: "Code: draw the figure"
TITLES = {SHALLOW: "1 layer, MSE", DEEP: "2 layers, MSE", ENTROPY: "2 layers, CE"}
TITLES |= {KEPT: "AdamW, learning rate kept", PLAIN: "SGD, learning rate over α²"}


def draw(shown):
    """Accuracies of some panels, a colour for each α."""
    figure, panels = plots.panels(len(shown), height=3.3, sharey=True)
    last = record.frame["epoch"].max()
    for axes, kind in zip(panels, shown, strict=True):
        for run in runs[kind].values():
            plots.accuracy(axes, run)
        axes.set(xscale="log", xlim=(min(10, last / 4), last), ylabel="")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("accuracy (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(alphas))
    plots.letter(panels, [TITLES[kind] for kind in shown])
    return plots.show(figure)


draw([SHALLOW, DEEP, ENTROPY])

# %% [markdown]
# ## What to see


# %% tags=["remove-input"]
def listed(values, kind):
    return ", ".join(f"{told(values[run])} at {run.label}" for run in fits[kind])


broken = runs[SHALLOW][alphas[0]]
tables.prose(f"""
In one run larger logits delay a shallow network, and no α makes a deeper one generalise.

* **(a) One layer, squared error.** The fit comes at epoch {listed(fitted, SHALLOW)}.
  Test accuracy reaches 90 % at epoch {listed(grokked, SHALLOW)}. The smallest α learns at most
  {told(broken.largest(TRAIN), "{:.0%}")} of its training set.
* **(b) Two layers, squared error.** The fit comes at epoch {listed(fitted, DEEP)}, and for
  no other α. Where it comes, test accuracy stays at or below
  {sheet.told("deeper")}.
* **(c) Two layers, cross-entropy.** The fit comes at epoch {listed(fitted, ENTROPY)}. Test
  accuracy stays at or below {sheet.told("entropy")}.
""")

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
# With $\eta / \alpha^2$ in place of $\eta$ the outputs learn at one speed for any α, the
# {term}`readout scale`. The weights move only $1/\alpha$ as far. A large α makes the
# network *lazy*: it fits with the features it has {cite:p}`kumar2024`. Below is the length
# of the first step of all outputs, for three values of α:


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
[f"α = {alpha:g}: {first_step(alpha, 100).norm():.2f}" for alpha in (0.25, 1, 4)]


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
    adaptive = by_package(alpha, optimizers.AdamW, lr=0.01 / alpha**2)
    rows.append([f"{alpha:g}", f"{step.norm():.2f}", f"{adaptive.norm():.1f}"])
tables.grid(["α", "SGD, 100 / α²", "AdamW, 0.01 / α²"], rows)

# %% [markdown]
# That is gradient descent. AdamW divides the gradient by its own size, which takes one α
# out already. Divided by α² its outputs slow down by the other one, fourfold from α = 1 to 4.
# At 0.25 its step is so long that the formula, which is one for short steps, no longer holds.

# %% tags=["hide-input"]
#| name: fig-prieto2025-13-rates
#| caption: >
#|   Panel (a) with two other learning rates: again a larger α is later. (a) AdamW with the
#|   learning rate kept. (b) SGD with momentum and the learning rate over α².
#| alt: >
#|   Two panels of accuracy against epoch. AdamW with the learning rate kept: α 0.25 is
#|   earlier than α 1, and α 4 does not fit. SGD: α 0.25 fits and generalises first and then
#|   breaks down, α 1 follows, α 4 has not fitted at epoch 1,000.
#| fold: "Code: draw the other two ways"
draw([KEPT, PLAIN])

# %% [markdown]
# ## The claims
#
# "Fit" is the first logged epoch with 99 % training accuracy, {term}`delay` the epochs from
# there to 90 % test accuracy. Only those α count at which the network fits: what was not
# learned cannot be expected to generalise.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# 1. *Reduced.* One seed, three of six α and 1,000 of 10,000 epochs. "Does not generalise" is
#    said of these epochs.
# 2. *Scales, learning rates, epochs and width* are not given by the paper. The learning rates
#    at α = 1 are chosen so that the network fits; with two layers and squared error 0.01 does
#    not.
# 3. *Optimiser.* Dividing by α² is the rule of gradient descent. It is kept for AdamW because
#    the [official code](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability)
#    does so (`grokking_experiments.py`, commit `0cc9e8d`).
# 4. *Measurements with α.* Loss and collapse in the record are those of $\alpha f(x)$, which
#    is what is trained; the official log leaves α out. Accuracies do not depend on it.
#
# ## Reading the result

# %% tags=["remove-input"]
kept, quick = runs[KEPT][alphas[0]], runs[PLAIN][alphas[0]]
tables.prose(f"""
**The direction agrees.** Under each of three learning rates a larger α makes the shallow
network later. In (a) the {{term}}`delay` in epochs is {listed(delay, SHALLOW)}. But the fit is
put off by more, so that the delay shrinks *relative* to it. Two values of α make no law.

**Much of what α does here is the learning rate.** The smallest α gets sixteen times the
rate of α = 1. AdamW takes one α out by itself, and is at least four times too fast. With the rate
kept the same α fits at epoch {told(fitted[kept])}, and it is the largest that fails. The
paper does not name its optimiser.

**SGD, to which the rule belongs, shows the same order.** It fits at epoch
{listed(fitted, PLAIN)}. At the smallest α test accuracy gets to
{told(quick.largest(TEST), "{:.0%}")} and falls back to {told(quick.last(TEST), "{:.0%}")}: a
learning rate of 1,600 is on the edge of stability.

**"No value" of α is a statement about all values and any time**, of which this page has a
corner. Longer runs with cross-entropy and α = 1 are in [Figure 1](fig01_headline.ipynb) and
[Figure 2](fig02_softmax_collapse.ipynb).
""")

# %% [markdown]
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
# In a network without biases, larger weights are larger logits. Once all samples are right
# they lower the loss at any α. A small α only means that the weights have to grow
# further first. Squared error has a target for the logits, and no such way.
# ```
#
# ## Run it yourself
#
# This page, in about eight minutes on one core: three of six α, 1,000 of 10,000 epochs, one
# seed.
#
# ```bash
# make page PAGE=prieto2025/fig13 SCALE=laptop
# ```
