"""ResNet-18 of He et al. (2016) and VGG-11 of Simonyan and Zisserman (2015).

    x -> relu(x + norm(conv(relu(norm(conv(x))))))      eight times, in four stages
    x -> relu(norm(conv(x)))            eight times, the sides halved after five of them

ResNet-18 is the image network of Prieto et al. (2025), Table 1, and of Liu et al.
(2026), Figure 13. VGG-11 is that of Figures 3c, 10 and 11 of Liu et al. (2026), with a
head of one layer.
"""

from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.errors import choose
from claimbook.protocol import Tap, untouched
from grokbook.models.mlp import NORMS, optional_norm

STEMS = {"imagenet": (7, 2), "cifar": (3, 1)}  # size and stride of the convolution
VGG11_WIDTHS = (1, 2, 4, 4, 8, 8, 8, 8)  # multiples of the first convolution's width
VGG11_POOLS = (0, 1, 3, 5, 7)  # indices of convolutions followed by max-pooling


def _conv(
    inputs: int, outputs: int, *, size: int = 3, stride: int = 1, bias: bool = True
) -> nn.Conv2d:
    """Return a new convolution whose padding keeps height and width at stride 1.

    ``inputs`` and ``outputs`` are numbers of channels; ``size``, odd, is that of the
    kernel's sides.
    """
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=bias)


def _norm(name: str | None, width: int) -> nn.Module:
    """Return a new norm over ``width`` channels: batch norm for "batch".

    It is the identity for None, and UnknownName is raised for another name.
    """
    return optional_norm("norm", name, {"batch": nn.BatchNorm2d}, width)


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions, whose output is added to their input before a ReLU.

    The block maps (batch, inputs, h, w) to (batch, outputs, h / stride, w / stride),
    rounded up. ``inputs`` and ``outputs`` are numbers of channels. The first
    convolution has the ``stride``. If the shape changes, a 1 x 1 convolution with a
    norm adapts the input. ``norm`` is "batch", or None for convolutions with biases
    instead, which a norm would take away.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, norm: str | None):
        super().__init__()
        bias = norm is None
        self.first = _conv(inputs, outputs, stride=stride, bias=bias)
        self.norm1 = _norm(norm, outputs)
        self.second = _conv(outputs, outputs, bias=bias)
        self.norm2 = _norm(norm, outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                _conv(inputs, outputs, size=1, stride=stride, bias=bias),
                _norm(norm, outputs),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the output of the block; the class says of which shape."""
        hidden = F.relu(self.norm1(self.first(x)))
        return F.relu(self.shortcut(x) + self.norm2(self.second(hidden)))


class ResNet18(nn.Module):
    """Maps images (batch, 3, h, w) to logits (batch, classes); 11.2 million weights.

    ``stem`` is "imagenet", a 7 x 7 convolution of stride 2 and max-pooling as in the
    original, or "cifar", a 3 x 3 convolution of stride 1, which is ten points better on
    32 x 32 images. ``width`` is the number of channels of the first of four stages.
    ``norm`` is "batch", or None for convolutions with biases instead. ``start`` is "he"
    for convolutions drawn as in He et al. 2015 (fan out, biases 0), or "torch" for
    PyTorch's default. Raises ValueError for other names. The only tap is ``features``
    (batch, 8 width), the input of the last layer.
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
        self.places = ("features",)
        stem_size, stem_stride = choose("stem", stem, STEMS)
        self.stem = _conv(
            3, width, size=stem_size, stride=stem_stride, bias=norm is None
        )
        self.norm = _norm(norm, width)
        is_large = stem == "imagenet"  # whose images are 224 x 224
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if is_large else nn.Identity()
        self.blocks = nn.Sequential()
        inputs = width
        for outputs in (width, 2 * width, 4 * width, 8 * width):
            stride = 1 if outputs == width else 2
            self.blocks.append(ResidualBlock(inputs, outputs, stride, norm))
            self.blocks.append(ResidualBlock(outputs, outputs, 1, norm))
            inputs = outputs
        self.head = nn.Linear(inputs, classes)
        if choose("start", start, ("he", "torch")) == "he":
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out")
                    if module.bias is not None:
                        nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits (batch, classes) of images x (batch, 3, h, w).

        ``tap("features", x)`` may return another x.
        """
        x = self.pool(F.relu(self.norm(self.stem(x))))
        features = self.blocks(x).mean((-2, -1))  # over all pixels: (batch, 8 width)
        return self.head((tap or untouched)("features", features))


class VGG11(nn.Module):
    """Maps images (batch, 3, 32, 32) to logits (batch, classes); 9.2 million weights.

    ``width`` is the number of channels of the first convolution. ``norm`` is None, or
    "batch" for a batch norm after every convolution, whose bias stays as in
    torchvision's vgg11_bn. ``head_norm``, a name of ``mlp.NORMS``, is a norm of the
    features, with weights if ``affine``. Raises ValueError for other names. Images
    have to be of 32 to 63 pixels a side, as one pixel is left of these. The only tap is
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
        self.places = ("features",)
        channels = [3, *(width * multiple for multiple in VGG11_WIDTHS)]
        self.convs = nn.ModuleList(
            _conv(inputs, outputs) for inputs, outputs in pairwise(channels)
        )
        self.norms = nn.ModuleList(_norm(norm, outputs) for outputs in channels[1:])
        self.head_norm = optional_norm(
            "head norm", head_norm, NORMS, channels[-1], affine
        )
        self.head = nn.Linear(channels[-1], classes)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits (batch, classes) of images x (batch, 3, 32, 32).

        ``tap("features", x)`` may return another x.
        """
        for index, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = F.relu(norm(conv(x)))
            if index in VGG11_POOLS:
                x = F.max_pool2d(x, 2)
        # x is (batch, 8 width, 1, 1), as 32 / 2^5 is 1
        features = self.head_norm(x.flatten(1))
        return self.head((tap or untouched)("features", features))
