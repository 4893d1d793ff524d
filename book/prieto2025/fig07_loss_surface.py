# %% [markdown]
# # [Prieto et al. 2025 · Figure 7]{.kicker} With ⊥SGD and StableMax an MLP's test loss falls with its training loss, with plain SGD it rises

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs, their paths and the claims"
import math

import numpy as np
import pandas as pd
import torch
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from claimbook import claims, evidence, plots, tables
from claimbook.engine.build import start
from claimbook.evidence import Run, told, words
from grokbook import losses, metrics

plots.use_style()
page = evidence.Page("prieto2025/fig07", scale, retrain, device)
record = page.record()
sgd = Run(record, "SGD", "SGD", plots.COLOUR["softmax"])
decay = Run(record, "SGD, decay 0.0002", "SGD with decay", plots.COLOUR["weight decay"])
ortho = Run(record, "⊥SGD, StableMax", "⊥SGD", plots.COLOUR["⊥Grad"])
strong = Run(record, "SGD, decay 0.001", "5 × the decay", plots.BLACK)
soft = Run(record, "⊥SGD, softmax", "⊥SGD, softmax", plots.SKY)
three, seed = (sgd, decay, ortho), 42
TRAIN, TEST, TEST_ACCURACY = "train_loss", "test_loss", "test_accuracy"

data, network = start(sgd.settings, seed)
network.double().requires_grad_(False)
parts = {"train": (data.x_train, data.y_train), "test": (data.x_test, data.y_test)}
names = [name for name, _ in network.named_parameters()]
origin = parameters_to_vector(network.parameters())


def surprise(vector, inputs, labels):
    """Mean softmax cross-entropy of the network with these weights."""
    vector_to_parameters(vector, network.parameters())
    return float(
        losses.softmax_cross_entropy(network(inputs), labels, dtype=torch.float64)
    )


def way(run, epoch):
    """From the start to a checkpoint, all weights as one vector."""
    weights = record.weights(run.arm, seed, epoch)
    return parameters_to_vector(weights[name].double() for name in names) - origin


paths = {run: torch.stack([way(run, e) for e in run.settings.keep]) for run in three}
directions = torch.linalg.svd(torch.cat(list(paths.values())), full_matrices=False).Vh
signs = torch.stack([directions[k] @ paths[r][-1] for k, r in enumerate((sgd, ortho))])
plane = directions[:2] * signs.sign()[:, None]  # SGD ends to the right, ⊥SGD above
ends = {
    (r, part): surprise(origin + paths[r][-1], *parts[part])
    for r in three
    for part in parts
}
opening = sgd.settings.keep[0]  # 4 % of the way of SGD


def once(value):
    """A value of the network whose weights are kept."""
    return pd.Series({seed: float(value)})


def held(run, place):
    """Share of a way from the start that lies in the plane."""
    return once((plane @ paths[run][place]).norm() / paths[run][place].norm())


def detour(run):
    """Largest factor of test loss over an interval on which training loss halves."""
    train, test = run.series(TRAIN), run.series(TEST)
    since = (
        (train.loc[e:] / train.loc[e], test.loc[e:] / test.loc[e]) for e in train.index
    )
    return (
        pd.concat([rise.where(left < 0.5) for left, rise in since])
        .max()
        .fillna(math.inf)
    )


def change(run, begin, end):
    """Factor of the test loss between two epochs; NaN where training loss rose."""
    train, test = (run.at(c, end) / run.at(c, begin) for c in (TRAIN, TEST))
    return test.where(train < 1)


fitted, turn = sgd.fitted(accuracy=0.99), decay.peak(TEST)
epochs = decay.settings.epochs
found = {
    "direct": (ortho, detour(ortho)),
    "below-start": (ortho, evidence.ratio(ortho.last(TEST), ortho.at(TEST, 0))),
    "uphill": (sgd, change(sgd, 0, fitted).fillna(0)),
    "uphill-decay": ([decay, sgd], change(decay, 0, fitted).fillna(0)),
    "same-trajectory": (
        [sgd, decay],
        once(metrics.cosine(*(plane @ paths[r][0] for r in (sgd, decay)))),
    ),
    "turns": (decay, change(decay, turn, epochs).fillna(math.inf)),
    "lower-loss": (
        [decay, ortho],
        once(min(ends[decay, part] / ends[ortho, part] for part in parts)),
    ),
    "among-all": ([sgd, decay], once(metrics.cosine(paths[sgd][0], paths[decay][0]))),
    "direct-softmax": (soft, detour(soft)),
}
sheet = claims.read(page.name, found, opening=opening)
peaks = {run: words(claims.median(run.largest(TEST)), "{:.0f}") for run in three}
low = {run: words(claims.median(run.last(TEST)), "{:.2g}") for run in three}
sheet.box(f"""\
⊥Grad leaves the part along the weights out of each gradient. The paper says that gradient descent with it (⊥SGD) moves
directly to low training and test loss. In our MLP it does, with StableMax in place of softmax in the loss: whenever the
training loss halves, the test loss falls too, in all from {words(claims.median(ortho.at(TEST, 0)), "{:.1f}")} to
{low[ortho]}. We would have allowed it to rise by half, so the sentence holds.

Plain SGD has softmax, a tenth of the rate, no momentum and twenty times the epochs. Its test loss climbs to
{low[sgd]} while its training loss falls. With weight decay it climbs to {peaks[decay]} and then begins to fall.

But ⊥SGD alone is not enough: with softmax its test loss rises on the way (not drawn).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-07
#| caption: >
#|   With ⊥SGD and StableMax test loss falls together with training loss; with plain
#|   SGD it rises while training loss falls. Each network is thin and the median thick;
#|   a shaded area spans the networks of one method. A line ends where its training
#|   ends. (a) Test loss is solid, training loss dashed, each in the loss that is
#|   trained on: StableMax for ⊥SGD, softmax for SGD with and without weight decay, so that the heights of the
#|   two cannot be compared. The
#|   numbers are the median test loss at the start, at the ends of ⊥SGD and of plain
#|   SGD, and at the peak of SGD with decay. (b) Test accuracy of the same three, of
#|   ⊥SGD with softmax, and of SGD with five times the weight decay,
#|   of which one network of five generalises.
#| alt: >
#|   Left: training losses of all three fall. Test loss rises to about 20 for SGD. With
#|   decay it rises and begins to fall, for orthogonal SGD it falls below 1 within 500
#|   epochs. Right: only orthogonal SGD with StableMax nears 100 percent in every seed.
#| fold: "Code: draw losses and accuracy against the epoch"
figure, (left, right) = plots.panels(2, height=3.8)
longer = {ortho: "⊥SGD, StableMax", strong: "SGD, 5 × the decay"}
for run in three:
    plots.loss(left, run)
for run in (*three, strong, soft):
    plots.curve(right, run, TEST_ACCURACY, percent=True, label=longer.get(run))
left.set(xscale="log", yscale="log", xlim=(20, None))
begin = words(claims.median(ortho.at(TEST, 0)), "{:.1f}")
for x, y, text, color in (
    (24, 6, begin, plots.BLACK),
    (560, 0.33, f"⊥SGD:\n{low[ortho]}", ortho.color),
    (9500, 24, f"SGD: {low[sgd]}", sgd.color),
    (3000, 7.2, peaks[decay], decay.color),
    (9500, 0.085, "decay", decay.color),
    (24, 3e-3, "solid: test\ndashed: training", plots.GREY),
):
    left.text(x, y, text, color=color, ha="right" if x == 9500 else "left")
for run, x, y, name in (
    (ortho, 560, 93, "⊥SGD, StableMax"),
    (soft, 560, 19, "⊥SGD, softmax"),
    (strong, 5500, 55, "SGD, 5 ×\nthe decay"),
):
    side = "right" if run is strong else "left"
    right.text(x, y, name, color=run.color, ha=side)
right.set(
    xscale="log",
    xlim=(20, None),
    ylim=(-3, 103),
    xlabel="epoch",
    ylabel="test accuracy (%)",
)
for axes in (left, right):
    axes.xaxis.set_major_formatter("{x:,.0f}")
figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter([left, right], ["test and training loss", "test accuracy"])
plots.show(figure)

# %% tags=["hide-input"]
#| name: fig-prieto2025-07-map
#| caption: >
#|   The paper's picture, of the network of seed 42: both SGD paths follow a valley of low
#|   training loss into high test loss, and ⊥SGD, trained with StableMax, leaves it at a
#|   wide angle. Grey: softmax cross-entropy on the plane that holds most of the three
#|   paths; dashed, the loss of guessing. Marks are the kept checkpoints, numbers each
#|   network's own loss at the end. Axes are distances between weights.
#| alt: >
#|   Two grey maps of the loss, training left and test right, with three paths from one
#|   start. SGD and SGD with decay run to the right together, into low training loss and
#|   high test loss. The path of orthogonal SGD turns up, to where both losses are low.
#| fold: "Code: draw the surface and the paths"
POINTS, SAMPLES = 25, 600
LEVELS = (0, 0.1, 0.5, 1, 2, 3, 4, 5, 7, 10, 15, 25)
GREYS = LinearSegmentedColormap.from_list("light", ["#FFFFFF", "#C0C0C0"])
SHADES = {"cmap": GREYS, "norm": BoundaryNorm(LEVELS, GREYS.N, extend="max")}
STYLES = {
    sgd: ("o", "-", (0, -28)),
    decay: ("s", plots.DASHED, (0, 11)),
    ortho: ("D", "-", (40, -6)),
}
guess = math.log(sgd.settings.model.options["classes"])
shadows = {run: torch.cat([origin[None] * 0, paths[run]]) @ plane.T for run in three}
spots = torch.cat(list(shadows.values())).numpy()
margin = 0.22 * np.ptp(spots, axis=0)
low, high = spots.min(axis=0) - margin, spots.max(axis=0) + margin
across, up = (np.linspace(low[k], high[k], POINTS) for k in (0, 1))
figure, panels = plots.panels(2, height=3.7, sharey=True)
for axes, (part, (inputs, labels)) in zip(panels, parts.items(), strict=True):
    some = inputs[:SAMPLES], labels[:SAMPLES]  # the split has shuffled them
    grid = [[origin + a * plane[0] + b * plane[1] for a in across] for b in up]
    heights = [[surprise(vector, *some) for vector in row] for row in grid]
    shade = axes.contourf(across, up, heights, LEVELS, extend="max", **SHADES)
    axes.contour(
        across, up, heights, [guess], colors=plots.GREY, linestyles="--", linewidths=1.2
    )
    for run in three:
        (x, y), (marker, line, place) = shadows[run].numpy().T, STYLES[run]
        axes.plot(x, y, ls=line, color=run.color)
        axes.plot(x[1:], y[1:], marker, color=run.color, mec="white", ms=7, zorder=4)
        label = f"{run.label}\n{ends[run, part]:.2g}".replace("e-0", "e-")
        at = {"xytext": place, "textcoords": "offset points", "ha": "center"}
        axes.annotate(
            label, (x[-1], y[-1]), color=run.color, weight="bold", zorder=6, **at
        )
    axes.plot(0, 0, "x", color=plots.BLACK, ms=8, mew=2, zorder=5)
    axes.set(aspect="equal", xlabel="first direction")
    axes.grid(visible=False)
panels[0].set_ylabel("second direction")
bar = figure.colorbar(shade, ax=list(panels), label="softmax cross-entropy")
bar.set_ticks(LEVELS, labels=[f"{level:g}" for level in LEVELS])
plots.letter(panels, ["training loss", "test loss"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **SGD** fits its training set at epoch {told(fitted)}. By then its test loss has grown
  {sheet.told("uphill", "{:.1f}")}-fold, and it goes on to rise.
* **SGD with {{term}}`weight decay`** sets out the same way. Its test loss peaks at epoch {told(turn)} and falls,
  but test accuracy is still at {told(decay.last(TEST_ACCURACY), "{:.1%}")} when the training ends.
* **⊥SGD**, SGD fed with the {{term}}`orthogonal gradient` and trained with {{term}}`StableMax`, turns upwards on the map.
  It has {told(ortho.at(TEST_ACCURACY, 400), "{:.1%}")} of the test set at epoch 400. With softmax its test loss rises up
  to {sheet.told("direct-softmax", "{:.1f}")}-fold while training loss halves.
* **The map is a shadow.** The plane holds nearly all of the way to the ends. Of the two
  SGD paths to epoch {opening} it holds about half or less. A guess has a loss of {guess:.1f}.
""")

# %% tags=["hide-input"]
#| fold: "Code: the table of paths"
rows = []
for run in three:
    ways = [told(held(run, place), "{:.0%}") for place in (-1, 0)]
    rows.append(
        [
            run.label,
            told(run.last(TEST), "{:.1f}"),
            told(run.last(TEST_ACCURACY), "{:.1%}"),
            *ways,
        ]
    )
head = [
    "Path",
    "Test loss at the end",
    "Test accuracy at the end",
    "Way to the end in the plane",
    "To the first mark",
]
tables.grid(
    head,
    rows,
    caption="Ends of all seeds, in the loss trained on; shares of the way in the plane, of seed 42",
)

# %% [markdown]
# ## The idea
#
# A network of this page has 107,800 weights, and a map has two dimensions. Let $u$ and $v$ be
# orthonormal directions. A network $\theta$ on a path is drawn where its shadow falls. The
# map is shaded with the loss of the networks that lie on the plane itself:
#
# $$
# a = u \cdot (\theta - \theta_0), \qquad b = v \cdot (\theta - \theta_0), \qquad
# \text{surface}(a, b) = \mathcal L(\theta_0 + a u + b v) .
# $$
#
# Here $u$ and $v$ are the two principal components of all checkpoints of the three paths,
# counted from the start $\theta_0$. No other plane holds more of their squared distances.


# %%
def loss_at(a, b, pairs, sums):
    """Softmax cross-entropy of the network at the point (a, b) of the plane."""
    vector_to_parameters(origin + a * plane[0] + b * plane[1], network.parameters())
    return float(cross_entropy(network(pairs), sums))


shadow = plane @ paths[ortho][-1]
for pair in parts.values():  # as the package has it
    assert math.isclose(
        loss_at(*shadow, *pair), surprise(origin + shadow @ plane, *pair), rel_tol=1e-9
    )
[f"{part}: {loss_at(*shadow, *pair):.2g}" for part, pair in parts.items()]

# %% [markdown]
# The two numbers are training and test loss under the end of ⊥SGD *on the map*. They
# differ from the network's own losses, which are written beside the path. The few per cent of the
# way that lie off the plane make that difference.
#
# ## The claims
#
# Curves are of all seeds. Weights were kept of seed 42 alone. So rows that need the plane, or a loss in
# which ⊥SGD was not trained, rest on one run. "Fitted" is 99 % training accuracy.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# 1. *Settings of SGD.* The paper names the methods and gives no numbers. Learning rate 1,
#    momentum 0 and decay 0.0002 are unused defaults in `constants.py` of the [first public
#    code](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability),
#    commit `740778c`. The learning rate is also in a run name. Its
#    SGD has momentum 0.8, a step five times as long in a steady direction. It would reach in about
#    2,000 epochs what our SGD reaches in 10,000. So "still in the valley" below is a statement about
#    momentum 0.
# 2. *⊥SGD* is the one of [Figure 6](fig06_orthogonal_optimizers.ipynb): StableMax, momentum,
#    float64 weights, a projection tensor by tensor with rescaling. The paper's formula has
#    one projection and no rescaling.
# 3. *Plane.* The paper does not say how it projects. Ours is spanned by the paths' principal
#    components. Losses on it are means over 600 pairs of either set.
# 4. *Checkpoints.* Seven per path, of seed 42, rounded to half precision; paths are straight
#    in between.
# 5. *Loss of ⊥SGD.* Its curves are StableMax cross-entropy, in which it is trained. On the
#    map it is softmax cross-entropy.
# 6. *Arms of ours.* Five times the decay, and ⊥SGD with softmax, decide no claim.
#
# ## Reading the result
#
# **We agree on the shape.** SGD goes uphill in test loss, decay starts with it and turns back, and ⊥SGD takes
# another way from the start. In every seed its test loss falls whenever its training loss halves. The paper
# takes the valley of SGD for {term}`naive loss minimisation`; [Figure 5](fig05_gradient_alignment.ipynb)
# measures that.
#
# **One statement does not hold here,** in the one network whose weights were kept. SGD with decay does not end at a lower loss: it is still in the
# valley of SGD. Decay forgets the start over $1 / \eta\lambda = 5{,}000$ epochs, so 10,000 epochs are short. How
# low ⊥SGD ends depends on the loss, too: StableMax needs far larger {term}`logits <logit>` than {term}`softmax`
# for the same certainty.
#
# The paper also says "100% test accuracy within 400 iterations" of ⊥SGD. [Figure 6](fig06_orthogonal_optimizers.ipynb),
# to which it points, judges that sentence.

# %% tags=["remove-input"]
tables.prose(f"""
**"The same trajectory" depends on the plane.** At epoch {opening:,} the cosine between the two SGD paths is
{sheet.told("same-trajectory")} in the plane and {sheet.told("among-all")} among all weights. Our bound is 0.9.

**What we tried.** Five times the decay does not bring SGD there sooner: {np.isfinite(strong.generalises(accuracy=0.9)).sum()} of
{len(strong.seeds)} seeds generalises, and the others have hardly begun to fit. ⊥SGD with softmax fits, and ends at
{told(soft.last(TEST_ACCURACY), "{:.0%}")} of the test set. The straight way belongs to ⊥Grad *and* StableMax.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-07-random
# Two random directions make a plane too. What share of a path would it show?
# ```
#
# ````{solution} ex-prieto2025-07-random
# :class: dropdown
# A random direction holds about $1/107{,}800$ of the squared length of a given vector. Two
# of them show about $\sqrt{2/107{,}800} = 0.4$ % of the distance:
#
# ```python
# import torch
# path = torch.randn(107_800)
# plane = torch.linalg.qr(torch.randn(107_800, 2)).Q
# print(f"{(path @ plane).norm() / path.norm():.2%}")
# ```
#
# All paths shrink to a dot, and the shades around it have nothing to do with them.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-07-decay
# With decay $\lambda$, SGD descends $\mathcal L + \frac{\lambda}{2} \lVert \theta
# \rVert^2$. For $\lambda = 0.001$, from which norm on does the second term exceed the loss
# of guessing, $\log 113$?
# ```
#
# ```{solution} ex-prieto2025-07-decay
# :class: dropdown
# $\lVert \theta \rVert = \sqrt{2 \log 113 / \lambda} = \sqrt{9{,}455} = 97$. SGD without
# decay goes nearly that far on the map, so decay at this strength must hold it back.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-07-momentum
# ⊥SGD is drawn for 500 epochs and SGD for 10,000. With learning rate 10 and momentum 0.8
# against 1 and 0, how many epochs of SGD does one epoch of ⊥SGD correspond to?
# ```
#
# ```{solution} ex-prieto2025-07-momentum
# :class: dropdown
# Take gradients as steady. Momentum adds them up to $1/(1 - 0.8) = 5$ times their size, and
# the rate is ten times larger: 50 in all. Then 500 epochs of ⊥SGD have the reach of 25,000
# epochs of SGD, and "within 400 iterations" compares different amounts of training.
# ```
#
# ## Run it yourself
#
# One seed and 4,000 of the 10,000 epochs of SGD, in about half an hour on one core.
#
# ```bash
# make page PAGE=prieto2025/fig07 SCALE=laptop
# ```
