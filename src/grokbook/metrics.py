"""Measurements of a run: collapse, norms, alignment, sparsity of a spectrum.

    collapse      share of rows with sum_k exp(z_k - max z) == 1, in a chosen dtype
    alignment     cos(w, -grad), the naive-loss-minimisation metric, per tensor

Pure functions of tensors that return 0-dim float64 tensors unless said otherwise and
work under ``torch.func.vmap``.
Source: Prieto et al. 2025, sections 3-5, and the measurements of its official code.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of rows whose largest logit is the label's; logits (batch, classes).

    Counted in integers: a float32 mean can print 0.99999994 for all correct.
    """
    return share(logits.argmax(dim=-1) == labels)


def top_accuracy(logits: Tensor, labels: Tensor, *, k: int) -> Tensor:
    """Share of rows whose label is among the k largest of (batch, ..., classes)."""
    best = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return share((best == labels.unsqueeze(-1)).any(dim=-1))


def collapse_fraction(logits: Tensor, *, dtype: torch.dtype) -> Tensor:
    """Share of rows whose max-shifted sum of exponentials is exactly 1 in ``dtype``.

    The official measurement: it does not ask whether the largest logit is the correct
    one, and its summation order differs from that of the log-softmax kernel, so it
    need not agree with "the loss is exactly 0". Logits (batch, classes).
    """
    logits = logits.to(dtype)
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return share(shifted.exp().sum(dim=-1) == 1)


def zero_fraction(values: Tensor) -> Tensor:
    """Share of entries that are exactly 0."""
    return share(values == 0)


def total_norm(tensors: Iterable[Tensor]) -> Tensor:
    """L2 norm of all tensors taken as one vector."""
    tensors = list(tensors)
    return _inner(tensors, tensors).sqrt()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of two tensors of one shape, flattened; 0 when either is zero."""
    return joint_cosine([a], [b])


def top_logit(logits: Tensor) -> Tensor:
    """Mean over rows of the largest logit; logits (batch, classes)."""
    return logits.amax(dim=-1).double().mean()


def top_gap(logits: Tensor) -> Tensor:
    """Mean over rows of the largest minus the second-largest logit."""
    top = logits.double().topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).mean()


def absorbed_fraction(weight: Tensor, step: Tensor) -> Tensor:
    """Share of entries with step != 0 but weight + step == weight (appendix C)."""
    return share((step != 0) & (weight + step == weight))


def fourier_spectrum(weight: Tensor, *, dim: int = 0) -> Tensor:
    """L2 norms of the Fourier components of a tensor along ``dim``, figure 12.

    Real orthonormal basis of n = weight.shape[dim] rows in the order constant, cos 1,
    sin 1, cos 2, sin 2, ... (for even n the last is cos n/2). Returns (n,) float64;
    the sum of squares equals that of the weight.
    """
    rows = weight.double().movedim(dim, 0)
    rows = rows.reshape(rows.shape[0], -1)
    return torch.linalg.vector_norm(_fourier_basis(rows) @ rows, dim=1)


def _fourier_basis(like: Tensor) -> Tensor:
    """(n, n) with n = like.shape[0], orthonormal rows."""
    n = like.shape[0]
    position = torch.arange(n, device=like.device)
    index = torch.arange(n, device=like.device)[:, None]
    frequency = (index + 1) // 2
    # the product is reduced mod n as an integer, so that large angles lose nothing
    angle = (frequency * position % n).to(like.dtype) * (2 * torch.pi / n)
    basis = torch.where(index % 2 == 1, angle.cos(), angle.sin())
    single = (index == 0) | (2 * frequency == n)
    basis = torch.where(index == 0, 1.0, basis)
    return basis * torch.where(single, 1.0, 2.0).to(like.dtype).div(n).sqrt()


def top_share(values: Tensor, *, k: int) -> Tensor:
    """Share of the squared norm held by the k largest of (n,) values; 0 if all zero.

    Raises ValueError when k is not in 1..n.
    """
    if not 1 <= k <= values.shape[-1]:
        raise ValueError(f"k is {k}, but it must lie in 1..{values.shape[-1]}.")
    squares = values.double().square()
    return _ratio(squares.topk(k, dim=-1).values.sum(), squares.sum())


def gini(values: Tensor) -> Tensor:
    """Gini coefficient of the sizes of (n,) values: 0 all equal, 1 - 1/n one only."""
    sizes = values.double().abs().sort().values
    n = sizes.shape[0]
    rank = torch.arange(1, n + 1, device=values.device, dtype=torch.float64)
    return _ratio(((2 * rank - n - 1) * sizes).sum(), n * sizes.sum())


def participation_ratio(values: Tensor) -> Tensor:
    """Effective number of components, (sum x^2)^2 / sum x^4; from 1 to n, 0 if zero."""
    squares = values.double().square()
    return _ratio(squares.sum().square(), squares.square().sum())


def share(flags: Tensor) -> Tensor:
    """Share of flags that are true, counted in integers; 0 of none."""
    return flags.sum().double() / max(flags.numel(), 1)


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)


def _inner(left: Iterable[Tensor], right: Iterable[Tensor]) -> Tensor:
    """Inner product of two lists of tensors, each taken as one float64 vector."""
    pairs = zip(left, right, strict=True)
    products = [torch.dot(a.double().flatten(), b.double().flatten()) for a, b in pairs]
    if not products:
        raise ValueError("There are no tensors to measure, pass at least one.")
    return sum(products[1:], products[0])


def joint_cosine(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Cosine of two lists of tensors, each taken as one vector; 0 when either is 0."""
    lengths = _inner(left, left).sqrt(), _inner(right, right).sqrt()
    # one length after the other: their product can underflow where they do not
    return _ratio(_ratio(_inner(left, right), lengths[0]), lengths[1])
