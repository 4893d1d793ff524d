"""Three exact building blocks that make full-batch training fast, and the CPU set-up.

* ``linear``: x W^T + b. PyTorch hands float32 products to MKL, which takes a slow path
  on CPUs that are not Intel's; oneDNN, in the same wheel, is about twice as fast there.
  Both are true float32. Which one runs is chosen by timing (``prepare_cpu``) and stays
  plain PyTorch until somebody asks.
* ``gather``: rows of a table. A linear layer on one-hot inputs is a sum of such rows,
  so multiplying by zeros is never needed.
* ``scale_gradient``: a power of two on the way back, which keeps the numbers of a
  backward pass out of the subnormal range, where a CPU is five times as slow.

Everything here equals the plain expression; only the order of summation differs.
"""

import ctypes
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

_backend = "torch"
# A one-hot matmul beats a scatter on a GPU as long as the table is small.
_ONE_HOT_ROWS = 1024


def backend() -> str:
    """Name of the float32 matmul backend in use: "torch" or "onednn"."""
    return _backend


def set_backend(name: str) -> None:
    """Choose the float32 matmul backend of this process; ValueError if unknown."""
    global _backend
    if name not in ("torch", "onednn"):
        raise ValueError(f"unknown matmul backend {name!r}: use 'torch' or 'onednn'")
    _backend = name


def on_gpu(x: Tensor) -> bool:
    """Whether a tensor, mapped or not, lies on a GPU, where other forms are faster."""
    return x.device.type == "cuda"


def prepare_cpu() -> str:
    """Set this process up for training on one CPU core; returns the backend chosen.

    One thread (two threads that wait for each other under load cost a factor 17), no
    return of large blocks to the kernel after every step (a factor 1.4 on glibc), and
    the faster of the two matmul backends on a 5107 x 200 x 200 product.
    """
    torch.set_num_threads(1)
    _keep_freed_memory()
    set_backend("onednn" if _onednn_is_faster() else "torch")
    return _backend


def _keep_freed_memory() -> None:
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # not glibc: nothing to set
        return
    mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def _onednn_is_faster() -> bool:
    if torch.get_float32_matmul_precision() != "highest":
        return False  # lower settings let oneDNN round its inputs to bfloat16
    x, weight = torch.randn(5107, 200), torch.randn(200, 200)
    try:
        ours = best_time(lambda: _onednn(x, weight, None), time.thread_time)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False  # the operator is internal to PyTorch and may be missing
    return ours < best_time(lambda: x @ weight.T, time.thread_time)


def best_time(
    function: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
    repeats: int = 5,
) -> float:
    """Least time of a few calls, in seconds of ``clock``.

    ``time.thread_time`` leaves out what other processes take of this thread's core.
    """
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def _onednn(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none"
) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "")


class _OneDNNLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, relu):
        out = _onednn(x, weight, bias, "relu" if relu else "none")
        ctx.save_for_backward(x, weight, out if relu else None)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, weight, out = ctx.saved_tensors
        need_x, need_weight, need_bias, _ = ctx.needs_input_grad
        if out is not None:
            grad = torch.ops.aten.threshold_backward(grad, out, 0)
        rows = grad.reshape(-1, grad.shape[-1])
        grad_x = _onednn(grad, weight.T, None) if need_x else None
        grad_weight = None
        if need_weight:  # the order with the wider factor second is up to 20 % faster
            # one position of a sequence is a view on which oneDNN is 200 times slower
            inputs = x.reshape(-1, x.shape[-1]).contiguous()
            if rows.shape[-1] > inputs.shape[-1]:
                grad_weight = _onednn(inputs.T, rows.T, None).T
            else:
                grad_weight = _onednn(rows.T, inputs.T, None)
        return grad_x, grad_weight, rows.sum(0) if need_bias else None, None


def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False
) -> Tensor:
    """x (..., in), weight (out, in), bias (out,) -> (..., out), as F.linear.

    ``relu`` clamps the result at 0, in the same pass where the backend can.
    """
    if _backend == "onednn" and x.dtype == torch.float32 and x.device.type == "cpu":
        return _OneDNNLinear.apply(x, weight, bias, relu)
    out = F.linear(x, weight, bias)
    return out.relu_() if relu else out


class _Gather(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(table, index):
        return table[index]

    @staticmethod
    def setup_context(ctx, inputs, output):
        table, index = inputs
        ctx.save_for_backward(index)
        ctx.rows = table.shape[0]

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        if on_gpu(grad) and ctx.rows <= _ONE_HOT_ROWS:
            one_hot = index[:, None] == torch.arange(ctx.rows, device=index.device)
            return one_hot.to(grad.dtype).T @ grad, None
        zeros = torch.zeros(
            ctx.rows, grad.shape[-1], dtype=grad.dtype, device=grad.device
        )
        if on_gpu(grad):  # index_add would take the members of a stack one by one
            return zeros.index_put((index,), grad, accumulate=True), None
        return zeros.index_add(0, index, grad), None


def gather(table: Tensor, index: Tensor) -> Tensor:
    """Rows of a table: table (rows, width), index (batch,) int64 -> (batch, width).

    The backward pass adds the rows up again, deterministically: by ``index_add`` on a
    CPU, on a GPU by a one-hot product or, for long tables, by sorting, since atomic
    additions would not repeat.
    """
    return _Gather.apply(table, index)


class _GatherSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.rows = table.shape[0]
        return F.embedding_bag(index, table, mode="sum")

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        total = torch.zeros(ctx.rows, grad.shape[-1], dtype=grad.dtype)
        for column in index.T:
            total.index_add_(0, column, grad)
        return total, None


def gather_sum(table: Tensor, index: Tensor) -> Tensor:
    """Sums of table rows: table (rows, width), index (batch, k) -> (batch, width).

    Equals ``gather`` of each column, added from left to right; in a CPU worker it is
    one pass over memory instead of k.
    """
    if _backend == "onednn" and table.device.type == "cpu":
        return _GatherSum.apply(table, index)
    total = gather(table, index[:, 0])
    for column in range(1, index.shape[1]):
        total += gather(table, index[:, column])
    return total


class _ScaleGradient(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """x itself, any shape, whose gradient is multiplied by ``factor``.

    At the logits this is loss scaling (Micikevicius et al. 2018, section 3.2), but
    after the loss has rounded its gradient, so that what a precision loses stays lost.
    A backward pass is linear: a power of two changes no bit of it, except that sums
    below the smallest normal number (1.2e-38 in float32) are rounded later.
    """
    return _ScaleGradient.apply(x, factor)
