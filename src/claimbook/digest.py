"""Digests, above all of code: of what it does, not how it is laid out or explained.

Comments, docstrings, blank lines and line breaks change nothing; every name, number and
operation does. The same code has the same digest on every Python from 3.11 on.
"""

import ast
import hashlib
from collections.abc import Iterable

# Fields of a syntax tree that say how something is written, not what it does.
LAYOUT = {"ctx", "kind", "type_comment", "type_params"}


def skeleton(node: ast.AST) -> str:
    """Return a syntax tree as text: types of nodes with their fields, as in `ast.dump`.

    Docstrings, positions, empty fields and those of ``LAYOUT`` are left out. Unlike
    that of `ast.dump` the text is the same on every Python.
    """
    parts = []
    for name, value in ast.iter_fields(node):
        # the body of a lambda is no list
        if name == "body" and isinstance(value, list) and _is_documented(node):
            value = value[1:]  # without the docstring
        if name in LAYOUT or value is None or value == []:
            continue
        parts.append(f"{name}={_text(value)}")
    return f"{type(node).__name__}({', '.join(parts)})"


def of_code(nodes: Iterable[ast.AST]) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of syntax trees, in their order."""
    text = "\n".join(skeleton(node) for node in nodes)
    return sha256(text.encode())[:12]


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _is_documented(node: ast.AST) -> bool:
    """Return whether a node is a module, class or function with a docstring."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _text(value: object) -> str:
    """Return the value of a field of a syntax tree as text: node, list or constant."""
    if isinstance(value, ast.AST):
        return skeleton(value)
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    return repr(value)
