"""`make test` compares every output of every page with a fresh execution."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from papermill import execute_notebook

from book._ext import pages

ROOT = Path(__file__).parents[1]
CELLS = {
    "number": "print(f'test accuracy {0.9876:.2%}')",
    "table": "from grokbook import tables\ntables.grid(['n'], [['34,500']])",
    "digest": "from IPython.display import display\n"
    "figure = {'application/vnd.grokbook.figure+json': {'sha256': 'ab12'}}\n"
    "display(figure | {'text/plain': 'a figure'}, raw=True)",
    "warning": "import warnings\nwarnings.warn('logits overflow')",
    "silence": "quiet = 1",
}
EDITS = {
    "number": ("98.76%", "98.77%"),
    "table": ("<td>34,500</td>", "<td>34,600</td>"),
    "digest": ("ab12", "ab13"),
    "warning": ("logits overflow", "logits underflow"),
}


@pytest.fixture(scope="module")
def recipe():
    """The options of nbval as the Makefile has them."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"(--nbval\S* .*)\$\(NOTEBOOKS\)", text)
    return line.split()


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory, recipe):
    """(notebook, cell) -> what nbval says, of one untouched and one edited notebook."""
    folder = tmp_path_factory.mktemp("nbval")
    whole, edited = folder / "whole.ipynb", folder / "edited.ipynb"
    source = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS.values()])
    nbformat.write(source, folder / "unrun.ipynb")
    execute_notebook(
        folder / "unrun.ipynb", whole, kernel_name="python3", progress_bar=False
    )
    text = whole.read_text()
    notebook = nbformat.reads(text, as_version=4)
    for cell, (now, then) in zip(notebook.cells, EDITS.values(), strict=False):
        cell.outputs = edit(cell.outputs, now, then)
    notebook.cells[-1].outputs = [v4.new_output("stream", name="stderr", text="gone")]
    nbformat.write(notebook, edited)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml"]
    command += ["--rootdir", folder, "-rA", "--color=no", "-p", "no:cacheprovider"]
    command += [*recipe, whole, edited]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = re.findall(
        r"^(PASSED|FAILED) \S*?(\w+)\.ipynb::Cell (\d)", run.stdout, re.M
    )
    assert len(found) == 2 * len(CELLS), run.stdout[-3000:] + run.stderr
    return {(name, list(CELLS)[int(cell)]): said for said, name, cell in found}


def edit(outputs, now, then):
    """The outputs with one text replaced, wherever in their data it stands."""
    text = v4.writes(v4.new_notebook(cells=[v4.new_code_cell("", outputs=outputs)]))
    assert now in text
    return v4.reads(text.replace(now, then)).cells[0].outputs


@pytest.mark.parametrize("cell", CELLS)
def test_a_page_that_nobody_edited_passes(verdicts, cell):
    assert verdicts["whole", cell] == "PASSED"


@pytest.mark.parametrize("cell", CELLS)
def test_an_output_that_a_new_execution_does_not_give_fails(verdicts, cell):
    """A number, a table cell, a figure's data, a warning, and one that is gone."""
    assert verdicts["edited", cell] == "FAILED"


def test_no_page_asks_to_be_passed_over():
    asked = re.compile(r"nbval-(?!check-output)[a-z-]+|NBVAL_\w+|raises-exception")
    for page_id, path in pages.sources().items():
        assert asked.findall(path.read_text()) == [], page_id
