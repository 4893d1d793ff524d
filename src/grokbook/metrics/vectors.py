"""Shares of flags, norms and cosines of tensors, the radial part of gradients.

Tensors may have any shape unless said otherwise. Sums are taken in float64 whatever the
dtype of the tensors. Two tensors that are compared have the same shape, otherwise
ValueError is raised.

Source: Prieto et al. (2025), section 4 and appendix C; Singh, Misra and Orvieto (2026;
update norm); Tiwari et al. (2026), eq. 4.
"""

import math
from collections.abc import Iterable, Mapping
from functools import reduce

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
    """Return the share of boolean flags that are true.

    ``of`` is what was compared to make the flags: every comparison with NaN is false,
    and the share is NaN if ``of`` has a NaN, or if there are no flags. Flags are
    counted in integers: a float32 mean of 7662 ones can print 0.99999994.
    """
    count = flags.sum().double()
    # a GPU multiplies by the reciprocal of a Python number: 3764 * (1 / 3764) < 1
    value = count / torch.full_like(count, flags.numel())
    return value if of is None else torch.where(of.isnan().any(), torch.nan, value)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """Return part / whole entry by entry, with 0 where ``whole`` is 0.

    An entry is NaN where either of the two is NaN. The two broadcast as in torch.
    """
    is_nothing = (whole == 0) & ~part.isnan()
    return torch.where(is_nothing, 0.0, part / torch.where(whole == 0, 1.0, whole))


def median(values: Tensor) -> Tensor:
    """Return the median of one or more values, NaN if one of them is; of two the lower.

    It is in the dtype of the values. It equals torch's, which warns on CUDA.
    """
    ordered = values.flatten().sort().values  # a NaN comes last
    largest = ordered[-1]
    return torch.where(largest.isnan(), largest, ordered[(len(ordered) - 1) // 2])


def near_one(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return tensors in float64, all divided by the same power of two.

    The largest absolute entry of all is then from 1/2 to 1, so that no square
    overflows, and a square that underflows is negligible. Division by a power of two
    rounds nothing.
    """
    wide = [tensor.double() for tensor in tensors]
    # of each tensor; the 0 is the largest entry where there is none
    maxima = [F.pad(tensor.abs().flatten(), (0, 1)).amax() for tensor in wide]
    largest = torch.stack(maxima).amax()
    exponent = torch.frexp(largest).exponent.double()
    # beyond 2^1000 the power itself is not a number, as of a largest entry of 1e-310
    return [tensor * torch.exp2(-exponent.clamp(-1000, 1000)) for tensor in wide]


def total_norm(tensors: Iterable[Tensor]) -> Tensor:
    """Return the L2 norm of one or more tensors, taken as one vector.

    Entries are squared in float64, in which those beyond 1e154 are infinite, and those
    below 1e-162 are 0.
    """
    tensors = list(tensors)
    return _inner_product(tensors, tensors).sqrt()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return the cosine of two tensors, flattened; 0 if either is zero."""
    return joint_cosine([a], [b])


def joint_cosine(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the cosine of two lists of tensors, each taken as one vector.

    It is 0 if either vector is 0. Unlike torch's it has no floor under the norms.
    """
    for a, b in zip(left, right, strict=True):
        _refuse_other_shapes(a, b)
    left, right = near_one(left), near_one(right)
    left_norm = _inner_product(left, left).sqrt()
    right_norm = _inner_product(right, right).sqrt()
    # one division after the other: the product of the norms can underflow
    return ratio(ratio(_inner_product(left, right), left_norm), right_norm)


def absorbed_fraction(weight: Tensor, step: Tensor) -> Tensor:
    """Return the share of entries with step != 0 but weight + step == weight.

    [Prieto et al. 2025, appendix C] There may be several steps (steps, *shape) for one
    weight (*shape).
    """
    after = weight + step
    return share((step != 0) & (after == weight), of=after)


def update_norm(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """Return the L2 norm of after - before, over all parameters by name."""
    for name, weight in before.items():
        _refuse_other_shapes(weight, after[name])
    return total_norm(after[name].double() - w.double() for name, w in before.items())


def _inner_product(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the inner product of two lists of tensors, each taken as one vector."""
    pairs = zip(left, right, strict=True)
    products = (a.double().flatten() @ b.double().flatten() for a, b in pairs)
    return reduce(torch.add, products)


def radial_energy(h: Tensor, g: Tensor) -> dict[str, Tensor]:
    """Return d (h . g)^2 / (|h|^2 |g|^2) for activations h and gradients g (rows, d).

    [Tiwari et al. 2026, eq. 4] The energy is between 0 and d, and 1 on average for a g
    that is independent of h. The equation leaves open how rows are combined, so there
    are three values: "mean" is the mean over the rows in which neither h nor g is zero;
    "summed" is d sum |g_rad|^2 / sum |g|^2 with g_rad = (h . g) h / |h|^2; "masked" is
    the mean over all rows, with 0 where |g|^2 <= 1e-12, as in later code of the same
    group. Without rows all are NaN.
    """
    _refuse_other_shapes(h, g)
    if not len(h):
        return dict.fromkeys(("mean", "summed", "masked"), h.sum().double() * math.nan)
    is_masked = g.double().square().sum(dim=-1) <= MASK
    (h,), (g,) = near_one([h]), near_one([g])
    squared_products = (h * g).sum(dim=-1).square()  # (rows,), as all that follow
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
    """Return |mean of the rows|^2 over the mean of |row|^2, for rows h (rows, width).

    It is 1 if all rows are equal, about 1 / rows if they are independent of mean 0, and
    0 if all are zero.
    """
    (h,) = near_one([h])
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
