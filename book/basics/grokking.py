# %% [markdown]
# # [Start here]{.kicker} Grokking: a network memorises first and learns the rule much later

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch
from matplotlib.patches import Circle

from grokbook import claims, evidence, plots, tables
from grokbook.datasets import modular
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("basics/grokking", scale, retrain, device)
record = page.record()
some = Run(record, "decay 1", "with weight decay", plots.COLOUR["weight decay"])
none = Run(record, "no decay", "without", plots.COLOUR["baseline"])
p, epochs = some.settings.dataset.options["p"], some.settings.epochs
TEST = "test_accuracy"
fit, rule = some.fitted(accuracy=1.0), some.generalised(accuracy=0.95)
found = {
    "late": (some, evidence.ratio(rule, fit)),
    "end": (some, some.last(TEST)),
    "without": (none, none.largest(TEST)),
}
sheet = claims.read(page.name, found, epochs=epochs)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-basics-grokking
#| caption: >
#|   Networks that differ in chance alone, with weight decay and without. (a) Share of
#|   right answers, dashed on the training set, solid on the test set. (b) Length of the vector
#|   of all weights. Thin: each seed; thick: their median.
#| alt: >
#|   Left: the dashed line reaches 100 percent within 100 epochs. With weight decay the solid
#|   line leaves the level of a guess much later and climbs to 100 percent; without it stays
#|   low. Right: the norm of the weights grows at first, then shrinks with weight decay and
#|   grows on without.
#| fold: "Code: draw the figure"
figure, (right, size) = plots.panels(2, height=3.6)
for run in (some, none):
    plots.accuracy(right, run)
    plots.curve(size, run, "weight_norm")
early, late = claims.median(fit), claims.median(rule)
span = {"arrowstyle": "<->", "lw": 1.6, "color": plots.BLACK}
right.annotate("", (late, 97), (early, 97), arrowprops=span)
right.text((early * late) ** 0.5, 89, "delay", ha="center")
right.axhline(100 / p, color=plots.GREY, ls=":", lw=1.2)
right.text(epochs, 100 / p + 1.5, "a guess", color=plots.GREY, ha="right")
right.set_xscale("symlog", linthresh=10)
right.set_xlim(0, epochs)
size.legend(loc="lower right")
size.set(xlabel="epoch", ylabel="norm of the weights")
plots.thousands(size)
plots.letter([right, size], ["right answers", "size of the weights"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **By heart.** Every {{term}}`seed` knows its whole training set at epoch
  {told(fit)}. On pairs that it has not seen it is right in
  {told(some.at(TEST, fit), "{:.1%}")} of the cases; a mere guess would be in {100 / p:.1f} %.
  **Why below a guess?** In a row of the table each sum appears once. A network that leans on
  the sums it has seen with $a$ or with $b$ never names the one it has not seen there, the right one.
* **The rule.** With {{term}}`weight decay` 95 % of the unseen pairs are right at epoch
  {told(rule)}. This {{term}}`delay` is what {{term}}`grokking` means.
* **Without weight decay** the same network does not get there in {epochs:,} epochs. Its best
  {{term}}`accuracy` on unseen pairs is {sheet.told("without", "{:.0%}")}.
* **Why one run is not enough.** The {len(some.seeds)} networks differ in nothing but chance: their first
  weights, and which pairs they see. Between the first and the last to find the rule lie
  {rule.max() - rule.min():,.0f} epochs.
""")

# %% [markdown]
# ## The idea
#
# The task is a table. The network is given $a$ and $b$, and is asked for $a + b$ modulo $p$,
# as on a clock with $p$ hours. Half of the table is its training set. The other half is the
# test set. Whoever knows the rule can fill it in. Whoever has only learned the first half by
# heart cannot.
#
# **Why does weight decay bring the rule?** Weight decay pulls every weight towards zero, so what
# is known has to be paid for in weights. A long list of answers takes larger weights than one
# rule that gives them all; so in time the list fades and the rule stays. Others have shown that
# trade with networks taken apart {cite:p}`nanda2023`. This page shows only the two curves.


# %%
def table(p):
    """All pairs (a, b) and their sums on a clock of p hours."""
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    return pairs, pairs.sum(dim=1) % p


pairs, sums = table(11)
torch.manual_seed(0)
package = modular(p=11, train_fraction=0.5)
for x, y in (
    (package.x_train, package.y_train),
    (package.x_test, package.y_test),
):
    assert torch.equal(x.sum(dim=1) % 11, y)
print("7 + 9 on a clock of 11 hours:", int(sums[(pairs == torch.tensor([7, 9])).all(1)]))

# %% tags=["hide-input"]
#| name: fig-basics-table
#| caption: >
#|   The task, small: the table of sums on a clock of 11 hours. Dark cells with white numbers
#|   are the training set. White cells are the test set, and the network never sees them.
#| alt: >
#|   A square table of 11 times 11 cells with the sums modulo 11. About half of the cells,
#|   spread at random, are dark; the others are white.
#| fold: "Code: draw the table"
figure, (axes,) = plots.panels(1, height=4.2)
shown = torch.zeros(11, 11)
shown[package.x_train[:, 0], package.x_train[:, 1]] = 1
axes.imshow(shown, cmap="Blues", vmin=0, vmax=1.15)
for a in range(11):
    for b in range(11):
        ink = "white" if shown[a, b] else plots.BLACK
        axes.text(b, a, (a + b) % 11, ha="center", va="center", color=ink)
axes.set(xticks=range(11), yticks=range(11), xlabel="b", ylabel="a")
axes.grid(False)
plots.show(figure)

# %% [markdown]
# ## Four explanations
#
# Why does the rule come so late, and what brings it? The four papers of this book look at
# four places of one training step.
#
# | Paper | Where it looks | What it says | Found here |
# | --- | --- | --- | --- |
# | [Prieto et al.](../prieto2025/index.md) | the {term}`softmax` | Once a network fits, its {term}`logits <logit>` grow until float32 rounds the loss to zero, and learning stops. Prevent that, and networks grok without weight decay. | The losses do round to zero, and [StableMax](../prieto2025/fig04_stablemax_grokking.ipynb) does grok without decay. That rounding alone keeps a network from grokking is [not settled](../prieto2025/fig01_headline.ipynb). |
# | [Singh et al.](../singh2026/index.md) | the {term}`layer norm` | Where a norm stands in a transformer decides how fast it finds the rule. | Yes: before the MLP alone it is [fastest](../singh2026/fig01_overview.ipynb), and without any norm several times slower. |
# | [Liu et al.](../liu2026/index.md) | the loss, much later | The same rounding, trained on, makes the loss jump back to guessing, again and again. | In a wide MLP a float64 loss [ends the jumps](../liu2026/fig01_precision.ipynb). Rounding does [two things](../liu2026/causes.ipynb) to a gradient, and in two MLPs either alone brings them. |
# | [Tiwari et al.](../tiwari2026/index.md) | the activations | Activations grow instead of turning. A penalty on their length brings the rule sooner. | Neither in small networks nor at the paper's width [has it](../tiwari2026/fig01_accuracy_curves.ipynb) by the end of their training. |

# %% tags=["hide-input"]
#| name: fig-basics-four
#| caption: >
#|   The four explanations, as cartoons. Prieto: a small number added to 1 is lost. Singh: a norm
#|   in one of several places. Liu: a loss that jumps. Tiwari: an activation may grow or turn.
#| alt: >
#|   Four panels. A number line on which a dot just above 1 is pulled back to 1. A stack of
#|   boxes, attention and MLP, with three marks for places of a norm. A falling curve with two
#|   tall spikes. An arrow with one continuation outwards and one sideways, and a circle.
#| fold: "Code: draw the four cartoons"
figure, (lost, norm, jump, turn) = plots.panels(4, height=2.3)
arrow = {"arrowstyle": "-|>", "lw": 2, "mutation_scale": 14}
lost.plot([0, 1, 2], [0, 0, 0], "|-", color=plots.BLACK, ms=26, mew=2)
lost.plot(0.35, 0, "o", color=plots.RED, ms=8)
back = arrow | {"color": plots.RED, "connectionstyle": "arc3,rad=0.6"}
lost.annotate("", (0, 0.06), (0.35, 0.06), arrowprops=back)
lost.text(0, -0.45, "1", ha="center", fontsize=13)
for y, words in ((0.2, "attention"), (1.4, "MLP")):
    around = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": plots.BLACK, "lw": 1.5}
    norm.text(0, y, words, ha="center", va="center", bbox=around)
for place, y in enumerate((-0.5, 0.8, 2.0)):
    norm.plot(0, y, "D", color=plots.COLOURS[place], ms=10)
steps = torch.arange(0, 300)
loss = torch.exp(-(steps % 100) / 15.0)
jump.plot(steps, loss, color=plots.COLOUR["float32"])
turn.add_patch(Circle((0, 0), 1.0, fill=False, ls="--", color=plots.GREEN))
for end, color in (((0.7, 0.7), plots.BLACK), ((1.2, 1.2), plots.RED), ((0.2, 0.98), plots.BLUE)):
    start = (0, 0) if color == plots.BLACK else (0.7, 0.7)
    turn.annotate("", end, start, arrowprops=arrow | {"color": color, "shrinkA": 0})
for panel, limits in (
    (lost, (-0.3, 2.3, -1, 1)),
    (norm, (-1, 1, -0.9, 2.4)),
    (jump, (0, 300, -0.05, 1.2)),
    (turn, (-0.2, 1.5, -0.2, 1.5)),
):
    panel.axis(limits)
    panel.axis("off")
plots.letter([lost, norm, jump, turn], ["Prieto", "Singh", "Liu", "Tiwari"])
plots.show(figure)

# %% [markdown]
# ## How to read the other pages
#
# * **A page is a figure or a table of a paper.** Its title says what we found. The box below
#   has the paper's main {term}`claim` in its own words, what came out, and on how many seeds.
# * **A {term}`seed`** is one network from one draw of chance. *n* counts them. A {term}`verdict`
#   takes three; with fewer the book says "seen once" or "seen twice", which means only that it can happen.
# * **A {term}`scale`** says how large a run was. "Reduced" is a smaller version. A small version that disagrees does not refute a paper.
# * **"Not reproduced" is a result.** The page then says what was tried.
# * **Everything can be run again.** The last section of every page has the command.
#
# A class may go on with [Prieto's Figure 2](../prieto2025/fig02_softmax_collapse.ipynb), which
# watches numbers vanish. A researcher may want the [scoreboard](../generated/scoreboard.md).
# Whoever wants to run something finds the ways in the [reading guide](../reading-guide.md).

# %% [markdown]
# ## The claims
#
# The words are those of the paper that gave the phenomenon its name, {cite:t}`power2022`, and
# of one that cites it. The bounds are ours. This page judges no paper of the book.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run

# %% tags=["remove-input"]
model, rule_of = some.settings.model.options, some.settings.optimizer.options
tables.prose(f"""
A network with one hidden layer of {model["widths"][0]} units reads the numbers $a$ and $b$ as
two {{term}}`one-hots <one-hot encoding>`. It is trained on half of the {p**2:,} pairs of $p$ = {p}, all
of them in every step, by AdamW with a learning rate of {rule_of["lr"]:g}. Weight decay is 1 or
0, and nothing else differs.
""")

# %% [markdown]
# This is small on purpose. {cite:t}`power2022` have a transformer and $p = 97$. Most runs of the
# chapters have a tenth of this learning rate, and need more epochs.
#
# ## Try it
#
# ```{exercise}
# :label: ex-basics-count
# How many cells has the table of sums on a clock of 59 hours, and how many numbers would a
# network have to store to know half of it by heart?
# ```
#
# ````{solution} ex-basics-count
# :class: dropdown
# ```python
# p = 59
# print(f"{p**2:,} cells, {p**2 // 2:,} in the training set")
# ```
#
# The network of this page has about 35,000 weights: room enough for all of them.
# ````
#
# ```{exercise}
# :label: ex-basics-symmetric
# Since $a + b = b + a$, many cells of the test set have a mirror image in the training set.
# How many right answers would a network have that knows its training set and this law, and
# guesses otherwise?
# ```
#
# ````{solution} ex-basics-symmetric
# :class: dropdown
# With half of the cells drawn at random, a test cell off the diagonal has its mirror image in
# the training set with probability 1/2. So about half of the test set is known, and the rest
# is a guess:
#
# ```python
# p = 59
# known = 0.5 * (1 - 1 / p)
# print(f"{known + (1 - known) / p:.1%}")
# ```
#
# A test accuracy near 50 % is therefore no sign of the rule. Look at what a level means before
# you call it learning. The network of this page does not know the law either: it reads $a$ and $b$
# through different weights, and right after the fit it gets next to none of the mirror images right.
# ````

# %% [markdown]
# ## Run it yourself
#
# Five seeds with weight decay and five without, in about five minutes on one core:
#
# ```bash
# make page PAGE=basics/grokking SCALE=laptop
# ```
