"""What the names in an arm mean, and the check that they and their options exist.

``CHOICES`` maps each kind of name to functions and classes. ``check`` is called before
anything is trained; what it refuses is refused in one sentence.
"""

import inspect
from collections.abc import Collection, Iterator
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
from grokbook.errors import BadSetting, UnknownName, choose
from grokbook.experiment import Arm, Spec

CHOICES: dict[str, dict[str, Any]] = {
    "dataset": datasets.TASKS,
    "model": {
        "mlp": models.MLP,
        "transformer": models.Transformer,
        "resnet18": models.ResNet18,
        "vgg11": models.VGG11,
        "vit": models.ViT,
        "gpt2": models.gpt2,
        "decoder": models.decoder,
        "free_features": models.FreeFeatures,
    },
    "loss": {
        f.__name__: f
        for f in (
            losses.softmax_cross_entropy,
            losses.exact_cross_entropy,
            losses.stablemax_cross_entropy,
            losses.taylor_cross_entropy,
            losses.mean_squared_error,
            losses.correct_logit_zeroed,
            losses.correct_logit_detached,
            losses.projected_cross_entropy,
            losses.repaired_cross_entropy,
            losses.collapsed_cross_entropy,
            losses.unbalanced_cross_entropy,
            losses.clamped_cross_entropy,
        )
    },
    "penalty": penalties.PENALTIES,
    "optimizer": {"adamw": optimizers.AdamW, "sgd": optimizers.SGD},
    "wrapper": {
        "orthogonal": optimizers.orthogonal,
        "gradient_norm_schedule": optimizers.unit_steps,
        "centre_rows": optimizers.centre_rows,
        "hold_norm": optimizers.hold_norm,
        "clip": optimizers.clip,
        "descend_from": optimizers.descend_from,
    },
    "schedule": {
        f.__name__: f for f in (schedules.staircase, schedules.cosine, schedules.warmup)
    },
    "augment": {"crop_flip": datasets.crop_flip},
}


def resolve(kind: str, spec: Spec) -> Any:
    """The function or class that a spec names; UnknownName lists the others."""
    return choose(kind, spec.name, CHOICES[kind])


def options(spec: Spec) -> dict[str, Any]:
    """A spec's options with dtype names turned into torch dtypes."""
    return {k: _dtype(v) if k == "dtype" else v for k, v in spec.options.items()}


def _dtype(name: str) -> torch.dtype:
    if isinstance(dtype := getattr(torch, str(name), None), torch.dtype):
        return dtype
    raise UnknownName(f"{name!r} is no torch dtype: use float32 or float64")


def check(arm: Arm) -> None:
    """UnknownName or BadSetting, both ValueErrors, if an arm cannot be trained so.

    Everything that it names is used once, on a network without weights.
    """
    try:
        for dtype in filter(None, (arm.dtype, arm.keep_dtype, arm.autocast)):
            _dtype(dtype)
        last = max([*arm.keep, *(arm.later_loss or ())[:1]], default=0)
        if last > max(arm.logged_epochs()):
            raise ValueError(f"epoch {last} is not among its {arm.epochs}")
        _check_looks(arm, _use(arm).places())
    except UnknownName as error:
        raise UnknownName(f"arm {arm.name!r}: {error}") from error
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as error:
        raise BadSetting(f"arm {arm.name!r}: {error}") from error


def _specs(arm: Arm) -> Iterator[tuple[str, Spec]]:
    """(kind, spec) of everything that an arm names."""
    for kind in ("dataset", "model", "loss", "optimizer", "schedule", "augment"):
        if spec := getattr(arm, kind):
            yield kind, spec
    yield from (("wrapper", spec) for spec in arm.wrappers)
    yield from (("penalty", spec) for spec in arm.penalties)
    if arm.later_loss:
        yield "loss", arm.later_loss[1]


def _use(arm: Arm) -> Any:
    """The network of an arm without weights, once everything was called with it."""
    made: dict[str, Any] = {}
    logits, labels = torch.eye(2), torch.arange(2)
    for kind, spec in _specs(arm):
        function = resolve(kind, spec)
        known = inspect.signature(function).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
        for name in () if takes_any else spec.options:
            choose(f"option of {spec.name}", name, known)
        function = partial(function, **options(spec))
        if kind == "model":
            with torch.device("meta"):
                made[kind] = function()
        elif kind == "optimizer":
            named = made["model"].named_parameters()
            made[kind] = function([(name, p.detach()) for name, p in named])
        elif kind == "wrapper":
            function(made["optimizer"])
        elif kind == "loss":
            function(logits, labels)
        elif kind == "penalty":
            taps = dict.fromkeys(penalties.sites(spec.name, spec.options), logits)
            function(penalties.Forward(logits, labels, {"w": logits}, taps))
        elif kind == "schedule":
            for step in {0, arm.epochs // 2, arm.epochs - 1}:
                function(step, arm.epochs)
    return made["model"]


def _check_looks(arm: Arm, places: Collection[str]) -> None:
    """ValueError where an observable or a penalty does not fit the network.

    ``places``: the taps that it has. What only the values of a look tell, the
    observable itself refuses at epoch 0.
    """
    begins = dict.fromkeys(place.partition(".")[0] for place in places)
    for spec in arm.penalties:
        for site in penalties.sites(spec.name, spec.options):
            if not any(f"{place}.".startswith(f"{site}.") for place in places):
                choose(f"site of penalty {spec.name!r}", site, begins)
    if "core" not in arm.observables:
        raise ValueError("its observables lack 'core', whose loss shows a NaN")
    for name in (*arm.observables, *(arm.rarely[1] if arm.rarely else ())):
        one = choose("observable", name, observables.OBSERVABLES)
        if "moments" in one.needs and arm.optimizer.name != "adamw":
            raise ValueError(f"observable {name!r} needs the second moments of AdamW")
        for place in sorted(one.needs & observables.PLACES.keys()):
            if not observables.places([place], places):
                choose(f"place (which {name!r} looks at)", place, begins)
        whole = {"train", "test", "objective"} & one.needs and not one.averaged
        if arm.eval_batch and whole:
            raise ValueError(
                f"observable {name!r} needs all rows at once and does not go with "
                "eval_batch"
            )
