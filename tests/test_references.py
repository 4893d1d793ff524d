"""The authors' own numbers: pinned, listed, and noted when a page reads them."""

import hashlib

import pandas as pd
import pytest

from grokbook import evidence, project
from grokbook.errors import DataError
from grokbook.evidence import reading as module

FOLDER = project.home() / "data" / "references"
LISTED = pd.read_csv(FOLDER / "sources.csv", dtype=str, keep_default_na=False)
NAMES = [file.removesuffix(".csv") for file in LISTED.file]
ROW = "quantity,series,epoch,value\ntest_loss,M,1,4.78\n"


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A checkout with one reference, and nothing cited yet."""
    folder = tmp_path / "data" / "references" / "paper2026"
    folder.mkdir(parents=True)
    (folder / "fig01.csv").write_text(ROW)
    sha256 = hashlib.sha256(ROW.encode()).hexdigest()
    (folder.parent / "sources.csv").write_text(
        "file,sha256,repository,commit,path,what\n"
        f'paper2026/fig01.csv,{sha256},owner/code,abc,log.csv,"One row, by hand."\n'
        "paper2026/fig02.csv,0,owner/code,abc,log.csv,Lost.\n"
    )
    monkeypatch.setenv("GROKBOOK_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_CITED", {})
    return folder


def test_a_reference_is_read_with_its_columns_and_cited_once(book):
    assert evidence.source("paper2026/fig01")["what"] == "One row, by hand."
    assert evidence.cited() == []  # who asks where it comes from has not read it
    for _ in range(2):
        (row,) = evidence.reference("paper2026/fig01").to_dict("records")
        assert list(row.values()) == ["test_loss", "M", 1, 4.78]
    told = {"name": "paper2026/fig01", "repository": "owner/code", "commit": "abc"}
    told |= {"sha256": hashlib.sha256(ROW.encode()).hexdigest(), "path": "log.csv"}
    assert evidence.cited() == [told]


def test_what_is_absent_unlisted_or_changed_is_refused(book):
    (book / "fig04.csv").write_text(ROW)  # and not listed
    for name, fault in (
        ("fig03", r"lists no 'paper2026/fig03\.csv'"),
        ("fig04", r"lists no 'paper2026/fig04\.csv'"),
        ("fig02", "has the SHA-256 none…, not"),
    ):
        with pytest.raises(DataError, match=fault):
            evidence.reference(f"paper2026/{name}")
    (book / "fig01.csv").write_text(ROW.replace("4.78", "4.87"))
    with pytest.raises(DataError, match=r"has the SHA-256 [0-9a-f]{12}…, not"):
        evidence.reference("paper2026/fig01")
    assert evidence.cited() == []


def test_all_that_is_stored_is_listed_as_it_is_and_says_where_it_comes_from():
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*")}
    assert found == set(LISTED.file)
    assert LISTED.file.is_unique
    for name in NAMES:
        table = evidence.reference(name)  # which compares its digest
        assert {"quantity", "series", "value"} <= set(table.columns), name
        assert table.value.notna().all(), name
        assert all(evidence.source(name).values()), name
