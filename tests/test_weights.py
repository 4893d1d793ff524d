"""Weights and radial energy: norms and cosines by hand, lost steps, masks."""

import pytest
import torch
from helpers import random

from grokbook import metrics


def test_norms_ratios_medians_and_cosines():
    """A ratio to nothing is nothing, a median is torch's."""
    for found in ([3.0, 1.0, 2.0, 5.0], [2.0], [1.0, float("nan"), 0.0]):
        values = torch.tensor(found)
        assert torch.equal(
            metrics.median(values).nan_to_num(), values.median().nan_to_num()
        )
    assert metrics.total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])]) == 5
    assert metrics.total_norm([torch.tensor([1e-30])]) == pytest.approx(1e-30)
    part = torch.tensor([3.0, 3.0, 3.0, 0.0]).double()
    whole = torch.tensor([2.0, 0.0, -1.0, 0.0]).double()
    found = torch.func.vmap(metrics.ratio)(part, whole)
    assert found.tolist() == [1.5, 0, 0, 0]
    a = random(4, 3)
    small = 1e-30 * a
    for one, other, cosine in ((a, 5 * a, 1), (a, -a, -1), (small, small, 1)):
        assert metrics.cosine(one, other) == pytest.approx(cosine)
    assert metrics.cosine(a, torch.zeros(4, 3)) == 0
    assert metrics.cosine(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])) == 0


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


READINGS = ("mean", "summed", "masked")
D = 16


def across(h, g):
    """g without its part along h, row by row."""
    return g - (g * h).sum(1, keepdim=True) / h.square().sum(1, keepdim=True) * h


def test_radial_energy_of_known_angles_and_of_rows_that_do_not_count():
    """cos = 3/5 in every row, of any length; all of it along, nothing across."""
    h = random(40, D).double()
    h = h / h.norm(dim=1, keepdim=True)
    side = across(h, random(40, D, seed=1).double())
    side = side / side.norm(dim=1, keepdim=True)
    lengths = random(40, 1, seed=2).double().exp()
    for along, beside, expected in ((3, -4, 9 / 25), (-1, 0, 1), (0, 1, 0)):
        found = metrics.radial_energy(7 * h, lengths * (along * h + beside * side))
        for name in READINGS:
            assert float(found[name]) == pytest.approx(D * expected, abs=1e-12)
    # along, across, along with |g|^2 below the mask, no gradient, no activation
    h = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    g = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.9e-6, 0.0], [0.0, 0.0], [0.0, 1.0]])
    found = metrics.radial_energy(h, g)
    assert {name: float(value) for name, value in found.items()} == pytest.approx(
        {"mean": 4 / 3, "summed": 2 / 3, "masked": 2 / 5}
    )
    found = metrics.radial_energy(h, torch.zeros(5, 2))
    assert not any(found.values())


def test_shared_direction():
    """Alike, opposite, one for every axis, independent, and none."""
    row = random(1, D)
    assert metrics.shared_direction(row.repeat(9, 1)) == pytest.approx(1)
    assert metrics.shared_direction(torch.cat([row, -row])) == 0
    assert metrics.shared_direction(7 * torch.eye(D)) == pytest.approx(1 / D)
    with_mean = random(400, 50, seed=1) + 10
    assert metrics.shared_direction(with_mean) == pytest.approx(100 / 101, rel=0.01)
    assert metrics.shared_direction(torch.zeros(3, D)) == 0
