"""Where the book lies on this machine, which code it is, and how a file is written."""

import contextlib
import importlib.util
import os
import secrets
import subprocess
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from claimbook import sources
from claimbook.errors import BookError, choose

CLAIMS_MIME = "application/vnd.grokbook.claims+json"
FIGURE_MIME = "application/vnd.grokbook.figure+json"
# The parts of project.yaml.
PARTS = ["rooms", "renamed", "settings", "folders", "papers"]
PARTS += ["smoke", "called", "colours", "committed"]

is_retrained = False  # whether a page of this process trains its runs anew


def home() -> Path:
    """The checkout of GROKBOOK_HOME, of this package, or around the working directory.

    Else package and records as the site of the book, GROKBOOK_SITE, has them, fetched
    once into the user's cache. BookError where there is none of these.
    """
    if told := os.environ.get("GROKBOOK_HOME"):
        if Path(told).exists():
            return Path(told)
        raise BookError(f"{told} is no checkout of the book: mend GROKBOOK_HOME")
    above = (Path("../" * k) for k in range(20))  # this folder may be gone
    for place in (Path(__file__).resolve().parents[2], *above):
        if (place / "book").is_dir() and (place / "data" / "records").is_dir():
            return place.resolve()
    if site := os.environ.get("GROKBOOK_SITE"):
        return _fetched(site.rstrip("/"))
    raise BookError(
        "the working directory is in no checkout of the book: set GROKBOOK_HOME to the "
        "folder that has or shall have data/records, or GROKBOOK_SITE to its address"
    )


@cache
def _fetched(site: str) -> Path:
    """What the site has for downloading; each record is compared with its digest."""
    address = f"{site}/downloads/grokbook.zip"
    try:
        import pooch

        pooch.get_logger().setLevel("WARNING")
        folder = pooch.os_cache("grokking-book") / sha256(site.encode()).hexdigest()[:8]
        how: dict[str, Any] = {"fname": "grokbook.zip", "path": folder}
        pooch.retrieve(address, None, processor=pooch.Unzip(extract_dir="."), **how)
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).partition("\n")[0][:120]
        told = f"{address} cannot be fetched ({reason}): set GROKBOOK_HOME to a copy"
        raise BookError(told) from error
    return folder / "grokbook"


def described(part: str) -> Any:
    """A part of book/project.yaml, such as "papers"; empty where only records lie.

    BookError where experiments lie beside no such file, or one that is no YAML;
    UnknownName for a key in it that nobody reads.
    """
    return _description(home() / "book").get(part, {})


@cache
def _description(book: Path) -> dict[str, Any]:
    import yaml

    path = book / "project.yaml"
    if not path.is_file():
        if any(book.glob("*/experiments.py")):
            raise BookError(f"{path} is missing: take it from git again")
        return {}
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise BookError(f"{path} is no YAML ({reason})") from error
    for key in found:
        choose(f"key in {path}", key, PARTS)
    return found


def paper_titles() -> dict[str, str]:
    """The folders below book that replicate a paper, and what each is called."""
    return described("papers")


def page_folders() -> list[str]:
    """The folders below book that hold pages, in the order of the book."""
    return [*described("folders")]


def records_folder() -> Path:
    """GROKBOOK_RECORDS if set, else data/records of the checkout."""
    return Path(os.environ.get("GROKBOOK_RECORDS") or home() / "data" / "records")


def data_folder() -> Path:
    """Folder of the public data sets: GROKBOOK_DATA, else data/downloads."""
    return Path(os.environ.get("GROKBOOK_DATA") or home() / "data" / "downloads")


@cache
def commit() -> str:
    """GROKBOOK_COMMIT, else git's at the first call, "+" if what trains differs."""
    if told := os.environ.get("GROKBOOK_COMMIT"):
        return told  # a machine that got a copy may have a git of its own
    git = partial(subprocess.check_output, text=True, stderr=subprocess.DEVNULL)
    what = ["git", "status", "--porcelain", "--", "src", "book/*/experiments.py"]
    try:
        changed = "+" * bool(git(what, cwd=home()))
        head = git(["git", "rev-parse", "--short=10", "HEAD"], cwd=home())
        return head.strip() + changed
    except (OSError, subprocess.CalledProcessError, BookError):
        return "unknown"


@cache
def source() -> str:
    """SHA-256 of the code that trains and measures, as it is at the first call.

    It outlives a commit that is rewritten; no comment changes it, and nothing else that
    training and measuring do not run.
    """
    return sources.digest_of(trains(), packages())


def trains() -> list[str]:
    """The modules that, with all that they import, train and measure a member."""
    return ["claimbook.engine.loop", *dict.fromkeys(described("rooms").values())]


def packages() -> dict[str, Path]:
    """The folders of the packages that train and measure: this one and the rooms'."""
    found = {"claimbook": Path(__file__).parent}
    for name in {room.partition(".")[0] for room in described("rooms").values()}:
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            found[name] = Path(folder)
    return found


def note_code() -> None:
    """Remember commit and source as they are now: records will name these."""
    commit()
    source()


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write to, renamed to ``path`` when all went well.

    Whatever goes wrong leaves ``path`` as it was; of several writers the last one wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield mine
        with mine.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(mine, path)
        folder = os.open(path.parent, os.O_RDONLY)  # which holds the new name
        os.fsync(folder)
        os.close(folder)
    finally:
        mine.unlink(missing_ok=True)
