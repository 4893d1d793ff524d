"""Observables: what a snapshot holds, and members together as alone."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from helpers import random
from torch.utils._pytree import tree_map

from claimbook import names
from claimbook.observing import Snapshot, SplitOutputs, observe
from grokbook import metrics

OBSERVABLES = names.observables()
# Those below have tests of their own: a snapshot of anything is not enough for them.
OF_NETWORKS = {"objective", "tap_grads", "hidden"}
PLAIN = [n for n, o in OBSERVABLES.items() if not o.needs & OF_NETWORKS]
AVERAGED = [name for name, o in OBSERVABLES.items() if o.averaged]
FORMS = ("sr_train_norms_kept", "sr_train")


def snapshot(seed=0):
    """A step on three tensors; one weight is too large for its update to count."""
    shapes = {"embedding": (6, 4), "hidden": (6, 4), "output": (5, 6)}
    before = {n: random(*s, seed=seed + k) for k, (n, s) in enumerate(shapes.items())}
    before["embedding"][0, 0] = 1e9
    grads = {name: random(*w.shape, seed=seed + 7) for name, w in before.items()}
    grads["output"][0] = 0
    params = {name: w - 0.01 * grads[name] for name, w in before.items()}
    logits, labels = 9 * random(20, 5, seed=seed + 2), torch.arange(20) % 5
    logits[9, 4] = 60  # collapses
    losses = F.cross_entropy(logits, labels, reduction="none")
    attention = random(20, 2, 3, 3, seed=seed + 4).softmax(-1)
    taps = {"features": random(20, 6, seed=seed + 3), "attention.0": attention}
    taps["attention.1"] = attention.square()  # a block that no observable looks at
    train = SplitOutputs(labels[:, None], logits, labels, losses, taps)
    logits, labels = logits[:8] + random(8, 5, seed=seed + 9), labels[:8]
    losses = F.cross_entropy(logits, labels, reduction="none").half()
    taps = {"features": random(8, 6, seed=seed + 5)}
    test = SplitOutputs(labels[:, None], logits, labels, losses, taps)
    unit = {form: random(20, seed=seed + k) for k, form in enumerate(FORMS, 6)}
    return Snapshot(params, before, grads, train=train, test=test, variant_losses=unit)


def flat(tensors):
    return torch.cat([tensor.double().flatten() for tensor in tensors])


def test_columns_are_what_they_say():
    s = snapshot()
    values = observe(s, PLAIN)
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
    expected = {name: loss.double().mean() for name, loss in s.variant_losses.items()}
    for split, outputs in (("train", s.train), ("test", s.test)):
        eigenvalues = metrics.gram_eigenvalues(outputs.taps["features"])
        is_right = outputs.logits.argmax(1) == outputs.labels
        expected |= {
            f"{split}_loss": outputs.losses.double().mean(),
            f"{split}_accuracy": is_right.double().mean(),
            f"effective_rank_{split}": metrics.effective_rank(eigenvalues),
            f"power_law_{split}": metrics.power_law_exponent(eigenvalues),
        }
    rounded = metrics.gram_eigenvalues(s.test.taps["features"], exact=False)
    expected["power_law_test_float32"] = metrics.power_law_exponent(rounded)
    logits, attention = s.train.logits.double(), s.train.taps["attention.0"]
    best, losses = logits.sort(dim=1, descending=True).values, s.train.losses
    steps = {name: s.params[name].double() - w for name, w in s.before.items()}
    head, features = s.params["output"].double(), s.train.taps["features"].double()
    head_mean, centre = head.mean(0), features.mean(0)
    embedding, concentration = s.params["embedding"][:5], metrics.fourier_concentration
    expected |= {
        "mean_top_logit": best[:, 0].mean(),
        "mean_gap": (best[:, 0] - best[:, 1]).mean(),
        "mean_logit_norm": logits.norm(dim=1).mean(),
        "mean_logit": logits.mean(),
        "collapsed": (losses == 0).double().mean(),
        "zero_loss": (losses == 0).double().mean(),
        "correct_logit": logits[range(20), s.train.labels].mean(),
        "weight_norm": flat(s.params.values()).norm(),
        "norm.output": head.norm(),
        "grad_norm": flat(s.grads.values()).norm(),
        "zero_grad": 6 / 78,
        "absorbed": 1 / 78,
        "cos_grad": metrics.cosine(flat(s.before.values()), -flat(s.grads.values())),
        "cos_grad.output": metrics.cosine(s.before["output"], -s.grads["output"]),
        "cos_update.output": metrics.cosine(s.before["output"], steps["output"]),
        "update_norm": flat(steps.values()).norm(),
        "fourier": concentration(embedding, p=5),
        "fourier_no_constant": concentration(embedding, p=5, skip_constant=True),
        "entropy": metrics.attention_entropy(attention),
        "entropy_last_query": metrics.attention_entropy(
            attention[:, :, 2:], head_average=False
        ),
        "head_update": steps["output"].abs().mean(),
        "head_update_median": steps["output"].abs().median(),
        "head_gradient": s.grads["output"].double().abs().mean(),
        "head_norm": head.norm(),
        "head_mean_norm": head_mean.norm(),
        "feature_mean_norm": centre.norm(),
        "feature_norm": features.norm(dim=1).mean(),
        "mean_cosine": head_mean @ centre / head_mean.norm() / centre.norm(),
    }
    for dtype in (torch.float16, torch.float32, torch.float64):
        share = metrics.collapse_fraction(s.train.logits, dtype=dtype)
        expected[f"collapse_{str(dtype).removeprefix('torch.')}"] = share
    measured = {name: float(values[name]) for name in expected}
    truth = {name: float(value) for name, value in expected.items()}
    assert measured == pytest.approx(truth, rel=1e-12)
    assert values["train_accuracy"] != values["test_accuracy"]
    assert 1 > values["collapse_float16"] > values["collapse_float32"] > 0
    assert values["power_law_test_float32"] != values["power_law_test"]
    assert values["smallest_margin"] < values["mean_margin"]


def test_what_is_rounding_noise_has_no_direction():
    """A mean below a millionth of the length, of the head or of the features."""
    s = snapshot()
    features, head = s.train.taps["features"].double(), s.params["output"].double()
    features, head = features - features.mean(0), head - head.mean(0)
    lengths = features.norm(dim=1).mean(), head.norm()
    for of_features, of_head in product((0.9e-6, 1.1e-6), repeat=2):
        unit = torch.eye(6).double()[0]
        taps = {"features": features + of_features * lengths[0] * unit}
        params = s.params | {"output": head + of_head * lengths[1] * unit}
        train = s.train._replace(taps=taps)
        values = observe(s._replace(params=params, train=train), ["inflation"])
        has_mean = of_features > 1e-6
        assert bool(values["feature_alignment"]) == has_mean
        assert bool(values["mean_cosine"]) == (has_mean and of_head > 1e-6)


def seen(logits, labels):
    """A split that has nothing but logits and labels."""
    return SplitOutputs(
        torch.zeros(len(labels), 1), logits, labels, torch.zeros(labels.shape)
    )


def test_labels_among_the_five_largest_and_sequences_that_are_right():
    """Of six classes the label comes last in 3 of 4 rows."""
    logits = torch.arange(6.0).expand(4, 6)
    s = Snapshot({}, test=seen(logits, torch.tensor([0, 0, 5, 0])))
    assert observe(s, ["top5"]) == {"test_top5": 0.25}
    # of three sequences of two symbols one is right, half of one and none
    right = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # logits that say 0, and 1
    said = torch.tensor([[0, 1], [1, 1], [1, 0]])
    labels = torch.tensor([[0, 1], [1, 0], [0, 1]])
    first = seen(right[said[:, 0]], labels[:, 0])
    s = Snapshot({}, train=seen(right[said], labels), test=first)
    values = observe(s, ["exact_match", "core"])
    assert values["train_exact"] == 1 / 3 and values["train_accuracy"] == 1 / 2
    assert values["test_exact"] == values["test_accuracy"] == 2 / 3


def rows_of(s, part):
    """A snapshot that saw these rows of both splits alone."""
    train, test = tree_map(lambda tensor: tensor[part], (s.train, s.test))
    return s._replace(train=train, test=test)


def test_an_average_over_batches_of_rows_is_that_of_all_rows():
    """For those that say so: a split that does not fit is measured in batches."""
    assert AVERAGED == ["core", "top5", "collapse", "mean_logits", "exact_match"]
    s = rows_of(snapshot(), slice(0, 8))
    whole = observe(s, AVERAGED)
    parts = [observe(rows_of(s, slice(k, k + 4)), AVERAGED) for k in (0, 4)]
    for name, value in whole.items():
        mean = (parts[0][name] + parts[1][name]) / 2
        torch.testing.assert_close(mean, value, rtol=1e-12, atol=0)


def test_positions_of_a_sequence_count_as_rows():
    wanted = ["core", "top5", "collapse", "logits", "inflation", "neural_collapse"]
    s = rows_of(snapshot(), slice(0, 8))
    expected = observe(s, wanted)
    train, test = (
        tree_map(lambda tensor: tensor.reshape(2, 4, *tensor.shape[1:]), one)
        for one in (s.train, s.test)
    )
    found = observe(s._replace(train=train, test=test), wanted)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-12, atol=0)


def test_a_stack_of_members_equals_each_alone():
    """Without gradients, as a look at a run is."""
    members = [snapshot(seed) for seed in (0, 10, 20)]
    stack = tree_map(lambda *one: torch.stack(one), *members)
    together = observe(stack, PLAIN, stacked=True)
    for i, member in enumerate(members):
        with torch.no_grad():
            alone = observe(member, PLAIN)
        assert together.keys() == alone.keys()
        for key, value in alone.items():
            torch.testing.assert_close(together[key][i], value, rtol=1e-12, atol=1e-15)


def test_ranks_of_layers():
    """Of all rows and of the first 256, with the mean and without it."""
    h = 1 + random(360, 5) * torch.arange(1, 6)
    deep = random(360, 3, 4, seed=1)  # (batch, positions, width)
    taps = {"pre.0": h, "pre.1.1": deep, "head.0": h}
    train, test = (
        SplitOutputs(
            *[torch.zeros(1)] * 4, {name: layer[rows] for name, layer in taps.items()}
        )
        for rows in (slice(0, 300), slice(300, 360))
    )
    values = observe(Snapshot({}, train=train, test=test), ["ranks"])
    expected = {}
    for name, layer in (("pre.0", h), ("pre.1.1", deep.flatten(0, 1))):
        for rows, matrix in (("", layer), ("_256", layer[:256])):
            for kind, taken in (("", matrix), ("_centred", matrix - matrix.mean(0))):
                sizes = torch.linalg.svdvals(taken.double())
                entropy = torch.special.entr(sizes / sizes.sum()).sum()
                which = f"{rows}{kind}.{name}"
                expected[f"largest_singular{which}"] = float(sizes[0])
                stable = sizes.square().sum() / sizes[0] ** 2
                expected[f"stable_rank{which}"] = float(stable)
                expected[f"effective_rank{which}"] = float(entropy.exp())
    assert {n: float(v) for n, v in values.items()} == pytest.approx(expected, rel=1e-6)
    assert len(set(expected.values())) == 24
