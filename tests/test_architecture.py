"""The arrows that must not exist, and what each part of the package may import."""

import ast
import subprocess
import sys
from pathlib import Path

import grokbook

ROOT = Path(grokbook.__file__).parent
BOOK = ROOT.parents[1] / "book"
EXPERIMENTS = sorted(BOOK.glob("*/experiments.py"))
PAGES = sorted({*BOOK.glob("[a-z]*/*.py")} - {*EXPERIMENTS})


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


def files(part):
    path = ROOT / f"{part}.py"
    return [path] if path.exists() else sorted((ROOT / part).glob("*.py"))


def arrows(part):
    """Modules of ours that a part imports, with where."""
    return {
        (path.relative_to(ROOT).as_posix(), name.removeprefix("grokbook."))
        for path in files(part)
        for name in imported(path)
        if name.startswith("grokbook.")
    }


SCIENCE = ["losses", "penalties", "optimizers", "schedules", "metrics"]


def test_the_science_stands_alone_and_experiments_are_data():
    more = {"datasets": ["project"], "models": ["losses"], "metrics": ["losses"]}
    more |= {"observables": ["metrics", "models"]}
    for part in [*SCIENCE, "models", "datasets", "observables"]:
        allowed = {part, "errors", *more.get(part, [])}
        assert files(part)
        for path, name in arrows(part):
            assert name.partition(".")[0] in allowed, f"{path} imports {name}"
    assert {name for _, name in arrows("experiment")} == {"canonical"}
    assert arrows("canonical") == set()
    assert EXPERIMENTS
    for path in EXPERIMENTS:
        ours = {name for name in imported(path) if name.startswith("grokbook")}
        assert {name.split(".")[1] for name in ours} <= {"experiment", "papers"}, path


def test_nothing_flows_back_or_knows_the_book():
    for part, forbidden in {
        "records": {"engine", "names", "papers", "evidence", "models"},
        "engine": {"papers", "evidence", "claims", "tables", "plots"},
        "papers": {"engine", "names", "evidence", "claims", "models"},
        "claims": {"engine", "names"},
        "tables": {"engine", "names"},
        "plots": {"engine", "names"},
        "evidence": {"names"},
    }.items():
        assert files(part)
        for path, name in arrows(part):
            assert name.partition(".")[0] not in forbidden, f"{path} imports {name}"
    for path in sorted(ROOT.rglob("*.py")):
        assert "book" not in {name.partition(".")[0] for name in imported(path)}, path
    assert PAGES  # which read records and never the roof
    for path in PAGES:
        for name in imported(path):
            assert not name.startswith(("book.", "grokbook.cli")), path


def test_nothing_that_the_package_checks_is_left_out_by_an_optimizing_python():
    """`python -O` runs no assertion, so validation is made of other statements."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asserted = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Assert)]
        assert not asserted, f"{path}, lines {asserted}"
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        assert "__debug__" not in names, path


def rooms():
    found = [*ROOT.glob("*.py"), *(path.parent for path in ROOT.glob("*/__init__.py"))]
    return sorted(p.stem for p in found if p.stem not in ("__init__", "__main__"))


def test_the_house_has_at_most_eight_floors_and_no_circle():
    """A room stands above all that it imports; `papers` says `grokbook.papers`."""
    below = {
        part: {name.partition(".")[0] for _, name in arrows(part)} & {*rooms()} - {part}
        for part in rooms()
    }
    floors = []
    while below:
        floor = {part for part, needs in below.items() if not needs & below.keys()}
        assert floor, f"a circle among {below}"
        floors.append(sorted(floor))
        below = {part: needs for part, needs in below.items() if part not in floor}
    assert len(floors) <= 8, floors
    level = {part: k for k, floor in enumerate(floors) for part in floor}
    assert level["observables"] > level["metrics"]
    assert level["engine"] > level["names"] > level["observables"]


def loaded(code):
    """Modules that a fresh process has after some imports."""
    code += "; import sys; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.splitlines()[-1].split())


def test_science_brings_torch_and_numpy_alone():
    rooms = ", ".join(f"grokbook.{p}" for p in [*SCIENCE, "models", "datasets"])
    rooms += ", grokbook.observables"
    more = loaded(f"import torch, numpy, {rooms}") - loaded("import torch, numpy")
    foreign = {name.partition(".")[0] for name in more} - {"grokbook"}
    third = {"pandas", "pyarrow", "safetensors", "pooch", "PIL", "tiktoken", "scipy"}
    third |= {"matplotlib", "IPython", "tqdm"}
    assert not foreign & third


def test_reading_a_record_brings_no_torch():
    """So `grokbook list` answers at once: it only looks at records."""
    code = "from grokbook import papers; r = papers.record('singh2026/fig02'); "
    found = loaded(f"{code} r.series('M', 'train_loss')")
    assert "pandas" in found
    assert not found & {"torch", "matplotlib", "papermill", "grokbook.engine"}
    found = loaded("from grokbook import cli; assert cli.main(['list']) == 0")
    assert not found & {"torch", "grokbook.engine"}
