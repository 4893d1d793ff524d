"""One claim: statement, paper's value, ours with n and interval, verdict.

A claim is judged seed by seed. Its value is the median over seeds, its interval their
range, which covers the median of all possible seeds with probability 1 - 2^(1-n): 94 %
for five seeds, 75 % for three. No normality is assumed; crossing epochs are anything
but normal. A crossing that never happens is infinite and prints as "never"; a value
that is not a number is refused.
"""

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from pandas import Series

from grokbook.records import Record

Values: TypeAlias = dict[int, float]  # by seed
BySeed: TypeAlias = Mapping[int, float] | Series  # the same, or as `evidence` has it


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
        """The fields and the verdict, as the check cell of a page carries them."""
        return asdict(self) | {"verdict": self.verdict}


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
    values: BySeed,
    holds: Callable[[float], bool],
    *,
    show: str = "{:.0f}",
    source: str = "",
) -> Claim:
    """A claim of the paper, judged on one value per seed by ``holds``.

    ``show`` formats a value, as in "{:.1%}". ValueError if there is no seed at all, or
    one whose value is NaN.
    """
    found = _checked(record, statement, values)
    ours, interval = summary(found, show)
    held, n = sum(bool(holds(value)) for value in found.values()), len(found)
    return Claim(statement, paper, ours, n, interval, held, record.scale, source)


def _checked(record: Record, statement: str, values: BySeed) -> Values:
    """The values by seed; ValueError where one is NaN.

    A smoke test is too short for many of them, and nothing is concluded from it.
    """
    found = {seed: float(value) for seed, value in values.items()}
    lacking = [seed for seed, value in found.items() if math.isnan(value)]
    if lacking and record.scale != "smoke":
        raise ValueError(
            f"claim {statement!r} has no value for seeds {lacking}: say what a value "
            "that does not exist counts as (`otherwise`), and join arms of unlike "
            "seeds by `evidence.paired`"
        )
    return found


def order(
    record: Record,
    statement: str,
    paper: str,
    values: Mapping[str, BySeed],
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
    every = {name: dict(arm.items()) for name, arm in values.items()}
    first, *others = every.values()
    seeds = [seed for seed in first if all(seed in other for other in others)]
    shared = {
        name: _checked(
            record, f"{statement} ({name})", {seed: arm[seed] for seed in seeds}
        )
        for name, arm in every.items()
    }

    def ascends(seed: int) -> bool:
        found = [arm[seed] for arm in shared.values()]
        return (not open_end or math.isfinite(found[0])) and all(
            a < b or (open_end and a == b == math.inf)
            for a, b in zip(found, found[1:], strict=False)
        )

    shown = [f"{name}: {words(median(arm), show)}" for name, arm in shared.items()]
    held, n = sum(map(ascends, seeds)), len(seeds)
    ours, interval = ", ".join(shown), f"in order for {held} of {n}"
    return Claim(statement, paper, ours, n, interval, held, record.scale, source, extra)


def extra(
    record: Record,
    statement: str,
    values: BySeed,
    *,
    paper: str = "not in the paper",
    show: str = "{:.0f}",
) -> Claim:
    """A measurement of ours beyond the paper: reported, not judged."""
    found = _checked(record, statement, values)
    ours, interval = summary(found, show)
    n = len(found)
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


def median(values: BySeed) -> float:
    """Median over seeds, the lower of two middle ones, so that it is a seed's value."""
    if not len(values):
        raise ValueError("a claim needs the value of at least one seed")
    return statistics.median_low([value for _, value in values.items()])


def words(value: float, show: str = "{:,.0f}") -> str:
    """A value as tables print it; an epoch that never comes is infinite, "never"."""
    return "never" if math.isinf(value) else show.format(value)


def summary(values: BySeed, show: str = "{:,.0f}") -> tuple[str, str]:
    """Median and range over seeds in words; the range of one seed is a dash."""
    middle = words(median(values), show)
    found = [value for _, value in values.items()]
    low, high = words(min(found), show), words(max(found), show)
    return middle, f"{low} to {high}" if len(found) > 1 else "—"


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


def with_scale(claim: Claim, scale: str) -> Claim:
    """The same claim with another scale, for one drawn from several records."""
    return replace(claim, scale=scale)
