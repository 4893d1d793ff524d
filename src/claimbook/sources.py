"""Which modules of given packages some modules import, and one digest of their code.

A digest of whole files changes with every comment, and a digest of listed files misses
those that nobody added to the list. This one follows the imports and takes the code of
each module without comments and docstrings, as `claimbook.digest` does.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from claimbook import digest

Packages = Mapping[str, Path]  # folders of packages, by package name


def closure(starts: Iterable[str], packages: Packages) -> dict[str, ast.Module]:
    """Return the syntax trees, by module name, of all modules that ``starts`` load.

    These are the modules ``starts`` themselves and what they import, directly or not,
    as far as it lies in ``packages``. An import inside a function counts, and so do the
    subpackages that a module lies in. The ``__init__.py`` of a whole package does not:
    it offers names to a reader, and trains nothing.
    """
    pending = [*starts]
    trees = dict[str, ast.Module]()
    while pending:
        name = pending.pop()
        path = _file_of(name, packages)
        if path is None or name in trees:
            continue
        trees[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        pending += [package, *_imported_names(trees[name], package)]
    return dict(sorted(trees.items()))


def digest_of(starts: Iterable[str], packages: Packages) -> str:
    """Return the SHA-256 of the names and the code of all modules of ``closure``."""
    modules = closure(starts, packages).items()
    lines = [f"{name}: {digest.skeleton(tree)}" for name, tree in modules]
    return sha256("\n".join(lines).encode()).hexdigest()


def _file_of(name: str, packages: Packages) -> Path | None:
    """Return the file of a module or subpackage in ``packages``, by its full name.

    Returns None for any other name, such as that of a function or a whole package.
    """
    package, *parts = name.split(".")
    if package not in packages or not parts:
        return None
    path = packages[package].joinpath(*parts)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def _imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the full names of all that a module in a package imports.

    `from a import b` yields both a and a.b, as b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parts = package.split(".")
                if node.level > 1:  # each dot after the first goes one package up
                    parts = parts[: 1 - node.level]
                module = ".".join([*parts, module] if module else parts)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
