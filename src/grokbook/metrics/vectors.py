"""Shares of flags, norms and cosines of tensors, the radial part of gradients.

Sums are taken in float64 whatever the dtype of the tensors. Those that are compared
have one shape, or ValueError is raised. Source: Prieto et al. 2025,
section 4 and appendix C; Singh, Misra and Orvieto 2026 (update norm); Tiwari et al.
2026, eq. 4.
"""

import math
from collections.abc import Iterable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

MASK = 1e-12  # ``radial_energy`` masks rows whose gradient's squared norm is up to this


def _refuse_other_shapes(a: Tensor, b: Tensor) -> None:
    """Raise ValueError for two tensors that torch would broadcast, or cannot."""
    if a.shape != b.shape:
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise ValueError(f"two tensors of one shape are compared, not {shapes}")


def share(flags: Tensor, of: Tensor | None = None) -> Tensor:
    """Share of flags that are true; NaN if there are none, or if ``of`` has a NaN.

    ``of`` is what was compared to make the flags: every comparison with NaN is false.
    Flags are counted in integers: a float32 mean of 7662 ones can print 0.99999994.
    """
    count = flags.sum().double()
    # a GPU multiplies by the reciprocal of a Python number: 3764 * (1 / 3764) < 1
    value = count / torch.full_like(count, flags.numel())
    return value if of is None else torch.where(of.isnan().any(), torch.nan, value)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """Return part / whole, 0 where ``whole`` is 0, and NaN where either is NaN."""
    is_nothing = (whole == 0) & ~part.isnan()
    return torch.where(is_nothing, 0.0, part / torch.where(whole == 0, 1.0, whole))


def median(values: Tensor) -> Tensor:
    """Return the median of all values, of two middle ones the lower, or NaN with a NaN.

    It equals torch's, which warns on CUDA.
    """
    ordered = values.flatten().sort().values  # a NaN comes last
    last = ordered[-1]
    return torch.where(last.isnan(), last, ordered[(len(ordered) - 1) // 2])


def near_one(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return tensors in float64, all divided by the same power of two.

    The largest size of an entry is then from 1/2 to 1, so that no square overflows, or
    vanishes beside nothing. Division by a power of two rounds nothing.
    """
    wide = [tensor.double() for tensor in tensors]
    # the 0 is the largest entry where there is none
    sizes = [F.pad(tensor.abs().flatten(), (0, 1)).amax() for tensor in wide]
    largest = torch.stack(sizes).amax()
    exponent = torch.frexp(largest).exponent.double()
    # beyond 2^1000 the power itself is no number, as of a largest entry of 1e-310
    return [tensor * torch.exp2(-exponent.clamp(-1000, 1000)) for tensor in wide]


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
    for a, b in zip(left, right, strict=True):
        _refuse_other_shapes(a, b)
    left, right = near_one(left), near_one(right)
    left_norm = _inner(left, left).sqrt()
    right_norm = _inner(right, right).sqrt()
    # one division after the other: the product of the norms can underflow
    return ratio(ratio(_inner(left, right), left_norm), right_norm)


def absorbed_fraction(weight: Tensor, step: Tensor) -> Tensor:
    """Share of entries with step != 0 but weight + step == weight (appendix C).

    There may be several steps (steps, *shape) for one weight (*shape).
    """
    after = weight + step
    return share((step != 0) & (after == weight), of=after)


def update_norm(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """L2 norm over all parameters, by name, of after - before."""
    for name, weight in before.items():
        _refuse_other_shapes(weight, after[name])
    return total_norm(after[name].double() - w.double() for name, w in before.items())


def _inner(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the inner product of two lists of tensors, each taken as one vector."""
    pairs = zip(left, right, strict=True)
    first, *rest = (a.double().flatten() @ b.double().flatten() for a, b in pairs)
    return sum(rest, first)


def radial_energy(h: Tensor, g: Tensor) -> dict[str, Tensor]:
    """Return d (h . g)^2 / (|h|^2 |g|^2) for activations h and gradients g (rows, d).

    This is eq. 4 of Tiwari et al. It is between 0 and d, and 1 on average for a g that
    is independent of h. The equation leaves open how rows are combined, so there are
    three values: "mean" is the mean over the rows in which neither h nor g is zero;
    "summed" is d sum |g_rad|^2 / sum |g|^2 with g_rad = (h . g) h / |h|^2; "masked" is
    the mean over all rows, with 0 where |g|^2 <= 1e-12, as in later code of the same
    group. Of no rows all are NaN.
    """
    _refuse_other_shapes(h, g)
    if not len(h):
        return dict.fromkeys(("mean", "summed", "masked"), h.sum().double() * math.nan)
    is_masked = g.double().square().sum(dim=-1) <= MASK
    (h,), (g,) = near_one([h]), near_one([g])
    squared_products = (h * g).sum(dim=-1).square()
    h_squares, g_squares = h.square().sum(dim=-1), g.square().sum(dim=-1)
    radial = ratio(squared_products, h_squares)  # |g_rad|^2 of each row
    energies = ratio(h.shape[-1] * radial, g_squares)
    is_nonzero = (g_squares != 0) & (h_squares != 0)
    return {
        "mean": ratio(energies.sum(), is_nonzero.sum().double()),
        "summed": h.shape[-1] * ratio(radial.sum(), g_squares.sum()),
        "masked": torch.where(is_masked, 0.0, energies).mean(),
    }


def shared_direction(h: Tensor) -> Tensor:
    """Return |mean of the rows|^2 over the mean of |row|^2; 0 if all rows are zero.

    It is 1 if all rows are equal, and about 1 / rows if they are independent of mean 0.
    """
    (h,) = near_one([h])
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
