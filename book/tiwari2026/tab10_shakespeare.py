# %% [markdown]
# # [Tiwari et al. 2026 · Table 10]{.kicker} On Shakespeare's letters the penalty speeds nothing up, and costs more when it is strong

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

plots.use_style()
light, dark, _ = plots.shades(range(3)).values()  # the darkest is too near to black
COLORS = {"baseline": plots.COLOUR["baseline"], "λ 0.01": light, "λ 0.05": dark}
page = evidence.Page("tiwari2026/tab10", scale, retrain, device)
record = page.record(arms=("baseline", "λ 0.05"))
plain, weak, strong = runs = [
    Run(record, arm, arm, color) for arm, color in COLORS.items()
]
LOSS, PAPER = "test_loss", (1.585, 1.608)
depth = plain.settings.model.options["depth"]
target = plain.settings.model.options["width"] ** 0.5
TAPS = [f"{site}.{k}" for k in range(depth) for site in ("attention_out", "mlp_out")]
RANK, ENTROPY = (
    f"{name}_256.pre.{depth - 1}" for name in ("stable_rank", "effective_rank")
)


def against(run, value):
    """A value of a run and of the baseline, for the seeds that both have."""
    return evidence.paired(value(run), value(plain))


def dearer(run):
    """By what share the perplexity at the end is above the baseline's."""
    mine, other = against(run, lambda one: one.last(LOSS))
    return np.exp(mine - other) - 1


def on_the_way(run):
    """Validation loss averaged over all steps, less that of the baseline."""
    mine, other = against(run, lambda one: evidence.average(one.series(LOSS)))
    return mine - other


def grown(run, column):
    """A rank at the end over that of the baseline."""
    mine, other = against(run, lambda one: one.last(column))
    return mine / other


def radii(run, *, start=False):
    """Radius of what each half of a block adds, over its target: mean over halves."""
    mean = sum(run.series(f"radius.{tap}") for tap in TAPS) / len(TAPS) / target
    return mean.loc[0] if start else mean.ffill().iloc[-1]


said = math.exp(PAPER[1] - PAPER[0]) - 1
found = {
    "perplexity": ([strong, plain], dearer(strong)),
    "perplexity-weak": ([weak, plain], dearer(weak)),
    "printed": claims.exactly(f"{100 * said:.1f} %", [said <= 0.02]),
    "on-the-way": ([strong, plain], on_the_way(strong)),
    "rank": ([strong, plain], grown(strong, RANK)),
    "loss": {run.label: (run, run.last(LOSS)) for run in runs},
}
sheet = claims.read(page.name, found)
price = {run: 100 * claims.median(dearer(run)) for run in (weak, strong)}
lost, count = claims.median(on_the_way(strong)), len(on_the_way(strong))
sheet.box(f"""The paper checks its penalty on a task without grokking: a small transformer learns to continue Shakespeare letter by
letter. It says that the penalty does not accelerate this. That holds as we test it, in {count} runs of a smaller network and
{plain.settings.epochs:,} steps (the paper does not say how many it takes): with a strength of 0.05 the validation loss, averaged over all steps, is {lost:.2f} higher than without the
penalty.

The paper also says that perplexity (how many letters the network hesitates between) gets at most 2 % worse. Here it ends
{price[weak]:.1f} % worse with a strength of 0.01, and {price[strong]:.1f} % worse with 0.05. Which strength the paper used is lost in
our copy of its text.""")

# %% tags=["hide-input"]
#| name: fig-tiwari2026-tab10
#| caption: >
#|   The penalty speeds nothing up (a), and its price grows with its strength (b). (a)
#|   Validation loss while a small transformer learns Shakespeare's letters, without
#|   the penalty (baseline) and with two strengths λ of it. The number is how far the
#|   loss with λ = 0.05 lies above the baseline's, averaged over all steps. (b) By how
#|   many per cent the perplexity lies above that of the baseline with the same seed;
#|   the numbers are those at the end. The dashed line is the 2 % of the paper's text.
#|   The diamond is what the losses printed in its table give. Thin lines are single
#|   runs, thick ones their median.
#| alt: >
#|   Left, three falling loss curves; that of the stronger penalty lies above the others.
#|   Right, the difference in per cent over the steps. The weak penalty stays between zero and
#|   three, with a dashed line at two; the strong one is several times above that line.
#| fold: "Code: draw the figure"
figure, (left, right) = plots.panels(2, height=3.6)
for run in runs:
    plots.curve(left, run, LOSS, label=run.label.replace("λ", "penalty, λ ="))
words = f"λ = {strong.label[2:]}: {lost:+.2f} on average"
left.text(plain.settings.epochs, 2.6, words, color=strong.color, ha="right", fontsize=9)
for run in (weak, strong):
    shared = [s for s in run.seeds if s in plain.seeds]
    excess = 100 * (np.exp(run.series(LOSS)[shared] - plain.series(LOSS)[shared]) - 1)
    right.plot(excess.index, excess, color=run.color, lw=0.7, alpha=0.5)
    right.plot(excess.median(axis=1), color=run.color)
    end, words = excess.index[-1], f"λ = {run.label[2:]}: {price[run]:.1f} %"
    up = price[run] - (6.5 if run is strong else 3.9)
    right.text(end, up, words, color=run.color, ha="right", fontsize=9)
right.axhline(2, color=plots.GREY, ls="--", lw=1)
right.axhline(0, color=plots.BLACK, lw=0.8)
for panel, points in (
    (left, ([], [])),
    (right, ([plain.settings.epochs], [100 * said])),
):
    plots.paper(panel, *points)
    panel.xaxis.set_major_formatter("{x:,.0f}")
left.set(xlabel="step", ylabel="validation loss (per letter)")
right.set(xlabel="step", ylabel="perplexity above baseline (%)", ylim=(-3.5, 18))
figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
plots.letter([left, right], ["learning", "the price"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(f"""
* **No speed-up** (a). Averaged over all steps, the loss is {told(on_the_way(weak), "{:.4f}")} above
  the baseline's with the weak penalty, and {told(on_the_way(strong), "{:.4f}")} with the strong one.
* **The price** (b). Perplexity ends {told(dearer(weak), "{:.1%}")} above the baseline's with the
  weak penalty, and {told(dearer(strong), "{:.1%}")} with the strong one.
* **The paper's own price** is {100 * said:.1f} %, not within 2 %: its losses are {PAPER[0]} and
  {PAPER[1]}.
* **The {{term}}`radius`** of what each half of a block adds starts at
  {told(radii(strong, start=True), "{:.3f}")} of its target $\\sqrt d$. The strong penalty pulls it
  outward, to {told(radii(strong), "{:.2f}")}.
""")

# %% [markdown]
# ## The idea
#
# A method that speeds up one kind of task may spoil others. So the paper adds its penalty to a
# network that learns to continue a text letter by letter. On this task a network does not first
# {term}`memorise <memorisation>` and later {term}`grok <grokking>`. So the penalty has nothing to
# gain. The question is what it costs.
#
# A loss per letter is hard to judge. So one turns it into a *perplexity*: the number of letters
# among which a guesser without any preference would err as much,
#
# $$
# \text{perplexity} = e^{L}, \qquad \frac{\text{perplexity}_2}{\text{perplexity}_1}
# = e^{L_2 - L_1} .
# $$
#
# A difference of losses is a ratio of perplexities. For small differences it is a share:
# 0.02 more loss is 2 % more perplexity, whatever the loss.


# %%
def perplexity(logits, labels):
    """Over letters: e to the mean of minus the log of what the right one was given."""
    given = logits.softmax(-1).gather(-1, labels[..., None])
    return given.log().mean().neg().exp()


torch.manual_seed(0)
labels = torch.randint(65, (4, 16))
blind = torch.zeros(4, 16, 65)
torch.testing.assert_close(perplexity(blind, labels), torch.tensor(65.0))
f"no preference among 65 letters: {perplexity(blind, labels):.0f}"

# %% [markdown]
# The penalty is {term}`radial suppression` as the paper defines it for a transformer. Attention
# and MLP of every block each add a vector, an *increment*, to a stream of width $d$. The penalty
# draws the length of each increment to $\sqrt d$.
# [Table 9](tab09_norm_and_penalty.ipynb) shows it in code.
#
# ## The claims
#
# The strength behind this table is lost in our copy of the text. We ran both strengths that the
# paper uses elsewhere. Before the runs we fixed that perplexity is judged at 0.05, the strength
# of the MLP. The row after it has 0.01, the strength of nanoGPT.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing(record)

# %% [markdown]
# ## What was run
#
# There is no official code. Inferred, and different from the paper:
#
# 1. *Width and strength* are lost in our copy of the text. It does not state batch, steps,
#    learning rate and window. At paper scale the width is 128 with an MLP of twice that,
#    which makes half a million parameters.
# 2. *On a laptop* the network is half as deep and wide. It reads windows of 64 letters from a
#    quarter of the text. Validation takes 200 such windows. So its losses are higher than the
#    paper's.
# 3. *Rank.* "Effective rank: stable rank over a batch of 256", says the paper, without a layer.
#    Ours is the {term}`stable rank` of 256 rows before the activation of the last block's
#    MLP. We also give the {term}`effective rank` of the same rows.
# 4. *Norm layers* have weights, as in nanoGPT, and are placed before each half of a block.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
rank, entropy = (
    [told(grown(run, column), "{:.2f}") for run in (weak, strong)]
    for column in (RANK, ENTROPY)
)
tables.prose(f"""
**Benign, if weak.** The weak penalty, λ = 0.01, costs {told(dearer(weak), "{:.1%}")}; the paper's
losses imply {100 * said:.1f} %. The strong one, λ = 0.05 as in the paper's MLP, costs
{told(dearer(strong), "{:.1%}")}. So "benign outside its target domain" holds for a strength, not
for the method.

**Rank.** In the paper's table the rank is higher with the penalty. Ours depends on the strength and
on the kind of rank. The weak penalty multiplies the {{term}}`stable rank` by {rank[0]} and the
{{term}}`effective rank` by {entropy[0]}. The strong one multiplies them by {rank[1]} and
{entropy[1]}.
""")

# %% [markdown]
# **Why it may cost.** GPT-2's start makes increments far shorter than $\sqrt d$, and training
# leaves them short. The penalty asks for longer ones, whether they are useful or not. Here it does
# the opposite of suppression. Another start may have another price.
#
# **The sentence and the table.** "within 2%" may be the ratio of the rounded perplexities,
# 5.0 / 4.9, which is 2.0 % more. The difference of the losses, 0.023, is about twice the printed
# spread of the baseline, 0.011.
#
# **What this cannot show.** A thousand steps on a small text make no language model. The paper
# itself says that larger models are untested.

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-tiwari2026-tab10-perplexity
# From the losses of Table 10, compute both perplexities and their ratio. Then compute the
# ratio from the perplexities as printed, 4.9 and 5.0. What range of ratios do these allow?
# ```
#
# ````{solution} ex-tiwari2026-tab10-perplexity
# :class: dropdown
# ```python
# import math
# first, second = math.exp(1.585), math.exp(1.608)
# print(f"{first:.3f}, {second:.3f}: {second / first - 1:.2%}")
# print(f"from {4.95 / 4.95 - 1:.1%} to {5.05 / 4.85 - 1:.1%}, printed {5.0 / 4.9 - 1:.1%}")
# ```
#
# One decimal place allows anything from no price to 4 %. Only the losses can tell.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab10-width
# Four blocks have about 500,000 parameters and their MLPs four times the width. How wide is
# the network? Can what a block writes have a rank of 108?
# ```
#
# ````{solution} ex-tiwari2026-tab10-width
# :class: dropdown
# A block has $4 d^2$ parameters in its attention and $8 d^2$ in its MLP:
#
# ```python
# for share in (8, 4):  # of an MLP four and two times as wide
#     print(share, round((500_000 / 4 / (4 + share)) ** 0.5))
# ```
#
# About 102 and 125. A rank of 108 does not fit into 102 dimensions. It fits if the MLP is
# narrower, or if the rank is that of a hidden layer.
# ````
#
# ```{exercise}
# :label: ex-tiwari2026-tab10-power
# The paper's standard deviations are 0.011 and 0.004. How many seeds of each are needed
# until the standard error of the difference is a quarter of it?
# ```
#
# ````{solution} ex-tiwari2026-tab10-power
# :class: dropdown
# ```python
# import math
# spread = math.hypot(0.011, 0.004)
# print(math.ceil((spread / (0.023 / 4)) ** 2))
# ```
#
# Five, which is what most of the paper's tables have; this one does not say.
# ````

# %% [markdown]
# ## Run it yourself
#
# Nine runs of five to fifteen minutes each on one core, an hour or two in all. The text is
# fetched, or found in the folder that `GROKBOOK_DATA` names.
#
# ```bash
# make page PAGE=tiwari2026/tab10 SCALE=laptop
# ```
