# %% [markdown]
# # [Liu et al. 2026 · Figure 9]{.kicker} An MLP that has learned 200 images forgets them and learns them again, many times

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

from pandas import Series

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import instability, theory

plots.use_style()
page = evidence.Page("liu2026/fig09", scale, retrain, device)
record = page.record("fig01", arms=("float32", "float64 loss"))
more, switched = page.record(), page.record("fig09descent")
base = Run(record, "float32", "200 images", plots.COLOUR["MLP"])
exact = Run(record, "float64 loss", "Adam", plots.GREY)
ETA, EPS = (base.settings.optimizer.options[key] for key in ("lr", "eps"))
late = instability.bursts(base, late=True)
first, count = instability.earliest(late), instability.counted(late)
IMAGES = ("2,000 images", "20,000 images", "50,000 images")
RATES = plots.shades(("100,000", "10,000", "1,000", "100"))
descent = {
    (loss, rate): Run(switched, f"{loss}, rate {rate}", f"rate {rate}", color)
    for loss in ("float32", "float64 loss")
    for rate, color in RATES.items()
}
zeroed = Run(switched, "float32, from a loss of zero", "from zero", plots.BLACK)
NEARLY_ZERO = descent["float32", "1,000"].settings.wrappers[0].options["loss"]


def by_seed(function, found=late):
    return Series({seed: function(seed, of) for seed, of in found.items()}, dtype=float)


def regularity(_, onsets):
    """The longest wait between two slingshots over the median one."""
    gaps = Series(onsets, dtype=float).diff()
    return gaps.max() / gaps.median()


def after(run, low):
    """The loss of each seed from its first step with a loss of at most ``low`` on."""
    found = {
        seed: loss.loc[(loss <= low).idxmax() :] for seed, loss in run.trace().items()
    }
    return {seed: loss for seed, loss in found.items() if loss.iloc[0] <= low}


def waited(run, low=NEARLY_ZERO):
    """Epochs from there to the first loss above 0.1 or without a number, or infinity."""
    gone = {seed: ~(loss < 0.1) for seed, loss in after(run, low).items()}
    return by_seed(lambda _, g: g.idxmax() - g.index[0] if g.any() else math.inf, gone)


def lost(run, low=0):
    """The epoch of that loss."""
    return by_seed(lambda _, loss: loss.index[0], after(run, low)) + waited(run, low)


mass = base.series("residual_mass", since=first - base.settings.log, until=first - 1)
gradient = base.series("head_gradient", since=first - 100, until=first - 50).median()
lowest = by_seed(
    lambda _, of: min(of, default=math.nan), instability.heights(base, late)
)
gone = lost(zeroed)
found = {
    "spikes": (base, count),
    "peak": (base, evidence.testable(lowest, count >= 1)),
    "regular": (base, evidence.testable(by_seed(regularity), count >= 3)),  # two waits
    "residual-mass": (base, evidence.testable(mass.median(), count >= 1)),
    "gradient": (base, evidence.testable(gradient, count >= 1)),
    "zero": (
        base,
        by_seed(lambda s, on: base.trace()[s].loc[: min(on, default=math.inf)].min()),
    ),
    "images": {
        name: (run := Run(more, name, name), instability.slingshots(run))
        for name in IMAGES
    },
    "same-time": (zeroed, evidence.ratio(waited(zeroed, 0), waited(base, 0))),
    "same-epoch": (zeroed, evidence.ratio(gone, lost(base))),
    "diverges": (
        zeroed,
        by_seed(
            lambda s, loss: loss.loc[gone[s] + 10 :].min(), after(zeroed, 0)
        ).fillna(math.inf),
    ),
    "adam": {
        name: (run, waited(run))
        for name, run in (("float32", base), ("float64 loss", exact))
    },
    "descent": {
        f"{loss}, gradient descent at {rate}": (run, waited(run))
        for (loss, rate), run in descent.items()
    },
}
sheet = claims.read(page.name, found, log=base.settings.log)
wait = evidence.words(round(claims.median(instability.waits(late)), -1), "{:,.0f}")
gained = evidence.words(claims.median(base.last("test_accuracy")), "{:.0%}")
usual = evidence.words(claims.median(count))
sheet.box(
    "The paper's caption says that this MLP has slingshots, or loss spikes: long after it has "
    "learned its training images, its loss jumps back. It does. In "
    f"{base.settings.epochs:,} epochs it has a median of {usual} loss spikes, one about every "
    f"{wait} epochs. Each takes the loss to that of guessing, {math.log(10):.1f}, or beyond, "
    "and then the network learns its images again. (Accuracy was followed closely at the first spike only.)"
    "\n\nOn other images it gains nothing by this: "
    f"{gained} of the test set are right in the end. These are the float32 runs of "
    "Figure 1."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-09
#| caption: >
#|   The network forgets its images at regular times, and each time learns them again. Both
#|   panels show one run. (a) Training loss of every step. The dashed line is the loss of
#|   guessing, and losses below 1e-9 lie on the lower edge. (b) Accuracy on training images
#|   (dashed) and on test images (solid). Dotted lines mark the loss spikes. Accuracy is
#|   measured every 50 epochs, and more often at the first spike alone, so that most later
#|   drops are missed or seen in part.
#| alt: >
#|   Two panels against epoch. The training loss falls to 1e-8 and jumps above 1 about every
#|   600 epochs, regularly. Training accuracy is at 100 percent between the jumps, test
#|   accuracy stays near 24 percent.
#| fold: "Code: draw the figure"
seed, lines = base.seeds[0], {"test_accuracy": "-", "train_accuracy": plots.DASHED}
figure, (loss, right) = plots.panels(1, rows=2, height=2.0, sharex=True)
plots.trace(loss, base)
guessing = math.log(10)
end = base.settings.epochs
loss.plot([0, end], [guessing, guessing], color=plots.GREY, ls="--", lw=1)
style = {"color": plots.GREY, "va": "center"}
loss.text(1.01 * end, guessing, f"guessing, {guessing:.1f}", **style)
for column, line in lines.items():
    values = 100 * base.series(column)[seed].dropna()
    right.plot(values, color=base.color, ls=line, lw=1.2)
right.text(1.01 * end, 100, "training", color=base.color, va="center")
right.text(1.01 * end, 24, f"test, {gained}", color=base.color, va="center")
loss.set(ylim=(5e-10, 1e3), yticks=[1e-8, 1e-4, 1], xlabel="", ylabel="training loss")
right.set(ylabel="accuracy (%)", ylim=(-3, 106), xlabel="epoch")
plots.mark(right, late[seed], color=plots.GREY)
plots.thousands(right)
many = f"{usual} spikes, one every {wait} epochs"
plots.letter([loss, right], [many, "accuracy"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **One after the other.** The first {{term}}`slingshot` begins at epoch {told(first)}. The others follow at nearly
  equal distances.
* **Each is complete.** The loss rises above that of guessing. Then the network learns its images again, from
  where it is.
* **The last layer keeps growing.** The norm of the {{term}}`head` ends at
  {told(base.last("head_norm") / base.at("head_norm", 0), "{:.1f}")} times its start.
* **Nothing is gained on other images.** Test accuracy is the same when the training set is first fitted and at
  the end.
* **With ten times as many images** it spikes about as often: {told(found["images"][IMAGES[0]][1])} times in the same number of epochs, where 200 images have
  {told(count)}.
""")

# %% [markdown]
# ## The idea
#
# Adam divides by $\sqrt{v} + \varepsilon$, where $v$ follows the squared gradient. For a
# gradient $g$ that stays constant, the step is
#
# $$
# \Delta w = -\frac{\eta\, g}{|g| + \varepsilon} \approx
# \begin{cases} -\eta \operatorname{sign} g & |g| \gg \varepsilon, \\
# -(\eta / \varepsilon)\, g & |g| \ll \varepsilon . \end{cases}
# $$
#
# So with very small gradients Adam *is* gradient descent, with a rate of
# $10^{-3} / 10^{-8} = 10^5$. For this reason the paper replaces Adam by gradient descent with
# this rate, and expects the same spike.


# %%
def effective_rate(gradient, lr=1e-3, eps=1e-8):
    """What Adam multiplies a constant gradient by."""
    return lr / (abs(gradient) + eps)


for g in (1e-4, 1e-8, 1e-12):
    step = theory.adam_update([(g, 1_000_000)], 1e-3, (0.9, 0.95), 1e-8)
    assert abs(step / (effective_rate(g) * g) - 1) < 1e-6
    print(f"gradient {g:g}: rate {effective_rate(g):,.0f}")

# %% tags=["hide-input"]
#| name: fig-liu2026-09-descent
#| caption: >
#|   At the paper's rate of 100,000 gradient descent diverges with either loss; at 1,000 only the
#|   float32 loss diverges. One run of each. (a) Mean gradient entry and mean update of the last layer, at every
#|   step around the first slingshot. (b, c) Loss of every step after the switch. We switch
#|   when nine of ten samples have a loss of zero. A line ends where the loss is no number.
#| alt: >
#|   Left: before the slingshot the gradient is flat near 1e-8 while the update grows. At the
#|   slingshot the gradient rises by seven orders of magnitude and the update by one. Middle
#|   and right: at rates of 100,000 and 10,000 the loss leaves the panel within a few steps in
#|   both precisions. At a rate of 1,000 it leaves in float32 after a hundred steps, and falls
#|   slowly in float64. At 100, in float32, it stays. Adam spikes in float32 only.
#| fold: "Code: draw gradients and descent"
figure, (small, *panels) = plots.panels(3, height=3.6)
for column, label, color in (
    ("head_update", "update", plots.PURPLE),
    ("head_gradient", "gradient", base.color),
):
    near = base.series(column, since=first - 100, until=first + 60)[seed].dropna()
    small.plot(near.index - first[seed], near, color=color, label=label)
small.axhline(EPS, color=plots.GREY, ls="--", lw=1)
small.text(-98, EPS * 1.25, "Adam's ε", color=plots.GREY)
small.set(
    yscale="log", xlabel="epochs since the onset", ylabel="mean over the last layer"
)
small.legend(loc="upper left", handlelength=1.2)
for panel, loss, adam in zip(
    panels, ("float32", "float64 loss"), (base, exact), strict=True
):
    for run in (
        adam,
        *(descent[loss, rate] for rate in RATES if descent[loss, rate].seeds),
    ):
        curves = after(run, NEARLY_ZERO)
        if seed not in curves:  # a run too short for losses of zero
            continue
        line = curves[seed].reset_index(drop=True)
        line = line.where(line < 1e4).loc[1:2000]
        dots, dashes = line.notna().sum() < 10, plots.DASHED if run is adam else "-"
        color, label = (plots.GREY, "Adam") if run is adam else (run.color, run.label)
        panel.plot(
            line,
            color=color,
            label=label,
            ls=dashes,
            lw=1.3,
            marker="." if dots else None,
        )
    panel.set(
        xscale="log",
        yscale="log",
        xlabel="steps since the switch",
        ylabel="training loss",
        ylim=(1e-11, 1e3),
    )
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5
)
plots.letter(
    [small, *panels], ["around a slingshot", "loss in float32", "loss in float64"]
)
plots.show(figure)

# %% [markdown]
# ## The claims
#
# A spike begins at the first step with a loss of 0.1 or more after a loss of at most 0.001.
# Spikes fewer than 60 steps apart count once. A spike is a slingshot if at least 40 % of the
# samples were collapsed at a log of the 100 epochs before. The paper gives no numbers for this
# figure: these bounds are ours, fixed before the runs.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record, switched)

# %% [markdown]
# ## What was run
#
# There is no official code. We had to guess, or left out:
#
# 1. *Training set.* 200 images, as in {cite:t}`thilak2022` and in the smallest set of the
#    paper's appendix. The paper does not say how many images Figure 9 has.
# 2. *Panels.* The paper's figure has two panels, and its text does not say what they show. We
#    draw the loss and the norm of the last layer, as {cite:t}`thilak2022` do.
# 3. *Biases* are in every layer, as the paper says of its other MLP.
# 4. *More images.* The paper used up to 50,000, and we trained 2,000. All images for 10,000 epochs
#    take $8 \times 10^{15}$ operations, minutes on a fast GPU and more than a day on two cores.
# 5. *The switch to gradient descent.* The paper waits for a loss of exactly zero. In our runs
#    such a loss appears long after the first slingshot. So other runs of ours switch at a mean
#    loss of $2^{-23} / 10$, where nine of ten samples have a loss of zero. This is shortly
#    before the first slingshot. They use the paper's rate and smaller ones, with the loss in
#    both precisions.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**The spikes are real, complete and regular.** Is {{term}}`inflation` their cause? The
[causal table](causes.ipynb) asks this.

**At the paper's rate the switch shows nothing about rounding.** In {len(descent["float32", "100,000"].seeds)} seeds gradient descent at
100,000 diverges within a few steps, with the loss in float32 and in float64 alike. It does
not need Adam's time, and it needs no rounding. Rounding decides at a rate of 1,000: there only
the loss in float32 diverges.

**"At approximately the same epoch"** is true if one counts from the start of training: the ratio
of epochs is {sheet.told("same-epoch", "{:.2f}")}. Any early divergence would agree. From the switch on,
gradient descent takes {sheet.told("same-time")} of Adam's epochs. The control with the loss in float64
tells more. It starts from the state of its own Adam run, when nine of ten samples have a loss of zero.

**The rate of 100,000 is nearly real.** With the mean gradient entry before a spike, Adam would act
like gradient descent with a rate of {told(ETA / (gradient + EPS), "{:,.0f}")}. Its updates are smaller
than this rate times the gradient: gradients change their sign from step to step, and Adam averages them.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-09-loss
# A mean loss over 200 images is computed in float32. Why can it not lie between 0 and
# $6 \times 10^{-10}$?
# ```
#
# ````{solution} ex-liu2026-09-loss
# :class: dropdown
# Above 1, the next number of float32 is $1 + 2^{-23}$. Its logarithm, $1.2 \times 10^{-7}$, is
# the smallest loss above zero of a sample. A mean over 200 is zero or at least a 200th of it:
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
# sharpness does a rate of 100,000 allow? How sharp is the loss of a sample with a
# {term}`margin` of 16.6?
# ```
#
# ````{solution} ex-liu2026-09-descent
# :class: dropdown
# At most $2 \times 10^{-5}$. As a function of its logits, the loss of one such sample is far
# less curved. As a function of the head's weights, the curvature has two more factors: the
# squared norm of the features, which is a hundred or more here, and one over 200 images.
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
# So one sample at the margin of collapse makes a rate of 100,000 unstable, with or without
# rounding. The figure above shows both. The control with the loss in float64 tells which
# rates need the rounding.
# ````
#
# ```{exercise}
# :label: ex-liu2026-09-images
# One collapsed sample gets its gradient back. How large is it in the mean over 50,000 images?
# Does this speak for or against a spike?
# ```
#
# ```{solution} ex-liu2026-09-images
# :class: dropdown
# The mean divides it by 50,000 instead of 200. A single sample of {term}`residual mass`
# $10^{-7}$ then gives $2 \times 10^{-12}$, far below Adam's $\varepsilon$. Adam's steps stay
# below a thousandth of the largest. So a spike needs more samples that return at once.
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
