"""Tasks as tensors: every task is a function that returns a ``Data``, split in two.

    algorithmic   modular arithmetic, sparse parity, bare row numbers
    images        MNIST, CIFAR-10, CIFAR-100, folders of images, random crops
    text          WikiText and FineWeb-Edu in GPT-2's byte-pair code, whole files
    characters    sums figure by figure, Shakespeare letter by letter
    fetch         the public files behind them, checked every time they are read

Imports torch and numpy; pooch, pillow and tiktoken only where a task needs them.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from grokbook.datasets.algorithmic import (
    ENCODINGS,
    OPERATIONS,
    SHUFFLES,
    balanced_rows,
    modular,
    modular_rows,
    sparse_parity,
)
from grokbook.datasets.characters import (
    SYMBOLS,
    additions,
    additions_rows,
    characters,
)
from grokbook.datasets.data import Data
from grokbook.datasets.fetch import REGISTRY, URLS, address, fetch
from grokbook.datasets.images import (
    PUBLISHED,
    Images,
    cifar10,
    cifar100,
    crop_flip,
    image_folder,
    mnist,
)
from grokbook.datasets.text import VOCABULARY, encoder, text, wikitext
from grokbook.errors import choose

TASKS: dict[str, Callable[..., Data]] = {
    "modular": modular,
    "sparse_parity": sparse_parity,
    "balanced_rows": balanced_rows,
    "mnist": mnist,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "image_folder": image_folder,
    "wikitext": wikitext,
    "additions": additions,
    "characters": characters,
}
__all__ = [
    "ENCODINGS",
    "OPERATIONS",
    "REGISTRY",
    "SHUFFLES",
    "SYMBOLS",
    "TASKS",
    "URLS",
    "VOCABULARY",
    "Data",
    "Images",
    "additions",
    "address",
    "balanced_rows",
    "cifar10",
    "cifar100",
    "characters",
    "crop_flip",
    "encoder",
    "fetch",
    "image_folder",
    "mnist",
    "modular",
    "rows",
    "sparse_parity",
    "text",
    "wikitext",
]


def rows(name: str, options: Mapping[str, Any]) -> int | None:
    """Training rows of a task, told from its options; None where its files decide.

    Nothing is read or drawn. UnknownName for an unknown task.
    """
    call = inspect.signature(choose("dataset", name, TASKS)).bind(**options)
    call.apply_defaults()
    given = call.arguments
    if name == "modular":
        needed = inspect.signature(modular_rows).parameters
        return modular_rows(**{option: given[option] for option in needed})
    if name == "sparse_parity":
        return given["samples"] // 2
    if name == "balanced_rows":
        return given["classes"] * given["per_class"]
    if name == "additions":
        needed = inspect.signature(additions_rows).parameters
        return additions_rows(**{option: given[option] for option in needed})
    if name not in PUBLISHED:
        return None
    there = 10_000 * given["batches"] if name == "cifar10" else PUBLISHED[name]
    wanted = given["train_samples"]
    return there if wanted is None else min(wanted, there)
