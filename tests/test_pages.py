"""Bad requests run nothing, failing pages replace nothing, drift is found."""

import hashlib
import json
import os
from types import SimpleNamespace

import nbformat
import pytest

from book._ext import catalogue, checks, pages
from grokbook import files
from grokbook.errors import DataError, PageError, RecordError
from grokbook.project import CLAIMS_MIME, FIGURE_MIME, PAPERS

PAGE = """\
# %% [markdown]
# # [Prieto et al. 2025 · Figure 1]{.kicker} Two and two is four

# %% tags=["parameters"]
seeds = 2
rate = 0.5
retrain = False

# %%
print(seeds, rate, retrain)

# %%
#| name: fig-line
#| caption: A line.
#| alt: A line.
import base64

from IPython.display import display

png, figure = "PNG", {"sha256": "0"}
figure = {"application/vnd.grokbook.figure+json": figure, "image/png": png}
display(figure | {"text/plain": "figure"}, raw=True)

# %%
claim = {"statement": "2 + 2 = 4", "quote": "it is four", "where": "Section 1"}
claim |= {"ours": "4", "n": 3, "interval": "", "holds": True, "main": True}
claim |= {"verdict": "reproduced", "extra": False}
claims = {"page": "prieto2025/fig01", "scale": "paper", "verdict": "reproduced"}
read = {"record": "prieto2025/fig01c", "asked": "best", "arms": ["a"]}
read |= {"scale": "paper", "members": {"a|0": "key"}, "sha256": "SHA"}
read |= {"planned": "PLAN"}
cited = [{"name": "prieto2025/fig01", "sha256": "0"}]
claims |= {"claims": [claim], "read": [read], "cited": cited}
bundle = {"application/vnd.grokbook.claims+json": claims}
display(bundle | {"text/plain": "4"}, raw=True)
"""
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
SHA = hashlib.sha256(b"rows").hexdigest()
PLAN = hashlib.sha256(b'[["a"], [0], "shorter"]').hexdigest()[:16]
ID = "prieto2025/fig01"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The page executed once, as text; tests work on copies."""
    with pytest.MonkeyPatch.context() as patch:
        root = lay_out(tmp_path_factory.mktemp("book"), patch)
        pages.execute([ID])
        return (root / "book/prieto2025/fig01_sum.ipynb").read_text()


@pytest.fixture
def book(tmp_path, monkeypatch, executed):
    """A book of one executed page whose record is in order; returns its folder."""
    root = lay_out(tmp_path, monkeypatch)
    (root / "book/prieto2025/fig01_sum.ipynb").write_text(executed)
    store(root, monkeypatch)
    return root / "book"


def store(root, monkeypatch, *, scale="paper", key="key", rows=b"rows", **plan):
    """What `papers.record` gives from now on; returns what it was asked for."""
    path = root / "record.parquet"
    path.write_bytes(rows)
    about = {"device_name": "CPU", "torch": "2", "finished": "2026-01-01"}
    arms = tuple(SimpleNamespace(name=name) for name in plan.pop("arms", "a"))
    plan = {"arms": arms, "seeds": (0,), "reduced": "shorter"} | plan
    found = SimpleNamespace(
        experiment=SimpleNamespace(**plan),
        name="prieto2025/fig01c",
        scale=scale,
        members={"a|0": about | {"training_key": key}},
        seconds=90.0,
        path=path,
    )
    asked = []

    def record(*args, **options):
        asked.append((args, options))
        return found

    monkeypatch.setattr(checks.papers, "record", record)
    cite(monkeypatch)
    return asked


def cite(monkeypatch, sha256="0"):
    """What `evidence.source` says from now on."""
    monkeypatch.setattr(checks.evidence, "source", lambda name: {"sha256": sha256})


def lay_out(root, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(root))
    (root / "book/prieto2025").mkdir(parents=True)
    (root / "book/prieto2025/fig01_sum.py").write_text(
        PAGE.replace("PNG", PNG).replace("SHA", SHA).replace("PLAN", PLAN)
    )
    (root / "book/contents.csv").write_text(
        "paper,id,title\nprieto2025,fig01,A sum\nprieto2025,fig02,A product\n"
    )
    told = {"title": "A title", "thesis": "A thesis"}
    landing = {"papers": dict.fromkeys(PAPERS, told), "findings": []}
    (root / "book/landing.yml").write_text(json.dumps(landing))
    (root / "_toc.yml").write_text(
        "root: intro\nparts:\n- chapters:\n  - file: prieto2025/fig01_sum.ipynb\n"
    )
    return root


def edit(book, change, suffix=".ipynb"):
    """Apply `change` to the notebook (in place) or to the text of the source."""
    path = book / f"prieto2025/fig01_sum{suffix}"
    if suffix == ".py":
        path.write_text(change(path.read_text()))
        return
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


def test_twin_holds_outputs_and_no_noise(executed):
    notebook = nbformat.reads(executed, as_version=4)
    assert notebook.cells[2].outputs[0]["text"] == "2 0.5 False\n"
    assert "papermill" not in executed
    assert "shell.execute_reply" not in executed
    assert "injected-parameters" not in executed
    about = notebook.metadata["grokbook"]
    assert about["page"] == ID
    assert {"source", "executed", "seconds", "versions"} <= set(about)


def test_second_execution_changes_one_record_only(book, executed):
    pages.execute([ID])
    again = (book / "prieto2025/fig01_sum.ipynb").read_text()
    one, two = json.loads(executed), json.loads(again)
    for notebook in (one, two):
        del notebook["metadata"]["grokbook"]
    assert one == two


def test_rerun_leaves_the_twin(book, executed):
    (written,) = pages.execute([ID], {"seeds": "3", "rate": 1, "retrain": "True"})
    assert written == book.parent / "_build/reruns/prieto2025/fig01.ipynb"
    assert "3 1.0 True" in written.read_text()
    assert (book / "prieto2025/fig01_sum.ipynb").read_text() == executed


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (
            (["prieto2025/fig1"],),
            "no page 'prieto2025/fig1': did you mean",
        ),
        ((["prieto2025/fig02"],), "planned, but not written yet"),
        (([ID], {"seed": 1}), "no parameter 'seed': it has seeds, rate, retrain"),
        (([ID], {"seeds": "many"}), "'seeds' of page prieto2025/fig01 takes int"),
        (([ID], {"seeds": 1.5}), "takes int (its default is 2), not 1.5"),
        (([ID], {"retrain": 1}), "'retrain' of page prieto2025/fig01 takes bool"),
        (([ID], {"rate": "high"}), "takes float"),
    ],
)
def test_bad_request_runs_nothing(book, monkeypatch, request_, said):
    monkeypatch.setattr(pages, "_execute", lambda *job: pytest.fail("it ran"))
    with pytest.raises(PageError) as error:
        pages.execute(*request_)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_failing_cell_replaces_nothing(book, executed):
    edit(book, lambda text: text.replace("print(seeds", "print(1 / 0, seeds"), ".py")
    with pytest.raises(PageError) as error:
        pages.execute([ID])
    said = str(error.value)
    assert said.startswith(f"Page {ID} failed in cell 2 ('print(1 / 0, seeds")
    assert said.endswith("ZeroDivisionError: division by zero; nothing was replaced.")
    assert (book / "prieto2025/fig01_sum.ipynb").read_text() == executed
    assert {p.suffix for p in (book / "prieto2025").iterdir()} == {".py", ".ipynb"}


def test_full_disk_replaces_nothing(book, executed, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(PageError, match="No space left on device.*as it was"):
        pages.execute([ID])
    assert (book / "prieto2025/fig01_sum.ipynb").read_text() == executed
    assert {p.suffix for p in (book / "prieto2025").iterdir()} == {".py", ".ipynb"}


def test_page_in_order(book):
    assert checks.check() == []
    assert checks.check([ID]) == []


def test_never_executed_is_found(book):
    (book / "prieto2025/fig01_sum.ipynb").unlink()
    assert "was never executed: run 'python -m book execute" in checks.check()[0]
    with pytest.raises(PageError, match="was never executed"):
        catalogue.index()


def test_drift_of_the_source_is_found(book):
    edit(book, lambda text: text.replace("print(seeds", "print(0, seeds"), ".py")
    assert "differs between its .py and its .ipynb" in checks.check()[0]


def unexecuted(nb):
    nb.cells[2].execution_count = None


def failed(nb):
    nb.cells[2].outputs = [nbformat.v4.new_output("error", ename="E", evalue="no")]


def retagged(nb):
    nb.cells[2].metadata["tags"] = ["hide-input"]


def retitled(nb):
    nb.cells[0].source = "# Figure 1: a sum (not reproduced)"


def untitled(nb):
    nb.cells[0].source = "# [Prieto et al. 2025 · Figure 1]{.kicker}"


def unquoted(nb):
    nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["claims"][0]["quote"] = " "


def misplaced(nb):
    nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["claims"][0]["where"] = ""


def undigested(nb):
    del nb.cells[3].outputs[0]["data"][FIGURE_MIME]


def unclaimed(nb):
    nb.cells[4].outputs = []


def undescribed(nb):
    del nb.cells[3].metadata["mystnb"]["image"]


def large(nb):
    nb.cells[2].outputs[0]["text"] = "x" * checks.LARGEST


def unknown_verdict(nb):
    nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["claims"][0]["verdict"] = "fine"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unexecuted, "has a cell that was never executed"),
        (failed, "holds an error output"),
        (retagged, "has other tags or captions in its .py than its .ipynb"),
        (retitled, "not begin with '# [Prieto et al. 2025 · Figure 1]{.kicker} The f"),
        (untitled, "not begin with '# [Prieto et al. 2025 · Figure 1]{.kicker} The f"),
        (unclaimed, "shows no claims: close it with sheet.closing()"),
        (unquoted, "judges row 1 ('2 + 2 = 4') without the paper's words: quote"),
        (misplaced, "judges row 1 ('2 + 2 = 4') without their place: quote the"),
        (undescribed, "has a figure without a line '#| alt:' ('display(figure |"),
        (undigested, "has a figure not shown by plots.show ('display(figure |"),
        (large, "kB; 600 are allowed"),
        (unknown_verdict, "uses the unknown verdict 'fine'"),
    ],
)
def test_fault_of_a_twin_is_found(book, change, said):
    edit(book, change)
    assert any(said in fault for fault in checks.check())


def test_a_page_without_parameters_is_found(book):
    edit(book, lambda text: text.replace(' tags=["parameters"]', ""), ".py")
    edit(book, lambda nb: [c.metadata.pop("tags", None) for c in nb.cells])
    said = f"Page {ID} has no code cell tagged 'parameters'."
    assert checks.check() == [said]


def test_a_measurement_of_ours_needs_no_words_of_the_paper(book):
    def measured(nb):
        claim = nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["claims"][0]
        claim |= {"quote": "", "where": "", "extra": True}

    edit(book, measured)
    assert checks.check() == []


def test_a_reference_that_changed_since_is_found(book, monkeypatch):
    cite(monkeypatch, "1")
    said = f"Page {ID} cites another prieto2025/fig01 than there is now: run 'python"
    assert checks.check()[0].startswith(said)

    def refuse(name):
        raise DataError(f"{name}.csv is missing.")

    monkeypatch.setattr(checks.evidence, "source", refuse)
    said = (
        "cites a reference that cannot be used (prieto2025/fig01.csv is missing): run"
    )
    assert said in checks.check()[0]


def test_a_claim_that_is_not_registered_is_found(book):
    row = "{says: it is four, where: Section 1, tested: 2 + 2 = 5, at_least: 0"
    path = book / "prieto2025" / "claims.yaml"
    path.write_text(f"fig01:\n  sum: {row}, registered: 2026-01-01}}\n")
    (said,) = checks.check()
    assert said.startswith(f"Page {ID} shows '2 + 2 = 4', which is not registered so: ")


def test_what_stands_above_a_title():
    assert pages.kicker("singh2026/tab02") == "Singh et al. 2026 · Table 2"
    assert pages.kicker("liu2026/fig13") == "Liu et al. 2026 · Figure 13"
    assert pages.kicker("liu2026/causes") == "Liu et al. 2026 · beyond the paper"


@pytest.fixture
def beside(book):
    """The same page again, as one of ours beyond the paper."""
    for kind in ("py", "ipynb"):
        text = (book / f"prieto2025/fig01_sum.{kind}").read_text()
        text = text.replace("fig-line", "fig-causes").replace("Two and", "Why two and")
        text = text.replace("2025 · Figure 1]", "2025 · beyond the paper]")
        (book / f"prieto2025/causes.{kind}").write_text(text)
    toc = book.parent / "_toc.yml"
    toc.write_text(f"{toc.read_text()}  - file: prieto2025/causes.ipynb\n")
    return book


def test_a_page_beyond_the_paper_needs_no_line_in_the_contents(beside):
    assert list(pages.sources()) == [ID, "prieto2025/causes"]
    assert checks.check() == []
    assert pages.find("prieto2025/causes") == beside / "prieto2025/causes.py"
    assert "prieto2025/causes" not in pages.contents()


def test_a_page_beyond_the_paper_is_listed_and_is_no_figure_of_it(beside):
    texts = {p.stem: p.read_text() for p in catalogue.index() if p.suffix == ".md"}
    link = "{doc}`Causes </prieto2025/causes>`"
    assert "1 of 2 figures and tables and 1 page beyond them." in texts["papers"]
    assert f"| {link} | Why two and two is four | <span" in texts["prieto2025"]
    assert "::::{grid-item-card} Causes" in texts["gallery"]
    assert 'href="../prieto2025/causes.html#the-claims"' in texts["scoreboard"]


def test_page_outside_the_contents_is_found(book):
    (book.parent / "_toc.yml").write_text("root: intro\n")
    (book / "contents.csv").write_text("paper,id,title\n")
    faults = " ".join(checks.check())
    assert "is not in _toc.yml: add 'file: prieto2025/fig01_sum.ipynb'" in faults
    assert "is not in book/contents.csv" in faults


def test_notebook_without_source_is_found(book):
    (book / "prieto2025/fig01_sum.py").unlink()
    assert checks.check() == ["book/prieto2025/fig01_sum.ipynb has no .py source."]


def test_record_that_cannot_be_used_is_found(book, monkeypatch):
    def refuse(*args, **options):
        raise RecordError("fig01.paper.parquet is stale")

    monkeypatch.setattr(checks.papers, "record", refuse)
    said = "read a record that cannot be used (fig01.paper.parquet is stale): run"
    assert said in checks.check()[0]


def test_a_record_is_asked_for_as_the_page_asked(book, monkeypatch):
    asked = store(book.parent, monkeypatch)
    assert checks.check() == []
    once = (("prieto2025/fig01c",), {"scale": "best", "arms": ["a"]})
    assert asked == [once]


OTHERWISE = "shows other arms or seeds of prieto2025/fig01c than are planned now"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            {"scale": "laptop"},
            "read prieto2025/fig01c at paper scale, and would read it at laptop scale",
        ),
        ({"key": "other"}, "read other members of prieto2025/fig01c than it has now"),
        ({"rows": b"others"}, "read another record.parquet than there is now"),
        ({"arms": "ab"}, OTHERWISE),
        ({"seeds": (0, 1)}, OTHERWISE),
        ({"reduced": "smaller"}, OTHERWISE),
    ],
)
def test_a_record_that_changed_since_is_found(book, monkeypatch, now, said):
    store(book.parent, monkeypatch, **now)
    (fault,) = checks.check()
    assert fault.startswith(f"Page {ID} {said}")
    assert fault.endswith(f": run 'python -m book execute {ID}'.")


def unread(nb):
    del nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["read"]


def test_a_page_that_does_not_say_what_it_read_is_executed_again(book):
    edit(book, unread)
    said = f"Page {ID} does not say which records it read: "
    said += f"run 'python -m book execute {ID}'."
    assert checks.check() == [said]
    with pytest.raises(PageError) as error:
        catalogue.index()
    assert str(error.value) == said


def cut(text):
    return text[: len(text) // 2]


def conflict(text):
    lines = text.splitlines(keepends=True)
    middle = ["<<<<<<< HEAD\n", lines[1], "=======\n", lines[1], ">>>>>>> other\n"]
    return "".join([lines[0], *middle, *lines[2:]])


DAMAGE = {
    "empty": lambda text: b"",
    "truncated": lambda text: cut(text).encode(),
    "binary": lambda text: bytes(range(128, 256)) * 4,
    "zeros": lambda text: bytes(100),
    "conflict": lambda text: conflict(text).encode(),
    "list": lambda text: b"[]\n",
    "object": lambda text: b"{}\n",
}
FILES = ("book/prieto2025/fig01_sum.ipynb", "book/contents.csv", "_toc.yml")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_one_sentence(book, file, damage):
    path = book.parent / file
    path.write_bytes(DAMAGE[damage](path.read_text()))
    if file == "_toc.yml" and damage == "truncated":
        path.write_text("root: intro\nparts:\n- chapters:\n  - file: 'prieto2025/f")
    for command in (checks.check, catalogue.index):
        if command is catalogue.index and file == "_toc.yml":
            continue  # which reads no table of contents
        try:
            said = command()
        except PageError as error:
            said = [str(error)]
        assert len(said) == 1
        assert path.name in said[0]
        assert "\n" not in said[0].rstrip()


@pytest.mark.parametrize(
    "lines",
    [
        "prieto2025,fig01\n",
        "prieto2025,fig01,A sum,more\n",
        "prieto2024,fig01,A sum\n",
        "prieto2025,figure,A sum\n",
        "prieto2025,fig01,A sum",
    ],
)
def test_a_line_of_the_contents_that_names_no_page_is_found(book, lines):
    (book / "contents.csv").write_text("paper,id,title\n" + lines)
    with pytest.raises(PageError, match=r"contents\.csv .*: take .* from git again"):
        pages.contents()


def test_a_missing_file_is_one_sentence(book):
    (book / "contents.csv").unlink()
    with pytest.raises(PageError, match=r"contents\.csv cannot be read \(No such file"):
        checks.check()


def damaged_claims(nb):
    del nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["claims"][0]["ours"]


def damaged_read(nb):
    del nb.cells[4].outputs[0]["data"][CLAIMS_MIME]["read"][0]["arms"]


def listed_claims(nb):
    nb.cells[4].outputs[0]["data"][CLAIMS_MIME] = [1]


@pytest.mark.parametrize("change", [damaged_claims, damaged_read, listed_claims])
def test_damaged_claims_are_one_sentence(book, change):
    edit(book, change)
    said = f"The claims of page {ID} are damaged: run 'python -m book execute {ID}'."
    assert checks.check() == [said]
    with pytest.raises(PageError) as error:
        catalogue.index()
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "fig01_sum.py is not text: take it from git again."),
        (b"", "differs between its .py and its .ipynb"),
    ],
)
def test_a_damaged_source_is_one_sentence(book, content, said):
    (book / "prieto2025/fig01_sum.py").write_bytes(content)
    (fault,) = checks.check()
    assert said in fault
    with pytest.raises(PageError, match=r"^[^\n]*(is not text|has no cell)[^\n]*$"):
        pages.execute([ID])


@pytest.mark.parametrize("line", ["rate = 1 / 2", "rate = ", "<<<<<<< HEAD"])
def test_parameters_that_are_no_literals_are_one_sentence(book, line):
    edit(book, lambda text: text.replace("rate = 0.5", line), ".py")
    with pytest.raises(PageError, match="parameters that are not literal values"):
        pages.execute([ID])


def test_a_kernel_gets_absolute_places_and_leaves_none_behind(book, monkeypatch):
    monkeypatch.chdir(book)
    monkeypatch.setenv("GROKBOOK_RECORDS", "../records")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("GROKBOOK_DATA", raising=False)
    before = dict(os.environ)
    with pages._environment(pages._for_kernels()):
        assert os.environ["GROKBOOK_RECORDS"] == f"{book}/../records"
        assert os.environ["OMP_NUM_THREADS"] == "1"
        assert "grokbook" in os.listdir(os.environ["PYTHONPATH"].split(os.pathsep)[0])
        assert "GROKBOOK_DATA" not in os.environ
    assert dict(os.environ) == before


def test_generated_pages_show_the_page(book):
    written = {path.name: path for path in catalogue.index()}
    assert set(written) == {
        *("gallery.md", "scoreboard.md", "beyond.md", "status.md"),
        *("findings.md", "matrix.md", "papers.md"),
        *(f"{paper}.md" for paper in PAPERS),
        "prieto2025-fig01.png",
    }
    texts = {name: p.read_text() for name, p in written.items() if p.suffix == ".md"}
    assert ":img-alt: A line." in texts["gallery.md"]
    assert "/prieto2025/fig01_sum" in texts["gallery.md"]
    assert 'verdict-reproduced">reproduced<' in texts["gallery.md"]
    row = "<b>Main claim</b> <q>it is four</q> <small>Section 1</small></td>"
    assert row in texts["scoreboard.md"]
    assert "reproduced</span> 1 of 1" in texts["gallery.md"]
    assert "reproduced</span> | 1 of 1 |" in texts["prieto2025.md"]
    assert "**1 claim:**" in texts["scoreboard.md"]
    assert "`prieto2025/fig01c` | paper | 1 | 90 s | CPU | 2 |" in texts["status.md"]
    assert "| Figure\N{NO-BREAK SPACE}2 | A product |" in texts["prieto2025.md"]
    assert "not yet</span>" in texts["prieto2025.md"]
    assert "1 of 2 figures and tables. Of 1 claims 1 have" in texts["papers.md"]


def test_empty_book_can_be_indexed(book):
    for path in (book / "prieto2025").iterdir():
        path.unlink()
    assert all(path.is_file() for path in catalogue.index())


def test_contents_plan_holds_all_of_the_four_papers():
    planned = [page_id.split("/") for page_id in pages.contents()]
    for paper, figures, of_tables in [
        ("prieto2025", 17, 1),
        ("singh2026", 9, 2),
        ("liu2026", 13, 4),
        ("tiwari2026", 5, 10),
    ]:
        ids = [name for its, name in planned if its == paper]
        wanted = [f"fig{i:02d}" for i in range(1, figures + 1)]
        assert ids == wanted + [f"tab{i:02d}" for i in range(1, of_tables + 1)]
