"""How many runs a summary speaks of, held against the claims of the pages it links.

A summary is the front page of a chapter or of the book. Its sentences are typed, so
that a count of runs in one of them can outlive the claims that it was taken from.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from book._ext import notebooks, pages
from claimbook.errors import BookError, PageError, check_type, choose
from claimbook.project import home, paper_titles, read_yaml

WORDS = [
    *("no", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten"),
]
NUMBER = rf"({'|'.join(WORDS)}|\d+)"
COUNT = re.compile(rf"\b(?:{NUMBER} of )?{NUMBER} (?:seeds?|runs?)\b")
LINK = re.compile(r"\(([\w/.-]+)\.ipynb\)")


def faults() -> Iterator[str]:
    """Yield a sentence for each count of runs that no page behind a summary has."""
    book = home() / "book"
    for path in [*book.glob("intro.md"), *sorted(book.glob("*/index.md"))]:
        name = path.relative_to(book).as_posix()
        for part in parts(path.read_text(encoding="utf-8")):
            for words in untrue(part, claims_behind(path, part)):
                yield f"book/{name} says '{words}', and no page that it links has it"


def parts(text: str) -> list[str]:
    """Return the paragraphs and list items of a text, without tables and folds."""
    pieces = re.split(r"\n\s*\n|\n(?=\s*(?:\*|\d+\.) )", text)
    return [piece for piece in pieces if not piece.lstrip().startswith(("|", ":::"))]


def untrue(part: str, claims: Iterable[dict[str, Any]]) -> list[str]:
    """Return the counts of runs in a paragraph that none of some claims has.

    "Two of five runs" is that of a claim which holds in two of five, or fails in two;
    "five runs" is no more than the most of a claim. Without claims the list is empty.
    """
    counts = {(claim["held"], claim["n"]) for claim in claims}
    counts |= {(n - held, n) for held, n in counts}
    most = max((n for _, n in counts), default=0)
    untrue_counts = []
    for match in COUNT.finditer(" ".join(part.split())):
        some, total = (_number(word) for word in match.groups())
        is_true = (some, total) in counts if match[1] else total <= most
        if counts and not is_true:
            untrue_counts.append(match[0])
    return untrue_counts


def _number(word: str | None) -> int:
    return WORDS.index(word) if word in WORDS else int(word or 0)


def claims_behind(path: Path, part: str) -> list[dict[str, Any]]:
    """Return the claims of the pages that a paragraph of a summary links.

    If it links none, they are those of all pages in the folder of the summary, but none
    for the front page of the book.
    """
    # by what a link to it resolves to
    sources = {source.with_suffix(""): source for source in pages.sources().values()}
    links = [(path.parent / link).resolve() for link in LINK.findall(part)]
    chosen = [sources[link] for link in links if link in sources]
    if not chosen and path.parent != home() / "book":
        chosen = [source for source in sources.values() if source.parent == path.parent]
    return [claim for source in chosen for claim in _claims(source)]


def _claims(source: Path) -> list[dict[str, Any]]:
    """Return the claims of a page, none if its twin cannot be read.

    Of such a twin `checks` tells.
    """
    twin = source.with_suffix(".ipynb")
    if not twin.is_file():
        return []
    return _claims_at(source, twin.stat().st_mtime_ns)


@cache
def _claims_at(source: Path, _written: int) -> list[dict[str, Any]]:
    """Return the claims of a page whose twin was written at this time.

    A twin is so read once for every paragraph that links it, and again if it changes.
    """
    try:
        return notebooks.closing(notebooks.read_twin(source))["claims"]
    except PageError:
        return []


def landing_faults() -> Iterator[str]:
    """Yield a sentence for what is wrong with the theses of the landing page."""
    papers, name = paper_titles(), "book/landing.yml"
    try:
        entries = read_yaml(home() / name)
        if entries.keys() != papers.keys():
            yield f"{name} is not of the papers {', '.join(papers)}"
            return
        for paper, entry in entries.items():
            _check_entry(f"{name}, {paper}", entry)
            front = home() / "book" / paper / "index.md"
            for words in untrue(entry["thesis"], claims_behind(front, "")):
                yield f"{name}, {paper}, says '{words}', and no page has it"
    except BookError as error:
        yield str(error)


def _check_entry(where: str, entry: Any) -> None:
    """Raise BookError if something is wrong with the entry of a paper."""
    check_type(where, entry, dict[str, str])
    for key in entry:
        choose(f"key in {where}:", key, ("title", "thesis", "code"))
    for key in ("title", "thesis"):
        if key not in entry:
            raise PageError(f"{where} has no {key}: add it")
