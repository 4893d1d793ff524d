"""What was trained, beside what the paper says, and where the numbers come from."""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from pandas import DataFrame

from claimbook import project
from claimbook.errors import check_type, choose
from claimbook.experiment import Arm, Spec
from claimbook.records import Record
from claimbook.tables.html import Html, folded, grid, joined, line, number

# The heads of the cells that `_provenance_cells` returns.
SHOWN_HEADS = ["Made by", "Record (SHA-256)", "Members", "Device", "Finished"]
FOLDED_HEADS = ["Record", "Versions", "Commit", "Minutes", "Epochs/s (median)"]
# Entries of the metadata of which the distinct values are listed.
DISTINCT = ("finished", "device_name", "torch", "matmul", "commit")
STATED = {  # what settings.yaml may say of a page
    "list": list[list[str]],
    "paper": dict[str, str],
    "code": dict[str, str],
    "notes": dict[str, str],
}
CITED = "The paper's own points, {name} (SHA-256 {sha256:.12}): {path} of {repository} "
CITED += "at commit {commit:.12}."


def page_entries(page: str, stem: str) -> dict[str, Any]:
    """Return what book/<paper>/<stem>.yaml says of a page "<paper>/<id>".

    ``stem`` is "claims", "settings" or "measurements". The result is a copy, and empty
    if the file is missing or does not list the page. Raises BookError if the file
    cannot be read, or says something of the page that is no dict.
    """
    paper, name = page.split("/")
    path = project.home() / "book" / paper / f"{stem}.yaml"
    entry: dict[str, Any] = project.read_yaml(path).get(name, {})
    check_type(f"{path}, page {name}", entry, dict)
    return deepcopy(entry)  # what `read_yaml` returns is cached


def settings_of(page: str) -> dict[str, Any]:
    """Return what settings.yaml says of a page "<paper>/<id>", by keys of ``STATED``.

    It is empty if the file says nothing. Raises UnknownName for a wrong key, and
    BookError for a value of a wrong type.
    """
    settings = page_entries(page, "settings")
    paper, name = page.split("/")
    where = f"book/{paper}/settings.yaml, page {name}"
    for key, part in settings.items():
        kind = choose(f"key in {where}:", key, STATED)
        check_type(f"{where}, {key}", part, kind)
    return settings


def stated(page: str) -> list[list[str]]:
    """Return the rows of a table of settings in a paper, from settings.yaml.

    They are its "list" for a page "<paper>/<id>" about such a table. The cells of a row
    are the setting's name, the paper's words ("" if it states nothing), where the paper
    has them, on some pages the value in a public code, and the value that is run here.
    Raises KeyError for a page without such a list.
    """
    return list(settings_of(page)["list"])


def reduced_length(record: Record, arm: str) -> str:
    """Return how much shorter an arm was trained than the paper states, or "".

    For example "40,000 of 100,000 steps". The length of the paper's training is the
    number at the start of what settings.yaml says of it; if the paper states none, that
    of its official code counts. The result is "" if the arm is not shorter, or if
    neither states a length. Raises KeyError for an unknown arm.
    """
    settings = settings_of(record.name)
    epochs = record.experiment.arm(arm).epochs
    for source in ("paper", "code"):
        for setting in ("epochs (full batch)", "steps"):
            words = settings.get(source, {}).get(setting, "")
            match = re.match(r"(\d[\d,]*)( steps)?", words)
            if match:
                full = int(match[1].replace(",", ""))
                unit = "steps" if setting == "steps" or match[2] else "epochs"
                return f"{epochs:,} of {full:,} {unit}" if epochs < full else ""
    return ""


def training_tables(record: Record) -> Html:
    """Return two folded tables of what a record was trained with: settings, arms.

    The first has each setting by its name (see `settings_in_words`), with what
    settings.yaml says that the paper and its official code have, and with notes. The
    second has the settings in which the arms differ, and the seeds of each. Raises
    IndexError for a record without a member.
    """
    trained = [arm for arm in record.experiment.arms if record.seeds(arm.name)]
    # a row per setting, a column per trained arm
    settings = DataFrame({arm.name: settings_in_words(arm) for arm in trained})
    settings = settings.fillna("—")  # what an arm does not use
    is_shared = settings.nunique(axis=1) == 1  # by setting
    # where all are equal, those of the first arm are those of all
    common = settings.iloc[:, 0].where(is_shared, "differs by arm")
    settings_table = _settings_table(record, common.to_dict())
    return joined(settings_table, _arms_table(record, settings[~is_shared]))


def _settings_table(record: Record, values: dict[str, str]) -> Html:
    """Return the settings of this book next to those of settings.yaml, folded.

    ``values`` has this book's by name, as text that says "differs by arm" where arms
    do; seeds, scale and reductions are added to it. For the paper, a setting of which
    settings.yaml has nothing is "not stated". What it says of other settings is left
    out.
    """
    experiment, noted = record.experiment, settings_of(record.name)
    _, _, page = record.name.partition("/")
    recorded = {seed for arm in experiment.arms for seed in record.seeds(arm.name)}
    seeds = [str(seed) for seed in experiment.seeds if seed in recorded]
    count = f"{len(seeds)}"
    if len(seeds) < len(experiment.seeds):
        count += f" of {len(experiment.seeds)}"
    values |= {"seeds": f"{count}: {', '.join(seeds)}", "scale": record.scale}
    if experiment.reduced:
        values["reduced"] = experiment.reduced
    columns = {f"Here ({page})": values}  # by head, values by setting
    title = f"All {len(values)} settings of {page}"
    if {"paper", "code"} & noted.keys():
        paper = {"scale": "paper", "reduced": "—"} | noted.get("paper", {})
        columns["Paper"] = {key: paper.get(key, "not stated") for key in values}
        title += ", beside the paper's"
        if "code" in noted:
            title += " and the official code's"
    for head, part in (("Official code", "code"), ("Note", "notes")):
        if part in noted:
            columns[head] = noted[part]
    rows = [
        [key, *(column.get(key, "") for column in columns.values())] for key in values
    ]
    return folded(title, ["Setting", *columns], rows)


def _arms_table(record: Record, differing: DataFrame) -> Html:
    """Return the trained arms with the settings in which they differ, folded.

    ``differing`` has a row per such setting and a column per trained arm. The other
    arms of the experiment, which have no seeds yet, are named below the table.
    """
    _, _, page = record.name.partition("/")
    rows = [
        [arm, *values, ", ".join(map(str, record.seeds(arm)))]
        for arm, values in differing.items()
    ]
    title = f"The {len(rows)} arms of {page} and their seeds"
    if len(rows) == 1:
        title = f"The arm of {page} and its seeds"
    arms = record.experiment.arms
    untrained = [arm.name for arm in arms if arm.name not in differing]
    below = ""
    if untrained:
        subject = "arm of this experiment is"
        if len(untrained) > 1:
            subject = "arms of this experiment are"
        below = f"{len(untrained)} {subject} not trained yet: {', '.join(untrained)}."
    return folded(title, ["Arm", *differing.index, "Seeds"], rows, below=below)


def provenance(*records: Record, references: Iterable[Mapping[str, Any]] = ()) -> Html:
    """Return which records a page reads, what made them, and which points it cites.

    ``references`` are the papers' own points, as `evidence.cited` returns them.
    Versions and times of the records are folded. Without any record or reference the
    result is empty. Raises IndexError for a record without a member.
    """
    citations = [line(CITED.format(**reference)) for reference in references]
    if not records:
        return joined(*citations, by="")
    rows = [_provenance_cells(record) for record in records]
    shown_rows, folded_rows = zip(*rows, strict=True)
    caption = "The records behind this page"
    main_table = grid(SHOWN_HEADS, shown_rows, caption=caption, hidden=True)
    title = "Versions, commits and times of these records"
    details = folded(title, FOLDED_HEADS, folded_rows)
    return joined(main_table, *citations, details, by="")


def _provenance_cells(record: Record) -> tuple[list[str], list[str]]:
    """Return the cells of a record under ``SHOWN_HEADS``, and under ``FOLDED_HEADS``.

    Raises IndexError if it has no member.
    """
    members = list(record.members.values())
    distinct = {key: sorted({member[key] for member in members}) for key in DISTINCT}
    listed = {key: ", ".join(map(str, values)) for key, values in distinct.items()}
    _, _, page = record.name.partition("/")
    name = f"{page}.{record.scale}"
    dates = distinct["finished"]
    finished = dates[0]
    if len(dates) > 1:
        finished += f" to {dates[-1]}"
    all_count = len(list(record.experiment.members()))
    count_words = f"{len(members):,} of {all_count:,}"
    if uncommitted_count := sum(member["uncommitted"] for member in members):
        count_words += "; trained by uncommitted code: "
        count_words += f"{uncommitted_count} of {len(members)} members"
    # of an even number of members the higher of the two in the middle is shown
    rates = sorted(member["epochs_per_second"] for member in members)
    shown_cells = [
        f"grokbook run {record.name} --scale {record.scale}",
        f"{name} ({record.digest[:12]})",
        count_words,
        listed["device_name"],
        finished,
    ]
    folded_cells = [
        name,
        f"torch {listed['torch']}; {listed['matmul']}",
        listed["commit"],
        f"{record.seconds / 60:,.1f}",
        f"{rates[len(rates) // 2]:,.0f}",
    ]
    return shown_cells, folded_cells


def settings_in_words(arm: Arm) -> dict[str, str]:
    """Return the settings of an arm in words, by names such as "optimizer.lr".

    Settings that an arm does not use, such as penalties or a factor of 1, are left out,
    and so are options that a spec does not give; an arm with batches says its schedule
    and augmentation in any case. Where a training may stop early is not among them.
    """
    settings = {}
    # names are written as words: "stablemax cross entropy"
    for part in ("dataset", "model", "loss", "optimizer"):
        spec = getattr(arm, part)
        settings[part] = spec.name.replace("_", " ")
        settings |= {f"{part}.{key}": _as_text(v) for key, v in spec.options.items()}
    is_full_batch = arm.batch_size is None
    later = arm.later_loss
    others = {
        "gradient": "; ".join(map(_as_text, arm.wrappers)),
        "penalties": "; ".join(map(_as_text, arm.penalties)),
        "loss from epoch": f"{later.epoch:,}: {_as_text(later.loss)}" if later else "",
        "epochs (full batch)" if is_full_batch else "steps": _as_text(arm.epochs),
        "batch size": "" if is_full_batch else _as_text(arm.batch_size),
        "schedule": _as_text(arm.schedule or ("" if is_full_batch else "constant")),
        "augmentation": _as_text(arm.augment or ("" if is_full_batch else "none")),
        "weights": arm.dtype,
        "autocast": arm.autocast or "",
        "logits times": "" if arm.alpha == 1 else number(arm.alpha),
        "initial weights times": "" if arm.init_scale == 1 else number(arm.init_scale),
    }
    return settings | {name: words for name, words in others.items() if words}


def _as_text(value: Any) -> str:
    """Return a value of an option as text; a spec is written as "name(key=value)"."""
    if isinstance(value, Spec):
        options = ", ".join(f"{k}={_as_text(v)}" for k, v in value.options.items())
        return f"{value.name}({options})"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_as_text, value)) + ")"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"  # every digit, whereas `number` shows six alone
    return number(value) if isinstance(value, float) else str(value)
