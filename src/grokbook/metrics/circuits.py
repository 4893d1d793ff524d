"""Traces of a learned algorithm: circles in an embedding, choices of attention.

    fourier_concentration    Var_k mu_k / (mean_kj (A_kj - mu_k)^2 + 1e-8), where
                             A_kj = |sum_v W_E[v, j] exp(-2 pi i k v / p)|, k = 0..p//2,
                             and mu_k is the mean of A_kj over the columns j
    attention_entropy        mean over samples and queries of -sum_j a_j ln a_j

Source: Singh, Misra and Orvieto 2026, sections 3 to 6 and appendix D; where the text
leaves a choice open, the measurements of its official code. Which frequencies a network
uses is not covered: see ``spectra.fourier_spectrum``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float

    from grokbook.shapes import Scalar


def fourier_concentration(
    embedding: Float[Tensor, "tokens d"], *, p: int, skip_constant: bool = False
) -> Scalar:
    """How unevenly the Fourier modes of the p number tokens are filled (appendix D.1).

    Rows 0..p-1 of the embedding count. Variances are population ones, amplitudes are
    not squared, and the constant mode k = 0 takes part unless ``skip_constant`` (ours,
    not the paper's). Not bounded above; 0.0084 with a deviation of 0.0017 for
    independent N(0, 1/d) entries, p = 113 and d = 128.
    """
    if not 2 <= p <= embedding.shape[0]:
        raise ValueError(f"{len(embedding)} rows are no p = {p} >= 2 numbers.")
    amplitude = torch.fft.rfft(embedding[:p].double(), dim=0).abs()
    amplitude = amplitude[int(skip_constant) :]  # (modes, d)
    mean = amplitude.mean(dim=1, keepdim=True)
    within = (amplitude - mean).square().mean()
    return mean.var(correction=0) / (within + 1e-8)


def attention_entropy(
    weights: Float[Tensor, "batch heads queries keys"], *, head_average: bool = True
) -> Scalar:
    """Entropy of attention in nats, from 0 (one key) to ln keys (all alike).

    Each row of weights sums to 1. The published measure averages the weights over
    heads first, which can only raise the entropy; with ``head_average=False`` every
    head has its own entropy. A weight of 0 adds 0.
    """
    weights = weights.double()
    if head_average:
        weights = weights.mean(dim=1)
    return torch.special.entr(weights).sum(dim=-1).mean()
