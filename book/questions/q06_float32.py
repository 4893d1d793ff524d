# %% [markdown]
# # [Question]{.kicker} Do slingshots need float32?

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
page = evidence.Page("questions/q06", scale, retrain, device)
small = evidence.Page(
    page.name, "laptop"
)  # stored: the same transformer on a smaller task
SINGLE, LOSS64, DOUBLE, REPAIR, FORCED, BROKEN = (
    "float32",
    "float64 loss",
    "float64",
    "repair",
    "simulated collapse",
    "sum broken",
)
WIDE, NARROW, DIVISION, VGG, VIT, NORMED, RESNET = (
    "MLP, width 512",
    "MLP, width 20",
    "MLP, division",
    "VGG-11",
    "ViT",
    "VGG-11, batch norm",
    "ResNet-18",
)
LIU = {
    WIDE: "fig01",
    NARROW: "fig06",
    VGG: "fig10",
    VIT: "fig12",
    DIVISION: "fig08",
    NORMED: "fig11",
    RESNET: "fig13",
}
liu = {
    name: page.record(f"liu2026/{record}", arms=(SINGLE,))
    for name, record in LIU.items()
}
cut = {
    WIDE: page.record("liu2026/causal512", arms=(FORCED,)),
    NARROW: page.record("liu2026/causal20", arms=(FORCED,)),
}
SINGH, LITTLE = "transformer, decay", "the same, small task"
singh = page.record("singh2026/fig02", arms=("M", "No LN"))
little = {
    LOSS64: small.record("singh2026/fig02", arms=("M",)),
    SINGLE: small.record("singh2026/fig02float32"),
}
runs = {
    (name, kind): Run(record, kind)
    for name, record in liu.items()
    for kind in (SINGLE, LOSS64, DOUBLE)
    if record.seeds(kind)
}
runs |= {
    (name, kind): Run(record, kind)
    for name, record in cut.items()
    for kind in (REPAIR, FORCED, BROKEN)
}
many = {key: evidence.slingshots(run) for key, run in runs.items()}


def bursts(run):
    """Bursts of the logged training loss after epoch 500, on the levels of a spike."""
    return Series(
        {
            s: len(evidence.spikes(loss.dropna()))
            for s, loss in run.series("train_loss", since=500).items()
        },
        dtype=float,
    )


m, none = Run(singh, "M"), Run(singh, "No LN")
runs |= {
    (SINGH, LOSS64): m,
    (LITTLE, LOSS64): Run(little[LOSS64], "M"),
    (LITTLE, SINGLE): Run(little[SINGLE], "M, float32 loss"),
}
many |= {key: bursts(run) for key, run in runs.items() if key not in many}
often = {key: 1000 * many[key] / run.settings.epochs for key, run in runs.items()}
sheet = claims.read(page.name, {})
sheet.box(
    "In a wide MLP they need what float32 does to the gradient, not float32: a float64 loss ends them, and the same damage brings "
    f"them back in float64. With a float64 loss a narrow MLP has some in {(many[NARROW, LOSS64] > 0).sum()} of {len(many[NARROW, LOSS64])} runs, and a "
    f"transformer with decay and a norm has {told(many[SINGH, LOSS64])} bursts of another kind."
)

# %% tags=["hide-input"]
#| name: fig-questions-06
#| caption: >
#|   A float64 loss ends slingshots in some networks, not in all. One mark a seed. (a) By precision of the
#|   loss; a square: weights in float64 too. The transformer is Singh's with a norm before its MLP. A star
#|   marks a smaller network than the paper's. (b) Liu's two MLPs. Upper rows: a float64 loss
#|   whose gradients are damaged as rounding to 24 bits would. Repaired: the gradient that rounding
#|   took is put back.
#| alt: >
#|   Left: blue marks of float32 lie near 1.5 for four networks and at 0 for two; brown marks of a float64 loss lie at
#|   0 for the wide MLP and most narrow ones, between 0 and 0.5 for two small networks, and at 1.4 for the transformer.
#|   Right: imitated collapse and a broken sum bring 1 to 1.7 slingshots, exact and repaired gradients mostly none.
#| fold: "Code: draw the figure"


def spread(values):
    """Seeds a little apart, so that equal ones show."""
    return 0.022 * (np.arange(len(values)) - len(values) / 2)


figure, (kinds, damaged) = plots.panels(2, height=4.2)
ROWS = [*LIU, SINGH, LITTLE]
for (name, kind), values in often.items():
    if name in ROWS and kind in (SINGLE, LOSS64, DOUBLE):
        place, marker = (
            ROWS.index(name) + {SINGLE: -0.2, LOSS64: 0.1, DOUBLE: 0.3}[kind],
            "s" if kind == DOUBLE else "o",
        )
        style = {
            "mfc": "white" if kind == DOUBLE else plots.COLOUR[kind],
            "color": plots.COLOUR[kind],
            "ls": "",
        }
        kinds.plot(
            values,
            place + spread(values),
            marker,
            ms=5,
            alpha=0.8,
            label=kind if name == NARROW else None,
            **style,
        )
stars = [
    "*"
    * (runs[name, LOSS64 if (name, LOSS64) in runs else SINGLE].record.scale != "paper")
    for name in ROWS
]
kinds.set_yticks(
    range(len(ROWS)), [name + star for name, star in zip(ROWS, stars, strict=True)]
)
kinds.set(
    ylim=(len(ROWS) - 0.4, -0.6), xlabel="slingshots in 1,000 epochs", xlim=(-0.1, 1.9)
)
WAYS = {
    FORCED: "float64,\ncollapse imitated",
    BROKEN: "float64,\nonly sum broken",
    LOSS64: "float64, exact",
    REPAIR: "float32, repaired",
    SINGLE: "float32",
}
for y, way in enumerate(WAYS):
    for name, marker, shift in ((WIDE, "o", -0.15), (NARROW, "^", 0.15)):
        values = often[name, way]
        damaged.plot(
            values,
            y + shift + spread(values),
            marker,
            ms=5,
            alpha=0.8,
            color=plots.COLOUR[way],
        )
damaged.set_yticks(range(len(WAYS)), list(WAYS.values()))
damaged.set(
    ylim=(len(WAYS) - 0.4, -0.6), xlabel="slingshots in 1,000 epochs", xlim=(-0.1, 1.9)
)
for name, marker in ((f"{WIDE} (b)", "o"), (f"{NARROW} (b)", "^")):
    kinds.plot([], [], marker, color=plots.GREY, label=name)
figure.legend(
    *kinds.get_legend_handles_labels(),
    loc="outside upper center",
    ncols=5,
    columnspacing=1,
    handletextpad=0.2,
)
plots.letter((kinds, damaged), ["precision of the loss", "damaged gradients"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
clean = int((many[NARROW, LOSS64] == 0).sum())
tables.prose(f"""
**In a wide MLP rounding to float32 is the cause.** {{term}}`Slingshots <slingshot>` are jumps of the loss long after the fit. Over
{runs[WIDE, SINGLE].settings.epochs:,} epochs [Liu's MLP](../liu2026/fig01_precision.ipynb) has {told(many[WIDE, SINGLE])} of them in float32,
and {told(many[WIDE, LOSS64])} if the loss alone is computed in float64. Nothing else differs. In [an MLP on division](../liu2026/fig08_modular_mlp.ipynb) it is
{told(many[DIVISION, SINGLE])} against {told(many[DIVISION, LOSS64])}.

**In a narrow MLP nearly so.** At [width 20](../liu2026/fig06_two_instabilities.ipynb) a float64 loss ends them in {clean} of
{len(many[NARROW, LOSS64])} runs, and float64 throughout in {(many[NARROW, DOUBLE] == 0).sum()} of {len(many[NARROW, DOUBLE])}. The
others oscillate from early on, at the {{term}}`edge of stability`, for which no collapse is needed.

**In small networks not always.** At an eighth of the paper's width {(many[VGG, LOSS64] > 0).sum()} of
{len(many[VGG, LOSS64])} runs of a [VGG-11](../liu2026/fig10_vgg.ipynb) and {(many[VIT, LOSS64] > 0).sum()} of {len(many[VIT, LOSS64])} of a
[ViT](../liu2026/fig12_vit.ipynb) still have one spike. Those of the ViT mostly stay below the loss of guessing.

**It is the damage, not the data type.** Panel (b) computes losses in float64 and then damages their gradients as
float32 would. That brings slingshots back: {told(many[WIDE, FORCED])} with an imitated collapse. If a float32 gradient is
repaired, the wide MLP has {told(many[WIDE, REPAIR])}. [The causal page](../liu2026/causes.ipynb) takes the damage apart.

**Float32 does not suffice either.** A small [ResNet-18](../liu2026/fig13_resnet.ipynb) and a small VGG-11 [with batch
norm](../liu2026/fig11_vgg_batch_norm.ipynb) collapse in float32 without a slingshot (seeds: {len(many[RESNET, SINGLE])} and {len(many[NORMED, SINGLE])}).

**With weight decay there seems to be another kind.** [Singh's transformer](../singh2026/fig02_norm_positions.ipynb) with a
{{term}}`layer norm` before its MLP was trained with a float64 loss. The paper calls its bursts slingshots. We count
{told(many[SINGH, LOSS64])} in {m.settings.epochs:,} epochs, and {told(bursts(none))} without a norm. On a smaller task
it has {told(many[LITTLE, LOSS64])}, and {told(many[LITTLE, SINGLE])} with a float32 loss (seeds: {len(many[LITTLE, LOSS64])} and {len(many[LITTLE, SINGLE])}). So precision has no part in
them that we can see. What makes these bursts is not tested.
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q06.md
# ```
#
# ## What would change our mind
#
# * The paper's networks at full width, with a float64 loss: `grokbook run liu2026/fig10 --scale paper --record`, and
#   `fig12`. If they are quiet, single spikes are a matter of small networks.
# * Singh's transformer without weight decay, in both precisions. If the bursts stop, decay makes them.
# * A wide MLP with a float64 loss for a thousand times as many epochs. Float64 rounds too, from a
#   {term}`margin` of 36.7 on; we expect no slingshot, since Adam's ε is then larger than the gradients.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(*liu.values(), *cut.values(), singh, *little.values())
