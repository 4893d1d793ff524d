"""The status page: when the pages were executed, and what trained their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from book._ext import checks, notebooks
from book._ext.catalogue.entries import Entry, named, plain, table
from grokbook.project import FOLDERS
from grokbook.records import Record

Records = dict[
    str, tuple[str, Record]
]  # by name and scale, with the pages that read it


def status(entries: Sequence[Entry]) -> str:
    """Per paper its records and its pages, after one line that sums all of it up."""
    if not entries:
        return "# Status\n\nNo page is executed yet.\n"
    usual = Counter(_versions(entry) for entry in entries).most_common(1)[0][0]
    read = {paper: _read(entries, paper) for paper in FOLDERS}
    every = [record for found in read.values() for _, record in found.values()]
    lines = [
        "# Status",
        "",
        f"{len(entries)} pages, executed from {len(every)} records. Training them took "
        f"{span(sum(record.seconds for record in every))} in all, the runs added up. "
        "A page itself takes seconds.",
        "",
        f"Pages were executed with {plain(usual)}, unless their row says otherwise.",
        "",
    ]
    for paper in FOLDERS:
        mine = [entry for entry in entries if entry.paper == paper]
        if mine:
            lines += [f"## {named(paper)}", "", *_records(read[paper]), ""]
            lines += [*_pages(mine, usual), ""]
    return "\n".join(lines)


def _read(entries: Sequence[Entry], paper: str) -> Records:
    found: Records = {}
    for entry in entries:
        if entry.paper != paper:
            continue
        for one in notebooks.read_by(entry.id, entry.twin):
            record = checks.stored(one)
            key = f"{record.name} {record.scale}"
            pages = found[key][0] + ", " if key in found else ""
            found[key] = (pages + entry.link(), record)
    return found


def _records(found: Records) -> list[str]:
    """The records of a paper as a folded table, under how long they trained."""
    if not found:
        return ["Its pages read no record: nothing was trained."]
    records = [record for _, record in found.values()]
    runs = sum(len(record.members) for record in records)
    took = span(sum(record.seconds for record in records))
    rows = []
    for pages, record in found.values():
        about = record.members.values()
        cells = [f"`{record.name}`", record.scale, f"{len(about):,}"]
        cells += [span(record.seconds)]
        cells += [_several(about, k) for k in ("device_name", "torch", "finished")]
        rows.append(" | ".join([*cells, pages]))
    head = ["Record", "Scale", "Runs", "Training", "On", "PyTorch", "Finished"]
    title = f"{len(records)} records: {runs:,} runs, {took} of training"
    return _folded(title, table([*head, "Read by"], rows))


def _pages(entries: Sequence[Entry], usual: str) -> list[str]:
    """The pages of a paper as a folded table, under when they were executed."""
    days, rows = set(), []
    for entry in entries:
        run = entry.twin.metadata.get("grokbook", {})
        days.add(str(run.get("executed")))
        other = _versions(entry)
        cells = [entry.link(), str(run.get("executed")), span(run.get("seconds", 0))]
        rows.append(
            " | ".join([*cells, plain(other) if other != usual else "as above"])
        )
    ends = sorted({min(days), max(days)})
    title = f"{len(entries)} pages, executed {' to '.join(ends)}"
    return _folded(title, table(["Page", "Executed", "In", "With"], rows))


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f":::{{dropdown}} {title}", *lines, ":::"]


def _versions(entry: Entry) -> str:
    versions = entry.twin.metadata.get("grokbook", {}).get("versions", {})
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _several(about: Iterable[dict], key: str) -> str:
    """The distinct values of one entry over the members of a record; days as a span."""
    values = sorted({str(member.get(key, "")) for member in about})
    if key == "finished":
        values = sorted({value[:10] for value in values})
        values = [" to ".join(dict.fromkeys([values[0], values[-1]]))]
    return plain(", ".join(values))


def span(seconds: float) -> str:
    """A duration in the unit that a person would use: `45 s`, `12 min`, `3.5 days`."""
    for unit, size in (("days", 86400), ("hours", 3600), ("min", 60)):
        if seconds >= 2 * size:
            value = seconds / size
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{seconds:.0f} s"
