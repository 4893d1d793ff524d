# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Figure 5]{.kicker} In a small language model some tokens collapse too, but its mean logit falls below zero in all four precisions tried

# %% tags=["parameters", "remove-input"]
scale = "best"
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the runs and the claims"
import math

import torch

from grokbook import claims, evidence, metrics, plots, tables
from grokbook.evidence import Run, told
from grokbook.papers import liu2026

plots.use_style()
record = evidence.record("liu2026/fig05", scale=scale, retrain=retrain, device=device)
LOGIT, ZERO, NORM, MEAN = "mean_logit", "collapsed", "head_norm", "head_mean_norm"


def arm(name, color):
    return Run(record, name, name, plots.COLOUR[color])


low, high = arm("float32 loss", "float32"), arm("float64 loss", "float64 loss")
centred = arm("W_G subtracted", "W_G subtracted")
low32 = arm("float32 loss, float32 logits", "float32")
high32 = arm("float64 loss, float32 logits", "float64 loss")
runs = (low, high, centred, low32, high32)
SOLID = {run: "-" if run.settings.autocast else plots.DASHED for run in runs}
steps, classes = low.settings.epochs, low.settings.model.options["vocabulary"]


def apart(one, other, column=LOGIT):
    """A column at the end of one arm, minus that of the other, by seed."""
    mine, theirs = evidence.paired(one.last(column), other.last(column))
    return mine - theirs


def smaller(one, other, column=LOGIT):
    """The smaller of the two at the end, by seed."""
    mine, theirs = evidence.paired(one.last(column), other.last(column))
    return mine.where(mine < theirs, theirs)


def lead(run):
    """Correct logit minus the mean of all, at the end."""
    return run.last("correct_logit") - run.last(LOGIT)


def part(run, epoch):
    """Length of the mean row of the head over the root mean square of its rows."""
    return run.at(MEAN, epoch) * classes**0.5 / run.at(NORM, epoch)


def times(upper, lower):
    upper, lower = evidence.paired(upper, lower)
    return upper / lower


onsets = [run.first(ZERO, above=0).clip(upper=steps) for run in (low, high)]
first, second = evidence.paired(*onsets)
look = first.where(first < second, second) - low.settings.log  # nobody has collapsed
mine, theirs = evidence.paired(high.at(LOGIT, look), low.at(LOGIT, look))
early = mine - theirs

B32, B6 = "Appendix B.3.2", "Appendix B.6"
sheet = claims.Sheet("liu2026/fig05", show="{:+.2f}")
sheet.claim(
    [high, low],
    "mean logit at the end: float64 loss minus float32 loss",
    "the mean logit is 183 under float32 training, but increases to 498 when the loss is "
    "computed in float64",
    apart(high, low),
    where=B32,
    above=0,
    main=True,
)
sheet.claim(
    [low, high],
    "mean logit at the end, the lower of float32 and float64 loss, is positive",
    "the output logits diverge toward positive infinity",
    smaller(low, high),
    where=B6,
    above=0,
)
sheet.claim(
    low,
    "float32 loss: some tokens have a loss of exactly zero (largest share of tokens)",
    "Softmax Collapse also appears during GPT training",
    low.largest(ZERO),
    where=B32,
    above=0,
    show="{:.1%}",
)
sheet.claim(
    [centred, low],
    "lead of the correct logit over the mean of all, at the end: that with W_G subtracted "
    "over that without",
    "Removing the last-layer mean W_G eliminates this mutual reinforcement and stabilizes "
    "the logits.",
    times(lead(centred), lead(low)),
    where=B32,
    below=1,
    show="{:.2f}",
)
sheet.claim(
    high32,
    "float64 loss, float32 logits: length of W_G over that of a typical row, at the end "
    "over at the start",
    "This imbalance can create a large global mean W_G even without numerical collapse",
    times(part(high32, steps), part(high32, 0)),
    where=B32,
    at_least=10,
    show="{:.1f}",
)
sheet.claim(
    [high, low],
    "length of W_G at the end: float64 loss over float32 loss",
    "low precision can partially suppress the faster logit divergence caused by the "
    "frequency-induced W_G",
    times(high.last(MEAN), low.last(MEAN)),
    where=B32,
    above=1,
    show="{:.2f}",
)
sheet.not_run(
    "the two mean logits themselves, 183 and 498, at 140 million weights",
    "After 10⁵ steps, the mean logit is 183",
    where=B32,
)
sheet.not_run(
    "about 3 % of the tokens of a step have loss zero, with text that is read once",
    "roughly 4000 tokens have exactly zero loss",
    where=B32,
)
sheet.not_run(
    "the ten tokens that collapse most often",
    "the top-10 tokens with the highest Softmax Collapse frequency",
    where=B32,
)
sheet.not_run(
    "two GPT-2 models with a learning rate of 0.1 do not drift to negative logits",
    "we trained GPT-2 models with 19M and 150M parameters",
    where=B6,
)
words = "the same at the last look before any token of the two has collapsed"
sheet.extra([high, low], f"main claim: {words}", early)
for run in runs[:2] + runs[3:]:
    sheet.extra(run, f"{run.label}: mean logit at the end", run.last(LOGIT))
words = "mean logit at the end, float32 logits: float64 loss minus float32 loss"
sheet.extra([high32, low32], words, apart(high32, low32))
for run in (low, high, low32, high32):
    words = f"{run.label}: tokens with a float32 loss of exactly zero, at the end"
    sheet.extra(run, words, run.last(ZERO), show="{:.1%}")
words = "float32 loss: times that a batch's loss goes from 0.001 to 0.1"
sheet.extra(low, words, evidence.counted(evidence.bursts(low)), show="{:.0f}")
words = "float32 loss: loss of held-out text at the end"
sheet.extra(low, words, low.last("test_loss"), show="{:.1f}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-05
#| caption: >
#|   The mean logit of a small language model falls below zero, with loss and products in
#|   either precision. (a) Mean over all classes and 2,048 training tokens. (b)
#|   Tokens whose loss in float32 is exactly zero. Solid: products in bfloat16; dashed: in
#|   float32. Thick, the median over seeds.
#| alt: >
#|   Left: the mean logit drops from zero to a few units below zero in four arms and stays
#|   at zero where W_G is subtracted. Right: the share of tokens with zero loss rises to
#|   several per cent past the middle of training and falls again.
#| fold: "Code: draw the figure"
figure, (logit, zero) = plots.panels(2, height=3.9)
for run in runs:
    plots.curve(logit, run, LOGIT, linestyle=SOLID[run])
    plots.curve(zero, run, ZERO, percent=True, linestyle=SOLID[run], label="")
logit.axhline(0, color=plots.GREY, lw=1)
logit.set(xlabel="step", ylabel="mean logit")
zero.set(xlabel="step", ylabel="tokens with loss zero (%)")
zero.set_ylim(bottom=-0.5)
for panel in (logit, zero):
    plots.thousands(panel)
figure.legend(loc="outside lower center", ncols=2, handlelength=3)
plots.letter([logit, zero], ["mean of all logits", "collapse"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **Tokens collapse** (b). With the loss in float32 up to
  {told(low.largest(ZERO), "{:.1%}")} of the training tokens have a loss of exactly zero,
  and {told(low.last(ZERO), "{:.1%}")} do at the end. The paper has about
  3 %, of a text that is read about once.
* **The mean {{term}}`logit` falls** (a). It ends at {told(low.last(LOGIT), "{:.1f}")} with
  a float32 loss and at {told(high.last(LOGIT), "{:.1f}")} with one in float64. In the paper
  it rises, to 183 and to 498.
* **Float64 minus float32** is {told(apart(high, low), "{:+.2f}")} at the end. At the last
  look before any token collapses it is {told(early, "{:+.2f}")} already, and what is there
  before collapse does not come from it.
* **Without $W_G$** the mean is zero, as it must be. The correct logit leads the mean by
  {told(lead(centred), "{:.0f}")} then, and by {told(lead(low), "{:.0f}")} with it.
""")

# %% [markdown]
# ## The idea
#
# Collapse makes the gradients at a token's {term}`logits <logit>` add up to its
# {term}`residual mass` instead of zero, $s = \sum_k \partial L / \partial z_k = \epsilon$.
# In the classification runs of this paper a loss in float64 removes that. Here the logits
# come out of a product in bfloat16. So their gradient is handed back in bfloat16, in
# which a number has eight bits, whatever the loss was computed in:


# %%
def class_sums(logits, labels, dtype):
    """Sum over classes of each token's gradient, of a loss in some dtype."""
    z = logits.detach().requires_grad_()
    losses = -z.to(dtype).log_softmax(dim=1).gather(1, labels[:, None])
    losses.sum().backward()  # into the dtype of the logits
    return z.grad.double().sum(dim=1)


torch.manual_seed(0)
tokens = torch.randint(2048, (1000,))
noise = 2 * torch.randn(1000, 2048)
sizes = {}
for name, ahead in (("ordinary", 0.0), ("collapsed", 20.0)):
    ours = noise.scatter(1, tokens[:, None], noise.amax(1, keepdim=True) + ahead)
    torch.testing.assert_close(
        class_sums(ours, tokens, torch.float32).mean(), metrics.class_sum(ours, tokens)
    )
    for of in (torch.float32, torch.bfloat16):
        for loss in (torch.float32, torch.float64):
            found = class_sums(ours.to(of), tokens, loss)
            sizes[name, of, loss] = float(found.abs().mean())

# %% tags=["hide-input"]
#| fold: "Code: the table of sums"


def short(value):
    """A power of ten: the last digits of such a sum are the processor's."""
    return f"1e{round(math.log10(value))}"


def plain(dtype):
    return str(dtype).removeprefix("torch.")


tables.grid(
    ["Logits", "Loss", "|sum|, ordinary token", "|sum|, collapsed token"],
    [
        [plain(of), plain(loss), short(value), short(sizes["collapsed", of, loss])]
        for (name, of, loss), value in sizes.items()
        if name == "ordinary"
    ],
)

# %% tags=["remove-input"]
coarse = sizes["ordinary", torch.bfloat16, torch.float64]
mass = sizes["collapsed", torch.bfloat16, torch.float32]
tables.prose(rf"""
An *ordinary* token's correct logit is level with the next, a *collapsed* one's leads by 20.
With logits in float32 the loss in float64 does what the paper says of it. With logits in
bfloat16 it mends the collapsed token, and the sum of an ordinary one stays at
about {short(coarse)}, some {short(coarse / mass)} times the
{short(mass)} that collapse leaves.

The two differ in one thing. Rounding has either sign, so it averages out over tokens.
Collapse always has the same. Adam, which divides each entry by its own size, would not
keep the sum at zero in any precision.
""")

# %% tags=["hide-input"]
#| name: fig-liu2026-05-why
#| caption: >
#|   Mean classifier and loss do not depend on the precision of the loss. (a) Length of the
#|   mean row of the head over the root mean square of all rows, 1 if all are equal. (b)
#|   Training loss, falling as the text is learned by heart. Solid: products in bfloat16;
#|   dashed: in float32. Medians over seeds.
#| alt: >
#|   Left: the mean row grows to about half of a typical one within the first steps and
#|   stays there, in all arms but the one where it is subtracted. Right: the training loss
#|   falls from 8 to below 0.01 alike in all arms.
#| fold: "Code: draw the mean classifier and the losses"
figure, (size, loss) = plots.panels(2, height=3.9)
for run in runs:
    if run.seeds:
        grown = run.series(MEAN) * classes**0.5 / run.series(NORM)
        style = {"color": run.color, "ls": SOLID[run], "label": run.label}
        size.plot(grown.index, grown.median(axis=1), **style)
    plots.curve(loss, run, "train_loss", linestyle=SOLID[run], label="")
size.set(xlabel="step", ylabel="length of W_G / typical row", ylim=(-0.02, 1.02))
loss.set(xlabel="step", ylabel="training loss", yscale="log")
for panel in (size, loss):
    plots.thousands(panel)
figure.legend(loc="outside lower center", ncols=2, handlelength=3)
plots.letter([size, loss], ["mean classifier", "loss"])
plots.show(figure)

# %% [markdown]
# ## The claims
#
# Judged is only what a text learned by heart can show: signs, and whether tokens collapse
# at all. The sizes of logits and the share of collapsed tokens depend on the model and on
# its text, so they are listed as not run. The paper has one run of each precision. The sign
# of a difference comes out right by chance in every second run, so the main claim has its
# own control in the folded part: the same difference before any token has collapsed.

# %% tags=["hide-input"]
#| fold: "Code: the table of claims"
sheet.table()

# %% [markdown]
# ## What was run

# %% tags=["hide-input"]
#| fold: "Code: the settings beside the paper's"
tables.settings(record, paper=liu2026.TABLE4)

# %% tags=["hide-input"]
#| fold: "Code: the arms"
tables.arms(record)

# %% [markdown]
# "autocast" is the type of matrix products and logits, beside weights in float32. Where the
# runs differ from the paper, or had to be guessed ([Table 4](
# tab04_language_model_settings.ipynb) has every setting):
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
# 6. *Beyond the paper:* both arms with float32 logits.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
tables.prose(rf"""
**Where we agree.** Tokens collapse in a language model too, and the
{{term}}`mean classifier` is long: it grows from {told(part(high32, 0), "{:.2f}")} to
{told(part(high32, steps), "{:.2f}")} of a typical row, also where nothing is rounded to
bfloat16 and the loss is in float64. As the paper expects of mini-batches, there is no
{{term}}`slingshot`: the {told(low.largest(ZERO), "{:.1%}")} of tokens that collapse are far
from the 40 % after which this book counts one.

**Where we do not.** The mean logit goes down, not up. The paper explains its rise by the
long $W_G$, along which the features grow. Here $W_G$ points against the features, as the
negative sign of $W_G \cdot h$ says. With float32 logits and a float64 loss the mean logit is
{told(high32.last(LOGIT), "{:.1f}")}. So a long $W_G$ does not tell which way the logits go,
and it takes no collapse to send them down.

**What we do not see.** A float64 loss leaves the length of $W_G$ as it is, at
{told(times(high.last(MEAN), low.last(MEAN)), "{:.2f}")} of that with float32. Without $W_G$
the correct logit leads by {told(times(lead(centred), lead(low)), "{:.2f}")} times as much,
so of what we measure, nothing but the mean is calmer.

**What this cannot settle.** These networks are some five hundred times smaller, and learn
their text by heart. The public code that the paper follows has a negative mean logit too,
at [three small learning rates](tab04_language_model_settings.ipynb). Whether 183 and 498
differ by more than chance takes several runs of the full size.
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
# The drift grows with the steps $T$, rounding with their root. Equal they are when
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
# How often is every token read in these runs? What would you change to have each read once,
# and what would that do to the share of collapsed tokens?
# ```
#
# ````{solution} ex-liu2026-05-again
# :class: dropdown
# ```python
# print(2000 * 8 * 64 / 8192)
# ```
#
# Leave out `train_blocks` in `src/grokbook/papers/liu2026.py`. The whole excerpt has 200,000
# tokens or more, so several hundred steps read it once. A network that has seen a text once
# can hardly be certain of a token, unless it follows a pattern. So expect next to none.
# ````

# %% [markdown]
# ## Run it yourself
#
# Three seeds of five arms take some twenty minutes on one core. The text is fetched, or
# found in the folder that `GROKBOOK_DATA` names.
#
# ```bash
# make page PAGE=liu2026/fig05 SCALE=laptop
# ```

# %% tags=["hide-input"]
#| fold: "Code: where the numbers come from"
tables.provenance(record)
