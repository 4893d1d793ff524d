"""Small experiments and data files that several tests share."""

import gzip
import hashlib
import json
import pickle
import struct
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import torch
from PIL import Image

from claimbook.experiment import Arm, Experiment, Spec
from grokbook import datasets
from grokbook.datasets.text import VOCABULARY, _byte_of_letter

# The bits of the significand, hence the gap p ln 2 at which one competitor is absorbed.
PRECISION = {torch.float16: 11, torch.float32: 24, torch.float64: 53}
MLP = Spec("mlp", classes=11, vocabulary=11, widths=(16,), bias=False)
SIZES = {"classes": 11, "vocabulary": 11, "width": 16, "hidden": (32,)}
POST = ("post_attention", "post_mlp")
ENCODER = Spec("transformer", **SIZES, norms=POST, bias=True, dropout=0.1)


def arm(name="plain", **changes):
    """A tiny modular addition with some settings changed."""
    settings = {"dataset": Spec("modular", p=11), "model": MLP, "epochs": 30, "log": 1}
    settings["loss"] = Spec("softmax_cross_entropy")
    settings["optimizer"] = Spec("adamw", lr=0.01, eps=1e-8)
    return Arm(name, **settings | changes)


def without_test_rows():
    """A task that is not the book's, without a test set."""
    data = datasets.modular(p=11)
    return replace(data, x_test=data.x_test[:0], y_test=data.y_test[:0])


def without_training_rows():
    """A task that is not the book's, without a training set."""
    data = datasets.modular(p=11)
    return replace(data, x_train=data.x_train[:0], y_train=data.y_train[:0])


def pairs(one):
    """Each two things that an arm combines: data, network, loss, observables, ..."""
    specs = {
        "dataset": one.dataset,
        "model": one.model,
        "loss": one.loss,
        "optimizer": one.optimizer,
        "schedule": one.schedule,
        "augment": one.augment,
    }
    parts = {(kind, spec and spec.name) for kind, spec in specs.items()}
    more = [*one.wrappers, *one.penalties, *(one.later_loss or ())[1:]]
    parts |= {("more", spec.name) for spec in more}
    observables = [*one.observables, *(one.rarely[1] if one.rarely else ())]
    parts |= {("observable", name) for name in observables}
    parts |= {("dtype", one.dtype), ("autocast", one.autocast)}
    parts |= {("batches", one.batch_size is None), ("stops", one.stop is None)}
    parts |= {("evaluated at once", one.eval_batch is None)}
    return set(combinations(sorted(parts, key=str), 2))


def experiment(*arms, seeds=(0, 1), name="prieto2025/fig06b"):
    """Some arms under the name of a figure, at smoke scale."""
    return Experiment(name, "smoke", arms or (arm(),), seeds)


def everything(data):
    """Inputs and labels of both splits of a task together."""
    x, y = (data.x_train, data.x_test), (data.y_train, data.y_test)
    return torch.cat(x), torch.cat(y)


def put(folder, patch, name, content):
    """A file in a data folder, with its own hash as the pin."""
    patch.setenv("GROKBOOK_DATA", str(folder))
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    patch.setitem(datasets.REGISTRY, name, hashlib.sha256(content).hexdigest())


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


def tiny_cifar(folder, patch, *, images=4):
    """CIFAR-10 and CIFAR-100 files of random images, in a data folder."""
    generator = np.random.default_rng(0)

    def batch(classes, labels):
        pixels = generator.integers(0, 256, (images, 3072), np.uint8)
        numbers = [k % classes for k in range(images)]
        return pickle.dumps({b"data": pixels, labels: numbers})

    for name in [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]:
        put(folder, patch, f"cifar-10-batches-py/{name}", batch(10, b"labels"))
    for name in ("train", "test"):
        put(folder, patch, f"cifar-100-python/{name}", batch(100, b"fine_labels"))


def tiny_corpus(folder, patch, *, merges=("he", "Ġt", "Ġthe"), lines=40):
    """Corpora of one sentence and a code of the 256 bytes and a few merges."""
    letters = [*_byte_of_letter(), *merges]
    code = {letter: number for number, letter in enumerate(letters)}
    code["<|endoftext|>"] = VOCABULARY - 1
    put(folder, patch, "gpt2/encoder.json", json.dumps(code).encode())
    for part in ("train", "valid", "test"):
        text = " the cat sat on the mat \n" * lines
        put(folder, patch, f"wikitext-2/wiki.{part}.tokens", text.encode())
    for name in ("fineweb-edu-sample/fineweb_edu_sample", "tinyshakespeare/input"):
        put(folder, patch, f"{name}.txt", text.encode())


def tiny_images(folder, patch, *, name="imagenet", size=(9, 12), of_each=3):
    """Images of one colour by class, red and blue, in the layout of ImageNet."""
    patch.setenv("GROKBOOK_DATA", str(folder))
    for part in ("train", "val"):
        for of_class, colour in (("n01", (255, 0, 0)), ("n02", (0, 0, 255))):
            place = folder / name / part / of_class
            place.mkdir(parents=True)
            for k in range(of_each):
                Image.new("RGB", size, colour).save(place / f"{k}.png")


def away(model):
    """In float64 and away from the start, where norms and biases are 1 and 0."""
    model = model.double()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def close(ours, true, tolerance=1e-12):
    torch.testing.assert_close(ours, true, rtol=0, atol=tolerance)


def random(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


double = partial(random, dtype=torch.float64)
