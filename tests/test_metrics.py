"""Metrics: hand-made values, identities, collapse thresholds, vmap over members."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import random

from grokbook import metrics

PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}


def test_accuracy_counts_rows():
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 5.0]])
    assert metrics.accuracy(logits, torch.tensor([0, 1, 0])) == 2 / 3
    labels = torch.zeros(7662, dtype=torch.int64)
    assert metrics.accuracy(torch.tensor([[1.0, 0.0]]).expand(7662, 2), labels) == 1


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


def test_norms_and_fractions():
    assert metrics.total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])]) == 5
    assert metrics.total_norm([torch.tensor([1e-30])]) == pytest.approx(1e-30)
    assert metrics.zero_fraction(torch.tensor([0.0, -0.0, 1e-45, 1.0])) == 0.5
    with pytest.raises(ValueError, match="at least one"):
        metrics.total_norm([])


def test_cosine():
    a = random(4, 3)
    assert metrics.cosine(a, 5 * a) == pytest.approx(1)
    assert metrics.cosine(a, -a) == pytest.approx(-1)
    assert metrics.cosine(a, torch.zeros(4, 3)) == 0
    assert metrics.cosine(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])) == 0
    small = 1e-30 * a
    assert metrics.cosine(small, small) == pytest.approx(1)


def test_logit_summaries():
    logits = torch.tensor([[1.0, 4.0, 2.0], [0.0, -1.0, 0.0]])
    assert metrics.top_logit(logits) == 2
    assert metrics.top_gap(logits) == 1


def test_absorbed_steps():
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    step = torch.tensor([2**-25, 2**-20, 0.0, 1e-40])
    assert metrics.absorbed_fraction(weight, step) == 0.25


@pytest.mark.parametrize("n", [1, 2, 8, 113])
def test_fourier_spectrum_keeps_the_squared_norm(n):
    weight = random(n, 6)
    spectrum = metrics.fourier_spectrum(weight)
    assert spectrum.shape == (n,) and spectrum.dtype == torch.float64
    torch.testing.assert_close(spectrum.norm(), weight.double().norm())
    torch.testing.assert_close(metrics.fourier_spectrum(weight.T, dim=1), spectrum)
    reference = torch.fft.rfft(weight.double(), dim=0).norm(dim=1) / n**0.5
    power = spectrum[1 : n - (n + 1) % 2].square().reshape(-1, 2).sum(1)
    half = len(power)
    torch.testing.assert_close(power, 2 * reference[1 : 1 + half].square())
    torch.testing.assert_close(spectrum[0], reference[0])


def test_fourier_spectrum_finds_one_frequency():
    wave = torch.cos(2 * torch.pi * 3 * torch.arange(113).double() / 113)
    spectrum = metrics.fourier_spectrum(wave[:, None])
    assert spectrum.argmax() == 5  # constant, cos 1, sin 1, cos 2, sin 2, cos 3
    assert metrics.top_share(spectrum, k=1) == pytest.approx(1)
    assert metrics.participation_ratio(spectrum) == pytest.approx(1)


def test_concentration_between_its_extremes():
    even, single, none = torch.ones(8), torch.eye(8)[2], torch.zeros(8)
    assert metrics.gini(even) == pytest.approx(0)
    assert metrics.gini(single) == pytest.approx(1 - 1 / 8)
    assert metrics.gini(torch.tensor([3.0, 1.0])) == metrics.gini(
        torch.tensor([-1.0, 3.0])
    )
    assert metrics.participation_ratio(even) == pytest.approx(8)
    assert metrics.top_share(torch.tensor([1.0, -3.0, 2.0]), k=2) == 13 / 14
    for measure in (metrics.gini, metrics.participation_ratio):
        assert measure(none) == 0
    assert metrics.top_share(none, k=3) == 0
    with pytest.raises(ValueError, match="k is 9"):
        metrics.top_share(even, k=9)


def test_other_metrics_under_vmap():
    stack = random(3, 11, 4)
    for measure in (
        metrics.fourier_spectrum,
        metrics.top_gap,
        lambda w: metrics.gini(w[:, 0]),
        lambda w: metrics.participation_ratio(w[:, 0]),
        lambda w: metrics.top_share(w[:, 0], k=2),
        lambda w: metrics.absorbed_fraction(w, 1e-8 * w.flip(0)),
    ):
        together = torch.func.vmap(measure)(stack)
        for i in range(3):
            torch.testing.assert_close(together[i], measure(stack[i]))
