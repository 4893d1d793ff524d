# %% [markdown]
# # [Liu et al. 2026 · Table 4]{.kicker} The paper leaves out a third of the settings of its language model

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the network of Table 4, published logits, the settings, the claims"
import math
from textwrap import shorten

import torch

from claimbook import claims, plots, tables
from grokbook import losses, models

plots.use_style()
TOKENS, STEPS, WARMUP, LENGTH, BATCH = 131_072, 100_000, 5000, 2048, 64  # the paper's
HOURS, SIZE = 12, 110e6
FLOAT32, FLOAT64 = 183, 498  # its mean logits, by the dtype of the loss
# One run each at seven peak rates, "109M", float32 loss: loss_overview_all.csv of
# github.com/flxst/output-embedding-centering at 25c6fb9, O.logits_mean_mean,
# O.logits_mean_absmax with and without W_G, test_loss with and without it
PUBLISHED = {
    3e-4: (-3.7656, 16.25, 16.125, 3.261, 3.262),
    1e-3: (-1.2578, 19.75, 16.875, 3.211, 3.213),
    3e-3: (-2.3594, 20.375, 20.0, 3.202, 3.201),
    1e-2: (11.6875, 31.25, 18.125, 3.208, 3.207),
    3e-2: (51.0, 69.5, 18.0, 3.230, 3.226),
    1e-1: (252.0, 270.0, 17.875, 3.344, 3.257),
    3e-1: (1448.0, 1472.0, 17.25, 5.023, 3.347),
}
OTHER = {"16M": 588.0, "29M": 892.0, "57M": 274.0, "221M": 350.0}  # mean logit at 0.1
mean = {rate: found[0] for rate, found in PUBLISHED.items()}
positive = {rate: abs(math.log(z / FLOAT32)) for rate, z in mean.items() if z > 0}
nearest = min(positive, key=positive.get)

with torch.device("meta"):  # shapes only: 140 million weights take no memory
    network = models.decoder()
    smaller = models.decoder(depth=6, width=224, hidden=768)
weights = sum(w.numel() for w in network.parameters())
embedding = network.embedding.numel()
ways = [weights, weights - embedding, weights - 2 * embedding]
named = [f"{way / 1e6:.1f}" for way in ways]
attention = (
    network.layout.width * LENGTH * len(network.blocks)
)  # half of all pairs, causal
flop = 6 * (weights - embedding + attention)  # a token, forward and backward


def spacing(value, dtype=torch.bfloat16):
    """Distance of neighbouring numbers of a type at a value."""
    return torch.finfo(dtype).eps * 2 ** math.floor(math.log2(value))


SETTINGS = tables.stated("liu2026/tab04")  # with the public code's before ours
stated = [words != "" for _, words, *_ in SETTINGS]
missing = [row for row in SETTINGS if row[1] == ""]
tokens = [TOKENS * STEPS / 1e9, TOKENS * WARMUP / 1e9]
memory = [
    f"{TOKENS * network.layout.vocabulary * size / 1e9:.1f}" for size in (2, 4, 8)
]
best = min(PUBLISHED, key=lambda rate: PUBLISHED[rate][3])
gap = PUBLISHED[nearest][3] - PUBLISHED[best][3]
calmer = sum(centred < plain for _, plain, centred, *_ in PUBLISHED.values())
in_code = [row[3] != "" for row in missing]
open_ones = ", ".join(row[0] for row in missing if row[3] == "")
given = [True]  # what is beyond the paper has nothing to agree with
found = {
    "settings": claims.exactly(f"{sum(stated)} of {len(SETTINGS)}", stated),
    "code": claims.exactly(
        f"{sum(in_code)} of {len(missing)}; not the {open_ones}", in_code
    ),
    "weights": claims.exactly(
        f"{', '.join(named[:2])} or {named[2]} million",
        [any(round(w, -7) == SIZE for w in ways)],
    ),
    "tokens": claims.exactly(
        f"{LENGTH * BATCH:,}; {tokens[0]:.1f} B; {tokens[1]:.2f} B",
        [
            LENGTH * BATCH == TOKENS,
            round(tokens[0], 1) == 13.1,
            round(tokens[1], 1) == 0.7,
        ],
    ),
    "rate": claims.exactly(
        f"{mean[nearest]:.0f} at rate {nearest:g}", [positive[nearest] <= math.log(2)]
    ),
    "positive": claims.exactly(
        f"{len(positive)} of {len(mean)}, from {min(positive):g} on",
        [z > 0 for z in mean.values()],
    ),
    "sizes": claims.exactly(
        f"{weights:,} and {sum(w.numel() for w in smaller.parameters()):,}", given
    ),
    "memory": claims.exactly(f"{', '.join(memory[:2])} and {memory[2]} GB", given),
    "operations": claims.exactly(
        f"{flop * TOKENS * STEPS / (HOURS * 3600) / 1e12:.0f} × 10¹²", given
    ),
    "largest": claims.exactly(f"{calmer} of {len(PUBLISHED)}", given),
}
sheet = claims.read("liu2026/tab04", found)
sheet.box(
    "The paper says that its Table 4 has the main settings of its language model. A run needs "
    f"{len(SETTINGS)} settings by our list, and the paper states {sum(stated)} of them. So the "
    "sentence is true in part, as we ask for every setting.\n\nThe paper follows public code of "
    f"other authors, which fixes {sum(in_code)} of the {len(missing)} missing settings. What "
    "remains is the peak learning rate. Those authors tried several. With one of them, "
    f"{nearest:g}, their mean logit is nearest to the paper's: this is our guess, from one number. "
    "Nothing is trained on this page."
)

# %% tags=["hide-input"]
#| name: fig-liu2026-tab04
#| caption: >
#|   With the public code only the peak learning rate is missing. Each line is one setting that
#|   a run of the language model needs. Blue squares: the paper states it, in these words. Green
#|   diamonds: only the code that the paper follows has it. Red cross: neither has it, and this
#|   is our guess.
#| alt: >
#|   A list of 37 settings in two columns. Two thirds have a square, twelve a diamond, among
#|   them the number of blocks, the width and the heads, and the peak learning rate has a
#|   cross.
#| fold: "Code: draw the list of settings"
LEGEND = (
    ("s", plots.BLUE, f"paper, {sum(stated)} of {len(SETTINGS)}"),
    ("D", plots.GREEN, f"public code, {sum(in_code)}"),
    ("x", plots.RED, f"missing, {len(missing) - sum(in_code)}"),
)


def kind(row):
    """Sign, colour and words of a setting: the paper's, else the code's, else ours."""
    _, words, _, code, here = row
    if words:
        return "s", plots.BLUE, words
    if code:
        return "D", plots.GREEN, code
    return "x", plots.RED, here


figure, axes = plots.panels(2, height=5.0)
half = (len(SETTINGS) + 1) // 2
for panel, rows_of in zip(axes, (SETTINGS[:half], SETTINGS[half:]), strict=True):
    for y, row in enumerate(rows_of):
        sign, color, words = kind(row)
        words = shorten(words, 54 - len(row[0]), placeholder=" …")
        panel.plot(0, y, sign, color=color, ms=6, mew=2)
        panel.text(0.03, y, row[0], va="center", fontsize=9)
        panel.text(1, y, words, va="center", ha="right", color=color, fontsize=9)
    panel.set(xlim=(-0.02, 1), ylim=(half - 0.5, -0.5))
    panel.axis("off")
for sign, color, words in LEGEND:
    axes[0].plot([], [], sign, color=color, label=words, ms=6, mew=2)
figure.legend(loc="outside upper left")
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(rf"""
* **Depth, width and heads** of the network are not in the paper. Public code of Stollenwerk et al., which it follows,
  has them.
* **The learning rate is missing in both.** That code compares {len(mean)} peak learning rates.
* **The logits suggest a rate** (next figure). The mean {{term}}`logit` that was published with that code grows from a
  rate of 0.003 on. The paper's {FLOAT32} is nearest to the {mean[nearest]:.0f} of rate {nearest:g}.
* **This rate is high.** The published loss is lowest at {best:g}. At {nearest:g} it is {gap:.2f} higher.
""")

# %% [markdown]
# ## Which learning rate?

# %% tags=["hide-input"]
#| name: fig-liu2026-tab04-rate
#| caption: >
#|   The paper's mean logits fit one learning rate of the code that it follows. Mean logit at the
#|   end, as published with that code: seven peak rates of the size 109M, and four other sizes
#|   at 0.1, which are drawn beside it. The diamonds are the paper's two values, at the rate that
#|   we infer.
#| alt: >
#|   The mean logit is slightly negative up to a rate of 0.003 and then climbs to 1,448 at 0.3.
#|   The diamond of 183 lies just under the point at 0.1, that of 498 just above.
#| fold: "Code: draw the logits by rate"
figure, (size,) = plots.panels(1, height=3.8)
size.plot(
    list(mean), list(mean.values()), "o-", ms=5, color=plots.BLUE, label="size 109M"
)
size.plot(
    [nearest * 1.25] * len(OTHER),
    list(OTHER.values()),
    "x",
    color=plots.GREY,
    label="other sizes, at 0.1",
)
plots.paper(size, [nearest] * 2, [FLOAT32, FLOAT64])
for z, word in ((FLOAT32, "float32 loss"), (FLOAT64, "float64 loss")):
    size.annotate(
        f"{z}, {word}",
        (nearest, z),
        (-9, 4),
        textcoords="offset points",
        ha="right",
        va="center",
    )
size.axhline(0, color=plots.GREY, lw=1)
size.set_yscale("symlog", linthresh=3)
size.set(
    xscale="log",
    xlim=(2e-4, 0.5),
    ylim=(-6, 2600),
    yticks=[-3, 0, 3, 10, 30, 100, 300, 1000],
)
size.set(xlabel="peak learning rate", ylabel="mean logit at the end")
size.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
size.minorticks_off()
figure.legend(*size.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plots.show(figure)

# %% [markdown]
# ## The idea
#
# The paper follows the mean of all $K$ logits of a token. Let $W_k$ be the rows of the
# {term}`head` and $h$ the feature. By definition,
#
# $$
# \frac1K \sum_k z_k = \frac1K \sum_k W_k \cdot h = W_G \cdot h ,
# $$
#
# so the mean is zero once we subtract the {term}`mean classifier` $W_G$, in any precision and
# after any training. The paper finds that this "stabilizes the logits". This is a finding only if
# other measures of the logits fall as well.
#
# The {term}`softmax` does not see the mean if nothing is rounded. In bfloat16 the mean decides how
# coarsely the logits are rounded, and the loss is computed afterwards:


# %%
def loss_at(mean, dtype):
    """Loss of the same logits moved by a mean, as a bfloat16 product returns them."""
    rounded = (centred + mean).bfloat16()
    return float(losses.softmax_cross_entropy(rounded, labels, dtype=dtype))


torch.manual_seed(0)
K, width, rows = 2048, 64, 4000
head, h = torch.randn(K, width), torch.randn(rows, width) * 3 / math.sqrt(width)
z = h @ head.T
centred = h @ (head - head.mean(dim=0)).T  # W_G is subtracted
labels = torch.multinomial(centred.softmax(dim=1), 1).squeeze(1)
torch.testing.assert_close(z.mean(dim=1), h @ head.mean(dim=0), atol=1e-5, rtol=0)
assert float(centred.mean(dim=1).abs().max()) < 1e-5
lowest = loss_at(0, torch.float64)
for offset in (0, FLOAT32, FLOAT64):
    more = [
        abs(loss_at(offset, dtype) - lowest) for dtype in (torch.float32, torch.float64)
    ]
    print(
        f"mean {offset:3}: {more[0]:.2f} above the lowest loss in float32, {more[1]:.2f} in float64"
    )

# %% [markdown]
# The two columns agree, and the loss rises with the mean. We drew the labels from these logits,
# so the first line has the lowest possible loss. The other lines lose something by rounding, and
# this has nothing to do with {term}`softmax collapse`.

# %% tags=["hide-input"]
#| fold: "Code: the table of settings"
tables.folded(
    f"All {len(SETTINGS)} settings, in the paper, in the public code, and in our Figure 5",
    ["Setting", "Paper", "Where", "Public code", "Figure 5 here"],
    [
        [name, words or "not stated", at, code or "seven values", here]
        for name, words, at, code, here in SETTINGS
    ],
)

# %% [markdown]
# ## The claims
#
# Nothing is trained here, so there are no seeds: *n* counts settings, numbers or rates. The
# list of settings is ours. Another author would make it a few lines longer or shorter.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# We built the network as shapes without memory and counted its weights. The public code is
# [output-embedding-centering](https://github.com/flxst/output-embedding-centering/tree/25c6fb9)
# of Stollenwerk et al. ([arXiv 2601.02031](https://arxiv.org/abs/2601.02031)), commit
# `25c6fb9`. Published logits and losses are from its `loss_overview_all.csv`, one run each.
#
# 1. *110 million.* The code calls this size 109M. It has 140.6 million weights, of which each of
#    the two embeddings has 32.2 million. Without one of them it has 108.4 million.
# 2. *Mean logit.* The code measures it on held-out text, over batches, vocabulary and tokens, in
#    bfloat16. So the published values are themselves rounded to bfloat16.
# 3. *Rate.* Our Figure 5 takes 0.1, as inferred here.
# 4. *Lowest rate.* Ours goes to zero, and the paper's to 1e-5.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
_, largest, calmed, *_ = zip(*PUBLISHED.values(), strict=True)
tables.prose(rf"""
**One can complete the table with one guess.** The paper says that it did not change the recipe. If so,
public code fills every gap but the rate. Our guess of {nearest:g} reads one number. At this rate four
other sizes have published means from {min(OTHER.values()):.0f} to {max(OTHER.values()):.0f}, in no order of
size. So a factor of two between single runs, such as {FLOAT32} and {FLOAT64}, may be chance.

**"Consistent with Stollenwerk et al."** is true at high rates only. There the mean logit grows. At rates
below {min(positive):g} it ends below zero. So the rate decides the direction.

**Which measure would test the paper's last remedy?** The mean logit cannot, by the identity above. The
published largest logits can: with the {{term}}`mean classifier` subtracted they are at most
{max(calmed):.0f} at all rates, and without it they reach {max(largest):,.0f}. So the remedy works, but in
runs that are not the paper's.
""")

# %% [markdown]
# ## Try it
#
# ```{exercise}
# :label: ex-liu2026-tab04-memory
# How much memory do the logits of one step take in float32, and how much in float64? A card
# of the paper has 32 GB.
# ```
#
# ````{solution} ex-liu2026-tab04-memory
# :class: dropdown
# Each of 131,072 tokens has 50,304 logits:
#
# ```python
# logits = 131_072 * 50_304
# for name, size in (("bfloat16", 2), ("float32", 4), ("float64", 8)):
#     print(f"{name}: {logits * size / 1e9:.1f} GB")
# ```
#
# Their gradient takes as much again. So one has to split the batch into parts or share it among
# several cards. The public code shares it among four.
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab04-rounding
# Rounding to a grid of spacing $s$ adds an error of variance $s^2 / 12$ to each logit. By how
# much does the loss rise, and by how much at a mean of 252?
# ```
#
# ````{solution} ex-liu2026-tab04-rounding
# :class: dropdown
# Let the errors $e_k$ be independent of the label. The loss grows by $\log \sum_k p_k
# e^{e_k}$ minus the mean error, about half of the variance if many classes share $p$. For
# uniform errors the exact number is the logarithm of $\sinh(s/2) / (s/2)$:
#
# ```python
# import math
# for s in (1, 2, 4):
#     print(f"spacing {s}: {math.log(math.sinh(s / 2) / (s / 2)):.3f}")
# ```
#
# At 252 the spacing is 1, so rounding alone costs up to 0.04. The published runs differ by
# 0.09 there with and without $W_G$.
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab04-softmax
# Why does subtracting $W_G$ after every step not change what the network can express?
# ```
#
# ```{solution} ex-liu2026-tab04-softmax
# :class: dropdown
# It subtracts the same number $W_G \cdot h$ from all logits of a token, and the softmax depends
# on differences of logits only. The network can still express every set of probabilities. But
# weights get other updates, and logits are rounded to another grid.
# ```

# %% [markdown]
# ## Run it yourself
#
# A few seconds. There is nothing to reduce, whatever the scale.
#
# ```bash
# make page PAGE=liu2026/tab04 SCALE=laptop
# ```
#
# This page reads no record: it computes networks, spacings and losses when it is executed. The
# paper's words are those of arXiv 2605.06152. Published logits and losses are copied from
# `loss_overview_all.csv` of the public code, commit `25c6fb9`.
