"""Claims: what is registered, judged seed by seed, shown as a box and a table."""

import math
from dataclasses import replace
from datetime import date

import pandas as pd
import pytest
from pandas import Series

from grokbook import claims, evidence
from grokbook.claims import claim as module
from grokbook.claims import registered as rows
from grokbook.claims.registered import Row
from grokbook.claims.verdict import VERDICTS, badge, is_few, kind, outcome
from grokbook.errors import PageError
from grokbook.evidence import Run, reading
from grokbook.experiment import Arm, Experiment, Spec
from grokbook.records import Record

NEVER, NONE = math.inf, math.nan
NOTHING = Series(dtype=float)
THREE = Series({0: 1.0, 1: 2.0, 2: 3.0})


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch):
    monkeypatch.setattr(reading, "_READ", [])


@pytest.fixture
def record():
    """Two seeds of three; accuracy 0.0, 0.5, 1.0 and 0.0, 0.4, (ended early)."""
    found = [("plain", 0, e, a) for e, a in ((0, 0.0), (10, 0.5), (20, 1.0))]
    found += [("plain", 1, e, a) for e, a in ((0, 0.0), (10, 0.4))]
    frame = pd.DataFrame(found, columns=["arm", "seed", "epoch", "test_accuracy"])
    about = {"seconds": 90.0, "device_name": "A CPU"}
    members = {f"plain|{seed}": about for seed in (0, 1)}
    arm = Arm("plain", *map(Spec, "dmlo"), epochs=20, log=10)
    experiment = Experiment("prieto2025/fig06b", "paper", (arm,), (0, 1, 2))
    return Record(experiment, frame, members, {})


def at_scale(record, scale):
    return replace(record, experiment=replace(record.experiment, scale=scale))


def claim(held=3, n=3, scale="paper", **options):
    told = ("s", "it is so", "Section 1", "o", n, "i", held, scale)
    return claims.Claim(*told, **options)


def row(**rest):
    told = {"says": "it is so", "where": "Section 1", "registered": date(2026, 1, 2)}
    return Row(**{"id": "r", "tested": "s"} | told | rest)


def judged(found, **rest):
    """The one claim of a row and what it rests on; None where it is left out."""
    sheet = claims.Sheet("p/fig1")
    sheet.add(row(**rest), found)
    return sheet[0] if sheet else None


# The verdict --------------------------------------------------------------------------


def test_verdicts():
    for scale, held, n, verdict, short in (
        ("paper", 3, 3, "reproduced", "holds"),
        ("paper", 1, 3, "partly reproduced", "partly"),
        ("paper", 0, 3, "not reproduced", "fails"),
        ("paper", 2, 2, "seen once", "holds"),
        ("paper", 1, 2, "seen once", "holds"),
        ("paper", 0, 1, "not seen, once", "fails"),
        ("laptop", 3, 3, "seen at reduced scale", "holds"),
        ("laptop", 2, 3, "partly seen at reduced scale", "partly"),
        ("laptop", 0, 3, "not seen at reduced scale", "fails"),
        ("laptop", 2, 2, "seen once, at reduced scale", "holds"),
        ("laptop", 0, 2, "not seen, once, at reduced scale", "fails"),
        ("smoke", 3, 3, "not judged", "idle"),
        ("paper", 0, 0, "not run", "idle"),
    ):
        found = claim(held, n, scale=scale)
        assert (found.verdict, outcome(verdict)) == (verdict, short)
        assert verdict in VERDICTS
        assert is_few(verdict) == (0 < n < 3 and scale != "smoke")
        beyond = replace(found, extra=True)
        assert (beyond.verdict, outcome(beyond.verdict)) == ("beyond the paper", "idle")
        assert found.judged == (n > 0 and scale != "smoke")
        assert found.holds == (scale != "smoke" and 0 < n == held)
        assert not beyond.holds
    assert claim(1, 1, exact=True).verdict == "reproduced"
    assert claim(0, 1, exact=True).verdict == "not reproduced"
    with pytest.raises(PageError, match="'confirmed' is no verdict"):
        outcome("confirmed")


def test_a_badge_has_its_verdict_as_class_and_the_count_as_title():
    assert kind("not seen, once, at reduced scale") == "not-seen-once-at-reduced-scale"
    html = badge("seen once", "held in 1 of 2")
    said = 'class="verdict verdict-seen-once" title="held in 1 of 2">seen once</span>'
    assert html == f"<span {said}"


def test_one_claim_carries_the_verdict_of_its_page():
    one, other = claim(main=True), claim(0)
    assert claims.main([other, one]) is one
    for page in ([other], [one, one], [replace(one, extra=True)], []):
        with pytest.raises(ValueError, match="one main claim of its paper, .*`main: t"):
            claims.main(page)


# One row ------------------------------------------------------------------------------


def test_a_claim_is_judged_seed_by_seed(record):
    run = Run(record, "plain", "the plain one")
    values = Series({0: 10.0, 1: NEVER, 2: 30.0})
    found = judged((run, values), at_most=40, show="{:.1f}")
    assert (found.ours, found.interval) == ("30.0", "10.0 to never")
    assert (found.n, found.held, found.scale) == (3, 2, "paper")
    assert (found.quote, found.where, found.why) == ("it is so", "Section 1", "")
    one = judged((run, {0: 0.5}), below=1, show="{:.0%}", main=True)
    assert (one.ours, one.interval, one.main) == ("50\N{NO-BREAK SPACE}%", "—", True)
    assert one.why == "the plain one (2 of 3 seeds, 1.5 min each)"


def test_bounds(record):
    """Each bound at a value: two include it, two do not; infinity is beyond all."""
    run = Run(record, "plain")
    for bound, held in (("at_least", 2), ("at_most", 2), ("above", 1), ("below", 1)):
        assert judged((run, THREE), **{bound: 2.0}).held == held
    assert judged((run, THREE), at_least=2, below=3).held == 1
    never = Series({0: 5.0, 1: NEVER, 2: -NEVER})
    comes = judged((run, never), at_least=0, below=NEVER)
    assert comes.held == 1
    assert comes.interval == "never to never"  # minus infinity is no epoch either
    assert judged((run, never), at_least=NEVER).held == 1
    assert judged((run, never), above=-NEVER).held == 2


def test_a_claim_is_no_stronger_than_its_weakest_record(record):
    run, small = (
        Run(record, "plain", "a"),
        Run(at_scale(record, "laptop"), "plain", "b"),
    )
    for runs, scale in (
        (run, "paper"),
        ([run, small], "laptop"),
        ([small, run], "laptop"),
    ):
        assert judged((runs, THREE), above=0).scale == scale
    order = judged({run: THREE, small: 2 * THREE}, order=True)
    assert (order.scale, order.statement) == ("laptop", "s")
    late = judged({run: THREE, small: 0 * THREE + NEVER}, order=True, open_end=True)
    assert late.statement.endswith("never get there may share the last places")
    beyond = judged(([run, small], THREE), says="", where="")
    assert (beyond.scale, beyond.verdict) == ("laptop", "beyond the paper")


def test_an_order_is_judged_seed_by_seed_and_shows_medians():
    fast, slow = {0: 1.0, 1: 2.0, 2: 9.0}, {0: 3.0, 1: 1500.0, 2: 8.0}
    assert module.in_order({"M": fast, "A": slow}) == ("M: 2, A: 8", 2, 3)
    # only seeds that every arm has, in the medians and n
    shared = module.in_order({"M": fast, "A": {1: 1500.0, 7: 0.0}})
    assert shared == ("M: 2, A: 1,500", 1, 1)
    with pytest.raises(ValueError, match="at least one seed"):
        module.in_order({"M": fast, "A": {7: 1.0}})

    def held(*values, **options):
        arms = {str(place): {0: value} for place, value in enumerate(values)}
        return module.in_order(arms, **options)[1]

    assert held(1, 2, NEVER) == 1
    assert held(1, 1, 2) == held(2, 1, NEVER) == held(1, NEVER, 2) == 0
    assert held(1, NEVER, NEVER) == 0
    assert held(1, NEVER, NEVER, open_end=True) == 1
    assert held(1, 1, NEVER, open_end=True) == held(1, NEVER, 2, open_end=True) == 0
    assert held(NEVER, NEVER, open_end=True) == 0


def test_a_value_that_is_no_number_is_refused(record):
    """Its order among the others is arbitrary, and no comparison with it holds."""
    run, values = Run(record, "plain", "A"), Series({0: 1.0, 1: NONE, 2: NONE})
    said = r"'s' has no value for seeds \[1, 2\]: say what .* counts as"
    for bound in ({"above": 0}, {"says": "", "where": ""}):
        with pytest.raises(ValueError, match=said):
            judged((run, values), **bound)
    with pytest.raises(ValueError, match=r"'s \(A\)' has no value for seeds \[1, 2\]"):
        judged({run: values}, order=True)
    # a smoke test is too short for many a value: it shows that a page runs
    short = judged((Run(at_scale(record, "smoke"), "plain"), {0: NONE}), above=0)
    assert (short.held, short.ours, short.verdict) == (0, "nan", "not judged")


def test_what_nobody_ran_is_listed(record):
    run, absent = Run(record, "plain"), Run(record, "x")
    for found, rest, ours in (
        ((run, NOTHING), {"above": 0}, "no seed is a test"),
        (([run, absent], NOTHING), {"above": 0}, "—"),
        ({run: NOTHING, absent: THREE}, {"order": True}, "—"),
        (None, {"run": False}, "—"),
    ):
        one = judged(found, **rest, main=True)
        assert (one.verdict, one.ours, one.main) == ("not run", ours, True)
        assert not one.judged
    assert judged((run, NOTHING), says="", where="") is None


def test_values_in_words():
    assert claims.median({0: 4.0, 1: 1.0, 2: 2.0, 3: NEVER}) == 2.0
    assert claims.median(Series({0: 3.0, 1: 1.0})) == 1.0
    assert claims.summary(Series({5: 3.0, 6: 1.0})) == ("1", "1 to 3")
    assert evidence.words(1234.5) == "1,234"
    assert evidence.words(0.123, "{:.0%}") == "12\N{NO-BREAK SPACE}%"
    assert claims.summary({0: 1000.0}) == ("1,000", "—")
    assert claims.summary({0: 1.2, 1: 1.4}) == ("1", "all alike")
    assert claims.summary({0: NEVER, 1: NEVER}) == ("never", "all alike")
    assert claims.summary({0: NEVER, 1: 20.0, 2: 30.0}) == ("30", "20 to never")


# What is shown ------------------------------------------------------------------------


@pytest.fixture
def sheet(record):
    """A page with four claims, one of which holds with enough seeds for a verdict."""
    run, sheet = Run(record, "plain", "plain"), claims.Sheet("prieto2025/fig01")
    sheet.add(row(tested="a < b", above=0, main=True), (run, THREE))
    sheet.add(row(tested="fails", above=2), (run, THREE))
    sheet.add(row(tested="once", above=0), (run, THREE[:1]))
    sheet.add(row(tested="<beside>", says="", where=""), (run, THREE))
    sheet.add(row(tested="sums up", exact=True), ("0", 1, 1))
    return sheet


def test_the_box_says_what_is_claimed_and_whether_it_held(sheet):
    box = sheet.box()
    assert box.text.splitlines() == [
        "reproduced",
        "Claim: “it is so” (Section 1)",
        "Result: a < b: 2 (1 to 3; n = 3)",
        "Evidence: 3 of 4 claims of the paper hold; n = 1 to 3; paper scale (A CPU)",
    ]
    assert "verdict-reproduced" in box.html and "a &lt; b" in box.html
    exact = claims.Sheet("p/tab1")
    exact.add(row(exact=True, main=True), ("0", 1, 2))
    exact.add(row(run=False), None)
    assert "Result: s: 0 (exact; holds in 1 of 2)" in exact.box().text
    end = "0 of 1 claims of the paper hold; 1 not run; exact, nothing was trained"
    assert exact.box().text.endswith(end)


def test_the_closing_shows_and_carries_the_claims(sheet):
    evidence.reading._READ.append({"record": "prieto2025/fig01"})
    bundle = sheet.closing()._repr_mimebundle_()
    carried, html = bundle[claims.MIME], bundle["text/html"]
    assert (carried["page"], carried["scale"]) == ("prieto2025/fig01", "paper")
    assert carried["verdict"] == "reproduced"
    assert carried["read"] == [{"record": "prieto2025/fig01"}]
    assert [c["held"] for c in carried["claims"]] == [3, 1, 1, 3, 1]
    assert [c["holds"] for c in carried["claims"]] == [True, False, True, False, True]
    assert carried["claims"][2]["verdict"] == "seen once"
    assert "row" not in carried["claims"][0]
    assert "held in 1 of 3" in html
    assert "Fewer than three seeds: plain (2 of 3 seeds, 1.5 min each)." in html
    assert "<summary>Beyond the paper: 1 measurement of ours</summary>" in html
    assert "a &lt; b" in html and "<beside>" not in html
    assert bundle["text/plain"].count("\n") == 4


def test_a_page_with_one_smoke_record_judges_nothing(record):
    """Claims of other records, of mathematics and of what was not run among them."""
    for scale, is_smoke in (("laptop", False), ("smoke", True)):
        sheet, small = claims.Sheet("p/fig1"), at_scale(record, scale)
        sheet.add(row(above=0, main=True), (Run(record, "plain"), {0: 1.0}))
        sheet.add(row(above=0), (Run(small, "plain"), {0: 1.0}))
        sheet.add(row(exact=True), ("so", 1, 1))
        sheet.add(row(run=False), None)
        closing, box = sheet.closing(), sheet.box()
        carried = closing.beside[claims.MIME]
        verdicts = {claim["verdict"] for claim in carried["claims"]}
        shown = "".join([closing.html, box.html, closing.text])
        shown = shown.replace("visually-hidden", "").replace("came of them", "")
        if is_smoke:
            assert verdicts == {carried["verdict"]} == {"not judged"}
            assert "it runs, nothing is judged" in box.html
            for word in ("seen", "reproduced", "hold", "held"):
                assert word not in shown
        else:
            assert verdicts >= {"seen once, at reduced scale", "reproduced", "not run"}
            assert "claims of the paper hold" in box.html


# What was registered ------------------------------------------------------------------

ROWS = """
fig1:
  grows: &grows
    says: it is so
    where: Section 1
    tested: it grows {times} times
    at_least: 2
    main: true
    show: "{:.1f}"
    registered: 2026-01-02
  later:
    <<: *grows
    main: false
    tested: one after the other
    order: true
    registered: 2026-01-03
    was: [{planned: both, gives: neither, reason: a slip}]
  sum: {tested: it sums up, exact: true, extra: true, registered: 2026-01-02}
  beside: {tested: "{each}: how large", registered: 2026-01-02}
  other: {says: so, where: there, tested: wide ones, run: no, registered: 2026-01-02}
"""


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Writes claims.yaml of a paper "p"; reading is not kept between two texts."""
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    folder = tmp_path / "book" / "p"
    folder.mkdir(parents=True)

    def write(text):
        (folder / "claims.yaml").write_text(text, encoding="utf-8")
        rows._read.cache_clear()

    write(ROWS)
    yield write
    rows._read.cache_clear()


def found(record):
    run, three = Run(record, "plain", "plain"), Series({0: 1.0, 1: 2.0, 2: 3.0})
    after = {run: three, Run(record, "plain", "after"): three + 1}
    return {
        "grows": (run, three),
        "later": after,
        "sum": claims.exactly("4", [True, False]),
        "beside": {"one": (run, 2 * three), "other": (run, three)},
    }


def test_a_page_is_judged_by_what_was_registered(record, registered):
    sheet = claims.read("p/fig1", found(record), times="two")
    told = [(claim.statement, claim.ours, claim.held, claim.n) for claim in sheet]
    assert told == [
        ("it grows two times", "2.0", 2, 3),
        ("one after the other", "plain: 2.0, after: 3.0", 3, 3),
        ("it sums up", "4", 1, 2),
        ("one: how large", "4", 3, 3),
        ("other: how large", "2", 3, 3),
        ("wide ones", "—", 0, 0),
    ]
    assert [claim.verdict for claim in sheet] == [
        "partly reproduced",
        "reproduced",
        "beyond the paper",
        "beyond the paper",
        "beyond the paper",
        "not run",
    ]
    assert [claim.main for claim in sheet] == [True, *[False] * 5]
    assert sheet.told("grows") == "2.0 (1.0 to 3.0)"
    assert sheet.told("grows", "{:.2f}") == "2.00 (1.00 to 3.00)"
    bundle = sheet.closing()._repr_mimebundle_()
    assert "row" not in bundle[claims.MIME]["claims"][0]
    assert (
        "Tests registered 2026-01-02 to 2026-01-03; 1 changed since"
        in (bundle["text/html"])
    )
    assert "<td>a slip</td>" in bundle["text/html"]


def test_values_and_rows_belong_together(record, registered):
    values = found(record)
    for wrong, said in (
        ({k: v for k, v in values.items() if k != "sum"}, "no value for its row 'sum'"),
        (values | {"more": values["sum"]}, "the value 'more', which no row tests"),
        (values | {"other": values["sum"]}, "the value 'other', which no row tests"),
    ):
        with pytest.raises(PageError, match=f"Page p/fig1 has {said}"):
            claims.read("p/fig1", wrong, times=2)
    with pytest.raises(PageError, match="tests its row 'grows' on nothing"):
        claims.read("p/fig1", values | {"grows": {}}, times=2)
    with pytest.raises(PageError, match="does not fill in its row 'grows': 'times'"):
        claims.read("p/fig1", values)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    registered: 2026-01-02\n", "", "'grows' of p/fig1 .* has no date"),
        ("    at_least: 2\n", "", "could not fail"),
        ("at_least", "at_lest", "unknown key 'at_lest'"),
        ("    where: Section 1\n", "", "only one of the paper's words"),
        ("gives: neither, ", "", "a `was` that lacks"),
        ("  beside:", "  sum:", "the key 'sum' twice"),
        ("fig1:", "fig2:", "claims.yaml has nothing of p/fig1"),
    ],
)
def test_a_row_that_registers_nothing_is_refused(registered, old, new, said):
    registered(ROWS.replace(old, new, 1))
    with pytest.raises(PageError, match=said):
        rows.rows("p/fig1")


def test_a_page_that_shows_other_claims_than_are_registered_is_found(
    record, registered
):
    sheet = claims.read("p/fig1", found(record), times="two")
    shown = [claim.to_json() for claim in sheet]
    assert rows.differing("p/fig1", shown) == ""
    assert rows.differing("p/fig1", shown[:3] + shown[4:]) == ""  # one of {each}
    assert rows.differing("p/fig1", shown[1:]) == "does not show its row 'grows'"
    for change in (
        {"statement": "it grows two"},
        {"quote": "is it so"},
        {"where": "?"},
    ):
        said = rows.differing("p/fig1", [shown[0] | change, *shown[1:]])
        assert said.startswith("shows 'it grows two"), said
