"""The unconstrained-feature model: every training row has features of its own.

    features_i = relu(A_i),   logits_i = W features_i

What is left of a network that can give every row any features it likes. The theory of
Liu et al. 2026 (Theorem 7) is about it; their paper does not train one.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.models import fast
from grokbook.models.taps import Tap, untouched


class FreeFeatures(nn.Module):
    """Numbers of rows (batch,) or (batch, 1) int64 -> logits (batch, classes).

    Parameters A (rows, width) ~ N(0, 1) and W (classes, width) ~ N(0, 1/width). Tap:
    ``features`` (batch, width), the input of W.
    """

    def __init__(self, classes: int, *, rows: int, width: int):
        super().__init__()
        self.places = ("features",)
        self.A = nn.Parameter(torch.randn(rows, width))
        self.W = nn.Parameter(torch.randn(classes, width) / math.sqrt(width))

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        features = F.relu(fast.gather(self.A, x.flatten()))
        return fast.linear((tap or untouched)("features", features), self.W)
