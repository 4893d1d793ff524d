"""StableMax and ⊥Grad in NumPy, a few lines each: `python data/vectors/plain.py`.

It writes vectors.json, with which a port to another framework can be compared.
"""

import json
from pathlib import Path

import numpy as np


def stablemax_loss(logits, labels):
    """Return the loss of each row, and the gradient of their mean by the logits."""
    below = np.minimum(logits, 0)
    s = np.where(logits >= 0, logits + 1, 1 / (1 - below))
    total, rows = s.sum(axis=1, keepdims=True), np.arange(len(labels))
    losses = -np.log(s[rows, labels] / total[:, 0])
    gradient = np.broadcast_to(1 / total, s.shape).copy()
    gradient[rows, labels] -= 1 / s[rows, labels]
    slope = np.minimum(s, 1) ** 2  # the derivative of s
    return losses, gradient * slope / len(labels)


def perp_grad(weight, gradient, rescale=True):
    """Return the gradient of one tensor without its part along the weights (⊥Grad).

    With ``rescale`` it keeps its length, as in the official code. A weight of one
    number has no other direction, and its gradient stays as it is.
    """
    if weight.size == 1:
        return gradient
    along = (weight * gradient).sum() / ((weight * weight).sum() + 1e-30)
    perp = gradient - along * weight
    if rescale:
        perp = perp * np.linalg.norm(gradient) / (np.linalg.norm(perp) + 1e-30)
    return perp


def vectors():
    """Return the cases with their results, as JSON has them."""
    draw = np.random.default_rng(0).standard_normal
    logits = {
        "ordinary": draw((4, 5)),
        "zeros and ties": np.array([[0.0, 0.0, 0.0], [2.0, 2.0, -2.0], [-1, 0, 1]]),
        "far apart": np.array([[1e6, -1e6, 0.0], [-1e6, 1e6, 3.0], [50.0, 0.0, -50.0]]),
    }
    weights = {
        "a matrix": draw((3, 4)),
        "a bias": draw(6),
        "zeros": np.zeros(3),
        "one number": np.array([2.0]),
        "long": 1e6 * draw((2, 2)),
        "short": 1e-6 * draw((2, 2)),
    }
    losses, steps = [], []
    for name, z in logits.items():
        labels = np.arange(len(z)) % z.shape[1]
        loss, gradient = stablemax_loss(z, labels)
        case = {"logits": z, "labels": labels, "losses": loss, "gradient": gradient}
        losses.append({"name": name} | {key: x.tolist() for key, x in case.items()})
    for name, weight in weights.items():
        gradient = draw(weight.shape)
        case = {"weight": weight, "gradient": gradient}
        case["perp"] = perp_grad(weight, gradient)
        case["perp, not rescaled"] = perp_grad(weight, gradient, rescale=False)
        steps.append({"name": name} | {key: x.tolist() for key, x in case.items()})
    return {"StableMax": losses, "⊥Grad": steps}


if __name__ == "__main__":
    text = json.dumps(vectors(), indent=1, ensure_ascii=False)
    Path(__file__).with_name("vectors.json").write_text(text + "\n", encoding="utf-8")
