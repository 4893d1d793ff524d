"""What was trained, in one line: task, network, loss, optimizer, length."""

from collections.abc import Iterable
from typing import Any

from claimbook import project
from claimbook.experiment import Arm, Spec
from claimbook.tables.html import number

# Options that a recipe names, and how; for all others see the table of settings.
SHOWN = {"p": "modulo {}", "train_fraction": "{} of the pairs"}
SHOWN |= {"train_samples": "{} images"}
SHOWN |= {"samples": "{} samples", "depth": "{} layers", "width": "width {}"}
SHOWN |= {"widths": "{}", "norm": "norm {}", "dtype": "in {}", "lr": "lr {}"}
SHOWN |= {"smoothing": "smoothing {}", "betas": "betas {}", "momentum": "momentum {}"}
SHOWN |= {"eps": "eps {}", "weight_decay": "weight decay {}"}
SHOWN |= {"strength": "strength {}"}


def recipe(arms: Iterable[Arm]) -> str:
    """One line for all arms, with the values of each where they differ."""
    every = list(arms)
    if not every:
        return ""
    parts = ("dataset", "model", "loss", "optimizer")
    told = [_told([getattr(arm, part) for arm in every]) for part in parts]
    beside: dict[str, list[Spec]] = {}
    for spec in (spec for arm in every for spec in (*arm.wrappers, *arm.penalties)):
        beside.setdefault(spec.name, []).append(spec)
    some = " (in some)"
    told += [_told(many) + some * (len(many) < len(every)) for many in beside.values()]
    length = _either(f"{arm.epochs:,}" for arm in every)
    full = all(arm.batch_size is None for arm in every)
    return " · ".join([*told, f"{length} {'epochs' if full else 'steps'}"])


def _told(specs: Iterable[Spec]) -> str:
    names: list[str] = []
    options: dict[str, list[str]] = {key: [] for key in SHOWN}
    for spec in specs:
        names.append(_called(spec))
        for key in SHOWN.keys() & spec.options.keys():
            options[key].append(_value(key, spec.options[key]))
    told = [SHOWN[key].format(_either(of)) for key, of in options.items() if of]
    told = [_NONE.get(words, words) for words in told]
    return ", ".join([_either(names), *told]).replace(", modulo", " modulo")


_NONE = {"weight decay 0": "no weight decay", "momentum 0": "no momentum"}


def _called(spec: Spec) -> str:
    """Its name in words; a task that has operations is called by its operation."""
    name, called = spec.name, project.described("called")
    if f"{name} add" in called:
        operation = str(spec.options.get("operation", "add"))
        return called.get(f"{name} {operation}", operation.replace("_", " "))
    return called.get(name, name.replace("_", " "))


def _either(words: Iterable[str]) -> str:
    found = list(dict.fromkeys(words))
    return " / ".join(found if len(found) < 4 else [found[0], "…", found[-1]])


def _value(key: str, value: Any) -> str:
    if key == "widths":
        return _layers(value)
    if key == "train_fraction":
        return f"{100 * value:.4g} %".replace(" ", "\N{NO-BREAK SPACE}")
    if isinstance(value, tuple):
        return " and ".join(map(str, value))
    return number(value) if isinstance(value, int | float) else str(value)


def _layers(widths: tuple[int, ...]) -> str:
    """`2 layers of width 200`; `layers of width 200 and 100`."""
    if len(set(widths)) > 1:
        return f"layers of width {' and '.join(map(str, widths))}"
    many = "1 layer" if len(widths) == 1 else f"{len(widths)} layers"
    return f"{many} of width {widths[0]}"
