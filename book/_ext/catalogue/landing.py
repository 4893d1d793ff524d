"""What the landing page and the front pages of the chapters say of their papers."""

from __future__ import annotations

from collections.abc import Sequence

from book._ext import pages
from book._ext.catalogue.entries import Entry, counts, label, named, plain, table
from book._ext.catalogue.findings import landing
from book._ext.catalogue.matrix import legend, matrix
from grokbook.claims.verdict import badge, is_few, outcome
from grokbook.project import PAPERS


def papers(entries: Sequence[Entry]) -> str:
    """The papers by title and thesis, each with what is here and what is not yet."""
    told, lines = landing()["papers"], ["::::{div} papers"]
    for paper in PAPERS:
        here = [entry for entry in entries if entry.paper == paper]
        title, thesis = (plain(told[paper][key]) for key in ("title", "thesis"))
        lines += [f"* [**{title}**](/{paper}/index.md) · {named(paper)}", ""]
        lines += [f"  {thesis}", "", f"  {stock(paper, here)}", ""]
    return "\n".join([*lines, "::::", ""])


def stock(paper: str, here: Sequence[Entry]) -> str:
    """Pages and claims of a paper: how many there are, and how many not yet."""
    planned = sum(page_id.startswith(f"{paper}/") for page_id in pages.contents())
    beyond = sum(pages.is_beyond(entry.id) for entry in here)
    told = f"{len(here) - beyond} of {planned} figures and tables"
    if beyond:
        told += f" and {beyond} {'pages' if beyond > 1 else 'page'} beyond them"
    return f"{told}. {so_far(here)}"


def so_far(entries: Sequence[Entry]) -> str:
    """How many claims there are, have a verdict, hold, wait for seeds, wait at all."""
    claims = [claim for entry in entries for claim in entry.claims]
    run = [claim for claim in claims if outcome(claim["verdict"]) != "idle"]
    judged = [claim for claim in run if not is_few(claim["verdict"])]
    held = sum(claim["holds"] for claim in judged)
    return (
        f"Of {len(claims)} claims {len(judged)} have a verdict, and {held} of these "
        f"hold; {len(run) - len(judged)} were tried with fewer than three seeds, "
        f"{len(claims) - len(run)} not yet."
    )


def chapter(paper: str, entries: Sequence[Entry]) -> str:
    """What a chapter's front page says of its claims: counts, squares, then the pages.

    Pages of ours beyond the paper are the last rows; their claims of the paper count.
    """
    here = {entry.id: entry for entry in entries if entry.paper == paper}
    claims = [claim for entry in here.values() for claim in entry.claims]
    if not claims:
        return "\n".join(["No claim is tested yet.", "", *listed(paper, here)])
    lines = [so_far(list(here.values())), "", counts(claims), "", legend()]
    squares = matrix(here.values(), "../")
    return "\n".join([*lines, "", squares, "", *listed(paper, here), ""])


def listed(paper: str, here: dict[str, Entry]) -> list[str]:
    """A table of pages: what each shows and its verdict, or that it is not written."""
    planned = {i: t for i, t in pages.contents().items() if i.startswith(f"{paper}/")}
    rows = []
    for page_id in [*planned, *(i for i in here if i not in planned)]:
        if entry := here.get(page_id):
            cells = [entry.link(), plain(entry.title)]
            cells += [badge(entry.verdict), entry.tally]
        else:
            cells = [label(page_id), plain(planned[page_id]), badge("not yet"), "—"]
        rows.append(" | ".join(cells))
    head = ["Page", "What it shows", "Main claim", "Claims that hold"]
    return ["::::{div} listed", "", *table(head, rows), "", "::::"]
