# %% [markdown]
# # [Question]{.kicker} Why does it wait?

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the answer"
import numpy as np

from grokbook import claims, evidence, plots, tables
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("questions/q01", scale, retrain, device)
PRIETO, SINGH, BESIDE = "prieto2025/fig", "singh2026/fig", "no-norm, subtraction: "
mlps = {  # how a row of the figure is named: its record and its arm
    "nothing added": (f"{PRIETO}01c", "softmax float64"),
    "StableMax": (f"{PRIETO}04left", "addition"),
    "logit penalty": (f"{PRIETO}11", "logit norm 0.001"),
    "base-2 inputs": (f"{PRIETO}04right", "base-2 codes, 7 bits"),
    "decay 4, rate × 5": (f"{PRIETO}15", "lr 0.05, decay 4"),
    "⊥Grad": (f"{PRIETO}01a", "⊥AdamW, softmax, as run"),
    "⊥Grad, rate × 5": (f"{PRIETO}15", "lr 0.05, ⊥AdamW"),
}
blocks = {
    "nothing added": (f"{PRIETO}06a", f"{BESIDE}AdamW"),
    "⊥Grad": (f"{PRIETO}06a", f"{BESIDE}⊥AdamW"),
    "weight decay 1.5": (f"{PRIETO}06a", f"{BESIDE}AdamW, decay 1.5"),
    "⊥Grad, StableMax": (f"{PRIETO}06a", f"{BESIDE}⊥AdamW + StableMax"),
}
normed = {
    "norm on queries": (f"{SINGH}03", "A^qk"),
    "no norm": (f"{SINGH}02", "No LN"),
    "decay 1.5": (f"{SINGH}04wd", "decay 1.5"),
    "norm on values": (f"{SINGH}03", "A^v"),
    "norm before MLP": (f"{SINGH}02", "M"),
    "ten times the rate": (f"{SINGH}04lr", "learning rate 0.01, decay fixed"),
}
sizes = {
    f"norm kept at {n}": f"first matrix held at {n}, f = 0.6" for n in (30, 20, 13, 8)
}
held = {label: ("tiwari2026/suppression", arm) for label, arm in sizes.items()}
PANELS = {"MLP, addition": mlps, "transformer, subtraction": blocks}
PANELS |= {"transformer, addition": normed, "MLP, first matrix held": held}
runs = {
    title: [
        Run(page.record(name, arms=[arm]), arm, label)
        for label, (name, arm) in of.items()
    ]
    for title, of in PANELS.items()
}
waits = {run: run.delay(accuracy=0.95) for several in runs.values() for run in several}
(
    (adam, stable, charged, base2, strong, ortho, steep),
    (_, soft, decayed, fast),
    (_, no_norm, *_, norm, _),
    (*_, short),
) = runs.values()
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
rates = [run.settings.optimizer.options["lr"] for run in (ortho, steep)]
sheet.box(
    f"After the fit an MLP's gradients mostly lengthen its weights. Without that part, at a rate of {rates[0]:g}, {len(ortho.seeds)} MLPs waited "
    f"at most {waits[ortho].max():.0f} epochs; at {rates[1]:g}, {np.isinf(waits[steep]).sum()} of {len(steep.seeds)} fitted and did not generalise in "
    f"{steep.settings.epochs:,}. A transformer had not got there in {soft.settings.epochs:,} epochs, and with StableMax as well "
    f"waited at least {waits[fast].min():.0f}."
)

# %% tags=["hide-input"]
#| name: fig-questions-01
#| caption: >
#|   The wait is no constant of a task: it goes from a few epochs to tens of thousands, and some
#|   networks do not generalise at all. Each mark is one run: epochs from 95 % of the training set to the first
#|   95 % of the test set; hollow, if more than 2 % of its later logs are below again. A triangle is where
#|   training ended for runs that did not get there. (a) Prieto et
#|   al.'s MLP, addition; (b) their transformer, subtraction; (c) Singh et al.'s transformer, addition
#|   with weight decay 1, one norm on queries and keys; (d) Tiwari et al.'s MLP at a quarter of its width, its first matrix held at a norm.
#| alt: >
#|   Four panels of dots on a logarithmic axis of epochs. For the MLP the wait falls from never, with
#|   nothing added, over 60,000 with StableMax to ten and fewer with the orthogonal gradient, and back to
#|   never with it at five times the rate. The
#|   transformers wait from 250 to 9,000 epochs or in vain. With the first matrix held at a norm of 8
#|   the wait is 300 epochs, at 13 it is 1,100, and from 20 on networks do not generalise.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(2, rows=2, height=3.0)
for panel, several in zip(axes, runs.values(), strict=True):
    for place, run in enumerate(several):
        came = waits[run][np.isfinite(waits[run])].sort_values()
        back = run.falls_back(accuracy=0.95)
        for n, (seed, wait) in enumerate(came.items()):
            spread = place + 0.11 * (n - (len(came) - 1) / 2)
            face = "white" if back[seed] > 0.02 else plots.BLUE
            panel.plot(wait, spread, "o", ms=5, color=plots.BLUE, mfc=face, alpha=0.8)
        if len(came) < len(run.seeds):
            panel.plot([run.settings.epochs], [place], ">", ms=8, color=plots.ORANGE)
    panel.set_yticks(range(len(several)), [run.label for run in several])
    panel.set(xscale="log", xlim=(3, 150_000), ylim=(len(several) - 0.5, -0.5))
for panel in axes[2:]:
    panel.set_xlabel("epochs from the fit to the rule")
axes[0].plot([], [], "o", color=plots.BLUE, label="one run's wait")
axes[0].plot([], [], "o", color=plots.BLUE, mfc="white", label="falls back later")
axes[0].plot([], [], ">", color=plots.ORANGE, label="not by the end")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.letter(axes, list(PANELS))
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
still wrong ([Figure 5](../prieto2025/fig05_gradient_alignment.ipynb)). So direction alone does not start the wait.

**Without that part an MLP hardly waits, if the rate fits.** {{term}}`⊥Grad <orthogonal gradient>` removes the gradient along
the weights. At a rate of {rates[0]:g} the wait is then {told(waits[ortho])} epochs. At {rates[1]:g} the MLP fits at epoch {told(steep.fitted(accuracy=0.95))}, and ends at
{told(steep.last("test_accuracy"), "{:.1%}")} of the test set ([Figure 15](../prieto2025/fig15_weight_decay.ipynb)). With nothing added, such
networks (seeds: {len(adam.seeds)}) get at most {told(adam.largest("test_accuracy"), "{:.1%}")} right in {adam.settings.epochs:,} epochs. Rounding is not what ⊥Grad avoids
here: a loss that cannot collapse waits as briefly ([Figure 1](../prieto2025/fig01_headline.ipynb)).

**Keeping weights short helps as well.** With strong weight decay the MLP waits {told(waits[strong])} epochs at a
fivefold learning rate. With decay 8 it waits {told(slower.delay(accuracy=0.95))} at the same rate. In a
transformer a {{term}}`layer norm` before the MLP, which hides the length of its input, takes the wait for the first 95 % from
{told(waits[no_norm])} to {told(waits[norm])} epochs ([Figure 1](../singh2026/fig01_overview.ipynb)), but {told(norm.falls_back(accuracy=0.95), "{:.0%}")} of its
later logs are below again, to the end of training. A penalty on the logits takes an MLP there at epoch {told(charged.reaches(accuracy=0.95))}, and
{int((charged.falls_back(accuracy=0.95) > 0.02).sum())} of {len(charged.seeds)} runs is thrown back. In small networks a first matrix held at a norm of 8 waits
{told(waits[short])} epochs. Held at 30 it does not generalise ([Suppression](../tiwari2026/suppression.ipynb)). Another paper says that a norm
acts [through the scale of the logits](https://arxiv.org/abs/2606.18465); [one test here](../remedies/elsewhere.ipynb) does not bear that out.

**It is not the whole story.** With {{term}}`StableMax` an MLP generalises while its weights grow
{told(grown, "{:,.0f}")}-fold. A transformer with ⊥Grad and softmax is at {told(soft.last("test_accuracy"), "{:.0%}")} of the
test set after {soft.settings.epochs:,} epochs, its best value, and still rising; with StableMax it waits {told(waits[fast])}, against {told(waits[decayed])} with weight decay
([Figure 6](../prieto2025/fig06_orthogonal_optimizers.ipynb)). And inputs in base 2 leave
{told(waits[base2])} epochs with no remedy: they hand over the arithmetic ([Figure 4](../prieto2025/fig04_stablemax_grokking.ipynb)).
""")

# %% [markdown]
# ## What it rests on
#
# ```{include} ../generated/questions/q01.md
# ```
#
# ## What would change our mind
#
# * An MLP whose weights are rescaled to their first length after each step, with nothing else changed. If it waits as
#   long as before, growth is not the cause. This is not registered yet.
# * StableMax alone on the transformer of panel (b). If it waits no longer than with ⊥Grad, the direction matters less
#   there: `grokbook run prieto2025/fig04transformer --scale paper --device cuda`.
# * Panel (d) at the paper's width. If a first matrix held at 30 generalises as soon as one held at 8, the length of the
#   weights decides in small networks alone: `grokbook run tiwari2026/suppression --scale paper --device cuda`.
#
# ## What was read

# %% tags=["hide-input"]
#| fold: "Code: what was read"
sheet.closing(
    *(run.record for several in runs.values() for run in several),
    aimed.record,
    first.record,
)
