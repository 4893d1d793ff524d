"""Penalties: formulas, gradients, members, sites, and what is refused."""

import math

import pytest
import torch
from shapes import check
from torch.func import grad, vmap

from grokbook import penalties
from grokbook.errors import UnknownName
from grokbook.penalties import Forward

check(penalties)


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def forward(logits=None, params=None, **taps):
    taps = {name.replace("_at_", "."): h for name, h in taps.items()}
    labels = torch.zeros(4, dtype=torch.int64)
    some = random(4, 3) if logits is None else logits
    return Forward(some, labels, params or {}, taps)


def test_logit_norm():
    """Rows of norm 5 and 0; the row of zeros has no gradient, not NaN."""
    logits = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    seen = forward(logits)
    assert penalties.logit_norm(seen, strength=0.1) == pytest.approx(0.25)
    assert penalties.logit_norm(seen, strength=0.1, squared=True) == pytest.approx(1.25)
    slope = grad(lambda z: penalties.logit_norm(forward(z), strength=2.0))(logits)
    torch.testing.assert_close(slope, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_logits_of_a_sequence_are_rows():
    """Every position of (sequences, positions, classes) counts alike."""
    logits = random(4, 3, 5)
    for how in ({"strength": 0.3}, {"strength": 0.3, "squared": True}):
        seen = penalties.logit_norm(forward(logits), **how)
        rows = penalties.logit_norm(forward(logits.reshape(12, 5)), **how)
        torch.testing.assert_close(seen, rows)


def test_l2_has_the_gradient_of_weight_decay():
    weights = {"a": random(3, 2), "b": random(4)}
    slopes = grad(lambda w: penalties.l2(forward(params=w), strength=0.5))(weights)
    for name, w in weights.items():
        torch.testing.assert_close(slopes[name], 0.5 * w)


def test_radius_is_the_formula():
    """Written out over rows; rows of the default radius cost nothing."""
    h, deep = random(4, 6), random(4, 5, 8, seed=1)

    def by_hand(h, target):
        rows = h.reshape(-1, h.shape[-1])
        return sum((float(r.norm()) - target) ** 2 for r in rows) / rows.numel()

    seen = forward(pre_at_0=h, pre_at_1=deep, preface=10 * h, hidden_at_0=3 * h)
    each = [by_hand(h, 6**0.5), by_hand(deep, 8**0.5)]
    found = penalties.radius(seen, strength=0.3)
    assert float(found) == pytest.approx(0.3 * sum(each), rel=1e-12)
    found = penalties.radius(seen, strength=0.3, average=True)
    assert float(found) == pytest.approx(0.15 * sum(each), rel=1e-12)
    found = penalties.radius(seen, strength=1.0, site="pre.1", target=2.0)
    assert float(found) == pytest.approx(by_hand(deep, 2.0), rel=1e-12)
    found = penalties.radius(seen, strength=1.0, site="pre.0", target=0.25)
    assert float(found) == pytest.approx(by_hand(h, 0.25), rel=1e-12)
    on_the_sphere = h / h.norm(dim=-1, keepdim=True) * 6**0.5
    assert penalties.radius(forward(pre=on_the_sphere), strength=1.0) < 1e-30


def test_radius_has_both_derivatives_of_the_formula():
    """A row of zeros has no direction and gets no gradient; also under vmap."""

    def plain(h):
        distance = torch.linalg.vector_norm(h, dim=-1) - 6**0.5
        return 0.3 * distance.square().mean() / 6

    def ours(h):
        seen = penalties.Forward(torch.zeros(1, 2), torch.zeros(1), {}, {"pre": h})
        return penalties.radius(seen, strength=0.3)

    h = random(3, 4, 6)
    exact = torch.stack([grad(plain)(one) for one in h])
    torch.testing.assert_close(torch.func.vmap(grad(ours))(h), exact)
    bent = torch.autograd.functional.hessian(ours, h[0])
    torch.testing.assert_close(bent, torch.autograd.functional.hessian(plain, h[0]))
    empty = torch.cat([h[0], torch.zeros(1, 6, dtype=h.dtype)])
    slope = grad(ours)(empty)
    assert (slope[-1] == 0).all() and slope[:-1].abs().min() > 0


@pytest.mark.parametrize("name", penalties.PENALTIES)
def test_gradients_by_finite_differences(name):
    def value(x):
        seen = forward(x, {"w": x}, pre_at_0=x, pre_at_1=x * x)
        return getattr(penalties, name)(seen, strength=0.7)

    x = random(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(value, x)
    assert torch.autograd.gradgradcheck(value, x)


@pytest.mark.parametrize("name", penalties.PENALTIES)
def test_members_with_their_own_strength_and_target(name):
    penalty = getattr(penalties, name)
    x, strengths, targets = random(3, 4, 5), random(3).abs(), 1 + random(3).abs()

    def value(x, strength, target):
        options = {"target": target} if name == "radius" else {}
        return penalty(forward(x, {"w": x}, pre=x), strength=strength, **options)

    together = vmap(value)(x, strengths, targets)
    alone = [value(*one) for one in zip(x, strengths, targets, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone))


def test_activations_are_pulled_to_nothing():
    """Mean squared entries, summed over the taps of a site: the radius' at target 0."""
    h, deep = random(4, 6), random(4, 5, 8, seed=1)
    seen = forward(pre_at_0=h, pre_at_1=deep, preface=10 * h, hidden_at_0=3 * h)
    rows = deep.reshape(20, 8)
    each = [
        sum(float(r.norm()) ** 2 for r in part) / len(part) / part.shape[1]
        for part in (h, rows)
    ]
    found = penalties.activations(seen, strength=0.3)
    assert float(found) == pytest.approx(0.3 * sum(each), rel=1e-12)
    found = penalties.activations(seen, strength=0.3, site="pre.1")
    assert float(found) == pytest.approx(0.3 * each[1], rel=1e-12)
    found = penalties.activations(seen, strength=0.3, site="hidden")
    assert float(found) == pytest.approx(2.7 * each[0], rel=1e-12)
    limit = penalties.radius(seen, strength=0.3, target=1e-12)
    assert float(penalties.activations(seen, strength=0.3)) == pytest.approx(
        float(limit), rel=1e-11
    )
    slope = grad(lambda h: penalties.activations(forward(pre=h), strength=0.3))(h)
    torch.testing.assert_close(slope, 0.3 * 2 * h / 24)


def test_sites():
    assert penalties.sites("activations", {}) == ("pre",)
    assert penalties.sites("activations", {"site": "hidden"}) == ("hidden",)
    assert penalties.sites("radius", {}) == ("pre",)
    assert penalties.sites("radius", {"site": "mlp_out", "strength": 1.0}) == (
        "mlp_out",
    )
    assert penalties.sites("l2", {"strength": 1.0}) == ()
    assert penalties.sites("logit_norm", {}) == ()
    with pytest.raises(UnknownName, match="'radios': use one of radius"):
        penalties.sites("radios", {})


@pytest.mark.parametrize("target", [0.0, -1.0, math.nan])
def test_a_radius_must_be_positive(target):
    with pytest.raises(ValueError, match=f"target is {target}"):
        penalties.radius(forward(pre=random(4, 6)), strength=1.0, target=target)


def test_a_site_must_have_left_a_tap():
    with pytest.raises(ValueError, match="site is 'hid', .*: pre.0, hidden.0"):
        seen = forward(pre_at_0=random(4, 6), hidden_at_0=random(4, 6))
        penalties.radius(seen, strength=1.0, site="hid")
    for penalty in (penalties.radius, penalties.activations):
        with pytest.raises(ValueError, match=": none"):
            penalty(forward(), strength=1.0)
