"""Computed tasks, images as tensors, and public files: checked, fetched if missing."""

import hashlib
import importlib
import io
import pickle
import random
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import everything, put, tiny_cifar, tiny_images, tiny_mnist

from claimbook.errors import BookError, DataError, UnknownName
from grokbook import datasets
from grokbook.datasets.fetch import ARCHIVES, URLS


def test_every_pair_once_with_its_label():
    for operation, truth in (
        ("add", lambda a, b: (a + b) % 7),
        ("subtract", lambda a, b: (a - b) % 7),
        ("multiply", lambda a, b: a * b % 7),
        ("divide", lambda a, b: next(c for c in range(7) if c * b % 7 == a)),
        (lambda a, b, p: (a * a + b) % p, lambda a, b: (a * a + b) % 7),
    ):
        x, y = everything(datasets.modular(7, operation, 0.5))
        pairs = [(a, b) for a in range(7) for b in range(operation == "divide", 7)]
        assert sorted(map(tuple, x.tolist())) == pairs
        assert [truth(a, b) for a, b in x.tolist()] == y.tolist()


def test_official_splits():
    """Prieto et al., seed 42: the released split, row for row."""
    torch.manual_seed(42)
    data = datasets.modular(113, "add", 0.4)
    assert (len(data.x_train), len(data.x_test)) == (5107, 7662)
    rows = data.x_train[:8] @ torch.tensor([113, 1])
    assert rows.tolist() == [11691, 4308, 4501, 5493, 10945, 9828, 10172, 39]
    torch.manual_seed(42)
    data = datasets.modular(113, "subtract", 0.4, smallest=1)
    assert (len(data.x_train), len(data.x_test)) == (5017, 7527)
    rows = (data.x_train[:4] - 1) @ torch.tensor([112, 1])
    assert rows.tolist() == [7526, 10275, 480, 8256]
    # python's shuffle of the ordered pairs, 8938 of them for the test, and a sign
    torch.manual_seed(456)
    data = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
    pairs = [(a, b) for a in range(113) for b in range(113)]
    random.seed(456)
    random.shuffle(pairs)
    assert len(data.x_test) == 8938
    assert data.x_train[:, :2].tolist() == [list(pair) for pair in pairs[:3831]]
    assert (data.x_test[:, 2] == 113).all()
    assert data.y_train[0] == sum(pairs[0]) % 113


def test_operator_and_equals_sign():
    """Liu et al. 2026, Table 2: a, operator, b, equals sign, of 99 tokens."""
    torch.manual_seed(0)
    data = datasets.modular(97, "divide", 0.5, equals=True, operator=True)
    torch.manual_seed(0)
    plain = datasets.modular(97, "divide", 0.5)
    assert len(data.x_train) == len(data.x_test) == 4656
    for split in ("train", "test"):
        x = getattr(data, f"x_{split}")
        assert torch.equal(x[:, ::2], getattr(plain, f"x_{split}"))
        assert (x[:, 1] == 97).all() and (x[:, 3] == 98).all()
        assert torch.equal(getattr(data, f"y_{split}"), getattr(plain, f"y_{split}"))
    a, _, b, _ = data.x_train.T
    assert torch.equal(data.y_train * b % 97, a)


def test_encodings():
    def encoded(encoding, **more):
        torch.manual_seed(0)
        return datasets.modular(11, encoding=encoding, **more).x_train

    tokens = encoded("tokens")
    assert torch.equal(encoded("scalar"), tokens.float())
    # of all pairs mean 5 and variance 10
    torch.testing.assert_close(encoded("standard_scalar"), (tokens - 5) / 10**0.5)
    powers = torch.tensor([8, 4, 2, 1.0])
    binary = encoded("binary").unflatten(1, (2, 4))
    assert torch.equal((binary @ powers).long(), tokens)
    codes = encoded("random_binary", bits=6).unflatten(1, (2, 6)).flatten(0, 1)
    pairs = zip(tokens.flatten(), codes, strict=True)
    distinct = {(int(t), tuple(c.tolist())) for t, c in pairs}
    assert len(distinct) == 11  # one code per integer,
    assert len({code for _, code in distinct}) == 11  # and no two alike


def test_sparse_parity_has_the_rows_of_the_official_code():
    """`random.choice([0, 1])` after ``random.seed(42)``, as commit 0cc9e8d draws."""
    random.seed(42)
    official = [random.choice([0, 1]) for _ in range(43 * 2000)]
    rows = torch.tensor(official, dtype=torch.float32).reshape(2000, 43)
    assert len(rows.unique(dim=0)) == 2000  # no draw was refused
    torch.manual_seed(42)
    order = torch.randperm(2000)
    torch.manual_seed(42)
    data = datasets.sparse_parity()
    assert torch.equal(data.x_train, rows[order[:1000]])
    assert torch.equal(data.x_test, rows[order[1000:]])
    x, y = everything(data)
    assert torch.equal(x[:, :3].sum(1).long() % 2, y)
    assert not torch.equal(everything(datasets.sparse_parity(data_seed=2))[0], x)
    assert rows[0, :10].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]


def test_balanced_rows():
    data = datasets.balanced_rows(classes=3, per_class=2)
    assert data.x_train.tolist() == [[k] for k in range(6)]
    assert data.y_train.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.x_train.dtype == data.y_train.dtype == torch.int64
    assert torch.equal(data.x_test, data.x_train)
    assert torch.equal(data.y_test, data.y_train)


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
    harmful = pickle.dumps({b"data": print})
    put(folder, monkeypatch, "cifar-10-batches-py/data_batch_1", harmful)
    with pytest.raises(DataError, match="must not ask for builtins.print"):
        datasets.cifar10()


def test_cifar100_normalised(folder, monkeypatch):
    tiny_cifar(folder, monkeypatch, images=6)
    data = datasets.cifar100(normalised=True, train_samples=4, test_samples=3)
    assert data.x_train.shape == (4, 3, 32, 32)
    assert data.y_test.tolist() == [0, 1, 2]
    for name in ("train_samples", "test_samples"):
        with pytest.raises(BookError, match=f"{name} is a whole number from 1 on"):
            datasets.cifar100(**{name: 0})
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


def test_crops_are_all_squares_of_the_padded_image_and_of_its_mirror():
    torch.manual_seed(0)
    picture = torch.arange(1.0, 31).view(1, 1, 5, 6)
    for padding in (0, 1):
        (padded,) = F.pad(picture, [padding] * 4)[0]
        squares = padded.unfold(0, 4, 1).unfold(1, 4, 1).reshape(-1, 16)
        mirrored = squares.view(-1, 4, 4).flip(-1).reshape(-1, 16)
        images = picture.expand(900, 2, 5, 6)
        cuts = datasets.crop_flip(images, size=4, padding=padding).flatten(2)
        assert torch.equal(cuts[:, 0], cuts[:, 1])
        expected = torch.cat([squares, mirrored]).unique(dim=0)
        assert torch.equal(cuts[:, 0].unique(dim=0), expected)
        is_mirrored = cuts[:, 0, 6] < cuts[:, 0, 5]  # within the padding
        assert is_mirrored.float().mean().item() == pytest.approx(0.5, abs=0.06)
    middle = datasets.crop_flip(picture, size=3, padding=9, random=False)
    assert torch.equal(middle, picture[..., 1:4, 1:4])


SHAKESPEARE = "tinyshakespeare/input.txt"
BATCH = "cifar-10-batches-py/data_batch_1"
ARCHIVE = "cifar-10-python.tar.gz"


def online(monkeypatch, content):
    """What every address serves to pooch, or the error it meets; and what was asked."""
    asked = []

    def download(url, output_file, *_):
        asked.append(url)
        if isinstance(content, Exception):
            raise content
        Path(output_file).write_bytes(content)

    monkeypatch.setattr("pooch.core.choose_downloader", lambda *_, **__: download)
    return asked


def test_every_file_has_an_address():
    for name in datasets.REGISTRY:
        source = ARCHIVES.get(name.partition("/")[0], name)
        assert URLS[source].startswith("https://") and source in datasets.REGISTRY
    with pytest.raises(UnknownName, match="unknown data file 'iris.csv': use one of"):
        datasets.fetch("iris.csv")


def test_a_changed_file_is_refused_and_left_alone(folder, monkeypatch):
    asked = online(monkeypatch, b"To be")
    put(folder, monkeypatch, SHAKESPEARE, b"To be")
    assert datasets.text(SHAKESPEARE) == "To be"
    (folder / SHAKESPEARE).write_bytes(b"Not to be")
    with pytest.raises(DataError, match="is not the published .* delete it"):
        datasets.text(SHAKESPEARE)
    assert (folder / SHAKESPEARE).read_bytes() == b"Not to be"
    assert asked == []


def test_a_read_only_folder_needs_no_pooch(folder, monkeypatch):
    put(folder, monkeypatch, SHAKESPEARE, b"To be")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match="pooch"):
        datasets.fetch(BATCH)
    for path in (folder / SHAKESPEARE, (folder / SHAKESPEARE).parent, folder):
        path.chmod(0o555)
    try:
        assert datasets.text(SHAKESPEARE) == "To be"
    finally:
        for path in (folder, (folder / SHAKESPEARE).parent):
            path.chmod(0o755)


def test_no_network(folder, monkeypatch):
    online(monkeypatch, ConnectionError("Name or service not known\nwith a long trace"))
    for name, source in ((SHAKESPEARE, SHAKESPEARE), (BATCH, ARCHIVE)):
        with pytest.raises(DataError) as caught:
            datasets.fetch(name)
        message = str(caught.value)
        for part in (name, str(folder), URLS[source], "GROKBOOK_DATA"):
            assert part in message
        assert "Name or service not known" in message and "\n" not in message
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_files_of_an_archive_are_fetched_once(folder, monkeypatch):
    batches = {f"cifar-10-batches-py/data_batch_{k}": b"images %d" % k for k in (1, 2)}
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, content in batches.items():
            put(folder, monkeypatch, name, content)
            tar.add(folder / name, name)
            (folder / name).unlink()
    asked = online(monkeypatch, raw.getvalue())
    digest = hashlib.sha256(raw.getvalue()).hexdigest()
    monkeypatch.setitem(datasets.REGISTRY, ARCHIVE, digest)
    for name, content in batches.items():
        assert datasets.fetch(name) == content
    assert asked == [URLS[ARCHIVE]]


def test_a_benchmark_asks_for_nothing_and_names_what_it_leaves_out(
    folder, monkeypatch, capsys
):
    asked = online(monkeypatch, b"")
    module = importlib.import_module("grokbook.datasets.fetch")
    monkeypatch.setattr(module, "_download", module._download)  # and back afterwards
    for variable in ("http_proxy", "https_proxy"):  # which the benchmark sets
        monkeypatch.setenv(variable, "")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    benchmark = importlib.import_module("benchmark")
    image, modular = "CIFAR MLP of width 512, 2,000 images", "MLP, Prieto Figure 2"
    assert [*benchmark.networks([image, modular])] == [modular]
    assert f"left out: {image}: {BATCH} is not in" in capsys.readouterr().out
    assert asked == []
