"""Shares and ratios that the other measurements are made of.

share         n_true / n, counted in integers: a float32 mean of 7662 ones can
              print 0.99999994
ratio         part / whole, and 0 where there is no whole
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Shaped

    from grokbook.shapes import Scalar


def share(flags: Bool[Tensor, " ..."]) -> Scalar:
    """Share of flags that are true; 0 of none."""
    return flags.sum().double() / max(flags.numel(), 1)


def zero_fraction(values: Shaped[Tensor, " ..."]) -> Scalar:
    """Share of entries that are exactly 0."""
    return share(values == 0)


def ratio(part: Scalar, whole: Scalar) -> Scalar:
    """part / whole, or 0 where whole is not positive; no division by 0 on the way."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)
