"""Shortcuts: faster ways to compute what the textbook forms of the networks compute.

Each equals the plain form up to the order of summation, in every derivative, and
`claimbook.protocol.switched` switches them on and off: ``now`` has their state. None
with a derivative that is written by hand is used in forward mode, where torch makes it
0. Versions of the libraries differ in the order of summation too, so a record names
those that it was made with.
"""

import math
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from claimbook.protocol import now
from grokbook import losses

# On a GPU a product with one-hots is faster than a scatter while a table has few rows.
# Looking scores up in a table of all pairs of tokens is faster than computing them for
# every sample while the vocabulary is small.
_ONE_HOT_ROWS = _TABLE_TOKENS = 1024
# Wider inputs, such as images, come first in oneDNN's gradient of a weight. There its
# kernels for AVX2 take half the time so, for the same bits; no others were measured.
_HAS_AVX2 = torch.backends.cpu.get_cpu_capability() == "AVX2"
_WIDE_INPUTS = 512 if _HAS_AVX2 else math.inf


def _onednn_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W^T + b by oneDNN, without a gradient.

    x is (..., in), ``weight`` (out, in) and ``bias`` (out,) or None; the result is
    (..., out).
    """
    # an internal operator of PyTorch, which its wheels contain
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class _OneDNNLinear(torch.autograd.Function):
    """x W^T + b by oneDNN: x (..., in), W (out, in), b (out,) or None.

    The derivatives are products by oneDNN too, and can be differentiated again. Under
    ``torch.func.vmap`` it is torch's own product, of all members at once.
    """

    @staticmethod
    def forward(x, weight, bias):
        return _onednn_product(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, _output):
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, grad):
        # dx = g W, dW = g^T x and db = the sum of g over rows, of g (..., out)
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        # product(a, b, None) is a b^T; gradients are on if this derivative is to be
        # differentiated
        product = _OneDNNLinear.apply if torch.is_grad_enabled() else _onednn_product
        grad_rows = grad.reshape(-1, grad.shape[-1])
        grad_x = product(grad, weight.T, None) if need_x else None
        grad_weight = None
        if need_weight:
            # one position of a sequence is a view on which oneDNN is 200 times slower
            x_rows = x.reshape(-1, x.shape[-1]).contiguous()
            # with the wider factor second it is up to 20 % faster, but for wide inputs
            is_wide = x_rows.shape[-1] > _WIDE_INPUTS
            if is_wide or grad_rows.shape[-1] > x_rows.shape[-1]:
                # (in, out), turned to the weight's (out, in)
                grad_weight = product(x_rows.T, grad_rows.T, None).T
            else:
                grad_weight = product(grad_rows.T, x_rows.T, None)
        grad_bias = grad_rows.sum(0) if need_bias else None
        return grad_x, grad_weight, grad_bias

    @staticmethod
    def vmap(_info, in_dims, x, weight, bias):
        # 0 is the dimension of the members in the result
        return torch.vmap(F.linear, in_dims)(x, weight, bias), 0


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b (..., out) for x (..., in), weight (out, in) and bias (out,).

    Without a bias it is x W^T. oneDNN computes the product of float32 tensors on a CPU
    if it is switched on, by `claimbook.protocol.switched`, and not in forward mode.
    PyTorch itself leaves such products to MKL.
    """
    is_supported = x.dtype == torch.float32 and x.device.type == "cpu"
    is_wanted = now.shortcuts and now.onednn and not losses.is_forward_mode()
    if is_supported and is_wanted:
        return _OneDNNLinear.apply(x, weight, bias)
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """torch.nn.Linear whose product goes through ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class _Gather(torch.autograd.Function):
    """table[index], with a gradient that adds repeated rows in a fixed order.

    table is (rows, width), and index (n,).
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(table, index):
        if losses.on_gpu(table):
            return table[index]
        return table.index_select(0, index)  # two to three times as fast on a CPU

    @staticmethod
    def setup_context(ctx, inputs, _output):
        table, index = inputs
        ctx.save_for_backward(index)
        ctx.row_count = table.shape[0]

    @staticmethod
    def backward(ctx, grad):
        # row r of the table's gradient is the sum of grad[n] over n with index[n] = r
        (index,) = ctx.saved_tensors
        if losses.on_gpu(grad) and ctx.row_count <= _ONE_HOT_ROWS:
            every_row = torch.arange(ctx.row_count, device=index.device)
            one_hot = index[:, None] == every_row  # (n, rows)
            return one_hot.to(grad.dtype).T @ grad, None
        zeros = grad.new_zeros(ctx.row_count, grad.shape[-1])
        # on a GPU index_add has no fixed order, and under vmap would take the members
        # one by one; index_put sorts
        if losses.on_gpu(grad):
            return zeros.index_put((index,), grad, accumulate=True), None
        return zeros.index_add(0, index, grad), None


def gather(table: Tensor, index: Tensor) -> Tensor:
    """Return rows of a table (rows, width) by an index (n,): (n, width).

    ``index`` counts from 0 and may not be negative, which is not checked. The backward
    pass adds up the gradients of repeated rows deterministically.
    """
    if now.shortcuts and not losses.is_forward_mode():
        return _Gather.apply(table, index)
    return table[index]


def embedding(table: Tensor, tokens: Tensor) -> Tensor:
    """Return rows of a table (vocabulary, width) by tokens (batch, positions).

    The result is (batch, positions, width). On a GPU PyTorch's own gradient sorts, so
    `gather` takes its place; on a CPU both add in the same order, so PyTorch's stays.
    """
    if losses.on_gpu(table) and now.shortcuts:
        return gather(table, tokens.flatten()).unflatten(0, tokens.shape)
    return F.embedding(tokens, table)


class _GatherSum(_Gather):
    """``gather_sum`` for one network on a CPU, in one pass over the sums.

    The table is (rows, width), the index (n, terms). It is four times as fast as the
    sum of gathers, and equal to it bit for bit where no row of the table stands in two
    columns of the index. The backward pass reads what ``_Gather`` saves for its own.
    Under ``torch.func.vmap``, for a stack, it is the sum of gathers.
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(table, index):
        # a bag is a row of the index
        return F.embedding_bag(index, table, mode="sum")

    @staticmethod
    def backward(ctx, grad):
        # index (n, terms): the row of each term gets grad (n, width)
        (index,) = ctx.saved_tensors
        grad_table = grad.new_zeros(ctx.row_count, grad.shape[-1])
        for column in index.unbind(1):
            grad_table = grad_table.index_add(0, column, grad)
        return grad_table, None

    @staticmethod
    def vmap(_info, in_dims, table, index):
        # 0 is the dimension of the members in the result
        return torch.vmap(_sum_of_gathers, in_dims)(table, index), 0


def _sum_of_gathers(table: Tensor, index: Tensor) -> Tensor:
    """Return ``gather_sum`` term by term, for a stack, a GPU and any dtype.

    ``table`` is (rows, width) and ``index`` (n, terms), with one term at least.
    """
    terms = (gather(table, column) for column in index.unbind(1))  # each (n, width)
    return reduce(torch.add, terms)


def gather_sum(table: Tensor, index: Tensor) -> Tensor:
    """Return sums (n, width) of the rows of a table that an index (n, terms) names.

    ``table`` is (rows, width), and there is one term at least. Terms are added from
    left to right. A linear layer on concatenated one-hots is such a sum of columns of
    its weight, which are the rows of the weight's transpose.
    """
    # a bag of float16 or bfloat16 numbers would be added up in float32
    is_supported = table.dtype in (torch.float32, torch.float64)
    is_wanted = now.shortcuts and not losses.is_forward_mode()
    if is_supported and is_wanted and not losses.on_gpu(table):
        return _GatherSum.apply(table, index)
    return _sum_of_gathers(table, index)


def last_position(model: Any, tokens: Tensor) -> Tensor:
    """Return the output of the last block at the last position: (batch, width).

    ``model`` is a ``Transformer`` and ``tokens`` are (batch, positions). The last block
    computes the last position only, of all positions of the block before. The input of
    the first block depends on position and token alone, so if the layout allows it that
    block works on a table of all such pairs.
    """
    position_count = tokens.shape[-1]
    last_index = position_count - 1
    first_block, *later_blocks = model.blocks
    if _takes_tables(model.layout):
        # (positions, vocabulary, width)
        table = model.embedding.expand(position_count, -1, -1)
        if model.position is not None:
            table = table + model.position[:position_count, None]
        # an only block is the last
        first_position = 0 if later_blocks else last_index
        x = _block_on_table(first_block, table, tokens, first_position)
    else:
        x = model.embed(tokens)
        later_blocks = model.blocks  # none has been computed yet
    for block in later_blocks:
        # its second argument is the first position that it computes
        x = block(x, last_index if block is model.blocks[-1] else 0)
    return x[:, -1]


def _takes_tables(layout: Any) -> bool:
    """Return whether a transformer's first block can work on a table.

    It is one of all pairs of position and token, as in ``_block_on_table``, which has
    no code for joint, rotary, normed or StableMax attention.
    """
    is_special = layout.joint or layout.rotary or layout.query_key_norm
    is_plain = layout.attention == "softmax" and not is_special
    # Dropout of the embedding differs between samples, which share the table. A block
    # with several queries has to draw its dropout of attention for all of them at once.
    has_own_masks = layout.depth > 1 or "embedding" in layout.dropout_at
    is_small = layout.vocabulary <= _TABLE_TOKENS
    return is_plain and is_small and not (layout.dropout and has_own_masks)


def _block_on_table(
    block: Any, table: Tensor, tokens: Tensor, first_position: int
) -> Tensor:
    """Return the output of a first block at ``first_position`` and later ones.

    ``table`` (positions, vocabulary, width) holds the input of the block for every
    position and token; ``tokens`` are (batch, positions). The result is (batch,
    positions - first_position, width).
    """
    attention = block.attention
    position_count = len(table)
    table_qk, table_v = block.norm("query_key", table), block.norm("value", table)
    heads = (attention.heads, -1)  # the last dimension becomes (heads, head width)
    # (positions, vocabulary, heads, head width), of queries those that are asked for
    queries = attention.query(table_qk[first_position:]).unflatten(-1, heads)
    keys = attention.key(table_qk).unflatten(-1, heads)
    values = [  # for each position (batch, heads, head width)
        gather(rows, column).unflatten(-1, heads)
        for rows, column in zip(attention.value(table_v), tokens.unbind(1), strict=True)
    ]
    score = _scores_by_pair(queries, keys, tokens)
    means = []  # of the values, weighted by attention, for each query
    for q in range(first_position, position_count):
        positions_seen = range(q + 1 if attention.causal else position_count)
        scores = [score(q - first_position, k) for k in positions_seen]
        # (positions, batch, heads): long rows for the softmax, no tiny products
        weights = (torch.stack(scores) * attention.scale).softmax(0)
        # a causal query has no weights for the values of later positions, so the zip
        # ends before them
        pairs = zip(attention.dropout(weights), values, strict=False)
        terms = (weight[..., None] * value for weight, value in pairs)
        means.append(reduce(torch.add, terms).flatten(-2))  # (batch, width)
    attended = attention.output(torch.stack(means, 1))
    # the input of the block at the same positions, each (batch, width)
    residual = [
        gather(table[k], tokens[:, k]) for k in range(first_position, position_count)
    ]
    return block.finish(torch.stack(residual, 1), attended)


def _scores_by_pair(queries: Tensor, keys: Tensor, tokens: Tensor) -> Any:
    """Return a function (q, k) -> scores (batch, heads) of the q-th query and k-th key.

    ``queries`` and ``keys`` are (positions, vocabulary, heads, head width), the queries
    those of the last positions, and ``tokens`` (batch, positions). Scores are inner
    products, not scaled yet. A score depends on two positions and their tokens only. So
    on a CPU it is computed for all pairs of tokens and looked up for each sample. On a
    GPU the gradient of such a table, with a row for each pair, would be a scatter that
    sorts, and each sample's own queries and keys are multiplied there.
    """
    vocabulary = queries.shape[1]
    # of each position the tokens (batch,)
    query_tokens, key_tokens = tokens.unbind(1)[-len(queries) :], tokens.unbind(1)

    def score_from_table(q: int, k: int) -> Tensor:
        """Return scores (batch, heads) of the q-th query and the key at position k.

        Queries are counted from the first that is asked for. Scores are looked up among
        those of all pairs of tokens. ``queries``, ``keys``, their tokens and
        ``vocabulary`` are those of `_scores_by_pair`.
        """
        # (query tokens, key tokens, heads)
        pair_scores = torch.einsum("ahd,bhd->abh", queries[q], keys[k])
        # the row of each sample's pair in the flattened table
        pair_index = query_tokens[q] * vocabulary + key_tokens[k]
        return gather(pair_scores.flatten(0, 1), pair_index)

    if not losses.on_gpu(queries):
        return score_from_table

    def rows_of_samples(tables: Tensor, columns: Any) -> list[Tensor]:
        """Return for each position the rows (batch, heads, head width) of its table.

        ``tables`` are (positions, vocabulary, heads, head width), and ``columns`` has
        for each position the tokens (batch,) of the samples.
        """
        pairs = zip(tables, columns, strict=True)
        rows = [gather(table.flatten(1), column) for table, column in pairs]
        return [row.unflatten(-1, tables.shape[2:]) for row in rows]

    own_queries = rows_of_samples(queries, query_tokens)
    own_keys = rows_of_samples(keys, key_tokens)
    return lambda q, k: (own_queries[q] * own_keys[k]).sum(-1)
