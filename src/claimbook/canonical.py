"""One form for the settings of an arm, however they are written, and their key.

Two arms that train the same have the same key, even if one writes out a default, or
writes 1 for 1.0. Keys are made where there is no torch, so defaults are data, in files
that "settings" of book/project.yaml names. The file ``defaults`` has three tables, each
by "kind/name" of a spec:

    dropped   option: default. Left out of the key where it has this value
    filled    option: default. Always in the key, with this value if it is not given
    floats    options that are floats: their 1 becomes 1.0; elsewhere 1.0 becomes 1

Options were put into ``dropped`` or ``filled`` such that few keys changed when the
tables were made. The default of a new option goes to ``dropped``, so no key changes. If
a default changes, the old one stays in ``dropped`` and the new one goes to ``filled``
too, and an arm that leaves the option out gets another key. A test compares the tables
with the signatures of the functions.

The file ``keys`` has what was recorded before there were tables. Its ``keys`` map the
key that settings have now to the key that their files have. Its ``twice`` lists keys
that stay as they were, since the same training was recorded under another key as well.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from claimbook import project

Plain = dict[str, Any]  # settings as JSON

# The kind of the specs in a field of an arm: the field may have one or a list of them.
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
FLOATS = {"alpha", "init_scale", "stop"}  # those of the other fields that are floats


class _Defaults(NamedTuple):
    """The tables of one spec in the file ``defaults``, which the module explains."""

    dropped: Plain
    filled: Plain
    floats: list[str]


def key(settings: Plain) -> str:
    """Return the key under which a training with these settings is filed.

    ``settings`` are those fields of an arm, as plain data, that say what is trained.
    What was recorded before there were defaults keeps its key, as the module's
    docstring says.
    """
    key_as_written = digest(settings)
    recorded = _tables("keys", project.home())  # {} if the book has no such file
    if key_as_written in recorded.get("twice", ()):
        return key_as_written
    canonical_key = digest(resolved(settings))
    return recorded.get("keys", {}).get(canonical_key, canonical_key)


def digest(settings: Plain) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of settings, as they are written.

    So 1 and 1.0 differ; the order of the fields does not count.
    """
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def resolved(settings: Plain) -> Plain:
    """Return the settings of an arm in the one form that keys are made of.

    In specs, defaults are filled in or dropped, as the module's docstring says. Numbers
    are converted everywhere. A field that is absent stays absent.
    """
    canonical = {}
    for field, value in settings.items():
        if field in KINDS:
            canonical[field] = _resolved_specs(KINDS[field], value)
        else:
            canonical[field] = _numbers(value, are_floats=field in FLOATS)
    return canonical


def options(kind: str, name: str, given: Plain) -> Plain:
    """Return the options of a spec, and those that it leaves out at their default.

    ``kind`` is a value of ``KINDS``, ``name`` that of the spec, and ``given`` its
    options. The whole numbers of options in ``floats`` become floats. A spec that the
    file ``defaults`` does not have gets its options back as they are.
    """
    defaults = _defaults(kind, name)
    values = {**defaults.dropped, **defaults.filled, **given}
    for option in {*defaults.floats} & values.keys():
        values[option] = _numbers(values[option], are_floats=True)
    return values


def _defaults(kind: str, name: str) -> _Defaults:
    """Return the tables of a spec in the file ``defaults``.

    A table is empty if the file says nothing of the spec.
    """
    tables = _tables("defaults", project.home())
    spec = f"{kind}/{name}"
    return _Defaults(
        dropped=tables.get("dropped", {}).get(spec, {}),
        filled=tables.get("filled", {}).get(spec, {}),
        floats=tables.get("floats", {}).get(spec, []),
    )


def _resolved_specs(kind: str, value: Any) -> Any:
    """Return the value of a field that holds specs, in the form that keys are made of.

    The value is None, a spec, a list of specs, or a list of an epoch and a spec; None
    and the epoch stay. An option that a spec leaves out gets its default in ``filled``;
    an option that equals its default in ``dropped`` is left out; and those in
    ``floats`` are written as floats.
    """
    if isinstance(value, list):
        return [_resolved_specs(kind, part) for part in value]
    if not isinstance(value, dict):  # None, or an epoch, which is whole
        return value
    defaults = _defaults(kind, value["name"])
    dropped = defaults.dropped
    spec = {o: default for o, default in defaults.filled.items() if o not in value}
    # "name" is treated as an option, and no table has one that is called so
    for option, given in value.items():
        given = _numbers(given, are_floats=option in defaults.floats)
        # compared by repr, as True == 1 == 1.0 (eight times as fast as by JSON)
        if option not in dropped or repr(given) != repr(dropped[option]):
            spec[option] = given
    return spec


def _numbers(value: Any, *, are_floats: bool) -> Any:
    """Return a JSON value with its numbers as floats, or with whole ones as integers.

    Numbers are converted in nested lists too. All else stays: booleans, strings, None,
    and without ``are_floats`` NaN and infinity, which are not whole.
    """
    if isinstance(value, list):
        return [_numbers(part, are_floats=are_floats) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if are_floats:
        return float(value)
    return int(value) if float(value).is_integer() else value


@cache  # of each book that a process reads
def _tables(name: str, home: Path) -> dict[str, Any]:
    """Return the tables in the "defaults" or "keys" file that book/project.yaml names.

    ``name`` is "defaults" or "keys". ``home`` is `project.home`, whose project.yaml
    `project.part` reads; it is an argument for the cache alone. The result is {} if
    project.yaml names no such file. Raises BookError if the file is missing or no JSON.
    """
    file = project.part("settings").get(name)
    if not file:
        return {}
    return project.read_json(home / "book" / file)
