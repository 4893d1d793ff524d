# %% [markdown]
# # 10. A penalty on the radius: what may one conclude?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheet 1 | to check whether an intervention was made at all before judging its effect, and to say what an outcome does not show |

# %% [markdown]
# ## The question (12 minutes)
#
# Tiwari et al. (2026) have another explanation for the wait. The *activations* $h$ of a hidden layer, the $d$ numbers that the layer hands on, grow in training, they say, in place of
# turning. They add to the loss a *penalty* that draws the length of $h$, its *radius* $\lVert h \rVert$, to the target $\sqrt d$:
#
# $$\text{loss} + \lambda \, \frac{1}{n\,d} \sum_{i=1}^{n} \bigl(\lVert h_i \rVert - \sqrt d \bigr)^2 .$$
#
# The sum runs over the $n$ examples, and $\lambda$ is the *strength*. "On modular arithmetic, this penalty accelerates grokking", they write. For addition modulo 97 with half of the pairs, an MLP (a network of fully connected layers)
# of width $d = 512$ is printed to generalise at epoch 2,460 with the penalty. With strong weight decay, 0.1, in its place, it is printed to generalise at epoch 15,540.
#
# The book trained three arms of that network for 8,000 epochs, with three seeds each: *penalty* (strength 0.05, weight decay 0.001), *strong decay* (0.1), and *baseline* (decay 0.001 alone). The paper
# has no official code, so that some settings are a reading of its text.

# %% [markdown]
# ## Predict (5 minutes)
#
# Two sketches, with the **epoch** (0 to 8,000) on the horizontal axis. First the **test accuracy** (vertical axis, 0 to 1) of the three arms, if the paper is right. Then the **radius over its target**, $\lVert h \rVert / \sqrt d$
# (vertical axis, 0 to 2), of the first hidden layer, for the penalty and the baseline, if the penalty does what its formula says.

# %% [markdown]
# **My prediction.** At which epoch does each arm have half of the test set right, if the paper is right? Where does the radius end, with the penalty and without?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

# %% tags=["table"]
import grokbook

record = grokbook.record("tiwari2026/fig01", scale="paper")
target = np.sqrt(512)
runs = record[["epoch", "seed", "arm", "train_accuracy", "test_accuracy"]].assign(
    radius_1=record["radius.pre.0"] / target, radius_2=record["radius.pre.1"] / target
)

# %%
runs.tail()

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
for number, (arm, networks) in enumerate(runs.groupby("arm")):
    for _, run in networks.groupby("seed"):
        lines = left.plot(run.epoch, run.test_accuracy, color=f"C{number}")
        right.plot(run.epoch, run.radius_1, color=f"C{number}")
    lines[0].set_label(arm)  # one for each colour
left.set(ylim=(-0.02, 1.02), xlabel="epoch", ylabel="accuracy on the test set")
right.set(ylim=(0, 2), xlabel="epoch", ylabel="radius of layer 1 over its target")
left.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** The radius of the penalty goes to 1 and stays there. Its test accuracy stays at the level of a guess, as that of the baseline. Only strong decay begins to rise, at the very end.

# %% [markdown]
# ## Measure (13 minutes)
#
# The helper gives the last value of a column for each seed of an arm.


# %%
def at_end(frame, arm, column):
    """The last measured value of a column, by seed."""
    return frame[frame.arm == arm].sort_values("epoch").groupby("seed")[column].last()


at_end(runs, "penalty", "train_accuracy")

# %% tags=["table"]
more = grokbook.record("tiwari2026/fractions", scale="paper")
more = more[["epoch", "seed", "arm", "train_accuracy", "test_accuracy"]]

# %% [markdown]
# (a) **Was the intervention made?** Give the radius over target of both layers at the end, for the penalty and the baseline. (b) **Did it have the effect?** Give the test accuracy of the three arms at the end.
# (c) **Another setting.** The table `more` of the cell above has the same network with a tenfold decay, 1, and with more of the pairs, 60 %, with and without the penalty. Find for each seed the first epoch with 90 % of the test set right. Does the penalty help
# there?

# %% tags=["solution"]
ends = pd.DataFrame(
    {
        (arm, column): at_end(runs, arm, column)
        for arm in ("penalty", "strong decay", "baseline")
        for column in ("radius_1", "radius_2", "test_accuracy")
    }
).T
assert (
    ends.loc["penalty"].loc[["radius_1", "radius_2"]].sub(1).abs().max(axis=None) < 0.02
)
assert ends.loc["baseline"].loc["radius_1"].between(0.2, 0.3).all()
assert ends.loc["baseline"].loc["radius_2"].between(1.5, 1.8).all()
assert ends.loc["penalty"].loc["test_accuracy"].max() < 0.01
ends.round(3)

# %% tags=["solution"]
right = more[more.test_accuracy >= 0.9]
first = right.groupby(["arm", "seed"]).epoch.min().unstack("seed")
with_penalty, without = first.sort_index(ascending=False).to_numpy()
assert (with_penalty > without).all() and without.max() <= 1_400
first

# %% [markdown]
# ## Judge (10 minutes)
#
# A classmate says: "The book shows that the penalty does not work."
#
# Write two sentences. In the first, say what failed, in which setting, for how long and how many seeds, and what (a) excludes as a reason. In the second, name two reasons for which the paper may still be right about its own networks, one of them from (c), and the one
# run or the one piece of information that would decide between them.

# %% [markdown] tags=["solution"]
# **A good answer.** "With the settings as the book reads them, none of three networks of width 512 generalises with the penalty within 8,000 epochs, where the paper prints 2,460; the radius is at its target, so the penalty was at work and the failure is not a missing
# intervention. The paper's networks may differ in something that its text does not say, such as the weight decay beside the penalty, the start of the weights or where the radius is measured, or they may generalise
# by decay alone: with decay 1 our networks grok, and later with the penalty than without; the authors' code or their log of the weight norm would decide."
#
# **Rubric, four points.** One for the failure with setting, time and seeds. One for the check that the radius arrived. One for two reasons that are compatible with the data: unknown settings, a reading of the text, 8,000 epochs being shorter than 15,540 for the rival. One for a piece of information that would decide. "The paper is
# wrong" costs a point, and "we must have made a mistake" costs one too: neither is shown. The page [Readings](../tiwari2026/readings.ipynb) tries other readings of the text.
