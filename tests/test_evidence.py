"""Evidence: what was read is written down, and every definition meets a known case."""

import hashlib
import json
import math
import os
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import combinations_with_replacement, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pandas import DataFrame, Series
from recorded import INFO, of_curves

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
from claimbook.experiment import Result
from grokbook import instability

NEVER, NONE = math.inf, math.nan
LEFT = "prieto2025/fig04left"


def run(curves, **options):
    return Run(of_curves(curves, **options), "plain")


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

    def add(scale, *names):
        known = papers.get(LEFT, scale)
        for one in names:
            arm = replace(known.arm(one), keep=(), trace=False)
            epochs = arm.logged_epochs()
            rows = [{"epoch": k, "train_loss": 1, "test_accuracy": 0.0} for k in epochs]
            rows[-1]["test_accuracy"] = 0.5
            records.add(known, Result(arm, 42, rows, {}, 1.0, INFO))

    return add


def test_a_page_tells_what_it_read(store):
    store("laptop", "addition", "product")
    page = evidence.Page(LEFT)
    found = page.record(arms=["addition"])
    known = found.experiment
    plan = json.dumps([[a.name for a in known.arms], list(known.seeds), known.reduced])
    keys = {f"{a}|42": known.arm(a).training_key for a in ("addition", "product")}
    told = {"record": LEFT, "asked": "best", "arms": ["addition"], "scale": "laptop"}
    told |= {"members": keys, "sha256": found.digest}
    told["planned"] = sha256(plan.encode()).hexdigest()[:16]
    assert evidence.read() == [told]
    page.record("fig04left", arms=iter(["addition"]))  # the same once more
    evidence.record(LEFT, scale="laptop")
    assert not page.record(scale="paper")
    assert page.record("singh2026/fig02").name == "singh2026/fig02"
    assert [one["asked"] for one in evidence.read()] == ["best", "laptop"]
    evidence.read().clear()
    assert len(evidence.read()) == 2  # the list itself is not given away


def test_a_record_in_the_making_is_passed_over(store):
    """A page gets the paper's scale once that record has every arm it asks for."""
    both, absent = ("addition", "product"), ("sparse parity, data seed 42",)

    def scales():
        asked = ((), both, ("addition",), absent)
        return [evidence.record(LEFT, arms=a).scale for a in asked]

    def of_book(scale):
        return reading._of_book(papers.get(LEFT, scale), both)

    assert of_book("smoke") is None
    store("paper", "addition")
    assert scales() == ["paper"] * 4  # nothing to fall back to
    store("laptop", *both)
    found = [(one.scale, len(one)) for one in map(of_book, ("smoke", "laptop"))]
    assert found == [("paper", 1), ("laptop", 2)]
    assert scales() == ["paper", "laptop", "paper", "paper"]
    store("paper", "product")
    assert scales() == ["paper"] * 4
    assert evidence.record(LEFT, scale="laptop", arms=absent).scale == "laptop"
    with pytest.raises(UnknownName, match="'adition': use one of addition"):
        evidence.record(LEFT, arms=("adition",))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((3, 1, 2), "2 (1 to 3)"),
        ((4100, 5000, 4450, 4460), "4,450 (4,100 to 5,000)"),  # the lower middle one
        ((2, 1), "1 and 2"),
        ((5,), "5"),
        ((4.8, 5.2, 5), "5"),
        ((NEVER, 1, NEVER), "never (1 to never)"),
        ((1, NONE, NONE), "no value (seed 1, 2)"),
        ((), "not run"),
    ],
)
def test_a_median_is_told_with_its_range(values, said):
    assert evidence.told(by_seed(*values)) == said


def test_no_record_is_no_fault_and_a_damaged_one_is(store):
    """A page says "not run" of what nobody trained, never of what got lost."""
    empty = evidence.record(LEFT, scale="laptop")
    assert not empty and not evidence.record(LEFT)
    run = evidence.Run(empty, "addition")
    assert run.seeds == []
    values = run.last("test_accuracy"), run.peak("test_accuracy"), run.onset()
    for value in (*values, run.fitted(loss=1)):
        assert evidence.told(value) == "not run"
    assert instability.bursts(run) == {}
    store("laptop", "addition")
    (path,) = evidence.record(LEFT).paths.values()
    path.write_bytes(path.read_bytes()[:-9])
    for scale in ("best", "laptop"):
        with pytest.raises(RecordError, match=path.name):
            evidence.record(LEFT, scale=scale)
    with pytest.raises(UnknownName):
        evidence.record("prieto2025/fig99")


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


@pytest.mark.parametrize(
    ("scale", "trained", "processes"), [("best", "laptop", None), ("smoke", "smoke", 0)]
)
def test_a_rerun_trains_what_a_page_reads_at_laptop_scale_unless_it_says_another(
    reruns, monkeypatch, scale, trained, processes
):
    """In this process where workers take longer to start than a smoke test to train."""
    asked = []
    monkeypatch.setattr(pool, "train", lambda todo, **how: asked.append((todo, how)))
    monkeypatch.setattr(reading, "FEW", 2)
    page = evidence.Page("singh2026/fig03", scale, retrain=True, device="cpu")
    every = papers.get("singh2026/fig02", trained)
    # a page may need one arm and read others too: it trains all unless it names them
    for reads, names, of_few in (
        ([], [arm.name for arm in every.arms], None),
        (["M+A*"], ["M+A*"], processes),
    ):
        found = page.record("fig02", arms=["M"], reads=reads)
        assert not found and found.scale == trained  # what nobody trained is not run
        todo, how = asked.pop()
        assert how == {"device": "cpu", "processes": of_few}
        assert {task.out for task in todo} == {reruns}
        members = [(arm.name, seed) for arm, seed in (task.member for task in todo)]
        assert sorted(members) == sorted(product(names, every.seeds))
    with pytest.raises(UnknownName, match="'No LM': use one of No LN"):
        page.record("fig02", reads=["No LM"])


def test_a_rerun_with_another_setting_has_the_books_runs_behind_its_own(
    reruns, monkeypatch
):
    stored = Path(__file__).parents[1] / "data" / "records"
    monkeypatch.setenv("GROKBOOK_RECORDS", str(stored))
    page = evidence.Page("singh2026/fig02", "smoke", retrain=True, device="cpu")
    with pytest.raises(BookError, match="width=.* is not a multiple of heads=3"):
        monkeypatch.setattr(change, "in_use", change.read("model.heads=3"))
        page.record(reads=["M"])
    assert not list(reruns.rglob("*.parquet"))
    monkeypatch.setattr(change, "in_use", change.read("optimizer.lr=0.002", ["M*"]))
    found = page.record(reads=["M", "A*"], scale="paper")  # for the book: too long here
    m, a = (evidence.Run(found, arm) for arm in ("M", "A*"))
    assert m.seeds == a.seeds == [456, 789]
    assert m.settings.optimizer.options["lr"] == 0.002
    assert a.settings.optimizer.options["lr"] == 0.001
    assert m.of_book.seeds == papers.record("singh2026/fig02").seeds("M")
    assert m.of_book.record.scale == "paper" and m.of_book.of_book is None
    assert a.of_book is None  # it was not changed
    monkeypatch.setattr(change, "in_use", None)  # as another rerun trains it
    found = page.record(reads=["A*"])
    assert {*found.members} == {"A*|456", "A*|789"} and found.book is None


def test_a_page_that_trains_anew_makes_a_rerun_of_its_own_process_alone():
    """The sentences of the book are left out there, and in no kernel started later."""
    assert tables.prose("It holds.") == "It holds."
    evidence.Page("prieto2025/fig02", retrain=True)
    assert tables.prose("It holds.") == ""
    assert "GROKBOOK_RERUN" not in os.environ


def plain(curve, since, until):
    """What the methods of a Run say of one curve, at a level of 0.5."""
    values = {epoch: curve[epoch] for epoch in sorted(curve) if curve[epoch] >= 0}
    looked = {epoch: v for epoch, v in values.items() if since <= epoch <= until}
    high = [epoch for epoch, value in values.items() if value >= 0.5]
    low = [epoch for epoch, value in values.items() if value <= 0.5]
    falls = [epoch for epoch, value in values.items() if value < 0.5]
    late = [epoch for epoch in values if high and epoch > high[0]]
    lasting = [epoch for epoch in high if epoch > max(falls, default=-1)]
    fitted, reached = min(low, default=NEVER), min(high, default=NEVER)
    largest = max(looked.values(), default=NONE)
    known = [value for epoch, value in values.items() if epoch <= until < NEVER]
    return {
        "largest": largest,
        "smallest": min(looked.values(), default=NONE),
        "peak": min((e for e, v in looked.items() if v == largest), default=NEVER),
        "first": min((e for e, v in looked.items() if v > 0.5), default=NEVER),
        "below": min(falls, default=NEVER),
        "last": [NONE, *values.values()][-1],
        "at": [NONE, *known][-1],
        "ends": max(curve),
        "fitted": fitted,
        "reaches": reached,
        "generalises": min(lasting, default=NEVER),
        "falls back": len({*falls} & {*late}) / len(late) if late else NONE,
        "delay": reached - fitted if low and high else NEVER,
    }


@pytest.mark.parametrize("case", range(15))
def test_a_run_says_what_plain_python_says_of_each_seed(case):
    """Of curves with gaps, ends, and epochs since and until of their own."""
    random = np.random.default_rng(case)
    curves, since, until = {}, {}, {}
    for seed in (3, 0, 1):
        epochs = random.choice(6, random.integers(1, 6), replace=False).tolist()
        values = random.choice([NONE, 0.2, 0.4, 0.5, 0.9], len(epochs))
        curves[seed] = dict(zip(epochs, values, strict=True))
        since[seed], until[seed] = random.choice([0, 1, 2, 3, 4, NEVER], 2)
    one = run(curves, scale="smoke")
    frame = one.record.frame
    frame["train_accuracy"] = 1 - frame["test_accuracy"]
    frame["test_loss"] = -frame["test_accuracy"]
    ends = Series(until)
    bounds = {"since": Series(since), "until": ends}
    found = {
        "largest": one.largest("test_accuracy", **bounds),
        "smallest": one.smallest("test_accuracy", **bounds),
        "peak": one.peak("test_accuracy", **bounds),
        "first": one.first("test_accuracy", above=0.5, **bounds),
        "below": one.first("test_accuracy", below=0.5),
        "last": one.last("test_accuracy"),
        "at": one.at("test_accuracy", ends),
        "ends": one.ends(),
        "fitted": one.fitted(accuracy=0.5),
        "reaches": one.reaches(accuracy=0.5),
        "generalises": one.generalises(accuracy=0.5),
        "falls back": one.falls_back(accuracy=0.5),
        "delay": one.delay(accuracy=0.5),
    }
    expected = {s: plain(curve, since[s], until[s]) for s, curve in curves.items()}
    pd.testing.assert_frame_equal(
        DataFrame(found), DataFrame(expected).T, check_names=False
    )
    for method in (one.reaches, one.generalises, one.falls_back):
        assert method(loss=-0.5).equals(method(accuracy=0.5))
    assert one.onset(above=0.4).equals(one.generalises(accuracy=0.5))


CURVES = {
    0: {0: 0.0, 10: 0.5, 20: 1.0},
    1: {0: 0.0, 10: 0.4},  # ended early
    3: {0: 0.2, 5: 0.9, 10: 0.1, 20: 0.3},
}


def test_values_come_in_the_order_of_seeds_and_one_that_does_not_exist_is_named():
    one = run(CURVES)
    assert one.seeds == list(one.series("test_accuracy").columns) == [3, 0, 1]
    assert one.settings.epochs == 100
    fit = one.first("test_accuracy", at_least=0.5)
    assert same(fit, 5, 10, NEVER)
    assert same(one.largest("test_accuracy", since=fit, otherwise=7), 0.9, 1, 7)
    assert same(one.smallest("test_accuracy", since=fit, otherwise=7), 0.1, 0.5, 7)
    assert same(one.at("test_accuracy", fit, otherwise=-1), 0.9, 0.5, -1)
    late = Series({3: 10.0, 0: 10.0, 1: NEVER})
    rises = one.rise("test_accuracy", since=late)
    assert rises.tolist() == pytest.approx([0.2, 0.5, NEVER])
    looks = one.looks("test_accuracy", since=4)[3]  # one log is no regular one
    assert looks.dropna().to_dict() == {10: 0.1, 20: 0.3}
    with pytest.raises(KeyError, match=r"\[0, 1\] not in index"):
        one.largest("test_accuracy", since=fit.loc[[3]])
    traced = SimpleNamespace(trace=lambda _: table([1, 2]), seeds=lambda _: [1, 0])
    trace = Run(traced, "a").trace()  # a column for every seed
    assert list(trace.columns) == [1, 0]
    assert same(trace[0], 1, 2) and trace[1].isna().all()


def test_no_value_is_told_of_a_time_after_the_end_of_a_run():
    one = run(CURVES)
    assert same(one.at("test_accuracy", 10), 0.1, 0.5, 0.4)
    with pytest.raises(PageError, match=r"epoch 12 of 'plain' .* end of seed 1, 10"):
        one.at("test_accuracy", 12)
    with pytest.raises(PageError, match="epoch 11 .* seed 1"):
        one.at("test_accuracy", Series({3: 20.0, 0: 20.0, 1: 11.0}))
    assert same(run(CURVES, scale="smoke").at("test_accuracy", 12), 0.1, 0.5, 0.4)


def test_a_table_without_rows_has_no_event_and_one_without_seeds_no_value():
    rows = table([1.0])
    assert same(evidence.crossing(rows.iloc[:0], above=0), NEVER)
    for measure in (evidence.crossing, evidence.lasting):
        assert measure(rows[[]], above=0).empty
    assert evidence.peak(rows[[]]).empty


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


@pytest.mark.parametrize("value", [NONE, 1 / 97])
def test_a_network_that_became_nan_has_learned_nothing(value):
    """By its loss or its accuracy, whether that is NaN too or, as once, a share."""
    lost = {0: 0.1, 10: 1.0, 20: value, 30: value}
    failing = run({0: lost, 1: {0: 0.1, 10: 1.0}}, seeds=(0, 1))
    frame = failing.record.frame
    frame["test_loss"] = -frame["test_accuracy"]
    frame.loc[frame["epoch"] >= 20, "train_loss"] = NONE
    for level in ({"accuracy": 0.9}, {"loss": -0.9}):
        assert same(failing.reaches(**level), 10, 10)
        assert same(failing.generalises(**level), NEVER, 10)
        assert same(failing.falls_back(**level), 1, NONE)
    assert same(failing.onset(), NEVER, 10)
    assert same(failing.last("test_accuracy"), NONE, 1)
    assert same(failing.last("test_accuracy", otherwise=0), 0, 1)
    ends = by_seed(20, 10)  # the one with the first NaN
    assert same(failing.at("test_accuracy", ends), NONE, 1)
    assert same(failing.at("test_accuracy", 10), 1, 1)


def test_a_seed_without_an_onset_tests_no_finished_network():
    late = run({3: {0: 0, 10: 0.95}, 0: {0: 0, 10: 0.5}, 1: {0: 1}})
    never = run({3: {0: 0.5}, 1: {0: 1}})
    values = Series({1: 7.0, 0: 8.0, 3: 9.0})
    assert evidence.finished(values, late).to_dict() == {1: 7.0, 3: 9.0}
    assert evidence.finished(values, late, never).to_dict() == {1: 7.0}
    assert evidence.finished(values, Run(never.record, "other")).empty
    assert evidence.finished(values).equals(values)


def test_epochs_behind_a_printed_mean_and_deviation():
    """All that print so, of all that there are in a range."""
    every = combinations_with_replacement(range(0, 10_000, 500), 3)
    printed = {epochs: (np.mean(epochs), np.std(epochs)) for epochs in every}
    for epochs in combinations_with_replacement(range(3500, 6500, 500), 3):
        mean, spread = map(round, printed[epochs])
        found = evidence.behind(mean, spread, count=3, step=500)
        assert (
            epochs
            in found
            == [
                one
                for one, (its_mean, its_spread) in printed.items()
                if abs(its_mean - mean) <= 0.5 and abs(its_spread - spread) <= 0.5
            ]
        )
    assert evidence.behind(2460, 136)
    assert not evidence.behind(8200, 650)  # of Table 7 of Tiwari et al.
    assert not evidence.behind(2450, 100)  # the mean of no five hundreds


def test_pairs_agree_where_both_events_have_them_in_one_strict_order():
    one = by_seed(1, 1, 1, 2, 1), by_seed(2, 1, NEVER, 1, 2), by_seed(3, 2, NEVER, 3, 3)
    other = (
        by_seed(5, 5, 5, 5, 5),
        by_seed(7, 7, 7, 5, 7),
        by_seed(6, 6, NEVER, 9, NONE),
    )
    one, other = (dict(zip("abc", event, strict=True)) for event in (one, other))
    assert same(evidence.agreeing(one, other), 2, 1, 2, 2, NONE)
    assert evidence.agreeing(one | {"c": by_seed()}, other).empty
    found = evidence.joined({"a": by_seed(1, 2, 3), "b": by_seed(4, NEVER)[::-1]})
    assert found.to_dict("index") == {0: {"a": 1, "b": 4}, 1: {"a": 2, "b": NEVER}}


def test_what_comes_of_an_event_that_never_comes():
    """Of the seeds that both have, in the order of the first."""
    late = by_seed(30, 10, NEVER, 10, NEVER, NONE, NONE, NEVER)
    early = by_seed(10, 30, 10, NEVER, NEVER, 10, NEVER, NONE, 7)[::-1]
    lost = NONE, NONE, NONE  # whatever the other event is
    difference = evidence.difference(late, early)
    assert list(difference.index) == list(late.index)
    assert same(difference, 20, -20, NEVER, NEVER, NEVER, *lost)
    assert same(evidence.ratio(late, early), 3, 1 / 3, NEVER, 0, NEVER, *lost)
    # where neither comes, `times` has no value at all
    assert same(evidence.times(late, early), 3, 1 / 3, NEVER, 0, *lost)
    late, early = late[::-1], early[::-1]
    # nothing leads by not arriving
    assert same(evidence.lead(early, late), 20, -20, NEVER, -NEVER, -NEVER, *lost)
    # a second event that never comes counts as one at the end
    leads = evidence.lead(early, late, until=25)
    assert same(leads, 15, -20, 15, -NEVER, -NEVER, *lost)
    zeros = evidence.ratio(by_seed(0, 0, 5, 0, NEVER), by_seed(0, 5, 0, NEVER, 0))
    assert same(zeros, 1, 0, NEVER, 0, NEVER)


def test_an_average_does_not_see_how_often_was_logged():
    """A straight line from 0 to 1 averages 1/2, and 1/4 if it waits half the time."""
    dense = [*range(10), *range(10, 101, 30)]
    line = table(np.array(dense) / 100, epochs=dense)
    assert evidence.average(line)[0] == pytest.approx(0.5)
    nothing = [NONE, NONE, NONE]
    late = table([0, 0, 1], [0, NONE, 1], [NONE, 5, NONE], nothing, epochs=[0, 50, 100])
    assert same(evidence.average(late), 0.25, 0.5, NONE, NONE)
    assert same(evidence.area(late), 25, 50, 0, NONE)
    # of a power of time epoch 0, gaps and a seed with one value are no part
    curves = ([9, 5, NONE, 5e-4], [NONE, NONE, 3, NONE], [0, 1e-3, 1, 1e3])
    zero = [NONE, 0, 1, NONE]  # counts as 1e-300
    negative = [1, 1, -1, 1]  # no power law has such a value
    found = evidence.power(table(*curves, zero, negative, epochs=[0, 1, 10, 100]))
    assert found.to_numpy() == pytest.approx([-2, NONE, 3, 300, NONE], nan_ok=True)


def test_an_onset_is_the_first_loud_step_after_a_quiet_one():
    """Levels by hand: 1 is loud, 0 quiet, 0.01 neither."""
    loss = Series([1, 1, 0.01, 1, 0, 0.01, 1, 1, 0.01, 1, 0, 1, 0.05], dtype=float)
    assert instability.spikes(loss, apart=6) == [6]
    assert instability.spikes(loss, apart=5) == [6, 11]
    assert instability.spikes(loss, loud=2) == []
    assert instability.spikes(loss, quiet=0.02, apart=1) == [3, 6, 9, 11]
    for values, found in (
        ([0.001, 0.1], [1]),  # both levels are included
        ([0.0, math.inf], [1]),
        ([0.0011, 0.1], []),
        ([0.001, 0.0999], []),
        ([0.0, 1.0, 0.0, NONE, 1.0], [1]),  # it counts up to its first NaN
        ([NONE, NONE], []),
    ):
        assert instability.spikes(Series(values, dtype=float), apart=1) == found
    # a burst goes on as long as its spikes follow each other; steps are labels
    loss = Series(0.0, index=range(1000, 1400))
    loss[[1100, 1150, 1200, 1260, 1320]] = 1.0
    assert instability.spikes(loss) == [1100, 1260, 1320]


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


def test_how_high_and_how_far_apart_events_are_and_what_was_measured_before():
    late = [0.0, 1, 5, 2, 9, *[0] * 57, 20]  # at step 62
    loss, found = Traced({3: Series(late), 0: Series(late)}, {}), {3: [1, 2, 3], 0: []}
    assert instability.heights(loss, found, within=1) == {3: [5, 5, 9], 0: []}
    assert instability.heights(loss, found) == {3: [9, 20, 20], 0: []}
    assert same(instability.waits({0: [1, 5, 11], 1: [7], 2: []}), 5, NEVER, NEVER)
    one = run({3: {0: 0.1, 10: 0.5, 20: NONE, 30: 0.7}, 0: {0: 0.2}, 1: {0: 0.3}})
    events = {3: [25, 10, 31], 0: [], 1: [0]}
    before = partial(instability.before, one, "test_accuracy", events)
    assert before().to_dict() == {3: 0.1}
    assert before(pick=max).to_dict() == {3: 0.7}


def test_the_steps_around_the_first_loud_loss():
    """Rows without a neighbour are no part of it, nor is a seed that starts loud."""
    epochs = [0, 50, *range(100, 130), 150]
    loud = {3: 111, 0: 110, 1: NEVER}
    one = run({seed: dict.fromkeys(epochs, 1.0) for seed in loud}, column="sharp")
    frame = one.record.frame
    is_loud = frame["epoch"] >= frame["seed"].map(loud)
    frame["train_loss"] = np.where(is_loud, 0.1, 1e-8)
    found = instability.windows(one, "sharp")
    assert list(found) == [3]
    assert list(found[3].index) == list(range(-11, 19))
    assert found[3].at[0, "epoch"] == 111


def test_bursts_are_early_or_late_by_the_collapse_before_them():
    starts = {0: [300, 900, 1500], 1: [], 7: [700]}
    losses = {seed: Series(0.0, range(2000)) for seed in starts}
    for seed, steps in starts.items():
        losses[seed][steps] = 1.0
    shares = {  # looked at every 50 steps; seed 0 collapses at step 800
        0: Series({k: 0.4 if k >= 800 else 0.1 for k in range(0, 2001, 50)}),
        1: Series({k: 1.0 for k in range(0, 2001, 50)}),
        7: Series({0: 0.0, 590: 0.9, 610: 0.39, 706: 1.0}),
    }
    run = Traced(losses, shares)
    assert instability.bursts(run) == starts
    assert instability.bursts(run, loud=2)[0] == []
    late, early = (instability.bursts(run, late=late) for late in (True, False))
    assert late == {0: [900, 1500], 1: [], 7: []}
    assert early == {0: [300], 1: [], 7: [700]}
    assert instability.bursts(run, late=True, within=120)[7] == [700]
    rare = Traced({7: losses[7]}, {7: shares[7].drop(610)})
    assert instability.bursts(rare, late=True) == {7: [700]}
    assert same(instability.slingshots(run), 2, 0, 0)
    assert same(instability.earliest(late), 900, NEVER, NEVER)
    assert instability.slingshots(Traced({}, {})).empty


def test_interventions_are_judged_where_the_baseline_has_what_they_remove(monkeypatch):
    values = Series({3: 0.0, 0: 2.0, 1: 0.0, 5: 9.0})
    control = Series({0: 4.0, 1: 0.0, 3: 1.0})
    assert instability.tested(values, control).to_dict() == {3: 0.0, 0: 2.0}
    slings = {"base": by_seed(3, 0), "exact": by_seed(1, 2), "sum": by_seed(4, 5)}
    grown = {"base": by_seed(0, 1), "exact": by_seed(1, 0)}
    monkeypatch.setattr(instability, "slingshots", slings.get)
    monkeypatch.setattr(instability, "inflated", grown.get)
    found = instability.outcomes("base", "exact", "sum")
    assert {name: (run, value.to_dict()) for name, (run, value) in found.items()} == {
        "again": ("base", {0: 3, 1: 0}),
        "float64 loss": ("exact", {0: 1}),
        "projection": ("sum", {0: 4}),
        "inflation": ("base", {0: 0, 1: 1}),
        "no inflation": ("exact", {1: 0}),
    }


def inflating(cosine, norm, logit, collapsed=(0.0, 0.5, 0.3, 1.0)):
    """A run of one seed that is looked at four times."""
    one = run(
        {0: dict(zip((0, 10, 20, 30), cosine, strict=True))}, column="mean_cosine"
    )
    more = {"head_mean_norm": norm, "head_norm": 20.0, "correct_logit": logit}
    one.record.frame = one.record.frame.assign(**more, collapsed=collapsed)
    return one


FALLS, NEGATIVE = (0, -0.2, -0.5, -0.4), (5, 4, -0.1, 3)
DOUBLES = (9, 2.1e-5, 3e-5, 4.2e-5)  # of a head of norm 20: above 1e-6 of it
SUBTRACTED = (0, 1.9e-5, 1e-4, 1e-4)  # W_G, and what is left grows from nothing
STAYS, KEEPS, POSITIVE = (-9, -0.2, -0.4, -0.4), (0.1, 1, 1.9, 1.5), (-5, 4, 3, 0)


def test_inflation_is_two_signs_of_three_after_the_collapse():
    for cosine, norm, logit in product(
        (FALLS, STAYS), (DOUBLES, KEEPS, SUBTRACTED), (NEGATIVE, POSITIVE)
    ):
        one = inflating(cosine, norm, logit)
        signs = (cosine is FALLS) + (norm is DOUBLES) + (logit is NEGATIVE)
        assert same(instability.inflated(one), norm is not SUBTRACTED and signs >= 2)
    (row,) = instability.inflation(inflating(FALLS, DOUBLES, NEGATIVE)).to_dict(
        "records"
    )
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


@pytest.mark.parametrize("text", [b"", b"name\nx\n", b'file\n"x', b"\xff"])
def test_a_damaged_table_of_references_is_one_sentence(book, text):
    (book.parent / "sources.csv").write_bytes(text)
    with pytest.raises(BookError, match=r"^.*sources.csv .*take it from git again$"):
        evidence.reference("paper2026/fig01")


def test_all_that_is_stored_is_listed_as_it_is_and_says_where_it_comes_from():
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*")}
    assert found == set(LISTED.file)
    assert LISTED.file.is_unique
    for name in NAMES:
        table = evidence.reference(name)  # which compares its digest
        assert {"quantity", "series", "value"} <= set(table.columns), name
        assert table.value.notna().all(), name
        assert all(evidence.source(name).values()), name
