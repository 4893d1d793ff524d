"""Weights: norms and cosines by hand, lost steps, one set of parameters."""

import pytest
import torch
from helpers import random

from grokbook import metrics


def test_norms():
    assert metrics.total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])]) == 5
    assert metrics.total_norm([torch.tensor([1e-30])]) == pytest.approx(1e-30)


def test_a_ratio_to_nothing_is_nothing():
    part = torch.tensor([3.0, 3.0, 3.0, 0.0]).double()
    whole = torch.tensor([2.0, 0.0, -1.0, 0.0]).double()
    found = torch.func.vmap(metrics.ratio)(part, whole)
    assert found.tolist() == [1.5, 0, 0, 0]


def test_cosine():
    a = random(4, 3)
    assert metrics.cosine(a, 5 * a) == pytest.approx(1)
    assert metrics.cosine(a, -a) == pytest.approx(-1)
    assert metrics.cosine(a, torch.zeros(4, 3)) == 0
    assert metrics.cosine(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])) == 0
    small = 1e-30 * a
    assert metrics.cosine(small, small) == pytest.approx(1)


def test_absorbed_steps():
    weight = torch.tensor([1.0, 1.0, 1.0, 0.0])
    step = torch.tensor([2**-25, 2**-20, 0.0, 1e-40])
    assert metrics.absorbed_fraction(weight, step) == 0.25
    # half of an ulp goes to the even neighbour, which is the weight
    ulp = torch.finfo(torch.float32).eps * weight
    assert metrics.absorbed_fraction(weight, ulp / 2) == 0.75
    assert metrics.absorbed_fraction(weight, ulp) == 0


def test_update_norm():
    before = {"in": random(3, 4), "out": random(5)}
    after = {"out": before["out"].clone(), "in": before["in"].clone()}
    assert metrics.update_norm(before, after) == 0
    after["in"][1, 2] += 3
    after["out"][0] -= 4
    value = metrics.update_norm(before, after)
    assert value.shape == () and value.dtype == torch.float64
    assert value == pytest.approx(5)
    both = before, after
    stack = [{k: torch.stack([w, 0 * w]) for k, w in s.items()} for s in both]
    values = torch.func.vmap(metrics.update_norm)(*stack)
    assert values.tolist() == pytest.approx([5, 0])
