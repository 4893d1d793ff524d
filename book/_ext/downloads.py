"""What a reader can take away, made in _build/downloads and carried by the site.

grokking-book.zip   everything that git tracks
grokbook.zip        package and records alone, which handouts install
handouts/<paper>/…  two notebooks per page and worksheet, and handouts.zip all of them
handouts/worksheets what a worksheet reads, as CSV, beside it
worksheets.zip      all worksheets for the class, with these
records.csv         what was trained, and which file it is
runs.parquet        the same with settings and outcome, a row per member
claims.json         what the papers say and what came of it; also in grokbook.zip
CITATION.cff        how to cite the book
croissant.json      a description of the records for machines (Croissant)
quiz.gift           the questions, as Moodle and others read them
"""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import nbformat

import grokbook
from book._ext import handouts, runs, teaching
from book._ext.entries import Entry, write_if_changed, yaml_of
from claimbook.project import home

BOOK, PACKAGE = "grokking-book.zip", "grokbook.zip"
DESCRIBED = (PACKAGE, "records.csv", "runs.parquet", "claims.json")  # in croissant.json
KINDS = {"class": False, "teacher": True}  # kind of a handout -> has it the solutions?
STORED = {".parquet", ".png", ".safetensors"}  # compressed already, or noise


def folder() -> Path:
    """Return the folder of all downloads."""
    return home() / "_build" / "downloads"


def write(entries: Sequence[Entry]) -> None:
    """Write all downloads, in place of those that were there."""
    target, names = folder(), tracked(home())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    pack(home(), names, target / BOOK)
    pack(home(), filter(is_of_package, names), target / PACKAGE)
    with zipfile.ZipFile(target / PACKAGE, "a") as archive:
        grokbook.verdicts().to_json(target / "claims.json", orient="records")
        archive.write(target / "claims.json", "grokbook/data/claims.json")
    shutil.copy2(home() / "data/records/index.csv", target / "records.csv")
    shutil.copy2(home() / "CITATION.cff", target)
    table = runs.table()
    table.to_parquet(target / "runs.parquet", index=False)
    site, _ = published()
    digests = {n: sha256((target / n).read_bytes()).hexdigest() for n in DESCRIBED}
    description = handouts.render_file(
        "croissant.json",
        site=site,
        sha256=digests,
        title=yaml_of("CITATION.cff")["title"],
        version=runs.version(table),
        day=table["finished"].max(),
        fields=runs.fields(table),
    )
    write_if_changed(target / "croissant.json", description)
    quiz = handouts.render_file("quiz.gift", questions=teaching.questions())
    write_if_changed(target / "quiz.gift", quiz)
    start = {"site": site, "archive": PACKAGE, "sha256": digests[PACKAGE]}
    _write_handouts(entries, target, site, start)
    shutil.make_archive(str(target / "handouts"), "zip", target, "handouts")
    sheets = target / "handouts" / "worksheets"
    names = sorted(p.name for p in sheets.iterdir() if "-teacher" not in p.name)
    pack(sheets, names, target / "worksheets.zip")


def _write_handouts(
    entries: Sequence[Entry], target: Path, site: str, start: dict[str, str]
) -> None:
    """Write the notebooks of pages and worksheets, and the tables of the latter.

    ``site`` and ``start`` are as `handouts.page_handout` takes them.
    """
    files_of = {path: handouts.worksheet_tables(path) for path in handouts.worksheets()}
    sheets = target / "handouts" / "worksheets"
    sheets.mkdir(parents=True)
    for files in files_of.values():
        for name, content in files.items():
            (sheets / name).write_bytes(content)
    for kind, solutions in KINDS.items():
        notebook_of = {
            entry.document: handouts.page_handout(
                entry.id, entry.twin, solutions=solutions, site=site, start=start
            )
            for entry in entries
        }
        for path, files in files_of.items():
            notebook_of[f"worksheets/{path.stem}"] = handouts.worksheet_handout(
                path, solutions=solutions, site=site, files=files
            )
        for document, notebook in notebook_of.items():
            text = nbformat.v4.writes(notebook)
            write_if_changed(target / name_of(document, kind), text)


def published() -> tuple[str, str]:
    """Return the addresses of site and repository from the environment, "" if unset.

    The publishing workflow sets them. The digest that may follow the address of the
    site is for who reads its records from there, and is left out.
    """
    names = ("GROKBOOK_SITE", "GROKBOOK_REPOSITORY")
    addresses = (os.environ.get(name, "").partition("#")[0] for name in names)
    site, repository = (address.strip().rstrip("/") for address in addresses)
    return site, repository


def name_of(document: str, kind: str) -> str:
    """Return where the handout of a document lies among the downloads.

    ``document`` is as in "liu2026/fig01_precision", ``kind`` one of ``KINDS``.
    """
    return f"handouts/{document}-{kind}.ipynb"


def tracked(root: Path) -> list[str]:
    """Return the files of a folder that git tracks, relative to it, sorted.

    Without git, as in an unpacked archive, they are all but what is built.
    """
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z"]
        names = subprocess.check_output(command, text=True).split("\0")
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
        names = [name for name in names if not name.startswith(("_build/", ".venv"))]
    return sorted(name for name in names if (root / name).is_file())


def is_of_package(name: str) -> bool:
    """Return whether a handout needs a file: of the package, or to read a record."""
    inner = r"(src|data/re(cords|ferences))/.*|data/README\.md|CITATION\.cff"
    inner += r"|book/(project\.yaml|(defaults|keys)\.json)"
    inner += r"|book/\w+/(\w+\.yaml|(experiments|race|operations)\.py)"
    return bool(re.fullmatch(rf"{inner}|pyproject\.toml|README\.md|LICENSE", name))


def pack(root: Path, names: Iterable[str], target: Path) -> None:
    """Write files below ``root`` into an archive, in one folder of its name."""
    with zipfile.ZipFile(target, "w", compresslevel=6) as archive:
        for name in names:
            is_stored = Path(name).suffix in STORED
            method = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
            archive.write(root / name, f"{target.stem}/{name}", method)
