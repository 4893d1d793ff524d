"""Files are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write to, renamed to ``path`` when all went well.

    Whatever goes wrong is raised again, with ``path`` as it was and nothing left over.
    Where others write the same file, the last one stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield mine
        with mine.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(mine, path)
    except BaseException:
        with contextlib.suppress(OSError):
            mine.unlink(missing_ok=True)
        raise
