"""What records say, and the definitions that decide verdicts, each with a test.

    reading     `Page`, and the records that it reads
    references  `reference`: the authors' own numbers, and what may lie behind them
    run         `Run`: one arm of a record, its values by seed; `told` in a sentence
    events      crossing, lasting, peak; lead, ratio, times of arms; area, power
    slingshots  spikes of a loss before and after a collapse, feature inflation

Series over seeds add, divide and compare seed by seed. An epoch that never comes is
infinite. A value that does not exist is NaN, which no claim takes: whoever reads it
says what it counts as (``otherwise``). An arm that nobody trained has no seeds.
"""

from grokbook.evidence.events import *
from grokbook.evidence.reading import *
from grokbook.evidence.references import *
from grokbook.evidence.run import *
from grokbook.evidence.slingshots import *
