"""WikiText in GPT-2's code: merges by rank, blocks in order, missing corpora."""

import pytest
import torch
from helpers import tiny_corpus

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
    with pytest.raises(DataError, match="wiki.train.raw is not in .* put it"):
        wikitext("wikitext-103-raw")
    with pytest.raises(DataError, match="too few for a block of 512"):
        wikitext(vocabulary=256)
    with pytest.raises(ValueError, match="between 256 and 50257: 100"):
        wikitext(vocabulary=100)


def test_unpinned_corpus_is_read_as_it_lies(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch)
    (folder / "wikitext-103-raw").mkdir()
    for part in ("train", "test"):
        (folder / f"wikitext-103-raw/wiki.{part}.raw").write_text(LINE * 5)
    data = wikitext("wikitext-103-raw", block=4)
    assert (
        data.x_train.flatten().tolist()
        == (encoder()(LINE) * 5)[:-1][: data.x_train.numel()]
    )
