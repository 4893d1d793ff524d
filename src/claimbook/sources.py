"""Which modules of some packages a module rests on, and one digest of their code.

A digest of files says too much, since a comment changes it, and one of a list of files
too little, since the list is forgotten. This one follows the imports and takes what
`claimbook.digest` takes of each module: its code without comments and docstrings.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from claimbook import digest

Packages = Mapping[str, Path]  # the folders of packages by their names


def closure(starts: Iterable[str], packages: Packages) -> dict[str, ast.Module]:
    """The modules of some packages that ``starts`` run, by name: these, their imports
    and theirs.

    An import inside a function counts, and so do the packages that a module lies in.
    The face of a whole package does not: it gives names to a reader, and trains
    nothing.
    """
    waiting, found = [*starts], dict[str, ast.Module]()
    while waiting:
        name = waiting.pop()
        path = _file(name, packages)
        if path is None or name in found:
            continue
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
        in_package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += [in_package, *_imported(found[name], in_package)]
    return dict(sorted(found.items()))


def digest_of(starts: Iterable[str], packages: Packages) -> str:
    """SHA-256 of the code of all modules that ``starts`` run, with their names."""
    modules = closure(starts, packages).items()
    lines = [f"{name}: {digest.skeleton(tree)}" for name, tree in modules]
    return sha256("\n".join(lines).encode()).hexdigest()


def _file(name: str, packages: Packages) -> Path | None:
    """Where a module of them lies; None where the name is of something else."""
    first, *parts = name.split(".")
    if first not in packages or not parts:
        return None
    path = packages[first].joinpath(*parts)
    places = path.with_suffix(".py"), path / "__init__.py"
    return next((place for place in places if place.is_file()), None)


def _imported(tree: ast.Module, in_package: str) -> Iterator[str]:
    """What a module imports, by full name; some are names within a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = in_package.split(".")[: 1 - node.level or None]
                module = ".".join([*above, module] if module else above)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
