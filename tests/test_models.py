"""Networks: torch's own layers as reference, published sizes and starts."""

import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from helpers import away, close
from torch import nn
from torch.func import functional_call

from claimbook import papers
from claimbook.names import resolve
from claimbook.protocol import Recorder, switched
from grokbook import models
from grokbook.models import VGG11, FreeFeatures, ResNet18, ViT, transformer

PRIETO = Path(papers.__file__).parents[2] / "book" / "prieto2025" / "experiments.py"
OF_PAPER = SimpleNamespace(**runpy.run_path(str(PRIETO)))

P = 7
NO_NORM = {"classes": P, "vocabulary": P + 1, "width": 8, "heads": 2, "hidden": (16,)}
ENCODER = NO_NORM | {"norms": ("post_attention", "post_mlp"), "bias": True}
ENCODER |= {"learned_positions": False, "initialisation": "torch"}
SINGH = NO_NORM | {"positions": 3, "norm_eps": 0.0, "mlp_bias": True}
SINGH |= {"activation": "gelu", "initialisation": "lecun"}
FULL = SINGH | {"norms": ("query_key", "value", "mlp")}


def mlp(**options):
    torch.manual_seed(0)
    settings = {"vocabulary": P, "widths": (9, 5)} | options
    return away(models.MLP(P, **settings)), torch.randint(P, (40, 2))


def transformer_of(**options):
    torch.manual_seed(0)
    model = away(models.Transformer(**options))
    shape = 40, options.get("positions", 2)
    return model, torch.randint(options["vocabulary"], shape)


def size(model):
    return sum(p.numel() for p in model.parameters())


def test_mlp_is_linear_layers_on_one_hots_with_taps():
    model, x = mlp()
    hidden = F.one_hot(x, P).flatten(1).double()
    for index, layer in enumerate(model.layers):
        hidden = hidden @ layer.weight.T + layer.bias
        hidden = hidden.relu() if index < 2 else hidden
    close(model(x), hidden)
    model, x = mlp(embedding=4, head_bias=False)
    hidden = model.embedding[x].flatten(1)
    for layer in model.layers[:2]:
        hidden = (hidden @ layer.weight.T + layer.bias).relu()
    close(model(x), hidden @ model.layers[2].weight.T)
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


def torchs(block, hidden, **options):
    """nn.TransformerEncoderLayer of width 8 with two heads and a block's weights."""
    layer = nn.TransformerEncoderLayer(
        8, 2, hidden, dropout=0.0, batch_first=True, **options
    ).double()
    projections = block.attention.projections()
    with torch.no_grad():
        for kind in ("weight", "bias"):
            parts = torch.cat([getattr(p, kind) for p in projections])
            getattr(layer.self_attn, f"in_proj_{kind}").copy_(parts)
    first, second = block.norms.values()
    for theirs, ours in (
        (layer.self_attn.out_proj, block.attention.output),
        (layer.linear1, block.mlp[0]),
        (layer.linear2, block.mlp[1]),
        (layer.norm1, first),
        (layer.norm2, second),
    ):
        theirs.load_state_dict(ours.state_dict())
    return layer


def test_post_norm_encoder_is_torchs():
    """The released network."""
    model, x = transformer_of(**ENCODER)
    (block,) = model.blocks
    seen = torchs(block, 16)(model.embedding[x])
    close(model(x), model.unembedding(seen[:, -1]))


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


def test_rotary_entries_turn_in_pairs():
    model, _ = transformer_of(**NO_NORM | {"rotary": 0.75})
    assert model.blocks[0].attention.rotary_width == 2  # of a head's 4


def made(spec):
    return resolve("model", spec)(**spec.options).requires_grad_(False)


def variant(experiment, name):
    return papers.get(f"singh2026/{experiment}", "paper").arm(name).model


def test_published_sizes():
    with torch.device("meta"):
        for model, weights in (
            (made(OF_PAPER.mlp()), 107_800),
            (made(OF_PAPER.mlp(bias=True)), 108_313),
            (made(OF_PAPER.ENCODER), 622_065),
            # the first public code has a row for a third position nobody reads
            (made(OF_PAPER.NANDA), 488_320 - 128),
            (made(variant("fig08", "No LN, three layers")), 163_200),
            (models.MLP(10, features=784), 199_210),
            (ResNet18(10), 11_181_642),
            (ResNet18(10, stem="cifar"), 11_173_962),  # Liu et al.: 11.17 M
            # a bias for the two weights of each norm
            (ResNet18(10, stem="cifar", norm=None), 11_173_962 - 4800),
            (VGG11(10), 9_225_610),  # Liu et al.: 9.23 M
            (VGG11(10, norm="batch"), 9_225_610 + 2 * 2752),
            (VGG11(10, head_norm="batch", affine=False), 9_225_610),
            (ViT(10), 9_509_642),  # Liu et al.: about 10 M
            (models.gpt2(), 124_439_808),
            # named without one of their embeddings, "109M" and "16M"; no biases
            (models.decoder(), 140_599_360),
            (models.decoder(depth=6, width=224, hidden=768), 26_840_576),
        ):
            assert size(model) == weights


@pytest.mark.parametrize(
    "options",
    [
        {"initialisation": "torch"},  # without biases
        {"initialisation": "lecun", "tied": True},
        {"initialisation": "lecun", "learned_positions": False},
    ],
)
def test_a_start_refuses_a_network_that_lacks_what_it_draws(options):
    with pytest.raises(ValueError, match=options["initialisation"]):
        models.Transformer(7, vocabulary=7, width=8, heads=2, **options)


def test_what_gpt2_fixes_is_no_option_of_it():
    for fixed in ("hidden", "dropout_at", "initialisation"):
        with pytest.raises(TypeError, match=fixed):
            models.gpt2(20, width=12, heads=3, depth=1, **{fixed: ()})


def test_released_starts():
    """The length of all weights; norms add gains of 1."""
    torch.manual_seed(42)
    for name in ("M", "M+A*", "A*", "No LN"):
        model = made(variant("fig02", name))
        gains = 256 * len(model.blocks[0].norms)
        assert size(model) == 226_816 + gains
        length = math.sqrt(sum(float(p.square().sum()) for p in model.parameters()))
        assert length == pytest.approx(math.sqrt(31.84**2 + gains / 2), abs=0.1)


def test_parameter_names_are_those_of_kept_weights():
    both = ("weight", "bias")
    model = models.Transformer(**FULL)
    assert [n.removeprefix("blocks.0.") for n, _ in model.named_parameters()] == [
        *("embedding", "position"),
        *(f"attention.{w}.weight" for w in ("query", "key", "value", "output")),
        *(f"mlp.{k}.{kind}" for k in range(2) for kind in both),
        *(f"norms.{place}.{kind}" for place in ("attention", "mlp") for kind in both),
        "unembedding.weight",
    ]
    other = models.MLP(P, (9, 5), vocabulary=P, head_bias=False)
    of_layers = [f"layers.{k}.{kind}" for k in (0, 1) for kind in both]
    assert [n for n, _ in other.named_parameters()] == [*of_layers, "layers.2.weight"]


def test_shortcuts_can_be_switched_off_for_a_whole_network():
    """And then no table is asked: a reader's debugger sees the plain form."""
    model, x = transformer_of(**FULL)
    seen = []
    model.blocks[0].register_forward_hook(lambda *_: seen.append("block"))
    model(x)
    assert not seen
    with switched(shortcuts=False):
        model(x)
    assert seen == ["block"]


def test_resnet_has_two_stems_and_two_starts():
    """He's: fan out, biases 0; torch's: uniform up to 1 / sqrt(fan in)."""
    for stem, side, norm in (("imagenet", 1, "batch"), ("cifar", 4, None)):
        torch.manual_seed(0)
        how, seen = {"stem": stem, "width": 8, "norm": norm}, []
        model = ResNet18(7, **how)
        model.blocks.register_forward_hook(lambda *of, to=seen: to.append(of[2]))
        model(torch.randn(5, 3, 32, 32))
        assert seen[0].shape == (5, 64, side, side)
        deviation = model.blocks[-1].second.weight.std().item()
        assert deviation == pytest.approx(math.sqrt(2 / (9 * 64)), rel=0.05)
        assert norm or (model.stem.bias == 0).all()
        for module in ResNet18(7, **how, start="torch").modules():
            if isinstance(module, nn.Conv2d):
                bound = 1 / math.sqrt(module.weight[0].numel())
                assert 0.9 * bound < module.weight.abs().max() <= bound


def test_vgg_is_the_stack_of_its_paper():
    """Also with norms, which draw nothing; the head reads the features' norm."""
    x, starts = torch.randn(5, 3, 32, 32), []
    for norm in (None, "batch"):
        torch.manual_seed(0)
        model, tap = VGG11(7, width=8, norm=norm, head_norm=norm), Recorder()
        starts.append([model.head.weight, *(conv.weight for conv in model.convs)])
        parts, layers = zip(model.convs, model.norms, strict=True), []
        for width in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
            if width == "M":
                layers.append(nn.MaxPool2d(2, 2))
                continue
            conv, of_batch = next(parts)
            assert conv.weight.shape[0] == width // 8 and conv.kernel_size == (3, 3)
            layers += [conv, *([of_batch] if norm else []), nn.ReLU()]
        features = nn.Sequential(*layers, nn.Flatten())(x)
        if norm:
            features = F.batch_norm(features, None, None, training=True)
        torch.testing.assert_close(model(x, tap), model.head(features))
        torch.testing.assert_close(tap.found["features"], features)
    assert all(torch.equal(*pair) for pair in zip(*starts, strict=True))


def test_vit_is_torchs_encoder_on_patches_of_a_convolution():
    torch.manual_seed(0)
    model = away(ViT(10, width=8, depth=2, heads=2, hidden=12))
    x = torch.rand(6, 3, 32, 32, dtype=torch.float64)
    kernel = model.embedding.weight.view(8, 3, 4, 4)
    patches = F.conv2d(x, kernel, model.embedding.bias, stride=4)
    first = model.class_token.expand(6, 1, 8)
    seen = torch.cat([first, patches.flatten(2).transpose(1, 2)], 1) + model.position
    for block in model.blocks:
        seen = torchs(block, 12, activation="gelu", norm_first=True)(seen)
    close(model(x), model.head(model.norm(seen)[:, 0]))
    assert model(x[:0]).shape == (0, 10)
    start = ViT(10, width=64, depth=1, hidden=64)
    assert (start.class_token == 0).all()
    assert start.position.std().item() == pytest.approx(0.02, rel=0.05)


def test_free_features_by_hand():
    torch.manual_seed(0)
    model, tap = FreeFeatures(5, rows=400, width=64), Recorder()
    rows = torch.tensor([3, 0, 399, 3])
    logits = model(rows, tap)
    expected = model.A[rows].relu()
    assert torch.equal(tap.found["features"], expected)
    torch.testing.assert_close(logits, expected @ model.W.T)
    assert torch.equal(model(rows[:, None]), logits)
    assert [name for name, _ in model.named_parameters()] == ["A", "W"]
    assert model.A.std().item() == pytest.approx(1, rel=0.02)
    assert model.W.std().item() == pytest.approx(1 / 8, rel=0.1)


def tiny(**options):
    torch.manual_seed(0)
    sizes = {"positions": 8, "width": 12, "heads": 3, "depth": 2}
    return models.gpt2(20, **sizes | {"dropout": 0.0} | options).double()


def test_no_network_sees_the_future():
    """Changing token k changes no logit before position k, and all from there on."""
    tokens, tap = torch.arange(8)[None], Recorder()
    gpt2 = tiny()
    logits = gpt2(tokens, tap)  # and GPT-2 has one embedding
    torch.testing.assert_close(logits, tap.found["features"] @ gpt2.embedding.T)
    for model in (gpt2, tiny(attention="stablemax"), small_decoder()):
        before = model(tokens)
        torch.testing.assert_close(model(tokens[:, :5]), before[:, :5])
        for k in range(8):
            changed = tokens.clone()
            changed[0, k] = 19
            difference = (model(changed) - before).abs().amax(-1)[0]
            assert (difference[:k] == 0).all()
            assert (difference[k:] > 0).all()


def test_stablemax_attention_by_hand():
    """One head of width 1: weights s(qk) over their sum, with s(1) = 2, s(-1) = 1/2."""
    layer = tiny(width=1, heads=1, attention="stablemax").blocks[0].attention
    with torch.no_grad():
        layer.inputs.weight.fill_(1)
        layer.output.weight.fill_(1)
    x = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    # the second position: scores -1 and 1, values 1 and -1
    assert layer(x, x).flatten().tolist() == pytest.approx([1, (0.5 - 2) / 2.5])


def small_decoder():
    torch.manual_seed(0)
    return away(models.decoder(20, depth=2, width=16, heads=2, hidden=24))


def test_decoder_by_hand():
    """Table 4 in torch's own layers, turns as products of complex numbers."""
    model, tokens = small_decoder(), torch.randint(20, (3, 7))

    def norm(x, gain):
        return F.layer_norm(x, gain.shape, gain)

    def turn(x):  # the first 4 of 8 entries, in the pairs (0, 2) and (1, 3)
        angle = torch.arange(7)[:, None] * torch.tensor([1.0, 0.01]).double()
        pairs = torch.complex(x[..., :2], x[..., 2:4])
        pairs = pairs * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([pairs.real, pairs.imag, x[..., 4:]], -1)

    x = model.embedding[tokens]
    for block in model.blocks:
        attention = block.attention
        parts = norm(x, block.norms["attention"].weight) @ attention.inputs.weight.T
        query, key, value = (
            part.unflatten(-1, (2, 8)).transpose(1, 2) for part in parts.chunk(3, -1)
        )
        query = turn(norm(query, attention.head_norms["query"].weight))
        key = turn(norm(key, attention.head_norms["key"].weight))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(-2) @ attention.output.weight.T
        read = norm(x, block.norms["mlp"].weight)
        hidden = F.silu(read @ block.mlp[0].weight.T) * (read @ block.up.weight.T)
        x = x + hidden @ block.mlp[1].weight.T
    expected = norm(x, model.norm.weight) @ model.unembedding.weight.T
    torch.testing.assert_close(model(tokens), expected)


def test_start_of_the_decoder():
    """Xavier's, but for what attention writes [code of Stollenwerk et al.]."""
    large = models.decoder(1000, depth=2, width=128, heads=4, hidden=256)
    block = large.blocks[1]
    for weight, expected in (
        (large.embedding, 128**-0.5),
        (large.unembedding.weight, math.sqrt(2 / 1128)),
        (block.attention.inputs.weight, math.sqrt(2 / 512)),
        (block.attention.output.weight, 0.02 / 2),
        (block.mlp[0].weight, math.sqrt(2 / 384)),
        (block.up.weight, math.sqrt(2 / 384)),
        (block.mlp[1].weight, math.sqrt(2 / 384)),
    ):
        assert weight.std().item() == pytest.approx(expected, rel=0.05)


ATTENTION = [f"attention.{part}" for part in ("query", "key", "value", "output")]
WRITERS = ["attention.output", "mlp.0", "mlp.1"]
ROOT = 128**-0.5
QUERY = 2**-0.5 * ROOT
FLAT = 3**-0.5  # the deviation of what torch draws, times the root of the inputs
CUT = 0.8796  # that of a normal distribution cut at two deviations
# Deviations of embedding, positions, queries, output, the two layers of an MLP and
# unembedding, and which biases of a block are 0.
DRAWN = {
    "normal": ([ROOT] * 6 + [900**-0.5], []),
    "torch": (
        [1, 1, QUERY, FLAT * ROOT, FLAT * ROOT, FLAT / 16, FLAT * ROOT],
        ATTENTION,
    ),
    "lecun": ([ROOT, 0.02, QUERY, CUT * ROOT, CUT * ROOT, CUT / 16, ROOT], WRITERS),
    "gpt2": ([0.02] * 3 + [0.01, 0.02, 0.01, 0.02], {*ATTENTION, *WRITERS}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_starts_of_the_transformer(name):
    torch.manual_seed(0)
    sizes = {"vocabulary": 900, "positions": 90, "depth": 2, "hidden": (256,)}
    model = models.Transformer(900, **sizes, bias=True, initialisation=name)
    block = model.blocks[1]
    drawn = [model.embedding, model.position, block.attention.query.weight]
    drawn += [block.attention.output.weight, *(layer.weight for layer in block.mlp)]
    deviations, zeros = DRAWN[name]
    found = [w.std().item() for w in (*drawn, model.unembedding.weight)]
    assert found == pytest.approx(deviations, rel=0.05)
    biases = {n: b for n, b in block.named_parameters() if n.endswith("bias")}
    assert {n for n, b in biases.items() if not b.any()} == {f"{n}.bias" for n in zeros}


def test_starts_of_the_mlp():
    """One-hots of two positions make sums of two weights, of variance 1 or 2 / 100."""
    for start, first in (("he", (2 / 100) ** 0.5), ("unit", 0.5**0.5)):
        model = models.MLP(50, (300, 300), vocabulary=50, initialisation=start)
        found = [layer.weight.std().item() for layer in model.layers]
        second = (2 / 300) ** 0.5
        assert found == pytest.approx([first, second, second], rel=0.05)
        assert not any(layer.bias.any() for layer in model.layers)
    features = models.MLP(
        50, (300,), features=100, head_bias=False, initialisation=start
    )
    found = features.layers[0].weight.std().item()
    assert found == pytest.approx((2 / 100) ** 0.5, rel=0.05)
