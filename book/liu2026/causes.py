# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} In two MLPs either half of a collapse alone brings spikes

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
from functools import partial

import numpy as np
import torch
from pandas import DataFrame, Series

from grokbook import claims, evidence, losses, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/causes", scale, retrain, device)
NETWORKS = {  # the records of the first two interventions, and of the others
    "MLP, width 512": ("fig01", "causal512"),
    "MLP, width 20": ("fig06", "causal20"),
    "MLP, division": ("fig08", "fig08"),
    "transformer, division": ("fig07", "fig07"),
    "VGG-11": ("fig10", "fig10"),
}
WAYS = ("float32", "float64 loss", "projection", "W_G subtracted", "repair", "simulated collapse")
BASE, EXACT, ZERO, CENTRED, REPAIR, FORCED = WAYS
BROKEN, BOTH = "sum broken", "sum broken, W_G subtracted"
WAYS, (WIDE, NARROW, *_) = (*WAYS, BROKEN, BOTH), NETWORKS
runs = {}
for network, (first, rest) in NETWORKS.items():
    record = causal = page.record(first, arms=(BASE,))
    if rest != first:
        causal = page.record(rest, arms=(ZERO,))
    for way in WAYS:
        of = record if way in (BASE, EXACT) else causal
        runs[network, way] = Run(of, way, f"{network}: {way}", plots.COLOUR[way])


def shown(run):
    """What a network does, seeds down: inflation (1 or 0), and the spikes of its loss."""
    late, early = (evidence.bursts(run, late=kind) for kind in (True, False))
    last = {seed: max(of, default=math.nan) for seed, of in late.items()}
    counts = {"late": evidence.counted(late), "early": evidence.counted(early)}
    return DataFrame({"inflated": evidence.inflated(run), **counts, "last": Series(last)}, dtype=float)


found_in = {key: shown(run) for key, run in runs.items()}
# seeds that spike late with an exact loss too, where nothing is to be explained
late_exact = {network: found_in[network, EXACT]["late"] for network in NETWORKS}
unsettled = {network: list(late.index[late > 0]) for network, late in late_exact.items()}
seen = {
    (k, way): table if way == EXACT else table.drop(index=unsettled[k], errors="ignore")
    for (k, way), table in found_in.items()
}
seen = {key: table for key, table in seen.items() if len(table)}


def slopes(loss, margin, classes=10):
    """Gradient at the logits of a sample that leads by a margin, and its residual."""
    z = torch.zeros(1, classes)
    z[0, 0] = margin
    g = torch.func.grad(lambda z: loss(z, torch.tensor([0])))(z).double()[0]
    return g, (classes - 1) / (classes - 1 + math.exp(margin))


def told_of(column, keys):
    """A column of some networks and interventions, each by its name."""
    return {f"{k}, {way}": (runs[k, way], seen[k, way][column]) for k, way in keys}


wide = {(way, column): (runs[WIDE, way], seen[WIDE, way][column]) for way in WAYS for column in seen[WIDE, way]}
alike = {}  # share of late spikes before which all samples are collapsed
for network in (WIDE, NARROW):
    for way in (BASE, BROKEN):
        run = runs[network, way]
        late = {s: on for s, on in evidence.bursts(run, late=True).items() if s in seen[network, way].index}
        every = evidence.before(run, "collapsed", late, pick=lambda shares: np.mean([s == 1 for s in shares]))
        alike[f"{network}, {way}"] = run, every
claimed = ((WIDE, ZERO), (WIDE, BROKEN))  # their late spikes are claims
# gradient descent from one state of float32: where the loss of each branch goes, step by step
apart = page.record("branches")
branches = {way: Run(apart, way, way, plots.COLOUR[way]) for way in (BASE, ZERO, FORCED, BROKEN, EXACT, REPAIR)}
BRANCH = branches[BASE].settings.wrappers[0].options["after"]


def gone(run):
    """Steps after the branch until the loss is 0.1 or more or no number, or infinity."""
    away = {seed: ~(loss.loc[BRANCH:] < 0.1) for seed, loss in run.trace().items()}
    return Series({s: a.idxmax() - BRANCH if a.any() else math.inf for s, a in away.items()}, dtype=float)


def moved(run):
    """The largest difference from the losses of float32 in the steps that lead to the branch."""
    ours, theirs = run.trace(), branches[BASE].trace()
    return (ours - theirs).abs().loc[: BRANCH - 1].max().dropna()


def grown(run):
    """The norm of the mean classifier at the end over that at the branch."""
    return run.last("head_mean_norm") / run.at("head_mean_norm", BRANCH)


def second_half(run):
    """Bursts of any kind in the second half of training."""
    every, half = evidence.bursts(run), run.settings.epochs / 2
    return evidence.counted({seed: [e for e in on if e >= half] for seed, on in every.items()})


def moves(seed, classes=10):
    """Step of W_G over that of the head: gradient descent on an exact loss, Adam's first."""
    rng = torch.Generator().manual_seed(seed)
    features = torch.randn(200, 64, generator=rng, dtype=torch.float64).relu()
    head = torch.randn(classes, 64, generator=rng, dtype=torch.float64) / 8
    logits, labels = features @ head.T, torch.arange(200) % classes
    g = (logits.softmax(dim=1) - torch.eye(classes)[labels]).T @ features / 200
    return [float(s.mean(dim=0).norm() * classes**0.5 / s.norm()) for s in (g, g / (g.abs() + 1e-8))]


ends = {(k, way): second_half(runs[k, way]) for k in (WIDE, NARROW) for way in WAYS}
plain, adams = zip(*map(moves, range(5)), strict=True)
sides = [slopes(losses.projected_cross_entropy, margin) for margin in range(10, 31)]
sums = [abs(float(g.sum())) / eps for g, eps in sides]
found = {
    "projection": wide[ZERO, "late"],
    "projection-inflation": wide[ZERO, "inflated"],
    "subtracted": wide[CENTRED, "late"],
    "broken": wide[BROKEN, "late"],
    "float32": wide[BASE, "late"],
    "float32-inflation": wide[BASE, "inflated"],
    "float64": wide[EXACT, "late"],
    "zero-sum": claims.exactly(
        f"all below {10.0 ** math.ceil(math.log10(max(sums))):.0e}", [share <= 0.01 for share in sums]
    ),
    "late": told_of(
        "late", [k for k in seen if k[1] not in (BASE, EXACT, CENTRED) and k not in claimed]
    ),
    "inflation": told_of("inflated", [key for key in seen if key[1] in (BROKEN, BOTH)]),
    "all-collapsed": alike,
    "conservation": claims.exactly(f"at most {max(plain):.0e}", [share <= 1e-12 for share in plain]),
    "conservation-adam": claims.exactly(
        f"{min(adams):.2f} to {max(adams):.2f} of it", [share <= 0.1 for share in adams]
    ),
    "second-half": {f"{k}, {way}": (runs[k, way], many) for (k, way), many in ends.items()},
    "last": {way: (runs[WIDE, way], seen[WIDE, way]["last"].dropna()) for way in (BASE, ZERO)},
    "branch-state": {way: (run, moved(run)) for way, run in branches.items() if way != BASE},
    "branch-gone": {way: (branches[way], gone(branches[way])) for way in (BASE, ZERO, FORCED)},
    "branch-stays": {way: (branches[way], gone(branches[way])) for way in (EXACT, REPAIR, BROKEN)},
    "branch-sooner": {branches[way]: gone(branches[way]) for way in (ZERO, BASE)},
    "branch-inflates": (branches[BROKEN], grown(branches[BROKEN])),
    "branch-still": {way: (branches[way], grown(branches[way])) for way in (EXACT, REPAIR)},
}
sheet = claims.read(page.name, found)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-causes
#| caption: >
#|   Two outcomes of eight interventions on five networks. Left mark: seeds with inflation, of those
#|   informative. Right mark: late spikes, the median over seeds. Dark: there; pale: not
#|   there. Hollow: fewer than three seeds. Empty: not run, or no
#|   informative seed. A star marks a smaller task. Under
#|   each name: whether class sum and gradient of the correct class are as without rounding.
#| alt: >
#|   A matrix of interventions and networks. In both MLPs float32 and simulated collapse have
#|   inflation and spikes. The projection and the subtraction of the mean classifier have
#|   spikes without inflation. Float64 loss and repair have neither. Only the sum broken has
#|   both, and neither once the mean classifier is subtracted. A small VGG-11 does the same,
#|   but for inflation with collapse in one seed of two. Division has two or fewer rows.
#| fold: "Code: draw the table as a figure"
LINES = {BASE: "float32 loss", ZERO: "zero-sum projection", CENTRED: "$W_G$ subtracted"}
LINES |= {REPAIR: "correct class repaired", FORCED: "simulated collapse"}
LINES |= {BROKEN: "only the sum broken", BOTH: "the same, $W_G$ subtracted"}
KEPT = {BASE: "sum ✗  gradient ✗", EXACT: "sum ✓  gradient ✓", ZERO: "sum ✓  gradient ✗"}
KEPT |= {CENTRED: "no $W_G$,  gradient ✗", REPAIR: KEPT[EXACT], FORCED: KEPT[BASE]}
KEPT |= {BROKEN: "sum ✗  gradient ✓", BOTH: "no $W_G$,  gradient ✓"}


def tile(x, y, text, there, many):
    """A mark: dark where an outcome is there, hollow where fewer than three seeds say so."""
    color = plots.RED if there else "#D9E4EC"
    box = {"boxstyle": "round,pad=0.32", "lw": 1.6, "ec": color, "fc": color if many else "white"}
    ink = ("white" if many else plots.RED) if there else plots.BLACK
    axes.text(x, y, text, color=ink, ha="center", va="center", fontsize=10, bbox=box)


figure, (axes,) = plots.panels(1, height=5.2)
for column, network in enumerate(NETWORKS):
    for row, way in enumerate(WAYS):
        if (network, way) in seen:
            table = seen[network, way]
            held, n, count = int(table["inflated"].sum()), len(table), claims.median(table["late"])
            tile(column - 0.22, row, f"{held}/{n}", 2 * held > n, n >= 3)
            tile(column + 0.22, row, f"{count:,.0f}", count > 0, n >= 3)
    reduced = runs[network, BASE].record.scale != "paper"
    title = network.replace(", ", "\n") + "*" * reduced
    axes.text(column, -1.35, title, ha="center", va="center", fontweight="bold")
    for shift, word in ((-0.22, "inflation"), (0.22, "spikes")):
        axes.text(column + shift, -0.72, word, ha="center", va="center", fontsize=9)
for row in range(len(WAYS) + 1):
    axes.axhline(row - 0.5, color="#CCCCCC", lw=0.8)
axes.set(xlim=(-0.5, 4.5), ylim=(len(WAYS) - 0.5, -1.8), xticks=[])
axes.set_yticks(range(len(WAYS)), [f"{LINES.get(way, way)}\n{KEPT[way]}" for way in WAYS])
axes.tick_params(length=0)
axes.grid(visible=False)
axes.spines[:].set_visible(False)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def across(way):
    """What one intervention did, network by network."""
    parts = []
    for (network, of), table in seen.items():
        if of == way:
            late, last = told(table["late"]), told(table["last"].dropna(), nothing="")
            parts.append(f"{network}: inflation in {table['inflated'].sum():.0f} of {len(table)}, late spikes {late}")
            parts[-1] += f", the last at {last}" * bool(last)
    return "; ".join(parts)


tables.prose(f"""
Spikes are given as the median over seeds, with the range; the last one by its epoch.

* **Float32**, as the paper trains. {across(BASE)}.
* **{{term}}`Zero-sum projection`**, the paper's own test. {across(ZERO)}.
* **$W_G$ subtracted** after every step: no {{term}}`mean classifier` is left to drift.
  {across(CENTRED)}.
* **Correct class repaired** in float32: only the lost entry is put back. {across(REPAIR)}.
* **Float64 loss.** {across(EXACT)}.
* **Collapse simulated** in float64, without any rounding. {across(FORCED)}.
* **Only the sum broken** in float64: what the projection takes from a collapse is added to
  an exact gradient. {across(BROKEN)}.
* **The same with $W_G$ subtracted.** {across(BOTH)}.
""")

# %% [markdown]
# ## The idea
#
# {term}`Softmax collapse` changes one entry of the gradient at the {term}`logits <logit>`.
# With $\epsilon$ the {term}`residual mass` of a sample and $r$ its class:
#
# $$
# \text{exact: } g_r = -\epsilon, \quad \textstyle\sum_k g_k = 0
# \qquad\qquad
# \text{collapsed: } g_r = 0, \quad \textstyle\sum_k g_k = \epsilon .
# $$
#
# So two things happen at once. The sum over classes is no longer zero, which pushes the
# mean classifier: that is the paper's path, {term}`inflation`. And the correct class has no
# gradient, so that training stands still and Adam's denominator decays. What a collapse adds
# to the exact gradient is the sum of the two:
#
# $$
# \epsilon\, e_r \;=\; \tfrac{\epsilon}{K} (1, \dots, 1) \;+\;
# \epsilon \bigl(e_r - \tfrac1K (1, \dots, 1)\bigr) .
# $$
#
# The projection takes the first part away and leaves the second. *Only the sum broken* is the
# first part without the second, added to an exact gradient.

# %%
bare = losses.softmax_cross_entropy
ways = {
    "float32 loss": partial(bare, dtype=torch.float32),
    "float64 loss": partial(bare, dtype=torch.float64),
    "projection": losses.projected_cross_entropy,
    "repair": losses.repaired_cross_entropy,
    "simulated collapse": partial(losses.collapsed_cross_entropy, dtype=torch.float64),
    "sum broken": losses.unbalanced_cross_entropy,
}
print(f"{'margin 20':20} class sum / ε   correct gradient / -ε")
for name, loss in ways.items():
    g, eps = slopes(loss, 20.0)
    print(f"{name:20} {float(g.sum()) / eps:13.2f}   {abs(float(g[0])) / eps:21.2f}")

# %% [markdown]
# The paper needs both effects: inflation makes {term}`margins <margin>` fail, and the decayed
# denominator makes the step at the returning gradient large. The question is whether
# inflation is needed, and whether it is enough.

# %% [markdown]
# From collapse two paths lead on; the [front page of the chapter](index.md) has a picture of
# them. Each intervention cuts one or both:
#
# | Path | Cut by |
# | --- | --- |
# | class sum not zero → inflation, $W_G$ and $\mu_G$ grow | zero-sum projection, repair, float64 loss; between the two by $W_G$ subtraction |
# | no gradient of the correct class → Adam's denominator decays → spike | repair, float64 loss, and if only the sum is broken |
#
# The paper has the first path go on to the spike, by a lost gradient that comes back and helped
# by the second. So spikes should end where the projection or the subtraction cuts it. Where
# only the sum is broken, inflation alone is left, and no gradient was lost that could come back.

# %% [markdown]
# ## The traces

# %% tags=["hide-input"]
#| name: fig-liu2026-causes-traces
#| caption: >
#|   The loss of every step for one seed, the first informative one, under each intervention
#|   on the network that the title names. Dotted: the first late spike of float32.
#| alt: >
#|   Losses against epoch, one above the other. Float32, projection, subtraction, simulated
#|   collapse and the broken sum spike again and again. The float64 loss, repair and the
#|   broken sum with subtraction stay quiet.
#| fold: "Code: draw the traces"
seed = seen[WIDE, BASE].index[0]
spikes = evidence.bursts(runs[WIDE, BASE], late=True)[seed]
figure, axes = plots.panels(1, rows=len(WAYS), height=1.15, sharex=True, sharey=True)
for panel, way in zip(axes, WAYS, strict=True):
    plots.trace(panel, runs[WIDE, way], seed=seed)
    plots.mark(panel, spikes[:1], color=plots.GREY)
    panel.set(xlabel="", ylabel="loss", ylim=(5e-10, 1e5), yticks=[1e-8, 1e-4, 1])
    panel.text(0.99, 0.97, LINES.get(way, way), ha="right", va="top", transform=panel.transAxes)
axes[0].set_title(f"{WIDE}, seed {seed}", loc="left")
axes[-1].set_xlabel("epoch")
plots.thousands(axes[-1])
plots.show(figure)

# %% [markdown]
# ## Without Adam: gradient descent from one state
#
# The second path leads through Adam's denominator. Gradient descent has none. So the MLP was trained with
# Adam and a float32 loss to one state, at which most samples have collapsed. From there
# gradient descent goes on at a rate of 1,000, with another loss in each branch.

# %% tags=["hide-input"]
#| name: fig-liu2026-causes-branches
#| caption: >
#|   The training loss from the branch on, one panel per loss, a line per seed. It ends where
#|   the loss is no number any more; losses of zero lie on the lower edge. Before step 0 all
#|   branches of a seed are one run.
#| alt: >
#|   Six panels against steps of gradient descent. With the gradient of the correct class
#|   missing most losses rise from 1e-8 and end as no number: in float32, after the projection,
#|   in the simulation. With a float64 loss, with repair and with only the sum broken they stay.
#| fold: "Code: draw the branches"
figure, axes = plots.panels(3, rows=2, height=2.0, sharex=True, sharey=True)
for panel, run in zip(axes, branches.values(), strict=True):
    for seed in run.seeds:
        after = run.trace()[seed].loc[BRANCH - 100 :]
        panel.plot(after.index - BRANCH, after.clip(1e-10, 1e3), color=run.color, lw=1)
    panel.axvline(0, color=plots.GREY, ls=":", lw=1)
    panel.set(yscale="log", ylim=(5e-11, 2e3), yticks=[1e-8, 1e-4, 1])
    plots.thousands(panel)
for panel in axes[3:]:
    panel.set_xlabel("step after the branch")
axes[0].set_ylabel("loss")
axes[3].set_ylabel("loss")
plots.letter(axes, [LINES.get(way, way) for way in branches])
plots.show(figure)

# %% tags=["remove-input"]
def fate(ways):
    """Steps until the loss is 0.1 or no number, by loss."""
    return "; ".join(f"{LINES.get(w, w)} {told(gone(branches[w]))} (n = {len(branches[w].seeds)})" for w in ways)


def change(way, column):
    """A column at the branch and at the end."""
    run = branches[way]
    return f"{told(run.at(column, BRANCH), '{:.2f}')} to {told(run.last(column), '{:.2f}')}"


def lost_in(way):
    """In how many seeds the loss gets to 0.1 or no number."""
    return f"{(gone(branches[way]) < math.inf).sum()} of {len(branches[way].seeds)} seeds"


tables.prose(f"""
At the branch, {told(branches[BASE].at("collapsed", BRANCH), "{:.0%}")} of the samples are collapsed, and
the losses of the branches have been the same up to there. Steps until the loss is 0.1 or no number, of 1,200:

* **Correct gradient missing**: {fate((BASE, ZERO, FORCED))}.
* **Correct gradient there**: {fate((EXACT, REPAIR, BROKEN))}.
* With the **sum broken** there is inflation: the norm of $W_G$ goes from {change(BROKEN, "head_mean_norm")}, its
  cosine with $\\mu_G$ from {change(BROKEN, "mean_cosine")}. With a float64 loss they stay: {change(EXACT, "head_mean_norm")}
  and {change(EXACT, "mean_cosine")}.

**Divergence needs no denominator.** In float32 gradient descent loses the network in {lost_in(BASE)}. From the same
state, with a float64 loss, it is lost in {lost_in(EXACT)}. So the rounding after the branch decides, and not the state that
rounding has made.

**Inflation is not enough for it, and not needed.** With only the sum broken there is inflation, and the network is
lost in {lost_in(BROKEN)} within these steps. With the projection there is none, and it is lost in {lost_in(ZERO)}. We expected
all of them, and sooner than in float32. So a missing gradient can do without Adam, and without inflation, but it does not
always. Rate and steps are ours: this is one network at one rate.
""")

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001; those fewer
# than 60 steps apart are one. It is *late* if 40 % of the samples counted as collapsed at a
# look within 100 epochs before. Inflation is two of three signs after half of the samples
# have collapsed: the cosine of $W_G$ and the {term}`mean feature` falls by 0.3, the norm of
# $W_G$ doubles, the mean correct logit becomes negative.
#
# A seed is *informative* where the float64 loss has no late spike. Some narrow networks
# oscillate at the {term}`edge of stability` until 40 % of their samples have large
# margins, in float64 as in float32. There no intervention can be judged.
# Bounds and definitions were fixed before the runs, that of informative seeds after the
# first of them. The row of the broken sum was added with its first runs at hand; its bound is
# that of float32.

# %% tags=["hide-input"]
#| fold: "Code: the figure in numbers"
head = ["Network", "Loss", "Inflation", "Late spikes", "Last of them", "Early spikes", "Seeds left out", "Scale"]
rows = []
for (network, way), table in seen.items():
    run, none = runs[network, way], [] if way == EXACT else unsettled[network]
    left_out = [str(seed) for seed in run.seeds if seed in none]
    late, early = told(table["late"]), told(table["early"])
    counts = [f"{table['inflated'].sum():.0f} of {len(table)}", late, told(table["last"].dropna(), nothing="—"), early]
    rows.append([network, way, *counts, ", ".join(left_out) or "none", run.record.scale])
tables.folded("Inflation and spikes by network and intervention", head, rows)

# %% tags=["hide-input"]
#| fold: "Code: the same without these rules"
words = [[LINES.get(way, way).replace("$", ""), *(told(ends[k, way]) for k in (WIDE, NARROW))] for way in WAYS]
caption = "Without rules: bursts of any kind in the second half of training, of every seed (median, range)"
tables.grid(["Loss", WIDE, NARROW], words, caption=caption)

# %% [markdown]
# The last table needs no level of collapse and leaves no seed out. It counts what goes on for good. The narrow seeds
# that oscillate with any loss are at the upper ends of the ranges.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*(run.record for run in runs.values()), apart)

# %% [markdown]
# ## What was run
#
# 1. *Network.* The paper does not say where it tried the projection. The claims are judged
#    on the MLP of its Table 3; 200 training images are inferred.
# 2. *Projection.* As the paper writes it, on the gradient at the logits of every sample.
# 3. *Subtraction.* $W_k \leftarrow W_k - W_G$ after every step of Adam. The paper subtracts
#    $W_G$ in its mini-batch runs, and does not define when. The head's biases and Adam's
#    moments keep their means.
# 4. *Repair* and *simulated collapse* are ours. Repair keeps the float32 gradients of the
#    wrong classes and sets $g_r$ to minus their sum. The simulation computes in float64 and
#    sets $g_r$ to 0 where the residual mass is below $2^{-24}$. *Only the sum broken* adds
#    $\epsilon / K$ to every entry of the exact gradient in the same rows.
# 5. *Seeds* whose float64 run is not trained yet are kept.
# 6. *Gradient descent* begins at epoch 576, the middle one of the three at which the runs of
#    [Figure 9](fig09_cifar_mlp.ipynb) switch. A subtraction of $W_G$ acts from the start of a run, so it has no
#    branch. The bounds of these rows were registered before their runs. A pilot in other code, with two seeds, was
#    known, and so were the float32 runs of Figure 9 at this rate.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
def spiked(way):
    """Late spikes, the last of them, and samples collapsed at the end, at width 512."""
    table, share = seen[WIDE, way], runs[WIDE, way].last("collapsed")
    last = told(table["last"].dropna(), nothing="never")
    return f"{told(table['late'])}, the last at epoch {last}, {told(share, '{:.0%}')} collapsed"


many = {way: f"(n = {len(seen[WIDE, way])})" for way in WAYS}
outside = [f"{k} ({', '.join(map(str, of))})" for k, of in unsettled.items() if of]
shares = [
    f"{k}: {table['inflated'].sum():.0f} of {len(table)}" for (k, way), table in seen.items() if way == BASE
]
tables.prose(f"""
**Inflation is as the paper describes it.** It follows the class sum: it comes with
collapse, rounded or simulated, and with nothing but the sum broken; it is gone when the sum
is restored. Not every run with a collapse has it. Informative seeds of float32 that do:
{"; ".join(shares)}.

**A broken sum is enough for spikes.** With nothing else, in float64 and with nine tenths of
the correct gradient in place, three networks have slingshots, and inflation with them. So
inflation alone suffices for a spike, and rounding is not needed for it. It is a spike of another
kind. In the paper's path a lost gradient of the correct class comes back; here it is never lost.
Nor do these spikes begin as those of float32 do. In the narrow MLP, all samples are collapsed at the
last look before {sheet.told(f"all-collapsed {NARROW}, {BROKEN}")} of them, and before
{sheet.told(f"all-collapsed {NARROW}, {BASE}")} of those of float32.

**Its way leads through the mean classifier.** With only the sum broken and
$W_G$ subtracted after every step: {across(BOTH)}.

**Inflation is not necessary.** The spikes stay when the sum is restored and the correct
gradient is still missing. With the gradient missing they end only when both are restored. What
the paper reports of its projection, that it ends the spikes, is not what we find.

**With the sum broken they come for longer.** At width 512, late spikes with only the sum
broken: {spiked(BROKEN)} at the end {many[BROKEN]}. With only the gradient
missing: {spiked(ZERO)} {many[ZERO]}. With both, in float32: {spiked(BASE)}
{many[BASE]}. The projected runs end fully collapsed and quiet. A broken sum can
end that state again: spikes follow looks at which all samples have collapsed. With both, and
the {{term}}`mean classifier` subtracted: {spiked(CENTRED)} {many[CENTRED]}. So at
this width something else of the broken sum helps the missing gradient.

**Not in every network.** A small ResNet-18 loses the correct gradient of all its samples and
has no slingshot ([Figure 13](fig13_resnet.ipynb), where the number of runs is). A small
VGG-11 with batch norm has collapse and inflation, and no slingshot either
([Figure 11](fig11_vgg_batch_norm.ipynb)). So neither half is sufficient everywhere.

**What both halves do to Adam** is measured in [Figure 6](fig06_two_instabilities.ipynb), in float32:
its denominator decays until the preconditioned sharpness reaches the edge of stability. We have not
measured the curvature of an intervention, so which half that takes is open.

**Limits.** Left out as uninformative: {"; ".join(outside)}. An early oscillation that comes after 40 % of the samples have large
margins counts as late, with any loss. We read single spikes of the quiet arms as of that
kind. The VGG-11 is narrow, and the tasks of division are small.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-causes-projected
# What is left of the correct class's gradient after the projection of a collapsed sample,
# with 10 and with 97 classes?
# ```
#
# ````{solution} ex-liu2026-causes-projected
# :class: dropdown
# The mean $\epsilon / K$ is taken from $g_r = 0$, so $g_r = -\epsilon / K$:
#
# ```python
# import torch
# from grokbook.losses import projected_cross_entropy
# for classes in (10, 97):
#     z = torch.zeros(1, classes)
#     z[0, 0] = 25.0
#     z.requires_grad_()
#     projected_cross_entropy(z, torch.tensor([0])).backward()
#     wrong = (classes - 1) * 2.718281828 ** -25
#     print(f"K = {classes}: {float(z.grad[0, 0]) / -wrong:.3f} of the exact one")
# ```
#
# The more classes, the less the projection gives back.
# ````
#
# ```{exercise}
# :label: ex-liu2026-causes-adam
# Under gradient descent a zero class sum keeps $W_G$ where it is. Why not under Adam?
# ```
#
# ````{solution} ex-liu2026-causes-adam
# :class: dropdown
# Adam divides each entry by its own root mean square, and the quotients need not add up to
# zero. In its first step only the signs are left:
#
# ```python
# import torch
# g = torch.tensor([-0.9, 0.1, 0.3, 0.5])
# print(f"sum of gradients {float(g.sum()):.1f}, of first steps {int(g.sign().sum())}")
# ```
#
# So $W_G$ moves with an exact loss too, and $W_G$ subtraction is a separate intervention.
# ````
#
# ```{exercise}
# :label: ex-liu2026-causes-fourth
# *Only the sum broken* leaves nine tenths of the correct gradient. Write one that leaves all
# of it and has the same sum. Which entries does it change?
# ```
#
# ````{solution} ex-liu2026-causes-fourth
# :class: dropdown
# Keep the exact $g_r = -\epsilon$, and double the gradients of the wrong classes:
#
# ```python
# import torch
# K, eps = 10, 1e-8
# g = torch.full((K,), 2 * eps / (K - 1), dtype=torch.float64)
# g[0] = -eps
# print(f"class sum {float(g.sum()) / eps:.1f} ε, correct gradient {float(g[0]) / eps:.1f} ε")
# part = g - g.mean()
# print(f"without its mean {float(part[0]) / eps:.1f} ε and {float(part[1]) / eps:.2f} ε")
# ```
#
# It pushes the correct class from the others a tenth harder than the exact gradient does. A mean
# alone does not; the one that was run differs from the exact gradient by its mean and
# nothing else.
# ````

# %% [markdown]
# ## Run it yourself
#
# Eight records at reduced scale, which takes some hours on two cores; those of the narrow
# network (`liu2026/fig06`, `liu2026/causal20`) are done in minutes.
#
# ```bash
# make page PAGE=liu2026/causes SCALE=laptop
# ```
