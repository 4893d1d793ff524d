"""What a teacher plans with, from data: exercises, decks, plans, projects, questions.

book/<chapter>/exercises.yaml   a line for each exercise of a page
book/course.yaml                goals, plans and projects, and what may stand in a line
book/quiz.yaml                  questions, each wrong answer with what it catches
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle

from book._ext import pages
from book._ext.entries import stated
from claimbook.errors import BookError, PageError, choose
from claimbook.project import home

Line = dict[str, Any]
KEYS = {
    "exercise": ("title", "minutes", "level", "skill", "before", "rubric"),
    "question": ("asks", "worksheet", "level", "answers", "because", "page"),
    "project": ("title", "hours", "level", "needs", "does", "hands_in"),
}
LISTED = ("level", "skill", "before")  # keys whose values course.yaml lists
COURSE, QUIZ = "book/course.yaml", "book/quiz.yaml"
LABEL = re.compile(r"^(?:# )?:label: *(ex-\S+)$", re.M)


def faults() -> Iterator[str]:
    """The first thing that is wrong in these files, as a sentence."""
    try:
        exercises(), plans(), questions(), projects()
    except BookError as error:
        yield str(error).removesuffix(".")


def checked(kind: str, where: str, line: Line) -> Line:
    """A line with all keys of its kind and no other; UnknownName or PageError."""
    for key in line:
        choose(f"key in {where},", key, KEYS[kind])
    if missing := [key for key in KEYS[kind] if key not in line]:
        raise PageError(f"{where} lacks '{missing[0]}': add it")
    for key in LISTED:
        if key in line:
            choose(f"{key} in {where},", line[key], list(stated(COURSE)[key]))
    return line


@cache
def exercises() -> dict[str, Line]:
    """Label -> what is said of an exercise, and its page, over all pages in order."""
    found = {}
    told = {}
    for page_id, path in pages.sources().items():
        chapter, name = page_id.split("/")
        place = f"book/{chapter}/exercises.yaml"
        if place not in told:
            told[place] = stated(place) if (home() / place).is_file() else {}
        labels = LABEL.findall(path.read_text(encoding="utf-8"))
        named = {label.rpartition("-")[2]: label for label in labels}
        lines = told[place].pop(name, {})
        for word in lines:
            choose(f"exercise in {place}, {name},", word, list(named))
        for word, label in named.items():
            if word not in lines:
                raise PageError(
                    f"{place} says nothing of exercise '{word}' of page {page_id}: "
                    f"add it below '{name}'"
                )
            line = checked("exercise", f"{place}, {name}, {word}", lines[word])
            found[label] = line | {"page": page_id}
    for place, left in told.items():
        if left:
            raise PageError(f"{place} names '{min(left)}', which is no page")
    return found


def slides(deck: str) -> dict[str, int]:
    """Heading -> minutes in the speaker's note, over the slides of a deck."""
    decks = {path.stem: path for path in home().glob("book/lectures/*.md")}
    text = choose(f"deck in {COURSE},", deck, decks).read_text(encoding="utf-8")
    pattern = r"^#+ ([^\n]+)\n.*?^Note: (\d+) min"
    found = re.findall(pattern, text, re.M | re.S)
    return {heading: int(minutes) for heading, minutes in found}


def parts(worksheet: int) -> dict[str, int]:
    """Heading -> minutes, over the parts of a worksheet."""
    sheets = sorted(home().glob("book/worksheets/*.py"))
    sheet = choose(f"worksheet in {COURSE},", f"{worksheet:02}", {p.stem[:2]: p for p in sheets})
    text = sheet.read_text(encoding="utf-8")
    found = re.findall(r"^# ## (.+) \((\d+) minutes\)$", text, re.M)
    return {heading.lower(): int(minutes) for heading, minutes in found}
