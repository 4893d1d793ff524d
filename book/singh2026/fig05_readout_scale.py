# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 5: A readout scale delays grokking by slowing weight decay; at a fixed rate a larger one is faster only up to 1 (partly seen at reduced scale)
#
# **Claim.** Multiply the logits by α, the {term}`readout scale`, and divide the learning
# rate by α², as is done to study lazy training, and a larger α groks later; but under AdamW
# that is the learning rate at work. At a fixed rate, updates of all α are alike and a
# larger α groks earlier {cite:p}`singh2026`. **Here.** Five α under both rules, without
# {term}`layer norm`, on a smaller task than the paper's and with fewer seeds (*n* in each
# row below). **What came out.** With the divided rate a larger α is later at every step, as
# claimed. With a fixed rate a larger α is earlier up to α = 1 and later from there on.
# Measured in units of the time in which {term}`weight decay` acts, both rules give nearly
# the same curve, so the first trend is that of the decay per epoch, which the rate sets.

# %% [markdown]
# ## What was run
#
# The values of α come from the released scripts; the paper's figure has no list. Laptop scale
# is the smaller task of [this chapter](index.md), chosen by its cost: modulo 37, 5,000 epochs.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import numpy as np
import pandas as pd
import torch
from matplotlib.ticker import NullFormatter

from grokbook import claims, evidence, models, plots, tables
from grokbook.optimizers import AdamW
from grokbook.papers.singh2026 import CODE, PAPER

plots.use_style()
record = evidence.record("singh2026/fig05", scale=scale, retrain=retrain, device=device)

# %% tags=["hide-input"]
tables.settings(
    record,
    paper=PAPER
    | {"model.norms": "()", "optimizer.lr": "0.001/α² in (a, b), 0.001 in (c, d)"},
    code=CODE | {"logits times": "0.5, 0.75, 1, 1.25, 1.5"},
)

# %% tags=["hide-input"]
tables.arms(record)

# %% [markdown]
# ## The idea in code
#
# With $o = \alpha f(x; \theta)$ the chain rule puts a factor α into the gradient of the
# cross-entropy, $\partial L / \partial \theta = \alpha\, (p - y)\, \partial f / \partial
# \theta$, where $p$ is the {term}`softmax` of $o$. With a squared loss and large outputs
# there is a second one, and a plain gradient step of length $\eta_0 / \alpha^2$ undoes both.
# Adam divides every entry by its own recent size, and any common factor is gone:
#
# $$
# \Delta\theta = - \eta\, \frac{\alpha m}{\sqrt{\alpha^2 v} + \epsilon}
#   \approx - \eta\, \frac{m}{\sqrt{v}} .
# $$
#
# What is left of $\eta = \eta_0 / \alpha^2$ is a learning rate, and a weight decay
# $\eta \lambda$ per epoch, that are nine times larger at α = 0.5 than at 1.5.

# %%
ALPHAS = (0.5, 0.75, 1.0, 1.25, 1.5)
torch.manual_seed(0)
slope = 0.01 * torch.randn(10_000)  # of the loss, where α = 1


def first_step(alpha, rate, optimizer, **options):
    """Length of the first step if α only multiplies the gradient."""
    weights = torch.zeros_like(slope, requires_grad=True)
    weights.grad = alpha * slope
    optimizer([weights], lr=rate, **options).step()
    return float(weights.detach().norm())


print("α      SGD, η₀/α²   AdamW, η₀/α²   AdamW, η₀   (first step, as multiples)")
plain = first_step(1.0, 1e-3, torch.optim.SGD)
adam = first_step(1.0, 1e-3, AdamW, weight_decay=1.0)
for alpha in ALPHAS:
    scaled = 1e-3 / alpha**2
    steps = (
        first_step(alpha, scaled, torch.optim.SGD) / plain,
        first_step(alpha, scaled, AdamW, weight_decay=1.0) / adam,
        first_step(alpha, 1e-3, AdamW, weight_decay=1.0) / adam,
    )
    print(f"{alpha:<5g}{steps[0]:12.2f}{steps[1]:15.2f}{steps[2]:12.2f}")

# %% tags=["hide-input"]
DIVIDED, FIXED = "η = η₀/α²", "η = η₀"
SUFFIX = {DIVIDED: "lr/α²", FIXED: "lr fixed"}
RULES = {
    rule: {
        alpha: name
        for alpha in ALPHAS
        if record.seeds(name := "No LN" if alpha == 1 else f"scale {alpha:g}, {suffix}")
    }
    for rule, suffix in SUFFIX.items()
}
COLOURS = plots.shades(ALPHAS)
EPOCHS = record.experiment.arms[0].epochs
SETTINGS = {arm.name: arm for arm in record.experiment.arms}


def average(arm):
    """Test loss averaged over all epochs, by seed; the log is denser at the start."""
    found = {}
    for seed, column in record.series(arm, "test_loss").items():
        column = column.dropna()
        time = column.index.to_numpy(float)
        found[seed] = float(np.trapezoid(column, time) / (time[-1] - time[0]))
    return found


def crossing(arm):
    return claims.first_epoch(record, arm, "test_loss", falls_to=0.01)


averages = {r: {a: average(n) for a, n in RULES[r].items()} for r in RULES}
crossings = {r: {a: crossing(n) for a, n in RULES[r].items()} for r in RULES}

# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 5. (a, c) Test loss solid, train loss dashed; (b, d) length of an update on logarithmic axes. Above the learning rate is divided by α², below it is fixed. Raw curves, the median thick where there are several seeds; dotted in (d), the running minimum over the first 2,000 epochs that the paper draws in place of the curve of α = 0.5.", "name": "fig-singh2026-05"}, "image": {"alt": "Two rows of two panels, one colour per readout scale. Above left, the test loss falls to zero the earlier the smaller the scale; above right, update norms of the five scales lie far apart from the first epoch. Below left, the test losses fall in an order that is compared in the text; below right, the update norms lie on each other for the first hundreds of epochs."}}
figure, axes = plots.panels(2, rows=2, height=3.0)
for row, (rule, arms) in enumerate(RULES.items()):
    losses, steps = axes[2 * row : 2 * row + 2]
    for alpha, arm in arms.items():
        color = COLOURS[alpha]
        plots.loss(losses, record, arm, color=color, label=f"α = {alpha:g}")
        plots.curve(steps, record, arm, "update_norm", color=color)
    if rule == FIXED and 0.5 in arms:
        middle = record.series(arms[0.5], "update_norm").median(axis=1)
        lowest = middle[middle.index <= 2000].cummin()
        steps.plot(lowest.index, lowest, color=plots.BLACK, ls=":", lw=1.2)
    steps.set(xlabel="epoch", ylabel="update norm", xscale="log", yscale="log")
    steps.set_xlim(1, EPOCHS)
    plots.thousands(losses)
    steps.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
for column in (0, 1):  # the two rules on one scale
    pair = axes[column::2]
    low = min(one.get_ylim()[0] for one in pair)
    high = max(one.get_ylim()[1] for one in pair)
    for one in pair:
        one.set_ylim(low, high)
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=5)
plots.letter(
    axes, [f"{what}, {rule}" for rule in RULES for what in ("loss", "updates")]
)
figure.show()

# %% [markdown]
# Two numbers per run say how early it groks: the first logged epoch with a test loss of 0.01,
# and the test loss averaged over all epochs, which also ranks runs that never get there. Both
# were chosen before any run. The second is divided by its value at α = 1, so that a smaller
# task can be set beside the authors' logs. Panel (c) was added after the runs had been seen.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "(a) Time-averaged test loss relative to that at α = 1, one filled mark per seed and lines through the medians; hollow, the same ratio in the authors' logs (p = 113, mean of 5 seeds). (b) Epoch at which the test loss first reaches 0.01; crosses on the dotted line are runs that did not within the training. (c) The same epoch times ηλ, the share of every weight that decays in one epoch.", "name": "fig-singh2026-05-order"}, "image": {"alt": "Left: time-averaged test loss against readout scale, relative to scale 1. With the divided learning rate it rises steeply, ours and the authors' alike; with the fixed rate the authors' falls throughout and ours turns at 1. Middle: epoch of generalisation for both rules, with crosses for runs that never generalise. Right: that epoch times learning rate and decay, where the curves of both rules lie on each other."}}
LOGGED = {  # authors' logs, 5 seeds: averages of the seed mean, its crossing, fastest
    DIVIDED: (
        (1.67, 6.28, 11.9, 17.4, 22.1),
        (2021, 5531, 7807, math.inf, math.inf),
        (1245, 3384, 6328, 6830, 8073),
    ),
    FIXED: (
        (18.5, 15.4, 11.9, 10.2, 9.74),
        (math.inf, math.inf, 7807, 8221, 8309),
        (9155, 7604, 6328, 5019, 4328),
    ),
}
MARKS = {DIVIDED: ("o", plots.BLUE, "-"), FIXED: ("s", plots.RED, "--")}


def relative(rule, alpha):
    """Average at α over that of the same seed at α = 1."""
    return claims.combine(
        lambda a, b: a / b, averages[rule][alpha], averages[rule][1.0]
    )


def on_clock(rule, alpha):
    """Epoch of generalisation times the share of a weight that decays per epoch."""
    options = SETTINGS[RULES[rule][alpha]].optimizer.options
    return {
        seed: epoch * options["lr"] * options["weight_decay"]
        for seed, epoch in crossings[rule][alpha].items()
    }


figure, (left, right, clock) = plots.panels(3, height=3.7)
for rule, (marker, color, line) in MARKS.items():
    known = list(RULES[rule]) if 1.0 in RULES[rule] else []
    for alpha in known:
        ratios = list(relative(rule, alpha).values())
        left.plot([alpha] * len(ratios), ratios, marker, color=color, ms=5, alpha=0.7)
    left.plot(
        known,
        [claims.median(relative(rule, a)) for a in known],
        color=color,
        ls=line,
        label=f"{rule}, here",
    )
    logged = LOGGED[rule][0]
    left.plot(
        ALPHAS,
        [value / logged[2] for value in logged],
        marker,
        mfc="none",
        mec=color,
        ms=10,
        label=f"{rule}, authors' logs",
    )
    clocks = {alpha: on_clock(rule, alpha) for alpha in RULES[rule]}
    clocks = {
        alpha: {seed: value for seed, value in values.items() if math.isfinite(value)}
        for alpha, values in clocks.items()
    }
    clocks = {alpha: values for alpha, values in clocks.items() if values}
    clock.plot(
        list(clocks),
        [claims.median(values) for values in clocks.values()],
        color=color,
        ls=line,
    )
    for alpha, values in clocks.items():
        shown = list(values.values())
        clock.plot([alpha] * len(shown), shown, marker, color=color, ms=6, alpha=0.8)
    found = crossings[rule]
    right.plot(
        list(found),
        [min(claims.median(v), EPOCHS) for v in found.values()],
        color=color,
        ls=line,
    )
    for alpha, by_seed in found.items():
        for epoch in by_seed.values():
            there = math.isfinite(epoch)
            right.plot(
                alpha,
                epoch if there else EPOCHS,
                marker if there else "x",
                color=color,
                ms=6 if there else 9,
                alpha=0.8,
            )
right.axhline(EPOCHS, color=plots.BLACK, ls=":", lw=1)
left.axhline(1, color=plots.BLACK, ls=":", lw=1)
left.set(yscale="log", ylabel="time-averaged test loss\nrelative to α = 1")
left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
left.yaxis.set_minor_formatter(NullFormatter())
left.set_yticks([0.1, 0.2, 0.5, 1, 2])
right.set(ylabel="epoch of test loss ≤ 0.01", ylim=(0, 1.06 * EPOCHS))
right.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
clock.set(ylabel="epoch × ηλ", ylim=(0, 1.06 * clock.get_ylim()[1]))
for one in (left, right, clock):
    one.set(xlabel="readout scale α")
    one.set_xticks(ALPHAS, [f"{alpha:g}" for alpha in ALPHAS])
handles, labels = left.get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2)
plots.letter((left, right, clock), ["average test loss", "generalisation", "by decay"])
figure.show()


# %% tags=["hide-input"]
rows = []
for rule, arms in RULES.items():
    for alpha, arm in arms.items():
        place = ALPHAS.index(alpha)
        logged = [column[place] for column in LOGGED[rule]]
        mean = claims.first_epoch_of_mean(record, arm, "test_loss", falls_to=0.01)
        clock = claims.median(on_clock(rule, alpha))
        share = "—"
        if 1.0 in averages[rule]:
            share = f"{claims.median(relative(rule, alpha)):.2f}"
        rows.append(
            [
                f"{rule}, α = {alpha:g}",
                f"{claims.median(averages[rule][alpha]):.3g}",
                share,
                f"{logged[0] / LOGGED[rule][0][2]:.2f}",
                *claims.summary(crossings[rule][alpha]),
                claims.words(mean),
                f"{clock:.2f}" if math.isfinite(clock) else "—",
                f"{claims.words(logged[1])} ({claims.words(logged[2])})",
            ]
        )
tables.grid(
    [
        "Rule and α",
        "Average test loss",
        "relative to α = 1",
        "authors' logs",
        "Test loss ≤ 0.01, median epoch",
        "range of seeds",
        "of the seed mean",
        "median epoch × ηλ",
        "authors' logs, seed mean (fastest seed), p = 113",
    ],
    rows,
)

# %% [markdown]
# ## Are the updates comparable?
#
# The ratio of the longest to the shortest update among the five α, epoch by epoch, makes
# "comparable" a number. In the first step every weight moves by about η, so the expected
# norm is $\eta \sqrt{N}$ for $N$ parameters, and the expected ratio is 9 or 1.


# %% tags=["hide-input"] mystnb={"figure": {"caption": "Largest over smallest update norm among the five α. Thin lines single seeds, thick their median; hollow, the authors' logs (p = 113, means of 5 seeds). Dotted, the two thresholds: at most 1.5 with a fixed rate, at least 2.5 with a divided one.", "name": "fig-singh2026-05-updates"}, "image": {"alt": "Ratio of update norms against epoch on logarithmic axes. The curve of the divided learning rate starts near 9, that of the fixed rate near 1; both fluctuate once single runs generalise."}}
def spread(rule):
    """Largest over smallest update norm among the scales; epochs down, seeds across."""
    every = [record.series(arm, "update_norm") for arm in RULES[rule].values()]
    both = pd.concat(every, keys=range(len(every)), join="inner")
    by_epoch = both.groupby(level=1)
    return by_epoch.max() / by_epoch.min()


STEPS = {1: 0, 10: 1, 100: 2, 1000: 3}  # where the authors' logs were read
LOGGED_STEPS = {
    DIVIDED: ((1.845, 0.209), (1.364, 0.162), (0.565, 0.192), (0.194, 0.0186)),
    FIXED: ((0.469, 0.461), (0.365, 0.337), (0.467, 0.377), (0.0300, 0.0240)),
}
figure, (axis,) = plots.panels(1, height=3.4)
for rule, (marker, color, line) in MARKS.items():
    ratio = spread(rule)
    if ratio.shape[1] > 1:
        axis.plot(ratio.index, ratio, color=color, lw=0.6, alpha=0.4)
    axis.plot(
        ratio.index, ratio.median(axis=1), color=color, ls=line, label=f"{rule}, here"
    )
    axis.plot(
        list(STEPS),
        [LOGGED_STEPS[rule][i][0] / LOGGED_STEPS[rule][i][1] for i in STEPS.values()],
        marker,
        mfc="white",
        mec=color,
        ms=9,
        zorder=5,
        label=f"{rule}, authors' logs",
    )
for threshold in (1.5, 2.5):
    axis.axhline(threshold, color=plots.BLACK, ls=":", lw=1)
axis.set(xscale="log", yscale="log", xlabel="epoch", ylabel="largest / smallest update")
for side in (axis.xaxis, axis.yaxis):
    side.set_major_formatter(lambda value, _: f"{value:,g}")
    side.set_minor_formatter(NullFormatter())
axis.set_yticks([1, 1.5, 2.5, 5, 10, 20])
axis.set_xlim(0.9, EPOCHS)
axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
figure.show()

one = record.experiment.arms[0]
size = sum(w.numel() for w in models.Transformer(**one.model.options).parameters())
expected = one.optimizer.options["lr"] * math.sqrt(size)
measured = claims.median(claims.at(record, "No LN", "update_norm", 1))
print(f"first update at α = 1   η√N = {expected:.3f}   measured {measured:.3f}")

# %% [markdown]
# ## Check
#
# Never counts as later than every epoch of the training. Each seed is compared with itself at
# another α. The thresholds of the updates are judged twice: at a list of epochs that was fixed
# before the runs, and at every logged epoch, the stricter reading.

# %% tags=["hide-input"]
EARLY = [epoch for epoch in (1, 10, 50, 100, 500, 1000) if epoch <= EPOCHS]


def named(by_alpha, *, falling=False):
    """The values of each α by its name, in the order in which they are said to rise."""
    alphas = sorted(by_alpha, reverse=falling)
    return {f"α = {alpha:g}": by_alpha[alpha] for alpha in alphas}


def ratios(rule, choose, *, everywhere=False):
    """Largest (or smallest) ratio of updates over the early epochs, by seed."""
    table = spread(rule)
    if everywhere:
        early = [row for _, row in table.loc[: max(EARLY)].iterrows()]
    else:
        early = [table[table.index <= epoch].ffill().iloc[-1] for epoch in EARLY]
    return {seed: float(choose(one[seed] for one in early)) for seed in table}


listed = ", ".join(f"{epoch:,}" for epoch in EARLY)
some = [rule for rule in RULES if {0.5, 1.0, 1.5} <= RULES[rule].keys()]
found = []
if DIVIDED in some:
    found += [
        claims.order(
            record,
            "(a) lr/α²: the time-averaged test loss rises with α",
            "slower with α; logs: 1.67, 6.28, 11.9, 17.4, 22.1 (holds)",
            named(averages[DIVIDED]),
            show="{:.3g}",
            source="3, Figure 5",
        ),
        claims.order(
            record,
            "(a) lr/α²: the epoch of test loss 0.01 rises with α",
            "slower with α; logs, seed mean: 2,021, 5,531, 7,807, never, never (holds)",
            named(crossings[DIVIDED]),
            open_end=True,
            source="3, Figure 5",
        ),
        claims.per_seed(
            record,
            "(b) lr/α²: updates differ by a factor of at least 2.5 among the α at epochs "
            f"{listed} (smallest)",
            "not comparable; logs: 8.8, 5.1, 10.4 at 1, 50, 1,000 (holds)",
            ratios(DIVIDED, min),
            lambda ratio: ratio >= 2.5,
            show="{:.2f}",
            source="3, Figure 5",
        ),
        claims.per_seed(
            record,
            "(b) lr/α²: the same at every logged epoch up to "
            f"{max(EARLY):,} (smallest)",
            "not comparable; logs: at least 2.9 where they were read",
            ratios(DIVIDED, min, everywhere=True),
            lambda ratio: ratio >= 2.5,
            show="{:.2f}",
            source="3, Figure 5",
        ),
    ]
if FIXED in some:
    found += [
        claims.per_seed(
            record,
            "(d) lr fixed: updates differ by a factor of at most 1.5 among the α at the "
            "same epochs (largest)",
            "comparable; logs: 1.02 at 1, 1.31 at 500 (holds)",
            ratios(FIXED, max),
            lambda ratio: ratio <= 1.5,
            show="{:.2f}",
            source="3, Figure 5",
        ),
        claims.per_seed(
            record,
            "(d) lr fixed: the same at every logged epoch up to "
            f"{max(EARLY):,} (largest)",
            "comparable; logs: at most 1.31 where they were read",
            ratios(FIXED, max, everywhere=True),
            lambda ratio: ratio <= 1.5,
            show="{:.2f}",
            source="3, Figure 5",
        ),
        claims.order(
            record,
            "(c) lr fixed: the time-averaged test loss is the smaller the larger α",
            "faster with α; logs: 9.74, 10.2, 11.9, 15.4, 18.5 (holds)",
            named(averages[FIXED], falling=True),
            show="{:.3g}",
            source="3, Figure 5",
        ),
        claims.order(
            record,
            "(c) lr fixed: the epoch of test loss 0.01 is the earlier the larger α",
            "faster with α; logs: fastest seeds 4,328 up to 9,155 (holds), seed mean "
            "8,309, 8,221, 7,807, then never (fails)",
            named(crossings[FIXED], falling=True),
            open_end=True,
            source="3, Figure 5",
        ),
    ]
for rule in some:
    short, logged = SUFFIX[rule], LOGGED[rule][0]
    for low, high in ((0.5, 1.0), (1.0, 1.5)):
        share = logged[ALPHAS.index(high)] / logged[ALPHAS.index(low)]
        found.append(
            claims.extra(
                record,
                f"{short}: average test loss at α = {high:g} over that at {low:g}",
                claims.combine(
                    lambda a, b: a / b, averages[rule][high], averages[rule][low]
                ),
                paper=f"logs: {share:.2f}",
                show="{:.2f}",
            )
        )
    found.append(
        claims.extra(
            record,
            f"{short}: ratio of updates in the first epoch, expected "
            + ("9" if rule == DIVIDED else "1"),
            {seed: float(value) for seed, value in spread(rule).iloc[0].items()},
            paper="logs: " + ("8.8" if rule == DIVIDED else "1.02"),
            show="{:.2f}",
        )
    )
for place, alpha in enumerate(ALPHAS):
    if alpha != 1 and all(alpha in RULES[rule] for rule in RULES):
        both = claims.combine(
            lambda a, b: a / b if math.isfinite(a + b) else math.inf,
            on_clock(DIVIDED, alpha),
            on_clock(FIXED, alpha),
        )
        fastest = [LOGGED[rule][2][place] for rule in (DIVIDED, FIXED)]
        found.append(
            claims.extra(
                record,
                f"α = {alpha:g}: epoch of generalisation times ηλ, lr/α² over lr fixed",
                both,
                paper=f"logs, fastest seeds: {fastest[0] / fastest[1] / alpha**2:.2f}",
                show="{:.2f}",
            )
        )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/fig05")

# %% [markdown]
# ## Reading the result
#
# **Divided rate.** The order of panel (a) is unambiguous, and so is its reason. At α = 0.5
# the learning rate is nine times that at 1.5, and so is the decay per epoch. Panel (c) of
# {ref}`the second figure <fig-singh2026-05-order>` undoes the decay alone, by counting time in
# units of $1/\eta\lambda$, and most of the difference between the two rules is gone: a given α
# then takes about as long under either. The largest α under this rule does not generalise
# within the training, and by the same reckoning it could not: at its end the clock stands at
# little more than 2 units, and the same α needed more under the fixed rule. So the paper's
# objection to η₀/α² under AdamW holds here in a sharper form than it is made: decay per epoch
# accounts for nearly all of the difference between the rules. In the authors' logs of the
# larger task the fastest seeds agree less well on this clock, above all at α = 0.5.
#
# **Fixed rate.** Here the paper's trend holds on one side only. From 0.5 to 1 a larger α is
# faster, from 1 to 1.5 it is slower, by the average test loss as by the crossing. In the
# authors' logs the average and the fastest seed fall throughout, while the crossing of the
# mean over seeds, the paper's own rule, does not exist below 1 and *rises* from 1 to 1.5.
# What falls in both tasks is the part up to α = 1. The text's "larger α
# generalises faster" is more than these runs and the paper's own rule support. If there is
# a best α, it may well depend on the task; nothing here says that it is 1.
#
# **Updates.** The first step is what the formula says: nearly $\eta \sqrt N$, nine times as
# long at one end as at the other, or equal. Later, "comparable" depends on the epoch one
# looks at. While the training set is being fitted, updates shrink about tenfold within some
# fifty epochs, and networks that get there a little earlier or later then differ by more
# than 1.5 even at the same learning rate. {ref}`The last figure <fig-singh2026-05-updates>`
# shows this as a peak of the fixed rule, and as a dip of the divided one, where the small
# steps of a large α stay longer at their first length. On the small task epoch 100 of the
# list falls into that phase, and its row for the divided rule turns on it. Before and after
# the fit the paper's description is right: one rule is near 1, the other well above 2.5
# until the first networks generalise.
#
# **Temperature?** α is the inverse of a softmax temperature, as the paper says, and that is
# a description, not a mechanism. One thing that does change with α at a fixed rate is the
# size of gradients relative to Adam's eps, once the train loss is near $10^{-6}$ (first
# exercise).
#
# Deviations of this page, beside those of the [chapter](index.md) (task, number of seeds,
# GELU):
#
# 1. *Average.* Losses are logged every 10 epochs up to 2,000 and every 20 from there, and
#    averaged by the trapezium rule; the authors' logs have every epoch, averaged plainly.
# 2. *Running minimum.* In panel (d) the paper draws one in place of the curve of α = 0.5 over
#    the first 2,000 epochs; here it is the dotted line beside the curve.
# 3. *Bands.* The paper shades half the range over seeds; here every seed is drawn.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-05-eps
# Adam's eps is 1e-8. How long is its step, in units of η, for a steady gradient entry that is
# $10^{-8}$ at α = 1, when α is 0.5, 1 and 1.5?
# ```
#
# ```{solution} ex-singh2026-05-eps
# :class: dropdown
# $\alpha g / (\alpha g + \epsilon)$ is 0.33, 0.5 and 0.6. Late in training, when the train
# loss is near $10^{-6}$, many gradients are of that size, and a larger α then means longer
# steps at the same learning rate. Part of panel (c) may be this. The authors also logged
# runs with eps = 0 and another start; there too a larger α was on the whole faster.
# ```
#
# ```{exercise}
# :label: ex-singh2026-05-decay
# Dividing the learning rate by α² divides the decay per epoch by α² as well. Which arms keep
# that apart?
# ```
#
# ```{solution} ex-singh2026-05-decay
# :class: dropdown
# Decay 1 becomes decay α²: `optimizer = adamw(1e-3 / alpha**2, weight_decay=alpha**2)` in
# `fig05` keeps their product at 0.001. [Figure 4](fig04_rate_and_decay.ipynb) varies the
# learning rate in this way, and weight decay alone.
# ```
#
# ```{exercise}
# :label: ex-singh2026-05-speed
# Under plain gradient descent with small steps and a squared loss, η₀/α² makes the outputs
# $\alpha f$ move at a speed that does not depend on α. Which rule does that for Adam?
# ```
#
# ```{solution} ex-singh2026-05-speed
# :class: dropdown
# Weights move by about η per epoch whatever α is, and the outputs by α times what $f$ moves.
# So η₀/α. Add arms with `adamw(1e-3 / alpha)` and see on which side of α = 1 the networks
# grok earlier.
# ```
#
# ```{exercise}
# :label: ex-singh2026-05-absorb
# A network with α = 2 computes the same function as one with α = 1 and an unembedding twice
# as large. Are they also trained alike?
# ```
#
# ```{solution} ex-singh2026-05-absorb
# :class: dropdown
# No. AdamW moves an entry by about η, which is half as much in relation to an entry twice
# as large, and weight decay shrinks the unembedding but not α.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(record)

# %% [markdown]
# The page again from the record: `grokbook execute singh2026/fig05`. Trained anew with the
# smaller task: `make page PAGE=singh2026/fig05 SCALE=laptop`.
