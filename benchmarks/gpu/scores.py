"""Which form of a transformer's first scores is fastest on this GPU?

    python benchmarks/gpu/scores.py [cuda]

A score depends on two tokens. So it can be looked up in a table of all pairs, whose
gradient is a sorting scatter (``sorted``) or a product of two one-hots (``one-hot``),
or computed from each sample's own query and key (``direct``, as
`grokbook.models.fast` does on a GPU). Forward and backward pass of three keys and one
query, five members stacked, in a CUDA graph.
"""

import sys
import time
from functools import partial

import torch
from torch import Tensor
from torch.func import grad, vmap

from grokbook import losses
from grokbook.models.fast import gather

MEMBERS, HEADS, WIDTH, KEYS, CALLS = 5, 4, 32, 3, 50
SIZES = ((114, 3830), (98, 512))  # tokens and rows of a step: Singh, Liu Figure 7


def one_hot(index: Tensor, size: int, like: Tensor) -> Tensor:
    """Return (n, size), 1 at each index (n,) and else 0, in the dtype of ``like``."""
    return (index[:, None] == torch.arange(size, device=index.device)).to(like.dtype)


class _PairLookup(torch.autograd.Function):
    """table[i, j] for a table (tokens, tokens, heads), by products of one-hots."""

    generate_vmap_rule = True

    @staticmethod
    def forward(table, i, j):
        return table[i, j]

    @staticmethod
    def setup_context(ctx, inputs, _output):
        table, i, j = inputs
        ctx.save_for_backward(i, j)
        ctx.tokens = len(table)

    @staticmethod
    def backward(ctx, slopes):
        i, j = ctx.saved_tensors
        first, second = (one_hot(index, ctx.tokens, slopes) for index in (i, j))
        # for each head (tokens, n) times (n, tokens)
        weighted = first.T[None] * slopes.T[:, None]
        return (weighted @ second).permute(1, 2, 0), None, None


def sorted_scatter(query: Tensor, key: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Scores (n, heads) of tokens i and j, for tables (tokens, heads, width)."""
    table = torch.einsum("ahd,bhd->abh", query, key).flatten(0, 1)
    return table.index_select(0, i * len(key) + j)


def one_hots(query: Tensor, key: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The same scores."""
    return _PairLookup.apply(torch.einsum("ahd,bhd->abh", query, key), i, j)


def direct(query: Tensor, key: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The same scores."""
    rows = gather(query.flatten(1), i) * gather(key.flatten(1), j)
    return rows.unflatten(-1, query.shape[1:]).sum(-1)


FORMS = {"sorted": sorted_scatter, "one-hot": one_hots, "direct": direct}


def gradients(form, query: Tensor, keys: Tensor, tokens: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of a sum of all members' scores by query and keys."""

    def total(query: Tensor, keys: Tensor, tokens: Tensor) -> Tensor:
        every = [
            form(query, k, tokens[:, -1], tokens[:, p]) for p, k in enumerate(keys)
        ]
        return torch.stack(every).sin().sum()

    return vmap(grad(total, (0, 1)))(query, keys, tokens)


def milliseconds(function, device: str) -> float:
    """Return the time of a call; on a GPU it is captured first."""
    if device == "cpu":
        began = time.perf_counter()
        function()
        return 1000 * (time.perf_counter() - began)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            function()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(CALLS):
            graph.replay()
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - began) / CALLS


def main(device: str = "cuda") -> None:
    """Print a line for each size and form; say so if a form gives other gradients."""
    losses.on_gpu = lambda _: True
    torch.use_deterministic_algorithms(True, warn_only=True)
    for tokens, rows in SIZES:
        torch.manual_seed(0)
        shape = (MEMBERS, tokens, HEADS, WIDTH)
        query = torch.randn(shape, device=device)
        keys = torch.randn(MEMBERS, KEYS, *shape[1:], device=device)
        x = torch.randint(tokens, (MEMBERS, rows, KEYS), device=device)
        expected = None
        for name, form in FORMS.items():
            call = partial(gradients, form, query, keys, x)
            found = call()
            expected = expected or found
            pairs = zip(found, expected, strict=True)
            off = max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)
            spent = milliseconds(call, device)
            alike = "" if off < 1e-4 else f" NOT ALIKE, by {off:.0e}"
            print(f"{tokens} tokens, {rows} rows, {name}: {spent:.3f} ms{alike}")


if __name__ == "__main__":
    main(*sys.argv[1:])
