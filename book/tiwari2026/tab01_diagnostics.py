# %% [markdown]
# # [Tiwari et al. 2026 · Table 1]{.kicker} With a weight decay of 1, networks that generalise are about as flat with the penalty as without it

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import numpy as np
import torch
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, finished, told
from grokbook import metrics

plots.use_style()
page = evidence.Page("tiwari2026/tab01", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
free, decay, push = runs = [
    Run(record, n, n, plots.COLOUR[n]) for n in ("baseline", "strong decay", "penalty")
]
wide = page.record("fig01", scale="paper" if scale == "laptop" else scale)
large, bare = (
    Run(wide, n, f"{n}, width 512", plots.COLOUR[n]) for n in ("penalty", "baseline")
)
# networks of the paper's width with other penalties
grokking = page.record("groks", scale="paper" if scale == "laptop" else scale)
strong, strong_push, quarter = (
    Run(grokking, name, f"{name}, width 512")
    for name in ("decay 1", "penalty, decay 1", "penalty, radius 0.25 √d")
)
TRAIN, TEST, FISHER = "train_trace", "test_trace", "train_fisher_trace"
# all after the ReLU: what, its reading, whether the paper has it larger with the penalty, the paper's two
SINGULAR, RANK = (52_000, 36.5), (135, 443)
QUANTITIES = {
    **{
        f"largest mode, layer {n}": (
            (f"largest_mode.hidden.{n - 1}",),
            True,
            (1.2, 4.8),
        )
        for n in (1, 2)
    },
    **{
        f"σ₁, layer {n}, all pairs": (
            (f"largest_singular.hidden.{n - 1}",),
            False,
            SINGULAR,
        )
        for n in (1, 2)
    },
    "σ₁, layer 2, 256 rows": (("largest_singular_256.hidden.1",), False, SINGULAR),
    **{
        f"stable rank, layer {n}, 256 rows": (
            (f"stable_rank_256.hidden.{n - 1}",),
            True,
            RANK,
        )
        for n in (1, 2)
    },
    **{
        f"effective rank, layer {n}, all pairs": (
            (f"effective_rank.hidden.{n - 1}",),
            True,
            RANK,
        )
        for n in (1, 2)
    },
    "Hessian trace, training pairs": ((TRAIN,), False, (42.5, 1.4)),
    "Hessian trace, test pairs": ((TEST,), False, (42.5, 1.4)),
    "trace / |θ|, training pairs": ((TRAIN, "weight_norm"), False, (0.18, 0.004)),
    "trace / |θ|², training pairs": ((TRAIN, "weight_norm", 2), False, (0.18, 0.004)),
}


def last(run, column, over=None, power=1):
    """A column at a member's end, over a power of another one."""
    return run.last(column) / (run.last(over) ** power if over else 1)


def gain(name, other=free, one=push):
    """How many times better, in the paper's sense, the penalty is than another arm."""
    how, is_larger, _ = QUANTITIES[name]
    both = last(one, *how), last(other, *how)
    return evidence.ratio(*both) if is_larger else evidence.ratio(*both[::-1])


def gain_of_grokking(name, other, one):
    """`gain` by seed, of those with which the network with the penalty generalises."""
    onset = one.onset()
    came = onset.index[onset < np.inf]
    if came.empty:  # no run without the penalty need then have what is compared
        return Series(dtype=float)
    return gain(name, other, one).reindex(came)


GAINS = {
    "trace": "Hessian trace, training pairs",
    "sharpness": "trace / |θ|, training pairs",
    "singular": "σ₁, layer 2, all pairs",
    "stable-rank": "stable rank, layer 2, 256 rows",
    "effective-rank": "effective rank, layer 2, all pairs",
    "mode": "largest mode, layer 2",
}
# the first log at which the median unit of the second layer has R² above 0.9
coherent = {run: run.first("coherence.hidden.1", above=0.9) for run in runs}
ranks, implied = (135, 402, 378, 400, 443), 256 * 512 / SINGULAR[1] ** 2
first = push.at(FISHER, 0) / push.at(TRAIN, 0)
kept = {
    n: [run.last(f"stable_rank.hidden.{n - 1}") for run in (large, bare)]
    for n in (1, 2)
}
found = (
    {id: ([push, free], finished(gain(name), push)) for id, name in GAINS.items()}
    | {
        "trace-decay-1": (
            [strong_push, strong],
            gain_of_grokking(GAINS["trace"], strong, strong_push),
        ),
        "singular-decay-1": (
            [strong_push, strong],
            gain_of_grokking(GAINS["singular"], strong, strong_push),
        ),
        "effective-rank-decay-1": (
            [strong_push, strong],
            gain_of_grokking(GAINS["effective-rank"], strong, strong_push),
        ),
        "mode-decay-1": (
            [strong_push, strong],
            gain_of_grokking(GAINS["mode"], strong, strong_push),
        ),
        "trace-quarter": (
            [quarter, bare],
            gain_of_grokking(GAINS["trace"], bare, quarter),
        ),
        "singular-quarter": (
            [quarter, bare],
            gain_of_grokking(GAINS["singular"], bare, quarter),
        ),
        "effective-rank-quarter": (
            [quarter, bare],
            gain_of_grokking(GAINS["effective-rank"], bare, quarter),
        ),
        "mode-quarter": (
            [quarter, bare],
            gain_of_grokking(GAINS["mode"], bare, quarter),
        ),
    }
    | {
        "coherence-ratio": (
            [push, free],
            finished(evidence.times(coherent[free], coherent[push]), push),
        ),
        "preserved": {
            f"layer {n}": ([large, bare], evidence.ratio(*two))
            for n, two in kept.items()
        },
        "wide": {
            name: ([large, bare], gain(name, bare, large)) for name in GAINS.values()
        },
        "coherent": (push, finished(coherent[push], push)),
        "coherent-baseline": (free, coherent[free]),
        "fisher": (push, finished(last(push, FISHER, TRAIN), push)),
        "possible": claims.exactly(
            ", ".join(map(str, ranks)), [rank <= 256 for rank in ranks]
        ),
        "implied": claims.exactly(f"{implied:.0f}", [abs(implied - 443) < 1]),
        "over-loss": {run.label: (run, last(run, TRAIN, "train_loss")) for run in runs},
    }
)
sizes = [r.settings.model.options["widths"][0] for r in (push, large)]
sheet = claims.read(page.name, found, width=sizes[0], wide=sizes[1])
FIVE = {  # quantity, in words, of the first figure
    "Hessian trace, training pairs": "Hessian trace\n(smaller)",
    "trace / |θ|, training pairs": "trace over weight norm\n(smaller)",
    "σ₁, layer 2, all pairs": "largest singular value\n(smaller)",
    "effective rank, layer 2, all pairs": "effective rank\n(larger)",
    "largest mode, layer 2": "largest Fourier mode\n(larger)",
}
lead = {name: claims.median(gain(name)) for name in FIVE}
# the same of networks of the paper's width that generalise, both with a decay of 1
late = {
    name: claims.median(gain_of_grokking(name, strong, strong_push)) for name in FIVE
}


def printed_lead(name):
    """How many times better the paper has the penalty than the baseline."""
    _, is_larger, (bare, pushed) = QUANTITIES[name]
    return pushed / bare if is_larger else bare / pushed


flat = "Hessian trace, training pairs"
sheet.box(
    f"""The paper says that its penalty leads to flatter minima: the Hessian trace, the sum of all curvatures of the
loss, is {printed_lead(flat):.0f} times smaller with it than in the baseline, which has no penalty. It says this of networks that have
generalised. With the penalty and the paper's own decay ours do not, so that the sentence itself cannot be tested.

With a weight decay of 1, a thousand times that of the paper, MLPs of its width generalise with the penalty and without it,
in {len(strong_push.seeds)} runs each. When they end, the two are about equally flat on the training pairs: where the paper's ratio is
{printed_lead(flat):.0f}, ours is {late[flat]:.1f}. They end at different training losses, though, and the trace goes with
the loss (see below).

The last three quantities of the figure go against the paper there: with the penalty the largest singular value is
larger, and rank and largest Fourier mode are smaller.""",
    runs=[strong, strong_push],
)

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab01
#| caption: >
#|   The paper has the penalty far ahead; networks of ours that generalise are about as flat with it
#|   as without it, and have worse spectra. Each row is one quantity at the end of training; the word
#|   in brackets says what the paper calls better. The last three are of the activations of layer 2.
#|   Diamonds are the paper's ratios of networks without the penalty and with it. Squares are ours
#|   beside a weight decay of 1, where both kinds generalise (width 512). Dots are ours as the paper
#|   describes them, of which neither kind has generalised (width 128). Each is the median of the
#|   runs. Right of the line the penalty is better.
#| alt: >
#|   Five rows on a logarithmic axis. The paper's diamonds lie at 3 to 1,400, all on the right. Our
#|   squares lie near 1 for the two curvatures, and left of 1 for the three spectra. Our dots lie
#|   between 0.2 and 4, two on the right and three on the left.
#| fold: "Code: draw the figure"
figure, (panel,) = plots.panels(1, height=3.8)
INK, DARK = plots.COLOUR["penalty"], plots.BLACK
for row, name in enumerate(FIVE):
    there, here = printed_lead(name), lead[name]
    plots.paper(panel, there, row, label="")
    panel.plot(here, row, "o", color=INK, ms=6, alpha=0.5)
    panel.plot(late[name], row, "s", color=DARK, ms=8)
    panel.text(there, row - 0.2, f"{there:,.0f}", ha="center", fontsize=9)
    words, blank = f"{late[name]:.1f}", {"fc": "white", "ec": "none", "pad": 0.5}
    panel.text(late[name], row - 0.2, words, color=DARK, ha="center", bbox=blank)
panel.axvline(1, color=plots.GREY, lw=1)
words = ("worse", "better")
for x, word, side in zip((0.93, 1.08), words, ("right", "left"), strict=True):
    panel.text(x, -0.75, word, color=plots.GREY, ha=side, fontsize=9)
panel.set(ylim=(len(FIVE) - 0.5, -1), xscale="log", xlim=(0.1, 3000))
panel.set_yticks(range(len(FIVE)), FIVE.values())
panel.set_xlabel("times better with penalty")
panel.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
plots.paper(panel, [], [])
panel.plot([], [], "s", color=DARK, ms=8, label="here, generalised")
panel.plot([], [], "o", color=INK, ms=6, alpha=0.5, label="here, not generalised")
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Training pairs.** The baseline, which does not generalise, ends flatter than a network with the penalty: its
  {{term}}`Hessian trace` is {told(last(free, TRAIN), "{:.4f}")} against {told(last(push, TRAIN), "{:.4f}")}.
* **Test pairs.** Strong decay, which generalises, ends with a trace of {told(last(decay, TEST))}. With the penalty it
  is {told(last(push, TEST))}.
* **Rank.** With the penalty the {{term}}`effective rank` is higher than in the baseline in layer 2, and lower in layer 1.
* **The empirical Fisher** has {told(first, "{:.2f}")} times the trace of the Hessian at the start. At the end its trace is
  {told(last(push, TRAIN, FISHER) / 1e6, "{:.1f}")} million times smaller.
""")

# %% [markdown]
# ## The idea
#
# *Rank.* A matrix $A$ of $B$ rows has at most $B$ singular values $\sigma_i$, and so a
# {term}`stable rank` of at most $B$,
#
# $$
# s(A) = \frac{\sum_i \sigma_i^2}{\sigma_1^2} = \frac{|A|_F^2}{\sigma_1^2}
# = \frac{B \cdot 512}{\sigma_1^2} \quad \text{if all rows have length } \sqrt{512} .
# $$
#
# So any two of $B$, $\sigma_1$ and $s$ give the third:


# %%
def stable_rank(rows, largest, length_squared=512):
    """Of a matrix whose rows all have the same length."""
    return rows * length_squared / largest**2


torch.manual_seed(0)
noise = (
    torch.nn.functional.normalize(torch.randn(256, 512, dtype=torch.float64)) * 512**0.5
)
sizes = torch.linalg.svdvals(noise)
assert (
    abs(stable_rank(256, float(sizes[0])) - float(metrics.stable_rank(sizes**2))) < 1e-6
)
print(
    f"256 rows with the printed largest value 36.5: stable rank {stable_rank(256, 36.5):.0f}"
)
print(
    f"256 rows of noise: largest value {sizes[0]:.1f}, stable rank {stable_rank(256, sizes[0]):.0f}"
)

# %% [markdown]
# The paper prints 36.5 and 443. Even noise, with no structure at all, stays far below 443, and its
# largest singular value is above 36.5. Activations of a circuit are hardly flatter than noise, and
# 256 rows have no rank above 256. The printed pair needs another definition or more rows.
#
# *Trace.* Let a pair have the probability $1 - \epsilon$ for its class. Then its loss is
# $\epsilon$, nearly. The curvature of the loss in its logits is $1 - \sum_k p_k^2 \approx 2
# \epsilon$. So on fitted pairs the trace is the loss times the size of the Jacobian, and
# whoever trains longer is *flatter*.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab01-trace
#| caption: >
#|   On training pairs flatness follows the training loss. (a) There the exact Hessian trace rises
#|   while they are learned and then falls, for every method. Dotted: the paper's 42.5 (baseline) and 1.4 (penalty).
#|   (b) On test pairs it falls only as a network generalises. Where a run has ended, the line
#|   is that of the others. (c) The trace of (a) against the training loss, start left out.
#| alt: >
#|   Left: three curves rise to about 20 by epoch 1,000 and then fall by more than three
#|   orders of magnitude. Middle: the curve of strong decay
#|   falls from above 1,000 to tens, the others stay above 1,000. Right: all points lie near
#|   one rising line on logarithmic axes, within a factor of about four.
#| fold: "Code: draw the trace"
figure, axes = plots.panels(3, height=3.1)
for run in runs:
    plots.curve(axes[0], run, TRAIN)
    plots.curve(axes[1], run, TEST, label="")
    trace = run.series(TRAIN).dropna(how="all").iloc[1:]
    loss = run.series("train_loss").reindex(trace.index)
    axes[2].plot(loss, trace, "o", ms=3.5, color=run.color, alpha=0.7)
axes[0].hlines((42.5, 1.4), 0, push.settings.epochs, color=plots.GREY, ls=":", lw=1.2)
for panel in axes[:2]:
    plots.thousands(panel)
    panel.set(yscale="log", xlabel="epoch", xlim=(0, push.settings.epochs))
axes[0].set_ylabel("Hessian trace")
axes[2].set(xscale="log", yscale="log", xlabel="training loss")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter(axes, ["training pairs", "test pairs", "against the loss"])
plots.show(figure)

# %% tags=["hide-input"]
#| fold: "Code: the table with the paper's numbers"
head = [
    "Quantity",
    "Paper: baseline",
    "Paper: penalty",
    *(f"Here: {run.label}" for run in runs),
]
body = []
for name, (how, _, printed) in QUANTITIES.items():
    ours = [last(run, *how) for run in runs]
    cells = [told(one, "{:,.0f}" if one.min() >= 100 else "{:.3g}") for one in ours]
    body.append([name, *map(tables.html.number, printed), *cells])
body.append(
    ["epoch of coherence, layer 2", "34,200", "2,460", *map(told, coherent.values())]
)
tables.grid(head, body)

# %% [markdown]
# ## The claims
#
# The paper's table is of networks that generalised. A seed of ours whose penalised network has
# no {term}`onset` is no test of it; its numbers are in the table above. So the rows on a decay of 1 were
# registered beside the literal ones, before they were trained.
#
# "At the end" is a run's own last epoch: at 99.9 % test accuracy, or at the last one that
# was planned. The bounds are weaker than the printed ratios (30, 45, 1,400, 3.3 and 4).

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, wide, grokking)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512, 60 % of the pairs, 15,000 epochs of 100,000.
#    At the paper's width the runs of [Figure 1](fig01_accuracy_curves.ipynb) end after 8,000
#    epochs, before strong decay generalises. So this page reads the smaller and longer runs.
#    It measures six quantities and Proposition A.3 at the paper's width too. At that width a target
#    of √d/4 does not generalise within 8,000 epochs, so that no run can test its rows.
# 2. *The paper's numbers.* The text that we have lacks the body of Table 1. Its entries are
#    those that a [public review](https://github.com/kraidiky/grokking-conceptual-review) quotes.
#    Tables 2 and 4 print rank and trace too.
# 3. *Trace.* Exact and of the loss alone. The paper estimates it
#    ([Table 8](tab08_hutchinson.ipynb)) and does not say on which pairs, or when.
# 4. *"Normalized sharpness".* Its formula is lost. Two readings are in the table.
# 5. *Rank and largest singular value.* The paper does not state layer, rows, before or after the
#    ReLU. The table has several readings, all after the ReLU.
# 6. *Largest mode.* Of units and of all Fourier modes of a layer, constant left out, times $p$.
#    The paper's transform is not known, so we can compare only the ratio.

# %% [markdown]
# ## Reading the result
#
# **Flat where?** On the training pairs the trace goes with the loss, panel (c) of the second figure. A network that
# has only learned its pairs by heart ends as flat as one that generalises, or flatter. A trace
# of 42.5 at 100,000 epochs would need a training loss that did not vanish. On the test pairs
# flatness is not a cause of generalising but nearly the same thing, by the same argument.

# %% tags=["remove-input"]
shared = [told(last(run, "shared_direction.pre.0"), "{:.0%}") for run in (push, free)]
tables.prose(f"""
**The penalty with a decay of 1.** Here {len(strong_push.seeds)} networks with the penalty can be compared with as many without it,
since all of them generalise: without the penalty at epoch {told(strong.onset())}, with it at {told(strong_push.onset())}. The
penalty makes none of the five quantities of the first figure clearly better there, and it takes time. The two end at
different training losses, {told(strong.last("train_loss"), "{:.1e}")} without it and {told(strong_push.last("train_loss"), "{:.1e}")} with it, and the trace
goes with the loss: over the loss it is {told(last(strong, TRAIN, "train_loss"))} without and {told(last(strong_push, TRAIN, "train_loss"))} with it.

**A rank that depends on the layer.** In layer 1 the penalty acts outward, and a bias
vector is the cheapest way to follow it. One direction that all rows share has
{shared[0]} of their squared {{term}}`radius`, against {shared[1]}. So the rank falls there,
and one printed number for "the" rank says little.

**At the paper's width** no network generalises in the {large.settings.epochs:,} epochs that we ran. The penalty is no
flatter there: the baseline has {sheet.told("wide Hessian trace, training pairs")} times its trace. Proposition A.3 says that the
penalty preserves the stable rank. In layer 2 it raises it, to {sheet.told("preserved layer 2")} times the baseline's. In
layer 1 it lowers it, to {sheet.told("preserved layer 1")} times.
""")

# %% [markdown]
# **Fisher is not Hessian** on fitted pairs. For one pair the Fisher has $(1 - p)^2$ where the
# Hessian has $p (1 - p)$. With $1 - p = \epsilon$ the first is $\epsilon^2$, the second
# $\epsilon$. The approximation that the paper's Proposition 4.3 begins with is off by about
# the loss itself.
#
# **The table against the rest of the paper.** It has the baseline coherent at epoch 34,200.
# Appendix C.1 says that it never is, and Table 2 that it never groks. The epoch of coherence
# with the penalty, 2,460, is that of its {term}`onset` to the digit.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab01-rank
# For which numbers of rows is a largest singular value of 36.5 possible at all, if the
# rows have 512 entries and length $\sqrt{512}$?
# ```
#
# ````{solution} ex-tiwari2026-tab01-rank
# :class: dropdown
# The squares of at most $\min(B, 512)$ singular values add up to $512 B$, so the largest is
# at least $512 B / \min(B, 512)$:
#
# ```python
# def least(rows):
#     return (512 * rows / min(rows, 512)) ** 0.5
# for rows in (256, 512, 1332, 1333, 9409):
#     print(f"{rows:,} rows: at least {least(rows):.1f}")
# ```
#
# Up to 1,332 rows. Of all 9,409 pairs it is impossible.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab01-sharpness
# What divides the printed traces, 42.5 and 1.4, to give the printed sharpness, 0.18 and 0.004?
# Could it be the norm of the weights? Its square?
# ```
#
# ````{solution} ex-tiwari2026-tab01-sharpness
# :class: dropdown
# ```python
# print(f"{42.5 / 0.18:.0f} and {1.4 / 0.0045:.0f} to {1.4 / 0.0035:.0f}")
# ```
#
# About 240 and 310 to 400. The norm of our weights is of the order of 100, and a width of 512
# has more of them. Its square would be 10,000 and more.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab01-loss
# How would you compare the curvature of two networks whose training losses differ tenfold?
# ```
#
# ```{solution} ex-tiwari2026-tab01-loss
# :class: dropdown
# At equal loss, or divided by it: trace over loss is the squared size of the Jacobian along
# the fitted pairs. The measurements beyond the paper have it for all methods.
# ```

# %% [markdown]
# ## Run it yourself
#
# The runs are those of [Figure 1](fig01_accuracy_curves.ipynb): three methods at width 128,
# one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab01 SCALE=laptop
# ```
