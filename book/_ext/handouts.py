"""Notebooks to hand out: each page and each worksheet, for the class and the teacher.

The handout of a page is the executed page as any Jupyter shows it: roles are their
words, exercises headed paragraphs, captions stand under their figures, solutions are
folded (teacher) or left out (class). Outputs are those of the book until it is run.

A worksheet is written as book/worksheets/NN_name.py. Its cells that are tagged
`solution` are the teacher's; the class has an empty cell in the place of each. A cell
tagged `table` makes a table of records, and ends in the assignment of it. The handout
reads the table from a CSV file, so that it needs neither the package nor torch. A large
one is tagged `gzip`, too, which packs the file.

The first cell of a page's handout gets the package and the records from one archive,
that of a worksheet reads its tables, so that they run anywhere.
"""

import ast
import gzip
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
from jinja2 import Template
from nbformat import NotebookNode, v4
from pybtex.database import parse_file

from book._ext import notebooks, pages, teaching
from claimbook.project import home

# Sections that no notebook can follow, and those that take the whole book.
ONLINE, OF_THE_BOOK = "Train one yourself", "Run it yourself"
DIGITS = "%.4g"  # so that all but one of 9,000 right answers are not all
RUNS = (
    "This notebook runs in any Jupyter that has NumPy, pandas and Matplotlib{beside}. "
    "It needs neither PyTorch nor a network. Run its cells from the top, in order."
)
TO_WRITE_IN = {"code": "# Write your code here.", "markdown": "*Write here.*"}
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png")
UNSEEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
ROLE = re.compile(r"\{{1,2}(cite:[pt]|doc|ref|term)\}{1,2}`(.+?)`", re.S)
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(\s*([^():#\s]+)\.(?:ipynb|md)(#\S*)?\s*\)")
BLOCK = re.compile(  # a fence of a sign more may hold one of a sign less
    r"^(`{3,}|:{3,})\{{1,2}(exercise|solution)\}{1,2} *([^\n]*)\n((?::[^\n]*\n)*)"
    r"(.*?)^\1$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Plain:
    """Makes Markdown of what only the book understands.

    ``page``: as in "prieto2025/fig02_softmax_collapse". ``numbers``: of its figures by
    name and of its exercises by label. ``site``: the address of the book, "" where it
    has none and links become words. ``lines``: what teachers are told of exercises.
    """

    page: str
    numbers: Mapping[str, int]
    site: str = ""
    solutions: bool = True
    lines: Mapping[str, teaching.Line] = field(default_factory=teaching.exercises)

    def markdown(self, text: str) -> str:
        text = ROLE.sub(self._role, BLOCK.sub(self._block, text))
        text = LINK.sub(lambda o: self._linked(o[1], o[2], o[3] or ""), text)
        text = re.sub(r"^```\{include\}[^`]*```$", "", text, flags=re.M)
        return text.replace("{.kicker}", "")

    def _block(self, found: re.Match[str]) -> str:
        _, name, title, options, body = found.groups()
        if name == "exercise":
            label = options.removeprefix(":label:").strip()
            words = "{title}* ({minutes} minutes, {level})".format(**self.lines[label])
            return f"**Exercise {self.numbers[label]}.** *{words}\n\n{body.strip()}"
        label = title.strip()
        body = f"{body}\n**Rubric.** {self.lines[label]['rubric']}"
        title = f"Solution of exercise {self.numbers[label]}"
        return folded(title, body) if self.solutions else ""

    def _role(self, found: re.Match[str]) -> str:
        name, content = found[1], " ".join(found[2].split())
        titled = re.fullmatch(r"(.+?)\s*<([^<>]+)>", content)
        words, target = titled.groups() if titled else ("", content)
        if name.startswith("cite"):
            return cited(target, bare=name == "cite:t")
        if name == "ref":
            return words or f"Plot {self.numbers[target]}"
        if name == "doc":
            return self._linked(words or posixpath.basename(target), target)
        slug = re.sub(r"[^a-zA-Z0-9]+", "-", target).strip("-")
        return self._linked(words or target, "/glossary", f"#term-{slug}")

    def _linked(self, words: str, target: str, anchor: str = "") -> str:
        """Words that lead to a page, named from the book (/x) or from this page."""
        here = posixpath.join("/", posixpath.dirname(self.page), target)
        path = f"{posixpath.normpath(here)}.html{anchor}"
        return f"[{words}]({self.site}{path})" if self.site else words


def filled(name: str, **told: Any) -> str:
    """One of book/_templates with what it is told."""
    path = home() / "book" / "_templates" / name
    return Template(path.read_text(encoding="utf-8")).render(told)


def folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>"


def cited(keys: str, *, bare: bool) -> str:
    """References by names and year, linked to the papers."""
    said = []
    for one in (references()[key.strip()] for key in keys.split(",")):
        names = [" ".join(person.last_names) for person in one.persons["author"]]
        many = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        year, url = one.fields["year"], one.fields.get("url")
        words = f"{many} ({year})" if bare else f"{many}, {year}"
        said.append(f"[{words}]({url})" if url else words)
    return ", ".join(said) if bare else f"({'; '.join(said)})"


@cache
def references() -> Any:
    """Key -> entry of book/references.bib."""
    return parse_file(str(home() / "book" / "references.bib")).entries


def made(
    page_id: str,
    twin: NotebookNode,
    *,
    solutions: bool = True,
    site: str = "",
    start: dict[str, Any] | None = None,
) -> NotebookNode:
    """The handout of an executed page; ``start`` is what its first cell is told."""
    path = pages.find(page_id)
    told = (notebooks.shown_as(cell).get("figure", {}) for cell in twin.cells)
    text = "\n".join(c.source for c in twin.cells if c.cell_type == "markdown")
    names = [figure["name"] for figure in told if figure]
    labels = re.findall(r"^:label: *(\S+)$", text, re.M)
    numbers = {name: n for of in (names, labels) for n, name in enumerate(of, 1)}
    plain = Plain(f"{path.parent.name}/{path.stem}", numbers, site, solutions)
    cells = []
    absent = {ONLINE} if solutions else {ONLINE, OF_THE_BOOK}
    for cell in without(absent, twin.cells):
        if cell.cell_type == "markdown":
            cells.append(v4.new_markdown_cell(plain.markdown(cell.source).strip()))
        elif solutions or "{solution}" not in cell.source:
            cells += [_code(plain, cell), *_caption(plain, cell)]
    kicker, finding = notebooks.heading(twin)
    rest = cells[0].source.partition("\n")[2]
    cells[0].source = f"*{kicker}*\n\n# {plain.markdown(finding)}\n{rest}".strip()
    cells = [cell for cell in cells if cell.source or cell.get("outputs")]
    title = "Code: find the package and the records, install what is missing"
    code = filled("get_ready.txt", **start, needs=needs()) if start else ""
    return _notebook(cells, title, code)


def without(titles: set[str], cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Cells without the sections of these titles, which may go on in later cells."""
    is_absent = False
    for cell in cells:
        kept = ""
        for part in re.split("^(?=## )", cell.source, flags=re.M):
            if part.startswith("## ") and cell.cell_type == "markdown":
                is_absent = part.splitlines()[0].removeprefix("## ") in titles
            kept += "" if is_absent else part
        if cell.cell_type == "markdown":
            yield v4.new_markdown_cell(kept)
        elif not is_absent:
            yield cell


def worksheets() -> list[Path]:
    """The sources of the worksheets, in the order of the course."""
    return sorted(home().glob("book/worksheets/*.py"))


def about(path: Path) -> dict[str, Any]:
    """What a worksheet says of itself at its top, and the ``files`` of its tables.

    ``title``; and what its one table has, which ends the first cell: ``minutes``,
    ``before`` (what the class has to know), and ``learns``.
    """
    cells = notebooks.read_source(path).cells
    lines = cells[0].source.splitlines()
    _, minutes, before, learns, _ = (part.strip() for part in lines[-1].split("|"))
    title = lines[0].removeprefix("# ")
    told: dict[str, Any] = {"name": path.stem, "title": title, "minutes": minutes}
    told["files"] = [_file(path, c) for c in cells if "table" in notebooks.tags(c)]
    return told | {"before": before, "learns": learns}


def tables(path: Path) -> dict[str, bytes]:
    """Name -> content of the CSV files of a worksheet, made from the records."""
    namespace: dict[str, Any] = {"np": np, "pd": pd}
    files = {}
    for cell in notebooks.read_source(path).cells:
        if "table" in notebooks.tags(cell):
            exec(compile(cell.source, path.name, "exec"), namespace)
            frame = namespace[_table_of(cell)]
            content = frame.to_csv(index=False, float_format=DIGITS).encode()
            name = _file(path, cell)
            files[name] = gzip.compress(content, mtime=0) if ".gz" in name else content
    return files


def _file(path: Path, cell: NotebookNode) -> str:
    """The name of the file that has the table of a cell of a worksheet."""
    name = f"{path.stem}_{_table_of(cell)}.csv"
    return f"{name}.gz" if "gzip" in notebooks.tags(cell) else name


def _table_of(cell: NotebookNode) -> str:
    """The name to which the last statement of a cell assigns its table."""
    statement = ast.parse(cell.source).body[-1]
    assert isinstance(statement, ast.Assign)
    return ast.unparse(statement.targets[0])


def worksheet(
    path: Path,
    *,
    solutions: bool,
    site: str = "",
    files: Mapping[str, bytes] | None = None,
) -> NotebookNode:
    """The handout of a worksheet, beside which its ``files`` lie, see `tables`.

    Without ``files`` it is as printed, without what only a notebook needs.
    """
    plain = Plain(f"worksheets/{path.stem}", {}, site)
    cells = []
    for cell in notebooks.read_source(path).cells:
        text, tags = cell.source, notebooks.tags(cell)
        if "solution" in tags and not solutions:
            text = TO_WRITE_IN[cell.cell_type]
        if "table" in tags:
            records = re.findall(r'record\(\s*"([^"]+)"', text)
            origin = ", ".join(records) or "the same records"
            text = f'{_table_of(cell)} = table("{_table_of(cell)}")  # from {origin}'
        if cell.cell_type == "markdown":
            cells.append(v4.new_markdown_cell(plain.markdown(text)))
        else:
            cells.append(v4.new_code_cell(text))
    code = ""
    if files is not None:
        beside = "".join(f", with `{name}` in its folder" for name in files)
        cells[0].source += f"\n\n{RUNS.format(beside=beside)}"
        digests = {name: sha256(data).hexdigest() for name, data in files.items()}
        code = filled("tables.txt", site=site, digests=digests)
    return _notebook(cells, "Code: find the tables of this worksheet", code)


def needs() -> list[str]:
    """What the code of a page imports, as pip is told it in pyproject.toml."""
    text = (home() / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    every = [*project["dependencies"], *extras["records"], *extras["pages"]]
    return [one for one in every if not one.startswith(f"{project['name']}[")]


def _notebook(cells: list[NotebookNode], title: str, code: str) -> NotebookNode:
    """A notebook of cells, with one after the first that makes all ready."""
    if code:
        cells.insert(1, _hidden(v4.new_code_cell(code), title))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02d}"
    return v4.new_notebook(cells=cells, metadata=notebooks.METADATA)


def _code(plain: Plain, cell: NotebookNode) -> NotebookNode:
    """A code cell with what it shows; without source where that prints nothing."""
    source = re.sub(r"^#\|.*\n?", "", cell.source, flags=re.M).strip()
    told, tags = notebooks.shown_as(cell), notebooks.tags(cell)
    new = v4.new_code_cell(plain.markdown(source) if "prose(" in source else source)
    new.execution_count = cell.execution_count
    if UNSEEN & set(tags):
        _hidden(new, told.get("code_prompt_show", "Code: print what follows"))
    if "parameters" in tags:
        new.metadata["tags"] = ["parameters"]
    for old in cell.outputs:
        output = nbformat.from_dict(dict(old))
        if "data" in old:
            output["data"] = {m: d for m, d in old["data"].items() if m in SHOWN}
            if "text/markdown" in output["data"]:
                text = plain.markdown(old["data"]["text/markdown"])
                output["data"] |= {"text/markdown": text, "text/plain": text}
            if "image/png" in output["data"]:
                alt = told.get("image", {}).get("alt", "")
                output["metadata"] = {"image/png": {"alt": alt}}
        new.outputs.append(output)
    return new


def _hidden(cell: NotebookNode, title: str) -> NotebookNode:
    """A cell whose code JupyterLab folds away, and Colab under its title."""
    cell.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    cell.source = f"# @title {title}\n{cell.source}"
    return cell


def _caption(plain: Plain, cell: NotebookNode) -> list[NotebookNode]:
    """The caption of a figure with its number, and what the picture shows in words."""
    told = notebooks.shown_as(cell)
    if "figure" not in told:
        return []
    number = plain.numbers[told["figure"]["name"]]
    words = f"**Plot {number}.** {plain.markdown(told['figure']['caption'])}\n\n"
    words += folded("The plot in words", told["image"]["alt"])
    return [v4.new_markdown_cell(words)]
