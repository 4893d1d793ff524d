"""Spectra of weights and of features F (n, d), and how evenly they are filled.

Source: Prieto et al. (2025), figure 12; Singh, Misra and Orvieto (2026), section 6 and
appendix D, with the measurements of its official code where the text leaves a choice;
Tiwari et al. (2026), eq. 11.
"""

import torch
from torch import Tensor

from grokbook.metrics.vectors import near_one, ratio


def fourier_spectrum(weight: Tensor) -> Tensor:
    """Return the L2 norms of a weight's Fourier components along its first dimension.

    The weight is (n, ...), and the norms are (n,) float64 in the order constant, cos 1,
    sin 1, cos 2, ...; for even n the last is cos n/2. Their sum of squares is that of
    the weight. If an entry is not finite, some norms are not. This is the spectrum of
    figure 12 of Prieto et al. (2025).
    """
    n = len(weight)
    # (n // 2 + 1, entries)
    modes = torch.fft.rfft(weight.double().reshape(n, -1), dim=0, norm="ortho")
    # all modes but the constant and n/2 stand for their mirror images as well
    is_single = 2 * torch.arange(len(modes), device=weight.device) % n == 0
    # (modes, 2), of cos and sin
    norms = torch.linalg.vector_norm(torch.view_as_real(modes), dim=1)
    norms = norms * torch.where(is_single, 1.0, 2.0).double().sqrt()[:, None]
    components = norms.flatten()  # cos 0, sin 0, cos 1, sin 1, ...
    # sin 0 is 0 everywhere, as is sin n/2 for even n
    return torch.cat([components[:1], components[2:]])[:n]


def top_share(values: Tensor, *, k: int) -> Tensor:
    """Return the share of the k largest squares of n values (n,) in the sum of squares.

    It is 0 if all values are zero, and NaN if one is not finite. Raises RuntimeError
    for k > n.
    """
    (scaled,) = near_one([values])
    squares = scaled.square()
    return ratio(squares.topk(k, dim=-1).values.sum(), squares.sum())


def participation_ratio(values: Tensor) -> Tensor:
    """Return the effective number of components, (sum x^2)^2 / sum x^4, of values (n,).

    It is between 1 and n; 0 if all values are zero, or without any; NaN if one is not
    finite.
    """
    (scaled,) = near_one([values])  # the ratio does not change with the scale
    squares = scaled.square()
    return ratio(squares.sum().square(), squares.square().sum())


def gram_eigenvalues(features: Tensor, *, exact: bool = True) -> Tensor:
    """Return the eigenvalues of Z = F^T F for features F (n, d).

    They are (d,) float64, descending and not negative. F is not centred.
    ``exact=False`` is the published recipe sqrt|eig(Z Z^T)| in float32; squaring Z
    leaves rounding noise wherever an eigenvalue is below about 3e-4 of the largest. If
    a feature is not finite, or Z overflows, all are NaN but the d - n that are 0 for
    fewer rows than features (with ``exact=False`` those too).
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
    """Return the eigenvalues (n,) of a symmetric matrix (n, n), in ascending order.

    All are NaN if the matrix is not finite, for which LAPACK would raise an error.
    """
    is_finite = matrix.isfinite().all()
    values = torch.linalg.eigvalsh(torch.where(is_finite, matrix, 0.0))
    return torch.where(is_finite, values, torch.nan)


def effective_rank(values: Tensor) -> Tensor:
    """Return exp(-sum_i q_i ln q_i) with q_i = |s_i| / sum |s|, for values s (n,).

    It is between 1 and n; 0 if all values are zero, or without any; NaN if one is not
    finite.
    """
    sizes = values.double().abs()
    total = sizes.sum()
    entropy = torch.special.entr(ratio(sizes, total)).sum()
    return torch.where(total == 0, 0.0, entropy.exp())


def stable_rank(values: Tensor) -> Tensor:
    """Return the sum of the eigenvalues (n,) of F^T F over the largest of them.

    This is |F|_F^2 / |F|_2^2. It is 0 if all eigenvalues are zero, and NaN if one is
    not finite. Raises RuntimeError for n = 0.
    """
    sizes = values.double().abs()
    return ratio(sizes.sum(), sizes.max())


def power_law_exponent(values: Tensor) -> Tensor:
    """Return alpha > 1 of a density x^-alpha, x >= x_min, fitted to values (n,).

    Every distinct positive value but the largest is tried as x_min, with the
    maximum-likelihood alpha = 1 + m / sum ln(x / x_min) of the m values x >= x_min. Of
    these the alpha is kept that has the smallest Kolmogorov-Smirnov distance D = max |1
    - (x / x_min)^(1 - alpha) - S(x)|, where S(x) is the share of the tail strictly
    below x [Clauset, Shalizi and Newman 2009]. A change of x_min makes alpha jump. A
    low alpha means a heavy tail.

    Values that are not positive are left out. The result is NaN for fewer than two
    distinct positive ones, or if a value is not finite. It does not work under vmap,
    since the number of values tried depends on the data.
    """
    values = values.double()
    x, counts = values[values > 0].unique(return_counts=True)  # ascending
    if len(x) < 2 or not values.isfinite().all():
        return values.new_tensor(torch.nan)
    # ln(x / x_min), (x_min, x): the upper triangle holds the tail, below it all are 0;
    # a quotient that overflows counts as the largest number
    logs = (x / x[:-1, None]).clamp(1, torch.finfo(x.dtype).max).log()
    counts = counts.double()
    below = counts.cumsum(0) - counts  # (x,), how many values are smaller
    tail_size = (counts.sum() - below)[:-1, None]  # m, (x_min, 1), and so is alpha
    alpha = 1 + tail_size / (logs @ counts[:, None])
    # S, and what it is under the fitted density, (x_min, x); before the tail both are 0
    share_below = (below - below[:-1, None]).clamp(min=0) / tail_size
    fitted = -torch.expm1((1 - alpha) * logs)
    distance = (fitted - share_below).abs().amax(dim=1)
    return alpha[distance.argmin(), 0]
