"""One executed page as the generated pages name it, and the words and links they share.

Text of a page that goes into Markdown passes `plain`, into HTML `html.escape`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book._ext import notebooks, pages
from grokbook.claims.verdict import VERDICTS, badge
from grokbook.errors import PageError
from grokbook.project import FOLDERS, PAPERS, home

if TYPE_CHECKING:
    from nbformat import NotebookNode

Claims = list[dict[str, Any]]
SECTION = "the-claims"  # the heading of a page under which its claims stand


@dataclass(frozen=True)
class Entry:
    """A page with its executed twin."""

    id: str
    source: Path
    twin: NotebookNode

    @property
    def paper(self) -> str:
        """Its folder, one of `PAPERS` unless the page is of no paper."""
        return self.id.partition("/")[0]

    @property
    def label(self) -> str:
        return label(self.id)

    @cached_property
    def title(self) -> str:
        """What the page found, without what stands above it."""
        return notebooks.heading(self.twin)[1]

    @cached_property
    def carried(self) -> dict[str, Any]:
        """What its claims table carries."""
        return notebooks.claims_of(self.twin) or {"verdict": "not run", "claims": []}

    @property
    def verdict(self) -> str:
        """That of its main claim."""
        return self.carried["verdict"]

    @cached_property
    def claims(self) -> Claims:
        """The claims of the paper."""
        return [claim for claim in self.carried["claims"] if not claim["extra"]]

    @cached_property
    def beyond(self) -> Claims:
        """What it measures beyond the paper."""
        return [claim for claim in self.carried["claims"] if claim["extra"]]

    @property
    def tally(self) -> str:
        """How many of the paper's claims hold: "23 of 29"."""
        judged = [claim for claim in self.claims if claim["n"]]
        return f"{sum(claim['holds'] for claim in judged)} of {len(judged)}"

    @cached_property
    def document(self) -> str:
        """Where the book keeps it, as Sphinx names it: `liu2026/fig01_precision`."""
        path = self.source.relative_to(home() / "book").with_suffix("")
        return path.as_posix()

    def link(self, text: str | None = None) -> str:
        """A link in Markdown from anywhere in the book."""
        return f"{{doc}}`{text or self.label} </{self.document}>`"

    def address(self, up: str = "") -> str:
        """Its HTML file, from a page of the book ``up`` from its root ("../")."""
        return f"{up}{self.document}.html"


def entries() -> list[Entry]:
    """All pages; PageError names the first that was never executed."""
    found = []
    for page_id, path in pages.sources().items():
        twin = notebooks.read_twin(path)
        if twin is None:
            raise PageError(
                f"Page {page_id} was never executed: "
                f"run 'python -m book execute {page_id}'."
            )
        found.append(Entry(page_id, path, twin))
    return sorted(found, key=lambda entry: FOLDERS.index(entry.paper))


def label(page_id: str) -> str:
    """`prieto2025/fig02` -> `Figure 2`; `liu2026/causes` -> `Causes`."""
    if pages.is_beyond(page_id):
        return page_id.partition("/")[2].capitalize()
    return pages.name_of(page_id).replace(" ", "\N{NO-BREAK SPACE}")


def named(paper: str) -> str:
    """`prieto2025` -> `Prieto et al. 2025`, which no line breaks; else `Start here`."""
    name = re.sub("[()]", "", PAPERS.get(paper, pages.START))
    return name.replace(" ", "\N{NO-BREAK SPACE}")


def anchor(entry: Entry, claim: dict[str, Any]) -> str:
    """The id of a claim: it stays while its page, its words and its test do."""
    words = f"{claim['statement']}|{claim['quote']}"
    digest = sha256(words.encode()).hexdigest()[:8]
    return f"{entry.id.replace('/', '-')}-{digest}"


def evidence(claim: dict[str, Any]) -> str:
    """How much stands behind a claim: `n = 5`, `exact`; "" where it was not run."""
    if not claim["n"]:
        return ""
    return (
        "exact"
        if claim["interval"] == "exact"
        else f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{claim['n']:,}"
    )


def counts(claims: Iterable[dict[str, Any]]) -> str:
    """How often each verdict comes: `12 × reproduced`, as badges in one line."""
    found = Counter(claim["verdict"] for claim in claims)
    shown = (f"{found[v]}&nbsp;×&nbsp;{badge(v)}" for v in VERDICTS if found[v])
    return " &ensp; ".join(shown)


def plain(text: object) -> str:
    """Text that Markdown leaves as it is, in a paragraph or in the cell of a table."""
    escaped = re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", str(text))
    return " ".join(escaped.split())


def table(head: Sequence[str], rows: Iterable[str]) -> list[str]:
    """A table in Markdown; each row is its cells joined by ` | `."""
    lines = (f"| {row} |" for row in rows)
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *lines]
