"""Shortcuts: equal to the plain form, in every derivative, alone and in a stack."""

import copy
import math
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from golden.arms import ARMS
from helpers import away, close
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functional_call, grad, vmap
from torch.utils._pytree import tree_map

from claimbook.experiment import Spec
from claimbook.names import resolve
from claimbook.protocol import Recorder, switched
from grokbook import losses, models
from grokbook.models import fast, transformer

SMALL = {"classes": 7, "vocabulary": 8, "width": 8, "heads": 2, "hidden": (16,)}
DEEP = SMALL | {"depth": 2, "positions": 4, "causal": True}
IMAGES = {
    "resnet18": {"stem": "cifar", "width": 4, "norm": None},
    "vgg11": {"width": 4, "norm": "batch", "head_norm": "batch", "affine": False},
    "vit": {"width": 8, "depth": 2, "heads": 2, "hidden": 12},
}
CASES = {str(arm.model): (arm.model.name, arm.model.options) for arm in ARMS}
CASES |= {name: (name, {"classes": 10} | how) for name, how in IMAGES.items()}
CASES["free"] = ("free_features", {"classes": 10, "rows": 30, "width": 8})
CASES |= {
    name: ("transformer", options)
    for name, options in {
        "first layer on tables": DEEP | {"bias": True, "norms": ("value", "post_mlp")},
        "rotary, last position": DEEP | {"rotary": True, "final_norm": True},
        "gated, norms on queries": DEEP | {"query_key_norm": True, "gated": True},
        "stablemax attention": DEEP | {"attention": "stablemax", "joint": True},
        "too many tokens for a table": SMALL | {"vocabulary": 1025},
        **{f"norm at {p}": SMALL | {"norms": (p,)} for p in transformer.NORM_AT},
    }.items()
}
needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(),
    reason="needs oneDNN: a build of PyTorch for Linux",
)


def build(name, seed=0):
    """A network away from its start, training except for its dropout, and rows."""
    kind, options = CASES[name]
    torch.manual_seed(seed)
    model = away(resolve("model", Spec(kind))(**options))
    for module in model.modules():
        module.train(not isinstance(module, torch.nn.Dropout))
    if kind == "free_features":
        return model, torch.arange(30)
    if kind in IMAGES:
        return model, torch.randn(4, 3, 32, 32, dtype=torch.float64)
    if (tokens := options.get("vocabulary")) is None:
        return model, torch.randn(30, options["features"], dtype=torch.float64)
    return model, torch.randint(tokens, (30, options.get("positions", 2)))


def loss_of(logits):
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
def test_shortcuts_equal_the_plain_form(name, monkeypatch):
    """In the forms of a GPU too, and with a tap, which sees every place; and nothing
    waits for the device: a tensor without values can be asked for none, by .item() or
    a branch. The last matrix is that of the head."""
    (kind, _), (model, x) = CASES[name], build(name)
    ours, tap = value_and_gradients(model, x), Recorder()
    with switched(shortcuts=False):
        plain = value_and_gradients(model, x)
    close(ours, plain)
    monkeypatch.setattr(losses, "on_gpu", lambda _: True)
    close(value_and_gradients(model, x), plain)
    close(copy.deepcopy(model)(x, tap), plain[0])
    assert tuple(tap.found) == model.places
    head = [p for p in model.parameters() if p.dim() == 2][-1]
    if kind != "gpt2":  # whose head is its embedding; an observable finds all others so
        rest = plain[0] - tap.found["features"] @ head.T  # one bias
        close(rest, rest[:1].expand_as(rest))
    model, x = model.to("meta"), x.to("meta")
    assert model(x).is_meta and model(x, Recorder()).is_meta


@pytest.mark.parametrize("name", CASES)
def test_a_stack_equals_one_member_at_a_time(name):
    members = [build(name, seed)[0] for seed in range(2)]
    x = torch.stack([build(name, seed)[1] for seed in range(2)])
    states = [state_of(member) for member in members]
    stack, buffers = tree_map(lambda *one: torch.stack(one), *states)
    tree_map(lambda p: p.requires_grad_(), (stack, [own for own, _ in states]))

    def loss(params, buffers, x):
        return loss_of(functional_call(members[0], (params, buffers), (x,)))

    values = vmap(loss, randomness="different")(stack, buffers, x)
    values.sum().backward()
    for k, (own, own_buffers) in enumerate(states):
        value = loss(own, own_buffers, x[k])
        value.backward()
        close(values[k], value)
        slopes = {name: p.grad for name, p in own.items()}
        close({name: p.grad[k] for name, p in stack.items()}, slopes)
        close({name: b[k] for name, b in buffers.items()}, own_buffers)


@pytest.mark.parametrize("onednn", [False, pytest.param(True, marks=needs_onednn)])
def test_forward_mode_passes_through_a_network(onednn):
    """For a product of the curvature with a vector, forward over reverse."""
    torch.manual_seed(0)
    model = models.MLP(classes=7, vocabulary=7, widths=(5,), bias=True)
    x = torch.randint(7, (6, 2))
    params = {name: p.detach() for name, p in model.named_parameters()}
    vector = {name: torch.randn_like(p) for name, p in params.items()}
    slope = grad(lambda params: loss_of(functional_call(model, params, (x,))))
    _, expected = torch.func.vjp(slope, params)
    with switched(onednn=onednn):
        _, found = torch.func.jvp(slope, (params,), (vector,))
    torch.testing.assert_close(found, expected(vector)[0])  # the Hessian is symmetric


@needs_onednn
def test_onednn_equals_torch_within_rounding():
    """Value and derivatives; the error stays that of summing 300 float32 terms."""

    def run(function, tensors, dtype):
        leaves = [t.to(dtype).requires_grad_() for t in tensors]
        out = function(*leaves)
        slopes = torch.autograd.grad(out.pow(3).sum(), leaves, create_graph=True)
        twice = torch.autograd.grad(sum(s.sum() for s in slopes), leaves)
        of_sum = torch.autograd.grad(function(*leaves).sum(), leaves)
        return [t.detach() for t in (out, *slopes, *twice, *of_sum)]

    torch.manual_seed(0)
    for shape, bias in product(((300, 50), (20, 3, 50)), ([torch.randn(40)], [])):
        tensors = [torch.randn(shape), torch.randn(40, 50), *bias]
        exact = run(F.linear, tensors, torch.float64)
        with switched(onednn=True):
            found = run(fast.linear, tensors, torch.float32)
        for ours, true in zip(found, exact, strict=True):
            assert ours.dtype == torch.float32
            assert (ours.double() - true).norm() < 5e-6 * true.norm()


@needs_onednn
@pytest.mark.skipif(not fast._HAS_AVX2, reason="needs AVX2 without AVX-512")
def test_the_order_of_a_weights_gradient_changes_no_bit(monkeypatch):
    rows, inputs, outputs = 90, 600, 30
    torch.manual_seed(0)
    x, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    slope, found = torch.randn(rows, outputs), []
    weight.requires_grad_()
    for width in (math.inf, 512):
        monkeypatch.setattr(fast, "_WIDE_INPUTS", width)
        with switched(onednn=True):
            found += torch.autograd.grad(fast.linear(x, weight), weight, slope)
    assert torch.equal(*found)


@needs_onednn
@pytest.mark.parametrize("stacked", [False, True])
def test_onednn_takes_part_in_a_network(stacked, monkeypatch):
    """In float32 as torch's within rounding; in a stack torch's own, so the same."""
    torch.manual_seed(0)
    model = models.MLP(7, (9,), vocabulary=7)
    x = torch.randint(7, (40, 2))
    params = state_of(model)[0].items()
    weights = {name: torch.stack([p.data, 2 * p.data]) for name, p in params}

    def gradients():
        if not stacked:
            return value_and_gradients(model, x)
        return vmap(grad(lambda p: loss_of(functional_call(model, p, (x,)))))(weights)

    plain, calls = gradients(), []
    multiply = fast._onednn_product
    monkeypatch.setattr(
        fast, "_onednn_product", lambda *a: calls.append(a) or multiply(*a)
    )
    with switched(onednn=True):
        close(gradients(), plain, 1e-6)
        assert bool(calls) is not stacked
        calls.clear()
        with switched(shortcuts=False):
            gradients()
        assert not calls


@pytest.mark.parametrize("rows_by_one_hot", [None, 0, 6])
def test_gather_gradient_also_under_vmap(monkeypatch, rows_by_one_hot):
    """Repeated rows add up, each member has its own table; the forms of a GPU too."""
    if rows_by_one_hot is not None:
        monkeypatch.setattr(losses, "on_gpu", lambda _: True)
        monkeypatch.setattr(fast, "_ONE_HOT_ROWS", rows_by_one_hot)
    torch.manual_seed(0)
    table = torch.randn(3, 6, 4, dtype=torch.float64)
    index = torch.randint(6, (3, 20))
    weight = torch.randn(3, 20, 4, dtype=torch.float64)
    pair = torch.stack([index, index.roll(1, 1)], -1)
    one_hot = F.one_hot(index, 6).double()
    once = one_hot.transpose(1, 2) @ weight
    twice = once + one_hot.roll(1, 1).transpose(1, 2) @ weight
    for function, rows, expected in (
        (fast.gather, index, once),
        (fast.gather_sum, pair, twice),
    ):
        weighted = lambda t, i, w, of=function: (of(t, i) * w).sum()  # noqa: E731
        close(vmap(grad(weighted))(table, rows, weight), expected)
        shared = vmap(function, in_dims=(0, None))(table, rows[0])
        seen = table[:, rows[0]]
        close(shared, seen if function is fast.gather else seen.sum(2))
        smooth = lambda t, of=function, i=rows[0]: of(t, i).sin()  # noqa: E731
        leaf = table[0].clone().requires_grad_()
        assert gradcheck(smooth, leaf) and gradgradcheck(smooth, leaf)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_rows_of_a_first_layer_are_summed_to_the_same_bits(dtype):
    """In one pass over the sums as by a gather for each of three positions."""
    torch.manual_seed(0)
    index = torch.randint(9, (500, 3)) + 9 * torch.arange(3)
    table = torch.randn(27, 40).to(dtype).requires_grad_()
    weight, found = torch.randn(500, 40).to(dtype), []
    for function in (fast.gather_sum, fast._sum_of_gathers):
        sums = function(table, index)
        found.append([sums, *torch.autograd.grad(sums, table, weight)])
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("how", [{}, {"norm": "layer", "dropout": 0.5}], ids=str)
def test_a_relu_in_place_spoils_no_gradient(how):
    """With a tap, which reads what is before a ReLU, it is not in place."""
    torch.manual_seed(0)
    model = models.MLP(7, (9, 8), vocabulary=7, **how)
    x, found = torch.randint(7, (40, 2)), []
    for tap in (None, Recorder()):
        torch.manual_seed(1)  # of the dropout masks
        logits = model(x, tap)
        slopes = torch.autograd.grad(loss_of(logits), [*model.parameters()])
        found.append([logits, *slopes])
    assert all(map(torch.equal, *found))
    assert (tap.found["pre.0"] < 0).any()
