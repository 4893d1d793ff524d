"""Schedules: values at named steps."""

import pytest

from grokbook import schedules


def test_staircase():
    factors = [schedules.staircase(k, 100, every=30) for k in (0, 29, 30, 60, 99)]
    assert factors == pytest.approx([1, 1, 0.1, 0.01, 0.001])


def test_cosine_with_warmup():
    steps = (0, 4, 9, 10, 35, 60, 85, 109)
    factors = [schedules.cosine(k, 110, warmup=10) for k in steps]
    expected = [0.1, 0.5, 1, 1, 0.5 + 0.125**0.5, 0.5, 0.5 - 0.125**0.5, 0.00025]
    assert factors == pytest.approx(expected, abs=1e-4)
    assert schedules.cosine(0, 10) == schedules.cosine(9, 10, warmup=10) == 1


def test_warmup_is_linear_and_then_over():
    """Ten steps as in Liu et al.: a tenth, two tenths, ..., the whole, and no more."""
    factors = [schedules.warmup(k, 100, over=10) for k in range(100)]
    assert factors == [(k + 1) / 10 for k in range(10)] + [1.0] * 90
