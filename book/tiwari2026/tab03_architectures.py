# %% [markdown]
# # [Tiwari et al. 2026 · Table 3]{.kicker} One column of speed-ups uses two different baselines

# %% tags=["parameters", "remove-input"]
scale = "laptop"  # at the paper's width the runs end before strong decay generalises
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import pandas as pd

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
SUMS, FIGURES = "nanoGPT, sums", "nanoGPT, digits"
ROWS = {  # as Table 3 has them: record, its baseline, what is judged, onsets
    "MLP": ("fig01", "strong decay", "test_accuracy", (15_540, 2460)),
    "transformer": ("tab09", "norm", "test_accuracy", (8000, 5200)),
    SUMS: ("tab03", "baseline", "test_exact", (22_500, 9800)),
    FIGURES: ("tab03", "baseline", "test_accuracy", (22_500, 9800)),
}
NETWORKS = ("MLP", "transformer", SUMS)
BASE = {  # in words, by the arm's name
    "strong decay": "strong decay",
    "norm": "plain norms and weak decay",
    "baseline": "affine norms and decay 0.1",
}
page = evidence.Page("tiwari2026/tab03", scale, retrain, device)
runs, onsets = {}, {}  # by row: the baseline's and the penalty's
for row, (name, base, column, _) in ROWS.items():
    pushed = {"transformer": "norm, penalty"}.get(row, "penalty")
    record, network = page.record(name, arms=(base, pushed)), row.split(",")[0]
    own = plots.COLOUR.get(base, plots.COLOUR["baseline"])
    slow = Run(record, base, f"{network}, {base}", own)
    fast = Run(record, pushed, f"{network}, penalty", plots.COLOUR["penalty"])
    runs[row], onsets[row] = (slow, fast), (slow.onset(column), fast.onset(column))
mlp = runs["MLP"][0].record
decayed = Run(mlp, "baseline", "MLP, weak decay", plots.COLOUR["baseline"])


def speed_up(row):
    """Baseline's onset, or the end of its training, over the penalty's; 0 if that is never.

    Seeds of which neither comes have no ratio.
    """
    slow, fast = evidence.paired(*onsets[row])
    one_came = (slow < math.inf) | (fast < math.inf)
    return (slow.clip(upper=runs[row][0].settings.epochs) / fast)[one_came]


def radius(run, *, start=False):
    """Radius of what each half of a block adds, over its target: mean over halves."""
    model = run.settings.model.options
    taps = [f"{s}.{k}" for k in range(model["depth"]) for s in ("attention_out", "mlp_out")]
    each = [run.series(f"radius.{tap}") for tap in taps]
    mean = sum(each) / len(taps) / model["width"] ** 0.5
    return mean.loc[0] if start else mean.ffill().iloc[-1]


gain = {row: speed_up(row) for row in ROWS}
printed = {row: slow / fast for row, (*_, (slow, fast)) in ROWS.items()}
every = pd.DataFrame({row: gain[row] for row in NETWORKS})
least = every.min(axis=1).astype(float)  # settled if it is at most 1, or all have one
more = every["MLP"] - every[SUMS]
differ = (every["MLP"] > 0) | (every[SUMS] > 0)  # two that are 0 have no order
bare, forced = runs[SUMS]
affine, without = 7500 / 4200, 8000 / 5200  # gains of Table 9
found = {
    "ahead": (
        [run for two in runs.values() for run in two],
        least[(least <= 1) | every.notna().all(axis=1)],
    ),
    "mlp": (runs["MLP"], gain["MLP"]),
    "transformer": (runs["transformer"], gain["transformer"]),
    "sums": (runs[SUMS], gain[SUMS]),
    "digits": (runs[FIGURES], gain[FIGURES]),
    "digits-first": (runs[FIGURES], evidence.times(*(r.first("test_accuracy", above=0.9) for r in runs[FIGURES]))),
    "everywhere": claims.exactly(
        ", ".join(f"{printed[row]:.1f}" for row in NETWORKS),
        [printed[row] >= 6 for row in NETWORKS],
    ),
    "overhead": claims.exactly(f"+{35 / 32 - 1:.1%}", [round(35 / 32 - 1, 3) == 0.094]),
    "modest": ([*runs["MLP"], *runs[SUMS]], more[differ].dropna()),
    "order": (
        [*runs[SUMS], *runs["transformer"]],
        (every[SUMS] - every["transformer"]).dropna(),
    ),
    "baselines": ("1 of 2 rows", 1, 2),
    "affine": claims.exactly(f"{affine:.2f} against {without:.2f}", [affine < without]),
    "onset": {
        f"{row}, {run.arm}": (run, came)
        for row in ROWS
        for run, came in zip(runs[row], onsets[row], strict=True)
    },
    "weak": (decayed, decayed.onset()),
    "crossing": {run.arm: (run, run.first("test_accuracy", above=0.9)) for run in runs[FIGURES]},
    "radius": {run.label: (run, radius(run)) for run in runs[SUMS]},
    "start": (forced, radius(forced, start=True)),
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab03
#| caption: >
#|   (a) Epoch or step from which on more than 90 % of the test set is right, by whole sums or
#|   by digits. Dots, our seeds; hollow triangles, not within the training. Diamonds, the
#|   paper, at its own larger sizes. (b) Ratio of the two, from the end of the training where
#|   the baseline never gets there; 0 where the penalty alone does not; none where neither does.
#| alt: >
#|   Left: on the MLP strong decay generalises and the penalty does not within the run; on the
#|   transformer neither does. By whole sums of nanoGPT one baseline does and no penalty. By
#|   digits all four runs do, the penalty first. Right: by digits our ratios are above 1, the
#|   others are 0 or missing. The paper has 1.5 to 6.3.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.8, sharey=True)
for place, row in enumerate(ROWS):
    own = plots.COLOUR.get(ROWS[row][1], plots.COLOUR["baseline"])
    pushed = plots.COLOUR["penalty"]
    for run, values, off in zip(runs[row], onsets[row], (0.24, -0.24), strict=True):
        for value in values:
            come = value < math.inf
            end = max(value, 1) if come else run.settings.epochs
            look = {"color": run.color, "mfc": run.color if come else "white", "ms": 8}
            left.plot(end, place + off, "o" if come else ">", **look)
    for value, color, off in zip(ROWS[row][3], (own, pushed), (0.1, -0.1), strict=True):
        plots.paper(left, [value], [place + off], color=color, label="")
    right.plot(gain[row], [place] * len(gain[row]), "s", color=plots.GREY, ms=8)
    plots.paper(right, [printed[row]], [place], label="")
right.axvline(1, color=plots.GREY, ls="--", lw=1)
left.set(xscale="log", xlabel="onset (epoch or step)", ylim=(3.5, -0.5))
left.set_yticks(range(len(ROWS)), [row.replace(", ", ",\n") for row in ROWS])
for name in ("baseline", "strong decay", "penalty"):
    left.plot([], [], "o", color=plots.COLOUR[name], ms=8, label=f"{name}, here")
left.plot([], [], "s", color=plots.GREY, ms=8, label="ratio, here")
plots.paper(left, [], [])
left.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
right.set(xlabel="baseline's onset over the penalty's", xlim=(-0.3, None))
plots.letter([left, right], ["onsets", "speed-up"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def ratio(row):
    """A row's ratio in words; of a baseline that never comes it is a lower bound."""
    slow, ours = onsets[row][0], gain[row]
    if not (ours > 0).any():
        return "No gain" if len(ours) else "Neither came, so there is no ratio"
    bound = "at least " * bool((slow.reindex(ours.index) == math.inf).any())
    return f"Ratio: {bound}{told(ours, '{:.1f}')}"


every = "\n".join(
    f"* **{row}**: onset {told(slow)} with {BASE[ROWS[row][1]]}; {told(fast)} with the "
    f"penalty. {ratio(row)}; printed: {printed[row]:.1f}."
    for row, (slow, fast) in onsets.items()
)
tables.prose(f"""
{every}
* **The weak baseline** of the MLP, with the decay of the transformer's: onset
  {sheet.told("weak")}, within {decayed.settings.epochs:,} epochs.
""")

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
for row in NETWORKS:
    slow, fast = ROWS[row][3]
    source = ELSEWHERE.get(slow, "in no other table")
    print(f"{row:14s}{slow:>7,} / {fast:>5,} = {slow / fast:.1f}   {source}")
print("MLP, weak decay (Table 2): more than", f"{100_000 / 2460:.0f}")

# %% [markdown]
# So each row has its own kind of baseline. The MLP's is the tuned rival, decay 0.1. The
# transformer's has {term}`layer norm` and next to no decay: the appendix says "Same data,
# optimizer, and seeds as MLP", and "The MLP and Transformer baselines use weak weight decay".
# That of nanoGPT has a decay which is lost in the text that we have. With the *same* kind of
# baseline as the transformer, the MLP's ratio is above 40.
#
# An onset also needs a test. Of a sum either all digits have to be right, or each of them
# counts by itself. The paper says "test accuracy" and not which, so nanoGPT has two rows here.
# Whole sums are the harder test, and the figure below has them.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab03-sums
#| caption: >
#|   Share of sums with every figure right over training, of the training set dashed and of
#|   the test set solid, without the penalty and with it; each line a seed, their range
#|   shaded.
#| alt: >
#|   Both arms have all training sums right within some 300 steps, with brief dips later. The test
#|   set follows at once. One baseline ends less than a point above the dotted line at 90 per
#|   cent; the other runs, with the penalty and without it, end below it.
#| fold: "Code: draw the sums"
figure, (panel,) = plots.panels(1, height=3.0)
for run in runs[SUMS]:
    plots.curve(panel, run, "test_exact", percent=True)
    dashes = {"linestyle": plots.DASHED, "label": "", "seeds": False}
    plots.curve(panel, run, "train_exact", percent=True, **dashes)
panel.axhline(90, color=plots.GREY, ls=":", lw=1)
panel.set(xlabel="step", ylabel="sums that are right (%)", ylim=(-3, 103))
panel.legend(loc="center right")
plots.thousands(panel)
plots.show(figure)

# %% [markdown]
# ## The claims
#
# Bounds are about half of the printed gain. A baseline without an onset counts as one at the
# end of its training, so that the ratio is a lower bound. Where neither comes there is none.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*(runs[row][0].record for row in NETWORKS))

# %% [markdown]
# ## What was run
#
# The rows come from three records: [Figure 1](fig01_accuracy_curves.ipynb),
# [Table 9](tab09_norm_and_penalty.ipynb), and sums of numbers trained for this page. There is
# no official code. Inferred, and different from the paper:
#
# 1. *Sizes.* On a laptop all three networks are smaller and get more of the pairs, or fewer
#    digits; the tables below say how. Onsets cannot be compared with the paper's, ratios
#    may. At the paper's width neither arm of the MLP generalises in the 8,000 epochs that we
#    ran ([Figure 1](fig01_accuracy_curves.ipynb)), so the smaller and longer runs are shown.
# 2. *Sums.* Operands with zeros in front, one sum a row, the answer's last digit first; the
#    loss is on the answer alone. The paper probably trains on long windows of many sums. At
#    paper scale 10,000 of the 1,000,000 pairs are drawn, and 8,000 of these train. How many
#    the paper has is not stated.
# 3. *Optimiser of nanoGPT.* Rate 0.001, decay 0.1 and 100 steps of warm-up, as in the [code of
#    Lee et al.](https://github.com/lee-ny/teaching_arithmetic/tree/44020db) that the paper
#    builds on. Its cosine stops at a tenth of the rate. Ours falls to 0.
# 4. *What else differs from that code.* Our decay acts on all weights; there norms and
#    embeddings have none. Our read-out has weights of its own; there they are the embedding's.
#    Here linear layers and norms have biases, there they have none. Here nothing is dropped or
#    clipped; there dropout is 0.2, and gradients are clipped at length 1. The start is that of
#    GPT-2 in both.
# 5. *Penalty of nanoGPT.* Strength 0.01 on what attention and MLP of every block add.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
fit = bare.first("train_exact", at_least=0.99)
ends = [told(run.last("test_exact"), "{:.1%}") for run in (bare, forced)]
came = [f"{(value < math.inf).sum()} of {len(value)}" for value in onsets[SUMS]]
ahead = gain[FIGURES] > 1
logs = [run.first("test_accuracy", above=0.9) for run in (bare, forced)]
late, early = onsets[FIGURES]
few = " So few seeds decide nothing." * (len(ahead) < 3)
sums = f"""
**Is there a delay in the sums?** Without the penalty the training sums are learned at step
{told(fit)}. By then {told(bare.at("test_exact", fit, otherwise=0), "{:.0%}")} of the test sums
are right, and at the end {ends[0]}. What lies between is all that there is to
{{term}}`grok <grokking>`. With the penalty the share at the end is {ends[1]}.

**Sums or digits?** The paper does not say what its accuracy counts. Counted in whole sums,
{came[0]} baselines and {came[1]} runs with the penalty get above 90 % for good. Where a run
comes to rest near that level, a few sums decide.

Counted in digits, the penalty is first in {ahead.sum()} of {len(ahead)} seeds: its
{{term}}`onset` is {told(early)}, the baseline's {told(late)}. An onset waits for the last dip
below the level, and {(late > logs[0]).sum()} of {len(late)} baselines had been above it before.
The first log above it is at {told(logs[1])} with the penalty; at {told(logs[0])}
without.{few}

**Suppression?** The {{term}}`radius` of what each half of a block adds starts at
{sheet.told("start", "{:.3f}")} of its target. It ends at {told(radius(bare), "{:.2f}")}
without the penalty; at {told(radius(forced), "{:.2f}")} with it. Here the penalty inflates.
"""
tables.prose(f"""
**One column, several questions.** A ratio against strong decay asks whether the penalty beats
its best rival. One against a network that hardly decays asks whether it beats doing nothing.
The paper's order of networks, 6.3, 2.3 and 1.5, mixes the two, and so says little about which
network gains most.

**The explanation of the smaller gain.** The paper puts it down to nanoGPT's affine
{{term}}`layer norm`. Its own Table 9 has the larger gain with affine norms:
{affine:.2f} against {without:.2f}.
{sums}
**"Halves".** The abstract says that the penalty "halves training steps for a 10M-parameter
nanoGPT"; the table's factor is {printed[SUMS]:.1f}.
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
# A network gets 97 % of the digits of an answer with four digits right, independently. Which
# share of its sums is right? Is its {term}`onset` at 90 % the same by both measures?
# ```
#
# ````{solution} ex-tiwari2026-tab03-guess
# :class: dropdown
# ```python
# print(f"{0.97 ** 4:.1%} of the sums; 90 % of the sums need {0.9 ** 0.25:.1%} of the digits")
# ```
#
# No: by digits the onset comes earlier. This page shows both.
# ````

# %% [markdown]
# ## Run it yourself
#
# The two arms of sums with three seeds each, some 40 minutes on one core, and then what is
# missing at the paper's size:
#
# ```bash
# make page PAGE=tiwari2026/tab03 SCALE=laptop
# grokbook run tiwari2026/tab03 tiwari2026/tab09 --scale paper --device cuda
# ```
