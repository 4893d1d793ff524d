"""What a teacher plans with, from data: exercises, decks, plans, projects, questions.

book/<chapter>/exercises.yaml   a line for each exercise of a page
book/course.yaml                decks, plans and projects, and what a line may say
book/quiz.yaml                  questions, and what each wrong answer catches

Whatever is wrong in them is one sentence that names the file and the place in it.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle

from book._ext import pages
from book._ext.entries import stated
from claimbook.errors import BookError, PageError, check_type, choose
from claimbook.project import home

Line = dict[str, Any]
COURSE, QUIZ = "book/course.yaml", "book/quiz.yaml"
KEYS = {
    "exercise": ("title", "minutes", "level", "skill", "before", "rubric"),
    "question": ("asks", "worksheet", "level", "answers", "because", "page"),
    "project": ("title", "hours", "level", "needs", "does", "hands_in"),
    "deck": ("can", "needs", "worksheets", "pages"),
    "plan": ("title", "minutes", "needs", "can", "lessons"),
    "lesson": ("read", "parts", "home"),
    "course": ("decks", "plans", "projects"),
}
IN_PART = [
    *("deck", "from", "to", "worksheet", "only", "without"),
    *("exercise", "does", "minutes"),
]
TYPES = {  # of the values of keys; those of the others are text
    **dict.fromkeys(("minutes", "hours", "worksheet"), int),
    **dict.fromkeys(("parts", "lessons", "projects"), list[dict]),
    **dict.fromkeys(("can", "home"), list[str]),
    **dict.fromkeys(("decks", "plans"), dict[str, dict]),
    "answers": dict[str, str],
    "worksheets": dict,
}
LISTED = ("level", "skill", "before")  # of these course.yaml lists the values
LABEL = re.compile(r"^(?:# )?:label: *(ex-\S+)$", re.M)
SLIDE = re.compile(r"^#+ ([^\n]+)$.*?^Note: (\d+) min", re.M | re.S)
PART = re.compile(r"^# ## (.+) \((\d+) minutes\)$", re.M)


def faults() -> Iterator[str]:
    """The first thing that is wrong with the data of a book that has some."""
    if not (home() / COURSE).is_file():
        return
    try:
        exercises(), course(), questions()
    except BookError as error:
        yield str(error)


@cache
def stated_course() -> Line:
    """What course.yaml says, if it has all that the others look up there."""
    told = stated(COURSE)
    for key in LISTED:
        check_type(f"{COURSE}, {key}", told.pop(key, None), dict[str, str])
    checked("course", COURSE, told)
    return stated(COURSE)


def checked(kind: str, where: str, line: Line) -> Line:
    """A line that has the keys of its kind and no others."""
    for key in line:
        choose(f"key in {where}:", key, KEYS[kind])
    for key in KEYS[kind]:
        if key not in line:
            raise PageError(f"{where} has no '{key}': add it")
        check_type(f"{where}, {key}", line[key], TYPES.get(key, str))
    for key in LISTED:
        if key in line:
            choose(f"{key} in {where}:", line[key], list(stated_course()[key]))
    return line


@cache
def exercises() -> dict[str, Line]:
    """What is said of each exercise, and its page, by its label and in order."""
    told, sources = {}, pages.sources()
    for path in home().glob("book/*/exercises.yaml"):
        chapter, place = path.parent.name, f"book/{path.parent.name}/exercises.yaml"
        for name, lines in stated(place).items():
            choose(f"page in {place}:", f"{chapter}/{name}", sources)
            check_type(f"{place}, {name}", lines, dict[str, dict])
            told[f"{chapter}/{name}"] = lines
    found = {}
    for page_id, path in sources.items():
        where = f"book/{page_id.replace('/', '/exercises.yaml, ')}"
        labels = LABEL.findall(path.read_text(encoding="utf-8"))
        words = [label.rpartition("-")[2] for label in labels]
        lines = told.get(page_id, {})
        for word in lines:
            choose(f"exercise in {where}:", word, words)
        for word, label in zip(words, labels, strict=True):
            if word not in lines:
                raise PageError(f"{where} has no '{word}', an exercise there: add it")
            line = checked("exercise", f"{where}, {word}", lines[word])
            found[label] = line | {"page": page_id}
    return found


@cache
def course() -> Line:
    """What course.yaml says, each part of a lesson with its minutes."""
    told = stated_course()
    for project in told["projects"]:
        checked("project", f"{COURSE}, projects", project)
    for name, deck in told["decks"].items():
        where = f"{COURSE}, decks, {name}"
        checked("deck", where, deck)
        deck["slides"] = slides(name)
        deck["worksheets"] = {
            sheet: place(where, name, answer) if answer else None
            for sheet, answer in deck["worksheets"].items()
        }
    for name, plan in told["plans"].items():
        checked("plan", f"{COURSE}, plans, {name}", plan)
        answered: list[int] = []
        for number, lesson in enumerate(plan["lessons"], 1):
            where = f"{COURSE}, plans, {name}, lesson {number}"
            checked("lesson", where, lesson)
            lesson["parts"] = filled(where, lesson["parts"], plan["minutes"])
            for part in lesson["parts"]:
                if part.get("worksheet") in answered:
                    raise PageError(
                        f"{where} has worksheet {part['worksheet']} after the slide "
                        "that answers it: move the worksheet before the slide"
                    )
                answered += part.get("answers", [])
    return told


def filled(where: str, parts: list[Line], minutes: int) -> list[Line]:
    """The parts of a lesson with their minutes, of which one may be what is left."""
    timed = [part | of_material(where, part) for part in parts]
    left = minutes - sum(part.get("minutes", 0) for part in timed)
    is_open = [part for part in timed if "minutes" not in part]
    if left < 0 or len(is_open) != (left > 0):
        raise PageError(
            f"{where} leaves {left} of {minutes} minutes to {len(is_open)} parts: "
            "change the parts until one has what is left, or none if nothing is"
        )
    for part in is_open:
        part["minutes"] = left
    return timed


def of_material(where: str, part: Line) -> Line:
    """What slides, worksheet or exercise say of the minutes that they take."""
    for key, value in part.items():
        choose(f"key in {where}:", key, IN_PART)
        check_type(f"{where}, {key}", value, TYPES.get(key, str))
    if "deck" in part:
        told = slides(part["deck"])
        ends = part.get("from", told[0][0]), part.get("to", told[-1][0])
        first, last = (place(where, part["deck"], end) for end in ends)
        minutes = sum(minutes for _, minutes in told[first - 1 : last])
        # of the course, which has numbered these slides before it comes to plans
        sheets = stated_course()["decks"][part["deck"]]["worksheets"].items()
        shown = range(first, last + 1)
        answers = [sheet for sheet, number in sheets if number in shown]
        return {"first": first, "last": last, "minutes": minutes, "answers": answers}
    if "worksheet" in part:
        told = PART.findall(source_of(where, part["worksheet"]))
        wanted, other = part.get("only", ""), part.get("without", "no part")
        named = [(heading.lower(), int(minutes)) for heading, minutes in told]
        return {"minutes": sum(m for h, m in named if wanted in h and other not in h)}
    if "exercise" in part:
        what = f"exercise in {where}:"
        return {"minutes": choose(what, part["exercise"], exercises())["minutes"]}
    return {}


def source_of(where: str, worksheet: int) -> str:
    """The text of a worksheet, by its number."""
    sheets = {path.name[:2]: path for path in home().glob("book/worksheets/*.py")}
    path = choose(f"worksheet in {where}:", f"{worksheet:02}", sheets)
    return str(path.read_text(encoding="utf-8"))


def place(where: str, deck: str, heading: str) -> int:
    """The number of a slide of a deck, by its heading; the first one is 1."""
    headings = [heading for heading, _ in slides(deck)]
    return headings.index(choose(f"slide of {deck} in {where}:", heading, headings)) + 1


def slides(deck: str) -> list[tuple[str, int]]:
    """Heading of each slide of a deck, and the minutes in its note."""
    path = home() / "book" / "lectures" / f"{deck}.md"
    found = SLIDE.findall(path.read_text(encoding="utf-8"))
    return [(heading, int(minutes)) for heading, minutes in found]


@cache
def questions() -> list[Line]:
    """The question bank; the answer that catches nothing is `right`."""
    told: list[Line] = stated(QUIZ, list)
    check_type(QUIZ, told, list[dict])
    sources = pages.sources()
    for number, question in enumerate(told, 1):
        where = f"{QUIZ}, question {number}"
        checked("question", where, question)
        source_of(where, question["worksheet"])
        choose(f"page in {where}:", question["page"], sources)
        if list(question["answers"].values()).count("right") != 1:
            raise PageError(f"{where} needs one answer that is 'right'")
    return told


def name_exercises(_: Any, document: nodes.document) -> None:
    """Put title, minutes and level of an exercise into its heading."""
    for node in document.findall(exercise_enumerable_node):
        line = exercises()[node["label"]]
        words = "{title} · {minutes} minutes, {level}".format(**line)
        node[0] += exercise_subtitle(words, words)
