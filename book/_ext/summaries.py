"""What a summary tells of how many runs, held against the rows of the pages it links.

A summary is the front page of a chapter or of the book. Its sentences are typed, so
that a count of runs in one of them can outlive the rows that it was taken from.
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
    """Counts of runs that no page behind a summary has: one sentence each."""
    book, every = home() / "book", _by_link()
    for path in [*book.glob("intro.md"), *sorted(book.glob("*/index.md"))]:
        name = path.relative_to(book).as_posix()
        for part in parts(path.read_text(encoding="utf-8")):
            for words in untrue(part, rows_behind(path, part, every)):
                yield f"book/{name} says '{words}', and no page that it links has it"


def parts(text: str) -> list[str]:
    """The paragraphs and the points of lists of a text, tables and folds apart."""
    found = re.split(r"\n\s*\n|\n(?=\s*(?:\*|\d+\.) )", text)
    return [part for part in found if not part.lstrip().startswith(("|", ":::"))]


def untrue(part: str, rows: Iterable[dict[str, Any]]) -> list[str]:
    """The counts in a paragraph that none of some rows has.

    "Two of five runs" is that of a row which holds in two of five, or fails in two;
    "five runs" is no more than the most of a row.
    """
    known = {(row["held"], row["n"]) for row in rows}
    known |= {(n - held, n) for held, n in known}
    most = max((n for _, n in known), default=0)
    found = []
    for match in COUNT.finditer(" ".join(part.split())):
        some, every = (_number(word) for word in match.groups())
        is_told = (some, every) in known if match[1] else every <= most
        if known and not is_told:
            found.append(match[0])
    return found


def _number(word: str | None) -> int:
    return WORDS.index(word) if word in WORDS else int(word or 0)


def _by_link() -> dict[Path, Path]:
    """The sources of all pages, by what a link to one resolves to."""
    return {file.with_suffix(""): file for file in pages.sources().values()}


def rows_behind(
    path: Path, part: str, every: dict[Path, Path] | None = None
) -> list[dict[str, Any]]:
    """The rows of the pages that a paragraph links; without a link, of its chapter.

    ``every`` is what `_by_link` returns, for who asks for many paragraphs.
    """
    every, book = every or _by_link(), home() / "book"
    links = [(path.parent / link).resolve() for link in LINK.findall(part)]
    chosen = [every[link] for link in links if link in every]
    if not chosen and path.parent != book:
        chosen = [file for file in every.values() if file.parent == path.parent]
    return [row for file in chosen for row in _rows_of(file, _written(file))]


def _written(file: Path) -> int:
    """When the executed twin of a page was written, in nanoseconds; 0 without one."""
    twin = file.with_suffix(".ipynb")
    return twin.stat().st_mtime_ns if twin.is_file() else 0


@cache
def _rows_of(file: Path, _written: int) -> list[dict[str, Any]]:
    """The rows of a page, read once for every paragraph that links it.

    A page whose twin cannot be read has none; `checks` tells of it.
    """
    try:
        carried = notebooks.claims_of(notebooks.read_twin(file))
    except PageError:
        return []
    return carried["claims"] if carried else []


def landing_faults() -> Iterator[str]:
    """What is wrong with the theses of the landing page: one sentence each."""
    papers, place = paper_titles(), "book/landing.yml"
    try:
        told = read_yaml(home() / place)
        if told.keys() != papers.keys():
            yield f"{place} is not of the papers {', '.join(papers)}"
            return
        for paper, entry in told.items():
            _check_thesis(f"{place}, {paper}", entry)
            thesis = entry["thesis"]
            for words in untrue(thesis, rows_behind(home() / "book" / paper / "_", "")):
                yield f"{place}, {paper}, says '{words}', and no page has it"
    except BookError as error:
        yield str(error)


def _check_thesis(where: str, entry: Any) -> None:
    """Raise BookError if something is wrong with the entry of one paper."""
    check_type(where, entry, dict[str, str])
    for key in entry:
        choose(f"key in {where}:", key, ("title", "thesis", "code"))
    for key in ("title", "thesis"):
        if key not in entry:
            raise PageError(f"{where} has no {key}: add it")
