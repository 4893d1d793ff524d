"""Remedies in a loop of one's own: equal to the functions that the book trains with."""

import torch
from torch import nn

from grokbook import losses, penalties
from grokbook.anywhere import CollapseFreeLoss, Pull, StableMaxLoss


def test_the_modules_are_the_losses_of_the_rows_that_count():
    torch.manual_seed(0)
    logits, labels = torch.randn(8, 5), torch.tensor([0, 1, 2, 3, 4, -100, -100, 1])
    kept = labels >= 0
    for module, function in (
        (StableMaxLoss(reduction="sum"), losses.stablemax_cross_entropy),
        (CollapseFreeLoss(reduction="sum"), losses.exact_cross_entropy),
    ):
        same = function(logits[kept], labels[kept], reduction="sum")
        assert torch.equal(module(logits, labels), same)


def test_a_pull_is_the_penalty_of_the_last_pass():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU())
    for target, name in ((0.0, "activations"), (6**0.5, "radius")):
        pull = Pull(net[0], net[2], strength=5.0, target=target)
        for _ in range(2):
            net(x := torch.randn(7, 4))
        taps = {"pre.0": net[0](x), "pre.1": net[2](net[:2](x))}
        seen = penalties.Forward(x, x, {}, taps)
        expected = getattr(penalties, name)(seen, strength=5.0)
        torch.testing.assert_close(pull(), expected)
        pull().backward()
    assert net[0].weight.grad.norm() > 0
