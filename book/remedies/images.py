# %% [markdown]
# # [Remedies × tasks]{.kicker} With cross-entropy a large start delays nothing on MNIST

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import runpy

from grokbook import claims, evidence, plots, project, tables
from grokbook.evidence import told

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
)
sheet.box(f"""A large start is known to delay generalisation on MNIST with squared error. With cross-entropy and a tuned rate the
network without a remedy generalises at step {at("none")}, as soon as it fits, in each of {len(plain.seeds)} seeds. So there is nothing to
remedy, and whether one remedy is faster than another cannot be told here.""")

# %% tags=["hide-input"]
#| name: fig-remedies-images
#| caption: >
#|   How many of five seeds have generalised, by step, with each remedy at the learning rate and the
#|   strength that its tuning chose. A full bar is five of five. The earliest remedy is on top.
#| alt: >
#|   Bars, one per remedy. Ten are full from the first looks on. Those of the two pulls to a radius stay
#|   empty, and the pull to zero has one seed at the end.
#| fold: "Code: draw the figure"
race.bars()

# %% [markdown]
# ## What to see


# %% tags=["remove-input"]
def back(name):
    """The share of the logs after the first above the level that are below it again."""
    return race.runs[name].falls_back(accuracy=race.level)


def ends(name):
    """The last test accuracy."""
    return race.runs[name].last("test_accuracy")


penalties = [
    race.onset[name]
    for name in ("activations", "radius to √d", "radius with tuned target")
]
above = sum(int((onset <= steps).sum()) for onset in penalties)
tried = sum(map(len, penalties))
tables.prose(f"""
* **No delay.** Without a remedy test accuracy is above 80 % at step {at("none")}, and training accuracy at
  99 % at {race.fits("none")}.
* **Three penalties harm.** With a pull of activations to zero, to √d or to a tuned radius, only {above} of {tried} runs is above
  80 % for good. The first and the last get there at once and fall back: {told(back("activations"), "{:.0%}")} and
  {told(back("radius with tuned target"), "{:.0%}")} of the later logs are below.
* **StableMax and layer norm end highest,** at {told(ends("StableMax"), "{:.1%}")} and {told(ends("layer norm"), "{:.1%}")} of the test set. Without a
  remedy it is {told(ends("none"), "{:.1%}")}.
""")

# %% tags=["remove-input"]
race.table()

# %% tags=["hide-input"]
#| name: fig-remedies-images-tuning
#| caption: >
#|   The tuning: the step at which each point of a remedy's grid generalises, in one seed.
#|   Filled, within the cap; hollow on the right, not within it.
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
# One remedy beats another if it generalises earlier in all five pairs of seeds, by more than one
# look. The words are those of the papers that propose a remedy. The tests are ours, registered before the
# runs. A seed counts if the network without a remedy has a delay: it generalises later than one look after it fits.
# No seed has one here, so that no lead is told. Before 28 November the leads were judged all the same.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(race.record, race.tuned)

# %% [markdown]
# ## What was run
#
# 1. *Task.* MNIST, 1,000 images to train on and 10,000 to test, an MLP of width 200 whose start is eight times PyTorch's.
#    Generalised is a test accuracy above 80 % for good.
# 2. *Tuning and test* are those of [addition](addition.ipynb).
# 3. *Cap.* 3,000 steps, looked at every 30. A run ends at a test accuracy of 99 %.
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
# ```bash
# make page PAGE=remedies/images SCALE=laptop
# ```
