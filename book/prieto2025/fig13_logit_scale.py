# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 13: A larger logit scale delays the shallow network; deeper ones do not generalise in a short run (partly seen at reduced scale)
#
# **Claim.** A factor $\alpha$ on the {term}`logits <logit>` controls when a network
# generalises that generalises anyway, a shallow one with squared error (a). Deeper networks
# (b) and {term}`softmax` cross-entropy (c) do not generalise at any $\alpha$, though it
# moves the time of the fit {cite:p}`prieto2025`. **Here.** Addition modulo 113, AdamW with
# the learning rate divided by $\alpha^2$ as in the released code, and panel (a) once more
# with the learning rate kept; one seed, three values of $\alpha$, 1,000 epochs. **What came
# out.** The shallow network generalises at the two larger values, later at the largest; two
# layers do so at none, as claimed. At the smallest the divided learning rate is so
# large that squared error is not even fitted: $\alpha$ is hard to tell from the learning
# rate here.

# %% [markdown]
# ## What was run
#
# The paper gives the three settings of the panels and nothing else: neither scales nor
# learning rate, optimiser or width. The released code multiplies the logits by $\alpha$ and
# divides the learning rate by $\alpha^2$. Panel (b) has a smaller learning rate than (a): at
# 0.01 a pilot with two layers and squared error did not fit at all, at 0.001 it did.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import torch
from matplotlib.ticker import NullFormatter

from grokbook import claims, evidence, losses, optimizers, plots, tables
from grokbook.engine.build import start

plots.use_style()
record = evidence.record(
    "prieto2025/fig13", scale=scale, retrain=retrain, device=device
)

# %% tags=["hide-input"]
tables.settings(
    record,
    paper={
        "dataset": "modular",
        "model": "mlp",
        "model.widths": "one or two hidden layers",
        "loss": "mean squared error (a, b), softmax cross-entropy (c)",
        "optimizer.weight_decay": "0 (c)",
    },
    code={
        "model.bias": "False",
        "optimizer.lr": "divided by the square of alpha",
        "optimizer.weight_decay": "0",
    },
    notes={
        "dataset.train_fraction": "as in the paper's other figures",
        "optimizer.lr": "at alpha 1: 0.01 (a), 0.001 (b), 0.005 (c), all ours",
        "optimizer.betas": "as in the paper's other figures",
        "optimizer.eps": "as in the paper's other figures",
        "epochs (full batch)": "ours; a run ends early at 99 % test accuracy",
    },
)

# %% tags=["hide-input"]
tables.arms(record)

# %% [markdown]
# ## The idea in code
#
# With outputs $z = \alpha f(x)$ a step $-\eta\, \nabla_\theta \mathcal L$ changes them by
#
# $$
# \Delta z = \alpha\, J \Delta\theta
#   = -\eta\, \alpha^2\, J J^\top\, \frac{\partial \mathcal L}{\partial z},
# \qquad J = \frac{\partial f}{\partial \theta} .
# $$
#
# With $\eta / \alpha^2$ in place of $\eta$ the outputs learn at one speed for any $\alpha$,
# but the weights move only $1/\alpha$ as far. A large $\alpha$ makes the network *lazy*: it
# fits with the features it has. This is gradient descent. AdamW divides the gradient by
# its own size, which takes one $\alpha$ out, and then $\alpha^2$ is too much: its outputs
# slow down about as $1/\alpha$. One step from the start shows both, with the outputs counted
# from those of the untrained network, as the theory has it:


# %%
def first_step(alpha, optimizer):
    """Changes made by one step: of the outputs (root mean square), of the weights."""
    data, network = start(one, record.experiment.seeds[0])
    before = [w.detach().clone() for w in network.parameters()]
    begin = network(data.x_train).detach()
    losses.mean_squared_error(
        alpha * (network(data.x_train) - begin), data.y_train
    ).backward()
    optimizer(network.parameters()).step()
    moved = alpha * (network(data.x_train) - begin)
    steps = [w - old for w, old in zip(network.parameters(), before, strict=True)]
    return moved.square().mean().sqrt(), torch.cat([s.flatten() for s in steps]).norm()


one = record.experiment.arms[0]
print("       SGD, lr 10/alpha^2      AdamW, lr 0.01/alpha^2")
print("alpha    outputs  weights           outputs  weights")
for alpha in (0.25, 0.5, 1, 2, 4, 10):
    sgd = first_step(alpha, lambda w, a=alpha: optimizers.SGD(w, lr=10 / a**2))
    adam = first_step(alpha, lambda w, a=alpha: optimizers.AdamW(w, lr=0.01 / a**2))
    print(f"{alpha:5g}{sgd[0]:11.1e}{sgd[1]:9.1e}{adam[0]:18.1e}{adam[1]:9.1e}")

# %% tags=["hide-input"]
SHALLOW, KEPT = "MSE, 1 layer", "MSE, 1 layer, lr kept"
DEEP, ENTROPY = "MSE, 2 layers", "CE, 2 layers"
TITLES = {
    SHALLOW: "1 hidden layer, MSE",
    DEEP: "2 hidden layers, MSE",
    ENTROPY: "2 hidden layers, CE",
    KEPT: "as (a), learning rate kept",
}


def arms_of(panel):
    """Alpha -> arm of a panel, for the arms with a seed, in the order of alpha."""
    chosen = {}
    for arm in record.experiment.arms:
        kind, alpha = arm.name.rsplit(", alpha ", 1)
        shared = panel == KEPT and kind == SHALLOW and alpha == "1"
        if (kind == panel or shared) and record.seeds(arm.name):
            chosen[alpha] = arm.name
    return dict(sorted(chosen.items(), key=lambda item: float(item[0])))


grid = {panel: arms_of(panel) for panel in TITLES}
grid = {panel: arms for panel, arms in grid.items() if arms}
alphas = sorted({alpha for arms in grid.values() for alpha in arms}, key=float)
COLOURS = plots.shades(alphas)


def fit(arm):
    return claims.first_epoch(record, arm, "train_accuracy", reaches=0.99)


def grok(arm):
    return claims.first_epoch(record, arm, "test_accuracy", reaches=0.9)


def best(arm):
    return claims.largest(record, arm, "test_accuracy")


# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Test accuracy (solid) and training accuracy (dashed) for several factors on the logits, with the learning rate divided by their square; MSE is squared error, CE cross-entropy. The axis of epochs is logarithmic; a curve ends where test accuracy reaches 99 %. Thin lines are single seeds.", "name": "fig-prieto2025-13"}, "image": {"alt": "Three panels, accuracy against epoch. With one layer and squared error training accuracy rises to 100 percent and test accuracy follows, both later for a larger factor; at the smallest factor nothing is learned. With two layers and squared error training accuracy rises, at the smallest factor only to a half and back, with cross-entropy to 100 percent at each. Test accuracy of two layers stays near zero."}}
shown = [panel for panel in (SHALLOW, DEEP, ENTROPY) if panel in grid]
figure, panels = plots.panels(len(shown), height=3.3, sharey=True)
last = record.frame["epoch"].max()
for axes, panel in zip(panels, shown, strict=True):
    for alpha, arm in grid[panel].items():
        plots.accuracy(axes, record, arm, color=COLOURS[alpha], label=f"α = {alpha}")
    axes.set(xscale="log", xlim=(min(10, last / 4), last), ylabel="")
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value:g}" if value < 1000 else f"{value / 1000:g}k"
    )
    axes.xaxis.set_minor_formatter(NullFormatter())
panels[0].set_ylabel("accuracy (%)")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=len(alphas))
plots.letter(panels, [TITLES[panel] for panel in shown])
figure.show()

# %% [markdown]
# The times behind the curves: the first logged epoch with 99 % of the training set, and with
# 90 % of the test set where it is ever reached. The last panel is (a) without dividing the
# learning rate.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Epochs to 99 % training accuracy (open) and to 90 % test accuracy (filled) against the factor on the logits, both axes logarithmic; every seed is a marker, the line joins medians. What is never reached is missing.", "name": "fig-prieto2025-13-times"}, "image": {"alt": "Four panels, epochs against the factor on logarithmic axes. One layer with squared error: both times rise with the factor, test a little above train, and the smallest factor is missing. Two layers: only times of the fit, a single one with squared error, rising steeply with the factor for cross-entropy. Learning rate kept: both times rise, and the largest factor is missing."}}
shown = list(grid)
figure, panels = plots.panels(len(shown), height=3.0, sharey=True)
for axes, panel in zip(panels, shown, strict=True):
    for measure, color, face, label in (
        (fit, plots.BLACK, "white", "99 % train"),
        (grok, plots.RED, plots.RED, "90 % test"),
    ):
        times = {float(a): measure(arm) for a, arm in grid[panel].items()}
        middle = {a: claims.median(v) for a, v in times.items()}
        line = {a: t for a, t in middle.items() if math.isfinite(t)}
        axes.plot(list(line), list(line.values()), color=color, lw=1.2)
        dots = [(a, t) for a, v in times.items() for t in v.values()]
        dots = [(a, t) for a, t in dots if math.isfinite(t)]
        style = {"marker": "o", "ls": "", "color": color, "mfc": face, "ms": 6}
        axes.plot(
            *(zip(*dots, strict=True) if dots else ((), ())), **style, label=label
        )
    axes.set(xscale="log", yscale="log", xlabel="α", ylim=(5, 1.5 * last))
    axes.set_xlim(0.7 * float(alphas[0]), 1.4 * float(alphas[-1]))
    axes.set_xticks([float(a) for a in alphas if a != "0.5"])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
panels[0].set_ylabel("epoch")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2)
plots.letter(panels, [TITLES[panel].replace(", ", ",\n") for panel in shown])
figure.show()

# %% [markdown]
# The same in numbers, as medians over seeds: epoch of the fit / epoch of 90 % test
# accuracy; where the latter is missing, the largest test accuracy in brackets, and for what
# does not fit the largest training accuracy.


# %% tags=["hide-input"]
def cell(panel, alpha):
    if alpha not in grid[panel]:
        return "not run"
    arm = grid[panel][alpha]
    fitted, grokked = claims.median(fit(arm)), claims.median(grok(arm))
    if math.isfinite(grokked):
        early = f"{fitted:.0f}" if math.isfinite(fitted) else "—"
        return f"{early} / {grokked:.0f}"
    reached = claims.median(best(arm))
    if math.isfinite(fitted):
        return f"{fitted:.0f} / never ({reached:.1%})"
    trained = claims.median(claims.largest(record, arm, "train_accuracy"))
    return f"no fit ({trained:.0%}; {reached:.1%})"


tables.grid(
    ["α", *(TITLES[panel] for panel in grid)],
    [[alpha, *(cell(panel, alpha) for panel in grid)] for alpha in alphas],
)

# %% [markdown]
# ## Check
#
# "Fit" is the first logged epoch with 99 % training accuracy, "delay" the epochs from
# there to 90 % test accuracy, infinite if that is never reached. Thresholds with a dagger
# are the replication's own.


# %% tags=["hide-input"]
def by_seed(panel, function):
    """function(the panel's arms that a seed has, that seed), by seed."""
    found = {}
    for seed in record.experiment.seeds:
        arms = [arm for arm in grid[panel].values() if seed in record.seeds(arm)]
        if arms:
            found[seed] = float(function(arms, seed))
    return found


def top(arms, seed):
    return max(best(arm)[seed] for arm in arms)


def delays(arms, seed):
    """Delays in the order of alpha, without the scales at which nothing is fitted."""
    pairs = [(fit(arm)[seed], grok(arm)[seed]) for arm in arms]
    return [test - train for train, test in pairs if math.isfinite(train)]


def against(arms, seed):
    """Steps from one alpha to the next that go against the others; never: no order."""
    found = delays(arms, seed)
    if len(found) < 3 or len(set(found)) < 2:
        return math.inf
    steps = list(zip(found, found[1:], strict=False))
    return min(sum(a > b for a, b in steps), sum(a < b for a, b in steps))


def spread(arms, seed):
    """Latest over earliest fit, among the scales that fit; never: fewer than two do."""
    times = [fit(arm)[seed] for arm in arms]
    times = [max(t, 1.0) for t in times if math.isfinite(t)]
    return max(times) / min(times) if len(times) > 1 else math.inf


def fitting(arms, seed):
    return sum(math.isfinite(fit(arm)[seed]) for arm in arms)


def grokking(arms, seed):
    return sum(math.isfinite(grok(arm)[seed]) for arm in arms)


found = []
if SHALLOW in grid:
    found += [
        claims.per_seed(
            record,
            "(a) one layer, MSE: some α groks, largest test accuracy at least 90 %",
            "generalises",
            by_seed(SHALLOW, top),
            lambda share: share >= 0.9,
            show="{:.1%}",
            source="4.13",
        ),
        claims.per_seed(
            record,
            "(a) one layer, MSE: the delay rises or falls with α throughout (steps "
            "against the rest; never: fewer than three α fit or all delays are alike)",
            "α controls generalization",
            by_seed(SHALLOW, against),
            lambda steps: steps == 0,
            source="4.13",
        ),
    ]
for letter, panel, words in (
    ("b", DEEP, "two layers, MSE"),
    ("c", ENTROPY, "two layers, cross-entropy"),
):
    if panel not in grid:
        continue
    found += [
        claims.per_seed(
            record,
            f"({letter}) {words}: no α generalises, largest test accuracy at most 5 %",
            "no value triggers grokking",
            by_seed(panel, top),
            lambda share: share <= 0.05,
            show="{:.1%}",
            source="4.13",
        ),
        claims.per_seed(
            record,
            f"({letter}) {words}: α moves the fit, latest over earliest at least 2† "
            "(never: fewer than two α fit)",
            "controls the time of over-fitting",
            by_seed(panel, spread),
            lambda ratio: 2 <= ratio < math.inf,
            show="{:.1f}",
            source="4.13",
        ),
    ]
for panel in grid:
    for words, measure in (("fit", fitting), ("grok", grokking)):
        found.append(
            claims.extra(
                record,
                f"{TITLES[panel]}: number of α that {words}, of {len(grid[panel])}",
                by_seed(panel, measure),
            )
        )
for panel in (SHALLOW, KEPT):
    for alpha, arm in grid.get(panel, {}).items():
        if panel == KEPT and alpha == "1":
            continue  # the run of (a)
        found.append(
            claims.extra(
                record,
                f"{TITLES[panel]}, α = {alpha}: delay in epochs",
                claims.combine(
                    lambda a, b: b - a if math.isfinite(a) else math.inf,
                    fit(arm),
                    grok(arm),
                ),
            )
        )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="prieto2025/fig13")

# %% [markdown]
# ## Reading the result
#
# **The shallow network.** With one layer and squared error the network generalises without
# any regularisation, soon after it has fitted. A larger $\alpha$ makes both later and the
# delay longer, with the learning rate divided as well as kept. This is the direction of the
# lazy regime, in which features hardly change on the way to the fit. But the fit itself is
# put off by more: *relative* to its time the delay gets shorter. Much of what $\alpha$ does
# here may be plain slowness, and two scales that fit do not make a law.
#
# **What fails is fast, not small.** For AdamW the outputs move by about $\eta\alpha$ per
# step. Where the rule sets $\eta = 0.01/\alpha^2$, that is $0.01/\alpha$: at
# $\alpha = 0.25$ four times the speed of $\alpha = 1$, and one layer is not fitted. With the
# learning rate kept the same $\alpha = 0.25$ generalises, earlier than $\alpha = 1$ does.
# There it is $\alpha = 4$ that is four times as fast, and not fitted. So the rule that
# makes gradient descent independent of $\alpha$ turns the axis round for AdamW. The paper does
# not name its optimiser for this figure.
#
# Two rows compare times over scales and read "never" when too few scales fit within the run;
# that is a lack of evidence, not evidence against the paper.
#
# **Two layers.** Where they fit, with either loss, test accuracy stays at that of guessing to
# the end of the run. Cross-entropy fits at every scale, later for a larger $\alpha$. Squared
# error does not: at the smallest scale it fails, at the largest it is still on its way, and
# what has not fitted cannot be expected to generalise. So the row "no α generalises" says
# little for (b). "No value is enough" is a statement about all values and any time; the
# tables give what was tried. Much longer runs at $\alpha = 1$ are in
# [Figure 1](fig01_headline.ipynb) and [Figure 2](fig02_softmax_collapse.ipynb).
#
# Deviations and ambiguities:
#
# 1. *Scales, learning rates, epochs and width* are not given by the paper; ours are in the
#    tables. The three learning rates at $\alpha = 1$ are chosen so that the network fits.
# 2. *Optimiser.* The argument for dividing by $\alpha^2$ is one about gradient descent. It is
#    kept for AdamW because the released code does so; the last panel shows what it does.
# 3. *Measurements with α.* Loss and collapse in the record are those of $\alpha f(x)$, which
#    is what is trained. The official log leaves $\alpha$ out of both. Accuracies, the only
#    thing shown here, do not depend on it.
# 4. *An end.* A run stops at 99 % test accuracy; what would come later is not seen.
#
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-13-kernel
# For gradient descent with $\eta / \alpha^2$ and a network whose outputs at the start are
# zero, how far do the weights have to move, compared with $\alpha = 1$, to change the
# outputs by a given amount, while $J$ hardly changes?
# ```
#
# ```{solution} ex-prieto2025-13-kernel
# :class: dropdown
# $\Delta z = \alpha J \Delta \theta$, so $1/\alpha$ as far. As the distance goes to zero, so
# does the change of $J$: in the limit the network is a linear model with fixed features,
# the neural tangent kernel, and whether it generalises depends on that kernel alone.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-13-adam
# Which power of $\alpha$ would give AdamW the same property? Check it with `first_step`.
# ```
#
# ```{solution} ex-prieto2025-13-adam
# :class: dropdown
# The first: a step of AdamW has length $\eta$ per weight whatever the gradient is, so $\Delta z$
# grows as $\eta\alpha$, and $\eta/\alpha$ keeps it. In `first_step` put `lr=0.01 / a`: the
# column of the outputs is then nearly constant.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-13-ce
# Why can $\alpha$ not stop {term}`naive loss minimisation` with cross-entropy, even a tiny one?
# ```
#
# ```{solution} ex-prieto2025-13-ce
# :class: dropdown
# Once all samples are right, scaling the weights of a network without biases scales its
# logits, and lowers the loss at any $\alpha$. A small $\alpha$ only means that the weights
# have to grow further first. Squared error has a target for the logits, and no such way.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(record)

# %% [markdown]
# The page again from the record: `grokbook execute prieto2025/fig13`. Trained anew with
# fewer epochs: `make page PAGE=prieto2025/fig13 SCALE=laptop`.
