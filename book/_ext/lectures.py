"""To teach with: decks of slides from book/lectures/*.md, and pages to work in.

Lines of `---` part slides; what begins with `Note: 4 min.` the speaker alone sees. What
a deck says of pages comes from them, by the macros of book/_templates/slides.md.
"""

import ast
import re
from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import jupytext
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode

from book._ext import catalogue, formulas, handouts, notebooks, pages
from book._ext.entries import Entry, update
from claimbook.claims.verdict import WORDS, outcome
from claimbook.project import home

EXERCISE = re.compile(r"^\*\*Exercise .*?(?=^\*\*Exercise |^## |\Z)", re.M | re.S)


def write(entries: Sequence[Entry], folder: Path) -> None:
    """Make all decks; UndefinedError for a page or a claim that is not."""
    env = catalogue.templates()
    written = MarkdownIt().enable("table")
    math = {"renderer": lambda one, how: formulas.drawn(one, how["display_mode"])}
    env.filters["markdown"] = written.use(dollarmath_plugin, **math).render
    env.globals |= {"of": {e.id: e for e in entries}, "kicker": pages.kicker}
    env.globals |= {"outputs": notebooks.outputs, "sha256": sha256, "decode": b64decode}
    env.globals |= vars(env.get_template("slides.md").module)
    for path in sorted(home().glob("book/lectures/*.md")):
        text = env.from_string(path.read_text(encoding="utf-8")).render()
        parts = [one.partition("\nNote: ")[::2] for one in text.split("\n---\n")]
        deck = env.get_template("deck.html").render(slides=parts)
        update(folder / f"{path.stem}.html", deck)


def worksheet(page_id: str, twin: NotebookNode, **start: Any) -> NotebookNode:
    """A handout with code, exercises and asserts, and with nothing that we found."""
    made = handouts.made(page_id, twin, solutions=False, **start)
    every = (notebooks.claims_of(twin) or {"claims": []})["claims"]
    claims = [one for one in every if outcome(one["verdict"]) in WORDS]
    told = {"kicker": pages.kicker(page_id), "cells": made.cells, "claims": claims}
    told |= {"silent": silent, "exercise": EXERCISE, "came": outcome, "sha256": sha256}
    text = handouts.filled("worksheet.txt", **told)
    made.cells = jupytext.reads(text, fmt="py:percent").cells
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number:02d}"
    return made


def silent(source: str) -> str:
    """Code without the statements that print what the book found."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if ast.unparse(node).startswith(("sheet.", "tables.")):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip() if ast.parse("\n".join(lines)).body else ""
