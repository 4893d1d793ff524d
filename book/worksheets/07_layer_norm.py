# %% [markdown]
# # 7. Layer norm: does its place decide, and for how long?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheet 1 | to change one thing at a time, and to say exactly what is claimed of a loss: that it reaches a level, or that it stays there |

# %% [markdown]
# ## The question (12 minutes)
#
# A *transformer* passes each input through two kinds of layers. *Attention* lets the positions of a sequence exchange information: each position asks with a vector called the
# *query*, is found by a vector called the *key*, and hands over a vector called the *value*. After that an *MLP*, a small network of its own, works on each position. Its inputs, the *activations*, may
# grow during training. A *layer norm* stops this. It shifts and scales a vector $h$ of $d$ numbers so that their mean is 0 and their spread 1:
#
# $$\mathrm{LN}(h) = \frac{h - \bar h}{\sqrt{\frac{1}{d} \sum_i (h_i - \bar h)^2 + \epsilon}} .$$
#
# So after a norm only the direction of $h$ matters and not its length. The tiny $\epsilon$ avoids a division by 0.
#
# Singh et al. (2026) put the norm in different places of a transformer with one layer that learns addition, and say that its position "strongly modulates grokking
# speed". Grokking means that the test set is learned long after the training set. Four places are in this record:
#
# | arm | where the norm is |
# | --- | --- |
# | No LN | nowhere |
# | M | before the MLP |
# | A^v | on the values of attention |
# | A^qk | on the queries and keys of attention |
#
# The *test loss* is the loss on sums that the network never sees. We say that it *reaches* the rule when its test loss is first at most 0.01, and that it *stays* there if the loss is never
# above 0.01 again.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **test loss** (vertical axis, logarithmic, $10^{-6}$ to 100) against the **epoch** (horizontal axis, 0 to 10,000) for the four places. Which curve is first below 0.01? Is there one that is never
# below it? Is the first also the one with the lowest loss at the end?

# %% [markdown]
# **My prediction.** In which order are the four first below 0.01, and at which epochs? Which has the lowest loss at the end?
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

two = [
    grokbook.record("singh2026/fig02", scale="paper"),
    grokbook.record("singh2026/fig03", scale="paper"),
]
columns = ["epoch", "seed", "arm", "test_loss", "test_accuracy"]
runs = pd.concat(two)[columns]
runs = runs[runs.arm.isin(["No LN", "M", "A^v", "A^qk"])].reset_index(drop=True)

# %%
runs.groupby("arm").seed.nunique()

# %%
one_seed = runs[runs.seed == 456]
figure, axes = plt.subplots()
for arm, run in one_seed.groupby("arm"):
    axes.plot(run.epoch, run.test_loss, label=arm)
axes.set(yscale="log", xlabel="epoch", ylabel="test loss (one seed)")
axes.axhline(0.01, color="black", linestyle=":")
axes.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** With a norm before the MLP (M) the loss is first below 0.01, and then jumps above it again and again to the end. With the norm on the values it comes second and mostly stays. Without a norm it
# comes late and stays. With the norm on queries and keys it never comes.

# %% [markdown]
# ## Measure (13 minutes)
#
# The helper gives two numbers for one network.


# %%
def reaches_and_leaves(run):
    """First epoch with a test loss of at most 0.01, and the share above it later."""
    reached = run.loc[run.test_loss <= 0.01, "epoch"]
    if reached.empty:
        return pd.Series({"reaches": np.inf, "above later": np.nan})
    later = run.loc[run.epoch >= reached.min(), "test_loss"]
    return pd.Series({"reaches": reached.min(), "above later": (later > 0.01).mean()})


reaches_and_leaves(runs[(runs.arm == "M") & (runs.seed == 456)])

# %% [markdown]
# Use it on all networks. A loop `for (arm, seed), run in runs.groupby(["arm", "seed"])` visits the networks one by one. For each place give the median and the range of the first epoch, and the median share of later measurements that are above 0.01 again. Use seeds as
# pairs: how many times as late as M is No LN, seed by seed?

# %% tags=["solution"]
rows = []
for (arm, seed), run in runs.groupby(["arm", "seed"]):
    rows.append({"arm": arm, "seed": seed} | reaches_and_leaves(run).to_dict())
found = pd.DataFrame(rows)
by_seed = found.pivot(index="seed", columns="arm", values="reaches")
times = by_seed["No LN"] / by_seed["M"]
above = found.groupby("arm")["above later"].median()
assert len(times) == 5 and times.between(5, 13).all()
assert (by_seed["M"] < by_seed["A^v"]).all()
assert (by_seed["A^v"] < 0.5 * by_seed["No LN"]).all()
assert np.isinf(by_seed["A^qk"]).all()
assert above["M"] > 0.4 and above["A^v"] < 0.02 and above["No LN"] < 0.01
pd.concat([by_seed.T, above], axis=1)

# %% [markdown]
# ## Judge (10 minutes)
#
# A classmate sums up: "A layer norm before the MLP makes grokking ten times faster; so put one there."
#
# Write two sentences. In the first, judge "ten times faster" with your ratio, its range, the word *reaches*, and your share of later measurements. In the second, say where you would put the norm if the network has
# to *stay* right, and why "a layer norm helps" is no summary of this table.

# %% [markdown] tags=["solution"]
# **A good answer.** "In all five seeds a norm before the MLP reaches a test loss of 0.01 five to twelve times as early as no norm, but about half of its later measurements are above
# 0.01 again. A norm on the values reaches it in less than half the epochs of no norm and nearly always stays, while one on queries and keys never reaches it in 10,000 epochs: the
# place decides, in one direction or the other."
#
# **Rubric, four points.** One for the ratio with its range over five seeds. One for *reaches* against *stays*, with the share. One for A^v as the choice or another choice with a reason. One for A^qk as the counterexample. The
# accuracy at the end is 1 for M in these seeds: an answer that prefers accuracy to loss and says so gets full marks. All of this is one layer, one task, one rate; the book's runs at
# smaller rates are under [Figure 4](../singh2026/fig04_rate_and_decay.ipynb).
