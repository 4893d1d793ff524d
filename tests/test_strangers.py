"""Hooks in a stranger's loop: what torch promises of an optimizer, of each hook."""

import copy
import io
from functools import partial
from itertools import product

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.optim.lr_scheduler import LambdaLR

from grokbook import losses, optimizers

HEAD = {"names": ["0.weight"]}
HOOKS = {
    "orthogonal": {},
    "unit_steps": {},
    "clip": {"norm": 0.1},
    "grokfast": {"alpha": 0.9},
    "centre_rows": HEAD,
    "hold_norm": HEAD | {"norm": 0.5},
    "clip_rows": HEAD | {"norm": 0.2},
    "replay_norm": HEAD | {"norms": [[1.0, 2.0, 1.5]], "every": 2},
    "steps_by_norm": HEAD | {"norm": 0.5},
    "descend_from": {"lr": 0.5, "after": 3},
}
RULES = {
    "AdamW": partial(torch.optim.AdamW, lr=0.01),
    "SGD": partial(torch.optim.SGD, lr=0.1),
    "Muon": partial(optimizers.Muon, lr=0.01),
}
every_hook = pytest.mark.parametrize("hook", HOOKS)
every_rule = pytest.mark.parametrize("rule", RULES)


def start(hook, rule="AdamW", dtype=torch.float32):
    """A network and its optimizer with a hook."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).to(dtype)
    return net, attach(hook, RULES[rule](net.named_parameters()))


def attach(hook, optimizer):
    return getattr(optimizers, hook)(optimizer, **HOOKS[hook])


def slopes(net, step, scaled=lambda loss: loss):
    """Put the gradients of a step into a network; its loss."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(5, 4, generator=generator)
    net.zero_grad()
    loss = net(x).square().sum()
    scaled(loss).backward()
    return loss


def go(net, optimizer, steps):
    for step in steps:
        slopes(net, step)
        optimizer.step()


def weights(net):
    return [p.detach().clone() for p in net.parameters()]


def same(left, right):
    return all(map(torch.equal, weights(left), weights(right)))


def by_file(what, **how):
    torch.save(what, buffer := io.BytesIO())
    buffer.seek(0)
    return torch.load(buffer, **how)


@every_hook
@every_rule
def test_copies_and_checkpoints_go_on_to_the_bit_with_their_hooks(hook, rule):
    """A deep copy, a saved optimizer, torch's state and that of its distributed one."""
    pair = net, optimizer = start(hook, rule)
    go(net, optimizer, range(5))
    loaded, distributed = start(hook, rule), start(hook, rule)
    states = by_file([part.state_dict() for part in pair], weights_only=True)
    for part, state in zip(loaded, states, strict=True):
        part.load_state_dict(state)
    twins = [copy.deepcopy(pair), by_file(pair, weights_only=False)]
    twins += [loaded, distributed]
    optimizer.zero_grad()
    before = weights(net)
    model, state = copy.deepcopy(get_state_dict(net, optimizer))
    assert all(map(torch.equal, weights(net), before))
    set_state_dict(*distributed, model_state_dict=model, optim_state_dict=state)
    without = copy.deepcopy(pair)
    without[1].step_hooks.functions.clear()
    for network, rule_with_hook in (pair, without, *twins):
        go(network, rule_with_hook, range(5, 9))
    assert all(same(net, twin[0]) for twin in twins)
    assert not same(net, without[0])
    assert copy.copy(optimizer).step_hooks.added == optimizer.step_hooks.added


@every_hook
def test_hooks_are_named_and_other_ones_of_a_checkpoint_are_said(hook):
    net, optimizer = start(hook)
    go(net, optimizer, range(2))
    assert type(optimizer).__name__ == "AdamW" and isinstance(
        optimizer, torch.optim.AdamW
    )
    assert f" with {hook}(" in repr(optimizer)
    ((name, options),) = optimizer.state_dict()["hooks"]
    assert name == hook and options.items() >= HOOKS[hook].items()
    for other in HOOKS.keys() - {hook}:
        state = start(other)[1].state_dict()
        sentence = (
            rf"was saved with {other}\(.*, and this optimizer goes on with {hook}\("
        )
        with pytest.warns(UserWarning, match=sentence):
            optimizer.load_state_dict(state)
    free = start("clip")[0]
    plain = torch.optim.AdamW(free.named_parameters(), lr=0.01)
    go(free, plain, range(3))
    with_hook = attach(hook, torch.optim.AdamW(net.named_parameters(), lr=0.01))
    with_hook.load_state_dict(plain.state_dict())
    go(net, with_hook, range(3, 6))
    plain.load_state_dict(with_hook.state_dict())
    go(free, plain, range(3, 6))


@every_hook
def test_parameters_that_are_added_later_are_hooked_too(hook):
    """As where layers are unfrozen; hooks on named matrices keep to these."""
    late, early = start(hook), start(hook)
    first = list(late[0][0].named_parameters(prefix="0"))
    last = list(late[0][2].named_parameters(prefix="2"))
    optimizer = attach(hook, torch.optim.AdamW(first, lr=0.01))
    optimizer.add_param_group({"params": last})
    go(late[0], optimizer, range(4))
    go(*early, range(4))
    assert all(map(torch.allclose, weights(late[0]), weights(early[0])))


@every_hook
def test_schedulers_scalers_and_closures(hook):
    """A scheduler may be made before the hook; a closure is called once."""
    halve, ends = (lambda step: 0.5**step), []
    for form in ("plain", "scaled", "fused", "before", "closure"):
        net, _ = start(hook)
        how = {"lr": 0.01, "fused": form == "fused"}
        optimizer = torch.optim.AdamW(net.named_parameters(), **how)
        if form == "before":
            scheduler = LambdaLR(optimizer, halve)
            attach(hook, optimizer)
        else:
            scheduler = LambdaLR(attach(hook, optimizer), halve)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        calls = []

        def closure(net=net, calls=calls):
            calls.append(0)
            return slopes(net, len(calls) - 1)

        for step in range(5):
            if form == "closure":
                assert optimizer.step(closure) > 0
            elif form in ("scaled", "fused"):
                slopes(net, step, scaler.scale)
                scaler.step(optimizer)
                scaler.update()
            else:
                go(net, optimizer, [step])
            scheduler.step()
        assert len(calls) == (5 if form == "closure" else 0)
        assert optimizer.param_groups[0]["lr"] == 0.01 * 0.5**5
        ends.append(weights(net))
    for end in ends[1:]:
        torch.testing.assert_close(end, ends[0], rtol=1e-5, atol=1e-6)


@every_hook
def test_a_step_that_raises_gives_gradients_and_rates_back(hook):
    def run_out(*_):
        raise torch.OutOfMemoryError

    net, optimizer = start(hook)
    slopes(net, 0)
    raw = [p.grad for p in net.parameters()]
    optimizer.register_step_pre_hook(run_out)
    with pytest.raises(torch.OutOfMemoryError):
        optimizer.step()
    assert all(p.grad is grad for p, grad in zip(net.parameters(), raw, strict=True))
    assert optimizer.param_groups[0]["lr"] == 0.01


@every_hook
def test_a_hook_leaves_alone_what_no_step_changes(hook):
    """A frozen network, one without gradients, an infinite step of a GradScaler, and
    the step by which torch's distributed checkpoint fills the state."""
    net, _ = start(hook)
    before = weights(net)
    optimizer = attach(
        hook, torch.optim.AdamW(net.named_parameters(), lr=0.01, fused=True)
    )
    optimizer.step()
    get_state_dict(net, optimizer)
    slopes(net, 0)
    net[0].weight.grad[0, 0] = torch.inf
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(()))
    scaler.step(optimizer)
    assert all(map(torch.equal, weights(net), before))
    net[0].requires_grad_(False)
    go(net, optimizer, range(1, 3))
    assert torch.equal(net[0].weight, before[0])
    assert not torch.equal(net[2].weight, before[2])


SIZES = (0.0, 2.0**-13, 1.0, 2.0**13)
HALVES = (torch.float16, torch.bfloat16)


@pytest.mark.parametrize("hook", [name for name in HOOKS if name != "steps_by_norm"])
def test_half_precision_is_that_of_a_wide_step_to_rounding(hook):
    """For weights and gradients of any size; zero weights are left alone.

    Not of steps that are lengthened after half precision has rounded them.
    """
    for dtype, size, slope in product(HALVES, SIZES, SIZES):
        moved = []
        for kind in (dtype, torch.float64):
            net, _ = start(hook)
            generator = torch.Generator().manual_seed(1)
            for p in net.parameters():
                values = (p.detach().sign() + p.detach()) * size
                raw = torch.randn(p.shape, generator=generator).clamp(-2, 2) * slope
                p.data, p.grad = values.to(dtype).to(kind), None
                p.grad = raw.to(dtype).to(kind)
            optimizer = torch.optim.SGD(net.named_parameters(), lr=2.0**-4)
            attach(hook, optimizer).step()
            moved.append(
                torch.cat([p.detach().double().flatten() for p in net.parameters()])
            )
        # torch also rounds a small rate to float16
        eps = torch.finfo(dtype).eps * (8 if hook == "unit_steps" else 1)
        scale = float(moved[1].abs().max())
        assert moved[0].isfinite().all(), (dtype, size, slope)
        torch.testing.assert_close(*moved, rtol=8 * eps, atol=8 * eps * scale)


def test_counts_go_on_in_half_precision_also_after_a_checkpoint():
    """bfloat16 has no 257: the norm is that of step 300, and descent begins there."""
    curve = [[1.0 + k / 100 for k in range(400)]]
    w = nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16))
    hooks = (
        partial(optimizers.replay_norm, names=["w"], norms=curve, every=1),
        partial(optimizers.descend_from, lr=1.0, after=300),
    )
    for hook in hooks:
        optimizer = hook(torch.optim.SGD([("w", w)], lr=0.1))
        for step in range(301):
            w.grad = torch.zeros_like(w) if step < 300 else torch.ones_like(w)
            if step == 280:
                state = by_file(optimizer.state_dict(), weights_only=True)
                optimizer = hook(torch.optim.SGD([("w", w)], lr=0.1))
                optimizer.load_state_dict(state)
            before = w.detach().clone()
            optimizer.step()
        if hook is hooks[0]:
            assert float(w.detach().norm()) == pytest.approx(4.01, rel=0.01)
        else:
            assert torch.equal(w, before - 1)


def test_what_a_hook_cannot_do_without_is_said():
    net, _ = start("clip")
    with pytest.raises(
        ValueError, match="make the optimizer of model.named_parameters"
    ):
        attach("hold_norm", torch.optim.SGD(net.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizers.descend_from(optimizer, lr=0.1, loss=0.5)
    slopes(net, 0)
    with pytest.raises(
        TypeError, match=r"descend_from\(loss=0.5\) has to know the loss"
    ):
        optimizer.step()
    with pytest.raises(TypeError, match="unexpected keyword argument 'norn'"):
        optimizers.clip(optimizer, norm=1.0, norn=0.5)
    assert len(optimizer.step_hooks.added) == 1
    names = (name for name in HEAD["names"])  # an iterable that is read once
    optimizer = torch.optim.SGD(net.named_parameters(), lr=0.1)
    optimizers.hold_norm(optimizer, names=names, norm=torch.tensor(0.5))
    assert optimizer.state_dict()["hooks"][0][1] == HOOKS["hold_norm"] | {
        "total": False
    }
    copy.deepcopy(optimizer).step()


def test_norms_where_there_is_no_float64(monkeypatch):
    from test_anywhere import WithoutFloat64

    monkeypatch.setattr(losses, "NO_FLOAT64", ("cpu",))
    for hook in HOOKS:
        net, optimizer = start(hook)
        slopes(net, 0)
        with WithoutFloat64():
            optimizer.step()
