# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 3]{.kicker} By Adam's formula a larger ε shortens the steps that lead to a loss spike, not the jump itself

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
from IPython.display import display
from pandas import Series

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
OWN = ("fig01", "fig03a", "fig03b", "fig03c", "texts")  # what a rerun trains anew
BASE, SMALL, LARGE, LAYER, BATCH, BIAS, CLAMP, CENTRED, SHIFTED = (
    "ε = 1e-8",
    "ε = 1e-6",
    "ε = 1e-5",
    "layer norm",
    "batch norm",
    "no head bias",
    "clamped",
    "W_G subtracted",
    "centred logits",
)
INSIDE, HEAD, BOTH = ("VGG-11, inside", "VGG-11, before the head", "VGG-11, both")
shades = plots.shades([BASE, SMALL, LARGE])  # the first is float32's own
BLUE, ORANGE = plots.COLOUR["batch norm"], plots.COLOUR["layer norm"]
PLANNED = {  # what is compared: its record, arm and colour
    BASE: ("fig01", "float32", plots.COLOUR["float32"]),
    SMALL: ("fig03a", "ε 1e-06", shades[SMALL]),
    LARGE: ("fig03a", "ε 1e-05", shades[LARGE]),
    LAYER: ("fig03b", "layer norm", ORANGE),
    f"{LAYER}, no gain": ("fig03b", "layer norm, no affine", plots.YELLOW),
    BATCH: ("fig03b", "batch norm", BLUE),
    f"{BATCH}, no gain": ("fig03b", "batch norm, no affine", BLUE),
    BIAS: ("texts", "no head bias", plots.BLACK),
    CLAMP: ("texts", "clamped", plots.BLACK),
    CENTRED: ("causal512", "W_G subtracted", plots.COLOUR["W_G subtracted"]),
    SHIFTED: ("texts", "centred logits", plots.COLOUR["W_G subtracted"]),
    INSIDE: ("fig11", "float32", plots.COLOUR["VGG-11"]),
    HEAD: ("fig03c", "before the head", BLUE),
    BOTH: ("fig03c", "both", BLUE),
    f"division, {BASE}": ("fig07", "float32", plots.COLOUR["transformer"]),
    f"division, {SMALL}": ("fig07", "ε 1e-06", plots.COLOUR["transformer"]),
    f"division, {LARGE}": ("fig07", "ε 1e-05", plots.COLOUR["transformer"]),
}


runs = {}
for key, (name, arm, color) in PLANNED.items():
    asked = page if name in OWN else {"scale": scale}
    record = evidence.stored(f"liu2026/{name}", arms=(arm,), **asked)
    if record and record.seeds(arm):
        runs[key] = Run(record, arm, key, color)
late = {
    key: evidence.bursts(run, late=True, within=max(100, run.settings.log))
    for key, run in runs.items()
}
counts = {key: evidence.counted(found) for key, found in late.items()}
first = {key: evidence.earliest(found) for key, found in late.items()}


def shared(*keys):
    """Epochs that all of these were trained for: one may be at another scale."""
    return min(runs[key].settings.epochs for key in keys)


def until(key, epoch):
    """Slingshots of every seed up to an epoch."""
    on = {seed: [e for e in found if e <= epoch] for seed, found in late[key].items()}
    return evidence.counted(on)


def fewer(key):
    """Slingshots minus those of the baseline, by seed."""
    epoch = shared(key, BASE)
    mine, base = evidence.paired(until(key, epoch), until(BASE, epoch))
    return mine - base


def ahead(early, other):
    """Epochs by which the first slingshot of one comes before that of another."""
    return evidence.lead(first[early], first[other], until=shared(early, other))


def looks(key, column, since=0):
    """Values at the regular looks: the baseline has more around its first spike."""
    table = runs[key].series(column, since=since)
    return table[table.index % runs[key].settings.log == 0]


def stretch(key, share=0.9):
    """Most epochs from one look to another with that share collapsed at all between."""
    there = (looks(key, "collapsed") >= share).astype(int)
    lengths = there.apply(lambda c: c.groupby((c == 0).cumsum()).sum().max())
    return runs[key].settings.log * (lengths - 1).clip(lower=0).astype(float)


def stepwise(key):
    """Share of the growth of the head's norm in the fastest 30 % of the looks."""
    grown = looks(key, "head_norm", evidence.settled(runs[key])).diff().clip(lower=0)
    rising = grown.apply(lambda column: column.dropna().sort_values(ascending=False))
    fastest = grown.count() * 0.3
    top = {
        seed: rising[seed].nlargest(int(fastest[seed])).sum() / rising[seed].sum()
        for seed in grown
        if rising[seed].sum() > 0
    }
    return Series(top, dtype=float).reindex(grown.columns, fill_value=0.0)


def norms(key):
    """The head's norm over that of the baseline at the last epoch of both."""
    epoch = shared(key, BASE)
    ours, base = (runs[k].at("head_norm", epoch) for k in (key, BASE))
    return evidence.ratio(ours, base)


def stays(key):
    """Smallest share collapsed from the first look with all collapsed to the end."""
    since = evidence.crossing(looks(key, "collapsed"), at_least=1)
    return runs[key].smallest("collapsed", since=since, otherwise=0)


sheet = claims.Sheet("liu2026/fig03")


def claim(keys, statement, quote, value, *, where, main=False, **options):
    """A claim on runs that may not be trained yet."""
    if all(key in runs for key in keys):
        found = [runs[key] for key in keys]
        rest = options | {"where": where, "main": main}
        sheet.claim(found, statement, quote, value(), **rest)
    else:
        sheet.not_run(statement, quote, where=where, main=main)


CAPTION, LN, BN = "Figure 3, caption", "Appendix B.2.4", "Appendix B.2.5"
claim(
    [LARGE],
    "ε = 1e-5: no slingshot, though for at least 1,000 epochs 90 % of the samples are "
    "collapsed (epochs in a row; 0 with a slingshot)",
    "setting ϵ = 10⁻⁵ completely eliminates them",
    lambda: stretch(LARGE).where(counts[LARGE] == 0, 0.0),
    where=CAPTION,
    at_least=1000,
    main=True,
)
claim(
    [SMALL, BASE],
    "ε = 1e-6: fewer slingshots than with 1e-8 (difference)",
    "ϵ = 10⁻⁶ reduces the frequency of spikes",
    lambda: fewer(SMALL),
    where=CAPTION,
    below=0,
    show="{:+,.0f}",
)
claim(
    [LAYER, BASE],
    "layer norm: the first slingshot comes earlier than without (lead in epochs)",
    "our experiments indicate that LN accelerates the onset of slingshots",
    lambda: ahead(LAYER, BASE),
    where=LN,
    above=0,
    show="{:+,.0f}",
)
claim(
    [LAYER, BASE],
    "layer norm: the head's norm ends at least 1.3 times as large as without",
    "LN significantly increases the magnitude of the last layer norm",
    lambda: norms(LAYER),
    where=CAPTION,
    at_least=1.3,
    show="{:.2f}",
)
claim(
    [LAYER],
    "layer norm: at least 70 % of the growth of the head's norm is in 30 % of the looks, "
    "from the collapse on",
    "from a continuous trajectory to a distinct stepwise pattern",
    lambda: stepwise(LAYER),
    where=CAPTION,
    at_least=0.7,
    show="{:.0%}",
)
claim(
    [INSIDE],
    "VGG-11 with batch norm inside: at least one slingshot",
    "Standard VGG11 with BN within convolutional layers still exhibits Slingshot spikes.",
    lambda: counts[INSIDE],
    where=CAPTION,
    at_least=1,
)
claim(
    [HEAD],
    "VGG-11 with batch norm before the head: no slingshot",
    "applying BN before the final classifier eliminates the instability",
    lambda: counts[HEAD],
    where=CAPTION,
    at_most=0,
)
claim(
    [HEAD],
    "and all its samples collapse, and stay so to the end (smallest share)",
    "stabilizing the training at the zero-loss SC state",
    lambda: stays(HEAD),
    where=CAPTION,
    at_least=1,
    show="{:.1%}",
)
claim(
    [BATCH],
    "the MLP with batch norm before the head: no slingshot",
    "We verify that BN is effective when applied immediately before the final linear layer.",
    lambda: counts[BATCH],
    where=BN,
    at_most=0,
)
claim(
    [BASE, BIAS],
    "with a bias in the head the first slingshot comes earlier (lead in epochs)",
    "including a bias term in the classification layer accelerates the occurrence of "
    "Slingshots",
    lambda: ahead(BASE, BIAS),
    where="Appendix B.2.9",
    above=0,
    show="{:+,.0f}",
)
claim(
    [CLAMP],
    "logits raised to at least the largest minus 100: at least one slingshot",
    "We observed that Slingshot spikes persist despite this intervention",
    lambda: counts[CLAMP],
    where="Appendix B.2.10",
    at_least=1,
)
for key in (BASE, SMALL, LAYER, CENTRED, SHIFTED, BOTH, f"division, {LARGE}"):
    if key in runs:
        unit = "steps" if "division" in key else "epochs"
        words = f"{key}: slingshots in {runs[key].settings.epochs:,} {unit}"
        sheet.extra(runs[key], words, counts[key])
for key in (BASE, BATCH):
    if key in runs:
        words = f"{key}: share of the growth of the head's norm in 30 % of the looks"
        sheet.extra(runs[key], words, stepwise(key), show="{:.0%}")
if BATCH in runs:
    words = "batch norm, MLP: smallest share collapsed from the first full collapse on"
    sheet.extra(runs[BATCH], words, stays(BATCH), show="{:.1%}")
if np.isfinite(first[BASE]).all():
    height = runs[BASE].at("feature_norm", first[BASE] - 1)
    words = f"{BASE}: mean norm of the features just before the first slingshot"
    sheet.extra(runs[BASE], words, height)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-03
#| caption: >
#|   What may keep the loss from jumping. (a to c) Adam's ε, MLP: the training loss of every
#|   step, first seed. (d) Norm of the last layer's weights with and without layer norm before
#|   it. (e, f) The training loss of VGG-11 with batch norm inside and before the last layer.
#|   Losses below 1e-9 lie on the lower edge. A jump before any collapse is no slingshot.
#| alt: >
#|   Six panels against epoch. With Adam's epsilon at 1e-8 the loss jumps to above 1 again and
#|   again; the others show the same quantity with a larger epsilon, the norm of the last
#|   layer, and the loss of VGG-11. Panels of networks that were not trained are empty and
#|   say so.
#| fold: "Code: draw the figure"
figure, axes = plots.panels(3, rows=2, height=2.4)
titles = {BASE: BASE, SMALL: SMALL, LARGE: LARGE, LAYER: "layer norm"}
titles |= {INSIDE: "VGG-11, BN inside", HEAD: "VGG-11, BN at head"}
for place, (panel, key) in enumerate(zip(axes, titles, strict=True)):
    plots.thousands(panel)
    if key == LAYER:
        for one, label in ((BASE, "no norm"), (key, "LN"), (f"{key}, no gain", "LN, no gain")):
            if one in runs:
                plots.curve(panel, runs[one], "head_norm", label=label)
            else:
                panel.plot([], [], color=PLANNED[one][2], label=f"{label}: not run")
        panel.set_ylabel("norm of the head")
        panel.legend(loc="upper left", fontsize=9, handlelength=1.2)
    elif key in runs:
        plots.trace(panel, runs[key], lw=0.8)
        panel.set(ylim=(5e-10, 1e3), yticks=[1e-8, 1e-4, 1], ylabel="")
    else:
        panel.text(0.5, 0.5, "not run yet", ha="center", transform=panel.transAxes)
        panel.set(xticks=[], yticks=[])
    panel.set_xlabel("epoch" if place > 2 else "")
axes[0].set_ylabel("training loss")
plots.letter(axes, list(titles.values()))
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
def seen(key):
    """The slingshots of one arm in words."""
    if key not in runs:
        return "not run yet"
    run = runs[key]
    many = f"{told(counts[key])} in {run.settings.epochs:,} epochs"
    reduced = "" if run.record.scale == "paper" else ", reduced scale"
    return f"{many} (n = {len(run.seeds)}{reduced})"


def onset(key):
    return f", the first at epoch {told(first[key])}" if key in runs else ""


def collapsed(key):
    """How long the samples were collapsed, without which no slingshot means little."""
    words = " 90 % of its samples are collapsed over {} epochs at most."
    return words.format(told(stretch(key))) if key in runs else ""


norm = ""
if LAYER in runs:
    ratio = told(norms(LAYER), "{:.1f}")
    norm = f" The head's norm ends {ratio} times as large as without."
tables.prose(f"""
Numbers are {{term}}`slingshots <slingshot>`: late bursts of the loss after
{{term}}`softmax collapse`.

* **Adam's ε**, which keeps its denominator from zero. At the usual 1e-8: {seen(BASE)}. At
  1e-6: {seen(SMALL)}. At 1e-5: {seen(LARGE)}.{collapsed(LARGE)}
* **{{term}}`Layer norm` before the {{term}}`head`**: {seen(LAYER)}{onset(LAYER)}. Without
  it the first comes at epoch {told(first[BASE])}.{norm}
* **{{term}}`Batch norm` before the head**, MLP: {seen(BATCH)}.{collapsed(BATCH)} VGG-11 with
  batch norm inside: {seen(INSIDE)}.{collapsed(INSIDE)} Before the head:
  {seen(HEAD)}.{collapsed(HEAD)}
* **No bias in the head**: {seen(BIAS)}{onset(BIAS)}. **Clamped
  {{term}}`logits <logit>`**: {seen(CLAMP)}.
* **The {{term}}`mean classifier` subtracted** after every step: {seen(CENTRED)}. Subtracted
  in the forward pass alone: {seen(SHIFTED)}.
""")

# %% [markdown]
# ## The idea
#
# During a collapse gradients are nearly zero, and Adam forgets the large ones. When a
# gradient $g$ comes back after a long silence, the step of a weight is
#
# $$
# \Delta = \eta\, \frac{(1 - \beta_1)\, |g|}{\sqrt{1 - \beta_2}\; |g| + \varepsilon} .
# $$
#
# For $|g| \gg \varepsilon$ its size does not depend on $g$ at all. A larger $\varepsilon$
# cuts the steps at small gradients only:


# %%
def returning(gradient, eps, lr=1e-3, betas=(0.9, 0.95)):
    """Adam's step on a weight whose gradient comes back after a long silence."""
    first, second = (1 - betas[0]) * gradient, (1 - betas[1]) * gradient**2
    return lr * first / (math.sqrt(second) + eps)


for eps in (1e-8, 1e-6, 1e-5):
    for gradient in (1e-7, 1e-2):
        silence = [(0.0, 10_000), (gradient, 1)]
        known = theory.adam_update(silence, 1e-3, (0.9, 0.95), eps)
        assert math.isclose(returning(gradient, eps), known, rel_tol=1e-6)
        print(f"ε = {eps:g}, gradient {gradient:g}: step {known:.1e}")

# %% [markdown]
# Batch norm acts elsewhere. The {term}`mean feature` after it is its learned shift, at first
# zero, so that the mean classifier has nothing to drift along. Layer norm fixes the length
# of each sample's features and leaves them free to share a direction.

# %% tags=["hide-input"]
#| name: fig-liu2026-03-why
#| caption: >
#|   (a) Adam's step at a gradient that comes back, for three values of ε. Dotted, the mean
#|   gradient of the head in the step that takes the loss above 0.1 for the first time, and in
#|   the next. (b) Slingshots per 1,000 epochs of every change that was run on the MLP, a dot
#|   per seed.
#| alt: >
#|   Left: three curves that rise with the gradient and end on the same level of 4.5e-4, the
#|   later the larger epsilon is; one dotted line lies at small gradients, where they differ,
#|   one at large ones, where they do not. Right: a dot plot of slingshots by change.
#| fold: "Code: draw the step and the counts"
figure, (step, dots) = plots.panels(2, height=3.6)
gradients = np.geomspace(1e-9, 1, 200)
for key, eps in ((BASE, 1e-8), (SMALL, 1e-6), (LARGE, 1e-5)):
    sizes = [returning(gradient, eps) for gradient in gradients]
    step.plot(gradients, sizes, color=PLANNED[key][2], label=key)
base = runs[BASE]  # the gradient of each step around its first slingshot is recorded
pair = [claims.median(base.at("head_gradient", first[BASE] + later)) for later in (0, 1)]
plots.mark(step, pair, color=plots.GREY)
step.set(xscale="log", yscale="log", xlabel="gradient that comes back", ylabel="step")
step.legend(loc="lower right", frameon=True, framealpha=1, edgecolor="none")
MLP = [key for key in PLANNED if key in runs and "VGG" not in key and "div" not in key]
for place, key in enumerate(reversed(MLP)):
    rate = 1000 * counts[key] / runs[key].settings.epochs
    dots.plot(rate, [place] * len(rate), "o", color=runs[key].color, ms=7, alpha=0.7)
dots.set_yticks(range(len(MLP)), MLP[::-1])
dots.set(xlabel="slingshots per 1,000 epochs", xlim=(-0.1, None), ylim=(-0.6, len(MLP) - 0.4))
plots.letter([step, dots], ["a gradient returns", "slingshots"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A slingshot goes from a loss of at most 0.001 to one of at least 0.1, with at least 40 %
# of the samples collapsed at a look within 100 epochs before. That 40 %, the factor of 1.3,
# the 70 % and the 1,000 epochs are ours, fixed before the runs. Two runs are compared over
# the epochs that both have.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's, and the arms"
records = {run.record.path: run.record for run in runs.values()}
said = {"dataset.train_samples": "not stated", "model": "not stated (a); MLP (b); VGG11 (c)"}
modular = liu2026.TABLE2 | {"model": "not stated"}
for found in records.values():
    name = found.name.split("/")[1]
    display(tables.settings(found, paper=modular if name == "fig07" else liu2026.TABLE3 | said))
    display(tables.arms(found))

# %% [markdown]
# There is no official code. What had to be inferred:
#
# 1. *Networks.* The paper does not say which one (a) shows. Ours is the MLP of its Table 3
#    on CIFAR-10 with 200 images; the transformer of Table 2 is beyond the paper here.
# 2. *No slingshot* counts for $\varepsilon = 10^{-5}$ only if the samples stay collapsed for
#    1,000 epochs. A larger $\varepsilon$ also slows training down, and without a collapse
#    there is nothing to prevent.
# 3. *Norms* have a learned gain and shift; "no gain" has neither. Norms of the head leave
#    the gain of the norm before it out.
# 4. *Batch norm* acts on the whole training set as one batch. Whether the second curve of (c)
#    has it inside too is not said: both were planned.
# 5. *Stepwise* leaves out what comes before half of the samples are collapsed. Every norm
#    grows quickly there.
# 6. *Subtracting $W_G$* is not defined further in the paper. Both readings are arms: after
#    every step, and in the forward pass alone.
# 7. *Batches* (Appendix B.3.1) are on the page of [Figure 10](fig10_vgg.ipynb).

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
before, after = pair
same = ""
if {INSIDE, HEAD} <= runs.keys() and not counts[INSIDE].max():
    sooner = evidence.counted(evidence.bursts(runs[HEAD], late=False))
    same = f"""**Before the head or inside.** The paper has spikes with batch norm inside VGG-11 and
none with it before the head. Our small network has no slingshot with it
[inside](fig11_vgg_batch_norm.ipynb). So it cannot show what the place changes. Bursts with
batch norm before the head that come before a collapse, and so are no slingshots:
{told(sooner)}.

"""
cut = [returning(gradient, 1e-8) / returning(gradient, 1e-5) for gradient in pair]
tables.prose(f"""
**Where ε acts.** In our baseline the step that takes the loss above 0.1 for the first time
has a mean gradient of {before:.0e} in the head. By the formula above, a step there is
{cut[0]:,.0f} times shorter with ε = 1e-5 than with 1e-8. One step later the mean gradient is
{after:.0e}, and that ratio is {cut[1]:.2f}. By the formula alone, a larger ε does not blunt the blow itself, as "lowering the upper bound of
the effective learning rate" may suggest. What it shortens are the steps before.

**Fewer by being slower?** A training whose steps are shorter also takes longer to collapse.
The main claim therefore asks for a long collapse without a slingshot, not for silence alone.

**Steps in the norm.** Without any norm before the head, the fastest 30 % of the looks have
{told(stepwise(BASE), "{:.0%}")} of the growth. So the "continuous trajectory" of the caption
is no even one: 30 % would be. The 70 % asked of layer norm has to be read beside it.

{same}**Batch norm does two things.** It takes away the mean feature, as the paper says. It also
fixes the spread of every feature over the samples. Whether the {{term}}`inflation`
that it prevents is what causes spikes is the question of the [causal table](causes.ipynb):
there the mean classifier is removed by itself.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-03-half
# From which gradient on does Adam's step after a silence have half of its largest size, for
# $\varepsilon = 10^{-8}$, $10^{-6}$ and $10^{-5}$?
# ```
#
# ````{solution} ex-liu2026-03-half
# :class: dropdown
# Where $\sqrt{1 - \beta_2}\, |g| = \varepsilon$:
#
# ```python
# import math
# from grokbook import theory
# for eps in (1e-8, 1e-6, 1e-5):
#     g = eps / math.sqrt(1 - 0.95)
#     step = theory.adam_update([(0.0, 10_000), (g, 1)], 1e-3, (0.9, 0.95), eps)
#     print(f"ε = {eps:g}: gradient {g:.1e}, step {step:.2e}")
#     assert abs(step / theory.jump(1e-3, (0.9, 0.95)) - 0.5) < 1e-3
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-03-shift
# What is the mean feature after batch norm, and what after layer norm, if all samples have
# features near one common vector?
# ```
#
# ````{solution} ex-liu2026-03-shift
# :class: dropdown
# After batch norm it is the shift, zero at the start. After layer norm the common vector
# remains, at a fixed length:
#
# ```python
# import torch
# features = torch.randn(200, 64) + 5 * torch.randn(64)
# for norm in (torch.nn.BatchNorm1d(64), torch.nn.LayerNorm(64)):
#     mean = norm(features).mean(dim=0)
#     print(f"{type(norm).__name__}: {mean.detach().norm():.3f}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-03-clamp
# The clamp at 100 below the largest {term}`logit` prevents underflow. What would one at 15
# do, and is it a remedy?
# ```
#
# ````{solution} ex-liu2026-03-clamp
# :class: dropdown
# No {term}`margin` exceeds 15 then, and float32 absorbs from 16.6 on. So no sample
# collapses, and the correct class keeps its gradient. But clamped logits have none:
#
# ```python
# import torch
# from grokbook import losses
# z = torch.zeros(1, 10)
# z[0, 0] = 20
# for depth in (100.0, 15.0):
#     slope = torch.func.grad(
#         lambda z: losses.clamped_cross_entropy(z, torch.tensor([0]), depth=depth)
#     )(z)[0]
#     print(f"{depth:g}: correct {slope[0]:.1e}, wrong {slope[1]:.1e}, sum {slope.sum():.1e}")
# ```
#
# The sum over classes is not zero now either, with the other sign: the mean classifier is
# pushed along $+\mu_G$, and the correct logit grows without end.
# ````

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000) and three seeds of the MLP, a narrow VGG-11 and one seed of
# it, in several hours on one core:
#
# ```bash
# make page PAGE=liu2026/fig03 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(*records.values())
