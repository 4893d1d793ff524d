"""A task of one's own: a table of two inputs and a label, read from a CSV file."""

import csv
import hashlib
from pathlib import Path

import torch
import torch.nn.functional as F

from claimbook.errors import DataError
from claimbook.protocol import Data
from grokbook.datasets.checks import random_split, sorted_index


def table(
    path: str,
    sha256: str = "",
    train_fraction: float = 0.5,
    *,
    equals: bool = False,
) -> Data:
    """Return the task of a CSV file, whose digest is part of the task.

    The first line of the file names three columns, two inputs and a label; each line
    that follows is a row of three words. ``path`` is absolute, or relative to the
    working directory; ``sha256`` is the SHA-256 of the file. x (rows, 2) are tokens and
    y (rows,) labels, both int64: the place of a word among all sorted words of both
    inputs, and of a label among all sorted labels. So a network needs as many tokens as
    there are words in the inputs, and as many classes as there are labels. A random
    share of ``train_fraction`` of the rows, rounded down, is the training set.
    ``equals`` appends the equals sign, one token more.

    Raises DataError if the file is missing, has another digest or an incomplete row, or
    has a pair of inputs twice, which might be both trained on and tested. Raises
    BookError if there are too few rows for two sets.
    """
    rows = _rows(path, sha256)
    token_of = sorted_index(word for *inputs, _ in rows for word in inputs)
    class_of = sorted_index(label for *_, label in rows)
    x = torch.tensor([[token_of[a], token_of[b]] for a, b, _ in rows])
    y = torch.tensor([class_of[label] for *_, label in rows])
    if equals:
        x = F.pad(x, (0, 1), value=len(token_of))
    return random_split(x, y, train_fraction)


def _rows(path: str, sha256: str) -> list[tuple[str, str, str]]:
    """Return the rows (input, input, label) of a CSV file below its first line.

    Spaces around a word are cut. Raises DataError for anything that ``table`` refuses.
    """
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a ValueError is a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"the table {path} cannot be read ({reason})") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        remark = f"and not {sha256!r}" if sha256 else "which the task has to name"
        raise DataError(f"the SHA-256 of {path} is {digest}, {remark}")
    try:
        # -sig: spreadsheets write a mark before the first word
        lines = [*csv.reader(content.decode("utf-8-sig").splitlines(), strict=True)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not CSV in UTF-8 ({error})") from error
    rows = list[tuple[str, str, str]]()
    line_of_pair = dict[tuple[str, str], int]()
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line]
        if len(cells) != 3 or not all(cells):
            raise DataError(
                f"line {number} of {path} is {','.join(line)!r}: each has two inputs "
                "and a label, and no cell is empty"
            )
        if number == 1:  # it names the columns
            continue
        first, second, label = cells
        # the line that had the pair first, which is this one if it is new
        earlier = line_of_pair.setdefault((first, second), number)
        if earlier != number:
            raise DataError(
                f"lines {earlier} and {number} of {path} have the same inputs, which "
                "would be trained on and tested: leave one out"
            )
        rows.append((first, second, label))
    return rows
