"""Neural collapse: 0 in the ideal state, and what each distance sees of a departure."""

import pytest
import torch
from helpers import random

from claimbook.observing import Snapshot, SplitOutputs
from grokbook import observables
from grokbook.metrics import neural_collapse

CLASSES, WIDTH = 4, 6


def ideal(length=3.0):
    """Features and head of a collapsed state, five samples a class, any mean."""
    basis = torch.linalg.qr(random(WIDTH, WIDTH).double()).Q[:CLASSES]
    frame = basis - basis.mean(dim=0)
    labels = torch.arange(CLASSES).repeat(5)
    features = length * frame[labels] + random(WIDTH, seed=1).double()
    head = 7 * frame + random(WIDTH, seed=2).double()
    return features, labels, head


def near(value):
    return pytest.approx(value, abs=1e-9)


def test_the_ideal_state_has_no_distance_whatever_the_means_and_lengths():
    for length in (0.1, 3.0):
        assert [*neural_collapse(*ideal(length))] == [near(0.0)] * 4


def test_samples_that_vary_within_a_class_are_seen_by_the_first_alone():
    features, labels, head = ideal()
    noise = random(CLASSES, WIDTH, seed=3).double()
    # two samples of a class move by as much in opposite directions: no mean moves
    features[:CLASSES] += noise
    features[CLASSES : 2 * CLASSES] -= noise
    within = 2 * float(noise.square().sum()) / len(features)
    first, _, _ = ideal()
    means = first[:CLASSES] - first[:CLASSES].mean(dim=0)
    between = float(means.square().sum(dim=1).mean())
    found = neural_collapse(features, labels, head)
    assert [*found] == [near(within / between), near(0), near(0), near(0)]


def test_lengths_angles_and_a_turned_head_are_told_apart():
    features, labels, head = ideal()
    other = head.clone()
    other[[0, 1]] = other[[1, 0]]  # two classes exchanged
    turned = neural_collapse(features, labels, other)
    assert [*turned[:3]] == [near(0)] * 3 and turned.duality_error > 0.5
    longer = features.clone()
    longer[labels == 0] += 0.5 * (features[0] - features[:CLASSES].mean(dim=0))
    stretched = neural_collapse(longer, labels, head)
    assert stretched.within_over_between == near(0)
    assert stretched.spread_of_lengths > 0.05 and stretched.angle_error > 0.01
    opposite = neural_collapse(features, labels, -head)
    assert opposite.duality_error == near(2.0)


def test_classes_of_one_mean_have_not_collapsed():
    features = torch.tensor([[1.0, 0], [-1, 0], [0, 2], [0, -2]])
    labels = torch.tensor([0, 0, 1, 1])
    distances = neural_collapse(features, labels, torch.eye(2))
    assert distances.within_over_between == torch.inf
    assert distances.spread_of_lengths.isnan()
    alike = neural_collapse(torch.ones(4, 2), labels, torch.eye(2))
    assert alike.within_over_between.isnan()


def test_a_class_without_a_sample_is_left_out():
    features, labels, head = ideal()
    kept = labels != 3
    without = neural_collapse(features[kept], labels[kept], head)
    three = neural_collapse(features[kept], labels[kept], head[:3])
    assert [*without] == [near(float(value)) for value in three]


def test_the_observable_reads_features_and_the_head_of_a_snapshot():
    features, labels, head = ideal()
    logits = features @ head.T
    seen = SplitOutputs(features, logits, labels, logits[:, 0], {"features": features})
    params = {"first": random(3, 3), "head": head, "bias": random(CLASSES)}
    values = observables.neural_collapse(Snapshot(params, train=seen))
    assert [*values] == [f"nc.{name}" for name in neural_collapse(*ideal())._fields]
    assert [float(value) for value in values.values()] == [near(0.0)] * 4
