"""The rendered book for everybody: by ear, by keyboard, on a phone, on a slow line.

axe-core looks at every page as it is in light, in dark and 390 pixels wide, with every
fold open. What it finds is told with the page, the mode, the rule and the place, and
what to do. Without a Chromium these tests are skipped, and say so.
"""

import gzip
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import yaml
from axe_playwright_python.base import AXE_SCRIPT
from browser import DESKTOP, PHONE, settled, shown
from PIL import Image
from test_book import HTML, ROOT, book, built, parsed, rendered

from book._ext import pages

__all__ = ["built"]  # the fixture that builds what is stale

MODES = {  # in this order: each step changes what differs from the one before
    "light": ("light", DESKTOP),
    "dark": ("dark", DESKTOP),
    "phone": ("light", PHONE),
}
NARROW = (320, 640)  # as wide as a window of 1,280 pixels is, magnified four times
ALLOWED = 1_500_000  # bytes of the first page and all that it loads
# Colours are judged once for each look (ink, ground, size), in whatever mode it comes
# first: a page of claims has some thousand cells of ten looks. Of the structure only
# what hangs on colour or layout is judged again in another mode, and all of it on a
# phone where the page is the first of its kind, since there the frame is another.
LAYOUT = ["link-in-text-block", "scrollable-region-focusable"]
FRAMES = ("intro", "genindex", "search", "liu2026/index", "prieto2025/fig01_headline")
AXE = """async ({mode, rules}) => {
  document.querySelectorAll("details").forEach(one => one.open = true);
  // the theme gives what scrolls a tab stop some time after a new size
  if (mode !== "dark") await new Promise(done => setTimeout(done, 400));
  const judged = window.judged ??= new Set();
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
    const {color, fontSize, fontWeight} = getComputedStyle(one);
    const look = [color, fontSize, fontWeight, ground(one)].join();
    if (judged.has(look)) continue;
    looks.set(look, [...(looks.get(look) ?? []), one].slice(0, 2));
  }
  const found = [], samples = [...looks.values()].flat();
  const judge = async (where, which) => found.push(
    await axe.run(where, {preload: false, resultTypes: ["violations"], ...which}));
  if (mode === "dark") {
    await judge({include: [...samples, ...document.links]},
      {runOnly: ["color-contrast", "link-in-text-block"]});
  } else {
    await judge(document,
      rules ? {runOnly: rules} : {rules: {"color-contrast": {enabled: false}}});
    if (samples.length) await judge({include: samples}, {runOnly: ["color-contrast"]});
  }
  for (const look of looks.keys()) judged.add(look);
  return found.flatMap(one => one.violations)
    .filter(one => ["serious", "critical"].includes(one.impact))
    .flatMap(one => one.nodes.map(node => [
      one.impact, one.id, node.target.join(" "), node.failureSummary]));
}"""
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


def contents():
    """The pages that a reader can come to, without their suffix."""
    found = []

    def walk(part):
        if isinstance(part, list):
            for one in part:
                walk(one)
        elif isinstance(part, dict):
            found.extend(part[key] for key in ("root", "file") if key in part)
            walk([value for value in part.values() if isinstance(value, list)])

    walk(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    names = [re.sub(r"\.(ipynb|md)$", "", name) for name in found]
    return [*dict.fromkeys(names), "genindex", "search"]


def told(mode, found):
    """One line for each violation, so that a page with many can still be read."""
    impact, rule, place, summary = found
    advice = " ".join(summary.split()).removeprefix("Fix any of the following: ")
    return f"{mode}: {rule} ({impact}) at {place}: {advice}"


def violations(page, mode):
    theme, (width, height) = MODES[mode]
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    known = not page.url.endswith(tuple(f"/{one}.html" for one in FRAMES))
    rules = LAYOUT if mode == "phone" and known else None
    found = page.evaluate(AXE, {"mode": mode, "rules": rules})
    return [told(mode, one) for one in found]


def test_no_page_is_left_out():
    assert {f"{name}.html" for name in contents()} == {
        path.relative_to(HTML).as_posix() for path in book()
    }


@pytest.mark.parametrize("name", contents())
def test_page_is_for_everybody(name, chromium):
    """No violation, no error of a script, no request elsewhere, no sideways page."""
    with shown(chromium, HTML / f"{name}.html") as page:
        page.add_style_tag(content=STILL)
        page.evaluate(AXE_SCRIPT)
        faults = [fault for mode in MODES for fault in violations(page, mode)]
        for width, height in (PHONE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            if (wide := page.evaluate(WIDE)) is not None:
                faults.append(f"{width} pixels: the page scrolls sideways, see {wide}")
        faults += [f"console: {said}" for said in dict.fromkeys(page.complaints)]
    assert not faults, f"{name}.html:\n" + "\n".join(faults)


@pytest.fixture(scope="module")
def address():
    """The site as a host of static files serves it."""

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=HTML))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def weighed(chromium, address):
    """{path: bytes} of all that a browser asks for to show a page."""
    with shown(chromium, "about:blank") as page:
        found = []
        page.on("response", lambda one: found.append(one))
        page.goto(address, wait_until="networkidle")
        return {one.url.split("/", 3)[3]: len(one.body()) for one in found if one.ok}


def packed(path):
    """Bytes of a file as a host sends it: text compressed, pictures as they are."""
    whole = (HTML / path.split("?")[0]).read_bytes()
    text = path.split("?")[0].endswith((".html", ".css", ".js", ".svg"))
    return len(gzip.compress(whole, 6)) if text else len(whole)


def test_the_first_page_comes_soon(chromium, address):
    parts = weighed(chromium, f"{address}/intro.html")
    assert "intro.html" in parts and len(parts) > 5
    heavy = sorted(parts.items(), key=lambda part: -part[1])[:5]
    assert sum(parts.values()) < ALLOWED, f"first page too heavy: {heavy}"
    assert sum(map(packed, parts)) < ALLOWED / 3


@pytest.mark.parametrize("path", book(), ids=lambda path: path.stem)
def test_a_page_loads_maths_and_search_where_it_has_them(path):
    soup = parsed(path)
    loads = " ".join(tag["src"] for tag in soup.select("script[src]"))
    assert ("tex-svg" in loads) == bool(soup.select(".math"))
    assert ("searchindex" in loads) == (path.name == "search.html")
    assert "fontawesome" not in loads and "thebe" not in loads


def test_folds_say_what_is_inside():
    poor = []
    for page in book():
        article = article_of(page)
        titles = [fold.get_text(" ", strip=True) for fold in article.select("summary")]
        where = page.relative_to(HTML)
        poor += [f"{where}: fold '{t}' has another name" for t in named_apart(article)]
        poor += [f"{where}: fold without words" for t in titles if not t]
        poor += [f"{where}: '{t}'" for t in titles if "code cell" in t.lower()]
        poor += [
            f"{where}: '{t}' twice"
            for t in titles
            if titles.count(t) > 1 and t[:5] == "Code:"
        ]
    assert poor == []


def article_of(page):
    """What is between the bars of a page; the theme's page for searching has all."""
    return parsed(page).find("article") or parsed(page).find("main")


def named_apart(article):
    """Folds whose name for a screen reader is not the one that is seen."""
    found = article.select("summary[aria-label]")
    return [fold.get_text(" ", strip=True) for fold in found]


def test_tables_of_notebooks_have_a_caption_and_heads():
    poor = []
    for page in book():
        for table in parsed(page).select("table.claims, table.settings"):
            caption = table.find("caption")
            heads = table.select("thead th")
            if not caption or not caption.get_text(strip=True):
                poor.append(f"{page.relative_to(HTML)}: no caption: {table.text[:60]}")
            if not heads or any(not head.get("scope") for head in heads):
                poor.append(f"{page.relative_to(HTML)}: no scope: {table.text[:60]}")
    assert poor == []


def test_headings_go_down_one_step_at_a_time():
    poor = []
    for page in book():
        levels = [int(tag.name[1]) for tag in article_of(page).select("h1,h2,h3,h4")]
        steps = zip(levels, levels[1:], strict=False)
        if levels[:1] != [1] or any(deeper > level + 1 for level, deeper in steps):
            poor.append(f"{page.relative_to(HTML)}: {levels}")
    assert poor == []


def test_plots_are_numbered_page_by_page():
    for page_id in pages.sources():
        captions = parsed(rendered(page_id)).select("figcaption .caption-number")
        numbers = [caption.get_text(strip=True) for caption in captions]
        assert numbers == [f"Plot {place}" for place in range(1, len(numbers) + 1)]


def test_pictures_open_alone_and_are_sharp():
    """A link that needs no script, and two pixels for each of a page 720 wide."""
    for page_id in pages.sources():
        path = rendered(page_id)
        for picture in parsed(path).select("article figure img"):
            link = picture.find_parent("a")
            assert link is not None, f"{path.name}: {picture['src']} opens nothing"
            assert link["href"] == picture["src"]
            if picture["src"].endswith(".svg"):
                continue
            with Image.open(path.parent / link["href"]) as image:
                assert image.width >= 1200, f"{path.name}: {image.size}"
                size = str(image.width), str(image.height)
            assert (picture["width"], picture["height"]) == size


def test_addresses_elsewhere_are_whole():
    """Nothing is asked for; an address must be one that a browser can open."""
    address = re.compile(r"https?://[a-z0-9.-]+\.[a-z]{2,}(?:[/?#][^\s<>\"]*)?$")
    poor = {
        f"{page.relative_to(HTML)}: {tag['href']}"
        for page in book()
        for tag in parsed(page).find_all("a", href=True)
        if re.match(r"[a-z]+:", tag["href"]) and not address.match(tag["href"])
    }
    assert {one for one in poor if ": mailto:" not in one} == set()


FOCUS = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const seen = ring || style.boxShadow !== "none";
  return [one.outerHTML.slice(0, 120), seen, box.width > 0 && box.height > 0];
}"""


def test_a_keyboard_is_enough(chromium):
    """The first stop skips the contents; each of the next is seen."""
    with shown(chromium, rendered(next(iter(pages.sources())))) as page:
        page.keyboard.press("Tab")
        skip = page.locator("#pst-skip-link a")
        assert skip.evaluate("one => one === document.activeElement")
        settled(page)  # the link slides in
        assert skip.bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        for _ in range(25):
            page.keyboard.press("Tab")
            place, ring, box = page.evaluate(FOCUS)
            assert ring and box, f"no focus to be seen at {place}"
            inside = "document.querySelector('main').contains(document.activeElement)"
            assert page.evaluate(inside), f"the skip link leads before {place}"


def test_on_paper_a_page_is_its_article_on_white(chromium):
    with shown(chromium, HTML / "glossary.html", dark=True) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("#pst-primary-sidebar").is_visible()
        assert not page.locator(".bd-header-article").is_visible()
        article = page.locator("article").first
        ground = "one => getComputedStyle(document.body).backgroundColor"
        assert article.evaluate(ground) in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
        ink = article.evaluate("one => getComputedStyle(one).color")
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 100


def test_without_scripts_a_page_can_be_read(chromium):
    with shown(chromium, rendered(next(iter(pages.sources()))), script=False) as page:
        assert page.locator("article h1").is_visible()
        assert page.locator("article figure img").first.is_visible()
        assert page.locator(".pst-js-only:visible").count() == 0
        fold = page.locator("article details").first
        fold.locator("summary").click()
        assert fold.get_attribute("open") is not None
