"""The records of a book whose site is named, fetched once into the user's cache.

An archive is accepted by its SHA-256 alone, and its folder is named by it. Nothing in
an archive can run: only tables and settings are unpacked.
"""

import io
import os
import re
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from claimbook import digest
from claimbook.errors import BookError

PATIENCE = 30.0  # seconds without a byte after which a download is given up
# Suffixes of the files that are unpacked: data, which nothing runs.
DATA_SUFFIXES = {".csv", ".json", ".jsonl", ".parquet", ".safetensors", ".yaml", ".md"}


def site_folder(site: str) -> Path:
    """Return the folder of a site's records, which are downloaded if they are absent.

    ``site`` is an address with the digest of its archive: "https://…#sha256=…". Another
    digest is another edition, which is fetched into another folder. Raises BookError if
    there is no digest (64 hexadecimal digits, in small letters), or if the archive of
    that digest cannot be fetched.
    """
    address, _, sha256 = site.partition("#sha256=")
    address = f"{address.rstrip('/')}/downloads/grokbook.zip"
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise BookError(
            "GROKBOOK_SITE names no archive: write https://…#sha256=… with the SHA-256 "
            "that downloads/croissant.json of the site has for grokbook.zip"
        )
    try:
        import pooch

        folder = Path(pooch.os_cache("grokking-book")) / sha256
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            # on the disk of the folder, so that it can be moved there at once, whole
            with TemporaryDirectory(dir=folder.parent) as temporary:
                _unpack_data(_download(address, sha256), Path(temporary) / "data")
                try:
                    os.replace(Path(temporary) / "data", folder)
                except OSError:
                    # another process may have put its copy there meanwhile
                    if not folder.is_dir():
                        raise
    except Exception as error:  # the network, the disk or the file: a dozen types
        reason = str(error).partition("\n")[0][:120]
        message = f"{address} cannot be fetched ({reason}): set GROKBOOK_HOME to a copy"
        raise BookError(message) from error
    return folder / "grokbook"  # all names in the archive begin with it


def _download(address: str, sha256: str) -> bytes:
    """Return the content of an address, which has to be of this SHA-256.

    Raises OSError if the server does not give it, and ValueError if the address is not
    one of http or https or if the content has another digest.
    """
    from urllib.request import urlopen  # slow to import, and seldom needed

    if not address.startswith(("https://", "http://")):
        raise ValueError("it is not an address that begins with https://")
    with urlopen(address, timeout=PATIENCE) as answer:
        content = answer.read()
    if digest.sha256(content) != sha256:
        size = f"{len(content):,} bytes"
        raise ValueError(f"what came, {size}, is not of the SHA-256 {sha256}")
    return content


def _unpack_data(content: bytes, folder: Path) -> None:
    """Unpack those files of a zip archive that have one of ``DATA_SUFFIXES``.

    They are put into ``folder``; if there are none, it is not made.
    """
    # zipfile itself lets no name in the archive lead out of the folder
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        data_names = [n for n in names if PurePosixPath(n).suffix in DATA_SUFFIXES]
        archive.extractall(folder, data_names)
