"""The parts of training that depend on the machine: device, libraries, CUDA graphs."""

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
from claimbook.experiment import DEVICES

WARM = 3  # eager calls before a capture, in which libraries initialise lazily


def choose_device(name: str = "auto") -> str:
    """Return the device to train on, "cpu" or "cuda", for one of ``DEVICES``.

    "auto" takes a GPU if there is one. Raises TrainingError if "cuda" is asked for and
    there is none, and UnknownName for another name.
    """
    choose("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            "CUDA was asked for but PyTorch finds no GPU: use --device cpu, or install "
            "a PyTorch build for your GPU driver"
        )
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def library(device: str = "cpu") -> str:
    """Return the name of the library that multiplies float32 matrices on a device.

    The name is "cuBLAS", "onednn", or "torch" for PyTorch's own choice. On AMD's CPUs
    it is oneDNN, whose kernels use AVX-512 if the CPU has it; on CPUs without AVX-512
    both libraries took the same time for three networks, to 4 % (benchmarks/README.md).
    """
    if device == "cuda":
        return "cuBLAS"
    is_amd = _cpuinfo("vendor_id") == "AuthenticAMD"  # only Linux says it
    return "onednn" if is_amd and torch.backends.mkldnn.is_available() else "torch"


def prepare_cpu() -> None:
    """Set up this process for training on a CPU.

    PyTorch uses one thread: two that wait for each other under load are 17 times
    slower. With glibc the process keeps freed memory, in blocks of up to 1 GiB: giving
    it back to the kernel after every step is 1.4 times slower.
    """
    torch.set_num_threads(1)
    with contextlib.suppress(OSError, AttributeError):  # where there is no glibc
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


@cache  # once, as each call would make another stream
def prepare_gpu() -> None:
    """Set up this process for training on a GPU.

    TF32 is turned off (cuDNN has it on), scatters become deterministic, and the current
    stream becomes one that can be captured.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # what has no such algorithm warns, and trains all the same
    torch.use_deterministic_algorithms(True, warn_only=True)
    # else every new tensor is filled with NaN first, which takes time
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore
    torch.cuda.set_stream(torch.cuda.Stream())


def is_gpu_shared() -> bool:
    """Return whether processes compute on the GPU at the same time, not in turns.

    They do so under NVIDIA's multi-process service, `nvidia-cuda-mps-control -d`, which
    has a file "control" in its folder while it runs.
    """
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return Path(folder, "control").exists()


class Captured:
    """A function without arguments whose calls on a GPU replay a CUDA graph of it.

    It must read and write only tensors that stay in the same memory. The first ``WARM``
    calls run it as it is; on any device but "cuda" all do. If it cannot be captured, a
    warning says why and it is run every time.
    """

    def __init__(self, function: Callable[[], Any], device: str):
        self.function = function
        self.is_on_gpu = device == "cuda"
        self.call_count = 0
        self.graph: Any = None  # of the function, once it is captured
        self.result: Any = None  # what the captured function returned

    def __call__(self) -> Any:
        """Run the function, or replay it, and return its result.

        Every replay returns the same tensors, which the next one overwrites.
        """
        self.call_count += 1
        if self.is_on_gpu and self.call_count == WARM + 1:
            self._capture()
        if self.graph is None:
            return self.function()
        self.graph.replay()
        return self.result

    def _capture(self) -> None:
        """Capture the graph, or warn that the function cannot be captured.

        A capture notes what the function does and computes nothing; the caller replays
        it. Raises OutOfMemoryError if it fails for want of GPU memory.
        """
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
                self.result = self.function()
            self.graph = graph
        except RuntimeError as error:  # what CUDA or torch objects to
            # generators may still wait for the end of the capture that has failed
            for generator in torch.cuda.default_generators:
                generator.graphsafe_set_state(generator.clone_state())
            # the end of a capture may fail as well, and hide what it failed for
            for cause in (error, error.__context__):
                if isinstance(cause, torch.OutOfMemoryError):  # a stack is halved then
                    raise cause from None
            torch.cuda.synchronize()
            reason = str(error).partition("\n")[0]
            warnings.warn(f"steps run eagerly, which is slower: {reason}", stacklevel=2)


def describe(device: str) -> dict[str, Any]:
    """Return what a member is trained on and with, for the metadata of its record.

    The entries are "device" ("cpu" or "cuda"), "device_name" (the processor's own),
    "matmul" (the `library`), and the versions "torch" and "python".
    """
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
    """Return the first value of a key in Linux's /proc/cpuinfo, such as "vendor_id".

    The file has each key once for every core. The value is "" if the key is missing,
    and on other systems.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return ""
