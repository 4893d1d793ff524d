# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 9]{.kicker} A network that has fitted 200 images falls back to guessing, learns them again, and falls back once more

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

from IPython.display import display
from pandas import Series

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
page = {"scale": scale, "retrain": retrain, "device": device}
record = evidence.record("liu2026/fig01", arms=("float32", "float64 loss"), **page)
base = Run(record, "float32", "200 images", plots.COLOUR["MLP"])
exact = Run(record, "float64 loss", "Adam", plots.GREY)
settings = base.settings
ETA, EPS = (settings.optimizer.options[key] for key in ("lr", "eps"))
late = evidence.bursts(base, late=True)
first = evidence.earliest(late)
more = evidence.stored("liu2026/fig09", **page)
arms = [arm for arm in more.experiment.arms if more.seeds(arm.name)] if more else []
shade = plots.shades([arm.name for arm in arms])
larger = {arm.name: Run(more, arm.name, arm.name, shade[arm.name]) for arm in arms}
switched = evidence.stored("liu2026/fig09descent", **page)
RATES = ("100,000", "10,000", "1,000", "100")
tone = dict(zip(RATES, plots.shades(RATES).values(), strict=True))
descent = {
    (loss, rate): Run(switched, f"{loss}, rate {rate}", f"rate {rate}", tone[rate])
    for loss in ("float32", "float64 loss")
    for rate in RATES
    if switched and switched.seeds(f"{loss}, rate {rate}")
}
zeroed = None
if switched and switched.seeds("float32, from a loss of zero"):
    zeroed = Run(switched, "float32, from a loss of zero", "from zero", plots.BLACK)


def by_seed(found):
    return Series(found, dtype=float)


def lowest_peak(seed, onsets):
    """The smallest of the largest losses within 60 steps of each onset; 0 if none."""
    loss = base.trace()[seed]
    return min((loss.loc[on : on + 60].max() for on in onsets), default=0.0)


def regularity(onsets):
    """The longest wait between two slingshots over the median one, or infinity."""
    waits = Series(onsets, dtype=float).diff().dropna()
    return waits.max() / waits.median() if len(waits) else math.inf


def before(column, seed, *, since=100, until=1):
    """Median of a column over epochs before the first slingshot, or infinity."""
    on = first[seed]
    if on == math.inf:
        return math.inf
    found = base.series(column)[seed].loc[on - since : on - until].dropna()
    return found.median() if len(found) else math.inf


def lowest_before(seed, onsets):
    """The smallest loss up to the first slingshot, or of all steps without one."""
    return base.trace()[seed].loc[: min(onsets, default=math.inf)].min()


def after(run, low):
    """The loss of each seed from its first step with a loss of at most ``low`` on."""
    found = {seed: loss.loc[(loss <= low).idxmax() :] for seed, loss in run.trace().items()}
    return {seed: loss for seed, loss in found.items() if loss.iloc[0] <= low}


def waited(run, low):
    """Epochs from there to the first loss above 0.1 or without a number, or infinity."""
    gone = {seed: ~(loss < 0.1) for seed, loss in after(run, low).items()}
    return by_seed(
        {s: g.idxmax() - g.index[0] if g.any() else math.inf for s, g in gone.items()}
    )


def from_start(run, other, low=0):
    """Epoch of the first loss above 0.1 after one of ``low``, over that of another run."""
    ends = [
        by_seed({s: loss.index[0] for s, loss in after(one, low).items()}) + waited(one, low)
        for one in (run, other)
    ]
    return evidence.ratio(*ends)


def lowest_since(run, low):
    """The smallest loss of each seed from 10 epochs after that on; infinity if none."""
    found = {}
    for seed, wait in waited(run, low).items():
        loss = after(run, low)[seed]
        rest = loss.loc[loss.index[0] + wait + 10 :].dropna() if wait < math.inf else loss
        found[seed] = rest.min() if len(rest) else math.inf
    return by_seed(found)


peaks = by_seed({seed: lowest_peak(seed, on) for seed, on in late.items()})
regular = by_seed({seed: regularity(on) for seed, on in late.items()})
lowest = by_seed({seed: lowest_before(seed, on) for seed, on in late.items()})
mass, gradient = (
    by_seed({seed: before(column, seed, **when) for seed in base.seeds})
    for column, when in (
        ("residual_mass", {"since": settings.log}),
        ("head_gradient", {"until": 50}),
    )
)
waits = by_seed({s: Series(on, dtype=float).diff().median() for s, on in late.items()})
B1, B7 = "Appendix B.1", "Appendix B.2.7"
MANY = "We observed distinct Slingshot loss spikes across all dataset sizes, including the "
MANY += "full CIFAR-10 set."
SWITCH = (
    "Crucially, we observed that GD triggers a Slingshot spike at approximately the "
)
SWITCH += "same epoch as the baseline Adam run."
sheet = claims.Sheet("liu2026/fig09")
sheet.claim(
    base,
    "200 images: at least two slingshots in 10,000 epochs",
    "Slingshot in MLP on CIFAR-10.",
    evidence.counted(late),
    where="Figure 9, caption",
    at_least=2,
    main=True,
)
sheet.claim(
    base,
    "each takes the loss to ln 10 = 2.30 or more, that of guessing (smallest peak)",
    "Such a large update substantially changes the model parameters and drives the loss "
    "back to the random-guessing level.",
    peaks,
    where=B1,
    at_least=math.log(10),
    show="{:.1f}",
)
sheet.claim(
    base,
    "the longest wait between two is at most twice the median one (ratio)",
    "while Adam is able to adapt its moments to recover from the spike (forming the "
    "periodic pattern)",
    regular,
    where="Appendix B.2.2",
    at_most=2,
    show="{:.2f}",
)
sheet.claim(
    base,
    "before the first one the residual mass is below 2⁻²³ = 1.2e-7 (median of the looks "
    f"in the last {settings.log} epochs)",
    "as long as the model possesses sufficient capacity to drive the residual probability "
    "mass ε below the floating-point absorption threshold, the NFI feedback loop will be "
    "triggered",
    mass,
    where=B7,
    at_most=2.0**-23,
    show="{:.1e}",
)
sheet.claim(
    base,
    "50 to 100 epochs before, the mean gradient entry of the head is at most Adam's ε, "
    "for at least half of the largest effective rate",
    "As a result, the effective learning rate of Adam is amplified toward its theoretical "
    "maximum η/ε_Adam.",
    gradient,
    where=B1,
    at_most=EPS,
    show="{:.1e}",
)
sheet.claim(
    base,
    "before the first one the loss of some step is exactly zero (smallest loss)",
    "we switched the optimizer from Adam to vanilla GD immediately after the training loss "
    "reached strict zero",
    lowest,
    where="Appendix B.2.2",
    at_most=0,
    show="{:.1e}",
)
for samples in (2000, 20_000, 50_000):
    name = f"{samples:,} images"
    words = f"{name}, full batch: at least one slingshot in 10,000 epochs"
    if run := larger.get(name):
        value = evidence.counted(evidence.bursts(run, late=True))
        sheet.claim(run, words, MANY, value, where=B7, at_least=1)
    else:
        sheet.not_run(words, MANY, where=B7)
SOON = "gradient descent at rate 1e5 from a loss of exactly zero on: from there the spike "
SOON += "takes 0.8 to 1.2 times the epochs that Adam takes (ratio)"
LOST = "the same: the loss does not fall to 0.001 again (smallest later; never: no number)"
FAILS = "the high-learning-rate GD fails to reconverge, leading to permanent divergence"
if zeroed:
    ratio = evidence.ratio(waited(zeroed, 0), waited(base, 0))
    sheet.claim(
        zeroed,
        SOON,
        SWITCH,
        ratio,
        where="Appendix B.2.2",
        at_least=0.8,
        at_most=1.2,
        show="{:.2f}",
    )
    words = "the same, both counted from the start of training (ratio of epochs)"
    sheet.extra(zeroed, words, from_start(zeroed, base), show="{:.3f}")
    later = lowest_since(zeroed, 0)
    sheet.claim(zeroed, LOST, FAILS, later, where="Appendix B.2.2", above=1e-3)
else:
    for words, quote in ((SOON, SWITCH), (LOST, FAILS)):
        sheet.not_run(words, quote, where="Appendix B.2.2")
NEARLY = "from nine of ten samples without a loss to a loss of 0.1 (epochs)"
for run, name in ((base, "float32"), (exact, "float64 loss")):
    sheet.extra(run, f"{name}, Adam: {NEARLY}", waited(run, liu2026.NEARLY_ZERO))
for (loss, rate), run in descent.items():
    wait = waited(run, liu2026.NEARLY_ZERO)
    sheet.extra(run, f"{loss}, gradient descent at {rate}: {NEARLY}", wait)
sheet.extra(base, "200 images: first slingshot (epoch)", first)
sheet.extra(
    base, "200 images: epochs from one to the next (median)", waits.fillna(math.inf)
)
zeros = (base.trace() == 0).sum().astype(float)
sheet.extra(base, "200 images: steps with a loss of exactly zero", zeros)
start, end = base.at("head_norm", 0), base.last("head_norm")
sheet.extra(
    base, "200 images: head norm at the end over the start", end / start, show="{:.2f}"
)
fit = base.at("test_accuracy", evidence.fitted(base, accuracy=1.0))
sheet.extra(base, "200 images: test accuracy at the fit", fit, show="{:.1%}")
last = base.last("test_accuracy")
sheet.extra(base, "200 images: test accuracy at the end", last, show="{:.1%}")
for name, run in larger.items():
    if name != "2,000 images":
        value = evidence.counted(evidence.bursts(run, late=True))
        sheet.extra(run, f"{name}: slingshots", value)
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-09
#| caption: >
#|   The MLP of width 512 in float32, first seed. Top: training loss of every step; losses
#|   below 1e-9 lie on the lower edge, and each number of images that was run has a panel.
#|   Next: accuracy at every look. Bottom: norm of the last layer. Dotted in the last two
#|   panels: slingshots.
#| alt: >
#|   Panels against epoch. The training loss falls to 1e-8 and jumps above 1 about every 600
#|   epochs, regularly. Training accuracy is at 100 percent between the jumps, test accuracy
#|   stays near 24 percent. The norm of the last layer rises from 1.8 to 4.5 with a small
#|   drop at some of the jumps.
#| fold: "Code: draw the figure"
shown = [base, *larger.values()]
figure, axes = plots.panels(1, rows=len(shown) + 2, height=1.5)
for panel, run in zip(axes, shown, strict=False):
    plots.trace(panel, run)
    panel.set(ylim=(5e-10, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="")
accuracy, norm = axes[-2:]
seed = base.seeds[0]
for column, label, line in (
    ("test_accuracy", "test", "-"),
    ("train_accuracy", "training", plots.DASHED),
):
    values = 100 * base.series(column)[seed].dropna()
    accuracy.plot(values, color=base.color, ls=line, label=label, lw=1.2)
norm.plot(base.series("head_norm")[seed].dropna(), color=base.color, lw=1.5)
accuracy.set(ylabel="accuracy (%)", ylim=(-3, 106))
accuracy.legend(loc="center right", ncols=2)
norm.set(ylabel="norm", xlabel="epoch")
for panel in axes:
    plots.thousands(panel)
for panel in (accuracy, norm):
    plots.mark(panel, late[seed], color=plots.GREY)
names = [f"loss, {run.label}" for run in shown]
plots.letter(axes, [*names, "accuracy, 200 images", "norm of the head, 200 images"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
others = "; ".join(
    f"{told(evidence.counted(evidence.bursts(run, late=True)))} with {name}"
    for name, run in larger.items()
)
tables.prose(f"""
* **One after the other.** In {settings.epochs:,} epochs there are
  {told(evidence.counted(late))} {{term}}`slingshots <slingshot>` (n = {len(base.seeds)}). The
  first comes at epoch {told(first)}, then one follows every {told(waits)} epochs.
* **Each one is complete.** The loss peaks at {told(peaks, "{:.1f}")} or more, where guessing
  costs 2.3. Then the network learns its images again from where it is.
* **The last layer keeps growing** (bottom). The norm of the {{term}}`head` ends at
  {told(end / start, "{:.1f}")} times its start.
* **Nothing is gained on other images**: test accuracy is {told(fit, "{:.1%}")} when the
  training set is fitted and {told(last, "{:.1%}")} at the end.
* **More images**, up to all 50,000: {others or "not run here"}.
""")

# %% [markdown]
# ## The idea
#
# Adam divides by $\sqrt{v} + \varepsilon$, where $v$ follows the squared gradient. For a
# gradient $g$ that stays as it is, the step is
#
# $$
# \Delta w = -\frac{\eta\, g}{|g| + \varepsilon} \approx
# \begin{cases} -\eta \operatorname{sign} g & |g| \gg \varepsilon, \\
# -(\eta / \varepsilon)\, g & |g| \ll \varepsilon . \end{cases}
# $$
#
# So Adam without much of a gradient *is* gradient descent, with a rate of
# $10^{-3} / 10^{-8} = 10^5$. That is why the paper replaces it by gradient descent with this
# rate, and expects the same spike.


# %%
def effective_rate(gradient, lr=1e-3, eps=1e-8):
    """What Adam multiplies a constant gradient by."""
    return lr / (abs(gradient) + eps)


for g in (1e-4, 1e-8, 1e-12):
    step = theory.adam_update([(g, 1_000_000)], 1e-3, (0.9, 0.95), 1e-8)
    assert abs(step / (effective_rate(g) * g) - 1) < 1e-6
    print(f"gradient {g:g}: rate {effective_rate(g):,.0f}")

# %% tags=["hide-input"]
#| name: fig-liu2026-09-rate
#| caption: >
#|   Before the first slingshot of the first seed, gradients are about as small as Adam's ε.
#|   (a) Effective rate against the size of a constant gradient; the mark is the mean gradient
#|   entry 50 to 100 epochs before. (b) Mean gradient entry and mean update of the head, step
#|   by step; dashed, Adam's ε.
#| alt: >
#|   Left: a curve on logarithmic axes, flat at 100,000 for gradients below 1e-8 and falling
#|   beyond; the mark lies at the bend. Right: before the slingshot the gradient is flat near
#|   1e-8 while the update grows; at the slingshot the gradient rises by seven orders of
#|   magnitude and the update by one.
#| fold: "Code: draw rate, gradient and update"
figure, (rate, steps) = plots.panels(2, height=3.4)
sizes = [10.0 ** (k / 10) for k in range(-120, -29)]
rate.plot(sizes, [effective_rate(g, ETA, EPS) for g in sizes], color=plots.BLACK)
if math.isfinite(first[seed]):
    here = gradient[seed]
    rate.plot(here, effective_rate(here, ETA, EPS), "o", color=base.color, ms=7)
    for column, label, color in (
        ("head_update", "update", plots.PURPLE),
        ("head_gradient", "gradient", base.color),
    ):
        near = base.series(column)[seed].loc[first[seed] - 100 : first[seed] + 60]
        near = near.dropna()
        steps.plot(near.index - first[seed], near, color=color, label=label)
steps.axhline(EPS, color=plots.GREY, ls="--", lw=1)
steps.text(-98, EPS * 1.25, "Adam's ε", color=plots.GREY)
rate.set(xscale="log", yscale="log", xlabel="gradient", ylabel="effective rate")
steps.set(yscale="log", xlabel="epochs since the onset", ylabel="mean over the head")
steps.legend(loc="upper left")
plots.letter([rate, steps], ["what Adam makes of a gradient", "around a slingshot"])
plots.show(figure)

# %% tags=["hide-input"]
#| name: fig-liu2026-09-descent
#| caption: >
#|   Gradient descent takes over from Adam when nine of ten samples have a loss of zero, and
#|   its rate decides what follows; first seed, loss of every step from there on. (a) Loss in
#|   float32. (b) Loss in float64. A line that ends has no number any more.
#| alt: >
#|   Two panels of loss against steps, both logarithmic. At rates of 100,000 and 10,000 the
#|   loss leaves the panel within a few steps on both sides. At a rate of 1,000 it does so on
#|   the left after a hundred, and falls slowly on the right. At 100 it stays. Adam spikes on
#|   the left only.
#| fold: "Code: draw the descent"
if descent:
    figure, panels = plots.panels(2, height=3.4, sharey=True)
    for panel, loss, adam in zip(panels, ("float32", "float64 loss"), (base, exact), strict=True):
        for run in (adam, *(run for (of, _), run in descent.items() if of == loss)):
            line = after(run, liu2026.NEARLY_ZERO)[seed].reset_index(drop=True)
            line = line.where(line < 1e4).loc[1:2000]
            style = {"color": run.color, "label": run.label, "lw": 1.3}
            if run is adam:
                style |= {"color": plots.GREY, "label": "Adam", "ls": plots.DASHED}
            elif line.notna().sum() < 10:
                style |= {"marker": "."}
            panel.plot(line, **style)
        panel.set(xscale="log", yscale="log", xlabel="steps since the switch")
    panels[0].set(ylabel="training loss")
    panels[1].legend(*panels[0].get_legend_handles_labels(), loc="upper right")
    plots.letter(panels, ["loss in float32", "loss in float64"])
    display(plots.show(figure))

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001; those
# fewer than 60 steps apart are one. A slingshot is a spike within 100 epochs after a look at
# which 40 % of the samples are collapsed. The paper gives no numbers for this figure: the
# bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
said = {
    "dataset.train_samples": "not stated; 200 to 50,000 (B.2.7)",
    "model": "mlp",
    "model.widths": "(512, 512, 512, 512, 512)",
}
tables.settings(record, paper=liu2026.TABLE3 | said)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
display(tables.arms(record))
if descent:
    display(tables.arms(switched))

# %% [markdown]
# There is no official code. Where the runs had to be guessed, or are missing:
#
# 1. *Training set.* 200 images, the smallest of the four numbers in the paper's appendix and
#    that of {cite:t}`thilak2022`. The paper does not say how many Figure 9 has.
# 2. *Panels.* The paper's figure has two, whose content its text does not say. Loss and norm
#    of the last layer are those of {cite:t}`thilak2022`.
# 3. *Biases* are in every layer, as the paper says of its other MLP.
# 4. *More images.* An {term}`arm` for each number exists. 10,000 epochs with all 50,000 take
#    $8 \times 10^{15}$ operations: minutes on a fast GPU, more than a day on two cores.
# 5. *The switch to gradient descent* of the paper waits for a loss of exactly zero, which
#    comes long after the first slingshot. Arms of ours switch when nine of ten samples have
#    none, that is at a mean of $2^{-23} / 10$: shortly before the first slingshot. They run
#    at the paper's rate and at smaller ones, with the loss in both precisions.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
switch = "The switch to gradient descent was not run here."
if descent:
    times = {
        key: told(waited(run, liu2026.NEARLY_ZERO)) for key, run in descent.items()
    }
    switch = f"""Where nine of ten samples have a loss of zero, Adam has
{told(waited(base, liu2026.NEARLY_ZERO))} epochs to go (n = {len(base.seeds)}). Steps
until gradient descent at 100,000 is lost: {times["float32", "100,000"]} with the loss in float32,
{times["float64 loss", "100,000"]} in float64 (n = {len(descent["float32", "100,000"].seeds)}). So it
does not take Adam's time, and needs no rounding. At 1,000 rounding decides:
{times["float32", "1,000"]} in float32, {times["float64 loss", "1,000"]} in float64."""
literal = ""
if zeroed:
    literal = f"""
**"At approximately the same epoch"** is true if one counts from the start of training: the ratio is
{told(from_start(zeroed, base), "{:.2f}")}. From the switch on gradient descent takes
{told(evidence.ratio(waited(zeroed, 0), waited(base, 0)), "{:.2f}")} of Adam's epochs (n =
{len(zeroed.seeds)}). The row judges the latter, since any early divergence passes the former. The
control with the loss in float64 began where nine of ten samples have a loss of zero.
"""
tables.prose(f"""
**The spikes are real, complete and regular**, as the caption says and as the title of
[Figure 1](fig01_precision.ipynb) needs. Whether they are caused by {{term}}`inflation` is
another question, which the [causal table](causes.ipynb) asks.

**At the paper's rate the switch shows nothing about rounding.** {switch}
{literal}
**The rate of 100,000 is nearly real.** The mean gradient entry is {told(gradient, "{:.1e}")}
shortly before the spike, and Adam's $\\varepsilon$ is {EPS:g}. With that gradient alone, Adam
would act like gradient descent with a rate of
{told(ETA / (gradient + EPS), "{:,.0f}")}. Its updates are smaller than rate times gradient,
since gradients change their sign from step to step and Adam averages them.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-09-loss
# Why can a mean loss over 200 images not lie between 0 and $6 \times 10^{-10}$, if it is
# computed in float32?
# ```
#
# ````{solution} ex-liu2026-09-loss
# :class: dropdown
# Above 1, the next number of float32 is $1 + 2^{-23}$. Its logarithm, $1.2 \times 10^{-7}$, is
# the smallest loss of a sample that is not zero. A mean over 200 has at least a 200th of it:
#
# ```python
# import torch
# from torch.nn.functional import cross_entropy
# z = torch.zeros(1000, 2)
# z[:, 0] = torch.linspace(14, 20, 1000)
# losses = cross_entropy(z, torch.zeros(1000, dtype=torch.long), reduction="none")
# smallest = float(losses[losses > 0].min())
# print(f"{smallest:.2e}, over 200: {smallest / 200:.1e}")
# ```
# ````
#
# ```{exercise}
# :label: ex-liu2026-09-descent
# Gradient descent with rate $\eta$ is stable up to a {term}`sharpness` of $2 / \eta$. Which
# one does a rate of 100,000 allow? What does a {term}`margin` of 16.6 allow the loss to have?
# ```
#
# ````{solution} ex-liu2026-09-descent
# :class: dropdown
# At most $2 \times 10^{-5}$. The curvature of one sample at its logits is far below at a margin
# of 16.6. But for the head it is multiplied by the squared norm of the features, a hundred or
# more here, and divided by 200:
#
# ```python
# import torch
# from grokbook import theory
# for margin in (10.0, 16.6, 20.0):
#     z = torch.zeros(10, dtype=torch.float64)
#     z[0] = margin
#     largest = torch.linalg.eigvalsh(theory.logit_hessian(z.softmax(0)))[-1]
#     print(f"margin {margin}: {largest:.0e}, in the head {largest * 100**2 / 200:.0e}")
# ```
#
# So one sample at the margin of collapse is enough for a rate of 100,000 to be unstable, with
# or without rounding: the figure above shows both. A control with the loss in float64 tells
# which rates need the rounding.
# ````
#
# ```{exercise}
# :label: ex-liu2026-09-images
# With 50,000 images, what happens to the gradient of one sample that comes back, in the mean
# over all of them? Is that an argument for or against a spike?
# ```
#
# ```{solution} ex-liu2026-09-images
# :class: dropdown
# It is divided by 50,000, not by 200. A single sample of residual mass $10^{-7}$ then gives
# $2 \times 10^{-12}$, far below Adam's $\varepsilon$. If it stays so, Adam's steps are less than
# a thousandth of the largest. More samples have to come back at once.
# [Table 3](tab03_cifar_settings.ipynb) has the numbers.
# ```

# %% [markdown]
# ## Run it yourself
#
# Fewer epochs (3,000 of 10,000) with 200 and with 500 images, three seeds, in about 40
# minutes on one core:
#
# ```bash
# make page PAGE=liu2026/fig09 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record, *([more] if arms else []), *([switched] if descent else []))
