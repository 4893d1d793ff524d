"""What a name in an arm means: a public function or class of a room, in small letters.

Recorded names that are not those of the code are in ``OTHERS``.
"""

from typing import Any

import torch

from grokbook import datasets, losses, models, optimizers, penalties, schedules
from grokbook.errors import choose
from grokbook.experiment import Spec

ROOMS = {"dataset": datasets, "augment": datasets, "model": models, "loss": losses}
ROOMS |= {"penalty": penalties, "schedule": schedules}
ROOMS |= {"optimizer": optimizers, "wrapper": optimizers}
OTHERS = {"free_features": "freefeatures", "gradient_norm_schedule": "unit_steps"}


def resolve(kind: str, spec: Spec) -> Any:
    """The function or class that a spec names; UnknownName lists the others."""
    room = ROOMS[kind]
    known = {
        name.lower(): one
        for name, one in vars(room).items()
        if callable(one)
        and one.__module__.startswith(room.__name__)
        and not name.startswith("_")
    }
    return choose(kind, OTHERS.get(spec.name, spec.name), known)


def options(spec: Spec) -> dict[str, Any]:
    """A spec's options with dtype names turned into torch dtypes."""
    known = spec.options.items()
    return {k: getattr(torch, v) if k == "dtype" else v for k, v in known}
