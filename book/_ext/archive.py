"""The book as archives: all of it, and the package alone for those who install it.

An archive depends on nothing but the files in it, byte by byte: a handout names its
SHA-256. What belongs to the book is what git tracks; where there is no git, as in an
unpacked archive, everything that .gitignore does not name.
"""

import os
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from grokbook import __version__, files
from grokbook.errors import DataError

BOOK = f"grokking-book-{__version__}.zip"
PACKAGE = f"grokbook-{__version__}.zip"
SQUEEZED = {".parquet", ".png", ".safetensors"}  # compressed already, or noise
EPOCH = (2020, 1, 1, 0, 0, 0)  # the date of every file in an archive


def members(root: Path) -> list[str]:
    """The files of the book below its root, sorted; DataError if there are none."""
    found = sorted(_tracked(root) or _kept(root))
    if not found:
        raise DataError(f"{root} has no files of the book: unpack its archive again.")
    return found


def of_package(names: Iterable[str]) -> list[str]:
    """Those of the files that pip needs to install the package."""
    top = {"pyproject.toml", "README.md", "LICENSE"}
    return [name for name in names if name in top or name.startswith("src/")]


def pack(root: Path, names: Iterable[str], target: Path) -> Path:
    """Write files below ``root`` into an archive, in one folder of its name."""
    with files.whole(target) as temporary, zipfile.ZipFile(temporary, "w") as opened:
        for name in names:
            about = zipfile.ZipInfo(f"{target.stem}/{name}", EPOCH)
            about.external_attr = 0o644 << 16
            about.create_system = 3  # Unix, whoever packs: the bytes are the same
            dense = Path(name).suffix in SQUEEZED
            how = zipfile.ZIP_STORED if dense else zipfile.ZIP_DEFLATED
            opened.writestr(about, (root / name).read_bytes(), how, 6)
    return target


def _tracked(root: Path) -> list[str]:
    """What git tracks and the folder has; nothing without git or outside of it."""
    if not (root / ".git").exists():
        return []  # an unpacked archive inside of another repository
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [n for n in listed.stdout.split("\0") if n and (root / n).is_file()]


def _kept(root: Path) -> Iterator[str]:
    """Everything that .gitignore does not name; folders it names are not entered."""
    from pathspec import GitIgnoreSpec

    ignored = root / ".gitignore"
    lines = ignored.read_text().splitlines() if ignored.is_file() else []
    spec = GitIgnoreSpec.from_lines([*lines, ".git", ".git/"])
    for folder, folders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        folders[:] = [f for f in folders if not spec.match_file(f"{here / f}/")]
        for name in names:
            if not spec.match_file(str(here / name)):
                yield (here / name).as_posix()
