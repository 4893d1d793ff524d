"""Tasks: every pair once, official splits, codes; loaders on tiny files."""

import pickle
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from helpers import put, tiny_mnist

from grokbook import datasets


def everything(data):
    return torch.cat([data.x_train, data.x_test]), torch.cat(
        [data.y_train, data.y_test]
    )


@pytest.mark.parametrize(
    ("operation", "truth"),
    [
        ("add", lambda a, b: (a + b) % 7),
        ("subtract", lambda a, b: (a - b) % 7),
        ("multiply", lambda a, b: a * b % 7),
        ("divide", lambda a, b: next(c for c in range(7) if c * b % 7 == a)),
        (lambda a, b, p: (a * a + b) % p, lambda a, b: (a * a + b) % 7),
    ],
)
def test_every_pair_once_with_its_label(operation, truth):
    x, y = everything(datasets.modular(7, operation, 0.5))
    no_zero = operation == "divide"
    pairs = {(a, b) for a in range(7) for b in range(no_zero, 7)}
    assert len(x) == len(pairs)
    assert set(map(tuple, x.tolist())) == pairs
    assert [truth(a, b) for a, b in x.tolist()] == y.tolist()


def test_official_split():
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


def test_split_of_singh():
    """Python's shuffle of the ordered pairs, 8938 of them for the test, and a sign."""
    torch.manual_seed(456)
    data = datasets.modular(113, train_fraction=0.3, equals=True, shuffle="python")
    pairs = [(a, b) for a in range(113) for b in range(113)]
    random.seed(456)
    random.shuffle(pairs)
    assert len(data.x_test) == 8938
    assert data.x_train[:, :2].tolist() == [list(pair) for pair in pairs[:3831]]
    assert (data.x_test[:, 2] == 113).all()
    assert data.y_train[0] == sum(pairs[0]) % 113


@pytest.mark.parametrize(("share", "rows"), [(0.3, 3830), (0.6, 7661), (0.7, 8938)])
def test_split_sizes(share, rows):
    assert len(datasets.modular(113, "add", share).x_train) == rows


def test_same_seed_same_split_other_seed_another():
    def split(seed):
        torch.manual_seed(seed)
        return datasets.modular(11).x_train

    assert torch.equal(split(1), split(1))
    assert not torch.equal(split(1), split(2))


def test_encodings():
    def encoded(encoding, **more):
        torch.manual_seed(0)
        return datasets.modular(11, encoding=encoding, **more).x_train

    tokens = encoded("tokens")
    one_hot = encoded("one_hot").unflatten(1, (2, 11))
    assert torch.equal(one_hot.argmax(-1), tokens)
    assert (one_hot.sum(-1) == 1).all()
    assert torch.equal(encoded("scalar"), tokens.float())
    powers = torch.tensor([8, 4, 2, 1.0])
    binary = encoded("binary").unflatten(1, (2, 4))
    assert torch.equal((binary @ powers).long(), tokens)
    codes = encoded("random_binary", bits=6).unflatten(1, (2, 6)).flatten(0, 1)
    pairs = zip(tokens.flatten(), codes, strict=True)
    distinct = {(int(t), tuple(c.tolist())) for t, c in pairs}
    assert len(distinct) == 11  # one code per integer,
    assert len({code for _, code in distinct}) == 11  # and no two alike


def test_sparse_parity():
    data = datasets.sparse_parity(200)
    x, y = everything(data)
    assert x.shape == (200, 43)
    assert len(data.x_train) == 100
    assert len(x.unique(dim=0)) == 200
    assert torch.equal(x[:, :3].sum(1).long() % 2, y)
    other, _ = everything(datasets.sparse_parity(200, data_seed=2))
    assert not torch.equal(x.unique(dim=0), other.unique(dim=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.modular(train_fraction=1.0), "between 0 and 1"),
        (lambda: datasets.modular(encoding="roman"), "unknown encoding 'roman'"),
        (lambda: datasets.modular(operation="xor"), "unknown operation 'xor'"),
        (lambda: datasets.modular(12, "divide"), "12 is not one"),
        (lambda: datasets.modular(11, encoding="binary", bits=3), "3 bits cannot"),
        (lambda: datasets.sparse_parity(20, noise=1), "no 20 distinct strings"),
        (lambda: datasets.fetch("iris.csv"), "no data file 'iris.csv'"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, datasets.DataError), match=message):
        call()


# Downloads ---------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GROKBOOK_DATA", str(tmp_path))
    return tmp_path


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


def test_text(folder, monkeypatch):
    put(folder, monkeypatch, "tinyshakespeare/input.txt", "naïve ⊥".encode())
    assert datasets.text("tinyshakespeare/input.txt") == "naïve ⊥"


def test_a_changed_file_is_refused_and_left_alone(folder, monkeypatch):
    put(folder, monkeypatch, "tinyshakespeare/input.txt", b"To be")
    (folder / "tinyshakespeare/input.txt").write_bytes(b"Not to be")
    with pytest.raises(datasets.DataError, match="is not the published .* delete it"):
        datasets.text("tinyshakespeare/input.txt")
    assert (folder / "tinyshakespeare/input.txt").read_bytes() == b"Not to be"


def pretend_pooch(monkeypatch, retrieve):
    fake = SimpleNamespace(retrieve=retrieve, Untar=lambda **options: "untar")
    monkeypatch.setitem(sys.modules, "pooch", fake)


@pytest.mark.parametrize("name", ["tinyshakespeare/input.txt", "cifar-10-batches-py/"])
def test_no_network(folder, monkeypatch, name):
    name = next(known for known in datasets.REGISTRY if known.startswith(name))

    def retrieve(*arguments, **options):
        raise ConnectionError("Name or service not known\nwith a long trace")

    pretend_pooch(monkeypatch, retrieve)
    with pytest.raises(datasets.DataError) as caught:
        datasets.fetch(name)
    message = str(caught.value)
    for part in (name, str(folder), datasets.REGISTRY[name].url, "GROKBOOK_DATA"):
        assert part in message
    assert "Name or service not known" in message
    assert "\n" not in message
    assert not any(path.is_file() for path in folder.rglob("*"))


def test_pooch_is_optional_until_it_is_needed(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(datasets.DataError, match="pooch, which would fetch it"):
        datasets.text("tinyshakespeare/input.txt")


def test_corrupt_download(folder, monkeypatch):
    """pooch itself refuses what does not match the pin and keeps nothing."""
    pooch = pytest.importorskip("pooch")
    source = folder / "elsewhere.txt"
    source.write_text("garbage")

    def garbage(url, output_file, pooch, check_only=False):
        with open(output_file, "wb") as file:
            file.write(source.read_bytes())

    real = pooch.retrieve
    pretend_pooch(monkeypatch, lambda *a, **k: real(*a, **k, downloader=garbage))
    with pytest.raises(datasets.DataError, match="hash of downloaded file"):
        datasets.text("tinyshakespeare/input.txt")
    assert [p for p in folder.rglob("*") if p.is_file()] == [source]


def test_a_good_download_is_kept(folder, monkeypatch):
    put(folder, monkeypatch, "tinyshakespeare/input.txt", b"To be")
    (folder / "tinyshakespeare/input.txt").unlink()

    def retrieve(url, known_hash, name, path, **options):
        path.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"To be")

    pretend_pooch(monkeypatch, retrieve)
    assert datasets.text("tinyshakespeare/input.txt") == "To be"
