"""What can go wrong: a message names the offending value and what to do."""

import difflib
import sys
import warnings
from collections.abc import Collection, Mapping
from typing import Any


class BookError(Exception):
    """What the reader can mend; ``code`` is the exit code of the command."""

    code = 1


class UnknownName(BookError, ValueError):
    """No such name."""

    code = 2


class RecordError(BookError):
    """A record is missing, damaged, foreign or stale."""


class NoRecord(RecordError):
    """There is no record yet, which is no fault: nobody has trained it."""


class DataError(BookError):
    """A data file is missing, cannot be fetched, or is not the one that was pinned."""


class PageError(BookError, ValueError):
    """What is wrong with a page or a request for one."""


class TrainingError(BookError):
    """Training cannot start or go on."""


class Unfinished(TrainingError):
    """The time budget ended first: the same command goes on."""

    code = 75


class Diverged(TrainingError):
    """The loss of some members became NaN; ``outcomes`` has None in their place."""

    def __init__(self, message: str, outcomes: list[Any]):
        super().__init__(message)
        self.outcomes = outcomes


def choose(what: str, name: Any, known: Mapping[str, Any] | Collection[str]) -> Any:
    """``known[name]``, or the name itself; UnknownName, a ValueError, if it has none.

    "unknown loss 'x': use one of a, b": at most three near ones, or the first of all.
    """
    if isinstance(name, str) and name in known:
        return known[name] if isinstance(known, Mapping) else name
    near = difflib.get_close_matches(str(name), known, n=3) or list(known)[:12]
    raise UnknownName(f"unknown {what} {name!r}: use one of {', '.join(near)}")


def complain(sentence: str) -> None:
    """Tell a person at the command what is wrong, in one line."""
    print(f"grokbook: {sentence}", file=sys.stderr, flush=True)


def warn_in_one_line() -> None:
    """Have this process show a warning as its sentence alone, without its code."""
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
