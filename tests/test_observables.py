"""Observables: what a snapshot holds, and members together as alone."""

import math

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
    """A step on two tensors; one weight is too large for its update to count."""
    shapes = {"embedding": (6, 4), "output": (5, 6)}
    before = {n: random(*s, seed=seed + k) for k, (n, s) in enumerate(shapes.items())}
    before["embedding"][0, 0] = 1e9
    grads = {name: random(*w.shape, seed=seed + 7) for name, w in before.items()}
    grads["output"][0] = 0
    params = {name: w - 0.01 * grads[name] for name, w in before.items()}
    logits, labels = 9 * random(20, 5, seed=seed + 2), torch.arange(20) % 5
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


def test_a_snapshot_holds_what_was_put_in():
    s = snapshot()
    values = observe(s, PLAIN)
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
    for split, seen, close in (("train", s.train, 1e-6), ("test", s.test, 1e-3)):
        loss = seen.losses.float().mean().item()
        assert values[f"{split}_loss"] == pytest.approx(loss, close)
        found = (seen.logits.argmax(1) == seen.labels).double().mean()
        assert values[f"{split}_accuracy"] == found
    assert values["train_accuracy"] != values["test_accuracy"]
    lengths = [values["norm.embedding"], values["norm.output"]]
    assert values["weight_norm"] == pytest.approx(math.hypot(*lengths))
    best = s.train.logits.double().sort(dim=1, descending=True).values
    gap = float((best[:, 0] - best[:, 1]).mean())
    assert values["mean_top_logit"] == pytest.approx(float(best[:, 0].mean()), 1e-6)
    assert values["mean_gap"] == pytest.approx(gap, 1e-6)
    length = s.train.logits.norm(dim=1).mean().item()
    assert values["mean_logit_norm"] == pytest.approx(length, 1e-6)
    assert values["zero_grad"] == 6 / 54 and values["absorbed"] == 1 / 54
    for name in ("float16", "float32", "float64"):
        share = metrics.collapse_fraction(s.train.logits, dtype=getattr(torch, name))
        assert values[f"collapse_{name}"] == share
    assert 1 > values["collapse_float16"] > values["collapse_float32"] > 0


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
    names = ["core", "top5", "collapse", "logits", "inflation", "neural_collapse"]
    s = rows_of(snapshot(), slice(0, 8))
    expected = observe(s, names)
    train, test = (
        tree_map(lambda tensor: tensor.reshape(2, 4, *tensor.shape[1:]), one)
        for one in (s.train, s.test)
    )
    found = observe(s._replace(train=train, test=test), names)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-12, atol=0)


def test_alignment_is_the_cosine_of_weights_with_descent_and_with_the_step():
    s = snapshot()
    values = observe(s, ["alignment"])
    weights = torch.cat([w.flatten() for w in s.before.values()])
    downhill = -torch.cat([s.grads[name].flatten() for name in s.before])
    whole = metrics.cosine(weights, downhill).item()
    assert values["cos_grad"] == pytest.approx(whole, rel=1e-12)
    own = metrics.cosine(s.before["output"], -s.grads["output"]).item()
    assert values["cos_grad.output"] == pytest.approx(own, rel=1e-12) and own != 0
    step = s.params["output"] - s.before["output"]
    own = metrics.cosine(s.before["output"], step).item()
    assert values["cos_update.output"] == pytest.approx(own, rel=1e-12) and own != 0


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


def test_measurements_of_taps():
    s = snapshot()
    values = observe(s, ["attention", "spectrum", "scale_free", "update", "fourier"])
    weights, entropy = s.train.taps["attention.0"], metrics.attention_entropy
    assert values["entropy"] == entropy(weights)
    last = entropy(weights[:, :, 2:], head_average=False)
    assert values["entropy_last_query"] == last
    for split, one in (("train", s.train), ("test", s.test)):
        sizes = metrics.gram_eigenvalues(one.taps["features"])
        assert values[f"effective_rank_{split}"] == metrics.effective_rank(sizes)
        assert values[f"power_law_{split}"] == metrics.power_law_exponent(sizes)
    rounded = metrics.gram_eigenvalues(s.test.taps["features"], exact=False)
    exponent = metrics.power_law_exponent(rounded)
    assert values["power_law_test_float32"] == exponent != values["power_law_test"]
    for name in FORMS:
        assert values[name] == s.variant_losses[name].double().mean()
    step = math.hypot(*(0.01 * g.norm().item() for g in s.grads.values()))
    assert values["update_norm"] == pytest.approx(step, rel=0.2)
    rows, measure = s.params["embedding"][:5], metrics.fourier_concentration
    assert values["fourier"] == measure(rows, p=5)
    assert values["fourier_no_constant"] == measure(rows, p=5, skip_constant=True)


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


def test_the_head_its_updates_and_what_it_reads():
    s = snapshot()
    step = (s.params["output"] - s.before["output"]).abs().double()
    values = observe(s, ["head_update"])
    assert values["head_update"] == pytest.approx(step.mean().item())
    assert values["head_update_median"] == pytest.approx(step.median().item())
    assert values["head_gradient"] == pytest.approx(s.grads["output"].abs().mean())
    head, features = s.params["output"], s.train.taps["features"]
    values = observe(s, ["inflation"])
    mean, centre = head.double().mean(0), features.double().mean(0)
    assert values["head_norm"] == pytest.approx(head.double().norm().item())
    assert values["head_mean_norm"] == pytest.approx(mean.norm().item())
    assert values["feature_mean_norm"] == pytest.approx(centre.norm().item())
    cosine = mean @ centre / mean.norm() / centre.norm()
    assert values["mean_cosine"] == pytest.approx(cosine.item())
    logits = s.train.logits
    assert values["mean_logit"] == pytest.approx(logits.double().mean().item())
    losses = F.cross_entropy(logits.float(), s.train.labels, reduction="none")
    assert values["collapsed"] == (losses == 0).double().mean()
    assert values["smallest_margin"] <= values["mean_margin"]
