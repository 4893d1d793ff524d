"""ResNet-18 and language models: published sizes and properties, and their options."""

import math

import pytest
import torch
import torch.nn.functional as F
from shapes import check

from grokbook import models
from grokbook.models import ResNet18, convnets
from grokbook.models.taps import Recorder

check(convnets)
check(models)


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_resnet_has_the_published_size():
    with torch.device("meta"):
        assert count(ResNet18(10)) == 11_181_642
        assert count(ResNet18(1000)) == 11_689_512
        small = count(ResNet18(10)) - 3 * 64 * (49 - 9)
        assert count(ResNet18(10, stem="cifar")) == small


@pytest.mark.parametrize(("stem", "side"), [("imagenet", 1), ("cifar", 4)])
def test_resnet_shapes_and_start(stem, side):
    torch.manual_seed(0)
    model, tap = ResNet18(7, stem=stem, width=8), Recorder()
    shapes = []
    model.blocks.register_forward_hook(lambda *seen: shapes.append(seen[2].shape))
    logits = model(torch.randn(5, 3, 32, 32), tap)
    assert logits.shape == (5, 7)
    assert shapes == [(5, 64, side, side)]
    assert tuple(tap.found) == model.places() == ("features",)
    assert tap.found["features"].shape == (5, 64)
    assert torch.equal(model.head(tap.found["features"]), logits)
    deviation = model.blocks[-1].second.weight.std().item()
    assert deviation == pytest.approx(math.sqrt(2 / (9 * 64)), rel=0.05)


def test_resnet_normalises_by_the_batch_and_then_by_its_running_means():
    torch.manual_seed(0)
    model, x = ResNet18(3, width=4), torch.randn(6, 3, 32, 32)
    in_training = model(x)
    torch.testing.assert_close(model(3 * x), in_training, rtol=1e-2, atol=1e-2)
    model.eval()
    alone = torch.cat([model(image[None]) for image in x])
    torch.testing.assert_close(alone, model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", None])
def test_resnet_starts_as_torch_does(norm):
    """Weights uniform up to 1 / sqrt(fan in); He's start has biases 0."""
    torch.manual_seed(0)
    model = ResNet18(7, stem="cifar", width=8, norm=norm, start="torch")
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            bound = 1 / math.sqrt(module.weight[0].numel())
            assert 0.9 * bound < module.weight.abs().max() <= bound
            assert (module.bias is None) == (norm == "batch")
    bare = ResNet18(7, stem="cifar", width=8, norm=None)
    assert (bare.stem.bias == 0).all()


def test_resnet_without_norms_normalises_nothing():
    """One image does not see another, and there is nothing to remember."""
    torch.manual_seed(0)
    model, x = ResNet18(3, width=4, norm=None), torch.randn(6, 3, 32, 32)
    alone = torch.cat([model(image[None]) for image in x])
    torch.testing.assert_close(alone, model(x), rtol=1e-4, atol=1e-5)
    assert not [*model.buffers()]


# VGG-11 ------------------------------------------------------------------------------


def test_vgg_has_the_published_size():
    with torch.device("meta"):
        assert count(VGG11(10)) == 9_225_610  # Liu et al.: 9.23 M
        assert count(VGG11(10, norm="batch")) == 9_225_610 + 2 * 2752
        assert count(VGG11(10, head_norm="batch")) == 9_225_610 + 2 * 512
        assert count(VGG11(10, head_norm="layer", affine=False)) == 9_225_610


@pytest.mark.parametrize("norm", [None, "batch"])
def test_vgg_is_the_stack_of_its_paper(norm):
    torch.manual_seed(0)
    model, tap = VGG11(7, width=8, norm=norm), Recorder()
    norms = iter(model.norms)
    layers = []
    convs = iter(model.convs)
    for sign in "64 M 128 M 256 256 M 512 512 M 512 512 M".split():
        if sign == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        conv = next(convs)
        assert conv.weight.shape[0] == int(sign) // 8 and conv.kernel_size == (3, 3)
        layers += [conv, *([next(norms)] if norm else []), nn.ReLU()]
    x = torch.randn(5, 3, 32, 32)
    assert torch.equal(
        model(x, tap), model.head(nn.Sequential(*layers, nn.Flatten())(x))
    )
    assert tap.found["features"].shape == (5, 64)


@pytest.mark.parametrize("head_norm", ["batch", "layer"])
def test_vgg_features_are_read_after_the_norm(head_norm):
    torch.manual_seed(0)
    model, tap = VGG11(7, width=8, head_norm=head_norm, affine=False), Recorder()
    model.double()(torch.rand(5, 3, 32, 32, dtype=torch.float64), tap)
    means = tap.found["features"].mean(0 if head_norm == "batch" else -1)
    torch.testing.assert_close(means, torch.zeros_like(means), rtol=0, atol=1e-12)


def test_norms_of_vgg_draw_nothing():
    """The start of a network does not depend on what has no random weights."""
    torch.manual_seed(0)
    plain = VGG11(7, width=4)
    torch.manual_seed(0)
    normed = VGG11(7, width=4, norm="batch", head_norm="batch")
    for name, weight in plain.named_parameters():
        assert torch.equal(normed.get_parameter(name), weight)


# ViT ---------------------------------------------------------------------------------


def test_vit_has_the_published_size():
    with torch.device("meta"):
        assert count(ViT(10)) == 9_509_642  # Liu et al.: about 10 M


def test_vit_is_torchs_encoder_on_patches_of_a_convolution():
    model, x = network("ViT"), rows_for("ViT")
    layer = nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    ).double()
    kernel = model.embedding.weight.view(8, 3, 4, 4)
    patches = F.conv2d(x, kernel, model.embedding.bias, stride=4)
    seen = patches.flatten(2).transpose(1, 2)
    first = model.class_token.expand(6, 1, 8)
    seen = torch.cat([first, seen], 1) + model.position
    for block in model.blocks:
        theirs = layer.self_attn
        with torch.no_grad():
            theirs.in_proj_weight.copy_(block.attention.inputs.weight)
            theirs.in_proj_bias.copy_(block.attention.inputs.bias)
        for other, own in (
            (theirs.out_proj, block.attention.output),
            (layer.linear1, block.mlp[0]),
            (layer.linear2, block.mlp[1]),
            (layer.norm1, block.norms["attention"]),
            (layer.norm2, block.norms["mlp"]),
        ):
            other.load_state_dict(own.state_dict())
        seen = layer(seen)
    expected = model.head(model.norm(seen)[:, 0])
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-12)


def test_taps_of_the_vit():
    model, tap = network("ViT"), Recorder()
    model(rows_for("ViT"), tap)
    assert tuple(tap.found) == model.places()
    assert tap.found["attention.1"].shape == (6, 2, 65, 65)
    assert tap.found["pre.0"].shape == (6, 65, 12)
    assert tap.found["features"].shape == (6, 8)


def test_start_of_the_vit():
    torch.manual_seed(0)
    model = ViT(10, width=64, depth=1, hidden=64)
    assert (model.class_token == 0).all()
    assert model.position.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.embedding.weight.abs().max().item() == pytest.approx(
        48**-0.5, rel=0.01
    )


# Free features -----------------------------------------------------------------------


def test_free_features_by_hand():
    """relu(A) W^T, row by row, for numbers of either shape."""
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


# GPT-2 -------------------------------------------------------------------------------


def test_gpt2_has_the_published_size():
    with torch.device("meta"):
        assert count(models.gpt2()) == 124_439_808


def tiny(**options):
    torch.manual_seed(0)
    sizes = {"positions": 8, "width": 12, "heads": 3, "depth": 2}
    return models.gpt2(20, **sizes | {"dropout": 0.0} | options).double()


@pytest.mark.parametrize("attention", ["softmax", "stablemax"])
def test_gpt2_does_not_see_the_future(attention):
    """Changing token k changes no logit before position k, and all from there on."""
    model, tokens = tiny(attention=attention), torch.arange(8)[None]
    before = model(tokens)
    for k in range(8):
        changed = tokens.clone()
        changed[0, k] = 19
        difference = (model(changed) - before).abs().amax(-1)[0]
        assert (difference[:k] == 0).all()
        assert (difference[k:] > 0).all()


def test_gpt2_starts_near_the_uniform_distribution():
    model = tiny()
    tokens, labels = torch.randint(20, (2, 40, 8))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(math.log(20), abs=0.05)
    assert not any("unembedding" in name for name, _ in model.named_parameters())


def test_residual_writers_start_smaller():
    model = tiny(width=120, depth=8)
    block = model.blocks[0]
    for writer, other in (
        (block.mlp[1], block.mlp[0]),
        (block.attention.output, block.attention.inputs),
    ):
        ratio = writer.weight.std() / other.weight.std()
        assert ratio.item() == pytest.approx(1 / 4, rel=0.05)
    assert all(
        (p == 0).all() for n, p in model.named_parameters() if n.endswith("bias")
    )


def test_taps_of_gpt2():
    model, tap = tiny(), Recorder()
    logits = model(torch.randint(20, (2, 5)), tap)
    assert tuple(tap.found) == model.places()
    assert tap.found["attention.1"].shape == (2, 3, 5, 5)
    assert tap.found["features"].shape == (2, 5, 12)
    expected = tap.found["features"] @ model.embedding.T
    torch.testing.assert_close(logits, expected)


def test_softmax_attention_equals_torchs():
    layer = tiny().blocks[0].attention
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    parts = layer.inputs(x).unflatten(-1, (3, 3, 4)).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
    expected = layer.output(mixed.transpose(1, 2).flatten(-2))
    torch.testing.assert_close(layer(x, x), expected)


def test_stablemax_attention_by_hand():
    """One head of width 1: weights s(qk) over their sum, with s(1) = 2, s(-1) = 1/2."""
    layer = tiny(width=1, heads=1, attention="stablemax").blocks[0].attention
    with torch.no_grad():
        layer.inputs.weight.fill_(1)
        layer.output.weight.fill_(1)
    x = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    # the second position: scores -1 and 1, values 1 and -1
    assert layer(x, x).flatten().tolist() == pytest.approx([1, (0.5 - 2) / 2.5])


def test_stablemax_attention_has_finite_gradients():
    model = tiny(attention="stablemax")
    model(torch.randint(20, (2, 8))).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("sizes", "parameters"),
    [
        ({}, 140_599_360),  # "109M"
        ({"depth": 6, "width": 224, "hidden": 768}, 26_840_576),  # "16M"
    ],
)
def test_decoder_has_the_published_size(sizes, parameters):
    """Named without one of the two embeddings in the code that Liu et al. follow."""
    with torch.device("meta"):
        model = models.decoder(**sizes)
    assert count(model) == parameters
    named = [n for n, p in model.named_parameters() if p.ndim == 2]
    assert (named[0], named[-1]) == ("embedding", "unembedding.weight")
    assert model.unembedding.weight.shape[0] == model.embedding.shape[0] == 50_304
    assert not any("bias" in name for name, _ in model.named_parameters())


def small_decoder():
    torch.manual_seed(0)
    model = models.decoder(20, depth=2, width=16, heads=2, hidden=24).double()
    for parameter in model.parameters():  # gains start at 1
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


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


def test_decoder_does_not_see_the_future_and_takes_any_length():
    model, tokens = small_decoder(), torch.randint(20, (2, 40))
    torch.testing.assert_close(model(tokens[:, :9]), model(tokens)[:, :9])


def test_start_of_the_decoder():
    """Xavier's, but for what attention writes [code of Stollenwerk et al.]."""
    torch.manual_seed(0)
    model = models.decoder(1000, depth=2, width=128, heads=4, hidden=256)
    block = model.blocks[1]
    for weight, expected in (
        (model.embedding, 128**-0.5),
        (model.unembedding.weight, math.sqrt(2 / 1128)),
        (block.attention.inputs.weight, math.sqrt(2 / 512)),
        (block.attention.output.weight, 0.02 / 2),
        (block.mlp[0].weight, math.sqrt(2 / 384)),
        (block.up.weight, math.sqrt(2 / 384)),
        (block.mlp[1].weight, math.sqrt(2 / 384)),
    ):
        assert weight.std().item() == pytest.approx(expected, rel=0.03)
    assert all((p == 1).all() for p in model.parameters() if p.ndim == 1)
    biased = models.Transformer(
        5, vocabulary=5, width=8, bias=True, initialisation="xavier"
    )
    ends = ("attention.query.bias", "mlp.0.bias", "unembedding.bias")
    zeros = [p for n, p in biased.named_parameters() if n.endswith(ends)]
    assert len(zeros) == 3 and not any(p.any() for p in zeros)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ResNet18(10, stem="patch"), "unknown stem 'patch'"),
        (lambda: ResNet18(10, norm="layer"), "unknown norm 'layer': use one of batch"),
        (lambda: ResNet18(10, start="zeros"), "unknown start 'zeros'"),
        (lambda: VGG11(10, norm="layer"), "unknown norm 'layer': use one of batch"),
        (lambda: VGG11(10, head_norm="rms"), "unknown head norm 'rms'"),
        (lambda: VGG11(10, width=4)(torch.ones(1, 3, 32, 28)), "images of 32 x 28"),
        (lambda: ViT(10, patch=5), "patches of 5 do not fill images of 32"),
        (lambda: ViT(10, heads=7), "7 heads cannot share a width of 256"),
        (
            lambda: ViT(10, **SMALL_VIT)(torch.ones(1, 3, 28, 28)),
            "images of 28 x 28, but this ViT has positions for 32 x 32",
        ),
        (lambda: tiny(attention="linear"), "unknown attention 'linear'"),
    ],
)
def test_errors_name_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
