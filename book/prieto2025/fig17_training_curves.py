# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Prieto et al. 2025 · Figure 17]{.kicker} StableMax starts more slowly than softmax on text and more safely on images, which says little about their ends

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

from pandas import DataFrame

from grokbook import claims, evidence, papers, plots, schedules, tables
from grokbook.engine.build import operations
from grokbook.evidence import Run, told

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
language = evidence.record("prieto2025/tab01language", **page)
vision = evidence.record("prieto2025/tab01vision", **page)
reference = evidence.reference("prieto2025/tab01")
printed = 100 * reference.set_index(["dataset", "series"]).value
TEXT, IMAGES, GUESS = "WikiText-103", "CIFAR-10", math.log(10)
softmax, stable, orthogonal, attention = text = [
    Run(language, name, name, plots.COLOUR[color])
    for name, color in (
        ("Softmax CE", "softmax"),
        ("StableMax CE", "StableMax"),
        ("⊥Grad", "⊥Grad"),
        ("StableMax attention", "StableMax"),
    )
]
images = [Run(vision, run.arm, run.label, run.color) for run in text[:3]]


def points(run):
    """The measure of Table 1 at the end, in %: top five on text, else accuracy."""
    return 100 * run.last("test_top5" if run in text else "test_accuracy")


def together(runs):
    """Ends of several runs, for the seeds that all of them have."""
    return DataFrame({run.arm: points(run) for run in runs}).dropna()


def below(run, *others):
    """Points by which a run ends below the lowest of some others."""
    return (together(others).min(axis=1) - points(run)).dropna()


sheet = claims.Sheet("prieto2025/fig17", show="{:+.1f} points")
CAPTION = "Figure 17, caption; ends in Table 1: "


def ends(dataset, *runs):
    told = (f"{run.arm} {printed[dataset, run.arm]:.2f} %" for run in runs)
    return CAPTION + ", ".join(told)


others = [run for run in text if run is not stable]
sheet.claim(
    text,
    "text: StableMax CE ends below all others",
    "Comparing Stablemax and ⊥Grad to AdamW with SCE on text data",
    below(stable, *others),
    where=ends(TEXT, stable, attention),
    above=0,
    main=True,
)
sheet.claim(
    [orthogonal, softmax],
    "text: ⊥Grad ends below softmax CE",
    "Comparing Stablemax and ⊥Grad to AdamW with SCE on text data",
    below(orthogonal, softmax),
    where=ends(TEXT, softmax, orthogonal),
    above=0,
)
sheet.claim(
    [attention, orthogonal],
    "text: StableMax attention ends below ⊥Grad",
    "replacing the Softmax in the attention mechanism with StableMax",
    below(attention, orthogonal),
    where=ends(TEXT, orthogonal, attention),
    above=0,
)
sheet.claim(
    images,
    "images: the three methods end within 0.5 points",
    "replacing the Softmax with StableMax in the loss function, as well as replacing SGD",
    together(images).max(axis=1) - together(images).min(axis=1),
    where="Appendix G; " + ends(IMAGES, *images).removeprefix(CAPTION),
    at_most=0.5,
)
highest = {run: run.largest("test_loss", since=1) for run in images}
for run in images:
    words = f"images: {run.arm}, largest test loss (a guess has {GUESS:.2f})"
    sheet.extra(run, words, highest[run], show="{:.2f}")
steps = {TEXT: softmax.settings.epochs, IMAGES: images[0].settings.epochs}
behind = {}
for part, at in (("a quarter", 1 / 4), ("half", 1 / 2)):
    reached = {run: run.at("test_top5", at * steps[TEXT]) for run in (softmax, stable)}
    behind[part] = 100 * (reached[softmax] - reached[stable]).dropna()
    words = f"text: StableMax CE below softmax CE after {part} of the steps"
    sheet.extra([stable, softmax], words, behind[part])
sheet.box()

# %% tags=["remove-input"]


def share(name, record):
    """Operations of one run here, as a share of the paper's."""
    here, full = record.experiment.arms[0], papers.get(f"prieto2025/{name}", "paper")
    return f"{operations(here) / operations(full.arms[0]):.0e}".replace(
        "e-0", "e-"
    )


tables.prose(f"""
**These are the runs of [Table 1](tab01_realistic.ipynb), not the paper's.** On text one has
{share("tab01language", language)} of the operations of theirs. On images it has
{share("tab01vision", vision)}, at a learning rate of ours. They show how training begins.
""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-17
#| caption: >
#|   On text StableMax in the loss lies lowest from the first log on; on images the others
#|   first get worse than a guess. Every logged value of the test set: (a) share of next
#|   tokens among the five likeliest, (b) accuracy on CIFAR-10, (c) the loss behind (b), with
#|   the level of a guess dashed.
#| alt: >
#|   Text: softmax, orthogonal gradients and StableMax attention rise together to 26 percent,
#|   StableMax in the loss to 21. Images: StableMax reaches 44 percent, the other two about
#|   35. Their test losses are above 4 at the first log, where a guess has 2.3, and StableMax
#|   is below 1.7.
#| fold: "Code: draw the figure"
MARKS = {stable.arm: "s", orthogonal.arm: "^", softmax.arm: "o", attention.arm: "o"}
figure, (tokens, pictures, losses) = plots.panels(3, height=3.4)
for panel, runs, column in (
    (tokens, text, "test_top5"),
    (pictures, images, "test_accuracy"),
    (losses, images, "test_loss"),
):
    for run in runs:
        values = run.series(column) * (1 if column == "test_loss" else 100)
        ring = run is attention  # lies on softmax
        style = {"ls": "", "marker": MARKS[run.arm], "color": run.color}
        style |= {"mfc": "none", "ms": 10, "mew": 1.6} if ring else {"ms": 6}
        values = values.dropna(how="all")
        panel.plot(values.index, values, label=run.label, **style)
    panel.set(xlabel="step", ylim=(0, None))
losses.axhline(GUESS, color=plots.GREY, ls="--", lw=1)
losses.text(0.6 * steps[IMAGES], GUESS + 0.08, "a guess", ha="center")
losses.set_ylim(0, 4.6)
tokens.set_ylabel("among the top five (%)")
pictures.set_ylabel("accuracy (%)")
losses.set_ylabel("test loss")
handles, labels = tokens.get_legend_handles_labels()
named = dict(zip(labels, handles, strict=True))
figure.legend(named.values(), named, loc="outside lower center", ncols=4)
plots.letter([tokens, pictures, losses], ["text", "images", "images, loss"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
ABOVE = "{:.1f} points"
tables.prose(f"""
* **On text** (a) {{term}}`StableMax` in the loss is {told(behind["a quarter"], ABOVE)} below
  {{term}}`softmax` after a quarter of the steps. After half it is
  {told(behind["half"], ABOVE)}, at the end {told(below(stable, softmax), ABOVE)}.
* **StableMax in the attention** is drawn as a ring, because it lies on softmax:
  {told(below(attention, softmax).abs(), "{:.2f} points")} apart at the end.
* **On images** (b) StableMax leads from the first log on. It ends at
  {told(points(images[1]), "{:.1f}%")}, softmax at {told(points(images[0]), "{:.1f}%")} and
  the {{term}}`orthogonal gradient` at {told(points(images[2]), "{:.1f}%")}.
* **The loss says why** (c). At its worst it is {told(highest[images[0]], "{:.1f}")} with
  softmax and {told(highest[images[2]], "{:.1f}")} with ⊥Grad, where a guess has {GUESS:.1f}.
  With StableMax no log after the start is above {told(highest[images[1]], "{:.1f}")}.
""")

# %% [markdown]
# ## The idea
#
# The learning rate is not constant in these runs, and the points show it. On text it rises for
# $w$ steps and then falls like half a cosine to the last step $T$,
#
# $$
# \eta_t = \eta \cdot \tfrac12 \Bigl(1 + \cos \pi \tfrac{t - w}{T - w}\Bigr) ,
# $$
#
# and on images it drops to a tenth after 30, 60 and 90 % of the steps. So whatever goes wrong
# at the start is soon frozen in a short training:


# %%
def on_text(t, steps, warmup):
    if t < warmup:
        return (t + 1) / warmup
    return (1 + math.cos(math.pi * (t - warmup) / (steps - warmup))) / 2


def on_images(t, steps):
    return 0.1 ** (t // (3 * steps // 10))


# %% tags=["remove-input"]
for record, mine, package in (
    (language, on_text, schedules.cosine),
    (vision, on_images, schedules.staircase),
):
    last, given = record.experiment.arms[0].epochs, record.experiment.arms[0].schedule
    own = given.options if record is language else {}
    for t in range(last):
        assert math.isclose(mine(t, last, **own), package(t, last, **given.options))
half = steps[IMAGES] // 2
tables.prose(f"""
Half way through, softmax on images has a tenth of its learning rate, and a test loss of
{told(images[0].at("test_loss", half), "{:.1f}")}. Its last steps are taken at a thousandth.
""")

# %% [markdown]
# ## The claims
#
# The paper's figure has no numbers, so the ends of its curves are taken from its Table 1. That
# table has bands of its own on [its page](tab01_realistic.ipynb); here only the order counts.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run
#
# Nothing more than for [Table 1](tab01_realistic.ipynb), whose page has all settings,
# reductions and guesses.

# %% tags=["hide-input"]
#| fold: "Code: the arms on text"
tables.arms(language)

# %% tags=["hide-input"]
#| fold: "Code: the arms on images"
tables.arms(vision)

# %% [markdown]
# Two deviations beyond those of that page:
#
# 1. *Axes.* The caption does not say what the figure shows over what. Drawn here is the test
#    accuracy over steps, for text that of Table 1.
# 2. *Panels.* The caption names (a), text, and (c), images; nothing says what (b) is.

# %% [markdown]
# ## Reading the result
#
# **Text.** The lag of StableMax agrees with the paper in sign. In so few steps a network learns
# how frequent tokens are, which takes StableMax larger logits than softmax (first exercise of
# [Table 1](tab01_realistic.ipynb)). The paper's gap is one after a hundred times as many
# steps, and may have another cause.
#
# **Images.** All three start with a learning rate of 0.1 and no warm-up. Softmax and ⊥Grad go
# wrong and StableMax does not; that its loss is flatter where logits are large may be why.
# They would have to be compared at rates chosen for each, or after a hundred passes.
#
# **No claim about the end.** The paper's point in this figure is what its methods cost where
# there is no {term}`softmax collapse` to prevent. Beginnings cannot answer that.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-17-rate
# Add up the learning rates of all steps on images, in units of the first. Which share of the
# sum has been spent when the rate drops for the first time?
# ```
#
# ````{solution} ex-prieto2025-17-rate
# :class: dropdown
# Nine tenths:
#
# ```python
# rates = [0.1 ** (t // 117) for t in range(390)]
# print(f"{sum(rates[:117]):.0f} of {sum(rates):.0f}")
# ```
#
# A run that spends its first passes above the loss of a guess has little left to make up for
# it. At the paper's length the same share is 30 passes over ten times as many images.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-17-loss
# Why does panel (c) compare each method with a guess, and not one with the other?
# ```
#
# ````{solution} ex-prieto2025-17-loss
# :class: dropdown
# StableMax cross-entropy is another function of the logits, with another value for the same
# network. Only at equal logits do the two agree:
#
# ```python
# import torch
# from grokbook import losses
# label = torch.tensor([0])
# for z in (torch.zeros(1, 10), torch.tensor([[4.0] + [0.0] * 9])):
#     pair = losses.softmax_cross_entropy(z, label), losses.stablemax_cross_entropy(z, label)
#     print(", ".join(f"{float(loss):.2f}" for loss in pair))
# ```
#
# Accuracy asks which logit is the largest, and can be compared.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-17-collapse
# According to the paper, softmax stops learning where the loss of a sample is exactly zero.
# How much can StableMax gain by that on text?
# ```
#
# ```{solution} ex-prieto2025-17-collapse
# :class: dropdown
# What does not occur cannot be prevented. One pass over a text never gets near zero loss, so
# StableMax can only change what is learned by its own shape.
# ```

# %% [markdown]
# ## Run it yourself

# %% tags=["remove-input"]
minutes = (language.seconds + vision.seconds) / 60
tables.prose(f"""
This trains the seven runs of Table 1 again, in about {minutes:.0f} minutes on one core.
CIFAR-10 and WikiText-2 are fetched, or found in the folder that `GROKBOOK_DATA` names.
""")

# %% [markdown]
# ```bash
# make page PAGE=prieto2025/fig17 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(language, vision, references=evidence.cited())
