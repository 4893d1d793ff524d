# %% [markdown]
# # [Start here]{.kicker} Grokking: a network memorises first and learns the rule much later
#
# A network turns a question into an answer with many numbers, its *weights*, which are random at first. *Training*
# changes them step by step, so that the {term}`loss`, a number for how wrong its answers are, falls. The
# {term}`learning rate` says how far a step goes. An {term}`epoch` is one pass over all examples. *Weight decay* is a steady
# pull of all weights towards zero. {term}`Cross-entropy <cross-entropy>` is the usual loss, {term}`AdamW` a usual way to take
# steps, and an {term}`MLP` the plainest network.
#
# Three networks appear below: an MLP on a clock of 97 hours, whose curves you see first; one with two hidden layers and 59
# hours, in the picture of the rule; and a small one with 31 hours, which your browser trains. Sizes and examples
# differ, and so do their delays.

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch
from matplotlib.patches import Circle

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook.datasets import modular

plots.use_style()
page = evidence.Page("basics/grokking", scale, retrain, device)
record = page.record()
some = Run(record, "decay 1", "with weight decay", plots.COLOUR["weight decay"])
none = Run(record, "no decay", "without weight decay", plots.COLOUR["baseline"])
p, epochs = some.settings.dataset.options["p"], some.settings.epochs
TEST = "test_accuracy"
fit = some.fitted(accuracy=1.0)
rule = some.generalises(accuracy=0.95)
found = {
    "late": (some, evidence.ratio(some.reaches(accuracy=0.95), fit)),
    "end": (some, some.last(TEST)),
    "without": (none, none.largest(TEST)),
}
sheet = claims.read(page.name, found, epochs=epochs)
early, late, best = claims.median(fit), claims.median(rule), none.largest(TEST).max()
times = rule / fit
factor = f"{words(times.min(), '{:.1f}')} to {words(times.max(), '{:.1f}')}"
sheet.box(
    f"Show a small network half of all sums on a clock of {p} hours (modulo {p}), and ask it "
    "for the other half. Power et al. (2022) saw that such a network first learns its examples "
    "by heart, and finds the rule long afterwards. So do ours. They knew every example at "
    f"epoch {words(early)}, and had 95 % of the unseen sums right only from epoch {words(late)} "
    f"on (medians of {len(some.seeds)} networks); in single networks this is {factor} times as "
    "late.\n\nThey need weight decay for it, which pulls all weights towards zero: without decay "
    f"they never had more than {words(best, '{:.1%}')} of the unseen sums right in {epochs:,} epochs."
)

# %% tags=["hide-input"]
#| name: fig-basics-grokking
#| caption: >
#|   A network that adds numbers first learns its examples, and much later the rule. One
#|   epoch shows it all its examples once. (a) Share of right answers on the examples
#|   (dashed), and on sums that it never sees in training (solid). The flat dotted line is
#|   the share of a guess. (b) Length (norm) of the vector of all weights: weight decay keeps it
#|   short. Thin lines are single networks, thick ones their median.
#| alt: >
#|   Left: the dashed line reaches 100 percent within 100 epochs. With weight decay the solid
#|   line leaves the level of a guess much later and climbs to 100 percent; without it stays
#|   low. Right: the norm of the weights grows at first. With weight decay it then shrinks and
#|   stays low, without it goes on growing.
#| fold: "Code: draw the figure"
ratios = {"width_ratios": (1.8, 1)}
figure, (right, size) = plots.panels(2, height=3.6, gridspec_kw=ratios)
for run in (some, none):
    plots.accuracy(right, run)
    plots.curve(size, run, "weight_norm")
span = {"arrowstyle": "<->", "lw": 1.6, "color": plots.BLACK}
right.annotate("", (late, 97), (early, 97), arrowprops=span)
for epoch, what, more, side in (
    (early, "examples right", "", "right"),
    (late, "95 % of unseen right", f", later by\na factor {factor}", "left"),
):
    right.text(epoch, 104, f"{what}:\nepoch {words(epoch)}{more}", ha=side)
    right.plot([epoch, epoch], [0, 103], color=plots.GREY, ls=":", lw=1)
right.text(early**0.65 * late**0.35, 84, "delay", ha="center")
without = f"without\ndecay: at\nmost {words(best, '{:.1%}')}"
right.text(0.97 * epochs, 12, without, color=none.color, ha="right")
right.axhline(100 / p, color=plots.GREY, ls=":", lw=1.2)
right.text(epochs, 100 / p + 1.5, "a guess", color=plots.GREY, ha="right")
right.set_xscale("symlog", linthresh=10)
right.set(xlim=(0, epochs), ylim=(-3, 132))
right.set_yticks(range(0, 101, 20))
right.plot([], [], "--", color=plots.GREY, label="examples")
right.plot([], [], color=plots.GREY, label="unseen sums")
figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=4)
for run, name in ((some, "with decay"), (none, "without")):
    level = 0.85 * claims.median(run.last("weight_norm"))  # below its line
    size.text(epochs, level, name, color=run.color, ha="right", va="top")
size.set(xlabel="epoch", ylabel="norm of the weights")
plots.thousands(size)
plots.letter([right, size], ["right answers", "size of the weights"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **By heart.** Every network knows its whole training set early. Of the questions it has
  not seen it then answers {told(some.at(TEST, fit), "{:.1%}")} correctly, fewer than a guess would.
* **The rule.** {{term}}`Weight decay <weight decay>` pulls all weights steadily towards zero. With it the networks answer
  the unseen questions too, much later. This {{term}}`delay` is what {{term}}`grokking` means.
* **Without weight decay** the same network does not find the rule in {epochs:,} epochs. Its
  {{term}}`accuracy` on unseen questions stays at the level of a guess, and its weights go on growing.
* **Why several are trained.** The {len(some.seeds)} networks differ only by chance: in their first
  weights, and in the examples they see. They find the rule up to {rule.max() - rule.min():,.0f} epochs apart.
""")

# %% [markdown]
# ## The idea
#
# The task is a table. The network reads two numbers $a$ and $b$, and has to answer with $a + b$ on a clock of $p$
# hours: the remainder of $a + b$ divided by $p$, written modulo $p$. Half of the table is the *training set*, the examples. The other half is the
# *test set*, the unseen questions. Anyone who knows the rule can fill it in. Anyone who has only learned
# the first half by heart cannot.
#
# **Why does weight decay bring the rule?** Training lowers one number, the {term}`loss`: it says how wrong the
# answers are. Weight decay adds a price for the weights $w$, so that training lowers about
#
# $$\text{loss} + \text{decay} \cdot |w|^2 / 2 .$$
#
# (AdamW, which this page uses, takes the second part apart from the first.) A long list of answers takes larger
# weights than one rule that gives them all. In time the list fades and the rule stays. {cite:t}`nanda2023` took networks apart and
# showed this trade. This page shows only the two curves.
#
# **Why fewer right answers than a guess?** Each sum appears once in a row of the table. A network that
# prefers the sums it has seen with $a$ or with $b$ never names the one it has not seen there. But that one
# is right.


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
print(
    "7 + 9 on a clock of 11 hours:", int(sums[(pairs == torch.tensor([7, 9])).all(1)])
)

# %% tags=["hide-input"]
#| name: fig-basics-table
#| caption: >
#|   The task in small: the table of sums on a clock of 11 hours. Dark cells with white numbers
#|   are the training set. White cells are the test set, which the network never sees.
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
# ## A picture of the rule
#
# Turn the hand of a clock by $a$ hours, then by $b$: it has turned by $a + b$. A network can add in this way
# if it keeps every number as a place on a circle. {cite:t}`nanda2023` found such circles in a transformer.

# %% tags=["hide-input"]
#| name: fig-basics-rule
#| caption: >
#|   The first layer of a network of the story, before it knows the rule (grey) and after. A unit has one
#|   weight for each number $a$. (a) The unit that is nearest to a wave of one period in the end. (b, c)
#|   The numbers in the plane of this wave, taken from all units; a line joins neighbours.
#| alt: >
#|   Left: grey dots lie at random; coloured dots follow one wave. Middle: the numbers
#|   joined in their order form a tangle. Right: they lie in order around a ring.
#| fold: "Code: draw the rule"
story = evidence.record("story/one_network")
adder = Run(story, "weight decay", "the network of the story")
hours = adder.settings.dataset.options["p"]
HEART, RULE = 100, adder.settings.epochs  # epochs whose weights were kept


def first_layer(epoch):
    """The weights of every unit for each number a, without their mean."""
    layer = next(iter(story.weights("weight decay", 42, epoch).values()))
    weights = layer.float().T[:hours]
    return weights - weights.mean(dim=0)


def shares(weights):
    """The share of each unit's power that each of its waves has."""
    power = torch.fft.rfft(weights, dim=0)[1:].abs() ** 2
    return power / power.sum(dim=0)


angle = 2 * torch.pi * torch.arange(hours) / hours
turn = torch.stack([angle.cos(), angle.sin()], dim=1)
unit = shares(first_layer(RULE))[0].argmax()
figure, (wave, tangle, circle) = plots.panels(3, height=2.7)
for axes, epoch, color in ((tangle, HEART, plots.GREY), (circle, RULE, some.color)):
    weights = first_layer(epoch)
    # the plane for a number is made from the others, or chance would show a circle too
    wave.plot(weights[:, unit], "o", color=color, ms=4)
    places = weights @ (turn.T @ weights).T - turn * (weights**2).sum(
        dim=1, keepdim=True
    )
    places = places / places.norm(dim=1).max()
    axes.plot(*torch.cat([places, places[:1]]).T, "o-", color=color, ms=4, lw=0.8)
    axes.set(xlabel="along the cosine", ylabel="along the sine", xticks=[], yticks=[])
    axes.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
for number in range(0, hours, 10):
    circle.text(
        *(1 + 0.25 / places[number].norm()) * places[number],
        number,
        ha="center",
        va="center",
    )
wave.set(xlabel="number a", ylabel="weight")
plots.letter([wave, tangle, circle], ["one unit", "by heart", "the rule"])
plots.show(figure)

# %% tags=["remove-input"]
half = {
    epoch: float(shares(first_layer(epoch)).amax(dim=0).median())
    for epoch in (HEART, RULE)
}
tables.prose(f"""
* **By heart.** At epoch {HEART:,} the network knows its examples, and answers {told(adder.at(TEST, HEART), "{:.1%}")} of the unseen
  sums correctly. The strongest wave of a unit has {100 * half[HEART]:.0f} % of its power (median of all units).
* **The rule.** At epoch {RULE:,} it answers {told(adder.at(TEST, RULE), "{:.0%}")} of them. The strongest wave now has
  {100 * half[RULE]:.0f} % of the power. In most units the wave goes up and down more than once on its way round the clock.
* This is one network, the second of three on this page. The [story](../story/one_network.ipynb) has its curves.
""")

# %% [markdown]
# ## Train one yourself
#
# Press Start: a network in your browser learns to add. Does the blue curve, the unseen questions, follow the grey one?
# Under the curves, watch units become waves. Three tasks stand below.
#
# ```{include} ../explorables/trainer.md
# ```
#
# {ref}`Try it by hand <train-a-network>` says what to look for.
#
# ## Four explanations
#
# Why do networks find the rule so late, and what makes them find it? The four papers of this book look at
# four places of one training step.
#
# | Paper | Where it looks | What it says | What we found |
# | --- | --- | --- | --- |
# | [Prieto et al.](../prieto2025/index.md) | the {term}`softmax`, which turns outputs into probabilities | Once a network knows its examples, its outputs, the {term}`logits <logit>`, grow until the computer's numbers round the loss to zero. Learning stops. Without that rounding, networks grok without weight decay. | The losses do round to zero, and with [StableMax](../prieto2025/fig04_stablemax_grokking.ipynb) an MLP groks without decay. It is [not settled](../prieto2025/fig01_headline.ipynb) whether rounding alone keeps a network from grokking. |
# | [Singh et al.](../singh2026/index.md) | the {term}`layer norm`, which keeps activations at one size | The place of a norm in a transformer decides how fast it finds the rule. | With a norm before the MLP alone the test loss [falls first](../singh2026/fig01_overview.ipynb), and jumps up again to the end. A norm [on the values](../singh2026/fig03_mechanism.ipynb) of attention is early too, and mostly keeps what it has. |
# | [Liu et al.](../liu2026/index.md) | the loss, much later | The same rounding makes the loss jump back to the level of a guess, again and again. | In a wide MLP a more precise loss [ends the jumps](../liu2026/fig01_precision.ipynb). Rounding does [two things](../liu2026/causes.ipynb) to a gradient. With the one that the paper names mended, two MLPs still have jumps, the wide one for half of the training. |
# | [Tiwari et al.](../tiwari2026/index.md) | the activations, the numbers inside the network | Activations grow instead of turning. A penalty on their length brings the rule sooner. | [Not seen](../tiwari2026/fig01_accuracy_curves.ipynb): with the penalty neither small networks nor the paper's own find the rule as early as it says. |

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
for y, part in ((0.2, "attention"), (1.4, "MLP")):
    around = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": plots.BLACK, "lw": 1.5}
    norm.text(0, y, part, ha="center", va="center", bbox=around)
for place, y in enumerate((-0.5, 0.8, 2.0)):
    norm.plot(0, y, "D", color=plots.COLOURS[place], ms=10)
steps = torch.arange(0, 300)
loss = torch.exp(-(steps % 100) / 15.0)
jump.plot(steps, loss, color=plots.COLOUR["float32"])
turn.add_patch(Circle((0, 0), 1.0, fill=False, ls="--", color=plots.GREEN))
for end, color in (
    ((0.7, 0.7), plots.BLACK),
    ((1.2, 1.2), plots.RED),
    ((0.2, 0.98), plots.BLUE),
):
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
# * **A page is a figure or a table of a paper.** Its title says what we found. The box under the title
#   says what the paper says and what happened here.
# * **The {term}`verdict`** in the box is about the paper's main {term}`claim`. It *holds* in every run, it is *mixed*, or it *fails*.
# * **A {term}`seed`** is one network from one draw of chance, and *n* counts seeds. A verdict needs
#   three. With "one seed" or "two seeds" it says only that something can happen.
# * **"Small"** marks a smaller version than the paper's. A small version that disagrees does not refute a paper.
# * **The recipe** is the grey line in the box: task, network, loss, optimiser and epochs.
# * **A claim that fails is a result.** The page then says what we tried.
# * **Everything can be run again.** The last section of every page has the command.
#
# A class may go on with [Prieto's Figure 2](../prieto2025/fig02_softmax_collapse.ipynb), which
# watches numbers vanish. Researchers may want the [scoreboard](../generated/scoreboard.md).
# The [reading guide](../reading-guide.md) says how to run something.

# %% [markdown]
# ## The claims
#
# {cite:t}`power2022` gave grokking its name. The quotes come from that paper, and from
# one that cites it. The bounds are ours. This page judges no paper of the book.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, story)

# %% [markdown]
# ## What was run

# %% tags=["remove-input"]
model, rule_of = some.settings.model.options, some.settings.optimizer.options
tables.prose(f"""
A network with one hidden layer of {model["widths"][0]} units reads the numbers $a$ and $b$ as
two {{term}}`one-hots <one-hot encoding>`. It learns half of the {p**2:,} pairs of $p$ = {p}, all
of them in every step. The optimiser is AdamW with a learning rate of {rule_of["lr"]:g}. Weight decay is 1 or
0, and nothing else differs.
""")

# %% [markdown]
# The network is small on purpose: {cite:t}`power2022` have a transformer and batches of 512. Most runs of the
# chapters have a tenth of this learning rate, and need more epochs.
#
# ## Try it
#
# ```{exercise}
# :label: ex-basics-count
# How many cells has the table of sums on a clock of 97 hours, and how many numbers would a
# network have to store to know half of it by heart?
# ```
#
# ````{solution} ex-basics-count
# :class: dropdown
# ```python
# p = 97
# print(f"{p**2:,} cells, {p**2 // 2:,} in the training set")
# ```
#
# The network of this page has about 58,000 weights, enough for all of them.
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
# p = 97
# known = 0.5 * (1 - 1 / p)
# print(f"{known + (1 - known) / p:.1%}")
# ```
#
# So a test accuracy near 50 % is no sign of the rule. Ask what a level means before
# you call it learning. The network of this page does not know the law either: it reads $a$ and $b$
# through different weights. Right after it knows its examples, it gets next to none of the mirror images right.
# ````

# %% [markdown]
# ## Run it yourself
#
# A smaller clock ($p = 59$) and 4,000 epochs, five seeds with weight decay and five without, in about five
# minutes on one core:
#
# ```bash
# make page PAGE=basics/grokking SCALE=laptop
# ```
