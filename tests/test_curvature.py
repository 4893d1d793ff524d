"""Curvature: exact Hessians of small networks, quadratic forms, Adam's own scale."""

import math
import warnings

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
    """The whole matrix, by forward over reverse mode."""
    with warnings.catch_warnings():  # torch's forward mode still uses torch.jit
        warnings.simplefilter("ignore", DeprecationWarning)
        blocks = torch.func.hessian(objective)(dict(params))
    return torch.cat(
        [
            torch.cat(
                [
                    blocks[row][column].reshape(params[row].numel(), -1)
                    for column in params
                ],
                dim=1,
            )
            for row in params
        ]
    )


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


def test_parameters_changed_between_products_are_refused():
    """Rather a RuntimeError than a product of two points."""
    params = {"x": random(3)}
    product = metrics.hessian_products(lambda p: p["x"].pow(4).sum(), params)
    params["x"] += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product({"x": random(3)})


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
    params = {"x": random(100, seed=9)}
    found = [
        metrics.largest_eigenvalue(objective, params, products=k, tolerance=1e-6)
        for k in (1, 4, 16, 64)
    ]
    values = [f.value.item() for f in found]
    assert values == sorted(values) and values[-1] == pytest.approx(1, rel=1e-6)
    assert all(f.error > 1e-6 * f.value for f in found[:3])
    assert [f.products for f in found[:3]] == [1, 4, 16]
    assert found[3].error <= 1e-6 and found[3].products < 64


def test_fifty_products_and_a_thousandth_are_the_rule():
    """One spectrum is left at the tolerance, one at the last of the products."""
    rising, steep = [k / 100 for k in range(1, 101)], [-float(k) for k in range(1, 100)]
    for values, is_enough in ((rising, True), ([*steep, 1e-6], False)):
        objective, params = quadratic(values)[0], {"x": random(100, seed=9)}
        found = metrics.largest_eigenvalue(objective, params)
        rule = {"products": 50, "tolerance": 1e-3, "seed": 0}
        assert found == metrics.largest_eigenvalue(objective, params, **rule)
        assert (found.error <= 1e-3 * found.value.abs()) == is_enough
        assert (found.products < 50) == is_enough


def test_the_collapsed_softmax_needs_float64():
    """Three classes, one ahead by 17: 3 exp(-17) in float64 alone."""
    logits = {"z": torch.tensor([17.0, 0.0, 0.0])}
    labels = torch.tensor([0])

    def loss(params):
        return F.cross_entropy(params["z"][None], labels)

    share = logits["z"].double().softmax(0)
    exact = torch.linalg.eigvalsh(share.diag() - share.outer(share))[-1]
    assert exact == pytest.approx(3 * math.exp(-17), rel=1e-6)
    double = {"z": logits["z"].double()}
    assert metrics.largest_eigenvalue(loss, double).value == pytest.approx(exact.item())
    rounded = metrics.largest_eigenvalue(loss, logits)
    assert rounded.value.dtype == torch.float64
    assert abs(rounded.value / exact - 1) > 0.2


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


def test_one_probe_knows_a_diagonal():
    scale = random(5)
    trace = metrics.hutchinson_trace(
        lambda p: (scale * p["x"].square()).sum() / 2,
        {"x": random(5, seed=1)},
        probes=1,
    )
    torch.testing.assert_close(trace.mean, scale.sum())
    assert trace.error.isnan()


def test_trace_of_a_network():
    loss, params = network()
    exact = hessian(loss, params).trace()
    trace = metrics.hutchinson_trace(loss, params, probes=400)
    assert trace.mean.shape == trace.error.shape == ()
    assert trace.mean.dtype == trace.error.dtype == torch.float64
    assert abs(trace.mean - exact) < 3 * trace.error < abs(exact)
    other = metrics.hutchinson_trace(loss, params, probes=400, seed=1)
    assert other.mean != trace.mean
    assert abs(other.mean - exact) < 3 * other.error
    assert metrics.hutchinson_trace(loss, params, probes=400) == trace
    shorter = metrics.hutchinson_trace(loss, params, probes=100, seed=0)
    assert metrics.hutchinson_trace(loss, params) == shorter


def test_probes_one_by_one():
    """z A z of a diagonal is its trace, whatever the signs; their mean is the trace."""
    objective, matrix = quadratic([1.0, 2.0, 5.0, -3.0])
    params = {"x": random(4, seed=9)}
    values = metrics.probe_values(objective, params, probes=6, seed=3)
    assert values.shape == (6,) and values.dtype == torch.float64
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0]).double()] * 4)
    possible = (corners @ matrix * corners).sum(1)
    assert all((possible - value).abs().min() < 1e-12 for value in values)
    assert len(values.unique()) > 1
    trace = metrics.hutchinson_trace(objective, params, probes=6, seed=3)
    torch.testing.assert_close(trace.mean, values.mean())
    torch.testing.assert_close(trace.error, values.std() / 6**0.5)
    first = metrics.probe_values(objective, params, probes=2, seed=3)
    assert torch.equal(first, values[:2])
    many = metrics.probe_values(objective, params, probes=500)
    assert abs(many.mean() - 5) < 4 * many.std() / 500**0.5
    with pytest.raises(ValueError, match="at least 1 probe, not 0"):
        metrics.probe_values(objective, params, probes=0)


# Exact trace of a ReLU network -------------------------------------------------------


class Relu:
    """A ReLU network in float64 as a function of one vector of all its parameters."""

    def __init__(self, *sizes, biases=True, rows=13):
        shapes = list(zip(sizes[1:], sizes, strict=False))
        every = [biases] * len(shapes) if isinstance(biases, bool) else biases
        self.shapes = [
            part
            for shape, has_bias in zip(shapes, every, strict=True)
            for part in ([shape, shape[:1]] if has_bias else [shape])
        ]
        self.biases = biases
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.vector = 0.8 * random(sum(self.sizes), seed=4)
        self.x = random(rows, sizes[0], seed=5)
        self.labels = torch.arange(rows) % sizes[-1]

    def parts(self, vector):
        parts = vector.split(self.sizes)
        return [p.view(s) for p, s in zip(parts, self.shapes, strict=True)]

    def layers(self, vector, x):
        """What every layer gives, the last one the logits."""
        given = []
        for part in self.parts(vector):
            if part.ndim == 2:
                given.append((given[-1].relu() if given else x) @ part.T)
            else:
                given[-1] = given[-1] + part
        return given

    def losses(self, vector):
        logits = self.layers(vector, self.x)[-1]
        return F.cross_entropy(logits, self.labels, reduction="none")

    def trace(self, **how):
        *hidden, logits = self.layers(self.vector, self.x)
        weights = [part for part in self.parts(self.vector) if part.ndim == 2]
        return metrics.relu_trace(
            self.x.square().sum(1),
            weights[1:],
            [h.relu() for h in hidden],
            logits,
            self.labels,
            bias=self.biases,
            **how,
        )


NETWORKS = {
    "no hidden layer": {"sizes": (4, 3)},
    "one, no bias": {"sizes": (4, 6, 3), "biases": False},
    "two, no bias": {"sizes": (4, 6, 5, 3), "biases": False},
    "three": {"sizes": (3, 5, 4, 6, 2)},
    "a bias below the head": {"sizes": (4, 6, 5, 3), "biases": (True, True, False)},
    "a bias of the head": {"sizes": (4, 6, 5, 3), "biases": (False, False, True)},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_trace_is_that_of_the_whole_hessian(name):
    how = dict(NETWORKS[name])
    one = Relu(*how.pop("sizes"), **how)
    found = one.trace()
    matrix = torch.autograd.functional.hessian(
        lambda v: one.losses(v).mean(), one.vector
    )
    assert found.hessian.shape == () and found.hessian.dtype == torch.float64
    torch.testing.assert_close(found.hessian, matrix.trace(), rtol=1e-12, atol=0)
    slopes = torch.autograd.functional.jacobian(one.losses, one.vector)
    fisher = slopes.square().sum(dim=1).mean()
    torch.testing.assert_close(found.fisher, fisher, rtol=1e-12, atol=0)
    assert abs(found.fisher / found.hessian - 1) > 1e-2  # the two are not alike
    for at_once in (1, 5, 13, 100):  # nor does it depend on its batches
        again = one.trace(at_once=at_once)
        torch.testing.assert_close(again, found, rtol=1e-13, atol=0)


@pytest.mark.parametrize("share", [0.3, 1e-12, 1e-300])
def test_exact_trace_of_a_nearly_collapsed_softmax(share):
    """Two classes, the wrong one with probability q: |x|^2 + 1 times 2 q (1 - q).

    1 - sum p^2 would have lost four figures at 1e-12, and all of them at 1e-17.
    """
    gap = math.log1p(-share) - math.log(share)
    logits = torch.tensor([[gap, 0.0], [0.0, gap]], dtype=torch.float64)
    squares, labels = torch.tensor([3.0, 5.0]).double(), torch.tensor([0, 1])
    for bias, length in ((True, 5.0), (False, 4.0)):
        found = metrics.relu_trace(squares, [], [], logits, labels, bias=bias)
        expected = 2 * length * share * (1 - share)
        assert float(found.hessian) == pytest.approx(expected, rel=1e-12)
        expected = 2 * length * share**2
        assert float(found.fisher) == pytest.approx(expected, rel=1e-12)


def test_exact_trace_of_float32_is_taken_in_float64():
    one = Relu(4, 6, 5, 3)
    *hidden, logits = (t.float() for t in one.layers(one.vector, one.x))
    weights = [p.float() for p in one.parts(one.vector) if p.ndim == 2][1:]
    seen = one.x.square().sum(1).float(), weights, [h.relu() for h in hidden]
    found = metrics.relu_trace(*seen, logits, one.labels)
    torch.testing.assert_close(found, one.trace(), rtol=1e-5, atol=0)
    assert found.hessian.dtype == found.fisher.dtype == torch.float64


# Errors ------------------------------------------------------------------------------


def nothing_finite(params):
    return (params["x"] / 0).sum() ** 2


def test_what_is_not_finite_gives_nan():
    params = {"x": random(3)}
    found = metrics.largest_eigenvalue(nothing_finite, params)
    assert found.value.isnan() and found.error.isnan()
    assert metrics.hutchinson_trace(nothing_finite, params, probes=2).mean.isnan()


def test_errors():
    for call, message in (
        (lambda loss, p: metrics.probe_values(loss, p, probes=0), "1 probe, not 0"),
        (
            lambda loss, p: metrics.largest_eigenvalue(loss, p, products=0),
            "at least 1 product, not 0",
        ),
        (
            lambda _, p: metrics.hessian_products(lambda q: q["in"], p),
            "The objective is one number",
        ),
        (
            lambda _, p: metrics.hessian_products(lambda _: random(1).sum(), p),
            "does not depend on its parameters",
        ),
        (lambda loss, _: metrics.hutchinson_trace(loss, {}), "There are no parameters"),
    ):
        with pytest.raises(ValueError, match=message):
            call(*network())
