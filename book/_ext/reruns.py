"""A rerun beside the book: claim | book | your run, in the terminal and as HTML.

Claims are matched by their statement, else by the paper's words and their place, since
a statement may name what the runs decided. Two verdicts differ where one says that the
claim holds and the other that it does not, or holds in part: at another scale or with
fewer seeds the words are others. Nothing is compared with a smoke test.
"""

import sysconfig
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter

from book._ext import handouts, notebooks, pages
from grokbook.claims.verdict import badge, outcome
from grokbook.project import home
from grokbook.tables import Html, grid

# As the package has it, whose name with hyphens cannot be imported.
MATHJAX = Path(sysconfig.get_path("purelib"), "sphinx-mathjax-offline", "static")
MATHJAX /= "mathjax/tex-svg-full.js"
HEAD = ("Claim", "Book", "Your run", "")
Claim = dict[str, Any]
Row = tuple[Html, ...]  # the cells of a line under HEAD, the last: agrees, differs, ""
PAGE = """<!DOCTYPE html>
<html lang='en'><head><meta charset='utf-8'><title>A rerun of {name}</title>
<meta name='viewport' content='width=device-width, initial-scale=1'>
<style>{style}</style><script>MathJax = {{tex: {{inlineMath: [["$", "$"]]}}}}</script>
<script>{mathjax}</script></head><body><main class='bd-content bd-article'>
<aside class='rerun' aria-label='About this rerun'><p><b>{name}.</b> A rerun; the text
below describes the book's run, figures and printed numbers are yours.</p>
<p><b>{summary}</b></p>{table}</aside>{body}</main></body></html>
"""


def compare(rerun: Path) -> tuple[str, list[Row]]:
    """How a rerun came out in one sentence, and its claims; none of a smoke test."""
    ran = nbformat.read(rerun, as_version=4)
    twin = notebooks.read_twin(pages.find(ran.metadata["grokbook"]["page"]))
    book, mine = (notebooks.claims_of(one) or {"claims": []} for one in (twin, ran))
    if any(one["scale"] == "smoke" for one in mine.get("read", [])):
        return "It runs. At smoke scale nothing is judged.", []
    papers = ([c for c in one["claims"] if not c["extra"]] for one in (book, mine))
    rows = [_row(*pair) for pair in _pairs(*papers)]
    marks = Counter(mark.text for *_, mark in rows)
    told = f"Of {len(rows)} claims {marks['agrees']} come out as in the book, "
    return f"{told}{marks['differs']} otherwise; {marks['']} cannot be compared.", rows


def _pairs(
    book: list[Claim], mine: list[Claim]
) -> Iterator[tuple[Claim | None, Claim | None]]:
    left = {claim["statement"]: claim for claim in mine}
    known = {claim["statement"] for claim in book}
    for claim in book:
        words = (claim["quote"], claim["where"])
        alike = [s for s, c in left.items() if (c["quote"], c["where"]) == words]
        others = [statement for statement in alike if statement not in known]
        same = [claim["statement"], *others[:1]]
        yield claim, next((left.pop(s) for s in same if s in left), None)
    yield from ((None, claim) for claim in left.values())


def _row(book: Claim | None, mine: Claim | None) -> Row:
    came = [outcome(one["verdict"]) if one else "idle" for one in (book, mine)]
    mark = "agrees" if came[0] == came[1] else "differs"
    mark = "" if "idle" in came else mark
    statement = (mine or book or {})["statement"]
    return (
        Html(escape(statement), statement),
        *map(_cell, (book, mine)),
        Html(f"<span class='mark-{mark}'>{mark}</span>", mark),
    )


def _cell(claim: Claim | None) -> Html:
    if claim is None:
        return Html("—", "no such claim")
    value = f"{claim['ours']} (n = {claim['n']}), " if claim["n"] else ""
    shown = f"{escape(claim['ours'])} {badge(claim['verdict'])}"
    return Html(shown, value + claim["verdict"])


def lines(summary: str, rows: list[Row]) -> Iterator[str]:
    """The comparison as a terminal shows it."""
    yield summary
    for row in rows:
        yield " | ".join(cell.text for cell in row)


def write(notebook: Path) -> Path:
    """Write the HTML file beside the notebook of a rerun: comparison first, then page.

    Pictures, styles and formulas are in the file: it asks for nothing else.
    """
    ran = nbformat.read(notebook, as_version=4)
    page_id = ran.metadata["grokbook"]["page"]
    page = handouts.made(page_id, ran, solutions=True)
    exporter = HTMLExporter(template_name="basic", exclude_input=True)
    body, _ = exporter.from_notebook_node(page)
    sheets = home() / "book/_static/book.css", Path(__file__).with_name("rerun.css")
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    summary, rows = compare(notebook)
    table = grid(HEAD, rows, kind="claims compared").html if rows else ""
    told: Any = {"style": style, "summary": summary, "table": table, "body": body}
    told["mathjax"] = MATHJAX.read_text(encoding="utf-8")
    path = notebook.with_suffix(".html")
    path.write_text(PAGE.format(name=pages.kicker(page_id), **told), encoding="utf-8")
    return path
