"""Draws of PyTorch's CUDA generator, remade on a CPU for tensors of moderate size.

Code that draws its start on a GPU has a start that no CPU draws. torch gives every
thread of a kernel a counter of its own in Philox 4x32-10 [Salmon et al. 2011], with the
seed as key. Up to 65,536 entries, on any GPU of at least 32 multiprocessors, thread i
makes entry i from its first four words, and every kernel moves the counters by one.
"""

import math

import numpy as np
import torch
from torch import Tensor

MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
LARGEST = 65_536  # entries: beyond, a thread may make several


class CudaGenerator:
    """What ``torch.cuda.manual_seed(seed)`` starts, for `normal` and `truncated`."""

    def __init__(self, seed: int):
        self.seed, self.calls = seed, 0

    def normal(self, *shape: int, std: float) -> Tensor:
        """Entries of N(0, std^2), by curand's Box-Muller: the sine of each pair."""
        x, y = (word.astype(np.float32) for word in self._words(shape)[:2])
        step = np.float32(2**-32)
        u, angle = x * step + step / 2, (y * step + step / 2) * np.float32(math.tau)
        drawn = np.sqrt(np.float32(-2) * np.log(u)) * np.sin(angle)
        return std * torch.from_numpy(drawn).view(shape)

    def truncated(self, *shape: int, std: float) -> Tensor:
        """``nn.init.trunc_normal_`` at two standard deviations: erfinv of a uniform."""
        step = np.float32(2**-32)
        u = torch.from_numpy(self._words(shape)[0].astype(np.float32) * step + step / 2)
        u = torch.where(u == 1, 0.0, u)
        end = math.erf(math.sqrt(2))  # 2 Phi(2) - 1
        drawn = (u * (2 * end) - end).erfinv() * (std * math.sqrt(2))
        return drawn.clamp(-2 * std, 2 * std).view(shape)

    def _words(self, shape: tuple[int, ...]) -> list[np.ndarray]:
        """Four random words of 32 bits for each entry, flat."""
        entries = math.prod(shape)
        assert entries <= LARGEST
        thread = np.arange(entries, dtype=np.uint64)
        zero = np.zeros_like(thread)
        counter = [zero + np.uint64(self.calls), zero, thread, zero]
        key = [self.seed & 0xFFFFFFFF, self.seed >> 32]
        self.calls += 1
        for _ in range(10):
            low, high = (np.uint64(m) for m in MULTIPLIERS)
            first, second = low * counter[0], high * counter[2]
            mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
            one = (second >> half) ^ counter[1] ^ np.uint64(key[0])
            other = (first >> half) ^ counter[3] ^ np.uint64(key[1])
            counter = [one, second & mask, other, first & mask]
            key = [(k + w) & 0xFFFFFFFF for k, w in zip(key, WEYL, strict=True)]
        return counter
