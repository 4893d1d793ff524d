"""Pages: found, executed and checked.

A page is `book/<paper>/<id>_<words>.py`, a py:percent source, and its executed `.ipynb`
twin beside it. The source is the only thing that is edited; `execute` writes the twin,
`check` says what is wrong with a pair, and `record` is what a page calls first.

Not covered here: the pages made from all twins together (`catalogue`), rendering
(Jupyter Book) and comparing outputs (nbval).
"""

from __future__ import annotations

import ast
import csv
import difflib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grokbook import files

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from grokbook.records import Record

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = "application/vnd.grokbook.claims+json"
LARGEST = 600_000  # bytes of an executed page
PAPERS = {
    "prieto2025": "Prieto et al. (2025)",
    "singh2026": "Singh et al. (2026)",
    "liu2026": "Liu et al. (2026)",
    "tiwari2026": "Tiwari et al. (2026)",
}
VERDICTS = (
    "reproduced",
    "partly reproduced",
    "not reproduced",
    "seen at reduced scale",
    "partly seen at reduced scale",
    "not seen at reduced scale",
    "not run",
    "beyond the paper",
)
LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "seaborn")


class PageError(ValueError):
    """What is wrong with a page or a request for one, in one sentence."""


def contents() -> dict[str, str]:
    """Page id -> title, for every figure and table of the four papers, in order."""
    with (ROOT / "book" / "contents.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {f"{row['paper']}/{row['id']}": row["title"] for row in rows}


def sources() -> dict[str, Path]:
    """Page id -> its py:percent source, for every page there is."""
    found = sorted(p for paper in PAPERS for p in ROOT.glob(f"book/{paper}/*_*.py"))
    return {f"{path.parent.name}/{path.name.split('_')[0]}": path for path in found}


def find(page_id: str) -> Path:
    """The source of a page; an unknown id is a PageError naming the nearest ones."""
    known = sources()
    if page_id in known:
        return known[page_id]
    close = difflib.get_close_matches(page_id, known, n=3) or list(known)[:6]
    hint = f"did you mean {' or '.join(close)}?" if close else "the book has none yet."
    planned = " (it is planned, but not written yet)" if page_id in contents() else ""
    raise PageError(f"There is no page '{page_id}'{planned}: {hint}")


def read_source(path: Path) -> NotebookNode:
    """The source as a notebook without outputs; cell ids are its positions."""
    import jupytext

    notebook = jupytext.read(path, fmt="py:percent")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = type(notebook.metadata)(kernelspec=kernel)
    _tidy(notebook)
    return notebook


def _tidy(notebook: NotebookNode) -> None:
    """Cell ids from positions, and only the metadata that a source can hold."""
    for position, cell in enumerate(notebook.cells):
        cell.id = f"cell-{position:02d}"
        for key in set(cell.metadata) - {"tags", "mystnb"}:
            del cell.metadata[key]
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list to every cell


def read_twin(path: Path) -> NotebookNode | None:
    """The executed twin of a source, None where there is none."""
    import nbformat

    twin = path.with_suffix(".ipynb")
    return nbformat.read(twin, as_version=4) if twin.is_file() else None


def tags(cell: NotebookNode) -> list[str]:
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
    """(title, verdict) from a first line `# Figure 2: the finding (verdict)`."""
    first = notebook.cells[0].source.splitlines()[0] if notebook.cells else ""
    match = re.fullmatch(r"# (.+?)\s*\(([^()]+)\)\s*", first)
    return (match[1], match[2]) if match else (first.removeprefix("# "), "")


def claims_of(notebook: NotebookNode) -> dict | None:
    """What the check cell of an executed page carries: page, scale, verdict, claims."""
    found = [data for _, data in outputs(notebook, CLAIMS)]
    return found[-1] if found else None


def record(
    name: str,
    *,
    scale: str = "best",
    arms: Iterable[str] = (),
    retrain: bool = False,
    device: str = "auto",
) -> Record:
    """The record that a page reads: the stored one, or one trained now.

    "best" is the best scale whose record has a seed of each of `arms`, those without
    which the page cannot be read: one whose training has only begun is passed over.

    With `retrain` the experiment is trained at `scale` ("best" means "laptop") into
    data/reruns/, so that a reader's rerun never touches the records of the book.
    """
    from grokbook import papers

    if not retrain:
        return papers.record(name, scale=scale, arms=arms)
    from grokbook import workers

    scale = "laptop" if scale == "best" else scale
    reruns = ROOT / "data" / "reruns"
    return workers.run(papers.get(name, scale), device=device, out=reruns)


def defaults(page_id: str, notebook: NotebookNode) -> dict[str, Any]:
    """Names and values in the cell tagged `parameters`; values must be literals."""
    for cell in notebook.cells:
        if "parameters" in tags(cell):
            found = {}
            for node in ast.parse(cell.source).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                if isinstance(target, ast.Name):
                    found[target.id] = ast.literal_eval(node.value)
            return found
    raise PageError(f"Page {page_id} has no cell tagged 'parameters'.")


def typed(page_id: str, name: str, value: Any, known: dict[str, Any]) -> Any:
    """The value in the type of the parameter's default; text is read as a literal."""
    if name not in known:
        raise PageError(
            f"Page {page_id} has no parameter '{name}': it has {', '.join(known)}."
        )
    default, given = known[name], value
    if isinstance(value, str) and not isinstance(default, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            value = given
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
) -> list[Path]:
    """Run pages from their sources; returns the notebooks written.

    Without `parameters` the twins in the book are replaced. With them (a rerun) the
    twins stay and each page goes to `out`: a folder (default `_build/reruns`) or, for a
    single page, a path ending in .ipynb. Nothing is run before every name and type is
    accepted, and a page that fails replaces nothing: PageError names cell and error.
    """
    jobs = []
    for page_id in dict.fromkeys(page_ids):
        path = find(page_id)
        notebook = read_source(path)
        known = defaults(page_id, notebook)
        values = {n: typed(page_id, n, v, known) for n, v in (parameters or {}).items()}
        target = path.with_suffix(".ipynb")
        if parameters or out:
            target = out or ROOT / "_build" / "reruns"
            if target.suffix != ".ipynb":
                target = target / f"{page_id}.ipynb"
        jobs.append((page_id, path, notebook, values, target))
    if out and out.suffix == ".ipynb" and len(jobs) > 1:
        raise PageError(f"{len(jobs)} pages cannot be written to the one file {out}.")
    return [_execute(*job) for job in jobs]


def _execute(
    page_id: str,
    path: Path,
    notebook: NotebookNode,
    values: dict[str, Any],
    target: Path,
) -> Path:
    import nbformat

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    begun = time.monotonic()
    notebook = _run(page_id, path.parent, notebook, values)
    _tidy(notebook)
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
    from nbclient.exceptions import DeadKernelError
    from papermill import execute_notebook
    from papermill.exceptions import PapermillExecutionError

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # The kernel starts in the page's folder, where a relative PYTHONPATH leads nowhere.
    known = [str(Path(__file__).resolve().parents[1])]
    known += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, dict.fromkeys(known)))
    quiet = {"progress_bar": False, "extra_arguments": ["--log-level=40"]}
    with tempfile.TemporaryDirectory(prefix="grokbook-") as scratch:
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
        except DeadKernelError as error:
            raise PageError(
                f"The kernel of page {page_id} died, most likely for want of memory; "
                f"nothing was replaced."
            ) from error
        return nbformat.read(run, as_version=4)


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole, or say in a PageError why not."""
    try:
        with files.whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PageError(
            f"{path} cannot be written ({error.strerror}); it is as it was before."
        ) from error


def check(page_ids: list[str] | None = None) -> list[str]:
    """What is wrong with the pages (all of them unless named): one sentence each."""
    import yaml

    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed, planned, names = set(_files(toc)), contents(), {}
    found = []
    for page_id in sources() if page_ids is None else page_ids:
        path = find(page_id)
        entry = path.with_suffix(".ipynb").relative_to(ROOT / "book").as_posix()
        faults = []
        if page_id not in planned:
            faults.append("is not in book/contents.csv")
        if entry not in listed:
            faults.append(f"is not in _toc.yml: add 'file: {entry}' to its chapter")
        source, twin = read_source(path), read_twin(path)
        if twin is None:
            faults.append(f"was never executed: run 'grokbook execute {page_id}'")
        else:
            faults += _pair_faults(page_id, source, twin)
            faults += _claim_faults(page_id, twin)
            for name in _figure_names(twin):
                if names.setdefault(name, page_id) != page_id:
                    faults.append(f"has a figure named '{name}', as {names[name]} has")
            faults += _figure_faults(twin)
            size = path.with_suffix(".ipynb").stat().st_size
            if size > LARGEST:
                faults.append(f"holds {size // 1000} kB; {LARGEST // 1000} are allowed")
        found += [f"Page {page_id} {fault}." for fault in faults]
    orphans = {p for paper in PAPERS for p in ROOT.glob(f"book/{paper}/*.ipynb")}
    orphans -= {path.with_suffix(".ipynb") for path in sources().values()}
    found += [f"{p.relative_to(ROOT)} has no .py source." for p in sorted(orphans)]
    return found


def _files(toc: Any) -> list[str]:
    """Every `file:` of a table of contents, however deep."""
    if isinstance(toc, list):
        return [file for part in toc for file in _files(part)]
    if isinstance(toc, dict):
        inner = [file for part in toc.values() for file in _files(part)]
        return inner + ([toc["file"]] if "file" in toc else [])
    return []


def _pair_faults(page_id: str, source: NotebookNode, twin: NotebookNode) -> list[str]:
    faults = []
    pairs = [[(c.cell_type, c.source) for c in nb.cells] for nb in (source, twin)]
    again = f"run 'grokbook execute {page_id}'"
    if pairs[0] != pairs[1]:
        faults.append(f"differs between its .py and its .ipynb: {again}")
    elif [tags(c) for c in source.cells] != [tags(c) for c in twin.cells]:
        faults.append(f"has other tags in its .py than in its .ipynb: {again}")
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        faults.append(f"has a cell that was never executed: {again}")
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        faults.append(f"holds an error output: {again}")
    for tag in ("parameters", "nbval-check-output"):
        if not any(tag in tags(cell) for cell in code):
            faults.append(f"has no code cell tagged '{tag}'")
    return faults


def _claim_faults(page_id: str, twin: NotebookNode) -> list[str]:
    claims, (title, verdict) = claims_of(twin), heading(twin)
    if claims is None:
        return ["shows no claims table: end its check cell in claims.table(...)"]
    faults = []
    if claims["verdict"] != verdict:
        faults.append(
            f"is titled '{title} ({verdict})' but its claims say '{claims['verdict']}'"
        )
    unknown = {c["verdict"] for c in claims["claims"]} | {claims["verdict"]}
    faults += [f"uses the unknown verdict '{v}'" for v in sorted(unknown - {*VERDICTS})]
    for name, arms in records_read(twin).items():
        try:
            record(name, scale=defaults(page_id, twin).get("scale", "best"), arms=arms)
        except Exception as error:  # whatever the store objects to is one more fault
            faults.append(f"reads a record that cannot be used: {error}".rstrip("."))
    return faults


def records_read(notebook: NotebookNode) -> dict[str, tuple[str, ...]]:
    """Records that a page asks for and their `arms`, by `record("...", arms=(...))`."""
    found = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                name = getattr(node.args[0], "value", None)
                if called == "record" and isinstance(name, str):
                    arms = [k.value for k in node.keywords if k.arg == "arms"]
                    found.setdefault(name, _words(arms[0]) if arms else ())
    return found


def _words(node: ast.expr) -> tuple[str, ...]:
    """The texts of a literal tuple of them."""
    try:
        return tuple(ast.literal_eval(node))
    except ValueError as error:
        raise PageError(
            f"A page asks for the arms {ast.unparse(node)}: write them out, so that "
            f"whoever lists the records it reads sees them too."
        ) from error


def _figure_names(notebook: NotebookNode) -> list[str]:
    figures = [c.metadata.get("mystnb", {}).get("figure", {}) for c in notebook.cells]
    return [figure["name"] for figure in figures if "name" in figure]


def _figure_faults(twin: NotebookNode) -> list[str]:
    faults = []
    for cell, _ in outputs(twin, "image/png"):
        mystnb = cell.metadata.get("mystnb", {})
        for part, key in (("figure", "caption"), ("figure", "name"), ("image", "alt")):
            if not mystnb.get(part, {}).get(key):
                start = cell.source.splitlines()[0]
                faults.append(f"has a figure without mystnb.{part}.{key} ('{start}')")
    return faults
