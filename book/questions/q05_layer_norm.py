# %% [markdown]
# # [Question]{.kicker} Does the place of layer norm matter?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

plots.use_style()
page = evidence.Page("questions/q05", scale, retrain, device)
small = evidence.Page(page.name, "laptop")  # stored: the same places on a smaller task
PLACES = {  # in the paper's names, and in words
    "A^qk": "on queries, keys",
    "No LN": "nowhere",
    "A*": "on all of attention",
    "A^v": "on values",
    "M": "before the MLP",
    "M+A*": "on attention, MLP",
    "M+A^v": "on values, MLP",
}
KINDS = {
    "layer norm": ("", "o"),
    "ReLU": (", ReLU", "s"),
    "RMS norm": (", RMSNorm", "^"),
    "three layers": (", three layers", "P"),
}
SEVERAL = (
    ("layer norm", "fig02"),
    ("layer norm", "fig03"),
    ("ReLU", "fig02relu"),
    ("RMS norm", "fig07"),
)
full = [(kind, page.record(f"singh2026/{name}")) for kind, name in SEVERAL]
less = [
    (kind, small.record(f"singh2026/{name}"))
    for kind, name in (*SEVERAL, ("three layers", "fig08"))
]
paper, little = (
    {
        (kind, place): Run(record, place + ending, kind, plots.COLOUR[place])
        for kind, record in records
        for place, ending in ((place, KINDS[kind][0]) for place in PLACES)
        if any(arm.name == place + ending for arm in record.experiment.arms)
        and record.seeds(place + ending)
    }
    for records in (full, less)
)
when = {key: run.reaches(loss=0.01) for key, run in paper.items()}
fit = {key: run.fitted(loss=0.01) for key, run in paper.items()}
none, mlp, values, blocked = (
    ("layer norm", place) for place in ("No LN", "M", "A^v", "A^qk")
)
END = paper[none].settings.epochs
first = {key: run.reaches(accuracy=0.9) for key, run in paper.items()}
stays = {key: run.onset() for key, run in paper.items()}
back = {key: run.falls_back(loss=0.01) for key, run in paper.items()}
reached = np.isfinite(first[blocked])
middle = {key: claims.median(epochs) for key, epochs in first.items()}
lasting = {key: claims.median(epochs) for key, epochs in stays.items()}
steady = paper[values].falls_back(accuracy=0.9) == 0  # runs that stay at once
sheet = claims.read(page.name, {})
sheet.box(f"""In Singh et al.'s one-layer transformer, yes. With a norm before the MLP,
alone or with one on the values of attention, it generalises first, but later falls back;
with a norm on the values alone it is next.

The task is addition modulo 113 (AdamW, learning rate 0.001, weight decay 1). We read the epoch at which 90 % of the
test set is right, in medians of {len(stays[none])} runs. Without a layer norm it is
{lasting[none]:,.0f}. With a norm on the values of attention it is
{middle[values]:,.0f}, and {steady.sum()} of {len(steady)} runs then stay above 90 %.

With a norm before the MLP it is {middle[mlp]:,.0f}, but until training ends, jumps of the loss
throw the network back now and then: it stays above 90 % only from epoch
{lasting[mlp]:,.0f} on, later than without a norm. With a norm on queries and keys alone
{reached.sum()} of {len(reached)} runs got there in {END:,} epochs.""")

# %% tags=["hide-input"]
#| name: fig-questions-05
#| caption: >
#|   A norm on the values brings generalisation early, and mostly keeps it; one before the MLP brings it
#|   earlier and does not keep it. A row is a place of the norm. Each run has two marks, joined by a line.
#|   Hollow is the first epoch with 90 % of the test set; filled is the epoch from which on the run has 90 % to
#|   the end of training. Where the two fall together, only the filled one is seen. A triangle is the end of
#|   training, for runs that did not have 90 % there. On all of attention means on queries, keys and values;
#|   the two lowest rows have a norm before the MLP and one more. The numbers are medians. Singh et al.'s
#|   transformer at the paper's size.
#| alt: >
#|   Rows by the place of the norm. On queries and keys: a triangle at 10,000. Nowhere: both marks between 4,400 and 7,100.
#|   On values: hollow marks from 1,000 to 1,800, filled ones there too, but for two near 8,000. Before the MLP: hollow
#|   marks near 460, filled ones near 9,700, and likewise in the two rows with a norm there and elsewhere.
#| fold: "Code: draw the figure"
figure, (panel,) = plots.panels(1, height=4.2)
for y, place in enumerate(PLACES):
    run, color = paper["layer norm", place], plots.COLOUR[place]
    begin, end = (of["layer norm", place] for of in (first, stays))
    for n, seed in enumerate(run.seeds):
        at = y + 0.13 * (n - (len(run.seeds) - 1) / 2)
        if np.isfinite(begin[seed]):
            panel.plot(
                [begin[seed], min(end[seed], END)], [at, at], color=color, lw=0.8
            )
            panel.plot(begin[seed], at, "o", ms=5, mfc="white", color=color)
        if np.isfinite(end[seed]):
            panel.plot(end[seed], at, "o", ms=5, color=color)
        else:
            panel.plot(END, at, ">", ms=6, color=color)
    if np.isfinite(median_first := claims.median(begin)):
        x = 0.85 * begin.min()
        panel.text(x, y, f"{median_first:,.0f}", ha="right", va="center")
    median_end = claims.median(end)
    if np.isfinite(median_end) and median_end > median_first:
        x = 1.15 * end.clip(upper=END).max()
        panel.text(x, y, f"{median_end:,.0f}", ha="left", va="center")
panel.plot([], [], "o", mfc="white", color=plots.GREY, label="first")
panel.plot([], [], "o", color=plots.GREY, label="from here to the end")
panel.plot([], [], ">", color=plots.GREY, label="not by the end")
panel.set_yticks(range(len(PLACES)), list(PLACES.values()))
panel.set(
    xscale="log",
    xlim=(170, 26_000),
    ylim=(len(PLACES) - 0.5, -0.5),
    xlabel="epoch with 90 % right",
)
panel.set_xticks([300, 1000, 3000, END], ["300", "1,000", "3,000", f"{END:,}"])
panel.minorticks_off()
panel.set_title(
    f"modulo 113, rate 0.001,\n{len(stays[none])} runs each",
    loc="left",
)
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
single, normed = (
    Run(page.record(f"liu2026/{name}"), arm)
    for name, arm in (("fig01", "float32"), ("fig03b", "layer norm"))
)
early, later = (
    instability.earliest(instability.bursts(run, late=True)) for run in (single, normed)
)
plain = Run(small.record("tiwari2026/fig01"), "baseline")
layered, scaled = (
    Run(small.record("tiwari2026/tab02"), arm) for arm in ("layer norm", "RMS norm")
)
every = Run(small.record("tiwari2026/tab09"), "norm")
gain, mild = (evidence.ratio(when[none], when[place]) for place in (mlp, values))
tables.prose(f"""
**Two places help and one hurts.** The paper's own measure is the first test loss of 0.01. By it a
{{term}}`layer norm` before the MLP of [Singh's transformer](../singh2026/fig01_overview.ipynb) is {gain.min():.0f} to {gain.max():.0f} times as early as none,
and one on the values of attention {mild.min():.0f} to {mild.max():.0f} times. On [queries and keys](../singh2026/fig03_mechanism.ipynb) alone no network gets there.
A norm on all of attention cannot be told apart from none.

**With a norm before the MLP it does not stay there.** [Bursts](q06_float32.ipynb) throw that network back: {told(back[mlp], "{:.0%}")} of its
later logs have a test loss above 0.01 again. It has 90 % of the test set for good later than the network
without a norm in {int((stays[mlp] > stays[none]).sum())} of {len(paper[mlp].seeds)} runs. With a norm on the values {told(back[values], "{:.1%}")}
of the later logs are above 0.01, and {int((paper[values].falls_back(accuracy=0.9) > 0).sum())} of {len(paper[values].seeds)} runs fall below 90 % once more.

**The fit is no explanation.** Without a norm it comes at epoch {told(fit[none])}, with one before the MLP at {told(fit[mlp])}. All other
places but queries and keys fit about as early; these alone fit at {told(fit[blocked])}.

**What a norm hides explains part of it.** A norm removes the length of its input ([Table
1](../singh2026/tab01_norm_variants.ipynb)). Without one, a network that memorises reads lengths, and reads them less
when it generalises. For networks *with* norms that test depends on how it is made, so the cause is not settled.

**The kind of norm matters little, the activation somewhat:** with ReLU the norm before the MLP is later in every run. The table has an {{term}}`RMSNorm`, which does not centre ([Figure 7](../singh2026/fig07_rmsnorm.ipynb)), and ReLU in place of
GELU. On a smaller task the norm before the MLP is first too, with one layer and with [three](../singh2026/fig08_three_layers.ipynb)
(runs: {len(little[mlp].seeds)} and {len(little["three layers", "M"].seeds)}), and is thrown back there as well.

**Elsewhere a norm does other things.** In [Tiwari's MLP](../tiwari2026/tab04_norm_variants.ipynb), nearly without weight decay
and at a quarter of its width, a layer norm generalises at epoch {told(layered.onset())} (runs: {len(layered.seeds)}). Without a norm {len(plain.seeds)}
networks end at {told(plain.last("test_accuracy"), "{:.0%}")} of the test set after {plain.settings.epochs:,} epochs. A small [transformer](../tiwari2026/tab09_norm_and_penalty.ipynb) with
norms at all places ends at {told(every.last("test_accuracy"), "{:.0%}")} (runs: {len(every.seeds)}). Before the head of [Liu's wide
MLP](../liu2026/fig03_mitigations.ipynb) a layer norm delays the first {{term}}`slingshot`, from epoch {told(early)} to
{told(later)}, and does not prevent it.
""")

# %% tags=["remove-input"]
tables.grid(
    ["Norm, activation", "Place", "90 % of the test set first", "for good"],
    [
        [kind, PLACES[place], told(first[kind, place]), told(stays[kind, place])]
        for place in ("M", "M+A*")
        for kind in KINDS
        if (kind, place) in paper
    ],
    caption="Epochs in Singh et al.'s transformer, by kind of norm: median and range",
)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q05.md
# ```
#
# ## What would change our mind
#
# * Three layers at the paper's size, in five seeds: `grokbook run singh2026/fig08 --scale paper --record`. If the norm
#   before the MLP is not first there, the answer is about one layer.
# * A norm on queries and keys at a tenfold rate, so that 10,000 epochs are ten times as many units of its
#   [clock](q04_rate_and_decay.ipynb). If it generalises, "prevents" becomes "delays".
# * A network whose MLP reads inputs of one length by construction, without a norm. If it is as fast, length is the cause.
#
# ## What was read
#
# Runs of Singh et al., Figures [2](../singh2026/fig02_norm_positions.ipynb), [3](../singh2026/fig03_mechanism.ipynb),
# [7](../singh2026/fig07_rmsnorm.ipynb) and [8](../singh2026/fig08_three_layers.ipynb), of Liu et al., Figures
# [1](../liu2026/fig01_precision.ipynb) and [3](../liu2026/fig03_mitigations.ipynb), and of Tiwari et al.,
# [Figure 1](../tiwari2026/fig01_accuracy_curves.ipynb), Tables [2](../tiwari2026/tab02_regularisers.ipynb) and
# [9](../tiwari2026/tab09_norm_and_penalty.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
