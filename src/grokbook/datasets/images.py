"""Images as tensors: MNIST, CIFAR-10 and CIFAR-100, folders of images, random crops.

The first three are fetched and checked. ``image_folder`` reads the layout of ImageNet,
<corpus>/train/<class>/<image> and <corpus>/val/<class>/<image>, from the data folder;
nothing is fetched there, since ImageNet asks for a registration. Draws come from
torch's global generator.
"""

import gzip
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from grokbook.datasets.data import Data
from grokbook.datasets.fetch import fetch
from grokbook.errors import DataError
from grokbook.project import data_folder

# Channel means and deviations of ImageNet's training images, as everybody uses them.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCHES = 5  # files of 10,000 training images that CIFAR-10 comes in
Labelled = tuple[Tensor, Tensor]


def mnist(*, train_samples: int = 60_000) -> Data:
    """MNIST, pixels in [0, 1] as (rows, 784) float32; the full test set of 10,000.

    ``train_samples`` are drawn without replacement [Prieto, Figure 14: 200].
    """

    def part(name: str) -> Labelled:
        pixels = _idx(f"{name}-images-idx3", header=16).reshape(-1, 784)
        labels = _idx(f"{name}-labels-idx1", header=8)
        x = torch.from_numpy(pixels.astype(np.float32) / 255)
        return x, torch.from_numpy(labels.astype(np.int64))

    return Data(*_draw(*part("train"), train_samples), *part("t10k"))


def _idx(name: str, *, header: int) -> np.ndarray:
    raw = gzip.decompress(fetch(f"MNIST/raw/{name}-ubyte.gz").read_bytes())
    return np.frombuffer(raw, np.uint8, offset=header)


def cifar10(
    *,
    normalised: bool = False,
    train_samples: int | None = None,
    test_samples: int | None = None,
    batches: int = BATCHES,
) -> Data:
    """CIFAR-10, pixels in [0, 1] as (rows, 3, 32, 32) float32.

    ``normalised``: minus the mean, over the deviation of the training pixels of each
    channel. ``train_samples`` are drawn; ``test_samples``: the first so many.
    ``batches``: only the first so many files of 10,000 training images are read; the
    draw and the mean are then of these. ValueError for more than there are.
    """
    if not 1 <= batches <= BATCHES:
        raise ValueError(f"batches must lie in 1..{BATCHES}: {batches}")
    if train_samples is not None and train_samples > 10_000 * batches:
        raise ValueError(
            f"{batches} batches of CIFAR-10 have {10_000 * batches:,} images, fewer "
            f"than train_samples={train_samples}: read more batches"
        )
    names = [f"cifar-10-batches-py/data_batch_{k}" for k in range(1, batches + 1)]
    train = _cifar(names, b"labels")
    test = _cifar(["cifar-10-batches-py/test_batch"], b"labels")
    return _split(train, test, normalised, train_samples, test_samples)


def cifar100(
    *,
    normalised: bool = False,
    train_samples: int | None = None,
    test_samples: int | None = None,
) -> Data:
    """CIFAR-100 with its 100 fine classes, as ``cifar10``."""
    train = _cifar(["cifar-100-python/train"], b"fine_labels")
    test = _cifar(["cifar-100-python/test"], b"fine_labels")
    return _split(train, test, normalised, train_samples, test_samples)


def _cifar(names: list[str], labels: bytes) -> Labelled:
    def read(name: str) -> Labelled:
        # Python 2 pickles: opened only after their hash has been checked
        with fetch(name).open("rb") as file:
            batch = pickle.load(file, encoding="bytes")
        pixels = batch[b"data"].reshape(-1, 3, 32, 32).astype(np.float32)
        return torch.from_numpy(pixels / 255), torch.tensor(batch[labels])

    x, y = zip(*map(read, names), strict=True)
    return torch.cat(x), torch.cat(y)


def _split(
    train: Labelled,
    test: Labelled,
    normalised: bool,
    train_samples: int | None,
    test_samples: int | None,
) -> Data:
    (x, y), (x_test, y_test) = train, test
    if normalised:
        mean, deviation = x.mean((0, 2, 3)), x.std((0, 2, 3))
        mean, deviation = mean[:, None, None], deviation[:, None, None]
        x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    if train_samples is not None:
        x, y = _draw(x, y, train_samples)
    return Data(x, y, x_test[:test_samples], y_test[:test_samples])


def _draw(x: Tensor, y: Tensor, samples: int) -> Labelled:
    chosen = torch.randperm(len(x))[:samples]
    return x[chosen], y[chosen]


class Images:
    """Image files as rows: ``images[rows]`` is (rows, 3, size, size) float32.

    An image is scaled so that its shorter side has ``size`` pixels, cut to the square
    in the middle and normalised.
    """

    def __init__(self, files: Sequence[Path], size: int):
        self.files, self.size = list(files), size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Tensor) -> Tensor:
        return torch.stack([self._read(self.files[row]) for row in rows.tolist()])

    def _read(self, path: Path) -> Tensor:
        from PIL import Image

        with Image.open(path) as file:
            image = file.convert("RGB")
        scale = self.size / min(image.size)
        width, height = (max(self.size, round(side * scale)) for side in image.size)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        box = (left, top, left + self.size, top + self.size)
        image = image.resize((width, height)).crop(box)
        pixels = torch.from_numpy(np.asarray(image, np.float32) / 255)
        pixels = (pixels - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
        return pixels.permute(2, 0, 1)


def image_folder(corpus: str = "imagenet", *, size: int = 256) -> Data:
    """Images of <corpus> in the data folder; classes are numbered by name.

    x_train and x_test are ``Images``, read batch by batch. DataError if there are none.
    """
    folder = data_folder() / corpus
    classes = sorted(p.name for p in folder.glob("train/*") if p.is_dir())

    def part(which: str) -> Labelled:
        found = [sorted((folder / which / name).glob("*.*")) for name in classes]
        files = [path for of_class in found for path in of_class]
        if not files:
            raise DataError(
                f"{folder / which} has no images in folders by class: put {corpus} "
                "there as train/<class>/ and val/<class>/, or point GROKBOOK_DATA at a "
                "folder that has it"
            )
        labels = torch.arange(len(classes))
        counts = torch.tensor([len(of_class) for of_class in found])
        # batches index it as they index a tensor, and ask for no more
        return cast(Tensor, Images(files, size)), labels.repeat_interleave(counts)

    return Data(*part("train"), *part("val"))


def crop_flip(
    images: Tensor, *, size: int, padding: int = 0, random: bool = True
) -> Tensor:
    """A random square of ``size`` from each image, every other one mirrored at random.

    Images (batch, channels, h, w), padded with 0 first. ``random=False`` takes the
    square in the middle of the unpadded image, for evaluation.
    """
    batch = len(images)
    if not random:
        top, left = ((s - size) // 2 for s in images.shape[-2:])
        return images[..., top : top + size, left : left + size]
    images = torch.nn.functional.pad(images, (padding,) * 4)
    height, width = images.shape[-2:]
    inside = torch.arange(size)
    rows = torch.randint(height - size + 1, (batch, 1)) + inside
    columns = torch.where(torch.rand(batch, 1) < 0.5, inside, inside.flip(0))
    columns = torch.randint(width - size + 1, (batch, 1)) + columns
    which = torch.arange(batch)[:, None, None]
    # advanced indices around a slice put the channels last
    cut = images[which, :, rows[:, :, None], columns[:, None, :]]
    return cut.permute(0, 3, 1, 2).contiguous()
