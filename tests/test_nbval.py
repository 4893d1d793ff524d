"""`make test` compares every output of every page with a fresh execution."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import v4

from book._ext import pages

ROOT = Path(__file__).parents[1]
FIGURE = "application/vnd.grokbook.figure+json"
SHOW = "from IPython.display import display\ndisplay({%r: %r}, raw=True)"
WARN = "warnings.warn('logits overflow')"
WARNED = f"ipykernel_1/2.py:2: UserWarning: logits %s\n  {WARN}\n"
CELL, DIGEST = "<td>34,500</td>", {"sha256": "ab12"}
CELLS = {  # code -> the kind of its output, what that holds, and an edited one
    "print(f'{0.9876:.2%}')": ("stdout", "98.76%\n", "98.77%\n"),
    SHOW % ("text/html", CELL): ("text/html", CELL, "<td>34,600</td>"),
    SHOW % (FIGURE, DIGEST): (FIGURE, DIGEST, {"sha256": "ab13"}),
    f"import warnings\n{WARN}": ("stderr", WARNED % "overflow", WARNED % "underflow"),
    "quiet = 1": ("stderr", "", "gone"),
}


def test_an_output_passes_until_it_is_edited(tmp_path):
    """A number, a table cell, a figure's data, a warning, and one that is gone."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"(-p tests\.warm .*)\$\(NOTEBOOKS\)", text)
    cells = []
    for code, (kind, *held) in CELLS.items():
        for one in held:
            how = [{kind: one}] if "/" in kind else []
            more = {} if how else {"name": kind, "text": one}
            output = v4.new_output("display_data" if how else "stream", *how, **more)
            shown = {"execution_count": 1, "outputs": [output] if one else []}
            cells.append(v4.new_code_cell(code, **shown))
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "page.ipynb")
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-rA"]
    command += ["--rootdir", tmp_path, "--color=no", "-p", "no:cacheprovider"]
    command += [*line.split(), tmp_path / "page.ipynb"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = re.findall(r"^(PASSED|FAILED) \S*::Cell (\d+)", run.stdout, re.M)
    found = {int(place): word for word, place in said}
    right = dict(enumerate(["PASSED", "FAILED"] * len(CELLS)))
    assert found == right, run.stdout[-3000:] + run.stderr
    assert "WARNING" not in run.stdout + run.stderr  # as of kernels on TCP


def test_no_page_asks_to_be_passed_over():
    asked = re.compile(r"nbval-(?!check-output)[a-z-]+|NBVAL_\w+|raises-exception")
    for page_id, path in pages.sources().items():
        assert asked.findall(path.read_text()) == [], page_id
