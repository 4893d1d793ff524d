# %% [markdown]
# # [Question]{.kicker} Does keeping activations small help beyond decay?

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
page = evidence.Page("questions/q08", scale, retrain, device)
small = evidence.Page(page.name, "laptop")  # stored: a quarter of the width
records = {
    (name, width): one.record(f"tiwari2026/{name}")
    for width, one in ((512, page), (128, small))
    for name in ("fig01", "fractions", "suppression")
}
texts, tuned, man = (
    small.record(f"tiwari2026/{name}") for name in ("texts", "tuned", "tab02")
)
matched, table = page.record("remedies/test-a"), page.record("remedies/test-b")
larger = {
    arm.name.split(",")[0]: told(Run(table, arm.name).onset())
    for arm in table.experiment.arms
}
DECAY, BOTH, TARGET, HALF, ZERO, SHORT = ROWS = (
    "decay 1",
    "decay 1, penalty to √d",
    "penalty to √d",
    "penalty to √d/2",
    "strong pull to zero",
    "first matrix held short",
)
ARMS = {
    DECAY: ("fractions", "no penalty, decay 1, f = 0.6"), BOTH: ("fractions", "penalty, decay 1, f = 0.6"),
    TARGET: ("fig01", "penalty"), ZERO: ("suppression", "strength 5, decay 0, f = 0.6"),
}  # fmt: skip
runs = {
    (row, width): Run(records[name, width], arm)
    for row, (name, arm) in ARMS.items()
    for width in (512, 128)
}
runs[HALF, 128] = Run(texts, "radius 0.5 √d")
runs |= {
    (SHORT, width): Run(
        records["suppression", width],
        f"first matrix held at {16 if width == 512 else 8}, f = 0.6",
    )
    for width in (512, 128)
}
came = {key: run.onset() for key, run in runs.items()}
REMEDIES = {"decay": "decay", "coupled L2": "coupled L2", "activations": "pull to zero", "radius with tuned target": "pull to tuned target",
            "radius to √d": "penalty to √d", "first matrix held short": SHORT, "none": "nothing"}  # fmt: skip
chosen = {
    word: Run(matched, arm.name)
    for key, word in REMEDIES.items()
    for arm in matched.experiment.arms
    if arm.name.startswith(f"{key}, rate") and matched.seeds(arm.name)
}
best = {word: run.onset() for word, run in chosen.items()}
rates = {word: run.settings.optimizer.options["lr"] for word, run in chosen.items()}
cap = chosen["decay"].settings.epochs
pull, decay = evidence.paired(best["pull to zero"], best["decay"])
assert (pull > decay).all() and not np.isfinite(
    np.concatenate([came[TARGET, width] for width in (512, 128)])
).any()
sheet = claims.read(page.name, {})
sheet.box(
    f"No speed-up here: with Tiwari's penalty alone, as we read it, {np.isinf(came[TARGET, 512]).sum()} of {len(came[TARGET, 512])} networks had not generalised by epoch "
    f"{runs[TARGET, 512].settings.epochs:,}. Tuned alike, a small one does at step {told(decay)} with decay, at {told(pull)} with a pull to zero."
)

# %% tags=["hide-input"]
#| name: fig-questions-08
#| caption: >
#|   A strong pull to zero is ahead of a decay of 1 at one learning rate, not of a tuned decay. One mark a seed; in
#|   the grey margin: not within the run. (a) Tiwari's MLP, addition modulo 97, 60 % of pairs (penalty to √d at width 512:
#|   half), learning rate 0.001. Circles: width 512, the paper's. Triangles: width 128. Diamond: the
#|   paper's penalty. (b) Width 128, modulo 59, each remedy at its own best rate and strength.
#| alt: >
#|   Left: circles and triangles of the strong pull lie at 400 to 500 epochs, those of decay at 1,200 to
#|   1,400; with the penalty besides they lie there or at 1,900; the penalty alone is in the margin, far
#|   from the paper's 1,320. Right: decay and coupled L2 lie near 140 steps, the pull to zero near 300, the paper's penalty never.
#| fold: "Code: draw the figure"
INK = {
    DECAY: "weight decay",
    BOTH: "weight decay",
    ZERO: "MAN",
    "decay": "weight decay",
    "pull to zero": "MAN",
    "coupled L2": "weight decay",
}
figure, axes = plots.panels(2, height=3.6)


def marks(panel, y, values, row, marker, end):
    """One mark a seed, those that never come in the margin."""
    ink = plots.COLOUR[
        INK.get(row, "penalty" if "√d" in row or "target" in row else "dropout")
    ]
    places = y + 0.06 * (np.arange(len(values)) - len(values) / 2)
    panel.plot(
        values.clip(upper=1.3 * end), places, marker, ms=5.5, alpha=0.85, color=ink
    )


END = 15_000
for (row, width), values in came.items():
    marks(
        axes[0],
        ROWS.index(row) + (-0.17 if width == 512 else 0.17),
        values,
        row,
        "o" if width == 512 else "^",
        END,
    )
for y, (row, values) in enumerate(best.items()):
    marks(axes[1], y, values, row, "^", cap)
plots.paper(axes[0], [1320], [ROWS.index(TARGET)])
for marker, label in (("o", "width 512"), ("^", "width 128")):
    axes[0].plot([], [], marker, color=plots.GREY, label=label)
for panel, rows, end, low in ((axes[0], ROWS, END, 250), (axes[1], best, cap, 30)):
    panel.axvspan(1.07 * end, 1.7 * end, color="#EEEEEE", lw=0)
    panel.set(xscale="log", xlim=(low, 1.7 * end), ylim=(len(rows) - 0.5, -0.5))
    panel.set_yticks(range(len(rows)), list(rows))
axes[0].set_xlabel("epoch of generalising")
axes[1].set_xlabel("step of generalising")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter(axes, ["one rate, 0.001", "each at its best"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
quick = {
    kind: Run(tuned, f"{kind}, rate 0.003, decay 3").onset()
    for kind in ("decay", "penalty")
}
tables.prose(f"""
**The paper's penalty alone brings no speed-up here.** It pulls each hidden layer to a {{term}}`radius` of √d. Tiwari et al. print
2,460 epochs for half of the pairs and 1,320 for 60 %. [At the paper's width](../tiwari2026/fig01_accuracy_curves.ipynb)
{np.isinf(came[TARGET, 512]).sum()} of {len(came[TARGET, 512])} networks have not generalised after {runs[TARGET, 512].settings.epochs:,} epochs with half of
the pairs. At a quarter of this width {np.isinf(came[TARGET, 128]).sum()} of {len(came[TARGET, 128])} have not after {runs[TARGET, 128].settings.epochs:,} with
60 %. There is no official code, so another [reading of the text](../tiwari2026/readings.ipynb) may do better.

**Beside a decay of 1 it adds nothing.** With a {{term}}`weight decay` of 1 in both, small networks generalise at epoch {told(came[DECAY, 128])}
without the penalty and at {told(came[BOTH, 128])} with it. [At the paper's width](../tiwari2026/remedies.ipynb) it delays
them, from {told(came[DECAY, 512])} to {told(came[BOTH, 512])}. At the best rate and decay of a grid they are at {told(quick["decay"])} and {told(quick["penalty"])}.

**A smaller target is better.** Half of the target brings small networks to generalise at {told(came[HALF, 128])}. A weak pull to zero,
which the paper calls {{term}}`MAN` and prints as six times slower, does it at {told(Run(man, "MAN 0.05").onset())}.

**A strong pull to zero works without any decay.** At a hundred times the strength it brings generalisation to epoch
{told(came[ZERO, 128])}, and to {told(came[ZERO, 512])} at the paper's width ({len(came[ZERO, 512])} seeds). At this rate that is sooner than a
decay of 1 ([suppression](../tiwari2026/suppression.ipynb)). So small activations do help.

**A short first matrix explains only some of it.** Held near its start, it gives {told(came[SHORT, 128])} at width 128. At width 512
it does not reach the same epochs: {told(came[SHORT, 512])} (seeds: {len(came[SHORT, 512])}).

**But decay gains more from tuning.** Panel (b) gives each remedy the same budget of tuning, on a smaller task. In all
{len(pull)} pairs of seeds decay is ahead of the pull to zero. Its best learning rate is {rates["decay"]:g}, that of the pull
{rates["pull to zero"]:g}. [On modulo 97](../remedies/larger.ipynb), both at 0.03, decay generalises at {larger["decay"]} and the pull at
{larger["activations"]}. Whether both together beat either is open.
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q08.md
# ```
#
# ## What would change our mind
#
# * The tuned comparison at the paper's width and half of the pairs: `grokbook run remedies/tune-c --scale paper --record`,
#   and then its test seeds. If the pull to zero leads there, our answer is about small networks.
# * The paper's penalty with the authors' code. If it gives 1,320 epochs at a decay of 0.001, our reading is wrong.
# * Pull and decay tuned together, on modulo 97. If the best pair leads the best decay, activations add something.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(*records.values(), texts, tuned, man, matched, table)
