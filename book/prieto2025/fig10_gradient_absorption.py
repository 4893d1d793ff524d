# %% [markdown]
# # [Prieto et al. 2025 · Figure 10]{.kicker} Gradient descent loses more and more updates to rounding, in the end a few per cent

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import metrics, models

plots.use_style()
page = evidence.Page("prieto2025/fig10", scale, retrain, device)
record = page.record()
LOST, ZERO, NORM = "absorbed", "zero_grad", "grad_norm"
plain = Run(record, "momentum 0", "lost to rounding", plots.RED)
heavy = Run(record, "momentum 0.8", "momentum 0.8", plots.PURPLE)
adam = Run(record, "AdamW", "AdamW", plots.GREEN)
rate, last = plain.settings.optimizer.options["lr"], plain.settings.epochs
fit = plain.fitted(accuracy=1.0)
lost_at_fit, lost_at_end = plain.at(LOST, fit), plain.last(LOST)
zeros = plain.series(ZERO, since=fit) - plain.at(ZERO, fit)

# A network before training, and gradients whose entries are all alike.
torch.manual_seed(42)
network = models.MLP(**plain.settings.model.options)
weights = torch.cat([w.detach().flatten() for w in network.parameters()])
torch.manual_seed(0)
directions = torch.randn(16, len(weights)) / math.sqrt(len(weights))
typical = weights.square().mean().sqrt()
spacing = float(torch.nextafter(typical, torch.tensor(1.0)) - typical)


def lost_if_alike(norm):
    """Share of updates lost if all entries come from one normal distribution."""
    return float(metrics.absorbed_fraction(weights, -rate * norm * directions))


def way(since, until):
    """Length of all steps between two epochs, from the logged norms."""
    norms = plain.series(NORM, since=since, until=until)
    return rate * evidence.average(norms) * (until - since)


alike = plain.last(NORM).map(lost_if_alike).clip(lower=1 / directions.numel())
step = rate * plain.last(NORM) / math.sqrt(len(weights))
found = {
    "growth": (plain, lost_at_end / lost_at_fit.clip(lower=1 / len(weights))),
    "fall": (plain, plain.at(NORM, fit) / plain.last(NORM)),
    "drift": (plain, 100 * zeros.abs().max()),
    "adamw": ([adam, plain], evidence.ratio(adam.last(LOST), lost_at_end)),
    "lost-at-fit": (plain, lost_at_fit),
    "lost-at-end": (plain, lost_at_end),
    "excess": (plain, lost_at_end / alike),
    "average": {
        words: (run, evidence.average(run.series(LOST, since=run.fitted(accuracy=1.0))))
        for words, run in (("gradient descent", plain), ("AdamW", adam))
    },
}
sheet = claims.read(page.name, found)
lost = {
    what: evidence.words(claims.median(values), "{:.1%}")
    for what, values in (
        ("end", lost_at_end),
        (adam, adam.last(LOST)),
    )
}
lost["fit"] = evidence.words(claims.median(lost_at_fit), "{:.2%}")
grown = evidence.words(claims.median(found["growth"][1]), "{:.1f}")
sheet.box(f"""\
In float32 an update can be so small that adding it leaves a weight as it was: rounding
swallows it. The paper says that more and more updates are lost in this way as the gradient
shrinks. We trained an MLP with plain gradient descent, {len(plain.seeds)} times. When it had
just fitted its training set (every answer there right), a median of {lost["fit"]} of its
updates were lost; at epoch {last:,} it was {lost["end"]}. We take the growth of each run by
itself; its median is {grown}-fold. We ask for a doubling, so the sentence holds.

The paper adds that Adam and AdamW suffer less. This fails at the end of our training, where AdamW
loses {lost[adam]} (median of {len(adam.seeds)} runs). But its share falls back to nothing again and again: averaged
from the fit on, it is only somewhat above that of gradient descent (not drawn).""")

# %% tags=["hide-input"]
#| name: fig-prieto2025-10
#| caption: >
#|   While the gradient of gradient descent falls a thousandfold, rounding swallows more and
#|   more updates. (a) Share of the updates that are not zero and still leave their weight as
#|   it was. With gradient descent it grows steadily. With AdamW it rises and falls in waves.
#|   (b) Length (norm) of the gradient under gradient descent. Both axes of (b) are logarithmic.
#|   Thin lines are single networks, thick lines their median, and shaded is their range.
#|   Dotted lines mark the fit, the epoch at which a network has its training set right. The
#|   factor written at the end is the median of the networks' factors.
#| alt: >
#|   Left: the share of lost updates rises steadily in every network of gradient descent to
#|   between 2 and 5 percent; with AdamW it swings between zero and 17 percent.
#|   Right: the norm of the gradient falls along a straight line by three decades after
#|   the fit.
#| fold: "Code: draw the figure"
figure, (shares, size) = plots.panels(2, height=3.4)
plots.curve(shares, adam, LOST, percent=True, label="AdamW")
plots.curve(shares, plain, LOST, percent=True, label="gradient descent")
plots.curve(size, plain, NORM, label="")
note = f"descent:\n{lost['end']},\n{grown}-fold"
place = last + 300, 100 * lost_at_end.median()
shares.text(*place, note, color=plain.color, va="center")
note = f"AdamW:\n{lost[adam]}"
shares.text(last + 300, 100 * adam.last(LOST).median(), note, color=adam.color)
for panel in (shares, size):
    plots.mark(panel, fit, color=plots.BLACK)
    panel.set_xlabel("epoch")
shares.set(ylabel="updates lost to rounding (%)", ylim=(0, None), xlim=(0, 25_500))
shares.set_xticks(range(0, 20_001, 5000))
figure.legend(*shares.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plots.thousands(shares)
size.set(xscale="log", yscale="log", ylabel="norm of the gradient", xlim=(20, None))
start = float(fit.median()), 100 * float(lost_at_fit.median())
plots.note(shares, f"{lost['fit']} at the fit", start, (6200, 11.5))
plots.note(size, "fit", (float(fit.median()), 0.5), (700, 0.5))
plots.letter([shares, size], ["lost updates", "gradient"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **The gradient falls** by a factor of {sheet.told("fall")} from the fit to epoch {last:,}, roughly as 1/epoch (b).
* **Lost updates** grow in every network of gradient descent, and stay a few per cent of all entries (a). With
  AdamW their share swings, and its average over the epochs after the fit is {sheet.told("average AdamW", "{:.1%}")},
  against {sheet.told("average gradient descent", "{:.1%}")}.
* **Gradients of exactly zero** differ from {{term}}`seed` to seed, and move by at most
  {sheet.told("drift")} points after the fit.
* **Nothing generalises.** Test accuracy ends at {told(plain.last("test_accuracy"), "{:.2%}")}, where
  a guess has 0.88 %.
""")

# %% [markdown]
# ## The idea
#
# A step $-\eta g$ is lost when the weight is the same float32 number after it
# ({term}`absorption`). Around $w$ these numbers lie $\operatorname{ulp}(w)$ apart, and a
# step of less than half of that rounds away:
#
# $$
# w - \eta g \doteq w
# \quad\text{where}\quad
# \lvert g \rvert < \frac{\operatorname{ulp}(w)}{2 \eta} .
# $$
#
# Plain gradient descent does not enlarge a small $g$. So the fixed distance between
# floats swallows a growing part of the steps.


# %%
def is_lost(weight, gradient, rate):
    """Which updates of gradient descent leave their weight as it was."""
    return (gradient != 0) & (weight - rate * gradient == weight)


w = torch.tensor([0.04, 0.04, 0.04])
g = torch.tensor([1e-10, 9e-11, 0.0])  # above half the spacing over 20, below, zero
is_lost(w, g, rate=20)

# %% tags=["hide-input"]
#| fold: "Code: the same from the package, and the threshold"
torch.testing.assert_close(
    is_lost(w, g, rate=20).double().mean(), metrics.absorbed_fraction(w, -20 * g)
)
half = float(torch.nextafter(w[0], torch.tensor(1.0)) - w[0]) / 2
assert 9e-11 < half / 20 < 1e-10

# %% [markdown]
# ## Which updates are lost?
#
# If all entries of the gradient were alike and shrank together, its norm would say how much is
# lost. The dashed curve of the next figure is that reference. It takes untrained weights,
# and steps whose entries come from one normal distribution, scaled to each norm in turn.

# %% tags=["hide-input"]
#| name: fig-prieto2025-10-norm
#| caption: >
#|   Rounding loses entries that are far smaller than the rest, and AdamW loses updates in waves.
#|   (a) Red: half the distance to the next float32, by the size of a weight. Blue: the typical step at the fit and
#|   at the end (learning rate times norm, over the root of the number of entries), median
#|   of the seeds. Grey: sizes of nine in ten untrained weights. (b) Share lost against the
#|   norm of the gradient, which falls to the right; one dot per log and seed from the fit
#|   on. Dashed: the share if all entries were alike. (c) Share lost with AdamW; seeds thin, their median thick.
#| alt: >
#|   Left: a staircase of the spacing of floats lies far below both lines of typical steps.
#|   Middle: the dots lie far above the dashed reference, which rises as the norm falls. Right: with
#|   AdamW next to nothing is lost at first; later the share swings between zero and 17 percent,
#|   while that of gradient descent rises slowly.
#| fold: "Code: draw steps and spacing"
figure, (steps, share, waves) = plots.panels(3, height=3.4)
sizes = torch.logspace(-4, -0.5, 400)
ahead = torch.nextafter(sizes, torch.tensor(1.0)) - sizes
steps.plot(sizes, ahead / 2, color=plots.RED)
at_fit = rate * plain.at(NORM, fit) / math.sqrt(len(weights))
for value, words in ((at_fit, "typical step, fit"), (step, "typical step, end")):
    steps.axhline(value.median(), color=plots.BLUE)
    steps.annotate(words, (1.2e-4, value.median() * 1.5), color=plots.BLUE)
steps.annotate("below: lost", (2e-2, 2e-11), color=plots.RED)
low, high = weights.abs().quantile(torch.tensor([0.05, 0.95])).tolist()
steps.axvspan(low, high, color=plots.GREY, alpha=0.15, lw=0)
steps.set(xscale="log", yscale="log", xlabel="size of a weight", ylim=(5e-12, 1e-2))
steps.set_ylabel("change of a weight")
norm, absorbed = (plain.series(column, since=fit) for column in (NORM, LOST))
share.plot(norm, 100 * absorbed, ".", ms=4, color=plots.RED)
grid = torch.logspace(
    *(math.log10(v) for v in (norm.min().min(), norm.max().max())), 30
)
share.plot(
    grid,
    [100 * lost_if_alike(v) for v in grid],
    color=plots.BLACK,
    ls="--",
    label="if all were alike",
)
share.set(xscale="log", yscale="log", ylim=(1e-4, 10))
share.set(xlabel="norm of the gradient", ylabel="updates lost (%)")
share.invert_xaxis()
share.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1))
for run in (adam, plain):
    plots.curve(
        waves,
        run,
        LOST,
        percent=True,
        label="AdamW" if run is adam else "gradient descent",
    )
waves.set(xlabel="epoch", ylabel="updates lost (%)")
waves.legend(loc="lower center", bbox_to_anchor=(0.5, 1.1))
plots.thousands(waves)
plots.letter([steps, share, waves], ["steps", "lost by norm", "AdamW"])
plots.show(figure)

# %% tags=["remove-input"]
tables.prose(f"""
At epoch {last:,} the typical step is still {told(2 * step / spacing)} times half the
distance between floats. If all entries were alike, rounding would lose {told(alike, "{:.2%}")} of them. It loses
{sheet.told("excess")} times as many, namely entries far below the typical size.
""")

# %% [markdown]
# ## The claims
#
# The fit is the first log with 100 % training accuracy. We read directions from the paper's plot;
# the bounds are ours. The row on AdamW was registered before its runs. The averages in the fold, and the other
# numbers on AdamW below, were chosen after these runs.
#
# Float64 weights are not run. The paper names no number of epochs for them, and a
# gradient that falls as 1/epoch leaves any bound open.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# No program of this figure was released. A run named in `paper_plots.ipynb` of the first public code
# has precision, learning rate and epochs (commit `740778c` of the
# [official repository](https://github.com/LucasPrietoAl/grokking-at-the-edge-of-numerical-stability)).
#
# 1. *Momentum* is not stated; we read "vanilla" as 0. The official programs otherwise give SGD
#    momentum, so we ran 0.8 too. A step then sums about five gradients.
# 2. *Logs.* Every 20 epochs up to 1,000 and every 100 from there. The official logs of that
#    time are 1,000 epochs apart.
# 3. *AdamW* has our learning rate of 0.001, and the eps of 1e-25 of the released scripts.
# 4. *Devices.* The seeds come from CPUs and a GPU, all in float32.
#
# ## Reading the result
#
# **Where we agree.** Gradients fall, and lost updates grow several times over. Gradients of
# exactly zero do not grow with them. They have another reason: a unit that is inactive on all
# training pairs passes no gradient on. The share of zeros still settles after the fit, in
# some seeds by a little more than the 2 points allowed.

# %% tags=["remove-input"]
tables.prose(f"""
**Do lost updates prevent grokking?** The paper says so of plain gradient descent. But rounding loses only a few
per cent, the smallest updates, and all other weights move. The falling gradient alone could be the
reason. All steps from epoch 200 to 2,000 have a length of {told(way(200, 2000), "{:.1f}")} together. Ten times the
epochs, from 2,000 to {last:,}, add {told(way(2000, last), "{:.1f}")}. A run with float64 weights would decide.

**Does AdamW lose fewer updates?** Only at first: at epoch 1,000 it loses {told(adam.at(LOST, 1000), "{:.3%}")}.
Later its share swings between nothing and {told(adam.largest(LOST, since=adam.fitted(accuracy=1.0)), "{:.0%}")}, panel (c) above. The average is
{sheet.told("average AdamW")}, against {sheet.told("average gradient descent")} with gradient descent. Every seed ends high in a wave. The
average depends less on that, but we chose it after the runs. Why waves? When the gradient falls faster than AdamW forgets its size, steps
shrink too. That may be the reason.

**Two different collapses.** Rounding absorbs these updates in the *weights*.
{{term}}`Softmax collapse <softmax collapse>` is absorption in the *loss*. It hardly occurs here,
in at most {told(plain.largest("collapse_float32"), "{:.2%}")} of the samples.

**With momentum 0.8** a learning rate of 20 is too large. Training accuracy rises to
{told(heavy.largest("train_accuracy"), "{:.0%}")} and falls again. At the end nearly the whole gradient is exactly zero, from dead units.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-prieto2025-10-precision
# A weight of 0.04 is trained with learning rate 20. Below which gradient are its updates
# lost in float32, and in float64?
# ```
#
# ````{solution} ex-prieto2025-10-precision
# :class: dropdown
# 0.04 lies between $2^{-5}$ and $2^{-4}$, where float32 numbers are $2^{-5-23}$ apart.
# Float64 has 29 more bits:
#
# ```python
# for bits in (23, 52):
#     print(f"{2.0 ** (-5 - bits) / 2 / 20:.1e}")
# ```
#
# In float64 the figure would show next to nothing.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-10-sum
# The same weight gets a step of $+10^{-9}$ in each of 1,000 epochs. Where does it end in
# float32, and where in exact arithmetic?
# ```
#
# ````{solution} ex-prieto2025-10-sum
# :class: dropdown
# In float32 it ends where it began, since $10^{-9}$ is less than half of $2^{-28}$. In exact
# arithmetic it moves by $10^{-6}$, which is 268 float32 numbers further.
#
# ```python
# import torch
# for dtype in (torch.float32, torch.float64):
#     weight = torch.tensor(0.04, dtype=dtype)
#     for _ in range(1000):
#         weight = weight + 1e-9
#     print(dtype, f"{float(weight) - 0.04:.2e}")
# ```
#
# Rounding up or down at random, with the right probabilities, would keep small steps on
# average.
# ````
#
# ```{exercise}
# :label: ex-prieto2025-10-adam
# Why does this figure use gradient descent? How large are the steps of AdamW when the
# gradient has fallen by a factor of 1,000?
# ```
#
# ```{solution} ex-prieto2025-10-adam
# :class: dropdown
# Nearly as large as before, if the gradient falls slowly. Adam divides each entry by its own recent size,
# so a common factor cancels as long as the entries exceed eps. A gradient that falls faster than that memory
# gives small steps.
# ```

# %% [markdown]
# ## Run it yourself
#
# 5,000 of 20,000 epochs and one seed, in about three minutes on one core.
#
# ```bash
# make page PAGE=prieto2025/fig10 SCALE=laptop
# ```
