"""Curvature: exact Hessians of small networks, quadratic forms, Adam's own scale."""

import math

import pytest
import shapes
import torch
import torch.nn.functional as F

from grokbook import metrics

shapes.check(metrics)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def network():
    """A small classifier in float64: its parameters and its loss as a function."""
    params = {
        "in": random(4, 6),
        "bias": random(6, seed=1),
        "out": random(6, 3, seed=2),
    }
    x, labels = random(20, 4, seed=3), torch.arange(20) % 3

    def loss(params):
        hidden = (x @ params["in"] + params["bias"]).tanh()
        return F.cross_entropy(hidden @ params["out"], labels)

    return loss, params


def hessian(objective, params):
    """The whole matrix, from the second derivatives of one vector."""
    sizes = [w.numel() for w in params.values()]

    def of_vector(vector):
        pieces = zip(params.items(), vector.split(sizes), strict=True)
        return objective({name: part.view_as(w) for (name, w), part in pieces})

    return torch.autograd.functional.hessian(of_vector, flat(params))


def flat(vector):
    return torch.cat([v.flatten() for v in vector.values()])


def like(params, seed):
    return {name: random(*w.shape, seed=seed) for name, w in params.items()}


def quadratic(values):
    """x A x / 2 with these eigenvalues, and its A."""
    turn = torch.linalg.qr(random(len(values), len(values)))[0]
    matrix = turn * torch.tensor(values, dtype=torch.float64) @ turn.T
    return lambda params: params["x"] @ matrix @ params["x"] / 2, matrix


# Products ----------------------------------------------------------------------------


def test_products_are_those_of_the_whole_matrix():
    loss, params = network()
    matrix = hessian(loss, params)
    product = metrics.hessian_products(loss, params)
    for seed in (5, 6):
        vector = like(params, seed)
        image = product(vector)
        assert {n: w.shape for n, w in image.items()} == {
            n: w.shape for n, w in params.items()
        }
        torch.testing.assert_close(flat(image), matrix @ flat(vector))


def test_the_objective_is_evaluated_once_and_leaves_no_trace():
    loss, params = network()
    calls = []

    def counted(params):
        calls.append(params)
        return loss(params)

    before = torch.get_rng_state()
    with torch.no_grad():
        metrics.largest_eigenvalue(counted, params)
        assert len(calls) == 1
        metrics.hutchinson_trace(counted, params, probes=7)
    assert len(calls) == 2
    assert torch.equal(torch.get_rng_state(), before)
    assert all(w.grad is None and not w.requires_grad for w in params.values())


def test_unused_parameters_and_linear_objectives_have_no_curvature():
    params = {"a": random(3), "idle": random(2, 2)}
    vector = like(params, 1)
    image = metrics.hessian_products(lambda p: p["a"].pow(3).sum(), params)(vector)
    torch.testing.assert_close(image["a"], 6 * params["a"] * vector["a"])
    assert (image["idle"] == 0).all()
    straight = metrics.hessian_products(lambda p: p["a"].sum(), params)(vector)
    assert all((w == 0).all() for w in straight.values())
    assert metrics.largest_eigenvalue(lambda p: p["a"].sum(), params).value == 0


# Largest eigenvalue ------------------------------------------------------------------


def test_largest_eigenvalue_of_a_network():
    loss, params = network()
    exact = torch.linalg.eigvalsh(hessian(loss, params))[-1]
    for seed in range(2):
        found = metrics.largest_eigenvalue(loss, params, seed=seed)
        assert found.value.shape == () and found.value.dtype == torch.float64
        assert 1 < found.products < 50
        assert abs(found.value - exact) <= found.error <= 1e-3 * found.value
        close = metrics.largest_eigenvalue(loss, params, tolerance=1e-10, seed=seed)
        torch.testing.assert_close(close.value, exact, rtol=1e-9, atol=0)
        assert close.products > found.products
    assert metrics.largest_eigenvalue(loss, params, seed=seed) == found


def test_known_spectra():
    for values, largest in (
        ([3.0, 1.0, 0.5, -7.0], 3.0),  # the most positive, not the longest
        ([-1.0, -2.0, -4.0], -1.0),
        ([2.0, 2.0, 2.0], 2.0),  # one product knows a multiple of the identity
        ([5.0], 5.0),
        ([0.0, 0.0], 0.0),
        ([1e-30, 2e-30], 2e-30),
        ([1e30, 2e30], 2e30),
    ):
        objective, _ = quadratic(values)
        params = {"x": random(len(values), seed=9)}
        found = metrics.largest_eigenvalue(objective, params, tolerance=1e-9)
        assert found.value == pytest.approx(largest, rel=1e-9, abs=1e-300)
        assert found.products <= len(values)
        assert found.error <= 1e-8 * max(abs(v) for v in values)


def test_too_few_products_give_a_lower_bound_and_say_so():
    objective, _ = quadratic([k / 100 for k in range(1, 101)])
    params, values = {"x": random(100, seed=9)}, []
    for products in (1, 4, 16, 64):
        how = {"products": products, "tolerance": 1e-6}
        found = metrics.largest_eigenvalue(objective, params, **how)
        values.append(found.value.item())
        enough = products == 64
        assert (found.error <= 1e-6 * found.value) == enough
        assert (found.products < products) == enough
    assert values == sorted(values) and values[-1] == pytest.approx(1, rel=1e-6)


def test_preconditioned_by_a_diagonal():
    loss, params = network()
    scale = {n: w.abs() + 1e-3 for n, w in like(params, 20).items()}
    matrix = hessian(loss, params) / flat(scale)[:, None]  # the same eigenvalues
    exact = torch.linalg.eigvals(matrix).real.max()
    how = {"tolerance": 1e-8}
    found = metrics.largest_eigenvalue(loss, params, preconditioner=scale, **how)
    torch.testing.assert_close(found.value, exact)
    turned = dict(reversed(scale.items()))
    again = metrics.largest_eigenvalue(loss, params, preconditioner=turned, **how)
    assert again == found
    ones = {n: torch.ones_like(w) for n, w in params.items()}
    plain = metrics.largest_eigenvalue(loss, params)
    assert metrics.largest_eigenvalue(loss, params, preconditioner=ones) == plain


# Trace -------------------------------------------------------------------------------


def test_traces():
    loss, params = network()
    exact = hessian(loss, params).trace()
    trace = metrics.hutchinson_trace(loss, params, probes=400)
    assert trace.mean.dtype == trace.error.dtype == torch.float64
    assert abs(trace.mean - exact) < 3 * trace.error < abs(exact)
    other = metrics.hutchinson_trace(loss, params, probes=400, seed=1)
    assert other.mean != trace.mean and abs(other.mean - exact) < 3 * other.error
    # z A z of a diagonal is its trace, whatever the signs
    values = metrics.probe_values(loss, params, probes=6, seed=3)
    trace = metrics.hutchinson_trace(loss, params, probes=6, seed=3)
    torch.testing.assert_close(trace.mean, values.mean())
    torch.testing.assert_close(trace.error, values.std() / 6**0.5)
    first = metrics.probe_values(loss, params, probes=2, seed=3)
    assert torch.equal(first, values[:2]) and first[0] != first[1]
    point, scale = {"x": random(5, seed=1)}, random(5)
    one = metrics.hutchinson_trace(
        lambda p: (scale * p["x"].square()).sum() / 2, point, probes=1
    )
    torch.testing.assert_close(one.mean, scale.sum())
    assert one.error.isnan()


# Exact trace of a ReLU network -------------------------------------------------------


class Relu:
    """A ReLU network in float64 as a function of one vector of all its parameters."""

    def __init__(self, *sizes, biases, rows=13):
        pairs = list(zip(sizes[1:], sizes, strict=False))
        self.biases = [biases] * len(pairs) if isinstance(biases, bool) else biases
        together = zip(pairs, self.biases, strict=True)
        self.shapes = [(a, b + has) for (a, b), has in together]
        self.sizes = [a * b for a, b in self.shapes]
        self.vector = 0.8 * random(sum(self.sizes), seed=4)
        self.x = random(rows, sizes[0], seed=5)
        self.labels = torch.arange(rows) % sizes[-1]

    def layers(self, vector):
        """What every layer reads and its matrix, a bias being a column; and logits."""
        read, weights, x = [], [], self.x
        parts = zip(vector.split(self.sizes), self.shapes, self.biases, strict=True)
        for part, shape, has_bias in parts:
            matrix = part.view(shape)
            read.append(x.relu() if read else x)
            x = F.pad(read[-1], (0, int(has_bias)), value=1.0) @ matrix.T
            weights.append(matrix[:, : read[-1].shape[1]])
        return read, weights, x

    def losses(self, vector):
        logits = self.layers(vector)[-1]
        return F.cross_entropy(logits, self.labels, reduction="none")

    def trace(self, **how):
        (x, *hidden), (_, *weights), logits = self.layers(self.vector)
        seen = x.square().sum(1), weights, hidden, logits, self.labels
        return metrics.relu_trace(*seen, bias=self.biases, **how)


def test_exact_trace_is_that_of_the_whole_hessian():
    for sizes, biases in (
        ((4, 3), True),
        ((4, 6, 5, 3), False),
        ((3, 5, 4, 6, 2), True),
        ((4, 6, 5, 3), (True, True, False)),
        ((4, 6, 5, 3), (False, False, True)),
    ):
        one = Relu(*sizes, biases=biases)
        found = one.trace()
        matrix = torch.autograd.functional.hessian(
            lambda v, one=one: one.losses(v).mean(), one.vector
        )
        assert found.hessian.shape == () and found.hessian.dtype == torch.float64
        torch.testing.assert_close(found.hessian, matrix.trace(), rtol=1e-12, atol=0)
        slopes = torch.autograd.functional.jacobian(one.losses, one.vector)
        fisher = slopes.square().sum(dim=1).mean()
        torch.testing.assert_close(found.fisher, fisher, rtol=1e-12, atol=0)
        assert abs(found.fisher / found.hessian - 1) > 1e-2  # the two are not alike
        for at_once in (1, 5, 13):  # nor does it depend on its batches
            again = one.trace(at_once=at_once)
            torch.testing.assert_close(again, found, rtol=1e-13, atol=0)


def test_exact_trace_of_a_nearly_collapsed_softmax():
    """Two classes, the wrong one with probability q: |x|^2 + 1 times 2 q (1 - q).

    1 - sum p^2 would have lost four figures at 1e-12, and all of them at 1e-17.
    """
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


def test_what_has_no_curvature():
    params = {"x": random(3)}

    def nothing_finite(params):
        return (params["x"] / 0).sum() ** 2

    found = metrics.largest_eigenvalue(nothing_finite, params)
    assert found.value.isnan() and found.error.isnan()
    assert metrics.hutchinson_trace(nothing_finite, params, probes=2).mean.isnan()
    for call, message in (
        (lambda loss, p: metrics.probe_values(loss, p, probes=0), "1 probe, not 0"),
        (lambda _, p: metrics.hessian_products(lambda q: q["in"], p), "is one number"),
        (
            lambda _, p: metrics.hessian_products(lambda _: random(1).sum(), p),
            "does not depend on its parameters",
        ),
        (lambda loss, _: metrics.hutchinson_trace(loss, {}), "There are no parameters"),
    ):
        with pytest.raises(ValueError, match=message):
            call(*network())
