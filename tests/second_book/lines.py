"""The science of a book on straight lines: a task, a network and two optimizers."""

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam

from claimbook.observing import Snapshot, Values, observable
from claimbook.protocol import Data, Tap


def noisy_line(*, rows: int, noise: float) -> Data:
    """y = 3 x - 1 + noise, with x and noise from a normal distribution."""
    x = torch.randn(2 * rows, 1)
    y = 3 * x - 1 + noise * torch.randn(2 * rows, 1)
    return Data(x[:rows], y[:rows], x[rows:], y[rows:])


class Line(nn.Linear):
    """w x + b: (rows, 1) -> (rows, 1)."""

    places: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(1, 1)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        del tap  # nothing inside a line is looked at
        return super().forward(x)


def squared_error(predicted: Tensor, y: Tensor, *, reduction: str = "mean") -> Tensor:
    """(predicted - y)^2, its mean over rows, or one for each row."""
    errors = (predicted - y).square().squeeze(-1)
    return errors if reduction == "none" else errors.mean()


def sgd(params, *, lr: float) -> SGD:
    return SGD(params, lr=lr)


def adam(params, *, lr: float) -> Adam:
    return Adam(params, lr=lr)


@observable("train", "test", makes=("train_loss", "test_loss"))
def errors(s: Snapshot) -> Values:
    return {"train_loss": s.train.losses.mean(), "test_loss": s.test.losses.mean()}
