"""Folders of images, read as they are needed, and random crops of a batch.

``image_folder`` reads the layout of ImageNet, <corpus>/train/<class>/<image> and
<corpus>/val/<class>/<image>. Nothing is fetched: ImageNet asks for a registration.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from grokbook.datasets import Data, DataError, data_folder

SUFFIXES = {".jpg", ".jpeg", ".png"}
# Channel means and deviations of ImageNet's training images, as everybody uses them.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


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
        chosen = [self.files[row] for row in rows.tolist()]
        with ThreadPoolExecutor() as pool:  # decoding leaves Python's lock alone
            return torch.stack(list(pool.map(self._read, chosen)))

    def _read(self, path: Path) -> Tensor:
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except (UnidentifiedImageError, OSError) as error:
            raise DataError(
                f"{path} cannot be read as an image: delete it or get it again"
            ) from error
        scale = self.size / min(image.size)
        image = image.resize([max(self.size, round(s * scale)) for s in image.size])
        left, top = ((s - self.size) // 2 for s in image.size)
        image = image.crop((left, top, left + self.size, top + self.size))
        pixels = torch.from_numpy(np.asarray(image, np.float32) / 255)
        pixels = (pixels - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
        return pixels.permute(2, 0, 1)


def image_folder(corpus: str = "imagenet", *, size: int = 256) -> Data:
    """Images of <corpus> in the data folder; classes are numbered by name.

    x_train and x_test are ``Images``, read batch by batch. DataError if there are none.
    """
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise DataError("reading image files needs pillow: install it") from error
    folder = data_folder() / corpus
    classes = sorted(p.name for p in folder.glob("train/*") if p.is_dir())

    def part(which: str) -> tuple[Images, Tensor]:
        found = [
            (path, label)
            for label, of_class in enumerate(classes)
            for path in sorted((folder / which / of_class).glob("*"))
            if path.suffix.lower() in SUFFIXES
        ]
        if not found:
            raise DataError(
                f"{folder / which} has no images in folders by class: put {corpus} "
                "there as train/<class>/ and val/<class>/, or point GROKBOOK_DATA at a "
                "folder that has it"
            )
        return Images([p for p, _ in found], size), torch.tensor([k for _, k in found])

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
