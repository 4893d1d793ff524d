"""What was trained: the settings of an experiment beside the paper's, and its arms."""

from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml

from grokbook import project
from grokbook.experiment import Arm, Spec
from grokbook.records import Record
from grokbook.tables.html import Html, folded, number

_UNSAID = "not stated"


def trained(record: Record) -> Html:
    """What a record was trained with, folded: `settings` and `arms`.

    What the paper and its official code say of the same is in
    book/<paper>/settings.yaml, by experiment: ``paper``, ``code`` and ``notes``, each
    by setting name (see `flat`).
    """
    paper, name = record.name.split("/")
    path = project.home() / "book" / paper / "settings.yaml"
    said = _stated(path).get(name, {}) if path.is_file() else {}
    parts = settings(record, **said), arms(record)
    html, text = ("\n".join(getattr(p, k) for p in parts) for k in ("html", "text"))
    return Html(html, text)


@cache
def _stated(path: Path) -> dict[str, dict[str, dict[str, str]]]:
    with path.open(encoding="utf-8") as text:
        found: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(text)
    return found


def settings(
    record: Record,
    *,
    paper: Mapping[str, str] | None = None,
    code: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Html:
    """Settings as recorded, beside what the paper and its official code say; folded.

    ``paper``, ``code`` and ``notes`` give text by setting name (see ``flat``); what the
    paper does not give reads "not stated". Settings in which arms differ say so and are
    listed by ``arms``.
    """
    name = _short(record)
    ours = {key: _common(values) for key, values in _by_name(record).items()}
    ours["seeds"], ours["scale"] = _seeds(record), record.scale
    if record.experiment.reduced:
        ours["reduced"] = record.experiment.reduced
    rows = [[key, value] for key, value in ours.items()]
    head = ["Setting", f"Here ({name})"]
    if paper is not None or code is not None:
        known = {"scale": "paper", "reduced": "—"} | dict(paper or {})
        head.append("Paper")
        for row in rows:
            row.append(known.get(row[0], _UNSAID))
    for title, given in (("Official code", code), ("Note", notes)):
        if given:
            head.append(title)
            for row in rows:
                row.append(given.get(row[0], ""))
    title = f"All {len(rows)} settings of {name}"
    title += ", beside the paper's" if "Paper" in head else ""
    title += " and the official code's" if code else ""
    return folded(title, head, rows)


def arms(record: Record) -> Html:
    """The arms that were trained, folded: in what they differ, and their seeds.

    What the experiment plans beyond them is one line under the table.
    """
    trained = _trained(record)
    differing = {k: v for k, v in _by_name(record).items() if len(set(v)) > 1}
    rows = [
        [
            arm.name,
            *(values[place] for values in differing.values()),
            ", ".join(map(str, record.seeds(arm.name))),
        ]
        for place, arm in enumerate(trained)
    ]
    many = len(trained) != 1
    title = f"The {len(trained)} arms" if many else "The arm"
    title += f" of {_short(record)} and {'their' if many else 'its'} seeds"
    table = folded(title, ["Arm", *differing, "Seeds"], rows)
    done = {arm.name for arm in trained}
    rest = [a.name for a in record.experiment.arms if a.name not in done]
    if not rest:
        return table
    count = f"{len(rest)} arms" if len(rest) > 1 else "1 arm"
    are = "are" if len(rest) > 1 else "is"
    line = f"{count} of this experiment {are} not trained yet: {', '.join(rest)}."
    html = table.html.replace("</table>", f"</table><p>{escape(line)}</p>")
    return Html(html, f"{table.text}\n{line}")


def flat(arm: Arm) -> dict[str, str]:
    """One arm's settings as words, by names like "optimizer.lr"."""
    found = {}
    for field in ("dataset", "model", "loss", "optimizer"):
        spec = getattr(arm, field)
        found[field] = spec.name.replace("_", " ")
        for key, value in spec.options.items():
            found[f"{field}.{key}"] = _value(value)
    if arm.wrappers:
        found["gradient"] = "; ".join(_value(w) for w in arm.wrappers)
    if arm.penalties:
        found["penalties"] = "; ".join(_value(p) for p in arm.penalties)
    if arm.later_loss:
        epoch, loss = arm.later_loss
        found["loss from epoch"] = f"{epoch:,}: {_value(loss)}"
    found |= _batches(arm)
    found["weights"] = arm.dtype
    if arm.autocast:
        found["autocast"] = arm.autocast
    if arm.alpha != 1.0:
        found["logits times"] = number(arm.alpha)
    if arm.init_scale != 1.0:
        found["initial weights times"] = number(arm.init_scale)
    return found


def _batches(arm: Arm) -> dict[str, str]:
    """How long, on how many rows a step, with which schedule and augmentation."""
    if arm.batch_size is None:
        found = {"epochs (full batch)": _value(arm.epochs)}
        return found | ({"schedule": _value(arm.schedule)} if arm.schedule else {})
    return {
        "steps": _value(arm.epochs),
        "batch size": _value(arm.batch_size),
        "schedule": _value(arm.schedule or "constant"),
        "augmentation": _value(arm.augment or "none"),
    }


def _value(value: Any) -> str:
    if isinstance(value, Spec):
        told = ", ".join(f"{k}={_value(v)}" for k, v in value.options.items())
        return f"{value.name}({told})"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"  # every digit: it may be larger than `number` shows
    if isinstance(value, float):
        return number(value)
    if isinstance(value, tuple | list):
        return "(" + ", ".join(_value(v) for v in value) + ")"
    return str(value)


def _short(record: Record) -> str:
    """What a page calls an experiment: `fig16`."""
    return record.name.split("/")[1]


def _trained(record: Record) -> list[Arm]:
    """The arms that have a seed."""
    return [arm for arm in record.experiment.arms if record.seeds(arm.name)]


def _by_name(record: Record) -> dict[str, list[str]]:
    """What every trained arm says of each setting that one of them has."""
    every = [flat(arm) for arm in _trained(record)]
    names = dict.fromkeys(name for arm in every for name in arm)
    return {name: [arm.get(name, "—") for arm in every] for name in names}


def _common(values: list[str]) -> str:
    return values[0] if len(set(values)) == 1 else "differs by arm"


def _seeds(record: Record) -> str:
    """How many seeds, and which: those that some arm has, of those planned."""
    done = {seed for arm in record.experiment.arms for seed in record.seeds(arm.name)}
    planned = record.experiment.seeds
    there = [str(seed) for seed in planned if seed in done]
    of = "" if len(there) == len(planned) else f" of {len(planned)}"
    return f"{len(there)}{of}" + (f": {', '.join(there)}" if there else "")
