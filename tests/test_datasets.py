"""Computed tasks: every pair once, official splits, codes; what a row count needs."""

import random

import torch

from grokbook import datasets


def everything(data):
    x, y = (data.x_train, data.x_test), (data.y_train, data.y_test)
    return torch.cat(x), torch.cat(y)


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
