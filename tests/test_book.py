"""The rendered book: what a reader's browser gets is whole, and needs no network.

`make test` builds the book first; run alone, these tests build it where it is older
than its sources.
"""

import fcntl
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browser import DESKTOP, PHONE, settled, shown
from bs4 import BeautifulSoup

from book._ext import downloads, handout, notebooks, pages, plain, sources
from grokbook.project import PAPERS

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
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several workers builds for all
        made = HTML / "objects.inv"  # every build writes it
        if made.is_file() and made.stat().st_mtime >= newest:
            return
        book = [Path(sys.executable).parent / "jupyter-book", "build", ROOT / "book"]
        book += ["--config", ROOT / "_config.yml", "--toc", ROOT / "_toc.yml"]
        book += ["--path-output", ROOT, "-W", "--keep-going"]
        for command in ([sys.executable, "-m", "book", "index"], book):
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
        article = parsed(HTML / "generated" / f"{name}.html").find("article")
        links = {urldefrag(a.get("href", ""))[0] for a in article.find_all("a")}
        for page_id in pages.sources():
            if name == "scoreboard" and page_id.partition("/")[0] not in PAPERS:
                continue  # the page that says what grokking is judges no paper of ours
            assert f"../{rendered(page_id).relative_to(HTML).as_posix()}" in links


def test_every_page_offers_its_handouts_and_its_records():
    for page_id, source in pages.sources().items():
        page = rendered(page_id)
        menu = parsed(page).select(".dropdown-download-buttons a")
        offered = {(page.parent / a["href"]).resolve() for a in menu}
        for kind in handout.KINDS:
            assert HTML / "downloads" / handout.name_of(page_id, kind) in offered
        cells = [c for c in parsed(page).select("td") if ".parquet (" in c.text]
        links = {a["href"] for cell in cells for a in cell.select("a[download]")}
        assert len(links) == len(cells), page_id
        read = {
            f"../downloads/records/{one['record']}.{one['scale']}.parquet"
            for one in notebooks.read_by(page_id, notebooks.read_twin(source))
        }
        assert links <= read and bool(links) == bool(read), page_id


def test_the_downloads_are_listed_and_there():
    listed = {a["href"] for a in parsed(HTML / "downloads.html").select("a[download]")}
    carried = {f"downloads/{name}" for name in downloads.carried()}
    assert carried - listed == {n for n in carried if n.startswith("downloads/ref")}
    assert listed <= carried
    assert [name for name in carried if not (HTML / name).is_file()] == []


def test_handouts_know_the_anchors_of_the_glossary():
    where = sources.Published(site="https://example.org")
    found = plain.Resolver("intro", sources.Sources(where=where))
    for term in found.sources.definitions:
        text = found.markdown(f"{{term}}`{term}`")
        assert text.partition("#")[2].rstrip(")") in anchors(HTML / "glossary.html")


def test_landing_page_has_every_page_and_claim():
    article = parsed(HTML / "intro.html").find("article")
    of_papers = [i for i in pages.sources() if i.partition("/")[0] in PAPERS]
    assert len(article.select(".matrix tr")) == len(of_papers)
    judged = len(parsed(HTML / "generated/scoreboard.html").select(".board tbody tr"))
    assert len(article.select(".matrix a.square[href][title]")) == judged
    found = article.select(".findings li")
    assert 5 <= len(found) <= 7
    assert all(
        one.select_one("a[href]") and one.select_one(".verdict") for one in found
    )


def test_chapters_list_all_figures_and_tables():
    listed = [
        row
        for paper in PAPERS
        for row in parsed(HTML / paper / "index.html").select("article tbody tr")
        if row.select_one("td .verdict")
    ]
    planned = pages.contents()
    papers = [i for i in pages.sources() if i.partition("/")[0] in PAPERS]
    beyond = [page_id for page_id in papers if page_id not in planned]
    assert len(listed) == len(planned) + len(beyond) == 61 + len(beyond)


def test_titles_name_the_paper_where_they_stand_alone():
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    for page_id in pages.sources():
        title = parsed(rendered(page_id)).title.get_text()
        assert title.startswith(f"{pages.kicker(page_id)}: "), page_id
        assert json.dumps(f"{pages.kicker(page_id)}: ")[1:-1] in index


@pytest.mark.parametrize(("size", "screens"), [(DESKTOP, 4), (PHONE, 9)])
def test_the_landing_page_is_short(chromium, size, screens):
    with shown(chromium, HTML / "intro.html", size) as page:
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height < screens * size[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert page.locator(".findings li").nth(4).bounding_box()["y"] < 1.5 * size[1]


def test_notebooks_can_be_downloaded():
    for page_id in pages.sources():
        links = [a.get("href", "") for a in parsed(rendered(page_id)).find_all("a")]
        found = {link for link in links if link.endswith(".ipynb")}
        (notebook,) = {link for link in found if "handouts" not in link}
        assert (rendered(page_id).parent / notebook).is_file()


def test_every_page_says_what_it_is_and_what_to_cite():
    described = {}
    for page in book():
        if page.stem in ("genindex", "search"):
            continue
        soup = parsed(page)
        (meta,) = soup.select('head meta[name="description"]')
        described[page] = meta["content"].strip()
        assert "@incollection" in soup.select_one("article .apparatus .cite pre").text
        assert "Version" in soup.select_one("footer .version").text
    assert all(described.values())
    for page_id in pages.sources():
        page = rendered(page_id)
        assert described[page].startswith(pages.kicker(page_id))
        assert "Main claim: " in described[page]
        if page_id.partition("/")[0] not in PAPERS:
            continue
        sources = parsed(page).select_one("article .apparatus .sources")
        assert "official code" in sources.text
        assert sources.a["href"].startswith("https://arxiv.org/abs/")
    of_pages = [described[rendered(page_id)] for page_id in pages.sources()]
    assert len(set(of_pages)) == len(of_pages)


def test_every_linked_term_has_its_definition_on_the_page():
    shown = 0
    for page in book():
        for link in parsed(page).select("a[aria-describedby]"):
            text = parsed(page).find(id=link["aria-describedby"])
            assert text is not None and text.text.strip(), f"{page}: {link}"
            shown += 1
    assert shown > 300


def test_a_definition_shows_at_its_term_and_goes_with_escape(chromium):
    path = rendered("prieto2025/fig02")
    with shown(chromium, path) as page:
        term = page.locator("a[aria-describedby^='define-term']").first
        box = page.locator(".definition")
        term.scroll_into_view_if_needed()
        settled(page)  # scrolling hides a definition
        term.hover()
        box.wait_for(state="visible")
        words = "rounding makes the loss of a sample exactly zero"
        assert words in box.inner_text().replace("\n", " ")
        page.keyboard.press("Escape")
        box.wait_for(state="hidden")
        page.keyboard.press("Tab")  # from now on the focus is that of a keyboard
        term.focus()
        box.wait_for(state="visible")
        page.keyboard.press("Tab")
        box.wait_for(state="hidden")
        page.locator(".cite summary").click()
        assert page.locator(".cite button.copybtn").count() == 2
        assert not [said for said in page.complaints if "THEBE" in said]


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
