"""What weights w and their steps say: norms, alignment, updates lost to rounding.

    alignment     cos(w, -grad), the naive-loss-minimisation metric
    absorbed      share of entries with w + step == w though step != 0
    update norm   L2 norm of one optimizer step over all parameters

Sums are taken in float64 whatever the dtype of the tensors. Source: Prieto et al. 2025,
section 4 and appendix C; Singh, Misra and Orvieto 2026 (update norm).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grokbook.metrics.shares import ratio, share

if TYPE_CHECKING:
    from grokbook.shapes import Anything, Same, Scalar


def total_norm(tensors: Iterable[Anything]) -> Scalar:
    """L2 norm of all tensors taken as one vector; ValueError if there are none."""
    tensors = list(tensors)
    return _inner(tensors, tensors).sqrt()


def cosine(a: Same, b: Same) -> Scalar:
    """Cosine of two tensors of one shape, flattened; 0 when either is zero."""
    return joint_cosine([a], [b])


def joint_cosine(left: list[Anything], right: list[Anything]) -> Scalar:
    """Cosine of two lists of tensors, each taken as one vector; 0 when either is 0."""
    lengths = _inner(left, left).sqrt(), _inner(right, right).sqrt()
    # one length after the other: their product can underflow where they do not
    return ratio(ratio(_inner(left, right), lengths[0]), lengths[1])


def absorbed_fraction(weight: Same, step: Same) -> Scalar:
    """Share of entries with step != 0 but weight + step == weight (appendix C)."""
    return share((step != 0) & (weight + step == weight))


def update_norm(
    before: Mapping[str, Anything], after: Mapping[str, Anything]
) -> Scalar:
    """L2 norm over all parameters of after - before; ValueError if they differ."""
    shapes = [{name: w.shape for name, w in side.items()} for side in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError("Both sides need the same names with the same shapes.")
    return total_norm(after[name].double() - w.double() for name, w in before.items())


def _inner(left: Iterable[Tensor], right: Iterable[Tensor]) -> Tensor:
    """Inner product of two lists of tensors, each taken as one float64 vector."""
    pairs = zip(left, right, strict=True)
    products = [torch.dot(a.double().flatten(), b.double().flatten()) for a, b in pairs]
    if not products:
        raise ValueError("There are no tensors to measure, pass at least one.")
    return sum(products[1:], products[0])
