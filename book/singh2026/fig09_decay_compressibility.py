# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 9: Stronger decay compresses features earlier, but no bound marks generalisation (partly seen at reduced scale)
#
# **Claim.** Without {term}`layer norm`, stronger {term}`weight decay <weight decay>` lowers
# the {term}`effective rank` of the features and the {term}`power-law exponent` of their
# spectrum, in the order in which the networks generalise {cite:p}`singh2026`. **Here.** The
# runs of Figure 4, six decays on a smaller task than the paper's and with fewer seeds (*n*
# in each row below); training and test features, in float64 and by the published float32
# recipe. **What came out.** The rank falls in the claimed order, by half as much as in the
# authors' logs. The exponent is below their bound of 1.5 in all runs; in float64 it is
# ordered by decay, by the published recipe it is not.

# %% [markdown]
# ## What was run
#
# The features are the 128 numbers per sample that the unembedding reads. The paper says
# that they are taken from the training set; the notebooks behind its figures read the test
# set. Both are shown, and judged.
#
# Laptop scale is the smaller task of [this chapter](index.md), chosen by its cost: modulo 37,
# 5,000 epochs.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import torch
from matplotlib.ticker import NullFormatter

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.papers.singh2026 import CODE, PAPER

plots.use_style()
record = evidence.record(
    "singh2026/fig04wd", scale=scale, retrain=retrain, device=device
)

# %% tags=["hide-input"]
tables.settings(
    record,
    paper=PAPER
    | {"model.norms": "()", "optimizer.weight_decay": "1, others not stated"},
    code=CODE | {"optimizer.weight_decay": "0.1, 0.2, 0.5, 0.75, 1, 1.5"},
)

# %% tags=["hide-input"]
tables.arms(record)

# %% [markdown]
# ## The idea in code
#
# With one row of $F$ per sample, $Z = F^\top F$ has eigenvalues $s_1, \dots, s_{128}$. Their
# effective rank counts directions, weighted by size, and the exponent describes how they are
# distributed: the density of sizes is taken to fall like $x^{-\alpha}$ above some $x_{\min}$,
#
# $$
# \operatorname{ER} = \exp\Bigl(-\sum_i q_i \ln q_i\Bigr), \quad q_i = \frac{s_i}{\sum_j s_j},
# \qquad
# \alpha = 1 + \frac{m}{\sum_{s_i \ge x_{\min}} \ln (s_i / x_{\min})} ,
# $$
#
# where $m$ counts the eigenvalues from $x_{\min}$ on, and $x_{\min}$ is the one with the
# best fit. A small $\alpha$ is a heavy tail: a few directions are far larger than the rest.
# $F$ is not centred, so a mean that all samples share counts as one direction.


# %%
def effective_rank(F):
    sizes = torch.linalg.eigvalsh(F.T @ F).clamp(min=0)
    shares = sizes / sizes.sum()
    return float(torch.special.entr(shares).sum().exp())


torch.manual_seed(0)
noise = torch.randn(684, 128, dtype=torch.float64)
place = torch.arange(1, 129)
examples = {  # features, and the exponent that they should have
    "independent noise": (noise, None),
    "the same with a common mean of 5": (noise + 5, None),
    "eight directions": (noise[:, :8] @ noise[:8], None),
    "eigenvalues like 1/i": (noise * place**-0.5, 2),
    "eigenvalues like 1/i²": (noise * place**-1.0, 1.5),
    "eigenvalues like 1/i⁴": (noise * place**-2.0, 1.25),
}
print(f"{'':34}{'rank':>7}{'exponent':>10}{'in theory':>11}")
for name, (F, theory) in examples.items():
    alpha = float(metrics.power_law_exponent(metrics.gram_eigenvalues(F)))
    print(f"{name:34}{effective_rank(F):7.2f}{alpha:10.2f}{theory or '':>11}")

# %% [markdown]
# A mean that all samples share hides everything else from the effective rank: that is why
# the authors' curves begin at epoch 200. The last three lines say what the exponent means:
# where ordered eigenvalues fall like $i^{-\beta}$, it is $1 + 1/\beta$, so a *steeper*
# spectrum has a *smaller* exponent. The work that the paper compares itself with measures
# $\beta$ and calls it $\alpha$; the two move in opposite directions.
#
# The published recipe squares $Z$ in float32. Whatever lies below about 3e-4 of the largest
# eigenvalue is then rounding noise.

# %% tags=["hide-input"]
LAMBDA = {f"decay {d:g}": d for d in (0.1, 0.2, 0.5, 0.75, 1.5)} | {"No LN": 1.0}
LAMBDA = dict(sorted(LAMBDA.items(), key=lambda item: item[1]))
LAMBDA = {arm: value for arm, value in LAMBDA.items() if record.seeds(arm)}
HORIZON = record.experiment.arms[0].epochs
START = min(200, HORIZON)
COLOURS = plots.shades(list(LAMBDA))


def generalised(arm):
    """First logged epoch with a test loss of at most 0.01, by seed."""
    return claims.first_epoch(record, arm, "test_loss", falls_to=0.01)


def measured(arm, column):
    """The rarely measured values, from epoch 200 on."""
    series = record.series(arm, column)
    return series[series.index >= START]


def draw(axes, arm, column, **style):
    """Seeds thin and their median thick, from epoch 200 on."""
    series = measured(arm, column)
    if series.shape[1] > 1:
        axes.plot(series.index, series, color=style["color"], lw=0.6, alpha=0.4)
    axes.plot(series.index, series.median(axis=1), lw=1.5, **style)


# %% [markdown]
# ## The figure

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Effective rank and power-law exponent of the features against epoch, for six decays, float64; above on the test set, as in the paper's plots, below on the training set, as in its text. Medians of the seeds, single seeds thin where there are several; a dot marks the generalisation of each run. Dashed in (b, d): the smallest value of the seeds, which is what the paper plots; with one seed it is the curve itself.", "name": "fig-singh2026-09"}, "image": {"alt": "Four panels. The effective rank rises to about twenty and then falls, earlier and lower for larger decays; the exponent falls slowly, more for larger decays. Training and test sets look alike."}}
figure, axes = plots.panels(2, rows=2, height=3.0, sharex=True)
for row, split in enumerate(("test", "train")):
    for axes_, quantity in zip(
        axes[2 * row : 2 * row + 2], ("effective_rank", "power_law"), strict=True
    ):
        column = f"{quantity}_{split}"
        for arm, value in LAMBDA.items():
            draw(axes_, arm, column, color=COLOURS[arm], label=f"λ = {value:g}")
            series = measured(arm, column)
            if quantity == "power_law" and series.shape[1] > 1:
                axes_.plot(
                    series.index,
                    series.min(axis=1),
                    color=COLOURS[arm],
                    lw=0.9,
                    ls=(0, (2, 1.5)),
                )
            for seed, epoch in generalised(arm).items():
                if math.isfinite(epoch):
                    near = series[seed].index[series.index >= epoch]
                    if len(near):
                        axes_.plot(
                            near[0],
                            series[seed][near[0]],
                            "o",
                            ms=5,
                            color=COLOURS[arm],
                        )
        plots.thousands(axes_)
for panel in (axes[0], axes[2]):
    panel.set(ylabel="effective rank", ylim=(0, None))
for panel in (axes[1], axes[3]):
    panel.set(ylabel="exponent α")
for panel in axes[2:]:
    panel.set_xlabel("epoch")
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=6, columnspacing=1.2)
plots.letter(
    axes, ["test: rank", "test: exponent", "training: rank", "training: exponent"]
)
figure.show()

# %% [markdown]
# How much of this depends on the precision of the eigenvalues? The recipe of the official
# code beside the float64 values, for the weakest, the standard and the strongest decay.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Effective rank and exponent of test features, float64 solid and the published float32 recipe dotted, for three decays (medians of the seeds).", "name": "fig-singh2026-09-precision"}, "image": {"alt": "Two panels. In the left one dotted and solid curves of the effective rank lie on each other; in the right one the exponents of the float32 recipe stay near 1.3 and, for the two larger decays, rise after generalisation, while those in float64 fall."}}
figure, panels = plots.panels(2, height=3.2)
chosen = [arm for arm in ("decay 0.1", "No LN", "decay 1.5") if arm in LAMBDA]
for axes_, quantity in zip(panels, ("effective_rank", "power_law"), strict=True):
    for arm in chosen:
        for suffix, style in (("", "-"), ("_float32", ":")):
            series = measured(arm, f"{quantity}_test{suffix}").median(axis=1)
            axes_.plot(series.index, series, color=COLOURS[arm], ls=style, lw=1.6)
    axes_.set_xlabel("epoch")
    plots.thousands(axes_)
for arm in chosen:
    panels[0].plot([], [], color=COLOURS[arm], label=f"λ = {LAMBDA[arm]:g}")
panels[0].plot([], [], color=plots.BLACK, label="float64")
panels[0].plot([], [], color=plots.BLACK, ls=":", label="float32 recipe")
panels[0].set(ylabel="effective rank", ylim=(0, None))
panels[1].set_ylabel("exponent α")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=5, columnspacing=1.2)
plots.letter(panels, ["rank", "exponent"])
figure.show()

# %% [markdown]
# The end of training against decay, beside the authors' logs.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Effective rank at the end of training and smallest exponent of its last tenth, against decay: dots are our seeds, filled for test features and hollow for training features. Squares: authors' logs, 5 seeds, p = 113, epoch 10,000, test features; the mean of the seeds for the rank and the smallest of them for the exponent. The line in (b) is at 1.5.", "name": "fig-singh2026-09-end"}, "image": {"alt": "Two panels against decay on a logarithmic axis. The effective rank at the end is about 20 for small decays and 9 for large ones, where the authors' squares fall from 42 to 7. Our exponents fall from 1.26 to 1.1, all below the dotted line at 1.5; the authors' are above 2 for small decays and 1.3 for large ones."}}
LOGS_ER = {0.1: 42.1, 0.2: 40.7, 0.5: 31.2, 0.75: 7.32, 1.0: 8.34, 1.5: 6.96}
LOGS_ALPHA = {0.1: 2.13, 0.2: 2.47, 0.5: 2.01, 0.75: 1.31, 1.0: 1.32, 1.5: 1.32}


def at_end(arm, column):
    return claims.last(record, arm, column)


def lowest(arm, column):
    """Smallest value over the last tenth of training, by seed."""
    series = measured(arm, column)
    late = series[series.index >= 0.9 * HORIZON].min()
    return {seed: float(late[seed]) for seed in record.seeds(arm)}


figure, panels = plots.panels(2, height=3.3)
for axes_, quantity, read, logs in (
    (panels[0], "effective_rank", at_end, LOGS_ER),
    (panels[1], "power_law", lowest, LOGS_ALPHA),
):
    for split, fill, size in (("test", plots.BLUE, 6), ("train", "none", 10)):
        for arm, value in LAMBDA.items():
            found = list(read(arm, f"{quantity}_{split}").values())
            axes_.plot(
                [value] * len(found), found, "o", color=plots.BLUE, mfc=fill, ms=size
            )
    axes_.plot(list(logs), list(logs.values()), "s", mfc="none", color=plots.RED, ms=7)
    axes_.set(xscale="log", xlabel="weight decay λ")
    axes_.set_xticks(list(logs), [f"{value:g}" for value in logs])
    axes_.xaxis.set_minor_formatter(NullFormatter())
panels[0].plot([], [], "o", color=plots.BLUE, ms=6, label="here, test")
panels[0].plot([], [], "o", color=plots.BLUE, mfc="none", ms=10, label="here, training")
panels[0].plot(
    [],
    [],
    "s",
    mfc="none",
    color=plots.RED,
    ms=7,
    label="authors' logs, 5 seeds, p = 113",
)
panels[0].set(ylabel="effective rank at the end", ylim=(0, None))
panels[1].set(ylabel="exponent α, last tenth", ylim=(1, None))
panels[1].axhline(1.5, color=plots.BLACK, ls=":", lw=1)
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=3)
plots.letter(panels, ["rank", "exponent"])
figure.show()

# %% [markdown]
# In numbers, at the same shares of training, since the horizons differ. Medians over seeds
# of the float64 values of test features; the logs' are means of five seeds by the float32
# recipe.

# %% tags=["hide-input"]
LOGGED = {  # at epochs 1,000, 2,000, 4,000, 6,000, 8,000 and 10,000 of 10,000
    0.1: (36.7, 38.2, 39.9, 41.0, 41.7, 42.1),
    0.2: (37.3, 39.2, 41.1, 41.6, 41.3, 40.7),
    0.5: (37.4, 39.4, 39.1, 37.1, 34.5, 31.2),
    0.75: (36.9, 38.0, 35.5, 31.3, 21.1, 7.32),
    1.0: (35.6, 35.8, 31.3, 20.1, 10.1, 8.34),
    1.5: (31.4, 29.5, 16.3, 7.56, 7.22, 6.96),
}
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
HEAD = ["λ", "Whose", "n", "generalises"]
HEAD += [f"ER at {share:.0%}" for share in SHARES]
GENERALISES = {0.75: "9,787", 1.0: "7,807", 1.5: "6,395"}
lines = []
for arm, value in LAMBDA.items():
    ranks = [
        claims.at(record, arm, "effective_rank_test", round(share * HORIZON))
        for share in SHARES
    ]
    lines.append(
        [
            f"{value:g}",
            "here",
            str(len(record.seeds(arm))),
            claims.words(claims.median(generalised(arm))),
            *(f"{claims.median(found):.1f}" for found in ranks),
        ]
    )
    logged = [f"{rank:.1f}" for rank in LOGGED[value]]
    known = GENERALISES.get(value, "never")
    lines.append([f"{value:g}", "authors' logs, p = 113", "5", known, *logged])
tables.grid(HEAD, lines)

# %% [markdown]
# ## Check
#
# Order, ratio and the bound of 1.5 are those that were written down from the authors' logs
# before any run; epochs 2,000 to 8,000 of 10,000 became a fifth to four fifths of training.
# The logs' exponents are minima over five seeds; here the smallest value over the last
# tenth of training takes their place, seed by seed, also fixed before any run was looked
# at. Float64 is judged, on test features as plotted and on training features as written.
# Rows with a double dagger were added after the first runs had been seen.


# %% tags=["hide-input"]
def in_order(column):
    """Share of epochs in the middle of training with ranks that fall with decay."""
    strong = [arm for arm, value in LAMBDA.items() if value >= 0.5]
    found = {}
    for seed in record.seeds(strong[0]):
        if all(seed in record.seeds(arm) for arm in strong):
            table = [measured(arm, column)[seed].dropna() for arm in strong]
            epochs = [e for e in table[0].index if 0.2 * HORIZON <= e <= 0.8 * HORIZON]
            good = [
                all(b[e] <= 1.05 * a[e] for a, b in zip(table, table[1:], strict=False))
                for e in epochs
            ]
            found[seed] = sum(good) / len(good) if good else 0.0
    return found


def gap(column):
    """Smallest rank of the weak decays over the largest of the strong ones, at the end."""
    weak = [at_end(arm, column) for arm, value in LAMBDA.items() if value <= 0.2]
    strong = [at_end(arm, column) for arm, value in LAMBDA.items() if value >= 0.75]
    lower = claims.combine(min, *weak, *weak[:1])
    upper = claims.combine(max, *strong, *strong[:1])
    return claims.combine(lambda a, b: a / b, lower, upper)


def agree(column):
    """Decays for which "α reached 1.5" and "it generalised" are both true or both false."""

    def same(alpha, epoch):
        return (alpha <= 1.5) == math.isfinite(epoch)

    each = [
        claims.combine(same, lowest(arm, column), generalised(arm)) for arm in LAMBDA
    ]
    return claims.combine(lambda *values: sum(values), *each)


def steps_down(column, read):
    """How many steps from one decay to the next lower a value."""

    def count(*values):
        return sum(b < a for a, b in zip(values, values[1:], strict=False))

    return claims.combine(count, *(read(arm, column) for arm in LAMBDA))


def how_many():
    each = [generalised(arm) for arm in LAMBDA]
    return claims.combine(lambda *epochs: sum(map(math.isfinite, epochs)), *each)


def halfway(arm, column="effective_rank_test"):
    """First measured epoch at which the rank is halfway down from its peak, by seed."""
    series, found = measured(arm, column), {}
    for seed in record.seeds(arm):
        values = series[seed].dropna()
        late = values[values.index >= values.idxmax()]
        below = late[late <= (values.max() + late.min()) / 2]
        found[seed] = float(below.index[0])
    return found


def furthest(one, other, relative):
    """Largest difference of two columns over decays and epochs from 200 on, by seed."""
    found = {}
    for arm in LAMBDA:
        difference = measured(arm, one) - measured(arm, other)
        if relative:
            difference = difference / measured(arm, other)
        for seed, value in difference.abs().max().items():
            found[seed] = max(found.get(seed, 0.0), float(value))
    return found


found = []
n = len(LAMBDA)
has_weak = any(value <= 0.2 for value in LAMBDA.values())
has_strong = any(value >= 0.75 for value in LAMBDA.values())
for split, where in (("test", "test features"), ("train", "training features")):
    rank, exponent = f"effective_rank_{split}", f"power_law_{split}"
    if sum(value >= 0.5 for value in LAMBDA.values()) > 1:
        found.append(
            claims.per_seed(
                record,
                f"{where}: for λ from 0.5 on, the rank falls with λ within 5 % at every "
                "measured epoch from a fifth to four fifths of training (share of epochs)",
                "lower rank; logs: all",
                in_order(rank),
                lambda share: share == 1,
                show="{:.0%}",
                source="Figure 9a",
            )
        )
    if has_weak and has_strong:
        found.append(
            claims.per_seed(
                record,
                f"{where}: at the end the rank for λ ≤ 0.2 is at least 4 times that for "
                "λ ≥ 0.75 (ratio)",
                "lower rank; logs: 4.9",
                gap(rank),
                lambda ratio: ratio >= 4,
                show="{:.2f}",
                source="Figure 9a",
            )
        )
    found.append(
        claims.per_seed(
            record,
            f"{where}: the exponent reaches 1.5 for exactly those λ that generalise (of "
            f"{n})",
            "heavier tails; logs: 6 of 6",
            agree(exponent),
            lambda count: count == n,
            source="Figure 9b",
        )
    )
found.append(claims.extra(record, f"decays that generalise (of {n})", how_many()))
if has_weak and has_strong:
    found.append(
        claims.extra(
            record,
            "the ratio at the end again, test features, float32 recipe",
            gap("effective_rank_test_float32"),
            paper="logs: 4.9",
            show="{:.2f}",
        )
    )
found.append(
    claims.extra(
        record,
        f"exponent and generalisation agree, test features, float32 recipe (of {n})",
        agree("power_law_test_float32"),
        paper="logs: 6 of 6",
    )
)
for words, column, read in (
    ("rank at the end, test, float64", "effective_rank_test", at_end),
    ("exponent of the last tenth, test, float64", "power_law_test", lowest),
    ("same exponent by the float32 recipe", "power_law_test_float32", lowest),
):
    found.append(
        claims.extra(
            record,
            f"steps of λ, of {n - 1}, that lower the {words}‡",
            steps_down(column, read),
        )
    )
for arm in ("No LN", "decay 1.5"):
    if arm in LAMBDA:
        found.append(
            claims.extra(
                record,
                f"λ = {LAMBDA[arm]:g}: epochs by which the rank is halfway down before the "
                "test loss is at 0.01‡",
                claims.combine(
                    lambda a, b: a - b,
                    generalised(arm),
                    halfway(arm),
                ),
                show="{:+.0f}",
            )
        )
for words, one, other, relative, show in (
    (
        "rank, float32 recipe against float64, test",
        "effective_rank_test_float32",
        "effective_rank_test",
        True,
        "{:.1%}",
    ),
    (
        "exponent, float32 recipe against float64, test",
        "power_law_test_float32",
        "power_law_test",
        False,
        "{:.2f}",
    ),
    (
        "rank, training against test, float64",
        "effective_rank_train",
        "effective_rank_test",
        True,
        "{:.1%}",
    ),
    (
        "exponent, training against test, float64",
        "power_law_train",
        "power_law_test",
        False,
        "{:.2f}",
    ),
):
    found.append(
        claims.extra(
            record,
            f"largest difference: {words}",
            furthest(one, other, relative),
            show=show,
        )
    )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/fig09")

# %% [markdown]
# ## Reading the result
#
# **Rank.** Its course is that of the authors' curves: a rise while the training set is
# memorised, a plateau, and a fall that begins earlier under stronger decay and has mostly
# taken place when the test loss reaches 0.01. The order in decay holds at every epoch that
# is judged. The factor of four between weak and strong decay does not, and at laptop scale
# it hardly could: what the generalised networks end with is of the size of the authors',
# but with 37 numbers instead of 113 the memorising ones have only about half as many
# directions to begin with. The threshold was written for the larger task. Neither is
# compression a mark of having generalised: at a decay of 0.5 the rank falls far before the
# test loss has arrived.
#
# **Exponent.** A bound of 1.5 separates the authors' runs and separates nothing here: every
# value lies below it, from the first measurement on, generalised or not. The *order* is
# there in float64: each stronger decay ends lower. It is a slow widening, though, not
# the drop of the published curves. An exponent is one over a mean logarithm,
# $1/(\alpha - 1)$: at 1.25 the fitted eigenvalues are on average $e^4$ times $x_{\min}$, at
# 1.13 nearly $e^8$. So the fit takes in a long tail of very small eigenvalues, which decay
# makes smaller still. The features of this task use few of their 128 dimensions.
#
# **Precision.** That is where the published recipe cannot follow. Its rounding noise lies
# in exactly this tail: the dotted curves stay near 1.3 while float64 falls, and those of
# the two decays that generalise *rise* afterwards. The rank does not notice, since small
# eigenvalues hardly count in it. A common floor of about 1.3 in the authors' float32
# curves should be read with that in mind. Whether float64 tells another story at their
# modulus, this record cannot say.
#
# **Training and test features** agree so well that it does not matter which of the two the
# paper meant.
#
# **What a low exponent means.** The paper reads it as a heavy tail and cites work in which
# a low $\alpha$ belongs to a *slow* fall of ordered eigenvalues. Here it is the other way
# round, as the toy spectra above show: a low density exponent is a *fast* fall. Both
# measures say that the features get compressed; they only do not support the same reading
# of $\alpha$.
#
# Deviations of this page, beside those of the [chapter](index.md) (task, number of seeds,
# GELU):
#
# 1. *Features.* Training set in the text, test set in the plots; both are here.
# 2. *Precision.* Eigenvalues in float64 are judged; the float32 recipe is shown beside them.
# 3. *Minimum over seeds* of the exponent, in the paper's plot, became a minimum over the
#    last tenth of each run. The raw curves are in the figure.
# 4. *Thresholds* were not adapted to the smaller task.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-09-centre
# Subtract the mean of each feature before the Gram matrix is formed. What does it do to
# the effective rank of the second toy example, and what would it do to the first
# measurement of a network?
# ```
#
# ```{solution} ex-singh2026-09-centre
# :class: dropdown
# `effective_rank(F - F.mean(0))` gives back the value of the noise without a mean. At the
# start of training the features of all samples share the embedding of "=", so the
# uncentred rank is near 2 however varied the rest may be; centred it would be far larger,
# and the curves could begin at epoch 0.
# ```
#
# ```{exercise}
# :label: ex-singh2026-09-slope
# Eigenvalues fall like $i^{-\beta}$. Derive $\alpha = 1 + 1/\beta$.
# ```
#
# ```{solution} ex-singh2026-09-slope
# :class: dropdown
# The number of eigenvalues above $x$ is the $i$ with $i^{-\beta} = x$, so it is
# $x^{-1/\beta}$. Its negative derivative is the density, which falls like
# $x^{-1/\beta - 1}$.
# ```
#
# ```{exercise}
# :label: ex-singh2026-09-noise
# In the fifth toy example, at which place $i$ do eigenvalues drop below 3e-4 of the largest?
# Does the float32 recipe see the rest?
# ```
#
# ```{solution} ex-singh2026-09-noise
# :class: dropdown
# At $i = \sqrt{1/0.0003} \approx 58$ of 128. Compare
# `metrics.gram_eigenvalues(F, exact=False)` with `exact=True` from there on. The exponent
# of that example is the same all the same, since enough of the spectrum lies above the
# noise. It is the steep spectra, where nearly everything lies below it, that come out wrong.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(record)

# %% [markdown]
# The page again from the record: `grokbook execute singh2026/fig09`. Trained anew with
# three seeds: `make page PAGE=singh2026/fig09 SCALE=laptop`.
