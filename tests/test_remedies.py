"""Remedies × tasks: what was chosen is what the rule gives, and faults are told."""

import runpy
from itertools import product

import pytest

from grokbook import papers, project
from grokbook.evidence import Run

DESIGN = runpy.run_path(f"{project.home()}/book/remedies/experiments.py")
STRENGTHS, FURTHER, CHOSEN = (DESIGN[n] for n in ("STRENGTHS", "FURTHER", "CHOSEN"))


def worth(record, task, remedy, rate, strength):
    """(mean onset, minus mean last accuracy), smaller is better; None: one seed."""
    run = Run(record, DESIGN["named"](remedy, rate, strength))
    onset = run.onset(above=DESIGN["LEVEL"][task]).clip(upper=run.settings.epochs)
    both = {*run.seeds} == {*DESIGN["TUNING"]}
    return (onset.mean(), -run.last("test_accuracy").mean()) if both else None


def best(record, task, remedy, points):
    found = {point: worth(record, task, remedy, *point) for point in points}
    return min((point for point in points if found[point]), key=found.get)


def test_what_was_chosen_is_what_the_rule_gives_and_no_seed_tunes_and_tests():
    """From the records: the best of the grid, its neighbours outside, the best then."""
    for task, (remedy, chosen) in (
        (task, one) for task, points in CHOSEN.items() for one in points.items()
    ):
        record = papers.record(f"remedies/tune-{task}")
        grid = [*product(DESIGN["RATES"][1:-1], STRENGTHS[remedy][1:-1])]
        first = {p: Run(record, DESIGN["named"](remedy, *p)) for p in grid}
        assert all(100 in run.seeds for run in first.values()), (task, remedy)
        both = [p for p, run in first.items() if len(run.seeds) == 2]
        assert len(both) == 4, (task, remedy)
        inner = best(record, task, remedy, grid)
        joined = DESIGN["outside"](remedy, *inner)
        further = [one[1:] for one in FURTHER[task] if one[0] == remedy]
        assert further == joined, (task, remedy)
        assert best(record, task, remedy, [*grid, *joined]) == chosen, (task, remedy)
    for task in CHOSEN:
        tested = papers.get(f"remedies/test-{task}", "laptop").seeds
        assert len(tested) == 5 and not {*tested} & {*DESIGN["TUNING"]}


def test_a_point_that_must_not_be_tested_says_so(monkeypatch):
    fault, further = DESIGN["fault"], {"a": (("decay", 3e-3, 100.0),)}
    monkeypatch.setitem(fault.__globals__, "FURTHER", further)
    assert fault("a", "decay", (3e-3, 1.0)) == ""
    assert fault("a", "decay", (3e-3, 10.0)) == fault("a", "decay", (3e-3, 100.0)) == ""
    edge = "at an edge that was not extended"
    for rate, strength in ((3e-3, 0.01), (1e-3, 1.0), (1e-2, 10.0)):
        assert fault("a", "decay", (rate, strength)) == edge
    assert fault("a", "none", (3e-3, 1e-1)) == edge
    assert fault("b", "decay", (3e-3, 10.0)) == edge
    assert fault("a", "decay", (2e-3, 1.0)) == "never tuned"
    assert fault("a", "decay", (3e-2, 1.0)) == "never tuned"
    monkeypatch.setitem(fault.__globals__, "CHOSEN", {"a": {"decay": (1e-3, 1.0)}})
    (arm,) = (one for one in DESIGN["testing"]() if "name" in one)
    assert arm["name"] == f"decay, rate 0.001, strength 1, {edge}"


def test_a_grid_spans_three_decades():
    for remedy, (_, *grid, _) in STRENGTHS.items():
        assert len(grid) == 4
        if remedy == "dropout":
            grid = [share / (1 - share) for share in grid]
        if remedy in ("radius with tuned target", "first matrix held short"):
            grid = [length**2 for length in grid]
        assert grid[-1] / grid[0] == pytest.approx(1000, rel=0.15), remedy
