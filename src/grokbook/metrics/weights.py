"""What weights w and their steps say: norms, alignment, updates lost to rounding.

Sums are taken in float64 whatever the dtype of the tensors. Source: Prieto et al. 2025,
section 4 and appendix C; Singh, Misra and Orvieto 2026 (update norm).
"""

from collections.abc import Iterable, Mapping

from torch import Tensor

from grokbook.metrics.shares import ratio, share


def total_norm(tensors: Iterable[Tensor]) -> Tensor:
    """L2 norm of one or more tensors of any shape, taken as one vector."""
    tensors = list(tensors)
    return _inner(tensors, tensors).sqrt()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of two tensors of one shape, flattened; 0 when either is zero."""
    return joint_cosine([a], [b])


def joint_cosine(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Cosine of two lists of tensors, each taken as one vector; 0 when either is 0.

    Unlike torch's it has no floor under the norms.
    """
    lengths = _inner(left, left).sqrt(), _inner(right, right).sqrt()
    # one length after the other: their product can underflow where they do not
    return ratio(ratio(_inner(left, right), lengths[0]), lengths[1])


def absorbed_fraction(weight: Tensor, step: Tensor) -> Tensor:
    """Share of entries with step != 0 but weight + step == weight (appendix C)."""
    return share((step != 0) & (weight + step == weight))


def update_norm(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """L2 norm over all parameters, by name, of after - before."""
    return total_norm(after[name].double() - w.double() for name, w in before.items())


def _inner(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Inner product of two lists of tensors, each taken as one float64 vector."""
    pairs = zip(left, right, strict=True)
    first, *rest = (a.double().flatten() @ b.double().flatten() for a, b in pairs)
    return sum(rest, first)
