"""The command: what it prints, its exit codes, one sentence for every bad call."""

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM

import pytest
import torch
from helpers import arm, experiment
from recorded import contents, result

from claimbook import __version__, cli, papers, project, records
from claimbook.__main__ import main
from claimbook.engine import pool
from claimbook.experiment import Spec
from grokbook.datasets.fetch import URLS

NAME = "prieto2025/fig06b"


@pytest.fixture
def known(monkeypatch):
    """Put one small experiment in the place of Figure 6b at every scale."""

    def put(tiny):
        at_scale = lambda scale: replace(tiny, scale=scale)  # noqa: E731
        monkeypatch.setitem(papers.registries()["prieto2025"], "fig06b", at_scale)
        return tiny

    return put


@pytest.fixture
def grokbook(capsys, tmp_path, monkeypatch):
    """Runs the command here, on the CPU; returns its exit code, output and errors."""
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path / "records"))
    monkeypatch.setenv("GROKBOOK_PROGRESS", "no")  # however slow this machine is
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def call(*words):
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


def sentence(result, code, *parts):
    """One line on stderr with these parts, nothing on stdout, this exit code."""
    found, out, err = result
    assert (found, out, err.count("\n")) == (code, "", 1), err
    assert all(part in err for part in ("grokbook: ", *parts)), err


CPU = {"device_name": "a processor"}
RUN = ("run", NAME, "--scale", "smoke", "--processes", 0)


def test_run_list_status(grokbook, known, monkeypatch):
    assert grokbook("--version") == (0, f"{__version__}\n", "")
    known(experiment(arm("a"), arm("b")))
    code, out, err = grokbook("list", NAME, "--scale", "smoke")
    assert (code, err) == (0, "") and "no estimate" in out
    assert out.split()[:4] == [NAME, "smoke", "0/4", "recorded,"]
    assert grokbook("status", NAME) == (0, "", "")
    code, out, err = grokbook(*RUN)
    assert (code, err) == (0, "") and "4 members in" in out
    code, out, _ = grokbook("list", NAME, "--scale", "smoke")
    assert " 4/4   recorded, last 2" in out and "; all: 0:0" in out
    assert grokbook("status", NAME, "--scale", "smoke") == (0, out, "")
    read = json.loads(grokbook("status", NAME, "--json")[1].splitlines()[2])
    assert (read["scale"], read["recorded"], read["members"]) == ("smoke", 4, 4)
    assert grokbook(*RUN) == (0, "", "")  # nothing left to do
    monkeypatch.setattr("sys.stdout", None)  # as after >&- in a shell
    assert cli.main(["list", NAME]) == 0


class Closed(io.StringIO):
    """A pipe whose reader has ended, as of `| head`."""

    def flush(self):
        raise BrokenPipeError


def test_a_closed_pipe_ends_it_without_a_word(grokbook, known, monkeypatch):
    known(experiment())
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr("sys.stdout", Closed())
    cli.main(["list", NAME])
    assert ended == [0]


def test_status_lists_columns_without_code_and_that_is_no_fault(grokbook, known):
    tiny = known(experiment(arm(log=10), seeds=(0, 1, 2)))
    for seed in (0, 1):
        one = result(tiny.arms[0], seed, info=CPU, more=["update_below.0"])
        records.add(tiny, one)
    _, out, _ = grokbook("list", NAME, "--scale", "smoke", "--json")
    told = json.loads(out)  # of three members, two of which took two seconds each
    assert told.pop("last") == records.recorded(tiny)["plain|0"]["finished"]
    assert told == {"experiment": NAME, "scale": "smoke", "recorded": 2} | {
        "members": 3,
        "seconds": {"a processor": 6},
        "all": "0:00:06 on a processor",
    }
    code, out, err = grokbook("status")
    assert (code, NAME in out) == (0, True)
    assert err == (
        "grokbook: column update_below: 2 members have it and no observable of today "
        "makes it; it cannot be measured again\n"
    )


def test_time_budget(grokbook, known):
    """Exit code 75, also before the first member; the same command goes on."""
    known(experiment(arm("a"), arm("b", epochs=100_000, log=1000), seeds=(0,)))
    for done, told in ((0, "2 of 2 members: the same"), (1, "1 of 1 members")):
        code, out, err = grokbook(*RUN, "--time-budget", 1e-6)
        assert (code, err.count("\n")) == (75, 1)
        assert f"{done} members in" in out and f"time is up before {told}" in err
        assert grokbook(*RUN, "--arms", "a")[0] == 0
    late = "time is up before 2 of 2 members: name these with --arms and --seeds"
    again = grokbook(*RUN, "--replace", "--time-budget", 1e-6)
    assert again[0] == 75 and late in again[2]


def test_wrong_calls(grokbook, tmp_path):
    for words, *parts in (
        (["run", "prieto2025/fig6b"], "use one of prieto2025/fig06b"),
        (["list", "nothing"], "unknown experiment 'nothing'"),
        (["run", NAME, "--scale", "huge"], "unknown scale 'huge'", "paper, laptop"),
        (["list", "--scale", "huge"], "unknown scale 'huge'"),
        (["list", "--scale", ""], "unknown scale ''"),
        (["run", ""], "unknown experiment ''"),
        (["run", NAME, "--arms", "x*"], "unknown arm 'x*'", "AdamW"),
        (
            ["run", "basics", "--seeds", "7"],
            "unknown seed at laptop scale '7': use one of 42, 0, 1, 2, 3\n",
        ),
    ):
        sentence(grokbook(*words), 2, *parts)
    assert cli._budget_seconds("0") == 0
    for words, part in (
        (["merge"], "required: FOLDER"),
        ([], "name a command: list, run, merge, status"),
        (["--version", "x"], "invalid choice: 'x'"),
        (["--version", "list"], "--version stands alone"),
        (["run", NAME, "--time-budget", "soon"], "'soon' is not a time: write seconds"),
        (["run", NAME, "--time-budget", "nan"], "'nan' is not a time: write seconds"),
        (["run", NAME, "--time-budget=-1"], "'-1' is not a time: write seconds"),
        (["run", NAME, "--seeds", "1,x"], "'1,x' is not a list of seeds: write whole"),
        (["run", NAME, "--processes", "two"], "'two' is not a number of processes"),
        (["run", NAME, "--processes=-1"], "'-1' is not a number of processes: write 0"),
        ([*RUN, "--out", "a\0b"], "has NUL or is not in UTF-8"),
        (["merge", "\udcff"], "has NUL or is not in UTF-8"),
        ([*RUN, "--out", ""], "'' is empty"),
    ):
        code, out, err = grokbook(*words)
        assert (code, out) == (2, "") and part in err.splitlines()[-1]
    assert contents(tmp_path) == {}


def test_devices_and_places_that_are_none(grokbook, known, tmp_path, monkeypatch):
    known(experiment())
    no_gpu = grokbook("run", NAME, "--device", "cuda")
    sentence(no_gpu, 1, "CUDA was asked for", "use --device cpu")
    sentence(grokbook("run", NAME, "--device", "tpu"), 2, "unknown device 'tpu'")
    (tmp_path / "file").write_text("mine")
    sentence(grokbook(*RUN, "--out", tmp_path / "file"), 1, str(tmp_path / "file"))
    monkeypatch.delenv("GROKBOOK_RECORDS")
    sentence(grokbook("run"), 2, "name an experiment, or a place for all: --record")
    assert [*contents(tmp_path).values()] == [b"mine"]
    (tmp_path / "book").symlink_to(project.home() / "book")
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    assert grokbook(*RUN)[0] == 0  # beside the book
    assert list(tmp_path.glob("data/reruns/prieto2025/*.parquet"))


def test_bad_records(grokbook, known, tmp_path):
    known(experiment(seeds=(0,)))
    assert grokbook(*RUN)[0] == 0
    (path,) = tmp_path.glob("records/*/*.parquet")
    whole = path.read_bytes()
    for content in whole[:-100], b"a,b\n1,2\n":
        path.write_bytes(content)
        for command in (RUN, ("status", NAME), ("list", NAME, "--scale", "smoke")):
            words = str(path), "cannot be read as a member", "train it anew"
            sentence(grokbook(*command), 1, *words)
        assert path.read_bytes() == content
    path.write_bytes(whole)
    known(experiment(arm(alpha=2.0), seeds=(0,)))
    assert grokbook("status", NAME)[0] == 0
    sentence(grokbook("status"), 1, str(path), "is stale: no arm of today reads it")
    assert grokbook(*RUN)[0] == 0 and path.read_bytes() == whole


@pytest.mark.filterwarnings("always")
def test_a_bad_checkpoint_is_told_and_the_run_goes_on(grokbook, known):
    task = pool.tasks([known(experiment(seeds=(0,)))])[0]
    task.checkpoint.parent.mkdir(parents=True)
    task.checkpoint.write_bytes(b"damaged")
    code, out, err = grokbook(*RUN)
    assert (code, err.count("\n")) == (0, 1)
    assert "warning: the checkpoint" in err and "is damaged" in err


def test_a_file_that_cannot_be_fetched(grokbook, known, tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(sys.modules, "pooch", None)
    images = {"dataset": Spec("mnist", train_samples=200)}
    images["model"] = Spec("mlp", classes=10, features=784)
    known(experiment(arm(**images), seeds=(0,)))
    address = URLS["MNIST/raw/train-images-idx3-ubyte.gz"]
    sentence(grokbook(*RUN), 1, "MNIST/raw/train-images", address, "GROKBOOK_DATA")
    assert contents(tmp_path / "data") == {}


def test_sigterm_ends_it_as_ctrl_c_does(capsys, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "list", lambda _: os.kill(os.getpid(), SIGTERM))
    monkeypatch.setattr(sys, "argv", ["grokbook", "list"])
    before = signal.signal(SIGTERM, signal.SIG_IGN)  # it must not end the tests
    try:
        assert main() == 130
    finally:
        signal.signal(SIGTERM, before)
    assert capsys.readouterr().err.startswith("grokbook: stopped; the same command")


def test_needs_no_jupyter_matplotlib_or_pooch(tmp_path):
    """`python -m claimbook` runs with torch, numpy, pandas, pyarrow and safetensors."""
    for name in ("IPython", "jupytext", "matplotlib", "nbformat", "papermill", "pooch"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not needed')")
    words = [sys.executable, "-m", "claimbook", *RUN[:4], "--processes", "0"]
    words += ["--arms", papers.get(NAME, "smoke").arms[0].name, "--seeds", "0"]
    words += ["--out", tmp_path / "out"]
    told = {"OMP_NUM_THREADS": "1", "GROKBOOK_PROGRESS": "no"}
    path = os.pathsep.join([str(tmp_path), str(Path(cli.__file__).parents[1])])
    environment = os.environ | told | {"PYTHONPATH": path}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ": 1 members in " in done.stdout


def test_dry_run_prints_the_order(grokbook, known, tmp_path):
    known(experiment(arm("a"), arm("b", epochs=1000)))
    code, out, err = grokbook("run", NAME, "--scale", "smoke", "--dry-run")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines == [[NAME, name, seed] for seed in "01" for name in "ab"]
    assert contents(tmp_path) == {}
    one = ("run", NAME, "--scale=smoke", "--processes=0", "--arms=a", "--seeds=0")
    assert grokbook(*one)[0] == 0
    assert grokbook(*one, "--dry-run")[1] == ""
    assert grokbook(*one, "--replace", "--dry-run")[1] == f"{NAME}\ta\t0\n"


def test_a_record_names_the_commit_that_trained_it(grokbook, known, monkeypatch):
    """So changes that are not committed are refused, and a place without git too."""
    known(experiment())
    for commit in ("abc123+", "unknown"):
        monkeypatch.setattr(project, "commit", lambda commit=commit: commit)
        sentence(grokbook(*RUN, "--record"), 1, f"{commit!r}: commit the changes")
    monkeypatch.setattr(project, "commit", lambda: "abc123")
    assert grokbook(*RUN, "--record")[0] == 0


def test_another_setting_is_trained_into_no_record_of_the_book(
    grokbook, known, tmp_path, monkeypatch
):
    monkeypatch.setattr(cli.project, "reruns_folder", lambda: tmp_path / "reruns")
    known(experiment(arm("a"), arm("b", optimizer=Spec("adamw", lr=0.2)), seeds=(0,)))
    twice = [*RUN, "--set", "optimizer.lr=0.2", "--set", "epochs=20"]
    for place in (["--record"], ["--out", tmp_path / "records"]):
        refused = grokbook(*twice, *place)
        sentence(refused, 1, "leave out --record, or name another folder with --out")
    wrong = grokbook(*RUN, "--set", "optimizer.rate=0.2")
    sentence(wrong, 2, "unknown setting 'optimizer.rate': use one of optimizer.lr, ")
    sentence(grokbook(*RUN, "--set", "lr"), 1, "'lr' is not a setting")
    network = grokbook(*RUN, "--set", "model.positions=3")
    sentence(network, 1, "arm 'a': network 'mlp' with classes=")
    assert not [*tmp_path.rglob("*.parquet")]
    code, out, err = grokbook(*twice, "--arms", "a")
    assert (code, err) == (0, "") and "1 members in" in out
    (path,) = tmp_path.rglob("*.parquet")
    assert path.parent == tmp_path / "reruns" / "prieto2025"
    assert grokbook(*twice, "--arms", "a") == (0, "", "")  # nothing left to do


def test_run_without_names_trains_everything_that_is_missing(grokbook, monkeypatch):
    small = {"a": experiment(name="x/a"), "b": experiment(arm("b"), name="x/b")}
    known = {name: lambda scale, one=one: one for name, one in small.items()}
    monkeypatch.setattr(papers, "registries", lambda: {"x": known})
    code, out, err = grokbook("run", "--scale", "smoke", "--processes", 0)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["x/a", "x/b"]


def test_merge_and_run_elsewhere(grokbook, known, tmp_path):
    known(experiment(seeds=(0, 1)))
    elsewhere = ("--scale", "laptop", "--processes", 0, "--out", tmp_path / "gpu")
    assert grokbook("run", NAME, *elsewhere)[0] == 0
    told = grokbook("merge", tmp_path / "gpu", "--dry-run")
    assert told == (0, "2 added, 0 replaced, 0 kept\n", "")
    assert not (tmp_path / "records").exists()
    assert grokbook("merge", tmp_path / "gpu")[0] == 0
    index = (tmp_path / "records" / "index.csv").read_text()
    assert f"\n{NAME},smoke,plain,1,prieto2025/" in index
    sentence(grokbook("merge", tmp_path / "nowhere"), 1, str(tmp_path / "nowhere"))
