"""What was trained: the settings of an experiment beside the paper's, and its arms."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pandas import DataFrame

from grokbook import project
from grokbook.experiment import Arm, Spec
from grokbook.records import Record
from grokbook.tables.html import Html, folded, joined, number


def trained(record: Record) -> Html:
    """What a record was trained with, folded: `settings` and `arms`.

    What the paper and its official code say of the same is in
    book/<paper>/settings.yaml, by experiment: ``paper``, ``code`` and ``notes``, each
    by setting name (see `flat`).
    """
    paper, name = record.name.split("/")
    said = _stated(project.home() / "book" / paper / "settings.yaml").get(name, {})
    return joined(settings(record, **said), arms(record))


def stated(page: str) -> list[list[str]]:
    """Every setting that a page "<paper>/<id>" lists, from the same file.

    One row each: its name, the paper's words (none: it does not say), their place, and
    what is run here. Between the last two may stand what a public code has.
    """
    paper, name = page.split("/")
    path = project.home() / "book" / paper / "settings.yaml"
    found: list[list[str]] = _stated(path)[name]["list"]
    return found


@cache
def _stated(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8") as text:
        found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found


def settings(
    record: Record,
    *,
    paper: Mapping[str, str] | None = None,
    code: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Html:
    """Settings as recorded, beside what the paper and its official code say; folded.

    What the paper does not give reads "not stated"; without any of its settings there
    is no column for them. Settings in which arms differ say so, see `arms`.
    """
    every, name = _by_arm(record), _short(record)
    same = every.nunique(axis=1) == 1
    ours = dict(
        every.apply(lambda row: row.iloc[0], axis=1).where(same, "differs by arm")
    )
    ours |= {"seeds": _seeds(record), "scale": record.scale}
    known = {"scale": "paper"} | dict(paper or {})
    if record.experiment.reduced:
        ours["reduced"], known["reduced"] = record.experiment.reduced, "—"
    table, title = {f"Here ({name})": ours}, f"All {len(ours)} settings of {name}"
    if paper is not None or code is not None:
        table["Paper"] = {key: known.get(key, "not stated") for key in ours}
        title += ", beside the paper's" + " and the official code's" * bool(code)
    for head, given in (("Official code", code), ("Note", notes)):
        if given:
            table[head] = {key: given.get(key, "") for key in ours}
    rows = [[key, *(column[key] for column in table.values())] for key in ours]
    return folded(title, ["Setting", *table], rows)


def arms(record: Record) -> Html:
    """The arms that were trained, folded: in what they differ, and their seeds.

    What the experiment plans beyond them is one line under the table.
    """
    every = _by_arm(record)
    differing = every[every.nunique(axis=1) > 1]
    rows = [
        [name, *values, ", ".join(map(str, record.seeds(name)))]
        for name, values in differing.items()
    ]
    one = len(rows) == 1
    title = "The arm" if one else f"The {len(rows)} arms"
    title += f" of {_short(record)} and {'its' if one else 'their'} seeds"
    rest = [a.name for a in record.experiment.arms if a.name not in every]
    line = ""
    if rest:
        count = "1 arm of this experiment is" if len(rest) == 1 else ""
        count = count or f"{len(rest)} arms of this experiment are"
        line = f"{count} not trained yet: {', '.join(rest)}."
    return folded(title, ["Arm", *differing.index, "Seeds"], rows, below=line)


def flat(arm: Arm) -> dict[str, str]:
    """One arm's settings as words, by names like "optimizer.lr"."""
    found = {}
    for field in ("dataset", "model", "loss", "optimizer"):
        spec = getattr(arm, field)
        found[field] = spec.name.replace("_", " ")
        found |= {f"{field}.{key}": _value(v) for key, v in spec.options.items()}
    if arm.wrappers:
        found["gradient"] = "; ".join(_value(w) for w in arm.wrappers)
    if arm.penalties:
        found["penalties"] = "; ".join(_value(p) for p in arm.penalties)
    if arm.later_loss:
        epoch, loss = arm.later_loss
        found["loss from epoch"] = f"{epoch:,}: {_value(loss)}"
    if arm.batch_size is None:
        found["epochs (full batch)"] = _value(arm.epochs)
        if arm.schedule:
            found["schedule"] = _value(arm.schedule)
    else:
        found["steps"], found["batch size"] = _value(arm.epochs), _value(arm.batch_size)
        found["schedule"] = _value(arm.schedule or "constant")
        found["augmentation"] = _value(arm.augment or "none")
    found["weights"] = arm.dtype
    if arm.autocast:
        found["autocast"] = arm.autocast
    if arm.alpha != 1.0:
        found["logits times"] = number(arm.alpha)
    if arm.init_scale != 1.0:
        found["initial weights times"] = number(arm.init_scale)
    return found


def _value(value: Any) -> str:
    if isinstance(value, Spec):
        told = ", ".join(f"{k}={_value(v)}" for k, v in value.options.items())
        return f"{value.name}({told})"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(_value(v) for v in value) + ")"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"  # every digit: it may be larger than `number` shows
    return number(value) if isinstance(value, float) else str(value)


def _short(record: Record) -> str:
    """What a page calls an experiment: `fig16`."""
    return record.name.split("/")[1]


def _by_arm(record: Record) -> DataFrame:
    """Settings down, the arms that have a seed across; a dash where one has none."""
    trained = [arm for arm in record.experiment.arms if record.seeds(arm.name)]
    told = {arm.name: flat(arm) for arm in trained}
    names = dict.fromkeys(name for one in told.values() for name in one)
    return DataFrame(told, index=list(names)).fillna("—")


def _seeds(record: Record) -> str:
    """How many seeds, and which: those that some arm has, of those planned."""
    done = {seed for arm in record.experiment.arms for seed in record.seeds(arm.name)}
    planned = record.experiment.seeds
    there = [str(seed) for seed in planned if seed in done]
    of = "" if len(there) == len(planned) else f" of {len(planned)}"
    return f"{len(there)}{of}" + (f": {', '.join(there)}" if there else "")
