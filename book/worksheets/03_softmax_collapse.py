# %% [markdown]
# # 3. Softmax collapse: does rounding stop learning?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheet 2; partial derivatives | to read "stops" as a bound on a measured change, and to test it case by case and seed by seed |

# %% [markdown]
# ## The question (10 minutes)
#
# For each example a network gives one number for every possible answer, the *logits* $z_1, \dots, z_K$. The *softmax* turns them into
# probabilities $q_k = e^{z_k} / \sum_j e^{z_j}$, and the loss of an example with the right answer $y$ is $L = -\log q_y$. Training steps against the *gradient*, the
# derivatives of the loss:
#
# $$\frac{\partial L}{\partial z_y} = q_y - 1, \qquad \frac{\partial L}{\partial z_k} = q_k \quad (k \ne y) .$$
#
# When the logit of the right answer leads by enough, all other terms of the sum are rounded away: we say that they are *absorbed* (worksheet 2). Then $q_y$ is exactly 1, the loss is
# exactly 0, and so is the gradient at the right answer. Prieto et al. (2025) call this *softmax collapse*. They say that networks without
# regularization "begin to generalize […] until this is stopped by SC", that is, by softmax collapse. *Regularization* is whatever keeps a network simple, such as
# weight decay, and to *generalize* is to be right on examples that were not shown.
#
# A *float type* is a way to keep a number: float16 keeps 11 binary digits of it, float32 24 and float64 53. If they are right, a type with more digits buys time. The book trained the same network with its loss computed in float16, float32 and
# float64. Nothing else differs. It adds modulo 113, has no weight decay, and sees 60 or 70 % of the table of all sums in
# training. Each case was trained five times, with different seeds.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **test accuracy** (vertical axis, 0 to 1) against the **epoch** (horizontal axis, 0 to 20,000), one curve for each of the three
# types, for 60 % of the table. Mark on each curve where you think that half of the examples have collapsed. What does the curve do after the
# mark if the paper is right?

# %% [markdown]
# **My prediction.** At which height does each of the three curves end? Which of them still rises after its mark, and by how many points?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)
#
# The table `runs` has a row for each measurement. `share` is the part of the table of sums that the network sees, `type` the float type of its loss, and `collapse_float16` the share of
# examples that have collapsed in float16, whose other terms are all absorbed there, and so on for the other types. A black dot marks where half of the examples have collapsed in the network's own type.

# %%
import matplotlib.pyplot as plt
import pandas as pd

# %% tags=["table"]
import grokbook

record = grokbook.record("prieto2025/fig02", scale="paper")
names = record.arm.str.split(expand=True)  # "60% float16" -> share and type
runs = record.assign(share=names[0], type=names[1])
columns = ["epoch", "seed", "arm", "share", "type", "test_accuracy"]
columns += ["collapse_float16", "collapse_float32", "collapse_float64"]
runs = runs.loc[runs.share != "40%", columns]

# %%
runs.tail()

# %%
some = runs[runs.share == "60%"]
figure, axes = plt.subplots()
for number, (kind, networks) in enumerate(some.groupby("type")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.epoch, run.test_accuracy, color=f"C{number}")
        mark = run[run[f"collapse_{kind}"] >= 0.5].iloc[0]
        axes.plot(mark.epoch, mark.test_accuracy, "ko")
    lines[0].set_label(kind)  # one for each colour
axes.set(ylim=(0, 1), xlabel="epoch", ylabel="accuracy on the test set")
axes.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Does a curve bend at its mark? Write one sentence on each.

# %% [markdown] tags=["solution"]
# **What came.** The more digits, the longer the curve rises and the higher it ends: for 60 % in the middle network at 0.13, 0.26 and 0.49. The float16 curves are flat from epoch
# 6,000 on, as the sentence has it, but none bends sharply at its mark: they gain about 2 to 7 points in the 1,000 epochs before it and still 2 to 5 in those after it. In float64 four of five curves do bend sharply
# at theirs: from a gain of 6 to 8 points to a loss of 1 to 4. Float32 lies between.

# %% [markdown]
# ## Measure (12 minutes)
#
# "Stopped" needs a number. This helper takes one trained network and gives the first epoch at which at least half of its examples had collapsed in its
# own type (its *collapse line*), and by how many percentage points the test accuracy still rises after that.


# %%
def after_collapse(run):
    """Collapse line of one network, and points of test accuracy gained after it."""
    collapsed = run["collapse_" + run.type.iloc[0]]
    line = run.loc[collapsed >= 0.5, "epoch"].min()
    later = run.loc[run.epoch >= line, "test_accuracy"]
    return pd.Series({"line": line, "rise": 100 * (later.max() - later.iloc[0])})


one = runs[(runs.arm == "60% float32") & (runs.seed == 0)]
after_collapse(one)

# %% [markdown]
# Use it on all six cases and all five seeds. A loop `for (arm, seed), run in runs.groupby(["arm", "seed"])` visits the networks one by one, and `rows.append([arm, seed, *after_collapse(run)])` in it
# collects both numbers in a list. With `found = pd.DataFrame(rows, columns=["arm", "seed", "line", "rise"])`, the line `found.groupby("arm")[["line", "rise"]].agg(["median", "min", "max"])`
# gives for each case the median of both, the smallest and the largest. Which
# cases stay below ten points in every seed?

# %% tags=["solution"]
rows = []
for (arm, seed), run in runs.groupby(["arm", "seed"]):
    rows.append({"arm": arm, "seed": seed} | after_collapse(run).to_dict())
found = pd.DataFrame(rows)
table = found.groupby("arm")[["line", "rise"]].agg(["median", "min", "max"])
rise, line = table.rise, table.line["median"]
assert list(table.index[rise["max"] > 10]) == ["70% float16"]
assert rise["min"]["70% float16"] > 10
assert line["60% float16"] < line["60% float32"] < line["60% float64"]
# How much is gained in the 1,000 epochs before the line, and in those after it?
rows = []
for (kind, seed), run in some.groupby(["type", "seed"]):
    line = run.loc[run[f"collapse_{kind}"] >= 0.5, "epoch"].min()
    before, at, after = (
        100 * run.set_index("epoch").test_accuracy[[line - 1_000, line, line + 1_000]]
    )
    rows.append([kind, seed, line, at - before, after - at])
bends = pd.DataFrame(rows, columns=["type", "seed", "line", "before", "after"])
ends = some[some.epoch == 20_000].groupby("type").test_accuracy.median()
assert list(ends.round(2)) == [0.13, 0.26, 0.49]
bent = bends[(bends.type == "float64") & (bends.after < -1)]
assert len(bent) == 4 and bent.before.between(5.6, 7.6).all()
assert bent.after.between(-4.1, -1.4).all()
small = bends[bends.type == "float16"]
assert small.before.between(2.2, 6.6).all() and small.after.between(2.3, 5.1).all()
table

# %% [markdown]
# ## Judge (13 minutes)
#
# Take the sentence "generalization stops when softmax collapse begins", with this bound, which the book fixed before it looked: *after its collapse
# line the test accuracy of a network rises by at most ten points*.
#
# Write two sentences. In the first, say for how many of the six cases the bound holds in every seed, and name each case where it does not. In the
# second, say what was changed between networks with the same share and what changed with it, and which of these readings that supports: the cause is wrong; the cause is right but "half of the examples" is the wrong mark; or the
# cause is right but "stops" is too strong a word. Then ask your neighbour for the strongest reason against your choice.

# %% [markdown] tags=["solution"]
# **A good answer.** "The bound holds in every seed in five of six cases and fails in every seed for 70 % of the table in float16, where 12 to 20 points are
# still gained. Since only the type was changed and both the line and the final accuracy move with it, rounding ends learning here; but
# in float16 learning fades long after half of the examples have collapsed, so 'stops when it begins' is too strong."
#
# **Rubric, four points.** One for five of six with the case named. One for seeds: it is not one odd run. One for the argument from the intervention: three
# networks that differ in nothing but the type. One for a reading with a reason. Both the second and the third reading are
# defensible: half of the examples still teach at the mark, and the mark is a choice. The first is not, unless the answer explains why the types end in
# order.
