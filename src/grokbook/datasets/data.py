"""What every task returns: one training and one test set, as tensors."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Data:
    """x (rows, ...) tokens int64, floats or ``images.Images``; y (rows, ...) int64."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
