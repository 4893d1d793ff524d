"""Images: MNIST and CIFAR files as tensors, folders of images, crops."""

import pickle

import numpy as np
import pytest
import torch
from helpers import put, tiny_cifar, tiny_images, tiny_mnist

from grokbook import datasets
from grokbook.errors import DataError


def test_mnist(folder, monkeypatch):
    tiny_mnist(folder, monkeypatch, images=5)
    data = datasets.mnist(train_samples=4)
    assert data.x_train.shape == (4, 784)
    assert data.y_test.tolist() == [0, 1, 2, 3, 4]
    assert data.x_test[0, 255] == 1
    assert data.x_test[0, 51] == pytest.approx(0.2)


def test_cifar10(folder, monkeypatch):
    names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
    for label, name in enumerate(names):
        batch = {b"data": np.full((2, 3072), 51, np.uint8), b"labels": [label, 9]}
        put(folder, monkeypatch, f"cifar-10-batches-py/{name}", pickle.dumps(batch))
    data = datasets.cifar10()
    assert data.x_train.shape == (10, 3, 32, 32)
    assert data.y_train[::2].tolist() == [0, 1, 2, 3, 4]
    assert data.y_test.tolist() == [5, 9]
    assert data.x_test.unique().tolist() == pytest.approx([0.2])
    tiny_cifar(folder, monkeypatch, images=6)
    whole = datasets.cifar10()
    for k in (3, 4, 5):
        (folder / f"cifar-10-batches-py/data_batch_{k}").unlink()
    torch.manual_seed(0)
    data = datasets.cifar10(batches=2, train_samples=7)
    torch.manual_seed(0)
    chosen = torch.randperm(12)[:7]
    assert torch.equal(data.x_train, whole.x_train[:12][chosen])
    assert torch.equal(data.y_train, whole.y_train[:12][chosen])
    assert torch.equal(data.x_test, whole.x_test)


def test_a_pickle_builds_arrays_and_nothing_else(folder, monkeypatch):
    for name in ("data_batch_1", "test_batch"):
        file = f"cifar-10-batches-py/{name}"
        put(folder, monkeypatch, file, pickle.dumps({b"data": print}))
    with pytest.raises(DataError, match="must not ask for builtins.print"):
        datasets.cifar10(batches=1)


def test_cifar100_normalised(folder, monkeypatch):
    tiny_cifar(folder, monkeypatch, images=6)
    data = datasets.cifar100(normalised=True, train_samples=4, test_samples=3)
    assert data.x_train.shape == (4, 3, 32, 32)
    assert data.y_test.tolist() == [0, 1, 2]
    whole = datasets.cifar100(normalised=True)
    assert whole.x_train.mean((0, 2, 3)).abs().max() < 1e-4
    assert whole.x_train.std((0, 2, 3)).tolist() == pytest.approx([1, 1, 1], abs=1e-4)
    raw = datasets.cifar100()
    mean, deviation = (f(raw.x_train[:, 0]) for f in (torch.mean, torch.std))
    expected = (raw.x_test[:3, 0] - mean) / deviation
    torch.testing.assert_close(data.x_test[:, 0], expected)


def test_image_folder(folder, monkeypatch):
    with pytest.raises(DataError, match="has no images in folders by class"):
        datasets.image_folder()
    tiny_images(folder, monkeypatch)
    data = datasets.image_folder(size=6)
    assert len(data.x_train) == len(data.y_train) == 6
    assert data.y_train.tolist() == [0, 0, 0, 1, 1, 1]
    batch = data.x_train[torch.tensor([5, 0])]
    assert batch.shape == (2, 3, 6, 6)
    red = [(1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225]
    assert batch[1, :, 3, 3].tolist() == pytest.approx(red)
    assert (batch[0] == batch[0, :, :1, :1]).all()  # one colour


def test_crops_are_squares_of_the_image_or_its_mirror():
    torch.manual_seed(0)
    picture = torch.arange(1.0, 31).view(1, 1, 5, 6)
    seen = set()
    for cut in datasets.crop_flip(picture.expand(300, 2, 5, 6), size=4):
        assert torch.equal(cut[0], cut[1])
        mirrored = bool(cut[0, 0, 0] > cut[0, 0, 1])
        square = cut[0].flip(-1) if mirrored else cut[0]
        row, column = divmod(int(square[0, 0]) - 1, 6)
        assert torch.equal(square, picture[0, 0, row : row + 4, column : column + 4])
        seen.add((row, column, mirrored))
    assert len(seen) == 2 * 3 * 2  # every place, both ways


def test_padding_and_the_middle():
    torch.manual_seed(0)
    ones = torch.ones(200, 3, 4, 4)
    cuts = datasets.crop_flip(ones, size=4, padding=2)
    kept = cuts.sum((1, 2, 3))
    assert kept.min() == 3 * 2 * 2
    assert kept.max() == 3 * 4 * 4
    picture = torch.arange(36.0).view(1, 1, 6, 6)
    middle = datasets.crop_flip(picture, size=4, padding=9, random=False)
    assert torch.equal(middle, picture[..., 1:5, 1:5])
