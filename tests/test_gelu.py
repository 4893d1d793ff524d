"""Which activation made the published curves of Singh et al. 2026: GELU, not ReLU.

Their Table 2 says ReLU, and the code had GELU as its default when the logs were made.
Initial losses of other seeds cannot tell the two apart, those of the same seeds can:
the official start, remade here and put into our network, has the logged losses to one
part in a million with GELU, before the first update and after it. With ReLU the first
loss is more than a hundred times as far away.
"""

import math
from dataclasses import replace
from functools import cache
from statistics import mean

import pytest
import torch
from philox import CudaGenerator
from torch import Tensor, nn

from grokbook import evidence, papers
from grokbook.engine.learner import Learner
from grokbook.experiment import Spec

SEEDS = (456, 789, 111, 222, 333)
ARMS = {"M": "fig02", "M+A*": "fig02", "A*": "fig02", "No LN": "fig02", "A^v": "fig03"}
EQUAL = 1e-6  # relative; the log has float32 losses of a GPU
STATS = ["value", "low", "high"]  # mean, smallest and largest of the seeds


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
