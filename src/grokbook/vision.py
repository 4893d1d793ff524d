"""ResNet-18 of He et al. 2016, the image network of Prieto et al., Table 1.

Two stems: "imagenet" (7 x 7 convolution of stride 2, then max-pooling) as in the
original, and "cifar" (3 x 3, stride 1) for 32 x 32 images, ten points better there.
Convolutions start as He et al. 2015 say (fan out), norms as the identity.
"""

import torch.nn.functional as F
from torch import Tensor, nn

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

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, inputs, h, w) -> (batch, outputs, h / stride, w / stride)."""
        hidden = F.relu(self.norm1(self.first(x)))
        straight = x if self.shortcut is None else self.shortcut(x)
        return F.relu(straight + self.norm2(self.second(hidden)))


class ResNet18(nn.Module):
    """Images (batch, 3, h, w) -> logits (batch, classes); 11.2 million weights.

    ``width`` is that of the first of four stages, 64 in the original.
    """

    def __init__(self, classes: int, *, stem: str = "imagenet", width: int = 64):
        super().__init__()
        if stem not in ("imagenet", "cifar"):
            raise ValueError(f"unknown stem {stem!r}: use 'imagenet' or 'cifar'")
        self.pools = stem == "imagenet"
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

    def forward(self, x: Tensor, capture: dict | None = None) -> Tensor:
        x = F.relu(self.norm(self.stem(x)))
        if self.pools:
            x = F.max_pool2d(x, 3, stride=2, padding=1)
        features = self.blocks(x).mean((-2, -1))
        if capture is not None:
            capture["features"] = features
        return self.head(features)
