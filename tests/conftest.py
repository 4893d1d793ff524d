"""What every test starts from: one thread, as in a worker process, since two sum in
another order; and the plain backend, whatever a test before it chose."""

import pytest
import torch

from grokbook import kernels

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def plain_backend():
    kernels.set_backend("torch")
    yield
    kernels.set_backend("torch")
