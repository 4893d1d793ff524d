"""Tasks on characters: sums of numbers figure by figure, and a text letter by letter.

    $123+456=9750       123 + 456 = 0579, its figures from the last to the first

The row is that of Lee et al. 2023 (lee-ny/teaching_arithmetic), where Tiwari et al.
2026 have their addition from; theirs have operands without zeros in front, in windows
of many rows. The text is Shakespeare's as nanoGPT prepares it.
"""

import torch
from torch import Tensor

from grokbook.datasets.data import Data
from grokbook.datasets.text import TRAIN_SHARE, blocks, text

SYMBOLS = "0123456789+=$"  # of sums; the number of a symbol is its place


def additions(
    digits: int = 3, *, pairs: int = 10_000, train_fraction: float = 0.8
) -> Data:
    """Sums of numbers, x (rows, 3 digits + 3) and y (rows, digits + 1), both int64.

    x are a row's characters but the last, as their places in ``SYMBOLS``; y those of
    the answer, to be said at the last digits + 1 positions of x. Operands have
    ``digits`` figures, zeros in front, and the answer one more, from the last to the
    first. Of ``pairs`` distinct ordered pairs int(train_fraction * pairs) train.
    """
    drawn = torch.randperm(10 ** (2 * digits))[:pairs]
    a, b = drawn // 10**digits, drawn % 10**digits
    answer = _figures(a + b, digits + 1).flip(1)
    start, plus, equals = (
        torch.full((len(drawn), 1), SYMBOLS.index(symbol)) for symbol in "$+="
    )
    question = [start, _figures(a, digits), plus, _figures(b, digits), equals]
    x, train = torch.cat([*question, answer[:, :-1]], 1), int(train_fraction * pairs)
    return Data(x[:train], answer[:train], x[train:], answer[train:])


def _figures(numbers: Tensor, count: int) -> Tensor:
    """(rows,) -> (rows, count) decimal figures, the first one first."""
    return numbers[:, None] // 10 ** torch.arange(count - 1, -1, -1) % 10


def characters(
    corpus: str = "tinyshakespeare/input.txt",
    *,
    block: int = 256,
    train_blocks: int | None = None,
    test_blocks: int | None = None,
) -> Data:
    """Blocks of characters: x (blocks, block) and y, the same moved on by one.

    The first nine tenths of a data file train, as in nanoGPT's prepare.py, each part
    cut as ``text.blocks`` does. A character's number is its place among the distinct
    ones of the whole file in order, 65 in Shakespeare's.
    """
    whole = text(corpus)
    place = {symbol: k for k, symbol in enumerate(sorted(set(whole)))}
    numbers = torch.tensor([place[symbol] for symbol in whole])
    train, test = numbers.tensor_split([int(len(numbers) * TRAIN_SHARE)])
    x, y = blocks(train, block, train_blocks), blocks(test, block, test_blocks)
    return Data(*x, *y)
