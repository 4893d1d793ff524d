"""Logits and features: closed forms, autograd, collapse, every dtype, edges."""

import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from helpers import PRECISION, random

from grokbook import metrics


def test_accuracy_counts_rows():
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 5.0]])
    assert metrics.accuracy(logits, torch.tensor([0, 1, 0])) == 2 / 3
    # one label at each place of the order: k of 6 rows, at most all of them
    logits, labels = torch.arange(6.0).expand(6, 6), torch.arange(6)
    for k in (1, 2, 5, 6, 7):
        share = min(k, 6) / 6
        assert metrics.top_accuracy(logits, labels, k=k) == share
        # of three sequences with two positions each
        stacked = logits.reshape(3, 2, 6), labels.reshape(3, 2)
        assert metrics.top_accuracy(*stacked, k=k) == share


def test_collapse_starts_at_the_precision_times_log_two():
    for dtype, bits in PRECISION.items():
        gaps = [bits * math.log(2) + d for d in (-0.1, 0.1)]
        logits = torch.tensor([[gap, 0.0] for gap in gaps]).double()
        for given in (logits, logits - 5, logits.flip(1)):
            assert metrics.collapse_fraction(given, dtype=dtype) == 0.5
        top = torch.finfo(dtype).max
        rows = torch.tensor([[0.0, 0.0], [top, -top], [1.0, -math.inf]], dtype=dtype)
        found = metrics.collapse_fraction(rows, dtype=dtype)
        assert found == pytest.approx(2 / 3)
    # 24 ln 2: half an ulp of 1, not the ulp of the paper; a wrong leader is none
    logits = torch.tensor([[24 * math.log(2) + d, 0.0] for d in (-0.1, 0.1)])
    far = F.pad(logits, (0, 8), value=-1000.0)  # -1,000 is no competitor
    for given in (logits, far.double()):
        assert metrics.collapsed(given, torch.tensor([0, 0])) == 0.5
        assert metrics.collapsed(given, torch.tensor([1, 1])) == 0


DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LABEL = torch.tensor([0])


def ahead(margin, classes=2, dtype=torch.float64):
    """One row whose class 0 leads all others by a margin."""
    return torch.tensor([[margin] + [0.0] * (classes - 1)], dtype=dtype)


def test_residual_mass_in_closed_form():
    """(K - 1) exp(-m) / (1 + (K - 1) exp(-m)), also where 1 - p is 0 (1e-40 at 92)."""
    cases = product((2, 10, 97), (-50, 0, 1, 16, 40, 92, 700), DTYPES)
    for classes, margin, dtype in cases:
        others = (classes - 1) * math.exp(-margin)
        expected = pytest.approx(others / (1 + others), rel=1e-12)
        assert metrics.residual_mass(ahead(margin, classes, dtype), LABEL) == expected
    # a common offset, classes that are not there
    far = metrics.residual_mass(ahead(20.0, 10) - 1024, LABEL)
    assert far == metrics.residual_mass(ahead(20.0, 10), LABEL)
    one = torch.tensor([[20.0, 0.0, -1000.0, -math.inf]])
    assert metrics.residual_mass(one, LABEL) == pytest.approx(math.exp(-20))
    assert metrics.residual_mass(torch.tensor([[0.0, -math.inf]]), LABEL) == 0
    assert metrics.residual_mass(ahead(math.nan), LABEL).isnan()


def test_margins():
    labels = torch.tensor([1, 1, 2])
    for dtype in DTYPES:
        logits = torch.tensor([[1, 4, 2], [0, -1, 0], [5, 5, 5]], dtype=dtype)
        assert metrics.margins(logits, labels).tolist() == [2, -1, 0]
        top = torch.finfo(dtype).max  # twice of it is no number of this dtype
        logits = torch.tensor([[top, -top], [1.0, -math.inf]], dtype=dtype)
        assert metrics.margins(logits, labels[:2] * 0).tolist() == [2 * top, math.inf]


def test_collapse_and_class_sum_are_those_of_autograd():
    """Loss 0, gradient 0 at the label and the class sum, bit for bit, row by row."""
    for classes in (2, 97):
        labels, leads = torch.arange(40) % classes, torch.arange(40)[:, None]
        logits = 3 * random(40, classes) + F.one_hot(labels, classes) * leads
        logits.requires_grad_()
        losses = F.cross_entropy(logits, labels, reduction="none")
        losses.sum().backward()
        slopes, logits = logits.grad, logits.detach()
        at_label = slopes.gather(1, labels[:, None]).squeeze(1)
        for row in range(40):
            one = logits[row : row + 1], labels[row : row + 1]
            assert metrics.collapsed(*one) == (losses[row] == 0)
            assert metrics.collapsed(*one) == (at_label[row] == 0)
            assert metrics.class_sum(*one) == slopes[row].double().sum()
        assert 0 < metrics.collapsed(logits, labels) < 1


def test_feature_alignment():
    axes = torch.eye(4)
    assert metrics.feature_alignment(axes) == pytest.approx(1 / 2)  # 1 / sqrt(4)
    assert metrics.feature_alignment(3 * axes[:1].expand(5, 4)) == pytest.approx(1)
    assert metrics.feature_alignment(torch.cat([axes, -axes])) == 0
    assert metrics.feature_alignment(torch.zeros(3, 4)) == 0
    # of (1, 0), (1, 0) and nothing: the mean points to (1, 0)
    rows = torch.tensor([[1.0, 0], [1, 0], [0, 0]])
    assert metrics.feature_alignment(rows) == pytest.approx(2 / 3)
