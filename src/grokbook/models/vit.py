"""The vision transformer of Dosovitskiy et al. 2021, at the size for CIFAR-10.

    x_0 = [class token; patches W + b] + position
    y   = x + attention(norm x),   x' = y + mlp(norm y)             in every block
    logits = head(norm x_class)

Liu et al. 2026 (Figure 12) train it with patches of 4 x 4, width 256, 12 blocks and 8
heads; the MLPs of four times the width and the class token are inferred from their
"about 10 million" weights. The blocks are those of ``transformer``. The start is
PyTorch's for a linear layer, N(0, 0.02^2) for the positions and 0 for the class token,
as in Dosovitskiy et al. Mean pooling and dropout are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from grokbook.models.fast import Linear
from grokbook.models.taps import Tap, untouched
from grokbook.models.transformer import Block, Layout

if TYPE_CHECKING:
    from jaxtyping import Float

COLOURS = 3


class ViT(nn.Module):
    """Images (batch, 3, size, size) -> logits (batch, classes); 9.5 million weights.

    Squares of ``patch`` x ``patch`` pixels are the rows that ``depth`` blocks read;
    ``hidden`` is the width of their MLPs. ValueError for a ``size`` that patches do not
    fill, and for images of another size.

    Taps: those of ``Transformer``, position 0 being the class token's.
    """

    blocks: Any  # an nn.ModuleList of Block, whose elements have no type

    def __init__(
        self,
        classes: int,
        *,
        patch: int = 4,
        width: int = 256,
        depth: int = 12,
        heads: int = 8,
        hidden: int = 1024,
        size: int = 32,
    ):
        super().__init__()
        if size % patch:
            raise ValueError(f"patches of {patch} do not fill images of {size}")
        self.patch, self.size = patch, size
        positions = 1 + (size // patch) ** 2
        layout = Layout(
            vocabulary=0,  # no tokens: a position reads pixels
            width=width,
            heads=heads,
            hidden=(hidden,),
            norms=("query_key", "value", "mlp"),
            bias=True,
            activation="gelu",
            joint=True,
        )
        self.class_token = nn.Parameter(torch.zeros(width))
        self.position = nn.Parameter(0.02 * torch.randn(positions, width))
        self.embedding = Linear(COLOURS * patch**2, width)
        self.blocks = nn.ModuleList(Block(layout, k) for k in range(depth))
        self.norm = layout.new_norm()
        self.head = Linear(width, classes)

    def places(self) -> tuple[str, ...]:
        return (*(p for block in self.blocks for p in block.places()), "features")

    def patches(
        self, x: Float[Tensor, "batch 3 size size"]
    ) -> Float[Tensor, "batch patches pixels"]:
        """Squares row by row, each as a convolution's weight sees it: colours first."""
        if x.shape[-2:] != (self.size, self.size):
            given = f"images of {x.shape[-2]} x {x.shape[-1]}"
            raise ValueError(f"{given}, but this ViT has size={self.size}")
        cut = (-1, self.patch)
        x = x.unflatten(3, cut).unflatten(2, cut)  # (batch, 3, rows, p, columns, p)
        return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)

    def forward(
        self, x: Float[Tensor, "batch 3 size size"], tap: Tap | None = None
    ) -> Float[Tensor, "batch classes"]:
        tap = tap or untouched
        x = self.embedding(self.patches(x))
        first = self.class_token.expand(x.shape[0], 1, -1)
        x = torch.cat([first, x], 1) + self.position
        for block in self.blocks:
            x = block(x, 0, tap)
        return self.head(tap("features", self.norm(x[:, 0])))
