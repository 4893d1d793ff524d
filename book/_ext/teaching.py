"""What a teacher plans with, from data: exercises, decks, plans, projects, questions.

book/<chapter>/exercises.yaml   a line for each exercise of a page
book/course.yaml                decks, plans and projects, and what a line may say
book/quiz.yaml                  questions, and what each wrong answer catches

Whatever is wrong in them is a BookError of one sentence that names file and place. A
*line* is one mapping in these files; `KEYS` has the keys of each kind.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle

from book._ext import pages
from book._ext.entries import yaml_of
from claimbook.errors import BookError, PageError, check_type, choose
from claimbook.project import home

Line: TypeAlias = dict[str, Any]
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
PART_KEYS = [  # of a part of a lesson, each optional
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
LISTED = ("level", "skill", "before")  # keys whose values course.yaml lists
LABEL = re.compile(r"^(?:# )?:label: *(ex-\S+)$", re.M)
SLIDE = re.compile(r"^#+ ([^\n]+)$.*?^Note: (\d+) min", re.M | re.S)
PART = re.compile(r"^# ## (.+) \((\d+) minutes\)$", re.M)  # of a worksheet


def faults() -> Iterator[str]:
    """Yield the first thing that is wrong; nothing for a book without a course.yaml."""
    if not (home() / COURSE).is_file():
        return
    try:
        exercises(), course(), questions()
    except BookError as error:
        yield str(error)


@cache
def stated_course() -> Line:
    """Return course.yaml as it is written, with its top level checked."""
    content = yaml_of(COURSE)
    for key in LISTED:
        check_type(f"{COURSE}, {key}", content.get(key), dict[str, str])
    top = {key: value for key, value in content.items() if key not in LISTED}
    check_line("course", COURSE, top)
    return content


def check_line(kind: str, where: str, line: Line) -> None:
    """Raise BookError unless a line has the keys of its kind, with the right types.

    ``where`` names it in the error.
    """
    for key in line:
        choose(f"key in {where}:", key, KEYS[kind])
    for key in KEYS[kind]:
        if key not in line:
            raise PageError(f"{where} has no '{key}': add it")
        check_type(f"{where}, {key}", line[key], TYPES.get(key, str))
    for key in LISTED:
        if key in line:
            choose(f"{key} in {where}:", line[key], list(stated_course()[key]))


@cache
def exercises() -> dict[str, Line]:
    """Return the line of each exercise by its label, in the order of the pages.

    The id of its page is added as ``page``.
    """
    sources = pages.sources()
    lines_of_page: dict[str, dict[str, Line]] = {}
    for path in home().glob("book/*/exercises.yaml"):
        chapter, file = path.parent.name, f"book/{path.parent.name}/exercises.yaml"
        for name, lines in yaml_of(file).items():
            choose(f"page in {file}:", f"{chapter}/{name}", sources)
            check_type(f"{file}, {name}", lines, dict[str, dict])
            lines_of_page[f"{chapter}/{name}"] = lines
    line_of = {}
    for page_id, path in sources.items():
        where = f"book/{page_id.replace('/', '/exercises.yaml, ')}"
        labels = LABEL.findall(path.read_text(encoding="utf-8"))
        # the last word of a label is the key of the line
        words = [label.rpartition("-")[2] for label in labels]
        lines = lines_of_page.get(page_id, {})
        for word in lines:
            choose(f"exercise in {where}:", word, words)
        for word, label in zip(words, labels, strict=True):
            if word not in lines:
                raise PageError(f"{where} has no '{word}', an exercise there: add it")
            check_line("exercise", f"{where}, {word}", lines[word])
            line_of[label] = lines[word] | {"page": page_id}
    return line_of


@cache
def course() -> Line:
    """Return course.yaml with what follows from the slides and the worksheets.

    A deck gets its ``slides``, see `slides`; its ``worksheets`` map each to the number
    of the slide that answers it, or to None. A part of a lesson gets its ``minutes``.
    """
    content = stated_course()
    for project in content["projects"]:
        check_line("project", f"{COURSE}, projects", project)
    for name, deck in content["decks"].items():
        where = f"{COURSE}, decks, {name}"
        check_line("deck", where, deck)
        deck["slides"] = slides(name)
        deck["worksheets"] = {
            sheet: slide_number(where, name, heading) if heading else None
            for sheet, heading in deck["worksheets"].items()
        }
    for name, plan in content["plans"].items():
        check_line("plan", f"{COURSE}, plans, {name}", plan)
        answered: list[int] = []
        for number, lesson in enumerate(plan["lessons"], 1):
            where = f"{COURSE}, plans, {name}, lesson {number}"
            check_line("lesson", where, lesson)
            lesson["parts"] = timed(where, lesson["parts"], plan["minutes"])
            for part in lesson["parts"]:
                if part.get("worksheet") in answered:
                    raise PageError(
                        f"{where} has worksheet {part['worksheet']} after the slide "
                        "that answers it: move the worksheet before the slide"
                    )
                answered += part.get("answers", [])
    return content


def timed(where: str, parts: list[Line], total: int) -> list[Line]:
    """Return the parts of a lesson with their minutes, which add up to ``total``.

    A part without minutes gets what is left. Raises PageError unless there is one if
    minutes are left, and none if not.
    """
    timed_parts = [part | material(where, part) for part in parts]
    left = total - sum(part.get("minutes", 0) for part in timed_parts)
    open_parts = [part for part in timed_parts if "minutes" not in part]
    if left < 0 or len(open_parts) != (left > 0):
        raise PageError(
            f"{where} leaves {left} of {total} minutes to {len(open_parts)} parts: "
            "change the parts until one has what is left, or none if nothing is"
        )
    for part in open_parts:
        part["minutes"] = left
    return timed_parts


def material(where: str, part: Line) -> Line:
    """Return the minutes that the slides, worksheet or exercise of a part take.

    For slides, also the numbers of the ``first`` and the ``last``, and the worksheets
    that they answer. The result is empty for a part that has none of the three.
    """
    for key, value in part.items():
        choose(f"key in {where}:", key, PART_KEYS)
        check_type(f"{where}, {key}", value, TYPES.get(key, str))
    if "deck" in part:
        all_slides = slides(part["deck"])
        ends = part.get("from", all_slides[0][0]), part.get("to", all_slides[-1][0])
        first, last = (slide_number(where, part["deck"], end) for end in ends)
        minutes = sum(minutes for _, minutes in all_slides[first - 1 : last])
        # `course` has numbered these slides before it comes to the plans
        sheets = stated_course()["decks"][part["deck"]]["worksheets"].items()
        shown = range(first, last + 1)
        answers = [sheet for sheet, number in sheets if number in shown]
        return {"first": first, "last": last, "minutes": minutes, "answers": answers}
    if "worksheet" in part:
        wanted, unwanted = part.get("only", ""), part.get("without", "no part")
        minutes = 0
        for heading, length in PART.findall(worksheet_text(where, part["worksheet"])):
            if wanted in heading.lower() and unwanted not in heading.lower():
                minutes += int(length)
        return {"minutes": minutes}
    if "exercise" in part:
        line = choose(f"exercise in {where}:", part["exercise"], exercises())
        return {"minutes": line["minutes"]}
    return {}


def worksheet_text(where: str, number: int) -> str:
    """Return the source of a worksheet; UnknownName, with ``where``, for no number."""
    path_of = {path.name[:2]: path for path in home().glob("book/worksheets/*.py")}
    path = choose(f"worksheet in {where}:", f"{number:02}", path_of)
    return str(path.read_text(encoding="utf-8"))


def slide_number(where: str, deck: str, heading: str) -> int:
    """Return the number of a slide of a deck, from 1; UnknownName for no heading."""
    headings = [heading for heading, _ in slides(deck)]
    return headings.index(choose(f"slide of {deck} in {where}:", heading, headings)) + 1


def slides(deck: str) -> list[tuple[str, int]]:
    """Return (heading, minutes in its note) of each slide of a deck."""
    path = home() / "book" / "lectures" / f"{deck}.md"
    pairs = SLIDE.findall(path.read_text(encoding="utf-8"))
    return [(heading, int(minutes)) for heading, minutes in pairs]


@cache
def questions() -> list[Line]:
    """Return the question bank.

    The answers of a question map the words of each to what it catches, and those of the
    right one to "right".
    """
    lines: list[Line] = yaml_of(QUIZ, list)
    check_type(QUIZ, lines, list[dict])
    sources = pages.sources()
    for number, question in enumerate(lines, 1):
        where = f"{QUIZ}, question {number}"
        check_line("question", where, question)
        worksheet_text(where, question["worksheet"])
        choose(f"page in {where}:", question["page"], sources)
        if list(question["answers"].values()).count("right") != 1:
            raise PageError(f"{where} needs one answer that is 'right'")
    return lines


def name_exercises(_: Any, document: nodes.document) -> None:
    """Append title, minutes and level to the heading of each exercise of a page."""
    for node in document.findall(exercise_enumerable_node):
        line = exercises()[node["label"]]
        words = "{title} · {minutes} minutes, {level}".format(**line)
        node[0] += exercise_subtitle(words, words)
