"""Tasks that are computed: modular arithmetic, sums, sparse parity, indices of rows.

Splits are drawn from torch's global generator, as in the official code of Prieto et al.
(2025): after ``torch.manual_seed(42)`` the training set is theirs, row for row.
"""

import random
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from claimbook.errors import BookError, choose
from claimbook.protocol import Data
from grokbook.datasets import operations
from grokbook.datasets.checks import check_whole, random_split, train_count

OPERATIONS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "add": lambda a, b, p: (a + b) % p,
    "subtract": lambda a, b, p: (a - b) % p,
    "multiply": lambda a, b, p: (a * b) % p,
    "divide": lambda a, b, p: (a * _inverses(p)[b]) % p,
}
SYMBOLS = "0123456789+=$"  # of sums; the token of a symbol is its index
ENCODINGS = ("tokens", "scalar", "standard_scalar", "binary", "random_binary")
LARGEST_P = 2000  # four million pairs
MOST_BITS = 24  # of a random code, which is drawn from all of so many bits


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
    """Return the task (a o b) mod p for all pairs of smallest..p-1.

    [Prieto et al. 2025, section 3.1] ``operation`` is a key of ``OPERATIONS``, a
    formula such as "a*a + a*b + b*b" (see `operations`), or a function of a, b (both
    tensors of int64) and p; "divide" needs a prime p and leaves b = 0 out. A random
    share of ``train_fraction`` of the ordered pairs, rounded down, is the training set.

    ``encoding`` says what a row of x is: "tokens", a and b as int64; "scalar", the same
    as floats; "standard_scalar", floats with mean 0 and variance 1; "binary", the bits
    of a and b in base 2 (the official code of Prieto et al. for Figure 4); or
    "random_binary", distinct random rows of ``bits`` bits (the wording of their paper).
    With ``bits`` None there are as few as can tell p numbers apart. ``equals`` appends
    the equals sign, token p. With ``operator``, which goes before ``equals``, a row is
    a, operator, b and equals sign, and these two signs are the tokens p and p + 1. Both
    are meant for tokens.

    ``shuffle="python"`` splits as the code of Singh et al. (2026) does, by Python's
    shuffle with the seed of torch's generator, and rounds the size of the test set down
    instead. Raises BookError for an unknown name, a value out of range, or a fraction
    that leaves no rows to train or to test on.
    """
    check_whole("p", p, 2, LARGEST_P)
    check_whole("smallest", smallest, 0, p - 1)
    pairs = torch.cartesian_prod(torch.arange(smallest, p), torch.arange(smallest, p))
    if operation == "divide":
        pairs = pairs[pairs[:, 1] != 0]
    by_python = choose("shuffle", shuffle, ("torch", "python")) == "python"
    n_train = train_count(train_fraction, len(pairs), rounds_test_down=by_python)
    labels = _label_function(operation)(pairs[:, 0], pairs[:, 1], p)
    if by_python:
        indices = list(range(len(pairs)))
        random.Random(torch.initial_seed()).shuffle(indices)
        order = torch.tensor(indices)
    else:
        order = torch.randperm(len(pairs))
    # after the split, which is then the same as without random codes
    x = _encode(pairs, p, encoding, bits)
    if operator:
        a, b = x.unbind(1)
        x = torch.stack([a, torch.full_like(a, p), b, torch.full_like(b, p + 1)], 1)
    elif equals:
        x = F.pad(x, (0, 1), value=p)
    train, test = order[:n_train], order[n_train:]
    return Data(x[train], labels[train], x[test], labels[test])


def _label_function(
    operation: str | Callable,
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return the function (a, b, p) -> labels (rows,) of an operation of ``modular``.

    Raises UnknownName for a word that is no key of ``OPERATIONS``; a formula is read,
    and may be refused, when the function is called.
    """
    if callable(operation):
        return operation
    # words are keys of OPERATIONS; other texts, and "a" and "b", are formulas; `choose`
    # refuses what is neither, such as 3
    is_word = not isinstance(operation, str) or operation.isidentifier()
    if is_word and operation not in ("a", "b"):
        return choose("operation", operation, OPERATIONS)
    return partial(operations.labels_of, operation)


def _encode(pairs: Tensor, p: int, encoding: str, bits: int | None) -> Tensor:
    """Return pairs (rows, 2) of numbers 0..p-1 in one of ``ENCODINGS``.

    As tokens or scalars they are (rows, 2), as bits (rows, 2 * bits) with the bits of
    both numbers one after the other. ``bits`` is the number of bits for one number;
    with None it is the smallest that p numbers need, and fewer raise BookError.
    """
    if choose("encoding", encoding, ENCODINGS) == "tokens":
        return pairs
    if encoding == "scalar":
        return pairs.float()
    if encoding == "standard_scalar":
        return (pairs - pairs.float().mean()) / pairs.float().std(correction=0)
    fewest_bits = (p - 1).bit_length()
    if bits is None:
        bits = fewest_bits
    check_whole(f"bits of {p} codes", bits, fewest_bits, MOST_BITS)
    # (p,), one whole number for each, of which the table (p, bits) has the bits
    codes = torch.arange(p) if encoding == "binary" else torch.randperm(2**bits)[:p]
    table = (codes[:, None] >> torch.arange(bits - 1, -1, -1)) & 1
    return table[pairs].flatten(1).float()  # of (rows, 2, bits)


def _inverses(p: int) -> Tensor:
    """Return the inverses (p,) of 0..p-1 modulo a prime p, with 0 in the place of 0's.

    Raises BookError if p is not prime.
    """
    try:
        inverses = [pow(b, -1, p) for b in range(1, p)]  # pow of Python
    except ValueError:  # a divisor of p has no inverse
        raise BookError(f"divide takes a prime p, not {p}") from None
    return torch.tensor([0, *inverses])


def sparse_parity(
    samples: int = 2000,
    *,
    relevant: int = 3,
    noise: int = 40,
    data_seed: int = 42,
    train_fraction: float = 0.5,
) -> Data:
    """Return the task of the parity of the first bits of bit strings.

    [Prieto et al. 2025, Figure 4, and its official code] x are ``relevant`` + ``noise``
    bits in {0, 1} as floats, and y is the parity of the relevant ones. A random share
    of ``train_fraction`` of the rows, rounded down, is the training set. The rows are
    those of the official code, bit for bit: Python's generator, seeded with
    ``data_seed``, draws them by `random.choice`. How late grokking is depends on them.
    """
    check_whole("samples", samples, 2)
    check_whole("relevant", relevant, 1)
    check_whole("noise", noise, 0)
    draw_bit = partial(random.Random(data_seed).choice, (0, 1))
    bit_count = relevant + noise
    x = torch.tensor([[draw_bit() for _ in range(bit_count)] for _ in range(samples)])
    y = x[:, :relevant].sum(1) % 2
    return random_split(x.float(), y, train_fraction)


def balanced_rows(*, classes: int, per_class: int) -> Data:
    """Return indices of rows (rows, 1) int64 as inputs, class by class.

    [Liu et al. 2026, section D] The task is for ``FreeFeatures``, which has features of
    the training rows only, so the test set is the training set.
    """
    check_whole("classes", classes, 1)
    check_whole("per_class", per_class, 1)
    x = torch.arange(classes * per_class)
    y = x // per_class
    return Data(x[:, None], y, x[:, None], y)


def additions(
    digits: int = 3, *, pairs: int = 10_000, train_fraction: float = 0.8
) -> Data:
    """Return sums as characters, x and y, both int64.

        $123+456=9750       123 + 456 = 0579, whose digits are in reverse order

    A character is its index in ``SYMBOLS``. x (rows, 3 digits + 3) is a row without its
    last character, and y (rows, digits + 1) the answer, which a model predicts at the
    last digits + 1 positions of x. Operands have leading zeros, unlike those of Lee et
    al. (2023; lee-ny/teaching_arithmetic), which Tiwari et al. (2026) use. ``pairs``
    distinct pairs of operands are drawn, and int(train_fraction * pairs) of them are
    the training set.
    """
    check_whole("digits", digits, 1, 3)  # of four digits there are 10^8 pairs
    check_whole("pairs", pairs, 2, 10 ** (2 * digits))
    n_train = train_count(train_fraction, pairs)
    drawn = torch.randperm(10 ** (2 * digits))[:pairs]  # a * 10^digits + b
    a, b = drawn // 10**digits, drawn % 10**digits
    answer = _digits(a + b, digits + 1).flip(1)  # (rows, digits + 1)
    # columns (rows, 1), each with one symbol in all rows
    start, plus, equals = (torch.full_like(a[:, None], SYMBOLS.index(s)) for s in "$+=")
    question = [start, _digits(a, digits), plus, _digits(b, digits), equals]
    x = torch.cat([*question, answer[:, :-1]], 1)
    return Data(x[:n_train], answer[:n_train], x[n_train:], answer[n_train:])


def _digits(numbers: Tensor, count: int) -> Tensor:
    """Return the last ``count`` decimal digits (rows, count) of numbers (rows,)."""
    return numbers[:, None] // 10 ** torch.arange(count - 1, -1, -1) % 10
