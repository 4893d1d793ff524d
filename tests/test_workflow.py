"""The workflow: its rules call what there is, and a killed job loses nothing."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from skips import skip_without

from claimbook import cli, papers, records
from claimbook.engine import pool

ROOT = Path(__file__).parents[1]
SNAKEFILE = (ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8")
NAME = "tiwari2026/tab08"  # at smoke scale two members, so two jobs


def test_what_the_workflow_says_of_itself_exists_and_is_pinned():
    """Its README: commands that parse, settings that are read, files that are there."""
    text = (ROOT / "workflow" / "README.md").read_text(encoding="utf-8")
    for line in re.findall(r"\.venv/bin/grokbook (.+)", text):
        cli._parser().parse_args(shlex.split(line, comments=True))
    settings = (ROOT / "workflow" / "config.yaml").read_text(encoding="utf-8")
    known = set(re.findall(r"^(\w+):", settings, re.MULTILINE))
    assert known == set(re.findall(r'config\["(\w+)"\]', SNAKEFILE.replace("'", '"')))
    for given in re.findall(r"--config (.+)", text):
        assert {word.partition("=")[0] for word in shlex.split(given)} <= known
    for link in re.findall(r"\]\((\w.+?)\)", text):
        assert "://" in link or (ROOT / "workflow" / link).exists()
    lines = (ROOT / "workflow" / "requirements.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = {line.partition("==")[0] for line in lines}
    assert {"snakemake", "snakemake-executor-plugin-slurm"} <= pinned
    assert "snakemake" not in (ROOT / "requirements.txt").read_text()


@pytest.fixture
def workflow(tmp_path):
    """Calls Snakemake on some members that meet the misfortune named."""
    told = os.environ.get("GROKBOOK_SNAKEMAKE")
    own = ROOT / "workflow" / ".venv" / "bin" / "snakemake"
    snakemake = told or (str(own) if own.exists() else shutil.which("snakemake"))
    if not snakemake:
        skip_without("Snakemake", remedy="make workflow")
    settings = {"papers": NAME, "scale": "smoke", "into": tmp_path / "in to"}
    settings["grokbook"] = f"{sys.executable} {ROOT / 'tests' / 'unlucky.py'}"
    settings["results"] = tmp_path / "my results"
    at = {"UNLUCKY": str(tmp_path), "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    at |= {"GROKBOOK_COMMIT": "0123456789"}  # records of other code are not merged
    at |= {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def call(*words, misfortune="", retries=0):
        for what in filter(None, [misfortune, "story"]):
            (tmp_path / what).write_text("")
        told = [f"{k}={v}" for k, v in (settings | {"retries": retries}).items()]
        words = [snakemake, "--cores", "2", "--nolock", *words, "--config", *told]
        how = {"cwd": ROOT, "env": os.environ | at}
        done = subprocess.run(words, capture_output=True, text=True, **how)
        return done, (tmp_path / "story").read_text().splitlines()

    return call


def test_a_killed_job_goes_on_and_the_records_are_those_of_one_run(workflow, tmp_path):
    """Signal 9 in mid-training, then a budget that ends too early, then its end."""
    done, story = workflow("--keep-going", misfortune="kill")
    assert done.returncode != 0, done.stderr
    (killed,) = [line for line in story if line.startswith("killed")]
    assert "merge 0" not in story
    assert not (tmp_path / "in to").exists()
    done, story = workflow(misfortune="hurry", retries=1)
    assert done.returncode == 0, done.stderr
    assert {"run 75", killed.replace("killed", "resumed"), "merge 0"} <= set(story)

    one = papers.get(NAME, "smoke")
    merged = records.load(one, tmp_path / "in to")
    straight = pool.run(one, device="cpu", out=tmp_path / "straight", processes=1)
    assert merged.frame.equals(straight.frame)

    done, story = workflow()
    assert (done.returncode, story) == (0, ["run 0"])  # what is missing: nothing
    assert "nothing is missing" in done.stdout
    assert workflow("--lint")[0].returncode == 0
