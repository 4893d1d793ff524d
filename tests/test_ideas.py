"""The pictures of ideas show what the arithmetic and the package do."""

import itertools
import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from book import ideas
from grokbook import losses, theory


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


def test_pictures_are_small_the_same_each_time_and_legible(tmp_path):
    first, second = (ideas.draw(tmp_path / name) for name in "ab")
    assert [path.stem for path in first] == list(ideas.IDEAS)
    for one, other in zip(first, second, strict=True):
        text = one.read_text(encoding="utf-8")
        assert text == other.read_text(encoding="utf-8")
        assert one.stat().st_size < 60_000
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
