"""Theory of Liu et al. 2026: every printed number, its closed form, what it misses.

Where a number depends on the order in which a processor adds the classes, what holds
for any order is asserted everywhere and the number itself where it was measured.
"""

import math

import pytest
import shapes
import torch
import torch.nn.functional as F
from helpers import random

from grokbook import losses, metrics, optimizers, theory

shapes.check(theory)
PRECISION = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
SINGLE, DOUBLE = torch.float32, torch.float64
LANES = torch.backends.cpu.get_cpu_capability()
measured_here = pytest.mark.skipif(LANES != "AVX512", reason="another order of sums")
close = pytest.approx


def logits_of(state):
    return state.features @ state.head.T


def common_share(update):
    """sqrt(K) |mean_k u_k| / |u|, what of an update moves all rows alike."""
    return math.sqrt(len(update)) * update.mean(dim=0).norm() / update.norm()


# Absorption (Definition 1, equations 1 and 2) -----------------------------------------


@pytest.mark.parametrize("classes", [2, 10, 97])
@pytest.mark.parametrize("dtype", PRECISION)
def test_absorption_lies_between_one_competitor_and_all(dtype, classes):
    """p ln 2 where each is absorbed alone, ln(K - 1) more where they are added first.

    The paper's (p - 1) ln 2 is never enough.
    """
    least = PRECISION[dtype] * math.log(2)
    paper = -math.log(torch.finfo(dtype).eps)
    assert paper == close(least - math.log(2))
    ulp = max(2**-7, 8 * torch.finfo(dtype).eps)
    for label in sorted({0, 1, classes // 2, classes - 1}):
        found = theory.absorption_margin(dtype, classes, label=label)
        assert paper < least <= found <= least + math.log(classes - 1) + ulp
        one = theory.absorption_margin(dtype, classes, label=label, competitors=1)
        assert one == close(least, abs=ulp)


@pytest.mark.parametrize("dtype, two, ten, many", [
    (torch.bfloat16, 5.75, 7.75, 10.25),
    (torch.float16, 7.64, 9.84, 12.2),
])  # fmt: skip
def test_absorption_of_half_precision(dtype, two, ten, many):
    """bfloat16 was measured in steps of a quarter, float16 in hundredths."""
    slack = 0.25 if dtype == torch.bfloat16 else 0.02
    for classes, number in ((2, two), (10, ten), (97, many)):
        found = theory.absorption_margin(dtype, classes)
        assert number - slack < found <= number


@pytest.mark.parametrize("classes, number", [(2, 16.64), (97, 20.5), (1000, 22.9)])
def test_absorption_in_float32(classes, number):
    if classes > 2 and LANES not in ("AVX2", "AVX512"):
        pytest.skip("another order of sums")
    assert theory.absorption_margin(SINGLE, classes) == close(number, abs=0.06)


@measured_here
def test_absorption_depends_on_the_place_of_the_label():
    found = {theory.absorption_margin(SINGLE, 10, label=k) for k in range(10)}
    assert min(found) == close(16.64, abs=0.01) and max(found) == close(18.8, abs=0.05)
    for classes, number in ((2, 36.74), (10, 37.4), (97, 39.2)):
        found = theory.absorption_margin(DOUBLE, classes)
        assert number == close(found, abs=0.05)
    last = theory.absorption_margin(DOUBLE, 10, label=7)  # the same holds in float64
    assert last == close(38.94, abs=0.01)


@pytest.mark.parametrize("classes", [2, 10, 97, 1000])
def test_one_competitor_is_absorbed_alike_among_any_number(classes):
    assert theory.absorption_margin(SINGLE, classes, competitors=1) == close(
        16.64, abs=0.01
    )


@pytest.mark.parametrize("offset, number", [
    (0, 16.2), (100, 14.7), (-100, 14.7), (-1000, 12.6), (-10000, 9.8),
])  # fmt: skip
def test_a_log_sum_of_its_own_collapses_by_the_size_of_the_logits(offset, number):
    """logsumexp(z) - z_r, equation 1 as printed; the log-softmax forgets an offset."""

    def by_hand(logits, labels, **_):
        logits = logits + offset
        correct = logits.gather(1, labels[:, None]).squeeze(1)
        return logits.logsumexp(dim=1) - correct

    def shifted(logits, labels, **options):
        return losses.softmax_cross_entropy(logits + offset, labels, **options)

    def by_share(logits, labels, **_):
        shares = (logits + offset).softmax(dim=1)
        return -shares.gather(1, labels[:, None]).squeeze(1).log()

    found = theory.absorption_margin(SINGLE, 10, loss=by_hand)
    assert found == close(number, abs=0.05)
    for loss in (shifted, by_share):
        found = theory.absorption_margin(SINGLE, 2, loss=loss)
        assert found == close(16.64, abs=0.01)


def test_what_is_scanned_is_the_loss_of_torch():
    def plain(logits, labels, **_):
        return F.cross_entropy(logits, labels, reduction="none")

    for dtype in PRECISION:
        found = theory.absorption_margin(dtype, 10, label=3)
        assert found == theory.absorption_margin(dtype, 10, label=3, loss=plain)
    exact = losses.exact_cross_entropy
    assert theory.absorption_margin(SINGLE, 10, loss=exact) == math.inf


def test_one_row_of_97_classes_at_a_margin_of_25():
    logits, label = torch.zeros(1, 97), torch.tensor([0])
    logits[0, 0] = 25
    for dtype, loss in ((SINGLE, 0), (DOUBLE, 1.3332e-9)):
        slope, value = torch.func.grad_and_value(losses.softmax_cross_entropy)(
            logits.to(dtype), label, dtype=dtype
        )
        assert value.item() == close(loss, rel=1e-4)
        assert slope[0, 0].item() == close(-loss, rel=1e-4)
        total = metrics.class_sum(logits, label, dtype=dtype).item()
        # what the label lacks is left over
        assert total == close(1.3332e-9 - loss, rel=1e-4, abs=1e-14)


@measured_here
@pytest.mark.parametrize("margin, number", [(15.5, -4.8e-7), (16.5, -4.6e-7)])
def test_just_below_collapse_the_class_sum_has_the_other_sign(margin, number):
    logits, label = torch.zeros(1, 10), torch.tensor([0])
    logits[0, 0] = margin
    assert metrics.class_sum(logits, label).item() == close(number, rel=0.02)


# Drift (Theorem 4, Proposition 6) -----------------------------------------------------


@pytest.mark.parametrize("margin, mass", [
    (14, 7.5e-6), (15.5, 1.7e-6), (16.7, 5.0e-7),
    (18, 1.4e-7), (20, 1.9e-8), (25, 1.25e-10),
])  # fmt: skip
def test_the_synthetic_state(margin, mass):
    """Its margins, residual mass (equation 20) and neural collapse."""
    state = theory.collapse_state(margin)
    logits = logits_of(state)
    margins = metrics.margins(logits, state.labels)
    assert torch.allclose(margins, torch.tensor(margin).double(), rtol=1e-6)
    residual = metrics.residual_mass(logits, state.labels).item()
    assert residual == close(mass, rel=0.03)
    centre, mean = metrics.global_means(state.head, state.features)
    assert centre.norm() < 1e-6 and mean.norm() == close(10 / math.sqrt(10))
    rows = state.head.norm(dim=1), (state.features - mean).norm(dim=1)
    assert all(row.std() < 1e-6 for row in rows)
    # (K - 1) exp(-K / (K - 1) |W_k| |mu*_k|), equation 20
    predicted = 9 * math.exp(-10 / 9 * rows[0][0].item() * rows[1][0].item())
    assert predicted == close(residual, rel=2e-5)
    assert state.labels.bincount().tolist() == [20] * 10
    with pytest.raises(IndexError):
        theory.collapse_state(20, classes=65)


@pytest.mark.parametrize("margin", [20, 25, 30])
def test_theorem_4_holds_once_all_have_collapsed(margin):
    state = theory.collapse_state(margin)
    assert losses.softmax_cross_entropy(logits_of(state), state.labels) == 0
    ratio, cosine = theory.drift(state, SINGLE)
    assert ratio == close(1, abs=1e-3) and cosine < -0.999


@pytest.mark.parametrize("margin", [14, 15.5, 16.7, 18, 20, 25])
def test_a_loss_in_float64_does_not_drift(margin):
    state = theory.collapse_state(margin)
    ratio, _ = theory.drift(state, DOUBLE)
    assert abs(ratio) < 1e-4
    value = losses.softmax_cross_entropy(logits_of(state), state.labels, dtype=DOUBLE)
    assert value.item() == close(9 * math.exp(-margin), rel=1e-4)


@measured_here
@pytest.mark.parametrize("margin, loss, ratio", [
    (14, 7.5e-6, -0.004), (15.5, 1.9e-6, -0.14),
    (16.7, 2.4e-7, 0.53), (18, 7.2e-8, 0.48),
])  # fmt: skip
def test_drift_before_all_have_collapsed(margin, loss, ratio):
    """Towards mu_G just below the collapse, half of Theorem 4 where half are in it."""
    state = theory.collapse_state(margin)
    value = losses.softmax_cross_entropy(logits_of(state), state.labels)
    assert value.item() == close(loss, rel=0.02)
    found, cosine = theory.drift(state, SINGLE)
    assert found == close(ratio, rel=0.02, abs=5e-4)
    assert cosine * ratio < 0
    # Proposition 6 is off by the same factor
    drifted = theory.feature_drift(theory.with_mean(state), SINGLE)
    assert drifted == close(found, rel=1e-3)


@pytest.mark.parametrize("margin", [20, 25])
def test_proposition_6(margin):
    state = theory.with_mean(theory.collapse_state(margin))
    assert theory.feature_drift(state, SINGLE) == close(1, abs=1e-5)
    assert abs(theory.feature_drift(state, DOUBLE)) < 1e-5
    # autograd of a mean over the rows, from the features on: eps / B
    features = state.features.clone().requires_grad_()
    logits = features @ state.head.T
    losses.softmax_cross_entropy(logits, state.labels).backward()
    centre, _ = metrics.global_means(state.head, state.features)
    part = (features.grad.double() @ centre) / (centre @ centre)
    mass = metrics.residual_mass(logits.detach(), state.labels)
    expected = (mass / len(features)).item()
    assert part.tolist() == [close(expected, rel=1e-5)] * len(features)


# Conservation -------------------------------------------------------------------------


def step_of_head(state, optimizer, dtype, **options):
    """The first update of the head under an optimizer of the package."""
    head = state.head.clone().requires_grad_()
    optimizer = optimizer([head], **options)
    logits = state.features @ head.T
    losses.softmax_cross_entropy(logits, state.labels, dtype=dtype).backward()
    optimizer.step()
    return (head - state.head).detach()


def noisy(margin, noise, seed=0):
    """The collapsed state with noise on its features, all in float64."""
    state = theory.collapse_state(margin)
    features = state.features + noise * random(*state.features.shape, seed=seed)
    return state._replace(head=state.head.double(), features=features.double())


@pytest.mark.parametrize("margin", [2, 5])
def test_descent_keeps_the_sum_over_classes_and_adam_does_not(margin):
    """Of the bare state Adam's signs leave (K - 2) / K, with noise less than half."""
    for noise in (0, 0.5, 1):
        state = noisy(margin, noise)
        plain = step_of_head(state, optimizers.SGD, DOUBLE, lr=1.0)
        assert common_share(plain) < 1e-12
        adam = step_of_head(state, optimizers.AdamW, DOUBLE, lr=1e-3, eps=1e-8)
        expected = close(0.8, rel=1e-3) if noise == 0 else close(0.37, abs=0.03)
        assert common_share(adam).item() == expected


def test_descent_in_float32_drifts_as_theorem_4_says():
    state = theory.collapse_state(20)
    step = step_of_head(state, optimizers.SGD, SINGLE, lr=1e6)
    _, mean = metrics.global_means(state.head, state.features)
    mass = metrics.residual_mass(logits_of(state), state.labels)
    expected = -1e6 * mass / 10 * mean
    assert torch.allclose(step.double().mean(dim=0), expected, rtol=1e-3, atol=1e-9)


# Inflation (Theorem 7) ----------------------------------------------------------------


def test_growth_is_the_eigensystem_of_the_coupled_block():
    alpha, beta = 1e5 * 1e-7 / 10, 1e5 * 1e-7
    for rows, numbers in (
        (1, (1.0031623, 0.9968377, -0.3162)),
        (200, (1.0002236, 0.9997764, -4.47)),
    ):
        found = theory.coupled_growth(1e5, 1e-7, 10, rows=rows)
        assert found[:2] == close(numbers[:2], abs=5e-8)
        assert found[2] == close(numbers[2], rel=1e-3)
        block = torch.tensor([[1, -alpha], [-beta / rows, 1]], dtype=DOUBLE)
        values, vectors = torch.linalg.eig(block)
        top = values.real.argmax()
        assert values.real.sort().values.tolist() == close([found[1], found[0]])
        assert (vectors[0, top] / vectors[1, top]).real.item() == close(found[2])
    # at the learning rate itself a factor of e takes 3.2e10 steps
    rate = theory.coupled_growth(1e-3, 1e-7, 10)[0] - 1
    assert rate == close(3.2e-11, rel=0.02)
    assert 1 / (theory.coupled_growth(1e5, 1e-7, 10)[0] - 1) == close(316, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_coupled_system_turns_antiparallel_from_any_start(seed):
    head, mean = random(2, 16, seed=seed).double()
    eta, epsilon = 1e5, 1e-7
    for _ in range(8000):
        head, mean = head - eta * epsilon / 10 * mean, mean - eta * epsilon * head
    growth, _, ratio = theory.coupled_growth(eta, epsilon, 10)
    assert metrics.cosine(head, mean) < -1 + 1e-9
    assert (head.norm() / mean.norm()).item() == close(-ratio)
    after = head - eta * epsilon / 10 * mean
    assert (after.norm() / head.norm()).item() == close(growth)


def growths(mass, steps, eta=1e5, classes=10):
    """log of the product of the growth factors up to each of some steps."""
    total, found = 0.0, []
    for t in range(1, max(steps) + 1):
        total += math.log(theory.coupled_growth(eta, mass(t), classes)[0])
        if t in steps:
            found.append(total)
    return found


def test_a_mass_that_decays_leaves_less_than_exponential_growth():
    """c / t: a power of t. c log t / t: more than any power, not less, as printed."""
    c, steps = 1e-5, (100, 2_000, 20_000)
    power = 1e5 * c / math.sqrt(10)
    logs = [math.log(t) for t in steps]
    first, middle, last = growths(lambda t: c / t, steps)
    assert (last - middle) / (logs[2] - logs[1]) == close(power, rel=1e-3)
    assert (middle - first) / (logs[1] - logs[0]) == close(power, rel=1e-2)
    first, middle, last = growths(lambda t: max(c * math.log(t), 1e-99) / t, steps)
    expected = power / 2 * (logs[2] ** 2 - logs[1] ** 2)
    assert last - middle == close(expected, rel=1e-3)
    assert first / logs[0] < middle / logs[1] < last / logs[2]


# Adam's step when a gradient comes back -----------------------------------------------


G0, G1 = 3e-9, math.exp(-23 * math.log(2))
LONG = 100_000


@pytest.mark.parametrize("beta2, m, v, update, limit, factor", [
    (0.95, 1.4621e-8, 2.6816e-8, 3.971e-4, 4.472e-4, 1.72),
    (0.999, 1.4621e-8, 4.817e-9, 9.868e-4, 3.162e-3, 4.28),
    (0.9, 1.4621e-8, 3.781e-8, 3.058e-4, 3.162e-4, 1.33),
])  # fmt: skip
def test_the_toy_of_adam(beta2, m, v, update, limit, factor):
    assert close(1.1921e-7, rel=1e-4) == G1
    betas = (0.9, beta2)
    moments = 0.9 * G0 + 0.1 * G1, math.sqrt(beta2 * G0**2 + (1 - beta2) * G1**2)
    assert moments == close((m, v), rel=2e-4)
    still = theory.adam_update([(G0, LONG)], 1e-3, betas, 1e-8)
    assert still == close(2.308e-4, rel=1e-3)
    back = theory.adam_update([(G0, LONG), (G1, 1)], 1e-3, betas, 1e-8)
    assert back == close(update, rel=1e-3) == close(1e-3 * m / (v + 1e-8), rel=1e-3)
    assert back / still == close(factor, abs=0.01)
    # any large gradient gives one step, whatever its size
    assert theory.jump(1e-3, betas) == close(limit, rel=1e-3)
    for gradient in (1e-3, 1.0, -1e3):
        found = theory.adam_update([(0.0, LONG), (gradient, 1)], 1e-3, betas, 1e-8)
        assert found == close(theory.jump(1e-3, betas), rel=1e-3)


def test_the_toy_with_a_larger_eps():
    for eps, update in ((1e-6, 1.42e-5), (1e-5, 1.46e-6)):
        found = theory.adam_update([(G0, LONG), (G1, 1)], 1e-3, (0.9, 0.95), eps)
        assert found == close(update, rel=5e-3)


@pytest.mark.parametrize(
    "beta2, largest, step", [(0.95, 1.0e-3, 22), (0.999, 3.9e-3, 19)]
)
def test_the_largest_step_comes_later_when_the_gradient_stays(beta2, largest, step):
    found = [
        theory.adam_update([(G0, LONG), (G1, k)], 1e-3, (0.9, beta2), 1e-8)
        for k in range(1, 200)
    ]
    assert max(found) == close(largest, rel=5e-3)
    assert found.index(max(found)) + 1 == step


def test_the_toy_is_the_optimizer_of_the_package():
    gradients = [(3e-9, 40), (-1e-7, 1), (2e-8, 5)]
    weight = torch.zeros(1, dtype=DOUBLE, requires_grad=True)
    adam = optimizers.AdamW([weight], lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    for count, (gradient, steps) in enumerate(gradients, start=1):
        for _ in range(steps):
            before = weight.item()
            weight.grad = torch.full_like(weight, gradient)
            adam.step()
        found = theory.adam_update(gradients[:count], 1e-3, (0.9, 0.95), 1e-8)
        assert abs(weight.item() - before) == close(found, rel=1e-9)


# Curvature (Theorem 8) and label smoothing (Definition 10) ----------------------------


def one_hot_like(margin, classes):
    return torch.tensor([margin] + [0.0] * (classes - 1)).double().softmax(dim=0)


def hessian_of_loss(logits):
    """Of the loss of class 0 at its logits, by autograd in their dtype."""
    slope = torch.func.grad(lambda z: F.cross_entropy(z, torch.tensor(0)))
    return torch.func.jacrev(slope)(logits)


def largest(matrix):
    return torch.linalg.eigvalsh(matrix)[-1].item()


@pytest.mark.parametrize("classes, numbers", [
    (10, {0: 0.1, 2: 0.275, 5: 5.99e-2, 10: 4.54e-4, 16.64: 5.9e-7, 20: 2.06e-8,
          30: 9.4e-13}),
    (97, {5: 2.41e-1, 10: 4.37e-3, 16.64: 5.8e-6, 20: 2.0e-7}),
])  # fmt: skip
def test_curvature_in_the_logits_vanishes(classes, numbers):
    """p_r p_k K, below the trace 1 - |p|^2, below twice the residual mass."""
    for margin, number in numbers.items():
        p = one_hot_like(margin, classes)
        hessian = theory.logit_hessian(p)
        assert torch.allclose(hessian, p.diag() - torch.outer(p, p), atol=1e-15)
        found, trace, mass = largest(hessian), hessian.trace(), p[1:].sum()
        assert found == close(number, rel=0.01)
        assert found == close((p[0] * p[1] * classes).item(), rel=1e-10)
        assert trace.item() == close((1 - p @ p).item(), abs=1e-14)
        assert found <= trace <= 2 * mass
        # of the loss itself, by autograd
        assert torch.allclose(hessian_of_loss(p.log()), hessian, rtol=1e-6, atol=1e-15)


def test_curvature_of_a_linear_network_vanishes_with_its_scale():
    """Block by block |h|^2 / K times that of the logits: the head scaled by c."""
    state, found = theory.collapse_state(1, rows=2), []
    features = state.features.double()
    for c in (1, 5, 10, 20, 30):

        def loss(weights):
            return F.cross_entropy(features @ weights["head"].T, state.labels)

        head = {"head": c * state.head.double()}
        value = metrics.largest_eigenvalue(loss, head, products=80, tolerance=1e-8)
        margin = metrics.margins(features @ head["head"].T, state.labels).min().item()
        expected = 100 / 10 * largest(theory.logit_hessian(one_hot_like(margin, 10)))
        assert value.value.item() == close(expected, rel=1e-5)
        found.append(value.value.item())
    assert found[1:] == sorted(found[1:], reverse=True) and found[-1] < 1e-11


def test_the_collapsed_hessian_of_float32_is_indefinite():
    """Its entry of the correct class is 0, which shows as negative curvature."""
    logits = torch.tensor([17.0, 0, 0])
    for dtype, values in (
        (SINGLE, [-4.1e-8, 4.1e-8, 8.3e-8]),
        (DOUBLE, [0, 4.1e-8, 1.24e-7]),
    ):
        found = hessian_of_loss(logits.to(dtype))
        assert (found[0, 0] == 0) == (dtype == SINGLE)
        spread = torch.linalg.eigvalsh(found.double()).tolist()
        assert spread == close(values, rel=0.02, abs=1e-12)


@pytest.mark.parametrize("alpha, classes, trace, torchs, gap", [
    (0.1, 10, 0.18889, 0.17100, 4.394), (0.1, 97, 0.18990, 0.18804, 6.762),
    (0.1, 50_304, 0.19000, None, 13.0), (0.01, 10, 0.01989, None, None),
])  # fmt: skip
def test_label_smoothing_keeps_curvature(alpha, classes, trace, torchs, gap):
    target = theory.smoothed_target(alpha, classes)
    assert target.sum().item() == close(1) and target[0] == 1 - alpha
    found = (1 - target @ target).item()
    assert found == close(trace, abs=5e-6)
    assert found == close(alpha * (2 - alpha * (1 + 1 / (classes - 1))))
    lead = (target[0] / target[1]).log().item()
    assert lead == close(math.log((1 - alpha) * (classes - 1) / alpha))
    assert lead < theory.absorption_margin(SINGLE, 2)  # so no collapse
    if gap:
        assert lead == close(gap, abs=0.03)
    if torchs:
        moved = theory.smoothed_target(alpha * (classes - 1) / classes, classes)
        assert (1 - moved @ moved).item() == close(torchs, abs=5e-6)


def test_smoothing_of_torch_is_another_alpha():
    """The loss of the package at its minimum, where its gradient vanishes."""
    target = theory.smoothed_target(0.1 * 9 / 10, 10)
    loss = losses.softmax_cross_entropy
    slope = torch.func.grad(
        lambda z: loss(z, torch.tensor(0), dtype=DOUBLE, smoothing=0.1)
    )
    assert slope(target.log()).abs().max() < 1e-15


def test_curvature_of_smoothing_and_a_network_that_has_none():
    """Equation 75 bounds |J^T H J| by |J|^2 C / K, but H takes ones to 0."""
    hessian = theory.logit_hessian(theory.smoothed_target(0.1, 10))
    assert largest(hessian) == close(0.1, abs=1e-12)
    assert largest(hessian) >= hessian.trace() / 10  # equation 74
    jacobian = torch.ones(10, 1, dtype=DOUBLE)
    bound = torch.linalg.matrix_norm(jacobian, 2) ** 2 * hessian.trace() / 10
    assert bound == close(0.18889, abs=5e-6)
    assert (jacobian.T @ hessian @ jacobian).abs() < 1e-15


# Underflow ----------------------------------------------------------------------------


def first_zero():
    """The first x with exp(-x) == 0 in float32, on a grid of 1 / 256."""
    x = torch.arange(80, 110, 2**-8)
    return x[(-x).exp() == 0][0].item()


def test_exponentials_underflow():
    """Half of the smallest number there is, 2^-150; 2^-126 without subnormal ones."""
    assert first_zero() == close(150 * math.log(2), abs=0.01)
    assert math.exp(-103.28) == close(2**-149, rel=1e-2)
    if not torch.set_flush_denormal(True):
        pytest.skip("no mode without subnormal numbers here")
    try:
        assert first_zero() == close(87.3, abs=0.05)
    finally:
        torch.set_flush_denormal(False)


def test_a_clamped_logit_has_no_gradient():
    """An underflow takes the gradient of a logit, and so does the clamp against it.

    With a maximum that is not held constant, raised logits pull at it instead.
    """
    logits, label = torch.tensor([0.0, -20.0, -99.0, -104.0]), torch.tensor(0)
    plain = torch.func.grad(lambda z: F.cross_entropy(z, label))(logits)
    assert (plain != 0).tolist() == [False, True, True, False]
    clamped = torch.func.grad(lambda z: losses.clamped_cross_entropy(z, label))(logits)
    assert torch.equal(clamped, plain)

    def attached(z):
        return F.cross_entropy(torch.maximum(z, z.amax() - 100), label)

    pulled = torch.func.grad(attached)(logits)
    assert pulled[0] == close(math.exp(-100), rel=1e-3) and pulled[3] == 0
