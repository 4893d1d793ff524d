"""The README: its code runs, its links and commands exist."""

import re
import shlex
from pathlib import Path

import pytest
import torch

from grokbook import cli, papers

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_training_loop_runs_and_learns():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert "__main__" not in code
    torch.manual_seed(0)
    found = {}
    exec(compile(code, "README.md", "exec"), found)
    assert found["loss"].dtype == torch.float64
    assert float(found["loss"].detach()) < 1.0  # it starts near log 3 = 1.1


def test_links_and_pictures_exist():
    links = [link for link in re.findall(r"\]\((.+?)\)", TEXT) if "://" not in link]
    assert len(links) >= 4
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("line", re.findall(r"\.venv/bin/grokbook (.+)", TEXT))
def test_commands_parse(line):
    options = cli._parser().parse_args(shlex.split(line, comments=True))
    for name in getattr(options, "names", []):
        assert papers.names(name)
