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
PARTS += ["smoke", "ranges", "called", "colours", "committed"]

is_retrained = False  # whether pages of this process train their runs anew


def home() -> Path:
    """Return the folder of the book, which holds book and data/records.

    It is the first of these that there is: the checkout that GROKBOOK_HOME names, the
    one that this package lies in, the one around the working directory, or a download
    from the site GROKBOOK_SITE, which is made once into the user's cache. Raises
    BookError if there is none, or if GROKBOOK_HOME names no folder.
    """
    try:
        working_directory = os.getcwd()
    except FileNotFoundError:  # it was deleted
        working_directory = ""
    named = os.environ.get("GROKBOOK_HOME"), os.environ.get("GROKBOOK_SITE")
    return _home(*named, working_directory)


@cache
def _home(folder: str | None, site: str | None, _working_directory: str) -> Path:
    """Find the folder once for all calls that are made in the same place."""
    if folder:
        if Path(folder).exists():
            return Path(folder)
        raise BookError(f"{folder} is no checkout of the book: mend GROKBOOK_HOME")
    # relative paths, as Path.cwd() raises where the working directory was deleted
    parents = (Path("../" * level) for level in range(20))
    for checkout in (Path(__file__).resolve().parents[2], *parents):
        if (checkout / "book").is_dir() and (checkout / "data" / "records").is_dir():
            return checkout.resolve()
    if site:
        return _fetched(site.rstrip("/"))
    raise BookError(
        "the working directory is in no checkout of the book: set GROKBOOK_HOME to the "
        "folder that has or shall have data/records, or GROKBOOK_SITE to its address"
    )


@cache
def _fetched(site: str) -> Path:
    """Download the package and records from a site, and return their folder.

    The archive has no known digest, but each record is compared with its own when it is
    read. Raises BookError if the site cannot be reached.
    """
    address = f"{site}/downloads/grokbook.zip"
    try:
        import pooch

        pooch.get_logger().setLevel("WARNING")
        folder = pooch.os_cache("grokking-book") / sha256(site.encode()).hexdigest()[:8]
        pooch.retrieve(
            address,
            known_hash=None,
            fname="grokbook.zip",
            path=folder,
            processor=pooch.Unzip(extract_dir="."),
        )
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).partition("\n")[0][:120]
        message = f"{address} cannot be fetched ({reason}): set GROKBOOK_HOME to a copy"
        raise BookError(message) from error
    return folder / "grokbook"


def described(part: str) -> Any:
    """Return a part of book/project.yaml, such as "papers", or {} if it has none.

    A folder that holds only records needs no project.yaml. Raises BookError if there
    are experiments and no such file, or if it is no YAML; UnknownName if it has a key
    that nobody reads.
    """
    return _description(home() / "book").get(part, {})


@cache
def _description(book: Path) -> dict[str, Any]:
    """Return all parts of the project.yaml in a folder; see `described`."""
    import yaml

    path = book / "project.yaml"
    if not path.is_file():
        if any(book.glob("*/experiments.py")):
            raise BookError(f"{path} is missing: take it from git again")
        return {}
    try:
        parts = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise BookError(f"{path} is no YAML ({reason})") from error
    for key in parts:
        choose(f"key in {path}", key, PARTS)
    return parts


def paper_titles() -> dict[str, str]:
    """Return the papers' titles by the folders below book that replicate them."""
    return described("papers")


def page_folders() -> list[str]:
    """Return the folders below book that hold pages, in the order of the book."""
    return [*described("folders")]


def records_folder() -> Path:
    """Return the folder of the records: GROKBOOK_RECORDS, else data/records."""
    return Path(os.environ.get("GROKBOOK_RECORDS") or home() / "data" / "records")


def reruns_folder() -> Path:
    """Return the folder of a reader's own trainings, which no record of the book is."""
    return home() / "data" / "reruns"


def data_folder() -> Path:
    """Return the folder of public data sets: GROKBOOK_DATA, else data/downloads."""
    return Path(os.environ.get("GROKBOOK_DATA") or home() / "data" / "downloads")


@cache
def commit() -> str:
    """Return the commit of the code: GROKBOOK_COMMIT, else what git says at first call.

    A "+" is added if src or an experiments.py differs from the commit. Returns
    "unknown" if there is no git or no repository.
    """
    if given := os.environ.get("GROKBOOK_COMMIT"):
        return given  # a machine that got a copy may have a git of its own
    git = partial(subprocess.check_output, text=True, stderr=subprocess.DEVNULL)
    status = ["git", "status", "--porcelain", "--", "src", "book/*/experiments.py"]
    try:
        changes = git(status, cwd=home())
        head = git(["git", "rev-parse", "--short=10", "HEAD"], cwd=home()).strip()
        return f"{head}+" if changes else head
    except (OSError, subprocess.CalledProcessError, BookError):
        return "unknown"


@cache
def source() -> str:
    """Return the SHA-256 of the code that trains and measures, as of the first call.

    A commit that is rewritten does not change it, nor do comments or code that training
    and measuring do not run.
    """
    return sources.digest_of(trains(), packages())


def trains() -> list[str]:
    """Return the modules that train and measure a member, with all that they import."""
    return ["claimbook.engine.loop", *dict.fromkeys(described("rooms").values())]


def packages() -> dict[str, Path]:
    """Return the folders, by name, of the packages that train and measure a member.

    These are this package and those of the modules in "rooms" of book/project.yaml.
    """
    folders = {"claimbook": Path(__file__).parent}
    for name in {module.partition(".")[0] for module in described("rooms").values()}:
        spec = importlib.util.find_spec(name)
        locations = spec.submodule_search_locations if spec else None
        for folder in locations or ():  # a module of one file has none
            folders[name] = Path(folder)
    return folders


def note_code() -> None:
    """Note commit and source as they are now, since records name what was trained.

    Both are cached, so edits during a long training do not change them.
    """
    commit()
    source()


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give the block a temporary path to write, which becomes ``path`` at the end.

    If the block raises, ``path`` stays as it was. Of several writers the last one wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)  # the folder holds the new name
        os.fsync(folder)
        os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)
