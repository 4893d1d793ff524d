"""The first cell of a handout: `source` is its text, and `get_ready` what it does.

The function travels as text into notebooks that have no package yet. So it imports what
it needs itself, asks for nothing but Python, and speaks in single sentences.
"""

import inspect
import json


def get_ready(
    *, site: str, archive: str, version: str, packages: dict, files: dict
) -> None:
    """Install the package of the book and fetch the files that this notebook reads.

    They come from the archive of the book if it lies beside the notebook, or else from
    the book's site. All are checked by SHA-256; those that are there are not fetched.
    """
    import hashlib
    import importlib
    import os
    import subprocess
    import sys
    import urllib.request
    import zipfile
    from importlib import metadata
    from pathlib import Path

    beside, kept = Path(archive), Path("grokking-book")
    again = (
        f"download this notebook and {archive} again, from the same page of the book"
    )

    def local() -> bool:
        if not beside.is_file() and not site:
            sys.exit(
                f"Download {archive} from the page Downloads of the book into the "
                f"folder of this notebook, {Path.cwd()}, and run this cell again."
            )
        return beside.is_file()

    def content(name: str) -> bytes:
        if local():
            with zipfile.ZipFile(beside) as opened:
                return opened.read(f"{beside.stem}/{name}")
        address = f"{site}/downloads/{name.removeprefix('data/')}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.read()

    def good(data: bytes, sha256: str) -> bool:
        return hashlib.sha256(data).hexdigest() == sha256

    for name, sha256 in files.items():
        path = kept / name
        if path.is_file() and good(path.read_bytes(), sha256):
            continue
        try:
            data = content(name)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            sys.exit(f"{name} cannot be had ({error}): {again}.")
        if not good(data, sha256):
            sys.exit(f"{name} is not the file this notebook was made with: {again}.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        there = metadata.version("grokbook") == version
    except metadata.PackageNotFoundError:
        there = False
    if not there:
        name = archive if local() else f"grokbook-{version}.zip"
        address = beside.resolve().as_uri() if local() else f"{site}/downloads/{name}"
        wanted = f"grokbook[pages] @ {address}#sha256={packages[name]}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", wanted]
        if subprocess.run(pip).returncode:
            sys.exit(f"pip could not install {name}, see above: {again}.")
        importlib.invalidate_caches()
    kept.mkdir(exist_ok=True)
    os.environ["GROKBOOK_HOME"] = str(kept.resolve())


def source(**told: object) -> str:
    """The text of the cell: the function, and its call with what it is told."""
    given = json.dumps(told, indent=4)
    return f"{inspect.getsource(get_ready)}\n\nget_ready(**{given})"
