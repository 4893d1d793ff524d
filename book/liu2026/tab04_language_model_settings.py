# %% [markdown]
# # [Liu et al. 2026 · Table 4]{.kicker} The language model's table lacks its learning rate, probably 0.1

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the network of Table 4, published logits, the settings, the claims"
import math

import numpy as np
import torch

from grokbook import claims, losses, models, plots, tables

plots.use_style()
TOKENS, STEPS, WARMUP, LENGTH, BATCH = 131_072, 100_000, 5000, 2048, 64  # the paper's
FLOAT32, FLOAT64 = 183, 498  # its mean logits, by the dtype of the loss
HOURS, SIZE = 12, 110e6
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
layout = network.layout
attention = layout.width * LENGTH * len(network.blocks)  # half of all pairs, causal
flop = 6 * (weights - embedding + attention)  # a token, forward and backward
rate_needed = flop * TOKENS * STEPS / (HOURS * 3600)


def spacing(value, dtype=torch.bfloat16):
    """Distance of neighbouring numbers of a type at a value."""
    return torch.finfo(dtype).eps * 2 ** math.floor(math.log2(value))


SETTINGS = tables.stated("liu2026/tab04")  # with the public code's before ours
stated = [words != "" for _, words, *_ in SETTINGS]
missing = [row for row in SETTINGS if row[1] == ""]
open_ones = [row[0] for row in missing if row[3] == ""]
tokens = [TOKENS * STEPS / 1e9, TOKENS * WARMUP / 1e9]
logits = TOKENS * layout.vocabulary
memory = [f"{logits * size / 1e9:.1f}" for size in (2, 4, 8)]
best = min(PUBLISHED, key=lambda rate: PUBLISHED[rate][3])
gap = PUBLISHED[nearest][3] - PUBLISHED[best][3]
calmer = sum(centred < plain for _, plain, centred, *_ in PUBLISHED.values())
small = sum(w.numel() for w in smaller.parameters())
in_code = [row[3] != "" for row in missing]
given = [True]  # what is beyond the paper has nothing to agree with
found = {
    "settings": claims.exactly(f"{sum(stated)} of {len(SETTINGS)}", stated),
    "code": claims.exactly(f"{sum(in_code)} of {len(missing)}; not the {', '.join(open_ones)}", in_code),
    "weights": claims.exactly(
        f"{', '.join(named[:2])} or {named[2]} million", [any(round(way, -7) == SIZE for way in ways)]
    ),
    "tokens": claims.exactly(
        f"{LENGTH * BATCH:,}; {tokens[0]:.1f} B; {tokens[1]:.2f} B",
        [LENGTH * BATCH == TOKENS, round(tokens[0], 1) == 13.1, round(tokens[1], 1) == 0.7],
    ),
    "rate": claims.exactly(f"{mean[nearest]:.0f} at rate {nearest:g}", [positive[nearest] <= math.log(2)]),
    "positive": claims.exactly(
        f"{len(positive)} of {len(mean)}, from {min(positive):g} on", [z > 0 for z in mean.values()]
    ),
    "sizes": claims.exactly(f"{weights:,} and {small:,}", given),
    "memory": claims.exactly(f"{', '.join(memory[:2])} and {memory[2]} GB", given),
    "operations": claims.exactly(f"{rate_needed / 1e12:.0f} × 10¹²", given),
    "spacing": claims.exactly(" and ".join(f"{spacing(z):g} at {z}" for z in (FLOAT32, FLOAT64)), given),
    "other-sizes": claims.exactly(" to ".join(f"{f(OTHER.values()):.0f}" for f in (min, max)), given),
    "test-loss": claims.exactly(f"{gap:.2f}", given),
    "largest": claims.exactly(f"{calmer} of {len(PUBLISHED)}", given),
}
sheet = claims.read("liu2026/tab04", found, nearest=f"{nearest:g}", best=f"{best:g}")
sheet.box()

# %% tags=["hide-input"]
#| name: fig-liu2026-tab04
#| caption: >
#|   The paper's float32 logits fit one learning rate of the code that it follows, and
#|   bfloat16 is coarse where they lie. (a) Mean logit at the end, as published with that
#|   code: seven peak rates of the size 109M, and four other sizes at 0.1, drawn beside
#|   it. Diamonds, the paper's two, put at the rate that we infer. (b) Distance of
#|   neighbouring bfloat16 numbers.
#| alt: >
#|   Left: the mean logit is slightly negative up to a rate of 0.003 and then climbs to
#|   1,448 at 0.3; the diamond of 183 lies just under the point at 0.1, that of 498 just
#|   above. Right: a staircase that doubles with every power of two, 1 at 183 and 2 at 498.
#| fold: "Code: draw the figure"
figure, (size, step) = plots.panels(2, height=3.7)
style = {"marker": "o", "ms": 5}
size.plot(list(mean), list(mean.values()), color=plots.BLUE, label="109M", **style)
size.plot(
    [nearest * 1.25] * len(OTHER),
    list(OTHER.values()),
    "x",
    color=plots.GREY,
    label="other sizes, at 0.1",
)
plots.paper(size, [nearest] * 2, [FLOAT32, FLOAT64])
for z, word in ((FLOAT32, "float32 loss"), (FLOAT64, "float64 loss")):
    near = {"textcoords": "offset points", "ha": "right", "va": "center"}
    size.annotate(f"{z}, {word}", (nearest, z), (-9, 4), fontsize=9.5, **near)
size.axhline(0, color=plots.GREY, lw=1)
size.set(xscale="log", xlabel="peak learning rate", ylabel="mean logit at the end")
size.set_yscale("symlog", linthresh=3)
size.set_yticks([-3, 0, 3, 10, 30, 100, 300, 1000])
size.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
size.minorticks_off()
size.set(xlim=(2e-4, 0.5), ylim=(-6, 2600))
size.legend(loc="lower right", fontsize=9.5)
at = np.geomspace(1, 1023.9, 1000)
step.plot(at, [spacing(z) for z in at], color=plots.PURPLE)
for z in (FLOAT32, FLOAT64):
    plots.paper(step, [z], [spacing(z)], label="paper" if z == FLOAT32 else "")
    near = {"textcoords": "offset points", "ha": "right", "va": "bottom"}
    step.annotate(f"{z}: {spacing(z):g}", (z, spacing(z)), (-6, 4), **near)
step.set(xlabel="size of a logit", ylabel="distance of bfloat16 numbers")
step.set_xscale("log", base=2)
step.set_yscale("log", base=2)
for axis in (step.xaxis, step.yaxis):
    axis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"1/{1 / x:g}")
step.legend(loc="upper left")
plots.letter([size, step], ["published mean logits", "spacing of bfloat16"])
plots.show(figure)

# %% [markdown]
# ## What to see

# %% tags=["remove-input"]
tables.prose(rf"""
* **The rate is the gap.** Of {len(SETTINGS)} settings that a run needs, the paper states
  {sum(stated)}. The public code of Stollenwerk et al., which it follows, fixes
  {sum(in_code)} of the other {len(missing)}. It has no one peak learning rate: it
  compares {len(mean)}.
* **The logits give it away** (a). The mean {{term}}`logit` that was published with that
  code grows from {mean[3e-4]:.1f} to {mean[3e-1]:,.0f} with the rate. The paper's
  {FLOAT32} is nearest to the {mean[nearest]:.0f} of rate {nearest:g}.
* **That rate is a high one.** The published loss is lowest at {best:g}. At {nearest:g} it
  is {gap:.2f} higher. At the three smallest rates the mean logit is negative.
* **The grid is coarse there** (b). Neighbouring bfloat16 numbers are {spacing(FLOAT32):g}
  apart at {FLOAT32} and {spacing(FLOAT64):g} apart at {FLOAT64}. No precision of the loss
  brings back what the logits have lost before.
""")

# %% [markdown]
# ## The idea
#
# The paper follows the mean of all $K$ logits of a token. With the rows $W_k$ of the
# {term}`head` and the feature $h$ it is, by definition,
#
# $$
# \frac1K \sum_k z_k = \frac1K \sum_k W_k \cdot h = W_G \cdot h ,
# $$
#
# so it is zero once the {term}`mean classifier` $W_G$ is subtracted, in any precision and
# after any training. That removing $W_G$ "stabilizes the logits" is a finding only if other
# measures of the logits fall as well.
#
# The {term}`softmax` does not see the mean, as long as nothing is rounded. In bfloat16 the
# mean decides on the grid, and the loss comes after it:


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
for offset in (0, FLOAT32, FLOAT64):
    found = (loss_at(offset, torch.float32), loss_at(offset, torch.float64))
    print(f"mean {offset:3}: loss in float32 {found[0]:.4f}, in float64 {found[1]:.4f}")

# %% [markdown]
# The two columns agree to four digits, and both get worse with the mean. The labels are
# drawn from these logits, so the first line is the lowest loss that there is. What the
# other lines lose has nothing to do with {term}`softmax collapse`.
#
# Every setting, as the paper has it, as the code has it that it follows, and as Figure 5
# runs it here:

# %% tags=["hide-input"]
#| fold: "Code: the table of settings"
tables.grid(
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
# list of settings is ours; someone else would make it a few lines longer or shorter.

# %% tags=["hide-input"]
#| fold: "Code: the claims, and what was run"
sheet.closing()

# %% [markdown]
# ## What was run
#
# The network was built as shapes without memory, and its weights were counted. The public
# code is
# [output-embedding-centering](https://github.com/flxst/output-embedding-centering/tree/25c6fb9)
# of Stollenwerk et al. ([arXiv 2601.02031](https://arxiv.org/abs/2601.02031)), commit
# `25c6fb9`. Published logits and losses are from its `loss_overview_all.csv`, one run each.
#
# 1. *110 million.* The code calls the size 109M. It has 140.6 million weights, of which
#    each of the two embeddings has 32.2. One of them left out makes 108.4 million.
# 2. *Mean logit.* The code takes it from held-out text, over batches, vocabulary and
#    tokens, in bfloat16. So published values are themselves on the grid of panel (b).
# 3. *Rate.* For Figure 5 this book takes 0.1, as inferred here.
# 4. *Lowest rate.* Ours goes to zero, the paper's to 1e-5.

# %% [markdown]
# ## Reading the result

# %% tags=["remove-input"]
_, largest, calmed, *_ = zip(*PUBLISHED.values(), strict=True)
low, high, plain = min(calmed), max(calmed), max(largest)
tables.prose(rf"""
**The table can be completed, with one guess.** Every gap but the rate is filled by the
public code, if the sentence is true that the recipe was not changed. The guess of
{nearest:g} is a reading of one number. Published means of four other sizes at that rate
lie between {min(OTHER.values()):.0f} and {max(OTHER.values()):.0f}, in no order of size.
So a factor of two between two single runs, such as {FLOAT32} and {FLOAT64}, may be chance.

**"Consistent with Stollenwerk et al."** holds at high rates only. There the mean goes up,
and below {min(positive):g} it ends below zero. The direction is a matter of the rate.

**What would test the paper's last remedy.** The mean logit cannot, by the identity above.
The published largest logits can: with $W_G$ subtracted they stay between {low:.0f} and
{high:.0f} at all rates. Without, they reach {plain:,.0f}. So the remedy works, in runs that
are not the paper's.
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
# Their gradient takes as much again. So the batch has to be split into parts, or shared by
# several cards; the public code shares it by four.
# ````
#
# ```{exercise}
# :label: ex-liu2026-tab04-rounding
# Rounding to a grid of spacing $s$ adds an error of variance $s^2 / 12$ to each logit. How
# much does that cost in loss, and what is it at a mean of 252?
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
# It takes the same number $W_G \cdot h$ from all logits of a token, and the softmax depends
# on differences of logits only. Every set of probabilities stays within reach. What changes
# is how weights are updated, and which grid the logits are rounded to.
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
# No record stands behind this page: networks, spacings and losses are computed when it is
# executed. The paper's words are those of arXiv 2605.06152. Published logits and losses were
# copied from `loss_overview_all.csv` of the public code, commit `25c6fb9`.
