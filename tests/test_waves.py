"""Fourier modes of activations: planted waves, bases by least squares."""

import math

import pytest
import torch
from helpers import close

from grokbook import metrics
from grokbook.observables import Seen, Snapshot, observe

P = 11
K = P // 2  # frequencies
PAIRS = torch.cartesian_prod(torch.arange(P), torch.arange(P))
A, B = PAIRS.double().T
W = 2 * math.pi / P


def cos(x):
    return torch.cos(W * x)


def sin(x):
    return torch.sin(W * x)


def found(*neurons):  # the modes of neurons on the pairs in order, seen in another
    table = torch.stack(neurons, 1).double()
    rows = torch.randperm(P * P)
    return metrics.waves(table[rows], PAIRS[rows], P)


def only(k, value=1.0):
    """``value`` at frequency k and 0 at the others."""
    row = torch.zeros(K, dtype=torch.float64)
    row[k - 1] = value
    return row


def test_planted_waves():
    """Of the sum, of the difference, of both, of one operand, of two frequencies."""
    none, phase = only(1, 0.0), 1.2
    for neuron, product, selectivity in (
        (cos(K * (A + B)), only(K), only(K)),
        (3 * sin(A + B) - 5, only(1), only(1)),
        (torch.cos(2 * W * (A + B) + phase), only(2), only(2, math.sin(phase))),
        (cos(3 * (A - B)), only(3), none),
        (sin(3 * A) * cos(3 * B), only(3), only(3, 0.5**0.5)),
        (cos(2 * A) + 2 * sin(5 * B), none, none),
        (cos(2 * A + 3 * B) + 100, none, none),
        (  # squares of the amplitudes: 9, 16 and 144 parts of 169
            3 * cos(A + B) + 4 * sin(2 * A) + 12 * cos(5 * (A - B)),
            only(1, 9 / 169) + only(5, 144 / 169),
            only(1, 3 / 13),
        ),
    ):
        waves = found(neuron)
        close(waves.product[0], product)
        close(waves.selectivity[0], selectivity)
    waves = found(cos(A + B), 3 * sin(2 * (A + B)) - 5)
    close(waves.variance, torch.tensor([0.5, 4.5]).double())
    assert float(waves.largest) == pytest.approx(3 * P / 2)
    # nothing of a constant, however large and whatever it stands beside
    zero, constant = torch.zeros(P * P), torch.full((P * P,), 1 / 3)
    waves = found(zero, 1e6 * constant, cos(A + B), constant)
    for part in (waves.product, waves.selectivity, waves.variance):
        assert not part[[0, 1, 3]].any() and part[2].any()
    assert float(waves.largest) == pytest.approx(P / 2)
    assert not any(part.any() for part in found(zero, constant))


def snapshot(*layers, p=P):
    """A network on all pairs whose hidden layers hold these neurons."""
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    order = torch.randperm(p * p)
    parts = {}
    for split, rows in (("train", order[:50]), ("test", order[50:])):
        taps = {f"pre.{k}": layer[rows] for k, layer in enumerate(layers)}
        taps |= {f"hidden.{k}": layer[rows] for k, layer in enumerate(layers)}
        empty = torch.zeros(len(rows), p)
        parts[split] = Seen(pairs[rows], empty, empty[:, 0].long(), empty[:, 0], taps)
    return Snapshot({"w": torch.zeros(1)}, **parts)


def test_a_layer_of_planted_neurons():
    """Five of frequency 2, four of 4, one of 1 and 3, one of a alone, one dead."""
    neurons = [cos(2 * (A + B)), cos(2 * A) * cos(2 * B)]
    neurons += [cos(2 * (A + B)), sin(2 * (A + B)), cos(2 * (A + B)) + 4]
    neurons += [2 * cos(4 * (A + B))] * 4
    neurons += [cos(A + B) + cos(3 * (A + B)) / 2]
    neurons += [cos(5 * A) + cos(5 * (A + B)) / 10, torch.ones(P * P)]
    first = torch.stack([cos(A), sin(B)], 1)
    values = observe(snapshot(first, torch.stack(neurons, 1)), ["periodic"])
    assert all(v.shape == () and v.dtype == torch.float64 for v in values.values())
    energy = torch.tensor([1, 4.5, 0.25, 16, 0.01]).double() / 2  # of products
    total = float(energy.sum()) + 0.5
    expected = {
        "coherence": 1,
        "fit": float(energy.sum()) / total,
        "frequencies": float(energy.sum() ** 2 / energy.square().sum()),
        "largest_mode": P,
    }
    layer = {n.partition(".")[0]: v for n, v in values.items() if "hidden.1" in n}
    assert {n: float(v) for n, v in layer.items()} == pytest.approx(expected, abs=1e-9)
    for k, best in enumerate((0.8, 1, 0.2, 1, 1 / 101), 1):
        share = float(energy[k - 1]) / total
        assert float(values[f"energy_of_frequency.{k}"]) == pytest.approx(share)
        assert float(values[f"best_fit_of_frequency.{k}"]) == pytest.approx(best)
    assert values["fit.hidden.0"] == pytest.approx(0, abs=1e-12)
    assert not any("pre." in name for name in values)
