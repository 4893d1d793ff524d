"""Schedules: values at named steps, and what is out of range."""

import pytest

from grokbook import schedules


def test_staircase():
    factors = [schedules.staircase(k, 100, every=30) for k in (0, 29, 30, 60, 99)]
    assert factors == pytest.approx([1, 1, 0.1, 0.01, 0.001])


def test_cosine_with_warmup():
    factors = [
        schedules.cosine(k, 110, warmup=10) for k in (0, 4, 9, 10, 35, 60, 85, 109)
    ]
    expected = [0.1, 0.5, 1, 1, 0.5 + 0.125**0.5, 0.5, 0.5 - 0.125**0.5, 0.00025]
    assert factors == pytest.approx(expected, abs=1e-4)
    assert schedules.cosine(0, 10) == 1
    assert schedules.cosine(9, 10, warmup=10) == 1


def test_warmup_is_linear_and_then_over():
    """Ten steps as in Liu et al.: a tenth, two tenths, ..., the whole, and no more."""
    factors = [schedules.warmup(k, 100, over=10) for k in range(100)]
    assert factors == [(k + 1) / 10 for k in range(10)] + [1.0] * 90
    assert schedules.warmup(0, 100, over=1) == 1


def test_numbers_out_of_range_are_refused():
    for schedule, step, options, message in (
        (schedules.staircase, 100, {"every": 30}, "step is 100"),
        (schedules.staircase, 0, {"every": 0}, "every is 0"),
        (schedules.cosine, -1, {}, "step is -1"),
        (schedules.cosine, 0, {"warmup": 101}, "warmup is 101"),
        (schedules.warmup, 0, {"over": 0}, "over is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            schedule(step, 100, **options)
