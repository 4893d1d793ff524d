"""Corpora cut into blocks for next-token prediction, as GPT-2's tokens or characters.

The tokeniser is built from GPT-2's published ``encoder.json`` alone, in which a token
is the rank of its merge. Its first tokens are what the training of the tokeniser would
have given if stopped earlier, so a reduced run may take the first 4,096 of the 50,257
and still encode any text. WikiText-103 has no registered copy and is read unchecked
from the data folder.
"""

import json
from collections.abc import Callable
from functools import cache
from io import StringIO

import torch
from torch import Tensor

from claimbook.errors import DataError, needing_extra
from claimbook.project import data_folder
from claimbook.protocol import Data
from grokbook.datasets.checks import check_whole, sorted_index
from grokbook.datasets.fetch import REGISTRY, fetch

VOCABULARY = 50_257  # with the end-of-text mark, which plain text never contains
# The pattern by which GPT-2 cuts text into words before it merges bytes.
_WORD_PATTERN = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
# Corpora without published splits: one file, whose first lines are the training set.
_UNDIVIDED = {"fineweb-edu": "fineweb-edu-sample/fineweb_edu_sample.txt"}
TRAIN_SHARE = 0.9


def text(name: str) -> str:
    """Return the text of a registered file, as in text("tinyshakespeare/input.txt")."""
    return fetch(name).decode()


@cache
@needing_extra()
def encoder(vocabulary: int = VOCABULARY) -> Callable[[str], list[int]]:
    """Return a function from text to GPT-2's tokens below ``vocabulary``.

    The end-of-text mark, GPT-2's last token, is never among them. A ``vocabulary``
    above 50,257 is the same as all; one below 256, the single bytes, raises BookError.
    The function is made once for each ``vocabulary``.
    """
    import tiktoken

    check_whole("vocabulary", vocabulary, 256)
    byte_of = _byte_of_letter()
    ranks = {
        bytes(byte_of[letter] for letter in letters): rank
        for letters, rank in json.loads(text("gpt2/encoder.json")).items()
        if rank < min(vocabulary, VOCABULARY - 1)
    }
    encoding = tiktoken.Encoding(
        "gpt2", pat_str=_WORD_PATTERN, mergeable_ranks=ranks, special_tokens={}
    )
    return encoding.encode_ordinary


def _byte_of_letter() -> dict[str, int]:
    """Return the byte that each letter of ``encoder.json`` stands for.

    Printable letters of Latin-1 stand for themselves, and letters from 256 on for the
    other bytes in order, since a space or a control character is hard to read in JSON.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + k): byte for k, byte in enumerate(others)}


def wikitext(
    corpus: str = "wikitext-2",
    *,
    block: int = 512,
    vocabulary: int = VOCABULARY,
    train_blocks: int | None = None,
    test_blocks: int | None = None,
) -> Data:
    """Return blocks of GPT-2's tokens, x (blocks, block), with y, the token after each.

    ``corpus`` is "wikitext-2", "wikitext-103-raw" or "fineweb-edu". ``blocks`` cuts its
    training and its test text. ``vocabulary`` is the number of tokens in use, as in
    `encoder`; ``train_blocks`` and ``test_blocks`` limit the number of blocks of each
    text, unless None.
    "fineweb-edu" is 1 MB of FineWeb-Edu, 218,000 tokens, for Figure 5 of Liu et al.
    (2026): enough to memorise, too little to learn a language from. Nine tenths of its
    lines are the training text. Raises DataError if the corpus is missing, or too short
    for a block.
    """
    tensors: list[Tensor] = []  # x_train, y_train, x_test, y_test
    for split, limit in (("train", train_blocks), ("test", test_blocks)):
        lines = _lines(corpus, split)
        tokens = [torch.tensor(encoder(vocabulary)(line)) for line in lines]
        tensors += blocks(torch.cat(tokens), block, limit)
    return Data(*tensors)


def blocks(tokens: Tensor, block: int, limit: int | None) -> tuple[Tensor, Tensor]:
    """Cut tokens (length,) into x (blocks, block) and y, the token after each of x.

    y (blocks, block) is x one token later. Blocks do not overlap, and tokens after the
    last whole block are dropped. ``limit`` is the largest number of blocks, from the
    first on, or None for all. Raises DataError if there is not one whole block with a
    token after it.
    """
    check_whole("block", block, 1)
    if limit is not None:
        check_whole("the number of blocks", limit, 1)
    count = (len(tokens) - 1) // block  # the last token has none after it
    if count < 1:
        raise DataError(f"{len(tokens)} tokens are too few for a block of {block}")
    count = min(count, limit or count)
    x = tokens[: count * block].view(count, block)
    y = tokens[1 : count * block + 1].view(count, block)
    return x, y


def _lines(corpus: str, split: str) -> list[str]:
    """Return the lines of a corpus that belong to a split, "train" or "test".

    A registered file is downloaded. Raises DataError if the file is missing.
    """
    suffix = "raw" if corpus.endswith("raw") else "tokens"
    name = _UNDIVIDED.get(corpus, f"{corpus}/wiki.{split}.{suffix}")
    path = data_folder() / name
    if name not in REGISTRY and not path.exists():
        raise DataError(f"{name}, which has no address, is not in {data_folder()}")
    content = text(name) if name in REGISTRY else path.read_text(encoding="utf-8")
    lines = StringIO(content).readlines()  # unlike `splitlines`, at \n alone
    if corpus not in _UNDIVIDED:
        return lines
    n_train = int(len(lines) * TRAIN_SHARE)
    return lines[:n_train] if split == "train" else lines[n_train:]


def characters(
    corpus: str = "tinyshakespeare/input.txt",
    *,
    block: int = 256,
    train_blocks: int | None = None,
    test_blocks: int | None = None,
) -> Data:
    """Return blocks of characters, x (blocks, block), with y, the character after each.

    ``corpus`` is a registered file. The token of a character is its index among the
    sorted distinct characters of the file, 65 in Shakespeare's. The first nine tenths
    of the file are the training text, as in nanoGPT's prepare.py, and ``blocks`` cuts
    each part. ``train_blocks`` and ``test_blocks`` limit the number of blocks, unless
    None.
    """
    content = text(corpus)
    token_of = sorted_index(content)
    tokens = torch.tensor([token_of[character] for character in content])
    train, test = tokens.tensor_split([int(len(tokens) * TRAIN_SHARE)])
    return Data(*blocks(train, block, train_blocks), *blocks(test, block, test_blocks))
