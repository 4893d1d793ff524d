"""The radial part of gradients g of activations h (rows, d).

    radial energy    d (h . g)^2 / (|h|^2 |g|^2)     per row, 1 on average for a g that
                                                     knows nothing of h
    mean             over rows with a gradient and an activation that are not zero
    summed           d sum_rows |g_rad|^2 / sum_rows |g|^2,  g_rad = (h . g) h / |h|^2
    masked           mean over all rows, 0 where |g|^2 <= 1e-12
    shared           |mean h|^2 / mean |h|^2: 1 if all rows are alike, 1 / rows if
                     they are independent and without a mean

Source: Tiwari et al. 2026, eq. 4, which leaves open how rows are put together; "masked"
is how later code of the same group does it (spec. of this book, section 5.4).
"""

import torch
from torch import Tensor

from grokbook.metrics.shares import ratio

MASK = 1e-12  # squared norm of a row's gradient below which the mask leaves it out


def radial_energy(h: Tensor, g: Tensor) -> dict[str, Tensor]:
    """Eq. 4 in the three readings above, by name; from 0 to d, in float64."""
    h, g = h.double(), g.double()
    along = (h * g).sum(dim=-1).square()
    lengths, energy = h.square().sum(dim=-1), g.square().sum(dim=-1)
    radial = ratio(along, lengths)  # |g_rad|^2 of each row
    each = ratio(h.shape[-1] * radial, energy)
    there = (energy > 0) & (lengths > 0)
    return {
        "mean": ratio(each.sum(), there.sum().double()),
        "summed": h.shape[-1] * ratio(radial.sum(), energy.sum()),
        "masked": torch.where(energy > MASK, each, 0.0).mean(),
    }


def shared_direction(h: Tensor) -> Tensor:
    """|mean of the rows|^2 over the mean of |row|^2; 0 if all rows are zero."""
    h = h.double()
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
