"""What the book says about all of its pages at once, made from the executed twins.

`write` makes book/generated/, which is neither edited nor committed: what the landing
page and the chapters' front pages include, and the scoreboard. Its words and its HTML
are the macros of book/_templates/catalogue.md; book/landing.yml has the title and the
thesis of each paper.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from book._ext import teaching
from book._ext.entries import Entry, anchor, named, plain, rank, stated, support, update
from book._ext.handouts import BLOCK, about, worksheets
from claimbook.claims.verdict import WORDS, badge, css_classes, is_few, outcome
from claimbook.project import home, page_folders, paper_titles


def write(found: Sequence[Entry]) -> None:
    """Write the generated pages; unchanged files stay as they are."""
    of = {paper: [e for e in found if e.paper == paper] for paper in page_folders()}
    every = [entry for paper in paper_titles() for entry in of[paper]]
    asked = {entry.id.partition("/")[2]: entry.title for entry in of["questions"]}
    written = {
        "landing/questions.md": made("questions", of["questions"]),
        "landing/matrix.md": made("squares", every),
        "landing/papers.md": made("papers", of),
        "scoreboard.md": made("scoreboard", every, asked),
    }
    written |= {
        f"papers/{paper}.md": made("chapter", of[paper]) for paper in paper_titles()
    }
    for entry in of["questions"]:
        question = entry.id.partition("/")[2]
        rows = rests_on(question, found)
        written[f"{entry.id}.md"] = made("rests_on", question, rows)
    for name, content in written.items():
        update(home() / "book" / "generated" / name, content)


def write_for_teachers(found: Sequence[Entry]) -> None:
    """Write exercises, questions, and the tables of the page Teach it."""
    lines, course = teaching.exercises(), teaching.course()
    sheets = [about(path) for path in worksheets()]
    told = {
        "exercises": (found, lines, course),
        "quiz": (found, teaching.questions(), sheets),
        "teaching/worksheets": (sheets,),
        "teaching/plans": (course, lines),
    }
    told |= {f"teaching/{name}": (course,) for name in ("decks", "projects", "topics")}
    for name, given in told.items():
        content = made(name.rpartition("/")[2], *given, file="teaching.md")
        update(home() / "book" / "generated" / f"{name}.md", content)


def made(name: str, *given: object, file: str = "catalogue.md") -> str:
    """What a macro of a template makes of entries, claims and lines."""
    return getattr(templates().get_template(file).module, name)(*given)


@cache
def templates() -> Environment:
    here = Path(__file__).parent
    env = Environment(loader=FileSystemLoader([here.parent / "_templates", here]))
    env.filters["plain"] = plain
    known = (anchor, badge, css_classes, is_few, named, outcome, rank, stated, support)
    env.globals |= {function.__name__: function for function in known}
    env.globals |= {"PAPERS": paper_titles(), "BLOCK": BLOCK, "WORDS": WORDS}
    return env


def rests_on(question: str, found: Sequence[Entry]) -> list[tuple[Entry, Any]]:
    """The claims behind an answer, those that hold first, each with its page."""
    rows = [(e, c) for e in found for c in e.claims if c["question"] == question]
    return sorted(rows, key=lambda row: rank(row[1]["verdict"]))
