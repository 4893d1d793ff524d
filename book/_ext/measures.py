"""What a page computes for a row of claims.yaml: the code behind one number.

A page hands `claims.read` a value for each row. The *measurement* of a row is the part
of the page that this value depends on: the statements that bind its names, and theirs,
and so on; and every function of the book that one of them calls. The digests of the
statements stand in measurements.yaml beside claims.yaml, those of the functions in
book/functions.yaml, so that the number that a test judges cannot become another one
unseen:

    python -m book measure prieto2025/fig10 growth     # shows the code, and the digest
    python -m book register prieto2025/fig10           # writes the digests of new rows

Colours and labels of runs are not part of it. Functions and constants of the book are
named "module:qualified name", as in "claimbook.evidence.run:Run.at".
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

# Modules of a package that draw, word, store and find, and so measure nothing.
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
    """The code behind the value of one row.

    * ``code``: statements of the page in its order, then the expressions of the value.
    * ``functions``: the functions and constants of the book that the code reaches.
    * ``digest``: of the code, and of the names of the functions that it calls itself.
    """

    code: tuple[str, ...]
    functions: tuple[str, ...]
    digest: str

    @property
    def strings(self) -> set[str]:
        """Every string in the code, the fixed parts of f-strings included."""
        return _strings(self.code)


def _strings(code: Iterable[str]) -> set[str]:
    nodes = (node for text in code for node in ast.walk(ast.parse(text)))
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


@functools.cache
def measurement(page_id: str, row: str) -> Measurement:
    """Return the measurement of a row; PageError for a page without `claims.read`."""
    page = _page(page_id)
    value = tuple(_code_of(expression) for expression in _value_expressions(row, page))
    code = (*_statements_behind(value, page.texts), *value)
    # functions that the code names itself
    direct: set[str] = set()
    for text in code:
        direct |= page.functions_of.get(text, set())
    for text in value:
        direct |= _named_functions(text, page.imports)
    files = _named_files(code)
    for text in files:
        direct |= _named_functions(text, _imports(ast.parse(text)))
    reached = _closure(direct)
    names = sorted(_name_in_digests(name) for name in direct & reached)
    joined = "".join([*map(_digest, [*code, *files]), *names])
    digest_of_all = sha256(joined.encode()).hexdigest()[:12]
    return Measurement(code, tuple(sorted(reached)), digest_of_all)


def _name_in_digests(function: str) -> str:
    """Return what a function was called when grokbook and claimbook were one package.

    Digests go by that name, so that they outlived the move into two packages.
    """
    return function.replace("claimbook.", "grokbook.", 1)


def find(page_id: str, row: str) -> Measurement:
    """Return the measurement of a row; UnknownName for an unknown page or row."""
    pages.find(page_id)
    rows = [claim.id for claim in verdict.rows(page_id) if claim.is_run]
    return measurement(page_id, choose(f"row of {page_id}", row, rows))


def registered_rows(page_id: str) -> dict[str, dict[str, Any]]:
    """Return what measurements.yaml has of a page, by row.

    ``measure``: the digest; ``same``: earlier ones by which every seed has the same
    value, each with its ``reason``; ``was``: earlier ones of tests that stand in
    ``was`` of the row in claims.yaml.
    """
    rows = tables.page_entries(page_id, "measurements")
    return {row: as_entry(value) for row, value in rows.items()}


def as_entry(value: str | dict[str, Any]) -> dict[str, Any]:
    """Return an entry of measurements.yaml, which may be the digest alone, as a dict.

    `registered_rows` explains its keys.
    """
    return {"measure": value} if isinstance(value, str) else value


def functions_file() -> Path:
    """Return where the digests of functions are registered."""
    return home() / "book" / "functions.yaml"


def function_digests(page_ids: Iterable[str] = ()) -> dict[str, str]:
    """Return by name the digest of each function and constant behind tested rows.

    The functions that judge the rows are among them. Without ids it is of all pages.
    """
    rows = tested_rows(page_ids)
    names = {f"{verdict.__name__}:{name}" for name in JUDGES if rows}
    for page, row in rows:
        names |= {*measurement(page, row).functions}
    return {name: _digest(_definition(name)) for name in sorted(names)}


def tested_rows(page_ids: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return (page, row) of every row that can fail, of all pages without ids."""
    return [
        (page, row.id)
        for page in page_ids or pages.sources()
        for row in verdict.rows(page)
        if row.is_tested
    ]


def registered_functions() -> dict[str, dict[str, Any]]:
    """Return what book/functions.yaml has, by function, as `registered_rows` does."""
    values = read_yaml(functions_file()).items()
    return {name: as_entry(value) for name, value in values}


def register(
    page_ids: Iterable[str], same: str = "", *, exchanged: bool = False
) -> list[str]:
    """Write digests into the .yaml files; return the rows and functions that changed.

    A row or a function that has none gets the digest of today. If it has another,
    ``same`` is the reason why every seed keeps its value, or ``exchanged`` says that
    the old test stands in ``was`` of claims.yaml; without either PageError is raised.
    `python -m book check` compares the values.
    """
    written = []
    for page in page_ids:
        known = registered_rows(page)
        new = {
            row: _renewed(
                f"{page} {row}",
                measurement(page, row).digest,
                known.get(row),
                same,
                exchanged,
            )
            for _, row in tested_rows([page])
        }
        if new != known:
            written += [f"{page} {row}" for row in new if new[row] != known.get(row)]
            _save_rows(page, new)
    known = registered_functions()
    new = {
        name: _renewed(name, code_digest, known.get(name), same, exchanged)
        for name, code_digest in function_digests(page_ids).items()
    }
    if changed := [name for name in new if new[name] != known.get(name)]:
        entries = dict(sorted((known | new).items()))
        _save(functions_file(), {name: _short(e) for name, e in entries.items()})
        written += changed
    return written


def _renewed(
    name: str, now: str, known: dict[str, Any] | None, same: str, exchanged: bool
) -> dict[str, Any]:
    """Return the entry of a row or a function whose digest is ``now``.

    ``known`` is its entry so far. The other arguments, and errors, are as in
    `register`.
    """
    entry = known or {"measure": now}
    old = entry["measure"]
    if old == now:
        return entry
    if same:
        earlier = [*entry.get("same", []), {"measure": old, "reason": same}]
        return entry | {"measure": now, "same": earlier}
    if exchanged:
        return entry | {"measure": now, "was": [*entry.get("was", []), old]}
    raise PageError(
        f"{name!r} is measured otherwise than registered: give --same REASON if every "
        "seed keeps its value, or --was if the old test stands in `was`"
    )


def _save_rows(page_id: str, entries: dict[str, dict[str, Any]]) -> None:
    """Replace the entries of one page in the measurements.yaml of its folder."""
    folder, _, name = page_id.partition("/")
    path = home() / "book" / folder / "measurements.yaml"
    new = {name: {row: _short(entry) for row, entry in entries.items()}}
    _save(path, dict(sorted((read_yaml(path) | new).items())))


def _short(entry: dict[str, Any]) -> str | dict[str, Any]:
    """Return an entry as it is written: the digest if it has nothing else."""
    return entry["measure"] if len(entry) == 1 else entry


def _save(path: Path, content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content, sort_keys=False, width=100)
    path.write_text(HEAD + text, encoding="utf-8")


@functools.cache
def _digest(code: str) -> str:
    return digest.of_code([ast.parse(code)])


@dataclass(frozen=True, eq=False)
class _Page:
    """The statements of a page up to its `claims.read`, and the values it is given."""

    statements: list[ast.stmt]
    values: ast.expr

    @functools.cached_property
    def texts(self) -> list[str]:
        """The code of each statement, as `_code_of` writes it."""
        return [_code_of(statement) for statement in self.statements]

    @functools.cached_property
    def imports(self) -> dict[str, Any]:
        """What its imports of our packages bind, by name."""
        return _imports(ast.Module(self.statements, []))

    @functools.cached_property
    def functions_of(self) -> dict[str, set[str]]:
        """The functions of the book that each statement names, by its text."""
        return {text: _named_functions(text, self.imports) for text in self.texts}


@functools.cache
def _page(page_id: str) -> _Page:
    # A page is Python as it stands: its Markdown is comments.
    statements = tree(pages.find(page_id)).body
    for position, statement in enumerate(statements):
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "claims.read":
                return _Page(statements[:position], node.args[1])
    raise PageError(f"Page {page_id} has no line `sheet = claims.read(page, values)`.")


# The value of a row, in a dictionary that a page writes out or computes.


def _value_expressions(row: str, page: _Page) -> list[ast.AST]:
    """Return the expression that gives a row its value.

    It is the entry of that name if the page writes one out, else every part of the
    dictionary that is computed, as each may have made the entry.
    """
    if isinstance(page.values, ast.Name):
        name = page.values.id
        entries = [
            entry
            for statement, text in zip(page.statements, page.texts, strict=True)
            if name in _bound_names(text)
            for entry in _entries_bound(name, statement)
        ]
    else:
        entries = [*_entries(page.values)]
    written = [value for key, value in entries if key == row]
    return written[-1:] or [value for key, value in entries if key is None]


def _entries(values: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
    """Yield (key, value) of an expression for a dictionary; key None if computed."""
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


def _entries_bound(name: str, statement: ast.stmt) -> Iterator[tuple[Any, Any]]:
    """Yield (key, value) for what a statement puts into the dictionary ``name``.

    The key of what cannot be read off is None.
    """
    match statement, _targets(statement):
        case ast.Assign() | ast.AugAssign(), [ast.Name(id=target)] if target == name:
            yield from _entries(statement.value)
        case ast.Assign(), [ast.Subscript(slice=ast.Constant() as key) as target] if (
            _root(target) == name
        ):
            yield key.value, statement.value
        case _:
            yield None, statement


def _targets(statement: ast.stmt) -> list[ast.expr | None]:
    """Return what a statement assigns to; [None] if it is no assignment."""
    return getattr(statement, "targets", [getattr(statement, "target", None)])


# What depends on what, by names.


def _statements_behind(value: tuple[str, ...], texts: list[str]) -> list[str]:
    """Return those statements that a value depends on, in the order of the page."""
    wanted = set().union(*map(_read_names, value))
    taken: set[int] = set()  # positions
    while True:
        new = {
            position
            for position, text in enumerate(texts)
            if position not in taken and _bound_names(text) & wanted
        }
        if not new:
            return [texts[position] for position in sorted(taken)]
        taken |= new
        wanted |= set().union(*(_read_names(texts[position]) for position in new))


class _WithoutLooks(ast.NodeTransformer):
    """Leaves out the label and the colour of every Run."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Return a call without the arguments ``LOOKS`` if it makes a Run."""
        self.generic_visit(node)
        if ast.unparse(node.func) in ("Run", "evidence.Run"):
            kept = [keyword for keyword in node.keywords if keyword.arg not in LOOKS]
            return ast.Call(node.func, node.args[:2], kept)
        return node


def _code_of(node: ast.AST) -> str:
    """Return the code of a part of a page, without looks and comments."""
    copy = ast.parse(ast.unparse(node))
    return ast.unparse(ast.fix_missing_locations(_WithoutLooks().visit(copy)))


@functools.cache
def _bound_names(code: str) -> frozenset[str]:
    """Return the names of a page that a statement binds, or whose value it changes."""
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
    return frozenset(names - APART)  # as in plots.use_style()


@functools.cache
def _read_names(code: str) -> frozenset[str]:
    """Return the names of a page that a piece of code reads, not its own locals."""
    names = set()
    scopes = [symtable.symtable(code, "page", "exec")]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        is_page = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (is_page or symbol.is_global()):
                names.add(symbol.get_name())
    return frozenset(names)


def _root(node: ast.AST) -> str:
    """Return "runs" of `runs[kind].first`; "" if it does not begin with a name."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# Functions of the book, by their full names.


def _imports(module: ast.Module) -> dict[str, Any]:
    """Return what the imports from our packages in a module bind, by name."""
    objects: dict[str, Any] = {}
    for node in module.body:
        package = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and package.startswith(PACKAGES):
            exec(ast.unparse(node), objects)
    return objects


def _named_functions(code: str, imports: dict[str, Any]) -> set[str]:
    """Return the functions and classes of the book that a piece of code names.

    ``imports`` has the objects of its names. A method is that of a Run if a Run has one
    of its name.
    """
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name | ast.Attribute):
            names.add(_full_name(_object_of(node, imports)))
        if isinstance(node, ast.Attribute):
            names.add(_full_name(inspect.getattr_static(Run, node.attr, None)))
    return names - {""}


def _object_of(node: ast.expr, imports: dict[str, Any]) -> Any:
    """Return what a name, or `evidence.ratio` of an imported module, is, else None."""
    if isinstance(node, ast.Name):
        return imports.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _object_of(node.value, imports)
        if isinstance(owner, ModuleType):
            return getattr(owner, node.attr, None)
    return None


def _full_name(item: Any) -> str:
    """Return the full name of a function or class that measures, "" of all else."""
    if isinstance(item, property):
        item = item.fget
    item = inspect.unwrap(item) if callable(item) else None
    module = getattr(item, "__module__", None) or ""
    name = getattr(item, "__qualname__", None)
    if not (name and _is_measuring(module)) or item in (Run, evidence.Page):
        return ""
    return f"{module}:{name}"


@functools.cache
def _names_in(name: str) -> frozenset[str]:
    """Return the functions and constants that the definition of one names itself."""
    module, code = name.partition(":")[0], _definition(name)
    functions = _named_functions(code, vars(sys.modules[module]))
    return frozenset(functions | _named_constants(code, module)) - {name}


def _named_constants(code: str, module: str) -> set[str]:
    """Return the constants that code of a module names, its own or imported ones."""
    full_names = {name: f"{module}:{name}" for name in _constants(module)}
    for node in _cached_tree(_file(module)).body:
        if isinstance(node, ast.ImportFrom) and _is_measuring(node.module or ""):
            there = _constants(node.module or "")
            for alias in node.names:
                if alias.name in there:
                    full_name = f"{node.module}:{alias.name}"
                    full_names[alias.asname or alias.name] = full_name
    nodes = ast.walk(ast.parse(code))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {full_names[name] for name in names & full_names.keys()}


def _is_measuring(module: str) -> bool:
    """Return whether a module is of our packages, and not one of those ``APART``."""
    package, _, name = module.partition(".")
    return package in PACKAGES and name != "" and name.partition(".")[0] not in APART


@functools.cache
def _constants(module: str) -> dict[str, ast.stmt]:
    """Return by name the statement that binds each constant at the top of a module.

    Names of constants are in capitals; the last statement counts.
    """
    return {
        target.id: statement
        for statement in _cached_tree(_file(module)).body
        for target in _targets(statement)
        if isinstance(target, ast.Name) and target.id.isupper()
    }


def _file(module: str) -> Path:
    return Path(importlib.import_module(module).__file__ or "")


def _closure(names: set[str]) -> set[str]:
    """Return these functions and all that they reach, directly or not.

    A name without a definition in its file, as of a method that a dataclass makes, is
    left out.
    """
    reached: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in reached and _definition(name):
            reached.add(name)
            waiting += _names_in(name)
    return reached


@functools.cache
def _definition(name: str) -> str:
    """Return the code of "module:qualified name" in its file, "" if it has none."""
    module, _, qualified_name = name.partition(":")
    if constant := _constants(module).get(qualified_name):
        return ast.unparse(constant)
    node: Any = _cached_tree(_file(module))
    for part in qualified_name.split("."):
        inside = getattr(node, "body", [])
        node = next((n for n in inside if getattr(n, "name", None) == part), None)
    return ast.unparse(node) if node else ""


def tree(path: Path) -> ast.Module:
    """Return the code in a file as a tree; PageError, with its line, if it is wrong."""
    try:
        return ast.parse(read_text(path))
    except SyntaxError as error:
        place = f"{notebooks.display_path(path)}, line {error.lineno},"
        raise PageError(f"{place} is no Python: {error.msg}.") from error


_cached_tree = functools.cache(tree)  # of modules; a page may change in a process


def _named_files(code: tuple[str, ...]) -> list[str]:
    """Return the code of each file of the book that a page runs by its name.

    An example is "book/remedies/race.py".
    """
    names = sorted(text for text in _strings(code) if text.endswith(".py"))
    paths = (home() / "book" / name.partition("book/")[2] for name in names)
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
