"""Spectra and circuits: squared norms kept, extremes, symmetries, published numbers."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from helpers import double as random

from grokbook import metrics


def spectrum(kind, seed=7):
    rng = np.random.default_rng(seed)
    if kind == "lognormal":
        return rng.lognormal(0, 2, 128)
    if kind == "zeros":
        return np.concatenate([np.zeros(40), rng.exponential(size=88)])
    return np.round(rng.lognormal(1, 1, 128), 1) + 0.1  # ties


def test_fourier_spectrum_has_each_cosine_and_sine_in_turn():
    for n in (1, 2, 8, 113):
        weight = random(n, 6).float()
        spectrum = metrics.fourier_spectrum(weight)
        assert spectrum.shape == (n,) and spectrum.dtype == torch.float64
        torch.testing.assert_close(spectrum.norm(), weight.double().norm())
        angles = torch.outer(torch.arange(n), torch.arange(n)) * (2 * math.pi / n)
        waves = [torch.ones(n)] + [
            f(angles[k]) for k in range(1, n // 2 + 1) for f in (torch.cos, torch.sin)
        ]  # one more than n of an even n, whose last sine is 0
        expected = [(w.double() @ weight.double()).norm() / w.norm() for w in waves[:n]]
        torch.testing.assert_close(spectrum, torch.stack(expected), rtol=1e-5, atol=0)


def test_ranks_between_their_extremes():
    even, single, none = torch.ones(8), torch.eye(8)[2], torch.zeros(8)
    ranks = metrics.participation_ratio, metrics.effective_rank, metrics.stable_rank
    for rank in ranks:
        for scale in (1e-8, 1.0, 1e8):
            assert rank(scale * even) == pytest.approx(8)
            assert rank(scale * single) == pytest.approx(1)
        assert rank(none) == 0 and rank(none).dtype == torch.float64
    some = torch.tensor([0.5, 0.25, 0.25])
    assert metrics.effective_rank(some) == pytest.approx(2**1.5)
    assert metrics.stable_rank(torch.tensor([0.0, 9.0, 3.0])) == pytest.approx(4 / 3)
    assert metrics.top_share(torch.tensor([1.0, -3.0, 2.0]), k=2) == 13 / 14
    assert metrics.top_share(none, k=3) == 0


def test_eigenvalues_are_squared_singular_values():
    for n in (40, 6, 4, 1):
        rows = random(n, 6) + 1  # the matrix is not centred
        values = metrics.gram_eigenvalues(rows)
        assert values.dtype == torch.float64 and (values >= 0).all()
        expected = torch.zeros(6, dtype=torch.float64)
        expected[:n] = torch.linalg.svdvals(rows).square()
        torch.testing.assert_close(values, expected)
        assert (values[n:] == 0).all()  # not rounding noise
        published = metrics.gram_eigenvalues(rows, exact=False)
        assert published.shape == (6,) and published.dtype == torch.float64
        assert (published >= 0).all() and (published.diff() <= 0).all()
        noise = 3e-3 * expected[0].item()
        torch.testing.assert_close(published, expected, rtol=1e-4, atol=noise)


def test_exponent_is_the_recipe_one_x_min_after_the_other():
    for kind, package in (
        ("lognormal", 1.75265898),
        ("zeros", 2.85211489),
        ("ties", 2.55527179),
    ):
        values = np.sort(spectrum(kind))
        best = (math.inf, math.nan)
        for x_min in np.unique(values[values > 0])[:-1]:
            tail = values[values >= x_min]
            alpha = 1 + len(tail) / np.log(tail / x_min).sum()
            below = np.searchsorted(tail, tail) / len(tail)
            gap = 1 - (tail / x_min) ** (1 - alpha) - below
            best = min(best, (np.abs(gap).max(), alpha))
        found = metrics.power_law_exponent(torch.from_numpy(values))
        assert found == pytest.approx(best[1]) == pytest.approx(package, rel=1e-6)
    measure = metrics.power_law_exponent
    for values in ([2.0, 2.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0], [1.0, math.inf]):
        result = measure(torch.tensor(values))
        assert result.isnan() and result.shape == () and result.dtype == torch.float64
    assert measure(torch.tensor([0.0, -5.0, 1.0, math.e])) == pytest.approx(3)
    wide = torch.tensor([5e-324, 1e-300, 1.0, 2.0, 5.0, 1e300], dtype=torch.float64)
    assert 1 < measure(wide) < math.inf


P, WIDTH = 113, 128


def by_hand(weight, *, p, first=0):
    """The published formula with the Fourier sum written out."""
    mode, token = np.arange(first, p // 2 + 1)[:, None], np.arange(p)
    amplitude = np.abs(np.exp(-2j * np.pi * mode * token / p) @ weight[:p].numpy())
    mean = amplitude.mean(1)
    within = np.mean(amplitude.var(1))
    return np.var(mean) / (within + 1e-8)


def test_concentration_is_the_published_ratio_also_at_initialisation():
    for p in (2, 7, 8):
        weight = random(9, 5)
        value = metrics.fourier_concentration(weight, p=p)
        assert value.shape == () and value.dtype == torch.float64
        assert value == pytest.approx(by_hand(weight, p=p))
        centred = metrics.fourier_concentration(weight, p=p, skip_constant=True)
        assert centred == pytest.approx(by_hand(weight, p=p, first=1))
        single = metrics.fourier_concentration(weight.float(), p=p)
        assert single.dtype == torch.float64
        assert single == pytest.approx(value.item(), rel=1e-5)
        weight[p:] = 1e6  # rows of other tokens
        assert metrics.fourier_concentration(weight, p=p) == value
    assert metrics.fourier_concentration(torch.zeros(P, 4), p=P) == 0
    # about 0.0084 with a deviation of 0.0017; 0.0089 is the mean of five seeds
    weights = random(64, P + 1, WIDTH) / WIDTH**0.5
    values = torch.func.vmap(lambda w: metrics.fourier_concentration(w, p=P))(weights)
    assert values.mean() == pytest.approx(0.0084, rel=0.1)
    assert abs(values.mean() - 0.0089) < values.std() / 5**0.5
    one = metrics.fourier_concentration(weights[3], p=P)
    torch.testing.assert_close(values[3], one)


def test_entropy_between_its_extremes():
    even, single = torch.full((2, 4, 3, 3), 1 / 3), torch.eye(3).expand(2, 4, 3, 3)
    heads = torch.eye(4)[None, :, None, :]  # sharp ones, each on a key of its own
    for average in (True, False):
        entropy = partial(metrics.attention_entropy, head_average=average)
        assert entropy(even) == pytest.approx(math.log(3), rel=1e-6)
        assert entropy(even).dtype == torch.float64
        assert entropy(single) == 0
        assert entropy(heads) == pytest.approx(math.log(4) if average else 0)
    weights = (3 * random(5, 4, 3, 3)).softmax(-1)
    expected = -(weights * weights.log()).sum(-1).mean()
    torch.testing.assert_close(entropy(weights), expected)
