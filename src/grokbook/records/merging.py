"""Members trained elsewhere, on another machine or in a cluster, into the records.

Everything is checked first and written last: whatever does not fit is refused by name,
and then nothing of the whole call is done.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grokbook.errors import RecordError, UnknownName
from grokbook.experiment import Experiment
from grokbook.records import record, table
from grokbook.records.adding import Entry, put, writing
from grokbook.records.beside import SIDES
from grokbook.records.fit import changed, fit
from grokbook.records.lock import locked
from grokbook.records.table import Meta, parts, spoken

Get = Callable[[str, str], Experiment]
Members = tuple[tuple[str, int], ...]  # as (arm, seed)
NOTHING = "nothing was merged"


@dataclass(frozen=True)
class Merged:
    """What became, or in a dry run would become, of one experiment's members."""

    name: str
    scale: str
    added: Members = ()
    replaced: Members = ()
    kept: Members = ()  # already there, and left as they were
    dropped: Members = ()  # recorded with settings that the code no longer has

    def __str__(self) -> str:
        told = [
            f"{len(members)} {what}"
            for what in ("added", "replaced", "kept", "dropped")
            if (members := getattr(self, what))
        ]
        return f"{self.name} {self.scale}: {', '.join(told)}"


@dataclass
class _Offer:
    """What the folders hold of one experiment, by today's members."""

    experiment: Experiment
    entries: dict[str, Entry] = field(default_factory=dict)


def merge(
    folders: Iterable[Path],
    get: Get,
    *,
    into: Path | None = None,
    replace: bool = False,
    names: Collection[str] | None = None,
    dry_run: bool = False,
) -> list[Merged]:
    """Take the members of the records in some folders into the records of ``into``.

    ``get``: today's experiment of a name and a scale, as ``grokbook.papers.get``. A
    member that is already there stays, unless ``replace`` and another is offered; of
    two that the folders offer, the first is taken. ``names``: only these experiments.
    ``dry_run``: check, and write nothing. RecordError, and nothing is done, for a
    record that is foreign, stale or damaged, or that cannot be written, and for one
    of smoke scale where ``into`` is the book's own folder.
    """
    into = into or record.root()
    offers: dict[tuple[str, str], _Offer] = {}
    for folder in folders:
        for path, name, scale in _tables(Path(folder), into):
            if names is None or name in names:
                experiment = _experiment(path, name, scale, into, get)
                offer = offers.setdefault((name, scale), _Offer(experiment))
                offer.entries = _entries(path, experiment) | offer.entries
    for name in names or ():
        if name not in {found for found, _ in offers}:
            raise RecordError(f"no folder holds a record of {name}: {NOTHING}")
    merged = []
    with contextlib.ExitStack() as held:
        for offer in offers.values() if not dry_run else ():
            held.enter_context(locked(offer.experiment, into))
        batch = held.enter_context(writing(into))
        for offer in offers.values():
            path = record.path_of(offer.experiment.name, offer.experiment.scale, into)
            done, new = _plan(offer, path, replace)
            if new and not dry_run:
                put(offer.experiment, path, new, batch)
            merged.append(done)
    return merged


def _tables(folder: Path, into: Path) -> list[tuple[Path, str, str]]:
    """(path, experiment, scale) of each table; RecordError for strangers."""
    if not folder.is_dir() or folder.resolve() == into.resolve():
        what = "the folder of the records itself" if folder.is_dir() else "no folder"
        raise RecordError(f"{folder} is {what}: name one with records to merge")
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts):
            continue  # checkpoints and locks
        table_path = _beside_which(path)
        if table_path and not table_path.exists():
            raise RecordError(
                f"{path} lies there without its table {table_path.name}: delete it or "
                f"add the table; {NOTHING}"
            )
        if path.suffix == ".parquet" and not table_path:
            name, _, scale = inside.with_suffix("").as_posix().rpartition(".")
            found.append((path, name, scale))
    if not found:
        raise RecordError(f"{folder} holds no record <paper>/<name>.<scale>.parquet")
    return found


def _beside_which(path: Path) -> Path | None:
    """The table that a file lies beside, by its ending; None if it is no such file."""
    for side in SIDES:
        if path.name.endswith(side.suffix):
            return path.with_name(path.name.removesuffix(side.suffix) + ".parquet")
    return None


def _experiment(path: Path, name: str, scale: str, into: Path, get: Get) -> Experiment:
    """Today's experiment of a record; RecordError if there is none worth merging."""
    if scale == "smoke" and into.resolve() == record.root().resolve():
        raise RecordError(
            f"{path} is of smoke scale, which is for tests and not for the book: take "
            f"it out, or merge into a folder of its own; {NOTHING}"
        )
    try:
        return get(name, scale)
    except UnknownName as error:
        raise RecordError(
            f"{path} is of no experiment of the book ({error}); {NOTHING}"
        ) from error


def _entries(path: Path, experiment: Experiment) -> dict[str, Entry]:
    """All members of one record, under today's names; RecordError if one is refused."""
    frame, meta = table.read(path)
    name, scale = meta["experiment"]["name"], meta["experiment"]["scale"]
    if (name, scale) != (experiment.name, experiment.scale):
        raise RecordError(
            f"{path} was recorded as {name} at {scale} scale: give it that name again; "
            f"{NOTHING}"
        )
    fits = fit(experiment, meta["members"])
    for key in meta["members"]:
        if key not in fits:
            raise RecordError(
                f"{path} is stale, {changed(experiment, meta, key)} ({spoken(key)}): "
                f"train it with today's code; {NOTHING}"
            )
        if parts(key)[1] not in experiment.seeds:
            raise RecordError(
                f"{path} has {spoken(key)}, a seed that {name} does not plan at "
                f"{scale} scale; {NOTHING}"
            )
    today = record.today(experiment, path, frame, meta, fits)
    sides = {side.name: today.beside(side) for side in SIDES}
    return {
        key: Entry(
            rows,
            today.members[key],
            {name: found[key] for name, found in sides.items() if key in found},
        )
        for key, rows in table.of_members(today.frame)
    }


def _plan(offer: _Offer, path: Path, replace: bool) -> tuple[Merged, dict[str, Entry]]:
    """What becomes of the members offered, and those of them that will be written."""
    there = table.read(path)[1]["members"] if path.exists() else {}
    fits = fit(offer.experiment, there)
    present = {now: there[key] for key, now in fits.items()}
    new = {
        key: entry
        for key, entry in offer.entries.items()
        if key not in present or (replace and _brings(entry, present[key]))
    }
    stay = [there[key] for key, now in fits.items() if now not in new]
    _check_matmul(path, stay, new)

    def members(keys: Iterable[str]) -> Members:
        return tuple(parts(key) for key in keys)

    done = Merged(
        offer.experiment.name,
        offer.experiment.scale,
        added=members(key for key in new if key not in present),
        replaced=members(key for key in new if key in present),
        kept=members(key for key in offer.entries if key not in new),
        dropped=members(key for key in there if new and key not in fits),
    )
    return done, new


def _brings(entry: Entry, about: Meta) -> bool:
    """Whether an entry is more than the rows that are there already."""
    return bool(entry.beside) or entry.about["digest"] != about["digest"]


def _check_matmul(path: Path, stay: list[Meta], new: dict[str, Entry]) -> None:
    """RecordError where CPU members of one record would differ in their library.

    Two libraries round differently, so that arms of one figure could not be compared.
    A record that is mixed already may take in either.
    """
    named = {about.get("matmul") for about in stay if record.on_cpu(about)}
    if len(named) > 1:
        return
    for key, entry in new.items():
        if record.on_cpu(entry.about):
            named.add(entry.about.get("matmul"))
        if len(named) > 1:
            raise RecordError(
                f"{path} would mix the matmul libraries {_and(named)} with "
                f"{spoken(key)}: train it with that of the other CPU members; {NOTHING}"
            )


def _and(names: Collection[str | None]) -> str:
    return " and ".join(sorted(map(str, names)))
