"""What a teacher plans with: no line is missing, and the timetables add up."""

import pytest

from book._ext import entries, handouts, lectures, teaching

READ = entries.read_yaml
CACHED = (
    *(teaching.stated_course, teaching.exercises),
    *(teaching.course, teaching.questions),
)
BASICS = "book/basics/exercises.yaml"


def test_the_plans_of_the_book_add_up_and_no_line_is_wrong():
    assert list(teaching.faults()) == []
    plans = teaching.course()["plans"]
    assert set(plans) == {"class", "session", "week", "term"}
    for plan in plans.values():
        for lesson in plan["lessons"]:
            minutes = [part["minutes"] for part in lesson["parts"]]
            assert sum(minutes) == plan["minutes"] and min(minutes) > 2


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
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
        (BASICS, "count:", "count: [", "{} is not YAML: while parsing"),
        (
            teaching.QUIZ,
            ": right",
            ": wrong",
            "{}, question 1 needs one answer that is",
        ),
        (teaching.QUIZ, "page: ba", "page: bo", "page in {}, question 1: 'bosics/g"),
        (
            BASICS,
            "minutes: 5\n",
            "minutes: five\n",
            "count, minutes is 'five': write a",
        ),
        (BASICS, "minutes: 5\n", "minutes: -5\n", "-5: write a whole number from 1"),
        (BASICS, "grokking:", "empty:\ngrokking:", "page in {}: 'basics/empty'"),
        (teaching.QUIZ, "worksheet: 1", "worksheet: 77", "in {}, question 1: '77'"),
        (teaching.QUIZ, "because: One", "because: 5 #", "1, because is 5: write text"),
        (teaching.COURSE, "minutes: 10", "minutes: ten", "1, minutes is 'ten': write"),
        (teaching.COURSE, "worksheet: 1", "worksheet: 0", "is 0: write a whole number"),
        (
            teaching.COURSE,
            "plans:",
            "plans: [a]\nplanz:",
            "key in {}: 'planz': use one",
        ),
        (teaching.COURSE, "level:", "level: 5\nlevl:", "level is 5: write names with"),
        (teaching.COURSE, "hours: 6", "hours: six", "hours is 'six': write a whole"),
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
def test_what_is_wrong_is_one_sentence(name, old, new, sentence, monkeypatch, tmp_path):
    text = (entries.home() / name).read_text(encoding="utf-8")
    assert old in text
    (wrong := tmp_path / name).parent.mkdir(parents=True)
    wrong.write_text(text.replace(old, new, 1), encoding="utf-8")

    def read(path, kind):
        return READ(wrong if path == entries.home() / name else path, kind)

    monkeypatch.setattr(entries, "read_yaml", read)
    for cached in CACHED:
        cached.cache_clear()
    try:
        (fault,) = teaching.faults()
    finally:
        for cached in CACHED:
            cached.cache_clear()
    assert sentence.format(name) in fault and "\n" not in fault


def test_a_printed_worksheet_has_its_formulas_and_room_to_write():
    sheet = handouts.worksheets()[0]
    pupil, teacher = (lectures.printed(sheet, solutions) for solutions in (False, True))
    for page in (pupil, teacher):
        assert "<h1>" in page and 'class="katex' in page and "$$" not in page
    assert pupil.count('class="room"') > 2 and "Rubric" not in pupil
    assert 'class="room"' not in teacher and "Rubric" in teacher
