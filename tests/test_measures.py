"""A registered test cannot change unseen: its measurement, its bound, its history."""

import subprocess
from dataclasses import replace

import pandas as pd
import pytest
import yaml

from book._ext import checks, measures, pages
from claimbook.errors import PageError, UnknownName
from claimbook.experiment import Arm, Experiment, Spec
from claimbook.records import Record

PAGE = "prieto2025/fig99"
SOURCE = '''\
# %% [markdown]
# # [Prieto et al. 2025 · Figure 99]{.kicker} A page

# %%
from claimbook import claims, evidence, plots
from claimbook.evidence import Run

page = evidence.Page("prieto2025/fig02")
record = page.record()
LOST, UNUSED = "absorbed", 3
plain = Run(record, "plain", "the label", plots.RED)
runs = {}
for name in ("a", "b"):
    runs[name] = Run(record, name)  # a comment
fit = plain.fitted(accuracy=1.0)


def lost(run):
    """Docstring."""
    return run.last(LOST) / run.at(LOST, fit)


other = plain.largest("test_accuracy")
found = {"growth": (plain, lost(plain)), "best": (plain, other)}
found |= {name: (run, evidence.ratio(lost(run), other)) for name, run in runs.items()}
found["late"] = (plain, plain.last("late"))
sheet = claims.read(page.name, found)
'''
CLAIMS = """\
fig99:
  growth: {tested: it grows, at_least: 2, registered: 2026-11-01}
  best: {tested: it is best, above: 0, registered: 2026-11-01}
  a: {tested: a is one, above: 0, registered: 2026-11-01}
  late: {tested: only told, registered: 2026-11-01}
"""
MOVED = CLAIMS.replace("at_least: 2", "at_least: 1.1")


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one page in a repository of its own; call it with another source."""

    def write(source=SOURCE, rows=CLAIMS):
        folder = tmp_path / "book" / "prieto2025"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "fig99_page.py"
        path.write_text(source)
        (folder / "claims.yaml").write_text(rows)
        for cached in (measures.measurement, measures._page, checks.registries):
            cached.cache_clear()
        checks._claims.cache_clear()
        return path

    monkeypatch.setattr(pages, "sources", lambda: {PAGE: write.path})
    for module in (pages, measures, checks):
        monkeypatch.setattr(module, "home", lambda: tmp_path)
    monkeypatch.setattr("claimbook.project.home", lambda: tmp_path)
    write.path = write()
    git(tmp_path, "init", "-q")
    yield write
    write.path.unlink()
    for cached in (measures.measurement, measures._page, checks.registries):
        cached.cache_clear()


SAME = "same: [{tested: it grows, reason: why}]"


def git(folder, *arguments):
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *author, *arguments], cwd=folder, check=True)


def commit(path):
    git(path.parent, "add", "-A")
    git(path.parent, "commit", "-qm", "x")


def code(row):
    return "\n".join(measures.measurement(PAGE, row).code)


def faults(path):
    rows = [*checks._unregistered(PAGE), *checks._changed_tests(PAGE, path)]
    return [*rows, *checks._function_faults()]


def test_the_code_behind_a_row_is_what_its_value_depends_on(book):
    growth = code("growth")
    for part in ("def lost(run)", "plain.fitted(accuracy=1.0)", "'absorbed'"):
        assert part in growth
    for part in ("label", "plots.RED", "other", "runs", "late"):
        assert part not in growth
    assert "runs[name] = Run(record, name)" in code("a")
    assert "lost(run)" in code("a") and "other = plain.largest" in code("a")
    assert "(plain, plain.last('late'))" in code("late")
    functions = measures.measurement(PAGE, "a").functions
    assert "claimbook.evidence.events:ratio" in functions
    assert "claimbook.evidence.run:Run.fitted" in functions
    assert "claimbook.evidence.events:crossing" in functions  # which `fitted` calls
    assert not any("plots" in name or "claims" in name for name in functions)


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("run.last(LOST) /", "run.largest(LOST) /", {"growth", "a"}),
        ("accuracy=1.0", "accuracy=0.9", {"growth", "a"}),
        ('LOST, UNUSED = "absorbed"', 'LOST, UNUSED = "lost"', {"growth", "a"}),
        ('largest("test_accuracy")', 'last("test_accuracy")', {"best", "a"}),
        ('("a", "b")', '("a", "c")', {"a"}),
        ('"the label"', '"another"', set()),
        ("plots.RED", "plots.BLUE", set()),
        ("# a comment", "", set()),
        ('"""Docstring."""', '"""Another."""', set()),
        ("run.last(LOST) / run", "(\n        run.last(LOST) / run", set()),
        ('last("late")', 'last("early")', set()),  # held to nothing
    ],
)
def test_a_row_has_another_digest_if_its_value_is_computed_otherwise(
    book, old, new, rows
):
    names = ("growth", "best", "a")
    before = {name: measures.measurement(PAGE, name).digest for name in names}
    changed = SOURCE.replace(old, new)
    if new.startswith("(\n"):
        changed = changed.replace(".at(LOST, fit)", ".at(LOST, fit)\n    )")
    assert changed != SOURCE
    book(changed)
    after = {name: measures.measurement(PAGE, name).digest for name in names}
    assert {name for name in names if before[name] != after[name]} == rows


def test_a_measurement_that_changes_after_it_was_registered_is_a_fault(
    book, monkeypatch
):
    """The fault that a review planted in Figure 10: 13.2 became 13.5 in silence."""
    path = book()
    assert any("has no registered measurement" in fault for fault in faults(path))
    assert f"{PAGE} growth" in measures.register([PAGE])
    assert not measures.register([PAGE])
    commit(path)
    assert faults(path) == []
    book(SOURCE.replace("run.last(LOST) /", "run.largest(LOST) /"))
    changed = faults(path)
    assert [fault.partition(":")[0] for fault in changed] == [
        "measures its row 'growth' otherwise than registered",
        "measures its row 'a' otherwise than registered",
    ]
    with pytest.raises(PageError, match=r"give --same REASON .* or --was"):
        measures.register([PAGE])
    measures.register([PAGE], "written more plainly")
    checks.registries.cache_clear()
    monkeypatch.setattr(checks, "_values", lambda *_: {"growth, 0": "13.2"})
    assert faults(path) == []
    entry = measures.registered_rows(PAGE)["growth"]
    assert entry["same"][0]["reason"] == "written more plainly"
    commit(path)
    entry.pop("same")
    entries = {"fig99": measures.registered_rows(PAGE) | {"growth": entry}}
    path.with_name("measurements.yaml").write_text(yaml.safe_dump(entries))
    checks.registries.cache_clear()
    assert faults(path) == [
        "changed the measurement of its row 'growth' without a word"
    ]


def test_an_exchanged_measurement_needs_the_old_test_in_was(book):
    path = book()
    measures.register([PAGE])
    commit(path)
    other = SOURCE.replace("run.last(LOST) /", "run.largest(LOST) /")
    book(other)
    measures.register([PAGE], exchanged=True)
    checks.registries.cache_clear()
    fault = "exchanged the measurement of 'growth' without a word in `was`"
    assert fault in faults(path)
    was = "{planned: it grows, gives: twice, reason: it had to}"
    book(other, CLAIMS.replace("at_least: 2", f"at_least: 2, was: [{was}]"))
    assert fault not in faults(path)


def test_what_is_called_the_same_has_the_same_value_of_every_seed(book, monkeypatch):
    path = book()
    measures.register([PAGE])
    commit(path)
    book(SOURCE.replace("run.last(LOST) /", "run.largest(LOST) /"))
    measures.register([PAGE], "no seed sees it")
    values = {"": {"growth, 0": "13.5"}}
    monkeypatch.setattr(
        checks, "_values", lambda _path, at, _row: values.get(at, {"growth, 0": "13.2"})
    )
    checks.registries.cache_clear()
    fault = (
        "calls two measurements of 'growth' the same, but of growth, 0 13.2 became 13.5"
    )
    assert fault in faults(path)


def test_a_bound_that_moved_in_any_commit_is_seen_for_good(tmp_path, monkeypatch, book):
    """After an unrelated commit too; not in a shallow clone, which says so."""
    path = book()
    measures.register([PAGE])
    commit(path)
    for more in ("", "fig1: {}\n"):
        book(rows=MOVED + more)
        commit(path)
    (fault,) = faults(path)
    assert fault.startswith("changed the test of its row 'growth' in ")
    book(rows=MOVED.replace("at_least: 1.1", f"at_least: 1.1, {SAME}"))
    assert faults(path) == []
    assert checks.history() == ""
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}", clone)
    monkeypatch.setattr(checks, "home", lambda: clone)
    assert "run 'git fetch --unshallow'" in checks.history()


def test_two_branches_that_are_merged_are_no_change_to_and_fro(book):
    """A test was changed, with a word, on one branch, and another row on the other."""
    reworded = MOVED.replace("tested: it grows,", f"tested: it grows a little, {SAME},")
    path = book()
    measures.register([PAGE])
    commit(path)
    git(path.parent, "checkout", "-qb", "other")
    book(rows=reworded)
    commit(path)
    git(path.parent, "checkout", "-q", "-")
    book(rows=CLAIMS + "fig1: {}\n")
    commit(path)
    git(path.parent, "merge", "-q", "--strategy", "ours", "--no-commit", "other")
    book(rows=reworded + "fig1: {}\n")
    commit(path)
    assert faults(path) == []


def test_a_function_of_the_book_behind_a_row_is_registered_too(book, monkeypatch):
    path = book()
    measures.register([PAGE])
    commit(path)
    real = measures._definition
    other = "def ratio(upper, lower):\n    return upper"

    def planted(name):
        return other if name.endswith("events:ratio") else real(name)

    monkeypatch.setattr(measures, "_definition", planted)
    (fault,) = faults(path)
    assert fault.startswith(
        "claimbook.evidence.events:ratio, behind 1 tested rows, is not"
    )


def test_a_row_on_a_column_that_its_runs_would_not_have_has_to_say_so(book):
    """One that no code makes any more, or that its arm does not ask for."""
    source = SOURCE.replace('"absorbed"', '"update_bin.3"')
    book(source)
    stored = [{"id": "growth", "runs": ["fig02|plain"]}]
    stored += [{"id": "a", "runs": ["fig02|other"]}]
    unmade = {"fig02|plain": {"update_bin"}, "fig02|other": {"update_bin"}}
    found_faults = list(checks._unmeasurable(PAGE, stored, unmade))
    assert [fault.partition(",")[0] for fault in found_faults] == [
        "rests its row 'growth' on the column update_bin",
        "rests its row 'a' on the column update_bin",
    ]
    only_other = {"fig02|plain": set(), "fig02|other": {"update_bin"}}
    assert len(list(checks._unmeasurable(PAGE, stored, only_other))) == 1
    for column, fault_count in (("update_bin", 1), ("update_below", 2)):
        row = f"at_least: 2, measured_by: {{{column}: aa0a192}}"
        book(source, CLAIMS.replace("at_least: 2", row))
        assert len(list(checks._unmeasurable(PAGE, stored, unmade))) == fault_count
    assert not list(checks._unmeasurable(PAGE, stored, {"fig02|plain": {"other"}}))


def test_columns_that_an_arm_does_not_ask_for_are_those_of_another_time():
    rows = pd.DataFrame({"arm": "a", "seed": 0, "epoch": [0, 1], "loss.train": 1.0})
    rows["test_top5"], rows["train_accuracy"] = [None, 0.5], 0.5
    arm = Arm("a", *map(Spec, "dmlo"), epochs=1, log=1, observables=("core",))
    record = Record(Experiment("x/y", "paper", (arm,), (0,)), rows, {}, {})
    assert checks._unmade(record) == {"x/y|a": {"loss", "test_top5"}}
    asked = replace(arm, rarely=(1, ("top5",)))
    wider = replace(record, experiment=replace(record.experiment, arms=(asked,)))
    assert "test_top5" not in checks._unmade(wider)["x/y|a"]


def test_a_row_that_a_page_does_not_have_is_named():
    with pytest.raises(UnknownName, match="unknown row of prieto2025/fig10 'grwth'"):
        measures.find("prieto2025/fig10", "grwth")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a\na: {x: 1}\n\n# b\nb:\n  y: 2\n",
        "a: &k {x: 1}\nb: *k\n",
        "a: 'x\nb: y'",
    ],
)
def test_a_version_read_in_parts_is_what_it_is_as_a_whole(text):
    parts = {}
    for _ in range(2):  # then from the parts that are known
        assert checks._parsed(text, parts) == (yaml.safe_load(text) or {})
