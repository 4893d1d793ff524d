# %% [markdown]
# # [Remedies × tasks]{.kicker} On letters, where nothing is delayed, ⊥Grad costs almost nothing and strong penalties much

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import runpy

from claimbook import claims, evidence, plots, project, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("remedies/letters", scale, retrain, device)
record = page.record("test-g")
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")
runs = {
    arm.name.split(",")[0]: Run(record, arm.name, arm.name.split(",")[0])
    for arm in record.experiment.arms
}
loss = {name: run.last("test_loss") for name, run in runs.items()}
right = {name: run.last("test_accuracy") for name, run in runs.items()}


def over(values, name, other):
    """One remedy's value at the end over that of another, by pair."""
    return [runs[name], runs[other]], evidence.ratio(
        *evidence.paired(values[name], values[other])
    )


rows = {
    "perp": "⊥Grad",
    "decay": "decay",
    "activations": "activations",
    "held": "first matrix held short",
}
found = {row: over(loss, name, "none") for row, name in rows.items()}
found["stablemax"] = over(right, "none", "StableMax")
sheet = claims.read(page.name, found)
order = sorted(right, key=lambda name: -right[name].median())


def middle(name):
    """The median share of letters that it gets right."""
    return told(right[name], "{:.0%}").split(" (")[0]


sheet.box(f"""What does a remedy cost where nothing is delayed? A small transformer
learned to guess the next letter of Shakespeare at a learning rate of 0.001, with each
remedy at the strength that was best on addition modulo 59. After 1,000 steps it had
{middle("none")} of the letters of unseen text right without a remedy, {middle("⊥Grad")} with ⊥Grad,
{middle("decay")} with weight decay, and {middle("activations")} with activations pulled
to zero (medians of {len(right["none"])} runs).

So ⊥Grad, the first of these remedies on
addition modulo 59, costs next to nothing here. No strength was tuned for letters: a weaker
penalty or decay may cost less. And in a longer training, in which a network overfits, decay or
dropout might gain.""")

# %% tags=["hide-input"]
#| name: fig-remedies-letters
#| caption: >
#|   Layer norm, a softmax without rounding and ⊥Grad cost next to nothing. The other remedies, at the
#|   strengths of addition modulo 59, cost up to a third of the letters, and Grokfast most of them. A dot is
#|   one run, after 1,000 steps; the line is the median without a remedy, and the number on the right is the
#|   median of the row. A transformer of two blocks, width 64, AdamW.
#| alt: >
#|   Dots by remedy, best on top. Five remedies lie within two points of the line at 38 %. Weight decay and L2 lie at 33 to
#|   34 %, activations pulled to zero and dropout below 29 %, and Grokfast near 5 %.
#| fold: "Code: draw the figure"
figure, (axes,) = plots.panels(1, height=0.9 + 0.33 * len(order))
for row, name in enumerate(order):
    axes.plot(100 * right[name], [row] * len(right[name]), "o", color=plots.BLUE, ms=6)
    axes.annotate(middle(name), (42, row), va="center", annotation_clip=False)
axes.axvline(100 * right["none"].median(), color=plots.GREY, lw=1)
axes.set_yticks(range(len(order)), map(SHARED["called"], order))
axes.set(xlim=(0, 41), ylim=(len(order) - 0.5, -0.5))
how = "after\n1,000 steps,\nrate 0.001,\nstrengths of\naddition\nmodulo 59"
blank = {"fc": "white", "ec": "none", "pad": 1}
axes.text(1, 5, how, va="center", fontsize=9, bbox=blank)
axes.set_xlabel("letters right (%)")
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.grid(
    (
        "Remedy",
        "Next letters right",
        "Of the training text",
        "Test loss, in its own loss",
    ),
    [
        (
            SHARED["called"](name),
            told(right[name], "{:.1%}"),
            told(runs[name].last("train_accuracy"), "{:.1%}"),
            told(loss[name], "{:.3f}"),
        )
        for name in order
    ],
    caption="After 1,000 steps",
)

# %% [markdown]
# Nothing is delayed here: without a remedy the network has not learned its training text by heart either (table).
#
# Measured by the test loss, which is what was registered, ⊥Grad and weight decay stay within 5 % of no remedy, and the
# two strong penalties do not. A remedy has the strength that [addition modulo 59](addition.ipynb) chose for it, and the usual
# learning rate of 0.001. So this page asks what the strength that helps elsewhere costs here. It does not ask for the best strength
# on letters. Remedies without a strength have PyTorch's betas.
#
# ## The claims
#
# The tests were registered before the runs. A loss of 1.05 times that of no remedy is the bound. StableMax has
# another loss, so that its letters are compared. The paper's numbers are of a larger network on WikiText-103.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# A causal transformer of two blocks, width 64, windows of 64 letters of Tiny Shakespeare, batches of 32, 1,000 steps of
# AdamW without decay. Five seeds, on a CPU. A network that trains longer would overfit, and decay or dropout might then gain.
#
# ## Run it yourself
#
# All runs, in about two hours on one core:
#
# ```bash
# make page PAGE=remedies/letters SCALE=laptop
# ```
