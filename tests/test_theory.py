"""Theory of Liu et al. 2026, closed forms and slips; the pictures of ideas show it."""

import itertools
import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from helpers import PRECISION

from book import ideas
from grokbook import losses, optimizers, theory

BITS, DOUBLE = PRECISION | {torch.bfloat16: 8}, torch.float64
close = pytest.approx


def test_absorption_lies_between_one_competitor_and_all():
    """p ln 2 where each is absorbed alone, ln(K - 1) more where they are added first.

    The paper's (p - 1) ln 2 is never enough.
    """
    for dtype, bits in BITS.items():
        least, ulp = bits * math.log(2), max(2**-7, 8 * torch.finfo(dtype).eps)
        paper = -math.log(torch.finfo(dtype).eps)
        for classes in (2, 10, 97):
            found = theory.absorption_margin(dtype, classes)
            assert paper < least <= found <= least + math.log(classes - 1) + ulp
            one = theory.absorption_margin(dtype, classes, competitors=1)
            assert one == close(least, abs=ulp)


def test_growth_is_the_eigensystem_of_the_coupled_block():
    alpha, beta = 1e5 * 1e-7 / 10, 1e5 * 1e-7
    found = theory.coupled_growth(1e5, 1e-7, 10)
    assert found == close((1.0031623, 0.9968377, -0.3162), rel=1e-4)
    block = torch.tensor([[1, -alpha], [-beta, 1]], dtype=DOUBLE)
    values, vectors = torch.linalg.eig(block)
    top = values.real.argmax()
    assert values.real.sort().values.tolist() == close([found[1], found[0]])
    assert (vectors[0, top] / vectors[1, top]).real.item() == close(found[2])


G0, G1 = 3e-9, math.exp(-23 * math.log(2))
LONG = 100_000


def test_the_toy_of_adam():
    for beta2, update, limit, factor in (
        (0.95, 3.971e-4, 4.472e-4, 1.72),
        (0.999, 9.868e-4, 3.162e-3, 4.28),
        (0.9, 3.058e-4, 3.162e-4, 1.33),
    ):
        how = (1e-3, (0.9, beta2), 1e-8)
        still = theory.adam_update([(G0, LONG)], *how)
        assert still == close(2.308e-4, rel=1e-3)
        back = theory.adam_update([(G0, LONG), (G1, 1)], *how)
        assert back == close(update, rel=1e-3)
        assert back / still == close(factor, abs=0.01)
        # any large gradient gives one step, whatever its size
        assert theory.jump(*how[:2]) == close(limit, rel=1e-3)
        for gradient in (1e-3, -1e3):
            found = theory.adam_update([(0.0, LONG), (gradient, 1)], *how)
            assert found == close(theory.jump(*how[:2]), rel=1e-3)
    # and it is the optimizer of the package
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


def one_hot_like(margin, classes):
    return torch.tensor([margin] + [0.0] * (classes - 1)).double().softmax(dim=0)


def largest(matrix):
    return torch.linalg.eigvalsh(matrix)[-1].item()


def test_curvature_in_the_logits_vanishes():
    """p_r p_k K, below the trace 1 - |p|^2, below twice the residual mass."""
    ten = {0: 0.1, 5: 5.99e-2, 16.64: 5.9e-7, 30: 9.4e-13}
    for classes, margin, number in (97, 10, 4.37e-3), *((10, *x) for x in ten.items()):
        p = one_hot_like(margin, classes)
        hessian = theory.logit_hessian(p)
        assert torch.allclose(hessian, p.diag() - torch.outer(p, p), atol=1e-15)
        found, trace, mass = largest(hessian), hessian.trace(), p[1:].sum()
        assert found == close(number, rel=0.01)
        assert found == close((p[0] * p[1] * classes).item(), rel=1e-10)
        assert trace.item() == close((1 - p @ p).item(), abs=1e-14)
        assert found <= trace <= 2 * mass


def test_a_term_survives_up_to_the_margin_of_float32():
    margin = float(theory.absorption_margin(torch.float32, 2))
    for gap in (1.0, 15.5, 16.6, 16.7, 30.0):
        term, kept = ideas.sum_in_float32(gap)
        ours = torch.ones(()) + torch.tensor(term, dtype=torch.float32)
        assert kept == float(ours) - 1
        assert (kept > 0) == (gap < 24 * math.log(2)) == (gap < margin)


def test_the_weight_of_the_runner_up_is_that_of_the_losses():
    gaps = np.array([0.0, 2.0, 20.0])
    for transform, probabilities in (
        (torch.exp, lambda z: z.softmax(-1)),
        (losses.stablemax_transform, losses.stablemax),
    ):
        half = torch.from_numpy(gaps) / 2
        both = probabilities(torch.stack([half, -half], dim=-1))
        expected = (both[:, 1] / both[:, 0]).numpy()
        np.testing.assert_allclose(ideas.runner_up(gaps, transform), expected)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The text of each picture, by its name."""
    paths = ideas.draw(tmp_path_factory.mktemp("ideas"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def test_pictures_are_small_the_same_each_time_and_legible(pictures, tmp_path):
    assert [*pictures] == [*ideas.IDEAS]
    for path in ideas.draw(tmp_path):
        text = path.read_text(encoding="utf-8")
        assert text == pictures[path.stem]
        assert path.stat().st_size < 60_000
        width = float(re.search(r'width="([\d.]+)pt"', text)[1])
        assert width == pytest.approx(72 * ideas.WIDTH)
    for name, picture in ideas.IDEAS.items():
        with plt.rc_context({"font.size": ideas.SIZE}):
            figure = picture()
        figure.draw_without_rendering()
        texts = [t for axes in figure.axes for t in axes.texts if t.get_text()]
        assert texts and min(t.get_fontsize() for t in texts) >= 11, name
        boxes = [t.get_window_extent() for t in texts]
        for box in boxes:
            assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1, name
            assert box.y0 >= -1 and box.y1 <= figure.bbox.height + 1, name
        for one, other in itertools.combinations(boxes, 2):
            assert not one.overlaps(other) or one.height == 0, name
        plt.close(figure)


def test_a_miniature_ends_at_the_spine_and_not_at_a_line_across_its_panel():
    dark = np.zeros((120, 100), dtype=bool)
    dark[10:101, 20] = dark[100, 20:98] = True  # the spines
    dark[80, 20:70] = True  # a thick line across most of the panel
    assert ideas.corner(dark) == (20, 100)
    with pytest.raises(ValueError, match="no panel"):
        ideas.corner(dark[:90])


def test_the_curve_of_the_landing_page_is_seen_in_every_frame(pictures):
    text = next(iter(pictures.values()))
    assert "#cover { transform: scaleX(0);" in text  # before and after it moves
    (veil,) = re.findall(r'id="cover">\s*<path[^>]*style="([^"]*)"', text)
    assert float(re.search(r"opacity: ([\d.]+)", veil)[1]) < 0.9
