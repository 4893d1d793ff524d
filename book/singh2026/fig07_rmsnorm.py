# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 7: RMSNorm orders the positions as layer norm does, M first but A\* last (partly seen at reduced scale)
#
# **Claim.** With RMSNorm, which only rescales, in place of {term}`layer norm`, which also
# subtracts the mean, the positions of the norm act alike: M groks first, then M+A\*, A\* and
# no norm at all {cite:p}`singh2026`. **Here.** The same four networks with either norm, seed
# by seed, on a smaller task than the paper's and with fewer seeds (*n* in each row below).
# **What came out.** M and M+A\* generalise in this order with both norms, with RMSNorm
# somewhat earlier, within the 40 % that count as similar here. A\* breaks the paper's order
# on this task, again with both norms: its test loss never comes down to 0.01.

# %% [markdown]
# ## What was run
#
# M has its norm before the MLP, A\* before attention, M+A\* before both. The numbers behind
# the figure were never published, so the paper's side is read off its picture. The network
# has GELU units, which fits that picture. Laptop scale is the smaller task of
# [this chapter](index.md), chosen by its cost: modulo 37, 5,000 epochs.

# %% tags=["parameters"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
import math

import torch
from torch import nn

from grokbook import claims, evidence, plots, tables
from grokbook.papers.singh2026 import CODE, HEADLINE, PAPER

plots.use_style()
page = {"retrain": retrain, "device": device}
rms = evidence.record("singh2026/fig07", scale=scale, **page)
layer = evidence.record("singh2026/fig02", scale=rms.scale, **page)

# %% tags=["hide-input"]
tables.settings(
    rms,
    paper=PAPER | {"model.norm": "RMSNorm"},
    code=CODE | {"model.activation": "not logged; GELU fits the picture"},
)

# %% tags=["hide-input"]
tables.arms(rms)

# %% [markdown]
# ## The idea in code
#
# For an input $x$ of width $d$ with mean $\bar x$, and without the learned gain γ and shift β,
#
# $$
# \mathrm{LN}(x) = \frac{x - \bar x}{\sqrt{\tfrac{1}{d} \sum_i (x_i - \bar x)^2}},
# \qquad
# \mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\tfrac{1}{d} \sum_i x_i^2}} .
# $$
#
# Layer norm is RMSNorm after one step: the projection that takes the direction $(1, \dots,
# 1)$ out of $x$. That is one direction of $d$, and a random $x$ has a share of $1/d$ of its
# square length in it. What both norms do alike is to forget the length of $x$.

# %%
width = rms.experiment.arms[0].model.options["width"]
torch.manual_seed(0)
x = torch.randn(10_000, width, dtype=torch.float64)
root_mean_square = nn.RMSNorm(width, eps=0.0, dtype=torch.float64)
layer_norm = nn.LayerNorm(width, eps=0.0, dtype=torch.float64)
mean = x.mean(dim=-1, keepdim=True)
with torch.no_grad():
    same = (layer_norm(x) - root_mean_square(x - mean)).abs().max()
    longer = (root_mean_square(7 * x) - root_mean_square(x)).abs().max()
share = mean.square().mean() / x.square().mean()
print(f"LN(x) against RMSNorm(x - mean), largest difference    {same:.0e}")
print(f"RMSNorm(7 x) against RMSNorm(x), largest difference    {longer:.0e}")
print(f"share of the mean in the square of x                   {share:.4f}")
print(f"1 / d                                                  {1 / width:.4f}")

# %% tags=["hide-input"]
COLOURS = dict(
    zip(HEADLINE, (plots.BLUE, plots.GREEN, plots.ORANGE, plots.BLACK), strict=True)
)
RMS = {n: "No LN" if n == "No LN" else f"{n}, RMSNorm" for n in HEADLINE}
RMS = {name: arm for name, arm in RMS.items() if rms.seeds(arm)}
LAYER = {name: name for name in HEADLINE if layer.seeds(name)}
EPOCHS = rms.experiment.arms[0].epochs


def crossing(record, arms, level=0.01):
    """First epoch with a test loss of at most ``level``, by network and seed."""
    return {
        name: claims.first_epoch(record, arm, "test_loss", falls_to=level)
        for name, arm in arms.items()
    }


def over(upper, lower):
    """Ratio of epochs by seed, where the lower one exists; never stays never."""
    known = {seed: epoch for seed, epoch in lower.items() if math.isfinite(epoch)}
    return claims.ratio(upper, known)


rms_epoch, layer_epoch = crossing(rms, RMS), crossing(layer, LAYER)
BOTH = [name for name in HEADLINE[:3] if name in RMS and name in LAYER]
ratio = {name: over(rms_epoch[name], layer_epoch[name]) for name in BOTH}
earlier = {
    name: over(crossing(rms, RMS, 1.0)[name], crossing(layer, LAYER, 1.0)[name])
    for name in BOTH
}

# %% [markdown]
# ## The figure
#
# The paper draws M from epoch 1,000 and M+A\* from epoch 1,800 on as a running minimum, which
# hides {term}`slingshots <slingshot>`. Panel (b) has that form, here from the peak before
# generalisation on, since those epochs belong to p = 113.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Figure 7. Test loss solid, train loss dashed. (a) RMSNorm, raw; (b) the same with the test losses of M and M+A* as running minima from their peak on, as the paper processes them; (c) layer norm, raw, the runs of Figure 2. Medians thick where there are several seeds.", "name": "fig-singh2026-07"}, "image": {"alt": "Three panels of loss against epoch for four networks. With RMSNorm and with layer norm the test losses rise to similar peaks and fall in the same order, M first, then M plus A star, then the network without a norm and A star. Raw curves of M and M plus A star jump up again after their fall, the processed ones stay down."}}
figure, axes = plots.panels(3, height=3.2, sharey=True)
for panel, (axis, record, arms) in enumerate(
    zip(axes, (rms, rms, layer), (RMS, RMS, LAYER), strict=True)
):
    for name, arm in arms.items():
        color = COLOURS[name]
        if panel == 1 and name in ("M", "M+A*"):
            middle = record.series(arm, "test_loss").median(axis=1)
            reached = int(min(claims.median(rms_epoch[name]), EPOCHS))
            top = middle.loc[:reached].idxmax()
            processed = middle.loc[:top].combine_first(middle.loc[top:].cummin())
            axis.plot(processed.index, processed, color=color)
            train = record.series(arm, "train_loss").median(axis=1)
            axis.plot(train.index, train, color=color, ls=(0, (2, 1.5)))
        else:
            plots.loss(axis, record, arm, color=color, label=name)
    axis.set(xlabel="epoch", ylabel="")
    plots.thousands(axis)
axes[0].set_ylabel("loss")
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4)
plots.letter(axes, ["RMSNorm", "as processed", "layer norm"])
figure.show()

# %% [markdown]
# The epoch of generalisation is the first logged one with a test loss of 0.01. Each seed
# fixes split and initial weights for both norms, so the two are compared seed by seed.

# %% tags=["hide-input"] mystnb={"figure": {"caption": "(a) Epoch of generalisation with RMSNorm (filled) and with layer norm (hollow), one mark per seed; crosses on the dotted line never generalise within the training. (b) Their ratio by seed, at a test loss of 0.01 and of 1, where layer norm gets there; shaded, the band of ±40 %; hollow diamonds, the authors' picture of RMSNorm over their logs of layer norm (p = 113), two different readings of one event.", "name": "fig-singh2026-07-ratio"}, "image": {"alt": "Left: epochs of generalisation for M, M plus A star, A star and No LN, filled and hollow marks close together; A star has crosses at the end of training for both norms. Right: ratio of RMSNorm to layer norm for the three networks with a norm, below 1 and inside a shaded band from 0.6 to 1.4."}}
PICTURE = {"M": 800, "M+A*": 2550, "A*": 6050, "No LN": 7800}  # test loss near 0
LOGGED = {"M": 1425, "M+A*": 3525, "A*": 7157, "No LN": 7807}  # seed mean, 0.01
figure, (left, right) = plots.panels(2, height=3.3)
for place, name in enumerate(HEADLINE):
    color = COLOURS[name]
    for shift, epochs, fill in ((-0.12, rms_epoch, color), (0.12, layer_epoch, "none")):
        for epoch in epochs.get(name, {}).values():
            there = math.isfinite(epoch)
            left.plot(
                place + shift,
                epoch if there else EPOCHS,
                "o" if there else "x",
                mfc=fill,
                mec=color,
                ms=7,
            )
for place, name in enumerate(BOTH):
    for shift, values, marker in ((-0.18, ratio, "o"), (0, earlier, "s")):
        shown = [value for value in values[name].values() if math.isfinite(value)]
        style = {"color": COLOURS[name], "ms": 7, "alpha": 0.8}
        right.plot([place + shift] * len(shown), shown, marker, **style)
    right.plot(
        place + 0.18, PICTURE[name] / LOGGED[name], "D", mfc="none", mec=plots.BLACK
    )
left.plot([], [], "o", color=plots.BLACK, ms=7, label="RMSNorm")
left.plot([], [], "o", mfc="none", mec=plots.BLACK, ms=7, label="layer norm")
left.axhline(EPOCHS, color=plots.BLACK, ls=":", lw=1)
left.set(ylabel="epoch of test loss ≤ 0.01", ylim=(0, 1.06 * EPOCHS))
left.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
left.set_xticks(range(4), HEADLINE)
right.plot([], [], "o", color=plots.BLACK, ms=7, label="test loss 0.01")
right.plot([], [], "s", color=plots.BLACK, ms=7, label="test loss 1")
right.plot([], [], "D", mfc="none", mec=plots.BLACK, label="authors")
right.axhspan(0.6, 1.4, color=plots.SKY, alpha=0.2, lw=0)
right.axhline(1, color=plots.BLACK, ls=":", lw=1)
right.set(ylabel="RMSNorm / layer norm", xlim=(-0.6, max(len(BOTH) - 0.4, 0.6)))
right.set_ylim(0, max(1.6, right.get_ylim()[1]))
right.set_xticks(range(len(BOTH)), BOTH)
for axis, columns in ((left, 2), (right, 3)):
    axis.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=columns,
        columnspacing=1.0,
        handletextpad=0.3,
    )
plots.letter((left, right), ["epoch of generalisation", "ratio"])
figure.show()


# %% tags=["hide-input"]
def start(record, arm):
    return claims.median(claims.at(record, arm, "train_loss", 0))


def peak(record, arm, epochs):
    """Largest test loss before generalisation, by seed; slingshots come later."""
    series = record.series(arm, "test_loss")
    return {
        seed: float(series[seed].loc[: int(min(e, EPOCHS))].max())
        for seed, e in epochs.items()
    }


def lowest(record, arm):
    return {s: float(v) for s, v in record.series(arm, "test_loss").min().items()}


def late(record, arm, epochs):
    """Share of the logged epochs after generalisation with a test loss above 0.01."""
    series = record.series(arm, "test_loss")
    found = {}
    for seed, epoch in epochs.items():
        if math.isfinite(epoch):
            after = series[seed][series.index > epoch].dropna()
            found[seed] = float((after > 0.01).mean()) if len(after) else 0.0
    return found


rows = []
for kind, record, arms, every in (
    ("RMSNorm", rms, RMS, rms_epoch),
    ("layer norm", layer, LAYER, layer_epoch),
):
    for name, arm in arms.items():
        if name == "No LN" and kind == "RMSNorm":
            continue
        epochs = every[name]
        mean = claims.first_epoch_of_mean(record, arm, "test_loss", falls_to=0.01)
        back = late(record, arm, epochs)
        authors = f"{PICTURE[name]:,}, read off" if kind == "RMSNorm" else LOGGED[name]
        rows.append(
            [
                name if name == "No LN" else f"{name}, {kind}",
                f"{start(record, arm):.3f}",
                f"{claims.median(peak(record, arm, epochs)):.1f}",
                f"{claims.median(lowest(record, arm)):.1g}",
                *claims.summary(epochs),
                claims.words(mean),
                f"{claims.median(back):.0%}" if back else "—",
                authors if isinstance(authors, str) else f"{authors:,}, logs",
            ]
        )
tables.grid(
    [
        "Network",
        "Train loss before training",
        "Peak test loss",
        "Lowest test loss",
        "Test loss ≤ 0.01, median epoch",
        "range of seeds",
        "of the seed mean",
        "Above 0.01 again, share of later epochs",
        "authors, seed mean, p = 113",
    ],
    rows,
)

# %% [markdown]
# ## Check
#
# A ratio needs a counterpart: where layer norm itself never reaches 0.01 it is not judged.
# That rule, and the ratio at a test loss of 1 beside it, came after the smaller task with
# layer norm had been seen and before any run with RMSNorm.

# %% tags=["hide-input"]
SOURCE = "3, Figure 7"
found = []
order = [name for name in HEADLINE if name in RMS]
if len(order) > 1:
    found.append(
        claims.order(
            rms,
            f"RMSNorm generalises in the order {', '.join(order)}",
            "same order; picture: 800, 2,550, 6,050, 7,800; no logs published",
            {name: rms_epoch[name] for name in order},
            source=SOURCE,
        )
    )
for name, values in ratio.items():
    picture = PICTURE[name] / LOGGED[name]
    if values:
        found.append(
            claims.per_seed(
                rms,
                f"{name}: epoch of generalisation within 40 % of that with layer norm "
                "(RMSNorm / layer norm)",
                f"very similar; picture over logs of layer norm: {picture:.2f}, two "
                "readings of one event",
                values,
                lambda value: 0.6 <= value <= 1.4,
                show="{:.2f}",
                source=SOURCE,
            )
        )
    else:
        found.append(
            claims.not_run(
                f"{name}: epoch of generalisation within 40 % of that with layer norm: "
                "no seed generalises with layer norm here",
                f"very similar; picture over logs of layer norm: {picture:.2f}",
                source=SOURCE,
            )
        )
        found.append(
            claims.extra(
                rms,
                f"{name}: no ratio to judge, with layer norm no seed reaches 0.01; epoch "
                "with RMSNorm",
                rms_epoch[name],
                paper=f"very similar; picture over logs of layer norm: {picture:.2f}",
                show="{:,.0f}",
            )
        )
for name, values in earlier.items():
    if values:
        found.append(
            claims.extra(
                rms,
                f"{name}: the same ratio at a test loss of 1",
                values,
                show="{:.2f}",
            )
        )
for early, later in zip(order, order[1:], strict=False):
    both = over(rms_epoch[early], rms_epoch[later])
    if both:
        found.append(
            claims.extra(
                rms,
                f"RMSNorm: epoch of {early} over that of {later}",
                both,
                paper=f"picture: {PICTURE[early] / PICTURE[later]:.2f}",
                show="{:.2f}",
            )
        )
for name in BOTH:
    both = claims.combine(
        lambda a, b: a / b,
        peak(rms, RMS[name], rms_epoch[name]),
        peak(layer, LAYER[name], layer_epoch[name]),
    )
    if both:
        found.append(
            claims.extra(
                rms,
                f"{name}: peak test loss, RMSNorm / layer norm",
                both,
                show="{:.2f}",
            )
        )

# %% tags=["hide-input", "nbval-check-output"]
claims.table(found, page="singh2026/fig07")

# %% [markdown]
# ## Reading the result
#
# **Alike.** With either norm the four curves rise to the same peaks and fall in the same
# order, and RMSNorm is the earlier of the two. So the mean and the learned shift β, all that
# layer norm has beyond RMSNorm, are not what makes the position of the norm matter. That much
# of the paper's appendix holds here.
#
# **By how much?** For M the two readings of the event differ: at a test loss of 1 the norms
# are nearly level, at 0.01 RMSNorm is well ahead. In between both jump up and down in
# {term}`slingshots <slingshot>`, so the moment at which such a curve first touches 0.01 is
# partly luck, and the ratio of two of them more so. The row at 1 is the steadier one. In
# the authors' picture M lies outside the band of 40 %, but that ratio divides a curve read
# off near 0 by a crossing of 0.01 in a log, and mixes the same two readings.
#
# **Order.** A\* is the exception on this task. It comes down with the others but stays above
# 0.01 to the end, with either norm, and it is behind the network without a norm even at a test
# loss of 1. In the paper's own logs A\* is ahead of that network by 8 %, with overlapping
# seeds, so this is the weakest link of the order, and a small task may well reverse it.
# RMSNorm repeats what [Figure 2](fig02_norm_positions.ipynb) shows for layer norm, exception
# included. In that sense the results are as similar as the paper says.
#
# **Processing.** Panels (a) and (b) show the same runs. After their first fall M and M+A\*
# spend a large part of the remaining epochs above 0.01, as the table says; a running
# minimum shows none of it.
#
# Deviations of this page, beside those of the [chapter](index.md) (task, number of seeds,
# GELU):
#
# 1. *Similar* means here within 40 %, a threshold fixed before the runs; the paper has no
#    number.
# 2. *A ratio without a counterpart.* For A\* there is none at 0.01, and it is not judged.
# 3. *Running minimum* from the peak on, where the paper starts it at fixed epochs.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-singh2026-07-projection
# Write the step from RMSNorm to layer norm as a matrix. Can the layers before the norm learn
# it, so that RMSNorm could do whatever layer norm does?
# ```
#
# ```{solution} ex-singh2026-07-projection
# :class: dropdown
# $P = I - \tfrac{1}{d} \mathbf{1} \mathbf{1}^\top$, so $\mathrm{LN}(x) = \mathrm{RMSNorm}(P
# x)$. If every matrix that writes into $x$ (embedding, positions, attention output) is
# multiplied by $P$, its output has no mean and both norms agree. In M that also changes
# what the unembedding reads past the norm, but only by a direction that it can ignore.
# ```
#
# ```{exercise}
# :label: ex-singh2026-07-shift
# RMSNorm has no shift β. How would you test whether the mean or the shift makes the
# difference, if there is one?
# ```
#
# ```{solution} ex-singh2026-07-shift
# :class: dropdown
# A third norm: mean subtracted, no shift. In PyTorch it is
# `nn.LayerNorm(width, bias=False)`; give it a name in `NORMS` of `models.py` and an arm in
# `fig07`. Before training β is zero, so all three differ by the mean alone.
# ```
#
# ```{exercise}
# :label: ex-singh2026-07-eps
# The norms here have eps = 0. From which length of $x$ on would the usual 1e-5 matter?
# ```
#
# ```{solution} ex-singh2026-07-eps
# :class: dropdown
# It is added to the mean square, so it matters when that is near $10^{-5}$, entries of about
# 0.003. Weight decay shrinks the embeddings over thousands of epochs; the column
# `norm.embedding` of the record divided by the root of its number of entries says whether
# they come near.
# ```

# %% [markdown]
# ## Provenance

# %% tags=["hide-input"]
tables.provenance(rms, layer)

# %% [markdown]
# The page again from the records: `grokbook execute singh2026/fig07`. Trained anew with the
# smaller task: `make page PAGE=singh2026/fig07 SCALE=laptop`.
