# %% [markdown]
# # [Remedies × tasks]{.kicker} A held total norm often groks too, held logits hardly ever

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import runpy

import numpy as np

from grokbook import claims, evidence, plots, project, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("remedies/elsewhere", scale, retrain, device)
Race = runpy.run_path(f"{project.home()}/book/remedies/race.py")["Race"]
TASKS = {"a": "addition mod 59", "b": "addition mod 97", "e": "sparse parity"}
WINNERS = {
    "a": ["decay", "⊥Grad"],
    "b": ["decay", "⊥Grad", "activations"],
    "e": ["coupled L2", "⊥Grad"],
}
WORDS = {"decay": "decay", "⊥Grad": "perp", "activations": "pull", "coupled L2": "l2"}
WHAT = {
    "every matrix": "every matrix", "first": "first matrix", "second": "second matrix", "third": "third matrix",
    "total": "total norm", "logits": "length of logits",
}  # fmt: skip
races = {task: Race(page, task, level=0.9) for task in TASKS}
records = {task: page.record(f"why-{task}") for task in TASKS}
first = page.record("why")  # decay's norms on the smaller addition, matrix by matrix


def run_of(task, winner, what):
    there = (task, winner) == ("a", "decay") and what not in ("total", "logits")
    return Run(first if there else records[task], f"norms of {winner}, {what}")


held = {
    (t, w, what): run_of(t, w, what)
    for t in TASKS
    for w in WINNERS[t]
    for what in (*WHAT, "none")
}
ratio, found = {}, {}
for (task, winner, what), run in held.items():
    race = races[task]
    came = run.onset().clip(upper=race.steps)
    ratio[task, winner, what] = evidence.ratio(
        *evidence.paired(came, race.came[winner])
    )
    if what != "none" and (
        task == "b" or (task, winner, run.record) != ("a", "decay", first)
    ):
        name = f"{task}-{WORDS[winner]}-{what.replace(' ', '-')}"
        found[name] = ([run, race.runs[winner]], ratio[task, winner, what])
sheet = claims.read(page.name, found)


def come(what, tasks=TASKS):
    """How many runs generalise with this held, of how many."""
    every = [held[t, w, what].onset() for t in tasks for w in WINNERS[t]]
    return (
        f"{sum(int(np.isfinite(one).sum()) for one in every)} of {sum(map(len, every))}"
    )


def early(task, winner, what):
    """How many seeds come at most twice as late as with the remedy, of how many."""
    times = ratio[task, winner, what]
    return f"{int((times <= 2).sum())} of {len(times)}"


sheet.box(f"""Held at weight decay's total norm, networks without any remedy generalise at step
{told(held["b", "decay", "total"].onset())} on addition mod 97, with decay at {races["b"].told("decay")}. Over three tasks {come("total")} runs
held at a remedy's total norm generalise, some of them late, and {come("logits")} held at the length of its logits.""")

# %% tags=["hide-input"]
#| name: fig-remedies-elsewhere
#| caption: >
#|   How much later than with the remedy itself a network generalises, if it has no remedy and something of it is held at
#|   the remedy's value from the first step on. One mark a seed. Left of the dotted line: at most twice as late, the test
#|   that was registered. In the grey margin: not at all.
#| alt: >
#|   Six rows of marks. In the rows of all matrices and of the total norm most marks lie left of the dotted line. In the
#|   rows of single matrices and of the logits nearly all lie in the margin.
#| fold: "Code: draw the figure"
figure, (axes,) = plots.panels(1, height=5.2)
INK = {"a": plots.BLUE, "b": plots.ORANGE, "e": plots.GREEN}
MARKS = {"decay": "o", "coupled L2": "s", "⊥Grad": "^", "activations": "D"}
lanes = [(task, winner) for task in TASKS for winner in WINNERS[task]]
for row, what in enumerate(WHAT):
    for lane, (task, winner) in enumerate(lanes):
        came = np.isfinite(held[task, winner, what].onset())
        x = ratio[task, winner, what].where(
            came[came.index.isin(ratio[task, winner, what].index)], 40
        )
        y = np.full(len(x), row + 0.11 * (lane - 3))
        axes.plot(x, y, MARKS[winner], ms=5, alpha=0.8, color=INK[task])
axes.axvspan(32, 50, color="#EEEEEE", lw=0)
axes.axvline(2, color=plots.GREY, lw=1, ls=":")
axes.set_yticks(range(len(WHAT)), WHAT.values())
axes.set(
    xscale="log",
    xlim=(0.4, 50),
    ylim=(len(WHAT) - 0.4, -0.6),
    xlabel="step of generalising, over the remedy's own",
)
axes.set_xticks([0.5, 1, 2, 5, 10, 40], ["0.5", "1", "2", "5", "10", "never"])
axes.minorticks_off()
for task, winner in lanes:
    axes.plot(
        [],
        [],
        MARKS[winner],
        color=INK[task],
        label=f"{winner}, {TASKS[task].partition(' ')[2]}",
    )
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.grid(
    ("Task", "Remedy", "Its step", *(f"{words} held" for words in WHAT.values()), "nothing held"),
    [
        (TASKS[task], winner, races[task].told(winner),
         *(told(held[task, winner, what].onset()) for what in (*WHAT, "none")))
        for task, winner in lanes
    ],
    caption="Steps at which the seeds generalise",
)  # fmt: skip

# %% tags=["remove-input"]
EVERY = "every matrix"
alone = held["b", "decay", "first"].seeds
tables.prose(f"""
* **On addition the total norm of decay or ⊥Grad is enough.** All three matrices are scaled by one factor. How they
  share the norm is left to the network. At most twice as late as with the remedy are {early("a", "decay", "total")} and {early("a", "⊥Grad", "total")}
  seeds on mod 59, and {early("b", "decay", "total")} and {early("b", "⊥Grad", "total")} on mod 97.
* **The total norm of a pull to zero is not,** on mod 97. There the first matrix is short and the last one long. Held matrix by
  matrix, {come(EVERY, ["b"])} networks of mod 97 generalise, but with the pull's norms {early("b", "activations", EVERY)} at most twice as late.
* **No matrix alone is enough for decay or ⊥Grad, and the length of the logits is not.** On addition no run with one of them held
  generalises here. On mod 97 a single matrix was held for decay alone (seeds: {len(alone)}).
* **On sparse parity all networks with three norms held generalise,** {come(EVERY, ["e"])}. At most twice as late as
  with the remedy are {early("e", "coupled L2", EVERY)} with those of coupled L2 and {early("e", "⊥Grad", EVERY)} with those of ⊥Grad. The total
  norm of ⊥Grad gives {early("e", "⊥Grad", "total")}. That of coupled L2 brings networks late or not at all.
""")

# %% [markdown]
# Two papers say what a weight norm does. [One](https://arxiv.org/abs/2606.13753) holds the total norm and finds a law of
# the delay. What we see with decay and ⊥Grad fits it; what we see with a pull to zero does not. [Another](https://arxiv.org/abs/2606.18465)
# says that the norm acts through the scale of the logits. Here their length alone, held from the first step on, does
# next to nothing. A length that follows a remedy's step by step is not tried.
#
# ## The claims
#
# The tests were registered before the runs. A norm is the median over the remedy's five test seeds at its onset, to two
# digits. A run without an onset counts as the last step. What a task shares with [the page before](why.ipynb) stands
# there: on the smaller addition decay's norms matrix by matrix.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims, and what was run"
sheet.closing(*records.values(), first)

# %% [markdown]
# ## What was run
#
# 1. *Tasks.* The networks of the pages [A](addition.ipynb), [B](larger.ipynb) and [E](parity.ipynb), with 1,000, 3,000
#    and 2,500 steps at most, on a CPU. Five seeds where nothing else is said.
# 2. *Rate and betas.* Those that the remedy's tuning chose; AdamW without decay.
# 3. *Held matrices.* After every step a matrix is scaled to its norm; for the total norm all three by one factor. The
#    moments of AdamW are not scaled, and biases are free.
# 4. *Held logits.* The loss sees each sample's logits scaled to one length, that of the remedy at its onset.
#
# ## Run it yourself
#
# ```bash
# make page PAGE=remedies/elsewhere SCALE=laptop
# ```
