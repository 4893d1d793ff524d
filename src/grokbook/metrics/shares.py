"""Shares and ratios that the other measurements are made of."""

import torch
from torch import Tensor


def share(flags: Tensor) -> Tensor:
    """Share of flags that are true, counted in integers; 0 of none.

    A float32 mean of 7662 ones can print 0.99999994.
    """
    return flags.sum().double() / max(flags.numel(), 1)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole, or 0 where whole is not positive; no division by 0 on the way."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)
