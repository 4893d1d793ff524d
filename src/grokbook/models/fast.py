"""The shortcuts: other ways to compute what the textbook forms say, and their switch.

* ``linear`` hands float32 products of a CPU to oneDNN where asked to (``matmul``).
  PyTorch gives them to MKL, which takes a slower path on CPUs that are not Intel's.
  Both are true float32 while ``torch.get_float32_matmul_precision()`` is "highest".
* ``gather_sum``: a linear layer on concatenated one-hots is a sum of weight columns.
* ``last_position``: a transformer that is read at its last position needs only that
  one in its last block, and everything about the first block's input depends on
  (position, token) alone, so it is computed once per token and looked up.
* ``scaled``: a power of two on the way back, against subnormal numbers.

Each equals the plain form up to the order of summation, in every derivative; a test
holds that to 1e-12 in float64. ``off`` switches all but the last off, which a caller
asks for by name. The two libraries sum in another order too, so a record names its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grokbook.errors import choose

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from grokbook.shapes import Features, Table

_now = SimpleNamespace(enabled=True, library="torch")

# A one-hot matmul beats a scatter on a GPU as long as the table is small.
_ONE_HOT_ROWS = 1024
# Scores of all pairs of tokens are looked up as long as their table is small, and every
# pair of positions costs a handful of calls.
_TABLE_TOKENS, _TABLE_POSITIONS = 1024, 8


@contextmanager
def _switched(name: str, value: bool | str) -> Iterator[None]:
    before = getattr(_now, name)
    setattr(_now, name, value)
    try:
        yield
    finally:
        setattr(_now, name, before)


def enabled() -> bool:
    return _now.enabled


def off() -> AbstractContextManager[None]:
    """Everything in its plain form inside this context, oneDNN's products included."""
    return _switched("enabled", False)


def libraries() -> tuple[str, ...]:
    """Names of the matmul libraries of this PyTorch build, "torch" first."""
    return ("torch", "onednn") if _has_onednn() else ("torch",)


def library() -> str:
    """Name of the library that takes float32 products on a CPU."""
    return _now.library


def matmul(name: str) -> AbstractContextManager[None]:
    """Float32 products of a CPU go to this one of ``libraries()`` inside the context.

    UnknownName, a ValueError, for another.
    """
    return _switched("library", choose("matmul library", name, libraries()))


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    # an operator internal to PyTorch, in the same wheel
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


@cache
def _has_onednn() -> bool:
    try:
        _by_onednn(torch.ones(2, 3), torch.ones(4, 3), None)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return True


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


def linear(
    x: Float[Tensor, "*rows inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None = None,
) -> Float[Tensor, "*rows outputs"]:
    """x W^T + b, as torch.nn.functional.linear, by the library that was chosen."""
    takes = x.dtype == torch.float32 and x.device.type == "cpu"
    if takes and _now.enabled and _now.library == "onednn":
        return _OneDNNLinear.apply(x, weight, bias)
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """torch.nn.Linear whose product goes through ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def on_gpu(x: Tensor) -> bool:
    """Whether a tensor, mapped or not, lies there, where other forms are faster."""
    return x.device.type == "cuda"


class _Gather(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(table, index):
        return table[index]

    @staticmethod
    def setup_context(ctx, inputs, _output):
        table, index = inputs
        ctx.save_for_backward(index)
        ctx.rows = table.shape[0]

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        if on_gpu(grad) and ctx.rows <= _ONE_HOT_ROWS:
            one_hot = index[:, None] == torch.arange(ctx.rows, device=index.device)
            return one_hot.to(grad.dtype).T @ grad, None
        zeros = grad.new_zeros(ctx.rows, grad.shape[-1])
        if on_gpu(grad):  # index_add would take the members of a stack one by one
            return zeros.index_put((index,), grad, accumulate=True), None
        return zeros.index_add(0, index, grad), None


def gather(table: Table, index: Int[Tensor, " rows"]) -> Features:
    """Rows of a table, whose backward pass adds them up again deterministically.

    By ``index_add`` on a CPU; on a GPU, where atomic additions would not repeat, by a
    one-hot product or, for long tables, by sorting.
    """
    return _Gather.apply(table, index) if _now.enabled else table[index]


def gather_sum(table: Table, index: Int[Tensor, "rows terms"]) -> Features:
    """Sums of table rows, added from left to right: ``gather`` of each column."""
    total = gather(table, index[:, 0])
    for column in range(1, index.shape[1]):
        total = total + gather(table, index[:, column])
    return total


def scaled(x: Tensor, factor: float) -> Tensor:
    """x itself, whose gradient is multiplied by ``factor``; for one member on a CPU.

    Loss scaling [Micikevicius et al. 2018, section 3.2] after the loss has rounded its
    gradient. A power of two changes no bit of a backward pass, but that sums below the
    smallest normal number, 1.2e-38 in float32, are rounded later. The caller divides
    the gradients of the parameters again. RuntimeError where one is differentiated
    again, since parts of a second derivative would be scaled twice.
    """

    def multiply(grad: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            raise RuntimeError(
                f"create_graph=True on a gradient scaled by {factor:g}: leave "
                "fast.scaled out where second derivatives are taken"
            )
        return grad * factor

    view = x.view_as(x)
    if view.requires_grad:
        view.register_hook(multiply)
    return view


def last_position(
    model: Any, tokens: Int[Tensor, "batch positions"]
) -> Float[Tensor, "batch width"]:
    """What a Transformer's last block writes at the last position."""
    end = tokens.shape[-1] - 1
    first, *rest = model.blocks
    if _takes_tables(model, end + 1):
        rows = model.embedding.expand(end + 1, -1, -1)
        if model.position is not None:
            rows = rows + model.position[: end + 1, None]
        x = _block_on_table(first, rows, tokens, 0 if rest else end)
    else:
        x, rest = model.embed(tokens), model.blocks
    for block in rest:
        x = block(x, end if block is model.blocks[-1] else 0)
    return x[:, -1]


def _takes_tables(model: Any, positions: int) -> bool:
    layout, first = model.layout, model.blocks[0].attention
    has_plain_scores = layout.attention == "softmax" and not (
        layout.joint or layout.rotary or layout.query_key_norm
    )
    # a mask is a sample's own, and in a layer of several queries it is one for all
    has_masks = model.dropout.p > 0 or (len(model.blocks) > 1 and first.dropout.p > 0)
    is_small = layout.vocabulary <= _TABLE_TOKENS and positions <= _TABLE_POSITIONS
    return has_plain_scores and is_small and not has_masks


def _block_on_table(block: Any, rows: Tensor, tokens: Tensor, first: int) -> Tensor:
    """A first block on the distinct (position, token) rows of its input.

    rows (positions, vocabulary, width), tokens (batch, positions)
    -> (batch, positions - first, width).
    """
    inputs = block.norm("query_key", rows), block.norm("value", rows)
    attended = _attention_on_table(block.attention, *inputs, tokens, first)
    residual = [gather(rows[k], tokens[:, k]) for k in range(first, tokens.shape[1])]
    return block.finish(torch.stack(residual, 1), attended)


def _attention_on_table(
    attention: Any, rows_qk: Tensor, rows_v: Tensor, tokens: Tensor, first: int
) -> Tensor:
    # a score depends on two tokens only, so it is looked up among vocabulary^2 of them
    positions, vocabulary, _ = rows_qk.shape
    heads = (attention.heads, -1)
    query = attention.query(rows_qk[first:]).unflatten(-1, heads)
    key = attention.key(rows_qk).unflatten(-1, heads)
    values = [
        gather(rows, column).unflatten(-1, heads)
        for rows, column in zip(attention.value(rows_v), tokens.unbind(1), strict=True)
    ]
    mixed = []
    for q in range(first, positions):
        scores = []
        for k in range(q + 1 if attention.causal else positions):
            table = torch.einsum("ahd,bhd->abh", query[q - first], key[k])
            pair = tokens[:, q] * vocabulary + tokens[:, k]
            scores.append(gather(table.flatten(0, 1), pair))
        # (positions, batch, heads): long rows for the softmax, no tiny products
        weights = (torch.stack(scores) * attention.scale).softmax(0)
        weights = attention.dropout(weights)
        parts = [w[..., None] * v for w, v in zip(weights, values, strict=False)]
        mixed.append(sum(parts[1:], parts[0]).flatten(-2))
    return attention.output(torch.stack(mixed, 1))
