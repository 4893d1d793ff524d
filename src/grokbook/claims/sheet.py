"""The claims of a page: what was registered, judged by the values that it found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pandas import Series

from grokbook.claims import display, registered
from grokbook.claims.claim import (
    BySeed,
    Claim,
    checked,
    in_order,
    median,
    summary,
)
from grokbook.claims.registered import Row
from grokbook.claims.verdict import ENOUGH
from grokbook.errors import PageError
from grokbook.evidence import Run, told
from grokbook.experiment import SCALES
from grokbook.records import Record
from grokbook.tables import Html

Runs: TypeAlias = Run | Sequence[Run]
Exact: TypeAlias = tuple[str, int, int]  # in words; how many points agree, of how many
One: TypeAlias = tuple[Runs, BySeed] | Mapping[Run, BySeed] | Exact
Found: TypeAlias = One | Mapping[str, One]


def read(page: str, found: Mapping[str, Found], **fields: object) -> "Sheet":
    """The claims that claims.yaml lists for a page, judged by the values it found.

    ``found`` has what each row rests on, by its id: the run or the runs with one value
    per seed; for an order the values by run, in the claimed order; for what is exact
    its value in words, how many points agree, and how many there are. Where several
    arms are tested alike it has all of this by name, which fills in ``{each}`` of the
    statement: one line of the table for each. Other ``fields`` fill in other braces.
    A row is no stronger than the smallest record that it rests on. PageError for a row
    without a value, and for a value without a row.
    """
    rows = registered.rows(page)
    wanted = [row.id for row in rows if row.run]
    if lacking := [one for one in wanted if one not in found]:
        raise PageError(f"Page {page} has no value for its row '{lacking[0]}'.")
    if idle := [one for one in found if one not in wanted]:
        raise PageError(f"Page {page} has the value '{idle[0]}', which no row tests.")
    sheet = Sheet(page)
    for row in rows:
        value: Any = found.get(row.id)
        is_each = isinstance(value, Mapping) and not row.order
        if is_each and row.is_bound and not value:
            raise PageError(f"Page {page} tests its row '{row.id}' on nothing.")
        for each, one in value.items() if is_each else [("", value)]:
            sheet.add(_filled(page, row, fields | {"each": each}), one)
    return sheet


def exactly(ours: str, checks: Iterable[bool]) -> Exact:
    """What `read` takes of an exact row: in words, and which of its points agree."""
    agree = [bool(check) for check in checks]
    return ours, sum(agree), len(agree)


def _filled(page: str, row: Row, fields: Mapping[str, object]) -> Row:
    """A row without braces in what is tested."""
    try:
        told = row.tested.format(**fields)
        return replace(row, id=f"{row.id} {fields['each']}".strip(), tested=told)
    except (KeyError, IndexError, ValueError) as error:
        raise PageError(
            f"Page {page} does not fill in its row '{row.id}': {error}."
        ) from error


class Sheet(list[Claim]):
    """The claims of one page, in its order."""

    def __init__(self, page: str):
        super().__init__()
        self.page = page
        self.runs: list[Run] = []
        self.values: dict[str, tuple[Row, BySeed]] = {}

    def add(self, row: Row, found: Any) -> None:
        """One row with what it rests on, see `read`."""
        if not row.run:
            self._append(row)
        elif row.exact:
            ours, held, n = found
            self._append(row, ours=ours, n=n, interval="exact", held=held, exact=True)
        elif row.order:
            self._order(row, found)
        else:
            self.values[row.id] = (row, found[1])
            self._value(row, *found)

    def told(self, name: str, show: str = "") -> str:
        """The value of a row in a sentence, shown as in the table unless told.

        One of several is named by the row and its own name: "at-the-end M+A*".
        """
        row, value = self.values[name]
        return told(Series(value, dtype=float), show or row.show)

    def box(self) -> Html:
        """The verdict box at the head of the page."""
        return display.box(self._told(), self.runs)

    def closing(self, *records: Record) -> Html:
        """What ends a page: its claims, and folded what was run and what it read.

        Records without members are left out, and each is shown once.
        """
        there = {(record.name, record.scale): record for record in records if record}
        return display.closing(self._told(), self.page, list(there.values()))

    def _value(self, row: Row, run: Runs, value: BySeed) -> None:
        """One value per seed: within bounds, or without any a measurement of ours.

        Bounds without words of the paper are a test of ours, reported and not judged.
        No seed at all reads "not run", and says so where the arms were run and none of
        their seeds has a value. A measurement that nobody made is left out.
        """
        runs = self._note(run)
        if not len(value):
            if row.is_bound:
                ran = runs and all(run.seeds for run in runs)
                ours = "no seed is a test" if ran else "—"
                self._append(row, ours=ours, extra=row.extra or not row.says)
            return
        scale = _scale(runs)
        found = checked(row.tested, value, scale)
        ours, interval = summary(found, row.show)
        how: dict[str, Any]
        how = {"ours": ours, "n": len(found), "interval": interval, "scale": scale}
        if row.is_bound:
            held = sum(map(row.holds, found.values()))
            if not row.says:
                how["interval"] += f"; held in {held} of {len(found)}"
                how["extra"] = True
            self._append(row, **how, held=held, why=_why(runs, len(found)))
        else:
            self._append(row, **how, held=len(found), extra=True)

    def _order(self, row: Row, values: Mapping[Run, BySeed]) -> None:
        """Several arms, named by their labels; one without a seed reads "not run"."""
        runs = self._note(list(values))
        if any(not len(value) for value in values.values()):
            self._append(row)
            return
        scale = _scale(runs)
        named = {
            run.label: checked(f"{row.tested} ({run.label})", value, scale)
            for run, value in values.items()
        }
        ours, held, n = in_order(named, open_end=row.open_end, show=row.show)
        if row.open_end and "never" in ours:
            never = "those that never get there may share the last places"
            row = replace(row, tested=f"{row.tested}; {never}")
        how = {"ours": ours, "n": n, "interval": f"in order for {held} of {n}"}
        self._append(row, **how, held=held, scale=scale, why=_why(runs, n))

    def _append(self, row: Row, **found: Any) -> None:
        """A claim of the paper as it came out; without more, one that was not run."""
        how = {"main": row.main, "extra": row.extra} | found
        self.append(Claim(row.tested, row.says, row.where, **how, row=row))

    def _told(self) -> list[Claim]:
        """The claims; where one record is a smoke test, none of them is judged."""
        if any(run.record.scale == "smoke" for run in self.runs):
            return [replace(claim, scale="smoke", why="") for claim in self]
        return list(self)

    def _note(self, run: Runs) -> list[Run]:
        runs = [run] if isinstance(run, Run) else list(run)
        self.runs += [one for one in runs if one not in self.runs]
        return runs


def _scale(runs: Sequence[Run]) -> str:
    """The smallest scale of the records that a claim rests on."""
    return max((run.record.scale for run in runs), key=SCALES.index)


def _why(runs: Sequence[Run], n: int) -> str:
    """For a claim with too few seeds for a verdict: what one more would cost."""
    if n >= ENOUGH:
        return ""
    few = [run for run in runs if len(run.seeds) < ENOUGH]
    return "; ".join(dict.fromkeys(map(_few, few)))


def _few(run: Run) -> str:
    """How many of the planned seeds a run has, and what one costs."""
    record, seeds = run.record, run.seeds
    planned = len(record.experiment.seeds)
    told = f"{run.label or run.arm} ({len(seeds)} of {planned} seeds"
    if not seeds:
        return told + ")"
    minutes = median({seed: _seconds(record, run.arm, seed) for seed in seeds}) / 60
    return f"{told}, {minutes:,.1f} min each)"


def _seconds(record: Record, arm: str, seed: int) -> float:
    return record.members[f"{arm}|{seed}"]["seconds"]
