"""What records say, and the definitions that decide verdicts, each with a test.

    reading     `Page`, and the records that it reads
    references  `reference`: the authors' own numbers, and what may lie behind them
    run         `Run`: one arm of a record, its values and events by seed; `finished`
    events      crossing, lasting, peak, lead, ratio, times, spikes
    slingshots  bursts before and after a collapse, feature inflation
    told        a value over seeds as a sentence has it

Series over seeds add, divide and compare seed by seed. An epoch that never comes is
infinite. A value that does not exist is NaN, which no claim takes: whoever reads it
says what it counts as (``otherwise``). An arm that nobody trained has no seeds.

Not covered: what a claim is (`claims`), and quantities made from weights (`metrics`).
"""

from grokbook.evidence.events import *
from grokbook.evidence.reading import *
from grokbook.evidence.references import *
from grokbook.evidence.run import *
from grokbook.evidence.slingshots import *
from grokbook.evidence.told import *
