# %% [markdown]
# # [Question]{.kicker} Which remedy should I use?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np
from pandas import concat

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q09", scale, retrain, device)
tested, tuned = page.record("remedies/test-a"), page.record("remedies/tune-a")
parity = page.record("remedies/test-e")
tables_of = [  # Prieto's MLP; the last has more rates for ⊥Grad
    page.record(f"prieto2025/{name}") for name in ("fig15", "fig15slow", "rates")
]
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
tables_of_arms = [
    (record, arm)
    for record in tables_of
    for arm in record.experiment.arms
    if record.seeds(arm.name) and not arm.name.startswith("StableMax")
]
for record, arm in tables_of_arms:
    method = DECAY if "decay" in arm.name else PERP
    key = ("Prieto", method, arm.optimizer.options["lr"])
    grids.setdefault(key, []).append(Run(record, arm.name).onset())
best = {key: min(found, key=claims.median) for key, found in grids.items()}
fails = {
    name: [np.isinf(onset).any() for key, onset in best.items() if key[1] == name]
    for name in (DECAY, PERP)
}
assert not any(fails[DECAY])
worked = {  # rates at which a remedy did, in either network
    name: sorted(
        {key[2] for key, onset in best.items() if key[1] == name}
        - {
            key[2]
            for key, onset in best.items()
            if key[1] == name and np.isinf(onset).any()
        }
    )
    for name in (DECAY, PERP)
}
every = sorted({key[2] for key in best if key[1] == DECAY})
ones = [  # rate and onsets of a decay of 1, both networks
    (arm.optimizer.options["lr"], Run(record, arm.name).onset())
    for record in (tuned, *tables_of)
    for arm in record.experiment.arms
    if arm.optimizer.options.get("weight_decay") == 1 and record.seeds(arm.name)
]
missed = {rate for rate, onset in ones if np.isinf(onset).any()}
small = {key[2] for key in best if key[:2] == ("tuning", DECAY)}
steady = min(rate for rate in small if rate > max(missed))  # tried in both
lengths = [cap, *(arm.epochs for _, arm in tables_of_arms)]
quick, safe = (claims.median(came[name]) for name in (PERP, DECAY))
first, last = worked[PERP][0], worked[PERP][-1]
below, above = (  # runs of ⊥Grad at rates outside of its window, both networks
    concat([o for key, o in best.items() if key[1] == PERP and is_outside(key[2])])
    for is_outside in (lambda rate: rate < first, lambda rate: rate > last)
)
assert not np.isfinite(above).any()
ties = [  # the larger MLP, each at its best rate
    min(claims.median(o) for key, o in best.items() if key[:2] == ("Prieto", name))
    for name in (PERP, DECAY)
]
assert abs(ties[0] - ties[1]) < 0.2 * ties[1]
finer = page.record("remedies/test2-b")  # addition modulo 97, the second tuning
(fast,) = [arm for arm in finer.experiment.arms if arm.name.startswith(f"{PERP},")]
assert np.isfinite(Run(finer, fast.name).onset()).all()
again = {  # sparse parity, the second tuning
    arm.name.split(",")[0]: Run(second, arm.name).onset()
    for second in [page.record("remedies/test2-e")]
    for arm in second.experiment.arms
}
layered = page.record("remedies/test2-d")  # a transformer, tuned
blocks_tuned = {
    arm.name.split(",")[0]: Run(layered, arm.name) for arm in layered.experiment.arms
}
MUON, GROKFAST = "Muon", "Grokfast as published"
assert all((again[name] < again[PERP]).all() for name in (MUON, GROKFAST))
assert all((again[name] < again[DECAY]).all() for name in (MUON, GROKFAST))
sheet = claims.read(page.name, {})
sheet.box(f"""Begin with weight decay in AdamW, and tune the learning rate. In two
MLPs on modular addition some strength of decay worked at every rate that we tried,
from {every[0]:g} to {every[-2]:g}, in the larger one to {every[-1]:g}: every run generalised there (single runs in the
smaller one). A decay of one (not drawn by itself) worked in every
run from a rate of {steady:g} on. On sparse parity and in a transformer no decay that was tried worked at the largest
rates (single runs, not drawn).

⊥Grad, which takes the part of the gradient along the
weights away, can be quicker. With both tuned, the smaller MLP generalised at step
{quick:.0f} in place of {safe:.0f} (medians of {len(came[PERP])} runs; decays were tried
a factor of ten apart, and in a finer tuning decay came close). In the larger MLP, each at its
best rate, neither leads. And ⊥Grad worked at some rates only: from {first:g} (not with every β2 of Adam) to {last:g} or a
little more. At lower rates {np.isfinite(below).sum()} of {len(below)} runs, each at its best β2,
had generalised when training ended, and at {every[-1]:g}, in the larger MLP alone,
{np.isfinite(above).sum()} of {len(above)} runs. These trainings had {min(lengths):,} to {max(lengths):,} steps.

Which remedy is first differs from setting to setting (finer tuning on the page of all remedies, not drawn). On one addition it
is ⊥Grad. On another Grokfast with its authors' settings is about as early as ⊥Grad. On sparse parity Muon and Grokfast come before
both, and decay does not get every run to generalise. In a one-layer transformer on addition a clip of each row's norm is
first in most pairs of runs, decay is second, and ⊥Grad comes later in all.

Tune the learning rate again when you widen a network. At four times the width ⊥Grad generalised in no run at the rate of
the narrow network, from half of the sums or from 60 %. At a quarter of that rate, from half of them, it did in every run (not drawn).

On MNIST, as this comparison was set up, nothing was delayed. Text was not compared at tuned rates. The page "Does your training stall?" has a diagnosis and the settings.""")

# %% tags=["hide-input"]
#| name: fig-questions-09
#| caption: >
#|   On two additions ⊥Grad is first where its learning rate fits, and some weight decay works at every rate. A dot is one run, at
#|   the step from which on it has 90 % of the test set; an arrow is where training ended before that. (a) A
#|   small MLP, addition modulo 59: each remedy at the rate and strength that its own tuning chose. (b) By
#|   learning rate, each remedy at its best strength there; lines join medians. Filled: Prieto et al.'s MLP,
#|   addition modulo 113; at 0.005, 0.007 and 0.02 ⊥Grad alone was run, and at 0.002 and 0.003 no decay but
#|   that of 1. Hollow: the small MLP of (a) in its tuning, single runs.
#| alt: >
#|   Left: ⊥Grad near 60 steps, L2 and weight decay near 150, two penalties that shorten activations near 300,
#|   dropout and a short first matrix at 500 and more; no remedy, StableMax, softmax without rounding, Tiwari's
#|   penalty, layer norm and Grokfast have arrows at 1,000. Right: curves of decay fall from above 1,000 to 115 with
#|   the rate. Those of ⊥Grad lie lower from 0.005 to 0.02, with arrows at 1,000 to 5,000 for rates up to 0.003
#|   and for 0.05.
#| fold: "Code: draw the figure"
NAMES = {
    DECAY: "weight decay",
    "coupled L2": "L2 in the loss",
    "collapse-free loss": "softmax without rounding",
    "activations": "activations to zero",
    "radius with tuned target": "short activations",
    "radius to √d": "Tiwari's penalty",
    "first matrix held short": "short first matrix",
    "none": "no remedy",
}
INK = {
    DECAY: plots.COLOUR["weight decay"],
    PERP: plots.COLOUR["⊥Grad"],
    PULL: plots.COLOUR["MAN"],
}
figure, (ranks, rates) = plots.panels(2, height=4.0)
for y, name in enumerate(order):
    color, there = INK.get(name, plots.GREY), came[name][np.isfinite(came[name])]
    places = y + 0.07 * (np.arange(len(there)) - (len(there) - 1) / 2)
    ranks.plot(there, places, "o", ms=5.5, alpha=0.85, color=color)
    if len(there) < len(came[name]):
        ranks.plot(cap, y, ">", ms=7, color=color)
for name, middle in ((PERP, quick), (DECAY, safe)):
    place = {"va": "center", "ha": "right", "color": INK[name]}
    place["bbox"] = {"fc": "white", "ec": "none", "pad": 0.5}  # off the grid line
    ranks.text(0.75 * middle, order.index(name), f"{middle:.0f}", **place)
ranks.text(
    900, order.index("none"), f"not by {cap:,}", va="center", ha="right", fontsize=9
)
ranks.set(
    xscale="log",
    xlim=(25, 1400),
    ylim=(len(order) - 0.5, -0.5),
    xlabel="step of generalising",
)
ranks.set_yticks(range(len(order)), [NAMES.get(name, name) for name in order])
ticks = sorted({key[2] for key in best} - {0.002, 0.007, 0.02})  # would overlap
ends = {"tuning": dict.fromkeys(ticks, cap)}
ends["Prieto"] = {a.optimizer.options["lr"]: a.epochs for _, a in tables_of_arms}
for network in ends:
    face = {"mfc": "white"} if network == "tuning" else {}
    for name in (DECAY, PERP):
        known = {key[2]: best[key] for key in best if key[:2] == (network, name)}
        line = {r: claims.median(of) for r, of in sorted(known.items())}
        there = {rate: at for rate, at in line.items() if np.isfinite(at)}
        places = [rate * (1.08 if name == PERP else 1) for rate in there]
        rates.plot(places, [*there.values()], "-", lw=1, color=INK[name])
        for rate, onset in known.items():
            found, at = onset[np.isfinite(onset)], rate * (1.08 if name == PERP else 1)
            rates.plot([at] * len(found), found, "o", ms=5.5, color=INK[name], **face)
            if len(found) < len(onset):
                end = ends[network][rate]
                rates.plot(at, end, "^", ms=8, color=INK[name], **face)
rates.text(0.0045, 1500, "weight decay", color=INK[DECAY])
rates.text(0.0085, 55, "⊥Grad", color=INK[PERP], ha="right")
rates.text(0.00105, 6300, "⊥Grad: not by the end", color=INK[PERP], fontsize=9)
rates.set(
    xscale="log",
    yscale="log",
    xlim=(0.0008, 0.07),
    ylim=(30, 10_000),
    xlabel="learning rate",
    ylabel="step of generalising",
)
rates.set_xticks(ticks, [f"{rate:g}" for rate in ticks], fontsize=9, rotation=45)
rates.minorticks_off()
rates.set_yticks([100, 1000, 5000], ["100", "1,000", "5,000"])
rates.plot([], [], "o", color=plots.GREY, label="Prieto's MLP (b)")
rates.plot([], [], "o", color=plots.GREY, mfc="white", label="small MLP (b)")
rates.plot([], [], ">", color=plots.GREY, label="not by the end")
figure.legend(loc="outside upper center", ncols=3)
plots.letter((ranks, rates), ["each remedy tuned", "by learning rate"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
decayed, perp, both = (
    Run(transformer, f"no-norm, subtraction: {arm}")
    for arm in ("AdamW, decay 1.5", "⊥AdamW", "⊥AdamW + StableMax")
)
larger = page.record("remedies/test-b")
more = {arm.name.split(",")[0]: Run(larger, arm.name) for arm in larger.experiment.arms}
normed, plain = (Run(singh, arm).reaches(loss=0.01) for arm in ("M", "No LN"))
tables.prose(f"""
**Tune the learning rate first.** In [the comparison of remedies](../remedies/addition.ipynb) weight decay generalises at step
{told(best["tuning", DECAY, 0.001])} with a rate of 0.001 and at {told(best["tuning", DECAY, 0.03])} with 0.03 (runs: {len(best["tuning", DECAY, 0.03])} each). In [Prieto's
MLP](../prieto2025/fig15_weight_decay.ipynb) it generalises at {told(best["Prieto", DECAY, 0.001])} with 0.001 and at
{told(best["Prieto", DECAY, 0.05])} with 0.05. Another remedy in place of decay gains less. What rate and decay do together is [a question of
its own](q04_rate_and_decay.ipynb).

**{{term}}`Weight decay` is the safe choice.** Which strength works depends on the rate: at 0.05 a decay of 8 keeps Prieto's MLP from fitting.
Coupled L2, the classical penalty on weights, is as early on the small table.

**{{term}}`⊥Grad <orthogonal gradient>` is the quick one, if the rate fits.** In Prieto's MLP it is first at a rate of 0.01, at {told(best["Prieto", PERP, 0.01])}
against {told(best["Prieto", DECAY, 0.01])}. But decay at 0.05 takes {told(best["Prieto", DECAY, 0.05])}, so that with each at its best rate neither leads there.
In the small MLP decay was tuned at strengths a factor of ten apart. In [a finer tuning](../remedies/matrix.ipynb) one in between
is nearly as early as ⊥Grad, and on addition modulo 97 ⊥Grad generalises at a rate of {fast.optimizer.options["lr"]:g} too.

**In a transformer ⊥Grad alone is slow.** In one layer without a norm, on addition modulo 113 with each [tuned there](../remedies/matrix.ipynb), it
generalises at step {told(blocks_tuned[PERP].onset())}, weight decay at {told(blocks_tuned[DECAY].onset())}, and a clip of each row's norm after the step at
{told(blocks_tuned["row norms clipped"].onset())}. [On subtraction](../prieto2025/fig06_orthogonal_optimizers.ipynb), at rates that were not tuned, ⊥Grad needs
{{term}}`StableMax` as well to be ahead of weight decay (last row of the table). With decay and a [norm before the MLP](q05_layer_norm.ipynb) the
test loss first reaches 0.01 at epoch {told(normed)} against {told(plain)}, but bursts throw the network back.

**Small activations come after decay.** Tuned, a pull to zero takes {told(came[PULL])} steps and one to a short
radius {told(came["radius with tuned target"])}. At the usual rate, 0.001, the pull leads
({told(best["tuning", PULL, 0.001])} against {told(best["tuning", DECAY, 0.001])}; [more](q08_small_activations.ipynb)).

**What not to expect.** On the small table Tiwari's penalty to √d generalised in {np.isfinite(came["radius to √d"]).sum()} of {len(came["radius to √d"])} runs, and StableMax in
{np.isfinite(came["StableMax"]).sum()} of {len(came["StableMax"])}, within {cap:,} steps; [StableMax](q03_stablemax.ipynb) needs tens of thousands. Dropout is late.
[On MNIST](../remedies/images.ipynb) nothing is delayed, and penalties on activations harm.

**How far this goes.** Small networks. Runs of the comparison end at 99 % of the test set: what comes later is not known.
[Does your training stall?](../remedies/use.ipynb) has a diagnosis of your own network, and settings and lines of code; [one page](../remedies/matrix.ipynb) has all remedies on all tasks.
""")

# %% tags=["remove-input"]
parities = {
    arm.name.split(",")[0]: Run(parity, arm.name) for arm in parity.experiment.arms
}
LISTED = ("none", DECAY, "coupled L2", PERP, "StableMax")


def cell(found, name):
    """When a remedy generalised, how long it was tried, or that it was not."""
    if name not in found:
        return "not run"
    run = found[name]
    return told(run.onset()).replace("never", f"not by {run.settings.epochs:,}")


tested_of = {
    arm.name.split(",")[0]: Run(tested, arm.name)
    for arm in tested.experiment.arms
    if arm.name.count(",") == 2 and tested.seeds(arm.name)
}
blocks = {DECAY: decayed, PERP: perp}
rows = [
    [what, *(cell(found, name) for name in LISTED)]
    for what, found in (
        ("addition modulo 59, MLP", tested_of),
        ("addition modulo 97, MLP", more),
        ("sparse parity, MLP", parities),
        ("addition modulo 113, transformer", blocks_tuned),
        ("subtraction, transformer (not tuned)", blocks),
    )
]
rows[-1][-1] = f"with ⊥Grad: {told(both.onset())}"
tables.grid(
    ["Task", "nothing", "weight decay", "coupled L2", "⊥Grad", "StableMax"],
    rows,
    caption="Step from which on 90 % of the test set is right: median and range of runs",
)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q09.md
# ```
#
# ## What would change our mind
#
# * Addition at width 512, each remedy tuned alike: `grokbook run remedies/tune-c --scale paper --record`. At the settings
#   of width 128 weight decay [generalises in some runs only](../remedies/matrix.ipynb) there, and ⊥Grad in none; at a quarter of the
#   rate both do in every run. If weight decay fails at other rates, it is no safe choice in wider networks.
# * A transformer with more layers or a layer norm, each remedy tuned there. In one layer without a norm clipped row norms and decay
#   [come before ⊥Grad](../remedies/matrix.ipynb).
#
# ## What was read
#
# Runs of the comparison of remedies on [addition](../remedies/addition.ipynb), [a larger addition](../remedies/larger.ipynb) and
# [sparse parity](../remedies/parity.ipynb), of Prieto et al., Figures [6](../prieto2025/fig06_orthogonal_optimizers.ipynb) and
# [15](../prieto2025/fig15_weight_decay.ipynb), and of Singh et al., [Figure 2](../singh2026/fig02_norm_positions.ipynb). Those
# pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
