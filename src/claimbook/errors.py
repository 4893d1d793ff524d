"""The errors of the book: each message names the offending value and what to do."""

import contextlib
import datetime
import difflib
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin

# The extra of pyproject.toml that a package is in, if it is not "records".
EXTRAS = {"PIL": "pages", "matplotlib": "pages", "seaborn": "pages", "tiktoken": "book"}
NOUNS = {  # how a value of a type is written in a YAML file
    str: "text, in quotes if it looks like a number",
    int: "a whole number from 1 on",
    float: "a number",
    bool: "true or false",
    dict: "names with values",
    list: "a list",
    tuple: "as many values as it needs, as in [0, 1]",
    datetime.date: "a day, as in 2026-11-22",
}


class BookError(Exception):
    """An error that the reader can mend; ``code`` is the exit code of the command."""

    code = 1


class UnknownName(BookError, ValueError):
    """A name that is not one of those that are known."""

    code = 2


class RecordError(BookError):
    """A record is missing, damaged, foreign or stale."""


class NoRecord(RecordError):
    """There is no record yet, which is not a fault: nobody trained the experiment."""


class DataError(BookError):
    """A data file is missing, cannot be fetched, or is not the one that was pinned."""


class NotInstalled(BookError, ImportError):
    """A package is missing that an extra of pyproject.toml has."""


class PageError(BookError, ValueError):
    """A page, or a request for one, is wrong."""


class TrainingError(BookError):
    """Training cannot start or go on."""


class Unfinished(TrainingError):
    """The time budget ended before the training; the same command continues it."""

    code = 75


class Diverged(TrainingError):
    """The loss of some members became NaN.

    ``outcomes`` has, in their order, the results of all members trained together, and
    None for those whose loss did.
    """

    def __init__(self, message: str, outcomes: list[Any]):
        super().__init__(message)
        self.outcomes = outcomes


def choose(what: str, name: Any, known: Mapping[str, Any] | Collection[str]) -> Any:
    """Return ``known[name]``, or the name itself if ``known`` is not a mapping.

    Raises UnknownName if ``known`` does not have the name: "unknown loss 'x': use one
    of a, b". All names are listed if there are at most three, else those that are
    near, three at most, or the first twelve if none is near; one that has a comma is
    quoted. ``what`` is the kind of thing that is named, such as "loss". A caller that
    needs only the error drops the result.
    """
    if isinstance(name, str) and name in known:
        return known[name] if isinstance(known, Mapping) else name
    near = difflib.get_close_matches(str(name), known, n=3)
    if len(known) <= 3:
        near += [other for other in known if other not in near]
    near = near or list(known)[:12]
    listed = ", ".join(repr(other) if "," in other else other for other in near)
    listed = listed or "none, as none is known"
    raise UnknownName(f"unknown {what} {name!r}: use one of {listed}")


def check_type(where: str, value: Any, kind: Any) -> None:
    """Raise BookError if a value that was read from a file is not of a type.

    ``kind`` is a type as in an annotation: ``dict[str, list[int]]``. None is never
    right, as no file says it: ``float | None`` counts as ``float``. A whole number
    counts something, so it is at least 1; infinity is a number, NaN is not. A tuple is
    written as a list of its length, with all items of the tuple's last type. Keys of a
    dict are not checked. ``where``, the file and the place of the value in it, begins
    the error's sentence.
    """
    parts = get_args(kind)  # of dict[str, int] str and int
    kind = get_origin(kind) or kind
    if kind is UnionType:
        kind = parts[0]
    accepted = {float: int | float, tuple: list}.get(kind, kind)
    is_right = isinstance(value, accepted) and value == value  # NaN is not
    is_right &= isinstance(value, bool) == (kind is bool)  # True is an int too
    if kind is int:
        is_right = is_right and value >= 1
    if kind is tuple:
        is_right = is_right and len(value) == len(parts)
    if not is_right:
        raise BookError(f"{where} is {value!r}: write {NOUNS[kind]}")
    if isinstance(value, list):
        value = dict(enumerate(value, start=1))  # so that `where` counts the items
    if parts and isinstance(value, dict):
        for name, part in value.items():
            check_type(f"{where}, {name}", part, parts[-1])


def refuse_text(what: str, names: Any) -> None:
    """Raise UnknownName if ``names`` is a text where a list of names is asked.

    Python would iterate over the letters of such a text. ``what`` is the name of the
    argument.
    """
    if isinstance(names, str):
        raise UnknownName(f"{what} is a list of names: write [{names!r}]")


@contextlib.contextmanager
def needing_extra() -> Iterator[None]:
    """Raise NotInstalled if the block, or a decorated function, lacks a package.

    Its message names the extra of pyproject.toml that has the package: that of
    ``EXTRAS``, else "records".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(package, "records")
        raise NotInstalled(
            f"{package} is not installed: pip install 'grokking-book[{extra}]'"
        ) from error


def one_line(error: BaseException) -> str:
    """Return the type and the message of an error in one line: "KeyError: 'a'"."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def complain(sentence: str) -> None:
    """Print on stderr a sentence that says what is wrong, after "grokbook: "."""
    print(f"grokbook: {sentence}", file=sys.stderr, flush=True)


def warn_in_one_line() -> None:
    """Make this process print a warning as its message, without place and code."""
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
