"""What the book says about all of its pages at once, made from the executed twins.

`index` writes book/generated/: the gallery (thumbnails and verdicts), the scoreboard
(every claim), the status page (when, on what, how long, which versions) and the state
of the four papers that the landing page includes. None of it is edited or committed.
"""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from grokbook.book import checks, notebooks, pages
from grokbook.errors import PageError
from grokbook.project import PAPERS, VERDICTS, home

if TYPE_CHECKING:
    from nbformat import NotebookNode

WIDTH = 560  # pixels of a thumbnail: sharp on a card of 280


def index() -> list[Path]:
    """Write the generated pages and thumbnails; returns the files written."""
    folder = home() / "book" / "generated"
    (folder / "thumbnails").mkdir(parents=True, exist_ok=True)
    twins = {}
    for page_id, path in pages.sources().items():
        twin = notebooks.read_twin(path)
        if twin is None:
            raise PageError(
                f"Page {page_id} was never executed: run 'grokbook execute {page_id}'."
            )
        twins[page_id] = twin
    written = []
    for page_id, twin in twins.items():
        if image := thumbnail(twin):
            written.append(folder / "thumbnails" / (page_id.replace("/", "-") + ".png"))
            written[-1].write_bytes(image)
    (folder / "papers").mkdir(exist_ok=True)
    for name, text in {
        **{f"papers/{paper}": "\n".join(held(paper, twins)) for paper in PAPERS},
        "gallery": gallery(twins),
        "scoreboard": scoreboard(twins),
        "status": status(twins),
        "state": state(twins),
    }.items():
        written.append(folder / f"{name}.md")
        written[-1].write_text(text, encoding="utf-8")
    return written


def badge(verdict: str) -> str:
    """A verdict as the style sheet of the book draws it: with colour and symbol."""
    kind = re.sub(r"[^a-z]+", "-", verdict.lower())
    return f'<span class="verdict verdict-{kind}">{escape(verdict)}</span>'


def plain(text: object) -> str:
    """Text that Markdown leaves as it is, in a paragraph or in the cell of a table."""
    escaped = re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", str(text))
    return " ".join(escaped.split())


def label(page_id: str) -> str:
    """`prieto2025/fig02` -> `Figure 2`."""
    name = pages.name_of(page_id)
    if pages.is_beyond(page_id):
        return name.capitalize()
    return name.replace(" ", "\N{NO-BREAK SPACE}")


def finding(twin: NotebookNode) -> str:
    """The title of a page, without what stands above it."""
    return plain(notebooks.heading(twin)[1])


def verdict_of(twin: NotebookNode) -> str:
    """The verdict of a page, that of its main claim."""
    return (notebooks.claims_of(twin) or {"verdict": "not run"})["verdict"]


def claims_in(twin: NotebookNode) -> list[dict]:
    return (notebooks.claims_of(twin) or {"claims": []})["claims"]


def tally(twin: NotebookNode) -> str:
    """How many of the paper's claims hold on a page: "23 of 29"."""
    judged = [c for c in claims_in(twin) if c["n"] and not c["extra"]]
    return f"{sum(c['holds'] for c in judged)} of {len(judged)}"


def target(page_id: str) -> str:
    """Where the book keeps a page, as Sphinx names it."""
    path = pages.find(page_id).relative_to(home() / "book")
    return f"/{path.with_suffix('').as_posix()}"


def link(page_id: str, text: str | None = None) -> str:
    """A link to a page from anywhere in the book."""
    return f"{{doc}}`{text or label(page_id)} <{target(page_id)}>`"


def thumbnail(twin: NotebookNode) -> bytes | None:
    """The first figure of a page, small, on white; None where a page has no figure."""
    from PIL import Image

    figures = notebooks.outputs(twin, "image/png")
    if not figures:
        return None
    picture = Image.open(io.BytesIO(base64.b64decode(figures[0][1]))).convert("RGBA")
    small = Image.new("RGBA", picture.size, "white")
    small.alpha_composite(picture)
    small.thumbnail((WIDTH, 10 * WIDTH), Image.Resampling.LANCZOS)
    encoded = io.BytesIO()
    small.convert("RGB").save(encoded, "PNG", optimize=True)
    return encoded.getvalue()


def gallery(twins: dict[str, NotebookNode]) -> str:
    lines = [
        "# Gallery",
        "",
        "Every page of the book by its first figure. A card opens the page.",
    ]
    for paper, name in PAPERS.items():
        mine = [page_id for page_id in twins if page_id.startswith(paper + "/")]
        if not mine:
            continue
        lines += ["", f"## {name}", "", ":::::{grid} 1 2 2 3", ":gutter: 3", ""]
        for page_id in mine:
            lines += ["::::{grid-item-card} " + label(page_id)]
            figures = notebooks.outputs(twins[page_id], "image/png")
            if figures:
                image = figures[0][0].metadata.get("mystnb", {}).get("image", {})
                lines += [
                    f":img-top: thumbnails/{page_id.replace('/', '-')}.png",
                    f":img-alt: {' '.join(image.get('alt', '').split())}",
                ]
            verdict = f"{badge(verdict_of(twins[page_id]))} {tally(twins[page_id])}"
            lines += [f":link: {target(page_id)}", ":link-type: doc", ""]
            lines += [finding(twins[page_id]), ""]
            lines += [":::{card-footer}", verdict, ":::", "::::", ""]
        lines += [":::::"]
    if not twins:
        lines += ["", "No page is written yet."]
    return "\n".join(lines) + "\n"


def scoreboard(twins: dict[str, NotebookNode]) -> str:
    rows: dict[bool, list[str]] = {False: [], True: []}
    counts: Counter[str] = Counter()
    for page_id, twin in twins.items():
        for claim in claims_in(twin):
            extra = claim["extra"]
            counts[claim["verdict"]] += not extra
            statement, quote, where, ours, n, interval = (
                plain(claim[key])
                for key in ("statement", "quote", "where", "ours", "n", "interval")
            )
            spread = "" if interval in ("", "—") else f"{interval}; "
            found = f"{ours} ({spread}*n* = {n})"
            cells = [link(page_id), statement, found]
            if not extra:
                said = f"“{quote}” ({where})"
                main = "**main claim** " if claim["main"] else ""
                cells = [link(page_id), main + said, statement, found]
                cells += [badge(claim["verdict"])]
            rows[extra].append(f"| {' | '.join(cells)} |")
    lines = [
        "# Scoreboard",
        "",
        "Every claim of every page. A claim is a sentence of the paper turned into a",
        "test; *n* counts independent members (seeds), and the interval is over them.",
        "A verdict takes three seeds at least; with fewer, a claim is *seen once* or",
        "not.",
        "",
    ]
    if not rows[False]:
        return "\n".join([*lines, "No claim is tested yet.", ""])
    total = sum(counts.values())
    shown = [f"{counts[v]} × {badge(v)}" for v in VERDICTS if counts[v]]
    lines += [f"**{total} claim{'s' * (total > 1)}:** " + " &ensp; ".join(shown), ""]
    head = ["Page", "The paper says", "Tested as", "Ours (interval)", "Verdict"]
    lines += ["## Claims of the papers", "", *table(head, rows[False])]
    if rows[True]:
        lines += ["", "## Beyond the paper", ""]
        lines += ["What we measured in addition; no paper is judged by it.", ""]
        lines += table(["Page", "Finding", "Ours (interval)"], rows[True])
    return "\n".join(lines) + "\n"


def table(head: list[str], rows: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *rows]


def status(twins: dict[str, NotebookNode]) -> str:
    """When each page was executed, and what trained the records that it reads."""
    executed, recorded = [], []
    for page_id, twin in twins.items():
        run = twin.metadata.get("grokbook", {})
        versions = [
            f"{name} {number}" for name, number in run.get("versions", {}).items()
        ]
        cells = [
            str(run.get("executed")),
            f"{run.get('seconds')} s",
            ", ".join(versions),
        ]
        executed.append(f"| {link(page_id)} | {' | '.join(map(plain, cells))} |")
        for read in notebooks.read_by(page_id, twin):
            found = checks.stored(read)
            about = found.members.values()
            cells = [f"`{found.name}`", found.scale, str(len(about))]
            cells += [span(found.seconds)]
            cells += [several(about, k) for k in ("device_name", "torch", "finished")]
            recorded.append(f"| {' | '.join(cells)} |")
    lines = ["# Status", ""]
    if not twins:
        return "\n".join([*lines, "No page is executed yet.", ""])
    lines += ["## Pages", "", "A page is executed from its records, in seconds.", ""]
    lines += table(["Page", "Executed", "in", "with"], executed)
    lines += ["", "## Records", "", "What trained the records that the pages read;"]
    lines += ["training is the time of all members added up.", ""]
    head = ["Record", "Scale", "Members", "Training", "on", "PyTorch", "Finished"]
    lines += table(head, dict.fromkeys(recorded))
    return "\n".join(lines) + "\n"


def several(about: Iterable[dict], key: str) -> str:
    """The distinct values of one entry over the members of a record."""
    return ", ".join(sorted({plain(member.get(key, "")) for member in about}))


def span(seconds: float) -> str:
    """A duration in a readable unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def pages_of(ids: list[str], twins: dict[str, NotebookNode]) -> list[str]:
    """A table of pages: what each shows and its verdict, or that it is not written."""
    rows = []
    for page_id in ids:
        if page_id in twins:
            twin = twins[page_id]
            verdict = badge(verdict_of(twin))
            cells = [link(page_id), finding(twin), verdict, tally(twin)]
        else:
            shows = plain(pages.contents()[page_id])
            cells = [label(page_id), shows, badge("not yet"), "—"]
        rows.append(f"| {' | '.join(cells)} |")
    return table(["", "What it shows", "Main claim", "Claims that hold"], rows)


def held(paper: str, twins: dict[str, NotebookNode]) -> list[str]:
    """What a chapter's front page says of its claims: counts, then the pages.

    Ours beyond the paper are the last rows, and their claims of the paper count.
    """
    ids = [page_id for page_id in pages.contents() if page_id.startswith(paper + "/")]
    ids += beyond(paper, twins)
    counts = Counter(
        claim["verdict"]
        for page_id in ids
        if page_id in twins
        for claim in claims_in(twins[page_id])
        if not claim["extra"]
    )
    shown = [f"{counts[v]} × {badge(v)}" for v in VERDICTS if counts[v]]
    tested = counts.total() - counts["not run"]
    line = f"{tested} claims tested so far: " + " &ensp; ".join(shown)
    return [line if counts else "No claim is tested yet.", "", *pages_of(ids, twins)]


def beyond(paper: str, twins: dict[str, NotebookNode]) -> list[str]:
    """The pages of a chapter that show no figure or table of its paper."""
    mine = (page_id for page_id in twins if page_id.startswith(paper + "/"))
    return [page_id for page_id in mine if pages.is_beyond(page_id)]


def state(twins: dict[str, NotebookNode]) -> str:
    """All figures and tables of the four papers with verdicts, written or not.

    A page beyond the paper is a line below them, in no count.
    """
    planned = pages.contents()
    papers = {p: [i for i in planned if i.startswith(p + "/")] for p in PAPERS}
    summary, details = [], []
    for paper, ids in papers.items():
        written = [page_id for page_id in ids if page_id in twins]
        figures = sum(page_id.split("/")[1].startswith("fig") for page_id in ids)
        verdicts = Counter(verdict_of(twins[page_id]) for page_id in written)
        badges = [f"{verdicts[v]} × {badge(v)}" for v in VERDICTS if verdicts[v]]
        counts = [str(n) for n in (len(written), figures, len(ids) - figures)]
        cells = [f"{{cite:t}}`{paper}`", " ".join(badges) or badge("not yet"), *counts]
        summary.append(f"| {' | '.join(cells)} |")
        done = f"{len(written)} of {len(ids)} pages"
        details += [f":::{{dropdown}} {PAPERS[paper]}: {done}"]
        details += [":open:", ""] if written else [""]
        details += [*pages_of(ids, twins), ""]
        for page_id in beyond(paper, twins):
            shown = f"{finding(twins[page_id])} {badge(verdict_of(twins[page_id]))}"
            details += [f"{link(page_id)}: {shown}", ""]
        details += [":::", ""]
    head = ["Paper", "Verdicts", "Pages here", "Figures", "Tables"]
    return "\n".join([*table(head, summary), "", *details])
