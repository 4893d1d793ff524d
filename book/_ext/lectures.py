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
from book._ext.entries import Entry, write_if_changed
from claimbook import plots
from claimbook.errors import PageError
from claimbook.plots.picture import shown_content
from claimbook.plots.slides import slide
from claimbook.project import FIGURE_MIME, home


def decks() -> dict[str, str]:
    """Return the Markdown of each deck by its name, such as "1-grokking"."""
    paths = sorted(home().glob("book/lectures/*.md"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def minutes(deck: str) -> int:
    """Return how long a deck, given as Markdown, takes: the sum over its notes."""
    return sum(map(int, re.findall(r"^Note: (\d+) min\.", deck, re.M)))


def templates() -> Environment:
    """Return the catalogue's templates with a filter from Markdown to HTML.

    The HTML has the formulas of the Markdown.
    """
    environment = catalogue.templates()

    def formula(text: str, options: dict[str, Any]) -> str:
        return formulas.html_of(text, options["display_mode"])

    markdown = MarkdownIt().enable("table").use(dollarmath_plugin, renderer=formula)
    environment.filters["markdown"] = markdown.render
    return environment


def write(entries: Sequence[Entry], folder: Path) -> None:
    """Write all decks as HTML; UndefinedError if one names an unknown page or claim."""
    environment = templates()
    environment.globals |= {
        "of": {entry.id: entry for entry in entries},
        "kicker": pages.kicker,
        "outputs": notebooks.outputs,
        "figures": partial(figures, folder),
        "diagram": partial(diagram, environment),
    }
    environment.globals |= vars(environment.get_template("slides.md").module)
    for name, source in decks().items():
        text = environment.from_string(source).render(minutes=minutes(source))
        # (slide, note) each
        slides = [part.partition("\nNote: ")[::2] for part in text.split("\n---\n")]
        html = environment.get_template("deck.html").render(slides=slides)
        write_if_changed(folder / f"{name}.html", html)


def write_worksheets(folder: Path) -> None:
    """Write a page for the printer of each worksheet, for the class and the teacher."""
    for path in handouts.worksheets():
        for kind, solutions in KINDS.items():
            html = printed(path, solutions)
            write_if_changed(folder / f"{path.stem}-{kind}.html", html)


def printed(path: Path, solutions: bool) -> str:
    """Return a worksheet as HTML, for the class with room to write in."""
    cells = handouts.worksheet_handout(path, solutions=solutions).cells
    template = templates().get_template("worksheet.html")
    return template.render(cells=cells, is_class=not solutions)


def diagram(environment: Environment, name: str) -> str:
    """Return a drawing of book/_templates/diagrams as SVG, to stand in Markdown.

    It has no empty line, which would end its HTML there.
    """
    drawing = environment.get_template(f"diagrams/{name}.svg").render()
    return "\n".join(line for line in drawing.splitlines() if line.strip())


def figures(folder: Path, entry: Entry, number: int, *choice: Any) -> list[str]:
    """Return the names of pictures of a page's figure in a folder, one for each step.

    ``number`` is that of the figure on its page, and ``choice`` the arguments of
    `slide` after the figure. Pictures of the same figure and choice are drawn once.
    Raises PageError if the page's code draws another figure than its notebook shows.
    """
    shown = notebooks.outputs(entry.twin, FIGURE_MIME)[number - 1][1]["sha256"]
    code = [p.read_bytes() for p in sorted(home().glob("src/claimbook/plots/*.*"))]
    key = sha256(repr((shown, choice, code)).encode()).hexdigest()[:16]
    paths = sorted(folder.glob(f"{key}-*.png"))
    if not paths:
        folder.mkdir(parents=True, exist_ok=True)
        with plt.rc_context():
            figure = redrawn(entry, number)
            if shown_content(figure)["sha256"] != shown:
                raise PageError(
                    f"Figure {number} of page {entry.id} is not the one that its "
                    f"notebook shows: run 'python -m book execute {entry.id}'."
                )
            for step, picture in enumerate(slide(figure, *choice)):
                paths.append(folder / f"{key}-{step}.png")
                paths[-1].write_bytes(picture)
            plt.close("all")
    return [path.name for path in paths]


def redrawn(entry: Entry, number: int) -> Figure:
    """Return a figure of a page in the style of slides, drawn by the page's own code.

    The code runs up to the figure of this number. There `plots.show` keeps figures
    open, and `plots.use_style` adds the style of slides to that of the book.
    """
    drawn: list[Figure] = []
    use_style, namespace = plots.use_style, {"__name__": "__main__"}

    def use_both() -> None:
        use_style()
        plt.style.use("claimbook.plots.slide")

    with (
        mock.patch.object(plots, "show", drawn.append),
        mock.patch.object(plots, "use_style", use_both),
        redirect_stdout(io.StringIO()),
    ):
        for cell in notebooks.read_source(entry.source).cells:
            if cell.cell_type == "code" and len(drawn) < number:
                exec(compile(cell.source, entry.id, "exec"), namespace)
    return drawn[number - 1]
