"""What Liu et al. 2026 (arXiv:2605.06152) prove, in numbers that need no training.

eps is the residual mass, K the number of classes, W_G and mu_G are the mean row of the
head and the mean of its inputs.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from grokbook import metrics
from grokbook.losses import softmax_cross_entropy

Betas = tuple[float, float]
Loss = Callable[..., Tensor]


class State(NamedTuple):
    """Last layer (classes, width), its inputs (rows, width), their labels (rows,)."""

    head: Tensor
    features: Tensor
    labels: Tensor


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


def collapse_state(margin: float) -> State:
    """A neural collapse with non-negative features and one margin, in float32.

    Twenty samples of each of ten classes k at 10 e_k in 64 dimensions, and W_k =
    (margin / 10) (e_k - mean e) with W_G = 0.
    """
    labels, axes = torch.arange(10).repeat_interleave(20), torch.eye(64)
    head = (margin / 10) * (axes[:10] - axes[:10].mean(dim=0))
    return State(head, 10 * axes[labels], labels)


def with_mean(state: State, length: float = 0.3) -> State:
    """The same with a W_G of this length against mu_G."""
    mean = state.features.mean(dim=0)
    return state._replace(head=state.head - length * mean / mean.norm())


def drift(
    state: State, dtype: torch.dtype, *, loss: Loss = softmax_cross_entropy
) -> tuple[float, float]:
    """A step of W_G by gradient descent on a loss in ``dtype``, against Theorem 4.

    Its part along mu_G in units of -(eta eps / K) mu_G and its cosine with mu_G: 1 and
    -1 once the softmax has collapsed, no step at all in exact arithmetic.
    """
    slopes, residual = _slopes(state, dtype, loss)
    gradient = slopes.T @ state.features.double() / len(slopes)  # the loss is a mean
    step, mean = metrics.global_means(-gradient, state.features)
    ratio = -(step @ mean) / (mean @ mean) * len(gradient) / residual
    return float(ratio), float(metrics.cosine(step, mean))


def feature_drift(state: State, dtype: torch.dtype) -> float:
    """Mean of <grad_h L, W_G> / (eps |W_G|^2), L of one sample: 1 in Proposition 6."""
    slopes, residual = _slopes(state, dtype)
    centre, gradient = metrics.global_means(state.head, slopes @ state.head.double())
    return float(gradient @ centre / (centre @ centre) / residual)


def _slopes(
    state: State, dtype: torch.dtype, loss: Loss = softmax_cross_entropy
) -> tuple[Tensor, Tensor]:
    """Gradient of every sample's own loss at its logits, and the residual mass."""
    logits = state.features @ state.head.T
    slopes = torch.func.grad(partial(loss, dtype=dtype, reduction="sum"))
    residual = metrics.residual_mass(logits, state.labels)
    return slopes(logits, state.labels).double(), residual


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
