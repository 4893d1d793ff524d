"""Tasks and functions of one's own: formulas, S5, tables, names from outside."""

import hashlib
import itertools
import re
import sys
import time
from pathlib import Path

import pytest
import torch
from helpers import arm, everything, experiment

from claimbook import names
from claimbook.engine import pool
from claimbook.errors import BookError, DataError, UnknownName
from claimbook.experiment import Spec
from grokbook import datasets

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("-(a - 2*b)//3", lambda a, b: -(a - 2 * b) // 3),
        ("a", lambda a, b: a),
        ("(a + b)**64", lambda a, b: (a + b) ** 64),  # beyond 64 bits
        ("a*0 + 7", lambda a, b: 7),
    ],
)
def test_an_operation_as_text(text, truth):
    x, y = everything(datasets.modular(13, text, 0.5))
    assert len(x) == 169 and y.dtype == torch.int64
    assert [truth(a, b) % 13 for a, b in x.tolist()] == y.tolist()


def test_an_operation_is_never_run_as_code(tmp_path):
    (there := tmp_path / "there").touch()
    with pytest.raises(BookError, match="write it with a, b, whole numbers"):
        datasets.modular(5, f"__import__('os').remove({str(there)!r}) or a + b")
    assert there.exists()
    begin = time.monotonic()
    for text in ("a**b", "a**-1", "9**9**9**9", "((((a**64)**64)**64)**64)**64"):
        with pytest.raises(BookError, match="write it as in 'a\\*\\*3'"):
            datasets.modular(5, text)
    assert time.monotonic() - begin < 1


def test_the_group_s5():
    """[Power et al. 2022] against compositions of Python's own permutations."""
    group = [*itertools.permutations(range(5))]
    for operation in ("compose", "conjugate"):
        x, y = everything(datasets.permutations(operation=operation))
        assert sorted(map(tuple, x.tolist())) == [
            *itertools.product(range(120), repeat=2)
        ]
        for row in range(0, len(x), 97):
            a, b = (group[token] for token in x[row].tolist())
            product = [a[b[k]] for k in range(5)]
            if operation == "conjugate":
                product = [product[a.index(k)] for k in range(5)]
            assert group[y[row]] == tuple(product)
    with_sign = datasets.permutations(3, train_fraction=0.25, equals=True)
    assert len(with_sign.x_train) == 9
    assert (with_sign.x_train[:, 2] == 6).all()


def test_parity_with_another_split():
    data = datasets.sparse_parity(50, train_fraction=0.3)
    assert (len(data.x_train), len(data.x_test)) == (15, 35)


def test_a_table_from_a_file(tmp_path):
    path = tmp_path / "who.csv"
    path.write_text(
        "\ufeffwho,whom,what\nann,bob,aunt\nbob,ann,nephew\n ann , cid,aunt\n"
    )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    data = datasets.table(str(path), digest, 0.67, equals=True)
    assert len(data.x_train) == 2
    x, y = everything(data)
    rows = {
        (*row, label)
        for row, label in zip(x.tolist(), y.tolist(), strict=True)
        for row in [tuple(row)]
    }
    assert rows == {(0, 1, 3, 0), (1, 0, 3, 1), (0, 2, 3, 0)}
    with pytest.raises(BookError, match=f"{SHARE}.*, not 50"):
        datasets.table(str(path), digest, 50)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b,c\n1,2,3\n1,,3\n", "line 3 of .* is '1,,3': each has two inputs"),
        ("a,b,c\n1,2\n", "line 2 of .* is '1,2'"),
        ("a,b,c\n1,2,3\n\n", "line 3 of .* is ''"),
        ("a,b,c\n1,2,3\n1,2,4\n", "lines 2 and 3 of .* have the same inputs"),
        ("", "leaves no training rows"),
        ('a,b,"c\n', "is not CSV in UTF-8"),
        (b"a,b,c\n\xff,1,2\n", "is not CSV in UTF-8"),
    ],
)
def test_a_table_that_is_not_whole(tmp_path, content, words):
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(BookError, match=words):
        datasets.table(str(path), digest)
    with pytest.raises(DataError, match=f"is {digest}, which the task has to name"):
        datasets.table(str(path))
    with pytest.raises(DataError, match=f"is {digest}, and not 'f00'"):
        datasets.table(str(path), "f00")
    with pytest.raises(DataError, match="nowhere.csv cannot be read"):
        datasets.table(str(tmp_path / "nowhere.csv"), digest)


SHARE = "train_fraction is the share of rows to train on, above 0 and below 1"


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ("modular", {"train_fraction": 0.0}, f"{SHARE}.*, not 0.0"),
        ("modular", {"train_fraction": float("nan")}, f"{SHARE}.*, not nan"),
        ("modular", {"train_fraction": "0.4"}, f"{SHARE}.*, not '0.4'"),
        ("modular", {"train_fraction": 1.0}, f"{SHARE}.*, not 1.0"),
        (
            "modular",
            {"p": 5, "train_fraction": 0.03},
            "train_fraction=0.03 of 25 rows leaves no training rows",
        ),
        (
            "modular",
            {"p": 5, "train_fraction": 0.99, "shuffle": "python"},
            "train_fraction=0.99 of 25 rows leaves no test rows",
        ),
        ("additions", {"train_fraction": 2.0}, f"{SHARE}.*, not 2.0"),
        ("additions", {"pairs": 10**7}, "pairs is a whole number from 2 to 1000000"),
        ("additions", {"digits": 4}, "digits is a whole number from 1 to 3, not 4"),
        ("sparse_parity", {"train_fraction": 50}, f"{SHARE}.*, not 50"),
        ("sparse_parity", {"relevant": 0}, "relevant is a whole number from 1 on"),
        ("sparse_parity", {"noise": -1}, "noise is a whole number from 0 on, not -1"),
        ("sparse_parity", {"samples": 1}, "samples is a whole number from 2 on, not 1"),
        (
            "modular",
            {"encoding": "binary", "bits": 6},
            "bits of 113 codes is a whole number from 7 to 24, not 6",
        ),
        ("modular", {"encoding": "random_binary", "bits": 0}, "from 7 to 24, not 0"),
        ("modular", {"encoding": "random_binary", "bits": 25}, "from 7 to 24, not 25"),
        ("modular", {"p": 4, "operation": "divide"}, "divide takes a prime p, not 4"),
        ("modular", {"p": 1}, "p is a whole number from 2 to 2000, not 1"),
        ("modular", {"p": 11.0}, "p is a whole number from 2 to 2000, not 11.0"),
        ("modular", {"p": True}, "p is a whole number from 2 to 2000, not True"),
        ("modular", {"smallest": 113}, "smallest is a whole number from 0 to 112"),
        ("modular", {"operation": "ad"}, "unknown operation 'ad': use one of add"),
        ("modular", {"operation": 3}, "unknown operation 3: use one of add"),
        ("modular", {"operation": "a +"}, "'a \\+' is not a formula"),
        ("modular", {"operation": "a + c"}, "'a \\+ c' has 'c': write it with a, b"),
        ("modular", {"operation": "a ^ 2"}, "has 'a \\^ 2': write it with a, b"),
        ("modular", {"operation": "a / b"}, "has 'a / b': write it with a, b"),
        ("modular", {"operation": "a + 0.5"}, "has '0.5': write it with a, b"),
        ("modular", {"operation": "a + True"}, "has 'True': write it with a, b"),
        ("modular", {"operation": "7"}, "'7' has neither a nor b"),
        ("modular", {"operation": "2**3 - 1"}, "and an operation needs one"),
        ("modular", {"operation": "a // b"}, "divides by 0 for some pair"),
        ("modular", {"operation": "a+" * 150 + "b"}, "has at most 200 characters"),
        ("permutations", {"degree": 7}, "degree is a whole number from 2 to 6, not 7"),
        ("permutations", {"operation": "composed"}, "unknown operation .* compose"),
        ("permutations", {"train_fraction": 50}, f"{SHARE}.*, not 50"),
        ("balanced_rows", {"classes": 0, "per_class": 1}, "classes .* from 1 on, not"),
        ("balanced_rows", {"classes": 2, "per_class": 0}, "per_class .* from 1 on, no"),
    ],
)
def test_what_a_task_is_given_is_checked(task, options, words):
    with pytest.raises(BookError, match=words):
        getattr(datasets, task)(**options)


def test_a_wrong_task_trains_nothing(tmp_path):
    wrong = arm(dataset=Spec("modular", p=11, train_fraction=40))
    with pytest.raises(BookError, match=f"arm 'plain', seed 0: {SHARE}"):
        pool.run(experiment(wrong, seeds=(0,)), tmp_path, device="cpu", processes=0)
    assert not [*tmp_path.glob("*/*.parquet")]


@pytest.mark.parametrize(
    ("kind", "useless"),
    [
        ("dataset", "data fetch crop_flip text"),
        ("augment", "modular fetch text"),
        ("model", "recorder without_norms"),
        ("loss", "stablemax gaps pick on_gpu widest_dtype"),
        ("optimizer", "gradients stack stackedadamw orthogonal adam_divisors"),
        ("wrapper", "adamw gradients stack adam_divisors"),
    ],
)
def test_only_what_can_be_used_is_offered(kind, useless):
    for name in [*useless.split(), "x"]:
        with pytest.raises(UnknownName, match=f"unknown {kind} '{name}'") as caught:
            names.resolve(kind, Spec(name))
        offered = str(caught.value).partition("use one of ")[2].split(", ")
        assert offered and not {*offered} & {*useless.split()}
        for one in offered:
            names.resolve(kind, Spec(one))


MINE = '''"""Mine."""
import torch
import torch.nn.functional as F
from claimbook.protocol import Data
from grokbook.models import MLP as network
from torch.optim import AdamW

def task(rows):
    x = torch.arange(rows)[:, None] % 11
    return Data(x.repeat(1, 2), x[:, 0], x.repeat(1, 2), x[:, 0])

def loss(logits, labels, *, reduction="mean"):
    return F.cross_entropy(logits, labels, reduction=reduction)

def penalty(forward, *, strength):
    return strength * forward.logits.square().mean()

def wrapper(optimizer):
    return optimizer

def rule(params, lr):
    return AdamW(params, lr)

def schedule(step, steps):
    return 1.0
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of one's own in the working directory, which is not on sys.path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield (path := tmp_path / "my_own.py")
    sys.modules.pop(path.stem, None)


def own(pin=""):
    named = {
        "dataset": Spec(f"my_own:task{pin}", rows=22),
        "model": Spec(f"my_own:network{pin}", classes=11, vocabulary=11, widths=(8,)),
        "loss": Spec(f"my_own:loss{pin}"),
        "optimizer": Spec(f"my_own:rule{pin}", lr=0.1),
        "schedule": Spec(f"my_own:schedule{pin}"),
        "penalties": (Spec(f"my_own:penalty{pin}", strength=0.1),),
        "wrappers": (Spec(f"my_own:wrapper{pin}"),),
    }
    return arm("own", epochs=20, log=20, **named)


def test_every_kind_can_come_from_outside_also_in_workers(mine, tmp_path):
    mine.write_text(MINE)
    members = experiment(own(), seeds=(0,))
    record = pool.run(members, tmp_path, processes=1, device="cpu")
    assert record.frame["train_accuracy"].iloc[-1] == 1


def test_a_record_has_to_say_which_code_from_outside_trained_it(mine):
    mine.write_text(MINE)
    with pytest.raises(BookError, match="'my_own:task', which is not the book's") as no:
        names.check_pinned([arm(), own()])
    (pin,) = re.findall(r"'my_own:task(@\w{12})'", str(no.value))
    names.check_pinned([own(pin)])
    assert own(pin).training_key != own().training_key
    mine.write_text(MINE.replace('"""Mine."""', '"""Whose?"""\n# mine'))
    names.check_pinned([own(pin)])
    mine.write_text(MINE.replace("0.1", "0.2").replace("% 11", "% 10"))
    with pytest.raises(BookError, match="my_own has changed: 'my_own:task@"):
        names.check_pinned([own(pin)])


ASKS = "from claimbook.errors import BookError\nraise BookError('ask me')"


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "nobodys:loss", "cannot be imported .ModuleNotFoundError: No module"),
        ("def f(:", "my_own:loss", "cannot be imported .SyntaxError"),
        ("raise SystemExit(3)", "my_own:loss", "cannot be imported .SystemExit: 3"),
        (ASKS, "my_own:loss", "^ask me"),
        ("def lost(): pass", "my_own:loss", "unknown loss in my_own 'loss': .* lost"),
    ],
)
def test_what_cannot_be_imported_from_outside(mine, text, name, words):
    mine.write_text(text)
    with pytest.raises(BookError, match=words) as caught:
        names.resolve("loss", Spec(name))
    assert "\n" not in str(caught.value)
