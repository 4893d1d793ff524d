"""What the book says of all pages at once: findings, squares, scoreboard, gallery."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from browser import DESKTOP, PHONE, shown
from bs4 import BeautifulSoup
from docutils import nodes

from book._ext import titles
from book._ext.catalogue import findings, gallery, landing, matrix, scoreboard
from book._ext.catalogue.entries import Entry, entries, plain
from book._ext.catalogue.status import span
from grokbook.claims.verdict import VERDICTS, kind
from grokbook.errors import PageError
from grokbook.project import CLAIMS_MIME, PAPERS, home

ROOT = Path(__file__).parents[1]
STYLES = (ROOT / "book/_static/catalogue.css").read_text(encoding="utf-8")
BADGES = (ROOT / "book/_static/book.css").read_text(encoding="utf-8")


def claim(statement, verdict="reproduced", n=5, **more):
    found = {"statement": statement, "quote": "it <is> so", "where": "Section 1"}
    found |= {"ours": "4", "n": n, "interval": "3 to 5", "verdict": verdict}
    found |= {"main": False, "extra": False, "holds": verdict == "reproduced"}
    return found | more


def entry(page_id, *claims):
    carried = {"page": page_id, "verdict": claims[0]["verdict"], "claims": claims}
    output = nbformat.v4.new_output("display_data", {CLAIMS_MIME: carried})
    cells = [nbformat.v4.new_markdown_cell("# [A]{.kicker} It is *so*")]
    cells += [nbformat.v4.new_code_cell("sheet.closing()", outputs=[output])]
    source = home() / "book" / f"{page_id}_words.py"
    return Entry(page_id, source, nbformat.v4.new_notebook(cells=cells))


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    (tmp_path / "book").mkdir()
    return tmp_path / "book"


def tell(book, *rests, page="liu2026/fig01", **changes):
    """Write a landing.yml with one finding that rests on these lines."""
    told = {"title": "T", "thesis": "T"}
    finding = {"says": "It holds.", "page": page, "rests on": list(rests)}
    content = {"papers": dict.fromkeys(PAPERS, told), "findings": [finding]} | changes
    (book / "landing.yml").write_text(yaml.safe_dump(content))


def told(*claims):
    return findings.shown({"liu2026/fig01": entry("liu2026/fig01", *claims)})


def test_a_finding_has_its_page_its_badge_and_its_seeds(book):
    tell(book, {"holds": "a"}, {"fails": "b"})
    text = told(claim("a"), claim("b", "not seen, once, at reduced scale", n=1))
    assert "[It holds.](/liu2026/fig01_words.ipynb)" in text
    assert "verdict-reproduced" in text and "n\xa0=\xa05" in text
    assert ">not seen, once, at reduced scale<" in text and "n\xa0=\xa01" in text


@pytest.mark.parametrize(
    ("rest", "verdict", "said"),
    [
        (
            {"holds": "a"},
            "not reproduced",
            "'holds' of the claim 'a', and page liu2026",
        ),
        ({"holds": "a"}, "partly reproduced", "has 'partly reproduced': rewrite the"),
        ({"fails": "a"}, "seen once", "has 'seen once': rewrite the finding"),
        ({"fails": "a"}, "not run", "has 'not run': rewrite the finding"),
        ({"holds": "A"}, "reproduced", "not have, 'A': did you mean 'a'?"),
        ({"holds": "a", "page": "liu2026/x"}, "reproduced", "which there is not"),
    ],
)
def test_a_finding_that_the_record_contradicts_is_one_sentence(
    book, rest, verdict, said
):
    tell(book, rest)
    with pytest.raises(PageError) as error:
        told(claim("a", verdict))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"papers": {}},
        {"papers": dict.fromkeys(PAPERS, {"title": "T"})},
        {"findings": [{"says": "It is.", "rests on": []}]},
        {"findings": [{"says": "It is.", "page": "liu2026/fig01"}]},
        {"findings": [{"says": "", "page": "", "rests on": [{"held": "a"}]}]},
        {"findings": [{"says": "", "page": "", "rests on": [{"page": "a"}]}]},
    ],
)
def test_a_landing_file_that_lacks_something_is_one_sentence(book, changes):
    tell(book, **changes)
    with pytest.raises(PageError, match=r"^book/landing\.yml lacks [^\n]*$"):
        findings.landing()


@pytest.mark.parametrize("text", ["", "[", "- a", "papers: 1\nfindings: 2\n"])
def test_a_damaged_landing_file_is_one_sentence(book, text):
    (book / "landing.yml").write_text(text)
    with pytest.raises(PageError, match=r"^book/landing\.yml lacks [^\n]*$"):
        findings.landing()


def test_every_claim_is_a_square_that_leads_to_its_page(book):
    judged = [claim("a"), claim('b "<"', "seen once", 2), claim("c", "not run", 0)]
    page = entry(
        "liu2026/fig01", *judged, claim("ours", "beyond the paper", extra=True)
    )
    soup = BeautifulSoup(matrix.matrix([page], "../"), "html.parser")
    squares = soup.select("td a.square")
    assert {a["href"] for a in squares} == {"../liu2026/fig01_words.html#the-claims"}
    assert [a["tabindex"] for a in squares] == ["-1"] * 3
    assert [a["title"] for a in squares] == [
        "a: reproduced, n\xa0=\xa05",
        'b "<": seen once, n\xa0=\xa02',
        "c: not run",
    ]
    assert soup.select_one("th a")["href"] == "../liu2026/fig01_words.html"
    assert "\n\n" not in matrix.matrix([page])  # where Markdown would end the HTML


def rules(sheet, name):
    """The selectors of a style sheet that draw a class, its symbol among them."""
    found = re.findall(r"([^{}]+)\{", sheet)
    return [s for s in found if re.search(rf"[.]{re.escape(name)}(?![\w-])", s)]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_colour_and_a_symbol(verdict):
    if verdict == "not judged":  # in no page of the book: `smoke` proves nothing
        return
    looks = matrix.look({"verdict": verdict}).split()
    assert all(rules(STYLES, name) for name in looks)
    assert any("::before" in s for s in rules(STYLES, looks[0]))
    if verdict != "not run":  # a grey dot, as any badge is
        assert any("::before" in s for s in rules(BADGES, f"verdict-{kind(verdict)}"))


def test_looks_differ_by_outcome_seeds_and_scale():
    looks = {v: matrix.look({"verdict": v}) for v in VERDICTS}
    assert looks["reproduced"] == "holds"
    assert looks["not seen, once"] == "fails few"
    assert looks["not seen at reduced scale"] == "fails reduced"
    assert looks["seen once, at reduced scale"] == "holds few reduced"
    assert looks["partly seen at reduced scale"] == "partly reduced"
    shown_in_legend = {name for look, _ in matrix.LEGEND for name in look.split()}
    assert {name for look in looks.values() for name in look.split()} <= shown_in_legend


def test_a_verdict_without_a_style_is_one_sentence(book):
    with pytest.raises(PageError, match="^'nearly' is no verdict of the book"):
        matrix.matrix([entry("liu2026/fig01", claim("a", "nearly"))])


def test_counts_keep_verdicts_apart_from_what_was_seen_once(book):
    page = entry(
        "liu2026/fig01",
        *(claim("a"), claim("b", "not reproduced"), claim("c", "seen once", 1)),
        *(claim("d", "not run", 0), claim("e", extra=True)),
    )
    assert landing.so_far([page]) == (
        "Of 4 claims 2 have a verdict, and 1 of these hold; 1 were tried with fewer "
        "than three seeds, 1 not yet."
    )


def rows(text):
    return BeautifulSoup(text, "html.parser").select("table.board tbody tr")


def test_a_claim_keeps_its_anchor_and_its_words(book):
    pair = [claim("a"), claim("b", "seen once", 1)]
    one = rows(scoreboard.scoreboard([entry("liu2026/fig01", *pair)]))
    two = rows(scoreboard.scoreboard([entry("liu2026/fig01", *pair[::-1])]))
    assert [row["id"] for row in one] == [row["id"] for row in two][::-1]
    assert len({row["id"] for row in one}) == 2
    assert one[0].select_one("q").get_text() == "it <is> so"
    assert one[0]["data-verdict"] == "reproduced holds"
    assert one[1]["data-n"] == "few"


def test_what_is_beyond_the_papers_is_on_its_own_page(book):
    page = entry(
        "liu2026/fig01", claim("a"), claim("b", "beyond the paper", extra=True)
    )
    (judged,) = rows(scoreboard.scoreboard([page]))
    (ours,) = rows(scoreboard.beyond([page]))
    assert "b" not in judged.select_one("[data-name='Tested as']").get_text()
    assert ours.select_one("[data-name='Measured']").get_text() == "b"
    assert ours.select_one(".verdict") is None


def test_the_book_as_it_is_has_one_anchor_per_claim():
    found = [one for one in entries() if one.paper in PAPERS]
    text = scoreboard.scoreboard(found) + scoreboard.beyond(found)
    ids = [row["id"] for row in rows(text)]
    assert len(ids) == len(set(ids)) == sum(len(e.carried["claims"]) for e in found)
    findings.shown({one.id: one for one in found})


@pytest.fixture
def board(book, tmp_path):
    """A scoreboard of three claims as a page of its own, without the book's theme."""
    prieto = [claim("alpha", n=5, main=True), claim("beta", "not reproduced", 3)]
    tiwari = claim("gamma delta", "not seen, once", 1)
    found = [entry("prieto2025/fig01", *prieto), entry("tiwari2026/fig02", tiwari)]
    path = tmp_path / "board.html"
    style = f"<style>{STYLES}</style>"
    path.write_text(f"<meta charset='utf-8'>{style}{scoreboard.scoreboard(found)}")
    return path


def seen(page):
    return [
        text.strip()
        for text in page.locator(
            "table.board tbody tr:visible [data-name='Tested as']"
        ).all_text_contents()
    ]


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_filters_and_their_address(chromium, board, size):
    with shown(chromium, board, size) as page:
        assert seen(page) == ["alpha", "beta", "gamma delta"]
        page.select_option("[name=verdict]", "fails")
        assert seen(page) == ["beta", "gamma delta"]
        page.select_option("[name=n]", "enough")
        assert seen(page) == ["beta"]
        assert page.url.endswith("#verdict=fails&n=enough")
        page.click("[type=reset]")
        page.fill("[name=words]", "Delta gamma")
        page.wait_for_function("location.hash === '#words=Delta+gamma'")
        assert seen(page) == ["gamma delta"]
        assert page.locator("output").text_content() == "1 of 3"
        assert page.complaints == []
    address = f"{board.as_uri()}#paper=tiwari2026&verdict=not-seen-once"
    with shown(chromium, address, size) as page:
        assert seen(page) == ["gamma delta"]
        assert page.input_value("[name=paper]") == "tiwari2026"
        assert page.locator("tr:visible .verdict").bounding_box()["width"] > 50


def test_sorting_with_the_keyboard(chromium, board):
    with shown(chromium, board) as page:
        button = page.get_by_role("button", name="n", exact=True)
        button.focus()
        page.keyboard.press("Enter")
        assert seen(page) == ["gamma delta", "beta", "alpha"]
        head = page.locator("th", has=button)
        assert head.get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Enter")
        assert seen(page) == ["alpha", "beta", "gamma delta"]
        assert page.url.endswith("#sort=-5")
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") is None


def test_the_scoreboard_is_whole_without_javascript(chromium, board):
    with shown(chromium, board, script=False) as page:
        assert len(seen(page)) == 3
        assert not page.locator("form").is_visible()


def test_a_link_to_one_claim_shows_it(chromium, board):
    (first, *_) = rows(board.read_text())
    with shown(chromium, f"{board.as_uri()}#{first['id']}") as page:
        assert len(seen(page)) == 3
        assert page.locator("tr:target").get_attribute("id") == first["id"]


def drawn(*lefts, height=200, width=400):
    """Axes 150 wide and 140 high, with ticks and a title, at these places."""
    ink = np.zeros((height, width), bool)
    for left in lefts:
        ink[30:171, left : left + 2] = ink[169:171, left : left + 150] = True
        ink[5:15, left : left + 40] = True
    return ink


def test_a_thumbnail_ends_before_the_second_panel():
    left, top, right, bottom = gallery.panel(drawn(30, 230))
    assert left < 30 and top < 5
    assert 180 < right < 230
    assert 170 < bottom <= 200


def test_a_figure_without_axes_is_shown_from_its_top():
    ink = np.zeros((100, 400), bool)
    ink[40:50, 20:30] = True
    left, top, right, bottom = gallery.panel(ink)
    assert (left, top, bottom) == (16, 0, 100)
    assert right == 20 + int(gallery.WIDEST * 100)


def test_runs_are_counted_downwards():
    ink = np.array([[1, 0], [1, 1], [0, 1]], bool)
    assert gallery.runs(ink).tolist() == [[1, 0], [2, 1], [0, 2]]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (90, "90 s"),
        (600, "10 min"),
        (9000, "2.5 hours"),
        (2e6, "23 days"),
    ],
)
def test_durations_in_human_units(seconds, words):
    assert span(seconds) == words


def test_words_of_a_page_survive_markdown():
    assert plain("a_b | $x$ *y* <z>") == r"a\_b \| \$x\$ \*y\* \<z\>"


def test_titles_are_one_line_with_the_paper_first():
    def title():
        kicker = nodes.inline("", "A 2025 · Figure 1", classes=["kicker"])
        return nodes.title("", "", kicker, nodes.Text(" It is"))

    class Environment:
        titles = {"page": title(), "other": nodes.title("", "Glossary")}
        longtitles = {"page": title()}

    for _ in range(2):  # a second build finds what the first one left
        titles.one_line(None, Environment)
    assert Environment.titles["page"].astext() == "A 2025 · Figure 1: It is"
    assert Environment.longtitles["page"].astext() == "A 2025 · Figure 1: It is"
    assert Environment.titles["other"].astext() == "Glossary"
