# %% [markdown]
# # [Prieto et al. 2025 · Figure 16]{.kicker} With label smoothing an MLP generalises for the most part, and not fully

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch
from torch.nn.functional import cross_entropy

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import losses, models, optimizers
from grokbook.datasets import modular

plots.use_style()
page = evidence.Page("prieto2025/fig16", scale, retrain, device)
remedies = page.record()
same = remedies.scale  # at another scale the task is another
stablemax, controls = (
    page.record(name, scale=same) for name in ("fig04left", "fig01c")
)
easy = page.record(scale="laptop" if same == "paper" else same)
TRAIN, TEST, COLLAPSE = "train_accuracy", "test_accuracy", "collapse_float32"
cold = Run(remedies, "temperature 1", "softmax", plots.COLOUR["softmax"])
hot = Run(remedies, "temperature 1e5", "T = 100,000", plots.COLOUR["temperature"])
smooth = Run(
    remedies, "label smoothing 0.2", "smoothing", plots.COLOUR["label smoothing"]
)
stable = Run(stablemax, "addition", "StableMax", plots.COLOUR["StableMax"])
control = Run(
    controls, "exact CE float64", "collapse-free", plots.COLOUR["collapse-free"]
)
easier = Run(easy, "label smoothing 0.2")
until, classes = cold.settings.epochs, cold.settings.model.options["classes"]
collapsed = {run: run.first(COLLAPSE, above=0.5) for run in (cold, hot)}
unfitted = (1 - hot.last(TRAIN)) * math.log(classes)
found = {
    "not-fully": (smooth, smooth.last(TEST)),
    "some": (smooth, smooth.last(TEST)),
    "prevents": (smooth, smooth.largest(COLLAPSE)),
    "delays": (
        [cold, hot],
        evidence.lead(collapsed[cold], collapsed[hot], until=until),
    ),
    "not-enough": (hot, collapsed[hot]),
    "hot-test": (hot, hot.largest(TEST)),
    "stablemax": (stable, stable.largest(TEST)),
    "epoch": {
        run.label: (run, run.generalises(accuracy=0.95)) for run in (smooth, stable)
    },
    "at-end": {run.label: (run, run.last(TEST)) for run in (cold, control)},
}
task = cold.settings.dataset.options
pairs = f"addition modulo {task['p']} with {100 * task['train_fraction']:.0f} % of the pairs"
sheet = claims.read(page.name, found, task=pairs, last=until)
epoch = evidence.words(claims.median(stable.generalises(accuracy=0.95)))
ends = {
    run: evidence.words(
        claims.median(run.at(TEST, min(until, run.settings.epochs))), "{:.0%}"
    )
    for run in (smooth, hot, stable)  # StableMax was trained for longer
}
share = evidence.words(claims.median(hot.last(COLLAPSE)), "{:.0%}")
sheet.box(f"""\
In softmax collapse (SC), softmax rounds the losses of sure answers to zero, and the paper says that
learning then stops. Label smoothing trains a network towards answers that are a little less than
certain. The paper says that it prevents this collapse, but keeps a network from generalising fully.

Smoothing did both in our MLP, on the task of the paper's other figures ({len(smooth.seeds)} network for each
line, but {len(stable.seeds)} networks with StableMax). No sample collapses (b), and the MLP ends at {ends[smooth]} of the test set,
less than the 99\u00a0% that we count as fully. With StableMax the median MLP has {ends[stable]} at the same epoch.
On an easier task, in a shorter training, MLPs with smoothing do generalise fully (not drawn).

Softmax at a temperature of 100,000, which divides the logits by this number, ends at {ends[hot]} of the test set. The
paper says that this only delays the collapse; here {share} of the samples have collapsed when training ends (b), and
the MLP has not learned its whole training set (a).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-16
#| caption: >
#|   With label smoothing the MLP ends below full generalisation, with StableMax it comes near it, and with
#|   softmax at either temperature T it does not generalise. (a) Solid is test accuracy. Dashed is training
#|   accuracy, for softmax and for T = 100,000. That of softmax breaks down once half of its samples have
#|   collapsed (b). The dot marks the epoch from which on 95 % of the test set is right.
#|   Networks with StableMax were trained for longer than is drawn.
#|   (b) Share of the training samples that collapse in a float32 softmax. StableMax has thin lines for single
#|   networks and a thick one for their median, the others have one network each.
#| alt: >
#|   Left: test accuracy with smoothing is at three quarters by epoch 5,000 and ends between 85 and 90
#|   percent; with StableMax it is near 100 percent at the end. Softmax and temperature 100,000 stay near 0. Right: softmax
#|   collapses; temperature 100,000 gets to nearly half; smoothing stays at 0.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.7, width_ratios=(1.5, 1))
names = {run: f"{run.label}: {end}" for run, end in ends.items()} | {cold: cold.label}
for run, name in names.items():
    plots.curve(left, run, TEST, percent=True, label=name)
left.plot(claims.median(stable.generalises(accuracy=0.95)), 95, "o", color=stable.color)
left.axhline(95, color=plots.GREY, ls="--", lw=1)
left.text(55, 89, "95 %", color=plots.GREY)
for run in (cold, hot):
    plots.curve(left, run, TRAIN, percent=True, linestyle=plots.DASHED, label="")
for run, name in ((cold, "softmax"), (hot, f"{share}"), (smooth, "smoothing")):
    plots.curve(right, run, COLLAPSE, percent=True, label=name)
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
* **{{term}}`Label smoothing`** ends at {sheet.told("not-fully")} of the test set, and has {told(smooth.largest(TEST), "{:.1%}")} at its best.
  {{term}}`StableMax` has 95 % from epoch {sheet.told("epoch StableMax")} on. In the paper, too, smoothing ends between StableMax and softmax.
* **On an easier task,** addition modulo {easier.settings.dataset.options["p"]} with
  {100 * easier.settings.dataset.options["train_fraction"]:.0f} % of the pairs, MLPs with smoothing end at
  {told(easier.last(TEST), "{:.1%}")} after {easier.settings.epochs:,} epochs (runs: {len(easier.seeds)}).
* **A temperature of 100,000** delays collapse: at most {told(hot.largest(COLLAPSE), "{:.1%}")} of
  the samples are collapsed at once. In the end {told(hot.last(TRAIN), "{:.1%}")} of the training set is right.
* **Plain {{term}}`softmax`** has half of its samples {{term}}`collapsed <softmax collapse>` at epoch
  {told(collapsed[cold])}. Then training accuracy breaks down to {told(cold.smallest(TRAIN, since=collapsed[cold]), "{:.1%}")}.
* **The {{term}}`collapse-free cross-entropy`** (not drawn) keeps its training set and does not generalise in time. It
  is at {sheet.told("at-end collapse-free")} of the test set, where a guess has {100 / classes:.1f} %.
""")

# %% [markdown]
# ## The idea
#
# A {term}`temperature` $T$ divides the {term}`logits <logit>`. Without biases the logits of
# this network scale with the third power of its weights. So weights that are $s = T^{1/3}$
# times smaller have the same effect:
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
data = modular(11)


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
# Label smoothing changes the target instead. The target probability of the correct class is
# $1 - \varepsilon + \varepsilon / C$, that of each other class $\varepsilon / C$. The
# loss is then smallest at a finite {term}`gap`, and rises beyond it:
#
# $$
# \Delta^* = \log \frac{1 - \varepsilon + \varepsilon / C}{\varepsilon / C} .
# $$
#
# A float32 softmax absorbs from a gap of 16.6 on. There the smoothed loss is far from its
# smallest value:

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
#|   With smoothing the gap settles where the loss is smallest; with the high temperature it starts far
#|   below and still grows. (a) Mean gap of the logits that the loss sees, z/T; dashed, where a
#|   float32 softmax absorbs; dotted, where the smoothed loss is smallest. (b) Norm of the weights;
#|   dotted, that of the run with T = 100,000 divided by 46.
#| alt: >
#|   Left: the gap of smoothing lies on the dotted line at 6. Softmax reaches the dashed
#|   line at 16.6 near epoch 12,000 and drops below a hundredth. Temperature 100,000 rises
#|   from below, falls back three times and ends at the dashed line. The collapse-free loss goes on above it. Right: weight
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
figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter([left, right], ["gap", "weights"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# The paper gives no numbers for this figure; the bounds are ours. Until 29 November all rows were judged on
# addition modulo 59 with 70 % of the pairs, to epoch 20,000.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(remedies, stablemax, controls, easy)

# %% [markdown]
# ## What was run
#
# Deviations from the paper, and guesses. "First public code" is commit
# `740778c` of the [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability/tree/740778c).
#
# 1. *Task.* We presume that the paper uses the task of its other figures, addition modulo 113
#    on 40 % of the pairs. So do we, with one seed for each method but StableMax.
# 2. *Optimiser, learning rate, epochs and seeds* are not stated, and no program of this
#    figure was released. We take those of the released StableMax run. Its tiny eps matters:
#    a temperature of 100,000 divides the gradients too.
# 3. *Smoothing 0.2* comes from the first public code; the paper gives no number.
# 4. *Temperature.* The first public code can double it every 10,000 epochs. The paper quotes
#    one fixed value, which we use.
# 5. *Measure of collapse.* We take a float32 softmax of the logits divided by the temperature.
#    This says nothing about StableMax, which sums other numbers; see the exercise.
# 6. *The control* is ours: a loss that cannot round, in float64, with a β₂ of 0.99 where the others have 0.999.
#    [Figure 1](fig01_headline.ipynb) lists what was trained.
#
# ## Reading the result
#
# **Label smoothing.** It has to prevent collapse, because the gap has no reason to grow past the
# dotted line of panel (a) above. We find a plateau below 100 %, as the paper does, and none on an easier task.

# %% tags=["remove-input"]
tables.prose(f"""
**Temperature.** Under Adam a temperature *is* a smaller start and a smaller learning rate, as the code
above shows. Nothing bounds the gap, which still grows at the end. So collapse may come later. The
network misses part of its training set, and ends at {told(hot.last(TRAIN), "{:.1%}")}, for another reason. Its training
loss is {told(hot.last("train_loss") / unfitted, "{:.3f}")} times that of equal logits on the samples it gets wrong. A
network without biases gives equal logits where all its ReLUs are off, and there it has no gradient.

**Collapse is not the end of plain softmax.** The correct class of a collapsed sample has no
gradient. The other classes still have one, and push all logits down. [Figure 8](fig08_induced_collapse.ipynb)
does this on purpose. After the breakdown test accuracy is {told(cold.last(TEST), "{:.1%}")}, which is not what the
paper's figure is about.

**Does preventing collapse suffice?** The paper says that "any intervention that
prevents SC should lead to grokking or generalization". The collapse-free loss prevents collapse and changes
nothing else. At epoch {until:,} it has {sheet.told("at-end collapse-free")} of the test
set ([Figure 1](fig01_headline.ipynb)). Smoothing prevents collapse *and* changes the target,
so its success may come from either.
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
# That is $4 \cdot 10^{-6}$ for 59 classes and $7 \cdot 10^{-6}$ for the 113 here. So a
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
