"""What every test starts from: the plain backend, whatever a test before it chose."""

import pytest

from grokbook import kernels


@pytest.fixture(autouse=True)
def plain_backend():
    kernels.set_backend("torch")
    yield
    kernels.set_backend("torch")
