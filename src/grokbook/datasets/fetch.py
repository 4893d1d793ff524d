"""Public data files: where they come from, and the check that they are the right ones.

``registry.txt`` lists them as pooch does, which downloads what is missing. A file that
lies in the data folder (GROKBOOK_DATA, or data/downloads) needs no network.
"""

import hashlib
from pathlib import Path

from grokbook.errors import DataError, choose
from grokbook.project import data_folder

_LINES = Path(__file__).with_name("registry.txt").read_text().splitlines()
_ROWS = [line.split() for line in _LINES if not line.startswith("#")]
REGISTRY = {name: digest for name, digest, *_ in _ROWS}
URLS = {row[0]: row[2] for row in _ROWS if len(row) == 3}
# Folders of files that are published as one archive.
ARCHIVES = {"cifar-10-batches-py": "cifar-10-python.tar.gz"}
ARCHIVES |= {"cifar-100-python": "cifar-100-python.tar.gz"}


def fetch(name: str) -> Path:
    """Path of a registered file, fetched if absent, its hash checked every time.

    DataError where it cannot be had, and for one that is not the published one, which
    is left alone. UnknownName for a file that is not in ``REGISTRY``.
    """
    algorithm, _, expected = choose("data file", name, REGISTRY).rpartition(":")
    path = data_folder() / name
    if not path.exists():
        _download(name)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, algorithm or "sha256").hexdigest()
    if digest != expected:
        raise DataError(
            f"{path} is not the published {name} ({algorithm or 'SHA-256'} {digest}, "
            f"expected {expected}): delete it and run again to fetch it anew"
        )
    return path


def _download(name: str) -> None:
    folder, source = data_folder(), ARCHIVES.get(name.partition("/")[0], name)
    try:
        import pooch

        pooch.get_logger().setLevel("WARNING")  # an error is told in one sentence, ours
        options = {"registry": REGISTRY, "urls": URLS, "allow_updates": False}
        unpack = pooch.Untar(extract_dir=".") if source != name else None
        pooch.create(folder, base_url="", **options).fetch(source, processor=unpack)
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).partition("\n")[0][:120]
        raise DataError(
            f"{name} is not in {folder}: get it from {URLS[source]} and put it there, "
            f"or point GROKBOOK_DATA at a folder that has it ({reason})"
        ) from error
