"""What Liu et al. 2026 (arXiv:2605.06152) prove, in numbers that need no training.

eps is the residual mass, K the number of classes, W and mu the means of head and input.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from grokbook.losses import softmax_cross_entropy

Betas = tuple[float, float]


def absorption_margin(
    dtype: torch.dtype, classes: int, *, competitors: int | None = None
) -> float:
    """Smallest margin of class 0 at which float32 or another dtype has a loss of 0.

    That is where 1 + exp(-margin) rounds to 1 (eq. 1 and 2, Definition 1).
    ``competitors`` wrong classes (all) have the logit 0, the others -1,000.
    """
    margins = torch.arange(0, 64, 2**-7, dtype=torch.float64).to(dtype)
    logits = torch.full((len(margins), classes), -1000.0, dtype=dtype)
    logits[:, 1:][:, :competitors] = 0
    logits[:, 0] = margins
    labels = torch.zeros(len(margins), dtype=torch.int64)
    losses = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return float(margins[losses == 0][0])


def coupled_growth(eta: float, epsilon: float, classes: int) -> tuple[float, ...]:
    """W <- W - alpha mu, mu <- mu - beta W with alpha = eta eps / K, beta = eta eps.

    Eigenvalues 1 + sqrt(alpha beta), 1 - that, W / mu of the first (eq. 40 to 43).
    """
    alpha, beta = eta * epsilon / classes, eta * epsilon
    rate = math.sqrt(alpha * beta)
    return 1 + rate, 1 - rate, -math.sqrt(alpha / beta)


def adam_update(
    gradients: Iterable[tuple[float, int]], lr: float, betas: Betas, eps: float
) -> float:
    """Size of Adam's last step on one weight, given each gradient and its steps."""
    m, v, total = 0.0, 0.0, 0
    for gradient, steps in gradients:  # n equal ones: m <- b^n m + (1 - b^n) g
        m += (1 - betas[0] ** steps) * (gradient - m)
        v += (1 - betas[1] ** steps) * (gradient**2 - v)
        total += steps
    m, v = m / (1 - betas[0] ** total), v / (1 - betas[1] ** total)
    return lr * abs(m) / (math.sqrt(v) + eps)


def jump(lr: float, betas: Betas) -> float:
    """lr (1 - beta1) / sqrt(1 - beta2): Adam's step when a gradient comes back."""
    return lr * (1 - betas[0]) / math.sqrt(1 - betas[1])


def logit_hessian(p: Tensor) -> Tensor:
    """diag(p) - p p^T (classes, classes), of cross-entropy in its logits (eq. 56)."""
    products = torch.outer(p, p).fill_diagonal_(0)  # and never 1 - p_k, which rounds
    return products.sum(dim=-1).diag() - products
