"""Corpora in GPT-2's byte-pair code, cut into blocks, for next-token prediction.

The code is built from GPT-2's published ``encoder.json`` alone: a token's number is the
rank of its merge. Its first tokens are a code of their own, the same training stopped
earlier, so a reduced run may take the first 4,096 of the 50,257 and still write any
text. WikiText-2 and an excerpt of FineWeb-Edu are fetched and checked; WikiText-103 has
no pinned copy and is read from the data folder as it lies there.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import torch
from torch import Tensor

from grokbook.datasets.data import Data
from grokbook.datasets.fetch import REGISTRY, fetch
from grokbook.errors import DataError
from grokbook.project import data_folder

VOCABULARY = 50_257  # with the end-of-text mark, which plain text never holds
# How GPT-2 cuts text into words before it merges bytes.
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Corpora without published parts: one file, whose first lines train and last ones test.
_UNDIVIDED = {"fineweb-edu": "fineweb-edu-sample/fineweb_edu_sample.txt"}
_TRAIN_SHARE = 0.9


def text(name: str) -> str:
    """A whole corpus file, as in text("tinyshakespeare/input.txt")."""
    return fetch(name).read_text(encoding="utf-8")


@cache
def encoder(vocabulary: int = VOCABULARY) -> Callable[[str], list[int]]:
    """Function from text to tokens of GPT-2's code, of which the first are used."""
    import tiktoken

    if not 256 <= vocabulary <= VOCABULARY:
        raise ValueError(f"vocabulary must lie in 256..{VOCABULARY}: {vocabulary}")
    numbers = json.loads(text("gpt2/encoder.json"))
    byte = _bytes()
    ranks = {
        bytes(byte[letter] for letter in token): number
        for token, number in numbers.items()
        if number < min(vocabulary, VOCABULARY - 1)
    }
    code = tiktoken.Encoding(
        "gpt2", pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={}
    )
    return code.encode_ordinary


def _bytes() -> dict[str, int]:
    """The byte that each letter of encoder.json stands for: printable Latin-1
    characters for themselves, the characters from 256 on for the other bytes in order.
    """
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
    "fineweb-edu"), each cut into blocks without overlap; the rest is dropped.
    ``train_blocks``, ``test_blocks``: only the first so many. DataError if the corpus
    is missing or too short for one block.

    "fineweb-edu" is 1 MB of FineWeb-Edu, 218,000 of GPT-2's tokens, for Figure 5 of Liu
    et al. 2026: enough to be learned by heart, not to learn a language from. Its
    documents follow each other without a mark, so nine tenths of its lines train, and
    the last of them may end in the document that the test part begins with.
    """

    def part(which: str, wanted: int | None) -> tuple[Tensor, Tensor]:
        tokens = _tokens(corpus, which, vocabulary, wanted and wanted * block + 1)
        return blocks(tokens, block, wanted, f"the {which} part of {corpus}")

    return Data(*part("train", train_blocks), *part("test", test_blocks))


def blocks(
    tokens: Tensor, block: int, wanted: int | None, source: str
) -> tuple[Tensor, Tensor]:
    """x (blocks, block) and y, the token after each: all or the first ``wanted``.

    Without overlap. DataError names the ``source`` of tokens too few for one block.
    """
    if block < 1:
        raise ValueError(f"a block has at least 1 token, not {block}")
    found = (len(tokens) - 1) // block
    if found < 1:
        given = f"{source} has {len(tokens)} tokens"
        raise DataError(f"{given}, too few for a block of {block}")
    found = min(found, wanted or found)
    x, y = (tokens[k : k + found * block] for k in (0, 1))
    return x.view(found, block), y.view(found, block)


def _tokens(corpus: str, which: str, vocabulary: int, wanted: int | None) -> Tensor:
    """The tokens of a file, line by line, or the first of them."""
    encode = encoder(vocabulary)
    pieces, count = [np.empty(0, np.int64)], 0
    for line in _lines(corpus, which):
        pieces.append(np.array(encode(line), dtype=np.int64))
        count += len(pieces[-1])
        if wanted is not None and count >= wanted:
            break
    return torch.from_numpy(np.concatenate(pieces))[:wanted]


def _lines(corpus: str, which: str) -> Iterable[str]:
    """The lines of the training or the test part of a corpus, with their ends."""
    if corpus in _UNDIVIDED:
        with fetch(_UNDIVIDED[corpus]).open(encoding="utf-8") as file:
            lines = file.readlines()
        cut = int(len(lines) * _TRAIN_SHARE)
        yield from lines[:cut] if which == "train" else lines[cut:]
        return
    name = f"{corpus}/wiki.{which}.{'raw' if corpus.endswith('raw') else 'tokens'}"
    path = fetch(name) if name in REGISTRY else data_folder() / name
    if not path.exists():
        raise DataError(
            f"{name} is not in {data_folder()} and has no address to fetch it from: "
            "put it there, or point GROKBOOK_DATA at a folder that has it"
        )
    with path.open(encoding="utf-8") as file:
        yield from file
