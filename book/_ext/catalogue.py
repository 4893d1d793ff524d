"""What the book says about all of its pages at once, made from the executed twins.

`write` fills book/generated/, which is neither edited nor committed: what the landing
page and the chapters' front pages include, and the scoreboard. Words and HTML are the
macros of book/_templates/catalogue.md; book/landing.yml has the title and the thesis of
each paper.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from book._ext import teaching
from book._ext.entries import (
    Entry,
    anchor,
    folder_name,
    plain,
    rank,
    support,
    write_if_changed,
    yaml_of,
)
from book._ext.handouts import BLOCK, worksheet_facts, worksheets
from claimbook.claims.verdict import WORDS, badge, css_classes, is_few, outcome
from claimbook.project import home, page_folders, paper_titles


def write(entries: Sequence[Entry]) -> None:
    """Write the generated pages; files whose text is the same stay as they are."""
    entries_of = {
        folder: [e for e in entries if e.paper == folder] for folder in page_folders()
    }
    of_papers = [entry for paper in paper_titles() for entry in entries_of[paper]]
    questions = {e.id.partition("/")[2]: e for e in entries_of["questions"]}
    titles = {question: entry.title for question, entry in questions.items()}
    texts = {
        "landing/questions.md": render("questions", entries_of["questions"]),
        "landing/matrix.md": render("squares", of_papers),
        "landing/papers.md": render("papers", entries_of),
        "scoreboard.md": render("scoreboard", of_papers, titles),
    }
    for paper in paper_titles():
        texts[f"papers/{paper}.md"] = render("chapter", entries_of[paper])
    for question, entry in questions.items():
        claims = claims_behind(question, entries)
        texts[f"{entry.id}.md"] = render("rests_on", question, claims)
    for name, text in texts.items():
        write_if_changed(home() / "book" / "generated" / name, text)


def write_for_teachers(entries: Sequence[Entry]) -> None:
    """Write exercises, questions, and the tables of the page Teach it."""
    lines, course = teaching.exercises(), teaching.course()
    sheets = [worksheet_facts(path) for path in worksheets()]
    arguments_of: dict[str, tuple[object, ...]] = {
        "exercises": (entries, lines, course),
        "quiz": (entries, teaching.questions(), sheets),
        "teaching/worksheets": (sheets,),
        "teaching/plans": (course, lines),
        "teaching/decks": (course,),
        "teaching/projects": (course,),
        "teaching/topics": (course,),
    }
    for name, arguments in arguments_of.items():
        text = render(name.rpartition("/")[2], *arguments, file="teaching.md")
        write_if_changed(home() / "book" / "generated" / f"{name}.md", text)


def render(macro: str, *arguments: object, file: str = "catalogue.md") -> str:
    """Return the Markdown of a macro in a template of book/_templates."""
    return getattr(templates().get_template(file).module, macro)(*arguments)


@cache
def templates() -> Environment:
    """Return the Jinja environment of book/_templates, with what its macros call."""
    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader([here.parent / "_templates", here])
    )
    environment.filters["plain"] = plain
    for function in (
        *(anchor, badge, css_classes, folder_name, is_few),
        *(outcome, rank, support, yaml_of),
    ):
        environment.globals[function.__name__] = function
    environment.globals |= {"PAPERS": paper_titles(), "BLOCK": BLOCK, "WORDS": WORDS}
    return environment


def claims_behind(question: str, entries: Sequence[Entry]) -> list[tuple[Entry, Any]]:
    """Return (page, claim) for each claim behind an answer, those that hold first.

    ``question`` is the id of a page of book/questions, such as "q01".
    """
    rows = [(e, c) for e in entries for c in e.claims if c["question"] == question]
    return sorted(rows, key=lambda row: rank(row[1]["verdict"]))
