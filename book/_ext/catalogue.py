"""What the book says about all of its pages at once, made from the executed twins.

`write` makes book/generated/, which is neither edited nor committed: what the landing
page and the chapters' front pages include, and the scoreboard.
book/landing.yml has the title and the thesis of each paper.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import yaml

from book._ext import pages, scoreboard
from book._ext.entries import (
    Entry,
    named,
    plain,
    rank,
    support,
    update,
)
from grokbook.claims.verdict import badge, is_few, look, outcome
from grokbook.project import FOLDERS, PAPERS, home

LEGEND = {
    "holds": "holds in every seed",
    "mixed": "holds in some",
    "fails": "fails in every seed",
    "holds few": "hollow: fewer than three seeds",
    "holds small": "dashed: in a smaller version",
    "idle": "not run",
}


def write(found: Sequence[Entry]) -> None:
    """Write the generated pages; unchanged files stay as they are."""
    of = {paper: [e for e in found if e.paper == paper] for paper in FOLDERS}
    every = [entry for paper in PAPERS for entry in of[paper]]
    written = {
        "landing/questions.md": questions(of["questions"]),
        "landing/matrix.md": f"{so_far(every)}\n\n{legend()}\n\n{matrix(every)}\n",
        "landing/papers.md": papers(of),
        "scoreboard.md": scoreboard.scoreboard(every),
        "beyond.md": scoreboard.beyond(every),
    }
    written |= {f"papers/{paper}.md": chapter(of[paper]) for paper in PAPERS}
    for entry in of["questions"]:
        written[f"{entry.id}.md"] = rests_on(entry.id.partition("/")[2], found)
    for name, content in written.items():
        update(home() / "book" / "generated" / name, content)


def landing() -> dict[str, Any]:
    """book/landing.yml: title, thesis and official code of each paper."""
    return yaml.safe_load((home() / "book" / "landing.yml").read_text(encoding="utf-8"))


def papers(of: Mapping[str, Sequence[Entry]]) -> str:
    """The papers by title and thesis, each with what is here of it."""
    lines = ["::::{div} papers"]
    for paper, told in landing().items():
        beyond = sum(pages.is_beyond(entry.id) for entry in of[paper])
        stock = f"{len(of[paper]) - beyond} figures and tables"
        if beyond:
            stock += f" and {beyond} page{'s' * (beyond > 1)} beyond them"
        title = f"[**{plain(told['title'])}**](/{paper}/index.md)"
        lines += [f"* {title} · {named(paper)}\n\n  {plain(told['thesis'])}\n"]
        lines += [f"  {stock}. {so_far(of[paper])}\n"]
    return "\n".join([*lines, "::::", ""])


def questions(asked: Sequence[Entry]) -> str:
    """Every question with its answer."""
    told = (f"* [{e.title}](/{e.document}.ipynb)\n\n  {plain(e.answer)}" for e in asked)
    return "\n".join(["::::{div} findings", *told, "::::", ""])


def rests_on(question: str, found: Sequence[Entry]) -> str:
    """The claims behind an answer, those that hold first, each with its page."""
    rows = [(e, c) for e in found for c in e.claims if c["question"] == question]
    rows.sort(key=lambda row: rank(row[1]["verdict"]))
    lines = ["| The paper says | Here | Verdict | Page |", "| --- | --- | --- | --- |"]
    for entry, claim in rows:
        told = plain(claim["quote"]), plain(claim["ours"]), badge(claim["verdict"])
        link = entry.link(f"{named(entry.paper)}, {entry.label}")
        lines.append(f"| {' | '.join(told)} {support(claim)} | {link} |")
    return "\n".join([*lines, ""])


def so_far(found: Sequence[Entry]) -> str:
    """How many claims there are, have a verdict, hold, wait for seeds, wait at all."""
    claims = [claim for entry in found for claim in entry.claims]
    run = [claim for claim in claims if outcome(claim["verdict"]) != "idle"]
    judged = [claim for claim in run if not is_few(claim["verdict"])]
    held = sum(claim["holds"] for claim in judged)
    exact = sum(support(claim) == "exact" for claim in judged)
    return (
        f"Of {len(claims)} claims {len(judged)} have a verdict ({exact} of them are "
        f"exact and need no seeds), and {held} of these hold; {len(run) - len(judged)} "
        f"were tried with fewer than three seeds, {len(claims) - len(run)} not yet."
    )


def chapter(here: Sequence[Entry]) -> str:
    """What a chapter's front page says of its claims: how many hold, squares, pages.

    Pages of ours beyond the paper are the last rows; their claims of the paper count.
    """
    parts = [so_far(here), legend(), matrix(here, "../")]
    lines = ["| Page | What it shows | Main claim | Claims that hold |"]
    lines += ["| --- | --- | --- | --- |"]
    for entry in here:
        lines.append(
            f"| {' | '.join([entry.link(), plain(entry.title), *entry.judged])} |"
        )
    return "\n\n".join([*parts, "::::{div} listed", "\n".join(lines), "::::\n"])


def matrix(found: Sequence[Entry], up: str = "") -> str:
    """One square per claim, a row per page, a table per paper, as HTML in one line.

    Colour and symbol say what came out, a hollow square that fewer than three seeds did
    it, a dashed one that it was at reduced scale. ``up`` leads from the page that shows
    it to the root of the book.
    """
    of: dict[str, str] = {}
    for entry in found:
        address, squares = f"{up}{entry.document}.html", ""
        for claim in sorted(entry.claims, key=lambda claim: rank(claim["verdict"])):
            told = ", ".join(filter(None, [claim["verdict"], support(claim)]))
            squares += (
                f'<a class="square {look(claim["verdict"])}" tabindex="-1" '
                f'href="{up}{entry.address(claim)}" '
                f'title="{escape(claim["statement"])}: {escape(told)}"></a>'
            )
        head = f'<a href="{address}" title="{escape(entry.title)}">{entry.label}</a>'
        row = f'<tr><th scope="row">{head}</th><td>{squares}</td></tr>'
        of[entry.paper] = of.get(entry.paper, "") + row
    tables = (
        f'<table class="matrix"><caption>{escape(named(paper))}</caption>'
        f"<tbody>{rows}</tbody></table>"
        for paper, rows in of.items()
    )
    return f'<div class="matrices">{"".join(tables)}</div>'


def legend() -> str:
    items = (
        f'<li><span class="square {k}"></span> {w}</li>' for k, w in LEGEND.items()
    )
    return f'<ul class="matrix-legend">{"".join(items)}</ul>'
