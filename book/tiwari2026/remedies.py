# %% [markdown]
# # [Tiwari et al. 2026 · beyond the paper]{.kicker} Added to a large weight decay, 1 or 3, the penalty gains nothing

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("tiwari2026/remedies", scale, retrain, device)
record, tuned = page.record(arms=("softmax, penalty",)), page.record("tuned")
runs = {arm.name: Run(record, arm.name, arm.name) for arm in record.experiment.arms}
grid = {}
for arm in tuned.experiment.arms:
    rate, decay = arm.optimizer.options["lr"], arm.optimizer.options["weight_decay"]
    if tuned.seeds(arm.name):
        grid[bool(arm.penalties), rate, decay] = Run(tuned, arm.name, arm.name)


def best(charged):
    """The run of the earliest onset, with the penalty or without."""
    mine = [run for (kind, *_), run in grid.items() if kind == charged]
    return min(mine, key=lambda run: claims.median(run.onset()))


def ratio(bare, charged):
    return [charged, bare], evidence.ratio(bare.onset(), charged.onset())


same = {}  # both arms at a decay of 1, at width 128 and 512
for size in ("laptop", "paper"):
    one = evidence.record("tiwari2026/fractions", scale=size)
    same[size] = [
        Run(one, f"{kind}, decay 1, f = 0.6", f"{kind}, decay 1")
        for kind in ("no penalty", "penalty")
    ]
pair, COLLAPSED = (best(False), best(True)), ("softmax", "softmax, penalty")
collapse = {
    name: runs[name].last("collapse_float32", otherwise=0) for name in COLLAPSED
}
found = {
    "width-128": ratio(*same["laptop"]),
    "width-512": ratio(*same["paper"]),
    "best": ([*pair], ratio(*pair)[1]),
    "collapse": {name: (runs[name], share) for name, share in collapse.items()},
}
sheet = claims.read(page.name, found)
late, early = (claims.median(run.onset()) for run in same["paper"][::-1])
tied = claims.median(same["laptop"][0].onset())
sheet.box(f"""The paper expects its penalty to bring generalisation sooner than weight decay of a similar strength. It does not
say how to compare the two strengths, so we ran no test of that sentence. We ask another question: does the penalty help an MLP
that already has a large weight decay, 1 or 3? On modular addition it does not.

With a weight decay of 1, MLPs of the paper's width, 512,
generalise at a median of epoch {late:,.0f} with the penalty and {early:,.0f} without it, in {len(same["paper"][1].seeds)} runs of each. At
width 128 the median is {tied:,.0f} with it and without it. At the other rates and decays that we tried, networks with the penalty
are no earlier either.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-remedies
#| caption: >
#|   With a large weight decay the penalty brings grokking no sooner. Each row is one width of the
#|   network, learning rate and weight decay. Each dot is one run, without the penalty (black) or
#|   with it at the paper's strength, 0.05 (green); runs with the same epoch lie on one another. Each kind has three runs, but
#|   for two with the penalty at rate 0.003 and decay 1. The number beside the dots is
#|   their median (of two runs the smaller). Test accuracy is logged every 100 epochs. Addition modulo 97, 60 % of the pairs.
#| alt: >
#|   Rows of dots by rate and decay. At width 512 with decay 1 the dots with the penalty lie near
#|   1,900, those without near 1,300. At width 128 the two lie on each other or the penalty is later.
#| fold: "Code: draw the figure"
PLAIN, WITH = plots.BLACK, plots.COLOUR["penalty"]
beside = {
    "width 512\nrate 0.001, decay 1": same["paper"],
    "width 128\nrate 0.001, decay 1": same["laptop"],
}
for _, rate, decay in sorted(key for key in grid if key[0] and key[1:] != (0.001, 1.0)):
    beside[f"width 128\nrate {rate:g}, decay {decay:g}"] = [
        grid[kind, rate, decay] for kind in (False, True)
    ]


def dots(panel, rows, measure):
    """One row for each pair of runs: dots without the penalty above those with it."""
    for y, two in enumerate(rows.values()):
        for run, color, shift in zip(two, (PLAIN, WITH), (-0.16, 0.16), strict=True):
            value = measure(run)
            panel.plot(value, [y + shift] * len(value), "o", ms=6, color=color)
    panel.set(yticks=range(len(rows)), yticklabels=rows, ylim=(len(rows) - 0.5, -0.5))
    panel.plot([], [], "o", color=PLAIN, label="without the penalty")
    panel.plot([], [], "o", color=WITH, label="with the penalty")


figure, (panel,) = plots.panels(1, height=3.4)
dots(panel, beside, lambda run: run.onset())
for y, two in enumerate(beside.values()):
    for run, color, shift in zip(two, (PLAIN, WITH), (-0.16, 0.16), strict=True):
        end = run.onset().max(), y + shift
        words = f"{claims.median(run.onset()):,.0f}"
        place = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        panel.annotate(words, end, (7, 0), color=color, **place)
panel.set(xlim=(0, 2300), xlabel="epoch of generalisation")
panel.xaxis.set_major_formatter("{x:,.0f}")
figure.legend(loc="outside upper center", ncols=2)
plots.show(figure)

# %% [markdown]
# ## What to see
#
# * **With a decay of 1 or 3** the green dots lie on the black ones or to their right, at every rate.
# * **Without any decay** (second figure) networks with the penalty know more test pairs in the end, with three
#   of four losses. Most of this is seen once; with {term}`StableMax` and the penalty the network generalises.
# * **It does not help by preventing collapse.** With softmax it gains as much as with the {term}`collapse-free
#   cross-entropy`, a loss that cannot collapse.

# %% tags=["hide-input"]
#| name: fig-tiwari2026-remedies-free
#| caption: >
#|   Without any weight decay the penalty raises the test accuracy with softmax, with a loss that
#|   cannot collapse and with StableMax, and lowers it with ⊥Grad. Test accuracy after 8,000 epochs,
#|   or when a run ended at 99.9 %. Each dot is one run, width 128.
#| alt: >
#|   Four rows of dots. The penalty raises the final test accuracy with softmax and with the
#|   collapse-free loss from a fifth to a half, with StableMax from 84 to 100 percent, and with
#|   orthogonal gradients it lowers it.
#| fold: "Code: draw the runs without decay"
ways = {
    "softmax": "softmax",
    "exact": "collapse-free",
    "StableMax": "StableMax",
    "⊥Grad": "⊥Grad",
}
free = {word: (runs[way], runs[f"{way}, penalty"]) for way, word in ways.items()}
figure, (panel,) = plots.panels(1, height=2.8)
dots(panel, free, lambda run: 100 * run.last("test_accuracy"))
panel.set(xlim=(-3, 103), xlabel="test accuracy at the end (%)")
figure.legend(loc="outside upper center", ncols=2)
plots.show(figure)


# %% tags=["remove-input"]
def case(run):
    """The onset of a run, or the accuracy that it ended with."""
    if math.isfinite(claims.median(run.onset())):
        return f"epoch {told(run.onset())}"
    return f"{told(run.last('test_accuracy'), '{:.0%}')} after {run.settings.epochs:,}"


lines = [
    [where, name, *map(case, two), " and ".join(str(len(run.seeds)) for run in two)]
    for where, rows in (("no decay", free), ("the same decay", beside))
    for name, two in rows.items()
]
tables.grid(["", "Trained with", "Without the penalty", "With it", "Runs"], lines)

# %% [markdown]
# ## The idea
#
# {cite:t}`prieto2025` find that without {term}`weight decay` a network stops at
# {term}`softmax collapse`, and that StableMax or {term}`orthogonal gradients <orthogonal
# gradient>` get it going again. {cite:t}`tiwari2026` say that hidden activations grow until
# the softmax saturates. {term}`Radial suppression` is to stop that. If so, the penalty
# should do what the two remedies do, and add nothing to them.
#
# It need not. The penalty fixes the {term}`radius` of the hidden layers, not the size of
# the {term}`logits <logit>`: the last matrix is free to grow. For a row $h$ with
# $|h| = \sqrt d$ the largest gap that a matrix of norm $s$ can make is $s \sqrt{2d}$:

# %%
import torch

d = 128
h = torch.randn(d)
h *= d**0.5 / h.norm()
for size in (0.5, 1.0, 2.0):
    rows = torch.stack([h, -h]) / h.norm() * size / 2**0.5  # Frobenius norm = size
    gap = float((rows @ h)[0] - (rows @ h)[1])
    print(f"matrix of norm {size}: gap {gap:.1f}")
    assert abs(gap - size * (2 * d) ** 0.5) < 1e-3

# %% [markdown]
# A gap of 17 is enough for a loss of exactly zero in float32. A matrix of norm 1.1 makes such a gap
# for one pair of classes.
#
# ## The claims
#
# The paper sets its penalty in the place of decay, at a "similar regularization strength" that
# it does not define. Its own pair is the penalty at 0.05 with a decay of 0.001 against a decay of 0.1
# ([Figure 1](fig01_accuracy_curves.ipynb)). The rows below ask something else: what the penalty
# adds to the same rate and decay. One pair has a decay of 1, another the best of a grid. They are
# tests of ours. Logs are 100 epochs apart, and a tie within one log counts as not above 1.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, tuned, *(bare.record for bare, _ in same.values()))

# %% [markdown]
# ## What was run
#
# 1. *No decay* in the second figure, as in Prieto et al., so that nothing but the loss and the penalty
#    acts. Their network and rate differ from these.
# 2. *"exact"* in the rows is the {term}`collapse-free cross-entropy`.
# 3. *Onset* is the first epoch from which on the test accuracy stays above 90 %.
# 4. *60 % of the pairs*, the cell of the paper's Table 6 where all methods are fastest.
# 5. *The same decay* here is 1 or 3. At the paper's 0.001 in both,
#    [Figure 1](fig01_accuracy_curves.ipynb) has the penalty ahead of a baseline without it;
#    neither generalises there.

# %% [markdown]
# ## Reading the result
#
# **Decay brings the printed epoch.** The paper sets its penalty against a decay of 0.1. With ten
# times that decay our networks are about as early as the paper's are with the penalty. Adding
# the penalty changes little or makes them slower. The grid is small, and the best point of
# both is its corner, so better ones may lie outside. A log is taken every 100 epochs, so at an onset of
# 300 we cannot see a third more or less.

# %% tags=["remove-input"]
tables.prose(f"""
**A way out of collapse?** Here there is hardly any {{term}}`softmax collapse` to leave: {sheet.told("collapse softmax")} of the
training samples have collapsed at the end with softmax, without the penalty. So something else holds this network
back without decay.

**Limits.** One task, small networks but for one pair, and single runs where the table says so. Networks that
did not generalise in {record.experiment.arms[0].epochs:,} epochs may generalise later.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-remedies-sphere
# Suppose every row has $|h| = \sqrt d$ and the head's rows have norm 1. How large can one
# logit be, and from which width on can a sample collapse in float32?
# ```
#
# ````{solution} ex-tiwari2026-remedies-sphere
# :class: dropdown
# A logit is at most $\sqrt d$ and a gap at most $2 \sqrt d$:
#
# ```python
# import math
# gap = 24 * math.log(2)
# print(f"from width {math.ceil((gap / 2) ** 2)} on")
# ```
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-remedies-fair
# The paper calls decay 0.1 "a fair comparison". What would you fix, and what would you let
# each method choose?
# ```
#
# ```{solution} ex-tiwari2026-remedies-fair
# :class: dropdown
# Fix network, data, start, budget and the number of settings tried. Let each method choose
# its rate, its decay and its own strength by the same rule, with seeds that are not those
# of the comparison.
# ```

# %% [markdown]
# ## Run it yourself
#
# All runs in about four hours on one core; a GPU takes those of the paper's width:
#
# ```bash
# make page PAGE=tiwari2026/remedies SCALE=laptop
# grokbook run tiwari2026/remedies tiwari2026/tuned --scale paper --device cuda
# ```
