"""The arrows that must not exist, and what each part of the two packages may import."""

import ast
import subprocess
import sys
from pathlib import Path

import claimbook

SOURCE = Path(claimbook.__file__).parents[1]
FRAMEWORK, SCIENCE = SOURCE / "claimbook", SOURCE / "grokbook"
BOOK = SOURCE.parent / "book"
EXPERIMENTS = sorted(BOOK.glob("*/experiments.py"))
PAGES = sorted({*BOOK.glob("[a-z]*/*.py")} - {*EXPERIMENTS})
CODE = sorted([*FRAMEWORK.rglob("*.py"), *SCIENCE.rglob("*.py")])


def imported(path):
    """Modules that a file names in its imports, those inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{name.name}" for name in node.names)
    return found


def files(package, part):
    path = package / f"{part}.py"
    return [path] if path.exists() else sorted((package / part).glob("*.py"))


def arrows(package, part):
    """Modules of the two packages that a part imports, with where."""
    return {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in files(package, part)
        for name in imported(path)
        if name.startswith(("claimbook.", "grokbook."))
    }


def rooms(package):
    inside = [*package.glob("*.py"), *(p.parent for p in package.glob("*/__init__.py"))]
    return sorted(p.stem for p in inside if p.stem not in ("__init__", "__main__"))


# Of the framework the science knows what learner and science hand each other, and the
# sentences of errors; its data sets lie where those of a book lie.
LEAVES = {"errors", "protocol"}
MAY_IMPORT = {
    "datasets": {"project"},
    "models": {"losses"},
    "metrics": {"losses"},
    "theory": {"losses"},
    "anywhere": {"losses"},
    "penalties": {"losses"},
    "optimizers": {"losses"},
    "observables": {"metrics", "models", "observing"},
    "instability": {"evidence"},  # reads runs, as a page does
}


def test_the_science_knows_only_itself_and_what_it_hands_to_the_learner():
    for part in rooms(SCIENCE):
        allowed = {part} | LEAVES | MAY_IMPORT.get(part, set())
        assert files(SCIENCE, part)
        for path, name in arrows(SCIENCE, part):
            assert name.split(".")[1] in allowed, f"{path} imports {name}"


def test_the_framework_knows_no_book_and_no_science():
    for path in CODE:
        named = {name.partition(".")[0] for name in imported(path)}
        assert "book" not in named, path
        assert FRAMEWORK not in path.parents or "grokbook" not in named, path
    papers = "prieto|singh|liu|tiwari|grokking|slingshot|stablemax"
    for path in FRAMEWORK.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not [n for n in names for p in papers.split("|") if p in n.lower()], path


def test_experiments_are_data():
    for part, known in (
        ("experiment", {"canonical", "errors"}),
        ("canonical", {"project"}),
    ):
        assert {name.split(".")[1] for _, name in arrows(FRAMEWORK, part)} == known
    assert EXPERIMENTS
    for path in EXPERIMENTS:
        ours = {n for n in imported(path) if n.startswith(("grokbook", "claimbook"))}
        allowed = {f"claimbook.{part}" for part in ("experiment", "papers", "project")}
        assert {".".join(name.split(".")[:2]) for name in ours} <= allowed, path


def test_nothing_flows_back():
    for part, forbidden in {
        "records": {"engine", "names", "papers", "evidence"},
        "engine": {"papers", "evidence", "claims", "tables", "plots"},
        "papers": {"engine", "names", "evidence", "claims"},
        "claims": {"engine", "names"},
        "tables": {"engine", "names"},
        "plots": {"engine", "names"},
        "evidence": {"names"},
    }.items():
        assert files(FRAMEWORK, part)
        for path, name in arrows(FRAMEWORK, part):
            assert name.split(".")[1] not in forbidden, f"{path} imports {name}"
    assert PAGES  # which read records and never the roof
    for path in PAGES:
        for name in imported(path):
            assert not name.startswith(("book.", "claimbook.cli")), path


def test_nothing_that_the_package_checks_is_left_out_by_an_optimizing_python():
    """`python -O` runs no assertion, so validation is made of other statements."""
    for path in CODE:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asserted = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Assert)]
        assert not asserted, f"{path}, lines {asserted}"
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        assert "__debug__" not in names, path


def test_no_circle_of_rooms_in_either_package():
    """A room stands above all that it imports; `papers` says `claimbook.papers`."""
    for package in (FRAMEWORK, SCIENCE):
        below = {
            part: {name.split(".")[1] for _, name in arrows(package, part)}
            & {*rooms(package)} - {part}
            for part in rooms(package)
        }
        while below:
            floor = {part for part, needs in below.items() if not needs & below.keys()}
            assert floor, f"a circle among {below}"
            below = {part: needs for part, needs in below.items() if part not in floor}


def loaded(code, before="pass"):
    """Modules that some imports bring into a fresh process."""
    code = f"import sys; {before}; known = {{*sys.modules}}; {code}"
    code += "; print(*sys.modules.keys() - known)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.splitlines()[-1].split())


def test_science_brings_torch_and_numpy_alone():
    apart = {"instability"}  # reads runs, which are pandas frames
    parts = [f"grokbook.{part}" for part in rooms(SCIENCE) if part not in apart]
    more = loaded(f"import {', '.join(parts)}", before="import torch, numpy")
    foreign = {name.partition(".")[0] for name in more}
    third = {"pandas", "pyarrow", "safetensors", "pooch", "PIL", "tiktoken", "scipy"}
    third |= {"matplotlib", "IPython", "tqdm", "yaml"}
    assert not foreign & third
    framework = {name for name in more if name.startswith("claimbook.")}
    leaves = {"errors", "protocol", "observing", "project", "sources", "digest"}
    leaves |= {"archive"}  # where a project may lie
    assert framework <= {f"claimbook.{leaf}" for leaf in leaves}


def test_reading_a_record_brings_no_torch():
    """So `grokbook list` answers at once: it only looks at records."""
    code = "from claimbook import cli, papers; r = papers.record('singh2026/fig02'); "
    code += "r.series('M', 'train_loss'); assert cli.main(['list', 'singh2026']) == 0"
    found = loaded(code)
    assert "pandas" in found
    assert not found & {"torch", "matplotlib", "papermill", "claimbook.engine"}
    keys = "from claimbook.experiment import Arm, Spec; "
    keys += "Arm('a', *[Spec('x')] * 4, 1, 1).training_key"
    assert not loaded(keys) & {"torch", "numpy", "pandas"}
