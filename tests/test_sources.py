"""The digest of the code that trains and measures: what moves it and what does not."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import claimbook
import grokbook
from claimbook import digest, project, sources

NOTHING = [  # a comment, a docstring, blank lines, brackets
    ("grokbook/metrics/logits.py", "import torch\n", "import torch  # as above\n"),
    ("grokbook/losses.py", '"""', '"""Otherwise said. '),
    ("claimbook/engine/loop.py", "\n\n\n", "\n\n\n\n\n"),
    ("claimbook/engine/loop.py", "PATIENCE = 20", "PATIENCE = (20)"),
]
SOMETHING = [  # a number in the loop, a default of a measurement, a function more
    ("claimbook/engine/loop.py", "PATIENCE = (20)", "PATIENCE = (21)"),
    ("grokbook/observables.py", "probe_count=20", "probe_count=21"),
    ("grokbook/losses.py", "def ", "OTHER = 1\n\n\ndef "),
]


def test_what_trains_or_measures_changes_the_source_and_nothing_else_does(tmp_path):
    assert project.packages() == {
        package.__name__: Path(package.__file__).parent
        for package in (claimbook, grokbook)
    }
    copies = {name: tmp_path / name for name in project.packages()}
    for name, folder in project.packages().items():
        no_cache = shutil.ignore_patterns("*.pyc")
        shutil.copytree(folder, copies[name], ignore=no_cache)

    def change(file, old, new):
        """The digest after the first ``old`` in a file has become ``new``."""
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        return sources.digest_of(project.training_modules(), copies)

    digests = [change(*words) for words in NOTHING]
    assert digests == [project.source()] * len(NOTHING)
    digests += [change(*words) for words in SOMETHING]
    assert len({*digests}) == 1 + len(SOMETHING)


def test_the_closure_is_what_python_loads():
    """No more and no less, but for the faces of the packages."""
    code = f"import sys, {', '.join(project.training_modules())}; print(*sys.modules)"
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    ours = {n for n in loaded.split() if n.startswith(("grokbook.", "claimbook."))}
    late = {"claimbook.archive"}  # imported only where records have to be fetched
    closure = sources.imported_modules(
        project.training_modules(), project.packages()
    ).keys()
    assert late < closure and late | ours == closure


ASYNC = (
    '"""Doc."""\nasync def f(x: int, *, y=1):\n    """Doc."""\n    return [x, "a"]\n'
)
ARGUMENTS = "args=[arg(arg='x', annotation=Name(id='int'))], kwonlyargs=[arg(arg='y')]"
RETURN = "Return(value=List(elts=[Name(id='x'), Constant(value='a')]))"


def test_the_digest_of_code_is_that_with_which_functions_are_registered():
    found = digest.skeleton(ast.parse(ASYNC))
    arguments = f"arguments({ARGUMENTS}, kw_defaults=[Constant(value=1)])"
    function = f"AsyncFunctionDef(name='f', args={arguments}, body=[{RETURN}])"
    assert found == f"Module(body=[{function}])"
    assert digest.of_code([ast.parse("x = 1"), ast.parse("y")]) == "4a7f6428886b"


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
    found = sources.imported_modules(["grokbook.start"], {"grokbook": package})
    one = {"grokbook.one", *(f"grokbook.one.{n}" for n in ("two", "three", "four"))}
    assert found.keys() == one | {f"grokbook.{n}" for n in ("start", "five", "six")}
