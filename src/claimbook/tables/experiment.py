"""What was trained, beside what the paper says, and where the numbers come from."""

import re
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

import yaml
from pandas import DataFrame

from claimbook import project
from claimbook.errors import choose
from claimbook.experiment import Arm, Spec
from claimbook.records import Record
from claimbook.tables.html import Html, folded, grid, joined, line, number

MADE = ["Made by", "Record (SHA-256)", "Members", "Device", "Finished"]
MADE += ["Record", "Versions", "Commit", "Minutes", "Epochs/s (median)"]
DISTINCT = ("finished", "device_name", "torch", "matmul", "commit")
STATED = ("list", "paper", "code", "notes")  # what settings.yaml may say of a page
CITED = "The paper's own points, {name} (SHA-256 {sha256:.12}): {path} of {repository} "
CITED += "at commit {commit:.12}."


def noted(page: str, what: str) -> dict[str, Any]:
    """What book/<paper>/<what>.yaml, "claims" or "settings", says of <paper>/<id>."""
    paper, name = page.split("/")
    path = project.home() / "book" / paper / f"{what}.yaml"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return deepcopy(parsed(text).get(name, {}))


@lru_cache(maxsize=16)
def parsed(text: str) -> dict[str, Any]:
    return yaml.load(text, yaml.CSafeLoader) or {}  # ten times as fast as SafeLoader


def check_keys(
    page: str, what: str, keys: Iterable[str], known: Collection[str], row: str = ""
) -> None:
    """UnknownName, with file, page and row, for a key that `noted` must not find."""
    paper, name = page.split("/")
    where = f"book/{paper}/{what}.yaml, page {name}"
    if row:
        where += f", row '{row}'"
    for key in keys:
        choose(f"key in {where}:", key, known)


def settings_of(page: str) -> dict[str, Any]:
    """What settings.yaml says of a page; UnknownName for a key of no use."""
    said = noted(page, "settings")
    check_keys(page, "settings", said, STATED)
    return said


def stated(page: str) -> list[list[str]]:
    """Every setting that a page "<paper>/<id>" lists, from settings.yaml.

    One row each: its name, the paper's words (none: it does not say), their place, what
    a public code has (not all), and what is run here.
    """
    return list(settings_of(page)["list"])


def shorter(record: Record, arm: str) -> str:
    """ "40,000 of 100,000 steps": how long an arm was trained, where the paper, or else
    its official code, states more; "" where it does not."""
    said = noted(record.name, "settings")
    ours = record.experiment.arm(arm).epochs
    for source in ("paper", "code"):
        for setting in ("epochs (full batch)", "steps"):
            words = said.get(source, {}).get(setting, "")
            stated = re.match(r"(\d[\d,]*)( steps)?", words)
            if stated:
                theirs = int(stated[1].replace(",", ""))
                unit = "steps" if setting == "steps" or stated[2] else "epochs"
                return f"{ours:,} of {theirs:,} {unit}" if ours < theirs else ""
    return ""


def trained(record: Record) -> Html:
    """What a record was trained with, in two folded tables: settings, then arms.

    Settings stand beside what settings.yaml says that the ``paper`` and its official
    ``code`` have, with ``notes``, each by setting name (see `flat`).
    """
    name, plan = record.name.partition("/")[2], record.experiment
    seeds = {arm.name: s for arm in plan.arms if (s := record.seeds(arm.name))}
    every = DataFrame({arm: flat(plan.arm(arm)) for arm in seeds}).fillna("—")
    same = every.nunique(axis=1) == 1
    done = [str(s) for s in plan.seeds if any(s in some for some in seeds.values())]
    of = "" if len(done) == len(plan.seeds) else f" of {len(plan.seeds)}"
    ours = every.iloc[:, 0].where(same, "differs by arm").to_dict()
    ours |= {"seeds": f"{len(done)}{of}: {', '.join(done)}", "scale": record.scale}
    ours |= {"reduced": plan.reduced} if plan.reduced else {}
    settings = _beside(name, ours, settings_of(record.name))

    differ = every[~same].items()
    rows = [[arm, *values, ", ".join(map(str, seeds[arm]))] for arm, values in differ]
    arms = "arm" if len(rows) == 1 else f"{len(rows)} arms"
    title = f"The {arms} of {name} and {'its' if len(rows) == 1 else 'their'} seeds"
    rest = [arm.name for arm in plan.arms if arm.name not in seeds]
    are = " of this experiment is" if len(rest) == 1 else "s of this experiment are"
    below = f"{len(rest)} arm{are} not trained yet: {', '.join(rest)}." if rest else ""
    head = ["Arm", *every[~same].index, "Seeds"]
    return joined(settings, folded(title, head, rows, below=below))


def _beside(name: str, ours: dict[str, str], said: dict[str, dict[str, str]]) -> Html:
    columns, title = {f"Here ({name})": ours}, f"All {len(ours)} settings of {name}"
    if {"paper", "code"} & said.keys():
        known = {"scale": "paper", "reduced": "—"} | said.get("paper", {})
        columns["Paper"] = {key: known.get(key, "not stated") for key in ours}
        title += ", beside the paper's" + " and the official code's" * ("code" in said)
    for head, given in (("Official code", "code"), ("Note", "notes")):
        columns |= {head: said[given]} if given in said else {}
    rows = [[key, *(one.get(key, "") for one in columns.values())] for key in ours]
    return folded(title, ["Setting", *columns], rows)


def provenance(*found: Record, references: Iterable[Mapping[str, Any]] = ()) -> Html:
    """The records of a page, what made them, and the paper's own points it cites.

    ``references`` are what `evidence.cited` says. Versions and times are folded.
    """
    cited = [line(CITED.format(**one)) for one in references]
    if not (rows := [*map(_made, found)]):
        return joined(*cited, by="")
    caption = "The records behind this page"
    made = grid(MADE[:5], [row[:5] for row in rows], caption=caption, hidden=True)
    title = "Versions, commits and times of these records"
    details = folded(title, MADE[5:], [row[5:] for row in rows])
    return joined(made, *cited, details, by="")


def _made(record: Record) -> list[str]:
    about = list(record.members.values())
    found = {key: sorted({one[key] for one in about}) for key in DISTINCT}
    told = {key: ", ".join(map(str, values)) for key, values in found.items()}
    called = f"{record.name.rpartition('/')[2]}.{record.scale}"
    dates, rates = found["finished"], sorted(one["epochs_per_second"] for one in about)
    by = sum(one["uncommitted"] for one in about)
    changed = f"; trained by uncommitted code: {by} of {len(about)} members" * (by > 0)
    return [
        f"grokbook run {record.name} --scale {record.scale}",
        f"{called} ({record.digest[:12]})",
        f"{len(about):,} of {len(list(record.experiment.members())):,}{changed}",
        told["device_name"],
        " to ".join(dict.fromkeys([dates[0], dates[-1]])),
        called,
        f"torch {told['torch']}; {told['matmul']}",
        told["commit"],
        f"{record.seconds / 60:,.1f}",
        f"{rates[len(rates) // 2]:,.0f}",
    ]


def flat(arm: Arm) -> dict[str, str]:
    """One arm's settings as words, by names like "optimizer.lr"."""
    found = {}
    for part in ("dataset", "model", "loss", "optimizer"):
        spec = getattr(arm, part)
        found[part] = spec.name.replace("_", " ")
        found |= {f"{part}.{key}": _value(v) for key, v in spec.options.items()}
    full, later = arm.batch_size is None, arm.later_loss
    rest = {
        "gradient": "; ".join(map(_value, arm.wrappers)),
        "penalties": "; ".join(map(_value, arm.penalties)),
        "loss from epoch": f"{later[0]:,}: {_value(later[1])}" if later else "",
        "epochs (full batch)" if full else "steps": _value(arm.epochs),
        "batch size": "" if full else _value(arm.batch_size),
        "schedule": _value(arm.schedule or ("" if full else "constant")),
        "augmentation": "" if full else _value(arm.augment or "none"),
        "weights": arm.dtype,
        "autocast": arm.autocast or "",
        "logits times": "" if arm.alpha == 1 else number(arm.alpha),
        "initial weights times": "" if arm.init_scale == 1 else number(arm.init_scale),
    }
    return found | {key: value for key, value in rest.items() if value}


def _value(value: Any) -> str:
    if isinstance(value, Spec):
        told = ", ".join(f"{k}={_value(v)}" for k, v in value.options.items())
        return f"{value.name}({told})"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_value, value)) + ")"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"  # every digit: it may be larger than `number` shows
    return number(value) if isinstance(value, float) else str(value)
