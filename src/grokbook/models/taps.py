"""Named places inside a network, where a caller may look, change or charge.

At every place of ``model.places`` a ``model(x, tap)`` says ``x = tap(name, x)`` and
goes on with what comes back. Without a tap it may take the shortcuts of ``fast``; with
one it passes all places and positions.
"""

from collections.abc import Callable, Mapping

from torch import Tensor, nn

Tap = Callable[[str, Tensor], Tensor]


def untouched(_name: str, x: Tensor) -> Tensor:
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


def drops(model: nn.Module) -> bool:
    """Whether a pass of a network in training draws masks."""
    return any(isinstance(one, nn.Dropout) and one.p > 0 for one in model.modules())
