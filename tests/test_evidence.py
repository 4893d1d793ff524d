"""Evidence: what was read is written down, and every definition meets a known case."""

import hashlib
import json
import math
import os
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas import DataFrame, Series
from recorded import INFO

from claimbook import change, evidence, papers, project, records, tables
from claimbook.engine import pool
from claimbook.errors import (
    BookError,
    DataError,
    PageError,
    RecordError,
    TrainingError,
    UnknownName,
)
from claimbook.evidence import Run, reading
from claimbook.experiment import Arm, Experiment, Result, Spec
from claimbook.records import Record
from grokbook import instability

NEVER, NONE = math.inf, math.nan
LEFT = "prieto2025/fig04left"


def record(curves, *, seeds=(3, 0, 1), column="test_accuracy", scale="laptop"):
    """A record of one arm: {seed: {epoch: value}}, seeds in this order."""
    arm = Arm("plain", *map(Spec, "dmlo"), epochs=100, log=10)
    made = Experiment("prieto2025/fig02", scale, (arm,), seeds)
    rows = [
        ("plain", seed, epoch, value)
        for seed, curve in curves.items()
        for epoch, value in curve.items()
    ]
    frame = DataFrame(rows, columns=["arm", "seed", "epoch", column])
    frame = frame if column == "train_loss" else frame.assign(train_loss=1.0)
    members = {f"plain|{seed}": {"seconds": 1.0} for seed in curves}
    return Record(made, frame, members, {})


def run(curves, **options):
    return Run(record(curves, **options), "plain")


def table(*columns, epochs=None):
    return DataFrame(dict(enumerate(columns)), index=epochs, dtype=float)


def by_seed(*values):
    return Series(dict(enumerate(values)), dtype=float)


def same(found, *values):
    """NaN equals NaN here, and a Series is compared with values in its order."""
    return np.array_equal(found.to_numpy(), np.array(values, float), equal_nan=True)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store of records, nothing read yet; call it to put arms into it."""
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    monkeypatch.setattr(reading, "_READ", [])

    def add(scale, *names, seed=42):
        known = papers.get(LEFT, scale)
        for one in names:
            arm = replace(known.arm(one), keep=(), trace=False)
            rows = [{"epoch": k, "test_accuracy": 0.0} for k in arm.logged_epochs()]
            rows[-1]["test_accuracy"] = 0.5
            records.add(known, Result(arm, seed, rows, {}, 1.0, INFO))

    return add


def test_a_page_tells_what_it_read(store):
    store("laptop", "addition", "product")
    found = evidence.record(LEFT, arms=("addition",))
    known = found.experiment
    plan = json.dumps([[a.name for a in known.arms], list(known.seeds), known.reduced])
    keys = {f"{a}|42": known.arm(a).training_key() for a in ("addition", "product")}
    told = {"record": LEFT, "asked": "best", "arms": ["addition"], "scale": "laptop"}
    told |= {"members": keys, "sha256": found.digest}
    told["planned"] = sha256(plan.encode()).hexdigest()[:16]
    assert evidence.read() == [told]
    evidence.record(LEFT, arms=iter(["addition"]))  # the same once more
    evidence.record(LEFT, scale="laptop")
    assert [one["asked"] for one in evidence.read()] == ["best", "laptop"]
    evidence.read().clear()
    assert len(evidence.read()) == 2  # the list itself is not given away


def test_a_record_in_the_making_is_passed_over(store):
    """A page gets the paper's scale once that record has every arm it asks for."""
    both, absent = ("addition", "product"), ("sparse parity, data seed 42",)

    def scales():
        asked = ((), both, ("addition",), absent)
        return [evidence.record(LEFT, arms=a).scale for a in asked]

    store("paper", "addition")
    assert scales() == ["paper"] * 4  # nothing to fall back to
    store("laptop", *both)
    assert scales() == ["paper", "laptop", "paper", "paper"]
    store("paper", "product")
    assert scales() == ["paper"] * 4
    assert evidence.record(LEFT, scale="laptop", arms=absent).scale == "laptop"
    with pytest.raises(UnknownName, match="'adition': use one of addition"):
        evidence.record(LEFT, arms=("adition",))


def test_a_page_asks_with_its_own_parameters(store):
    store("laptop", "addition")
    page = evidence.Page(LEFT, "best")
    for name in ("", "fig04left", LEFT):
        assert (page.record(name).scale, page.record(name).name) == ("laptop", LEFT)
    assert not page.record(scale="paper")
    assert {one["asked"] for one in evidence.read()} == {"best"}


@pytest.mark.parametrize("scale", ["best", "laptop"])
def test_no_record_is_no_fault_and_a_damaged_one_is(store, scale):
    """A page says "not run" of what nobody trained, never of what got lost."""
    empty = evidence.record(LEFT, scale=scale)
    run = evidence.Run(empty, "addition")
    assert not empty and run.seeds == []
    for value in (run.last("test_accuracy"), run.onset(), run.fitted(loss=1)):
        assert evidence.told(value) == "not run"
    assert instability.bursts(run) == {}
    store("laptop", "addition")
    (path,) = evidence.record(LEFT, scale=scale).paths.values()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match=path.name):
        evidence.record(LEFT, scale=scale)
    with pytest.raises(UnknownName):
        evidence.record("prieto2025/fig99", scale=scale)


@pytest.fixture
def reruns(tmp_path, monkeypatch):
    """The folder of a reader's reruns, which train in this process."""
    papers.registries()  # those of the book, before its home is another
    (tmp_path / "book").symlink_to(project.home() / "book")
    monkeypatch.setattr(project, "home", lambda: tmp_path)
    monkeypatch.setattr(reading, "_READ", [])
    monkeypatch.setenv("GROKBOOK_PROGRESS", "no")
    monkeypatch.setattr(pool, "train", partial(pool.train, processes=0))
    return tmp_path / "data" / "reruns"


def test_a_rerun_trains_the_arms_that_a_page_reads_and_no_others(reruns):
    page = evidence.Page("singh2026/fig03", "smoke", retrain=True, device="cpu")
    found = page.record("fig02", reads=["M+A*"])  # the name, and no pattern
    assert {*found.members} == {"M+A*|456", "M+A*|789"}
    found = page.record("fig02", reads=["No LN"])
    assert {*found.members} == {"M+A*|456", "M+A*|789", "No LN|456", "No LN|789"}
    stored = records.load(papers.get("singh2026/fig02", "smoke"), reruns)
    assert stored.members == found.members
    with pytest.raises(UnknownName, match="'No LM': use one of No LN"):
        page.record("fig02", reads=["No LM"])
    # a page may need one arm and read others too: it trains all unless it names them
    assert page.record("fig02", arms=["M"]).missing == []


@pytest.mark.parametrize(("scale", "trained"), [("best", "laptop"), ("smoke", "smoke")])
def test_a_rerun_is_at_laptop_scale_unless_it_says_another(
    reruns, monkeypatch, scale, trained
):
    asked = []
    monkeypatch.setattr(pool, "train", lambda todo, **how: asked.append((todo, how)))
    record = evidence.record(LEFT, scale=scale, retrain=True, device="cpu")
    ((todo, how),) = asked
    # workers take longer to start than a smoke test to train
    few = scale == "smoke" and len(todo) <= reading.FEW
    assert how == {"device": "cpu", "processes": 0 if few else None}
    assert {task.out for task in todo} == {reruns}
    every = papers.get(LEFT, trained)
    members = [task.member for task in todo]
    assert sorted((arm.hash(), seed) for arm, seed in members) == sorted(
        (arm.hash(), seed) for arm, seed in every.members()
    )
    assert not record and record.scale == trained  # what nobody trained is not run


def test_a_rerun_with_another_setting_has_the_books_runs_behind_its_own(
    reruns, monkeypatch
):
    stored = Path(__file__).parents[1] / "data" / "records"
    monkeypatch.setenv("GROKBOOK_RECORDS", str(stored))
    other = change.read("optimizer.lr=0.002", ["M*"])
    page = evidence.Page("singh2026/fig02", "smoke", retrain=True, device="cpu")
    with pytest.raises(BookError, match="arm 'M': network .* cannot take rows of sha"):
        monkeypatch.setattr(change, "in_use", change.read("model.heads=3"))
        page.record(reads=["M"])
    assert not list(reruns.rglob("*.parquet"))
    monkeypatch.setattr(change, "in_use", other)
    found = page.record(reads=["M", "A*"])
    m, a = (evidence.Run(found, arm) for arm in ("M", "A*"))
    assert m.seeds == a.seeds == [456, 789]
    assert m.settings.optimizer.options["lr"] == 0.002
    assert a.settings.optimizer.options["lr"] == 0.001
    assert m.of_book.seeds == papers.record("singh2026/fig02").seeds("M")
    assert m.of_book.record.scale == "paper" and m.of_book.of_book is None
    assert a.of_book is None  # it was not changed
    plain = papers.get("singh2026/fig02", "smoke")  # as another rerun trains it
    assert {*records.load(plain, reruns).members} == {"A*|456", "A*|789"}


def test_a_page_that_trains_anew_makes_a_rerun_of_its_own_process_alone():
    """The sentences of the book are left out there, and in no kernel started later."""
    assert tables.prose("It holds.") == "It holds."
    evidence.Page("prieto2025/fig02", retrain=True)
    assert tables.prose("It holds.") == ""
    assert "GROKBOOK_RERUN" not in os.environ


CURVES = {
    0: {0: 0.0, 10: 0.5, 20: 1.0},
    1: {0: 0.0, 10: 0.4},  # ended early
    3: {0: 0.2, 5: 0.9, 10: 0.1, 20: 0.3},
}


def test_values_of_an_arm_come_in_the_order_of_its_seeds():
    one = run(CURVES)
    assert one.seeds == list(one.series("test_accuracy").columns) == [3, 0, 1]
    assert one.first("test_accuracy", at_least=0.5).index.tolist() == [3, 0, 1]
    assert one.settings.epochs == 100
    assert same(one.last("test_accuracy"), 0.3, 1.0, 0.4)
    assert same(one.at("test_accuracy", 5), 0.9, 0.0, 0.0)
    assert same(one.largest("test_accuracy"), 0.9, 1.0, 0.4)
    assert same(one.smallest("test_accuracy", since=5), 0.1, 0.5, 0.4)
    assert same(one.largest("test_accuracy", until=5), 0.9, 0.0, 0.0)
    assert same(one.peak("test_accuracy"), 5, 20, 10)
    assert same(one.peak("test_accuracy", since=6), 20, 20, 10)
    assert same(one.first("test_accuracy", at_least=0.5), 5, 10, NEVER)
    assert same(one.first("test_accuracy", at_least=0.25, since=6), 20, 10, 10)
    # the start counts unless it is left out
    assert same(one.first("test_accuracy", below=0.3), 0, 0, 0)
    falls = run({0: {0: 9.0, 10: 1.0}})
    assert same(falls.peak("test_accuracy"), 0)
    assert same(falls.largest("test_accuracy"), 9)
    assert same(one.smallest("test_accuracy"), 0.1, 0, 0)


def test_a_bound_may_differ_by_seed_and_a_value_that_does_not_exist_is_named():
    one = run(CURVES)
    fit = one.first("test_accuracy", at_least=0.5)  # 5, 10, never
    assert same(one.largest("test_accuracy", since=fit), 0.9, 1.0, NONE)
    assert same(one.smallest("test_accuracy", since=fit, otherwise=7), 0.1, 0.5, 7)
    assert same(one.largest("test_accuracy", until=fit), 0.9, 0.5, 0.4)
    assert same(one.at("test_accuracy", fit), 0.9, 0.5, NONE)
    assert same(one.at("test_accuracy", fit, otherwise=-1), 0.9, 0.5, -1)
    assert same(one.at("test_accuracy", math.inf), NONE, NONE, NONE)
    assert same(one.largest("test_accuracy", since=99), NONE, NONE, NONE)
    assert same(one.last("test_accuracy", otherwise=5), 0.3, 1.0, 0.4)
    with pytest.raises(KeyError, match=r"\[0, 1\] not in index"):
        one.largest("test_accuracy", since=fit.loc[[3]])


def test_no_value_is_told_of_a_time_after_the_end_of_a_run():
    one = run(CURVES)
    assert same(one.ends(), 20, 20, 10)
    assert same(one.at("test_accuracy", 10), 0.1, 0.5, 0.4)
    with pytest.raises(PageError, match=r"epoch 12 of 'plain' .* end of seed 1, 10"):
        one.at("test_accuracy", 12)
    late = Series({3: 20.0, 0: 20.0, 1: 11.0})
    with pytest.raises(PageError, match="epoch 11 .* seed 1"):
        one.at("test_accuracy", late)
    assert same(run(CURVES, scale="smoke").at("test_accuracy", 12), 0.1, 0.5, 0.4)


def test_what_reaches_a_level_need_not_generalise():
    """Stays; falls back for two of four later logs; comes back at the end; never."""
    curves = {
        0: {0: 0.0, 10: 0.95, 20: 0.9, 30: 1.0, 40: 0.99, 50: 1.0},
        1: {0: 0.0, 10: 0.95, 20: 0.2, 30: 0.1, 40: 0.97, 50: 1.0},
        2: {0: 0.0, 10: 0.5, 20: 0.95, 30: 1.0, 40: 0.6, 50: 0.5},
        3: {0: 0.0, 10: 0.5},
        4: {0: 0.0, 10: 0.9},
    }
    one = run(curves, seeds=(0, 1, 2, 3, 4))
    assert same(one.reaches(accuracy=0.9), 10, 10, 20, NEVER, 10)
    assert same(one.generalises(accuracy=0.9), 10, 40, NEVER, NEVER, 10)
    assert same(one.falls_back(accuracy=0.9), 0, 0.5, 2 / 3, NONE, NONE)
    assert same(one.onset(above=0.9), 30, 40, NEVER, NEVER, NEVER)
    losses = {0: {0: 4.0, 10: 0.01, 20: 0.5, 30: 0.001}}
    other = run(losses, seeds=(0,), column="test_loss")
    assert same(other.reaches(loss=0.01), 10)
    assert same(other.generalises(loss=0.01), 30)
    assert same(other.falls_back(loss=0.01), 0.5)


def test_only_seeds_that_can_test_a_claim_have_a_value():
    values = by_seed(1, 2, 3)
    kept = evidence.testable(values, by_seed(0, 1, 1) > 0)
    assert kept.to_dict() == {1: 2, 2: 3}
    assert evidence.testable(values, [False] * 3).empty


def test_epochs_behind_a_printed_mean_and_deviation():
    for epochs in ((1000, 2500, 2600), (3000, 3000, 3100)):
        mean, spread = round(np.mean(epochs)), round(np.std(epochs))
        assert epochs in evidence.behind(mean, spread, count=3)
    assert evidence.behind(6167, 624, count=3, step=500) == [(5500, 6000, 7000)]
    assert evidence.behind(2460, 136)
    assert not evidence.behind(8200, 650)  # of Table 7 of Tiwari et al.
    assert not evidence.behind(2450, 100)  # the mean of no five hundreds


def test_pairs_agree_where_both_events_have_them_in_one_strict_order():
    one = {"a": by_seed(1, 1, 1), "b": by_seed(2, 1, NEVER), "c": by_seed(3, 2, NEVER)}
    other = {"a": by_seed(5, 5, 5), "b": by_seed(7, 7, 7), "c": by_seed(6, 6, NEVER)}
    assert evidence.agreeing(one, other).to_dict() == {0: 2, 1: 1, 2: 2}
    nothing = one | {"c": Series(dtype=float)}
    assert evidence.agreeing(nothing, other).empty
    found = evidence.joined({"a": by_seed(1, 2, 3), "b": by_seed(4, NEVER)[::-1]})
    assert found.to_dict("index") == {0: {"a": 1, "b": 4}, 1: {"a": 2, "b": NEVER}}
    assert evidence.joined(nothing).empty


def test_what_was_measured_at_other_epochs_of_other_seeds_is_passed_over():
    one = run({0: {0: 1.0, 10: NONE, 20: 3.0}, 1: {0: NONE, 10: 2.0, 20: NONE}})
    assert same(one.last("test_accuracy"), 3, 2)
    assert same(one.at("test_accuracy", 15), 1, 2)
    assert same(one.at("test_accuracy", 5), 1, NONE)
    assert same(one.largest("test_accuracy"), 3, 2)
    assert same(one.smallest("test_accuracy"), 1, 2)
    traced = SimpleNamespace(trace=lambda _: table([1, 2]), seeds=lambda _: [1, 0])
    trace = Run(traced, "a").trace()  # a column for every seed
    assert list(trace.columns) == [1, 0]
    assert same(trace[0], 1, 2) and trace[1].isna().all()


def test_a_crossing_is_the_first_logged_epoch_there():
    """t / 10 and 1 - t / 10, logged at 0, 2, 4, ...: known in closed form."""
    epochs = np.arange(0, 11, 2)
    lines = table(epochs / 10, 1 - epochs / 10, epochs=epochs)
    assert same(evidence.crossing(lines, at_least=0.4), 4, 0)
    assert same(evidence.crossing(lines, above=0.4), 6, 0)
    assert same(evidence.crossing(lines, at_least=0.5), 6, 0)
    assert same(evidence.crossing(lines, at_most=0.4), 0, 6)
    assert same(evidence.crossing(lines, below=0.4), 0, 8)
    assert same(evidence.crossing(lines, above=1.0), NEVER, NEVER)
    assert same(evidence.crossing(lines.iloc[:0], above=0.0), NEVER, NEVER)
    assert evidence.crossing(lines[[]], above=0.0).empty
    holes = table([NONE, 0.1, NONE, 0.9], epochs=[0, 1, 2, 3])
    assert same(evidence.crossing(holes, at_least=0.5), 3)
    assert same(evidence.crossing(holes, below=0.5), 1)


def test_what_lasts_stays_above_a_level_to_its_end_and_where_a_peak_is():
    """Above at once, after a fall, never, only at the start; ended early; no value."""
    later = [0.1, 0.95, 0.9, 0.99], [0.1, 0.9, 0.9, 0.9], [0.95, 0.1, 0.2, 0.3]
    holes = [0.1, 0.2, 0.95, NONE], [NONE] * 4
    epochs = [0, 100, 200, 300]
    found = table([0.95, 0.96, 0.97, 0.95], *later, *holes, epochs=epochs)
    assert same(evidence.lasting(found, above=0.9), 0, 300, NEVER, NEVER, 200, NEVER)
    assert same(evidence.peak(found), 200, 300, 100, 0, 200, NEVER)
    for measure in (evidence.peak, partial(evidence.lasting, above=0.9)):
        assert measure(found[[]]).empty


def test_rises_from_an_epoch_that_comes_and_regular_looks():
    one = run({0: {0: 0.1, 10: 0.5, 20: 0.4}, 1: {0: 0.9, 10: 0.2, 20: 0.3}})
    assert np.allclose(one.rise("test_accuracy", since=0), [0.4, 0])
    assert np.allclose(one.rise("test_accuracy", since=10), [0, 0.1])
    assert same(one.rise("test_accuracy", since=by_seed(20, NEVER)), 0, NEVER)
    one = run({3: {0: 1, 5: 2, 10: 3}})  # one look in between
    assert one.looks("test_accuracy")[3].to_dict() == {0: 1, 10: 3}
    assert one.looks("test_accuracy", since=4)[3].dropna().to_dict() == {10: 3}


def test_fit_generalisation_and_the_delay_between_them():
    """Accuracies step at 30 and 70; losses are 10^-t and 10^(-t / 2)."""

    def both(column, train, test):
        made = record({0: train}, seeds=(0,), column=f"train_{column}")
        made.frame[f"test_{column}"] = list(test.values())
        return Run(made, "plain")

    early, late = ({e: float(e >= at) for e in range(0, 101, 10)} for at in (30, 70))
    never = dict.fromkeys(early, 0.5)
    fast, slow = ({e: 10.0 ** (-e / by) for e in range(5)} for by in (1, 2))
    for one, level, fit, generalised, delay in (
        (both("accuracy", early, late), {"accuracy": 0.99}, 30, 70, 40),
        (both("accuracy", never, late), {"accuracy": 0.99}, NEVER, 70, NEVER),
        (both("loss", fast, slow), {"loss": 0.01}, 2, 4, 2),
    ):
        assert same(one.fitted(**level), fit)
        assert same(one.reaches(**level), generalised)
        assert same(one.delay(**level), delay)


def test_what_a_diverged_run_lacks_is_said_with_its_epoch_and_the_change(monkeypatch):
    """And not with a command that trains the book's own settings."""
    monkeypatch.setattr(change, "in_use", change.read("optimizer.lr=1e9"))
    lost = run({0: {0: 2.3, 20: NONE}, 1: {0: 2.3, 10: NONE}}, column="train_loss")
    with pytest.raises(TrainingError) as told:
        lost.first("logit_norm", above=1)
    assert str(told.value) == (
        "arm 'plain' of prieto2025/fig02 diverged with optimizer.lr = 1000000000.0: "
        "its training loss is NaN from epoch 10 on, and so it has no logit_norm: "
        "choose another value, such as a lower rate"
    )
    with pytest.raises(RecordError, match="has no 'logit_norm' of arm 'plain'"):
        run({0: {0: 2.3}}, column="train_loss").series("logit_norm")


def test_a_network_that_became_nan_has_learned_nothing():
    """By its loss or its accuracy, whether that is NaN too or, as once, a share."""
    for value in (NONE, 1 / 97):
        of_seed = {0: {0: 0.1, 10: 1.0, 20: value, 30: value}, 1: {0: 0.1, 10: 1.0}}
        failing = run(of_seed, seeds=(0, 1))
        frame = failing.record.frame
        frame["test_loss"] = 1 - frame["test_accuracy"] if value is NONE else NONE
        frame.loc[frame["test_accuracy"].eq(1.0), "test_loss"] = 0.0
        frame.loc[(frame["seed"] == 0) & (frame["epoch"] >= 20), "train_loss"] = NONE
        for level in ({"accuracy": 0.9}, {"loss": 0.1}):
            assert same(failing.reaches(**level), 10, 10)
            assert same(failing.generalises(**level), NEVER, 10)
            assert same(failing.falls_back(**level), 1, NONE)
        assert same(failing.onset(), NEVER, 10)
        assert same(failing.last("test_accuracy"), NONE, 1)
        assert same(failing.last("test_accuracy", otherwise=0), 0, 1)
        ends = by_seed(20, 10)  # the one with the first NaN
        assert same(failing.at("test_accuracy", ends), NONE, 1)
        assert same(failing.at("test_accuracy", 10), 1, 1)


def test_values_of_arms_with_unlike_seeds_are_paired():
    one, other = Series({3: 1.0, 0: 2.0, 1: 5.0}), Series({1: 4.0, 3: 9.0, 7: 0.0})
    first, second = evidence.paired(one, other)
    assert first.to_dict() == {3: 1.0, 1: 5.0} and second.to_dict() == {3: 9.0, 1: 4.0}
    assert list(first.index) == list(second.index) == [3, 1]
    assert evidence.difference(other, one).to_dict() == {1: -1.0, 3: 8.0}
    assert evidence.lead(one, other).to_dict() == {3: 8.0, 1: -1.0}
    assert evidence.ratio(one, other).to_dict() == {3: 1 / 9, 1: 1.25}
    assert all(part.empty for part in evidence.paired(one, Series(dtype=float)))


def test_what_comes_of_an_event_that_never_comes():
    late = by_seed(30, 10, NEVER, 10, NEVER, NONE)
    early = by_seed(10, 30, 10, NEVER, NEVER, 10)
    assert same(evidence.difference(late, early), 20, -20, NEVER, NEVER, NEVER, NONE)
    # nothing leads by not arriving
    assert same(evidence.lead(early, late), 20, -20, NEVER, -NEVER, -NEVER, NONE)
    # a second event that never comes counts as one at the end
    assert same(evidence.lead(early, late, until=25), 15, -20, 15, -NEVER, -NEVER, NONE)
    assert same(evidence.ratio(late, early), 3, 1 / 3, NEVER, 0, NEVER, NONE)
    zeros = evidence.ratio(by_seed(0, 0, 5, 0, NEVER), by_seed(0, 5, 0, NEVER, 0))
    assert same(zeros, 1, 0, NEVER, 0, NEVER)
    # where the one said to come sooner never comes it is 0; of neither, no value
    slow = by_seed(100, 100, NEVER, NEVER, 0, 50)
    quick = by_seed(50, NEVER, 50, NEVER, 0, 100)
    assert same(evidence.times(slow, quick), 2, 0, NEVER, 1, 0.5)
    assert list(evidence.times(slow, quick).index) == [0, 1, 2, 4, 5]
    assert list(evidence.times(slow[[1, 0]], quick[[0, 5]]).index) == [0]


def test_an_average_does_not_see_how_often_was_logged():
    """A straight line from 0 to 1 averages 1/2, and 1/4 if it waits half the time."""
    dense = [*range(10), *range(10, 101, 30)]
    line = table(np.array(dense) / 100, epochs=dense)
    assert evidence.average(line)[0] == pytest.approx(0.5)
    late = table([0, 0, 1], [0, NONE, 1], [NONE, 5, NONE], epochs=[0, 50, 100])
    assert same(evidence.average(late), 0.25, 0.5, NONE)
    assert same(evidence.average(table([7, 7], epochs=[50, 60])), 7)
    assert same(evidence.area(late), 25, 50, 0)
    # of a power of time epoch 0, gaps and a seed with one value are no part
    curves = ([9, 5, NONE, 5e-4], [NONE, NONE, 3, NONE], [0, 1e-3, 1, 1e3])
    found = evidence.power(table(*curves, epochs=[0, 1, 10, 100]))
    assert found.to_numpy() == pytest.approx([-2, NONE, 3], nan_ok=True)


def noisy(length, spikes, *, seed=0, floor=1e-8):
    """A loss that falls from 4 to a noisy floor, with spikes planted at given steps."""
    noise = 3 ** np.random.default_rng(seed).uniform(-1, 1, length)
    steps = np.arange(length)
    loss = 4 * 10.0 ** (-steps / 20) + floor
    for start in spikes:
        climb = np.where(steps < start, 0, 10.0 ** np.minimum(steps - start - 4, 0) / 3)
        loss = loss + climb * 0.5 ** np.maximum(steps - start - 4, 0)
    return Series(loss * noise)


def test_an_onset_is_the_first_loud_step_after_a_quiet_one():
    """Levels by hand: 1 is loud, 0 quiet, 0.01 neither."""
    loss = Series([1, 1, 0.01, 1, 0, 0.01, 1, 1, 0.01, 1, 0, 1, 0.05], dtype=float)
    assert instability.spikes(loss, apart=6) == [6]
    assert instability.spikes(loss, apart=5) == [6, 11]
    assert instability.spikes(loss, loud=2) == []
    assert instability.spikes(loss, quiet=0.02, apart=1) == [3, 6, 9, 11]
    # both levels are included
    for values in ([0.001, 0.1], [0.0, math.inf]):
        assert instability.spikes(Series(values, dtype=float)) == [1]
    for values in ([0.0011, 0.1], [0.001, 0.0999], []):
        assert instability.spikes(Series(values, dtype=float)) == []
    assert instability.spikes(Series([1e-9, 1.0, 0.0, 1.0]), quiet=0) == [3]
    # a burst goes on as long as its spikes follow each other; steps are labels
    loss = Series(0.0, index=range(1000, 1400))
    loss[[1100, 1150, 1200, 1260, 1320]] = 1.0
    assert instability.spikes(loss) == [1100, 1260, 1320]


def test_how_high_and_how_far_apart_events_are_and_what_was_measured_before():
    loss = Traced({3: Series([0.0, 1, 5, 2, 9]), 0: Series([0.0] * 5)}, {})
    found = {3: [1, 3], 0: []}
    assert instability.heights(loss, found, within=1) == {3: [5, 9], 0: []}
    assert instability.heights(loss, found) == {3: [9, 9], 0: []}
    assert same(instability.waits({0: [1, 5, 11], 1: [7], 2: []}), 5, NEVER, NEVER)
    curves = {3: {0: 0.1, 10: 0.5, 20: NONE, 30: 0.7}, 0: {0: 0.2}, 1: {0: 0.3}}
    for how, value in (({}, 0.1), ({"pick": max}, 0.7)):
        events = {3: [25, 10, 31], 0: [], 1: [0]}
        found = instability.before(run(curves), "test_accuracy", events, **how)
        assert found.to_dict() == {3: value}


def test_the_steps_around_the_first_loud_loss():
    """Rows without a neighbour are no part of it, nor is a seed that starts loud."""
    epochs = [0, 50, *range(100, 130), 150]
    loud = {3: 120, 0: 105, 1: NEVER}
    made = record({seed: dict.fromkeys(epochs, 1.0) for seed in loud}, column="sharp")
    frame = made.frame.assign(train_loss=1e-8)
    for seed, onset in loud.items():
        late = (frame["seed"] == seed) & (frame["epoch"] >= onset)
        frame.loc[late, "train_loss"] = 0.1
    made = Record(made.experiment, frame, made.members, {})
    found = instability.windows(Run(made, "plain"), "sharp")
    assert list(found) == [3]
    assert list(found[3].index) == list(range(-20, 10))
    assert found[3].at[0, "epoch"] == 120


def test_a_seed_without_an_onset_tests_no_finished_network():
    late = run({3: {0: 0, 10: 0.95}, 0: {0: 0, 10: 0.5}, 1: {0: 1}})
    never = run({3: {0: 0.5}, 1: {0: 1}})
    values = Series({1: 7.0, 0: 8.0, 3: 9.0})
    assert evidence.finished(values, late).to_dict() == {1: 7.0, 3: 9.0}
    assert evidence.finished(values, late, never).to_dict() == {1: 7.0}
    assert evidence.finished(values, Run(never.record, "other")).empty
    assert evidence.finished(values).equals(values)


class Traced:
    """A run whose loss and share of collapsed samples are given by seed."""

    def __init__(self, losses, shares):
        self.losses, self.shares = DataFrame(losses), DataFrame(shares)
        self.seeds = list(losses)

    def trace(self):
        return self.losses

    def series(self, column):
        assert column == "collapsed"
        return self.shares


def test_bursts_are_early_or_late_by_the_collapse_before_them():
    planted = {0: [300, 900, 1500], 1: [], 7: [700]}
    losses = {seed: noisy(2000, at, seed=seed) for seed, at in planted.items()}
    shares = {  # looked at every 50 steps; seed 0 collapses at step 800
        0: Series({k: 0.4 if k >= 800 else 0.1 for k in range(0, 2001, 50)}),
        1: Series({k: 1.0 for k in range(0, 2001, 50)}),
        7: Series({0: 0.0, 590: 0.9, 610: 0.39, 706: 1.0}),
    }
    run = Traced(losses, shares)
    starts = {seed: list(instability.spikes(loss)) for seed, loss in losses.items()}
    assert instability.bursts(run) == starts
    assert [len(of) for of in starts.values()] == [3, 0, 1]
    late, early = (instability.bursts(run, late=late) for late in (True, False))
    assert late == {0: starts[0][1:], 1: [], 7: []}
    assert early == {0: starts[0][:1], 1: [], 7: starts[7]}
    assert instability.bursts(run, late=True, within=120)[7] == starts[7]
    rare = Traced({7: losses[7]}, {7: shares[7].drop(610)})
    assert instability.bursts(rare, late=True) == {7: starts[7]}
    assert same(instability.counted(late), 2, 0, 0)
    assert same(instability.slingshots(run), 2, 0, 0)
    assert same(instability.earliest(late), starts[0][1], NEVER, NEVER)


def test_bursts_end_where_a_loss_is_no_number():
    loss = noisy(2000, [300, 900])
    loss.iloc[800:] = NONE
    whole = noisy(2000, [300, 900])
    whole.iloc[500] = NONE
    found = instability.bursts(Traced({0: loss, 1: whole}, {}))
    assert found[0] == found[1] == instability.spikes(noisy(2000, [300]))
    assert instability.bursts(Traced({0: Series([NONE, NONE])}, {})) == {0: []}
    assert instability.slingshots(Traced({}, {})).empty


def test_interventions_are_judged_where_the_baseline_has_what_they_remove(monkeypatch):
    values = Series({3: 0.0, 0: 2.0, 1: 0.0, 5: 9.0})
    control = Series({0: 4.0, 1: 0.0, 3: 1.0})
    assert instability.tested(values, control).to_dict() == {3: 0.0, 0: 2.0}
    counts = {"base": {0: 3, 1: 0}, "exact": {0: 1, 1: 2}, "projection": {0: 4, 1: 5}}
    grown = {"base": {0: 0, 1: 1}, "exact": {0: 1, 1: 0}}
    for name, values in (("slingshots", counts), ("inflated", grown)):
        told = {key: Series(by_seed, dtype=float) for key, by_seed in values.items()}
        monkeypatch.setattr(instability, name, told.get)
    found = instability.outcomes("base", "exact", "projection")
    assert {name: (run, value.to_dict()) for name, (run, value) in found.items()} == {
        "again": ("base", {0: 3, 1: 0}),
        "float64 loss": ("exact", {0: 1}),
        "projection": ("projection", {0: 4}),
        "inflation": ("base", {0: 0, 1: 1}),
        "no inflation": ("exact", {1: 0}),
    }


def inflating(cosine, norm, logit, collapsed=(0.0, 0.6, 0.3, 1.0)):
    """A run of one seed that is looked at four times."""
    epochs = (0, 10, 20, 30)
    made = record({0: dict(zip(epochs, cosine, strict=True))}, column="mean_cosine")
    made.frame["head_mean_norm"], made.frame["head_norm"] = norm, 20.0
    made.frame["correct_logit"], made.frame["collapsed"] = logit, collapsed
    return Run(made, "plain")


FALLS, DOUBLES, NEGATIVE = (0, -0.2, -0.5, -0.4), (9, 1, 1.5, 2), (5, 4, -0.1, 3)
SUBTRACTED = (0, 1e-6, 1e-4, 1e-4)  # W_G, and what is left grows from nothing
STAYS, KEEPS, POSITIVE = (-9, -0.2, -0.4, -0.4), (0.1, 1, 1.9, 1.5), (-5, 4, 3, 0)


def test_inflation_is_two_signs_of_three_after_the_collapse():
    for cosine, norm, logit in product(
        (FALLS, STAYS), (DOUBLES, KEEPS, SUBTRACTED), (NEGATIVE, POSITIVE)
    ):
        one = inflating(cosine, norm, logit)
        signs = (cosine is FALLS) + (norm is DOUBLES) + (logit is NEGATIVE)
        assert same(instability.settled(one), 10)
        assert same(instability.inflated(one), norm is not SUBTRACTED and signs >= 2)
    found = instability.inflation(inflating(FALLS, DOUBLES, NEGATIVE))
    (row,) = found.to_dict("records")
    assert row == pytest.approx({"cosine": -0.3, "growth": 2, "logit": -0.1})
    one = inflating(FALLS, DOUBLES, NEGATIVE, collapsed=(0, 0.4, 0.49, 0.2))
    assert same(instability.settled(one), NEVER) and same(instability.inflated(one), 0)
    assert instability.inflation(one).isna().all(axis=None)


FOLDER = project.home() / "data" / "references"
LISTED = pd.read_csv(FOLDER / "sources.csv", dtype=str, keep_default_na=False)
NAMES = [file.removesuffix(".csv") for file in LISTED.file]
ROW = "quantity,series,epoch,value\ntest_loss,M,1,4.78\n"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A checkout with one reference, and nothing cited yet."""
    folder = tmp_path / "data" / "references" / "paper2026"
    folder.mkdir(parents=True)
    (folder / "fig01.csv").write_text(ROW)
    sha256 = hashlib.sha256(ROW.encode()).hexdigest()
    (folder.parent / "sources.csv").write_text(
        "file,sha256,repository,commit,path,what\n"
        f'paper2026/fig01.csv,{sha256},owner/code,abc,log.csv,"One row, by hand."\n'
        "paper2026/fig02.csv,0,owner/code,abc,log.csv,Lost.\n"
    )
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.setattr(reading, "_CITED", {})
    return folder


def test_a_reference_is_read_with_its_columns_and_cited_once(book):
    assert evidence.source("paper2026/fig01")["what"] == "One row, by hand."
    assert evidence.cited() == []  # who asks where it comes from has not read it
    for _ in range(2):
        (row,) = evidence.reference("paper2026/fig01").to_dict("records")
        assert list(row.values()) == ["test_loss", "M", 1, 4.78]
    told = {"name": "paper2026/fig01", "repository": "owner/code", "commit": "abc"}
    told |= {"sha256": hashlib.sha256(ROW.encode()).hexdigest(), "path": "log.csv"}
    assert evidence.cited() == [told]


def test_what_is_absent_unlisted_or_changed_is_refused(book):
    (book / "fig04.csv").write_text(ROW)  # and not listed
    for name, fault in (
        ("fig03", r"lists no 'paper2026/fig03\.csv'"),
        ("fig04", r"lists no 'paper2026/fig04\.csv'"),
        ("fig02", "has the SHA-256 none…, not"),
    ):
        with pytest.raises(DataError, match=fault):
            evidence.reference(f"paper2026/{name}")
    (book / "fig01.csv").write_text(ROW.replace("4.78", "4.87"))
    with pytest.raises(DataError, match=r"has the SHA-256 [0-9a-f]{12}…, not"):
        evidence.reference("paper2026/fig01")
    assert evidence.cited() == []


def test_all_that_is_stored_is_listed_as_it_is_and_says_where_it_comes_from():
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*")}
    assert found == set(LISTED.file)
    assert LISTED.file.is_unique
    for name in NAMES:
        table = evidence.reference(name)  # which compares its digest
        assert {"quantity", "series", "value"} <= set(table.columns), name
        assert table.value.notna().all(), name
        assert all(evidence.source(name).values()), name
