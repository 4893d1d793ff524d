"""Pages: their ids and names, and their execution.

A page is `book/<folder>/<id>_<words>.py`, a py:percent source, and its twin beside it,
the executed `.ipynb`. The folder is that of a paper, or of a chapter of ours. A page
whose id has no number, such as `book/liu2026/causes.py`, is one of ours beyond the
paper.
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
from claimbook.project import home, page_folders, paper_titles, written_whole

LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "seaborn")
# Folders of no paper, and what stands above the titles there.
CHAPTERS = {"basics": "Start here", "story": "Start here", "questions": "Question"}
CHAPTERS |= {"remedies": "Remedies × tasks"}
NO_PAGES = ("experiments.py", "choose.py", "retune.py", "race.py", "operations.py")
NUMBERED = re.compile(r"/(fig|tab)(\d+)$")  # ids of a paper's figures and tables
# Parameters of every page: settings to change, and a pattern of the arms that get them.
CHANGE_DEFAULTS = {"set": "", "arms": ""}
PATH_VARIABLES = ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA")


def sources() -> dict[str, Path]:
    """Return the source of every page by its id, in the order of the folders.

    In a folder the pages are in the order of their names, those beyond a paper last.
    """
    path_of_id = {}
    for folder in page_folders():
        paths = sorted(home().glob(f"book/{folder}/*.py"))
        paths.sort(key=lambda path: is_beyond(notebooks.id_of(path)))
        for path in paths:
            if path.name not in NO_PAGES:
                path_of_id[notebooks.id_of(path)] = path
    return path_of_id


def is_beyond(page_id: str) -> bool:
    """Return whether a page is no figure and no table of a paper."""
    return not NUMBERED.search(page_id)


def name_of(page_id: str) -> str:
    """Return "Figure 2" for "prieto2025/fig02", or "beyond the paper"."""
    if match := NUMBERED.search(page_id):
        return f"{'Figure' if match[1] == 'fig' else 'Table'} {int(match[2])}"
    return "beyond the paper"


def folder_title(folder: str) -> str:
    """Return "Prieto et al. 2025" for "prieto2025", "Start here" for "basics"."""
    return re.sub("[()]", "", (paper_titles() | CHAPTERS)[folder])


def kicker(page_id: str) -> str:
    """Return the line above the title of a page: "Prieto et al. 2025 · Figure 4"."""
    folder = page_id.partition("/")[0]
    title = folder_title(folder)
    return title if folder in CHAPTERS else f"{title} · {name_of(page_id)}"


def find(page_id: str) -> Path:
    """Return the source of a page; UnknownName suggests the nearest ids."""
    return choose("page", page_id, sources())


def defaults(page_id: str, notebook: NotebookNode) -> dict[str, Any]:
    """Return the parameters of a page: names and literals of its cell "parameters".

    Raises PageError if no cell has that tag.
    """
    for cell in notebook.cells:
        if "parameters" in notebooks.tags(cell):
            body = ast.parse(cell.source).body
            nodes = [node for node in body if isinstance(node, ast.Assign)]
            return {ast.unparse(n.targets[0]): ast.literal_eval(n.value) for n in nodes}
    raise PageError(f"Page {page_id} has no cell tagged 'parameters'.")


def typed(
    page_id: str, requested: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """Return the requested parameters, each in the type of its default in ``known``.

    The words "True" and "False" become booleans. Raises UnknownName for another name,
    and PageError for a value of another type.
    """
    booleans = {"True": True, "False": False}
    values = {name: booleans.get(v, v) for name, v in requested.items()}
    for name, value in values.items():
        default = choose(f"parameter of page {page_id}", name, known)
        if type(value) is not type(default):
            reason = f"takes '{name}' as it has {default!r}, not {value!r}"
            raise PageError(f"Page {page_id} {reason}.")
    return values


def execute(
    page_ids: list[str],
    parameters: dict[str, Any] | None = None,
    out: Path | None = None,
) -> list[Path]:
    """Execute pages from their sources, and return the notebooks that were written.

    Without ``parameters`` the twins in the book are replaced, unless one was edited.
    With them (a rerun) each page is written to ``out``, a folder, by default
    `_build/reruns`, under a name that has its scale and its changed settings. Nothing
    is run before every name and type is accepted, and a page that fails replaces
    nothing. With ``retrain`` the terminal shows the progress of the training, and
    without a scale, or at the "best", it is at laptop scale. ``set`` among the
    parameters changes settings of what a page trains, see `claimbook.change`, and
    ``arms`` is a pattern of the arms to change.
    """
    jobs = []
    for page_id in dict.fromkeys(page_ids):
        notebook = notebooks.read_source(find(page_id))
        known = defaults(page_id, notebook) | CHANGE_DEFAULTS
        values = typed(page_id, parameters or {}, known)
        if values.get("scale", "best") != "best":
            choose("scale", values["scale"], SCALES)
        is_changed = bool(values.get("set") or values.get("arms"))
        if is_changed:
            values["retrain"] = True
        is_best = values.get("scale", "best") == "best"
        if values.get("retrain") and is_best and "scale" in known:
            values["scale"] = "laptop"  # what `evidence.Page` trains for "best"
        if is_changed:
            change_of(values).check(experiments(page_id, values.get("scale", "laptop")))
        target = find(page_id).with_suffix(".ipynb")
        if parameters or out:
            name = f"{page_id}{_name_suffix(values)}.ipynb"
            target = (out or home() / "_build" / "reruns") / name
        elif target.is_file():
            _refuse_edited(find(page_id))
        target.parent.mkdir(parents=True, exist_ok=True)
        jobs.append((page_id, notebook, values, target))
    for job in jobs:
        _execute(*job)
    return [target for *_, target in jobs]


def _name_suffix(values: dict[str, Any]) -> str:
    """Return what the file name of a rerun says of its scale and its changed settings.

    It is "" for the best scale and no change.
    """
    scale = values.get("scale", "best")
    words = ["" if scale == "best" else scale, values.get("set"), values.get("arms")]
    marks = (re.sub(r"[^\w.=+-]+", "_", word) for word in words if word)
    return "".join(f" {mark}" for mark in marks)


def change_of(values: dict[str, Any]) -> Change:
    """Return the change that the parameters ``set`` and ``arms`` of a page describe."""
    arms = values.get("arms")
    if arms and not values.get("set"):
        raise PageError(
            "no setting is given: write one as in SET='optimizer.lr=0.02'; ARMS only "
            "says which arms SET changes"
        )
    return change.read(values.get("set", ""), [arms] if arms else [])


def experiments(page_id: str, scale: str) -> list[Experiment]:
    """Return what a page trains at a scale: all that its last execution read.

    A rerun trains nothing at another scale, whatever the page reads in the book.
    """
    closing = notebooks.closing(notebooks.read_twin(find(page_id)))
    names = dict.fromkeys(read["record"] for read in closing.get("read", []))
    return [papers.get(name, scale) for name in names]


def _refuse_edited(path: Path) -> None:
    """Raise PageError if somebody wrote into a twin since it was executed."""
    twin = notebooks.read_twin(path)
    if twin.metadata["grokbook"]["written"] != notebooks.written_digest(twin):
        source = notebooks.display_path(path)
        name = notebooks.display_path(path.with_suffix(".ipynb"))
        raise PageError(
            f"{name} was edited since it was executed: take that over with 'jupytext "
            f"--to py:percent --output {source} {name}', or drop it with 'git checkout "
            f"{name}'."
        )


def _execute(
    page_id: str, notebook: NotebookNode, values: dict[str, Any], target: Path
) -> None:
    """Execute one page with the parameters ``values``, and write it to ``target``."""
    start = time.monotonic()
    own = {name: v for name, v in values.items() if name not in CHANGE_DEFAULTS}
    changed = str(change_of(values)) if values.get("set") else ""
    if values:
        notebooks.drop_findings(notebook, str(values.get("scale", "")), changed)
        _make_plain(page_id, notebook)
    if changed:
        notebooks.insert_change(notebook, values["set"], values.get("arms", ""))
    notebook = _run(page_id, notebook, own)
    notebooks.tidy(notebook)
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        png_metadata = output.get("metadata", {}).pop("image/png", {})
        output.get("metadata", {}).clear()
        if "narrow" in png_metadata:  # the plot for a phone, which no one compares
            output.metadata["image/png"] = {"narrow": png_metadata["narrow"]}
    notebook.metadata.pop("papermill", None)
    notebook.metadata |= notebooks.METADATA
    notebook.metadata["grokbook"] = {
        "page": page_id,
        "written": notebooks.written_digest(notebook),
        "shown": notebooks.shown_digest(notebook),
        "executed": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - start, 1),
        "versions": {name: version(name).split("+")[0] for name in LIBRARIES},
    }
    if values:
        notebook.metadata["grokbook"]["parameters"] = values
    with written_whole(target) as part:
        part.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def _make_plain(page_id: str, notebook: NotebookNode) -> None:
    """Turn the MyST Markdown of a rerun, in place, into what any Jupyter shows."""
    from book._ext import handouts  # imports this module

    plain = handouts.PlainMarkdown(page_id, numbers={}, exercises={})
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain.markdown(cell.source)


class Progress:
    """A stream that passes on the progress of a kernel's training, and no traceback."""

    def __init__(self, terminal: TextIO):
        self.terminal, self.flush = terminal, terminal.flush

    def write(self, text: str) -> None:
        """Write a text to the terminal unless it is the traceback of an error."""
        if "Traceback (most recent call last)" not in text:
            self.terminal.write(text)


def _run(page_id: str, notebook: NotebookNode, values: dict[str, Any]) -> NotebookNode:
    """Return the notebook as papermill leaves it, run in the page's folder.

    Raises PageError, in one sentence, if a cell fails or the kernel dies.
    """
    from nbclient.exceptions import DeadKernelError
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    # of an interrupt or a death the sentence below tells, instead of these logs
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    environment = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    for name in PATH_VARIABLES:
        if environment.get(name):  # absolute, as kernels start in the page's folder
            environment[name] = str(Path(environment[name]).absolute())
    # the package of this process, then a reader's own modules, as they are found here
    source = Path(grokbook.__file__).resolve().parents[1]
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [source, Path.cwd(), *(Path(folder).absolute() for folder in own)]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    options: Any = {"progress_bar": False, "extra_arguments": ["--log-level=50"]}
    if values:
        environment["GROKBOOK_RERUN"] = "1"
    if values.get("retrain"):
        options["stderr_file"] = Progress(sys.stderr)
        if not os.isatty(2):
            environment.setdefault("GROKBOOK_PROGRESS", "log")
    else:
        environment["GROKBOOK_PROGRESS"] = "no"  # it would be an output of the page
    try:
        with mock.patch.dict(os.environ, environment):
            folder = find(page_id).parent
            return execute_notebook(notebook, None, values, cwd=folder, **options)
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
