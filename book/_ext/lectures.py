"""To teach with: decks of slides from book/lectures/*.md, worksheets for the printer.

Lines of `---` part slides; what begins with `Note: 4 min.` the speaker alone sees. What
a deck says of pages comes from them, by the macros of book/_templates/slides.md.
"""

from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from book._ext import catalogue, formulas, handouts, notebooks, pages
from book._ext.downloads import KINDS
from book._ext.entries import Entry, update
from claimbook.project import home


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
    env.globals |= {"outputs": notebooks.outputs, "sha256": sha256, "decode": b64decode}
    env.globals |= vars(env.get_template("slides.md").module)
    for path in sorted(home().glob("book/lectures/*.md")):
        text = env.from_string(path.read_text(encoding="utf-8")).render()
        parts = [one.partition("\nNote: ")[::2] for one in text.split("\n---\n")]
        deck = env.get_template("deck.html").render(slides=parts)
        update(folder / f"{path.stem}.html", deck)


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
