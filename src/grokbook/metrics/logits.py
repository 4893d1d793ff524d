"""Measurements of logits z and features h: accuracy, margins, collapse, inflation.

Logits are (*rows, classes), labels (*rows), features (rows, width), where rows are
samples, or samples and positions. Labels that do not fit logits raise ValueError.

Source: Prieto et al. (2025), section 3, and its official code; Liu et al. (2026;
arXiv:2605.06152), sections 2.1 and 2.2 and appendix D.
"""

import torch
from torch import Tensor

from grokbook.losses import gaps, label_column, pick
from grokbook.metrics.vectors import near_one, ratio, share


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the share of rows whose largest logit is that of the label.

    Of equal logits the first is the largest. A label that is not a class, such as -100,
    counts as wrong. The share is NaN with a NaN among the logits, or without rows.
    """
    largest = logits.argmax(dim=-1, keepdim=True)
    return share(largest == label_column(logits, labels), of=logits)


def top_accuracy(logits: Tensor, labels: Tensor, *, k: int) -> Tensor:
    """Return the share of rows whose label is among the k largest logits.

    With fewer than k classes all of them count. A label that is not a class counts as
    wrong. The share is NaN with a NaN among the logits, or without rows. Raises
    ValueError for a k below 1.
    """
    if k < 1:
        raise ValueError(f"k is a number of classes from 1 on, not {k!r}")
    top_classes = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    is_top = top_classes == label_column(logits, labels)
    return share(is_top.any(dim=-1), of=logits)


def collapse_fraction(logits: Tensor, *, dtype: torch.dtype) -> Tensor:
    """Return the share of rows whose sum of exp(z_k - max z) is exactly 1 in ``dtype``.

    This is softmax collapse as the official code of Prieto et al. (2025) measures it,
    whichever class has the largest logit, except for the cast. The official code casts
    the logits themselves: beyond 65,504 float16 has no number for them, and a row is
    not counted that float32 counts. Here it is the differences that are cast, so that
    fewer bits never collapse less. The sum is taken in another order than in the
    log-softmax, so that it need not agree with "the loss is exactly 0". It is NaN with
    a logit that is NaN or +infinity, or without rows.
    """
    wide = logits.to(torch.promote_types(logits.dtype, dtype))
    shifted = (wide - wide.amax(dim=-1, keepdim=True)).to(dtype)
    sums = shifted.exp().sum(dim=-1)
    return share(sums == 1, of=sums)


def top_gap(logits: Tensor) -> Tensor:
    """Return the mean over rows of the largest logit minus the second largest.

    It is NaN with a NaN, or without rows. Raises RuntimeError for fewer than two
    classes.
    """
    top = logits.double().topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).mean()


def global_means(head: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """Return W_G and mu_G (width,), the mean rows of head and features, in float64.

    They are defined before eq. 3 of Liu et al. (2026). ``head`` is (classes, width).
    A mean of no rows is NaN.
    """
    return head.double().mean(dim=0), features.double().mean(dim=0)


def residual_mass(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over rows of the summed probability of all wrong classes.

    [Liu et al. 2026, Theorem 4] It is not computed as 1 - p_r, whose smallest value
    above 0 is 1e-16, but as 1 / (1 + exp(-s)), which goes down to 1e-308. Here r is the
    label, and s is the log of the sum of exp(z_k - z_r) over the wrong classes k. The
    mass is 0 where there is only one class, and NaN with a NaN, or without rows.
    """
    return gaps(logits.double(), labels).logsumexp(dim=-1).sigmoid().mean()


def margins(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the correct logit minus the largest wrong one, (*rows) in float64.

    It is infinite where there is only one class. A NaN makes its row NaN.
    """
    return -gaps(logits.double(), labels).amax(dim=-1)


def collapsed(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the share of rows whose cross-entropy in float32 is exactly 0.

    The gradient at the label's logit is then 0 too. The loss is that of torch's own
    log-softmax, which sums in an order that depends on the device and the label. Unlike
    in ``collapse_fraction``, a row whose largest logit is a wrong one never counts. The
    share is NaN with a NaN or +infinity among the logits, or without rows.
    """
    log_probs = pick(logits.float().log_softmax(dim=-1), labels)
    return share(log_probs == 0, of=log_probs)


def class_sum(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over rows of the sum over classes of the loss's gradient.

    The gradient of a row is that of its own loss by its logits. Without rounding the
    sum is 0. The gradient is taken in float32 by autograd, whose exponential is not
    rounded as ``exp`` is. In a collapsed row the sum is the residual mass; shortly
    before the collapse it may have either sign. The mean is NaN with a NaN or +infinity
    among the logits, or without rows.
    """

    def loss(logits: Tensor) -> Tensor:
        """Return the sum of all losses; a row of logits enters its own alone."""
        return -pick(logits.log_softmax(dim=-1), labels).sum()

    # the cast lies outside of ``loss``, so that the gradient is not cast back
    return torch.func.grad(loss)(logits.float()).double().sum(dim=-1).mean()


def feature_alignment(features: Tensor) -> Tensor:
    """Return the mean cosine between the rows of features and their mean row.

    [Liu et al. 2026, eq. 54] Features are (rows, width). The cosine of a zero row
    counts as 0; if the mean is zero, all do. The result is NaN with a feature that is
    not finite, or without rows.
    """
    (features,) = near_one([features])  # cosines do not change with the scale
    lengths = torch.linalg.vector_norm(features, dim=-1, keepdim=True)
    mean = features.mean(dim=0)  # (width,)
    mean_direction = ratio(features, lengths).mean(dim=0)
    # the mean of the cosines is the product of the mean direction and that of the mean
    return ratio(mean_direction @ mean, torch.linalg.vector_norm(mean))
