"""What every task returns: one training and one test set, as tensors."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Data:
    """One split task: x (rows, ...) tokens int64 or floats, y (rows, ...) int64.

    Where images stay on the disk, x is an ``images.Images``, read as it is indexed.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
