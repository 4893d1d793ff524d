"""What the settings of an arm mean, however they are written.

Two arms that train the same have the same key, also where one writes out a default, or
1 for 1.0. Keys are made where there is no torch, so defaults are data, in files that
"settings" of book/project.yaml names. ``defaults`` has three tables, each by
"kind/name" of a spec.

    dropped   option: default. In a key only where it has another value
    filled    option: default. In every key, whether it is given or not
    floats    options that are floating-point numbers: there 1 is 1.0, else 1.0 is 1

Which of the first two an option is in was chosen so that few keys changed when the
tables were made. The default of a new option goes to ``dropped``, and no key changes. A
default that is changed stays there and goes to ``filled`` too, as it is now, and an arm
that leaves the option out has another key. A test holds them to the signatures.

``keys`` has what was recorded before there were tables: ``keys``, by the key that
the settings have now the one that the files have; and ``twice``, keys that stay as they
are since the same was recorded under another one too.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from claimbook import project

Plain = dict[str, Any]  # settings as JSON

# Kinds of the specs in the fields of an arm, which may be a list of them.
KINDS = {
    "dataset": "dataset",
    "model": "model",
    "loss": "loss",
    "later_loss": "loss",
    "optimizer": "optimizer",
    "wrappers": "wrapper",
    "penalties": "penalty",
    "schedule": "schedule",
    "augment": "augment",
}
FLOATS = {"alpha", "init_scale", "stop"}  # among the other fields
NONE: Mapping[str, Any] = {}


def key(settings: Plain) -> str:
    """The key under which a training with some settings is filed."""
    as_written, recorded = digest(settings), _tables("keys")
    if as_written in recorded.get("twice", ()):
        return as_written
    found = digest(resolved(settings))
    return recorded.get("keys", {}).get(found, found)


def digest(settings: Plain) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of settings, as they are written."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resolved(settings: Plain) -> Plain:
    """The settings of an arm in the one way of writing that keys are made of."""
    found, tables = {}, _tables("defaults")
    for field, value in settings.items():
        if field in KINDS:
            found[field] = _specs(KINDS[field], value, tables)
        else:
            found[field] = _numbers(value, are_floats=field in FLOATS)
    return found


def _specs(kind: str, value: Any, tables: Plain) -> Any:
    """A spec, a list of some, or a list of an epoch and one, with specs resolved."""
    if isinstance(value, list):
        return [_specs(kind, part, tables) for part in value]
    if isinstance(value, dict):
        which = f"{kind}/{value['name']}"
        of_this = {name: table.get(which, {}) for name, table in tables.items()}
        return _spec(value, **of_this)
    return _numbers(value, are_floats=False)


def _spec(
    spec: Plain,
    *,
    dropped: Mapping[str, Any] = NONE,
    filled: Mapping[str, Any] = NONE,
    floats: Collection[str] = (),
) -> Plain:
    """A spec without options at a dropped default, with those that are filled."""
    found = {}
    for option, value in spec.items():
        value = _numbers(value, are_floats=option in floats)
        is_dropped = option in dropped and _is_same(value, dropped[option])
        if not is_dropped:
            found[option] = value
    return {o: default for o, default in filled.items() if o not in spec} | found


def _numbers(value: Any, *, are_floats: bool) -> Any:
    """A value with the numbers in it as floats, or as integers where they are whole."""
    if isinstance(value, list):
        return [_numbers(part, are_floats=are_floats) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if are_floats:
        return float(value)
    return int(value) if float(value).is_integer() else value


def _is_same(value: Any, default: Any) -> bool:
    """Whether two JSON values are one: True is not 1, and 1.0 is not 1."""
    return json.dumps(value) == json.dumps(default)


def _tables(name: str) -> dict[str, Any]:
    """The tables of a file that book/project.yaml names; none where it names none."""
    file = project.described("settings").get(name)
    return _read(project.home() / "book" / file) if file else {}


@cache
def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
