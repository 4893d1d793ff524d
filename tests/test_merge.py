"""Members trained elsewhere come into the records, all of them or none."""

import dataclasses
import shutil

import pytest
import torch
from recorded import contents, result, two

from grokbook import records
from grokbook.errors import RecordError
from grokbook.records import member

NAME, OTHER = "prieto2025/fig06b", "singh2026/fig02"
KEPT = {0: {"w": torch.arange(6.0)}}
BOOK = [two("paper", name) for name in (NAME, OTHER)]
PAPER, SINGH = BOOK
A, B = PAPER.arms


@pytest.fixture
def into(tmp_path):
    """A record with arm a of seed 0, which keeps weights."""
    records.add(PAPER, result(A, 0, kept=KEPT, trace=[1.0]), tmp_path / "into")
    return tmp_path / "into"


@pytest.fixture
def folder(tmp_path):
    """Records from elsewhere: both arms of seed 0, and arm b of seed 1."""
    for one in (
        result(A, 0, loss=9.0, kept=KEPT, trace=[2.0]),
        result(B, 0, kept=KEPT, trace=[2.0, 3.0]),
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
    assert record.missing == [("a", 1)]
    assert first_loss(into, "a", 0) == 1.0
    assert torch.equal(record.weights("b", 0, 0)["w"], KEPT[0]["w"])
    assert record.trace("b")[0].tolist() == [2.0, 3.0]
    after = contents(into)
    assert before.items() <= after.items()
    there = {file.relative_to(folder): content for file, content in offered.items()}
    new = {f.relative_to(into): c for f, c in after.items() if f not in before}
    assert len(new) == 4
    assert new.items() <= there.items()
    assert contents(folder) == offered
    inodes = {file: file.stat().st_ino for file in after}
    assert merge(folder, into=into) == {"added": 0, "replaced": 0, "kept": 3}
    assert {file: file.stat().st_ino for file in contents(into)} == inodes


def test_replace_takes_another_and_the_first_that_is_offered(into, folder, tmp_path):
    """But leaves what is the same."""
    records.add(PAPER, result(B, 1, loss=8.0), tmp_path / "cluster")
    records.add(PAPER, result(A, 1, loss=5.0), tmp_path / "cluster")
    found = merge(folder, tmp_path / "cluster", into=into)
    assert found == {"added": 3, "replaced": 0, "kept": 1}
    assert first_loss(into, "b", 1) == 7.0 and first_loss(into, "a", 1) == 5.0
    found = merge(folder, into=into, replace=True)
    assert found == {"added": 0, "replaced": 1, "kept": 2}
    assert first_loss(into, "a", 0) == 9.0
    assert records.load(PAPER, into).trace("a")[0].tolist() == [2.0]


def test_one_that_was_trained_apart_stays_apart(into, folder, tmp_path):
    other = two("paper", "prieto2025/fig07")
    rare = dataclasses.replace(A, observables=("core",))
    apart = dataclasses.replace(other, arms=(rare, B))
    records.add(apart, result(rare, 0, loss=4.0), folder)
    assert len(list(folder.glob("*/*.fig07.parquet"))) == 1
    records.merge([folder], [PAPER, other], into)
    assert (first_loss(into, "a", 0), first_loss(into, "a", 0, other)) == (1.0, 4.0)


def changed_setting(folder, _):
    new = dataclasses.replace(A, epochs=40)
    records.add(dataclasses.replace(PAPER, arms=(new, B)), result(new, 1), folder)


def edited(_, path):
    rows, about = member.read(path)
    path.write_bytes(member._parquet(rows, about | {"commit": "x"}))


def no_weights(_, rows):
    member.beside(rows, member.metadata(rows))["weights"].unlink()


REFUSED = {  # what is said <- how a folder and the rows of a member are spoilt
    "arm 'a', seed 1. is of no experiment of today": changed_setting,
    "liu2026.* is of no experiment of today": (
        lambda folder, _: shutil.copytree(folder / "prieto2025", folder / "liu2026")
    ),
    "/0123456789.* is not as it was recorded": (
        lambda _, rows: rows.rename(rows.with_stem("0123456789abcdef-0"))
    ),
    "cannot be read as a member": (
        lambda _, rows: rows.write_bytes(rows.read_bytes()[:-100])
    ),
    "is not as it was recorded": edited,
    "is not the weights that": no_weights,
    "gpu holds no <paper>/<key>-<seed>.parquet": lambda *at: shutil.rmtree(at[0]),
}


@pytest.mark.parametrize(("said", "spoil"), REFUSED.items())
def test_what_does_not_fit_is_refused_by_name(into, folder, tmp_path, said, spoil):
    """One sentence, and nothing of the whole call is done."""
    good = tmp_path / "good"  # a record that fits, which does not come along either
    records.add(SINGH, result(SINGH.arms[0], 0), good)
    spoil(folder, folder / f"prieto2025/{B.training_key()}-0.parquet")
    before = contents(tmp_path)
    for how in ({"dry_run": True}, {}, {"replace": True}):
        with pytest.raises(RecordError, match=said) as caught:
            records.merge([good, folder], BOOK, into, **how)
        assert "\n" not in str(caught.value)
        assert contents(tmp_path) == before
