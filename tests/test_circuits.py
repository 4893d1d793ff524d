"""Circuits: the published formulas by hand, symmetries, edges."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from helpers import double as random

from grokbook import metrics

P, WIDTH = 113, 128


def by_hand(weight, *, p):
    """The published formula with the Fourier sum written out."""
    mode, token = np.arange(p // 2 + 1)[:, None], np.arange(p)
    amplitude = np.abs(np.exp(-2j * np.pi * mode * token / p) @ weight[:p].numpy())
    mean = amplitude.mean(1)
    within = np.mean(amplitude.var(1))
    return np.var(mean) / (within + 1e-8)


def test_concentration_is_the_published_ratio():
    for p in (2, 7, 8):
        weight = random(9, 5)
        value = metrics.fourier_concentration(weight, p=p)
        assert value.shape == () and value.dtype == torch.float64
        assert value == pytest.approx(by_hand(weight, p=p))
        single = metrics.fourier_concentration(weight.float(), p=p)
        assert single.dtype == torch.float64
        assert single == pytest.approx(value.item(), rel=1e-5)
        weight[p:] = 1e6  # rows of other tokens
        assert metrics.fourier_concentration(weight, p=p) == value
    assert metrics.fourier_concentration(torch.zeros(P, 4), p=P) == 0


def test_concentration_at_initialisation():
    """About 0.0084 with a deviation of 0.0017; 0.0089 is the mean of five seeds."""
    weights = random(64, P + 1, WIDTH) / WIDTH**0.5
    values = torch.func.vmap(lambda w: metrics.fourier_concentration(w, p=P))(weights)
    assert values.mean() == pytest.approx(0.0084, rel=0.1)
    assert abs(values.mean() - 0.0089) < values.std() / 5**0.5
    one = metrics.fourier_concentration(weights[3], p=P)
    torch.testing.assert_close(values[3], one)


def test_concentration_sees_a_common_vector_only_in_the_constant_mode():
    """And not where counting starts."""
    weight, common = random(P, 8), 5 * random(8, seed=1)
    measure = metrics.fourier_concentration
    skipped = measure(weight, p=P, skip_constant=True)
    for other in (weight + common, weight.roll(1, 0)):
        moved = measure(other, p=P, skip_constant=True)
        torch.testing.assert_close(moved, skipped)
    assert measure(weight + common, p=P) > 2 * measure(weight, p=P)


def test_entropy_between_its_extremes():
    even, single = torch.full((2, 4, 3, 3), 1 / 3), torch.eye(3).expand(2, 4, 3, 3)
    heads = torch.eye(4)[None, :, None, :]  # sharp ones, each on a key of its own
    for average in (True, False):
        entropy = partial(metrics.attention_entropy, head_average=average)
        assert entropy(even) == pytest.approx(math.log(3), rel=1e-6)
        assert entropy(even).dtype == torch.float64
        assert entropy(single) == 0
        assert entropy(heads) == pytest.approx(math.log(4) if average else 0)
    weights = (3 * random(6, 5, 4, 3, 3)).softmax(-1)
    found = torch.func.vmap(entropy)(weights)
    logs = weights[2].log()
    torch.testing.assert_close(found[2], -(weights[2] * logs).sum(-1).mean())
