"""What a book's tasks, networks, penalties and losses and the learner hand each other.

A task returns a ``Data``; a network is called as ``model(x, tap)``; a penalty is a
function of one ``Forward``. Nothing here knows any of them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from torch import Tensor

# Named places inside a network, where a caller may look, change or charge. At every
# place of ``model.places`` the network says ``x = tap(name, x)`` and goes on with what
# comes back. Without a tap it may take shortcuts; with one it passes all its places.
Tap = Callable[[str, Tensor], Tensor]


@dataclass(frozen=True)
class Data:
    """x (rows, ...): tokens int64, floats or anything indexed so; y (rows, ...) int64.

    One training set and one test set.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor


class Forward(NamedTuple):
    """One pass: logits (*rows, classes), labels (*rows), taps (*positions, width)."""

    logits: Tensor
    labels: Tensor
    params: Mapping[str, Tensor]
    taps: Mapping[str, Tensor]


def untouched(_name: str, x: Tensor) -> Tensor:
    """The tap that changes nothing."""
    return x


class Recorder:
    """A tap that keeps what it sees in ``found``, by name and in order of calls.

    ``replace`` maps names to functions of the activation, whose results the network
    goes on with. Under ``torch.func.vmap`` make one inside the mapped function.
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
    """Say of a penalty that it reads ``Forward.taps``, which are empty for others."""
    penalty.reads_taps = True  # type: ignore[attr-defined]
    return penalty


# How the learner asks the networks to compute now. ``shortcuts``: in other ways than
# the textbook forms, equal up to the order of summation; ``onednn``: products of
# float32 on a CPU by oneDNN. A book without either reads none of it.
now = SimpleNamespace(shortcuts=True, onednn=False)


@contextmanager
def switched(**to: Any) -> Iterator[None]:
    """``shortcuts`` or ``onednn`` of ``now`` on or off inside it."""
    before = {name: getattr(now, name) for name in to}
    vars(now).update(to)
    try:
        yield
    finally:
        vars(now).update(before)
