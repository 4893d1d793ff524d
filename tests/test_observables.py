"""Observables: what a snapshot holds, and members together as alone."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import random

from grokbook import features, metrics
from grokbook.models import UNIT_INPUTS
from grokbook.observables import OBSERVABLES, Snapshot, observe


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
    return Snapshot(
        params=params,
        before=before,
        grads=grads,
        train_logits=logits,
        train_labels=labels,
        train_losses=F.cross_entropy(logits, labels, reduction="none"),
        test_logits=logits[:8] + 1,
        test_labels=labels[:8],
        test_losses=F.cross_entropy(logits[:8], labels[:8], reduction="none").half(),
        train_captured={
            "features": random(20, 6, seed=seed + 3),
            "attention": [random(20, 2, 3, 3, seed=seed + 4).softmax(-1)],
        },
        test_captured={"features": random(8, 6, seed=seed + 5)},
        unit_losses={form: random(20, seed=seed + 6) for form in UNIT_INPUTS},
    )


def test_a_snapshot_holds_what_was_put_in():
    s = snapshot()
    values = observe(s, OBSERVABLES)
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
    assert values["train_loss"] == pytest.approx(s.train_losses.mean().item(), 1e-6)
    assert values["test_accuracy"] == metrics.accuracy(s.test_logits, s.test_labels)
    lengths = [values["norm.embedding"], values["norm.output"]]
    assert values["weight_norm"] == pytest.approx(math.hypot(*lengths))
    assert values["max_logit"] == s.train_logits.max()
    assert values["mean_logit_norm"] == pytest.approx(
        s.train_logits.norm(dim=1).mean().item(), 1e-6
    )
    assert values["zero_grad"] == 6 / 54 and values["absorbed"] == 1 / 54
    order = [values[f"collapse_float{bits}"] for bits in (16, 32, 64)]
    assert order == sorted(order, reverse=True) and order[0] > order[2]


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


def test_growth_along_the_weights_has_cosine_one():
    s = snapshot()
    s.grads = {name: -w for name, w in s.before.items()}
    s.params = {name: 2 * w for name, w in s.before.items()}
    values = observe(s, ["alignment"])
    assert len(values) == 6
    assert all(v == pytest.approx(1) for v in values.values())


@pytest.mark.parametrize("name", OBSERVABLES)
def test_a_stack_of_members_equals_each_alone(name):
    members = [snapshot(seed) for seed in (0, 10, 20)]

    def stack(values):
        if isinstance(values[0], dict):
            return {k: stack([v[k] for v in values]) for k in values[0]}
        if isinstance(values[0], list):
            return [stack(list(parts)) for parts in zip(*values, strict=True)]
        return torch.stack(values)

    fields = {k: stack([vars(m)[k] for m in members]) for k in vars(members[0])}
    together = observe(Snapshot(**fields), [name], stacked=True)
    for i, member in enumerate(members):
        alone = OBSERVABLES[name](member)
        assert together.keys() == alone.keys()
        for key, value in alone.items():
            torch.testing.assert_close(together[key][i], value, rtol=1e-12, atol=1e-15)


def test_measurements_of_captured_activations():
    s = snapshot()
    values = observe(s, ["attention", "spectrum", "scale_free", "update", "fourier"])
    weights = s.train_captured["attention"][0]
    assert values["entropy"] >= values["entropy_per_head"]
    assert values["entropy_last_query"] == features.attention_entropy(
        weights[:, :, 2:], head_average=False
    )
    sizes = features.gram_eigenvalues(s.test_captured["features"])
    assert values["effective_rank_test"] == features.effective_rank(sizes)
    assert values["power_law_test"] == features.power_law_exponent(sizes)
    assert values["sr_train"] == s.unit_losses["no norms"].double().mean()
    assert values["update_norm"] == pytest.approx(
        math.hypot(*(0.01 * g.norm().item() for g in s.grads.values())), rel=0.2
    )
    number_rows = s.params["embedding"][:5]
    assert values["fourier"] == features.fourier_concentration(number_rows, p=5)


def test_unknown_observables_are_refused():
    with pytest.raises(ValueError, match="speed"):
        observe(snapshot(), ["core", "speed"])
