"""The set-up files say the same thing, and everything that they name exists."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GROUPS = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
LINES = [line for group in GROUPS for line in group]
WANTED = [Requirement(line) for line in LINES if not line.startswith("grokbook[")]


def test_lock_satisfies_pyproject_is_installed_and_closed():
    """Lines are exact pins, and what the locked packages need here is locked too."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    locked = {canonicalize_name(n): v for n, v in (pin.split("==") for pin in pins)}
    for wanted in WANTED:
        name = canonicalize_name(wanted.name)
        assert wanted.specifier.contains(locked[name]), wanted
    assert {name: version(name).split("+")[0] for name in locked} == locked
    every = (line for name in locked for line in distribution(name).requires or [])
    needs = [
        n
        for n in map(Requirement, every)
        if not n.marker or n.marker.evaluate({"extra": ""})
    ]
    floating = {canonicalize_name(need.name) for need in needs}
    # Accelerator libraries are pinned by torch itself, where a platform has them.
    floating = {n for n in floating if not n.startswith(("nvidia-", "cuda-", "triton"))}
    assert floating <= {*locked, "pip"}


def test_tools_of_the_makefile_are_installed():
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", (ROOT / "Makefile").read_text()))
    assert {"python", "ruff", "jupyter-book"} <= tools
    assert [t for t in tools if not (Path(sys.executable).parent / t).exists()] == []


def test_an_old_python_gives_one_sentence(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    command = ["make", "-C", str(tmp_path), "book", f"PYTHON={old}"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode != 0
    assert "needs Python 3.11 or newer" in made.stderr.splitlines()[0]
    assert not (tmp_path / ".venv").exists()
