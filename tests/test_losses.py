"""Losses: identities, torch references, collapse thresholds, edges, gradients."""

import inspect
import math
from decimal import Decimal, localcontext
from functools import partial
from itertools import product
from types import SimpleNamespace

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from shapes import check
from torch.func import grad, vmap

from grokbook import losses

check(losses)

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
    "clamped": losses.clamped_cross_entropy,
}
# those whose gradient is that of their value
OWN_GRADIENT = [name for name in LOSSES if not name.endswith("detached")]
# the bits of the significand, hence the gap p ln 2 at which one competitor is absorbed
PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}
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
    # divided before the cast down, 1e5 is infinite in float16
    hot = losses.softmax_cross_entropy(
        1e5 * logits, labels, dtype=torch.float16, temperature=1e5
    )
    close(hot.double(), F.cross_entropy(*batch), rtol=2e-3, atol=0)
    theirs = F.mse_loss(logits, F.one_hot(labels, 5).double())
    close(losses.mean_squared_error(*batch, dtype=DOUBLE), theirs)


def test_a_gpu_picks_the_same_entries(batch, monkeypatch):
    """By a mask, not by gather, whose backward pass sorts there."""
    logits, labels = batch
    logits[0, 0] = -math.inf
    expected = logits[torch.arange(8), labels]
    assert torch.equal(losses._pick(logits, labels), expected)
    there = property(lambda self: SimpleNamespace(type="cuda"))
    monkeypatch.setattr(torch, "arange", lambda n, device: torch.tensor([*range(n)]))
    logits = logits.as_subclass(type("OnGPU", (torch.Tensor,), {"device": there}))
    assert torch.equal(losses._pick(logits, labels).as_subclass(torch.Tensor), expected)


def test_a_shift_of_all_logits(batch):
    logits, labels = batch
    for name, shift in product(("softmax", "exact", "taylor", "detached"), (-40, 7.5)):
        loss = partial(LOSSES[name], dtype=DOUBLE)
        close(loss(logits + shift, labels), loss(logits, labels))
    loss = losses.stablemax_cross_entropy
    assert abs(loss(logits + 5, labels) - loss(logits, labels)) > 0.1


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


def test_stablemax_is_softmax_of_the_log_transform(batch):
    """Proposition 1, and the two branches of s meet with value and slope 1."""
    logits, labels = batch
    g = losses.stablemax_log_transform(logits)
    close(losses.stablemax(logits), g.softmax(-1))
    close(losses.stablemax_cross_entropy(logits, labels), F.cross_entropy(g, labels))
    zero = torch.zeros((), dtype=DOUBLE)
    s, log = losses.stablemax_transform, losses.stablemax_log_transform
    for transform, value in ((s, 1), (log, 0)):
        assert transform(zero) == value and grad(transform)(zero) == 1
        assert torch.autograd.gradcheck(transform, logits.double().requires_grad_())


def test_every_dtype_is_kept_and_equal_logits_give_log_classes():
    given = torch.zeros(2, 4), torch.tensor([0, 3])
    for (name, loss), dtype in product(LOSSES.items(), DTYPES):
        mean, total, each = (loss(*given, dtype=dtype, reduction=r) for r in
                             losses.REDUCTIONS)  # fmt: skip
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
    """Zeroed: as if z_y were 0. Detached: value and wrong-class gradients are kept; a
    detached minimum changes the gradient alone, whose sum it takes away."""
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


# Interventions of Liu et al. ----------------------------------------------------------

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


def test_a_simulated_collapse_cuts_rows_below_a_number_of_bits():
    plain, ours = of_rows(F.cross_entropy, WIDE), of_rows(LOSSES["collapsed"], WIDE)
    assert ours[0, 0] == 0
    plain[0, 0] = 0
    close(ours, plain, rtol=1e-12, atol=0)
    for gap, is_cut in ((24 * math.log(2) - 1e-6, False), (16.6356, True)):
        given = one_gap(gap, DOUBLE)
        assert (grad(LOSSES["collapsed"])(*given)[0, 0] == 0) == is_cut
    fewer = partial(LOSSES["collapsed"], bits=1)
    assert (grad(fewer)(*COLLAPSED)[:, 0] == 0).all()


def test_an_unbalanced_gradient_is_what_the_projection_takes_from_a_collapse():
    """To the residual mass itself, which a collapse of 24 bits has at most."""
    exact, cut, ours = (
        of_rows(loss, WIDE)
        for loss in (F.cross_entropy, LOSSES["collapsed"], LOSSES["unbalanced"])
    )
    taken = cut.mean(-1, keepdim=True)  # of the second row 0
    close(ours, exact + taken, rtol=1e-7, atol=1e-24)
    assert ours[0].sum() == pytest.approx(float(cut[0].sum()), rel=1e-7)
    assert torch.equal(ours[1], exact[1])
    both = [LOSSES[k](*WIDE, reduction="none") for k in ("collapsed", "unbalanced")]
    assert torch.equal(*both)


def test_clamped_logits_keep_a_probability():
    logits, labels = torch.tensor([[0.0, -150.0, -2.0]]), torch.tensor([1])
    expected = F.cross_entropy(torch.tensor([[0.0, -100.0, -2.0]]), labels)
    assert LOSSES["clamped"](logits, labels) == expected
    found = grad(LOSSES["clamped"])(logits, labels)
    assert found[0, 1] == 0
    assert found[0, 0] == grad(F.cross_entropy)(logits, labels)[0, 0]
    near = logits.clamp(min=-90)
    assert LOSSES["clamped"](near, labels) == F.cross_entropy(near, labels)


# Collapse and the edges of a dtype ------------------------------------------------


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


def test_largest_finite_and_infinite_logits():
    """A correct logit at the top costs nothing, a wrong one costs its distance."""
    zero, one, two = (torch.tensor([k]) for k in range(3))
    for dtype in DTYPES:
        top = torch.finfo(dtype).max
        logits = torch.tensor([[top, 0.0, -top]], dtype=dtype)
        masked = torch.tensor([[1.0, 1.0, -math.inf]], dtype=dtype)
        for name in ("softmax", "exact"):
            loss = partial(LOSSES[name], dtype=dtype)
            assert loss(logits, zero) == 0 and loss(logits, one) == top
            assert grad(loss)(logits, one).tolist() == [[1, -1, 0]]
            assert float(loss(masked, zero)) == pytest.approx(0.693, rel=0.01)
            assert grad(loss)(masked, zero).tolist() == [[-0.5, 0.5, 0]]
        assert loss(logits, two) == top  # the gap itself is infinite
        assert grad(loss)(logits, two).isfinite().all()
        assert loss(torch.tensor([[math.inf, 0.0]], dtype=dtype), zero) == 0


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
    soft = partial(losses.softmax_cross_entropy, dtype=DOUBLE)
    options = torch.tensor([0.5, 2.0]), torch.tensor([0.0, 0.1])
    together = vmap(lambda t, s: soft(*batch, temperature=t, smoothing=s))(*options)
    for i, (t, s) in enumerate(zip(*options, strict=True)):
        alone = soft(*batch, temperature=float(t), smoothing=float(s))
        close(together[i], alone, rtol=1e-14, atol=0)


INF, NAN = math.inf, math.nan
# Value/gradient of every loss: n NaN, i infinite, 0 zero, x another finite number.
EDGES = """
case softmax exact stablemax taylor squared zeroed detached
inf_correct   n/nnn 0/000 n/nnn n/nnn i/i0x x/0xx n/0nn
inf_wrong     n/nnn x/000 i/0x0 i/nnn i/ixx n/n0n n/n0n
minus_correct i/xxx x/000 i/nxx n/nnn i/i0x x/0xx i/0xx
minus_wrong   x/0xx x/0xx x/0xx n/nnn i/ixx x/00x x/00x
nan_correct   n/nnn n/nnn n/nnn n/nnn n/n0x x/0xx n/0nn
nan_wrong     n/nnn n/nnn n/nnn n/nnn n/nxx n/n0n n/n0n
equal         x/xxx x/xxx x/xxx x/xxx x/xxx x/0xx x/0xx
top_correct   0/000 0/000 0/0x0 n/nnn i/x0x x/0x0 0/000
top_wrong     x/xx0 x/xx0 x/xx0 n/nnn i/xxx x/x00 x/x00
"""
HEADER, *ROWS = (line.split() for line in EDGES.strip().splitlines())


def kind(x):
    if math.isnan(x) or math.isinf(x):
        return "n" if math.isnan(x) else "i"
    return "x" if x else "0"


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    top = torch.finfo(dtype).max
    cases = {
        "inf_correct": ([INF, 0, 1], 0),
        "inf_wrong": ([INF, 0, 1], 1),
        "minus_correct": ([-INF, 0, 1], 0),
        "minus_wrong": ([-INF, 0, 1], 1),
        "nan_correct": ([NAN, 0, 1], 0),
        "nan_wrong": ([NAN, 0, 1], 1),
        "equal": ([2, 2, 2], 0),
        "top_correct": ([top, 0, -top], 0),
        "top_wrong": ([top, 0, -top], 1),
    }
    for case, *row in ROWS:
        logits, label = cases[case]
        for name, expected in zip(HEADER[1:], row, strict=True):
            x = torch.tensor([logits], dtype=dtype, requires_grad=True)
            loss = LOSSES[name](x, torch.tensor([label]), dtype=dtype)
            loss.backward()
            found = kind(loss.item()) + "/" + "".join(map(kind, x.grad[0].tolist()))
            assert found == expected, (case, name)


def exactly(name, logits, label):
    """Value and gradient of a row from the formulas; 1e160 has many digits."""
    with localcontext(prec=700, Emax=10**9, Emin=-(10**9)):
        z = [Decimal(x) for x in logits]
        if name == "exact":
            weights = slopes = [(x - max(z)).exp() for x in z]
        elif name == "stablemax":
            weights = [x + 1 if x >= 0 else 1 / (1 - x) for x in z]
            slopes = [min(w, Decimal(1)) ** 2 for w in weights]
        else:
            weights = [1 + (x - min(z)) + (x - min(z)) ** 2 / 2 for x in z]
            slopes = [1 + x - min(z) for x in z]
        total = sum(weights)
        gradient = [s / total for s in slopes]
        gradient[label] -= slopes[label] / weights[label]
        if name == "taylor":
            gradient[z.index(min(z))] -= sum(gradient)
        return float((total / weights[label]).ln()), [float(g) for g in gradient]


HUGE = {torch.float16: 1e3, torch.bfloat16: 1e20, torch.float32: 1e20, DOUBLE: 1e160}
LARGE = {torch.float32: 1e9, DOUBLE: 1e100}  # whose squares can be added


def test_huge_gaps_have_the_right_loss_and_gradient():
    cases = [("stablemax", *case) for case in HUGE.items()]
    cases += [
        (name, *c) for name in ("taylor", "taylor_detached") for c in LARGE.items()
    ]
    for name, dtype, gap in cases:
        eps = torch.finfo(dtype).eps
        for logits, label in (
            ([gap, 0, 1], 0),  # leads
            ([-gap, 0, 1], 0),  # trails
            ([-gap, 0, gap], 1),  # between
            ([0.5, -3.0, 20.0], 0),  # moderate
        ):
            x = torch.tensor([logits], dtype=dtype)
            loss = partial(LOSSES[name], labels=torch.tensor([label]), dtype=dtype)
            value, gradient = exactly(name, x[0].tolist(), label)
            assert float(loss(x)) == pytest.approx(value, rel=8 * eps, abs=2 * eps)
            found = grad(loss)(x)[0].tolist()
            assert found == pytest.approx(gradient, rel=16 * eps, abs=2 * eps)


def test_stablemax_in_float16_has_a_gradient_where_it_has_a_loss():
    """1 / p overflows once the share p of the correct class is below 1.5e-5; at
    z = -10,000 the slope s^2 is 1e-8, which rounds to 0, and s^2 / s does not."""
    half = torch.float16
    loss = partial(losses.stablemax_cross_entropy, labels=torch.tensor([0]), dtype=half)
    for first, rest in ((-30.0, [30.0] * 112), (-300.0, [300.0] * 112), (-1e4, [0.0])):
        x = torch.tensor([[first, *rest]], dtype=half)
        value, gradient = exactly("stablemax", x[0].tolist(), 0)
        assert float(loss(x)) == pytest.approx(value, rel=0.01)
        assert grad(loss)(x)[0].tolist() == pytest.approx(gradient, rel=0.02)


def test_what_does_not_fit_is_refused(batch):
    for option, value, message in (
        ("reduction", "median", "'median'"),
        ("smoothing", 1.0, "smoothing is 1.0"),
        ("temperature", 0.0, "temperature is 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            losses.softmax_cross_entropy(*batch, **{option: value})
    for loss in LOSSES.values():
        if not isinstance(loss, partial):
            with pytest.raises((ValueError, jaxtyping.TypeCheckError), match="labels"):
                inspect.unwrap(loss)(batch[0], batch[1][:-1])
    with pytest.raises(jaxtyping.TypeCheckError):  # the checks of tests/shapes.py
        vmap(losses.softmax_cross_entropy)(batch[0][None], batch[1][None, :-1])
