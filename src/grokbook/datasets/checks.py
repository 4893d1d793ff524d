"""Checks of the options of a task, a split of its rows, numbers for its words.

A ``train_fraction`` that is a percentage, such as 40 for 0.4, would otherwise train on
all rows and report a test accuracy of nothing.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from claimbook.errors import BookError
from claimbook.protocol import Data


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Raise BookError if an option is not a whole number from ``low`` to ``high``.

    ``name`` is what the option is called; with ``high`` None there is no upper limit.
    True and 2.0 are no whole numbers.
    """
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and value >= low and (high is None or value <= high):
        return
    bounds = f"from {low} on" if high is None else f"from {low} to {high}"
    raise BookError(f"{name} is a whole number {bounds}, not {value!r}")


def train_count(
    train_fraction: float, row_count: int, *, rounds_test_down: bool = False
) -> int:
    """Return the size of the training set, a share of the rows that is rounded down.

    With ``rounds_test_down`` the size of the test set is rounded down instead. Raises
    BookError if the share is not above 0 and below 1, or if it leaves no rows to train
    on, or none to test on.
    """
    if not (isinstance(train_fraction, float | int) and 0 < train_fraction < 1):
        raise BookError(
            "train_fraction is the share of rows to train on, above 0 and below 1 as "
            f"in 0.4, not {train_fraction!r}"
        )
    n_train = int(train_fraction * row_count)
    if rounds_test_down:
        n_train = row_count - int((1 - train_fraction) * row_count)
    if not 0 < n_train < row_count:
        lacking = "test" if n_train else "training"
        raise BookError(
            f"train_fraction={train_fraction} of {row_count:,} rows leaves no "
            f"{lacking} rows"
        )
    return n_train


def random_split(x: Tensor, y: Tensor, train_fraction: float) -> Data:
    """Split rows x (rows, ...) and labels y (rows, ...) by torch's global generator.

    The training set is `train_count` of the rows, a share that is rounded down. Raises
    BookError if either set would be empty.
    """
    n_train = train_count(train_fraction, len(x))
    train, test = torch.randperm(len(x)).tensor_split([n_train])  # indices
    return Data(x[train], y[train], x[test], y[test])


def sorted_index(values: Iterable[str]) -> dict[str, int]:
    """Return the index of each distinct value among all distinct ones, sorted."""
    return {value: index for index, value in enumerate(sorted(set(values)))}
