"""What does not exist is NaN: out of every metric and observable, and of nothing."""

import inspect
import itertools
import math
from functools import partial

import pytest
import torch
from helpers import double as random
from test_observables import PLAIN, rows_of, snapshot
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from claimbook.observing import Snapshot, observe
from grokbook import metrics

LABELS = torch.arange(9) % 4
PAIRS = torch.cartesian_prod(torch.arange(3), torch.arange(3))
LOGITS, FEATURES, HEAD = random(9, 4), random(9, 6, seed=1), random(4, 6, seed=2)
EIGENVALUES = random(9, seed=3).abs()


def quartic(params):
    """An objective whose Hessian depends on where it is taken."""
    return params["w"].square().square().sum()


# Every public metric: how it is called, and on what. A NaN at any place of any of these
# tensors has to come out in every tensor that is returned.
CALLS = {
    "absorbed_fraction": [(metrics.absorbed_fraction, FEATURES, 1e-17 * FEATURES)],
    "accuracy": [(lambda z: metrics.accuracy(z, LABELS), LOGITS)],
    "attention_entropy": [(metrics.attention_entropy, random(2, 3, 4, 4).softmax(-1))],
    "class_sum": [(lambda z: metrics.class_sum(z, LABELS), LOGITS)],
    "collapse_fraction": [
        (lambda z, t=t: metrics.collapse_fraction(z, dtype=t), 30 * LOGITS)
        for t in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    ],
    "collapsed": [(lambda z: metrics.collapsed(z, LABELS), 30 * LOGITS)],
    "cosine": [(metrics.cosine, FEATURES, FEATURES + 1)],
    "effective_rank": [(metrics.effective_rank, EIGENVALUES)],
    "feature_alignment": [(metrics.feature_alignment, FEATURES)],
    "fourier_concentration": [
        (lambda w: metrics.fourier_concentration(w, p=9), FEATURES)
    ],
    "fourier_spectrum": [(metrics.fourier_spectrum, FEATURES)],
    "global_means": [
        (lambda w: metrics.global_means(w, FEATURES)[0], HEAD),
        (lambda h: metrics.global_means(HEAD, h)[1], FEATURES),
    ],
    "gram_eigenvalues": [
        (metrics.gram_eigenvalues, FEATURES),
        (lambda h: metrics.gram_eigenvalues(h, exact=False), FEATURES),
    ],
    "joint_cosine": [
        (lambda a, b: metrics.joint_cosine([a, b], [b, a]), FEATURES, FEATURES + 1)
    ],
    "largest_eigenvalue": [
        (lambda w: metrics.largest_eigenvalue(quartic, {"w": w}), EIGENVALUES)
    ],
    "margins": [(lambda z: metrics.margins(z, LABELS), LOGITS)],
    "median": [(metrics.median, EIGENVALUES)],
    "near_one": [(lambda x: metrics.near_one([x]), FEATURES)],
    "neural_collapse": [
        (lambda h: metrics.neural_collapse(h, LABELS, HEAD), FEATURES),
        (lambda w: metrics.neural_collapse(FEATURES, LABELS, w).duality_error, HEAD),
    ],
    "participation_ratio": [(metrics.participation_ratio, EIGENVALUES)],
    "power_law_exponent": [(metrics.power_law_exponent, EIGENVALUES)],
    "probe_values": [
        (lambda w: metrics.probe_values(quartic, {"w": w}, probes=2), EIGENVALUES)
    ],
    "radial_energy": [(metrics.radial_energy, FEATURES, FEATURES + 1)],
    "ratio": [
        (metrics.ratio, FEATURES, FEATURES),
        (metrics.ratio, torch.zeros(3), torch.zeros(3)),
    ],
    "relu_trace": [
        (
            lambda x, first, w, h, z: metrics.relu_trace(
                x, [first, w], [h.relu(), h], z, LABELS, bias=True
            ),
            EIGENVALUES,
            random(6, 6, seed=4),
            HEAD,
            FEATURES,
            LOGITS,
        )
    ],
    "residual_mass": [(lambda z: metrics.residual_mass(z, LABELS), LOGITS)],
    "share": [(lambda x: metrics.share(x == 0, of=x), EIGENVALUES)],
    "shared_direction": [(metrics.shared_direction, FEATURES)],
    "stable_rank": [(metrics.stable_rank, EIGENVALUES)],
    "top_accuracy": [(lambda z: metrics.top_accuracy(z, LABELS, k=2), LOGITS)],
    "top_gap": [(metrics.top_gap, LOGITS)],
    "top_share": [(lambda x: metrics.top_share(x, k=3), EIGENVALUES)],
    "total_norm": [(lambda a, b: metrics.total_norm([a, b]), FEATURES, HEAD)],
    "update_norm": [
        (lambda a, b: metrics.update_norm({"w": a}, {"w": b}), FEATURES, FEATURES + 1)
    ],
    "waves": [(lambda h: metrics.waves(h, PAIRS, 3), FEATURES)],
}
# Those for which a sum, a comparison or an order with an infinite entry has a value.
INFINITE = {"accuracy", "top_accuracy", "absorbed_fraction", "share", "median"}
INFINITE |= {"margins", "residual_mass", "ratio"}


def planted(name, value, count=6):
    """Yield what a metric returns with a value at random places, one at a time."""
    generator = torch.Generator().manual_seed(0)
    for call, *inputs in CALLS[name]:
        for index, tensor in enumerate(inputs):
            for place in torch.randint(tensor.numel(), [count], generator=generator):
                changed = tensor.clone()
                changed.view(-1)[place] = value
                given = [*inputs[:index], changed, *inputs[index + 1 :]]
                yield from tree_leaves(call(*given))


def test_every_public_metric_is_called_here():
    public = {
        name
        for name, value in vars(metrics).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    ours = {n for n in public if vars(metrics)[n].__module__.startswith("grokbook.met")}
    assert {*CALLS} == ours
    for name, calls in CALLS.items():
        for call, *inputs in calls:
            assert all(v.isfinite().all() for v in tree_leaves(call(*inputs))), name


@pytest.mark.parametrize("name", CALLS)
def test_nan_in_is_nan_out(name):
    assert all(found.isnan().any() for found in planted(name, math.nan))


@pytest.mark.parametrize("name", sorted({*CALLS} - INFINITE))
def test_an_infinite_number_in_is_no_number_out(name):
    """Not 0 either: a norm is infinite, a quotient of two infinite norms is NaN."""
    for found in planted(name, math.inf):
        assert not found.isfinite().all()


def test_every_column_of_a_network_of_nan_is_nan():
    """Of hidden layers too: the tokens of the snapshot become all pairs modulo 3."""
    s = snapshot()
    layers = {"pre.0": random(9, 4), "hidden.0": random(9, 4), **s.train.taps}
    train = s.train._replace(inputs=PAIRS, logits=LOGITS[:, :3], taps=layers)
    test = s.test._replace(inputs=PAIRS[:0], taps={n: h[:0] for n, h in layers.items()})
    of_layers = Snapshot({}, train=train, test=test)
    for before, names in ((s, PLAIN), (of_layers, ["ranks", "periodic"])):
        assert not any(value.isnan() for value in observe(before, names).values())
        values = observe(tree_map(without_values, before), names)
        assert [name for name, value in values.items() if not value.isnan()] == []


def without_values(leaf):
    """NaN in place of every number, where a tensor has numbers and not labels."""
    return torch.full_like(leaf, math.nan) if leaf.is_floating_point() else leaf


def test_no_rows_have_no_accuracy_and_no_share_of_anything():
    none = rows_of(snapshot(), slice(0, 0))
    values = observe(none, ["core", "top5", "collapse", "exact_match"])
    assert len(values) == 11 and all(value.isnan() for value in values.values())
    assert metrics.share(torch.zeros(0, dtype=torch.bool)).isnan()


class Reciprocals(TorchDispatchMode):
    """Divides by a number as a GPU does: it multiplies by the reciprocal."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.div.Tensor and isinstance(args[1], int | float):
            return args[0] * (1 / args[1])
        return function(*args, **(kwargs or {}))


def test_a_share_of_everything_is_one_for_every_count():
    for count in range(1, 13_000, 13):
        assert metrics.share(torch.ones(1, dtype=torch.bool).expand(count)) == 1
    counts = [count for count in range(1, 13_000) if count * (1 / count) != 1]
    assert 3_763 in counts and 3_764 in counts  # the tests of p = 97
    with Reciprocals():
        for count in counts[::20]:
            assert metrics.share(torch.ones(1, dtype=torch.bool).expand(count)) == 1


def test_fewer_bits_never_collapse_less():
    """Nor where float16 has no number for a logit: it ends at 65,504."""
    dtypes = (torch.float16, torch.float32, torch.float64)
    for scale, seed in itertools.product((1, 30, 3e3, 6e4, 7e4, 1e6, 1e30), range(5)):
        logits = scale * random(50, 7, seed=seed)
        for given in (logits, logits.float(), logits + scale, logits - 9 * scale):
            shares = [metrics.collapse_fraction(given, dtype=t) for t in dtypes]
            assert 1 >= shares[0] >= shares[1] >= shares[2] >= 0
    for top in (6e4, 7e4, 1e38):
        for dtype in dtypes:
            given = torch.tensor([[top, 0.0], [0.0, -top], [top, top]])
            assert metrics.collapse_fraction(given, dtype=dtype) == 2 / 3


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_what_does_not_depend_on_the_length_does_not_at_the_ends_of_float64(scale):
    other = FEATURES + 1
    expected = float(metrics.cosine(FEATURES, other))
    found = metrics.cosine(scale * FEATURES, other / scale)
    assert float(found) == pytest.approx(expected, rel=1e-12)
    for measure in (metrics.participation_ratio, partial(metrics.top_share, k=3)):
        expected = float(measure(EIGENVALUES))
        assert float(measure(scale * EIGENVALUES)) == pytest.approx(expected, rel=1e-12)
    # a power of two is divided out without a rounding
    for power in (2.0**-30, 1.0, 2.0**40):
        (found,) = metrics.near_one([power * FEATURES])
        assert torch.equal(found, FEATURES / 4) and 0.5 <= found.abs().max() < 1
