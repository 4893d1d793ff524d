"""ResNet-18 and GPT-2: published sizes, published properties, and their options."""

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


def test_unknown_options():
    with pytest.raises(ValueError, match="unknown stem 'patch'"):
        ResNet18(10, stem="patch")
    with pytest.raises(ValueError, match="unknown attention 'linear'"):
        tiny(attention="linear")
