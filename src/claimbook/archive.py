"""The records of a book whose site is named, fetched once into the user's cache.

An archive is accepted by its SHA-256 alone, and its folder is named by it. Nothing in
an archive can run: only tables and settings are unpacked.
"""

import hashlib
import os
import re
import time
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from claimbook.errors import BookError

# A download is given up after so many seconds without a byte, or when it is so many
# seconds behind one of SLOWEST bytes a second.
PATIENCE = 30.0
SLOWEST = 10_000
BLOCK = 1 << 16  # bytes that are read at a time
# Suffixes of the files that are unpacked: data, which nothing runs.
DATA_SUFFIXES = {".csv", ".json", ".jsonl", ".parquet", ".safetensors", ".yaml", ".md"}


def site_folder(site: str) -> Path:
    """Return the folder of a site's records, which are downloaded if they are absent.

    ``site`` is an address with the digest of its archive: "https://…#sha256=…". Another
    digest is another edition, which is fetched into another folder. Raises BookError if
    there is no digest, or if the archive of that digest cannot be fetched.
    """
    address, _, digest = site.partition("#sha256=")
    address = f"{address.rstrip('/')}/downloads/grokbook.zip"
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise BookError(
            "GROKBOOK_SITE names no archive: write https://…#sha256=… with the SHA-256 "
            "that downloads/croissant.json of the site has for grokbook.zip"
        )
    try:
        import pooch

        folder = Path(pooch.os_cache("grokking-book")) / digest
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder.parent) as temporary:
                file = Path(temporary) / "grokbook.zip"
                _download(address, file, digest)
                _unpack_data(file, Path(temporary) / "data")
                # another process may have put its copy there meanwhile
                if not folder.is_dir():
                    os.replace(Path(temporary) / "data", folder)
    except Exception as error:  # the network, the disk or the file: a dozen types
        reason = str(error).partition("\n")[0][:120]
        message = f"{address} cannot be fetched ({reason}): set GROKBOOK_HOME to a copy"
        raise BookError(message) from error
    return folder / "grokbook"


def _download(address: str, file: Path, digest: str) -> None:
    """Download an address into a file, and check the SHA-256 of its content.

    Raises TimeoutError if the server is too slow, and ValueError if the address is not
    one of http or https or if the content has another digest.
    """
    from urllib.request import urlopen  # slow to import, and seldom needed

    if not address.startswith(("https://", "http://")):
        raise ValueError("it is not an address that begins with https://")
    begun = time.monotonic()
    size = 0
    sha256 = hashlib.sha256()
    with urlopen(address, timeout=PATIENCE) as answer, file.open("wb") as opened:
        while block := answer.read1(BLOCK):
            opened.write(block)
            sha256.update(block)
            size += len(block)
            if time.monotonic() - begun > PATIENCE + size / SLOWEST:
                raise TimeoutError("the server is too slow")
    if sha256.hexdigest() != digest:
        raise ValueError(f"what came, {size:,} bytes, is not of the SHA-256 {digest}")


def _unpack_data(file: Path, folder: Path) -> None:
    """Unpack the data files of an archive into a folder; its code is left out."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        data_names = [
            name for name in names if PurePosixPath(name).suffix in DATA_SUFFIXES
        ]
        archive.extractall(folder, data_names)
