"""Measurements of learned structure: Fourier modes, attention, spectra of features.

    fourier_concentration    Var_k mu_k / (mean_kj (A_kj - mu_k)^2 + 1e-8), where
                             A_kj = |sum_v W_E[v, j] exp(-2 pi i k v / p)|, k = 0..p//2,
                             and mu_k is the mean of A_kj over the columns j
    attention_entropy        mean over samples and queries of -sum_j a_j ln a_j
    gram_eigenvalues         s_i, the eigenvalues of the uncentred Z = F^T F
    effective_rank           exp(-sum_i q_i ln q_i) with q_i = s_i / sum s
    power_law_exponent       alpha of a density x^-alpha for x >= x_min, fitted to s_i
    update_norm              L2 norm of one optimiser step over all parameters

Pure functions of tensors that return 0-dim float64 tensors and work under
``torch.func.vmap`` unless said otherwise; the sums are taken in float64.
Source: Singh, Misra and Orvieto 2026, sections 3 to 6 and appendix D; where the text
leaves a choice open, the measurements of its official code. The fit of alpha follows
Clauset, Shalizi and Newman 2009 as the package ``powerlaw`` 1.5 carries it out.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from grokbook.metrics import total_norm


def fourier_concentration(
    embedding: Tensor, *, p: int, skip_constant: bool = False
) -> Tensor:
    """How unevenly the Fourier modes of the p number tokens are filled (appendix D.1).

    Embedding (tokens, d), of which rows 0..p-1 count. Variances are population ones,
    amplitudes are not squared, and the constant mode k = 0 takes part unless
    ``skip_constant`` (ours, not the paper's). Not bounded above; 0.0084 with a
    deviation of 0.0017 for independent N(0, 1/d) entries, p = 113 and d = 128.
    """
    if embedding.ndim != 2 or not 2 <= p <= embedding.shape[0]:
        shape = tuple(embedding.shape)
        raise ValueError(f"An embedding of shape {shape} has no p = {p} >= 2 rows.")
    amplitude = torch.fft.rfft(embedding[:p].double(), dim=0).abs()
    amplitude = amplitude[int(skip_constant) :]  # (modes, d)
    mean = amplitude.mean(dim=1, keepdim=True)
    within = (amplitude - mean).square().mean()
    return mean.var(correction=0) / (within + 1e-8)


def attention_entropy(weights: Tensor, *, head_average: bool = True) -> Tensor:
    """Entropy of attention in nats, from 0 (one key) to ln keys (all alike).

    Weights (batch, heads, queries, keys), each row summing to 1. The published measure
    averages the weights over heads first, which can only raise the entropy; with
    ``head_average=False`` every head has its own entropy. A weight of 0 adds 0.
    """
    if weights.ndim != 4:
        shape = tuple(weights.shape)
        raise ValueError(f"Weights are (batch, heads, queries, keys), not {shape}.")
    weights = weights.double()
    if head_average:
        weights = weights.mean(dim=1)
    return torch.special.entr(weights).sum(dim=-1).mean()


def gram_eigenvalues(features: Tensor, *, exact: bool = True) -> Tensor:
    """Eigenvalues of Z = F^T F for features (n, d); (d,) float64, descending, >= 0.

    F is neither centred nor divided by n. ``exact`` works in float64. Otherwise the
    published recipe sqrt|eig(Z Z^T)| in float32: squaring Z leaves rounding noise
    wherever an eigenvalue is below about 3e-4 of the largest. All NaN when a feature
    is not finite or Z overflows.
    """
    if features.ndim != 2:
        shape = tuple(features.shape)
        raise ValueError(f"Features are (samples, width), not {shape}.")
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


def effective_rank(values: Tensor) -> Tensor:
    """Exponential of the entropy of (n,) normalised sizes; 1 to n, 0 if all are zero.

    A value of 0 adds 0 to the entropy.
    """
    _check_spectrum(values)
    sizes = values.double().abs()
    total = sizes.sum()
    shares = sizes / torch.where(total == 0, 1.0, total)
    return torch.where(total == 0, 0.0, torch.special.entr(shares).sum().exp())


def power_law_exponent(values: Tensor) -> Tensor:
    """Exponent alpha > 1 of a power-law density, fitted to the tail of (n,) values.

    Every distinct positive value but the largest is tried as x_min, with the
    maximum-likelihood alpha = 1 + m / sum ln(x / x_min) of the m values x >= x_min.
    The one kept has the smallest D = max |1 - (x / x_min)^(1 - alpha) - S(x)|, where
    S(x) is the share of the tail strictly below x. The choice of x_min makes alpha
    jump, and a low alpha is a heavy tail.

    NaN for fewer than two distinct positive values or one that is not finite. How many
    values are tried depends on the data, so this does not work under vmap.
    """
    _check_spectrum(values)
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


def _check_spectrum(values: Tensor) -> None:
    if values.ndim != 1 or not len(values):
        shape = tuple(values.shape)
        raise ValueError(f"A spectrum is one row of values, not of shape {shape}.")


def update_norm(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """L2 norm over all parameters of after - before, weight decay included."""
    shapes = [{name: w.shape for name, w in side.items()} for side in (before, after)]
    if shapes[0] != shapes[1]:
        raise ValueError("Both sides need the same names with the same shapes.")
    return total_norm(after[name].double() - w.double() for name, w in before.items())
