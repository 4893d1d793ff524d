"""What was trained, in one line: task, network, loss, optimizer, length."""

from collections.abc import Iterable
from typing import Any

from claimbook import project
from claimbook.experiment import Arm, Spec
from claimbook.tables.html import number

# The options that a recipe names, in their order, each with the phrase for its value.
# All others are in the table of settings alone.
SHOWN = {
    "p": "modulo {}",
    "train_fraction": "{} of the pairs",
    "train_samples": "{} images",
    "samples": "{} samples",
    "depth": "{} layers",
    "width": "width {}",
    "widths": "{}",
    "norm": "norm {}",
    "dtype": "in {}",
    "lr": "lr {}",
    "smoothing": "smoothing {}",
    "betas": "betas {}",
    "momentum": "momentum {}",
    "eps": "eps {}",
    "weight_decay": "weight decay {}",
    "strength": "strength {}",
}
_ZERO = {"weight decay 0": "no weight decay", "momentum 0": "no momentum"}


def recipe(arms: Iterable[Arm]) -> str:
    """Return one line that says what all arms were trained with, "" for no arms.

    The line names the data set, model, loss and optimizer, then wrappers and penalties,
    then the length of the training. Where arms differ it has the values of all, or of
    four or more the first and the last (`_alternatives`).
    """
    arms = list(arms)
    if not arms:
        return ""
    parts = ("dataset", "model", "loss", "optimizer")
    phrases = [_phrase([getattr(arm, part) for arm in arms]) for part in parts]
    extras: dict[str, list[Spec]] = {}  # wrappers and penalties by name
    for arm in arms:
        for spec in (*arm.wrappers, *arm.penalties):
            extras.setdefault(spec.name, []).append(spec)
    for specs in extras.values():
        phrase = _phrase(specs)
        # an arm with two of a name counts twice, so that this may be left out
        if len(specs) < len(arms):
            phrase += " (in some)"
        phrases.append(phrase)
    length = _alternatives(f"{arm.epochs:,}" for arm in arms)
    # with batches an epoch would be a pass over the data, so the word is avoided
    is_full_batch = all(arm.batch_size is None for arm in arms)
    unit = "epochs" if is_full_batch else "steps"
    return " · ".join([*phrases, f"{length} {unit}"])


def _phrase(specs: Iterable[Spec]) -> str:
    """Return names and options of specs in one phrase, such as "SGD, lr 0.1 / 0.2".

    Of the options those of ``SHOWN`` are named, where a spec sets them.
    """
    names: list[str] = []
    # the values that specs have of each option, in words and in the order of SHOWN
    words_by_option: dict[str, list[str]] = {option: [] for option in SHOWN}
    for spec in specs:
        names.append(display_name(spec))
        for option in SHOWN.keys() & spec.options.keys():
            words_by_option[option].append(_as_text(option, spec.options[option]))
    details = [
        SHOWN[option].format(_alternatives(words))
        for option, words in words_by_option.items()
        if words
    ]
    details = [_ZERO.get(detail, detail) for detail in details]
    # "addition modulo 97" needs no comma
    return ", ".join([_alternatives(names), *details]).replace(", modulo", " modulo")


def display_name(spec: Spec) -> str:
    """Return what book/project.yaml calls a spec, or else its own name in words.

    A task that has several operations is called by its operation, such as "addition".
    The "called" of that file has such a task as "modular add", with each operation.
    """
    name, display_names = spec.name, project.part("called")
    if f"{name} add" in display_names:
        # "add" is the default of all such tasks
        operation = str(spec.options.get("operation", "add"))
        return display_names.get(f"{name} {operation}", operation.replace("_", " "))
    return display_names.get(name, name.replace("_", " "))


def _alternatives(words: Iterable[str]) -> str:
    """Return "a / b / c", each once; of four or more "a / … / d"; "" without any."""
    distinct = list(dict.fromkeys(words))
    if len(distinct) > 3:
        distinct = [distinct[0], "…", distinct[-1]]
    return " / ".join(distinct)


def _as_text(option: str, value: Any) -> str:
    """Return the value of an option of `SHOWN` as text."""
    if option == "widths":
        return _layers(value)
    if option == "train_fraction":
        return f"{100 * value:.4g}\N{NO-BREAK SPACE}%"
    if isinstance(value, tuple):
        return " and ".join(map(str, value))
    return number(value) if isinstance(value, int | float) else str(value)


def _layers(widths: tuple[int, ...]) -> str:
    """Return "2 layers of width 200", or "layers of width 200 and 100" if they differ.

    Raises IndexError without a width.
    """
    if len(set(widths)) > 1:
        return f"layers of width {' and '.join(map(str, widths))}"
    count = "1 layer" if len(widths) == 1 else f"{len(widths)} layers"
    return f"{count} of width {widths[0]}"
