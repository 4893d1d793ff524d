"""What a page wants trained is trained before it is executed, where a reader sees it.

A page reads its records in the cells that name `retrain`. Those cells are run here
first, in this process: `evidence.record` trains what they ask for, with a bar, and its
errors and Ctrl-C come through as they are. The kernel then finds everything trained.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from book._ext import notebooks
from grokbook.errors import GrokbookError

if TYPE_CHECKING:
    from nbformat import NotebookNode


def reading(notebook: NotebookNode) -> list[str]:
    """The code up to the last cell that may train; empty where nothing is trained."""
    code = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and "parameters" not in notebooks.tags(cell)
    ]
    last = max((k for k, cell in enumerate(code) if "retrain" in cell), default=-1)
    return code[: last + 1]


def train(notebook: NotebookNode, values: dict[str, Any]) -> None:
    """Train what a page asks for with these parameters, all of them.

    GrokbookError as from the training. What else is wrong with the cells is left to
    their execution, which names the cell.
    """
    space: dict[str, Any] = {"__name__": "page", **values}
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for source in reading(notebook):
            try:
                exec(compile(source, "page", "exec"), space)
            except GrokbookError:
                raise
            except Exception:
                return
