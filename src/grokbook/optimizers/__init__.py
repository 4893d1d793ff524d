"""AdamW and SGD, for one network and for stacks, and hooks on any torch optimizer."""

from grokbook.optimizers.hooks import *
from grokbook.optimizers.rules import *
