"""Inflation: closed forms, autograd, every dtype, members of a stack, edges."""

import math
from functools import partial

import pytest
import shapes
import torch
import torch.nn.functional as F
from helpers import random

from grokbook import metrics

shapes.check(metrics)
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}
LABEL = torch.tensor([0])


def ahead(margin, classes=2, dtype=torch.float64):
    """One row whose class 0 leads all others by a margin."""
    return torch.tensor([[margin] + [0.0] * (classes - 1)], dtype=dtype)


def rows(dtype=torch.float32, classes=10, seed=0):
    """40 rows whose labels lead by about 0 to 30."""
    logits, labels = 3 * random(40, classes, seed=seed), torch.arange(40) % classes
    return (logits + F.one_hot(labels, classes) * torch.arange(40)[:, None]).to(dtype)


LABELS = torch.arange(40) % 10
MEASURES = {
    "residual_mass": metrics.residual_mass,
    "margins": metrics.margins,
    "correct_logit": metrics.correct_logit,
    "collapsed": partial(metrics.collapsed, dtype=torch.float32),
    "class_sum": metrics.class_sum,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MEASURES)
def test_members_of_a_stack_are_measured_as_alone(name, dtype):
    measure = MEASURES[name]
    stack = torch.stack([rows(dtype, seed=k) for k in range(3)])
    found = torch.func.vmap(measure, in_dims=(0, None))(stack, LABELS)
    assert found.dtype == torch.float64
    assert torch.equal(found, torch.stack([measure(one, LABELS) for one in stack]))
    with torch.no_grad():  # as a look at a run does
        assert torch.equal(found[0], measure(stack[0], LABELS))


def test_sequences_are_rows():
    logits = rows(), rows().reshape(8, 5, 10)
    for measure in MEASURES.values():
        flat, deep = measure(logits[0], LABELS), measure(logits[1], LABELS.view(8, 5))
        assert torch.equal(flat, deep.flatten() if deep.dim() else deep)


def test_global_means_and_their_cosine():
    head = torch.tensor([[1.0, 0.0], [3.0, -4.0]])
    features = torch.tensor([[-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]])
    centre, mean = metrics.global_means(head, features)
    assert centre.tolist() == [2, -2] and mean.tolist() == [-1, 1]
    assert centre.dtype == mean.dtype == torch.float64
    assert metrics.cosine(centre, mean) == pytest.approx(-1)
    # where torch's own has its floor of 1e-8
    small = metrics.global_means(1e-20 * head, 1e-20 * features)
    assert metrics.cosine(*small) == pytest.approx(-1)
    stack = torch.stack([head, -head]), torch.stack([features, features])
    centres, means = torch.func.vmap(metrics.global_means)(*stack)
    assert centres.tolist() == [[2, -2], [-2, 2]] and means.tolist() == [[-1, 1]] * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_float64_means_of_narrow_numbers(dtype):
    """A thousand ones and a step of each dtype's own size."""
    ones = torch.ones(1000, 1, dtype=dtype)
    ones[0] += torch.finfo(dtype).eps
    _, mean = metrics.global_means(torch.ones(2, 1, dtype=dtype), ones)
    expected = 1 + torch.finfo(dtype).eps / 1000
    assert mean.item() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("classes", [2, 10, 97])
@pytest.mark.parametrize("margin", [0, 1, 16, 40, 92, 700])
def test_residual_mass_in_closed_form(margin, classes):
    """(K - 1) exp(-m) / (1 + (K - 1) exp(-m)), also where 1 - p is 0 (1e-40 at 92)."""
    others = (classes - 1) * math.exp(-margin)
    expected = pytest.approx(others / (1 + others), rel=1e-12)
    for dtype in DTYPES:
        logits = ahead(margin, classes, dtype)
        assert metrics.residual_mass(logits, LABEL) == expected
        both = torch.cat([logits, logits])
        assert metrics.residual_mass(both, LABEL.expand(2)) == expected


def test_residual_mass_at_the_edges():
    """A wrong class ahead, a common offset, classes that are not there."""
    wrong = metrics.residual_mass(ahead(-50.0), LABEL)
    assert wrong == 1 - metrics.residual_mass(ahead(50.0), LABEL) == 1
    far = metrics.residual_mass(ahead(20.0, 10) - 1024, LABEL)
    assert far == metrics.residual_mass(ahead(20.0, 10), LABEL)
    one = torch.tensor([[20.0, 0.0, -1000.0, -math.inf]])
    assert metrics.residual_mass(one, LABEL) == pytest.approx(math.exp(-20))
    for gone in (ahead(1000.0), torch.tensor([[0.0, -math.inf]])):
        assert metrics.residual_mass(gone, LABEL) == 0
    assert metrics.residual_mass(ahead(math.nan), LABEL).isnan()


@pytest.mark.parametrize("dtype", DTYPES)
def test_margins_and_correct_logits(dtype):
    logits = torch.tensor([[1, 4, 2], [0, -1, 0], [5, 5, 5]], dtype=dtype)
    labels = torch.tensor([1, 1, 2])
    assert metrics.margins(logits, labels).tolist() == [2, -1, 0]
    assert metrics.correct_logit(logits, labels) == pytest.approx(8 / 3)
    top = torch.finfo(dtype).max  # twice of it is no number of this dtype
    assert metrics.margins(torch.tensor([[top, -top]], dtype=dtype), LABEL) == 2 * top
    alone = torch.tensor([[1.0, -math.inf]], dtype=dtype)
    assert metrics.margins(alone, LABEL) == math.inf


@pytest.mark.parametrize("dtype", PRECISION)
def test_collapse_of_two_classes(dtype):
    """p ln 2: half an ulp of 1, not the ulp of the paper; a wrong leader is none."""
    threshold = PRECISION[dtype] * math.log(2)
    logits = torch.tensor([[threshold + d, 0.0] for d in (-0.1, 0.1)]).double()
    assert metrics.collapsed(logits, torch.tensor([0, 0]), dtype) == 0.5
    assert metrics.collapsed(logits, torch.tensor([1, 1]), dtype) == 0
    # -1,000 is no competitor
    far = F.pad(logits, (0, 8), value=-1000.0)
    assert metrics.collapsed(far, torch.tensor([0, 0]), dtype) == 0.5
    assert metrics.collapsed(torch.zeros(2, 5), torch.tensor([0, 4]), dtype) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [2, 10, 97])
def test_collapse_and_class_sum_are_those_of_autograd(dtype, classes):
    """Loss 0, gradient 0 at the label and the class sum, bit for bit, row by row."""
    labels = torch.arange(40) % classes
    logits = rows(dtype, classes).requires_grad_()
    losses = F.cross_entropy(logits, labels, reduction="none")
    losses.sum().backward()
    slopes, logits = logits.grad, logits.detach()
    at_label = slopes.gather(1, labels[:, None]).squeeze(1)
    for row in range(40):
        one = logits[row : row + 1], labels[row : row + 1]
        assert metrics.collapsed(*one, dtype) == (losses[row] == 0)
        assert metrics.collapsed(*one, dtype) == (at_label[row] == 0)
        assert metrics.class_sum(*one, dtype=dtype) == slopes[row].double().sum()
    expected = slopes.double().sum(1).mean()
    assert metrics.class_sum(logits, labels, dtype=dtype) == expected
    assert 0 < metrics.collapsed(logits, labels, torch.float16) < 1


def test_class_sum_is_the_residual_mass_of_collapsed_rows():
    logits = ahead(25.0, 97)
    mass = metrics.residual_mass(logits, LABEL)
    assert metrics.class_sum(logits, LABEL) == pytest.approx(mass.item(), rel=1e-6)
    assert abs(metrics.class_sum(logits, LABEL, dtype=torch.float64)) < 1e-14
    assert metrics.class_sum(torch.zeros(1, 2), LABEL) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_feature_alignment(dtype):
    axes = torch.eye(4, dtype=dtype)
    assert metrics.feature_alignment(axes) == pytest.approx(1 / 2)  # 1 / sqrt(4)
    assert metrics.feature_alignment(3 * axes[:1].expand(5, 4)) == pytest.approx(1)
    assert metrics.feature_alignment(torch.cat([axes, -axes])) == 0
    assert metrics.feature_alignment(torch.zeros(3, 4, dtype=dtype)) == 0
    # of (1, 0), (1, 0) and nothing: the mean points to (1, 0)
    rows = torch.tensor([[1, 0], [1, 0], [0, 0]], dtype=dtype)
    assert metrics.feature_alignment(rows) == pytest.approx(2 / 3)
    stack = torch.stack([axes, axes.flip(0) + 1])
    found = torch.func.vmap(metrics.feature_alignment)(stack)
    assert torch.equal(found, torch.stack(list(map(metrics.feature_alignment, stack))))
