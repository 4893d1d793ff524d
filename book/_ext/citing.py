"""What is cited: the book (CITATION.cff), a page of it, its paper, the paper's code.

A paper's words and address are those of book/references.bib; the repository and the
commits of its official code are those that data/references/sources.csv was made from.
"""

import csv
import datetime
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from grokbook.errors import GrokbookError
from grokbook.project import home

ARXIV = "https://arxiv.org/abs/"


@dataclass(frozen=True)
class Sources:
    """Where a paper is to be had: ``repository`` is empty where it has no code."""

    arxiv: str  # 2501.04697
    repository: str  # github.com/owner/name
    commits: tuple[str, ...]  # whole, those that a page draws or those of its paper


@cache
def book() -> dict[str, Any]:
    """CITATION.cff as it stands: title, version, date-released, authors and more."""
    return yaml.safe_load((home() / "CITATION.cff").read_text(encoding="utf-8"))


def author() -> str:
    return " and ".join(one["name"] for one in book()["authors"])


@cache
def built_from() -> tuple[datetime.date, str]:
    """Date and short name of the commit that is built; "" without git."""
    command = ["git", "-C", str(home()), "log", "-1", "--format=%cs %h"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        date, commit = said.stdout.split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return book()["date-released"], ""
    return datetime.date.fromisoformat(date), commit


def day(date: datetime.date) -> str:
    """3 November 2026."""
    return f"{date.day} {date:%B %Y}"


def entry(key: str) -> str:
    """The BibTeX entry of a paper, as book/references.bib has it."""
    text = (home() / "book" / "references.bib").read_text(encoding="utf-8")
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.M | re.S)
    if not found:
        raise GrokbookError(f"book/references.bib has no entry '{key}': add it there")
    return found[0]


def sources(paper: str, page_id: str = "") -> Sources:
    """Address, repository and commits of a paper, those of one page if it has its own.

    GrokbookError where the paper's entry names no address on arXiv.
    """
    arxiv = re.search(rf"url = \{{{ARXIV}([\d.]+)\}}", entry(paper))
    if not arxiv:
        raise GrokbookError(
            f"The entry '{paper}' of book/references.bib has no arXiv address: give it "
            f"a line like url = {{{ARXIV}2501.04697}}"
        )
    path = home() / "data" / "references" / "sources.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [r for r in csv.DictReader(lines) if r["file"].startswith(f"{paper}/")]
    rows = [row for row in rows if row["repository"].startswith("github.com/")]
    own = rf"{re.escape(page_id)}(?!\d)"  # fig01 owns fig01.csv and fig01_printed.csv
    mine = [row for row in rows if page_id and re.match(own, row["file"])]
    commits = [one for row in mine or rows for one in row["commit"].split("; ")]
    order = sorted(dict.fromkeys(commits), key=commits.count, reverse=True)
    repository = rows[0]["repository"] if rows else ""
    return Sources(arxiv[1], repository, tuple(order if mine else order[:1]))


def bibtex(page: str, title: str, note: str = "", address: str = "") -> str:
    """An entry for one page; ``page`` is its path in the book, ``note`` its kicker."""
    about = book()
    date, commit = built_from()
    version = f"Version {about['version']}, {day(date)}"
    fields = {
        "author": f"{{{author()}}}",
        "title": f"{{{plain(title)}}}",
        "booktitle": about["title"],
        "year": str(date.year),
        "note": ", ".join(filter(None, [plain(note), version, commit])),
        "url": address,
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    key = "grokbook-" + re.sub(r"\W+", "-", page)
    return f"@incollection{{{key},\n" + ",\n".join(lines) + "\n}"


def plain(text: str) -> str:
    """Text with the letters escaped that mean something to BibTeX."""
    return re.sub(r"([&%#_$])", r"\\\1", text.replace("\\", "")).translate(BRACES)


BRACES = str.maketrans({"{": None, "}": None})
