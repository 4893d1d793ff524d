"""Pages: found, read and executed.

A page is `book/<paper>/<id>_<words>.py`, a py:percent source, and its executed `.ipynb`
twin beside it. The source is the only thing that is edited; `execute` writes the twin.
A file of one word is a page of ours beyond the paper, `book/liu2026/causes.py`: it is
no figure or table, and does not stand in the contents.
Whatever a file of the book holds that it should not is a PageError of one sentence.

Not covered: what is wrong with a pair (`checks`), the pages made from all twins
together (`catalogue`), rendering (Jupyter Book) and comparing outputs (nbval).
"""

from __future__ import annotations

import ast
import contextlib
import csv
import difflib
import hashlib
import io
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grokbook
from book._ext import notebooks, rehearsal
from grokbook import files
from grokbook.errors import PageError
from grokbook.project import FOLDERS, PAPERS, home

if TYPE_CHECKING:
    from nbformat import NotebookNode

LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "seaborn")
START = "Start here"  # above the title of a page that is of no paper
PRINTED = r"(fig|tab)\d+"  # the ids of what a paper prints
TRAINING = ("scale", "retrain", "device")  # what a page that trains takes at least
PLACES = ("GROKBOOK_HOME", "GROKBOOK_RECORDS", "GROKBOOK_DATA")
Job = tuple[str, Path, "NotebookNode", dict[str, Any], Path]


def contents() -> dict[str, str]:
    """Page id -> title, for every figure and table of the four papers, in order.

    PageError where book/contents.csv is empty, cut short or holds anything else.
    """
    path = home() / "book" / "contents.csv"
    text, found = notebooks.text_of(path), {}
    if not text.endswith("\n"):
        raise PageError(
            f"{notebooks.place(path)} is empty or cut short: take it from git again."
        )
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        for row in lines:
            if lines.line_num > 1:
                paper, name, title = row
                if paper not in PAPERS or not re.fullmatch(PRINTED, name):
                    raise ValueError
                found[f"{paper}/{name}"] = title
            elif row != ["paper", "id", "title"]:
                raise ValueError
    except (ValueError, csv.Error) as error:
        raise PageError(
            f"Line {lines.line_num} of {notebooks.place(path)} does not name a paper, "
            "a figure or table of it and its title: take the file from git again."
        ) from error
    return found


def sources() -> dict[str, Path]:
    """Page id -> its py:percent source, for every page; those beyond a paper last."""
    paths = [path for name in FOLDERS for path in home().glob(f"book/{name}/*.py")]
    found = {notebooks.id_of(path): path for path in sorted(paths)}
    order = sorted(found, key=lambda i: (i.partition("/")[0], is_beyond(i)))
    return {page_id: found[page_id] for page_id in order}


def is_beyond(page_id: str) -> bool:
    """Whether a page is beyond its paper: named by a word, as no figure or table is."""
    return not re.fullmatch(PRINTED, page_id.partition("/")[2])


def kicker(page_id: str) -> str:
    """What stands above the title of a page: `Prieto et al. 2025 · Figure 4`."""
    paper = PAPERS.get(page_id.partition("/")[0])
    return f"{re.sub('[()]', '', paper)} · {name_of(page_id)}" if paper else START


def name_of(page_id: str) -> str:
    """`prieto2025/fig02` -> `Figure 2`, `liu2026/causes` -> `beyond the paper`."""
    if page_id.partition("/")[0] not in PAPERS:
        return START
    if is_beyond(page_id):
        return "beyond the paper"
    name = page_id.partition("/")[2]
    return f"{'Figure' if name.startswith('fig') else 'Table'} {int(name[3:])}"


def find(page_id: str) -> Path:
    """The source of a page; an unknown id is a PageError naming the nearest ones."""
    known = sources()
    if page_id in known:
        return known[page_id]
    close = difflib.get_close_matches(page_id, known, n=3) or list(known)[:6]
    hint = f"did you mean {' or '.join(close)}?" if close else "the book has none yet."
    planned = " (it is planned, but not written yet)" if page_id in contents() else ""
    raise PageError(f"There is no page '{page_id}'{planned}: {hint}")


def defaults(page_id: str, notebook: NotebookNode) -> dict[str, Any]:
    """Names and values in the cell tagged `parameters`; values must be literals."""
    for cell in notebook.cells:
        if "parameters" in notebooks.tags(cell):
            try:
                nodes = [
                    n for n in ast.parse(cell.source).body if type(n) is ast.Assign
                ]
                pairs = [(n.targets[0], ast.literal_eval(n.value)) for n in nodes]
            except (SyntaxError, ValueError) as error:
                raise PageError(
                    f"Page {page_id} has parameters that are not literal values, like "
                    "scale = 'best'."
                ) from error
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
    tell: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Run pages from their sources; returns the notebooks written.

    Without `parameters` the twins in the book are replaced. With them (a rerun) the
    twins stay and each page goes to `out`: a folder (default `_build/reruns`) or, for a
    single page, a path ending in .ipynb. Nothing is run before every name and type is
    accepted, and a page that fails replaces nothing: PageError names cell and error.
    With `retrain` what a page reads is trained first; `tell` hears what is being done.
    """
    jobs = [_job(one, parameters or {}, out) for one in dict.fromkeys(page_ids)]
    if out and out.suffix == ".ipynb" and len(jobs) > 1:
        raise PageError(f"{len(jobs)} pages cannot be written to the one file {out}.")
    return [_execute(*job, tell) for job in jobs]


def _job(page_id: str, parameters: dict[str, Any], out: Path | None) -> Job:
    path, is_rerun = find(page_id), bool(parameters)
    notebook = notebooks.read_source(path)
    known = defaults(page_id, notebook)
    if "retrain" not in known:  # a page that trains nothing
        parameters = {n: v for n, v in parameters.items() if n not in TRAINING}
    values = {n: typed(page_id, n, v, known) for n, v in parameters.items()}
    target = path.with_suffix(".ipynb")
    if is_rerun or out:
        target = out or home() / "_build" / "reruns"
        if target.suffix != ".ipynb":
            target = target / f"{page_id}.ipynb"
    return page_id, path, notebook, values, target


def _execute(
    page_id: str,
    path: Path,
    notebook: NotebookNode,
    values: dict[str, Any],
    target: Path,
    tell: Callable[[str], None],
) -> Path:
    import nbformat

    if target != path.with_suffix(".ipynb") and not rehearsal.reading(notebook):
        tell(f"{page_id} has nothing to train: it is executed as it is")
    elif values.get("retrain"):
        rehearsal.train(notebook, defaults(page_id, notebook) | values)
        tell(f"executing {page_id}: all that it reads is trained")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    begun = time.monotonic()
    notebook = _run(page_id, path.parent, notebook, values)
    notebooks.tidy(notebook)
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        output.get("metadata", {}).clear()
    notebook.metadata.pop("papermill", None)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["grokbook"] = {
        "page": page_id,
        "source": digest,
        "executed": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.monotonic() - begun, 1),
        "versions": {name: version(name).split("+")[0] for name in LIBRARIES},
    }
    if values:
        notebook.metadata["grokbook"]["parameters"] = values
    _write(target, nbformat.writes(notebook) + "\n")
    return target


def _run(
    page_id: str, folder: Path, notebook: NotebookNode, values: dict[str, Any]
) -> NotebookNode:
    """The notebook as papermill leaves it, run in `folder`; PageError if it fails."""
    import nbformat
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    quiet = {"progress_bar": False, "extra_arguments": ["--log-level=40"]}
    with (
        tempfile.TemporaryDirectory(prefix="grokbook-") as scratch,
        _environment(_for_kernels()),
    ):
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
        except RuntimeError as error:  # nbclient's, at the start or in a cell
            raise PageError(
                f"The kernel of page {page_id} died, most likely for want of memory; "
                f"nothing was replaced."
            ) from error
        return nbformat.read(run, as_version=4)


def _for_kernels() -> dict[str, str]:
    """What a kernel must be told: one thread, this package, and where things lie.

    It starts in the page's folder, where a relative path leads nowhere.
    """
    told = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    told = {name: os.environ.get(name, value) for name, value in told.items()}
    told["GROKBOOK_PROGRESS"] = "no"  # which would be an output of the page
    for name in PLACES:
        if os.environ.get(name):
            told[name] = str(Path(os.environ[name]).absolute())
    known = [str(Path(grokbook.__file__).resolve().parents[1])]
    known += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    told["PYTHONPATH"] = os.pathsep.join(filter(None, dict.fromkeys(known)))
    return told


@contextlib.contextmanager
def _environment(told: dict[str, str]) -> Iterator[None]:
    """Environment variables for the kernels started inside, put back at the end."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole, or say in a PageError why not."""
    try:
        with files.whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PageError(
            f"{path} cannot be written ({error.strerror}); it is as it was before."
        ) from error
