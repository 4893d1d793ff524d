"""A rerun: trained before it is executed, compared with the book, never into it."""

from dataclasses import replace
from pathlib import Path

import browser
import nbformat
import pytest
from helpers import arm, experiment
from test_pages import ID, book, edit, executed  # noqa: F401  (fixtures)

from book import __main__ as tools
from book._ext import comparison, mathml, pages, rehearsal, rerun
from grokbook import cli, papers, records
from grokbook.engine import loop, pool
from grokbook.errors import PageError, TrainingError
from grokbook.project import CLAIMS_MIME

NAME = "prieto2025/fig06b"


@pytest.fixture
def known(monkeypatch, tmp_path):
    """One small experiment in the place of Figure 6b, and a checkout of its own."""
    tiny = experiment(arm("a", epochs=3), arm("b", epochs=3), seeds=(0,))

    def at_scale(scale):
        return replace(tiny, scale=scale)

    monkeypatch.setitem(papers.PAPERS["prieto2025"], "fig06b", at_scale)
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.setenv("GROKBOOK_PROGRESS", "no")  # however slow this machine is
    monkeypatch.delenv("GROKBOOK_RECORDS", raising=False)
    return tmp_path


def call(capsys, *words):
    """Exit code, output and errors of the command."""
    main = tools.main if words[0] == "execute" else cli.main
    code = main([str(word) for word in words])
    return code, *capsys.readouterr()


# Where a run goes --------------------------------------------------------------------

RUN = ("run", NAME, "--scale", "smoke", "--processes", 0, "--device", "cpu")


@pytest.mark.parametrize(
    ("more", "folder"),
    [((), "data/reruns"), (("--record",), "data/records"), (("--out", "x"), "x")],
)
def test_a_run_goes_beside_the_book_unless_told(
    known, capsys, monkeypatch, more, folder
):
    monkeypatch.chdir(known)
    code, out, err = call(capsys, *RUN, *more)
    assert (code, err) == (0, "")
    assert "2 members in" in out
    written = [path for path in known.rglob("*.parquet")]
    assert written == [known / folder / f"{NAME}.smoke.parquet"]


def test_what_is_missing_everywhere_needs_a_folder(known, capsys):
    code, out, err = call(capsys, "run", "--scale", "smoke")
    assert (code, out) == (2, "")
    assert "--record into data/records, or --out FOLDER" in err
    assert err.count("\n") == 1
    assert not (known / "data").exists()


def test_a_run_that_is_stopped_goes_on_in_the_same_folder(known, capsys, monkeypatch):
    train = loop.train

    def stop(members, **how):
        if members[0][0].name == "b":
            raise KeyboardInterrupt
        return train(members, **how)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "train", stop)
        code, out, err = call(capsys, *RUN)
    assert (code, out) == (130, "")
    assert err.startswith("grokbook: stopped; the same command goes on")
    assert err.count("\n") == 1
    folder = known / "data" / "reruns"
    before = records.load(papers.get(NAME, "smoke"), folder)
    assert before.missing == [("b", 0)]
    assert call(capsys, *RUN)[0] == 0
    after = records.load(papers.get(NAME, "smoke"), folder)
    assert after.members["a|0"] == before.members["a|0"]  # not trained again
    assert after.missing == []


# Training before executing -----------------------------------------------------------


def notebook(*cells):
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    made.cells[0].metadata["tags"] = ["parameters"]
    return made


PARAMETERS = "scale, retrain, device = 'best', False, 'auto'"
READING = f"""
from grokbook import evidence
print("not for the terminal")
record = evidence.record("{NAME}", scale=scale, retrain=retrain, device="cpu")
"""
ASKED = {"scale": "smoke", "retrain": True, "device": "cpu"}


def test_what_a_page_reads_is_trained_before_it_is_executed(known, capsys, monkeypatch):
    page = notebook(PARAMETERS, READING, "raise SystemExit('it was executed')")
    seen = []
    run = pool.run
    monkeypatch.setattr(
        pool,
        "run",
        lambda e, **how: run(e, processes=0, **how) if not seen.append(e) else 0,
    )
    rehearsal.train(page, ASKED)
    assert [(one.name, one.scale) for one in seen] == [(NAME, "smoke")]
    assert records.load(seen[0], known / "data/reruns").missing == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [TrainingError("no GPU"), KeyboardInterrupt()])
def test_what_stops_the_training_stops_the_page(known, monkeypatch, error):
    def stop(*arguments, **how):
        raise error

    monkeypatch.setattr(pool, "run", stop)
    with pytest.raises(type(error)):
        rehearsal.train(notebook(PARAMETERS, READING), ASKED)


def test_other_errors_are_left_to_the_execution_which_names_the_cell():
    rehearsal.train(notebook(PARAMETERS, "1 / 0  # retrain"), ASKED)


def test_a_page_without_training_is_known_by_its_code():
    assert rehearsal.reading(notebook(PARAMETERS, "print(1)")) == []
    assert rehearsal.reading(notebook(PARAMETERS, READING, "print(1)")) == [READING]


def styled(root):
    """The style sheet and the bibliography that a page is shown with."""
    (root / "book" / "_static").mkdir()
    (root / "book" / "_static" / "book.css").write_text(".verdict {}")
    (root / "book" / "references.bib").write_text("")


@pytest.mark.filterwarnings("ignore")
def test_a_page_that_trains_nothing_is_executed_and_says_so(book, capsys):  # noqa: F811
    """Also one that has no such parameter: `make page` gives them to every page."""
    styled(book.parent)
    for change in (
        lambda text: text,
        lambda text: text.replace("retrain = False\n", ""),
    ):
        edit(book, change, ".py")
        edit(
            book,
            lambda text: text.replace("seeds, rate, retrain", "seeds, rate"),
            ".py",
        )
        words = ("-p", "retrain", "True", "-p", "seeds", 3)
        code, out, err = call(capsys, "execute", ID, *words)
        assert (code, err) == (
            0,
            f"{ID} has nothing to train: it is executed as it is\n",
        )
        notebook_, summary, _, _, html = out.splitlines()
        assert Path(notebook_).with_suffix(".html") == Path(html)
        assert summary == f"{ID}: 1 of 1 claims come out as in the book."


# Claim, book, your run ---------------------------------------------------------------


def rewritten(path, **changes):
    """A rerun whose first claim, and what it read, were changed."""
    found = nbformat.read(path, as_version=4)
    data = found.cells[4].outputs[0]["data"][CLAIMS_MIME]
    for key, value in changes.items():
        if key == "read_scale":
            data["read"][0]["scale"] = value
        elif key == "scale":
            data["scale"] = value
        else:
            data["claims"][0][key] = value
    nbformat.write(found, path)
    return comparison.compare(path)


@pytest.fixture
def ran(book, executed):  # noqa: F811
    """A rerun of the page, as the execution would leave it."""
    path = book.parent / "_build" / "reruns" / "prieto2025" / "fig01.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(executed)
    return path


def test_the_same_claims_agree(ran):
    found = comparison.compare(ran)
    assert [row.mark for row in found.rows] == ["agrees"]
    assert list(comparison.lines(found)) == [
        f"{ID}: 1 of 1 claims come out as in the book.",
        "claim | book | your run",
        "  2 + 2 = 4 | 4 (n = 3), reproduced | 4 (n = 3), reproduced",
    ]


@pytest.mark.parametrize(
    ("verdict", "mark"),
    [
        ("seen once, at reduced scale", "agrees"),
        ("seen at reduced scale", "agrees"),
        ("partly seen at reduced scale", "differs"),
        ("not seen, once, at reduced scale", "differs"),
        ("not reproduced", "differs"),
        ("not run", ""),
    ],
)
def test_what_differs_is_marked_whatever_the_scale(ran, verdict, mark):
    found = rewritten(ran, verdict=verdict, ours="5", n=1, scale="laptop")
    assert [row.mark for row in found.rows] == [mark]
    line = list(comparison.lines(found))[-1]
    assert f"| 5 (n = 1), {verdict}" in line
    assert line.endswith("<- differs") == (mark == "differs")
    shown = rerun.head(found)
    assert ("mark-differs" in shown) == (mark == "differs")
    assert "Book (paper scale)" in shown and "Your run (laptop scale)" in shown


def test_claims_are_matched_by_the_papers_words_too(ran):
    """A statement may name what the runs decided, as the best of several arms."""
    found = rewritten(ran, statement="2 + 2 = 4, with arm b")
    assert [row.statement for row in found.rows] == ["2 + 2 = 4, with arm b"]
    assert [row.mark for row in found.rows] == ["agrees"]
    found = rewritten(ran, quote="something else")
    marks = [(row.statement, row.mark) for row in found.rows]
    assert marks == [("2 + 2 = 4", ""), ("2 + 2 = 4, with arm b", "")]
    assert (
        found.summary.startswith("0 of 2") and "2 cannot be compared" in found.summary
    )


def test_a_page_never_executed_cannot_be_compared(ran):
    pages.find(ID).with_suffix(".ipynb").unlink()
    with pytest.raises(PageError, match="no claims to compare"):
        comparison.compare(ran)


@pytest.mark.parametrize(
    ("asked", "scale"),
    [
        ({"retrain": True, "scale": "laptop"}, "laptop"),
        ({"retrain": True}, "laptop"),
        ({"retrain": False, "scale": "laptop"}, "paper"),
    ],
)
def test_the_scale_of_a_rerun_is_that_of_its_training(ran, asked, scale):
    """Whatever that of its main claim, which may not have been run."""
    found = nbformat.read(ran, as_version=4)
    found.metadata["grokbook"]["parameters"] = asked
    nbformat.write(found, ran)
    assert comparison.compare(ran).scales == ("paper", scale)


def test_a_rerun_of_a_page_that_trains_nothing_says_so(ran):
    found = comparison.compare(ran)
    assert "those of the rerun" in rerun.head(found)
    assert "scale" not in rerun.head(replace(found, trained=[]))
    assert "Nothing is trained on this page" in rerun.head(replace(found, trained=[]))


WORDS = ("reproduced", "seen", "differs", "agrees", "hold")


def test_no_verdict_beside_a_smoke_test(ran):
    """Not in the terminal and not in the HTML, whatever the rerun's claims say."""
    found = rewritten(ran, verdict="seen at reduced scale", read_scale="smoke")
    said = "\n".join(comparison.lines(found))
    assert said == f"{ID}: It runs. At smoke scale nothing is judged."
    assert not [word for word in WORDS if word in rerun.head(found)]


# The HTML ----------------------------------------------------------------------------


def test_formulas_need_no_script():
    assert mathml.mathml(r"\frac{a}{b}").startswith("<math")
    assert 'display="block"' in mathml.mathml("x", block=True)
    assert "…" in mathml.mathml(r"1, \dots, 6")
    assert mathml.mathml(r"\unheard{x < y}") == (
        r"<code class='latex'>\unheard{x &lt; y}</code>"
    )


@pytest.fixture
def html(ran):
    """A rerun with a formula, links and a role, as HTML."""
    found = nbformat.read(ran, as_version=4)
    text = (
        "# [Prieto et al. 2025 · Figure 1]{.kicker} Two and two is four\n\n"
        "As $x^2$ says, {term}`grokking` is in [another](fig02_other.ipynb) page."
    )
    found.cells[0].source = text
    nbformat.write(found, ran)
    styled(ran.parents[3])
    changed = rewritten(ran, verdict="not reproduced", ours="5")
    return rerun.write(ran, changed)


@pytest.mark.filterwarnings("ignore")
def test_a_rerun_is_one_file(html, chromium):
    text = html.read_text(encoding="utf-8")
    assert "<math" in text and "data:image/png;base64," in text
    assert text.index("mark-differs") < text.index("<h1")  # the comparison comes first
    assert "A rerun; the text below describes the book's run." in text
    assert "fig02_other" not in text and "{term}" not in text
    assert "<script" not in text and "<link" not in text
    for size in (browser.DESKTOP, browser.PHONE):
        with browser.shown(chromium, html, size) as page:
            assert page.complaints == []
            assert page.locator(".mark-differs").is_visible()
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= size[0]
