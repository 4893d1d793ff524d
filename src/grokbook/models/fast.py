"""The shortcuts: other ways to compute what the textbook forms say.

Each equals the plain form up to the order of summation, in every derivative, and
`claimbook.protocol.switched` switches them. The libraries sum in another order too, so
a record names its own.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.protocol import now
from grokbook import losses

# A one-hot matmul beats a scatter on a GPU as long as the table is small, and a table
# of the scores of all pairs of tokens a product as long as they are few.
_ONE_HOT_ROWS = _TABLE_TOKENS = 1024


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    # an operator internal to PyTorch, in the same wheel
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class _OneDNNLinear(torch.autograd.Function):
    """x W^T + b, whose derivatives are such products again and so have their own."""

    @staticmethod
    def forward(x, weight, bias):
        return _by_onednn(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, _output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        product = _OneDNNLinear.apply if torch.is_grad_enabled() else _by_onednn
        rows = grad.reshape(-1, grad.shape[-1])
        grad_x = product(grad, weight.T, None) if need_x else None
        grad_weight = None
        if need_weight:  # the order with the wider factor second is up to 20 % faster
            # one position of a sequence is a view on which oneDNN is 200 times slower
            inputs = x.reshape(-1, x.shape[-1]).contiguous()
            if rows.shape[-1] > inputs.shape[-1]:
                grad_weight = product(inputs.T, rows.T, None).T
            else:
                grad_weight = product(rows.T, inputs.T, None)
        return grad_x, grad_weight, rows.sum(0) if need_bias else None

    @staticmethod
    def vmap(_info, in_dims, x, weight, bias):
        return torch.vmap(F.linear, in_dims)(x, weight, bias), 0


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b, of float32 on a CPU by oneDNN where it is `switched` on.

    PyTorch gives it to MKL, which takes a slower path on CPUs that are not Intel's.
    """
    takes = x.dtype == torch.float32 and x.device.type == "cpu"
    by_onednn = takes and now.shortcuts and now.onednn
    return (_OneDNNLinear.apply if by_onednn else F.linear)(x, weight, bias)


class Linear(nn.Linear):
    """torch.nn.Linear whose product goes through ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class _Gather(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(table, index):
        return table[index]

    @staticmethod
    def setup_context(ctx, inputs, _output):
        ctx.save_for_backward(inputs[1])
        ctx.rows = inputs[0].shape[0]

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        if losses.on_gpu(grad) and ctx.rows <= _ONE_HOT_ROWS:
            one_hot = index[:, None] == torch.arange(ctx.rows, device=index.device)
            return one_hot.to(grad.dtype).T @ grad, None
        zeros = grad.new_zeros(ctx.rows, grad.shape[-1])
        if losses.on_gpu(grad):  # by sorting; index_add would take members one by one
            return zeros.index_put((index,), grad, accumulate=True), None
        return zeros.index_add(0, index, grad), None


def gather(table: Tensor, index: Tensor) -> Tensor:
    """Rows (n, width) of a table, added up on the way back deterministically."""
    return _Gather.apply(table, index) if now.shortcuts else table[index]


def gather_sum(table: Tensor, index: Tensor) -> Tensor:
    """Sums of rows of a table, from left to right, by an index (n, terms).

    A linear layer on concatenated one-hots is such a sum of weight columns.
    """
    first, *rest = (gather(table, column) for column in index.unbind(1))
    return sum(rest, first)


def last_position(model: Any, tokens: Tensor) -> Tensor:
    """What a Transformer's last block writes at the last position: (batch, width).

    What the first block reads depends on (position, token) alone: it is looked up.
    """
    end = tokens.shape[-1] - 1
    first, *rest = model.blocks
    if _takes_tables(model.layout):
        rows = model.embedding.expand(end + 1, -1, -1)
        if model.position is not None:
            rows = rows + model.position[: end + 1, None]
        x = _block_on_table(first, rows, tokens, 0 if rest else end)
    else:
        x, rest = model.embed(tokens), model.blocks
    for block in rest:
        x = block(x, end if block is model.blocks[-1] else 0)
    return x[:, -1]


def _takes_tables(layout: Any) -> bool:
    own = layout.joint or layout.rotary or layout.query_key_norm
    is_plain = layout.attention == "softmax" and not own
    # a mask is a sample's own, and in a layer of several queries it is one for all
    is_masked = layout.depth > 1 or "embedding" in layout.dropout_at
    is_small = layout.vocabulary <= _TABLE_TOKENS
    return is_plain and is_small and not (layout.dropout and is_masked)


def _block_on_table(block: Any, rows: Tensor, tokens: Tensor, first: int) -> Tensor:
    """A first block on the distinct (position, token) rows of its input.

    rows (positions, vocabulary, width), tokens (batch, positions) -> (batch, positions
    - first, width). A score depends on two tokens only: it is looked up too.
    """
    attention, (positions, vocabulary, _) = block.attention, rows.shape
    rows_qk, rows_v = block.norm("query_key", rows), block.norm("value", rows)
    heads = (attention.heads, -1)
    query = attention.query(rows_qk[first:]).unflatten(-1, heads)
    key = attention.key(rows_qk).unflatten(-1, heads)
    values = [
        gather(table, column).unflatten(-1, heads)
        for table, column in zip(attention.value(rows_v), tokens.unbind(1), strict=True)
    ]
    mixed = []
    for q in range(first, positions):
        scores = []
        for k in range(q + 1 if attention.causal else positions):
            pairs = torch.einsum("ahd,bhd->abh", query[q - first], key[k])
            pair = tokens[:, q] * vocabulary + tokens[:, k]
            scores.append(gather(pairs.flatten(0, 1), pair))
        # (positions, batch, heads): long rows for the softmax, no tiny products
        weights = (torch.stack(scores) * attention.scale).softmax(0)
        parts = zip(attention.dropout(weights), values, strict=False)
        first_part, *further = (w[..., None] * v for w, v in parts)
        mixed.append(sum(further, first_part).flatten(-2))
    attended = attention.output(torch.stack(mixed, 1))
    residual = [gather(rows[k], tokens[:, k]) for k in range(first, positions)]
    return block.finish(torch.stack(residual, 1), attended)
