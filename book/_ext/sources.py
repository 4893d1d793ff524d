"""What a handout takes from the rest of the book: terms, references, titles, addresses.

The glossary and the bibliography are read from their files, so that a handout can carry
the definitions and the entries that its page uses. The book has an address only if who
publishes it says so in the environment:

    GROKBOOK_SITE        where the rendered book is, https://name.github.io/book/
    GROKBOOK_REPOSITORY  its repository, https://github.com/name/book
    GROKBOOK_BRANCH      the branch that was built, main by default
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grokbook.errors import PageError
from grokbook.project import home


@dataclass(frozen=True)
class Published:
    """Where the book and its repository are; "" where nobody has said so."""

    site: str = ""
    repository: str = ""
    branch: str = "main"

    @property
    def github(self) -> str:
        """owner/name of a repository on GitHub, "" anywhere else."""
        found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)", self.repository)
        return found[1] if found else ""


def published(told: Mapping[str, str] = os.environ) -> Published:
    """What the environment says; PageError for an address that is none."""
    found = {}
    for name in ("site", "repository"):
        address = told.get(f"GROKBOOK_{name.upper()}", "").strip().rstrip("/")
        if address and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", address):
            raise PageError(
                f"GROKBOOK_{name.upper()} is {address!r}, which is no web address: "
                "give one that begins with https://, or none."
            )
        found[name] = address
    return Published(**found, branch=told.get("GROKBOOK_BRANCH") or "main")


@dataclass
class Sources:
    """Terms, references and addresses of the book in one folder."""

    book: Path = field(default_factory=lambda: home() / "book")
    where: Published = field(default_factory=published)

    def address(self, path: str) -> str:
        """The web address of a path in the rendered book, "" where it has none."""
        return f"{self.where.site}/{path}" if self.where.site else ""

    def term(self, name: str) -> str:
        """A term as the glossary writes it; PageError where it has none."""
        found = self._terms.get(" ".join(name.split()).lower())
        if found is None:
            raise PageError(
                f"The glossary has no term {name!r}: add it, or spell it so."
            )
        return found

    def definition(self, term: str) -> str:
        """What the glossary says of a term, in MyST."""
        return self.definitions[term]

    def cited(self, key: str) -> tuple[str, str, str]:
        """Names, year and address of a reference; PageError where there is none."""
        entry = self.reference(key)
        names = [" ".join(person.last_names) for person in entry.persons["author"]]
        many = names[0] if len(names) == 1 else f"{names[0]} et al."
        said = " and ".join(names) if len(names) == 2 else many
        return said, entry.fields["year"], entry.fields.get("url", "")

    def reference(self, key: str) -> Any:
        """A reference as pybtex reads it."""
        if key not in self.bibliography.entries:
            raise PageError(
                f"book/references.bib has no {key!r}: add it, or correct it."
            )
        return self.bibliography.entries[key]

    def entry(self, key: str) -> str:
        """A reference as one line of Markdown, as the bibliography has it."""
        self.reference(key)
        return self._entries[key]

    def title(self, path: str) -> str:
        """The title of a page of the book, by its path without ending."""
        for suffix in (".md", ".py"):
            if (file := self.book / f"{path}{suffix}").is_file():
                text = file.read_text(encoding="utf-8")
                found = re.search(
                    r"^(?:# )?# (?:\[.*?\]\{\.kicker\} )?(.+)$", text, re.M
                )
                if found:
                    return found[1]
        raise PageError(
            f"The book has no page {path!r} with a title: correct the link."
        )

    @cached_property
    def bibliography(self) -> Any:
        from pybtex.database import parse_file

        return parse_file(str(self.book / "references.bib"))

    @cached_property
    def definitions(self) -> dict[str, str]:
        """Term -> what the glossary says of it."""
        text = (self.book / "glossary.md").read_text(encoding="utf-8")
        body = re.search(r"^```\{glossary\}\n(.*?)^```$", text, re.M | re.S)
        found: dict[str, str] = {}
        names: list[str] = []
        for line in body[1].splitlines() if body else ():
            if line and not line.startswith(" "):
                names = names if names and names[-1] not in found else []
                names.append(line.strip())
            elif names:
                for name in names:
                    found[name] = f"{found.get(name, '')}{line.strip()}\n"
        return {name: words.strip() for name, words in found.items()}

    @cached_property
    def _terms(self) -> dict[str, str]:
        return {name.lower(): name for name in self.definitions}

    @cached_property
    def _entries(self) -> dict[str, str]:
        from pybtex.backends.markdown import Backend
        from pybtex.style.formatting.plain import Style

        entries = Style().format_entries(self.bibliography.entries.values())
        found = {one.key: one.text.render(Backend()) for one in entries}
        return {key: " ".join(text.split()) for key, text in found.items()}
