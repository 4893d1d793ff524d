# %% [markdown]
# # [Tiwari et al. 2026 · Figure 3]{.kicker} The penalty's own pull lifts the radial energy far above chance

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("tiwari2026/fig03", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
names = ("penalty", "strong decay", "baseline")
size = "laptop" if scale == "best" else scale
small = page.record("fig01", scale=size)  # narrower and longer
thin, thin_free = (Run(small, name) for name in ("penalty", "baseline"))
push, decay, free = runs = [Run(record, n, n, plots.COLOUR[n]) for n in names]
d = push.settings.model.options["widths"][0]
LAYERS = (1, 2)
PRINTED = 0.15  # of the penalty, the paper's text
fraction = push.settings.dataset.options["train_fraction"]
WINDOW = {0.6: 1320, 0.5: 2460}[fraction]  # the paper's onset of the penalty, Table 6
until = {run: run.onset().clip(upper=WINDOW) for run in runs}
fit = {run: run.fitted(accuracy=0.99) for run in runs}
begin = push.settings.log  # the first log after the start
TWO = "{:.2f}"


def energy(layer, kind="loss", reading="mean"):
    """The column of a layer, a gradient (loss or total) and a way to average rows."""
    return f"radial_{kind}_{reading}.pre.{layer - 1}"


def radius(layer):
    return f"radius.pre.{layer - 1}"


def usual(run, layer, until=math.inf):
    """Mean over the logs up to an epoch, gradient of the loss."""
    return run.series(energy(layer), until=until).mean()


def peak(run, layer, kind, *, until, reading="mean"):
    """Largest value after the start."""
    return run.largest(energy(layer, kind, reading), since=begin, until=until)


def changed(run, column, power=1):
    """Value at the end over that at the fit."""
    return (run.last(column) / run.at(column, fit[run])) ** power


def of_layers(pick, values):
    """The smaller or the larger of both layers, by seed."""
    return values(1).combine(values(2), pick)


def isotropic(d, rows=20_000):
    """Mean radial energy of gradients that know nothing of h."""
    one, two = torch.randn(2, rows, d, generator=torch.Generator().manual_seed(0))
    return metrics.radial_energy(one, two)["mean"].item()


def angular(layer, until=math.inf):
    """Share of the total gradient's energy across h, the smallest up to an epoch."""
    return 1 - peak(push, layer, "total", until=until, reading="summed") / d


low = of_layers(min, lambda n: peak(push, n, "total", until=until[push]))
started = of_layers(min, lambda n: push.at(energy(n, "total"), 0))
early = of_layers(max, lambda n: peak(free, n, "loss", until=fit[free]))
across = of_layers(min, lambda n: angular(n, until[push]))
null = {size: isotropic(size) for size in (2, 16, d, 512)}
listed = ", ".join(f"d = {size}: {value:.2f}" for size, value in null.items())
each = {f"layer {n}": n for n in LAYERS}
means = {run: {name: usual(run, n, until[run]) for name, n in each.items()} for run in runs}
less = {name: evidence.ratio(means[push][name], means[free][name]) for name in each}
ends = {f"{run.label}, {name}": (run, n) for run in runs[:2] for name, n in each.items()}
masked = {name: push.last(energy(n, "loss", "masked")) for name, n in each.items()}
squared = {name: changed(push, radius(n), 2) for name, n in each.items()}
found = {
    "low": (push, low),
    "loss": {name: (push, mean) for name, mean in means[push].items()},
    "start": (push, started),
    "baseline": (free, early),
    "less": {name: ([push, free], ratio) for name, ratio in less.items()},
    "angular": (push, across),
    "chance": claims.exactly(listed, [abs(value - 1) < 0.05 for value in null.values()]),
    "order": claims.exactly(f"1 / {PRINTED} = {1 / PRINTED:.1f}", [1 / PRINTED >= 10]),
    "loss-start": {name: (push, push.at(energy(n), 0)) for name, n in each.items()},
    "loss-end": {name: (run, run.last(energy(n))) for name, (run, n) in ends.items()},
    "masked": {name: (push, value) for name, value in masked.items()},
    "squared": {name: (push, value) for name, value in squared.items()},
}
sheet = claims.read(page.name, found, window=WINDOW)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-03
#| caption: >
#|   Radial energy: 1 is chance (dashed), d a gradient along h. Above, of the gradient of
#|   the loss alone; below, with the penalty's own, for the arm that has one. Mean over
#|   training pairs. Diamonds: what the paper says of the penalty. Seeds thin, their median
#|   thick; where one of two runs has ended, it is the other.
#| alt: >
#|   Four panels against the epoch, both axes logarithmic. All curves start near 1. With the
#|   gradient of the loss the penalty's curve ends below 0.1 in layer 1 and above 1 in layer
#|   2, and the other arms stay above 1. With the total gradient it climbs to 190 in layer 1,
#|   then falls, and to several hundred in layer 2.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=2, height=2.8, sharex=True, sharey=True)
for place, panel in enumerate(axes):
    kind = ("loss", "total")[place // 2]
    for run in runs if kind == "loss" else (push,):
        name = run.label if place == 0 else ""
        plots.curve(panel, run, energy(place % 2 + 1, kind), label=name)
    panel.axhline(1, color=plots.GREY, ls="--", lw=1)
    points = [0, 100, 1000, 10_000]
    name = "paper" if place == 0 else ""
    plots.paper(panel, points, [PRINTED] * 4, color=push.color, label=name)
    panel.set_xscale("symlog", linthresh=100)
    panel.set(yscale="log", ylim=(0.07, d), xlim=(-3, push.settings.epochs))
    panel.set_xlabel("epoch" if place > 1 else "")
    panel.set_ylabel("" if place % 2 else "radial energy")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
titles = [f"layer {n}, {k}" for k in ("loss alone", "loss and penalty") for n in LAYERS]
plots.letter(axes, titles)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
first = [push.at(energy(n), 0) for n in LAYERS]
last = [push.last(energy(n)) for n in LAYERS]
every = [push.last(energy(n, "total")) for n in LAYERS]
learned = 2 * begin
soon, soon_bare = (
    [run.at(energy(n, "total"), begin) for n in LAYERS] for run in (push, free)
)
tables.prose(f"""
At the paper's width the penalty does not keep the radial energy of the total gradient below 1:
by epoch {WINDOW:,} it has been at {sheet.told("low", "{:.0f}")} in the better layer.

* **At the start** the {{term}}`radial energy` of the loss' gradient is {told(first[0], TWO)} in
  layer 1 and {told(first[1], TWO)} in layer 2. All are close to 1, as they must be.
* **While the pairs are learned**, at epoch {begin}, layer 2 has {told(soon[1], TWO)} with the penalty
  and {told(soon_bare[1], TWO)} in the baseline, of the total gradient. In layer 1 both are above chance,
  and by epoch {learned} in layer 2 too.
* **Loss alone.** With the penalty it ends at {told(last[0], TWO)} in layer 1 and at
  {told(last[1], TWO)} in layer 2. The paper has {PRINTED} and does not name a layer.
* **As the paper writes it**, of the total gradient, it ends at {told(every[0], "{:.0f}")} in layer
  1 and {told(every[1], "{:.0f}")} in layer 2. The largest possible value is $d$ = {d}.
""")

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
# drawn independently of those below, with random signs. So $g$ knows nothing of $h$, and 1
# is what *every* arm has to start with.

# %%
def start(layers=2, width=128, p=97, pairs=1000, seed=0):
    """Mean radial energy of the loss in every layer of a network just made."""
    torch.manual_seed(seed)
    a, b, h, found = *torch.randint(p, (2, pairs)), None, []
    x = torch.cat([torch.eye(p)[a], torch.eye(p)[b]], dim=1)
    for _ in range(layers):
        h = torch.nn.Linear(x.shape[1], width)(x)
        h.retain_grad()
        found.append(h)
        x = h.relu()
    logits = torch.nn.Linear(width, p)(x)
    torch.nn.functional.cross_entropy(logits, (a + b) % p).backward()
    return [metrics.radial_energy(h.detach(), h.grad)["mean"].item() for h in found]


values = [start(seed=seed) for seed in range(20)]
assert all(0.5 < value < 2 for value in sum(values, []))
[f"layer {n + 1}: {sum(v[n] for v in values) / 20:.2f}" for n in range(2)]

# %% [markdown]
# The penalty adds a gradient along $h$, whatever its sign. At a radius off the target this
# makes the total *more* radial, unless it cancels what the loss has. When the loss is fitted,
# its gradient vanishes and the penalty's remains: the total is radial by construction.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-03-why
#| caption: >
#|   (a) Mean radius over √d; layer 1 solid, layer 2 dashed. (b) Share of the total
#|   gradient that is angular. (c) Three ways to put the training pairs together, gradient
#|   of the loss with the penalty: mean of the ratios (solid), ratio of the sums (dashed),
#|   masked mean (dotted); dark layer 1, light layer 2.
#| alt: >
#|   Left: both radii of the penalty end on the target, from opposite sides. Middle: the
#|   angular share of the penalty falls to 70 percent in layer 1, and later to 10 in layer 2. Right: solid and dashed curves run
#|   together, the dotted ones fall to zero after the fit.
#| fold: "Code: draw radius, angular share and three averages"
figure, (size, share, ways) = plots.panels(3, height=3.3)
DOTTED = (0, (1, 1))
for layer, line in zip(LAYERS, ("-", plots.DASHED), strict=True):
    for run in runs:
        scaled = run.series(radius(layer)).median(axis=1) / d**0.5
        name = run.label if layer == 1 else None
        size.plot(scaled, color=run.color, ls=line, label=name)
        total = run.series(energy(layer, "total", "summed")).median(axis=1)
        share.plot(100 * (1 - total / d), color=run.color, ls=line)
for layer, color in zip(LAYERS, (plots.BLACK, plots.SKY), strict=True):
    styles = (("mean", "-"), ("summed", plots.DASHED), ("masked", DOTTED))
    for reading, line in styles:
        column = energy(layer, "loss", reading)
        style = {"linestyle": line, "label": "", "seeds": False, "color": color}
        plots.curve(ways, push, column, **style)
size.axhline(1, color=plots.GREY, ls="--", lw=1)
ways.axhline(1, color=plots.GREY, ls="--", lw=1)
size.set(ylabel="radius / √d", ylim=(0, None))
share.set(ylabel="angular share (%)", ylim=(0, 103))
ways.set(yscale="log", ylabel="radial energy", ylim=(0.02, 10))
ways.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
for panel in (size, share, ways):
    panel.set_xscale("symlog", linthresh=100)
    panel.set(xlabel="epoch", xlim=(-3, push.settings.epochs))
    panel.set_xticks([0, 100, 1000, 10_000])
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
figure.legend(*size.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.letter([size, share, ways], ["radius", "angular share", "three averages"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# Fit is a training accuracy of 99 %, {term}`onset` a test accuracy above 90 % for good. A
# run that has none is judged up to the paper's onset of the penalty for this share of the pairs,
# 2,460 epochs; what comes after that is in the figure. The paper does not say which layer; the
# main claim is judged in the layer that suits it better. The number 0.15 stands in other
# copies of the paper, not in the text that we quote, where formulas are missing.

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
# 2. *Gradient.* The formula has the total one. Both are logged, for both layers.
# 3. *Rows.* The paper does not say how training pairs are put together. Logged are the mean
#    of the ratios, the ratio of the sums, and the mean of later code of the same group. That
#    code counts a pair with $|g|^2 \le 10^{-12}$ as 0, with $g$ that of the mean loss.
# 4. *Logs.* One in 100 epochs, all training pairs, in evaluation mode.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
grown, fallen = squared["layer 1"], 1 / changed(push, energy(1))
masked = list(masked.values())
kept = [usual(push, n) for n in LAYERS]
tables.prose(f"""
**Not from initialisation onward.** No network can have {PRINTED} at the start, with or
without a penalty, and ours do not. The arithmetic needs no training.

**One reading passes {PRINTED}.** Take layer 1 and the loss alone: it is {told(push.at(energy(1), WINDOW), TWO)} at
epoch {WINDOW:,} and {told(push.last(energy(1)), TWO)} at the end, with {told(usual(push, 1), TWO)} in
the mean of all logs. Layer 2 never comes near it.

**The penalty does lower it, of the loss alone.** Up to epoch {WINDOW:,} layer 1 has
{sheet.told("less layer 1")} times the baseline's. In layer 2 it is {sheet.told("less layer 2")} times.

**In layer 1 it falls while the radius grows.** From the fit to the end the squared radius of layer
1 is multiplied by {told(grown, "{:.1f}")}: the penalty pulls outward, to a target above the
start. The radial energy has $|h|^2$ below the line. It is divided by
{told(fallen, "{:.1f}")} in the same time. A shared vector added to all rows is enough for
that, as the third exercise shows. In layer 2 the squared {{term}}`radius` is multiplied by
{told(squared["layer 2"], TWO)}, the radial energy by {told(changed(push, energy(2)), "{:.1f}")}.
A low value is no sign of a suppressed radius.

**Nor is a high radius a sign of radial gradients.** The baseline's layer 2 ends at
{told(free.last(radius(2)) / d**0.5, "{:.1f}")} times $\\sqrt d$, the inflation that the paper
speaks of. Its radial energy there is {told(usual(free, 2), TWO)} in the mean of the logs, and
{told(usual(push, 2), TWO)} with the penalty.

**The total gradient tells the reverse story.** Up to the paper's {{term}}`onset` at
least {told(across, "{:.0%}")} of its energy is angular in both layers. By the end of our runs
it is {told(of_layers(min, angular), "{:.0%}")} at worst. "Predominantly angular" is no feat: at
chance the share is {evidence.words(1 - 1 / d, "{:.1%}")} for $d$ = {d}.

**In small networks it falls first.** At width 128, with 60 % of the pairs, the total has
{told(thin.at(energy(1, "total"), learned), TWO)} in layer 1 and {told(thin.at(energy(2, "total"), learned), TWO)} in
layer 2 at epoch {learned}. The baseline has {told(thin_free.at(energy(1, "total"), learned), TWO)} and
{told(thin_free.at(energy(2, "total"), learned), TWO)}. So the fall is not the penalty's work, and it
ends with the fit: after {thin.settings.epochs:,} epochs the total is {told(thin.last(energy(1, "total")), "{:.0f}")}
in layer 1.

**A mask makes zeros.** Once the pairs are fitted most gradients are below the mask. The
masked mean of the penalty's arm ends at {told(masked[0], "{:.3f}")} and
{told(masked[1], "{:.3f}")}, whatever the direction of the gradients. In between it
passes {PRINTED} in both layers.

**Two sentences exclude each other.** Section 4.1 says that "the baseline exhibits severe
radial inflation". Appendix C.2 speaks of the "unpenalized baseline, whose radial inflation
suppresses" the same quantity "from the first epoch".
""")

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
# The record of Figure 1: three arms at width 128, one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/fig03 SCALE=laptop
# ```
