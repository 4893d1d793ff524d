"""ResNet-18 of He et al. 2016 and VGG-11 of Simonyan and Zisserman 2015.

    x -> relu(x + norm(conv(relu(norm(conv(x))))))      eight times, in four stages
    x -> relu(norm(conv(x)))            eight times, the sides halved after five of them

ResNet-18 is the image network of Prieto et al. 2025, Table 1, and of Liu et al. 2026,
Figure 13, VGG-11 that of Liu's Figures 3c, 10 and 11, with a head of one layer.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.errors import choose
from claimbook.protocol import Tap, untouched
from grokbook.models.mlp import NORMS

STEMS = {"imagenet": (7, 2), "cifar": (3, 1)}  # size and stride of the convolution
VGG11_WIDTHS = (1, 2, 4, 4, 8, 8, 8, 8)  # times that of the first convolution
VGG11_POOLS = (0, 1, 3, 5, 7)  # convolutions that are followed by max-pooling


def _conv(inputs: int, outputs: int, size: int, stride: int, bias: bool) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=bias)


def _norm(name: str | None, width: int) -> nn.Module:
    known = {"batch": nn.BatchNorm2d}
    return choose("norm", name, known)(width) if name else nn.Identity()


class ResidualBlock(nn.Module):
    """The first convolution has the stride; without a ``norm`` both have biases."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: str | None):
        super().__init__()
        bias = norm is None
        self.first = _conv(inputs, outputs, 3, stride, bias)
        self.norm1 = _norm(norm, outputs)
        self.second = _conv(outputs, outputs, 3, 1, bias)
        self.norm2 = _norm(norm, outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = _conv(inputs, outputs, 1, stride, bias)
            self.shortcut = nn.Sequential(conv, _norm(norm, outputs))

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu(self.norm1(self.first(x)))
        return F.relu(self.shortcut(x) + self.norm2(self.second(hidden)))


class ResNet18(nn.Module):
    """Images (batch, 3, h, w) -> logits (batch, classes); 11.2 million weights.

    ``stem``: "imagenet" (7 x 7 convolution of stride 2, then max-pooling) as in the
    original, or "cifar" (3 x 3, stride 1), ten points better on 32 x 32 images.
    ``width`` is that of the first of four stages. ``norm`` is "batch", or None for
    convolutions with biases instead. ``start``: "he" draws the convolutions as He et
    al. 2015 say (fan out, biases 0), "torch" as PyTorch does. ValueError for other
    names. Tap: ``features`` (batch, 8 width), the input of the last layer.
    """

    def __init__(
        self, classes: int, *, stem="imagenet", width=64, norm="batch", start="he"
    ):
        super().__init__()
        self.places = ("features",)
        size, stride = choose("stem", stem, STEMS)
        self.stem = _conv(3, width, size, stride, norm is None)
        self.norm = _norm(norm, width)
        is_large = stem == "imagenet"
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if is_large else nn.Identity()
        self.blocks, inputs = nn.Sequential(), width
        for outputs in (width, 2 * width, 4 * width, 8 * width):
            stride = 1 if outputs == width else 2
            self.blocks.append(ResidualBlock(inputs, outputs, stride, norm))
            self.blocks.append(ResidualBlock(outputs, outputs, 1, norm))
            inputs = outputs
        self.head = nn.Linear(inputs, classes)
        if choose("start", start, ("he", "torch")) == "he":
            for one in self.modules():
                if isinstance(one, nn.Conv2d):
                    nn.init.kaiming_normal_(one.weight, mode="fan_out")
                    if one.bias is not None:
                        nn.init.zeros_(one.bias)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        x = self.pool(F.relu(self.norm(self.stem(x))))
        return self.head((tap or untouched)("features", self.blocks(x).mean((-2, -1))))


class VGG11(nn.Module):
    """Images (batch, 3, 32, 32) -> logits (batch, classes); 9.2 million weights.

    ``width`` is that of the first convolution. ``norm``: None, or "batch" after every
    convolution, whose biases stay as in torchvision's vgg11_bn. ``head_norm``, of
    ``mlp.NORMS``, acts on the features, without weights unless ``affine``. Tap:
    ``features`` (batch, 8 width), the input of the head.
    """

    def __init__(
        self, classes: int, *, width=64, norm=None, head_norm=None, affine=True
    ):
        super().__init__()
        self.places = ("features",)
        sizes = [3, *(width * w for w in VGG11_WIDTHS)]
        pairs = zip(sizes, sizes[1:], strict=False)
        self.convs = nn.ModuleList(_conv(a, b, 3, 1, True) for a, b in pairs)
        self.norms = nn.ModuleList(_norm(norm, size) for size in sizes[1:])
        self.head_norm: nn.Module = nn.Identity()
        if head_norm:
            self.head_norm = choose("head norm", head_norm, NORMS)(sizes[-1], affine)
        self.head = nn.Linear(sizes[-1], classes)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        for k, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = F.relu(norm(conv(x)))
            x = F.max_pool2d(x, 2) if k in VGG11_POOLS else x
        features = self.head_norm(x.flatten(1))
        return self.head((tap or untouched)("features", features))
