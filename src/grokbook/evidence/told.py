"""A value over seeds as a sentence has it: "4,450 (4,100 to 5,000)", or both of two."""

import math
import re
import statistics

from pandas import Series

_PERCENT = re.compile(r"(?<=\d)%")


def told(values: Series, show: str = "{:,.0f}", *, nothing: str = "not run") -> str:
    """Median and range over seeds in words, for the prose of a page.

    The median is the lower of two middle ones, as in a claim, so that it is a seed's
    value. Two seeds have no middle: both are told. Where all values print alike, as
    that of one seed does, there is no range.
    An epoch that never comes is infinite and reads "never"; a value that does not
    exist reads "no value", of the seeds that lack it. ``nothing`` is said where there
    is no seed: of an arm that nobody trained.
    """
    if values.empty:
        return nothing
    found = [float(value) for value in values]
    lacking = [str(seed) for seed in values.index[values.isna()]]
    if lacking:  # as in a smoke test: of the others alone it would tell another story
        return f"no value (seed {', '.join(lacking)})"
    middle = words(statistics.median_low(found), show)
    low, high = words(min(found), show), words(max(found), show)
    if low == high:
        return middle
    return f"{low} and {high}" if len(found) == 2 else f"{middle} ({low} to {high})"


def words(value: float, show: str = "{:,.0f}") -> str:
    """A value in words: "95 %" with a space that does not break.

    An epoch that never comes is infinite, "never".
    """
    if math.isinf(value):
        return "never"
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", show.format(value))
