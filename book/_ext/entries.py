"""An executed page as the generated pages see it, and what their templates share.

Text of a page that goes into Markdown passes `plain`, into HTML `html.escape`. A
*claim* is one row of the JSON that the closing cell of a page stores, a dict with the
keys of `Claim.as_plain`.
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
from claimbook.project import home, read_yaml

SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Entry:
    """A page with its executed twin."""

    id: str
    source: Path
    twin: NotebookNode

    @property
    def paper(self) -> str:
        """Its folder: that of a paper, or of a chapter of ours, such as "questions"."""
        return self.id.partition("/")[0]

    @property
    def label(self) -> str:
        """Its short name: "Figure 2" for prieto2025/fig02, "Causes" for liu2026/causes.

        The blank is a no-break space.
        """
        if not self.of_paper:
            return self.id.partition("/")[2].capitalize()
        return pages.name_of(self.id).replace(" ", SPACE)

    @cached_property
    def title(self) -> str:
        """The finding of the page: its title without the kicker."""
        return notebooks.heading(self.twin)[1]

    @cached_property
    def closing(self) -> dict[str, Any]:
        """The JSON of its closing cell, see `notebooks.closing`."""
        return notebooks.closing(self.twin)

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of the paper, without those that another page judges."""
        return [claim for claim in self._own_rows if not claim["extra"]]

    @property
    def board(self) -> list[dict[str, Any]]:
        """Its rows on the scoreboard: the claims, then our own measurements."""
        return self.claims + [row for row in self._own_rows if row["extra"]]

    @property
    def _own_rows(self) -> list[dict[str, Any]]:
        return [row for row in self.closing["claims"] if not row["same_as"]]

    @cached_property
    def picture(self) -> bytes:
        """The PNG of its first plot; empty if the page has none."""
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
        """The answer in the box at its top, an empty line between paragraphs."""
        (_, html), *_ = notebooks.outputs(self.twin, "text/html")
        paragraphs = re.findall("<p class='answer'>(.*?)</p>", html, re.S)
        return unescape("\n\n".join(paragraphs))

    @property
    def judged(self) -> str:
        """The HTML badge of its main verdict; "" if it judges no claim."""
        return badge(self.closing["verdict"]) if self.claims else ""

    @cached_property
    def document(self) -> str:
        """Its name in Sphinx, such as "liu2026/fig01_precision"."""
        path = self.source.relative_to(home() / "book").with_suffix("")
        return path.as_posix()

    def address(self, claim: dict[str, Any]) -> str:
        """Return the address of a claim on the page, from the root of the book."""
        return f"{self.document}.html#{quote(verdict.anchor(claim['id']))}"

    def link(self, text: str = "") -> str:
        """Return a MyST link to the page, by default with its label as text."""
        return f"{{doc}}`{text or self.label} </{self.document}>`"


def entries() -> list[Entry]:
    """Return all pages in their order; PageError names the first without a twin."""
    return [Entry(i, p, notebooks.read_twin(p)) for i, p in pages.sources().items()]


def folder_name(folder: str) -> str:
    """Return `pages.folder_title` with no-break spaces: "Prieto et al. 2025"."""
    return pages.folder_title(folder).replace(" ", SPACE)


def support(claim: dict[str, Any]) -> str:
    """Return how many runs stand behind a verdict: "4 of 5 runs", "1 run" or "exact".

    They are the runs that agree with the verdict; the text is "" without a run.
    """
    if not claim["n"]:
        return ""
    if claim["interval"] == "exact":
        return "exact"
    if claim["n"] == 1:
        return "1 run"
    agreeing_count = claim["held"] or claim["n"]  # all of them where it fails
    return f"{agreeing_count:,} of {claim['n']:,} runs"


def rank(word: str) -> tuple[int, int]:
    """Return the sort key of a verdict: those that hold first, the surest of them.

    The surest is the shortest, as each restriction ("one seed", "small") adds words.
    """
    return (*WORDS, "cannot-tell", "idle").index(outcome(word)), len(word)


def anchor(entry: Entry, claim: dict[str, Any]) -> str:
    """Return the HTML id of a claim on the scoreboard."""
    return f"{entry.id.replace('/', '-')}-{verdict.anchor(claim['id'])}"


def plain(text: object) -> str:
    """Return a text on one line, with Markdown's signs escaped, also for a table."""
    escaped = re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", str(text))
    return " ".join(escaped.split())


def yaml_of(name: str, kind: type = dict) -> Any:
    """Return a copy of what a YAML file of the repository has, a ``kind`` of value.

    Raises PageError if the file is missing, and BookError if it cannot be read.
    """
    if not (home() / name).is_file():
        raise PageError(f"{name} is missing: take it from git again")
    return deepcopy(read_yaml(home() / name, kind))


def write_if_changed(path: Path, text: str) -> None:
    """Write a text file unless it has this text; Sphinx reads again what is newer."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
