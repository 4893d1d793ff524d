"""Notebooks to hand out: each page once for the class, once for the teacher.

A handout is the executed page as any Jupyter shows it: roles are their words,
directives headed paragraphs, captions stand under their figures, solutions are folded
(teacher) or left out (class). Its first cell installs the package and the records from
one archive, so that it runs anywhere. Outputs are those of the book until it is run.
"""

import inspect
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import nbformat
from nbformat import NotebookNode
from pybtex.database import parse_file

from book._ext import notebooks, pages
from grokbook.errors import PageError
from grokbook.project import home

SHOWN = ("text/plain", "text/html", "text/markdown", "image/png")
UNSEEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
ROLE = re.compile(r"\{{1,2}([a-z]+(?::[a-z]+)?)\}{1,2}`(.+?)`", re.S)
FENCE = re.compile(r"(`{3,}|:{3,})(?:\{{1,2}([\w-]+)\}{1,2})?(.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(\s*([^():#\s]+\.(?:ipynb|md))(#\S*)?\s*\)")
ANCHOR = re.compile(r"<a\b[^>]*href=[\"'][^\"':#][^\"':]*[\"'][^>]*>(.*?)</a>", re.S)


@dataclass
class Plain:
    """Resolves the texts of one page in their order, and counts its exercises.

    ``page``: as in "prieto2025/fig02_softmax_collapse". ``site``: the address of the
    book, "" where it has none and links become words. ``figures``: name -> number.
    """

    page: str
    site: str = ""
    figures: dict[str, int] = field(default_factory=dict)
    solutions: bool = True
    exercises: dict[str, int] = field(default_factory=dict)

    def markdown(self, text: str) -> str:
        """A text without anything that only the book understands."""
        return "\n".join(self._blocks(iter(text.splitlines())))

    def _blocks(self, lines: Iterator[str]) -> Iterator[str]:
        prose: list[str] = []
        for line in lines:
            found = FENCE.fullmatch(line.strip())
            if not found or (found[1][0] == ":" and not found[2]):
                prose.append(line)
                continue
            yield from self._prose(prose)
            prose, inside = [], []
            for inner in lines:
                if re.fullmatch(rf"{found[1]}{found[1][0]}*", inner.strip()):
                    break
                inside.append(inner)
            if found[2]:
                yield from self._directive(found[2], found[3].strip(), inside)
            else:
                yield from (line, *inside, found[1])
        yield from self._prose(prose)

    def _prose(self, lines: list[str]) -> list[str]:
        text = re.sub(r"^\([\w-]+\)=\s*$\n?", "", "\n".join(lines), flags=re.M)
        text = ROLE.sub(self._role, text)
        text = re.sub(r"\[([^\[\]]*)\]\{\.[\w .-]+\}", r"\1", text)
        text = ANCHOR.sub(r"\1", LINK.sub(self._link, text))
        return text.split("\n") if lines else []

    def _directive(self, name: str, title: str, lines: list[str]) -> Iterator[str]:
        options = {}
        while lines and (found := OPTION.fullmatch(lines[0].strip())):
            options[found[1]] = found[2]
            lines = lines[1:]
        body = list(self._blocks(iter(lines)))
        if name == "exercise":
            number = len(self.exercises) + 1
            self.exercises[options["label"]] = number
            yield from (f"**Exercise {number}.**", "", *body)
        elif name == "solution" and self.solutions:
            yield from folded(f"Solution of exercise {self.exercises[title]}", body)
        elif name != "solution":
            raise PageError(
                f"{self.page} has the directive {{{name}}}, which a handout cannot "
                "show: write it otherwise, or add it to book/_ext/handouts.py."
            )

    def _role(self, found: re.Match[str]) -> str:
        name, content = found[1], " ".join(found[2].split())
        titled = re.fullmatch(r"(.+?)\s*<([^<>]+)>", content)
        words, target = titled.groups() if titled else ("", content)
        if name.startswith("cite"):
            return cited(target, bare=name == "cite:t")
        if name == "term":
            slug = re.sub(r"[^a-zA-Z0-9]+", "-", target).strip("-")
            return self._linked(words or target, f"glossary.html#term-{slug}")
        if name == "doc":
            path = self._from_here(target)
            return self._linked(words or path.rpartition("/")[2], f"{path}.html")
        if name == "ref":
            return words or f"Plot {self.figures[target]}"
        raise PageError(
            f"{self.page} has the role {{{name}}}, which a handout cannot show: write "
            "it otherwise, or add it to book/_ext/handouts.py."
        )

    def _link(self, found: re.Match[str]) -> str:
        path = self._from_here(posixpath.splitext(found[2])[0])
        return self._linked(found[1], f"{path}.html{found[3] or ''}")

    def _linked(self, words: str, path: str) -> str:
        return f"[{words}]({self.site}/{path})" if self.site else words

    def _from_here(self, target: str) -> str:
        """A path in the book, from one that starts at it (/x) or at this page."""
        here = posixpath.join("/", posixpath.dirname(self.page), target)
        return posixpath.normpath(here).lstrip("/")


def folded(title: str, body: list[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *body, "", "</details>"]


def cited(keys: str, *, bare: bool) -> str:
    """References by names and year, linked to the papers."""
    said = []
    for key in (key.strip() for key in keys.split(",")):
        one = references()[key]
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
    solutions: bool,
    site: str = "",
    start: dict[str, Any] | None = None,
) -> NotebookNode:
    """The handout of an executed page; ``start`` is what its first cell is told."""
    path = pages.find(page_id)
    told = (notebooks.shown_as(cell).get("figure", {}) for cell in twin.cells)
    names = (figure["name"] for figure in told if figure)
    numbers = {name: n for n, name in enumerate(names, start=1)}
    plain = Plain(f"{path.parent.name}/{path.stem}", site, numbers, solutions)
    new, cells = nbformat.v4, []
    for number, cell in enumerate(twin.cells):
        if cell.cell_type == "markdown":
            text = plain.markdown(cell.source)
            if number == 0:
                kicker, finding = notebooks.heading(twin)
                rest = text.partition("\n")[2]
                text = f"*{kicker}*\n\n# {plain.markdown(finding)}\n{rest}"
            cells.append(new.new_markdown_cell(text.strip()))
        else:
            cells.append(_code(plain, cell))
            if words := _caption(plain, cell):
                cells.append(new.new_markdown_cell(words))
    if start:
        call = f"{inspect.getsource(get_ready)}\n\nget_ready(**{json.dumps(start)})"
        title = "Code: install the package, get the records"
        cells.insert(1, _hidden(new.new_code_cell(call), title))
    cells = [cell for cell in cells if cell.source or cell.get("outputs")]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02d}"
    handout = new.new_notebook(cells=cells)
    handout.metadata |= {
        "kernelspec": twin.metadata.kernelspec,
        "language_info": {"name": "python"},
    }
    return handout


def _code(plain: Plain, cell: NotebookNode) -> NotebookNode:
    """A code cell with what it shows; without source where that prints nothing."""
    lines = [s for s in cell.source.splitlines() if not s.startswith("#|")]
    source = "\n".join(lines).strip()
    told, tags = notebooks.shown_as(cell), notebooks.tags(cell)
    new = nbformat.v4.new_code_cell(
        plain.markdown(source) if "prose(" in source else source
    )
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
            if "text/html" in output["data"]:
                html = ANCHOR.sub(r"\1", old["data"]["text/html"])
                output["data"]["text/html"] = html
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


def _caption(plain: Plain, cell: NotebookNode) -> str:
    """The caption of a figure with its number, and what the picture shows in words."""
    told = notebooks.shown_as(cell)
    if "figure" not in told:
        return ""
    number = plain.figures[told["figure"]["name"]]
    words = f"**Plot {number}.** {plain.markdown(told['figure']['caption'])}\n\n"
    return words + "\n".join(folded("The plot in words", [told["image"]["alt"]]))


def get_ready(site: str, archive: str, sha256: str) -> None:
    """Install the package and the records of the book from one archive.

    It lies beside the notebook, or is fetched from the book's site. This function
    travels as text into notebooks that have no package yet.
    """
    import hashlib
    import os
    import subprocess
    import sys
    import urllib.request
    import zipfile
    from importlib import invalidate_caches
    from pathlib import Path

    beside, kept = Path(archive), Path(archive).with_suffix("")
    if not beside.is_file() and not site:
        sys.exit(
            f"Download {archive} from the page Downloads of the book into the folder "
            f"of this notebook, {Path.cwd()}, and run this cell again."
        )
    if not beside.is_file():
        urllib.request.urlretrieve(f"{site}/downloads/{archive}", beside)
    if hashlib.sha256(beside.read_bytes()).hexdigest() != sha256:
        sys.exit(f"{archive} is not that of this notebook: get both again.")
    if not kept.is_dir():
        with zipfile.ZipFile(beside) as opened:
            opened.extractall()
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    if subprocess.run([*pip, f"{kept.resolve()}[pages]"]).returncode:
        sys.exit(f"pip could not install {archive}, see above.")
    invalidate_caches()
    os.environ["GROKBOOK_HOME"] = str(kept.resolve())
