"""GPT-2 and the decoder: published sizes, published properties, and their options."""

import math

import pytest
import torch
import torch.nn.functional as F
from shapes import check

from grokbook import models
from grokbook.models.taps import Recorder

check(models)


def count(model):
    return sum(p.numel() for p in model.parameters())


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
