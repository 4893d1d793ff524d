"""MLP and transformer: torch's own layers as reference, published sizes and starts."""

import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from grokbook import models, papers
from grokbook.models import fast, transformer
from grokbook.models.taps import Recorder

PRIETO = Path(papers.__file__).parents[2] / "book" / "prieto2025" / "experiments.py"
OF_PAPER = SimpleNamespace(**runpy.run_path(str(PRIETO)))

P = 7
NO_NORM = {"classes": P, "vocabulary": P + 1, "width": 8, "heads": 2, "hidden": (16,)}
ENCODER = NO_NORM | {"norms": ("post_attention", "post_mlp"), "bias": True}
ENCODER |= {"learned_positions": False, "initialisation": "torch"}
SINGH = NO_NORM | {"positions": 3, "norm_eps": 0.0, "mlp_bias": True}
SINGH |= {"activation": "gelu", "initialisation": "lecun"}
FULL = SINGH | {"norms": ("query_key", "value", "mlp")}


def away(model):
    """In float64 and away from the start, where norms and biases are 1 and 0."""
    model = model.double()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def mlp(**options):
    torch.manual_seed(0)
    settings = {"vocabulary": P, "widths": (9, 5)} | options
    return away(models.MLP(P, **settings)), torch.randint(P, (40, 2))


def transformer_of(**options):
    torch.manual_seed(0)
    model = away(models.Transformer(**options))
    shape = 40, options.get("positions", 2)
    return model, torch.randint(options["vocabulary"], shape)


def close(ours, true):
    torch.testing.assert_close(ours, true, rtol=0, atol=1e-12)


def size(model):
    return sum(p.numel() for p in model.parameters())


def test_mlp_is_linear_layers_on_one_hots_with_taps():
    model, x = mlp()
    hidden = F.one_hot(x, P).flatten(1).double()
    for index, layer in enumerate(model.layers):
        hidden = hidden @ layer.weight.T + layer.bias
        hidden = hidden.relu() if index < 2 else hidden
    close(model(x), hidden)
    model, x = mlp()
    tap = Recorder()
    logits = model(x, tap)
    layers = ("pre.0", "hidden.0", "pre.1", "hidden.1")
    assert tuple(tap.found) == model.places == (*layers, "features")
    assert torch.equal(model.layers[-1](tap.found["features"]), logits)
    assert torch.equal(tap.found["pre.1"].relu(), tap.found["hidden.1"])
    assert tap.found["pre.0"].shape == (40, 9)
    (slope,) = torch.autograd.grad(logits.sum(), tap.found["hidden.1"])
    close(slope, model.layers[-1].weight.sum(0).expand(40, 5))
    # what a tap returns is what the next layer reads
    silent = Recorder(replace={"hidden.1": torch.zeros_like})
    close(model(x, silent), model.layers[-1].bias.expand(40, P))


def test_norms_of_the_mlp():
    """Activation and head read rows, or columns, of length sqrt(their number)."""
    for norm, head_norm in (("layer", "batch"), ("rms", "layer"), ("batch", None)):
        how = {"head_norm": head_norm, "affine": False}
        model, x = mlp(norm=norm, **how)
        assert size(model) == size(mlp()[0])
        tap = Recorder()
        model(x, tap)
        read = [(tap.found[name], norm) for name in ("pre.0", "pre.1")]
        read += [(tap.found["features"], head_norm)] if head_norm else []
        for found, kind in read:
            squares = found.square().mean(0 if kind == "batch" else -1)
            squares = squares[squares > 0]  # but of units that are always silent
            ones = torch.ones_like(squares)
            torch.testing.assert_close(squares, ones, rtol=0.05, atol=0)
        assert size(mlp(norm=norm)[0]) == size(model) + 14 * (1 if norm == "rms" else 2)


def test_dropout_acts_at_its_sites_in_training_alone():
    """GPT-2 has none in its hidden layers, but one on its embedding."""
    options = NO_NORM | {"dropout": 0.5}
    small = {"positions": 2, "width": 8, "heads": 2, "depth": 1, "dropout": 0.5}
    written = ("attention.dropout", "dropout_attention_out", "dropout_mlp_out")
    for model, odd in (
        (transformer_of(**options)[0], "blocks.0.dropout_hidden"),
        (models.gpt2(P, **small), "dropout"),
    ):
        dropouts = (n for n, m in model.named_modules() if getattr(m, "p", 0) == 0.5)
        assert {*dropouts} == {odd, *(f"blocks.0.{name}" for name in written)}
    for model, x in (mlp(dropout=0.5), transformer_of(**options)):
        assert not torch.equal(model(x), model(x))
        model.eval()
        assert torch.equal(model(x), model(x))


def test_post_norm_encoder_is_torchs():
    """Same weights in nn.TransformerEncoderLayer, the released network, same logits."""
    model, x = transformer_of(**ENCODER)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    (block,) = model.blocks
    own, projections = layer.self_attn, block.attention.projections()
    with torch.no_grad():
        own.in_proj_weight.copy_(torch.cat([m.weight for m in projections]))
        own.in_proj_bias.copy_(torch.cat([m.bias for m in projections]))
    for theirs, ours in (
        (own.out_proj, block.attention.output),
        (layer.linear1, block.mlp[0]),
        (layer.linear2, block.mlp[1]),
        (layer.norm1, block.norms["post_attention"]),
        (layer.norm2, block.norms["post_mlp"]),
    ):
        theirs.load_state_dict(ours.state_dict())
    close(model(x), model.unembedding(layer(model.embedding[x])[:, -1]))


def test_taps_of_the_transformer():
    options = {"depth": 2, "positions": 3, "causal": True, "hidden": (16, 12)}
    model, x = transformer_of(**NO_NORM | options)
    tap = Recorder()
    logits = model(x, tap)
    wide = ("attention_out", "mlp_in", "mlp_out", "residual")
    shapes = {"attention": (2, 3, 3), "pre": (3, 16)} | dict.fromkeys(wide, (3, 8))
    expected = {f"{name}.{k}": shapes[name] for k in range(2) for name in shapes}
    expected |= {"pre.0.1": (3, 12), "pre.1.1": (3, 12), "features": (8,)}
    seen = tap.found
    assert {name: tuple(t.shape[1:]) for name, t in seen.items()} == expected
    assert tuple(seen) == model.places and len(logits) == 40
    for k in range(2):
        weights = seen[f"attention.{k}"]
        close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert (weights.triu(1) == 0).all()
    increments = seen["attention_out.1"] + seen["mlp_out.1"]
    close(seen["residual.0"] + increments, seen["residual.1"])
    close(seen["mlp_in.1"], seen["residual.0"] + seen["attention_out.1"])
    hidden = model.blocks[0].mlp[1](seen["pre.0"].relu())
    assert torch.equal(hidden, seen["pre.0.1"])
    assert torch.equal(seen["features"], seen["residual.1"][:, -1])
    assert torch.equal(model.unembedding(seen["features"]), logits)


def test_without_norms_keeps_the_weights():
    """The copy computes what a network without those norms does, and takes a stack's
    weights by the original's names."""
    norms = ("query_key", "value", "mlp", "post_mlp")
    model, x = transformer_of(**SINGH | {"norms": norms, "depth": 2})
    plain = models.without_norms(model)
    assert [*plain.state_dict()] == [*model.state_dict()]
    reference, _ = transformer_of(**SINGH | {"norms": ("post_mlp",), "depth": 2})
    reference.load_state_dict(model.state_dict(), strict=False)
    expected = reference(x)
    close(plain(x), expected)
    with torch.no_grad():
        weights = {name: p.clone() for name, p in model.named_parameters()}
        for parameter in plain.parameters():
            parameter.zero_()
    close(functional_call(plain, weights, (x,)), expected)
    assert not torch.allclose(model(x), expected)  # which has kept its own norms


def test_positions_that_are_read():
    for more in ({}, {"final_norm": True, "tied": True}):
        options = NO_NORM | {"classes": P + 1, "positions": 4, "causal": True} | more
        every, x = transformer_of(**options, read="all")
        last, _ = transformer_of(**options)
        close(last(x), every(x)[:, -1])
        for n in (1, 2, 4):
            some, _ = transformer_of(**options, read=n)
            close(some(x), every(x)[:, -n:])
            tap = Recorder()
            close(some(x, tap), some(x))
            assert tap.found["features"].shape == (40, n, 8)
            assert tap.found["residual.0"].shape == (40, 4, 8)


def test_angles_are_exact_in_bfloat16():
    """Whose numbers step by 2 from position 256 on, and by 16 from 2048 on."""
    x = torch.ones(2, 4, dtype=torch.bfloat16)
    ours = transformer.rotate(x, 2001, 4)
    assert ours.dtype == torch.bfloat16
    true = transformer.rotate(x.double(), 2001, 4)
    torch.testing.assert_close(ours.double(), true, rtol=0, atol=1e-2)


def network_of(spec):
    torch.manual_seed(42)
    factory = {"mlp": models.MLP, "transformer": models.Transformer}[spec.name]
    return factory(**spec.options).requires_grad_(False)


def variant(experiment, name):
    return papers.get(f"singh2026/{experiment}", "paper").arm(name).model


def test_released_sizes_and_starts():
    for spec, weights in (
        (OF_PAPER.mlp(), 107_800),
        (OF_PAPER.mlp(bias=True), 108_313),
        (OF_PAPER.ENCODER, 622_065),
        # the first public code has a row for a third position nobody reads
        (OF_PAPER.NANDA, 488_320 - 128),
        (variant("fig08", "No LN, three layers"), 163_200),
    ):
        assert size(network_of(spec)) == weights
    for read, weights in (((2, 43), 49_402), ((113, 14), 65_913), ((10, 784), 199_210)):
        assert size(models.MLP(read[0], features=read[1])) == weights
    weights = network_of(OF_PAPER.mlp()).parameters()
    norms = [float(w.norm()) for w in weights]
    assert norms == pytest.approx([8.2, 8.2, 6.1], abs=0.1)
    encoder = network_of(OF_PAPER.ENCODER)
    assert float(encoder.embedding.norm()) == pytest.approx(120, abs=2)
    no_norm = network_of(OF_PAPER.NANDA)
    assert float(no_norm.embedding.std()) == pytest.approx(128**-0.5, rel=0.02)
    assert float(no_norm.unembedding.weight.std()) == pytest.approx(114**-0.5, rel=0.02)
    for name in ("M", "M+A*", "A*", "No LN"):
        model = network_of(variant("fig02", name))
        gains = 256 * len(model.blocks[0].norms)
        assert size(model) == 226_816 + gains
        length = math.sqrt(sum(float(p.square().sum()) for p in model.parameters()))
        assert length == pytest.approx(math.sqrt(31.84**2 + gains / 2), abs=0.1)


def test_parameter_names_are_those_of_kept_weights():
    """Records hold weights by these names."""
    both = ("weight", "bias")
    model = models.Transformer(**FULL)
    assert [n.removeprefix("blocks.0.") for n, _ in model.named_parameters()] == [
        *("embedding", "position"),
        *(f"attention.{w}.weight" for w in ("query", "key", "value", "output")),
        *(f"mlp.{k}.{kind}" for k in range(2) for kind in both),
        *(f"norms.{place}.{kind}" for place in ("attention", "mlp") for kind in both),
        "unembedding.weight",
    ]
    mlp = models.MLP(P, (9, 5), vocabulary=P, head_bias=False)
    of_layers = [f"layers.{k}.{kind}" for k in (0, 1) for kind in both]
    assert [n for n, _ in mlp.named_parameters()] == [*of_layers, "layers.2.weight"]


def test_shortcuts_can_be_switched_off_for_a_whole_network():
    """And then no table is asked: a reader's debugger sees the plain form."""
    model, x = transformer_of(**FULL)
    seen = []
    model.blocks[0].register_forward_hook(lambda *_: seen.append("block"))
    model(x)
    assert not seen
    with fast.off():
        model(x)
    assert seen == ["block"]
