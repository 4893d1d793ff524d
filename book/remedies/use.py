# %% [markdown]
# # [Remedies × tasks]{.kicker} Does your training stall after it has fitted? In an MLP weight decay and ⊥Grad helped, and a float64 loss did not

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs"
import runpy

import numpy as np

from claimbook import claims, evidence, plots, project, tables
from claimbook.evidence import Run, told, words
from grokbook import datasets, instability, models

plots.use_style()
page = evidence.Page("remedies/use", scale, retrain, device)
kept = evidence.Page(page.name)  # what a rerun does not train anew
TEST, ZERO, ink = "test_accuracy", "zero_loss", plots.COLOUR
plain = kept.record("prieto2025/fig01c", arms=("softmax float32",))
slow = kept.record("prieto2025/fig04left", arms=("addition",))
quick = page.record("prieto2025/rates", reads=("decay 1, lr 0.01", "⊥AdamW, lr 0.01"))
SOFTMAX, DOUBLE, FREE, STABLE, DECAY, PERP = runs = (
    Run(plain, "softmax float32", "softmax in float32", ink["softmax"]),
    Run(plain, "softmax float64", "softmax in float64", ink["float64"]),
    Run(plain, "exact CE float64", "a loss that cannot round", ink["collapse-free"]),
    Run(slow, "addition", "StableMax", ink["StableMax"]),
    Run(quick, "decay 1, lr 0.01", "weight decay", ink["weight decay"]),
    Run(quick, "⊥AdamW, lr 0.01", "⊥Grad", ink["⊥Grad"]),
)
onset = {run: run.onset() for run in runs}
precise = [*onset[DOUBLE], *onset[FREE]]
assert not np.isfinite(precise).any()
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")
TASKS = {"a": "addition modulo 59", "b": "addition modulo 97", "e": "sparse parity"}
races = {name: SHARED["Race"](kept, task, 0.9) for task, name in TASKS.items()}
finer = {task: SHARED["SecondRace"](kept, task) for task in ("a", "e")}
for race in races.values():
    assert np.isfinite([*race.onset["decay"], *race.onset["⊥Grad"]]).all()


def middle(values, show="{:,.0f}"):
    """The value of the median run, in words."""
    return words(claims.median(values), show)


sheet = claims.read(page.name, {})
sheet.box(f"""Your network gets its training data right and stays bad on everything
else. First look whether its training losses are exactly zero: then softmax has run out
of digits, and the network learns next to nothing more from what it has right.

In an MLP on sums
modulo 113 more digits were no remedy: with a loss in float64, or one that cannot round,
none of {len(precise)} networks generalised within {DOUBLE.settings.epochs:,} steps.
Weight decay from the start made the median network generalise at step
{middle(onset[DECAY])}, and ⊥Grad at step {middle(onset[PERP])} ({len(onset[PERP])} runs
each, learning rate {PERP.settings.optimizer.options["lr"]:g}). Of MLPs only small
ones were tuned. Whether either rescues a network that has stalled already is tried in an exercise
alone, below: in one small network weight decay does, and ⊥Grad does not.""")

# %% tags=["hide-input"]
#| name: fig-remedies-use
#| caption: >
#|   More exact losses left this network stalled; weight decay, ⊥Grad and, late, StableMax
#|   kept it from stalling. A dot is one run, at the step from which on it has more than
#|   90 % of the test set right; a cross is a run that ended without that. The number
#|   beside them is the median step, or the share of the test set that the median run has
#|   right in the end. "91 % zero" means that so many training losses of the median run are
#|   exactly zero in the end, in the loss that the row is trained with. Prieto et al.'s MLP with two layers of
#|   width 200, AdamW. The weight decay is 1 in its row and 0 in the others, the β₂ of Adam
#|   0.999 with StableMax and ⊥Grad and 0.99 in the others.
#| alt: >
#|   Six rows. The three upper ones, softmax in two precisions and a loss that cannot
#|   round, have crosses at step 80,000. StableMax has dots near 52,000, weight decay near
#|   465, ⊥Grad near 110. On the right, nearly all losses of the two softmax rows are zero,
#|   two thirds of StableMax's, and none of the others.
#| fold: "Code: draw the figure"
figure, (axes,) = plots.panels(1, height=3.9)
for row, run in enumerate(runs):
    found, end = onset[run], run.settings.epochs
    came = np.isfinite(found)
    places = row + 0.07 * (np.arange(len(found)) - (len(found) - 1) / 2)
    axes.plot(found[came], places[came], "o", color=run.color, ms=6, alpha=0.85)
    axes.plot([end] * sum(~came), places[~came], "x", color=run.color, ms=7, mew=2)
    text, at = middle(found), found[came].min()
    if not came.all():
        text, at = f"{middle(run.last(TEST), '{:.1%}')} right", end
    axes.text(0.8 * at, row, text, va="center", ha="right")
    many = f"{len(run.seeds)} run{'s' * (len(run.seeds) > 1)}"
    axes.text(32, row - 0.42, f"{run.label} ({many})", va="center", weight="bold")
    zero = middle(run.last(ZERO), "{:.0%}")
    axes.text(105_000, row - 0.42, f"{zero} zero", va="center", ha="right")
    axes.axhline(row + 0.3, color=plots.GREY, lw=0.5, alpha=0.5)
axes.set(xscale="log", xlim=(30, 110_000), ylim=(len(runs) - 0.7, -0.7))
axes.set_xlabel("training step")
axes.set_xticks([100, 1000, 10_000, 80_000], ["100", "1,000", "10,000", "80,000"])
axes.minorticks_off()
axes.set_yticks([])
axes.grid(visible=False)
axes.set_title("40 % of all sums modulo 113, rate 0.01", loc="left")
plots.show(figure)

# %% [markdown]
# ## A diagnosis to paste
#
# Call this with the data that you train on, as much of it as fits into memory, after `model.eval()`, and with your loss if it is not
# cross-entropy: a function or a module with `reduction="none"`, such as `stablemax_cross_entropy` or `StableMaxLoss()`. `model(x)` returns
# logits, classes last; labels of −100 are padding. If the training accuracy is not near 100 %, your network has not fitted yet, and this
# page is not about it. The lead at which a loss rounds to zero is that of cross-entropy.


# %%
import copy
import math

import torch
from torch.nn.functional import cross_entropy


def flat(tensors):
    return torch.cat([one.detach().cpu().double().flatten() for one in tensors])


@torch.enable_grad()
def diagnose(model, x, labels, loss=cross_entropy):
    """Return what the training data look like from inside a network, by name."""
    kept = labels.flatten() != -100
    logits, labels = model(x).flatten(0, -2)[kept], labels.flatten()[kept]
    if isinstance(loss, torch.nn.Module):
        loss = copy.copy(loss)
        loss.reduction = "none"
        losses = loss(logits, labels)
    else:
        losses = loss(logits, labels, reduction="none")
    tensors = [one for one in model.parameters() if one.requires_grad]
    grads = torch.autograd.grad(losses.mean(), tensors, materialize_grads=True)
    weights, downhill = flat(tensors), -flat(grads)
    bits = 1 - math.log2(torch.finfo(losses.dtype).eps)  # 24 in float32
    logits = logits.detach().cpu().double()
    leads = logits.topk(2).values
    return {
        "losses at zero": int((losses == 0).sum()) / len(losses),
        "lead of the largest logit": float((leads[:, 0] - leads[:, 1]).mean()),
        "lead that rounds cross-entropy to zero": bits * math.log(2),
        "length of the logits": float(logits.norm(dim=1).mean()),
        "length of the weights": float(weights.norm()),
        "cosine of weights and -gradient": float(
            weights / weights.norm() @ downhill / downhill.norm().clamp(min=1e-300)
        ),
    }


# %% [markdown]
# It was run on four states of one small network, whose weights are in the records: the MLP of
# [One network, four papers](../story/one_network.ipynb), on 60 % of all sums modulo 59, each trained once. The weights
# were kept in half precision; the first two numbers are still those of the full run, to one per cent.
#
# The *lead* is how far the largest logit is ahead of the second, on average; near the lead in the next line the loss rounds to zero. The
# *cosine* is 1 if a step down the gradient only makes the weights longer.

# %% tags=["hide-input"]
#| fold: "Code: the diagnosis of the recorded networks"
story = kept.record("story/one_network")


def diagnosed(arm, step):
    """The diagnosis of a recorded network, and its test accuracy."""
    run = Run(story, arm)
    (seed,) = run.seeds
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        data = datasets.modular(**run.settings.dataset.options)
        model = models.MLP(**run.settings.model.options)
    weights = story.weights(arm, seed, step)
    model.load_state_dict({name: one.float() for name, one in weights.items()})
    found = diagnose(model, data.x_train, data.y_train)
    for key, column in (
        ("losses at zero", ZERO),
        ("lead of the largest logit", "mean_gap"),
    ):
        (recorded,) = run.at(column, step)
        assert math.isclose(found[key], recorded, rel_tol=0.01, abs_tol=0.002)
    return found | {"test set right": float(run.at(TEST, step).iloc[0])}


STATES = {"fitted": ("softmax", 200), "stalled": ("softmax", 8000)}
STATES |= {"weight decay": ("weight decay", 8000), "⊥Grad": ("⊥Grad", 8000)}
states = {name: diagnosed(*state) for name, state in STATES.items()}
SHOW = dict.fromkeys(("losses at zero", "test set right"), "{:.0%}")
SHOW |= dict.fromkeys(("length of the logits", "length of the weights"), "{:,.0f}")
SHOW["cosine of weights and -gradient"] = "{:.2f}"
tables.grid(
    ("", *(f"{name}, step {step:,}" for name, (_, step) in STATES.items())),
    [
        (key, *(words(one[key], SHOW.get(key, "{:,.1f}")) for one in states.values()))
        for key in states["fitted"]
    ],
)

# %% [markdown]
# Call it twice, some thousand steps apart: what counts is what moves. Then find your network in this table.
#
# | What you see | What it is | Try first |
# | --- | --- | --- |
# | **1.** Most losses are at zero, and test accuracy stands still | losses that round to zero | weight decay, as in 2 |
# | **2.** Few losses are at zero; the weights get longer and longer, and the gradient points along them | surer answers, no better ones | weight decay, then ⊥Grad |
# | **3.** The training loss jumps, again and again | loss spikes | a larger ε in Adam |
# | **4.** None of these | not known | learning rate and weight decay |
#
# ## 1. Most losses are at zero

# %% tags=["remove-input"]
PRECISE = {name: f"60% {name}" for name in ("float32", "float64")}
rounding = kept.record("prieto2025/fig02")
single, double = (Run(rounding, arm) for arm in PRECISE.values())
begun = single.first("collapse_float32", above=0.5)
gained = {run: 100 * (run.last(TEST) - run.at(TEST, begun)) for run in (single, double)}
images = SHARED["Race"](kept, "f", 0.8).runs["⊥Grad"]
text = kept.record("prieto2025/tab01language")
top5 = [Run(text, arm).last("test_top5") for arm in ("Softmax CE", "StableMax CE")]


def counted(race, name):
    """In how many runs a remedy generalised."""
    onset = race.onset[name]
    return f"{np.isfinite(onset).sum()} of {len(onset)} runs"


mod59, mod97, parity = races.values()
assert max(*DECAY.last(ZERO), *PERP.last(ZERO)) < 0.01 or tables.is_rerun()
tables.prose(f"""
**What it is.** {{term}}`Softmax collapse`: the right logit leads by so much that its probability, in the digits of the loss, is exactly 1. The
loss is exactly 0, and the right class gets no gradient any more.

**What to try.** Weight decay, as in 2. In the first figure fewer than 1 % of the losses are zero in the end with it, or with ⊥Grad. To win time,
compute the loss in float64, or with a form that cannot round to zero and needs no float64:

```python
from grokbook.anywhere import CollapseFreeLoss

loss = cross_entropy(logits.double(), labels)
loss = CollapseFreeLoss()(logits, labels)
```

**What we measured.** An MLP that saw 60 % of all sums modulo 113 gained {middle(gained[single], "{:.0f}")} points of test accuracy after half of its float32
losses were zero, and {middle(gained[double], "{:.0f}")} points from the same step on if its losses were in float64 (medians of {len(single.seeds)} runs each;
[more](../questions/q02_rounding.ipynb)). It generalised with neither. On sparse parity networks with the form that cannot round
generalised in {counted(parity, "collapse-free loss")}.

StableMax rounds to zero far later. With it networks generalised on sparse parity in {counted(parity, "StableMax")}, at step {parity.short("StableMax")} (⊥Grad:
{parity.short("⊥Grad")}), and on addition modulo 59 in {counted(mod59, "StableMax")} within {mod59.steps:,} steps:

```python
from grokbook.anywhere import StableMaxLoss

loss = StableMaxLoss()(logits, labels)
```

**When it is no fault, or harms.** On MNIST {middle(images.last(ZERO), "{:.0%}")} of the losses were zero with ⊥Grad, and nothing was wrong: {middle(images.last(TEST), "{:.0%}")} of the test set was
right (medians of {len(images.seeds)} runs). In one short training of a small language model StableMax cost {told(100 * (top5[0] - top5[1]), "{:.1f}")} points of
top-5 accuracy.
""")

# %% [markdown]
# ## 2. Few losses are at zero, and the weights grow

# %% tags=["remove-input"]
first = kept.record("basics/grokking")
alone, decayed = (Run(first, arm) for arm in ("no decay", "decay 1"))
fifteen = kept.record("prieto2025/fig15", arms=("lr 0.05, decay 8",))
slower = kept.record("prieto2025/fig15slow", arms=("lr 0.001, decay 1",))
block = kept.record("prieto2025/fig06a", arms=("no-norm, subtraction: AdamW",))
BLOCK = {"⊥Grad": "⊥AdamW", "decay": "AdamW, decay 1.5"}
blocks = {
    name: Run(block, f"no-norm, subtraction: {arm}") for name, arm in BLOCK.items()
}
letters = kept.record("remedies/test-g")
right = {
    arm.name.split(",")[0]: middle(Run(letters, arm.name).last(TEST), "{:.0%}")
    for arm in letters.experiment.arms
}
swept = kept.record("remedies/rates-a")
undone = Run(swept, "rate 0.03, decay 0.3").last(TEST)
TYPED = {
    "decay": "AdamW(model.parameters(), lr={}, weight_decay={})",
    "⊥Grad": "orthogonal(AdamW(model.parameters(), lr={}, weight_decay=0))",
}


def point(race, name):
    """Rate and strength of a remedy on a task."""
    return [word.rpartition(" ")[2] for word in race.runs[name].arm.split(", ")[1:3]]


def typed(name):
    """What to type, at the settings that were best on addition modulo 59."""
    return TYPED[name].format(*point(mod59, name))


def steps(name):
    """The median steps of a remedy on the three tasks, with its learning rates."""
    return ", ".join(
        f"{race.short(name)} on {task} (rate {point(race, name)[0]})"
        for task, race in races.items()
    )


def again(task, name):
    """The median step of a remedy in the second tuning."""
    return SHARED["short"](finer[task].onset[name])


def none_by(run):
    """That no run of these generalised, and how long they were trained."""
    assert not np.isfinite(run.onset()).any()
    return f"none of {len(run.seeds)} runs generalised within {run.settings.epochs:,} steps"


cosines = {
    name: f"{one['cosine of weights and -gradient']:.2f}"
    for name, one in states.items()
}
lengths = {name: f"{one['length of the weights']:.0f}" for name, one in states.items()}
begun, ended = (step for _, step in [*STATES.values()][:2])
assert not np.isfinite(Run(fifteen, "lr 0.05, decay 8").fitted(accuracy=0.99)).any()
assert again("a", "Muon") == "none"
tables.prose(f"""
**What it is.** {{term}}`Naive loss minimisation`: the training data are right, and the loss still falls if the network only gets surer of them, that
is, if its weights get longer. The gradient points along the weights. In the network above the cosine was {cosines["fitted"]} soon after the fit, and
the losses rounded to zero later: this is often the stage before 1. The cosine alone decides nothing. It was {cosines["⊥Grad"]} too in the network that
had generalised with ⊥Grad. See whether the weights grow, and how much. From step {begun:,} to step {ended:,} those of the stalled network went from a length of
{lengths["fitted"]} to {lengths["stalled"]}. At the same step they were {lengths["weight decay"]} long in the network with weight decay, and {lengths["⊥Grad"]} in that with ⊥Grad.

A stall needs no zeros: in [the first chapter](../basics/grokking.ipynb) a network without decay had {middle(alone.last(ZERO), "{:.0%}")} of its losses at zero after
{alone.settings.epochs:,} steps, and {middle(alone.last(TEST), "{:.0%}")} of the test set right. With weight decay it generalised at step {middle(decayed.onset())} (medians of {len(alone.seeds)} runs).

**What to try.** Weight decay first, with a tuned learning rate. Then ⊥Grad, without the decay that `AdamW` has by default. These are
the settings that were best on addition modulo 59:

```python
from torch.optim import AdamW
from grokbook.optimizers import orthogonal

optimizer = {typed("decay")}
optimizer = {typed("⊥Grad")}
```

**What we measured.** Each was tuned alone, in MLPs of width 128, and then trained {len(mod59.onset["decay"])} times. Every run generalised. Median steps:

* weight decay of 1: {steps("decay")};
* ⊥Grad: {steps("⊥Grad")}.

These decays were tried a factor of ten apart. A second tuning, with strengths a factor of three apart and new runs, brought weight decay to
step {again("a", "decay")} on addition modulo 59, where ⊥Grad had {again("a", "⊥Grad")}. On sparse parity the optimizer Muon was at step {again("e", "Muon")}
and ⊥Grad at {again("e", "⊥Grad")}, but Muon generalised on no addition in the steps given. [All remedies](matrix.ipynb) are on one page.

**When it harms, or nothing happens.**

* *⊥Grad at another learning rate.* In the MLP of the first figure {none_by(Run(fifteen, "lr 0.05, ⊥AdamW"))} at a rate of 0.05, and
  {none_by(Run(slower, "lr 0.001, ⊥AdamW"))} at 0.001. Weight decay of 1 worked at both, from step {middle(Run(fifteen, "lr 0.05, decay 1").onset())} and {middle(Run(slower, "lr 0.001, decay 1").onset())} on.
* *Both at once.* ⊥Grad with a weight decay of 0.3, at a rate of 0.03, ended at {middle(undone, "{:.0%}")} of the test set of addition modulo 59 (median of {len(undone)}
  runs): what the network had learned was lost again.
* *Too strong a decay.* At a rate of 0.05 a decay of 8 kept all {len(fifteen.seeds("lr 0.05, decay 8"))} networks from fitting.
* *A network that has stalled already.* Each run above had its remedy from the start, and no record tells what one does later. ⊥Grad makes
  no weight shorter. In {{ref}}`the second exercise <ex-remedies-use-stall>`, one small network, it changes nothing after the stall, and weight decay ends it.
* *A transformer.* On subtraction, at rates that were not tuned, ⊥Grad took {middle(blocks["⊥Grad"].onset())} steps, a decay of 1.5 took {middle(blocks["decay"].onset())} (medians of {len(blocks["decay"].seeds)} runs).
* *Letters.* A small transformer without a stall got {right["none"]} of the next letters right, with ⊥Grad {right["⊥Grad"]}, with weight decay {right["decay"]}, at the
  strengths of addition. [On MNIST](images.ipynb) there was nothing to gain.
""")

# %% [markdown]
# ## 3. The training loss jumps

# %% tags=["remove-input"]
SPIKES = {
    "float32": ("fig01", "float32"),
    "float64": ("fig01", "float64 loss"),
    "ε": ("fig03a", "ε 1e-05"),
    "narrow": ("fig06", "float64 loss"),
}
spiky = {
    name: Run(kept.record(f"liu2026/{record}", arms=(arm,)), arm)
    for name, (record, arm) in SPIKES.items()
}
jumps = {name: instability.slingshots(run) for name, run in spiky.items()}
anyhow = instability.counted(instability.bursts(spiky["narrow"]))  # collapsed or not
assert not jumps["ε"].any() and not jumps["float64"].any()
epsilon = f"{spiky['ε'].settings.optimizer.options['eps']:g}".replace("e-0", "e-")
tables.prose(f"""
**What it is.** In some networks {{term}}`slingshots <slingshot>`: losses round to zero, gradients become tiny and unbalanced, and Adam, which divides by
the size of past gradients, makes a huge step. In others the cause is unknown. To count jumps in a log of every step:

```python
import pandas
from grokbook.instability import spikes

spikes(pandas.Series(training_losses))  # the steps at which jumps begin
```

**What to try.** A larger ε in Adam, or a loss in float64 as in 1:

```python
optimizer = AdamW(model.parameters(), lr={spiky["ε"].settings.optimizer.options["lr"]:g}, weight_decay=0, eps={epsilon})
```

**What we measured.** A wide MLP on CIFAR-10 images, without weight decay, jumped {middle(jumps["float32"])} times in {spiky["float32"].settings.epochs:,} steps (median of {len(jumps["float32"])} runs), and never
with this ε ({len(jumps["ε"])} runs) or with a float64 loss ({len(jumps["float64"])} runs).

**When it does nothing.** With a float64 loss {int((jumps["narrow"] > 0).sum())} of {len(jumps["narrow"])} runs of a narrow MLP still jumped after a collapse, {int((anyhow > 0).sum())} at any time, and
so did [a transformer with weight decay](../questions/q06_float32.ipynb). Jumps here are those after a collapse; `spikes` lists all of them. Whether test accuracy gains was not the question.
""")

# %% [markdown]
# ## 4. None of these

# %% tags=["remove-input"]
angle = kept.record("remedies/angle-a")
ARMS = (
    "held at twice the norms",
    "twice the norms, logits over 8",
    "free, logits over 8",
)
long, scaled, free = (Run(angle, arm) for arm in ARMS)
assert np.isfinite(long.fitted(accuracy=0.99)).all() and not long.last(ZERO).any()
assert np.isfinite(scaled.onset()).all()
weak, strong = (Run(fifteen, f"lr 0.01, decay {d}") for d in ("0.5", "8"))
low, high = Run(slower, "lr 0.001, decay 1"), Run(fifteen, "lr 0.05, decay 1")
tables.prose(f"""
**What it is.** We do not know, but we have seen one such stall. We fixed the norms of the weights, on addition modulo 59, at twice those of a run with
weight decay. The networks fitted, their weights could not grow, no loss was zero, and {none_by(long)}: they ended at {middle(long.last(TEST), "{:.0%}")} of
the test set. With their logits divided by 8 as well, all {len(scaled.seeds)} generalised, at step {middle(scaled.onset())}
([more](elsewhere.ipynb)). So weights may be too long without growing.

**What to try.** Shorter weights, by learning rate and weight decay, whose product counts:

```python
for lr in (0.001, 0.003, 0.01, 0.03):
    optimizer = AdamW(model.parameters(), lr=lr, weight_decay=1.0)
```

**What we measured.** In the MLP of the first figure, at a decay of 1, a rate of 0.001 generalised at step {middle(low.onset())} and one of 0.05 at {middle(high.onset())}. At a rate of
0.01, a decay of 0.5 did at {middle(weak.onset())} and one of 8 at {middle(strong.onset())} ({len(weak.seeds)} runs each; [more](../questions/q04_rate_and_decay.ipynb)).

**When it harms, or does nothing.** Too strong a decay keeps a network from fitting, as in 2. Logits divided by 8 while the weights are free to
grow did nothing: {none_by(free)}. And not every stall has a remedy: too few data show no rule.
""")

# %% [markdown]
# ## Other remedies that worked

# %% tags=["remove-input"]
OTHERS = {
    "coupled L2": "Adam(model.parameters(), lr={}, weight_decay={})",
    "radius with tuned target": "pull = Pull(*layers, strength=5, target={1} * width**0.5); loss = loss + pull(); lr={0}",
    "activations": "pull = Pull(*layers, strength={1}); loss = loss + pull(); lr={0}",
    "dropout": "nn.Dropout({1}); lr={0}",
}
rows = [
    [
        SHARED["called"](name),
        code.format(*point(mod59, name)),
        " / ".join(race.short(name) for race in races.values()),
        right[name],
    ]
    for name, code in OTHERS.items()
]
tables.folded(
    "Four more, with what to type",
    ("Remedy", "What to type", "Step: modulo 59 / 97 / parity", "Letters right"),
    rows,
    below="Pull is in grokbook.anywhere; layers are the modules whose outputs it shortens, and width is their width.",
)

# %% [markdown]
# ## How far this goes
#
# Small networks, small tasks, a few runs each. The three tasks of the comparison end at a test accuracy of 99 %, and what comes
# later is not known. Larger networks are [registered and not run](index.md). The settings are where to begin, not what your network
# needs. [Which remedy should I use?](../questions/q09_remedy.ipynb) compares learning rates.
#
# ## Try it
#
# ```{exercise}
# :label: ex-remedies-use-lead
# By how much may the right logit lead, with one wrong class, until cross-entropy is exactly zero in bfloat16, which has 8
# significant bits? And in float16, with 11?
# ```
#
# ````{solution} ex-remedies-use-lead
# :class: dropdown
# By about $8 \ln 2 = 5.5$ and $11 \ln 2 = 7.6$. Autocast computes the loss in float32, where it is 16.6:
#
# ```python
# import math, torch
# for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
#     bits = 1 - math.log2(torch.finfo(dtype).eps)
#     print(dtype, round(bits * math.log(2), 1))
# ```
# ````
#
# ```{exercise}
# :label: ex-remedies-use-stall
# Train a small MLP on 80 % of all sums modulo 23 without weight decay until it has fitted. From there go on, once with ⊥Grad and once with a
# weight decay of 1. Which one generalises?
# ```
#
# ````{solution} ex-remedies-use-stall
# :class: dropdown
# Weight decay does. ⊥Grad takes away the part of the gradient along the weights, so that it makes none of them shorter:
#
# ```python
# import torch
# from torch import nn
# from torch.nn.functional import cross_entropy, one_hot
# from grokbook.optimizers import orthogonal
#
# p, width = 23, 64
# pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))[torch.randperm(p * p)]
# x, y = one_hot(pairs, p).flatten(1).float(), pairs.sum(1) % p
# cut = int(0.8 * p * p)
# for remedy in ("⊥Grad", "weight decay"):
#     torch.manual_seed(0)
#     layers = [nn.Linear(2 * p, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
#     net = nn.Sequential(*layers, nn.Linear(width, p))
#     optimizer = torch.optim.AdamW(net.parameters(), lr=0.03, weight_decay=0)
#     for step in range(450):
#         if step == 150 and remedy == "⊥Grad":
#             orthogonal(optimizer)
#         if step == 150 and remedy == "weight decay":
#             optimizer.param_groups[0]["weight_decay"] = 1.0
#         loss = cross_entropy(net(x[:cut]), y[:cut])
#         optimizer.zero_grad()
#         loss.backward()
#         optimizer.step()
#     right = (net(x[cut:]).argmax(1) == y[cut:]).float().mean()
#     print(f"{remedy} from step 150 on: {right:.0%} of the test set")
# ```
#
# Put both lines before the loop, and ⊥Grad is the quicker one: it generalises within 150 steps.
# ````
#
# ```{exercise}
# :label: ex-remedies-use-own
# Run `diagnose` on a network of yours at three checkpoints. In which row of the table is it? What would you expect of the
# remedy there, and what would tell you that it did nothing?
# ```
#
# ```{solution} ex-remedies-use-own
# :class: dropdown
# There is no answer to print. Say before you train at which step test accuracy should have moved, and train the same network
# without the remedy for as long. A remedy that was tuned beats a baseline that was not, whatever it is.
# ```
#
# ## What was read
#
# Runs of Prieto et al., Figures [1](../prieto2025/fig01_headline.ipynb), [2](../prieto2025/fig02_softmax_collapse.ipynb),
# [4](../prieto2025/fig04_stablemax_grokking.ipynb), [6](../prieto2025/fig06_orthogonal_optimizers.ipynb),
# [15](../prieto2025/fig15_weight_decay.ipynb) and [Table 1](../prieto2025/tab01_realistic.ipynb), of Liu et al., Figures
# [1](../liu2026/fig01_precision.ipynb), [3](../liu2026/fig03_mitigations.ipynb) and [6](../liu2026/fig06_two_instabilities.ipynb), of
# [the first chapter](../basics/grokking.ipynb), [the story](../story/one_network.ipynb) and of [all twelve remedies](matrix.ipynb),
# with [letters](letters.ipynb) and [fixed norms](elsewhere.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()

# %% [markdown]
# ## Run it yourself
#
# All runs, with those of the tuning, in about a day on one core:
#
# ```bash
# make page PAGE=remedies/use SCALE=laptop
# ```
