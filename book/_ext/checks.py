"""What is wrong with the pages, one sentence each: `python -m book check`.

A page is in order when its twin was executed from its source as it is, names its figure
or table above its title, shows the claims that are registered, describes its figures,
stands in the contents, and read records and references that are still those of the
store. What it read is in its closing cell.
"""

import re
import subprocess
from collections.abc import Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from book._ext import notebooks, pages
from grokbook import evidence, papers, tables
from grokbook.claims.verdict import BOUNDS, digest
from grokbook.errors import GrokbookError, PageError
from grokbook.project import FIGURE_MIME, home
from grokbook.records import Record

LARGEST = 610_000  # bytes of an executed page
LINES = (("figure", "caption"), ("figure", "name"), ("image", "alt"))


def check(page_ids: list[str] | None = None) -> list[str]:
    """What is wrong with the pages (all of them unless named): one sentence each."""
    found = []
    for page_id in page_ids or pages.sources():
        try:
            found += [f"Page {page_id} {fault}." for fault in _faults(page_id)]
        except PageError as error:
            found.append(str(error))
    return found


def chapters() -> list[str]:
    """Every `file:` of _toc.yml, however deep."""
    text = (home() / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*file: (\S+)$", text, re.M)


def _faults(page_id: str) -> Iterator[str]:
    path = pages.find(page_id)
    place = path.relative_to(home() / "book").with_suffix(".ipynb").as_posix()
    if place not in chapters():
        yield f"is not in _toc.yml: add 'file: {place}' to its chapter"
    source, twin = notebooks.read_source(path), notebooks.read_twin(path)
    again = f": run 'python -m book execute {page_id}'"
    if notebooks.given(source) != notebooks.given(twin):
        yield f"differs between its .py and its .ipynb{again}"
    about = twin.metadata.get("grokbook", {})
    for seen in (notebooks.written, notebooks.shown):
        if about.get(name := seen.__name__) != seen(twin):
            yield f"is not as its execution left it ({name}){again}"
    code = [c for c in twin.cells if c.cell_type == "code" and c.source.strip()]
    if any(cell.execution_count is None for cell in code):
        yield f"has a cell that was never executed{again}"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        yield f"holds an error output{again}"
    if (size := path.with_suffix(".ipynb").stat().st_size) > LARGEST:
        yield f"holds {size // 1000} kB; {LARGEST // 1000} are allowed"
    kicker, finding = notebooks.heading(twin)
    if kicker != (wanted := pages.kicker(page_id)) or not finding:
        yield f"does not begin with '# [{wanted}]{{.kicker}} The finding'"
    for cell, _ in notebooks.outputs(twin, "image/png"):
        shown, line = notebooks.shown_as(cell), cell.source.splitlines()[-1]
        for part, key in LINES:
            if not shown.get(part, {}).get(key):
                yield f"has a figure without a line '#| {key}:' ('{line}')"
        if not any(FIGURE_MIME in o.get("data", {}) for o in cell.outputs):
            yield f"has a figure not shown by plots.show ('{line}')"
    if claims := notebooks.claims_of(twin):
        yield from (f"{fault}{again}" for fault in _stale(page_id, twin, claims))
    else:
        yield "shows no claims: close it with sheet.closing()"
    yield from _exchanged(page_id, registries(path.with_name("claims.yaml")))


def _exchanged(page_id: str, versions: list[dict[str, Any]]) -> Iterator[str]:
    """Tests changed without the old one in `was`; the newest version first."""
    name = page_id.partition("/")[2]
    for new, old in pairwise(one.get(name) or {} for one in versions):
        for key in old.keys() & new.keys():
            before, now = old[key], new[key]
            same = all(before.get(p) == now.get(p) for p in ("tested", *BOUNDS))
            told = len(now.get("was", ())) > len(before.get("was", ()))
            if before.get("run", True) and not (same or told):
                yield f"changed the test of its row '{key}': the old one goes to `was`"


@cache
def registries(path: Path) -> list[dict[str, Any]]:
    """A claims.yaml as it is, and as the last two commits of it have it."""
    if not path.is_file():
        return []
    git = partial(subprocess.run, cwd=path.parent, capture_output=True, text=True)
    revisions = git(["git", "log", "-2", "--format=%h", "--", path.name]).stdout.split()
    texts = [git(["git", "show", f"{one}:./{path.name}"]).stdout for one in revisions]
    every = [path.read_text(encoding="utf-8"), *texts]
    return [yaml.load(text, yaml.CSafeLoader) or {} for text in every]


def _stale(page_id: str, twin: NotebookNode, claims: dict[str, Any]) -> Iterator[str]:
    """What the store and the paper's .yaml files say now, and the page does not."""
    text = "\n".join(text for _, text in notebooks.outputs(twin, "text/plain"))
    try:
        for read in claims["read"]:
            how: Any = {"asked": read["asked"], "arms": read["arms"]}
            found = stored(read)
            now = evidence.described(found, **how)
            if changed := [key for key in now if now[key] != read.get(key)]:
                told = " and ".join(changed)
                yield f"read {read['record']} when its {told} were others"
            made = f"grokbook run {read['record']} --scale {read['scale']}"
            if made in text and tables.trained(found).text not in text:
                yield f"shows other settings of {found.name} than there are now"
        for cited in claims["cited"]:
            evidence.reference(cited["name"])  # the file is the listed one
            if evidence.source(cited["name"])["sha256"] != cited["sha256"]:
                yield f"cites another {cited['name']} than there is now"
        registry = home() / "book" / page_id.partition("/")[0] / "claims.yaml"
        known = (None, digest(page_id)) if registry.is_file() else ()
        if known and claims.get("registered") not in known:
            yield "was executed with other claims than are registered now"
    except GrokbookError as error:
        yield f"rests on what cannot be used ({str(error).rstrip('.')})"


def stored(read: dict[str, Any]) -> Record:
    """The record that a page would get today if it asked for the same."""
    return papers.record(read["record"], scale=read["asked"], arms=read["arms"])
