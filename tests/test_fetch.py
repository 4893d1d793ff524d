"""Public files: always checked, fetched only if missing, refused in one sentence."""

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pytest
from helpers import put

from grokbook import datasets
from grokbook.datasets.fetch import ARCHIVES, URLS
from grokbook.errors import DataError, UnknownName

SHAKESPEARE = "tinyshakespeare/input.txt"
BATCH = "cifar-10-batches-py/data_batch_1"
ARCHIVE = "cifar-10-python.tar.gz"


def online(monkeypatch, content):
    """What every address serves to pooch, or the error it meets; and what was asked."""
    pytest.importorskip("pooch")
    asked = []

    def download(url, output_file, *_):
        asked.append(url)
        if isinstance(content, Exception):
            raise content
        Path(output_file).write_bytes(content)

    monkeypatch.setattr("pooch.core.choose_downloader", lambda *_, **__: download)
    return asked


def test_every_file_has_an_address():
    for name in datasets.REGISTRY:
        source = ARCHIVES.get(name.partition("/")[0], name)
        assert URLS[source].startswith("https://") and source in datasets.REGISTRY
    with pytest.raises(UnknownName, match="unknown data file 'iris.csv': use one of"):
        datasets.fetch("iris.csv")


def test_a_changed_file_is_refused_and_left_alone(folder, monkeypatch):
    asked = online(monkeypatch, b"To be")
    put(folder, monkeypatch, SHAKESPEARE, b"To be")
    assert datasets.text(SHAKESPEARE) == "To be"
    (folder / SHAKESPEARE).write_bytes(b"Not to be")
    with pytest.raises(DataError, match="is not the published .* delete it"):
        datasets.text(SHAKESPEARE)
    assert (folder / SHAKESPEARE).read_bytes() == b"Not to be"
    assert asked == []


def test_a_read_only_folder_needs_no_pooch(folder, monkeypatch):
    put(folder, monkeypatch, SHAKESPEARE, b"To be")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match="pooch"):
        datasets.fetch(BATCH)
    for path in (folder / SHAKESPEARE, (folder / SHAKESPEARE).parent, folder):
        path.chmod(0o555)
    try:
        assert datasets.text(SHAKESPEARE) == "To be"
    finally:
        for path in (folder, (folder / SHAKESPEARE).parent):
            path.chmod(0o755)


def test_no_network(folder, monkeypatch):
    online(monkeypatch, ConnectionError("Name or service not known\nwith a long trace"))
    for name, source in ((SHAKESPEARE, SHAKESPEARE), (BATCH, ARCHIVE)):
        with pytest.raises(DataError) as caught:
            datasets.fetch(name)
        message = str(caught.value)
        for part in (name, str(folder), URLS[source], "GROKBOOK_DATA"):
            assert part in message
        assert "Name or service not known" in message and "\n" not in message
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_files_of_an_archive_are_fetched_once(folder, monkeypatch):
    batches = {f"cifar-10-batches-py/data_batch_{k}": b"images %d" % k for k in (1, 2)}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, content in batches.items():
            put(folder, monkeypatch, name, content)
            tar.add(folder / name, name)
            (folder / name).unlink()
    asked = online(monkeypatch, raw.getvalue())
    digest = hashlib.sha256(raw.getvalue()).hexdigest()
    monkeypatch.setitem(datasets.REGISTRY, ARCHIVE, digest)
    for name, content in batches.items():
        assert datasets.fetch(name) == content
    assert asked == [URLS[ARCHIVE]]
