"""Tasks as tensors: every task is a function that returns a training and a test set.

They come as one ``Data``. The package imports torch alone, and pooch, pillow,
tiktoken and numpy (for CIFAR) only where a task needs them.
"""

from collections.abc import Callable

from claimbook.protocol import Data
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

COMPUTED = (modular, permutations, sparse_parity, balanced_rows, additions)
READ = (mnist, cifar10, cifar100, image_folder, wikitext, characters, table)
TASKS: dict[str, Callable[..., Data]] = {f.__name__: f for f in (*COMPUTED, *READ)}
