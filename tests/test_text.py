"""Corpora in GPT-2's code: merges by rank, blocks in order, parts, missing files."""

import pytest
import torch
from helpers import put, tiny_corpus

from grokbook.datasets.text import _bytes, encoder, wikitext
from grokbook.errors import DataError
from grokbook.project import data_folder

LINE = " the cat sat on the mat \n"


@pytest.fixture(autouse=True)
def fresh_code():
    encoder.cache_clear()
    yield
    encoder.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path))
    return tmp_path


def test_code_merges_by_rank_and_writes_any_text(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch)
    encode = encoder()
    byte = {value: key for key, value in enumerate(_bytes().values())}
    assert encode("he") == [256]
    assert encode(" the") == [258]  # Ġt and he, then both
    assert encode("\x00é") == [byte[0], *(byte[b] for b in "é".encode())]
    assert byte[ord("!")] == 0  # as in GPT-2's file
    assert encoder(257)(" the") == [byte[ord(" ")], byte[ord("t")], 256]
    assert encoder(256)("he") == [byte[ord("h")], byte[ord("e")]]


def test_published_code():
    """The real file, where it is there: known numbers of known words."""
    if not (data_folder() / "gpt2/encoder.json").exists():
        pytest.skip("gpt2/encoder.json is not in the data folder")
    assert encoder()("Hello world") == [15496, 995]
    assert max(encoder(4096)("Hello grokking world")) < 4096


def test_blocks_follow_each_other_and_labels_are_one_ahead(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=10)
    tokens = encoder(257)(LINE) * 10
    data = wikitext(block=7, vocabulary=257, test_blocks=2)
    blocks = (len(tokens) - 1) // 7
    assert data.x_train.shape == data.y_train.shape == (blocks, 7)
    assert data.x_train.flatten().tolist() == tokens[: blocks * 7]
    assert data.y_train.flatten().tolist() == tokens[1 : blocks * 7 + 1]
    assert data.x_test.tolist() == data.x_train[:2].tolist()
    first = wikitext(block=7, vocabulary=257, train_blocks=3)
    assert torch.equal(first.x_train, data.x_train[:3])


def test_wikitext_that_is_not_there(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=1)
    with pytest.raises(DataError, match="wiki.train.raw, which has no address"):
        wikitext("wikitext-103-raw")
    with pytest.raises(DataError, match="too few for a block of 512"):
        wikitext(vocabulary=256)


FINEWEB = "fineweb-edu-sample/fineweb_edu_sample.txt"


def test_undivided_corpus_trains_on_its_first_lines(folder, monkeypatch):
    """Nine tenths of the lines, in order; the test part is the rest and no more."""
    tiny_corpus(folder, monkeypatch)
    lines = [f" the cat {k} \n" for k in range(20)]
    put(folder, monkeypatch, FINEWEB, "".join(lines).encode())
    data = wikitext("fineweb-edu", block=3, vocabulary=259)
    for which, part in (("train", lines[:18]), ("test", lines[18:])):
        tokens = [token for line in part for token in encoder(259)(line)]
        x, y = getattr(data, f"x_{which}"), getattr(data, f"y_{which}")
        assert x.flatten().tolist() == tokens[: x.numel()]
        assert y.flatten().tolist() == tokens[1 : y.numel() + 1]
        assert 0 <= len(tokens) - 1 - x.numel() < 3
