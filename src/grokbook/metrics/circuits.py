"""Traces of a learned algorithm: Fourier modes and the entropy of attention.

Source: Singh, Misra and Orvieto (2026), sections 3 to 6 and appendix D, with its
official code where the text leaves a choice. ``waves`` follows Tiwari et al. (2026),
appendix C, which does not say whether products are its "complete 4-dimensional Fourier
basis".
"""

from typing import NamedTuple

import torch
from torch import Tensor

from grokbook.metrics.vectors import ratio


def fourier_concentration(
    embedding: Tensor, *, p: int, skip_constant: bool = False
) -> Tensor:
    """Return how unevenly the Fourier modes of an embedding (tokens, d) are filled.

        Var_k mu_k / (mean_kj (A_kj - mu_k)^2 + 1e-8),   mu_k = mean_j A_kj,
        A_kj = |sum_v W_E[v, j] exp(-2 pi i k v / p)| for k = 0..p//2

    This is the measure of appendix D.1 of Singh, Misra and Orvieto (2026). It takes
    rows 0..p-1 of the embedding, those of the numbers. ``skip_constant`` leaves out the
    constant mode k = 0, which the paper does not do. The value is 0 if all mu_k are the
    same, also for zeros, and has no upper bound; for independent N(0, 1/d) entries, p =
    113 and d = 128 it is 0.0084 with a standard deviation of 0.0017. It is NaN with a
    NaN in these rows. Raises ValueError for fewer than p rows.
    """
    if len(embedding) < p:
        raise ValueError(f"an embedding of {len(embedding)} tokens has no {p} numbers")
    amplitude = torch.fft.rfft(embedding[:p].double(), dim=0).abs()  # (modes, d)
    if skip_constant:
        amplitude = amplitude[1:]
    mean = amplitude.mean(dim=1, keepdim=True)  # mu, (modes, 1)
    within = (amplitude - mean).square().mean()  # (), over k and j
    return mean.var(correction=0) / (within + 1e-8)


def attention_entropy(weights: Tensor, *, head_average: bool = True) -> Tensor:
    """Return the mean over rows of the entropy -sum_j a_j ln a_j of attention weights.

    Weights are (batch, heads, queries, keys), and a row has those of one query for all
    keys j. The entropy is between 0 (one key has all the weight) and ln keys (all have
    the same); a weight of 0 adds nothing. The published measure averages the weights
    over heads first, which can only raise the entropy; ``head_average=False`` takes the
    entropy of each head instead. The mean is NaN with a NaN, or without rows. Raises
    ValueError for weights of another shape.
    """
    if weights.dim() != 4:
        shape = tuple(weights.shape)
        raise ValueError(f"weights are (batch, heads, queries, keys), not {shape}")
    weights = weights.double()
    if head_average:
        weights = weights.mean(dim=1)  # (batch, queries, keys)
    return torch.special.entr(weights).sum(dim=-1).mean()


class Waves(NamedTuple):
    """What `waves` returns, for neurons j and frequencies k = 1..(p-1)/2.

    ``product`` (neurons, frequencies) is the share of a neuron's variance in the modes
    (+-k, +-k). They span cos ka cos kb and the like, and so all functions of a + b and
    of a - b with frequency k, where k stands for the angle 2 pi k / p. ``selectivity``
    (neurons, frequencies) is max(|corr(h_j, cos k(a+b))|, |corr(h_j, sin k(a+b))|).
    ``variance`` (neurons,) is the variance of a neuron over all pairs (a, b).
    ``largest`` () is the maximum of |p F_j(k, l)| over all neurons and modes but the
    constant one. A neuron that never varies has zeros, one with a NaN has NaN, and so
    has ``largest`` then.
    """

    product: Tensor
    selectivity: Tensor
    variance: Tensor
    largest: Tensor


def waves(activations: Tensor, pairs: Tensor, p: int) -> Waves:
    """Return the Fourier modes of activations h (pairs, neurons) over pairs (a, b).

        F_j(k, l) = 1/p^2 sum_ab h_j(a, b) exp(-2 pi i (k a + l b) / p)

    ``pairs`` (pairs, 2) has each pair of numbers below p once, in any order. The
    function does not work under vmap. Raises ValueError if p is even or below 3, or if
    a pair is missing or there twice.
    """
    index = pairs[:, 0] * p + pairs[:, 1]  # (pairs,), the row of (a, b) in the table
    all_indices = torch.arange(p * p).to(pairs)
    if p < 3 or p % 2 == 0 or not torch.equal(index.sort().values, all_indices):
        raise ValueError(f"waves are of all pairs (a, b) once and an odd p, not of {p}")
    # (p^2, neurons), of which row a p + b is that of (a, b)
    table = activations.new_zeros(activations.shape, dtype=torch.float64)
    table[index] = activations.double()
    modes = torch.fft.fft2(table.view(p, p, -1), dim=(0, 1)) / p**2  # F
    energy = modes.abs().square()  # (p, p, neurons)
    energy[0, 0] = 0  # the constant mode is no variance
    variance = energy.sum(dim=(0, 1))  # (neurons,)
    # rounding leaves a constant neuron a variance of about 1e-32 of its square
    is_constant = variance <= 1e-24 * table.square().mean(dim=0)
    variance = torch.where(is_constant, 0.0, variance)
    k = torch.arange(1, (p + 1) // 2, device=index.device)
    sum_modes = modes[k, k]  # those of a + b, (frequencies, neurons)
    larger = torch.maximum(sum_modes.real.abs(), sum_modes.imag.abs()).square()
    return Waves(
        # 2, as the modes (-k, -k) and (-k, k) mirror those two, with the same energy
        product=ratio(2 * (energy[k, k] + energy[k, -k]), variance).T,
        # h = 2 Re F cos - 2 Im F sin + ..., and cos has variance 1/2
        selectivity=ratio(2 * larger, variance).T.sqrt(),
        variance=variance,
        largest=p * torch.where(is_constant, 0.0, energy).max().sqrt(),
    )
