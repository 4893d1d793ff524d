"""ResNet-18 of He et al. 2016, the image network of Prieto et al. 2025, Table 1.

    x -> relu(x + norm(conv(relu(norm(conv(x))))))      eight times, in four stages

Two stems: "imagenet" (7 x 7 convolution of stride 2, then max-pooling) as in the
original, and "cifar" (3 x 3, stride 1) for 32 x 32 images, ten points better there.
Convolutions start as He et al. 2015 say (fan out), norms as the identity. Deeper
variants, which need bottleneck blocks, are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.errors import choose
from grokbook.models.taps import Tap, untouched

if TYPE_CHECKING:
    from jaxtyping import Float

STEMS = ("imagenet", "cifar")
WIDTHS = (64, 128, 256, 512)


def _conv(inputs: int, outputs: int, size: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(
        inputs, outputs, size, stride=stride, padding=size // 2, bias=False
    )


class ResidualBlock(nn.Module):
    """relu(x + norm(conv(relu(norm(conv(x)))))), the first convolution with stride."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = _conv(inputs, outputs, 3, stride)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.second = _conv(outputs, outputs, 3, 1)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                _conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )

    def forward(
        self, x: Float[Tensor, "batch inputs h w"]
    ) -> Float[Tensor, "batch outputs h_out w_out"]:
        """x (batch, inputs, h, w) -> (batch, outputs, h / stride, w / stride)."""
        hidden = F.relu(self.norm1(self.first(x)))
        straight = x if self.shortcut is None else self.shortcut(x)
        return F.relu(straight + self.norm2(self.second(hidden)))


class ResNet18(nn.Module):
    """Images (batch, 3, h, w) -> logits (batch, classes); 11.2 million weights.

    ``width`` is that of the first of four stages, 64 in the original. ValueError for an
    unknown ``stem``. Tap: ``features`` (batch, 8 width), the input of the last layer.
    """

    def __init__(self, classes: int, *, stem: str = "imagenet", width: int = 64):
        super().__init__()
        self.pools = choose("stem", stem, STEMS) == "imagenet"
        self.stem = _conv(3, width, 7, 2) if self.pools else _conv(3, width, 3, 1)
        self.norm = nn.BatchNorm2d(width)
        sizes = [width, *(width * w // WIDTHS[0] for w in WIDTHS)]
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(sizes[k + second], sizes[k + 1], 2 if starts else 1)
                for k in range(4)
                for second, starts in ((0, k > 0), (1, False))
            )
        )
        self.head = nn.Linear(sizes[-1], classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def places(self) -> tuple[str, ...]:
        """Names of the taps."""
        return ("features",)

    def forward(
        self, x: Float[Tensor, "batch 3 h w"], tap: Tap | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Images (batch, 3, h, w) -> logits (batch, classes)."""
        tap = tap or untouched
        x = F.relu(self.norm(self.stem(x)))
        if self.pools:
            x = F.max_pool2d(x, 3, stride=2, padding=1)
        return self.head(tap("features", self.blocks(x).mean((-2, -1))))
