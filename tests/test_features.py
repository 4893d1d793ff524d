"""Features: hand-made values, symmetries, edges, the pinned fit of a power law."""

import math

import numpy as np
import pytest
import torch

from grokbook import features

P, WIDTH = 113, 128


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def wave(frequency, phase=0.0):
    """A cosine over the P number tokens, (P,)."""
    return torch.cos(2 * torch.pi * frequency * torch.arange(P).double() / P + phase)


def spectrum(kind, seed):
    """128 values, unordered."""
    rng = np.random.default_rng(seed)
    if kind == "lognormal":
        return rng.lognormal(0, 2, 128)
    if kind == "power law":
        return rng.pareto(0.4 + 0.4 * seed, 128) + 1
    if kind == "features":
        mixed = random(400, 128, seed=seed) @ random(128, 128, seed=seed + 50)
        return features.gram_eigenvalues(mixed).numpy()
    if kind == "noise":
        noise = 1e-9 * np.abs(rng.normal(size=60))
        return np.concatenate([noise, rng.lognormal(3, 1, 68)])
    if kind == "zeros":
        return np.concatenate([np.zeros(40), rng.exponential(size=88)])
    return np.round(rng.lognormal(1, 1, 128), 1) + 0.1  # ties


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
    value = features.fourier_concentration(weight, p=p)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(by_hand(weight, p=p))
    as_float32 = features.fourier_concentration(weight.float(), p=p)
    assert as_float32.dtype == torch.float64
    assert as_float32 == pytest.approx(value.item(), rel=1e-5)


def test_concentration_at_initialisation():
    """About 0.0084 with a deviation of 0.0017; 0.0089 is the mean of five seeds."""
    weights = random(64, P + 1, WIDTH) / WIDTH**0.5
    values = torch.func.vmap(lambda w: features.fourier_concentration(w, p=P))(weights)
    assert values.shape == (64,)
    assert values.mean() == pytest.approx(0.0084, rel=0.1)
    assert abs(values.mean() - 0.0089) < values.std() / 5**0.5
    one = features.fourier_concentration(weights[3], p=P)
    torch.testing.assert_close(values[3], one)


def test_concentration_ignores_the_other_rows():
    weight = random(P + 1, 8)
    value = features.fourier_concentration(weight, p=P)
    weight[P] = 1e6
    assert features.fourier_concentration(weight, p=P) == value


@pytest.mark.parametrize("skip", [False, True])
def test_concentration_does_not_see_where_counting_starts(skip):
    weight = random(P, 8)
    value = features.fourier_concentration(weight, p=P, skip_constant=skip)
    rolled = features.fourier_concentration(weight.roll(1, 0), p=P, skip_constant=skip)
    torch.testing.assert_close(rolled, value)


def test_concentration_sees_a_common_vector_only_in_the_constant_mode():
    weight, common = random(P, 8), 5 * random(8, seed=1)
    measure = features.fourier_concentration
    skipped = measure(weight, p=P, skip_constant=True)
    moved = measure(weight + common, p=P, skip_constant=True)
    torch.testing.assert_close(moved, skipped)
    assert measure(weight + common, p=P) > 2 * measure(weight, p=P)


def test_concentration_of_one_frequency_is_huge():
    phases = torch.arange(WIDTH).double()
    weight = torch.stack([wave(5, phase) for phase in phases], dim=1)
    for skip in (False, True):
        value = features.fourier_concentration(weight, p=P, skip_constant=skip)
        assert value > 1e6
    noisy = weight + 0.1 * random(P, WIDTH)
    assert features.fourier_concentration(noisy, p=P) > 100


def test_concentration_at_the_edges():
    assert features.fourier_concentration(torch.zeros(P, 4), p=P) == 0
    for p in (P + 1, 1):
        with pytest.raises(ValueError, match=f"has no p = {p} >= 2 rows\\.$"):
            features.fourier_concentration(torch.zeros(P, 4), p=p)
    with pytest.raises(ValueError, match=r"shape \(113,\)"):
        features.fourier_concentration(torch.zeros(P), p=P)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_entropy_between_its_extremes(average, dtype):
    even = torch.full((2, 4, 3, 3), 1 / 3, dtype=dtype)
    value = features.attention_entropy(even, head_average=average)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(math.log(3), rel=1e-6)
    single = torch.eye(3, dtype=dtype).expand(2, 4, 3, 3)
    assert features.attention_entropy(single, head_average=average) == 0


def test_entropy_of_heads_that_disagree():
    """Four sharp heads on four keys: even after averaging, each one without choice."""
    weights = torch.eye(4)[None, :, None, :]
    assert features.attention_entropy(weights) == pytest.approx(math.log(4))
    assert features.attention_entropy(weights, head_average=False) == 0


def test_entropy_of_an_average_is_not_lower():
    weights = (3 * random(6, 5, 4, 3, 3)).softmax(-1)
    measure = torch.func.vmap(features.attention_entropy)
    averaged, single = measure(weights), measure(weights, head_average=False)
    assert (averaged > single).all() and (averaged < math.log(3)).all()
    logs = weights[2].log()
    torch.testing.assert_close(single[2], -(weights[2] * logs).sum(-1).mean())
    with pytest.raises(ValueError, match=r"not \(5, 4, 3\)\.$"):
        features.attention_entropy(weights[0, ..., 0])


@pytest.mark.parametrize("shape", [(40, 6), (6, 6), (4, 6), (1, 6)])
def test_eigenvalues_are_squared_singular_values(shape):
    rows = random(*shape)
    values = features.gram_eigenvalues(rows)
    assert values.shape == (6,) and values.dtype == torch.float64
    assert (values >= 0).all() and (values.diff() <= 0).all()
    expected = torch.zeros(6, dtype=torch.float64)
    singular = torch.linalg.svdvals(rows)
    expected[: len(singular)] = singular.square()
    torch.testing.assert_close(values, expected)
    assert (values[shape[0] :] == 0).all()  # not rounding noise
    published = features.gram_eigenvalues(rows, exact=False)
    assert published.shape == (6,) and published.dtype == torch.float64
    assert (published >= 0).all() and (published.diff() <= 0).all()
    largest = expected[0].item()
    torch.testing.assert_close(published, expected, rtol=1e-4, atol=3e-3 * largest)


def test_gram_matrix_is_not_centred():
    rows = torch.ones(10, 3)
    for exact in (True, False):
        values = features.gram_eigenvalues(rows, exact=exact)
        assert values[0] == pytest.approx(30)
        assert features.effective_rank(values) < 1.01


def test_published_eigenvalues_end_in_noise():
    """Exact: 1e-6 of the largest. Published: everything below about 3e-4 is noise."""
    turn = torch.linalg.qr(random(64, 64))[0]
    scale = torch.cat([torch.ones(8), torch.full((56,), 1e-3)]).double()
    rows = torch.linalg.qr(random(500, 64, seed=1))[0] * scale @ turn
    exact = features.gram_eigenvalues(rows)
    torch.testing.assert_close(exact, scale.square())
    published = features.gram_eigenvalues(rows, exact=False)
    torch.testing.assert_close(published[:8], exact[:8], rtol=1e-5, atol=0)
    assert 1e-5 < published[8] < 1e-3
    assert features.effective_rank(published) > features.effective_rank(exact)


@pytest.mark.parametrize("exact", [True, False])
def test_eigenvalues_of_members(exact):
    rows = random(3, 20, 5)
    rows[1, 0, 0] = torch.nan
    measure = torch.func.vmap(lambda f: features.gram_eigenvalues(f, exact=exact))
    values = measure(rows)
    assert values[1].isnan().all()
    for member in (0, 2):
        one = features.gram_eigenvalues(rows[member], exact=exact)
        torch.testing.assert_close(values[member], one, rtol=1e-5, atol=1e-5)
    ranks = torch.func.vmap(features.effective_rank)(values)
    assert ranks[1].isnan() and (ranks[::2] > 1).all()
    assert features.power_law_exponent(values[1]).isnan()
    with pytest.raises(ValueError, match=r"not \(3, 20, 5\)\.$"):
        features.gram_eigenvalues(rows, exact=exact)


@pytest.mark.parametrize("k", [1, 2, 57, 128])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_effective_rank_counts_equal_values(k, scale):
    values = torch.zeros(128)
    values[:k] = scale
    rank = features.effective_rank(values)
    assert rank.shape == () and rank.dtype == torch.float64
    assert rank == pytest.approx(k)


def test_effective_rank_by_hand():
    values = torch.tensor([0.5, 0.25, 0.25])
    assert features.effective_rank(values) == pytest.approx(2**1.5)
    assert features.effective_rank(torch.zeros(4)) == 0
    for bad in (torch.tensor(1.0), torch.zeros(0), torch.zeros(2, 2)):
        for measure in (features.effective_rank, features.power_law_exponent):
            with pytest.raises(ValueError, match="^A spectrum is one row of values"):
                measure(bad)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "kind", ["lognormal", "power law", "features", "noise", "zeros", "ties"]
)
def test_exponent_is_that_of_the_pinned_package(kind, seed):
    powerlaw = pytest.importorskip("powerlaw")
    values = spectrum(kind, seed)
    expected = powerlaw.Fit(values, discrete=False, verbose=False).alpha
    alpha = features.power_law_exponent(torch.from_numpy(values))
    assert alpha.shape == () and alpha.dtype == torch.float64
    assert alpha == pytest.approx(expected, rel=1e-6)


def test_exponent_is_the_recipe_one_x_min_after_the_other():
    values = np.sort(spectrum("lognormal", 7))
    best = (math.inf, math.nan)
    for x_min in values[:-1]:
        tail = values[values >= x_min]
        alpha = 1 + len(tail) / np.log(tail / x_min).sum()
        gap = 1 - (tail / x_min) ** (1 - alpha) - np.arange(len(tail)) / len(tail)
        best = min(best, (np.abs(gap).max(), alpha))
    assert features.power_law_exponent(torch.from_numpy(values)) == pytest.approx(
        best[1]
    )


@pytest.mark.parametrize("alpha", [1.3, 2.0, 3.5])
def test_exponent_of_an_exact_power_law(alpha):
    """Quantiles (1 - u)^(-1 / (alpha - 1)) at evenly spaced shares u."""
    share = (torch.arange(600).double() + 0.5) / 600
    values = (1 - share) ** (-1 / (alpha - 1))
    measured = features.power_law_exponent(values)
    assert measured == pytest.approx(alpha, rel=0.02)
    shuffled = values[torch.randperm(600, generator=torch.Generator().manual_seed(0))]
    assert features.power_law_exponent(shuffled) == measured
    scaled = features.power_law_exponent(1024 * values)
    torch.testing.assert_close(scaled, measured)


def test_exponent_at_the_edges():
    measure = features.power_law_exponent
    for values in ([2.0, 2.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0], [1.0, math.inf]):
        result = measure(torch.tensor(values))
        assert result.isnan() and result.shape == () and result.dtype == torch.float64
    assert measure(torch.tensor([1.0, math.e])) == pytest.approx(3)
    with_rest = torch.tensor([0.0, -5.0, 1.0, math.e])
    assert measure(with_rest) == pytest.approx(3)
    wide = torch.tensor([5e-324, 1e-300, 1.0, 2.0, 5.0, 1e300], dtype=torch.float64)
    assert 1 < measure(wide) < math.inf
    values = torch.from_numpy(spectrum("lognormal", 0)).float()
    assert measure(values) == measure(values.double())


def test_update_norm():
    before = {"in": random(3, 4), "out": random(5)}
    after = {"out": before["out"].clone(), "in": before["in"].clone()}
    assert features.update_norm(before, after) == 0
    after["in"][1, 2] += 3
    after["out"][0] -= 4
    value = features.update_norm(before, after)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(5)
    small = {"in": torch.ones(2)}
    nudged = {"in": torch.ones(2) + torch.finfo(torch.float32).eps}
    norm = features.update_norm(small, nudged)
    assert norm == pytest.approx(2**0.5 * torch.finfo(torch.float32).eps)
    stack = [
        {k: torch.stack([w, 0 * w]) for k, w in s.items()} for s in (before, after)
    ]
    values = torch.func.vmap(features.update_norm)(*stack)
    assert values.tolist() == pytest.approx([5, 0])


@pytest.mark.parametrize("other", [{}, {"b": torch.ones(2)}, {"a": torch.ones(1)}])
def test_update_norm_needs_one_set_of_parameters(other):
    with pytest.raises(ValueError, match="same names with the same shapes"):
        features.update_norm({"a": torch.ones(2)}, other)
