"""How a written page is finished: what goes, what gets a name, how a picture opens."""

from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from book._ext import access

SCRIPTS = """<head>
<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>
<script src="../_static/doctools.js?v=9"></script>
<script>const THEBE_JS_URL = "https://unpkg.com/thebe"; const more = 1</script>
<script async="async" src="../_static/sphinx-thebe.js?v=c1"></script>
<script>window.MathJax = {"tex": {}}</script>
<script defer="defer" src="../_static/tex-svg-full.js?v=2"></script>
<script src="../_static/searchtools.js"></script>
<script src="../searchindex.js"></script>
</head>"""
CELL = """<div class="cell tag_hide-input docutils container">
<details class="admonition hide above-input">
<summary aria-label="Toggle hidden content">
<p class="collapsed admonition-title">Code: the table of sums</p>
<p class="expanded admonition-title">Hide code</p>
</summary></details>
<div class="cell_output docutils container">
<div class="output text_html"><table class='settings'><thead></thead></table></div>
</div></div>
<div class="cell tag_remove-input docutils container">
<div class="output text_html"><table class='settings'><thead></thead></table></div>
<div class="output text_html"><details><summary>All 9</summary><table
class='claims'><thead></thead></table></details></div></div>"""
FIGURE = """<article><figure class="align-default">
<img alt="one" src="../_images/a.png" />
</figure><img class="sd-card-img-top" src="../_images/b.png" alt="two" /></article>"""


def sources(html):
    soup = BeautifulSoup(html, "html.parser")
    return [tag.get("src", "inline") for tag in soup.find_all("script")]


def test_a_page_keeps_the_scripts_that_it_uses():
    assert sources(access.lighter(SCRIPTS)) == ["../_static/doctools.js?v=9"]
    searching = sources(access.lighter(SCRIPTS, searches=True))
    assert "../searchindex.js" in searching and len(searching) == 3
    formula = SCRIPTS + '<span class="math notranslate">x</span>'
    assert "../_static/tex-svg-full.js?v=2" in sources(access.lighter(formula))
    assert "inline" in sources(access.lighter(formula))


def test_tables_are_named_after_their_fold_or_their_code():
    soup = BeautifulSoup(access.named(CELL), "html.parser")
    captions = [table.caption for table in soup.find_all("table")]
    assert [c and c.text for c in captions] == ["the table of sums", None, "All 9"]
    assert not soup.select("summary[aria-label]")


def test_a_branch_of_the_contents_is_named_after_its_page():
    html = '<a href="x.html">Liu 2026</a><details><summary><span></span></summary>'
    assert '<summary aria-label="Pages of Liu 2026">' in access.named(html)


def test_a_picture_opens_alone_keeps_its_place_and_waits():
    html = access.sharper(FIGURE, lambda address: (1760, 792))
    first = BeautifulSoup(html, "html.parser").figure.img
    assert first.parent.name == "a" and first.parent["href"] == first["src"]
    assert (first["width"], first["height"]) == ("1760", "792")
    assert not first.get("loading")


def test_the_second_picture_waits_and_one_outside_of_a_figure_is_no_link():
    html = access.sharper(FIGURE, lambda address: (800, 500))
    second = BeautifulSoup(html, "html.parser").find_all("img")[1]
    assert second["loading"] == "lazy" and second.parent.name == "article"


@pytest.mark.parametrize("page", [SCRIPTS, CELL, FIGURE])
def test_finishing_twice_changes_nothing(page):
    def finished(html):
        return access.sharper(access.named(access.lighter(html)), lambda _: (8, 5))

    assert finished(finished(page)) == finished(page)


def test_plots_begin_with_one_on_every_page():
    figures = {"b": {"figure": {"last": (9,), "first": (7,)}}, "a": {"figure": {}}}
    builder = SimpleNamespace(env=SimpleNamespace(toc_fignumbers=figures))
    access.number_by_page(None, builder)
    assert figures["b"]["figure"] == {"first": (1,), "last": (2,)}
