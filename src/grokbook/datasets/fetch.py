"""Public data files: where they come from, and the check that they are the right ones.

``REGISTRY`` and ``URLS`` are tables in the sense of pooch, which downloads what is
missing. A file that lies in the data folder (``grokbook.project.data_folder``: the one
named by GROKBOOK_DATA, or data/downloads) needs neither pooch nor a network, and the
folder may be read-only. Either way its hash is compared each time it is asked for.
"""

import hashlib
from pathlib import Path

from grokbook.errors import DataError, choose
from grokbook.project import data_folder

_CIFAR10 = "cifar-10-batches-py/"
_CIFAR100 = "cifar-100-python/"

# SHA-256 of each file, or "md5:" and MD5 where only that is published.
REGISTRY: dict[str, str] = {
    "MNIST/raw/train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "MNIST/raw/train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "MNIST/raw/t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "MNIST/raw/t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
    _CIFAR10 + "data_batch_1": (
        "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd"
    ),
    _CIFAR10 + "data_batch_2": (
        "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8"
    ),
    _CIFAR10 + "data_batch_3": (
        "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9"
    ),
    _CIFAR10 + "data_batch_4": (
        "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b"
    ),
    _CIFAR10 + "data_batch_5": (
        "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154"
    ),
    _CIFAR10 + "test_batch": (
        "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831"
    ),
    _CIFAR100 + "train": "md5:16019d7e3df5f24257cddd939b257f8d",
    _CIFAR100 + "test": "md5:f0ef6b0ae62326f3e7ffdfab6717acfc",
    "cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a",
    "cifar-100-python.tar.gz": "md5:eb9058c3a382ffc7106e4002c42a8d85",
    "tinyshakespeare/input.txt": (
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    ),
    "wikitext-2/wiki.train.tokens": (
        "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f"
    ),
    "wikitext-2/wiki.valid.tokens": (
        "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"
    ),
    "wikitext-2/wiki.test.tokens": (
        "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"
    ),
    # 1 MB that a repository says is of FineWeb-Edu's sample-10BT; there is no other pin
    "fineweb-edu-sample/fineweb_edu_sample.txt": (
        "898138edfad3ff17d91697ee8c758d64b79356720c427accddbbdf6612bb5a6e"
    ),
    "gpt2/encoder.json": (
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
    ),
}
# Folders of files that are published as one archive.
ARCHIVES = {_CIFAR10: "cifar-10-python.tar.gz", _CIFAR100: "cifar-100-python.tar.gz"}

_MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CIFAR_URL = "https://www.cs.toronto.edu/~kriz/"
_WIKITEXT_URL = (
    "https://raw.githubusercontent.com/pytorch/examples/main/"
    "word_language_model/data/wikitext-2/"
)
URLS: dict[str, str] = {
    "tinyshakespeare/input.txt": (
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/"
        "tinyshakespeare/input.txt"
    ),
    "fineweb-edu-sample/fineweb_edu_sample.txt": (
        "https://raw.githubusercontent.com/sdrshn-nmbr/gpt-2.x/"
        "5c89630697f144d518b455077107b8bc3b21a54b/fineweb_sample.txt"
    ),
    "gpt2/encoder.json": (
        "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/encoder.json"
    ),
    **{
        f"wikitext-2/wiki.{part}.tokens": f"{_WIKITEXT_URL}{part}.txt"
        for part in ("train", "valid", "test")
    },
    **{
        name: _MNIST_URL + name.removeprefix("MNIST/raw/")
        for name in REGISTRY
        if name.startswith("MNIST/")
    },
    **{archive: _CIFAR_URL + archive for archive in ARCHIVES.values()},
}


def fetch(name: str) -> Path:
    """Path of a registered file, fetched if absent, its hash checked every time.

    DataError names the file, its address and GROKBOOK_DATA where it cannot be had, and
    refuses, but leaves alone, a file that is not the published one. UnknownName for a
    file that is not in ``REGISTRY``.
    """
    choose("data file", name, REGISTRY)
    path = data_folder() / name
    if not path.exists():
        _download(name)
    _compare(path, name)
    return path


def address(name: str) -> str:
    """Where a registered file can be had: its own address or that of its archive."""
    return URLS[_published_as(name)]


def _published_as(name: str) -> str:
    return ARCHIVES.get(name[: name.rfind("/") + 1], name)


def _compare(path: Path, name: str) -> None:
    algorithm, _, expected = REGISTRY[name].rpartition(":")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, algorithm or "sha256").hexdigest()
    if digest != expected:
        raise DataError(
            f"{path} is not the published {name} ({algorithm or 'SHA-256'} "
            f"{digest[:12]}..., expected {expected[:12]}...): delete it and run again "
            "to fetch it anew"
        )


def _download(name: str) -> None:
    folder, source = data_folder(), _published_as(name)
    where = (
        f"{name} is not in {folder}: get it from {URLS[source]} and put it there, or "
        "point GROKBOOK_DATA at a folder that has it"
    )
    try:
        import pooch
    except ImportError as error:
        raise DataError(f"{where} (pooch, which would fetch it, is missing)") from error
    pooch.get_logger().setLevel("WARNING")  # an error is told in one sentence, ours
    try:
        shelf = pooch.create(
            folder, base_url="", registry=REGISTRY, urls=URLS, allow_updates=False
        )
        unpack = pooch.Untar(extract_dir=".") if source != name else None
        shelf.fetch(source, processor=unpack)
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).splitlines()[0][:120] if str(error) else repr(error)
        raise DataError(f"{where} ({reason})") from error
