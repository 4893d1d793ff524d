"""Images as tensors: MNIST, CIFAR-10 and CIFAR-100, folders of images, random crops.

ImageNet asks for a registration: it is read as it lies in the data folder, see
``image_folder``. Draws come from torch's global generator.
"""

import gzip
import pickle
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from claimbook.errors import DataError
from claimbook.project import data_folder
from claimbook.protocol import Data
from grokbook.datasets.fetch import fetch

# Channel means and deviations of ImageNet's training images, as everybody uses them.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ARRAYS = ("_reconstruct", "_frombuffer", "ndarray", "dtype")  # what a pickle may name
Labelled = tuple[Tensor, Tensor]


def mnist(*, train_samples: int = 60_000) -> Data:
    """MNIST, pixels in [0, 1] as (rows, 784) float32; the full test set of 10,000.

    ``train_samples`` are drawn without replacement [Prieto, Figure 14: 200].
    """

    def read(name: str, header: int) -> Tensor:
        raw = gzip.decompress(fetch(f"MNIST/raw/{name}-ubyte.gz"))
        return torch.tensor(np.frombuffer(raw, np.uint8, offset=header))

    def part(name: str) -> Labelled:
        pixels = read(f"{name}-images-idx3", 16).view(-1, 784) / 255
        return pixels, read(f"{name}-labels-idx1", 8).long()

    return Data(*_draw(*part("train"), train_samples), *part("t10k"))


def cifar10(*, batches: int = 5, **options: Any) -> Data:
    """CIFAR-10, pixels in [0, 1] as (rows, 3, 32, 32) float32.

    ``normalised=True``: minus the mean, over the deviation of the training pixels of
    each channel. ``train_samples`` are drawn, from the first ``batches`` files of
    10,000 training images; ``test_samples``: the first so many. All by default.
    """
    names = [*(f"data_batch_{k + 1}" for k in range(batches)), "test_batch"]
    names = [f"cifar-10-batches-py/{name}" for name in names]
    return _cifar(names, b"labels", **options)


def cifar100(**options: Any) -> Data:
    """CIFAR-100, its 100 fine classes; options as of CIFAR-10, without ``batches``."""
    names = ["cifar-100-python/train", "cifar-100-python/test"]
    return _cifar(names, b"fine_labels", **options)


def _cifar(names, labels, normalised=False, train_samples=None, test_samples=None):
    found = [Arrays(BytesIO(fetch(n)), encoding="bytes").load() for n in names]
    pixels = [torch.tensor(one[b"data"]).view(-1, 3, 32, 32) / 255 for one in found]
    x, x_test = torch.cat(pixels[:-1]), pixels[-1]
    *y_train, y_test = [torch.tensor(one[labels]) for one in found]
    y = torch.cat(y_train)
    if normalised:
        mean, deviation = (f((0, 2, 3), keepdim=True) for f in (x.mean, x.std))
        x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    if train_samples is not None:
        x, y = _draw(x, y, train_samples)
    return Data(x, y, x_test[:test_samples], y_test[:test_samples])


class Arrays(pickle.Unpickler):
    """Reads a pickle of plain values and NumPy arrays, and builds nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ARRAYS:
            return super().find_class(module, name)
        raise DataError(f"an image file must not ask for {module}.{name}")


def _draw(x: Tensor, y: Tensor, samples: int) -> Labelled:
    chosen = torch.randperm(len(x))[:samples]
    return x[chosen], y[chosen]


class Images:
    """``images[rows]`` is (rows, 3, size, size): middle squares, scaled, normalised."""

    def __init__(self, files: Sequence[Path], size: int):
        self.files, self.size = list(files), size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Tensor) -> Tensor:
        return torch.stack([self._read(self.files[row]) for row in rows.tolist()])

    def _read(self, path: Path) -> Tensor:
        from PIL import Image, ImageOps

        with Image.open(path) as file:
            image = ImageOps.fit(file.convert("RGB"), (self.size, self.size))
        pixels = torch.from_numpy(np.asarray(image, np.float32) / 255)
        pixels = (pixels - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
        return pixels.permute(2, 0, 1)


def image_folder(corpus: str = "imagenet", *, size: int = 256) -> Data:
    """<corpus>/train/<class>/<image>, and val, of the data folder; classes by name.

    x_train and x_test are ``Images``, read batch by batch. DataError if there are none.
    """
    folder = data_folder() / corpus
    names = {path.parent.name for path in folder.glob("train/*/*.*")}
    numbers = {name: number for number, name in enumerate(sorted(names))}

    def part(which: str) -> Labelled:
        files = sorted(folder.glob(f"{which}/*/*.*"))
        if not files:
            raise DataError(f"{folder / which} has no images in folders by class")
        labels = torch.tensor([numbers[path.parent.name] for path in files])
        # batches index it as they index a tensor, and ask for no more
        return cast(Tensor, Images(files, size)), labels

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
        top, left = ((side - size) // 2 for side in images.shape[-2:])
        return images[..., top : top + size, left : left + size]
    images, inside = F.pad(images, (padding,) * 4), torch.arange(size)
    height, width = images.shape[-2:]
    rows = torch.randint(height - size + 1, (batch, 1)) + inside
    columns = torch.where(torch.rand(batch, 1) < 0.5, inside, inside.flip(0))
    columns = torch.randint(width - size + 1, (batch, 1)) + columns
    which = torch.arange(batch)[:, None, None]
    # advanced indices around a slice put the channels last
    cut = images[which, :, rows[:, :, None], columns[:, None, :]]
    return cut.permute(0, 3, 1, 2).contiguous()
