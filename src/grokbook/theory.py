"""Quantities of the theory of Liu et al. (2026), without any training.

Equations and definitions are those of the paper (arXiv:2605.06152). epsilon is the
residual mass, the probability of all wrong classes, and K the number of classes. W is
the mean of the head's rows over the classes, and mu that of its input over the samples.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from grokbook.losses import softmax_cross_entropy

Betas = tuple[float, float]  # of Adam


def absorption_margin(
    dtype: torch.dtype, classes: int, *, competitors: int | None = None
) -> float:
    """Return the smallest margin of the correct class at which its loss is 0.

    That is where 1 + the sum of exp(-margin) over competitors comes out as 1 in
    ``dtype`` (eq. 1 and 2, Definition 1), in torch's order of summation, which absorbs
    some of the terms one by one. Margins are multiples of 1/128 below 64, rounded to
    ``dtype``. Of the ``classes`` the first is the correct one; ``competitors`` of the
    wrong ones, by default all, have the logit 0, and the others -1,000. Without
    competitors the result is 0.
    """
    margins = torch.arange(0, 64, 2**-7, dtype=torch.float64).to(dtype)
    # a row for each margin
    logits = torch.full((len(margins), classes), -1000.0, dtype=dtype)
    logits[:, 1:][:, :competitors] = 0  # a slice to None ends at the last class
    logits[:, 0] = margins
    labels = torch.zeros(len(margins), dtype=torch.int64)
    losses = softmax_cross_entropy(logits, labels, dtype=dtype, reduction="none")
    return float(margins[losses == 0][0])  # margins ascend


class Growth(NamedTuple):
    """Eigenvalues of a step of W and mu, and W / mu in the eigenvector of the largest.

    The step is that of `coupled_growth`.
    """

    largest: float
    smallest: float
    ratio: float


def coupled_growth(eta: float, epsilon: float, classes: int) -> Growth:
    """Return the growth of W and mu under W <- W - alpha mu, mu <- mu - beta W.

    The right sides are those before the step, and the ratio is -sqrt(alpha / beta).
    alpha = eta epsilon / K and beta = eta epsilon, where eta is the learning rate. The
    eigenvalues are 1 + sqrt(alpha beta) and 1 - sqrt(alpha beta) (eq. 40 to 43). Raises
    ZeroDivisionError for a rate or a residual mass of 0.
    """
    alpha, beta = eta * epsilon / classes, eta * epsilon
    rate = math.sqrt(alpha * beta)
    return Growth(1 + rate, 1 - rate, ratio=-math.sqrt(alpha / beta))


def adam_update(
    gradients: Iterable[tuple[float, int]], lr: float, betas: Betas, eps: float
) -> float:
    """Return the absolute size of Adam's last step on one weight.

    ``gradients`` are pairs of a gradient and the number of successive steps that have
    it; ``eps`` is Adam's constant, not the residual mass. The moments begin at 0. NaN
    or an infinite gradient makes it NaN. Raises ZeroDivisionError without steps, and
    for gradients whose squares are all 0 with an eps of 0, and OverflowError for a
    gradient beyond 1e154.
    """
    beta1, beta2 = betas
    m, v, total_steps = 0.0, 0.0, 0
    for gradient, steps in gradients:
        # n equal steps at once: m <- b^n m + (1 - b^n) g
        m += (1 - beta1**steps) * (gradient - m)
        v += (1 - beta2**steps) * (gradient**2 - v)
        total_steps += steps
    m_hat, v_hat = m / (1 - beta1**total_steps), v / (1 - beta2**total_steps)
    return lr * abs(m_hat) / (math.sqrt(v_hat) + eps)


def jump(lr: float, betas: Betas) -> float:
    """Return the size of Adam's first step when a gradient returns after a long time.

    Before, it was 0 for so long that both moments are 0 and need no correction. The
    step is lr (1 - beta1) / sqrt(1 - beta2) for any gradient far above Adam's eps.
    """
    beta1, beta2 = betas
    return lr * (1 - beta1) / math.sqrt(1 - beta2)


def logit_hessian(p: Tensor) -> Tensor:
    """Return the Hessian of cross-entropy in its logits, diag(p) - p p^T (eq. 56).

    p (classes,) are the probabilities, of sum 1; the result is (classes, classes).
    """
    # the diagonal is p_k times the sum of the other p, as 1 - p_k would round
    products = torch.outer(p, p).fill_diagonal_(0)
    return products.sum(dim=-1).diag() - products
