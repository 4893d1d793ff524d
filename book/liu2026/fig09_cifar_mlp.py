# %% [markdown]
# # [Liu et al. 2026 · Figure 9]{.kicker} A network that fitted 200 images forgets them and learns them again

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

from pandas import Series

from grokbook import claims, evidence, plots, tables, theory
from grokbook.evidence import Run, told

plots.use_style()
page = evidence.Page("liu2026/fig09", scale, retrain, device)
record = page.record("fig01", arms=("float32", "float64 loss"))
more, switched = page.record(), page.record("fig09descent")
base = Run(record, "float32", "200 images", plots.COLOUR["MLP"])
exact = Run(record, "float64 loss", "Adam", plots.GREY)
ETA, EPS = (base.settings.optimizer.options[key] for key in ("lr", "eps"))
late = evidence.bursts(base, late=True)
first, waits = evidence.earliest(late), evidence.waits(late)
IMAGES = ("2,000 images", "20,000 images", "50,000 images")
larger = [Run(more, name, name, color) for name, color in plots.shades(IMAGES).items()]
descent = {
    (loss, rate): Run(switched, f"{loss}, rate {rate}", f"rate {rate}", color)
    for loss in ("float32", "float64 loss")
    for rate, color in plots.shades(("100,000", "10,000", "1,000", "100")).items()
}
zeroed = Run(switched, "float32, from a loss of zero", "from zero", plots.BLACK)
NEARLY_ZERO = descent["float32", "1,000"].settings.wrappers[0].options["loss"]


def by_seed(function, found=late):
    return Series({seed: function(seed, of) for seed, of in found.items()}, dtype=float)


def regularity(_, onsets):
    """The longest wait between two slingshots over the median one, or infinity."""
    gaps = Series(onsets, dtype=float).diff().dropna()
    return gaps.max() / gaps.median() if len(gaps) else math.inf


def after(run, low):
    """The loss of each seed from its first step with a loss of at most ``low`` on."""
    found = {seed: loss.loc[(loss <= low).idxmax() :] for seed, loss in run.trace().items()}
    return {seed: loss for seed, loss in found.items() if loss.iloc[0] <= low}


def waited(run, low=NEARLY_ZERO):
    """Epochs from there to the first loss above 0.1 or without a number, or infinity."""
    gone = {seed: ~(loss < 0.1) for seed, loss in after(run, low).items()}
    return by_seed(lambda _, g: g.idxmax() - g.index[0] if g.any() else math.inf, gone)


def lost(run, low=0):
    """The epoch of that loss."""
    return by_seed(lambda _, loss: loss.index[0], after(run, low)) + waited(run, low)


def lowest_since(run, low=0):
    """The smallest loss of each seed from 10 epochs after that on; infinity if none."""
    rest = by_seed(lambda seed, loss: loss.loc[lost(run, low)[seed] + 10 :].min(), after(run, low))
    return rest.fillna(math.inf)


peaks = evidence.heights(base, late)
ratio = evidence.ratio(waited(zeroed, 0), waited(base, 0))
mass = base.series("residual_mass", since=first - base.settings.log, until=first - 1)
gradient = base.series("head_gradient", since=first - 100, until=first - 50).median()
fit = base.at("test_accuracy", base.fitted(accuracy=1.0))
found = {
    "spikes": (base, evidence.counted(late)),
    "peak": (base, by_seed(lambda _, of: min(of, default=0.0), peaks)),
    "regular": (base, by_seed(regularity)),
    "residual-mass": (base, mass.median().fillna(math.inf)),
    "gradient": (base, gradient.fillna(math.inf)),
    "zero": (base, by_seed(lambda s, on: base.trace()[s].loc[: min(on, default=math.inf)].min())),
    "images": {run.label: (run, evidence.slingshots(run)) for run in larger},
    "same-time": (zeroed, ratio),
    "same-epoch": (zeroed, evidence.ratio(lost(zeroed), lost(base))),
    "diverges": (zeroed, lowest_since(zeroed)),
    "adam": {name: (run, waited(run)) for name, run in (("float32", base), ("float64 loss", exact))},
    "descent": {f"{loss}, gradient descent at {rate}": (run, waited(run)) for (loss, rate), run in descent.items()},
    "first": (base, first),
    "waits": (base, waits),
    "zeros": (base, (base.trace() == 0).sum().astype(float)),
    "head": (base, base.last("head_norm") / base.at("head_norm", 0)),
    "accuracy-fit": (base, fit),
    "accuracy-end": (base, base.last("test_accuracy")),
}
sheet = claims.read(page.name, found, log=base.settings.log)
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
shown, seed = [run for run in (base, *larger) if run.seeds], base.seeds[0]
figure, axes = plots.panels(1, rows=len(shown) + 2, height=1.5)
for panel, run in zip(axes, shown, strict=False):
    plots.trace(panel, run)
    panel.set(ylim=(5e-10, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="")
accuracy, norm = axes[-2:]
for column, label, line in (("test_accuracy", "test", "-"), ("train_accuracy", "training", plots.DASHED)):
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
tables.prose(f"""
* **One after the other.** In {base.settings.epochs:,} epochs there are
  {sheet.told("spikes")} {{term}}`slingshots <slingshot>` (n = {len(base.seeds)}). The
  first comes at epoch {sheet.told("first")}, then one follows every {sheet.told("waits")} epochs.
* **Each one is complete.** The loss peaks at {sheet.told("peak")} or more, where guessing
  costs 2.3. Then the network learns its images again from where it is.
* **The last layer keeps growing** (bottom). The norm of the {{term}}`head` ends at
  {sheet.told("head", "{:.1f}")} times its start.
* **Nothing is gained on other images**: test accuracy is {sheet.told("accuracy-fit")} when the
  training set is fitted and {sheet.told("accuracy-end")} at the end.
* **More images**, up to all 50,000: {told(evidence.slingshots(larger[-1]), nothing="not run here")}.
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
here = gradient[seed]
rate.plot(here, effective_rate(here, ETA, EPS), "o", color=base.color, ms=7)
for column, label, color in (("head_update", "update", plots.PURPLE), ("head_gradient", "gradient", base.color)):
    near = base.series(column, since=first - 100, until=first + 60)[seed].dropna()
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
figure, panels = plots.panels(2, height=3.4, sharey=True)
for panel, loss, adam in zip(panels, ("float32", "float64 loss"), (base, exact), strict=True):
    tried = [run for (of, _), run in descent.items() if of == loss and run.seeds]
    for run in (adam, *tried):
        line = after(run, NEARLY_ZERO)[seed].reset_index(drop=True)
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
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike is the first step with a loss of 0.1 or more after one of at most 0.001; those
# fewer than 60 steps apart are one. A slingshot is a spike within 100 epochs after a look at
# which 40 % of the samples are collapsed. The paper gives no numbers for this figure: the
# bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, switched)

# %% [markdown]
# ## What was run
#
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
gone = {key: told(waited(run)) for key, run in descent.items()}
tables.prose(f"""
**The spikes are real, complete and regular**, as the caption says and as the title of
[Figure 1](fig01_precision.ipynb) needs. Whether they are caused by {{term}}`inflation` is
another question, which the [causal table](causes.ipynb) asks.

**At the paper's rate the switch shows nothing about rounding.** Where nine of ten samples have a loss of zero, Adam has
{sheet.told("adam float32")} epochs to go (n = {len(base.seeds)}). Steps
until gradient descent at 100,000 is lost: {gone["float32", "100,000"]} with the loss in float32,
{gone["float64 loss", "100,000"]} in float64 (n = {len(zeroed.seeds)}). So it
does not take Adam's time, and needs no rounding. At 1,000 rounding decides:
{gone["float32", "1,000"]} in float32, {gone["float64 loss", "1,000"]} in float64.

**"At approximately the same epoch"** is true, counted from the start of training: the ratio is
{sheet.told("same-epoch", "{:.2f}")}. It tells little, since any early divergence agrees with it. From
the switch on gradient descent takes {sheet.told("same-time")} of Adam's epochs (n =
{len(zeroed.seeds)}). What tells more is the control with the loss in float64. It began where nine of ten
samples have a loss of zero, from the state of its own Adam run.

**The rate of 100,000 is nearly real.** The mean gradient entry is {sheet.told("gradient")}
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
