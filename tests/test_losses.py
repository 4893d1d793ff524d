"""Losses: identities, torch references, collapse thresholds, edges, gradients."""

import math
from functools import partial
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from helpers import PRECISION
from torch.autograd.functional import jacobian
from torch.func import grad, hessian, jacfwd, jacrev, vmap

from grokbook import losses

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LOSSES = {
    "softmax": losses.softmax_cross_entropy,
    "exact": losses.exact_cross_entropy,
    "stablemax": losses.stablemax_cross_entropy,
    "taylor": losses.taylor_cross_entropy,
    "taylor_detached": partial(losses.taylor_cross_entropy, detach_min=True),
    "squared": losses.mean_squared_error,
    "zeroed": losses.correct_logit_zeroed,
    "detached": losses.correct_logit_detached,
    "projected": losses.projected_cross_entropy,
    "centred": partial(losses.projected_cross_entropy, forward=True),
    "repaired": losses.repaired_cross_entropy,
    "collapsed": losses.collapsed_cross_entropy,
    "unbalanced": losses.unbalanced_cross_entropy,
    "handmade": losses.handmade_cross_entropy,
    "doubled": losses.doubled_cross_entropy,
    "clamped": losses.clamped_cross_entropy,
    "rescaled": partial(losses.rescaled_cross_entropy, norm=3.0),
}
DOUBLE = torch.float64
close = torch.testing.assert_close


@pytest.fixture
def batch():
    """One logit is 0, where the two branches of StableMax meet."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(8, 5, generator=generator, dtype=DOUBLE)
    logits[0, 0] = 0
    return logits, torch.randint(5, (8,), generator=generator)


def one_gap(gap, dtype):
    return torch.tensor([[gap, 0.0]], dtype=dtype), torch.tensor([0])


def log_transform(z):
    """g(z) of Proposition 1, with StableMax(z) = softmax(g(z))."""
    up, down = torch.log1p(z.clamp(min=0)), torch.log1p(-z.clamp(max=0))
    return torch.where(z > 0, up, -down)


def log_taylor(z, lowest):
    x = z - lowest.amin(-1, keepdim=True)
    return (1 + x + x * x / 2).log()


# The losses that are softmax cross-entropy of other logits, which these functions make
# of logits and of the places of the labels.
OTHER_LOGITS = {
    "stablemax": lambda z, _: log_transform(z),
    "taylor": lambda z, _: log_taylor(z, z),
    "taylor_detached": lambda z, _: log_taylor(z, z.detach()),
    "zeroed": lambda z, is_label: torch.where(is_label, 0, z),
    "detached": lambda z, is_label: torch.where(is_label, z.detach(), z),
    "rescaled": lambda z, _: 3 * F.normalize(z, dim=-1),
}


def reference(name, logits, labels):
    """The loss of each row (rows,), made of torch's own functions."""
    is_label = F.one_hot(labels, logits.shape[-1]).bool()
    if name == "squared":
        return (logits - is_label.double()).square().mean(-1)
    if name in OTHER_LOGITS:
        logits = OTHER_LOGITS[name](logits, is_label)
    return F.cross_entropy(logits, labels, reduction="none")


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_derivatives_are_those_of_torch(name, batch):
    """Of rows and of positions; twice, in forward and in reverse mode, also nested.

    And once without a graph of the gradient, as a training step has it.
    """
    logits, labels = batch
    near = {"rtol": 1e-11, "atol": 1e-14}
    rows = reference(name, logits, labels)
    for shape in ((8,), (2, 4)):
        given = logits.reshape(*shape, 5), labels.reshape(shape)
        each, mean, total = (
            LOSSES[name](*given, dtype=DOUBLE, reduction=reduction)
            for reduction in ("none", "mean", "sum")
        )
        close(each, rows.reshape(shape), **near)
        close(mean, rows.mean(), **near)
        close(total, rows.sum(), **near)
    ours = partial(LOSSES[name], labels=labels[:3], dtype=DOUBLE)
    slope = grad(lambda z: reference(name, z, labels[:3]).mean())
    for derivative in (grad(ours), jacfwd(ours), partial(jacobian, ours)):
        close(derivative(logits[:3]), slope(logits[:3]), **near)
    curvature = jacrev(slope)(logits[:3])
    for derivative in (jacrev(jacrev(ours)), hessian(ours), jacfwd(jacfwd(ours))):
        close(derivative(logits[:3]), curvature, **near)


def test_smoothing_is_torchs_also_in_a_stack(batch):
    logits, labels = batch
    deep = logits.reshape(2, 4, 5), labels.reshape(2, 4)
    loss = partial(losses.softmax_cross_entropy, *deep, dtype=DOUBLE)
    expected = F.cross_entropy(*batch, label_smoothing=0.2)
    close(loss(smoothing=0.2), expected, rtol=1e-14, atol=1e-14)
    shares = torch.tensor([0.0, 0.2], dtype=DOUBLE)
    one = losses.softmax_cross_entropy(logits[0], labels[0], smoothing=shares[1])
    assert one.dtype == torch.float32
    together = vmap(lambda share: loss(smoothing=share))(shares)
    close(together, torch.stack([F.cross_entropy(*batch), expected]))


def test_stablemax_is_softmax_of_the_log_transform(batch):
    logits, _ = batch
    close(losses.stablemax(logits), log_transform(logits).softmax(-1))


def test_shares_of_many_classes_have_room_in_float16():
    """Their sum is above its largest number, 65,504."""
    shares = losses.stablemax(torch.full((1, 40_000), 2.0), dtype=torch.float16)
    assert shares.dtype == torch.float16
    assert shares.double().sum() == pytest.approx(1, rel=1e-2)


def test_every_dtype_is_kept_and_equal_logits_give_log_classes():
    given = torch.zeros(2, 4), torch.tensor([0, 3])
    for (name, loss), dtype in product(LOSSES.items(), DTYPES):
        how = ({"dtype": dtype, "reduction": r} for r in losses.REDUCTIONS)
        mean, total, each = (loss(*given, **one) for one in how)
        expected = 0.25 if name == "squared" else math.log(4)
        assert mean.dtype == each.dtype == dtype and mean.shape == ()
        assert float(mean) == pytest.approx(expected, rel=4 * torch.finfo(dtype).eps)
        assert each.shape == (2,) and total == each.sum()


def test_half_logits_of_any_size_have_the_loss_of_wide_ones(batch):
    """Where float16 has no number for a length, a difference or a sum of weights."""
    for size, dtype, loss in product((1e-7, 1, 2e4), (torch.float32, DOUBLE), LOSSES):
        given = (size * batch[0]).clamp(-6e4, 6e4).half()
        wide = LOSSES[loss](given.to(dtype), batch[1], dtype=dtype)
        assert torch.equal(LOSSES[loss](given, batch[1], dtype=dtype), wide), loss
    many = torch.full((1, 50_257), 2.0)
    found = losses.stablemax_cross_entropy(many, batch[1][:1], dtype=torch.float16)
    assert float(found) == pytest.approx(math.log(50_257), rel=1e-3)


# Two rows of float32 logits: a collapsed one, with a gap of 20, and one that is not.
COLLAPSED = torch.tensor([[20.0, 0.0, -1.0], [3.0, 0.0, 1.0]]), torch.tensor([0, 0])
WIDE = COLLAPSED[0].double(), COLLAPSED[1]


def of_rows(loss, given=COLLAPSED):
    """Gradients of the sum over rows, so that no row is divided by their number."""
    return grad(partial(loss, reduction="sum"))(*given)


def test_a_simulated_collapse_and_its_controls_change_one_row_alone():
    """One loses the correct logit's gradient, one its balance; one doubles the rest."""
    true = of_rows(F.cross_entropy, WIDE)
    collapsed, unbalanced, doubled = (true.clone() for _ in range(3))
    collapsed[0, 0] = 0
    unbalanced[0] += collapsed[0].mean()  # the residual mass, divided among the logits
    doubled[0, 1:] *= 2
    value = losses.softmax_cross_entropy(*WIDE, dtype=DOUBLE, reduction="none")
    for name, expected in (
        ("collapsed", collapsed),
        ("unbalanced", unbalanced),
        ("doubled", doubled),
    ):
        close(of_rows(LOSSES[name], WIDE), expected, rtol=1e-7, atol=1e-24)
        assert torch.equal(LOSSES[name](*WIDE, reduction="none"), value)
    for gap, is_cut in ((24 * math.log(2) - 1e-6, False), (16.6356, True)):
        given = one_gap(gap, DOUBLE)
        for name in ("collapsed", "unbalanced", "doubled"):
            assert (grad(LOSSES[name])(*given).sum() > 1e-9) == is_cut


def test_a_repair_and_a_projection_put_back_what_a_collapse_took():
    """The correct gradient as a whole, or a third of it, and no bit of the value."""
    plain = of_rows(losses.softmax_cross_entropy)
    assert plain[0, 0] == 0 and (plain[0, 1:] > 0).all()
    repaired, projected = of_rows(LOSSES["repaired"]), of_rows(LOSSES["projected"])
    assert torch.equal(repaired[0, 1:], plain[0, 1:])
    assert repaired[0, 0] == -plain[0, 1:].sum()
    close(repaired.double(), of_rows(F.cross_entropy, WIDE), rtol=1e-6, atol=0)
    close(projected, plain - plain.mean(-1, keepdim=True))
    value = losses.softmax_cross_entropy(*COLLAPSED, reduction="none")
    for name in ("projected", "repaired"):
        assert torch.equal(LOSSES[name](*COLLAPSED, reduction="none"), value)


def test_clamped_logits_keep_a_probability():
    logits, labels = torch.tensor([[0.0, -150.0, -2.0]]), torch.tensor([1])
    for given, same in ((logits, logits.clamp(min=-100)), (logits.clamp(min=-90),) * 2):
        assert LOSSES["clamped"](given, labels) == F.cross_entropy(same, labels)
    found = grad(LOSSES["clamped"])(logits, labels)
    assert found[0, 1] == 0
    assert found[0, 0] == grad(F.cross_entropy)(logits, labels)[0, 0]
    for largest, dtype in ((1e12, torch.float32), (1128.0, torch.bfloat16)):
        coarse = torch.tensor([[largest, 0.0]], dtype=dtype)
        for label, expected in ((0, 0.0), (1, 100.0)):
            one = LOSSES["clamped"](coarse, torch.tensor([label]), dtype=DOUBLE)
            assert float(one) == pytest.approx(expected, abs=1e-40, rel=1e-12)


def test_softmax_collapses_at_the_precision_and_exact_does_not():
    """One competitor is absorbed from a gap of p ln 2: 7.62, 16.64, 36.74."""
    for dtype, bits in PRECISION.items():
        threshold, tiny = bits * math.log(2), torch.finfo(dtype).tiny
        for gap in (threshold - 0.3, threshold + 0.3, threshold + 1):
            given = one_gap(gap, dtype)
            for name in ("softmax", "handmade"):
                assert (LOSSES[name](*given, dtype=dtype) == 0) == (gap > threshold)
            exact = losses.exact_cross_entropy(*given, dtype=dtype)
            expected = math.log1p(math.exp(-float(given[0][0, 0])))
            assert float(exact) == pytest.approx(expected, rel=0.01, abs=tiny)
            assert exact > 0
        soft, exact = (
            grad(partial(LOSSES[name], dtype=dtype))(*given)
            for name in ("softmax", "exact")
        )
        assert soft[0, 0] == 0 and soft[0, 1] > 0
        assert exact[0, 0] < 0 and exact[0, 0] + exact[0, 1] == 0
    for dtype, alive, dead in ((torch.float32, 102, 104), (DOUBLE, 744, 746)):
        assert losses.exact_cross_entropy(*one_gap(alive, dtype), dtype=dtype) > 0
        assert losses.exact_cross_entropy(*one_gap(dead, dtype), dtype=dtype) == 0


def test_a_nan_shows_a_class_at_minus_infinity_does_not_and_labels_fit(batch):
    for (name, loss), dtype, label in product(LOSSES.items(), DTYPES, (0, 1)):
        given = torch.tensor([[1.0, math.nan, 0.0]], dtype=dtype)
        assert loss(given, torch.tensor([label]), dtype=dtype).isnan(), name
    without = torch.tensor([[1.0, 1.0, -math.inf]]), torch.tensor([0])
    smooth = partial(losses.softmax_cross_entropy, smoothing=0.1)
    for name, loss in (LOSSES | {"smooth": smooth}).items():
        value = float(loss(*without))
        if name in MASKED:
            assert value == pytest.approx(MASKED[name], nan_ok=True), name
            continue
        assert value == pytest.approx(math.log(1 + math.e if name == "zeroed" else 2))
        slope = grad(loss)(*without)[0]
        assert slope[2] == 0 < slope[1], name
    logits, labels = batch
    for loss in LOSSES.values():
        for wrong in (labels[:-1], labels.reshape(2, 4), labels[:, None]):
            with pytest.raises(ValueError, match=r"do not fit .* give labels \(8,\)"):
                loss(logits, wrong)
        with pytest.raises(
            ValueError, match="unknown reduction 'avg': use one of mean"
        ):
            loss(logits, labels, reduction="avg")


# What the losses are that have no right value where a class is at -inf.
NONE = ("taylor", "taylor_detached", "projected", "centred", "rescaled")
MASKED = dict.fromkeys((*NONE, "unbalanced", "doubled"), math.nan)
MASKED |= {"squared": math.inf, "smooth": math.inf}


def test_huge_gaps_have_the_right_loss_and_gradient():
    """Of StableMax, whose logarithm of Proposition 1 keeps what a softmax needs."""

    def by_log(z, labels):
        return F.cross_entropy(log_transform(z), labels)

    for dtype, gap in ((torch.float32, 1e9), (DOUBLE, 1e100)):
        ours = partial(losses.stablemax_cross_entropy, dtype=dtype)
        for logits in ([gap, 0, 1], [-gap, 0, 1], [0, gap, -gap], [0.5, -3, 20]):
            given = torch.tensor([logits], dtype=DOUBLE), torch.tensor([0])
            close(ours(*given).double(), by_log(*given), rtol=1e-6, atol=1e-7)
            close(grad(ours)(*given), grad(by_log)(*given), rtol=1e-5, atol=1e-7)


def test_vmap_equals_one_at_a_time():
    generator = torch.Generator().manual_seed(3)
    logits = 4 * torch.randn(3, 6, 5, generator=generator)
    labels = torch.randint(5, (3, 6), generator=generator)
    for loss, dtype in product(LOSSES.values(), (torch.float16, DOUBLE)):
        loss = partial(loss, dtype=dtype)
        values, slopes = vmap(loss)(logits, labels), vmap(grad(loss))(logits, labels)
        eps = torch.finfo(dtype).eps
        for i, given in enumerate(zip(logits, labels, strict=True)):
            close(values[i], loss(*given), rtol=4 * eps, atol=1e-7)
            close(slopes[i], grad(loss)(*given), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_a_label_that_is_none_is_an_error_and_nan_on_a_gpu(name, batch, monkeypatch):
    logits, labels = batch
    bad = [labels.where(labels != labels[0], wrong) for wrong in (5, -1, -100)]
    for one in bad:
        with pytest.raises(RuntimeError, match="index .* is out of bounds"):
            LOSSES[name](logits, one)
    right = LOSSES[name](*batch)
    monkeypatch.setattr(losses, "on_gpu", lambda _: True)
    assert torch.equal(LOSSES[name](*batch), right)
    assert all(LOSSES[name](logits, one).isnan() for one in bad)
