"""The modules that some modules import, out of given packages, and their digest.

A digest of whole files changes with every comment, and a digest of listed files misses
those that nobody added to the list. This one follows the imports and takes the code of
each module without comments and docstrings, as `claimbook.digest` does.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import resolve_name
from pathlib import Path

from claimbook import digest

Packages = Mapping[str, Path]  # folders of packages, by package name


def imported_modules(
    starts: Iterable[str], packages: Packages
) -> dict[str, ast.Module]:
    """Return the syntax trees of some modules and of all that they import, by name.

    ``starts`` are the names of the modules to start from, and ``packages`` is {name:
    folder}. Imports are followed as far as they lie in these packages, also imports
    inside a function, and the subpackages that a module lies in. The ``__init__.py`` of
    a top-level package is left out: it offers names to a reader, and trains nothing.
    So is any name, also of ``starts``, that is no module there. The names are sorted.
    """
    pending = [*starts]  # names that may be modules, or functions of modules
    trees = dict[str, ast.Module]()
    while pending:
        name = pending.pop()
        path = _file_of(name, packages)
        if path is None or name in trees:
            continue
        trees[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
        is_package = path.name == "__init__.py"
        package = name if is_package else name.rpartition(".")[0]
        pending += [package, *_imported_names(trees[name], package)]
    return dict(sorted(trees.items()))


def digest_of(starts: Iterable[str], packages: Packages) -> str:
    """Return the SHA-256 of the names and code of all modules of `imported_modules`."""
    modules = imported_modules(starts, packages).items()
    lines = [f"{name}: {digest.skeleton(tree)}" for name, tree in modules]
    return digest.sha256("\n".join(lines).encode())


def _file_of(name: str, packages: Packages) -> Path | None:
    """Return the file of a module or subpackage in ``packages``, by its full name.

    ``packages`` has the folder of each top-level package. Returns None for any other
    name, such as that of a function, of a top-level package, or in another package.
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
    """Yield the full names of all that a module imports, relative imports resolved.

    ``tree`` is the syntax tree of the module, and ``package`` the package that it lies
    in. For `from a import b` both a and a.b are yielded, as b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level  # of a relative import, one for each level
            module = resolve_name(f"{dots}{node.module or ''}", package)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
