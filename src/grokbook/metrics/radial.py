"""Radius of activations h (rows, d) and the radial part of their gradients g.

    radial energy    d (h . g)^2 / (|h|^2 |g|^2)     per row, 1 on average for a g that
                                                     knows nothing of h
    summed           d sum_rows |g_rad|^2 / sum_rows |g|^2,  g_rad = (h . g) h / |h|^2
    masked           mean over rows of the first, 0 where |g|^2 <= 1e-12
    shared           |mean h|^2 / mean |h|^2: 1 if all rows are alike, 1 / rows if
                     they are independent and without a mean

Source: Tiwari et al. 2026, eq. 4, which leaves open how rows are put together; "masked"
is how later code of the same group does it (spec. of this book, section 5.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grokbook.metrics.shares import ratio, share

if TYPE_CHECKING:
    from jaxtyping import Float

    from grokbook.shapes import Scalar

MASK = 1e-12  # squared norm of a row's gradient below which the mask leaves it out


def radial_energy(
    h: Float[Tensor, "rows d"], g: Float[Tensor, "rows d"]
) -> dict[str, Scalar]:
    """Eq. 4 in three readings, and the share of rows that have a gradient.

    "mean" over rows with a gradient and an activation that are not zero, "summed" and
    "masked" as above; all from 0 to d, in float64.
    """
    h, g = h.double(), g.double()
    along = (h * g).sum(dim=-1).square()
    lengths, energy = h.square().sum(dim=-1), g.square().sum(dim=-1)
    radial = along / torch.where(lengths > 0, lengths, 1.0)  # |g_rad|^2 of each row
    there = (energy > 0) & (lengths > 0)
    each = h.shape[-1] * radial / torch.where(there, energy, 1.0)
    each = torch.where(there, each, 0.0)
    kept = torch.where(energy > MASK, each, 0.0)
    return {
        "mean": ratio(each.sum(), there.sum().double()),
        "summed": h.shape[-1] * ratio(radial.sum(), energy.sum()),
        "masked": kept.mean(),
        "rows": share(there),
    }


def shared_direction(h: Float[Tensor, "rows d"]) -> Scalar:
    """|mean of the rows|^2 over the mean of |row|^2; 0 if all rows are zero."""
    h = h.double()
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
