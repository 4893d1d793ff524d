"""What a name in an arm means: a public function or class, in small letters.

"rooms" of book/project.yaml says in which module the names of each kind are looked up,
and "renamed" which recorded names are not those of the code.
"""

import importlib
from types import ModuleType
from typing import Any

import torch

from claimbook import observing, project
from claimbook.errors import BookError, choose
from claimbook.experiment import Spec


def room(kind: str) -> ModuleType:
    """The module in which names of a kind, such as "loss", are looked up.

    UnknownName for a kind that has none, BookError for a module that is not there.
    """
    if not (rooms := project.described("rooms")):
        told = "`rooms` of book/project.yaml do not say in which modules names are"
        raise BookError(f"{told}: {project.home()} is no whole checkout of a book")
    name = choose("kind of name", kind, rooms)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        told = f"book/project.yaml looks for each {kind} in {name}, which is missing"
        raise BookError(f"{told} ({error})") from error


def resolve(kind: str, spec: Spec) -> Any:
    """The function or class that a spec names; UnknownName lists the others."""
    module = room(kind)
    known = {
        name.lower(): one
        for name, one in vars(module).items()
        if callable(one)
        and one.__module__.startswith(module.__name__)
        and not name.startswith("_")
    }
    name = project.described("renamed").get(spec.name, spec.name)
    return choose(kind, name, known)


def observables() -> dict[str, observing.Observable]:
    """Every observable of the book, by name."""
    room("observable")
    return observing.OBSERVABLES


def options(spec: Spec) -> dict[str, Any]:
    """A spec's options with dtype names turned into torch dtypes."""
    known = spec.options.items()
    return {k: getattr(torch, v) if k == "dtype" else v for k, v in known}
