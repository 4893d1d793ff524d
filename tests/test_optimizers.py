"""Optimizers: torch bit for bit, stack equals members, capturable steps, hooks."""

import copy
import doctest
import gc
import math
import weakref

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grokbook import optimizers
from grokbook.errors import UnknownName
from grokbook.optimizers import (
    SGD,
    AdamW,
    centre_rows,
    clip,
    descend_from,
    hold_norm,
    orthogonal,
    unit_steps,
)

SHAPES = [(7, 5), (5,), (3, 2, 4)]
NAMES = ["head.weight", "head.bias", "conv"]
MEMBERS = 3


def parameters(seed=0, dtype=torch.float32, members=None):
    generator = torch.Generator().manual_seed(seed)
    lead = () if members is None else (members,)
    return [
        nn.Parameter(torch.randn(*lead, *s, generator=generator).to(dtype))
        for s in SHAPES
    ]


def named(params):
    return list(zip(NAMES, params, strict=True))


def set_gradients(params, seed, scale=1.0):
    generator = torch.Generator().manual_seed(1000 + seed)
    for p in params:
        p.grad = (scale * torch.randn(p.shape, generator=generator)).to(p.dtype)


def run(optimizer, params, steps, start=0):
    for i in range(start, start + steps):
        set_gradients(params, i)
        if getattr(optimizer, "host_driven", False):
            optimizer.prepare()
        optimizer.step()


def same(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def norm(tensors):
    return torch.cat([t.detach().double().flatten() for t in tensors]).norm()


def float64s(*values):
    return torch.tensor(values, dtype=torch.float64)


# The update rules -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("eps", [1e-8, 1e-25])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adamw_equals_torch_bit_for_bit(dtype, eps, decay):
    ours, theirs = parameters(dtype=dtype), parameters(dtype=dtype)
    options = {"lr": 0.01, "betas": (0.9, 0.99), "eps": eps, "weight_decay": decay}
    run(AdamW(ours, **options), ours, 50)
    run(torch.optim.AdamW(theirs, foreach=False, **options), theirs, 50)
    assert same(ours, theirs)


def test_adamw_equals_torch_when_the_bias_correction_has_become_one():
    ours, theirs = [nn.Parameter(torch.ones(9)) for _ in range(2)]
    options = {"lr": 0.01, "betas": (0.5, 0.5)}
    run(AdamW([ours], **options), [ours], 80)
    reference = torch.optim.AdamW([theirs], weight_decay=0, foreach=False, **options)
    run(reference, [theirs], 80)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("momentum", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_sgd_equals_torch_bit_for_bit(momentum, decay):
    ours, theirs = parameters(), parameters()
    options = {"lr": 0.1, "momentum": momentum, "weight_decay": decay}
    run(SGD(ours, **options), ours, 50)
    run(torch.optim.SGD(theirs, foreach=False, **options), theirs, 50)
    assert same(ours, theirs)


def test_adamw_against_hand_written_steps():
    """Two steps on one weight, from the equations."""
    w = nn.Parameter(float64s(2.0))
    optimizer = AdamW([w], lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.5)
    expected, m, v = 2.0, 0.0, 0.0
    for t, g in enumerate((0.3, -0.2), start=1):
        w.grad = float64s(g)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.99**t)
        expected -= 0.1 * 0.5 * expected + 0.1 * m_hat / (v_hat**0.5 + 1e-3)
        assert w.item() == pytest.approx(expected, rel=1e-12)
        assert optimizer.spread()[0].item() == pytest.approx(v_hat**0.5 + 1e-3)


@pytest.mark.parametrize(("eps", "huge"), [(1e-30, True), (1e-8, False)])
@pytest.mark.parametrize("host_driven", [False, True])
def test_second_moment_underflows_in_float32(eps, huge, host_driven):
    """Below |g| = 3.7e-23 the square is 0 and the step m / eps instead of about lr."""
    w = nn.Parameter(torch.zeros(1))
    optimizer = AdamW([w], lr=1.0, eps=eps, host_driven=host_driven)
    w.grad = torch.tensor([1e-24])
    if host_driven:
        optimizer.prepare()
    optimizer.step()
    assert optimizer.state[w]["exp_avg_sq"] == 0
    assert (w.abs() > 1e5) if huge else (w.abs() < 1e-15)


def test_a_gradient_that_comes_later_is_corrected_from_its_own_first_step():
    def trained(build):
        early, late = parameters()[:2]
        optimizer = build([early, late])
        for i in range(6):
            set_gradients([early, late][: 1 + (i >= 3)], i)
            optimizer.step()
        return early, late

    torchs = trained(lambda p: torch.optim.AdamW(p, weight_decay=0, foreach=False))
    assert same(trained(AdamW), torchs)


# Stacks ---------------------------------------------------------------------------


def adamw(params, pick, stacked, **options):
    return AdamW(
        params,
        lr=pick(float64s(0.01, 0.02, 0.005)),
        betas=(pick(float64s(0.9, 0.8, 0.0)), pick(float64s(0.99, 0.999, 0.95))),
        eps=pick(float64s(1e-25, 1e-8, 1e-3)),
        weight_decay=pick(float64s(0.0, 1.0, 0.1)),
        stacked=stacked,
        **options,
    )


def sgd(params, pick, stacked, **options):
    return SGD(
        params,
        lr=pick(float64s(0.1, 0.02, 0.3)),
        momentum=pick(float64s(0.0, 0.2, 0.8)),
        weight_decay=pick(float64s(0.0, 0.1, 0.0)),
        stacked=stacked,
        **options,
    )


def mixed(params, pick, stacked, **options):
    lr = pick(float64s(0.01, 0.02, 0.0))
    return AdamW(params, lr=lr, stacked=stacked, **options)


def shared(params, pick, stacked, **options):
    del pick
    return AdamW(params, lr=0.01, weight_decay=0.1, stacked=stacked, **options)


def plain(params, pick, stacked, **options):
    del pick
    options |= {"momentum": 0.8, "weight_decay": 0.1, "stacked": stacked}
    return SGD(params, lr=0.1, **options)


def bare(params, pick, stacked, **options):
    del pick
    return SGD(params, lr=0.1, stacked=stacked, **options)


HOOKS = {
    "none": lambda optimizer: optimizer,
    "tensor": orthogonal,
    "global": lambda optimizer: orthogonal(optimizer, rescale=False, scope="global"),
    "both": lambda optimizer: orthogonal(optimizer, scope="global"),
    "unit": unit_steps,
    "clip": lambda optimizer: clip(optimizer, norm=0.5),
    "several": lambda optimizer: clip(unit_steps(orthogonal(optimizer)), norm=0.5),
}
MORE = HOOKS | {
    "centre": lambda o: centre_rows(o, names=["head.weight"]),
    "hold": lambda o: hold_norm(o, names=["head.weight"], norm=0.3),
}


@pytest.mark.parametrize("hook", MORE)
@pytest.mark.parametrize("build", [adamw, sgd, mixed, shared, plain])
@pytest.mark.parametrize("host_driven", [False, True])
def test_a_stack_equals_each_member_alone(hook, build, host_driven):
    """To rounding: powers and sums of a stack are taken by other kernels."""
    stack = parameters(members=MEMBERS, dtype=torch.float64)
    alone = [[nn.Parameter(p[i].detach().clone()) for p in stack] for i in range(3)]
    options = {"host_driven": host_driven}
    together = MORE[hook](build(named(stack), lambda x: x, True, **options))
    singles = [
        MORE[hook](build(named(alone[i]), lambda x, i=i: x[i].item(), False))
        for i in range(MEMBERS)
    ]
    for step in range(20):
        set_gradients(stack, step)
        if host_driven:
            together.prepare()
        together.step()
        for i, optimizer in enumerate(singles):
            for p, s in zip(alone[i], stack, strict=True):
                p.grad = s.grad[i].clone()
            optimizer.step()
    for i in range(MEMBERS):
        for p, s in zip(alone[i], stack, strict=True):
            torch.testing.assert_close(s[i], p, rtol=1e-10, atol=1e-10)


def test_a_value_shared_by_all_members_becomes_a_float():
    stack = parameters(members=MEMBERS)
    group = AdamW(stack, lr=float64s(0.1, 0.1, 0.1), stacked=True).param_groups[0]
    assert group["lr"] == 0.1 and isinstance(group["lr"], float)
    one = AdamW(parameters(members=1), lr=float64s(0.1), stacked=True)
    assert one.param_groups[0]["lr"] == 0.1


# Steps that can be captured -------------------------------------------------------


class Tape(TorchDispatchMode):
    """The operations issued, each with its arguments that are no tensors."""

    def __init__(self):
        super().__init__()
        self.tape = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "aten":  # not torch's profiler
            leaves = tree_leaves((args, kwargs))
            numbers = [x for x in leaves if not isinstance(x, torch.Tensor)]
            self.tape.append((str(function), str(numbers)))
        return function(*args, **(kwargs or {}))


def recorded(optimizer, params, seed):
    set_gradients(params, seed)
    optimizer.prepare()
    with Tape() as tape:
        optimizer.step()
    return tape.tape


@pytest.mark.parametrize("hook", MORE)
@pytest.mark.parametrize("build", [adamw, sgd, mixed, shared, plain, bare])
@pytest.mark.parametrize("stacked", [True, False])
def test_host_driven_steps_are_the_same_operations(hook, build, stacked):
    """No number changes, nothing is read back, from the first step on."""

    def pick(x):
        return x if stacked else x[1].item()

    params = parameters(members=MEMBERS if stacked else None)
    optimizer = MORE[hook](build(named(params), pick, stacked, host_driven=True))
    tapes = [recorded(optimizer, params, k) for k in range(3)]
    assert len(tapes[0]) > 1 and tapes[0] == tapes[1] == tapes[2]
    waiting = ("_local_scalar_dense", "item", "nonzero", "is_nonzero")
    assert not [name for name, _ in tapes[0] if name.split(".")[1] in waiting]


def test_a_tape_tells_an_eager_step_from_the_next():
    """The test above can fail: bias corrections are numbers of an eager step."""
    params = parameters()
    optimizer = AdamW(params)
    tapes = []
    for k in range(2):
        set_gradients(params, k)
        with Tape() as tape:
            optimizer.step()
        tapes.append(tape.tape)
    assert tapes[0] != tapes[1]
    with Tape() as tape:
        unit_steps(SGD(params, lr=0.1)).step()
    assert any("_local_scalar_dense" in name for name, _ in tape.tape)


@pytest.mark.parametrize("hook", MORE)
@pytest.mark.parametrize("build", [adamw, sgd, shared, plain])
def test_host_driven_equals_eager_to_rounding(hook, build):
    def pick(x):
        return x[1].item()

    one, two = parameters(dtype=torch.float64), parameters(dtype=torch.float64)
    driven = MORE[hook](build(named(one), pick, False, host_driven=True))
    eager = MORE[hook](build(named(two), pick, False))
    for i in range(10):
        factor = 1 / (1 + i)  # a schedule fills the one and sets the other
        rate = pick(float64s(0, 0.02, 0)) * factor
        driven.param_groups[0]["lr"].fill_(rate)
        eager.param_groups[0]["lr"] = rate
        run(driven, one, 1, start=i)
        run(eager, two, 1, start=i)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)


def test_host_driven_parameters_of_two_precisions_keep_their_own():
    """A rate rounded to float32 would show in the float64 one."""
    found = []
    for host_driven in (True, False):
        params = parameters(dtype=torch.float64)
        params[0] = nn.Parameter(params[0].detach().float())
        run(AdamW(params, lr=0.01, host_driven=host_driven), params, 5)
        found.append(params)
    assert found[0][0].dtype == torch.float32
    for a, b in zip(*found, strict=True):
        rtol = 1e-5 if a.dtype == torch.float32 else 1e-12
        torch.testing.assert_close(a, b, rtol=rtol, atol=rtol)


def test_a_host_driven_adamw_must_be_prepared():
    params = parameters()
    optimizer = AdamW(params, host_driven=True)
    set_gradients(params, 0)
    with pytest.raises(RuntimeError, match="call prepare"):
        optimizer.step()


# State ----------------------------------------------------------------------------


@pytest.mark.parametrize("hook", MORE)
@pytest.mark.parametrize("build", [adamw, sgd, shared])
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("host_driven", [True, False])
def test_resume_is_bit_exact_and_gradients_stay(hook, build, stacked, host_driven):
    def pick(x):
        return x if stacked else x[1].item()

    options = {"host_driven": host_driven}
    first = parameters(members=MEMBERS if stacked else None)
    optimizer = MORE[hook](build(named(first), pick, stacked, **options))
    run(optimizer, first, 10)
    second = [nn.Parameter(p.detach().clone()) for p in first]
    resumed = MORE[hook](build(named(second), pick, stacked, **options))
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(optimizer, first, 10, start=10)
    run(resumed, second, 10, start=10)
    assert same(first, second)
    set_gradients(second, 19)
    assert same([p.grad for p in first], [p.grad for p in second])


@pytest.mark.parametrize("hook", MORE)
@pytest.mark.parametrize("foreign", [torch.optim.AdamW, torch.optim.SGD])
def test_resume_of_torchs_own_optimizers_is_bit_exact(hook, foreign):
    first = parameters()
    optimizer = MORE[hook](foreign(named(first), lr=0.01))
    run(optimizer, first, 5)
    second = [nn.Parameter(p.detach().clone()) for p in first]
    resumed = MORE[hook](foreign(named(second), lr=0.5))
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(optimizer, first, 5, start=5)
    run(resumed, second, 5, start=5)
    assert same(first, second)


@pytest.mark.parametrize("build", [adamw, plain])
def test_loading_fills_the_tensors_that_a_captured_step_reads(build):
    params = parameters(members=MEMBERS)
    optimizer = build(params, lambda x: x, True, host_driven=True)

    def tensors():
        parts = (optimizer.state, optimizer.param_groups, vars(optimizer).get("_held"))
        return [x for x in tree_leaves(parts) if isinstance(x, torch.Tensor)]

    run(optimizer, params, 3)
    held, saved = tensors(), copy.deepcopy(optimizer.state_dict())
    untouched = copy.deepcopy(saved)
    values = [x.detach().clone() for x in held]
    run(optimizer, params, 3, start=3)
    optimizer.param_groups[0]["lr"].fill_(7.0)
    optimizer.load_state_dict(saved)
    assert {id(x) for x in tensors()} == {id(x) for x in held}
    kept = [k for k, x in enumerate(held) if not isinstance(x, nn.Parameter)]
    assert same([held[k] for k in kept], [values[k] for k in kept])
    run(optimizer, params, 1)
    assert str(saved) == str(untouched)


def test_states_go_from_an_eager_to_a_driven_optimizer_and_back():
    params = parameters(dtype=torch.float64)
    eager = AdamW(params, lr=0.1, betas=(0.8, 0.95))
    driven = AdamW(params, lr=0.5, host_driven=True)
    run(eager, params, 4)
    driven.load_state_dict(copy.deepcopy(eager.state_dict()))
    assert isinstance(driven.param_groups[0]["lr"], torch.Tensor)
    assert driven.param_groups[0]["lr"] == 0.1
    assert driven.param_groups[0]["betas"] == (0.8, 0.95)
    for a, b in zip(driven.spread(), eager.spread(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-14, atol=0)
    eager.load_state_dict(copy.deepcopy(driven.state_dict()))
    assert eager.param_groups[0]["lr"] == 0.1
    assert isinstance(eager.param_groups[0]["lr"], float)
    assert eager.state[params[0]]["step"] == 4


def test_rates_by_member_replace_one_that_all_shared():
    """Into a tensor of another shape nothing can be copied."""
    saved = AdamW(parameters(members=MEMBERS), lr=float64s(0.1, 0.2, 0.3), stacked=True)
    stack = parameters(members=MEMBERS)
    driven = AdamW(stack, lr=0.5, stacked=True, host_driven=True)
    driven.load_state_dict(copy.deepcopy(saved.state_dict()))
    assert driven.param_groups[0]["lr"].tolist() == [0.1, 0.2, 0.3]


def test_a_copy_goes_on_alike():
    params = parameters()
    optimizer = AdamW(params, host_driven=True)
    run(optimizer, params, 3)
    twin, twins = copy.deepcopy((optimizer, params))
    run(optimizer, params, 3)
    run(twin, twins, 3)
    assert same(params, twins)


# Hooks ----------------------------------------------------------------------------


def perpendicular(w, g):
    return g - (w * g).sum() / (w * w).sum() * w


@pytest.mark.parametrize("scope", ["tensor", "global"])
@pytest.mark.parametrize("rescale", [True, False])
def test_projection_is_orthogonal_and_rescaling_keeps_the_norm(scope, rescale):
    params = parameters(dtype=torch.float64)
    before = [p.detach().clone() for p in params]
    set_gradients(params, 0)
    raw = [p.grad for p in params]
    orthogonal(SGD(params, lr=1.0), rescale=rescale, scope=scope).step()
    used = [b - p.detach() for b, p in zip(before, params, strict=True)]
    whole = [slice(None)] if scope == "global" else [slice(i, i + 1) for i in range(3)]
    for part in whole:
        w, g, u = (
            torch.cat([t.flatten() for t in tensors[part]])
            for tensors in (before, raw, used)
        )
        assert abs(w @ u) < 1e-13 * w.norm() * u.norm()
        expected = perpendicular(w, g)
        if rescale:
            expected *= g.norm() / expected.norm()
        torch.testing.assert_close(u, expected)
    assert all(p.grad is g for p, g in zip(params, raw, strict=True))


def test_zero_weights_are_not_projected_and_parallel_gradients_vanish():
    zero, along = (nn.Parameter(torch.tensor(x)) for x in ([0.0, 0.0], [3.0, 4.0]))
    zero.grad, along.grad = torch.tensor([1.0, 2.0]), torch.tensor([6.0, 8.0])
    orthogonal(SGD([zero, along], lr=1.0)).step()
    assert zero.tolist() == [-1.0, -2.0] and along.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scope", ["tensor", "global"])
def test_half_precision_never_divides_by_zero(dtype, scope):
    """1e-30 is 0 in float16; zero weights and zero gradients must stay finite."""
    params = [nn.Parameter(torch.zeros(4, dtype=dtype)) for _ in range(2)]
    for p in params:
        p.grad = torch.zeros_like(p)
    params[1].grad += 1
    orthogonal(SGD(params, lr=1.0), scope=scope).step()
    assert params[0].tolist() == [0] * 4 and params[1].tolist() == [-1] * 4


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("name", ["AdamW", "SGD", "Adam", "RMSprop"])
def test_any_torch_optimizer_sees_the_projected_gradient(name, foreach):
    """As if the gradients had been projected by hand before a plain step."""
    build = getattr(torch.optim, name)
    hooked, by_hand = parameters(), parameters()
    one = orthogonal(build(hooked, lr=0.01, foreach=foreach), rescale=False)
    two = build(by_hand, lr=0.01, foreach=foreach)
    for i in range(5):
        run(one, hooked, 1, start=i)
        set_gradients(by_hand, i)
        for p in by_hand:
            p.grad = perpendicular(p.detach(), p.grad)
        two.step()
    for a, b in zip(hooked, by_hand, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(optimizers.hooks) == (0, 6)


def test_unit_steps_have_length_lr():
    params = parameters(dtype=torch.float64)
    optimizer = unit_steps(SGD(params, lr=0.018))
    for i, scale in enumerate((1.0, 1e-9, 1e6)):
        before = [p.detach().clone() for p in params]
        set_gradients(params, i, scale)
        optimizer.step()
        moved = [p - b for p, b in zip(params, before, strict=True)]
        assert float(norm(moved)) == pytest.approx(0.018, rel=1e-6)
        assert optimizer.param_groups[0]["lr"] == 0.018


def test_unit_steps_at_the_edges():
    """No direction, no step; entries whose float32 squares vanish still count."""
    w = nn.Parameter(torch.ones(4))
    optimizer = unit_steps(SGD([w], lr=0.5))
    optimizer.step()
    w.grad = torch.zeros(4)
    optimizer.step()
    assert w.tolist() == [1.0] * 4
    w.grad = torch.full((4,), 1e-25)
    optimizer.step()
    assert w.tolist() == pytest.approx([0.75] * 4)


@pytest.mark.parametrize("foreign", [torch.optim.AdamW, torch.optim.Adam])
def test_unit_steps_keep_a_rate_that_is_a_tensor(foreign):
    params = parameters()
    optimizer = unit_steps(foreign(params, lr=torch.tensor(0.1), foreach=False))
    rate = optimizer.param_groups[0]["lr"]
    run(optimizer, params, 2)
    assert optimizer.param_groups[0]["lr"] is rate and rate == torch.tensor(0.1)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_clipping_shortens_long_gradients_alone(scale):
    params, free = parameters(dtype=torch.float64), parameters(dtype=torch.float64)
    set_gradients(params, 0, scale)
    set_gradients(free, 0, scale)
    length = float(norm([p.grad for p in params]))
    clip(SGD(params, lr=1.0), norm=0.5).step()
    SGD(free, lr=1.0).step()
    start = parameters(dtype=torch.float64)
    moved = [p - s for p, s in zip(params, start, strict=True)]
    assert float(norm(moved)) == pytest.approx(min(length, 0.5))
    assert same(params, free) == (length < 0.5)
    zero = nn.Parameter(torch.ones(2))
    zero.grad = torch.zeros(2)
    clip(SGD([zero], lr=1.0), norm=0.5).step()
    assert zero.tolist() == [1, 1]


@pytest.mark.parametrize("members", [None, MEMBERS])
def test_centred_rows_have_mean_zero_and_the_rest_is_free(members):
    centred, free = parameters(members=members), parameters(members=members)
    stacked = members is not None
    run(centre_rows(bare(named(centred), None, stacked), names=NAMES[:1]), centred, 1)
    run(bare(named(free), None, stacked), free, 1)
    head = free[0] - free[0].mean(dim=-2, keepdim=True)
    torch.testing.assert_close(centred[0], head, rtol=0, atol=0)
    assert centred[0].mean(dim=-2).abs().max() < 1e-6
    assert same(centred[1:], free[1:])


@pytest.mark.parametrize("members", [None, MEMBERS])
def test_a_held_matrix_keeps_its_norm_and_the_rest_is_free(members):
    held, free = parameters(members=members), parameters(members=members)
    stacked = members is not None
    optimizer = bare(named(held), None, stacked)
    run(hold_norm(optimizer, names=NAMES[:1], norm=0.3), held, 1)
    run(bare(named(free), None, stacked), free, 1)
    length = torch.linalg.vector_norm(free[0], dim=(-2, -1), keepdim=True)
    torch.testing.assert_close(held[0], free[0] * (0.3 / length), rtol=1e-6, atol=0)
    assert same(held[1:], free[1:])
    with pytest.raises(ValueError, match="norm is 0.0"):
        hold_norm(optimizer, names=NAMES[:1], norm=0.0)


def descended(params, losses, stacked=False, *, saved=None):
    """AdamW that becomes descent at a loss of 0.5, over the steps of these losses."""
    optimizer = descend_from(
        AdamW(named(params), lr=0.01, stacked=stacked), loss=0.5, lr=0.25
    )
    if saved is not None:
        optimizer.load_state_dict(saved)
    for index, loss in losses:
        set_gradients(params, index)
        optimizer.step(lambda loss=loss: torch.tensor(loss))
    return optimizer


LOSSES = list(enumerate([2.0, 0.6, 0.5, 3.0, math.nan, 0.7]))


def test_descent_begins_at_a_loss_and_does_not_end():
    ours, theirs = parameters(), parameters()
    descended(ours, LOSSES)
    run(AdamW(theirs, lr=0.01), theirs, 2)
    run(SGD(theirs, lr=0.25), theirs, 4, start=2)
    assert same(ours, theirs)


def test_descent_without_a_low_loss_is_the_rule_itself():
    ours, theirs = parameters(), parameters()
    descended(ours, LOSSES[:2])
    run(AdamW(theirs, lr=0.01), theirs, 2)
    assert same(ours, theirs)


def test_descent_begins_for_each_member_of_a_stack_at_its_own_loss():
    begins = [1, 6, 3]  # step of each member; 6: never
    high = [[0.4 if i == b else 2.0 for b in begins] for i in range(6)]
    stack = parameters(members=3)
    descended(stack, list(enumerate(high)), stacked=True)
    for member, begin in enumerate(begins):
        alone = [nn.Parameter(p[member].detach()) for p in parameters(members=3)]
        optimizers = AdamW(alone, lr=0.01), SGD(alone, lr=0.25)
        for i in range(6):
            whole = parameters(members=3)
            set_gradients(whole, i)
            for p, one in zip(alone, whole, strict=True):
                p.grad = one.grad[member]
            optimizers[i >= begin].step()
        assert same([p[member] for p in stack], alone)


def test_descent_goes_on_after_a_checkpoint():
    whole, parts = parameters(), parameters()
    descended(whole, LOSSES)
    saved = copy.deepcopy(descended(parts, LOSSES[:4]).state_dict())
    descended(parts, LOSSES[4:], saved=saved)
    assert same(whole, parts)


HELD = MORE | {"descend": lambda o: descend_from(o, loss=0.0, lr=1.0)}


@pytest.mark.parametrize("hook", HELD)
def test_an_optimizer_with_a_hook_is_freed(hook):
    """Workers train many members one after the other."""
    optimizer = HELD[hook](AdamW(named(params := parameters()), lr=0.1))
    set_gradients(params, 0)
    optimizer.step(lambda: torch.tensor(1.0))
    alive = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert alive() is None


def test_hooks_act_in_the_order_in_which_they_were_added():
    """Clipped and then projected is shorter than projected and then clipped."""
    moved = []
    for build in (
        lambda o: clip(orthogonal(o, rescale=False), norm=0.1),
        lambda o: orthogonal(clip(o, norm=0.1), rescale=False),
    ):
        params, start = parameters(), parameters()
        optimizer = build(SGD(params, lr=1.0))
        set_gradients(params, 0)
        raw = [p.grad for p in params]
        optimizer.step()
        assert all(p.grad is g for p, g in zip(params, raw, strict=True))
        moved.append(float(norm([p - s for p, s in zip(params, start, strict=True)])))
    assert moved[0] == pytest.approx(0.1) and moved[1] < 0.0999


def test_hooks_share_groups_with_a_scheduler():
    params = parameters()
    optimizer = orthogonal(unit_steps(AdamW(params, lr=1.0)))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    rates = []
    for i in range(4):
        run(optimizer, params, 1, start=i)
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([1.0, 0.1, 0.1, 0.01])
    assert optimizer.state[params[0]]["step"] == 4


@pytest.mark.parametrize("hook", HOOKS)
def test_parameters_without_gradient_are_skipped(hook):
    used, unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = HOOKS[hook](AdamW([unused, used], weight_decay=0.1))
    used.grad = torch.tensor([1.0, 2.0, 3.0])
    optimizer.step()
    assert unused.tolist() == [1.0] * 3 and unused.grad is None
    assert optimizer.state[unused]["step"] == 0 and used.tolist() != [1.0] * 3


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("build", [SGD, torch.optim.SGD, torch.optim.AdamW])
def test_closures_are_evaluated_once_and_before_the_hooks(hook, build):
    """torch runs step hooks before a closure, which would see the last gradient."""
    w, twin = (nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    optimizer, by_hand = (HOOKS[hook](build([p], lr=0.1)) for p in (w, twin))
    calls = []

    def loss_of(p):
        return (p - torch.tensor([3.0, 1.0])).square().sum()

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        calls.append(loss.item())
        return loss

    assert optimizer.step(closure) == 13 and calls == [13.0]
    optimizer.step(closure=closure)
    for _ in range(2):
        by_hand.zero_grad()
        loss_of(twin).backward()
        by_hand.step()
    assert len(calls) == 2 and torch.equal(w, twin) and torch.equal(w.grad, twin.grad)


# Errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: AdamW(p, lr=-1.0), "lr is -1.0"),
        (lambda p: AdamW(p, lr=float("nan")), "lr is nan"),
        (lambda p: AdamW(p, betas=(0.9, 1.0)), "betas is 1.0"),
        (lambda p: AdamW(p, betas=(0.9,)), "betas has 1"),
        (lambda p: AdamW(p, eps=-1e-8), "eps"),
        (lambda p: SGD(p, lr=0.1, momentum=-0.1), "momentum"),
        (lambda p: SGD(p, lr=0.1, weight_decay=-0.1), "weight_decay"),
        (lambda p: SGD(p, lr=torch.ones(3)), "stacked=True"),
        (lambda p: SGD(p, lr=torch.ones(2), stacked=True), r"shape \(2,\)|members"),
        (lambda p: SGD(p, lr=1.0, stacked=True), "number of members"),
        (lambda p: orthogonal(SGD(p, lr=0.1), scope="row"), "unknown scope 'row'"),
        (lambda p: unit_steps(p), "list is no torch optimizer"),
        (lambda p: orthogonal(torch.optim.LBFGS(p)), "LBFGS is no .* closure"),
        (lambda p: clip(SGD(p, lr=0.1), norm=0.0), "norm is 0.0"),
        (lambda p: clip(SGD(p, lr=0.1), norm=math.nan), "norm is nan"),
        (lambda p: centre_rows(SGD(p, lr=0.1), names=["head"]), "has no names"),
        (
            lambda p: descend_from(torch.optim.SGD(p, lr=0.1), loss=0.0, lr=1.0),
            "SGD has no place",
        ),
        (lambda p: descend_from(SGD(p, lr=0.1), loss=-1.0, lr=1.0), "loss is -1.0"),
        (lambda p: descend_from(SGD(p, lr=0.1), loss=0.0, lr=math.nan), "lr is nan"),
        (
            lambda p: run(descend_from(SGD(p, lr=0.1), loss=0.0, lr=1.0), p, 1),
            "waits for a loss: give",
        ),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build(parameters())


def test_unknown_names_and_vectors_have_no_rows_to_centre():
    optimizer = SGD(named(parameters()), lr=0.1)
    with pytest.raises(UnknownName, match="'head.wieght': use one of head.weight"):
        centre_rows(optimizer, names=["head.wieght"])
    with pytest.raises(ValueError, match=r"head.bias has shape \(5,\)"):
        centre_rows(optimizer, names=["head.weight", "head.bias"])
