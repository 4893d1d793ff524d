"""Tables that a page draws from its records: settings, arms and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from grokbook.evidence import digest
from grokbook.experiment import Arm, Spec
from grokbook.records import Record

_UNSAID = "not stated"


class Html:
    """A piece of HTML that a notebook shows; its text form is the same in words."""

    def __init__(self, html: str, text: str):
        self.html, self.text = html, text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


Cell = str | Html  # words, which are escaped, or HTML, which is not


def markup(
    head: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, kind: str = "settings"
) -> str:
    """The HTML of a table, the one place that writes it; ``kind`` is its class."""

    def line(cells: Sequence[Cell], tag: str) -> str:
        raw = [c.html if isinstance(c, Html) else escape(c) for c in cells]
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in raw) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table class='{kind}'>{line(head, 'th')}{body}</table>"


def _text(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(" | ".join(row) for row in rows)


def grid(head: list[str], rows: list[list[str]]) -> Html:
    """A small table of plain words, the first line as its head."""
    return Html(markup(head, rows), _text([head, *rows]))


def _folded(title: str, head: list[str], rows: list[list[str]]) -> Html:
    table = markup(head, rows)
    summary = f"<summary>{escape(title)}</summary>"
    return Html(f"<details>{summary}{table}</details>", _text(rows))


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
    found |= _batches(arm)
    found["weights"] = arm.dtype
    if arm.alpha != 1.0:
        found["logits times"] = f"{arm.alpha:g}"
    if arm.init_scale != 1.0:
        found["initial weights times"] = f"{arm.init_scale:g}"
    return found


def _batches(arm: Arm) -> dict[str, str]:
    """How long, on how many rows a step, with which schedule and augmentation."""
    if arm.batch_size is None:
        found = {"epochs (full batch)": f"{arm.epochs:,}"}
        return found | ({"schedule": str(arm.schedule)} if arm.schedule else {})
    return {
        "steps": f"{arm.epochs:,}",
        "batch size": str(arm.batch_size),
        "schedule": str(arm.schedule or "constant"),
        "augmentation": str(arm.augment or "none"),
    }


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
    paper: Mapping[str, str] | None = None,
    code: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Html:
    """Settings as recorded, beside what the paper and its official code say.

    ``paper``, ``code`` and ``notes`` give text by setting name (see ``flat``); what the
    paper does not give reads "not stated". Settings in which arms differ say so and are
    listed by ``arms``. The table is folded: it is long, and the figure matters more.
    """
    paper, name = paper or {}, record.name.split("/")[1]
    ours = {key: _common(values) for key, values in _by_name(record).items()}
    ours["seeds"] = _seeds(record)
    rows = [[key, value, paper.get(key, _UNSAID)] for key, value in ours.items()]
    rows.append(["scale", record.scale, "paper"])
    if record.experiment.reduced:
        rows.append(["reduced", record.experiment.reduced, "—"])
    head = ["Setting", f"Here ({name})", "Paper"]
    for title, given in (("Official code", code), ("Note", notes)):
        if given:
            head.append(title)
            for row in rows:
                row.append(given.get(row[0], ""))
    beside = ", beside the paper's and the official code's"
    title = f"All {len(rows)} settings of {name}"
    return _folded(title + (beside if code else " and the paper's"), head, rows)


def _by_name(record: Record) -> dict[str, list[str]]:
    """What every arm says of each setting that one of them has."""
    every = [flat(arm) for arm in record.experiment.arms]
    names = dict.fromkeys(name for arm in every for name in arm)
    return {name: [arm.get(name, "—") for arm in every] for name in names}


def _common(values: list[str]) -> str:
    return values[0] if len(set(values)) == 1 else "differs by arm"


def arms(record: Record) -> Html:
    """The arms of an experiment, folded: what differs, and the seeds recorded."""
    differing = {k: v for k, v in _by_name(record).items() if len(set(v)) > 1}
    rows = []
    for place, arm in enumerate(record.experiment.arms):
        seeds = ", ".join(map(str, record.seeds(arm.name))) or "none yet"
        rows.append(
            [arm.name, *(values[place] for values in differing.values()), seeds]
        )
    head = ["Arm", *differing, "Seeds recorded"]
    return _folded(f"The {len(rows)} arms and their seeds", head, rows)


def provenance(*found: Record) -> Html:
    """Where the numbers of a page come from, and the command that makes them again."""
    head = ["Record (SHA-256)", "Members", "Device", "Versions", "Commit"]
    head += ["Finished", "Minutes", "Epochs/s", "Made by"]
    return grid(head, [_made(record) for record in found])


def _made(record: Record) -> list[str]:
    about = list(record.members.values())
    rates = sorted(member["epochs_per_second"] for member in about)

    def every(key: str) -> str:
        return ", ".join(sorted({str(member[key]) for member in about}))

    return [
        f"{record.path.name} ({digest(record.path)[:12]})",
        f"{len(about)} ({len(record.missing)} missing)",
        every("device_name"),
        f"torch {every('torch')}, {every('matmul')}",
        every("commit"),
        every("finished"),
        f"{record.seconds / 60:.1f}",
        f"{rates[len(rates) // 2]:.0f}",
        f"grokbook run {record.name} --scale {record.scale}",
    ]
