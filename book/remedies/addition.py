# %% [markdown]
# # [Remedies × tasks]{.kicker} On addition modulo 59 networks generalise early with ⊥Grad or weight decay, and with Tiwari's penalty not in 1,000 steps

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
import runpy

import numpy as np

from claimbook import claims, evidence, plots, project, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("remedies/addition", scale, retrain, device)
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")  # of all tasks
race = SHARED["Race"](page, "a", level=0.9)
steps, at = race.steps, race.told
both = page.record("beside-a")  # weight decay beside another remedy
beside = {
    arm.name.removesuffix(" and decay"): Run(both, arm.name)
    for arm in both.experiment.arms
}
came = {
    name: run.onset(above=race.level).clip(upper=steps) for name, run in beside.items()
}


def ahead(name, other):
    """By how many looks a remedy beside decay is ahead of one alone, by pair."""
    first, second = evidence.paired(came[name], race.came[other])
    return [beside[name], race.runs[other]], (second - first) / race.look


swept = page.record("rates-a")  # ⊥Grad over rates and decays, on after it generalised
decayed = {
    decay: Run(swept, f"rate 0.03, decay {decay:g}") for decay in (0, 0.03, 0.1, 0.3, 1)
}


def later(decay):
    """How many times as late ⊥Grad generalises for good with a decay as without."""
    pair = [decayed[decay], decayed[0]]
    return pair, evidence.ratio(*(run.onset(above=race.level) for run in pair))


alone = {  # by its rate
    arm.name.split(",")[0].removeprefix("rate "): Run(swept, arm.name)
    for arm in swept.experiment.arms
    if arm.name.endswith("decay 0")
}


def at_each_rate():
    """The share of rates at which ⊥Grad alone generalises for good, by seed."""
    onsets = {rate: run.onset(above=race.level) for rate, run in alone.items()}
    came = np.isfinite(evidence.joined(onsets))
    return [*alone.values()], came.mean(axis=1)


found = {f"perp-decay-{decay:g}": later(decay) for decay in (0.03, 0.1)}
found |= {
    f"perp-decay-{decay:g}": (decayed[decay], decayed[decay].last("test_accuracy"))
    for decay in (0.3, 1)
}
found |= {"perp-rates": at_each_rate()}
ALONE = {
    "perp": ("⊥Grad", "⊥Grad"),
    "radius": ("radius with tuned target",) * 2,
    "activations": ("activations",) * 2,
}
ALONE |= {"grokfast": ("Grokfast", "decay"), "norm": ("layer norm", "decay")}
sheet = claims.read(
    page.name,
    race.rows()
    | {f"beside-{row}": ahead(*pair) for row, pair in ALONE.items()}
    | found,
    task=race.task,
    when=race.moments(),
    both={
        name: SHARED["moment"](run.onset(above=race.level), steps)
        for name, run in beside.items()
    },
)
middle = race.short  # the median step
sheet.box(f"""Tiwari et al. say that their penalty, which draws the lengths of
activations (the numbers inside a network) to a target, is faster than MAN, which pulls
them to zero. On this task, which is not theirs, it is slower.

We tried twelve ways to make an MLP generalise, called
remedies, each with the best learning rate and strength of an equal search, and trained
{len(race.onset["none"])} networks with each. With Tiwari's penalty none of them
generalised within {steps:,} steps; with MAN the median network did at step
{middle("activations")}. Weight decay came at step {middle("decay")}. ⊥Grad, which takes
the part of the gradient along the weights away, was first, at step {middle("⊥Grad")}.

The strengths of weight decay that we tried are a factor of ten apart. In a finer tuning, on the page of all
remedies, a strength between them came within a few steps of ⊥Grad, and so did Grokfast with its authors' settings
(not drawn).""")

# %% tags=["hide-input"]
#| name: fig-remedies-addition
#| caption: >
#|   ⊥Grad comes first, then L2 in the loss and weight decay, then two penalties that make activations short.
#|   With five remedies no run generalises in time, nor does any without a remedy. The runs without a remedy,
#|   and those with the softmax without rounding, diverged at the setting that tuning chose. A dot is one run, at the
#|   step from which on its test accuracy is above 90 %; a cross is a run that ended without that. On the right
#|   is the median step. Each remedy has the learning rate and the strength that its own tuning chose. Three
#|   remedies are penalties on the lengths of activations: "activations to zero" is MAN, "activations of short
#|   length" has a short target that was tuned too, and Tiwari's penalty has a longer one, the square root of
#|   the width. L2 in the loss is a penalty on the squared weights; a short first matrix is rescaled after each
#|   step; Grokfast amplifies the slow part of the gradient, here without the L2 of its authors' settings.
#| alt: >
#|   A row of dots for each remedy. Those of ⊥Grad lie near step 60, those of weight decay and L2 near 150, those of
#|   the two penalties near 300, those of dropout and of a short first matrix near 600. The other six rows have
#|   crosses at step 1,000.
#| fold: "Code: draw the figure"
race.by_remedy()

# %% [markdown]
# ## What to see


# %% tags=["remove-input"]
def best(name, rate):
    """The earliest step of a remedy at one rate, in the tuning's first seed."""
    points = [run for run in race.grids[name] if f", rate {rate}," in run.arm]
    return min(run.onset(above=race.level)[:1].min() for run in points)


def kept(decay):
    """In how many seeds ⊥Grad with a decay is above the level to the end."""
    onset = decayed[decay].onset(above=race.level)
    return f"{(onset < math.inf).sum()} of {len(onset)}"


def rates_where(share):
    """The rates at which this share of ⊥Grad's runs generalises for good, in words."""
    came = {
        rate: np.isfinite(run.onset(above=race.level)).mean()
        for rate, run in alone.items()
    }
    chosen = [rate for rate in alone if came[rate] == share]
    return ", ".join(chosen[:-1]) + f" and {chosen[-1]}"


back = int((race.runs["activations"].falls_back(accuracy=race.level) > 0.02).sum())
tables.prose(f"""
* **With ⊥Grad there is next to no {{term}}`delay`.** The network fits its training pairs at step {race.fits("⊥Grad")} and
  generalises at {at("⊥Grad")}. With weight decay it fits as early and generalises at {at("decay")}.
* **Short activations help, and long ones do not.** A penalty towards a short length, or towards zero, brings
  generalisation by about step 300. The pull to zero delays the fit as well, and {back} of {len(race.onset["activations"])} runs were above 90 %
  earlier and fell back.
* **The learning rate decides much.** In the tuning weight decay generalised at step {best("decay", "0.03"):,.0f} with a rate of 0.03, and
  at {best("decay", "0.001"):,.0f} with 0.001, the rate of [the chapter on Tiwari et al.](../tiwari2026/remedies.ipynb). At 0.001 and at 0.003 no setting
  of ⊥Grad generalised within the {steps:,} steps that every rate was given.
* **⊥Grad has to have a fitting rate.** Eight were tried with longer runs, 15 steps over the rate and {alone["0.001"].settings.epochs:,} at most. ⊥Grad generalises
  for good in each run at {rates_where(1)}, and in none at {rates_where(0)}. At 0.003 it may be slow only: it ends at
  {told(alone["0.003"].last("test_accuracy"), "{:.0%}")} of the test set. At 0.1 it ends at {told(alone["0.1"].last("test_accuracy"), "{:.0%}")}.
""")

# %% [markdown]
# * **Grokfast, layer norm, StableMax, a softmax without rounding and Tiwari's penalty** generalised at no point of their
#   grids within 1,000 steps. Longer runs with StableMax [do](../prieto2025/fig04_stablemax_grokking.ipynb).

# %% tags=["remove-input"]
tables.prose(f"""
**A strong weight decay undoes ⊥Grad.** Decay makes the weights shorter at every step, and ⊥Grad lets no gradient make them longer
again. At a rate of 0.03 a decay of 0.03 changes nothing: generalisation is at step {told(decayed[0.03].onset(above=race.level))}, as without it. With
0.1 the network is as early and stays above 90 % in {kept(0.1)} runs, to the end of {decayed[0].settings.epochs} steps. With 0.3 it reaches 90 % and
forgets it again: it ends at {told(decayed[0.3].last("test_accuracy"), "{:.0%}")}. The two at their tuned strengths together, with a decay of 1, generalise in
{int((came["⊥Grad"] < steps).sum())} of {len(came["⊥Grad"])} runs.

**Other remedies gain from weight decay.** With a decay of 1 the penalty towards a short length generalises at step {told(came["radius with tuned target"])}, layer
norm at {told(came["layer norm"])}, and Grokfast at {told(came["Grokfast"])}. The pull to zero gains nothing: {told(came["activations"])}. None of these
pairs was tuned as a pair.
""")

# %% tags=["remove-input"]
race.table()

# %% tags=["hide-input"]
#| name: fig-remedies-addition-tuning
#| caption: >
#|   Larger rates generalise sooner, and six remedies at no point that was tried. Each dot is one point of a remedy's
#|   grid in the tuning, trained once: three learning rates times four strengths, and the points beyond an edge where the
#|   best one stood there. Filled dots generalise; hollow ones, on the right, do not within the run.
#| alt: >
#|   Dots by remedy and step. ⊥Grad has its dots far left at the two largest rates and none
#|   at smaller ones. Decay, L2 and two penalties of activations have dots from 150 on,
#|   the larger the rate the earlier. Without a remedy, with StableMax, the softmax without rounding, activations
#|   of length √d, layer norm and Grokfast all dots are hollow, at the right edge.
#| fold: "Code: draw the figure"
race.dots()

# %% [markdown]
# **Where this may change.** Neighbouring strengths are a factor of ten apart, and ⊥Grad has none to tune. A
# decay between 1 and 10 may therefore be earlier than the decay of 1 that stands here. The best rate of weight decay,
# L2 and ⊥Grad is 0.03, the largest that was tried. Activations pulled to zero had their best point at 0.003 and
# were not tried at 0.03. Remedies that never generalise are chosen by their last test accuracy, so that a network
# that guesses is ahead of one that knows its pairs by heart. Without a remedy, and with the softmax without rounding,
# the chosen networks have diverged.
#
# ## The claims
#
# One remedy beats another if it generalises earlier in all five pairs of runs, by more than one *look*: test
# accuracy is measured a hundred times in the longest run, and the time between two is a look. The value of a test
# is that lead in looks; a run that does not generalise counts as the last step. Tests name remedies as the runs do:
# "activations" are pulled to zero, "radius to √d" is Tiwari's penalty, "none" is no remedy. The
# words are those of the papers that propose a remedy. The tests are ours, registered before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(race.record, race.tuned, both, swept)

# %% [markdown]
# ## What was run
#
# 1. *Tuning.* Three learning rates times four strengths a remedy, with one seed; the four best of
#    these with a second. Where the best point stood at an edge of its grid, the next point beyond it
#    joined, once. A point is worth the mean step at which it generalises, up to the cap.
# 2. *Test.* The best point of each remedy with five other seeds. Seeds pair starts and splits.
# 3. *Length.* 1,000 steps at most, measured every 10. A run ends at a test accuracy of 99 %.
# 4. *Time.* The runs shared their cores with others, so that their seconds compare nothing.
#
# ## Try it
#
# ```{exercise}
# :label: ex-remedies-addition-pairs
# Two remedies are equally good. How often does the rule of this page, five pairs of five, say that
# the first beats the second?
# ```
#
# ````{solution} ex-remedies-addition-pairs
# :class: dropdown
# ```python
# print(f"at most {0.5**5:.1%}")
# ```
#
# Ties and short leads make it rarer.
# ````

# %% [markdown]
# ## Run it yourself
#
# All runs, with those of the tuning, in about six to seven hours on one core:
#
# ```bash
# make page PAGE=remedies/addition SCALE=laptop
# ```
