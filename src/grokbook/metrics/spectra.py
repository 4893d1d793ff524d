"""Spectra and how they are filled: of Fourier modes, and of features F (n, d).

    fourier_spectrum        norm of each Fourier component of a weight
    gram_eigenvalues        s_i, the eigenvalues of the uncentred Z = F^T F
    top_share,              two ways to say how few components hold
    participation_ratio     most of a spectrum
    effective_rank          exp(-sum_i q_i ln q_i) with q_i = s_i / sum s
    stable_rank             sum_i s_i / s_1, of eigenvalues s_i of Z
    power_law_exponent      alpha of a density x^-alpha for x >= x_min, fitted to s_i

Source: Prieto et al. 2025, figure 12; Singh, Misra and Orvieto 2026, section 6 and
appendix D, with the measurements of its official code where the text leaves a choice;
Tiwari et al. 2026, eq. 11.
The fit of alpha follows Clauset, Shalizi and Newman 2009, as the package ``powerlaw``
1.5 carries it out; both agree to 1e-6 on 30 spectra of six kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grokbook.metrics.shares import ratio

if TYPE_CHECKING:
    from jaxtyping import Float

    from grokbook.shapes import Anything, Scalar, Vector


def fourier_spectrum(weight: Anything, *, dim: int = 0) -> Vector:
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


def top_share(values: Vector, *, k: int) -> Scalar:
    """Share of the squared norm in the k largest of n values; 0 if all are zero."""
    if not 1 <= k <= values.shape[-1]:
        raise ValueError(f"k is {k}, but it must lie in 1..{values.shape[-1]}.")
    squares = values.double().square()
    return ratio(squares.topk(k, dim=-1).values.sum(), squares.sum())


def participation_ratio(values: Vector) -> Scalar:
    """Effective number of components, (sum x^2)^2 / sum x^4; from 1 to n, 0 if zero."""
    squares = values.double().square()
    return ratio(squares.sum().square(), squares.square().sum())


def gram_eigenvalues(
    features: Float[Tensor, "n d"], *, exact: bool = True
) -> Float[Tensor, " d"]:
    """Eigenvalues of Z = F^T F for features F; (d,) float64, descending, >= 0.

    F is neither centred nor divided by n. ``exact`` works in float64. Otherwise the
    published recipe sqrt|eig(Z Z^T)| in float32: squaring Z leaves rounding noise
    wherever an eigenvalue is below about 3e-4 of the largest. All NaN when a feature
    is not finite or Z overflows.
    """
    if not exact:
        gram = features.float().T @ features.float()
        squares = _eigenvalues(gram @ gram.T)
        return squares.abs().sqrt().sort(descending=True).values.double()
    n, d = features.shape
    rows = features.double()
    # the smaller of F F^T and F^T F: they share all eigenvalues but d - n zeros
    values = _eigenvalues(rows @ rows.T if n < d else rows.T @ rows)
    return torch.cat([values.clamp(min=0).flip(0), values.new_zeros(max(d - n, 0))])


def _eigenvalues(matrix: Tensor) -> Tensor:
    """Ascending eigenvalues of a symmetric matrix; NaN where LAPACK would give up."""
    finite = matrix.isfinite().all()
    values = torch.linalg.eigvalsh(torch.where(finite, matrix, 0.0))
    return torch.where(finite, values, torch.nan)


def effective_rank(values: Vector) -> Scalar:
    """Exponential of the entropy of n normalised sizes; 1 to n, 0 if all are zero."""
    sizes = values.double().abs()
    total = sizes.sum()
    shares = sizes / torch.where(total == 0, 1.0, total)
    return torch.where(total == 0, 0.0, torch.special.entr(shares).sum().exp())


def stable_rank(values: Vector) -> Scalar:
    """Sum of n eigenvalues of F^T F over the largest, |F|_F^2 / |F|_2^2; 0 of zeros."""
    sizes = values.double().abs()
    largest = sizes.max()
    return sizes.sum() / torch.where(largest == 0, 1.0, largest)


def power_law_exponent(values: Vector) -> Scalar:
    """Exponent alpha > 1 of a power-law density, fitted to the tail of n values.

    Every distinct positive value but the largest is tried as x_min, with the
    maximum-likelihood alpha = 1 + m / sum ln(x / x_min) of the m values x >= x_min.
    The one kept has the smallest D = max |1 - (x / x_min)^(1 - alpha) - S(x)|, where
    S(x) is the share of the tail strictly below x. The choice of x_min makes alpha
    jump, and a low alpha is a heavy tail.

    NaN for fewer than two distinct positive values or one that is not finite. How many
    values are tried depends on the data, so this does not work under vmap.
    """
    values = values.double()
    if not values.isfinite().all():
        return values.new_tensor(torch.nan)
    x, counts = values[values > 0].unique(return_counts=True)  # ascending
    if len(x) < 2:
        return values.new_tensor(torch.nan)
    # (x_min, x): the upper triangle holds the tail, below it every log is 0
    logs = (x / x[:-1, None]).clamp(1, torch.finfo(x.dtype).max).log()
    counts = counts.double()
    below = counts.cumsum(0) - counts
    size = (counts.sum() - below)[:-1, None]
    alpha = 1 + size / (logs @ counts[:, None])
    share = (below - below[:-1, None]).clamp(min=0) / size
    fitted = -torch.expm1((1 - alpha) * logs)
    distance = (fitted - share).abs().amax(dim=1).nan_to_num(torch.inf)
    return alpha[distance.argmin(), 0]
