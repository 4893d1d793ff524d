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
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from claimbook.observing import Snapshot, observe
from grokbook import metrics

FEATURES, EIGENVALUES = random(9, 6, seed=1), random(9, seed=3).abs()
LOGITS, HEAD = 30 * random(9, 4), random(4, 6, seed=2)
PAIRS = torch.cartesian_prod(torch.arange(3), torch.arange(3))
# What metrics are called with, by the names of their parameters. A NaN at any place of
# any of these tensors has to come out in every tensor that is returned.
GIVEN = {
    **dict.fromkeys(("activations", "features", "h", "weight", "part", "a"), FEATURES),
    **dict.fromkeys(("whole", "b", "g"), FEATURES + 1),
    **dict.fromkeys(("values", "of", "squared_lengths"), EIGENVALUES),
    "flags": EIGENVALUES > 9,
    "logits": LOGITS,
    "labels": torch.arange(9) % 4,
    "head": HEAD,
    "tensors": [FEATURES, HEAD],
    "left": [FEATURES, HEAD],
    "right": [FEATURES + 1, HEAD],
    "step": 1e-17 * FEATURES,
    "before": {"w": FEATURES},
    "after": {"w": FEATURES + 1},
    "embedding": FEATURES[:3],
    "pairs": PAIRS,
    "weights": random(2, 3, 4, 4).softmax(-1),
    "params": {"w": EIGENVALUES},
    "objective": lambda params: params["w"].pow(4).sum(),  # its Hessian depends on w
    "hidden": [FEATURES.relu(), FEATURES],
    "bias": True,
    "dtype": torch.float32,
    "probe_count": 2,
    "k": 2,
    "p": 3,
}
METRICS = {
    name: value
    for name, value in vars(metrics).items()
    if inspect.isfunction(value) and value.__module__.startswith("grokbook.metrics")
}
OWN = {"near_one": {"tensors": [FEATURES]}}
OWN |= {"relu_trace": {"weights": [random(6, 6, seed=4), HEAD]}}
CALLS = [(name, OWN.get(name, {})) for name in METRICS]
CALLS += [
    ("gram_eigenvalues", {"exact": False}),
    ("radial_energy", {"g": 1e-9 * FEATURES}),  # below the mask
    ("ratio", {"part": torch.zeros(3), "whole": torch.zeros(3)}),
    *(
        ("collapse_fraction", {"dtype": dtype})
        for dtype in (torch.float16, torch.bfloat16, torch.float64)
    ),
]
# Those of which some results depend on a part of the tensors, those for which a sum, a
# comparison or an order with an infinite entry has a value.
PARTLY = {"global_means", "neural_collapse"}
INFINITE = {"accuracy", "top_accuracy", "absorbed_fraction", "share", "median"}
INFINITE |= {"margins", "residual_mass", "ratio"}


def arguments_of(name, options):
    """What a metric is called with."""
    known = GIVEN | options
    return {
        n: known[n] for n in inspect.signature(METRICS[name]).parameters if n in known
    }


def planted(name, options, value, count=6):
    """Yield the results of a metric with a value at random places, one at a time."""
    generator = torch.Generator().manual_seed(0)
    leaves, form = tree_flatten(arguments_of(name, options))
    for index, tensor in enumerate(leaves):
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            continue
        for place in torch.randint(tensor.numel(), [count], generator=generator):
            changed = tensor.clone()
            changed.view(-1)[place] = value
            arguments = [*leaves[:index], changed, *leaves[index + 1 :]]
            yield tree_leaves(METRICS[name](**tree_unflatten(arguments, form)))


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_nan_in_is_nan_out(name, options):
    finite = tree_leaves(METRICS[name](**arguments_of(name, options)))
    assert all(value.isfinite().all() for value in finite)
    enough = any if name in PARTLY else all
    for results in planted(name, options, math.nan):
        assert enough(value.isnan().any() for value in results)


@pytest.mark.parametrize(
    ("name", "options"), [c for c in CALLS if c[0] not in INFINITE]
)
def test_an_infinite_number_in_is_no_number_out(name, options):
    """Not 0 either: a norm is infinite, a quotient of two infinite norms is NaN."""
    enough = any if name in PARTLY else all
    for results in planted(name, options, math.inf):
        assert enough(not value.isfinite().all() for value in results)


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


def test_a_test_set_of_nan_has_no_columns_of_its_own_and_spoils_no_other():
    s = snapshot()
    values = observe(s._replace(test=tree_map(without_values, s.test)), PLAIN)
    assert all(value.isnan() == ("test" in name) for name, value in values.items())


def test_a_training_set_of_nan_spoils_no_column_of_the_test_set():
    s = snapshot()
    values = observe(s._replace(train=tree_map(without_values, s.train)), PLAIN)
    of_the_test_set = [value for name, value in values.items() if "test" in name]
    assert of_the_test_set and not any(value.isnan() for value in of_the_test_set)


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
        for shifted in (logits, logits.float(), logits + scale, logits - 9 * scale):
            shares = [metrics.collapse_fraction(shifted, dtype=t) for t in dtypes]
            assert 1 >= shares[0] >= shares[1] >= shares[2] >= 0
    for top in (6e4, 7e4, 1e38):
        for dtype in dtypes:
            rows = torch.tensor([[top, 0.0], [0.0, -top], [top, top]])
            assert metrics.collapse_fraction(rows, dtype=dtype) == 2 / 3


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_what_does_not_depend_on_the_length_does_not_at_the_ends_of_float64(scale):
    other = FEATURES + 1
    expected = float(metrics.cosine(FEATURES, other))
    found = metrics.cosine(scale * FEATURES, other / scale)
    assert found == pytest.approx(expected, rel=1e-12)
    for measure in (metrics.participation_ratio, partial(metrics.top_share, k=3)):
        expected = float(measure(EIGENVALUES))
        assert measure(scale * EIGENVALUES) == pytest.approx(expected, rel=1e-12)
    for measure in (metrics.feature_alignment, metrics.shared_direction):
        expected = float(measure(FEATURES))
        assert measure(scale * FEATURES) == pytest.approx(expected, rel=1e-12)
    expected = metrics.radial_energy(FEATURES, other)
    found = metrics.radial_energy(scale * FEATURES, other / scale)
    for name in ("mean", "summed"):
        assert found[name] == pytest.approx(float(expected[name]), rel=1e-12)
    found = metrics.neural_collapse(scale * FEATURES, torch.arange(9) % 4, HEAD / scale)
    expected = metrics.neural_collapse(FEATURES, torch.arange(9) % 4, HEAD)
    torch.testing.assert_close([*found], [*expected], rtol=1e-12, atol=0)
    # a power of two is divided out without a rounding
    for power in (2.0**-30, 1.0, 2.0**40):
        (found,) = metrics.near_one([power * FEATURES])
        assert torch.equal(found, FEATURES / 4) and 0.5 <= found.abs().max() < 1
