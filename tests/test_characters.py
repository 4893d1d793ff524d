"""Sums and text in characters: rows read by hand, splits, sizes, a network that learns
them figure by figure."""

import pytest
import torch
from helpers import put

from grokbook.datasets.algorithmic import SYMBOLS, additions
from grokbook.datasets.text import characters
from grokbook.errors import DataError, UnknownName

SHAKESPEARE = "tinyshakespeare/input.txt"


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


def test_the_default_is_ten_thousand_sums_of_three_digits():
    """Each once; in columns: $, a, +, b, =, and what is to be said from "=" on."""
    data = additions()
    train, test = sums(data)
    assert len({*train}) == 8000 and len({*test} - {*train}) == 2000
    assert data.x_train.shape == (8000, 12) and data.y_train.shape == (8000, 4)
    assert data.x_train.dtype == data.y_train.dtype == torch.int64
    for row in test:
        assert (row[0], row[4], row[8]) == ("$", "+", "=")
        assert int(row[1:4]) + int(row[5:8]) == int(row[:8:-1])


VERSE = "To be, or not to be\n" * 10  # 200 characters


def test_characters_follow_each_other_and_labels_are_one_ahead(tmp_path, monkeypatch):
    put(tmp_path, monkeypatch, SHAKESPEARE, (VERSE + "Z").encode())
    data = characters(block=7)
    symbols = sorted({*VERSE, "Z"})  # those of the test part have a number too
    assert symbols[:4] == ["\n", " ", ",", "T"]
    whole = [symbols.index(symbol) for symbol in VERSE + "Z"]
    for which, part in (("train", whole[:180]), ("test", whole[180:])):
        x, y = getattr(data, f"x_{which}"), getattr(data, f"y_{which}")
        assert x.shape == y.shape == ((len(part) - 1) // 7, 7)
        assert x.dtype == y.dtype == torch.int64
        assert x.flatten().tolist() == part[: x.numel()]
        assert y.flatten().tolist() == part[1 : y.numel() + 1]
    few = characters(block=7, train_blocks=3, test_blocks=1)
    assert torch.equal(few.x_train, data.x_train[:3])
    assert torch.equal(few.y_test, data.y_test[:1])


def test_a_text_that_is_too_short_or_not_there(tmp_path, monkeypatch):
    put(tmp_path, monkeypatch, SHAKESPEARE, VERSE.encode())
    with pytest.raises(DataError, match="20 tokens are too few for a block of 20"):
        characters(block=20)
    assert characters(block=19).x_test.shape == (1, 19)
    with pytest.raises(UnknownName, match="unknown data file 'hamlet.txt'"):
        characters("hamlet.txt")
