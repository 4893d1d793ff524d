"""Spectra and how they are filled: of Fourier modes, and of features F (n, d).

Source: Prieto et al. 2025, figure 12; Singh, Misra and Orvieto 2026, section 6 and
appendix D, with the measurements of its official code where the text leaves a choice;
Tiwari et al. 2026, eq. 11.
"""

import torch
from torch import Tensor

from grokbook.metrics.vectors import ratio


def fourier_spectrum(weight: Tensor) -> Tensor:
    """L2 norms of the Fourier components along the first dimension, figure 12.

    In the order constant, cos 1, sin 1, cos 2, ... (for even n the last is cos n/2):
    (n,) float64, whose sum of squares is that of the weight.
    """
    n = len(weight)
    modes = torch.fft.rfft(weight.double().reshape(n, -1), dim=0, norm="ortho")
    # all modes but the constant and n/2 stand for their mirror images as well
    single = 2 * torch.arange(len(modes), device=weight.device) % n == 0
    waves = torch.linalg.vector_norm(torch.view_as_real(modes), dim=1)  # cos, sin
    waves = waves * torch.where(single, 1.0, 2.0).double().sqrt()[:, None]
    every = waves.flatten()  # sin 0 is nothing, nor is sin n/2
    return torch.cat([every[:1], every[2:]])[:n]


def top_share(values: Tensor, *, k: int) -> Tensor:
    """Share of the squared norm in the k largest of n values; 0 if all are zero."""
    squares = values.double().square()
    return ratio(squares.topk(k, dim=-1).values.sum(), squares.sum())


def participation_ratio(values: Tensor) -> Tensor:
    """Effective number of components, (sum x^2)^2 / sum x^4; from 1 to n, 0 if zero."""
    squares = values.double().square()
    return ratio(squares.sum().square(), squares.square().sum())


def gram_eigenvalues(features: Tensor, *, exact: bool = True) -> Tensor:
    """Eigenvalues of Z = F^T F for features F; (d,) float64, descending, >= 0.

    F is not centred. Not ``exact`` is the published recipe sqrt|eig(Z Z^T)| in float32:
    squaring Z leaves rounding noise wherever an eigenvalue is below about 3e-4 of the
    largest. All NaN when a feature is not finite or Z overflows.
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


def _eigenvalues(matrix: Tensor) -> Tensor:  # NaN where LAPACK would give up
    finite = matrix.isfinite().all()
    values = torch.linalg.eigvalsh(torch.where(finite, matrix, 0.0))
    return torch.where(finite, values, torch.nan)


def effective_rank(values: Tensor) -> Tensor:
    """exp(-sum_i q_i ln q_i), q_i = s_i / sum s, of n sizes; 1 to n, 0 if all are 0."""
    sizes = values.double().abs()
    total = sizes.sum()
    shares = sizes / torch.where(total == 0, 1.0, total)
    return torch.where(total == 0, 0.0, torch.special.entr(shares).sum().exp())


def stable_rank(values: Tensor) -> Tensor:
    """Sum of n eigenvalues of F^T F over the largest, |F|_F^2 / |F|_2^2; 0 of zeros."""
    sizes = values.double().abs()
    return ratio(sizes.sum(), sizes.max())


def power_law_exponent(values: Tensor) -> Tensor:
    """Exponent alpha > 1 of a density x^-alpha for x >= x_min, fitted to n values.

    Every distinct positive value but the largest is tried as x_min, with the
    maximum-likelihood alpha = 1 + m / sum ln(x / x_min) of the m values x >= x_min.
    The one kept has the smallest D = max |1 - (x / x_min)^(1 - alpha) - S(x)|, where
    S(x) is the share of the tail strictly below x [Clauset, Shalizi and Newman 2009].
    The choice of x_min makes alpha jump, and a low alpha is a heavy tail.

    NaN for fewer than two distinct positive values or one that is not finite. Not under
    vmap, since how many values are tried depends on the data.
    """
    values = values.double()
    x, counts = values[values > 0].unique(return_counts=True)  # ascending
    if len(x) < 2 or not values.isfinite().all():
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
