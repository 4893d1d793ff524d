"""Traces of a learned algorithm: circles in an embedding, choices of attention, waves.

Source: Singh, Misra and Orvieto 2026, sections 3 to 6 and appendix D, with its official
code where the text leaves a choice; waves: Tiwari et al. 2026, appendix C, which does
not say whether products are its "complete 4-dimensional Fourier basis".
"""

from typing import NamedTuple

import torch
from torch import Tensor


def fourier_concentration(
    embedding: Tensor, *, p: int, skip_constant: bool = False
) -> Tensor:
    """How unevenly the Fourier modes of p number tokens (tokens, d) are filled (D.1).

        Var_k mu_k / (mean_kj (A_kj - mu_k)^2 + 1e-8),   mu_k = mean_j A_kj,
        A_kj = |sum_v W_E[v, j] exp(-2 pi i k v / p)| for k = 0..p//2

    Rows 0..p-1 of the embedding count; the constant mode k = 0 takes part unless
    ``skip_constant`` (ours, not the paper's). Not bounded above; 0.0084 with a
    deviation of 0.0017 for independent N(0, 1/d) entries, p = 113 and d = 128.
    """
    amplitude = torch.fft.rfft(embedding[:p].double(), dim=0).abs()
    amplitude = amplitude[int(skip_constant) :]  # (modes, d)
    mean = amplitude.mean(dim=1, keepdim=True)
    within = (amplitude - mean).square().mean()
    return mean.var(correction=0) / (within + 1e-8)


def attention_entropy(weights: Tensor, *, head_average: bool = True) -> Tensor:
    """Mean over rows of -sum_j a_j ln a_j, from 0 (one key) to ln keys (all alike).

    Weights are (batch, heads, queries, keys). The published measure averages them over
    heads first, which can only raise the entropy; ``head_average=False`` does not.
    """
    weights = weights.double()
    if head_average:
        weights = weights.mean(dim=1)
    return torch.special.entr(weights).sum(dim=-1).mean()


class Waves(NamedTuple):
    """Of every neuron j and frequency k = 1..(p-1)/2; zeros if it never varies.

    ``product`` (neurons, frequencies): share of the variance in modes (+-k, +-k), that
    is cos ka cos kb, ..., all that functions of a + b and a - b of frequency k need.
    ``selectivity``, likewise: max(|corr(h_j, cos k(a+b))|, |corr(h_j, sin k(a+b))|).
    ``variance`` (neurons,) over all pairs. ``largest``: max of |p F| but the constant.
    """

    product: Tensor
    selectivity: Tensor
    variance: Tensor
    largest: Tensor


def waves(activations: Tensor, pairs: Tensor, p: int) -> Waves:
    """Modes of activations (pairs, neurons), each pair (a, b) once, in any order.

        F_j(k, l) = 1/p^2 sum_ab h_j(a, b) exp(-2 pi i (k a + l b) / p)

    Not under vmap. ValueError where p is even or below 3, or where a pair is missing.
    """
    place, every = pairs[:, 0] * p + pairs[:, 1], torch.arange(p * p).to(pairs)
    if p < 3 or p % 2 == 0 or not torch.equal(place.sort().values, every):
        raise ValueError(f"waves are of all pairs (a, b) once and an odd p, not of {p}")
    table = activations.new_zeros(activations.shape, dtype=torch.float64)
    table[place] = activations.double()
    modes = torch.fft.fft2(table.view(p, p, -1), dim=(0, 1)) / p**2
    energy = modes.abs().square()
    energy[0, 0] = 0
    variance = energy.sum(dim=(0, 1))
    # rounding leaves a constant neuron a variance of about 1e-32 of its square
    is_live = variance > 1e-24 * table.square().mean(dim=0)
    k = torch.arange(1, (p + 1) // 2, device=place.device)

    def share(found: Tensor) -> Tensor:  # (frequencies, neurons)
        return torch.where(is_live, found / torch.where(is_live, variance, 1.0), 0.0).T

    summed = modes[k, k]  # of a + b
    sides = torch.maximum(summed.real.abs(), summed.imag.abs()).square()
    return Waves(
        product=share(2 * (energy[k, k] + energy[k, -k])),
        # h = 2 Re F cos - 2 Im F sin + ..., and cos has variance 1/2
        selectivity=share(2 * sides).sqrt(),
        variance=torch.where(is_live, variance, 0.0),
        largest=p * torch.where(is_live, energy, 0.0).max().sqrt(),
    )
