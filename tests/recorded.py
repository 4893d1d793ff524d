"""Results that nobody trained, and what their records are made of."""

from dataclasses import replace

from helpers import arm, experiment
from pandas import DataFrame

from claimbook.experiment import Arm, Experiment, Result, Spec
from claimbook.records import Record

EPOCHS = (0, 10, 20, 30)
INFO = {"device": "cpu", "device_name": "a processor", "matmul": "torch"}
INFO |= {"torch": "2", "python": "3", "members_together": 1}


def result(one, seed, *, loss=1.0, kept=None, info=(), more=(), epochs=EPOCHS, **parts):
    """A result with a few rows; ``more`` columns, and ``info`` beside the device."""
    rows = [
        {"epoch": epoch, "train_loss": loss / (epoch + 1), "test_accuracy": 0.5}
        | {name: float(epoch) for name in more}
        for epoch in epochs
    ]
    return Result(one, seed, rows, kept or {}, 2.0, INFO | dict(info), **parts)


def two(scale="smoke", name="prieto2025/fig06b", seeds=(0, 1)):
    """An experiment of two arms that log every ten of their thirty epochs."""
    arms = arm("a", log=10), arm("b", log=10, alpha=2.0)
    return replace(experiment(*arms, seeds=seeds, name=name), scale=scale)


def of_curves(curves, *, seeds=(3, 0, 1), column="test_accuracy", scale="laptop"):
    """A record of one arm: {seed: {epoch: value}}, seeds in this order."""
    plan = Arm("plain", *map(Spec, "dmlo"), epochs=100, log=10)
    made = Experiment("prieto2025/fig02", scale, (plan,), seeds)
    rows = []
    for seed, curve in curves.items():
        for epoch, value in curve.items():
            where = {"arm": "plain", "seed": seed, "epoch": epoch}
            rows.append(where | {"train_loss": 1.0, column: value})
    members = {f"plain|{seed}": {"seconds": 1.0} for seed in curves}
    return Record(made, DataFrame(rows), members, {})


def contents(folder):
    return {f: f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
