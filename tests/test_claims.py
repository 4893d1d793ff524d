"""Claims: what is registered, judged seed by seed, shown as a box and a table."""

import math
import re
from dataclasses import replace
from datetime import date

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from pandas import Series

from claimbook import change, claims, evidence, project, tables
from claimbook.claims.verdict import (
    Claim,
    css_classes,
    digest,
    entry_fields,
    is_few,
    outcome,
)
from claimbook.errors import PageError, UnknownName
from claimbook.evidence import Run, reading, words
from claimbook.experiment import Arm, Experiment, Spec
from claimbook.records import Record

NEVER, NONE = math.inf, math.nan
NOTHING = Series(dtype=float)
THREE = Series({0: 1.0, 1: 2.0, 2: 3.0})


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch):
    monkeypatch.setattr(reading, "_READ", [])
    monkeypatch.setattr(reading, "_CITED", {})


@pytest.fixture
def record():
    rows = pd.DataFrame(columns=["arm", "seed", "epoch"])
    about = {"seconds": 90.0, "device_name": "A CPU"}
    members = {f"plain|{seed}": about for seed in (0, 1)}
    arm = Arm("plain", *map(Spec, "dmlo"), epochs=500, log=10)
    arms = (arm, replace(arm, name="x"))
    experiment = Experiment("prieto2025/fig06b", "paper", arms, (0, 1, 2))
    return Record(experiment, rows, members, {})


def at_scale(record, scale):
    return replace(record, experiment=replace(record.experiment, scale=scale))


def row(**rest):
    told = {"says": "it is so", "where": "Section 1", "registered": date(2026, 1, 2)}
    return Claim(**{"id": "r", "tested": "s"} | told | rest)


def judged(found, **rest):
    """The one row that rests on something; None where it is left out."""
    sheet = claims.Sheet("p/fig1")
    sheet.add(row(**rest), found)
    return sheet[0] if sheet else None


def test_verdicts():
    for scale, held, n, verdict, shown in (
        ("paper", 3, 3, "holds", "holds"),
        ("paper", 1, 3, "mixed", "mixed"),
        ("paper", 0, 3, "fails", "fails"),
        ("paper", 1, 2, "mixed, two seeds", "mixed few"),
        ("paper", 0, 1, "fails, one seed", "fails few"),
        ("laptop", 3, 3, "holds, small", "holds small"),
        ("laptop", 2, 2, "holds, two seeds, small", "holds few small"),
        ("smoke", 3, 3, "not judged", "idle"),
        ("paper", 0, 0, "not run", "idle"),
        ("paper", 0, 0, "cannot tell", "cannot-tell"),
    ):
        found = row(held=held, n=n, scale=scale)
        found = replace(found, tried=verdict == "cannot tell")
        assert (found.verdict, css_classes(verdict)) == (verdict, shown)
        assert outcome(verdict) == shown.split()[0]
        assert is_few(verdict) == (0 < n < 3 and scale != "smoke")
        assert found.holds == (scale != "smoke" and 0 < n == held)
        beyond = replace(found, extra=True)
        assert (beyond.verdict, beyond.holds) == ("beyond the paper", False)
    assert row(held=1, n=1, exact=True).verdict == "holds"
    again = row(held=0, n=3, same_as="Figure 1")
    assert (again.verdict, again.holds) == ("see Figure 1", False)
    assert row(held=0, n=1, exact=True).verdict == "fails"


def test_a_claim_is_judged_by_seed_and_no_stronger_than_its_weakest_record(record):
    run = Run(record, "plain", "the plain one")
    values = Series({0: 10.0, 1: NEVER, 2: 30.0})
    found = judged((run, values), at_most=40, show="{:.1f}")
    assert (found.ours, found.interval) == ("30.0", "10.0 to never")
    assert (found.n, found.held, found.scale, found.why) == (3, 2, "paper", "")
    told = {"statement": "s", "quote": "it is so", "where": "Section 1", "reads": ""}
    told |= {"extra": False, "ours": "30.0", "interval": "10.0 to never", "held": 2}
    told |= {"n": 3, "scale": "paper", "main": False, "exact": False, "why": ""}
    told |= {"verdict": "mixed", "holds": False, "runs": ("prieto2025/fig06b|plain",)}
    told |= {"id": "r", "question": "", "same_as": "", "shorter": "", "leads": False}
    told["values"] = {"0": "10.0", "1": "never", "2": "30.0"}
    assert found.as_plain() == told
    one = judged((run, {0: 0.5}), below=1, show="{:.0%}")
    assert (one.ours, one.interval) == ("50\N{NO-BREAK SPACE}%", "—")
    assert one.why == "the plain one (2 of 3 seeds, 1.5 min each)"
    assert judged((Run(record, "x"), {0: 0.5}), below=1).why == "x (0 of 3 seeds)"
    run, small = Run(record, "plain"), Run(at_scale(record, "laptop"), "plain")
    for runs, scale in ((run, "paper"), ([run, small], "laptop"), ([small], "laptop")):
        assert judged((runs, THREE), above=0).scale == scale
    found = judged({small: 2 * THREE, run: THREE}, order=True)  # of one label, ""
    assert (found.scale, found.held) == ("laptop", 0)


def test_bounds_median_and_range_in_words(record):
    """Each bound at a value: two include it, two do not; infinity is beyond all."""
    medians = [claims.median(values) for values in ({}, {0: 2.0, 1: 0.0, 2: math.nan})]
    assert [words(value) for value in (NEVER, *medians)] == [
        "never",
        "no value",
        "no value",
    ]
    run = Run(record, "plain")
    for bounds, held in (
        ({"at_least": 2.0}, 2),
        ({"at_most": 2.0}, 2),
        ({"above": 2.0}, 1),
        ({"below": 2.0}, 1),
        ({"at_least": 2.0, "below": 3.0}, 1),
    ):
        assert judged((run, THREE), **bounds).held == held
    never = Series({0: 5.0, 1: NEVER, 2: -NEVER})
    comes = judged((run, never), at_least=0, below=NEVER)
    assert (comes.held, comes.interval) == (1, "never to never")
    assert judged((run, never), above=-NEVER).held == 2
    ours = judged((run, THREE), above=1, says="", where="")
    assert ours.interval == "1 to 3; held in 2 of 3"
    for values, *said in (
        ({5: 3.0, 6: 1.0}, "1", "1 to 3"),
        ({0: 1000.0}, "1,000", "—"),
        ({0: 1.2, 1: 1.4}, "1", "all alike"),
        ({0: NEVER, 1: NEVER}, "never", "all alike"),
        ({0: NEVER, 1: 20.0, 2: 30.0}, "30", "20 to never"),
    ):
        found = judged((run, values), above=0)
        assert [found.ours, found.interval] == said


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({0: 2.0, 1: 3.0, 2: 4.0}, "A takes 3 times as long as B"),
        ({0: 0.0, 1: 0.0, 2: 2.0}, "A comes and B never does"),
        ({0: 0.3, 1: 0.3, 2: 2.0}, "A takes 0 times as long as B"),
        ({0: 2.0, 1: NEVER, 2: NEVER}, "B comes and A never does"),
    ],
)
def test_the_sentence_of_a_result_fits_its_median(record, values, sentence):
    """A ratio of exactly 0, which rounding alone does not give, has its own."""
    result = judged(
        (Run(record, "plain"), values),
        above=1,
        reads="A takes {} times as long as B",
        zero="A comes and B never does",
        never="B comes and A never does",
    )
    assert result.sentence == sentence


def test_an_order_is_judged_seed_by_seed_and_shows_medians(record):
    def order(*arms, **options):
        runs = [Run(record, "plain", name) for name in "MABC"[: len(arms)]]
        found = dict(zip(runs, map(Series, arms), strict=True))
        return judged(found, order=True, **options)

    fast, slow = {0: 1.0, 1: 2.0, 2: 9.0}, {0: 3.0, 1: 1500.0, 2: 8.0}
    found = order(fast, slow)
    assert (found.ours, found.held, found.n) == ("M: 2, A: 8", 2, 3)
    assert found.interval == "in order for 2 of 3"
    # only seeds that every arm has, in the medians and n
    shared = order(fast, {1: 1500.0, 7: 0.0})
    assert (shared.ours, shared.held, shared.n) == ("M: 2, A: 1,500", 1, 1)
    never = [(1, 1, 2), (2, 1, NEVER), (1, NEVER, 2), (1, 1, NEVER), (NEVER, NEVER)]
    both = {(1, 2, NEVER): (1, 1), (1, NEVER, NEVER): (0, 1)}
    for values, held in (dict.fromkeys(never, (0, 0)) | both).items():
        arms = [{0: value} for value in values]
        late = order(*arms, open_end=True)
        assert (order(*arms).held, late.held) == held
        assert late.tested.endswith("may share the last places") == (NEVER in values)


def test_a_value_that_is_no_number_is_refused(record):
    """Its order among the others is arbitrary, and no comparison with it holds."""
    run, values = Run(record, "plain", "A"), Series({0: 1.0, 1: NONE})
    for found, rest in (
        ((run, values), {"above": 0}),
        ((run, values), {"says": "", "where": ""}),
        ({run: values}, {"order": True}),
    ):
        with pytest.raises(ValueError, match="'s' has no value for a seed: give `oth"):
            judged(found, **rest)
    # a smoke test is too short for many a value: it shows that a page runs
    short = judged((Run(at_scale(record, "smoke"), "plain"), {0: NONE}), above=0)
    assert (short.held, short.ours, short.verdict) == (0, "no value", "not judged")


def test_a_rerun_of_some_arms_judges_no_row_that_rests_on_others(record, monkeypatch):
    runs = [Run(record, "plain"), Run(record, "x")]
    share = {0: 1.0}
    assert judged((runs, share), above=0).verdict.startswith("holds")
    monkeypatch.setattr(project, "is_retrained", True)
    assert judged((runs, share), above=0).verdict == "not run"
    assert judged((runs[:1], share), above=0).verdict.startswith("holds")
    sheet = claims.Sheet("p/fig1")
    sheet.add(row(above=0, main=True), (runs[:1], share))
    of_book = "Nothing is smaller or shorter than in the paper"
    told = "A rerun: the verdicts below are those of its own runs."
    assert sheet.box("So.").text.startswith(told) and of_book in sheet.box().text
    monkeypatch.setattr(change, "in_use", change.read("optimizer.lr=0.02"))
    box = sheet.box("So.").text
    assert box.startswith(f"With optimizer.lr = 0.02, under the book's names. {told}")
    assert of_book not in box


def test_a_page_of_measurements_alone_judges_no_paper(record):
    sheet = claims.Sheet("prieto2025/figx")
    sheet.add(row(says="", where="", main=True), (Run(record, "plain"), THREE))
    closing = sheet.closing()
    carried = closing.beside[claims.MIME]
    assert (carried["verdict"], carried["scale"]) == ("not judged", "paper")
    assert "Beyond the paper: 1 measurement of ours" in closing.html
    assert "Tests registered" not in closing.html
    told = ["So.", "d · m · l · o · 500 epochs"]
    assert sheet.box("So.").text.splitlines() == told


def test_what_nobody_ran_is_not_what_no_run_can_test(record):
    run, absent = Run(record, "plain"), Run(record, "x")
    for found, rest, verdict, ours in (
        ((run, NOTHING), {"above": 0}, "cannot tell", "no seed can test it"),
        ({run: NOTHING}, {"order": True}, "cannot tell", "no seed can test it"),
        (([run, absent], NOTHING), {"above": 0}, "not run", "—"),
        ({run: NOTHING, absent: THREE}, {"order": True}, "not run", "—"),
        (None, {"is_run": False}, "not run", "—"),
    ):
        one = judged(found, **rest)
        assert (one.verdict, one.ours) == (verdict, ours)
        assert bool(one.runs) == bool(found)
    assert judged((run, NOTHING), says="", where="") is None


def test_what_no_run_could_fail_is_shown_and_not_counted(record):
    run = Run(record, "plain")
    sheet = claims.Sheet("prieto2025/figx")
    old = {"update_bin": "aa0a192"}
    sheet.add(row(above=0, main=True, measured_by=old), (run, THREE))
    sheet.add(row(above=0, by_construction="it is an identity"), (run, THREE))
    one = sheet[1]
    assert (one.verdict, one.holds, one.ours) == ("by construction", False, "2")
    assert outcome(one.verdict) == "idle"
    closing = sheet.closing().text
    assert "(by construction: it is an identity)" in closing
    said = "column update_bin: measured by commit aa0a192, not by today's code"
    assert said in closing  # of a value that no code of today measures


def test_a_run_of_full_size_that_was_trained_for_less_time_says_so(record):
    """Figure 6 (b) of Prieto et al. has 500 epochs."""
    arm = replace(record.experiment.arm("plain"), epochs=200)
    brief = replace(record, experiment=replace(record.experiment, arms=(arm,)))
    for one, values, verdict, shorter in (
        (brief, THREE, "holds, shorter", "200 of 500 epochs"),
        (brief, {0: 1.0}, "holds, one seed, shorter", "200 of 500 epochs"),
        (at_scale(brief, "laptop"), THREE, "holds, small", ""),
        (record, THREE, "holds", ""),
    ):
        found = judged((Run(one, "plain"), values), above=0)
        assert (found.verdict, found.shorter) == (verdict, shorter)
    assert css_classes("holds, shorter") == "holds small"


def test_a_result_is_told_as_a_sentence_with_its_value(record):
    run, reads = Run(record, "plain"), "it grows {} times"
    one = judged((run, THREE), above=0, reads=reads, never="it never grows")
    assert (one.sentence, one.as_plain()["reads"]) == ("it grows 2 times",) * 2
    never = Series(math.inf, [0, 1, 2])
    one = judged((run, never), above=0, reads=reads, never="it never grows")
    assert one.sentence == "it never grows"
    assert judged((run, NOTHING), above=0, reads=reads).sentence == ""
    ends = "at least {smallest}, in the median {}, at most {largest}"
    told = judged((run, THREE), above=0, reads=ends).sentence
    assert told == "at least 1, in the median 2, at most 3"


@pytest.fixture
def sheet(record):
    """A page with four claims, one of which holds with enough seeds for a verdict."""
    run, sheet = Run(record, "plain", "plain"), claims.Sheet("prieto2025/figx")
    sheet.add(row(tested="a < b", above=0, main=True), (run, THREE))
    sheet.add(row(tested="fails", above=2), (run, THREE))
    sheet.add(row(tested="once", above=0), (run, THREE[:1]))
    sheet.add(row(tested="<beside>", says="", where=""), (run, THREE))
    sheet.add(row(tested="sums up", exact=True), ("0", 1, 1))
    return sheet


LESS = "Less than the paper's"
SIZES = {  # what runs have less of, and what the box says of it
    ("width 8", "width 8"): [f"{LESS}: width 8"],
    ("", "", "width 8"): [f"{LESS} (O): width 8"],
    ("width 8", "width 9, two seeds of five"): [
        f"{LESS} (M): width 8",
        f"{LESS} (N): width 9",
    ],
    ("width 7", "width 8", "width 9"): [
        f"{LESS} ({label}): width {size}"
        for label, size in zip("MNO", (7, 8, 9), strict=True)
    ],
}


def test_the_box_answers_and_says_what_its_badge_judges(sheet):
    box = sheet.box("The paper says <so>.")
    recipe = "d · m · l · o · 500 epochs"
    badge = "holds in 3 of 3 runs: “it is so”."
    others = "Of the 4 claims of this page 3 hold, 1 holds in some runs only"
    size = "Nothing is smaller or shorter than in the paper; "
    size += "what it leaves open is our choice"
    told = ["The paper says <so>.", badge, size, others, recipe]
    assert box.text.splitlines() == told
    assert "&lt;so&gt;" in box.html and "verdict holds" in box.html
    (one,) = sheet.runs
    for sizes, told in SIZES.items():
        several = claims.Sheet("prieto2025/figx")
        plan = one.record.experiment
        runs = []
        for label, size in zip("MNO", sizes, strict=False):
            smaller = replace(one.record, experiment=replace(plan, reduced=size))
            runs.append(Run(smaller, "plain", label))
        several.add(row(above=0, main=True), (runs, THREE))
        said = several.box().text.splitlines()[1:]
        assert said == [*told, *([recipe] if len(told) < 3 else [])]
    one.record.experiment = replace(plan, reduced="width 8")
    # the answer may be about other runs than the main row, then the box tells no size
    text = sheet.box(runs=[Run(one.record, "x")]).text
    assert "width 8" not in text and recipe in text
    exact = claims.Sheet("p/tab1")
    exact.add(row(exact=True, main=True), ("0", 1, 2))
    exact.add(row(is_run=False), None)
    assert exact.box().text.startswith("mixed true in 1 of 2 cases: “it is so”.")
    only = claims.Sheet("p/tab1")
    only.add(row(exact=True, main=True), ("0", 1, 1))
    assert only.box().text == "holds in the only case: “it is so”."
    exact.add(row(is_run=False, main=True), None)  # a page has one main claim
    with pytest.raises(ValueError, match="too many"):
        exact.box()


FARE = "1 holds, 1 holds in some runs only, 1 fails, 1 cannot be told, 1 is true by "
FARE += "construction, 1 is not run"


def test_claims_are_counted_by_their_verdicts_in_words():
    held = [row(held=n, n=3) for n in (3, 1, 0)]
    held += [row(tried=True), row(n=3, by_construction="so"), row()]
    for many, fare in ((1, FARE), (2, PLURAL)):
        sheet = claims.Sheet("p/fig1")
        sheet.extend(held * many + [row(extra=True, n=3), row(same_as="p/fig2", n=3)])
        sheet[0] = replace(sheet[0], main=True)
        said = f"Of the {6 * many} claims of this page {fare}"
        assert sheet.box().text.splitlines()[1] == said
    for held, told in ((0, "true in none of 3 runs"), (2, "true in 2 of 3 runs")):
        sheet = claims.Sheet("p/fig1")
        sheet.append(row(main=True, held=held, n=3))
        assert f" {told}: “it is so”." in sheet.box().text


PLURAL = "2 hold, 2 hold in some runs only, 2 fail, 2 cannot be told, 2 are true by "
PLURAL += "construction, 2 are not run"


def test_the_box_says_what_decides_and_explains_terms(record, tmp_path, monkeypatch):
    """In words of book/words.yaml, of a term that the answer does not explain."""
    sheet = claims.Sheet("prieto2025/figx")
    decided = row(above=0, main=True, reads="It grows by {}")
    sheet.add(decided, (Run(record, "plain"), THREE))
    assert "“it is so”. What decides it: It grows by 2." in sheet.box().text
    (tmp_path / "book").mkdir()
    words = "wug: {means: a bird, where: '\\bwugs?\\b', known: 'birds', pages: prieto}"
    (tmp_path / "book" / "words.yaml").write_text(words)
    monkeypatch.setattr("claimbook.project.home", lambda: tmp_path)
    assert sheet.box("Two wugs sing.").text.endswith("\nwug: a bird")
    assert "<p class='term'><b>wug</b>: a bird</p>" in sheet.box("Two wugs sing.").html
    for explained in ("Wugs are birds. A wug sings.", "Nobody sings."):
        assert "a bird" not in sheet.box(explained).html
    assert tables.terms("a wug", "liu2026/fig01") == []


def test_the_closing_shows_and_carries_the_claims(sheet, capsys, monkeypatch):
    """And prints them, but in a notebook."""
    reading._READ.append({"record": "prieto2025/fig01"})
    bundle = sheet.closing()._repr_mimebundle_()
    assert capsys.readouterr().out == f"{bundle['text/plain']}\n"
    monkeypatch.setattr("builtins.__IPYTHON__", True, raising=False)
    assert sheet.closing() and not capsys.readouterr().out
    carried, html = bundle[claims.MIME], bundle["text/html"]
    assert (carried["page"], carried["scale"]) == ("prieto2025/figx", "paper")
    assert carried["verdict"] == "holds"
    assert carried["read"] == [{"record": "prieto2025/fig01"}]
    assert [c["held"] for c in carried["claims"]] == [3, 1, 1, 3, 1]
    assert [c["holds"] for c in carried["claims"]] == [True, False, True, False, True]
    assert "Fewer than three seeds: plain (2 of 3 seeds, 1.5 min each)." in html
    assert "<summary>Beyond the paper: 1 measurement of ours</summary>" in html
    soup = BeautifulSoup(html, "html.parser")
    cells = [cell.text for cell in soup.find("table").find_all("tr")[1]("td")]
    assert cells == ["it is so Section 1", "a < b", "2", "1 to 3", "3", "holds"]
    assert "held in 1 of 3" in html and "a &lt; b" in html and "<beside>" not in html
    assert bundle["text/plain"].count("\n") == 4


def test_a_page_that_cites_and_reads_no_record_says_what_it_cites(sheet):
    title = "Where the numbers come from"
    assert title not in sheet.closing().html
    evidence.reference("prieto2025/tab01")
    assert title in sheet.closing().html


def test_a_page_with_one_smoke_record_judges_nothing(record):
    sheet, small = claims.Sheet("p/fig1"), at_scale(record, "smoke")
    sheet.add(row(above=0, main=True), (Run(record, "plain"), {0: 1.0}))
    sheet.add(row(above=0), (Run(small, "plain"), {0: 1.0}))
    sheet.add(row(exact=True), ("so", 1, 1))
    sheet.add(row(is_run=False), None)
    closing, box = sheet.closing(), sheet.box()
    carried = closing.beside[claims.MIME]
    verdicts = {claim["verdict"] for claim in carried["claims"]}
    assert verdicts == {carried["verdict"]} == {"not judged"}
    assert "it runs, nothing is judged" in box.html
    shown = "".join([closing.html, box.html, closing.text])
    shown = shown.replace("visually-hidden", "").replace("came of them", "")
    assert not [w for w in ("fails", "mixed", "hold", "held") if w in shown]


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
  gone: {tested: it is gone, at_least: 1, show: yes or no, registered: 2026-01-02}
  other: {says: so, where: there, tested: wide ones, run: no, registered: 2026-01-02}
"""


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """The file of claims of a book with one page."""
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    path = tmp_path / "book" / "p" / "claims.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(ROWS)
    return path


def test_a_page_is_judged_by_what_was_registered(record, registered):
    run = Run(record, "plain", "plain")
    values = {
        "grows": (run, THREE),
        "later": {run: THREE, Run(record, "plain", "after"): THREE + 1},
        "sum": claims.exactly("4", [True, False]),
        "beside": {"one": (run, 2 * THREE), "other": (run, THREE)},
        "gone": (run, 1.0 * (THREE > 1)),
    }
    sheet = claims.read("p/fig1", values, times="two")
    told = [(one.tested, one.ours, one.held, one.n, one.verdict) for one in sheet]
    assert told == [
        ("it grows two times", "2.0", 2, 3, "mixed"),
        ("one after the other", "plain: 2.0, after: 3.0", 3, 3, "holds"),
        ("it sums up", "4", 1, 2, "beyond the paper"),
        ("one: how large", "4", 3, 3, "beyond the paper"),
        ("other: how large", "2", 3, 3, "beyond the paper"),
        ("it is gone", "yes", 2, 3, "beyond the paper"),
        ("wide ones", "—", 0, 0, "not run"),
    ]
    assert sheet.told("gone") == "yes in 2 of 3"
    assert sheet.told("grows") == "2.0 (1.0 to 3.0)"
    assert sheet.told("beside one", "{:.2f}") == "4.00 (2.00 to 6.00)"
    closing = sheet.closing()
    told = "Tests registered 2026-01-02 to 2026-01-03; 1 changed since"
    assert told in closing.html and "<td>a slip</td>" in closing.html
    assert closing.beside[claims.MIME]["registered"] == digest("p/fig1")
    registered.write_text(ROWS.replace("a slip", "an error"))
    assert closing.beside[claims.MIME]["registered"] != digest("p/fig1")
    for wrong, name, side in (
        ({k: v for k, v in values.items() if k != "sum"}, "sum", "claims.yaml lists"),
        (values | {"more": values["sum"]}, "more", "the page gives it a value"),
        (values | {"other": values["sum"]}, "other", "the page gives it a value"),
    ):
        with pytest.raises(PageError, match=f"differ in the row '{name}': {side}"):
            claims.read("p/fig1", wrong, times=2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("at_least: 2", "at_lest: 2", "'at_lest': use one of at_least"),
        ("at_least: 2", "ours: 2", "'ours': use one of "),
        ("    registered: 2026-01-02\n", "", "give it the key 'registered'"),
    ],
)
def test_a_wrong_key_of_a_claim_is_told_with_its_place(registered, old, new, said):
    registered.write_text(ROWS.replace(old, new, 1))
    with pytest.raises((UnknownName, PageError)) as caught:
        claims.read("p/fig1", {})
    assert "book/p/claims.yaml, page fig1, row 'grows': " in str(caught.value)
    assert said in str(caught.value)


BOUND = re.compile(  # what is said of every run; the median is not
    r"(at most|at least|up to|more than)( by a factor of)? \{\}"
    r"|\{\}[^,;:.]* (or more|or later|at the lowest|at the least|at most)\b"
)


def test_every_claim_of_the_book_could_fail_and_says_what_is_true_of_every_run():
    for path in (project.home() / "book").glob("*/claims.yaml"):
        for page, entries in project.read_yaml(path).items():
            for key, entry in entries.items():
                where = f"{key} of {page}"
                one = Claim(
                    id=key, **entry_fields(f"{path.parent.name}/{page}", key, entry)
                )
                assert bool(one.says) == bool(one.where), where
                tests = one.bounds or one.order or one.exact or not one.is_run
                assert tests or not one.says, f"{where} could not fail: give it a bound"
                assert all({*was} == {"planned", "gives", "reason"} for was in one.was)
                of_every_run = BOUND.search(one.reads) and not one.exact
                assert not of_every_run, f"{where}: {{}} is but the median"
