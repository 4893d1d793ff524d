# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 4: Stronger decay shortens the delay, larger steps do so only in part (partly seen at reduced scale)
#
# **Claim.** Without {term}`layer norm`, a higher learning rate or a higher
# {term}`weight decay` generalises earlier, and changes the length of the parameter updates
# {cite:p}`singh2026`. **Here.** Four learning rates, with the product of learning rate and
# decay kept fixed as in the official code, and six decays; on a smaller task than the
# paper's and with fewer seeds (*n* in each row below). **What came out.** Stronger decay
# generalises earlier, and weak decays not within the epochs trained, as claimed. A tenfold
# learning rate at a fixed product brings the test loss down earlier, but hardly the moment
# of full generalisation, and not at every step. The first updates show the learning rate
# alone; those after the fit are about as long as the decay.

# %% [markdown]
# ## What was run
#
# The values of both sweeps are those of the official scripts; the paper gives none. The
# paper says that decay is kept fixed while the learning rate varies. What is fixed in the
# scripts is the product $\eta\lambda = 10^{-3}$, the share of every weight that one epoch
# removes; so $\lambda$ falls from 1 to 0.1 as $\eta$ rises.
#
# Laptop scale is the smaller task of [this chapter](index.md), chosen by its cost: modulo 37,
# 5,000 epochs. Order, ratios and shapes can be compared with the authors', epochs cannot.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import numpy as np
import torch
import torch.nn.functional as F
from IPython.display import display
from matplotlib.ticker import NullFormatter

from grokbook import claims, evidence, plots, tables
from grokbook.engine.build import start
from grokbook.papers.singh2026 import CODE, PAPER

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
rates = evidence.record("singh2026/fig04lr", **page)
decays = evidence.record("singh2026/fig04wd", **page)

# %% tags=["hide-input"]
for record in (rates, decays):
    display(
        tables.settings(
            record,
            paper=PAPER
            | {
                "model.norms": "()",
                "optimizer.lr": "0.001, others not stated",
                "optimizer.weight_decay": "1, others not stated",
            },
            code=CODE
            | {
                "optimizer.lr": "0.001, 0.003, 0.005, 0.01",
                "optimizer.weight_decay": "0.1 to 1.5; 0.001 / lr with the rates",
            },
        )
    )

# %% tags=["hide-input"]
for record in (rates, decays):
    display(tables.arms(record))

# %% [markdown]
# ## The idea in code
#
# $$
# \theta \leftarrow (1 - \eta\lambda)\, \theta - \eta\, \frac{\hat m}{\sqrt{\hat v} + \epsilon}
# $$
#
# In the very first step $\hat m = g$ and $\hat v = g^2$, so every weight with a gradient
# well above $\epsilon$ moves by $\eta$ in the direction that lowers the loss, whatever the
# size of its gradient. With $N$ weights the update has the length
#
# $$
# \lVert \Delta\theta \rVert \approx \eta \sqrt N ,
# $$
#
# and decay adds $\eta\lambda \lVert\theta\rVert$, at nearly a right angle. So the first
# update *must* be proportional to $\eta$, and can hardly depend on $\lambda$. "Formula" is
# the first step in full, from the gradients at the start and with $\epsilon$; the last
# column is what the run recorded.


# %%
def first_step(arm, seed):
    """Lengths of η sqrt(N), of the decay part and of the whole first update."""
    data, network = start(arm, seed)
    loss = F.cross_entropy(network(data.x_train).double(), data.y_train)
    loss.backward()
    theta = torch.cat([w.detach().flatten() for w in network.parameters()])
    g = torch.cat([w.grad.flatten() for w in network.parameters()])
    eta, decay, eps = (arm.optimizer.options[k] for k in ("lr", "weight_decay", "eps"))
    update = -eta * decay * theta - eta * g / (g.abs() + eps)
    lengths = eta * len(theta) ** 0.5, eta * decay * theta.norm(), update.norm()
    return [float(length) for length in lengths]


print(f"{'':22}{'η √N':>8}{'ηλ |θ|':>9}{'formula':>9}{'recorded':>10}")
for record in (rates, decays):
    for arm in record.experiment.arms:
        for seed in record.seeds(arm.name)[:1]:
            plain, decay, whole = first_step(arm, seed)
            found = claims.at(record, arm.name, "update_norm", 1)[seed]
            print(f"{arm.name:22}{plain:8.4f}{decay:9.4f}{whole:9.4f}{found:10.4f}")

# %% tags=["hide-input"]
ETA = {"No LN": 1e-3} | {f"learning rate {lr:g}": lr for lr in (3e-3, 5e-3, 1e-2)}
LAMBDA = {f"decay {d:g}": d for d in (0.1, 0.2, 0.5, 0.75, 1.5)} | {"No LN": 1.0}
ETA = {arm: lr for arm, lr in ETA.items() if rates.seeds(arm)}
LAMBDA = dict(sorted(LAMBDA.items(), key=lambda item: item[1]))
LAMBDA = {arm: value for arm, value in LAMBDA.items() if decays.seeds(arm)}
SWEEPS = ((rates, ETA, "η"), (decays, LAMBDA, "λ"))
HORIZON = rates.experiment.arms[0].epochs


def generalised(record, arm):
    """First logged epoch with a test loss of at most 0.01, by seed."""
    return claims.first_epoch(record, arm, "test_loss", falls_to=0.01)


def fitted(record, arm):
    return claims.first_epoch(record, arm, "train_loss", falls_to=0.01)


def share(record, arm):
    """ηλ, the share of every weight that one epoch removes."""
    chosen = record.experiment.arm(arm).optimizer.options
    return chosen["lr"] * chosen["weight_decay"]


def pull(record, arm):
    """Length ηλ|θ| of the decay part of the update, where the weights were measured."""
    return share(record, arm) * record.series(arm, "weight_norm")


def average(record, arm):
    """Test loss averaged over the epochs of training, by seed; the log thins out."""
    series = record.series(arm, "test_loss").ffill()
    span = series.index[-1] - series.index[0]
    return {
        seed: float(np.trapezoid(series[seed], series.index)) / span
        for seed in record.seeds(arm)
    }


# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Test loss and length of the update against epoch, for learning rates at a fixed product with decay (a, b) and for decays at learning rate 0.001 (c, d). Raw curves: medians of the seeds, single seeds thin where there are several. Dashed in (a, c): training loss. Dotted in (b, d), on logarithmic axes: the part of the update that is decay.", "name": "fig-singh2026-04"}, "image": {"alt": "Four panels. Test loss rises within some hundred epochs to a plateau far above the training loss and falls again, earlier for larger learning rates in (a) and for larger decays in (c); the smallest decays stay up longest. Updates in (b) start in proportion to the learning rate and meet within some hundred epochs; in (d) they start together and, once the training set is fitted, are longer for larger decays, close to the dotted lines."}}
figure, axes = plots.panels(2, rows=2, height=3.2)
for row, (record, sweep, symbol) in enumerate(SWEEPS):
    loss, update = axes[2 * row : 2 * row + 2]
    colours = plots.shades(list(sweep))
    for arm, value in sweep.items():
        style = {"color": colours[arm], "label": f"{symbol} = {value:g}"}
        plots.loss(loss, record, arm, **style)
        plots.curve(update, record, arm, "update_norm", **style)
        decay = pull(record, arm).median(axis=1)
        decay = decay[decay.index > 0]
        update.plot(decay.index, decay, color=colours[arm], ls=":", lw=1.3)
    loss.set_ylim(bottom=-0.5)
    update.set(xscale="log", yscale="log", ylabel="length of the update")
    update.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    plots.thousands(loss)
    for panel in (loss, update):
        panel.set_xlabel("epoch")
        for line in panel.lines:
            line.set_linewidth(min(line.get_linewidth(), 1.3))
    update.plot([], [], color=plots.BLACK, ls=":", lw=1.3, label="ηλ|θ|")
    update.legend(loc="lower left")
plots.letter(
    axes,
    ["learning rate: loss", "learning rate: updates", "decay: loss", "decay: updates"],
)
figure.show()

# %% [markdown]
# The released notebooks also draw the generalisation epoch against each setting. It is here
# the first logged epoch with a test loss of at most 0.01, seed by seed. The authors' numbers
# use the mean loss over five seeds instead, which waits for the slowest; on a logarithmic
# axis a parallel course means equal ratios.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Generalisation epoch against learning rate (left) and decay (right): one dot per seed here, the line through their medians; crosses at the top did not generalise within the epochs trained. Squares: authors' logs, 5 seeds, p = 113 and 10,000 epochs, from the mean of the seeds.", "name": "fig-singh2026-04-scatter"}, "image": {"alt": "Two panels with logarithmic axes. Left, our generalisation epoch falls with the learning rate, and the authors' squares fall along a similar course. Right, it falls with decay; the smallest decays are crosses at the top."}}
LOGGED = {  # generalises, fits, average and largest test loss; updates at 1 and 1,000
    "η": {
        1e-3: (7807, 317, 11.9, 26.9, 0.467, 0.0248),
        3e-3: (7740, 99, 9.22, 25.9, 1.397, 0.0259),
        5e-3: (6582, 68, 7.47, 26.0, 2.327, 0.0263),
        1e-2: (4470, 54, 4.53, 25.7, 4.654, 0.0254),
    },
    "λ": {
        0.1: (math.inf, "", 38.0, 45.2, "", 0.008),
        0.2: (math.inf, "", 32.4, 40.3, "", 0.011),
        0.5: (math.inf, "", 23.5, 32.9, "", 0.016),
        0.75: (9787, "", 16.3, 29.4, "", 0.021),
        1.0: (7807, 317, 11.9, 26.9, 0.467, 0.0248),
        1.5: (6395, "", 7.48, 23.3, "", 0.034),
    },
}
figure, panels = plots.panels(2, height=3.5, sharey=True)
top = 1.25 * max(HORIZON, 10_000)
for axes, (record, sweep, symbol) in zip(panels, SWEEPS, strict=True):
    medians = {}
    for arm, value in sweep.items():
        epochs = list(generalised(record, arm).values())
        reached = [epoch for epoch in epochs if math.isfinite(epoch)]
        medians[value] = claims.median(generalised(record, arm))
        axes.plot([value] * len(reached), reached, "o", color=plots.BLUE, alpha=0.7)
        missing = len(epochs) - len(reached)
        axes.plot([value] * missing, [HORIZON] * missing, "x", color=plots.BLUE, ms=8)
    course = [(v, e) for v, e in medians.items() if math.isfinite(e)]
    if course:
        axes.plot(*zip(*course, strict=True), color=plots.BLUE, lw=1.2)
    for value, (epoch, *_) in LOGGED[symbol].items():
        mark, size = ("s", 7) if math.isfinite(epoch) else ("x", 8)
        height = min(epoch, 10_000)
        axes.plot(value, height, mark, mfc="none", color=plots.RED, ms=size)
    axes.set(xscale="log", yscale="log", ylim=(None, top))
    axes.set_yticks([e for e in (500, 1000, 2000, 5000, 10_000) if e <= top])
    axes.set_xticks(list(LOGGED[symbol]), [f"{value:g}" for value in LOGGED[symbol]])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_minor_formatter(NullFormatter())
panels[0].plot([], [], "o-", color=plots.BLUE, lw=1.2, label="here")
panels[0].plot([], [], "x", color=plots.BLUE, ms=8, label="here, not generalised")
panels[0].plot(
    [], [], "s", mfc="none", color=plots.RED, label="authors' logs, 5 seeds, p = 113"
)
panels[0].plot(
    [], [], "x", color=plots.RED, ms=8, label="authors' logs, not generalised"
)
panels[0].set(xlabel="learning rate η (ηλ fixed)", ylabel="generalisation epoch")
panels[1].set_xlabel("weight decay λ (η = 0.001)")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2)
plots.letter(panels, ["learning rate", "weight decay"])
figure.show()

# %% [markdown]
# The same in numbers, medians over seeds here. "Average test loss" is the mean over all
# epochs of training, a statistic that exists for runs that never generalise too. "× ηλ" is
# the generalisation epoch in units of $1/(\eta\lambda)$, the time in which decay alone
# shrinks a weight to 37 %.

# %% tags=["hide-input"]
SHOW = ("{:,.0f}", "{:.0f}", "{:.2f}", "{:.1f}", "{:.3f}", "{:.4f}", "{:.4f}")


def pull_at(record, arm, epoch):
    """Length of the decay part at the last measurement not after an epoch."""
    series = pull(record, arm)
    row = series[series.index <= epoch].ffill().iloc[-1]
    return {seed: float(row[seed]) for seed in record.seeds(arm)}


HEAD = ["Run", "Whose", "n", "generalises", "× ηλ", "fits (train ≤ 0.01)"]
HEAD += ["average test loss", "largest test loss", "update, epoch 1", "epoch 1,000"]
HEAD += ["ηλ|θ|, epoch 1,000"]
lines = []
for record, sweep, symbol in SWEEPS:
    for arm, value in sweep.items():
        measured = (
            generalised(record, arm),
            fitted(record, arm),
            average(record, arm),
            claims.largest(record, arm, "test_loss"),
            claims.at(record, arm, "update_norm", 1),
            claims.at(record, arm, "update_norm", 1000),
            pull_at(record, arm, 1000),
        )
        middle = [claims.median(found) for found in measured]
        name = f"{symbol} = {value:g}"
        seeds = str(len(record.seeds(arm)))
        cells = [claims.words(v, s) for v, s in zip(middle, SHOW, strict=True)]
        cells.insert(1, claims.words(share(record, arm) * middle[0], "{:.2f}"))
        lines.append([name, "here", seeds, *cells])
        logged = [
            v if v == "" else claims.words(v, s)
            for v, s in zip(LOGGED[symbol][value], SHOW, strict=False)
        ]
        clock = share(record, arm) * LOGGED[symbol][value][0]
        logged.insert(1, claims.words(clock, "{:.2f}"))
        logged += [""] * (len(SHOW) + 1 - len(logged))
        lines.append([name, "authors' logs, p = 113", "5", *logged])
tables.grid(HEAD, lines)

# %% [markdown]
# The logs' entries are of the mean over seeds. Their updates of the decay sweep at epoch
# 1,000 are read off an image, to about 5 %; empty cells were not in the copy of the logs.

# %% [markdown]
# ## Check
#
# The thresholds are those that were written down before any run; only the 5 % around a
# ratio of ten was not among them. Since the authors' first two learning rates differ by less
# than 1 % in their own logs, the order of learning rates is judged by the extremes, by 0.005
# and by the average test loss. Rows with a double dagger were added after the first runs had
# been seen.


# %% tags=["hide-input"]
def late_fall(record, arm):
    """First epoch after the peak of the test loss at which it is at most 5, by seed."""
    series, found = record.series(arm, "test_loss"), {}
    for seed in record.seeds(arm):
        values = series[seed].dropna()
        late = values[(values.index >= values.idxmax()) & (values <= 5)]
        found[seed] = float(late.index[0]) if len(late) else math.inf
    return found


def falling(record, sweep, symbol, measure):
    """The values of a measure by arm, from the last of a sweep to the first."""
    return {
        f"{symbol} = {sweep[arm]:g}": measure(record, arm) for arm in reversed(sweep)
    }


def update(record, arm, epoch):
    return claims.at(record, arm, "update_norm", epoch)


FAST, MIDDLE, LOW, HIGH = (
    "learning rate 0.01",
    "learning rate 0.005",
    "decay 0.1",
    "decay 1.5",
)
found = []
if FAST in ETA and "No LN" in ETA:
    found += [
        claims.per_seed(
            rates,
            "(a) η = 0.01 generalises in at most 0.7 times the epochs of η = 0.001 "
            "(ratio)",
            "earlier; logs: 0.57",
            claims.ratio(generalised(rates, FAST), generalised(rates, "No LN")),
            lambda value: value <= 0.7,
            show="{:.2f}",
            source="Figure 4a",
        )
    ]
if MIDDLE in ETA and "No LN" in ETA:
    found += [
        claims.per_seed(
            rates,
            "(a) η = 0.005 generalises no later than η = 0.001 (ratio)",
            "earlier; logs: 0.84",
            claims.ratio(generalised(rates, MIDDLE), generalised(rates, "No LN")),
            lambda value: value <= 1,
            show="{:.2f}",
            source="Figure 4a",
        )
    ]
if len(ETA) > 1:
    found += [
        claims.order(
            rates,
            "(a) the average test loss is the smaller the larger η",
            "falls; logs: 4.53, 7.47, 9.22, 11.9",
            falling(rates, ETA, "η", average),
            show="{:.2f}",
            source="Figure 4a",
        )
    ]
if len(LAMBDA) > 1:
    weak = [arm for arm, value in LAMBDA.items() if value <= 0.5]
    found += [
        claims.order(
            decays,
            "(c) a larger λ generalises earlier, if it does at all",
            "earlier; logs: 6,395, 7,807, 9,787, then never",
            falling(decays, LAMBDA, "λ", generalised),
            open_end=True,
            source="Figure 4c",
        ),
        claims.per_seed(
            decays,
            f"(c) decays up to 0.5 do not generalise in {HORIZON:,} epochs (how many do)",
            "none; logs: none in 10,000",
            claims.combine(
                lambda *epochs: sum(math.isfinite(epoch) for epoch in epochs),
                *(generalised(decays, arm) for arm in weak),
            ),
            lambda value: value == 0,
            source="Figure 4c",
        ),
    ]
if FAST in ETA and "No LN" in ETA:
    found += [
        claims.per_seed(
            rates,
            "(b) first updates of η = 0.01 and 0.001: ratio within 5 % of ten",
            "not comparable; logs: 9.97",
            claims.ratio(update(rates, FAST, 1), update(rates, "No LN", 1)),
            lambda value: abs(value / 10 - 1) <= 0.05,
            show="{:.2f}",
            source="Figure 4b",
        )
    ]
if LOW in LAMBDA and HIGH in LAMBDA:
    found += [
        claims.per_seed(
            decays,
            "(d) at epoch 1,000 the update is at least 3 times as long for λ = 1.5 as for "
            "0.1 (ratio)",
            "large variations; logs: about 4",
            claims.ratio(update(decays, HIGH, 1000), update(decays, LOW, 1000)),
            lambda value: value >= 3,
            show="{:.2f}",
            source="Figure 4d",
        ),
        claims.extra(
            decays,
            "(d) the same ratio in the first epoch, which the paper's word “early” might "
            "mean",
            claims.ratio(update(decays, HIGH, 1), update(decays, LOW, 1)),
            show="{:.3f}",
        ),
        claims.extra(
            decays,
            "(d) the same ratio at epoch 500",
            claims.ratio(update(decays, HIGH, 500), update(decays, LOW, 500)),
            paper="logs: about 3.5",
            show="{:.2f}",
        ),
    ]
if FAST in ETA and "No LN" in ETA:
    found.append(
        claims.extra(
            rates,
            "(a) η = 0.01 against 0.001: epochs until the test loss has come down to 5 "
            "(ratio)‡",
            claims.ratio(late_fall(rates, FAST), late_fall(rates, "No LN")),
            paper="logs: 0.45",
            show="{:.2f}",
        )
    )
if "decay 0.5" in LAMBDA:
    found.append(
        claims.extra(
            decays,
            f"(c) λ = 0.5: test loss at epoch {HORIZON:,}‡",
            claims.last(decays, "decay 0.5", "test_loss"),
            paper="logs: 14.5 at 10,000",
            show="{:.3f}",
        )
    )
for record, sweep, symbol in SWEEPS:
    for arm in (LOW, "No LN", HIGH) if record is decays else (FAST,):
        if arm in sweep:
            found.append(
                claims.extra(
                    record,
                    f"{symbol} = {sweep[arm]:g}: length of the update over that of its "
                    "decay part ηλ|θ|, epoch 1,000‡",
                    claims.ratio(update(record, arm, 1000), pull_at(record, arm, 1000)),
                    show="{:.2f}",
                )
            )
for record, sweep, symbol in SWEEPS:
    ends = [arm for arm in (FAST, HIGH) if arm in sweep]
    for arm in ["No LN", *ends] if record is rates else ends:
        if arm in sweep:
            value = sweep[arm]
            found.append(
                claims.extra(
                    record,
                    f"generalisation epoch of {symbol} = {value:g}",
                    generalised(record, arm),
                    paper=f"logs: {claims.words(LOGGED[symbol][value][0])} (p = 113)",
                    show="{:,.0f}",
                )
            )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/fig04")

# %% [markdown]
# ## Reading the result
#
# **Decay.** The claim holds here in full: each stronger decay that generalises does so
# earlier, and those up to 0.5 do not within the epochs trained. "Not" needs its horizon
# beside it, though: the table gives the test loss of 0.5 at the end, and it is about to
# arrive. The column "× ηλ" says why. In units of the time in which decay acts, all
# decays take about equally long on this task, stronger ones a little less; halving the decay
# about doubles the delay, and an experiment of fixed length has a decay below which nothing
# happens. In the authors' logs the same product grows somewhat with decay.
#
# **Learning rate.** The sweep of the scripts keeps $\eta\lambda$ fixed, and with it that
# clock. What is left is weaker: at 0.01 the test loss leaves its plateau earlier, as the
# average test loss and the time to a loss of 5 show, but the last stretch to 0.01 takes it
# nearly to where 0.001 arrives, and the two rates between are not in order. The authors'
# logs have a ratio of 0.57 where ours is nearer to 1, and their own first two rates differ
# by less than 1 %. A smaller task with so few seeds cannot say whether the task or the seed
# makes the difference. The paper's sentence, that a higher learning rate *with decay kept
# fixed* is faster, was not tested by its scripts: with $\lambda$ fixed the clock would run
# faster too.
#
# **Updates.** The first step is what Adam's formula says, a little below $\eta\sqrt N$
# since the gradients of queries and keys are not large against $\epsilon$; a tenfold $\eta$
# makes it ten times as long, and decay has no say in it. Once the training set is fitted
# the picture turns round. The gradient part has shrunk, and the update is of the size of
# its decay part (dotted): a bit above it for weak decay, near half of it for strong decay,
# where gradient and decay pull against each other, and far below it after generalisation,
# where the two nearly cancel. So runs with equal $\eta\lambda$ meet in (b), and those with
# different $\lambda$ stay apart in (d). The paper reads (d) as a difference "in early
# stages of learning"; it begins after memorisation and not before. And since it is the
# decay itself that is seen there, it is no separate reason for the earlier generalisation.
#
# Deviations of this page, beside those of the [chapter](index.md) (task, number of seeds,
# GELU):
#
# 1. *Which decay is fixed.* The paper says $\lambda$, the scripts fix $\eta\lambda$. The
#    scripts were followed.
# 2. *Thresholds* were not adapted to the smaller task. Epoch 1,000 in the claim on updates is
#    a later stage of it than of the paper's.
# 3. *Axes.* Updates are drawn against a logarithmic epoch axis, where the first hundred
#    epochs can be seen. The paper's axis is linear; its bands of a quarter of the range
#    over seeds are the full range here.
# 4. *Generalisation epoch* per seed instead of that of the mean curve, at the logged
#    epochs, every ten up to 2,000 and every twenty from there.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-04-first
# Why is the measured first update shorter than $\eta \sqrt N$ and not longer, although decay
# is added to it?
# ```
#
# ```{solution} ex-singh2026-04-first
# :class: dropdown
# The Adam part of an entry is $\eta\, |g| / (|g| + \epsilon)$, below $\eta$ for every
# gradient. Most gradients are thousands of times $\epsilon = 10^{-8}$, but those of queries
# and keys are near $10^{-7}$, since attention is almost uniform at the start: print
# `w.grad.abs().median()` for each parameter in `first_step`. The decay part is at nearly a
# right angle to signs that are as good as random, so it adds in squares: $0.03^2$ beside
# $0.45^2$ is half a per cent of the square.
# ```
#
# ```{exercise}
# :label: ex-singh2026-04-fixed
# Write the arm that the paper's sentence describes, $\eta = 0.01$ with $\lambda = 1$. What
# do the clock and the bound $1/\lambda$ on the weights predict?
# ```
#
# ```{solution} ex-singh2026-04-fixed
# :class: dropdown
# `arm(scale, "learning rate 0.01, decay 1", optimizer=adamw(0.01, weight_decay=1.0))` in
# `fig04lr`. The product is ten times larger, so the delay should shrink about tenfold, as
# long as the network can still hold its training set. The bound on single weights is the
# same as in the standard run. [Figure 15 of Prieto et
# al.](../prieto2025/fig15_weight_decay.ipynb) shows what happens when the product is too
# large.
# ```
#
# ```{exercise}
# :label: ex-singh2026-04-horizon
# From the "× ηλ" column, how many epochs would $\lambda = 0.1$ need on this task? Would you
# call the run "not generalising"?
# ```
#
# ```{solution} ex-singh2026-04-horizon
# :class: dropdown
# Between two and three times $1/(\eta\lambda) = 10{,}000$ epochs, if the proportionality
# holds that far. "Not within 5,000 epochs" is what was measured; "never" would be a guess
# against it.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(rates, decays)

# %% [markdown]
# The page again from the records: `grokbook execute singh2026/fig04`. Trained anew with
# three seeds: `make page PAGE=singh2026/fig04 SCALE=laptop`.
