"""What the book says about all of its pages at once, made from the executed twins.

`write` makes book/generated/, which is neither edited nor committed: what the landing
page and the chapters' front pages include, the gallery, the scoreboard and the status.
book/landing.yml has what a person wrote of them. A sentence of it that the pages
contradict is a PageError, as is a claim that there is not.
"""

import base64
import difflib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import yaml

from book._ext import pages, scoreboard
from book._ext.entries import (
    SECTION,
    Entry,
    counts,
    label,
    named,
    plain,
    support,
    table,
)
from grokbook.claims.verdict import badge, is_few, outcome
from grokbook.errors import PageError
from grokbook.project import FOLDERS, PAPERS, home

ORDER = ("holds", "partly", "fails", "idle")
LEGEND = (
    ("holds", "holds in every seed"),
    ("partly", "holds in some"),
    ("fails", "fails in every seed"),
    ("holds few", "hollow: fewer than three seeds"),
    ("holds reduced", "dashed: in a smaller version"),
    ("idle", "not run"),
)
WIDTH = 480  # pixels of a thumbnail: sharp on a card of 240


def write(found: Sequence[Entry]) -> None:
    """Write the generated pages and thumbnails; unchanged files stay as they are."""
    of_papers = [entry for entry in found if entry.paper in PAPERS]
    written: dict[str, str | bytes] = {
        f"papers/{paper}.md": chapter(paper, of_papers) for paper in PAPERS
    }
    written |= {
        "landing/findings.md": findings({entry.id: entry for entry in found}),
        "landing/matrix.md": "\n\n".join(
            [so_far(of_papers), legend(), matrix(of_papers), ""]
        ),
        "landing/papers.md": papers(of_papers),
        "gallery.md": gallery(found),
        "scoreboard.md": scoreboard.scoreboard(of_papers),
        "beyond.md": scoreboard.beyond(of_papers),
        "status.md": status(found),
    }
    for entry in found:
        if figure := entry.figure():
            written[thumbnail_of(entry)] = smaller(figure[0])
    for name, content in written.items():
        update(home() / "book" / "generated" / name, content)


def update(path: Path, content: str | bytes) -> None:
    """Write a file if it is another; Sphinx reads again what is newer."""
    new = content.encode() if isinstance(content, str) else content
    if not path.is_file() or path.read_bytes() != new:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new)


def landing() -> dict[str, Any]:
    """book/landing.yml: `papers` (title and thesis of each) and `findings`."""
    return yaml.safe_load((home() / "book" / "landing.yml").read_text(encoding="utf-8"))


def papers(found: Sequence[Entry]) -> str:
    """The papers by title and thesis, each with what is here and what is not yet."""
    told, lines = landing()["papers"], ["::::{div} papers"]
    for paper in PAPERS:
        here = [entry for entry in found if entry.paper == paper]
        title, thesis = (plain(told[paper][key]) for key in ("title", "thesis"))
        planned = sum(page_id.startswith(f"{paper}/") for page_id in pages.contents())
        beyond = sum(pages.is_beyond(entry.id) for entry in here)
        stock = f"{len(here) - beyond} of {planned} figures and tables"
        if beyond:
            stock += f" and {beyond} page{'s' * (beyond > 1)} beyond them"
        lines += [f"* [**{title}**](/{paper}/index.md) · {named(paper)}", ""]
        lines += [f"  {thesis}", "", f"  {stock}. {so_far(here)}", ""]
    return "\n".join([*lines, "::::", ""])


def so_far(found: Sequence[Entry]) -> str:
    """How many claims there are, have a verdict, hold, wait for seeds, wait at all."""
    claims = [claim for entry in found for claim in entry.claims]
    run = [claim for claim in claims if outcome(claim["verdict"]) != "idle"]
    judged = [claim for claim in run if not is_few(claim["verdict"])]
    held = sum(claim["holds"] for claim in judged)
    return (
        f"Of {len(claims)} claims {len(judged)} have a verdict, and {held} of these "
        f"hold; {len(run) - len(judged)} were tried with fewer than three seeds, "
        f"{len(claims) - len(run)} not yet."
    )


def chapter(paper: str, found: Sequence[Entry]) -> str:
    """What a chapter's front page says of its claims: counts, squares, then the pages.

    Pages of ours beyond the paper are the last rows; their claims of the paper count.
    """
    here = {entry.id: entry for entry in found if entry.paper == paper}
    planned = {i: t for i, t in pages.contents().items() if i.startswith(f"{paper}/")}
    rows = []
    for page_id in [*planned, *(i for i in here if i not in planned)]:
        if entry := here.get(page_id):
            verdict, _, tally = entry.judged.partition("</span> ")
            cells = [entry.link(), plain(entry.title), f"{verdict}</span>", tally]
        else:
            cells = [label(page_id), plain(planned[page_id]), badge("not yet"), "—"]
        rows.append(cells)
    head = ["Page", "What it shows", "Main claim", "Claims that hold"]
    claims = [claim for entry in here.values() for claim in entry.claims]
    lines = [so_far(list(here.values())), "", counts(claims), "", legend(), ""]
    lines += [matrix(list(here.values()), "../"), "", "::::{div} listed", ""]
    return "\n".join([*lines, *table(head, rows), "", "::::", ""])


def matrix(found: Sequence[Entry], up: str = "") -> str:
    """One square per claim, a row per page, a table per paper, as HTML in one line.

    Colour and symbol say what came out, a hollow square that fewer than three seeds did
    it, a dashed one that it was at reduced scale. ``up`` leads from the page that shows
    it to the root of the book.
    """
    of: dict[str, list[str]] = {}
    for entry in found:
        address, squares = f"{up}{entry.document}.html", []
        for claim in sorted(entry.claims, key=_rank):
            told = ", ".join(filter(None, [claim["verdict"], support(claim)]))
            squares.append(
                f'<a class="square {look(claim["verdict"])}" tabindex="-1" '
                f'href="{address}#{SECTION}" '
                f'title="{escape(claim["statement"])}: {escape(told)}"></a>'
            )
        head = f'<a href="{address}" title="{escape(entry.title)}">{entry.label}</a>'
        of.setdefault(entry.paper, []).append(
            f'<tr><th scope="row">{head}</th><td>{"".join(squares)}</td></tr>'
        )
    tables = (
        f'<table class="matrix"><caption>{escape(named(paper))}</caption>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        for paper, rows in of.items()
    )
    return f'<div class="matrices">{"".join(tables)}</div>'


def _rank(claim: Mapping[str, Any]) -> tuple[int, bool]:
    return ORDER.index(outcome(claim["verdict"])), is_few(claim["verdict"])


def look(verdict: str) -> str:
    """The classes of a square: what came out, then how surely."""
    few = " few" * is_few(verdict)
    return outcome(verdict) + few + " reduced" * ("reduced scale" in verdict)


def legend() -> str:
    items = (
        f'<li><span class="square {k}"></span> {words}</li>' for k, words in LEGEND
    )
    return f'<ul class="matrix-legend">{"".join(items)}</ul>'


def findings(found: Mapping[str, Entry]) -> str:
    """What was found: sentences by a person, evidence by the record."""
    lines: list[str] = []
    for finding in landing()["findings"]:
        entry = _page(finding["page"], found)
        told = dict.fromkeys(
            _evidence(rest, _page(rest.get("page", finding["page"]), found))
            for rest in finding["rests on"]
        )
        sentence = " ".join(finding["says"].split())
        where = f"{named(entry.paper)}, {entry.label}"
        lines += [f"* [{sentence}](/{entry.document}.ipynb)", ""]
        lines += [f"  {where}: {' &ensp; '.join(told)}", ""]
    return "\n".join(["::::{div} findings", *lines, "::::", ""])


def _page(page_id: str, found: Mapping[str, Entry]) -> Entry:
    if page_id not in found:
        raise PageError(f"book/landing.yml names page '{page_id}', which there is not.")
    return found[page_id]


def _evidence(rest: Mapping[str, str], entry: Entry) -> str:
    """One line of `rests on` as a badge, if its claim came out as the line says."""
    (said,) = set(rest) - {"page"}
    claims = {claim["statement"]: claim for claim in entry.claims}
    if rest[said] not in claims:
        (near,) = difflib.get_close_matches(rest[said], claims, n=1, cutoff=0.0)
        raise PageError(
            f"book/landing.yml rests a finding on a claim that page {entry.id} does "
            f"not have, '{rest[said]}': did you mean '{near}'?"
        )
    claim = claims[rest[said]]
    if outcome(claim["verdict"]) != said:
        raise PageError(
            f"book/landing.yml says '{said}' of the claim '{rest[said]}', and page "
            f"{entry.id} has '{claim['verdict']}': rewrite the finding."
        )
    return f'<span class="evidence">{badge(claim["verdict"])} {support(claim)}</span>'


def gallery(found: Sequence[Entry]) -> str:
    """A card per page."""
    papers = [paper for paper in FOLDERS if any(e.paper == paper for e in found)]
    lines = ["# Gallery", "", "Every page of the book by its first figure.", ""]
    for paper in papers:
        lines += [f"## {named(paper)}", ""]
        lines += [":::::{grid} 1 2 2 3", ":gutter: 3", ":class-container: cards", ""]
        for entry in (one for one in found if one.paper == paper):
            lines.append("::::{grid-item-card} " + entry.label)
            if figure := entry.figure():
                lines += [f":img-top: {thumbnail_of(entry)}"]
                lines += [f":img-alt: {' '.join(figure[1].split())}"]
            lines += [f":link: /{entry.document}", ":link-type: doc", ""]
            lines += [plain(entry.title), "", ":::{card-footer}", entry.judged, ":::"]
            lines += ["::::", ""]
        lines += [":::::", ""]
    return "\n".join(lines)


def thumbnail_of(entry: Entry) -> str:
    return f"thumbnails/{entry.id.replace('/', '-')}.png"


def smaller(png: str) -> bytes:
    """A figure (in base64), or the first panels of a long row, as a thumbnail."""
    from PIL import Image

    drawn = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    width, height = drawn.size
    small = drawn.crop((0, 0, min(width, int(1.2 * height)), height))
    small.thumbnail((WIDTH, WIDTH))
    encoded = io.BytesIO()
    small.quantize(64, kmeans=1).save(encoded, "PNG", optimize=True)
    return encoded.getvalue()


def status(found: Sequence[Entry]) -> str:
    """When the pages were executed, and with what."""
    usual = Counter(map(_versions, found)).most_common(1)[0][0]
    lines = ["# Status", "", f"Pages were executed with {plain(usual)}, unless their "]
    lines[-1] += "row says otherwise. What trained their records is in records.csv, "
    lines[-1] += "on [a page of its own](/downloads.md), and below each page."
    for paper in dict.fromkeys(entry.paper for entry in found):
        rows = []
        for entry in (one for one in found if one.paper == paper):
            run, other = entry.twin.metadata.get("grokbook", {}), _versions(entry)
            with_ = "as above" if other == usual else plain(other)
            rows.append([entry.link(), str(run.get("executed")), with_])
        lines += ["", f"## {named(paper)}", ""]
        lines += table(["Page", "Executed", "With"], rows)
    return "\n".join([*lines, ""])


def _versions(entry: Entry) -> str:
    versions = entry.twin.metadata.get("grokbook", {}).get("versions", {})
    return ", ".join(f"{name} {number}" for name, number in versions.items())
