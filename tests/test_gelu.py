"""Which activation made the published curves of Singh et al. 2026: GELU, not ReLU.

Their Table 2 says ReLU, and the code had GELU as its default when the logs were made.
Initial losses of other seeds cannot tell the two apart, those of the same seeds can:
the official start, remade here and put into our network, has the logged losses to one
part in a million with GELU, before the first update and after it. With ReLU the first
loss is more than a hundred times as far away.

Our experiments draw from the same distributions, but from the CPU's generator alone and
after the split, so that their starts are others.
"""

import math
from dataclasses import replace

import pytest
import torch
from pandas import DataFrame, Series
from philox import CudaGenerator
from torch import Tensor, nn

from grokbook import evidence, papers
from grokbook.engine import build
from grokbook.engine.learner import Learner
from grokbook.experiment import Spec

SEEDS = (456, 789, 111, 222, 333)
ARMS = {"M": "fig02", "M+A*": "fig02", "A*": "fig02", "No LN": "fig02", "A^v": "fig03"}
EQUAL = 1e-6  # relative; the log has float32 losses of a GPU
STATS = {"value": "mean", "low": "min", "high": "max"}


def official_start(seed: int, width: int = 128, tokens: int = 114) -> dict[str, Tensor]:
    """Weights as the official code draws them, by the names of our network.

    Its modules are built on the CPU: the embedding, drawn again later, the positions,
    and the one matrix of query, key and value. Moved to the GPU, embedding, attention
    output, both layers of the MLP and unembedding are drawn in this order. The layers
    built in between are all drawn later than what is kept here.
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
    learner = build.learner([(arm, seed)])
    with torch.no_grad():
        for place, weights in official_start(seed).items():
            learner.params[place].copy_(weights)
    return learner


def first_losses(name: str, seed: int) -> dict[str, float]:
    """With GELU: train loss before the first update, test loss after it."""
    learner = begun(name, "gelu", seed)
    train_loss = float(learner.step())
    test_loss = float(learner.observe(["core"])["test_loss"])
    return {"train_loss": train_loss, "test_loss": test_loss}


@pytest.fixture(scope="module")
def gelu() -> dict[str, DataFrame]:
    """Of every variant the first losses, one row per seed."""
    return {name: DataFrame(first_losses(name, s) for s in SEEDS) for name in ARMS}


@pytest.fixture(scope="module")
def relu() -> dict[str, Series]:
    """Of every variant the first train loss, by seed."""
    return {
        name: Series([float(begun(name, "relu", seed).step()) for seed in SEEDS])
        for name in ARMS
    }


@pytest.fixture(scope="module")
def logged() -> DataFrame:
    """The authors' losses of the first epoch: mean, smallest and largest of 5 seeds."""
    table = evidence.reference("singh2026/first_epochs")
    return table[table.epoch == 1].set_index(["series", "quantity"])[list(STATS)]


@pytest.mark.parametrize("quantity", ["train_loss", "test_loss"])
@pytest.mark.parametrize("name", ARMS)
def test_gelu_has_the_logged_losses(name, quantity, gelu, logged):
    found = gelu[name][quantity].agg(list(STATS.values()))
    told = logged.loc[(name, quantity)]
    assert found.to_list() == pytest.approx(told.to_list(), rel=EQUAL)


@pytest.mark.parametrize("name", ARMS)
def test_relu_has_not(name, relu, logged):
    told = logged.loc[(name, "train_loss"), "value"]
    assert abs(relu[name].mean() - told) > 100 * EQUAL * told


@pytest.mark.parametrize("name", ARMS)
def test_the_table_for_the_pages_has_these(name, gelu, relu):
    table = evidence.reference("singh2026/gelu").set_index(["series", "stat"])
    for activation, losses in (("gelu", gelu[name].train_loss), ("relu", relu[name])):
        told = table.loc[(name, activation), list(STATS)]
        found = losses.agg(list(STATS.values()))
        assert found.to_list() == pytest.approx(told.to_list(), rel=EQUAL)
