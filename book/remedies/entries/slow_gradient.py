"""Grokfast: the slow part of each gradient, its moving average, is added to it.

[Lee et al. 2024, Grokfast-EMA] at their alpha of 0.98. The strength is their lamb, the
factor of the average. What lies in ``optimizer.state`` is saved with a checkpoint.
"""

import torch

STRENGTH = 3.0
ALPHA = 0.98


def wrapper(optimizer, *, strength):
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    averages = {str(place): torch.zeros_like(w) for place, w in enumerate(weights)}
    optimizer.state["averages"] = averages

    @torch.no_grad()
    def amplify(optimizer, *_):
        averages = optimizer.state["averages"]
        for place, weight in enumerate(weights):
            average = averages[str(place)].lerp_(weight.grad, 1 - ALPHA)
            weight.grad.add_(average, alpha=strength)

    optimizer.register_step_pre_hook(amplify)
    return optimizer
