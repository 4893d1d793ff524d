"""What a reader can take away, made in _build/downloads and carried by the site.

grokking-book-<version>.zip   everything that git tracks
grokbook-<version>.zip        package and records alone, which handouts install
handouts/<paper>/…            two notebooks per page
records.csv                   what was trained, when, on what
"""

import csv
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import nbformat

from book._ext import handouts, pages
from book._ext.catalogue import update
from book._ext.entries import SPACE, Entry
from grokbook import __version__, evidence, papers, records
from grokbook.errors import RecordError
from grokbook.experiment import SCALES
from grokbook.project import FOLDERS, PAPERS, home
from grokbook.tables import Cell, Html, grid

BOOK = f"grokking-book-{__version__}.zip"
PACKAGE = f"grokbook-{__version__}.zip"
KINDS = {"class": False, "teacher": True}  # -> with solutions
STORED = {".parquet", ".png", ".safetensors"}  # compressed already, or noise
EPOCH = (2020, 1, 1, 0, 0, 0)  # the date of every file: the same content, the same hash
COLUMNS = ["experiment", "scale", "arm", "seed", "epochs", "device_name", "commit"]
COLUMNS += ["finished"]


def folder() -> Path:
    return home() / "_build" / "downloads"


def write(entries: Sequence[Entry]) -> None:
    """Make all downloads, and the lists of the page Downloads."""
    target = folder()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = tracked(home())
    pack(home(), names, target / BOOK)
    pack(home(), filter(is_of_package, names), target / PACKAGE)
    with (target / "records.csv").open("w", newline="") as opened:
        lines = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
        lines.writeheader()
        lines.writerows(trained())
    address, _ = published()
    start = {"site": address, "archive": PACKAGE}
    start["sha256"] = evidence.digest(target / PACKAGE)
    for entry in entries:
        for kind, with_ in KINDS.items():
            how: Any = {"solutions": with_, "site": address, "start": start}
            path = target / name_of(entry.id, kind)
            path.parent.mkdir(parents=True, exist_ok=True)
            handout = handouts.made(entry.id, entry.twin, **how)
            path.write_text(nbformat.v4.writes(handout), encoding="utf-8")
    update(home() / "book" / "generated" / "downloads.md", listing(entries))


def published() -> tuple[str, str]:
    """The addresses of the book and of its repository, "" where nobody told them."""
    names = ("GROKBOOK_SITE", "GROKBOOK_REPOSITORY")
    site, repository = (os.environ.get(name, "").strip().rstrip("/") for name in names)
    return site, repository


def name_of(page_id: str, kind: str) -> str:
    """Where a handout lies among the downloads: handouts/<paper>/<page>-class.ipynb."""
    path = pages.find(page_id)
    return f"handouts/{path.parent.name}/{path.stem}-{kind}.ipynb"


def tracked(root: Path) -> list[str]:
    """What git tracks and the folder has; without git the files of an archive."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    run = subprocess.run(command, capture_output=True, text=True)
    names = run.stdout.split("\0")
    if run.returncode or not (root / ".git").exists():
        found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
        names = [p.as_posix() for p in found if p.parts[0] not in ("_build", ".venv")]
    return sorted(name for name in names if name and (root / name).is_file())


def is_of_package(name: str) -> bool:
    """Whether a handout needs a file: to install the package, or to read a record."""
    top = {"pyproject.toml", "README.md", "LICENSE", "book/contents.csv"}
    inner = ("src/", "data/records/", "data/references/")
    registered = re.fullmatch(r"book/\w+/\w+\.yaml", name)  # claims and settings
    return name in top or name.startswith(inner) or registered is not None


def pack(root: Path, names: Iterable[str], target: Path) -> None:
    """Write files below ``root`` into an archive, in one folder of its name."""
    with zipfile.ZipFile(target, "w") as opened:
        for name in names:
            about = zipfile.ZipInfo(f"{target.stem}/{name}", EPOCH)
            about.external_attr = 0o644 << 16
            stored = Path(name).suffix in STORED
            how = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            opened.writestr(about, (root / name).read_bytes(), how, 6)


def trained() -> Iterator[dict[str, Any]]:
    """Of every recorded member what it is, as `COLUMNS`."""
    for name in papers.names(""):
        for scale in SCALES:
            try:
                members = records.load(papers.get(name, scale)).members
            except RecordError:
                continue
            for key, about in members.items():
                arm, _, seed = key.rpartition("|")
                row = about | {"experiment": name, "scale": scale, "arm": arm}
                yield {key: (row | {"seed": seed}).get(key) for key in COLUMNS}


def listing(entries: Sequence[Entry]) -> str:
    """The lists of the page Downloads, as HTML that stands in Markdown."""
    whole = (
        (BOOK, "text, code, executed pages and records: all there is"),
        (PACKAGE, "the package and the records alone, which a handout installs"),
        ("records.csv", "what was trained, with how many epochs, when, and on what"),
    )
    rows: list[Sequence[Cell]]
    rows = [(_link(name), _size(name), what) for name, what in whole]
    lines = [_table(("File", "Size", "What it is"), rows), "## Notebooks to hand out"]
    for paper in FOLDERS:
        rows = [
            (f"{entry.label} · {entry.title}", *_links(entry.id))
            for entry in entries
            if entry.paper == paper
        ]
        table = _table(("Page", "For the class", "For the teacher"), rows)
        title = escape(PAPERS.get(paper, pages.START))
        lines.append(f"<details><summary>{title}</summary>{table}</details>")
    return "\n\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    return grid(head, rows, kind="downloads").html


def _size(name: str) -> str:
    megabytes = (folder() / name).stat().st_size / 1e6
    return f"{megabytes:,.1f}{SPACE}MB" if megabytes >= 0.1 else "less than 0.1 MB"


def _links(page_id: str) -> list[Html]:
    return [_link(name_of(page_id, kind), kind) for kind in KINDS]


def _link(name: str, text: str = "") -> Html:
    shown = escape(text or name)
    return Html(f'<a href="downloads/{name}" download>{shown}</a>', shown)
