"""Logits: rows counted as integers, collapse thresholds, edges of every dtype."""

import math

import pytest
import torch

from grokbook import metrics

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


def test_collapse_starts_at_the_precision_times_log_two():
    """Gaps of 7.62, 16.64 and 36.74 with one competitor, correct or not."""
    for dtype, bits in PRECISION.items():
        gaps = [bits * math.log(2) + d for d in (-0.1, 0.1)]
        logits = torch.tensor([[gap, 0.0] for gap in gaps]).double()
        for given in (logits, logits - 5, logits.flip(1)):
            assert metrics.collapse_fraction(given, dtype=dtype) == 0.5
        top = torch.finfo(dtype).max
        rows = torch.tensor([[0.0, 0.0], [top, -top], [1.0, -math.inf]], dtype=dtype)
        found = metrics.collapse_fraction(rows, dtype=dtype)
        assert found == pytest.approx(2 / 3)


def test_the_gap_of_the_largest_two():
    assert metrics.top_gap(torch.tensor([[1.0, 4.0, 2.0], [0.0, -1.0, 0.0]])) == 1
