"""The store: whole files or none, shared by what is trained, nothing half-read; members
trained elsewhere come into the records, all of them or none."""

import contextlib
import math
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest
import torch
from helpers import arm, experiment
from recorded import contents, result
from recorded import two as two_arms
from skips import skip_without

import grokbook
from claimbook import names, observing, papers, project, records
from claimbook.errors import BookError, NoRecord, RecordError
from claimbook.records import member

KEPT = {0: {"w": torch.arange(6.0).reshape(2, 3).T}}
TRACE = 6 * [1.0, 0.125, math.inf, math.nan, 5e-324]  # a loss for each of 30 steps


@pytest.fixture
def two():
    return two_arms()


@pytest.fixture
def path(two, tmp_path):
    """The file of seed 0 of arm a, with weights and a trace; b's seed 1 is missing."""
    a, b = two.arms
    for one in (result(b, 0), result(a, 1), result(a, 0, kept=KEPT, trace=TRACE)):
        records.add(two, one, tmp_path)
    return tmp_path / f"prieto2025/{a.training_key}-0.parquet"


def test_round_trip(two, path, tmp_path):
    record = records.load(two, tmp_path)
    assert (record.name, record.scale, len(record)) == ("prieto2025/fig06b", "smoke", 3)
    assert records.missing(two, tmp_path) == [(two.arms[1], 1)]
    assert record.seeds("a") == [0, 1]
    assert record.seconds == 6.0
    assert list(record.frame["arm"]) == ["a"] * 4 + ["b"] * 4 + ["a"] * 4
    assert list(record.frame.columns)[:3] == ["arm", "seed", "epoch"]
    assert record.series("a", "train_loss").loc[10].tolist() == [1 / 11, 1 / 11]
    about = record.members["a|0"]
    told = records.recorded(two, tmp_path)["a|0"]
    assert about == told | {"uncommitted": about["commit"].endswith("+")}
    assert (about["epochs_per_second"], about["epochs"]) == (15.0, 30)
    assert (about["commit"], about["source"]) == (project.commit(), project.source())
    a, b = two.arms
    renamed = experiment(replace(a, name="A|new"), b)
    assert [*records.load(renamed, tmp_path).members] == ["A|new|0", "b|0", "A|new|1"]


def test_pandas_alone_reads_a_member_and_a_new_seed_changes_none(two, path, tmp_path):
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["epoch", "train_loss", "test_accuracy"]
    assert [frame[name].dtype.kind for name in frame] == ["i", "f", "f"]
    assert frame.attrs["arm"] == two.arms[0].as_plain()
    assert path.stat().st_mode & 0o777 == 0o644
    before = {file: file.stat().st_ino for file in contents(tmp_path)}
    records.add(two, result(two.arms[1], 1), tmp_path)
    after = {file: file.stat().st_ino for file in contents(tmp_path)}
    assert len(after) == len(before) + 1 and before.items() <= after.items()


def test_one_frame_of_a_record_of_the_book():
    frame = grokbook.record("prieto2025/fig02")
    assert frame.equals(papers.record("prieto2025/fig02").frame)
    assert frame.attrs["paper"] == "Prieto et al. (2025)"
    assert frame.attrs["settings"]["scale"] == "paper"
    assert (frame.attrs["units"][:6], frame.attrs["licence"]) == ("epochs", "MIT")
    every = grokbook.members().query("experiment == 'prieto2025/fig02'")
    assert len(every.query("scale == 'paper'")) == len(frame.attrs["members"])
    rows = grokbook.verdicts().query("page == 'prieto2025/fig02' and main")
    assert rows.verdict.tolist() == ["holds"] and (rows.n > 2).all()


def test_kept_weights(two, path, tmp_path):
    record = records.load(two, tmp_path)
    assert torch.equal(record.weights("a", 0, 0)["w"], KEPT[0]["w"])
    for seed, epoch in ((1, 0), (0, 1), (7, 0)):
        with pytest.raises(RecordError, match=f"weights of seed {seed} at epoch"):
            record.weights("a", seed, epoch)


def test_traces_keep_four_digits(two, path, tmp_path):
    records.add(two, result(two.arms[0], 1, trace=15 * [0.5, 0.25]), tmp_path)
    record = records.load(two, tmp_path)
    trace = record.trace("a")
    assert (trace.index.name, list(trace.columns)) == ("step", [0, 1])
    assert np.array_equal(trace[0], TRACE, equal_nan=True)
    assert trace[1].tolist() == 15 * [0.5, 0.25]
    with pytest.raises(RecordError, match="no trace of arm 'b'.*--arms \"b\"` trains"):
        record.trace("b")
    given = np.geomspace(1e-300, 1e300, 30)
    records.add(two, result(two.arms[0], 0, trace=list(given)), tmp_path)
    trace = records.load(two, tmp_path).trace("a")[0]
    assert 2**-16 < abs(trace / given - 1).max() <= 2**-14
    none = experiment(arm("a", epochs=0, trace=True), seeds=(0,))
    records.add(none, result(*none.arms, 0, trace=[], epochs=[0]), tmp_path)
    assert records.load(none, tmp_path).trace("a").empty


@pytest.mark.parametrize("count", [1, 31])
def test_a_trace_of_another_length_is_refused(two, path, tmp_path, count):
    records.add(two, result(two.arms[0], 1, trace=[1.0] * count), tmp_path)
    with pytest.raises(RecordError, match=f"has {count} losses for 30 steps"):
        records.load(two, tmp_path)


def test_a_column_that_others_have(two, path, tmp_path):
    nan = result(two.arms[1], 0, more=["spectrum", "exponent"])
    for row in nan.rows:
        row["exponent"] = math.nan
    records.add(two, nan, tmp_path)
    record = records.load(two, tmp_path)
    assert record.frame["spectrum"].notna().sum() == 4
    with pytest.raises(RecordError, match="no 'spectrum' of arm 'a'.*`grokbook run"):
        record.series("a", "spectrum")
    with pytest.raises(RecordError, match="no 'curvature' of arm 'b'"):
        record.series("b", "curvature")
    assert record.series("nobody", "spectrum").empty
    assert record.series("b", "exponent").empty


def test_a_measured_nan_is_no_missing_value(tmp_path):
    """Both are NaN in a file: what a training came through, and what was not due."""
    looks = {"log": 10, "rarely": (20, ("spectrum",)), "through_nan": True}
    one = experiment(arm("a", **looks), seeds=(0,))
    lost = result(one.arms[0], 0, more=["norm", "spectrum"])
    del lost.rows[1]["spectrum"]
    for row in lost.rows[2:]:
        row |= dict.fromkeys(("train_loss", "norm", "spectrum"), math.nan)
    records.add(one, lost, tmp_path)
    record = records.load(one, tmp_path)
    for column, values in (
        ("train_loss", [1, 1 / 11, None, None]),
        ("norm", [0, 10, None, None]),
    ):
        found = record.series("a", column)[0]
        assert list(found.index) == [0, 10, 20, 30]
        assert found.replace(math.nan, None).tolist() == values
    found = record.series("a", "spectrum")[0]
    assert list(found.index) == [0, 20, 30]
    assert list(found.isna()) == [False, True, True]


SPOILT = [
    lambda written: b"{}\n<<<<<<< HEAD" + written,
    lambda written: b"\xff" + written,
    lambda written: written[:-9],
    lambda written: b"a\nb\n" + written,
    lambda written: b"{}\n" + written,
    lambda written: written.replace(b"arm", b"amr"),
]


@pytest.mark.parametrize("name_of_arm", ["None", "0.10"])  # texts, not NaN and 0.1
@pytest.mark.parametrize("spoil", SPOILT)
def test_a_damaged_table_beside_the_records_is_named(
    two, path, monkeypatch, spoil, name_of_arm
):
    two = replace(two, arms=[arm(name_of_arm, log=10)])
    folder = path.parents[1]
    monkeypatch.setenv("GROKBOOK_RECORDS", str(folder))
    reads = {records.INDEX: grokbook.members}
    reads[records.EXPERIMENTS] = lambda: grokbook.record(two.name, scale=two.scale)
    for name, read in reads.items():
        records.write_index([two])
        assert len(read())
        written = (folder / name).read_bytes()
        (folder / name).write_bytes(spoil(written))
        with pytest.raises(BookError, match=name) as caught:
            read()
        assert "\n" not in str(caught.value)


def test_no_record_is_said_with_the_command_that_trains_one(two, tmp_path):
    with pytest.raises(NoRecord, match="no record .* `grokbook run prieto2025"):
        records.load(two, tmp_path)
    with pytest.raises(NoRecord, match="has no record yet"):
        papers.record("prieto2025/fig06b", folder=tmp_path)
    known = papers.get("prieto2025/fig08", "smoke")
    first = known.arms[0]
    one = result(first, known.seeds[0], epochs=first.logged_epochs())
    records.add(known, one, tmp_path)
    assert papers.record("prieto2025/fig08", folder=tmp_path).scale == "smoke"


def test_a_changed_setting_is_missing_and_the_old_file_stale(two, path, monkeypatch):
    folder = path.parents[1]
    monkeypatch.setenv("GROKBOOK_RECORDS", str(folder))
    changed = experiment(arm("a", log=10, epochs=31), two.arms[1])
    assert [*records.load(changed, folder).members] == ["b|0"]
    stale = [file.name.split(".")[0] for file in records.stale([changed])]
    key = two.arms[0].training_key  # weights and trace of seed 0 among them
    assert sorted(stale) == [f"{key}-0"] * 3 + [f"{key}-1"]
    assert not records.stale([changed, two])


def test_columns_that_no_observable_makes_any_more(two, path, tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    known = ["train_loss", "test_accuracy", "norm"]
    assert records.orphans(known) == {}
    more = ["norm.a", "bin.0", "bin.1", "old"]
    records.add(two, result(two.arms[1], 1, more=more), tmp_path)
    records.add(two, result(two.arms[1], 2, more=["old"]), tmp_path)
    assert records.orphans(known) == {"bin": 1, "old": 2}
    path.write_bytes(b"no table")
    with pytest.raises(RecordError, match="cannot be read as a member"):
        records.orphans(known)


def test_looks_that_a_file_lacks_are_missing(two, path, tmp_path):
    a, b = two.arms

    def lacking(**looks):
        seen = experiment(replace(a, **looks), b)
        assert "a|0" in records.load(seen, tmp_path).members
        return [s for one, s in records.missing(seen, tmp_path) if one.name == "a"]

    assert lacking() == lacking(log=30) == lacking(observables=("core",)) == []
    assert lacking(keep=(3,), keep_seeds=(1,)) == [1]
    for looks in (
        {"log": 5},
        {"observables": ("core", "spectrum")},
        {"rarely": (10, ("spectrum",))},
        {"trace": True},
    ):
        assert lacking(**looks) == [0, 1]


def test_experiments_that_train_the_same_share_a_file(two, path, tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(tmp_path))
    other = two_arms(name="prieto2025/fig07")
    assert len(records.load(other, tmp_path)) == 3
    (tmp_path / "index.csv").write_text(records.index([two, other]))
    table = pd.read_csv(tmp_path / "index.csv")
    assert len(table) == 6
    assert table.groupby("file").size().tolist() == [2, 2, 2]
    file, digest = table.loc[0, ["file", "digest"]]
    assert pd.read_parquet(tmp_path / file).attrs["digest"] == digest


@pytest.mark.parametrize(
    ("wide", "narrow", "column"),
    [
        (("core", "norms"), ("logits",), "norm"),
        (("core",), ("core",), "a column that nobody measures any more"),
    ],
)
def test_one_that_sees_less_does_not_take_what_others_see(
    two, tmp_path, wide, narrow, column
):
    """Else the two would train it by turns for ever, or a column would be lost."""
    a, b = two.arms
    dense = experiment(replace(a, observables=wide), b)
    rare = replace(a, observables=narrow)
    apart = experiment(rare, b, name="prieto2025/fig07")
    records.add(dense, result(dense.arms[0], 0, more=[column]), tmp_path)
    for loss in (5.0, 6.0):  # the second takes the place of its own
        records.add(apart, result(rare, 0, loss=loss), tmp_path)
        assert len(records.load(dense, tmp_path).series("a", column)) == 4
        found = records.load(apart, tmp_path).series("a", "train_loss")
        assert found.loc[0, 0] == loss
        for one in (dense, apart):
            assert (one.arms[0], 0) not in records.missing(one, tmp_path)
    assert len(contents(tmp_path)) == 2


def test_weights_kept_in_another_dtype_do_not_take_the_place_of_recorded_ones(
    two, tmp_path
):
    a, b = two.arms
    whole = replace(a, keep=(30,))
    half = replace(whole, keep_dtype="float16")
    first = experiment(whole, b)
    second = experiment(half, b, name="prieto2025/fig07")
    weights = {30: {"w": torch.ones(2)}}
    records.add(first, result(whole, 0, kept=weights), tmp_path)
    assert (half, 0) in records.missing(second, tmp_path)
    records.add(second, result(half, 0, kept=weights), tmp_path)
    for one in (first, second):
        assert (one.arms[0], 0) not in records.missing(one, tmp_path)


def test_one_that_measures_more_rarely_does_not_take_what_others_see(two, tmp_path):
    a, b = two.arms
    often = replace(a, observables=("core", "spectrum"))
    rare = replace(a, observables=("core",), rarely=(20, ("spectrum",)))
    dense = experiment(often, b)
    sparse = experiment(rare, b, name="prieto2025/fig07")
    records.add(dense, result(often, 0), tmp_path)
    assert (rare, 0) not in records.missing(sparse, tmp_path)
    records.add(sparse, result(rare, 0), tmp_path)
    assert len(contents(tmp_path)) == 2
    assert (often, 0) not in records.missing(dense, tmp_path)
    often = replace(rare, rarely=(10, ("spectrum",)))
    dense = experiment(often, b, name="prieto2025/fig07")
    assert (often, 0) in records.missing(dense, tmp_path)


def test_flipped_bytes_anywhere(two, path, tmp_path):
    """In rows, metadata, weights or trace: refused, or the very same content."""
    record = records.load(two, tmp_path)
    caught = dict.fromkeys(contents(tmp_path), 0)
    for file, content in contents(tmp_path).items():
        for at in range(5, len(content), 11):
            damaged = bytearray(content)
            damaged[at] ^= 0x55
            file.write_bytes(damaged)
            try:
                found = records.load(two, tmp_path)
                assert found.frame.equals(record.frame)
                assert found.members == record.members
            except RecordError as error:
                assert "\n" not in str(error)
                caught[file] += 1
        file.write_bytes(content)
    assert len(caught) == 5
    for file, count in caught.items():
        assert count > 0.8 * len(range(5, file.stat().st_size, 11))


def test_truncated_foreign_or_another(two, path, tmp_path):
    content = path.read_bytes()
    foreign = pd.DataFrame({"epoch": [1]}).to_parquet()
    other = path.with_name(path.name.replace("-0.", "-1.")).read_bytes()
    for left in (b"", content[:300], content[:-9], b"<<<<<<< HEAD\n", foreign, other):
        path.write_bytes(left)
        before = contents(tmp_path)
        # as when files are renamed by hand: the other is whole
        said = "is not as it was recorded" if left is other else "be read as a member"
        for action in (records.load, records.missing):
            with pytest.raises(RecordError, match=said) as caught:
                action(two, tmp_path)
            assert "\n" not in str(caught.value) and str(path) in str(caught.value)
        assert contents(tmp_path) == before


def test_a_full_disk(two, path, tmp_path):
    """Every file of the member as it was, wherever the room ends."""
    before = contents(tmp_path)
    much = result(two.arms[1], 1, kept=KEPT, trace=TRACE)
    sizes = [len(c) for c in member.file_contents(path, much).values()]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for size in (0, min(sizes) - 1, max(sizes) - 1):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            with pytest.raises(OSError, match="too large"):
                records.add(two, much, tmp_path)
            assert contents(tmp_path) == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)


def test_kill_9_at_any_moment(two, path, tmp_path):
    """Before each file takes its place: the old members, all of them whole."""
    known = records.load(two, tmp_path).members
    call = [sys.executable, "-c", KILLED, pickle.dumps(two).hex(), str(tmp_path)]
    for survived in range(2):
        killed = subprocess.run([*call, str(survived)])
        assert killed.returncode == -signal.SIGKILL
        record = records.load(two, tmp_path)
        assert record.members == known and record.trace("a")[0][0] == 1.0


def test_two_writers_and_a_reader(two, path, tmp_path):
    """Writers that never wait for each other, of the same and of other members."""
    a, b = two.arms

    def write(loss):
        for seed in (0, 1, 0):
            full = result(a, seed, loss=loss, kept=KEPT, trace=[loss] * 30)
            records.add(two, full, tmp_path)
            records.add(two, result(b, seed, loss=loss), tmp_path)

    def read():
        for _ in range(30):
            record = records.load(two, tmp_path)
            losses = record.series("a", "train_loss").loc[0]
            if len(record.trace("a").columns) == 2:
                for seed, trace in record.trace("a").items():
                    assert trace[0] in (losses[seed], 1.0)

    with ThreadPoolExecutor() as pool:
        for work in [
            pool.submit(read),
            pool.submit(write, 2.0),
            pool.submit(write, 3.0),
        ]:
            work.result()
    assert len(records.load(two, tmp_path)) == 4
    assert not list(tmp_path.rglob("*.part"))


KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from claimbook import records
from claimbook.experiment import Result

replace, left = os.replace, int(sys.argv[3])

def dying(*names):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*names)

os.replace = dying
two = pickle.loads(bytes.fromhex(sys.argv[1]))
rows = [{"epoch": epoch, "train_loss": 9.0} for epoch in (0, 10, 20, 30)]
words = ("device", "device_name", "matmul", "torch", "python")
info = dict.fromkeys(words, "cpu") | {"members_together": 1}
more = Result(two.arms[0], 0, rows, {}, 2.0, info, trace=[9.0] * 30)
records.add(two, more, Path(sys.argv[2]))
"""


BOOKS = project.home() / "data" / "records"


@pytest.fixture(scope="module")
def whole():
    """Of each member of the book, read in full once: its columns and its metadata."""
    paths = [file for file in BOOKS.glob("*/*.parquet") if ".trace." not in file.name]
    every = ((path, member.table(path)) for path in paths)
    return {path: (rows.column_names, meta) for path, (rows, meta) in every}


def test_the_records_of_the_book_are_whole_of_today_and_in_the_index(
    whole, monkeypatch
):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(BOOKS))
    every = papers.every()
    assert len(whole) > 1000  # each read, so that its key is that of its settings
    assert records.stale(every) == []
    assert (BOOKS / records.INDEX).read_text() == records.index(every)
    assert (BOOKS / records.EXPERIMENTS).read_text() == records.experiments_as_lines(
        every
    )


def described(table, cell):
    """What is in backticks in a cell of every row of a table in Markdown."""
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[cell])}


def test_the_description_of_the_data_has_the_columns_that_there_are(whole):
    """Of today's observables in one table, of older members alone in another."""
    text = (project.home() / "data" / "README.md").read_text(encoding="utf-8")
    text = text.partition("| Observable |")[2]
    today, _, older = text.partition("\nOlder members have")
    older = older.partition("| Column |")[2].partition("\n\n")[0]
    assert described(today, 1) == names.observables().keys()
    assert described(today, 2) == observing.stems()
    columns = {name for names_of_one, _ in whole.values() for name in names_of_one}
    stems = {name.partition(".")[0] for name in columns} - {"epoch"}
    assert described(older, 1) == stems - observing.stems()


# What a source was a digest of when these members were trained: whole files.
OLD = ("*.py", "datasets/*.py", "engine/*.py", "models/*.py", "optimizers/*.py")


def test_sources_that_count_as_committed_are_those_of_their_commit(tmp_path):
    tree = ["git", "-C", project.home(), "archive", "aaf932f", "src/grokbook"]
    found = subprocess.run(tree, capture_output=True)
    if found.returncode:
        skip_without("the whole history", remedy="git fetch --unshallow")
    subprocess.run(["tar", "-x", "-C", tmp_path], input=found.stdout, check=True)
    files = (sorted(tmp_path.glob(f"src/grokbook/{p}")) for p in OLD)
    every = b"".join(file.read_bytes() for part in files for file in part)
    assert {sha256(every).hexdigest()} == set(project.part("committed"))


NAME, OTHER = "prieto2025/fig06b", "singh2026/fig02"
BOOK = [two_arms("paper", name) for name in (NAME, OTHER)]
PAPER, SINGH = BOOK
A, B = PAPER.arms


@pytest.fixture
def committed(monkeypatch):
    """The code that these tests run is in a commit, whatever is being edited."""
    monkeypatch.setattr(project, "commit", lambda: "0123456789")


@pytest.fixture
def into(tmp_path, committed):
    """A record with arm a of seed 0, which keeps weights."""
    records.add(PAPER, result(A, 0, kept=KEPT, trace=[1.0] * 30), tmp_path / "into")
    return tmp_path / "into"


@pytest.fixture
def folder(tmp_path):
    """Records from elsewhere: both arms of seed 0, and arm b of seed 1."""
    for one in (
        result(A, 0, loss=9.0, kept=KEPT, trace=[2.0] * 30),
        result(B, 0, kept=KEPT, trace=15 * [2.0, 3.0]),
        result(B, 1, loss=7.0),
    ):
        records.add(PAPER, one, tmp_path / "gpu")
    return tmp_path / "gpu"


def merge(*folders, into, **options):
    """Both as it is announced and as it is done, counted."""
    before = contents(into)
    announced = records.merge(folders, BOOK, into, **options, dry_run=True)
    assert contents(into) == before
    done = records.merge(folders, BOOK, into, **options)
    assert announced == done
    return {what: len(places) for what, places in done.items()}


def first_loss(into, arm, seed, experiment=PAPER):
    return records.load(experiment, into).series(arm, "train_loss").loc[0, seed]


def test_merging_is_a_copy_of_what_is_not_there(into, folder):
    before, offered = contents(into), contents(folder)
    assert merge(folder, into=into) == {"added": 2, "replaced": 0, "kept": 1}
    record = records.load(PAPER, into)
    assert [*record.members] == ["a|0", "b|0", "b|1"]
    assert first_loss(into, "a", 0) == 1.0
    assert torch.equal(record.weights("b", 0, 0)["w"], KEPT[0]["w"])
    assert record.trace("b")[0].tolist() == 15 * [2.0, 3.0]
    after = contents(into)
    assert before.items() <= after.items()
    there = {file.relative_to(folder): content for file, content in offered.items()}
    new = {f.relative_to(into): c for f, c in after.items() if f not in before}
    assert len(new) == 4
    assert new.items() <= there.items()
    assert merge(folder, into=into) == {"added": 0, "replaced": 0, "kept": 3}
    assert contents(into) == after and contents(folder) == offered


def test_replace_takes_another_and_the_first_that_is_offered(into, folder, tmp_path):
    records.add(PAPER, result(B, 1, loss=8.0), tmp_path / "cluster")
    records.add(PAPER, result(A, 1, loss=5.0), tmp_path / "cluster")
    found = merge(folder, tmp_path / "cluster", into=into)
    assert found == {"added": 3, "replaced": 0, "kept": 1}
    assert first_loss(into, "b", 1) == 7.0 and first_loss(into, "a", 1) == 5.0
    found = merge(folder, into=into, replace=True)
    assert found == {"added": 0, "replaced": 1, "kept": 2}
    assert first_loss(into, "a", 0) == 9.0
    assert records.load(PAPER, into).trace("a")[0].tolist() == [2.0] * 30


def test_one_that_was_trained_apart_stays_apart(into, folder, tmp_path):
    other = two_arms("paper", "prieto2025/fig07")
    rare = replace(A, observables=("core",))
    apart = replace(other, arms=(rare, B))
    records.add(apart, result(rare, 0, loss=4.0), folder)
    assert len(list(folder.glob("*/*.fig07.parquet"))) == 1
    records.merge([folder], [PAPER, other], into)
    assert (first_loss(into, "a", 0), first_loss(into, "a", 0, other)) == (1.0, 4.0)


def changed_setting(folder, _):
    new = replace(A, epochs=40)
    one = result(new, 1, epochs=new.logged_epochs())
    records.add(replace(PAPER, arms=(new, B)), one, folder)


def frame_of(path):
    """The rows of a member as a frame, and its metadata."""
    rows, about = member.table(path)
    return rows.to_pandas(ignore_metadata=True), about


def edited(_, path):
    rows, about = frame_of(path)
    path.write_bytes(member._parquet(rows, about | {"commit": "x"}))


def no_weights(_, rows):
    member.side_files(rows, member.metadata(rows))["weights"].unlink()


REFUSED = {  # what is said <- how a folder and the rows of a member are spoilt
    "arm 'a', seed 1. is of no experiment of today": changed_setting,
    "liu2026.* is of no experiment of today": (
        lambda folder, _: shutil.copytree(folder / "prieto2025", folder / "liu2026")
    ),
    "is not as it was recorded": edited,
    "is not the weights that": no_weights,
    "gpu holds no <paper>/<key>-<seed>.parquet": lambda *at: shutil.rmtree(at[0]),
}


@pytest.mark.parametrize(("said", "spoil"), REFUSED.items())
def test_what_does_not_fit_is_refused_by_name(into, folder, tmp_path, said, spoil):
    good = tmp_path / "good"  # a record that fits, which does not come along either
    records.add(SINGH, result(SINGH.arms[0], 0), good)
    spoil(folder, folder / f"prieto2025/{B.training_key}-0.parquet")
    before = contents(tmp_path)
    for how in ({"dry_run": True}, {}, {"replace": True}):
        with pytest.raises(RecordError, match=said) as caught:
            records.merge([good, folder], BOOK, into, **how)
        assert "\n" not in str(caught.value)
        assert contents(tmp_path) == before


@pytest.mark.parametrize("commit", ["0123456789+", "unknown"])
def test_code_in_no_commit_is_merged_only_if_that_is_asked_for(
    into, folder, tmp_path, monkeypatch, commit
):
    monkeypatch.setattr(project, "commit", lambda: commit)
    records.add(PAPER, result(A, 1), tmp_path / "dirty")
    before = contents(into)
    told = f"in no commit, {re.escape(commit)}: `merge --unc"
    with pytest.raises(RecordError, match=told):
        records.merge([folder, tmp_path / "dirty"], BOOK, into)
    assert contents(into) == before
    done = merge(folder, tmp_path / "dirty", into=into, uncommitted=True)
    assert done["added"] == 3
    assert records.merge([into], BOOK, into)["kept"]  # those that are there may stay


def having(**changes):
    return lambda rows, meta: (rows, meta | changes)


def with_arm(**changes):
    return lambda rows, meta: (rows, meta | {"arm": meta["arm"] | changes})


def measured(**columns):
    return lambda rows, meta: (rows.assign(**columns), meta)


# What is no member though its digest is right: what is said of it, how it is made.
FORGED = {
    "every second row": ("other epochs", lambda rows, meta: (rows[::2], meta)),
    "time runs backwards": ("do not ascend", lambda rows, meta: (rows[::-1], meta)),
    "no end of time": ("do not ascend", lambda r, m: (r.assign(epoch=math.inf), m)),
    "the last half gone": ("other epochs", lambda rows, meta: (rows[:2], meta)),
    "and so it says": ("ends at", lambda r, m: (r[:2], m | {"epochs": 10})),
    "no epochs": ("no column of e", lambda r, m: (r.drop(columns="epoch"), m)),
    "no loss": ("no column train", lambda r, m: (r.drop(columns="train_loss"), m)),
    "words measured": ("be read as a m", lambda r, m: (r.assign(norm="large"), m)),
    "another length": ("another training key", with_arm(epochs=20)),
    "a field of nobody": ("another training key", with_arm(window=1)),
    "other logs": ("other epochs", with_arm(log=5)),
    "a trace that is not there": ("has no trace", with_arm(trace=True)),
    "weights that are not there": ("has no weights", with_arm(keep=[30])),
    "an arm of one word": ("arm that is none", having(arm={"name": "a"})),
    "less than no epochs": ("arm that is none", with_arm(epochs=-1)),
    "no arm": ("has no arm", having(arm=None)),
    "seconds are NaN": ("no number of seconds", having(seconds=math.nan)),
    "seconds below 0": ("no number of seconds", having(seconds=-1.0)),
    "seconds in words": ("no number of seconds", having(seconds="2")),
    "no device": ("no device_name in words", having(device_name="")),
    "a commit that counts": ("no commit in words", having(commit=7)),
    "no torch": ("no torch in words", having(torch=None)),
    "another source": ("no SHA-256 of its source", having(source="mine")),
    "finished soon": ("has no day", having(finished="soon")),
    "an accuracy of 7": ("accuracy that is not from 0 to 1", measured(test_accuracy=7)),
    "a little too much": ("is not from 0 to 1", measured(test_accuracy=1 + 1.1e-6)),
    "less than no loss": ("train_loss that is not from 0", measured(train_loss=-0.1)),
    "a loss of NaN": ("loss of NaN, which ends", measured(train_loss=math.nan)),
    "no end": ("no whole number of epochs", having(epochs=29.5)),
    "weights elsewhere": ("no SHA-256 of its weights", having(weights="../../..")),
    "weights that count": ("no SHA-256 of its weights", having(weights=5)),
}


@pytest.mark.parametrize(("said", "forge"), FORGED.values(), ids=FORGED)
def test_a_forged_member_is_refused_though_its_digest_is_right(tmp_path, said, forge):
    records.add(PAPER, result(A, 0), tmp_path)
    (path,) = tmp_path.glob("*/*.parquet")
    rows, meta = forge(*frame_of(path))
    with contextlib.suppress(TypeError, ValueError):  # words have no digest
        meta["digest"] = member._digest(rows.to_numpy(), list(rows), meta)
    numbers = rows.select_dtypes("number")
    path.write_bytes(member._parquet(numbers, meta))
    if len(numbers.columns) < len(rows.columns):
        rows.attrs = meta
        rows.to_parquet(path)
    with pytest.raises(RecordError, match=said) as caught:
        member.table(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


LEAST = {"seed": 0, "epochs": 0, "format": 0, "members_together": 1}


def test_metadata_have_no_number_below_the_least_one_and_are_read_without_rows(
    two, path, tmp_path
):
    for seconds, rounded, rate in ((7.127, 7.13, 4.21), (0.0, 0.0, 3e10)):
        records.add(two, replace(result(two.arms[0], 1), seconds=seconds), tmp_path)
        about = records.recorded(two, tmp_path)["a|1"]
        assert (about["seconds"], about["epochs_per_second"]) == (rounded, rate)
    rows, meta = frame_of(path)
    for name, least in LEAST.items():
        path.write_bytes(member._parquet(rows, meta | {name: least - 1}))
        with pytest.raises(RecordError, match=f"has no whole number of {name}"):
            member.metadata(path)
    free = {"seconds": 0, "epochs_per_second": 0.0}
    path.write_bytes(member._parquet(rows, meta | LEAST | free))
    assert member.metadata(path).items() >= LEAST.items()


NEWCOMERS = {
    "which source": lambda rows, meta: (rows, meta | {"source": ...}),
    "no observable makes, magic": measured(magic=1.0),
    "no column test_accuracy": lambda rows, meta: (rows[["epoch", "train_loss"]], meta),
    "without a number, norm.a": measured(**{"norm.a": math.nan}),
    "an observable that there is not, 'lost'": with_arm(observables=["lost"]),
    "no column norm": with_arm(rarely=[10, ["rank"]]),
}


@pytest.mark.parametrize(("said", "forge"), NEWCOMERS.items())
def test_code_of_today_leaves_no_such_member(into, folder, said, forge):
    path = folder / f"prieto2025/{B.training_key}-1.parquet"
    rows, meta = forge(*frame_of(path))
    meta = {name: value for name, value in meta.items() if value is not ...}
    meta["digest"] = member._digest(rows.to_numpy(), list(rows), meta)
    path.write_bytes(member._parquet(rows, meta))

    made = dict.fromkeys(A.observables, set()) | {"rank": {"norm"}}
    made["core"] = {"train_loss", "test_accuracy"}

    def stems(names=None):
        return {stem for name in names or made for stem in made[name]}

    with pytest.raises(RecordError, match=f"{path} .*{said}"):
        records.merge([folder], BOOK, into, stems=stems)


def test_rounding_may_carry_a_share_a_millionth_past_its_bound(tmp_path):
    for share in (1 + 0.9e-6, -0.9e-6):
        one = result(A, 0)
        one.rows[-1]["test_accuracy"] = share
        records.add(PAPER, one, tmp_path)
        assert len(records.load(PAPER, tmp_path)) == 1


def test_one_that_reached_its_stop_ends_early_and_no_other_does(tmp_path):
    for stop, is_member in ((0.5, True), (0.6, False)):
        ends = {"epochs": 50, "stop": stop, "after_stop": 30}
        early = experiment(arm("a", log=10, **ends), seeds=(0,))
        records.add(early, result(early.arms[0], 0), tmp_path)
        if is_member:
            assert len(records.load(early, tmp_path)) == 1
        else:
            with pytest.raises(RecordError, match="ends at epoch 30 of 50"):
                records.load(early, tmp_path)
