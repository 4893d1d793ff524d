"""Bad requests run nothing, failing pages replace nothing, drift is found; reruns are
compared with the book."""

import datetime
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from helpers import arm, experiment
from pandas import DataFrame
from test_measures import commit, git

from book import __main__ as tools
from book._ext import catalogue, checks, notebooks, pages, reruns
from book._ext.entries import entries
from claimbook import change, tables
from claimbook.claims.verdict import entry_fields
from claimbook.errors import BookError, PageError, RecordError
from claimbook.experiment import Experiment, Spec
from claimbook.project import CLAIMS_MIME, FIGURE_MIME, paper_titles
from claimbook.records import Record

PROJECT = Path(__file__).parents[1] / "book" / "project.yaml"

PAGE = """\
# %% [markdown]
# # [Prieto et al. 2025 · Figure 1]{.kicker} Two and two is four

# %% tags=["parameters"]
seeds = "two"
retrain = False

# %%
print(seeds, retrain)
import sys
print("1 of 1 trained" * retrain, end="\\n" * retrain, file=sys.stderr)

# %% tags=["hide-input"]
#| name: fig-line
#| caption: >
#|   A line,
#|   and no more.
#| alt: "A line: flat."
#| fold: "Code: draw"
import base64

from IPython.display import display

png, figure = "PNG", {"sha256": "0"}
figure = {"application/vnd.grokbook.figure+json": figure, "image/png": png}
display(figure | {"text/plain": "figure"}, raw=True)

# %%
claim = {"statement": "2 + 2 = 4", "quote": "it is four", "where": "Section 1"}
claim |= {"id": "sum", "ours": "4", "n": 3, "interval": "", "holds": True, "main": True}
claim |= {"verdict": "holds", "extra": False, "same_as": ""}
claim |= {"reads": "The sum is 4", "runs": [], "held": 3, "leads": False}
claims = {"page": "prieto2025/fig01", "scale": "paper", "verdict": "holds"}
cited = [{"name": "prieto2025/fig01", "sha256": "0"}]
claims |= {"claims": [claim], "registered": "0", "read": [READ], "cited": cited}
bundle = {"application/vnd.grokbook.claims+json": claims}
display(bundle | {"text/plain": "4"}, raw=True)
"""
ID = "prieto2025/fig01"
TWIN = "prieto2025/fig01_sum.ipynb"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
READ = {"record": "prieto2025/fig01c", "asked": "best", "arms": ["a"]}
READ |= {"scale": "paper", "planned": "as it is"}
PAGE = PAGE.replace("PNG", PNG).replace("READ", repr(READ))


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The page executed once, as text; tests work on copies."""
    with pytest.MonkeyPatch.context() as patch:
        root = lay_out(tmp_path_factory.mktemp("book"), patch)
        pages.execute([ID])
        return (root / "book" / TWIN).read_text()


@pytest.fixture
def book(tmp_path, monkeypatch, executed):
    """A book of one executed page whose record is in order; returns its folder."""
    root = lay_out(tmp_path, monkeypatch)
    (root / "book" / TWIN).write_text(executed)
    store(monkeypatch)
    return root / "book"


def store(monkeypatch, cited="0", **changed):
    """What the store says of the page's record and reference from now on."""
    rows = DataFrame({"arm": [], "seed": [], "epoch": []})
    empty = Record(Experiment("prieto2025/fig01c", "paper", (), ()), rows, {}, {})
    checks._loaded.cache_clear()
    monkeypatch.setattr(checks.papers, "best", lambda *_: empty.experiment)
    monkeypatch.setattr(checks.papers, "record", lambda *_, **__: empty)
    now = lambda *_, **__: READ | changed  # noqa: E731
    monkeypatch.setattr(checks.evidence, "record_identity", now)
    monkeypatch.setattr(checks.evidence, "source", lambda _: {"sha256": cited})
    monkeypatch.setattr(checks.evidence, "reference", lambda _: None)


def lay_out(root, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(root))
    (root / "book/prieto2025").mkdir(parents=True)
    (root / "book/prieto2025/fig01_sum.py").write_text(PAGE)
    shutil.copy2(PROJECT, root / "book")
    entry = {"title": "A title", "thesis": "A thesis"}
    landing = dict.fromkeys(paper_titles(), entry)
    (root / "book/landing.yml").write_text(json.dumps(landing))
    toc = f"root: intro\nparts:\n- chapters:\n  - file: {TWIN}\n"
    (root / "_toc.yml").write_text(toc)
    return root


def edit(book, change, suffix=".ipynb"):
    """Apply `change` to the notebook (in place) or to the text of the source."""
    path = (book / TWIN).with_suffix(suffix)
    if suffix == ".py":
        path.write_text(change(path.read_text()))
        return
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


def test_a_page_in_order_is_executed_without_noise(book, executed, monkeypatch):
    assert checks.check() == []
    notebook = nbformat.reads(executed, as_version=4)
    assert notebook.cells[2].outputs[0]["text"] == "two False\n"
    assert "papermill" not in executed and "injected-parameters" not in executed
    shown = notebooks.display_options(notebook.cells[3])
    assert shown["figure"] == {"name": "fig-line", "caption": "A line, and no more."}
    assert shown["image"] == {"alt": "A line: flat."}
    assert shown["code_prompt_show"] == "Code: draw"
    assert notebooks.heading(notebook)[1] == "Two and two is four"
    # its own modules may lie in the working directory, or beside it on PYTHONPATH
    for name in ("mine", "also/yours"):
        module = book.parent / f"{name}.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text("")
    monkeypatch.chdir(book.parent)
    monkeypatch.setenv("PYTHONPATH", "also")
    edit(
        book, lambda text: text.replace("import sys", "import mine, yours, sys"), ".py"
    )
    (written,) = pages.execute([ID], {"seeds": "3", "retrain": "True"})
    edit(book, lambda text: text.replace("mine, yours, ", ""), ".py")
    assert written == book.parent / "_build/reruns/prieto2025/fig01.ipynb"
    assert "3 True" in written.read_text()
    assert (book / TWIN).read_text() == executed
    pages.execute([ID])
    again = nbformat.reads((book / TWIN).read_text(), as_version=4)
    assert again.cells == notebook.cells


def test_a_bad_request_runs_nothing(book, monkeypatch):
    monkeypatch.setattr(pages, "_execute", lambda *job: pytest.fail("it ran"))
    for request, sentence in (
        ((["prieto2025/fig1"],), "unknown page 'prieto2025/fig1': use one of prieto"),
        (
            ([ID], {"seed": 1}),
            "parameter of page prieto2025/fig01 'seed': use one of seeds",
        ),
        (([ID], {"retrain": "yes"}), "takes 'retrain' as it has False, not 'yes'"),
    ):
        with pytest.raises(BookError) as error:
            pages.execute(*request)
        assert sentence in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(NotADirectoryError):  # told before anything trains
        pages.execute([ID], {"retrain": True}, pages.find(ID))


IDEA = """\
# %% [markdown]
# ## The idea
# A {term}`loss <losses>`, [there](fig02.ipynb).
#
# ```{include} ../explorables/x.md
# ```

"""


def test_what_a_page_trains_is_changed_in_a_cell_of_its_own(book, monkeypatch):
    for name in ("defaults.json", "keys.json"):
        shutil.copy2(PROJECT.with_name(name), book)
    plain = experiment(arm("a"), arm("b"))
    monkeypatch.setattr(pages.papers, "get", lambda *_: plain)
    jobs = []

    def run(page_id, notebook, values):
        jobs.append((notebook, values))
        raise PageError("stopped")

    monkeypatch.setattr(pages, "_run", run)
    source = (book / TWIN).with_suffix(".py")
    text = source.read_text().replace('seeds = "two"', 'scale = "best"')
    source.write_text(text.replace("# %%\nprint(", f"{IDEA}# %%\nprint(", 1))
    right = {"set": "optimizer.lr=0.3", "arms": "a*"}
    for parameters_given, sentence in (
        ({"set": "optimizer.rate=1"}, "'optimizer.rate': use one of optimizer"),
        (
            {"arms": "a*"},
            "no setting is given: .*; ARMS only says which arms SET changes",
        ),
        ({"set": "epochs=30"}, "epochs is 30 already"),
        ({"scale": "smol"}, "unknown scale 'smol': use one of smoke, paper, laptop"),
        (right, "stopped"),
    ):
        with pytest.raises(BookError, match=sentence):
            pages.execute([ID], parameters_given)
    ((notebook, values),) = jobs
    assert values == {"scale": "laptop", "retrain": True}
    title, parameters, changed, idea, *_ = notebook.cells
    # without roles, links and fences, which only the book can show
    assert idea.source.strip() == "## The idea\nA loss, there."
    assert title.source == (
        "# Prieto et al. 2025 · Figure 1: a rerun at laptop scale with "
        "optimizer.lr = 0.3 (arms a*)"
    )
    assert "parameters" in notebooks.tags(parameters)
    monkeypatch.setattr(pages, "_execute", lambda *job: None)
    for parameters_given, name in (
        ({"scale": "best"}, "fig01"),
        ({"scale": "smoke"}, "fig01 smoke"),
        ({"retrain": "True"}, "fig01 laptop"),
        (right | {"scale": "best"}, "fig01 laptop optimizer.lr=0.3 a_"),
        (right, "fig01 laptop optimizer.lr=0.3 a_"),
    ):
        (written,) = pages.execute([ID], parameters_given)
        assert written.name == f"{name}.ipynb"
    exec(changed.source, {})
    assert change.in_use.settings == {"optimizer.lr": 0.3}
    assert [*change.in_use.arms] == ["a*"]


RESULTS = '''\
# %% [markdown]
# # [Figure 1]{.kicker} It grows
#
# It surely grows.

# %% [markdown]
# ## The idea
# A theorem.

# %%
#| caption: It grew.
if True:
    assert value == (
        1
    )
    print("drawn")
sheet.box(f"It grew to {value}.")
tables.prose(f"""
So it did, {value} times.
""")

# %% [markdown]
# ## The claims
# It grew at 0.05.

# %% [markdown]
# Twice.
'''


def test_a_rerun_has_nothing_that_was_written_for_the_books_result(tmp_path):
    """Nor does it evaluate it: a value may be none, and an assertion false."""
    path = tmp_path / "page.py"
    path.write_text(RESULTS)
    notebook = notebooks.read_source(path)
    notebooks.drop_findings(notebook, "laptop")
    title, idea, code = notebook.cells
    assert title.source == "# Figure 1: a rerun at laptop scale"
    assert idea.source == "## The idea\nA theorem."
    assert code.source == (
        "#| caption: It grew.\nif True:\n    pass\n"
        '    print("drawn")\nsheet.box()\npass\n'
    )
    assert "caption" not in notebooks.display_options(code)["figure"]


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [
        ("#| captoin: x", "option `#.` in cell 1 of .* 'captoin': use one of caption"),
        (
            "#| alt: a\n#| alt: b",
            "cell 1 of .* line 2 has the key 'alt' of line 1 once",
        ),
        ("#| alt: [a]", r"in cell 1 of .*, alt is \['a'\]: write text"),
        ("<<<<<<< HEAD", "fig01_sum.py, line 5, is of a conflict in git: resolve it"),
        ("print(", "fig01_sum.py, line 5, is no Python: '\\(' was never closed"),
    ],
)
def test_what_cannot_be_read_in_a_source_is_one_sentence(book, cell, pattern):
    edit(book, lambda text: f"# %% [markdown]\n# A\n\n# %%\n{cell}\n", ".py")
    (fault,) = checks.check()
    assert re.search(pattern, fault) and "\n" not in fault


def test_a_failing_cell_replaces_nothing(book, executed):
    edit(book, lambda text: text.replace("print(seeds", "print(1 / 0, seeds"), ".py")
    with pytest.raises(PageError) as error:
        pages.execute([ID])
    sentence = str(error.value)
    assert sentence.startswith(f"Page {ID} failed in cell 2 ('print(1 / 0, seeds")
    assert sentence.endswith(
        "ZeroDivisionError: division by zero; nothing was replaced."
    )
    assert (book / TWIN).read_text() == executed
    assert {p.suffix for p in (book / "prieto2025").iterdir()} == {".py", ".ipynb"}


def test_an_edited_twin_is_refused_and_says_how_its_edits_are_kept(book):
    edit(book, lambda nb: nb.cells[2].update(source="print(0)"))
    before = (book / TWIN).read_text()
    with pytest.raises(PageError, match=r"was edited .*'jupytext --to py:per"):
        pages.execute([ID])
    assert (book / TWIN).read_text() == before


ERROR = nbformat.v4.new_output("error", ename="E", evalue="no")
FAULTS = {  # what is said of a twin <- a change of its cells
    "has a cell that was never executed": lambda c: c[2].update(execution_count=None),
    "holds an error output": lambda c: c[2].update(outputs=[ERROR]),
    "differs between its .py and its .ipynb": (
        lambda c: c[3].metadata["mystnb"]["figure"].update(caption="Another.")
    ),
    "does not begin with '# [Prieto et al. 2025 · Figure 1]{.kicker} The f": (
        lambda c: c[0].update(source="# Figure 1: a sum")
    ),
    "shows no claims": lambda c: c[4].update(outputs=[]),
    "has a figure without a line '#| alt:' ('display(figure": (
        lambda c: c[3].metadata["mystnb"].pop("image")
    ),
    "has a figure not shown by plots.show ('display(figure": (
        lambda c: c[3].outputs[0]["data"].pop(FIGURE_MIME)
    ),
    "is not as its execution left it (written)": lambda c: c[2].update(source="1"),
    "is not as its execution left it (shown)": (
        lambda c: c[3].outputs[0]["data"].update({"image/png": "iVBORw0KGgo="})
    ),
    "kB; 610 are allowed": lambda c: c[2].outputs[0].update(text="x" * checks.LARGEST),
}


def test_every_fault_of_a_twin_is_found(book, executed):
    for fault, damage in FAULTS.items():
        edit(book, lambda notebook, damage=damage: damage(notebook.cells))
        assert any(fault in problem for problem in checks.check()), fault
        (book / TWIN).write_text(executed)
    assert checks.check() == []


def test_drift_of_source_contents_record_and_reference_is_found(book, monkeypatch):
    again = f"run 'python -m book execute {ID}'."

    def refuse(*_, **__):
        raise RecordError("fig01 is stale")

    for changed, fault in (
        (
            {"scale": "laptop", "planned": "otherwise"},
            "read prieto2025/fig01c when its scale and planned were others",
        ),
        ({"cited": "1"}, "cites another prieto2025/fig01 than there is now"),
    ):
        store(monkeypatch, **changed)
        assert checks.check() == [f"Page {ID} {fault}: {again}"]
    store(monkeypatch)
    claims = book / "prieto2025" / "claims.yaml"
    claims.write_text("fig01: {sum: {tested: 2 + 2 = 5, registered: 2026-01-01}}\n")
    (fault,) = checks.check()
    assert fault.startswith(f"Page {ID} was executed with other claims than are re")
    claims.unlink()
    with monkeypatch.context() as patch:
        checks._loaded.cache_clear()
        patch.setattr(checks.papers, "record", refuse)
        fault = "rests on what cannot be used (fig01 is stale)"
        assert checks.check() == [f"Page {ID} {fault}: {again}"]
    edit(book, lambda text: text.replace("print(seeds", "print(0, seeds"), ".py")
    assert "differs between its .py and its .ipynb" in checks.check()[0]
    (book.parent / "_toc.yml").write_text("root: intro\n")
    faults = " ".join(checks.check())
    assert f"is not in _toc.yml: add 'file: {TWIN}'" in faults
    (book / TWIN).unlink()
    assert f"book/{TWIN} is missing: {again}" in checks.check()


def test_a_page_beyond_the_paper_is_no_figure_of_it(book):
    for kind in ("py", "ipynb"):
        text = (book / f"prieto2025/fig01_sum.{kind}").read_text()
        text = text.replace("fig-line", "fig-causes").replace("Two and", "Why two and")
        text = text.replace("2025 · Figure 1]", "2025 · beyond the paper]")
        (book / f"prieto2025/causes.{kind}").write_text(text)
    nb = nbformat.read(causes := book / "prieto2025/causes.ipynb", as_version=4)
    nb.metadata["grokbook"]["written"] = notebooks.written_digest(nb)
    nbformat.write(nb, causes)
    toc = book.parent / "_toc.yml"
    toc.write_text(f"{toc.read_text()}  - file: prieto2025/causes.ipynb\n")
    assert list(pages.sources()) == [ID, "prieto2025/causes"]
    assert checks.check() == [
        f"Page prieto2025/causes shows the claims of {ID} (write 'causes:' with its "
        "own into book/prieto2025/claims.yaml, and its id into `evidence.Page`): run "
        "'python -m book execute prieto2025/causes'."
    ]
    catalogue.write(entries())
    texts = {p.stem: p.read_text() for p in (book / "generated").rglob("*.md")}
    assert "1 figures and tables and 1 page beyond them." in texts["papers"]
    picture = "![Its first plot](/generated/thumbnails/prieto2025/causes.png)"
    assert f"* [{picture} Causes](/prieto2025/causes.ipynb)" in texts["prieto2025"]
    assert "  Why two and two is four <span" in texts["prieto2025"]
    assert 'href="../prieto2025/causes.html#claim-sum"' in texts["scoreboard"]


def test_a_misspelt_key_of_a_page_does_not_hide_the_faults_of_another(book):
    for kind in ("py", "ipynb"):
        text = (book / f"prieto2025/fig01_sum.{kind}").read_text()
        (book / f"prieto2025/fig02_sum.{kind}").write_text(text)
    rows = "fig01: {sum: {testd: 2 + 2 = 5, registered: 2026-01-01}}\n"
    (book / "prieto2025" / "claims.yaml").write_text(rows)
    misspelt, *others = checks.check()
    assert "page fig01, row 'sum': 'testd'" in misspelt
    assert any(
        "Page prieto2025/fig02 is not in _toc.yml" in problem for problem in others
    )


def test_a_title_is_one_finding_under_its_place():
    assert pages.kicker("singh2026/tab02") == "Singh et al. 2026 · Table 2"
    assert pages.kicker("liu2026/causes") == "Liu et al. 2026 · beyond the paper"
    assert pages.kicker("basics/grokking") == "Start here"
    assert pages.kicker("remedies/addition") == "Remedies × tasks"
    for page_id, path in pages.sources().items():
        title = notebooks.heading(notebooks.read_source(path))[1]
        assert not re.search(r";|\bseeds?\b|\bonce\b$|\(", title), f"{page_id}: {title}"


def test_a_test_is_not_exchanged_in_silence(monkeypatch):
    """Bounds and words of what was run and held to something, and what else decides a
    verdict; told by `was` or `same`."""
    row = {"tested": "it is", "above": 1}
    complete = {"planned": "it is", "gives": "it was", "reason": "it had to"}
    of_another = complete | {"planned": "another test"}
    listed = {"tested": "it is"}
    without_reason = {"planned": "it is", "gives": "x", "reason": ""}
    for new, old, today, fault_count in (
        (row | {"above": 2}, row, {}, 1),
        (row | {"tested": "it was"}, row, {}, 1),
        (row | {"show": "{}"}, row, {}, 0),
        (row | {"above": 2, "was": [complete]}, row, {}, 0),
        (row | {"above": 2, "was": [without_reason]}, row, {}, 1),
        (row | {"above": 2, "was": [{}]}, row, {}, 1),
        (row | {"above": 3, "was": [of_another]}, row | {"was": [of_another]}, {}, 1),
        (row | {"says": "b"}, row | {"says": "a"}, {}, 1),
        (row | {"main": True}, row, {}, 1),
        (row, row | {"main": True}, {}, 0),  # another row has become the main one
        (row | {"run": False}, row, {}, 1),
        (row | {"extra": True}, row, {}, 1),
        (row | {"same_as": "fig02"}, row, {}, 1),
        (row | {"by_construction": "why"}, row, {}, 1),
        (row | {"by_construction": "why", "was": [complete]}, row, {}, 0),
        (row | {"above": 2}, row | {"run": False}, {}, 0),
        (row | {"above": 2}, {"tested": "it is"}, {}, 0),  # was held to nothing
        (row | {"tested": "it was"}, row, {"same": [listed]}, 0),
        (row | {"above": 2}, row, {"was": [complete]}, 0),  # told by a later commit
    ):
        versions_of_rows = [("", {"a": new | today, "b": row}), ("1a", {"a": new})]
        versions_of_rows += [("2b", {"a": old}), ("3c", {})]
        monkeypatch.setattr(
            checks,
            "_versions",
            lambda path, _, versions=versions_of_rows: (
                versions * (path.name == "claims.yaml")
            ),
        )
        monkeypatch.setattr(checks, "_recent_commits", lambda _: {"", "1a"})
        faults = list(checks._changed_tests(ID, Path("book/prieto2025/fig01_sum.py")))
        assert len(faults) == fault_count, (new, old, faults)


def test_a_row_that_was_gone_for_a_while_is_the_same_row(monkeypatch):
    """Taken out by one commit and put back by another, with another bound or code."""
    page = Path("book/prieto2025/fig01_sum.py")
    known = {"measure": "new", "same": [], "was": []}
    monkeypatch.setattr(checks.measures, "registered_rows", lambda _: {"a": known})
    test = {"tested": "it is", "above": 2}
    for name, new, old, fault in (
        ("claims.yaml", test, test | {"above": 1}, "changed the test of its row 'a'"),
        ("measurements.yaml", "new", "old", "changed the measurement of its row 'a'"),
    ):
        versions = [
            ("", {"a": new}),
            ("2b", {"a": new}),
            ("3c", {}),
            ("4d", {"a": old}),
        ]
        monkeypatch.setattr(
            checks,
            "_versions",
            lambda path, _, rows=versions, file=name: rows * (path.name == file),
        )
        (problem,) = checks._changed_tests(ID, page)
        assert problem.startswith(fault)


def test_pages_with_other_numbers_than_at_a_commit(book, capsys):
    git(book.parent, "init", "-q")
    commit(book)
    assert tools.main(["changed", "HEAD"]) == 0
    edit(book, lambda notebook: claim_of(notebook).update(ours="5"))
    assert tools.main(["changed", "HEAD"]) == 0
    assert capsys.readouterr().out.split() == [ID]
    assert tools.main(["changed", "v9"]) == tools.main(["changed", "a\0"]) == 1
    assert "git has no commit 'v9' here" in capsys.readouterr().err


def claim_of(notebook):
    (claim,) = notebook.cells[-1].outputs[0]["data"][CLAIMS_MIME]["claims"]
    return claim


@pytest.fixture
def ran(book, executed, monkeypatch):
    """A rerun of the page, as the execution would leave it.

    What it trained are two arms that differ in their learning rate, with 0.02 in both.
    """
    for name in ("defaults.json", "keys.json"):
        shutil.copy2(PROJECT.with_name(name), book)
    arms = [arm(f"lr {rate}", optimizer=Spec("adamw", lr=rate)) for rate in (0.01, 0.1)]
    read_only = arm("read only", epochs=9, optimizer=Spec("adamw", lr=9.0))
    trained = experiment(*arms, read_only)
    monkeypatch.setattr(pages, "experiments", lambda *_: [trained])
    changed = change.read("optimizer.lr=0.02").of(trained).arms[:2]
    notebook = nbformat.reads(executed, as_version=4)
    closing = notebook.cells[-1].outputs[0]["data"][CLAIMS_MIME]
    members = {f"{one.name}|0": one.training_key for one in changed}
    closing["read"][0]["members"] = members
    path = book.parent / "_build" / "reruns" / "prieto2025" / "fig01.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    return path


@pytest.mark.filterwarnings("ignore")
def test_a_rerun_says_what_was_trained_and_how_it_came_out(ran, capsys):
    words = ["execute", ID, "-p", "retrain", "True", "-p", "seeds", "3"]
    assert tools.main(words) == 0
    out, err = capsys.readouterr()
    assert err == "1 of 1 trained\n"  # what the kernel says meanwhile
    written, summary, _ = out.splitlines()
    assert Path(written).is_file()
    assert summary.startswith("Of 1 claims 1 come out as in the book, 0 otherwise")
    assert tools.main(["execute", "prieto2025/fig9"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("book: unknown page 'prieto2025/fig9': use ")
    assert tools.main(["check", "prieto2025"]) == 1
    assert tools.main(["measure", "a/b/c", "x"]) == 2
    err = capsys.readouterr().err
    assert "unknown page 'prieto2025': use" in err and "'a/b/c': use" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["execute", ID, "--out", ""], "'' is empty"),
        (["execute", ID, "--out", "a\0b"], "has NUL"),
        (["race", ""], "'' is empty"),
        (["race", "mine.py", "--processes=-1"], "'-1' is not a number of processes"),
    ],
)
def test_values_that_the_tools_refuse(words, sentence, capsys):
    with pytest.raises(SystemExit) as stop:
        tools.main(words)
    assert stop.value.code == 2 and sentence in capsys.readouterr().err


def rewritten(path, scale="laptop", **changes):
    """A rerun whose claim and the scale of its record were changed."""
    notebook = nbformat.read(path, as_version=4)
    data = notebook.cells[4].outputs[0]["data"][CLAIMS_MIME]
    data["read"][0]["scale"] = scale
    data["claims"][0].update(changes)
    nbformat.write(notebook, path)
    return list(reruns.compare(path))


def test_what_differs_is_marked_whatever_the_scale(ran):
    assert list(reruns.compare(ran)) == [
        "Of 1 claims 1 come out as in the book, 0 otherwise; 0 cannot be compared.",
        "2 + 2 = 4 | 4 (n = 3), holds | 4 (n = 3), holds | agrees",
    ]
    for verdict, mark in (
        ("holds, one seed, small", "agrees"),
        ("mixed, small", "differs"),
        ("fails, one seed, small", "differs"),
        ("not run", ""),
    ):
        line = rewritten(ran, verdict=verdict, ours="5", n=1)[-1]
        assert line.endswith(f"| 5 (n = 1), {verdict} | {mark}")
    # one seed is not mixed by itself, so that nothing is told
    notebook = nbformat.read(pages.find(ID).with_suffix(".ipynb"), as_version=4)
    claim_of(notebook)["verdict"] = "mixed"
    nbformat.write(notebook, pages.find(ID).with_suffix(".ipynb"))
    assert rewritten(ran, verdict="holds, one seed", n=1)[-1].endswith("one seed | ")
    assert rewritten(ran, verdict="holds, two seeds", n=2)[-1].endswith("| differs")
    # at smoke scale there is nothing to compare
    lines = rewritten(ran, scale="smoke", verdict="seen at reduced scale")
    assert lines == [reruns.SMOKE]


def test_a_changed_setting_is_compared_in_the_notebook_too(ran):
    notebook = nbformat.read(ran, as_version=4)
    notebook.metadata["grokbook"]["parameters"] = {"set": "optimizer.lr=0.02"}
    levelled = (
        "optimizer.lr was 0.01 to 0.1 in these arms, and is 0.02 in all of them now."
    )
    figure = notebook.cells[3].outputs[0]["data"]
    figure[FIGURE_MIME] = {"sha256": "1"}
    for verdict, ours, changed in (
        ("holds, small", "4", "nothing"),
        ("holds, small", "5", "the value alone"),
        ("fails, one seed", "5", "holds → fails"),
        ("cannot tell", "—", "cannot be compared"),
    ):
        nbformat.write(notebook, ran)
        assert rewritten(ran, verdict=verdict, ours=ours) == [
            "With optimizer.lr = 0.02:",
            levelled,
            "claim | book (paper) | yours (paper) | changed",
            f"2 + 2 = 4 | 4 (n = 3), holds | {ours} (n = 3), {verdict} | {changed}",
        ]
    written = nbformat.read(ran, as_version=4)
    assert "<td>cannot be compared</td>" in written.cells[1].source
    assert written.cells[1].source.startswith(levelled)
    drawn, words, of_book = written.cells[4].outputs
    assert words["text"] == "The figure of the book:\n"
    assert of_book["data"]["image/png"] == drawn["data"]["image/png"]
    # no picture of the book where its curves are in the reader's, or nothing changed
    for shown in ({"sha256": "1", "has_book": True}, {"sha256": "0"}):
        figure[FIGURE_MIME] = shown
        nbformat.write(notebook, ran)
        rewritten(ran)
        assert len(nbformat.read(ran, as_version=4).cells[4].outputs) == 1
    nbformat.write(notebook, ran)
    assert rewritten(ran, scale="smoke")[-1] == reruns.SMOKE


def test_a_rerun_is_compared_with_the_book_at_its_own_scale(ran, monkeypatch):
    """If it has a record there, and the page can be executed from it."""
    notebook = nbformat.read(ran, as_version=4)
    notebook.metadata["grokbook"]["parameters"] = {"scale": "laptop"}
    claim_of(notebook)["verdict"] = "fails, small"

    def execute(page_ids, parameters, out):
        assert (page_ids, parameters) == ([ID], {"scale": "laptop"})
        nbformat.write(notebook, out / "fig01.ipynb")
        return [out / "fig01.ipynb"]

    def fail(*_):
        raise PageError("it lacks an arm")

    nbformat.write(notebook, ran)
    asked = {"set": "optimizer.lr=0.02", "scale": "laptop"}
    both = "book (paper) | changed (scale too)"
    for arms, run, place, head in (
        ({"lr 0.01"}, execute, "laptop scale, 0", "book (laptop) | changed"),
        (set(), execute, "paper scale, 1", both),
        ({"lr 0.01"}, fail, "paper scale, 1", both),
    ):
        monkeypatch.setattr(reruns.records, "recorded_arms", lambda _, arms=arms: arms)
        monkeypatch.setattr(pages, "execute", run)
        notebook.metadata["grokbook"]["parameters"] = {"scale": "laptop"}
        nbformat.write(notebook, ran)
        summary = next(reruns.compare(ran))
        assert f"come out as in the book at {place} otherwise" in summary
        notebook.metadata["grokbook"]["parameters"] = asked
        nbformat.write(notebook, ran)
        _, _, line, _ = reruns.compare(ran)
        assert line.replace(" | yours (laptop)", "") == f"claim | {head}"


def test_claims_are_matched_by_the_id_that_they_are_registered_under(ran):
    _, row = rewritten(ran, statement="2 + 2 = 4, with arm b")
    assert row.startswith("2 + 2 = 4 | 4")
    assert row.endswith("; tested there: 2 + 2 = 4, with arm b | agrees")
    summary, *rows = rewritten(ran, id="another")
    assert [row.rpartition("| ")[2] for row in rows] == ["", ""]
    assert summary.startswith("Of 2 claims 0") and "2 cannot be compared" in summary


DEEP = "[" * 100_000
CONFLICT = "<<<<<<< HEAD\n{{}}\n=======\n{}\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    "damaged",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: '{"cells": [1]}',
        lambda text: text.replace('"grokbook": {', '"grokbook": [], "other": {'),
        lambda text: DEEP,
        CONFLICT.format,
    ],
    ids=[
        "cut",
        "empty",
        "a list",
        "no cells",
        "other cells",
        "about a list",
        "deep",
        "conflict",
    ],
)
def test_a_damaged_twin_is_one_sentence(book, damaged):
    path = book / TWIN
    path.write_text(damaged(path.read_text()))
    (problem,) = checks.check()
    assert problem == f"book/{TWIN} is no notebook any more: delete it and " + (
        f"run 'python -m book execute {ID}'."
    )
    with pytest.raises(PageError, match="is no notebook any more"):
        pages.execute([ID])


def test_a_conflict_in_a_text_is_one_sentence(book):
    path = book / "lectures" / "1-sums.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("# Sums\n" + CONFLICT.format("Two", "Three"))
    sentence = f"{path}, line 2, is of a conflict in git: resolve it."
    assert sentence in checks.check()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "landing.yml is not YAML: while parsing a flow node"),
        ("prieto2025: {}", "is not of the papers prieto2025, singh2026"),
        ("3", "landing.yml is 3: write names with values"),
        ({"title": 3}, "landing.yml, prieto2025, title is 3: write text, in quotes"),
        ({"thesi": "It"}, "key in book/landing.yml, prieto2025: 'thesi': use one of"),
        ({"thesis": None}, "landing.yml, prieto2025, thesis is None: write text"),
        ({"thesis": "Here all of 4 runs do."}, "prieto2025, says '4 runs', and no"),
    ],
)
def test_a_wrong_landing_page_is_one_sentence(book, text, sentence):
    path = book / "landing.yml"
    if isinstance(text, dict):
        landing = json.loads(path.read_text())
        landing["prieto2025"] |= text
        text = json.dumps(landing)
    path.write_text(text)
    (problem,) = checks.check()
    assert sentence in problem and "\n" not in problem


def test_a_number_among_the_settings_is_one_sentence(book):
    path = book / "prieto2025/settings.yaml"
    for text, sentence in (
        ("paper: {lr: 777}", "paper, lr is 777: write text, in quotes"),
        ("list: [[lr, 777]]", "list, 1, 2 is 777: write text"),
        ("list: [777]", "list, 1 is 777: write a list"),
        ("notes: 7", "notes is 7: write names with values"),
        ("code: {lr: [7]}", r"code, lr is \[7\]: write text"),
    ):
        path.write_text(f"fig01: {{{text}}}")
        with pytest.raises(BookError, match=f"settings.yaml, page fig01, {sentence}"):
            tables.experiment.settings_of(ID)
    path.write_text("fig01:")
    with pytest.raises(BookError, match="page fig01 is None: write names with values"):
        tables.experiment.settings_of(ID)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("at_least", "two", "at_least is 'two': write a number"),
        ("at_least", True, "at_least is True: write a number"),
        ("at_least", float("nan"), "at_least is nan: write a number"),
        ("main", "maybe", "main is 'maybe': write true or false"),
        ("says", 5, "says is 5: write text, in quotes"),
        ("registered", "soon", "registered is 'soon': write a day, as in 2026-11-22"),
        ("was", 5, "was is 5: write a list"),
        ("was", [5], "was, 1 is 5: write names with values"),
        ("measured_by", ["a"], r"measured_by is \['a'\]: write names with values"),
    ],
)
def test_a_row_with_a_value_of_another_type_is_one_sentence(key, value, sentence):
    row = {"tested": "it grows", "registered": datetime.date(2026, 11, 28)}
    assert entry_fields(ID, "grows", row)
    with pytest.raises(
        BookError, match=f"claims.yaml, page fig01, row 'grows', {sentence}"
    ):
        entry_fields(ID, "grows", row | {key: value})


def test_experiments_that_were_changed_since_the_table_beside_the_records(
    book, monkeypatch
):
    (book / "prieto2025/experiments.py").touch()
    monkeypatch.setattr(checks.papers, "every", list)
    sentence = "data/records/experiments.jsonl is of other experiments: run 'python -m"
    (book.parent / "data/records").mkdir(parents=True)
    table = book.parent / "data/records/experiments.jsonl"
    table.write_text("{}\n")
    (problem,) = checks.check()
    assert problem.startswith(sentence)
    table.write_text("")
    assert checks.check() == []
