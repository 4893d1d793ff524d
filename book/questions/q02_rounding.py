# %% [markdown]
# # [Question]{.kicker} Does rounding stop learning?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import pandas as pd

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q02", scale, retrain, device)
TEST, ink, names = "test_accuracy", plots.COLOUR, ("float16", "float32", "float64")
adam, descent = page.record("prieto2025/fig02"), page.record("prieto2025/fig09")
control, mnist = page.record("prieto2025/fig01control"), page.record("prieto2025/fig14")
by_hand = page.record("prieto2025/fig02hand")
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
bounded = Run(page.record("prieto2025/fig02eps"), "70% float64, eps 1e-8")
slow_cpu = Run(page.record("prieto2025/fig02cpu"), "70% float16", "float16")
kept = Run(by_hand, "70% float32, by hand")
spiking, calm = (Run(images, arm, arm, ink[arm]) for arm in ("float32", "float64 loss"))


def line(run):
    """First logged epoch with more than half of the training samples collapsed."""
    return run.first(f"collapse_{run.label}", above=0.5)


def gained(run, start):
    """Points of test accuracy from an epoch to the end."""
    return 100 * (run.last(TEST) - run.at(TEST, start))


begun = {m[1]: line(m[1]) for m in (middle, large, slow)}  # half of float32's collapsed
begun |= {softmax: line(softmax), still: still.fitted(accuracy=1.0)}
gains = {  # points gained from one epoch to the end: the loss that rounds, the other
    m[1]: [gained(run, begun[m[1]]) for run in m[1:]] for m in (middle, large, slow)
}
gains[softmax] = [gained(run, begun[softmax]) for run in (softmax, free)]
gains[still] = [gained(run, begun[still]) for run in (still, freed)]
low = evidence.joined(
    {run: run.largest(TEST, since=run.fitted(accuracy=1.0)) for run in small}
).max(axis=1)
cleared = kept.first("zero_loss", at_least=1)  # every loss of the training set is zero
single, double = middle[1:]
short, far = (claims.median(one) for one in gains[single])
rate = single.settings.optimizer.options["lr"]
sheet = claims.read(page.name, {})
sheet.box(f"""Nearly, in one MLP with losses in float32. Prieto et al. say that
generalisation stops once float32 rounds the losses to exactly zero (softmax collapse).

Their MLP was trained on 60 % of all sums modulo 113 at a learning rate of {rate:g},
once with losses in float32 and once in float64, which rounds later. From the epoch at
which half of the float32 losses were zero to the end, test accuracy rose by {short:.0f}
points with float32 and by {far:.0f} points with float64 (medians of {len(single.seeds)}
runs each).

A loss of zero alone does not stop learning. What seems to stop it is that the correct class then
gets no gradient. A softmax in float32 that keeps this gradient was tried with seven tenths of the sums
alone (not drawn). It went on to nearly the whole test set in {(kept.last(TEST) > 0.95).sum()}
of {len(kept.seeds)} runs, while every loss was exactly zero. Even without this gradient
learning need not stop: in float64, on a smaller task, networks still learned after most of
their losses had become zero (not drawn).

And rounding is not the only obstacle: with 40 % of the sums, the paper's usual share, no
network got beyond guessing in 20,000 epochs, whatever the precision of its loss.""")

# %% tags=["hide-input"]
#| name: fig-questions-02
#| caption: >
#|   Once half of its losses are rounded to zero in float32, an MLP gains little; with float64 losses it goes
#|   on. The height is how many points of test accuracy a network has gained since the epoch at which half of
#|   the float32 losses of its training set are exactly zero (dashed line). Thin lines are single runs, thick
#|   lines medians, and diamonds are the authors' curves. Single runs with float64 losses gain very different
#|   amounts. The arrow points to where half of the float64 losses are zero too. The numbers and the
#|   bracket are medians at epoch 20,000, where all runs end; the lines are cut 16,000 epochs after the dashed
#|   line, so that they end a little beside them. Prieto et al.'s MLP, addition modulo 113, AdamW without weight decay.
#| alt: >
#|   Two bundles of curves that run together up to zero. From there the one of float32 rises by a few points and is
#|   flat. The one of float64 rises for another 4,000 epochs, to some 30 points, and then is flat too. A bracket at
#|   the right end spans the distance between them.
#| fold: "Code: draw the figure"
figure, (panel,) = plots.panels(1, height=3.9)
theirs = (
    evidence.reference("prieto2025/fig02")
    .set_index(["quantity", "series"])
    .sort_index()
)
since = begun[single]
for run in (single, double):
    points = 100 * (run.series(TEST) - run.at(TEST, since))
    moved = [
        points[s].dropna().rename(lambda e, at=since[s]: e - at) for s in run.seeds
    ]
    table = pd.concat(moved, axis=1).sort_index().loc[-2000:16_000]
    table = table.interpolate(limit_area="inside")
    panel.plot(table, lw=0.6, alpha=0.45, color=run.color)
    panel.plot(table.median(axis=1), color=run.color, lw=2.4)
    begin = theirs.loc[("collapse_line", single.arm), "epoch"]
    curve = theirs.loc[("test_accuracy", run.arm)].set_index("epoch").value
    curve = 100 * (curve - curve[begin]).loc[begin : begin + 16_000].iloc[::9]
    plots.paper(panel, curve.index - begin, curve, label="", color=run.color)
panel.axvline(0, color=plots.GREY, ls="--", lw=1)
own = claims.median(line(double)) - claims.median(since)
plots.note(panel, "half of the float64\nlosses are zero too", (own, 27), (7000, -21))
for level, high, run in ((far, 37.5, double), (short, -9.5, single)):
    panel.text(
        16_000, high, f"{run.label} losses: +{level:.0f}", color=run.color, ha="right"
    )
ends = [far, far, short, short]
panel.plot([16_300, 16_900, 16_900, 16_300], ends, color=plots.BLACK, lw=1)
panel.set(
    xlim=(-2600, 17_500),
    ylim=(-22, 41),
    xlabel="epochs since half of the float32 losses are zero",
    ylabel="points of test accuracy gained",
)
panel.set_title(
    f"60 % of sums mod 113, rate {rate:g},\n"
    f"{len(single.seeds)} runs each (with 40 %: no gain)",
    loc="left",
)
panel.set_xticks(range(0, 16_001, 4000))
plots.thousands(panel)
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# **What rounding does.** Once the correct {term}`logit` leads by enough, the sum in the softmax rounds to its largest
# term ({term}`softmax collapse`). Loss and gradient of the correct class are then exactly zero. Float32 collapses at a
# lead of 16.6, float64 at 36.7 ([Figure 3](../prieto2025/fig03_stablemax.ipynb)). The wrong classes keep their
# gradients, so something still moves.

# %% tags=["remove-input"]
patient = [Run(long, f"softmax {bits}") for bits in ("float32", "float64")]
tables.prose(f"""
**The same network in another precision.** Test accuracy nearly stops when half of the losses are zero, in float32 early and in float64
later ([Figure 2](../prieto2025/fig02_softmax_collapse.ipynb)). The table has the gain of both from the epoch at which float32 has
collapsed. It is as wide apart with 70 % of the sums, and under gradient descent, where float32 even loses
([Figure 9](../prieto2025/fig09_sgd_schedule.ipynb)).

**A loss of zero that still teaches.** Where PyTorch's softmax has rounded to 1, the correct class has no gradient. A log-softmax written
by hand has the same loss and keeps the gradient ([Figure 2](../prieto2025/fig02_softmax_collapse.ipynb)). With it and 70 % of the sums every loss is zero
from epoch {told(cleared)} on, and test accuracy rises from {told(kept.at(TEST, cleared), "{:.0%}")} to {told(kept.last(TEST), "{:.0%}")} (runs: {len(kept.seeds)}, on a CPU).

**A second cause: the ε of Adam.** With 70 % of the sums, float64 losses and PyTorch's default of 1e-8, at most {evidence.words(bounded.largest("collapse_float64").max(), "{:.2%}")} of the
samples ever collapse, and still test accuracy ends at {told(bounded.last(TEST), "{:.0%}")} (runs: {len(bounded.seeds)}, on a CPU). With 1e-25 it ends at {told(large[2].last(TEST), "{:.0%}")}.
The gradients become small beside ε, and learning slows before rounding could end it: in the second half of the training
test accuracy rises by {told(100 * (bounded.last(TEST) - bounded.at(TEST, bounded.settings.epochs // 2)), "{:.1f}")} points.

**A loss that cannot collapse.** On a smaller task, all in float64, even the softmax goes on after its collapse, and the
{{term}}`collapse-free cross-entropy` goes on further ([Figure 1](../prieto2025/fig01_headline.ipynb)). So rounding takes a part of the gain,
and not all of it.

**Where it does stop.** On MNIST, with starting weights a hundred times as large, all losses round to zero and test accuracy stands still. Weight decay
undoes the collapse, and the network learns on ([Figure 14](../prieto2025/fig14_mnist.ipynb)).

**Float16 depends on the processor.** A GPU adds in float32 and rounds the result. On it, with 70 % of the sums, never more than
{evidence.words(large[0].largest("zero_loss").max(), "{:.0%}")} of the float16 losses are exactly zero. Still test accuracy stands still in the end, {told(100 * large[0].rise(TEST, since=line(large[0])), "{:.0f}")} points above where
sums in float16 would collapse: gradients underflow. On a CPU nearly all losses become zero, and
test accuracy rises by {told(100 * slow_cpu.rise(TEST, since=line(slow_cpu)), "{:.0f}")} points after half of them are (runs: {len(slow_cpu.seeds)}).

**Where rounding does not decide.** With 40 % of the sums no precision gets beyond {100 * low.max():.1f} % of the test set in
{small[0].settings.epochs:,} epochs, collapsed or not. In longer runs at a larger rate, {patient[0].settings.epochs:,} epochs, float32 ends at
{told(patient[0].last(TEST), "{:.1%}")} (runs: {len(patient[0].seeds)}) and float64 at {told(patient[1].last(TEST), "{:.1%}")} (runs: {len(patient[1].seeds)}).

**Rounding can also move a network.** In Liu et al.'s MLP the gradients that are left bring {{term}}`slingshots <slingshot>`:
training accuracy falls to {told(spiking.smallest("train_accuracy", since=1000), "{:.0%}")} and comes back. With a float64
loss it stays at {told(calm.smallest("train_accuracy", since=1000), "{:.0%}")} ([Question 6](q06_float32.ipynb)).
""")

# %% tags=["remove-input"]
WHERE = {
    single: ("MLP, AdamW, 60 % of the sums", "float32", "float64"),
    large[1]: ("MLP, AdamW, 70 % of the sums", "float32", "float64"),
    slow[1]: ("MLP, gradient descent, 70 %", "float32", "float64"),
    softmax: ("MLP, sums modulo 59", "softmax", "a loss that cannot collapse"),
    still: ("MLP, MNIST, large weights", "float32", "float32 with weight decay"),
}
tables.grid(
    ["Network", "Its loss rounds to zero: points gained", "The other: points gained"],
    [
        [
            where,
            *(
                f"{how}: {told(gain.round(1) + 0.0, '{:+.1f}')}"
                for how, gain in zip(hows, gains[run], strict=True)
            ),
        ]
        for run, (where, *hows) in WHERE.items()
    ],
    caption="Points of test accuracy gained to the end, after the loss in the second "
    "column has collapsed (on MNIST: after the fit). Median and range over runs.",
)

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
# * The runs on the ε of Adam, with a loss that keeps every gradient: if they learn on, ε would not be a cause of its own.
#
# ## What was read
#
# Runs of Prieto et al., [Figure 1](../prieto2025/fig01_headline.ipynb), [Figure 2](../prieto2025/fig02_softmax_collapse.ipynb),
# [Figure 9](../prieto2025/fig09_sgd_schedule.ipynb) and [Figure 14](../prieto2025/fig14_mnist.ipynb), and of Liu et al.,
# [Figure 1](../liu2026/fig01_precision.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
