"""Pages: found, named and executed.

A page is `book/<paper>/<id>_<words>.py`, a py:percent source, and its executed `.ipynb`
twin beside it. A file of one word is a page of ours beyond the paper,
`book/liu2026/causes.py`: it is no figure or table, and does not stand in the contents.
"""

import ast
import contextlib
import csv
import difflib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

import grokbook
from book._ext import notebooks
from grokbook.errors import GrokbookError, PageError
from grokbook.project import FOLDERS, PAPERS, home

LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "seaborn")
START = "Start here"  # above the title of a page that is of no paper
PRINTED = r"(fig|tab)\d+"  # the ids of what a paper prints
TRAINING = ("scale", "retrain", "device")  # what a page that trains takes at least
PLACES = ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA")
Tell = Callable[[str], None]


def contents() -> dict[str, str]:
    """Page id -> title, for every figure and table of the papers, in order."""
    with (home() / "book" / "contents.csv").open(encoding="utf-8", newline="") as lines:
        return {f"{r['paper']}/{r['id']}": r["title"] for r in csv.DictReader(lines)}


def sources() -> dict[str, Path]:
    """Page id -> its source, chapter by chapter; those beyond a paper last in each."""
    paths = [p for name in FOLDERS for p in sorted(home().glob(f"book/{name}/*.py"))]
    found = {notebooks.id_of(path): path for path in paths}
    order = sorted(
        found, key=lambda i: (FOLDERS.index(found[i].parent.name), is_beyond(i))
    )
    return {page_id: found[page_id] for page_id in order}


def is_beyond(page_id: str) -> bool:
    """Whether a page is named by a word, as no figure or table is."""
    return not re.fullmatch(PRINTED, page_id.partition("/")[2])


def name_of(page_id: str) -> str:
    """`prieto2025/fig02` -> `Figure 2`, `liu2026/causes` -> `beyond the paper`."""
    paper, _, name = page_id.partition("/")
    if paper not in PAPERS:
        return START
    if is_beyond(page_id):
        return "beyond the paper"
    return f"{'Figure' if name.startswith('fig') else 'Table'} {int(name[3:])}"


def kicker(page_id: str) -> str:
    """What stands above the title of a page: `Prieto et al. 2025 · Figure 4`."""
    paper = PAPERS.get(page_id.partition("/")[0])
    return f"{re.sub('[()]', '', paper)} · {name_of(page_id)}" if paper else START


def find(page_id: str) -> Path:
    """The source of a page; an unknown id is a PageError naming the nearest ones."""
    known = sources()
    if page_id in known:
        return known[page_id]
    close = difflib.get_close_matches(page_id, known, n=3) or list(known)[:6]
    planned = " (it is planned, but not written yet)" if page_id in contents() else ""
    raise PageError(
        f"There is no page '{page_id}'{planned}: did you mean {' or '.join(close)}?"
    )


def defaults(page_id: str, notebook: NotebookNode) -> dict[str, Any]:
    """Names and values in the cell tagged `parameters`; values are literals."""
    for cell in notebook.cells:
        if "parameters" in notebooks.tags(cell):
            made = [n for n in ast.parse(cell.source).body if isinstance(n, ast.Assign)]
            pairs = [(n.targets[0], ast.literal_eval(n.value)) for n in made]
            return {t.id: value for t, value in pairs if isinstance(t, ast.Name)}
    raise PageError(f"Page {page_id} has no cell tagged 'parameters'.")


def typed(page_id: str, name: str, value: Any, known: dict[str, Any]) -> Any:
    """The value in the type of the parameter's default; text is read as a literal."""
    if name not in known:
        raise PageError(
            f"Page {page_id} has no parameter '{name}': it has {', '.join(known)}."
        )
    default, given = known[name], value
    if isinstance(value, str) and not isinstance(default, str):
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(value)
    if type(default) is float and type(value) is int:
        value = float(value)
    if default is not None and type(value) is not type(default):
        raise PageError(
            f"Parameter '{name}' of page {page_id} takes {type(default).__name__} "
            f"(its default is {default!r}), not {given!r}."
        )
    return value


def execute(
    page_ids: list[str],
    parameters: dict[str, Any] | None = None,
    out: Path | None = None,
    tell: Tell = lambda _: None,
) -> list[Path]:
    """Run pages from their sources; returns the notebooks written.

    Without `parameters` the twins in the book are replaced, unless one was edited. With
    them (a rerun) each page goes to `out`, a folder (default `_build/reruns`). Nothing
    is run before every name and type is accepted, and a page that fails replaces
    nothing. With `retrain` what a page reads is trained first; `tell` hears of it.
    """
    jobs = []
    for page_id in dict.fromkeys(page_ids):
        path, given = find(page_id), dict(parameters or {})
        notebook = notebooks.read_source(path)
        known = defaults(page_id, notebook)
        if "retrain" not in known:  # a page that trains nothing
            given = {n: v for n, v in given.items() if n not in TRAINING}
        values = {n: typed(page_id, n, v, known) for n, v in given.items()}
        target = path.with_suffix(".ipynb")
        if parameters or out:
            target = (out or home() / "_build" / "reruns") / f"{page_id}.ipynb"
        else:
            _refuse_edited(path)
        jobs.append((page_id, path, notebook, known, values, target))
    return [_execute(*job, tell) for job in jobs]


def _refuse_edited(path: Path) -> None:
    """PageError for a twin that somebody wrote into since it was executed."""
    twin = path.with_suffix(".ipynb")
    if not twin.is_file():
        return
    found = notebooks.read_twin(path)
    about = found.metadata.get("grokbook", {})
    if about.get("written", notebooks.written(found)) != notebooks.written(found):
        name, source = notebooks.place(twin), notebooks.place(path)
        raise PageError(
            f"{name} was edited since it was executed: take that over with 'jupytext "
            f"--to py:percent --output {source} {name}', or drop it with 'git checkout "
            f"{name}'."
        )


def _execute(
    page_id: str,
    path: Path,
    notebook: NotebookNode,
    known: dict[str, Any],
    values: dict[str, Any],
    target: Path,
    tell: Tell,
) -> Path:
    if values.get("retrain"):
        train(notebook, known | values)
        tell(f"executing {page_id}: all that it reads is trained")
    elif target != path.with_suffix(".ipynb") and not reading(notebook):
        tell(f"{page_id} has nothing to train: it is executed as it is")
    begun = time.monotonic()
    notebook = _run(page_id, path.parent, notebook, values)
    notebooks.tidy(notebook)
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        output.get("metadata", {}).clear()
    notebook.metadata.pop("papermill", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["grokbook"] = {
        "page": page_id,
        "written": notebooks.written(notebook),
        "executed": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - begun, 1),
        "versions": {name: version(name).split("+")[0] for name in LIBRARIES},
    } | ({"parameters": values} if values else {})
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = target.with_suffix(".part")
    whole.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    whole.replace(target)
    return target


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
    """Run the cells that read records here, where a reader sees what they train.

    The kernel then finds everything trained. Errors of the training and Ctrl-C come
    through; all others are left to the execution, which names the cell.
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


def _run(
    page_id: str, folder: Path, notebook: NotebookNode, values: dict[str, Any]
) -> NotebookNode:
    """The notebook as papermill leaves it, run in `folder`; PageError if it fails."""
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    quiet = {"progress_bar": False, "extra_arguments": ["--log-level=40"]}
    with tempfile.TemporaryDirectory(prefix="grokbook-") as scratch, _for_kernels():
        unrun, run = Path(scratch, "unrun.ipynb"), Path(scratch, "run.ipynb")
        nbformat.write(notebook, unrun)
        try:
            execute_notebook(unrun, run, values, cwd=folder, **quiet)
        except PapermillExecutionError as error:
            line = next(iter(error.source.strip().splitlines()), "")
            reason = f"{error.ename}: {error.evalue}".strip().splitlines()[-1]
            raise PageError(
                f"Page {page_id} failed in cell {error.cell_index} ('{line}') with "
                f"{reason}; nothing was replaced."
            ) from error
        return nbformat.read(run, as_version=4)


@contextlib.contextmanager
def _for_kernels() -> Iterator[None]:
    """Tell kernels, which start in a page's folder, where things lie: absolutely."""
    told = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    told |= {n: str(Path(told[n]).absolute()) for n in PLACES if told.get(n)}
    told["GROKBOOK_PROGRESS"] = "no"  # which would be an output of the page
    told["PYTHONPATH"] = str(Path(grokbook.__file__).resolve().parents[1])
    before = dict(os.environ)
    os.environ.update(told)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
