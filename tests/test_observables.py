"""Observables: what a snapshot holds, and members together as alone."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers import random

from grokbook import metrics
from grokbook.observables import (
    OBSERVABLES,
    UPDATE_BINS,
    Seen,
    Snapshot,
    observe,
    places,
)

# Those below have tests of their own: a snapshot of anything is not enough for them.
OF_NETWORKS = {"objective", "tap_grads", "hidden", "layers"}
PLAIN = [n for n, o in OBSERVABLES.items() if not o.needs & OF_NETWORKS]
FORMS = ("norms kept", "no norms")


def snapshot(seed=0):
    """A step on two tensors; one weight is too large for its update to count."""
    before = {
        "embedding": random(6, 4, seed=seed),
        "output": random(5, 6, seed=seed + 1),
    }
    before["embedding"][0, 0] = 1e9
    grads = {name: random(*w.shape, seed=seed + 7) for name, w in before.items()}
    grads["output"][0] = 0
    params = {name: w - 0.01 * grads[name] for name, w in before.items()}
    logits, labels = 9 * random(20, 5, seed=seed + 2), torch.arange(20) % 5
    attention = random(20, 2, 3, 3, seed=seed + 4).softmax(-1)
    train = Seen(
        labels[:, None],
        logits,
        labels,
        F.cross_entropy(logits, labels, reduction="none"),
        {
            "features": random(20, 6, seed=seed + 3),
            "attention.0": attention,
            "attention.1": attention.square(),  # a block that no observable looks at
        },
    )
    test = Seen(
        labels[:8, None],
        logits[:8] + random(8, 5, seed=seed + 9),
        labels[:8],
        F.cross_entropy(logits[:8], labels[:8], reduction="none").half(),
        {"features": random(8, 6, seed=seed + 5)},
    )
    unit = {form: random(20, seed=seed + k) for k, form in enumerate(FORMS, 6)}
    return Snapshot(params, before, grads, train=train, test=test, unit_losses=unit)


def test_a_snapshot_holds_what_was_put_in():
    s = snapshot()
    values = observe(s, PLAIN)
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
    assert values["train_loss"] == pytest.approx(s.train.losses.mean().item(), 1e-6)
    assert values["test_loss"] == pytest.approx(s.test.losses.mean().item(), 1e-3)
    for split in ("train", "test"):
        seen = getattr(s, split)
        found = (seen.logits.argmax(1) == seen.labels).double().mean()
        assert values[f"{split}_accuracy"] == found
    assert values["train_accuracy"] != values["test_accuracy"]
    lengths = [values["norm.embedding"], values["norm.output"]]
    assert values["weight_norm"] == pytest.approx(math.hypot(*lengths))
    assert values["max_logit"] == s.train.logits.max()
    best = s.train.logits.double().sort(dim=1, descending=True).values
    assert values["mean_top_logit"] == pytest.approx(float(best[:, 0].mean()), 1e-6)
    assert values["mean_gap"] == pytest.approx(
        float((best[:, 0] - best[:, 1]).mean()), 1e-6
    )
    assert values["mean_logit_norm"] == pytest.approx(
        s.train.logits.norm(dim=1).mean().item(), 1e-6
    )
    assert values["zero_grad"] == 6 / 54 and values["absorbed"] == 1 / 54
    order = [values[f"collapse_float{bits}"] for bits in (16, 32, 64)]
    assert order == sorted(order, reverse=True) and order[0] > order[2]


def test_each_split_has_its_own_labels_among_the_five_largest():
    """Of six classes the label comes last in 1 of 4 training and 3 of 4 test rows."""
    logits = torch.arange(6.0).expand(4, 6)
    inputs, losses = torch.zeros(4, 1), torch.zeros(4)
    seen = {
        "train": Seen(inputs, logits, torch.tensor([0, 1, 5, 2]), losses),
        "test": Seen(inputs, logits, torch.tensor([0, 0, 5, 0]), losses),
    }
    values = observe(Snapshot({}, **seen), ["top5"])
    assert values == {"train_top5": 0.75, "test_top5": 0.25}


def rows_of(s, part):
    """A snapshot that saw these rows of both splits alone."""

    def cut(seen):
        taps = {name: tap[part] for name, tap in seen.taps.items()}
        rows = (seen.inputs, seen.logits, seen.labels, seen.losses)
        return Seen(*(tensor[part] for tensor in rows), taps)

    return replace(s, train=cut(s.train), test=cut(s.test))


AVERAGED = [name for name, o in OBSERVABLES.items() if o.averaged]


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
    names = ["core", "top5", "collapse", "logits"]
    s = rows_of(snapshot(), slice(0, 8))
    expected = observe(s, names)
    for seen in (s.train, s.test):
        seen.logits = seen.logits.reshape(2, 4, 5)
        seen.labels, seen.losses = (x.reshape(2, 4) for x in (seen.labels, seen.losses))
    found = observe(s, names)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-12, atol=0)


def test_a_sequence_is_right_where_all_of_it_is():
    """Of three sequences of two symbols one, half of one and none."""
    right = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # logits that say 0, and 1
    said = torch.tensor([[0, 1], [1, 1], [1, 0]])
    labels = torch.tensor([[0, 1], [1, 0], [0, 1]])
    empty = torch.zeros(3, 2)
    s = Snapshot(
        {},
        train=Seen(empty, right[said], labels, empty),
        test=Seen(empty, right[said[:, 0]], labels[:, 0], empty[:, 0]),
    )
    values = observe(s, ["exact_match", "core"])
    assert values["train_exact"] == 1 / 3 and values["train_accuracy"] == 1 / 2
    assert values["test_exact"] == values["test_accuracy"] == 2 / 3


def test_collapse_is_that_of_the_training_rows():
    s = snapshot()
    s.train.logits, s.test.logits = s.train.logits * 0, s.test.logits * 1e4
    assert observe(s, ["collapse"])["collapse_float32"] == 0
    s.train.logits, s.test.logits = s.test.logits, s.train.logits[:8]
    assert observe(s, ["collapse"])["collapse_float32"] == 1


def test_a_plain_gradient_step_updates_along_the_gradient():
    """For gradient descent cos_update is cos_grad, up to float32 rounding."""
    s = snapshot()
    s.before["embedding"][0, 0] = s.params["embedding"][0, 0] = 0
    s.params["embedding"][0, 0] -= 0.01 * s.grads["embedding"][0, 0]
    values = observe(s, ["alignment"])
    for suffix in ("", ".embedding", ".output"):
        grad, update = values[f"cos_grad{suffix}"], values[f"cos_update{suffix}"]
        assert grad == pytest.approx(update.item(), abs=1e-5) and grad != 0
    weights = torch.cat([w.flatten() for w in s.before.values()])
    downhill = -torch.cat([s.grads[name].flatten() for name in s.before])
    whole = metrics.cosine(weights, downhill).item()
    assert values["cos_grad"] == pytest.approx(whole, rel=1e-12)


def stack(values):
    if values[0] is None or callable(values[0]):
        return values[0]
    if isinstance(values[0], Seen):
        return Seen(**stack([vars(v) for v in values]))
    if isinstance(values[0], dict):
        return {k: stack([v[k] for v in values]) for k in values[0]}
    return torch.stack(values)


def test_a_stack_of_members_equals_each_alone():
    members = [snapshot(seed) for seed in (0, 10, 20)]
    fields = {k: stack([vars(m)[k] for m in members]) for k in vars(members[0])}
    together = observe(Snapshot(**fields), PLAIN, stacked=True)
    for i, member in enumerate(members):
        alone = observe(member, PLAIN)
        assert together.keys() == alone.keys()
        for key, value in alone.items():
            torch.testing.assert_close(together[key][i], value, rtol=1e-12, atol=1e-15)


def rank_of(features):
    return metrics.effective_rank(metrics.gram_eigenvalues(features))


def test_measurements_of_taps():
    s = snapshot()
    values = observe(s, ["attention", "spectrum", "scale_free", "update", "fourier"])
    weights = s.train.taps["attention.0"]
    assert values["entropy"] > values["entropy_per_head"]
    assert values["entropy_last_query"] == metrics.attention_entropy(
        weights[:, :, 2:], head_average=False
    )
    for split in ("train", "test"):
        features = getattr(s, split).taps["features"]
        for end, exact in (("", True), ("_float32", False)):
            sizes = metrics.gram_eigenvalues(features, exact=exact)
            rank, exponent = (
                values[f"{kind}_{split}{end}"]
                for kind in ("effective_rank", "power_law")
            )
            assert rank == metrics.effective_rank(sizes)
            assert exponent == metrics.power_law_exponent(sizes)
        assert values[f"effective_rank_{split}_float32"] != rank_of(features)
    assert values["sr_train"] == s.unit_losses["no norms"].double().mean()
    assert values["sr_train_norms_kept"] == s.unit_losses["norms kept"].double().mean()
    assert values["update_norm"] == pytest.approx(
        math.hypot(*(0.01 * g.norm().item() for g in s.grads.values())), rel=0.2
    )
    number_rows = s.params["embedding"][:5]
    assert values["fourier"] == metrics.fourier_concentration(number_rows, p=5)
    assert values["fourier_no_constant"] == metrics.fourier_concentration(
        number_rows, p=5, skip_constant=True
    )


def test_places_are_those_whose_names_begin_so():
    known = ("pre.0", "hidden.0", "pre.1", "features", "attention.0", "attention.01")
    known += ("attention_out.0", "hidden_too.0", "pre.1.1", "attention.1", "prefix")
    assert places(["hidden"], known) == ["hidden.0"]
    assert places(["layers"], known) == ["pre.0", "hidden.0", "pre.1", "pre.1.1"]
    assert places(["attention.0", "features"], known) == ["features", "attention.0"]
    assert places(["train", "test", "step"], known) == places([], known) == []


def of_layers(**layers):
    """A snapshot of 300 training rows and 60 others with these activations."""
    splits = {}
    for split, rows in (("train", slice(0, 300)), ("test", slice(300, 360))):
        taps = {n.replace("_at_", "."): h[rows] for n, h in layers.items()}
        splits[split] = Seen(*[torch.zeros(1)] * 4, taps)
    return Snapshot({}, **splits)


def ranks_of(matrix):
    """Of singular values: the largest, sum of squares over the largest, entropy."""
    sizes = torch.linalg.svdvals(matrix.double())
    shares = sizes / sizes.sum()
    entropy = -(shares * shares.clamp(min=1e-300).log()).sum()
    return {
        "largest_singular": float(sizes[0]),
        "stable_rank": float(sizes.square().sum() / sizes[0] ** 2),
        "effective_rank": float(entropy.exp()),
    }


def test_ranks_of_layers():
    """Of all rows and of the first 256, with the mean and without it."""
    h = 1 + random(360, 5) * torch.arange(1, 6)
    deep = random(360, 3, 4, seed=1)  # (batch, positions, width)
    values = observe(of_layers(pre_at_0=h, pre_at_1_at_1=deep, head_at_0=h), ["ranks"])
    expected = {}
    for name, layer, train in (
        ("pre.0", h, h[:256]),
        ("pre.1.1", deep.flatten(0, 1), deep.flatten(0, 1)[:256]),
    ):
        for rows, matrix in (("", layer), ("_256", train)):
            for kind, taken in (("", matrix), ("_centred", matrix - matrix.mean(0))):
                for rank, value in ranks_of(taken).items():
                    expected[f"{rank}{rows}{kind}.{name}"] = value
    assert {n: float(v) for n, v in values.items()} == pytest.approx(expected, rel=1e-6)
    assert len(set(expected.values())) == 24
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())


def test_curvature_of_a_valley():
    """Hessian diag(1, 4) with 1 off the diagonal; Adam's P = diag(1, 8) on top."""
    matrix = torch.tensor([[1.0, 1.0], [1.0, 4.0]], dtype=torch.float64)
    weights = {"w": torch.ones(2, dtype=torch.float64)}
    s = Snapshot(
        weights,
        moments={"w": torch.tensor([1.0, 8.0], dtype=torch.float64)},
        objective=lambda: (weights, lambda p: p["w"] @ matrix @ p["w"] / 2),
    )
    values = observe(s, ["curvature", "adam_curvature"])
    assert values["sharpness"] == pytest.approx((5 + 13**0.5) / 2)
    # P^-1 H = ((1, 1), (1/8, 1/2)) has the trace 3/2 and the determinant 3/8
    expected = (1.5 + 0.75**0.5) / 2
    assert values["preconditioned_sharpness"] == pytest.approx(expected)
    assert values["sharpness_error"] < 1e-12
    assert values["preconditioned_sharpness_error"] < 1e-12
    # each of the 20 probes says 5 + 2 or 5 - 2
    share = (values["hessian_trace"].item() - 3) / 4
    assert 20 * share == pytest.approx(round(20 * share), abs=1e-12)
    deviation = 4 * (share * (1 - share) / 19) ** 0.5
    assert values["hessian_trace_error"] == pytest.approx(deviation)
    assert deviation > 0.1


# Feature inflation -------------------------------------------------------------------


def test_inflation_looks_at_the_last_matrix_and_what_it_reads():
    s = snapshot()
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


def test_a_mean_classifier_that_was_subtracted_has_no_direction():
    s = snapshot()
    s.params["output"] = s.params["output"] - s.params["output"].mean(0)
    values = observe(s, ["inflation"])
    assert values["head_mean_norm"] < 1e-6 * values["head_norm"]
    assert values["mean_cosine"] == 0


def test_update_sizes_of_the_head():
    s = snapshot()
    step = (s.params["output"] - s.before["output"]).abs().double()
    values = observe(s, ["head_update", "head_update_histogram"])
    assert values["head_update"] == pytest.approx(step.mean().item())
    assert values["head_update_median"] == pytest.approx(step.median().item())
    assert values["head_gradient_largest"] == s.grads["output"].abs().max()
    shares = [values[f"update_bin.{k}"].item() for k in range(len(UPDATE_BINS) - 1)]
    assert values["update_below"] == pytest.approx((step < 1e-9).double().mean().item())
    assert values["update_below"] > 0  # a row of the gradient is zero
    assert sum(shares) + values["update_below"] == pytest.approx(1)
    for k in (0, 100, 139):
        inside = (step >= UPDATE_BINS[k]) & (step < UPDATE_BINS[k + 1])
        assert shares[k] == pytest.approx(inside.double().mean().item())
    assert UPDATE_BINS[0] == pytest.approx(1e-9) and UPDATE_BINS[-1] == pytest.approx(
        0.1
    )
