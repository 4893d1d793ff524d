"""The README: its code runs, its links and commands exist."""

import re
import runpy
import shlex
import textwrap
from pathlib import Path

import torch

from grokbook import cli, papers
from grokbook.engine import loop
from grokbook.papers import Registry, Size

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_training_loop_runs_and_learns():
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert "__main__" not in code
    torch.manual_seed(0)
    found = {}
    exec(compile(code, "README.md", "exec"), found)
    assert found["loss"].dtype == torch.float64
    assert float(found["loss"].detach()) < 1.0  # it starts near log 3 = 1.1


def test_the_new_figure_is_twenty_lines_and_trains():
    """In a paper file and nowhere else."""
    code, claim = re.findall(
        r"^   ```python\n(.*?)^   ```", TEXT, re.DOTALL | re.MULTILINE
    )
    code = textwrap.dedent(code)
    assert len(code.splitlines()) <= 22
    compile(textwrap.dedent(claim), "README.md", "exec")
    new = Registry("new2026", seeds=(0,), count=Size(1, 1))
    of_paper = runpy.run_path(ROOT / "book/prieto2025/experiments.py")
    names = of_paper | {"__name__": "new", "EXPERIMENTS": new}
    exec(compile(code, "README.md", "exec"), names)
    found = new["fig99"]("smoke")
    results = [loop.train([(one, 0)])[0] for one in found.arms]
    for result in results:
        assert len(result.trace) == found.arms[0].epochs
        assert result.rows[-1]["preconditioned_sharpness"] > 0
    assert results[0].trace[1:] != results[1].trace[1:]


def test_links_and_pictures_exist_and_commands_parse():
    links = [link for link in re.findall(r"\]\((.+?)\)", TEXT) if "://" not in link]
    assert len(links) >= 4
    assert [link for link in links if not (ROOT / link).exists()] == []
    lines = re.findall(r"\.venv/bin/grokbook (.+)", TEXT)
    assert len(lines) > 3
    for line in lines:
        options = cli._parser().parse_args(shlex.split(line, comments=True))
        for name in getattr(options, "names", []):
            assert papers.names(name), line
