"""Public data files: their addresses, their download and the check of their contents.

``registry.txt`` lists them in pooch's format, and pooch downloads those that are
missing. A file in the data folder (GROKBOOK_DATA, or data/downloads) needs no network.
"""

import hashlib
import tarfile
from pathlib import Path

from claimbook.errors import DataError, choose
from claimbook.project import data_folder

_LINES = Path(__file__).with_name("registry.txt").read_text().splitlines()
# name, SHA-256 and, unless the file comes out of an archive, address
_ROWS = [line.split() for line in _LINES if not line.startswith("#")]
REGISTRY = {name: digest for name, digest, *_ in _ROWS}
URLS = {name: address for name, _, *addresses in _ROWS for address in addresses}
# By the folder of files that are published in an archive: the archive.
ARCHIVES = {
    "cifar-10-batches-py": "cifar-10-python.tar.gz",
    "cifar-100-python": "cifar-100-python.tar.gz",
}


def fetch(name: str) -> bytes:
    """Return the bytes of a registered file, which is downloaded if it is absent.

    ``name`` is a key of ``REGISTRY``. Raises DataError if the file cannot be
    downloaded, or if its SHA-256 is not that of the published file, which is then left
    where it is. Raises UnknownName for a file that is not registered.
    """
    expected = choose("data file", name, REGISTRY)
    path = data_folder() / name
    if not path.exists():
        _download(name)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != expected:
        raise DataError(
            f"{path} is not the published {name} (SHA-256 {digest}, "
            f"expected {expected}): delete it and run again to fetch it anew"
        )
    return content


def _download(name: str) -> None:
    """Download a registered file, or unpack the archive that contains it.

    An archive that is in the data folder is not downloaded again. Raises DataError if
    anything fails.
    """
    folder = data_folder()
    source = ARCHIVES.get(name.partition("/")[0], name)
    try:
        import pooch

        pooch.get_logger().setLevel("WARNING")  # the message below is enough
        downloader = pooch.create(
            folder, base_url="", registry=REGISTRY, urls=URLS, allow_updates=False
        )
        file = downloader.fetch(source)
        if source != name:
            with tarfile.open(file) as archive:
                # "data" refuses to write outside of the folder
                archive.extractall(folder, filter="data")
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).partition("\n")[0][:120]
        raise DataError(
            f"{name} is not in {folder}: get it from {URLS[source]} and put it there, "
            f"or point GROKBOOK_DATA at a folder that has it ({reason})"
        ) from error
