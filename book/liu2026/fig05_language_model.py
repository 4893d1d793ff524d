# %% [markdown]
# # [Liu et al. 2026 · Figure 5]{.kicker} The mean logit of a small language model falls, where the paper's rises

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import numpy as np
import torch

from claimbook import claims, evidence, plots, tables
from claimbook.evidence import Run, told
from grokbook import metrics

plots.use_style()
page = evidence.Page("liu2026/fig05", scale, retrain, device)
record = page.record(arms=())
LOGIT, ZERO, NORM, MEAN = "mean_logit", "collapsed", "head_norm", "head_mean_norm"
NAMES = (
    "float32 loss",
    "float64 loss",
    "W_G subtracted",
    "float32 loss, float32 logits",
    "float64 loss, float32 logits",
)
INKS = [
    plots.COLOUR[name]
    for name in ("float32", "float64 loss", "W_G subtracted", "float32", "float64 loss")
]
runs = low, high, centred, low32, high32 = [
    Run(record, name, name, ink) for name, ink in zip(NAMES, INKS, strict=True)
]
steps, classes = low.settings.epochs, low.settings.model.options["vocabulary"]


def apart(one, other, at=steps):
    """The mean logit of one arm minus that of another at a step, by seed."""
    return np.subtract(*evidence.paired(one.at(LOGIT, at), other.at(LOGIT, at)))


def over(upper, lower):
    """The ratio of two values by seed."""
    return np.divide(*evidence.paired(upper, lower))


def part(run, epoch):
    """Length of the mean row of the head over the root mean square of its rows."""
    return run.at(MEAN, epoch) * classes**0.5 / run.at(NORM, epoch)


lead = {
    run: run.last("correct_logit") - run.last(LOGIT) for run in runs
}  # over the mean of all
onsets = {run.label: run.first(ZERO, above=0).clip(upper=steps) for run in (low, high)}
early = apart(
    high, low, evidence.joined(onsets).min(axis=1) - low.settings.log
)  # nobody has collapsed
bare = (low, high, low32, high32)
found = {
    "sign": ([high, low], apart(high, low)),
    "positive": (
        [low, high],
        evidence.joined({run.label: run.last(LOGIT) for run in (low, high)}).min(
            axis=1
        ),
    ),
    "collapse": (low, low.largest(ZERO)),
    "subtracted": ([centred, low], over(lead[centred], lead[low])),
    "large-mean": (high32, over(part(high32, steps), part(high32, 0))),
    "suppressed": ([high, low], over(high.last(MEAN), low.last(MEAN))),
    "control": ([high, low], early),
    "mean-logit": {run.label: (run, run.last(LOGIT)) for run in bare},
}
sheet = claims.read(page.name, found)
PAPER = (183, 498)  # its mean logits after 100,000 steps: float32 loss, float64 loss
ends = {
    run: evidence.words(claims.median(run.last(LOGIT)), "{:.2f}")
    for run in (low, high)
    if run.seeds
}
sheet.box(
    "The paper says that the logits of a language model, its outputs before the softmax, "
    f"grow towards plus infinity: their mean ends at {PAPER[0]} with a float32 loss, and at "
    f"{PAPER[1]} with a float64 loss. Our language model does the opposite. It is hundreds "
    "of times smaller, and learns a short text by heart.\n\nIts mean logit falls below zero, "
    f"and ends at {ends[low]} with a float32 loss and at {ends[high]} with a float64 loss. "
    "So the precision of the loss makes no clear difference. The authors of the code that the "
    "paper follows report a rise at our learning rate, 0.1, in far larger networks trained on far "
    "more text (Table 4). So size, text or length of training may decide."
)


# %% tags=["hide-input"]
#| name: fig-liu2026-05
#| caption: >
#|   The mean logit of a small language model falls below zero, with the loss in either
#|   precision. Thick lines are medians over runs, thin ones single runs, drawn for the solid lines alone. Solid: matrix
#|   products in bfloat16, a type of 16 bits. Dashed: the same loss with matrix products in float32. (a) Mean logit over all classes and 2,048
#|   training tokens. With "mean subtracted", the mean of the last layer's rows is kept at
#|   zero, and so the mean logit is zero. (b) Share of these tokens that are collapsed:
#|   float32 rounds their loss to exactly zero, or would, if the loss is in float64. The mean logit falls before there are any.
#| alt: >
#|   Left: the mean logit drops from zero to a few units below zero in four networks and stays
#|   at zero where the mean classifier is subtracted. Right: the share of tokens with zero
#|   loss rises to several per cent past the middle of training and falls again.
#| fold: "Code: draw the figure"
def drawn(left, right, names, titles):
    """Two panels with one line a run, solid where products are in bfloat16; a legend above."""
    figure, axes = plots.panels(2, height=4.2)
    for panel, values, ylabel in zip(axes, (left, right), names, strict=True):
        for run in runs:
            style = {
                "color": run.color,
                "ls": "-" if run.settings.autocast else plots.DASHED,
            }
            name = (
                run.label.replace("W_G", "mean") if run.settings.autocast else None
            )  # dashes are in the caption
            if run.settings.autocast and run.seeds:
                each = values(run).dropna(how="all")
                panel.plot(each, color=run.color, lw=0.6, alpha=0.35)
            panel.plot(values(run).median(axis=1).dropna(), label=name, **style)
        panel.set(xlabel="step", ylabel=ylabel)
        plots.thousands(panel)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3
    )
    plots.letter(axes, titles)
    return figure, axes


names, titles = (
    ["mean logit", "tokens with loss zero (%)"],
    ["mean of all logits", "collapsed tokens"],
)
figure, axes = drawn(
    lambda run: run.series(LOGIT), lambda run: 100 * run.series(ZERO), names, titles
)
far = f"the paper's, after 100,000 steps:\n{PAPER[0]} (float32 loss), {PAPER[1]} (float64)"
axes[0].text(0.03, 0.8, far, transform=axes[0].transAxes, color=plots.GREY)
axes[0].set_ylim(-5.2, 1.6)
for run, height in ((low, -4.1), (high, -2.3)):
    if run in ends:
        at_end = f"{run.label}:\n{ends[run]}".replace(" loss", "").replace("-", "−")
        axes[0].text(steps, height, at_end, color=run.color, ha="right")
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **The mean {{term}}`logit` falls** (a) within the first hundred steps, and stays below zero with every
  precision of loss and products.
* **Precision moves it either way.** Float64 minus float32 is {sheet.told("sign")} at the end. At the last measurement
  before any token had collapsed, it was {sheet.told("control")}.
* **Tokens {{term}}`collapse <softmax collapse>`** (b). With the loss in float32, up to {sheet.told("collapse")} of the training
  tokens have a loss of exactly zero. The paper reports about 3 %, of a text that it reads about once.
* **Without the {{term}}`mean classifier`** the mean logit is zero by definition. The correct logit then leads
  the mean by {told(lead[centred], "{:.0f}")}; with the mean classifier it leads by {told(lead[low], "{:.0f}")}.
""")

# %% [markdown]
# ## The idea
#
# Collapse makes the gradients at a token's {term}`logits <logit>` add up to its
# {term}`residual mass` instead of zero, $s = \sum_k \partial L / \partial z_k = \epsilon$.
# In the classification runs of this paper a loss in float64 removes that sum. Here a matrix
# product in bfloat16 makes the logits. Their gradient returns in bfloat16 too, a type with
# eight significant bits, however precisely the loss was computed:


# %%
def class_sums(logits, labels, dtype):
    """Sum over classes of each token's gradient, of a loss in some dtype."""
    z = logits.detach().requires_grad_()
    losses = -z.to(dtype).log_softmax(dim=1).gather(1, labels[:, None])
    losses.sum().backward()  # into the dtype of the logits
    return z.grad.double().sum(dim=1)


torch.manual_seed(0)
tokens = torch.randint(2048, (1000,))
noise, sizes = 2 * torch.randn(1000, 2048), {}
for name, ahead in (("ordinary", 0.0), ("collapsed", 20.0)):
    ours = noise.scatter(1, tokens[:, None], noise.amax(1, keepdim=True) + ahead)
    torch.testing.assert_close(
        class_sums(ours, tokens, torch.float32).mean(), metrics.class_sum(ours, tokens)
    )
    for of in (torch.float32, torch.bfloat16):
        for loss in (torch.float32, torch.float64):
            sizes[name, of, loss] = float(
                class_sums(ours.to(of), tokens, loss).abs().mean()
            )

# %% tags=["hide-input"]
#| fold: "Code: the table of sums"
short = {
    key: f"1e{round(math.log10(value))}" for key, value in sizes.items()
}  # the rest is the processor's
head = ["Logits", "Loss", "|sum|, ordinary token", "|sum|, collapsed token"]
pairs = [(of, loss) for name, of, loss in sizes if name == "ordinary"]
tables.grid(
    head,
    [
        [
            str(of)[6:],
            str(loss)[6:],
            short["ordinary", of, loss],
            short["collapsed", of, loss],
        ]
        for of, loss in pairs
    ],
)

# %% [markdown]
# The correct logit of an *ordinary* token equals the next one; that of a *collapsed* token
# leads by 20. With logits in float32, the float64 loss does what the paper says. With logits
# in bfloat16 it repairs the collapsed token only. The sum of an ordinary token stays
# thousands of times larger than the sum that collapse leaves.
#
# The two sums differ in one respect. Rounding has either sign, so it averages out over tokens.
# Collapse always has the same sign. Adam divides each entry by its own size, so it would not
# keep the sum at zero in any precision.

# %% tags=["hide-input"]
#| name: fig-liu2026-05-why
#| caption: >
#|   Neither the mean classifier nor the training loss depends on the precision of the loss. (a) Length of the
#|   mean row of the head over the root mean square of all rows, 1 if all are equal. (b)
#|   Training loss, falling as the text is learned by heart. Solid: products in bfloat16;
#|   dashed: in float32. Medians over seeds.
#| alt: >
#|   Left: the mean row grows to about half of a typical one within the first steps and
#|   stays there in four networks; it is zero where it is subtracted. Right: the training loss
#|   falls from 8 to below 0.01 alike in all networks.
#| fold: "Code: draw the mean classifier and the losses"
names, titles = (
    ["length of mean row / typical row", "training loss"],
    ["mean classifier", "loss"],
)
figure, axes = drawn(
    lambda run: run.series(MEAN) * classes**0.5 / run.series(NORM),
    lambda run: run.series("train_loss"),
    names,
    titles,
)
axes[1].set_yscale("log")
plots.show(figure)

# %% [markdown]
# ## The claims
#
# We judge only what a text learned by heart can show: signs, and whether any token collapses.
# The sizes of logits and the share of collapsed tokens depend on model and text, so those
# rows are listed as not run. The paper has a single curve of each precision. By chance alone, the sign
# of a difference agrees in every second run. So the difference of the two precisions has its own
# control in the folded part: the same difference before any token has collapsed.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# "autocast" is the type of matrix products and logits; weights are in float32. [Table 4](
# tab04_language_model_settings.ipynb) has every setting. These differ from the paper, or had
# to be guessed:
#
# 1. *Size.* 0.26 of 140.6 million weights: 4 blocks of width 64, and a vocabulary of the
#    first 2,048 of GPT-2's tokens.
# 2. *Text.* 8,192 tokens of FineWeb-Edu, each read about 125 times. (`wikitext` is the name
#    of the function that cuts any corpus.) The paper reads 13.1 billion tokens, few of
#    them twice. So these networks learn a text by heart.
# 3. *Steps.* 2,000 of 512 tokens, with a warm-up of 100; the paper has 100,000 of 131,072.
# 4. *Peak rate.* 0.1, which the paper does not state; the schedule ends at 0, not at 1e-5.
# 5. *What is averaged.* Logits of 2,048 training tokens. The code that the paper follows
#    takes held-out text; what the paper takes is not said.
# 6. *Beyond the paper:* both runs with float32 logits.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(f"""
**Where we agree.** Tokens collapse in a language model too. The mean classifier grows long, from
{told(part(high32, 0), "{:.2f}")} to {told(part(high32, steps), "{:.2f}")} of a typical row, with logits in float32 and a loss in float64. There is
no {{term}}`slingshot`, as the paper expects of mini-batches. The largest share of collapsed tokens is far
below the 40 % that this book requires for a slingshot.

**Where we do not agree.** The mean logit goes down, not up. The paper explains its rise by the long mean
classifier $W_G$, along which the features grow. Here $W_G \\cdot h$ is negative: $W_G$ points against the
features. With float32 logits and a float64 loss the mean logit is {told(high32.last(LOGIT), "{:.1f}")}. So a long $W_G$ does not
tell which way the logits go, and they sink without bfloat16 as well.

**What we do not see.** With the loss in float64, $W_G$ is {sheet.told("suppressed")} times as long as in float32. Without
$W_G$ the correct logit leads by {sheet.told("subtracted")} times as much. The mean logit differs by
as much before any token has collapsed as at the end, with either sign. So none of the three depends on precision here.

**What these runs cannot settle.** The networks are five hundred times smaller and learn their text by
heart. The public code that the paper follows has a negative mean logit too, at
[three small learning rates](tab04_language_model_settings.ipynb). Only several runs of the full size can say
whether 183 and 498 differ by more than chance.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-05-grid
# Bfloat16 numbers between 128 and 256 are 1 apart. From which lead on does a token with
# logits around 183 have loss zero, in float32 and in float64?
# ```
#
# ````{solution} ex-liu2026-05-grid
# :class: dropdown
# Against a single other class {term}`absorption` begins at 16.6 and at 36.7. On that grid,
# the next leads are 17 and 37:
#
# ```python
# import torch
# lead = torch.arange(60.0)
# z = torch.stack([183 + lead, torch.full_like(lead, 183)], dim=1).bfloat16()
# for dtype in (torch.float32, torch.float64):
#     loss = -z.to(dtype).log_softmax(dim=1)[:, 0]
#     print(dtype, int(lead[loss == 0][0]))
# ```
#
# So a loss in float64 collapses as well, only later.
# ````
#
# ```{exercise}
# :label: ex-liu2026-05-noise
# Let a bfloat16 gradient leave a sum of 1e-3 with random sign at each of 131,072 tokens,
# and collapse one of 1e-8 at 3 % of them. After how many steps is the drift of collapse as
# large as what rounding adds up to?
# ```
#
# ````{solution} ex-liu2026-05-noise
# :class: dropdown
# The drift grows with the steps $T$, rounding with their root. They are equal when
# $0.03 \cdot 10^{-8}\, T = 10^{-3} \sqrt{T / 131{,}072}$:
#
# ```python
# steps = (1e-3 / (0.03 * 1e-8)) ** 2 / 131_072
# print(f"{steps:.1e}")
# ```
#
# That is some 85 million steps; the paper has 100,000.
# ````
#
# ```{exercise}
# :label: ex-liu2026-05-again
# How often do these runs read every token? What would you change to read each token once,
# and how would the share of collapsed tokens change?
# ```
#
# ````{solution} ex-liu2026-05-again
# :class: dropdown
# ```python
# print(2000 * 8 * 64 / 8192)
# ```
#
# Leave out `train_blocks` in `book/liu2026/experiments.py`. The whole excerpt has 200,000
# tokens or more, so several hundred steps read it once. A network that has seen a text once
# can hardly be certain of a token, unless it follows a pattern. So expect next to none.
# ````

# %% [markdown]
# ## Run it yourself
#
# Three seeds of five settings take some twenty minutes on one core. The text is fetched, or
# found in the folder that `GROKBOOK_DATA` names.
#
# ```bash
# make page PAGE=liu2026/fig05 SCALE=laptop
# ```
