# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # [Liu et al. 2026 · Table 4]{.kicker} The table of the language model lacks the learning rate, and the printed logits point to 0.1

# %% tags=["parameters", "remove-input"]
scale = "best"  # every page takes these three; nothing is trained on this one
retrain = False
device = "auto"

# %% tags=["hide-input"]
#| fold: "Code: the network from Table 4, published logits, the list of settings, the claims"
import math

import numpy as np
import torch

from grokbook import claims, losses, models, papers, plots, tables

plots.use_style()
arm = papers.get("liu2026/fig05", "paper").arm("float32 loss")
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


T4, E3, S3, B32, NOT = "Table 4", "Appendix E.3", "Section 3", "Appendix B.3.2", ""
SAME = "the same"
SETTINGS = [  # what a run needs; the paper's words, where; the public code's; ours
    ("corpus", "FineWeb", S3, SAME, "1 MB of FineWeb-Edu"),
    ("tokens", NOT, "", "GPT-2's", "the first 2,048 of GPT-2's"),
    ("vocabulary", "50304", T4, SAME, "2,048"),
    ("order of the text", NOT, "", "places drawn at random", "128 blocks, shuffled"),
    ("sequence length", "2048", T4, SAME, "64"),
    ("sequences a step", "64", T4, SAME, "8"),
    ("steps", "100000", T4, SAME, "2,000"),
    ("blocks", NOT, "", "15", "4"),
    ("width", NOT, "", "640", "64"),
    ("heads", NOT, "", "4", "4"),
    ("activation", "SwiGLU", T4, SAME, "SwiGLU"),
    ("hidden units", NOT, "", "1,792", "176"),
    ("positions", "RoPE", T4, SAME, "rotary"),
    ("share of a head that is turned", NOT, "", "half", "half"),
    ("normalisation", "LayerNorm", T4, SAME, "layer norm"),
    ("norm before the head", NOT, "", "yes, with a gain", "yes, with a gain"),
    ("norm of queries and keys", "yes", T4, "for each head", "for each head"),
    ("biases", "no", T4, SAME, "none"),
    ("shared embeddings", "false", T4, SAME, "no"),
    ("dropout", "0.0", T4, SAME, "none"),
    ("initial embedding", "standard deviation 1/√d", T4, SAME, "the same"),
    ("initial weights", "Xavier", T4, "Xavier normal", "Xavier normal"),
    ("optimiser", "AdamW", T4, SAME, "AdamW"),
    ("β1, β2", "0.9, 0.95", T4, SAME, "the same"),
    ("Adam's ε", "1e-8", T4, SAME, "1e-8"),
    ("weight decay", "0.0", T4, SAME, "0"),
    ("gradient clipping", "1.0", T4, SAME, "1"),
    ("peak learning rate", NOT, "", NOT, "0.1"),
    ("schedule", "cosine decay", T4, SAME, "cosine"),
    ("lowest learning rate", "1e-5", T4, SAME, "0"),
    ("warm-up steps", "5000", T4, SAME, "100"),
    ("precision of products", "BF16", T4, SAME, "bfloat16, and float32"),
    ("precision of the loss", "float32, float64", B32, "float32", "both"),
    ("precision of the weights", NOT, "", "float32, by autocast", "float32"),
    ("precision of other products (TF32)", NOT, "", "allowed", "float32"),
    ("text on which logits are averaged", NOT, "", "held-out batches", "training text"),
    ("seed", NOT, "", "1", "42 and others"),
]
stated = sum(words != NOT for _, words, *_ in SETTINGS)
missing = [row for row in SETTINGS if row[1] == NOT]
open_ones = [row[0] for row in missing if row[3] == NOT]
found_in_code = len(missing) - len(open_ones)
counts = [
    LENGTH * BATCH == TOKENS,
    round(TOKENS * STEPS / 1e9, 1) == 13.1,
    round(TOKENS * WARMUP / 1e9, 1) == 0.7,
]

sheet = claims.Sheet("liu2026/tab04")
sheet.exact(
    "every setting that a run of the language model needs is stated (settings of the list "
    "below)",
    "The main hyperparameters are summarized in Table 4.",
    f"{stated} of {len(SETTINGS)}",
    where=E3,
    held=stated,
    n=len(SETTINGS),
    main=True,
)
sheet.exact(
    "the public code that the paper follows fixes each setting that the paper leaves out",
    "We do not change the training recipe, and only add additional measurements",
    f"{found_in_code} of {len(missing)}; not the {', '.join(open_ones)}",
    where=E3,
    held=found_in_code,
    n=len(missing),
)
sheet.exact(
    "that code's network rounds to 110 million weights, with all of them or without "
    "one or both embeddings",
    "We train a nanoGPT model with 110M parameters",
    f"{', '.join(named[:2])} or {named[2]} million",
    where=S3,
    held=int(any(round(way, -7) == SIZE for way in ways)),
    n=1,
)
sheet.exact(
    "tokens a step, tokens in all and tokens of the warm-up follow from batch, length and "
    "steps (three numbers)",
    "100000 steps ≈ 13.1B tokens",
    f"{LENGTH * BATCH:,}; {TOKENS * STEPS / 1e9:.1f} B; {TOKENS * WARMUP / 1e9:.2f} B",
    where=T4,
    held=sum(counts),
    n=len(counts),
)
sheet.exact(
    "at one of the code's seven peak rates, the published mean logit is within a factor "
    "of two of the paper's (float32 loss)",
    "After 10⁵ steps, the mean logit is 183 under float32 training",
    f"{mean[nearest]:.0f} at rate {nearest:g}",
    where=B32,
    held=int(positive[nearest] <= math.log(2)),
    n=1,
)
sheet.exact(
    "the mean logit that the code's authors published is positive (peak rates)",
    "The phenomenon we observe in LLMs is instead consistent with Stollenwerk et al.: the "
    "output logits diverge toward positive infinity.",
    f"{len(positive)} of {len(mean)}, from {min(positive):g} on",
    where="Appendix B.6",
    held=len(positive),
    n=len(mean),
)
sheet.not_run(
    "a run takes about 12 hours on RTX 5090 cards, which we do not have",
    "For LLM experiments, each run takes approximately 12 hours.",
    where="Appendix E",
)


def extra(statement, told):
    sheet.exact(statement, "", told, where="", held=1, n=1, extra=True)


extra("weights in all; of the code's smallest network of that study", "")
