"""Tasks as tensors: modular arithmetic, sparse parity, and four real data sets.

Every task is a function that returns a ``Data`` with its train and test split. The
algorithmic tasks draw from torch's global generator, as the official code of Prieto et
al. does: after ``torch.manual_seed(42)`` the split is theirs, row for row.

Real data are fetched once, checked against the SHA-256 pins below and kept in
``data/downloads`` or in the folder named by the variable GROKBOOK_DATA.
"""

import gzip
import hashlib
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

OPERATIONS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "add": lambda a, b, p: (a + b) % p,
    "subtract": lambda a, b, p: (a - b) % p,
    "multiply": lambda a, b, p: (a * b) % p,
    "divide": lambda a, b, p: (a * _inverses(p)[b]) % p,
}
ENCODINGS = ("tokens", "one_hot", "scalar", "binary", "random_binary")


@dataclass(frozen=True)
class Data:
    """One split task: x (rows, ...) tokens int64 or floats, y (rows,) int64."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor


def modular(
    p: int = 113,
    operation: str | Callable[[Tensor, Tensor, int], Tensor] = "add",
    train_fraction: float = 0.4,
    *,
    encoding: str = "tokens",
    bits: int | None = None,
    smallest: int = 0,
    equals: bool = False,
    shuffle: str = "torch",
) -> Data:
    """(a o b) mod p for all ordered pairs of smallest..p-1 [Prieto, section 3.1].

    ``encoding``: "tokens" (batch, 2) int64; "one_hot" (batch, 2p); "scalar" (batch, 2)
    the integers themselves; "binary" the base-2 code of each (official code of Figure
    4); "random_binary" distinct random codes of ``bits`` bits (the paper's wording).
    The training set has int(train_fraction * pairs) rows. "divide" takes a prime p and
    leaves b = 0 out. ``equals`` adds a third token, the equals sign, with number p.
    ``shuffle="python"`` splits as the code of Singh et al. 2026 does: Python's shuffle,
    seeded as torch's generator was, and int((1 - train_fraction) * pairs) test rows.
    """
    if not 0 < train_fraction < 1:
        raise ValueError(f"train_fraction must lie between 0 and 1: {train_fraction}")
    if encoding not in ENCODINGS:
        raise ValueError(
            f"unknown encoding {encoding!r}: use one of {', '.join(ENCODINGS)}"
        )
    if isinstance(operation, str):
        if operation not in OPERATIONS:
            raise ValueError(
                f"unknown operation {operation!r}: use one of {', '.join(OPERATIONS)}"
            )
        no_zero = operation == "divide"
        operation = OPERATIONS[operation]
    else:
        no_zero = False
    pairs = torch.cartesian_prod(torch.arange(smallest, p), torch.arange(smallest, p))
    if no_zero:
        pairs = pairs[pairs[:, 1] != 0]
    if equals and encoding != "tokens":
        raise ValueError("equals=True needs encoding='tokens'")
    if shuffle not in ("torch", "python"):
        raise ValueError(f"unknown shuffle {shuffle!r}: use 'torch' or 'python'")
    labels = operation(pairs[:, 0], pairs[:, 1], p)
    if shuffle == "torch":
        order = torch.randperm(len(pairs))
        n_train = int(train_fraction * len(pairs))
    else:
        numbers = list(range(len(pairs)))
        random.Random(torch.initial_seed()).shuffle(numbers)
        order = torch.tensor(numbers)
        n_train = len(pairs) - int((1 - train_fraction) * len(pairs))
    x = _encode(pairs, p, encoding, bits)  # random codes are drawn after the split
    if equals:
        x = torch.nn.functional.pad(x, (0, 1), value=p)
    train, test = order[:n_train], order[n_train:]
    return Data(x[train], labels[train], x[test], labels[test])


def _encode(pairs: Tensor, p: int, encoding: str, bits: int | None) -> Tensor:
    if encoding == "tokens":
        return pairs
    if encoding == "scalar":
        return pairs.float()
    if encoding == "one_hot":
        return torch.nn.functional.one_hot(pairs, p).flatten(1).float()
    bits = bits or (p - 1).bit_length()
    if 2**bits < p:
        raise ValueError(f"{bits} bits cannot tell {p} integers apart")
    codes = torch.arange(p) if encoding == "binary" else torch.randperm(2**bits)[:p]
    table = (codes[:, None] >> torch.arange(bits - 1, -1, -1)) & 1
    return table[pairs].flatten(1).float()


def _inverses(p: int) -> Tensor:
    if p < 2 or any(p % k == 0 for k in range(2, int(p**0.5) + 1)):
        raise ValueError(f"division needs a prime modulus, {p} is not one")
    return torch.tensor([0] + [pow(b, -1, p) for b in range(1, p)])


def sparse_parity(
    samples: int = 2000, *, relevant: int = 3, noise: int = 40, data_seed: int = 42
) -> Data:
    """Parity of the first bits of a bit string [Prieto, Figure 4; official code].

    ``relevant`` + ``noise`` bits in {0, 1} as floats, distinct rows, half for training.
    The rows come from Python's generator seeded with ``data_seed``: how long the delay
    is depends on them.
    """
    generator = random.Random(data_seed)
    bits, seen = relevant + noise, {}
    if samples > 2**bits:
        raise ValueError(f"there are no {samples} distinct strings of {bits} bits")
    while len(seen) < samples:
        seen[tuple(generator.getrandbits(1) for _ in range(bits))] = None
    x = torch.tensor(list(seen), dtype=torch.float32)
    y = x[:, :relevant].sum(1).long() % 2
    order = torch.randperm(samples)
    train, test = order[: samples // 2], order[samples // 2 :]
    return Data(x[train], y[train], x[test], y[test])


def mnist(*, train_samples: int = 60_000) -> Data:
    """MNIST, pixels in [0, 1] as (rows, 784) float32; the full test set of 10,000.

    ``train_samples`` are drawn without replacement [Prieto, Figure 14: 200].
    """

    def read(name: str, header: int) -> np.ndarray:
        raw = gzip.decompress(fetch(f"MNIST/raw/{name}-ubyte.gz").read_bytes())
        return np.frombuffer(raw, np.uint8, offset=header)

    def images(name: str) -> Tensor:
        pixels = read(name, 16).reshape(-1, 784).astype(np.float32)
        return torch.from_numpy(pixels / 255)

    def labels(name: str) -> Tensor:
        return torch.from_numpy(read(name, 8).astype(np.int64))

    x, y = images("train-images-idx3"), labels("train-labels-idx1")
    chosen = torch.randperm(len(x))[:train_samples]
    return Data(
        x[chosen], y[chosen], images("t10k-images-idx3"), labels("t10k-labels-idx1")
    )


def cifar10(
    *,
    normalised: bool = False,
    train_samples: int | None = None,
    test_samples: int | None = None,
) -> Data:
    """CIFAR-10, pixels in [0, 1] as (rows, 3, 32, 32) float32.

    ``normalised``: minus the mean, over the deviation of the training pixels of each
    channel. ``train_samples`` are drawn; ``test_samples``: the first so many.
    """
    names = [f"cifar-10-batches-py/data_batch_{k}" for k in range(1, 6)]
    parts = (
        _cifar(names, b"labels"),
        _cifar(["cifar-10-batches-py/test_batch"], b"labels"),
    )
    return _images(*parts, normalised, train_samples, test_samples)


def cifar100(
    *,
    normalised: bool = False,
    train_samples: int | None = None,
    test_samples: int | None = None,
) -> Data:
    """CIFAR-100 with its 100 fine classes, as ``cifar10``."""
    parts = (
        _cifar([f"cifar-100-python/{name}"], b"fine_labels")
        for name in ("train", "test")
    )
    return _images(*parts, normalised, train_samples, test_samples)


def _cifar(names: list[str], labels: bytes) -> tuple[Tensor, Tensor]:
    def read(name: str) -> tuple[Tensor, Tensor]:
        # Python 2 pickles: opened only after their hash has been checked
        with fetch(name).open("rb") as file:
            batch = pickle.load(file, encoding="bytes")
        pixels = batch[b"data"].reshape(-1, 3, 32, 32).astype(np.float32)
        return torch.from_numpy(pixels / 255), torch.tensor(batch[labels])

    x, y = zip(*map(read, names), strict=True)
    return torch.cat(x), torch.cat(y)


def _images(train, test, normalised, train_samples, test_samples) -> Data:
    (x, y), (x_test, y_test) = train, test
    if normalised:
        channels = (0, 2, 3)
        mean, deviation = x.mean(channels), x.std(channels)
        x, x_test = (
            (part - mean[:, None, None]) / deviation[:, None, None]
            for part in (x, x_test)
        )
    if train_samples is not None:
        chosen = torch.randperm(len(x))[:train_samples]
        x, y = x[chosen], y[chosen]
    return Data(x, y, x_test[:test_samples], y_test[:test_samples])


def text(name: str) -> str:
    """A whole corpus file, as in text("tinyshakespeare/input.txt")."""
    return fetch(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Download:
    """Where one file comes from and the SHA-256 (or "md5:" and MD5) of its bytes."""

    url: str
    sha256: str
    archive_hash: str | None = None  # set where the address is a tar of several files


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
_CIFAR_MD5 = "md5:c58f30108f718f92721af3b95e74349a"
_CIFAR100 = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
_CIFAR100_MD5 = "md5:eb9058c3a382ffc7106e4002c42a8d85"
_SHAKESPEARE = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/"
)
_WIKITEXT = (
    "https://raw.githubusercontent.com/pytorch/examples/main/"
    "word_language_model/data/wikitext-2/"
)

REGISTRY: dict[str, Download] = {
    "MNIST/raw/train-images-idx3-ubyte.gz": Download(
        _MNIST + "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "MNIST/raw/train-labels-idx1-ubyte.gz": Download(
        _MNIST + "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "MNIST/raw/t10k-images-idx3-ubyte.gz": Download(
        _MNIST + "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "MNIST/raw/t10k-labels-idx1-ubyte.gz": Download(
        _MNIST + "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    "tinyshakespeare/input.txt": Download(
        _SHAKESPEARE + "input.txt",
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    ),
    "wikitext-2/wiki.train.tokens": Download(
        _WIKITEXT + "train.txt",
        "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
    ),
    "wikitext-2/wiki.valid.tokens": Download(
        _WIKITEXT + "valid.txt",
        "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
    ),
    "wikitext-2/wiki.test.tokens": Download(
        _WIKITEXT + "test.txt",
        "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
    ),
    "gpt2/encoder.json": Download(
        "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/encoder.json",
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    ),
    # the published sums of the members are MD5
    "cifar-100-python/train": Download(
        _CIFAR100, "md5:16019d7e3df5f24257cddd939b257f8d", _CIFAR100_MD5
    ),
    "cifar-100-python/test": Download(
        _CIFAR100, "md5:f0ef6b0ae62326f3e7ffdfab6717acfc", _CIFAR100_MD5
    ),
} | {
    f"cifar-10-batches-py/{name}": Download(_CIFAR, sha256, _CIFAR_MD5)
    for name, sha256 in zip(
        [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"],
        [
            "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
            "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
            "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
            "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
            "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
            "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831",
        ],
        strict=True,
    )
}


class DataError(RuntimeError):
    """A data file is missing, cannot be fetched, or is not the one that was pinned."""


def data_folder() -> Path:
    """GROKBOOK_DATA if set, else data/downloads below the project."""
    default = Path(__file__).resolve().parents[2] / "data" / "downloads"
    return Path(os.environ.get("GROKBOOK_DATA") or default)


def fetch(name: str) -> Path:
    """Path of a registered file, fetched if absent, its SHA-256 checked every time.

    DataError names the file, its address and the variable if that cannot be done.
    """
    if name not in REGISTRY:
        raise DataError(f"no data file {name!r}: known are {', '.join(REGISTRY)}")
    path, wanted = data_folder() / name, REGISTRY[name]
    if not path.exists():
        _download(name, path, wanted)
    algorithm, _, expected = wanted.sha256.rpartition(":")
    digest = hashlib.new(algorithm or "sha256", path.read_bytes()).hexdigest()
    if digest != expected:
        raise DataError(
            f"{path} is not the published {name} ({algorithm or 'SHA-256'} "
            f"{digest[:12]}..., expected {expected[:12]}...): delete it and run again "
            "to fetch it anew"
        )
    return path


def _download(name: str, path: Path, wanted: Download) -> None:
    where = (
        f"{name} is not in {data_folder()}: get it from {wanted.url} and put it there, "
        "or point GROKBOOK_DATA at a folder that has it"
    )
    try:
        import pooch
    except ImportError as error:
        raise DataError(f"{where} (pooch, which would fetch it, is missing)") from error
    try:
        if wanted.archive_hash is None:
            pooch.retrieve(
                wanted.url, f"sha256:{wanted.sha256}", path.name, path.parent
            )
        else:
            unpack = pooch.Untar(members=None, extract_dir=".")
            pooch.retrieve(
                wanted.url,
                wanted.archive_hash,
                "archive.tar.gz",
                path.parent.parent,
                processor=unpack,
            )
    except Exception as error:  # pooch raises requests, OS and value errors alike
        reason = str(error).splitlines()[0][:120] if str(error) else repr(error)
        raise DataError(f"{where} ({reason})") from error
