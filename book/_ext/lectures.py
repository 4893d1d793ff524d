"""To teach with: decks of slides from book/lectures/*.md, worksheets for the printer.

Lines of `---` part slides; what begins with `Note: 4 min.` the speaker alone sees. What
a deck says of pages comes from them, by the macros of book/_templates/slides.md, and
their figures are drawn again in letters for the last row.
"""

import io
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.pyplot as plt
from jinja2 import Environment
from markdown_it import MarkdownIt
from matplotlib.figure import Figure
from mdit_py_plugins.dollarmath import dollarmath_plugin

from book._ext import catalogue, formulas, handouts, notebooks, pages
from book._ext.downloads import KINDS
from book._ext.entries import Entry, update
from claimbook import plots
from claimbook.errors import PageError
from claimbook.plots.picture import shown_content
from claimbook.plots.slides import slide
from claimbook.project import FIGURE_MIME, home


def decks() -> dict[str, str]:
    """The sources of the decks by their names, such as `1-grokking`."""
    paths = sorted(home().glob("book/lectures/*.md"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def minutes(deck: str) -> int:
    """How long the material of a deck takes: the sum over its notes."""
    return sum(map(int, re.findall(r"^Note: (\d+) min\.", deck, re.M)))


def templates() -> Environment:
    """Those of the catalogue, with a filter that makes Markdown and formulas HTML."""
    env = catalogue.templates()
    written = MarkdownIt().enable("table")
    math = {"renderer": lambda one, how: formulas.drawn(one, how["display_mode"])}
    env.filters["markdown"] = written.use(dollarmath_plugin, **math).render
    return env


def write(entries: Sequence[Entry], folder: Path) -> None:
    """Make all decks; UndefinedError for a page or a claim that is not."""
    env = templates()
    env.globals |= {"of": {e.id: e for e in entries}, "kicker": pages.kicker}
    env.globals |= {"outputs": notebooks.outputs, "figures": partial(figures, folder)}
    env.globals |= {"diagram": partial(diagram, env)}
    env.globals |= vars(env.get_template("slides.md").module)
    for name, source in decks().items():
        text = env.from_string(source).render(minutes=minutes(source))
        parts = [one.partition("\nNote: ")[::2] for one in text.split("\n---\n")]
        deck = env.get_template("deck.html").render(slides=parts)
        update(folder / f"{name}.html", deck)


def write_worksheets(folder: Path) -> None:
    """Make a page for the printer of each worksheet, for the class and the teacher."""
    for path in handouts.worksheets():
        for kind, solutions in KINDS.items():
            update(folder / f"{path.stem}-{kind}.html", printed(path, solutions))


def printed(path: Path, solutions: bool) -> str:
    """A worksheet as HTML, with room to write in."""
    cells = handouts.worksheet(path, solutions=solutions).cells
    template = templates().get_template("worksheet.html")
    return template.render(cells=cells, is_class=not solutions)


def diagram(env: Environment, name: str) -> str:
    """A drawing of book/_templates/diagrams, without lines that would end its HTML."""
    drawing = env.get_template(f"diagrams/{name}.svg").render()
    return "\n".join(line for line in drawing.splitlines() if line.strip())


def figures(folder: Path, entry: Entry, number: int, *choice: Any) -> list[str]:
    """The names of pictures of a page's figure in a folder, one for each step.

    They are drawn where they are not there yet, for the same figure and the same
    ``choice``, which are the arguments of `slide` after the figure.
    """
    shown = notebooks.outputs(entry.twin, FIGURE_MIME)[number - 1][1]["sha256"]
    code = [p.read_bytes() for p in sorted(home().glob("src/claimbook/plots/*.*"))]
    key = sha256(repr((shown, choice, code)).encode()).hexdigest()[:16]
    if not (found := sorted(folder.glob(f"{key}-*.png"))):
        folder.mkdir(parents=True, exist_ok=True)
        with plt.rc_context():
            figure = redrawn(entry, number)
            if shown_content(figure)["sha256"] != shown:
                told = f"Figure {number} of page {entry.id} is not the one that its"
                again = f"run 'python -m book execute {entry.id}'"
                raise PageError(f"{told} notebook shows: {again}.")
            for step, picture in enumerate(slide(figure, *choice)):
                found.append(folder / f"{key}-{step}.png")
                found[-1].write_bytes(picture)
            plt.close("all")
    return [path.name for path in found]


def redrawn(entry: Entry, number: int) -> Figure:
    """A figure of a page in the style of slides, by the page's own code."""
    found: list[Figure] = []
    use_style, names = plots.use_style, {"__name__": "__main__"}

    def use_both() -> None:
        use_style()
        plt.style.use("claimbook.plots.slide")

    with (
        mock.patch.object(plots, "show", found.append),
        mock.patch.object(plots, "use_style", use_both),
        redirect_stdout(io.StringIO()),
    ):
        for cell in notebooks.read_source(entry.source).cells:
            if cell.cell_type == "code" and len(found) < number:
                exec(compile(cell.source, entry.id, "exec"), names)
    return found[number - 1]
