# %% [markdown]
# # [Question]{.kicker} Does rounding stop learning?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import math

import pandas as pd

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q02", scale, retrain, device)
TEST, ink, names = "test_accuracy", plots.COLOUR, ("float16", "float32", "float64")
adam, descent = page.record("prieto2025/fig02"), page.record("prieto2025/fig09")
control, mnist = page.record("prieto2025/fig01control"), page.record("prieto2025/fig14")
images, long = (
    page.record("liu2026/fig01"),
    page.record("prieto2025/fig01c", arms=("softmax float32",)),
)
middle, large, slow = (
    [Run(record, f"{share} {name}", name, ink[name]) for name in names]
    for record, share in ((adam, "60%"), (adam, "70%"), (descent, "70%"))
)
small = [Run(adam, f"40% {name}") for name in names]
softmax = Run(control, "softmax, β2 0.99", "float64", ink["float64"])
free = Run(control, "exact CE, β2 0.99", "cannot collapse", ink["collapse-free"])
still = Run(mnist, "no decay", "float32", ink["float32"])
freed = Run(mnist, "decay 0.1", "float32, weight decay", ink["weight decay"])
spiking, calm = (Run(images, arm, arm, ink[arm]) for arm in ("float32", "float64 loss"))


def line(run, name=""):
    """First logged epoch with more than half of the training samples collapsed."""
    return run.first(f"collapse_{name or run.label}", above=0.5)


def gained(run, start):
    """Points of test accuracy from an epoch to the end."""
    return 100 * (run.last(TEST) - run.at(TEST, start))


starts = {run: line(run) for run in (*middle, *large, *slow, softmax)}
starts |= {free: starts[softmax]} | {
    run: run.fitted(accuracy=1.0) for run in (still, freed)
}
rises = {run: 100 * run.rise(TEST, since=starts[run]) for run in starts}
kept = evidence.joined({m[1]: rises[m[1]] for m in (middle, large)}).max(axis=1)
wider = evidence.joined(
    {m[2]: gained(m[2], starts[m[1]]) for m in (middle, large)}
).min(axis=1)
low = evidence.joined(
    {run: run.largest(TEST, since=run.fitted(accuracy=1.0)) for run in small}
).max(axis=1)
sheet = claims.read(page.name, {})
since = {
    run: starts[several[1]] for several in (middle, large, slow) for run in several
}  # float32's collapse, for all
since = starts | since
sheet.box(
    f"Mostly it slows learning down. With 60 and 70 % of its table, an MLP gained at most {kept.max():.1f} points of test accuracy after its "
    f"float32 losses collapsed; with float64 losses, at least {wider.min():.1f} from the same epoch to the end ({len(kept)} seeds each). With "
    "40 % neither gained."
)

# %% tags=["hide-input"]
#| name: fig-questions-02
#| caption: >
#|   After a float32 collapse test accuracy rises little, and more with a float64 loss or one that cannot collapse.
#|   Points of test accuracy gained since half of the samples collapsed in float32, for all three precisions. (a), (b)
#|   Prieto et al.'s MLP with AdamW, by share of its table, with the two numbers of the answer; (c) with gradient
#|   descent; (d) a smaller table, both since the collapse of softmax; (e) MNIST with hundredfold weights, since the
#|   fit. (f) Liu et al.'s MLP, training accuracy of one seed. Seeds thin, medians thick; diamonds: the authors' curves.
#| alt: >
#|   Five panels of points gained. On addition all curves rise steeply before zero. After it those of float32 and
#|   float16 are nearly flat, and those of float64 rise on by 13 to 36 points with AdamW, by less with gradient
#|   descent. On the small table softmax gains 20 points and the loss that cannot collapse 32. On MNIST the line
#|   without weight decay is flat, with it the line rises late. In the last panel training accuracy falls in spikes
#|   in float32 alone.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(3, rows=2, height=3.0)
theirs = (
    evidence.reference("prieto2025/fig02")
    .set_index(["quantity", "series"])
    .sort_index()
)
for panel, several in zip(
    axes, (middle, large, slow, (softmax, free), (still, freed)), strict=False
):
    for run in several:
        points, start = 100 * (run.series(TEST) - run.at(TEST, since[run])), since[run]
        moved = [
            points[s].dropna().rename(lambda e, at=start[s]: e - at)
            for s in run.seeds
            if start[s] < math.inf
        ]
        table = (
            pd.concat(moved or [pd.Series(dtype=float)], axis=1)
            .sort_index()
            .loc[-1000:]
        )
        panel.plot(
            table := table.interpolate(limit_area="inside"),
            lw=0.6,
            alpha=0.5,
            color=run.color,
        )
        panel.plot(table.dropna().median(axis=1), color=run.color, label=run.label)
        if run.record is adam:
            begin = theirs.loc[("collapse_line", several[1].arm), "epoch"]
            curve = theirs.loc[("test_accuracy", run.arm)].set_index("epoch").value
            curve = 100 * (curve - curve[begin]).loc[begin:].iloc[::6]
            plots.paper(panel, curve.index - begin, curve, label="", color=run.color)
    panel.axvline(0, color=plots.GREY, ls="--", lw=1)
for level, words, place, run in (
    (wider.min(), "float64: at least", -12, middle[2]),
    (kept.max(), "float32: at most", -17, middle[1]),
):
    axes[0].text(17_000, place, f"{words} {level:.1f}", ha="right", color=run.color)
    for panel in axes[:2]:
        panel.axhline(level, color=run.color, ls=":", lw=1.2)
for run in (spiking, calm):
    points = 100 * run.series("train_accuracy")[run.seeds[:1]].dropna()
    axes[5].plot(points.index, points, color=run.color, lw=1.2)
plots.paper(axes[0], [], [], label="authors")
handles = {
    one.get_label(): one
    for panel in axes[[4, 3, 0]]
    for one in panel.get_legend_handles_labels()[0]
}
figure.legend(handles=handles.values(), loc="outside upper center", ncols=3)
for panel, bottom in zip(axes, (-20, -20, -20, -5, -5, 0), strict=True):
    panel.set_ylim(bottom=bottom)
    plots.thousands(panel)
for panel, when in zip(axes, ["collapse"] * 4 + ["the fit"], strict=False):
    panel.set(
        xlabel=f"epochs since {when}",
        ylabel="" if panel in axes[[1, 2, 4]] else "points gained",
    )
axes[5].set(xlabel="epoch", ylabel="training set (%)")
plots.letter(
    axes,
    [
        "60 %, AdamW",
        "70 %, AdamW",
        "70 %, descent",
        "small table",
        "MNIST",
        "200 images",
    ],
)
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# **What rounding does.** Once the correct {term}`logit` leads by enough, the sum in the softmax rounds to its largest
# term ({term}`softmax collapse`). Loss and gradient of the correct class are then exactly zero. Float32 collapses at a
# lead of 16.6, float64 at 36.7 ([Figure 3](../prieto2025/fig03_stablemax.ipynb)). The wrong classes keep their
# gradients, and so something still moves.

# %% tags=["remove-input"]
patient = [Run(long, f"softmax {bits}") for bits in ("float32", "float64")]
tables.prose(f"""
**The same network in another precision.** With 60 and 70 % of its table an MLP gains at most {kept.max():.1f} points of
test accuracy after its float32 losses collapse. The same network with a float64 loss gains at least {wider.min():.1f}
from the same epoch to the end, though it collapses on the way ([Figure 2](../prieto2025/fig02_softmax_collapse.ipynb)). Under
gradient descent, with 70 % of the table, float32 gains at most {rises[slow[1]].max():.1f} after its collapse, and float64
{told(100 * slow[2].rise(TEST, since=since[slow[2]]), "{:.1f}")} from the same epoch (seeds: {len(slow[1].seeds)}; [Figure 9](../prieto2025/fig09_sgd_schedule.ipynb)).
No precision gains more than {max(rises[run].max() for run in slow):.1f} there after its own collapse.

**A loss that cannot collapse.** On a smaller table, all in float64, softmax still gains {told(rises[softmax], "{:.0f}")}
points after its collapse. The {{term}}`collapse-free cross-entropy` gains {told(rises[free], "{:.0f}")} from the same
epoch ([Figure 1](../prieto2025/fig01_headline.ipynb)). So rounding takes a part of the gain, and not all of it.

**Where it does stop.** On MNIST with hundredfold weights test accuracy moves by
{told(100 * abs(still.last(TEST) - still.at(TEST, 50_000)), "{:.2f}")} points in the second half of the training.
Weight decay undoes the collapse, and the network gains {told(gained(freed, starts[freed]), "{:.0f}")} points
([Figure 14](../prieto2025/fig14_mnist.ipynb)). Float16 depends on the processor: on a GPU, with 70 % of the table, it
rises by {told(rises[large[0]], "{:.0f}")} points after its collapse. Then its weights stand still, because gradients underflow.

**Where it does not decide.** With 40 % of the table no precision, once it has fitted, gets beyond {told(low, "{:.2%}")} of the test set in
{small[0].settings.epochs:,} epochs, collapsed or not. In runs of {patient[0].settings.epochs:,} epochs at a larger rate float32 ends at
{told(patient[0].last(TEST), "{:.1%}")} (seeds: {len(patient[0].seeds)}), and float64 at {told(patient[1].last(TEST), "{:.1%}")} (seeds: {len(patient[1].seeds)}).

**Rounding can also move a network.** In Liu et al.'s MLP the leftover gradients bring {{term}}`slingshots <slingshot>`.
Training accuracy falls to {told(spiking.smallest("train_accuracy", since=1000), "{:.0%}")} and comes back. With a float64
loss it stays at {told(calm.smallest("train_accuracy", since=1000), "{:.0%}")} ([Figure 9](../liu2026/fig09_cifar_mlp.ipynb)).
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q02.md
# ```
#
# ## What would change our mind
#
# * The collapse-free loss in float64 on the paper's table, beside softmax with the same learning rate and betas. If it
#   stalls as early, rounding is not what slows the network. It is registered and not trained: `grokbook run
#   prieto2025/fig01control --scale paper --device cuda`.
# * The second set-up of Figure 8, gradient descent with correct logits multiplied by 0 (`prieto2025/fig08sgd`). If test
#   accuracy goes on rising there, learning does not need the gradients of the correct classes. That arm has no record.
# * An ε of Adam that ends learning before any sample collapses would name another cause for some of the same curves:
#   `grokbook run prieto2025/fig02eps --scale paper --device cuda`.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(adam, descent, control, mnist, images, long)
