"""What records say, and the definitions that decide verdicts, each with a test.

Series over seeds add, divide and compare seed by seed. An epoch that never comes is
infinite. A value that does not exist is NaN, which no claim takes: whoever reads it
says what it counts as (``otherwise``). An arm that nobody trained has no seeds.
"""

from claimbook.evidence.events import *
from claimbook.evidence.reading import *
from claimbook.evidence.run import *
