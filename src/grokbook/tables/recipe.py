"""What was trained, in one line: task, network, loss, optimizer, length."""

from collections.abc import Iterable
from typing import Any

from grokbook.experiment import Arm, Spec
from grokbook.tables.html import number

CALLED = {"modular": "arithmetic", "mlp": "MLP", "adamw": "AdamW", "sgd": "SGD"}
CALLED |= {"mnist": "MNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
CALLED |= {"wikitext": "text", "gpt2": "GPT-2", "vgg11": "VGG-11", "vit": "ViT"}
CALLED |= {"resnet18": "ResNet-18", "orthogonal": "⊥Grad"}
CALLED |= {"centre_rows": "W_G subtracted"}
# Options that a recipe names, and how; for all others see the table of settings.
SHOWN = {"p": "mod {}", "train_fraction": "{} of the pairs"}
SHOWN |= {"train_samples": "{} images"}
SHOWN |= {"samples": "{} samples", "depth": "{} layers", "width": "width {}"}
SHOWN |= {"widths": "width {}", "norm": "norm {}", "dtype": "in {}", "lr": "lr {}"}
SHOWN |= {"smoothing": "smoothing {}", "betas": "betas ({})", "momentum": "momentum {}"}
SHOWN |= {"eps": "eps {}", "weight_decay": "decay {}", "strength": "strength {}"}


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
        names.append(CALLED.get(spec.name, spec.name.replace("_", " ")))
        for key in SHOWN.keys() & spec.options.keys():
            options[key].append(_value(spec.options[key]))
    told = [SHOWN[key].format(_either(of)) for key, of in options.items() if of]
    return ", ".join([_either(names), *told])


def _either(words: Iterable[str]) -> str:
    found = list(dict.fromkeys(words))
    return " / ".join(found if len(found) < 4 else [found[0], "…", found[-1]])


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        alike = len(value) > 1 and len(set(value)) == 1
        return f"{value[0]} × {len(value)}" if alike else ", ".join(map(_value, value))
    return number(value) if isinstance(value, int | float) else str(value)
