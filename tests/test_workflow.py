"""Beyond one machine: the plan as jobs, and the workflow that hands them out."""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import arm, experiment

from grokbook import cli, papers, records
from grokbook.engine import cost, jobs, pool
from grokbook.errors import UnknownName

ROOT = Path(__file__).parents[1]
SNAKEFILE = (ROOT / "workflow" / "Snakefile").read_text(encoding="utf-8")
NAME = "tiwari2026/tab08"  # at smoke scale two members, so two jobs


# The plan ----------------------------------------------------------------------------


def selected(job):
    """The members that the command line makes of a job's words, by experiment."""
    options = cli._parser().parse_args(job.words())
    assert options.device == job.device
    for name in options.names:
        one = papers.get(name, options.scale)
        for member, seed in one.members():
            fits = any(fnmatch.fnmatch(member.name, p) for p in options.arms)
            if fits and seed in options.seeds:
                yield name, member.name, seed


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_missing_member_is_in_one_job(device, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "seconds", lambda members, on: float(len(members)))
    every = [papers.get(name, "smoke") for name in papers.names()]
    wanted = {(e.name, a.name, seed) for e in every for a, seed in e.members()}
    found = jobs.jobs(every, device, tmp_path)
    assert Counter(one for job in found for one in selected(job)) == Counter(wanted)
    assert len({job.name for job in found}) == len(found)
    assert all(re.fullmatch(r"[\w.-]+", job.name) for job in found)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def known(monkeypatch):
    """Puts an experiment of a test into the book."""

    def put(one):
        paper, _, page = one.name.partition("/")
        monkeypatch.setitem(papers.PAPERS[paper], page, lambda scale: one)
        return one

    return put


def test_a_job_holds_every_arm_with_every_seed(tmp_path, known):
    """Where one arm lacks other seeds than the next, they are two jobs."""
    tiny = known(experiment(arm("a [1]"), arm("a 1"), seeds=(0, 1, 2)))
    how = {"device": "cpu", "processes": 0, "out": tmp_path}
    pool.run(tiny, arms="a 1", seeds=[1], **how)
    found = jobs.jobs([tiny], "cuda", tmp_path)
    assert sorted((job.arms, job.seeds) for job in found) == [
        (["a 1"], [0, 2]),
        (["a [1]"], [0, 1, 2]),
    ]
    for job in found:  # a bracket in a name is no pattern
        assert {name for _, name, _ in selected(job)} == set(job.arms)
    on_cpu = jobs.jobs([tiny], "cpu", tmp_path)
    assert sorted(len(job.arms) * len(job.seeds) for job in on_cpu) == [1] * 5


def test_the_work_that_is_left_keeps_its_names(tmp_path, known):
    tiny = known(experiment(arm("a"), arm("b", epochs=20)))
    before = {job.name: job for job in jobs.jobs([tiny], "cuda", tmp_path)}
    pool.run(tiny, device="cpu", processes=0, out=tmp_path, arms="a")
    (left,) = jobs.jobs([tiny], "cuda", tmp_path)
    assert before[left.name] == left
    other = experiment(arm("a"), arm("b", epochs=21))
    names = {job.name for job in jobs.jobs([other], "cuda", tmp_path)}
    assert len(names) == 1 and not names & before.keys()


def test_members_of_two_experiments_are_trained_once(tmp_path, known):
    both = [known(experiment(name=f"prieto2025/fig06{x}")) for x in "bc"]
    found = jobs.jobs(both, "cuda", tmp_path)
    assert [job.experiments for job in found] == [[one.name for one in both]]
    words = [*found[0].words(), "--device=cpu", "--processes=0", f"--out={tmp_path}"]
    assert cli.main(words) == 0
    assert jobs.jobs(both, "cuda", tmp_path) == []


def test_the_command_prints_json_and_names_other_machines(capsys, known, tmp_path):
    known(experiment(arm("β"), seeds=(0,)))
    words = ["plan", "prieto2025/fig06b", "--scale", "smoke", "--out", str(tmp_path)]
    assert cli.main([*words, "--device", "cuda"]) == 0  # which this one need not have
    (job,) = json.loads(capsys.readouterr().out)
    assert (job["arms"], job["members"], job["matmul"]) == (["β"], 1, "cuBLAS")
    assert job["seconds"] >= 0
    with pytest.raises(UnknownName, match="unknown device 'auto': use one of cpu"):
        jobs.jobs([], "auto")


def test_several_patterns_of_arms(tmp_path, known, capsys):
    known(experiment(arm("a"), arm("b"), arm("c"), seeds=(0,)))
    words = ["run", "prieto2025/fig06b", "--scale=smoke", "--processes=0"]
    words += [f"--out={tmp_path}", "--device=cpu", "--arms=a"]
    assert cli.main([*words, "--arms=[c]", "--dry-run"]) == 0
    assert "2 members" in capsys.readouterr().out
    assert cli.main([*words, "--arms=[c]"]) == 0
    found = records.load(papers.get("prieto2025/fig06b", "smoke"), tmp_path)
    assert found.missing == [("b", 0)]
    assert cli.main([*words, "--arms=d"]) == 2
    assert "no arm fits 'd': there are a, b, c" in capsys.readouterr().err


# The workflow ------------------------------------------------------------------------


def commands():
    """What the rules call, with a job's values in place."""
    job = jobs.Job("x-1", [NAME], "smoke", "cpu", "torch", ["a [b] 'c'"], [42, 0], 1.0)
    values = {
        "params": SimpleNamespace(
            grokbook="grokbook",
            words=shlex.join(job.words()),
            budget=90.0,
            folder="results/a b",
            into="data/records",
        ),
        "log": "some.log",
        "input": "results/done/x-1 results/done/x-2",
        "output": "results/done/x-1",
    }
    for strings in re.findall(
        r'((?:"\{params\.grokbook\}[^"]*"\s*)(?:"[^"]*"\s*)*)', SNAKEFILE
    ):
        text = "".join(re.findall(r'"([^"]*)"', strings)).replace(":q}", "}")
        values["params"].folder = "results/a"
        yield re.split(r" (?:2?>|&&|\|)", text.format(**values))[0]


def test_the_rules_call_what_there_is():
    found = [cli._parser().parse_args(shlex.split(one)[1:]) for one in commands()]
    assert [options.command for options in found] == ["merge", "run"]
    merge, run = found
    assert (len(merge.folders), run.seeds, run.time_budget) == (2, [42, 0], 90.0)
    assert fnmatch.fnmatch("a [b] 'c'", run.arms[0])


def test_what_the_workflow_says_of_itself_exists():
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


def test_the_environment_is_pinned_and_not_the_book_s():
    lines = (ROOT / "workflow" / "requirements.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = {line.partition("==")[0] for line in lines}
    assert {"snakemake", "snakemake-executor-plugin-slurm"} <= pinned
    assert "snakemake" not in (ROOT / "requirements.txt").read_text()


@pytest.fixture(scope="module")
def snakemake():
    """The command, or a skip that says how to get it."""
    told = os.environ.get("GROKBOOK_SNAKEMAKE")
    own = ROOT / "workflow" / ".venv" / "bin" / "snakemake"
    found = told or (str(own) if own.exists() else shutil.which("snakemake"))
    if not found:
        pytest.skip("no snakemake: `make workflow` installs it into workflow/.venv")
    return found


@pytest.fixture
def workflow(snakemake, tmp_path):
    """Calls Snakemake on a workflow of two jobs that meet the misfortunes named."""
    settings = {
        "papers": NAME,
        "scale": "smoke",
        "grokbook": f"{sys.executable} {ROOT / 'tests' / 'unlucky.py'}",
        "results": tmp_path / "my results",
        "into": tmp_path / "in to",
    }
    at = {"UNLUCKY": str(tmp_path), "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    at |= {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def call(*words, misfortune="", retries=0):
        for what in filter(None, [misfortune, "story"]):
            (tmp_path / what).write_text("")
        told = [f"{k}={v}" for k, v in (settings | {"retries": retries}).items()]
        done = subprocess.run(
            [snakemake, "--cores", "2", "--nolock", *words, "--config", *told],
            cwd=ROOT,
            env=os.environ | at,
            capture_output=True,
            text=True,
        )
        return done, (tmp_path / "story").read_text().splitlines()

    return call


def test_a_killed_job_goes_on_and_the_records_are_those_of_one_run(workflow, tmp_path):
    """Signal 9 in mid-training, then a budget that ends too early, then its end."""
    done, story = workflow(misfortune="kill")
    assert done.returncode != 0, done.stderr
    assert sorted(story) == ["killed 4", "plan 0", "run 0"]
    assert not (tmp_path / "in to").exists()

    done, story = workflow(misfortune="hurry", retries=1)
    assert done.returncode == 0, done.stderr
    assert story[:3] == ["plan 0", "run 75", "resumed 4"]
    assert story[3:] == ["run 0", "merge 0"]

    one = papers.get(NAME, "smoke")
    merged = records.load(one, tmp_path / "in to")
    straight = pool.run(one, device="cpu", out=tmp_path / "straight", processes=1)
    assert merged.missing == []
    assert merged.frame.equals(straight.frame)
    for key, about in merged.members.items():
        for what in ("training_key", "digest", "epochs", "matmul"):
            assert about[what] == straight.members[key][what]

    done, story = workflow()
    assert (done.returncode, story) == (0, ["plan 0"])
    assert "nothing is missing" in done.stdout


def test_the_workflow_is_free_of_lint(workflow):
    done, _ = workflow("--lint")
    assert done.returncode == 0, done.stderr
