# %% [markdown]
# # [Prieto et al. 2025 · Figure 17]{.kicker} Early in training a network with StableMax in its loss learns text more slowly than with softmax, and images faster

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
import runpy

from claimbook import claims, evidence, papers, plots, project, tables
from claimbook.evidence import Run, told
from grokbook import schedules

plots.use_style()
operations = runpy.run_path(f"{project.home()}/book/prieto2025/operations.py")[
    "operations"
]
page = evidence.Page("prieto2025/fig17", scale, retrain, device)
language, vision = page.record("tab01language"), page.record("tab01vision")
printed = evidence.reference("prieto2025/tab01").set_index(["dataset", "series"]).value
COLOURS = {"Softmax CE": "softmax", "StableMax CE": "StableMax", "⊥Grad": "⊥Grad"}
COLOURS["StableMax attention"], GUESS = "StableMax", math.log(10)
text = [
    Run(language, name, name, plots.COLOUR[color]) for name, color in COLOURS.items()
]
softmax, stable, orthogonal, attention = text
images = [Run(vision, run.arm, run.label, run.color) for run in text[:3]]


def points(run):
    """The measure of Table 1 at the end, in %: top five on text, else accuracy."""
    return 100 * run.last("test_top5" if run in text else "test_accuracy")


def together(runs):
    """Ends of several runs, for the seeds that all of them have."""
    return evidence.joined({run.arm: points(run) for run in runs})


def below(run, *others):
    """Points by which a run ends below the lowest of some others."""
    return evidence.difference(together(others).min(axis=1), points(run))


def behind(part):
    """Points by which StableMax CE is below softmax CE after a part of the steps."""
    then = [
        run.at("test_top5", part * run.settings.epochs) for run in (softmax, stable)
    ]
    return 100 * evidence.difference(*then)


highest = {run.arm: (run, run.largest("test_loss", since=1)) for run in images}
found = {
    "behind-all": (text, below(stable, softmax, orthogonal, attention)),
    "behind-softmax": ([orthogonal, softmax], below(orthogonal, softmax)),
    "attention": ([attention, orthogonal], below(attention, orthogonal)),
    "images": (images, together(images).max(axis=1) - together(images).min(axis=1)),
    "highest": highest,
}
sheet = claims.read(page.name, found)
ends = 100 * printed["WikiText-103"]
apart = {
    "paper": f"{ends[attention.arm] - ends[stable.arm]:.1f}",
    "here": evidence.words(
        claims.median(below(stable, softmax, orthogonal, attention)), "{:.1f}"
    ),
}
sheet.box(f"""\
The paper trains a language model, GPT-2, in four ways: with softmax alone (SCE, in the figure
Softmax CE), with StableMax, a replacement for softmax, in the loss or in attention, and with
⊥Grad, which leaves out the part of the gradient along the weights. StableMax in the loss ends
last: the next token is among its five likeliest less often, by {apart["paper"]} points or more.

Our model is much smaller, and its training far shorter. There StableMax in the loss is last too,
from the first measurement on, and ends {apart["here"]} points below the next (median of
{len(text[0].seeds)} runs). So this order holds; how a long
training ends stays open.

On images, with a ResNet-18, three of these ways end level in the paper. Here, with {len(images[0].seeds)} network of
each and a learning rate of our choice, StableMax in the loss leads at the start.""")

# %% tags=["remove-input"]


def share(name, record):
    """Operations of a training here, as a share of the paper's."""
    here, full = record.experiment.arms[0], papers.get(f"prieto2025/{name}", "paper")
    return f"{operations(here) / operations(full.arms[0]):.0e}".replace("e-0", "e-")


tables.prose(f"""
**These are the runs of [Table 1](tab01_realistic.ipynb), far shorter than the paper's.** They show how training
begins. The arithmetic of a run here, as a share of that of the paper's run, is {share("tab01language", language)}
on text and {share("tab01vision", vision)} on images. The learning rate on images is our choice.
""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-17
#| caption: >
#|   With StableMax in the loss (squares) a network is last on text, from the first measurement
#|   on, and first on images, where the other two at first have a larger loss than a guess. Each
#|   mark is a value of a single network on the test set. (a) Top-five accuracy of GPT-2: the
#|   share of next tokens that are among its five likeliest; the words say how far StableMax
#|   ends below the next method. (b) Accuracy on images of CIFAR-10.
#|   (c) The loss of the networks of (b); the loss of a guess is dashed. CE stands for
#|   cross-entropy: the method is in the loss. ⊥Grad has softmax in its loss. Rings and
#|   triangles lie on the dots of softmax in (a).
#| alt: >
#|   Text: softmax, orthogonal gradients and StableMax attention rise together to 26 percent,
#|   StableMax in the loss to 21. Images: StableMax reaches 44 percent, the other two about
#|   35. Their test losses are above 4 at the first log, where a guess has 2.3, and StableMax
#|   is below 1.7.
#| fold: "Code: draw the figure"
MARKS = {stable.arm: "s", orthogonal.arm: "^", softmax.arm: "o", attention.arm: "o"}
figure, (tokens, pictures, losses) = plots.panels(3, height=3.4)
drawn = (tokens, text, "test_top5"), (pictures, images, "test_accuracy")
for panel, runs, column in (*drawn, (losses, images, "test_loss")):
    for run in runs:
        values = run.series(column) * (1 if column == "test_loss" else 100)
        ring = run is attention  # lies on softmax
        style = {"ls": "", "marker": MARKS[run.arm], "color": run.color}
        style |= {"mfc": "none", "ms": 10, "mew": 1.6} if ring else {"ms": 6}
        values = values.dropna(how="all")
        panel.plot(values.index, values, label=run.label, **style)
    panel.set(xlabel="step", ylim=(0, None))
losses.axhline(GUESS, color=plots.GREY, ls="--", lw=1)
losses.text(20, GUESS + 0.06, "a guess")
losses.set_ylim(0, 4.6)
tokens.set_ylabel("top-five accuracy (%)")
note = f"StableMax CE ends\n{apart['here']} points below\n(paper: {apart['paper']})"
tokens.text(158, 3, note, color=stable.color, ha="right")
pictures.set_ylabel("accuracy (%)")
losses.set_ylabel("test loss")
handles, labels = tokens.get_legend_handles_labels()
named = dict(zip(labels, handles, strict=True))
figure.legend(named.values(), named, loc="outside upper center", ncols=4)
plots.letter([tokens, pictures, losses], ["text", "images", "images, loss"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
ABOVE = "{:.1f} points"
tables.prose(f"""
* **On text** (a) the network with {{term}}`StableMax` in the loss is {told(behind(1 / 4), ABOVE)} below
  {{term}}`softmax` after a quarter of the steps. At the end it is {told(below(stable, softmax), ABOVE)} below.
* **StableMax in the attention** changes nothing so far: at the end softmax is
  {told(below(attention, softmax).abs(), "{:.2f} points")} away. Rings show this method.
* **On images** (b) StableMax leads from the first log on. It ends at
  {told(points(images[1]), "{:.1f}%")}, softmax at {told(points(images[0]), "{:.1f}%")}, and
  the {{term}}`orthogonal gradient` not far above softmax.
* **The loss says why** (c). The test loss of softmax rises to {sheet.told("highest Softmax CE", "{:.1f}")}, where a
  guess has {GUESS:.1f}, and that of ⊥Grad rises alike. With StableMax it stays below a guess.
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
# and on images it drops to a tenth after 30, 60 and 90 % of the steps. So a short training
# has little time to mend what goes wrong at the start:


# %%
def on_text(t, steps, warmup):
    if t < warmup:
        return (t + 1) / warmup
    return (1 + math.cos(math.pi * (t - warmup) / (steps - warmup))) / 2


def on_images(t, every):
    return 0.1 ** (t // every)


# %% tags=["remove-input"]
both = (language, on_text, schedules.cosine), (vision, on_images, schedules.staircase)
for record, mine, package in both:
    last, given = record.experiment.arms[0].epochs, record.experiment.arms[0].schedule
    for t in range(last):
        where = (t, last) if record is language else (t,)
        assert math.isclose(
            mine(*where, **given.options), package(t, last, **given.options)
        )
half = images[0].settings.epochs // 2
tables.prose(f"""
Half way through, the softmax network on images has a test loss of
{told(images[0].at("test_loss", half), "{:.1f}")}, and a tenth of its learning rate is left.
""")

# %% [markdown]
# ## The claims
#
# The paper's figure has no numbers. We take the ends of its curves from its Table 1, which
# [has its own page](tab01_realistic.ipynb). Here only the order counts.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(language, vision)

# %% [markdown]
# ## What was run
#
# The runs are those of [Table 1](tab01_realistic.ipynb). Its page has all settings,
# reductions and guesses. Two more deviations:
#
# 1. *Axes.* The caption does not name the axes. We draw test accuracy against steps. On
#    text it is the share among the five likeliest tokens, as in Table 1.
# 2. *Panels.* The caption names (a), text, and (c), images; nothing says what (b) is.
#
# ## Reading the result
#
# **Text.** StableMax lags behind, as in the paper. In so few steps a network learns
# how frequent tokens are. For that StableMax needs larger logits than softmax (first exercise of
# [Table 1](tab01_realistic.ipynb)). The paper's networks had a hundred times as many
# steps, and their gap may have another cause.
#
# **Images.** All three methods start with a learning rate of 0.1 and no warm-up. Softmax and ⊥Grad
# go wrong at first, and StableMax does not. Its loss is flatter at large logits, which may be why.
# A fair comparison takes a rate chosen for each method, or a hundred passes.
#
# **The end stays open.** The paper asks in this figure what its methods cost where
# there is no {term}`softmax collapse` to prevent. The beginning of a training cannot answer that.
#
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
# A run that spends its first passes above the loss of a guess can hardly make up for that.
# At the paper's length the same share is 30 passes over ten times as many images.
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
# Nothing, since no loss gets near zero in one pass over a text. StableMax can only
# change what is learned by its own shape.
# ```
#
# ## Run it yourself

# %% tags=["remove-input"]
minutes = (language.seconds + vision.seconds) / 60
tables.prose(f"""
This trains the networks of Table 1 again, in about {minutes:.0f} minutes on one core.
CIFAR-10 and WikiText-2 are fetched, or found in the folder that `GROKBOOK_DATA` names.
""")

# %% [markdown]
# ```bash
# make page PAGE=prieto2025/fig17 SCALE=laptop
# ```
