"""Tables and sentences that a notebook shows, and one format for numbers."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from inspect import cleandoc
from typing import Any, TypeAlias

from claimbook import project


@dataclass
class Html:
    """HTML that a notebook shows, the same in words, and other forms by MIME type."""

    html: str
    text: str
    beside: dict[str, Any] = field(default_factory=dict)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": self.text, "text/html": self.html} | self.beside


Cell: TypeAlias = str | Html  # words, which are escaped, or HTML, which is not
Cells: TypeAlias = Sequence[Cell]


def grid(
    head: Cells, rows: Iterable[Cells], kind="settings", caption="", hidden=False
) -> Html:
    """A table; ``kind`` is its class, ``caption`` says what it is.

    A ``hidden`` caption is for screen readers alone, where a line above says the same.
    """

    def cells(row: Cells, tag: str, scope: str = "") -> str:
        raw = (one.html if isinstance(one, Html) else escape(one) for one in row)
        return "".join(f"<{tag}{scope}>{one}</{tag}>" for one in raw)

    look, every = " class='visually-hidden'" if hidden else "", [head, *rows]
    top = f"<caption{look}>{escape(caption)}</caption>" if caption else ""
    first = cells(head, "th", " scope='col'")
    top += f"<thead><tr>{first}</tr></thead>"
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in every[1:])
    words = ([c.text if isinstance(c, Html) else c for c in row] for row in every)
    text = "\n".join(map(" | ".join, words))
    return Html(f"<table class='{kind}'>{top}<tbody>{body}</tbody></table>", text)


def line(text: str, kind: str = "") -> Html:
    """One paragraph; ``kind`` is its class."""
    look = f" class='{kind}'" if kind else ""
    return Html(f"<p{look}>{escape(text)}</p>", text)


def fold(title: str, *parts: Html) -> Html:
    """Pieces under a title that unfolds them."""
    inner = joined(*parts, by="")
    html = f"<details><summary>{escape(title)}</summary>{inner.html}</details>"
    return Html(html, f"{title}\n{inner.text}")


def folded(
    title: str, head: Cells, rows: Iterable[Cells], *, below: str = "", **kind: str
) -> Html:
    """A table folded under its title, which may have a line ``below``."""
    table = grid(head, rows, caption=title, hidden=True, **kind)
    return fold(title, table, *([line(below)] if below else []))


def joined(*parts: Html, by: str = "\n") -> Html:
    """Pieces one below the other."""
    html, text = by.join(p.html for p in parts), "\n".join(p.text for p in parts)
    return Html(html, text, {k: v for part in parts for k, v in part.beside.items()})


class Prose(str):
    """Markdown that a notebook shows as text; the roles of MyST work in it."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/markdown": str(self)}


def prose(markdown: str) -> Prose:
    """Sentences into which a page put its numbers, without the source's indentation.

    A rerun leaves them out, since they were written for the book's own result.
    """
    return Prose("" if is_rerun() else cleandoc(markdown).strip())


def is_rerun() -> bool:
    """Whether this page reads other runs than the book's.

    `python -m book execute` with parameters says so of its kernel, and `evidence.Page`
    of its own process: no process that is started later takes it for one.
    """
    return project.is_retrained or os.environ.get("GROKBOOK_RERUN") == "1"


def number(value: float) -> str:
    """A number as all tables have it: with thousands separators, exponents short."""
    return re.sub(r"e([+-])0*", lambda e: "e" + e[1].strip("+"), f"{value:,g}")
