"""ResNet-18 of He et al. 2016 and VGG-11 of Simonyan and Zisserman 2015.

    x -> relu(x + norm(conv(relu(norm(conv(x))))))      eight times, in four stages
    x -> relu(norm(conv(x)))            eight times, the sides halved after five of them

ResNet-18 is the image network of Prieto et al. 2025, Table 1, and the one without
slingshots of Liu et al. 2026, Figure 13. Two stems: "imagenet" (7 x 7 convolution of
stride 2, then max-pooling) as in the original, and "cifar" (3 x 3, stride 1) for 32 x
32 images, ten points better there. VGG-11 has the form for 32 x 32 images, whose head
is one layer [Liu, Figures 3c, 10 and 11]. Deeper variants are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import nn

from grokbook.errors import choose
from grokbook.models.mlp import HEAD_NORMS
from grokbook.models.taps import Tap, untouched

if TYPE_CHECKING:
    from grokbook.shapes import Images, Logits

STEMS = {"imagenet": (7, 2), "cifar": (3, 1)}  # size and stride of the convolution
STARTS = ("he", "torch")
WIDTHS = (64, 128, 256, 512)
VGG11_WIDTHS = (64, 128, 256, 256, 512, 512, 512, 512)
VGG11_POOLS = (0, 1, 3, 5, 7)  # convolutions that are followed by max-pooling
NORMS = {"batch": nn.BatchNorm2d}


def _conv(inputs: int, outputs: int, size: int, stride: int, bias: bool) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=bias)


def _norm(name: str | None, width: int) -> nn.Module:
    return nn.Identity() if name is None else choose("norm", name, NORMS)(width)


class ResidualBlock(nn.Module):
    """The first convolution has the stride; without a ``norm`` both have biases."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: str | None):
        super().__init__()
        bias = norm is None
        self.first = _conv(inputs, outputs, 3, stride, bias)
        self.norm1 = _norm(norm, outputs)
        self.second = _conv(outputs, outputs, 3, 1, bias)
        self.norm2 = _norm(norm, outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            conv = _conv(inputs, outputs, 1, stride, bias)
            self.shortcut = nn.Sequential(conv, _norm(norm, outputs))

    def forward(self, x: Images) -> Images:
        hidden = F.relu(self.norm1(self.first(x)))
        straight = x if self.shortcut is None else self.shortcut(x)
        return F.relu(straight + self.norm2(self.second(hidden)))


class ResNet18(nn.Module):
    """Images (batch, 3, h, w) -> logits (batch, classes); 11.2 million weights.

    ``width`` is that of the first of four stages, 64 in the original. ``norm`` is
    "batch", or None for convolutions with biases instead. ``start``: "he" draws the
    convolutions as He et al. 2015 say (fan out, biases 0), "torch" as PyTorch does.
    ValueError for other names. Tap: ``features`` (batch, 8 width), the input of the
    last layer.
    """

    def __init__(
        self,
        classes: int,
        *,
        stem: str = "imagenet",
        width: int = 64,
        norm: str | None = "batch",
        start: str = "he",
    ):
        super().__init__()
        size, stride = choose("stem", stem, STEMS)
        self.pools = stem == "imagenet"
        self.stem = _conv(3, width, size, stride, norm is None)
        self.norm = _norm(norm, width)
        sizes, blocks = [width, *(width * w // WIDTHS[0] for w in WIDTHS)], []
        for k, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
            blocks += [ResidualBlock(inputs, outputs, 2 if k else 1, norm)]
            blocks += [ResidualBlock(outputs, outputs, 1, norm)]
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(sizes[-1], classes)
        if choose("start", start, STARTS) == "he":
            self._start_as_he()

    def _start_as_he(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def places(self) -> tuple[str, ...]:
        return ("features",)

    def forward(self, x: Images, tap: Tap | None = None) -> Logits:
        x = F.relu(self.norm(self.stem(x)))
        if self.pools:
            x = F.max_pool2d(x, 3, stride=2, padding=1)
        return self.head((tap or untouched)("features", self.blocks(x).mean((-2, -1))))


class VGG11(nn.Module):
    """Images (batch, 3, 32, 32) -> logits (batch, classes); 9.2 million weights.

    ``width`` is that of the first convolution, 64 in the original. ``norm``: None, or
    "batch" after every convolution, whose biases stay as in torchvision's vgg11_bn.
    ``head_norm``, one of None, "batch" and "layer", acts on the features before the
    head, without weights unless ``affine``. There is no dropout, and the start is
    PyTorch's. ValueError for other names and for images of another size. Tap:
    ``features`` (batch, 8 width), the input of the head.
    """

    def __init__(
        self,
        classes: int,
        *,
        width: int = 64,
        norm: str | None = None,
        head_norm: str | None = None,
        affine: bool = True,
    ):
        super().__init__()
        sizes = [3, *(width * w // VGG11_WIDTHS[0] for w in VGG11_WIDTHS)]
        pairs = zip(sizes, sizes[1:], strict=False)
        self.convs = nn.ModuleList(_conv(a, b, 3, 1, True) for a, b in pairs)
        self.norms = nn.ModuleList(_norm(norm, size) for size in sizes[1:])
        self.head_norm: nn.Module = nn.Identity()
        if head_norm is not None:
            of_width = choose("head norm", head_norm, HEAD_NORMS)
            self.head_norm = of_width(sizes[-1], affine)
        self.head = nn.Linear(sizes[-1], classes)

    def places(self) -> tuple[str, ...]:
        return ("features",)

    def forward(self, x: Images, tap: Tap | None = None) -> Logits:
        if x.shape[-2:] != (32, 32):  # of which five halvings leave one place
            given = f"images of {x.shape[-2]} x {x.shape[-1]}"
            raise ValueError(f"{given}, but VGG11 needs 32 x 32")
        for k, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = F.relu(norm(conv(x)))
            x = F.max_pool2d(x, 2) if k in VGG11_POOLS else x
        features = self.head_norm(x.flatten(1))
        return self.head((tap or untouched)("features", features))
