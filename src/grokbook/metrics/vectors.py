"""Shares of flags, norms and cosines of tensors, the radial part of gradients.

Sums are taken in float64 whatever the dtype of the tensors. Source: Prieto et al. 2025,
section 4 and appendix C; Singh, Misra and Orvieto 2026 (update norm); Tiwari et al.
2026, eq. 4.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

MASK = 1e-12  # squared norm of a row's gradient below which a mask leaves it out


def share(flags: Tensor) -> Tensor:
    """Share of flags that are true, 0 of none.

    Counted in integers: a float32 mean of 7662 ones can print 0.99999994.
    """
    return flags.sum().double() / max(flags.numel(), 1)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole, or 0 where whole is not positive; no division by 0 on the way."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)


def median(values: Tensor) -> Tensor:
    """torch's, the lower of two middle values, without its warning on CUDA."""
    ordered = values.flatten().sort().values  # a NaN comes last
    last = ordered[-1]
    return torch.where(last.isnan(), last, ordered[(len(ordered) - 1) // 2])


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
    pairs = zip(left, right, strict=True)
    first, *rest = (a.double().flatten() @ b.double().flatten() for a, b in pairs)
    return sum(rest, first)


def radial_energy(h: Tensor, g: Tensor) -> dict[str, Tensor]:
    """d (h . g)^2 / (|h|^2 |g|^2) of activations and gradients (rows, d), eq. 4.

    From 0 to d; 1 on average for a g that knows nothing of h. The equation leaves open
    how rows are put together, so by name: "mean" over those where neither is zero,
    "summed" d sum |g_rad|^2 / sum |g|^2 with g_rad = (h . g) h / |h|^2, and "masked"
    over all rows, 0 where |g|^2 <= 1e-12, as later code of the same group does it.
    """
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
    """|mean of the rows|^2 over the mean of |row|^2; 0 if all rows are zero.

    1 if all rows are alike, 1 / rows if they are independent and without a mean.
    """
    h = h.double()
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
