# %% [markdown]
# # [Remedies × tasks]{.kicker} On MNIST with cross-entropy nothing is delayed, so no remedy can be tested

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import runpy

from claimbook import claims, evidence, plots, project, tables
from claimbook.evidence import told

plots.use_style()
page = evidence.Page("remedies/images", scale, retrain, device)
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")  # of all tasks
race = SHARED["Race"](page, "f", level=0.8)
steps, at = race.steps, race.told
plain = race.runs["none"]
# a remedy can shorten a delay only where there is one, of more than a look
delayed = race.onset["none"] > plain.fitted(accuracy=0.99) + race.look
leads = race.rows()
sheet = claims.read(
    page.name,
    {
        row: (runs, evidence.testable(lead, delayed))
        for row, (runs, lead) in leads.items()
    },
    task=race.task,
    when=race.moments(),
)


def ends(name):
    """The last test accuracy."""
    return race.runs[name].last("test_accuracy")


early, fitted = race.onset["none"].median(), plain.fitted(accuracy=0.99).median()
sheet.box(f"""Tiwari et al. say that their penalty is faster than one that pulls
activations, the numbers inside a network, to zero (MAN). That cannot be told here,
since without a penalty nothing is late.

An MLP that starts with large
weights is known to generalise late on MNIST if it is trained with squared error. With
cross-entropy and a tuned learning rate it did not: without any remedy it had 80 % of
the test set right from step {early:.0f} on, before it had fitted its training images at
step {fitted:.0f} (medians of {len(race.onset["none"])} runs).

Three penalties on activations, Tiwari's among them, harm: networks whose activations are pulled to zero end at
{told(ends("activations"), "{:.0%}").split(" (")[0]} of the test set, those without a
remedy at {told(ends("none"), "{:.0%}").split(" (")[0]}. No other remedy does harm.""")

# %% tags=["hide-input"]
#| name: fig-remedies-images
#| caption: >
#|   Without a remedy test accuracy is high as soon as the training set is fitted: there is no delay to
#|   shorten. (a) No remedy, measured every 30 steps. Solid is the test set, dashed the training set; thick lines are medians, thin ones
#|   single runs. (b) Test accuracy at the end. Three penalties on activations end lower than no remedy, whose
#|   median is the grey line. A dot is one run, at the learning rate and the strength that the tuning of its
#|   remedy chose; on the right is the median.
#| alt: >
#|   Left, two curves that rise together within 60 steps, the test curve to about 88 %. Right, dots for each remedy: ten
#|   near 90 %, the two penalties towards a length near 80 %, the pull to zero between 49 and 82 %.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=4.4, width_ratios=(1, 1.1))
plots.accuracy(left, plain, label="", color=plots.BLUE)
left.set(xlim=(0, 300), xlabel="step")
plots.note(left, f"test set: 80 %\nat step {early:.0f}", (early, 80), (130, 40))
plots.note(left, f"training set fitted\nat step {fitted:.0f}", (fitted, 99), (200, 65))
order = sorted(race.runs, key=lambda name: -ends(name).median())
for row, name in enumerate(order):
    right.plot(100 * ends(name), [row] * len(ends(name)), "o", color=plots.BLUE, ms=5)
    last = f"{100 * ends(name).median():.0f}"
    right.annotate(last, (96, row), va="center", annotation_clip=False)
right.axvline(100 * ends("none").median(), color=plots.GREY, lw=1)
right.set_yticks(range(len(order)), map(SHARED["called"], order))
right.set(xlabel="test accuracy (%)", ylabel=" ", xlim=(45, 95))  # not that of (a)
right.set_ylim(len(order) - 0.5, -0.5)
plots.letter([left, right], ["no remedy", "at the end"])
plots.show(figure)

# %% [markdown]
# ## What to see


# %% tags=["remove-input"]
def back(name):
    """The share of the later measurements that are below the level again."""
    return race.runs[name].falls_back(accuracy=race.level)


penalties = [
    race.onset[name]
    for name in ("activations", "radius to √d", "radius with tuned target")
]
above = sum(int((onset <= steps).sum()) for onset in penalties)
tried = sum(map(len, penalties))
tables.prose(f"""
* **No delay.** Test accuracy is above 80 % for good at step {at("none")} without a remedy, and as early with nine of the others.
* **Three penalties harm.** With activations pulled to zero, to √d or to a tuned length, {above} of {tried} runs stay above
  80 %. The first and the last get there at once and fall back: {told(back("activations"), "{:.0%}")} and
  {told(back("radius with tuned target"), "{:.0%}")} of the later measurements are below.
* **StableMax and layer norm end highest,** at {told(ends("StableMax"), "{:.1%}")} and {told(ends("layer norm"), "{:.1%}")} of the test set.
""")

# %% tags=["remove-input"]
race.table()

# %% tags=["hide-input"]
#| name: fig-remedies-images-tuning
#| caption: >
#|   Nearly every point of every grid is at 80 % of the test set at once, except with the three penalties on activations. Each dot is one
#|   point in the tuning, trained once. Filled dots generalise; hollow ones, on the right, do not within the run.
#| alt: >
#|   Dots by remedy and step: nearly all filled and far left, at every rate. Those of the penalties of
#|   activations are mostly hollow, at the right edge.
#| fold: "Code: draw the figure"
race.dots()

# %% [markdown]
# **Why the task shows no delay.** Liu et al. {cite:p}`liu2023omnigrok` start eight times as large and train with squared
# error. Cross-entropy keeps the same start, but Adam's steps of 0.001 and more shorten the way. The tuning then
# takes the fastest point. A task without a delay cannot rank remedies for delay; it shows harm.
#
# **What harms.** The start is large, and so are its activations. A penalty that pulls them to a small length pulls
# against the fit: it undoes what the start has, and the network ends below the others.
#
# ## The claims
#
# The rule, its *looks* and the names in quotes are those of [addition modulo 59](addition.ipynb). A run counts if the
# network without a remedy has a delay: it generalises later than one look after it fits. No run has one here, so that
# nothing is judged. Before 28 November the leads were judged all the same.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(race.record, race.tuned)

# %% [markdown]
# ## What was run
#
# 1. *Task.* MNIST, 1,000 images to train on and 10,000 to test, an MLP of width 200 whose start is eight times PyTorch's.
#    Generalised is a test accuracy above 80 % for good.
# 2. *Tuning and test* are those of [addition](addition.ipynb).
# 3. *Length.* 3,000 steps at most, measured every 30. A run ends at a test accuracy of 99 %.
# 4. *Device.* Tuned on a GPU. Three remedies were tested there too, the others on a CPU.
#
# ## Try it
#
# ```{exercise}
# :label: ex-remedies-images-squared
# Which single change of this task would most likely bring a delay back?
# ```
#
# ```{solution} ex-remedies-images-squared
# :class: dropdown
# Squared error on one-hot labels. Its gradient does not grow with the outputs' scale as softmax's
# certainty does, and the published delay was found with it.
# ```

# %% [markdown]
# ## Run it yourself
#
# All runs, with those of the tuning, in about two hours or more on one core:
#
# ```bash
# make page PAGE=remedies/images SCALE=laptop
# ```
