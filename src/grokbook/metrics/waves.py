"""Fourier modes of activations on all pairs (a, b) of numbers below an odd p.

    F_j(k, l) = 1/p^2 sum_ab h_j(a, b) exp(-2 pi i (k a + l b) / p)

Of neuron j and frequency k = 1..(p-1)/2, as shares of the variance over all pairs:

    product     modes (+-k, +-k): cos ka cos kb, ..., all that functions of a + b and of
                a - b with frequency k need
    additive    modes (+-k, 0) and (0, +-k): cos ka, sin ka, cos kb, sin kb
    selectivity max(|corr(h_j, cos k(a+b))|, |corr(h_j, sin k(a+b))|)

Source: Tiwari et al. 2026, appendix C, which does not say which of the first two its
"complete 4-dimensional Fourier basis" is. The additive one fits a network that has
learned its pairs by heart, since its first layer adds a function of a to one of b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from grokbook.shapes import Scalar


class Waves(NamedTuple):
    """Of every neuron and frequency; zeros of a neuron that never varies.

    ``variance`` (neurons,) over all pairs, and ``largest``: max over modes and neurons
    of |p F|, the constant left out.
    """

    product: Float[Tensor, "neurons frequencies"]
    additive: Float[Tensor, "neurons frequencies"]
    selectivity: Float[Tensor, "neurons frequencies"]
    variance: Float[Tensor, " neurons"]
    largest: Scalar


def waves(
    activations: Float[Tensor, "pairs neurons"], pairs: Int[Tensor, "pairs 2"], p: int
) -> Waves:
    """Modes of activations that were recorded on every pair once, in any order.

    One network at a time, not under vmap. ValueError where p is even or below 3, or
    where a pair is missing.
    """
    if p < 3 or p % 2 == 0:
        raise ValueError(f"p is {p}, but these modes need an odd p of at least 3")
    place, every = pairs[:, 0] * p + pairs[:, 1], torch.arange(p * p).to(pairs)
    if not torch.equal(place.sort().values, every):
        raise ValueError(
            f"modes need the activations on each of the {p * p:,} pairs (a, b) once, "
            f"not on these {len(pairs):,} rows"
        )
    table = activations.new_zeros(activations.shape, dtype=torch.float64)
    table[place] = activations.double()
    modes = torch.fft.fft2(table.view(p, p, -1), dim=(0, 1)) / p**2
    energy = modes.abs().square()
    energy[0, 0] = 0
    variance = energy.sum(dim=(0, 1))
    # rounding leaves a constant neuron a variance of about 1e-32 of its square
    floor = 1e-24 * table.square().mean(dim=0)
    is_live = variance > floor
    safe = torch.where(is_live, variance, 1.0)[:, None]
    k = torch.arange(1, (p + 1) // 2, device=place.device)

    def share(found: Tensor) -> Tensor:  # (frequencies, neurons)
        return torch.where(is_live[:, None], found.T / safe, 0.0)

    summed = modes[k, k]  # of a + b
    sides = torch.maximum(summed.real.abs(), summed.imag.abs()).square()
    return Waves(
        product=share(2 * (energy[k, k] + energy[k, -k])),
        additive=share(2 * (energy[k, 0] + energy[0, k])),
        # h = 2 Re F cos - 2 Im F sin + ..., and cos has variance 1/2
        selectivity=share(2 * sides).sqrt(),
        variance=torch.where(is_live, variance, 0.0),
        largest=p * torch.where(is_live, energy, 0.0).max().sqrt(),
    )
