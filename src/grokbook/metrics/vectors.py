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
    """Raise ValueError for two tensors of different shapes, also if they broadcast."""
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

    An entry is NaN where either of the two is NaN, or both are infinite. The two
    broadcast as in torch.
    """
    is_nothing = (whole == 0) & ~part.isnan()
    return torch.where(is_nothing, 0.0, part / torch.where(whole == 0, 1.0, whole))


def median(values: Tensor) -> Tensor:
    """Return the median of one or more values, NaN if one of them is.

    Of two middle values it is the lower. It has the dtype of the values. It equals
    torch's, which warns on CUDA. Raises IndexError without a value.
    """
    ordered = values.flatten().sort().values  # a NaN comes last
    largest = ordered[-1]
    return torch.where(largest.isnan(), largest, ordered[(len(ordered) - 1) // 2])


def near_one(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Return tensors in float64, all divided by the same power of two.

    The largest absolute entry of all is then from 1/2 to 1, or smaller if it was below
    1e-301, so that no square overflows, and a square that underflows is negligible
    beside the largest. Division by a power of two rounds nothing. Zeros stay zeros, and
    an entry that is not finite stays as it is. Raises RuntimeError without a tensor.
    """
    wide = [tensor.double() for tensor in tensors]
    # () of each tensor; the 0 that is appended is the largest entry where there is none
    maxima = [F.pad(tensor.abs().flatten(), (0, 1)).amax() for tensor in wide]
    largest = torch.stack(maxima).amax()
    exponent = torch.frexp(largest).exponent.double()
    # the power for a largest entry of 1e-309 would be 2^1026, which float64 has not
    return [tensor * torch.exp2(-exponent.clamp(-1000, 1000)) for tensor in wide]


def total_norm(tensors: Iterable[Tensor]) -> Tensor:
    """Return the L2 norm of one or more tensors, taken as one vector.

    Entries are squared in float64, in which the square of one beyond 1e154 is infinite,
    and that of one below 1e-162 is 0. With a NaN the norm is NaN. Raises TypeError
    without a tensor.
    """
    tensors = list(tensors)
    return _inner_product(tensors, tensors).sqrt()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return the cosine of two flattened tensors: 0 if one is 0, NaN if not finite."""
    return joint_cosine([a], [b])


def joint_cosine(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the cosine of two lists of tensors, each taken as one vector.

    It is 0 if either vector is 0, and NaN if an entry of either is not finite. Unlike
    torch's it has no floor under the norms. Raises ValueError for lists of different
    lengths.
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
    weight (*shape); the share is that of all their entries. weight + step is taken in
    their own dtype. The share is NaN if an entry of it is NaN, or without entries.
    Raises ValueError for a step of another shape.
    """
    if step.shape[step.ndim - weight.ndim :] != weight.shape:
        raise ValueError(f"a step {(*step.shape,)} is no step of {(*weight.shape,)}")
    after = weight + step
    return share((step != 0) & (after == weight), of=after)


def update_norm(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """Return the L2 norm of ``after`` - ``before``, over all parameters of ``before``.

    Both are by name. The difference is taken in float64. Raises KeyError for a
    parameter that ``after`` does not have.
    """
    for name, weight in before.items():
        _refuse_other_shapes(weight, after[name])
    return total_norm(after[name].double() - w.double() for name, w in before.items())


def _inner_product(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """Return the inner product of two lists of tensors, each taken as one vector.

    Raises TypeError for empty lists, and ValueError for lists of different lengths.
    """
    pairs = zip(left, right, strict=True)
    products = (a.double().flatten() @ b.double().flatten() for a, b in pairs)
    return reduce(torch.add, products)


def radial_energy(h: Tensor, g: Tensor) -> dict[str, Tensor]:
    """Return d (h . g)^2 / (|h|^2 |g|^2) for activations h and gradients g (rows, d).

    [Tiwari et al. 2026, eq. 4] The energy of a row is between 0 and d, and 1 on average
    for a g that is independent of h. The equation leaves open how rows are combined, so
    there are three values: "mean" is the mean over the rows in which neither h nor g is
    zero, and 0 if there are none; "summed" is d sum |g_rad|^2 / sum |g|^2 with g_rad =
    (h . g) h / |h|^2, the part of g along h, and 0 if g is zero in all rows; "masked"
    is the mean over all rows, with 0 where |g|^2 <= 1e-12, as in later code of the same
    group. Without rows all are NaN, and so they are if a row has a NaN or an infinity.
    Raises ValueError for tensors that are not (rows, d).
    """
    _refuse_other_shapes(h, g)
    row_count, d = h.shape
    if not row_count:
        return dict.fromkeys(("mean", "summed", "masked"), h.sum().double() * math.nan)
    # (rows,), as all that follow; row by row, so that no small row counts as a zero one
    shares = torch.func.vmap(cosine)(h, g).square()  # of each |g|^2 along h
    is_nonzero = (h != 0).any(dim=-1) & (g != 0).any(dim=-1)
    # by the squares themselves, before g is scaled
    is_masked = g.double().square().sum(dim=-1) <= MASK
    (g,) = near_one([g])
    squares = g.square().sum(dim=-1)
    return {
        "mean": d * ratio(shares.sum(), is_nonzero.sum().double()),
        "summed": d * ratio((shares * squares).sum(), squares.sum()),
        # a product, in which a NaN stays one
        "masked": d * (shares * ~is_masked).mean(),
    }


def shared_direction(h: Tensor) -> Tensor:
    """Return |mean of the rows|^2 over the mean of |row|^2, for rows h (rows, width).

    It is 1 if all rows are equal, about 1 over their number if they are independent of
    mean 0, and 0 if all are zero. It is NaN if an entry is not finite, or without rows.
    """
    (h,) = near_one([h])  # the ratio does not change with the scale
    return ratio(h.mean(dim=0).square().sum(), h.square().sum(dim=-1).mean())
