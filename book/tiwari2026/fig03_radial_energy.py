# %% [markdown]
# # [Tiwari et al. 2026 · Figure 3]{.kicker} With the penalty the whole gradient lies along the activations far more than by chance

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import metrics

plots.use_style()
page = evidence.Page("tiwari2026/fig03", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
names = ("penalty", "strong decay", "baseline")
size = "laptop" if scale == "best" else scale
small = page.record("fig01", scale=size)  # narrower and longer
thin, thin_free = (Run(small, name) for name in ("penalty", "baseline"))
push, decay, free = runs = [Run(record, n, n, plots.COLOUR[n]) for n in names]
d = push.settings.model.options["widths"][0]
PRINTED = 0.15  # of the penalty, the paper's text
WINDOW = {0.6: 1320, 0.5: 2460}[
    push.settings.dataset.options["train_fraction"]
]  # Table 6
until = {run: run.onset().clip(upper=WINDOW) for run in runs}
fit = {run: run.fitted(accuracy=0.99) for run in runs}
begin = push.settings.log  # the first log after the start
layers, TWO = {"layer 1": "pre.0", "layer 2": "pre.1"}, "{:.2f}"


def energy(layer, kind="loss", reading="mean"):
    """The column of a layer, a gradient (loss or total) and a way to average rows."""
    return f"radial_{kind}_{reading}.{layers[layer]}"


def changed(run, column):
    """Value at the end over that at the fit."""
    return run.last(column) / run.at(column, fit[run])


def isotropic(d, rows=20_000):
    """Mean radial energy of gradients that know nothing of h."""
    one, two = torch.randn(2, rows, d, generator=torch.Generator().manual_seed(0))
    return metrics.radial_energy(one, two)["mean"].item()


def of_layers(pick, run, measure, *how, **of):
    """The smaller or the larger of both layers, by seed."""
    one, two = (getattr(run, measure)(energy(layer, *how), **of) for layer in layers)
    return one.combine(two, pick)


def across(**of):
    """Smallest share of the total gradient's energy that is angular."""
    return 1 - of_layers(max, push, "largest", "total", "summed", since=begin, **of) / d


null = {size: isotropic(size) for size in (2, 16, d, 512)}
listed = ", ".join(f"d = {size}: {value:.2f}" for size, value in null.items())
means = {
    r: {n: r.series(energy(n), until=until[r]).mean() for n in layers} for r in runs
}
squared = {n: changed(push, f"radius.{place}") ** 2 for n, place in layers.items()}
low = of_layers(min, push, "largest", "total", since=begin, until=until[push])
found = {
    "low": (push, low),
    "loss": {n: (push, mean) for n, mean in means[push].items()},
    "start": (push, of_layers(min, push, "at", "total", epoch=0)),
    "baseline": (free, of_layers(max, free, "largest", since=begin, until=fit[free])),
    "less": {
        n: ([push, free], evidence.ratio(means[push][n], means[free][n]))
        for n in layers
    },
    "angular": (push, across(until=until[push])),
    "chance": claims.exactly(
        listed, [abs(value - 1) < 0.05 for value in null.values()]
    ),
    "order": claims.exactly(f"1 / {PRINTED} = {1 / PRINTED:.1f}", [1 / PRINTED >= 10]),
    "masked": {n: (push, push.last(energy(n, "loss", "masked"))) for n in layers},
}
sheet = claims.read(page.name, found, window=WINDOW, width=d)
peak, bottom = claims.median(low), claims.median(push.last(energy("layer 1")))
sheet.box(f"""A gradient can change the length of a network's activations, or turn them. The radial energy is the part
that changes the length, scaled so that a gradient in a random direction has 1, which is chance
(the paper's "isotropic random baseline"). The paper says that with
its penalty, which draws the lengths of activations to a target, the radial energy lies far below 1, near {PRINTED}, from the start.

Here the radial energy of the whole gradient, of loss and penalty, rises to {peak:.0f} in layer 2, and higher in layer 1,
by epoch {WINDOW:,}, at which the paper's networks generalise. So the sentence fails: the penalty adds a gradient that
changes lengths alone. Even so, up to then most of the gradient still turns the activations (not drawn), as the
radial energy of a gradient that does not turn them at all is the width, 512.

For the gradient of the loss alone the sentence comes true late, and in one layer. In layer 1 it is
above 1 until about epoch 1,000 and then falls to {bottom:.2f}; in layer 2 it ends above 1.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-03
#| caption: >
#|   With the penalty the radial energy of the whole gradient climbs far above chance in both
#|   layers. (a) The gradient of loss and penalty. The large dot is the value by which we judge the
#|   paper's sentence. (b) The gradient of the loss alone: with the penalty (green) it falls below
#|   chance in layer 1 only, without it, in the baseline (black), in neither layer. Thick solid
#|   lines are layer 1, thick dashed lines layer 2; the thin dashed grey line is chance, 1. All lines are
#|   medians of the runs. Diamonds are the paper's 0.15 for the penalty, of which it names no layer.
#| alt: >
#|   Two panels against the epoch, both axes logarithmic. All curves start between 0.9 and 1.6. The total gradient
#|   with the penalty climbs to 180 in layer 1, then falls, and to several hundred in layer 2. With
#|   the gradient of the loss the penalty's curve ends below 0.1 in layer 1 and above 1 in layer 2;
#|   the baseline's curves stay above 1.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, height=4.0, sharex=True, sharey=True)
ticks, place = [0, 100, 1000], {"ha": "left", "fontsize": 9}
for panel, kind in zip(axes, ("total", "loss"), strict=True):
    for run in (push,) if kind == "total" else (push, free):
        for n, dash in zip(layers, ("-", plots.DASHED), strict=True):
            style = {"linestyle": dash, "each_seed": False, "label": ""}
            plots.curve(panel, run, energy(n, kind), **style)
    panel.axhline(1, color=plots.GREY, ls="--", lw=1)
    panel.text(8000, 0.88, "chance", color=plots.GREY, ha="right", va="top", fontsize=9)
    plots.paper(panel, ticks, [PRINTED] * 3, color=push.color, label="")
    panel.text(2, 0.175, f"paper {PRINTED}", color=push.color, va="bottom", **place)
    panel.set_xscale("symlog", linthresh=100)
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.set(yscale="log", ylim=(0.04, 700), xlim=(-3, push.settings.epochs))
    panel.set(xlabel="epoch", ylabel="" if kind == "loss" else "radial energy / chance")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
axes[0].plot(WINDOW, peak, "o", color=push.color, ms=7)
plots.note(axes[0], f"{peak:.0f} by {WINDOW:,}", (WINDOW, peak), (WINDOW, 5))
axes[0].text(120, 20, "penalty\nlayer 1", color=push.color, fontsize=9)
axes[0].text(1500, 420, "layer 2", color=push.color, ha="right", fontsize=9)
words = f"penalty, layer 1: {bottom:.2f}"
axes[1].text(7600, 0.07, words, color=push.color, ha="right", va="top", fontsize=9)
middle = {"ha": "center", "fontsize": 9}
axes[1].text(480, 4.6, "penalty, layer 2", color=push.color, **middle)
axes[1].text(4500, 4.6, "baseline", color=free.color, **middle)
plots.letter(axes, ["gradient of loss and penalty", "gradient of the loss alone"])
plots.show(figure)

# %% [markdown]
# ## What to see
#
# * **At the start** the {term}`radial energy` is close to 1, as it must be.
# * **Loss and penalty (a).** This is the gradient of the paper's formula. Its energy climbs far above 1 in
#   both layers once the training set is fitted.
# * **Loss alone (b).** With the penalty it falls below 1 in layer 1, from about epoch 1,000 on. In layer 2 it
#   stays above. The paper says 0.15 and names no layer.

# %% tags=["remove-input"]
rows = []
for run in (push, free):
    for epoch in (0, begin, WINDOW, push.settings.epochs):
        values = [
            run.at(energy(n, k), epoch) for k in ("loss", "total") for n in layers
        ]
        digits = ("{:.0f}" if one.min() > 10 else TWO for one in values)
        rows.append([run.label, f"{epoch:,}", *map(told, values, digits)])
head = [f"{k}, {n}" for k in ("Loss alone", "Whole gradient") for n in layers]
tables.grid(["Method", "Epoch", *head], rows)

# %% [markdown]
# ## The idea
#
# Let $h$ be the $d$ pre-activations of one sample and $g$ the gradient with respect to them.
# Its radial energy is $d$ times the squared cosine between the two,
#
# $$
# \tilde\Phi = d \, \frac{(h \cdot g)^2}{|h|^2 \, |g|^2} , \qquad
# \mathrm{E}\, \tilde\Phi = d \cdot \frac1d = 1
# $$
#
# for a $g$ without a preferred direction: the squared cosines with $d$ orthogonal axes add
# up to 1, and no axis is special. In an untrained network the weights above a layer are
# drawn independently of those below, with random signs. So $g$ knows nothing of $h$, and
# *every* method has to start near 1.

# %%
torch.manual_seed(0)
a, b = torch.randint(97, (2, 1000))
x = torch.eye(97)[torch.stack([a, b], dim=1)].flatten(1)  # two one-hots, (1000, 194)
h1 = torch.nn.Linear(194, 128)(x)
h2 = torch.nn.Linear(128, 128)(h1.relu())
logits = torch.nn.Linear(128, 97)(h2.relu())
loss = torch.nn.functional.cross_entropy(logits, (a + b) % 97)
pairs = zip((h1, h2), torch.autograd.grad(loss, (h1, h2)), strict=True)
values = [metrics.radial_energy(h.detach(), g)["mean"].item() for h, g in pairs]
assert all(0.5 < value < 2 for value in values)
[f"layer {n}: {value:.1f}" for n, value in enumerate(values, start=1)]

# %% [markdown]
# The penalty adds a gradient along $h$, outward or inward. At a radius off the target this
# makes the total *more* radial, unless it cancels what the loss has. When the loss is fitted,
# its gradient vanishes and that of the penalty remains: the total is radial by construction.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-03-why
#| caption: >
#|   (a) The penalty takes both radii to the target from opposite sides: mean radius over √d.
#|   (b) Then most of the whole gradient is radial: share of its energy that is angular. Layer 1
#|   solid, layer 2 dashed; medians over seeds.
#| alt: >
#|   Left: both radii of the penalty end on the target, from opposite sides. Right: the
#|   angular share of the penalty falls to 70 percent in layer 1, and later to 10 in layer 2;
#|   without a penalty it stays near 100 percent.
#| fold: "Code: draw radius and angular share"
figure, (left, right) = plots.panels(2, height=3.0)
for (layer, place), line in zip(layers.items(), ("-", plots.DASHED), strict=True):
    for run in runs:
        style = {
            "color": run.color,
            "ls": line,
            "label": run.label if line == "-" else None,
        }
        left.plot(run.series(f"radius.{place}").median(axis=1) / d**0.5, **style)
        total = run.series(energy(layer, "total", "summed")).median(axis=1)
        right.plot(100 * (1 - total / d), **style)
left.axhline(1, color=plots.GREY, ls="--", lw=1)
for panel, what in ((left, "radius / √d"), (right, "angular share (%)")):
    panel.set(
        xlabel="epoch", ylabel=what, xlim=(0, push.settings.epochs), ylim=(0, None)
    )
    plots.thousands(panel)
figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter([left, right], ["radius", "angular share"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# *Fit* is a training accuracy of 99 %, {term}`onset` a test accuracy that stays above 90 %. We
# judge a network without an onset up to the paper's onset for this share of the pairs, 2,460
# epochs. The figure shows what follows. The paper does not say which
# layer it means, so we judge the main claim in the layer that suits it better. Other copies of
# the paper have the number 0.15. The text that we quote has lost its formulas.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, small)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* At the paper's width we ran 8,000 of the 100,000 epochs, three times the paper's
#    onset of the penalty; see [Figure 1](fig01_accuracy_curves.ipynb). Chance is 1 at every
#    width; the largest possible value is the width.
# 2. *Gradient.* The formula has that of loss and penalty. We log both, for both layers.
# 3. *Rows.* The paper does not say how it puts training pairs together. We log the mean of the
#    ratios and the ratio of the sums, which run together. We also log the masked mean of later code
#    by the same group. That code counts a pair with $|g|^2 \le 10^{-12}$ as 0, with $g$ that of the mean
#    loss.
# 4. *Logs.* One in 100 epochs, all training pairs, in evaluation mode.

# %% [markdown]
# ## Reading the result
#
# **Not from initialisation onward.** No network can have 0.15 at the start, with or without a
# penalty. The arithmetic needs no training.
#
# **One reading passes 0.15:** layer 1 and the loss alone, from about the paper's onset on. Layer 2
# stays far above.

# %% tags=["remove-input"]
tables.prose(f"""
**The penalty does lower the radial energy of the loss,** in one layer. Up to epoch {WINDOW:,} layer 1
has {sheet.told("less layer 1")} times that of the baseline. Layer 2 has {sheet.told("less layer 2")} times.

**It falls there as the radius grows.** From the fit to the end the squared {{term}}`radius` of layer 1
is multiplied by {told(squared["layer 1"], "{:.0f}")}: the penalty acts outward. Radial energy has $|h|^2$ in its
denominator, and is divided by {told(1 / changed(push, energy("layer 1")), "{:.0f}")} in the same time. A vector that all rows
share is enough for that, as the third exercise shows. So a low value is no sign of a suppressed radius.

**The whole gradient tells the reverse story.** Up to the paper's {{term}}`onset` at least
{told(across(until=until[push]), "{:.0%}")} of its energy is angular in both layers. By the end it
is {told(across(), "{:.0%}")} at worst. At chance the share is {evidence.words(1 - 1 / d, "{:.1%}")}, so
"predominantly angular" is no feat.

**In small networks it falls first, with the penalty and without.** At width 128 and epoch {2 * begin} layer 1
has {told(thin.at(energy("layer 1", "total"), 2 * begin), TWO)} for the whole gradient with the penalty. The baseline has
{told(thin_free.at(energy("layer 1", "total"), 2 * begin), TWO)}. Layer 2 does the same. With the
penalty the fall ends with the fit.

**A mask makes zeros.** Once the pairs are fitted most gradients are below the mask. With the penalty the
masked mean ends at {sheet.told("masked layer 1")} in layer 1, whatever the direction of the gradients. On
its way down it passes {PRINTED} in both layers.
""")

# %% [markdown]
# **A high radius is no sign of radial gradients either.** The baseline's layer 2 grows far beyond
# $\sqrt d$, the inflation that the paper speaks of. The radial energy of its loss is only a little
# above that with the penalty.
#
# **Two sentences exclude each other.** Section 4.1 says that "the baseline exhibits severe
# radial inflation". Appendix C.2 speaks of the "unpenalized baseline, whose radial inflation
# suppresses" the same quantity "from the first epoch".

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-03-spread
# For one row and an isotropic $g$ the squared cosine has mean $1/d$ and variance
# $2 (d - 1) / (d^2 (d + 2))$. How far from 1 would the mean over 4,656 independent rows
# stray? How many such deviations is 0.15 away?
# ```
#
# ````{solution} ex-tiwari2026-03-spread
# :class: dropdown
# ```python
# d, rows = 512, 4656
# spread = (2 * (d - 1) / (d + 2) / rows) ** 0.5
# print(f"{spread:.3f}; 0.15 is {(1 - 0.15) / spread:.0f} deviations below 1")
# ```
#
# Rows share one set of weights, so the true spread is larger; over seeds of the cell above
# it is some per cent.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-03-angular
# What share of a gradient is angular at radial energy 1, for $d$ = 128 and 512? At which
# radial energy is half of it radial?
# ```
#
# ````{solution} ex-tiwari2026-03-angular
# :class: dropdown
# ```python
# for d in (128, 512):
#     print(f"d = {d}: {1 - 1 / d:.1%} angular at chance, half of it at {d / 2:.0f}")
# ```
#
# So a fall from 1 to 0.15 would make the angular share 99.97 % instead of 99.8 %, of 512.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-03-shared
# Add the same long vector, orthogonal to all gradients, to every row $h$. What becomes of
# the radial energy?
# ```
#
# ````{solution} ex-tiwari2026-03-shared
# :class: dropdown
# The product $h \cdot g$ stays and $|h|^2$ grows, so it falls, though no gradient changed:
#
# ```python
# import torch
# from grokbook.metrics import radial_energy
# h, g = torch.randn(2, 1000, 128, generator=torch.Generator().manual_seed(0))
# g[:, 0] = 0
# for length in (0, 11, 22):
#     shared = torch.zeros(128)
#     shared[0] = length
#     print(length, f"{radial_energy(h + shared, g)['mean'].item():.2f}")
# ```
# ````

# %% [markdown]
# ## Run it yourself
#
# The record of Figure 1: three methods at width 128, one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/fig03 SCALE=laptop
# ```
