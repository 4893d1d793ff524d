"""A duration as people say it: `12 min`, `3 days`, `4 years`."""

_UNITS = (  # name, its seconds, the seconds from which it is used
    ("s", 1.0, 0.0),
    ("min", 60.0, 90.0),
    ("h", 3600.0, 90 * 60.0),
    ("days", 86_400.0, 36 * 3600.0),
    ("months", 30.44 * 86_400, 60 * 86_400.0),
    ("years", 365.25 * 86_400, 730 * 86_400.0),
)


def span(seconds: float) -> str:
    """A duration in whole units, with one decimal below three of them.

    Every unit goes on to about one and a half of the next, so "80 min" is told in
    minutes and "2.5 h" in hours.
    """
    name, size, _ = next(unit for unit in reversed(_UNITS) if seconds >= unit[2])
    many = seconds / size
    digits = 1 if many < 3 and name != "s" else 0
    told = f"{many:,.{digits}f}".removesuffix(".0")
    return f"{told} {name}"
