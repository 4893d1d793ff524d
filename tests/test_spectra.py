"""Spectra: squared norms kept, extremes, symmetries, the pinned fit of a power law."""

import math

import numpy as np
import pytest
import shapes
import torch

from grokbook import metrics

shapes.check(metrics)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def spectrum(kind, seed=7):
    """128 values, unordered."""
    rng = np.random.default_rng(seed)
    if kind == "lognormal":
        return rng.lognormal(0, 2, 128)
    if kind == "zeros":
        return np.concatenate([np.zeros(40), rng.exponential(size=88)])
    return np.round(rng.lognormal(1, 1, 128), 1) + 0.1  # ties


@pytest.mark.parametrize("n", [1, 2, 8, 113])
def test_fourier_spectrum_keeps_the_squared_norm(n):
    weight = random(n, 6).float()
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
    assert metrics.participation_ratio(single) == pytest.approx(1)
    assert metrics.participation_ratio(even) == pytest.approx(8)
    assert metrics.top_share(torch.tensor([1.0, -3.0, 2.0]), k=2) == 13 / 14
    assert metrics.participation_ratio(none) == metrics.top_share(none, k=3) == 0
    with pytest.raises(ValueError, match="k is 9"):
        metrics.top_share(even, k=9)


def test_other_metrics_under_vmap():
    stack = random(3, 11, 4).float()
    for measure in (
        metrics.fourier_spectrum,
        metrics.top_gap,
        metrics.shared_direction,
        lambda w: metrics.stable_rank(w[:, 0]),
        lambda w: metrics.radial_energy(w, w.flip(1))["mean"],
        lambda w: metrics.radial_energy(w, w.flip(1))["summed"],
        lambda w: metrics.participation_ratio(w[:, 0]),
        lambda w: metrics.top_share(w[:, 0], k=2),
        lambda w: metrics.absorbed_fraction(w, 1e-8 * w.flip(0)),
    ):
        together = torch.func.vmap(measure)(stack)
        for i in range(3):
            torch.testing.assert_close(together[i], measure(stack[i]))


@pytest.mark.parametrize("shape", [(40, 6), (6, 6), (4, 6), (1, 6)])
def test_eigenvalues_are_squared_singular_values(shape):
    rows = random(*shape)
    values = metrics.gram_eigenvalues(rows)
    assert values.shape == (6,) and values.dtype == torch.float64
    assert (values >= 0).all() and (values.diff() <= 0).all()
    expected = torch.zeros(6, dtype=torch.float64)
    singular = torch.linalg.svdvals(rows)
    expected[: len(singular)] = singular.square()
    torch.testing.assert_close(values, expected)
    assert (values[shape[0] :] == 0).all()  # not rounding noise
    published = metrics.gram_eigenvalues(rows, exact=False)
    assert published.shape == (6,) and published.dtype == torch.float64
    assert (published >= 0).all() and (published.diff() <= 0).all()
    largest = expected[0].item()
    torch.testing.assert_close(published, expected, rtol=1e-4, atol=3e-3 * largest)


def test_gram_matrix_is_not_centred():
    rows = torch.ones(10, 3)
    for exact in (True, False):
        values = metrics.gram_eigenvalues(rows, exact=exact)
        assert values[0] == pytest.approx(30)
        assert metrics.effective_rank(values) < 1.01


def test_published_eigenvalues_end_in_noise():
    """Exact: 1e-6 of the largest. Published: everything below about 3e-4 is noise."""
    turn = torch.linalg.qr(random(64, 64))[0]
    scale = torch.cat([torch.ones(8), torch.full((56,), 1e-3)]).double()
    rows = torch.linalg.qr(random(500, 64, seed=1))[0] * scale @ turn
    exact = metrics.gram_eigenvalues(rows)
    torch.testing.assert_close(exact, scale.square())
    published = metrics.gram_eigenvalues(rows, exact=False)
    torch.testing.assert_close(published[:8], exact[:8], rtol=1e-5, atol=0)
    assert 1e-5 < published[8] < 1e-3
    assert metrics.effective_rank(published) > metrics.effective_rank(exact)


@pytest.mark.parametrize("exact", [True, False])
def test_eigenvalues_of_members(exact):
    rows = random(3, 20, 5)
    rows[1, 0, 0] = torch.nan
    measure = torch.func.vmap(lambda f: metrics.gram_eigenvalues(f, exact=exact))
    values = measure(rows)
    assert values[1].isnan().all()
    for member in (0, 2):
        one = metrics.gram_eigenvalues(rows[member], exact=exact)
        torch.testing.assert_close(values[member], one, rtol=1e-5, atol=1e-5)
    ranks = torch.func.vmap(metrics.effective_rank)(values)
    assert ranks[1].isnan() and (ranks[::2] > 1).all()
    assert metrics.power_law_exponent(values[1]).isnan()


def test_effective_rank_counts_equal_values():
    for k, scale in ((1, 1e-30), (57, 1.0), (128, 1e30)):
        values = torch.zeros(128)
        values[:k] = scale
        rank = metrics.effective_rank(values)
        assert rank.shape == () and rank.dtype == torch.float64
        assert rank == pytest.approx(k)
    values = torch.tensor([0.5, 0.25, 0.25])
    assert metrics.effective_rank(values) == pytest.approx(2**1.5)
    assert metrics.effective_rank(torch.zeros(4)) == 0


def test_stable_rank_is_that_of_the_norms():
    """Of a matrix with many columns, of one of rank one, and of equal sizes."""
    rows = random(20, 30)
    both = torch.linalg.matrix_norm(rows), torch.linalg.matrix_norm(rows, ord=2)
    rank = metrics.stable_rank(metrics.gram_eigenvalues(rows))
    assert float(rank) == pytest.approx(float(both[0] / both[1]) ** 2, rel=1e-12)
    assert rank.shape == () and rank.dtype == torch.float64
    one = torch.outer(rows[:, 0], rows[0])
    assert metrics.stable_rank(metrics.gram_eigenvalues(one)) == pytest.approx(1)
    assert metrics.stable_rank(torch.tensor([0.0, 9.0, 3.0])) == pytest.approx(4 / 3)
    for scale in (1e-30, 1e30):
        assert metrics.stable_rank(torch.full((7,), scale)) == pytest.approx(7)
    assert metrics.stable_rank(torch.zeros(4)) == 0
    broken = metrics.gram_eigenvalues(torch.tensor([[1.0, torch.inf]]))
    assert metrics.stable_rank(broken).isnan()


def test_exponent_is_the_recipe_one_x_min_after_the_other():
    """And the number that the package ``powerlaw`` 1.5 gives for the same values."""
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


@pytest.mark.parametrize("alpha", [1.3, 2.0, 3.5])
def test_exponent_of_an_exact_power_law(alpha):
    """Quantiles (1 - u)^(-1 / (alpha - 1)) at evenly spaced shares u."""
    share = (torch.arange(600).double() + 0.5) / 600
    values = (1 - share) ** (-1 / (alpha - 1))
    measured = metrics.power_law_exponent(values)
    assert measured == pytest.approx(alpha, rel=0.02)
    shuffled = values[torch.randperm(600, generator=torch.Generator().manual_seed(0))]
    assert metrics.power_law_exponent(shuffled) == measured
    scaled = metrics.power_law_exponent(1024 * values)
    torch.testing.assert_close(scaled, measured)


def test_exponent_at_the_edges():
    measure = metrics.power_law_exponent
    for values in ([2.0, 2.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0], [1.0, math.inf]):
        result = measure(torch.tensor(values))
        assert result.isnan() and result.shape == () and result.dtype == torch.float64
    assert measure(torch.tensor([1.0, math.e])) == pytest.approx(3)
    with_rest = torch.tensor([0.0, -5.0, 1.0, math.e])
    assert measure(with_rest) == pytest.approx(3)
    wide = torch.tensor([5e-324, 1e-300, 1.0, 2.0, 5.0, 1e300], dtype=torch.float64)
    assert 1 < measure(wide) < math.inf
    values = torch.from_numpy(spectrum("lognormal")).float()
    assert measure(values) == measure(values.double())
