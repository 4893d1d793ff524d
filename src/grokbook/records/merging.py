"""Members trained elsewhere, on another machine or in a cluster, into the records."""

from collections.abc import Iterable
from pathlib import Path

from grokbook.errors import RecordError
from grokbook.experiment import Experiment
from grokbook.records import member
from grokbook.records.record import places, root


def merge(
    folders: Iterable[Path],
    experiments: Iterable[Experiment],
    *,
    into: Path | None = None,
    replace: bool = False,
    dry_run: bool = False,
) -> dict[str, list[Path]]:
    """Copy members; returns which were "added", "replaced" and "kept" as they were.

    One that is there stays, unless ``replace`` and another is offered; of two that are
    offered the first is taken. ``dry_run``: check, and write nothing. RecordError, and
    nothing is done, for one that is damaged or of none of these ``experiments``.
    """
    into = into or root()
    expected = {f for one in experiments for *_, fs in places(one, Path()) for f in fs}
    done: dict[str, list[Path]] = {"added": [], "replaced": [], "kept": []}
    copies: dict[Path, member.Files] = {}
    for folder, path in ((f, path) for f in map(Path, folders) for path in _offered(f)):
        place, about = path.relative_to(folder), member.read(path)[1]
        if place not in expected:
            raise RecordError(
                f"{path} (arm {about['arm']['name']!r}, seed {about['seed']}) is of no "
                "experiment of today: train it with today's code, or take it out; "
                "nothing was merged"
            )
        if place in copies or place in done["kept"]:
            continue
        there = member.read(into / place)[1] if (into / place).exists() else None
        if there and not (replace and there["digest"] != about["digest"]):
            done["kept"].append(place)
            continue
        done["replaced" if there else "added"].append(place)
        files = (path, *member.beside(path, about).values())
        copies[place] = {into / f.relative_to(folder): f.read_bytes() for f in files}
    if not dry_run:
        member.put(copies.values())
    return done


def _offered(folder: Path) -> list[Path]:
    """The rows of the members in a folder; RecordError where there are none."""
    every = sorted(folder.glob("[!.]*/*.parquet"))
    if found := [path for path in every if not path.name.endswith(".trace.parquet")]:
        return found
    raise RecordError(f"{folder} holds no <paper>/<training key>-<seed>.parquet")
