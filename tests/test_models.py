"""MLP and transformer: torch's own layers as reference, published sizes and starts."""

import math

import pytest
import torch
import torch.nn.functional as F
from shapes import check
from torch import nn
from torch.func import functional_call

from grokbook import datasets, models
from grokbook.models import fast, transformer
from grokbook.models.taps import Dropout, Recorder
from grokbook.papers import prieto2025, singh2026

check(models)
check(transformer)

P = 7
NO_NORM = {"classes": P, "vocabulary": P + 1, "width": 8, "heads": 2, "hidden": (16,)}
ENCODER = NO_NORM | {
    "norms": ("post_attention", "post_mlp"),
    "learned_positions": False,
    "bias": True,
    "initialisation": "torch",
}
SINGH = NO_NORM | {
    "positions": 3,
    "norm_eps": 0.0,
    "mlp_bias": True,
    "activation": "gelu",
    "initialisation": "lecun",
}
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
    return model, torch.randint(
        options["vocabulary"], (40, options.get("positions", 2))
    )


def close(ours, true):
    torch.testing.assert_close(ours, true, rtol=0, atol=1e-12)


def size(model):
    return sum(p.numel() for p in model.parameters())


# MLP ---------------------------------------------------------------------------------


def test_mlp_is_linear_layers_on_one_hots():
    model, x = mlp()
    hidden = F.one_hot(x, P).flatten(1).double()
    for index, layer in enumerate(model.layers):
        hidden = hidden @ layer.weight.T + layer.bias
        hidden = hidden.relu() if index < 2 else hidden
    close(model(x), hidden)


def test_taps_of_the_mlp():
    model, x = mlp()
    tap = Recorder()
    logits = model(x, tap)
    layers = ("pre.0", "hidden.0", "pre.1", "hidden.1")
    assert tuple(tap.found) == model.places() == (*layers, "features")
    assert torch.equal(model.layers[-1](tap.found["features"]), logits)
    assert torch.equal(tap.found["pre.1"].relu(), tap.found["hidden.1"])
    assert tap.found["pre.0"].shape == (40, 9)


def test_a_tap_may_replace_and_be_charged():
    """What it returns is what the next layer reads, and its gradient is there."""
    model, x = mlp()
    silent = Recorder(replace={"hidden.1": torch.zeros_like})
    close(model(x, silent), model.layers[-1].bias.expand(40, P))
    tap = Recorder()
    logits = model(x, tap)
    (slope,) = torch.autograd.grad(logits.sum(), tap.found["hidden.1"])
    close(slope, model.layers[-1].weight.sum(0).expand(40, 5))


@pytest.mark.parametrize(
    ("norm", "layer"),
    [("layer", nn.LayerNorm), ("rms", nn.RMSNorm), ("batch", nn.BatchNorm1d)],
)
def test_norms_of_pre_activations(norm, layer):
    """The activation reads rows, or columns, of length sqrt(their number)."""
    model, x = mlp(norm=norm, affine=False)
    assert [type(own) for own in model.norms] == [layer, layer]
    assert size(model) == size(mlp()[0])
    tap = Recorder()
    model(x, tap)
    axis = 0 if norm == "batch" else -1
    for name in ("pre.0", "pre.1"):
        squares = tap.found[name].square().mean(axis)
        torch.testing.assert_close(squares, torch.ones_like(squares), rtol=1e-3, atol=0)
    assert size(mlp(norm=norm)[0]) == size(model) + 14 * (1 if norm == "rms" else 2)


@pytest.mark.parametrize("head_norm", ["batch", "layer"])
def test_norm_before_the_head(head_norm):
    model, x = mlp(head_norm=head_norm, affine=False)
    seen = []
    model.layers[-1].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model(x)
    means = seen[0].mean(0 if head_norm == "batch" else -1)
    close(means, torch.zeros_like(means))


def test_bias_of_the_head_alone():
    """It may be left out, or be the only one."""
    without = models.MLP(P, (9, 5), vocabulary=P, head_bias=False)
    only = models.MLP(P, (9, 5), vocabulary=P, bias=False, head_bias=True)
    assert [layer.bias is None for layer in without.layers] == [False, False, True]
    assert [layer.bias is None for layer in only.layers] == [True, True, False]


def test_new_options_draw_nothing():
    """The start of a network does not depend on what has no random weights."""
    torch.manual_seed(0)
    plain = models.MLP(P, (9, 5), vocabulary=P)
    after = torch.rand(1)
    torch.manual_seed(0)
    normed = models.MLP(
        P, (9, 5), vocabulary=P, norm="batch", head_norm="layer", dropout=0.5
    )
    assert torch.equal(torch.rand(1), after)
    for name, weight in plain.named_parameters():
        assert torch.equal(normed.get_parameter(name), weight)
    assert [*plain.state_dict()] == [name for name, _ in plain.named_parameters()]


def test_mlp_on_images():
    model, _ = mlp(vocabulary=None, features=3 * 4 * 4)
    x = torch.randn(5, 3, 4, 4, dtype=torch.float64)
    assert torch.equal(model(x), model(x.flatten(1)))


def sites(model):
    """Where dropout acts in training."""
    return [n for n, m in model.named_modules() if isinstance(m, Dropout) and m.p > 0]


def test_dropout_of_the_mlp():
    model, x = mlp(dropout=0.5)
    assert sites(model) == ["dropouts.0", "dropouts.1"]
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))


def test_dropout_is_torchs():
    x, ours = torch.randn(50, 4), Dropout(0.3)
    torch.manual_seed(1)
    dropped = ours(x)
    torch.manual_seed(1)
    assert torch.equal(dropped, F.dropout(x, 0.3))
    assert ours.eval()(x) is x and Dropout(0.0)(x) is x


# Transformer -------------------------------------------------------------------------


def test_post_norm_encoder_is_torchs():
    """Same weights in nn.TransformerEncoderLayer, the released network, same logits."""
    model, x = transformer_of(**ENCODER)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    (block,) = model.blocks
    attention = block.attention
    projections = attention.projections()
    with torch.no_grad():
        own = layer.self_attn
        own.in_proj_weight.copy_(torch.cat([m.weight for m in projections]))
        own.in_proj_bias.copy_(torch.cat([m.bias for m in projections]))
    own.out_proj.load_state_dict(attention.output.state_dict())
    for theirs, ours in (
        (layer.linear1, block.mlp[0]),
        (layer.linear2, block.mlp[1]),
        (layer.norm1, block.norms["post_attention"]),
        (layer.norm2, block.norms["post_mlp"]),
    ):
        theirs.load_state_dict(ours.state_dict())
    expected = model.unembedding(layer(model.embedding[x])[:, -1])
    close(model(x), expected)


def test_causal_mask_hides_later_tokens():
    """The first position of a causal block does not see the second."""
    model, _ = transformer_of(**NO_NORM | {"depth": 2, "causal": True})
    x = torch.randn(4, 3, 8, dtype=torch.float64, requires_grad=True)
    model.blocks[0](x)[:, 0].sum().backward()
    assert (x.grad[:, 1:] == 0).all()
    assert (x.grad[:, 0] != 0).any()


def test_taps_of_the_transformer():
    options = {"depth": 2, "positions": 3, "causal": True, "hidden": (16, 12)}
    model, x = transformer_of(**NO_NORM | options)
    tap = Recorder()
    logits = model(x, tap)
    shapes = {
        "attention": (40, 2, 3, 3),
        "attention_out": (40, 3, 8),
        "mlp_in": (40, 3, 8),
        "pre": (40, 3, 16),
        "mlp_out": (40, 3, 8),
        "residual": (40, 3, 8),
    }
    expected = {f"{name}.{k}": shapes[name] for k in range(2) for name in shapes}
    expected |= {"pre.0.1": (40, 3, 12), "pre.1.1": (40, 3, 12), "features": (40, 8)}
    assert {name: tuple(t.shape) for name, t in tap.found.items()} == expected
    assert tuple(tap.found) == model.places()
    seen = tap.found
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


def unit(x):
    return F.normalize(x, dim=-1)


def test_unit_input_of_the_mlp():
    """SR-train [Singh, section 4.1]: what the MLP reads has length 1."""
    for changes in ({}, {"norm": "rms"}, {"depth": 3}):
        model, x = transformer_of(**FULL | changes)
        for inside in (model, models.without_norms(model)):
            places = [place for place in model.places() if place.startswith("mlp_in.")]
            tap, seen = Recorder(replace=dict.fromkeys(places, unit)), []
            first = inside.blocks[-1].mlp[0]
            hook = first.register_forward_hook(lambda *a, seen=seen: seen.append(a[1]))
            logits = inside(x, tap)
            hook.remove()
            lengths = torch.linalg.vector_norm(seen[0][0], dim=-1)
            close(lengths, torch.ones_like(lengths))
            assert not torch.allclose(logits, model(x))


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


def test_norms_remove_the_scale_where_they_sit():
    """[Singh, Table 1]: A* ignores the length of each row of x, M that of y."""
    rows = torch.rand(40, 3, 1, dtype=torch.float64) + 0.5
    for norms, name in ((("query_key", "value"), "attention"), (("mlp",), "mlp")):
        for norm in models.NORMS:
            settings = SINGH | {"norms": norms, "norm": norm, "affine": False}
            model, _ = transformer_of(**settings)
            (block,) = model.blocks
            x = torch.randn(40, 3, 8, dtype=torch.float64)

            def read(x, block=block, name=name):
                if name == "mlp":
                    return block.mlp[0](block.norm("mlp", x))
                inputs = block.norm("query_key", x), block.norm("value", x)
                return block.attention(*inputs)

            close(read(x), read(rows * x))
            without, _ = transformer_of(**SINGH)
            (block,) = without.blocks
            assert not torch.allclose(read(x, block), read(rows * x, block))


def test_norms_without_weights():
    options = FULL | {"final_norm": True, "query_key_norm": True}
    bare = models.Transformer(**options | {"affine": False})
    assert size(bare) == size(models.Transformer(**SINGH))
    # before attention and MLP, at the end, on queries and keys of half the width
    gains = 3 * 8 + 2 * 4
    assert size(models.Transformer(**options)) == size(bare) + 2 * gains
    without_shifts = options | {"norm_bias": False}
    assert size(models.Transformer(**without_shifts)) == size(bare) + gains
    rms = without_shifts | {"norm": "rms"}
    assert size(models.Transformer(**rms)) == size(bare) + gains


def test_final_norm_is_read_by_the_head():
    model, x = transformer_of(**NO_NORM | {"final_norm": True, "affine": False})
    tap = Recorder()
    model(x, tap)
    features = F.layer_norm(tap.found["residual.0"][:, -1], (8,))
    close(tap.found["features"], features)


def test_read_at_all_positions():
    options = NO_NORM | {"positions": 3, "depth": 2, "causal": True}
    last, x = transformer_of(**options)
    every, _ = transformer_of(**options, read="all")
    assert every(x).shape == (40, 3, P)
    close(every(x)[:, -1], last(x))
    close(every(x[:, :2]), every(x)[:, :2])  # rows may be shorter


def test_read_at_the_last_positions():
    for more in ({}, {"final_norm": True, "tied": True}):
        options = NO_NORM | {"classes": P + 1, "positions": 4, "causal": True} | more
        every, x = transformer_of(**options, read="all")
        last, _ = transformer_of(**options)
        for n in (1, 2, 4):
            some, _ = transformer_of(**options, read=n)
            assert some(x).shape == (40, n, P + 1)
            close(some(x), every(x)[:, -n:])
            close(some(x)[:, -1], last(x))
            tap = Recorder()
            close(some(x, tap), some(x))
            assert tap.found["features"].shape == (40, n, 8)
            assert tap.found["residual.0"].shape == (40, 4, 8)


def test_tied_head_is_the_embedding():
    model, x = transformer_of(**NO_NORM | {"classes": P + 1, "tied": True})
    assert not any("unembedding" in name for name, _ in model.named_parameters())
    tap = Recorder()
    close(model(x, tap), tap.found["features"] @ model.embedding.T)


def test_joint_matrix_is_three_of_them():
    separate, x = transformer_of(**FULL | {"bias": True})
    joint, _ = transformer_of(**FULL | {"bias": True, "joint": True})
    weights = separate.state_dict()
    for kind in ("weight", "bias"):
        names = [
            f"blocks.0.attention.{part}.{kind}" for part in ("query", "key", "value")
        ]
        together = torch.cat([weights.pop(name) for name in names])
        weights[f"blocks.0.attention.inputs.{kind}"] = together
    joint.load_state_dict(weights)
    close(joint(x), separate(x))


def test_gated_mlp_by_hand():
    """silu(x W) * (x V), then the last matrix [Shazeer 2020, eq. 6]."""
    model, x = transformer_of(**NO_NORM | {"gated": True, "activation": "silu"})
    tap = Recorder()
    model(x, tap)
    (block,) = model.blocks
    read, pre = tap.found["mlp_in.0"], tap.found["pre.0"]
    close(pre, read @ block.mlp[0].weight.T)
    hidden = pre * pre.sigmoid() * (read @ block.up.weight.T)
    close(tap.found["mlp_out.0"], hidden @ block.mlp[1].weight.T)


def test_rotary_positions_by_hand():
    """Pairs turn by position / 10000^(2j/size), so lengths stay and products see
    distances only."""
    x = torch.ones(3, 4, dtype=torch.float64)
    turned = transformer.rotate(x)
    close(turned[0], x[0])
    c, s = math.cos(2 / 100), math.sin(2 / 100)  # second pair, position 2
    assert turned[2, [1, 3]].tolist() == pytest.approx([c - s, s + c])
    torch.manual_seed(0)
    query, key = torch.randn(2, 6, dtype=torch.float64)
    products = [
        transformer.rotate(query[None], first=5 + shift)
        @ transformer.rotate(key[None], first=2 + shift).T
        for shift in (0, 3, 40)
    ]
    assert products[1].item() == pytest.approx(products[0].item())
    assert products[2].item() == pytest.approx(products[0].item())
    assert products[0].item() != pytest.approx((query @ key).item())


def test_a_share_of_a_head_turns():
    """The first entries as if alone, the others not at all."""
    torch.manual_seed(0)
    x = torch.randn(2, 9, 8, dtype=torch.float64)
    turned = transformer.rotate(x, first=3, turned=4)
    assert torch.equal(turned[..., :4], transformer.rotate(x[..., :4], first=3))
    assert torch.equal(turned[..., 4:], x[..., 4:])
    assert torch.equal(transformer.rotate(x, turned=8), transformer.rotate(x))
    options = NO_NORM | {"learned_positions": False, "causal": True, "width": 16}
    tokens = torch.tensor([[1, 2, 3], [2, 1, 3]])
    half, whole, every = (
        transformer_of(**options | {"positions": 3, "rotary": rotary})[0](tokens)
        for rotary in (0.5, 1.0, True)
    )
    assert torch.equal(whole, every)
    assert not torch.allclose(half, whole)


def test_angles_are_exact_in_bfloat16():
    """Whose numbers step by 2 from position 256 on, and by 16 from 2048 on."""
    x = torch.ones(2, 4, dtype=torch.bfloat16)
    ours = transformer.rotate(x, first=2001)
    assert ours.dtype == torch.bfloat16
    true = transformer.rotate(x.double(), first=2001)
    torch.testing.assert_close(ours.double(), true, rtol=0, atol=1e-2)


def test_rotary_network_sees_order_alone():
    """Without learned positions: repeated tokens look alike, an order does not."""
    options = NO_NORM | {"rotary": True, "learned_positions": False, "causal": True}
    model, _ = transformer_of(**options | {"positions": 3, "depth": 2})
    logits = model(torch.tensor([[1, 2, 3], [2, 1, 3]]))
    assert not torch.allclose(logits[0], logits[1])
    bag, _ = transformer_of(**options | {"positions": 3, "rotary": False})
    logits = bag(torch.tensor([[1, 2, 3], [2, 1, 3]]))
    close(logits[0], logits[1])


def test_norms_on_queries_and_keys():
    """A longer query matrix changes no score."""
    model, x = transformer_of(**NO_NORM | {"query_key_norm": True, "norm_eps": 0.0})
    before = model(x)
    with torch.no_grad():
        model.blocks[0].attention.query.weight.mul_(3)
    close(model(x), before)


def test_dropout_sites():
    options = NO_NORM | {"dropout": 0.5, "hidden": (16, 12), "read": "all"}
    model, _ = transformer_of(**options, dropout_at=transformer.DROPOUT_SITES)
    block = [name.removeprefix("blocks.0.") for name in sites(model)]
    assert sorted(block) == [
        "attention.dropout",
        "dropout",
        "dropout_attention_out",
        "dropout_hidden.0",
        "dropout_hidden.1",
        "dropout_mlp_out",
    ]
    model, _ = transformer_of(**options, dropout_at=("hidden",))
    assert sites(model) == ["blocks.0.dropout_hidden.0", "blocks.0.dropout_hidden.1"]


# What was published ------------------------------------------------------------------


def network_of(spec):
    torch.manual_seed(42)
    factory = {"mlp": models.MLP, "transformer": models.Transformer}[spec.name]
    return factory(**spec.options).requires_grad_(False)


def test_released_sizes():
    assert size(network_of(prieto2025.mlp())) == 107_800
    assert size(network_of(prieto2025.mlp(bias=True))) == 108_313
    assert size(models.MLP(2, features=43)) == 49_402
    assert size(models.MLP(113, features=14)) == 65_913
    assert size(models.MLP(10, features=784)) == 199_210
    assert size(network_of(prieto2025.ENCODER)) == 622_065
    # the first public code has 488,320: a row for a third position nobody reads
    no_norm = network_of(prieto2025.NANDA)
    assert size(no_norm) + 128 == 488_320


def test_initial_norms_and_loss():
    mlp = network_of(prieto2025.mlp())
    norms = [float(w.norm()) for w in mlp.parameters()]
    assert norms == pytest.approx([8.2, 8.2, 6.1], abs=0.1)
    assert math.hypot(*norms) == pytest.approx(13.0, abs=0.1)
    encoder = network_of(prieto2025.ENCODER)
    assert float(encoder.embedding.norm()) == pytest.approx(120, abs=2)
    no_norm = network_of(prieto2025.NANDA)
    assert float(no_norm.embedding.std()) == pytest.approx(128**-0.5, rel=0.02)
    assert float(no_norm.unembedding.weight.std()) == pytest.approx(114**-0.5, rel=0.02)
    x = torch.cartesian_prod(torch.arange(113), torch.arange(113))
    loss = F.cross_entropy(mlp(x), x.sum(1) % 113)
    assert float(loss) == pytest.approx(math.log(113), abs=0.05)


@pytest.mark.parametrize(
    ("name", "loss"),
    [("No LN", 4.7413), ("A*", 4.824), ("M+A*", 4.934), ("M", 4.867), ("A^v", 4.814)],
)
def test_initial_state_of_singh(name, loss):
    """Section 2.3 of the specification: sizes, norm and loss at the start."""
    network = singh2026.network("paper", singh2026.NORMS[name])
    losses = []
    for seed in range(4):
        torch.manual_seed(seed)
        data = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
        model = models.Transformer(**network.options).requires_grad_(False)
        losses.append(float(F.cross_entropy(model(data.x_train), data.y_train)))
    assert len(data.y_train) == 3831 and len(data.y_test) == 8938
    assert sum(losses) / 4 == pytest.approx(loss, abs=0.03)
    norms = 256 * len(model.blocks[0].norms)
    assert size(model) == 226_816 + norms
    length = math.sqrt(sum(float(p.square().sum()) for p in model.parameters()))
    assert length == pytest.approx(math.sqrt(31.84**2 + norms / 2), abs=0.1)
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    assert shapes["embedding"] == (114, 128) and shapes["position"] == (3, 128)
    assert shapes["blocks.0.mlp.0.weight"] == (512, 128)
    assert shapes["unembedding.weight"] == (114, 128)


def test_three_layers_of_singh():
    network = singh2026.network("paper", (), depth=3, width=64, hidden=(256,))
    assert size(network_of(network)) == 163_200


def test_parameter_names_are_those_of_kept_weights():
    """Records hold weights by these names."""
    names = [name for name, _ in models.Transformer(**FULL).named_parameters()]
    assert names == [
        "embedding",
        "position",
        *(
            f"blocks.0.attention.{part}.weight"
            for part in ("query", "key", "value", "output")
        ),
        *(f"blocks.0.mlp.{k}.{kind}" for k in range(2) for kind in ("weight", "bias")),
        *(
            f"blocks.0.norms.{owner}.{kind}"
            for owner in ("attention", "mlp")
            for kind in ("weight", "bias")
        ),
        "unembedding.weight",
    ]
    names = [
        name for name, _ in models.MLP(P, vocabulary=P, bias=False).named_parameters()
    ]
    assert names == [f"layers.{k}.weight" for k in range(3)]


def test_errors_name_the_value():
    for options, message in (
        ({"norms": ("everywhere",)}, "unknown norm position .*query_key"),
        ({"initialisation": "zeros"}, "unknown initialisation 'zeros'"),
        ({"norm": "batch"}, "unknown norm 'batch'"),
        ({"read": "first"}, "unknown read 'first'"),
        ({"read": 0}, "read is 0: read at least 1 position"),
        ({"read": -2}, "read is -2: read at least 1 position"),
        ({"activation": "tanh"}, "unknown activation 'tanh'"),
        ({"dropout_at": ("logits",)}, "unknown dropout site 'logits'"),
        ({"dropout": 1.5}, r"dropout is 1.5, but it must lie in \[0, 1\)"),
        ({"tied": True}, "3 classes and a vocabulary of 5, .* make them equal"),
        ({"heads": 3}, "3 heads cannot share a width of 128"),
        ({"joint": True, "norms": ("value",)}, "name both of query_key and value"),
        ({"rotary": True, "width": 12}, "here 3 wide"),
        ({"rotary": 0.5, "width": 24}, "rotary is 0.5, .*here 6 wide"),
        ({"rotary": 1.5}, "rotary is 1.5, but it is the share of a head"),
        ({"gated": True, "hidden": (8, 8)}, r"hidden=\(8, 8\), but a gated MLP"),
    ):
        with pytest.raises(ValueError, match=message):
            models.Transformer(3, vocabulary=5, **options)
    for options, message in (
        ({}, "either vocabulary= .* or features="),
        ({"vocabulary": 3, "features": 3}, "either vocabulary= .* or features="),
        ({"vocabulary": 3, "norm": "group"}, "unknown norm 'group'"),
        ({"vocabulary": 3, "head_norm": "rms"}, "unknown head norm 'rms'"),
    ):
        with pytest.raises(ValueError, match=message):
            models.MLP(3, **options)


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
