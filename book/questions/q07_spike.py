# %% [markdown]
# # [Question]{.kicker} What makes a spike?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

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
    BASE: "float32, both damaged",
    ZERO: "sum restored (projection)",
    CENTRED: "float32, no mean classifier",
    BROKEN: "mainly the sum broken",
    REPAIR: "float32, correct gradient put back",
    EXACT: "float64, nothing damaged",
}
NETWORKS = {
    "wide MLP": ("fig01", "causal512"),
    "narrow MLP": ("fig06", "causal20"),
    "small VGG-11": ("fig10", "fig10"),
}
ALONE = "sum broken, correct exact", f"sum broken, correct exact, {CENTRED}"
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
    for network, (first, rest) in NETWORKS.items()
    for way in LOSSES
}
WIDE, NARROW, VGG = NETWORKS
runs |= {
    (WIDE, what): Run(records[name], arm, what) for what, (name, arm) in ADAM.items()
}
many = {key: instability.slingshots(run) for key, run in runs.items()}

dense = page.record("liu2026/fig06near", arms=(BASE,))
near = Run(dense, BASE)
chosen = near.settings.optimizer.options
EDGE = (2 + 2 * chosen["betas"][0]) / (
    (1 - chosen["betas"][0]) * chosen["lr"]
)  # Adam's limit
FELT, LOSS = "preconditioned_sharpness", "train_loss"
windows = {
    s: rows.loc[-50:0]
    for s, rows in instability.windows(near, FELT).items()
    if rows.index.min() <= -50
}
windows = {
    s: rows
    for s, rows in windows.items()
    if rows.at[0, "epoch"] in instability.bursts(near, late=True)[s]
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
SHOWN = {
    BASE: "both\ndamaged",
    ZERO: "sum\nrestored",
    BROKEN: "mainly sum\nbroken",
    EXACT: "nothing\ndamaged",
}
spikes = {
    (network, way): instability.bursts(runs[network, way], late=True)
    for network in (WIDE, NARROW)
    for way in SHOWN
}
ends = {
    way: [max(of) for of in spikes[WIDE, way].values() if of]
    for way in (BASE, ZERO, BROKEN)
}
usual = {key: claims.median(found) for key, found in many.items()}
assert not many[WIDE, EXACT].any() and (lead > 0).all()
fewer = (many[NARROW, BASE] - many[NARROW, ZERO]).dropna()  # by seed
assert fewer.between(0, 1).all()
meanless = instability.slingshots(Run(records["causal512"], f"{BROKEN}, {CENTRED}"))
intact = {way: Run(page.record("liu2026/exact20"), way) for way in ALONE}
alone = {way: instability.slingshots(run) for way, run in intact.items()}
wide_sum, wide_alone = (
    instability.slingshots(Run(page.record("liu2026/exact512"), way)) for way in ALONE
)
meanless_narrow = instability.slingshots(
    Run(records["causal20"], f"{BROKEN}, {CENTRED}")
)
assert (meanless_narrow > 0).mean() < 0.5
greatest = Run(page.record("liu2026/amsgrad"), "AMSGrad")
assert not instability.slingshots(greatest).any()
assert not meanless.any() and (alone[ALONE[1]] > 0).all() and not wide_alone.any()
sheet = claims.read(page.name, {})
sheet.box(f"""In two of Liu et al.'s MLPs, a wide and a narrow one, mostly a gradient that rounding damages.
When float32 rounds a loss to zero, two things go wrong: the correct class gets no
gradient, and the gradients of all classes no longer sum to zero. Liu et al. blame the
broken sum.

We damaged mainly one of the two at a time, on 200 images at a learning rate of 0.001. Each brings spikes. With the
sum restored, and nine tenths of the correct gradient lost, the wide MLP still has {usual[WIDE, ZERO]:.0f} loss spikes in
{runs[WIDE, ZERO].settings.epochs:,} epochs, where float32 has {usual[WIDE, BASE]:.0f}
(medians), but none after epoch {max(ends[ZERO]):,}. The narrow one has
{usual[NARROW, ZERO]:.0f}, about as many as in float32. With the sum broken, and nine tenths of the correct gradient
kept, the wide MLP has {usual[WIDE, BROKEN]:.0f} and the narrow one {usual[NARROW, BROKEN]:.0f}.

The paper explains the broken sum by the mean of the last layer's rows, which grows. With the sum so broken and this mean subtracted,
the wide MLP has none ({len(meanless)} runs), and the narrow one none in most runs. But in float32 every run of the wide one
still spikes without this mean, and with nothing but the sum broken each of {len(alone[ALONE[1]])} runs of the narrow one spikes without it
(none of these is drawn).

Just before a spike of the narrow one in float32 the curvature exceeds what Adam's steps can bear (c), in all {len(lead)} runs
whose spike followed a collapse; no other network was followed step by step.""")


# %% tags=["hide-input"]
#| name: fig-questions-07
#| caption: >
#|   With the sum of the gradients restored a wide MLP spikes only early, and a narrow one to the end; with
#|   mainly the sum broken both go on spiking late. (a), (b) Every tick is a loss spike, and every line of
#|   ticks is one run; the numbers are medians. From top to bottom: float32, where both the correct gradient
#|   and the sum are damaged; float32 with the sum restored; float64 with mainly the sum broken, which leaves
#|   nine tenths of the correct gradient; float64 without damage. Liu et al.'s MLPs of width 512 and 20 on 200
#|   images. (c) The last steps before a spike; each line is one run of the narrow MLP in float32. The height
#|   is the curvature that Adam feels, divided by the largest that its steps can bear (dashed).
#| alt: >
#|   Left: ticks of float32 from epoch 600 to 10,000; with the sum restored they end before 5,000; with mainly
#|   the sum broken they go on beyond 7,500 in all lines; with nothing damaged there are none. Middle: the same
#|   rows for the narrow MLP, all with ticks to the end but the last, which has ticks in two of its lines.
#|   Right: four curves run near 1 and shoot up in the last steps before the spike.
#| fold: "Code: draw the figure"
figure, (wide, narrow, felt) = plots.panels(
    3, height=3.9, gridspec_kw={"width_ratios": [1.25, 1.25, 1]}
)
for panel, network in ((wide, WIDE), (narrow, NARROW)):
    for y, way in enumerate(SHOWN):
        found, color = spikes[network, way], plots.COLOUR[way]
        for n, onsets in enumerate(found.values()):
            at = y + 0.7 * ((n + 0.5) / len(found) - 0.5)
            panel.plot([0, 10_000], [at, at], color=color, lw=0.3, alpha=0.5)
            places = [at] * len(onsets)
            panel.plot(onsets, places, "|", ms=24 / len(found), mew=1.2, color=color)
        told_of = f"{usual[network, way]:.0f}"
        panel.text(10_400, y, told_of, color=color, va="center", fontweight="bold")
    panel.set(ylim=(len(SHOWN) - 0.5, -0.5), xlim=(0, 12_200), xlabel="epoch")
    panel.set_xticks([0, 5000, 10_000], ["0", "5,000", "10,000"])
    panel.set_yticks(range(len(SHOWN)), list(SHOWN.values()), fontsize=9)
    panel.grid(False)
narrow.tick_params(labelleft=False)
last = max(ends[ZERO])
wide.text(last + 150, 1, f"last: {last:,}", va="center", fontsize=9)
for rows, color in zip(
    windows.values(), plots.shades(list(windows)).values(), strict=True
):
    felt.plot(rows[FELT] / EDGE, color=color)
felt.axhline(1, color=plots.BLACK, ls="--", lw=1)
felt.text(-49, 0.45, f"1: Adam's limit\n({len(windows)} runs)", fontsize=9, va="center")
felt.set(yscale="log", ylim=(0.2, 100), xlabel="steps before the spike")
felt.set(ylabel="curvature / limit")
felt.set_xticks([-40, -20, 0], ["40", "20", "0"])
plots.letter((wide, narrow, felt), [f"{WIDE}, rate 0.001", NARROW, "narrow, float32"])
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# When float32 rounds a loss to zero, the correct class gets no gradient at the {term}`logits <logit>`, and the gradients
# of all classes no longer sum to zero. Liu et al. blame the broken sum, through {term}`inflation`: two means of the last
# layer push each other until the network breaks.

# %% tags=["remove-input"]
slow = [
    Run(page.record("liu2026/free", arms=(BASE,)), BASE),
    *(
        Run(page.record(f"liu2026/{name}", arms=(BASE,)), BASE)
        for name in ("fig13", "fig11")
    ),
]
free, resnet, normed = (instability.slingshots(run) for run in slow)
division = Run(page.record("liu2026/fig08", arms=(ZERO,)), ZERO)
ends[division] = [
    max(of) for of in instability.bursts(division, late=True).values() if of
]
apart = page.record("liu2026/branches", arms=(BASE,))
branch = {way: Run(apart, way) for way in (BASE, ZERO, BROKEN, EXACT)}
away = {way: instability.slingshots(run) for way, run in branch.items()}
tables.prose(f"""
**Inflation is not needed.** The paper's {{term}}`zero-sum projection` restores the sum and ends inflation. In the wide MLP the spikes that are left
are early: the last comes at epoch {min(ends[ZERO]):,} to {max(ends[ZERO]):,}, that of
float32 at {min(ends[BASE]):,} to {max(ends[BASE]):,}. So for the second half of training the projection is a cure in this network. In the narrow one, and in
[an MLP on division](../liu2026/fig08_modular_mlp.ipynb), it is not: there the last spike comes at {min(ends[division]):,} to {max(ends[division]):,} of
{division.settings.epochs:,} epochs. Spikes also come without any {{term}}`mean classifier` ([interventions](../liu2026/causes.ipynb)).

**Yet a broken sum suffices.** With a float64 loss that breaks the sum and leaves nine tenths of the correct gradient, both MLPs spike,
the wide one to epoch {min(ends[BROKEN]):,} to {max(ends[BROKEN]):,}. With the {{term}}`mean classifier` subtracted as well, the wide one has
{told(meanless)} (runs: {len(meanless)}) and the narrow one {told(meanless_narrow)} (runs: {len(meanless_narrow)}): there these spikes do go through the mean, as the paper
says. In the narrow MLP a sum broken *alone*, with the correct gradient left whole, brings {told(alone[ALONE[0]])}, and with the mean subtracted
{told(alone[ALONE[1]])} (runs: {len(alone[ALONE[1]])}; [Figure 6](../liu2026/fig06_two_instabilities.ipynb)): there a growing mean is not needed. The wide MLP has
{told(wide_sum)} slingshots so, and {told(wide_alone)} with the mean subtracted (runs: {len(wide_alone)}; [interventions](../liu2026/causes.ipynb)): there it seems to be. Whether these spikes are the paper's kind is open.

**Then Adam's steps become too large.** Adam divides by a running mean of past gradients. While gradients vanish, that mean
decays, and the {{term}}`preconditioned sharpness` can rise. In [the narrow
MLP](../liu2026/fig06_two_instabilities.ipynb) it crosses Adam's limit of {EDGE:,.0f} {told(lead)} steps before the spike, when the loss is still at
{told(rise, "{:.1f}")} times its usual value. This was measured in {len(lead)} runs.

**Adam's settings agree.** An [ε](../liu2026/fig03_mitigations.ipynb) of 1e-5 keeps the divisor from vanishing, and leaves {told(many[WIDE, "ε = 1e-5"])} spikes in the wide MLP.
With 1e-6 there are {told(many[WIDE, "ε = 1e-6"])}. A longer memory, β2 = 0.999, leaves {told(many[WIDE, "β2 = 0.999"])}, and a
shorter one, 0.9, brings {told(many[WIDE, "β2 = 0.9"])} ([Figure 2](../liu2026/fig02_mechanism.ipynb)). AMSGrad, which divides by the largest mean so
far, leaves none (runs: {len(greatest.seeds)}). By the end {told(greatest.last("collapsed"), "{:.0%}")} of its samples have collapsed, with Adam nearly all.

**A collapse is not enough.** A small ResNet-18 has {told(resnet)} slingshots and a small VGG-11 with batch norm {told(normed)} (runs: {len(resnet)}
and {len(normed)}), though both collapse. [Free features](../liu2026/inflation.ipynb) inflate and have {told(free)} (runs: {len(free)}).

**Is Adam needed?** We continued from a state that Adam reached by gradient descent with a rate of 1,000. The fit is lost in
{int((away[BASE] > 0).sum())} of {len(away[BASE])} runs in float32 and in {int((away[ZERO] > 0).sum())} of {len(away[ZERO])} with the
projection. With a float64 loss or mainly the sum broken it is lost in {int((away[EXACT] > 0).sum() + (away[BROKEN] > 0).sum())} of
{len(away[EXACT]) + len(away[BROKEN])}. So the two kinds of damage act differently, and how is open. Bursts [with weight
decay](q06_float32.ipynb) are another kind, whose cause is not tested.
""")

# %% tags=["remove-input"]
tables.grid(
    ["What the loss does to the gradient", *NETWORKS],
    [
        [words, *(told(many[network, way]) for network in NETWORKS)]
        for way, words in LOSSES.items()
    ],
    caption="Slingshots by run, median and range: 10,000 epochs of the MLPs, 2,000 of the "
    "VGG-11 at an eighth of the paper's width",
)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q07.md
# ```
#
# ## What would change our mind
#
# * Adam's curvature at every step of the projection and of the broken sum. Measured every 100 epochs in the narrow MLP, it
#   is at about half and three quarters of the limit before their spikes ([Figure 6](../liu2026/fig06_two_instabilities.ipynb)). If
#   it stays below the limit at every step, the crossing is not the last step before a spike.
# * AMSGrad in a longer training. Its divisor cannot decay, and it has no spike, but part of its samples had not collapsed when
#   training ended. If it spikes once all have, a decaying divisor is not the cause.
# * The wide networks of Figures 10 to 13: `grokbook run liu2026/fig13 --scale paper --record`. A ResNet-18 of full width that
#   spikes would say that size decides, not the collapse.
#
# ## What was read
#
# Runs of Liu et al., Figures [1](../liu2026/fig01_precision.ipynb), [2](../liu2026/fig02_mechanism.ipynb),
# [3](../liu2026/fig03_mitigations.ipynb), [6](../liu2026/fig06_two_instabilities.ipynb),
# [8](../liu2026/fig08_modular_mlp.ipynb), [10](../liu2026/fig10_vgg.ipynb), [11](../liu2026/fig11_vgg_batch_norm.ipynb),
# [13](../liu2026/fig13_resnet.ipynb), [causes](../liu2026/causes.ipynb) and [inflation](../liu2026/inflation.ipynb). Those
# pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
