"""What a reader runs: how it is compared and shown."""

from pathlib import Path

import nbformat
import pytest
from test_pages import ID, book, executed

from book import __main__ as tools
from book._ext import reruns
from grokbook.project import CLAIMS_MIME

__all__ = ["book", "executed"]


@pytest.fixture
def ran(book, executed):  # noqa: F811
    """A rerun of the page, as the execution would leave it."""
    path = book.parent / "_build" / "reruns" / "prieto2025" / "fig01.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(executed)
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
    said = capsys.readouterr().err
    assert said.startswith("book: unknown page 'prieto2025/fig9': use ")


def rewritten(path, scale="laptop", **changes):
    """A rerun whose claim and the scale of its record were changed."""
    found = nbformat.read(path, as_version=4)
    data = found.cells[4].outputs[0]["data"][CLAIMS_MIME]
    data["read"][0]["scale"] = scale
    data["claims"][0].update(changes)
    nbformat.write(found, path)
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
    # at smoke scale there is nothing to compare
    said = rewritten(ran, scale="smoke", verdict="seen at reduced scale")
    assert said == ["It runs. At smoke scale nothing is judged."]


def test_claims_are_matched_by_the_id_that_they_are_registered_under(ran):
    _, row = rewritten(ran, statement="2 + 2 = 4, with arm b")
    assert row.startswith("2 + 2 = 4, with arm b | 4") and row.endswith("| agrees")
    summary, *rows = rewritten(ran, id="another")
    assert [row.rpartition("| ")[2] for row in rows] == ["", ""]
    assert summary.startswith("Of 2 claims 0") and "2 cannot be compared" in summary
