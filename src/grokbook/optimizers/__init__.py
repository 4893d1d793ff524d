"""AdamW and SGD, for one network and for stacks, and hooks on torch's own."""

from grokbook.optimizers.hooks import *
from grokbook.optimizers.rules import *
