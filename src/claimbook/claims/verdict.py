"""One claim: as book/<paper>/claims.yaml registers it, what came of it, its verdict.

An entry stands there before the runs, by page and then by a short id. Git dates it. One
that was exchanged after its result says in ``was`` what was planned, what that gives,
and why it is not the test any more.

A claim is judged seed by seed. Its value is the median over seeds, its interval their
range, which covers the median of all possible seeds with probability 1 - 2^(1-n): 94 %
for five seeds, 75 % for three. A crossing that never happens is infinite.
"""

import datetime
import hashlib
import math
import statistics
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from html import escape
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

import numpy as np
from pandas import DataFrame, Series

from claimbook.errors import PageError
from claimbook.evidence import Run, joined, words
from claimbook.experiment import SCALES
from claimbook.tables import check_keys, noted, shorter

BySeed: TypeAlias = Mapping[int, float] | Series

WORDS = ("holds", "mixed", "fails")  # in every seed, in some, in none
# What is no verdict: runs exist and none of their seeds can test the claim; it is true
# of any network; nobody has trained it.
CANNOT_TELL, BY_CONSTRUCTION, NOT_RUN = "cannot tell", "by construction", "not run"
ENOUGH = 3  # seeds of a verdict
FEW = ("", "one seed", "two seeds")
YES_OR_NO = "yes or no"  # how a value of 1 or 0 is shown
NEVER = "; those that never get there may share the last places"
BOUNDS = {"at_least": ge, "at_most": le, "above": gt, "below": lt}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One entry, and what came of it. Without ``says`` it is a measurement of ours.

    ``by_construction``: true of any network, so that it is shown and not counted; the
    reason. ``measured_by``: by column that its value rests on and no code of today
    makes, the last commit whose code does. ``order``: several arms come one
    after the other, with ``open_end`` some of them never. ``exact``: checked at points,
    of which none is a seed. ``extra``: beyond the paper, reported and not judged.
    ``run`` false: nothing tests it yet. ``main``: it carries the verdict of its page.
    ``tested`` may have fields in braces, which the page fills in. ``reads``: its result
    as a sentence without a full stop, with ``{}`` where the value stands, and
    ``{each}`` as in ``tested``; ``never``: the same where the value is infinite.
    ``question``: the page of book/questions that it helps to answer; a row without one
    is a detail. ``leads``: one of the few that the question's page tells.
    ``same_as``: the page whose row judges this event, so that it counts once.
    ``same``: an earlier wording (``tested``) of this very test, and the ``reason`` of
    its change.

    ``ours`` is the median, ``interval`` the range; ``held`` of ``n`` seeds (or points)
    support it, at ``scale``; ``shorter``: how long they were trained, where that is
    less than the paper's. ``tried``: whether what it rests on was trained. ``why``: for
    fewer than three seeds, how many there are and what one costs. ``runs``:
    "<experiment>|<arm>" of each run that it rests on. ``values``: of a tested row the
    value of each seed in words, in an order by "run|seed".
    """

    id: str
    tested: str
    registered: datetime.date
    says: str = ""
    where: str = ""
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    show: str = "{:,.0f}"
    main: bool = False
    order: bool = False
    open_end: bool = False
    exact: bool = False
    by_construction: str = ""
    measured_by: dict[str, str] = field(default_factory=dict)
    extra: bool = False
    run: bool = True
    reads: str = ""
    never: str = ""
    question: str = ""
    leads: bool = False
    same_as: str = ""
    was: list[dict[str, str]] = field(default_factory=list)
    same: list[dict[str, str]] = field(default_factory=list)

    ours: str = "—"
    interval: str = "—"
    held: int = 0
    n: int = 0
    scale: str = "paper"
    shorter: str = ""
    tried: bool = False
    why: str = ""
    runs: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)

    @property
    def is_tested(self) -> bool:
        """Whether its value is held against something that it can fail."""
        return self.run and bool(self.bounds or self.order or self.exact)

    @property
    def bounds(self) -> dict[str, float]:
        return {k: b for k in BOUNDS if (b := getattr(self, k)) is not None}

    def allows(self, value: float) -> bool:
        return all(BOUNDS[name](value, bound) for name, bound in self.bounds.items())

    @property
    def beyond(self) -> bool:
        """Whether it is no claim of the paper, so that it is not judged."""
        return self.extra or not self.says

    @property
    def verdict(self) -> str:
        """One of three words, then what is less than the paper's: seeds, size, length;
        or why there is none."""
        if self.beyond or self.same_as:
            return f"see {self.same_as}" if self.same_as else "beyond the paper"
        if self.scale == "smoke":
            return "not judged"
        if not self.n:
            return CANNOT_TELL if self.tried else NOT_RUN
        if self.by_construction:
            return BY_CONSTRUCTION
        return self._word + self._less

    @property
    def _word(self) -> str:
        if self.held == 0:
            return "fails"
        return "holds" if self.held == self.n else "mixed"

    @property
    def _less(self) -> str:
        """What is less than the paper's, as it follows the word."""
        parts = []
        if self.n < ENOUGH and not self.exact:
            parts.append(FEW[self.n])
        if self.scale != "paper":
            parts.append("small")
        elif self.shorter:
            parts.append("shorter")
        return "".join(f", {part}" for part in parts)

    @property
    def sentence(self) -> str:
        """Its result in words; "" where nobody has written or trained it."""
        if not self.n or not self.reads:
            return ""
        reads = self.never if self.ours == "never" and self.never else self.reads
        return reads.format(self.ours)

    @property
    def holds(self) -> bool:
        """Whether it is a claim of the paper that every seed supports."""
        return outcome(self.verdict) == "holds"

    def to_json(self) -> dict[str, Any]:
        """What the closing cell of a page carries of it."""
        told = ["ours", "interval", "held", "n", "scale", "main", "exact", "why"]
        told += ["verdict", "holds", "runs", "id", "question", "same_as"]
        told += ["values", "shorter", "leads"]
        words = {"statement": self.tested, "quote": self.says, "where": self.where}
        words["reads"] = self.sentence
        return words | {"extra": self.beyond} | {k: getattr(self, k) for k in told}


def rows(page: str) -> list[Row]:
    """The entries of a page "<paper>/<id>"; see `checked` for one that is wrong."""
    entries = noted(page, "claims").items()
    return [Row(id=key, **checked(page, key, entry)) for key, entry in entries]


def checked(page: str, row: str, entry: Any) -> dict[str, Any]:
    """An entry as it is, if it has the keys that it needs, and no other.

    UnknownName, or PageError for one that is missing, with file, page and row.
    """
    came = {"id", "ours", "interval", "held", "n", "scale", "why", "runs"}
    came |= {"shorter", "tried", "values"}
    known = [one for one in fields(Row) if one.name not in came]
    given = entry if isinstance(entry, dict) else {}
    check_keys(page, "claims", given, [one.name for one in known], row)
    for one in known:
        needed = one.default is MISSING and one.default_factory is MISSING
        if needed and one.name not in given:
            paper, name = page.split("/")
            raise PageError(
                f"book/{paper}/claims.yaml, page {name}, row '{row}': "
                f"give it the key '{one.name}'"
            )
    return given


def anchor(row: str) -> str:
    """Where a page has a row, by its id: `PAGE.html#claim-the-id`."""
    return f"claim-{row}".replace(" ", "-")


def digest(page: str) -> str:
    """What a page carries of its entries: one executed with others is stale."""
    return hashlib.sha256(repr(noted(page, "claims")).encode()).hexdigest()[:16]


def judged(row: Row, found: Mapping[Run, BySeed]) -> Row:
    """A row with what came of it, no stronger than the smallest record it rests on.

    ValueError for a value that is NaN, with which no comparison holds; a smoke test is
    too short for many.
    """
    scale = max((run.record.scale for run in found), key=SCALES.index)
    arms = {run.label: Series(values, dtype=float) for run, values in found.items()}
    if scale != "smoke" and any(values.isna().any() for values in arms.values()):
        raise ValueError(f"{row.tested!r} has no value for a seed: give `otherwise`")
    table, never = joined(arms), ""
    if row.order:
        holding = _ascends(table, row.open_end)
        middle = [words(median(table[label]), row.show) for label in table]
        ours = ", ".join(map(": ".join, zip(table, middle, strict=True)))
        interval = f"in order for {sum(holding)} of {len(table)}"
        by_seed = {
            f"{label}|{seed}": value
            for label, column in table.items()
            for seed, value in column.items()
        }
        never = NEVER if row.open_end and "never" in middle else ""
    else:
        values = table.iloc[:, 0]
        holding = [row.allows(value) for value in values]
        ours, interval = _summary(values, row.show)
        by_seed = {str(seed): value for seed, value in values.items()}
        if row.bounds and not row.says:
            interval += f"; held in {sum(holding)} of {len(table)}"
    few = [_few(run) for run in found if len(run.seeds) < ENOUGH > len(table)]
    why = "; ".join(dict.fromkeys(few)) if row.bounds or row.order else ""
    how: dict[str, Any] = {"ours": ours, "interval": interval, "held": sum(holding)}
    lengths = dict.fromkeys(shorter(run.record, run.arm) for run in found)
    short = "; ".join(filter(None, lengths)) if scale == "paper" else ""
    how |= {"n": len(table), "scale": scale, "why": why, "shorter": short}
    if row.is_tested:
        show = "{:.0f}" if row.show == YES_OR_NO else row.show
        how["values"] = {k: words(value, show) for k, value in by_seed.items()}
    return replace(row, **how, tested=row.tested + never)


def _ascends(table: DataFrame, open_end: bool) -> list[bool]:
    """Whether each value of a seed is larger than the one before; arms across.

    Arms that never get there have no order among them, which fails the seed; with
    ``open_end`` they may share the last places, if the first arm gets there.
    """
    early, late = table.to_numpy()[:, :-1], table.to_numpy()[:, 1:]
    rises = early < late
    if open_end:
        rises |= (early == late) & (late == math.inf) & np.isfinite(early[:, :1])
    return [bool(one) for one in rises.all(axis=1)]


def _summary(values: Series, show: str) -> tuple[str, str]:
    found = min(values), median(values), max(values)
    if show == YES_OR_NO:
        low, middle, high = ("yes" if value else "no" for value in found)
    else:
        low, middle, high = (words(value, show) for value in found)
    if len(values) == 1:
        return middle, "—"
    return middle, "all alike" if low == middle == high else f"{low} to {high}"


def _few(run: Run) -> str:
    seeds, record = run.seeds, run.record
    spent = {s: record.members[f"{run.arm}|{s}"]["seconds"] for s in seeds}
    each = f", {median(spent) / 60:,.1f} min each" if spent else ""
    planned = len(record.experiment.seeds)
    return f"{run.label or run.arm} ({len(seeds)} of {planned} seeds{each})"


def median(values: BySeed) -> float:
    """Median over seeds, the lower of two middle ones, so that it is a seed's value."""
    return statistics.median_low([value for _, value in values.items()])


def outcome(verdict: str) -> str:
    """A verdict without what is less: holds, mixed, fails, cannot-tell, idle.

    Idle is what is not judged: not run, by construction, judged elsewhere.
    """
    word = verdict.partition(",")[0]
    if word == CANNOT_TELL:
        return "cannot-tell"
    return word if word in WORDS else "idle"


def is_few(verdict: str) -> bool:
    """Whether one or two seeds judge it, so that it is no verdict yet."""
    return " seed" in verdict


def look(verdict: str) -> str:
    """The classes of a badge or a square: what came out, then how surely."""
    less = {"few": is_few(verdict), "small": verdict.endswith(("small", "shorter"))}
    return " ".join([outcome(verdict), *filter(less.get, less)])


def badge(verdict: str, title: str = "") -> str:
    """A verdict as HTML with colour and symbol; ``title`` shows under the pointer."""
    told = f' title="{escape(title)}"' if title else ""
    return f'<span class="verdict {look(verdict)}"{told}>{escape(verdict)}</span>'
