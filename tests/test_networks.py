"""Networks of images, of language and free features: sizes, torch as reference."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grokbook import models
from grokbook.experiment import Spec
from grokbook.models import VGG11, FreeFeatures, ResNet18, ViT
from grokbook.models.taps import Recorder
from grokbook.names import resolve

SMALL_VIT = {"width": 8, "depth": 2, "heads": 2, "hidden": 12}
CIFAR = {"classes": 10, "stem": "cifar", "width": 4}
NORMS = {"norm": "batch", "head_norm": "batch", "affine": False}
SPECS = {
    "ResNet-18": Spec("resnet18", **CIFAR, start="torch"),
    "ResNet-18 without norms": Spec("resnet18", **CIFAR, norm=None),
    "VGG-11": Spec("vgg11", classes=10, width=4),
    "VGG-11 with norms": Spec("vgg11", classes=10, width=4, **NORMS),
    "ViT": Spec("vit", classes=10, **SMALL_VIT),
    "free features": Spec("free_features", classes=10, rows=20, width=8),
}
TOKENS = {"classes": 10, "vocabulary": 5}
OTHERS = {
    "MLP": Spec("mlp", **TOKENS, widths=(8, 6), norm="rms", head_norm="layer"),
    "transformer": Spec("transformer", **TOKENS, width=8, heads=2, bias=True),
}


def rows_for(name, seed=0):
    """Six rows of what a network reads, images in float64."""
    torch.manual_seed(seed)
    if name in OTHERS or name == "free features":
        return torch.randint(5, (6, 2 if name in OTHERS else 1))
    return torch.rand(6, 3, 32, 32, dtype=torch.float64)


def network(name, seed=0):
    """A network in float64 and away from its start, where some parameters are 0."""
    torch.manual_seed(seed)
    spec = (SPECS | OTHERS)[name]
    model = resolve("model", spec)(**spec.options).double()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def test_published_sizes():
    with torch.device("meta"):
        for model, weights in (
            (ResNet18(10), 11_181_642),
            (ResNet18(1000), 11_689_512),
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
            assert sum(p.numel() for p in model.parameters()) == weights


@pytest.mark.parametrize("name", [*SPECS, *OTHERS])
def test_the_last_matrix_is_that_of_the_head(name):
    """An observable finds the head by it: logits = features W^T and one bias."""
    model, tap = network(name), Recorder()
    logits = model(rows_for(name), tap)
    assert tuple(tap.found) == model.places
    features = tap.found["features"]
    head = [p for p in model.parameters() if p.dim() == 2][-1]
    assert head.shape == (10, features.shape[-1])
    rest = logits - features @ head.T
    torch.testing.assert_close(rest, rest[:1].expand_as(rest), rtol=0, atol=1e-12)


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
        features = (
            F.batch_norm(features, None, None, training=True) if norm else features
        )
        torch.testing.assert_close(model(x, tap), model.head(features))
        torch.testing.assert_close(tap.found["features"], features)
    assert all(torch.equal(*pair) for pair in zip(*starts, strict=True))


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
    start = ViT(10, width=64, depth=1, hidden=64)
    assert (start.class_token == 0).all()
    assert start.position.std().item() == pytest.approx(0.02, rel=0.05)


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


def test_starts_of_language_models():
    """What writes into the residual stream of GPT-2 starts smaller; the decoder has
    Xavier's start, but for what attention writes [code of Stollenwerk et al.]."""
    small = tiny(width=120, depth=8)
    biases = [p for name, p in small.named_parameters() if name.endswith("bias")]
    assert biases and not any(p.any() for p in biases)
    large = models.decoder(1000, depth=2, width=128, heads=4, hidden=256)
    one, other = small.blocks[0], large.blocks[1]
    for weight, expected in (
        (one.mlp[0].weight, 0.02),
        (one.mlp[1].weight, 0.02 / 4),
        (one.attention.inputs.weight, 0.02),
        (one.attention.output.weight, 0.02 / 4),
        (large.embedding, 128**-0.5),
        (large.unembedding.weight, math.sqrt(2 / 1128)),
        (other.attention.inputs.weight, math.sqrt(2 / 512)),
        (other.attention.output.weight, 0.02 / 2),
        (other.mlp[0].weight, math.sqrt(2 / 384)),
        (other.up.weight, math.sqrt(2 / 384)),
        (other.mlp[1].weight, math.sqrt(2 / 384)),
    ):
        assert weight.std().item() == pytest.approx(expected, rel=0.05)
