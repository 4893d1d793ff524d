# %% [markdown]
# # [Question]{.kicker} What did the papers get wrong, and what is new here?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import math

import numpy as np

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability

plots.use_style()
page = evidence.Page("questions/q10", scale, retrain, device)
small = evidence.Page(page.name, "laptop")  # stored: a quarter of the width
BASE, ZERO, BROKEN, EXACT = ("float32", "projection", "sum broken", "float64 loss")
NETWORKS = {
    512: ("fig01", "causal512"),
    20: ("fig06", "causal20"),
}  # Liu's two MLPs, by width
liu = {
    name: page.record(f"liu2026/{name}", arms=(arm,))
    for pair in NETWORKS.values()
    for name, arm in zip(pair, (BASE, ZERO), strict=True)
}
runs = {
    (width, way): Run(liu[names[way in (ZERO, BROKEN)]], way)
    for width, names in NETWORKS.items()
    for way in (BASE, ZERO, BROKEN, EXACT)
}
spikes = {key: instability.slingshots(run) for key, run in runs.items()}
devices = {
    "GPU": page.record("prieto2025/fig02"),
    "CPU": page.record("prieto2025/fig02cpu"),
}
BITS, SHARES = ("float16", "float32", "float64"), ("60%", "70%")
halves = {
    (on, share, bits): Run(one, f"{share} {bits}")
    for on, one in devices.items()
    for share in SHARES
    for bits in BITS
}
ends = {key: 100 * run.last("test_accuracy") for key, run in halves.items()}
free, baseline = (
    page.record("prieto2025/fig01c", arms=("exact CE float64",)),
    page.record("prieto2025/fig08", arms=("baseline",)),
)
controls = page.record("prieto2025/fig01control")
GAPS = {  # runs whose loss cannot collapse, and the epochs in which their gap grows steadily
    "β2 0.99, 40 % of 113": (Run(free, "exact CE float64"), 5000, 8000),
    "β2 0.99, 60 % of 113": (Run(baseline, "baseline"), 3000, 8000),
    (FAST := "β2 0.99, 70 % of 59"): (
        Run(controls, "exact CE, β2 0.99"),
        10_000,
        40_000,
    ),
    (SLOW := "β2 0.999, 70 % of 59"): (Run(controls, "exact CE"), 10_000, 40_000),
}
paces = {
    name: 1000 * (run.at("mean_gap", end) - run.at("mean_gap", since)) / (end - since)
    for name, (run, since, end) in GAPS.items()
}
limits = {
    name: -500 * math.log(run.settings.optimizer.options["betas"][1])
    for name, (run, *_) in GAPS.items()
}
gelu = evidence.reference("singh2026/gelu").set_index(["stat", "series"])[
    ["value", "low", "high"]
]
apart = {act: (gelu.loc[act] / gelu.loc["log"] - 1).abs() for act in ("gelu", "relu")}
radial = Run(page.record("tiwari2026/fig01"), "penalty")
PRINTED = 2460  # epochs, Tiwari et al.'s Table 2
lasts = {
    way: [
        max(of) for of in instability.bursts(runs[512, way], late=True).values() if of
    ]
    for way in (BASE, ZERO)
}
usual = {way: claims.median(spikes[512, way]) for way in (BASE, ZERO, BROKEN, EXACT)}
assert np.isinf(radial.onset()).all() and (spikes[512, ZERO] > 0).all()
sheet = claims.read(page.name, {})
sheet.box(f"""Much of what the papers show came out here too, least of it from
Tiwari et al. Some of the papers' numbers, explanations and cures failed.

With Tiwari et al.'s penalty on activations an MLP should, they say,
generalise at epoch {PRINTED:,}. As we read the paper (learning rate 0.001), none of
{len(radial.seeds)} networks had by {radial.settings.epochs:,} (a).

Liu et al.'s projection,
which makes the gradients of all classes add up to zero again, should end the loss spikes of a wide MLP (same
rate). In {runs[512, ZERO].settings.epochs:,} epochs there are {usual[ZERO]:.0f} with it, all before epoch
{max(lasts[ZERO]) + 1:,}, and {usual[BASE]:.0f} without it (b; medians of {len(spikes[512, ZERO])} runs).

Singh et al.'s table names the activation ReLU. But networks rebuilt from the
authors' random numbers have, before training, the losses of the authors' logs if they use GELU, and not if they use
ReLU (c).

Prieto et
al. say that ⊥Grad, their gradient without its part along the weights, needs no tuning. On
two addition tasks every run learned, and kept what it had learned, at middling learning rates only; at the smallest and
the largest that we tried hardly any did (not drawn).

New here, among other things: for a while it is Adam that sets how fast a network grows more certain. With a
cross-entropy that cannot round, the lead of its largest output, or logit, over the next grows at about a pace that
follows from β2, a setting of Adam (d).""")

# %% tags=["hide-input"]
#| name: fig-questions-10
#| caption: >
#|   Three sentences of the papers that do not hold here, and a pace that none of them names. (a) Tiwari et al.'s penalty at the paper's width,
#|   with half of the sums modulo 97: test accuracy of single runs, which stay at the bottom to the end of
#|   training. The diamond is where the paper has 90 %. (b) Loss spikes of Liu et al.'s wide MLP in 10,000
#|   epochs. One mark is one run, and the numbers are medians. The projection makes the gradients of all
#|   classes sum to zero again; a float64 loss is for comparison. (c) Singh et al.'s transformers, by the place
#|   of their layer norm, rebuilt from the authors' random numbers with GELU or with ReLU. Across is the
#|   relative distance of their training loss before the first update from the authors' log. The marks of a row
#|   are the mean, the smallest and the largest loss of the authors' runs. (d) By how much the lead of the
#|   largest logit grows in 1,000 epochs while it grows steadily, where the loss cannot round. One dot is one
#|   run; the bar with the number is −½ ln β2 per step, the pace that Adam sets. The names are β2, the share of
#|   the sums in training and the modulus.
#| alt: >
#|   Left: curves at the bottom up to epoch 8,000, a diamond at 2,460 and 90 percent. Middle: 16 and 17 spikes with float32,
#|   4 to 8 with the projection, none with a float64 loss. Below: marks of GELU lie below 1e-6, those of ReLU above 1e-4.
#|   Dots of the lead's growth lie near a bar at 5 for β2 0.99 and at 0.5 for 0.999.
#| fold: "Code: draw the figure"
figure, (late, many, apart_of, pace) = plots.panels(2, rows=2, height=3.1)
curves = 100 * radial.series("test_accuracy").dropna(how="all")
late.plot(curves, color=plots.COLOUR["penalty"], lw=1.5)
plots.paper(late, [PRINTED], [90])
late.text(PRINTED, 80, f"paper:\n{PRINTED:,}", ha="center", va="top")
end = radial.settings.epochs
late.text(end, 5, f"here, {len(radial.seeds)} runs,\nto {end:,}", ha="right")
late.set(ylim=(-3, 103), xlabel="epoch (rate 0.001)")
late.set_xticks([0, 4000, end], ["0", "4,000", f"{end:,}"])
WAYS = {BASE: "float32", ZERO: "projection", EXACT: "float64 loss"}
for y, way in enumerate(WAYS):
    values, color = spikes[512, way], plots.COLOUR[way]
    places = y + 0.06 * (np.arange(len(values)) - (len(values) - 1) / 2)
    many.plot(values, places, "o", ms=5.5, alpha=0.8, color=color)
    many.text(usual[way], y - 0.22, f"{usual[way]:.0f}", color=color, ha="center")
last = max(lasts[ZERO]) + 1
note = {"ha": "right", "va": "center", "color": plots.COLOUR[ZERO]}
many.text(18.5, 1.4, f"all before\nepoch {last:,}", **note)
many.set_yticks(range(len(WAYS)), list(WAYS.values()))
many.set(
    ylim=(len(WAYS) - 0.4, -0.6), xlim=(-1.5, 19), xlabel="spikes in 10,000 epochs"
)
for act, marker, color in (("gelu", "o", plots.PURPLE), ("relu", "X", plots.BLUE)):
    for y, name in enumerate(apart[act].index):
        apart_of.plot(apart[act].loc[name], [y] * 3, marker, ms=6, color=color)
apart_of.text(1e-8, -0.45, "GELU", color=plots.PURPLE, ha="center")
apart_of.text(2e-3, -0.45, "ReLU", color=plots.BLUE, ha="center")
WORDS = {
    "M": "norm before MLP",
    "M+A*": "norms everywhere",
    "A*": "norm on attention",
    "No LN": "no norm",
}
names = [WORDS.get(name, "norm on values") for name in apart["gelu"].index]
apart_of.set_yticks(range(len(names)), names)
apart_of.set(xscale="log", xlim=(1e-9, 3e-2), ylim=(len(names) - 0.5, -0.9))
apart_of.set_xlabel("distance from the logged loss")
for y, (name, measured) in enumerate(paces.items()):
    pace.plot(limits[name], y, "|", ms=20, mew=2, color=plots.GREY)
    pace.plot(measured, [y] * len(measured), "o", ms=5.5, color=plots.BLUE)
    pace.text(limits[name], y - 0.33, f"{limits[name]:.2g}", ha="center")
pace.set_yticks(range(len(paces)), [name.replace(", ", "\n") for name in paces])
pace.set(xscale="log", xlim=(0.2, 10), ylim=(len(paces) - 0.5, -0.7))
pace.set_xticks([0.5, 1, 5], ["0.5", "1", "5"])
pace.minorticks_off()
pace.set_xlabel("lead gained in 1,000 epochs")
titles = ["test set right (%)", "loss spikes", "GELU or ReLU?", "Adam's pace"]
plots.letter((late, many, apart_of, pace), titles)
plots.show(figure)

# %% [markdown]
# ## Why we think so
#
# The [scoreboard](/generated/scoreboard.md) lists each sentence of the papers with its test.

# %% tags=["remove-input"]
strong = {
    width: one.record("tiwari2026/suppression")
    for width, one in ((512, page), (128, small))
}
pull = {
    width: Run(one, "strength 5, decay 0, f = 0.6").onset()
    for width, one in strong.items()
}
held = {
    width: Run(
        one, f"first matrix held at {16 if width == 512 else 8}, f = 0.6"
    ).onset()
    for width, one in strong.items()
}
ZEROS = {
    on: told(halves[on, "70%", "float16"].last("zero_loss"), "{:.0%}") for on in devices
}
tables.prose(f"""
**Liu et al.: the cause of spikes.** They say that a {{term}}`zero-sum projection` removes {{term}}`slingshots <slingshot>`, so that {{term}}`inflation` must be
the cause. In their wide MLP {told(spikes[512, ZERO])} remain in 10,000 epochs, against {told(spikes[512, BASE])} without it, and the second half of training is
as quiet as with a float64 loss. In their narrow MLP {told(spikes[20, ZERO])} remain, to the end. *New:* rounding damages the gradient in two ways, and
spikes come with the correct gradient missing and the sum intact, and with mainly the sum broken ([Question 7](q07_spike.ipynb)).

**Tiwari et al.: the penalty.** At their width and half of the sums none of {len(radial.seeds)} networks has generalised
after {radial.settings.epochs:,} epochs; the one with strong decay has not either, so these runs judge the printed epoch and not the speed-up
([Question 8](q08_small_activations.ipynb)). *New:* with 60 % of the sums a [strong pull of activations to
zero](../tiwari2026/suppression.ipynb) generalises at epoch {told(pull[512])} there, without any decay.

**Singh et al.: the activation.** Their table says ReLU. *New:* rebuilt from their random numbers, GELU networks have the logged
losses to {apart["gelu"].max().max():.0e}, and ReLU networks are off by {apart["relu"].min().min():.0e} at least ([Table 2](../singh2026/tab02_notation.ipynb)).

**Prieto et al.: where collapse ends learning.** Smaller data sets do not collapse earlier ([Figure 2](../prieto2025/fig02_softmax_collapse.ipynb)). With 70 % of the
sums float16 ends at {told(ends["GPU", "70%", "float16"])} % of the test set on a GPU, at {told(ends["CPU", "70%", "float16"])} % on a CPU (runs: {len(halves["CPU", "70%", "float16"].seeds)}).
Their Appendix I mentions that a log_softmax without the official CUDA kernels can keep models learning there. *New:* on the CPU the network learns on until {ZEROS["CPU"]} of
its training losses are exactly zero. On the GPU it ends with {ZEROS["GPU"]} of them zero, because its gradients underflow.

**Across the papers: Adam's pace.** A loss whose gradient falls exponentially widens the {{term}}`gap` between logits by about
$-\\frac12 \\ln \\beta_2$ a step for a while. *New:* we measured it on losses that cannot collapse, at two learning rates. For $\\beta_2$ of 0.99
that pace is {limits[FAST]:.1f} in 1,000 epochs, and where the gap grows steadily we see {told(paces[FAST], "{:.1f}")}, after faster starts. For 0.999 it is {limits[SLOW]:.2f}, and we
see {told(paces[SLOW], "{:.2f}")} (runs: {len(paces[SLOW])}; [Figure 1](../prieto2025/fig01_headline.ipynb)). So losses must not be compared epoch by epoch.
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q10.md
# ```
#
# ## What would change our mind
#
# * Official code of Liu et al. or Tiwari et al. that gives their curves. Both chapters read settings from the text alone.
# * Float16 on other processors: `grokbook run prieto2025/fig02cpu --scale paper --record` on one that sums float16 in float32. If it
#   then ends as the GPU does, the sum is the cause.
# * The first matrix held short at width 512 in five seeds: `grokbook run tiwari2026/suppression --scale paper --record`.
#
# ## What was read
#
# Runs of Liu et al., Figures [1](../liu2026/fig01_precision.ipynb) and [6](../liu2026/fig06_two_instabilities.ipynb) and
# [causes](../liu2026/causes.ipynb), of Prieto et al., Figures [1](../prieto2025/fig01_headline.ipynb),
# [2](../prieto2025/fig02_softmax_collapse.ipynb) and [8](../prieto2025/fig08_induced_collapse.ipynb), of Singh et al.,
# [Table 2](../singh2026/tab02_notation.ipynb), and of Tiwari et al., [Figure 1](../tiwari2026/fig01_accuracy_curves.ipynb) and
# [suppression](../tiwari2026/suppression.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
