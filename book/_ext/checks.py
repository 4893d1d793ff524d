"""What is wrong with the pages, one sentence each: `python -m book check`.

A page is in order when its twin was executed from its source as it is, names its figure
or table above its title, has a table of claims that says where the paper makes each,
describes its figures, stands in the contents unless it is beyond the paper, and read
records and references that are still those of the store, of experiments that are still
planned as they were. What it read is in its check cell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from book._ext import notebooks, pages
from grokbook import evidence, papers, tables
from grokbook.claims import registered
from grokbook.claims.verdict import VERDICTS
from grokbook.errors import GrokbookError, PageError
from grokbook.project import FIGURE_MIME, FOLDERS, home
from grokbook.records import Record

if TYPE_CHECKING:
    from nbformat import NotebookNode

LARGEST = 600_000  # bytes of an executed page


def check(page_ids: list[str] | None = None) -> list[str]:
    """What is wrong with the pages (all of them unless named): one sentence each.

    PageError where the contents or the table of contents cannot be read at all.
    """
    planned, listed = pages.contents(), set(chapters())
    names: dict[str, str] = {}
    found = []
    for page_id in pages.sources() if page_ids is None else page_ids:
        path = pages.find(page_id)
        twin = path.with_suffix(".ipynb")
        entry = twin.relative_to(home() / "book").as_posix()
        faults = []
        if page_id not in planned and not pages.is_beyond(page_id):
            faults.append("is not in book/contents.csv")
        if entry not in listed:
            faults.append(f"is not in _toc.yml: add 'file: {entry}' to its chapter")
        try:
            faults += _faults(page_id, path, names)
        except PageError as error:
            found.append(str(error))
        found += [f"Page {page_id} {fault}." for fault in faults]
    orphans = {p for name in FOLDERS for p in home().glob(f"book/{name}/*.ipynb")}
    orphans -= {path.with_suffix(".ipynb") for path in pages.sources().values()}
    found += [f"{p.relative_to(home())} has no .py source." for p in sorted(orphans)]
    return found


def chapters() -> list[str]:
    """Every `file:` of _toc.yml, however deep; PageError if it is not one."""
    import yaml

    path = home() / "_toc.yml"
    try:
        toc = yaml.safe_load(notebooks.text_of(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"Line {mark.line + 1} of _toc.yml" if mark else "_toc.yml"
        raise PageError(f"{where} is not YAML: take it from git again.") from error
    if not isinstance(toc, dict) or "root" not in toc:
        raise PageError("_toc.yml lists no chapters: take it from git again.")
    return _files(toc)


def _files(toc: Any) -> list[str]:
    if isinstance(toc, list):
        return [file for part in toc for file in _files(part)]
    if isinstance(toc, dict):
        inner = [file for part in toc.values() for file in _files(part)]
        return inner + ([toc["file"]] if "file" in toc else [])
    return []


def _faults(page_id: str, path: Path, names: dict[str, str]) -> list[str]:
    """Faults of one pair; ``names`` has the pages of the figures seen so far."""
    source, twin = notebooks.read_source(path), notebooks.read_twin(path)
    if twin is None:
        return [f"was never executed: run 'python -m book execute {page_id}'"]
    faults = _pair_faults(page_id, source, twin) + _claim_faults(page_id, twin)
    for name in _figure_names(twin):
        if names.setdefault(name, page_id) != page_id:
            faults.append(f"has a figure named '{name}', as {names[name]} has")
    faults += _figure_faults(twin)
    size = path.with_suffix(".ipynb").stat().st_size
    if size > LARGEST:
        faults.append(f"holds {size // 1000} kB; {LARGEST // 1000} are allowed")
    return faults


def _pair_faults(page_id: str, source: NotebookNode, twin: NotebookNode) -> list[str]:
    faults = []
    pairs = [[(c.cell_type, c.source) for c in nb.cells] for nb in (source, twin)]
    again = f"run 'python -m book execute {page_id}'"
    if pairs[0] != pairs[1]:
        faults.append(f"differs between its .py and its .ipynb: {again}")
    elif [_shown(c) for c in source.cells] != [_shown(c) for c in twin.cells]:
        faults.append(f"has other tags or captions in its .py than its .ipynb: {again}")
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        faults.append(f"has a cell that was never executed: {again}")
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        faults.append(f"holds an error output: {again}")
    if not any("parameters" in notebooks.tags(cell) for cell in code):
        faults.append("has no code cell tagged 'parameters'")
    return faults


def _shown(cell: NotebookNode) -> tuple[list[str], dict[str, Any]]:
    """What of a cell's metadata decides how it is shown."""
    return notebooks.tags(cell), dict(cell.metadata.get("mystnb", {}))


def _claim_faults(page_id: str, twin: NotebookNode) -> list[str]:
    claims, (kicker, finding) = notebooks.claims_of(twin), notebooks.heading(twin)
    faults = []
    if (kicker, bool(finding)) != (wanted := pages.kicker(page_id), True):
        faults.append(f"does not begin with '# [{wanted}]{{.kicker}} The finding'")
    if claims is None:
        return [*faults, "shows no claims: close it with sheet.closing()"]
    unknown = {c["verdict"] for c in claims["claims"]} | {claims["verdict"]}
    faults += [f"uses the unknown verdict '{v}'" for v in sorted(unknown - {*VERDICTS})]
    faults += _wordless(claims["claims"])
    again = f"run 'python -m book execute {page_id}'"
    if not claims.keys() >= {"read", "cited"}:
        faults.append(f"does not say which records it read: {again}")
    read = [_read_fault(one) for one in claims.get("read", [])]
    read += [_closing_fault(page_id, twin, claims)]
    read += [_cited_fault(one) for one in claims.get("cited", [])]
    return faults + [f"{fault}: {again}" for fault in read if fault]


def _closing_fault(page_id: str, twin: NotebookNode, claims: dict[str, Any]) -> str:
    """What claims.yaml and settings.yaml say now and the page does not, or ""."""
    paper = home() / "book" / page_id.partition("/")[0]
    if not (paper / "claims.yaml").is_file():
        return ""
    try:
        if fault := registered.differing(page_id, claims["claims"]):
            return fault
        for read in claims.get("read", []):
            found = stored(read)
            made = f"grokbook run {found.name} --scale {found.scale}"
            text = "\n".join(text for _, text in notebooks.outputs(twin, "text/plain"))
            if made in text and tables.trained(found).text not in text:
                return f"shows other settings of {found.name} than there are now"
    except GrokbookError as error:
        return f"is not as registered ({str(error).rstrip('.')})"
    return ""


def _wordless(claims: list[dict[str, Any]]) -> list[str]:
    """The rows that judge a paper without its words, or the place that has them."""
    return [
        f"judges row {row} ('{claim['statement']}') without {lacking}: quote the paper "
        "and name the section, or report the row as `extra`"
        for row, claim in enumerate(claims, start=1)
        if not claim["extra"]
        for lacking, key in (("the paper's words", "quote"), ("their place", "where"))
        if not claim[key].strip()
    ]


def _cited_fault(cited: dict[str, Any]) -> str:
    """What is wrong with a reference that a page cites, or ""."""
    try:
        now = evidence.source(cited["name"])
    except GrokbookError as error:
        return f"cites a reference that cannot be used ({str(error).rstrip('.')})"
    if now["sha256"] != cited["sha256"]:
        return f"cites another {cited['name']} than there is now"
    return ""


def stored(read: dict[str, Any]) -> Record:
    """The record that a page would get today if it asked for the same."""
    return papers.record(read["record"], scale=read["asked"], arms=read["arms"])


def _read_fault(read: dict[str, Any]) -> str:
    """What came between a record and the page that read it, or ""."""
    try:
        found = stored(read)
    except GrokbookError as error:
        return f"read a record that cannot be used ({str(error).rstrip('.')})"
    now = evidence.described(found, asked=read["asked"], arms=read["arms"])
    if now["scale"] != read["scale"]:
        return (
            f"read {read['record']} at {read['scale']} scale, and would read it at "
            f"{now['scale']} scale now"
        )
    if now["members"] != read["members"]:
        return f"read other members of {read['record']} than it has now"
    if now["sha256"] != read["sha256"]:
        return f"read another {found.path.name} than there is now"
    if now["planned"] != read["planned"]:
        return f"shows other arms or seeds of {read['record']} than are planned now"
    return ""


def _figure_names(notebook: NotebookNode) -> list[str]:
    figures = [c.metadata.get("mystnb", {}).get("figure", {}) for c in notebook.cells]
    return [figure["name"] for figure in figures if "name" in figure]


def _figure_faults(twin: NotebookNode) -> list[str]:
    faults = []
    for cell, _ in notebooks.outputs(twin, "image/png"):
        mystnb, start = cell.metadata.get("mystnb", {}), cell.source.splitlines()[-1]
        for part, key in (("figure", "caption"), ("figure", "name"), ("image", "alt")):
            if not mystnb.get(part, {}).get(key):
                line = "alt" if key == "alt" else key
                faults.append(f"has a figure without a line '#| {line}:' ('{start}')")
        if not any(FIGURE_MIME in o.get("data", {}) for o in cell.outputs):
            faults.append(f"has a figure not shown by plots.show ('{start}')")
    return faults
