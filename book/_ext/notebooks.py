"""The two files of a page as notebooks, and what an executed one says.

A file of the book that holds what it should not is a PageError of one sentence.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book._ext import options
from grokbook.errors import PageError
from grokbook.project import CLAIMS_MIME, home

if TYPE_CHECKING:
    from nbformat import NotebookNode

CARRIED = {  # what each entry of these lists in a claims table has
    "claims": {"statement", "quote", "where", "ours", "n", "interval", "verdict"}
    | {"main", "extra", "holds"},
    "read": {"record", "asked", "arms", "scale", "members", "sha256", "planned"},
    "cited": {"name", "sha256"},
}


def text_of(path: Path) -> str:
    """What a file of the book says; PageError if it cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PageError(f"{place(path)} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise PageError(
            f"{place(path)} is not text: take it from git again."
        ) from error


def place(path: Path) -> str:
    """A path as a reader of the book knows it."""
    root = home()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def read_source(path: Path) -> NotebookNode:
    """The source as a notebook without outputs; cell ids are its positions.

    The `#|` lines of its cells are in their metadata, see `options`. PageError names
    the cell whose lines cannot be read.
    """
    import jupytext

    notebook = jupytext.reads(text_of(path), fmt="py:percent")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = type(notebook.metadata)(kernelspec=kernel)
    for position, cell in enumerate(notebook.cells):
        options.apply(cell, f"Cell {position} of {place(path)}")
    tidy(notebook)
    return notebook


def tidy(notebook: NotebookNode) -> None:
    """Cell ids from positions, and only the metadata that a source can hold."""
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        for key in set(cell.metadata) - {"tags", "mystnb"}:
            del cell.metadata[key]
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list to every cell


def read_twin(path: Path) -> NotebookNode | None:
    """The executed twin of a source, None where there is none; PageError if damaged."""
    import nbformat

    twin = path.with_suffix(".ipynb")
    if not twin.is_file():
        return None
    text = text_of(twin)
    try:
        nbformat.validate(json.loads(text), version=4)
        return nbformat.reads(text, as_version=4)
    except (
        Exception
    ) as error:  # there are as many kinds of them as ways to be no notebook
        raise PageError(
            f"{place(twin)} is no notebook, it may be cut short or hold a conflict of "
            f"git: run 'python -m book execute {id_of(path)}'."
        ) from error


def id_of(path: Path) -> str:
    """The page that a source belongs to: `prieto2025/fig02`, or `liu2026/causes`."""
    return f"{path.parent.name}/{path.stem.split('_')[0]}"


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell, sorted."""
    return sorted(cell.metadata.get("tags", []))


def outputs(notebook: NotebookNode, mime: str) -> list[tuple[NotebookNode, Any]]:
    """(cell, data) of every output that carries this MIME type."""
    return [
        (cell, output["data"][mime])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if mime in output.get("data", {})
    ]


def heading(notebook: NotebookNode) -> tuple[str, str]:
    """(kicker, finding) of a title: `# [Prieto et al. 2025 · Figure 4]{.kicker} It is`.

    The kicker of a title without one is "".
    """
    first = (
        next(iter(notebook.cells[0].source.splitlines()), "") if notebook.cells else ""
    )
    match = re.fullmatch(r"# \[([^\[\]]+)\]\{\.kicker\}\s+(.+?)\s*", first)
    return (match[1], match[2]) if match else ("", first.removeprefix("# ").strip())


def claims_of(notebook: NotebookNode) -> dict[str, Any] | None:
    """What the claims table of an executed page carries: page, verdict and `CARRIED`.

    None where the page shows no claims, PageError where they have lost a part.
    """
    found = [data for _, data in outputs(notebook, CLAIMS_MIME)]
    if not found:
        return None
    try:
        whole = "verdict" in found[-1] and all(
            keys <= set(one)
            for part, keys in CARRIED.items()
            for one in found[-1].get(part, [])
        )
        page_id, whole = found[-1]["page"], whole and "claims" in found[-1]
    except (AttributeError, KeyError, TypeError):
        whole, page_id = False, notebook.metadata.get("grokbook", {}).get("page")
    if not whole:
        raise PageError(
            f"The claims of page {page_id} are damaged: run 'python -m book execute "
            f"{page_id}'."
        )
    return found[-1]


def read_by(page_id: str, notebook: NotebookNode) -> list[dict[str, Any]]:
    """The records that an executed page read, as its check cell says (`evidence`).

    PageError for one executed before that was written down.
    """
    read = (claims_of(notebook) or {}).get("read")
    if read is None:
        raise PageError(
            f"Page {page_id} does not say which records it read: "
            f"run 'python -m book execute {page_id}'."
        )
    return read
