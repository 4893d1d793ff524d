"""Radial energy: gradients along, across and without regard to activations; masks."""

import pytest
import torch
from helpers import random

from grokbook import metrics
from grokbook.observables import Snapshot, observe

READINGS = ("mean", "summed", "masked")
D = 16


def across(h, g):
    """g without its part along h, row by row."""
    return g - (g * h).sum(1, keepdim=True) / h.square().sum(1, keepdim=True) * h


def test_a_known_angle():
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


def test_a_gradient_that_knows_nothing_has_energy_one():
    """Whatever the activations are: here they have a mean and unequal directions.

    d cos^2 has the variance 2 (d - 1) / (d + 2), so a mean over 8,000 rows lies within
    0.06 of 1 but for one time in 20,000.
    """
    h = 3 + random(8000, D).double() * torch.arange(1, D + 1)
    found = metrics.radial_energy(h, random(8000, D, seed=1).double())
    for name in READINGS:
        assert float(found[name]) == pytest.approx(1, abs=0.06)


def test_rows_that_do_not_count():
    """Along, across, along with |g|^2 below the mask, no gradient, no activation.

    The mask leaves a row out above the line of the fraction and not below it.
    """
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


# As an observable ------------------------------------------------------------------


def of_taps():
    """A snapshot whose loss pulls along at pre.0 and across elsewhere."""
    h = torch.tensor([[3.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    stream = torch.stack([h, 2 * h])  # (batch, positions, width)
    turned = stream.roll(1, -1)
    loss = {
        "pre.0": (h, h),
        "mlp_out.3": (stream, turned),
        "attention_out.0": (stream, stream),
        "features": (h, h),
        "residual.0": (stream, stream),
    }
    return Snapshot(
        {"w": torch.zeros(1)},
        tap_grads=lambda total=False: (
            {name: (h, h.roll(1, -1)) for name, (h, _) in loss.items()}
            if total
            else loss
        ),
    )


def test_radii_and_energies_at_the_taps_of_a_penalty():
    values = observe(of_taps(), ["radial"])
    assert {name.partition(".")[2] for name in values} == {
        "pre.0",
        "mlp_out.3",
        "attention_out.0",
    }
    for reading in READINGS:
        for place, of_loss in (("pre.0", 2), ("attention_out.0", 2), ("mlp_out.3", 0)):
            assert values[f"radial_loss_{reading}.{place}"] == pytest.approx(of_loss)
            assert values[f"radial_total_{reading}.{place}"] == 0
    assert values["radius.pre.0"] == pytest.approx(2)
    assert values["shared_direction.pre.0"] == pytest.approx(26 / 9 / (14 / 3))
    # three rows twice, once with double length
    assert values["radius.mlp_out.3"] == pytest.approx(3)
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
