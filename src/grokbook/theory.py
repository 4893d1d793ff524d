"""What Liu et al. 2026 (arXiv:2605.06152) prove, in numbers that need no training.

    absorption   1 + exp(-m) rounds to 1                  [eq. 1 and 2, Definition 1]
    drift        W_G <- W_G - (eta eps / K) mu_G          [Theorem 4]
                 proj_{W_G} grad_h L = eps W_G            [Proposition 6]
    inflation    growth by 1 + eta eps / sqrt(K) a step   [Theorem 7]
    jump         Adam's step when a gradient comes back   [section 3.2]
    curvature    H_z = diag(p) - p p^T                    [Theorem 8, Definition 10]

eps is the residual mass, K the number of classes, W_G and mu_G the means of the head's
rows and of its inputs. A synthetic neural collapse stands in for a trained network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from grokbook import metrics
from grokbook.losses import softmax_cross_entropy

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class State(NamedTuple):
    """The last layer (classes, width), its inputs (rows, width) and labels (rows,)."""

    head: Float[Tensor, "classes width"]
    features: Float[Tensor, "rows width"]
    labels: Int[Tensor, " rows"]


class Drift(NamedTuple):
    """A step of W_G along mu_G in units of Theorem 4, and its cosine with mu_G."""

    ratio: float
    cosine: float


class Growth(NamedTuple):
    """Eigenvalues of Theorem 7's matrix and W_G / mu_G in the growing direction."""

    largest: float
    smallest: float
    ratio: float


def paper_margin(dtype: torch.dtype) -> float:
    """(p - 1) ln 2 for a significand of p bits, the paper's threshold of collapse."""
    return -math.log(torch.finfo(dtype).eps)


def absorption_margin(
    dtype: torch.dtype,
    classes: int,
    *,
    competitors: int | None = None,
    label: int = 0,
    offset: float = 0.0,
    loss: Callable[..., Tensor] = softmax_cross_entropy,
    step: float = 2**-7,
) -> float:
    """Smallest margin up to 64 with a loss of exactly 0, by a scan; inf if none has.

    ``competitors`` (all) wrong classes stay behind ``label`` by the margin, the others
    by 1,000 more; ``offset`` is added to every logit. Logits and ``loss(logits, labels,
    dtype=dtype, reduction="none")`` are in ``dtype``, which may be coarser than a step.
    """
    if classes < 2:
        raise ValueError(f"A margin needs at least 2 classes, not {classes}.")
    margins = torch.arange(0, 64, step, dtype=torch.float64).to(dtype)
    wrong = [k for k in range(classes) if k != label]
    logits = torch.full((len(margins), classes), -1000.0, dtype=dtype)
    logits[:, wrong[:competitors]] = 0
    logits[:, label] = margins
    labels = torch.full((len(margins),), label)
    losses = loss(logits + offset, labels, dtype=dtype, reduction="none")
    zeros = margins[losses == 0]
    return float(zeros[0]) if len(zeros) else math.inf


def collapse_state(
    margin: float,
    *,
    classes: int = 10,
    width: int = 64,
    rows: int = 20,
    radius: float = 10.0,
    mean: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> State:
    """A neural collapse of non-negative features: every sample has the same margin.

    ``rows`` samples of each class k at h = radius e_k, and rows of the head
    W_k = (margin / radius) (e_k - mean_j e_j), so that W_G = 0; ``mean`` is the length
    of a W_G opposite to mu_G. ValueError unless the classes fit into the width.
    """
    if width < classes:
        raise ValueError(f"{classes} orthogonal classes need a width of at least that.")
    axes = torch.eye(classes, width, dtype=torch.float64)
    centre = axes.mean(dim=0)
    head = (margin / radius) * (axes - centre) - mean * centre / centre.norm()
    labels = torch.arange(classes).repeat_interleave(rows)
    # rounded once, here: margins and residual mass are then those of these weights
    return State(head.to(dtype), (radius * axes)[labels].to(dtype), labels)


def drift(
    head: Float[Tensor, "classes width"],
    features: Float[Tensor, "rows width"],
    labels: Int[Tensor, " rows"],
    *,
    dtype: torch.dtype,
) -> Drift:
    """The step of W_G under gradient descent on a loss in ``dtype``, mean reduction.

    Theorem 4 says -(eps / K) mu_G for a learning rate of 1: a ratio of 1, a cosine of
    -1. Exact arithmetic says 0, of either.
    """
    loss, mass = _loss(labels, dtype), metrics.residual_mass(features @ head.T, labels)
    gradient = torch.func.grad(lambda w: loss(features @ w.T) / len(labels))(head)
    step, mean = metrics.global_means(-gradient, features)
    predicted = -mass / len(head) * mean
    ratio = step @ predicted / (predicted @ predicted)
    return Drift(float(ratio), float(metrics.cosine(step, mean)))


def feature_drift(
    head: Float[Tensor, "classes width"],
    features: Float[Tensor, "rows width"],
    labels: Int[Tensor, " rows"],
    *,
    dtype: torch.dtype,
) -> float:
    """Mean over samples of <grad_h L, W_G> / (eps |W_G|^2): 1 in Proposition 6, else 0.

    The gradient of each sample's own loss; mean reduction divides it by their number.
    """
    loss, mass = _loss(labels, dtype), metrics.residual_mass(features @ head.T, labels)
    gradient = torch.func.grad(lambda h: loss(h @ head.T))(features)
    mean, slope = metrics.global_means(head, gradient)
    return float(slope @ mean / (mean @ mean) / mass)


def _loss(labels: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    def loss(logits: Tensor) -> Tensor:
        return softmax_cross_entropy(logits, labels, dtype=dtype, reduction="sum")

    return loss


def common_share(update: Float[Tensor, "classes width"]) -> float:
    """sqrt(K) |mean_k u_k| / |u|: the share of an update that moves all rows alike."""
    common = metrics.total_norm([update.double().mean(dim=0)])
    return float(math.sqrt(len(update)) * common / metrics.total_norm([update]))


def etf_residual(classes: int, head_norm: float, feature_norm: float) -> float:
    """eps = (K - 1) exp(-K / (K - 1) |W_k| |mu*_k|) of a neural collapse (eq. 20)."""
    gap = classes / (classes - 1) * head_norm * feature_norm
    return (classes - 1) * math.exp(-gap)


def coupled_growth(
    eta: float, epsilon: float, classes: int, *, rows: int = 1
) -> Growth:
    """W <- W - alpha mu, mu <- mu - beta W with alpha = eta eps / K, beta = eta eps.

    Eigenvalues 1 +- sqrt(alpha beta), growth along W = -sqrt(alpha / beta) mu (eq. 40
    to 43). With mean reduction over ``rows`` samples beta is eta eps / rows.
    """
    alpha, beta = eta * epsilon / classes, eta * epsilon / rows
    rate = math.sqrt(alpha * beta)
    return Growth(1 + rate, 1 - rate, -math.sqrt(alpha / beta))


def adam_update(
    gradients: Sequence[tuple[float, int]],
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.95),
    eps: float = 1e-8,
) -> float:
    """Size of Adam's last step on one weight after (gradient, number of steps) pairs.

    A gradient g that stays for n steps takes m to beta1^n m + (1 - beta1^n) g, and v
    likewise to g^2.
    """
    m = v = 0.0
    for gradient, steps in gradients:
        m += (1 - betas[0] ** steps) * (gradient - m)
        v += (1 - betas[1] ** steps) * (gradient**2 - v)
    total = sum(steps for _, steps in gradients)
    m, v = m / (1 - betas[0] ** total), v / (1 - betas[1] ** total)
    return lr * abs(m) / (math.sqrt(v) + eps)


def jump(lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.95)) -> float:
    """lr (1 - beta1) / sqrt(1 - beta2): Adam's step when any gradient follows none."""
    return lr * (1 - betas[0]) / math.sqrt(1 - betas[1])


def one_hot_like(margin: float, classes: int) -> Float[Tensor, " classes"]:
    """Probabilities in float64 when class 0 leads all others by ``margin``."""
    logits = torch.zeros(classes, dtype=torch.float64)
    logits[0] = margin
    return logits.softmax(dim=-1)


def smoothed_target(
    alpha: float, classes: int, *, everywhere: bool = False
) -> Float[Tensor, " classes"]:
    """1 - alpha on class 0, alpha / (K - 1) on each other (eq. 66), in float64.

    With ``everywhere`` alpha is spread over all classes, as in PyTorch.
    """
    share = alpha / classes if everywhere else alpha / (classes - 1)
    target = torch.full((classes,), share, dtype=torch.float64)
    target[0] = 1 - share * (classes - 1)
    return target


def logit_hessian(
    probabilities: Float[Tensor, " classes"],
) -> Float[Tensor, "classes classes"]:
    """H_z = diag(p) - p p^T, the curvature of cross-entropy in its logits (eq. 56).

    Its diagonal as p_k times the sum of the others, since 1 - p_k loses a small one.
    """
    products = torch.outer(probabilities, probabilities).fill_diagonal_(0)
    return products.sum(dim=-1).diag() - products
