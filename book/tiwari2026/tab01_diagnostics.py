# %% [markdown]
# # [Tiwari et al. 2026 · Table 1]{.kicker} The Hessian trace falls with the training loss, whoever generalises

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import torch

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("tiwari2026/tab01", scale, retrain, device)
record = page.record("fig01", arms=("penalty",))
ARMS = ("baseline", "strong decay", "penalty")
free, decay, push = runs = [Run(record, n, n, plots.COLOUR[n]) for n in ARMS]
wide = page.record("fig01", scale="paper" if scale == "laptop" else scale)
large, bare = (Run(wide, n, f"{n}, width 512", plots.COLOUR[n]) for n in ("penalty", "baseline"))
width = push.settings.model.options["widths"][-1]
TRAIN, TEST, FISHER = "train_trace", "test_trace", "train_fisher_trace"
SHARED = "shared_direction.pre.0"
LAST = "hidden.1"  # the second layer after its ReLU
# what, its reading, whether the paper has it larger with the penalty, the paper's two
SINGULAR, RANK = (52_000, 36.5), (135, 443)
QUANTITIES = {
    "largest mode, layer 1": (("largest_mode.hidden.0",), True, (1.2, 4.8)),
    "largest mode, layer 2": ((f"largest_mode.{LAST}",), True, (1.2, 4.8)),
    "σ₁, layer 1, all pairs": (("largest_singular.hidden.0",), False, SINGULAR),
    "σ₁, layer 2, all pairs": ((f"largest_singular.{LAST}",), False, SINGULAR),
    "σ₁, layer 2, 256 rows": ((f"largest_singular_256.{LAST}",), False, SINGULAR),
    "stable rank, layer 1, 256 rows": (("stable_rank_256.hidden.0",), True, RANK),
    "stable rank, layer 2, 256 rows": ((f"stable_rank_256.{LAST}",), True, RANK),
    "effective rank, layer 1, all pairs": (("effective_rank.hidden.0",), True, RANK),
    "effective rank, layer 2, all pairs": ((f"effective_rank.{LAST}",), True, RANK),
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


def coherent(run):
    """First log at which the median unit of the second layer has R² above 0.9."""
    return run.first(f"coherence.{LAST}", above=0.9)


GAINS = {
    "trace": "Hessian trace, training pairs",
    "sharpness": "trace / |θ|, training pairs",
    "singular": "σ₁, layer 2, all pairs",
    "stable-rank": "stable rank, layer 2, 256 rows",
    "effective-rank": "effective rank, layer 2, all pairs",
    "mode": "largest mode, layer 2",
}
ranks = (135, 402, 378, 400, 443)
implied = 256 * 512 / SINGULAR[1] ** 2
first = push.at(FISHER, 0) / push.at(TRAIN, 0)
tested = {id: evidence.finished(gain(name), push) for id, name in GAINS.items()}
found = {id: ([push, free], value) for id, value in tested.items()} | {
    "coherence-ratio": (
        [push, free],
        evidence.finished(evidence.times(coherent(free), coherent(push)), push),
    ),
    "preserved": {
        f"layer {n}": ([large, bare], evidence.ratio(*(r.last(f"stable_rank.hidden.{n - 1}") for r in (large, bare))))
        for n in (1, 2)
    },
    "wide": {name: ([large, bare], gain(name, bare, large)) for name in GAINS.values()},
    "coherent": (push, evidence.finished(coherent(push), push)),
    "coherent-baseline": (free, coherent(free)),
    "fisher": (push, evidence.finished(last(push, FISHER, TRAIN), push)),
    "possible": claims.exactly(", ".join(map(str, ranks)), [rank <= 256 for rank in ranks]),
    "implied": claims.exactly(f"{implied:.0f}", [abs(implied - 443) < 1]),
    "test-trace": {run.label: (run, last(run, TEST)) for run in runs},
    "over-loss": {run.label: (run, last(run, TRAIN, "train_loss")) for run in runs},
    "loss": {run.label: (run, last(run, "train_loss")) for run in runs},
    "first": (push, first),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab01
#| caption: >
#|   How many times the penalty is ahead in each quantity of Table 1, in the direction that
#|   the paper gives; left of the line it is behind. Dots: median of the seeds that both arms
#|   have, at a member's end. Diamonds: the paper, against its baseline.
#| alt: >
#|   Thirteen rows on a logarithmic axis. The paper's diamonds lie at 3 to 1,400, all on the
#|   right. Most of our marks lie within a factor of ten of 1, on both sides. The Hessian
#|   trace favours the other arms, most of all strong decay on the test pairs.
#| fold: "Code: draw the figure"
figure, (panel,) = plots.panels(1, height=4.9)
rows = {name: place for place, name in enumerate(QUANTITIES)}
for other, mark in ((decay, "s"), (free, "o")):
    middle = [gain(name, other).median() for name in rows]
    panel.plot(middle, list(rows.values()), mark, color=other.color, label=f"over {other.label}")
times = [(b / a if is_larger else a / b) for _, is_larger, (a, b) in QUANTITIES.values()]
plots.paper(panel, times, list(rows.values()))
panel.axvline(1, color=plots.GREY, lw=1)
panel.set(xscale="log", xlabel="times ahead", ylim=(len(rows) - 0.5, -0.5))
panel.set_yticks(list(rows.values()), list(rows))
panel.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Training pairs.** The {{term}}`Hessian trace` of the baseline is
  {told(gain("Hessian trace, training pairs"), "{:.2f}")} times that with the penalty; the
  paper has 30. It is {told(last(free, TRAIN), "{:.4f}")} against
  {told(last(push, TRAIN), "{:.4f}")}, and the paper's are 42.5 and 1.4.
* **Test pairs.** There it is {told(last(free, TEST))} against {told(last(push, TEST))}.
* **Strong decay** ends with {told(last(decay, TEST))} on the test pairs. It is the arm
  with a test accuracy of {told(last(decay, "test_accuracy"), "{:.1%}")}; the penalty's is
  {told(last(push, "test_accuracy"), "{:.1%}")}.
* **Rank.** On 256 rows the {{term}}`stable rank` with the penalty is
  {told(last(push, f"stable_rank_256.{LAST}"), "{:.1f}")} and the {{term}}`effective rank` on all
  pairs {told(last(push, f"effective_rank.{LAST}"), "{:.0f}")}, of {width}. The paper prints 443 of
  512.
* **The empirical Fisher** has a trace {told(last(push, TRAIN, FISHER) / 1e6, "{:.1f}")} million times
  smaller than that of the Hessian at the end. At the start their ratio is {told(first, "{:.2f}")}.
""")

# %% [markdown]
# ## The idea
#
# *Rank.* A matrix $A$ of $B$ rows has at most $B$ singular values $\sigma_i$, and so a stable
# rank of at most $B$,
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
noise = torch.nn.functional.normalize(torch.randn(256, 512, dtype=torch.float64)) * 512**0.5
sizes = torch.linalg.svdvals(noise)
assert abs(stable_rank(256, float(sizes[0])) - float(metrics.stable_rank(sizes**2))) < 1e-6
print(f"256 rows, largest singular value 36.5: stable rank {stable_rank(256, 36.5):.0f}")
print(f"rank 443 and 36.5 need {443 * 36.5**2 / 512:,.0f} rows")
print(f"256 rows of noise: largest {float(sizes[0]):.1f}, "
      f"stable rank {stable_rank(256, float(sizes[0])):.0f}, "
      f"effective rank {float(metrics.effective_rank(sizes)):.0f}")  # fmt: skip

# %% [markdown]
# Even noise, with no structure at all, stays far below 443, and its largest singular value is
# above 36.5. Activations of a circuit are hardly flatter than noise; and whatever they are,
# 256 rows have no rank above 256. The printed pair needs another definition or more rows.
#
# *Trace.* Let a pair have the probability $1 - \epsilon$ for its class. Then its loss is
# $\epsilon$, nearly. The curvature of the loss in its logits is $1 - \sum_k p_k^2 \approx 2
# \epsilon$. So on fitted pairs the trace is the loss times the size of the Jacobian, and
# whoever trains longer is *flatter*.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab01-trace
#| caption: >
#|   (a) On the training pairs the exact trace rises while they are learned and then falls,
#|   for all arms; dotted, the 42.5 and 1.4 that the paper prints. (b) On the test pairs it falls only as a network generalises; where
#|   one of two runs has ended, the line is the other. (c) The trace of (a) against the
#|   training loss of the same log, the start left out.
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
    for seed in run.seeds:
        trace = run.series(TRAIN)[seed].dropna()
        loss = run.series("train_loss")[seed].reindex(trace.index)
        axes[2].plot(loss[1:], trace[1:], "o", ms=3.5, color=run.color, alpha=0.7)
for level, word in ((42.5, "paper: baseline"), (1.4, "paper: penalty")):
    axes[0].axhline(level, color=plots.GREY, ls=":", lw=1.2)
    place = {"transform": axes[0].get_yaxis_transform(), "ha": "right", "va": "bottom"}
    axes[0].text(0.99, level, word, fontsize=9, **place)
for panel in axes[:2]:
    plots.thousands(panel)
    panel.set(yscale="log", xlabel="epoch", xlim=(0, push.settings.epochs))
axes[0].set_ylabel("Hessian trace")
axes[0].set_ylim(top=300)
axes[2].set(xscale="log", yscale="log", xlabel="training loss")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plots.letter(axes, ["training pairs", "test pairs", "against the loss"])
plots.show(figure)


# %% tags=["hide-input"]
#| fold: "Code: the table with the paper's numbers"
def digits(values):
    """Three digits, without an exponent for large numbers."""
    return "{:,.0f}" if values.min() >= 100 else "{:.3g}"


head = ["Quantity", "Paper: baseline", "penalty", *(f"Here: {run.label}" for run in runs)]
body = []
for name, (how, _, printed) in QUANTITIES.items():
    ours = [last(run, *how) for run in runs]
    cells = [told(one, digits(one)) for one in ours]
    body.append([name, *map(tables.html.number, printed), *cells])
body.append(["epoch of coherence, layer 2", "34,200", "2,460", *map(told, map(coherent, runs))])
tables.grid(head, body)

# %% [markdown]
# ## The claims
#
# The paper's table is of networks that generalised. A seed of ours whose penalised network has
# no {term}`onset` is no test of it; its numbers are in the table above.
#
# "At the end" is a member's own last epoch: at 99.9 % test accuracy, or at the last one that
# was planned. The bounds are weaker than the printed ratios (30, 45, 1,400, 3.3 and 4).

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, wide)

# %% [markdown]
# ## What was run
#
# There is no official code. What differs from the paper, or had to be inferred:
#
# 1. *Size.* Laptop records have width 128 of 512, 60 % of the pairs, 15,000 epochs of 100,000.
#    At the paper's width the runs of [Figure 1](fig01_accuracy_curves.ipynb) end after 8,000
#    epochs, before strong decay generalises. So this page reads the smaller and longer ones.
#    Four of its quantities, and Proposition A.3, are measured at the paper's width too.
# 2. *The paper's numbers.* The text that we have lacks the body of Table 1. Its entries are
#    those that a [public review](https://github.com/kraidiky/grokking-conceptual-review) quotes.
#    Rank and trace stand in Tables 2 and 4 too.
# 3. *Trace.* Exact and of the loss alone. The paper estimates it
#    ([Table 8](tab08_hutchinson.ipynb)) and does not say on which pairs, or when.
# 4. *"Normalized sharpness".* Its formula is lost. Two readings are in the table.
# 5. *Rank and σ₁.* Layer, rows, before or after the ReLU are not stated. The table has six
#    readings, all after the ReLU.
# 6. *Largest mode.* Of units and of all Fourier modes of a layer, constant left out, times $p$.
#    The paper's transform is not known, so only the ratio can be compared.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Flat where?** On the training pairs the trace goes with the loss, panel (c). A network that
has only learned its pairs by heart ends as flat as one that generalises, or flatter. A trace
of 42.5 at 100,000 epochs would need a training loss that did not vanish. On the test pairs
flatness is not a cause of generalising but nearly the same thing, by the same argument.

**A rank that depends on the layer.** The penalty's effective rank is
{told(gain("effective rank, layer 2, all pairs"), "{:.2f}")} times that of the baseline in layer 2 and
{told(gain("effective rank, layer 1, all pairs"), "{:.2f}")} times in layer 1. There the penalty pulls outward, and a bias
vector is the cheapest way to follow it: one direction that all rows share has
{told(last(push, SHARED), "{:.0%}")} of their squared {{term}}`radius`, against
{told(last(free, SHARED), "{:.0%}")}. So one printed number for "the" rank says little.

**At the paper's width** no arm generalises in the {large.settings.epochs:,} epochs that we ran, and the
penalty is no flatter than the baseline, whose trace is {sheet.told("wide Hessian trace, training pairs")} times
the penalty's. The {{term}}`stable rank` falls with the penalty in layer 1, to
{sheet.told("preserved layer 1")} times that of the baseline, and in layer 2 it is
{sheet.told("preserved layer 2")} times. Proposition A.3 says that the penalty preserves it.

**Fisher is not Hessian** on fitted pairs. For one pair the Fisher has $(1 - p)^2$ where the
Hessian has $p (1 - p)$. With $1 - p = \\epsilon$ the first is $\\epsilon^2$, the second
$\\epsilon$. The approximation that the paper's Proposition 4.3 begins with is off by about
the loss itself.

**The table against the rest of the paper.** It has the baseline coherent at epoch 34,200.
Appendix C.1 says that it never is, and Table 2 that it never groks. The epoch of coherence
with the penalty, 2,460, is that of its {{term}}`onset` to the digit.
""")

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
# How would you compare the curvature of two arms whose training losses differ tenfold?
# ```
#
# ```{solution} ex-tiwari2026-tab01-loss
# :class: dropdown
# At equal loss, or divided by it: trace over loss is the squared size of the Jacobian along
# the fitted pairs. The measurements beyond the paper have it for all arms.
# ```

# %% [markdown]
# ## Run it yourself
#
# The runs are those of [Figure 1](fig01_accuracy_curves.ipynb): three arms at width 128,
# one to two hours on one core.
#
# ```bash
# make page PAGE=tiwari2026/tab01 SCALE=laptop
# ```
