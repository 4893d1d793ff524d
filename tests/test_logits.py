"""Logits: rows counted as integers, collapse thresholds, edges of every dtype."""

import math

import pytest
import shapes
import torch
import torch.nn.functional as F

from grokbook import metrics

shapes.check(metrics)
PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}


def test_accuracy_counts_rows():
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 5.0]])
    assert metrics.accuracy(logits, torch.tensor([0, 1, 0])) == 2 / 3
    labels = torch.zeros(7662, dtype=torch.int64)
    assert metrics.accuracy(torch.tensor([[1.0, 0.0]]).expand(7662, 2), labels) == 1


def test_top_accuracy_counts_labels_among_the_largest():
    """One label at each place of the order: k of 6 rows, at most all of them."""
    logits, labels = torch.arange(6.0).expand(6, 6), torch.arange(6)
    for k in (1, 2, 5, 6, 7):
        share = min(k, 6) / 6
        assert metrics.top_accuracy(logits, labels, k=k) == share
        # of three sequences with two positions each
        stacked = logits.reshape(3, 2, 6), labels.reshape(3, 2)
        assert metrics.top_accuracy(*stacked, k=k) == share
    assert metrics.top_accuracy(logits, labels, k=1) == metrics.accuracy(logits, labels)


@pytest.mark.parametrize("dtype", PRECISION)
def test_collapse_starts_at_the_precision_times_log_two(dtype):
    """Gaps of 7.62, 16.64 and 36.74 with one competitor; half of the rows beyond."""
    threshold = PRECISION[dtype] * math.log(2)
    logits = torch.tensor([[threshold - 0.1, 0.0], [threshold + 0.1, 0.0]])
    assert metrics.collapse_fraction(logits.double(), dtype=dtype) == 0.5
    shifted = logits.double() - 5
    assert metrics.collapse_fraction(shifted, dtype=dtype) == 0.5


def test_collapse_does_not_ask_for_the_correct_class():
    """A row may count as collapsed while its loss is large."""
    logits, labels = torch.tensor([[50.0, 0.0]]), torch.tensor([1])
    assert metrics.collapse_fraction(logits, dtype=torch.float32) == 1
    assert F.cross_entropy(logits, labels) == 50


@pytest.mark.parametrize("dtype", [*PRECISION, torch.bfloat16])
def test_collapse_at_the_edges(dtype):
    top = torch.finfo(dtype).max
    rows = torch.tensor([[0.0, 0.0], [top, -top], [1.0, -math.inf]], dtype=dtype)
    assert metrics.collapse_fraction(rows, dtype=dtype) == pytest.approx(2 / 3)


def test_logit_summaries():
    logits = torch.tensor([[1.0, 4.0, 2.0], [0.0, -1.0, 0.0]])
    assert metrics.top_logit(logits) == 2
    assert metrics.top_gap(logits) == 1
