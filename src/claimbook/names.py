"""The functions and classes that the names in an arm stand for, in small letters.

"modules" of book/project.yaml says in which module the names of each kind ("loss",
"model", ...) are looked up. "renamed" maps names that are recorded, but that the code
does not have any more, to those of today.

A name with a colon, such as "my_module:my_loss", is of a module that is not the book's:
a file on PYTHONPATH or in the working directory. Behind an @ it may have the digest of
the module's code, which is then a part of the arm and so of its key and its record.
"""

import ast
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from claimbook import canonical, digest, observing, project
from claimbook.errors import BookError, choose, one_line
from claimbook.experiment import Arm, Spec
from claimbook.protocol import Data

# How many arguments the learner passes in front of the options, by kind; to data sets
# and networks it passes none.
ARGUMENT_COUNTS = {
    "loss": 2,
    "penalty": 1,
    "optimizer": 1,
    "wrapper": 1,
    "schedule": 2,
    "augment": 1,
}


def module_of(kind: str) -> ModuleType:
    """Import and return the module that has the names of a kind, such as "loss".

    Raises UnknownName if the kind has no module in book/project.yaml, and BookError if
    no kind has one, or if the module or one that it imports is missing.
    """
    modules = project.part("modules")
    if not modules:
        raise BookError(
            "`modules` of book/project.yaml do not say in which modules names are: "
            f"{project.home()} is not a whole checkout of a book"
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
    are defined there or in a submodule, and that the learner can use as one of the
    kind; a spec names them in small letters. A name with a colon is looked up in a
    module that is not the book's (`_from_outside`). Raises UnknownName, which lists
    near names, if no candidate is called so, and BookError if a module that is not the
    book's cannot be imported or has changed.
    """
    if ":" in spec.name:
        return _from_outside(kind, spec.name)
    module = module_of(kind)
    known = {}
    for attribute, value in vars(module).items():
        is_public = callable(value) and not attribute.startswith("_")
        # what the module imports from other packages is not a candidate
        is_own = is_public and value.__module__.startswith(module.__name__)
        if is_own and _is_usable(kind, value):
            known[attribute.lower()] = value
    # a recorded arm may have a name that the code has no more
    name = project.part("renamed").get(spec.name, spec.name)
    return choose(kind, name, known)


def check_options(kind: str, spec: Spec) -> None:
    """Raise UnknownName, which lists near names, for an option that a spec cannot have.

    A function with ``**options`` hands them on to another one, which alone knows their
    names, so no option of such a function is checked. Whether options are missing is
    not checked here either: the call says it.
    """
    parameters = inspect.signature(resolve(kind, spec)).parameters
    hands_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    # The first of these are what the learner passes itself, such as logits and labels.
    # A function that has fewer than it passes is refused where it is called.
    may_be_positional = [
        name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY
    ]
    passed = may_be_positional[: ARGUMENT_COUNTS.get(kind, 0)]
    known = [name for name in parameters if name not in passed]
    for option in spec.options:
        if not hands_on:
            choose(f"option of {kind} {spec.name}", option, known)


def dtype(name: str) -> torch.dtype:
    """Return a floating dtype of torch by its name, such as "float32".

    Raises UnknownName for any other name, and for None.
    """
    known = ("float16", "bfloat16", "float32", "float64")
    return getattr(torch, choose("dtype", name, known))


@cache  # a signature takes longer to read than all else that a name needs
def _is_usable(kind: str, value: Any) -> bool:
    """Return whether the learner can use a function or class as one of a kind.

    The module of a kind may have helpers too, which no arm can name; annotations and
    names of parameters tell them apart.
    """
    if inspect.isclass(value) and kind in ("model", "optimizer"):
        base = torch.nn.Module if kind == "model" else torch.optim.Optimizer
        # an optimizer for a stack takes the place of one that an arm names
        is_for_stack = "stacked" in inspect.signature(value).parameters
        return issubclass(value, base) and not is_for_stack
    if inspect.isclass(value):
        return False
    signature = inspect.signature(value, eval_str=True)
    returned = signature.return_annotation
    parameters = signature.parameters
    # the annotation of the first parameter, None if there is no parameter
    taken = next((p.annotation for p in parameters.values()), None)
    match kind:
        case "dataset":
            return returned is Data
        case "augment":
            return "random" in parameters
        case "model":  # not one that changes a network
            return not (inspect.isclass(taken) and issubclass(taken, torch.nn.Module))
        case "loss":  # the learner asks for one value a row, by this option
            takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            return takes_any or "reduction" in parameters
        case "optimizer":
            is_class = inspect.isclass(returned)
            return is_class and issubclass(returned, torch.optim.Optimizer)
        case "wrapper":  # it gives back the optimizer that it takes
            # without annotations both are "empty"
            return returned is not inspect.Signature.empty and returned is taken
    return True  # of penalties and schedules each public function is one


def _from_outside(kind: str, name: str) -> Any:
    """Return the function or class of a name such as "my_module:my_loss@1a2b3c…".

    The part behind the colon is looked up as it is written, capitals included.
    ``kind`` is named in the error alone: whether the learner can use it as one is not
    checked. Raises UnknownName if the module has none that is called so, and BookError
    if it cannot be imported or if its code has another digest than the name.
    """
    address, _, pinned = name.partition("@")  # "" if no digest is given
    module_name, _, attribute = address.partition(":")
    module = import_outside(module_name)
    known = {n: v for n, v in vars(module).items() if callable(v) and n[0] != "_"}
    value = choose(f"{kind} in {module_name}", attribute, known)
    if pinned and pinned != (current := code_digest(module_name)):
        raise BookError(
            f"{module_name} has changed: {name!r} is of other code than its present "
            f"@{current}"
        )
    return value


def import_outside(module_name: str) -> ModuleType:
    """Import a module that is not the book's, and return it.

    Raises BookError, with the reason in one line, if the import fails for any reason.
    """
    folder = os.getcwd()
    if folder not in sys.path:  # a console script has its own folder there instead
        sys.path.append(folder)
    try:
        return importlib.import_module(module_name)
    except BookError:  # it is a sentence already
        raise
    except (Exception, SystemExit) as error:  # a module may do anything
        raise BookError(
            f"the module {module_name!r} cannot be imported ({one_line(error)}): it "
            "has to be on PYTHONPATH or in the working directory, with all that it "
            "imports"
        ) from error


def code_digest(module_name: str) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of the code in a module's file.

    Comments and docstrings do not change the digest, nor does the code of other modules
    that this one imports. The module is one that can be imported. Raises BookError if
    it has no file with code, as one in C has none.
    """
    spec = importlib.util.find_spec(module_name)
    try:
        code = Path(spec.origin).read_text(encoding="utf-8")  # type: ignore
        return digest.of_code([ast.parse(code)])
    except (AttributeError, TypeError, OSError, ValueError, SyntaxError) as error:
        raise BookError(f"{module_name} is not a module with a file of code") from error


def check_pinned(arms: Iterable[Arm]) -> None:
    """Raise BookError for an arm whose record would not say which code trained it.

    Such an arm names something from outside of the book without the digest of its code,
    or with the digest of other code.
    """
    for arm in arms:
        for field, spec in arm.specs():
            if ":" not in spec.name:
                continue
            # raises if it is missing, or if it is pinned and has changed
            _from_outside(canonical.KINDS[field], spec.name)
            module_name = spec.name.partition(":")[0]
            if "@" not in spec.name:
                raise BookError(
                    f"arm {arm.name!r} names {spec.name!r}, which is not the book's: a "
                    "record has to say which code it was, as in "
                    f"'{spec.name}@{code_digest(module_name)}'"
                )


def observables() -> dict[str, observing.Observable]:
    """Return all observables of the book, by name.

    They are registered in `observing.OBSERVABLES` by the import of their module, so
    that this is complete from the first call on.
    """
    module_of("observable")  # imports it
    return observing.OBSERVABLES


def options(spec: Spec) -> dict[str, Any]:
    """Return the options of a spec, with the torch dtype in place of its name.

    That is the value of an option "dtype", if the spec has one. Raises UnknownName for
    any other than the four floating ones of `dtype`, and for None.
    """
    values = dict(spec.options)
    if "dtype" in values:
        values["dtype"] = dtype(values["dtype"])
    return values
