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
# What the class has in place of a solution, by the type of the cell.
TO_WRITE_IN = {"code": "# Write your code here.", "markdown": "*Write here.*"}
# MIME types that every Jupyter shows.
SHOWN = ("text/plain", "text/html", "text/markdown", "image/png")
# Tags of cells whose code the book hides.
HIDING = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
ROLE = re.compile(r"\{{1,2}(cite:[pt]|doc|ref|term)\}{1,2}`(.+?)`", re.S)
# a link to a page: its words, its path without the suffix, its anchor
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(\s*([^():#\s]+)\.(?:ipynb|md)(#\S*)?\s*\)")
# an exercise or a solution: its fence, name, title, options and body
BLOCK = re.compile(  # a fence of a sign more may hold one of a sign less
    r"^(`{3,}|:{3,})\{{1,2}(exercise|solution)\}{1,2} *([^\n]*)\n((?::[^\n]*\n)*)"
    r"(.*?)^\1$",
    re.M | re.S,
)


@dataclass(frozen=True)
class PlainMarkdown:
    """Turns the MyST Markdown of a page into Markdown that any Jupyter shows.

    * ``page``: the document, as in "prieto2025/fig02_softmax_collapse".
    * ``numbers``: of its figures by name, and of its exercises by label.
    * ``site``: the address of the book; if it is "", links become their words.
    * ``has_solutions``: whether solutions are folded in, or left out.
    * ``exercises``: what teachers are told of each exercise, by label.
    """

    page: str
    numbers: Mapping[str, int]
    site: str = ""
    has_solutions: bool = True
    exercises: Mapping[str, teaching.Line] = field(default_factory=teaching.exercises)

    def markdown(self, text: str) -> str:
        """Return the text of a cell as plain Markdown."""
        text = ROLE.sub(self._role, BLOCK.sub(self._block, text))
        text = LINK.sub(lambda m: self._link(m[1], m[2], m[3] or ""), text)
        text = re.sub(r"^```\{include\}[^`]*```$", "", text, flags=re.M)
        return text.replace("{.kicker}", "")

    def _block(self, match: re.Match[str]) -> str:
        """Return an exercise as a headed paragraph, a solution as a fold or ""."""
        _, name, title, options, body = match.groups()
        if name == "exercise":
            label = options.removeprefix(":label:").strip()
            facts = "{title}* ({minutes} minutes, {level})".format(
                **self.exercises[label]
            )
            return f"**Exercise {self.numbers[label]}.** *{facts}\n\n{body.strip()}"
        if not self.has_solutions:
            return ""
        label = title.strip()
        body = f"{body}\n**Rubric.** {self.exercises[label]['rubric']}"
        return folded(f"Solution of exercise {self.numbers[label]}", body)

    def _role(self, match: re.Match[str]) -> str:
        """Return the words of a role, linked if it leads to a page or a paper."""
        name, content = match[1], " ".join(match[2].split())
        titled = re.fullmatch(r"(.+?)\s*<([^<>]+)>", content)
        words, target = titled.groups() if titled else ("", content)
        if name.startswith("cite"):
            return citation(target, is_bare=name == "cite:t")
        if name == "ref":
            return words or f"Plot {self.numbers[target]}"
        if name == "doc":
            return self._link(words or posixpath.basename(target), target)
        slug = re.sub(r"[^a-zA-Z0-9]+", "-", target).strip("-")
        return self._link(words or target, "/glossary", f"#term-{slug}")

    def _link(self, words: str, target: str, anchor: str = "") -> str:
        """Return words that lead to a page, named from the book (/x) or from here."""
        path = posixpath.join("/", posixpath.dirname(self.page), target)
        address = f"{self.site}{posixpath.normpath(path)}.html{anchor}"
        return f"[{words}]({address})" if self.site else words


def render_file(name: str, **values: Any) -> str:
    """Return a file of book/_templates, filled in with values by their names."""
    path = home() / "book" / "_templates" / name
    return Template(path.read_text(encoding="utf-8")).render(values)


def folded(title: str, body: str) -> str:
    """Return Markdown that is hidden under its title until somebody clicks on it."""
    return f"<details>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>"


def citation(keys: str, *, is_bare: bool) -> str:
    """Return references as "(Liu et al., 2026)", each a link to its paper.

    ``keys`` are those of references.bib, parted by commas. With ``is_bare`` the form is
    "Liu et al. (2026)".
    """
    parts = []
    for reference in (references()[key.strip()] for key in keys.split(",")):
        names = [" ".join(person.last_names) for person in reference.persons["author"]]
        authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        year, url = reference.fields["year"], reference.fields.get("url")
        words = f"{authors} ({year})" if is_bare else f"{authors}, {year}"
        parts.append(f"[{words}]({url})" if url else words)
    return ", ".join(parts) if is_bare else f"({'; '.join(parts)})"


@cache
def references() -> Any:
    """Return the entries of book/references.bib by key."""
    return parse_file(str(home() / "book" / "references.bib")).entries


def page_handout(
    page_id: str,
    twin: NotebookNode,
    *,
    solutions: bool = True,
    site: str = "",
    start: dict[str, Any] | None = None,
) -> NotebookNode:
    """Return the handout of an executed page.

    ``solutions`` says whether it has them; ``site`` is the address of the book, or "".
    ``start`` has the values that get_ready.txt takes: "archive", its "sha256", "site".
    Without them there is no first cell.
    """
    path = pages.find(page_id)
    figures = [notebooks.display_options(c).get("figure", {}) for c in twin.cells]
    text = "\n".join(c.source for c in twin.cells if c.cell_type == "markdown")
    numbers: dict[str, int] = {}
    for names in (
        [figure["name"] for figure in figures if figure],
        re.findall(r"^:label: *(\S+)$", text, re.M),
    ):
        numbers |= {name: number for number, name in enumerate(names, 1)}
    document = f"{path.parent.name}/{path.stem}"
    plain = PlainMarkdown(document, numbers, site, solutions)
    cells = []
    absent = {ONLINE} if solutions else {ONLINE, OF_THE_BOOK}
    for cell in without_sections(absent, twin.cells):
        if cell.cell_type == "markdown":
            cells.append(v4.new_markdown_cell(plain.markdown(cell.source).strip()))
        elif solutions or "{solution}" not in cell.source:
            cells += [_code_cell(plain, cell), *_caption_cell(plain, cell)]
    kicker, finding = notebooks.heading(twin)
    rest = cells[0].source.partition("\n")[2]
    cells[0].source = f"*{kicker}*\n\n# {plain.markdown(finding)}\n{rest}".strip()
    cells = [cell for cell in cells if cell.source or cell.get("outputs")]
    title = "Code: find the package and the records, install what is missing"
    code = ""
    if start:
        code = render_file("get_ready.txt", **start, needs=requirements())
    return _notebook(cells, title, code)


def without_sections(
    titles: set[str], cells: list[NotebookNode]
) -> Iterator[NotebookNode]:
    """Yield cells without the sections of these titles, which may span some cells."""
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
    """Return the sources of the worksheets, in the order of the course."""
    return sorted(home().glob("book/worksheets/*.py"))


def worksheet_facts(path: Path) -> dict[str, Any]:
    """Return what a worksheet says of itself at its top.

    The keys are ``name``, ``title``, and the cells of its one table, which ends the
    first cell: ``minutes``, ``before`` (what the class has to know), ``learns``; and
    ``files``, the names of its tables.
    """
    cells = notebooks.read_source(path).cells
    lines = cells[0].source.splitlines()
    _, minutes, before, learns, _ = (part.strip() for part in lines[-1].split("|"))
    return {
        "name": path.stem,
        "title": lines[0].removeprefix("# "),
        "minutes": minutes,
        "files": [_file_name(path, c) for c in cells if "table" in notebooks.tags(c)],
        "before": before,
        "learns": learns,
    }


def worksheet_tables(path: Path) -> dict[str, bytes]:
    """Return by name the CSV files of a worksheet, made from the records."""
    namespace: dict[str, Any] = {"np": np, "pd": pd}
    content_of = {}
    for cell in notebooks.read_source(path).cells:
        if "table" in notebooks.tags(cell):
            exec(compile(cell.source, path.name, "exec"), namespace)
            frame = namespace[_table_name(cell)]
            content = frame.to_csv(index=False, float_format=DIGITS).encode()
            name = _file_name(path, cell)
            if name.endswith(".gz"):
                content = gzip.compress(content, mtime=0)
            content_of[name] = content
    return content_of


def _file_name(path: Path, cell: NotebookNode) -> str:
    """Return the name of the file that has the table of a cell of a worksheet."""
    name = f"{path.stem}_{_table_name(cell)}.csv"
    return f"{name}.gz" if "gzip" in notebooks.tags(cell) else name


def _table_name(cell: NotebookNode) -> str:
    """Return the name to which the last statement of a cell assigns its table."""
    statement = ast.parse(cell.source).body[-1]
    assert isinstance(statement, ast.Assign)
    return ast.unparse(statement.targets[0])


def worksheet_handout(
    path: Path,
    *,
    solutions: bool,
    site: str = "",
    files: Mapping[str, bytes] | None = None,
) -> NotebookNode:
    """Return the handout of a worksheet, beside which its ``files`` lie.

    They are those of `worksheet_tables`. Without ``files`` it is as printed: it lacks
    the cell that reads them and the words about it.
    """
    plain = PlainMarkdown(f"worksheets/{path.stem}", {}, site)
    cells = []
    for cell in notebooks.read_source(path).cells:
        text, tags = cell.source, notebooks.tags(cell)
        if "solution" in tags and not solutions:
            text = TO_WRITE_IN[cell.cell_type]
        if "table" in tags:
            records = re.findall(r'record\(\s*"([^"]+)"', text)
            origin = ", ".join(records) or "the same records"
            name = _table_name(cell)
            text = f'{name} = table("{name}")  # from {origin}'
        if cell.cell_type == "markdown":
            cells.append(v4.new_markdown_cell(plain.markdown(text)))
        else:
            cells.append(v4.new_code_cell(text))
    code = ""
    if files is not None:
        beside = "".join(f", with `{name}` in its folder" for name in files)
        cells[0].source += f"\n\n{RUNS.format(beside=beside)}"
        digests = {name: sha256(data).hexdigest() for name, data in files.items()}
        code = render_file("tables.txt", site=site, digests=digests)
    return _notebook(cells, "Code: find the tables of this worksheet", code)


def requirements() -> list[str]:
    """Return what the code of a page imports, as requirements from pyproject.toml."""
    text = (home() / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *extras["records"], *extras["pages"]]
    # an extra may ask for another extra of this package
    return [name for name in listed if not name.startswith(f"{project['name']}[")]


def _notebook(cells: list[NotebookNode], title: str, code: str) -> NotebookNode:
    """Return a notebook of cells, with a hidden one of ``code`` after the first."""
    if code:
        cells.insert(1, _hidden(v4.new_code_cell(code), title))
    for position, cell in enumerate(cells):
        cell.id = f"cell-{position:02d}"
    return v4.new_notebook(cells=cells, metadata=notebooks.METADATA)


def _code_cell(plain: PlainMarkdown, cell: NotebookNode) -> NotebookNode:
    """Return a code cell with its outputs; its code is folded where the book hides it.

    The ``#|`` lines are left out.
    """
    source = re.sub(r"^#\|.*\n?", "", cell.source, flags=re.M).strip()
    options, tags = notebooks.display_options(cell), notebooks.tags(cell)
    if "prose(" in source:  # sentences with roles
        source = plain.markdown(source)
    new = v4.new_code_cell(source, execution_count=cell.execution_count)
    if HIDING & set(tags):
        _hidden(new, options.get("code_prompt_show", "Code: print what follows"))
    if "parameters" in tags:
        new.metadata["tags"] = ["parameters"]
    for old in cell.outputs:
        output = nbformat.from_dict(dict(old))
        if "data" in old:
            data = {mime: old["data"][mime] for mime in old["data"] if mime in SHOWN}
            if "text/markdown" in data:
                text = plain.markdown(data["text/markdown"])
                data |= {"text/markdown": text, "text/plain": text}
            if "image/png" in data:
                alt = options.get("image", {}).get("alt", "")
                output["metadata"] = {"image/png": {"alt": alt}}
            output["data"] = data
        new.outputs.append(output)
    return new


def _hidden(cell: NotebookNode, title: str) -> NotebookNode:
    """Return a cell, changed so that JupyterLab folds its code, Colab under a title."""
    cell.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    cell.source = f"# @title {title}\n{cell.source}"
    return cell


def _caption_cell(plain: PlainMarkdown, cell: NotebookNode) -> list[NotebookNode]:
    """Return a cell with number, caption and alternative text of a figure, else []."""
    options = notebooks.display_options(cell)
    if "figure" not in options:
        return []
    number = plain.numbers[options["figure"]["name"]]
    caption = plain.markdown(options["figure"]["caption"])
    alt = folded("The plot in words", options["image"]["alt"])
    return [v4.new_markdown_cell(f"**Plot {number}.** {caption}\n\n{alt}")]
