"""What logits z and features h say: accuracy, margins, collapse, feature inflation.

Logits are (*rows, classes), labels (*rows), features (rows, width). Source: Prieto et
al. 2025, section 3, and its official code; Liu et al. 2026 (arXiv:2605.06152), sections
2.1 and 2.2 and appendix D.
"""

import torch
from torch import Tensor

from grokbook.losses import gaps, pick
from grokbook.metrics.vectors import ratio, share


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of rows whose largest logit is the label's."""
    return share(logits.argmax(dim=-1) == labels)


def top_accuracy(logits: Tensor, labels: Tensor, *, k: int) -> Tensor:
    """Share of rows whose label is among the k largest logits."""
    best = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return share((best == labels.unsqueeze(-1)).any(dim=-1))


def collapse_fraction(logits: Tensor, *, dtype: torch.dtype) -> Tensor:
    """Share of rows whose max-shifted sum of exponentials is exactly 1 in ``dtype``.

    As the official code measures it, whichever class is the largest. It sums in another
    order than the log-softmax, so it need not agree with "the loss is exactly 0".
    """
    logits = logits.to(dtype)
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return share(shifted.exp().sum(dim=-1) == 1)


def top_gap(logits: Tensor) -> Tensor:
    """Mean over rows of the largest minus the second-largest logit."""
    top = logits.double().topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).mean()


def global_means(head: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """W_G and mu_G (width,), the means of rows, in float64 (before eq. 3)."""
    return head.double().mean(dim=0), features.double().mean(dim=0)


def residual_mass(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over rows of the probability of all wrong classes (Theorem 4).

    Never as 1 - p_r, whose smallest value above 0 is 1e-16: with s the log of the sum
    of exp(z_k - z_r) over the wrong classes it is 1 / (1 + exp(-s)), down to 1e-308.
    """
    return gaps(logits.double(), labels).logsumexp(dim=-1).sigmoid().mean()


def margins(logits: Tensor, labels: Tensor) -> Tensor:
    """Correct logit minus the largest wrong one of each row, (*rows) in float64."""
    return -gaps(logits.double(), labels).amax(dim=-1)


def collapsed(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of rows whose loss in float32 is exactly 0, as is its slope at the label.

    Asked of torch's own log-softmax, the order of whose sum depends on the device and
    the label. Unlike ``collapse_fraction`` it leaves out rows led by a wrong class.
    """
    return share(pick(logits.float().log_softmax(dim=-1), labels) == 0)


def class_sum(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean over rows of the sum of the logits' gradient, which is 0 without rounding.

    In float32 and of autograd itself, whose exponential is not rounded as ``exp`` is.
    A collapsed row has its residual mass here; just before, either sign may come up.
    """

    def loss(logits: Tensor) -> Tensor:
        return -pick(logits.log_softmax(dim=-1), labels).sum()

    # cast before the gradient, which is then not cast back
    return torch.func.grad(loss)(logits.float()).double().sum(dim=-1).mean()


def feature_alignment(features: Tensor) -> Tensor:
    """Mean cosine of the features with their mean; a zero row counts 0 (eq. 54)."""
    features = features.double()
    lengths = torch.linalg.vector_norm(features, dim=-1, keepdim=True)
    mean = features.mean(dim=0)
    directions = ratio(features, lengths).mean(dim=0)
    return ratio(directions @ mean, torch.linalg.vector_norm(mean))
