"""The whole book as a PDF: a headless Chromium prints the single file.

Only then is it known on which page a chapter begins. So the contents are printed once
more with nothing but those numbers, and laid over the first ones; bookmarks follow the
contents. `make pdf` builds the book before.
"""

import logging
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from pypdf import PdfReader, PdfWriter

from book._ext import citing, single
from grokbook.errors import GrokbookError
from grokbook.files import whole as replaced
from grokbook.project import home

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONGEST = 600  # seconds that one printing may take
OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--no-pdf-header-footer",  # the style sheet has the page numbers
    "--virtual-time-budget=600000",  # MathJax draws after the page is loaded
)


def browser() -> str:
    """The command of an installed Chromium; GrokbookError where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise GrokbookError(
            f"A PDF needs Chromium, and none of {', '.join(NAMES)} is installed: "
            "install one, then call 'make pdf' again"
        )
    return found


def printed(page: Path, target: Path) -> None:
    """Print one HTML file; GrokbookError where the browser fails or takes too long."""
    with tempfile.TemporaryDirectory(prefix="grokbook-") as profile:
        command = [browser(), *OPTIONS, f"--user-data-dir={profile}"]
        command += [f"--print-to-pdf={target}", page.as_uri()]
        try:
            run = subprocess.run(command, capture_output=True, timeout=LONGEST)
        except subprocess.TimeoutExpired as error:
            raise GrokbookError(
                f"Chromium has not printed {page} in {LONGEST} s: close what else "
                "runs on this machine and try again"
            ) from error
    if run.returncode or not target.is_file():
        said = run.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise GrokbookError(
            f"Chromium could not print {page}, try it by hand; it said: {said[-1]}"
        )


def numbers(reader: PdfReader) -> dict[str, int]:
    """The page on which each anchor of a PDF stands, counted from 1."""
    found = {}
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            found[name.removeprefix("/")] = number + 1
    return found


def bound(
    first: PdfReader, overlay: PdfReader, entries: list[single.Entry]
) -> PdfWriter:
    """The printed book with numbers over its contents, with bookmarks and a title.

    GrokbookError where the contents of both do not have as many pages.
    """
    found, writer = numbers(first), PdfWriter(clone_from=first)
    length = found[next(entry.page for entry in entries if entry.page)] - 1
    if len(overlay.pages) != length:
        raise GrokbookError(
            f"The contents take {length} pages in print and {len(overlay.pages)} with "
            "numbers: make both alike in book/_ext/print.css"
        )
    for page, numbered in zip(writer.pages, overlay.pages, strict=False):
        page.merge_page(numbered)
    bookmark: dict[int, Any] = {-1: None}
    for at, (level, page_name, title) in enumerate(entries):
        after = next(entry.page for entry in entries[at:] if entry.page)
        bookmark[level] = writer.add_outline_item(
            title=title,
            page_number=found[page_name or after] - 1,  # a part begins with its chapter
            parent=bookmark[level - 1],
            is_open=level == 0,
        )
    writer.add_metadata({"/Title": citing.book()["title"], "/Author": citing.author()})
    return writer


def make() -> Path:
    """Write _build/pdf/grokking-book.pdf from the built HTML."""
    browser()
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # Chromium miscounts objects
    folder = home() / "_build" / "pdf"
    folder.mkdir(parents=True, exist_ok=True)
    entries, articles = single.body()
    page, target = folder / "book.html", folder / "grokking-book.pdf"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        first, overlay = Path(scratch, "first.pdf"), Path(scratch, "overlay.pdf")
        page.write_text(single.whole(entries, articles), encoding="utf-8")
        printed(page, first)
        found = numbers(PdfReader(first))
        page.write_text(single.whole(entries, "", found), encoding="utf-8")
        printed(page, overlay)
        writer = bound(PdfReader(first), PdfReader(overlay), entries)
        with replaced(target) as temporary:
            writer.write(temporary)
    return target
