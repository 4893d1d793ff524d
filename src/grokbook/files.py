"""Files are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write to, renamed to ``path`` when all went well.

    Whatever goes wrong leaves ``path`` as it was; of several writers the last one wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield mine
        with mine.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(mine, path)
    finally:
        mine.unlink(missing_ok=True)
