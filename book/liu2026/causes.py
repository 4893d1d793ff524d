# %% [markdown]
# # [Liu et al. 2026 · beyond the paper]{.kicker} The paper's cure leaves some loss spikes of a wide MLP, in the first half of training

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math
from functools import partial
from itertools import product

import numpy as np
import torch
from pandas import DataFrame, Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, losses

plots.use_style()
page = evidence.Page("liu2026/causes", scale, retrain, device)
WIDE, NARROW, VGG = NETWORKS = "MLP, width 512", "MLP, width 20", "VGG-11"
RECORDS = (
    ("fig01", "causal512"),
    ("fig06", "causal20"),
    ("fig10", "fig10"),
)  # of float32 and float64, of the others
BASE, EXACT, ZERO, CENTRED = "float32", "float64 loss", "projection", "W_G subtracted"
REPAIR, FORCED, BROKEN, BOTH = (
    "repair",
    "simulated collapse",
    "sum broken",
    "sum broken, W_G subtracted",
)
WAYS = (BASE, EXACT, ZERO, CENTRED, REPAIR, FORCED, BROKEN, BOTH)
runs = {}
for network, (first, rest) in zip(NETWORKS, RECORDS, strict=True):
    found_in = dict.fromkeys(WAYS, page.record(rest, arms=(ZERO,))) | dict.fromkeys(
        (BASE, EXACT), page.record(first, arms=(BASE,))
    )
    runs |= {
        (network, way): Run(found_in[way], way, f"{network}: {way}", plots.COLOUR[way])
        for way in WAYS
    }


def outcome(run):
    """What a network does, seeds down: inflation (1 or 0), late spikes, the epoch of the last."""
    late = instability.bursts(run, late=True)
    last = Series({seed: max(of, default=math.nan) for seed, of in late.items()})
    return DataFrame(
        {
            "inflated": instability.inflated(run),
            "late": instability.counted(late),
            "last": last,
        },
        dtype=float,
    )


def second_half(run):
    """Bursts of any kind in the second half of training."""
    every, half = instability.bursts(run), run.settings.epochs / 2
    return instability.counted(
        {seed: [e for e in on if e >= half] for seed, on in every.items()}
    )


def late_slingshots(run):
    """Slingshots after the first half of training, by seed."""
    every, half = instability.bursts(run, late=True), run.settings.epochs / 2
    return instability.counted(
        {seed: [e for e in on if e > half] for seed, on in every.items()}
    )


every = {key: outcome(run) for key, run in runs.items()}
# seeds that spike late with an exact loss too, where nothing is to be explained
unsettled = {
    k: list(every[k, EXACT].index[every[k, EXACT]["late"] > 0]) for k in NETWORKS
}
left_out = {(k, way): [] if way == EXACT else unsettled[k] for k, way in runs}
seen = {
    key: table.drop(index=left_out[key], errors="ignore")
    for key, table in every.items()
}
seen = {key: table for key, table in seen.items() if len(table)}
ends = {key: second_half(run) for key, run in runs.items()}
wide = {
    (way, column): (runs[WIDE, way], seen[WIDE, way][column])
    for way in WAYS
    for column in seen[WIDE, way]
}
alike = {}  # share of late spikes before which all samples are collapsed
for key in product((WIDE, NARROW), (BASE, BROKEN)):
    late = {
        s: on
        for s, on in instability.bursts(runs[key], late=True).items()
        if s in seen[key].index
    }
    share = instability.before(
        runs[key],
        "collapsed",
        late,
        pick=lambda shares: np.mean([s == 1 for s in shares]),
    )
    alike[", ".join(key)] = runs[key], share


# gradient descent from one state of float32: where the loss of each branch goes, step by step
apart = page.record("branches")
branches = {
    way: Run(apart, way, way, plots.COLOUR[way])
    for way in (BASE, ZERO, FORCED, BROKEN, EXACT, REPAIR)
}
BRANCH = branches[BASE].settings.wrappers[0].options["after"]


def lost(run):
    """Steps after the branch until the loss is 0.1 or more or no number, or infinity."""
    away = {seed: ~(loss.loc[BRANCH:] < 0.1) for seed, loss in run.trace().items()}
    return Series(
        {s: a.idxmax() - BRANCH if a.any() else math.inf for s, a in away.items()},
        dtype=float,
    )


def moved(run):
    """The largest difference from the losses of float32 in the steps that lead to the branch."""
    return (run.trace() - branches[BASE].trace()).abs().loc[: BRANCH - 1].max().dropna()


def grown(run):
    """The norm of the mean classifier at the end over that at the branch."""
    return run.last("head_mean_norm") / run.at("head_mean_norm", BRANCH)


def slopes(loss, margin, classes=10):
    """Gradient at the logits of a sample that leads by a margin, and its residual."""
    z = margin * torch.eye(classes)[:1]
    g = torch.func.grad(lambda z: loss(z, torch.tensor([0])))(z).double()[0]
    return g, (classes - 1) / (classes - 1 + math.exp(margin))


def moves(seed, classes=10):
    """Step of W_G over that of the head: gradient descent on an exact loss, Adam's first."""
    rng = torch.Generator().manual_seed(seed)
    features = torch.randn(200, 64, generator=rng, dtype=torch.float64).relu()
    head = torch.randn(classes, 64, generator=rng, dtype=torch.float64) / 8
    logits, labels = features @ head.T, torch.arange(200) % classes
    g = (logits.softmax(dim=1) - torch.eye(classes)[labels]).T @ features / 200
    return [
        float(s.mean(dim=0).norm() * classes**0.5 / s.norm())
        for s in (g, g / (g.abs() + 1e-8))
    ]


gone = {way: (run, lost(run)) for way, run in branches.items()}
plain, adams = zip(*map(moves, range(5)), strict=True)
sums = [
    abs(float(g.sum())) / eps
    for g, eps in (slopes(losses.projected_cross_entropy, m) for m in range(10, 31))
]
# only the sum broken: nothing of the correct gradient is lost
intact = page.record("exact512")
only_sum, only_sum_centred = (
    Run(intact, f"sum broken, correct exact{also}") for also in ("", f", {CENTRED}")
)
found = {
    "projection": wide[ZERO, "late"],
    "projection-inflation": wide[ZERO, "inflated"],
    "subtracted": wide[CENTRED, "late"],
    "broken": wide[BROKEN, "late"],
    "float32": wide[BASE, "late"],
    "float32-inflation": wide[BASE, "inflated"],
    "float64": wide[EXACT, "late"],
    "zero-sum": claims.exactly(
        f"all below {10.0 ** math.ceil(math.log10(max(sums))):.0e}",
        [share <= 0.01 for share in sums],
    ),
    "all-collapsed": alike,
    "conservation": claims.exactly(
        f"at most {max(plain):.0e}", [share <= 1e-12 for share in plain]
    ),
    "conservation-adam": claims.exactly(
        f"{min(adams):.2f} to {max(adams):.2f} of it", [share <= 0.1 for share in adams]
    ),
    "branch-state": {
        way: (run, moved(run)) for way, run in branches.items() if way != BASE
    },
    "branch-gone": {way: gone[way] for way in (BASE, ZERO, FORCED)},
    "branch-stays": {way: gone[way] for way in (EXACT, REPAIR, BROKEN)},
    "branch-sooner": dict(gone[way] for way in (ZERO, BASE)),
    "branch-inflates": (branches[BROKEN], grown(branches[BROKEN])),
    "branch-still": {
        way: (branches[way], grown(branches[way])) for way in (EXACT, REPAIR)
    },
    "exact": (only_sum, late_slingshots(only_sum)),
    "exact-subtracted": (only_sum_centred, instability.slingshots(only_sum_centred)),
}
sheet = claims.read(page.name, found)
ended = evidence.words(seen[WIDE, ZERO]["last"].max(), "{:,.0f}")
usual = {
    way: evidence.words(claims.median(seen[WIDE, way]["late"]), "{:.0f}")
    for way in (BASE, ZERO)
}
sheet.box(
    "When float32 rounds a loss to zero (a collapse), two things go wrong. The gradient at the "
    "output of the correct class is missing, and so the gradients at all outputs no longer add up "
    "to zero. The paper takes the second to be the cause of loss spikes, and says that a projection, "
    "which restores the sum, eliminates them.\n\nIn the paper's MLP of width 512 it does not: in "
    f"the median run {usual[ZERO]} late spikes, those after a collapse, remain; with the plain "
    f"float32 loss there are {usual[BASE]}. They end half-way: no run has one after epoch "
    f"{ended} of 10,000. In an MLP of width 20 and in a small VGG-11 "
    f"(runs: {len(seen[VGG, ZERO])}) they go on to the end of training.\n\nSo a "
    "mostly missing gradient brings spikes even where the sum is zero. It is not the only cause: with mainly "
    "the sum broken, and nine tenths of that gradient left, the wide MLP has late spikes too."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-causes
#| caption: >
#|   With the projection the late spikes of the wide MLP end by the middle of training; with mainly the sum
#|   broken they go on. Each row is one way to train. The line under its name says
#|   whether the sum over classes and the gradient of the correct class are intact (✓) or
#|   broken (✗); 9/10: nine tenths of the correct gradient are left; with the projection it is
#|   one tenth, counted as broken. Left mark: late spikes, those after a collapse, in the median run. Right mark:
#|   the epoch of the last late spike in any run, even if the median run has none. Red: late spikes in the median
#|   run, a last one in the second half of training. Runs that have late spikes
#|   with a float64 loss too are left out of the other rows. A star: a narrower network than
#|   the paper's, trained on 100 images for 2,000 epochs; the MLPs have 200 and 10,000.
#| alt: >
#|   A matrix of four ways to train and three networks. With float32 all three have late spikes to the end; with a
#|   float64 loss the median run has none. With the projection the wide MLP has six, the last at epoch 4,909, and the
#|   narrow one fourteen, to the end. With mainly the sum broken both have a dozen or more, to the end.
#| fold: "Code: draw the table as a figure"
NAMES = {
    BASE: "float32 loss",
    EXACT: EXACT,
    ZERO: "zero-sum projection",
    CENTRED: "mean subtracted",
    REPAIR: "gradient repaired",
    FORCED: FORCED,
    BROKEN: "mainly sum broken",
    BOTH: "same, mean subtracted",
}
KEPT = {  # the ways that are drawn, and what is intact in each
    BASE: "sum ✗  gradient ✗",
    EXACT: "sum ✓  gradient ✓",
    ZERO: "sum ✓  gradient ✗",
    BROKEN: "sum ✗  gradient 9/10",
}


def tile(panel, x, y, text, there, many):
    """A mark: red where an outcome is there, hollow where fewer than three runs say so."""
    color = plots.RED if there else "#D9E4EC"
    box = {"boxstyle": "round,pad=0.32", "lw": 1.6, "ec": color}
    box["fc"] = color if many else "white"
    ink = ("white" if many else plots.RED) if there else plots.BLACK
    panel.text(x, y, text, color=ink, ha="center", va="center", fontsize=10, bbox=box)


figure, axes = plots.panels(3, height=3.0, sharey=True)
for panel, network in zip(axes, NETWORKS, strict=True):
    for y, way in enumerate(KEPT):
        table = seen[network, way]
        often, last = claims.median(table["late"]), table["last"].max()
        latest = evidence.words(last, "{:,.0f}") if last == last else "—"
        is_late = last > runs[network, way].settings.epochs / 2
        many = len(table) >= 3
        tile(panel, 0, y, evidence.words(often, "{:.0f}"), often > 0, many)
        tile(panel, 1, y, latest, is_late, many)
    panel.set_title(
        network + "*" * (runs[network, BASE].record.scale != "paper"), loc="left"
    )
    panel.hlines(np.arange(5) - 0.5, -0.4, 1.4, color="#CCCCCC", lw=0.8)
    panel.set(xlim=(-0.4, 1.4), ylim=(3.55, -0.55))
    panel.set_xticks((0, 1), ("late spikes", "last one"), fontsize=10)
    panel.set_yticks(range(4), [f"{NAMES[way]}\n{kept}" for way, kept in KEPT.items()])
    panel.tick_params(length=0)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
for color, fill, label in (
    (plots.RED, plots.RED, "yes, or second half"),
    ("#D9E4EC", "#D9E4EC", "no, or first half"),
    (plots.GREY, "white", "under three runs"),
):
    axes[0].plot([], [], "s", ms=9, mec=color, mfc=fill, label=label)
figure.legend(loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose("""
* **The {term}`zero-sum projection`** ends {term}`inflation` in every run, and spikes remain. In the wide MLP they
  end before the middle of training; in the second half it is as quiet as with a float64 loss.
* **Without a {term}`mean classifier`**, which is subtracted after each step (table at the end), inflation is impossible. The wide
  MLP still spikes until late.
* **Mainly the sum broken**, with nine tenths of the correct gradient left, brings inflation and spikes. They vanish if the mean
  classifier is subtracted as well (table at the end). These spikes are of another kind: hardly any gradient is lost that could return.
* **With sum and gradient intact**, by a float64 loss or a repaired gradient, no run has inflation and the wide MLP has no
  spike. Single spikes remain in some runs of the narrow MLP and of the small VGG-11. We read them as oscillations.
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
# mean classifier: this is the paper's path, {term}`inflation`. And the correct class has no
# gradient, so training stands still and Adam's denominator decays. A collapse adds both parts
# to the exact gradient:
#
# $$
# \epsilon\, e_r \;=\; \tfrac{\epsilon}{K} (1, \dots, 1) \;+\;
# \epsilon \bigl(e_r - \tfrac1K (1, \dots, 1)\bigr) .
# $$
#
# The projection removes the first part and leaves the second. *Mainly the sum broken* adds the
# first part, without the second, to an exact gradient.

# %%
ways = {
    "float32 loss": partial(losses.softmax_cross_entropy, dtype=torch.float32),
    "float64 loss": partial(losses.softmax_cross_entropy, dtype=torch.float64),
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
# denominator makes the step at the returning gradient large. We ask whether
# inflation is needed, and whether it is enough. The [front page of the chapter](index.md) has
# a picture of the two paths. Each intervention cuts one or both:
#
# | Path | What cuts it |
# | --- | --- |
# | broken sum → mean classifier drifts → inflation → spike | projection, repair, float64 loss; between the two by $W_G$ subtraction |
# | no gradient of the correct class → Adam's denominator decays → spike | repair, float64 loss, and hardly if mainly the sum is broken |
#
# In the paper the first path ends in a spike through a lost gradient that returns, helped
# by the second path. So spikes should end where projection or subtraction cuts the first path. If
# mainly the sum is broken, inflation is left alone, and hardly any gradient is lost that could return.

# %% [markdown]
# ## The traces

# %% tags=["hide-input"]
#| name: fig-liu2026-causes-traces
#| caption: >
#|   With the projection the spikes end early; with the mean subtracted, or mainly the sum broken,
#|   they go on. Loss of every step with three losses that spike, in one run of the wide MLP. Dotted: the
#|   first late spike of float32, whose trace is in Figure 1. The other four are in the table: the simulated
#|   collapse looks like float32, and float64 loss, repair and the broken sum without mean stay quiet.
#| alt: >
#|   Three panels of the loss against epoch. Mean subtracted and the broken sum spike until
#|   near the end. With the projection there are six spikes, and none after epoch 4,000.
#| fold: "Code: draw the traces"
seed, loud = seen[WIDE, BASE].index[0], (ZERO, CENTRED, BROKEN)
figure, axes = plots.panels(3, height=1.9, sharey=True)
for panel, way in zip(axes, loud, strict=True):
    plots.trace(panel, runs[WIDE, way], seed=seed)
    plots.mark(
        panel,
        instability.bursts(runs[WIDE, BASE], late=True)[seed][:1],
        color=plots.GREY,
    )
    panel.set(ylabel="loss", ylim=(5e-10, 1e5), yticks=[1e-8, 1e-4, 1])
    panel.label_outer()
    plots.thousands(panel)
plots.letter(axes, [NAMES[way] for way in loud])
plots.show(figure)

# %% [markdown]
# ## Without Adam: gradient descent from one state
#
# The second path leads through Adam's denominator, which gradient descent lacks. So we trained the wide MLP with
# Adam and a float32 loss until most samples had collapsed. From this state gradient descent
# continues at a rate of 1,000, with another loss in each branch.

# %% tags=["hide-input"]
#| name: fig-liu2026-causes-branches
#| caption: >
#|   With the gradient of the correct class missing, gradient descent diverges in most runs; with
#|   it in place, never. Training loss from the branch on (dotted), a line per run. A line ends where
#|   the loss is no number any more; losses of zero lie on the lower edge. Before step 0 all
#|   branches of a seed are one run.
#| alt: >
#|   Two panels against steps of gradient descent. With the gradient of the correct class
#|   missing most losses rise from 1e-8 and end as no number: in float32, after the projection,
#|   in the simulation. With a float64 loss, with repair and with mainly the sum broken they stay.
#| fold: "Code: draw the branches"
figure, axes = plots.panels(2, height=2.5, sharey=True)
for panel, some in zip(
    axes, ((BASE, ZERO, FORCED), (BROKEN, EXACT, REPAIR)), strict=True
):
    for way, ls in zip(some, ("-", "--", ":"), strict=True):
        after = branches[way].trace().loc[BRANCH - 100 :].clip(1e-10, 1e3)
        lines = panel.plot(
            after.index - BRANCH, after, color=branches[way].color, ls=ls, lw=1.2
        )
        lines[0].set_label(NAMES[way])
    panel.axvline(0, color=plots.GREY, ls=":", lw=1)
    panel.set(
        yscale="log",
        ylim=(5e-11, 2e3),
        yticks=[1e-8, 1e-4, 1],
        xlabel="step after the branch",
        ylabel="loss",
    )
handles = [
    h + k
    for h, k in zip(*(panel.get_legend_handles_labels() for panel in axes), strict=True)
]
figure.legend(*handles, loc="outside upper center", ncols=3)
plots.letter(axes, ["gradient missing", "gradient there"])
plots.show(figure)

# %% tags=["hide-input"]
#| fold: "Code: the branches in numbers"
rows = [
    [NAMES[way], f"{(on < math.inf).sum()} of {len(on)}", told(on)]
    for way, (_, on) in gone.items()
]
caption = "Steps of gradient descent, of 1,200, until the loss is 0.1 or no number (median, range)"
tables.grid(["Loss", "Lost in", "Steps until then"], rows, caption=caption)

# %% tags=["remove-input"]
tables.prose(f"""
At the branch {told(branches[BASE].at("collapsed", BRANCH), "{:.0%}")} of the samples are collapsed. The losses of all branches
are equal up to this step.

**Divergence needs no denominator.** In float32 gradient descent loses the network in every run. From the same
state, with a float64 loss, it never does. So the rounding after the branch decides, not the state that earlier rounding left.

**Inflation is neither enough for it nor needed.** With mainly the sum broken, the norm of $W_G$ grows to
{sheet.told("branch-inflates")} times its size, and no network is lost in these steps. The projection prevents inflation, and most of its
networks are lost. We had expected all of them to be lost, and sooner than in float32. So a missing gradient can end training without Adam and
without inflation, but not always. Rate and steps are our choice: this is one network at one rate.
""")

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001. Spikes fewer
# than 60 steps apart count once. It is *late* if at least 40 % of the samples counted as collapsed at a
# measurement within 100 epochs before. Inflation is two of three signs after half of the samples
# have collapsed: the cosine of $W_G$ and the {term}`mean feature` falls by 0.3, the norm of
# $W_G$ doubles, the mean correct logit becomes negative.
#
# A seed is *informative* if the float64 loss has no late spike. Some narrow networks
# oscillate at the {term}`edge of stability` until 40 % of their samples have large
# margins, in float64 as in float32. There no intervention can be judged. A seed without a float64 run counts.
#
# We fixed bounds and definitions before the runs, and the definition of informative seeds after the
# first of them. We added the row of the broken sum with its first runs at hand; its bound is
# that of float32.

# %% tags=["hide-input"]
#| fold: "Code: the figure in numbers"
rows = []
for key, table in seen.items():
    out = ", ".join(str(seed) for seed in runs[key].seeds if seed in left_out[key])
    held, last = (
        f"{table['inflated'].sum():.0f} of {len(table)}",
        told(table["last"].dropna(), nothing="—"),
    )
    rows.append([key[0], NAMES[key[1]], held, told(table["late"]), last, out or "none"])
head = [
    "Network",
    "Loss",
    "Inflation",
    "Late spikes",
    "Epoch of the last",
    "Seeds left out",
]
tables.folded("Inflation and spikes by network and loss", head, rows)

# %% tags=["hide-input"]
#| fold: "Code: the same without these rules"
words = [[NAMES[way], *(told(ends[k, way]) for k in (WIDE, NARROW))] for way in WAYS]
caption = "Without rules: bursts of any kind in the second half of training, of every seed (median, range)"
tables.grid(["Loss", WIDE, NARROW], words, caption=caption)

# %% [markdown]
# The last table needs no level of collapse and leaves no seed out. It counts the bursts that go on
# for long. The narrow networks that oscillate with any loss are at the upper ends of the ranges.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*(run.record for run in runs.values()), apart)

# %% [markdown]
# ## What was run
#
# 1. *Network.* The paper does not say where it tried the projection. We judge the claims
#    on the MLP of its Table 3; 200 training images are inferred.
# 2. *Projection.* As the paper writes it, on the gradient at the logits of every sample.
# 3. *Subtraction.* $W_k \leftarrow W_k - W_G$ after every step of Adam. The paper subtracts
#    $W_G$ in its mini-batch runs, and does not define when. The head's biases and Adam's
#    moments keep their means.
# 4. *Repair* and *simulated collapse* are ours. Repair keeps the float32 gradients of the
#    wrong classes and sets $g_r$ to minus their sum. The simulation computes in float64 and
#    sets $g_r$ to 0 where the residual mass is below $2^{-24}$. *Mainly the sum broken* adds
#    $\epsilon / K$ to every entry of the exact gradient in the same rows.
# 5. *Gradient descent* begins at epoch 576, the middle one of the three at which the runs of
#    [Figure 9](fig09_cifar_mlp.ipynb) switch. A subtraction of $W_G$ acts from the start of a run, so it has no
#    branch. We registered the bounds of these rows before their runs. We then knew a pilot in other code, with two seeds,
#    and the float32 runs of Figure 9 at this rate.
# 6. *Division* is on pages of its own. The MLP of [Figure 8](fig08_modular_mlp.ipynb) has three runs each with a
#    float32 loss, a float64 loss and the projection; the small transformer of
#    [Figure 7](fig07_modular_transformer.ipynb) has no slingshot to remove.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Inflation is as the paper describes it.** It follows the sum over classes. It appears with a
collapse, rounded or simulated, and with mainly the sum broken; it vanishes when the sum
is restored. Not every network with a collapse shows it: in float32 {every[VGG, BASE]["inflated"].sum():.0f} of
{len(every[VGG, BASE])} runs of the VGG-11 do. The figure leaves out those that spike with a float64 loss too.

**A broken sum is enough for spikes.** In float64, with nine tenths of
the correct gradient left, two MLPs and a small VGG-11 have slingshots and inflation. So
a broken sum suffices for a spike, without rounding. The sum is broken in one form here, by ε/K at every class. And this
spike is of another kind. In the paper's path a lost gradient of the correct class returns; here it is never lost.
With the correct gradient left whole the wide MLP has {sheet.told("exact")} slingshots after epoch 5,000, and with the mean
classifier subtracted too {sheet.told("exact-subtracted")} in all (runs of each: {len(only_sum.seeds)}).
In the narrow MLP, all samples are collapsed before {sheet.told(f"all-collapsed {NARROW}, {BROKEN}")} of these spikes, and before
{sheet.told(f"all-collapsed {NARROW}, {BASE}")} of those of float32.

**Inflation is not necessary.** Spikes come when the sum is restored and the correct
gradient is still missing. In the wide MLP there are none once both are restored.
The paper reports that its projection eliminates the spikes. In both MLPs spikes remain. In the wide one they end in
the first half of training.

**A broken sum lets spikes continue for longer.** In the wide MLP the last spike comes at epoch {told(seen[WIDE, ZERO]["last"])} after
the projection, and at {told(seen[WIDE, BASE]["last"])} in float32. The projected runs end fully collapsed and quiet. A
broken sum can end this state: spikes follow measurements at which all samples have collapsed. Even with the mean
classifier subtracted, spikes continue until {told(seen[WIDE, CENTRED]["last"])}. So in this network something else in the broken sum
helps the missing gradient.
""")

# %% [markdown]
# **A collapse was not enough in two small networks,** trained for 2,000 epochs. A small ResNet-18, one run, loses the correct
# gradient of all its samples and has no slingshot ([Figure 13](fig13_resnet.ipynb)). A small
# VGG-11 with batch norm, three runs, has collapse and inflation, and no slingshot either
# ([Figure 11](fig11_vgg_batch_norm.ipynb)).
#
# **How the halves act on Adam is open.** In float32 Adam's denominator decays until the
# preconditioned sharpness reaches the edge of stability ([Figure 6](fig06_two_instabilities.ipynb)). For two
# interventions it was measured every 100 epochs, in the narrow MLP, and not at every step. So we do not know which half is needed for this.
#
# **Limits.** An early oscillation that continues after 40 % of the samples have large
# margins counts as late, with any loss. We read the single spikes with both halves intact as such
# oscillations. The VGG-11 is narrow. All networks have ten classes, and the sum is broken in one form, by ε/K.

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
# *Mainly the sum broken* leaves nine tenths of the correct gradient. Write one that leaves all
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
