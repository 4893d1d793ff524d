"""What a reader can take away, made by `python -m book index` in _build/downloads.

    grokking-book-<version>.zip   everything that git tracks
    grokbook-<version>.zip        the package alone, which handouts install
    handouts/<paper>/…            two notebooks per page
    records.csv                   what each file of records is

The rendered book carries them in downloads/, with records/ and references/ beside them
(`links`). The table of the page Downloads is written to book/generated/downloads.md.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book._ext import archive, handout, notebooks, pages
from book._ext.sources import Sources
from grokbook import __version__, evidence, files
from grokbook.errors import PageError
from grokbook.project import FOLDERS, PAPERS, home
from grokbook.records import root as records_root
from grokbook.records.beside import SIDES
from grokbook.records.table import metadata, parts

if TYPE_CHECKING:
    from nbformat import NotebookNode

COLUMNS = ["file", "paper", "experiment", "scale", "kind", "arms", "members", "seeds"]
COLUMNS += ["epochs", "device", "commit", "bytes", "sha256"]

HEAD = ["File", "Size", "Scale", "Arms", "Members", "Epochs", "Trained on"]


def folder() -> Path:
    """Where they are made, outside of what Sphinx reads."""
    return home() / "_build" / "downloads"


def write() -> list[Path]:
    """Make all downloads and the table of their page; returns the files written."""
    import nbformat

    target = folder()
    shutil.rmtree(target, ignore_errors=True)
    names = archive.members(home())
    book = archive.pack(home(), names, target / archive.BOOK)
    package = archive.pack(home(), archive.of_package(names), target / archive.PACKAGE)
    written = [book, package, target / "records.csv"]
    rows = list(records())
    with files.whole(written[-1]) as path, path.open("w", newline="") as opened:
        lines = csv.writer(opened, lineterminator="\n")
        lines.writerows([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)])
    sources = Sources()
    start = {
        "site": sources.where.site,
        "archive": book.name,
        "version": __version__,
        "packages": {path.name: evidence.digest(path) for path in (book, package)},
    }
    twins = {i: _twin(i, path) for i, path in pages.sources().items()}
    for page_id, twin in twins.items():
        for kind in handout.KINDS:
            made = handout.made(page_id, twin, kind, sources=sources, start=start)
            written.append(target / handout.name_of(page_id, kind))
            written[-1].parent.mkdir(parents=True, exist_ok=True)
            written[-1].write_text(nbformat.writes(made) + "\n", encoding="utf-8")
    page = home() / "book" / "generated" / "downloads.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(listing(rows, twins, target), encoding="utf-8")
    return [*written, page]


@cache
def carried() -> dict[str, Path]:
    """Everything that the rendered book carries: its name in downloads/ -> its file.

    PageError where the downloads were not made yet.
    """
    made = folder()
    table = made / "records.csv"
    if not table.is_file():
        raise PageError(f"{table} is missing: run 'python -m book index' first.")
    found = {p.relative_to(made).as_posix(): p for p in made.rglob("*") if p.is_file()}
    with table.open(newline="") as lines:
        names = [row["file"] for row in csv.DictReader(lines)]
    found |= {n: records_root() / n.removeprefix("records/") for n in names}
    book, references = home() / "book", home() / "data" / "references"
    found |= {f"book/{p.parent.name}/{p.name}": p for p in book.glob("*/*.yaml")}
    return found | {
        f"references/{path.relative_to(references).as_posix()}": path
        for path in references.rglob("*.csv")
    }


def records() -> Iterator[dict[str, Any]]:
    """Of every file of records: what it is, its size and its SHA-256 (`COLUMNS`)."""
    for paper in FOLDERS:
        for table in sorted(records_root().glob(f"{paper}/*.parquet")):
            if table.name.endswith(".trace.parquet"):
                continue
            members = metadata(table)["members"]
            arms, seeds = zip(*map(parts, members), strict=True)
            name, scale = table.stem.split(".")
            about = {
                "paper": paper,
                "experiment": name,
                "scale": scale,
                "arms": len(set(arms)),
                "members": len(members),
                "seeds": " ".join(map(str, sorted(set(seeds)))),
                "epochs": max(one["epochs"] for one in members.values()),
                "device": _several(members, "device_name"),
                "commit": _several(members, "commit"),
            }
            kinds = {"table": table} | {s.name: s.path(table) for s in SIDES}
            for kind, path in kinds.items():
                if path.is_file():
                    yield about | {
                        "file": f"records/{paper}/{path.name}",
                        "kind": kind,
                        "bytes": path.stat().st_size,
                        "sha256": evidence.digest(path),
                    }


def listing(
    rows: Sequence[Mapping[str, Any]], twins: Mapping[str, NotebookNode], made: Path
) -> str:
    """The tables of the page Downloads, as HTML that stands in Markdown."""
    head = ("File", "Size", "What it is")
    whole = [
        (archive.BOOK, "text, code, executed pages and records: all there is"),
        (archive.PACKAGE, "the Python package alone, for <code>pip install</code>"),
        ("records.csv", "what each file of records is, with its SHA-256"),
    ]
    lines = [
        _table(head, [(_link(n), size(made / n), what) for n, what in whole]),
        "## Notebooks to hand out",
    ]
    for paper in FOLDERS:
        pairs = [
            (escape(_named(twin)), *(_handout(i, kind, made) for kind in handout.KINDS))
            for i, twin in twins.items()
            if i.startswith(f"{paper}/")
        ]
        if pairs:
            table = _table(("Page", "For the class", "For the teacher"), pairs)
            lines.append(_folded(paper, table))
    lines.append("## Records")
    for paper in FOLDERS:
        cells = [_row(row) for row in rows if row["paper"] == paper]
        if cells:
            lines.append(_folded(paper, _table(HEAD, cells)))
    return "\n\n".join(lines) + "\n"


def size(path: Path) -> str:
    """The size of a file in a readable unit."""
    return _bytes(path.stat().st_size)


def _row(row: Mapping[str, Any]) -> list[str]:
    counts = [f"{row[name]:,}" for name in ("arms", "members", "epochs")]
    about = [_link(row["file"]), _bytes(row["bytes"]), row["scale"], *counts]
    return [*about, escape(row["device"])]


def _bytes(count: int) -> str:
    megabytes = count / 1e6
    shown = f"{megabytes:,.1f} MB" if megabytes >= 1 else f"{1000 * megabytes:,.0f} kB"
    return shown.replace(" ", "&nbsp;")


def _several(members: dict[str, Any], key: str) -> str:
    return "; ".join(sorted({str(one.get(key, "")) for one in members.values()}))


def _named(twin: NotebookNode) -> str:
    """`Figure 4 · With StableMax, networks grok …`: what a page is, what it found."""
    kicker, finding = notebooks.heading(twin)
    return f"{kicker.rpartition(' · ')[2]} · {finding}"


def _twin(page_id: str, path: Path) -> NotebookNode:
    twin = notebooks.read_twin(path)
    if twin is None:
        raise PageError(
            f"Page {page_id} was never executed: "
            f"run 'python -m book execute {page_id}'."
        )
    return twin


def _handout(page_id: str, kind: str, made: Path) -> str:
    name = handout.name_of(page_id, kind)
    return f"{_link(name, kind)} {size(made / name)}"


def _link(name: str, text: str | None = None) -> str:
    shown = text or name.rpartition("/")[2]
    return f'<a href="downloads/{name}" download>{escape(shown)}</a>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table class="downloads"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _folded(folder: str, body: str) -> str:
    title = PAPERS.get(folder, pages.START)
    return f"<details><summary>{escape(title)}</summary>{body}</details>"
