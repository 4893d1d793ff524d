"""The store: whole files or none, staleness by settings, nothing half-read."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import safetensors.torch
import torch
from helpers import arm, experiment

from grokbook import papers, records, training, workers
from grokbook.records import RecordError
from grokbook.training import Outcome


def outcome(one, seed, loss=1.0, kept=None):
    rows = [
        {"epoch": epoch, "train_loss": loss / (epoch + 1), "test_accuracy": 0.5}
        for epoch in (0, 10, 20)
    ]
    return Outcome(one, seed, rows, kept or {}, 2.0, {"device": "cpu"})


@pytest.fixture
def two():
    return experiment(arm("a"), arm("b", alpha=2.0))


@pytest.fixture
def path(two, tmp_path):
    """A record of three of four members, one with kept weights."""
    a, b = two.arms
    weights = {0: {"w": torch.arange(6.0).reshape(2, 3).T}}
    return records.add(
        two, [outcome(b, 0), outcome(a, 1), outcome(a, 0, kept=weights)], tmp_path
    )


def test_round_trip(two, path, tmp_path):
    record = records.load(two, tmp_path)
    assert record.path == path == tmp_path / "prieto2025/fig06b.smoke.parquet"
    assert (record.name, record.scale) == ("prieto2025/fig06b", "smoke")
    assert record.experiment == two
    assert record.missing == [("b", 1)]
    assert records.missing(two, tmp_path) == [(two.arms[1], 1)]
    assert record.seeds("a") == [0, 1]
    assert record.seconds == 6.0
    assert list(record.frame["arm"]) == ["a"] * 3 + ["b"] * 3 + ["a"] * 3
    assert record.series("a", "train_loss").loc[10].tolist() == [1 / 11, 1 / 11]
    about = record.members["a|0"]
    assert about["hash"] == two.arms[0].hash()
    assert about["epochs_per_second"] == 10.0
    assert {"device", "commit", "finished", "epochs", "seconds"} <= about.keys()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that `records` takes for the project, nothing asked of it yet."""
    monkeypatch.setattr(records, "PROJECT", tmp_path)
    monkeypatch.delenv("GROKBOOK_COMMIT", raising=False)
    records.commit.cache_clear()
    yield tmp_path
    records.commit.cache_clear()


def test_the_commit_where_there_is_no_git(project, monkeypatch):
    assert records.commit() == "unknown"
    records.commit.cache_clear()
    monkeypatch.setenv("GROKBOOK_COMMIT", "0123456789")
    assert records.commit() == "0123456789"


def test_the_commit_is_the_one_that_training_began_with(project, two, monkeypatch):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        words = ("git", "-C", str(project), *identity, *words)
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def change(text):
        (project / "src").mkdir(exist_ok=True)
        (project / "src" / "code.py").write_text(text)

    git("init", "--quiet")
    change("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    first = git("rev-parse", "--short=10", "HEAD").strip()
    assert records.commit() == first
    change("2")  # a process that starts now says so, one that runs does not
    assert records.commit() == first
    records.commit.cache_clear()
    assert records.commit() == first + "+"

    def train(*_):
        git("commit", "--quiet", "--all", "--message", "second")

    monkeypatch.setattr(workers, "_run", train)
    records.commit.cache_clear()
    with pytest.raises(training.Unfinished):
        workers.run(two, out=project / "records")
    assert records.commit() == first + "+"


def test_kept_weights(two, path, tmp_path):
    record = records.load(two, tmp_path)
    kept = record.weights("a", 0, 0)["w"]
    assert torch.equal(kept, torch.arange(6.0).reshape(2, 3).T)
    with pytest.raises(RecordError, match="keeps no weights of arm 'a', seed 1"):
        record.weights("a", 1, 0)
    records.add(two, [outcome(two.arms[1], 1)], tmp_path)  # and they stay
    assert torch.equal(records.load(two, tmp_path).weights("a", 0, 0)["w"], kept)


def test_a_member_trained_again_replaces_itself(two, path, tmp_path):
    records.add(two, [outcome(two.arms[0], 0, loss=5.0)], tmp_path)
    record = records.load(two, tmp_path)
    assert len(record.frame) == 9
    assert record.series("a", "train_loss").loc[0].tolist() == [5.0, 1.0]


def test_new_observables_leave_old_members_without_them(two, path, tmp_path):
    more = outcome(two.arms[1], 1)
    for row in more.rows:
        row["spectrum"] = 1.0
    records.add(two, [more], tmp_path)
    frame = records.load(two, tmp_path).frame
    assert frame["spectrum"].notna().sum() == 3


def test_no_record(two, tmp_path):
    with pytest.raises(RecordError, match="no record .* `grokbook run prieto2025"):
        records.load(two, tmp_path)
    with pytest.raises(RecordError, match="has no record yet"):
        papers.record("prieto2025/fig06b", folder=tmp_path)


def test_best_scale_first(tmp_path):
    for scale in ("smoke", "laptop"):
        known = papers.get("prieto2025/fig06b", scale)
        records.add(known, [outcome(known.arms[0], 42)], tmp_path)
        best = papers.record("prieto2025/fig06b", folder=tmp_path)
        assert best.scale == scale
    assert papers.record("prieto2025/fig06b", scale="smoke", folder=tmp_path).frame.size


def test_stale_record(two, path, tmp_path):
    """Says what changed and how to renew it; only the changed members are due."""
    content = path.read_bytes()
    changed = experiment(arm("a", epochs=31), two.arms[1])
    with pytest.raises(RecordError, match="epochs was 30 and is now 31: run `grokbook"):
        records.load(changed, tmp_path)
    assert [seed for _, seed in records.missing(changed, tmp_path)] == [0, 1, 1]
    with pytest.raises(RecordError, match="its arm 'b' no longer exists"):
        records.load(experiment(two.arms[0]), tmp_path)
    assert path.read_bytes() == content
    records.add(changed, [outcome(changed.arms[0], 0)], tmp_path)
    record = records.load(changed, tmp_path)
    assert list(record.members) == ["a|0", "b|0"]
    assert sorted(set(record.frame["arm"])) == ["a", "b"]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_record(two, path, tmp_path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    damaged = path.read_bytes()
    for function in (records.load, records.missing):
        with pytest.raises(RecordError, match="truncated: delete it"):
            function(two, tmp_path)
    with pytest.raises(RecordError, match="truncated: delete it"):
        records.add(two, [outcome(two.arms[1], 1)], tmp_path)
    assert path.read_bytes() == damaged


def test_a_flipped_byte_is_not_a_number(two, path, tmp_path):
    content = bytearray(path.read_bytes())
    content[len(content) // 12] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(RecordError, match="cannot be read as a record"):
        records.load(two, tmp_path)


def test_foreign_record(two, path, tmp_path):
    meta = json.loads(pq.read_schema(path).metadata[b"grokbook"])
    frame = pd.DataFrame({"x": [1]})
    frame.to_parquet(path)
    with pytest.raises(RecordError, match="was not written by grokbook"):
        records.load(two, tmp_path)
    for change in ({}, {"members": []}, {"members": {"a|0": {}}}):
        records._write_table(frame, meta | change, path)
        with pytest.raises(RecordError, match="was not written by grokbook"):
            records.load(two, tmp_path)


def test_truncated_weights(two, path, tmp_path):
    weights = path.with_suffix(".safetensors")
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(RecordError, match="kept weights, it may be truncated"):
        records.load(two, tmp_path).weights("a", 0, 0)


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("module", "function"), [(pq, "write_table"), (safetensors.torch, "save_file")]
)
def test_full_disk(two, path, tmp_path, monkeypatch, module, function):
    def files():
        found = [f for f in tmp_path.rglob("*") if f.is_file()]
        return {file: file.read_bytes() for file in found}

    before = files()
    monkeypatch.setattr(module, function, full)
    with pytest.raises(RecordError, match="cannot be written .*No space .* free some"):
        records.add(two, [outcome(two.arms[1], 1)], tmp_path)
    assert files() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from grokbook import records, workers
from grokbook.experiment import Experiment
import json

def die(frame, meta, path):
    path.write_bytes(b"PAR1 half a file")
    os.kill(os.getpid(), signal.SIGKILL)

records._write_table = die
experiment = Experiment.from_json(json.loads(sys.argv[1]))
workers.run(experiment, device="cpu", out=Path(sys.argv[2]), processes=0)
"""


def test_kill_9_while_writing(two, path, tmp_path):
    """The old record stays whole and the next run finishes the job."""
    before = path.read_bytes()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(two.to_json()), tmp_path],
        env=os.environ | {"PYTHONPATH": str(Path(records.__file__).parents[1])},
    )
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert records.load(two, tmp_path).missing == [("b", 1)]
    records.add(two, [outcome(two.arms[1], 1)], tmp_path)
    assert records.load(two, tmp_path).missing == []
    assert not list(tmp_path.rglob("*.part"))


def test_folder_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    assert records.path_of("p/fig1", "paper") == tmp_path / "p/fig1.paper.parquet"
    monkeypatch.delenv("GROKBOOK_RECORDS")
    assert records.root() == records.PROJECT / "data" / "records"
