"""What the book says of all pages: questions, squares, scoreboard, what to train."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from browser import DESKTOP, PHONE, shown
from bs4 import BeautifulSoup
from helpers import arm, experiment

from book import order
from book._ext import catalogue
from book._ext.entries import Entry, entries
from claimbook import papers, records
from claimbook.claims.verdict import FEW, WORDS, css_classes
from claimbook.project import CLAIMS_MIME, home, paper_titles

STATIC = Path(__file__).parents[1] / "book" / "_static"
STYLES = (STATIC / "catalogue.css").read_text(encoding="utf-8")
BADGES = (STATIC / "book.css").read_text(encoding="utf-8")
ID = "liu2026/fig01"


def claim(statement, verdict="holds", n=5, **more):
    found = {"id": statement, "statement": statement, "quote": "it <is> so"}
    found |= {"where": "Section 1", "ours": "4", "n": n, "interval": "3 to 5"}
    found |= {"verdict": verdict, "holds": verdict == "holds", "main": False}
    found |= {"held": 0 if verdict == "fails" else n, "reads": "", "leads": False}
    return found | {"extra": False, "question": "", "same_as": ""} | more


def entry(page_id, *claims):
    carried = {"page": page_id, "verdict": claims[0]["verdict"], "claims": claims}
    output = nbformat.v4.new_output("display_data", {CLAIMS_MIME: carried})
    cells = [nbformat.v4.new_markdown_cell("# [A]{.kicker} It is *so*")]
    cells += [nbformat.v4.new_code_cell("sheet.closing()", outputs=[output])]
    source = home() / "book" / f"{page_id}_words.py"
    return Entry(page_id, source, nbformat.v4.new_notebook(cells=cells))


def test_a_question_has_its_answer_and_the_claims_behind_it():
    asked = entry("questions/q01", claim("a"))
    box = {"text/html": "<p class='answer'>In 5 &lt; 6.</p><p class='answer'>No.</p>"}
    output = nbformat.v4.new_output("display_data", box)
    asked.twin.cells.insert(1, nbformat.v4.new_code_cell("sheet", outputs=[output]))
    text = catalogue.render("questions", [asked])
    assert f"[{asked.title}](/questions/q01_words.ipynb)" in text
    assert "**In 5 \\< 6.**" in text and "No." not in text  # the first paragraph
    assert asked.answer == "In 5 < 6.\n\nNo."
    leading = claim("a", "fails", question="q01", leads=True, reads="It fell by 3")
    rows = [leading, claim("b", question="q01")]
    rows = catalogue.claims_behind("q01", [entry(ID, *rows, claim("c"))])
    told = catalogue.render("rests_on", "q01", rows).strip().splitlines()
    assert len([line for line in told if line.startswith("* ")]) == 1  # it leads
    assert "* It fell by 3. <span" in told[0] and "5 of 5 runs" in told[0]
    assert 'scoreboard.html#question=q01">All 2 claims' in told[-1]


def test_every_claim_is_a_square_that_leads_to_its_page():
    few, exact = claim('b "<"', "holds, one seed", 2), claim("d", interval="exact")
    judged = claim("a"), few, claim("c", "not run", 0), exact
    page = entry(ID, *judged, claim("ours", "beyond the paper", extra=True))
    text = catalogue.render("squares", [page], "../")
    squares = BeautifulSoup(text, "html.parser").select("td a.square")
    assert squares[0]["href"] == f"../{ID}_words.html#claim-a"
    told = [a["title"].replace("\xa0", " ") for a in squares]
    assert told[:2] == ["a: holds, 5 of 5 runs", "d: holds, exact"]
    assert told[2:] == ['b "<": holds, one seed, 2 of 2 runs', "c: not run"]
    assert "\n\n" not in text.partition("<table")[2].strip()  # it would end the HTML
    assert text.startswith(
        "Of 4 claims: 2 hold, 1 rests on one or two runs, 1 is not run."
    )


def test_every_verdict_has_a_look_a_badge_and_a_place_in_the_legend():
    def drawn(sheet, name):
        found = re.findall(r"([^{}]+)\{", sheet)
        return [s for s in found if re.search(rf"[.]{re.escape(name)}(?![\w-])", s)]

    known = catalogue.templates().get_template("catalogue.md").module.LEGEND
    legend = {name for look in known for name in look.split()}
    every = [w + few + size for w in WORDS for few in FEW for size in ("", ", small")]
    for verdict in [*every, "not run"]:
        for name in css_classes(verdict).split():
            assert name in legend and drawn(STYLES, name), verdict
            assert name == "idle" or drawn(BADGES, name), verdict


def rows(text):
    return BeautifulSoup(text, "html.parser").select("table.board tbody tr")


def test_a_claim_keeps_its_anchor_and_its_words_and_findings_are_true():
    pair = [claim("a"), claim("b", "holds, one seed", 1)]
    ours = claim("c", "beyond the paper", extra=True)
    *one, last = rows(catalogue.render("scoreboard", [entry(ID, *pair, ours)], {}))
    two = rows(catalogue.render("scoreboard", [entry(ID, *pair[::-1])], {}))
    assert [row["id"] for row in one] == [row["id"] for row in two][::-1]
    assert one[0].select_one("q").get_text() == "it <is> so"
    assert one[0]["data-verdict"] == "holds"
    assert one[1]["data-evidence"] == "few"
    assert last.select_one("[data-name='Tested as']").get_text() == "c"
    assert (last["data-kind"], last.select_one("q")) == ("ours", None)


def test_the_book_as_it_is_has_one_anchor_per_claim_and_a_question_per_page():
    found = entries()
    of_papers = [one for one in found if one.paper in paper_titles()]
    text = catalogue.render("scoreboard", of_papers, {})
    ids = [row["id"] for row in rows(text)]
    every = [claim for one in of_papers for claim in one.closing["claims"]]
    assert len(ids) == len(set(ids)) == sum(not one["same_as"] for one in every)
    asked = {one.id.partition("/")[2] for one in found if one.paper == "questions"}
    assert {one["question"] for one in every} == asked | {""}
    assert all(one["question"] or one["extra"] for one in every if one["main"])


@pytest.fixture
def board(tmp_path):
    """A scoreboard of three claims as a page of its own, without the book's theme."""
    prieto = [claim("alpha", n=5, main=True), claim("beta", "fails", 3)]
    tiwari = claim("gamma delta", "fails, one seed", 1)
    found = [entry("prieto2025/fig01", *prieto), entry("tiwari2026/fig02", tiwari)]
    path = tmp_path / "board.html"
    head = f"<meta charset='utf-8'><style>{STYLES}</style>"
    path.write_text(head + catalogue.render("scoreboard", found, {}))
    return path


def seen(page):
    cells = page.locator("table.board tbody tr:visible [data-name='Tested as']")
    return [text.strip() for text in cells.all_text_contents()]


def test_filters_and_their_address(chromium, board):
    with shown(chromium, board, PHONE) as page:
        page.select_option("[name=verdict]", "fails")
        assert seen(page) == ["beta", "gamma delta"]
        page.select_option("[name=evidence]", "full")
        assert seen(page) == ["beta"]
        assert page.url.endswith("#verdict=fails&evidence=full")
        page.click("[type=reset]")
        page.fill("[name=words]", "Delta gamma")
        page.wait_for_function("location.hash === '#words=Delta+gamma'")
        assert seen(page) == ["gamma delta"]
        assert page.locator("output").text_content() == "1 of 3"
        assert page.complaints == []
    with shown(chromium, board, script=False) as page:
        assert len(seen(page)) == 3
        assert not page.locator("form").is_visible()


def test_an_address_filters_and_leads_to_a_claim_and_the_keyboard_sorts(
    chromium, board
):
    with shown(chromium, f"{board.as_uri()}#paper=prieto2025", DESKTOP) as page:
        assert seen(page) == ["alpha", "beta"]
        page.select_option("[name=paper]", "")
        button = page.get_by_role("button", name="n", exact=True)
        button.focus()
        page.keyboard.press("Enter")
        assert seen(page) == ["gamma delta", "beta", "alpha"]
        head = page.locator("th", has=button)
        assert head.get_attribute("aria-sort") == "ascending"
        assert page.complaints == []
    first = rows(board.read_text())[0]["id"]
    with shown(chromium, f"{board.as_uri()}#{first}") as page:
        assert page.locator("tr:target").get_attribute("id") == first


HOURS = {"a": 1.0, "b": 10.0, "c": 0.1, "x": 4.0, "y": 1.0, "?": math.inf}


def test_the_most_rows_an_hour_come_first():
    for rows, found in (
        # an arm that serves two rows, then what a third needs beside it
        (["a", "ab", "a", "c"], [("c", 1, 0.1), ("a", 2, 1.0), ("b", 1, 10.0)]),
        # two arms at once complete more an hour than the cheaper one first
        (["x", "xy", "xy"], [("xy", 3, 5.0)]),
        # nobody knows how long: last
        (["?", "?a", "b"], [("b", 1, 10.0), ("?a", 2, math.inf)]),
    ):
        steps = order.steps(map(frozenset, rows), HOURS)
        assert [("".join(sorted(r)), n, h) for r, n, h in steps] == found


def test_the_order_is_printed_as_commands(monkeypatch):
    arms = arm("A*", epochs=60), arm("b"), arm("done")
    plans = {
        "p/some": experiment(*arms, seeds=(42, 0, 1, 2), name="p/some"),
        "p/none": experiment(arm("c"), seeds=(1, 2, 3), name="p/none"),
        "p/few": experiment(arm("d"), seeds=(1, 2), name="p/few"),
    }
    hour = {"device": "cpu", "epochs": 30, "seconds": 3600.0}
    there = {f"done|{seed}": hour for seed in (42, 0, 1)} | {"b|0": hour}
    monkeypatch.setattr(papers, "get", lambda name, scale: plans[name])
    found = lambda plan: there if plan.name == "p/some" else {}  # noqa: E731
    monkeypatch.setattr(records, "recorded", found)
    some, b, done = "p/some|A*", "p/some|b", "p/some|done"
    rows = [[some, b], [b, done], [done], []]
    rows += [["p/none|c"], ["p/few|d"], ["p/some|gone"]]
    claims = [{"runs": runs} for runs in rows] + [{}]  # executed before runs were named
    assert list(order.lines([SimpleNamespace(claims=claims)])) == [
        "# 1 row: 2.00 core-hours, 2.0 so far",
        "grokbook run p/some --scale paper --record --seeds 42,1 --arms b",
        "# 1 row: 6.00 core-hours, 8.0 so far",
        "grokbook run p/some --scale paper --record --seeds 42,0,1 --arms 'A[*]'",
        "# 1 row: no estimate",
        "grokbook run p/none --scale paper --record --seeds 1,2,3 --arms c",
    ]
