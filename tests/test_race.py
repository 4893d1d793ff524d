"""A remedy of one's own beside the book's: `python -m book race mine.py`."""

import math
import runpy
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
from helpers import arm
from pandas import Series

from book import __main__ as command
from book import own_remedy
from claimbook import evidence, project
from claimbook.engine import loop, pool
from claimbook.errors import BookError, TrainingError
from claimbook.experiment import Spec

ENTRIES = sorted((project.home() / "book" / "remedies" / "entries").glob("*.py"))
DESIGN = runpy.run_path(f"{project.home()}/book/remedies/experiments.py")
MINE = (
    "STRENGTH = 3.0\n\n\ndef wrapper(optimizer, *, strength):\n    return optimizer\n"
)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A function that writes a file of a remedy and returns its path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    made = []

    def write(text):
        path = tmp_path / f"mine{len(made)}.py"
        path.write_text(text)
        made.append(path.stem)
        return path

    yield write
    for name in made:
        sys.modules.pop(name, None)


def entered(path, folder, task="a", **how):
    how = {"is_smoke": True, "processes": 0} | how
    return own_remedy.Race(own_remedy.read(path), task, folder, **how)


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.stem)
def test_every_entry_trains_at_once(path, tmp_path):
    one = entered(path, tmp_path, task="e")
    assert one.probe() > 0
    assert (1e-3 < one.remedy.strength < 10) and one.remedy.has_strength


def test_a_race_is_tuned_tested_resumed_and_written(mine, tmp_path, monkeypatch):
    """At smoke scale, where each run counts as generalising at once."""
    book = {p: p.stat().st_mtime_ns for p in project.records_folder().rglob("*")}
    one = entered(mine(MINE), tmp_path)
    outcome = one.run()
    assert outcome.onsets.index.tolist() == [*DESIGN["SECOND_TESTS"]]
    assert outcome.chosen == one.grid[0] and outcome.trial_count == 10 + 3 + 6
    files = {*tmp_path.glob("remedies/*.parquet")}
    assert len(files) == outcome.trial_count + 5
    monkeypatch.setattr(
        pool, "_train_group", None
    )  # whatever is recorded is not trained
    again = entered(one.remedy.path, tmp_path).run()
    assert again.chosen == outcome.chosen and again.onsets.equals(outcome.onsets)
    page = tmp_path / "page.html"
    said = own_remedy.written({"a": one}, [outcome], page)
    assert said == ["A smoke test: it runs; nothing is judged."]
    text = page.read_text()
    assert text.count("<tr>") == 1 + len(DESIGN["START"])
    assert said[0] in text and "yours" not in text and "was tuned" not in text
    one.is_smoke = False
    said = own_remedy.written({"a": one}, [outcome], page)
    assert "On addition modulo 59 mine0 generalises in 5 of 5 runs" in said[0]
    text = page.read_text()
    assert text.count("<tr>") == 1 + len(DESIGN["START"]) + 1
    assert "<b>mine0 (yours)</b>" in text and "A smoke test" not in text
    assert {
        p: p.stat().st_mtime_ns for p in project.records_folder().rglob("*")
    } == book


def climbing(one, monkeypatch, onset, accuracy=0.5):
    """A race whose runs generalise at ``onset(rate, strength)``, and train nothing."""

    class Told:
        def __init__(self, point, seed):
            self.point, self.seed = point, seed

        def onset(self, above):
            return Series({self.seed: float(onset(*self.point))})

        def largest(self, column):
            return Series({self.seed: accuracy})

    def trained(due, is_test=False):
        return {(point, seed): Told(point, seed) for point, seed in due}

    monkeypatch.setattr(one, "trained", trained)
    return one


def test_the_race_climbs_by_the_books_rule(mine, tmp_path, monkeypatch):
    one = entered(mine(MINE), tmp_path, is_smoke=False)
    best = (0.1, 10.0)

    def onset(rate, strength):
        rungs = [DESIGN["LADDER"].index(each) for each in (rate, best[0])]
        return 100 + 50 * abs(rungs[0] - rungs[1]) + 50 * abs(math.log10(strength) - 1)

    outcome = climbing(one, monkeypatch, onset).run()
    assert outcome.chosen == best and (outcome.onsets == 100).all()


def test_no_race_is_longer_than_it_says(mine, tmp_path, monkeypatch):
    """Each new point comes among the best three, and wins there with two more seeds."""
    one = entered(mine(MINE), tmp_path)  # where all runs are equally long
    places, runs = {}, []  # the order of the points; how long each run is

    def trained(due, is_test=False):
        told = {}
        for point, seed in due:
            place = places.setdefault(point, len(places))
            runs.append(one.arm(point).epochs)
            onset = 300 - 10 * place if place else 400
            if seed == DESIGN["SECOND_TUNING"][0]:
                onset = 400 - place if place else 50
            told[point, seed] = SimpleNamespace(
                onset=lambda above, seed=seed, onset=onset: Series({seed: onset}),
                largest=lambda column, seed=seed: Series({seed: 0.5}),
            )
        return told

    monkeypatch.setattr(one, "trained", trained)
    with pytest.raises(BookError, match="still stands at the edge of what was tried"):
        one.run()
    usual, most = one.steps()
    assert usual < sum(runs) <= most
    assert len(runs) > 10 + own_remedy.MOST_ASKED + 2 * 3  # more than three were best


def test_a_grid_without_a_best_point_inside(mine, tmp_path, monkeypatch):
    one = entered(mine(MINE), tmp_path, is_smoke=False)
    climbing(one, monkeypatch, lambda rate, strength: 300 / strength**0.1)
    with pytest.raises(BookError, match="still stands at the edge of what was tried"):
        one.run()
    one = entered(mine(MINE.replace("3.0", "1.0\nLARGEST = 1")), tmp_path)
    climbing(one, monkeypatch, lambda rate, strength: 300 / strength**0.1)
    assert one.run().chosen[1] == 1  # where no larger strength can be


def test_a_remedy_that_never_generalises_is_not_tested(mine, tmp_path, monkeypatch):
    one = entered(mine(MINE), tmp_path, is_smoke=False)
    outcome = climbing(one, monkeypatch, lambda *_: math.inf).run()
    assert outcome.chosen is None and outcome.onsets.empty
    (said,) = own_remedy.written({"a": one}, [outcome], tmp_path / "p.html")
    assert "no point of mine0 generalises in its first seed" in said
    assert "mine0 (yours)</b></td><td>never</td>" in (tmp_path / "p.html").read_text()


def test_beside_the_book(mine, tmp_path):
    """The book's own ⊥Grad against itself, and weight decay, from its records."""
    source, theirs = own_remedy.of_the_book("a", DESIGN)
    assert source.startswith("remedies/test") and len(theirs["⊥Grad"]) == 5
    one = entered(mine(MINE), tmp_path, is_smoke=False)
    outcome = own_remedy.Outcome("a", (0.0004, 3.0), theirs["⊥Grad"], 20)
    page = tmp_path / "page.html"
    said = own_remedy.written({"a": one}, [outcome], page)
    assert "0.0004 is the last rate that the rule tries" in said[1]
    assert "Its median is 0 steps later than that of ⊥Grad (95 % interval: " in said[2]
    middle = theirs["⊥Grad"].median() - theirs["decay"].median()
    side = "earlier" if middle < 0 else "later"
    assert f"{abs(middle):,.0f} steps {side} than that of weight decay" in said[3]


def test_a_remedy_that_was_not_tested_counts_as_never():
    page = evidence.Page("remedies/matrix", "best", False, "auto")
    race = own_remedy.shared()["SecondRace"](page, "e")
    assert {"none", "StableMax"} <= race.onset.keys() - race.runs.keys()
    assert (race.came["none"] == race.steps).all()
    runs, lead = race.lead("⊥Grad", "none")
    assert runs == [race.runs["⊥Grad"]]
    assert lead.equals(race.steps - race.onset["⊥Grad"])
    assert race.lead("StableMax", "none")[0] == []  # which is a row without a run
    assert race.moments()["none"] == "generalised at no point of its tuning"


def test_the_interval_of_a_difference():
    flat, late = Series([100.0] * 5), Series([300.0] * 4 + [math.inf])
    difference = own_remedy.shared()["difference"]
    assert difference(flat, flat, 1000) == (0, 0, 0)
    later, low, high = difference(late, flat, 1000)
    assert later == low == 200 and high in (200, 900)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("STRENGTH = 3.0\n", "and has none of these"),
        (MINE + "def loss(): pass\n", "and has loss and wrapper"),
        (MINE.replace("3.0", "2.0"), "has STRENGTH = 2.0 .* 1 or 3 times a power"),
        (MINE.replace("3.0", "-1"), "has STRENGTH = -1 "),
        (MINE.replace("3.0", "float('inf')"), "has STRENGTH = inf "),
        (MINE.replace("STRENGTH = 3.0", ""), "has STRENGTH = None "),
        (MINE + "LARGEST = 1\n", "and LARGEST = 1: "),
        ("import nothing_there\n", "ModuleNotFoundError: No module named 'nothing_t"),
        ("\nwrapper = (\n", r"mine0.py, line 2: '\(' was never closed"),
        ("x = '\0'\n", "null bytes"),
        ("import sys\nsys.exit(3)\n", "as soon as it is imported .SystemExit: 3"),
    ],
)
def test_a_file_that_is_no_remedy(mine, text, words):
    with pytest.raises(BookError, match=words) as caught:
        own_remedy.read(mine(text))
    assert "\n" not in str(caught.value)
    assert "PYTHONPATH" not in str(caught.value)


def test_a_file_whose_name_is_taken(tmp_path, mine):
    path = shutil.copy(mine(MINE), tmp_path / "random.py")
    with pytest.raises(BookError, match="random is a module of Python or another file"):
        own_remedy.read(path)
    with pytest.raises(BookError, match="nowhere.py is missing: there is no such"):
        own_remedy.read(tmp_path / "nowhere.py")
    for name in ("no-name.py", "mine0.txt"):
        (tmp_path / name).touch()
        with pytest.raises(BookError, match="is no Python file whose name can be"):
            own_remedy.read(tmp_path / name)


NOISY = """
import torch

STRENGTH = 1.0


def wrapper(optimizer, *, strength):
    def disturb(*_):
        for group in optimizer.param_groups:
            for weight in group["params"]:
                weight.data += strength * torch.randn_like(weight)

    optimizer.register_step_post_hook(disturb)
    return optimizer
"""


def test_what_a_remedy_draws_depends_on_seed_and_step_alone(mine):
    path = mine(NOISY)
    sys.path.insert(0, str(path.parent))
    name = f"{path.stem}:wrapper"
    noisy = arm(epochs=3, wrappers=(Spec(name, strength=0.1),))
    torch.manual_seed(7)
    (first,) = loop.train([(noisy, 0)])
    torch.manual_seed(8)
    (second,) = loop.train([(noisy, 0)])
    (other,) = loop.train([(noisy, 1)])
    assert first.rows == second.rows != other.rows


BODY = "    return optimizer\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MINE.replace(BODY, "    raise KeyError('so')\n"), "wrapper fails .*KeyError"),
        (MINE.replace("optimizer, *, strength", "*, strength"), "takes 0 positional"),
        (
            f"import sys\n{MINE.replace(BODY, '    sys.exit(3)')}",
            "wrapper fails within 6 steps .SystemExit: 3",
        ),
        (
            "STRENGTH = 1\ndef penalty(forward, *, strength):\n"
            "    return forward.logits.sum() * float('nan')\n",
            "within 6 steps the loss is NaN, on task a at a rate of 0.006",
        ),
        (
            "STRENGTH = 1\ndef penalty(forward, *, strength):\n"
            "    return forward.logits\n",
            "a penalty returned the shape \\(.*let it return one number",
        ),
        (
            "def loss(logits, labels, *, reduction='mean'):\n    return logits.sum()\n",
            "one value a row with reduction='none', and returns the shape \\(\\)",
        ),
    ],
)
def test_a_remedy_that_does_not_train_is_told_before_anything_is(
    mine, tmp_path, text, words
):
    with pytest.raises(BookError, match=words) as caught:
        entered(mine(text), tmp_path).probe()
    assert "\n" not in str(caught.value)


def test_a_remedy_that_fails_later_loses_no_run(mine, tmp_path):
    fails = f"    if strength > 3:\n        raise ArithmeticError('so')\n{BODY}"
    one = entered(mine(MINE.replace(BODY, fails)), tmp_path)
    with pytest.raises(TrainingError, match="8 members recorded.*ArithmeticError"):
        one.run()
    assert len([*tmp_path.glob("remedies/*.parquet")]) == 8


@pytest.mark.parametrize("processes", [0, 1])
def test_a_remedy_that_ends_the_program_later_is_told(mine, tmp_path, processes):
    ends = f"    if strength > 3:\n        raise SystemExit(3)\n{BODY}"
    one = entered(mine(MINE.replace(BODY, ends)), tmp_path, processes=processes)
    with pytest.raises(BookError, match=r"its wrapper ends the program .SystemExit: 3"):
        one.run()


def test_the_cost_of_a_race_that_was_stopped_is_what_is_left(
    mine, tmp_path, monkeypatch
):
    one = entered(mine(MINE), tmp_path)
    monkeypatch.setattr(one, "probe", lambda: 0.01)
    usual, _ = one.steps()
    assert f"about {usual:,.0f} steps" in one.cost() and "recorded" not in one.cost()
    seed = DESIGN["SECOND_TUNING"][0]
    one.trained([(point, seed) for point in one.grid[:4]])
    done = sum(one.arm(point).epochs for point in one.grid[:4])
    assert f"about {usual - done:,.0f} steps" in one.cost()
    assert one.cost().endswith(f", beside {done:,} that are recorded")
    one.run()
    assert one.cost() == "task a: all of its runs are recorded, none is trained"


def test_the_help_has_the_five_forms_of_a_file(capsys):
    with pytest.raises(SystemExit):
        command.main(["race", "--help"])
    text = capsys.readouterr().out
    for kind in own_remedy.KINDS:
        assert f"    def {kind}(" in text


def test_the_command_says_the_cost_first(mine, capsys, monkeypatch):
    path = mine(MINE)
    assert command.main(["race", str(path), "--smoke", "--dry-run", "--task", "e"]) == 0
    cost = capsys.readouterr().out
    assert "task e: 10 points, then those around the best" in cost
    assert " steps in less than a minute of " in cost
    monkeypatch.setattr(own_remedy.Race, "run", lambda _: None)
    monkeypatch.setattr(own_remedy, "written", lambda *_: [])
    for option, page in (("--smoke", "mine0.smoke.html"), ("--task=e", "mine0.html")):
        assert command.main(["race", str(path), "--task", "e", option]) == 0
        assert capsys.readouterr().out.endswith(f"/_build/race/{page}\n")
    assert command.main(["race", str(path), "--task", "z"]) == 2
    assert capsys.readouterr().err == "book: unknown task 'z': use one of a, e\n"
