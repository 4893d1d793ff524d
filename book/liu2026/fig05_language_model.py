# %% [markdown]
# # [Liu et al. 2026 · Figure 5]{.kicker} A small language model's mean logit falls in all four precisions

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

plots.use_style()
page = evidence.Page("liu2026/fig05", scale, retrain, device)
record = page.record(arms=())
LOGIT, ZERO, NORM, MEAN = "mean_logit", "collapsed", "head_norm", "head_mean_norm"
runs = low, high, centred, low32, high32 = [
    Run(record, name, name, plots.COLOUR[color])
    for name, color in (
        ("float32 loss", "float32"),
        ("float64 loss", "float64 loss"),
        ("W_G subtracted", "W_G subtracted"),
        ("float32 loss, float32 logits", "float32"),
        ("float64 loss, float32 logits", "float64 loss"),
    )
]
SOLID = {run: "-" if run.settings.autocast else plots.DASHED for run in runs}
steps, classes = low.settings.epochs, low.settings.model.options["vocabulary"]


def apart(one, other, at=steps):
    """The mean logit of one arm minus that of another at a step, by seed."""
    mine, theirs = evidence.paired(one.at(LOGIT, at), other.at(LOGIT, at))
    return mine - theirs


def over(upper, lower):
    """The ratio of two values by seed."""
    upper, lower = evidence.paired(upper, lower)
    return upper / lower


def part(run, epoch):
    """Length of the mean row of the head over the root mean square of its rows."""
    return run.at(MEAN, epoch) * classes**0.5 / run.at(NORM, epoch)


lead = {run: run.last("correct_logit") - run.last(LOGIT) for run in runs}  # over the mean of all
onsets = {run.label: run.first(ZERO, above=0).clip(upper=steps) for run in (low, high)}
early = apart(high, low, evidence.joined(onsets).min(axis=1) - low.settings.log)  # nobody has collapsed
bare = (low, high, low32, high32)
found = {
    "sign": ([high, low], apart(high, low)),
    "positive": ([low, high], evidence.joined({run.label: run.last(LOGIT) for run in (low, high)}).min(axis=1)),
    "collapse": (low, low.largest(ZERO)),
    "subtracted": ([centred, low], over(lead[centred], lead[low])),
    "large-mean": (high32, over(part(high32, steps), part(high32, 0))),
    "suppressed": ([high, low], over(high.last(MEAN), low.last(MEAN))),
    "control": ([high, low], early),
    "mean-logit": {run.label: (run, run.last(LOGIT)) for run in bare},
    "sign-float32-logits": ([high32, low32], apart(high32, low32)),
    "zero-tokens": {run.label: (run, run.last(ZERO)) for run in bare},
    "bursts": (low, evidence.counted(evidence.bursts(low))),
    "test-loss": (low, low.last("test_loss")),
}
sheet = claims.read(page.name, found)
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
  {sheet.told("collapse")} of the training tokens have a loss of exactly zero,
  and {told(low.last(ZERO), "{:.1%}")} do at the end. The paper has about
  3 %, of a text that is read about once.
* **The mean {{term}}`logit` falls** (a). It ends at {told(low.last(LOGIT), "{:.1f}")} with
  a float32 loss and at {told(high.last(LOGIT), "{:.1f}")} with one in float64. In the paper
  it rises, to 183 and to 498.
* **Float64 minus float32** is {sheet.told("sign")} at the end. At the last
  look before any token collapses it is {sheet.told("control")} already, and what is there
  before collapse does not come from it.
* **Without $W_G$** the mean is zero, as it must be. The correct logit leads the mean by
  {told(lead[centred], "{:.0f}")} then, and by {told(lead[low], "{:.0f}")} with it.
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
short = {key: f"1e{round(math.log10(value))}" for key, value in sizes.items()}  # the rest is the processor's
tables.grid(
    ["Logits", "Loss", "|sum|, ordinary token", "|sum|, collapsed token"],
    [
        [str(of)[6:], str(loss)[6:], short[name, of, loss], short["collapsed", of, loss]]
        for name, of, loss in sizes
        if name == "ordinary"
    ],
)

# %% tags=["remove-input"]
coarse = "ordinary", torch.bfloat16, torch.float64
mass = "collapsed", torch.bfloat16, torch.float32
tables.prose(rf"""
An *ordinary* token's correct logit is level with the next, a *collapsed* one's leads by 20.
With logits in float32 the loss in float64 does what the paper says of it. With logits in
bfloat16 it mends the collapsed token, and the sum of an ordinary one stays at
about {short[coarse]}, some 1e{round(math.log10(sizes[coarse] / sizes[mass]))} times the
{short[mass]} that collapse leaves.

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
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
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
{{term}}`slingshot`: the {sheet.told("collapse")} of tokens that collapse are far
from the 40 % after which this book counts one.

**Where we do not.** The mean logit goes down, not up. The paper explains its rise by the
long $W_G$, along which the features grow. Here $W_G$ points against the features, as the
negative sign of $W_G \cdot h$ says. With float32 logits and a float64 loss the mean logit is
{told(high32.last(LOGIT), "{:.1f}")}. So a long $W_G$ does not tell which way the logits go,
and it takes no collapse to send them down.

**What we do not see.** A float64 loss leaves the length of $W_G$ as it is, at
{sheet.told("suppressed")} of that with float32. Without $W_G$
the correct logit leads by {sheet.told("subtracted")} times as much,
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
# Leave out `train_blocks` in `book/liu2026/experiments.py`. The whole excerpt has 200,000
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
