"""Read what records say, and compute the events and values that decide verdicts.

Values of an arm are a pandas Series with one value per seed, so that they add, divide
and compare seed by seed. An epoch that never comes is infinite. A value that does not
exist is NaN, which no claim accepts: a page says what it counts as (``otherwise``). An
arm that nobody trained has no seeds. Every definition has a test.
"""

from claimbook.errors import needing_extra

with needing_extra():
    from claimbook.evidence.events import *
    from claimbook.evidence.reading import *
    from claimbook.evidence.run import *
