"""Penalties: formulas, gradients, members, sites."""

from functools import partial

import pytest
import torch
from helpers import double as random
from torch.autograd import functional
from torch.func import grad, hessian, jacfwd, vmap

from grokbook import penalties
from grokbook.penalties import Forward


def forward(logits=None, params=None, **taps):
    taps = {name.replace("_at_", "."): h for name, h in taps.items()}
    labels = torch.zeros(4, dtype=torch.int64)
    some = random(4, 3) if logits is None else logits
    return Forward(some, labels, params or {}, taps)


def test_logit_norm_and_l2():
    """Rows of norm 5 and 0; the row of zeros has no gradient, not NaN."""
    logits = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    for given in (logits, logits[None]):
        seen = forward(given)
        assert penalties.logit_norm(seen, strength=0.1) == pytest.approx(0.25)
        squared = penalties.logit_norm(seen, strength=0.1, squared=True)
        assert squared == pytest.approx(1.25)
    slope = grad(lambda z: penalties.logit_norm(forward(z), strength=2.0))(logits)
    torch.testing.assert_close(slope, logits / 5)
    weights = {"a": random(3, 2), "b": random(4)}
    slopes = grad(lambda w: penalties.l2(forward(params=w), strength=0.5))(weights)
    for name, w in weights.items():
        torch.testing.assert_close(slopes[name], 0.5 * w)


def test_radius_and_activations_are_the_formula_at_their_sites():
    """Written out over rows; the default radius is the root of the width."""
    h, deep = random(4, 6), random(4, 5, 8, seed=1)
    seen = forward(pre_at_0=h, pre_at_1=deep, preface=10 * h, hidden_at_0=3 * h)

    def by_hand(h, target):
        rows = h.reshape(-1, h.shape[-1])
        return sum((float(r.norm()) - target) ** 2 for r in rows) / rows.numel()

    both = by_hand(h, 6**0.5) + by_hand(deep, 8**0.5)
    for name, options, expected in (
        ("radius", {}, both),
        ("radius", {"average": True}, both / 2),
        ("radius", {"site": "pre.1", "target": 2.0}, by_hand(deep, 2.0)),
        ("activations", {}, by_hand(h, 0) + by_hand(deep, 0)),
        ("activations", {"site": "pre.1"}, by_hand(deep, 0)),
        ("activations", {"site": "hidden"}, 9 * by_hand(h, 0)),
    ):
        found = getattr(penalties, name)(seen, strength=0.3, **options)
        assert float(found) == pytest.approx(0.3 * expected, rel=1e-12)
    empty = torch.cat([h, torch.zeros(1, 6, dtype=h.dtype)])  # has no direction
    for target in (None, 0.0):
        radius = partial(penalties.radius, strength=0.3, target=target)
        slope = grad(lambda h, radius=radius: radius(forward(pre=h)))(empty)
        assert (slope[-1] == 0).all() and slope[:-1].abs().min() > 0
        assert grad(lambda h, radius=radius: radius(forward(pre=h)))(h[:0]).numel() == 0


def test_members_and_derivatives_of_every_penalty():
    """Members with their own strength and target; in reverse as in forward mode."""
    x, strengths, targets = random(3, 4, 5), random(3).abs(), 1 + random(3).abs()
    for name in ("logit_norm", "l2", "radius", "activations"):
        penalty = getattr(penalties, name)

        def value(x, strength, target, name=name, penalty=penalty):
            options = {"target": target} if name == "radius" else {}
            seen = forward(x, {"w": x}, pre_at_0=x, pre_at_1=x * x)
            return penalty(seen, strength=strength, **options)

        together = vmap(value)(x, strengths, targets)
        alone = [value(*one) for one in zip(x, strengths, targets, strict=True)]
        torch.testing.assert_close(together, torch.stack(alone))
        member = lambda x, f=value: f(x, 0.7, 2.0)  # noqa: E731
        for by_reverse, by_forward in (
            (functional.jacobian, jacfwd),
            (functional.hessian, hessian),
        ):
            derivative = by_reverse(member, x[0])
            torch.testing.assert_close(derivative, by_forward(member)(x[0]))
