"""Shape checking for tests: annotations that the package only carries become checks.

    from shapes import check
    check(losses)  # once, at the top of a test file

Modules annotate public functions with jaxtyping (``Float[Tensor, "rows classes"]``) but
import it for type checkers alone. ``check`` gives their functions the names, resolves
the annotations and wraps the functions with jaxtyping and beartype: a call whose
tensors do not fit raises jaxtyping.TypeCheckError. Within one call an axis has one
length, also under ``torch.func.vmap``, where shapes are those of one member. A single
axis is written with a space in front, ``" rows"``, so that linters see no name in it.
"""

import functools
import inspect
import typing
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

from grokbook import shapes

NAMES = {name: getattr(jaxtyping, name) for name in ("Float", "Int", "Bool", "Shaped")}
NAMES |= {name: alias for name, alias in vars(shapes).items() if name[0].isupper()}
# an int is accepted where a float is asked for, as by every type checker
_typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
_checked: set[Callable[..., Any]] = set()


def check(module: ModuleType) -> None:
    """Wrap every public function of a module or package in place, once.

    NameError if an annotation needs more than jaxtyping's and those of
    ``grokbook.shapes``; ``inspect.unwrap`` gives a function back as it was.
    """
    for name, function in list(vars(module).items()):
        if name.startswith("_") or not isinstance(function, FunctionType):
            continue
        home = function.__module__
        if home == module.__name__ or home.startswith(module.__name__ + "."):
            setattr(module, name, _wrapped(function))


@functools.cache
def _wrapped(function: FunctionType) -> Callable[..., Any]:
    if function in _checked:
        return function
    plain = inspect.unwrap(function)
    assert isinstance(plain, FunctionType)
    plain.__globals__.update(NAMES)
    # jaxtyping skips a string it cannot resolve, so it gets none
    plain.__annotations__ = typing.get_type_hints(plain)
    wrapped = jaxtyping.jaxtyped(function, typechecker=_typechecker)
    _checked.add(wrapped)
    return wrapped
