"""The digest of the code that trains and measures: what moves it and what does not."""

import shutil
import subprocess
import sys

import pytest

from grokbook import project, sources

NOTHING = {
    "a comment": ("metrics/logits.py", "import torch\n", "import torch  # as above\n"),
    "a docstring": ("losses.py", '"""', '"""Otherwise said. '),
    "blank lines": ("engine/loop.py", "\n\n\n", "\n\n\n\n\n"),
    "brackets": ("engine/loop.py", "PATIENCE = 20", "PATIENCE = (20)"),
    "the command": ("cli.py", "LINE = ", "OTHER = 1\nLINE = "),
    "the store": ("records/record.py", "def load(", "OTHER = 1\n\n\ndef load("),
    "the pool": ("engine/pool.py", "STACK_LIMIT = 128", "STACK_LIMIT = 64"),
    "the face of the package": ("__init__.py", "import ", "import ast\nimport "),
}
SOMETHING = {
    "a measurement": ("metrics/logits.py", "dim=-1", "dim=-2"),
    "an observable": ("observables.py", "probes=20", "probes=21"),
    "a default of a loss": ("losses.py", "def ", "OTHER = 1\n\n\ndef "),
    "a data set": ("datasets/algorithmic.py", "return", "return 1 *"),
    "a network": ("models/taps.py", "def ", "OTHER = 1\n\n\ndef "),
    "the loop": ("engine/loop.py", "PATIENCE = 20", "PATIENCE = 21"),
}


@pytest.fixture
def package(tmp_path):
    """A copy of the package that can be changed."""
    copy = tmp_path / "grokbook"
    shutil.copytree(sources.PACKAGE, copy, ignore=shutil.ignore_patterns("*.pyc"))
    return copy


def changed(package, file, old, new):
    """The digest after the first ``old`` in a file has become ``new``."""
    path = package / file
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return sources.digest_of(project.TRAINS, package)


@pytest.mark.parametrize("change", NOTHING.values(), ids=NOTHING.keys())
def test_what_neither_trains_nor_measures_changes_nothing(package, change):
    assert changed(package, *change) == project.source()


@pytest.mark.parametrize("change", SOMETHING.values(), ids=SOMETHING.keys())
def test_what_trains_or_measures_changes_the_source(package, change):
    assert changed(package, *change) != project.source()


def test_the_closure_is_what_python_loads():
    """No more and no less, but for the face of the package."""
    code = f"import sys, {project.TRAINS}; print(*sys.modules)"
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    ours = {name for name in loaded.split() if name.startswith("grokbook.")}
    assert ours == sources.closure(project.TRAINS).keys()


def test_imports_of_every_kind_are_followed(tmp_path):
    package = tmp_path / "grokbook"
    files = {
        "__init__.py": "from grokbook import face",
        "face.py": "",
        "start.py": "def late():\n    from grokbook.one import two, name",
        "one/__init__.py": "import json",
        "one/two.py": "from . import three\nfrom .four import name\nimport numpy",
        "one/three.py": "from .. import five",
        "one/four.py": "import grokbook.six",
        "five.py": "from grokbook import start",
        "six.py": "",
        "never.py": "",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    found = sources.closure("grokbook.start", package)
    one = {"grokbook.one", *(f"grokbook.one.{n}" for n in ("two", "three", "four"))}
    assert found.keys() == one | {f"grokbook.{n}" for n in ("start", "five", "six")}
