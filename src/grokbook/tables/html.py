"""HTML that a notebook shows: the one place that writes a table, and one format for
numbers: 34,500, 0.001, 1e-8."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Html:
    """A piece of HTML that a notebook shows; its text form is the same in words.

    What other forms it has go into ``beside``, by MIME type.
    """

    def __init__(self, html: str, text: str):
        self.html, self.text = html, text
        self.beside: dict[str, Any] = {}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": self.text, "text/html": self.html} | self.beside


Cell = str | Html  # words, which are escaped, or HTML, which is not


def markup(
    head: Sequence[Cell],
    rows: Iterable[Sequence[Cell]],
    *,
    kind: str = "settings",
    caption: str = "",
    hidden: bool = False,
) -> str:
    """The HTML of a table; ``kind`` is its class, ``caption`` says what it is.

    A ``hidden`` caption is for screen readers alone, where a line above says the same.
    """

    def line(cells: Sequence[Cell], tag: str, scope: str = "") -> str:
        raw = [c.html if isinstance(c, Html) else escape(c) for c in cells]
        shown = "".join(f"<{tag}{scope}>{cell}</{tag}>" for cell in raw)
        return f"<tr>{shown}</tr>"

    look = " class='visually-hidden'" if hidden else ""
    top = f"<caption{look}>{escape(caption)}</caption>" if caption else ""
    first = line(head, "th", " scope='col'")
    top += f"<thead>{first}</thead>"
    body = "".join(line(row, "td") for row in rows)
    return f"<table class='{kind}'>{top}<tbody>{body}</tbody></table>"


def grid(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = ""
) -> Html:
    """A small table of plain words, the first line as its head."""
    text = "\n".join(" | ".join(row) for row in [head, *rows])
    return Html(markup(head, rows, caption=caption), text)


def folded(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, below: str = ""
) -> Html:
    """The same folded under its title: it is long, and the figure matters more."""
    html = markup(head, rows, caption=title, hidden=True)
    html += f"<p>{escape(below)}</p>" if below else ""
    text = "\n".join(filter(None, [title, grid(head, rows).text, below]))
    return Html(fold(title, html), text)


def fold(title: str, html: str) -> str:
    """HTML under a title that unfolds it."""
    return f"<details><summary>{escape(title)}</summary>{html}</details>"


def joined(*parts: Html) -> Html:
    """Pieces one below the other."""
    html, text = ("\n".join(getattr(p, k) for p in parts) for k in ("html", "text"))
    found = Html(html, text)
    for part in parts:
        found.beside |= part.beside
    return found


def number(value: float) -> str:
    """A number as all tables have it: with thousands separators, exponents short."""
    return re.sub(r"e([+-])0*", lambda e: "e" + e[1].strip("+"), f"{value:,g}")
