"""What every test starts from: one thread, as in a worker process, since two sum in
another order; and the data files of the tiny tasks for who asks for them."""

import browser
import pytest
import torch
from helpers import tiny_cifar, tiny_corpus, tiny_images, tiny_mnist

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny_data(tmp_path_factory):
    """A data folder with a few images and sentences of every public data set."""
    folder = tmp_path_factory.mktemp("downloads")
    with pytest.MonkeyPatch.context() as patch:
        tiny_mnist(folder, patch, images=300)
        tiny_cifar(folder, patch, images=6)
        tiny_corpus(folder, patch)
        tiny_images(folder, patch, name="imagenet-100", size=(256, 256))
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def chromium():
    """A browser without a network, or a skip that says which were looked for."""
    with browser.started() as found:
        yield found
