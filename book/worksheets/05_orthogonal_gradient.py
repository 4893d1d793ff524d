# %% [markdown]
# # 5. ⊥Grad: what if a step may not lengthen the weights?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheet 1; the inner product of two vectors | what a projection does to a training step, and to try a claim at more than one setting |

# %% [markdown]
# ## The question (12 minutes)
#
# Many networks are built of layers that multiply by weights, with no constants added, and between them every negative number is set to 0 (this is called *ReLU*). Such a network has a simple
# property: multiply all its weights by the same number above 1, and its *logits*, the numbers that it gives for the possible answers, grow, while their order stays. So a network that already answers all its examples correctly can lower its loss without
# learning anything: it makes its weights longer. Prieto et al. (2025) find that training does just this, and propose to forbid it. They take
# out of the gradient $g$ the part that points along the weights $w$:
#
# $$g_\perp = g - \frac{g \cdot w}{w \cdot w} \, w .$$
#
# This is a *projection*: what is left is at a right angle to $w$, that is, $g_\perp \cdot w = 0$. They call the method *⊥Grad* ("perp grad").
#
# They write that with it a network "reaches 100% train and test accuracies almost at the same time", and that it "does not require any hyper-parameter
# tuning". A *hyperparameter* is a setting that a person chooses, such as the learning rate $\eta$ or the strength $\lambda$ of weight decay; *tuning* means to try several values.
# The optimizer here is AdamW, which makes a step of its own from the gradients that it is given.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **test accuracy** (vertical axis, 0 to 1) against the **epoch** (horizontal axis, 0 to 300), one curve with ⊥Grad and one with weight decay 4,
# both at a learning rate of 0.01. Then sketch both once more, dashed, for a learning rate of 0.05. Which of the two methods needs
# tuning?

# %% [markdown]
# **My prediction.** At which epoch does each of the four curves arrive at 1, if it does? Which of the two methods needs tuning?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)
#
# Both methods were trained on addition modulo 113 with 40 % of the table, five seeds each, at two learning rates.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

# %% tags=["table"]
import grokbook

record = grokbook.record("prieto2025/fig15", scale="paper")
arms = ["lr 0.01, ⊥AdamW", "lr 0.01, decay 4", "lr 0.05, ⊥AdamW", "lr 0.05, decay 4"]
columns = ["epoch", "seed", "arm", "train_accuracy", "test_accuracy", "weight_norm"]
runs = record.loc[record.arm.isin(arms), columns]

# %%
runs.tail()

# %%
figure, axes = plt.subplots()
for number, (arm, networks) in enumerate(runs.groupby("arm")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.epoch, run.test_accuracy, color=f"C{number}")
    lines[0].set_label(arm)  # one for each colour
axes.set(xlim=(0, 300), xlabel="epoch", ylabel="accuracy on the test set")
axes.legend()
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** At a rate of 0.01 the five ⊥Grad curves rise together near epoch 100, and decay follows near 200. At 0.05 decay is as early as ⊥Grad
# was, and ⊥Grad stays low in all five runs. So ⊥Grad needs a fitting rate; decay does at neither of these two.

# %% [markdown]
# ## Measure (13 minutes)
#
# **By hand.** The helper below is the projection. Take the weights and the gradient of the next cell. Make one step of plain gradient
# descent, $w - \eta g$, and one with $g_\perp$, both with $\eta = 0.1$. How long are the weights before and after each? Why does a step at a right angle still lengthen
# them a little?


# %%
def projected(gradient, weights):
    """The part of a gradient that is at a right angle to the weights."""
    return gradient - (gradient @ weights) / (weights @ weights) * weights


weights = np.array([3.0, 4.0])
gradient = np.array([-2.0, -1.0])

# %% tags=["solution"]
eta = 0.1
plain = weights - eta * gradient
turned = weights - eta * projected(gradient, weights)
assert abs(projected(gradient, weights) @ weights) < 1e-12
assert np.linalg.norm(plain) > np.linalg.norm(turned) > np.linalg.norm(weights) == 5
# By Pythagoras: |w - eta g|^2 = |w|^2 + eta^2 |g|^2 if g is at a right angle to w.
np.linalg.norm(weights), np.linalg.norm(plain), np.linalg.norm(turned)

# %% [markdown]
# **In the record.** Find for each arm and seed the *wait*: the epochs from a training accuracy of 0.99 to a test accuracy of 0.99. Infinity means
# that the network never arrives. Note as well the epoch at which the test accuracy is 0.99 first. A loop `for (arm, seed), run in runs.groupby(["arm", "seed"])` visits the networks one by one.


# %%
def first_epoch(run, column, level):
    """First epoch at which a column of one network is at least at a level."""
    reached = run.loc[run[column] >= level, "epoch"]
    return reached.min() if len(reached) else np.inf


# %% tags=["solution"]
rows = []
for (arm, seed), run in runs.groupby(["arm", "seed"]):
    fit = first_epoch(run, "train_accuracy", 0.99)
    rule = first_epoch(run, "test_accuracy", 0.99)
    rows.append([arm, seed, fit, rule - fit, run.test_accuracy.iloc[-1]])
found = pd.DataFrame(rows, columns=["arm", "seed", "fit", "wait", "end"])
by_arm = found.set_index("arm")
assert by_arm.wait["lr 0.01, ⊥AdamW"].between(1, 10).all()
assert by_arm.wait["lr 0.01, decay 4"].min() > 100
assert np.isinf(by_arm.wait["lr 0.05, ⊥AdamW"]).all()
assert by_arm.end["lr 0.05, ⊥AdamW"].max() < 0.2
assert by_arm.wait["lr 0.05, decay 4"].max() < 30
found.pivot(index="arm", columns="seed", values="wait")

# %% [markdown]
# ## Judge (10 minutes)
#
# Judge the two quoted claims, one sentence each: ⊥Grad "reaches 100% train and test accuracies almost at the same time", and it "does not require any
# hyper-parameter tuning". Say for each at which learning rates it holds here and in how many seeds, compare with weight decay, and name one limit of your evidence.

# %% [markdown] tags=["solution"]
# **A good answer.** "At a rate of 0.01 all five networks need at most ten epochs from the fit to 99 % of the test set, where decay 4 needs more than 100, so the first
# claim holds there. At 0.05 none of five ⊥Grad networks generalises within 1,000 epochs while decay 4 does in all five, so ⊥Grad has a setting that must be tuned,
# the learning rate."
#
# **Rubric, four points.** One for "at 0.01, five of five" with the wait. One for the failure at 0.05, five of five. One for the comparison with decay at *both*
# rates: decay at 0.05 is about as early as ⊥Grad at 0.01. One for a limit: two rates are not a range, this is one network, or 1,000 epochs is
# the end of the record. The book trained eight rates from 0.002 to 0.05; ⊥Grad ends above 95 % of the test set at five or six of them
# ([Figure 15](../prieto2025/fig15_weight_decay.ipynb)).
