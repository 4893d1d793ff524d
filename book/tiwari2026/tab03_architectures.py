# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Tiwari et al. 2026 · Table 3]{.kicker} Three networks, one column of speed-ups: but its baseline is strong weight decay in the first row alone

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import pandas as pd
from IPython.display import display

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers import tiwari2026

plots.use_style()
ROWS = {  # as Table 3 has them: record, its baseline, what is judged, onsets, the quote
    "MLP": ("fig01", "strong decay", "test_accuracy", (15_540, 2460),
            "MLP (epochs) | 15,540 1480 | 2,460 136"),
    "transformer": ("tab09", "norm", "test_accuracy", (8000, 5200),
                    "Transformer (epochs) | 8,000 450 | 5,200 400"),
    "nanoGPT": ("tab03", "baseline", "test_exact", (22_500, 9800),
                "NanoGPT (steps) | 22,500 1,200 | 9,800 600"),
}  # fmt: skip
BASE = {
    "MLP": "strong decay",
    "transformer": "plain norms and weak decay",
    "nanoGPT": "affine norms and decay 0.1",
}


page = {"scale": scale, "retrain": retrain, "device": device}
runs = {}  # by row: the baseline's and the penalty's
for row, (name, base, *_) in ROWS.items():
    pushed = "penalty" if row != "transformer" else "norm, penalty"
    asked = page | {"arms": (base, pushed)}
    if record := evidence.stored(f"tiwari2026/{name}", **asked):
        runs[row] = (
            Run(record, base, f"{row}, {base}", plots.COLOUR["baseline"]),
            Run(record, pushed, f"{row}, penalty", plots.COLOUR["penalty"]),
        )
pair = runs["MLP"]
decayed = Run(pair[0].record, "baseline", "MLP, weak decay", plots.COLOUR["baseline"])


def onset(run, column="test_accuracy"):
    """Epoch from which on the test accuracy stays above 90 %."""
    return evidence.lasting(run.series(column), above=0.9)


def onsets(row):
    return [onset(run, ROWS[row][2]) for run in runs[row]] if row in runs else []


def speed_up(row):
    """Baseline's onset, or the end of its training, over the penalty's; 0 if that is never.

    Seeds of which neither comes have no ratio.
    """
    if row not in runs:
        return pd.Series(dtype=float)
    slow, fast = evidence.paired(*onsets(row))
    told_apart = (slow < math.inf) | (fast < math.inf)
    slow, fast = slow[told_apart], fast[told_apart]
    return slow.clip(upper=runs[row][0].settings.epochs) / fast


def radius(run, *, start=False):
    """Radius of what each half of a block adds, over its target: mean over halves."""
    model = run.settings.model.options
    taps = [f"{s}.{k}" for k in range(model["depth"]) for s in ("attention_out", "mlp_out")]
    columns = [f"radius.{tap}" for tap in taps if f"radius.{tap}" in run.record.frame]
    if not columns:
        return pd.Series(dtype=float)
    each = [run.at(c, 0) if start else run.last(c) for c in columns]
    return (sum(each) / len(columns) / model["width"] ** 0.5).dropna()


def smallest():
    """The smallest speed-up of the three networks, of the seeds that all have."""
    every = evidence.paired(*(speed_up(row) for row in ROWS))
    return pd.DataFrame(every).min() if len(every[0]) else every[0]


def printed(row):
    slow, fast = ROWS[row][3]
    return slow / fast


there = [run for two in runs.values() for run in two]
sheet = claims.Sheet("tiwari2026/tab03", show="{:.2f}")
sheet.claim(
    there,
    "in all three networks the penalty is ahead of the table's baseline (smallest ratio)",
    "Table 3 shows that the penalty consistently accelerates the "
    "memorization-generalization phase transition over multiple architectures.",
    smallest(),
    where="Section 4.2",
    above=1,
    main=True,
)
for (row, (*_, quote)), bound in zip(ROWS.items(), (3, 1.2, 1.5), strict=True):
    sheet.claim(
        list(runs.get(row, [])),
        f"{row}: onset of the baseline over the penalty's at least {bound} "
        f"(printed: {printed(row):.1f})",
        quote,
        speed_up(row),
        where="Table 3",
        at_least=bound,
    )
more = evidence.paired(speed_up("MLP"), speed_up("nanoGPT"))
sheet.claim(
    there,
    "the MLP's ratio exceeds nanoGPT's (difference)",
    "The more modest relative speedup on NanoGPT is consistent with the architecture "
    "already performing partial radial suppression via its affine LayerNorm.",
    more[0] - more[1],
    where="Section 4.2",
    above=0,
)
sheet.exact(
    "the baselines of the MLP and of the transformer are those with decay 0.1: 15,540 is, "
    "in Table 2; 8,000 is Table 9's, whose decay is the MLP's weak one",
    "Speedups reported in Table 3 are relative to the strong WD baseline",
    "1 of 2 rows",
    where="Appendix C.3",
    held=1,
    n=2,
)
sheet.exact(
    "with affine norms the penalty gains less: Table 9 has 7,500 / 4,200 with and "
    "8,000 / 5,200 without",
    "The more modest relative speedup on NanoGPT is consistent with the architecture "
    "already performing partial radial suppression via its affine LayerNorm.",
    f"{7500 / 4200:.2f} against {8000 / 5200:.2f}",
    where="Section 4.2, Table 9",
    held=int(7500 / 4200 < 8000 / 5200),
    n=1,
)
for row in runs:
    for run, value in zip(runs[row], onsets(row), strict=True):
        sheet.extra(run, f"{run.label}: onset", value, show="{:,.0f}")
sheet.extra(decayed, f"{decayed.label}: onset", onset(decayed), show="{:,.0f}")
for run in runs.get("nanoGPT", ()):
    sheet.extra(run, f"{run.label}: radius of the increments over target, end", radius(run))
for run in runs.get("nanoGPT", ())[1:]:
    sheet.extra(run, f"{run.label}: the same at the start", radius(run, start=True))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab03
#| caption: >
#|   (a) Epoch or step from which on more than 90 % of the test set is right. Dots, our
#|   seeds: black the table's baseline, green the penalty; hollow triangles, not within the
#|   training. Diamonds, the paper, at its own larger sizes. (b) Ratio of the two, at least; 0 where
#|   the penalty never gets there.
#| alt: >
#|   Three rows for the MLP, the transformer and nanoGPT. Left, onsets of baseline and
#|   penalty on a logarithmic axis beside the paper's. Right, their ratios, with a line at 1.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.2, sharey=True)
for place, row in enumerate(ROWS):
    times = zip(runs.get(row, ()), onsets(row), (0.16, -0.16), strict=False)
    for run, values, off in times:
        for value in values:
            never = value == float("inf")
            end = run.settings.epochs if never else max(value, 1)
            fill = "white" if never else run.color
            mark = ">" if never else "o"
            left.plot(end, place + off, mark, color=run.color, mfc=fill, ms=8)
    for value, color, off in zip(
        ROWS[row][3], (plots.BLACK, plots.COLOUR["penalty"]), (0.16, -0.16), strict=True
    ):
        plots.paper(left, [value], [place + off], color=color, label="")
    ratios = speed_up(row)
    right.plot(ratios, [place] * len(ratios), "o", color=plots.BLACK, ms=8)
    plots.paper(right, [printed(row)], [place], label="")
right.axvline(1, color=plots.GREY, ls="--", lw=1)
left.set(xscale="log", xlabel="onset (epoch or step)", ylim=(2.5, -0.5))
left.set_yticks(range(len(ROWS)), list(ROWS))
for color, name in ((plots.BLACK, "baseline"), (plots.COLOUR["penalty"], "penalty")):
    left.plot([], [], "o", color=color, ms=8, label=f"{name}, here")
plots.paper(left, [], [])
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
right.set(xlabel="baseline's onset over the penalty's", xlim=(-0.3, None))
plots.letter([left, right], ["onsets", "speed-up"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def spelt(row):
    if row not in runs or not all(len(value) for value in onsets(row)):
        return f"* **{row}**: not run yet. The paper's ratio is {printed(row):.1f}."
    slow, fast = onsets(row)
    gain = speed_up(row)
    ratio = "No gain" if len(gain) else "Neither came, so there is no ratio"
    if (gain > 0).any():
        ratio = f"The ratio is at least {told(gain, '{:.1f}')}"
    return (
        f"* **{row}**: onset {told(slow)} with {BASE[row]}, {told(fast)} with the penalty. "
        f"{ratio}; printed: {printed(row):.1f}."
    )


note = ""
if decayed.seeds:
    note = f"""
* **The weak baseline** of the MLP, which has the decay of the other two rows: onset
  {told(onset(decayed))}, of {decayed.settings.epochs:,} epochs.
"""
tables.prose("\n".join(map(spelt, ROWS)) + note)

# %% [markdown]
# ## The idea
#
# A speed-up is a ratio of two {term}`onsets <onset>`, and so it has two ends. The paper's
# table divides
#
# $$
# \text{speed-up} = \frac{\text{onset of the baseline}}{\text{onset with the penalty}}
# $$
#
# and heads the column "Speedup (vs. Strong WD)". Which runs the numerators are can be looked
# up in the paper's other tables:

# %%
ELSEWHERE = {
    15_540: "Table 2: MLP, strong WD, decay 0.1",
    8000: "Table 9: transformer, layer norm, penalty off; decay as in the MLP, 0.001",
}
for row, (*_, (slow, fast), _) in ROWS.items():
    source = ELSEWHERE.get(slow, "in no other table")
    print(f"{row:12s}{slow:>7,} / {fast:>5,} = {slow / fast:.1f}   {source}")
print("MLP, weak decay (Table 2): more than", f"{100_000 / 2460:.0f}")

# %% [markdown]
# So each row has its own kind of baseline. The MLP's is the tuned rival, decay 0.1. The
# transformer's has {term}`layer norm` and next to no decay: the appendix says "Same data,
# optimizer, and seeds as MLP", and "The MLP and Transformer baselines use weak weight decay".
# That of nanoGPT has a decay which is lost in the text that we have. With the *same* kind of
# baseline as the transformer, the MLP's ratio is above 40.
#
# An onset needs a test that the network can fail. In nanoGPT's row it is the share of sums
# of which every figure is right.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab03-sums
#| caption: >
#|   Share of sums with every figure right over training, of the training set dashed and of
#|   the test set solid, without the penalty and with it; thin lines, seeds.
#| alt: >
#|   Curves of the share of right sums against steps. The training set is learned first,
#|   the test set with it or later.
#| fold: "Code: draw the sums"
if "nanoGPT" in runs:
    figure, (panel,) = plots.panels(1, height=3.0)
    for run in runs["nanoGPT"]:
        plots.curve(panel, run, "test_exact", percent=True)
        dashes = {"linestyle": plots.DASHED, "label": "", "seeds": False}
        plots.curve(panel, run, "train_exact", percent=True, **dashes)
    panel.axhline(90, color=plots.GREY, ls=":", lw=1)
    panel.set(xlabel="step", ylabel="sums that are right (%)", ylim=(-3, 103))
    panel.legend(loc="center right")
    plots.thousands(panel)
    display(plots.show(figure))

# %% [markdown]
# ## The claims
#
# Bounds are about half of the printed gain. A baseline without an onset counts as one at the
# end of its training, so that the ratio is a lower bound.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run
#
# The rows come from three records: [Figure 1](fig01_accuracy_curves.ipynb),
# [Table 9](tab09_norm_and_penalty.ipynb), and sums of numbers trained for this page. There is
# no official code. Inferred, and different from the paper:
#
# 1. *Sizes.* On a laptop all three networks are smaller and get more of the pairs, or fewer
#    figures; the tables below say how. Onsets cannot be compared with the paper's, ratios
#    may.
# 2. *Sums.* Operands with zeros in front, one sum a row, the answer's last figure first; the
#    loss is on the answer alone. The paper probably trains on long windows of many sums.
# 3. *Optimiser of nanoGPT.* Decay 0.1, rate 0.001 falling to a tenth along a cosine, as in
#    the code that the paper follows.
# 4. *Penalty of nanoGPT.* Strength 0.01 on what attention and MLP of every block add.

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
STATED = {
    "nanoGPT": {
        "dataset": "reverse-format 3-digit addition",
        "dataset.digits": "3",
        "dataset.train_fraction": "0.8",
        "model": "nanoGPT, 10M parameters",
        "model.depth": "6",
        "model.heads": "6",
        "optimizer": "AdamW",
        "steps": "30,000",
        "batch size": "128",
        "schedule": "cosine",
    },
    "transformer": {"model.depth": "2", "model.heads": "4", "model.width": "128"},
    "MLP": tiwari2026.PAPER,
}
for row, (run, _) in runs.items():
    display(tables.settings(run.record, paper=STATED.get(row)))
    display(tables.arms(run.record))

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
sums = ""
if "nanoGPT" in runs and all(len(value) for value in onsets("nanoGPT")):
    plain, pushed = runs["nanoGPT"]
    fit = plain.first("train_exact", at_least=0.99)
    ends = [told(run.last("test_exact"), "{:.1%}") for run in (plain, pushed)]
    lower = [told(run.first("test_exact", above=0.8)) for run in (plain, pushed)]
    sums = f"""
**Is there a delay in the sums?** Without the penalty the training sums are learned at step
{told(fit)}. By then {told(plain.at("test_exact", fit, otherwise=0), "{:.0%}")} of the test sums
are right: most of what there is to {{term}}`grok <grokking>` comes with the fit. At the end it
is {ends[0]} without the penalty and {ends[1]} with it. Where a run comes to rest near the 90 %
that make an {{term}}`onset`, a few sums decide it. The level of 80 % is first passed at step {lower[0]}
and {lower[1]}.
"""
    if len(radius(pushed)):
        sums += f"""
**Suppression?** The {{term}}`radius` of what each half of a block adds starts at
{told(radius(pushed, start=True), "{:.3f}")} of its target. It ends at
{told(radius(plain), "{:.2f}")} without the penalty and at {told(radius(pushed), "{:.2f}")} with
it. Here the penalty inflates.
"""
tables.prose(f"""
**One column, several questions.** A ratio against strong decay asks whether the penalty beats
its best rival. One against a network that hardly decays asks whether it beats doing nothing.
The paper's order of networks, 6.3, 2.3 and 1.5, mixes the two, and so says little about which
network gains most.

**The explanation of the smaller gain.** The paper puts it down to nanoGPT's affine
{{term}}`layer norm`. Its own Table 9 has the larger gain with affine norms:
{7500 / 4200:.2f} against {8000 / 5200:.2f}.
{sums}
**"Halves".** The abstract says that the penalty "halves training steps for a 10M-parameter
nanoGPT"; the table's factor is {printed("nanoGPT"):.1f}.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab03-error
# The onsets of Table 3 have standard deviations. What is that of each ratio, if baseline and
# penalty vary independently?
# ```
#
# ````{solution} ex-tiwari2026-tab03-error
# :class: dropdown
# Relative deviations of a ratio add in squares:
#
# ```python
# import math
# for name, a, sa, b, sb in (("MLP", 15_540, 1480, 2460, 136),
#                            ("transformer", 8000, 450, 5200, 400),
#                            ("nanoGPT", 22_500, 1200, 9800, 600)):
#     print(f"{name}: {a / b:.2f} ± {a / b * math.hypot(sa / a, sb / b):.2f}")
# ```
#
# The three ratios lie far apart by that measure. It is not their noise that is in doubt.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab03-censored
# A baseline is stopped at 100,000 epochs and has no onset yet. What can be said of the
# speed-up if the penalty's onset is 2,460, and what if that never comes either?
# ```
#
# ```{solution} ex-tiwari2026-tab03-censored
# :class: dropdown
# That it is at least 40.7, and nothing. This page's ratio reads 0 in the second case: no
# speed-up was seen.
# ```
#
# ```{exercise}
# :label: ex-tiwari2026-tab03-guess
# A network gets 97 % of the figures of an answer with four figures right, independently. Which
# share of its sums is right? Is its {term}`onset` at 90 % the same by both measures?
# ```
#
# ````{solution} ex-tiwari2026-tab03-guess
# :class: dropdown
# ```python
# print(f"{0.97 ** 4:.1%} of the sums; 90 % of the sums need {0.9 ** 0.25:.1%} of the figures")
# ```
#
# No: by figures the onset comes earlier. This page counts whole sums.
# ````

# %% [markdown]
# ## Run it yourself
#
# The two arms of sums, a few minutes on one core:
#
# ```bash
# make page PAGE=tiwari2026/tab03 SCALE=laptop
# grokbook run tiwari2026/tab03 tiwari2026/tab09 --scale paper --device cuda
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(*(two[0].record for two in runs.values()))
