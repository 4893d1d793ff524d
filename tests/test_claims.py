"""Claims: medians and ranges over seeds, verdicts, and the table that carries them."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from pandas import Series

from grokbook import claims, evidence
from grokbook.evidence import Run, reading
from grokbook.experiment import Arm, Experiment, Spec
from grokbook.records import Record

NEVER, NONE = math.inf, math.nan


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch):
    monkeypatch.setattr(reading, "_READ", [])


@pytest.fixture
def record():
    """Two seeds; accuracy 0.0, 0.5, 1.0 and 0.0, 0.4, (ended early)."""
    rows = [("plain", 0, e, a) for e, a in ((0, 0.0), (10, 0.5), (20, 1.0))]
    rows += [("plain", 1, e, a) for e, a in ((0, 0.0), (10, 0.4))]
    frame = pd.DataFrame(rows, columns=["arm", "seed", "epoch", "test_accuracy"])
    members = {"plain|0": {"seconds": 1}, "plain|1": {"seconds": 1}}
    arm = Arm("plain", *map(Spec, "dmlo"), epochs=20, log=10)
    experiment = Experiment("prieto2025/fig06b", "laptop", (arm,), (0, 1))
    return Record(None, experiment, frame, {"members": members})


def claim(held=2, n=2, scale="paper", extra=False):
    return claims.Claim("s", "p", "o", n, "i", held, scale, extra=extra)


def test_values_by_seed(record):
    column = ("plain", "test_accuracy")
    first = claims.first_epoch(record, *column, reaches=0.5)
    assert first == {0: 10.0, 1: math.inf}
    assert claims.first_epoch(record, *column, reaches=1.0, until=10) == {
        0: math.inf,
        1: math.inf,
    }
    assert claims.first_epoch(record, *column, falls_to=0.4) == {0: 0.0, 1: 0.0}
    assert claims.first_epoch(record, *column, falls_to=-1.0) == first | {0: math.inf}
    # the seed that ended early stays at its last value in the mean
    assert claims.first_epoch_of_mean(record, *column, reaches=0.7) == 20
    assert claims.first_epoch_of_mean(record, *column, reaches=0.71) == math.inf
    assert claims.at(record, *column, 15) == {0: 0.5, 1: 0.4}
    assert claims.last(record, *column) == {0: 1.0, 1: 0.4}
    assert claims.largest(record, *column) == {0: 1.0, 1: 0.4}
    high = Record(None, record.experiment, record.frame.copy(), record.meta)
    high.frame.loc[0, "test_accuracy"] = 7.0
    assert claims.largest(high, *column) == {0: 7.0, 1: 0.4}
    assert claims.largest(high, *column, since=5) == {0: 1.0, 1: 0.4}
    assert claims.combine(lambda a, b: a - b, {0: 3, 1: 5}, {1: 1, 2: 0}) == {1: 4.0}


def test_a_claim_is_judged_seed_by_seed(record):
    values = {0: 10.0, 1: math.inf, 2: 30.0}
    found = claims.per_seed(record, "s", "20", values, lambda v: v < 40, source="T2")
    assert (found.ours, found.interval, found.n, found.held) == (
        "30",
        "10 to never",
        3,
        2,
    )
    assert found.scale == "laptop"
    one = claims.per_seed(record, "s", "20", {0: 0.5}, bool, show="{:.0%}")
    assert (one.ours, one.interval) == ("50%", "—")
    with pytest.raises(ValueError, match="at least one seed"):
        claims.per_seed(record, "s", "20", {}, bool)


def test_an_order_is_judged_seed_by_seed_and_shows_medians(record):
    never = math.inf
    fast, slow = {0: 1.0, 1: 2.0, 2: 9.0}, {0: 3.0, 1: 1500.0, 2: 8.0}
    found = claims.order(record, "s", "p", {"M": fast, "A": slow}, source="F1")
    assert (found.ours, found.held, found.n) == ("M: 2, A: 8", 2, 3)
    assert (found.interval, found.source) == ("in order for 2 of 3", "F1")
    assert not found.extra
    # only seeds that every arm has, in the statement, the medians and n
    found = claims.order(record, "s", "p", {"M": fast, "A": {1: 1500.0, 7: 0.0}})
    assert (found.ours, found.held, found.n) == ("M: 2, A: 1,500", 1, 1)
    with pytest.raises(ValueError, match="at least one seed"):
        claims.order(record, "s", "p", {"M": fast, "A": {7: 1.0}})

    def held(*values, **options):
        arms = {str(place): {0: value} for place, value in enumerate(values)}
        return claims.order(record, "s", "p", arms, **options).held

    assert held(1, 2, never) == 1
    assert held(1, 1, 2) == held(2, 1, never) == held(1, never, 2) == 0
    assert held(1, never, never) == 0
    assert held(1, never, never, open_end=True) == 1
    assert held(1, 1, never, open_end=True) == held(1, never, 2, open_end=True) == 0
    assert held(never, never, open_end=True) == 0


def test_the_ratio_of_epochs_that_may_never_come():
    upper = {0: 10.0, 1: 10.0, 2: math.inf, 3: math.inf}
    lower = {0: 20.0, 1: math.inf, 2: 20.0, 3: math.inf, 4: 1.0}
    found = claims.ratio(upper, lower)
    assert found == {0: 0.5, 1: 0.0, 2: math.inf, 3: math.inf}


def test_a_value_that_is_no_number_is_refused(record):
    """Its order among the others is arbitrary, and no comparison with it holds."""
    values = {0: 1.0, 1: NONE, 2: NONE}
    said = r"'s' has no value for seeds \[1, 2\]: say what .* counts as"
    with pytest.raises(ValueError, match=said):
        claims.per_seed(record, "s", "20", values, bool)
    with pytest.raises(ValueError, match=said):
        claims.extra(record, "s", Series(values))
    with pytest.raises(ValueError, match=r"'s \(A\)' has no value for seeds \[1\]"):
        claims.order(record, "s", "p", {"M": {0: 1.0, 1: 2.0}, "A": values})
    # a seed that not every arm has is not asked
    found = claims.order(record, "s", "p", {"M": {0: 0.0}, "A": values})
    assert (found.n, found.held) == (1, 1)


def test_a_smoke_test_is_too_short_for_many_a_value(record):
    """It shows that a page runs: a value that does not exist yet holds nothing."""
    short = replace(record, experiment=replace(record.experiment, scale="smoke"))
    found = claims.per_seed(short, "s", "20", {0: NONE}, lambda value: value > 0)
    assert (found.held, found.n, found.ours) == (0, 1, "nan")


def test_a_sheet_judges_values_by_bounds(record):
    """Each bound at a value: two include it, two do not."""
    run, value = Run(record, "plain"), Series({0: 1.0, 1: 2.0, 2: 3.0})
    sheet = claims.Sheet("p/fig1", source="T1", show="{:.1f}")
    for bound in ("at_least", "at_most", "above", "below"):
        sheet.claim(run, bound, "2", value, **{bound: 2.0})
    sheet.claim(run, "both", "2", value, at_least=2, below=3, show="{:.2f}", source="")
    assert [claim.held for claim in sheet] == [2, 2, 1, 1, 1]
    assert [claim.statement for claim in sheet] == [
        *("at_least", "at_most", "above", "below", "both")
    ]
    first, last = sheet[0], sheet[-1]
    assert (first.ours, first.interval, first.n) == ("2.0", "1.0 to 3.0", 3)
    assert (first.source, first.scale, first.paper) == ("T1", "laptop", "2")
    assert (last.ours, last.source) == ("2.00", "")
    # the same as the function with a rule of its own
    rule = claims.per_seed(
        record, "above", "2", {0: 1.0, 1: 2.0, 2: 3.0}, lambda v: v > 2, show="{:.1f}"
    )
    assert claims.Sheet("p").source == ""
    assert sheet[2] == replace(rule, source="T1")


def test_a_sheet_judges_what_never_happens(record):
    run, value = Run(record, "plain"), Series({0: 5.0, 1: NEVER, 2: -NEVER})
    sheet = claims.Sheet("p/fig1")
    sheet.claim(run, "comes", "p", value, at_least=0, below=NEVER)
    sheet.claim(run, "never comes", "p", value, at_least=NEVER)
    sheet.claim(run, "is above", "p", value, above=-NEVER)
    assert [claim.held for claim in sheet] == [1, 1, 2]
    assert sheet[0].interval == "never to never"  # minus infinity is no epoch either
    with pytest.raises(ValueError, match="claim 's' could not fail: give it a bound"):
        sheet.claim(run, "s", "p", value)
    with pytest.raises(ValueError, match=r"no value for seeds \[0\]"):
        sheet.claim(run, "s", "p", Series({0: NONE}), above=0)
    assert len(sheet) == 3


def test_a_sheet_lists_what_nobody_ran(record):
    run, nothing = Run(record, "plain"), Series(dtype=float)
    sheet = claims.Sheet("p/fig1", source="T1")
    sheet.claim(run, "s", "20", nothing, above=0)
    sheet.extra(run, "beside", nothing)
    sheet.order("o", "this order", {run: nothing, Run(record, "x"): Series({0: 1.0})})
    assert [claim.verdict for claim in sheet] == ["not run", "not run"]
    assert [(claim.statement, claim.source) for claim in sheet] == [
        ("s", "T1"),
        ("o", "T1"),
    ]


def test_a_sheet_takes_orders_measurements_and_any_other_claim(record):
    runs = [Run(record, "plain", label) for label in ("M", "A", "No LN")]
    values = dict(zip(runs, (Series({0: v}) for v in (1.0, NEVER, NEVER)), strict=True))
    sheet = claims.Sheet("p/fig1", source="T1", show="{:.0f}")
    sheet.order("o", "p", values)
    sheet.order("o", "p", values, open_end=True, show="{:.1f}", source="T2")
    sheet.extra(runs[0], "beside", Series({0: 0.25}), paper="a quarter", show="{:.0%}")
    sheet.append(claims.exact("e", "0", "0", held=1, n=1))
    assert [claim.held for claim in sheet] == [0, 1, 1, 1]
    assert [claim.ours for claim in sheet] == [
        "M: 1, A: never, No LN: never",
        "M: 1.0, A: never, No LN: never",
        "25%",
        "0",
    ]
    assert [claim.source for claim in sheet] == ["T1", "T2", "", ""]
    assert (sheet[2].paper, sheet[2].verdict) == ("a quarter", "beyond the paper")
    table = sheet.table()
    assert (table.claims, table.page) == (sheet, "p/fig1")


def test_values_in_words():
    assert claims.median({0: 4.0, 1: 1.0, 2: 2.0, 3: math.inf}) == 2.0
    assert claims.median(Series({0: 3.0, 1: 1.0})) == 1.0
    assert claims.summary(Series({5: 3.0, 6: 1.0})) == ("1", "1 to 3")
    assert claims.words(1234.5) == "1,234"
    assert claims.words(0.123, "{:.0%}") == "12%"
    assert claims.words(math.inf) == "never"
    assert claims.summary({0: 1000.0}) == ("1,000", "—")
    assert claims.summary({0: math.inf, 1: 20.0, 2: 30.0}) == ("30", "20 to never")


@pytest.mark.parametrize(
    ("scale", "held", "verdict"),
    [
        ("paper", 2, "reproduced"),
        ("paper", 1, "partly reproduced"),
        ("paper", 0, "not reproduced"),
        ("laptop", 2, "seen at reduced scale"),
        ("laptop", 1, "partly seen at reduced scale"),
        ("laptop", 0, "not seen at reduced scale"),
    ],
)
def test_verdicts(scale, held, verdict):
    assert claim(held, scale=scale).verdict == verdict
    assert claims.page_verdict([claim(held, scale=scale)]) == verdict
    assert claim(held, scale=scale, extra=True).verdict == "beyond the paper"


def test_page_verdicts():
    def page(*found):
        return claims.page_verdict(list(found))

    assert page(claim(2), claim(0)) == "partly reproduced"
    assert page(claim(2), claim(0, extra=True)) == "reproduced"
    assert page(claim(0), claim(0)) == "not reproduced"
    # reduced scale never counts as reproduced
    assert page(claim(0), claim(0, scale="laptop")) == "not reproduced"
    assert page(claim(2), claim(2, scale="laptop")) == "partly reproduced"
    assert page(claims.with_scale(claim(2), "laptop")) == "seen at reduced scale"
    with pytest.raises(ValueError, match="at least one claim"):
        page(claim(extra=True))


def test_a_claim_that_nothing_tests_is_listed_and_not_judged():
    absent = claims.not_run("s", "+1", source="4.1")
    assert (absent.verdict, absent.n, absent.held) == ("not run", 0, 0)
    assert (absent.source, claims.not_run("s", "+1").source) == ("4.1", "")
    assert claims.page_verdict([claim(2), absent]) == "reproduced"
    laptop = claim(2, scale="laptop")
    assert claims.page_verdict([laptop, absent]) == "seen at reduced scale"
    assert claims.table([laptop, absent], "p/fig1").scale == "laptop"
    with pytest.raises(ValueError, match="at least one claim"):
        claims.page_verdict([absent])


def test_exact_and_extra(record):
    assert claims.exact("s", "0", "0", held=5, n=5).verdict == "reproduced"
    found = claims.exact("s", "0", "0", held=5, n=5, extra=True)
    assert found.verdict == "beyond the paper"
    found = claims.extra(record, "s", {0: 1.0, 1: 3.0, 2: 2.0})
    assert (found.ours, found.interval) == ("2", "1 to 3")
    assert found.to_json()["verdict"] == "beyond the paper"
    assert found.paper == "not in the paper"


def test_table_shows_and_carries_the_claims():
    table = claims.table([claim(1), claim(extra=True)], "prieto2025/fig01")
    bundle = table._repr_mimebundle_()
    carried = bundle[claims.MIME]
    assert carried["page"] == "prieto2025/fig01"
    assert (carried["scale"], carried["verdict"]) == ("paper", "partly reproduced")
    assert [c["held"] for c in carried["claims"]] == [1, 2]
    assert "held in 1 of 2" in bundle["text/html"]
    assert bundle["text/plain"].count("\n") == 1
    assert carried["read"] == []
    evidence.reading._READ.append({"record": "prieto2025/fig01"})
    bundle = claims.table([claim(1)], "prieto2025/fig01")._repr_mimebundle_()
    assert bundle[claims.MIME]["read"] == [{"record": "prieto2025/fig01"}]
    odd = claims.Claim("a < b", "<script>", "1", 1, "—", 1, "paper")
    html = claims.table([odd], "p/fig1")._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "a &lt; b" in html
