# %% [markdown]
# # [Question]{.kicker} Why does it wait?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q01", scale, retrain, device)
PRIETO, SINGH, BESIDE = "prieto2025/fig", "singh2026/fig", "no-norm, subtraction: "
mlps = {  # how a row of the figure is named: its record and its arm
    "no remedy": (f"{PRIETO}01c", "softmax float64"),
    "StableMax": (f"{PRIETO}04left", "addition"),
    "decay 4, rate 0.05": (f"{PRIETO}15", "lr 0.05, decay 4"),
    "⊥Grad, rate 0.01": (f"{PRIETO}01a", "⊥AdamW, softmax, as run"),
    "⊥Grad, rate 0.05": (f"{PRIETO}15", "lr 0.05, ⊥AdamW"),
}
blocks = {
    "no remedy": (f"{PRIETO}06a", f"{BESIDE}AdamW"),
    "weight decay 1.5": (f"{PRIETO}06a", f"{BESIDE}AdamW, decay 1.5"),
    "⊥Grad": (f"{PRIETO}06a", f"{BESIDE}⊥AdamW"),
    "⊥Grad, StableMax": (f"{PRIETO}06a", f"{BESIDE}⊥AdamW + StableMax"),
}
normed = {
    "norm on queries": (f"{SINGH}03", "A^qk"),
    "no norm": (f"{SINGH}02", "No LN"),
    "weight decay 1.5": (f"{SINGH}04wd", "decay 1.5"),
    "norm on values": (f"{SINGH}03", "A^v"),
    "norm before the MLP": (f"{SINGH}02", "M"),
    "ten times the rate": (f"{SINGH}04lr", "learning rate 0.01, decay fixed"),
}
sizes = {
    f"norm held at {n}": f"first matrix held at {n}, f = 0.6" for n in (30, 20, 13, 8)
}
held = {label: ("tiwari2026/suppression", arm) for label, arm in sizes.items()}
PANELS = {"MLP, addition": mlps, "transformer, rate 0.001": blocks}
PANELS |= {"transformer, addition": normed, "MLP, first matrix": held}
runs = {
    title: [
        Run(page.record(name, arms=[arm]), arm, label)
        for label, (name, arm) in of.items()
    ]
    for title, of in PANELS.items()
}
waits = {run: run.delay(accuracy=0.95) for several in runs.values() for run in several}
(
    (adam, stable, strong, ortho, steep),
    (_, decayed, soft, fast),
    (_, no_norm, *_, norm, _),
    (*_, short),
) = runs.values()
alike = Run(  # ⊥Grad with the betas and the ε of the runs without a remedy
    page.record(f"{PRIETO}06b"), "⊥AdamW 0.01, as intended"
)
same = ("lr", "betas", "eps")
assert all(
    alike.settings.optimizer.options[key] == adam.settings.optimizer.options[key]
    for key in same
)
single = Run(page.record(f"{PRIETO}01c"), "softmax float32")
charged = Run(page.record(f"{PRIETO}11", arms=["logit norm 0.001"]), "logit norm 0.001")
base2 = Run(
    page.record(f"{PRIETO}04right", arms=["base-2 codes, 7 bits"]),
    "base-2 codes, 7 bits",
)
aimed = Run(page.record(f"{PRIETO}05"), "MLP without bias")
first, slower = (
    Run(page.record("basics/grokking"), "decay 1"),
    Run(strong.record, "lr 0.01, decay 8"),
)
COSINE = "cos_grad.layers.2.weight"
after = aimed.smallest(COSINE, since=aimed.fitted(accuracy=1.0))
before = aimed.largest(COSINE, until=aimed.fitted(accuracy=0.5))
grown = stable.last("weight_norm") / stable.at("weight_norm", 0)
sheet = claims.read(page.name, {})
rates = [run.settings.optimizer.options["lr"] for run in (ortho, steep, soft)]
assert np.isinf(waits[adam]).all() and np.isinf(waits[steep]).all()
flat = Run(page.record(f"{PRIETO}15slow"), "lr 0.001, ⊥AdamW")
assert np.isinf(flat.fitted(accuracy=0.95)).all()
sheet.box(f"""Partly, it seems, because its gradient points along its weights. After the fit (the training set is
right) longer weights lower the loss and change no prediction; Prieto et al. say that
this delays generalisation.

In their MLP, on addition with two fifths of all sums and at
a learning rate of {rates[0]:g}, none of {len(adam.seeds)} runs generalised in {adam.settings.epochs:,}
epochs without a remedy. With ⊥Grad, which takes the part of the gradient along the
weights away, {len(ortho.seeds)} of {len(ortho.seeds)}
runs generalised within {waits[ortho].max():.0f} epochs of the fit. With strong weight
decay, at a rate of {rates[1]:g}, the wait is {waits[strong].min():.0f} to
{waits[strong].max():.0f} epochs.

That is not all: at a
rate of {rates[1]:g} ⊥Grad brought none of {len(steep.seeds)} runs there in
{steep.settings.epochs:,} epochs, though all had fitted, and at
{flat.settings.optimizer.options["lr"]:g} none even fitted in {flat.settings.epochs:,} (not drawn).
In their transformer (subtraction, rate {rates[2]:g}) ⊥Grad brought none of {len(soft.seeds)} runs
all the way there in {soft.settings.epochs:,}, though they end above nine tenths of the test set. With
StableMax, another loss, added to it, they get there, but {waits[fast].min():.0f} epochs or more after
the fit.

And in smaller MLPs we held the weights at one length, so that they could not grow. Where it was twice or half of the
length that weight decay (on sparse parity, L2) brings, hardly any run generalised in the steps given (not drawn).""")


# %% tags=["hide-input"]
#| name: fig-questions-01
#| caption: >
#|   With ⊥Grad, which takes the part of the gradient along the weights away, an MLP generalises almost as soon
#|   as it fits, but not at five times the rate, and a transformer still waits. Each dot is one run. It shows
#|   how many epochs lie between 95 % of the training set right and 95 % of the test set right. A dot is hollow
#|   if the run is below 95 % of the test set again in more than 2 % of its later logs. Where no run got there,
#|   a triangle marks the end of training. The grey words say how many runs got there. (a) Prieto
#|   et al.'s MLP on addition modulo 113; the learning rate is 0.01 unless the row says otherwise, and decay is
#|   weight decay. The runs without a remedy
#|   have another β2 and ε of Adam than those with ⊥Grad; that is not why they wait (see below). (b) Their transformer
#|   without layer norm on subtraction modulo 113; the last row has both ⊥Grad and StableMax.
#| alt: >
#|   Two panels of dots on a logarithmic axis of epochs. For the MLP: without a remedy a triangle at 80,000,
#|   with StableMax dots above 50,000, with strong weight decay 10 to 25, with ⊥Grad 5 to 10, with it at five
#|   times the rate a triangle at 1,000. For the transformer: triangles at 5,000 without a remedy and with
#|   ⊥Grad, dots at 2,700 with weight decay and at 250 to 600 with ⊥Grad and StableMax.
#| fold: "Code: draw the figure"
def rows_of(panel, several, ends):
    """One row for each setting: a mark for each run, a triangle where training ended."""
    for place, run in enumerate(several):
        came = waits[run][np.isfinite(waits[run])].sort_values()
        back = run.falls_back(accuracy=0.95)
        for n, (seed, wait) in enumerate(came.items()):
            spread = place + 0.11 * (n - (len(came) - 1) / 2)
            face = "white" if back[seed] > 0.02 else plots.BLUE
            panel.plot(wait, spread, "o", ms=5, color=plots.BLUE, mfc=face, alpha=0.8)
        if len(came) < len(run.seeds):
            panel.plot([run.settings.epochs], [place], ">", ms=8, color=plots.ORANGE)
        told_of = f"{len(came)} of {len(run.seeds)}"
        panel.text(
            0.35,
            place,
            told_of,
            color=plots.GREY,
            va="center",
            fontsize=9,
            bbox={"fc": "white", "ec": "none", "pad": 1},
        )
    panel.set_yticks(range(len(several)), [run.label for run in several])
    panel.set(xscale="log", xlim=(0.3, ends), ylim=(len(several) - 0.5, -0.5))
    panel.set_xticks([1, 100, 10_000], ["1", "100", "10,000"])
    panel.set_xlabel("epochs waited")


def explain(figure, panel):
    """What the three marks mean, above the panels."""
    panel.plot([], [], "o", color=plots.BLUE, label="wait of one run")
    panel.plot([], [], "o", color=plots.BLUE, mfc="white", label="falls back later")
    panel.plot([], [], ">", color=plots.ORANGE, label="not by the end")
    handles = panel.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3)


figure, axes = plots.panels(2, height=3.6)
for panel, several in zip(axes, list(runs.values())[:2], strict=True):
    rows_of(panel, several, 150_000)
explain(figure, axes[0])
plots.letter(axes, list(PANELS)[:2])
plots.show(figure)

# %% [markdown]
# ## Why we think so

# %% tags=["remove-input"]
tables.prose(f"""
**A fit does not need the rule.** The network of [Start here](../basics/grokking.ipynb) knows all its examples at epoch
{told(first.fitted(accuracy=1.0))}, and the rule at {told(first.generalises(accuracy=0.95))}. Without {{term}}`weight decay` it does not find the rule.

**Then the weights mostly grow.** An MLP that has fitted its examples can still lower its loss by scaling its logits up,
which changes no answer ({{term}}`naive loss minimisation`). Its gradient points there: in the output layer the
cosine with the weights is {told(after, "{:.2f}")} or more after the fit. But it reaches {told(before, "{:.2f}")} with half of the examples
still wrong ([Figure 5](../prieto2025/fig05_gradient_alignment.ipynb)). So direction alone does not start the wait. Nor does it alone keep it up: with a loss in float32
rounding ends the alignment, and the network does not generalise in the epochs that were run.

**Without that part an MLP hardly waits, if the rate fits.** {{term}}`⊥Grad <orthogonal gradient>` removes the gradient along
the weights. At a rate of {rates[0]:g} the wait is then {told(waits[ortho])} epochs. At {rates[1]:g} the MLP fits at epoch {told(steep.fitted(accuracy=0.95))}, and ends at
{told(steep.last("test_accuracy"), "{:.1%}")} of the test set ([Figure 15](../prieto2025/fig15_weight_decay.ipynb)). Rounding is not what ⊥Grad avoids
here: a loss that cannot collapse waits as briefly ([Figure 1](../prieto2025/fig01_headline.ipynb)). The runs without a remedy
have another β2 and ε of Adam, and losses in float64. That is not why they wait: with their β2 and ε ⊥Grad waits {told(alike.delay(accuracy=0.95))}
epochs (runs: {len(alike.seeds)}; [Figure 6](../prieto2025/fig06_orthogonal_optimizers.ipynb)), and with a float32 loss and no
remedy the network ends at {told(single.last("test_accuracy"), "{:.0%}")} of the test set (runs: {len(single.seeds)}).

**Keeping weights short helps as well.** With strong weight decay the MLP waits {told(waits[strong])} epochs at a rate of {rates[1]:g}, and
{told(slower.delay(accuracy=0.95))} at {rates[0]:g} with twice the decay. A penalty on the logits takes an MLP there at epoch
{told(charged.reaches(accuracy=0.95))}, and {int((charged.falls_back(accuracy=0.95) > 0.02).sum())} of {len(charged.seeds)} runs falls back to
{100 * charged.last("test_accuracy").min():.0f} % of the test set ([Figure 11](../prieto2025/fig11_alternative_losses.ipynb)). The second figure has
two more ways: a {{term}}`layer norm`, and a first matrix held at a length ([suppression](../tiwari2026/suppression.ipynb)). Another paper says that a norm
acts [through the scale of the logits](https://arxiv.org/abs/2606.18465); of [two tests here](../remedies/elsewhere.ipynb) the one with free weights does not bear that out, and the one with weights held at twice their norms does.

**It is not the whole story.** With {{term}}`StableMax` an MLP generalises while its weights grow
{told(grown, "{:,.0f}")}-fold. A transformer with ⊥Grad and softmax is at {told(soft.last("test_accuracy"), "{:.0%}")} of the
test set after {soft.settings.epochs:,} epochs, its best value, and still rising; with StableMax it waits {told(waits[fast])}, against {told(waits[decayed])} with weight decay
([Figure 6](../prieto2025/fig06_orthogonal_optimizers.ipynb)). And inputs in base 2 leave
{told(base2.delay(accuracy=0.95))} epochs with no remedy: they hand over the arithmetic ([Figure 4](../prieto2025/fig04_stablemax_grokking.ipynb)).
""")

# %% tags=["hide-input"]
#| name: fig-questions-01-more
#| caption: >
#|   A norm before the MLP and a short first matrix shorten the wait too; a norm on queries and keys alone makes it
#|   longer. As above. (a) Singh et al.'s transformer with weight decay 1; its runs with a norm before the MLP fall back.
#|   (b) Tiwari et al.'s MLP at a quarter of its width, its first matrix held at one length, without any decay.
#| alt: >
#|   Left: with a norm on queries and keys a triangle at 10,000; without a norm dots near 6,000, with one on values near
#|   1,200, with one before the MLP hollow dots near 440, at ten times the rate near 400. Right: triangles at 4,000 with
#|   a length of 30 and 20, dots near 1,100 at 13 and near 300 at 8.
#| fold: "Code: draw the second figure"
figure, axes = plots.panels(2, height=3.4)
for panel, several in zip(axes, list(runs.values())[2:], strict=True):
    rows_of(panel, several, 30_000)
explain(figure, axes[0])
plots.letter(axes, list(PANELS)[2:])
plots.show(figure)

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q01.md
# ```
#
# ## What would change our mind
#
# * Prieto et al.'s MLP with its weights held at one length and its outputs multiplied by a fixed number, at several numbers. Smaller
#   MLPs so held at twice or half the length of weight decay [hardly ever generalised](../remedies/elsewhere.ipynb) until their outputs were
#   rescaled. If the larger one waits as long with every number, growth is not the cause. This is not registered yet.
# * StableMax alone on that transformer. If it waits no longer than with ⊥Grad, the direction matters less
#   there: `grokbook run prieto2025/fig04transformer --scale paper --device cuda`.
# * A first matrix held short at the paper's width. If a first matrix held at 30 generalises as soon as one held at 8, the length of the
#   weights decides in small networks alone: `grokbook run tiwari2026/suppression --scale paper --device cuda`.
#
# ## What was read
#
# Runs of Prieto et al., Figures [1](../prieto2025/fig01_headline.ipynb), [4](../prieto2025/fig04_stablemax_grokking.ipynb),
# [5](../prieto2025/fig05_gradient_alignment.ipynb), [6](../prieto2025/fig06_orthogonal_optimizers.ipynb),
# [11](../prieto2025/fig11_alternative_losses.ipynb) and [15](../prieto2025/fig15_weight_decay.ipynb), of Singh et al., Figures
# [2](../singh2026/fig02_norm_positions.ipynb), [3](../singh2026/fig03_mechanism.ipynb) and
# [4](../singh2026/fig04_rate_and_decay.ipynb), of Tiwari et al., [suppression](../tiwari2026/suppression.ipynb), and of
# [Start here](../basics/grokking.ipynb). Those pages have all settings and seeds.

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing()
