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
CELLS = {  # code, what it shows, and what an edited notebook has instead
    "number": ("print(f'test accuracy {0.9876:.2%}')", "98.76%", "98.77%"),
    "table": (
        "from grokbook import tables\ntables.grid(['n'], [['34,500']])",
        "<td>34,500</td>",
        "<td>34,600</td>",
    ),
    "digest": (
        "from IPython.display import display\n"
        "figure = {'application/vnd.grokbook.figure+json': {'sha256': 'ab12'}}\n"
        "display(figure | {'text/plain': 'a figure'}, raw=True)",
        "ab12",
        "ab13",
    ),
    "warning": (
        "import warnings\nwarnings.warn('logits overflow')",
        "logits overflow",
        "logits underflow",
    ),
    "silence": ("quiet = 1", "[]", '[{"output_type": "stream"}]'),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """(notebook, cell) -> what nbval says, of one untouched and one edited notebook."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"(-p tests\.warm .*)\$\(NOTEBOOKS\)", text)
    folder = tmp_path_factory.mktemp("nbval")
    whole, edited = folder / "whole.ipynb", folder / "edited.ipynb"
    cells = [v4.new_code_cell(code) for code, _, _ in CELLS.values()]
    nbformat.write(v4.new_notebook(cells=cells), folder / "unrun.ipynb")
    how = {"kernel_name": "python3", "progress_bar": False}
    execute_notebook(folder / "unrun.ipynb", whole, **how)
    notebook = nbformat.read(whole, as_version=4)
    for cell, (_, now, then) in zip(notebook.cells, CELLS.values(), strict=True):
        text = v4.writes(v4.new_notebook(cells=[cell]))
        assert now in text
        cell.outputs = v4.reads(text.replace(now, then)).cells[0].outputs
    notebook.cells[-1].outputs = [v4.new_output("stream", name="stderr", text="gone")]
    nbformat.write(notebook, edited)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-rA"]
    command += ["--rootdir", folder, "--color=no", "-p", "no:cacheprovider"]
    command += [*line.split(), whole, edited]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = r"^(PASSED|FAILED) \S*?(\w+)\.ipynb::Cell (\d)"
    found = re.findall(said, run.stdout, re.M)
    assert len(found) == 2 * len(CELLS), run.stdout[-3000:] + run.stderr
    return {(name, list(CELLS)[int(cell)]): said for said, name, cell in found}


def test_a_page_passes_until_an_output_is_edited(verdicts):
    """A number, a table cell, a figure's data, a warning, and one that is gone."""
    for cell in CELLS:
        assert verdicts["whole", cell] == "PASSED", cell
        assert verdicts["edited", cell] == "FAILED", cell


def test_no_page_asks_to_be_passed_over():
    asked = re.compile(r"nbval-(?!check-output)[a-z-]+|NBVAL_\w+|raises-exception")
    for page_id, path in pages.sources().items():
        assert asked.findall(path.read_text()) == [], page_id
