# %% [markdown]
# # [Question]{.kicker} Does StableMax make networks grok, and why?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import math

import numpy as np

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q03", scale, retrain, device)
TEST, ZERO, ink = "test_accuracy", "zero_loss", plots.COLOUR
plain = page.record("prieto2025/fig01c", arms=("softmax float64",))
control = page.record("prieto2025/fig01control")
full = page.record("prieto2025/fig04left", arms=("addition",))
small = page.record("prieto2025/fig04left", scale=control.scale)
descent = page.record("prieto2025/fig07", arms=("⊥SGD, softmax", "⊥SGD, StableMax"))
inputs = page.record("prieto2025/fig06b", arms=("⊥SGD + softmax",))
block, perp = page.record("prieto2025/fig06a"), page.record("prieto2025/fig01a")
wide = page.record("tiwari2026/remedies", arms=("StableMax",))
smoothed = page.record("prieto2025/fig16", scale=control.scale)
charged = page.record("prieto2025/fig11", scale=smoothed.scale)
text = page.record("prieto2025/tab01language")
SOFT, FREE, STABLE = "softmax", "cannot round", "StableMax"
COLOURS = {SOFT: ink["softmax"], FREE: ink["collapse-free"], STABLE: ink["StableMax"]}
SUBTRACTION = "no-norm, subtraction: "
ARMS = {  # by setting and loss: its record and its arm
    "MLP, sums mod 113,\nAdamW, rate 0.01": {
        SOFT: (plain, "softmax float64"),
        FREE: (plain, "exact CE float64"),
        STABLE: (full, "addition"),
    },
    "MLP, sums mod 59,\nAdamW, rate 0.01": {
        SOFT: (control, "softmax, β2 0.99"),
        FREE: (control, "exact CE, β2 0.99"),
        STABLE: (small, "addition"),
    },
    "MLP, sums mod 113,\ndescent with ⊥Grad": {
        SOFT: (descent, "⊥SGD, softmax"),
        STABLE: (descent, "⊥SGD, StableMax"),
    },
    "transformer,\nAdamW with ⊥Grad": {
        SOFT: (block, f"{SUBTRACTION}⊥AdamW"),
        STABLE: (block, f"{SUBTRACTION}⊥AdamW + StableMax"),
    },
    "MLP, sums mod 97,\nAdamW, rate 0.001": {
        SOFT: (wide, "softmax"),
        FREE: (wide, "exact"),
        STABLE: (wide, "StableMax"),
    },
}
runs = {
    (where, loss): Run(*arm, loss, COLOURS[loss])
    for where, arms in ARMS.items()
    for loss, arm in arms.items()
}
PAPER, LITTLE, DESCENT, BLOCK, WIDE = ARMS
when = {key: run.generalises(accuracy=0.95) for key, run in runs.items()}
ends = {key: 100 * run.last(TEST) for key, run in runs.items()}
zero = {  # largest share of losses that are exactly zero, until it generalises
    key: 100 * run.largest(ZERO, until=when[key]) for key, run in runs.items()
}
# Runs of the tuning of remedies, in which the loss alone differs: same rate, same betas.
TUNED = {"none": SOFT, "collapse-free loss": FREE, "StableMax": STABLE}
RATES, grids = (0.001, 0.003, 0.01, 0.03), {}
for task in ("a", "b", "e"):
    record = page.record(f"remedies/tune-{task}")
    for arm in record.experiment.arms:
        name, rate = arm.name.split(",")[0], arm.optimizer.options["lr"]
        if name in TUNED and rate in RATES and record.seeds(arm.name):
            grids.setdefault((task, TUNED[name], rate), []).append(
                Run(record, arm.name)
            )
alike = {  # test accuracy at the end, by loss and rate, with a β2 of 0.99
    (loss, rate): 100 * run.last(TEST)
    for (task, loss, rate), found in grids.items()
    for run in found
    if task == "b" and run.settings.optimizer.options["betas"][1] == 0.99
}
reached = when[PAPER, STABLE]
paper_rate = runs[PAPER, STABLE].settings.optimizer.options["lr"]
middle = {key: claims.median(values) for key, values in alike.items()}
(parity,) = [
    Run(record, arm.name)
    for record in [page.record("remedies/test-e")]
    for arm in record.experiment.arms
    if arm.name.startswith("StableMax,")
]
finer = page.record("remedies/test2-b")
(again,) = [
    Run(finer, arm.name)
    for arm in finer.experiment.arms
    if arm.name.startswith("StableMax,")
]
assert np.isfinite(parity.onset()).all()
sheet = claims.read(page.name, {})
sheet.box(f"""In some MLPs on addition and on sparse parity it does, at some learning rates; with AdamW it takes long.
StableMax is Prieto et al.'s replacement for softmax; it grows along a line, not exponentially, so
that rounding takes hardly anything from its sums. They say that it makes networks grok without
weight decay where a softmax stops.

With it {len(reached)} of {len(reached)} of their MLPs learned addition
modulo 113, at epoch {claims.median(reached):,.0f} (median). With a softmax in float64, in
a somewhat shorter training with another β2 of Adam, none of {len(ends[PAPER, SOFT])} passed
{math.ceil(ends[PAPER, SOFT].max())} % of the test set. The learning rate was
{paper_rate:g}, the only one tried with AdamW at this size. With gradient descent and ⊥Grad, as
the official code has it, StableMax needs {claims.median(when[DESCENT, STABLE]):,.0f}
epochs; with ⊥Grad as the paper writes it, no run of about that length fits even its training set (not drawn).

The learning rate matters. In a smaller MLP, on sums modulo 97, single runs with StableMax learned the rule at rates of
0.003 and 0.01, with some values of Adam's β2, of which one is drawn, and not with others; at
0.001 none quite did in the training drawn. On sparse parity they did at one rate
of those tried, and on sums modulo 59 at none in the few thousand steps given (not drawn).

It is open what makes StableMax work, and rounding is not all: in this smaller MLP, at a rate
of 0.01 and with the β2 that suits StableMax best, a cross-entropy that cannot round ended at
{middle[FREE, 0.01]:.0f} % of the test set and StableMax at {middle[STABLE, 0.01]:.0f}
%, in single runs.""")

# %% tags=["hide-input"]
#| name: fig-questions-03
#| caption: >
#|   StableMax ends higher than softmax in the five settings drawn, also where no softmax loss is rounded to
#|   zero (in an MLP with AdamW and ⊥Grad, not drawn, it is later than softmax),
#|   and far higher than a cross-entropy that cannot round. Colours are those of (c): StableMax green, softmax
#|   orange, the cross-entropy that cannot round black. (a) Test accuracy at the end of training. Bars are
#|   medians and dots single runs; the words in a bar are the median epoch from which on the network has 95 %.
#|   In the two upper settings the β2 of Adam differs too. Descent is gradient descent with momentum; the
#|   transformer learns subtraction at a rate of 0.001. (b) The largest share of training losses that are
#|   exactly zero, until the network has 95 % of the test set or training ends. (c) A small MLP, addition
#|   modulo 97, at three learning rates: test accuracy at the end of 3,000 steps at most; the loss alone
#|   differs, and Adam's β2 is 0.99. A point is one run, or the median of two. The last setting of (a) is this MLP at a rate of
#|   0.001 too, in a longer training with another β2 of Adam.
#| alt: >
#|   Left: green bars of StableMax reach nearly 100 percent in four settings and 84 in one. Those of softmax end near 0,
#|   20, 23, 91 and 17, those of the loss that cannot round at 0, 35 and 19. Middle: bars of softmax near 100 percent
#|   in three settings, none in the other two. Right: against three learning rates StableMax lies at 89, 98 and 98, the
#|   two others between 10 and 20.
#| fold: "Code: draw the figure"
figure, (right, lost, rate_of) = plots.panels(
    3, height=4.4, gridspec_kw={"width_ratios": [1.25, 0.8, 1.15]}
)
places, at = {}, 0.0
for where, arms in ARMS.items():
    for loss in arms:
        places[where, loss] = at
        at += 1
    at += 0.9
for panel, values in ((right, ends), (lost, zero)):
    for key, y in places.items():
        color, found = runs[key].color, values[key]
        panel.barh(y, claims.median(found), 0.85, color=color, alpha=0.55)
        panel.plot(found, [y] * len(found), "o", ms=3.5, color=color)
    panel.set(ylim=(at - 1.2, -0.8), xlim=(0, 108))
top = next(iter(ARMS))  # its bars are named
for key, epochs in when.items():
    if key[1] == STABLE and math.isfinite(middle_epoch := claims.median(epochs)):
        words = f"epoch {middle_epoch:,.0f}"
        if key[0] == top:
            words = f"{STABLE}, {words}"
        right.text(4, places[key], words, va="center", fontsize=9)
for loss in (loss for loss in (SOFT, FREE) if loss in ARMS[top]):
    right.text(4, places[top, loss], loss, va="center", fontsize=9)
groups = [
    sum(y for (one, _), y in places.items() if one == where) / len(ARMS[where])
    for where in ARMS
]
right.set_yticks(groups, list(ARMS), fontsize=9)
right.set_xlabel("test set right (%)")
lost.set_yticks(groups, list(ARMS), fontsize=9)
lost.tick_params(labelleft=False)
lost.set_xlabel("losses that are zero (%)")
for loss, high in ((STABLE, 84), (FREE, 3), (SOFT, 24)):
    rates = [rate for rate in RATES if (loss, rate) in alike]
    found = [middle[loss, rate] for rate in rates]
    rate_of.plot(rates, found, "o-", color=COLOURS[loss])
    rate_of.text(0.0105, high, loss, color=COLOURS[loss], ha="right")
for loss, shift in ((STABLE, 0), (FREE, -1)):
    level = middle[loss, 0.01]
    rate_of.text(
        0.0113, level + shift, f"{level:.0f}", color=COLOURS[loss], va="center"
    )
rate_of.set(xscale="log", ylim=(0, 103), xlim=(0.0008, 0.0145))
rate_of.set_xticks(RATES[:3], [f"{rate:g}" for rate in RATES[:3]])
rate_of.minorticks_off()
rate_of.set(xlabel="learning rate", ylabel="test set right (%)")
plots.letter((right, lost, rate_of), ["at the end", "rounded", "only the loss differs"])
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# **StableMax changes two things.** It puts a line in place of the exponential. So its sums round far later, in
# float32 at a gap of 8,190 {term}`logits <logit>` and not at 16.6. And its gradient falls with a power of the gap,
# where that of {term}`softmax` falls exponentially ([Figure 3](../prieto2025/fig03_stablemax.ipynb)). A third loss
# separates the two: the {term}`collapse-free cross-entropy` has the shape of softmax and cannot round.

# %% tags=["remove-input"]
once = [
    f"{loss} on {' '.join(where.split())}"
    for (where, loss), run in runs.items()
    if len(run.seeds) == 1
]
own = Run(control, "exact CE")  # with the β2 of StableMax's run
eased, fined, hot = (
    Run(smoothed, "label smoothing 0.2"),
    Run(charged, "logit norm 0.01"),
    Run(smoothed, "temperature 1e5"),
)
written = Run(inputs, "⊥SGD + StableMax, paper's form")
assert math.isinf(written.fitted(accuracy=0.95).min())
aligned = {arm: Run(perp, f"⊥AdamW, {arm}, as run") for arm in ("softmax", "StableMax")}
late = {arm: run.reaches(accuracy=0.95) for arm, run in aligned.items()}
back = aligned["StableMax"].falls_back(accuracy=0.95)
behind = [
    100 * Run(text, f"{arm} CE").last("test_top5") for arm in ("Softmax", "StableMax")
]
show = {key: told(values, "{:.0f}") for key, values in ends.items()}
tables.prose(f"""
**Numerics alone gain something.** On sums modulo 59, all in float64, the loss that cannot round ends at {show[LITTLE, FREE]} % of the
test set and softmax at {show[LITTLE, SOFT]} %. {{term}}`StableMax` gets {show[LITTLE, STABLE]} % there, with another $\\beta_2$. With that $\\beta_2$ the loss that cannot round
stays at {told(own.last(TEST), "{:.1%}")} ([Figure 1](../prieto2025/fig01_headline.ipynb)).

**Shape gains more.** Under gradient descent with {{term}}`⊥Grad <orthogonal gradient>` no softmax loss is rounded to zero, and yet StableMax ends
at {show[DESCENT, STABLE]} % and softmax at {show[DESCENT, SOFT]} %, in {runs[DESCENT, SOFT].settings.epochs} epochs at a learning rate of {runs[DESCENT, SOFT].settings.optimizer.options["lr"]:g}, the only one
([Figure 7](../prieto2025/fig07_loss_surface.ipynb)). This ⊥Grad is that of the official code. With ⊥Grad as the paper writes it StableMax ends
at {told(written.last(TEST), "{:.0%}")}, and does not fit its training set in {written.settings.epochs} epochs ([Figure 6](../prieto2025/fig06_orthogonal_optimizers.ipynb)).
In panel (c), where rate and betas are equal too, it is well ahead at each of three rates. We looked at these runs afterwards; of the test with
all in float64 and more runs the part with StableMax is registered and not trained.

**Why shape may matter.** AdamW cannot follow a gradient that falls exponentially: the gap of a fitted sample comes to widen by
about $-\\frac12 \\ln \\beta_2$ a step, at both learning rates tried. StableMax has no such limit.

**Other losses that keep the gap small do it too,** and sooner, on sums modulo 59. {{term}}`Label smoothing <label smoothing>` generalises at epoch
{told(eased.generalises(accuracy=0.95))}, a penalty on the logits at {told(fined.generalises(accuracy=0.95))}, StableMax at {told(when[LITTLE, STABLE])} (runs: {len(eased.seeds)}, {len(fined.seeds)} and {len(runs[LITTLE, STABLE].seeds)}). At the paper's size an MLP with label
smoothing gets most of the way, and not all. A temperature of 100,000 keeps nearly all losses above zero as well, and ends at {told(hot.last(TEST), "{:.0%}")}
([Figure 16](../prieto2025/fig16_temperature_smoothing.ipynb), [Figure 11](../prieto2025/fig11_alternative_losses.ipynb)).

**It does not always gain.** In an MLP with ⊥Grad and AdamW, StableMax first has 95 % of the test set at epoch {told(late["StableMax"])},
softmax at {told(late["softmax"])}, and {int((back > 0.02).sum())} of {len(back)} runs with StableMax falls back. On text StableMax is
{told(behind[0] - behind[1], "{:.1f}")} points behind after a short training (runs: {len(behind[0])}; [Table 1](../prieto2025/tab01_realistic.ipynb)). And it is slow: in the
1,000 steps that [the comparison of remedies](../remedies/addition.ipynb) gives on sums modulo 59, it does not generalise, where ⊥Grad and weight decay do.

**At which rates.** The table has, for the small MLPs of that comparison, the earliest step at which StableMax generalised with any of its $\\beta_2$.
In a finer tuning, on sums modulo 97 at a rate of {again.settings.optimizer.options["lr"]:g}, {np.isfinite(again.onset()).sum()} of {len(again.seeds)} runs generalise, at step
{told(again.onset())}; on sparse parity {np.isfinite(parity.onset()).sum()} of {len(parity.seeds)} runs of the first tuning do, at {told(parity.onset())}.
Trained only once: {"; ".join(once)}.
""")

# %% tags=["remove-input"]
TASKS = {"a": "sums modulo 59", "b": "sums modulo 97", "e": "sparse parity"}


def earliest(task, rate):
    """When StableMax generalised first at a rate, or how long it was tried."""
    found = grids.get((task, STABLE, rate), [])
    if not found:
        return "not tried"
    best = min(run.onset().min() for run in found)
    length = f"not by {found[0].settings.epochs:,}"
    return f"step {best:,.0f}" if math.isfinite(best) else length


rows = [
    [what, *(earliest(task, rate) for rate in RATES)] for task, what in TASKS.items()
]
at_size = f"epoch {told(reached)}"
rows.append(
    ["sums modulo 113, the paper's MLP", "not tried", "not tried", at_size, "not tried"]
)
tables.grid(
    ["Task", *(f"rate {rate:g}" for rate in RATES)],
    rows,
    caption="Step from which on StableMax has 90 % of the test set right, by learning rate"
    " (AdamW, no weight decay; last row: epoch, 95 %)",
)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q03.md
# ```
#
# ## What would change our mind
#
# * Softmax, the loss that cannot round, and StableMax with one $\beta_2$ and everything in float64, at the paper's size.
#   If the loss that cannot round comes near StableMax there, numerics is the larger part: `grokbook run
#   prieto2025/fig01control --scale paper --device cuda`.
# * Softmax under gradient descent with ⊥Grad for longer, at its own best learning rate. If it reaches 95 %, panel (a)
#   shows a pace there, and not a shape that cannot learn. This is not registered yet.
# * StableMax alone on a transformer: `grokbook run prieto2025/fig04transformer --scale paper --device cuda`. Without a
#   gain there the answer holds for MLPs alone.
#
# ## What was read
#
# Runs of Prieto et al., Figures [1](../prieto2025/fig01_headline.ipynb), [4](../prieto2025/fig04_stablemax_grokking.ipynb),
# [6](../prieto2025/fig06_orthogonal_optimizers.ipynb), [7](../prieto2025/fig07_loss_surface.ipynb),
# [11](../prieto2025/fig11_alternative_losses.ipynb), [16](../prieto2025/fig16_temperature_smoothing.ipynb) and
# [Table 1](../prieto2025/tab01_realistic.ipynb), of [Tiwari's MLP](../tiwari2026/remedies.ipynb), and of the tuning of
# [remedies](../remedies/matrix.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
