"""A rerun beside the book: claim | book | your run, in the terminal and as HTML.

Claims are matched by their statement, else by the paper's words and their place, since
a statement may name what the runs decided. Two verdicts differ where one says that the
claim holds and the other that it does not, or holds in part: at another scale or with
fewer seeds the words are others. Nothing is compared with a smoke test.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from nbconvert import HTMLExporter

from book._ext import handouts, notebooks, pages
from grokbook.claims.verdict import badge, outcome
from grokbook.errors import PageError
from grokbook.tables import Html, grid

STYLE = Path(__file__).with_name("rerun.css")
Claim = dict[str, Any]


class Row(NamedTuple):
    """A claim of the paper as the book and as a rerun have it; None where one lacks."""

    book: Claim | None
    mine: Claim | None

    @property
    def statement(self) -> str:
        return (self.mine or self.book or {})["statement"]

    @property
    def mark(self) -> str:
        """`differs`, or `agrees`, or nothing where one of them says nothing."""
        found = [outcome(one["verdict"]) if one else "idle" for one in self]
        if "idle" in found:
            return ""
        return "agrees" if found[0] == found[1] else "differs"


def compare(rerun: Path) -> tuple[str, list[Row]]:
    """How a rerun came out in one sentence, and its claims; none of a smoke test."""
    ran = nbformat.read(rerun, as_version=4)
    about = ran.metadata["grokbook"]
    twin = notebooks.read_twin(pages.find(about["page"]))
    book, mine = notebooks.claims_of(twin), notebooks.claims_of(ran)
    if not book or not mine:
        raise PageError(f"Page {about['page']} has no claims to compare.")
    scales = {one["scale"] for one in mine["read"]}
    if "smoke" in scales:
        return "It runs. At smoke scale nothing is judged.", []
    rows = list(_rows(book["claims"], mine["claims"]))
    marks = [row.mark for row in rows]
    told = f"{marks.count('agrees')} of {len(rows)} claims come out as in the book"
    if many := marks.count("differs"):
        told += f", {many} {'does' if many == 1 else 'do'} not"
    if many := marks.count(""):
        told += f", {many} cannot be compared"
    return f"{told}.", rows


def _rows(book: list[Claim], mine: list[Claim]) -> Iterator[Row]:
    left = [claim for claim in mine if not claim["extra"]]
    for claim in (one for one in book if not one["extra"]):
        found = None
        for keys in (("statement",), ("quote", "where")):
            same = [one for one in left if all(one[k] == claim[k] for k in keys)]
            if found is None and len(same) == 1:
                (found,) = same
                left.remove(found)
        yield Row(claim, found)
    yield from (Row(None, claim) for claim in left)


def lines(summary: str, rows: list[Row]) -> Iterator[str]:
    """The comparison as a terminal shows it."""
    yield summary
    if rows:
        yield "claim | book | your run"
    for row in rows:
        mark = "  <- differs" if row.mark == "differs" else ""
        told = " | ".join(_value(one) for one in row)
        yield f"  {row.statement} | {told}{mark}"


def _value(claim: Claim | None) -> str:
    if claim is None:
        return "no such claim"
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    return value + claim["verdict"]


def write(notebook: Path) -> Path:
    """Write the HTML file beside the notebook of a rerun: comparison first, then page.

    Pictures, styles and formulas are in the file: it asks for nothing else.
    """
    ran = nbformat.read(notebook, as_version=4)
    page_id = ran.metadata["grokbook"]["page"]
    page = handouts.made(page_id, ran, solutions=True)
    for cell in page.cells:
        if cell.cell_type == "markdown":
            cell.source = with_mathml(cell.source)
    exporter = HTMLExporter(template_name="basic", exclude_input=True)
    body, _ = exporter.from_notebook_node(page)
    summary, rows = compare(notebook)
    head = f"<p><b>{escape(pages.kicker(page_id))}.</b> A rerun; the text below "
    head += "describes the book's run, figures and printed numbers are yours.</p>"
    head += f"<p><b>{escape(summary)}</b></p>"
    if rows:
        top = ("Claim", "Book", "Your run", "")
        head += grid(top, map(_cells, rows), kind="claims compared").html
    style = (pages.home() / "book" / "_static" / "book.css").read_text(encoding="utf-8")
    style += STYLE.read_text(encoding="utf-8")
    path = notebook.with_suffix(".html")
    path.write_text(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>A rerun of {escape(pages.kicker(page_id))}</title>"
        f"<style>{style}</style></head><body><main class='bd-content bd-article'>"
        f"<aside class='rerun' aria-label='About this rerun'>{head}</aside>{body}"
        "</main></body></html>\n",
        encoding="utf-8",
    )
    return path


def _cells(row: Row) -> tuple[str | Html, ...]:
    mark = f"<span class='mark-{row.mark}'>{row.mark}</span>" if row.mark else ""
    shown = [
        Html(f"{escape(one['ours'])} {badge(one['verdict'])}", "") if one else "—"
        for one in row
    ]
    return row.statement, *shown, Html(mark, row.mark)


def with_mathml(text: str) -> str:
    """Markdown with its formulas as MathML; one that docutils lacks stays as it is."""

    def formula(found: re.Match[str]) -> str:
        latex = (found[1] or found[2]).strip().replace(r"\dots", r"\ldots")
        try:
            return str(tex2mathml(latex, as_block=bool(found[1]))).replace("\n", "")
        except (MathError, IndexError, KeyError, TypeError, AttributeError):
            return f"`{latex}`"

    return re.sub(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", formula, text, flags=re.S)
