"""Observables: named groups of measurements that a run logs of a training step.

An observable is a function from a ``Snapshot`` to named values, written for one member.
Its decorator names everything that it reads, its needs:

    train, test      logits, labels, losses and taps of a split
    step             gradients, and the weights before the step (none at epoch 0)
    moments          AdamW's sqrt(v_hat) + eps, by parameter
    objective        the training loss as a function of the weights, in float64
    tap_grads        activations and gradients of the loss, or of all terms, at the taps
    a key of ``VARIANTS``   training losses of the changed networks that it makes
    anything else    taps of the network whose names begin with it

``makes`` are the stems of its columns: "norm" is that of "norm.layers.0.weight".
With ``mapped=False`` the members of a stack are measured one by one. ``averaged=True``
says that an average over batches of rows is exact.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from claimbook.errors import choose

Values = dict[str, Tensor]  # measurements by column
NOTHING: Any = {}  # the value of a field of a snapshot that no observable reads
# Needs that are not names of taps, as the module's docstring lists them; the keys of
# VARIANTS are such needs as well.
FIELDS = frozenset({"train", "test", "step", "moments", "objective", "tap_grads"})


class SplitOutputs(NamedTuple):
    """Inputs, labels and outputs of the network on a split, each tensor (rows, ...).

    ``losses`` are those of the run's own loss, one for each label; ``taps`` are
    activations by the name of the tap.
    """

    inputs: Tensor
    logits: Tensor
    labels: Tensor
    losses: Tensor
    taps: Mapping[str, Tensor] = NOTHING


class Snapshot(NamedTuple):
    """What observables read of one training step.

    ``params`` are the weights after the step and ``before`` those before it; ``grads``
    are the raw gradients of the training objective at ``before``, and ``moments``
    AdamW's sqrt(v_hat) + eps, all by parameter name. ``variant_losses`` are training
    losses (rows,) by column. ``objective`` and ``tap_grads`` are methods of the
    learner, which compute when they are called. In a stack every tensor has a first
    axis of members, and these two methods take the index of a member as first argument.

    A field that no observable of the call needs may be {}, and ``before`` and ``grads``
    are {} at epoch 0.
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
    """A measuring function, what it needs and makes, and how it is called.

    ``function`` takes a Snapshot; the module's docstring explains the other fields.
    """

    function: Callable[[Any], Values]
    needs: frozenset[str]
    makes: frozenset[str]
    mapped: bool = True
    averaged: bool = False


OBSERVABLES: dict[str, Observable] = {}


class Variant(NamedTuple):
    """A changed network that is called with the weights of the original.

    ``replace`` maps names of its taps to functions of the activation there, and the
    network goes on with what they return; {} changes no activation.
    """

    network: nn.Module
    replace: Mapping[str, Callable[[Tensor], Tensor]]


# Changed networks that an observable may need, by the name of the need: a function from
# the original network to its variants, by the names of their columns.
VARIANTS: dict[str, Callable[[Any], dict[str, Variant]]] = {}


def observable(
    *needs: str, makes: tuple[str, ...], mapped: bool = True, averaged: bool = False
) -> Callable:
    """Return a decorator that registers a function as an observable, by its own name.

    The module's docstring explains the arguments. The columns of a measurement stand in
    the order in which observables are registered, except that in a stack those of
    ``mapped=False`` come last, and with ``eval_batch`` those of ``averaged=True`` come
    first. A second function of the same name takes the place of the first.
    """

    def register(function: Callable[[Any], Values]) -> Callable[[Any], Values]:
        """Register a function under its name, and return it."""
        OBSERVABLES[function.__name__] = Observable(
            function, frozenset(needs), frozenset(makes), mapped, averaged
        )
        return function

    return register


def tap_names(needs: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names of the taps that observables with these needs read.

    ``known`` are the names of all taps of the network, and the result has their order.
    A need is the name of a tap, or what such names have before a dot: "hidden" is that
    of "hidden.0" and "hidden.1". Needs that are not of taps, such as "train", fit none.
    """
    # with a dot, so that "hidden" does not fit "hidden2"
    prefixes = tuple(f"{need}." for need in needs)
    return [name for name in known if f"{name}.".startswith(prefixes)]


def needs_of(names: Iterable[str]) -> set[str]:
    """Return all needs of the named observables; raises KeyError for another name."""
    return {need for name in names for need in OBSERVABLES[name].needs}


def stems(names: Iterable[str] | None = None) -> set[str]:
    """Return the stems of the columns that observables make.

    ``names`` are the names of the observables, by default all. A stem is the part of a
    column's name before the first dot. Raises KeyError for a name that nobody
    registered.
    """
    chosen = OBSERVABLES if names is None else names
    return {stem for name in chosen for stem in OBSERVABLES[name].makes}


def observe(
    snapshot: Snapshot, names: Iterable[str], *, stacked: bool = False
) -> Values:
    """Return the values of the named observables by column, () each.

    With ``stacked`` the tensors of the snapshot have a first axis of members, and so
    have the values, (members,) each. Without names there are no values. Raises
    UnknownName for a name that nobody registered.
    """
    wanted = {choose("observable", name, OBSERVABLES) for name in names}
    # in the order in which they were registered
    chosen = [each for each in OBSERVABLES.values() if each in wanted]

    def measure(group: list[Observable], member: Snapshot) -> Values:
        """Return the values of some observables for one member, by column."""
        values: Values = {}
        for each in group:
            values |= each.function(member)
        return values

    if not stacked:
        return measure(chosen, snapshot)
    mapped = [each for each in chosen if each.mapped]
    # vmap takes no functions, so observables that call these are not mapped
    tensors = snapshot._replace(objective=NOTHING, tap_grads=NOTHING)
    values = torch.func.vmap(partial(measure, mapped))(tensors)
    if unmapped := [each for each in chosen if not each.mapped]:
        member_count = len(next(iter(snapshot.params.values())))
        values_by_member = [
            measure(unmapped, tree_map(partial(_of_member, index), snapshot))
            for index in range(member_count)
        ]
        for column in values_by_member[0]:
            values[column] = torch.stack([v[column] for v in values_by_member])
    return values


def _of_member(index: int, leaf: Any) -> Any:
    """Return the part of a leaf of a stack's Snapshot that is one member's.

    That is a row along the first axis of a tensor, or a function with the index of the
    member as its first argument.
    """
    return leaf[index] if isinstance(leaf, Tensor) else partial(leaf, index)
