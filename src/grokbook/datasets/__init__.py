"""Tasks as tensors: every task is a function that returns a ``Data``, split in two.

    algorithmic   modular arithmetic, sparse parity, bare row numbers
    images        MNIST, CIFAR-10, CIFAR-100, folders of images, random crops
    text          WikiText and FineWeb-Edu in GPT-2's byte-pair code, whole files
    characters    sums figure by figure, Shakespeare letter by letter
    fetch         the public files behind them, checked every time they are read

Imports torch and numpy; pooch, pillow and tiktoken only where a task needs them.
"""

from collections.abc import Callable

from grokbook.datasets.algorithmic import (
    ENCODINGS,
    OPERATIONS,
    SHUFFLES,
    balanced_rows,
    modular,
    sparse_parity,
)
from grokbook.datasets.characters import SYMBOLS, additions, characters
from grokbook.datasets.data import Data
from grokbook.datasets.fetch import REGISTRY, URLS, address, fetch
from grokbook.datasets.images import (
    Images,
    cifar10,
    cifar100,
    crop_flip,
    image_folder,
    mnist,
)
from grokbook.datasets.text import VOCABULARY, encoder, text, wikitext

TASKS: dict[str, Callable[..., Data]] = {
    task.__name__: task
    for task in (
        modular,
        sparse_parity,
        balanced_rows,
        mnist,
        cifar10,
        cifar100,
        image_folder,
        wikitext,
        additions,
        characters,
    )
}
