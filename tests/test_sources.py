"""The digest of the code that trains and measures: what moves it and what does not."""

import shutil
import subprocess
import sys

import pytest

from claimbook import project, sources

NOTHING = {
    "a comment": (
        "grokbook/metrics/logits.py",
        "import torch\n",
        "import torch  # as above\n",
    ),
    "a docstring": ("grokbook/losses.py", '"""', '"""Otherwise said. '),
    "blank lines": ("claimbook/engine/loop.py", "\n\n\n", "\n\n\n\n\n"),
    "brackets": ("claimbook/engine/loop.py", "PATIENCE = 20", "PATIENCE = (20)"),
    "the command": ("claimbook/cli.py", "LINE = ", "OTHER = 1\nLINE = "),
    "the store": (
        "claimbook/records/record.py",
        "def load(",
        "OTHER = 1\n\n\ndef load(",
    ),
    "the pool": ("claimbook/engine/pool.py", "STACK_LIMIT = 128", "STACK_LIMIT = 64"),
    "the face of the package": (
        "grokbook/__init__.py",
        "import ",
        "import ast\nimport ",
    ),
}
SOMETHING = {
    "a measurement": ("grokbook/metrics/logits.py", "dim=-1", "dim=-2"),
    "an observable": ("grokbook/observables.py", "probes=20", "probes=21"),
    "a default of a loss": ("grokbook/losses.py", "def ", "OTHER = 1\n\n\ndef "),
    "a data set": ("grokbook/datasets/algorithmic.py", "return", "return 1 *"),
    "a network": ("grokbook/models/mlp.py", "class ", "OTHER = 1\n\n\nclass "),
    "what all hand each other": (
        "claimbook/protocol.py",
        "def ",
        "OTHER = 1\n\n\ndef ",
    ),
    "the loop": ("claimbook/engine/loop.py", "PATIENCE = 20", "PATIENCE = 21"),
}


@pytest.fixture
def packages(tmp_path):
    """Copies of both packages that can be changed, by name."""
    copies = {name: tmp_path / name for name in project.packages()}
    for name, folder in project.packages().items():
        no_cache = shutil.ignore_patterns("*.pyc")
        shutil.copytree(folder, copies[name], ignore=no_cache)
    return copies


def changed(packages, file, old, new):
    """The digest after the first ``old`` in a file has become ``new``."""
    package, _, rest = file.partition("/")
    path = packages[package] / rest
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return sources.digest_of(project.trains(), packages)


@pytest.mark.parametrize("change", NOTHING.values(), ids=NOTHING.keys())
def test_what_neither_trains_nor_measures_changes_nothing(packages, change):
    assert changed(packages, *change) == project.source()


@pytest.mark.parametrize("change", SOMETHING.values(), ids=SOMETHING.keys())
def test_what_trains_or_measures_changes_the_source(packages, change):
    assert changed(packages, *change) != project.source()


def test_the_closure_is_what_python_loads():
    """No more and no less, but for the faces of the packages."""
    code = f"import sys, {', '.join(project.trains())}; print(*sys.modules)"
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    ours = {n for n in loaded.split() if n.startswith(("grokbook.", "claimbook."))}
    late = {"claimbook.archive"}  # imported only where records have to be fetched
    closure = sources.closure(project.trains(), project.packages()).keys()
    assert late < closure and late | ours == closure


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
    found = sources.closure(["grokbook.start"], {"grokbook": package})
    one = {"grokbook.one", *(f"grokbook.one.{n}" for n in ("two", "three", "four"))}
    assert found.keys() == one | {f"grokbook.{n}" for n in ("start", "five", "six")}
