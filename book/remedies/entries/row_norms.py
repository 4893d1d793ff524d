"""Each row of every matrix is shortened to at most a norm, after the step.

A row holds the weights into one unit. The strength is the norm.
"""

import torch

STRENGTH = 3.0


def wrapper(optimizer, *, strength):
    @torch.no_grad()
    def shorten_rows(optimizer, *_):
        for group in optimizer.param_groups:
            for weight in group["params"]:
                if weight.dim() == 2:
                    length = weight.norm(dim=1, keepdim=True)
                    weight.mul_((strength / length).clamp(max=1))

    optimizer.register_step_post_hook(shorten_rows)
    return optimizer
