"""What the logits z say: accuracy, gaps, and the collapse of the softmax.

    collapse      share of rows with sum_k exp(z_k - max z) == 1, in a chosen dtype

Source: Prieto et al. 2025, section 3, and the measurements of its official code.
Losses, margins against the label and calibration are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grokbook.metrics.shares import share

if TYPE_CHECKING:
    from grokbook.shapes import Labels, Logits, Scalar


def accuracy(logits: Logits, labels: Labels) -> Scalar:
    """Share of rows whose largest logit is the label's."""
    return share(logits.argmax(dim=-1) == labels)


def top_accuracy(logits: Logits, labels: Labels, *, k: int) -> Scalar:
    """Share of rows whose label is among the k largest logits."""
    best = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return share((best == labels.unsqueeze(-1)).any(dim=-1))


def collapse_fraction(logits: Logits, *, dtype: torch.dtype) -> Scalar:
    """Share of rows whose max-shifted sum of exponentials is exactly 1 in ``dtype``.

    The official measurement: it does not ask whether the largest logit is the correct
    one, and its summation order differs from that of the log-softmax kernel, so it
    need not agree with "the loss is exactly 0".
    """
    logits = logits.to(dtype)
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return share(shifted.exp().sum(dim=-1) == 1)


def top_logit(logits: Logits) -> Scalar:
    """Mean over rows of the largest logit."""
    return logits.amax(dim=-1).double().mean()


def top_gap(logits: Logits) -> Scalar:
    """Mean over rows of the largest minus the second-largest logit."""
    top = logits.double().topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).mean()
