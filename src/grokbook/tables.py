"""Tables that a page draws from its records: settings, arms and provenance."""

import hashlib
from html import escape
from typing import Any

from grokbook.experiment import Arm, Spec
from grokbook.records import Record

_UNSAID = "not stated"


class Html:
    """A piece of HTML that a notebook shows; its text form is the same in words."""

    def __init__(self, html: str, text: str):
        self.html, self.text = html, text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def grid(head: list[str], rows: list[list[str]]) -> Html:
    """A small table of plain words, the first line as its head."""
    text = "\n".join(" | ".join(row) for row in [head, *rows])
    return Html(_table([escape(word) for word in head], rows), text)


def _table(head: list[str], rows: list[list[str]], kind: str = "settings") -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line([escape(c) for c in row], "td") for row in rows)
    return f"<table class='{kind}'>{line(head, 'th')}{body}</table>"


def _folded(title: str, table: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{table}</details>"


def _value(value: Any) -> str:
    if isinstance(value, Spec):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(_value(v) for v in value) + ")"
    return str(value)


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
        found["loss from epoch"] = f"{epoch}: {_value(loss)}"
    if arm.eval_batch is None:
        found["epochs (full batch)"] = f"{arm.epochs:,}"
    else:
        found["steps"] = f"{arm.epochs:,}"
        found["batch size"] = str(arm.batch_size)
        found["schedule"] = str(arm.schedule or "constant")
        found["augmentation"] = str(arm.augment or "none")
    found["weights"] = arm.dtype
    if arm.alpha != 1.0:
        found["logits times"] = f"{arm.alpha:g}"
    if arm.init_scale != 1.0:
        found["initial weights times"] = f"{arm.init_scale:g}"
    return found


def _seeds(record: Record) -> str:
    """The seeds that some arm has, and which of the planned ones none has yet."""
    done = {seed for arm in record.experiment.arms for seed in record.seeds(arm.name)}
    parts = [
        ", ".join(str(s) for s in record.experiment.seeds if (s in done) == is_done)
        for is_done in (True, False)
    ]
    return parts[0] + (f" (planned: {parts[1]})" if parts[1] else "")


def settings(
    record: Record,
    *,
    paper: dict[str, str] | None = None,
    code: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
) -> Html:
    """Settings as recorded, beside what the paper and its official code say.

    ``paper``, ``code`` and ``notes`` give text by setting name (see ``flat``); what the
    paper does not give reads "not stated". Settings in which arms differ say so and are
    listed by ``arms``. The table is folded: it is long, and the figure matters more.
    """
    paper, code, notes = paper or {}, code or {}, notes or {}
    every = [flat(arm) for arm in record.experiment.arms]
    names = list(dict.fromkeys(name for arm in every for name in arm))
    rows = []
    for name in names:
        found = list(dict.fromkeys(arm.get(name, "—") for arm in every))
        ours = found[0] if len(found) == 1 else "differs by arm"
        rows.append([name, ours, paper.get(name, _UNSAID)])
    rows.append(
        [
            "seeds",
            _seeds(record),
            paper.get("seeds", _UNSAID),
        ]
    )
    rows.append(["scale", record.scale, "paper"])
    if record.experiment.reduced:
        rows.append(["reduced", record.experiment.reduced, "—"])
    head = ["Setting", f"Here ({record.name.split('/')[1]})", "Paper"]
    for title, given in (("Official code", code), ("Note", notes)):
        if given:
            head.append(title)
            for row in rows:
                row.append(given.get(row[0], ""))
    text = "\n".join(" | ".join(row) for row in rows)
    title = f"All {len(rows)} settings of {record.name.split('/')[1]}"
    title += (
        ", beside the paper's and the official code's" if code else " and the paper's"
    )
    return Html(_folded(title, _table(head, rows)), text)


def arms(record: Record) -> Html:
    """The arms of an experiment, folded: what differs, and the seeds recorded."""
    every = {arm.name: flat(arm) for arm in record.experiment.arms}
    names = list(dict.fromkeys(name for arm in every.values() for name in arm))
    differing = [n for n in names if len({arm.get(n) for arm in every.values()}) > 1]
    rows = []
    for arm, values in every.items():
        seeds = ", ".join(map(str, record.seeds(arm))) or "none yet"
        rows.append([arm, *(values.get(n, "—") for n in differing), seeds])
    head = ["Arm", *differing, "Seeds recorded"]
    text = "\n".join(" | ".join(row) for row in rows)
    return Html(
        _folded(f"The {len(rows)} arms and their seeds", _table(head, rows)), text
    )


def provenance(*found: Record) -> Html:
    """Where the numbers of a page come from, and the command that makes them again."""
    rows = []
    for record in found:
        about = list(record.members.values())
        digest = hashlib.sha256(record.path.read_bytes()).hexdigest()[:12]

        def every(key: str, about=about) -> str:
            return ", ".join(sorted({str(member[key]) for member in about}))

        rates = sorted(member["epochs_per_second"] for member in about)
        rows.append(
            [
                f"{record.path.name} ({digest})",
                f"{len(about)} ({len(record.missing)} missing)",
                every("device_name"),
                f"torch {every('torch')}, {every('matmul')}",
                every("commit"),
                every("finished"),
                f"{record.seconds / 60:.1f}",
                f"{rates[len(rates) // 2]:.0f}",
                f"grokbook run {record.name} --scale {record.scale}",
            ]
        )
    head = [
        "Record (SHA-256)",
        "Members",
        "Device",
        "Versions",
        "Commit",
        "Finished",
        "Minutes",
        "Epochs/s",
        "Made by",
    ]
    return Html(_table(head, rows), "\n".join(" | ".join(row) for row in rows))
