"""Remedies × tasks: what was chosen is what the rule gives, and faults are told."""

import runpy
from itertools import product

import pytest

from grokbook import papers, project, records
from grokbook.engine import device
from grokbook.experiment import Result

DESIGN = runpy.run_path(f"{project.home()}/book/remedies/experiments.py")
CHOOSE = runpy.run_path(f"{project.home()}/book/remedies/choose.py")
STRENGTHS, FURTHER, CHOSEN = (DESIGN[n] for n in ("STRENGTHS", "FURTHER", "CHOSEN"))


@pytest.mark.parametrize("task", CHOSEN)
def test_what_was_chosen_is_what_the_rule_gives_and_no_seed_tunes_and_tests(task):
    """From the records: the best of the grid, its neighbours outside, the best then."""
    found = CHOOSE["tuned"](task)
    for remedy, chosen in CHOSEN[task].items():
        beyond, point, due = CHOOSE["decided"](task, remedy, found)
        joined = [one[1:] for one in FURTHER[task] if one[0] == remedy]
        assert (joined, chosen, []) == (beyond, point, due), remedy
        assert DESIGN["fault"](task, remedy, chosen) == "", remedy
    tested = papers.get(f"remedies/test-{task}", "laptop").seeds
    assert len(tested) == 5 and not {*tested} & {*DESIGN["TUNING"]}


def test_the_rule_asks_for_the_grid_then_the_four_best_then_what_lies_beyond(tmp_path):
    first, second = DESIGN["TUNING"]
    grid, every = CHOOSE["grid"]("decay"), papers.get("remedies/tune-e", "laptop")

    def decided():
        return CHOOSE["decided"]("e", "decay", CHOOSE["tuned"]("e", tmp_path))

    assert decided() == ([], None, [(point, first) for point in grid])

    def train(point, seed, onset):
        arm = every.arm(DESIGN["named"]("decay", *point))
        late = {"train_loss": 1.0, "train_accuracy": 1.0}
        rows = [
            {"epoch": k * arm.log, "test_accuracy": float(k >= onset)} | late
            for k in range(9)
        ]
        info = device.describe("cpu")
        records.add(every, Result(arm, seed, rows, {}, 1.0, info, None), tmp_path)

    for k, point in enumerate(grid):
        train(point, first, k % 8)
    _, none, due = decided()
    assert none is None and [p for p, _ in due] == [grid[k] for k in (0, 8, 1, 9)]
    for point, seed in due:
        train(point, seed, 3)
    beyond, none, due = decided()
    assert none is None and beyond == DESIGN["outside"]("decay", *grid[0])
    assert due == [*product(beyond, (first, second))]


def test_replayed_norms_are_the_medians_of_the_recorded_runs():
    """At every look that all five seeds have, to three digits."""
    for task, remedy in DESIGN["HELD_AT"].items():
        record = papers.record(f"remedies/test-{task}")
        (name,) = (
            arm.name
            for arm in record.experiment.arms
            if arm.name.startswith(f"{remedy}, ")
        )
        found = DESIGN["RECORDED"][task]
        for matrix, norms in zip(DESIGN["MATRICES"], found["norms"], strict=True):
            seen = record.series(name, f"norm.{matrix}").dropna()  # looks of all seeds
            assert list(seen.index) == [k * found["every"] for k in range(len(norms))]
            assert seen.shape[1] == 5
            assert norms == pytest.approx(list(seen.median(axis=1)), rel=5e-3)


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
    arm, _ = (one for one in DESIGN["testing"]() if "name" in one)
    assert arm["name"] == f"decay, rate 0.001, strength 1, {edge}"
