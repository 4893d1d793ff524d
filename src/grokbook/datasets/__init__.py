"""Tasks as tensors: every task is a function that returns a training and a test set.

They come as one `claimbook.protocol.Data`. The package imports torch alone, and pooch,
pillow, tiktoken and numpy (for CIFAR) only where a task needs them.
"""

from grokbook.datasets.algorithmic import (
    additions,
    balanced_rows,
    modular,
    sparse_parity,
)
from grokbook.datasets.fetch import REGISTRY, fetch
from grokbook.datasets.groups import permutations
from grokbook.datasets.images import (
    cifar10,
    cifar100,
    crop_flip,
    image_folder,
    mnist,
)
from grokbook.datasets.tables import table
from grokbook.datasets.text import characters, text, wikitext
