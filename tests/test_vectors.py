"""The package gives what the vectors for ports say, and so does the plain form."""

import json
import runpy
from pathlib import Path

import pytest
import torch

from grokbook.losses import stablemax_cross_entropy
from grokbook.optimizers import orthogonal

FOLDER = Path(__file__).parents[1] / "data" / "vectors"
MADE = runpy.run_path(f"{FOLDER}/plain.py")["vectors"]()
WRITTEN = json.loads((FOLDER / "vectors.json").read_text("utf-8"))
CASES = [
    (kind, made, written)
    for kind in MADE
    for made, written in zip(MADE[kind], WRITTEN[kind], strict=True)
]


def stablemax(case):
    logits = case["logits"].requires_grad_()
    losses = stablemax_cross_entropy(logits, case["labels"].long(), reduction="none")
    losses.mean().backward()
    return {"losses": losses, "gradient": logits.grad}


def perp(case):
    steps = {}
    for name, rescale in (("perp", True), ("perp, not rescaled", False)):
        weight = torch.zeros_like(case["weight"]).requires_grad_()
        weight.data, weight.grad = case["weight"].clone(), case["gradient"]
        orthogonal(torch.optim.SGD([weight], lr=1.0), rescale=rescale).step()
        steps[name] = case["weight"] - weight
    return steps


def numbers(case):
    cells = case.items()
    return {k: torch.tensor(v, dtype=torch.float64) for k, v in cells if k != "name"}


@pytest.mark.parametrize(("kind", "made", "written"), CASES)
def test_package_and_plain_form_give_what_is_written(kind, made, written):
    plain, case = numbers(made), numbers(written)
    for key, found in {"StableMax": stablemax, "⊥Grad": perp}[kind](case).items():
        for values, near in ((found.detach(), 1e-9), (plain[key], 1e-12)):
            torch.testing.assert_close(values, case[key].detach(), rtol=near, atol=near)
