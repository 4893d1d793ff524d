"""Operations on two numbers, written as text: "a*a + a*b + b*b".

The text is parsed and computed node by node, in whole numbers of any size, and never
run as code. It may have a, b, whole numbers, brackets and + - * // **; an exponent is a
whole number that is written out. a // b is rounded down before any remainder is taken.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from claimbook.errors import BookError

LONGEST = 200  # characters of a text, which bounds how long computing it takes
LARGEST_EXPONENT = 64
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def labels_of(formula: str, a: Tensor, b: Tensor, p: int) -> Tensor:
    """Return the labels (rows,) int64 of a formula: its value modulo p for each pair.

    ``a`` and ``b`` are whole numbers (rows,). The formula is computed in whole numbers
    and reduced modulo p at the end; its // is Python's division, rounded down, and not
    the inverse modulo p. Raises BookError for a formula with anything but a, b, whole
    numbers, brackets and + - * // **, for one with neither a nor b, for one that
    divides by 0 for some pair, and for a power that would take long (`_check_power`).
    """
    tree = _parsed(formula)
    labels = []
    try:
        for first, second in zip(a.tolist(), b.tolist(), strict=True):
            labels.append(_value(tree, {"a": first, "b": second}, formula) % p)
    except ZeroDivisionError:
        raise BookError(
            f"operation {formula!r} divides by 0 for some pair: smallest=1 leaves a = "
            "0 and b = 0 out"
        ) from None
    if not any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        raise BookError(
            f"operation {formula!r} has neither a nor b, and an operation needs one: "
            "write it as in 'a*a + a*b + b*b'"
        )
    return torch.tensor(labels)


def _parsed(formula: str) -> ast.expr:
    """Return the syntax tree of a formula.

    Raises BookError for a text that is too long or is not an expression of Python.
    """
    if len(formula) > LONGEST:
        raise BookError(
            f"an operation has at most {LONGEST} characters: {formula[:40]}…"
        )
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BookError(
            f"operation {formula!r} is not a formula: write it as in 'a*a + a*b + b*b'"
        ) from None


def _value(node: ast.expr, values: Mapping[str, int], formula: str) -> Any:
    """Return the value of a syntax tree; ``values`` has those of a and b.

    ``formula`` is the whole text, which the BookError quotes that is raised for a node
    that is not allowed. ZeroDivisionError is left to the caller.
    """
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values, formula)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            if isinstance(op, ast.Pow):
                _check_power(left, right, formula)
            sides = (_value(side, values, formula) for side in (left, right))
            return OPERATORS[type(op)](*sides)
    raise BookError(
        f"operation {formula!r} has {ast.unparse(node)!r}: write it with a, b, whole "
        "numbers, brackets and + - * // **"
    )


def _check_power(base: ast.expr, exponent: ast.expr, formula: str) -> None:
    """Raise BookError for a power that might take hours to compute.

    An exponent is written out and at most ``LARGEST_EXPONENT``; a base has no power.
    """
    is_number = isinstance(exponent, ast.Constant) and type(exponent.value) is int
    is_small = is_number and exponent.value <= LARGEST_EXPONENT  # type: ignore
    is_nested = any(isinstance(node, ast.Pow) for node in ast.walk(base))
    if not is_small or is_nested:
        raise BookError(
            f"operation {formula!r} has a power whose exponent is not a whole number "
            f"from 0 to {LARGEST_EXPONENT}, or whose base has a power: write it as in "
            "'a**3'"
        )
