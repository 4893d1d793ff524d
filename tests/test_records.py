"""The store: whole files or none, fresh by what is trained, nothing half-read."""

import dataclasses
import errno
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import safetensors.torch
import torch
from helpers import arm, experiment
from recorded import EPOCHS, as_format_1, change, contents, metadata, result
from recorded import two as two_arms

from grokbook import files, papers, project, records
from grokbook.records import RecordError, table

KEPT = {0: {"w": torch.arange(6.0).reshape(2, 3).T}}


@pytest.fixture
def two():
    return two_arms()


@pytest.fixture
def path(two, tmp_path):
    """A record of three of four members, one with kept weights."""
    a, b = two.arms
    members = [result(b, 0), result(a, 1), result(a, 0, kept=KEPT)]
    return records.add(two, members, tmp_path)


def refused(two, folder, match):
    """Loading, asking for what is missing, adding: one sentence, nothing changed."""
    before = contents(folder)
    for action in (
        lambda: records.load(two, folder),
        lambda: records.missing(two, folder),
        lambda: records.add(two, [result(two.arms[1], 1)], folder),
    ):
        with pytest.raises(RecordError, match=match) as caught:
            action()
        assert "\n" not in str(caught.value)
        assert str(records.path_of(two.name, two.scale, folder)) in str(caught.value)
    assert contents(folder) == before


def test_round_trip(two, path, tmp_path):
    record = records.load(two, tmp_path)
    assert record.path == path == tmp_path / "prieto2025/fig06b.smoke.parquet"
    assert (record.name, record.scale) == ("prieto2025/fig06b", "smoke")
    assert record.experiment == two
    assert record.missing == [("b", 1)]
    assert records.missing(two, tmp_path) == [(two.arms[1], 1)]
    assert record.seeds("a") == [0, 1]
    assert record.seconds == 6.0
    assert list(record.frame["arm"]) == ["a"] * 4 + ["b"] * 4 + ["a"] * 4
    assert list(record.frame.columns)[:3] == ["arm", "seed", "epoch"]
    assert record.series("a", "train_loss").loc[10].tolist() == [1 / 11, 1 / 11]
    about = record.members["a|0"]
    assert about["training_key"] == two.arms[0].training_key()
    assert (about["epochs_per_second"], about["rows"]) == (15.0, 4)
    assert {"device", "commit", "finished", "epochs", "seconds"} <= about.keys()
    assert metadata(path)["format"] == 2


def test_the_table_is_plain_parquet(path):
    frame = pd.read_parquet(path)
    kinds = [frame[name].dtype.kind for name in frame.columns[1:]]
    assert kinds == ["i", "i", "f", "f"]
    assert pq.ParquetFile(path).num_row_groups == 1


def test_adding_nothing_writes_nothing(two, tmp_path):
    assert not records.add(two, [], tmp_path).exists()


def test_reading_needs_no_torch(path, two, tmp_path):
    code = (
        "import json, sys; from pathlib import Path; from grokbook import records;"
        "from grokbook.experiment import Experiment;"
        "one = Experiment.from_json(json.loads(sys.argv[1]));"
        "record = records.load(one, Path(sys.argv[2]));"
        "record.series('a', 'train_loss'); record.seconds; record.missing;"
        "assert 'torch' not in sys.modules;"
        "print(len(record.weights('a', 0, 0)), 'torch' in sys.modules)"
    )
    call = [sys.executable, "-c", code, json.dumps(two.to_json()), str(tmp_path)]
    run = subprocess.run(call, capture_output=True, text=True)
    assert run.stdout == "1 True\n", run.stderr


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that the package takes for the book's, nothing asked of it yet."""
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.delenv("GROKBOOK_COMMIT", raising=False)
    records.commit.cache_clear()
    yield tmp_path
    records.commit.cache_clear()


def test_the_commit_where_there_is_no_git(checkout, monkeypatch):
    assert records.commit() == "unknown"
    records.commit.cache_clear()
    monkeypatch.setenv("GROKBOOK_COMMIT", "0123456789")
    assert records.commit() == "0123456789"


def test_the_commit_where_there_is_no_checkout(checkout, monkeypatch):
    monkeypatch.setenv("GROKBOOK_HOME", str(checkout / "nowhere"))
    assert records.commit() == "unknown"


def test_the_commit_is_the_one_that_training_began_with(checkout):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        words = ("git", "-C", str(checkout), *identity, *words)
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def write(text):
        (checkout / "src").mkdir(exist_ok=True)
        (checkout / "src" / "code.py").write_text(text)

    git("init", "--quiet")
    write("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    first = git("rev-parse", "--short=10", "HEAD").strip()
    assert records.commit() == first
    write("2")  # a process that starts now says so, one that runs does not
    assert records.commit() == first
    records.commit.cache_clear()
    assert records.commit() == first + "+"
    git("commit", "--quiet", "--all", "--message", "second")
    assert records.commit() == first + "+"


def test_kept_weights(two, path, tmp_path):
    record = records.load(two, tmp_path)
    kept = record.weights("a", 0, 0)["w"]
    assert torch.equal(kept, KEPT[0]["w"])
    with pytest.raises(RecordError, match="keeps no weights of arm 'a', seed 1"):
        record.weights("a", 1, 0)
    with pytest.raises(RecordError, match="seed 0, epoch 1$"):
        record.weights("a", 0, 1)


def test_files_that_do_not_change_are_not_written(two, path, tmp_path):
    weights = path.with_suffix(".safetensors")
    before = weights.stat().st_ino
    records.add(two, [result(two.arms[1], 1)], tmp_path)
    assert weights.stat().st_ino == before
    records.add(two, [result(two.arms[1], 1, kept=KEPT)], tmp_path)
    record = records.load(two, tmp_path)
    for name, seed in (("a", 0), ("b", 1)):
        assert torch.equal(record.weights(name, seed, 0)["w"], KEPT[0]["w"])
    for name, seed in ((0, 0), (1, 1)):  # trained again, and nothing kept
        records.add(two, [result(two.arms[name], seed)], tmp_path)
    assert not weights.exists()


def test_a_member_trained_again_replaces_itself(two, path, tmp_path):
    records.add(two, [result(two.arms[0], 0, loss=5.0)], tmp_path)
    record = records.load(two, tmp_path)
    assert len(record.frame) == 12
    assert record.series("a", "train_loss").loc[0].tolist() == [5.0, 1.0]


def test_a_column_goes_with_the_last_that_had_it(two, tmp_path):
    a = two.arms[0]
    records.add(two, [result(a, 0, more=["z", "a"])], tmp_path)
    records.add(two, [result(a, 0, more=["b"])], tmp_path)
    frame = records.load(two, tmp_path).frame
    assert list(frame.columns)[3:] == ["train_loss", "test_accuracy", "b"]
    records.add(two, [result(a, 1, more=["z", "a"])], tmp_path)
    frame = records.load(two, tmp_path).frame
    assert list(frame.columns)[5:] == ["b", "z", "a"]


def test_seeds_that_are_no_longer_planned_stay(two, path, tmp_path):
    fewer = dataclasses.replace(two, seeds=(0,))
    records.add(fewer, [result(two.arms[1], 0)], tmp_path)
    record = records.load(fewer, tmp_path)
    assert list(record.members) == ["a|0", "b|0", "a|1"]
    assert record.seeds("a") == [0]


def test_a_new_column_and_those_that_lack_it(two, path, tmp_path):
    records.add(two, [result(two.arms[1], 1, more=["spectrum"])], tmp_path)
    record = records.load(two, tmp_path)
    assert record.frame["spectrum"].notna().sum() == 4
    assert list(record.series("b", "spectrum")[1]) == list(map(float, EPOCHS))
    again = '`grokbook run prieto2025/fig06b --scale smoke --arms "a" --replace`'
    with pytest.raises(RecordError, match="no 'spectrum' of arm 'a'") as caught:
        record.series("a", "spectrum")
    assert again in str(caught.value)
    with pytest.raises(RecordError, match="no 'curvature' of arm 'b'"):
        record.series("b", "curvature")
    assert record.series("nobody", "spectrum").empty


def test_a_column_that_is_nan_for_all_is_no_column_that_is_missing(two, tmp_path):
    one = result(two.arms[0], 0)
    for row in one.rows:
        row["exponent"] = math.nan
    records.add(two, [one], tmp_path)
    assert records.load(two, tmp_path).series("a", "exponent").empty


def test_no_record(two, tmp_path):
    with pytest.raises(RecordError, match="no record .* `grokbook run prieto2025"):
        records.load(two, tmp_path)
    with pytest.raises(RecordError, match="has no record yet"):
        papers.record("prieto2025/fig06b", folder=tmp_path)


def test_best_scale_first(tmp_path):
    for scale in ("smoke", "laptop"):
        known = papers.get("prieto2025/fig06b", scale)
        records.add(known, [result(known.arms[0], known.seeds[0])], tmp_path)
        best = papers.record("prieto2025/fig06b", folder=tmp_path)
        assert best.scale == scale
    assert papers.record("prieto2025/fig06b", scale="smoke", folder=tmp_path).frame.size


def test_every_committed_table_is_sound():
    tables = [p for p in (project.home() / "data" / "records").rglob("*.parquet")]
    assert tables
    for one in tables:
        if not one.name.endswith(".trace.parquet"):
            table.read(one)
            assert metadata(one)["format"] == 2


class TestFreshness:
    def test_stale_record(self, two, path, tmp_path):
        """Says what changed and how to renew it; only the changed members are due."""
        content = path.read_bytes()
        changed = experiment(arm("a", log=10, epochs=31), two.arms[1])
        with pytest.raises(RecordError, match="epochs was 30 and is now 31: run `grok"):
            records.load(changed, tmp_path)
        assert [seed for _, seed in records.missing(changed, tmp_path)] == [0, 1, 1]
        with pytest.raises(RecordError, match="its arm 'b' no longer exists"):
            records.load(experiment(two.arms[0]), tmp_path)
        assert path.read_bytes() == content
        records.add(changed, [result(changed.arms[0], 0)], tmp_path)
        record = records.load(changed, tmp_path)
        assert list(record.members) == ["a|0", "b|0"]
        assert sorted(set(record.frame["arm"])) == ["a", "b"]

    def test_looks_are_not_what_is_trained(self, two, path, tmp_path):
        a, b = two.arms
        looks = {"log": 7, "observables": ("core",), "rarely": (5, ("norms",))}
        looks |= {"keep": (3,), "keep_seeds": (1,), "trace": True}
        seen = experiment(dataclasses.replace(a, **looks), b)
        assert records.load(seen, tmp_path).missing == [("b", 1)]
        assert [(one.name, s) for one, s in records.missing(seen, tmp_path)] == [
            ("b", 1)
        ]

    def test_a_renamed_arm_keeps_its_record(self, two, path, tmp_path):
        a, b = two.arms
        trace = [3.0, 2.0, 1.0]
        records.add(two, [result(a, 0, kept=KEPT, trace=trace)], tmp_path)
        renamed = experiment(dataclasses.replace(a, name="A|new"), b)
        before = contents(tmp_path)
        record = records.load(renamed, tmp_path)
        assert list(record.members) == ["A|new|0", "b|0", "A|new|1"]
        assert record.seeds("A|new") == [0, 1]
        assert record.missing == [("b", 1)]
        assert len(records.missing(renamed, tmp_path)) == 1
        assert record.series("A|new", "train_loss").loc[0].tolist() == [1.0, 1.0]
        assert torch.equal(record.weights("A|new", 0, 0)["w"], KEPT[0]["w"])
        assert record.trace("A|new")[0].tolist() == trace
        assert contents(tmp_path) == before
        records.add(renamed, [result(b, 1)], tmp_path)  # from now on in the files
        record = records.load(renamed, tmp_path)
        assert not record.renamed
        assert set(pd.read_parquet(path)["arm"]) == {"A|new", "b"}
        assert torch.equal(record.weights("A|new", 0, 0)["w"], KEPT[0]["w"])
        assert record.trace("A|new")[0].tolist() == trace

    def test_arms_whose_names_were_swapped(self, two, path, tmp_path):
        a, b = two.arms
        swapped = experiment(
            dataclasses.replace(b, name="a"), dataclasses.replace(a, name="b")
        )
        record = records.load(swapped, tmp_path)
        assert record.missing == [("a", 1)]
        assert record.seeds("b") == [0, 1]

    def test_arms_that_share_a_training_keep_their_own(self, two, path, tmp_path):
        """One that is new, and looks elsewhere, does not take another's record."""
        a, b = two.arms
        more = experiment(dataclasses.replace(a, name="a, dense", log=1), a, b)
        record = records.load(more, tmp_path)
        assert (record.seeds("a"), record.seeds("a, dense")) == ([0, 1], [])


class TestFormat1:
    @pytest.fixture
    def old(self, path):
        as_format_1(path)
        return path

    def test_it_is_read_and_upgraded_in_memory(self, two, path, tmp_path):
        new = records.load(two, tmp_path)
        as_format_1(path)
        before = contents(tmp_path)
        record = records.load(two, tmp_path)
        assert record.members == new.members
        assert record.frame.equals(new.frame)
        assert records.missing(two, tmp_path) == [(two.arms[1], 1)]
        assert contents(tmp_path) == before
        records.add(two, [result(two.arms[1], 1)], tmp_path)
        assert metadata(path)["format"] == 2

    def test_settings_that_are_not_those_of_the_hash(self, two, old, tmp_path):
        change(old, meta=lambda m: m["experiment"]["arms"][1].update(alpha=3.0))
        refused(two, tmp_path, "hash of arm 'b', seed 0 is not that of the settings")

    def test_an_arm_that_is_not_recorded(self, two, old, tmp_path):
        change(old, meta=lambda m: m["experiment"]["arms"].pop())
        refused(two, tmp_path, "hash of arm 'b', seed 0 is not that of the settings")

    def test_a_row_that_was_deleted(self, two, old, tmp_path):
        change(old, frame=lambda f: f.drop(index=1))
        refused(two, tmp_path, "other epochs of arm 'a', seed 0 than its settings log")

    def test_settings_that_nobody_knows(self, two, path, tmp_path):
        change(path, meta=lambda m: m["experiment"]["arms"][0].update(flavour="red"))
        as_format_1(path)
        refused(two, tmp_path, "seed 0 was recorded with settings .*'flavour'")


class TestMatmul:
    def test_one_library(self, path):
        assert records.matmul(path) == "torch"

    def test_none_or_several(self, two, path, tmp_path):
        assert records.matmul(tmp_path / "none.paper.parquet") is None
        gpu = {"device": "cuda", "matmul": "cuBLAS"}
        records.add(two, [result(two.arms[1], 1, info=gpu)], tmp_path)
        assert records.matmul(path) == "torch"
        other = {"matmul": "onednn"}
        records.add(two, [result(two.arms[1], 1, info=other)], tmp_path)
        assert records.matmul(path) is None

    def test_of_a_gpu_alone(self, two, tmp_path):
        gpu = result(two.arms[1], 1, info={"device": "cuda", "matmul": "cuBLAS"})
        assert records.matmul(records.add(two, [gpu], tmp_path)) is None

    def test_of_a_damaged_record(self, path):
        path.write_bytes(b"PAR1")
        with pytest.raises(RecordError, match="truncated"):
            records.matmul(path)


class TestTraces:
    @pytest.fixture
    def traced(self, two, tmp_path):
        """Both seeds of arm a have a trace, one shorter; those of b have none."""
        a, b = two.arms
        long = [1.0, 0.125, math.inf, math.nan, 5e-324]
        records.add(two, [result(a, 1, trace=[0.5, 0.25]), result(b, 0)], tmp_path)
        records.add(two, [result(a, 0, trace=long)], tmp_path)
        return records.trace_path(two.name, two.scale, tmp_path)

    def test_round_trip(self, two, traced, tmp_path):
        assert traced == tmp_path / "prieto2025/fig06b.smoke.trace.parquet"
        trace = records.load(two, tmp_path).trace("a")
        assert (trace.index.name, list(trace.columns)) == ("step", [0, 1])
        assert trace[0].tolist()[:3] == [1.0, 0.125, math.inf]
        assert trace[0].iloc[4] == 5e-324
        assert trace[1].dropna().tolist() == [0.5, 0.25]
        frame = pd.read_parquet(traced)
        assert list(frame.columns) == ["arm", "seed", "step", "loss"]
        assert frame["step"].tolist() == [0, 1, 0, 1, 2, 3, 4]

    def test_four_digits_are_kept(self, two, tmp_path):
        given = np.geomspace(1e-300, 1e300, 1001)
        records.add(two, [result(two.arms[0], 0, trace=given)], tmp_path)
        trace = records.load(two, tmp_path).trace("a")[0]
        assert trace.dtype == "float64"
        assert abs(trace / given - 1).max() <= 2**-14
        assert abs(trace / given - 1).max() > 2**-16
        records.add(two, [result(two.arms[0], 0, trace=trace)], tmp_path)
        assert (records.load(two, tmp_path).trace("a")[0] == trace).all()

    def test_it_follows_its_member(self, two, traced, tmp_path):
        a, b = two.arms
        records.add(two, [result(a, 0, trace=[7.0])], tmp_path)
        before = traced.stat().st_ino
        records.add(two, [result(b, 1)], tmp_path)
        assert traced.stat().st_ino == before
        record = records.load(two, tmp_path)
        assert record.trace("a")[0].dropna().tolist() == [7.0]
        assert record.members["a|0"]["steps"] == 1
        records.add(two, [result(a, 0), result(a, 1)], tmp_path)
        assert not traced.exists()

    def test_none(self, two, path, tmp_path):
        record = records.load(two, tmp_path)
        with pytest.raises(
            RecordError, match="no trace of arm 'a'.* --replace` trains"
        ):
            record.trace("a")

    def test_damaged(self, two, traced, tmp_path):
        traced.write_bytes(traced.read_bytes()[:-9])
        with pytest.raises(RecordError, match="trace.parquet cannot be read as kept"):
            records.load(two, tmp_path).trace("a")

    @pytest.mark.parametrize(
        ("rows", "match"),
        [
            ([0, 1], "has 0 steps of arm 'a', seed 1, where 2 were recorded: take it"),
            ([6], "has 4 steps of arm 'a', seed 0, where 5"),
            ([0], "cannot be read as kept traces"),
            ([3], "cannot be read as kept traces"),
        ],
    )
    def test_steps_that_were_deleted(self, two, traced, tmp_path, rows, match):
        pd.read_parquet(traced).drop(index=rows).to_parquet(traced)
        with pytest.raises(RecordError, match=match):
            records.load(two, tmp_path).trace("a")

    def test_deleted(self, two, traced, tmp_path):
        traced.unlink()
        with pytest.raises(
            RecordError, match="has 0 steps of arm 'a', seed 0, where 5"
        ):
            records.load(two, tmp_path).trace("a")


class TestDamage:
    """Whatever became of a file: one sentence that names it, and it is not used."""

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
    def test_truncated(self, two, path, tmp_path, share):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        refused(two, tmp_path, "truncated: delete it")

    def test_not_parquet(self, two, path, tmp_path):
        path.write_text("<<<<<<< HEAD\n")
        refused(two, tmp_path, "truncated: delete it")

    def test_a_folder_in_its_place(self, two, path, tmp_path):
        path.unlink()
        path.mkdir()
        refused(two, tmp_path, "cannot be read as a record")

    def test_flipped_bytes(self, two, path, tmp_path):
        """Anywhere: refused, or the same numbers as before."""
        content, frame = path.read_bytes(), records.load(two, tmp_path).frame
        caught = 0
        for at in range(5, len(content), 23):
            damaged = bytearray(content)
            damaged[at] ^= 0x55
            path.write_bytes(damaged)
            try:
                assert records.load(two, tmp_path).frame.equals(frame)
            except RecordError as error:
                assert "\n" not in str(error)
                caught += 1
        assert caught > 20

    @pytest.mark.parametrize(
        ("edit", "match"),
        [
            (lambda f: f.drop(index=1), "3 rows of arm 'a', seed 0, where 4"),
            (lambda f: f.iloc[[0, 1, 1, *range(2, 12)]], "5 rows of arm 'a', seed 0"),
            (
                lambda f: f.iloc[[0, 0, *range(2, 12)]],
                "arm 'a', seed 0 that do not asc",
            ),
            (lambda f: f.iloc[[*range(2, 12), 0, 1]], "2 rows of arm 'a', seed 0"),
            (lambda f: f[f["seed"] == 0], "lists arm 'a', seed 1 without a row"),
            (lambda f: f.iloc[:0], "lists arm 'a', seed 0 without a row"),
            (lambda f: f.assign(seed=[9] * 4 + [0] * 4 + [1] * 4), "arm 'a', seed 9"),
            (lambda f: f.assign(test_accuracy=0.6), "not those that were recorded"),
            (lambda f: f.assign(extra=1.0), "arm 'a', seed 0 are not those that were"),
            (lambda f: f.drop(columns="train_loss"), "not those that were recorded"),
            (lambda f: f.rename(columns={"train_loss": "loss"}), "not those that were"),
            (
                lambda f: f.assign(epoch=f["epoch"].where(f.index != 1)),
                "arm 'a', seed 0",
            ),
            (lambda f: f.assign(seed=f["seed"].where(f.index != 1)), "the wrong kind"),
            (lambda f: f.assign(arm=f["arm"].where(f.index != 1)), "rows of arm"),
            (lambda f: f.assign(arm=1), "of the wrong kind"),
            (lambda f: f.assign(epoch="late"), "of the wrong kind"),
            (lambda f: f.assign(word="late"), "of the wrong kind"),
            (lambda f: f.drop(columns="epoch"), "was not written by grokbook"),
            (lambda _: pd.DataFrame({"x": [1]}), "was not written by grokbook"),
        ],
    )
    def test_rows(self, two, path, tmp_path, edit, match):
        change(path, frame=lambda frame: edit(frame).reset_index(drop=True))
        refused(two, tmp_path, match)

    def test_a_member_in_two_places(self, two, path, tmp_path):
        def insert(frame):
            return pd.concat([frame, frame.iloc[:4]], ignore_index=True)

        change(path, frame=insert)
        refused(two, tmp_path, "rows of arm 'a', seed 0 in two places")

    @pytest.mark.parametrize(
        "edit",
        [
            lambda _: {},
            lambda _: [],
            lambda m: m | {"format": [2]},
            lambda m: m | {"members": []},
            lambda m: m | {"members": {"a|0": {}}},
            lambda m: m | {"members": {"a|0": None}},
            lambda m: m | {"members": {"no seed": m["members"]["a|0"]}},
            lambda m: m | {"experiment": None},
            lambda m: m | {"experiment": {"arms": [{}]}},
            lambda m: m | {"experiment": m["experiment"] | {"name": 3}},
            lambda m: m["members"]["a|0"].update(seconds=math.nan),
            lambda m: m["members"]["a|0"].update(seconds=10**400),
            lambda m: m["members"]["a|0"].update(seconds="2"),
            lambda m: m["members"]["a|0"].update(rows=True),
            lambda m: m["members"]["a|0"].update(epochs=None),
            lambda m: m["members"]["a|0"].update(digest=None),
            lambda m: m["members"]["a|0"].update(training_key=7),
        ],
    )
    def test_metadata(self, two, path, tmp_path, edit):
        meta = metadata(path)
        edited = edit(meta)  # replaced, or edited in place
        table.write(pd.read_parquet(path), meta if edited is None else edited, path)
        refused(two, tmp_path, "has damaged metadata .*: take it from git again")

    def test_metadata_that_is_no_json(self, two, path, tmp_path):
        found = pq.read_table(path)
        for text in (b"{", b"\xff", b"", b"[" * 10):
            pq.write_table(found.replace_schema_metadata({b"grokbook": text}), path)
            refused(two, tmp_path, "has damaged metadata")

    def test_metadata_without_a_member(self, two, path, tmp_path):
        change(path, meta=lambda m: m["members"].pop("b|0"))
        refused(
            two, tmp_path, "rows of arm 'b', seed 0, which its metadata do not list"
        )

    def test_metadata_with_another_last_epoch(self, two, path, tmp_path):
        change(path, meta=lambda m: m["members"]["b|0"].update(epochs=40))
        refused(two, tmp_path, "arm 'b', seed 0 that do not ascend to its last, 40")

    def test_a_format_to_come(self, two, path, tmp_path):
        change(path, meta=lambda m: m.update(format=99))
        refused(
            two, tmp_path, "is of format 99, and this version reads 1 and 2: update"
        )

    def test_weights(self, two, path, tmp_path):
        weights = path.with_suffix(".safetensors")
        weights.write_bytes(weights.read_bytes()[:-4])
        record = records.load(two, tmp_path)
        with pytest.raises(RecordError, match="kept weights, it may be truncated"):
            record.weights("a", 0, 0)
        before = contents(tmp_path)
        with pytest.raises(RecordError, match="kept weights, it may be truncated"):
            records.add(two, [result(two.arms[0], 0)], tmp_path)
        assert contents(tmp_path) == before


def test_the_digest_is_of_values_by_name(two):
    rows = pd.DataFrame(result(two.arms[0], 0).rows)
    sealed = table.seal(rows)
    assert table.seal(rows[reversed(rows.columns)]) == sealed
    assert table.seal(rows.assign(never=math.nan)) == sealed
    assert table.seal(rows.astype({"epoch": float})) == sealed
    assert table.seal(rows.assign(test_accuracy=np.nextafter(0.5, 1))) != sealed
    swapped = {"train_loss": "test_accuracy", "test_accuracy": "train_loss"}
    assert table.seal(rows.rename(columns=swapped)) != sealed
    assert table.seal(rows.iloc[::-1]) != sealed


class TestResults:
    """What training hands over is looked at before it is recorded."""

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            [{"train_loss": 1.0}],
            [{"epoch": 0}, {"epoch": math.nan}],
            [{"epoch": 10}, {"epoch": 0}],
            [{"epoch": 0}, {"epoch": 0}],
        ],
    )
    def test_epochs(self, two, path, tmp_path, rows):
        before = contents(tmp_path)
        bad = dataclasses.replace(result(two.arms[1], 1), rows=rows)
        with pytest.raises(
            RecordError, match="result of arm 'b', seed 1 has no rows at"
        ):
            records.add(two, [result(two.arms[0], 0), bad], tmp_path)
        assert contents(tmp_path) == before

    def test_of_another_experiment(self, two, path, tmp_path):
        before = contents(tmp_path)
        other = dataclasses.replace(two.arms[1], alpha=3.0)
        for one, seed in ((other, 1), (two.arms[1], 7), (arm("c"), 0)):
            with pytest.raises(RecordError, match="is no member of prieto2025/fig06b"):
                records.add(two, [result(one, seed)], tmp_path)
        assert contents(tmp_path) == before


def failing(number, text):
    def fail(*arguments, **options):
        raise OSError(number, text)

    return fail


FULL = failing(errno.ENOSPC, "No space left on device")
READ_ONLY = failing(errno.EROFS, "Read-only file system")


class TestWriting:
    @pytest.mark.parametrize("fail", [FULL, READ_ONLY])
    @pytest.mark.parametrize(
        ("module", "function"),
        [
            (pq, "write_table"),
            (safetensors.torch, "save_file"),
            (files.os, "replace"),
            (Path, "mkdir"),
        ],
    )
    def test_a_disk_that_is_full_or_read_only(
        self, two, path, tmp_path, monkeypatch, fail, module, function
    ):
        before = contents(tmp_path)
        monkeypatch.setattr(module, function, fail)
        much = result(two.arms[1], 1, kept=KEPT, trace=[1.0])
        with pytest.raises(
            RecordError, match="cannot be written .*free some"
        ) as caught:
            records.add(two, [much], tmp_path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert contents(tmp_path) == before

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
    def test_a_folder_without_permission(self, two, path, tmp_path):
        before = contents(tmp_path)
        path.parent.chmod(0o555)
        try:
            with pytest.raises(RecordError, match="Permission denied"):
                records.add(two, [result(two.arms[1], 1)], tmp_path)
        finally:
            path.parent.chmod(0o755)
        assert contents(tmp_path) == before

    def test_a_file_where_the_folder_should_be(self, two, tmp_path):
        (tmp_path / "prieto2025").write_text("")
        with pytest.raises(RecordError, match="cannot be written"):
            records.add(two, [result(two.arms[1], 1)], tmp_path)

    def test_others_may_read_it(self, path):
        assert path.stat().st_mode & 0o777 == 0o644

    def test_kill_9_while_writing(self, two, path, tmp_path):
        """The old record stays whole and the next run finishes the job."""
        before = path.read_bytes()
        call = [sys.executable, "-c", KILLED, json.dumps(two.to_json()), str(tmp_path)]
        source = str(Path(records.__file__).parents[2])
        here = str(Path(__file__).parent)
        environment = os.environ | {"PYTHONPATH": f"{source}:{here}"}
        killed = subprocess.run(call, env=environment)
        assert killed.returncode == -signal.SIGKILL
        assert path.read_bytes() == before
        assert list(tmp_path.rglob("*.part"))
        assert records.load(two, tmp_path).missing == [("b", 1)]
        records.add(two, [result(two.arms[1], 1)], tmp_path)
        assert records.load(two, tmp_path).missing == []
        assert not list(tmp_path.rglob("*.part"))


KILLED = """
import json, os, signal, sys
from pathlib import Path
from grokbook import records
from grokbook.experiment import Experiment
from grokbook.records import table
from recorded import result

def die(frame, meta, path):
    path.write_bytes(b"PAR1 half a file")
    os.kill(os.getpid(), signal.SIGKILL)

table.write = die
two = Experiment.from_json(json.loads(sys.argv[1]))
records.add(two, [result(two.arms[1], 1)], Path(sys.argv[2]))
"""


def test_folder_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    assert records.root() == tmp_path
    assert records.path_of("p/fig1", "paper") == tmp_path / "p/fig1.paper.parquet"
    monkeypatch.delenv("GROKBOOK_RECORDS")
    assert records.root() == project.home() / "data" / "records"


# The records of the book -------------------------------------------------------------

FOLDER = Path(__file__).parents[1] / "data" / "records"
COMMITTED = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.glob("*/*.parquet")
    if not path.name.endswith(".trace.parquet")
)


@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_record_is_whole_fresh_and_of_one_library(name):
    experiment, scale, _ = name.split(".")
    found = records.load(papers.get(experiment, scale), FOLDER)
    assert found.meta["format"] == 2
    assert found.renamed == {}
    known = {a.name: a.training_key() for a in found.experiment.arms}
    for key, about in found.members.items():
        assert about["training_key"] == known[key.rpartition("|")[0]]
    on_cpu = [m for m in found.members.values() if m["device"] == "cpu"]
    assert len({m["matmul"] for m in on_cpu}) <= 1
