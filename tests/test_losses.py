"""Losses: identities, torch references, collapse thresholds, edges, gradients."""

import math
from functools import partial
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from helpers import PRECISION
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
# those whose gradient is that of their value
OWN_GRADIENT = [name for name in LOSSES if not name.endswith("detached")]
DOUBLE = torch.float64
close = torch.testing.assert_close


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(8, 5, generator=generator, dtype=DOUBLE)
    return logits, torch.randint(5, (8,), generator=generator)


def one_gap(gap, dtype):
    return torch.tensor([[gap, 0.0]], dtype=dtype), torch.tensor([0])


def test_losses_agree_with_torch(batch):
    logits, labels = batch
    for smoothing, reduction in product((0.0, 0.2), losses.REDUCTIONS):
        how = {"dtype": DOUBLE, "reduction": reduction}
        ours = losses.softmax_cross_entropy(*batch, smoothing=smoothing, **how)
        theirs = F.cross_entropy(*batch, label_smoothing=smoothing, reduction=reduction)
        close(ours, theirs, rtol=1e-14, atol=1e-14)
        if not smoothing:  # nothing collapses here
            exact = losses.exact_cross_entropy(*batch, **how)
            close(exact, theirs, rtol=1e-12, atol=1e-15)
    theirs = F.mse_loss(logits, F.one_hot(labels, 5).double())
    close(losses.mean_squared_error(*batch, dtype=DOUBLE), theirs)


def test_positions_of_a_sequence_are_rows(batch):
    """(sequences, positions, classes) is one row after the other, also smoothed."""
    logits, labels = batch
    smooth = partial(losses.softmax_cross_entropy, smoothing=0.2)
    for loss in (*LOSSES.values(), smooth):
        loss = partial(loss, reduction="none", dtype=DOUBLE)
        together = loss(logits.reshape(2, 4, 5), labels.reshape(2, 4))
        close(together.flatten(), loss(logits, labels))
    total = losses.stablemax(logits.reshape(2, 4, 5)).sum(dim=-1)
    close(total, torch.ones(2, 4, dtype=DOUBLE))


def log_transform(z):
    """g(z) of Proposition 1, with StableMax(z) = softmax(g(z))."""
    up, down = torch.log1p(z.clamp(min=0)), torch.log1p(-z.clamp(max=0))
    return torch.where(z >= 0, up, -down)


def test_stablemax_is_softmax_of_the_log_transform(batch):
    """Proposition 1, and the two branches of s meet with value and slope 1."""
    logits, labels = batch
    g = log_transform(logits)
    close(losses.stablemax(logits), g.softmax(-1))
    close(losses.stablemax_cross_entropy(logits, labels), F.cross_entropy(g, labels))
    zero = torch.zeros((), dtype=DOUBLE)
    s = losses.stablemax_transform
    assert s(zero) == grad(s)(zero) == 1
    assert torch.autograd.gradcheck(s, logits.double().requires_grad_())


def test_every_dtype_is_kept_and_equal_logits_give_log_classes():
    given = torch.zeros(2, 4), torch.tensor([0, 3])
    for (name, loss), dtype in product(LOSSES.items(), DTYPES):
        how = ({"dtype": dtype, "reduction": r} for r in losses.REDUCTIONS)
        mean, total, each = (loss(*given, **one) for one in how)
        expected = 0.25 if name == "squared" else math.log(4)
        assert mean.dtype == each.dtype == dtype and mean.shape == ()
        assert float(mean) == pytest.approx(expected, rel=4 * torch.finfo(dtype).eps)
        assert each.shape == (2,) and total == each.sum()


def test_both_derivatives_by_finite_differences(batch):
    logits, labels = batch[0][:3], batch[1][:3]
    for name in OWN_GRADIENT:
        loss = partial(LOSSES[name], labels=labels, dtype=DOUBLE)
        assert torch.autograd.gradcheck(loss, logits.clone().requires_grad_())
        assert torch.autograd.gradgradcheck(loss, logits.clone().requires_grad_())


def test_interventions_on_the_correct_logit(batch):
    logits, labels = batch
    rows, zero = torch.arange(8), logits.clone()
    zero[rows, labels] = 0
    close(losses.correct_logit_zeroed(*batch), F.cross_entropy(zero, labels))
    plain = grad(F.cross_entropy)(logits, labels)
    assert (plain[rows, labels] != 0).all()
    for loss in (losses.correct_logit_zeroed, losses.correct_logit_detached):
        assert (grad(loss)(logits, labels)[rows, labels] == 0).all()
    plain[rows, labels] = 0
    close(grad(losses.correct_logit_detached)(logits, labels), plain)
    close(losses.correct_logit_detached(*batch), F.cross_entropy(*batch))
    through, held = LOSSES["taylor"], LOSSES["taylor_detached"]
    assert through(*batch) == held(*batch)
    close(grad(through)(*batch).sum(-1), torch.zeros(8, dtype=DOUBLE))
    assert (grad(held)(*batch).sum(-1).abs() > 1e-6).all()


# Two rows of float32 logits: a collapsed one, with a gap of 20, and one that is not.
COLLAPSED = torch.tensor([[20.0, 0.0, -1.0], [3.0, 0.0, 1.0]]), torch.tensor([0, 0])
WIDE = COLLAPSED[0].double(), COLLAPSED[1]


def of_rows(loss, given=COLLAPSED):
    """Gradients of the sum over rows, so that no row is divided by their number."""
    return grad(partial(loss, reduction="sum"))(*given)


def test_a_collapsed_row_has_no_correct_gradient_and_the_repair_puts_it_back():
    plain = of_rows(losses.softmax_cross_entropy)
    assert plain[0, 0] == 0 and (plain[0, 1:] > 0).all()
    assert plain[0].sum() > 1e-9 and abs(plain[1].sum()) < 1e-7
    ours = of_rows(LOSSES["repaired"])
    assert torch.equal(ours[0, 1:], plain[0, 1:])
    assert ours[0, 0] == -plain[0, 1:].sum()
    close(ours.double(), of_rows(F.cross_entropy, WIDE), rtol=1e-6, atol=0)


def test_a_simulated_collapse_cuts_rows_and_an_unbalanced_gradient_its_balance():
    """Below a number of bits; the balance to the residual mass, which is tiny there."""
    plain, cut, ours = (
        of_rows(loss, WIDE)
        for loss in (F.cross_entropy, LOSSES["collapsed"], LOSSES["unbalanced"])
    )
    taken = cut.mean(-1, keepdim=True)  # of the second row 0
    close(ours, plain + taken, rtol=1e-7, atol=1e-24)
    assert ours[0].sum() == pytest.approx(float(cut[0].sum()), rel=1e-7)
    assert torch.equal(ours[1], plain[1])
    both = [LOSSES[k](*WIDE, reduction="none") for k in ("collapsed", "unbalanced")]
    assert torch.equal(*both)
    assert cut[0, 0] == 0
    plain[0, 0] = 0
    close(cut, plain, rtol=1e-12, atol=0)
    for gap, is_cut in ((24 * math.log(2) - 1e-6, False), (16.6356, True)):
        given = one_gap(gap, DOUBLE)
        assert (grad(LOSSES["collapsed"])(*given)[0, 0] == 0) == is_cut


def test_a_log_softmax_by_hand_is_torchs_but_for_rounding(batch):
    logits, labels = batch
    for dtype, rtol in ((DOUBLE, 1e-12), (torch.float32, 1e-5)):
        ours = losses.handmade_cross_entropy(logits, labels, dtype=dtype)
        assert ours.dtype == dtype
        close(ours.double(), F.cross_entropy(logits, labels), rtol=rtol, atol=0)
    one = torch.tensor([[80.0, 0.0, -1.0]]), torch.tensor([0])
    assert losses.handmade_cross_entropy(*one) == 0


def test_a_doubled_gradient_has_the_sum_of_a_collapse_and_loses_nothing():
    plain, cut, ours = (
        of_rows(loss, WIDE)
        for loss in (F.cross_entropy, LOSSES["collapsed"], LOSSES["doubled"])
    )
    assert ours[0].sum() == pytest.approx(float(cut[0].sum()), rel=1e-7)
    expected = 2 * plain[0]
    expected[0] = plain[0, 0]  # the correct logit's, which is not 0
    close(ours[0], expected, rtol=1e-7, atol=0)
    assert ours[0, 0] < 0 and torch.equal(ours[1], plain[1])
    both = [LOSSES[k](*WIDE, reduction="none") for k in ("collapsed", "doubled")]
    assert torch.equal(*both)


def test_the_projection_takes_the_mean_of_a_gradient_away(batch):
    plain, ours = of_rows(losses.softmax_cross_entropy), of_rows(LOSSES["projected"])
    close(ours, plain - plain.mean(-1, keepdim=True))
    assert (ours.sum(-1).abs() < 1e-6 * ours.abs().sum(-1)).all()
    assert 0 > ours[0, 0] > -plain[0].sum()  # a third of what is missing is back
    value = losses.softmax_cross_entropy(*COLLAPSED, reduction="none")
    for name in ("projected", "repaired"):  # not a bit of the value is changed
        assert torch.equal(LOSSES[name](*COLLAPSED, reduction="none"), value)
    logits, labels = batch
    centred = logits - logits.mean(-1, keepdim=True)
    ours = LOSSES["centred"](logits, labels, dtype=DOUBLE)
    close(ours, F.cross_entropy(centred, labels))
    far = logits.float() + 1e7  # where float32 holds no differences below 1
    close(LOSSES["centred"](far, labels), LOSSES["projected"](far, labels))


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
            soft = losses.softmax_cross_entropy(*given, dtype=dtype)
            exact = losses.exact_cross_entropy(*given, dtype=dtype)
            assert (soft == 0) == (gap > threshold)
            expected = math.log1p(math.exp(-float(given[0][0, 0])))
            assert float(exact) == pytest.approx(expected, rel=0.01, abs=tiny)
            assert exact > 0
        soft = grad(partial(losses.softmax_cross_entropy, dtype=dtype))(*given)
        exact = grad(partial(losses.exact_cross_entropy, dtype=dtype))(*given)
        assert soft[0, 0] == 0 and soft[0, 1] > 0
        assert exact[0, 0] < 0 and exact[0, 0] + exact[0, 1] == 0
    for dtype, alive, dead in ((torch.float32, 102, 104), (DOUBLE, 744, 746)):
        assert losses.exact_cross_entropy(*one_gap(alive, dtype), dtype=dtype) > 0
        assert losses.exact_cross_entropy(*one_gap(dead, dtype), dtype=dtype) == 0


def test_a_nan_shows_a_class_at_minus_infinity_does_not_and_labels_fit(batch):
    for (name, loss), dtype in product(LOSSES.items(), DTYPES):
        given = torch.tensor([[1.0, math.nan, 0.0]], dtype=dtype)
        assert loss(given, torch.tensor([0]), dtype=dtype).isnan(), name
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


@pytest.mark.parametrize("name", LOSSES)
def test_forward_mode_has_the_derivatives_of_reverse_mode(name, batch):
    """Also nested, and at a logit of 0, where the two branches of StableMax meet."""
    logits, labels = batch[0][:2].clone(), batch[1][:2]
    logits[0, 0] = 0
    loss = partial(LOSSES[name], labels=labels, dtype=DOUBLE)
    close(jacfwd(loss)(logits), grad(loss)(logits), rtol=1e-12, atol=1e-14)
    by_reverse = jacrev(jacrev(loss))(logits)
    for found in (hessian(loss)(logits), jacfwd(jacfwd(loss))(logits)):
        close(found, by_reverse, rtol=1e-12, atol=1e-14)


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


def test_vmap_equals_one_at_a_time(batch):
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
    soft = partial(losses.softmax_cross_entropy, *batch, dtype=DOUBLE)
    shares = torch.tensor([0.0, 0.1])
    alone = [soft(smoothing=float(share)) for share in shares]
    close(vmap(lambda s: soft(smoothing=s))(shares), torch.stack(alone))


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
