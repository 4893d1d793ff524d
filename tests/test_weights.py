"""Weights, radial energy and curvature: by hand, lost steps, masks, Adam's scale."""

import math

import pytest
import torch
from helpers import double, random

from grokbook import metrics


def test_norms_ratios_medians_and_cosines():
    """A ratio to nothing is nothing, a median is torch's."""
    for found in ([3.0, 1.0, 2.0, 5.0], [2.0], [1.0, float("nan"), 0.0]):
        both = metrics.median(values := torch.tensor(found)), values.median()
        assert torch.equal(*map(torch.nan_to_num, both))
    assert metrics.total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])]) == 5
    assert metrics.total_norm([torch.tensor([1e-30])]) == pytest.approx(1e-30)
    part = torch.tensor([3.0, 3.0, 3.0, 0.0]).double()
    whole = torch.tensor([2.0, 0.0, -2.0, 0.0]).double()
    found = torch.func.vmap(metrics.ratio)(part, whole)
    assert found.tolist() == [1.5, 0, -1.5, 0]
    a = random(4, 3)
    small = 1e-30 * a
    for one, other, cosine in ((a, 5 * a, 1), (a, -a, -1), (small, small, 1)):
        assert metrics.cosine(one, other) == pytest.approx(cosine)
    assert metrics.cosine(a, torch.zeros(4, 3)) == 0
    assert metrics.cosine(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])) == 0


def test_absorbed_steps():
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    step = torch.tensor([2**-25, 2**-20, 0.0, 1e-40])
    assert metrics.absorbed_fraction(weight, step) == 0.25
    # half of an ulp goes to the even neighbour, which is the weight
    ulp = torch.finfo(torch.float32).eps * weight
    assert metrics.absorbed_fraction(weight, ulp / 2) == 0.75
    assert metrics.absorbed_fraction(weight, ulp) == 0
    assert metrics.absorbed_fraction(weight, torch.stack([ulp / 2, ulp])) == 0.375
    for other in (step[:1], step[:, None], step[0]):  # each would broadcast
        with pytest.raises(ValueError, match="is no step of"):
            metrics.absorbed_fraction(weight, other)


def test_update_norm():
    before = {"in": random(3, 4), "out": random(5)}
    after = {"out": before["out"].clone(), "in": before["in"].clone()}
    after["in"][1, 2] += 3
    after["out"][0] -= 4
    assert metrics.update_norm(before, after) == pytest.approx(5)


D = 16


def across(h, g):
    """g without its part along h, row by row."""
    return g - (g * h).sum(1, keepdim=True) / h.square().sum(1, keepdim=True) * h


def test_radial_energy_of_known_angles_and_of_rows_that_do_not_count():
    """cos = 3/5 in every row, of any length; all of it along, nothing across."""
    h = random(40, D).double()
    h = h / h.norm(dim=1, keepdim=True)
    side = across(h, random(40, D, seed=1).double())
    side = side / side.norm(dim=1, keepdim=True)
    lengths = random(40, 1, seed=2).double().exp()
    for along, beside, expected in ((3, -4, 9 / 25), (-1, 0, 1), (0, 1, 0)):
        found = metrics.radial_energy(7 * h, lengths * (along * h + beside * side))
        for name in ("mean", "summed", "masked"):
            assert found[name] == pytest.approx(D * expected, abs=1e-12)
    # along, across, along with |g|^2 below the mask, no gradient, no activation
    h = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    g = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.9e-6, 0.0], [0.0, 0.0], [0.0, 1.0]])
    found = metrics.radial_energy(h, g)
    assert found == pytest.approx({"mean": 4 / 3, "summed": 2 / 3, "masked": 2 / 5})
    found = metrics.radial_energy(h, torch.zeros(5, 2))
    assert not any(found.values())
    # above the mask along h, and across it with a square that is 0 in float64
    g = torch.tensor([[1.1e-6, 0.0], [0.0, 1e-200]], dtype=torch.float64)
    small = metrics.radial_energy(h[:2], g)
    assert small["mean"] == small["masked"] == pytest.approx(1)


def test_shared_direction():
    """Alike, opposite, one for every axis, independent, and none."""
    row = random(1, D)
    assert metrics.shared_direction(row.repeat(9, 1)) == pytest.approx(1)
    assert metrics.shared_direction(torch.cat([row, -row])) == 0
    assert metrics.shared_direction(7 * torch.eye(D)) == pytest.approx(1 / D)
    with_mean = random(400, 50, seed=1) + 10
    assert metrics.shared_direction(with_mean) == pytest.approx(100 / 101, rel=0.01)
    assert metrics.shared_direction(torch.zeros(3, D)) == 0


def quadratic(values):
    """x A x / 2 with these eigenvalues of A."""
    turn = torch.linalg.qr(double(len(values), len(values)))[0]
    matrix = turn * torch.tensor(values, dtype=torch.float64) @ turn.T
    return lambda params: params["x"] @ matrix @ params["x"] / 2


def test_known_spectra_also_preconditioned():
    mixed, plain = [3.0, 1.0, 0.5, -7.0], ([-1.0, -2.0, -4.0], [0.0, 0.0], [1e30, 2e30])
    # the most positive, not the longest; one product knows a multiple of the identity
    for values in (mixed, *plain, [5.0], [2.0, 2.0, 2.0]):
        params = {"x": double(len(values), seed=9)}
        found = metrics.largest_eigenvalue(quadratic(values), params, tolerance=1e-9)
        assert found == pytest.approx(max(values), rel=1e-9, abs=1e-300)
    two = {"a": double(3), "b": double(2)}  # a Hessian of 4 and 6, by name over 2 and 6
    own = {"b": torch.full((2,), 6.0).double(), "a": torch.full((3,), 2.0).double()}
    of_two = lambda p: 2 * p["a"].square().sum() + 3 * p["b"].square().sum()  # noqa: E731
    found = metrics.largest_eigenvalue(of_two, two, preconditioner=own)
    assert found == pytest.approx(2) and found.shape == ()
    broken = metrics.largest_eigenvalue(lambda p: (p["x"] / 0).sum() ** 2, params)
    assert broken.isnan()
    objective, params = quadratic([k / 100 for k in range(1, 101)]), {"x": double(100)}
    few = metrics.largest_eigenvalue(objective, params, most_products=4)
    assert few < 0.999 < metrics.largest_eigenvalue(objective, params) <= 1 + 1e-9
    # the tolerance is a share of the value, however long the longest eigenvector is
    for size in (1.0, 1e-3):
        values = [-1000.0, *(k / 100 for k in range(1, 101))]
        objective = quadratic([size * value for value in values])
        found = metrics.largest_eigenvalue(objective, {"x": double(101)})
        assert 0.998 < found / size <= 1 + 1e-9


def test_probes_gather_around_the_trace():
    loss, params, exact = quadratic([-1.0, 2.0, 3.0, 9.0]), {"x": double(4)}, 13
    values = metrics.probe_values(loss, params, probe_count=400)
    error = values.std() / 20
    assert abs(values.mean() - exact) < 3 * error < abs(exact)
    again = metrics.probe_values(loss, params, probe_count=2)
    assert torch.equal(again, values[:2]) and again[0] != again[1]
    scale = double(5)
    diagonal = lambda p: (scale * p["x"].square()).sum() / 2  # noqa: E731
    (one,) = metrics.probe_values(diagonal, {"x": double(5)}, probe_count=1)
    torch.testing.assert_close(one, scale.sum())


def test_exact_trace_of_a_nearly_collapsed_softmax():
    """Two classes, the wrong one with probability q: |x|^2 + 1 times 2 q (1 - q)."""
    squares, labels = torch.tensor([3.0, 5.0]).double(), torch.tensor([0, 1])
    for share in (0.3, 1e-12, 1e-300):
        gap = math.log1p(-share) - math.log(share)
        logits = torch.tensor([[gap, 0.0], [0.0, gap]], dtype=torch.float64)
        for bias, length in ((True, 5.0), (False, 4.0)):
            found = metrics.relu_trace(squares, [], [], logits, labels, bias=bias)
            expected = 2 * length * share * (1 - share)
            assert float(found.hessian) == pytest.approx(expected, rel=1e-12)
            expected = 2 * length * share**2
            assert float(found.fisher) == pytest.approx(expected, rel=1e-12)
