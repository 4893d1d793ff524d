"""Where the numbers of a page come from, and the command that makes them again."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from grokbook.records import Record
from grokbook.tables.html import Html, folded, grid, markup

HEAD = ("Made by", "Record (SHA-256)", "Members", "Device", "Finished")
DETAILS = ("Record", "Versions", "Commit", "Minutes", "Epochs/s (median)")


def provenance(*found: Record, references: Iterable[Mapping[str, Any]] = ()) -> Html:
    """The records of a page, what made them, and the paper's own points it cites.

    Members are those recorded of those the experiment has. ``references`` are what
    `evidence.cited` says: name, sha256, repository, commit and path. Versions, commits
    and times are folded.
    """
    lines = [_cited(one) for one in references]
    cited = Html("".join(f"<p>{escape(line)}</p>" for line in lines), "\n".join(lines))
    if not found:
        return cited
    rows = [_made(record) for record in found]
    caption = "The records behind this page"
    html = markup(HEAD, rows, caption=caption, hidden=True)
    title = "Versions, commits and times of these records"
    details = folded(title, DETAILS, [_details(record) for record in found])
    parts = [grid(HEAD, rows).text, *lines, details.text]
    return Html(html + cited.html + details.html, "\n".join(parts))


def _made(record: Record) -> Sequence[str]:
    about = list(record.members.values())
    every = len(list(record.experiment.members()))
    dates = sorted({str(member["finished"]) for member in about})
    return (
        f"grokbook run {record.name} --scale {record.scale}",
        f"{_called(record)} ({record.digest[:12]})",
        f"{len(about):,} of {every:,}",
        _distinct(record, "device_name"),
        " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "—",
    )


def _details(record: Record) -> Sequence[str]:
    rates = sorted(m["epochs_per_second"] for m in record.members.values())
    return (
        _called(record),
        f"torch {_distinct(record, 'torch')}; {_distinct(record, 'matmul')}",
        _distinct(record, "commit"),
        f"{record.seconds / 60:,.1f}",
        f"{rates[len(rates) // 2]:,.0f}" if rates else "—",
    )


def _called(record: Record) -> str:
    return f"{record.name.rpartition('/')[2]}.{record.scale}"


def _distinct(record: Record, key: str) -> str:
    """The different values of one entry over the members of a record."""
    return ", ".join(sorted({str(member[key]) for member in record.members.values()}))


def _cited(reference: Mapping[str, Any]) -> str:
    """One line on the paper's own points that a page draws."""
    return (
        f"The paper's own points, {reference['name']} "
        f"(SHA-256 {reference['sha256'][:12]}): {reference['path']} of "
        f"{reference['repository']} at commit {reference['commit'][:12]}."
    )
