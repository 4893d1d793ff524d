"""Public data files: where they come from, and the check that they are the right ones.

``registry.txt`` lists them as pooch does, which downloads what is missing. A file that
lies in the data folder (GROKBOOK_DATA, or data/downloads) needs no network.
"""

import hashlib
import tarfile
from pathlib import Path

from claimbook.errors import DataError, choose
from claimbook.project import data_folder

_LINES = Path(__file__).with_name("registry.txt").read_text().splitlines()
_ROWS = [line.split() for line in _LINES if not line.startswith("#")]
REGISTRY = {name: digest for name, digest, *_ in _ROWS}
URLS = {row[0]: row[2] for row in _ROWS if len(row) == 3}
# Folders of files that are published as one archive.
ARCHIVES = {"cifar-10-batches-py": "cifar-10-python.tar.gz"}
ARCHIVES |= {"cifar-100-python": "cifar-100-python.tar.gz"}


def fetch(name: str) -> bytes:
    """A registered file, downloaded if absent: the very bytes whose hash was compared.

    DataError where it cannot be had, and for one that is not the published one, which
    is left alone. UnknownName for a file that is not in ``REGISTRY``.
    """
    expected, path = choose("data file", name, REGISTRY), data_folder() / name
    if not path.exists():
        _download(name)
    digest = hashlib.sha256(content := path.read_bytes()).hexdigest()
    if digest != expected:
        raise DataError(
            f"{path} is not the published {name} (SHA-256 {digest}, "
            f"expected {expected}): delete it and run again to fetch it anew"
        )
    return content


def _download(name: str) -> None:
    folder, source = data_folder(), ARCHIVES.get(name.partition("/")[0], name)
    try:
        import pooch

        pooch.get_logger().setLevel("WARNING")  # an error is told in one sentence, ours
        options = {"registry": REGISTRY, "urls": URLS, "allow_updates": False}
        file = pooch.create(folder, base_url="", **options).fetch(source)
        if source != name:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).partition("\n")[0][:120]
        raise DataError(
            f"{name} is not in {folder}: get it from {URLS[source]} and put it there, "
            f"or point GROKBOOK_DATA at a folder that has it ({reason})"
        ) from error
