"""GPT-2 and the decoder: published sizes, published properties, and their options."""

import math

import pytest
import torch
import torch.nn.functional as F

from grokbook import models
from grokbook.models.taps import Recorder


def test_published_sizes():
    """Decoders are named without one of their embeddings: "109M" and "16M"."""
    with torch.device("meta"):
        small = models.decoder(depth=6, width=224, hidden=768)
        every = models.gpt2(), models.decoder(), small
    sizes = [sum(p.numel() for p in model.parameters()) for model in every]
    assert sizes == [124_439_808, 140_599_360, 26_840_576]
    assert not any("bias" in name for name, _ in small.named_parameters())


def tiny(**options):
    torch.manual_seed(0)
    sizes = {"positions": 8, "width": 12, "heads": 3, "depth": 2}
    return models.gpt2(20, **sizes | {"dropout": 0.0} | options).double()


def test_no_network_sees_the_future():
    """Changing token k changes no logit before position k, and all from there on."""
    tokens = torch.arange(8)[None]
    for model in (tiny(), tiny(attention="stablemax"), small_decoder()):
        before = model(tokens)
        torch.testing.assert_close(model(tokens[:, :5]), before[:, :5])
        for k in range(8):
            changed = tokens.clone()
            changed[0, k] = 19
            difference = (model(changed) - before).abs().amax(-1)[0]
            assert (difference[:k] == 0).all()
            assert (difference[k:] > 0).all()


def test_gpt2_reads_attention_as_torch_does_and_has_one_embedding():
    model, tap = tiny(), Recorder()
    logits = model(torch.randint(20, (2, 5)), tap)
    assert tuple(tap.found) == model.places
    torch.testing.assert_close(logits, tap.found["features"] @ model.embedding.T)
    layer = model.blocks[0].attention
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
