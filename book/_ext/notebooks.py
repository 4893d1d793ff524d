"""The two files of a page as notebooks, and what an executed one says.

A page has a source ``.py`` in jupytext's py:percent format and its *twin*, the executed
``.ipynb`` beside it. The ``#|`` lines at the top of a code cell are one YAML mapping:

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

MYST_PLACES = {  # option -> its place in the metadata "mystnb" of a cell
    "name": ("figure", "name"),
    "caption": ("figure", "caption"),
    "alt": ("image", "alt"),
}
METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
ADDED = ("outputs", "execution_count", "grokbook")  # keys that an execution adds
# The JSON of a page that shows no claims.
NO_CLAIMS: dict[str, Any] = {"claims": [], "read": [], "verdict": "not run"}


def display_path(path: Path) -> str:
    """Return a path relative to the repository, or whole if it lies elsewhere."""
    root = home()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def read_source(path: Path) -> NotebookNode:
    """Return the source of a page as a notebook without outputs.

    Cell ids are positions, and the ``#|`` lines are metadata as well. Raises PageError
    if they are no YAML, and UnknownName for an unknown option in them.
    """
    notebook = jupytext.reads(read_text(path), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    for position, cell in enumerate(notebook.cells):
        where = f"cell {position} of {display_path(path)}"
        for option, value in _options(cell, where).items():
            text = " ".join(value.split())
            myst = cell.metadata.setdefault("mystnb", {})
            if option == "fold":
                myst |= {"code_prompt_show": text, "code_prompt_hide": "Hide code"}
                continue
            part, key = MYST_PLACES[option]
            myst.setdefault(part, {})[key] = text
    tidy(notebook)
    return notebook


def _options(cell: NotebookNode, where: str) -> dict[str, str]:
    """Return the mapping in the ``#|`` lines of a cell, empty without such lines.

    ``where`` names the cell in errors, which are those of `read_source`.
    """
    lines = [line[2:] for line in cell.source.splitlines() if line[:2] == "#|"]
    text = "\n".join(line.removeprefix(" ") for line in lines)
    try:
        options: dict[str, str] = parse_yaml(text) or {}
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise PageError(f"The lines `#|` of {where} are no YAML: {reason}.") from error
    check_type(f"what `#|` says in {where}", options, dict[str, str])
    for option in options:
        choose(f"option `#|` in {where}:", option, [*MYST_PLACES, "fold"])
    return options


# Sections of a page that a rerun keeps: no other is free of the book's own result.
KEPT = ("The idea", "Run it yourself")
# In a rerun, what replaces statements about the book's own result.
REPLACEMENTS = {"assert": "pass", "tables.prose": "pass", "sheet.box": "sheet.box()"}


def drop_findings(notebook: NotebookNode, scale: str, change: str = "") -> None:
    """Remove from a rerun, in place, what was written for the book's own result.

    That is the finding in the title, all text but the sections ``KEPT``, the captions,
    and assertions. The title says at which ``scale`` the rerun is, and with which
    ``change`` of settings, in words.
    """
    kicker, _ = heading(notebook)
    rerun = f"a rerun at {scale} scale" + (f" with {change}" if change else "")
    notebook.cells[0].source = f"# {kicker}: {rerun}"
    section = ""
    for cell in notebook.cells[1:]:
        if cell.cell_type == "code":
            cell.source = without_findings(cell.source)
            display_options(cell).get("figure", {}).pop("caption", None)
            continue
        kept = []
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            if part.startswith("## "):  # else the section of the cell before goes on
                section = part.partition("\n")[0].removeprefix("## ").strip()
            if section in KEPT:
                kept.append(part)
        cell.source = "".join(kept)
    notebook.cells = [cell for cell in notebook.cells if cell.source]


def insert_change(notebook: NotebookNode, settings: str, arms: str) -> None:
    """Insert a cell after the parameters that changes what the page trains.

    ``settings`` and ``arms`` are those of `claimbook.change.use`.
    """
    code = f"from claimbook import change\n\nchange.use({settings!r}, arms={arms!r})"
    is_tagged = ["parameters" in tags(cell) for cell in notebook.cells]
    cell = nbformat.v4.new_code_cell(code)
    notebook.cells.insert(is_tagged.index(True) + 1, cell)


def without_findings(source: str) -> str:
    """Return the code of a cell with the ``REPLACEMENTS`` of its statements.

    A reader's runs need not have the values that sentences and assertions ask for.
    """
    lines = source.splitlines(keepends=True)
    statements = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt)]
    # from the last to the first, so that line numbers stay right
    for node in sorted(statements, key=lambda node: -node.lineno):
        if replacement := REPLACEMENTS.get(_kind(node)):
            indent = " " * node.col_offset
            lines[node.lineno - 1 : node.end_lineno] = [f"{indent}{replacement}\n"]
    return "".join(lines)


def _kind(node: ast.stmt) -> str:
    """Return "assert", or the function that a statement calls, else ""."""
    if isinstance(node, ast.Assert):
        return "assert"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func)
    return ""


def tidy(notebook: NotebookNode) -> None:
    """Set cell ids to positions, and remove metadata that a source cannot hold."""
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        for key in set(cell.metadata) - {"tags", "mystnb"}:
            del cell.metadata[key]
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list to every cell


def read_twin(path: Path) -> NotebookNode:
    """Return the executed twin of a source.

    Raises PageError if it is missing, or damaged. It is not validated otherwise, since
    it was valid when it was written.
    """
    twin = path.with_suffix(".ipynb")
    again = f"run 'python -m book execute {id_of(path)}'"
    if not twin.is_file():
        raise PageError(f"{display_path(twin)} is missing: {again}.")
    try:
        notebook = nbformat.v4.reads(twin.read_text(encoding="utf-8"))
        written_digest(notebook), shown_digest(notebook)  # they read every cell
        notebook.metadata.get("grokbook", {}).get("page")
    except Exception as error:  # a merge, a full disk: whatever JSON may have become
        raise PageError(
            f"{display_path(twin)} is no notebook any more: delete it and {again}."
        ) from error
    return notebook


def id_of(path: Path) -> str:
    """Return the id of a page: "prieto2025/fig02" of ".../prieto2025/fig02_x.py"."""
    return f"{path.parent.name}/{path.stem.partition('_')[0]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def written_digest(notebook: NotebookNode) -> str:
    """Return a digest of what a person writes: types, sources and tags of cells."""
    return _digest(repr([(c.cell_type, c.source, tags(c)) for c in notebook.cells]))


def shown_digest(notebook: NotebookNode) -> str:
    """Return a digest of all outputs: what a notebook prints and draws."""
    outputs_by_cell = [cell.get("outputs", []) for cell in notebook.cells]
    return _digest(json.dumps(outputs_by_cell, sort_keys=True))


def inputs(notebook: NotebookNode) -> list[dict[str, Any]]:
    """Return what a source gives to an execution: the metadata, then each cell."""
    parts = [notebook.metadata, *notebook.cells]
    return [{k: v for k, v in part.items() if k not in ADDED} for part in parts]


def tags(cell: NotebookNode) -> list[str]:
    """Return the tags of a cell, often none."""
    return list(cell.metadata.get("tags", []))


def display_options(cell: NotebookNode) -> dict[str, Any]:
    """Return how MyST-NB shows a cell: "figure", "image", and the title of a fold."""
    return cell.metadata.get("mystnb", {})


def outputs(notebook: NotebookNode, mime: str) -> list[tuple[NotebookNode, Any]]:
    """Return (cell, data) for every output that has this MIME type."""
    return [
        (cell, output["data"][mime])
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if mime in output.get("data", {})
    ]


def heading(notebook: NotebookNode) -> tuple[str, str]:
    """Return (kicker, finding) of a title "# [Prieto et al. 2025]{.kicker} It is".

    The kicker is "" if a title has none.
    """
    first = notebook.cells[0].source.partition("\n")[0]
    match = re.fullmatch(r"# \[([^\[\]]+)\]\{\.kicker\}\s+(.+?)\s*", first)
    return (match[1], match[2]) if match else ("", first.removeprefix("# ").strip())


def closing(notebook: NotebookNode) -> dict[str, Any]:
    """Return the JSON that `Sheet.closing` stored in an executed page.

    It has the claims and what was read. Without such a cell it is ``NO_CLAIMS``.
    """
    stored = [data for _, data in outputs(notebook, CLAIMS_MIME)]
    return stored[-1] if stored else NO_CLAIMS
