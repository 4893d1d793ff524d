# %% [markdown]
# # [Liu et al. 2026 · Table 1]{.kicker} Five of seven mostly small networks spike or not as printed

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs of seven networks and the claims"
import pandas as pd

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
NETWORKS = {  # as Table 1 names them, all with spikes but the last: record, colour, id of its claim
    "Transformer, division": ("fig07", "transformer", "transformer"),
    "MLP, division": ("fig08", "MLP", "mlp-division"),
    "MLP, CIFAR-10": ("fig01", "MLP", "mlp-cifar"),
    "VGG11": ("fig10", "VGG-11", "vgg11"),
    "VGG11 with BN": ("fig11", "batch norm", "vgg11-bn"),
    "ViT": ("fig12", "ViT", "vit"),
    "ResNet18": ("fig13", "ResNet-18", "resnet18"),
}
QUIET = "ResNet18"
page = evidence.Page("liu2026/tab01", scale, retrain, device)
records = {name: page.record(name, arms=["float32"]) for name, *_ in NETWORKS.values()}
ARMS = BASE, EXACT = ("float32", "float64 loss")
runs = {
    (label, arm): Run(records[name], arm, label, plots.COLOUR[color])
    for label, (name, color, _) in NETWORKS.items()
    for arm in ARMS
}
late, early = ({key: evidence.bursts(run, late=kind) for key, run in runs.items()} for kind in (True, False))
count = {key: evidence.counted(found) for key, found in late.items()}
other = {label: evidence.counted(early[label, BASE]) for label in NETWORKS}
spikes = evidence.joined({label: count[label, BASE] for label in NETWORKS}) > 0
spikes[QUIET] = ~spikes[QUIET]
FIRST = "Transformer, division"
first = runs[FIRST, BASE]  # below 40 % of its samples collapsed no burst counts
found = {name: (runs[label, BASE], count[label, BASE]) for label, (_, _, name) in NETWORKS.items()} | {
    "transformer": (first, evidence.tested(count[FIRST, BASE], (first.largest("collapsed") >= 0.4).astype(float))),
    "all": ([runs[label, BASE] for label in NETWORKS], spikes.sum(axis=1).astype(float)),
    "float64": {label: (runs[label, EXACT], count[label, EXACT]) for label in NETWORKS},
    "louder": {"ViT": (runs["ViT", BASE], evidence.counted(evidence.bursts(runs["ViT", BASE], late=True, loud=1.0)))},
    "other-bursts": {label: (runs[label, BASE], other[label]) for label in NETWORKS},
}
sheet = claims.read("liu2026/tab01", found, many=len(NETWORKS))
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-tab01
#| caption: >
#|   When seven networks spike, in per cent of their training, one tick for each burst of the
#|   loss and one line of ticks for each seed. Coloured and thick: after a collapse, a
#|   slingshot. Grey and thin: any other burst. At the right, the median number of slingshots. (a)
#|   As in the paper. (b) With the loss in float64.
#| alt: >
#|   Two panels with seven rows each, from the transformer on modular division to ResNet18.
#|   Coloured ticks mark slingshots; in float32 the MLP on CIFAR-10 has them at even distances
#|   through all of its training. Rows without a run say so.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, height=4.2, sharey=True)
for panel, arm in zip(axes, ARMS, strict=True):
    for place, label in enumerate(NETWORKS):
        run = runs[label, arm]
        for row, seed in enumerate(run.seeds):
            many, end = len(run.seeds), run.settings.epochs
            y, tall = place + 0.8 * ((row + 0.5) / many - 0.5), 0.62 / many
            for events, color, width in ((early, plots.GREY, 1.0), (late, run.color, 2.2)):
                at = [100 * one / end for one in events[label, arm][seed]]
                panel.vlines(at, y - tall / 2, y + tall / 2, color=color, lw=width)
        panel.text(102, place, told(count[label, arm]).split(" (")[0], va="center", fontsize=9.5)
    panel.set(xlabel="share of training (%)", xlim=(-1, 100), ylim=(6.6, -0.6))
axes[0].set_yticks(range(len(NETWORKS)), list(NETWORKS))
axes[0].vlines([], 0, 0, color=plots.BLACK, lw=2.2, label="after a collapse (slingshot)")
axes[0].vlines([], 0, 0, color=plots.GREY, lw=1.0, label="other bursts")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plots.letter(axes, ["float32", "loss in float64"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
most = {label: told(runs[label, BASE].largest("collapsed"), "{:.0%}") for label in NETWORKS}
spiking = [label for label in NETWORKS if claims.median(count[label, BASE]) > 0]
exact = [label for label in NETWORKS if runs[label, EXACT].seeds]
tables.prose(f"""
* **With slingshots** in float32: {"; ".join(f"{label} {told(count[label, BASE])}" for label in spiking)}.
* **Without**: {"; ".join(f"{label} (at most {most[label]} collapsed)" for label in NETWORKS if label not in spiking)}. Below 40 % none can come.
* **With the loss in float64**, slingshots: {"; ".join(f"{label} {told(count[label, EXACT])}" for label in exact)}.
* **Other bursts** in float32, with less than 40 % collapsed: {"; ".join(f"{label} {told(other[label])}" for label in NETWORKS)}.
""")

# %% [markdown]
# ## The idea
#
# "Loss spike?" is a yes-or-no question that nobody has defined. The paper prints no rule, so
# this book has one, fixed before the runs:
#
# $$
# \text{burst}: \quad L_s \le 10^{-3}, \quad L_t \ge 0.1, \quad
# 10^{-3} < L < 0.1 \text{ in between}, \quad s < t .
# $$
#
# It is a {term}`slingshot` if at least 40 % of the samples had *collapsed* at a log shortly
# before: their loss, taken in float32, was exactly zero ({term}`softmax collapse`). Other bursts are
# taken for oscillations at the {term}`edge of stability`, which come in float64 too. As code:


# %%
def bursts_of(losses, quiet=1e-3, loud=0.1, apart=60):
    """Steps at which a loss that was quiet becomes loud; close ones count once."""
    onsets, armed, last = [], False, -apart
    for step, loss in enumerate(losses):
        if loss <= quiet:
            armed = True
        elif loss >= loud and armed:
            armed = False
            if step - last >= apart:
                onsets.append(step)
            last = step
    return onsets


example = [2.0, 1e-4, 1e-8, 0.05, 3.0, 1e-4, 0.2, *[1e-6] * 70, 0.01, 0.5]
assert bursts_of(example) == evidence.spikes(pd.Series(example))
bursts_of(example)

# %% [markdown]
# In most networks the loss climbs from 1e-8 to above 1 within a few steps, so that factors of
# ten in the two levels do not matter. In the small ViT they do: most of its bursts stay below 1
# ([Figure 12](fig12_vit.ipynb)). What matters too is how long one waits, and that is not in the table: a
# network that is quiet for 10,000 steps may have a slingshot in the next thousand.
#
# The same as a table, with the runs that there are:

# %% tags=["hide-input"]
#| fold: "Code: the table of networks"
head = ["Network", "Paper", "Slingshots", "Loss in float64", "Other bursts", "Collapsed",
        "Steps", "Scale, seeds"]  # fmt: skip
lines = []
for label in NETWORKS:
    run = runs[label, BASE]
    line = [label, "no" if label == QUIET else "yes", told(count[label, BASE]), told(count[label, EXACT])]
    line += [told(other[label]), most[label], f"{run.settings.epochs:,}"]
    lines.append([*line, f"{run.record.scale}, {len(run.seeds)}"])
tables.grid(head, lines)

# %% [markdown]
# ## The claims
#
# A seed supports the main claim if all seven networks do what the table says. Every network
# is judged at the best scale there is a record of, and the claim at the weakest of them.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(*records.values())

# %% [markdown]
# ## What was run
#
# The arms "float32" and "float64 loss" of the figures that Table 1 names; that of the MLP on
# CIFAR-10 belongs to Figure 1. Settings are on their pages. In short:
#
# 1. *Images.* 200 of them for all networks but the ViT, which has 2,000. The paper does not
#    say how many it used for its table.
# 2. *Laptop scale* means narrow networks, 100 images, and a tenth to two fifths of the steps;
#    division is modulo 31, in full batches. "No slingshot" there may mean "not yet".
# 3. *Late or early.* The paper's table does not tell bursts before a collapse from those
#    after it. Only the latter count here.
# 4. *Seeds.* The paper has one, 42.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
loud = [label for label in NETWORKS if (count[label, EXACT] > 0).any()]
scales = [f"{label}: {runs[label, BASE].record.scale}" for label in NETWORKS]
tables.prose(f"""
**A yes needs one run, a no needs many.** A single {{term}}`slingshot` settles that a network
has them. Their absence is one of so many steps and so many seeds. The one no of the table is
therefore its weakest entry, and rests on a single seed in the paper.

**Two reasons for a no.** Either the samples never collapse, and nothing is tested. Or they
do, and the network stays quiet. Only the second is what the paper says of ResNet18, whose
{{term}}`residual mass` is said to decay too fast. So the table above has a column for the
collapsed share.

**Float64 is not always silent.** With the loss in float64 the paper expects no slingshot. Ours
have some in: {"; ".join(loud)}. There the loss of most samples would be zero in float32 and
is not in float64. So a collapse of the loss cannot have caused these.

**What would make it one table.** All rows at the paper's scale, with the seeds that a verdict
needs. Scales of the rows now: {"; ".join(scales)}.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-tab01-levels
# In a loss that falls from 2 to 1e-8 and then spikes to 1 in three steps, which levels of
# *quiet* and *loud* would miss the spike, and which would count the start of training?
# ```
#
# ````{solution} ex-liu2026-tab01-levels
# :class: dropdown
# A spike is missed if *loud* is above its peak or *quiet* below 1e-8. The start is never
# counted, since a burst has to be quiet first:
#
# ```python
# import pandas as pd
# from grokbook import evidence
# fall = [2.0 * 10 ** (-step / 10) for step in range(84)]
# loss = pd.Series([*fall, 1e-5, 1e-2, 1.0, 0.1])
# for quiet, loud in ((1e-3, 0.1), (1e-6, 0.5), (1e-9, 0.1), (1e-3, 2.0)):
#     print(quiet, loud, evidence.spikes(loss, quiet=quiet, loud=loud))
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab01-waiting
# Slingshots of a network come at random, on average once in 5,000 steps. How likely is it
# that a run of 10,000 steps shows none? And that none of five such runs does?
# ```
#
# ````{solution} ex-liu2026-tab01-waiting
# :class: dropdown
# ```python
# import math
# none = math.exp(-10_000 / 5_000)
# print(f"one run {none:.0%}, five runs {none**5:.4%}")
# ```
#
# One run without a slingshot says little; five do. The table of the paper rests on one run
# of each network.
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab01-confound
# ResNet18 has {term}`batch norm` inside, skip connections, and an average over all pixels
# before its {term}`head`. Which other row of the table shares one of these? Which runs
# would tell them apart?
# ```
#
# ```{solution} ex-liu2026-tab01-confound
# :class: dropdown
# VGG11 with BN has the norms, the ViT has skip connections. The average is ResNet18's own.
# A ResNet18 without norms and one with a smaller learning rate are arms of Figure 13; a
# VGG11 with an average before its head would be the missing one.
# ```

# %% [markdown]
# ## Run it yourself
#
# Seven networks at laptop scale, one seed each of most; those of images take longest.
#
# ```bash
# make page PAGE=liu2026/tab01 SCALE=laptop
# ```
