"""What a teacher plans with: no line is missing, and the timetables add up."""

import pytest
import yaml

from book._ext import entries, handouts, lectures, teaching

STATED = entries.stated
CACHED = (teaching.read, teaching.exercises, teaching.course, teaching.questions)
BASICS = "book/basics/exercises.yaml"


def test_the_plans_of_the_book_add_up_and_no_line_is_wrong():
    assert list(teaching.faults()) == []
    plans = teaching.course()["plans"]
    assert set(plans) == {"class", "week", "term"}
    for plan in plans.values():
        for lesson in plan["lessons"]:
            minutes = [part["minutes"] for part in lesson["parts"]]
            assert sum(minutes) == plan["minutes"] and min(minutes) > 2


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (BASICS, "minutes:", "minuts:", "key in {}, grokking, count: 'minuts': use"),
        (
            BASICS,
            "level: easy",
            "level: eas",
            "level in {}, grokking, count: 'eas': use",
        ),
        (
            BASICS,
            "    minutes: 5\n",
            "",
            "{}, grokking, count has no 'minutes': add it",
        ),
        (
            BASICS,
            "  count:",
            "  cont:",
            "exercise in {}, grokking: 'cont': use one of c",
        ),
        (
            BASICS,
            "grokking:",
            "groking:",
            "page in {}: 'basics/groking': use one of ba",
        ),
        (BASICS, "count:", "count: [", "{} is no YAML: while parsing"),
        (teaching.QUIZ, ": right", ": no", "{}, question 1 needs one answer that is"),
        (teaching.QUIZ, "page: ba", "page: bo", "page in {}, question 1: 'bosics/g"),
        (
            teaching.COURSE,
            "minutes: 10",
            "minutes: 50",
            "leaves -21 of 90 minutes to 1",
        ),
        (
            teaching.COURSE,
            "does: compare",
            "dos: compare",
            "key in {}, plans, class, l",
        ),
        (teaching.COURSE, "minutes: 10", "minutes: 29", "leaves 0 of 90 minutes to 1"),
        (
            teaching.COURSE,
            "to: The delay",
            "to: The relay",
            "slide of 1-grokking in {}, plans, cl",
        ),
        (
            teaching.COURSE,
            '1: "Answer: by heart first, the rule much later',
            '1: "Answer: with the rule yes, by heart no',
            "class, lesson 1 has worksheet 1 after the slide that answers it",
        ),
        (
            teaching.COURSE,
            "ex-basics-count",
            "ex-count",
            "exercise in {}, plans, class, le",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(name, old, new, said, monkeypatch):
    def stated(file):
        text = (entries.home() / file).read_text(encoding="utf-8")
        assert file != name or old in text
        return (
            yaml.safe_load(text.replace(old, new, 1)) if file == name else STATED(file)
        )

    monkeypatch.setattr(teaching, "stated", stated)
    for cached in CACHED:
        cached.cache_clear()
    try:
        (fault,) = teaching.faults()
    finally:
        for cached in CACHED:
            cached.cache_clear()
    assert said.format(name) in fault and "\n" not in fault


def test_a_printed_worksheet_has_its_formulas_and_room_to_write():
    sheet = handouts.worksheets()[0]
    pupil, teacher = (lectures.printed(sheet, solutions) for solutions in (False, True))
    for page in (pupil, teacher):
        assert "<h1>" in page and 'class="katex' in page and "$$" not in page
    assert pupil.count('class="room"') > 2 and "Rubric" not in pupil
    assert 'class="room"' not in teacher and "Rubric" in teacher
