"""Results that nobody trained, and what their records are made of."""

from dataclasses import replace

from helpers import arm, experiment

from claimbook.experiment import Result

EPOCHS = (0, 10, 20, 30)
INFO = {"device": "cpu", "device_name": "a processor", "matmul": "torch"}


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


def contents(folder):
    return {f: f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}
