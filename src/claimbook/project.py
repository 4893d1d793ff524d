"""The folders of a book, its project.yaml, the version of its code, and file access."""

import contextlib
import glob
import importlib.util
import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from claimbook import archive, sources
from claimbook.errors import BookError, check_type, choose, needing_extra

CLAIMS_MIME = "application/vnd.grokbook.claims+json"
FIGURE_MIME = "application/vnd.grokbook.figure+json"
PARTS = {  # of project.yaml, with their types
    "modules": dict[str, str],
    "renamed": dict[str, str],
    "settings": dict[str, str],
    "folders": list[str],
    "papers": dict[str, str],
    "smoke": dict[str, int],
    "ranges": dict[str, tuple[float, float]],
    "bounds": dict[str, tuple[float, float]],
    "called": dict[str, str],
    "colours": dict[str, list[str]],
    "committed": list[str],
}
YAML_END = "\n..."  # the last line of project.yaml, which is missing from a cut file
CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.M)  # lines of a merge in git
ABANDONED = 600.0  # seconds after which nobody is still writing a temporary file

# Whether pages of this process train their runs anew; `evidence.Page` sets it.
is_retrained = False


def home() -> Path:
    """Return the folder of the book, which holds book and data/records.

    It is the first of these that exists: the checkout that GROKBOOK_HOME names, the one
    that this package lies in, the user's own around the working directory, or the
    records of the site GROKBOOK_SITE, see `archive.site_folder`. Raises BookError if
    there is none, or if GROKBOOK_HOME names no folder.
    """
    try:
        working_directory = os.getcwd()
    except FileNotFoundError:  # it was deleted
        working_directory = ""
    folder, site = os.environ.get("GROKBOOK_HOME"), os.environ.get("GROKBOOK_SITE")
    return _home(folder, site, working_directory)


@cache
def _home(folder: str | None, site: str | None, _working_directory: str) -> Path:
    """Return the folder of `home`, searched once for all calls in the same place.

    ``folder`` and ``site`` are what GROKBOOK_HOME and GROKBOOK_SITE name, or None. The
    working directory is an argument only so that the cache tells places apart.
    """
    if folder:
        if Path(folder).is_dir():
            return Path(folder)
        raise BookError(f"{folder} is not a checkout of the book: mend GROKBOOK_HOME")
    packaged = Path(__file__).resolve().parents[2]
    if _is_checkout(packaged):
        return packaged
    # relative paths, as Path.cwd() raises where the working directory was deleted
    for level in range(20):  # the working directory, its parent and so on
        checkout = Path("../" * level)
        if _is_checkout(checkout) and _is_own(checkout):
            return checkout.resolve()
    if site:
        return archive.site_folder(site)
    raise BookError(
        "the working directory is in no checkout of the book that is yours: set "
        "GROKBOOK_HOME to the folder that has or shall have data/records, or "
        "GROKBOOK_SITE to its address"
    )


def _is_checkout(folder: Path) -> bool:
    """Return whether a folder has the folders "book" and "data/records"."""
    return (folder / "book").is_dir() and (folder / "data" / "records").is_dir()


def _is_own(checkout: Path) -> bool:
    """Return whether a checkout belongs to the user, so that its code may run.

    Anybody can lay a folder "book" into one that users share, such as /tmp. One that
    lacks book/project.yaml counts as nobody's.
    """
    marker = checkout / "book" / "project.yaml"
    places = (checkout, marker.parent, marker)
    return marker.is_file() and all(p.stat().st_uid == os.getuid() for p in places)


def part(name: str) -> Any:
    """Return a part of book/project.yaml, such as "papers"; {} if it is not there.

    ``name`` is a key of `PARTS`. Callers must not change the result: all get the same.
    A folder that holds only records needs no project.yaml. Raises BookError if there
    are experiments and no such file, or if the file is damaged or has a part of another
    type than `PARTS` says, and UnknownName if it has a key that nobody reads.
    """
    return _description(home() / "book").get(name, {})


@cache
def _description(book: Path) -> dict[str, Any]:
    """Return all parts of the project.yaml in a folder, read once; see `part`."""
    path = book / "project.yaml"
    has_code = any(book.glob("*/experiments.py"))  # else all parts may be missing
    if not path.is_file() and has_code:
        raise BookError(f"{path} is missing: take it from git again")
    parts: dict[str, Any] = read_yaml(path)
    for key, content in parts.items():
        kind = choose(f"key in {path}", key, PARTS)
        check_type(f"{path}, {key}", content, kind)
    if has_code and not read_text(path).rstrip().endswith(YAML_END):
        raise BookError(
            f"{path} does not end with a line of three dots, so a part of it may be "
            "gone: take it from git again, or write that line"
        )
    return parts


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises BookError, which names the file, if it is missing or not in UTF-8, or if git
    left a conflict in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BookError(f"{path} is missing: take it from git again") from error
    except UnicodeError as error:
        message = f"{path} is not in UTF-8 ({error}): take it from git again"
        raise BookError(message) from error
    if conflict := CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BookError(f"{path}, line {line}, is of a conflict in git: resolve it")
    return text


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; that of a file of JSON lines is a list.

    Raises BookError, which names the file, if it is missing or not JSON. The name of a
    file of JSON lines ends in ".jsonl".
    """
    text = read_text(path)
    try:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines()]
        return json.loads(text)
    except ValueError as error:
        message = f"{path} is no JSON ({error}): take it from git again"
        raise BookError(message) from error


@needing_extra()
def read_yaml(path: Path, kind: type = dict) -> Any:
    """Return the content of a YAML file, which callers must not change.

    ``kind`` is the type of the content. For a file that is missing or empty the result
    is empty, of that type. Raises BookError, which names the file, if the file is not
    YAML, has a key twice or has content of another type.
    """
    import yaml

    try:
        text = read_text(path) if path.is_file() else ""
        content = parse_yaml(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise BookError(f"{path} is not YAML: {reason}") from error
    if content is None:
        return kind()
    check_type(str(path), content, kind)
    return content


@lru_cache(maxsize=16)
def parse_yaml(text: str) -> Any:
    """Return the content of a text in YAML, which callers must not change.

    It is None for a text without content. Raises YAMLError if the text is not YAML, has
    a date that there is not, or has a key twice in a mapping.
    """
    import yaml

    try:
        return yaml.load(text, _yaml_loader())
    except ValueError as error:  # of a value, such as the date 2026-13-01
        raise yaml.YAMLError(str(error)) from error


@cache
def _yaml_loader() -> Any:
    """Return the class of a loader that refuses a key that a mapping has twice.

    PyYAML's own takes the last of the two.
    """
    import yaml

    class Loader(yaml.CSafeLoader):  # ten times as fast as SafeLoader
        def flatten_mapping(self, node: Any) -> None:
            """Merge into a node what its keys ``<<`` name.

            Raises YAMLError if the node has a key twice. One that others merge comes
            here again, when merged keys stand beside its own.
            """
            if getattr(node, "has_distinct_keys", False):
                return
            line_of_key = dict[tuple[str, str], int]()
            for key, _ in node.value:
                identity = (key.tag, str(key.value))  # 1 and "1" are two keys
                line = key.start_mark.line + 1
                if identity in line_of_key:
                    earlier = line_of_key[identity]
                    raise yaml.YAMLError(
                        f"line {line} has the key {key.value!r} of line {earlier} "
                        "once more: leave one out"
                    )
                line_of_key[identity] = line
            node.has_distinct_keys = True
            super().flatten_mapping(node)

    return Loader


def paper_titles() -> dict[str, str]:
    """Return {folder below book: title of its paper}."""
    return part("papers")


def page_folders() -> list[str]:
    """Return the folders below book that hold pages, in the order of the book."""
    return [*part("folders")]


def records_folder() -> Path:
    """Return the folder of the book's records: GROKBOOK_RECORDS, else data/records."""
    return Path(os.environ.get("GROKBOOK_RECORDS") or home() / "data" / "records")


def reruns_folder() -> Path:
    """Return the folder of a reader's own trainings, data/reruns."""
    return home() / "data" / "reruns"


def data_folder() -> Path:
    """Return the folder of public data sets: GROKBOOK_DATA, else data/downloads."""
    return Path(os.environ.get("GROKBOOK_DATA") or home() / "data" / "downloads")


@cache
def commit() -> str:
    """Return the commit of the code: GROKBOOK_COMMIT, else what git says at first call.

    It has ten digits, and a "+" if src or an experiments.py differs from the commit, or
    is not in it. It is "unknown" if there is no git, no repository or no book.
    """
    if named := os.environ.get("GROKBOOK_COMMIT"):
        return named  # a machine that got a copy may have a git of its own
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
    """Return the SHA-256 of the code that trains and measures, as at the first call.

    A commit that is rewritten does not change it, nor do comments or code that training
    and measuring do not run.
    """
    return sources.digest_of(training_modules(), packages())


def training_modules() -> list[str]:
    """Return the names of the modules from which training and measuring start.

    Whatever they import belongs to the code of a training too.
    """
    return ["claimbook.engine.loop", *dict.fromkeys(part("modules").values())]


def packages() -> dict[str, Path]:
    """Return {name: folder} of the packages that train and measure a member.

    These are this package and those that "modules" of book/project.yaml names. One that
    is not installed is left out.
    """
    folders = {"claimbook": Path(__file__).parent}
    # "grokbook" for the module "grokbook.models"
    for name in {module.partition(".")[0] for module in part("modules").values()}:
        spec = importlib.util.find_spec(name)
        locations = spec.submodule_search_locations if spec else None
        for folder in locations or ():  # a module of one file has none
            folders[name] = Path(folder)
    return folders


def note_code() -> None:
    """Compute `commit` and `source` of the code now, before somebody may edit it.

    Records name both as what trained them. They are cached, so edits during a long
    training do not change them.
    """
    commit()
    source()


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give the block a temporary path to write, which replaces ``path`` at its end.

    If the block raises, ``path`` stays as it was. Of several writers the last one wins.
    The temporary path is "<path>.<random digits>.part", which is missing when the block
    begins. Folders of the path are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        # On the disk before it gets its name: a power cut leaves the old or the new.
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)  # the folder holds the new name
        os.fsync(folder)
        os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


def remove_parts(path: Path) -> None:
    """Remove the temporary files that killed processes left beside a file.

    ``path`` is the file that was to be written; `written_whole` says how its temporary
    files are called. Those younger than ABANDONED seconds are kept, since another
    process may be writing them.
    """
    for temporary in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
        with contextlib.suppress(FileNotFoundError):  # its writer has ended meanwhile
            if time.time() - temporary.stat().st_mtime > ABANDONED:
                temporary.unlink()
