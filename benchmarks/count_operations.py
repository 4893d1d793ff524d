"""Count the operations of a step of every arm, for `grokbook list`, which has no torch.

`python benchmarks/count_operations.py` renews src/grokbook/engine/operations.json after
an experiment was added.
"""

import json

from grokbook import papers
from grokbook.engine import cost, counted
from grokbook.experiment import SCALES

found = {
    cost.key(arm): counted.step_flop(arm)
    for scale in SCALES
    for name in papers.names()
    for arm in papers.get(name, scale).arms
}
lines = (f"{json.dumps(key)}: {found[key]:.0f}" for key in sorted(found))
cost.TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
print(f"{len(found)} kinds of step in {cost.TABLE}")
