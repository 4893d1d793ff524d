"""The two files of a page as notebooks, and what an executed one says.

A source is py:percent. The `#|` lines at the top of a code cell are one YAML mapping:

    #| name: fig-prieto2025-04
    #| caption: >
    #|   The finding, then what panels and marks are.
    #| alt: The finding, for those who cannot see it.
    #| fold: "Code: draw the figure"

They become the metadata that MyST-NB reads, and stay in the source of the cell.
"""

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode

from claimbook.errors import PageError, check_type, choose
from claimbook.project import CLAIMS_MIME, home, parse_yaml, read_text

PLACES = {  # option -> where MyST-NB looks for it
    "name": ("figure", "name"),
    "caption": ("figure", "caption"),
    "alt": ("image", "alt"),
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
METADATA: dict[str, Any] = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
RUN = ("outputs", "execution_count", "grokbook")  # what an execution adds


def place(path: Path) -> str:
    """A path as a reader of the book knows it."""
    root = home()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def read_source(path: Path) -> NotebookNode:
    """The source as a notebook without outputs; cell ids are its positions."""
    notebook = jupytext.reads(read_text(path), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        for key, words in _options(cell, f"cell {number} of {place(path)}").items():
            words = " ".join(words.split())
            shown = cell.metadata.setdefault("mystnb", {})
            if key == "fold":
                shown |= {"code_prompt_show": words, "code_prompt_hide": "Hide code"}
                continue
            part, name = PLACES[key]
            shown.setdefault(part, {})[name] = words
    tidy(notebook)
    return notebook


def _options(cell: NotebookNode, where: str) -> dict[str, str]:
    """What the lines `#|` of a cell say; BookError, with the place, where it is wrong.

    A cell is named by its position, as in its id.
    """
    lines = [line[2:] for line in cell.source.splitlines() if line[:2] == "#|"]
    text = "\n".join(line.removeprefix(" ") for line in lines)
    try:
        options: dict[str, str] = parse_yaml(text) or {}
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise PageError(f"The lines `#|` of {where} are no YAML: {reason}.") from error
    check_type(f"what `#|` says in {where}", options, dict[str, str])
    for key in options:
        choose(f"option `#|` in {where}:", key, [*PLACES, "fold"])
    return options


# Sections of a page that a rerun keeps: no other is free of the book's own result.
KEPT = ("The idea", "Run it yourself")
# What stands in a rerun in place of statements about the book's own result.
INSTEAD = {"assert": "pass", "tables.prose": "pass", "sheet.box": "sheet.box()"}


def drop_findings(notebook: NotebookNode, scale: str, change: str = "") -> None:
    """Take out of a rerun what was written for the book's own result.

    That is the title's finding, all text but the sections `KEPT`, the captions and what
    is asserted. Sentences with numbers are left out by `claimbook.tables.prose`.
    `change` says in words with which other settings the rerun trains.
    """
    kicker, _ = heading(notebook)
    what = f"a rerun at {scale} scale" + (f" with {change}" if change else "")
    notebook.cells[0].source = f"# {kicker}: {what}"
    section = ""
    for cell in notebook.cells[1:]:
        if cell.cell_type == "code":
            cell.source = without_findings(cell.source)
            shown_as(cell).get("figure", {}).pop("caption", None)
            continue
        kept = []
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            section = _section(part) or section  # a cell may go on with the last one
            if section in KEPT:
                kept.append(part)
        cell.source = "".join(kept)
    notebook.cells = [cell for cell in notebook.cells if cell.source]


def insert_change(notebook: NotebookNode, settings: str, arms: str) -> None:
    """Put a cell after the parameters that changes what the page trains."""
    code = f"from claimbook import change\n\nchange.use({settings!r}, arms={arms!r})"
    tagged = ["parameters" in tags(cell) for cell in notebook.cells]
    cell = nbformat.v4.new_code_cell(code)
    notebook.cells.insert(tagged.index(True) + 1, cell)


def without_findings(source: str) -> str:
    """The code of a cell without what it asserts and tells of the book's own runs.

    A reader's runs need not have the values that its sentences ask for.
    """
    lines = source.splitlines(keepends=True)
    statements = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt)]
    for node in sorted(statements, key=lambda node: -node.lineno):
        if instead := INSTEAD.get(_kind(node)):
            indent = " " * node.col_offset
            lines[node.lineno - 1 : node.end_lineno] = [f"{indent}{instead}\n"]
    return "".join(lines)


def _kind(node: ast.stmt) -> str:
    """`assert`, or the function that a statement calls; "" for any other."""
    if isinstance(node, ast.Assert):
        return "assert"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func)
    return ""


def _section(text: str) -> str:
    """`What to see` of a part of a page that begins so; "" for one without."""
    first = text.partition("\n")[0]
    return first.removeprefix("## ").strip() if first.startswith("## ") else ""


def tidy(notebook: NotebookNode) -> None:
    """Cell ids from positions, and only the metadata that a source can hold."""
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        for key in set(cell.metadata) - {"tags", "mystnb"}:
            del cell.metadata[key]
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list to every cell


def read_twin(path: Path) -> NotebookNode:
    """The executed twin of a source; PageError where there is none, or a damaged one.

    A notebook is taken as valid, which it was when it was written.
    """
    twin = path.with_suffix(".ipynb")
    again = f"run 'python -m book execute {id_of(path)}'"
    if not twin.is_file():
        raise PageError(f"{place(twin)} is missing: {again}.")
    try:
        notebook = nbformat.v4.reads(twin.read_text(encoding="utf-8"))
        written(notebook), shown(notebook)  # of all cells
        notebook.metadata.get("grokbook", {}).get("page")
    except Exception as error:  # a merge, a full disk: whatever JSON may have become
        raise PageError(
            f"{place(twin)} is no notebook any more: delete it and {again}."
        ) from error
    return notebook


def id_of(path: Path) -> str:
    """`.../prieto2025/fig02_softmax_collapse.py` -> `prieto2025/fig02`."""
    return f"{path.parent.name}/{path.stem.partition('_')[0]}"


def written(notebook: NotebookNode) -> str:
    """A digest of all that a person writes in a notebook."""
    words = [(c.cell_type, c.source, tags(c)) for c in notebook.cells]
    return hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def given(notebook: NotebookNode) -> list[dict[str, Any]]:
    """All that an execution is given: cells, captions, metadata; and nothing else."""
    every = [notebook.metadata, *notebook.cells]
    return [{k: v for k, v in one.items() if k not in RUN} for one in every]


def shown(notebook: NotebookNode) -> str:
    """A digest of all that a notebook prints and draws."""
    every = [cell.get("outputs", []) for cell in notebook.cells]
    return hashlib.sha256(json.dumps(every, sort_keys=True).encode()).hexdigest()[:16]


def tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def shown_as(cell: NotebookNode) -> dict[str, Any]:
    """What MyST-NB is told of a cell: `figure`, `image` and the words of a fold."""
    return cell.metadata.get("mystnb", {})


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
    first = notebook.cells[0].source.partition("\n")[0]
    match = re.fullmatch(r"# \[([^\[\]]+)\]\{\.kicker\}\s+(.+?)\s*", first)
    return (match[1], match[2]) if match else ("", first.removeprefix("# ").strip())


def claims_of(notebook: NotebookNode) -> dict[str, Any] | None:
    """What the claims table of an executed page carries; None where it shows none."""
    found = [data for _, data in outputs(notebook, CLAIMS_MIME)]
    return found[-1] if found else None
