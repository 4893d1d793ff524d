"""Values by seed as dictionaries, for pages that do not use `evidence.Run` yet."""

import math
from collections.abc import Callable

from pandas import Series

from grokbook import evidence
from grokbook.claims.claim import Values
from grokbook.evidence import Run
from grokbook.records import Record


def first_epoch(
    record: Record,
    arm: str,
    column: str,
    *,
    reaches: float | None = None,
    falls_to: float | None = None,
    until: int | None = None,
) -> Values:
    """First logged epoch with a column at or above ``reaches``, or infinity.

    With ``falls_to`` instead: at or below it.
    """
    end = math.inf if until is None else until
    run = Run(record, arm)
    return run.first(column, at_least=reaches, at_most=falls_to, until=end).to_dict()


def first_epoch_of_mean(
    record: Record,
    arm: str,
    column: str,
    *,
    reaches: float | None = None,
    falls_to: float | None = None,
) -> float:
    """The same of the mean over seeds, which its slowest seed decides."""
    mean = Run(record, arm).series(column).ffill().mean(axis=1).to_frame()
    return float(evidence.crossing(mean, at_least=reaches, at_most=falls_to).iloc[0])


def at(record: Record, arm: str, column: str, epoch: int) -> Values:
    """Value at the last logged epoch not after ``epoch``."""
    return Run(record, arm).at(column, epoch).to_dict()


def last(record: Record, arm: str, column: str) -> Values:
    """Value at the end of training."""
    return Run(record, arm).last(column).to_dict()


def largest(record: Record, arm: str, column: str, *, since: int = 0) -> Values:
    """Largest value at or after an epoch."""
    return Run(record, arm).largest(column, since=since).to_dict()


def combine(function: Callable[..., float], *values: Values) -> Values:
    """Seed by seed, for the seeds that all of the arguments have."""
    shared = [s for s in values[0] if all(s in other for other in values[1:])]
    return {seed: float(function(*(v[seed] for v in values))) for seed in shared}


def ratio(upper: Values, lower: Values) -> Values:
    """Ratio of two epochs by seed, see `evidence.ratio`."""
    return evidence.ratio(Series(upper), Series(lower)).to_dict()
