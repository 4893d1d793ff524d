"""How long something is expected to take, and how that is said."""

import pytest
from helpers import arm, experiment

from grokbook import papers
from grokbook.durations import span
from grokbook.engine import cost, counted, expected


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (80, "80 s"),
        (95, "1.6 min"),
        (120, "2 min"),
        (720, "12 min"),
        (9000, "2.5 h"),
        (80_000, "22 h"),
        (3 * 86_400, "3 days"),
        (6e6, "2.3 months"),
        (135_192_686, "4 years"),
    ],
)
def test_durations_are_in_human_units(seconds, said):
    assert span(seconds) == said


@pytest.mark.parametrize("name", ["prieto2025/fig06b", "tiwari2026/fig01"])
def test_the_table_has_what_is_counted(name):
    for scale in ("paper", "smoke"):
        one = papers.get(name, scale).arms[0]
        assert cost.known()[cost.key(one)] == counted.step_flop(one)


def test_a_network_that_is_not_in_the_table_is_counted():
    one = arm(batch_size=7)
    assert cost.key(one) not in cost.known()
    assert cost.training_flop(one) == counted.step_flop(one) * one.epochs


def test_members_are_expected_to_take_what_they_took():
    """On as many cores as there are, but no less than the longest of them."""
    two = experiment(arm("a"), arm("b"), seeds=(0,))
    took = {"a|0": about(30.0), "b|0": about(50.0)}
    assert expected.seconds(two, took, on_cores=1) == 80
    assert expected.seconds(two, took, on_cores=2) == 50


def about(seconds, device="cpu"):
    return {"seconds": seconds, "device": device}


def test_others_keep_the_pace_of_those_recorded():
    """At the same scale or else at another; a GPU's seconds say nothing of a CPU."""
    two = experiment(arm("a"), seeds=(0, 1))
    (counted_,) = {cost.seconds([member], "cpu") for member in two.members()}
    slow = {"a|0": about(10 * counted_)}
    assert expected.seconds(two, slow, on_cores=1) == pytest.approx(20 * counted_)
    elsewhere = [(two, slow)]
    found = expected.seconds(two, {}, elsewhere, on_cores=1)
    assert found == pytest.approx(20 * counted_)
    gpu = {"a|0": about(1e-9, "cuda")}
    found = expected.seconds(two, gpu, elsewhere, on_cores=1)
    assert found == pytest.approx(20 * counted_)
    assert expected.seconds(two, {}, on_cores=1) == pytest.approx(2 * counted_)
