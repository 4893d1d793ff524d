"""Corpora cut into blocks, for next-token prediction: GPT-2's code, or characters.

The code is built from GPT-2's published ``encoder.json`` alone: the number of a token
is the rank of its merge. Its first tokens are a code of their own, the same training
stopped earlier, so a reduced run may take the first 4,096 of the 50,257 and still write
any text. WikiText-103 has no pinned copy: it is read from the data folder as it lies.
"""

import json
from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import Any

import torch
from torch import Tensor

from claimbook.errors import DataError
from claimbook.project import data_folder
from claimbook.protocol import Data
from grokbook.datasets.fetch import REGISTRY, fetch

VOCABULARY = 50_257  # with the end-of-text mark, which plain text never holds
# How GPT-2 cuts text into words before it merges bytes.
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Corpora without published parts: one file, whose first lines train and last ones test.
_UNDIVIDED = {"fineweb-edu": "fineweb-edu-sample/fineweb_edu_sample.txt"}
TRAIN_SHARE = 0.9


def text(name: str) -> str:
    """A whole corpus file, as in text("tinyshakespeare/input.txt")."""
    return fetch(name).decode()


@cache
def encoder(vocabulary: int = VOCABULARY) -> Callable[[str], list[int]]:
    """Function from text to the first ``vocabulary`` tokens of GPT-2's code."""
    import tiktoken

    byte = _bytes()
    ranks = {
        bytes(byte[letter] for letter in token): number
        for token, number in json.loads(text("gpt2/encoder.json")).items()
        if number < min(vocabulary, VOCABULARY - 1)
    }
    how: dict[str, Any] = {"mergeable_ranks": ranks, "special_tokens": {}}
    return tiktoken.Encoding("gpt2", pat_str=_WORDS, **how).encode_ordinary


def _bytes() -> dict[str, int]:
    """Printable Latin-1 is itself; from 256 on letters are the other bytes in order."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + k): b for k, b in enumerate(other)}


def wikitext(
    corpus: str = "wikitext-2",
    *,
    block: int = 512,
    vocabulary: int = VOCABULARY,
    train_blocks: int | None = None,
    test_blocks: int | None = None,
) -> Data:
    """Blocks of tokens: x (blocks, block) and y, the same moved on by one token.

    The training and the test part of a ``corpus`` ("wikitext-2", "wikitext-103-raw",
    "fineweb-edu"), each cut as ``blocks`` does. DataError if it is missing. The last is
    1 MB of FineWeb-Edu, 218,000 tokens, for Figure 5 of Liu et al. 2026: enough to be
    learned by heart, not to learn a language from. Nine tenths of its lines train.
    """
    parts: list[Tensor] = []
    for which, wanted in (("train", train_blocks), ("test", test_blocks)):
        lines = _lines(corpus, which)
        tokens = [torch.tensor(encoder(vocabulary)(line)).long() for line in lines]
        parts += blocks(torch.cat(tokens), block, wanted)
    return Data(*parts)


def blocks(tokens: Tensor, block: int, wanted: int | None) -> tuple[Tensor, Tensor]:
    """x (blocks, block) and y, the token after each: all or the first ``wanted``.

    Without overlap; the rest is dropped. DataError if there are too few for one block.
    """
    found = (len(tokens) - 1) // block
    if found < 1:
        raise DataError(f"{len(tokens)} tokens are too few for a block of {block}")
    found = min(found, wanted or found)
    x, y = (tokens[k : k + found * block] for k in (0, 1))
    return x.view(found, block), y.view(found, block)


def _lines(corpus: str, which: str) -> list[str]:
    kind = "raw" if corpus.endswith("raw") else "tokens"
    name = _UNDIVIDED.get(corpus, f"{corpus}/wiki.{which}.{kind}")
    path = data_folder() / name
    if name not in REGISTRY and not path.exists():
        raise DataError(f"{name}, which has no address, is not in {data_folder()}")
    whole = text(name) if name in REGISTRY else path.read_text(encoding="utf-8")
    lines = StringIO(whole).readlines()
    if corpus not in _UNDIVIDED:
        return lines
    cut = int(len(lines) * TRAIN_SHARE)
    return lines[:cut] if which == "train" else lines[cut:]


def characters(
    corpus: str = "tinyshakespeare/input.txt",
    *,
    block: int = 256,
    train_blocks: int | None = None,
    test_blocks: int | None = None,
) -> Data:
    """Blocks of characters: x (blocks, block) and y, the same moved on by one.

    The first nine tenths of a data file train, as in nanoGPT's prepare.py, each part
    cut as ``blocks`` does. A character's number is its place among the distinct
    ones of the whole file in order, 65 in Shakespeare's.
    """
    whole = text(corpus)
    place = {symbol: k for k, symbol in enumerate(sorted(set(whole)))}
    numbers = torch.tensor([place[symbol] for symbol in whole])
    train, test = numbers.tensor_split([int(len(numbers) * TRAIN_SHARE)])
    x, y = blocks(train, block, train_blocks), blocks(test, block, test_blocks)
    return Data(*x, *y)
