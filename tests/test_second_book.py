"""A book of another field, made of the framework alone: tests/second_book."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from claimbook.project import CLAIMS_MIME

SOURCE = Path(__file__).parent / "second_book"
# A Python in which no module of this book's science can be imported.
WITHOUT_SCIENCE = """
import sys


class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("grokbook", "book"):
            raise ImportError(f"a second book needs no {name}")


sys.meta_path.insert(0, Refused())
"""


def test_it_is_trained_listed_executed_judged_and_built(tmp_path):
    home = tmp_path / "second"
    shutil.copytree(SOURCE, home)
    (home / "sitecustomize.py").write_text(WITHOUT_SCIENCE)
    away = {name: value for name, value in os.environ.items() if "GROKBOOK" not in name}
    framework = Path(__file__).parents[1] / "src"
    places = {"PYTHONPATH": f"{home}:{framework}", "GROKBOOK_HOME": str(home)}
    commit = {"GROKBOOK_COMMIT": "0123456789", "GROKBOOK_PROGRESS": "no"}

    def run(*words):
        """What a command prints."""
        done = subprocess.run(
            [Path(sys.executable).with_name(words[0]), *words[1:]],
            cwd=home,
            env=away | places | commit,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    how = "--scale=paper", "--record", "--processes=0"
    assert "6 members" in run("grokbook", "run", "descent", *how)
    assert "descent/race             paper     6/6   recorded" in run(
        "grokbook", "status"
    )
    page = home / "book" / "descent" / "race.py"
    run("jupytext", "--to", "ipynb", "--execute", str(page))
    cells = nbformat.read(page.with_suffix(".ipynb"), 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = [output["data"] for output in outputs if "data" in output]
    assert any("image/png" in data for data in shown)
    (told,) = (data[CLAIMS_MIME]["claims"] for data in shown if CLAIMS_MIME in data)
    (claim,) = told
    assert claim["verdict"].startswith("holds") and claim["n"] == 3
    run("jupyter-book", "build", ".", "-W", "--keep-going")
    html = (home / "_build/html/book/descent/race.html").read_text(encoding="utf-8")
    assert "Gradient descent is ahead of Adam by" in html
