# %% [markdown]
# # 8. Slingshots: how often does a finished network jump, and how high?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheets 2 and 3 | how Adam steps after a silence, and to count events by a rule that is fixed beforehand |

# %% [markdown]
# ## The question (12 minutes)
#
# A network learns 200 images by heart. Its training loss falls to $10^{-8}$ and below. Then, hundreds of steps later, the loss leaps up within a few
# steps, falls again, and leaps again. Such a leap is called a *slingshot*.
#
# One part of the explanation is the optimizer. *Adam* does not step by the gradient $g_t$ itself. It keeps a running mean $m_t$ of gradients and a running mean $v_t$ of their squares,
#
# $$m_t = \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2, \qquad
#   w_{t+1} = w_t - \eta\, \frac{m_t}{\sqrt{v_t} + \epsilon},$$
#
# with a learning rate $\eta$, two numbers $\beta_1$ and $\beta_2$ below 1 that say how slowly the means forget, and a tiny $\epsilon$. (At the start of training Adam corrects both means for their beginning at 0; we look at late
# steps, where that makes no difference.) If all gradients have about the same size, and it is well above $\epsilon$, the size cancels: the step is about $\eta$, whether gradients are 1 or $10^{-6}$.
#
# Now think of a *silence*. Gradients become tiny because the loss has rounded to almost 0 (worksheet 3), and $v_t$ forgets how large they used to be. Then
# one gradient arrives that is small, but much larger than those of the silence. In the step that follows, $m_t \approx (1-\beta_1) g$ and $v_t \approx (1 - \beta_2) g^2$, so that the step is
#
# $$\eta\, \frac{1 - \beta_1}{\sqrt{1 - \beta_2}} ,$$
#
# for *every* weight that this gradient reaches, however small the gradient was, as long as its $\sqrt{v_t}$ is well above $\epsilon$. Here $\eta = 0.001$, $\beta_1 = 0.9$, $\beta_2 = 0.95$, $\epsilon = 10^{-8}$.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **training loss** (vertical axis, logarithmic, $10^{-9}$ to 100) against the **step** (horizontal axis, 0 to 10,000). A network that guesses among ten classes with equal
# probabilities has a loss of $\ln 10 = 2.3$. Draw this level. How many leaps do you expect, at equal or unequal distances, and do they end at, below or above the level?

# %% [markdown]
# **My prediction.** How many leaps, and how many steps apart? Do they end at, below or above the level?
#
# *Write here.*

# %% [markdown]
# ## Draw (5 minutes)
#
# For this network the book kept the loss of *every* step (a *trace*), because a leap lasts a few steps. The table `runs` has a row for each step and seed.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

# %% tags=["table"]
from claimbook import papers

wide = papers.record("liu2026/fig01", scale="paper").trace("float32")
runs = wide.reset_index(names="step").melt("step", var_name="seed", value_name="loss")

# %%
runs.tail()

# %%
some = runs[runs.seed == 42]
figure, axes = plt.subplots()
axes.plot(some.step, some.loss, linewidth=0.6)
axes.set(yscale="log", xlabel="step", ylabel="training loss (one seed)")
axes.axhline(np.log(10), color="black", linestyle=":")
plt.show()

# %% [markdown]
# What did you expect otherwise? Write one sentence.

# %% [markdown] tags=["solution"]
# **What came.** The first leap comes near step 600, and the others follow 450 to 650 steps apart. All 83 of the five seeds end *above* the level of guessing, the lowest at 4.

# %% [markdown]
# ## Measure (13 minutes)
#
# **Adam by hand.** The helper is Adam for one weight, and gives the size of each step. Feed it a silence of 200 gradients of $3 \cdot 10^{-9}$ and then one of $10^{-7}$, in Python `[3e-9] * 200 + [1e-7]`. How many times the step before it is the last
# one? Compare it with $\eta (1 - \beta_1) / \sqrt{1 - \beta_2}$ and with $\eta$, and try $10^{-5}$ in place of $10^{-7}$.


# %%
def adam_steps(gradients, lr=0.001, beta1=0.9, beta2=0.95, eps=1e-8):
    """Sizes of Adam's steps for one weight, after its start."""
    mean, square, steps = gradients[0], gradients[0] ** 2, []
    for gradient in gradients:
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        steps.append(lr * mean / (np.sqrt(square) + eps))
    return np.array(steps)


# %% tags=["solution"]
limit = 0.001 * (1 - 0.9) / np.sqrt(1 - 0.95)
sizes = {}
for last in (1e-7, 1e-5):
    steps = adam_steps([3e-9] * 200 + [last])
    sizes[last] = {"before": steps[-2], "last": steps[-1], "limit": limit}
table = pd.DataFrame(sizes)
assert (
    0.7 < sizes[1e-7]["last"] / limit < 1
    and abs(sizes[1e-5]["last"] / limit - 1) < 0.01
)
times = {last: one["last"] / one["before"] for last, one in sizes.items()}
assert round(times[1e-7], 1) == 1.7 and round(times[1e-5], 1) == 1.9
assert abs(sizes[1e-7]["before"] / (0.001 * 3 / 13) - 1) < 0.001  # 3e-9 and eps
assert abs(sizes[1e-7]["last"] / (0.001 * 1e-7) / 3.9e6 - 1) < 0.01
table

# %% [markdown] tags=["solution"]
# The last step is 1.7 times the one before, and 1.9 times with $10^{-5}$. A hundred times the last gradient makes the last step larger by a seventh only.

# %% [markdown]
# **What the factor means.** It is a small one, for two reasons. In this silence $\sqrt{v_t} = 3 \cdot 10^{-9}$ is *less* than $\epsilon$, so that its steps are $\eta \cdot 3 / (3 + 10)$: smaller than $\eta$, but not tiny. And the
# last step is less than half of $\eta$, no more than Adam steps at any time. So a slingshot is no step of unusual size. Unusual is how little stands behind it: plain gradient descent would have moved the weight by
# $\eta \cdot 10^{-7}$, some four million times less. One weight does not tell what such a step does to the loss of a network, where it moves many weights at once.

# %% [markdown]
# **In the record.** A rule for counting, fixed beforehand: a leap begins at a step with a loss of at least 0.1, if the last loss that was *not* between 0.001 and 0.1 was at most 0.001; leaps fewer than 60 steps apart count as one.
# The helper counts by this rule. Count the leaps of each seed, and find for each leap the highest loss in the 60 steps from its beginning on, and for each seed the median of these.
# A loop `for seed, run in runs.groupby("seed")` visits the networks one by one, and `run[run.step.between(600, 660)].loss.max()` is the highest loss in these steps.
# With `found = pd.DataFrame(rows, columns=["seed", "step", "peak"])`, the line `found.groupby("seed").peak.agg(["count", "median"])` gives both.


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


leaps(runs[runs.seed == 42])[:3]

# %% tags=["solution"]
rows = []
for seed, run in runs.groupby("seed"):
    for step in leaps(run):
        peak = run[run.step.between(step, step + 60)].loss.max()
        rows.append([seed, step, peak])
found = pd.DataFrame(rows, columns=["seed", "step", "peak"])
table = found.groupby("seed").agg(
    count=("step", "size"), first=("step", "min"), median_peak=("peak", "median")
)
assert len(table) == 5 and table["count"].between(16, 17).all()
assert table["first"].between(550, 700).all()
assert (table.median_peak > 8.9 * np.log(10)).all()
assert len(found) == 83 and found.peak.min() > 4
apart = found.groupby("seed").step.diff().dropna()
assert apart.between(450, 652).all()
table

# %% [markdown]
# ## Judge (10 minutes)
#
# Liu et al. (2026) write of a leap: "This drives the loss back to the random-guessing level and yields the Slingshot spike."
#
# Write two sentences. In the first, say how many leaps each seed has, and judge "back to the random-guessing level" with your medians and the level. In the second, say what a loss *above* that level means for the answers of the
# network (is it unsure, or sure and wrong?), and whether your count depends on the limits 0.1 and 0.001: change both by a factor of two and say what came.
#
# Name no cause. The calculation shows what Adam does after a silence, and the record that the loss leaps; neither shows that the one *starts* the other. That takes an intervention, which is worksheet 9.

# %% tags=["solution"]
counts = pd.DataFrame(
    {
        (low, high): {s: len(leaps(run, low, high)) for s, run in runs.groupby("seed")}
        for low in (0.0005, 0.001, 0.002)
        for high in (0.05, 0.1, 0.2)
    }
)
assert counts.eq(table["count"], axis=0).all(axis=None)
counts

# %% [markdown] tags=["solution"]
# **A good answer.** "In all five seeds the loss leaps 16 or 17 times in 10,000 steps, and the median peak of each is above 20, nine times the 2.3 of guessing or more: it goes *at least* to that level and far beyond it. A loss above 2.3 needs
# wrong answers given with confidence, as a network that spreads its probability evenly has just 2.3; no count changes when either limit is halved or doubled."
#
# **Rubric, four points.** One for the count and the peak over five seeds. One for "beyond, not back to" or, equally good, for reading the sentence as a lower bound that holds. One for "sure and wrong". One for varying the rule and reporting
# it. What *starts* a leap is the question of worksheet 9; an answer that claims a cause from this worksheet loses a point.
