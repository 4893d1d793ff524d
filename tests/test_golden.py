"""The learner makes of 18 arms what the first engine of this book made of them.

When a value differs, an engine was changed that must not be: the records of the book
could no longer be made again. Write ``golden.json`` anew only with the records.
"""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from golden.arms import ARMS, STEPS
from skips import skip_without

from claimbook.engine import device
from claimbook.engine.learner import Learner

GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text())
pytestmark = pytest.mark.usefixtures("tiny_data")
# Another processor or version of torch sums in another order.
SAME_MACHINE = (
    GOLDEN["torch"] == torch.__version__.split("+")[0]
    and GOLDEN["cpu"] == torch.backends.cpu.get_cpu_capability()
    and GOLDEN["machine"] == device.describe("cpu")["device_name"]
)


def rms(tensors):
    tensors = list(tensors)
    squares = (float(t.detach().double().square().sum()) for t in tensors)
    return math.sqrt(math.fsum(squares) / sum(t.numel() for t in tensors))


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_a_hundred_steps_are_those_of_the_first_engine(arm):
    learner, rows = Learner([(arm, GOLDEN["seed"])]), []
    for _ in range(STEPS if SAME_MACHINE else 5):  # rounding grows with the steps
        before = learner.weights()
        loss = float(learner.step())
        weights = learner.params
        moved = [w.detach() - before[name] for name, w in weights.items()]
        grads = [w.grad for w in weights.values()]
        rows.append([loss, rms(grads), rms(moved), rms(weights.values())])
    expected = GOLDEN["arms"][arm.name]
    if not SAME_MACHINE:
        wanted = np.array(expected["rows"][: len(rows)])
        assert np.array(rows) == pytest.approx(wanted, rel=1e-3)
        made_on = f"{GOLDEN['machine']} {GOLDEN['cpu']}, torch {GOLDEN['torch']}"
        skip_without(
            "the processor and PyTorch of golden.json to compare more than five steps",
            remedy=made_on,
        )
    weights = (w.detach().numpy().tobytes() for w in learner.params.values())
    digests = sorted(hashlib.sha256(w).hexdigest() for w in weights)
    for step, (found, wanted) in enumerate(zip(rows, expected["rows"], strict=True)):
        assert found == wanted, f"step {step + 1}: {GOLDEN['columns']}"
    digest = hashlib.sha256("".join(digests).encode()).hexdigest()
    assert digest == expected["digest"]
