"""The two files of a page as notebooks, and what an executed one says.

A source is py:percent. The `#|` lines at the top of a code cell are one YAML mapping:

    #| name: fig-prieto2025-04
    #| caption: >
    #|   The finding, then what panels and marks are.
    #| alt: The finding, for those who cannot see it.
    #| fold: "Code: draw the figure"

They become the metadata that MyST-NB reads, and stay in the source of the cell.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode

from claimbook.errors import PageError
from claimbook.project import CLAIMS_MIME, home

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
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        lines = [line[2:] for line in cell.source.splitlines() if line[:2] == "#|"]
        options = yaml.safe_load("\n".join(line.removeprefix(" ") for line in lines))
        for key, words in (options or {}).items():
            words = " ".join(words.split())
            shown = cell.metadata.setdefault("mystnb", {})
            if key == "fold":
                shown |= {"code_prompt_show": words, "code_prompt_hide": "Hide code"}
                continue
            part, name = PLACES[key]
            shown.setdefault(part, {})[name] = words
    tidy(notebook)
    return notebook


# Sections of a page whose sentences tell what came of the book's own runs.
FINDINGS = ("What to see", "Reading the result")


def drop_findings(notebook: NotebookNode, scale: str) -> None:
    """Take out of a rerun what was written for the book's own result.

    That is the title's finding, the sections `FINDINGS` and the captions. Sentences
    with numbers are left out by `claimbook.tables.prose`.
    """
    kicker, _ = heading(notebook)
    rest = notebook.cells[0].source.partition("\n")[2]
    notebook.cells[0].source = f"# {kicker}: a rerun at {scale} scale\n{rest}"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts = re.split(r"^(?=## )", cell.source, flags=re.M)
            kept = [part for part in parts if _section(part) not in FINDINGS]
            cell.source = "".join(kept)
        shown_as(cell).get("figure", {}).pop("caption", None)


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
