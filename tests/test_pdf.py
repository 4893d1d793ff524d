"""The book on paper: one file of all pages, printed whole, with numbered contents."""

import re
import shutil

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from book import __main__ as tools
from book._ext import pdf, single
from grokbook.errors import GrokbookError
from grokbook.project import home

PAGE = """<!DOCTYPE html><html><head>
<link rel="stylesheet" href="{up}_static/a.css"><script>alert(1)</script>
<script>window.MathJax = {{}}</script></head><body><nav>menu</nav>
<article class="bd-article"><h1 id="top">{title}<a class="headerlink" href="#top">#</a>
</h1>{body}</article></body></html>"""
ONE = """<p><a href="../glossary.html#term-gap" aria-describedby="x">gap</a>
<a href="../glossary.html">all</a> <a href="../generated/gallery.html">gallery</a>
<a href="#top">up</a> <a href="https://arxiv.org/abs/1">paper</a></p>
<img src="../_images/a%20b.png" loading="lazy" alt="A">
<details class="admonition hide above-input"><summary>Code</summary>x = 1</details>
<details><summary>Settings</summary>all of them</details>
<div class="definitions" hidden>twice</div>"""
TOC = """root: intro
parts:
  - caption: Papers & more
    chapters:
      - file: one2025/index
        title: One et al.
        sections: [{file: one2025/fig01.ipynb}]
  - caption: Reference
    chapters: [{file: generated/gallery}, {file: glossary}]
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A built book of four pages and a gallery."""
    real, pages = home(), tmp_path / "_build" / "html"
    (tmp_path / "_toc.yml").write_text(TOC)
    shutil.copy(real / "CITATION.cff", tmp_path)
    for name, title, body in (
        ("intro", "The Book", "<p>It begins.</p>"),
        ("one2025/index", "One", "<p>A chapter.</p>"),
        ("one2025/fig01", "A finding", ONE),
        ("glossary", "Glossary", '<dl><dt id="term-gap">gap</dt></dl>'),
    ):
        path = pages / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * name.count("/")
        path.write_text(PAGE.format(title=title, body=body, up=up))
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    return tmp_path


def test_all_pages_follow_in_the_order_of_the_contents(checkout):
    entries, text = single.body()
    assert entries == [
        (0, "intro", "The Book"),
        (0, "", "Papers & more"),
        (1, "one2025/index", "One et al."),
        (2, "one2025/fig01", "A finding"),
        (0, "", "Reference"),
        (1, "glossary", "Glossary"),
    ]
    soup = BeautifulSoup(text, "html.parser")
    pages = ["intro", "one2025/index", "one2025/fig01", "glossary"]
    assert [tag["id"] for tag in soup.find_all("article")] == pages
    assert [tag.name for tag in soup.find_all(re.compile("^h[1-6]$"))] == [
        "h1",
        "h1",
        "h2",
        "h1",
    ]


def test_every_page_of_the_real_contents_is_printed_but_those_for_screens():
    import yaml

    toc = (home() / "_toc.yml").read_text()
    listed = {re.sub(r"\.ipynb$", "", f) for f in re.findall(r"file: (\S+)", toc)}
    found = {entry.page for entry in single.contents(yaml.safe_load(toc))}
    assert found - {"", "intro"} == listed - single.FOR_SCREENS
    assert listed > single.FOR_SCREENS


def test_links_lead_inside_the_file_or_nowhere(checkout):
    soup = BeautifulSoup(single.body()[1], "html.parser")
    links = {tag.text: tag.get("href") for tag in soup.find_all("a")}
    assert links == {
        "gap": "#glossary--term-gap",
        "all": "#glossary",
        "gallery": None,
        "up": "#one2025/fig01--top",
        "paper": "https://arxiv.org/abs/1",
    }
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in links.values() if href and href[0] == "#"} <= set(ids)


def test_settings_are_open_and_code_is_left_out(checkout):
    text = single.body()[1]
    soup = BeautifulSoup(text, "html.parser")
    (fold,) = soup.find_all("details")
    assert fold.has_attr("open")
    assert "Settings" in fold.text
    for lost in ("x = 1", "menu", "headerlink", "twice", "alert", "describedby"):
        assert lost not in text
    assert soup.img["src"] == "../html/_images/a%20b.png"
    assert not soup.img.has_attr("loading")


@pytest.mark.parametrize(("columns", "wide"), [(6, False), (7, True)])
def test_words_are_broken_in_tables_of_many_columns_alone(checkout, columns, wide):
    path = checkout / "_build" / "html" / "intro.html"
    row = f"<table><tr>{'<th>n</th>' * columns}</tr></table>"
    path.write_text(path.read_text().replace("<p>It begins.</p>", row))
    assert ("data-wide" in single.body()[1]) == wide


def test_the_file_has_the_sheets_and_the_maths_of_the_book_alone(checkout):
    entries, text = single.body()
    soup = BeautifulSoup(single.whole(entries, text), "html.parser")
    assert [tag["href"] for tag in soup.find_all("link")] == ["../html/_static/a.css"]
    (script,) = soup.find_all("script")
    assert "MathJax" in script.text


def test_a_page_that_was_not_built_is_named(checkout):
    (checkout / "_build" / "html" / "glossary.html").unlink()
    with pytest.raises(GrokbookError, match=r"glossary.html is missing: run 'make bo"):
        single.body()


def test_without_chromium_one_sentence_says_so(checkout, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(checkout))
    assert tools.main(["pdf"]) == 1
    assert re.fullmatch(
        r"book: A PDF needs Chromium, and none of .+ is installed: .+\n",
        capsys.readouterr().err,
    )


def test_a_browser_that_fails_is_quoted(checkout, monkeypatch):
    fake = checkout / "chromium"
    fake.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(pdf, "browser", lambda: str(fake))
    with pytest.raises(GrokbookError, match="could not print .+ said: no display"):
        pdf.printed(checkout / "a.html", checkout / "a.pdf")


@pytest.mark.skipif(not any(map(shutil.which, pdf.NAMES)), reason="no Chromium")
def test_contents_name_the_pages_on_which_chapters_begin(checkout):
    reader = PdfReader(pdf.make())
    texts = [page.extract_text() for page in reader.pages]
    assert len(texts) == 6
    assert "Contents" in texts[1]
    assert texts[1].split()[-4:] == list("3456")  # laid over what was printed before
    begins = ("It begins", "A chapter", "A finding", "Glossary")
    assert all(map(str.__contains__, texts[2:], begins))
    marks = reader.outline
    assert [m.title for m in marks if not isinstance(m, list)] == [
        "The Book",
        "Papers & more",
        "Reference",
    ]
    assert reader.get_destination_page_number(marks[1]) == 3
    assert reader.metadata.author == "The Grokking Book authors"
    left = {path.name for path in (checkout / "_build" / "pdf").iterdir()}
    assert left == {"book.html", "grokking-book.pdf"}
