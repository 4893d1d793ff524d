"""What a run logs: named groups of measurements of one training step.

An observable is a function from a ``Snapshot`` to named values, written for one member.
Its decorator says all that it reads:

    train, test      logits, labels, losses and taps of a split
    step             gradients, and the weights before the step (none at epoch 0)
    moments          AdamW's sqrt(v_hat) + eps, by parameter
    objective        the training loss as a function of the weights, in float64
    tap_grads        activations and gradients of the loss, or of all terms, at the taps
    a key of ``VARIANTS``   training losses of the networks that it makes
    anything else    taps of the network whose names begin so

``makes`` are the stems of its columns: "norm" is that of "norm.layers.0.weight".
``mapped=False`` takes the members of a stack one by one; ``averaged=True``: an average
over batches of rows leaves it exact.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from claimbook.errors import choose

Values = dict[str, Tensor]
NOTHING: Any = {}


class SplitOutputs(NamedTuple):
    """A split as the network sees it; losses (rows,) are the run's own, per sample."""

    inputs: Tensor
    logits: Tensor
    labels: Tensor
    losses: Tensor
    taps: Mapping[str, Tensor] = NOTHING


class Snapshot(NamedTuple):
    """One training step as seen at a logging epoch; empty is what nobody reads.

    ``params`` after the step and ``before`` it, ``grads`` the raw gradients of the
    training objective at ``before``. Of a stack every tensor has a member axis, and
    ``objective`` and ``tap_grads`` take the member's number first.
    """

    params: Mapping[str, Tensor]
    before: Mapping[str, Tensor] = NOTHING
    grads: Mapping[str, Tensor] = NOTHING
    moments: Mapping[str, Tensor] = NOTHING
    train: SplitOutputs = NOTHING
    test: SplitOutputs = NOTHING
    variant_losses: Mapping[str, Tensor] = NOTHING
    objective: Callable[..., Any] = NOTHING
    tap_grads: Callable[..., Any] = NOTHING


class Observable(NamedTuple):
    """A group of measurements, what it reads and makes, and how it is taken.

    ``makes``: the stems of its columns; "norm" is that of "norm.layers.0.weight".
    """

    function: Callable[[Any], Values]
    needs: frozenset[str]
    makes: frozenset[str]
    mapped: bool = True
    averaged: bool = False


OBSERVABLES: dict[str, Observable] = {}


class Variant(NamedTuple):
    """A changed network that is called with the weights of the original.

    ``replace`` maps some of its taps to what takes the place of the activation there.
    """

    network: nn.Module
    replace: Mapping[str, Callable[[Tensor], Tensor]]


# Networks that an observable may need beside the original, by the name of the need: a
# function of the original that gives the changed ones by the names of their columns.
VARIANTS: dict[str, Callable[[Any], dict[str, Variant]]] = {}


def observable(
    *needs: str, makes: tuple[str, ...], mapped: bool = True, averaged: bool = False
) -> Callable:
    """Register a function under its name; the order here is that of the columns."""

    def register(function: Callable[[Any], Values]) -> Callable[[Any], Values]:
        OBSERVABLES[function.__name__] = Observable(
            function, frozenset(needs), frozenset(makes), mapped, averaged
        )
        return function

    return register


def places(needs: Iterable[str], known: Iterable[str]) -> list[str]:
    """The taps among those of a network that observables with these needs look at."""
    begins = tuple(f"{need}." for need in needs)
    return [place for place in known if f"{place}.".startswith(begins)]


def needs(names: Iterable[str]) -> set[str]:
    """What some observables read, all together."""
    return {part for name in names for part in OBSERVABLES[name].needs}


def stems(names: Iterable[str] | None = None) -> set[str]:
    """Stems of the columns that some observables make, or all of today's.

    A stem is what a column is called before its first dot.
    """
    chosen = OBSERVABLES if names is None else names
    return {stem for name in chosen for stem in OBSERVABLES[name].makes}


def observe(snapshot: Snapshot, names: Iterable[str], *, stacked=False) -> Values:
    """The named observables of a snapshot: 0-dim tensors, (members,) of a stack.

    UnknownName for one that nobody registered.
    """
    wanted = {choose("observable", name, OBSERVABLES) for name in names}
    chosen = [one for one in OBSERVABLES.values() if one in wanted]

    def measure(group: list[Observable], one: Snapshot) -> Values:
        return {k: v for each in group for k, v in each.function(one).items()}

    if not stacked:
        return measure(chosen, snapshot)
    mapped = [one for one in chosen if one.mapped]
    tensors = snapshot._replace(objective=NOTHING, tap_grads=NOTHING)
    values = torch.func.vmap(partial(measure, mapped))(tensors)
    if rest := [one for one in chosen if not one.mapped]:
        members = range(len(next(iter(snapshot.params.values()))))
        alone = (tree_map(partial(_member, k), snapshot) for k in members)
        every = [measure(rest, one) for one in alone]
        values |= {n: torch.stack([one[n] for one in every]) for n in every[0]}
    return values


def _member(k: int, leaf: Any) -> Any:
    return leaf[k] if isinstance(leaf, Tensor) else partial(leaf, k)
