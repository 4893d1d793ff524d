"""AdamW and SGD, for one network and for stacks, and hooks on any torch optimizer.

rules   the update rules: torch's own, and those of a stack, whose step can be captured
hooks   what is done to gradients or weights around a step
"""

from grokbook.optimizers.hooks import *
from grokbook.optimizers.rules import *
