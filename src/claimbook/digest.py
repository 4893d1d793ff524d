"""Digests of code: what it does, not how it is laid out or explained.

Comments, docstrings, blank lines and line breaks change nothing; every name, number and
operation does. The same code has the same digest on every Python from 3.11 on.
"""

import ast
import hashlib
from collections.abc import Iterable

# Fields of a syntax tree that say where or how something is written.
LAYOUT = {"ctx", "kind", "type_comment", "type_params"}


def skeleton(node: ast.AST) -> str:
    """A syntax tree as text, without its docstrings, positions and empty fields."""
    parts = []
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list) and _is_documented(node):
            value = value[1:]
        if name in LAYOUT or value is None or value == []:
            continue
        parts.append(f"{name}={_text(value)}")
    return f"{type(node).__name__}({', '.join(parts)})"


def of_code(nodes: Iterable[ast.AST]) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of some syntax trees, in order."""
    text = "\n".join(skeleton(node) for node in nodes)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_documented(node: ast.AST) -> bool:
    """Whether the body of a module, class or function begins with a docstring."""
    can_be = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, can_be) and ast.get_docstring(node, clean=False) is not None


def _text(value: object) -> str:
    if isinstance(value, ast.AST):
        return skeleton(value)
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return repr(value)
