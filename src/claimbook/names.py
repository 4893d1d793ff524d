"""What a name in an arm means: a public function or class, in small letters.

"rooms" of book/project.yaml gives the module in which names of each kind are looked up.
"renamed" gives the names that are recorded but that the code does not have any more.
"""

import importlib
import inspect
from types import ModuleType
from typing import Any

import torch

from claimbook import observing, project
from claimbook.errors import BookError, choose
from claimbook.experiment import Spec


def module_of(kind: str) -> ModuleType:
    """Import and return the module that has the names of a kind, such as "loss".

    Raises UnknownName if the kind has no module in book/project.yaml, BookError if
    no kind has one or if the module cannot be found.
    """
    modules = project.described("rooms")
    if not modules:
        raise BookError(
            "`rooms` of book/project.yaml do not say in which modules names are: "
            f"{project.home()} is no whole checkout of a book"
        )
    name = choose("kind of name", kind, modules)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BookError(
            f"book/project.yaml looks for each {kind} in {name}, which is missing "
            f"({error})"
        ) from error


def resolve(kind: str, spec: Spec) -> Any:
    """Return the function or class that a spec names, such as ``MLP`` for "mlp".

    The candidates are the public functions and classes in the module of the kind that
    are defined there or in a submodule. Raises UnknownName, which lists near names, if
    none is called so.
    """
    module = module_of(kind)
    known = {}
    for name, value in vars(module).items():
        is_public = callable(value) and not name.startswith("_")
        # what the module imports from other packages is no candidate
        if is_public and value.__module__.startswith(module.__name__):
            known[name.lower()] = value
    name = project.described("renamed").get(spec.name, spec.name)
    return choose(kind, name, known)


def check_options(kind: str, spec: Spec) -> None:
    """Raise UnknownName, which lists near names, for an option that a spec cannot have.

    Where a function hands options on to another one, only the other knows them.
    """
    parameters = inspect.signature(resolve(kind, spec)).parameters
    hands_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for option in spec.options:
        if not hands_on:
            choose(f"option of {kind} {spec.name}", option, parameters)


def dtype(name: str) -> torch.dtype:
    """Return a dtype of torch by its name; raises UnknownName for any other name."""
    dtypes = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    known = {str(one).removeprefix("torch."): one for one in dtypes}
    found: torch.dtype = choose("dtype", name, known)
    return found


def observables() -> dict[str, observing.Observable]:
    """Return all observables of the book, by name."""
    module_of("observable")  # importing the module registers them
    return observing.OBSERVABLES


def options(spec: Spec) -> dict[str, Any]:
    """Return the options of a spec, with the torch dtype in place of its name."""
    values = dict(spec.options)
    if "dtype" in values:
        values["dtype"] = dtype(values["dtype"])
    return values
