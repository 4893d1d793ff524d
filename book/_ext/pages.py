"""Pages: found, named and executed.

A page is `book/<paper>/<id>_<words>.py`, a py:percent source, and its executed `.ipynb`
twin beside it. A file of one word is a page of ours beyond the paper,
`book/liu2026/causes.py`.
"""

import ast
import logging
import os
import re
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import nbformat
from nbformat import NotebookNode

import grokbook
from book._ext import notebooks
from claimbook import change, papers
from claimbook.change import Change
from claimbook.errors import PageError, choose
from claimbook.experiment import SCALES, Experiment
from claimbook.project import home, page_folders, paper_titles

LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "seaborn")
# Folders of no paper, and what stands above the titles there.
CHAPTERS = {"basics": "Start here", "story": "Start here", "questions": "Question"}
CHAPTERS |= {"remedies": "Remedies × tasks"}
NO_PAGES = ("experiments.py", "choose.py", "retune.py", "race.py", "operations.py")
# Parameters of every page: settings to change, and the arms to change them in.
SETTINGS = {"set": "", "arms": ""}
PLACES = ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA")


def sources() -> dict[str, Path]:
    """Page id -> its source, chapter by chapter; those beyond a paper last in each."""
    paths = [
        p for name in page_folders() for p in sorted(home().glob(f"book/{name}/*.py"))
    ]
    paths = [p for p in paths if p.name not in NO_PAGES]
    found = [(notebooks.id_of(path), path) for path in paths]
    found.sort(
        key=lambda one: (page_folders().index(one[1].parent.name), is_beyond(one[0]))
    )
    return dict(found)


def is_beyond(page_id: str) -> bool:
    """Whether a page is named by a word, as no figure or table is."""
    return not re.search(r"/(fig|tab)\d+$", page_id)


def name_of(page_id: str) -> str:
    """`prieto2025/fig02` -> `Figure 2`, `liu2026/causes` -> `beyond the paper`."""
    name = page_id.partition("/")[2]
    if is_beyond(page_id):
        return "beyond the paper"
    return f"{'Figure' if name.startswith('fig') else 'Table'} {int(name[3:])}"


def kicker(page_id: str) -> str:
    """What stands above the title of a page: `Prieto et al. 2025 · Figure 4`."""
    folder = page_id.partition("/")[0]
    above = "" if folder in CHAPTERS else f" · {name_of(page_id)}"
    return f"{re.sub('[()]', '', (paper_titles() | CHAPTERS)[folder])}{above}"


def find(page_id: str) -> Path:
    """The source of a page; UnknownName names the nearest ids."""
    return choose("page", page_id, sources())


def defaults(page_id: str, notebook: NotebookNode) -> dict[str, Any]:
    """Names and values in the cell tagged `parameters`; values are literals."""
    for cell in notebook.cells:
        if "parameters" in notebooks.tags(cell):
            made = [n for n in ast.parse(cell.source).body if isinstance(n, ast.Assign)]
            return {ast.unparse(n.targets[0]): ast.literal_eval(n.value) for n in made}
    raise PageError(f"Page {page_id} has no cell tagged 'parameters'.")


def typed(page_id: str, given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were asked for, each in the type of its default."""
    values = {n: {"True": True, "False": False}.get(v, v) for n, v in given.items()}
    for name, value in values.items():
        default = choose(f"parameter of page {page_id}", name, known)
        if type(value) is not type(default):
            told = f"takes '{name}' as it has {default!r}, not {value!r}"
            raise PageError(f"Page {page_id} {told}.")
    return values


def execute(
    page_ids: list[str],
    parameters: dict[str, Any] | None = None,
    out: Path | None = None,
) -> list[Path]:
    """Run pages from their sources; returns the notebooks written.

    Without `parameters` the twins in the book are replaced, unless one was edited. With
    them (a rerun) each page goes to `out`, a folder (default `_build/reruns`). Nothing
    is run before every name and type is accepted, and a page that fails replaces
    nothing. With `retrain` the terminal shows how far the training of a page is. `set`
    among the parameters changes settings of what a page trains, see `claimbook.change`,
    and `arms` is a pattern of the arms to change.
    """
    jobs = []
    for page_id in dict.fromkeys(page_ids):
        notebook = notebooks.read_source(find(page_id))
        known = defaults(page_id, notebook) | SETTINGS
        values = typed(page_id, parameters or {}, known)
        if values.get("scale", "best") != "best":
            choose("scale", values["scale"], SCALES)
        if values.get("set") or values.get("arms"):
            values = {"scale": "laptop"} | values | {"retrain": True}
            change_of(values).check(experiments(page_id, values["scale"]))
        target = find(page_id).with_suffix(".ipynb")
        if parameters or out:
            name = f"{page_id}{_marked(values)}.ipynb"
            target = (out or home() / "_build" / "reruns") / name
        elif target.is_file():
            _refuse_edited(find(page_id))
        target.parent.mkdir(parents=True, exist_ok=True)
        jobs.append((page_id, notebook, values, target))
    for page_id, notebook, values, target in jobs:
        _execute(page_id, notebook, values, target)
    return [target for *_, target in jobs]


def _marked(values: dict[str, Any]) -> str:
    """What the name of a rerun's notebook says of its settings: "" for the book's."""
    words = [values.get("set"), values.get("arms")]
    marks = (re.sub(r"[^\w.=+-]+", "_", word) for word in words if word)
    return "".join(f" {mark}" for mark in marks)


def change_of(values: dict[str, Any]) -> Change:
    """The change that the parameters of a page describe."""
    arms = values.get("arms")
    return change.read(values.get("set", ""), [arms] if arms else [])


def experiments(page_id: str, scale: str) -> list[Experiment]:
    """What a page trains at a scale: all that it read when it was executed."""
    carried = notebooks.claims_of(notebooks.read_twin(find(page_id))) or {}
    found = []
    for one in carried.get("read", []):
        asked = scale if one["asked"] == "best" else one["asked"]
        found.append(papers.get(one["record"], asked))
    return found


def _refuse_edited(path: Path) -> None:
    """PageError for a twin that somebody wrote into since it was executed."""
    found = notebooks.read_twin(path)
    if found.metadata["grokbook"]["written"] != notebooks.written(found):
        source, name = map(notebooks.place, (path, path.with_suffix(".ipynb")))
        raise PageError(
            f"{name} was edited since it was executed: take that over with 'jupytext "
            f"--to py:percent --output {source} {name}', or drop it with 'git checkout "
            f"{name}'."
        )


def _execute(
    page_id: str, notebook: NotebookNode, values: dict[str, Any], target: Path
) -> None:
    begun = time.monotonic()
    given = {name: v for name, v in values.items() if name not in SETTINGS}
    words = str(change_of(values)) if values.get("set") else ""
    if values:
        notebooks.drop_findings(notebook, str(values.get("scale", "")), words)
    if words:
        notebooks.insert_change(notebook, values["set"], values.get("arms", ""))
    notebook = _run(page_id, notebook, given)
    notebooks.tidy(notebook)
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        about = output.get("metadata", {}).pop("image/png", {})
        output.get("metadata", {}).clear()
        if "narrow" in about:  # the plot for a phone, which no one compares
            output.metadata["image/png"] = {"narrow": about["narrow"]}
    notebook.metadata.pop("papermill", None)
    notebook.metadata |= notebooks.METADATA
    notebook.metadata["grokbook"] = {
        "page": page_id,
        "written": notebooks.written(notebook),
        "shown": notebooks.shown(notebook),
        "executed": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - begun, 1),
        "versions": {name: version(name).split("+")[0] for name in LIBRARIES},
    } | ({"parameters": values} if values else {})
    whole = target.with_suffix(".part")
    whole.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    whole.replace(target)


class Progress:
    """What a kernel says of its training, without the traceback of an error."""

    def __init__(self, terminal: TextIO):
        self.terminal, self.flush = terminal, terminal.flush

    def write(self, text: str) -> None:
        if "Traceback (most recent call last)" not in text:
            self.terminal.write(text)


def _run(page_id: str, notebook: NotebookNode, values: dict[str, Any]) -> NotebookNode:
    """The notebook as papermill leaves it, run in the page's folder."""
    from nbclient.exceptions import DeadKernelError
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    # What either logs of an interrupt, or of a death, is told in one sentence instead.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    # Kernels start in the page's folder: where things lie they are told absolutely.
    told = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    told |= {n: str(Path(told[n]).absolute()) for n in PLACES if told.get(n)}
    told["PYTHONPATH"] = str(Path(grokbook.__file__).resolve().parents[1])
    how: Any = {"progress_bar": False, "extra_arguments": ["--log-level=50"]}
    if values:
        told["GROKBOOK_RERUN"] = "1"
    if values.get("retrain"):
        how["stderr_file"] = Progress(sys.stderr)
    else:
        told["GROKBOOK_PROGRESS"] = "no"  # which would be an output of the page
    if values.get("retrain") and not os.isatty(2):
        told.setdefault("GROKBOOK_PROGRESS", "log")
    try:
        with mock.patch.dict(os.environ, told):
            folder = find(page_id).parent
            return execute_notebook(notebook, None, values, cwd=folder, **how)
    except DeadKernelError as error:
        raise PageError(
            f"Page {page_id} ended without a word (no memory?); nothing was replaced."
        ) from error
    except PapermillExecutionError as error:
        line = next(iter(error.source.strip().splitlines()), "")
        reason = f"{error.ename}: {error.evalue}".strip().splitlines()[-1]
        raise PageError(
            f"Page {page_id} failed in cell {error.cell_index} ('{line}') with "
            f"{reason}; nothing was replaced."
        ) from error
