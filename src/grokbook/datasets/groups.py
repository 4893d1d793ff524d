"""Composition in the group of all permutations of n things, such as S5.

compose      a ∘ b          [Power et al. 2022, appendix A.1.1]
conjugate    a ∘ b ∘ a^-1
"""

from itertools import permutations as all_orders

import torch
import torch.nn.functional as F

from claimbook.errors import choose
from claimbook.protocol import Data
from grokbook.datasets.checks import check_whole, random_split


def permutations(
    degree: int = 5,
    operation: str = "compose",
    train_fraction: float = 0.5,
    *,
    equals: bool = False,
) -> Data:
    """Return the task of the product of two permutations of ``degree`` things.

    A permutation is a token, its place among all in the order of
    `itertools.permutations` (120 of five things); x is a and b, y is their product, all
    int64, so that a network needs degree! classes and as many tokens. (a ∘ b)(k) is
    a(b(k)). ``operation`` is "compose" or "conjugate". A random share of
    ``train_fraction`` of the pairs, rounded down, is the training set. ``equals``
    appends the equals sign, token degree!. Raises BookError for a value out of range.
    """
    check_whole("degree", degree, 2, 6)  # of seven things there are 25 million pairs
    choose("operation", operation, ("compose", "conjugate"))
    group = torch.tensor([*all_orders(range(degree))])  # (degree!, degree), sorted
    elements = torch.arange(len(group))
    x = torch.cartesian_prod(elements, elements)
    a, b = group[x[:, 0]], group[x[:, 1]]  # (pairs, degree), as the product is
    product = a.gather(1, b)
    if operation == "conjugate":
        product = product.gather(1, a.argsort(1))  # argsort is the inverse
    # read as digits, permutations are numbers in the same order: a search finds a token
    place_values = degree ** torch.arange(degree - 1, -1, -1)
    codes = (group * place_values).sum(1)  # (degree!,)
    y = torch.searchsorted(codes, (product * place_values).sum(1))
    if equals:
        x = F.pad(x, (0, 1), value=len(group))
    return random_split(x, y, train_fraction)
