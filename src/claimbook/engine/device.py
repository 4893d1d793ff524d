"""What a machine is asked for: a device, its matmul library, and captured graphs."""

import contextlib
import ctypes
import os
import platform
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from claimbook.errors import TrainingError, choose

WARM = 3  # steps before a capture: lazy initialisations must lie behind it


def choose_device(name: str = "auto") -> str:
    """Device to train on, cpu or cuda; TrainingError if it is not there."""
    choose("device", name, ("auto", "cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        told = "CUDA was asked for but PyTorch finds no GPU: use --device cpu, or"
        raise TrainingError(f"{told} install a PyTorch build for your GPU driver")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def library(device: str = "cpu") -> str:
    """The library of float32 products: on AMD's CPUs oneDNN, twice as fast as MKL."""
    if device == "cuda":
        return "cuBLAS"
    is_amd = _cpuinfo("vendor_id") == "AuthenticAMD"
    return "onednn" if is_amd and torch.backends.mkldnn.is_available() else "torch"


def prepare_cpu() -> None:
    """One thread, as two that wait for each other under load cost a factor 17.

    And no return of large blocks to the kernel after every step: 1.4 on glibc.
    """
    torch.set_num_threads(1)
    with contextlib.suppress(OSError, AttributeError):  # where there is no glibc
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


@cache
def prepare_gpu() -> None:
    """No TF32 (cuDNN has it on), repeatable scatters, a stream that can be captured."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore
    torch.cuda.set_stream(torch.cuda.Stream())


class Captured:
    """A function that only reads and writes tensors that stay where they are.

    On a GPU a CUDA graph after a few eager calls; where it cannot be, with a warning.
    """

    def __init__(self, function: Callable[[], Any], device: str):
        self.function, self.is_on, self.calls = function, device == "cuda", 0
        self.graph: Any = None
        self.result: Any = None

    def __call__(self) -> Any:
        self.calls += 1
        if self.is_on and self.calls == WARM + 1:
            self._capture()
        if self.graph is None:
            return self.function()
        self.graph.replay()
        return self.result

    def _capture(self) -> None:
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
                self.result = self.function()
            self.graph = graph
        except RuntimeError as error:  # what CUDA or torch objects to
            for one in torch.cuda.default_generators:  # they may wait for its end
                one.graphsafe_set_state(one.clone_state())
            for cause in (error, error.__context__):  # the end may fail as well
                if isinstance(cause, torch.OutOfMemoryError):  # to halve a stack
                    raise cause from None
            torch.cuda.synchronize()
            reason = str(error).partition("\n")[0]
            warnings.warn(f"steps run eagerly, which is slower: {reason}", stacklevel=2)


def describe(device: str) -> dict[str, Any]:
    """What a member was trained on, for its record."""
    gpu = torch.cuda.get_device_name() if device == "cuda" else ""
    return {
        "device": device,
        "device_name": gpu or _cpuinfo("model name") or platform.machine(),
        "matmul": library(device),
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
    }


@cache
def _cpuinfo(key: str) -> str:
    """What Linux says of the processor under a key; "" elsewhere."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return ""
