"""Shortcuts: equal to the plain form, in every derivative, alone and in a stack."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from golden.arms import ARMS
from shapes import check
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call, grad, vmap

from grokbook import models
from grokbook.models import fast, taps

check(fast)
check(taps)

FACTORIES = {
    "mlp": models.MLP,
    "transformer": models.Transformer,
    "gpt2": models.gpt2,
    "decoder": models.decoder,
    "resnet18": models.ResNet18,
}
SMALL = {"classes": 7, "vocabulary": 8, "width": 8, "heads": 2, "hidden": (16,)}
DEEP = SMALL | {"depth": 2, "positions": 4, "causal": True}
CASES = {str(arm.model): (arm.model.name, arm.model.options) for arm in ARMS} | {
    name: ("transformer", options)
    for name, options in {
        "first layer on tables": DEEP | {"bias": True, "norms": ("value", "post_mlp")},
        "rotary, last position": DEEP | {"rotary": True, "final_norm": True},
        "gated, norms on queries": DEEP | {"query_key_norm": True, "gated": True},
        "stablemax attention": DEEP | {"attention": "stablemax", "joint": True},
        "too many tokens for a table": SMALL | {"vocabulary": 1025},
        "too many positions for a table": SMALL | {"positions": 9},
        **{f"norm at {p}": SMALL | {"norms": (p,)} for p in models.NORM_POSITIONS},
    }.items()
}
CASES["decoder"] = (
    "decoder",
    {"vocabulary": 9, "depth": 2, "width": 8, "heads": 2, "hidden": 12},
)
needs_onednn = pytest.mark.skipif(
    "onednn" not in fast.libraries(), reason="this build of PyTorch has no oneDNN"
)
libraries = pytest.mark.parametrize(
    "library", ["torch", pytest.param("onednn", marks=needs_onednn)]
)


def close(ours, true, tolerance=1e-12):
    torch.testing.assert_close(ours, true, rtol=0, atol=tolerance)


def build(name, seed=0, dtype=torch.float64):
    """A network away from its start, training except for its dropout, and rows."""
    kind, options = CASES[name]
    torch.manual_seed(seed)
    model = FACTORIES[kind](**options).to(dtype)
    for parameter in model.parameters():  # norms and biases start at 1 and 0
        parameter.data += 0.1 * torch.randn_like(parameter)
    for module in model.modules():
        module.train(not isinstance(module, taps.Dropout))
    if kind == "resnet18":
        return model, torch.randn(4, 3, 32, 32, dtype=dtype)
    if options.get("vocabulary") is None:
        return model, torch.randn(30, options["features"], dtype=dtype)
    return model, torch.randint(
        options["vocabulary"], (30, options.get("positions", 2))
    )


def loss_of(logits):
    """A smooth loss that depends on every logit."""
    labels = torch.arange(math.prod(logits.shape[:-1])) % logits.shape[-1]
    return F.cross_entropy(logits.flatten(0, -2), labels)


def state_of(model):
    params = {name: p.detach().clone() for name, p in model.named_parameters()}
    return params, {name: b.clone() for name, b in model.named_buffers()}


def value_and_gradients(model, x):
    model = copy.deepcopy(model)  # running means move
    logits = model(x)
    loss_of(logits).backward()
    return logits.detach(), [p.grad for p in model.parameters()]


@pytest.mark.parametrize("name", CASES)
def test_shortcuts_equal_the_plain_form(name):
    model, x = build(name)
    ours = value_and_gradients(model, x)
    with fast.off():
        close(ours, value_and_gradients(model, x))


@pytest.mark.parametrize("name", CASES)
def test_a_tap_sees_every_place_of_the_plain_form(name):
    model, x = build(name)
    tap = taps.Recorder()
    logits = copy.deepcopy(model)(x, tap)
    assert tuple(tap.found) == model.places()
    with fast.off():
        close(logits, copy.deepcopy(model)(x))


@libraries
@pytest.mark.parametrize("name", CASES)
def test_a_stack_equals_one_member_at_a_time(name, library):
    """Value, gradients and running means; parameters and buffers have a member axis."""
    members = [build(name, seed)[0] for seed in range(3)]
    x = torch.stack([build(name, seed)[1] for seed in range(3)])
    states = [state_of(member) for member in members]
    params, buffers = (
        {k: torch.stack([state[part][k] for state in states]) for k in states[0][part]}
        for part in range(2)
    )

    def loss(params, buffers, x):
        return loss_of(functional_call(members[0], (params, buffers), (x,)))

    stack = {name: p.requires_grad_() for name, p in params.items()}
    with fast.matmul(library):
        values = vmap(loss, randomness="different")(stack, buffers, x)
        values.sum().backward()
        for k, (own_params, own_buffers) in enumerate(states):
            own = {name: p.requires_grad_() for name, p in own_params.items()}
            value = loss(own, own_buffers, x[k])
            value.backward()
            close(values[k], value)
            close({n: p.grad[k] for n, p in stack.items()}, _grads(own))
            close({n: b[k] for n, b in buffers.items()}, own_buffers)


def _grads(params):
    return {name: p.grad for name, p in params.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_pass_never_waits_for_the_device(name):
    """Tensors without values can be asked for none: no .item(), no branch on one."""
    model, x = build(name)
    model, x = model.to("meta"), x.to("meta")
    for tap in (None, taps.Recorder()):
        assert model(x, tap).is_meta
    with fast.off():
        assert model(x).is_meta


# Second derivatives ------------------------------------------------------------------

CURVED = {
    "features": lambda: models.MLP(4, (7, 5), features=6, activation="gelu"),
    "tokens": lambda: models.MLP(4, (7,), vocabulary=5, activation="gelu"),
    "tables": lambda: models.Transformer(
        4, vocabulary=5, depth=2, width=8, heads=2, hidden=(9,), activation="gelu"
    ),
    "stablemax": lambda: models.gpt2(
        5, positions=3, width=4, heads=2, depth=1, dropout=0.0, attention="stablemax"
    ),
}


def curved(name, dtype):
    torch.manual_seed(0)
    model = CURVED[name]().double()
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    x = torch.randn(12, 6) if name == "features" else torch.randint(5, (12, 2))
    direction = [torch.randn_like(p).to(dtype) for p in model.parameters()]
    return model.to(dtype), x.to(dtype) if name == "features" else x, direction


def gradient(model, x, **options):
    return torch.autograd.grad(loss_of(model(x)), [*model.parameters()], **options)


def product_with_hessian(model, x, direction):
    slopes = gradient(model, x, create_graph=True)
    along = sum((a * b).sum() for a, b in zip(slopes, direction, strict=True))
    return torch.autograd.grad(along, [*model.parameters()])


def by_differences(model, x, direction, step=1e-5):
    """The same from gradients of the plain form on both sides, in float64."""
    model = copy.deepcopy(model).double()
    x = x.double() if x.is_floating_point() else x
    slopes = []
    for side in (1, -2):
        for p, d in zip(model.parameters(), direction, strict=True):
            p.data += side * step * d.double()
        with fast.off():
            slopes.append(gradient(model, x))
    return [(a - b) / (2 * step) for a, b in zip(*slopes, strict=True)]


def distance(ours, true):
    """Length of the difference relative to that of the true vector, in float64."""
    ours, true = (torch.cat([t.flatten().double() for t in v]) for v in (ours, true))
    return float((ours - true).norm() / true.norm())


@libraries
@pytest.mark.parametrize(
    ("dtype", "rounding", "truncation"),
    [(torch.float32, 1e-5, 1e-5), (torch.float64, 1e-13, 1e-7)],
)
@pytest.mark.parametrize("name", CURVED)
def test_second_derivatives(name, dtype, rounding, truncation, library):
    model, x, direction = curved(name, dtype)
    with fast.matmul(library):
        ours = product_with_hessian(model, x, direction)
    with fast.off():
        plain = product_with_hessian(model, x, direction)
    assert distance(ours, plain) < rounding
    assert distance(ours, by_differences(model, x, direction)) < truncation


@libraries
def test_building_blocks_in_every_derivative(library):
    torch.manual_seed(0)
    table = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([[0, 3], [1, 5], [0, 0], [2, 3]])
    with fast.matmul(library):
        for function, inputs in (
            (lambda t: fast.gather(t, index[:, 0]).sin(), table),
            (lambda t: fast.gather_sum(t, index).sin(), table),
        ):
            assert gradcheck(function, inputs)
            assert gradgradcheck(function, inputs)


@needs_onednn
def test_third_derivatives_of_a_float32_product():
    """d/dx of (x w)^3 is 3 w^3 x^2, 6 w^3 x, 6 w^3."""
    x = torch.tensor([[2.0]], requires_grad=True)
    weight = torch.tensor([[1.5]], requires_grad=True)
    with fast.matmul("onednn"):
        value = fast.linear(x, weight).pow(3)
        for expected in (40.5, 40.5, 20.25):
            (value,) = torch.autograd.grad(value.sum(), x, create_graph=True)
            assert value.item() == pytest.approx(expected)


# Building blocks ---------------------------------------------------------------------


@needs_onednn
def test_onednn_equals_torch_within_rounding():
    """Value and gradients; the error stays that of summing 300 float32 terms."""

    def run(function, tensors, dtype):
        leaves = [t.to(dtype).requires_grad_() for t in tensors]
        out = function(*leaves)
        (out * out.detach().sin()).sum().backward()
        return [out.detach(), *(leaf.grad for leaf in leaves)]

    torch.manual_seed(0)
    for shape in ((300, 50), (20, 3, 50)):
        for bias in ([torch.randn(40)], []):
            tensors = [torch.randn(shape), torch.randn(40, 50), *bias]
            exact = run(F.linear, tensors, torch.float64)
            with fast.matmul("onednn"):
                found = run(fast.linear, tensors, torch.float32)
            for ours, true in zip(found, exact, strict=True):
                assert ours.dtype == torch.float32
                assert (ours.double() - true).norm() / true.norm() < 2e-6


@needs_onednn
def test_onednn_takes_a_gradient_without_memory_of_its_own():
    """That of a sum is one number seen everywhere."""
    x, weight = torch.randn(30, 5), torch.randn(4, 5, requires_grad=True)
    with fast.matmul("onednn"):
        fast.linear(x, weight).sum().backward()
    close(weight.grad, x.sum(0).expand(4, 5), 1e-5)


@needs_onednn
def test_onednn_gets_dense_matrices(monkeypatch):
    """On rows with gaps, as one position of a sequence has, it is 200 times slower."""
    product, seen = fast._by_onednn, []

    def spy(x, weight, *rest):
        seen.extend((x, weight))
        return product(x, weight, *rest)

    monkeypatch.setattr(fast, "_by_onednn", spy)
    x, weight = torch.randn(20, 3, 8), torch.randn(5, 8, requires_grad=True)
    with fast.matmul("onednn"):
        fast.linear(x[:, -1:], weight).square().sum().backward()
    matrices = [t for t in seen if t.dim() == 2]
    assert len(matrices) == 3
    assert all(t.is_contiguous() or t.T.is_contiguous() for t in matrices)


@needs_onednn
@pytest.mark.parametrize("stacked", [False, True])
def test_onednn_takes_part_in_a_network(stacked, monkeypatch):
    """In float32 as torch's within rounding; in a stack torch's own, so the same."""
    torch.manual_seed(0)
    model = models.MLP(7, (9,), vocabulary=7)
    x = torch.randint(7, (40, 2))
    weights = {
        name: torch.stack([p.data, 2 * p.data])
        for name, p in state_of(model)[0].items()
    }

    def gradients():
        if not stacked:
            return value_and_gradients(model, x)
        return vmap(grad(lambda p: loss_of(functional_call(model, p, (x,)))))(weights)

    plain, calls = gradients(), []
    product = fast._by_onednn
    monkeypatch.setattr(fast, "_by_onednn", lambda *a: calls.append(a) or product(*a))
    with fast.matmul("onednn"):
        close(gradients(), plain, 1e-6)
        assert bool(calls) is not stacked
        calls.clear()
        with fast.off():
            gradients()
        assert not calls


def test_libraries_are_named(monkeypatch):
    with pytest.raises(ValueError, match="unknown matmul library 'mkl': use one of"):
        fast.matmul("mkl")
    monkeypatch.setattr(fast, "_has_onednn", lambda: False)
    assert fast.libraries() == ("torch",)
    with pytest.raises(ValueError, match="'onednn': use one of torch"):
        fast.matmul("onednn")


def test_one_pass_sum_of_rows_equals_one_row_at_a_time():
    """Bit for bit, gradient included: both add from left to right."""
    torch.manual_seed(0)
    index = torch.randint(6, (40, 3)) + torch.tensor([0, 6, 12])
    weight, table = torch.randn(40, 4), torch.randn(18, 4)

    def run(function):
        leaf = table.clone().requires_grad_()
        total = function(leaf, index)
        (total * weight).sum().backward()
        return total.detach(), leaf.grad

    for ours, one_by_one in zip(
        run(fast.gather_sum), run(fast._gather_each), strict=True
    ):
        assert torch.equal(ours, one_by_one)


@pytest.mark.parametrize("rows_by_one_hot", [None, 0, 6])
def test_gather_gradient_also_under_vmap(monkeypatch, rows_by_one_hot):
    """Repeated rows add up, each member has its own table; the forms of a GPU too."""
    if rows_by_one_hot is not None:
        monkeypatch.setattr(fast, "on_gpu", lambda _: True)
        monkeypatch.setattr(fast, "_ONE_HOT_ROWS", rows_by_one_hot)
    torch.manual_seed(0)
    table = torch.randn(3, 6, 4, dtype=torch.float64)
    index = torch.randint(6, (3, 20))
    weight = torch.randn(3, 20, 4, dtype=torch.float64)

    def by(function):
        return vmap(grad(lambda t, i, w: (function(t, i) * w).sum()))

    one_hot = F.one_hot(index, 6).double()
    expected = one_hot.transpose(1, 2) @ weight
    close(by(fast.gather)(table, index, weight), expected)
    pair = torch.stack([index, index.roll(1, 1)], -1)
    expected = expected + one_hot.roll(1, 1).transpose(1, 2) @ weight
    close(by(fast.gather_sum)(table, pair, weight), expected)
    shared = vmap(fast.gather, in_dims=(0, None))(table, index[0])
    assert torch.equal(shared, table[:, index[0]])
    summed = vmap(fast.gather_sum, in_dims=(0, None))(table, pair[0])
    close(summed, table[:, pair[0]].sum(2))


def test_scaled_gradients():
    """A power of two on the way back and nothing else; not to be taken further."""
    x = torch.randn(5, requires_grad=True)
    y = fast.scaled(x, 2.0**64)
    assert torch.equal(y, x)
    (y.sin().sum() + y.square().sum()).backward()
    assert torch.equal(x.grad, 2.0**64 * (x.cos() + 2 * x).detach())
    assert not fast.scaled(x.detach(), 2.0).requires_grad
    with pytest.raises(
        RuntimeError, match="create_graph=True on a gradient scaled by 2"
    ):
        torch.autograd.grad(fast.scaled(x, 2.0).sin().sum(), x, create_graph=True)
