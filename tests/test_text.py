"""Corpora in GPT-2's code, in characters, and sums: blocks in order, parts, faults."""

import pytest
import torch
from helpers import put, tiny_corpus
from skips import skip_without

from claimbook.errors import BookError, DataError, UnknownName
from claimbook.project import data_folder
from grokbook.datasets.algorithmic import SYMBOLS, additions
from grokbook.datasets.text import _byte_of_letter, characters, encoder, wikitext

LINE = " the cat sat on the mat \n"
FINEWEB = "fineweb-edu-sample/fineweb_edu_sample.txt"
SHAKESPEARE = "tinyshakespeare/input.txt"
VERSE = "To be, or not to be\n" * 10  # 200 characters


@pytest.fixture(autouse=True)
def fresh_code():
    encoder.cache_clear()
    yield
    encoder.cache_clear()


def test_code_merges_by_rank_and_writes_any_text(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch)
    encode = encoder()
    byte = {value: key for key, value in enumerate(_byte_of_letter().values())}
    assert encode("he") == [256]
    assert encode(" the") == [258]  # Ġt and he, then both
    assert encode("\x00é") == [byte[0], *(byte[b] for b in "é".encode())]
    assert byte[ord("!")] == 0  # as in GPT-2's file
    assert max(encode("<|endoftext|>")) < 256
    assert encoder(257)(" the") == [byte[ord(" ")], byte[ord("t")], 256]
    assert encoder(256)("he") == [byte[ord("h")], byte[ord("e")]]


def test_published_code():
    """The real file, where it is there: known numbers of known words."""
    if not (data_folder() / "gpt2/encoder.json").exists():
        fetches = "from grokbook.datasets.text import encoder; encoder()"
        remedy = f"python -c '{fetches}' fetches it"
        skip_without("the file gpt2/encoder.json", remedy=remedy)
    assert encoder()("Hello world") == [15496, 995]
    assert max(encoder(4096)("Hello grokking world")) < 4096


def check_blocks(x, y, tokens, block):
    """Blocks are all that fit, one after the other, and labels are one ahead."""
    count = (len(tokens) - 1) // block
    assert x.shape == y.shape == (count, block)
    assert x.dtype == y.dtype == torch.int64
    assert x.flatten().tolist() == tokens[: count * block]
    assert y.flatten().tolist() == tokens[1 : count * block + 1]


def test_blocks_of_tokens(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=10)
    data = wikitext(block=7, vocabulary=257, test_blocks=2)
    check_blocks(data.x_train, data.y_train, encoder(257)(LINE) * 10, 7)
    assert data.x_test.tolist() == data.x_train[:2].tolist()
    first = wikitext(block=7, vocabulary=257, train_blocks=3)
    assert torch.equal(first.x_train, data.x_train[:3])
    # nine tenths of the lines, in order; the test part is the rest and no more
    tiny_corpus(folder, monkeypatch)
    lines = [f" the cat {k} \n" for k in range(20)]
    put(folder, monkeypatch, FINEWEB, "".join(lines).encode())
    data = wikitext("fineweb-edu", block=3, vocabulary=259)
    train, test = (
        [token for line in part for token in encoder(259)(line)]
        for part in (lines[:18], lines[18:])
    )
    check_blocks(data.x_train, data.y_train, train, 3)
    check_blocks(data.x_test, data.y_test, test, 3)


def test_blocks_of_characters(folder, monkeypatch):
    put(folder, monkeypatch, SHAKESPEARE, (VERSE + "Z").encode())
    data = characters(block=7)
    symbols = sorted({*VERSE, "Z"})  # those of the test part have a number too
    whole = [symbols.index(symbol) for symbol in VERSE + "Z"]
    check_blocks(data.x_train, data.y_train, whole[:180], 7)
    check_blocks(data.x_test, data.y_test, whole[180:], 7)
    few = characters(block=7, train_blocks=3, test_blocks=1)
    assert torch.equal(few.x_train, data.x_train[:3])
    assert torch.equal(few.y_test, data.y_test[:1])


def test_a_text_that_is_too_short_or_not_there(folder, monkeypatch):
    tiny_corpus(folder, monkeypatch, lines=1)
    with pytest.raises(DataError, match="wiki.train.raw, which has no address"):
        wikitext("wikitext-103-raw")
    with pytest.raises(DataError, match="too few for a block of 512"):
        wikitext(vocabulary=256)
    put(folder, monkeypatch, SHAKESPEARE, VERSE.encode())
    with pytest.raises(DataError, match="20 tokens are too few for a block of 20"):
        characters(block=20)
    assert characters(block=19).x_test.shape == (1, 19)
    with pytest.raises(UnknownName, match="unknown data file 'hamlet.txt'"):
        characters("hamlet.txt")
    with pytest.raises(BookError, match="vocabulary is a whole number from 256 on"):
        encoder(255)  # tiktoken panics at the first byte that lacks
    for how, what in (
        ({"block": 0}, "block"),
        ({"test_blocks": 0}, "number of blocks"),
    ):
        with pytest.raises(BookError, match=f"{what} is a whole number from 1 on, not"):
            characters(**{"block": 7} | how)


def written(x, y):
    """Whole rows: what is read, and of the answer what is not read any more."""
    assert torch.equal(x[:, 1 - y.shape[1] :], y[:, :-1])
    rows = torch.cat([x, y[:, -1:]], dim=1)
    return ["".join(SYMBOLS[k] for k in row) for row in rows.tolist()]


def sums(data):
    return written(data.x_train, data.y_train), written(data.x_test, data.y_test)


def test_rows_of_sums_by_hand():
    """All pairs of figures, each once, with an answer of two figures turned round."""
    rows = [row for part in sums(additions(1, pairs=100)) for row in part]
    assert len(rows) == 100
    expected = {f"${a}+{b}={a + b:02d}" for a in range(10) for b in range(10)}
    assert {row[:-2] + row[:-3:-1] for row in rows} == expected
    assert "$7+8=51" in rows and "$1+2=30" in rows
    # the default: 10,000 of three figures; in columns $, a, +, b, =, and the answer
    data = additions()
    train, test = sums(data)
    assert len({*train}) == 8000 and len({*test} - {*train}) == 2000
    assert data.x_train.shape == (8000, 12) and data.y_train.shape == (8000, 4)
    assert data.x_train.dtype == data.y_train.dtype == torch.int64
    for row in test:
        assert (row[0], row[4], row[8]) == ("$", "+", "=")
        assert int(row[1:4]) + int(row[5:8]) == int(row[:8:-1])
