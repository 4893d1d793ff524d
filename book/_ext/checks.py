"""What is wrong with the pages, one sentence each: `python -m book check`.

A page is in order when its twin was executed from its source as it is, names its figure
or table above its title, has claims that say where the paper makes each, describes its
figures, stands in the contents, and read records and references that are still those
of the store. What it read is in its closing cell.
"""

import re
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from book._ext import notebooks, pages
from grokbook import evidence, papers, tables
from grokbook.claims.verdict import VERDICTS, digest
from grokbook.errors import GrokbookError, PageError
from grokbook.project import FIGURE_MIME, FOLDERS, home
from grokbook.records import Record

LARGEST = 600_000  # bytes of an executed page


def check(page_ids: list[str] | None = None) -> list[str]:
    """What is wrong with the pages (all of them unless named): one sentence each."""
    planned, listed = pages.contents(), set(chapters())
    names: dict[str, str] = {}
    found = []
    for page_id in page_ids or pages.sources():
        path = pages.find(page_id)
        entry = path.relative_to(home() / "book").with_suffix(".ipynb").as_posix()
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
    return found + [f"{notebooks.place(p)} has no .py source." for p in sorted(orphans)]


def chapters() -> list[str]:
    """Every `file:` of _toc.yml, however deep."""
    text = (home() / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*file: (\S+)$", text, re.M)


def _faults(page_id: str, path: Path, names: dict[str, str]) -> list[str]:
    """Faults of one pair; ``names`` has the pages of the figures seen so far."""
    source, twin = notebooks.read_source(path), notebooks.read_twin(path)
    again = f"run 'python -m book execute {page_id}'"
    told = [
        [(c.cell_type, c.source, notebooks.tags(c), notebooks.shown_as(c)) for c in n]
        for n in (source.cells, twin.cells)
    ]
    faults = []
    if told[0] != told[1]:
        faults.append(f"differs between its .py and its .ipynb: {again}")
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        faults.append(f"has a cell that was never executed: {again}")
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        faults.append(f"holds an error output: {again}")
    if not any("parameters" in notebooks.tags(cell) for cell in code):
        faults.append("has no code cell tagged 'parameters'")
    for cell in twin.cells:
        name = notebooks.shown_as(cell).get("figure", {}).get("name", page_id)
        if names.setdefault(name, page_id) != page_id:
            faults.append(f"has a figure named '{name}', as {names[name]} has")
    if (size := path.with_suffix(".ipynb").stat().st_size) > LARGEST:
        faults.append(f"holds {size // 1000} kB; {LARGEST // 1000} are allowed")
    return faults + _claim_faults(page_id, twin) + _figure_faults(twin)


def _claim_faults(page_id: str, twin: NotebookNode) -> list[str]:
    claims, (kicker, finding) = notebooks.claims_of(twin), notebooks.heading(twin)
    faults = []
    if kicker != (wanted := pages.kicker(page_id)) or not finding:
        faults.append(f"does not begin with '# [{wanted}]{{.kicker}} The finding'")
    if claims is None:
        return [*faults, "shows no claims: close it with sheet.closing()"]
    unknown = {c["verdict"] for c in claims["claims"]} - {*VERDICTS}
    faults += [f"uses the unknown verdict '{v}'" for v in sorted(unknown)]
    faults += [
        f"judges '{one['statement']}' without {lacking}: quote the paper and name the "
        "section, or report the row as beyond it"
        for one in claims["claims"]
        if not one["extra"]
        for lacking, key in (("the paper's words", "quote"), ("their place", "where"))
        if not one[key].strip()
    ]
    again = f"run 'python -m book execute {page_id}'"
    stale = [_read_fault(one) for one in claims["read"]]
    stale += [_cited_fault(one) for one in claims["cited"]]
    stale += [_closing_fault(page_id, twin, claims)]
    return faults + [f"{fault}: {again}" for fault in stale if fault]


def _closing_fault(page_id: str, twin: NotebookNode, claims: dict[str, Any]) -> str:
    """What claims.yaml and settings.yaml say now and the page does not, or ""."""
    paper = home() / "book" / page_id.partition("/")[0]
    if not (paper / "claims.yaml").is_file():
        return ""
    try:
        if claims.get("registered") not in (None, digest(page_id)):
            return "was executed with other claims than are registered now"
        text = "\n".join(text for _, text in notebooks.outputs(twin, "text/plain"))
        for found in map(stored, claims["read"]):
            made = f"grokbook run {found.name} --scale {found.scale}"
            if made in text and tables.trained(found).text not in text:
                return f"shows other settings of {found.name} than there are now"
    except GrokbookError as error:
        return f"is not as registered ({str(error).rstrip('.')})"
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
    changed = [key for key in now if now[key] != read.get(key)]
    if not changed:
        return ""
    return f"read {read['record']} when its {' and '.join(changed)} were others"


def _cited_fault(cited: dict[str, Any]) -> str:
    """What is wrong with a reference that a page cites, or ""."""
    try:
        now = evidence.source(cited["name"])
    except GrokbookError as error:
        return f"cites a reference that cannot be used ({str(error).rstrip('.')})"
    same = now["sha256"] == cited["sha256"]
    return "" if same else f"cites another {cited['name']} than there is now"


def _figure_faults(twin: NotebookNode) -> list[str]:
    faults = []
    for cell, _ in notebooks.outputs(twin, "image/png"):
        told, start = notebooks.shown_as(cell), cell.source.splitlines()[-1]
        for part, key in (("figure", "caption"), ("figure", "name"), ("image", "alt")):
            if not told.get(part, {}).get(key):
                faults.append(f"has a figure without a line '#| {key}:' ('{start}')")
        if not any(FIGURE_MIME in o.get("data", {}) for o in cell.outputs):
            faults.append(f"has a figure not shown by plots.show ('{start}')")
    return faults
