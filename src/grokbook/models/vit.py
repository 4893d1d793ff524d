"""The vision transformer of Dosovitskiy et al. 2021, at the size for CIFAR-10.

    x_0 = [class token; patches W + b] + position
    logits = head(norm x_class)           after the blocks of ``transformer``

Liu et al. 2026 (Figure 12) say patches of 4 x 4, width 256, 12 blocks and 8 heads; MLPs
of four times the width and the class token are inferred from "about 10 million"
weights. Positions start as N(0, 0.02^2), the class token as 0 [Dosovitskiy et al.].
"""

from typing import Any

import torch
from torch import Tensor, nn

from claimbook.protocol import Tap, untouched
from grokbook.models.fast import Linear
from grokbook.models.transformer import Block, Layout

SIZE, PATCH = 32, 4  # pixels of a side


class ViT(nn.Module):
    """Images (batch, 3, 32, 32) -> logits (batch, classes); 9.5 million weights.

    ``sizes``: width, depth and heads, if not the published 256, 12 and 8. Taps: those
    of ``Transformer``, position 0 being the class token's.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type

    def __init__(self, classes: int, *, hidden: int = 1024, **sizes: int):
        super().__init__()
        how: dict[str, Any] = {"width": 256, "depth": 12, "heads": 8} | sizes
        how |= {"norms": ("query_key", "value", "mlp"), "bias": True, "joint": True}
        how |= {"vocabulary": 0, "activation": "gelu"}  # a position reads pixels
        layout, width = Layout(hidden=(hidden,), **how), how["width"]
        self.class_token = nn.Parameter(torch.zeros(width))
        positions = 1 + (SIZE // PATCH) ** 2
        self.position = nn.Parameter(0.02 * torch.randn(positions, width))
        self.embedding = Linear(3 * PATCH**2, width)
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(layout.depth))
        self.places = (*(p for block in self.blocks for p in block.places), "features")
        self.norm = layout.new_norm(width)
        self.head = Linear(width, classes)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        # squares row by row, each as a convolution's weight sees it: colours first
        x = x.unflatten(3, (-1, PATCH)).unflatten(2, (-1, PATCH))
        x = x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        first = self.class_token.expand(x.shape[0], 1, -1)
        x = torch.cat([first, self.embedding(x)], 1) + self.position
        for block in self.blocks:
            x = block(x, 0, tap or untouched)
        return self.head((tap or untouched)("features", self.norm(x[:, 0])))
