# %% [markdown]
# # [Question]{.kicker} Does the place of layer norm matter?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q05", scale, retrain, device)
small = evidence.Page(page.name, "laptop")  # stored: the same places on a smaller task
PLACES = {
    "A^qk": "queries, keys",
    "No LN": "nowhere",
    "A*": "queries, keys, values",
}  # in the paper's names, and in words
PLACES |= {
    "M+A*": "all, and the MLP",
    "A^v": "values",
    "M": "MLP",
    "M+A^v": "values, MLP",
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
gain, mild = (evidence.ratio(when[none], when[place]) for place in (mlp, values))
back = {key: run.falls_back(loss=0.01) for key, run in paper.items()}
reached = np.isfinite(when[blocked])
sheet = claims.read(page.name, {})
sheet.box(
    f"Yes. With a norm before the MLP alone a transformer's test loss first reaches 0.01 {gain.min():.0f} to {gain.max():.0f} times as early, but bursts throw "
    f"it back to the end of training. With one on the values it is {mild.min():.0f} to {mild.max():.0f} times as early, and mostly stays. "
    f"With one on queries and keys alone, {reached.sum()} of {len(reached)} got there in {END:,} epochs."
)

# %% tags=["hide-input"]
#| name: fig-questions-05
#| caption: >
#|   The norm's place moves the first epoch with the rule, whatever the activation or the kind of norm. One mark a
#|   seed; a mark in the grey margin does not get there. (a) One layer, addition modulo 113: first epoch with a
#|   test loss of 0.01, to which networks with a norm before the MLP do not hold; small and hollow, with a training
#|   loss of 0.01. Diamonds: the mean of Singh's five seeds. (b) A smaller task, addition modulo 37, one seed each:
#|   first epoch with 95 % of the test set.
#| alt: >
#|   Rows of marks by place. Left: from more than 10,000 epochs with a norm on queries and keys down to
#|   600 with one on values and before the MLP; hollow marks of the fit all lie near 200, but that of
#|   queries and keys near 1,400. Right: a norm before the MLP, with or without one on values, comes
#|   first with one layer, and with three layers.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, height=4.2, sharey=True)
rows = {place: y for y, place in enumerate(PLACES)}
for axes_of, runs, measure, end in (
    (axes[0], paper, {"loss": 0.01}, END),
    (axes[1], little, {"accuracy": 0.95}, 5000),
):
    axes_of.axvspan(1.05 * end, 1.6 * end, color="#EEEEEE", lw=0)
    for (kind, place), run in runs.items():
        y = rows[place] + 0.2 * (list(KINDS).index(kind) - 1)
        style = {"color": run.color, "ls": "", "ms": 6.5}
        epochs = run.reaches(**measure).clip(upper=1.3 * end)
        axes_of.plot(
            epochs, [y] * len(epochs), KINDS[kind][1], mec="white", mew=0.6, **style
        )
    axes_of.set(xscale="log", xlim=(100, 1.6 * end), xlabel="first epoch")
for kind, place in paper:
    if kind == "layer norm":
        axes[0].plot(
            fit[kind, place],
            [rows[place] - 0.2] * len(fit[kind, place]),
            "o",
            ms=4,
            mfc="white",
            color=plots.COLOUR[place],
        )
for name in ("fig02_events", "fig03_events"):
    theirs = evidence.reference(f"singh2026/{name}").query(
        "quantity == 'test_loss at most' and value == 0.01 and stat == 'mean'"
    )
    seen = theirs[theirs.series.isin(rows)].dropna(subset="epoch")
    plots.paper(axes[0], seen.epoch, seen.series.map(rows) - 0.2, label="")
axes[0].set_yticks(range(len(rows)), list(PLACES.values()))
axes[0].set_ylim(len(rows) - 0.4, -0.6)
axes[0].set_ylabel("place of the norm")
for kind, (_, marker) in KINDS.items():
    axes[0].plot([], [], marker, color=plots.GREY, label=kind)
axes[0].plot([], [], "o", ms=4, mfc="white", color=plots.GREY, label="fit (a)")
plots.paper(axes[0], [], [])
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
plots.letter(axes, ["the paper's size", "a smaller task"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
single, normed = (
    Run(page.record(f"liu2026/{name}"), arm)
    for name, arm in (("fig01", "float32"), ("fig03b", "layer norm"))
)
first, later = (
    evidence.earliest(evidence.bursts(run, late=True)) for run in (single, normed)
)
plain = Run(small.record("tiwari2026/fig01"), "baseline")
layered, scaled = (
    Run(small.record("tiwari2026/tab02"), arm) for arm in ("layer norm", "RMS norm")
)
every = Run(small.record("tiwari2026/tab09"), "norm")
tables.prose(f"""
**Two places help and one hurts.** In [Singh's transformer](../singh2026/fig01_overview.ipynb) the
test loss first falls to 0.01 at epoch {told(when[none])} without a norm. With a {{term}}`layer norm` before the MLP it does at
{told(when[mlp])}, and with one on the values of attention at {told(when[values])}. On [queries and
keys](../singh2026/fig03_mechanism.ipynb) alone, {reached.sum()} of {len(reached)} seeds get there in
{END:,} epochs. A norm on all of attention cannot be told apart from none.

**With a norm before the MLP it does not stay there.** [Bursts](q06_float32.ipynb) throw that network back: {told(back[mlp], "{:.0%}")} of its
later logs are above 0.01 again. It has 90 % of the test set for good from epoch {told(paper[mlp].onset())} on, later than the network
without a norm, {told(paper[none].onset())}, in {int((paper[mlp].onset() > paper[none].onset()).sum())} of {len(paper[mlp].seeds)} seeds. With a norm on the values {told(back[values], "{:.1%}")}
of the later logs are above 0.01, and {int((paper[values].falls_back(accuracy=0.9) > 0).sum())} of {len(paper[values].seeds)} seeds fall below 90 % once more.

**The fit is no explanation.** Without a norm it comes at epoch {told(fit[none])}, with one before the MLP at {told(fit[mlp])}. All other
places but queries and keys fit about as early; these alone fit at {told(fit[blocked])}.

**What a norm hides explains part of it.** A norm removes the length of its input ([Table
1](../singh2026/tab01_norm_variants.ipynb)). Without one, a network that memorises reads lengths, and reads them less
when it generalises. For networks *with* norms that test depends on how it is made, so the cause is not settled.

**Kind and activation matter little.** An {{term}}`RMSNorm`, which does not centre, gives {told(when["RMS norm", "M"])} [before
the MLP](../singh2026/fig07_rmsnorm.ipynb). With ReLU it is {told(when["ReLU", "M"])}. On a smaller task
the norm before the MLP first has 95 % of the test set far ahead of none too, with one layer and with [three](../singh2026/fig08_three_layers.ipynb)
(seeds: {len(little[mlp].seeds)} and {len(little["three layers", "M"].seeds)}), and is thrown back there as well.

**Elsewhere a norm does other things.** In [Tiwari's MLP](../tiwari2026/tab04_norm_variants.ipynb), nearly without weight decay
and at a quarter of its width, a layer norm generalises at epoch {told(layered.onset())}, in {len(layered.seeds)} runs. Without a norm {len(plain.seeds)}
runs of {plain.settings.epochs:,} epochs end at {told(plain.last("test_accuracy"), "{:.0%}")} of the test set. A small [transformer](../tiwari2026/tab09_norm_and_penalty.ipynb) with
norms at all places ends at {told(every.last("test_accuracy"), "{:.0%}")} (seeds: {len(every.seeds)}). Before the head of [Liu's wide
MLP](../liu2026/fig03_mitigations.ipynb) a layer norm delays the first {{term}}`slingshot`, from epoch {told(first)} to
{told(later)}, and does not prevent it.
""")

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

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(
    *(record for _, record in (*full, *less)),
    *(run.record for run in (single, normed, plain, layered, every)),
)
