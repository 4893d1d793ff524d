"""Optimizers: stack equals members, capturable steps, hooks on torch's own and ours."""

import copy
import math
from functools import partial
from itertools import product

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from grokbook import optimizers, schedules
from grokbook.optimizers import SGD, AdamW, clip, descend_from, grokfast, orthogonal
from grokbook.optimizers.rules import StackedAdamW, StackedSGD

SHAPES = {"head.weight": (7, 5), "head.bias": (5,), "conv": (3, 2, 4), "a": (2, 3)}
MEMBERS = 3


def parameters(seed=0, dtype=torch.float32, members=None):
    generator = torch.Generator().manual_seed(seed)
    lead = () if members is None else (members,)
    return [
        nn.Parameter(torch.randn(*lead, *s, generator=generator).to(dtype))
        for s in SHAPES.values()
    ]


def named(params):
    return list(zip(SHAPES, params, strict=True))


def set_gradients(params, seed, scale=1.0):
    generator = torch.Generator().manual_seed(1000 + seed)
    for p in params:
        p.grad = (scale * torch.randn(p.shape, generator=generator)).to(p.dtype)


def run(optimizer, params, steps, start=0):
    for i in range(start, start + steps):
        set_gradients(params, i)
        optimizer.step()


def same(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def norm(tensors):
    return torch.cat([t.detach().double().flatten() for t in tensors]).norm()


def float64s(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_adamw_against_hand_written_steps():
    for build in (AdamW, StackedAdamW):
        w = nn.Parameter(float64s(2.0))
        optimizer = build([w], lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.5)
        expected, m, v = 2.0, 0.0, 0.0
        for t, g in enumerate((0.3, -0.2), start=1):
            w.grad = float64s(g)
            optimizer.step()
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.99**t)
            expected -= 0.1 * 0.5 * expected + 0.1 * m_hat / (v_hat**0.5 + 1e-3)
            assert w.item() == pytest.approx(expected, rel=1e-12)
            (spread,) = optimizers.adam_divisors(optimizer)
            assert spread.item() == pytest.approx(v_hat**0.5 + 1e-3, rel=1e-12)


# Numbers of three members: the rule of one, that of a stack, and what they share.
ADAM = {"lr": float64s(0.01, 0.02, 0.005), "eps": float64s(1e-25, 1e-8, 1e-3)}
ADAM |= {"weight_decay": float64s(0.0, 1.0, 0.1)}
DESCENT = {"lr": float64s(0.1, 0.02, 0.3), "momentum": float64s(0.0, 0.2, 0.8)}
DESCENT |= {"weight_decay": float64s(0.0, 0.1, 0.0)}
RULES = {
    "adamw": (AdamW, StackedAdamW, ADAM, {"betas": (0.9, 0.95)}),
    "amsgrad": (AdamW, StackedAdamW, ADAM, {"betas": (0.9, 0.5), "amsgrad": True}),
    "sgd": (SGD, StackedSGD, DESCENT, {}),
    "shared": (AdamW, StackedAdamW, {}, {"lr": 0.01, "weight_decay": 0.1}),
    "plain": (SGD, StackedSGD, {}, {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.1}),
    "bare": (SGD, StackedSGD, {}, {"lr": 0.1}),
}


def alone(rule, params, member=1, kind=0, **how):
    *kinds, numbers, shared = RULES[rule]
    how |= shared | {n: x[member].item() for n, x in numbers.items()}
    return kinds[kind](params, **how)


def together(rule, params):
    _, build, numbers, shared = RULES[rule]
    return build(params, **shared, **numbers)


captured_alone = partial(alone, kind=1, stacked=False)


unit_steps, hold_norm = optimizers.unit_steps, optimizers.hold_norm
replay_norm, steps_by_norm = optimizers.replay_norm, optimizers.steps_by_norm
HOOKS = {
    "none": lambda optimizer: optimizer,
    "tensor": orthogonal,
    "global": partial(orthogonal, rescale=False, scope="global"),
    "both": partial(orthogonal, scope="global"),
    "unit": unit_steps,
    "clip": partial(clip, norm=0.5),
    "several": lambda optimizer: clip(unit_steps(orthogonal(optimizer)), norm=0.5),
    "centre": partial(optimizers.centre_rows, names=["head.weight"]),
    "hold": partial(hold_norm, names=["head.weight"], norm=0.3),
    "total": partial(hold_norm, names=["a", "head.weight"], norm=1, total=True),
    "replay": partial(
        replay_norm, names=["head.weight"], norms=[[0.3, 0.9, 0.5]], every=2
    ),
    "rows": partial(optimizers.clip_rows, names=["head.weight"], norm=0.3),
    "angle": partial(steps_by_norm, names=["head.weight"], norm=0.3),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_stack_and_a_captured_step_equal_each_member_alone(rule):
    """With every hook and a falling rate, which is set, or filled in where it lies.

    To rounding: sums of a stack are taken by other kernels.
    """
    members = (0, 1, 2, 1)  # the last one by a captured step
    for hook in HOOKS.values():
        stack = parameters(members=MEMBERS, dtype=torch.float64)
        every = [[nn.Parameter(p[k].detach().clone()) for p in stack] for k in members]
        whole = hook(together(rule, named(stack)))
        singles = [hook(alone(rule, named(every[k]), k)) for k in range(MEMBERS)]
        singles.append(hook(captured_alone(rule, named(every[-1]))))
        for step in range(8):
            set_gradients(stack, step)
            for optimizer in (whole, *singles):
                optimizer.param_groups[0]["lr"] *= 0.9
            whole.step()
            for k, own, optimizer in zip(members, every, singles, strict=True):
                for p, s in zip(own, stack, strict=True):
                    p.grad = s.grad[k].clone()
                optimizer.step()
        for k, own in zip(members, every, strict=True):
            for p, s in zip(own, stack, strict=True):
                torch.testing.assert_close(s[k], p, rtol=1e-11, atol=1e-11)


def test_a_stack_resumes_to_the_bit_and_gradients_stay():
    """In the tensors that it has, which a captured step reads."""
    descend = partial(descend_from, loss=0.5), partial(descend_from, after=5)
    hooks = [*HOOKS.values(), *(partial(hook, lr=0.25) for hook in descend)]

    def go(optimizer, params, start):
        for i in range(start, start + 4):
            set_gradients(params, i)
            loss = torch.tensor(0.1 if i > 1 else 1.0)
            optimizer.step(lambda loss=loss: loss)

    for rule, hook in product(RULES, hooks):
        first = parameters(members=MEMBERS)
        optimizer = hook(together(rule, named(first)))
        go(optimizer, first, 0)
        second = [nn.Parameter(p.detach().clone()) for p in first]
        resumed = hook(together(rule, named(second)))
        held = tree_leaves(resumed.state_dict()["state"])
        resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        kept = tree_leaves(resumed.state_dict()["state"])
        assert {*map(id, held)} <= {*map(id, kept)}
        go(optimizer, first, 4)
        go(resumed, second, 4)
        assert same(first, second)
        set_gradients(second, 7)
        assert same([p.grad for p in first], [p.grad for p in second])
        one = hook(together(rule, named(parameters(members=1))))
        with pytest.raises(ValueError, match=r"a state has shape .3, .*, not .1, "):
            one.load_state_dict(resumed.state_dict())


def test_projection_is_orthogonal_and_rescaling_keeps_the_norm():
    for scope, rescale in product(("tensor", "global"), (True, False)):
        params = parameters(dtype=torch.float64)
        before = [p.detach().clone() for p in params]
        set_gradients(params, 0)
        raw = [p.grad for p in params]
        orthogonal(SGD(params, lr=1.0), rescale=rescale, scope=scope).step()
        used = [b - p.detach() for b, p in zip(before, params, strict=True)]
        parts = [[*range(len(params))]]
        if scope == "tensor":
            parts = [[i] for i in parts[0]]
        for part in parts:
            w, g, u = (
                torch.cat([tensors[i].flatten() for i in part])
                for tensors in (before, raw, used)
            )
            assert abs(w @ u) < 1e-13 * w.norm() * u.norm()
            expected = g - (w @ g) / (w @ w) * w
            if rescale:
                expected *= g.norm() / expected.norm()
            torch.testing.assert_close(u, expected)
        assert all(p.grad is g for p, g in zip(params, raw, strict=True))
    # zero weights are not projected, parallel gradients vanish
    rows = ([0.0, 0.0], [3.0, 4.0], [3.0, 4.0])
    zero, along, aside = every = [nn.Parameter(torch.tensor(row)) for row in rows]
    zero.grad, along.grad = torch.tensor([1.0, 2.0]), torch.tensor([6.0, 8.0])
    aside.grad = torch.tensor([1.0, 0.0])
    orthogonal(SGD(every, lr=1.0)).step()
    assert zero.tolist() == [-1.0, -2.0] and along.tolist() == [3.0, 4.0]
    assert aside.tolist() == pytest.approx([2.2, 4.6])


def test_lengths_of_unit_steps_and_clipped_ones():
    """A rate of 0.5: steps that long, and gradients that long at most."""
    for scale in (1e-9, 1e-3, 1.0, 1e6):
        unit, clipped = parameters(dtype=torch.float64), parameters(dtype=torch.float64)
        for hook, params in ((unit_steps, unit), (partial(clip, norm=0.3), clipped)):
            optimizer = hook(SGD(params, lr=0.5))
            before = [p.detach().clone() for p in params]
            set_gradients(params, 0, scale)
            length = 1.0 if hook is unit_steps else float(norm(p.grad for p in params))
            optimizer.step()
            moved = norm(p - b for p, b in zip(params, before, strict=True))
            length = length if hook is unit_steps else min(length, 0.3)
            assert float(moved) == pytest.approx(0.5 * length, rel=1e-6)
            assert optimizer.param_groups[0]["lr"] == 0.5
    # no direction, no step; entries whose float32 squares vanish still count
    for hook, moves in ((unit_steps, 0.25), (partial(clip, norm=0.5), 0.0)):
        w = nn.Parameter(torch.ones(4))
        optimizer = hook(SGD([w], lr=0.5))
        for gradient, expected in ((None, 1), (0.0, 1), (1e-25, 1 - moves)):
            w.grad = None if gradient is None else torch.full((4,), gradient)
            optimizer.step()
            assert w.tolist() == pytest.approx([expected] * 4)


NAMED = {  # what a hook makes of its matrix before a step and after a plain one
    "centre": lambda _, free: free - free.mean(dim=-2, keepdim=True),
    "hold": lambda _, free: free * (0.3 / free.norm()),
    "rows": lambda _, free: free * (0.3 / free.norm(dim=-1, keepdim=True)).clamp(max=1),
    "angle": lambda before, free: before + (free - before) * (before.norm() / 0.3),
}


@pytest.mark.parametrize("hook", NAMED)
def test_named_matrices_are_changed_and_the_rest_is_free(hook):
    """Rows of the shortest matrix are longer and shorter than 0.3."""
    for scale in (0.1, 1.0, 3.0):
        params, free = parameters(dtype=torch.float64), parameters(dtype=torch.float64)
        before = scale * params[0].detach()
        for given, change in ((params, HOOKS[hook]), (free, HOOKS["none"])):
            given[0].data.copy_(before)
            run(change(alone("bare", named(given))), given, 1)
        torch.testing.assert_close(params[0], NAMED[hook](before, free[0]))
        assert same(params[1:], free[1:])


def test_recorded_norms_are_replayed_and_stay_at_the_last():
    """Linear between two that were recorded; the step keeps its direction."""
    params, free = parameters(), parameters()
    replayed = HOOKS["replay"](alone("bare", named(params)))
    plain = alone("bare", named(free))
    for step, expected in enumerate((0.6, 0.9, 0.7, 0.5, 0.5, 0.5)):
        with torch.no_grad():
            free[0].copy_(params[0])
        run(replayed, params, 1, start=step)
        run(plain, free, 1, start=step)
        torch.testing.assert_close(params[0], free[0] * (expected / free[0].norm()))
        assert same(params[1:], free[1:])
    with pytest.raises(ValueError, match="zip"):
        replay_norm(alone("bare", named(params)), names=["a"], norms=[], every=2)


def test_muon_steps_matrices_by_torchs_rule_and_the_rest_by_adamw():
    """Also after a checkpoint, and with another rate."""
    ours, theirs = parameters(), parameters()
    matrices = [p for p in theirs if p.dim() == 2]
    rest = [p for p in theirs if p.dim() != 2]
    assert matrices and rest
    optimizer = optimizers.Muon(named(ours), 0.02, momentum=0.9)
    how = {"weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}
    muon = torch.optim.Muon(matrices, lr=0.02, momentum=0.9, **how)
    adamw = AdamW(rest, lr=0.02)
    for step in range(6):
        if step == 3:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = optimizers.Muon(named(ours), 0.02, momentum=0.9)
            optimizer.load_state_dict(state)
        for group in (g for o in (optimizer, muon, adamw) for g in o.param_groups):
            group["lr"] = 0.02 / (1 + step)
        for params in (ours, theirs):
            set_gradients(params, step)
        assert optimizer.step(lambda: 13) == 13
        muon.step()
        adamw.step()
        assert same(ours, theirs)


def test_descent_begins_at_a_loss_or_step_for_each_member_and_does_not_end():
    high = [2.0, 0.6, 0.7, 3.0, math.nan, 0.7]
    losses = torch.tensor([high] * 3)
    losses[[0, 2], [1, 2]] = 0.5
    cases = [({"loss": 0.5}, (1, 6, 2)), ({"after": 3}, (3, 3, 3))]  # 6: never
    cases += [({"loss": 0.5, "after": 2}, (6, 6, 2))]
    for members, (when, begins) in product((3, None), cases):
        ours = parameters(members=members)
        build = AdamW if members is None else StackedAdamW
        groups = [{"params": part} for part in (named(ours)[:2], named(ours)[2:])]
        optimizer = descend_from(build(groups, lr=0.01), lr=0.25, **when)
        for i in range(6):
            set_gradients(ours, i)
            loss = losses[0, i] if members is None else losses[:, i]
            optimizer.step(lambda loss=loss: loss)
        for member in range(members or 1):
            at = member if members else slice(None)
            own = [nn.Parameter(p[at].detach()) for p in parameters(members=members)]
            rules = AdamW(own, lr=0.01), SGD(own, lr=0.25)
            for i in range(6):
                whole = parameters(members=members)
                set_gradients(whole, i)
                for p, one in zip(own, whole, strict=True):
                    p.grad = one.grad[at]
                rules[i >= begins[member]].step()
            for p, one in zip(ours, own, strict=True):
                torch.testing.assert_close(p[at], one, rtol=1e-5, atol=1e-6)
        kept = optimizer.state[ours[0]]["descend_from"]  # which a checkpoint saves
        descends = [begin < 6 for begin in begins[: members or 1]]
        assert (kept["descends"].flatten().tolist(), kept["step"]) == (descends, 6)


def test_a_step_returns_the_loss_and_leaves_a_parameter_without_gradient():
    for hook, rule, build in product(HOOKS.values(), RULES, (alone, captured_alone)):
        params = parameters()
        idle = nn.Parameter(torch.ones(3))
        optimizer = hook(build(rule, [*named(params), ("idle", idle)]))
        set_gradients(params, 0)
        assert optimizer.step(lambda: 13) == optimizer.step(closure=lambda: 13) == 13
        assert idle.tolist() == [1.0] * 3 and idle.grad is None


def test_a_closure_is_called_before_the_step_and_makes_gradients():
    w = nn.Parameter(torch.tensor(2.0))
    optimizer = StackedSGD([w], lr=0.1, stacked=False)

    def closure():
        optimizer.zero_grad()
        loss = w**2
        loss.backward()
        return loss.item()

    assert optimizer.step(closure) == 4
    assert w.item() == pytest.approx(1.6)


def test_grokfast_against_hand_written_steps():
    slower = {"alpha": 0.75}  # the default is 0.98
    cases = (SGD, {}, {}, 0.98), (StackedSGD, {"stacked": True}, slower, 0.75)
    for build, given, how, alpha in cases:
        w = nn.Parameter(float64s(2.0))
        optimizer = grokfast(build([w], lr=0.1, **given), **how)
        expected, slow = 2.0, None
        for k, g in enumerate((0.3, -0.2, 0.0, 1.0)):
            w.grad = float64s(g)
            optimizer.step()
            slow = g if slow is None else alpha * slow + (1 - alpha) * g
            expected -= 0.1 * (g + 2.0 * slow)
            assert w.item() == pytest.approx(expected, rel=1e-12)
            assert w.grad.item() == g
            if k == 1:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = grokfast(build([w], lr=0.1, **given), **how)
                optimizer.load_state_dict(state)


def test_schedules_at_named_steps():
    """Ten steps of warm-up as in Liu et al.: a tenth, two tenths, ..., and no more."""
    factors = [schedules.staircase(k, 100, every=30) for k in (0, 29, 30, 60, 99)]
    assert factors == pytest.approx([1, 1, 0.1, 0.01, 0.001])
    steps = (0, 4, 9, 10, 35, 60, 85, 109)
    factors = [schedules.cosine(k, 110, warmup=10) for k in steps]
    expected = [0.1, 0.5, 1, 1, 0.5 + 0.125**0.5, 0.5, 0.5 - 0.125**0.5, 0.00025]
    assert factors == pytest.approx(expected, abs=1e-4)
    assert schedules.cosine(0, 10) == schedules.cosine(9, 10, warmup=10) == 1
    assert schedules.cosine(5, 10) == 0.5
    factors = [schedules.warmup(k, 100, over=10) for k in range(100)]
    assert factors == [(k + 1) / 10 for k in range(10)] + [1.0] * 90


def test_what_hooks_do_not_take_and_numbers_that_are_alone_or_tiny():
    complex64 = nn.Parameter(torch.ones(2, dtype=torch.complex64))
    complex64.grad, table = torch.ones_like(complex64), nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1])).sum().backward()
    for params in ([complex64], table.parameters()):
        with pytest.raises(TypeError, match="gradients that are dense and real"):
            orthogonal(torch.optim.SGD(params, lr=0.1)).step()
    with pytest.raises(TypeError, match="LBFGS makes gradients in its step"):
        orthogonal(torch.optim.LBFGS([complex64]))
    rule = torch.optim.Optimizer([complex64], {"betas": 0.9})
    with pytest.raises(ValueError, match="Optimizer has no learning rate"):
        optimizers.unit_steps(rule)
    for scope, moved in (("tensor", 0.25), ("global", 0.0)):
        w = nn.Parameter(torch.tensor(2.0))
        w.grad = torch.tensor(0.5)
        orthogonal(SGD([w], lr=0.5), scope=scope, rescale=False).step()
        assert w.item() == 2.0 - moved
    w.grad = torch.tensor(1e-44)  # its reciprocal is no float32
    optimizers.unit_steps(SGD([w], lr=0.5)).step()
    assert 1.99 < w.item() < 2.0


def test_defaults_of_a_stack_are_those_of_the_rule_for_one_network():
    params = [torch.nn.Parameter(torch.ones(2))]
    for one, stack in ((AdamW(params), StackedAdamW), (SGD(params, 0.1), StackedSGD)):
        assert stack.numbers.items() <= one.defaults.items()
    AdamW(params, lr=1.0, weight_decay=2.0)  # turns weights round, and no longer


def test_the_divisor_of_a_stack_has_the_eps_of_each_member():
    w = torch.nn.Parameter(torch.zeros(2, 3, dtype=torch.float64))
    w.grad = torch.ones_like(w)
    optimizer = StackedAdamW([w], eps=torch.tensor([0.5, 2.0], dtype=torch.float64))
    optimizer.step()
    (divisor,) = optimizers.rules.adam_divisors(optimizer)
    expected = torch.tensor([[1.5], [3.0]], dtype=torch.float64).expand(2, 3)
    torch.testing.assert_close(divisor, expected)
