"""One executed page as the generated pages name it, and the words and links they share.

Text of a page that goes into Markdown passes `plain`, into HTML `html.escape`.
"""

import re
from base64 import b64decode
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbformat import NotebookNode

from book._ext import notebooks, pages
from claimbook.claims import verdict
from claimbook.claims.verdict import WORDS, badge, outcome
from claimbook.errors import PageError
from claimbook.project import home, paper_titles, read_yaml

SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Entry:
    """A page with its executed twin."""

    id: str
    source: Path
    twin: NotebookNode

    @property
    def paper(self) -> str:
        """Its folder, one of `paper_titles()` unless the page is of no paper."""
        return self.id.partition("/")[0]

    @property
    def label(self) -> str:
        """`Figure 2` of prieto2025/fig02, `Causes` of liu2026/causes."""
        if not self.of_paper:
            return self.id.partition("/")[2].capitalize()
        return pages.name_of(self.id).replace(" ", SPACE)

    @cached_property
    def title(self) -> str:
        """What the page found, without what stands above it."""
        return notebooks.heading(self.twin)[1]

    @cached_property
    def carried(self) -> dict[str, Any]:
        """What its claims table carries."""
        return notebooks.claims_of(self.twin) or {"verdict": "not run", "claims": []}

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of the paper, without those that another page judges."""
        every = self.carried["claims"]
        return [c for c in every if not (c["extra"] or c["same_as"])]

    @property
    def board(self) -> list[dict[str, Any]]:
        """Its rows on the scoreboard: the claims, then our own measurements."""
        ours = [one for one in self.carried["claims"] if one["extra"]]
        return self.claims + [one for one in ours if not one["same_as"]]

    @cached_property
    def picture(self) -> bytes:
        """Its first plot as a PNG; empty where it has none."""
        for _, png in notebooks.outputs(self.twin, "image/png"):
            return b64decode(png)
        return b""

    @property
    def ranked(self) -> list[dict[str, Any]]:
        """Its claims, those that hold first."""
        return sorted(self.claims, key=lambda claim: rank(claim["verdict"]))

    @property
    def of_paper(self) -> bool:
        """Whether it is a figure or a table of its paper."""
        return not pages.is_beyond(self.id)

    @property
    def answer(self) -> str:
        """The sentences of the box at its head, an empty line between paragraphs."""
        (_, html), *_ = notebooks.outputs(self.twin, "text/html")
        paragraphs = re.findall("<p class='answer'>(.*?)</p>", html, re.S)
        return unescape("\n\n".join(paragraphs))

    @property
    def judged(self) -> str:
        """The verdict of its main claim as a badge; "" where it judges no claim."""
        return badge(self.carried["verdict"]) if self.claims else ""

    @cached_property
    def document(self) -> str:
        """Where the book keeps it, as Sphinx names it: `liu2026/fig01_precision`."""
        path = self.source.relative_to(home() / "book").with_suffix("")
        return path.as_posix()

    def address(self, claim: dict[str, Any]) -> str:
        """Where the page has a claim, from the root of the book."""
        return f"{self.document}.html#{quote(verdict.anchor(claim['id']))}"

    def link(self, text: str = "") -> str:
        """A link in Markdown from anywhere in the book."""
        return f"{{doc}}`{text or self.label} </{self.document}>`"


def entries() -> list[Entry]:
    """All pages; PageError names the first that was never executed."""
    return [Entry(i, p, notebooks.read_twin(p)) for i, p in pages.sources().items()]


def named(paper: str) -> str:
    """`prieto2025` -> `Prieto et al. 2025`, which no line breaks; `Start here`."""
    return re.sub("[()]", "", (paper_titles() | pages.CHAPTERS)[paper]).replace(
        " ", SPACE
    )


def support(claim: dict[str, Any]) -> str:
    """How much stands behind a claim: `4 of 5 runs`, `exact`; "" if it was not run."""
    if not claim["n"] or claim["interval"] == "exact":
        return "exact" if claim["n"] else ""
    if claim["n"] == 1:
        return "1 run"
    agree = claim["held"] or claim["n"]  # all of them where it fails
    return f"{agree:,} of {claim['n']:,} runs"


def rank(word: str) -> tuple[int, int]:
    """Its place in a list of verdicts: what holds first, and the surest of it."""
    return (*WORDS, "cannot-tell", "idle").index(outcome(word)), len(word)


def anchor(entry: Entry, claim: dict[str, Any]) -> str:
    """Where the scoreboard has a claim."""
    return f"{entry.id.replace('/', '-')}-{verdict.anchor(claim['id'])}"


def plain(text: object) -> str:
    """Text that Markdown leaves as it is, in a paragraph or in the cell of a table."""
    escaped = re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", str(text))
    return " ".join(escaped.split())


def stated(name: str, kind: type = dict) -> Any:
    """What a YAML file of the repository says."""
    if not (home() / name).is_file():
        raise PageError(f"{name} is missing: take it from git again")
    return deepcopy(read_yaml(home() / name, kind))


def update(path: Path, new: str) -> None:
    """Write a file if it is another; Sphinx reads again what is newer."""
    if not path.is_file() or path.read_text(encoding="utf-8") != new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
