"""What a page concludes: statement, paper's value, ours with n and interval, verdict.

A claim is judged seed by seed. Its value is the median over seeds, its interval their
range, which covers the median of all possible seeds with probability 1 - 2^(1-n): 94 %
for five seeds, 75 % for three. No normality is assumed; crossing epochs are anything
but normal. A crossing that never happens is infinite and prints as "never".
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from pandas import Series

from grokbook.records import Record

MIME = "application/vnd.grokbook.claims+json"
Values = dict[int, float]  # by seed


@dataclass(frozen=True)
class Claim:
    """One line of a claims table; ``held`` of ``n`` seeds (or points) support it."""

    statement: str
    paper: str
    ours: str
    n: int
    interval: str
    held: int
    scale: str
    source: str = ""
    extra: bool = False

    @property
    def verdict(self) -> str:
        """The verdict in the book's words."""
        if self.extra:
            return "beyond the paper"
        if self.n == 0:
            return "not run"
        return _words(
            "all" if self.held == self.n else "some" if self.held else "none",
            self.scale,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "statement": self.statement,
            "paper": self.paper,
            "ours": self.ours,
            "n": self.n,
            "interval": self.interval,
            "held": self.held,
            "scale": self.scale,
            "source": self.source,
            "extra": self.extra,
            "verdict": self.verdict,
        }


def _words(share: str, scale: str) -> str:
    if scale == "paper":
        return {
            "all": "reproduced",
            "some": "partly reproduced",
            "none": "not reproduced",
        }[share]
    return {
        "all": "seen at reduced scale",
        "some": "partly seen at reduced scale",
        "none": "not seen at reduced scale",
    }[share]


def per_seed(
    record: Record,
    statement: str,
    paper: str,
    values: Values,
    holds: Callable[[float], bool],
    *,
    show: str = "{:.0f}",
    source: str = "",
) -> Claim:
    """A claim of the paper, judged on one value per seed by ``holds``.

    ``show`` formats a value, as in "{:.1%}". ValueError if there is no seed at all.
    """
    ours, interval = summary(values, show)
    held = sum(bool(holds(value)) for value in values.values())
    return Claim(
        statement, paper, ours, len(values), interval, held, record.scale, source
    )


def order(
    record: Record,
    statement: str,
    paper: str,
    values: dict[str, Values],
    *,
    open_end: bool = False,
    show: str = "{:,.0f}",
    source: str = "",
    extra: bool = False,
) -> Claim:
    """A claim of the paper that several arms come one after the other.

    ``values`` has the values by seed of each arm, by its name, in the claimed order.
    The claim is judged for the seeds that all arms have: a seed holds if each of its
    values is larger than the one before. Shown are the medians over these seeds. Arms
    that never get there have no order among them, which fails the seed; with
    ``open_end`` they may share the last places, if the first arm gets there. With
    ``extra`` it is beyond the paper: reported, not judged.
    """
    seeds = list(combine(lambda *_: 0.0, *values.values()))

    def ascends(seed: int) -> bool:
        found = [arm[seed] for arm in values.values()]
        return (not open_end or math.isfinite(found[0])) and all(
            a < b or (open_end and a == b == math.inf)
            for a, b in zip(found, found[1:], strict=False)
        )

    medians = {
        name: median({seed: arm[seed] for seed in seeds})
        for name, arm in values.items()
    }
    ours = ", ".join(f"{name}: {words(value, show)}" for name, value in medians.items())
    held, n = sum(map(ascends, seeds)), len(seeds)
    interval = f"in order for {held} of {n}"
    scale = record.scale
    return Claim(statement, paper, ours, n, interval, held, scale, source, extra)


def extra(
    record: Record,
    statement: str,
    values: Values,
    *,
    paper: str = "not in the paper",
    show: str = "{:.0f}",
) -> Claim:
    """A measurement of ours beyond the paper: reported, not judged."""
    ours, interval = summary(values, show)
    n = len(values)
    return Claim(statement, paper, ours, n, interval, n, record.scale, extra=True)


def exact(
    statement: str,
    paper: str,
    ours: str,
    *,
    held: int,
    n: int,
    source: str = "",
    extra: bool = False,
) -> Claim:
    """A claim of mathematics, checked at ``n`` points of which ``held`` agree.

    With ``extra`` it is beyond the paper: reported, not judged.
    """
    return Claim(statement, paper, ours, n, "exact", held, "paper", source, extra)


def not_run(statement: str, paper: str, *, source: str = "") -> Claim:
    """A claim of the paper that nothing here tests yet: listed, not judged."""
    return Claim(statement, paper, "—", 0, "—", 0, "paper", source)


def median(values: Values) -> float:
    """Median over seeds, the lower of two middle ones, so that it is a seed's value."""
    if not values:
        raise ValueError("a claim needs the value of at least one seed")
    return statistics.median_low(values.values())


def words(value: float, show: str = "{:,.0f}") -> str:
    """A value as tables print it; an epoch that never comes is infinite, "never"."""
    return "never" if math.isinf(value) else show.format(value)


def summary(values: Values, show: str = "{:,.0f}") -> tuple[str, str]:
    """Median and range over seeds in words; the range of one seed is a dash."""
    middle, low, high = median(values), min(values.values()), max(values.values())
    several = len(values) > 1
    interval = f"{words(low, show)} to {words(high, show)}" if several else "—"
    return words(middle, show), interval


def page_verdict(claims: list[Claim]) -> str:
    """Verdict of a page: all, some or none of the paper's claims held.

    A page whose claims rest on the paper's scale only in part is at best "partly
    reproduced": what was seen at reduced scale does not count as reproduced.
    """
    judged = [claim for claim in claims if claim.n and not claim.extra]
    if not judged:
        raise ValueError("a page must judge at least one claim of the paper")
    full = [c.held == c.n for c in judged]
    some = any(claim.held for claim in judged)
    share = "all" if all(full) else "some" if some else "none"
    scales = {claim.scale for claim in judged}
    if scales == {"paper"} or "paper" not in scales:
        return _words(share, scales.pop() if len(scales) == 1 else "laptop")
    return _words("some" if some else "none", "paper")


def table(claims: list[Claim], page: str) -> "ClaimsTable":
    """The claims table that ends a page's check cell; ``page`` is the page's id."""
    return ClaimsTable(claims, page)


class ClaimsTable:
    """Shows claims as HTML and text, and carries them as JSON for the scoreboard."""

    def __init__(self, claims: list[Claim], page: str):
        self.claims, self.page = claims, page
        scales = [c.scale for c in claims if c.n and not c.extra]
        self.scale = "paper" if "paper" in scales else scales[0] if scales else "paper"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        return {
            "text/plain": self._text(),
            "text/html": self._html(),
            MIME: {
                "page": self.page,
                "scale": self.scale,
                "verdict": page_verdict(self.claims),
                "claims": [claim.to_json() for claim in self.claims],
            },
        }

    def _text(self) -> str:
        return "\n".join(
            f"{c.statement} | paper: {c.paper} | here: {c.ours} ({c.interval}; "
            f"n = {c.n}) | {c.verdict}"
            for c in self.claims
        )

    def _html(self) -> str:
        head = ("Claim", "Paper", "Here (median)", "Range", "n", "Verdict")
        rows = ["<tr>" + "".join(f"<th>{h}</th>" for h in head) + "</tr>"]
        for c in self.claims:
            held = "" if c.extra else f" title='held in {c.held} of {c.n}'"
            kind = c.verdict.replace(" ", "-")
            badge = f"<span class='verdict verdict-{kind}'{held}>{c.verdict}</span>"
            cells = [
                escape(text)
                for text in (c.statement, c.paper, c.ours, c.interval, str(c.n))
            ]
            rows.append("".join(f"<td>{cell}</td>" for cell in [*cells, badge]))
            rows[-1] = f"<tr>{rows[-1]}</tr>"
        return f"<table class='claims'>{''.join(rows)}</table>"


# Values by seed, read from a record --------------------------------------------------


def first_epoch(
    record: Record,
    arm: str,
    column: str,
    *,
    reaches: float = math.inf,
    falls_to: float = -math.inf,
    until: int | None = None,
) -> Values:
    """First logged epoch with a column at or above ``reaches``, or infinity.

    With ``falls_to`` instead: at or below it.
    """
    series = record.series(arm, column)
    if until is not None:
        series = series[series.index <= until]
    return {seed: _first(series[seed], reaches, falls_to) for seed in record.seeds(arm)}


def first_epoch_of_mean(
    record: Record,
    arm: str,
    column: str,
    *,
    reaches: float = math.inf,
    falls_to: float = -math.inf,
) -> float:
    """The same of the mean over seeds, which its slowest seed decides."""
    mean = record.series(arm, column).ffill().mean(axis=1)
    return _first(mean, reaches, falls_to)


def _first(series: Series, reaches: float, falls_to: float) -> float:
    there = (series >= reaches) | (series <= falls_to)
    return float(there.idxmax()) if there.any() else math.inf


def at(record: Record, arm: str, column: str, epoch: int) -> Values:
    """Value at the last logged epoch not after ``epoch``."""
    series = record.series(arm, column)
    row = series[series.index <= epoch].ffill().iloc[-1]
    return {seed: float(row[seed]) for seed in record.seeds(arm)}


def last(record: Record, arm: str, column: str) -> Values:
    """Value at the end of training."""
    series = record.series(arm, column).ffill().iloc[-1]
    return {seed: float(series[seed]) for seed in record.seeds(arm)}


def largest(record: Record, arm: str, column: str, *, since: int = 0) -> Values:
    """Largest value at or after an epoch."""
    series = record.series(arm, column)
    best = series[series.index >= since].max()
    return {seed: float(best[seed]) for seed in record.seeds(arm)}


def combine(function: Callable[..., float], *values: Values) -> Values:
    """Seed by seed, for the seeds that all of the arguments have."""
    shared = [s for s in values[0] if all(s in other for other in values[1:])]
    return {seed: float(function(*(v[seed] for v in values))) for seed in shared}


def ratio(upper: Values, lower: Values) -> Values:
    """Ratio of two epochs by seed, for claims of "at most".

    Infinite where the upper one never comes, 0 where only the lower one never does.
    """

    def divide(a: float, b: float) -> float:
        return math.inf if math.isinf(a) else a / b

    return combine(divide, upper, lower)


def with_scale(claim: Claim, scale: str) -> Claim:
    """The same claim with another scale, for one drawn from several records."""
    return replace(claim, scale=scale)
