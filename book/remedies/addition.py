# %% [markdown]
# # [Remedies × tasks]{.kicker} Tuned alike, ⊥Grad groks before weight decay, decay before activations

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
import runpy

from grokbook import claims, evidence, plots, project, tables
from grokbook.evidence import Run, told

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


found = {f"perp-decay-{decay:g}": later(decay) for decay in (0.03, 0.1)}
found |= {
    f"perp-decay-{decay:g}": (decayed[decay], decayed[decay].last("test_accuracy"))
    for decay in (0.3, 1)
}
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
)
sheet.box(f"""Tiwari et al. call their penalty faster than a pull of activations to zero. Tuned alike, it has not
generalised within {steps:,} steps in any of {len(race.onset["radius to √d"])} seeds. The pull has at step {at("activations")}, weight decay at
{at("decay")} and ⊥Grad at {at("⊥Grad")}. Strengths were tried a factor of ten apart.""")

# %% tags=["hide-input"]
#| name: fig-remedies-addition
#| caption: >
#|   How many of five seeds have generalised, by step, with each remedy at the learning rate and the
#|   strength that its tuning chose. A full bar is five of five (one minus the estimate of
#|   Kaplan and Meier). The earliest remedy is on top.
#| alt: >
#|   Bars, one per remedy, that fill to the right of the step at which a seed generalises.
#|   The bar of ⊥Grad is full almost at once, those of weight decay and coupled L2 soon after,
#|   those of the two penalties of activations by about a third, those of dropout and of the first
#|   matrix held short later. With the other remedies, and without one, the bar stays empty.
#| fold: "Code: draw the figure"
race.bars()

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


back = int((race.runs["activations"].falls_back(accuracy=race.level) > 0.02).sum())
tables.prose(f"""
* **⊥Grad is first,** at step {at("⊥Grad")}. It has next to no {{term}}`delay`: it fits its training pairs at step
  {race.fits("⊥Grad")}. Weight decay fits as early and generalises at {at("decay")}.
* **The rate decides much.** In the tuning, decay generalises at step {best("decay", "0.001"):,.0f} with a rate of 0.001, that of
  [the chapter on Tiwari et al.](../tiwari2026/remedies.ipynb), and at {best("decay", "0.03"):,.0f} with 0.03. At 0.001 no point
  of ⊥Grad's grid generalises within {steps:,} steps, and that is the cap at every rate.
* **Two pulls on activations** come next. One to a short radius fits at step
  {race.fits("radius with tuned target")} and generalises at {at("radius with tuned target")}. One to zero delays the fit to step {race.fits("activations")}. The rule
  follows at {at("activations")}; {back} of {len(race.onset["activations"])} seeds were there before and fell back. Dropout and a first matrix held short have later medians,
  at {at("dropout")} and {at("first matrix held short")}.
""")

# %% [markdown]
# * **Nothing** helps by itself among Grokfast, layer norm, StableMax, a loss that cannot collapse, and the penalty
#   towards √d: as without a remedy, no point of their grids generalises within 1,000 steps. Longer runs of StableMax
#   [do](../prieto2025/fig04_stablemax_grokking.ipynb).

# %% tags=["remove-input"]
tables.prose(f"""
* **Added as they are tuned, weight decay and ⊥Grad do not go together.** In {int((came["⊥Grad"] == steps).sum())} of {len(came["⊥Grad"])}
  seeds the pair does not generalise within {steps:,} steps. Decay takes 3 % of the weights a step, and the weights shrink: the first
  matrix ends at a norm of {told(beside["⊥Grad"].last("norm.layers.0.weight"), "{:.2g}")}. At a rate of 0.03, with a decay of
  0.03, ⊥Grad generalises at {told(decayed[0.03].onset(above=race.level))}, and without one at {told(decayed[0].onset(above=race.level))}. With 0.1 it is as early in {kept(0.1)}
  seeds to the end of {decayed[0].settings.epochs} steps; in the others accuracy falls again, to {told(decayed[0.1].last("test_accuracy"), "{:.0%}")} of all seeds at the end. With 0.3 it first
  reaches 90 % at {told(decayed[0.3].reaches(accuracy=0.9))}, and ends at {told(decayed[0.3].last("test_accuracy"), "{:.0%}")}.
* **Others gain from decay.** At its tuned strength, a pull to a short radius generalises at step {told(came["radius with tuned target"])},
  layer norm at {told(came["layer norm"])}, and Grokfast at {told(came["Grokfast"])}. A pull to zero gains nothing: {told(came["activations"])}.
""")

# %% tags=["remove-input"]
race.table()

# %% tags=["hide-input"]
#| name: fig-remedies-addition-tuning
#| caption: >
#|   The tuning: the step at which each point of a remedy's grid generalises, in one seed.
#|   Three rates times four strengths, and the points beyond an edge where the best one
#|   stood there. Filled, within the cap; hollow on the right, not within it.
#| alt: >
#|   Dots by remedy and step. ⊥Grad has its dots far left at the two largest rates and none
#|   at smaller ones. Decay, coupled L2 and two penalties of activations have dots from 150 on,
#|   the larger the rate the earlier. Without a remedy, with StableMax, the collapse-free loss, the
#|   paper's radius, layer norm and Grokfast all dots are hollow, at the right edge.
#| fold: "Code: draw the figure"
race.dots()

# %% [markdown]
# **No length is shared.** The first matrix is long with ⊥Grad and with weight decay, and short with the two
# penalties of activations. Held shorter still, it does not bring the rule sooner than they do. So a short first
# matrix is no condition of early generalisation here.
#
# **Where this may change.** Neighbouring strengths are a factor of ten apart, and ⊥Grad has none to tune. So a
# decay between 1 and 10 may be earlier than the decay of 1 that stands here. The best rate of weight decay, coupled
# L2 and ⊥Grad is 0.03, once more the largest that was tried. So all three may be earlier still. The activations had their best point at 0.003
# and were not tried at 0.03. Remedies that never generalise are chosen by their last test accuracy. A network
# that guesses is then ahead of one that knows its pairs by heart. Without a remedy, and with the loss that
# cannot collapse, the chosen networks have diverged, so that their pairs compare little. In the tuning each remedy
# is alone.
#
# ## The claims
#
# One remedy beats another if it generalises earlier in all five pairs of seeds, by more than one
# look. A value is that lead, in looks; a run that does not generalise counts as the last step. The
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
# 3. *Cap.* 1,000 steps, looked at every 10. A run ends at a test accuracy of 99 %.
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
# Ties and leads of one look make it rarer.
# ````

# %% [markdown]
# ## Run it yourself
#
# ```bash
# make page PAGE=remedies/addition SCALE=laptop
# ```
