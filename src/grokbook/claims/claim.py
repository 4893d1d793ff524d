"""One claim: the paper's words, how they were tested, what came out, the verdict.

A claim is judged seed by seed. Its value is the median over seeds, its interval their
range, which covers the median of all possible seeds with probability 1 - 2^(1-n): 94 %
for five seeds, 75 % for three. No normality is assumed; crossing epochs are anything
but normal. A crossing that never happens is infinite and prints as "never"; a value
that is not a number is refused.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pandas import Series

from grokbook.claims.registered import Row
from grokbook.claims.verdict import verdict
from grokbook.evidence import words

Values: TypeAlias = dict[int, float]  # by seed
BySeed: TypeAlias = Mapping[int, float] | Series  # the same, or as `evidence` has it


@dataclass(frozen=True)
class Claim:
    """One row of a claims table; ``held`` of ``n`` seeds (or points) support it.

    ``quote`` are the paper's words and ``where`` it has them; ``statement`` is what was
    tested. ``main``: it carries the verdict of its page. ``why``: for fewer than three
    seeds, how many there are and what one costs. ``row``: as it was registered.
    """

    statement: str
    quote: str
    where: str
    ours: str = "—"
    n: int = 0
    interval: str = "—"
    held: int = 0
    scale: str = "paper"
    main: bool = False
    extra: bool = False
    exact: bool = False
    why: str = ""
    row: Row | None = field(default=None, repr=False, compare=False)

    @property
    def verdict(self) -> str:
        """The verdict in the book's words."""
        how = {"exact": self.exact, "extra": self.extra}
        return verdict(self.held, self.n, self.scale, **how)

    @property
    def judged(self) -> bool:
        """Whether it is a claim of the paper that something here tests."""
        return self.n > 0 and not self.extra and self.scale != "smoke"

    @property
    def holds(self) -> bool:
        """Whether every seed supports it."""
        return self.judged and self.held == self.n

    def to_json(self) -> dict[str, Any]:
        """The fields and the verdict, as the closing cell of a page carries them."""
        told = {key: value for key, value in vars(self).items() if key != "row"}
        return told | {"verdict": self.verdict, "holds": self.holds}


def checked(statement: str, values: BySeed, scale: str) -> Values:
    """The values by seed; ValueError where one is NaN.

    A smoke test is too short for many of them, and nothing is concluded from it.
    """
    found = {seed: float(value) for seed, value in values.items()}
    lacking = [seed for seed, value in found.items() if math.isnan(value)]
    if lacking and scale != "smoke":
        raise ValueError(
            f"claim {statement!r} has no value for seeds {lacking}: say what a value "
            "that does not exist counts as (`otherwise`), and join arms of unlike "
            "seeds by `evidence.paired`"
        )
    return found


def in_order(
    values: Mapping[str, Values], *, open_end: bool = False, show: str = "{:,.0f}"
) -> tuple[str, int, int]:
    """Whether several arms come one after the other: medians in words, held, n.

    ``values`` has the values by seed of each arm, by its name, in the claimed order.
    Judged are the seeds that all arms have: a seed holds if each of its values is
    larger than the one before. Arms that never get there have no order among them,
    which fails the seed; with ``open_end`` they may share the last places, if the first
    arm gets there.
    """
    first, *others = values.values()
    seeds = [seed for seed in first if all(seed in other for other in others)]

    def ascends(seed: int) -> bool:
        found = [arm[seed] for arm in values.values()]
        return (not open_end or math.isfinite(found[0])) and all(
            a < b or (open_end and a == b == math.inf)
            for a, b in zip(found, found[1:], strict=False)
        )

    shared = {name: {s: arm[s] for s in seeds} for name, arm in values.items()}
    shown = [f"{name}: {words(median(arm), show)}" for name, arm in shared.items()]
    return ", ".join(shown), sum(map(ascends, seeds)), len(seeds)


def median(values: BySeed) -> float:
    """Median over seeds, the lower of two middle ones, so that it is a seed's value."""
    if not len(values):
        raise ValueError("a claim needs the value of at least one seed")
    return statistics.median_low([value for _, value in values.items()])


def summary(values: BySeed, show: str = "{:,.0f}") -> tuple[str, str]:
    """Median and range over seeds in words; the range of one seed is a dash."""
    middle = words(median(values), show)
    found = [value for _, value in values.items()]
    if len(found) == 1:
        return middle, "—"
    if len({words(value, show) for value in found}) == 1:
        return middle, "all alike"
    return middle, f"{words(min(found), show)} to {words(max(found), show)}"


def main(claims: list[Claim]) -> Claim:
    """The one claim that carries the verdict of a page; ValueError without or with two.

    It has to be a claim of the paper: a measurement of ours decides nothing.
    """
    found = [claim for claim in claims if claim.main and not claim.extra]
    if len(found) != 1:
        raise ValueError(
            f"a page has one main claim of its paper, and this one has {len(found)}: "
            "give `main: true` to the claim that carries its verdict"
        )
    return found[0]
