"""What a page computes for a row of claims.yaml: the code behind one number.

A page hands `claims.read` a value for each row. The *measurement* of a row is the part
of the page that this value depends on: the statements that bind its names, and theirs,
and so on; and every function of the book that one of them calls. The digests of the
statements stand in measurements.yaml beside claims.yaml, those of the functions in
book/functions.yaml, so that the number that a test judges cannot become another one
unseen:

    python -m book measure prieto2025/fig10 growth     # shows the code, and the digest
    python -m book register prieto2025/fig10           # writes the digests of new rows

Colours and labels of runs are not part of it.
"""

import ast
import functools
import importlib
import inspect
import symtable
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from book._ext import notebooks, pages
from claimbook import digest, evidence, tables
from claimbook.claims import verdict
from claimbook.errors import PageError, choose
from claimbook.evidence import Run
from claimbook.project import home, read_text, read_yaml

# Rooms that draw, word, store and find: a change there measures nothing else.
APART = {"plots", "tables", "claims", "project", "errors", "records", "papers"}
APART |= {"experiment", "digest"}
PACKAGES = ("claimbook", "grokbook")
HEAD = """\
# Digests of the code behind tested values: `python -m book register` writes them, and
# `python -m book measure PAGE ROW` shows the code.
"""
# What judges every row: whether a value keeps to its bounds, values to their order.
JUDGES = ("Claim.allows", "Claim._word", "_ascends")
LOOKS = {"label", "color"}  # arguments of a Run that its values do not depend on


@dataclass(frozen=True)
class Measurement:
    """The code behind the value of one row."""

    code: tuple[str, ...]  # statements of the page in its order, then the value itself
    functions: tuple[str, ...]  # of the book, as "claimbook.evidence.events.ratio"
    digest: str

    @property
    def words(self) -> set[str]:
        """Every string in the code, the fixed parts of f-strings included."""
        nodes = (node for text in self.code for node in ast.walk(ast.parse(text)))
        texts = (node.value for node in nodes if isinstance(node, ast.Constant))
        return {text for text in texts if isinstance(text, str)}


@functools.cache
def measurement(page_id: str, row: str) -> Measurement:
    """The measurement of a row of a page; PageError for a page without claims."""
    page = _page(page_id)
    value = tuple(_plain(part) for part in _value_of(row, page))
    code = (*_needed(value, page.texts), *value)
    reached = set().union(
        *(page.reached[text] for text in code if text in page.reached)
    )
    reached |= set().union(*(_reached(text, page.imports) for text in value))
    files = _named_files(code)
    for text in files:
        reached |= _reached(text, _imports(ast.parse(text)))
    functions = tuple(sorted(_closure(reached)))
    direct = sorted(_first_name(name) for name in reached & {*functions})
    joined = "".join([*map(_digest, [*code, *files]), *direct])
    return Measurement(code, functions, sha256(joined.encode()).hexdigest()[:12])


def _first_name(function: str) -> str:
    """What a function of the framework was called when there was one package.

    Digests go by it, so that they outlived the move into two packages.
    """
    return function.replace("claimbook.", "grokbook.", 1)


def of_row(page_id: str, row: str) -> Measurement:
    """The measurement of a row; UnknownName for one that a page does not have."""
    pages.find(page_id)
    rows = {one.id: one.id for one in verdict.rows(page_id) if one.is_run}
    return measurement(page_id, choose(f"row of {page_id}", row, rows))


def registered(page_id: str) -> dict[str, dict[str, Any]]:
    """What measurements.yaml has of a page, by row.

    ``measure``: the digest; ``same``: earlier ones by which every seed has the same
    value, each with its ``reason``; ``was``: earlier ones of tests that stand in
    ``was`` of the row in claims.yaml.
    """
    rows = tables.page_entries(page_id, "measurements")
    return {key: entry(value) for key, value in rows.items()}


def entry(value: str | dict[str, Any]) -> dict[str, Any]:
    """What measurements.yaml has of one row: a digest, or more than that."""
    return {"measure": value} if isinstance(value, str) else value


def functions_file() -> Path:
    """Where the digests of functions are registered."""
    return home() / "book" / "functions.yaml"


def functions(page_ids: Iterable[str] = ()) -> dict[str, str]:
    """Every function and constant of the book that tested rows are measured by, and
    what judges them: the digest of each."""
    rows = tested(page_ids)
    found = {name for page, row in rows for name in measurement(page, row).functions}
    found |= {f"{verdict.__name__}:{name}" for name in JUDGES if rows}
    return {name: _digest(_definition(name)) for name in sorted(found)}


def tested(page_ids: Iterable[str] = ()) -> list[tuple[str, str]]:
    """(page, row) of every row that is held against something."""
    every = page_ids or pages.sources()
    rows = ((page, row) for page in every for row in verdict.rows(page))
    return [(page, row.id) for page, row in rows if row.is_tested]


def registered_functions() -> dict[str, dict[str, Any]]:
    """What book/functions.yaml has of each function, in the form of `registered`."""
    every = read_yaml(functions_file()).items()
    return {name: entry(value) for name, value in every}


def register(
    page_ids: Iterable[str], same: str = "", *, exchanged: bool = False
) -> list[str]:
    """Write the measurements of pages into their .yaml files; what it wrote.

    A row or a function that has none gets the digest of today. For one that has another
    ``same`` says why every seed keeps its value, or ``exchanged`` that the old test
    stands in ``was`` of claims.yaml; else PageError. `python -m book check` holds both
    to it.
    """
    written = []
    for page in page_ids:
        now = {row: measurement(page, row).digest for _, row in tested([page])}
        known = registered(page)
        new = {
            row: _renewed(f"{page} {row}", digest, known.get(row), same, exchanged)
            for row, digest in now.items()
        }
        if new != known:
            written += [f"{page} {row}" for row in new if new[row] != known.get(row)]
            _write(page, new)
    known, now = registered_functions(), functions(page_ids)
    new = {
        name: _renewed(name, code, known.get(name), same, exchanged)
        for name, code in now.items()
    }
    if changed := [name for name in new if new[name] != known.get(name)]:
        every = dict(sorted((known | new).items()))
        _save(functions_file(), {name: _short(about) for name, about in every.items()})
        written += changed
    return written


def _renewed(
    name: str, now: str, known: dict[str, Any] | None, same: str, exchanged: bool
) -> dict[str, Any]:
    """What is registered of a row or a function whose digest is now this one."""
    about = known or {"measure": now}
    old = about["measure"]
    if old == now:
        return about
    if same:
        earlier = [*about.get("same", []), {"measure": old, "reason": same}]
        return about | {"measure": now, "same": earlier}
    if exchanged:
        return about | {"measure": now, "was": [*about.get("was", []), old]}
    raise PageError(
        f"{name!r} is measured otherwise than registered: give --same REASON if every "
        "seed keeps its value, or --was if the old test stands in `was`"
    )


def _write(page_id: str, rows: dict[str, dict[str, Any]]) -> None:
    """Put the rows of one page into the measurements.yaml of its chapter."""
    folder, _, name = page_id.partition("/")
    path = home() / "book" / folder / "measurements.yaml"
    new = {name: {row: _short(about) for row, about in rows.items()}}
    _save(path, dict(sorted((read_yaml(path) | new).items())))


def _short(about: dict[str, Any]) -> str | dict[str, Any]:
    """An entry as it is written: the digest alone where there is nothing else."""
    return about["measure"] if len(about) == 1 else about


def _save(path: Path, content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content, sort_keys=False, width=100)
    path.write_text(HEAD + text, encoding="utf-8")


@functools.cache
def _digest(code: str) -> str:
    return digest.of_code([ast.parse(code)])


@dataclass(frozen=True, eq=False)
class _Page:
    """The code of a page up to its `claims.read`, and what this is given."""

    statements: list[ast.stmt]
    values: ast.expr

    @functools.cached_property
    def texts(self) -> list[str]:
        return [_plain(statement) for statement in self.statements]

    @functools.cached_property
    def imports(self) -> dict[str, Any]:
        return _imports(ast.Module(self.statements, []))

    @functools.cached_property
    def reached(self) -> dict[str, set[str]]:
        """By statement, the functions of the book that it names itself."""
        return {text: _reached(text, self.imports) for text in self.texts}


@functools.cache
def _page(page_id: str) -> _Page:
    # A page is Python as it stands: what is no code of it is a comment.
    statements = tree(pages.find(page_id)).body
    for position, statement in enumerate(statements):
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "claims.read":
                return _Page(statements[:position], node.args[1])
    raise PageError(f"Page {page_id} has no line `sheet = claims.read(page, values)`.")


# The value of a row, in a dictionary that a page writes out or computes.


def _value_of(row: str, page: _Page) -> list[ast.AST]:
    """The expression that gives a row its value.

    It is the entry of that name where a page writes one out, else everything that may
    have made it: the parts of the dictionary that are computed.
    """
    if isinstance(page.values, ast.Name):
        name = page.values.id
        bind = [
            s
            for s, text in zip(page.statements, page.texts, strict=True)
            if name in _bound(text)
        ]
        parts = [part for statement in bind for part in _entries_of(name, statement)]
    else:
        parts = [*_entries(page.values)]
    named = [value for key, value in parts if key == row]
    return named[-1:] or [value for key, value in parts if key is None]


def _entries(values: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
    """(key, value) of a dictionary as it is written; key None for what is computed."""
    if isinstance(values, ast.BinOp) and isinstance(values.op, ast.BitOr):
        yield from _entries(values.left)
        yield from _entries(values.right)
    elif isinstance(values, ast.Dict):
        for key, value in zip(values.keys, values.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value
            else:
                yield None, ast.Dict([key], [value])
    else:
        yield None, values


def _entries_of(name: str, statement: ast.stmt) -> Iterator[tuple[Any, Any]]:
    """(key, value) of what a statement puts into the dictionary that it binds."""
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    match statement, targets:
        case ast.Assign() | ast.AugAssign(), [ast.Name(id=target)] if target == name:
            yield from _entries(statement.value)
        case ast.Assign(), [ast.Subscript(slice=ast.Constant() as key) as target] if (
            _root(target) == name
        ):
            yield key.value, statement.value
        case _:
            yield None, statement


# What depends on what, by names.


def _needed(value: tuple[str, ...], texts: list[str]) -> list[str]:
    """The statements that a value depends on, in the order of the page."""
    wanted = set().union(*map(_read, value))
    taken: set[int] = set()
    while True:
        new = {
            position
            for position, text in enumerate(texts)
            if position not in taken and _bound(text) & wanted
        }
        if not new:
            return [texts[position] for position in sorted(taken)]
        taken |= new
        wanted |= set().union(*(_read(texts[position]) for position in new))


class _WithoutLooks(ast.NodeTransformer):
    """Leave out the label and the colour of every Run."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if ast.unparse(node.func) in ("Run", "evidence.Run"):
            kept = [word for word in node.keywords if word.arg not in LOOKS]
            return ast.Call(node.func, node.args[:2], kept)
        return node


def _plain(node: ast.AST) -> str:
    """The code of a part of a page, without looks and comments."""
    tree = ast.parse(ast.unparse(node))
    return ast.unparse(ast.fix_missing_locations(_WithoutLooks().visit(tree)))


@functools.cache
def _bound(code: str) -> frozenset[str]:
    """Names of a page that a statement binds, or changes the value of."""
    (statement,) = ast.parse(code).body
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset()
    symbols = symtable.symtable(code, "page", "exec").get_symbols()
    names = {symbol.get_name() for symbol in symbols if symbol.is_assigned()}
    if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
        for node in ast.walk(statement):
            is_part = isinstance(node, ast.Subscript | ast.Attribute)
            is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
            if is_part and is_stored:  # as in runs[name] = ...
                names.add(_root(node))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        names.add(_root(statement.value.func))  # as in runs.update(...)
    return frozenset(names - APART)


@functools.cache
def _read(code: str) -> frozenset[str]:
    """Names of a page that a piece of code reads; not those of its own scopes."""
    names = set()
    tables = [symtable.symtable(code, "page", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_page = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (is_page or symbol.is_global()):
                names.add(symbol.get_name())
    return frozenset(names)


def _root(node: ast.AST) -> str:
    """The name that `runs[kind].first` begins with; "" where it begins otherwise."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# Functions of the book, by their full names.


def _imports(tree: ast.Module) -> dict[str, Any]:
    """What the imports of a page or a file of the book bind, of our packages alone."""
    names: dict[str, Any] = {}
    for node in tree.body:
        module = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and module.startswith(PACKAGES):
            for one in node.names:
                room = importlib.import_module(module)
                if not hasattr(room, one.name):
                    importlib.import_module(f"{module}.{one.name}")
                names[one.asname or one.name] = getattr(room, one.name)
    return names


def _reached(code: str, names: dict[str, Any]) -> set[str]:
    """Functions and classes of the book that a piece of code names itself.

    A method is that of a Run if a Run has one of its name.
    """
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name | ast.Attribute):
            found.add(_full_name(_meaning(node, names)))
        if isinstance(node, ast.Attribute):
            found.add(_full_name(inspect.getattr_static(Run, node.attr, None)))
    return found - {""}


def _meaning(node: ast.expr, names: dict[str, Any]) -> Any:
    """What `evidence.ratio` means where it begins with an imported module."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _meaning(node.value, names)
        if isinstance(owner, ModuleType):
            return getattr(owner, node.attr, None)
    return None


def _full_name(found: Any) -> str:
    """`claimbook.evidence.run.Run.at` of a function or class of the book, else ""."""
    if isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(found) if callable(found) else None
    module = getattr(found, "__module__", None) or ""
    name = getattr(found, "__qualname__", None)
    if not (name and _is_measuring(module)) or found in (Run, evidence.Page):
        return ""
    return f"{module}:{name}"


@functools.cache
def _calls(name: str) -> frozenset[str]:
    """What the definition of one function or constant reaches itself."""
    module, code = name.partition(":")[0], _definition(name)
    reached = _reached(code, vars(sys.modules[module])) | _constants(code, module)
    return frozenset(reached) - {name}


def _constants(code: str, module: str) -> set[str]:
    """Constants of a module of the book, or those that it imports, named in code."""
    known = {one: f"{module}:{one}" for one in _assigned(module)}
    for node in _tree(_file(module)).body:
        if isinstance(node, ast.ImportFrom) and _is_measuring(node.module or ""):
            there = _assigned(node.module or "")
            known |= {
                one.asname or one.name: f"{node.module}:{one.name}"
                for one in node.names
                if one.name in there
            }
    nodes = ast.walk(ast.parse(code))
    return {known[n.id] for n in nodes if isinstance(n, ast.Name) and n.id in known}


def _is_measuring(module: str) -> bool:
    package, _, name = module.partition(".")
    return package in PACKAGES and name != "" and name.partition(".")[0] not in APART


@functools.cache
def _assigned(module: str) -> dict[str, ast.stmt]:
    """The statements at the top of a module that give a name its value."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(_file(module)).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                found[target.id] = node
    return found


def _file(module: str) -> Path:
    return Path(importlib.import_module(module).__file__ or "")


def _closure(names: set[str]) -> set[str]:
    """These functions and all that they reach, directly or not."""
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found and _definition(name):
            found.add(name)
            waiting += _calls(name)
    return found


@functools.cache
def _definition(name: str) -> str:
    """The code of `module:name` as it stands in its file; "" where it has none."""
    module, _, qualname = name.partition(":")
    if constant := _assigned(module).get(qualname):
        return ast.unparse(constant)
    node: Any = _tree(_file(module))
    for part in qualname.split("."):
        inside = getattr(node, "body", [])
        node = next((n for n in inside if getattr(n, "name", None) == part), None)
    return ast.unparse(node) if node else ""


def tree(path: Path) -> ast.Module:
    """The code in a file; BookError, with its line, where it is no Python."""
    try:
        return ast.parse(read_text(path))
    except SyntaxError as error:
        place = f"{notebooks.place(path)}, line {error.lineno},"
        raise PageError(f"{place} is no Python: {error.msg}.") from error


_tree = functools.cache(tree)  # of code that no page is


def _named_files(code: tuple[str, ...]) -> list[str]:
    """The code of files of the book that a page runs by name, as race.py."""
    nodes = (node for text in code for node in ast.walk(ast.parse(text)))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    names = {text for text in texts if isinstance(text, str) and text.endswith(".py")}
    paths = (home() / "book" / name.partition("book/")[2] for name in sorted(names))
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
