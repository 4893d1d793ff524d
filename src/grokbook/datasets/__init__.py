"""Tasks as tensors: every task is a function that returns a ``Data``, split in two.

    algorithmic   modular arithmetic, sparse parity, bare row numbers
    images        MNIST, CIFAR-10, CIFAR-100, folders of images, random crops
    text          WikiText and FineWeb-Edu in GPT-2's byte-pair code, whole files
    characters    sums figure by figure, Shakespeare letter by letter
    fetch         the public files behind them, checked every time they are read

Imports torch and numpy; pooch, pillow and tiktoken only where a task needs them.
"""

from collections.abc import Callable

from grokbook.datasets.algorithmic import balanced_rows, modular, sparse_parity
from grokbook.datasets.characters import additions, characters
from grokbook.datasets.data import Data
from grokbook.datasets.fetch import REGISTRY, fetch
from grokbook.datasets.images import cifar10, cifar100, crop_flip, image_folder, mnist
from grokbook.datasets.text import text, wikitext

COMPUTED = (modular, sparse_parity, balanced_rows, additions)
READ = (mnist, cifar10, cifar100, image_folder, wikitext, characters)
TASKS: dict[str, Callable[..., Data]] = {f.__name__: f for f in (*COMPUTED, *READ)}
