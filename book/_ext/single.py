"""The book as one HTML file, made for paper from the pages that are built already.

Pages follow in the order of _toc.yml. Names of anchors get their page in front, links
between pages become links inside the file, folds are open. Code cells are left out: a
notebook has them, and printed they would be every other page.
"""

import posixpath
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

import yaml
from bs4 import BeautifulSoup, Tag

from book._ext import citing
from grokbook.errors import GrokbookError
from grokbook.project import home

FOR_SCREENS = {
    "downloads",
    *(f"generated/{n}" for n in ("gallery", "scoreboard", "beyond")),
}
DROPPED = "script, button, style, .headerlink, .definitions, .apparatus .cite, noscript"
DROPPED += ", details.hide.above-input, .jb-download, .explorable"
CONTENTS = "contents"
WIDE = 7  # columns of a table whose words may be broken


class Entry(NamedTuple):
    """A line of the contents: a page, or the caption of a part (page "")."""

    level: int
    page: str
    title: str


def built() -> Path:
    return home() / "_build" / "html"


def contents(toc: dict[str, Any]) -> Iterator[Entry]:
    """The pages of _toc.yml in order, without those that only a screen can show."""
    yield Entry(0, toc["root"], "")
    for part in toc["parts"]:
        yield Entry(0, "", part["caption"])
        yield from _pages(part["chapters"], 1)


def _pages(chapters: list[dict[str, Any]], level: int) -> Iterator[Entry]:
    for one in chapters:
        page = one["file"].removesuffix(".ipynb").removesuffix(".md")
        if page not in FOR_SCREENS:
            yield Entry(level, page, one.get("title", ""))
        yield from _pages(one.get("sections", []), level + 1)


def article(page: str, level: int, known: set[str]) -> Tag:
    """What a page says, its links and headings fit for the place in one file.

    GrokbookError where the page was not built.
    """
    path = built() / f"{page}.html"
    if not path.is_file():
        raise GrokbookError(f"{path} is missing: run 'make book' first")
    text = path.read_text(encoding="utf-8")
    begin, end = text.index("<article"), text.rindex("</article>")
    soup = BeautifulSoup(text[begin:end] + "</article>", "html.parser")
    for tag in soup.select(DROPPED):
        tag.decompose()
    for tag in soup.find_all("details"):
        tag["open"] = "open"
    for tag in soup.find_all("table"):
        if len(tag.tr.find_all(["th", "td"]) if tag.tr else []) >= WIDE:
            tag["data-wide"] = "yes"
    for tag in soup.find_all(True):
        _fit(tag, page, level, known)
    found = soup.article
    assert found is not None
    found["id"] = page
    return found


def _fit(tag: Tag, page: str, level: int, known: set[str]) -> None:
    for name in ("id", "for", "aria-labelledby", "aria-controls"):
        if tag.get(name):
            tag[name] = f"{page}--{tag[name]}"
    tag.attrs.pop("aria-describedby", None)
    if tag.name in ("h1", "h2", "h3", "h4", "h5"):
        tag.name = f"h{min(6, int(tag.name[1]) + max(0, level - 1))}"
    if tag.name == "img":
        tag.attrs.pop("loading", None)  # what is far below must be there too
        tag["src"] = _beside(page, str(tag["src"]))
    if tag.name == "a" and tag.get("href"):
        tag["href"] = _address(page, str(tag["href"]), known)
        if not tag["href"]:
            del tag["href"]


def _address(page: str, href: str, known: set[str]) -> str:
    """Where a link leads on paper: elsewhere, inside the file, or "" nowhere."""
    if ":" in href.partition("/")[0]:
        return href
    path, fragment = urldefrag(href)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
    target = target.removesuffix(".html") if path else page
    if target not in known:
        return ""
    return f"#{target}--{fragment}" if fragment else f"#{target}"


def _beside(page: str, source: str) -> str:
    """The address of an image, seen from _build/pdf."""
    if ":" in source.partition("/")[0]:
        return source
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(page), source))
    return f"../html/{inside}"


def head() -> str:
    """Style sheets of the book, MathJax with the book's macros, and ours for paper."""
    soup = BeautifulSoup((built() / "intro.html").read_text("utf-8"), "html.parser")
    tags = soup.select("head link[rel=stylesheet]")
    for script in soup.select("script"):
        if "MathJax" in script.text or "tex-svg" in str(script.get("src", "")):
            tags.append(script)
    for tag in tags:
        for name in ("href", "src"):
            if tag.get(name):
                tag[name] = f"../html/{tag[name]}"
    style = Path(__file__).with_name("print.css").read_text(encoding="utf-8")
    return "\n".join(map(str, tags)) + f"\n<style>\n{style}</style>"


def title_page() -> str:
    about = citing.book()
    date, commit = citing.built_from()
    version = [f"Version {about['version']}", citing.day(date), commit]
    return f"""<header class="title-page">
<img src="../html/_static/logo.svg" alt="">
<p class="title">{about["title"]}</p>
<p>{about["abstract"]}</p>
<p>{citing.author()}<br>{" · ".join(filter(None, version))}</p>
<p class="small">Text, code and records under the {about["license"]} licence. The code
of the pages, the gallery and the scoreboard are in the site and left out here.</p>
</header>"""


def listed(entries: list[Entry], numbers: dict[str, int]) -> str:
    """The contents, with the number of each page where it is known already."""
    lines = [f'<nav id="{CONTENTS}"><p class="title">Contents</p>']
    for level, page, title in entries:
        if not page:
            lines.append(f'<p class="level-0">{escape(title)}</p>')
            continue
        number = numbers.get(page, "")
        lines.append(
            f'<p class="level-{level}"><a href="#{page}"><span>{escape(title)}</span>'
            f"<span>{number}</span></a></p>"
        )
    return "\n".join([*lines, "</nav>"])


def body() -> tuple[list[Entry], str]:
    """Contents with every title filled in, and all articles."""
    toc = yaml.safe_load((home() / "_toc.yml").read_text(encoding="utf-8"))
    entries = list(contents(toc))
    known = {entry.page for entry in entries} - {""}
    full, articles = [], []
    for level, page, title in entries:
        if page:
            found = article(page, level, known)
            heading = found.find(["h1", "h2", "h3", "h4"])
            title = title or (heading.get_text(" ", strip=True) if heading else page)
            articles.append(str(found))
        full.append(Entry(level, page, title))
    return full, "\n".join(articles)


def whole(
    entries: list[Entry], articles: str, numbers: dict[str, int] | None = None
) -> str:
    """The file: title page, contents, all articles.

    With numbers everything but them is invisible, so that they can be laid over it.
    """
    kind = "numbers" if numbers else "book"
    return (
        '<!DOCTYPE html>\n<html lang="en" data-theme="light" data-mode="light" '
        f'class="{kind}">\n<head><meta charset="utf-8">'
        f"<title>{citing.book()['title']}</title>\n{head()}</head>\n<body>\n"
        f"{title_page()}\n{listed(entries, numbers or {})}\n{articles}\n"
        "</body>\n</html>\n"
    )
