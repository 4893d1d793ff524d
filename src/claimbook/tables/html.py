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
    """HTML that a notebook shows, with the same content as plain text.

    ``beside`` has further forms of the content by MIME type.
    """

    html: str
    text: str
    beside: dict[str, Any] = field(default_factory=dict)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": self.text, "text/html": self.html} | self.beside


Cell: TypeAlias = str | Html  # a str is escaped, HTML is not
Cells: TypeAlias = Sequence[Cell]


def grid(
    head: Cells,
    rows: Iterable[Cells],
    kind: str = "settings",
    caption: str = "",
    hidden: bool = False,
) -> Html:
    """Return a table with a header row.

    ``head`` and each of the ``rows`` are cells, as many as there are columns; ``kind``
    is the CSS class. A ``caption`` of "" is left out, and a ``hidden`` one is for
    screen readers alone, where text above the table already says the same. The plain
    text has a line per row, with " | " between cells, and no caption.
    """

    def cells(row: list[Html], tag: str, attribute: str = "") -> str:
        """Return the cells of a row as HTML, each in a tag with an ``attribute``."""
        return "".join(f"<{tag}{attribute}>{cell.html}</{tag}>" for cell in row)

    table = [[_as_html(cell) for cell in row] for row in (head, *rows)]
    header, *lines = table
    top = ""
    if caption:
        style = " class='visually-hidden'" if hidden else ""
        top = f"<caption{style}>{escape(caption)}</caption>"
    head_cells = cells(header, "th", " scope='col'")
    top += f"<thead><tr>{head_cells}</tr></thead>"
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in lines)
    text = "\n".join(" | ".join(cell.text for cell in row) for row in table)
    return Html(f"<table class='{kind}'>{top}<tbody>{body}</tbody></table>", text)


def _as_html(cell: Cell) -> Html:
    """Return a cell as it is, or a text escaped."""
    return cell if isinstance(cell, Html) else Html(escape(cell), cell)


def line(*cells: Cell, kind: str = "") -> Html:
    """Return one paragraph of all cells, one after the other, with nothing between.

    ``kind`` is its CSS class, "" for none. What is ``beside`` a cell is dropped.
    """
    parts = [_as_html(cell) for cell in cells]
    attribute = f" class='{kind}'" if kind else ""
    html = "".join(part.html for part in parts)
    return Html(f"<p{attribute}>{html}</p>", "".join(part.text for part in parts))


def fold(title: str, *parts: Html) -> Html:
    """Return a closed block of parts, which a click on its title opens.

    What is ``beside`` the parts is dropped.
    """
    inner = joined(*parts, by="")
    html = f"<details><summary>{escape(title)}</summary>{inner.html}</details>"
    return Html(html, f"{title}\n{inner.text}")


def folded(
    title: str,
    head: Cells,
    rows: Iterable[Cells],
    *,
    below: str = "",
    kind: str = "settings",
) -> Html:
    """Return a closed block with one table, and with a line ``below`` it unless "".

    ``head``, ``rows`` and ``kind`` are those of `grid`. The title of the block is also
    the table's caption, for screen readers.
    """
    parts = [grid(head, rows, kind, title, hidden=True)]
    if below:
        parts.append(line(below))
    return fold(title, *parts)


def joined(*parts: Html, by: str = "\n") -> Html:
    """Return parts one below the other, with ``by`` between their pieces of HTML.

    Of two parts with the same MIME type in ``beside`` the last one counts. Without
    parts the result is empty.
    """
    html = by.join(part.html for part in parts)
    text = "\n".join(part.text for part in parts)
    return Html(html, text, {k: v for part in parts for k, v in part.beside.items()})


class Prose(str):
    """Markdown that a notebook shows as text; the roles of MyST work in it."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/markdown": str(self)}


def prose(markdown: str) -> Prose:
    """Return the sentences of a page without the indentation of its source.

    In a rerun (see `is_rerun`) the result is empty, since the sentences were written
    for the book's own results.
    """
    return Prose("" if is_rerun() else cleandoc(markdown).strip())


def is_rerun() -> bool:
    """Return whether the page of this process reads other runs than the book's.

    `python -m book execute` with parameters says so to the kernel that it starts, by
    GROKBOOK_RERUN; `evidence.Page` says so to its own process alone.
    """
    return project.is_retrained or os.environ.get("GROKBOOK_RERUN") == "1"


def number(value: float) -> str:
    """Return a number as all tables show it: "34,500", "0.333333", "1e6", "1e-8".

    It has six digits at most; NaN is "nan", and infinity "inf".
    """
    # "e+06" becomes "e6", and "e-08" becomes "e-8"
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].strip("+"), f"{value:,g}")
