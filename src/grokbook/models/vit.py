"""The vision transformer of Dosovitskiy et al. (2021), at the size for CIFAR-10.

    x_0 = [class token; patches W + b] + position
    logits = head(norm x_class)           after the blocks of ``transformer``

Liu et al. (2026, Figure 12) state patches of 4 x 4, width 256, 12 blocks and 8 heads.
The class token and MLPs of four times the width are inferred from their "about 10
million" weights. Positions are drawn as N(0, 0.02^2) and the class token is 0 at first
[Dosovitskiy et al. 2021].
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.protocol import Tap, untouched
from grokbook.models.fast import Linear
from grokbook.models.transformer import Block, Layout

SIZE, PATCH = 32, 4  # pixels of a side


class ViT(nn.Module):
    """Maps images (batch, 3, 32, 32) to logits (batch, classes); 9.5 million weights.

    ``sizes`` may give ``width``, ``depth`` and ``heads`` other than the published 256,
    12 and 8, and ``hidden`` is the width of the MLPs. Another field of ``Layout`` is
    not refused, but may be without effect. The taps are those of ``Transformer``, where
    position 0 is that of the class token.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type

    def __init__(self, classes: int, *, hidden: int = 1024, **sizes: int):
        super().__init__()
        settings: dict[str, Any] = {"width": 256, "depth": 12, "heads": 8} | sizes
        layout = Layout(
            vocabulary=0,  # a patch holds pixels, not a token
            norms=("query_key", "value", "mlp"),
            hidden=(hidden,),
            joint=True,
            bias=True,
            activation="gelu",
            **settings,
        )
        width = layout.width
        self.class_token = nn.Parameter(torch.zeros(width))
        position_count = 1 + (SIZE // PATCH) ** 2
        self.position = nn.Parameter(0.02 * torch.randn(position_count, width))
        self.embedding = Linear(3 * PATCH**2, width)
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(layout.depth))
        taps = (name for block in self.blocks for name in block.places)
        self.places = (*taps, "features")
        self.norm = layout.new_norm(width)
        self.head = Linear(width, classes)

    def forward(self, x: Tensor, tap: Tap | None = None) -> Tensor:
        """Return logits (batch, classes) of images x (batch, 3, 32, 32).

        ``tap(name, x)`` is called at each name in ``self.places``, such as
        "residual.0" with x (batch, 65, width), and may return another x.
        """
        # (batch, patches, colours and pixels), in the order of a convolution's weight
        x = F.unfold(x, PATCH, stride=PATCH).transpose(1, 2).contiguous()
        class_token = self.class_token.expand(x.shape[0], 1, -1)
        x = torch.cat([class_token, self.embedding(x)], 1) + self.position
        for block in self.blocks:
            x = block(x, 0, tap or untouched)  # from position 0 on: all
        # the class token alone is read
        return self.head((tap or untouched)("features", self.norm(x[:, 0])))
