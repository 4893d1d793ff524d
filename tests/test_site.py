"""The rendered book, whole and for everybody: by ear, by keyboard, on a phone, offline.

axe-core looks at every page with every fold open, in light, and at one of each kind in
dark and 390 pixels wide too.
"""

import gzip
import io
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from browser import DESKTOP, PHONE, settled, shown
from bs4 import BeautifulSoup, NavigableString, Tag
from matplotlib.image import imread
from PIL import Image

from book._ext import checks, downloads, pages
from claimbook.project import paper_titles

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
NAMES = [re.sub(r"\.(ipynb|md)$", "", name) for name in checks.toc_files()]
NAMES += ["intro", "genindex", "search"]
NO_PROSE = {"pre", "code", "script", "style"}


pytestmark = pytest.mark.usefixtures("built")


@cache
def parsed(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path):
    return {tag.get("id") or tag.get("name") for tag in parsed(path).find_all(True)}


@cache
def book():
    """Every page of the rendered book, without the redirect at its root."""
    # Of no page: test_lectures looks at the decks, test_teaching at printed worksheets.
    other = ("_static/", "lectures/", "worksheets/")
    found = sorted(p for p in HTML.rglob("*.html") if not where(p).startswith(other))
    return [path for path in found if path != HTML / "index.html"]


def prose(tag):
    """The text of a part of a page, without code, formulas and scripts."""
    texts = []
    for child in tag.children:
        if type(child) is NavigableString:  # a comment is of a class of its own
            texts.append(str(child))
        elif isinstance(child, Tag) and not is_code(child):
            texts.append(prose(child))
    return " ".join(texts)


def is_code(tag):
    return tag.name in NO_PROSE or "math" in tag.get("class", [])


def rendered(page_id):
    source = pages.find(page_id).relative_to(ROOT / "book")
    return HTML / source.with_suffix(".html")


def where(page):
    return page.relative_to(HTML).as_posix()


def test_every_page_of_the_contents_is_rendered_and_no_other():
    assert {f"{name}.html" for name in NAMES} == set(map(where, book()))
    assert all(rendered(page_id).is_file() for page_id in pages.sources())


def test_the_table_of_all_runs_is_read_as_readme_says():
    (code,) = re.findall(
        r"^```python\n(import pandas.*?)^```",
        (ROOT / "README.md").read_text(),
        re.S | re.M,
    )
    code = code.replace("_build/downloads", str(HTML / "downloads"))
    exec(f"{code}medians = {code.splitlines()[-1]}", found := {})
    assert len(found["runs"]) > 4000 and found["medians"]["AdamW"] > 100
    told = json.loads((HTML / "downloads/croissant.json").read_text())
    (table,) = told["recordSet"]
    assert [field["name"] for field in table["field"]] == [*found["runs"]]


def test_links_images_and_scripts_lead_somewhere_inside_the_book():
    broken = []
    for page in book():
        for tag in parsed(page).find_all(["a", "img", "script", "link"]):
            target = tag.get("href") or tag.get("src") or ""
            if re.match(r"https?:", target) and tag.name == "a":
                continue
            if tag.name == "link" and tag.get("rel") == ["canonical"]:
                continue
            path, fragment = urldefrag(re.sub(r"\?[^#]*", "", target))
            file = (page.parent / unquote(path)).resolve() if path else page
            lost = not file.is_file()
            is_choice = "=" in fragment  # of the rows of the scoreboard
            if fragment and not is_choice and not lost and file.suffix == ".html":
                lost = unquote(fragment) not in anchors(file)
            if lost and not target.startswith("mailto:"):
                broken.append(f"{where(page)}: {target}")
    for sheet in HTML.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        asked = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\"')\s]+", text)
        broken += [f"{where(sheet)}: {one}" for one in asked]
    assert broken == []


def test_pages_are_without_markup_errors_and_steps_between_headings():
    raw = re.compile(
        r"\\(?:frac|sum|log|mathrm|mathcal|begin|perp|text|ell|ne|ge|le)\b"
        r"|\$[^$\n]{1,80}\$|\{(?:cite|numref|ref|term|eq|doc|math)[:\w]*\}|:::|``"
        r"|Traceback \(most recent"
    )
    poor = []
    for page in book():
        article = parsed(page).find("article") or parsed(page).find("main")
        levels = [int(tag.name[1]) for tag in article.select("h1,h2,h3,h4")]
        steps = zip(levels, levels[1:], strict=False)
        if levels[:1] != [1] or any(deeper > level + 1 for level, deeper in steps):
            poor.append(f"{where(page)}: headings {levels}")
        shown = article.select(".output.traceback, .output.stderr, .system-message")
        poor += [f"{where(page)}: {one.text}" for one in shown]
        for image in article.find_all("img"):
            alt = image.get("alt", "").strip()
            if not alt or alt.endswith((".png", ".svg")):
                poor.append(f"{where(page)}: no words for {image['src']}")
        poor += [f"{where(page)}: {one}" for one in raw.findall(prose(article))]
    assert poor == []


def test_a_page_has_numbered_plots_that_open_alone_handouts_and_sources():
    for page_id in pages.sources():
        page, path = parsed(rendered(page_id)), rendered(page_id)
        captions = page.select("figcaption .caption-number")
        numbers = [caption.get_text(strip=True) for caption in captions]
        assert numbers == [f"Plot {place}" for place in range(1, len(numbers) + 1)]
        for picture in page.select("article figure img[src$='.png']"):
            assert picture.find_parent("a")["href"] == picture["src"], page_id
            assert int(picture["width"]) >= 1200 and picture["height"]
            small = picture.find_previous_sibling("source")["srcset"]
            assert (path.parent / small).is_file(), page_id
        foot = page.select_one(".apparatus")
        offered = [path.parent / a["href"] for a in foot.select("a[download]")]
        for kind in downloads.KINDS:
            name = downloads.name_of(where(path).removesuffix(".html"), kind)
            assert HTML / "downloads" / name in {file.resolve() for file in offered}
        assert page.title.get_text().startswith(f"{pages.kicker(page_id)}: ")
        (about,) = page.select('head meta[property="og:title"]')
        assert about["content"].startswith(pages.kicker(page_id))
        if page_id.partition("/")[0] in paper_titles():
            assert "official code" in foot.text
            assert foot.a["href"].startswith("https://arxiv.org/abs/")
        assert "Version" in page.select_one("footer .extra_footer").text


def test_the_landing_page_and_the_lists_have_every_page_and_claim():
    article = parsed(HTML / "intro.html").find("article")
    of_papers = [i for i in pages.sources() if i.partition("/")[0] in paper_titles()]
    assert len(article.select(".matrix tr")) == len(of_papers)
    board = parsed(HTML / "generated/scoreboard.html").select(".board tbody tr")
    judged = sum(row["data-kind"] == "claim" for row in board)
    assert len(article.select(".matrix a.square[href][title]")) == judged
    found = article.select(".findings li")
    assert len(found) == sum(i.startswith("questions/") for i in pages.sources())
    assert all(o.select_one("a[href]") and len(o.text.split()) > 8 for o in found)
    small = [imread(HTML / o.select_one("img")["src"]).shape for o in found]
    assert all(180 <= wide <= 256 and high >= 90 for high, wide, *_ in small), small
    listed = [
        row
        for paper in paper_titles()
        for row in parsed(HTML / paper / "index.html").select(".thumbnails li")
        if row.select_one("a[href]")
    ]
    assert len(listed) == len(of_papers)
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    assert all(word in index for word in ("stablemax", "collaps", "scoreboard"))
    assert json.dumps("2025 · Figure 2: ")[1:-1] in index


A4 = (794, 1123)
NARROW = (320, 640)  # as wide as a window of 1,280 pixels is, magnified four times
# Colours are judged once in the book for each look (ink, ground, size, mode): a page of
# claims has some thousand cells of ten looks. The structure is judged on every page in
# light, and on a phone, where layout and frame are others, on one page of each kind.
KINDS = ("intro", "genindex", "search", "prieto2025/fig01_headline", "liu2026/index")
KINDS += ("glossary", "downloads", "explore", "generated/scoreboard")
JUDGED: set[str] = set()
AXE = """
const serious = one => ["serious", "critical"].includes(one.impact);
const COLOURS = ["color-contrast", "link-in-text-block"];
const isOn = rule => rule.enabled && !rule.tags.includes("experimental");
const STRUCTURE = axe._audit.rules.filter(rule => serious(rule) && isOn(rule))
  .map(rule => rule.id).filter(id => !COLOURS.includes(id));

/** The looks that are not known yet, each with two elements of the page. */
const newLooks = known => {
  const grounds = new Map([[null, ""]]), looks = new Map();
  const ground = one => {
    if (!grounds.has(one)) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(one);
      const own = [backgroundColor, backgroundImage, opacity].join();
      const clear = own === "rgba(0, 0, 0, 0),none,1";
      grounds.set(one, ground(one.parentElement) + (clear ? "" : own));
    }
    return grounds.get(one);
  };
  for (const one of document.body.querySelectorAll("*")) {
    const text = [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!text || !one.checkVisibility() || one.clientWidth === 1) continue;
    const {color, fontSize, fontWeight, textDecorationLine} = getComputedStyle(one);
    const around = one.matches("a") ? getComputedStyle(one.parentElement).color : "";
    const ink = [color, textDecorationLine, around, fontSize, fontWeight];
    const look = [...ink, ground(one)].join();
    const others = looks.get(look) ?? [];
    if (!known.has(look)) looks.set(look, [...others, one].slice(0, 2));
  }
  return looks;
};

/** Coloured code is half of a page, and has no structure. */
const flatten = samples => document.querySelectorAll("pre").forEach(block => {
  if (!samples.some(one => block.contains(one))) block.textContent = block.textContent;
});

const faultsOf = async (where, rules) => (
  await axe.run(where, {preload: false, resultTypes: ["violations"], runOnly: rules})
).violations.filter(serious).flatMap(one => one.nodes.map(node => [
  one.impact, one.id, node.target.join(" "), node.failureSummary].join(" ")));

/** What is wrong with colours, by theme, or with the structure; and the new looks. */
window.judge = async ({themes, judged}) => {
  const faults = [], looks = new Set(judged), samples = {};
  document.querySelectorAll("details").forEach(one => one.open = true);
  for (const theme of themes) {
    document.documentElement.dataset.theme = theme;
    const found = newLooks(looks);
    samples[theme] = [...found.values()].flat();
    found.forEach((_, look) => looks.add(look));
  }
  flatten(Object.values(samples).flat());
  for (const theme of themes) {
    if (!samples[theme].length) continue;
    document.documentElement.dataset.theme = theme;
    const found = await faultsOf({include: samples[theme]}, COLOURS);
    faults.push(...found.map(one => theme + ": " + one));
  }
  document.documentElement.dataset.theme = "light";
  faults.push(...await faultsOf(document, STRUCTURE));
  return [faults, [...looks]];
};
"""
STILL = "*, ::before { transition: none !important; animation: none !important; }"
WIDE = """() => {  // what sticks out, unless a box of its own scrolls or cuts it
  const held = one => one !== document.body && (
    /auto|scroll|hidden|clip/.test(getComputedStyle(one).overflowX)
    || held(one.parentElement));
  const out = one => one.getBoundingClientRect().right > innerWidth + 1;
  const all = [...document.querySelectorAll("main *")];
  return document.documentElement.scrollWidth > innerWidth + 1
    ? all.filter(one => out(one) && !held(one)).slice(0, 3)
        .map(one => one.outerHTML.slice(0, 120)) : null;
}"""


@pytest.fixture(scope="module")
def tab(chromium):
    """One tab for many pages: it reads the scripts that all pages share once."""
    with shown(chromium, HTML / "intro.html") as page:
        yield page


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_for_everybody(name, tab):
    """No violation, no error of a script, no request elsewhere, no sideways page."""
    page = tab
    page.complaints.clear()
    page.set_viewport_size(dict(zip(("width", "height"), DESKTOP, strict=True)))
    page.goto((HTML / f"{name}.html").as_uri())
    faults = []
    if page.locator("article .verdict-box").count():
        things = page.locator(".verdict-box, .stage, .cell_output img, table")
        box, figure = (things.nth(place).bounding_box() for place in (0, 1))
        if max(box["y"] + box["height"], figure["y"]) > 900:
            faults.append("the first screen has not all of the box, or no figure")
    faults += judged(page, ["light", "dark"])
    for width, height in (PHONE, NARROW):
        page.set_viewport_size({"width": width, "height": height})
        if width == PHONE[0] and name in KINDS:
            # the theme gives what scrolls a tab stop some time after a new size
            page.wait_for_timeout(400)
            faults += [f"phone: {one}" for one in judged(page, ["light"])]
        if (wide := page.evaluate(WIDE)) is not None:
            faults.append(f"{width} pixels: the page scrolls sideways, see {wide}")
    faults += [f"console: {said}" for said in dict.fromkeys(page.complaints)]
    assert not faults, f"{name}.html:\n" + "\n".join(faults)


def judged(page, themes):
    """The faults of a page that axe-core finds: of new looks, and of its structure."""
    page.add_style_tag(content=STILL)
    page.add_script_tag(content=f"(() => {{{AXE_SCRIPT}; {AXE}}})()")
    asked = {"themes": themes, "judged": list(JUDGED)}
    faults, looks = page.evaluate("asked => judge(asked)", asked)
    JUDGED.update(looks)
    return faults


FAULTS = {  # in a page: what axe-core says of it, in which theme
    "<button></button>": "critical button-name",
    "<p style='color: #eee; background: #fff'>pale</p>": "light: serious color-con",
    "<pre><span style='color: #222; background: #000'>1</span></pre>": "dark: serious",
    "<p style='color: #444; background: #fff'>some words <a href='#' style='color: "
    "#333; text-decoration: none'>and a link</a> unseen</p>": "link-in-text-block",
}


def test_each_kind_of_fault_is_found(tab):
    tab.goto((HTML / "genindex.html").as_uri())
    judged(tab, ["light", "dark"])
    tab.evaluate(
        "html => document.querySelector('article').innerHTML += html", "".join(FAULTS)
    )
    found = judged(tab, ["light", "dark"])
    assert all(any(words in one for one in found) for words in FAULTS.values()), found


FOCUS = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const inside = document.querySelector("main").contains(one);
  return inside && (ring || style.boxShadow !== "none") && box.width > 0;
}"""


def test_a_keyboard_is_enough(chromium):
    """The first stop skips the contents; each of the next is seen."""
    with shown(chromium, rendered("prieto2025/fig02")) as page:
        page.keyboard.press("Tab")
        skip = page.locator("#pst-skip-link a")
        assert skip.evaluate("one => one === document.activeElement")
        page.keyboard.press("Enter")
        for _ in range(25):
            page.keyboard.press("Tab")
            place = page.evaluate("document.activeElement.outerHTML.slice(0, 99)")
            assert page.evaluate(FOCUS), f"no focus to be seen at {place}"


def test_folds_tables_mathematics_and_the_definition_of_a_term(chromium):
    path = rendered("prieto2025/fig02")
    assert len(parsed(path).select(".math .katex")) == len(parsed(path).select(".math"))
    with shown(chromium, path) as page:
        assert page.locator(".katex .base").first.bounding_box()["height"] > 10
        assert page.evaluate("document.fonts.check('16px KaTeX_Math')")
        nameless = "[...document.querySelectorAll('summary')].filter("
        nameless += "one => !one.innerText.trim() && !one.ariaLabel).length"
        assert page.evaluate(nameless) == 0
        assert page.locator(".cell table:not(:has(caption))").count() == 0
        term = page.locator("a[aria-describedby^='define-term']").first
        box = page.locator(".definition")
        term.scroll_into_view_if_needed()
        settled(page)  # scrolling hides a definition
        term.hover()
        box.wait_for(state="visible")
        words = "rounding makes its loss exactly zero"
        assert words in box.inner_text().replace("\n", " ")
        page.keyboard.press("Escape")
        box.wait_for(state="hidden")
        page.keyboard.press("Tab")  # from now on the focus is that of a keyboard
        term.focus()
        box.wait_for(state="visible")


def test_a_picture_opens_over_its_page(chromium):
    with shown(chromium, rendered("prieto2025/fig02"), PHONE) as page:
        page.locator("a.enlarge").first.focus()
        page.keyboard.press("Enter")
        image = page.locator("dialog.lightbox img")
        assert image.bounding_box()["width"] >= 600 and image.get_attribute("alt")
        page.keyboard.press("Escape")
        image.wait_for(state="detached")
        assert page.evaluate("document.activeElement.className") == "enlarge"
        assert page.complaints == []
    with shown(chromium, rendered("liu2026/fig03")) as page:  # all of it is in view
        page.locator("a.enlarge").first.click()
        image = page.locator("dialog.lightbox img")
        image.wait_for()
        assert image.bounding_box()["height"] < page.viewport_size["height"]


def test_a_figure_is_dark_in_dark_mode(chromium):
    """Its ground is as dark as the page: no white box."""
    with shown(chromium, rendered("prieto2025/fig02"), dark=True) as page:
        figure = page.locator(".cell_output figure img").first
        figure.scroll_into_view_if_needed()
        picture = Image.open(io.BytesIO(figure.screenshot())).convert("L")
        assert picture.resize((1, 1)).getpixel((0, 0)) < 70


def test_a_page_is_light(chromium):
    """As a server sends it, text in gzip: the landing page, and one with formulas."""
    for name, most in ("intro", 400_000), ("prieto2025/fig03_stablemax", 600_000):
        sizes = []
        with shown(chromium, "about:blank") as page:
            page.on("response", lambda one: sizes.append(sent(one)))  # noqa: B023
            page.goto((HTML / f"{name}.html").as_uri(), wait_until="networkidle")
        assert 100_000 < sum(sizes) <= most


def sent(response):
    packed = response.url.endswith((".png", ".woff2"))
    return len(response.body() if packed else gzip.compress(response.body()))


def test_without_scripts_and_on_paper_a_page_can_be_read(chromium):
    path = rendered("prieto2025/fig02")
    with shown(chromium, path, script=False) as page:
        assert page.locator("article figure img").first.is_visible()
        fold = page.locator("article details").first
        fold.locator("summary").click()
        assert fold.get_attribute("open") is not None
    with shown(chromium, path, A4, dark=True) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("#pst-primary-sidebar").is_visible()
        ink = page.locator("article").first.evaluate("o => getComputedStyle(o).color")
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 100
        assert not page.locator("details.above-input").first.is_visible()
        first = page.locator(".cell_output figure").first.bounding_box()
        assert first["y"] + first["height"] < A4[1]
        closed = page.locator("details:not([open]) table.settings").first
        assert closed.bounding_box()["height"] > 20


FIRST = {  # a page <- what those write who look for it (book/_ext/search.js)
    "questions/q01_wait": "how long does it wait",
    "questions/q03_stablemax": "StableMax, does StableMax work",
    "questions/q04_rate_and_decay": "learning rate, lr",
    "questions/q05_layer_norm": "layer norm position, layernorm",
    "questions/q06_float32": "slingshot float64, slingshots fp64, catapult, "
    "are slingshots float32 artefacts",
    "questions/q09_remedy": "which remedy",
    "basics/grokking": "grokking definition",
    "prieto2025/index": "numerical stability",
    "singh2026/index": "inductive bias",
    "liu2026/index": "loss spikes",
    "tiwari2026/index": "radial suppression",
    "questions/q08_small_activations": "six-fold speed-up, tiwari speed-up",
    "prieto2025/fig02_softmax_collapse": "float16",
    "remedies/index": "regularization, regularisation",
    "prieto2025/fig16_temperature_smoothing": "label smoothing",
    "remedies/parity": "sparse parity",
    "tiwari2026/tab02_regularisers": "dropout",
    "singh2026/tab02_notation": "GELU",
    "downloads": "download notebooks",
}
TERMS = ("softmax collapse", "slingshot", "seed", "StableMax", "weight decay")
ASKED = """query => Search._performSearch(...Search._parseQuery(query))
  .reverse().slice(0, 2).map(([page]) => page)"""


def test_a_query_finds_its_page_first(chromium):
    with shown(chromium, HTML / "search.html") as page:
        page.wait_for_function("typeof Search !== 'undefined' && Search._index")
        for wanted, queries in FIRST.items():
            for query in queries.split(", "):
                found = page.evaluate(ASKED, query)
                assert [one for one in found if one != "glossary"][0] == wanted, query
        for term in TERMS:  # what a word means comes before the pages that use it
            assert page.evaluate(ASKED, term)[0] == "glossary", term
        assert page.complaints == []
    address = f"{(HTML / 'search.html').as_uri()}?q="
    with shown(chromium, f"{address}slingshot+nowhereatall") as page:  # of words, most
        page.wait_for_selector("#search-results li a")
    with shown(chromium, f"{address}constructor") as page:
        page.get_by_text("did not match any").wait_for()
    with shown(chromium, f"{address}slingshot+fp64") as page:
        page.wait_for_selector("#search-results li a")
        first = page.locator("#search-results li a").first
        assert "float32" in first.text_content()
