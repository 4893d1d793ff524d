# %% [markdown]
# # [Question]{.kicker} Which remedy should I use?

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
page = evidence.Page("questions/q09", scale, retrain, device)
tested, tuned = page.record("remedies/test-a"), page.record("remedies/tune-a")
parity = page.record("remedies/test-e")
tables_of = [
    page.record(f"prieto2025/{name}") for name in ("fig15", "fig15slow")
]  # Prieto's MLP, at three rates
singh, transformer = (
    page.record("singh2026/fig02", arms=("M", "No LN")),
    page.record("prieto2025/fig06a"),
)
DECAY, PERP, PULL = "decay", "⊥Grad", "activations"
came = {}  # the small table, each remedy at its tuned rate and strength
for arm in tested.experiment.arms:
    if arm.name.count(",") == 2 and tested.seeds(arm.name):
        came[arm.name.split(",")[0]] = Run(tested, arm.name).onset()
cap = tested.experiment.arms[0].epochs
order = sorted(came, key=lambda name: came[name].clip(upper=cap).mean())
grids = {}  # by network, remedy and learning rate: the onsets of all strengths
for arm in tuned.experiment.arms:
    name, rate = arm.name.split(",")[0], arm.optimizer.options["lr"]
    if name in (DECAY, PERP, PULL) and tuned.seeds(arm.name):
        grids.setdefault(("tuning", name, rate), []).append(
            Run(tuned, arm.name).onset()[:1]
        )
for record in tables_of:
    for arm in record.experiment.arms:
        key = (
            "Prieto",
            DECAY if "decay" in arm.name else PERP,
            arm.optimizer.options["lr"],
        )
        grids.setdefault(key, []).append(Run(record, arm.name).onset())
best = {key: min(found, key=claims.median) for key, found in grids.items()}
fails = {
    name: [np.isinf(onset).any() for key, onset in best.items() if key[1] == name]
    for name in (DECAY, PERP)
}
assert not any(fails[DECAY])
sheet = claims.read(page.name, {})
limits = sorted(
    {cap, *(arm.epochs for record in tables_of for arm in record.experiment.arms)}
)
sheet.box(
    "Weight decay, with a tuned rate. In two MLPs some strength of it worked at every rate that we tried. "
    f"⊥Grad is quicker where it works, in {len(fails[PERP]) - sum(fails[PERP])} of {len(fails[PERP])} pairs of network and rate; in the others "
    f"it had not generalised when its runs ended, after {limits[0]:,} to {limits[-1]:,} steps."
)

# %% tags=["hide-input"]
#| name: fig-questions-09
#| caption: >
#|   Some weight decay works at every learning rate tried, ⊥Grad at some rates. In the grey margin: not within the run. (a) A small MLP,
#|   addition modulo 59: each remedy at the rate and strength that its tuning chose; one mark a seed.
#|   (b) By learning rate, the best strength of each. Circles: Prieto's MLP, five seeds.
#|   Triangles: the tuning of (a), one seed.
#| alt: >
#|   Left: ⊥Grad near 60 steps, coupled L2 and decay near 150, the pulls of activations near 300, dropout
#|   and a short first matrix at 500 and more; StableMax, the penalty to √d and no remedy never. Right: purple
#|   marks of decay fall from 1,100 to 120 with the rate; blue ones of ⊥Grad are lower at 0.01 and 0.03, else never.
#| fold: "Code: draw the figure"
NAMES = {DECAY: "weight decay", "activations": "pull to zero", "radius with tuned target": "pull to tuned target", "radius to √d": "penalty to √d",
         "first matrix held short": "first matrix short", "none": "nothing"}  # fmt: skip
INK = {
    DECAY: plots.COLOUR["weight decay"],
    PERP: plots.COLOUR["⊥Grad"],
    PULL: plots.COLOUR["MAN"],
}
LABELS = {DECAY: "weight decay", PERP: "⊥Grad", PULL: "pull to zero"}
figure, (ranks, rates) = plots.panels(2, height=3.8)
for y, name in enumerate(order):
    places = y + 0.07 * (np.arange(len(came[name])) - len(came[name]) / 2)
    ranks.plot(
        came[name].clip(upper=1.3 * cap),
        places,
        "o",
        ms=5.5,
        alpha=0.85,
        color=INK.get(name, plots.GREY),
    )
ranks.axvspan(1.07 * cap, 1.7 * cap, color="#EEEEEE", lw=0)
ranks.set(
    xscale="log",
    xlim=(30, 1.7 * cap),
    ylim=(len(order) - 0.5, -0.5),
    xlabel="step of generalising",
)
ranks.set_yticks(range(len(order)), [NAMES.get(name, name) for name in order])
END = 5000
for (network, name, rate), onset in best.items():
    place = (
        rate
        * {DECAY: 0.93, PERP: 1.07, PULL: 1.0}[name]
        * (1.06 if network == "Prieto" else 0.94)
    )
    rates.plot(
        [place] * len(onset),
        onset.clip(upper=1.4 * END),
        "o" if network == "Prieto" else "^",
        ms=6,
        alpha=0.85,
        color=INK[name],
    )
rates.axhspan(1.07 * END, 1.9 * END, color="#EEEEEE", lw=0)
rates.set(
    xscale="log",
    yscale="log",
    ylim=(30, 1.9 * END),
    xlabel="learning rate",
    ylabel="step of generalising",
)
for name, label in LABELS.items():
    rates.plot([], [], "s", color=INK[name], label=label)
for marker, label in (("o", "Prieto's MLP (b)"), ("^", "tuning of (a)")):
    rates.plot([], [], marker, color=plots.GREY, label=label)
figure.legend(loc="outside upper center", ncols=5, columnspacing=1, handletextpad=0.2)
plots.letter((ranks, rates), ["tuned alike", "by learning rate"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
decayed, perp, both = (
    Run(transformer, f"no-norm, subtraction: {arm}")
    for arm in ("AdamW, decay 1.5", "⊥AdamW", "⊥AdamW + StableMax")
)
bits = {
    arm.name.split(",")[0]: told(Run(parity, arm.name).onset())
    for arm in parity.experiment.arms
}
normed, plain = (Run(singh, arm).reaches(loss=0.01) for arm in ("M", "No LN"))
tables.prose(f"""
**Tune the learning rate first.** In [the comparison of remedies](../remedies/addition.ipynb) weight decay generalises at step
{told(best["tuning", DECAY, 0.001])} with a rate of 0.001 and at {told(best["tuning", DECAY, 0.03])} with 0.03, in one seed. In [Prieto's
MLP](../prieto2025/fig15_weight_decay.ipynb) it does at {told(best["Prieto", DECAY, 0.001])} with 0.001 and at
{told(best["Prieto", DECAY, 0.05])} with 0.05. All runs of the comparison end after {cap:,} steps, whatever their rate. Another remedy in place of decay gains less. What rate and decay do together is [a question of
its own](q04_rate_and_decay.ipynb).

**{{term}}`Weight decay` is the safe choice.** Some decay worked at every rate tried, in both networks; which one depends on the rate. Coupled L2 is as early:
{told(came["coupled L2"])} against {told(came[DECAY])}, each tuned.

**{{term}}`⊥Grad <orthogonal gradient>` is the quick one, if the rate fits.** Tuned, it generalises at {told(came[PERP])} in the small MLP, ahead of all others.
Decay was tuned there at strengths a factor of ten apart, and one in between may be earlier.
In Prieto's MLP it is first at a rate of 0.01, at {told(best["Prieto", PERP, 0.01])} against {told(best["Prieto", DECAY, 0.01])}. At 0.05 decay is at
{told(best["Prieto", DECAY, 0.05])}, so that with each at its best neither leads. Below 0.01, and at 0.05, ⊥Grad did not generalise within its runs.

**In a transformer ⊥Grad alone is slow.** [There](../prieto2025/fig06_orthogonal_optimizers.ipynb) it passes 90 % of the test set for good at
{told(perp.onset())}, with {{term}}`StableMax` at {told(both.onset())}, and weight decay does at {told(decayed.onset())}. Rates were
not tuned there. With decay and a [norm before the MLP](q05_layer_norm.ipynb) the test loss first reaches 0.01 at epoch {told(normed)} against
{told(plain)}, but bursts throw the network back.

**Small activations come after decay.** Tuned, a pull to zero comes at {told(came[PULL])}, one to a short
radius at {told(came["radius with tuned target"])}. At the usual rate, 0.001, it leads
({told(best["tuning", PULL, 0.001])} against {told(best["tuning", DECAY, 0.001])}, in one seed; [more](q08_small_activations.ipynb)).

**What not to expect.** Tiwari's penalty to √d generalised in {np.isfinite(came["radius to √d"]).sum()} of {len(came["radius to √d"])} runs, and StableMax in
{np.isfinite(came["StableMax"]).sum()} of {len(came["StableMax"])}, within {cap:,} steps. In larger MLPs [StableMax](q03_stablemax.ipynb) needs tens of thousands. Dropout comes late.

**On [sparse parity](../remedies/parity.ipynb) the same three lead:** ⊥Grad at {bits[PERP]}, coupled L2 at {bits["coupled L2"]}, weight decay at
{bits[DECAY]}. StableMax groks there, at {bits["StableMax"]}, by the cap of {parity.experiment.arms[0].epochs:,}. [On MNIST](../remedies/images.ipynb) with cross-entropy nothing is delayed, and penalties
on activations harm. [All of it](../remedies/matrix.ipynb).

**How far this goes.** Small networks. Runs of the comparison end at 99 % of the test set: what comes later is not known. Transformers and text are not compared at tuned rates.
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q09.md
# ```
#
# ## What would change our mind
#
# * A rate beyond 0.03 for decay and ⊥Grad on the small table. Both had their best point at the largest rate tried.
# * The transformer at a tuned rate, decay and ⊥Grad alike: `grokbook run remedies/tune-d --scale paper --record`.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(tested, tuned, parity, *tables_of, singh, transformer)
