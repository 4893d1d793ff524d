"""One claim: how book/<paper>/claims.yaml registers it, its result and its verdict.

A row of the file is an entry. It is written before the runs, under its page and a short
id, and Git dates it. An entry that was changed after its result keeps in ``was`` what
was planned, what that gives, and why it is no longer the test.

A claim is judged seed by seed. Its value is the median over seeds and its interval is
their range, which covers the median of all possible seeds with probability 1 - 2^(1-n):
94 % for five seeds, 75 % for three. The epoch of a crossing that never happens is
infinite.
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

from claimbook.errors import PageError, check_type, choose
from claimbook.evidence import Run, joined, words
from claimbook.experiment import SCALES
from claimbook.tables import page_entries, reduced_length

BySeed: TypeAlias = Mapping[int, float] | Series

WORDS = ("holds", "mixed", "fails")  # in every seed, in some, in none
# Why a claim has no verdict: it was trained but no seed can test it; it is true of any
# network; nobody has trained it.
CANNOT_TELL, BY_CONSTRUCTION, NOT_RUN = "cannot tell", "by construction", "not run"
ENOUGH = 3  # seeds of a verdict
FEW = ("", "one seed", "two seeds")  # by number of seeds
YES_OR_NO = "yes or no"  # as ``show``: a value of 1 is "yes", 0 is "no"
NEVER = "; those that never get there may share the last places"
# What the closing cell of a page stores of a row under its own name.
STORED = ["ours", "interval", "held", "n", "scale", "main", "exact", "why", "verdict"]
STORED += ["holds", "runs", "id", "question", "same_as", "values", "shorter", "leads"]
YAML_KEYS = {"is_run": "run"}  # of fields that have another name there
BOUNDS = {"at_least": ge, "at_most": le, "above": gt, "below": lt}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of claims.yaml.

    * ``tested``: how it is tested; fields in braces are filled in by the page.
    * ``registered``: the day on which the test was written down.
    * ``says``, ``where``: the paper's words and where they stand. Without them the
      entry is a measurement of ours.
    * ``at_least``, ``at_most``, ``above``, ``below``: bounds of the value of a seed.
    * ``show``: the format of the value, or YES_OR_NO.
    * ``main``: whether it carries the verdict of its page.
    * ``order``: whether the claim is that several arms come one after the other;
      ``open_end``: whether the last of them may never come.
    * ``exact``: whether it is checked at points, of which none is a seed.
    * ``by_construction``: the reason why it is true of any network; it is shown and not
      counted.
    * ``measured_by``: for each column of its value that no code of today makes, the
      last commit whose code does.
    * ``extra``: whether it goes beyond the paper, so that it is reported, not judged.
    * ``is_run``: whether anything tests it; in claims.yaml it is called ``run``.
    * ``reads``: its result as a sentence without a full stop: ``{}`` is the median
      and fields are as in ``tested``. One that says "at most" or "at least" has
      ``{largest}`` or ``{smallest}`` there, so that it is true of every run. ``never``:
      the same for an infinite value; ``zero``: the same for 0, which `evidence.times`
      gives if the first of two never comes.
    * ``question``: the page of book/questions that it helps to answer; an entry without
      one is a detail. ``leads``: whether it is one of the few that this page tells.
    * ``same_as``: the page whose entry judges this event, so that it counts once.
    * ``was``: earlier tests, as the module's docstring explains. ``same``: earlier
      wordings (``tested``) of this very test, each with the ``reason`` of its change.
    """

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
    is_run: bool = True
    reads: str = ""
    never: str = ""
    zero: str = ""
    question: str = ""
    leads: bool = False
    same_as: str = ""
    was: list[dict[str, str]] = field(default_factory=list)
    same: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Claim(Entry):
    """An entry, by its id, with its result.

    * ``ours``: the median in words; ``interval``: the range in words; ``smallest`` and
      ``largest``: its ends.
    * ``held`` of ``n`` seeds (or points) support the claim.
    * ``scale``: the smallest scale of its records; ``shorter``: how long they were
      trained, if that is less than the paper's.
    * ``tried``: whether all of its runs were trained.
    * ``why``: for fewer than three seeds, how many there are and what one costs.
    * ``runs``: "<experiment>|<arm>" of each run.
    * ``values``: the value of each seed in words, by seed, or by "run|seed" for an
      order; empty if nothing is tested.
    """

    id: str
    ours: str = "—"
    interval: str = "—"
    smallest: str = "—"
    largest: str = "—"
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
        """Whether it has a test that it can fail, and something tests it."""
        return self.is_run and bool(self.bounds or self.order or self.exact)

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that the entry gives, by their names in BOUNDS."""
        bounds = {name: getattr(self, name) for name in BOUNDS}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def allows(self, value: float) -> bool:
        """Return whether the value of a seed is within all bounds.

        Without bounds it is. NaN is within none.
        """
        return all(BOUNDS[name](value, bound) for name, bound in self.bounds.items())

    @property
    def beyond(self) -> bool:
        """Whether it is not a claim of the paper, so that it is not judged."""
        return self.extra or not self.says

    @property
    def verdict(self) -> str:
        """The verdict, as "holds, two seeds, small", or why there is none.

        One of WORDS stands first, then each respect (seeds, size, length) in which the
        evidence is less than the paper's. Why there is none is the first that is true
        of: "see" another page, "beyond the paper", "not judged" (a smoke test),
        CANNOT_TELL or NOT_RUN (no seed), BY_CONSTRUCTION.
        """
        if self.same_as:
            return f"see {self.same_as}"
        if self.beyond:
            return "beyond the paper"
        if self.scale == "smoke":
            return "not judged"
        if not self.n:
            return CANNOT_TELL if self.tried else NOT_RUN
        if self.by_construction:
            return BY_CONSTRUCTION
        return self._word + self._less

    @property
    def _word(self) -> str:
        """The one of WORDS that the seeds decide: ``held`` of ``n``."""
        if self.held == 0:
            return "fails"
        return "holds" if self.held == self.n else "mixed"

    @property
    def _less(self) -> str:
        """What is less than the paper's, as ", one seed, small"; "" for nothing.

        Evidence that is small is not called shorter as well.
        """
        text = ""
        if self.n < ENOUGH and not self.exact:
            text += f", {FEW[self.n]}"
        if self.scale != "paper":
            return f"{text}, small"
        return f"{text}, shorter" if self.shorter else text

    @property
    def sentence(self) -> str:
        """The result as a sentence; "" if none is written, or no seed tests the row."""
        if not self.n or not self.reads:
            return ""
        reads = self.never if self.ours == "never" and self.never else self.reads
        return reads.format(self.ours, smallest=self.smallest, largest=self.largest)

    @property
    def holds(self) -> bool:
        """Whether its verdict is "holds", be its seeds few or its network small."""
        return outcome(self.verdict) == "holds"

    def as_plain(self) -> dict[str, Any]:
        """Return what the closing cell of a page stores of this claim, as JSON."""
        return {
            "statement": self.tested,
            "quote": self.says,
            "where": self.where,
            "reads": self.sentence,
            "extra": self.beyond,
            **{name: getattr(self, name) for name in STORED},
        }


def rows(page: str) -> list[Claim]:
    """Return the claims of a page "<paper>/<id>" in claims.yaml, without results.

    They are in the order of the file. Raises what `entry_fields` raises.
    """
    entries = page_entries(page, "claims").items()
    return [
        Claim(id=name, **entry_fields(page, name, entry)) for name, entry in entries
    ]


def entry_fields(page: str, row: str, entry: Any) -> dict[str, Any]:
    """Return an entry of claims.yaml by the fields of `Entry`, if its keys are right.

    ``row`` is its id; fields that it does not give are left out. An ``entry`` that is
    no mapping counts as one without keys. Raises UnknownName for a key that an entry
    does not have, PageError for a required one that is missing, and BookError for a
    value of another type; all name the file, the page and the row.
    """
    values = entry if isinstance(entry, dict) else {}
    paper, name = page.split("/")
    where = f"book/{paper}/claims.yaml, page {name}, row '{row}'"
    # the fields of a dataclass have their names, types and defaults
    field_of_key = {YAML_KEYS.get(f.name, f.name): f for f in fields(Entry)}
    for key in values:
        choose(f"key in {where}:", key, field_of_key)
    for key, f in field_of_key.items():
        is_required = f.default is MISSING and f.default_factory is MISSING
        if key in values:
            check_type(f"{where}, {key}", values[key], f.type)
        elif is_required:
            raise PageError(f"{where}: give it the key '{key}'")
    return {field_of_key[key].name: value for key, value in values.items()}


def anchor(row: str) -> str:
    """Return the HTML id of a row on its page, for `PAGE.html#claim-the-id`."""
    return f"claim-{row}".replace(" ", "-")


def digest(page: str) -> str:
    """Return a digest of a page's entries in claims.yaml: 16 hexadecimal digits.

    A page that was executed with another digest is stale.
    """
    text = repr(page_entries(page, "claims"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def with_result(row: Claim, values_by_run: Mapping[Run, BySeed]) -> Claim:
    """Return a row with its result, from the values by seed of each of its runs.

    There is one run or more. A row with ``order`` compares the runs in the order given;
    in any other row all runs have the same values. Only seeds that have a value of
    every run are counted. The scale is the smallest of the runs', so that the verdict
    is no stronger than that.

    Raises ValueError for a value that is NaN, with which every comparison is false. In
    a smoke test, which is too short for many values, NaN is accepted.
    """
    # the smallest: SCALES begins with the paper's
    scale = max((run.record.scale for run in values_by_run), key=SCALES.index)
    columns = {run: Series(v, dtype=float) for run, v in values_by_run.items()}
    if scale != "smoke" and any(values.isna().any() for values in columns.values()):
        raise ValueError(f"{row.tested!r} has no value for a seed: give `otherwise`")
    table = joined(columns)  # a row per seed, a column per run
    row = _with_order(row, table) if row.order else _with_values(row, table)
    few: list[str] = []  # in words, as ``lengths``
    if row.is_tested and len(table) < ENOUGH:
        few = [_few(run) for run in values_by_run if len(run.seeds) < ENOUGH]
    lengths: list[str] = []
    if scale == "paper":
        lengths = [reduced_length(run.record, run.arm) for run in values_by_run]
    # what several runs have in common is said once
    return replace(
        row,
        n=len(table),
        scale=scale,
        why="; ".join(dict.fromkeys(few)),
        shorter="; ".join(dict.fromkeys(filter(None, lengths))),
    )


def _with_order(row: Claim, table: DataFrame) -> Claim:
    """Return a row with ``order``, judged by a table of values (seeds, runs)."""
    held = sum(_ascends(table, row.open_end))
    medians = {run.label: words(median(table[run]), row.show) for run in table}
    ours = ", ".join(f"{label}: {text}" for label, text in medians.items())
    tested = row.tested
    if row.open_end and "never" in medians.values():
        tested += NEVER
    return replace(
        row,
        tested=tested,
        ours=ours,
        smallest=ours,  # an order has no range
        largest=ours,
        interval=f"in order for {held} of {len(table)}",
        held=held,
        values={
            f"{run.label}|{seed}": words(value, row.show)
            for run, column in table.items()
            for seed, value in column.items()
        },
    )


def _with_values(row: Claim, table: DataFrame) -> Claim:
    """Return a row without ``order``, judged by a table of values (seeds, runs).

    All runs have the same values. Without bounds every seed counts as held.
    """
    by_seed = table.iloc[:, 0]
    held = sum(row.allows(value) for value in by_seed)
    low, ours, high = _extremes_and_median(by_seed, row.show)
    interval = "all alike" if low == ours == high else f"{low} to {high}"
    if len(by_seed) == 1:
        interval = "—"
    if row.bounds and not row.says:  # it has no verdict, which would say so
        interval += f"; held in {held} of {len(table)}"
    texts: dict[str, str] = {}  # by seed
    if row.is_tested:
        show = "{:.0f}" if row.show == YES_OR_NO else row.show
        texts = {str(seed): words(value, show) for seed, value in by_seed.items()}
    reads = row.zero if row.zero and median(by_seed) == 0 else row.reads
    return replace(
        row,
        ours=ours,
        interval=interval,
        smallest=low,
        largest=high,
        held=held,
        reads=reads,
        values=texts,
    )


def _ascends(table: DataFrame, open_end: bool) -> list[bool]:
    """Return for each seed whether its values ascend strictly from run to run.

    The table has one row per seed and one column per run; of one run all ascend. Two
    infinite values tie, so the seed fails. With ``open_end`` the last runs may all be
    infinite, if the first one is finite.
    """
    # (seeds, runs - 1) each: every run but the last, and the run after it
    early, late = table.to_numpy()[:, :-1], table.to_numpy()[:, 1:]
    rises = early < late
    if open_end:
        rises |= (early == late) & (late == math.inf) & np.isfinite(early[:, :1])
    return rises.all(axis=1).tolist()


def _extremes_and_median(values: Series, show: str) -> list[str]:
    """Return the smallest of the values by seed, the median and the largest, in words.

    ``show`` is the format of a value, or YES_OR_NO.
    """
    three = min(values), median(values), max(values)
    if show == YES_OR_NO:
        return ["yes" if value else "no" for value in three]
    return [words(value, show) for value in three]


def _few(run: Run) -> str:
    """Return how many seeds a run has, as "M (2 of 3 seeds, 1.5 min each)".

    The minutes are the median training time; without a seed they are left out.
    """
    seeds, record = run.seeds, run.record
    seconds = {s: record.members[f"{run.arm}|{s}"]["seconds"] for s in seeds}
    cost = f", {median(seconds) / 60:,.1f} min each" if seconds else ""
    all_count = len(record.experiment.seeds)
    return f"{run.label or run.arm} ({len(seeds)} of {all_count} seeds{cost})"


def median(values: BySeed) -> float:
    """Return the median over seeds: NaN without any, or if a value is NaN.

    Of two middle values it is the lower one, so that it is always the value of a seed.
    """
    numbers = [value for _, value in values.items()]
    if not numbers or any(map(math.isnan, numbers)):
        return math.nan
    return statistics.median_low(numbers)


def outcome(verdict: str) -> str:
    """Return the class of a verdict: holds, mixed, fails, cannot-tell or idle.

    A claim is idle if it is not judged: not run, by construction, beyond the paper, of
    a smoke test, or judged on another page.
    """
    word = verdict.partition(",")[0]
    if word == CANNOT_TELL:
        return "cannot-tell"
    return word if word in WORDS else "idle"


def is_few(verdict: str) -> bool:
    """Return whether a verdict says that it rests on only one or two seeds."""
    return " seed" in verdict


def css_classes(verdict: str) -> str:
    """Return the CSS classes of a verdict: its `outcome`, then "few" and "small".

    "few" is that of `is_few`, and "small" that of a small or a shorter training.
    """
    classes = [outcome(verdict)]
    if is_few(verdict):
        classes.append("few")
    if verdict.endswith(("small", "shorter")):
        classes.append("small")
    return " ".join(classes)


def badge(verdict: str, title: str = "") -> str:
    """Return a verdict as HTML; ``title`` is shown under the pointer."""
    attribute = f' title="{escape(title)}"' if title else ""
    classes = css_classes(verdict)
    return f'<span class="verdict {classes}"{attribute}>{escape(verdict)}</span>'
