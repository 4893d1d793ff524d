"""Optimisers: torch bit for bit, stack equals members, projections, exact resume."""

import copy

import pytest
import torch
from torch import nn

from grokbook.optimizers import SGD, AdamW, GradientNormSchedule, OrthogonalGradient

SHAPES = [(7, 5), (5,), (3, 2, 4)]
MEMBERS = 3


def parameters(seed=0, dtype=torch.float32, members=None):
    generator = torch.Generator().manual_seed(seed)
    lead = () if members is None else (members,)
    return [
        nn.Parameter(torch.randn(*lead, *s, generator=generator).to(dtype))
        for s in SHAPES
    ]


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
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


@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_sgd_equals_torch_bit_for_bit(momentum, decay):
    ours, theirs = parameters(), parameters()
    options = {"lr": 0.1, "momentum": momentum, "weight_decay": decay}
    run(SGD(ours, **options), ours, 50)
    run(torch.optim.SGD(theirs, foreach=False, **options), theirs, 50)
    assert same(ours, theirs)


def test_adamw_against_hand_written_steps():
    """Two steps on one weight, from the equations."""
    w = nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    optimizer = AdamW([w], lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.5)
    expected, m, v = 2.0, 0.0, 0.0
    for t, g in enumerate((0.3, -0.2), start=1):
        w.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.99**t)
        expected -= 0.1 * 0.5 * expected + 0.1 * m_hat / (v_hat**0.5 + 1e-3)
    assert w.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("eps", "huge"), [(1e-30, True), (1e-8, False)])
def test_second_moment_underflows_in_float32(eps, huge):
    """Below |g| = 3.7e-23 the square is 0 and the step m / eps instead of about lr."""
    w = nn.Parameter(torch.zeros(1))
    optimizer = AdamW([w], lr=1.0, eps=eps)
    w.grad = torch.tensor([1e-24])
    optimizer.step()
    assert optimizer.state[w]["exp_avg_sq"] == 0
    assert (w.abs() > 1e5) if huge else (w.abs() < 1e-15)


def perpendicular(w, g):
    return g - (w * g).sum() / (w * w).sum() * w


@pytest.mark.parametrize("scope", ["tensor", "global"])
@pytest.mark.parametrize("rescale", [True, False])
def test_projection_is_orthogonal_and_rescaling_keeps_the_norm(scope, rescale):
    params = parameters(dtype=torch.float64)
    before = [p.detach().clone() for p in params]
    set_gradients(params, 0)
    raw = [p.grad.clone() for p in params]
    base = SGD(params, lr=1.0)
    OrthogonalGradient(base, rescale=rescale, scope=scope).step()
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
    assert same(raw, [p.grad for p in params])


def test_zero_weights_are_not_projected_and_parallel_gradients_vanish():
    zero, along = (nn.Parameter(torch.tensor(x)) for x in ([0.0, 0.0], [3.0, 4.0]))
    zero.grad, along.grad = torch.tensor([1.0, 2.0]), torch.tensor([6.0, 8.0])
    OrthogonalGradient(SGD([zero, along], lr=1.0)).step()
    assert zero.tolist() == [-1.0, -2.0] and along.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scope", ["tensor", "global"])
def test_half_precision_never_divides_by_zero(dtype, scope):
    """1e-30 is 0 in float16; zero weights and zero gradients must stay finite."""
    params = [nn.Parameter(torch.zeros(4, dtype=dtype)) for _ in range(2)]
    for p in params:
        p.grad = torch.zeros_like(p)
    params[1].grad += 1
    OrthogonalGradient(SGD(params, lr=1.0), scope=scope).step()
    assert params[0].tolist() == [0] * 4 and params[1].tolist() == [-1] * 4


def test_gradient_norm_schedule_makes_steps_of_length_lr():
    params = parameters(dtype=torch.float64)
    optimizer = GradientNormSchedule(SGD(params, lr=0.018))
    for i, scale in enumerate((1.0, 1e-9, 1e6)):
        before = [p.detach().clone() for p in params]
        set_gradients(params, i, scale)
        optimizer.step()
        moved = [p - b for p, b in zip(params, before, strict=True)]
        assert float(norm(moved)) == pytest.approx(0.018, rel=1e-6)
        assert optimizer.param_groups[0]["lr"] == 0.018


def test_gradient_norm_schedule_at_the_edges():
    """No direction, no step; entries whose float32 squares vanish still count."""
    w = nn.Parameter(torch.ones(4))
    optimizer = GradientNormSchedule(SGD([w], lr=0.5))
    optimizer.step()
    w.grad = torch.zeros(4)
    optimizer.step()
    assert w.tolist() == [1.0] * 4
    w.grad = torch.full((4,), 1e-25)
    optimizer.step()
    assert w.tolist() == pytest.approx([0.75] * 4)


def float64s(*values):
    return torch.tensor(values, dtype=torch.float64)


def adamw(params, pick, stacked):
    return AdamW(
        params,
        lr=pick(float64s(0.01, 0.02, 0.005)),
        betas=(pick(float64s(0.9, 0.8, 0.0)), pick(float64s(0.99, 0.999, 0.95))),
        eps=pick(float64s(1e-25, 1e-8, 1e-3)),
        weight_decay=pick(float64s(0.0, 1.0, 0.1)),
        stacked=stacked,
    )


def sgd(params, pick, stacked):
    return SGD(
        params,
        lr=pick(float64s(0.1, 0.02, 0.3)),
        momentum=pick(float64s(0.0, 0.2, 0.8)),
        weight_decay=pick(float64s(0.0, 0.1, 0.0)),
        stacked=stacked,
    )


def mixed(params, pick, stacked):
    return AdamW(params, lr=pick(float64s(0.01, 0.02, 0.0)), stacked=stacked)


def plain(params, pick, stacked):
    return SGD(params, lr=0.1, momentum=0.8, weight_decay=0.1, stacked=stacked)


WRAPPERS = {
    "none": lambda base: base,
    "tensor": OrthogonalGradient,
    "global": lambda base: OrthogonalGradient(base, rescale=False, scope="global"),
    "both": lambda base: OrthogonalGradient(base, scope="global"),
    "schedule": GradientNormSchedule,
    "nested": lambda base: OrthogonalGradient(GradientNormSchedule(base)),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("base", [adamw, sgd, mixed, plain])
def test_a_stack_equals_each_member_alone(wrapper, base):
    """To rounding: powers and sums of a stack are taken by other kernels."""
    stack = parameters(members=MEMBERS, dtype=torch.float64)
    alone = [[nn.Parameter(p[i].detach().clone()) for p in stack] for i in range(3)]
    together = WRAPPERS[wrapper](base(stack, lambda x: x, True))
    singles = [
        WRAPPERS[wrapper](base(alone[i], lambda x, i=i: x[i].item(), False))
        for i in range(MEMBERS)
    ]
    for step in range(20):
        set_gradients(stack, step)
        together.step()
        for i, optimizer in enumerate(singles):
            for p, s in zip(alone[i], stack, strict=True):
                p.grad = s.grad[i].clone()
            optimizer.step()
    tolerance = 1e-12 if wrapper == "none" else 1e-10
    for i in range(MEMBERS):
        for p, s in zip(alone[i], stack, strict=True):
            torch.testing.assert_close(s[i], p, rtol=tolerance, atol=tolerance)


def test_a_value_shared_by_all_members_becomes_a_float():
    stack = parameters(members=MEMBERS)
    group = AdamW(stack, lr=float64s(0.1, 0.1, 0.1), stacked=True).param_groups[0]
    assert group["lr"] == 0.1 and isinstance(group["lr"], float)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("base", [adamw, sgd])
@pytest.mark.parametrize("stacked", [True, False])
def test_resume_is_bit_exact_and_gradients_stay(wrapper, base, stacked):
    def pick(x):
        return x if stacked else x[1].item()

    members = MEMBERS if stacked else None
    first = parameters(members=members)
    optimizer = WRAPPERS[wrapper](base(first, pick, stacked))
    run(optimizer, first, 10)
    second = [nn.Parameter(p.detach().clone()) for p in first]
    resumed = WRAPPERS[wrapper](base(second, pick, stacked))
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run(optimizer, first, 10, start=10)
    run(resumed, second, 10, start=10)
    assert same(first, second)
    set_gradients(second, 19)
    assert same([p.grad for p in first], [p.grad for p in second])


@pytest.mark.parametrize("wrapper", [name for name in WRAPPERS if name != "none"])
@pytest.mark.parametrize("foreign", [torch.optim.AdamW, torch.optim.SGD])
def test_wrappers_take_any_base_and_can_be_copied(wrapper, foreign):
    params = parameters()
    optimizer = WRAPPERS[wrapper](foreign(params, lr=0.01))
    run(optimizer, params, 3)
    twin, twin_params = copy.deepcopy((optimizer, params))
    run(optimizer, params, 3)
    run(twin, twin_params, 3)
    assert same(params, twin_params)
    optimizer.zero_grad()
    assert all(p.grad is None for p in params)
    optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})
    assert len(optimizer.param_groups) == 2


def test_wrappers_share_groups_and_state_with_a_scheduler():
    params = parameters()
    base = AdamW(params, lr=1.0)
    optimizer = OrthogonalGradient(GradientNormSchedule(base))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    rates = []
    for i in range(4):
        set_gradients(params, i)
        optimizer.step()
        schedule.step()
        rates.append(base.param_groups[0]["lr"])
    assert rates == pytest.approx([1.0, 0.1, 0.1, 0.01])
    assert optimizer.state is base.state and base.state[params[0]]["step"] == 4


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_parameters_without_gradient_are_skipped(wrapper):
    used, unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = WRAPPERS[wrapper](AdamW([unused, used], weight_decay=0.1))
    used.grad = torch.tensor([1.0, 2.0, 3.0])
    optimizer.step()
    assert unused.tolist() == [1.0] * 3 and unused.grad is None
    assert unused not in optimizer.state and used.tolist() != [1.0] * 3


def test_a_failing_base_leaves_gradients_and_lr():
    class Failing(SGD):
        def step(self, closure=None):
            raise RuntimeError("no step")

    w = nn.Parameter(torch.ones(2))
    w.grad = raw = torch.tensor([1.0, 2.0])
    optimizer = OrthogonalGradient(GradientNormSchedule(Failing([w], lr=0.5)))
    with pytest.raises(RuntimeError, match="no step"):
        optimizer.step()
    assert w.grad is raw and optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_closures_are_evaluated_once_with_gradients(wrapper):
    w = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = WRAPPERS[wrapper](SGD([w], lr=0.1))
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = (w - torch.tensor([3.0, 1.0])).square().sum()
        loss.backward()
        calls.append(loss.item())
        return loss

    assert optimizer.step(closure) == 13 and calls == [13.0]
    assert w.tolist() != [1.0, -2.0]


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
        (lambda p: OrthogonalGradient(SGD(p, lr=0.1), scope="row"), "'row'"),
        (lambda p: GradientNormSchedule(p), "needs an optimiser"),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build(parameters())
