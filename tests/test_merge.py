"""Members trained elsewhere come into the records, all of them or none."""

import dataclasses
import errno
import json
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from recorded import as_format_1, change, contents, metadata, result, two

from grokbook import records
from grokbook.errors import UnknownName
from grokbook.records import Merged, RecordError, beside

NAME, OTHER = "prieto2025/fig06b", "singh2026/fig02"
KEPT = {0: {"w": torch.arange(6.0)}}
BOOK = {
    (name, scale): two(scale, name)
    for name in (NAME, OTHER)
    for scale in ("paper", "laptop", "smoke")
}


def get(name, scale):
    """Today's experiments, two of them."""
    if (name, scale) not in BOOK:
        raise UnknownName(f"unknown experiment {name!r} or scale {scale!r}")
    return BOOK[name, scale]


def paper(name=NAME):
    return BOOK[name, "paper"]


@pytest.fixture
def into(tmp_path):
    """A record with arm a of seed 0, which keeps weights."""
    a, _ = paper().arms
    records.add(paper(), [result(a, 0, kept=KEPT, trace=[1.0])], tmp_path / "into")
    return tmp_path / "into"


@pytest.fixture
def folder(tmp_path):
    """Records from elsewhere: both arms of seed 0, and arm b of seed 1."""
    a, b = paper().arms
    more = [
        result(a, 0, loss=9.0, kept=KEPT),
        result(b, 0, kept=KEPT, trace=[2.0, 3.0]),
    ]
    more += [result(b, 1, loss=7.0)]
    records.add(paper(), more, tmp_path / "gpu")
    return tmp_path / "gpu"


def merge(*folders, into, **options):
    """Both as it is announced and as it is done."""
    announced = records.merge(folders, get, into=into, **options | {"dry_run": True})
    done = records.merge(folders, get, into=into, **options)
    assert announced == done
    return done


def first_loss(into, arm, seed, experiment=None):
    record = records.load(experiment or paper(), into)
    return record.series(arm, "train_loss").loc[0, seed]


def test_what_is_not_there_is_added_and_what_is_there_stays(into, folder):
    before = contents(folder)
    (merged,) = merge(folder, into=into)
    assert merged == Merged(NAME, "paper", added=(("b", 0), ("b", 1)), kept=(("a", 0),))
    assert str(merged) == "prieto2025/fig06b paper: 2 added, 1 kept"
    record = records.load(paper(), into)
    assert record.missing == [("a", 1)]
    assert first_loss(into, "a", 0) == 1.0
    assert record.series("b", "train_loss").loc[0].tolist() == [1.0, 7.0]
    assert contents(folder) == before


def test_what_lies_beside_comes_along(into, folder):
    merge(folder, into=into)
    record = records.load(paper(), into)
    assert list(record.beside(beside.WEIGHTS)) == ["a|0", "b|0"]
    assert torch.equal(record.weights("b", 0, 0)["w"], KEPT[0]["w"])
    assert record.trace("a")[0].tolist() == [1.0]
    assert record.trace("b")[0].tolist() == [2.0, 3.0]


def test_a_member_brings_its_metadata_as_they_are(into, folder):
    path = records.path_of(NAME, "paper", folder)
    change(path, meta=lambda m: m["members"]["b|0"].update(device="cuda", commit="x+"))
    told = metadata(path)["members"]["b|0"]
    merge(folder, into=into)
    assert records.load(paper(), into).members["b|0"] == told


def test_merging_again_adds_nothing_and_writes_nothing(into, folder):
    merge(folder, into=into)
    before = {file: file.stat().st_ino for file in contents(into)}
    (merged,) = merge(folder, into=into)
    assert (merged.added, len(merged.kept)) == ((), 3)
    assert {file: file.stat().st_ino for file in contents(into)} == before


def test_a_dry_run_writes_nothing(into, folder):
    before = contents(into)
    records.merge([folder], get, into=into, dry_run=True)
    assert contents(into) == before


def test_into_nothing(tmp_path, folder):
    (merged,) = merge(folder, into=tmp_path / "new")
    assert len(merged.added) == 3
    record = records.load(paper(), tmp_path / "new")
    there = records.load(paper(), folder)
    assert record.frame.equals(there.frame)
    assert record.members == there.members


def test_into_the_records_folder(monkeypatch, into, folder):
    monkeypatch.setenv("GROKBOOK_RECORDS", str(into))
    records.merge([folder], get)
    assert records.load(paper()).missing == [("a", 1)]


def test_replace(into, folder):
    (merged,) = merge(folder, into=into, replace=True)
    assert merged.replaced == (("a", 0),)
    assert first_loss(into, "a", 0) == 9.0
    with pytest.raises(RecordError, match="no trace of arm 'a'"):
        records.load(paper(), into).trace("a")


def test_replace_leaves_what_is_the_same(into, tmp_path):
    """A copy without the weights does not take them away; one with them is taken."""
    a = paper().arms[0]
    records.add(paper(), [result(a, 0)], tmp_path / "bare")
    (merged,) = merge(tmp_path / "bare", into=into, replace=True)
    assert merged.kept == (("a", 0),)
    assert "w" in records.load(paper(), into).weights("a", 0, 0)
    records.add(paper(), [result(a, 0, trace=[1.0, 2.0])], tmp_path / "more")
    (merged,) = merge(tmp_path / "more", into=into, replace=True)
    assert merged.replaced == (("a", 0),)
    assert len(records.load(paper(), into).trace("a")) == 2


def test_several_folders_and_records(into, folder, tmp_path):
    """Of two that offer the same member, the first is taken."""
    a, b = paper().arms
    more = [result(b, 1, loss=8.0), result(a, 1, loss=5.0)]
    records.add(paper(), more, tmp_path / "cluster")
    other = paper(OTHER)
    records.add(other, [result(other.arms[0], 0)], tmp_path / "cluster")
    merged = merge(folder, tmp_path / "cluster", into=into)
    assert [str(one) for one in merged] == [
        "prieto2025/fig06b paper: 3 added, 1 kept",
        "singh2026/fig02 paper: 1 added",
    ]
    assert first_loss(into, "b", 1) == 7.0
    assert first_loss(into, "a", 1) == 5.0
    assert first_loss(into, "a", 0, other) == 1.0


def test_only_some_names(into, folder):
    other = paper(OTHER)
    records.add(other, [result(other.arms[0], 0)], folder)
    foreign = folder / "prieto2025" / "fig99.paper.parquet"
    foreign.write_text("")
    (merged,) = merge(folder, into=into, names=[OTHER])
    assert merged.name == OTHER
    with pytest.raises(RecordError, match="no folder holds a record of prieto2025/x"):
        merge(folder, into=into, names=[OTHER, "prieto2025/x"])


def test_format_1(into, folder):
    as_format_1(records.path_of(NAME, "paper", folder))
    as_format_1(records.path_of(NAME, "paper", into))
    (merged,) = merge(folder, into=into)
    assert len(merged.added) == 2
    assert metadata(records.path_of(NAME, "paper", into))["format"] == 2


def test_arms_that_were_renamed_since(into, folder, monkeypatch):
    a, b = paper().arms
    renamed = dataclasses.replace(b, name="b, renamed")
    today = dataclasses.replace(paper(), arms=(a, renamed))
    monkeypatch.setitem(BOOK, (NAME, "paper"), today)
    (merged,) = merge(folder, into=into)
    assert merged.added == (("b, renamed", 0), ("b, renamed", 1))
    record = records.load(today, into)
    assert record.trace("b, renamed")[0].tolist() == [2.0, 3.0]
    assert set(record.frame["arm"]) == {"a", "b, renamed"}


def test_stale_members_make_way_and_are_named(into, folder, monkeypatch):
    a, b = paper().arms
    today = dataclasses.replace(paper(), arms=(dataclasses.replace(a, alpha=5.0), b))
    monkeypatch.setitem(BOOK, (NAME, "paper"), today)
    shutil.rmtree(folder)
    records.add(today, [result(b, 1)], folder)
    (merged,) = merge(folder, into=into)
    assert (merged.added, merged.dropped) == ((("b", 1),), (("a", 0),))
    assert list(records.load(today, into).members) == ["b|1"]


def unknown_experiment(folder):
    path = folder / "prieto2025" / "fig99.paper.parquet"
    shutil.copy(records.path_of(NAME, "paper", folder), path)


def no_scale(folder):
    shutil.copy(records.path_of(NAME, "paper", folder), folder / "stray.parquet")


def smoke(folder):
    one = BOOK[NAME, "smoke"]
    records.add(one, [result(one.arms[0], 0)], folder)


def another_experiment(folder):
    path = records.path_of(OTHER, "paper", folder)
    path.parent.mkdir()
    shutil.copy(records.path_of(NAME, "paper", folder), path)


def another_scale(folder):
    shutil.copy(
        records.path_of(NAME, "paper", folder), records.path_of(NAME, "laptop", folder)
    )


def unknown_arm(folder):
    more = dataclasses.replace(paper().arms[0], name="c", alpha=9.0)
    grown = dataclasses.replace(paper(), arms=(*paper().arms, more))
    records.add(grown, [result(more, 0)], folder)


def changed_setting(folder):
    arms = dataclasses.replace(paper().arms[0], epochs=40), paper().arms[1]
    records.add(dataclasses.replace(paper(), arms=arms), [result(arms[0], 1)], folder)


def seed_not_planned(folder):
    more = dataclasses.replace(paper(), seeds=(0, 1, 2))
    records.add(more, [result(paper().arms[0], 2)], folder)


def truncated(folder):
    path = records.path_of(NAME, "paper", folder)
    path.write_bytes(path.read_bytes()[:-100])


def row_deleted(folder):
    path = records.path_of(NAME, "paper", folder)
    change(path, frame=lambda frame: frame.drop(index=1).reset_index(drop=True))


def settings_of_format_1(folder):
    path = records.path_of(NAME, "paper", folder)
    as_format_1(path)
    change(path, meta=lambda m: m["experiment"]["arms"][0].update(alpha=3.0))


def future_format(folder):
    change(records.path_of(NAME, "paper", folder), meta=lambda m: m.update(format=99))


def truncated_weights(folder):
    path = records.path_of(NAME, "paper", folder).with_suffix(".safetensors")
    path.write_bytes(path.read_bytes()[:-4])


def trace_missing(folder):
    records.trace_path(NAME, "paper", folder).unlink()


def weights_without_a_table(folder):
    records.path_of(NAME, "paper", folder).with_name("fig01.paper.safetensors").touch()


def another_matmul(folder):
    b = paper().arms[1]
    records.add(paper(), [result(b, 1, info={"matmul": "onednn"})], folder)


def no_tables(folder):
    shutil.rmtree(folder / "prieto2025")
    (folder / "prieto2025").mkdir()


def no_folder(folder):
    shutil.rmtree(folder)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (unknown_experiment, "fig99.paper.parquet is of no experiment of the book"),
        (no_scale, "stray.parquet is of no experiment of the book"),
        (smoke, "smoke.parquet is of smoke scale, which is for tests"),
        (another_experiment, "was recorded as prieto2025/fig06b at paper scale"),
        (another_scale, "fig06b.laptop.parquet was recorded as .* at paper scale"),
        (
            unknown_arm,
            "is stale, its arm 'c' no longer exists .arm 'c', seed 0.: train",
        ),
        (
            changed_setting,
            "arm 'a': epochs was 40 and is now 30 .arm 'a', seed 1.: tra",
        ),
        (seed_not_planned, "has arm 'a', seed 2, a seed that prieto.* does not plan"),
        (truncated, "fig06b.paper.parquet cannot be read as a record"),
        (row_deleted, "has 3 rows of arm 'a', seed 0, where 4 were recorded"),
        (settings_of_format_1, "hash of arm 'a', seed 0 is not that of the settings"),
        (future_format, "is of format 99"),
        (truncated_weights, "cannot be read as kept weights"),
        (trace_missing, "has 0 steps of arm 'b', seed 0, where 2 were recorded"),
        (weights_without_a_table, "without its table fig01.paper.parquet: delete it"),
        (
            another_matmul,
            "would mix the matmul libraries onednn and torch with arm 'b'",
        ),
        (no_tables, "gpu holds no record <paper>/<name>"),
        (no_folder, "gpu is no folder"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    into, folder, tmp_path, spoil, match, replace, monkeypatch
):
    """One sentence, and nothing of the whole call is done."""
    monkeypatch.setenv("GROKBOOK_RECORDS", str(into))
    other = paper(OTHER)  # a record that fits, which does not come along either
    good = tmp_path / "good"
    records.add(other, [result(other.arms[0], 0)], good)
    spoil(folder)
    before = contents(tmp_path)
    for dry_run in (True, False):
        with pytest.raises(RecordError, match=match) as caught:
            records.merge(
                [good, folder], get, into=into, replace=replace, dry_run=dry_run
            )
        assert "\n" not in str(caught.value)
    assert contents(tmp_path) == before


def test_smoke_scale_goes_into_any_folder_but_the_book_s(into, folder):
    smoke(folder)
    merge(folder, into=into)
    assert records.load(BOOK[NAME, "smoke"], into).seeds("a") == [0]


def test_the_records_themselves_are_refused(into):
    with pytest.raises(RecordError, match="into is the folder of the records itself"):
        merge(into, into=into)


def test_a_damaged_record_is_not_merged_into(into, folder):
    truncated(into)
    before = contents(into)
    with pytest.raises(RecordError, match="into/.* cannot be read as a record"):
        merge(folder, into=into)
    assert contents(into) == before


def test_members_of_a_gpu_go_beside_any_library(into, folder):
    gpu = {"device": "cuda", "matmul": "cuBLAS"}
    records.add(paper(), [result(paper().arms[0], 1, info=gpu)], folder)
    (merged,) = merge(folder, into=into)
    assert len(merged.added) == 3
    assert records.matmul(records.path_of(NAME, "paper", into)) == "torch"


def test_a_record_that_is_mixed_already_takes_in_either(into, folder):
    a, b = paper().arms
    records.add(paper(), [result(a, 1, info={"matmul": "onednn"})], into)
    assert len(merge(folder, into=into)[0].added) == 2


def test_checkpoints_and_locks_are_passed_over(into, folder):
    for name in (".checkpoints", ".locks"):
        (folder / name).mkdir()
        (folder / name / "x.paper.parquet").touch()
    assert len(merge(folder, into=into)[0].added) == 2


def test_a_disk_that_is_full_at_the_second_record(into, folder, monkeypatch):
    other = paper(OTHER)
    records.add(other, [result(other.arms[0], 0)], folder)
    before = contents(into)
    write, calls = pq.write_table, []

    def filling(*arguments, **options):
        calls.append(write(*arguments, **options))
        if len(calls) > 2:  # the trace and the table of the first record
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", filling)
    with pytest.raises(
        RecordError, match="into cannot be written .*No space .*free some"
    ):
        records.merge([folder], get, into=into)
    assert len(calls) == 3
    assert contents(into) == before


def test_the_merged_table_is_sound(into, folder):
    """Read by pandas alone it has every member's rows once, in order."""
    merge(folder, into=into)
    path = records.path_of(NAME, "paper", into)
    frame = pd.read_parquet(path)
    of = list(frame.groupby(["arm", "seed"], sort=False).groups)
    assert of == [("a", 0), ("b", 0), ("b", 1)]
    assert json.dumps(metadata(path)).count('"digest"') == 3
