# %% [markdown]
# # [Question]{.kicker} What makes a spike?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np
from pandas import Series

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q07", scale, retrain, device)
BASE, EXACT, ZERO, REPAIR, BROKEN, CENTRED = (
    "float32",
    "float64 loss",
    "projection",
    "repair",
    "sum broken",
    "W_G subtracted",
)
LOSSES = {
    BASE: "nothing intact\n(float32)",
    ZERO: "only sum intact\n(projection)",
    CENTRED: "no mean classifier,\nfloat32",
}
LOSSES |= {
    BROKEN: "only correct\ngradient intact",
    REPAIR: "both intact\n(repaired)",
    EXACT: "both intact\n(float64)",
}
NETWORKS = {
    "MLP, width 512": ("fig01", "causal512", "o"),
    "MLP, width 20": ("fig06", "causal20", "^"),
    "VGG-11*": ("fig10", "fig10", "s"),
}
ADAM = {
    "ε = 1e-6": ("fig03a", "ε 1e-06"),
    "ε = 1e-5": ("fig03a", "ε 1e-05"),
    "β2 = 0.9": ("fig02a", "β2 0.9"),
    "β2 = 0.999": ("fig02a", "β2 0.999"),
}
FIRST = {
    "fig01": BASE,
    "fig06": BASE,
    "fig10": ZERO,
    "causal512": ZERO,
    "causal20": ZERO,
} | dict(ADAM.values())
records = {
    name: page.record(f"liu2026/{name}", arms=(arm,)) for name, arm in FIRST.items()
}
runs = {
    (network, way): Run(
        records[first if way in (BASE, EXACT) else rest], way, way, plots.COLOUR[way]
    )
    for network, (first, rest, _) in NETWORKS.items()
    for way in LOSSES
}
WIDE, NARROW, VGG = NETWORKS
runs |= {
    (WIDE, what): Run(records[name], arm, what) for what, (name, arm) in ADAM.items()
}
many = {key: evidence.slingshots(run) for key, run in runs.items()}
often = {key: 1000 * many[key] / run.settings.epochs for key, run in runs.items()}

dense = page.record("liu2026/fig06near", arms=(BASE,))
near = Run(dense, BASE)
chosen = near.settings.optimizer.options
EDGE = (2 + 2 * chosen["betas"][0]) / (
    (1 - chosen["betas"][0]) * chosen["lr"]
)  # Adam's limit
FELT, LOSS = "preconditioned_sharpness", "train_loss"
windows = {
    s: rows.loc[-50:0]
    for s, rows in evidence.windows(near, FELT).items()
    if rows.index.min() <= -50
}
windows = {
    s: rows
    for s, rows in windows.items()
    if rows.at[0, "epoch"] in evidence.bursts(near, late=True)[s]
}
under = {
    seed: rows.loc[:-1].index[rows.loc[:-1, FELT] <= EDGE].max()
    for seed, rows in windows.items()
}
lead = Series({seed: -1.0 - step for seed, step in under.items()})
rise = Series(
    {
        seed: rows.at[under[seed] + 1, LOSS] / rows.loc[:-11, LOSS].median()
        for seed, rows in windows.items()
    }
)
sheet = claims.read(page.name, {})
ends = {
    way: [max(of) for of in evidence.bursts(runs[WIDE, way], late=True).values() if of]
    for way in (BASE, ZERO, BROKEN)
}
sheet.box(
    "Damaged gradients, in two MLPs of ten classes. Either half of a collapse brings spikes there. But if the correct gradient alone is missing, "
    f"the wide one has none after epoch {max(ends[ZERO]):,} of {runs[WIDE, ZERO].settings.epochs:,}. In the narrow one Adam's steps "
    f"become too long for the curvature just before, in {(lead > 0).sum()} of {len(lead)} runs that can tell."
)


# %% tags=["hide-input"]
#| name: fig-questions-07
#| caption: >
#|   Damaged gradients bring spikes in two MLPs, and Adam's steps become too large in one. One mark a seed. (a) Slingshots by what a loss leaves
#|   intact of the gradient, in three networks of Liu et al.; a star marks a smaller one than the paper's. (b)
#|   The wide MLP in float32 with other settings of Adam. (c) Curvature that Adam feels over its limit (dashed),
#|   in the steps before one spike of each seed that can tell, width 20, one colour a seed. (d) The loss in the same steps.
#| alt: >
#|   Top left: marks lie at 0.5 or more in all rows with one half missing, and mostly at 0 with both intact. Top right: a
#|   larger epsilon and a longer memory bring spikes near 0, a shorter memory more. Bottom: the curvature crosses its
#|   limit some steps before the loss, flat at 1e-7, shoots up.
#| fold: "Code: draw the figure"
def rows_of(panel, names, networks):
    """One row for each name, one mark for each seed."""
    for y, what in enumerate(names):
        for network in networks:
            values = often[network, what]
            place = (
                y
                + 0.22 * list(NETWORKS).index(network)
                - 0.22 * (len(networks) > 1)
                + 0.02 * np.arange(len(values))
            )
            panel.plot(
                values,
                place,
                NETWORKS[network][2],
                ms=5,
                alpha=0.8,
                color=runs[network, what].color,
            )
    panel.set_yticks(range(len(names)), list(names.values()), fontsize=9)
    panel.set(
        ylim=(len(names) - 0.4, -0.6),
        xlim=(-0.1, 2.8),
        xlabel="slingshots in 1,000 epochs",
    )


figure, axes = plots.panels(2, rows=2, height=3.1)
rows_of(axes[0], LOSSES, NETWORKS)
rows_of(axes[1], {BASE: "ε = 1e-8, β2 = 0.95", **{what: what for what in ADAM}}, [WIDE])
for rows, color in zip(
    windows.values(), plots.shades(list(windows)).values(), strict=True
):
    axes[2].plot(rows[FELT] / EDGE, color=color)
    axes[3].plot(rows[LOSS], color=color)
axes[2].axhline(1, color=plots.BLACK, ls="--", lw=1)
axes[2].set(
    yscale="log",
    ylim=(0.1, 100),
    xlabel="steps after the onset",
    ylabel="curvature / limit",
)
axes[3].set(yscale="log", xlabel="steps after the onset", ylabel="training loss")
for network, (_, _, marker) in NETWORKS.items():
    axes[0].plot([], [], marker, color=plots.GREY, label=network)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter(axes, ["what is intact", "Adam's settings", "what Adam feels", "the loss"])
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# When float32 rounds a loss to zero, two things happen to its gradient at the {term}`logits <logit>`. The correct class
# gets none, and those of all classes no longer sum to zero. Liu et al. blame the second half, through
# {term}`inflation`: two means of the last layer push each other until the network breaks.

# %% tags=["remove-input"]
slow = [
    Run(page.record("liu2026/free", arms=(BASE,)), BASE),
    *(
        Run(page.record(f"liu2026/{name}", arms=(BASE,)), BASE)
        for name in ("fig13", "fig11")
    ),
]
free, resnet, normed = (evidence.slingshots(run) for run in slow)
division = Run(page.record("liu2026/fig08", arms=(ZERO,)), ZERO)
ends[division] = [max(of) for of in evidence.bursts(division, late=True).values() if of]
apart = page.record("liu2026/branches", arms=(BASE,))
branch = {way: Run(apart, way) for way in (BASE, ZERO, BROKEN, EXACT)}
away = {way: evidence.slingshots(run) for way, run in branch.items()}
tables.prose(f"""
**Inflation is not needed.** The paper's {{term}}`zero-sum projection` restores the sum. It ends inflation, and the wide MLP keeps
{told(many[WIDE, ZERO])} spikes, against {told(many[WIDE, BASE])}. They are early: its last comes at epoch {min(ends[ZERO]):,} to {max(ends[ZERO]):,}, that of
float32 at {min(ends[BASE]):,} to {max(ends[BASE]):,}. So for the second half of training the projection is a cure in this network. In
[an MLP on division](../liu2026/fig08_modular_mlp.ipynb) it is not: the last spike comes at {min(ends[division]):,} to {max(ends[division]):,} of
{division.settings.epochs:,} epochs, in {len(ends[division])} of {len(division.seeds)} runs. Without any {{term}}`mean classifier` it has {told(many[WIDE, CENTRED])}
([interventions](../liu2026/causes.ipynb)).

**Yet a broken sum suffices.** With a float64 loss whose correct gradient is almost whole, a broken sum alone brings
{told(many[WIDE, BROKEN])} spikes, the last at epoch {min(ends[BROKEN]):,} to {max(ends[BROKEN]):,}. One form of broken sum was tried; one that leaves the
correct gradient whole is [registered](../liu2026/causes.ipynb), and whether these spikes are the paper's kind is open. With both halves intact the wide MLP has none, and single spikes remain in some runs of the
narrow MLP and of a small VGG-11.

**Then Adam's steps become too large.** Adam divides by a running mean of past gradients. While gradients vanish, that mean
decays, and the {{term}}`preconditioned sharpness` can rise. In [the narrow
MLP](../liu2026/fig06_two_instabilities.ipynb) it crosses Adam's limit of {EDGE:,.0f} {told(lead)} steps before the spike,
in each of {len(lead)} runs that can tell. The loss is then {told(rise, "{:.1f}")} times its usual value.

**Adam's settings agree.** An [ε](../liu2026/fig03_mitigations.ipynb) of 1e-5 keeps the divisor from vanishing, and ends the spikes.
With 1e-6 there are {told(many[WIDE, "ε = 1e-6"])}. A longer memory, β2 = 0.999, leaves {told(many[WIDE, "β2 = 0.999"])}, and a
shorter one, 0.9, brings {told(many[WIDE, "β2 = 0.9"])} ([Figure 2](../liu2026/fig02_mechanism.ipynb)).

**A collapse is not enough.** A small ResNet-18 has {told(resnet)} slingshots and a small VGG-11 with batch norm {told(normed)} (seeds: {len(resnet)}
and {len(normed)}). [Free features](../liu2026/inflation.ipynb) inflate and have {told(free)}, in {len(free)} runs.

**Is Adam needed?** We continued from a state that Adam reached by gradient descent with a rate of 1,000. The fit is lost in
{int((away[BASE] > 0).sum())} of {len(away[BASE])} runs in float32 and in {int((away[ZERO] > 0).sum())} of {len(away[ZERO])} with the
projection. With a float64 loss or only the sum broken it does in {int((away[EXACT] > 0).sum() + (away[BROKEN] > 0).sum())} of
{len(away[EXACT]) + len(away[BROKEN])}. So the two halves act differently, and how is open. Bursts [with weight
decay](q06_float32.ipynb) are another kind, whose cause is not tested.
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q07.md
# ```
#
# ## What would change our mind
#
# * Adam's curvature at every step of the projection and of the broken sum. If it stays below the limit before their
#   spikes, the crossing is not the last step. Only float32 is measured: `grokbook run liu2026/fig06near --record`.
# * A divisor that cannot decay: Adam with the largest past mean (AMSGrad) in float32. If it spikes, Adam's memory is not the cause.
# * The wide networks of Figures 10 to 13: `grokbook run liu2026/fig13 --scale paper --record`. A ResNet-18 of full width that
#   spikes would say that size decides, not the collapse.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(
    *records.values(), dense, *(run.record for run in slow), division.record, apart
)
