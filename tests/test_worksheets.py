"""Worksheets: the class gets no solution, and both copies run twice, without a network.

A cell that is run again finds what later cells have made, as in a student's notebook.
"""

import ast
import re
import socket
import subprocess
import symtable
import sys
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from book._ext import handouts, notebooks, pages
from claimbook.project import home, records_folder

SHEETS = handouts.worksheets()
PARTS = ["question", "predict", "draw", "measure", "judge"]
LONGEST = 15  # seconds of a pass through a worksheet
SMALL = 1_300_000  # bytes of its tables
ABSENT = ("torch", "grokbook", "claimbook", "seaborn")


def code(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def run(cells, passes=1):
    """Run cells from top to bottom in one namespace, several times; CPU seconds."""
    namespace, begun = {"__name__": "__main__"}, time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        for source in cells * passes:
            exec(compile(source, "<cell>", "exec"), namespace)
    plt.close("all")
    return time.process_time() - begun


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A folder of its own, no network, and neither torch nor the book's packages."""

    def refused(*_, **__):
        raise AssertionError("a worksheet asked for the network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for name in ("create_connection", "getaddrinfo", "socket"):
        monkeypatch.setattr(socket, name, refused)
    for module in [*sys.modules, *ABSENT]:
        if module.partition(".")[0] in ABSENT:
            monkeypatch.setitem(sys.modules, module, None)  # importing it raises


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.stem)
def test_a_worksheet_runs_twice_with_solutions_and_once_without(path, request):
    """Its solutions assert the numbers that the teacher's text names."""
    files = handouts.worksheet_tables(path)
    teacher, pupil = (
        code(handouts.worksheet_handout(path, solutions=solutions, files=files))
        for solutions in (True, False)
    )
    assert sum("assert " in source for source in teacher[1:]) >= 1
    assert sum(map(len, files.values())) < SMALL
    request.getfixturevalue("alone")
    with pytest.raises(ImportError):
        run(["import claimbook.papers"])
    for name, content in files.items():
        Path(name).write_bytes(content)
    assert run(teacher, passes=2) < 2 * LONGEST
    run(pupil)


@pytest.mark.usefixtures("alone")
def test_a_worksheet_says_what_it_lacks(monkeypatch, tmp_path):
    """No table, another one, none on the site, no pandas: one sentence each."""
    name, content = "01_waiting_runs.csv", b"epoch\n1\n"

    def said(site=""):
        first = handouts.worksheet_handout(
            SHEETS[0], solutions=True, site=site, files=files
        )
        with pytest.raises(Exception, match=r"\.$") as stop:
            run(code(first)[:1])
        (sentence,) = stop.value._render_traceback_()  # all that Jupyter shows
        return sentence

    files = {name: content}
    assert said().startswith(f"Put {name} into the folder of this notebook, {tmp_path}")
    Path(name).write_bytes(b"epoch\n2\n")
    assert (
        said() == f"{tmp_path / name} is not the table of this worksheet: get it again."
    )
    Path(name).unlink()
    offered = tmp_path / "site" / "downloads" / "handouts" / "worksheets" / name
    site = (tmp_path / "site").as_uri()
    assert "without a network copy" in said(site)
    offered.parent.mkdir(parents=True)
    offered.write_bytes(b"<html>")
    assert "is not the table of this worksheet: get both again." in said(site)
    offered.write_bytes(content)
    first = handouts.worksheet_handout(
        SHEETS[0], solutions=True, site=site, files=files
    )
    run([code(first)[0], 'assert table("runs").epoch.tolist() == [1]'])
    assert Path(name).read_bytes() == content
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert said().startswith("numpy, pandas, matplotlib is missing: where there is")


def test_a_cell_that_is_run_too_early_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr("builtins.__IPYTHON__", True, raising=False)  # a shell sets it
    monkeypatch.chdir(tmp_path)
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(ipython_dir=str(tmp_path), config=quiet)
    name, content = "01_waiting_runs.csv", b"epoch\n1\n"
    first = handouts.worksheet_handout(SHEETS[0], solutions=True, files={name: content})
    shell.run_cell(code(first)[0])
    assert capsys.readouterr().out == (
        f"Put {name} into the folder of this notebook, {tmp_path}, and run this cell "
        "again; the page Teach it of the book has it beside the worksheet.\n"
    )
    Path(name).write_bytes(content)
    shell.run_cell(code(first)[0])
    ready, *more = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"Ready: numpy [\d.]+, pandas .+, {name}", ready) and not more
    shell.run_cell("runs.tail()")
    assert capsys.readouterr().out == (
        "runs is not known yet: run the cells above from the top, in order, "
        "and look whether its name is misspelled.\n"
    )


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.stem)
def test_a_worksheet_has_its_parts_and_the_class_no_solution(path):
    told = handouts.worksheet_facts(path)
    assert re.match(rf"{int(path.stem[:2])}\. [⊥\w]", told["title"])
    assert told["minutes"] == "45" and told["before"] and told["learns"]
    source = notebooks.read_source(path)
    secret = [c.source for c in source.cells if "solution" in notebooks.tags(c)]
    teacher, pupil = (
        "\n\n".join(
            cell.source for cell in handouts.worksheet_handout(path, solutions=s).cells
        )
        for s in (True, False)
    )
    for text in secret:
        longest = max(text.splitlines(), key=len)
        assert longest not in pupil and "Rubric" not in pupil
        assert handouts.TO_WRITE_IN["code"] in pupil
    assert teacher.count("**Rubric, ") == 1
    headings = re.findall(r"^## (.+) \((\d+) minutes\)$", pupil, re.M)
    assert headings == re.findall(r"^## (.+) \((\d+) minutes\)$", teacher, re.M)
    assert sum(int(minutes) for _, minutes in headings) == 45
    for part, (heading, _) in zip(PARTS, headings, strict=True):
        assert part in heading.lower()
    question, _, later = pupil.partition("## Predict")
    predicted, _, rest = later.partition("\n*Write here.*")
    assert "?" in predicted.partition("**My prediction.**")[2]  # before its answer
    assert "plt.show()" not in predicted and "plt.show()" in rest
    assert len(question.split()) > 200 and "$$" in question
    assert not re.search(r"\{[a-z:]+\}`|\]\([^h#)]", pupil + teacher)  # of the book


def test_a_worksheet_reads_nothing_but_committed_records():
    listed = subprocess.check_output(
        ["git", "-C", home(), "ls-files", records_folder()], text=True
    )
    index = (records_folder() / "index.csv").read_text()
    for path in SHEETS:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"read_(csv|parquet)|open\(|urllib|datasets|scale=\"b", text
        )
        for name in re.findall(r"record\(\"(\w+/\w+)\"", text):
            rows = re.findall(rf"^{name},paper,.*?,(\w+/\S+?\.parquet),", index, re.M)
            assert rows and all(f"data/records/{row}\n" in listed for row in rows), name


def overwritten(source):
    """Names of imports and functions to which a module assigns something else."""
    binding = ast.Import | ast.ImportFrom | ast.FunctionDef
    bound, others = [], []
    for node in ast.parse(source).body:
        (bound if isinstance(node, binding) else others).append(node)
    names, assigned = (
        {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_local()}
        for scope in (
            symtable.symtable(ast.unparse(ast.Module(part, [])), "page", "exec")
            for part in (bound, others)
        )
    )
    return names & assigned


def test_what_overwrites_a_name_is_found():
    assert overwritten("from a import told\nfor told in 1, 2: pass") == {"told"}
    assert overwritten("def f(): pass\nf = f()") == {"f"}
    assert overwritten("import a.b as c\n[c for c in 'd']\ndef g(): c = 1") == set()


@pytest.mark.parametrize("folder", sorted({p.split("/")[0] for p in pages.sources()}))
def test_no_page_overwrites_what_it_imports(folder):
    """So that cells of its handout can be run again."""
    for page_id, path in pages.sources().items():
        if page_id.startswith(f"{folder}/"):
            source = "\n".join(code(notebooks.read_source(path)))
            assert overwritten(source) == set(), page_id


def iterated_sets(source):
    """Lines of a module that go through a set, whose order differs by process."""

    def is_set(node):
        if isinstance(node, ast.BinOp):
            return is_set(node.left) or is_set(node.right)
        return isinstance(node, ast.Set | ast.SetComp)

    loops = (ast.For, ast.comprehension)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, loops)]
    return [node.iter.lineno for node in nodes if is_set(node.iter)]


def test_no_page_goes_through_a_set():
    """Else its figure has another digest in every second process."""
    assert iterated_sets("for a in {1, 2} & b: pass\n[c for c in {3}]") == [1, 2]
    assert iterated_sets("for a in sorted({1, 2}): pass") == []
    for page_id, path in pages.sources().items():
        assert iterated_sets("\n".join(code(notebooks.read_source(path)))) == [], (
            page_id
        )
