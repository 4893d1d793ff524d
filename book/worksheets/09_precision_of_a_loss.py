# %% [markdown]
# # 9. Precision of a loss: which of two broken things makes the spikes?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheets 3 and 8 | to separate two causes that always come together by interventions that break one at a time |

# %% [markdown]
# ## The question (12 minutes)
#
# The network of worksheet 8 spikes when its loss is computed in float32. Let $q_k$ be the probability that the network gives to class $k$, and $y$ the right class. The gradient of the loss at the logits,
# the numbers that the network gives for the classes, is
#
# $$g_y = q_y - 1 = -\varepsilon, \qquad g_k = q_k \ \ (k \ne y), \qquad \sum_k g_k = 0,$$
#
# where $\varepsilon = \sum_{k \ne y} q_k$ is the probability of all wrong classes together. When $q_y$ is rounded to 1 (worksheet 3), **two things** go wrong at once:
#
# 1. the gradient of the right class is lost: $g_y = 0$ in place of $-\varepsilon$;
# 2. the gradients no longer add up to zero: $\sum_k g_k = \varepsilon$.
#
# Liu et al. (2026) say that the second is what triggers the spikes. A sum that is not zero moves the weights of *all* classes in a common direction, step after step, and that motion feeds itself; they call it *numerical feature inflation* (NFI). To
# show it they restore the sum: from the gradients of each example their mean over the classes is taken away. They report: "After enforcing this constraint throughout training, the Slingshot spike is eliminated."
#
# Rounding always breaks both. The book trained the same network, a multi-layer perceptron (MLP) of width 512, with losses that break one at a time:
#
# | arm | gradient of the right class | sum over classes |
# | --- | --- | --- |
# | float32 | lost | broken |
# | projection (the paper's) | lost | zero |
# | sum broken | in place, but for a tenth | broken |
# | repair | in place | zero |
# | float64 loss | in place | zero |

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch a bar chart: the **number of spikes in 10,000 epochs** (vertical axis, 0 to 20) for the five **arms** (horizontal axis). Draw two versions: one in which the broken sum alone is the cause, as the
# paper has it, and one in which each of the two faults is enough. In which bars do they differ?

# %% [markdown]
# **My prediction.** How many spikes has each of the five arms, in the first version and in the second? In which bars do they differ?

# %% [markdown] tags=["solution"]
# **What to expect.** The versions differ in the bar of the *projection*: zero if the sum is the only cause, above zero if the lost gradient is enough.

# %% [markdown]
# ## Draw (5 minutes)
#
# The loss of every step, with a row for each step, seed and arm. Drawn is one seed, every tenth step at its largest of ten.

# %%
import matplotlib.pyplot as plt
import pandas as pd

# %% tags=["table", "gzip"]
from claimbook import papers

one = papers.record("liu2026/fig01", scale="paper")
other = papers.record("liu2026/causal512", scale="paper")
arms = {"float32": one, "float64 loss": one}
arms |= {"projection": other, "sum broken": other, "repair": other}
losses = {arm: record.trace(arm) for arm, record in arms.items()}
losses = pd.concat(losses, names=["arm", "step"]).stack().rename("loss")
runs = losses.dropna().reset_index()

# %%
runs.groupby("arm").seed.nunique()

# %%
some = runs[runs.seed == 42]
highest = some.groupby(["arm", some.step // 10 * 10]).loss.max().reset_index()
figure, panels = plt.subplots(5, 1, figsize=(8, 8), sharex=True)
for axes, (arm, run) in zip(panels, highest.groupby("arm"), strict=True):
    axes.plot(run.step, run.loss)
    axes.set(yscale="log", ylim=(1e-10, 1e3), ylabel="loss", title=arm)
axes.set(xlabel="step")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Measure (10 minutes)
#
# The helper counts by the rule of worksheet 8: from a loss of at most 0.001 to one of at least 0.1, and 60 steps apart.


# %%
def leaps(run, low=0.001, high=0.1):
    """Steps at which leaps of the loss of one network begin."""
    is_quiet, found = False, []
    for step, loss in zip(run.step, run.loss, strict=True):
        if loss >= high and is_quiet:
            if not found or step - found[-1] >= 60:
                found.append(step)
            is_quiet = False
        elif loss <= low:
            is_quiet = True
    return found


leaps(runs[(runs.arm == "float32") & (runs.seed == 42)])[:3]

# %% [markdown]
# Make a table of counts by arm and seed. A loop `for (arm, seed), run in runs.groupby(["arm", "seed"])` visits the networks one by one. For each arm give also the step of the *last* spike of any seed. When do the spikes of the projection end?

# %% tags=["solution"]
rows = []
for (arm, seed), run in runs.groupby(["arm", "seed"]):
    steps = leaps(run)
    rows.append([arm, seed, len(steps), max(steps, default=0)])
found = pd.DataFrame(rows, columns=["arm", "seed", "count", "last"])
counts = found.pivot(index="arm", columns="seed", values="count")
last = found.groupby("arm")["last"].max()
assert counts.loc["float32"].min() >= 16
assert counts.loc["projection"].between(4, 8).all()
assert counts.loc["sum broken"].dropna().between(9, 15).all()
assert (counts.loc[["repair", "float64 loss"]] == 0).all(axis=None)
assert 4_500 < last["projection"] < 5_500
counts.assign(last=last)

# %% [markdown]
# ## Judge (13 minutes)
#
# Judge the paper's sentence: "After enforcing this constraint throughout training, the Slingshot spike is eliminated."
#
# Write two sentences. In the first, say what the projection does to the number of spikes and when they end, with the number of seeds. In the second, say of each of the two faults whether it is *needed* for spikes in
# this network and whether it is *enough*, name the arm that shows it, and one limit of this evidence.

# %% [markdown] tags=["solution"]
# **A good answer.** "With the projection four to eight spikes remain in each of five seeds, of 16 or 17, and none comes after about step 5,000, so they are fewer and end but are not eliminated. Neither fault is needed alone:
# the projection still spikes with the sum restored, and 'sum broken' spikes (three seeds of three) with nine tenths of the right gradient in place; each is enough for some, and only with both intact, in *repair* and *float64 loss*, are there none."
#
# **Rubric, four points.** One for "fewer, not eliminated" with a range. One for the quiet second half: the constraint does something, and an answer that calls it useless loses the point. One for *enough* and *needed* used correctly. One for a limit: one
# network, one way of breaking the sum, three seeds in that arm, or that the paper does not say in which network it tried the projection. The page [Causes](../liu2026/causes.ipynb) adds that spikes of "sum broken" vanish when the mean of the last layer's rows is
# taken away as well, which supports the paper's path for *those* spikes.
