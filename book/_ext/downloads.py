"""What a reader can take away, made in _build/downloads and carried by the site.

grokking-book.zip   everything that git tracks
grokbook.zip        package and records alone, which handouts install
handouts/<paper>/…  two notebooks per page and worksheet, and handouts.zip all of them
handouts/worksheets what a worksheet reads, as CSV, beside it
worksheets.zip      all worksheets for the class, with these
records.csv         what was trained, and which file it is
runs.parquet        the same with settings and outcome, a row per member
claims.json         what the papers say and what came of it; also in grokbook.zip
croissant.json      what machines are told of the records
quiz.gift           the questions, as Moodle and others read them
"""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import nbformat

import grokbook
from book._ext import handouts, runs, teaching
from book._ext.entries import Entry, stated, update
from claimbook.project import home

BOOK, PACKAGE = "grokking-book.zip", "grokbook.zip"
DESCRIBED = (PACKAGE, "records.csv", "runs.parquet", "claims.json")  # in croissant.json
KINDS = {"class": False, "teacher": True}  # -> whether it has the solutions
STORED = {".parquet", ".png", ".safetensors"}  # compressed already, or noise


def folder() -> Path:
    return home() / "_build" / "downloads"


def write(entries: Sequence[Entry]) -> None:
    """Make all downloads."""
    target, names = folder(), tracked(home())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    pack(home(), names, target / BOOK)
    pack(home(), filter(is_of_package, names), target / PACKAGE)
    with zipfile.ZipFile(target / PACKAGE, "a") as opened:
        grokbook.verdicts().to_json(target / "claims.json", orient="records")
        opened.write(target / "claims.json", "grokbook/data/claims.json")
    shutil.copy2(home() / "data/records/index.csv", target / "records.csv")
    every = runs.table()
    every.to_parquet(target / "runs.parquet", index=False)
    site, _ = published()
    known = {n: sha256((target / n).read_bytes()).hexdigest() for n in DESCRIBED}
    told = handouts.filled(
        "croissant.json",
        site=site,
        sha256=known,
        title=stated("CITATION.cff")["title"],
        version=runs.version(every),
        day=every["finished"].max(),
        fields=runs.fields(every),
    )
    update(target / "croissant.json", told)
    quiz = handouts.filled("quiz.gift", questions=teaching.questions())
    update(target / "quiz.gift", quiz)
    start = {"site": site, "archive": PACKAGE, "sha256": known[PACKAGE]}
    sheets = {path: handouts.tables(path) for path in handouts.worksheets()}
    desk = target / "handouts" / "worksheets"
    desk.mkdir(parents=True)
    for files in sheets.values():
        for name, content in files.items():
            (desk / name).write_bytes(content)
    for kind, solutions in KINDS.items():
        made = partial(handouts.made, solutions=solutions, site=site, start=start)
        sheet = partial(handouts.worksheet, solutions=solutions, site=site)
        books = {entry.document: made(entry.id, entry.twin) for entry in entries}
        books |= {f"worksheets/{p.stem}": sheet(p, files=f) for p, f in sheets.items()}
        for document, book in books.items():
            update(target / name_of(document, kind), nbformat.v4.writes(book))
    shutil.make_archive(str(target / "handouts"), "zip", target, "handouts")
    names = sorted(path.name for path in desk.iterdir() if "-teacher" not in path.name)
    pack(desk, names, target / "worksheets.zip")


def published() -> tuple[str, str]:
    """Addresses of book and repository, as the publishing workflow has them, or "".

    A digest behind the address of the book is for who reads its records from there.
    """
    names = ("GROKBOOK_SITE", "GROKBOOK_REPOSITORY")
    given = (os.environ.get(name, "").partition("#")[0] for name in names)
    site, repository = (address.strip().rstrip("/") for address in given)
    return site, repository


def name_of(document: str, kind: str) -> str:
    """Where the handout of liu2026/fig01_precision lies among the downloads."""
    return f"handouts/{document}-{kind}.ipynb"


def tracked(root: Path) -> list[str]:
    """What git tracks and the folder has; without git the files of an archive."""
    names = [p.relative_to(root).as_posix() for p in root.rglob("*")]
    names = [name for name in names if not name.startswith(("_build/", ".venv"))]
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z"]
        names = subprocess.check_output(command, text=True).split("\0")
    return sorted(name for name in names if (root / name).is_file())


def is_of_package(name: str) -> bool:
    """Whether a handout needs a file: to install the package, or to read a record."""
    inner = r"(src|data/re(cords|ferences))/.*"
    inner += r"|book/(project\.yaml|(defaults|keys)\.json)"
    inner += r"|book/\w+/(\w+\.yaml|(experiments|race|operations)\.py)"
    return bool(re.fullmatch(rf"{inner}|pyproject\.toml|README\.md|LICENSE", name))


def pack(root: Path, names: Iterable[str], target: Path) -> None:
    """Write files below ``root`` into an archive, in one folder of its name."""
    with zipfile.ZipFile(target, "w", compresslevel=6) as opened:
        for name in names:
            stored = Path(name).suffix in STORED
            how = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            opened.write(root / name, f"{target.stem}/{name}", how)
