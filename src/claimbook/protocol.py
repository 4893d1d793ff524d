"""Types that a book's tasks, networks, penalties and losses share with the learner.

A task returns a ``Data``; a network is called as ``model(x, tap)``; a penalty is a
function of one ``Forward``. This module imports none of them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from torch import Tensor

# A tap reads or replaces named activations inside a network. For every name in
# ``model.places`` the network calls ``x = tap(name, x)`` and goes on with what comes
# back. Without a tap it may take shortcuts; with one it calls it for all of the names.
Tap = Callable[[str, Tensor], Tensor]


@dataclass(frozen=True)
class Data:
    """A training set and a test set.

    Inputs x are (rows, ...): int64 tokens, floats, or any object that gives such a
    tensor for a tensor of row indices, such as images that are read when they are
    asked for. Labels y are (rows, ...), int64. The test set may have no rows.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor


class Forward(NamedTuple):
    """One forward pass: what losses and penalties read.

    Logits are (*rows, classes) and labels (*rows), where a row may have several
    positions. ``taps`` are activations by name, (*positions, width). ``params`` are the
    weights by name with which the pass was made.
    """

    logits: Tensor
    labels: Tensor
    params: Mapping[str, Tensor]
    taps: Mapping[str, Tensor]


def untouched(_name: str, x: Tensor) -> Tensor:
    """Return x as it is: the tap that reads and changes nothing."""
    return x


class Recorder:
    """A tap that records activations in ``found``, by name and in order of calls.

    ``replace`` maps names of taps to functions of the activation; the network goes on
    with what they return, and that is recorded. Names that the network does not call do
    nothing. Of several calls with one name the last is recorded. Under
    ``torch.func.vmap`` what is recorded can be read inside the mapped function alone.
    """

    def __init__(self, replace: Mapping[str, Callable[[Tensor], Tensor]] | None = None):
        self.replace = dict(replace or {})
        self.found: dict[str, Tensor] = {}

    def __call__(self, name: str, x: Tensor) -> Tensor:
        if name in self.replace:
            x = self.replace[name](x)
        self.found[name] = x
        return x


def reads_taps(penalty: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Mark a penalty as one that reads ``Forward.taps``, and return it.

    The learner fills ``Forward.taps`` only if a penalty of the arm is marked so.
    """
    penalty.reads_taps = True  # type: ignore[attr-defined]
    return penalty


# How networks should compute now, as set by the learner. ``shortcuts``: they may use
# faster forms, equal to the textbook's up to the order of summation. ``onednn``: oneDNN
# multiplies float32 matrices on a CPU. A book that has neither need not read this.
now = SimpleNamespace(shortcuts=True, onednn=False)


@contextmanager
def switched(**settings: Any) -> Iterator[None]:
    """Set ``shortcuts`` or ``onednn`` of ``now`` inside a with block.

    Afterwards they are what they were before, also if the block raises. Raises
    AttributeError for another name.
    """
    before = {name: getattr(now, name) for name in settings}
    vars(now).update(settings)
    try:
        yield
    finally:
        vars(now).update(before)
