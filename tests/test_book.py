"""The rendered book: what a reader's browser gets is whole, and needs no network.

`make test` builds the book first; run alone, these tests build it where it is older
than its sources.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browser import shown
from bs4 import BeautifulSoup

from grokbook.book import catalogue, pages

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
EXTERNAL = re.compile(r"^(https?:)?//")


@pytest.fixture(scope="module", autouse=True)
def built():
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml", *(ROOT / "book").rglob("*")]
    generated = ROOT / "book" / "generated"
    newest = max(
        path.stat().st_mtime
        for path in sources
        if path.is_file() and generated not in path.parents
    )
    index = HTML / "index.html"
    if not index.is_file() or index.stat().st_mtime < newest:
        catalogue.index()
        command = [Path(sys.executable).parent / "jupyter-book", "build", ROOT / "book"]
        command += ["--config", ROOT / "_config.yml", "--toc", ROOT / "_toc.yml"]
        command += ["--path-output", ROOT, "-W", "--keep-going"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]


@cache
def parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> set[str]:
    return {tag.get("id") or tag.get("name") for tag in parsed(path).find_all(True)}


def book() -> list[Path]:
    """Every page of the rendered book, without the redirect at its root."""
    found = sorted(p for p in HTML.rglob("*.html") if "_static" not in p.parts)
    return [path for path in found if path != HTML / "index.html"]


def rendered(page_id: str) -> Path:
    source = pages.find(page_id).relative_to(ROOT / "book")
    return HTML / source.with_suffix(".html")


def words(soup: BeautifulSoup) -> str:
    """The prose of a page: no code, no maths, no scripts."""
    article = BeautifulSoup(str(soup.find("article") or soup), "html.parser")
    for tag in article.select("pre, code, script, style, .math"):
        tag.decompose()
    return article.get_text(" ")


def test_every_page_of_the_contents_is_rendered():
    assert [i for i in pages.sources() if not rendered(i).is_file()] == []
    for name in ("intro", "reading-guide", "glossary", "bibliography"):
        assert (HTML / f"{name}.html").is_file()


def test_links_and_images_lead_somewhere():
    broken = []
    for page in book():
        for tag in parsed(page).find_all(["a", "img", "script", "link"]):
            target = tag.get("href") or tag.get("src") or ""
            if not target or re.match(r"^([a-z]+:|//)", target) or target == "#":
                continue
            path, fragment = urldefrag(target.split("?")[0])
            fragment = urldefrag(target)[1]
            file = (page.parent / unquote(path)).resolve() if path else page
            lost = not file.is_file()
            if fragment and not lost and file.suffix == ".html":
                lost = unquote(fragment) not in anchors(file)
            if lost:
                broken.append(f"{page.relative_to(HTML)}: {target}")
    assert broken == []


def test_images_have_alternative_text():
    poor = []
    for page in book():
        for image in parsed(page).find_all("img"):
            alt = image.get("alt", "").strip()
            if not alt or alt.endswith((".png", ".svg", ".jpg")):
                poor.append(f"{page.relative_to(HTML)}: {image.get('src')}")
    assert poor == []


def test_no_page_loads_anything_from_elsewhere():
    loads = []
    for page in book():
        for tag in parsed(page).find_all(["script", "link", "img", "iframe", "source"]):
            relations = tag.get("rel", [])
            if tag.name == "link" and {"canonical", "next", "prev"} & set(relations):
                continue
            target = tag.get("src") or tag.get("href") or ""
            if EXTERNAL.match(target):
                loads.append(f"{page.relative_to(HTML)}: {target}")
    for sheet in HTML.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        targets = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s]+)", text)
        loads += [
            f"{sheet.relative_to(HTML)}: {t}" for t in targets if EXTERNAL.match(t)
        ]
    assert loads == []


def test_no_markup_is_left_in_the_prose():
    raw = re.compile(
        r"\\(?:frac|sum|log|mathrm|mathcal|begin|perp|text|ell|ne|ge|le)\b"
        r"|\$[^$\n]{1,80}\$|\{(?:cite|numref|ref|term|eq|doc|math)[:\w]*\}|:::|``"
    )
    left = {p.name: raw.findall(words(parsed(p))) for p in book()}
    assert {name: found for name, found in left.items() if found} == {}


def test_no_page_shows_an_error_or_a_warning():
    for page in book():
        soup = parsed(page)
        assert soup.select(".output.traceback, .output.stderr, .system-message") == []
        assert "Traceback (most recent call last)" not in words(soup)


def test_generated_pages_list_every_page():
    for name in ("gallery", "scoreboard", "status"):
        soup = parsed(HTML / "generated" / f"{name}.html")
        links = {urldefrag(a.get("href", ""))[0] for a in soup.find_all("a")}
        for page_id in pages.sources():
            assert f"../{rendered(page_id).relative_to(HTML).as_posix()}" in links


def test_landing_page_lists_all_figures_and_tables():
    article = parsed(HTML / "intro.html").find("article")
    rows = [row for row in article.select(".sd-card tbody tr, details tbody tr")]
    assert len(rows) == len(pages.contents()) == 61
    assert all(row.select_one(".verdict") for row in rows)


def test_notebooks_can_be_downloaded():
    for page_id in pages.sources():
        links = [a.get("href", "") for a in parsed(rendered(page_id)).find_all("a")]
        (notebook,) = {link for link in links if link.endswith(".ipynb")}
        assert (rendered(page_id).parent / notebook).is_file()


def test_search_knows_the_words_of_the_book():
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    assert all(word in index for word in ("stablemax", "collaps", "scoreboard"))


@pytest.mark.parametrize("page_id", pages.sources())
def test_verdict_and_figure_are_on_the_first_screen(page_id, chromium):
    """The box whole, and half of the first figure (or table) at least."""
    with shown(chromium, rendered(page_id)) as page:
        found = page.locator("article").locator(".verdict-box, .cell_output img, table")
        assert found.nth(0).get_attribute("class") == "verdict-box"
        box, figure = found.nth(0).bounding_box(), found.nth(1).bounding_box()
    assert box["y"] + box["height"] < 900
    assert figure["y"] + figure["height"] / 2 < 900


def test_a_browser_without_network_draws_maths_and_figures(chromium):
    mathematical = [
        path for i in pages.sources() if parsed(path := rendered(i)).select(".math")
    ]
    path = (mathematical or [HTML / "glossary.html"])[0]
    with shown(chromium, path) as page:
        page.wait_for_selector("mjx-container")
        page.wait_for_function("MathJax.startup.promise.then(() => true)")
        drawn = page.locator("mjx-container").count()
        assert drawn >= len(parsed(path).select(".math")) > 0
        assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
        if mathematical:
            assert page.locator("article img").count()
