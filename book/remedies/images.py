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

plots.use_style()
page = evidence.Page("remedies/images", scale, retrain, device)
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")  # of all tasks
race = SHARED["Race"](page, "f", level=0.8)
steps, at = race.steps, race.told
sheet = claims.read(page.name, race.rows())
sheet.box(f"""A large start is known to delay generalisation on MNIST with squared error. With cross-entropy and a tuned rate the
network without a remedy generalises at step {at("none")}, as soon as it fits. So there is nothing to remedy.""")

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
tables.prose(f"""
* **No delay.** Without a remedy test accuracy is above 80 % at step {at("none")}, and training accuracy at
  99 % at {race.fits("none")}.
* **Three penalties harm.** With a pull of activations to zero, to √d or to a tuned radius, hardly a seed comes above
  80 % for good.
* **StableMax and layer norm end highest,** see the table. The leads are a few points.
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
# look. A value is that lead, in looks; a run that does not generalise counts as the last step. The
# words are those of the papers that propose a remedy. The tests are ours, registered before the runs.

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
