"""How long trainings took and may take, from what records say; `12 min`, `3 days`."""

from collections.abc import Mapping
from typing import Any

from grokbook.experiment import Arm

_UNITS = (  # name, its seconds, the seconds from which it is used
    ("s", 1.0, 0.0),
    ("min", 60.0, 90.0),
    ("h", 3600.0, 90 * 60.0),
    ("days", 86_400.0, 36 * 3600.0),
    ("months", 30.44 * 86_400, 60 * 86_400.0),
    ("years", 365.25 * 86_400, 730 * 86_400.0),
)


def span(seconds: float) -> str:
    """A duration in whole units, with one decimal below three of them.

    Every unit goes on to about one and a half of the next, so "80 min" is told in
    minutes and "2.5 h" in hours.
    """
    name, size, _ = next(unit for unit in reversed(_UNITS) if seconds >= unit[2])
    many = seconds / size
    digits = 1 if many < 3 and name != "s" else 0
    told = f"{many:,.{digits}f}".removesuffix(".0")
    return f"{told} {name}"


def expected(
    arm: Arm, recorded: Mapping[str, Mapping[str, Any]], device: str
) -> float | None:
    """Seconds that one more member of an arm may take; None where nothing tells.

    As long as the epochs of its other seeds took on such a device ("cpu" or "cuda"),
    else as those of the other arms. ``recorded``: what is told of the members of its
    experiment, by "arm|seed".
    """
    here = {k: one for k, one in recorded.items() if one.get("device") == device}
    mine = [one for key, one in here.items() if key.rpartition("|")[0] == arm.name]
    taken = mine or [*here.values()]
    epochs = sum(one["epochs"] for one in taken)
    spent = sum(one["seconds"] for one in taken)
    return arm.epochs * spent / epochs if epochs else None
