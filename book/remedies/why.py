# %% [markdown]
# # [Remedies × tasks]{.kicker} Held at weight decay's three norms, a small network groks as early

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import runpy

from grokbook import claims, evidence, plots, project, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("remedies/why", scale, retrain, device)
SHARED = runpy.run_path(f"{project.home()}/book/remedies/race.py")
race, record = SHARED["Race"](page, "a", level=0.9), page.record("why")
OF, WHAT = (
    {"decay": "decay", "pull": "activations"},
    ("every matrix", "first", "second", "third", "second and third"),
)
held = {
    (of, what): Run(record, f"norms of {of}, {what}")
    for of in OF
    for what in (*WHAT, "none")
}


def capped(run):
    return run.onset().clip(upper=race.steps)


found = {
    f"{of}-{what.replace(' ', '-')}": (
        [held[of, what], race.runs[name]],
        evidence.ratio(*evidence.paired(capped(held[of, what]), race.came[name])),
    )
    for of, name in OF.items()
    for what in WHAT
}
sheet = claims.read(page.name, found)
number = len(held["decay", "every matrix"].seeds)
sheet.box(f"""On addition mod 59, holding three norms is enough. Held at those that weight decay has, without any decay, {number}
networks generalise at step {told(held["decay", "every matrix"].onset())}, and with decay at {race.told("decay")}. One of decay's norms alone does not suffice.""")

# %% tags=["hide-input"]
#| name: fig-remedies-why
#| caption: >
#|   The step of generalising on addition mod 59, one mark a seed; in the grey margin: not within 1,000 steps. Plain
#|   cross-entropy without decay or penalty, with some matrices held at the norms that a remedy has when it generalises:
#|   (a) weight decay's, (b) those of a strong pull of activations to zero. On top the remedy itself.
#| alt: >
#|   Two panels with seven rows. Left: decay and every matrix held lie together near 150 steps, all other rows in the
#|   margin. Right: the pull near 300 and every matrix held near 400; the others in the margin.
#| fold: "Code: draw the figure"
figure, panels = plots.panels(2, height=3.2, sharey=True)
ROWS = ("the remedy itself", *(f"{what} held" for what in WHAT), "nothing held")
for axes, (of, name) in zip(panels, OF.items(), strict=True):
    for row, run in enumerate(
        [race.runs[name], *(held[of, what] for what in (*WHAT, "none"))]
    ):
        places = [row + 0.1 * (k - 2) for k in range(len(run.seeds))]
        axes.plot(
            run.onset().clip(upper=1.15 * race.steps),
            places,
            "o",
            ms=6,
            alpha=0.85,
            color=plots.BLUE,
        )
    axes.axvspan(1.07 * race.steps, 1.25 * race.steps, color="#EEEEEE", lw=0)
    axes.set(
        xlabel="step of generalising",
        xlim=(0, 1.25 * race.steps),
        ylim=(len(ROWS) - 0.5, -0.5),
    )
panels[0].set_yticks(range(len(ROWS)), ROWS)
plots.letter(panels, ["norms of weight decay", "norms of a pull to zero"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.grid(
    ("What is held", "Norms of decay: step", "Test accuracy at the end", "Norms of the pull: step", "Test accuracy at the end"),
    [
        (what, *(cell for of in OF for cell in (
            told(held[of, what].onset()), told(held[of, what].last("test_accuracy"), "{:.0%}"))))
        for what in (*WHAT, "none")
    ],
    caption=f"Onset and last test accuracy of {number} seeds",
)  # fmt: skip

# %% [markdown]
# * **All three norms together are enough to generalise as early as with decay.** That does not say how decay itself
#   works: held norms are constant from the first step on, decay's come down slowly, and the biases are free in both.
# * **No norm of decay alone does.** The first, the second or the third matrix held alone leaves test accuracy near a guess.

# %% tags=["remove-input"]
short = held["pull", "first"].onset()
tables.prose(f"""
* **The pull's norms help too,** later than the pull itself. There the first matrix does most: held alone, it brings
  {int((short <= race.steps).sum())} of {len(short)} seeds to the rule, at step {short.min():,.0f}.
* **Hardly a sample collapses** when a run ends, 0.2 % at most. So collapse is not what keeps the others from generalising.
""")

# %% [markdown]
# ## Which explanation predicts which cell
#
# | Explanation | It predicts | What came |
# | --- | --- | --- |
# | Remedies prevent collapse | a loss that cannot collapse generalises | not within 1,000 steps on [addition](addition.ipynb), and seldom on [parity](parity.ipynb) |
# | Remedies shorten activations | a first matrix held short is as early as any | later than decay in every pair on addition |
# | Remedies limit the norms of all matrices | plain training at these norms is as early | it is at decay's norms, later at the pull's |
#
# ⊥Grad has about decay's norms when it generalises, with no pull on them: it takes from the gradient what would
# lengthen the weights. [The next page](elsewhere.ipynb) holds its norms too, the total norm and the length of the
# logits, on three tasks. Not tried yet: norms replayed step by step, and a rate that gives free weights the angle of
# a step that held ones have. Until then norm and angle are not told apart.
#
# ## The claims
#
# The tests were registered before the runs. The norms are medians over five seeds of the remedy at its onset, to two
# digits: for decay 35, 23 and 17. For the pull they are 4, 40 and 78. The medians of the
# test seeds are 39 and 77 for the last two, which changes nothing here. A run without an onset counts as the last step.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# 1. *Task.* Addition mod 59, the network of [that page](addition.ipynb), 1,000 steps, five seeds, on a CPU.
# 2. *Rate.* That of the remedy: 0.03 for decay, 0.003 for the pull. Otherwise AdamW with PyTorch's betas and no decay.
# 3. *Held.* After every step a matrix is scaled to its norm. The moments of AdamW are not scaled with it. Norms are held
#    constant; those of a remedy change until its onset.
#
# ## Run it yourself
#
# ```bash
# make page PAGE=remedies/why SCALE=laptop
# ```
