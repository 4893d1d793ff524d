"""Bad requests run nothing, failing pages replace nothing, drift is found."""

import json
from types import SimpleNamespace

import nbformat
import pytest

from grokbook import catalogue, pages, papers, records, tables
from grokbook.training import Outcome

PAGE = """\
# %% [markdown]
# # Figure 1: two and two is four (reproduced)

# %% tags=["parameters"]
seeds = 2
rate = 0.5
retrain = False

# %%
print(seeds, rate, retrain)

# %% mystnb={"figure": {"caption": "A line.", "name": "fig-line"}, \
"image": {"alt": "A line."}}
import base64

from IPython.display import Image

Image(base64.b64decode("PNG"))

# %%
record = str.upper
name = record("prieto2025/fig01")

# %% tags=["nbval-check-output"]
from IPython.display import display

claim = {"statement": "2 + 2 = 4", "paper": "4", "ours": "4", "n": 1, "interval": ""}
claim |= {"verdict": "reproduced", "source": "T1", "extra": False}
claims = {"page": "prieto2025/fig01", "scale": "paper", "verdict": "reproduced"}
bundle = {"application/vnd.grokbook.claims+json": claims | {"claims": [claim]}}
display(bundle | {"text/plain": "4"}, raw=True)
"""
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
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
    member = {"device_name": "CPU", "torch": "2", "finished": "2026-01-01"}
    record = SimpleNamespace(members={"a|0": member}, seconds=90.0, scale="paper")
    monkeypatch.setattr(pages, "record", lambda *args, **options: record)
    return root / "book"


def lay_out(root, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", root)
    (root / "book/prieto2025").mkdir(parents=True)
    (root / "book/prieto2025/fig01_sum.py").write_text(PAGE.replace("PNG", PNG))
    (root / "book/contents.csv").write_text(
        "paper,id,title\nprieto2025,fig01,A sum\nprieto2025,fig02,A product\n"
    )
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
    with pytest.raises(pages.PageError) as error:
        pages.execute(*request_)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_failing_cell_replaces_nothing(book, executed):
    edit(book, lambda text: text.replace("print(seeds", "print(1 / 0, seeds"), ".py")
    with pytest.raises(pages.PageError) as error:
        pages.execute([ID])
    said = str(error.value)
    assert said.startswith(f"Page {ID} failed in cell 2 ('print(1 / 0, seeds")
    assert said.endswith("ZeroDivisionError: division by zero; nothing was replaced.")
    assert (book / "prieto2025/fig01_sum.ipynb").read_text() == executed
    assert {p.suffix for p in (book / "prieto2025").iterdir()} == {".py", ".ipynb"}


def test_full_disk_replaces_nothing(book, executed, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pages.os, "replace", full)
    with pytest.raises(pages.PageError, match="No space left on device.*as it was"):
        pages.execute([ID])
    assert (book / "prieto2025/fig01_sum.ipynb").read_text() == executed
    assert {p.suffix for p in (book / "prieto2025").iterdir()} == {".py", ".ipynb"}


def test_page_in_order(book):
    assert pages.check() == []
    assert pages.check([ID]) == []


def test_never_executed_is_found(book):
    (book / "prieto2025/fig01_sum.ipynb").unlink()
    assert "was never executed: run 'grokbook execute" in pages.check()[0]
    with pytest.raises(pages.PageError, match="was never executed"):
        catalogue.index()


def test_drift_of_the_source_is_found(book):
    edit(book, lambda text: text.replace("print(seeds", "print(0, seeds"), ".py")
    assert "differs between its .py and its .ipynb" in pages.check()[0]


def unexecuted(nb):
    nb.cells[2].execution_count = None


def failed(nb):
    nb.cells[2].outputs = [nbformat.v4.new_output("error", ename="E", evalue="no")]


def retagged(nb):
    nb.cells[2].metadata["tags"] = ["hide-input"]


def retitled(nb):
    nb.cells[0].source = "# Figure 1: a sum (not reproduced)"


def unclaimed(nb):
    nb.cells[5].outputs = []


def undescribed(nb):
    del nb.cells[3].metadata["mystnb"]["image"]


def large(nb):
    nb.cells[2].outputs[0]["text"] = "x" * pages.LARGEST


def unknown_verdict(nb):
    nb.cells[5].outputs[0]["data"][pages.CLAIMS]["claims"][0]["verdict"] = "fine"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unexecuted, "has a cell that was never executed"),
        (failed, "holds an error output"),
        (retagged, "has other tags in its .py than in its .ipynb"),
        (retitled, "(not reproduced)' but its claims say 'reproduced'"),
        (unclaimed, "shows no claims table"),
        (undescribed, "has a figure without mystnb.image.alt"),
        (large, "kB; 600 are allowed"),
        (unknown_verdict, "uses the unknown verdict 'fine'"),
    ],
)
def test_fault_of_a_twin_is_found(book, change, said):
    edit(book, change)
    assert any(said in fault for fault in pages.check())


@pytest.mark.parametrize("tag", ["parameters", "nbval-check-output"])
def test_missing_tag_is_found(book, tag):
    edit(book, lambda text: text.replace(f' tags=["{tag}"]', ""), ".py")
    edit(book, lambda nb: [c.metadata.pop("tags", None) for c in nb.cells])
    assert any(f"no code cell tagged '{tag}'" in fault for fault in pages.check())


def test_page_outside_the_contents_is_found(book):
    (book.parent / "_toc.yml").write_text("root: intro\n")
    (book / "contents.csv").write_text("paper,id,title\n")
    faults = " ".join(pages.check())
    assert "is not in _toc.yml: add 'file: prieto2025/fig01_sum.ipynb'" in faults
    assert "is not in book/contents.csv" in faults


def test_notebook_without_source_is_found(book):
    (book / "prieto2025/fig01_sum.py").unlink()
    assert pages.check() == ["book/prieto2025/fig01_sum.ipynb has no .py source."]


def test_record_that_cannot_be_used_is_found(book, monkeypatch):
    def refuse(*args, **options):
        raise RuntimeError("fig01.paper.parquet is stale")

    monkeypatch.setattr(pages, "record", refuse)
    assert "cannot be used: fig01.paper.parquet is stale" in pages.check()[0]


def test_records_that_a_page_asks_for():
    lines = ["a = pages.record('p/a', arms=('x', 'y'), scale=s)", "record('p/b')"]
    cell = nbformat.v4.new_code_cell("\n".join(lines))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert pages.records_read(notebook) == {"p/a": ("x", "y"), "p/b": ()}
    assert pages.records_read(nbformat.v4.new_notebook()) == {}
    cell.source = "record('p/a', arms=NAMES)"
    with pytest.raises(pages.PageError, match="asks for the arms NAMES: write them"):
        pages.records_read(notebook)


def test_a_record_in_the_making_is_passed_over(tmp_path, monkeypatch):
    """A page gets the paper's scale once that record has every arm it asks for."""
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    both, absent = ("addition", "product"), ("sparse parity, data seed 42",)

    def scales():
        asked = ((), both, ("addition",), absent)
        return [pages.record("prieto2025/fig04left", arms=a).scale for a in asked]

    def add(scale, *names):
        known = papers.get("prieto2025/fig04left", scale)
        rows = [{"epoch": 0, "test_accuracy": 0.0}]
        outcomes = [Outcome(known.arm(name), 42, rows, {}, 1.0, {}) for name in names]
        records.add(known, outcomes)

    add("paper", "addition")
    assert scales() == ["paper"] * 4  # nothing to fall back to
    add("laptop", *both)
    assert scales() == ["paper", "laptop", "paper", "paper"]
    add("paper", "product")
    assert scales() == ["paper"] * 4
    laptop = pages.record("prieto2025/fig04left", scale="laptop", arms=absent)
    assert laptop.scale == "laptop"
    with pytest.raises(papers.UnknownName, match="no arm 'addtion' at any scale: use"):
        pages.record("prieto2025/fig04left", arms=("addtion",))


def test_generated_pages_show_the_page(book):
    written = {path.name: path for path in catalogue.index()}
    assert set(written) == {
        *("gallery.md", "scoreboard.md", "status.md", "state.md"),
        *(f"{paper}.md" for paper in pages.PAPERS),
        "prieto2025-fig01.png",
    }
    texts = {name: p.read_text() for name, p in written.items() if p.suffix == ".md"}
    assert ":img-alt: A line." in texts["gallery.md"]
    assert "/prieto2025/fig01_sum" in texts["gallery.md"]
    assert 'verdict-reproduced">reproduced<' in texts["gallery.md"]
    assert "| 4 | 4 (*n* = 1) |" in texts["scoreboard.md"]
    assert "**1 claim:**" in texts["scoreboard.md"]
    assert "`prieto2025/fig01` | paper | 1 | 90 s | CPU | 2 |" in texts["status.md"]
    assert "| Figure\N{NO-BREAK SPACE}2 | A product |" in texts["state.md"]
    assert "not yet" in texts["state.md"]


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


def test_claims_text_survives_markdown():
    assert catalogue.plain("a_b | $x$ *y* <z>") == r"a\_b \| \$x\$ \*y\* \<z\>"


def test_a_grid_shows_words_as_they_are():
    shown = tables.grid(["a < b", "n"], [["M+A*", "1"]])._repr_mimebundle_()
    assert shown["text/plain"] == "a < b | n\nM+A* | 1"
    assert "<th>a &lt; b</th>" in shown["text/html"]
    assert "<td>M+A*</td><td>1</td>" in shown["text/html"]
