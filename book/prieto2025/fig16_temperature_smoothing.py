# %% [markdown]
# # [Prieto et al. 2025 · Figure 16]{.kicker} On a small table label smoothing groks sooner than StableMax does

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch
from torch.nn.functional import cross_entropy

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
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("prieto2025/fig16", scale, retrain, device)
remedies = page.record()
same = remedies.scale  # at another scale the task is another
stablemax, controls = (page.record(name, scale=same) for name in ("fig04left", "fig01control"))
TRAIN, TEST, COLLAPSE = "train_accuracy", "test_accuracy", "collapse_float32"
cold = Run(remedies, "temperature 1", "softmax", plots.COLOUR["softmax"])
hot = Run(remedies, "temperature 1e5", "T = 100,000", plots.COLOUR["temperature"])
smooth = Run(remedies, "label smoothing 0.2", "smoothing", plots.COLOUR["label smoothing"])
stable = Run(stablemax, "addition", "StableMax", plots.COLOUR["StableMax"])
BLACK = plots.COLOUR["collapse-free"]
control = Run(controls, "exact CE", "collapse-free", BLACK)
faster = Run(controls, "exact CE, β2 0.99", "collapse-free, β2 0.99", BLACK)
until, classes = cold.settings.epochs, cold.settings.model.options["classes"]
collapsed = {run: run.first(COLLAPSE, above=0.5) for run in (cold, hot)}
least = cold.smallest(TRAIN, since=collapsed[cold], otherwise=math.inf)
unfitted = (1 - hot.last(TRAIN)) * math.log(classes)
found = {
    "not-fully": (smooth, smooth.last(TEST)),
    "some": (smooth, smooth.last(TEST)),
    "prevents": (smooth, smooth.largest(COLLAPSE)),
    "delays": ([cold, hot], evidence.lead(collapsed[cold], collapsed[hot], until=until)),
    "not-enough": (hot, collapsed[hot]),
    "hot-test": (hot, hot.largest(TEST)),
    "stablemax": (stable, stable.largest(TEST)),
    "epoch": {run.label: (run, run.generalised(accuracy=0.95)) for run in (smooth, stable)},
    "at-end": {run.label: (run, run.at(TEST, until)) for run in (cold, control, faster)},
    "collapse": (cold, collapsed[cold]),
    "least": (cold, least),
    "hot-collapsed": (hot, hot.last(COLLAPSE)),
    "equal-logits": (hot, hot.last("train_loss") / unfitted),
    "zero": (stable, stable.largest("zero_loss")),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-prieto2025-16
#| caption: >
#|   Smoothing and StableMax generalise; a temperature of 100,000, plain softmax and a
#|   softmax that cannot collapse do not. (a) Test accuracy solid; training accuracy dashed
#|   where it is not at 100 % from epoch 100 on. (b) Training samples whose float32 softmax
#|   of the logits that the loss sees has collapsed.
#| alt: >
#|   Left: test accuracy with smoothing reaches 100 percent within 2,000 epochs, with
#|   StableMax by 20,000. Softmax, temperature 100,000 and the collapse-free loss stay
#|   below 15 percent. Right: softmax collapses on two thirds of the samples near epoch
#|   11,000 and falls back to none; temperature 100,000 only begins to; smoothing stays at 0.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=4, width_ratios=(1.5, 1))
for run in (cold, hot, smooth, stable, control, faster):
    plots.curve(left, run, TEST, percent=True)
for run in (cold, hot):
    plots.curve(left, run, TRAIN, percent=True, linestyle=plots.DASHED, label="")
for run in (cold, hot, smooth):
    plots.curve(right, run, COLLAPSE, percent=True)
for panel, words in ((left, "accuracy (%)"), (right, "collapsed samples (%)")):
    panel.set(xlabel="epoch", ylabel=words, ylim=(-3, 103))
    panel.set(xscale="log", xlim=(50, until))
    plots.end_labels(panel)
plots.letter([left, right], ["accuracy", "collapse"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
On a small table smoothing generalises fully and before StableMax, and a high temperature does not help.

* **{{term}}`Label smoothing`** reaches 95 % on the test set at epoch {sheet.told("epoch smoothing")} and ends at
  {sheet.told("some")}. {{term}}`StableMax` takes until epoch
  {sheet.told("epoch StableMax")}. The paper has smoothing end between StableMax and plain softmax.
* **A temperature of 100,000** delays collapse beyond these {until:,} epochs, where
  {sheet.told("hot-collapsed")} of the samples are collapsed. Its training accuracy
  is stuck at {told(hot.last(TRAIN), "{:.1%}")}.
* **Plain {{term}}`softmax`** has half of its samples
  {{term}}`collapsed <softmax collapse>` at epoch {told(collapsed[cold])}, and then breaks
  down: training accuracy falls to {sheet.told("least")}.
* **The {{term}}`collapse-free cross-entropy`** keeps its training set and is at
  {sheet.told("at-end collapse-free")} on the test set, with $\\beta_2 = 0.99$ at
  {sheet.told("at-end collapse-free, β2 0.99")}. A guess has
  {100 / classes:.1f} %.
""")

# %% [markdown]
# ## The idea
#
# A {term}`temperature` $T$ divides the {term}`logits <logit>`. Without biases the logits of
# this network go with the third power of its weights. So weights that are $s = T^{1/3}$
# times smaller do the same:
#
# $$
# \frac{1}{T}\, f(\theta) = f\Bigl(\frac{\theta}{s}\Bigr),
# \qquad s = T^{1/3} \approx 46 \quad\text{for}\quad T = 10^5 .
# $$
#
# Adam does not see the scale of a gradient. So training at temperature $T$ is training
# without one, from initial weights and with a learning rate that are $s$ times smaller.

# %% tags=["hide-input"]
#| fold: "Code: a small task and network"
data = datasets.modular(11)


def network(shrink):
    """A small MLP without biases in float64, its initial weights made smaller."""
    with torch.random.fork_rng():
        torch.manual_seed(42)
        small = models.MLP(11, (32, 32), vocabulary=11, bias=False).double()
    for weight in small.parameters():
        weight.data /= shrink
    return small


# %%
def trained(temperature, shrink):
    """Logits after 1,000 steps, with start and learning rate `shrink` times smaller."""
    model = network(shrink)
    optimizer = optimizers.AdamW(model.parameters(), lr=0.01 / shrink, eps=1e-25)
    for _ in range(1000):
        optimizer.zero_grad()
        cross_entropy(model(data.x_train) / temperature, data.y_train).backward()
        optimizer.step()
    return model(data.x_train) / temperature


torch.testing.assert_close(trained(1e5, 1), trained(1, 1e5 ** (1 / 3)))

# %% [markdown]
# Label smoothing changes the target instead: the correct class is to have the
# probability $1 - \varepsilon + \varepsilon / C$, each of the others $\varepsilon / C$. The
# loss is then smallest at a finite {term}`gap`, and rises beyond it:
#
# $$
# \Delta^* = \log \frac{1 - \varepsilon + \varepsilon / C}{\varepsilon / C} .
# $$
#
# A float32 softmax absorbs from a gap of 16.6 on, so a sample can collapse only where its
# smoothed loss is far from the smallest:

# %% tags=["hide-input"]
#| fold: "Code: the smoothed loss against the gap"
SHARE, ABSORBS = 0.2, 24 * math.log(2)
best = math.log((1 - SHARE + SHARE / classes) / (SHARE / classes))
z, label, rows = torch.zeros(1, classes, dtype=torch.float64), torch.tensor([0]), []
for gap in (best / 2, best, 2 * best, ABSORBS):
    z[0, 0] = gap
    options = {"dtype": torch.float64, "smoothing": SHARE}
    value = losses.softmax_cross_entropy(z, label, **options)
    torch.testing.assert_close(value, cross_entropy(z, label, label_smoothing=SHARE))
    rows.append([f"{gap:.1f}", f"{value:.3f}"])
tables.grid(["Gap", "Smoothed loss"], rows, caption="One sample, smoothing 0.2")

# %% tags=["hide-input"]
#| name: fig-prieto2025-16-gap
#| caption: >
#|   Smoothing settles where its loss is smallest; the high temperature starts far below and
#|   still grows. (a) Mean gap of the logits that the loss sees, z/T; dashed, where a float32
#|   softmax absorbs; dotted, where the smoothed loss is smallest. (b) Norm of the weights;
#|   dotted, that of the run with T = 100,000 divided by 46.
#| alt: >
#|   Left: the gap of smoothing lies on the dotted line at 5.5. Softmax reaches the dashed
#|   line at 16.6 near epoch 10,000 and drops to a hundredth. Temperature 100,000 rises
#|   from below to 13. The collapse-free loss goes on above the dashed line. Right: weight
#|   norms; divided by 46, that of temperature 100,000 starts far below the others.
#| fold: "Code: draw gaps and weights"
figure, (left, right) = plots.panels(2, height=3.8)
for run in (cold, hot, smooth, control):
    plots.curve(left, run, "mean_gap")
    plots.curve(right, run, "weight_norm")
norm = hot.series("weight_norm").median(axis=1) / 1e5 ** (1 / 3)
right.plot(norm.index, norm, color=hot.color, ls=":", label="T = 100,000, over 46")
left.axhline(ABSORBS, color=plots.GREY, ls="--", lw=1.2)
left.axhline(best, color=plots.GREY, ls=":", lw=1.4)
left.text(55, 1.15 * ABSORBS, "float32 absorbs", size=9.5, color=plots.GREY)
left.set(ylabel="mean gap of the logits / T", ylim=(0.01, 60))
right.set(ylabel="weight norm", ylim=(1, None))
for panel in (left, right):
    panel.set(xscale="log", yscale="log", xlabel="epoch", xlim=(50, until))
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.letter([left, right], ["gap", "weights"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# All runs are of reduced scale: addition modulo 59 with 70 % of the table, in place of 113
# and 40 %. The paper gives no numbers for this figure; the bounds are ours.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(remedies, stablemax, controls)

# %% [markdown]
# ## What was run
#
# Where the runs differ from the paper, or had to be guessed. "First public code" is commit
# `740778c` of the [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability/tree/740778c).
#
# 1. *Task.* The paper's is presumed to be that of its other figures, addition modulo 113 on
#    40 % of the table. Ours is smaller.
# 2. *Optimiser, learning rate, epochs and seeds* are not stated, and no program of this
#    figure was released. Ours are those of the released StableMax run. Its tiny eps matters:
#    a temperature of 100,000 divides the gradients too.
# 3. *Smoothing 0.2* comes from the first public code; the paper gives no number.
# 4. *Temperature.* The first public code can double it every 10,000 epochs; the paper quotes
#    one fixed value, and that was run.
# 5. *Measure of collapse.* A float32 softmax of the logits divided by the temperature. It
#    says nothing about StableMax, whose sum is another; see the exercise.
# 6. *The control* is ours, with weights, moments and loss in float64 and an eps of 1e-150.
#    Its arms and seeds are listed with [Figure 1](fig01_headline.ipynb).
#
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Label smoothing.** That it prevents collapse is built in: the gap has no reason to pass
{best:.1f}. What we do not find is a plateau below 100 %. Our table is smaller and our share
of it larger than the paper's, so this is a different case and no refutation.

**Temperature.** Under Adam it *is* a smaller start and a smaller learning rate, as the cell
above shows. Nothing bounds the gap, which still grows at the end, so whether collapse is seen
is a matter of epochs. The fit stops short for another reason. The training loss is
{sheet.told("equal-logits")} times that of equal logits on the samples it gets wrong. Equal logits
are what a network without biases gives where all its ReLUs are off, and there it has no
gradient.

**Collapse is not the end of plain softmax.** The correct class of a collapsed sample has no
gradient. The others still have one, and push all logits down, as in a run of
[Figure 8](fig08_induced_collapse.ipynb) on purpose. The test accuracy that comes after the breakdown,
{told(cold.last(TEST), "{:.1%}")}, is not what the paper's figure is about.

**Is it collapse that the remedies differ in?** The paper holds that "any intervention that
prevents SC should lead to grokking or generalization". The control prevents it and changes
nothing else. Up to epoch {until:,} it has {sheet.told("at-end collapse-free")} of the test
set, at a pace [set by the $\\beta_2$ of AdamW](fig01_headline.ipynb), 0.999 here; that page
has it with 0.99, where it rises slowly. Smoothing prevents collapse *and* changes the target,
so its success cannot be put down to the first alone.
""")

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
# ````{solution} ex-prieto2025-16-smoothing
# :class: dropdown
# The minimum lies at a gap of about $\log (C / \varepsilon)$:
#
# ```python
# import math
# for classes in (59, 113):
#     print(f"{classes} classes: {classes * math.exp(-24 * math.log(2)):.0e}")
# ```
#
# That is $4 \cdot 10^{-6}$ for the 59 classes here and $7 \cdot 10^{-6}$ for 113. So a
# smoothing of $10^{-3}$ prevents collapse as well as 0.2 does, and changes the target
# two hundred times less.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-16-measure
# StableMax drives its logits apart by thousands. A float32 softmax of them has collapsed on
# every sample. Why does the run go on all the same?
# ```
#
# ````{solution} ex-prieto2025-16-measure
# :class: dropdown
# The measure takes a softmax, and the run does not. The sum of StableMax is one of numbers
# of like size, and its loss falls with a power of the gap:
#
# ```python
# import torch
# from grokbook import losses
# label = torch.tensor([0])
# for lead in (10.0, 1e3, 1e5):
#     z = torch.tensor([[lead, 0.0, -lead / 10]])
#     plain = losses.softmax_cross_entropy(z, label)
#     stable = losses.stablemax_cross_entropy(z, label)
#     print(f"lead {lead:g}: softmax {plain:.1e}, StableMax {stable:.1e}")
# ```
# ````
#
# ## Run it yourself
#
# The page is at this scale already. The runs of the figure take about 12 minutes on one
# core; StableMax and the control, which the page needs too, about four hours.
#
# ```bash
# make page PAGE=prieto2025/fig16 SCALE=laptop
# ```
