"""Quantities of the theory of Liu et al. (2026), without any training.

Equations and definitions are those of the paper (arXiv:2605.06152). eps is the residual
mass, the probability of all wrong classes, and K the number of classes. W is the mean
of the head's rows over the classes, and mu that of its input over the samples.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from grokbook.losses import softmax_cross_entropy

Betas = tuple[float, float]  # of Adam


def absorption_margin(
    dtype: torch.dtype, classes: int, *, competitors: int | None = None
) -> float:
    """Return the smallest margin of the correct class at which its loss is 0.

    That is where 1 + exp(-margin) rounds to 1 in ``dtype`` (eq. 1 and 2, Definition 1).
    Margins are multiples of 1/128 below 64. ``classes`` is their number;
    ``competitors`` of the wrong ones, by default all, have the logit 0, and the others
    -1,000.
    """
    margins = torch.arange(0, 64, 2**-7, dtype=torch.float64).to(dtype)
    logits = torch.full((len(margins), classes), -1000.0, dtype=dtype)
    logits[:, 1:][:, :competitors] = 0
    logits[:, 0] = margins
    labels = torch.zeros(len(margins), dtype=torch.int64)
    losses = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return float(margins[losses == 0][0])


def coupled_growth(eta: float, epsilon: float, classes: int) -> tuple[float, ...]:
    """Return the growth of W and mu under W <- W - alpha mu, mu <- mu - beta W.

    alpha = eta eps / K and beta = eta eps, where eta is the learning rate. The result
    has the two eigenvalues 1 + sqrt(alpha beta) and 1 - sqrt(alpha beta), and W / mu in
    the eigenvector of the first (eq. 40 to 43).
    """
    alpha, beta = eta * epsilon / classes, eta * epsilon
    rate = math.sqrt(alpha * beta)
    return 1 + rate, 1 - rate, -math.sqrt(alpha / beta)


def adam_update(
    gradients: Iterable[tuple[float, int]], lr: float, betas: Betas, eps: float
) -> float:
    """Return the absolute size of Adam's last step on one weight.

    ``gradients`` are pairs of a gradient and the number of successive steps that have
    it.
    """
    m, v, total = 0.0, 0.0, 0
    for gradient, steps in gradients:  # n equal ones: m <- b^n m + (1 - b^n) g
        m += (1 - betas[0] ** steps) * (gradient - m)
        v += (1 - betas[1] ** steps) * (gradient**2 - v)
        total += steps
    m, v = m / (1 - betas[0] ** total), v / (1 - betas[1] ** total)
    return lr * abs(m) / (math.sqrt(v) + eps)


def jump(lr: float, betas: Betas) -> float:
    """Return Adam's first step when a gradient returns after a long time at zero.

    It is lr (1 - beta1) / sqrt(1 - beta2).
    """
    return lr * (1 - betas[0]) / math.sqrt(1 - betas[1])


def logit_hessian(p: Tensor) -> Tensor:
    """Return the Hessian of cross-entropy in its logits, diag(p) - p p^T (eq. 56).

    p (classes,) are the probabilities; the result is (classes, classes).
    """
    # the diagonal is p_k times the other p, since 1 - p_k would round
    products = torch.outer(p, p).fill_diagonal_(0)
    return products.sum(dim=-1).diag() - products
