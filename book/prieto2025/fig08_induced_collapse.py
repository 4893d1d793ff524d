# %% [markdown]
# # [Prieto et al. 2025 · Figure 8]{.kicker} A network whose correct logits are multiplied by 0 stops learning

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told, words
from grokbook import losses

plots.use_style()
page = evidence.Page("prieto2025/fig08", scale, retrain, device)
record, by_sgd = page.record(), evidence.record("prieto2025/fig08sgd")
TEST, COLLAPSE, GAP = "test_accuracy", "collapse_float64", "mean_gap"
learning = Run(record, "baseline", "undisturbed", plots.COLOUR["collapse-free"])
exact = Run(
    record, "baseline, all float64", "undisturbed, float64", plots.COLOUR["float64"]
)
zeroed = Run(record, "correct logit times 0", "correct logit × 0", plots.RED)
held = Run(record, "correct logit detached", "gradient removed", plots.PURPLE)
equal, halted = (
    Run(by_sgd, arm, f"equal steps, {arm}") for arm in ("baseline", zeroed.arm)
)
begin, end = zeroed.settings.later_loss[0], zeroed.settings.epochs


def change(run, since=begin):
    """Points of test accuracy from an epoch, that of the intervention, to the end."""
    return 100 * (run.last(TEST) - run.at(TEST, since))


def pace(run, since, until):
    """Growth of the mean gap per 1,000 epochs."""
    return 1000 * (run.at(GAP, until) - run.at(GAP, since)) / (until - since)


def gradients(loss, lead):
    """Loss, gradient of a correct logit that leads 112 zeros, and of one of them."""
    z = torch.zeros(1, 113, dtype=torch.float64)
    z[0, 0] = lead
    value = loss(z.requires_grad_(), torch.tensor([0]), dtype=torch.float64)
    value.backward()
    return value.item(), z.grad[0, 0].item(), z.grad[0, 1].item()


pulls = [gradients(losses.softmax_cross_entropy, lead)[1:] for lead in range(42, 101)]
agree = [pull == 0 < push for pull, push in pulls]
counted = learning.first(COLLAPSE, at_least=1)
undisturbed = {run.label: run for run in (learning, exact)}
before, at_end = (begin // 2, 4 * begin // 3), (3 * end // 4, end)
since = halted.settings.later_loss[0]
above = 100 * evidence.difference(learning.last(TEST), zeroed.last(TEST))
found = {
    "stops": (zeroed, change(zeroed)),
    "would-generalise": (learning, change(learning)),
    "stays-fitted": (zeroed, zeroed.smallest("train_accuracy", since=begin)),
    "wrong-classes": claims.exactly(f"{sum(agree)} of {len(agree)} leads", agree),
    "literal": (held, change(held)),
    "would-generalise-float64": (exact, change(exact)),
    "stops-sgd": (halted, change(halted, since)),
    "would-generalise-sgd": (equal, change(equal, since)),
    "later": (learning, change(learning, counted)),
    "pace-before": {
        name: (run, pace(run, *before)) for name, run in undisturbed.items()
    },
    "pace-at-end": {
        name: (run, pace(run, *at_end)) for name, run in undisturbed.items()
    },
}
sheet = claims.read(page.name, found, since=before[0], until=before[1])
after = {
    run: words(claims.median(change(run)), "{:+.1f}")
    for run in (learning, zeroed, exact)
}
wrecked = words(claims.median(held.last(TEST)), "{:.0%}")
kept = int((change(zeroed).abs() <= 2).sum())  # the bounds of the first row
sheet.box(f"""\
Softmax collapse rounds the gradient of the correct class to zero. The paper imitates this by hand, to show that it is
enough to stop learning: from epoch {begin:,} on it multiplies the logit of the correct class, the network's output for
it, by 0.

In our MLP learning ends there too: from then on test accuracy changes by {after[zeroed]} points (median). In
{len(zeroed.seeds) - kept} of {len(zeroed.seeds)} networks it falls by more than the 2 points that we allow for a stop, hence the verdict
"mixed". Undisturbed, it changes by {after[learning]} points (median of {len(learning.seeds)} networks), and by
{after[exact]} where all numbers are float64 (of {len(exact.seeds)} networks).

The paper's sentence speaks of the gradient alone. When we remove
only the gradient of the correct logit, the network does not stop but breaks down: {wrecked} of the test set is right
at the end ({len(held.seeds)} networks).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-08
#| caption: >
#|   Once the correct logit is multiplied by 0 (red), test accuracy rises no more.
#|   Undisturbed (black), it rises on to about epoch 9,000, where rounding in AdamW ends the rise;
#|   with weights, optimiser and loss in float64 it rises to the end. With only the gradient of
#|   the correct logit removed (purple), it breaks down. Solid lines are the test
#|   accuracy of single networks, the one with the authors' seed 42 thick. Dashed lines
#|   are the training accuracy of that seed. The vertical line is the epoch of the
#|   intervention; the points written are the median change of test accuracy from there
#|   to the end. Diamonds are the paper's two curves. Its undisturbed one is that of our
#|   float64 run with the same seed.
#| alt: >
#|   Accuracy against epoch. Test accuracy rises in all runs up to the intervention. From
#|   there the run with the correct logit times 0 and seed 42 stays level near 45 percent,
#|   like the paper's, two other seeds near 35 and 45; the run without its gradient falls to
#|   near zero. The undisturbed runs go on rising to about epoch 9,000, those in float64 to the
#|   end, where the one with seed 42 meets the paper's 88 percent.
#| fold: "Code: draw the figure"
theirs = evidence.reference("prieto2025/fig08").pivot(
    index="epoch", columns="series", values="value"
)
figure, (axes,) = plots.panels(1, height=4.2)
for run in (held, learning, exact, zeroed):
    for place, seed in enumerate(run.seeds):  # the official one, 42, is the first
        table, name = (
            100 * run.series(TEST)[seed].dropna(),
            None if place else run.label,
        )
        axes.plot(
            table.index, table, color=run.color, lw=0.7 if place else 1.8, label=name
        )
    table = 100 * run.series("train_accuracy")[run.seeds[:1]].dropna()
    axes.plot(table.index, table, color=run.color, ls=plots.DASHED)
if record.scale == "paper":
    points, zero = (
        100 * theirs.loc[begin + 1 :, "baseline"],
        100 * theirs["correct logit times 0"],
    )
    plots.paper(axes, points.index, points, label="", color=learning.color)
    plots.paper(axes, zero.index, zero, label="", color=zeroed.color)
    plots.paper(axes, [], [])
for run, y, text in (
    (exact, 88, f"undisturbed,\nfloat64:\n{after[exact]} points"),
    (learning, 62, f"undisturbed:\n{after[learning]} points"),
    (zeroed, 42, f"correct logit × 0:\n{after[zeroed]} points"),
    (held, 3, f"gradient removed:\n{wrecked} right"),
):
    axes.text(1.02 * end, y, text, color=run.color, va="center")
axes.axvline(begin, color=plots.GREY, lw=1.2)
axes.text(begin, 105, "intervention", color=plots.GREY, ha="center")
axes.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(-3, 103))
axes.set(xlim=(0, end), xticks=range(0, end + 1, end // 5))
plots.thousands(axes)
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
start, turn = 100 * learning.at(TEST, begin), 3 * begin // 2
tables.prose(f"""
* **At epoch {begin:,}** the network is learning to generalise: {told(start, "{:.0f}")} % of the test set is right.
* **Correct logit × 0.** From there test accuracy changes by {sheet.told("stops", "{:+.1f}")} points to the end,
  while the training set stays fitted. The undisturbed run of the same seed ends {told(above, "{:.1f}")}
  points higher.
* **Undisturbed**, with the {{term}}`collapse-free cross-entropy`, test accuracy gains
  {sheet.told("would-generalise", "{:.1f}")} points, most of them by epoch {turn:,}. The paper's run goes on to
  {100 * theirs["baseline"].iloc[-1]:.0f} %.
* **Undisturbed, in float64,** it gains {sheet.told("would-generalise-float64", "{:.1f}")} points. The run with the authors' seed
  ends at {100 * exact.last(TEST)[42]:.0f} %, as the paper's does.
* **Only the gradient of the correct logit removed.** The network is wrecked, in each of {len(held.seeds)} runs: 500 epochs later it
  gets {told(held.at("train_accuracy", begin + 500), "{:.1%}")} of its training set right.
""")

# %% [markdown]
# ## The idea
#
# Softmax cross-entropy pulls the correct {term}`logit` up and pushes the others down,
#
# $$
# \frac{\partial \mathcal L}{\partial z_y} = p_y - 1 = - \sum_{k \ne y} p_k , \qquad
# \frac{\partial \mathcal L}{\partial z_k} = p_k ,
# $$
#
# and the two balance. {term}`Softmax collapse` rounds $p_y$ to 1: the push remains, and the
# pull is gone. The paper takes the pull away by hand, with a factor 0 on the correct logit.
# We add a cleaner way, which keeps the value of the logit and drops its gradient.


# %%
def times_zero(z, label):
    """Softmax cross-entropy whose correct logit is multiplied by 0."""
    z = torch.where(torch.arange(len(z)) == label, 0 * z, z)
    return z.logsumexp(0) - z[label]


def without_gradient(z, label):
    """The loss as it is, with no gradient through the correct logit."""
    z = torch.where(torch.arange(len(z)) == label, z.detach(), z)
    return z.logsumexp(0) - z[label]


# %% tags=["hide-input"]
#| fold: "Code: the same numbers from the package, and the table"
rows, known = (
    [],
    (
        ("softmax", losses.softmax_cross_entropy, None),
        ("collapse-free", losses.exact_cross_entropy, None),
        ("correct logit × 0", losses.correct_logit_zeroed, times_zero),
        ("without gradient", losses.correct_logit_detached, without_gradient),
    ),
)
for lead in (10, 45):
    for name, loss, mine in known:
        value, pull, push = gradients(loss, lead)
        if mine:
            z = torch.tensor([lead] + [0.0] * 112, dtype=torch.float64)
            (own := mine(z.requires_grad_(), 0)).backward()
            package = torch.tensor([value, pull, push], dtype=torch.float64)
            torch.testing.assert_close(torch.stack([own, *z.grad[:2]]), package)
        rows.append([f"{lead}", name, *(f"{x:.1e}" for x in (value, pull, push))])
head = ["Lead", "Loss function", "Loss", "Correct logit", "Each other logit"]
tables.grid(
    head, rows, caption="One sample: loss and gradients in float64, 113 classes"
)

# %% [markdown]
# At a lead of 45 a float64 {term}`softmax` has collapsed: no loss, no pull, and a push that
# is still there. The collapse-free loss keeps both.
#
# The two interventions measure the push against different logits. "× 0" compares the wrong logits with a
# fixed 0, so the push ends when they lie well below 0. The second form compares them with the
# correct logit, which shares all weights with them but the last layer's. If all logits sink
# together, softmax does not notice, and the push has no end.

# %% tags=["hide-input"]
#| name: fig-prieto2025-08-collapse
#| caption: >
#|   The measure of collapse is at 100 % in the run that learns. (a) Share of training
#|   samples whose float64 sum of exponentials equals its largest term. (b) Mean gap of
#|   the two largest logits; dashed, where a float64 softmax absorbs; dotted, where the
#|   second moments of AdamW stick in float32. (c) Mean of the largest logit.
#| alt: >
#|   Left: the share counted as collapsed jumps to 100 percent in the undisturbed run soon
#|   after epoch 6,000. With the correct logit times 0 it drops to a few percent.
#|   Middle: the gap of the undisturbed run grows in a straight line across the dashed
#|   line at 36.7 and bends at the dotted one near 50. Right: without its gradient the
#|   largest logit falls to minus ten million and more; times 0 it sinks to minus 30.
#| fold: "Code: draw collapse, gap and logits"
STICKS = -math.log(50 * 2.0**-149) / 2  # exp(-gap) equals the root of that moment
figure, (share, lead, top) = plots.panels(3, height=3.3)
for panel, runs, column in (
    (share, (learning, zeroed), COLLAPSE),
    (lead, (learning, exact), GAP),
    (top, (zeroed, held), "mean_top_logit"),
):
    for run in runs:
        plots.curve(panel, run, column, percent=panel is share)
    panel.axvline(begin, color=plots.GREY, lw=1.2)
    panel.set(xlabel="epoch", xlim=(0, end))
    plots.thousands(panel)
levels = (53 * math.log(2), "--", "softmax absorbs"), (STICKS, ":", "moments stick")
for level, line, name in levels:
    lead.axhline(level, color=plots.GREY, ls=line, lw=1.2)
    lead.text(end, level - 1, name, size=9.5, color=plots.GREY, ha="right", va="top")
share.set(ylabel="counted as collapsed (%)", ylim=(-3, 103))
lead.set(ylabel="mean gap", ylim=(0, None))
top.set_yscale("symlog", linthresh=10)
top.set(ylabel="largest logit", yticks=[100, 0, -100, -1e4, -1e6, -1e8])
handles = share.get_legend_handles_labels()[0] + top.get_legend_handles_labels()[0][1:]
figure.legend(handles=handles, loc="outside upper center", ncols=4)
plots.letter([share, lead, top], ["measured collapse", "gap", "largest logit"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# The paper gives no numbers for this figure; the bounds of 2 and 20 points are ours. Its
# sentence on the gradients is judged in both readings: the factor 0, and the gradient alone, a row
# that was added after its run. Rows that are not run yet are priced under "What was run".

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, by_sgd)

# %% [markdown]
# ## What was run
#
# Where the runs differ from the paper, or had to be guessed. The code is that of the first
# public commit of the
# [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability/tree/740778c),
# of which only names of runs and their plots are left.
#
# 1. *Loss.* The run is called "stable_ce", and that function was never released. We take the
#    {term}`collapse-free cross-entropy` instead. Plain softmax in float64 could not under AdamW: it
#    [stalls by itself](fig02_softmax_collapse.ipynb) with this much data, there at half the
#    learning rate of this page.
# 2. *Betas and eps* are the values that `utils.py` of that commit writes into AdamW. No run
#    name contradicts them.
# 3. *Intervention.* Two forms: the paper's factor 0, and the gradient alone removed.
# 4. *Precision.* Weights and moments are float32 as in the released scripts. Beside them stands an undisturbed
#    run with everything in float64 and an eps of 1e-150, added to see where that network ends.
# 5. *Another set-up* has the run names of the [last notebook](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability/tree/0cc9e8d):
#    70 % of the pairs, a float64 softmax, gradient descent in equal steps (`fig08sgd`). Undisturbed it was
#    trained on a GPU. With the factor 0 it was trained on a CPU, with the same seeds: on a GPU its numbers became NaN.
#
# ## Reading the result
#
# **Where we agree.** With the correct logits multiplied by 0 the network learns nothing more, though its
# training set stays fitted. It rather forgets: in most seeds test accuracy falls by more than our bound of
# 2 points. So this intervention ends the learning. It takes the pull on the correct class away, and it gives
# the push on the others an end.
#
# **What the 0 does.** The paper words the experiment as "setting the gradients from the correct classes to
# zero". Taken literally, that does not halt the network but wrecks it. The quiet stop needs the 0
# in place of the logit. A collapsed sample has the gradients of the second form, not of the first. So the
# figure does not show what a collapsed network does.
#
# **Where the undisturbed run ends.** The {term}`gap` grows at a pace that [AdamW itself sets](fig01_headline.ipynb).
# Near a gap of 50 the pace falls, in every seed. AdamW divides by the root of its second moment, a float32
# average of squared gradients. That average falls to 50 times the smallest float32 number, $2^{-149}$, and
# sticks: 0.99 times 50 is 49.5, which rounds to 50. A gradient of $e^{-\Delta}$ meets its root at
# $\Delta = 49.7$, the dotted line of panel (b). So rounding in our own optimiser ends this run, and no
# collapse of the loss. In float64 nothing sticks: the gap grows in a straight line and test accuracy rises to the
# end. Our float64 run with seed 42 lies on the paper's curve, so the paper's undisturbed run may have been one in float64.

# %% tags=["remove-input"]
official, paper = (
    start.get(42, start.iloc[0]),
    100 * theirs["correct logit times 0"].loc[6000],
)
tables.prose(f"""
**In another set-up the undisturbed network learns on.** With 70 % of the pairs and gradient descent in equal
steps, test accuracy gains {sheet.told("would-generalise-sgd", "{:.0f}")} points from epoch {since:,} and ends at
{told(equal.last(TEST), "{:.0%}")}, on a GPU. By then
{told(equal.last(COLLAPSE), "{:.1%}")} of the samples have collapsed. With the factor 0, on a CPU, test accuracy rises no more either: from that epoch it goes
from {told(halted.at(TEST, since), "{:.0%}")} to {told(halted.last(TEST), "{:.0%}")}. So the factor ends the learning here too, and costs more than our
bound of 2 points for a stop.

**Seeds differ widely.** At epoch {begin:,} the official seed, 42, is at {official:.1f} %, and the paper's plot at
{paper:.1f} %. Our seeds there run from {start.min():.0f} to {start.max():.0f} %.

**What "collapsed" means.** The measure is a property of logits and precision. It means "no gradient" only
where the loss is a plain softmax in that precision. Here it is at {told(learning.last(COLLAPSE), "{:.0%}")} in a
network that learns. It is at {told(zeroed.last(COLLAPSE), "{:.0%}")} in one that learns nothing, though its own loss is
exactly zero on {told(zeroed.last("zero_loss"), "{:.0%}")} of its samples.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-08-stick
# Show that a second moment without gradients does not fall to zero in float32. Where does it
# stop, in units of the smallest float32 number?
# ```
#
# ````{solution} ex-prieto2025-08-stick
# :class: dropdown
# 0.99 times 50 is 49.5, which lies between two whole numbers and rounds back to 50:
#
# ```python
# import torch
# moment = torch.tensor([1e-40])
# for _ in range(5000):
#     moment = 0.99 * moment
# print(f"{float(moment) / 2**-149:.0f} units, its root {float(moment) ** 0.5:.1e}")
# ```
#
# Gradients smaller than that root are divided by it all the same, and the steps shrink with
# them: gradient descent with {term}`absorption`, one level below the loss.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-08-scale
# Multiply the collapse-free loss by $2^{60}$. What changes for AdamW in exact arithmetic,
# and what in float32?
# ```
#
# ```{solution} ex-prieto2025-08-scale
# :class: dropdown
# In exact arithmetic nothing but eps, which is far too small to matter: both moments
# grow by the same factor. In float32 the squares leave the range where they stick. The run
# goes on until the gap has grown by another $60 \ln 2 = 41.6$.
# ```
#
# ```{exercise}
# :label: ex-prieto2025-08-zero
# "× 0" can itself run out of gradient. How far below 0 must 112 equal wrong logits be for
# its float64 loss to be exactly zero? What does that say about the network's answer?
# ```
#
# ````{solution} ex-prieto2025-08-zero
# :class: dropdown
# The loss sees $z_y = 0$, so the sum of the others has to be absorbed by 1:
#
# ```python
# import torch
# from grokbook.losses import correct_logit_zeroed
# for depth in (36.0, 39.0, 39.5, 42.0):
#     z = torch.full((1, 113), -depth, dtype=torch.float64)
#     print(depth, float(correct_logit_zeroed(z, torch.tensor([0]))))
# ```
#
# Rounded once, at the end, the sum is 1 from a depth of $53 \ln 2 + \ln 112 = 41.5$ on. The
# package's loss is 0 from about 39.5 on. It adds in groups, and the group that holds the 1
# rounds small terms away before they have added up. It says nothing about the answer: the
# real $z_y$ does not enter, and may even be below the others.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-08-sgd
# Would the collapse-free loss keep plain gradient descent going as well?
# ```
#
# ```{solution} ex-prieto2025-08-sgd
# :class: dropdown
# Not for long. Its gradient is right, and at a lead of 37 it is about $10^{-16}$: no
# learning rate of this book moves a weight with that. A loss without collapse needs an
# optimiser that looks at directions, such as AdamW or the normalised steps of
# [Figure 9](fig09_sgd_schedule.ipynb).
# ```
#
# ## Run it yourself
#
# Half of the epochs, the intervention at 4,000, and one seed: about 80 minutes on one core.
#
# ```bash
# make page PAGE=prieto2025/fig08 SCALE=laptop
# ```
