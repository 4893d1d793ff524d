"""GPT-2 of Radford et al. 2019, the language model of Prieto et al., Table 1.

Pre-norm blocks, learned positions, GELU in its tanh form, and an unembedding that is
the embedding. Weights start as N(0, 0.02^2), those that write into the residual stream
smaller by sqrt(2 depth), biases at 0. The default sizes are GPT-2 small, 124 million.

``attention="stablemax"`` puts s(x) of StableMax in place of exp(x) in the attention:
s(q k / sqrt d) over its sum, positions ahead left out.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook import kernels
from grokbook.losses import stablemax_transform
from grokbook.models import Linear


class CausalAttention(nn.Module):
    """Multi-head attention to this and earlier positions."""

    def __init__(self, width: int, heads: int, dropout: float, kind: str):
        super().__init__()
        self.heads, self.stable = heads, kind == "stablemax"
        self.inputs, self.output = Linear(width, 3 * width), Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, positions, width) -> the same shape."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.inputs(x).chunk(3, -1)
        )  # each (batch, heads, positions, head width)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        if self.stable:
            weights = stablemax_transform(scores).masked_fill(ahead, 0)
            weights = weights / weights.sum(-1, keepdim=True)
        else:
            weights = scores.masked_fill(ahead, -math.inf).softmax(-1)
        mixed = self.dropout(weights) @ value
        return self.output(mixed.transpose(1, 2).flatten(-2))


class GPTBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, width: int, heads: int, dropout: float, attention: str):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads, dropout, attention)
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.dropout(self.down(hidden))


class GPT2(nn.Module):
    """Tokens (batch, length) int64 -> logits of the next (batch, length, tokens)."""

    def __init__(
        self,
        vocabulary: int = 50_257,
        *,
        positions: int = 1024,
        width: int = 768,
        heads: int = 12,
        depth: int = 12,
        dropout: float = 0.1,
        attention: str = "softmax",
    ):
        super().__init__()
        if attention not in ("softmax", "stablemax"):
            raise ValueError(
                f"unknown attention {attention!r}: use 'softmax' or 'stablemax'"
            )
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(positions, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            GPTBlock(width, heads, dropout, attention) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                writes = name.endswith(("attention.output.weight", "down.weight"))
                std = 0.02 / math.sqrt(2 * depth) if writes else 0.02
                nn.init.normal_(parameter, std=std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor, capture: dict | None = None) -> Tensor:
        where = torch.arange(tokens.shape[-1], device=tokens.device)
        x = self.dropout(self.embedding(tokens) + self.position(where))
        for block in self.blocks:
            x = block(x)
        features = self.norm(x)
        if capture is not None:
            capture["features"] = features
        return kernels.linear(features, self.embedding.weight)
