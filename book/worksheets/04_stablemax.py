# %% [markdown]
# # 4. StableMax: does a loss that cannot round let a network grok?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheets 2 and 3 | what a control is, and to judge a remedy and the reason that is given for it apart |

# %% [markdown]
# ## The question (12 minutes)
#
# If rounding ends learning (worksheet 3), then a loss that does not round should let a network learn on. Prieto et al. (2025) replace the
# $e^z$ of the softmax by a function that grows slowly,
#
# $$s(z) = \begin{cases} z + 1 & z \ge 0 \\ 1 / (1 - z) & z < 0 \end{cases} \qquad q_k = \frac{s(z_k)}{\sum_j s(z_j)} ,$$
#
# and call it *StableMax*. For $e^z$ a lead of 37 is enough that float64 loses the other terms. For $s$ it takes a lead of about 270 million. They write:
# "This simple change takes models from complete overfitting to grokking." *Overfitting* means that the training set is learned
# and the test set is not. *Grokking* means that the test set is learned long afterwards.
#
# StableMax changes two things at once. It does not round, **and** it is another function: a gap that grows lowers its loss more slowly. To
# tell the two apart one needs a *control*, a run in which only one of them is changed. The book has one: the ordinary cross-entropy, computed by a
# formula that never adds a small number to 1, so that it is the same function as the softmax's loss but cannot collapse. It is called "exact CE" below.
#
# All networks add modulo 113, have seen 40 % of the table, and have no weight decay.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **test accuracy** (vertical axis, 0 to 1) against the **epoch** (horizontal axis, 0 to 100,000), one curve for each of three losses:
# softmax, StableMax, exact CE. If the explanation "it groks because nothing rounds" is right, which two of the curves have to look alike?

# %% [markdown]
# **My prediction.** At which height does each of the three curves end, and when does it leave the level of a guess? Which two have to look alike?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)

# %%
import matplotlib.pyplot as plt
import pandas as pd

# %% tags=["table"]
import grokbook

stable = grokbook.record("prieto2025/fig04left", scale="paper")
others = grokbook.record("prieto2025/fig01c", scale="paper")
runs = pd.concat(
    [
        stable[stable.arm == "addition"].assign(loss="StableMax"),
        others[others.arm == "softmax float64"].assign(loss="softmax"),
        others[others.arm == "exact CE float64"].assign(loss="exact CE"),
    ]
)
columns = ["epoch", "seed", "arm", "loss", "train_accuracy", "test_accuracy"]
runs = runs[[*columns, "zero_loss", "weight_norm"]].reset_index(drop=True)

# %%
runs.groupby("loss").agg(seeds=("seed", "nunique"), last=("epoch", "max"))

# %%
figure, axes = plt.subplots()
for number, (loss, networks) in enumerate(runs.groupby("loss")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.epoch, run.test_accuracy, color=f"C{number}")
    lines[0].set_label(loss)  # one for each colour
axes.set(xlabel="epoch", ylabel="accuracy on the test set")
axes.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** StableMax climbs from about epoch 30,000 on; softmax and exact CE both stay at the level of a guess. If avoiding rounding were enough, exact
# CE would have to look like StableMax.

# %% [markdown]
# ## Measure (10 minutes)
#
# The column `zero_loss` is the share of training examples whose loss is exactly 0. The helper gives, for one network, that share and both
# accuracies at the last measurement up to an epoch.


# %%
def at(run, epoch):
    """The measurements of one network, the last ones up to an epoch."""
    measured = ["train_accuracy", "test_accuracy", "zero_loss", "weight_norm"]
    return run.loc[run.epoch <= epoch, measured].iloc[-1]


at(runs[(runs.loss == "StableMax") & (runs.seed == 0)], 80_000)

# %% [markdown]
# Make a table at epoch 80,000 with one row for each network; a loop `for (loss, seed), run in runs.groupby(["loss", "seed"])` visits them one by one. Which losses have collapsed examples, and which loss groks? Is there a
# loss without any collapsed example that does not grok?

# %% tags=["solution"]
rows = []
for (loss, seed), run in runs.groupby(["loss", "seed"]):
    rows.append({"loss": loss, "seed": seed} | at(run, 80_000).to_dict())
found = pd.DataFrame(rows).set_index(["loss", "seed"])
assert found.test_accuracy["StableMax"].min() > 0.9
assert found.test_accuracy[["softmax", "exact CE"]].max() < 0.02
assert found.zero_loss["softmax"].min() > 0.8
assert found.zero_loss[["StableMax", "exact CE"]].max() == 0
assert found.weight_norm["StableMax"].min() > 50 * found.weight_norm["softmax"].max()
found.round(3)

# %% [markdown]
# ## Judge (13 minutes)
#
# A classmate reads the paper and says: "StableMax makes networks grok, **because** it avoids softmax collapse."
#
# Write two sentences, one on the part before "because" and one on the part after it. Use your table, and give the number of seeds behind each. Then look at the settings that the next cell prints,
# and add what else differs between the networks besides the loss.

# %% tags=["table"]
every = stable.attrs["settings"]["arms"] + others.attrs["settings"]["arms"]
optimizers = {arm["name"]: arm["optimizer"] for arm in every}
settings = pd.DataFrame(optimizers).T.loc[runs.arm.unique()].reset_index(names="arm")

# %%
settings

# %% [markdown] tags=["solution"]
# **A good answer.** "With StableMax all five networks have more than nine tenths of the test set right at epoch 80,000, and with softmax none of three has more
# than a guess, so the first part holds for this network. The control without collapse does not grok either in 80,000
# epochs, so avoiding collapse is not *enough* here; it may still be necessary, and the control is a single seed."
#
# **What else differs.** StableMax was trained with $\beta_2 = 0.999$ in Adam and the two others with 0.99. So even "softmax against StableMax" changes two
# things. The weights end very differently too: StableMax's are more than fifty times as large.
#
# **Rubric, four points.** One for the first part with numbers of seeds. One for the control and its result. One for "not enough" in place of "wrong": the control does not
# show that collapse is harmless. One for a limit: one seed in the control, the other $\beta_2$, or 80,000 epochs. Full marks also for an answer that
# proposes the missing run, softmax and exact CE with $\beta_2 = 0.999$. The page [Does StableMax make networks grok, and why?](../questions/q03_stablemax.ipynb) has more networks.
