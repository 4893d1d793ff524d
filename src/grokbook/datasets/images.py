"""Images as tensors: MNIST, CIFAR-10 and CIFAR-100, folders of images, random crops.

ImageNet asks for a registration, so ``image_folder`` reads it from the data folder and
never downloads it. Random draws come from torch's global generator.
"""

import gzip
import pickle
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from claimbook.errors import DataError, needing_extra
from claimbook.project import data_folder
from claimbook.protocol import Data
from grokbook.datasets.checks import check_whole, sorted_index
from grokbook.datasets.fetch import fetch

# Channel means and standard deviations of ImageNet's training images, as is customary.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# What a pickle may name: what NumPy's own pickles of arrays do.
PICKLED = ("_reconstruct", "_frombuffer", "ndarray", "dtype")
Labelled = tuple[Tensor, Tensor]


def mnist(*, train_samples: int = 60_000) -> Data:
    """Return MNIST with pixels in [0, 1] as (rows, 784) float32.

    Labels are (rows,) int64. The test set is its 10,000 test images. ``train_samples``
    training images, all 60,000 if it is more, are drawn in random order, without
    replacement, from torch's global generator (Prieto et al. 2025 take 200 in Figure
    14).
    """

    def read(name: str, header: int) -> Tensor:
        """Return the bytes (n,) of a file after its first ``header`` bytes."""
        raw = gzip.decompress(fetch(f"MNIST/raw/{name}-ubyte.gz"))
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8)[header:]

    def labelled(split: str) -> Labelled:
        """Return the images of a split and their labels (rows,) int64."""
        pixels = read(f"{split}-images-idx3", header=16).view(-1, 784) / 255
        return pixels, read(f"{split}-labels-idx1", header=8).long()

    x, y = _draw(*labelled("train"), train_samples)
    return Data(x, y, *labelled("t10k"))


def cifar10(*, batches: int = 5, **options: Any) -> Data:
    """Return CIFAR-10 with pixels in [0, 1] as (rows, 3, 32, 32) float32.

    ``batches`` is the number of files, of 10,000 training images each, that are read,
    from 1 to 5. ``options`` are ``normalised``, whether pixels are standardised by mean
    and standard deviation of each channel over the training images read;
    ``train_samples``, how many of these images are drawn, all if it is more; and
    ``test_samples``, how many of the test images, from the first on, are taken. Both
    default to all, in the order of the files.
    """
    names = [*(f"data_batch_{k + 1}" for k in range(batches)), "test_batch"]
    files = [f"cifar-10-batches-py/{name}" for name in names]
    return _cifar(files, b"labels", **options)


def cifar100(**options: Any) -> Data:
    """Return CIFAR-100 with its 100 fine classes and the ``options`` of `cifar10`."""
    files = ["cifar-100-python/train", "cifar-100-python/test"]
    return _cifar(files, b"fine_labels", **options)


@needing_extra()  # the files are pickles of NumPy's arrays
def _cifar(
    files: Sequence[str],
    label_key: bytes,
    normalised: bool = False,
    train_samples: int | None = None,
    test_samples: int | None = None,
) -> Data:
    """Return the task of some files of CIFAR, the last of which holds the test images.

    ``label_key`` is the entry of a file with its labels. The other arguments are the
    options that ``cifar10`` explains; None takes all images.
    """
    contents = [
        ArrayUnpickler(BytesIO(fetch(file)), encoding="bytes").load() for file in files
    ]
    *x_train, x_test = [
        torch.tensor(content[b"data"]).view(-1, 3, 32, 32) / 255 for content in contents
    ]
    *y_train, y_test = [torch.tensor(content[label_key]) for content in contents]
    x, y = torch.cat(x_train), torch.cat(y_train)
    if normalised:
        axes = (0, 2, 3)  # all but the channels
        mean, deviation = x.mean(axes, keepdim=True), x.std(axes, keepdim=True)
        # by the training images alone: nothing is learned of the test images
        x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    if train_samples is not None:
        x, y = _draw(x, y, train_samples)
    if test_samples is not None:
        check_whole("test_samples", test_samples, 1)
    return Data(x, y, x_test[:test_samples], y_test[:test_samples])


class ArrayUnpickler(pickle.Unpickler):
    """An unpickler for plain values and NumPy arrays, which runs no code of a file.

    Raises DataError for a pickle that names anything but ``PICKLED`` of NumPy.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in PICKLED:
            return super().find_class(module, name)
        raise DataError(f"an image file must not ask for {module}.{name}")


def _draw(x: Tensor, y: Tensor, samples: int) -> Labelled:
    """Return ``samples`` rows of x and y in random order, each once, or all if fewer.

    They are drawn from torch's global generator. Raises BookError for ``samples``
    below 1.
    """
    check_whole("train_samples", samples, 1)
    chosen = torch.randperm(len(x))[:samples]
    return x[chosen], y[chosen]


class Images:
    """Image files that are indexed as a tensor is; each is read when it is asked for.

    ``images[rows]``, for a tensor of indices, is (rows, 3, size, size) float32: the
    largest square in the middle of each image, scaled to ``size`` and normalised by
    ``MEAN`` and ``DEVIATION``.
    """

    def __init__(self, files: Sequence[Path], size: int):
        self.files, self.size = list(files), size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Read the images of some indices (rows,); raises RuntimeError for none."""
        return torch.stack([self._read(self.files[row]) for row in rows.tolist()])

    @needing_extra()
    def _read(self, path: Path) -> Tensor:
        """Return one image as (3, size, size) float32, cut, scaled and normalised."""
        from PIL import Image, ImageOps

        with Image.open(path) as file:
            image = ImageOps.fit(file.convert("RGB"), (self.size, self.size))
        raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        pixels = raw.view(self.size, self.size, 3) / 255
        pixels = (pixels - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
        return pixels.permute(2, 0, 1)


def image_folder(corpus: str = "imagenet", *, size: int = 256) -> Data:
    """Return the task of a folder of images, with one folder for each split and class.

    The images are the files <corpus>/train/<class>/<image> and
    <corpus>/val/<class>/<image> of the data folder. A label is the index of its class
    among the sorted names of the training classes. x_train and x_test are ``Images`` of
    ``size``, so each batch is read when it is needed. Raises DataError if a split has
    no images, and KeyError for a test class without training images.
    """
    folder = data_folder() / corpus
    class_index = sorted_index(p.parent.name for p in folder.glob("train/*/*.*"))

    def labelled(split: str) -> Labelled:
        """Return the images of a split and their labels (rows,) int64."""
        files = sorted(folder.glob(f"{split}/*/*.*"))
        if not files:
            raise DataError(f"{folder / split} has no images in folders by class")
        labels = torch.tensor([class_index[path.parent.name] for path in files])
        # training only ever indexes x, which ``Images`` allows as a tensor does
        return cast(Tensor, Images(files, size)), labels

    return Data(*labelled("train"), *labelled("val"))


def crop_flip(
    images: Tensor, *, size: int, padding: int = 0, random: bool = True
) -> Tensor:
    """Return random crops (batch, channels, size, size), half of them mirrored.

    ``images`` are (batch, channels, h, w). They are first padded with ``padding`` zeros
    on each side, and each crop is mirrored with a probability of 1/2. ``random=False``,
    for evaluation, takes the square in the middle of the unpadded image instead and
    mirrors none. A ``size`` above that of the padded images raises RuntimeError; above
    that of the images, ``random=False`` gives squares of another size.
    """
    batch_size = len(images)
    if not random:
        top, left = ((side - size) // 2 for side in images.shape[-2:])
        return images[..., top : top + size, left : left + size]
    images = F.pad(images, (padding,) * 4)
    height, width = images.shape[-2:]
    offsets = torch.arange(size)
    # (batch, size) indices of pixels, those of columns from right to left in a mirror
    rows = torch.randint(height - size + 1, (batch_size, 1)) + offsets
    is_kept = torch.rand(batch_size, 1) < 0.5
    column_offsets = torch.where(is_kept, offsets, offsets.flip(0))
    columns = torch.randint(width - size + 1, (batch_size, 1)) + column_offsets
    image_index = torch.arange(batch_size)[:, None, None]
    # advanced indices around a slice put the channels last: (batch, size, size, 3)
    crops = images[image_index, :, rows[:, :, None], columns[:, None, :]]
    return crops.permute(0, 3, 1, 2).contiguous()
