# %% [markdown]
# # 11. A registered claim: write the test before you see the data
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheets 3 and 10 | to turn a sentence into a measured quantity with a bound, and how much a bound that is chosen afterwards can buy |

# %% [markdown]
# ## The question (12 minutes)
#
# Whoever sees the curves first can always find a test that they pass. So one writes the test before one looks, which is called to *register* it. A registered test has five parts:
#
# 1. the *sentence*, as it was written, and where;
# 2. the *quantity*: one number for each trained network, from columns that are measured;
# 3. the *bound* on the number and its direction, such as "at least 5";
# 4. the *verdict*: **holds** if all seeds are within the bound, **fails** if none is, and **mixed** otherwise;
# 5. *cannot tell*: what would have to be the case so that no verdict is given.
#
# $$\text{verdict} = \begin{cases} \text{holds} & x_s \ge b \text{ for all seeds } s \\ \text{fails} & x_s < b \text{ for all seeds } s \\ \text{mixed} & \text{otherwise} \end{cases}$$
#
# Here is the sentence, from the caption of Figure 14 of Prieto et al. (2025). It is about networks that classify images of digits (MNIST), trained on 200 images for 100,000 epochs, whose weights were made a hundred times as large at the start. *SC* is softmax
# collapse (worksheet 3), and *generalization* means accuracy on images not seen in training. *Weight decay* makes all weights a little smaller in each step.
#
# > When using weight decay, the weight norm is reduced, mitigating SC and eventually allowing for further generalization as the SC rate drops from 100%
#
# The record has the arms `no decay`, `decay 0.1` and `decay 1`, five seeds each, and these columns: `epoch`, `train_accuracy`, `test_accuracy`, `weight_norm`, and `collapse_float32`, the share of collapsed training examples.

# %% [markdown]
# ## Predict: register your test (10 minutes)
#
# **Do not run the cells of the next part yet.** Choose one part of the sentence: the norm, the collapse, or the generalization. Sketch the two curves that it is about (which **quantity** on the vertical axis, in which unit; the **epoch**, 0 to 100,000, on the horizontal one), and write down the five parts of your test. Then
# write the quantity as a function of the two networks of one seed, and set the bound. Say why the bound is neither lower nor higher. Read it to your neighbour, who tries to find curves that pass your test although the sentence
# is false.

# %% [markdown]
# **My prediction.** Sentence, quantity, bound, verdict, cannot tell: what are your five parts, and why is the bound neither lower nor higher?
#
# *Write here.*


# %%
def quantity(decay, none):
    """One number from the run with decay and the run without, of the same seed."""
    return 0  # put your quantity here


bound = None  # your bound

# %% tags=["solution"]
# The book's own test of the generalization, registered on 22 November 2026.


def quantity(decay, none):
    """Points of test accuracy by which the run with decay ends above that without."""
    return 100 * (decay.test_accuracy.iloc[-1] - none.test_accuracy.iloc[-1])


bound = 5  # less than the spread of single images and seeds could be chance

# %% [markdown] tags=["solution"]
# **What a good test has.** It uses one number for each seed, *pairs* the seeds, and can fail. "The accuracy goes up" has no bound. "SC drops from 100 %" needs a moment: the smallest share *after* the training set is learned. Cannot tell: if the networks without decay had
# not collapsed at all, there would be nothing to mitigate.

# %% [markdown]
# ## Draw and run the test (5 minutes)

# %%
import matplotlib.pyplot as plt
import pandas as pd

# %% tags=["table"]
import grokbook

record = grokbook.record("prieto2025/fig14", scale="paper")
columns = ["epoch", "seed", "arm", "train_accuracy", "test_accuracy"]
runs = record[[*columns, "collapse_float32", "weight_norm"]]

# %%
runs.tail()

# %%
figure, axes = plt.subplots()
for number, (arm, networks) in enumerate(runs.groupby("arm")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.epoch, run.test_accuracy, color=f"C{number}")
    lines[0].set_label(arm)  # one for each colour
axes.set(xscale="log", xlim=(50, 100_000))
axes.set(xlabel="epoch", ylabel="accuracy on the test set")
axes.legend()
plt.show()


# %%
def verdict(values, bound):
    """Holds if all values are at least the bound, fails if none is, else mixed."""
    within = [value >= bound for value in values]
    return "holds" if all(within) else "mixed" if any(within) else "fails"


def values_of(quantity, arm="decay 0.1"):
    """Your quantity, seed by seed."""
    network = {key: run for key, run in runs.groupby(["arm", "seed"])}
    seeds = runs.seed.unique()
    pairs = [(network[arm, seed], network["no decay", seed]) for seed in seeds]
    return [round(float(quantity(decay, none)), 3) for decay, none in pairs]


if bound is None:
    print("Register a quantity and a bound first.")
else:
    print(values_of(quantity), verdict(values_of(quantity), bound))

# %% [markdown]
# ## Measure (8 minutes)
#
# How much could a bound chosen *afterwards* have bought? For your quantity, compute the verdict for many bounds, such as `range(60)`, and give the intervals of bounds for holds, mixed and fails. If the quantity came out far within your
# bound, was the test too easy?

# %% tags=["solution"]
values = values_of(quantity)
verdicts = pd.Series({b: verdict(values, b) for b in range(60)})
intervals = verdicts.reset_index().groupby(0)["index"].agg(["min", "max"])
assert verdict(values, bound) == "holds"
assert intervals["max"]["holds"] == 23 and intervals["min"]["fails"] == 41
# Is it the norm that decay changed, and did collapse go down?
norms = values_of(
    lambda decay, none: decay.weight_norm.iloc[-1] / none.weight_norm.iloc[-1]
)
collapsed = values_of(
    lambda decay, none: decay.collapse_float32[decay.epoch > 1_000].min()
)
assert max(norms) < 0.1 and max(collapsed) < 0.9
intervals

# %% [markdown]
# ## Judge (10 minutes)
#
# Write two sentences. In the first, give your verdict with its values and say for which bounds it would have been another. In the second, judge the word "allowing" in the sentence: which step from the norm to the collapse to the generalization do these runs show,
# and which would need an intervention that they do not have?

# %% [markdown] tags=["solution"]
# **A good answer.** "With decay 0.1 all five networks end 23 to 41 points above their twins without decay, so my bound of 5 holds, and any bound up to 23 would have; from 24 to 40 it would have been mixed. The runs show that norm and collapse go down and accuracy up when decay is on,
# but decay changes all three at once, so that it is not shown that less collapse is what *allows* the gain: that needs a run in which collapse is lifted without decay, for instance by a float64 loss."
#
# **Rubric, six points.** One each for sentence, quantity, bound with a reason, and the case of *cannot tell*, as written before the data was seen. One for the values by seed and the interval of bounds. One for correlation against cause. A verdict *fails*
# or *mixed* from a well-written test gets as many points as *holds*. A test that was changed after the data was seen gets its points only if the change is told.
