"""Networks: shortcut = plain form, torch's own layers as reference, known sizes."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from grokbook import datasets, kernels, models
from grokbook.experiment import options, resolve
from grokbook.papers import prieto2025, singh2026

P = 7
NO_NORM = {"classes": P, "vocabulary": P + 1, "width": 8, "heads": 2, "hidden": (16,)}
SINGH = NO_NORM | {
    "positions": 3,
    "norm_eps": 0.0,
    "mlp_bias": True,
    "activation": "gelu",
    "initialisation": "lecun",
}
NETWORKS = {
    "mlp": (models.MLP, {"classes": P, "vocabulary": P, "widths": (9, 5)}),
    "mlp, no bias": (
        models.MLP,
        {"classes": P, "vocabulary": P, "widths": (9,), "bias": False},
    ),
    "mlp, three tokens": (
        models.MLP,
        {"classes": P, "vocabulary": P + 1, "positions": 3, "widths": (9,) * 4},
    ),
    "no norm, causal": (
        models.Transformer,
        NO_NORM | {"hidden": (16, 16), "causal": True},
    ),
    "three tokens": (models.Transformer, NO_NORM | {"positions": 3}),
    "post-norm encoder": (
        models.Transformer,
        NO_NORM
        | {
            "norms": ("post_attention", "post_mlp"),
            "learned_positions": False,
            "bias": True,
            "initialisation": "torch",
        },
    ),
    "two causal layers": (
        models.Transformer,
        NO_NORM | {"positions": 3, "depth": 2, "causal": True, "activation": "gelu"},
    ),
    "three layers": (models.Transformer, NO_NORM | {"depth": 3, "bias": True}),
    "a b =": (models.Transformer, SINGH | {"norms": ("query_key", "value", "mlp")}),
    "a b =, RMSNorm": (
        models.Transformer,
        SINGH | {"norms": ("value",), "norm": "rms"},
    ),
    "a b =, three layers": (
        models.Transformer,
        SINGH | {"norms": ("query_key", "mlp"), "depth": 3},
    ),
} | {
    f"norm at {position}": (models.Transformer, NO_NORM | {"norms": (position,)})
    for position in models.NORM_POSITIONS
}


def build(name, **changes):
    network, settings = NETWORKS[name]
    torch.manual_seed(0)
    model = network(**settings | changes).double()
    for parameter in model.parameters():  # norms and biases start at 1 and 0
        parameter.data += 0.1 * torch.randn_like(parameter)
    rows = settings.get("positions", 2)
    return model, torch.randint(settings["vocabulary"], (40, rows))


def gradients(model, x):
    torch.manual_seed(1)
    labels = torch.randint(P, (len(x),))
    model.zero_grad()
    logits = model(x)
    F.cross_entropy(logits, labels).backward()
    return logits.detach(), {n: p.grad.clone() for n, p in model.named_parameters()}


@pytest.mark.parametrize("name", NETWORKS)
def test_shortcuts_equal_the_plain_form(name):
    logits, grads = gradients(*build(name))
    plain_logits, plain_grads = gradients(*build(name, plain=True))
    torch.testing.assert_close(logits, plain_logits, rtol=0, atol=1e-12)
    for key in grads:
        torch.testing.assert_close(grads[key], plain_grads[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_vmap_over_members_equals_one_at_a_time(name):
    members = [build(name)[0] for _ in range(3)]
    x = torch.stack([build(name)[1].roll(k, 0) for k in range(3)])
    for k, member in enumerate(members):
        for parameter in member.parameters():
            parameter.data *= 1 + k / 10
    stack = {
        n: torch.stack([dict(m.named_parameters())[n].data for m in members])
        for n, _ in members[0].named_parameters()
    }

    def loss(params, x):
        logits = functional_call(members[0], params, (x,))
        return F.cross_entropy(logits, x[:, 0] % P)

    together = vmap(grad(loss))(stack, x)
    for k, member in enumerate(members):
        alone = grad(loss)({n: p.detach() for n, p in member.named_parameters()}, x[k])
        for key in alone:
            torch.testing.assert_close(together[key][k], alone[key], rtol=0, atol=1e-12)


def test_mlp_is_linear_layers_on_one_hots():
    model, x = build("mlp")
    hidden = F.one_hot(x, P).flatten(1).double()
    for index, layer in enumerate(model.layers):
        hidden = hidden @ layer.weight.T + layer.bias
        hidden = hidden.relu() if index < 2 else hidden
    torch.testing.assert_close(model(x), hidden, rtol=0, atol=1e-12)


def test_post_norm_encoder_is_torchs():
    """Same weights in nn.TransformerEncoderLayer, the released network, same logits."""
    model, x = build("post-norm encoder")
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    (block,) = model.blocks
    attention = block.attention
    projections = (attention.query, attention.key, attention.value)
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
    torch.testing.assert_close(model(x), expected, rtol=0, atol=1e-12)


def test_causal_mask_hides_later_tokens():
    """The first position of a causal block does not see the second."""
    model, _ = build("two causal layers")
    x = torch.randn(4, 3, 8, dtype=torch.float64, requires_grad=True)
    model.blocks[0](x)[:, 0].sum().backward()
    assert (x.grad[:, 1:] == 0).all()
    assert (x.grad[:, 0] != 0).any()


def test_capture_leaves_named_activations():
    seen = {}
    model, x = build("mlp")
    model(x, seen)
    assert set(seen) == {"pre.0", "hidden.0", "pre.1", "hidden.1"}
    assert torch.equal(seen["pre.1"].relu(), seen["hidden.1"])
    model, x = build("no norm, causal")
    logits = model(x, seen)
    assert torch.equal(model.unembedding(seen["features"]), logits)

    model, x = build("two causal layers")
    seen = {}
    logits = model(x, seen)
    torch.testing.assert_close(logits, model(x), rtol=0, atol=1e-12)
    assert [w.shape for w in seen["attention"]] == [(40, 2, 3, 3)] * 2
    for weights in seen["attention"]:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert (weights.triu(1) == 0).all()


@pytest.mark.parametrize("unit_input", models.UNIT_INPUTS)
@pytest.mark.parametrize("name", ["a b =", "a b =, RMSNorm", "a b =, three layers"])
def test_unit_input_of_the_mlp(name, unit_input):
    """The shortcut again, and that the length of what the MLP reads is 1."""
    model, x = build(name)
    inputs = []
    model.blocks[-1].mlp[0].register_forward_hook(lambda *a: inputs.append(a[1][0]))
    logits = model(x, unit_input=unit_input)
    lengths = torch.linalg.vector_norm(inputs[0], dim=-1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths), rtol=0, atol=1e-12)
    plain = build(name, plain=True)[0](x, unit_input=unit_input)
    torch.testing.assert_close(logits, plain, rtol=0, atol=1e-12)
    assert not torch.allclose(logits, model(x))


def test_norms_remove_the_scale_where_they_sit():
    """[Singh, Table 1]: A* ignores the length of each row of x, M that of y."""
    rows = torch.rand(40, 3, 1, dtype=torch.float64) + 0.5
    for norms, name in ((("query_key", "value"), "attention"), (("mlp",), "mlp")):
        for norm in models.NORMS:
            model, _ = build("a b =", norms=norms, norm=norm)
            (block,) = model.blocks
            for layer in block.norms.values():
                torch.nn.init.ones_(layer.weight)
                if norm == "layer":
                    torch.nn.init.zeros_(layer.bias)
            x = torch.randn(40, 3, 8, dtype=torch.float64)

            def read(x, block=block, name=name):
                if name == "mlp":
                    return block.mlp[0](block.norm("mlp", x))
                inputs = block.norm("query_key", x), block.norm("value", x)
                return block.attention(*inputs, 0)

            torch.testing.assert_close(read(x), read(rows * x), rtol=0, atol=1e-12)
            without, _ = build("a b =", norms=())
            (block,) = without.blocks
            assert not torch.allclose(read(x, block), read(rows * x, block))


def network_of(spec):
    torch.manual_seed(42)
    return resolve("model", spec)(**options(spec)).requires_grad_(False)


def size(model):
    return sum(p.numel() for p in model.parameters())


def test_released_sizes():
    assert size(network_of(prieto2025.mlp(113))) == 107_800
    assert size(network_of(prieto2025.mlp(113, bias=True))) == 108_313
    assert size(models.MLP(2, features=43)) == 49_402
    assert size(models.MLP(113, features=14)) == 65_913
    assert size(models.MLP(10, features=784)) == 199_210
    assert size(network_of(prieto2025.torch_encoder(113, 128))) == 622_065
    # the first public code has 488,320: a row for a third position nobody reads
    no_norm = network_of(prieto2025.nanda(113, 128))
    assert size(no_norm) + 128 == 488_320


def test_initial_norms_and_loss():
    mlp = network_of(prieto2025.mlp(113))
    norms = [float(w.norm()) for w in mlp.parameters()]
    assert norms == pytest.approx([8.2, 8.2, 6.1], abs=0.1)
    assert math.hypot(*norms) == pytest.approx(13.0, abs=0.1)
    encoder = network_of(prieto2025.torch_encoder(113, 128))
    assert float(encoder.embedding.norm()) == pytest.approx(120, abs=2)
    no_norm = network_of(prieto2025.nanda(113, 128))
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
        model = resolve("model", network)(**options(network)).requires_grad_(False)
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


def test_errors_name_the_choices():
    with pytest.raises(ValueError, match="either vocabulary= .* or features="):
        models.MLP(3)
    with pytest.raises(ValueError, match="unknown norm position .*query_key"):
        models.Transformer(3, vocabulary=3, norms=("everywhere",))
    with pytest.raises(ValueError, match="unknown initialisation 'zeros'"):
        models.Transformer(3, vocabulary=3, initialisation="zeros")
    with pytest.raises(ValueError, match="unknown norm 'batch'"):
        models.Transformer(3, vocabulary=3, norm="batch")
    model, x = build("a b =")
    with pytest.raises(ValueError, match="unknown unit_input 'all'"):
        model(x, unit_input="all")


# Kernels -----------------------------------------------------------------------------


@pytest.fixture
def onednn():
    try:
        kernels._onednn(torch.ones(2, 3), torch.ones(4, 3), None)
    except (AttributeError, RuntimeError, NotImplementedError):
        pytest.skip("this build of PyTorch has no oneDNN")
    kernels.set_backend("onednn")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(300, 50), (20, 3, 50)])
def test_onednn_equals_torch_within_rounding(onednn, shape, bias):
    """Value and gradients; the error stays that of summing 300 float32 terms."""
    torch.manual_seed(0)
    tensors = [torch.randn(shape), torch.randn(40, 50)]
    tensors += [torch.randn(40)] if bias else []

    def run(function, dtype):
        leaves = [t.to(dtype).requires_grad_() for t in tensors]
        out = function(*leaves)
        (out * out.detach().sin()).sum().backward()
        return [out.detach(), *(leaf.grad for leaf in leaves)]

    exact = run(F.linear, torch.float64)
    for ours, true in zip(run(kernels.linear, torch.float32), exact, strict=True):
        assert ours.dtype == torch.float32
        error = (ours.double() - true).norm() / true.norm()
        assert error < 2e-6


@pytest.mark.parametrize("sizes", [(50, 40), (20, 90)])
def test_relu_in_the_same_pass_changes_no_bit(onednn, sizes):
    torch.manual_seed(0)
    x, weight = torch.randn(300, sizes[0]), torch.randn(sizes[1], sizes[0])
    found = []
    for fused in (True, False):
        leaves = [t.clone().requires_grad_() for t in (x, weight)]
        out = kernels.linear(*leaves, relu=fused)
        out = out if fused else out.relu()
        (out * out.detach().sin()).sum().backward()
        found.append([out.detach(), *(leaf.grad for leaf in leaves)])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_onednn_gets_dense_matrices(onednn, monkeypatch):
    """On rows with gaps, as one position of a sequence has, it is 200 times slower."""
    product, seen = kernels._onednn, []

    def spy(x, weight, *rest):
        seen.extend((x, weight))
        return product(x, weight, *rest)

    monkeypatch.setattr(kernels, "_onednn", spy)
    x, weight = torch.randn(20, 3, 8), torch.randn(5, 8, requires_grad=True)
    kernels.linear(x[:, -1:], weight).square().sum().backward()
    matrices = [t for t in seen if t.dim() == 2]
    assert len(matrices) == 3
    assert all(t.is_contiguous() or t.T.is_contiguous() for t in matrices)


def test_onednn_takes_part_in_a_network(onednn):
    torch.manual_seed(0)
    model = models.MLP(P, (9,), vocabulary=P)
    x = torch.randint(P, (40, 2))
    fast = gradients(model, x)
    kernels.set_backend("torch")
    plain = gradients(model, x)
    torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-6)


def test_one_pass_sum_of_rows_equals_one_row_at_a_time(onednn):
    """Bit for bit, gradient included: both add from left to right."""
    torch.manual_seed(0)
    index = torch.randint(6, (40, 3)) + torch.tensor([0, 6, 12])
    weight = torch.randn(40, 4)
    found = []
    for backend in ("onednn", "torch"):
        kernels.set_backend(backend)
        table = torch.randn(18, 4, generator=torch.Generator().manual_seed(1))
        total = kernels.gather_sum(table.requires_grad_(), index)
        (total * weight).sum().backward()
        found.append((total.detach(), table.grad))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_backend_and_timing():
    with pytest.raises(ValueError, match="unknown matmul backend 'mkl'"):
        kernels.set_backend("mkl")
    assert kernels.best_time(lambda: None) >= 0


def test_gather_gradient_also_under_vmap():
    """Repeated rows add up, and each member keeps to its own table."""
    torch.manual_seed(0)
    table = torch.randn(3, 6, 4, dtype=torch.float64)
    index = torch.randint(6, (3, 20))
    weight = torch.randn(3, 20, 4, dtype=torch.float64)

    def by(function):
        return vmap(grad(lambda t, i, w: (function(t, i) * w).sum()))

    ours = by(kernels.gather)(table, index, weight)
    one_hot = F.one_hot(index, 6).double()
    expected = one_hot.transpose(1, 2) @ weight
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    shared = vmap(kernels.gather, in_dims=(0, None))(table, index[0])
    assert torch.equal(shared, table[:, index[0]])
