# %% [markdown]
# # 1. Waiting: how long after its examples does a network find the rule?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | a first course in Python, and having seen a table in pandas | that fitting examples and finding their rule are two events, and how to measure the time between them |

# %% [markdown]
# ## The question (12 minutes)
#
# On a clock of 97 hours, 60 hours plus 50 hours is 13 o'clock: one adds, and keeps the remainder after a division by
# 97. There are $97 \times 97 = 9{,}409$ such sums $a + b$. Show half of them to a network with their answers, and ask it for the
# other half. The half that it sees is called the *training set*, the other half the *test set*.
#
# A *network* is a formula with many adjustable numbers, its *weights*. Here it reads $a$ and $b$ and gives 97 numbers,
# one for each hour. Its answer is the hour with the largest number. The *accuracy* is the share of right answers,
# between 0 and 1. A network that guesses has an accuracy of $1/97$, about 0.01.
#
# Training changes the weights $w$ in small steps so that a number called the *loss* falls. The loss says how badly the network
# does on the training set. One step that uses the whole training set is called an *epoch*. After each epoch $t$ the weights
# are
#
# $$w_{t+1} = w_t - \eta \, u_t - \eta \lambda \, w_t .$$
#
# Here $\eta$ is the *learning rate*, the size of a step, and $-u_t$ its direction, in which the loss falls. The *optimizer* computes it from the slope of the loss;
# here it is one called AdamW. The last term is *weight decay*: it makes every weight a little smaller in each step, and $\lambda$ says how much. The *norm* of the weights,
# $\lVert w \rVert = \sqrt{\sum_i w_i^2}$, is their overall size.
#
# Six networks were trained for 10,000 epochs: three with weight decay ($\lambda = 1$), and three without ($\lambda = 0$). The three
# differ in the *seed*, the number that starts the random choices of weights and examples. The question is when each network
# knows its examples, which we call the *fit*, and when it knows the *rule*, that is, answers sums that it never saw. *Why* it waits is the question of
# worksheets 3 and 5; this one measures the wait.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the accuracy on the **test set** (vertical axis, 0 to 1) against the **epoch** (horizontal axis, 10 to 10,000, on a
# logarithmic scale: 10, 100, 1,000 and 10,000 at equal distances). Draw one curve with weight decay and one without. Mark on the horizontal axis where you think that the
# *training* accuracy arrives at 1. Do this before you run the next cells.

# %% [markdown]
# **My prediction.** At which epoch does the test accuracy begin to rise, and when does it arrive at 1: with weight decay, and without? At which epoch is the training accuracy 1?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)
#
# The table `runs` has one row for each measurement: which network (`arm`, which is "decay 1" or "no decay", and `seed`), when (`epoch`), and what was measured. `weight_norm` is
# the norm of all weights.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

# %% tags=["table"]
import grokbook

columns = ["epoch", "seed", "arm", "train_accuracy", "test_accuracy", "weight_norm"]
runs = grokbook.record("basics/grokking", scale="paper")[columns]

# %%
runs.tail()

# %%
figure, axes = plt.subplots()
for number, (arm, networks) in enumerate(runs.groupby("arm")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.epoch, run.test_accuracy, color=f"C{number}")
    lines[0].set_label(arm)  # one for each colour
axes.set(xscale="log", xlim=(10, 10_000))
axes.set(xlabel="epoch", ylabel="accuracy on the test set")
axes.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** With weight decay the curve leaves the level of a guess near epoch 160, is at a half near 300 and at 0.95 by 750 to 900, and then creeps to 1. Without it, it stays at
# the level of a guess to the end. Training accuracy is 1 before epoch 100 in all six networks, so the rise only begins when all examples are known, and takes most of the wait. The usual wrong sketch lets both
# accuracies rise together. The early test accuracy is even *below* a guess: a network that prefers sums which
# it has seen avoids the one that is right.

# %% [markdown]
# ## Measure (13 minutes)
#
# This helper gives the first measured epoch at which a column of one network is at a level or above. If that never happens it
# is infinity.


# %%
def first_epoch(run, column, level):
    """First epoch at which a column of one network is at least at a level."""
    reached = run.loc[run[column] >= level, "epoch"]
    return reached.min() if len(reached) else np.inf


one = runs[(runs.arm == "decay 1") & (runs.seed == 0)]
first_epoch(one, "train_accuracy", 1.0)

# %% [markdown]
# Find for each of the six networks the epoch of the fit (training accuracy 1) and the epoch of the rule (test accuracy 0.95). How many times as
# late as the fit is the rule? What is the norm of the weights at the end: with decay, and without?
#
# A loop `for (arm, seed), run in runs.groupby(["arm", "seed"])` visits the networks one by one, and `run.weight_norm.iloc[-1]` is the last value of a column.
# If each turn of the loop appends a list to a list `rows`, then `pd.DataFrame(rows, columns=["arm", "seed", "fit", "rule"])` is your table.

# %% tags=["solution"]
rows = []
for (arm, seed), run in runs.groupby(["arm", "seed"]):
    fit = first_epoch(run, "train_accuracy", 1.0)
    rule = first_epoch(run, "test_accuracy", 0.95)
    norm = run.weight_norm.iloc[-1]
    rows.append([arm, seed, fit, rule, rule / fit, norm])
    if arm == "decay 1":
        assert first_epoch(run, "test_accuracy", 0.02) == 160
        assert 290 <= first_epoch(run, "test_accuracy", 0.5) <= 320
found = pd.DataFrame(rows, columns=["arm", "seed", "fit", "rule", "times", "end norm"])
with_decay = found[found.arm == "decay 1"]
without = found[found.arm == "no decay"]
assert (
    with_decay.rule.between(750, 900).all()
    and found.fit.max() < 100
    and with_decay.times.between(9, 12).all()
)
assert np.isinf(without.rule).all()
assert without["end norm"].min() > 2 * with_decay["end norm"].max()
found

# %% [markdown]
# ## Judge (10 minutes)
#
# Power et al. discovered this in 2022, called it *grokking*, and wrote that "this improvement in generalization can happen well past the
# point of overfitting". *Overfitting* means here that the examples are known and the rule is not, *generalization* that unseen sums are right. A classmate concludes: "So networks need weight decay to find the rule."
#
# Write two sentences. In the first, say whether these six networks bear out the quoted sentence, and name your number for
# "well past" with its range over seeds. In the second, say what the six networks allow your classmate to conclude, and what they do not: use the norms at the end, which tell
# whether the decay did anything to the weights.

# %% [markdown] tags=["solution"]
# **A good answer.** "In all three networks with decay the rule came nine to eleven times as late as the fit, so the quoted sentence holds
# here. Without decay no network found the rule in 10,000 epochs and the weights ended twice as long (norm 224 to 226 against 110), so decay was at work, and this network at this learning rate needs it *or more
# time*; that short weights are the reason is not shown, and other networks, tasks and remedies were not tried."
#
# **Rubric, five points.** One for a ratio or a difference of epochs with its range over seeds. One for "three of three seeds" or an equal statement of how
# many. One for the limit in time: "never in 10,000 epochs" is not "never". One for the norms: decay did act on the weights, which alone does not make their length the cause. One for the limit in kind: one network, one task, one learning rate;
# worksheets 4 and 5 show networks that find the rule without decay. No point is lost for another level than 0.95 that is named.
