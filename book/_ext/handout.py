"""Notebooks to hand out: each page once for the class, once for the teacher.

A handout is the executed page with its markup resolved (`plain`), its captions and the
words of its pictures beneath them, solutions folded (teacher) or left out (class), the
definitions and references it uses at its end, and a first cell (`begin`) that makes it
run in any Jupyter. Outputs are those of the book until it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book._ext import begin, notebooks, pages
from book._ext.options import MARK
from book._ext.plain import Resolver
from book._ext.sources import Sources
from grokbook import evidence, records
from grokbook.errors import PageError
from grokbook.project import home
from grokbook.records.beside import SIDES

if TYPE_CHECKING:
    from nbformat import NotebookNode

KINDS = ("class", "teacher")
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png")
UNSEEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
LEFT = re.compile(r"\{{1,2}[a-z]+(?::[a-z]+)?\}{1,2}`|^\s*:{3,}|\{\.[a-z]+\}", re.M)


def name_of(page_id: str, kind: str) -> str:
    """Where a handout lies among the downloads: handouts/<paper>/<page>-class.ipynb."""
    path = pages.find(page_id)
    return f"handouts/{path.parent.name}/{path.stem}-{kind}.ipynb"


def made(
    page_id: str,
    twin: NotebookNode,
    kind: str,
    *,
    sources: Sources,
    start: Mapping[str, Any],
) -> NotebookNode:
    """The handout of an executed page; ``start`` is what its first cell is told.

    PageError for markup that nothing resolves, and for a record that is not the one
    the page was executed from.
    """
    import nbformat

    path = pages.find(page_id)
    resolver = Resolver(
        f"{path.parent.name}/{path.stem}",
        sources,
        figures={name: n for n, name in enumerate(_figures(twin), start=1)},
        solutions=kind == "teacher",
    )
    first = begin.source(**start, files=needed(page_id, twin))
    new = nbformat.v4
    cells = [
        new.new_markdown_cell(_opening(resolver, twin, kind)),
        _hidden(new.new_code_cell(first), "Code: install the package, get the records"),
    ]
    for number, cell in enumerate(twin.cells):
        if cell.cell_type == "markdown":
            text = resolver.markdown(cell.source)
            text = "\n".join(text.splitlines()[1:]) if number == 0 else text
            if text.strip():
                cells.append(new.new_markdown_cell(text.strip()))
        elif (code := _code(resolver, cell)) is not None:
            cells.append(code)
            if words := _caption(resolver, cell):
                cells.append(new.new_markdown_cell(words))
    cells += [new.new_markdown_cell(text) for text in _appendix(resolver)]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02d}"
    handout = new.new_notebook(cells=cells)
    handout.metadata.kernelspec = twin.metadata.kernelspec
    handout.metadata.language_info = {"name": "python"}
    _check(page_id, handout)
    return handout


def needed(page_id: str, twin: NotebookNode) -> dict[str, str]:
    """Path in the checkout -> SHA-256 of every file that a page reads.

    PageError for a record that is not the one the page was executed from.
    """
    paths: dict[Path, str] = {}
    for read in notebooks.read_by(page_id, twin):
        table = records.path_of(read["record"], read["scale"])
        if not table.is_file() or evidence.digest(table) != read["sha256"]:
            raise PageError(
                f"Page {page_id} was executed from another {table.name} than there is: "
                f"run 'python -m book execute {page_id}'."
            )
        paths[table] = read["sha256"]
        for beside in (side.path(table) for side in SIDES):
            if beside.is_file():
                paths[beside] = evidence.digest(beside)
    folder = home() / "data" / "references"
    for name in _cited(twin):
        paths |= {
            p: evidence.digest(p) for p in (folder / name, folder / "sources.csv")
        }
    paper = home() / "book" / page_id.partition("/")[0]
    for path in (paper / "claims.yaml", paper / "settings.yaml"):
        if path.is_file():
            paths[path] = evidence.digest(path)
    return {path.relative_to(home()).as_posix(): sha for path, sha in paths.items()}


def _cited(twin: NotebookNode) -> list[str]:
    """The files of references that a page reads, up to its list of where they are from.

    The claims know of those alone that were read before them.
    """
    claims = (notebooks.claims_of(twin) or {}).get("cited", [])
    listed = [
        name
        for _, text in notebooks.outputs(twin, "text/plain")
        for name in re.findall(r"^The paper's own points, (\S+) \(SHA-256", text, re.M)
    ]
    return [
        f"{name}.csv" for name in dict.fromkeys([c["name"] for c in claims] + listed)
    ]


def _figures(twin: NotebookNode) -> Iterator[str]:
    """Names of the figures, in the order in which the book numbers them."""
    for cell in twin.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if figure:
            yield figure.get("name", "")


def _opening(resolver: Resolver, twin: NotebookNode, kind: str) -> str:
    kicker, finding = notebooks.heading(twin)
    address = resolver.sources.address(f"{resolver.page}.html")
    book = f"[The Grokking Book]({address})" if address else "The Grokking Book"
    solutions = {
        "class": "The solutions of its exercises are left out.",
        "teacher": "The solutions of its exercises are folded beneath them.",
    }
    return (
        f"*{kicker}*\n\n# {resolver.markdown(finding)}\n\n"
        f"A page of {book}, to hand out. {solutions[kind]} Run the cell below first: "
        "it installs the package of the book and fetches the records that this page "
        "reads. Nothing is trained."
    )


def _code(resolver: Resolver, cell: NotebookNode) -> NotebookNode | None:
    """A code cell with what it shows; None if all it shows is left out."""
    import nbformat

    lines = [s for s in cell.source.splitlines() if not s.startswith(MARK)]
    source = "\n".join(lines).strip()
    if "prose(" in source:
        source = resolver.markdown(source)
    new = nbformat.v4.new_code_cell(source)
    new.execution_count = cell.execution_count
    if UNSEEN & set(notebooks.tags(cell)):
        fold = cell.metadata.get("mystnb", {}).get("code_prompt_show")
        settings = "parameters" in notebooks.tags(cell)
        plain = "Code: scale and device" if settings else "Code: print what follows"
        _hidden(new, fold or plain)
    if "parameters" in notebooks.tags(cell):
        new.metadata["tags"] = ["parameters"]
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
    for old in cell.outputs:
        output = nbformat.from_dict(dict(old))
        if "data" in old:
            output["data"] = {
                mime: _shown(resolver, mime, data)
                for mime, data in old["data"].items()
                if mime in SHOWN
            }
            if "image/png" in output["data"] and alt:
                output["metadata"] = dict(old["metadata"]) | {"image/png": {"alt": alt}}
            if "text/markdown" in output["data"]:
                output["data"]["text/plain"] = output["data"]["text/markdown"]
                if not output["data"]["text/markdown"].strip():
                    return None
        new.outputs.append(output)
    return new


def _shown(resolver: Resolver, mime: str, data: str) -> str:
    if mime == "text/markdown":
        return resolver.markdown(data)
    return resolver.html(data) if mime == "text/html" else data


def _hidden(cell: NotebookNode, title: str) -> NotebookNode:
    """A cell whose code JupyterLab folds away, and Colab under its title."""
    cell.metadata["jupyter"] = {"source_hidden": True}
    cell.metadata["cellView"] = "form"
    cell.source = f"# @title {title}\n{cell.source}"
    return cell


def _caption(resolver: Resolver, cell: NotebookNode) -> str:
    """The caption of a figure with its number, and what the picture shows in words."""
    told = cell.metadata.get("mystnb", {})
    figure, alt = told.get("figure"), told.get("image", {}).get("alt", "")
    if not figure:
        return ""
    number = resolver.figures.get(figure.get("name", ""), 1)
    words = f"**Plot {number}.** {resolver.markdown(figure['caption'])}"
    if alt:
        words += "\n\n<details>\n<summary>The plot in words</summary>\n\n"
        words += f"{alt}\n\n</details>"
    return words


def _appendix(resolver: Resolver) -> Iterator[str]:
    """The terms that the page uses, with their definitions, and what it cites."""
    used, sources = sorted(resolver.terms, key=str.lower), resolver.sources
    if used:
        glossary = Resolver("glossary", sources, cited=resolver.cited)
        said = [f"* **{t}**: {glossary.markdown(sources.definition(t))}" for t in used]
        yield "## Words\n\n" + "\n".join(one.replace("\n", "\n  ") for one in said)
    if resolver.cited:
        lines = sorted(f"* {sources.entry(key)}" for key in resolver.cited)
        yield "\n".join(["## References", "", *lines])


def _check(page_id: str, handout: NotebookNode) -> None:
    """PageError where markup of the book is left."""
    for cell in handout.cells:
        texts = [cell.source] if cell.cell_type == "markdown" else []
        for output in cell.get("outputs", []):
            texts += [output.get("data", {}).get("text/markdown", "")]
        if "prose(" in cell.source:
            texts.append(cell.source)
        for text in texts:
            if found := LEFT.search(text):
                line = text[found.start() :].strip().splitlines()[0]
                raise PageError(
                    f"The handout of {page_id} still has '{line[:60]}', which Jupyter "
                    "shows as it is: write it otherwise, or teach it to "
                    "book._ext.plain."
                )
