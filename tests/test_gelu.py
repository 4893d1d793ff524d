"""Which activation made the published curves of Singh et al. 2026: GELU, not ReLU.

Their Table 2 says ReLU, the code had GELU as its default. The official start, remade
here, has the logged losses to one part in a million with GELU, before and after the
first update; with ReLU the first loss is more than a hundred times as far away.
"""

import math
from dataclasses import replace
from functools import cache
from statistics import mean

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from claimbook import evidence, papers
from claimbook.engine.learner import Learner
from claimbook.experiment import Spec

# What is drawn on a GPU is drawn on no CPU. torch gives every thread of a kernel a
# counter of its own in Philox 4x32-10 [Salmon et al. 2011], with the seed as key. Up to
# 65,536 entries, on any GPU of at least 32 multiprocessors, thread i makes entry i from
# its first four words, and every kernel moves the counters by one.
MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
LARGEST = 65_536  # entries: beyond, a thread may make several
SEEDS = (456, 789, 111, 222, 333)
ARMS = {"M": "fig02", "M+A*": "fig02", "A*": "fig02", "No LN": "fig02", "A^v": "fig03"}
EQUAL = 1e-6  # relative; the log has float32 losses of a GPU
STATS = ["value", "low", "high"]  # mean, smallest and largest of the seeds


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


@cache
def official_start(seed: int, width: int = 128, tokens: int = 114) -> dict[str, Tensor]:
    """Weights as the official code draws them, by the names of our network.

    On the CPU: the embedding, drawn again later, the positions, and the one matrix of
    query, key and value. On the GPU, in this order: embedding, attention output, both
    layers of the MLP and unembedding.
    """
    torch.manual_seed(seed)
    nn.Embedding(tokens, width)
    position = torch.empty(3, width).normal_(std=0.02)
    attention = nn.MultiheadAttention(width, 4, bias=False)
    query, key, value = attention.in_proj_weight.detach().chunk(3)
    on_gpu, std = CudaGenerator(seed), 1 / math.sqrt(width)
    return {
        "position": position,
        "blocks.0.attention.query.weight": query,
        "blocks.0.attention.key.weight": key,
        "blocks.0.attention.value.weight": value,
        "embedding": on_gpu.normal(tokens, width, std=std),
        "blocks.0.attention.output.weight": on_gpu.truncated(width, width, std=std),
        "blocks.0.mlp.0.weight": on_gpu.truncated(4 * width, width, std=std),
        "blocks.0.mlp.1.weight": on_gpu.truncated(width, 4 * width, std=std / 2),
        "unembedding.weight": on_gpu.normal(width, tokens, std=std).T,
    }


def begun(name: str, activation: str, seed: int) -> Learner:
    """Our learner of a variant, at the official start."""
    arm = papers.get(f"singh2026/{ARMS[name]}", "paper").arm(name)
    options = arm.model.options | {"activation": activation}
    arm = replace(arm, model=Spec(arm.model.name, **options))
    learner = Learner([(arm, seed)])
    with torch.no_grad():
        for place, weights in official_start(seed).items():
            learner.params[place].copy_(weights)
    return learner


def test_gelu_has_the_logged_losses_and_relu_has_not():
    """Train loss before the first update, test loss after it; and the pages' table."""
    logged = evidence.reference("singh2026/first_epochs")
    logged = logged[logged.epoch == 1].set_index(["series", "quantity"])
    table = evidence.reference("singh2026/gelu").set_index(["series", "stat"])
    for name in ARMS:
        losses = {"gelu": [], "test": [], "relu": []}
        for seed in SEEDS:
            learner = begun(name, "gelu", seed)
            losses["gelu"].append(float(learner.step()))
            losses["test"].append(float(learner.observe(["core"])["test_loss"]))
            losses["relu"].append(float(begun(name, "relu", seed).step()))
        found = {kind: [mean(x), min(x), max(x)] for kind, x in losses.items()}
        told = logged.loc[(name, "train_loss"), STATS].to_list()
        assert found["gelu"] == pytest.approx(told, rel=EQUAL)
        assert abs(found["relu"][0] - told[0]) > 100 * EQUAL * told[0]
        told = logged.loc[(name, "test_loss"), STATS].to_list()
        assert found["test"] == pytest.approx(told, rel=EQUAL)
        for kind in ("gelu", "relu"):
            told = table.loc[(name, kind), STATS].to_list()
            assert found[kind] == pytest.approx(told, rel=EQUAL)
