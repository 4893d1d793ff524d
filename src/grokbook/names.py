"""What the names in an arm mean, and the check that they and their options exist.

A name is that of a public function or class of a room, in small letters. ``check`` is
called before anything is trained; what it refuses is refused in one sentence.
"""

import inspect
from functools import partial
from typing import Any

import torch

from grokbook import (
    datasets,
    losses,
    models,
    observables,
    optimizers,
    penalties,
    schedules,
)
from grokbook.errors import UnknownName, choose
from grokbook.experiment import Arm, Spec

ROOMS = {
    "dataset": datasets,
    "model": models,
    "loss": losses,
    "penalty": penalties,
    "optimizer": optimizers,
    "wrapper": optimizers,
    "schedule": schedules,
    "augment": datasets,
}
# Recorded names that are not those of the code.
OTHERS = {"free_features": "freefeatures", "gradient_norm_schedule": "unit_steps"}


def resolve(kind: str, spec: Spec) -> Any:
    """The function or class that a spec names; UnknownName lists the others."""
    known = {
        name.lower(): one
        for name, one in vars(ROOMS[kind]).items()
        if callable(one)
        and one.__module__.startswith(ROOMS[kind].__name__)
        and not name.startswith("_")
    }
    return choose(kind, OTHERS.get(spec.name, spec.name), known)


def options(spec: Spec) -> dict[str, Any]:
    """A spec's options with dtype names turned into torch dtypes."""
    known = spec.options.items()
    return {k: getattr(torch, v) if k == "dtype" else v for k, v in known}


def check(arm: Arm) -> None:
    """UnknownName, or another ValueError, if an arm cannot be trained so.

    Everything that it names is used once, on a network without weights.
    """
    try:
        for dtype in filter(None, (arm.dtype, arm.keep_dtype, arm.autocast)):
            getattr(torch, dtype)
        for name in (*arm.observables, *(arm.rarely[1] if arm.rarely else ())):
            choose("observable", name, observables.OBSERVABLES)
        _use(arm)
    except UnknownName as error:
        raise UnknownName(f"arm {arm.name!r}: {error}") from error
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"arm {arm.name!r}: {error}") from error


def _use(arm: Arm) -> None:
    """Build and call all that an arm names, but for its data, which may be large."""

    def made(kind: str, spec: Spec) -> Any:
        return partial(resolve(kind, spec), **options(spec))

    for kind in ("dataset", "augment"):
        if spec := getattr(arm, kind):
            inspect.signature(resolve(kind, spec)).bind_partial(**spec.options)
    with torch.device("meta"):
        model = made("model", arm.model)()
    named = [(name, p.detach()) for name, p in model.named_parameters()]
    optimizer = made("optimizer", arm.optimizer)(named)
    for spec in arm.wrappers:
        made("wrapper", spec)(optimizer)
    logits, labels = torch.eye(2), torch.arange(2)
    for spec in (arm.loss, *(arm.later_loss or ())[1:]):
        made("loss", spec)(logits, labels)
    for spec in arm.penalties:
        sites, places = penalties.sites(spec.name, spec.options), model.places
        for site in sites:
            if not any(f"{place}.".startswith(f"{site}.") for place in places):
                begins = dict.fromkeys(place.partition(".")[0] for place in places)
                choose(f"site of penalty {spec.name!r}", site, begins)
        taps = dict.fromkeys(sites, logits)
        made("penalty", spec)(penalties.Forward(logits, labels, {"w": logits}, taps))
    if arm.schedule:
        for step in {0, arm.epochs // 2, arm.epochs - 1}:
            made("schedule", arm.schedule)(step, arm.epochs)
