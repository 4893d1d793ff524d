# %% [markdown]
# # 8. Slingshots: why does a finished network jump?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | worksheets 2 and 3 | how Adam steps after a silence, and to count events by a rule that is fixed beforehand |

# %% [markdown]
# ## The question (12 minutes)
#
# A network learns 200 images by heart. Its training loss falls to $10^{-8}$ and below. Then, hundreds of epochs later, the loss leaps in a few steps to a value larger than at the
# start, falls again, and leaps again. Such a leap is called a *slingshot*.
#
# One part of the explanation is the optimizer. *Adam* does not step by the gradient $g_t$ itself. It keeps a running mean $m_t$ of gradients and a running mean $v_t$ of their squares,
#
# $$m_t = \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2, \qquad
#   w_{t+1} = w_t - \eta\, \frac{m_t}{\sqrt{v_t} + \epsilon},$$
#
# with a learning rate $\eta$, two numbers $\beta_1$ and $\beta_2$ below 1 that say how slowly the means forget, and a tiny $\epsilon$. (At the start of training Adam corrects both means for their beginning at 0; we look at late
# steps, where that makes no difference.) If all gradients have about the same size, the size cancels: the step is about $\eta$, whether gradients are 1 or $10^{-6}$.
#
# Now think of a *silence*. Gradients become tiny because the loss has rounded to almost 0 (worksheet 3), and $v_t$ forgets how large they used to be. Then
# one gradient arrives that is small, but much larger than those of the silence. In the step that follows, $m_t \approx (1-\beta_1) g$ and $v_t \approx (1 - \beta_2) g^2$, so that the step is
#
# $$\eta\, \frac{1 - \beta_1}{\sqrt{1 - \beta_2}} ,$$
#
# for *every* weight that this gradient reaches, however small the gradient was. Here $\eta = 0.001$, $\beta_1 = 0.9$, $\beta_2 = 0.95$, $\epsilon = 10^{-8}$.

# %% [markdown]
# ## Predict (5 minutes)
#
# Sketch the **training loss** (vertical axis, logarithmic, $10^{-9}$ to 100) against the **step** (horizontal axis, 0 to 10,000). A network that guesses among ten classes with equal
# probabilities has a loss of $\ln 10 = 2.3$. Draw this level. How many leaps do you expect, at equal or unequal distances, and do they end at, below or above the level?

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

# %% [markdown] tags=["solution"]
# **What came.** The first leap comes near step 600 and the others about as far apart at first. Nearly all end well *above* the level of guessing.

# %% [markdown]
# ## Measure (13 minutes)
#
# **Adam by hand.** The helper is Adam for one weight, and gives the size of each step. Feed it a silence of 200 gradients of $3 \cdot 10^{-9}$ and then one of $10^{-7}$, in Python `[3e-9] * 200 + [1e-7]`. How much larger is the last
# step than the one before it? Compare it with $\eta (1 - \beta_1) / \sqrt{1 - \beta_2}$, and try $10^{-5}$ in place of $10^{-7}$.


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
table

# %% [markdown] tags=["solution"]
# The silence itself makes small steps, as $\epsilon$ is larger than $\sqrt{v_t}$ there. A hundred times the last gradient changes the last step by less than a third.

# %% [markdown]
# **In the record.** A rule for counting, fixed beforehand: a leap begins at a step with a loss of at least 0.1, if the last loss that was *not* between 0.001 and 0.1 was at most 0.001; leaps fewer than 60 steps apart count as one.
# The helper counts by this rule. Count the leaps of each seed, and find the median over all leaps of the highest loss in the 60 steps from the beginning of a leap on.
# A loop `for seed, run in runs.groupby("seed")` visits the networks one by one, and `run[run.step.between(600, 660)].loss.max()` is the highest loss in these steps.


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
assert (table.median_peak > 5 * np.log(10)).all()
table

# %% [markdown]
# ## Judge (10 minutes)
#
# Liu et al. (2026) write of a leap: "This drives the loss back to the random-guessing level and yields the Slingshot spike."
#
# Write two sentences. In the first, judge "back to the random-guessing level" with your median and the level. In the second, say what a loss *above* that level means for the answers of the
# network (is it unsure, or sure and wrong?), and whether your count depends on the limits 0.1 and 0.001: change both by a factor of two and say what came.

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
# **A good answer.** "In all five seeds the loss leaps 16 or 17 times in 10,000 steps, and the median peak is above 20, some nine times the 2.3 of guessing: it goes *at least* to that level and far beyond it. A loss above 2.3 needs
# wrong answers given with confidence, as a network that spreads its probability evenly has just 2.3; no count changes when either limit is halved or doubled."
#
# **Rubric, four points.** One for the count and the peak over five seeds. One for "beyond, not back to" or, equally good, for reading the sentence as a lower bound that holds. One for "sure and wrong". One for varying the rule and reporting
# it. What *starts* a leap is the question of worksheet 9; an answer that claims a cause from this worksheet loses a point.
