"""Losses: identities, torch references, collapse thresholds, edges, gradients."""

import inspect
import math
from decimal import Decimal, localcontext
from functools import partial

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from shapes import check
from torch.func import grad, jacrev, vmap

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
# the bits of the significand, hence the gap p ln 2 at which one competitor is absorbed
PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(8, 5, generator=generator, dtype=torch.float64)
    return logits, torch.randint(5, (8,), generator=generator)


def one_gap(gap, dtype):
    return torch.tensor([[gap, 0.0]], dtype=dtype), torch.tensor([0])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", losses.REDUCTIONS)
def test_softmax_agrees_with_torch(batch, smoothing, reduction):
    ours = losses.softmax_cross_entropy(
        *batch, dtype=torch.float64, smoothing=smoothing, reduction=reduction
    )
    theirs = F.cross_entropy(*batch, label_smoothing=smoothing, reduction=reduction)
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-14)


def test_exact_agrees_with_softmax_where_nothing_collapses(batch):
    exact = losses.exact_cross_entropy(*batch, dtype=torch.float64, reduction="none")
    theirs = F.cross_entropy(*batch, reduction="none")
    torch.testing.assert_close(exact, theirs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["softmax", "exact", "taylor", "detached"])
@pytest.mark.parametrize("shift", [-40.0, 7.5])
def test_a_shift_of_all_logits_changes_nothing(batch, name, shift):
    logits, labels = batch
    loss = partial(LOSSES[name], dtype=torch.float64)
    torch.testing.assert_close(loss(logits + shift, labels), loss(logits, labels))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("dtype", "scale"), [(torch.float64, 1), (torch.float16, 200)])
def test_positions_of_a_sequence_are_rows(batch, name, dtype, scale):
    """(sequences, positions, classes) is one row after the other, also smoothed.

    At 200 times the logits the squares of the Taylor softmax overflow in some rows.
    """
    logits, labels = scale * batch[0], batch[1]
    loss = partial(LOSSES[name], reduction="none", dtype=dtype)
    if name == "softmax":
        loss = partial(loss, smoothing=0.2)
    together = loss(logits.reshape(2, 4, 5), labels.reshape(2, 4))
    torch.testing.assert_close(together.flatten(), loss(logits, labels))


class OnGPU(torch.Tensor):
    """A tensor of the CPU that says it is elsewhere."""

    class Device(str):
        type = "cuda"

    device = Device("cpu")


def test_a_gpu_picks_the_same_entries(batch):
    """By a mask, not by gather, whose backward pass sorts there."""
    logits, labels = batch
    logits[0, 0] = -math.inf
    expected = torch.stack([row[y] for row, y in zip(logits, labels, strict=True)])
    for values in (logits, logits.as_subclass(OnGPU)):
        assert torch.equal(losses._pick(values, labels), expected)
    sequences = logits.reshape(2, 4, 5).as_subclass(OnGPU)
    picked = losses._pick(sequences, labels.reshape(2, 4))
    assert torch.equal(picked.flatten(), expected)


def test_squared_error_is_the_distance_to_the_one_hot_target(batch):
    logits, labels = batch
    theirs = F.mse_loss(logits, F.one_hot(labels, 5).double())
    ours = losses.mean_squared_error(logits, labels, dtype=torch.float64)
    torch.testing.assert_close(ours, theirs)
    assert losses.mean_squared_error(torch.eye(5), torch.arange(5)) == 0


def test_stablemax_probabilities_of_every_position_add_to_one(batch):
    logits = batch[0].reshape(2, 4, 5)
    total = losses.stablemax(logits).sum(dim=-1)
    torch.testing.assert_close(total, torch.ones(2, 4, dtype=torch.float64))


def test_stablemax_is_not_shift_invariant(batch):
    logits, labels = batch
    loss = losses.stablemax_cross_entropy
    assert abs(loss(logits + 5, labels) - loss(logits, labels)) > 0.1


def test_stablemax_is_softmax_of_the_log_transform(batch):
    """Proposition 1, and the two branches of s meet with value and slope 1."""
    logits, labels = batch
    g = losses.stablemax_log_transform(logits)
    torch.testing.assert_close(losses.stablemax(logits), g.softmax(-1))
    torch.testing.assert_close(
        losses.stablemax_cross_entropy(logits, labels), F.cross_entropy(g, labels)
    )
    zero = torch.zeros((), dtype=torch.float64)
    for transform, value in (
        (losses.stablemax_transform, 1),
        (losses.stablemax_log_transform, 0),
    ):
        assert transform(zero) == value and grad(transform)(zero) == 1
        assert torch.autograd.gradcheck(transform, logits.double().requires_grad_())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["stablemax", "taylor"])
@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_slow_links_have_finite_gradients_at_special_logits(name, dtype, value):
    """At a logit of exactly 1 the unclamped 1 / (1 - x) gives a NaN gradient."""
    logits = torch.tensor([[value, 0.3, value, -2.0]], requires_grad=True)
    LOSSES[name](logits, torch.tensor([0]), dtype=dtype).backward()
    assert logits.grad.isfinite().all() and (logits.grad != 0).any()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_kept_and_equal_logits_give_log_classes(name, dtype):
    labels = torch.tensor([0, 3])
    loss = LOSSES[name](torch.zeros(2, 4), labels, dtype=dtype)
    expected = 0.25 if name == "squared" else math.log(4)
    assert loss.dtype == dtype and loss.shape == ()
    assert float(loss) == pytest.approx(expected, rel=4 * torch.finfo(dtype).eps)
    each = LOSSES[name](torch.zeros(2, 4), labels, dtype=dtype, reduction="none")
    total = LOSSES[name](torch.zeros(2, 4), labels, dtype=dtype, reduction="sum")
    assert each.dtype == dtype and each.shape == (2,) and total == each.sum()


@pytest.mark.parametrize(
    "name", [name for name in LOSSES if not name.endswith("detached")]
)
def test_gradients_by_finite_differences(batch, name):
    logits, labels = batch
    loss = partial(LOSSES[name], labels=labels, dtype=torch.float64)
    assert torch.autograd.gradcheck(loss, logits.clone().requires_grad_())


def test_interventions_on_the_correct_logit(batch):
    """Zeroed: as if z_y were 0. Detached: value and wrong-class gradients are kept."""
    logits, labels = batch
    rows = torch.arange(8)
    zero = logits.clone()
    zero[rows, labels] = 0
    torch.testing.assert_close(
        losses.correct_logit_zeroed(logits, labels), F.cross_entropy(zero, labels)
    )
    plain = grad(F.cross_entropy)(logits, labels)
    assert (plain[rows, labels] != 0).all()
    for loss in (losses.correct_logit_zeroed, losses.correct_logit_detached):
        assert (grad(loss)(logits, labels)[rows, labels] == 0).all()
    held = grad(losses.correct_logit_detached)(logits, labels)
    plain[rows, labels] = 0
    torch.testing.assert_close(held, plain)
    torch.testing.assert_close(
        losses.correct_logit_detached(logits, labels), F.cross_entropy(logits, labels)
    )


# Interventions of Liu et al. ----------------------------------------------------------

# Two rows of float32 logits: a collapsed one, with a gap of 20, and one that is not.
COLLAPSED = torch.tensor([[20.0, 0.0, -1.0], [3.0, 0.0, 1.0]]), torch.tensor([0, 0])


def of_rows(loss):
    """Gradients of the sum over rows, so that no row is divided by their number."""
    return grad(partial(loss, reduction="sum"))(*COLLAPSED)


def test_a_collapsed_row_has_no_correct_gradient():
    found = of_rows(losses.softmax_cross_entropy)
    assert found[0, 0] == 0
    assert (found[0, 1:] > 0).all()
    assert found[0].sum() > 1e-9
    assert abs(found[1].sum()) < 1e-7


@pytest.mark.parametrize("name", ["projected", "repaired"])
def test_an_intervention_changes_no_bit_of_the_value(name):
    ours = LOSSES[name](*COLLAPSED, reduction="none")
    assert torch.equal(ours, losses.softmax_cross_entropy(*COLLAPSED, reduction="none"))


def test_the_projection_takes_the_mean_of_a_gradient_away():
    plain, ours = of_rows(losses.softmax_cross_entropy), of_rows(LOSSES["projected"])
    torch.testing.assert_close(ours, plain - plain.mean(-1, keepdim=True))
    assert (ours.sum(-1).abs() < 1e-6 * ours.abs().sum(-1)).all()
    assert 0 > ours[0, 0] > -plain[0].sum()  # a third of what is missing is back


def test_centred_logits_are_the_projection_in_both_passes(batch):
    logits, labels = batch
    centred = logits - logits.mean(-1, keepdim=True)
    torch.testing.assert_close(
        LOSSES["centred"](logits, labels, dtype=torch.float64),
        F.cross_entropy(centred, labels),
    )
    far = logits.float() + 1e7  # where float32 holds no differences below 1
    ours, theirs = (LOSSES[name](far, labels) for name in ("centred", "projected"))
    torch.testing.assert_close(ours, theirs)


def test_the_repair_puts_the_correct_gradient_back():
    plain, ours = of_rows(losses.softmax_cross_entropy), of_rows(LOSSES["repaired"])
    assert torch.equal(ours[0, 1:], plain[0, 1:])
    assert ours[0, 0] == -plain[0, 1:].sum()
    wide = grad(partial(F.cross_entropy, reduction="sum"))(
        COLLAPSED[0].double(), COLLAPSED[1]
    )
    torch.testing.assert_close(ours.double(), wide, rtol=1e-6, atol=0)


def test_a_simulated_collapse_cuts_rows_below_a_number_of_bits():
    logits, labels = COLLAPSED
    plain = grad(partial(F.cross_entropy, reduction="sum"))(logits.double(), labels)
    ours = grad(partial(LOSSES["collapsed"], reduction="sum"))(logits.double(), labels)
    assert ours[0, 0] == 0
    plain[0, 0] = 0
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=0)
    for gap, is_cut in ((24 * math.log(2) - 1e-6, False), (16.6356, True)):
        given = torch.tensor([[gap, 0.0]], dtype=torch.float64), torch.tensor([0])
        assert (grad(LOSSES["collapsed"])(*given)[0, 0] == 0) == is_cut
    fewer = partial(LOSSES["collapsed"], bits=1)
    assert (grad(fewer)(logits, labels)[:, 0] == 0).all()


def test_an_unbalanced_gradient_is_what_the_projection_takes_from_a_collapse():
    """To the residual mass itself, which a collapse of 24 bits has at most."""
    logits, labels = COLLAPSED[0].double(), COLLAPSED[1]
    exact, cut, ours = (
        grad(partial(loss, reduction="sum"))(logits, labels)
        for loss in (F.cross_entropy, LOSSES["collapsed"], LOSSES["unbalanced"])
    )
    taken = cut.mean(-1, keepdim=True)  # of the second row 0
    torch.testing.assert_close(ours, exact + taken, rtol=1e-7, atol=1e-24)
    assert ours[0].sum() == pytest.approx(float(cut[0].sum()), rel=1e-7)
    assert torch.equal(ours[1], exact[1])
    values = [
        LOSSES[k](logits, labels, reduction="none") for k in ("collapsed", "unbalanced")
    ]
    assert torch.equal(*values)


def test_clamped_logits_keep_a_probability():
    logits = torch.tensor([[0.0, -150.0, -2.0]])
    labels = torch.tensor([1])
    expected = F.cross_entropy(torch.tensor([[0.0, -100.0, -2.0]]), labels)
    assert LOSSES["clamped"](logits, labels) == expected
    found = grad(LOSSES["clamped"])(logits, labels)
    assert found[0, 1] == 0
    assert found[0, 0] == grad(F.cross_entropy)(logits, labels)[0, 0]
    near = logits.clamp(min=-90)
    assert LOSSES["clamped"](near, labels) == F.cross_entropy(near, labels)


def test_detached_minimum_only_changes_the_gradient(batch):
    logits, labels = batch
    through = losses.taylor_cross_entropy
    held = LOSSES["taylor_detached"]
    assert through(logits, labels) == held(logits, labels)
    torch.testing.assert_close(
        grad(through)(logits, labels).sum(-1), torch.zeros(8, dtype=torch.float64)
    )
    assert (grad(held)(logits, labels).sum(-1).abs() > 1e-6).all()


@pytest.mark.parametrize("dtype", PRECISION)
def test_softmax_collapses_at_the_precision_and_exact_does_not(dtype):
    """One competitor is absorbed from a gap of p ln 2: 7.62, 16.64, 36.74."""
    threshold = PRECISION[dtype] * math.log(2)
    tiny = torch.finfo(dtype).tiny
    for gap in (threshold - 0.3, threshold + 0.3):
        logits, labels = one_gap(gap, dtype)
        soft = losses.softmax_cross_entropy(logits, labels, dtype=dtype)
        exact = losses.exact_cross_entropy(logits, labels, dtype=dtype)
        assert (soft == 0) == (gap > threshold)
        expected = math.log1p(math.exp(-float(logits[0, 0])))
        assert float(exact) == pytest.approx(expected, rel=0.01, abs=tiny)
        assert exact > 0


@pytest.mark.parametrize("dtype", PRECISION)
def test_exact_keeps_the_correct_class_gradient(dtype):
    logits, labels = one_gap(PRECISION[dtype] * math.log(2) + 1, dtype)
    soft = grad(partial(losses.softmax_cross_entropy, dtype=dtype))(logits, labels)
    exact = grad(partial(losses.exact_cross_entropy, dtype=dtype))(logits, labels)
    assert soft[0, 0] == 0 and soft[0, 1] > 0
    assert exact[0, 0] < 0 and exact[0, 0] + exact[0, 1] == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_class_gradients_add_to_zero(dtype):
    """For fitted and unfitted rows, up to the rounding of the largest of them."""
    logits = torch.randn(64, 113, generator=torch.Generator().manual_seed(1)) * 9
    labels = torch.randint(113, (64,), generator=torch.Generator().manual_seed(2))
    labels[:32] = logits[:32].argmax(-1)
    logits = logits.to(dtype)
    loss = partial(losses.exact_cross_entropy, dtype=dtype, reduction="sum")
    total = grad(loss)(logits, labels).double()
    scale = total.abs().amax(-1)
    assert (total.sum(-1).abs() <= 16 * torch.finfo(dtype).eps * scale).all()


def test_exact_is_zero_only_where_exp_underflows():
    for dtype, alive, dead in ((torch.float32, 102, 104), (torch.float64, 744, 746)):
        assert losses.exact_cross_entropy(*one_gap(alive, dtype), dtype=dtype) > 0
        assert losses.exact_cross_entropy(*one_gap(dead, dtype), dtype=dtype) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_largest_finite_and_infinite_logits(dtype):
    """A correct logit at the top costs nothing, a wrong one costs its distance."""
    top = torch.finfo(dtype).max
    logits = torch.tensor([[top, 0.0, -top]], dtype=dtype)
    for name in ("softmax", "exact"):
        loss = partial(LOSSES[name], dtype=dtype)
        assert loss(logits, torch.tensor([0])) == 0
        assert loss(logits, torch.tensor([1])) == top
        assert grad(loss)(logits, torch.tensor([1])).tolist() == [[1, -1, 0]]
        masked = torch.tensor([[1.0, 1.0, -math.inf]], dtype=dtype)
        assert float(loss(masked, torch.tensor([0]))) == pytest.approx(0.693, rel=0.01)
        assert grad(loss)(masked, torch.tensor([0])).tolist() == [[-0.5, 0.5, 0]]
    wide = partial(losses.exact_cross_entropy, dtype=dtype)
    assert wide(logits, torch.tensor([2])) == top  # the gap itself is infinite
    assert grad(wide)(logits, torch.tensor([2])).isfinite().all()
    sure = torch.tensor([[math.inf, 0.0]], dtype=dtype)
    assert wide(sure, torch.tensor([0])) == 0


def test_temperature_divides_before_the_cast(batch):
    """1e5 is infinite in float16, so a half-precision division would give 0 or NaN."""
    logits, labels = batch
    for temperature in (1e5, torch.tensor(1e5)):
        hot = losses.softmax_cross_entropy(
            1e5 * logits.float(), labels, dtype=torch.float16, temperature=temperature
        )
        cold = losses.softmax_cross_entropy(logits, labels, dtype=torch.float16)
        assert abs(hot - cold) <= 2e-3 * cold


@pytest.mark.parametrize("temperature", [3.0, torch.tensor(3.0)])
def test_temperature_divides_in_the_wider_of_both_precisions(batch, temperature):
    """Thirds of float16 logits are not rounded to float16."""
    logits, labels = batch[0].half(), batch[1]
    loss = partial(losses.softmax_cross_entropy, dtype=torch.float64)
    divided = loss(logits, labels, temperature=temperature)
    torch.testing.assert_close(divided, loss(logits.double() / 3, labels))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_vmap_equals_one_at_a_time(name, dtype):
    generator = torch.Generator().manual_seed(3)
    logits = 4 * torch.randn(3, 6, 5, generator=generator)
    labels = torch.randint(5, (3, 6), generator=generator)
    loss = partial(LOSSES[name], dtype=dtype)
    values, gradients = vmap(loss)(logits, labels), vmap(grad(loss))(logits, labels)
    tolerance = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 1e-7}
    for i in range(3):
        torch.testing.assert_close(values[i], loss(logits[i], labels[i]), **tolerance)
        one = grad(loss)(logits[i], labels[i])
        torch.testing.assert_close(gradients[i], one, rtol=2e-3, atol=1e-6)


def test_vmap_over_options(batch):
    temperatures, smoothings = torch.tensor([0.5, 2.0]), torch.tensor([0.0, 0.1])
    together = vmap(
        lambda t, s: losses.softmax_cross_entropy(
            *batch, dtype=torch.float64, temperature=t, smoothing=s
        )
    )(temperatures, smoothings)
    assert together.dtype == torch.float64
    for i in range(2):
        alone = losses.softmax_cross_entropy(
            *batch,
            dtype=torch.float64,
            temperature=float(temperatures[i]),
            smoothing=float(smoothings[i]),
        )
        torch.testing.assert_close(together[i], alone, rtol=1e-14, atol=0)


# Second derivatives ---------------------------------------------------------------


def hessian(function):
    return jacrev(grad(function))


def plain_transform(x):
    return torch.where(x >= 0, x + 1, 1 / (1 - x.clamp(max=0)))


@pytest.mark.parametrize(
    "name", [name for name in LOSSES if not name.endswith("detached")]
)
def test_second_derivatives_by_finite_differences(batch, name):
    logits, labels = batch
    loss = partial(LOSSES[name], labels=labels, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(loss, logits.clone().requires_grad_())


def test_stablemax_transform_is_the_plain_expression_to_second_order():
    x = torch.tensor([-1e3, -2.0, -0.3, 0.2, 1.0, 7.0], dtype=torch.float64)
    for order in (lambda f: f, grad, hessian):
        ours = order(lambda y: losses.stablemax_transform(y).sum())(x)
        plain = order(lambda y: plain_transform(y).sum())(x)
        torch.testing.assert_close(ours, plain, rtol=1e-14, atol=0)


def test_stablemax_backward_is_the_same_with_and_without_a_graph(batch):
    """In place only where nobody differentiates again."""
    logits, labels = batch
    found = []
    for create_graph in (False, True):
        x = logits.clone().requires_grad_()
        loss = losses.stablemax_cross_entropy(x, labels)
        found += torch.autograd.grad(loss, x, create_graph=create_graph)
    assert torch.equal(*found) and found[1].requires_grad


def test_second_derivatives_of_stacked_members(batch):
    logits, labels = batch
    loss = losses.stablemax_cross_entropy
    together = vmap(hessian(loss))(logits[:, None], labels[:, None])
    for i in range(8):
        one = hessian(loss)(logits[i : i + 1], labels[i : i + 1])
        torch.testing.assert_close(together[i], one, rtol=1e-13, atol=1e-15)


# The edges of a dtype -------------------------------------------------------------

INF, NAN = math.inf, math.nan
# Value/gradient of every loss: n NaN, i infinite, 0 zero, x another finite number.
EDGES = """
case          softmax exact stablemax taylor taylor_detached squared zeroed detached
inf_correct   n/nnn   0/000 n/nnn     n/nnn  n/nnn           i/i0x   x/0xx  n/0nn
inf_wrong     n/nnn   x/000 i/0x0     i/nnn  i/nx0           i/ixx   n/n0n  n/n0n
minus_correct i/xxx   x/000 i/nxx     n/nnn  n/nnn           i/i0x   x/0xx  i/0xx
minus_wrong   x/0xx   x/0xx x/0xx     n/nnn  n/nnn           i/ixx   x/00x  x/00x
nan_correct   n/nnn   n/nnn n/nnn     n/nnn  n/nnn           n/n0x   x/0xx  n/0nn
nan_wrong     n/nnn   n/nnn n/nnn     n/nnn  n/nnn           n/nxx   n/n0n  n/n0n
equal         x/xxx   x/xxx x/xxx     x/xxx  x/xxx           x/xxx   x/0xx  x/0xx
top_correct   0/000   0/000 0/0x0     n/nnn  n/nnn           i/x0x   x/0x0  0/000
top_wrong     x/xx0   x/xx0 x/xx0     n/nnn  n/nnn           i/xxx   x/x00  x/x00
"""
HEADER, *ROWS = (line.split() for line in EDGES.strip().splitlines())


def kind(x):
    if math.isnan(x) or math.isinf(x):
        return "n" if math.isnan(x) else "i"
    return "x" if x else "0"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_special_values(dtype, row):
    top = torch.finfo(dtype).max
    logits, label = {
        "inf_correct": ([INF, 0, 1], 0),
        "inf_wrong": ([INF, 0, 1], 1),
        "minus_correct": ([-INF, 0, 1], 0),
        "minus_wrong": ([-INF, 0, 1], 1),
        "nan_correct": ([NAN, 0, 1], 0),
        "nan_wrong": ([NAN, 0, 1], 1),
        "equal": ([2, 2, 2], 0),
        "top_correct": ([top, 0, -top], 0),
        "top_wrong": ([top, 0, -top], 1),
    }[row[0]]
    for name, expected in zip(HEADER[1:], row[1:], strict=True):
        x = torch.tensor([logits], dtype=dtype, requires_grad=True)
        loss = LOSSES[name](x, torch.tensor([label]), dtype=dtype)
        loss.backward()
        found = kind(loss.item()) + "/" + "".join(map(kind, x.grad[0].tolist()))
        assert found == expected, name


def exactly(name, logits, label):
    """Value and gradient of a row from the formulas; 1 + 1e160 ** 2 has 320 digits."""
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


# past where the square of the gap overflows: 256, 1.9e19 and 1.3e154
HUGE = {
    torch.float16: 1000.0,
    torch.bfloat16: 1e20,
    torch.float32: 1e20,
    torch.float64: 1e160,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["stablemax", "taylor", "taylor_detached"])
@pytest.mark.parametrize("case", ["leads", "trails", "between", "moderate"])
def test_huge_gaps_have_the_right_loss_and_gradient(dtype, name, case):
    gap = HUGE[dtype]
    logits, label = {
        "leads": ([gap, 0, 1], 0),
        "trails": ([-gap, 0, 1], 0),
        "between": ([-gap, 0, gap], 1),
        "moderate": ([0.5, -3.0, 20.0], 0),
    }[case]
    x = torch.tensor([logits], dtype=dtype)
    loss = partial(LOSSES[name], labels=torch.tensor([label]), dtype=dtype)
    value, gradient = exactly(name, x[0].tolist(), label)
    eps = torch.finfo(dtype).eps
    assert float(loss(x)) == pytest.approx(value, rel=8 * eps, abs=2 * eps)
    found = grad(loss)(x)[0].tolist()
    assert found == pytest.approx(gradient, rel=16 * eps, abs=2 * eps)


def test_taylor_in_float16_with_all_classes_of_the_paper():
    """At a gap of 40 the sum of 113 weights of 800 is infinite, no weight is."""
    logits = torch.full((1, 113), 40.0)
    logits[0, :2] = torch.tensor([0.0, 30.0])
    loss = partial(LOSSES["taylor"], labels=torch.tensor([1]))
    for dtype in (torch.float16, torch.float64):
        assert loss(logits, dtype=dtype).item() == pytest.approx(5.27, abs=0.01)
        assert grad(partial(loss, dtype=dtype))(logits).isfinite().all()


@pytest.mark.parametrize("gap", [30.0, 300.0])
def test_stablemax_in_float16_has_a_gradient_where_it_has_a_loss(gap):
    """1 / p overflows once the share p of the correct class is below 1.5e-5."""
    x = torch.full((1, 113), gap)
    x[0, 0] = -gap
    for row in (x, x.half()):
        value, gradient = exactly("stablemax", row[0].tolist(), 0)
        loss = partial(losses.stablemax_cross_entropy, labels=torch.tensor([0]))
        loss = partial(loss, dtype=torch.float16)
        assert float(loss(row)) == pytest.approx(value, rel=0.01)
        assert grad(loss)(row)[0].tolist() == pytest.approx(gradient, rel=0.02)


def test_stablemax_in_float16_has_a_gradient_where_its_slope_vanishes():
    """At z = -10,000 the slope s^2 is 1e-8, which rounds to 0; s^2 / s does not."""
    x = torch.tensor([[-1e4, 0.0]], dtype=torch.float16)
    _, gradient = exactly("stablemax", x[0].tolist(), 0)
    loss = partial(losses.stablemax_cross_entropy, dtype=torch.float16)
    found = grad(loss)(x, torch.tensor([0]))[0].tolist()
    assert found == pytest.approx(gradient, rel=0.01)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("where", [0, 1, 2])
def test_exact_has_no_gradient_for_a_nan(dtype, where):
    """A finite one would let a diverged network train on."""
    logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], dtype=dtype)
    logits[0, where] = NAN
    loss = partial(losses.exact_cross_entropy, dtype=dtype, reduction="sum")
    found = grad(loss)(logits, torch.tensor([1, 1]))
    assert found[0].isnan().all() and found[1].isfinite().all()


def test_exact_loses_digits_where_the_correct_class_trails_far_behind():
    """eps * c, as its docstring says; float64 is the remedy."""
    logits, label = [-1000.1, 0.3, 0.2], torch.tensor([0])
    x = torch.tensor([logits], dtype=torch.float64)
    _, gradient = exactly("exact", x[0].tolist(), 0)
    found = grad(losses.exact_cross_entropy)(x, label)[0].tolist()
    assert 2e-6 < max(abs(a - b) for a, b in zip(found, gradient, strict=True)) < 1e-4
    double = partial(losses.exact_cross_entropy, dtype=torch.float64)
    assert grad(double)(x, label)[0].tolist() == pytest.approx(gradient, abs=1e-13)


# Errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": torch.int64}, "floating"),
        ({"reduction": "median"}, "'median'"),
        ({"smoothing": 1.0}, "smoothing is 1.0"),
        ({"smoothing": -0.1}, "smoothing is -0.1"),
        ({"temperature": 0.0}, "temperature is 0.0"),
    ],
)
def test_wrong_options_are_refused_with_a_sentence(batch, options, message):
    with pytest.raises(ValueError, match=message):
        losses.softmax_cross_entropy(*batch, **options)


@pytest.mark.parametrize(
    "name", [n for n, loss in LOSSES.items() if not isinstance(loss, partial)]
)
def test_labels_must_fit_the_logits(batch, name):
    with pytest.raises(ValueError, match="labels"):
        inspect.unwrap(LOSSES[name])(batch[0], batch[1][:-1])


def test_annotated_shapes_are_checked_also_of_members(batch):
    logits, labels = batch
    with pytest.raises(jaxtyping.TypeCheckError):
        losses.softmax_cross_entropy(logits, labels.double())
    with pytest.raises(jaxtyping.TypeCheckError):
        vmap(losses.softmax_cross_entropy)(logits[None], labels[None, :-1])
    assert vmap(losses.stablemax)(logits[None]).shape == (1, 8, 5)
