"""Small experiments and data files that several tests share."""

import gzip
import hashlib
import struct

import numpy as np
import torch

from grokbook import datasets
from grokbook.experiment import Arm, Experiment, Spec

MLP = Spec("mlp", classes=11, vocabulary=11, widths=(16,), bias=False)
ENCODER = Spec(
    "transformer",
    classes=11,
    vocabulary=11,
    width=16,
    hidden=(32,),
    norms=("post_attention", "post_mlp"),
    bias=True,
    dropout=0.1,
)


def arm(name="plain", **changes):
    """A tiny modular addition with some settings changed."""
    settings = {
        "dataset": Spec("modular", p=11),
        "model": MLP,
        "loss": Spec("softmax_cross_entropy"),
        "optimizer": Spec("adamw", lr=0.01, eps=1e-8),
        "epochs": 30,
        "log": 1,
    }
    return Arm(name, **(settings | changes))


def experiment(*arms, seeds=(0, 1), name="prieto2025/fig06b"):
    """Some arms under the name of a figure, at smoke scale."""
    return Experiment(name, "smoke", arms or (arm(),), seeds)


def put(folder, patch, name, content):
    """A file in a data folder, with its own hash as the pin."""
    patch.setenv("GROKBOOK_DATA", str(folder))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    pin = datasets.Download("https://example.org/" + name, digest)
    patch.setitem(datasets.REGISTRY, name, pin)


def tiny_mnist(folder, patch, *, images):
    """MNIST files of a few images with labels 0, 1, 2, ..., in a data folder."""
    pixels = np.arange(images * 784).astype(np.uint8).tobytes()
    digits = bytes(k % 10 for k in range(images))
    for part in ("train", "t10k"):
        for name, raw in (
            ("images-idx3", struct.pack(">4i", 2051, images, 28, 28) + pixels),
            ("labels-idx1", struct.pack(">2i", 2049, images) + digits),
        ):
            put(folder, patch, f"MNIST/raw/{part}-{name}-ubyte.gz", gzip.compress(raw))


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator)
