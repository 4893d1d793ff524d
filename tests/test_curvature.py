"""Curvature: quadratic forms, Adam's own scale, nearly collapsed softmaxes."""

import math

import pytest
import torch
from helpers import double as random

from grokbook import metrics


def quadratic(values):
    """x A x / 2 with these eigenvalues of A."""
    turn = torch.linalg.qr(random(len(values), len(values)))[0]
    matrix = turn * torch.tensor(values, dtype=torch.float64) @ turn.T
    return lambda params: params["x"] @ matrix @ params["x"] / 2


def test_known_spectra_also_preconditioned():
    mixed, plain = [3.0, 1.0, 0.5, -7.0], ([-1.0, -2.0, -4.0], [0.0, 0.0], [1e30, 2e30])
    # the most positive, not the longest; one product knows a multiple of the identity
    for values in (mixed, *plain, [5.0], [2.0, 2.0, 2.0]):
        params = {"x": random(len(values), seed=9)}
        found = metrics.largest_eigenvalue(quadratic(values), params, tolerance=1e-9)
        assert found == pytest.approx(max(values), rel=1e-9, abs=1e-300)
    two = {"a": random(3), "b": random(2)}  # a Hessian of 4 and 6, by name over 2 and 6
    own = {"b": torch.full((2,), 6.0).double(), "a": torch.full((3,), 2.0).double()}
    of_two = lambda p: 2 * p["a"].square().sum() + 3 * p["b"].square().sum()  # noqa: E731
    found = metrics.largest_eigenvalue(of_two, two, preconditioner=own)
    assert found == pytest.approx(2) and found.shape == ()
    broken = metrics.largest_eigenvalue(lambda p: (p["x"] / 0).sum() ** 2, params)
    assert broken.isnan()
    objective, params = quadratic([k / 100 for k in range(1, 101)]), {"x": random(100)}
    few = metrics.largest_eigenvalue(objective, params, products=4)
    assert few < 0.999 < metrics.largest_eigenvalue(objective, params) <= 1 + 1e-9


def test_probes_gather_around_the_trace():
    """And one is enough of a diagonal, whatever its signs."""
    loss, params, exact = quadratic([-1.0, 2.0, 3.0, 9.0]), {"x": random(4)}, 13
    values = metrics.probe_values(loss, params, probes=400)
    error = values.std() / 20
    assert abs(values.mean() - exact) < 3 * error < abs(exact)
    again = metrics.probe_values(loss, params, probes=2)
    assert torch.equal(again, values[:2]) and again[0] != again[1]
    scale = random(5)
    diagonal = lambda p: (scale * p["x"].square()).sum() / 2  # noqa: E731
    (one,) = metrics.probe_values(diagonal, {"x": random(5)}, probes=1)
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
