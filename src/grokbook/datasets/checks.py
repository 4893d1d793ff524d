"""What a task is given, checked: sentences for what is wrong, and a checked split.

A share of training rows that is a percentage would otherwise train on all rows and
report a test accuracy of nothing.
"""

from typing import Any

import torch
from torch import Tensor

from claimbook.errors import BookError
from claimbook.protocol import Data


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Raise BookError if an option is no whole number from ``low`` to ``high``."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and value >= low and (high is None or value <= high):
        return
    bounds = f"from {low} on" if high is None else f"from {low} to {high}"
    raise BookError(f"{name} is a whole number {bounds}, not {value!r}")


def check_fraction(train_fraction: Any) -> None:
    """Raise BookError if the share of training rows is not above 0 and below 1."""
    if isinstance(train_fraction, float | int) and 0 < train_fraction < 1:
        return
    raise BookError(
        "train_fraction is the share of rows to train on, above 0 and below 1 as in "
        f"0.4, not {train_fraction!r}"
    )


def check_split(train_fraction: float, train_rows: int, rows: int) -> None:
    """Raise BookError if a split leaves no rows to train on, or none to test on."""
    if 0 < train_rows < rows:
        return
    lacking = "test" if train_rows else "training"
    raise BookError(
        f"train_fraction={train_fraction} of {rows:,} rows leaves no {lacking} rows"
    )


def random_split(x: Tensor, y: Tensor, train_fraction: float) -> Data:
    """Split rows x (rows, ...) and labels y (rows, ...) by torch's global generator.

    A share of ``train_fraction`` of them, rounded down, is the training set. Raises
    BookError if that leaves no rows to train on, or none to test on.
    """
    train_rows = int(train_fraction * len(x))
    check_split(train_fraction, train_rows, len(x))
    train, test = torch.randperm(len(x)).tensor_split([train_rows])
    return Data(x[train], y[train], x[test], y[test])
