"""A reader's browser without a network, over the rendered book.

Chromium as the system has it, driven by playwright, which brings none of its own here.
Where there is none, a test that asks for it is skipped, which CI forbids.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from skips import skip_without

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESKTOP, PHONE = (1440, 900), (390, 844)  # CSS pixels
LOCAL = ("file:", "data:", "blob:", "about:")


@contextmanager
def started() -> Iterator[Browser]:
    """A browser for many pages; starting one takes longer than showing a page."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        skip_without("Chromium", remedy="sudo apt-get install chromium")
    with sync_playwright() as driver:
        options = ["--disable-gpu", "--no-first-run", "--no-sandbox"]
        browser = driver.chromium.launch(executable_path=found, args=options)
        yield browser
        browser.close()


@contextmanager
def shown(
    browser: Browser,
    path: Path | str,
    size: tuple[int, int] = DESKTOP,
    *,
    dark: bool = False,
    script: bool = True,
) -> Iterator[Page]:
    """A page as one reader has it.

    ``page.complaints`` has what the console called an error, and every request for
    another machine, none of which is answered.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    page = context.new_page()
    page.complaints = complaints = []

    def refuse(route):
        complaints.append(f"asks for {route.request.url}")
        route.abort()

    page.route(lambda url: not url.startswith(LOCAL), refuse)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda s: s.type == "error" and complaints.append(s.text))
    page.goto(path.as_uri() if isinstance(path, Path) else path)
    try:
        yield page
    finally:
        context.close()


def settled(page: Page) -> None:
    """Wait until nothing on the page moves: no transition, no scrolling."""
    page.evaluate("""async () => {
      const frame = () => new Promise(requestAnimationFrame);
      let before;
      do {
        before = scrollY;
        await Promise.allSettled(document.getAnimations().map(one => one.finished));
        await frame(), await frame();
      } while (scrollY !== before);
    }""")
