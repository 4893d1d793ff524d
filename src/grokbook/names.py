"""What the names in an arm mean, and the check that they and their options exist.

``CHOICES`` maps each kind of name to functions and classes. ``check`` is called before
anything is trained; what it refuses is refused in one sentence.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

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
    return {
        key: _dtype(value) if key == "dtype" else value
        for key, value in spec.options.items()
    }


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise UnknownName(f"{name!r} is no torch dtype: use float32 or float64")
    return dtype


def specs(arm: Arm) -> Iterator[tuple[str, Spec]]:
    """(kind, spec) of everything that an arm names."""
    for kind in ("dataset", "model", "loss", "optimizer", "schedule", "augment"):
        spec = getattr(arm, kind)
        if spec is not None:
            yield kind, spec
    for wrapper in arm.wrappers:
        yield "wrapper", wrapper
    for penalty in arm.penalties:
        yield "penalty", penalty
    if arm.later_loss:
        yield "loss", arm.later_loss[1]


def observed(arm: Arm) -> set[str]:
    """The names of all observables that an arm asks for, at whatever epochs."""
    return {*arm.observables, *(arm.rarely[1] if arm.rarely else ())}


def check(arm: Arm) -> None:
    """UnknownName or BadSetting, both ValueErrors, if an arm cannot be trained so.

    Everything that it names is used once, on a network without weights.
    """
    try:
        for kind, spec in specs(arm):
            _check_options(spec, resolve(kind, spec))
        for dtype in filter(None, (arm.dtype, arm.keep_dtype, arm.autocast)):
            _dtype(dtype)
        for name in sorted(observed(arm)):
            choose("observable", name, observables.OBSERVABLES)
        _check_epochs(arm)
        _check_observables(arm)
        _check_sites(arm)
        _try(arm)
    except UnknownName as error:
        raise UnknownName(f"arm {arm.name!r}: {error}") from error
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as error:
        raise BadSetting(f"arm {arm.name!r}: {error}") from error


def _check_options(spec: Spec, function: Any) -> None:
    known = inspect.signature(function).parameters
    for name in spec.options:
        if name == "reduction":
            raise ValueError(f"{name} of {spec.name} is not an arm's to choose")
        if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            choose(f"option of {spec.name}", name, known)


def _check_observables(arm: Arm) -> None:
    if "core" not in arm.observables:
        raise ValueError("its observables lack 'core', whose loss shows a NaN")
    needs = {name: observables.OBSERVABLES[name].needs for name in observed(arm)}
    for name in sorted(needs):
        if "moments" in needs[name] and arm.optimizer.name != "adamw":
            raise ValueError(
                f"observable {name!r} needs the second moments of AdamW, which "
                f"{arm.optimizer.name} does not keep"
            )
        for place in sorted(needs[name] & observables.PLACES.keys()):
            if not observables.places([place], places(arm.model)):
                choose(f"place (which {name!r} looks at)", place, places(arm.model))
        if (
            arm.eval_batch
            and not observables.OBSERVABLES[name].averaged
            and ({"train", "test", "objective"} & needs[name])
        ):
            raise ValueError(
                f"observable {name!r} needs all rows at once and does not go with "
                "eval_batch"
            )

    if "exact_trace" in needs:
        _check_exact_trace(arm)
    if "periodic" in needs:
        _check_periodic(arm)


def _check_exact_trace(arm: Arm) -> None:
    with torch.device("meta"):
        network = resolve("model", arm.model)(**options(arm.model))
    is_plain = isinstance(network, models.MLP) and (
        network.activation is F.relu
        and network.norms is network.head_norm is network.embedding is None
    )
    every = [arm.loss, *([arm.later_loss[1]] if arm.later_loss else [])]
    for loss in every:
        is_plain &= loss.name in ("softmax_cross_entropy", "exact_cross_entropy")
        is_plain &= not {"smoothing", "temperature"} & {*loss.options}
    if not is_plain or arm.alpha != 1:
        raise ValueError(
            "observable 'exact_trace' is of the cross-entropy of a ReLU MLP without "
            "norms, embedding or alpha, and this arm has another network or loss"
        )


def _check_periodic(arm: Arm) -> None:
    task = inspect.signature(datasets.modular)
    given: dict[str, Any] = {"p": 0}
    if arm.dataset.name == "modular":
        call = task.bind(**arm.dataset.options)
        call.apply_defaults()
        given = call.arguments
    if (
        given["p"] < 7
        or given["p"] % 2 == 0
        or given["encoding"] != "tokens"
        or given["operation"] == "divide"
        or given["smallest"]
        or given["equals"]
        or resolve("model", arm.model) is not models.MLP
    ):
        raise ValueError(
            "observable 'periodic' is of an MLP on all pairs of tokens below an odd p "
            f"of at least 7, and not on {arm.dataset}"
        )


def _check_sites(arm: Arm) -> None:
    for spec in arm.penalties:
        known = places(arm.model)
        for site in penalties.sites(spec.name, spec.options):
            if not any(p == site or p.startswith(site + ".") for p in known):
                begins = dict.fromkeys(p.partition(".")[0] for p in known)
                choose(f"site of penalty {spec.name!r}", site, begins)


def _check_epochs(arm: Arm) -> None:
    pieces = ((arm.epochs, arm.log),) if isinstance(arm.log, int) else arm.log
    every = [step for _, step in pieces] + ([arm.rarely[0]] if arm.rarely else [])
    if min(every) < 1:
        raise ValueError(f"it cannot be looked at every {min(every)} epochs")
    asked = [*arm.keep, *([arm.later_loss[0]] if arm.later_loss else [])]
    for epoch in asked:
        if not 0 <= epoch <= arm.epochs:
            raise ValueError(f"epoch {epoch} is not among its {arm.epochs}")
    if arm.stop is not None and not 0 < arm.stop <= 1:
        raise ValueError(f"stop is a test accuracy between 0 and 1, not {arm.stop}")


def _try(arm: Arm) -> None:
    """Use everything that an arm names once, on a network without weights."""
    with torch.device("meta"):
        network = resolve("model", arm.model)(**options(arm.model))
    named = [(name, p.detach()) for name, p in network.named_parameters()]
    optimizer = resolve("optimizer", arm.optimizer)(named, **options(arm.optimizer))
    for wrapper in arm.wrappers:
        resolve("wrapper", wrapper)(optimizer, **options(wrapper))
    logits, labels = torch.eye(2), torch.arange(2)
    for loss in (arm.loss, *([arm.later_loss[1]] if arm.later_loss else [])):
        resolve("loss", loss)(logits, labels, **options(loss))
    for penalty in arm.penalties:
        taps = dict.fromkeys(penalties.sites(penalty.name, penalty.options), logits)
        seen = penalties.Forward(logits, labels, {"w": logits}, taps)
        resolve("penalty", penalty)(seen, **options(penalty))
    if arm.schedule:
        schedule = resolve("schedule", arm.schedule)
        for step in {0, arm.epochs // 2, arm.epochs - 1}:
            schedule(step, arm.epochs, **options(arm.schedule))


def places(model: Spec) -> tuple[str, ...]:
    """The taps that a network has, found without its weights."""
    with torch.device("meta"):
        return tuple(resolve("model", model)(**options(model)).places())
