"""Circuits: the published formulas by hand, symmetries, edges."""

import math

import numpy as np
import pytest
import shapes
import torch

from grokbook import metrics

shapes.check(metrics)
P, WIDTH = 113, 128


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def wave(frequency, phase=0.0):
    """A cosine over the P number tokens, (P,)."""
    return torch.cos(2 * torch.pi * frequency * torch.arange(P).double() / P + phase)


def by_hand(weight, *, p):
    """The published formula with the Fourier sum written out."""
    mode, token = np.arange(p // 2 + 1)[:, None], np.arange(p)
    amplitude = np.abs(np.exp(-2j * np.pi * mode * token / p) @ weight[:p].numpy())
    mean = amplitude.mean(1)
    within = np.mean(amplitude.var(1))
    return np.var(mean) / (within + 1e-8)


@pytest.mark.parametrize("p", [2, 7, 8])
def test_concentration_is_the_published_ratio(p):
    weight = random(9, 5)
    value = metrics.fourier_concentration(weight, p=p)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(by_hand(weight, p=p))
    as_float32 = metrics.fourier_concentration(weight.float(), p=p)
    assert as_float32.dtype == torch.float64
    assert as_float32 == pytest.approx(value.item(), rel=1e-5)


def test_concentration_at_initialisation():
    """About 0.0084 with a deviation of 0.0017; 0.0089 is the mean of five seeds."""
    weights = random(64, P + 1, WIDTH) / WIDTH**0.5
    values = torch.func.vmap(lambda w: metrics.fourier_concentration(w, p=P))(weights)
    assert values.shape == (64,)
    assert values.mean() == pytest.approx(0.0084, rel=0.1)
    assert abs(values.mean() - 0.0089) < values.std() / 5**0.5
    one = metrics.fourier_concentration(weights[3], p=P)
    torch.testing.assert_close(values[3], one)


def test_concentration_ignores_the_other_rows():
    weight = random(P + 1, 8)
    value = metrics.fourier_concentration(weight, p=P)
    weight[P] = 1e6
    assert metrics.fourier_concentration(weight, p=P) == value


@pytest.mark.parametrize("skip", [False, True])
def test_concentration_does_not_see_where_counting_starts(skip):
    weight = random(P, 8)
    value = metrics.fourier_concentration(weight, p=P, skip_constant=skip)
    rolled = metrics.fourier_concentration(weight.roll(1, 0), p=P, skip_constant=skip)
    torch.testing.assert_close(rolled, value)


def test_concentration_sees_a_common_vector_only_in_the_constant_mode():
    weight, common = random(P, 8), 5 * random(8, seed=1)
    measure = metrics.fourier_concentration
    skipped = measure(weight, p=P, skip_constant=True)
    moved = measure(weight + common, p=P, skip_constant=True)
    torch.testing.assert_close(moved, skipped)
    assert measure(weight + common, p=P) > 2 * measure(weight, p=P)


def test_concentration_of_one_frequency_is_huge():
    phases = torch.arange(WIDTH).double()
    weight = torch.stack([wave(5, phase) for phase in phases], dim=1)
    for skip in (False, True):
        value = metrics.fourier_concentration(weight, p=P, skip_constant=skip)
        assert value > 1e6
    noisy = weight + 0.1 * random(P, WIDTH)
    assert metrics.fourier_concentration(noisy, p=P) > 100


def test_concentration_at_the_edges():
    assert metrics.fourier_concentration(torch.zeros(P, 4), p=P) == 0
    for p in (P + 1, 1):
        with pytest.raises(ValueError, match=f"no p = {p} >= 2"):
            metrics.fourier_concentration(torch.zeros(P, 4), p=p)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_entropy_between_its_extremes(average, dtype):
    even = torch.full((2, 4, 3, 3), 1 / 3, dtype=dtype)
    value = metrics.attention_entropy(even, head_average=average)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(math.log(3), rel=1e-6)
    single = torch.eye(3, dtype=dtype).expand(2, 4, 3, 3)
    assert metrics.attention_entropy(single, head_average=average) == 0


def test_entropy_of_heads_that_disagree():
    """Four sharp heads on four keys: even after averaging, each one without choice."""
    weights = torch.eye(4)[None, :, None, :]
    assert metrics.attention_entropy(weights) == pytest.approx(math.log(4))
    assert metrics.attention_entropy(weights, head_average=False) == 0


def test_entropy_of_an_average_is_not_lower():
    weights = (3 * random(6, 5, 4, 3, 3)).softmax(-1)
    measure = torch.func.vmap(metrics.attention_entropy)
    averaged, single = measure(weights), measure(weights, head_average=False)
    assert (averaged > single).all() and (averaged < math.log(3)).all()
    logs = weights[2].log()
    torch.testing.assert_close(single[2], -(weights[2] * logs).sum(-1).mean())
