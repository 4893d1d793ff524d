"""Tasks that are computed: modular arithmetic, sums, sparse parity, numbers of rows.

Splits are drawn from torch's global generator, as in the official code of Prieto et
al.: after ``torch.manual_seed(42)`` the training set is theirs, row for row.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from claimbook.errors import choose
from claimbook.protocol import Data

OPERATIONS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "add": lambda a, b, p: (a + b) % p,
    "subtract": lambda a, b, p: (a - b) % p,
    "multiply": lambda a, b, p: (a * b) % p,
    "divide": lambda a, b, p: (a * _inverses(p)[b]) % p,
}
SYMBOLS = "0123456789+=$"  # of sums; the number of a symbol is its place
ENCODINGS = ("tokens", "scalar", "standard_scalar", "binary", "random_binary")


def modular(
    p: int = 113,
    operation: str | Callable = "add",
    train_fraction: float = 0.4,
    *,
    encoding: str = "tokens",
    bits: int | None = None,
    smallest: int = 0,
    equals: bool = False,
    operator: bool = False,
    shuffle: str = "torch",
) -> Data:
    """(a o b) mod p for all ordered pairs of smallest..p-1 [Prieto, section 3.1].

    ``encoding``: "tokens" (batch, 2) int64; "scalar" the same as floats,
    "standard_scalar" with mean 0 and variance 1; "binary" the base-2 code of each
    (official code of Figure 4); "random_binary" distinct random codes of ``bits`` bits
    (the paper's wording). int(train_fraction * pairs) rows train. "divide" takes a
    prime p and leaves b = 0 out. ``equals`` adds a third token, the equals sign, with
    number p; with ``operator`` too a row is a, operator, b, equals sign, numbered p and
    p + 1. ``shuffle="python"`` splits as the code of Singh et al. 2026 does: Python's
    shuffle, seeded as torch's generator was, and int((1 - train_fraction) * pairs) test
    rows.
    """
    pairs = torch.cartesian_prod(torch.arange(smallest, p), torch.arange(smallest, p))
    pairs = pairs[pairs[:, 1] != 0] if operation == "divide" else pairs
    is_ours = isinstance(operation, str)
    call: Any = choose("operation", operation, OPERATIONS) if is_ours else operation
    labels = call(pairs[:, 0], pairs[:, 1], p)
    if choose("shuffle", shuffle, ("torch", "python")) == "torch":
        order, n_train = torch.randperm(len(pairs)), int(train_fraction * len(pairs))
    else:
        numbers = list(range(len(pairs)))
        random.Random(torch.initial_seed()).shuffle(numbers)
        order = torch.tensor(numbers)
        n_train = len(pairs) - int((1 - train_fraction) * len(pairs))
    x = _encode(pairs, p, encoding, bits)  # random codes are drawn after the split
    if operator:
        a, b = x.unbind(1)
        x = torch.stack([a, torch.full_like(a, p), b, torch.full_like(b, p + 1)], 1)
    elif equals:
        x = F.pad(x, (0, 1), value=p)
    train, test = order[:n_train], order[n_train:]
    return Data(x[train], labels[train], x[test], labels[test])


def _encode(pairs: Tensor, p: int, encoding: str, bits: int | None) -> Tensor:
    if choose("encoding", encoding, ENCODINGS) == "tokens":
        return pairs
    if encoding == "scalar":
        return pairs.float()
    if encoding == "standard_scalar":
        return (pairs - pairs.float().mean()) / pairs.float().std(correction=0)
    bits = bits or (p - 1).bit_length()
    codes = torch.arange(p) if encoding == "binary" else torch.randperm(2**bits)[:p]
    table = (codes[:, None] >> torch.arange(bits - 1, -1, -1)) & 1
    return table[pairs].flatten(1).float()


def _inverses(p: int) -> Tensor:
    return torch.tensor([0] + [pow(b, -1, p) for b in range(1, p)])


def sparse_parity(
    samples: int = 2000, *, relevant: int = 3, noise: int = 40, data_seed: int = 42
) -> Data:
    """Parity of the first bits of a bit string [Prieto, Figure 4; official code].

    ``relevant`` + ``noise`` bits in {0, 1} as floats, half of the rows for training.
    The rows are those of the official code, bit for bit: `random.choice` of Python's
    generator seeded with ``data_seed``. How long the delay is depends on them.
    """
    bit, bits = partial(random.Random(data_seed).choice, (0, 1)), relevant + noise
    x = torch.tensor([[bit() for _ in range(bits)] for _ in range(samples)]).float()
    y = x[:, :relevant].sum(1).long() % 2
    train, test = torch.randperm(samples).tensor_split([samples // 2])
    return Data(x[train], y[train], x[test], y[test])


def balanced_rows(*, classes: int, per_class: int) -> Data:
    """Numbers of rows (rows, 1) int64 as inputs, class by class, for ``FreeFeatures``.

    [Liu et al. 2026, section D]. Such a model has nothing to say about another row: the
    test split is the training split.
    """
    x = torch.arange(classes * per_class)
    y = x // per_class
    return Data(x[:, None], y, x[:, None], y)


def additions(
    digits: int = 3, *, pairs: int = 10_000, train_fraction: float = 0.8
) -> Data:
    """Sums as characters, x (rows, 3 digits + 3) and y (rows, digits + 1), both int64.

    $123+456=9750       123 + 456 = 0579, its figures from the last to the first

    x are a row's characters but the last, as their places in ``SYMBOLS``; y those of
    the answer, to be said at the last digits + 1 positions of x. Operands have zeros in
    front, which those of Lee et al. 2023 (lee-ny/teaching_arithmetic), whence Tiwari et
    al. 2026 have theirs, have not. int(train_fraction * pairs) distinct pairs train.
    """
    drawn = torch.randperm(10 ** (2 * digits))[:pairs]
    a, b = drawn // 10**digits, drawn % 10**digits
    answer = _figures(a + b, digits + 1).flip(1)
    start, plus, equals = (torch.full_like(a[:, None], SYMBOLS.index(s)) for s in "$+=")
    question = [start, _figures(a, digits), plus, _figures(b, digits), equals]
    x, train = torch.cat([*question, answer[:, :-1]], 1), int(train_fraction * pairs)
    return Data(x[:train], answer[:train], x[train:], answer[train:])


def _figures(numbers: Tensor, count: int) -> Tensor:
    """(rows,) -> (rows, count) decimal figures, the first one first."""
    return numbers[:, None] // 10 ** torch.arange(count - 1, -1, -1) % 10
