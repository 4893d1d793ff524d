"""Files are written whole or not at all, one or several together."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


class Batch:
    """Files that are written under other names first, then take their places."""

    def __init__(self) -> None:
        self._parts: dict[Path, Path] = {}
        self._gone: list[Path] = []

    def write(self, path: Path) -> Path:
        """A temporary path to write to, which becomes ``path`` in the end."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._parts.setdefault(path, path.with_name(path.name + ".part"))

    def remove(self, path: Path) -> None:
        """Remove a file, if there is one, once the others are in their places."""
        self._gone.append(path)

    def _finish(self) -> None:
        for temporary in self._parts.values():
            temporary.chmod(0o644)  # some writers let nobody else read their files
        for path, temporary in self._parts.items():
            os.replace(temporary, path)
        for path in self._gone:
            path.unlink(missing_ok=True)

    def _forget(self) -> None:
        for temporary in self._parts.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def together() -> Iterator[Batch]:
    """Several files, renamed in the order of their writing when all went well.

    Whatever goes wrong is raised again; what goes wrong in writing, as on a full disk,
    leaves every file as it was. Nothing temporary is left over.
    """
    batch = Batch()
    try:
        yield batch
        batch._finish()
    except BaseException:
        batch._forget()
        raise


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path to write to, renamed to ``path`` when all went well.

    Whatever goes wrong is raised again, with ``path`` as it was and nothing left over.
    """
    with together() as batch:
        yield batch.write(path)


@contextlib.contextmanager
def contested(path: Path) -> Iterator[Path]:
    """As ``whole``, where others may be writing the same file: the last one stays."""
    mine = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield mine
        os.replace(mine, path)
    except BaseException:
        with contextlib.suppress(OSError):
            mine.unlink(missing_ok=True)
        raise
