# %% [markdown]
# # [Question]{.kicker} Are slingshots artefacts of float32?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

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
    "wide MLP",
    "narrow MLP",
    "MLP on division",
    "small VGG-11",
    "small ViT",
    "small VGG-11, batch norm",
    "small ResNet-18",
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
SINGH, LITTLE = "transformer, decay, norm", "the same, easier task"
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
many = {key: instability.slingshots(run) for key, run in runs.items()}


def bursts(run):
    """Bursts of the logged training loss after epoch 500, on the levels of a spike."""
    return Series(
        {
            s: len(instability.spikes(loss.dropna()))
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
often = {key: 10_000 * many[key] / run.settings.epochs for key, run in runs.items()}
keep = {key: int((found > 0).sum()) for key, found in many.items()}  # runs with any
assert not keep[WIDE, LOSS64]
spiking = page.record("tiwari2026/spike512")
other = [  # the largest training loss after the fit, in float32 and in float64
    Run(spiking, f"strong decay{loss}").series("train_loss", since=1000).max()
    for loss in ("", ", float64 loss")
]
assert min(other[0]) > 1 > 0.01 > max(other[1])
sheet = claims.read(page.name, {})
sheet.box(f"""In Liu et al.'s two wide MLPs, trained with Adam at a learning rate of 0.001, yes. Long after the training
set is right the loss can jump; such jumps are called slingshots, or spikes. Liu et al. say that they vanish if the
loss is computed in float64.

Their wide MLP on images has {claims.median(many[WIDE, SINGLE]):.0f} of them in
{runs[WIDE, SINGLE].settings.epochs:,} epochs (median of {len(many[WIDE, SINGLE])}
runs), and none if the loss alone is computed in float64. They return if the float64
gradient is damaged in the way in which float32 damages it.

A wide MLP on division has {claims.median(many[DIVISION, SINGLE]):.0f} in four times as
long a training, and none with a float64 loss ({len(many[DIVISION, SINGLE])} runs). We count only jumps that follow a collapse, a state
in which many samples have a loss that float32 rounds to zero.

Tiwari et al.'s MLP on addition, at their width with strong weight decay, has a late loss spike in float32 and none with a
float64 loss, in a training that ends soon after ({len(other[1])} run{"s" * (len(other[1]) > 1)} each, not drawn). Our count would leave
this spike out: at the last measurement before it few losses are zero.

In other networks some remain with a float64 loss: in
{keep[NARROW, LOSS64]} of {len(many[NARROW, LOSS64])} runs of a narrow MLP, in
{keep[VGG, LOSS64]} of {len(many[VGG, LOSS64])} of a small VGG-11, and in
{keep[VIT, LOSS64]} of {len(many[VIT, LOSS64])} of a small ViT, and in more of them if jumps before a collapse are counted too (not drawn).

Singh et al.'s
transformer, trained with weight decay and a layer norm before its MLP, has
{claims.median(many[SINGH, LOSS64]):.0f} jumps in 10,000 epochs with a float64 loss
(median of {len(many[SINGH, LOSS64])} runs); whether they follow
a collapse was not measured, and their cause is unknown.""")

# %% tags=["hide-input"]
#| name: fig-questions-06
#| caption: >
#|   A float64 loss ends the spikes of wide MLPs and of most narrow ones; a transformer with weight decay
#|   spikes with it too. One mark is one run: its number of spikes, scaled to 10,000 epochs: a mark at 5 of
#|   a small VGG-11 or ViT is a single spike in 2,000. (a) By precision
#|   of the loss, at a rate of 0.001; hollow is float64. On the right: how many runs still spike with a float64 loss. The wide MLP has layers of width
#|   512, the narrow one of width 20; "small" networks have an eighth of the paper's width. All rows but the
#|   last two are Liu et al.'s. The transformer is Singh et al.'s with weight decay and a norm before its MLP;
#|   below it is the same network on a smaller table of sums. (b) Liu et al.'s wide and narrow MLP. In the two
#|   upper rows a float64 gradient is damaged on purpose, in all that rounding to float32 does or mainly in the
#|   sum over the classes. The middle row is float64 without damage. In the row "repaired" what rounding takes
#|   from a float32 gradient is put back; in the last it is not.
#| alt: >
#|   Left: blue marks of float32 lie near 16 for wide and narrow MLP and small VGG-11, at 0 for two image networks; brown
#|   marks of a float64 loss lie at 0 for the wide MLP and most narrow ones, at 0 or 5 for two small networks, and at 14
#|   for the transformer. Right: imitated collapse and a broken sum bring 5 to 17 slingshots, exact and repaired
#|   gradients mostly none.
#| fold: "Code: draw the figure"


def spread(values):
    """Runs a little apart, so that equal ones show."""
    return 0.05 * (np.arange(len(values)) - (len(values) - 1) / 2)


figure, (kinds, damaged) = plots.panels(2, height=4.2)
ROWS = [*LIU, SINGH, LITTLE]
for (name, kind), values in often.items():
    if name in ROWS and kind in (SINGLE, LOSS64):
        place = ROWS.index(name) + {SINGLE: -0.2, LOSS64: 0.2}[kind]
        label = {SINGLE: "float32 loss", LOSS64: "float64 loss"}[kind]
        kinds.plot(
            values,
            place + spread(values),
            "o",
            ms=4.5,
            alpha=0.8,
            color=plots.COLOUR[kind],
            mfc="white" if kind == LOSS64 else None,
            label=label if name == NARROW else None,
        )
for y, name in enumerate(ROWS):
    key = (name, LOSS64)
    words = f"{keep[key]} of {len(many[key])}" if key in many else "not run"
    kinds.text(
        28.5,
        y,
        words,
        ha="right",
        va="center",
        color=plots.COLOUR[LOSS64],
        bbox={"fc": "white", "ec": "none", "pad": 1},
    )
kinds.text(28.5, -0.75, "float64 still spikes:", ha="right", color=plots.COLOUR[LOSS64])
kinds.set_yticks(range(len(ROWS)), ROWS)
kinds.set(ylim=(len(ROWS) - 0.4, -1.3), xlim=(-1, 29))
WAYS = {
    FORCED: "float64,\ncollapse imitated",
    BROKEN: "float64,\nmainly sum broken",
    LOSS64: "float64, exact",
    REPAIR: "float32, repaired",
    SINGLE: "float32",
}
for y, way in enumerate(WAYS):
    for name, marker, shift in ((WIDE, "o", -0.15), (NARROW, "^", 0.2)):
        values = often[name, way]
        places, color = y + shift + spread(values) / 2, plots.COLOUR[way]
        damaged.plot(values, places, marker, ms=4.5, alpha=0.8, color=color)
damaged.set_yticks(range(len(WAYS)), list(WAYS.values()))
damaged.set(ylim=(len(WAYS) - 0.4, -0.6), xlim=(-1, 24))
for panel in (kinds, damaged):
    panel.set(xlabel="spikes in 10,000 epochs", xticks=range(0, 21, 5))
for name, marker in ((f"{WIDE} (b)", "o"), (f"{NARROW} (b)", "^")):
    kinds.plot([], [], marker, color=plots.GREY, label=name)
figure.legend(
    *kinds.get_legend_handles_labels(),
    loc="outside upper center",
    ncols=4,
    columnspacing=1,
    handletextpad=0.2,
)
plots.letter((kinds, damaged), ["by precision, rate 0.001", "by damage"])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
tables.prose(f"""
**In a wide MLP rounding to float32 is the cause.** {{term}}`Slingshots <slingshot>` are jumps of the loss long after the fit. Over
{runs[WIDE, SINGLE].settings.epochs:,} epochs [Liu's MLP of width 512](../liu2026/fig01_precision.ipynb) has {told(many[WIDE, SINGLE])} of them in float32,
and {told(many[WIDE, LOSS64])} if the loss alone is computed in float64. Nothing else differs. In [an MLP on division](../liu2026/fig08_modular_mlp.ipynb) it is
{told(many[DIVISION, SINGLE])} against {told(many[DIVISION, LOSS64])} in {runs[DIVISION, SINGLE].settings.epochs:,} epochs.

**It is the damage, not the data type.** Panel (b) computes losses in float64 and then damages their gradients as
float32 would. That brings slingshots back: {told(many[WIDE, FORCED])} in the wide MLP with an imitated collapse. If a float32 gradient is
repaired, it has {told(many[WIDE, REPAIR])}. What the damage consists of is [the next question](q07_spike.ipynb).

**In a narrow MLP nearly so.** At [width 20](../liu2026/fig06_two_instabilities.ipynb) a float64 loss ends them in
{len(many[NARROW, LOSS64]) - keep[NARROW, LOSS64]} of {len(many[NARROW, LOSS64])} runs, and float64 throughout in {len(many[NARROW, DOUBLE]) - keep[NARROW, DOUBLE]} of
{len(many[NARROW, DOUBLE])}. The others oscillate from early on, at the {{term}}`edge of stability`, for which no collapse is needed.

**In small networks not always.** At an eighth of the paper's width {keep[VGG, LOSS64]} of
{len(many[VGG, LOSS64])} runs of a [VGG-11](../liu2026/fig10_vgg.ipynb) and {keep[VIT, LOSS64]} of {len(many[VIT, LOSS64])} of a
[ViT](../liu2026/fig12_vit.ipynb) still have a single spike in {runs[VGG, LOSS64].settings.epochs:,} epochs. Those of the ViT mostly stay below the loss of guessing.

**Float32 does not suffice either.** A small [ResNet-18](../liu2026/fig13_resnet.ipynb) and a small VGG-11 [with batch
norm](../liu2026/fig11_vgg_batch_norm.ipynb) collapse in float32 without a slingshot (runs: {len(many[RESNET, SINGLE])} and {len(many[NORMED, SINGLE])}).

**With weight decay there seems to be another kind.** [Singh's transformer](../singh2026/fig02_norm_positions.ipynb) with a
{{term}}`layer norm` before its MLP was trained with a float64 loss. The paper calls its bursts slingshots. We count
{told(many[SINGH, LOSS64])} in {m.settings.epochs:,} epochs, and {told(bursts(none))} without a norm. On an easier task
it has {told(many[LITTLE, LOSS64])} with a float64 loss and {told(many[LITTLE, SINGLE])} with a float32 loss (runs: {len(many[LITTLE, LOSS64])} and {len(many[LITTLE, SINGLE])}). So precision has no part in
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
#
# Runs of Liu et al., Figures [1](../liu2026/fig01_precision.ipynb), [6](../liu2026/fig06_two_instabilities.ipynb),
# [8](../liu2026/fig08_modular_mlp.ipynb), [10](../liu2026/fig10_vgg.ipynb), [11](../liu2026/fig11_vgg_batch_norm.ipynb),
# [12](../liu2026/fig12_vit.ipynb), [13](../liu2026/fig13_resnet.ipynb) and [causes](../liu2026/causes.ipynb), of Singh et
# al., [Figure 2](../singh2026/fig02_norm_positions.ipynb), and of Tiwari et al.,
# [Figure 1](../tiwari2026/fig01_accuracy_curves.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
