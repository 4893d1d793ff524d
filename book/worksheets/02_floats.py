# %% [markdown]
# # 2. Floats: when is 1 + x equal to 1?
#
# | Minutes | Before it | You learn |
# | ---: | --- | --- |
# | 45 | logarithms; worksheet 1 for the words *training set*, *epoch* and *accuracy* | at which lead of the right answer the loss of a network rounds to zero, and that this can be computed beforehand |

# %% [markdown]
# ## The question (12 minutes)
#
# A computer keeps a number as $\pm\, m \cdot 2^e$. The factor $m$ is called the *significand*, and it has $p$ binary digits. Between 1 and 2 the
# numbers that can be kept lie $2^{1-p}$ apart; this distance is their *spacing*. A sum is rounded to the nearest of them. So if
# $x$ is at most half the spacing, $2^{-p}$, then $1 + x$ is rounded to 1, and $x$ is lost. We say that it is *absorbed*.
#
# | type | digits $p$ of the significand |
# | --- | ---: |
# | float16 | 11 |
# | float32 | 24 |
# | float64 | 53 |
#
# Why does this matter to a network? It gives one number for each possible answer, called a *logit*. Let the right answer lead another
# answer $j$ by the gap $g_j$. The *cross-entropy loss* of one example is
#
# $$L = \log\Bigl(1 + \sum_j e^{-g_j}\Bigr) .$$
#
# The logarithm is the natural one, also written $\ln$. The 1 belongs to the right answer, and the sum runs over all wrong ones. The larger the gaps, the smaller the loss, but for exact
# numbers it is never 0. In a computer it is: once the whole sum is absorbed by the 1, the loss is
# $\log 1 = 0$. The example then has nothing left to teach, and we say that it has *collapsed*. With a single wrong answer this happens when
#
# $$e^{-g} \le 2^{-p}, \qquad\text{that is}\qquad g \ge p \ln 2 .$$

# %% [markdown]
# ## Predict (8 minutes)
#
# Compute $p \ln 2$ for the three types. Then sketch the **share of collapsed examples** (vertical axis, 0 to 1) against the **mean gap**
# between the right answer and the next one (horizontal axis, 0 to 45), one curve for each type. Where does each curve leave 0, and how steep is
# it? In the data below there are not one but 112 wrong answers. Does that move the curves to the left or to the right?

# %% tags=["solution"]
import math

{kind: digits * math.log(2) for kind, digits in [("16", 11), ("32", 24), ("64", 53)]}

# %% [markdown]
# **My prediction.** At which mean gap does each of the three curves leave 0, and within how many units does it arrive at 1? Do 112 wrong answers move them to the left or to the right?

# %% [markdown] tags=["solution"]
# **What comes.** The curves leave 0 near 7.6, 16.6 and 36.7, in this order. Those of float16 and float32 are steep, and that of float64 is ragged, as the mean gap goes back in some steps. With 112 wrong answers the *sum* of their terms
# must be absorbed, so that each must be smaller: the curves move to the **right**.

# %% [markdown]
# ## Draw (5 minutes)
#
# A network that adds modulo 113 was trained with a float64 loss, five times with different seeds. At each measurement the book also asked what
# float16 and float32 would have made of the same logits. The table `runs` has a row for each measurement and type. `collapsed` is the share of examples whose whole sum
# is absorbed in this type, and `mean_gap` the mean over the examples of the gap between the right answer and the next one.

# %%
import matplotlib.pyplot as plt
import numpy as np

# %% tags=["table"]
import grokbook

record = grokbook.record("prieto2025/fig02", scale="paper")
network = record[record.arm == "70% float64"]
runs = network.melt(
    id_vars=["epoch", "seed", "arm", "mean_gap", "test_accuracy"],
    value_vars=["collapse_float16", "collapse_float32", "collapse_float64"],
    var_name="type",
    value_name="collapsed",
)

# %%
runs.tail()

# %%
figure, axes = plt.subplots()
for number, (kind, networks) in enumerate(runs.groupby("type")):
    for _, run in networks.groupby("seed"):
        lines = axes.plot(run.mean_gap, run.collapsed, color=f"C{number}")
    lines[0].set_label(kind)  # one for each colour
axes.set(xlim=(0, 45), xlabel="mean gap")
axes.set(ylabel="share of collapsed examples")
axes.legend()
plt.show()

# %% [markdown]
# ## Measure (10 minutes)
#
# First without a network. This helper says whether a type loses `x` when it is added to 1.


# %%
def is_absorbed(x, kind):
    """Whether 1 + x is 1 in a float type such as np.float32."""
    return bool(kind(1) + kind(x) == kind(1))


is_absorbed(0.0001, np.float16), is_absorbed(0.0001, np.float32)

# %% [markdown]
# **By computation.** Find for each type the smallest gap $g$, in steps of 0.1, at which $e^{-g}$ is absorbed: `np.arange(0, 45, 0.1)` has the gaps, and `np.exp(-gap)` is $e^{-g}$.
#
# **In the record.** Find for each type and seed the mean gap at the first measurement with at least half of the examples collapsed. `runs[runs.collapsed >= 0.5]` keeps the rows of such
# measurements, and `.groupby(["type", "seed"]).mean_gap.first()` takes the first of each type and seed. How far apart are the two numbers of a type?

# %% tags=["solution"]
kinds = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
gaps = np.arange(0, 45, 0.1)
alone = {
    name: next(gap for gap in gaps if is_absorbed(np.exp(-gap), kind))
    for name, kind in kinds.items()
}
half = runs[runs.collapsed >= 0.5].groupby(["type", "seed"]).mean_gap.first()
measured = half.unstack("seed")
measured.insert(0, "one wrong answer", list(alone.values()))
assert np.allclose(list(alone.values()), [7.7, 16.7, 36.8])
later = measured.drop(columns="one wrong answer").sub(list(alone.values()), axis=0)
assert (later > 0).all(axis=None) and (later < 2).all(axis=None)
measured.round(1)

# %% [markdown] tags=["solution"]
# Each measured gap is larger by less than 2 than that of one wrong answer. Three things add up: there are many wrong answers, the gap is a mean
# over examples, and measurements lie 100 epochs apart.

# %% [markdown]
# ## Judge (10 minutes)
#
# A classmate says: "Rounding is a problem of small types. Who trains in float64 is safe."
#
# Write two sentences. In the first, say what happens to the examples in float64 in this record, and how many seeds show it. In the second, say
# whether this harms the network, with the test accuracy at that moment (`test_accuracy` in `runs`), and what
# you would have to know of another task before you called float64 safe there.

# %% tags=["solution"]
double = runs[(runs.type == "collapse_float64") & (runs.collapsed >= 0.5)]
then = double.groupby("seed")[["epoch", "mean_gap", "test_accuracy"]].first()
assert len(then) == 5 and then.epoch.between(6_000, 7_000).all()
assert then.test_accuracy.between(0.85, 0.95).all()
then

# %% [markdown] tags=["solution"]
# **A good answer.** "In all five seeds half of the examples collapse in float64 too, at a mean gap near 37 and before epoch 7,000. By then 87 to 93 %
# of the test set is right, so here little is lost; on a task that is learned more slowly the same gap might come before the rule, so I
# would have to know how fast the gap grows there and when the network generalises."
#
# **Rubric, four points.** One for "float64 collapses as well, later" with a gap or an epoch. One for five of five seeds. One for the test accuracy at
# that moment. One for what decides: whether the rule comes before the gap does, which depends on the task, the network and the learning
# rate. No point for "float64 has more digits" alone.
